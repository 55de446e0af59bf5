# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The snapshot file: what groups had committed at the source."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import typing as t

from . import documents
from .cluster_identity import NO_TRAITS, UNKNOWN_ID, ClusterIdentity, Traits
from .file_rows import LATER, RARE, Among, At, Form, Name, read_file, row_order, write_row
from .group_state import CommittedOffset
from .records import TopicPartition

KIND = "snapshot"
IN_BACKUP = "while the backup was made"
# A brace and a quote; in CSV, a group's name like that begins with a quote itself.
_JSON = re.compile(r'\ufeff?\s*(\{\s*"|\Z)')
_COMMITTED = Form(
    lambda row: CommittedOffset(
        documents.offset_of(row["offset"]),
        documents.metadata_of(row["metadata"]),
        documents.epoch_of(row["leader_epoch"]),
    ),
    lambda committed: {
        "offset": committed.offset,
        "leader_epoch": committed.leader_epoch,
        "metadata": committed.metadata,
    },
)


class SnapshotGroup(t.NamedTuple):
    """A group and its type, as Kafka calls it: classic, consumer, streams; unknown on old brokers."""

    name: Name
    type: str


class SnapshotEntry(t.NamedTuple):
    """What one group has committed for one partition."""

    group: Name
    partition: t.Annotated[TopicPartition, Among()]
    committed: t.Annotated[CommittedOffset, _COMMITTED, Among()]


class OpenTransaction(t.NamedTuple):
    """A transaction that commits an offset for this group and partition was open.

    told: what brokers tell of it; IN_BACKUP where nobody sees it end, because what groups had committed is from a backup.
    """

    group: Name
    partition: t.Annotated[TopicPartition, Among()]
    told: str


@row_order("cluster_id", "traits", "groups", "left_out", "left_out_names", "open", "entries")
@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """cluster_id is None where the file does not tell (CSV).

    open: sorted. The entry of such a group and partition, if there is one, is what was committed before the transaction.
    left_out: a line for what was selected and not taken, with the names of options. left_out_names: groups and topics that were
    selected by name, and of which the snapshot holds nothing. A plan depends on neither.
    """

    cluster_id: t.Annotated[str | None, LATER]
    groups: tuple[SnapshotGroup, ...]
    entries: tuple[SnapshotEntry, ...]
    traits: t.Annotated[Traits, Among()] = NO_TRAITS
    open: t.Annotated[tuple[OpenTransaction, ...], At("open_transactions"), RARE] = ()
    left_out: t.Annotated[tuple[str, ...], RARE] = ()
    left_out_names: t.Annotated[tuple[str, ...], RARE] = ()

    @property
    def identity(self) -> ClusterIdentity:
        """The cluster that the snapshot was taken of, as far as the file tells."""
        return ClusterIdentity(UNKNOWN_ID if self.cluster_id is None else self.cluster_id, self.traits)

    def names(self) -> set[str]:
        """The groups and topics that it knows: whoever names one of them has not misspelt it."""
        topics = {entry.partition.topic for entry in self.entries}
        return topics.union(self.left_out_names, (group.name for group in self.groups))

    def digest(self) -> str:
        """A name for what groups have committed and where, the same for the same content. Groups without any are no matter."""
        holding = {entry.group for entry in self.entries} | {transaction.group for transaction in self.open}
        return self._digest(tuple(group for group in self.groups if group.name in holding))

    def has_digest(self, digest: str) -> bool:
        """Is this a digest of the snapshot? In files of version 0.2.0, groups without commits count."""
        return digest == self.digest() or digest == self._digest(self.groups)

    def _digest(self, groups: tuple[SnapshotGroup, ...]) -> str:
        text = to_json(dataclasses.replace(self, groups=groups, traits=NO_TRAITS, left_out=(), left_out_names=()))
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def to_json(snapshot: Snapshot) -> str:
    """The text of a snapshot file."""
    ordered = dataclasses.replace(snapshot, groups=tuple(sorted(snapshot.groups)), open=tuple(sorted(snapshot.open)))
    entries = sorted(snapshot.entries, key=lambda entry: entry[:2])
    return documents.dumps(KIND, write_row(ordered, "entries"), map(write_row, entries))


def from_json(text: str, path: str) -> Snapshot:
    """Read a snapshot file, or raise InvalidFile."""
    snapshot = read_file(KIND, text, path, Snapshot, entries=SnapshotEntry)
    documents.check_once(KIND, path, (entry[:2] for entry in snapshot.entries))
    names = [group.name for group in snapshot.groups]
    documents.check_among(KIND, path, names, (entry.group for entry in snapshot.entries))
    documents.check_among(KIND, path, names, (each.group for each in snapshot.open), "an open transaction")
    return snapshot


def is_json(text: str) -> bool:
    """Does a file begin as a snapshot file does, with or without a byte order mark? CSV begins otherwise."""
    return _JSON.match(text) is not None
