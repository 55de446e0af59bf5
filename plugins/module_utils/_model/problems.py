# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a verification objects to: each problem with its kind, and the gravest first. Pure."""

from __future__ import annotations

import collections
import dataclasses
import enum
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._model.report import Finding, Position, name_of


class Kind(enum.StrEnum):
    """What is wrong with an offset, the gravest first."""

    SKIPPED = "skipped"  # unconsumed records lie before the offset
    COPY_DIFFERS = "copy_differs"  # what this collection has copied is missing, there twice, or in another order
    BEYOND_END = "beyond_end"  # the offset lies after the end of the log
    REPEATED = "repeated"  # more consumed records come again than the plan says
    ABSENT = "absent"  # the replication tool has left out unconsumed records
    MOVED = "moved"  # the group's committed offset is not what was written, nor after it
    RECORD_DIFFERS = "record_differs"  # the record beside the offset is not the one that was matched
    NOT_COMMITTED = "not_committed"  # the group has no committed offset at the destination
    NOT_COMPARABLE = "not_comparable"  # a topic is missing, or has another number of partitions
    NOT_EXAMINED = "not_examined"  # too many records differ to say what became of them


_GRAVITY = {kind: number for number, kind in enumerate(Kind)}

# How the lines of a Finding begin (up to the first colon), by kind; a topic's name holds no blank.
_MARKS = (
    (Kind.BEYOND_END, " is beyond the "),
    (Kind.SKIPPED, " left behind"),
    (Kind.SKIPPED, " skipped"),
    (Kind.ABSENT, " not at the destination"),
    (Kind.REPEATED, " repeated"),
)


class Problem(t.NamedTuple):
    """One thing that is wrong with a group's offsets, or with a copy: then group is empty.

    records: how many it concerns, None where it is not about records. source, destination: the offsets that were
    verified. detail: what is wrong, in words.
    """

    kind: Kind
    group: str
    source: tuple[Position, ...]
    destination: tuple[Position, ...]
    records: int | None
    detail: str

    @property
    def line(self) -> str:
        """The problem with the group and partition that it is about."""
        return f"{name_of(self.group, self.destination)}: {self.detail}" if self.group else self.detail


def problems_of(finding: Finding) -> list[Problem]:
    """The problems of one finding, in its own order."""
    return [
        Problem(kind := _kind(line), finding.group, finding.source, finding.destination, _count(finding, kind), line)
        for line in finding.problems
    ]


def of_copy(details: t.Iterable[str]) -> list[Problem]:
    """The problems of a copy, which concern all of its groups; details: a sentence each."""
    return [Problem(Kind.COPY_DIFFERS, "", (), (), None, detail) for detail in details]


def tolerating(finding: Finding, kind: Kind, by: str) -> Finding:
    """The same finding, where problems of this kind are notes instead. by: the option that allows them, as it is set."""
    tolerated = [line for line in finding.problems if _kind(line) is kind]
    return dataclasses.replace(
        finding,
        problems=tuple(line for line in finding.problems if line not in tolerated),
        notes=(*(f"{line} ({by})" for line in tolerated), *finding.notes),
    )


def by_gravity(problems: t.Iterable[Problem]) -> list[Problem]:
    """The gravest first; those of one kind by group, topic and partition."""
    return sorted(problems, key=lambda each: (_GRAVITY[each.kind], each.group, each.destination, each.detail))


def counts_by_kind(problems: t.Iterable[Problem]) -> dict[str, int]:
    """How many problems there are of each kind that occurs, the gravest kind first."""
    counts = collections.Counter(each.kind for each in problems)
    return {kind.value: counts[kind] for kind in Kind if counts[kind]}


def summary(problems: t.Sequence[Problem]) -> str:
    """`5 problems of 2 kinds: skipped 1, absent 4`."""
    counts = counts_by_kind(problems)
    total = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    kinds = "1 kind" if len(counts) == 1 else f"{len(counts)} kinds"
    return f"{total} of {kinds}: {', '.join(f'{kind} {count}' for kind, count in counts.items())}"


def _kind(line: str) -> Kind:
    head = line.partition(":")[0]
    return next((kind for kind, mark in _MARKS if mark in head), Kind.NOT_EXAMINED)


def _count(finding: Finding, kind: Kind) -> int | None:
    return {Kind.SKIPPED: finding.skipped, Kind.REPEATED: finding.repeated, Kind.ABSENT: finding.absent}.get(kind)
