# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The receipt of a hand-over: what a connector had stored before, what was written, and what was read back."""

from __future__ import annotations

import dataclasses
import typing as t

from . import documents
from .file_rows import At, read_file, read_row, write_row
from .records import TopicPartition

KIND = "connect-receipt"


class ConnectEntry(t.NamedTuple):
    """Offsets of the last record copied, None for none: before the first write, written (None after a rollback), read back."""

    partition: t.Annotated[TopicPartition, At()]
    before: int | None
    written: int | None
    after: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class ConnectReceipt:
    """store: where the connector's offsets are, as the store calls itself. source_alias: the connector's for the source."""

    cluster_id: t.Annotated[str, At("destination", "cluster_id")]
    store: str
    connector: str
    source_alias: str
    entries: tuple[ConnectEntry, ...] = ()

    def by_partition(self) -> dict[TopicPartition, ConnectEntry]:
        """The entries by the source's partition."""
        return {entry.partition: entry for entry in self.entries}

    def merged(self, entries: t.Iterable[ConnectEntry]) -> ConnectReceipt:
        """The same receipt with these entries in place of those of their partitions."""
        by_partition = {**self.by_partition(), **{entry.partition: entry for entry in entries}}
        return dataclasses.replace(self, entries=tuple(by_partition[partition] for partition in sorted(by_partition)))


def to_json(receipt: ConnectReceipt) -> str:
    """The text of a receipt file."""
    return documents.dumps(KIND, write_row(receipt, "entries"), map(write_row, sorted(receipt.entries)))


def from_json(text: str, path: str) -> ConnectReceipt:
    """Read a receipt file, or raise InvalidFile."""
    return read_file(KIND, text, path, ConnectReceipt, entries=lambda row: read_row(ConnectEntry, row))
