# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Whole partitions as a DataFrame that can be continued when more has arrived."""

from __future__ import annotations

import contextlib
import functools
import typing as t

from .._matching.evidence import LogFacts
from .._model.connection import Connection
from .._model.records import TopicPartition
from .._records.scanning import Range
from . import spark_library
from .scan_job import scan_frame
from .session import kept

if t.TYPE_CHECKING:
    from .spark_library import DataFrame, SparkSession


class Growing(contextlib.ExitStack):
    """What was scanned of some partitions of a cluster, kept on disk; no record is read twice, unless a log becomes shorter.

    parts: what fingerprints cover. with_open: also what stands from the last stable offset on, which an open transaction
    holds and which may become visible. To be used as a context manager, inside a session.
    """

    def __init__(
        self,
        spark: SparkSession,
        connection: Connection,
        partitions: t.Sequence[TopicPartition],
        parts: tuple[str, ...],
        with_open: bool = False,
    ) -> None:
        super().__init__()
        self._scan = functools.partial(scan_frame, spark, connection, parts=parts)
        self._partitions = partitions
        self._with_open = with_open
        self._read: dict[TopicPartition, int] = {}
        self._scans: list[DataFrame] = []

    def up_to(self, facts: t.Mapping[TopicPartition, LogFacts]) -> DataFrame:
        """All records up to these ends, as scan_frame() has them: `range` is the partition's number among those given first."""
        if any(facts[at].end < end for at, end in self._read.items()):
            # As in Log.learn(): a log that has become shorter is another one, and what was read of it is forgotten.
            self._read.clear()
            self._scans.clear()
        # What came after the last look may have expired already.
        starts = [max(facts[at].log_start, self._read.get(at, 0)) for at in self._partitions]
        new = [Range(at, start, facts[at].end) for at, start in zip(self._partitions, starts, strict=True)]
        if not self._scans or any(start < end for _partition, start, end in new):
            self._scans.append(self.enter_context(kept(self._scan(new))))
        self._read = {at: end for at, _start, end in new}
        scans = list(self._scans)
        held = [Range(at, facts[at].end, facts[at].high_watermark) for at in self._partitions]
        if self._with_open and any(start < end for _partition, start, end in held):
            scans.append(self.enter_context(kept(self._scan(held, committed=False))))
        return functools.reduce(spark_library.DataFrame.union, scans)
