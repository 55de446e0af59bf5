# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a verification objects to: each problem with its kind, and the gravest first. Pure."""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from .notes import Note, NoteKind
from .progress import counted
from .report import Finding, PartitionOffset, ProblemKind, finding_name

_TOLERATED = " (on_absent: warn)"  # ends a note
_GRAVITY = {kind: number for number, kind in enumerate(ProblemKind)}


class Problem(t.NamedTuple):
    """One thing that is wrong with a group's offsets, or with a copy: then group is empty.

    records: how many it concerns, None where it is not about records. source, destination: the offsets that were
    verified. detail: what is wrong, in words.
    """

    kind: ProblemKind
    group: str
    source: tuple[PartitionOffset, ...]
    destination: tuple[PartitionOffset, ...]
    records: int | None
    detail: str

    @property
    def line(self) -> str:
        """The problem with the group and partition that it is about."""
        return f"{finding_name(self.group, self.destination)}: {self.detail}" if self.group else self.detail


def problems_of(finding: Finding) -> list[Problem]:
    """The problems of one finding, in its own order."""
    return [
        Problem(kind, finding.group, finding.source, finding.destination, _count(finding, kind), detail)
        for kind, detail in finding.problems
    ]


def of_copy(details: t.Iterable[str]) -> list[Problem]:
    """The problems of a copy, which concern all of its groups; details: a sentence each."""
    return [Problem(ProblemKind.COPY_DIFFERS, "", (), (), None, detail) for detail in details]


def tolerating_absent(finding: Finding) -> Finding:
    """The same finding, where absent records are notes instead, because on_absent says warn."""
    tolerated = [flaw for flaw in finding.problems if flaw.kind is ProblemKind.ABSENT]
    return dataclasses.replace(
        finding,
        problems=tuple(flaw for flaw in finding.problems if flaw not in tolerated),
        notes=(*(Note(NoteKind.ABSENT, f"{flaw.detail}{_TOLERATED}") for flaw in tolerated), *finding.notes),
    )


def is_tolerated(note: Note) -> bool:
    """Is it about absent records that tolerating_absent() has made a note of? Those of compaction are notes by themselves."""
    return note.kind is NoteKind.ABSENT and note.text.endswith(_TOLERATED)


def by_gravity(problems: t.Iterable[Problem]) -> list[Problem]:
    """The gravest first; those of one kind by group, topic and partition."""
    return sorted(
        problems, key=lambda problem: (_GRAVITY[problem.kind], problem.group, problem.destination, problem.detail)
    )


def counts_by_kind(problems: t.Iterable[Problem]) -> dict[str, int]:
    """How many problems there are of each kind that occurs, the gravest kind first."""
    counts = collections.Counter(problem.kind for problem in problems)
    return {kind.value: counts[kind] for kind in ProblemKind if counts[kind]}


def summary(problems: t.Sequence[Problem]) -> str:
    """`5 problems of 2 kinds: skipped 1, absent 4`."""
    counts = counts_by_kind(problems)
    kinds = counted(len(counts), "kind")
    return f"{counted(len(problems), 'problem')} of {kinds}: {', '.join(f'{kind} {count:,}' for kind, count in counts.items())}"


def _count(finding: Finding, kind: ProblemKind) -> int | None:
    return {
        ProblemKind.SKIPPED: finding.skipped,
        ProblemKind.REPEATED: finding.repeated,
        ProblemKind.ABSENT: finding.absent,
    }.get(kind) or None
