# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Source logs that an unclean election has cut off before a committed offset, and that may have grown past it again."""

from __future__ import annotations

import typing as t

from .._control import positions
from .._model.connection import Connection
from .._model.records import TopicPartition
from .drafts import Draft

CutOff = dict[tuple[str, TopicPartition], str]  # why, by group and partition of the source


def cut_off(source: Connection, drafts: t.Iterable[Draft]) -> CutOff:
    """Which committed offsets are of records that the source's log has no more, though it has others before them.

    A commit has the leader epoch of the last record that the group has read. Where the log has nothing of that epoch, nor of
    an earlier one, right before the offset, the records there were written after an unclean election, and the group has not
    read them. A topic that was created again looks the same, because its epochs begin at 0 again: the group has read none of
    it then, and nobody can tell one from the other. Not known of commits without an epoch, and where brokers do not tell: see
    positions.epoch_ends().
    """
    committed = {
        (draft.source_group, draft.source_partition): (draft.committed.leader_epoch, draft.offset)
        for draft in drafts
        if draft.committed is not None and draft.committed.leader_epoch is not None and draft.offset
    }
    asked = {(partition, epoch) for (_group, partition), (epoch, _offset) in committed.items()}
    ends = positions.epoch_ends(source, asked)
    found: CutOff = {}
    for (group, partition), (epoch, offset) in committed.items():
        end = ends.get((partition, epoch), offset)
        if end < offset:
            found[group, partition] = (
                f"the group has committed offset {offset} of {partition} at the source in leader epoch {epoch}, which ends at "
                f"{end}: an unclean leader election has cut the log off at {end}, or the topic was created again, and the "
                "group has not read what was written since; first reset the group at the source: to offset "
                f"{end} after an election, or to the start of the log (earliest) if the topic was created again; if neither "
                "has happened, and the client commits an old epoch, to its current offset by kafka-consumer-groups, which "
                "removes the epoch"
            )
    return found
