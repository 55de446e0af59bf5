# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The receipt of a promotion: what the destination's topics and ACLs were before its first write. It is the rollback."""

from __future__ import annotations

import dataclasses
import typing as t

from . import documents
from .acls import Acl
from .cluster_identity import ClusterIdentity
from .file_rows import At, Form, Name, read_row, write_row
from .topic_plan import Count

KIND = "topics-receipt"


class Setting(t.NamedTuple):
    """Values set on the topic itself before the first write, and written; None where the brokers' default applies.

    pending: until it is known that a promotion has set it. previous: what the promotion before that has written, `before` where
    none has; only while pending.
    """

    before: str | None
    written: str | None
    pending: bool = False
    previous: str | None = None


def _setting_from(row: t.Any) -> Setting:
    """Only the row of a setting that is pending says so, and earlier versions did not say what was written before that."""
    if not documents.flag_of(row.get("pending", False)):
        return read_row(Setting, row, pending=False, previous=None)
    return read_row(Setting, {"previous": row["before"], **row})


def _setting_row(setting: Setting) -> documents.Json:
    return write_row(setting, *(() if setting.pending else ("pending", "previous")))


@dataclasses.dataclass(frozen=True, slots=True)
class TopicReceipt:
    """One topic of the destination. created: whether a promotion makes it; settings are then those that it is made with.

    topic_id: noted once the topic is made, or when it was found; None before that, and where brokers give none. partitions:
    what it is made with or grows to, None where a promotion does neither; before: how many it had.
    """

    topic: Name
    created: bool = False
    topic_id: str | None = None
    before: t.Annotated[Count | None, At("partitions", "before")] = None
    partitions: t.Annotated[Count | None, At("partitions", "written")] = None
    settings: dict[str, t.Annotated[Setting, Form(_setting_from, _setting_row)]] = dataclasses.field(
        default_factory=dict
    )

    @property
    def is_empty(self) -> bool:
        """Is nothing left to know?"""
        return not self.created and self.partitions is None and not self.settings


class _AclBefore(t.NamedTuple):
    """An ACL, and whether it was there."""

    acl: Acl
    before: bool


@dataclasses.dataclass(frozen=True, slots=True)
class PromotionReceipt:
    """acls: whether each was there before the first write; a promotion has made the opposite of it."""

    cluster_id: t.Annotated[str, At("destination", "cluster_id")]
    topics: dict[str, TopicReceipt] = dataclasses.field(default_factory=dict)
    acls: dict[Acl, bool] = dataclasses.field(default_factory=dict)

    @property
    def identity(self) -> ClusterIdentity:
        """The destination that the receipt is about, with its topics."""
        return ClusterIdentity.with_topics(
            self.cluster_id, {name: topic.topic_id for name, topic in self.topics.items()}
        )


def to_json(receipt: PromotionReceipt) -> str:
    """The text of a receipt file."""
    topics = [topic for _name, topic in sorted(receipt.topics.items())]
    acls = [_AclBefore(*item) for item in sorted(receipt.acls.items())]
    return documents.dumps(KIND, write_row(receipt, "topics", "acls"), map(write_row, (*topics, *acls)))


def from_json(text: str, path: str) -> PromotionReceipt:
    """Read a receipt file, or raise InvalidFile."""
    head, rows = documents.loads(KIND, text, path)
    entries = documents.parse_entries(
        KIND, path, rows, lambda row: read_row(_AclBefore if "acl" in row else TopicReceipt, row)
    )
    topics = [entry for entry in entries if isinstance(entry, TopicReceipt)]
    documents.check_once(KIND, path, ((topic.topic,) for topic in topics), "there are two entries for topic {}")
    by_name = {topic.topic: topic for topic in topics}
    acls = dict(entry for entry in entries if isinstance(entry, _AclBefore))
    return documents.parse(KIND, path, head, lambda row: read_row(PromotionReceipt, row, topics=by_name, acls=acls))
