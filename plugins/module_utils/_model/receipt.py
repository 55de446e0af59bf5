# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The receipt file: what a commit found, wrote and read back. It is the rollback."""

from __future__ import annotations

import dataclasses
import enum
import functools
import typing as t

from . import documents
from .cluster_identity import NO_TRAITS, ClusterIdentity, Traits
from .file_rows import RARE, Among, At, Form, Name, read_file, read_row, row_order, write_row
from .group_state import CommittedOffset, GroupReading
from .plan import PlanEntry
from .records import TopicPartition
from .snapshot import SnapshotEntry

KIND = "receipt"
Key = tuple[str, TopicPartition]


class Origin(t.NamedTuple):
    """A group and partition of the source that an entry was made from."""

    group: Name
    partition: t.Annotated[TopicPartition, Among()]


class Pending(enum.StrEnum):
    """What a run has begun to do with an entry, until that is known to be done: it may be killed, or a broker may refuse it."""

    COMMIT = "commit"
    ROLLBACK = "rollback"  # also while a later commit is under way: until that is read back, the rollback is not undone


@row_order("group", "partition", "source", "before", "written", "after", "time", "pending")
class ReceiptEntry(t.NamedTuple):
    """before: found before the first write, None for no commit. written: None after a rollback.

    after: what was read back last, of an earlier write while this one is pending. None where no write of this entry was: a run
    that was killed may not have written it.

    source: several origins where partitions or topics were merged. time: Unix time in whole seconds of the last write. stood:
    what each of source had committed then, None for nothing. Receipts of releases that noted none of these have none.
    """

    group: Name
    partition: t.Annotated[TopicPartition, Among()]
    before: CommittedOffset | None
    written: CommittedOffset | None
    after: CommittedOffset | None
    # A line without a source keeps none: what a run does not touch stays as it is.
    source: t.Annotated[tuple[Origin, ...], RARE] = ()
    time: t.Annotated[int | None, Form(_time), RARE] = None
    pending: t.Annotated[Pending | None, RARE] = None
    stood: tuple[int | None, ...] = ()  # in a row, each is the offset of its origin

    @property
    def key(self) -> Key:
        """What makes the entry unique in its receipt."""
        return self.group, self.partition

    @property
    def origins(self) -> tuple[Origin, ...]:
        """The names that a user selects the entry by: those at the source, or its own where the source was not noted."""
        return self.source or (Origin(self.group, self.partition),)

    def settles(self, entry: PlanEntry, *, one_cluster: bool) -> bool:
        """Was the group set to this entry's offset, or to another one from the same commits at the source?

        The offset may be another one by now, because records have expired, or because an option chooses one. Such an offset
        counts on nobody but the replication tool writing at the destination, which ends with a migration. Where it was not
        noted how the group stood, such an offset alone counts as one from the same commits.

        one_cluster: inside one, whoever asks for another offset wants it.
        """
        is_same = self.written == entry.target
        if is_same or one_cluster:
            return is_same
        if not self.stood:
            return entry.is_chosen
        stood = dict(zip(self.source, self.stood, strict=True))
        return stood == {Origin(at.group, at.partition): at.offset for at in entry.source}

    def explains(self, current: CommittedOffset | None) -> bool:
        """Is this commit what was written here, or what the group has consumed since?

        A later commit counts only once the write was read back: after a run that was killed it may be an older one,
        which was about to be rewound.
        """
        if self.written is None or current is None:
            return False
        if self.is_confirmed:
            return current.offset >= self.written.offset
        return current[:2] == self.written[:2]

    def has_moved_alone(self, current: CommittedOffset | None, had_members: bool) -> bool:
        """Has the group a later offset than was written, although no consumer has ever joined it?

        Then a tool may have committed it, or a consumer that uses assign(): nobody knows whether what is before is consumed.
        """
        if self.written is None or current is None or had_members:
            return False
        return current.offset > self.written.offset

    def accounts_for(self, reading: GroupReading, *, is_consumed: bool = False) -> bool:
        """Is what the group has committed what was written, or what its consumers have consumed since?

        One must have joined, unless it is known that only consumers move the group (is_consumed).
        """
        now = reading.offsets.get(self.partition)
        return self.explains(now) and not self.has_moved_alone(now, is_consumed or reading.had_members)

    def is_pending(self, current: CommittedOffset | None) -> bool:
        """Has the group still what it had before, because a run was stopped before it wrote this, or could not?"""
        now = current and current[:2]
        may_be_back = self.after is None or self.pending is Pending.ROLLBACK
        is_before = may_be_back and now == (self.before and self.before[:2])
        is_as_left = self.after is not None and self.pending is not None and now == self.after[:2]
        return self.written is not None and not self.explains(current) and (is_before or is_as_left)

    @property
    def lowest(self) -> CommittedOffset | None:
        """From where on the group has consumed itself: what was written, or what was there before if that may not be done."""
        if self.written is None or self.after is None or not self.pending:
            return self.written
        return min(self.written, self.after, key=lambda commit: commit.offset)

    def is_replaced(self, current: CommittedOffset | None, *, undoes_last: bool) -> bool:
        """Has somebody committed this instead of `before`, and perhaps before any write, as none was read back?

        undoes_last: whether a rollback leads to right before the last run, as inside one cluster, where runs that have nothing
        to do with each other share the receipt, and for returns, between which a group has consumed where they lead. So what it
        has committed between two of them was there before the later one. What has expired since is not replaced.
        """
        is_known = self.after is not None or self.pending is Pending.ROLLBACK
        if current is None or (is_known and not undoes_last):
            return False
        return current[:2] not in (known and known[:2] for known in (self.before, self.written, self.after))

    @property
    def is_read_back_otherwise(self) -> bool:
        """Has somebody else committed at the same time? Then nobody knows whether the group has consumed what is there."""
        return self.after is not None and not self.pending and not self.is_confirmed

    @property
    def is_confirmed(self) -> bool:
        """Was what is written here read back, and has no rollback begun since?"""
        if self.written is None or self.after is None or self.pending is Pending.ROLLBACK:
            return False
        return self.after[:2] == self.written[:2]


