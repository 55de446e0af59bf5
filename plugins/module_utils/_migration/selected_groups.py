# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which groups and topics of a cluster a selection means, and why it may mean none."""

from __future__ import annotations

import contextlib
import typing as t

from .._control import groups
from .._control.topics import list_topics
from .._model.choosing import Holder
from .._model.connection import Connection
from .._model.errors import InvalidInput, MigrationError, NotFound
from .._model.faults import faults_of, raise_any
from .._model.group_state import GroupReading, partitions_of
from .._model.grouping import values_by_key
from .._model.known_names import STREAMS_TOPICS, known, streams_owners
from .._model.notes import Note
from .._model.option_names import option_name
from .._model.policies import OnBlocked
from .._model.selection import Selected, Selection, all_topics, name_hint, seen_on, unused_cause
from .._model.visible_text import names_text
from . import quiet


class _Fault(t.NamedTuple):
    """Why nothing of a group can be moved. may_be_hidden: or whether only the login does not see it."""

    of_one: str
    of_several: str
    may_be_hidden: bool = False


_MISSING = _Fault(
    "does not exist, or GROUP DESCRIBE on it is not allowed",
    "they do not exist, or GROUP DESCRIBE on them is not allowed",
    may_be_hidden=True,
)
_EMPTY = _Fault(
    "has committed nothing, or TOPIC DESCRIBE on what it consumes is not allowed",
    "they have committed nothing, or TOPIC DESCRIBE on what they consume is not allowed",
    may_be_hidden=True,
)
_GONE = (
    "find out whether the committed offsets have expired, or somebody has removed the group; then run the playbook "
    "migrate_groups, which says what each way on repeats"
)


def read_selected(
    connection: Connection,
    names: t.Sequence[str],
    selection: Selection,
    on_blocked: OnBlocked,
    gone: t.Mapping[str, GroupReading],
    skip_denied: bool,
) -> tuple[dict[str, GroupReading], dict[str, str]]:
    """The groups that keep offsets, and why the others keep none, as a clause about each.

    gone: removed ones as they were, which lack nothing even if nothing of theirs is left. Raises NotFound or InvalidInput for
    one that was named, and NotAuthorized for one that is denied, unless skip_denied.
    """
    readings = quiet.read_or_recall(connection, names, gone, skip_denied)
    names = [name for name in names if name in readings]
    without_offsets = {name: why for name in names if (why := readings[name].without_offsets) is not None}
    # A group that does not exist may be misspelt, and so nothing leaves it out.
    empty = {name for name in names if readings[name].exists and _fault(readings[name]) is not None}
    skips = on_blocked != OnBlocked.FAIL and len(empty) < len(names)
    named = [
        readings[name]
        for name in names
        if name in selection.named_groups and not (skips and name in empty) and readings[name] is not gone.get(name)
    ]
    try:
        _refuse(named, _fault, connection, selection.of_receipt)
    except (NotFound, InvalidInput) as exc:
        existing = _shown_topics(connection)
        missing = sorted(set(selection.topics) - set(existing)) if existing else []
        raise_any([exc, *faults_of(lambda: check_topics_exist(missing, connection))])
    return {name: reading for name, reading in readings.items() if name not in without_offsets}, without_offsets


def check_groups_matched(
    selection: Selection, existing: t.Collection[str], selected: Selected, connection: Connection
) -> None:
    """Raise InvalidInput if none of the cluster's groups is selected."""
    holder = Holder("that this user may describe", str(connection))
    holder.check_matched("group", selection.group_patterns, existing, selected)


def check_topics_exist(missing: t.Collection[str], connection: Connection) -> None:
    """Raise NotFound for these topics that the cluster does not show, if there are any."""
    if missing:
        hint = name_hint("topics", missing, _shown_topics(connection))
        raise NotFound(
            f"no such topic, or TOPIC DESCRIBE on it is not allowed: {', '.join(missing)}",
            cluster=str(connection),
            remedy=f"correct {option_name('topics')}{hint}, or grant the ACL",
        )


def select_topics_of(
    selection: Selection,
    readings: t.Mapping[str, GroupReading],
    connection: Connection,
    unused: t.Sequence[Note],
    skip_denied: bool,
) -> dict[str, Selected]:
    """The selected ones of the topics for which each group has committed offsets. Raises NotFound or InvalidInput.

    unused: of group patterns that match nothing, which is why a topic of their groups may be missing. skip_denied: raise
    nothing, because a missing topic may be of a group that is denied.
    """
    partitions = partitions_of(readings)
    topics = {partition.topic for of_group in partitions.values() for partition in of_group}
    selected = selection.topics_of(partitions)
    if skip_denied:
        return selected
    missing = sorted(set(selection.topics) - topics)
    if missing:
        raise NotFound(
            f"none of the selected groups has committed anything for {', '.join(missing)}, or "
            "TOPIC DESCRIBE is not allowed",
            cluster=str(connection),
            why=unused_cause(unused),
            remedy=f"correct {option_name('topics')}{name_hint('topics', missing, topics)}, "
            "select a group that consumes it, or grant the ACL",
        )
    holder = Holder("of the selected groups", str(connection), why=unused_cause(unused))
    holder.check_matched("topic", selection.topic_patterns, topics, all_topics(selected))
    return selected


