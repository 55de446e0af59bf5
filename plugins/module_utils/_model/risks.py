# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What can stand in the way of a migration: the one table of kinds, of which docs/assessing.md has an entry each."""

from __future__ import annotations

import enum
import functools
import typing as t

from .records import TopicPartition

PAGE = "docs/assessing.md"


class Severity(enum.StrEnum):
    """How much a risk matters, in descending order."""

    BLOCKER = "blocker"  # the group cannot be migrated, or its consumers fail, until something is done
    WARNING = "warning"  # the group can be migrated, and may lose, repeat or miss something unless something is done
    INFO = "info"  # something to know or to decide


class RiskKind(enum.StrEnum):
    """What a risk is about."""

    OBSTACLE = "obstacle"
    PLAN_BLOCKED = "plan_blocked"
    SHARE_GROUP = "share_group"
    AFTER_LOG_END = "after_log_end"
    TOPIC_MISSING = "topic_missing"
    PARTITIONS_DIFFER = "partitions_differ"
    SCHEMA_ID_UNKNOWN = "schema_id_unknown"
    NOT_VISIBLE = "not_visible"
    ACL_MISSING = "acl_missing"
    STREAMS_STATE = "streams_state"
    SINK_POSITIONS = "sink_positions"
    ASSIGNED_CONSUMERS = "assigned_consumers"
    RECORDS_EXPIRED = "records_expired"
    RETENTION_STRIKES = "retention_strikes"
    PARTITIONS_UNCOMMITTED = "partitions_uncommitted"
    MESSAGE_LIMIT_SMALLER = "message_limit_smaller"
    CLEANUP_POLICY_DIFFERS = "cleanup_policy_differs"
    SETTING_DIFFERS = "setting_differs"
    SCHEMA_REGISTRY_UNUSABLE = "schema_registry_unusable"
    SCHEMA_IDS = "schema_ids"
    TOOL_GROUP = "tool_group"
    GROUP_ABANDONED = "group_abandoned"
    TOPIC_UNREAD = "topic_unread"


class RiskEntry(t.NamedTuple):
    """A row of the table. meaning: for the groups concerned; remedy: what to do. Both are sentences.

    A remedy names options of an assessment as modules do: where it is shown, with_option_names() translates them. What only a
    migration has is named as the variable of its role.
    """

    severity: Severity
    meaning: str
    remedy: str


