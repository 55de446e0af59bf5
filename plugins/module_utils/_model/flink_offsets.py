# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Offsets as Flink SQL's Kafka connector reads them: options of a table, three for each topic.

    'topic' = 'orders',
    'scan.startup.mode' = 'specific-offsets',
    'scan.startup.specific-offsets' = 'partition:0,offset:41;partition:1,offset:60'

Source: Flink, "Apache Kafka SQL Connector", and KafkaConnectorOptionsUtil.parseSpecificOffsets().
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._model import documents
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidFile
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.stock_csv import BYTE_ORDER_MARK

_TOPIC, _MODE, _OFFSETS = "topic", "scan.startup.mode", "scan.startup.specific-offsets"
_OPTION = re.compile(r"\s*'([^']+)'\s*=\s*'([^']*)'\s*,?\s*")
_POSITION = re.compile(r"partition:(\d{1,10}),offset:(\d{1,19})", re.ASCII)


def to_table_options(positions: t.Mapping[TopicPartition, int | None]) -> str:
    """The options of a table for each topic, with a blank line between them. A partition without an offset is not in it."""
    found: dict[str, list[str]] = {}
    for (topic, partition), offset in sorted(positions.items()):
        if offset is not None:
            found.setdefault(topic, []).append(f"partition:{partition},offset:{offset}")
    return "\n".join(
        f"'{_TOPIC}' = '{topic}',\n'{_MODE}' = 'specific-offsets',\n'{_OFFSETS}' = '{';'.join(values)}'\n"
        for topic, values in found.items()
    )


def read_table_options(text: str, path: str) -> dict[TopicPartition, int]:
    """Read what to_table_options() writes. Raises InvalidFile that names the line."""
    found: dict[TopicPartition, int] = {}
    topic = None
    for number, line in enumerate(text.removeprefix(BYTE_ORDER_MARK).splitlines(), 1):
        if not line.strip():
            continue
        try:
            name, value = _option(line)
            if name == _TOPIC and ";" in value:
                raise ValueError("it names several topics, which share their offsets: give an option for each")
            if name == _TOPIC:
                topic = documents.name_of(value)
            elif name == _OFFSETS:
                if not topic:
                    raise ValueError("no 'topic' is named before it")
                for position in value.split(";"):
                    where, offset = _position(topic, position)
                    if where in found:
                        raise ValueError(f"{where} is there twice")
                    found[where] = offset
        except ValueError as exc:
            raise InvalidFile(
                f"line {number} of {path} is no option of Flink SQL that says where a topic starts",
                why=str(exc),
                remedy=f"give '{_TOPIC}', '{_MODE}' and '{_OFFSETS}' of each table alone, each on a line",
            ) from exc
    if not found:
        raise InvalidFile(f"{path} holds no offset", remedy=f"correct the path, or add '{_OFFSETS}'")
    return found


def _option(line: str) -> tuple[str, str]:
    shape = _OPTION.fullmatch(line)
    if shape is None:
        raise ValueError("it is not 'name' = 'value'")
    name, value = shape.groups()
    if name not in (_TOPIC, _MODE, _OFFSETS):
        raise ValueError(f"it sets {name}")
    if name == _MODE and value != "specific-offsets":
        raise ValueError(f"the mode is {value}, which says no offsets")
    return name, value


def _position(topic: str, text: str) -> tuple[TopicPartition, int]:
    shape = _POSITION.fullmatch(text.strip())
    if shape is None:
        raise ValueError(f"{text!r} is not partition:NUMBER,offset:NUMBER")
    return TopicPartition(topic, documents.partition_of(int(shape[1]))), documents.offset_of(int(shape[2]))
