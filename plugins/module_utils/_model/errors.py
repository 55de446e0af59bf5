# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The one exception family of the collection: what failed, where, why, and what to do about it."""

from __future__ import annotations

import typing as t

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

    The text never holds a secret: callers pass names, never configurations.

    kind: what a module returns as `failure.kind`, and kafka_migration_info as the kind of a problem: what an operator has to do
    about it. docs/troubleshooting.md has an entry for each. Classes share one where they are caught in different places.
    """

    kind = "invalid_option"
    usual_remedy: str | None = None

    def __init_subclass__(cls, kind: str | None = None) -> None:
        cls.kind = kind or cls.kind

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
    ) -> None:
        self.what = what
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
        return {"kind": self.kind, **{name: getattr(self, name) for name in names}}

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


class NothingSelected(InvalidInput, kind="nothing_selected"):
    """Options select nothing, or nothing is left of what they select."""


class RequirementMissing(InvalidInput, kind="requirement_missing"):
    """A package or a program is missing, or is too old, where it is needed."""


class ConnectorUnfit(InvalidInput, kind="connector_unfit"):
    """A connector, or its state, does not allow a hand-over."""


class InvalidFile(MigrationError, kind="file_unusable"):
    """A snapshot, plan or receipt that is missing, damaged, of another version or for other clusters."""


class FileMissing(InvalidFile, kind="file_missing"):
    """A file or directory that a run needs is not there."""


class FileDamaged(InvalidFile, kind="file_damaged"):
    """A file is not as it was written."""


class ConnectionFailed(MigrationError, kind="connection_failed"):
    """No connection to a cluster, with the true reason."""


class LoginEnded(ConnectionFailed):
    """What the user has given to log in with is no longer good, and nobody can renew it: no further try helps."""


class NotAuthorized(MigrationError, kind="acl_missing"):
    """An ACL is missing, or another one denies what it allows, which brokers do not tell apart; the text names it."""

    usual_remedy = "grant it to the user of this cluster, or delete the ACL that denies it"


class NotFound(MigrationError, kind="not_found"):
    """A group, topic or partition that was asked for by name does not exist."""


class GroupBusy(MigrationError, kind="group_in_use"):
    """A group has members, is of a type whose offsets cannot be set, or its commits move."""


class UnfitGroup(GroupBusy, kind="invalid_option"):
    """A group is of a type whose offsets cannot be set, however long one waits."""


class SourceInUse(GroupBusy, kind="source_in_use"):
    """Groups at the source have consumed, or may have, while their offsets were committed."""


class BrokerError(MigrationError, kind="broker_refused"):
    """A broker refused or did not answer in time."""


class LogChanged(BrokerError):
    """A log is no longer what it was when the range to read was chosen: records were deleted, or the topic was recreated."""


class CommitDiffers(BrokerError, kind="commit_differs"):
    """What is read back is not what was written."""


class DiskFull(BrokerError, kind="disk_full"):
    """The brokers' disks are too small for what would be written."""


class Refused(MigrationError, kind="plan_outdated"):
    """The collection will not write: a verdict, a conflict or a changed cluster stands against it."""


class OptionRefused(Refused, kind="invalid_option"):
    """Options ask for what would do harm with these groups, topics or ACLs."""


class NotAccepted(Refused, kind="broker_refused"):
    """Brokers would not accept what a run is about to ask for."""


class HiddenTopic(Refused, kind="acl_missing"):
    """Without an ACL, nobody can see whether writing does harm."""


class AclLockout(Refused, kind="acl_lockout"):
    """ACLs would lock clients out of topics."""


class OneCluster(Refused, kind="one_cluster"):
    """The source and the destination are one cluster, where two are needed or nothing would change."""


class OtherCluster(Refused, kind="other_cluster"):
    """A file is about another cluster than the one that is given, or the clusters may be exchanged."""


class NotWritten(Refused, kind="file_unusable"):
    """A file was not written, because no run could read it."""


class StillUsed(Refused, kind="group_in_use"):
    """Somebody still uses a group, so that its committed offsets cannot be relied on."""


class StillBeingWritten(Refused, kind="still_written"):
    """Producers still write to topics."""


class WouldMoveBack(Refused, kind="would_move_back"):
    """A committed offset would be moved back, or removed."""


class WouldMoveForward(Refused, kind="would_move_forward"):
    """A committed offset would be moved forward."""


class PlanBlocked(Refused, kind="plan_blocked"):
    """Entries of the plan are blocked."""


class PlanNotReviewed(Refused, kind="plan_not_reviewed"):
    """The plan is not the one that was reviewed."""


class EntryMissing(Refused, kind="entry_missing"):
    """The plan has no entry for something that the group has committed."""


class DestinationChanged(Refused, kind="destination_changed"):
    """Somebody else has changed the destination since."""


class MetadataTooLong(Refused, kind="metadata_too_long"):
    """The brokers do not take the metadata of a committed offset."""


class TopicUnsuitable(Refused, kind="topic_unsuitable"):
    """A topic cannot take, or does not show, what it should."""


class TopicNotEmpty(Refused, kind="topic_not_empty"):
    """A topic has records that the collection knows nothing of."""


class TopicRecreated(Refused, kind="topic_recreated"):
    """A topic was deleted and created again, or has lost what a file knows of it."""


class RecordsUnreachable(Refused, kind="records_unreachable"):
    """Records cannot be read: they have expired, came too late, or belong to an open transaction."""


class UnreadableRecord(Refused, kind="record_unreadable"):
    """A record that cannot be read stands in the way of writing."""


class CopyOutdated(Refused, kind="copy_outdated"):
    """The copy is not complete, or was planned for something else."""


class CopyElsewhere(Refused, kind="copy_elsewhere"):
    """Another directory has a copy to the same partitions."""


class CopyInUse(Refused, kind="copy_in_use"):
    """Groups or other copies still need what would be removed."""


class ProgressLost(Refused, kind="progress_lost"):
    """The progress of a copy is gone."""


class PositionsUnclear(Refused, kind="positions_unclear"):
    """It is not clear which record a replication tool has copied last."""


class PositionsMoved(Refused, kind="positions_moved"):
    """The positions of connectors have moved since."""


class Locked(MigrationError, kind="locked"):
    """Another run works in the same migration directory, or has taken the same copy over."""


class Fenced(Locked):
    """A broker refuses a transactional producer, because another one has taken its transactional id over."""


class SparkFailed(MigrationError, kind="spark_failed"):
    """Spark did not start, or could not do its work; errors of Kafka come out of it as what they are."""


class DamagedRecord(MigrationError, kind="record_unreadable"):
    """A record of an internal topic that is not what its topic holds, or of a version that this release cannot read."""


class VerificationFailed(MigrationError, kind="verification_failed"):
    """Offsets have failed their verification."""
