# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: write down what groups have committed now."""

from __future__ import annotations

import dataclasses
import time
import types
import typing as t

from .._control import clusters, groups
from .._control.topics import partition_counts
from .._model.cluster_identity import Traits
from .._model.connection import Connection
from .._model.errors import GroupBusy
from .._model.group_state import GroupReading, open_text, partitions_of
from .._model.grouping import nested, values_by_key
from .._model.known_names import GROUPS, known
from .._model.notes import Note, NoteKind, excluded
from .._model.option_names import moves_groups, option_name, ways
from .._model.policies import OnActiveGroup, OnBlocked
from .._model.progress import Say, silent
from .._model.records import TopicPartition, every_partition
from .._model.removed import Removed
from .._model.selection import Selected, Selection, all_topics, seen_on
from .._model.snapshot import IN_BACKUP, OpenTransaction, Snapshot, SnapshotEntry, SnapshotGroup
from .._model.visible_text import names_text, visible_name
from .._model.wording import first_names
from . import not_taken, quiet, selected_groups
from .file_clusters import check_cluster, keeps_rollback

_Look = tuple[quiet.Seen, dict[str, str]]  # the groups, and why others have no offsets to move

SECOND_READING = 0.5  # seconds after the first one, at least, where brokers do not tell of open transactions


class TakenSnapshot(t.NamedTuple):
    """A snapshot and what the user should know of it; each list is sorted.

    left_out_groups, left_out_topics: matched by a pattern, and by an exclude pattern too.
    not_consumer_groups: selected, but share or Connect groups, and why each has no offsets to move, as a clause about it.
    skipped: groups in use that were left out. seen: all of them, and who is in use. use_expected: groups in use are no news.
    streams: those of the snapshot that are Kafka Streams applications. not_told: what is not known of transactions. unused:
    patterns that match nothing.
    """

    snapshot: Snapshot
    left_out_groups: tuple[str, ...] = ()
    left_out_topics: tuple[str, ...] = ()
    not_consumer_groups: t.Mapping[str, str] = types.MappingProxyType({})
    skipped: tuple[str, ...] = ()
    seen: quiet.Seen = quiet.NOBODY
    use_expected: bool = False
    streams: tuple[str, ...] = ()
    not_told: t.Sequence[Note] = ()
    unused: t.Sequence[Note] = ()

    def notes(self) -> list[Note]:
        """What the user should know and need not stop for."""
        notes = [*excluded(self.left_out_groups, self.left_out_topics), *self.unused]
        notes += [Note(NoteKind.GROUP_IN_USE, text) for text in self._use_texts()]
        return [*notes, *self._group_notes(), *self.not_told]

    def _use_texts(self) -> t.Iterator[str]:
        """Of groups that are left out for that, or that are taken all the same."""
        if self.skipped:
            yield f"Left out, because they are in use: {self.seen.text({*self.skipped})}."
        if not self.use_expected and (staying := self.seen.busy - {*self.skipped}):
            yield (
                f"These groups are in use, and may consume more than the snapshot says: {self.seen.text(staying)}. "
                "Stop them before their offsets are committed elsewhere."
            )
        if transactions := [each for each in self.snapshot.open if each.told != IN_BACKUP]:
            opened = nested(((group, partition), told) for group, partition, told in transactions)
            clauses = "; ".join(f"{visible_name(name)}: {open_text(its)}" for name, its in opened.items())
            yield f"Blocked until the transactions end, because nobody knows which offsets they commit: {clauses}."

    def _group_notes(self) -> t.Iterator[Note]:
        """Of groups that have nothing to move, and of those whose applications keep more than committed offsets."""
        holding = {group for group, _partition, _rest in (*self.snapshot.entries, *self.snapshot.open)}
        nothing = "has no committed offsets on the selected topics"
        whys = {**dict.fromkeys((group.name for group in self.snapshot.groups), nothing), **self.not_consumer_groups}
        without = values_by_key((why, name) for name, why in sorted(whys.items()) if name not in holding)
        if without:
            clauses = "; ".join(
                f"{first_names(names, more='more groups')}{': each' if names[1:] else ''} {why}"
                for why, names in without.items()
            )
            yield Note(NoteKind.WITHOUT_OFFSETS, f"Nothing of these groups is in the snapshot: {clauses}.")
        if not moves_groups():
            return
        if self.streams:
            text = (
                f"Kafka Streams applications: {names_text(self.streams)}. Only their committed offsets are moved, not their "
                "state: an application whose state stores and changelog topics are not moved with it, or that gets another "
                "group name (application.id), begins with empty state, and computes other results from there on."
            )
            yield Note(NoteKind.STREAMS_GROUP, text)
        keepers = sorted(name for name in holding if (tool := known(name, GROUPS)) and tool.keeps_positions)
        if keepers:
            text = (
                f"These groups are called like those of sinks: {names_text(keepers)}. A sink that keeps the last offset in its "
                "target or in a checkpoint goes on from there, not from the committed offset, and ignores or drops records at "
                "lower offsets. If it does, set its position to the offset of the plan before you start it."
            )
            yield Note(NoteKind.SINK_GROUP, text)


