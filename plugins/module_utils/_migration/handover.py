# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: MirrorMaker 2 goes on behind the last record that Replicator has copied, and back again by the receipt."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._control import positions, topics
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import replicator
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.connect_stores import (
    Store,
    check_read_back,
    check_stopped,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connect_receipt import (
    ConnectEntry,
    ConnectReceipt,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import NotFound, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.replication_policy import ReplicationPolicy
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection

Offsets = dict[TopicPartition, int]
Save = t.Callable[[ConnectReceipt], None]


@dataclasses.dataclass(frozen=True, slots=True)
class Replicator:
    """What to take over. position: which of stored and group says where it is, or agree where both must say the same.

    topic: where its worker stores offsets, on the cluster of that connection. group: its group at the source.
    worker_groups: by which the members of its Connect cluster find each other.
    """

    connection: Connection
    topic: str
    connector: str
    group: str
    position: str = "agree"
    worker_groups: tuple[str, ...] = ()


class Wanted(t.NamedTuple):
    """offsets: of the last record that was copied, by the source's partition. notes: what the user should know."""

    offsets: Offsets
    notes: list[str]


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """before, after: what is stored of every partition concerned, None for nothing. written: how many were changed."""

    before: dict[TopicPartition, int | None]
    after: dict[TopicPartition, int | None]
    written: int
    misplaced: int
    receipt: ConnectReceipt | None


def wanted(
    source: Connection, destination: Connection, its: Replicator, selection: Selection, policy: ReplicationPolicy
) -> Wanted:
    """Where Replicator is, each position checked. Raises Refused that lists all that cannot be continued."""
    notes: list[str] = []
    check_stopped(source, [its.group])
    check_stopped(its.connection, its.worker_groups)
    offsets = _positions(source, its, notes)
    chosen = selection.select_topics({where.topic for where in offsets})
    missing = sorted(set(selection.topics) - {where.topic for where in offsets})
    if missing:
        raise NotFound(
            f"no position is known of topic {', '.join(missing)}", cluster=str(its.connection), remedy="correct topics"
        )
    offsets = {where: offset for where, offset in sorted(offsets.items()) if where.topic in chosen.names}
    if chosen.left_out:
        notes.append(f"Left out by an exclude pattern: {', '.join(chosen.left_out)}.")
    problems = _problems(source, destination, offsets, policy)
    if problems:
        raise Refused(
            f"{len(problems)} positions cannot be continued: {'; '.join(problems[:10])}"
            + (" and more" if problems[10:] else ""),
            remedy="mend what is named, or leave topics out with exclude_topic_patterns",
        )
    return Wanted(offsets, notes)


def hand_over(
    offsets: Offsets,
    store: Store,
    blank: ConnectReceipt,
    known: ConnectReceipt | None,
    mend: bool,
    save: Save | None,
) -> Outcome:
    """Store these offsets for the new connector and read them back.

    blank: a receipt without entries, for this store. known: that of earlier runs. mend: forget keys that are misplaced.
    save: writes the receipt, before the first write and after the last; None predicts only.
    """
    store.check()
    found = store.read()
    if found.misplaced and not mend:
        where, key = found.misplaced[0]
        raise Refused(
            f"{len(found.misplaced)} keys stand where Connect does not look for them, first {key!r}",
            **where._asdict(),
            why="of two values of one key, the worker may take either",
            remedy="set on_misplaced to tombstone, and they are forgotten",
        )
    receipt = _same(known, blank)
    before = {where: found.offsets.get(where) for where in offsets}
    changes = {where: offset for where, offset in offsets.items() if before[where] != offset}
    after: dict[TopicPartition, int | None] = dict(offsets)
    if save is None or not (changes or found.misplaced):
        return Outcome(before, after, len(changes), len(found.misplaced), known)
    earlier = receipt.by_partition()
    prepared = receipt.merged(
        ConnectEntry(where, earlier[where].before if where in earlier else before[where], offset, None)
        for where, offset in changes.items()
    )
    save(prepared)
    return _written(prepared, changes, store, found.misplaced, save, before, after)


def take_back(receipt: ConnectReceipt, store: Store, blank: ConnectReceipt, save: Save | None) -> Outcome:
    """Store what was there before the hand-over, nothing included."""
    _same(receipt, blank)
    store.check()
    found = store.read()
    concerned = {entry.partition: entry for entry in receipt.entries}
    before = {where: found.offsets.get(where) for where in concerned}
    moved = [
        where
        for where, entry in concerned.items()
        if entry.written is not None and before[where] not in (entry.written, entry.before)
    ]
    if moved:
        raise Refused(
            f"{moved[0]} has {before[moved[0]]}, and {concerned[moved[0]].written} was written: it was copied since",
            why="what was copied since then would be copied again",
            remedy="keep it; to begin anew, empty the destination's topics first",
        )
    after = {where: entry.before for where, entry in concerned.items()}
    changes = {where: offset for where, offset in after.items() if before[where] != offset}
    if save is None or not changes:
        return Outcome(before, after, len(changes), 0, receipt)
    cleared = receipt.merged(entry._replace(written=None) for entry in receipt.entries)
    return _written(cleared, changes, store, (), save, before, after)


def _written(
    receipt: ConnectReceipt,
    changes: t.Mapping[TopicPartition, int | None],
    store: Store,
    misplaced: t.Sequence[tuple[TopicPartition, bytes]],
    save: Save,
    before: dict[TopicPartition, int | None],
    after: dict[TopicPartition, int | None],
) -> Outcome:
    store.write(changes, misplaced)
    stored = check_read_back(store, changes, str(store))
    finished = receipt.merged(
        entry._replace(after=stored.get(entry.partition)) for entry in receipt.entries if entry.partition in changes
    )
    save(finished)
    return Outcome(before, after, len(changes), len(misplaced), finished)


def _same(known: ConnectReceipt | None, blank: ConnectReceipt) -> ConnectReceipt:
    if known is None:
        return blank
    if dataclasses.replace(known, entries=()) != blank:
        raise Refused(
            f"the receipt is of {known.connector} in {known.store} of cluster {known.cluster_id}, and this is "
            f"{blank.connector} in {blank.store} of cluster {blank.cluster_id}",
            remedy="use another receipt file: it is the way back of what was written there",
        )
    return known


def _positions(source: Connection, its: Replicator, notes: list[str]) -> Offsets:
    of_group = replicator.of_group(source, its.group) if its.position != "stored" else {}
    if its.position == "group":
        if not of_group:
            raise NotFound(
                "the group has committed nothing",
                cluster=str(source),
                group=its.group,
                remedy="correct group, or take what is stored (position: stored)",
            )
        return of_group
    stored = replicator.stored(its.connection, its.topic, its.connector)
    if stored.unknown:
        notes.append(f"{stored.unknown} keys in {its.topic} are of no connector.")
    if its.position == "agree" and not of_group:
        notes.append(f"Group {its.group} has committed nothing at the source, so nothing was compared with it.")
    differs = {
        where: (offset, of_group[where])
        for where, offset in sorted(stored.offsets.items())
        if where in of_group and of_group[where] != offset
    }
    if differs:
        where, (offset, consumed) = next(iter(differs.items()))
        raise Refused(
            f"{where}: the last record that was copied is {offset} by {its.topic}, and {consumed} by group {its.group}"
            + (f" ({len(differs)} partitions differ)" if len(differs) > 1 else ""),
            cluster=str(source),
            why="Replicator was not stopped cleanly, or the group is another's",
            remedy="start and stop it once more, or say which one is right (position: stored or group)",
        )
    return stored.offsets


def _problems(source: Connection, destination: Connection, offsets: Offsets, policy: ReplicationPolicy) -> list[str]:
    """Why MirrorMaker 2 would not go on behind these: it begins anew, without a word, where a position is out of range."""
    here = topics.partition_counts(source, {where.topic for where in offsets})
    there = topics.partition_counts(destination, {policy.topic(where.topic) for where in offsets})
    lines = []
    known = []
    for where in offsets:
        copy = policy.topic(where.topic)
        if where.partition >= here.get(where.topic, 0):
            lines.append(f"{where} does not exist at the source")
        elif where.partition >= there.get(copy, 0):
            lines.append(f"{copy}-{where.partition}, the copy of {where}, does not exist at the destination")
        else:
            known.append(where)
    for where, its in positions.partition_bounds(source, known).items():
        offset = offsets[where]
        if offset > its.end - 1:
            lines.append(
                f"{where}: {offset} is behind the source's last offset {its.end - 1}, and all would be copied again"
            )
        elif offset < its.log_start - 1:
            lines.append(f"{where}: records from {offset + 1} to {its.log_start - 1} have expired at the source")
    return sorted(lines)