_blocker, _warning, _info = (functools.partial(RiskEntry, severity) for severity in Severity)
RISKS: dict[RiskKind, RiskEntry] = {
    RiskKind.OBSTACLE: _blocker(
        "The pre-migration checks report a problem, so that a migration of these groups would not start.",
        "Do what the message says.",
    ),
    RiskKind.PLAN_BLOCKED: _blocker(
        "The plan of a migration found no safe offset for partitions of the group.",
        "Look up the reason in docs/troubleshooting.md, remove the cause, and assess again.",
    ),
    RiskKind.SHARE_GROUP: _blocker(
        "A share group has no committed offsets, so that nothing can be moved.",
        "Let the group finish at the source, then create it at the destination with share.auto.offset.reset.",
    ),
    RiskKind.AFTER_LOG_END: _blocker(
        "The group has committed an offset after the end of the log, as after a loss of records or when a topic was created "
        "again. No record shows where the group has to go on.",
        "Find out what happened to the topic, and reset the group with the playbook reset_groups to the start of the log "
        "(earliest) or to a time safely before the loss. The end of the log skips what was written since.",
    ),
    RiskKind.TOPIC_MISSING: _blocker(
        "The destination lacks a topic that the group consumes, so that its partitions are blocked.",
        "If it has another name there, set replication_policy or topic_map. Otherwise, let the replication tool or the "
        "playbook promote_topics create it.",
    ),
    RiskKind.PARTITIONS_DIFFER: _blocker(
        "The topic has another number of partitions at the destination. Records are in other partitions there, or the "
        "replication tool stops, and the partitions of the group are blocked.",
        "Give both topics the same number of partitions while the one at the destination is empty, or name the topic in "
        "repartitioned.",
    ),
    RiskKind.SCHEMA_ID_UNKNOWN: _blocker(
        "Records carry ids of schemas that the schema registry of the destination does not know. Consumers there cannot "
        "read these records.",
        "Copy the schemas with their ids to that registry, or let the consumers use the registry of the source.",
    ),
    RiskKind.NOT_VISIBLE: _warning(
        "The login sees only a part, or a request failed, so that the assessment may lack groups, topics or risks.",
        "Do what the message says, such as granting an ACL, and assess again.",
    ),
    RiskKind.ACL_MISSING: _warning(
        "A migration with this login would not start, because the login lacks ACLs.",
        "Grant them to the login that migrates: see docs/migrating-groups.md.",
    ),
    RiskKind.STREAMS_STATE: _warning(
        "A Kafka Streams application keeps its state in changelog topics, and records on their way in repartition topics. "
        "Only its committed offsets are migrated.",
        "Let the application consume its repartition topics to their ends. Then let it rebuild its state at the destination, "
        "or replicate its changelog topics and start it only when they are complete.",
    ),
    RiskKind.SINK_POSITIONS: _warning(
        "The group is that of a sink, or called like one, and a sink may keep its own positions in its target. Such a sink "
        "drops or repeats records, whatever the group has committed.",
        "Find the sink in the table of sinks, and do what it says before the sink starts at the destination.",
    ),
    RiskKind.ASSIGNED_CONSUMERS: _warning(
        "The committed offsets move, and the group has no members: consumers that use assign(), or a tool that syncs groups, "
        "write them. Nobody sees whether they have stopped.",
        "Find them, stop them yourself before the cut-over, and give group_migration_idle_wait more than the time between two "
        "commits.",
    ),
    RiskKind.RECORDS_EXPIRED: _warning(
        "The source has deleted records that the group has not consumed. No migration brings them back.",
        "Tell the owner of the group how many there are, and decide with group_migration_on_expired where the group goes on.",
    ),
    RiskKind.RETENTION_STRIKES: _warning(
        "The source deletes unconsumed records of the group within a day, or within half of its retention if that is less.",
        "Raise retention.ms of the topic until the group has caught up, or let the group catch up first.",
    ),
    RiskKind.PARTITIONS_UNCOMMITTED: _warning(
        "The group has committed offsets on some partitions of a topic only. On the others it starts by auto.offset.reset, "
        "and latest skips the records that are there.",
        "Let the group commit on all partitions before you migrate, or set group_migration_on_uncommitted to start.",
    ),
    RiskKind.MESSAGE_LIMIT_SMALLER: _warning(
        "The destination refuses batches of records that the source takes. If the topic has such a batch, it is not copied, "
        "and blocks groups.",
        "Raise max.message.bytes of the topic at the destination.",
    ),
    RiskKind.CLEANUP_POLICY_DIFFERS: _warning(
        "Only one of the clusters compacts the topic, so that records which the other has are missing there.",
        "Give the topic at the destination the cleanup.policy of the source before you migrate, and leave that of the source "
        "as it is.",
    ),
    RiskKind.SETTING_DIFFERS: _warning(
        "A setting of the topic differs, so that records are deleted, refused or stamped at the destination that the source "
        "keeps as they are.",
        "Do what the message says, or let the playbook promote_topics take the settings over. Those of timestamps, it "
        "takes over only if topic_promotion_overrides has them.",
    ),
    RiskKind.SCHEMA_REGISTRY_UNUSABLE: _warning(
        "The schema registry did not answer as one, so that nobody knows which schemas it lacks.",
        "Correct schema_registry as the message says, and assess again.",
    ),
    RiskKind.SCHEMA_IDS: _info(
        "Records carry ids of schemas. Consumers at the destination need a schema registry that knows the same ids.",
        "Name the registry of the destination in schema_registry, and assess again.",
    ),
    RiskKind.TOOL_GROUP: _info(
        "The group belongs to a tool, which makes its own at the destination.",
        "Leave the group out, as the playbooks do by default, unless an application of yours is called so.",
    ),
    RiskKind.GROUP_ABANDONED: _info(
        "Nobody seems to use the group: it has no members, and what it has consumed is gone or its next records have waited "
        "for a long time.",
        "Ask its owner, and leave the group out of the migration or delete it.",
    ),
    RiskKind.TOPIC_UNREAD: _info(
        "No group that the login sees has committed offsets on the topic. Consumers that commit elsewhere do not show.",
        "Ask its owner, and do not replicate the topic if nobody needs it.",
    ),
}


class Risk(t.NamedTuple):
    """One thing that stands in the way, or had better be known. detail: what is seen, in a sentence, with numbers.

    group, topic and partition: what it is about, as far as it is about a single one.
    """

    kind: RiskKind
    detail: str
    group: str | None = None
    topic: str | None = None
    partition: int | None = None

    @property
    def severity(self) -> Severity:
        """That of its kind."""
        return RISKS[self.kind].severity

    @property
    def place(self) -> str:
        """The group and the topic or partition, for people; empty for a risk of a cluster."""
        topic = self.topic
        if topic is not None and self.partition is not None:
            topic = str(TopicPartition(topic, self.partition))
        return " ".join(name for name in (self.group, topic) if name is not None)

    @property
    def order(self) -> tuple[int, str, str, int, str]:
        """Sorts risks: those that matter most first, then by name."""
        partition = -1 if self.partition is None else self.partition
        return list(RiskKind).index(self.kind), self.group or "", self.topic or "", partition, self.detail

    def row(self) -> dict[str, t.Any]:
        """As files and results have it."""
        return {
            "kind": self.kind.value,
            "severity": self.severity.value,
            "group": self.group,
            "topic": self.topic,
            "partition": self.partition,
            "detail": self.detail,
            "remedy": f"{RISKS[self.kind].remedy} See {PAGE}#{self.kind.value}.",
        }
