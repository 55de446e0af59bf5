"""Retention at the source, recurring contents, and a replication tool that lags: MirrorMaker 2 as everybody runs it."""

import dataclasses
import random
import types
import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.lost import Sighting, copies_of_lost
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.lost_records import lost_before_any
from tests.attack import rule
from tests.attack.case import NOON, Case, Copy, Edges, Original, parse
from tests.attack.truth import Truth

WAYS = {
    "near": rule.near,
    "whole": rule.whole,
    "count": rule.count,
    "Spark": lambda case: rule.count_by_spark([case])[0],
}


def live(size: int, start: int, begin: int, lag: int, contents: t.Sequence[str], jitter: t.Callable[[], int]) -> Case:
    """A source that has lost what is before `start`, and what a tool has copied from `begin` on but for the last `lag`."""
    source = tuple(Original(at, NOON + 10 * at + jitter(), contents[at], "data", gone=at < start) for at in range(size))
    copies = tuple(Copy(at - begin, source[at].time, contents[at], at) for at in range(begin, size - lag))
    to_come = tuple(Copy(-1, its.time, its.text, its.offset) for its in source[size - lag :])
    return Case(0, source, Edges(start, size, size), copies, Edges(0, len(copies), len(copies)), to_come)


def at(case: Case, committed: int) -> Case:
    return Case(committed, case.source, case.source_edges, case.destination, case.destination_edges, case.to_come)


