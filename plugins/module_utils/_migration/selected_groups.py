# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which groups and topics of a cluster a selection means, and why it may mean none."""

from __future__ import annotations

import contextlib
import time
import typing as t

from .._control import groups
from .._control.topics import list_topics
from .._model.connection import Connection
from .._model.errors import InvalidInput, MigrationError, NotFound
from .._model.failure_kinds import FailureKind
from .._model.group_state import GroupReading, partitions_of
from .._model.known_names import STREAMS_TOPICS, known
from .._model.notes import excluded
from .._model.option_names import option_name
from .._model.policies import OnBlocked
from .._model.selection import Selected, Selection, name_hint
from . import quiet

# What was seen, and the groups that keep no offsets, with a clause about each that says why.
Look = tuple[quiet.Seen, dict[str, str]]


def select_and_look(
    connection: Connection,
    selection: Selection,
    gone: t.Mapping[str, GroupReading],
    surely: bool,
    look: t.Callable[[t.Sequence[str]], Look],
) -> tuple[Selected, Look]:
    """The selected groups, and what a look at them shows. Raises InvalidInput if no group is selected.

    gone: groups that were removed, which patterns select, too. surely: list the groups twice, because a coordinator may be
    moving. look: reads the groups of these names, and watches them.
    """
    begun = time.monotonic()
    listed = (
        {each.group for each in groups.list_groups(connection, surely=False)} if selection.group_patterns else set()
    )
    selected = selection.select_groups({*listed, *gone})
    looked = look(selected.names)
    if surely and selection.group_patterns:
        # The list is read again after the groups were watched, which has taken most of the time that must pass.
        listed |= {each.group for each in groups.list_groups_again(connection, begun)}
        now = selection.select_groups({*listed, *gone})
        if now.names != selected.names:
            selected, looked = now, look(now.names)
    if not selected.names:
        raise _unmatched("group", "groups", "group_patterns", selection.group_patterns, selected, connection)
    return selected, looked


def read_selected(
    connection: Connection,
    names: t.Sequence[str],
    selection: Selection,
    on_blocked: OnBlocked,
    gone: t.Mapping[str, GroupReading],
) -> tuple[dict[str, GroupReading], dict[str, str]]:
    """The groups that keep offsets, and why the others keep none, as a clause about each.

    Raises NotFound or InvalidInput for one that was named.
    """
    readings = quiet.read_or_recall(connection, names, gone)
    without_offsets = {name: why for name in names if (why := readings[name].without_offsets) is not None}
    nothing_else = len(without_offsets) == len(names)
    for name in names:
        if name in selection.groups and (name not in without_offsets or on_blocked == OnBlocked.FAIL or nothing_else):
            _check_named(readings[name], connection)
    return {name: reading for name, reading in readings.items() if name not in without_offsets}, without_offsets


def select_topics_of(
    selection: Selection, readings: t.Mapping[str, GroupReading], connection: Connection
) -> dict[str, Selected]:
    """The selected ones of the topics for which each group has committed offsets. Raises NotFound or InvalidInput."""
    partitions = partitions_of(readings)
    topics = {partition.topic for its in partitions.values() for partition in its}
    selected = selection.topics_of(partitions)
    missing = sorted(set(selection.topics) - topics)
    if missing:
        raise NotFound(
            f"none of the selected groups has committed anything for topic {', '.join(missing)}, "
            "or TOPIC DESCRIBE on it is not allowed",
            cluster=str(connection),
            remedy=f"correct {option_name('topics')}{name_hint('topics', missing, topics)}, "
            "select a group that consumes it, or grant the ACL",
        )
    if topics and not any(each.names for each in selected.values()):
        what = "topic of the selected groups"
        left_out = Selected((), tuple(sorted({topic for each in selected.values() for topic in each.left_out})))
        raise _unmatched(what, "topics", "topic_patterns", selection.topic_patterns, left_out, connection)
    return selected


def check_keeps_offsets(reading: GroupReading, connection: Connection) -> None:
    """Raise InvalidInput for a named group that has no offsets to move: share groups keep their state elsewhere."""
    if not reading.keeps_offsets:
        raise InvalidInput(
            f"the group {reading.without_offsets}, so it has no committed offsets that can be moved",
            cluster=str(connection),
            group=reading.group,
            remedy=f"take it out of {option_name('groups')}",
        )


def streams_topics(connection: Connection) -> list[str]:
    """Topics of the cluster that are called like those that Kafka Streams makes; none where brokers do not list topics.

    They only help to say what a group is, so that nothing fails without them.
    """
    with contextlib.suppress(MigrationError):
        return [name for name in list_topics(connection) if known(name, STREAMS_TOPICS)]
    return []


def group_hint(names: t.Collection[str], connection: Connection) -> str:
    """What may be wrong with names of groups that do not exist: see name_hint(). Only asks for what the user may see."""
    listed: list[str] = []
    with contextlib.suppress(MigrationError):  # the failure itself is about something else
        listed = [each.group for each in groups.list_groups(connection, surely=False)]
    return name_hint("groups", names, listed)


def _check_named(reading: GroupReading, connection: Connection) -> None:
    if not reading.exists:
        raise NotFound(
            "the group does not exist, or GROUP DESCRIBE on it is not allowed",
            cluster=str(connection),
            group=reading.group,
            remedy=f"correct {option_name('groups')}{group_hint([reading.group], connection)}, or grant the ACL",
        )
    check_keeps_offsets(reading, connection)
    if not reading.offsets and not reading.open:
        raise NotFound(
            "the group has committed nothing, or TOPIC DESCRIBE on what it consumes is not allowed",
            cluster=str(connection),
            group=reading.group,
            remedy=f"take it out of {option_name('groups')}, or grant the ACL",
        )


def _unmatched(
    what: str, names: str, patterns: str, given: t.Iterable[str], selected: Selected, connection: Connection
) -> InvalidInput:
    """The error where patterns match nothing. names, patterns: the options."""
    left_out = " ".join(note.text for note in excluded(**{names: selected.left_out})).rstrip(".")
    return InvalidInput(
        f"no {what} is matched by {option_name(patterns)} {list(given)}",
        cluster=str(connection),
        why=left_out or "a pattern has to match the whole name, such as billing.* for all that begins so",
        remedy=f"correct the patterns, or name the {names} in {option_name(names)}",
        kind=FailureKind.NOTHING_SELECTED,
    )
