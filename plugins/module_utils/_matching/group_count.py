# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Where groups belong, from what counted contents say: first how far an offset may go, then what is there."""

from __future__ import annotations

import typing as t

from .._model.grouping import values_by_key
from .._model.match_on import Matching
from .._model.verdicts import Absent
from .._model.wording import counted
from .axis import Sides
from .count_parts import ARRIVED, SURELY_ARRIVED, Facts, Placed, Placing, Reach
from .counted_contents import CountedContents


class Answer(t.NamedTuple):
    """Where a group must stand.

    repeats: how many consumed records come again at most; equal: how many of them have a content that is unconsumed as
    well. again: whether one of them has another copy before the offset. arrived: whether the replication tool has come
    as far as the group; if not, what it still has to bring may stand before any of this. last_consumed and
    first_wanted: the offsets of the two copies that the offset was placed between; None where there is none. recopied:
    whether copies of unconsumed records stand before the offset, which come once more after it. first_copied: the offset of the
    first copy of an unconsumed record that has several; None where none has. last_at_source and
    next_at_source: the source offsets of the last consumed and of the first unconsumed record; None where the source
    has none, or where several source partitions are counted together. to_come: how many consumed records without a copy may
    still come and be repeated, too, because all that says `arrived` are copies that may be those of equal records, also of
    those that the source has lost. if_lost: how many more may be repeated, if copies before the offset are those of lost
    records. may_be_lost: how many destination-only records follow the offset that are so old that they may be copies of
    consumed records which the source has lost (GroupPosition.lost_until); may_be_lost_later: those of them that follow
    first_wanted. absent: unconsumed records without a copy, though a later one has surely arrived; None where there is none.
    """

    offset: int
    repeats: int
    equal: int
    again: bool
    arrived: bool
    last_consumed: int | None
    first_wanted: int | None
    recopied: bool
    last_at_source: int | None
    next_at_source: int | None
    to_come: int = 0
    if_lost: int = 0
    may_be_lost: int = 0
    may_be_lost_later: int = 0
    absent: Absent | None = None
    first_copied: int | None = None

    @property
    def at_most(self) -> int:
        """How many consumed records come again at most, with those of which nobody is sure."""
        return self.repeats + self.to_come + self.if_lost + self.may_be_lost

    @property
    def lost_detail(self) -> str:
        """Why may_be_lost counts, or else if_lost."""
        if self.may_be_lost:
            return (
                f"{counted(self.may_be_lost, 'record')} from the offset on may be copies of consumed records that the source "
                "has lost: no source record equals them, and their timestamps are not later than those at the committed offset"
            )
        return (
            f"{counted(self.if_lost, 'consumed record')} may follow the offset, because copies before it may be those of equal "
            "records that the source has lost"
        )


class GroupPosition(t.NamedTuple):
    """Where a group stands: the number of a pair, and the first unconsumed offset of each of its source partitions.

    lost_until: up to which time (ms) a destination-only record may be a copy of a consumed record that the source has lost, see
    lost_records.lost_until(); None where none may.
    """

    pair: int
    committed: tuple[int, ...]
    lost_until: int | None = None


class Copy(t.NamedTuple):
    """A copy at the destination and a source record of its content, on the same side of the committed offset.

    source: the position of the source partition in the pair.
    """

    source: int
    source_offset: int
    destination_offset: int


class Lag(t.NamedTuple):
    """Of a source partition: its last consumed record, and how many consumed ones have no copy.

    source: the position of the source partition in the pair.
    """

    source: int
    source_offset: int
    records: int


class GroupCount(t.NamedTuple):
    """For one group. answers, and the copies at their last_consumed and first_wanted: for each destination partition.

    matching: what was compared; times and headers if all copies have kept them. keeps_times: whether any copy is known by its
    time. not_arrived: the source partitions whose last consumed record is not at the destination, nor anything that certainly
    follows it; it is empty where the answers say `arrived`. surplus: for each destination partition the first copy that may be
    one of a record that the source has lost. destination_only: for each destination partition the first record that the source
    does not have. None where there is none.
    """

    matching: Matching
    keeps_times: bool
    answers: tuple[Answer, ...]
    last_consumed: tuple[Copy | None, ...]
    first_wanted: tuple[Copy | None, ...]
    not_arrived: tuple[Lag, ...]
    surplus: tuple[int | None, ...]
    destination_only: tuple[int | None, ...]


