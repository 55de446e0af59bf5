# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Offsets as Spark's Structured Streaming has them: a checkpoint's file of a batch, and the option startingOffsets.

A batch's file in `offsets/` is the version `v1` or `v2`, a line of metadata, and a line for each source of the query: for
Kafka `{"topic":{"partition":offset}}` with the offsets at which the batch ends, which is where the next one begins. In
version 2, the line begins with the name or number of the source and a colon. Source:
org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqLog.deserialize(), and Spark's "Structured Streaming + Kafka
Integration Guide".
"""

from __future__ import annotations

import json
import re
import typing as t

from . import documents
from .errors import FileDamaged, InvalidFile
from .grouping import nested
from .records import TopicPartition

EARLIEST = -2  # what startingOffsets calls the start of a log; every partition must be in it
_PLAIN, _NAMED = "v1", "v2"  # versions: a line of v2 names its source
_NOTHING = "-"  # a source that has no offset yet


def to_starting_offsets(positions: t.Mapping[TopicPartition, int | None]) -> str:
    """The value of startingOffsets. A partition without an offset starts at the log's start, so that nothing is skipped."""
    offsets = nested(
        ((topic, str(partition)), EARLIEST if offset is None else offset)
        for (topic, partition), offset in sorted(positions.items())
    )
    return json.dumps(offsets, ensure_ascii=False, separators=(",", ":")) + "\n"


def read_streaming_offsets(text: str, path: str) -> dict[TopicPartition, int]:
    """Read a batch's file of a checkpoint, or the value of startingOffsets, that is not blank.

    Raises InvalidFile that names the line.
    """
    lines = text.splitlines()
    while not lines[-1].strip():
        lines.pop()
    # The first line of a checkpoint's file is its version, the second its metadata.
    begin = 0 if lines[0].lstrip().startswith("{") else 2
    if begin:
        _check_version(lines[0], path)
    elif len(lines) > 1:
        raise _refused(path, 2, "startingOffsets is one line")
    offsets: dict[TopicPartition, int] = {}
    for number, line in enumerate(lines[begin:], begin + 1):
        try:
            value = _of_source(line) if begin and lines[0] == _NAMED else line
            if begin and value.strip() == _NOTHING:
                continue
            line_offsets = dict(_offsets(documents.json_of(value)))
            _check_equal(offsets, line_offsets)
        except ValueError as exc:
            raise _refused(path, number, str(exc)) from exc
        offsets |= line_offsets
    if not offsets:
        raise InvalidFile(f"{path} holds no offset", remedy="correct the path, or let the query finish a batch")
    return offsets


def _check_version(line: str, path: str) -> None:
    if line in (_PLAIN, _NAMED):
        return
    if re.fullmatch(r"v\d{1,9}", line, re.ASCII):
        raise FileDamaged(
            f"{path} is of version {line} of Spark's offset log, and this release reads {_PLAIN} and {_NAMED}",
            remedy="write the offsets in it as a value of startingOffsets, or use a newer release of this collection",
        )
    raise _refused(
        path, 1, f"it is neither {_PLAIN} or {_NAMED}, the version of a checkpoint's offsets, nor a JSON object"
    )


def _of_source(line: str) -> str:
    """What follows the source's name, or ValueError."""
    name, colon, value = line.partition(":")
    if not (name and colon) or "{" in name:
        raise ValueError('it is not source:{"topic":{"partition":offset}}, as version 2 has it')
    return value


def _check_equal(offsets: t.Mapping[TopicPartition, int], line_offsets: t.Mapping[TopicPartition, int]) -> None:
    """Raise ValueError where two sources of the query, as of a self-join, are not equally far: one group has one offset."""
    for partition in sorted(offsets.keys() & line_offsets.keys()):
        if offsets[partition] != line_offsets[partition]:
            raise ValueError(
                f"{partition} is read by two sources of the query, one of which is at {offsets[partition]} and one at "
                f"{line_offsets[partition]}"
            )


def _offsets(value: t.Any) -> t.Iterator[tuple[TopicPartition, int]]:
    """The offsets of one source, or ValueError."""
    if not isinstance(value, dict) or not value or not all(isinstance(each, dict) for each in value.values()):
        raise ValueError('it is not {"topic":{"partition":offset}}, so this source of the query is not Kafka')
    for topic, partitions in value.items():
        for number, offset in partitions.items():
            # A number has one form: "00" would be partition 0 a second time.
            if not re.fullmatch(r"0|[1-9]\d{0,9}", number, re.ASCII):
                raise ValueError(f"{number!r} of topic {topic} is no partition")
            partition = TopicPartition(documents.name_of(topic), documents.partition_of(int(number)))
            if offset in (-1, EARLIEST):
                raise ValueError(f"{partition} is at {offset}, which names an end of the log and is no offset")
            yield partition, documents.offset_of(offset)


def _refused(path: str, number: int, why: str) -> InvalidFile:
    return FileDamaged(
        f"line {number} of {path} is not what Structured Streaming writes",
        why=why,
        remedy="give the directory of a checkpoint, one of its files in offsets/, or a value of startingOffsets",
    )
