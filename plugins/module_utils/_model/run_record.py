# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The run file: what a run has done, step by step, in numbers. It names no person, host, group or topic. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from . import documents
from .file_rows import LATER, Seconds, read_file, write_row

KIND = "run"
# The steps that compare offsets with records.
VERIFYING = ("verify", "read back")
# The counts of a read-back that say together how many committed offsets it has read.
READ_BACK = ("verified", "without_records", "requested")
# What a run looks at, and nobody waits for to write.
UNTIMED = frozenset({"readiness", "start"})
# The kinds of RunRecord.left_out that count groups.
_GROUPS_LEFT_OUT = ("in_use_at_source", "in_use_at_destination", "left_alone")


class Failure(t.NamedTuple):
    """What has ended a run. step: its name. kind: that of its error, None for what no module of the collection has said."""

    step: str
    kind: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """A step of a run. seconds: how long it took. counts: the numbers that its module has returned, by their names."""

    step: str
    seconds: Seconds
    changed: bool = False
    failed: bool = False
    counts: dict[str, int] = dataclasses.field(default_factory=dict)

    @property
    def records(self) -> int | None:
        """How many records it has read or compared, None where that is not known."""
        return self.counts.get("records_read", self.counts.get("compared"))


@dataclasses.dataclass(frozen=True, slots=True)
class RunRecord:
    """A run that has ended. started, ended: Unix time in seconds; None where nobody knows when it has started.

    role, phase: None for tasks of a user's own. failure: None for a run that has succeeded. plan: the digest of the plan that
    it has made or verified. verdicts: how many group-partitions have each. written: how many committed offsets it has changed,
    None where that is not known. left_out: how much was asked for and is not done, by kind. versions: of programs and brokers,
    by name. refused: whether a commit of the plan would have been refused.
    """

    role: str | None
    phase: str | None
    started: Seconds | None
    ended: Seconds
    failure: Failure | None
    plan: str | None
    verdicts: dict[str, int]
    written: int | None
    left_out: dict[str, int]
    versions: dict[str, str]
    steps: tuple[Step, ...] = ()
    refused: t.Annotated[bool, LATER] = False

    @property
    def is_unconfirmed(self) -> bool:
        """Has it failed as it read back what it had committed?"""
        return self.failure is not None and self.failure.step == "read back"

    @property
    def has_read_back(self) -> bool:
        """Has it read back what is committed, and found that as planned, whatever has become of it then?"""
        return any(step.step == "read back" and not step.failed for step in self.steps)

    @property
    def groups_left_out(self) -> int:
        """How many groups it has left out, or left an offset of them alone."""
        return sum(self.left_out.get(kind, 0) for kind in _GROUPS_LEFT_OUT)


def to_json(run: RunRecord) -> str:
    """The text of a run file."""
    return documents.dumps(KIND, write_row(run, "steps"), map(write_row, run.steps))


def from_json(text: str, path: str) -> RunRecord:
    """Read a run file, or raise InvalidFile."""
    return read_file(KIND, text, path, RunRecord, steps=Step)
