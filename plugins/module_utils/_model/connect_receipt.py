# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The receipt of a hand-over: what a connector had stored before, what was written, and what was read back."""

from __future__ import annotations

import dataclasses
import typing as t

from . import documents
from .file_rows import Among, At, read_file, write_row
from .records import TopicPartition

KIND = "connect-receipt"


class ConnectEntry(t.NamedTuple):
    """Offsets of the last record copied, None for none: before the first write, written (None after a rollback), read back.

    after: also of an earlier write, until the last one is read back.
    """

    partition: t.Annotated[TopicPartition, Among()]
    before: int | None
    written: int | None
    after: int | None

    def is_pending(self, stored: int | None) -> bool:
        """May this be what was stored before the last write or rollback, which is not known to have ended?"""
        return stored == self.before if self.after is None else self.after != self.written

    def undoing(self) -> ConnectEntry:
        """The same while a rollback is under way. What an earlier write has left may be stored still, and stays known."""
        return self._replace(after=None) if self.after == self.written else self

    def is_replaced(self, stored: int | None) -> bool:
        """Has the connector stored this instead of `before`, and perhaps before any write, as none was read back?"""
        return self.after is None and stored not in (None, self.before, self.written)


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

    def confirmed(self, stored: t.Mapping[TopicPartition, int]) -> ConnectReceipt:
        """The receipt of a run that was killed before it read back, completed where its writes are seen to have arrived."""
        return self.merged(
            entry._replace(after=entry.written)
            for entry in self.entries
            if entry.written is not None and entry.written == stored.get(entry.partition)
        )

    def merged(self, entries: t.Iterable[ConnectEntry]) -> ConnectReceipt:
        """The same receipt with these entries in place of those of their partitions."""
        by_partition = {**self.by_partition(), **{entry.partition: entry for entry in entries}}
        return dataclasses.replace(self, entries=tuple(by_partition[partition] for partition in sorted(by_partition)))


def to_json(receipt: ConnectReceipt) -> str:
    """The text of a receipt file."""
    return documents.dumps(KIND, write_row(receipt, "entries"), map(write_row, sorted(receipt.entries)))


def from_json(text: str, path: str) -> ConnectReceipt:
    """Read a receipt file, or raise InvalidFile."""
    return read_file(KIND, text, path, ConnectReceipt, entries=ConnectEntry)
