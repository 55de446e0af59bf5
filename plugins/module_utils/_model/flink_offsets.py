# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Offsets at which a table of Flink SQL starts: options of its Kafka connector, three for each topic.

    'topic' = 'orders',
    'scan.startup.mode' = 'specific-offsets',
    'scan.startup.specific-offsets' = 'partition:0,offset:41;partition:1,offset:60'

They are never read as a snapshot: a job keeps what it has consumed in its checkpoints, and these options stay as they were.

Source: Flink, "Apache Kafka SQL Connector", and KafkaConnectorOptionsUtil.parseSpecificOffsets().
"""

from __future__ import annotations

import typing as t

from .grouping import values_by_key
from .records import TopicPartition


def to_table_options(positions: t.Mapping[TopicPartition, int | None]) -> str:
    """The options of a table for each topic, with a blank line between them. A partition without an offset is not in it."""
    offsets = values_by_key(
        (topic, f"partition:{partition},offset:{offset}")
        for (topic, partition), offset in sorted(positions.items())
        if offset is not None
    )
    return "\n".join(
        f"'topic' = '{topic}',\n"
        "'scan.startup.mode' = 'specific-offsets',\n"
        f"'scan.startup.specific-offsets' = '{';'.join(values)}'\n"
        for topic, values in offsets.items()
    )
