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
    _matching.verifying.Counts for the other numbers.
    """

    group: str
    source: tuple[Position, ...]
    destination: tuple[Position, ...]
    compared: int = 0
    complete: bool = True
    left_behind: int = 0
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
        partitions = [partition for partition, _offset in self.destination]
        if len(partitions) == 1:
            return f"{self.group} {partitions[0]}"
        return f"{self.group} {', '.join(sorted({partition.topic for partition in partitions}))}"


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """limit: how many offsets on both sides of each offset were read, None for all."""

    source_id: str
    destination_id: str
    limit: int | None
    findings: tuple[Finding, ...]


def to_json(report: Report) -> str:
    """The text of a report file."""
    return documents.dumps(
        KIND,
        {
            "source": {"cluster_id": report.source_id},
            "destination": {"cluster_id": report.destination_id},
            "limit": report.limit,
        },
        (_row(each) for each in sorted(report.findings, key=lambda each: (each.group, each.destination))),
    )


def _row(finding: Finding) -> documents.Json:
    row: dict[str, t.Any] = {field.name: getattr(finding, field.name) for field in dataclasses.fields(finding)}
    for side in ("source", "destination"):
        row[side] = [{**partition._asdict(), "offset": offset} for partition, offset in row[side]]
    if finding.first_difference is not None:
        row["first_difference"] = dict(zip(("source", "destination"), finding.first_difference, strict=True))
    return row
