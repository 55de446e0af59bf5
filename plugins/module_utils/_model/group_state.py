# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Consumer groups as a cluster shows them."""

from __future__ import annotations

import dataclasses
import enum
import typing as t

from .known_names import is_repartition_topic
from .notes import Note
from .records import TopicPartition


class CommittedOffset(t.NamedTuple):
    """What a group has committed for one partition: the next offset to consume.

    metadata is kept character for character; leader_epoch is None when the commit carries none.
    """

    offset: int
    metadata: str = ""
    leader_epoch: int | None = None


Commits = dict[TopicPartition, CommittedOffset]

UNKNOWN_STATE = "Unknown"  # of a group of which no broker tells whether it has members


class GroupKind(enum.StrEnum):
    """What a group is, and so whether it keeps committed offsets: those of the first two kinds do."""

    CONSUMER = "consumer"
    STREAMS = "streams"
    SHARE = "share"
    CONNECT = "connect"
    OTHER = "other"


class GroupListing(t.NamedTuple):
    """A group as the brokers list it. type: classic, consumer, share, streams; unknown where brokers do not tell."""

    group: str
    state: str
    type: str
    protocol_type: str


class GroupMember(t.NamedTuple):
    """One consumer of a group. host: the address that its broker sees."""

    client_id: str
    host: str


@dataclasses.dataclass(frozen=True, slots=True)
class GroupReading:
    """One group at one moment. exists is False for a group that no broker knows; its other fields are then empty.

    open: the partitions for which a transaction that commits offsets is open, and what brokers tell of it. offsets has what was
    committed before it. not_told: what brokers do not tell of such transactions.
    """

    group: str
    exists: bool
    state: str
    type: str
    protocol_type: str
    offsets: Commits
    open: dict[TopicPartition, str] = dataclasses.field(default_factory=dict)
    not_told: Note | None = None

    @property
    def kind(self) -> GroupKind:
        """What the group is: by its type, where brokers tell it, else by its protocol and by the topics that it consumes."""
        if self.type == "share":
            return GroupKind.SHARE
        if "streams" in (self.type, self.protocol_type):
            return GroupKind.STREAMS
        if self.protocol_type == "connect":
            return GroupKind.CONNECT
        if self.type not in ("", "classic", "consumer", "unknown") or self.protocol_type not in ("", "consumer"):
            return GroupKind.OTHER
        topics = {partition.topic for partition in self.offsets}
        is_streams = any(is_repartition_topic(topic, self.group) for topic in topics)
        return GroupKind.STREAMS if is_streams else GroupKind.CONSUMER

    def is_streams(self, owners: t.Container[str]) -> bool:
        """Is it a Kafka Streams application? owners: the groups that have such topics, as their names tell."""
        return self.kind is GroupKind.STREAMS or self.group in owners

    @property
    def keeps_offsets(self) -> bool:
        """Whether what it has consumed is kept as committed offsets, which can be moved."""
        return self.without_offsets is None

    @property
    def without_offsets(self) -> str | None:
        """Why it has no committed offsets that can be moved, as a clause about it; None for a group that keeps them."""
        match self.kind:
            case GroupKind.SHARE:
                return "is a share group, which has no single position in a partition"
            case GroupKind.CONNECT:
                return "is the group of Kafka Connect's workers, which keep what they have done in topics of their own"
            case GroupKind.OTHER if self.protocol_type not in ("", "consumer"):
                return f"speaks the protocol {self.protocol_type} and is no consumer group"
            case GroupKind.OTHER:
                return f"is of the unknown type {self.type}"
        return None

    @property
    def has_members(self) -> bool:
        """Is anybody in it, as far as brokers tell? States of later brokers count as with members."""
        return self.exists and self.state not in ("Empty", "Dead", UNKNOWN_STATE)

    @property
    def had_members(self) -> bool:
        """Has it members, or had it some since it was made? A group that only had commits made for it has no protocol."""
        return self.type == "consumer" or self.protocol_type != "" or self.has_members


def partitions_of(readings: t.Mapping[str, GroupReading]) -> dict[str, t.Collection[TopicPartition]]:
    """The partitions for which each group has committed an offset, or an open transaction commits one, by its name."""
    return {name: {**reading.offsets, **reading.open}.keys() for name, reading in readings.items()}


def open_text(open_transactions: t.Mapping[TopicPartition, str]) -> str:
    """Of one group, that is not empty: the first partition, and what is known of its transaction."""
    first, told = min(open_transactions.items())
    more = f" and {len(open_transactions) - 1} more" if len(open_transactions) > 1 else ""
    return f"a transaction that commits offsets for {first}{more} is open" + (f": {told}" if told else "")


def commits_of(readings: t.Mapping[str, GroupReading]) -> dict[tuple[str, TopicPartition], CommittedOffset]:
    """What all of these groups have committed, by group and partition."""
    return {
        (name, partition): committed
        for name, reading in readings.items()
        for partition, committed in reading.offsets.items()
    }


def same_commit(committed: CommittedOffset | None, wanted: CommittedOffset | None) -> bool:
    """Is this commit the wanted one? A leader epoch counts only where one is wanted."""
    if committed is None or wanted is None:
        return committed is wanted
    return committed[:2] == wanted[:2] and wanted.leader_epoch in (None, committed.leader_epoch)


def commit_text(committed: CommittedOffset | None) -> str:
    """A commit for a message or a diff."""
    if committed is None:
        return "none"
    return f"{committed.offset} {committed.metadata!r}" if committed.metadata else str(committed.offset)
