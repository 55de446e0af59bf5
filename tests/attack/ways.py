# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every way to an answer, asked about one position, and everything that is wrong with what they say."""

from __future__ import annotations

import traceback
import typing as t

from tests.attack import rule
from tests.attack.case import Case
from tests.attack.judge import FAULTS, NEEDLESS, Finding, contradiction, judge, verification

_ERRORS = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)

WAYS: dict[str, t.Callable[[Case], rule.Answer]] = {"near": rule.near, "whole": rule.whole, "count": rule.count}

EVERY_WAY = (*WAYS, "near, whole", "near, count", "verify", "kept", "identical", "notes", "neighbours")


def answers(case: Case) -> tuple[dict[str, rule.Answer], list[Finding]]:
    """The answer of each way, and what is wrong with them."""
    found: list[Finding] = []
    given: dict[str, rule.Answer] = {}
    with rule.thresholds(case.scaled):
        for way, ask in WAYS.items():
            try:
                given[way] = ask(case)
            except _ERRORS as error:
                found.append(_crash(way, error))
    for way, answer in given.items():
        found += judge(case, way, answer)
    for way, ask in (("identical", rule.identical), ("notes", _by_notes), ("neighbours", _among_neighbours)):
        if way == "notes" and case.committed % 3:
            continue
        try:
            with rule.thresholds(case.scaled):
                answer = ask(case)
        except _ERRORS as error:
            found.append(_crash(way, error))
            continue
        found += [finding for finding in judge(case, way, answer) if finding.kind in FAULTS]
        if way == "neighbours" and "near" in given and answer[:5] != given["near"][:5]:
            found.append(Finding("neighbours", way, f"{answer}, alone {given['near']}"))
    for one, other in (("near", "whole"), ("near", "count")):
        if one in given and other in given:
            found += contradiction(case, given[one], given[other], f"{one}, {other}")
    offsets = _mutated(case, given)
    found += verification(case, offsets, rule.verify(case, offsets))
    return given, found


def _by_notes(case: Case) -> rule.Answer:
    """With some differences of offsets that a tool has noted while it copied."""
    copies = [copy for copy in case.destination if copy.origin is not None][:: max(1, len(case.destination) // 3)]
    return rule.by_notes(case, tuple(dict.fromkeys((copy.origin or 0) - copy.offset for copy in copies)))


def _among_neighbours(case: Case) -> rule.Answer:
    """With what two other groups of the partition have caused to be read."""
    stable = case.source_edges.stable
    return rule.near(case, {(case.committed * 7 + 3) % (stable + 1), case.committed // 2} - {case.committed})


def _mutated(case: Case, given: t.Mapping[str, rule.Answer]) -> list[int]:
    """Offsets as a wrong plan might have them: those of the answers, one lower, one higher, ten higher."""
    edges = case.destination_edges
    offsets = {a.lossless if a.offset is None else a.offset for a in given.values()}
    shifted = {offset + by for offset in offsets if offset is not None for by in (-1, 0, 1, 10)}
    return sorted(at for at in shifted if edges.start <= at <= edges.end)


def kept(earlier: Case, now: Case) -> tuple[rule.Answer | None, list[Finding]]:
    """An earlier answer that is kept is held to the promises as if it were given now."""
    try:
        with rule.thresholds(now.scaled):
            first = rule.near(earlier)
            if judge(earlier, "near", first):
                return None, []  # wrong already when it was made
            answer = rule.kept(first, now)
    except _ERRORS as error:
        return None, [_crash("kept", error)]
    return answer, [] if answer is None else [f for f in judge(now, "kept", answer) if f.kind not in NEEDLESS]


def _crash(way: str, error: Exception) -> Finding:
    where = traceback.extract_tb(error.__traceback__)[-1]
    return Finding(
        "crash", way, f"{type(error).__name__} in {where.filename.rpartition('/')[2]}:{where.lineno}: {error}"[:300]
    )
