# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The receipt file: what a commit found, wrote and read back. It is the rollback."""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._model import documents
from ansible_collections.streamshift.kafka.plugins.module_utils._model.groups import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import committed_from, committed_row
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

KIND = "receipt"
Key = tuple[str, TopicPartition]


class ReceiptEntry(t.NamedTuple):
    """before: found before the first write, None for no commit. written: None after a rollback. after: read back."""

    group: str
    partition: TopicPartition
    before: CommittedOffset | None
    written: CommittedOffset | None
    after: CommittedOffset | None

    @property
    def key(self) -> Key:
        """What makes the entry unique in its receipt."""
        return self.group, self.partition

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

    @property
    def is_confirmed(self) -> bool:
        """Was what is written here read back?"""
        return self.written is not None and self.after is not None and self.after[:2] == self.written[:2]


@dataclasses.dataclass(frozen=True, slots=True)
class Receipt:
    """cluster_id is the destination's."""

    cluster_id: str
    entries: tuple[ReceiptEntry, ...] = ()

    def by_key(self) -> dict[Key, ReceiptEntry]:
        """The entries by group and partition."""
        return {entry.key: entry for entry in self.entries}

    def merged(self, entries: t.Iterable[ReceiptEntry]) -> Receipt:
        """The same receipt with these entries in place of those with their keys."""
        return dataclasses.replace(self, entries=tuple({**self.by_key(), **{e.key: e for e in entries}}.values()))


def to_json(receipt: Receipt) -> str:
    """The text of a receipt file."""
    return documents.dumps(
        KIND,
        {"destination": {"cluster_id": receipt.cluster_id}},
        (
            {
                "group": entry.group,
                "topic": entry.partition.topic,
                "partition": entry.partition.partition,
                "before": committed_row(entry.before),
                "written": committed_row(entry.written),
                "after": committed_row(entry.after),
            }
            for entry in sorted(receipt.entries, key=lambda entry: entry.key)
        ),
    )


def from_json(text: str, path: str) -> Receipt:
    """Read a receipt file, or raise InvalidFile."""
    head, rows = documents.loads(KIND, text, path)
    cluster_id = documents.parse(KIND, path, head.get("destination"), lambda row: documents.text_of(row["cluster_id"]))
    entries = documents.parse_entries(KIND, path, rows, _entry)
    twice = [key for key, count in collections.Counter(entry.key for entry in entries).items() if count > 1]
    if twice:
        group, partition = twice[0]
        raise documents.damaged(KIND, path, f"group {group} has two entries for {partition}")
    return Receipt(cluster_id, entries)


def _entry(row: t.Any) -> ReceiptEntry:
    return ReceiptEntry(
        documents.name_of(row["group"]),
        TopicPartition(documents.name_of(row["topic"]), documents.partition_of(row["partition"])),
        committed_from(row["before"]),
        committed_from(row["written"]),
        committed_from(row["after"]),
    )
