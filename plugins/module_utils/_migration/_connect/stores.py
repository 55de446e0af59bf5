# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Where a source connector of Kafka Connect finds how far it is, and who must not run while that is changed."""

from __future__ import annotations

import typing as t

from ..._control import groups
from ..._model.connection import Connection
from ..._model.errors import BrokerError, CommitDiffers, GroupBusy, PositionsUnclear
from ..._model.idle import members_problem
from ..._model.notes import Note, NoteKind
from ..._model.records import TopicPartition
from ..._model.visible_text import names_text
from .. import quiet

Changes: t.TypeAlias = "t.Mapping[TopicPartition, int | None]"
Misplaced: t.TypeAlias = "t.Sequence[tuple[TopicPartition, bytes]]"


class StoredOffsets(t.NamedTuple):
    """What a connector has stored, by the source's partition.

    misplaced: keys of its that mislead it, by the partition of the topic: stored where Connect does not look for them, in other
    bytes than Connect writes, or with a value that makes its task die. notes: what the user should know.
    """

    offsets: dict[TopicPartition, int]
    misplaced: tuple[tuple[TopicPartition, bytes], ...] = ()
    notes: tuple[Note, ...] = ()


class Store(t.Protocol):
    """Where offsets are kept. str() says where, for messages and receipts."""

    @property
    def connector(self) -> str:
        """Whose offsets they are."""

    @property
    def source_alias(self) -> str:
        """What the connector calls the source."""

    def check(self) -> tuple[Note, ...]:
        """Raise where the offsets must not be changed now: something runs, or is wrong. -> what the user should know."""

    def read(self) -> StoredOffsets:
        """What is stored now."""

    def check_removal(self, misplaced: Misplaced) -> None:
        """Raise where the user may not remove these keys, or they cannot be removed now."""

    def write(self, changes: Changes, misplaced: Misplaced) -> None:
        """Remove what is misplaced, and store these offsets, None for none."""


def check_stopped(connection: Connection, worker_groups: t.Collection[str]) -> None:
    """Raise GroupBusy where a worker of Connect, or a replication tool, is a member of one of these groups."""
    readings = groups.read_groups(connection, sorted(worker_groups))
    for name, reading in sorted(readings.items()):
        if problem := members_problem(reading):
            raise GroupBusy(
                quiet.with_clients(connection, {name: f"it {problem}"}, readings)[name],
                cluster=str(connection),
                group=name,
                why="a worker that runs does not see what is written now, and writes over it when it stops",
                remedy="stop it, and wait until its session has timed out",
            )


def may_run(connection: Connection, connector: str) -> tuple[Note, ...]:
    """A note if workers of Connect run whose connectors nobody knows."""
    listed = [each.group for each in groups.list_groups(connection) if each.protocol_type == "connect"]
    running = [
        name
        for name, reading in groups.read_groups(connection, listed, skip_denied=True).items()
        if reading.has_members
    ]
    text = f"Connect runs on {connection} ({names_text(running)}): see that {connector} is stopped there."
    return (Note(NoteKind.CONNECTOR_MAY_RUN, text),) if running else ()


def check_read_back(store: Store, changes: Changes) -> dict[TopicPartition, int]:
    """What is stored now. Raises BrokerError where that is not what was written, or a misplaced key is left."""
    stored = store.read()
    for partition, offset in sorted(changes.items()):
        if stored.offsets.get(partition) != offset:
            raise CommitDiffers(
                f"{partition} reads back as {stored.offsets.get(partition)}, and {offset} was written",
                cluster=str(store),
                why="somebody else writes to it at the same time",
                remedy="stop them, and run the same again",
            )
    if stored.misplaced:
        holding, key = stored.misplaced[0]
        raise BrokerError(f"{holding} holds the key {key!r}, which belongs in another partition", cluster=str(store))
    return stored.offsets


def check_agreed(agrees: bool, connection: Connection, topic: str, remedy: str) -> None:
    """Raise Refused unless all records of a topic and its committed ones tell the same of a connector.

    Connect reads what was aborted, too, unless it copies exactly once, and what follows the first record of an open
    transaction is not read as committed.
    """
    if not agrees:
        raise PositionsUnclear(
            "aborted or open transactions have left other positions than committed ones",
            cluster=str(connection),
            topic=topic,
            remedy=remedy,
        )
