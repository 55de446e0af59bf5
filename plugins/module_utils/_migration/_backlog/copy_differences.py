# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Compares what was copied with the source, record by record, on Spark."""

from __future__ import annotations

import dataclasses
import time
import typing as t

from ..._control import positions
from ..._control.positions import Bounds
from ..._model.backlog import Backlog, BacklogRange
from ..._model.connection import Connection
from ..._model.errors import CopyOutdated, RecordsUnreachable
from ..._model.plan import PlanEntry
from ..._model.progress import Say
from ..._model.receipt import Receipt
from ..._model.records import TopicPartition
from ..._model.spark import SparkOptions
from ..._model.wording import counted, first_of
from ..._records.copied_so_far import LastGroup
from ..._spark.copy_job import Compared, compare
from ..._spark.session import open_session
from . import preconditions
from .entries import standing_of_groups

_NOWHERE = LastGroup("", -1)
_OPEN_SECONDS = 60.0  # the copy's own transactions end at once; those of others mostly as soon
_LOOK_SECONDS = 1.0


def copy_differences(
    backlog: Backlog,
    planned: t.Sequence[PlanEntry],
    receipt: Receipt | None,
    source: Connection,
    destination: Connection,
    spark: SparkOptions,
    say: Say,
) -> list[str]:
    """What is missing, there more than once, or out of order, or what others have written before a group; a sentence each.

    planned: where the groups go on. receipt: of the commits that set them, as far as known.

    Raises Refused where not everything is copied, a topic is another one than the copy has written to, or copied records are
    gone that a group may need.
    """
    if not backlog.is_done:
        raise CopyOutdated("not everything is copied", remedy="let the copy end, and verify it then")
    preconditions.check_topics(backlog, source, destination)
    ranges = [each for each in backlog.ranges if each.copies]
    source_bounds = positions.partition_bounds(source, [each.source for each in ranges])
    destination_bounds = _readable_bounds(destination, ranges)
    if any(destination_bounds[each.destination].log_start > each.begin for each in ranges):
        needed = standing_of_groups(backlog, planned, destination, receipt).needed
        preconditions.check_done(backlog, destination, needed)
    last: dict[TopicPartition, LastGroup] = {}
    for entry in planned:
        if entry.offset is not None and entry.offset > last.get(entry.partition, _NOWHERE).offset:
            last[entry.partition] = LastGroup(entry.group, entry.offset)
    wanted = [
        Compared(
            left,
            source_bounds[left.source].log_start,
            destination_bounds[left.destination].end,
            last.get(left.destination),
        )
        for backlog_range in ranges
        if (left := _left(backlog_range, destination_bounds[backlog_range.destination].log_start)) is not None
    ]
    if not wanted:
        return []
    say(f"comparing {counted(len(wanted), 'partition')} with the source from where the copy began")
    with open_session(spark) as session:
        differences = compare(session, source, destination, wanted)
    return differences + _only_copies(wanted) if differences else []


def _left(backlog_range: BacklogRange, log_start: int) -> BacklogRange | None:
    """What can be compared of a range of which the destination has deleted copied records: all from the next boundary on.

    How many records there are to be is unknown then, and so whether any of them are those of others.
    """
    if log_start <= backlog_range.begin:
        return backlog_range
    for boundary in backlog_range.boundaries:
        if (place := backlog_range.place(boundary)) >= log_start:
            return dataclasses.replace(backlog_range, start=boundary, begin=place, done=None)
    return None


def _only_copies(compared: t.Iterable[Compared]) -> list[str]:
    """A sentence that keeps people from copying anew what has left the source since it was copied."""
    gone = [
        f"{it.range.destination} (the log of {it.range.source} starts at {it.start} now, and the copy at {it.range.start})"
        for it in sorted(compared, key=lambda it: it.range.destination)
        if it.start > it.range.start
    ]
    if not gone:
        return []
    sentence = (
        "the source has lost records since the copy was planned, and only the destination may have them. "
        f"Neither delete nor empty these topics at the destination: {first_of(gone, more='more partitions')}"
    )
    return [sentence]


def _readable_bounds(destination: Connection, ranges: t.Sequence[BacklogRange]) -> dict[TopicPartition, Bounds]:
    """Where the destination's logs begin and end, once no open transaction hides what was copied. Raises Refused."""
    bounds = positions.partition_bounds(destination, [each.destination for each in ranges])
    deadline = time.monotonic() + _OPEN_SECONDS
    while hidden := [each for each in ranges if _hides(bounds[each.destination], each)]:
        first = hidden[0].destination
        if time.monotonic() > deadline:
            raise RecordsUnreachable(
                "copied records cannot be read, because somebody else's transaction is open at the destination since offset "
                f"{bounds[first].end} or before",
                cluster=str(destination),
                remedy="wait until it ends, or end it (kafka-transactions.sh), and run again: what is copied stays",
                **first._asdict(),
            )
        time.sleep(_LOOK_SECONDS)
        bounds |= positions.partition_bounds(destination, [each.destination for each in hidden])
    return bounds


def _hides(bounds: Bounds, backlog_range: BacklogRange) -> bool:
    """Is a transaction open from before the last copied record?"""
    copied = backlog_range.done.next if backlog_range.done is not None else None
    return copied is not None and bounds.end < copied <= bounds.high_watermark
