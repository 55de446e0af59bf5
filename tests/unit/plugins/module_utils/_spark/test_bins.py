"""Ranges are dealt out to tasks: nothing is lost, nothing is read twice, and no task has much more than another."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records.scanning import Range
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.scan_job import bins

RANGES = st.lists(
    st.builds(
        lambda partition, start, length: Range(TopicPartition("orders", partition), start, start + length),
        st.integers(0, 30),
        st.integers(0, 10**6),
        st.one_of(st.integers(0, 100), st.integers(0, 10**7)),
    ),
    max_size=40,
)


def offsets_of(pieces):
    """The stretches of each range, sorted."""
    found = {}
    for piece in pieces:
        found.setdefault(piece.number, []).append((piece.start, piece.end))
    return {number: sorted(stretches) for number, stretches in found.items()}


@given(RANGES, st.integers(1, 64))
def test_every_record_is_read_once(ranges, cores):
    dealt = bins(ranges, cores)
    stretches = offsets_of(piece for pieces in dealt for piece in pieces)
    assert set(stretches) == {number for number, each in enumerate(ranges) if each.end > each.start}
    for number, parts in stretches.items():
        assert parts[0][0] == ranges[number].start and parts[-1][1] == ranges[number].end
        assert all(before[1] == after[0] for before, after in itertools.pairwise(parts))
    assert all(ranges[piece.number].partition == piece.partition for pieces in dealt for piece in pieces)


@given(RANGES, st.integers(1, 64))
def test_no_task_has_much_more_than_another(ranges, cores):
    sizes = [sum(piece.end - piece.start for piece in pieces) for pieces in bins(ranges, cores)]
    assert all(sizes)
    if sizes:
        assert max(sizes) <= 2 * max(sum(sizes) / len(sizes), 50_000) + 5000


def test_as_many_tasks_as_the_work_is_worth():
    def tasks(partitions, records, cores):
        return len(bins([Range(TopicPartition("t", n), 0, records) for n in range(partitions)], cores))

    assert tasks(0, 0, 8) == 0
    assert tasks(1, 10, 8) == 1
    assert tasks(2000, 20, 8) == 3  # beginning a task costs more than reading so few
    assert tasks(16, 1_000_000, 2) == 4
    assert tasks(1, 16_000_000, 2) == 4  # one large partition is read by all
    assert tasks(100, 10_000_000, 8) == 51  # not so much that a task that fails costs minutes