@row_order("cluster_id", "traits", "renewing")
@dataclasses.dataclass(frozen=True)
class Receipt:
    """cluster_id and traits are the destination's.

    renewing: all that groups had committed that are removed and made again, from before that until it is done. path: where it
    was read, for messages.
    """

    cluster_id: t.Annotated[str, At("destination", "cluster_id")]
    entries: tuple[ReceiptEntry, ...] = ()
    renewing: t.Annotated[tuple[SnapshotEntry, ...], RARE] = ()
    traits: t.Annotated[Traits, Among("destination")] = NO_TRAITS
    path: str = dataclasses.field(default="", compare=False)

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"receipt {self.path}".rstrip()

    @property
    def identity(self) -> ClusterIdentity:
        """The destination cluster that the receipt is about."""
        return ClusterIdentity(self.cluster_id, self.traits)

    def as_far_as_of(self, current: ClusterIdentity) -> Receipt:
        """What of this receipt is true of a cluster as it is now: nothing where it is another one.

        The offsets of a topic that was deleted and created again mean nothing in its new log, and brokers have removed them.
        """
        if self.identity.difference(current) is not None:
            return Receipt(current.cluster_id)
        gone = self.traits.recreated(current.traits)
        if not gone:
            return self
        return dataclasses.replace(
            self,
            entries=tuple(entry for entry in self.entries if entry.partition.topic not in gone),
            renewing=tuple(entry for entry in self.renewing if entry.partition.topic not in gone),
        )

    def noting(self, current: Traits) -> Receipt:
        """The same receipt with the topics that it is about as they are now, as far as that is known."""
        topics = {entry.partition.topic for entry in self.entries} | {entry.partition.topic for entry in self.renewing}
        return dataclasses.replace(self, traits=self.traits.as_found(current, topics))

    @functools.cached_property
    def by_key(self) -> t.Mapping[Key, ReceiptEntry]:
        """The entries by group and partition."""
        return {entry.key: entry for entry in self.entries}

    def line_of(self, entry: PlanEntry) -> ReceiptEntry | None:
        """What was written for this entry; None where nothing was, or what another plan says."""
        line = self.by_key.get(entry.key)
        return line if line is not None and line.written == entry.target else None

    def merged(self, entries: t.Iterable[ReceiptEntry]) -> Receipt:
        """The same receipt with these entries in place of those with their keys."""
        return dataclasses.replace(self, entries=tuple({**self.by_key, **{e.key: e for e in entries}}.values()))


def to_json(receipt: Receipt) -> str:
    """The text of a receipt file."""
    renewing = tuple(sorted(receipt.renewing, key=lambda entry: entry[:2]))
    head = write_row(dataclasses.replace(receipt, renewing=renewing))
    return documents.dumps(KIND, head, map(_row, sorted(receipt.entries, key=lambda entry: entry.key)))


def from_json(text: str, path: str) -> Receipt:
    """Read a receipt file, or raise InvalidFile."""
    receipt = dataclasses.replace(read_file(KIND, text, path, Receipt, entries=_entry), path=path)
    documents.check_once(KIND, path, (entry.key for entry in receipt.entries))
    twice = "renewing: group {} has two entries for {}"
    documents.check_once(KIND, path, (entry[:2] for entry in receipt.renewing), twice)
    return receipt


def _row(entry: ReceiptEntry) -> documents.Json:
    row = write_row(entry)
    if entry.stood:
        for origin, offset in zip(row["source"], entry.stood, strict=True):
            origin["offset"] = offset
    return row


def _entry(row: t.Any) -> ReceiptEntry:
    entry = read_row(ReceiptEntry, row)
    if "source" in row and not entry.source:
        raise ValueError("source is empty")
    offsets = [at["offset"] for at in row.get("source", ()) if "offset" in at]
    stood = tuple(None if offset is None else documents.offset_of(offset) for offset in offsets)
    if stood and len(stood) < len(entry.source):
        raise ValueError("an offset of source is missing")
    return entry._replace(stood=stood) if stood else entry


def _time(value: t.Any) -> int:
    if isinstance(value, float) or not documents.unix_time_of(value).is_integer():
        raise ValueError(f"{value} is not a whole number of seconds")
    return int(value)
