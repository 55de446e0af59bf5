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
from .._model.group_state import GroupMember, GroupReading, partitions_of
from .._model.idle import Move, members_problem, moves, moves_problem
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

    moving: groups whose commits have moved while they were watched. members: who is in groups, where the brokers tell.
    """

    readings: t.Mapping[str, GroupReading]
    moving: t.Mapping[str, list[Move]] = types.MappingProxyType({})
    members: Members = types.MappingProxyType({})

    @property
    def active(self) -> list[str]:
        """The groups with members."""
        return [name for name, reading in sorted(self.readings.items()) if reading.has_members]

    @property
    def busy(self) -> set[str]:
        """Those and the groups whose commits move. An open transaction alone blocks a partition, and no group."""
        return {*self.active, *self.moving}

    @property
    def problems(self) -> dict[str, str]:
        """Why groups are in use, as a clause about each that is, in the order of their names."""
        told = {name: members_problem(reading) for name, reading in self.readings.items()}
        told |= {name: moves_problem(moved) for name, moved in self.moving.items() if not told[name]}
        return {
            name: f"{problem}{_clients(self.members.get(name))}" for name, problem in sorted(told.items()) if problem
        }

    def text(self, names: t.AbstractSet[str]) -> str:
        """The first of these groups, with why they are in use."""
        clauses = [f"{visible_name(name)} {problem}" for name, problem in self.problems.items() if name in names]
        return first_of(clauses, between="; ")


NOBODY = Seen({})


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
    seen, compared, named = Seen(readings), not idle_wait, list[str]()
    while True:
        active = seen.active
        # Commits are compared when everybody has left, and whatever happens before the time is up.
        if readings and not compared and not (active and (only_all or time.monotonic() < deadline)):
            time.sleep(idle_wait)
            again = read_or_recall(connection, sorted(readings), gone)
            seen, compared = Seen(again, _moved(seen.readings, again, selection), seen.members), True
            active = seen.active
        left = deadline - time.monotonic()
        if not seen.problems or left <= 0:
            return seen._replace(members=_members(connection, active))
        if named != active[:NAMED]:  # each question connects anew
            named = active[:NAMED]
            seen = seen._replace(members=_members(connection, named))
        say(f"waiting for consumers to stop: {seen.text(seen.readings.keys())} ({left:.0f} s left)")
        time.sleep(min(PAUSE, left))
        seen = Seen(read_or_recall(connection, sorted(readings), gone), members=seen.members)
        compared = not idle_wait


def read_or_recall(
    connection: Connection, names: t.Sequence[str], gone: t.Mapping[str, GroupReading], skip_denied: bool = False
) -> dict[str, GroupReading]:
    """The groups as they are, and where they are gone as they were. skip_denied: as for groups.read_groups()."""
    readings = groups.read_groups(connection, names, skip_denied=skip_denied)
    return {name: gone.get(name, reading) if not reading.exists else reading for name, reading in readings.items()}


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
