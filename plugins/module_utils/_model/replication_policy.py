# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What MirrorMaker 2 calls topics and its own internal topics, by its replication policy.

Rules: DefaultReplicationPolicy, IdentityReplicationPolicy and MirrorMakerConfig of Kafka; Connect's three topics keep
their dots whatever the separator is. An alias cannot be told from a topic's name (us-east_1.x is a legal one), so it is
asked for.
"""

from __future__ import annotations

import typing as t

HEARTBEATS = "heartbeats"  # a topic whose name ends so gets the prefix with IdentityReplicationPolicy, too


class InternalTopic(t.NamedTuple):
    """Where an internal topic is: on the source or the target cluster, and by which name."""

    cluster: t.Literal["source", "target"]
    name: str


class ReplicationPolicy(t.NamedTuple):
    """MirrorMaker 2's settings of one flow, as far as they decide names.

    name: default or identity. separator: replication.policy.separator. internal_topic_separator_enabled: whether internal
    topics are called with it, too. offset_syncs_location: offset-syncs.topic.location.
    """

    source_alias: str
    target_alias: str
    name: str = "default"
    separator: str = "."
    internal_topic_separator_enabled: bool = True
    offset_syncs_location: t.Literal["source", "target"] = "source"

    def topic(self, topic: str) -> str:
        """What the target calls a topic of the source."""
        if self._keeps(topic):
            return topic
        return f"{self.source_alias}{self.separator}{topic}"

    def source_topic(self, topic: str) -> str | None:
        """What the source calls a topic of the target; None for one that this flow has not made."""
        prefix = f"{self.source_alias}{self.separator}"
        if self._keeps(topic):
            return topic
        return topic.removeprefix(prefix) if topic.startswith(prefix) and topic != prefix else None

    def never_copies(self, topic: str) -> bool:
        """Is a topic of the source internal, or a copy of the target's own? No setting of MirrorMaker 2 changes that.

        See ReplicationPolicy.isInternalTopic() and MirrorSourceConnector.isCycle(). may_not_copy() tells what versions before
        KIP-1074 never copy either.
        """
        aliases = topic.split(self.separator)[:-1] if self.separator and not self._keeps(topic) else []
        return (
            topic.startswith(("__", "."))
            or topic.endswith(self._internal("", "checkpoints"))
            or (topic.startswith("mm2") and topic.endswith(self._internal("")))
            or (bool(self.target_alias) and self.target_alias in aliases)
        )

    def may_not_copy(self, topic: str) -> bool:
        """Does the version of MirrorMaker 2 decide whether it copies a topic?"""
        return topic.endswith((".internal", "-internal", self._internal("")))

    @property
    def checkpoints(self) -> InternalTopic:
        """Where MirrorCheckpointConnector writes."""
        return InternalTopic("target", self._internal(self.source_alias, "checkpoints"))

    @property
    def offset_syncs(self) -> InternalTopic:
        """Where MirrorSourceConnector writes which offsets a record has; named after the other cluster."""
        other = self.target_alias if self.offset_syncs_location == "source" else self.source_alias
        return InternalTopic(self.offset_syncs_location, self._internal("mm2-offset-syncs", other))

    @property
    def connect_offsets(self) -> InternalTopic:
        """Where a MirrorMaker 2 that runs by itself keeps how far it is; in Connect, the worker's offset.storage.topic."""
        return InternalTopic("target", f"mm2-offsets.{self.source_alias}.internal")

    def _keeps(self, topic: str) -> bool:
        """Does a topic have the same name at both clusters? See IdentityReplicationPolicy.looksLikeHeartbeat()."""
        return self.name == "identity" and not topic.endswith(HEARTBEATS)

    def _internal(self, *words: str) -> str:
        separator = self.separator if self.internal_topic_separator_enabled else "."
        return separator.join([*words, "internal"])
