# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Where group-partitions are in their logs on both clusters. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._model.notes import Note
from ..._model.records import TopicPartition
from .figures import GroupPartition, LogPlace

_Ranges = t.Mapping[TopicPartition, tuple[int, int]]


@dataclasses.dataclass(frozen=True, slots=True)
class KnownLogs:
    """source, destination: the offsets [start, end) of each log that is known, None for a cluster that was not asked.

    notes: why others are not known.
    """

    source: _Ranges | None = None
    destination: _Ranges | None = None
    notes: tuple[Note, ...] = ()


NO_LOGS = KnownLogs()


def placed(rows: t.Iterable[GroupPartition], logs: KnownLogs) -> t.Iterator[GroupPartition]:
    """The rows with their places in these logs."""
    source, destination = logs.source or {}, logs.destination or {}
    for row in rows:
        yield row._replace(
            source_places=tuple(_place(at.offset, source.get(at.partition)) for at in row.source),
            place=_place(row.offset, destination.get(row.partition)),
        )


def _place(offset: int | None, log: tuple[int, int] | None) -> LogPlace | None:
    return None if offset is None or log is None else LogPlace(offset - log[0], log[1] - offset)