def take(
    connection: Connection,
    selection: Selection,
    on_active_group: OnActiveGroup,
    surely: bool = True,
    on_blocked: OnBlocked = OnBlocked.FAIL,
    idle_wait: float = 0,
    stop_timeout: float = 0,
    say: Say = silent,
    removed: Removed | None = None,
    skip_denied: bool = False,
) -> TakenSnapshot:
    """Read the selected groups' commits.

    :param on_active_group: fail, skip_group, warn or include, for groups that have members, or whose commits move. A group for
        which a transaction that commits offsets is open is left out by skip_group; the others take it, and its partition is
        blocked.
    :param surely: find groups by patterns also while their coordinator moves, which takes two seconds in all.
    :param on_blocked: fail, or skip_group or skip_partition, which leave out named groups that hold no committed offsets.
    :param idle_wait: seconds between two readings, once for all groups together; the second one is the snapshot. Consumers
        that use assign() never show as members, only their commits move. 0 reads once, and so do groups that have all had
        members: whoever commits for them all the same is seen by the commit of the plan, which compares them with the snapshot.
    :param stop_timeout: seconds to wait until nobody uses the groups any more, before on_active_group says what becomes of
        those that are still in use.
    :param removed: groups that an earlier run has removed are taken as they were then.
    :param skip_denied: leave out groups that the user may not describe, and miss no topic, which may be theirs.
    Raises NotFound for a group or topic that was asked for by name and is not there or has no commits, InvalidInput
    for patterns that match nothing, GroupBusy where on_active_group says so.
    """
    selection.check()
    gone: t.Mapping[str, GroupReading] = {}
    recreated: t.Container[str] = ()
    if removed is not None:  # Refused for a file of another cluster
        identity = check_cluster("file of removed groups", removed.identity, connection, keeps_rollback())
        gone, recreated = removed.readings(), removed.traits.recreated(identity.traits)

    def look(names: t.Sequence[str]) -> _Look:
        readings, without_offsets = selected_groups.read_selected(
            connection, names, selection, on_blocked, gone, skip_denied
        )
        only_all = on_active_group == OnActiveGroup.FAIL
        wait = idle_wait if any(not reading.had_members for reading in readings.values()) else 0
        # Where brokers do not tell of open transactions, at least a commit between two readings is seen.
        wait = wait if not _not_told(readings) else max(wait, SECOND_READING)
        seen = quiet.watch(connection, readings, selection, wait, stop_timeout, say, only_all, gone)
        return seen, without_offsets

    selected, existing, (seen, without_offsets) = _selected(connection, selection, gone, surely, look)
    selected_groups.check_groups_matched(selection, existing, selected, connection)
    unused = selection.unused("groups", existing, seen_on(connection))
    recalled = {name for name, reading in seen.readings.items() if reading is gone.get(name)}
    seen = seen._replace(readings=_with_first_commits(connection, seen.readings))
    skipped = _skipped(seen, on_active_group, stop_timeout, connection)
    out = frozenset(skipped)
    readings = {name: reading for name, reading in seen.readings.items() if name not in out}
    # A topic that only a skipped group consumes is not misspelt.
    of_all = selected_groups.select_topics_of(selection, seen.readings, connection, unused, skip_denied)
    topics = {name: of_all[name] for name in readings}
    unused += selected_groups.unused_topic_patterns(selection, seen.readings, connection)
    streams = selected_groups.streams_groups(connection, readings, existing if selection.group_patterns else None)
    names = {*selection.groups, *selection.topics}
    had = {
        name: [partition for partition in readings[name].offsets if topics[name].has(partition.topic)]
        for name in recalled & readings.keys()
    }
    lines = [
        *not_taken.group_lines(selected.left_out, without_offsets),
        *not_taken.topic_lines(partitions_of(readings), topics, selection),
        *not_taken.recreated_lines(had, recreated),
    ]
    known = removed.traits.topic_ids if removed is not None else {}
    unidentified = {each.topic for partitions in had.values() for each in partitions if known.get(each.topic) is None}
    # Offsets of a topic that was created again mean nothing in its new log.
    left = {name: _without(reading, recreated) if name in had else reading for name, reading in readings.items()}
    snapshot = _snapshot(connection, left, topics, unidentified)
    return TakenSnapshot(
        dataclasses.replace(snapshot, left_out=tuple(lines), left_out_names=tuple(sorted(names - snapshot.names()))),
        selected.left_out,
        all_topics(topics).left_out,
        without_offsets,
        skipped,
        seen,
        on_active_group == OnActiveGroup.INCLUDE,
        tuple(sorted(name for name, reading in readings.items() if reading.is_streams(streams))),
        _not_told(seen.readings),
        unused,
    )


