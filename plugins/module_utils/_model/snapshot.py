# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The snapshot file: what groups had committed at the source."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import typing as t

from . import cluster_identity, documents
from .cluster_identity import NO_TRAITS, UNKNOWN_ID, ClusterIdentity, Traits
from .file_rows import At, Name, partition_from, read_file, write_row
from .group_state import CommittedOffset
from .records import TopicPartition

KIND = "snapshot"
# A brace and a quote; in CSV, a group's name like that begins with a quote itself.
_JSON = re.compile(r'\s*(\{\s*"|\Z)')


class SnapshotGroup(t.NamedTuple):
    """A group and its type, as Kafka calls it: classic, consumer, streams; unknown on old brokers."""

    name: Name
    type: str


class SnapshotEntry(t.NamedTuple):
    """What one group has committed for one partition."""

    group: str
    partition: TopicPartition
    committed: CommittedOffset


class OpenTransaction(t.NamedTuple):
    """A transaction that commits an offset for this group and partition was open. told: what brokers tell of it."""

    group: Name
    partition: t.Annotated[TopicPartition, At()]
    told: str


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """cluster_id is None where the file does not tell (CSV).

    open: sorted. The entry of such a group and partition, if there is one, is what was committed before the transaction.
    left_out: a line for what was selected and not taken, with the names of options. left_out_names: groups and topics that were
    selected by name, and of which the snapshot holds nothing. A plan depends on neither.
    """

    cluster_id: str | None
    groups: tuple[SnapshotGroup, ...]
    entries: tuple[SnapshotEntry, ...]
    traits: t.Annotated[Traits, cluster_identity.TRAITS, At()] = NO_TRAITS
    open: t.Annotated[tuple[OpenTransaction, ...], At("open_transactions")] = ()
    left_out: tuple[str, ...] = ()
    left_out_names: tuple[str, ...] = ()

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
    head: documents.Json = {
        **cluster_identity.to_row(snapshot.identity),
        "cluster_id": snapshot.cluster_id,
        "groups": [write_row(group) for group in sorted(snapshot.groups)],
        **{name: list(values) for name in ("left_out", "left_out_names") if (values := getattr(snapshot, name))},
    }
    if snapshot.open:
        head["open_transactions"] = [write_row(transaction) for transaction in sorted(snapshot.open)]
    return documents.dumps(
        KIND,
        head,
        (entry_row(entry) for entry in sorted(snapshot.entries, key=lambda entry: entry[:2])),
    )


def from_json(text: str, path: str) -> Snapshot:
    """Read a snapshot file, or raise InvalidFile."""
    missing: documents.Json = {"cluster_id": None, "open_transactions": [], "left_out": [], "left_out_names": []}
    snapshot = read_file(KIND, text, path, Snapshot, missing, entries=entry_from)
    documents.check_once(KIND, path, (entry[:2] for entry in snapshot.entries))
    return snapshot


def is_json(text: str) -> bool:
    """Does a file begin as a snapshot file does? CSV begins otherwise."""
    return _JSON.match(text) is not None


def entry_row(entry: SnapshotEntry) -> documents.Json:
    """What a group has committed for one partition, as files hold it."""
    return {
        "group": entry.group,
        "topic": entry.partition.topic,
        "partition": entry.partition.partition,
        "offset": entry.committed.offset,
        "leader_epoch": entry.committed.leader_epoch,
        "metadata": entry.committed.metadata,
    }


def entry_from(row: t.Any) -> SnapshotEntry:
    """The reverse of entry_row(); raises ValueError, KeyError, TypeError or AttributeError for what is not one."""
    return SnapshotEntry(
        documents.name_of(row["group"]),
        partition_from(row),
        CommittedOffset(
            documents.offset_of(row["offset"]),
            documents.metadata_of(row["metadata"]),
            documents.epoch_of(row["leader_epoch"]),
        ),
    )
