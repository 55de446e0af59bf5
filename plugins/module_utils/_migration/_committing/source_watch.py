# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""A second look at the source: are the groups that are committed at the destination still in use there?

The plan says where each group stood at the source when its snapshot was taken. The source is read twice more: right
before the first write, when nothing is lost by stopping, and after the last one, because a consumer may have started in
between. Both looks are requests only; the time between snapshot and commit is what shows consumers with assign().
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..._control import groups
from ..._model.connection import Connection
from ..._model.errors import BrokerError, GroupBusy, MigrationError
from ..._model.failure_kinds import FailureKind
from ..._model.group_state import GroupReading
from ..._model.idle import members_problem
from ..._model.moves import Move, moves, moves_text
from ..._model.notes import Note, NoteKind
from ..._model.option_names import because_of, option_name
from ..._model.plan import Plan
from ..._model.policies import OnActiveGroup
from ..._model.progress import counted, first_names
from ..._model.receipt import Key
from ..._model.records import TopicPartition
from .. import quiet
from .conflicts import Writes

_NAMED = 3  # groups that a message names


class Use(t.NamedTuple):
    """How a group of the source is in use: it has members (a clause, or None), or its commits have moved, or both.

    where: what it has consumed would be consumed once more; empty inside one cluster.
    """

    group: str
    members: str | None
    moved: list[Move]
    where: str = " at the destination"

    def __str__(self) -> str:
        """What was seen, and what it means for the destination, in one line."""
        seen = [self.members] if self.members else []
        if self.moved:
            seen.append(f"has moved since the snapshot: {moves_text(self.moved)}")
        return f"{self.group} {' and '.join(seen)}; {self._effect()}"

    def _effect(self) -> str:
        """What a consumer at the destination would miss or repeat; offsets may be more than records."""
        steps = [move.after - (move.before or 0) for move in self.moved if move.after is not None]
        repeated, missed = sum(step for step in steps if step > 0), -sum(step for step in steps if step < 0)
        effects = []
        if repeated:
            effects.append(
                f"up to {counted(repeated, 'record')} that it has consumed since would be repeated{self.where}"
            )
        if missed:
            effects.append(f"up to {counted(missed, 'record')} that it has moved back over would be missed{self.where}")
        if any(move.after is None for move in self.moved):
            effects.append("commits that the plan was made from are gone")
        return ", and ".join(effects) or f"what it consumes from now on would be repeated{self.where}"


