# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The file of a promotion: what each topic and ACL of the destination is, and what it becomes."""

from __future__ import annotations

import dataclasses
import typing as t

from . import documents
from .acls import Acl
from .cluster_identity import ClusterIdentity
from .file_rows import RARE, At, Form, Name, one_of, read_row, row_order, write_row

KIND = "topics"
SOURCE, OVERRIDE, DEFAULT = "source", "override", "default"  # where a new value comes from
ADD, REMOVE, EXTRA = "add", "remove", "extra"  # extra: only the destination has it, and it stays


def _count_of(value: t.Any) -> int:
    return documents.whole_number(value, "a number of partitions", 1 << 31, first=1)


def _factor(value: t.Any) -> int:
    return -1 if value == -1 else documents.whole_number(value, "a replication factor", 1 << 15, first=1)


Count = t.Annotated[int, Form(_count_of)]  # of partitions


class SettingChange(t.NamedTuple):
    """Values set on the topic itself; None where the brokers' default applies. origin: where after comes from."""

    before: str | None
    after: str | None
    origin: t.Annotated[str, one_of(SOURCE, OVERRIDE, DEFAULT)]


@row_order("topic", "source", "topic_id", "before", "after", "replication_factor", "settings", "only_if_empty")
@dataclasses.dataclass(frozen=True, slots=True)
class TopicChange:
    """One topic of the destination. before: how many partitions it has, None where it is missing; after: how many it gets.

    after is None for a topic that is missing and stays so. replication_factor: of a topic that is made, -1 for the brokers'
    default. settings: only those that change. topic_id: the topic's at the destination, None where brokers give none.
    only_if_empty: whether it gets more partitions only because it holds no record.
    """

    topic: Name
    source: Name
    before: t.Annotated[Count | None, At("partitions", "before")]
    after: t.Annotated[Count | None, At("partitions", "after")]
    replication_factor: t.Annotated[int, Form(_factor)] | None = None
    settings: dict[str, SettingChange] = dataclasses.field(default_factory=dict)
    topic_id: str | None = None
    only_if_empty: t.Annotated[bool, RARE] = False

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
    """What becomes of an ACL of the destination: ADD, REMOVE or EXTRA.

    only_selected: whether it is removed only because it covers no topic that the plan does not have.
    """

    acl: Acl
    action: t.Annotated[str, one_of(ADD, REMOVE, EXTRA)]
    only_selected: t.Annotated[bool, RARE] = False


@dataclasses.dataclass(frozen=True, slots=True)
class TopicPlan:
    """topics: one for each that is selected, by name. acls: only those that are added, removed, or left as extras."""

    source_id: t.Annotated[str, At("source", "cluster_id")]
    destination_id: t.Annotated[str, At("destination", "cluster_id")]
    topics: tuple[TopicChange, ...] = ()
    acls: tuple[AclChange, ...] = ()

    @property
    def destination_identity(self) -> ClusterIdentity:
        """The destination that the plan was made for, with the topics that it has."""
        ids = {change.topic: change.topic_id for change in self.topics}
        return ClusterIdentity.with_topics(self.destination_id, ids)

    @property
    def changes(self) -> bool:
        """Is there anything to write?"""
        return any(topic.changes for topic in self.topics) or any(acl.action != EXTRA for acl in self.acls)

    def acls_that(self, action: str) -> list[Acl]:
        """The ACLs of which this becomes."""
        return [change.acl for change in self.acls if change.action == action]


def to_json(plan: TopicPlan) -> str:
    """The text of a file of topics."""
    return documents.dumps(KIND, write_row(plan, "topics", "acls"), map(write_row, (*plan.topics, *plan.acls)))


def from_json(text: str, path: str) -> TopicPlan:
    """Read a file of topics, or raise InvalidFile."""
    head, rows = documents.loads(KIND, text, path)
    entries = documents.parse_entries(
        KIND, path, rows, lambda row: read_row(AclChange if "acl" in row else TopicChange, row)
    )
    topics = tuple(entry for entry in entries if isinstance(entry, TopicChange))
    acls = tuple(entry for entry in entries if isinstance(entry, AclChange))
    return documents.parse(KIND, path, head, lambda row: read_row(TopicPlan, row, topics=topics, acls=acls))
