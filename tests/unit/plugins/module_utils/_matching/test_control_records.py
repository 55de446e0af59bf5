"""A time look-up sees transaction markers: one that is younger than the records around it ends look-ups far too early."""

import dataclasses
import typing as t

import pytest

from tests.attack import rule
from tests.attack.case import HOUR, NOON, Case, Copy, Edges, Options, Original
from tests.attack.judge import judge

TRANSACTION = 100  # records
Span = tuple[int, int]


def _copied(
    size: int, consumed: int, passes: t.Sequence[Span] | None = None, *, delay: int = 0, step: int = 10
) -> Case:
    """Unlike records, one each `step` milliseconds, copied in transactions that end `after` their last record."""
    source = tuple(Original(at, NOON + step * at, f"p{at}") for at in range(size))
    copies: list[Copy] = []
    for begin, end in passes or [(0, size)]:
        for first in range(begin, end, TRANSACTION):
            batch = source[first : min(first + TRANSACTION, end)]
            copies += [Copy(len(copies) + at, r.time, r.text, r.offset) for at, r in enumerate(batch)]
            copies.append(Copy(len(copies), batch[-1].time + delay, "", None, "marker"))
    return Case(consumed, source, Edges(0, size, size), tuple(copies), Edges(0, len(copies), len(copies)))


@pytest.mark.parametrize(("size", "consumed"), [(3000, 1450), (3000, 2980), (12_000, 11_500)])
@pytest.mark.parametrize("delay", [30_000, 1000 * HOUR], ids=["a slow tool", "a backfill"])
def test_a_late_copy_in_transactions_costs_no_more_than_a_live_one(size: int, consumed: int, delay: int) -> None:
    live = rule.near(_copied(size, consumed))
    late = rule.near(_copied(size, consumed, delay=delay))
    assert (
        (late.verdict, late.offset)
        == (live.verdict, live.offset)
        == ("exact", consumed + (consumed - 1) // TRANSACTION)
    )
    assert late.rounds <= 5 * live.rounds
    assert late.records <= 5 * live.records


def test_little_is_read_where_the_logs_are_too_long_to_be_counted() -> None:
    case = _copied(8000, 7500, delay=1000 * HOUR)
    late = rule.near(dataclasses.replace(case, options=Options(search_limit=2000)))
    assert (late.verdict, late.offset) == ("exact", 7574)
    assert late.rounds <= 10
    assert late.records <= 1200


PASSES = {
    "unconsumed ones came first, and nothing of them after": [(0, 100), (1500, 1530), (100, 1500)],
    "and some of them again": [(0, 100), (1500, 1530), (100, 1502)],
    "consumed ones come again": [(0, 2000), (900, 2000)],
    "consumed ones come again at last": [(0, 2000), (1400, 1450)],
    "a pass that begins late, and one from the beginning": [(1490, 2000), (0, 1495)],
}


@pytest.mark.parametrize("passes", PASSES.values(), ids=PASSES)
@pytest.mark.parametrize("step", [10, 0])
def test_what_is_passed_over_is_not_taken_on_trust(passes: list[Span], step: int) -> None:
    """Where records of a later time stand before those of an earlier one, nothing is skipped, nor repeated without a word."""
    case = _copied(2000, 1500, passes, delay=1000 * HOUR, step=step)
    found = judge(case, "near", rule.near(case))
    assert [finding for finding in found if finding.kind in ("lost", "advice loses", "false exact", "too few")] == []