FIVE = ["abcde"[at % 5] for at in range(20_000)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("committed", [1500, 1995, 1999])
def test_a_status_that_is_to_come_is_not_taken_for_one_that_the_source_has_lost(way: str, committed: int) -> None:
    case = at(live(2000, 1000, 0, 1, FIVE, lambda: 0), committed)
    assert WAYS[way](case)[:3] == ("exact", committed, 0)
    assert rule.verify(case, [committed, committed - 1]) == [(0, 0), (0, 1)]


@pytest.mark.parametrize("way", WAYS)
def test_it_is_not_exact_while_a_consumed_record_is_to_come(way: str) -> None:
    case = parse("S 0:a@0(gone) 1:c@2(gone) 2:b@1 3:c@3 T a@0<0 c@2<1 b@1<2 F c@3<3 C=4")
    answer = WAYS[way](case)
    assert (answer.verdict, answer.reason, answer.lossless) == ("blocked", "destination_lags", 3)


@pytest.mark.parametrize("big", [False, True])
def test_plain_live_migrations_are_exact_and_verified(big: bool) -> None:
    draws = random.Random(11)
    for _world in range(12 if big else 60):
        size = draws.randrange(270, 600) if big else draws.randrange(4, 120)
        start = draws.randrange(1, size)
        lag = min(draws.choice([0, 1, 2, 5, 20]), size - start - 1)
        kinds = "abcdefgh"[: draws.choice([1, 2, 3, 5, 8])]
        contents = [draws.choice(kinds) for _record in range(size)] if draws.random() < 0.5 else FIVE
        case = live(size, start, begin := draws.randrange(start + 1), lag, contents, lambda: 0)
        for committed in {draws.randrange(start + 1, size - lag + 1) for _group in range(3)}:
            asked = at(case, committed)
            assert rule.near(asked)[:3] == rule.whole(asked)[:3] == ("exact", committed - begin, 0), str(asked)
            assert rule.verify(asked, [committed - begin]) == [(0, 0)], str(asked)
            if committed < size - lag:
                assert rule.verify(asked, [committed - begin + 1])[0][0] == 1, str(asked)


@pytest.mark.parametrize("seed", range(3))
def test_whatever_has_become_of_the_copies_nothing_is_skipped_and_spark_counts_the_same(seed: int) -> None:
    draws = random.Random(seed)
    cases = []
    for _world in range(100):
        size = draws.randrange(4, 60)
        start, lag = draws.choice([0, draws.randrange(size)]), draws.choice([0, 1, 2, 5])
        contents = [draws.choice("abc") for _record in range(size)]
        jitter = draws.choice([0, 30])
        case = live(
            size,
            start,
            draws.randrange(start + 1),
            min(lag, size - start),
            contents,
            lambda j=jitter: draws.randint(0, j),
        )
        copies = list(case.destination)
        for _change in range(draws.choice([0, 1, 3]) if copies else 0):
            its = draws.randrange(len(copies))
            change = draws.choice([{"time": copies[its].time + draws.randrange(500)}, {"stamped": True, "time": NOON}])
            copies[its] = copies[its]._replace(**change)
        cases.append(
            at(
                Case(0, case.source, case.source_edges, tuple(copies), case.destination_edges, case.to_come),
                draws.randrange(start, size + 1),
            )
        )
    for case, spark in zip(cases, rule.count_by_spark(cases), strict=True):
        assert rule.count(case)[:5] == spark[:5], str(case)
        answer = rule.whole(case)
        assert answer.offset is None or not Truth(case).skipped(answer.offset), str(case)


@pytest.mark.parametrize("way", [rule.near, rule.whole])
@pytest.mark.parametrize(
    ("world", "repeats"),
    [
        ("S 0:p@0(gone) 1:u@1 T u@1<1 p@0<0 C=1", 1),
        ("S 0:b@0(gone) 1:p@0(gone) 2:b@0 T b@0<0 p@0<1 C=2 start=0 compacted=True", 1),
        ("S 0:p@0(gone) 1:a@1 2:u@2 T u@2<2 p@0<0 a@1<1 C=2", 2),
        ("S 0:a@0 1:p@1(gone) 2:u@2 T u@2<2 a@0<0 p@1<1 C=2 compacted=True", 2),  # as old as what follows the gap
        ("S 0:p@0(gone) 1:a@1 2:u@2 T p@0<0 a@1<1 u@2<2 x@3 C=2", 0),  # a producer of the destination
        ("S 0:p@0(gone) 1:a@1 2:u@9 T a@1<1 x@5 u@9<2 C=2", 0),
        ("S 0:p@0(gone) 1:a@1 T p@0<0 a@1<1 x@5 C=2", 0),
        ("S 0:a@1 1:u@2 T a@1<0 u@2<1 x@0 C=1", 0),  # the source has lost nothing
    ],
)
def test_what_the_destination_alone_has_may_be_a_lost_record(
    way: t.Callable[[Case], rule.Answer], world: str, repeats: int
) -> None:
    answer = way(parse(world))
    assert (answer.repeats, answer.verdict) == (repeats, "safe" if repeats else "exact")
    assert Truth(parse(world)).repeats_with_lost(answer.offset or 0) == repeats


@pytest.mark.parametrize("period", [5, 70])
def test_a_series_that_comes_again_does_not_show_that_the_last_consumed_record_has_arrived(period: int) -> None:
    """The broker stamps the copies, and the round that seems to be the last one may be one that the source has lost."""
    case = live(6 * period, 4 * period, 0, period, [f"d{at % period}" for at in range(6 * period)], lambda: 0)
    copies = tuple(copy._replace(time=copy.time + 7, stamped=True) for copy in case.destination)
    case = at(dataclasses.replace(case, destination=copies), 6 * period)
    for way in (rule.near, rule.whole):
        answer = way(case)
        assert answer.verdict != "exact"
        assert answer.offset is None or (answer.repeats or 0) >= period


@pytest.mark.parametrize("way", ["near", "whole"])
@pytest.mark.parametrize(
    ("committed", "right"), [(90, ("safe", 90, 10)), (100, ("safe", 100, 200)), (150, ("safe", 150, 200))]
)
def test_copies_that_are_older_than_the_source_are_those_of_its_records(
    way: str, committed: int, right: tuple[str, int, int]
) -> None:
    """A script has written seconds for milliseconds, or its clock is in another time zone."""
    source = tuple(Original(at, NOON + at, f"order {at}", "data", gone=at < 100) for at in range(300))
    copies = tuple(Copy(at, its.time - 7_200_000, its.text, at) for at, its in enumerate(source))
    case = Case(committed, source, Edges(100, 300, 300, retention_ms=3_600_000), copies, Edges(0, 300, 300))
    assert WAYS[way](case)[:3] == right
    assert rule.verify(case, [290])[0][0] == 290 - max(committed, 100)


@pytest.mark.parametrize("way", ["near", "whole"])
@pytest.mark.parametrize("committed", [3, 4, 6])
def test_a_tool_that_was_down_for_longer_than_the_retention_has_copied_nothing_of_what_is_left(
    way: str, committed: int
) -> None:
    """Statuses recur, and all copies are those of consumed records: nothing shows that the tool keeps times."""
    gone = "0:a@0(gone) 1:b@10(gone) 2:c@15(gone)"
    case = parse(f"S {gone} 3:a@20 4:b@30 5:c@40 T a@0<0 b@10<1 c@15<2 F a@20<3 b@30<4 c@40<5 C={committed}")
    answer = WAYS[way](case)
    assert (answer.verdict, answer.repeats) == ("safe", 3)
    assert answer.decision.absent is None


@pytest.mark.parametrize("way", ["near", "whole"])
@pytest.mark.parametrize("left", [0, 1, 4, 16])
@pytest.mark.parametrize("lag", [0, 10])
def test_stamped_copies_of_recurring_contents_may_be_those_of_lost_records(way: str, left: int, lag: int) -> None:
    """The tool lags, and the source has lost what the group has consumed: equal copies stand in for what has not come."""
    statuses = random.Random(2)
    source = tuple(Original(at, NOON + at, f"s{statuses.randrange(20)}", gone=at < 200 - left) for at in range(400))
    copies = tuple(Copy(at, NOON + 10**7, its.text, at, stamped=True) for at, its in enumerate(source[: 400 - lag]))
    case = Case(200, source, Edges(200 - left, 400, 400), copies, Edges(0, 400 - lag, 400 - lag, append_time=True))
    answer = WAYS[way](case)
    assert answer.offset is not None and answer.repeats is not None
    assert answer.repeats >= max(0, 200 - answer.offset)
    assert (answer.verdict, answer.offset) == ("exact", 200) or lag or left == 16


@pytest.mark.parametrize("way", ["near", "whole"])
def test_a_series_of_which_few_consumed_records_are_left_does_not_show_where_it_is(way: str) -> None:
    turns = [f"s{number}" for number in (0, 1, 2, 3)]
    gone = " ".join(f"{at}:{turns[at % 4]}(gone)" for at in range(5))
    left = " ".join(f"{at}:{turns[at % 4]}" for at in range(5, 12))
    copies = " ".join(f"{turns[at % 4]}(L)<{at}" for at in range(8))
    to_come = " ".join(f"{turns[at % 4]}(L)<{at}" for at in range(8, 12))
    assert WAYS[way](parse(f"S {gone} {left} T {copies} F {to_come} C=10")).verdict != "exact"


def test_it_is_told_what_may_be_a_copy_of_a_lost_record() -> None:
    answer = rule.near(parse("S 0:p@0(gone) 1:u@1 T u@1<1 p@0<0 C=1"))
    assert answer.reason == "source_lost_records"
    assert (
        "1 record from the offset on may be copies of consumed records that the source has lost"
        in answer.decision.detail
    )


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_without_a_timestamp_is_not_taken_for_that_of_an_older_lost_record(way: str) -> None:
    """No timestamp is less than any, but says nothing of a record's age: brokers may drop it (message format 0.9)."""
    answer = WAYS[way](parse("S 0:c@0(gone) 1:c@1(gone) 2:a@2 3:u@3 T a@-<2 u@-<3 C=3"))
    assert answer.offset is not None and answer.offset <= 1


def sightings(text: str) -> list[Sighting]:
    return [
        Sighting(word[0], None if word[1:] == "L" else int(word[1:]), 0, offset)
        for offset, word in enumerate(text.split())
    ]


@pytest.mark.parametrize(
    ("source", "copies", "lost"),
    [
        pytest.param("a5 b6 a7", "a1 b2 a5 b6", {0, 1}, id="one pass of a tool that keeps times"),
        pytest.param("a5 b6 a7", "a5 b6 a1", set(), id="written after the last copy: perhaps that of what is to come"),
        pytest.param("a5 b6 a7", "a8 b6 a7", set(), id="the tool changes times: a5 lacks its own, and b6 has come"),
        pytest.param("a5 b6 a7", "a9 a5 b6", set(), id="younger than what is to come: perhaps its copy"),
        pytest.param("a5 b6 a7", "aL a5 b6", set(), id="a stamped copy has no time of its own"),
        pytest.param("a5 b6", "a1 b2", set(), id="nothing shows that the tool keeps times"),
    ],
)
def test_which_copies_are_those_of_lost_records(source: str, copies: str, lost: set[int]) -> None:
    assert copies_of_lost(sightings(source), sightings(copies)) == {(0, offset) for offset in lost}


@pytest.mark.parametrize("offset", [0, 9])
def test_what_has_expired_at_the_source_is_lost_where_the_destination_has_no_record(offset: int) -> None:
    empty = types.SimpleNamespace(facts=types.SimpleNamespace(log_start=offset, high_watermark=offset))
    reader: t.Any = types.SimpleNamespace(source=types.SimpleNamespace(start=7), destination=empty)
    assert lost_before_any(reader) == 7


@pytest.mark.parametrize("way", WAYS)
def test_a_consumed_record_that_follows_is_not_counted_as_still_to_come_as_well(way: str) -> None:
    """The broker has stamped its copy, so that nothing but the order says whether it has come."""
    case = parse("S 0:z@0(gone) 1:t@1 2:u@2 3:w@3 T t@1<1 w@90(L)<3 u@91(L)<2 C=3")
    assert WAYS[way](case)[:3] == ("safe", 1, 1)
