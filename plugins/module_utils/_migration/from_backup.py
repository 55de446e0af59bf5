# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: take from an earlier snapshot what groups had committed, to give it back to them."""

from __future__ import annotations

import dataclasses
import typing as t

from .._model.choosing import Holder
from .._model.connection import Connection
from .._model.grouping import values_by_key
from .._model.notes import Note, NoteKind
from .._model.progress import MANY_NAMED, first_of
from .._model.selection import Selection
from .._model.snapshot import OpenTransaction, Snapshot
from .._model.visible_text import group_partition
from .file_clusters import check_snapshot_cluster
from .take_snapshot import TakenSnapshot


def from_backup(backup: Snapshot, path: str, connection: Connection, selection: Selection) -> TakenSnapshot:
    """What the backup has of the selected groups and topics. The cluster is only asked whether it is that of the backup.

    Where a transaction was open, what was committed before it counts, and a note says so.

    Raises Refused for a backup of another cluster or of topics that were created again since, NotFound and InvalidInput for
    a selection that it does not have.
    """
    selection.check()
    partitions = values_by_key((entry.group, entry.partition) for entry in backup.entries)
    committed = {group.name: partitions.get(group.name, ()) for group in backup.groups}
    choice = Holder(f"in {path}", remedy=", or use another backup").choose(selection, committed)
    taken = dataclasses.replace(
        backup,
        groups=tuple(group for group in backup.groups if group.name in choice.topics),
        entries=tuple(entry for entry in backup.entries if choice.has(entry.group, entry.partition.topic)),
        open=(),
        left_out=(),
    )
    used = {entry.partition.topic for entry in taken.entries}
    ids = {topic: topic_id for topic, topic_id in taken.traits.topic_ids.items() if topic in used}
    taken = dataclasses.replace(taken, traits=taken.traits._replace(topic_ids=ids))
    check_snapshot_cluster(taken, connection, "use another backup, or leave the topic out")
    return TakenSnapshot(
        taken,
        choice.groups.left_out,
        choice.topics_left_out,
        (),
        {},
        {},
        (),
        not_told=_opened([each for each in backup.open if choice.has(each.group, each.partition.topic)]),
        unused=choice.unused,
    )


def _opened(transactions: t.Sequence[OpenTransaction]) -> list[Note]:
    """A note of transactions that were open while the backup was made, because no plan made of it can see them end."""
    names = [group_partition(each.group, each.partition) for each in sorted(transactions)]
    text = (
        f"The backup was made while transactions were open that commit offsets: {first_of(names, MANY_NAMED)}. It has what was "
        "committed before these transactions, if anything was. So the groups read the records of the transactions again."
    )
    return [Note(NoteKind.GROUP_IN_USE, text)] if names else []
