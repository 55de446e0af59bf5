"""What is counted around a group's offsets is what the definition says, however contents and partitions are dealt out."""

import collections
import itertools
import typing as t

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._comparing.claims import Windows, aligned, window
from ansible_collections.streamshift.kafka.plugins.module_utils._comparing.counted_records import (
    CountedRecord,
    OneContent,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._comparing.offset_counts import Contents
from ansible_collections.streamshift.kafka.plugins.module_utils._comparing.sums import (
    NUMBERS,
    Counts,
    Spot,
    furthest,
    total,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record as Seen
from tests.support.one_log import OneLog

Log: t.TypeAlias = "list[tuple[int, str, int | None]]"  # offset, content, time; None: stamped


def log(text: str) -> Log:
    """`a@1 b@2` stands for records at the offsets 0 and 1; `_` is a gap; `@-` a time that the broker has stamped."""
    records: Log = []
    for offset, word in enumerate(text.split()):
        content, _at, time = word.partition("@")
        if content != "_":
            records.append((offset, content, None if time == "-" else int(time or 0)))
    return records


def contents_of(sources: t.Sequence[Log], copies: t.Sequence[Log]) -> list[OneContent]:
    found: dict[str, tuple[list[CountedRecord], list[CountedRecord]]] = collections.defaultdict(lambda: ([], []))
    for side, logs in enumerate((sources, copies)):
        for place, records in enumerate(logs):
            for offset, content, time in records:
                found[content][side].append(CountedRecord(place, offset, time))
    return [OneContent(*its) for its in found.values()]


def judged(source: Log, copies: Log, committed: int, offset: int, reach: int | None = None) -> Counts:
    contents = Contents(contents_of([source], [copies]))
    windows = Windows((window(committed, 0, end(source), reach),), (window(offset, 0, end(copies), reach),))
    return contents.counts(aligned(windows, contents.landmark_runs), contents.progress)


def end(records: Log) -> int:
    return records[-1][0] + 1 if records else 0


def seen(records: Log) -> list[Seen]:
    return [
        Seen(offset, time or 0, content.encode(), content.encode(), time is None) for offset, content, time in records
    ]


def numbered(size: int, first: int = 0) -> Log:
    return [(number, f"p{number}", number) for number in range(first, first + size)]


@pytest.mark.parametrize(
    ("source", "copies", "committed", "offset", "expected"),
    [
        pytest.param("a b c d", "a b c d", 2, 2, (2, 0, 0, 0, 0, 0, 0), id="right"),
        pytest.param("a b c d", "a b c d", 2, 3, (1, 1, 0, 0, 0, 0, 0), id="one too high"),
        pytest.param("a b c d", "a b c d", 2, 1, (2, 0, 0, 0, 1, 0, 0), id="one too low"),
        pytest.param("a b c d", "a b c", 1, 1, (2, 0, 0, 1, 0, 0, 0), id="still to come"),
        pytest.param("a b c d", "a c d", 1, 1, (2, 0, 1, 0, 0, 0, 0), id="left out"),
        pytest.param("a b c", "a b c b c", 1, 1, (2, 0, 0, 0, 0, 2, 0), id="recopied"),
        pytest.param("a b c", "a b x c y", 1, 1, (2, 0, 0, 0, 0, 0, 2), id="destination-only records"),
        pytest.param("e e e e e", "e e e e", 2, 1, (3, 0, 0, 0, 0, 0, 0), id="equal records, one missing"),
        pytest.param("e e e e e", "e e e e", 2, 2, (2, 1, 0, 0, 0, 0, 0), id="equal records, one skipped"),
        pytest.param("e e e e e", "e e e e e", 2, 1, (3, 0, 0, 0, 1, 0, 0), id="equal records, one repeated"),
    ],
)
def test_examples(source: str, copies: str, committed: int, offset: int, expected: tuple[int, ...]) -> None:
    assert judged(log(source), log(copies), committed, offset)[:7] == expected


def test_the_first_of_what_is_wrong_is_named() -> None:
    found = judged(log("a b c d e"), log("x a b c e"), 1, 4)
    assert (found.skipped, found.first_skipped) == (2, Spot((0, 1), (0, 2)))
    assert (found.absent, found.first_absent) == (1, Spot((0, 3), None))
    found = judged(log("a b c d e"), log("x a b c e"), 3, 2)
    assert (found.repeated, found.first_repeated) == (2, Spot((0, 1), (0, 2)))
    found = judged(log("e e e f"), log("e e e f"), 1, 2)
    assert found.first_skipped == Spot((0, 1), (0, 0))


times = st.sampled_from([0, 0, 0, 1, 2])
copied_times = st.one_of(times, st.none(), st.just(9))
names = st.sampled_from("abcdefgh")
sources = st.lists(st.tuples(names, times), max_size=14)
destinations = st.lists(st.tuples(names, copied_times), max_size=16)


def with_gaps(records: t.Sequence[tuple[str, int | None]]) -> Log:
    return [(number + number // 3, content, time) for number, (content, time) in enumerate(records)]


@settings(max_examples=300)
@given(sources, destinations, st.integers(0, 20), st.integers(0, 24))
def test_it_is_what_the_definition_says(source: t.Any, copies: t.Any, committed: int, offset: int) -> None:
    source_log, destination_log = with_gaps(source), with_gaps(copies)
    promise = OneLog(seen(source_log), seen(destination_log), end=end(destination_log))
    found = judged(source_log, destination_log, committed, offset)
    skipped, repeated, absent = promise.judge(committed, offset)
    assert (found.skipped, found.absent + found.to_come) == (skipped, absent)
    assert found.repeated <= repeated  # which is more where nobody knows on which side copies are missing


@settings(max_examples=200)
@given(
    st.lists(sources, min_size=1, max_size=3),
    st.lists(destinations, min_size=1, max_size=3),
    st.lists(st.integers(0, 20), min_size=3, max_size=3),
    st.lists(st.integers(0, 24), min_size=3, max_size=3),
)
def test_several_partitions_are_counted_as_one(
    source: t.Any, copies: t.Any, committed: list[int], offsets: list[int]
) -> None:
    """By content alone: so many copies follow in all partitions as there are unconsumed records in all partitions."""
    source_log = [[(offset, content, 0) for offset, content, _time in with_gaps(each)] for each in source]
    destination_log = [[(offset, content, 0) for offset, content, _time in with_gaps(each)] for each in copies]
    contents = contents_of(source_log, destination_log)
    windows = Windows(
        tuple(window(at, 0, end(its), None) for at, its in zip(committed, source_log, strict=False)),
        tuple(window(at, 0, end(its), None) for at, its in zip(offsets, destination_log, strict=False)),
    )
    whole = Contents(contents)
    found = whole.counts(windows, whole.progress)
    consumed, unconsumed = apart(source_log, committed)
    before, follow = apart(destination_log, offsets)
    assert found.skipped == sum(
        max(0, min(number, before[its] + follow[its]) - follow[its]) for its, number in unconsumed.items()
    )
    assert found.repeated == sum(max(0, number - unconsumed[its]) for its, number in follow.items() if its in consumed)
    assert found.absent + found.to_come == (unconsumed - before - follow).total()
    assert found.destination_only == sum(number for its, number in follow.items() if its not in consumed | unconsumed)
    assert found.compared == (unconsumed & follow).total()
    # However they are dealt out.
    parts = [Contents(contents[at::3]) for at in range(3)]
    progress = furthest(part.progress for part in parts)
    assert progress == whole.progress
    assert total(part.counts(windows, progress) for part in parts)[:NUMBERS] == found[:NUMBERS]


def apart(logs: t.Iterable[Log], offsets: t.Iterable[int]) -> tuple[collections.Counter[str], collections.Counter[str]]:
    low: collections.Counter[str] = collections.Counter()
    high: collections.Counter[str] = collections.Counter()
    for records, at in zip(logs, offsets, strict=False):
        for offset, content, _time in records:
            (low if offset < at else high)[content] += 1
    return low, high


@pytest.mark.parametrize(("source_gaps", "destination_gaps"), [(1, 1), (3, 1), (1, 3)])
@pytest.mark.parametrize("beats", [0, 7])
def test_a_limit_raises_no_false_alarm_and_sees_what_is_near(
    source_gaps: int, destination_gaps: int, beats: int
) -> None:
    """With markers on one side, and a content that comes again and again with the broker's times."""

    def spread(step: int) -> Log:
        names = (f"p{number}" if not beats or number % beats else "beat" for number in range(1000))
        return [(number * step, name, None) for number, name in enumerate(names)]

    source = [(offset, name, offset) for offset, name, _time in spread(source_gaps)]
    destination = spread(destination_gaps)
    for lag in (0, 30):
        copies = destination[: len(destination) - lag]
        for number in (0, 150, 500, 960):
            right = judged(source, copies, number * source_gaps, number * destination_gaps, 100)
            assert right.compared > 0
            if beats and right.to_come:
                continue  # nobody can see that a beat that stands before the offset is not the one that is still to come
            assert right.doubtful == 0 or beats  # equal beats whose copies have other times are told apart by nothing
            assert (
                right._replace(doubtful=0)[1:]
                == (0, 0, right.to_come, 0, 0, right.destination_only, 0, 0, 0, 0) + (None,) * 3
            )
            for moved in (1, 10):
                far = judged(source, copies, number * source_gaps, (number + moved) * destination_gaps, 100)
                assert far.skipped in (moved, moved - 1, moved - 2), (lag, number, moved)
                if number:
                    low = judged(source, copies, number * source_gaps, (number - moved) * destination_gaps, 100)
                    assert low.repeated in (moved, moved - 1, moved - 2), (lag, number, moved)


def test_equal_records_of_which_some_came_twice_and_some_are_to_come_are_compared_within_a_limit() -> None:
    """All heartbeats are equal but for their times, so that no content tells where the windows end."""
    source: Log = [(number, "beat", number) for number in range(2000)]
    order = [*range(100), *range(90, 1980)]  # the tool was killed at 100, and has 20 still to copy
    copies: Log = [(offset, "beat", number) for offset, number in enumerate(order)]
    for committed in (0, 95, 500, 1900):
        offset = order.index(committed)
        right = judged(source, copies, committed, offset, 300)
        assert right.compared > 50 and right.skipped == right.absent == 0
        assert right.repeated <= 10
        far = judged(source, copies, committed, offset + 30, 300)
        # As many as came twice, and as many as are to come, may stand for those that are skipped.
        assert far.skipped + far.to_come >= 30 - 10, committed
        assert far.skipped, committed


def test_two_windows_that_have_nothing_in_common_say_nothing() -> None:
    found = judged(numbered(1000), numbered(1000), 100, 800, 50)
    assert found[:6] == (0, 0, 0, 0, 0, 0)


def test_within_a_limit_a_reordering_tool_raises_no_false_alarm() -> None:
    copies = list(
        itertools.chain.from_iterable([*range(at + 5, at + 10), *range(at, at + 5)] for at in range(0, 2000, 10))
    )
    destination = [(offset, f"p{number}", number) for offset, number in enumerate(copies)]
    for number in range(500, 600, 10):
        found = judged(numbered(2000), destination, number, number, 300)
        assert (found.skipped, found.repeated, found.absent) == (0, 0, 0)


def test_a_rounded_time_that_is_that_of_an_equal_record_does_not_hide_what_is_skipped() -> None:
    source, copies = log("b@10 b@12 c@13"), log("b@10 b@10 c@10")
    counts = [judged(source, copies, 1, offset) for offset in range(4)]
    assert [(its.skipped, its.repeated, its.absent) for its in counts] == [(0, 1, 0), (0, 0, 0), (1, 0, 0), (2, 0, 0)]
