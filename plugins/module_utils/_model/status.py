# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The status file: what the last round has done, and how far each group is. Pure."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from . import documents
from .file_rows import Seconds, read_file
from .readiness import Readiness

KIND = "status"
_Row = documents.Json


@dataclasses.dataclass(frozen=True, slots=True)
class Status:
    """The last round. started and ended: Unix time in seconds; last_good: when the last round that did not fail ended.

    phase: of the role. changed: offsets that were written. failure: why the round has failed, None for a good one. groups: rows
    of the file, one a group, which a failed round takes over from the one before.
    """

    phase: str
    started: Seconds
    ended: Seconds
    changed: int
    failure: str | None
    last_good: Seconds | None
    groups: tuple[_Row, ...] = ()

    @property
    def ready_since(self) -> dict[str, str]:
        """Since when the groups have been ready, by name."""
        return {row["group"]: row["ready_since"] for row in self.groups if row["ready_since"] is not None}


def to_json(status: Status) -> str:
    """The text of a status file."""
    head = {
        "phase": status.phase,
        "started": round(status.started, 3),
        "ended": round(status.ended, 3),
        "seconds": round(max(0.0, status.ended - status.started), 3),
        "changed": status.changed,
        "failure": status.failure,
        "last_good": None if status.last_good is None else round(status.last_good, 3),
    }
    return documents.dumps(KIND, head, status.groups)


def from_json(text: str, path: str) -> Status:
    """Read a status file, or raise InvalidFile."""
    return read_file(KIND, text, path, Status, groups=_checked)


def group_row(group: Readiness) -> _Row:
    """A group as the status file and the module's result hold it."""
    return {
        "group": group.group,
        "ready": group.ready,
        "ready_since": group.ready_since,
        "source_groups": list(group.source_groups),
        "lag": group.lag and group.lag.offsets,
        "expired": group.lag.expired if group.lag else 0,
        "to_come": group.to_come,
        "absent": group.absent.records,
        "verdicts": {verdict.value: number for verdict, number in sorted(group.verdicts.items())},
        "not_exact": [
            {
                **not_exact.partition._asdict(),
                "verdict": not_exact.verdict.value,
                "reason": not_exact.reason and not_exact.reason.value,
                "repeats": not_exact.repeats,
            }
            for not_exact in group.not_exact
        ],
        "not_committed": group.not_committed,
        "in_use_at_source": group.in_use_at_source,
        "in_use_at_destination": group.in_use_at_destination,
    }


def _checked(row: t.Any) -> _Row:
    """A row that ready_since and the metrics can be taken from; what else it holds is for people."""
    documents.name_of(row["group"])
    documents.flag_of(row["ready"])
    for name in ("absent", "expired"):  # earlier versions did not know
        row.setdefault(name, 0)
    for name in ("lag", "expired", "to_come", "absent"):
        if row[name] is not None:
            documents.offset_of(row[name])
    for verdict, number in row["verdicts"].items():  # AttributeError for anything but an object
        documents.text_of(verdict)
        documents.offset_of(number)
    if row["ready_since"] is not None:
        documents.text_of(row["ready_since"])
    json.dumps(row, ensure_ascii=False).encode()
    return dict(row)
