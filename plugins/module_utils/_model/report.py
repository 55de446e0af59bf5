# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The report file: what was found when the records from committed offsets on were compared, and what is wrong with that."""

from __future__ import annotations

import collections
import dataclasses
import enum
import typing as t

from . import documents
from .file_rows import RARE, At, Form, partition_from, read_file, read_row, row_order, write_row
from .idle import NOT_LOOKED, EarlierLook
from .match_on import PART
from .notes import Note, NoteKind
from .record_sum import Bound, RecordSum
from .records import TopicPartition
from .visible_text import group_partition, visible_name
from .wording import counted

KIND = "report"
_TOLERATED = " (on_absent: warn)"  # ends a note

PartitionOffset = tuple[TopicPartition, int]
_POSITIONS = Form(
    lambda rows: tuple((partition_from(at), documents.offset_of(at["offset"])) for at in rows),
    lambda positions: [{**partition._asdict(), "offset": offset} for partition, offset in positions],
)
_SIDES = ("source", "destination")
_DIFFERENCE = Form(
    lambda row: row and tuple(None if row[side] is None else documents.offset_of(row[side]) for side in _SIDES),
    lambda offsets: offsets and dict(zip(_SIDES, offsets, strict=True)),
)
_NOTE = Form(
    lambda row: Note(documents.choice_of(NoteKind, row["kind"]), documents.text_of(row["detail"])),
    lambda note: {"kind": note.kind.value, "detail": note.text},
)


class ProblemKind(enum.StrEnum):
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
    CHANGED_SINCE_PLAN = "changed_since_plan"  # partitions were added, a topic was created again, or a log went back
    NOT_EXAMINED = "not_examined"  # too many records differ to say what became of them


class Flaw(t.NamedTuple):
    """One thing that is wrong with a finding's offsets. detail: what, in words."""

    kind: ProblemKind
    detail: str


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """What was found of one group's offsets: on one partition, or on all of a topic that was repartitioned or merged.

    source, destination: where the group stands. compared: how many records are equal on both sides. complete: whether
    both logs were read whole. first_difference: the offsets of the first record that is skipped, else repeated, else
    absent, None on a side that it is not named on. problems make the offsets wrong; notes do not. See
    _comparing.sums.Counts for the other numbers.
    """

    group: str
    source: t.Annotated[tuple[PartitionOffset, ...], _POSITIONS]
    destination: t.Annotated[tuple[PartitionOffset, ...], _POSITIONS]
    compared: int = 0
    complete: bool = True
    skipped: int = 0
    absent: int = 0
    to_come: int = 0
    repeated: int = 0
    recopied: int = 0
    destination_only: int = 0
    first_difference: t.Annotated[tuple[int | None, int | None] | None, _DIFFERENCE] = None
    matched_by: tuple[t.Annotated[str, PART], ...] = ()
    problems: tuple[Flaw, ...] = ()
    notes: tuple[t.Annotated[Note, _NOTE], ...] = ()

    @property
    def name(self) -> str:
        """What it is about, for a message."""
        return finding_name(self.group, self.destination)

    @property
    def source_partitions(self) -> frozenset[TopicPartition]:
        """As of a plan's entry."""
        return frozenset(partition for partition, _offset in self.source)

    @property
    def is_verified(self) -> bool | None:
        """Is it right? None where no record was there to be compared within the limit, or beside the offset."""
        if self.problems:
            return False
        # Where both logs were read to their ends, and nothing is there, that is what had to be proved.
        return True if self.compared or self.complete else None

    @property
    def absent_number(self) -> RecordSum:
        """How many are absent. Where only the records beside an offset, or those within a limit, were read, more may be."""
        return RecordSum(self.absent, Bound.EXACTLY if self.complete else Bound.AT_LEAST)


@row_order("source_id", "destination_id", "plan", "method", "limit", "look", "findings")
@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """limit: how many offsets on both sides of each offset were read, None for all, or where only anchors were read.

    plan: the SHA-256 digest of the plan file that was verified, None where committed offsets were, without a plan.
    look: at what a commit of the plan looks once more; None where that cannot follow.
    """

    source_id: t.Annotated[str, At("source", "cluster_id")]
    destination_id: t.Annotated[str, At("destination", "cluster_id")]
    limit: int | None
    findings: tuple[Finding, ...]
    plan: str | None = None
    method: str = "records"
    look: t.Annotated[EarlierLook | None, RARE] = None


class Objections(t.NamedTuple):
    """What a commit needs of a report. lines: what is wrong in words, by group and partition of the destination.

    absent: the findings of absent records. look: how both clusters were seen when the plan was verified.
    """

    plan: str | None
    lines: dict[tuple[str, TopicPartition], str]
    absent: tuple[Finding, ...] = ()
    look: t.Annotated[EarlierLook, RARE] = NOT_LOOKED


def finding_name(group: str, destination: t.Sequence[PartitionOffset]) -> str:
    """A group with the partition that a finding is about, or with the topics of several."""
    partitions = [partition for partition, _offset in destination]
    if len(partitions) == 1:
        return group_partition(group, partitions[0])
    return f"{visible_name(group)} {', '.join(sorted({partition.topic for partition in partitions}))}"


def to_json(report: Report) -> str:
    """The text of a report file."""
    findings = sorted(report.findings, key=lambda finding: (finding.group, finding.destination))
    return documents.dumps(KIND, write_row(report, "findings"), map(write_row, findings))


def from_json(text: str, path: str) -> Report:
    """Read a report file, or raise InvalidFile."""
    return read_file(KIND, text, path, Report, findings=Finding)


def objections(text: str, path: str) -> Objections:
    """What a report file objects to, or InvalidFile."""
    head, rows = documents.loads(KIND, text, path)
    told = documents.parse_entries(KIND, path, rows, _objection)
    lines = {key: line for of_finding, _absent in told for key, line in of_finding.items()}
    absent = tuple(finding for _lines, finding in told if finding is not None)
    return documents.parse(KIND, path, head, lambda row: read_row(Objections, row, lines=lines, absent=absent))


def _objection(row: t.Any) -> tuple[dict[tuple[str, TopicPartition], str], Finding | None]:
    """The lines of one finding, and the finding if it is of absent records: to read all of each takes longer."""
    group = documents.name_of(row["group"])
    problems = [documents.text_of(flaw["detail"]) for flaw in row["problems"]]
    partitions = [partition_from(at) for at in row["destination"]]
    lines = {(group, partition): "; ".join(problems) for partition in partitions} if problems else {}
    return lines, read_row(Finding, row) if row["absent"] else None


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
    gravity = list(ProblemKind).index
    return sorted(
        problems, key=lambda problem: (gravity(problem.kind), problem.group, problem.destination, problem.detail)
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
