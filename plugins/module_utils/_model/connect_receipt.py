# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The receipt of a hand-over: what a connector had stored before, what was written, and what was read back."""

from __future__ import annotations

import dataclasses
import typing as t

from . import documents
from .records import TopicPartition

KIND = "connect-receipt"


class ConnectEntry(t.NamedTuple):
    """Offsets of the last record copied, None for none: before the first write, written (None after a rollback), read back."""

    partition: TopicPartition
    before: int | None
    written: int | None
    after: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class ConnectReceipt:
    """store: where the connector's offsets are, as the store calls itself. source_alias: the connector's for the source."""

    cluster_id: str
    store: str
    connector: str
    source_alias: str
    entries: tuple[ConnectEntry, ...] = ()

    def by_partition(self) -> dict[TopicPartition, ConnectEntry]:
        """The entries by the source's partition."""
        return {entry.partition: entry for entry in self.entries}

    def merged(self, entries: t.Iterable[ConnectEntry]) -> ConnectReceipt:
        """The same receipt with these entries in place of those of their partitions."""
        its = {**self.by_partition(), **{entry.partition: entry for entry in entries}}
        return dataclasses.replace(self, entries=tuple(its[partition] for partition in sorted(its)))


def to_json(receipt: ConnectReceipt) -> str:
    """The text of a receipt file."""
    return documents.dumps(
        KIND,
        {
            "destination": {"cluster_id": receipt.cluster_id},
            "store": receipt.store,
            "connector": receipt.connector,
            "source_alias": receipt.source_alias,
        },
        (
            {**entry.partition._asdict(), "before": entry.before, "written": entry.written, "after": entry.after}
            for entry in sorted(receipt.entries)
        ),
    )


def from_json(text: str, path: str) -> ConnectReceipt:
    """Read a receipt file, or raise InvalidFile."""
    head, rows = documents.loads(KIND, text, path)
    names = ("destination", "store", "connector", "source_alias")
    cluster_id, store, connector, alias = documents.parse(
        KIND,
        path,
        {name: head.get(name) for name in names},
        lambda it: (
            documents.text_of(it["destination"]["cluster_id"]),
            *(documents.text_of(it[name]) for name in names[1:]),
        ),
    )
    entries = documents.parse_entries(KIND, path, rows, _entry)
    return ConnectReceipt(cluster_id, store, connector, alias, entries)


def _entry(row: t.Any) -> ConnectEntry:
    offsets = (None if row[name] is None else documents.offset_of(row[name]) for name in ("before", "written", "after"))
    partition = TopicPartition(documents.name_of(row["topic"]), documents.partition_of(row["partition"]))
    return ConnectEntry(partition, *offsets)
