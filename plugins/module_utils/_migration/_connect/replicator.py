# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Where a Confluent Replicator has stopped: by what it has stored in Kafka Connect, or by its group at the source."""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from ..._control import groups
from ..._model import connect_offsets
from ..._model.connect_offsets import ConnectorKey
from ..._model.connection import Connection
from ..._model.errors import DamagedRecord, NotFound, PositionsUnclear, Refused, UnreadableRecord
from ..._model.left_out import partitions_text
from ..._model.notes import Note, NoteKind
from ..._model.option_names import option_name
from ..._model.records import TopicPartition
from ..._model.visible_text import names_text, shortened
from ..._records.tables import StoredRecord
from ..compacted import last_records
from .stores import check_agreed, may_run

Offsets = dict[TopicPartition, int]


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


class LastCopied(t.NamedTuple):
    """Of the last record copied, by the source's partition: as stored in Connect, and as the group has committed it."""

    stored: Offsets
    of_group: Offsets

    @property
    def known(self) -> Offsets:
        """Those that are taken over. Where only the group is asked, nothing is stored."""
        return self.stored or self.of_group

    def compared(self, source: Connection, replicator: Replicator, chosen: t.Iterable[TopicPartition]) -> list[Note]:
        """Raise Refused where both tell different things of these partitions; notes of what is compared with nothing."""
        if replicator.position != "agree":
            return []
        if not self.of_group:
            text = f"Group {replicator.group} has committed nothing at the source, so nothing was compared with it."
            return [Note(NoteKind.NOT_COMPARED, text)]
        partitions = sorted(chosen)
        differs = [at for at in partitions if at in self.of_group and self.of_group[at] != self.stored.get(at)]
        if differs:
            partition = differs[0]
            raise PositionsUnclear(
                f"{partition}: the last record that was copied is {self.stored.get(partition, 'none')} by {replicator.topic}, "
                f"and {self.of_group[partition]} by group {replicator.group}"
                + (f" ({len(differs):,} partitions differ)" if len(differs) > 1 else ""),
                cluster=str(source),
                why="Replicator was not stopped cleanly, or the group is another's",
                remedy="start and stop it once more; or say which one is right (position: stored or group); "
                f"or leave topics out with {option_name('exclude_topic_patterns')}",
            )
        alone = [each for each in partitions if each not in self.of_group]
        text = (
            f"Group {replicator.group} has committed nothing on {partitions_text(alone)}, so their stored positions were "
            "compared with nothing."
        )
        return [Note(NoteKind.NOT_COMPARED, text)] if alone else []


def read_positions(source: Connection, replicator: Replicator, notes: list[Note]) -> LastCopied:
    """Where it has stopped, whatever the topics; notes gets what the user should know.

    Raises NotFound, or Refused for a record that tells no position.
    """
    of_group: Offsets = {}
    # MirrorMaker 1's consumers become members. Replicator's only commit: while it runs, its group looks the same.
    has_seen_members = False
    if replicator.position != "stored":
        reading = groups.read_settled_groups(source, [replicator.group])[replicator.group]
        of_group = {partition: commit.offset - 1 for partition, commit in reading.offsets.items() if commit.offset > 0}
        has_seen_members = bool(reading.protocol_type)
    if not replicator.worker_groups and not (replicator.position == "group" and has_seen_members):
        notes += may_run(replicator.connection, replicator.connector)
    if replicator.position == "group":
        if not of_group:
            raise NotFound(
                "the group has committed nothing",
                cluster=str(source),
                group=replicator.group,
                remedy="correct group, or take what is stored (position: stored)",
            )
        return LastCopied({}, of_group)
    stored, unknown = stored_by(replicator.connection, replicator.topic, replicator.connector)
    if unknown:
        notes.append(Note(NoteKind.KEYS_UNKNOWN, f"{unknown} keys in {replicator.topic} are of no connector."))
    return LastCopied(stored, of_group)


def stored_by(connection: Connection, topic: str, connector: str) -> tuple[Offsets, int]:
    """What a connector of this name has stored, and how many keys are of no connector.

    Raises Refused for a record of its that tells no position plainly, and where transactions leave its positions open.
    """
    offsets, unknown, others = _read(connection, topic, connector, committed=True)
    is_same = _read(connection, topic, connector, committed=False)[0] == offsets
    remedy = (
        "wait until the transactions have ended, and run again; or start and stop Replicator once, which stores its positions "
        "again; or take the position of the group (position: group)"
    )
    check_agreed(is_same, connection, topic, remedy)
    if not offsets:
        raise NotFound(
            f"no position of {connector} is there",
            cluster=str(connection),
            topic=topic,
            why=f"it holds those of {names_text(sorted(others)) or 'no connector'}",
            remedy=f"correct {option_name('replicator')}.connector or {option_name('replicator')}.offsets_topic",
        )
    return offsets, unknown


def _read(connection: Connection, topic: str, connector: str, committed: bool) -> tuple[Offsets, int, set[str]]:
    """The same as the topic's committed records tell it, or all of them; and the other connectors that have stored anything."""
    stored_at: dict[TopicPartition, list[tuple[StoredRecord, int]]] = collections.defaultdict(list)
    others: set[str] = set()
    unknown = 0
    named_by = f"{option_name('replicator')}.offsets_topic"
    remedy = f"set {named_by} to the topic in which the Connect workers of Replicator store offsets, on the cluster that has it"
    for record in last_records(connection, topic, committed=committed, remedy=remedy):
        if record.value is None:
            continue
        key = _key(connection, record, connector)
        if key is None:
            unknown += 1
        elif key.connector != connector:
            others.add(key.connector)
        else:
            try:
                partition = connect_offsets.replicator_partition(key)
                offset = connect_offsets.read_offset(record.value)
            except DamagedRecord as exc:
                raise _refused(connection, record, exc) from exc
            if offset is not None:
                stored_at[partition].append((record, offset))
    for partition, candidates in sorted(stored_at.items()):
        if len({offset for _record, offset in candidates}) > 1:
            told = ", ".join(f"{offset} in {record.partition} at {record.offset}" for record, offset in candidates)
            raise PositionsUnclear(
                f"{connector} has stored several positions for {partition}: {told}",
                cluster=str(connection),
                topic=topic,
                why="which of them is the newest cannot be known",
                remedy="write a tombstone for the wrong key, or take the position of its group (position: group)",
            )
    return {partition: candidates[0][1] for partition, candidates in stored_at.items()}, unknown, others


def _key(connection: Connection, record: StoredRecord, connector: str) -> ConnectorKey | None:
    """A record's key, None for one that is no connector's. Raises Refused for one that may be this connector's."""
    try:
        return connect_offsets.read_key(record.key)
    except DamagedRecord as exc:
        if f'"{connector}"'.encode() in (record.key or b""):
            raise _refused(connection, record, exc) from exc
        return None


def _refused(connection: Connection, record: StoredRecord, exc: DamagedRecord) -> Refused:
    return UnreadableRecord(
        f"the record at offset {record.offset} tells no position: {exc.what}",
        cluster=str(connection),
        why=exc.why or f"its key is {shortened(repr(record.key or b''), 200)}",
        remedy="correct or remove it with a tombstone, or take the position of the group (position: group)",
        **record.partition._asdict(),
    )
