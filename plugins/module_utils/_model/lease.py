# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The lease file: which run works in a directory, and what somebody has to do about one that has not ended. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from . import documents
from .file_rows import LATER, Form, Seconds, read_file, write_row
from .notes import Note, NoteKind
from .wording import first_names

KIND = "lease"
FILE = "lease.json"
_AGAIN = "run its command again (a rollback, if it was one), or roll back, before any consumers start"
_GONE = "find out whether the last run was killed, or its machine was; if so, remove lease.json, and"
_WAIT = "wait until the run in the directory has ended, before any consumers start"
_COMPLETE = (
    "all of their offsets are committed; start the consumers at the destination only after the last run was run again to its "
    "end"
)
UNFINISHED = f"the last run has not written all committed offsets: {_AGAIN}"


def _process_of(value: t.Any) -> int:
    """The id of a process, or ValueError; 0 and less stand for groups of processes."""
    return documents.whole_number(value, "the id of a process", 1 << 31, first=1)


@dataclasses.dataclass(frozen=True, slots=True)
class Lease:
    """A process that holds a directory for all of its tasks.

    host: where it runs. namespace: within which its id is unique; containers, and machines, of one name differ in it. process:
    its id. ticks: when it started, in clock ticks since the host booted, because an id may be given again. started: the same in
    seconds of Unix time, for people. Null: the host cannot tell.
    phase: of the role; None where it has none, and in files of earlier releases.
    """

    host: str
    namespace: str | None
    process: t.Annotated[int, Form(_process_of)]
    ticks: int | None
    started: Seconds | None
    phase: t.Annotated[str | None, LATER] = None

    @property
    def run(self) -> str:
        """What the tasks of this process know it by."""
        return f"{self.host}/{self.namespace or ''}/{self.process}/{self.ticks or ''}"


def to_json(lease: Lease) -> str:
    """The text of a lease file."""
    return documents.dumps(KIND, write_row(lease), ())


def from_json(text: str, path: str) -> Lease:
    """Read a lease file, or raise InvalidFile."""
    return read_file(KIND, text, path, Lease)


class OpenRun(t.NamedTuple):
    """A run that has not ended in a directory: it works still, or was stopped before its end.

    process: a clause that names it. is_stopped: whether it is gone, None where nobody here can tell: of other machines.

    has_receipt: whether it may have written something, because a receipt comes before the first write. is_of_plan: whether it
    writes groups of the directory's plan alone, because of its phase. is_of_rounds: whether these go on at the source after it.
    """

    directory: str
    process: str
    is_stopped: bool | None
    has_receipt: bool = True
    is_of_plan: bool = False
    is_of_rounds: bool = False

    def concerns(self, planned: bool) -> bool:
        """Does it concern a group? planned: one of the plan that is there. A run that works may make another plan yet."""
        return planned or not (self.is_of_plan and self.is_stopped)

    def _case(self, works: str, stopped: str, unknown: str) -> str:
        """One of these: if it works still, was stopped, or nobody can tell."""
        if self.is_stopped is None:
            return unknown
        return stopped if self.is_stopped else works

    @property
    def next(self) -> str:
        """What somebody has to do about a group of this directory, as a clause."""
        return self._case(_WAIT, f"the last run was stopped before its end: {_AGAIN}", f"{_GONE} {_AGAIN}")

    @property
    def next_of_complete(self) -> str:
        """The same for a group that has all of its committed offsets at the destination already."""
        return self._case(_WAIT, _COMPLETE, _COMPLETE)

    @property
    def next_of_planned(self) -> str:
        """The same for a group that no run has written."""
        stopped = "the last run was stopped before it wrote them: run it again"
        return self._case(_WAIT, stopped, f"{_GONE} run it again")

    @property
    def before_plan(self) -> tuple[str, str]:
        """Why there is no plan of it, and what to do, as clauses."""
        why = self._case(
            "a run works there now",
            "the last run there was stopped before it had made a plan",
            "the last run there has not said that it has ended",
        )
        todo = self._case("wait until it has made a plan", "run it again", f"{_GONE} run it again")
        return f"{why}: {self.process}", todo

    def note(self, half_written: t.Sequence[str]) -> Note:
        """half_written: groups of which it may have written a part, if it was stopped."""
        if self.is_stopped is False:
            text = f"A run works in {self.directory} now: {self.process}. What it writes may change this status."
            return Note(NoteKind.RUN_OPEN, text)
        ended = "was stopped before its end" if self.is_stopped else "has not said that it has ended"
        parts = f" It may have written only a part of {first_names(half_written)}." if half_written else ""
        again = _AGAIN if self.has_receipt else "run it again"
        todo = again if self.is_stopped else f"{_GONE} {again}"
        if self.is_stopped and not self.has_receipt:
            todo = f"it has written nothing: {todo}"
        text = f"The last run in {self.directory} {ended}: {self.process}.{parts} {todo[0].upper()}{todo[1:]}."
        return Note(NoteKind.RUN_OPEN, text)
