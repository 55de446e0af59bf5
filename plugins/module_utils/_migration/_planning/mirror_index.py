# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What MirrorMaker 2 has noted of offsets on both clusters, in its internal topics."""

from __future__ import annotations

import bisect
import contextlib
import dataclasses
import operator
import re
import typing as t

from ..._control import topics
from ..._model import mirror_records
from ..._model.connection import Connection
from ..._model.errors import DamagedRecord, NotFound
from ..._model.grouping import values_by_key
from ..._model.mirror_records import Checkpoint, CheckpointKey, OffsetSync
from ..._model.notes import Note, NoteKind
from ..._model.option_names import option_name
from ..._model.records import TopicPartition
from ..._model.replication_policy import ReplicationPolicy
from ..._model.wording import counted, first_of
from ..compacted import all_records, cleanup_policy

_NEAREST = 2  # entries on each side of a committed offset that are worth a try

_Pair: t.TypeAlias = "OffsetSync | Checkpoint"
_source = operator.attrgetter("source")


@dataclasses.dataclass(frozen=True, slots=True)
class MirrorIndex:
    """Offset-syncs by the source's partition, checkpoints of all groups by the target's; each by the source's offset.

    notes: where there are no offset-syncs at all, or records cannot be read.
    """

    syncs: dict[TopicPartition, list[OffsetSync]]
    checkpoints: dict[TopicPartition, list[Checkpoint]]
    notes: tuple[Note, ...] = ()

    def counts(self) -> dict[str, int]:
        """How many of both there are."""
        return {"syncs": sum(map(len, self.syncs.values())), "checkpoints": sum(map(len, self.checkpoints.values()))}

    def shifts(self, committed: int, source: TopicPartition, destination: TopicPartition) -> tuple[int, ...]:
        """By how much offsets of the source exceed those of the target near this one, the likeliest first.

        A sync holds both offsets of one record. A checkpoint is only a lower bound, and tells the difference where it is
        exact by chance.
        """
        near = [*_near(self.syncs.get(source, []), committed), *_near(self.checkpoints.get(destination, []), committed)]
        return tuple(dict.fromkeys(pair.source - pair.target for pair in near))


def read_index(source: Connection, target: Connection, policy: ReplicationPolicy) -> MirrorIndex:
    """Read both internal topics to their ends, as far as they exist: MirrorMaker 2 may run without either.

    They only serve as hints, so they may be damaged, and forget.
    """
    notes: list[Note] = []
    connection, topic = source if policy.offset_syncs.cluster == "source" else target, policy.offset_syncs.name
    syncs = read_offset_syncs(connection, topic, notes)
    found = read_checkpoints(target, policy.checkpoints.name, notes) or {}
    checkpoints = values_by_key((key.partition, checkpoint) for key, checkpoint in found.items())
    if syncs is None:
        notes.append(_without_syncs(connection, topic))
    return MirrorIndex(syncs or {}, {partition: sorted(each) for partition, each in checkpoints.items()}, tuple(notes))


def _without_syncs(connection: Connection, topic: str) -> Note:
    """Offset-syncs are only an aid, and MirrorMaker 2 may run without them."""
    like = _like(connection, "mm2-offset-syncs")
    text = (
        f"{connection}: there is no topic {topic}{', but ' + ', '.join(like) if like else ''}. With "
        "emit.offset-syncs.enabled=false, MirrorMaker 2 makes none, and the offsets are found by the records alone. "
        "Otherwise, both aliases, separator, internal_topic_separator_enabled and offset_syncs_location of "
        f"{option_name('replication_policy')} are those of MirrorMaker 2."
    )
    return Note(NoteKind.OFFSET_SYNCS_MISSING, text)


def read_checkpoints(connection: Connection, topic: str, notes: list[Note]) -> dict[CheckpointKey, Checkpoint] | None:
    """The last checkpoint of every group and partition of the target; None without such a topic.

    None of those whose last one cannot be read, of which notes gets one.
    """
    rows = _read(connection, topic, mirror_records.read_checkpoint, NoteKind.CHECKPOINT_MISSING, notes)
    if rows is None:
        return None
    return {key: checkpoint for key, checkpoint in dict(rows).items() if checkpoint is not None}


