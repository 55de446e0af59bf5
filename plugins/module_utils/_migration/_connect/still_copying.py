# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Does Replicator, which is to be stopped, still copy? Its consumers are no members of its group, so two looks tell. Pure."""

from __future__ import annotations

import typing as t

from ..._model.errors import GroupBusy
from ..._model.idle import moves, moves_text
from ..._model.notes import Note, NoteKind
from ..._model.records import TopicPartition
from ..._model.replication_policy import ReplicationPolicy
from ..._model.wording import counted, first_of
from .replicator import Offsets, Replicator

IDLE_WAIT = 5.0  # seconds between two looks


class Look(t.NamedTuple):
    """By the source's partition. positions: of the last records that were copied. ends: of the copies, read after these."""

    positions: Offsets
    ends: dict[TopicPartition, int]


def check_rests(
    replicator: Replicator,
    destination: str,
    policy: ReplicationPolicy,
    first: Look,
    second: Look,
    source_ends: t.Mapping[TopicPartition, int],
) -> list[Note]:
    """Raise GroupBusy where Replicator copies between two looks; a note where records come that may be somebody else's.

    Connect stores positions once a minute only, so that mostly the ends move. Topics with a prefix are the tool's alone.
    destination: what the cluster calls itself. source_ends: read at the second look; where the source has nothing after the
    position, no tool has copied anything.
    """

    def busy(what: str, cluster: str) -> GroupBusy:
        return GroupBusy(
            what,
            cluster=cluster,
            why=f"{replicator.connector} is not stopped, and MirrorMaker 2 would recopy what it copies from now on",
            remedy="stop it, and run again",
        )

    if moved := moves(
        {partition: first.positions[partition] for partition in first.ends},
        {partition: offset for partition, offset in second.positions.items() if partition in first.ends},
    ):
        raise busy(f"the positions of {replicator.connector} move: {moves_text(moved)}", str(replicator.connection))
    grown: dict[str, int] = {}
    for partition, end in first.ends.items():
        if second.ends[partition] > end and source_ends[partition] > first.positions[partition] + 1:
            copy = policy.topic(partition.topic)
            grown[copy] = grown.get(copy, 0) + second.ends[partition] - end
    if not grown:
        return []
    told = first_of([f"{topic} ({counted(count, 'record')})" for topic, count in sorted(grown.items())])
    if policy.name != "identity":
        raise busy(f"records still come to the copies that {replicator.connector} makes: {told}", destination)
    text = (
        f"Records still come to {told} at the destination. Unless your producers write there already, {replicator.connector} "
        "still runs, and MirrorMaker 2 recopies what it copies from now on: stop it, and run the hand-over again before you "
        "start MirrorMaker 2."
    )
    return [Note(NoteKind.CONNECTOR_MAY_RUN, text)]
