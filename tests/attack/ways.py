# SPDX-License-Identifier: GPL-3.0-or-later

"""Every way to an answer, asked about one position, and everything that is wrong with what they say."""

from __future__ import annotations

import traceback
import typing as t

from tests.attack import merged_rule, rule
from tests.attack.case import Case
from tests.attack.judge import FAULTS, Finding, contradiction, judge, verification
from tests.attack.merged import Merged

_ERRORS = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)

# Each of these is an answer of its own; what the others are held against is the first of them.
WAYS: dict[str, t.Callable[[Case], rule.Answer]] = {"near": rule.near, "whole": rule.whole, "count": rule.count}
PAIRS = (("near", "whole"), ("whole", "count"))


def answers(case: Case, ways: t.Collection[str]) -> tuple[dict[str, rule.Answer], list[Finding]]:
    """What these ways answer, and what is wrong with it."""
    found: list[Finding] = []
    given: dict[str, rule.Answer] = {}
    with rule.thresholds(case.scaled):
        for way, ask in (WAYS | _VARIANTS).items():
            if way not in ways:
                continue
            try:
                given[way] = ask(case)
            except _ERRORS as error:
                found.append(crash(way, error))
    for way, answer in given.items():
        if way in WAYS:
            found += judge(case, way, answer)
        elif answer[:5] != given.get("near", (None,))[:5]:  # else it would be said twice
            found += [finding for finding in judge(case, way, answer, needless=False) if finding.kind in FAULTS]
            if way == "neighbours" and "near" in given:
                found.append(Finding("neighbours", way, f"{answer}, alone {given['near']}"))
    for one, other in PAIRS:
        if one in given and other in given and f"{one}, {other}" in ways:
            found += contradiction(case, given[one], given[other], f"{one}, {other}")
    if "verify" in ways:
        offsets = _mutated(case, given)
        found += verification(case, offsets, rule.verify(case, offsets))
    return given, found


_MergedAnswer = tuple[Case, rule.Answer, list[Finding]]


def merged_answers(topics: t.Sequence[Merged]) -> list[_MergedAnswer | None]:
    """A group's answers for all partitions of each merged topic, as one, and what is wrong; None where nothing is said."""
    try:
        return [as_one(its, parts) for its, parts in zip(topics, merged_rule.merged(topics), strict=True)]
    except _ERRORS as error:
        if len(topics) > 1:
            return [answer for its in topics for answer in merged_answers([its])]
        return [(topics[0].cases()[0], rule.Answer("crash", None, None), [crash("merged", error)])]


def as_one(its: Merged, parts: t.Sequence[rule.Answer]) -> _MergedAnswer | None:
    """The answers for all partitions of one destination as one, and what is wrong with it; None where nothing is said."""
    offsets = [answer.lossless if answer.offset is None else answer.offset for answer in parts]
    known = [offset for offset in offsets if offset is not None]
    if len(known) < len(parts):
        return None
    case, offset = its.read_from(known)
    verdict = max((answer.verdict for answer in parts), key=("exact", "safe", "blocked").index)
    repeats = [answer.repeats for answer in parts]
    if verdict == "blocked":
        answer = rule.Answer(verdict, None, None, lossless=offset)
    else:
        total = None if None in repeats else sum(each or 0 for each in repeats)
        answer = rule.Answer(verdict, offset, total)
    # Declared: while the tool lags, equal records may still come to any partition, more of them than `safe` says.
    later = {"to come"} if verdict == "safe" else set()
    return (
        case,
        answer,
        [its for its in judge(case, "merged", answer, needless=False) if its.kind in FAULTS and its.kind not in later],
    )


def _by_notes(case: Case) -> rule.Answer:
    """With some differences of offsets that a tool has noted while it copied."""
    copies = [copy for copy in case.destination if copy.origin is not None][:: max(1, len(case.destination) // 3)]
    return rule.by_notes(case, tuple(dict.fromkeys((copy.origin or 0) - copy.offset for copy in copies)))


def _among_neighbours(case: Case) -> rule.Answer:
    """With what another group of the partition has caused to be read."""
    stable = case.source_edges.stable
    other = (case.committed * 7 + 3) % (stable + 1) if case.committed % 2 else case.committed // 2
    return rule.near(case, {other} - {case.committed})


_VARIANTS: dict[str, t.Callable[[Case], rule.Answer]] = {"notes": _by_notes, "neighbours": _among_neighbours}
EVERY_WAY = (*WAYS, *(f"{one}, {other}" for one, other in PAIRS), "verify", *_VARIANTS, "merged")


# What few positions need: of these one is asked of each position where the number of positions counts.
BY_TURNS = (("count", "verify", "whole, count"), ("notes",), ("neighbours",))


def by_turns(ways: t.Sequence[str], number: int) -> list[str]:
    """Those ways that are asked of the position with this number."""
    others = {way for turn, several in enumerate(BY_TURNS) if turn != number % len(BY_TURNS) for way in several}
    return [way for way in ways if way not in others]


def _mutated(case: Case, given: t.Mapping[str, rule.Answer]) -> list[int]:
    """Offsets as a wrong plan might have them: those of the answers, one lower, one higher, ten higher."""
    edges = case.destination_edges
    offsets = {a.lossless if a.offset is None else a.offset for a in given.values()}
    shifted = {offset + by for offset in offsets if offset is not None for by in (-1, 0, 1, 10)}
    return sorted(at for at in shifted if edges.start <= at <= edges.end)


def crash(way: str, error: Exception) -> Finding:
    """An error that nobody foresaw."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    return Finding(
        "crash", way, f"{type(error).__name__} in {where.filename.rpartition('/')[2]}:{where.lineno}: {error}"[:300]
    )
