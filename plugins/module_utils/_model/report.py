# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The report file: what was found when the records from committed offsets on were compared."""

from __future__ import annotations

import dataclasses
import enum
import typing as t

from . import documents
from .match_on import PART
from .notes import Note, NoteKind
from .records import TopicPartition

KIND = "report"

PartitionOffset = tuple[TopicPartition, int]


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
    source: tuple[PartitionOffset, ...]
    destination: tuple[PartitionOffset, ...]
    compared: int = 0
    complete: bool = True
    skipped: int = 0
    absent: int = 0
    to_come: int = 0
    repeated: int = 0
    recopied: int = 0
    destination_only: int = 0
    first_difference: tuple[int | None, int | None] | None = None
    matched_by: tuple[str, ...] = ()
    problems: tuple[Flaw, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def name(self) -> str:
        """What it is about, for a message."""
        return finding_name(self.group, self.destination)


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """limit: how many offsets on both sides of each offset were read, None for all, or where only anchors were read.

    plan: the SHA-256 digest of the plan file that was verified, None where committed offsets were, without a plan.
    """

    source_id: str
    destination_id: str
    limit: int | None
    findings: tuple[Finding, ...]
    plan: str | None = None
    method: str = "records"


class Objections(t.NamedTuple):
    """What a commit needs of a report. lines: what is wrong in words, by group and partition of the destination."""

    plan: str | None
    lines: dict[tuple[str, TopicPartition], str]


def finding_name(group: str, destination: t.Sequence[PartitionOffset]) -> str:
    """A group with the partition that a finding is about, or with the topics of several."""
    partitions = [partition for partition, _offset in destination]
    if len(partitions) == 1:
        return f"{group} {partitions[0]}"
    return f"{group} {', '.join(sorted({partition.topic for partition in partitions}))}"


def to_json(report: Report) -> str:
    """The text of a report file."""
    return documents.dumps(
        KIND,
        {
            "source": {"cluster_id": report.source_id},
            "destination": {"cluster_id": report.destination_id},
            "plan": report.plan,
            "method": report.method,
            "limit": report.limit,
        },
        (_row(each) for each in sorted(report.findings, key=lambda each: (each.group, each.destination))),
    )


def from_json(text: str, path: str) -> Report:
    """Read a report file, or raise InvalidFile."""
    head, rows = documents.loads(KIND, text, path)
    members = ("source", "destination", "plan", "method", "limit")
    return documents.parse(
        KIND,
        path,
        {name: head.get(name) for name in members},
        lambda it: Report(
            documents.text_of(it["source"]["cluster_id"]),
            documents.text_of(it["destination"]["cluster_id"]),
            None if it["limit"] is None else documents.offset_of(it["limit"]),
            documents.parse_entries(KIND, path, rows, _finding),
            None if it["plan"] is None else documents.text_of(it["plan"]),
            documents.text_of(it["method"]),
        ),
    )


def objections(text: str, path: str) -> Objections:
    """What a report file objects to, or InvalidFile."""
    head, rows = documents.loads(KIND, text, path)
    digest = documents.parse(KIND, path, head, lambda it: None if it["plan"] is None else documents.text_of(it["plan"]))
    lines: dict[tuple[str, TopicPartition], str] = {}
    for group, partitions, problems in (documents.parse(KIND, path, row, _objection) for row in rows):
        if problems:
            lines |= {(group, partition): "; ".join(problems) for partition in partitions}
    return Objections(digest, lines)


def _objection(row: t.Any) -> tuple[str, list[TopicPartition], list[str]]:
    return (
        documents.name_of(row["group"]),
        [
            TopicPartition(documents.name_of(at["topic"]), documents.partition_of(at["partition"]))
            for at in row["destination"]
        ],
        [documents.text_of(flaw["detail"]) for flaw in row["problems"]],
    )


def _finding(row: t.Any) -> Finding:
    difference = row["first_difference"]
    return Finding(
        documents.text_of(row["group"]),
        _positions(row["source"]),
        _positions(row["destination"]),
        complete=documents.flag_of(row["complete"]),
        first_difference=None
        if difference is None
        else (_offset_or_none(difference["source"]), _offset_or_none(difference["destination"])),
        matched_by=tuple(map(PART.read, row["matched_by"])),
        problems=tuple(Flaw(ProblemKind(flaw["kind"]), documents.text_of(flaw["detail"])) for flaw in row["problems"]),
        notes=tuple(Note(NoteKind(note["kind"]), documents.text_of(note["detail"])) for note in row["notes"]),
        compared=documents.offset_of(row["compared"]),
        skipped=documents.offset_of(row["skipped"]),
        absent=documents.offset_of(row["absent"]),
        to_come=documents.offset_of(row["to_come"]),
        repeated=documents.offset_of(row["repeated"]),
        recopied=documents.offset_of(row["recopied"]),
        destination_only=documents.offset_of(row["destination_only"]),
    )


def _positions(rows: t.Any) -> tuple[PartitionOffset, ...]:
    return tuple(
        (
            TopicPartition(documents.name_of(at["topic"]), documents.partition_of(at["partition"])),
            documents.offset_of(at["offset"]),
        )
        for at in rows
    )


def _offset_or_none(value: t.Any) -> int | None:
    return None if value is None else documents.offset_of(value)


def _row(finding: Finding) -> documents.Json:
    row: dict[str, t.Any] = {field.name: getattr(finding, field.name) for field in dataclasses.fields(finding)}
    for side in ("source", "destination"):
        row[side] = [{**partition._asdict(), "offset": offset} for partition, offset in row[side]]
    row["problems"] = [flaw._asdict() for flaw in finding.problems]
    row["notes"] = [{"kind": note.kind, "detail": note.text} for note in finding.notes]
    if finding.first_difference is not None:
        row["first_difference"] = dict(zip(("source", "destination"), finding.first_difference, strict=True))
    return row