def without_checkpoints(connection: Connection, topic: str) -> NotFound:
    """The error where there is no such topic, with those that could be meant."""
    like = _like(connection, "checkpoints.internal")
    return NotFound(
        "this topic of MirrorMaker 2 does not exist",
        cluster=str(connection),
        topic=topic,
        why=f"there is {', '.join(like)}" if like else "no similar topic exists",
        remedy=f"correct {option_name('replication_policy')}: both aliases, separator, "
        "internal_topic_separator_enabled and offset_syncs_location are those of MirrorMaker 2",
    )


def forgetful(connection: Connection, topic: str) -> list[Note]:
    """A note if checkpoints are lost with time, so that groups may lack theirs."""
    policy = cleanup_policy(connection, topic)
    if policy == "compact":
        return []
    text = (
        f"{connection}: cleanup.policy of {topic} is {policy}. Brokers delete checkpoints with time, so that groups may lack "
        "theirs."
        if policy
        else f"{connection}: the brokers do not tell the cleanup.policy of {topic}. Unless it is compact, groups may lack "
        "checkpoints."
    )
    return [Note(NoteKind.CHECKPOINT_MISSING, text)]


def read_offset_syncs(
    connection: Connection, topic: str, notes: list[Note]
) -> dict[TopicPartition, list[OffsetSync]] | None:
    """All that compaction has left of them, by the source's offset: not only the last of a partition is of use.

    None without such a topic. notes: gets one of records that cannot be read.
    """
    rows = _read(connection, topic, mirror_records.read_offset_sync, NoteKind.OFFSET_SYNCS_MISSING, notes)
    if rows is None:
        return None
    # Before anything is copied, -1 is written.
    syncs = values_by_key((partition, sync) for partition, sync in rows if sync is not None and min(sync) >= 0)
    return {partition: sorted(set(each)) for partition, each in syncs.items()}


def highest_checkpoint(syncs: t.Sequence[OffsetSync], committed: int) -> int | None:
    """The highest checkpoint of this offset of the source that skips nothing for sure; None without a sync up to there.

    Records that were copied after a sync follow its record. How far, no difference of offsets tells, because a log has gaps.
    """
    place = bisect.bisect_right(syncs, committed, key=_source)
    return syncs[place - 1].target + (syncs[place - 1].source < committed) if place else None


_Read = t.TypeVar("_Read")


def _read(
    connection: Connection,
    topic: str,
    reader: t.Callable[[bytes | None, bytes | None], _Read],
    kind: NoteKind,
    notes: list[Note],
) -> list[_Read] | None:
    """What the topic holds; None without it. A record that cannot be read counts as if its key had been removed.

    notes: gets one of this kind then, unless a later record of the key can be read.
    """
    if not topics.partition_counts(connection, [topic]):
        return None
    contents: list[_Read] = []
    damaged: dict[object, str] = {}
    for record in all_records(connection, topic, committed=True):
        key = record.key or record[:2]  # without a key, each is one of its own
        damaged.pop(key, None)
        try:
            contents.append(reader(record.key, record.value))
        except DamagedRecord as exc:
            damaged[key] = f"{record.partition} at offset {record.offset}: {exc.what}, because {exc.why}"
            with contextlib.suppress(DamagedRecord):
                contents.append(reader(record.key, None))
    if damaged:
        text = (
            f"{connection}: {counted(len(damaged), 'record')} of {topic} cannot be read, and what they hold counts as "
            f"missing: {first_of([*damaged.values()], between='; ')}."
        )
        notes.append(Note(kind, text))
    return contents


def _like(connection: Connection, kind: str) -> list[str]:
    """Topics of this kind, whatever their aliases and separators."""
    words = re.split("[.-]", kind)
    return [name for name in topics.list_topics(connection) if all(word in name for word in words)]


def _near(pairs: t.Sequence[_Pair], committed: int) -> list[_Pair]:
    place = bisect.bisect_right(pairs, committed, key=_source)
    below, above = pairs[max(0, place - _NEAREST) : place], pairs[place : place + _NEAREST]
    return [*reversed(below), *above]
