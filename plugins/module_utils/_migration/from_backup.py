# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: take from an earlier snapshot what groups had committed, to give it back to them."""

from __future__ import annotations

import dataclasses
import typing as t

from .._model.choosing import Holder
from .._model.connection import Connection
from .._model.errors import NotFound
from .._model.grouping import values_by_key
from .._model.notes import Note, NoteKind
from .._model.option_names import option_name
from .._model.records import TopicPartition
from .._model.selection import Selection
from .._model.snapshot import IN_BACKUP, OpenTransaction, Snapshot
from .._model.visible_text import group_partition, names_text
from .._model.wording import MANY_NAMED, first_of
from . import not_taken
from .file_clusters import check_snapshot_cluster
from .take_snapshot import TakenSnapshot


def from_backup(backup: Snapshot, path: str, connection: Connection, selection: Selection) -> TakenSnapshot:
    """What the backup has of the selected groups and topics. The cluster is only asked whether it is that of the backup.

    Where a transaction was open, what was committed before it counts. Where nothing was, it stays open, which blocks the
    partition: nobody knows whether it has committed an offset. Notes say both.

    Raises Refused for a backup of another cluster or of topics that were created again since, NotFound and InvalidInput for
    a selection that it does not have, or of which it has nothing.
    """
    selection.check()
    had = {entry[:2] for entry in backup.entries}
    first = [each._replace(told=IN_BACKUP) for each in backup.open if each[:2] not in had]
    partitions = values_by_key(each[:2] for each in (*backup.entries, *first))
    committed = {group.name: partitions.get(group.name, ()) for group in backup.groups}
    choice = Holder(f"in {path}", remedy=", or use another backup").choose(selection, committed)
    if empty := [name for name in choice.topics if name in selection.named_groups and not committed[name]]:
        raise NotFound(
            f"{'groups' if empty[1:] else 'group'} {names_text(empty)} had committed nothing when the backup was made",
            why=f"{path} has no offset of {'theirs' if empty[1:] else 'it'}",
            remedy=f"use an earlier backup, or correct {option_name('groups')}",
        )
    lines = [
        *not_taken.group_lines(choice.groups.left_out, {}),
        *not_taken.topic_lines({name: committed[name] for name in choice.topics}, choice.topics, selection),
    ]
    taken = dataclasses.replace(
        backup,
        groups=tuple(group for group in backup.groups if group.name in choice.topics),
        entries=tuple(entry for entry in backup.entries if choice.has(entry.group, entry.partition.topic)),
        open=tuple(each for each in first if choice.has(each.group, each.partition.topic)),
        left_out=tuple(lines),
    )
    used = {partition.topic for _group, partition, _rest in (*taken.entries, *taken.open)}
    ids = {topic: topic_id for topic, topic_id in taken.traits.topic_ids.items() if topic in used}
    taken = dataclasses.replace(taken, traits=taken.traits._replace(topic_ids=ids))
    check_snapshot_cluster(taken, connection, "use another backup, or leave the topic out")
    return TakenSnapshot(
        taken,
        choice.groups.left_out,
        choice.topics_left_out,
        not_told=[
            *_opened([each for each in backup.open if choice.has(each.group, each.partition.topic)], had),
            *_unidentified(sorted(topic for topic in used if ids.get(topic) is None), path),
        ],
        unused=choice.unused,
    )


def _unidentified(topics: t.Sequence[str], path: str) -> list[Note]:
    """A note of topics of which the backup has no id."""
    text = (
        f"{path} has no id of these topics, as CSV files and backups of brokers before 2.8 have none: "
        f"{first_of(topics, MANY_NAMED)}. So nothing shows that they are still the topics of the backup, and that its "
        "offsets mean the same records. Make sure that this is the cluster of the backup, and that they were not created again."
    )
    return [Note(NoteKind.NOT_TOLD, text)] if topics else []


def _opened(transactions: t.Iterable[OpenTransaction], had: t.Container[tuple[str, TopicPartition]]) -> list[Note]:
    """Notes of transactions that were open while the backup was made, because no plan made of it can see them end.

    had: for which groups and partitions something was committed before.
    """
    names = values_by_key((each[:2] in had, group_partition(*each[:2])) for each in sorted(transactions))
    texts = {
        True: "It has what was committed before. So the groups read the records of these transactions again",
        False: "It has nothing from before, and nobody knows whether they have committed. So the plan blocks these partitions",
    }
    opened = "The backup was made while transactions were open that commit offsets"
    return [
        Note(NoteKind.GROUP_IN_USE, f"{opened}: {first_of(names[has], MANY_NAMED)}. {text}.")
        for has, text in texts.items()
        if has in names
    ]
