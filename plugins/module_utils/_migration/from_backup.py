# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: take from an earlier snapshot what groups had committed, to give it back to them."""

from __future__ import annotations

import dataclasses
import typing as t

from .._model.connection import Connection
from .._model.errors import NotFound
from .._model.faults import all_done
from .._model.option_names import option_name
from .._model.progress import first_names
from .._model.records import TopicPartition
from .._model.selection import Selected, Selection, name_hint, unused_cause
from .._model.snapshot import Snapshot
from .._model.visible_text import names_text
from .take_snapshot import TakenSnapshot, check_snapshot_cluster

_NAMED = 10  # groups that an error names


def from_backup(backup: Snapshot, path: str, connection: Connection, selection: Selection) -> TakenSnapshot:
    """What the backup has of the selected groups and topics. The cluster is only asked whether it is that of the backup.

    Raises Refused for a backup of another cluster or of topics that were created again since, NotFound and InvalidInput for
    a selection that it does not have.
    """
    selection.check()
    names = [group.name for group in backup.groups]
    groups = selection.select_groups(names)
    every_topic = {entry.partition.topic for entry in backup.entries}
    all_done(
        lambda: _check_groups(groups, names, path),
        lambda: _check_topics(selection, every_topic, path),
    )
    unused = selection.unused("groups", names, f"in {path}")
    committed: dict[str, list[TopicPartition]] = {name: [] for name in groups.names}
    for entry in backup.entries:
        if entry.group in committed:
            committed[entry.group].append(entry.partition)
    topics = selection.topics_of(committed)
    _check_topics(
        selection,
        {partition.topic for partitions in committed.values() for partition in partitions},
        path,
        unused_cause(unused),
    )
    taken = dataclasses.replace(
        backup,
        groups=tuple(group for group in backup.groups if group.name in committed),
        entries=tuple(
            entry
            for entry in backup.entries
            if entry.group in committed and entry.partition.topic in topics[entry.group].names
        ),
        open=tuple(
            transaction
            for transaction in backup.open
            if transaction.group in committed and transaction.partition.topic in topics[transaction.group].names
        ),
        left_out=(),
    )
    used = {entry.partition.topic for entry in taken.entries}
    ids = {topic: topic_id for topic, topic_id in taken.traits.topic_ids.items() if topic in used}
    taken = dataclasses.replace(taken, traits=taken.traits._replace(topic_ids=ids))
    check_snapshot_cluster(taken, connection, "use another backup, or leave the topic out")
    left_out = sorted({topic for chosen in topics.values() for topic in chosen.left_out})
    unused += selection.unused("topics", every_topic, f"in {path}")
    return TakenSnapshot(taken, groups.left_out, tuple(left_out), (), {}, {}, (), unused=unused)


def _check_groups(groups: Selected, names: t.Collection[str], path: str) -> None:
    missing = sorted(set(groups.names) - set(names))
    if missing or not groups.names:
        what = (
            f"no group {names_text(missing)}" if missing else f"none of the groups of {option_name('group_patterns')}"
        )
        wrong = (
            f"{option_name('groups')}{name_hint('groups', missing, names)}"
            if missing
            else option_name("group_patterns")
        )
        raise NotFound(
            f"{path} has {what}",
            why=f"its groups are {first_names(sorted(names), _NAMED)}",
            remedy=f"correct {wrong}, or use another backup",
        )


def _check_topics(selection: Selection, known: t.Collection[str], path: str, why: str | None = None) -> None:
    """known: the topics of the selected groups in the backup, or of all. why: where the reason may be a group."""
    lacking = sorted(set(selection.topics) - set(known))
    if lacking:
        raise NotFound(
            f"{path} has no offset of the selected groups on topic {names_text(lacking)}",
            why=why,
            remedy=f"correct {option_name('topics')}{name_hint('topics', lacking, known)}, or use another backup",
        )