class SourceWatch:
    """Looks at the source's groups of one plan, before and after its commit.

    :param source: None looks at nothing: every method then answers that nobody uses the groups.
    :param on_active_source: fail raises GroupBusy; skip_group leaves out groups that are in use before the write, and
        fails for those that are found in use after it; warn makes notes of both.
    """

    def __init__(self, source: Connection | None, plan: Plan, on_active_source: OnActiveGroup) -> None:
        self._source = source
        self._plan = plan
        self._policy = on_active_source
        # Inside one cluster, nobody knows which side is meant.
        self._at_source = "" if plan.is_within_one_cluster else " at the source"
        self._at_destination = "" if plan.is_within_one_cluster else " at the destination"

    def before(self, writes: Writes) -> tuple[Writes, list[str], list[Note]]:
        """The writes that remain, a line for each destination group that is left out, and a note for each use."""
        uses = self._uses(writes.set)
        if not uses:
            return writes, [], []
        match self._policy:
            case OnActiveGroup.WARN:
                return writes, [], _notes(f"Still in use{self._at_source}", uses)
            case OnActiveGroup.SKIP_GROUP:
                return *self._without_used(writes, uses), []
            case OnActiveGroup.FAIL:
                raise self._busy(
                    uses,
                    f"is still in use{self._at_source}",
                    f"nothing was written. Stop its consumers{self._at_source}, then take the snapshot and plan again; "
                    f"or set {option_name('on_active_source')} to skip_group to leave such groups out, "
                    "or to warn to commit what the plan says",
                )
            case _:
                t.assert_never(self._policy)

    def after(self, written: t.Collection[Key]) -> list[Note]:
        """A note for each source group that is in use after its offsets were committed; raises unless they are notes."""
        try:
            uses = self._uses(written)
        except MigrationError as exc:
            raise BrokerError(
                "the plan's offsets are committed, but the source's groups could not be read once more",
                cluster=exc.cluster,
                why=": ".join(text for text in (exc.what, exc.why) if text),
                remedy=f"see to it that their consumers are stopped{self._at_source} before others "
                f"start{self._at_destination}",
                kind=FailureKind.SOURCE_IN_USE,
            ) from exc
        if not uses or self._policy == OnActiveGroup.WARN:
            return _notes(f"In use{self._at_source} while its offsets were committed", uses)
        raise self._busy(
            uses,
            f"was in use{self._at_source} while its offsets were committed",
            f"the offsets of the plan are committed and stay. Stop its consumers{self._at_source}, then "
            "either migrate again, which takes the group to where it has stopped, or roll back with the receipt",
        )

    def _without_used(self, writes: Writes, uses: t.Mapping[str, Use]) -> tuple[Writes, list[str]]:
        """The writes of the other groups, and a line for each destination group that is left out."""
        destinations: dict[str, set[str]] = {}
        for entry in self._plan.entries:
            for at in entry.source:
                destinations.setdefault(at.group, set()).add(entry.group)
        written = {group for group, _partition in writes.set}
        lines = {
            group: f"{group}: its source group {use}: left out{because_of('on_active_source', 'skip_group')}"
            for name, use in sorted(uses.items(), reverse=True)
            for group in destinations[name] & written
        }
        left = {key: target for key, target in writes.set.items() if key[0] not in lines}
        return dataclasses.replace(writes, set=left), [lines[group] for group in sorted(lines)]

    def _uses(self, keys: t.Collection[Key]) -> dict[str, Use]:
        """The uses of the source groups that became the destination groups of these keys, by the name at the source."""
        if self._source is None:
            return {}
        wanted = {group for group, _partition in keys}
        stood: dict[str, dict[TopicPartition, int | None]] = {}
        for entry in self._plan.entries:
            for at in entry.source:
                if entry.group in wanted:
                    stood.setdefault(at.group, {})[at.partition] = at.offset
        readings = groups.read_groups(self._source, sorted(stood)) if stood else {}
        written = {(at.group, at.partition) for entry in self._plan.entries if entry.key in keys for at in entry.source}
        use_of = {name: _use(_of_written(readings[name], written), offsets) for name, offsets in sorted(stood.items())}
        uses = {name: use._replace(where=self._at_destination) for name, use in use_of.items() if use is not None}
        members = {name: use.members for name, use in uses.items() if use.members}
        members = quiet.with_clients(self._source, members, readings)
        return {name: use._replace(members=members.get(name)) for name, use in uses.items()}

    def _busy(self, uses: dict[str, Use], what: str, remedy: str) -> GroupBusy:
        first, *others = uses.values()
        more = (
            f", and so {what.split(maxsplit=1)[0]} {first_names([use.group for use in others], _NAMED)}"
            if others
            else ""
        )
        return GroupBusy(
            f"the group {what}{more}",
            cluster=str(self._source),
            group=first.group,
            why=str(first),
            remedy=remedy,
            kind=FailureKind.SOURCE_IN_USE,
        )


def _notes(when: str, uses: t.Mapping[str, Use]) -> list[Note]:
    return [Note(NoteKind.SOURCE_IN_USE, f"{when}: {use}.") for use in uses.values()]


def _of_written(reading: GroupReading, written: t.Collection[tuple[str, TopicPartition]]) -> GroupReading:
    """The reading without open transactions on partitions of which nothing is written: the plan blocks those."""
    opened = {partition: told for partition, told in reading.open.items() if (reading.group, partition) in written}
    return dataclasses.replace(reading, open=opened)


def _use(reading: GroupReading, stood: dict[TopicPartition, int | None]) -> Use | None:
    """How a group is in use whose offsets the plan was made from; its commits on other partitions are no matter."""
    offsets = {partition: commit.offset for partition, commit in reading.offsets.items() if partition in stood}
    members = members_problem(reading)
    moved = moves(stood, offsets)
    return Use(reading.group, members, moved) if members or moved else None
