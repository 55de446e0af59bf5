"""Which differences of offsets MirrorMaker 2's notes suggest for a committed offset."""

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.mirror_index import MirrorIndex
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mirror_records import Checkpoint, OffsetSync
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

HERE, THERE = TopicPartition("orders", 0), TopicPartition("src.orders", 0)
INDEX = MirrorIndex(
    {HERE: [OffsetSync(at, at - shift) for at, shift in ((100, 10), (200, 20), (300, 30), (400, 40), (500, 50))]},
    {THERE: [Checkpoint(250, 243, ""), Checkpoint(700, 622, "")]},
)


def test_the_nearest_come_first_and_syncs_before_checkpoints():
    assert INDEX.shifts(320, HERE, THERE) == (30, 20, 40, 50, 7, 78)
    assert INDEX.shifts(300, HERE, THERE)[0] == 30
    assert INDEX.shifts(50, HERE, THERE)[:2] == (10, 20)


def test_what_is_not_noted_suggests_nothing():
    assert INDEX.shifts(320, HERE._replace(partition=1), THERE._replace(partition=1)) == ()


def test_equal_differences_are_tried_once():
    index = MirrorIndex({HERE: [OffsetSync(at, at - 5) for at in range(0, 1000, 100)]}, {THERE: [Checkpoint(9, 4, "")]})
    assert index.shifts(450, HERE, THERE) == (5,)
