# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The file of a promotion: what each topic and ACL of the destination is, and what it becomes."""

from __future__ import annotations

import dataclasses
import typing as t

from . import documents
from .acls import Acl, acl_from, acl_row
from .cluster_identity import ClusterIdentity, Traits

KIND = "topics"
SOURCE, OVERRIDE, DEFAULT = "source", "override", "default"  # where a new value comes from
ADD, REMOVE, EXTRA = "add", "remove", "extra"  # extra: only the destination has it, and it stays


class SettingChange(t.NamedTuple):
    """Values set on the topic itself; None where the brokers' default applies. origin: where after comes from."""

    before: str | None
    after: str | None
    origin: str


@dataclasses.dataclass(frozen=True, slots=True)
class TopicChange:
    """One topic of the destination. before: how many partitions it has, None where it is missing; after: how many it gets.

    after is None for a topic that is missing and stays so. replication_factor: of a topic that is made, -1 for the brokers'
    default. settings: only those that change. topic_id: the topic's at the destination, None where brokers give none.
    """

    topic: str
    source: str
    before: int | None
    after: int | None
    replication_factor: int | None = None
    settings: dict[str, SettingChange] = dataclasses.field(default_factory=dict)
    topic_id: str | None = None

    @property
    def is_new(self) -> bool:
        """Is the topic made?"""
        return self.before is None and self.after is not None

    @property
    def grows(self) -> bool:
        """Does the topic that is there get more partitions?"""
        return self.before is not None and self.after != self.before

    @property
    def changes(self) -> bool:
        """Is there anything to write?"""
        return self.is_new or self.grows or bool(self.settings)


class AclChange(t.NamedTuple):
    """What becomes of an ACL of the destination: ADD, REMOVE or EXTRA."""

    acl: Acl
    action: str


@dataclasses.dataclass(frozen=True, slots=True)
class TopicPlan:
    """topics: one for each that is selected, by name. acls: only those that are added, removed, or left as extras."""

    source_id: str
    destination_id: str
    topics: tuple[TopicChange, ...] = ()
    acls: tuple[AclChange, ...] = ()

    @property
    def destination_identity(self) -> ClusterIdentity:
        """The destination that the plan was made for, with the topics that it has."""
        ids = {change.topic: change.topic_id for change in self.topics if change.topic_id is not None}
        return ClusterIdentity(self.destination_id, Traits(topic_ids=ids))

    @property
    def changes(self) -> bool:
        """Is there anything to write?"""
        return any(each.changes for each in self.topics) or any(each.action != EXTRA for each in self.acls)


def to_json(plan: TopicPlan) -> str:
    """The text of a file of topics."""
    return documents.dumps(
        KIND,
        {"source": {"cluster_id": plan.source_id}, "destination": {"cluster_id": plan.destination_id}},
        [*map(_topic_row, plan.topics), *({"acl": acl_row(each.acl), "action": each.action} for each in plan.acls)],
    )


def from_json(text: str, path: str) -> TopicPlan:
    """Read a file of topics, or raise InvalidFile."""
    head, rows = documents.loads(KIND, text, path)
    source, destination = (
        documents.parse(KIND, path, head.get(side), lambda row: documents.text_of(row["cluster_id"]))
        for side in ("source", "destination")
    )
    entries = documents.parse_entries(KIND, path, rows, _entry)
    return TopicPlan(
        source,
        destination,
        tuple(each for each in entries if isinstance(each, TopicChange)),
        tuple(each for each in entries if isinstance(each, AclChange)),
    )


def _topic_row(change: TopicChange) -> documents.Json:
    return {
        "topic": change.topic,
        "source": change.source,
        "topic_id": change.topic_id,
        "partitions": {"before": change.before, "after": change.after},
        "replication_factor": change.replication_factor,
        "settings": {name: each._asdict() for name, each in sorted(change.settings.items())},
    }


def _entry(row: t.Any) -> TopicChange | AclChange:
    if "acl" in row:
        if row["action"] not in (ADD, REMOVE, EXTRA):
            raise ValueError(f"action {row['action']!r} is not add, remove or extra")
        return AclChange(acl_from(row["acl"]), row["action"])
    counts = row["partitions"]
    return TopicChange(
        documents.name_of(row["topic"]),
        documents.name_of(row["source"]),
        count_of(counts["before"]),
        count_of(counts["after"]),
        None if row["replication_factor"] is None else _factor(row["replication_factor"]),
        {documents.text_of(name): _setting(each) for name, each in row["settings"].items()},
        optional_text(row["topic_id"]),
    )


def count_of(value: t.Any) -> int | None:
    """A number of partitions in a file, or None; ValueError for anything else."""
    count = None if value is None else documents.partition_of(value)
    if count == 0:
        raise ValueError("a topic has no partitions")
    return count


def optional_text(value: t.Any) -> str | None:
    """A text in a file, or None; ValueError for anything else."""
    return None if value is None else documents.text_of(value)


def _factor(value: t.Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not (value == -1 or 1 <= value < 1 << 15):
        raise ValueError(f"{value!r} is not a replication factor")
    return value


def _setting(row: t.Any) -> SettingChange:
    if row["origin"] not in (SOURCE, OVERRIDE, DEFAULT):
        raise ValueError(f"origin {row['origin']!r} is not source, override or default")
    return SettingChange(optional_text(row["before"]), optional_text(row["after"]), row["origin"])