def _selected(
    connection: Connection,
    selection: Selection,
    gone: t.Collection[str],
    surely: bool,
    look: t.Callable[[t.Sequence[str]], _Look],
) -> tuple[Selected, set[str], _Look]:
    """The selected groups, all that exist as far as patterns ask for them, and what look() has found of the selected ones.

    gone: removed groups, which count as existing. surely: see take().
    """
    existing, begun = {*gone}, time.monotonic()
    if selection.group_patterns:
        existing |= {listing.group for listing in groups.list_groups(connection, surely=False)}
    selected = selection.select_groups(existing)
    looked = look(selected.names)
    if surely and selection.group_patterns:
        # A coordinator may be moving. Watching the groups has taken most of the time that must pass before the second list.
        existing |= {listing.group for listing in groups.list_groups_again(connection, begun)}
        now = selection.select_groups(existing)
        if now.names != selected.names:
            selected, looked = now, look(now.names)
    return selected, existing, looked


def _without(reading: GroupReading, topics: t.Container[str]) -> GroupReading:
    offsets = {partition: commit for partition, commit in reading.offsets.items() if partition.topic not in topics}
    return dataclasses.replace(reading, offsets=offsets)


def _not_told(readings: t.Mapping[str, GroupReading]) -> list[Note]:
    """What brokers do not tell of open transactions, each note once."""
    return list(dict.fromkeys(reading.not_told for reading in readings.values() if reading.not_told is not None))


def with_every_partition(
    connection: Connection, positions: t.Mapping[TopicPartition, int | None]
) -> dict[TopicPartition, int | None]:
    """The offsets of a group, and None for every partition of their topics on which it has committed none."""
    counts = partition_counts(connection, {partition.topic for partition in positions})
    every = every_partition(counts)
    return {**dict.fromkeys(every), **positions}


def _with_first_commits(connection: Connection, readings: t.Mapping[str, GroupReading]) -> dict[str, GroupReading]:
    """The readings, with the open transactions that commit the first offset of a group for a partition of its topics."""
    counts = partition_counts(
        connection, {partition.topic for reading in readings.values() for partition in reading.offsets}
    )
    beside: dict[str, list[TopicPartition]] = {}
    for name, reading in readings.items():
        topics = {partition.topic for partition in reading.offsets} & counts.keys()
        every = every_partition({topic: counts[topic] for topic in sorted(topics)})
        lacking = [partition for partition in every if partition not in reading.offsets]
        if reading.exists and lacking:
            beside[name] = lacking
    reread = groups.read_groups(connection, sorted(beside), beside=beside) if beside else {}
    opened = {name: {**readings[name].open, **reading.open} for name, reading in reread.items()}
    return {**readings, **{name: dataclasses.replace(readings[name], open=own) for name, own in opened.items()}}


def _skipped(
    seen: quiet.Seen, on_active_group: OnActiveGroup, stop_timeout: float, connection: Connection
) -> tuple[str, ...]:
    """The groups in use that are left out. Raises GroupBusy where on_active_group says so."""
    match on_active_group:
        case OnActiveGroup.FAIL:
            if seen.busy:
                raise _in_use(seen, stop_timeout, connection)
        case OnActiveGroup.SKIP_GROUP:
            return tuple(seen.problems)
        case OnActiveGroup.WARN | OnActiveGroup.INCLUDE:
            pass
        case _:
            t.assert_never(on_active_group)
    return ()


def _snapshot(
    connection: Connection,
    readings: t.Mapping[str, GroupReading],
    topics: t.Mapping[str, Selected],
    unidentified: t.Collection[str],
) -> Snapshot:
    """What these groups have committed for the topics that are selected of each.

    Addresses are noted only where topics have no ids to tell. unidentified: topics whose ids removed groups have not
    noted.
    """
    entries = tuple(
        SnapshotEntry(name, partition, committed)
        for name, reading in sorted(readings.items())
        for partition, committed in sorted(reading.offsets.items())
        if topics[name].has(partition.topic)
    )
    opened = tuple(
        OpenTransaction(name, partition, told)
        for name, reading in sorted(readings.items())
        for partition, told in sorted(reading.open.items())
        if topics[name].has(partition.topic)
    )
    identity = clusters.identify(connection, {partition.topic for _group, partition, _rest in (*entries, *opened)})
    ids = {topic: None if topic in unidentified else topic_id for topic, topic_id in identity.traits.topic_ids.items()}
    return Snapshot(
        identity.cluster_id,
        tuple(SnapshotGroup(name, reading.type) for name, reading in sorted(readings.items())),
        entries,
        Traits(identity.traits.brokers if None in ids.values() else (), ids),
        opened,
    )


def _in_use(seen: quiet.Seen, stop_timeout: float, connection: Connection) -> GroupBusy:
    then = " and wait for the session timeout" if seen.active else ", or the tool that commits for them"
    return GroupBusy(
        f"groups are in use: {seen.text(seen.busy)}"
        + (f"; {option_name('stop_timeout')} of {stop_timeout:g} s is over" if stop_timeout else ""),
        cluster=str(connection),
        why="the snapshot would lack what they consume from now on, so that it would be consumed again",
        remedy=ways(
            ("", f"stop their consumers{then}"),
            ("on_active_group", f"leave them out by {option_name('on_active_group')}: skip_group"),
        ),
    )
