"""The file that makes removed groups again."""

from ansible_collections.streamshift.kafka.plugins.module_utils._model.cluster_identity import NO_TRAITS
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.removed import Removed, from_json, to_json

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)


def group(name: str, **offsets: int) -> GroupReading:
    commits = {P0._replace(partition=int(number[1:])): CommittedOffset(at, "m", 3) for number, at in offsets.items()}
    return GroupReading(name, True, "Empty", "classic", "", commits)


def test_the_file_knows_what_is_gone_and_what_was_made_again():
    removed = Removed("id").with_removed([group("billing", p0=5, p1=7), group("shipping", p0=1)], NO_TRAITS)
    assert removed.readings() == {"billing": group("billing", p0=5, p1=7), "shipping": group("shipping", p0=1)}
    back = removed.with_restored(["billing"])
    assert set(back.gone()) == {"shipping"}
    again = back.with_removed(
        [group("billing", p1=9)], NO_TRAITS
    )  # it was removed once more, and has had another life in between
    assert again.gone()["billing"] == {P1: CommittedOffset(9, "m", 3)}
    assert from_json(to_json(again), "x") == from_json(to_json(from_json(to_json(again), "x")), "x")
