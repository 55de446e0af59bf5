# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a destination topic holds for groups that stand on several source partitions: from two scans to plain numbers."""

from __future__ import annotations

import bisect
import dataclasses
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.context import Matching
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.merged import Found, Seen
from ansible_collections.streamshift.kafka.plugins.module_utils._spark import repartition as steps
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.library import DataFrame, SparkSession, functions
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.naming import named
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.session import kept

_EVERY_OFFSET = (1 << 63) - 1
_FEW = 200_000  # rows of a tally, some 100 bytes each, that go to every task


class Pair(t.NamedTuple):
    """A record of the destination and one of the source that is equal to it; range is the source partition's number."""

    range: int
    source: int
    destination: int
    fingerprint: str


class Told(t.NamedTuple):
    """For one group. found, pairs: for each destination partition; pairs are those of the last consumed record and of the
    first unconsumed one. missing: by source partition, how many consumed records may be still to come, and the first.
    """

    found: list[Found]
    pairs: list[tuple[Pair | None, Pair | None]]
    missing: dict[int, tuple[int, int]]


class Edge(t.NamedTuple):
    """What stands first in a destination partition for a group."""

    unconsumed: Seen | None
    unknown: int | None
    young: int | None


_Key = tuple[int, int]  # destination partition, group


def choose_matching(source: DataFrame, destination: DataFrame, timestamps: bool, headers: bool) -> Matching:
    """By what records are recognised: everything that the replication tool has kept.

    timestamps, headers: whether they may be compared (headers: False where there is nothing to leave out). What is left
    out is left out for all records, so that no copy is taken for an unknown record.
    """
    here, there = (steps.traits(records).first() for records in (source, destination))
    if here is None or there is None:
        raise ValueError("an aggregate without groups has one row")
    timed = timestamps and not (here["untimed"] or there["untimed"] or there["stamped"])
    # Times that the tool has changed, be it some of them, would make copies unknown records.
    timed = timed and steps.other_times(source, destination).isEmpty()
    if headers and (here["with_headers"] or there["with_headers"]):
        return Matching(timed, steps.other_headers(source, destination, timed).isEmpty())
    return Matching(timed, True)


def tell_apart(
    spark: SparkSession,
    source: DataFrame,
    destination: DataFrame,
    matching: Matching,
    consumed_below: t.Sequence[t.Sequence[int]],
    partitions: int,
    young: int | None,
) -> list[Told]:
    """What the records say of each group.

    source, destination: what scan() has read, kept. consumed_below: for each group, for each source partition, the offset
    that it has not consumed yet. partitions: of the destination. young: a timestamp, see Found.first_young.
    """
    here, there = (
        named(records, matching).select("range", "offset", "timestamp", "name", "time")
        for records in (source, destination)
    )
    told: list[Told] = []
    for start in range(0, len(consumed_below), steps.MOST_GROUPS):
        told += _tell(spark, here, there, consumed_below[start : start + steps.MOST_GROUPS], partitions, young)
    return told


def _tell(
    spark: SparkSession,
    here: DataFrame,
    there: DataFrame,
    consumed_below: t.Sequence[t.Sequence[int]],
    partitions: int,
    young: int | None,
) -> list[Told]:
    groups = len(consumed_below)
    here = steps.told_apart(here, spark.createDataFrame(sides(consumed_below), steps.SIDES))
    with kept(steps.tally(here, there)) as tallied, kept(_records(tallied, here, there)) as records:
        edges = _edges(records, groups, partitions, young)
        found = _found(spark, records, groups, edges)
        pairs = _pairs(spark, records, here, found)
        missing = _missing(tallied, here, groups)
    return [
        Told(
            [found[partition, group] for partition in range(partitions)],
            [pairs[partition, group] for partition in range(partitions)],
            missing[group],
        )
        for group in range(groups)
    ]


def _records(tallied: DataFrame, here: DataFrame, there: DataFrame) -> DataFrame:
    """Every destination record once, as steps.told() has them; nothing is shuffled where few are repeated."""
    records, repeats = steps.alone(tallied), steps.repeated(tallied)
    count = repeats.count()
    return records.union(steps.told(_sent(repeats, count), here, there)) if count else records


def _missing(tallied: DataFrame, here: DataFrame, groups: int) -> list[dict[int, tuple[int, int]]]:
    lacks = steps.lacking(tallied)
    several = lacks.where("here > 1")
    few = _sent(several, several.count())
    missing: list[dict[int, tuple[int, int]]] = [{} for _unused in range(groups)]
    for row in steps.missing(lacks, few, here, steps.passed(tallied), groups).collect():
        missing[row["group"]][row["range"]] = row["records"], row["first"]
    return missing


def _sent(rows: DataFrame, count: int) -> DataFrame:
    """Rows that are to be joined with many more: sent to all of these where they are few."""
    return functions.broadcast(rows) if count <= _FEW else rows


def sides(consumed_below: t.Sequence[t.Sequence[int]]) -> list[tuple[int, int, int, int]]:
    """Every source partition cut where a group stands: (its number, low, high, bits of the groups that have consumed it)."""
    rows = []
    for number, offsets in enumerate(zip(*consumed_below, strict=True)):
        for low, high in _pieces(offsets):
            bits = sum(1 << group for group, offset in enumerate(offsets) if offset >= high)
            rows.append((number, low, high, bits))
    return rows


