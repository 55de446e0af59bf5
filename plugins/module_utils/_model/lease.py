# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The lease file: which run works in a directory. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from . import documents
from .file_rows import LATER, Form, Seconds, read_file, write_row

KIND = "lease"
FILE = "lease.json"


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
