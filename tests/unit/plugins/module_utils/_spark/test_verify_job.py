"""However the contents are dealt out to Spark's workers, they count what one process counts."""

import collections
import typing as t

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._comparing.claims import (
    Windows,
    aligned,
    pair_runs,
    window,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._comparing.counted_records import (
    CountedRecord,
    OneContent,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._comparing.offset_counts import Contents
from ansible_collections.streamshift.kafka.plugins.module_utils._comparing.sums import NUMBERS, ToolProgress
from ansible_collections.streamshift.kafka.plugins.module_utils._model.match_on import MatchOn
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._spark import worker_packing
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.content_frame import (
    Extent,
    LogPair,
    layout_of,
    shared,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.verify_job import (
    PairClaims,
    answers,
    numbers_in_pairs,
    summed_claims,
)
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._spark import by_hand

Log: t.TypeAlias = "list[tuple[int, str, int | None]]"  # offset, content, time; None: stamped
END = 40


def records_of(log: Log) -> list[Record]:
    return [
        Record(offset, 7 if time is None else time, 16 * name.encode(), 16 * name.encode(), time is None)
        for offset, name, time in log
    ]


def whole(world: tuple[Log, Log], timestamps: bool) -> Contents:
    found: dict[str, tuple[list[CountedRecord], list[CountedRecord]]] = collections.defaultdict(lambda: ([], []))
    for side, records in enumerate(world):
        for offset, name, time in records:
            compared = time if timestamps else (None if side else 0)
            found[name][side].append(CountedRecord(0, offset, compared))
    return Contents(OneContent(*its) for its in found.values())


names = st.sampled_from("abcdefghijklmnop")
sources = st.lists(st.tuples(names, st.integers(0, 2)), max_size=14)
copies = st.lists(st.tuples(names, st.sampled_from([0, 0, 1, 2, 9, None])), max_size=18)
logs = sources.map(lambda its: [(2 * at, *each) for at, each in enumerate(its)])
copied = copies.map(lambda its: [(2 * at, *each) for at, each in enumerate(its)])
claims = st.lists(st.tuples(st.integers(0, END), st.integers(0, END)), min_size=1, max_size=4)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(logs, copied), min_size=1, max_size=3),
    claims,
    st.sampled_from([1, 4, 16]),
    st.booleans(),
    st.sampled_from([None, 12]),
)
def test_tasks_together_count_what_one_process_counts(
    worlds: list[tuple[Log, Log]], positions: list[tuple[int, int]], buckets: int, timestamps: bool, reach: int | None
) -> None:
    layout = layout_of([by_hand.log_pair(1, 1)] * len(worlds), timestamps=True)
    tasks = by_hand.chunks(layout, *([records_of(world[side]) for world in worlds] for side in (0, 1)), buckets)
    windows = {
        number: Windows((window(committed, 0, END, reach),), (window(offset, 0, END, reach),))
        for number, (committed, offset) in enumerate(positions)
    }

    def count(asked: dict[int, PairClaims]) -> t.Any:
        return summed_claims((row for task in tasks for row in by_hand.travelled(answers(task, layout, asked))), asked)

    nothing, how = ToolProgress.none(), MatchOn() if timestamps else MatchOn(("key", "value"))
    first = count({pair: PairClaims(how, {}, nothing, 1) for pair in range(len(worlds))})
    cut = {
        pair: {key: aligned(its, pair_runs(first[pair].landmarks)) for key, its in windows.items()} for pair in first
    }
    found = count({pair: PairClaims(how, cut[pair], first[pair].progress) for pair in first})
    for pair, world in enumerate(worlds):
        contents, progress = whole(world, timestamps), first[pair].progress
        assert progress._replace(in_a_row={}) == contents.progress._replace(in_a_row={})
        # A task has fewer contents in a row than all tasks together, and says less of how far the tool has come.
        assert all(offset <= contents.progress.in_a_row.get(place, -1) for place, offset in progress.in_a_row.items())
        assert sorted(first[pair].landmarks) == sorted(contents.landmarks)
        for number, its in windows.items():
            assert cut[pair][number] == aligned(its, contents.landmark_runs)
            expected = contents.counts(cut[pair][number], progress)
            counts = found[pair].counts.get(number)
            assert (counts or expected)[:NUMBERS] == expected[:NUMBERS]
            assert counts is not None or not any(expected)
            if counts is not None:
                assert [bool(spot) for spot in counts[NUMBERS:]] == [bool(spot) for spot in expected[NUMBERS:]]


def test_partitions_are_numbered_within_their_pair_as_a_claim_lists_them() -> None:
    assert numbers_in_pairs((0, 0, 0, 1, 2, 2)).tolist() == [0, 1, 2, 0, 0, 1]


def test_columns_of_records_are_worked_out_once_for_all_pairs_of_a_task() -> None:
    columns = worker_packing.Records(np.ones((6, 2), np.int64), 1, np.zeros(2, np.int64))
    assert columns.times is columns.times and columns.stamped is columns.stamped


STABLE = 15  # from here on, a transaction is open at the source
spans = st.tuples(st.integers(0, END // 2), st.integers(0, END // 2)).map(sorted)
overlapping = st.lists(st.tuples(st.sampled_from("ab"), spans, spans), min_size=1, max_size=5)


@given(overlapping)
def test_pairs_that_overlap_are_read_once_and_counted_each_by_itself(
    its: list[tuple[str, list[int], list[int]]],
) -> None:
    pairs = [
        LogPair(
            (Extent(TopicPartition(name, 0), start, min(end, max(start, STABLE)), end),),
            (Extent(TopicPartition(name, 1), *copies),),
        )
        for name, (start, end), copies in its
    ]

    def unpacked(of: t.Sequence[LogPair], layout: worker_packing.Layout) -> list[tuple[int, ...]]:
        sides = [[extent for pair in of for extent in pair[side]] for side in (0, 1)]
        logs = [[list(map(_record, range(each.start, each.open_end or each.end))) for each in side] for side in sides]
        tasks = by_hand.chunks(layout_of(of, timestamps=True), *logs, 4)
        records = worker_packing.unpack([batch for task in tasks for batch in task], layout)
        return sorted(
            (pair, *row) for row, pair in zip(records.columns.T.tolist(), records.pairs.tolist(), strict=True)
        )

    read, layout = shared(pairs)
    assert unpacked(read, layout) == unpacked(pairs, layout_of(pairs, timestamps=True))
    offsets = [(each.partition, at) for pair in read for side in pair for each in side for at in _offsets(each)]
    assert len(offsets) == len({*offsets})
    visible = [(each.partition, at) for pair in read for each in pair.sources for at in range(each.start, each.end)]
    assert all(at < STABLE for _partition, at in visible)


def _record(offset: int) -> Record:
    name = offset.to_bytes(16, "big")
    return Record(offset, offset, name, name, False)


def _offsets(extent: Extent) -> range:
    return range(extent.start, extent.open_end or extent.end)