def _pieces(cuts: t.Iterable[int]) -> t.Iterator[tuple[int, int]]:
    """All offsets as pieces [low, high), cut at these."""
    low = 0
    for high in [*sorted({cut for cut in cuts if cut > 0}), _EVERY_OFFSET]:
        yield low, high
        low = high


def _edges(records: DataFrame, groups: int, partitions: int, young: int | None) -> dict[_Key, Edge]:
    edges = {(number, group): Edge(None, None, None) for number in range(partitions) for group in range(groups)}
    for row in steps.firsts(records, groups, young).collect():
        key = row["range"], row["group"]
        edge = edges[key]
        if row["state"] == steps.UNKNOWN:
            edges[key] = edge._replace(unknown=row["offset"], young=row["young"])
        elif row["state"] in (steps.UNCONSUMED, steps.UNSURE):
            seen = Seen(row["offset"], row["timestamp"])
            edges[key] = edge._replace(unconsumed=min(seen, edge.unconsumed or seen))
    return edges


def _found(spark: SparkSession, records: DataFrame, groups: int, edges: t.Mapping[_Key, Edge]) -> dict[_Key, Found]:
    cuts: dict[int, set[int]] = {number: set() for number, _group in edges}
    for (number, _group), edge in edges.items():
        if edge.unconsumed is not None:
            cuts[number].add(edge.unconsumed.offset)
    pieces = {number: list(_pieces(its)) for number, its in cuts.items()}
    lows = {number: [low for low, _high in its] for number, its in pieces.items()}
    starts = [
        # A first record at offset 0 leaves no piece before it; without one, no piece is after it.
        (
            *key,
            len(lows[key[0]]) if edge.unconsumed is None else bisect.bisect_left(lows[key[0]], edge.unconsumed.offset),
        )
        for key, edge in edges.items()
    ]
    rows = steps.around(
        records,
        groups,
        spark.createDataFrame(
            [(number, piece, *span) for number, its in pieces.items() for piece, span in enumerate(its)], steps.PIECES
        ),
        spark.createDataFrame(starts, steps.STARTS),
    ).collect()
    counted = {(row["range"], row["group"]): row for row in rows}
    found = {}
    for key, edge in edges.items():
        row = counted.get(key)
        found[key] = Found(
            edge.unconsumed,
            row["last_consumed"] if row else None,
            None,
            edge.unknown,
            edge.young,
            row["consumed_after"] if row else 0,
            row["unsure_after"] if row else 0,
        )
    return _with_gaps(spark, records, found)


def _with_gaps(spark: SparkSession, records: DataFrame, found: dict[_Key, Found]) -> dict[_Key, Found]:
    """The same, with the youngest unknown record between the last consumed and the first unconsumed one."""
    gaps = []
    keys = list(found)
    for number, key in enumerate(keys):
        its = found[key]
        low = 0 if its.last_consumed is None else its.last_consumed + 1
        high = _EVERY_OFFSET if its.first_unconsumed is None else its.first_unconsumed.offset
        if its.first_unknown is not None and its.first_unknown < high and low < high:
            gaps.append((number, key[0], low, high))
    if gaps:
        for row in steps.youngest_unknown(records, spark.createDataFrame(gaps, steps.GAPS)).collect():
            key = keys[row["number"]]
            found[key] = dataclasses.replace(found[key], between=row["timestamp"])
    return found


def _pairs(
    spark: SparkSession, records: DataFrame, here: DataFrame, found: t.Mapping[_Key, Found]
) -> dict[_Key, tuple[Pair | None, Pair | None]]:
    """The last consumed and the first unconsumed record of each group, each with a source record of the same side."""
    wanted: set[tuple[int, int]] = set()
    for (number, _group), its in found.items():
        wanted |= {(number, offset) for offset in _beside(its) if offset is not None}
    places = sorted(wanted)
    if not places:
        return dict.fromkeys(found, (None, None))
    table = spark.createDataFrame([(at, *place) for at, place in enumerate(places)], steps.PLACES)
    rows = steps.at_places(records, table).collect()
    names = {places[row["number"]]: (bytes(row["name"]), row["time"]) for row in rows}
    table = spark.createDataFrame(list(set(names.values())), "name binary, time bigint")
    sources: dict[tuple[bytes, int], list[tuple[int, int, int]]] = {}
    for row in steps.originals(here, table).collect():
        sources.setdefault((bytes(row["name"]), row["time"]), []).append((row["range"], row["offset"], row["consumed"]))

    def pair(number: int, offset: int | None, group: int, consumed: int) -> Pair | None:
        if offset is None:
            return None
        name = names[number, offset]
        same = [place[:2] for place in sorted(sources[name]) if place[2] >> group & 1 == consumed]
        return Pair(*same[0], offset, name[0].hex())

    answer = {}
    for (number, group), its in found.items():
        last, first = _beside(its)
        answer[number, group] = pair(number, last, group, 1), pair(number, first, group, 0)
    return answer


def _beside(found: Found) -> tuple[int | None, int | None]:
    return found.last_consumed, None if found.first_unconsumed is None else found.first_unconsumed.offset
