# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Whether anybody but a copy has used the topics that it has made: written records to them, or committed offsets."""

from __future__ import annotations

import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._control import groups, positions, storage, topics
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog.copy_state import read_progress
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import Backlog
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import all_groups
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import NotAuthorized, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records.record_counts import RecordCount, count_records

_KEEP = "run without remove_topics, which keeps the topics; or delete them yourself"


def check_commits(backlog: Backlog, names: t.Collection[str], destination: Connection) -> None:
    """Raise Refused where another group has committed an offset of one of these topics.

    Raises NotAuthorized where the user may not see every group.
    """
    if not names:
        return
    somewhere = [TopicPartition(min(names), 0)]
    if storage.log_sizes(destination, somewhere) is None:
        raise NotAuthorized(
            "needs ACL CLUSTER DESCRIBE",
            cluster=str(destination),
            why="without it brokers list only some of the groups, and others may have committed offsets of these topics",
            remedy=f"grant it to the user of this cluster; or {_KEEP}",
        )
    ours = set(all_groups(backlog))
    others = [each.group for each in groups.list_groups(destination) if each.group not in ours]
    for name, reading in sorted(groups.read_groups(destination, others, stable=False).items()):
        where = min((each for each in reading.offsets if each.topic in names), default=None)
        if where is not None:
            raise Refused(
                f"the topic was made by this copy, and a group has committed offset {reading.offsets[where].offset} of it",
                cluster=str(destination),
                group=name,
                remedy=f"roll back what was committed, or delete the group's offsets; or {_KEEP}",
                **where._asdict(),
            )


def check_records(backlog: Backlog, names: t.Collection[str], destination: Connection, fenced: bool) -> None:
    """Raise Refused where one of these topics, which the copy has made, holds anything but what it has written, or may do so.

    fenced: nobody copies any more, and no transaction of the copy is open; else records in open transactions are not looked at.
    """
    counts = topics.partition_counts(destination, names)
    every = [TopicPartition(name, number) for name, count in counts.items() for number in range(count)]
    bounds = positions.partition_bounds(destination, every)
    copied = _copied(backlog, destination)
    for where in every:
        its = bounds[where]
        wrote = copied.get(where, RecordCount())
        if wrote is None:
            if its.log_start < its.high_watermark:
                raise _foreign(destination, where, "the progress of the copy is gone, and the log holds records")
        elif its.log_start:
            raise _foreign(destination, where, f"the log begins at {its.log_start}: records were deleted")
        elif fenced and its.end < its.high_watermark:
            raise _foreign(destination, where, f"a transaction is open from offset {its.end} on")
    found = count_records(destination, {where: (its.log_start, its.end) for where, its in bounds.items()})
    for where in every:
        wrote = copied.get(where, RecordCount()) or RecordCount()
        if found[where] != wrote:
            raise _foreign(
                destination, where, f"this copy has written {_told(wrote)}, and the log holds {_told(found[where])}"
            )


def _copied(backlog: Backlog, destination: Connection) -> dict[TopicPartition, RecordCount | None]:
    """What this copy has written of each partition, by destination partition; None where nobody knows."""
    progress = read_progress(backlog, destination, stable=False)
    found: dict[TopicPartition, RecordCount | None] = {}
    for each in backlog.ranges:
        known = progress.get(each.source)
        done = each.done or (known.done() if known else None)
        if done is not None:
            found[each.destination] = RecordCount(done.records, None if done.next is None else done.next - 1)
        elif each.copies:
            found[each.destination] = None
    return found


def _told(its: RecordCount) -> str:
    return f"{its.records} records" + (f", the last one at offset {its.last}" if its.last is not None else "")


def _foreign(destination: Connection, where: TopicPartition, what: str) -> Refused:
    return Refused(
        f"it is not sure that only this copy has written to the topic: {what}",
        cluster=str(destination),
        remedy=_KEEP,
        **where._asdict(),
    )
