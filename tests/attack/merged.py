# SPDX-License-Identifier: GPL-3.0-or-later

"""Repartitioned and merged topics: the copies of several source partitions, mixed into one or several others.

To a group it makes no difference which partition it has consumed a record of, nor of which it reads one. So the truth is that
of one source log that holds first all that is consumed and then all that is not, and of one destination log that holds first
all that lies before the offsets in question and then all that is read from them on.
"""

from __future__ import annotations

import dataclasses
import random as rnd
import typing as t

from tests.attack.case import HOUR, Case, Copy, Edges, Original
from tests.attack.classes import DECLARED
from tests.attack.worlds import world


@dataclasses.dataclass(frozen=True)
class Merged:
    """sources: a position in each source partition. copies: those of each destination partition, origin (partition, offset).

    uncommitted: the source partitions of which the group has no committed offset; what counts as consumed there is a matter of
    on_uncommitted: nothing, or everything.
    """

    sources: tuple[Case, ...]
    copies: tuple[tuple[tuple[Copy, int], ...], ...]
    edges: tuple[Edges, ...]
    uncommitted: frozenset[int] = frozenset()

    def cases(self) -> list[Case]:
        """One for each destination partition, with the sources as one log."""
        order = [
            (number, record)
            for consumed in (True, False)
            for number, case in enumerate(self.sources)
            for record in case.source
            if (record.offset < case.committed) == consumed
        ]
        place = {(number, record.offset): at for at, (number, record) in enumerate(order)}
        source = tuple(record._replace(offset=at) for at, (_number, record) in enumerate(order))
        committed = sum(record.offset < self.sources[number].committed for number, record in order)
        hidden = [at for at, (number, r) in enumerate(order) if r.offset >= self.sources[number].source_edges.stable]
        edges = Edges(
            0,
            min(hidden, default=len(order)),
            len(order),
            compacted=any(case.source_edges.compacted or case.source_edges.start for case in self.sources),
        )
        return [
            Case(
                committed,
                source,
                edges,
                tuple(
                    copy._replace(origin=None if copy.origin is None else place[number, copy.origin])
                    for copy, number in copies
                ),
                destination_edges,
                tuple(
                    copy._replace(origin=place[number, copy.origin])
                    for number, case in enumerate(self.sources)
                    for copy in case.to_come
                    if copy.origin is not None
                ),
                self.sources[0].options,
            )
            for copies, destination_edges in zip(self.copies, self.edges, strict=True)
        ]

    def read_from(self, offsets: t.Sequence[int]) -> tuple[Case, int]:
        """All of it as one position, and the offset there that stands for these offsets of the destination's partitions."""
        parts = self.cases()
        every = [
            (copy.offset >= offset, number, copy)
            for number, (case, offset) in enumerate(zip(parts, offsets, strict=True))
            for copy in case.destination
        ]
        every.sort(key=lambda each: each[:2])
        log = tuple(copy._replace(offset=at) for at, (_read, _number, copy) in enumerate(every))
        edges = dataclasses.replace(self.edges[0], stable=len(log), end=len(log))
        before = sum(not read for read, _number, _copy in every)
        return dataclasses.replace(parts[0], destination=log, destination_edges=edges), before


POSITIONS = 3  # groups of one merged topic


def merged(name: str, seed: int) -> list[Merged]:
    """Two or three partitions of this class, copied into one or two, as several groups stand on them."""
    random = rnd.Random(f"merged {name} {seed}")
    worlds = [world(name, seed * 10 + number).cases for number in range(random.choice((2, 2, 3)))]
    sources = [_renamed(cases[0], letter) for cases, letter in zip(worlds, "pqr", strict=False)]
    if not name.startswith(DECLARED):
        # Else copies would look like those of others, which declared classes are for: of records that the source does not show,
        # or of other partitions, whose tools have not looked at the times of this one.
        sources = list(map(_without_copies_of_unseen, sources)) if _are_kept_partly(sources) else sources
        sources = [_with_own_looks(case, sources) for case in sources]
    width = random.choice((1, 1, 2))
    keyed = random.random() < 0.6
    left = [list(reversed(case.destination)) for case in sources]
    logs: list[list[tuple[Copy, int]]] = [[] for _unused in range(width)]
    while any(left):
        number = random.choice([at for at, copies in enumerate(left) if copies])
        copy = left[number].pop()
        to = logs[sum(map(ord, copy.text)) % width if keyed else random.randrange(width)]
        to.append((copy._replace(offset=len(to)), number))
    append_time = any(case.destination_edges.append_time for case in sources)
    compacted = any(case.destination_edges.compacted for case in sources)
    edges = tuple(Edges(0, len(log), len(log), append_time, compacted) for log in logs)
    copies = tuple(tuple(log) for log in logs)
    result = []
    for _unused in range(POSITIONS):
        uncommitted = frozenset(at for at in range(len(sources)) if random.random() < 0.1)
        commits = [
            random.choice((case.source_edges.start, case.source_edges.stable))
            if number in uncommitted
            else random.choice(cases).committed
            for number, (case, cases) in enumerate(zip(sources, worlds, strict=True))
        ]
        positions = (dataclasses.replace(case, committed=commit) for case, commit in zip(sources, commits, strict=True))
        result.append(Merged(tuple(positions), copies, edges, uncommitted))
    return result


def _are_kept_partly(sources: t.Iterable[Case]) -> bool:
    """Have tools kept the times, or the headers, of some copies only?"""
    times, texts = set(), set()
    for case in sources:
        records = {record.offset: record for record in case.source}
        for copy in case.destination:
            if copy.origin is not None:
                times.add(records[copy.origin].time == copy.time)
                texts.add(records[copy.origin].text == copy.text)
    return len(times) > 1 or len(texts) > 1


def _with_own_looks(case: Case, sources: t.Iterable[Case]) -> Case:
    """With another time for each copy that has got that of an equal record of another partition."""
    times = {record.offset: record.time for record in case.source}
    own = {_look(record) for record in case.source}
    others = {_look(record) for each in sources for record in each.source} - own

    def changed(copies: t.Iterable[Copy]) -> tuple[Copy, ...]:
        return tuple(
            copy._replace(time=copy.time + 1000 * HOUR)
            if copy.origin is not None and copy.time != times[copy.origin] and _look(copy) in others
            else copy
            for copy in copies
        )

    return dataclasses.replace(case, destination=changed(case.destination), to_come=changed(case.to_come))


def _without_copies_of_unseen(case: Case) -> Case:
    """Without what looks like a copy of them, too."""
    unseen = [record for record in case.source if record.kind == "aborted" or record.gone]
    offsets, looks = {record.offset for record in unseen}, {_look(record) for record in unseen}
    return dataclasses.replace(
        case,
        destination=tuple(
            copy
            for copy in case.destination
            if copy.origin not in offsets and (copy.origin is not None or _look(copy) not in looks)
        ),
    )


def _look(record: Original | Copy) -> tuple[str, int]:
    return record.text.partition("+")[0], record.time


def _renamed(case: Case, letter: str) -> Case:
    """With unlike records that are unlike those of the other partitions, too."""

    def changed(records: t.Iterable[t.Any]) -> tuple[t.Any, ...]:
        return tuple(
            r._replace(text=letter + r.text[1:]) if r.text[:1] == "p" and len(r.text) > 1 else r for r in records
        )

    source: tuple[Original, ...] = changed(case.source)
    return dataclasses.replace(
        case, source=source, destination=changed(case.destination), to_come=changed(case.to_come)
    )
