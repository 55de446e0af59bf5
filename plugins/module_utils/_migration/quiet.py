# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Are groups quiet: nobody in them, and two readings of their commits equal? Wait until they are."""

from __future__ import annotations

import contextlib
import time
import types
import typing as t

from .._control import groups
from .._model.connection import Connection
from .._model.errors import MigrationError
from .._model.group_state import GroupMember, GroupReading, open_text, partitions_of
from .._model.idle import Move, moves, moves_text
from .._model.progress import Say, paced, silent
from .._model.records import TopicPartition
from .._model.selection import Selection
from .._model.visible_text import visible_name
from .._model.wording import NAMED, first_of
from .._records.group_members import consumer_protocol_members

PAUSE = 1.0  # seconds between two looks
SAY_WAITING_EVERY = 5.0  # seconds
Members = t.Mapping[str, t.Sequence[GroupMember]]


class Seen(t.NamedTuple):
    """What the last look has shown.

    active: groups with members, and their state. moving: other groups whose commits have moved while they were watched.
    members: who is in the active ones; empty for a group whose members the brokers do not tell.
    """

    readings: dict[str, GroupReading]
    active: dict[str, str]
    moving: dict[str, list[Move]]
    members: Members


def watch(
    connection: Connection,
    readings: dict[str, GroupReading],
    selection: Selection,
    idle_wait: float,
    stop_timeout: float = 0,
    say: Say = silent,
    only_all: bool = False,
    gone: t.Mapping[str, GroupReading] = types.MappingProxyType({}),
) -> Seen:
    """Look at groups until all of them are quiet, or the time is up; at least once.

    :param readings: the first reading. :param idle_wait: seconds between two readings of commits; 0 compares none, so that
        consumers with assign() are not seen. :param stop_timeout: seconds to wait for groups in use; 0 does not wait.
    :param only_all: groups that are not quiet will be refused, so that a group with members ends the look at once.
    :param gone: groups that were removed, as they were.
    """
    deadline = time.monotonic() + stop_timeout
    say = paced(say, SAY_WAITING_EVERY)
    moved: dict[str, list[Move]] = {}
    compared = not idle_wait
    named: dict[str, str] = {}
    members: Members = {}
    while True:
        active = with_members(readings)
        # Commits are compared when everybody has left, and whatever happens before the time is up.
        if readings and not compared and not (active and (only_all or time.monotonic() < deadline)):
            time.sleep(idle_wait)
            first, readings = readings, read_or_recall(connection, sorted(readings), gone)
            active, moved, compared = with_members(readings), _moved(first, readings, selection), True
        moving = {name: changes for name, changes in moved.items() if name not in active}
        left = deadline - time.monotonic()
        opened = with_open(readings)
        if not (active or moving or opened) or left <= 0:
            return Seen(readings, active, moving, _members(connection, active))
        first_active = dict(list(active.items())[:NAMED])
        if named != first_active:  # each question connects anew
            named, members = first_active, _members(connection, first_active)
        say(f"waiting for consumers to stop: {_names(members, active, moving, opened)} ({left:.0f} s left)")
        time.sleep(min(PAUSE, left))
        readings, moved, compared = read_or_recall(connection, sorted(readings), gone), {}, not idle_wait


def read_or_recall(
    connection: Connection, names: t.Sequence[str], gone: t.Mapping[str, GroupReading], skip_denied: bool = False
) -> dict[str, GroupReading]:
    """The groups as they are, and where they are gone as they were. skip_denied: as for groups.read_groups()."""
    readings = groups.read_groups(connection, names, skip_denied=skip_denied)
    return {name: gone.get(name, reading) if not reading.exists else reading for name, reading in readings.items()}


def with_members(readings: t.Mapping[str, GroupReading]) -> dict[str, str]:
    """The state of each group that has members."""
    return {name: reading.state for name, reading in sorted(readings.items()) if reading.has_members}


def with_open(readings: t.Mapping[str, GroupReading]) -> dict[str, str]:
    """What is open of each group for which a transaction that commits offsets is open."""
    return {name: open_text(reading.open) for name, reading in sorted(readings.items()) if reading.open}


def members_text(active: t.Mapping[str, str], members: Members) -> str:
    """Groups with members: the state, and the clients and their hosts, where the brokers tell."""
    return ", ".join(f"{visible_name(name)} ({state}){_clients(members.get(name))}" for name, state in active.items())


def with_clients(
    connection: Connection, problems: t.Mapping[str, str], readings: t.Mapping[str, GroupReading]
) -> dict[str, str]:
    """Clauses about groups in use, with the clients of those that have members, and their hosts, where the brokers tell."""
    members = _members(connection, [name for name in problems if readings[name].has_members])
    return {name: problem + _clients(members.get(name)) for name, problem in problems.items()}


def group_members(connection: Connection, names: t.Collection[str]) -> dict[str, tuple[GroupMember, ...]]:
    """Who is in each of these groups, as far as the brokers tell."""
    members = groups.classic_members(connection, names)
    return members | consumer_protocol_members(connection, set(names) - members.keys())


def _members(connection: Connection, active: t.Iterable[str]) -> Members:
    with contextlib.suppress(MigrationError):  # a hint does not fail what is to be said
        return group_members(connection, sorted(active))
    return {}


def _clients(members: t.Sequence[GroupMember] | None) -> str:
    clients = first_of([f"client {member.client_id} on {member.host}" for member in members or ()])
    return f": {clients}" if clients else ""


def moving_text(moving: t.Mapping[str, list[Move]]) -> str:
    """Groups whose commits move, with both offsets."""
    return ", ".join(f"{visible_name(name)} ({moves_text(moved)})" for name, moved in moving.items())


def _names(
    members: Members, active: t.Mapping[str, str], moving: t.Mapping[str, list[Move]], opened: t.Mapping[str, str]
) -> str:
    texts = [members_text({name: state}, members) for name, state in active.items()]
    texts += [f"{visible_name(name)} (its committed offsets still change)" for name in moving]
    named = {*active, *moving}
    texts += [f"{visible_name(name)} ({told})" for name, told in opened.items() if name not in named]
    return first_of(texts)


def _moved(
    first: t.Mapping[str, GroupReading], second: t.Mapping[str, GroupReading], selection: Selection
) -> dict[str, list[Move]]:
    """What has moved of the selected topics in each group between two readings; groups that stand still are left out."""

    def offsets(readings: t.Mapping[str, GroupReading]) -> dict[str, dict[TopicPartition, int | None]]:
        topics = {name: set(selected.names) for name, selected in selection.topics_of(partitions_of(readings)).items()}
        return {
            name: {
                partition: commit.offset
                for partition, commit in reading.offsets.items()
                if partition.topic in topics[name]
            }
            for name, reading in readings.items()
        }

    before, after = offsets(first), offsets(second)
    compared = {name: moves(before[name], after[name]) for name in sorted(first)}
    return {name: moved for name, moved in compared.items() if moved}
