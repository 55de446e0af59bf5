# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""A second look at the source: are the groups that are committed at the destination still in use there?

The plan says where each group stood at the source when its snapshot was taken. The source is read twice more: right
before the last look at the destination, when nothing is lost by stopping, and after the last write, because a consumer may
have started in between. Both looks are requests only; the time between snapshot and commit is what shows consumers with
assign().
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..._control import groups
from ..._model.connection import Connection
from ..._model.errors import GroupBusy, MigrationError, SourceInUse
from ..._model.group_state import GroupReading
from ..._model.grouping import nested, values_by_key
from ..._model.idle import Move, members_problem, moves, moves_text
from ..._model.notes import Note, NoteKind
from ..._model.option_names import because_of, give_back, option_name, ways
from ..._model.plan import Plan
from ..._model.policies import OnActiveGroup
from ..._model.receipt import Key
from ..._model.records import TopicPartition
from ..._model.wording import counted, first_names
from .. import quiet
from .conflicts import Writes


class Use(t.NamedTuple):
    """How a group of the source is in use: it has members (a clause, or None), or its commits have moved, or both.

    where: what it has consumed would be consumed once more; empty inside one cluster.
    """

    group: str
    members: str | None
    moved: list[Move]
    where: str

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


class _SourceLook(t.NamedTuple):
    """The groups of the source as they were read, and who is in those that have members."""

    readings: t.Mapping[str, GroupReading] = {}
    members: t.Mapping[str, str] = {}


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
        self._last = _SourceLook()
        self._settled: t.Collection[Key] = ()
        self._given: t.Collection[Key] = ()
        # Inside one cluster, nobody knows which side is meant.
        self._at_source = "" if plan.is_within_one_cluster else " at the source"
        self._at_destination = "" if plan.is_within_one_cluster else " at the destination"
        # A copy of a backlog goes on with no other committed offsets than those that it was planned for.
        self._is_copy = any(entry.is_of_copy for entry in plan.entries)

    def look(self, keys: t.Collection[Key], settled: t.Collection[Key] = (), given: t.Collection[Key] = ()) -> None:
        """Read the groups of the source that became those of these keys. before() asks no cluster then.

        settled: keys of groups of which nothing is written, because they have the plan's offsets: they may start as well.
        given: those of the keys that an earlier run has written as the plan says; inside one cluster, it may have removed the
        old groups then.
        """
        self._settled = settled
        self._given = given if self._plan.is_within_one_cluster else ()
        self._last = self._look({*keys, *settled})

    def before(self, writes: Writes) -> tuple[Writes, list[str], list[Note]]:
        """The writes that remain, a line for each destination group that is left out, and a note for each use.

        writes: of the keys that look() was called with, or some of them.
        """
        uses = self._uses(writes.set, self._last)
        if not uses:
            return writes, [], []
        match self._policy:
            case OnActiveGroup.WARN | OnActiveGroup.INCLUDE:
                return writes, [], _notes(f"Still in use{self._at_source}", uses)
            case OnActiveGroup.SKIP_GROUP:
                left, lines = self._without_used(writes, uses)
                self._settled = {key for key in self._settled if key[0] not in left.alone}
                return left, lines, []
            case OnActiveGroup.FAIL:
                stop = f"nothing was written. Stop its consumers{self._at_source}, then"
                if self._is_copy and any(use.moved for use in uses.values()):
                    raise self._busy(uses, f"is still in use{self._at_source}", f"{stop} {give_back()}, and run again")
                remedy = ways(
                    ("", f"{stop} take the snapshot and plan again"),
                    (
                        "on_active_source",
                        f"set {option_name('on_active_source')} to skip_group to leave such groups out",
                    ),
                    (
                        "on_active_source: warn",
                        f"set {option_name('on_active_source')} to warn to commit what the plan says",
                    ),
                )
                raise self._busy(uses, f"is still in use{self._at_source}", remedy)
            case _:
                t.assert_never(self._policy)

    def after(self, written: t.Collection[Key]) -> list[Note]:
        """A note for each source group that is in use after its offsets were committed; raises unless they are notes."""
        try:
            uses = self._uses(written, self._look({*written, *self._settled}))
        except MigrationError as exc:
            raise SourceInUse(
                "the plan's offsets are committed, but the source's groups could not be read once more",
                cluster=exc.cluster,
                why=": ".join(text for text in (exc.what, exc.why) if text),
                remedy=f"see to it that their consumers are stopped{self._at_source} before others "
                f"start{self._at_destination}",
            ) from exc
        if not uses or self._policy == OnActiveGroup.WARN:
            return _notes(f"In use{self._at_source} while its offsets were committed", uses)
        raise self._busy(
            uses,
            f"was in use{self._at_source} while its offsets were committed",
            f"the offsets of the plan are committed and stay. Stop its consumers{self._at_source}, then either "
            + (
                f"start those{self._at_destination} all the same"
                if self._is_copy
                else "migrate again, which takes the group to where it has stopped"
            )
            + ", or roll back what the receipt has",
        )

    def _without_used(self, writes: Writes, uses: t.Mapping[str, Use]) -> tuple[Writes, list[str]]:
        """The writes of the other groups, and a line for each destination group that is left out."""
        destinations = values_by_key((at.group, entry.group) for entry in self._plan.entries for at in entry.source)
        concerned = {group for group, _partition in {*writes.set, *self._settled}}
        lines = {
            group: f"{group}: its source group {use}: left out{because_of('on_active_source', 'skip_group')}"
            for name, use in sorted(uses.items(), reverse=True)
            for group in concerned.intersection(destinations[name])
        }
        left = dataclasses.replace(writes.without(lines), alone=writes.alone | lines.keys())
        return left, [lines[group] for group in sorted(lines)]

    def _look(self, keys: t.Collection[Key]) -> _SourceLook:
        if self._source is None or not (names := self._stood(keys)):
            return _SourceLook()
        readings = groups.read_groups(self._source, sorted(names))
        written = self._written(keys)
        problems = {name: members_problem(_of_written(reading, written)) for name, reading in readings.items()}
        members = {name: problem for name, problem in sorted(problems.items()) if problem}
        return _SourceLook(readings, quiet.with_clients(self._source, members, readings))

    def _stood(self, keys: t.Collection[Key]) -> dict[str, dict[TopicPartition, int | None]]:
        """What the plan was made from, by the source groups that became the destination groups of these keys."""
        wanted = {group for group, _partition in keys}
        entries = (entry for entry in self._plan.entries if entry.group in wanted)
        return nested(((at.group, at.partition), at.offset) for entry in entries for at in entry.source)

    def _written(self, keys: t.Collection[Key]) -> set[tuple[str, TopicPartition]]:
        return {(at.group, at.partition) for entry in self._plan.entries if entry.key in keys for at in entry.source}

    def _uses(self, keys: t.Collection[Key], look: _SourceLook) -> dict[str, Use]:
        """The uses of the source groups that became the destination groups of these keys, by the name at the source.

        And of the settled groups, of which missing commits are no use: somebody may have removed the group since. Nor is a
        group that does not exist any more, where only what an earlier run has given is written once more.
        """
        if self._source is None:
            return {}
        written = self._written({*keys, *self._settled})
        to_write, anew = self._stood(keys), self._stood(set(keys).difference(self._given))
        uses = {}
        for name, offsets in sorted(self._stood({*keys, *self._settled}).items()):
            reading = look.readings[name]
            is_whole = name in (to_write if reading.exists else anew)
            stood = {at: offset for at, offset in offsets.items() if is_whole or at in reading.offsets}
            # Its commits on other partitions are no matter.
            moved = moves(stood, {at: commit.offset for at, commit in reading.offsets.items() if at in stood})
            problem = members_problem(_of_written(reading, written))
            if problem or moved:
                uses[name] = Use(name, problem and look.members.get(name), moved, self._at_destination)
        return uses

    def _busy(self, uses: dict[str, Use], what: str, remedy: str) -> GroupBusy:
        first, *others = uses.values()
        more = f", and so {what.split(maxsplit=1)[0]} {first_names([use.group for use in others])}" if others else ""
        return SourceInUse(
            f"the group {what}{more}", cluster=str(self._source), group=first.group, why=str(first), remedy=remedy
        )


def _notes(when: str, uses: t.Mapping[str, Use]) -> list[Note]:
    return [Note(NoteKind.SOURCE_IN_USE, f"{when}: {use}.") for use in uses.values()]


def _of_written(reading: GroupReading, written: t.Collection[tuple[str, TopicPartition]]) -> GroupReading:
    """The reading without open transactions on partitions of which nothing is written: the plan blocks those."""
    opened = {partition: told for partition, told in reading.open.items() if (reading.group, partition) in written}
    return dataclasses.replace(reading, open=opened)