def unused_topic_patterns(
    selection: Selection, readings: t.Mapping[str, GroupReading], connection: Connection
) -> list[Note]:
    """Notes of the patterns that match no topic of these groups, nor another one: waves may share their patterns."""
    topics = {partition.topic for partitions in partitions_of(readings).values() for partition in partitions}
    if not selection.unused("topics", topics, ""):
        return []
    return selection.unused("topics", {*topics, *list_topics(connection)}, seen_on(connection))


def check_keep_offsets(named: t.Iterable[GroupReading], connection: Connection) -> None:
    """Raise InvalidInput for named groups that have no offsets to move: share groups keep their state elsewhere."""
    _refuse(named, _keeps_none, connection)


def streams_groups(
    connection: Connection, names: t.Collection[str], listed: t.Collection[str] | None
) -> frozenset[str]:
    """Those of the groups that have topics which Kafka Streams makes; none where brokers do not list topics.

    listed: all groups of the cluster, because a topic may be that of another one; None to list them if that matters.
    """
    topics = [name for name in _shown_topics(connection) if known(name, STREAMS_TOPICS)]
    owners = streams_owners(topics, names)
    if not owners:
        return owners
    every = {*names, *(_shown_groups(connection) if listed is None else listed)}
    return owners & streams_owners(topics, every)


def _shown_topics(connection: Connection) -> list[str]:
    """All topics that the user may see. They only help to say more, so nothing fails without them."""
    with contextlib.suppress(MigrationError):
        return list_topics(connection)
    return []


def group_hint(names: t.Collection[str], connection: Connection) -> str:
    """What may be wrong with names of groups that do not exist: see name_hint(). Only asks for what the user may see."""
    return name_hint("groups", names, _shown_groups(connection))


def _shown_groups(connection: Connection) -> list[str]:
    """The groups that the user may see, in the same way."""
    with contextlib.suppress(MigrationError):
        return [listing.group for listing in groups.list_groups(connection, surely=False)]
    return []


def _fault(reading: GroupReading) -> _Fault | None:
    if not reading.exists:
        return _MISSING
    if (keeps_none := _keeps_none(reading)) is not None:
        return keeps_none
    return None if reading.offsets or reading.open else _EMPTY


def _keeps_none(reading: GroupReading) -> _Fault | None:
    if reading.without_offsets is None:
        return None
    why = f"{reading.without_offsets}, so it has no committed offsets that can be moved"
    return _Fault(why, f"each of them {why}")


def _refuse(
    named: t.Iterable[GroupReading],
    fault_of: t.Callable[[GroupReading], _Fault | None],
    connection: Connection,
    of_receipt: bool = False,
) -> None:
    """Raise NotFound or InvalidInput that names all of these groups that have a fault, if any has.

    of_receipt: a receipt names them, so none is misspelt.
    """
    faults = {reading.group: fault for reading in named if (fault := fault_of(reading)) is not None}
    if not faults:
        return
    may_be_hidden = any(fault.may_be_hidden for fault in faults.values())
    of_receipt = of_receipt and may_be_hidden
    text = _faults_text(faults) + (", although the receipt has it" if of_receipt else "")
    raise (NotFound if may_be_hidden else InvalidInput)(
        text,
        cluster=str(connection),
        group=next(iter(faults)) if len(faults) == 1 else None,
        remedy=_GONE if of_receipt else _remedy(faults, may_be_hidden, connection),
    )


def _faults_text(faults: t.Mapping[str, _Fault]) -> str:
    if len(faults) == 1:
        return f"the group {next(iter(faults.values())).of_one}"
    alike = values_by_key((fault, name) for name, fault in faults.items())
    return "; ".join(
        f"groups {names_text(names)}: {fault.of_several}" if names[1:] else f"group {names_text(names)} {fault.of_one}"
        for fault, names in alike.items()
    )


def _remedy(faults: t.Mapping[str, _Fault], may_be_hidden: bool, connection: Connection) -> str:
    groups_option = option_name("groups")
    missing = [name for name, fault in faults.items() if fault is _MISSING]
    it = "it" if len(faults) == 1 else "the others" if missing else "them"
    ways_on = [
        f"correct {groups_option}{group_hint(missing, connection)}" if missing else "",
        f"take {it} out{'' if missing else f' of {groups_option}'}" if len(missing) < len(faults) else "",
        "grant the ACL" if may_be_hidden else "",
    ]
    *others, last = filter(None, ways_on)
    return f"{', '.join(others)}, or {last}" if others else last