class CountedPair(t.NamedTuple):
    """What is counted together, and how.

    ends: of each destination log. timestamps: whether times are compared at all. stable: the last stable offset of each source
    log; where it is given, repeats are counted as if all that open transactions hide were aborted; with only_doubled, where
    anything was copied twice. lossy: whether the source may have lost records.
    """

    sides: Sides
    ends: tuple[int, ...]
    timestamps: bool
    stable: tuple[int, ...] | None = None
    only_doubled: bool = False
    lossy: bool = False

    @property
    def recurs(self) -> bool:
        """May equal records have been lost, so that only a copy with its own time is surely a record's?

        A copy without a time then tells as little as one whose time the broker has stamped.
        """
        return self.lossy and self.sides.are_single

    @property
    def nothing(self) -> CountedContents:
        """None of its contents."""
        return CountedContents(self.sides, ())


Row = tuple[int, t.Sequence[t.Any]]  # a number, and what some contents say of it
Ask = t.Callable[[int, CountedContents], t.Iterable[Row]]  # of a pair, given by its number, and some of its contents
AskAll = t.Callable[[Ask], t.Iterable[Row]]  # asks all contents


def count_groups(
    pairs: t.Mapping[int, CountedPair], positions: t.Sequence[GroupPosition], run: AskAll
) -> list[GroupCount]:
    """Where groups belong. run is called two or three times, each of which asks all contents."""
    groups = [_Group(number, position, pairs[position.pair]) for number, position in enumerate(positions)]
    facts = _learn(pairs, groups, run)
    for group in groups:
        group.limit(facts[group.pair_number])
    _place(groups, run)
    # What is repeated from the limit on is mostly what is repeated from the offset on.
    if loose := [group for group in groups if any(group.placed.loose)]:
        _place(loose, run)
    return [group.counted(facts[group.pair_number]) for group in groups]


def count_group(pair: CountedPair, contents: CountedContents, position: GroupPosition) -> GroupCount:
    """The same for one group, where all contents of its pair are here: there may be thousands of such groups."""
    group = _Group(0, position, pair)
    group.reach = contents.reach(group.commits)
    group.limit(contents.facts)
    group.take(contents.placed(group.placing))
    if any(group.placed.loose):
        group.take(contents.placed(group.placing))
    return group.counted(contents.facts)


def _learn(pairs: t.Mapping[int, CountedPair], groups: t.Sequence[_Group], run: AskAll) -> dict[int, Facts]:
    """Let the groups know how far their offsets may go; -> the facts of each pair."""
    asked = values_by_key((group.pair_number, group) for group in groups)
    commits = {pair: [(group.number, group.commits) for group in several] for pair, several in asked.items()}

    def ask(pair: int, contents: CountedContents) -> t.Iterator[Row]:
        yield ~pair, contents.facts  # below 0, because groups have the numbers from 0 on
        for number, committed in commits.get(pair, ()):
            yield number, contents.reach(committed)

    said = values_by_key(run(ask) if groups else ())
    for group in groups:
        group.reach = Reach.of_all(said.get(group.number) or [group.pair.nothing.reach(group.commits)])
    return {pair: Facts.of_all(said.get(~pair) or [counted_pair.nothing.facts]) for pair, counted_pair in pairs.items()}


def _place(groups: t.Sequence[_Group], run: AskAll) -> None:
    """Let the groups know what is before and after their offsets."""
    asked = values_by_key((group.pair_number, group) for group in groups)
    offsets = {pair: [(group.number, group.placing) for group in several] for pair, several in asked.items()}

    def ask(pair: int, contents: CountedContents) -> t.Iterator[Row]:
        for number, placing in offsets.get(pair, ()):
            yield number, contents.placed(placing)

    said = values_by_key(run(ask) if groups else ())
    for group in groups:
        group.take(Placed.of_all(said.get(group.number) or [group.pair.nothing.placed(group.placing)]))


