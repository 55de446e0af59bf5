# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Consumer groups as a cluster shows them."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition


class CommittedOffset(t.NamedTuple):
    """What a group has committed for one partition: the next offset to consume.

    metadata is kept character for character; leader_epoch is None when the commit carries none.
    """

    offset: int
    metadata: str = ""
    leader_epoch: int | None = None


Commits = dict[TopicPartition, CommittedOffset]

# Of groups without members. Brokers before 2.6 list no states.
IDLE_STATES = ("", "Empty", "Dead")


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
    """One group at one moment. exists is False for a group that no broker knows; its other fields are then empty."""

    group: str
    exists: bool
    state: str
    type: str
    protocol_type: str
    offsets: Commits

    @property
    def keeps_offsets(self) -> bool:
        """Whether what it has consumed is kept as committed offsets; share groups and Connect's keep theirs elsewhere."""
        return self.type != "share" and self.protocol_type in ("", "consumer")

    @property
    def has_members(self) -> bool:
        """Is anybody in it? What is not surely without members has some, states of later brokers included."""
        return self.exists and self.state not in ("Empty", "Dead")

    @property
    def had_members(self) -> bool:
        """Has it members, or had it some since it was made? A group that only had commits made for it has no protocol."""
        return self.type == "consumer" or self.protocol_type != "" or self.has_members

    @property
    def kind(self) -> str:
        """What a group that keeps none is called, such as share or connect."""
        return "share" if self.type == "share" else self.protocol_type


def commits_of(readings: t.Mapping[str, GroupReading]) -> dict[tuple[str, TopicPartition], CommittedOffset]:
    """What all of these groups have committed, by group and partition."""
    return {
        (name, partition): committed
        for name, reading in readings.items()
        for partition, committed in reading.offsets.items()
    }


def same_commit(found: CommittedOffset | None, wanted: CommittedOffset | None) -> bool:
    """Is this commit the wanted one? A leader epoch counts only where one is wanted."""
    if found is None or wanted is None:
        return found is wanted
    if wanted.leader_epoch is None:
        found = found._replace(leader_epoch=None)
    return found == wanted


def commit_text(committed: CommittedOffset | None) -> str:
    """A commit for a message or a diff."""
    if committed is None:
        return "none"
    return f"{committed.offset} {committed.metadata!r}" if committed.metadata else str(committed.offset)
