# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: which groups a cluster has, how far they are, and which of them can be migrated."""

from __future__ import annotations

import time
import typing as t

from .._control import groups as control
from .._control.positions import bounds_as_far_as_known
from .._control.topics import describe_topics
from .._model.cluster_identity import LogRange
from .._model.connection import Connection
from .._model.errors import NotAuthorized, NotFound
from .._model.group_overview import GroupOverview
from .._model.group_state import GroupReading
from .._model.notes import Note
from .._model.option_names import option_name
from .._model.records import TopicPartition
from .._model.selection import Selection, name_hint, seen_on
from .._model.visible_text import names_text
from . import selected_groups
from .quiet import group_members

_PATIENCE = 30.0  # seconds for one answer
_PAUSE = 5.0  # seconds in which a leader that has just gone is replaced


class GroupOverviews(t.NamedTuple):
    """groups: those with the largest lag first. left_out: by an exclude pattern. denied: listed, and not to be described.

    unused: patterns that match nothing. listed: all groups that the user may see, selected or not.
    """

    groups: list[GroupOverview]
    left_out: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    unused: t.Sequence[Note] = ()
    listed: t.Collection[str] = ()


def group_overviews(connection: Connection, selection: Selection) -> GroupOverviews:
    """The selected groups.

    Without any selection: every group that the user may describe and that no exclude pattern leaves out. Raises NotFound for a
    group that was asked for by name and does not exist, and NotAuthorized for one that he may not describe.
    """
    listed = {listing.group: listing for listing in control.list_groups(connection)}
    missing = sorted(set(selection.groups) - set(listed))
    if missing:
        raise NotFound(
            f"no such group, or GROUP DESCRIBE on it is not allowed: {names_text(missing)}",
            cluster=str(connection),
            remedy=f"correct {option_name('groups')}{name_hint('groups', missing, listed)}, or grant the ACL",
        )
    selected = selection.select_groups(listed)
    readings = control.read_groups(connection, selected.names, stable=False, skip_denied=True)
    denied = sorted(set(selection.groups) - set(readings))
    if denied:
        raise NotAuthorized(f"needs ACL GROUP DESCRIBE on {names_text(denied)}", cluster=str(connection))
    logs, leaderless = _logs(connection, readings)
    streams = selected_groups.streams_groups(connection, readings, listed)
    members = group_members(
        connection, [name for name in readings if readings[name].type in ("classic", "consumer", "unknown")]
    )
    overviews = [
        GroupOverview(
            reading,
            members.get(name),
            {partition: logs[partition] for partition in reading.offsets if partition in logs},
            reading.is_streams(streams),
            tuple(sorted(leaderless.intersection(reading.offsets))),
        )
        for name, reading in readings.items()
        if reading.exists  # else it was deleted a moment ago
    ]
    overviews.sort(key=lambda group: (-(group.lag.offsets if group.lag else 0), group.reading.group))
    denied = sorted(set(selected.names) - set(readings))
    unused = selection.unused("groups", listed, seen_on(connection))
    return GroupOverviews(overviews, selected.left_out, tuple(denied), unused, listed)


def _logs(
    connection: Connection, readings: dict[str, GroupReading]
) -> tuple[dict[TopicPartition, LogRange], set[TopicPartition]]:
    """Start and high watermark of each partition with a committed offset, and the partitions that have no leader now.

    Deleted partitions are left out. One dead broker hides no other partition.
    """
    committed = {partition for reading in readings.values() for partition in reading.offsets}
    topics = describe_topics(connection, sorted({partition.topic for partition in committed}))
    left = {partition for partition in committed if partition.partition < topics[partition.topic].partitions}
    logs: dict[TopicPartition, LogRange] = {}
    for pause in (0.0, _PAUSE):
        if left:
            time.sleep(pause)
            _cluster, bounds = bounds_as_far_as_known(connection, left, _PATIENCE)
            logs |= {partition: edges.log for partition, edges in bounds.items()}
            left -= logs.keys()
    return logs, left
