# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The report file: what was found when the records behind committed offsets were compared."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._model import documents
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

KIND = "report"

Position = tuple[TopicPartition, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """What was found of one group's offsets: on one partition, or on all of a topic that was repartitioned or merged.

    source, destination: where the group stands. compared: how many records are equal on both sides. complete: whether
    both logs were read whole. first_difference: the offsets of the first record that is skipped, else repeated, else
    absent, None on a side that it is not named on. problems make the offsets wrong; notes do not. See
    _matching.sums.Counts for the other numbers.
    """

    group: str
    source: tuple[Position, ...]
    destination: tuple[Position, ...]
    compared: int = 0
    complete: bool = True
    skipped: int = 0
    absent: int = 0
    to_come: int = 0
    repeated: int = 0
    copied_again: int = 0
    foreign: int = 0
    first_difference: tuple[int | None, int | None] | None = None
    matched_by: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What it is about, for a message."""
        return name_of(self.group, self.destination)


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


def name_of(group: str, destination: t.Sequence[Position]) -> str:
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
        documents.text_of(row["group"]),
        [
            TopicPartition(documents.text_of(at["topic"]), documents.offset_of(at["partition"]))
            for at in row["destination"]
        ],
        [documents.text_of(line) for line in row["problems"]],
    )


def _row(finding: Finding) -> documents.Json:
    row: dict[str, t.Any] = {field.name: getattr(finding, field.name) for field in dataclasses.fields(finding)}
    for side in ("source", "destination"):
        row[side] = [{**partition._asdict(), "offset": offset} for partition, offset in row[side]]
    if finding.first_difference is not None:
        row["first_difference"] = dict(zip(("source", "destination"), finding.first_difference, strict=True))
    return row
