# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Look before the offsets for records that have no partner behind them: left behind, or consumed already?"""

from __future__ import annotations

import collections
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.comparing import (
    Comparison,
    Content,
    Sides,
    Unpaired,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.fates import Elsewhere, Seen, Sight
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.verified import Claim
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.reading import Side
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.report import Position
from ansible_collections.streamshift.kafka.plugins.module_utils._records.scanning import Range
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.library import SparkSession
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.proof import Asked, Search, Sighting, search


class Looked(t.NamedTuple):
    """An entry that was compared, and what was compared of it."""

    claim: Claim
    sides: Sides
    comparison: Comparison


class Place(t.NamedTuple):
    """Where to look: a range, for what, and where what is found belongs."""

    range: Range
    search: Search
    number: int  # of the partition among those of its side


class Places(t.NamedTuple):
    """Where to look for the records of one entry; see Elsewhere."""

    skipped: list[Place]
    consumed: list[Place]
    unconsumed: list[Place]
    is_whole: bool


def places(looked: t.Sequence[Looked], here: Side, there: Side, far: int | None) -> list[Places]:
    """Where each entry's records may be. Timestamps bound that where they are compared, for all entries in one look-up.

    far: where they are not, how many offsets before the destination's offset, None for all of them.
    """
    _look_up(there, looked, lambda each: (each.claim.destination, _oldest_missing(each.comparison)))
    _look_up(here, looked, lambda each: (each.claim.source, _oldest(each.comparison)))
    return [_places(each, here, there, far) for each in looked]


def look(
    spark: SparkSession, wanted: t.Sequence[Places], here: Side, there: Side, parts: tuple[str, ...]
) -> list[Elsewhere]:
    """Look there, on both clusters for all entries together."""
    skipped = _found(spark, there, parts, [each.skipped for each in wanted])
    found = _found(spark, here, parts, [group for each in wanted for group in (each.consumed, each.unconsumed)])
    return [
        Elsewhere(skipped[number], found[2 * number], found[2 * number + 1], each.is_whole)
        for number, each in enumerate(wanted)
    ]


def _places(looked: Looked, here: Side, there: Side, far: int | None) -> Places:
    claim, sides, comparison = looked
    how = comparison.how
    missing, extra = _contents(comparison.missing, comparison), _contents(comparison.extra, comparison)
    skipped, consumed, unconsumed = [], [], []
    is_whole = True
    if missing or comparison.unread:
        oldest = _oldest_missing(comparison) if how.timestamp else None
        for number, (partition, offset) in enumerate(claim.destination):
            start = _start(there, partition, offset, oldest, far)
            skipped.append(Place(_range(there, partition, start, offset), Search(missing, how), number))
    if missing or extra:
        oldest = _oldest(comparison) if how.timestamp else None
        for number, (partition, offset) in enumerate(claim.source):
            # Twice as far: between as many records there may be more markers.
            start = _start(here, partition, offset, oldest, None if far is None else 2 * far)
            is_whole = is_whole and (how.timestamp or start == 0)
            consumed.append(Place(_range(here, partition, start, offset), Search(missing | extra, how), number))
            end = sides.source.windows[number].end
            unconsumed.append(Place(_range(here, partition, offset, end), Search(extra, how), number))
    return Places(_some(skipped), _some(consumed), _some(unconsumed), is_whole)


def _some(wanted: t.Iterable[Place]) -> list[Place]:
    return [place for place in wanted if place.range.start < place.range.end]


def _range(side: Side, partition: TopicPartition, start: int, end: int) -> Range:
    facts = side.logs[partition].facts
    return Range(partition, max(start, facts.log_start), min(end, facts.end))


def _start(side: Side, partition: TopicPartition, offset: int, oldest: int | None, far: int | None) -> int:
    """No record that may be meant is before this offset; without a timestamp it may be."""
    log = side.logs[partition]
    if oldest is None:
        return log.facts.log_start if far is None else max(log.facts.log_start, offset - far)
    if oldest < 0:
        return log.facts.log_start
    found = log.lookups[oldest]
    return offset if found is None else found


def _look_up(
    side: Side, looked: t.Iterable[Looked], asked: t.Callable[[Looked], tuple[tuple[Position, ...], int | None]]
) -> None:
    times: dict[TopicPartition, set[int]] = collections.defaultdict(set)
    for each in looked:
        positions, oldest = asked(each)
        if oldest is not None and oldest >= 0 and each.comparison.how.timestamp:
            for partition, _offset in positions:
                times[partition].add(oldest)
    if times:
        side.look_up(times)


def _oldest_missing(comparison: Comparison) -> int | None:
    times = [each.row.timestamp for each in comparison.missing] + [block.oldest for block in comparison.unread]
    return min(times, default=None)


def _oldest(comparison: Comparison) -> int | None:
    return min((each.row.timestamp for each in (*comparison.missing, *comparison.extra)), default=None)


def _contents(unpaired: t.Iterable[Unpaired], comparison: Comparison) -> frozenset[Content]:
    return frozenset(each.row.content(comparison.how) for each in unpaired)


def _found(spark: SparkSession, side: Side, parts: tuple[str, ...], groups: list[list[Place]]) -> list[Sight]:
    """For each group of places what is in any of them."""
    flat = [place for group in groups for place in group]
    asked = Asked(side.connection, [place.range for place in flat], parts)
    sightings = iter(search(spark, asked, [place.search for place in flat]) if flat else [])
    return [_together([(place.number, next(sightings)) for place in group]) for group in groups]


def _together(found: t.Iterable[tuple[int, dict[Content, Sighting]]]) -> Sight:
    seen: dict[Content, Seen] = {}
    for number, sightings in found:
        for content, (times, offset) in sightings.items():
            known = seen.get(content, Seen(0, number, offset))
            seen[content] = known._replace(times=known.times + times)
    return seen