class _Group:
    """One group while it is counted. Offsets are places, but for those in the result.

    limit() sets the offsets as far as `reach` lets them go. `placing` asks what is before and after them, and take() moves
    them down to the last consumed copies. counted() is the result.
    """

    reach: Reach
    placed: Placed

    def __init__(self, number: int, position: GroupPosition, pair: CountedPair) -> None:
        self.number, self.pair_number, self.pair, self.lost_until = number, position.pair, pair, position.lost_until
        self._source, self._destination = pair.sides.source, pair.sides.destination
        self.commits = self._places(position.committed)
        self.begins = [at * self._destination.step for at in pair.sides.destinations]
        self.offsets: list[int] = []
        self.arrived = -1
        self.stable: list[int] | None = None
        self.may_be_lost_later: int | None = None

    def _places(self, offsets: t.Sequence[int]) -> list[int]:
        return [self._source.place(*each) for each in zip(self.pair.sides.sources, offsets, strict=True)]

    def limit(self, facts: Facts) -> None:
        """Set each offset to the first copy that has to follow, or to the end of the log where none has to."""
        ends = zip(self.reach.firsts, self.pair.sides.destinations, self.pair.ends, strict=True)
        self.offsets = [self._destination.place(at, end) if first is None else first[0] for first, at, end in ends]
        self.arrived = facts.arrived
        if self.pair.stable is not None and (facts.twice[0] or not self.pair.only_doubled):
            self.stable = self._places(self.pair.stable)

    @property
    def placing(self) -> Placing:
        """What CountedContents.placed() is asked."""
        return Placing(self.commits, self.offsets, self.arrived, self.stable, self.lost_until)

    def take(self, placed: Placed) -> None:
        """Move each offset to right after the last consumed copy before it, or to the start of the log where none is."""
        if self.may_be_lost_later is None:  # the offsets are still as far as they may go
            self.may_be_lost_later = placed.may_be_lost[0]
        self.placed = placed
        self.offsets = [
            begin if last is None else last[0] + 1 for last, begin in zip(placed.last, self.begins, strict=True)
        ]

    def counted(self, facts: Facts) -> GroupCount:
        """What both rounds have said."""
        missing = self.reach.not_arrived(ARRIVED)
        befores, afters = ([self._copy(spot) for spot in spots] for spots in (self.placed.last, self.reach.firsts))
        copies = enumerate(zip(befores, afters, strict=True))
        return GroupCount(
            matching=Matching(self.pair.timestamps and facts.kept_times[0], facts.kept_headers[0]),
            keeps_times=self.pair.timestamps and facts.last_by_time[0] is not None,
            answers=tuple(self._answer(at, before, after, missing) for at, (before, after) in copies),
            last_consumed=tuple(befores),
            first_wanted=tuple(afters),
            not_arrived=tuple(Lag(at, self._last_at_source(at) or 0, self.reach.lacking[at]) for at in missing),
            surplus=tuple(map(self._destination_offset, facts.surplus)),
            destination_only=tuple(map(self._destination_offset, facts.destination_only)),
        )

    def _answer(self, at: int, before: Copy | None, after: Copy | None, missing: list[int]) -> Answer:
        """For a destination partition, given by its position. before, after: the copies that the offset is between.

        missing: the source partitions whose last consumed record has not come, nor anything after it.
        """
        reach, placed = self.reach, self.placed
        start, recopied = self._destination.starts[self.pair.sides.destinations[at]], reach.recopied[at]
        has_one_source = len(self.commits) == 1
        return Answer(
            offset=start if before is None else before.destination_offset + 1,
            repeats=placed.repeats[at],
            equal=placed.equal[at],
            again=placed.again[at],
            arrived=not missing,
            last_consumed=None if before is None else before.destination_offset,
            first_wanted=None if after is None else after.destination_offset,
            recopied=recopied is not None and recopied < self.offsets[at],
            last_at_source=self._last_at_source(0) if has_one_source else None,
            next_at_source=self._source_offset(reach.nexts[0]) if has_one_source else None,
            to_come=self._to_come(missing),
            if_lost=placed.if_lost[0] if self.pair.timestamps else 0,
            may_be_lost=placed.may_be_lost[0],
            may_be_lost_later=self.may_be_lost_later or 0,
            absent=self._absent(),
            first_copied=self._destination_offset(recopied),
        )

    def _last_at_source(self, at: int) -> int | None:
        """The offset of the last consumed record of a source partition."""
        last = self.reach.lasts[at]
        return None if last is None else self._source_offset(last[0])

    def _to_come(self, missing: list[int]) -> int:
        """How many consumed records may still come because only copies that may be those of equal records say otherwise.

        Where times are not compared, they cannot show anything either. missing: what has not arrived at all.
        """
        unsure = set(self.reach.not_arrived(SURELY_ARRIVED)).difference(missing) if self.pair.timestamps else ()
        return sum(self.reach.lacking[at] for at in unsure) - self.placed.also_lacking[0] if unsure else 0

    def _absent(self) -> Absent | None:
        first = self.placed.first_absent[0]
        return None if first is None else Absent(self.placed.absent[0], self._source.at(first)[1])

    def _copy(self, spot: t.Sequence[int] | None) -> Copy | None:
        if spot is None:
            return None
        number, source_offset = self._source.at(spot[1])
        return Copy(number - self.pair.sides.sources.start, source_offset, self._destination.at(spot[0])[1])

    def _source_offset(self, place: int | None) -> int | None:
        return None if place is None else self._source.at(place)[1]

    def _destination_offset(self, place: int | None) -> int | None:
        return None if place is None else self._destination.at(place)[1]
