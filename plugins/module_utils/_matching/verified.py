# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""What the counts of a comparison mean for the group whose offsets they are about: wrong, or worth a word. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.comparing import Comparison
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.fates import Counts, Spot
from ansible_collections.streamshift.kafka.plugins.module_utils._model.report import Finding, Position


class Claim(t.NamedTuple):
    """What is said of a group's offsets. repeats: how many consumed records may come again, None for any number."""

    group: str
    source: tuple[Position, ...]
    destination: tuple[Position, ...]
    repeats: int | None


def finding(claim: Claim, comparison: Comparison, counts: Counts, is_complete: bool, is_compacted: bool) -> Finding:
    """is_compacted: the destination drops records whose key came again, so one that is absent may have been there."""
    found = Finding(
        claim.group,
        claim.source,
        claim.destination,
        comparison.compared,
        is_complete,
        counts.left_behind,
        counts.absent,
        counts.to_come,
        counts.repeated,
        counts.copied_again,
        counts.foreign,
        comparison.in_order,
        comparison.first_difference if _differs(comparison, counts) else None,
        comparison.how.parts,
    )
    return dataclasses.replace(
        found,
        problems=tuple(_problems(claim, comparison, counts, is_compacted)),
        notes=tuple(_notes(claim, comparison, counts, is_compacted)),
    )


def _differs(comparison: Comparison, counts: Counts) -> bool:
    """Is anything different but that the copier has still to write?"""
    wrong = (counts.left_behind, counts.absent, counts.repeated, counts.copied_again, counts.foreign)
    unexamined = comparison.unexamined or comparison.unexamined_copies
    return any(wrong) or bool(unexamined) or comparison.in_order is False


def _problems(claim: Claim, comparison: Comparison, counts: Counts, is_compacted: bool) -> t.Iterator[str]:
    if counts.left_behind:
        yield (
            f"{_records(counts.left_behind, 'unconsumed')} left behind: before {_offsets(claim)}, "
            f"first {_spot(claim, counts.first_left_behind)}"
        )
    if counts.absent and not is_compacted:
        yield (
            f"{_records(counts.absent, 'unconsumed')} not at the destination, though later ones are: "
            f"first {_spot(claim, counts.first_absent)}; the copier has filtered or lost what is missing"
        )
    if claim.repeats is not None and counts.repeated > claim.repeats:
        said = f"at most {claim.repeats} were to" if claim.repeats else "none was to"
        yield (
            f"{_records(counts.repeated, 'consumed')} repeated: behind {_offsets(claim)}, "
            f"first {_spot(claim, counts.first_repeated)}; {said} be"
        )
    if comparison.unexamined:
        yield (
            "the two sides differ in so many records that "
            f"{comparison.unexamined} were not examined; compare fewer (limit), or see which topics these are"
        )
    if claim.repeats is not None and counts.repeated <= claim.repeats < counts.repeated + comparison.unexamined_copies:
        yield (
            f"{comparison.unexamined_copies} records behind {_offsets(claim)} were not examined, and may be consumed ones; "
            "compare fewer (limit)"
        )


def _notes(claim: Claim, comparison: Comparison, counts: Counts, is_compacted: bool) -> t.Iterator[str]:
    if counts.to_come:
        yield f"{_records(counts.to_come, 'unconsumed')} still to be copied"
    if counts.absent and is_compacted:
        yield f"{_records(counts.absent, 'unconsumed')} not at the destination, which is compacted"
    if counts.repeated and (claim.repeats is None or counts.repeated <= claim.repeats):
        yield f"{_records(counts.repeated, 'consumed')} repeated"
    if comparison.unexamined_copies:
        yield f"{comparison.unexamined_copies} records of the destination were not examined"
    if counts.copied_again:
        yield f"{_records(counts.copied_again, 'unconsumed')} there more often than at the source"
    if counts.foreign:
        yield f"{_records(counts.foreign, '')} only at the destination"
    if comparison.in_order is False:
        yield "the records are in another order than at the source"


def _records(number: int, kind: str) -> str:
    noun = f"{kind} record".strip()
    return f"1 {noun} is" if number == 1 else f"{number} {noun}s are"


def _offsets(claim: Claim) -> str:
    return "the offset " + str(claim.destination[0][1]) if len(claim.destination) == 1 else "the offsets"


def _spot(claim: Claim, spot: Spot | None) -> str:
    """A record for a message: where it is at the source, at the destination, or on both sides."""
    if spot is None:
        return "unknown"
    said = []
    for side, positions, at in (
        ("source", claim.source, spot.source),
        ("destination", claim.destination, spot.destination),
    ):
        if at is not None:
            place, offset = at
            partition = f"{positions[place][0]} " if len(positions) > 1 else ""
            said.append(f"{side} {partition}offset {offset}")
    return ", ".join(said)
