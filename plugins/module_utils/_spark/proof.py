# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a comparison of two clusters needs of their records: digests of blocks, some records, where certain ones are.

Nothing large is shuffled: blocks are made in the order of reading, where the records are, and what is looked for
is broadcast.
"""

from __future__ import annotations

import functools
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.blocks import Block
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.comparing import Content, Row
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.context import Matching
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._records.scanning import Range
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.cutting import SCHEMA, Edges, cut
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.library import DataFrame, SparkSession
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.library import functions as F
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.scan import scan

if t.TYPE_CHECKING:
    import pyarrow

__all__ = ["Asked", "Edges", "Search", "Sighting", "blocks", "read_blocks", "read_rows", "search", "sightings"]

_COLUMNS = ("range", "offset", "timestamp", "fingerprint", "bare")
_NOT_COMPARED = -2  # no record's timestamp

_Made = t.TypeVar("_Made", Block, Row)


class Asked(t.NamedTuple):
    """Ranges of one cluster, the parts of records that fingerprints cover, and where blocks have to begin."""

    connection: Connection
    ranges: t.Sequence[Range]
    parts: tuple[str, ...]
    edges: Edges = ()


class Search(t.NamedTuple):
    """What to look for in a range."""

    wanted: t.Collection[Content]
    how: Matching


class Sighting(t.NamedTuple):
    """How often something is in a range, and at which offset first."""

    times: int
    offset: int


def read_blocks(spark: SparkSession, *asked: Asked) -> list[list[list[Block]]]:
    """For each cluster and each of its ranges the blocks that its records make, in order; place is always 0."""
    return _by_range(spark, asked, blocks, lambda block: Block(0, *block))


def read_rows(spark: SparkSession, *asked: Asked) -> list[list[list[Row]]]:
    """For each cluster and each of its ranges the records, in order; place is always 0."""
    return _by_range(spark, asked, lambda rows, _edges: rows, lambda row: Row(0, *row))


def search(spark: SparkSession, asked: Asked, searches: t.Sequence[Search]) -> list[dict[Content, Sighting]]:
    """For each range what of its search is in it."""
    found: list[dict[Content, Sighting]] = [{} for _search in searches]
    if not any(asked.ranges):
        return found
    hows = spark.createDataFrame(
        [(number, each.how.headers, each.how.timestamp) for number, each in enumerate(searches)],
        "range int, headers boolean, timestamped boolean",
    )
    wanted = spark.createDataFrame(
        [
            (number, digest, _NOT_COMPARED if timestamp is None else timestamp)
            for number, each in enumerate(searches)
            for digest, timestamp in each.wanted
        ],
        "range int, digest binary, stamp bigint",
    )
    rows = scan(spark, asked.connection, asked.ranges, _COLUMNS, parts=asked.parts)
    for number, digest, stamp, times, offset in _tuples(sightings(rows, hows, wanted)):
        found[number][digest, None if stamp == _NOT_COMPARED else stamp] = Sighting(times, offset)
    return found


def blocks(rows: DataFrame, edges: Edges = ()) -> DataFrame:
    """The blocks that records make (range, start, end, records, oldest, fingerprints, bare, timestamps), in no order.

    edges: for each range the offsets, ascending, where a block has to begin; none for no range.
    """

    def cut_there(batches: t.Iterable[pyarrow.RecordBatch]) -> t.Iterator[pyarrow.RecordBatch]:
        return cut(batches, edges)

    return rows.select(*_COLUMNS).mapInArrow(cut_there, SCHEMA)


def sightings(rows: DataFrame, hows: DataFrame, wanted: DataFrame) -> DataFrame:
    """How often what is wanted is there: range, digest, stamp, times, offset (of the first).

    hows: range, headers, timestamped (what of its records is compared). wanted: range, digest, stamp.
    """
    digest = F.when(F.col("headers"), F.col("fingerprint")).otherwise(F.col("bare"))
    stamp = F.when(F.col("timestamped"), F.col("timestamp")).otherwise(F.lit(_NOT_COMPARED).cast("bigint"))
    return (
        rows.join(F.broadcast(hows), "range")
        .select("range", "offset", digest.alias("digest"), stamp.alias("stamp"))
        .join(F.broadcast(wanted), ["range", "digest", "stamp"])
        .groupBy("range", "digest", "stamp")
        .agg(F.count("*").alias("times"), F.min("offset").alias("offset"))
    )


def _by_range(
    spark: SparkSession,
    asked: t.Sequence[Asked],
    step: t.Callable[[DataFrame, Edges], DataFrame],
    made: t.Callable[[tuple[t.Any, ...]], _Made],
) -> list[list[list[_Made]]]:
    """What is made of the rows of a step, by cluster and range, sorted."""
    found: list[list[list[_Made]]] = [[[] for _range in each.ranges] for each in asked]
    for side, number, *row in _collected(spark, asked, step):
        found[side][number].append(made(tuple(row)))
    return [[sorted(of_range) for of_range in ranges] for ranges in found]


def _collected(
    spark: SparkSession, asked: t.Sequence[Asked], step: t.Callable[[DataFrame, Edges], DataFrame]
) -> t.Iterator[tuple[t.Any, ...]]:
    """The rows of a step for all clusters in one job, each with the number of its cluster before it."""
    frames = [
        step(scan(spark, each.connection, each.ranges, _COLUMNS, parts=each.parts), each.edges).select(
            F.lit(side).alias("side"), "*"
        )
        for side, each in enumerate(asked)
        if each.ranges
    ]
    if frames:
        yield from _tuples(functools.reduce(DataFrame.union, frames))


def _tuples(frame: DataFrame) -> t.Iterator[tuple[t.Any, ...]]:
    for batch in frame.toArrow().to_batches():
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
