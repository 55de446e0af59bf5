# SPDX-License-Identifier: GPL-3.0-or-later

"""Spark's frames, without Spark: the workers' functions, called one after the other for what each task has."""

from __future__ import annotations

import typing as t

import pyarrow as pa

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import LogFacts, Span
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.worker_packing import Layout
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._spark import by_hand

BUCKETS = 4

Scan = t.Callable[[TopicPartition, Span, bool], list[Record]]


class Frame:
    """A frame of contents; what each of its tasks has."""

    def __init__(self, tasks: list[list[pa.RecordBatch]]) -> None:
        self.tasks = tasks

    def mapInArrow(self, function: t.Any, _schema: str) -> Frame:  # noqa: N802 - Spark calls it so
        return Frame([list(function(iter(task))) for task in self.tasks])

    def union(self, other: Frame) -> Frame:
        return Frame([one + two for one, two in zip(self.tasks, other.tasks, strict=True)])

    def toArrow(self) -> pa.Table:  # noqa: N802
        return pa.Table.from_batches([batch for task in self.tasks for batch in task])


class Growing:
    """As _spark.growing.Growing: no record is read twice."""

    def __init__(self, scan: Scan, partitions: t.Sequence[TopicPartition], with_open: bool) -> None:
        self._scan, self._with_open = scan, with_open
        self._logs: dict[TopicPartition, list[Record]] = {where: [] for where in partitions}
        self._read: dict[TopicPartition, int] = {}

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        pass

    def up_to(self, facts: t.Mapping[TopicPartition, LogFacts]) -> list[list[Record]]:
        """What was read up to these ends."""
        rows = []
        for where, log in self._logs.items():
            its = facts[where]
            log.extend(self._scan(where, (self._read.get(where, its.log_start), its.end), True))
            self._read[where] = its.end
            rows.append(log + (self._scan(where, (its.end, its.high_watermark), False) if self._with_open else []))
        return rows


def packed(rows: list[list[Record]], layout: Layout, copies: bool, buckets: int) -> Frame:
    """As _spark.content_frame.packed_chunks()."""
    return Frame(by_hand.chunks(layout, [] if copies else rows, rows if copies else [], buckets))
