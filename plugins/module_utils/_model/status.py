# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The status file: what the last round has done, and how far each group is. Pure."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from . import documents
from .file_rows import LATER, Form, Name, Seconds, read_row, write_row
from .group_lag import lag_members
from .readiness import Readiness

KIND = "status"
ROUNDS = "sync"  # the phase after which groups are committed, and go on at the source
_Row = documents.Json
_Milliseconds = t.Annotated[float, Form(documents.unix_time_of, lambda seconds: round(seconds, 3))]  # of Unix time


class GroupRounds(t.NamedTuple):
    """What is known of a group by its last round, also after runs of other groups in the same directory.

    synced_until: when its last round ended, as Unix time; None once the group was cut over.
    """

    group: Name
    ready_since: str | None
    synced_until: Seconds | None


@dataclasses.dataclass(frozen=True, slots=True)
class Status:
    """The last round. started and ended: Unix time in seconds; last_good: when the last round that did not fail ended.

    A cut-over is no round for last_good.

    phase: of the role. changed: offsets that were written. failure: why the round has failed, None for a good one. groups: rows
    of the file, one a group, which a failed round takes over from the one before. rounds: of all groups of the directory.
    """

    phase: str
    started: _Milliseconds
    ended: _Milliseconds
    changed: int
    failure: str | None
    last_good: _Milliseconds | None
    groups: tuple[_Row, ...] = ()
    rounds: t.Annotated[tuple[GroupRounds, ...], LATER] = ()

    @property
    def ready_since(self) -> dict[str, str]:
        """Since when the groups have been ready, by name."""
        return {its.group: its.ready_since for its in self.rounds if its.ready_since is not None}

    @property
    def synced_until(self) -> dict[str, float]:
        """When the last round of each group ended that was not cut over since, by name."""
        return {its.group: its.synced_until for its in self.rounds if its.synced_until is not None}

    def after(self, earlier: tuple[GroupRounds, ...]) -> Status:
        """The same with what is known of all groups now. earlier: what was known before.

        The rounds of a group that a cut-over has left out go on.
        """
        until = self.with_rounds(earlier).synced_until
        for row in self.groups:
            if self.phase == ROUNDS:
                until[row["group"]] = self.ended
            elif not (row["verdicts"].get("blocked") or row.get("not_committed") or row.get("in_use_at_source")):
                until.pop(row["group"], None)  # also where its consumers run at the destination already
        own = (GroupRounds(row["group"], row["ready_since"], until.get(row["group"])) for row in self.groups)
        return self.with_rounds((*earlier, *own))

    def with_rounds(self, rounds: t.Iterable[GroupRounds]) -> Status:
        """The same with these, the last of each group."""
        return dataclasses.replace(self, rounds=tuple({its.group: its for its in rounds}.values()))


def to_json(status: Status) -> str:
    """The text of a status file."""
    head = write_row(status, "groups")
    head["seconds"] = round(max(0.0, status.ended - status.started), 3)
    return documents.dumps(KIND, head, status.groups)


def from_json(text: str, path: str) -> Status:
    """Read a status file, or raise InvalidFile."""
    head, rows = documents.loads(KIND, text, path)
    groups = documents.parse_entries(KIND, path, rows, _checked)
    made = documents.parse(KIND, path, head, lambda row: read_row(Status, row, groups=groups))
    if "rounds" in head:
        return made
    # Earlier versions did not know. A run that has failed has the groups of the round before it, and has cut none over.
    ended = made if made.failure is None else dataclasses.replace(made, phase=ROUNDS)
    return made.with_rounds(ended.after(()).rounds)


def group_row(group: Readiness) -> _Row:
    """A group as the status file and the module's result hold it."""
    return {
        "group": group.group,
        "ready": group.ready,
        "ready_since": group.ready_since,
        "source_groups": list(group.source_groups),
        **lag_members(group.lag),
        "to_come": group.to_come,
        "absent": group.absent.records,
        "verdicts": {verdict.value: number for verdict, number in sorted(group.verdicts.items())},
        "not_exact": [
            {
                **entry.partition._asdict(),
                "verdict": entry.verdict.value,
                "reason": entry.reason and entry.reason.value,
                "repeats": entry.repeats,
            }
            for entry in group.not_exact
        ],
        "not_committed": group.not_committed,
        "in_use_at_source": group.in_use_at_source,
        "in_use_at_destination": group.in_use_at_destination,
    }


class _GroupRow(t.NamedTuple):
    """What is read of a row of a group; what else it holds is for people."""

    group: Name
    ready: bool
    ready_since: str | None
    lag: int | None
    to_come: int | None
    verdicts: dict[str, int]
    absent: t.Annotated[int | None, LATER] = 0
    expired: t.Annotated[int | None, LATER] = 0


def _checked(row: t.Any) -> _Row:
    known = read_row(_GroupRow, row)
    json.dumps(row, ensure_ascii=False).encode()  # half a character is no text
    return {**row, "absent": known.absent, "expired": known.expired}
