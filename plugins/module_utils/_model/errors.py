# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The one exception family of the collection: what failed, where, why, and what to do about it."""

from __future__ import annotations

import typing as t

from .failure_kinds import FailureKind
from .visible_text import visible, visible_name

# What this process has written: a failure after the first write must not say that nothing has changed.
# Paths of files, and names of requests that change something on a cluster. They may have failed: who sent them cannot know.
WRITTEN: list[str] = []
NOTHING_WRITTEN = "Nothing was written to a cluster."  # said of a run that has ended before its first write
BLANKS = str.maketrans("\n\t", "  ")  # of texts of several lines, such as Java's


class MigrationError(Exception):
    """Said to the user as it is, in one line, in which nothing that a cluster has told acts on a terminal.

    :param what: what failed or is refused, as a clause without a full stop.
    :param cluster: which cluster, as its connection names itself.
    :param why: the true reason, as told by the broker or the operating system.
    :param remedy: what the user can do, as a clause without a full stop.
    :param kind: what the user has to do about it, where it is not what the class says.

    The text never holds a secret: callers pass names, never configurations.
    """

    kind = FailureKind.INVALID_OPTION
    usual_remedy: str | None = None

    def __init__(
        self,
        what: str,
        *,
        cluster: str | None = None,
        group: str | None = None,
        topic: str | None = None,
        partition: int | None = None,
        why: str | None = None,
        remedy: str | None = None,
        kind: FailureKind | None = None,
    ) -> None:
        self.what = what
        self.kind = kind or self.kind
        self.cluster = cluster
        self.group = group
        self.topic = topic
        self.partition = partition
        self.why = why
        self.remedy = remedy or self.usual_remedy
        self.result: dict[str, t.Any] = {}  # what a module returns besides
        # The errors that this one says, where it says several: see faults.py.
        self.parts: t.Sequence[MigrationError] = ()
        super().__init__(self._text())

    def place(self) -> dict[str, t.Any]:
        """Its kind, and the cluster, group, topic and partition that it is about, None where it is about more or none."""
        names = ("cluster", "group", "topic", "partition")
        return {"kind": self.kind.value, **{name: getattr(self, name) for name in names}}

    def _text(self) -> str:
        places = (
            self.cluster,
            self.group and f"group {visible_name(self.group)}",
            self.topic and f"topic {visible_name(self.topic)}",
            None if self.partition is None else f"partition {self.partition}",
        )
        place = ", ".join(filter(None, places))
        head = f"{place}: " if place else ""
        why = f": {self.why}" if self.why else ""
        remedy = f". {self.remedy[:1].upper()}{self.remedy[1:]}" if self.remedy else ""
        return visible(f"{head}{self.what}{why}{remedy}.".translate(BLANKS))


class InvalidInput(MigrationError):
    """An option, a mapping or a selection that cannot be meant."""


class InvalidFile(MigrationError):
    """A snapshot, plan or receipt that is missing, damaged, of another version or for other clusters."""

    kind = FailureKind.FILE_UNUSABLE


class ConnectionFailed(MigrationError):
    """No connection to a cluster, with the true reason."""

    kind = FailureKind.CONNECTION_FAILED


class LoginEnded(ConnectionFailed):
    """What the user has given to log in with is no longer good, and nobody can renew it: no further try helps."""


class NotAuthorized(MigrationError):
    """An ACL is missing, or another one denies what it allows, which brokers do not tell apart; the text names it."""

    kind = FailureKind.ACL_MISSING
    usual_remedy = "grant it to the user of this cluster, or delete the ACL that denies it"


class NotFound(MigrationError):
    """A group, topic or partition that was asked for by name does not exist."""

    kind = FailureKind.NOT_FOUND


class GroupBusy(MigrationError):
    """A group has members, is of a type whose offsets cannot be set, or its commits move."""

    kind = FailureKind.GROUP_IN_USE


class BrokerError(MigrationError):
    """A broker refused or did not answer in time."""

    kind = FailureKind.BROKER_REFUSED


class LogChanged(BrokerError):
    """A log is no longer what it was when the range to read was chosen: records were deleted, or the topic was recreated."""


class Refused(MigrationError):
    """The collection will not write: a verdict, a conflict or a changed cluster stands against it."""

    kind = FailureKind.PLAN_OUTDATED


class Locked(MigrationError):
    """Another run works in the same migration directory, or has taken the same copy over."""

    kind = FailureKind.LOCKED


class Fenced(Locked):
    """A broker refuses a transactional producer, because another one has taken its transactional id over."""


class SparkFailed(MigrationError):
    """Spark did not start, or could not do its work; errors of Kafka come out of it as what they are."""

    kind = FailureKind.SPARK_FAILED


class DamagedRecord(MigrationError):
    """A record of an internal topic that is not what its topic holds, or of a version that this release cannot read."""

    kind = FailureKind.RECORD_UNREADABLE
