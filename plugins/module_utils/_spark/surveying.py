# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Survey whole logs: where each destination record comes from, told in runs that are alike for every group."""

from __future__ import annotations

import collections
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.context import Matching
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.survey import (
    NOWHERE,
    Origin,
    Part,
    Run,
    Survey,
    merged,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import NO_TIMESTAMP, TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records.fingerprint import PARTS
from ansible_collections.streamshift.kafka.plugins.module_utils._spark import runs as worker
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.library import DataFrame, SparkSession, functions
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.naming import named
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.scan import COMPARED, Range, scan
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.session import kept

if t.TYPE_CHECKING:
    import pyarrow

Span = tuple[int, int]  # offsets [start, end)

# A destination log is read in pieces, for records have to stay in order, and a task reads one piece after the other.
PIECE = 2_000_000  # offsets
# So many places of source records are sent to every task; more are dealt out, and the destination's records as well.
BROADCAST = 500_000  # records
PLACES = "pair int, name binary, time bigint, low bigint, high bigint"
_PARTS = "pair int, part int, records bigint, first bigint, last bigint"
_RUNS = (
    "range int, first bigint, last bigint, records bigint, opens_low bigint, opens_high bigint, closes_low bigint, "
    "closes_high bigint, highest bigint, rising boolean"
)


class Asked(t.NamedTuple):
    """A source partition and its copy, and the offsets of each that are read, all within the log as it was looked at.

    commits: what groups have committed at the source, each once, ascending. borders: destination offsets that no run may
    cross.
    """

    source: TopicPartition
    destination: TopicPartition
    source_span: Span
    destination_span: Span
    commits: tuple[int, ...]
    borders: tuple[int, ...] = ()


def survey(
    spark: SparkSession,
    source: Connection,
    destination: Connection,
    asked: t.Sequence[Asked],
    parts: t.Collection[str] = PARTS,
    *,
    timestamps: bool = True,
    headers: bool = True,
) -> list[Survey]:
    """Read both logs of every pair, and survey them; in the order asked.

    parts: what fingerprints cover. timestamps, headers: whether they are compared at all; where copiers have changed
    them, they are not. Raises what scan() does.
    """
    pieces, of = _pieces(asked)
    here = scan(spark, source, [Range(each.source, *each.source_span) for each in asked], COMPARED, parts=parts)
    there = scan(spark, destination, pieces, (*COMPARED, "rank"), parts=parts)
    with kept(here) as known, kept(there) as copies:
        return surveys(spark, known, copies, asked, of, timestamps, headers)


def surveys(
    spark: SparkSession,
    known: DataFrame,
    copies: DataFrame,
    asked: t.Sequence[Asked],
    of: t.Sequence[int],
    timestamps: bool = True,
    headers: bool = True,
) -> list[Survey]:
    """The surveys of records that are read. known: those of the sources, whose range is the number of a pair; copies:

    those of the destinations, in pieces; of: the number of the pair that each piece belongs to.
    """
    known = known.withColumnRenamed("range", "pair")
    timed = _timed(known, copies, of, len(asked)) if timestamps else set()
    found: dict[int, Survey] = {}
    for with_headers in (True, False) if headers else (True,):
        wanted: dict[Matching, list[int]] = collections.defaultdict(list)
        for number in range(len(asked)):
            if with_headers or found[number].foreign:
                wanted[Matching(number in timed, with_headers)].append(number)
        for matching, numbers in wanted.items():
            for number, made in _survey(spark, known, copies, asked, of, numbers, matching).items():
                # Where more are found without their headers, the copier has added some.
                if number not in found or made.foreign < found[number].foreign:
                    found[number] = made
    return [found[number] for number in range(len(asked))]


def _pieces(asked: t.Sequence[Asked]) -> tuple[list[Range], list[int]]:
    """What is read of the destination, and the number of the pair that each piece belongs to."""
    pieces, of = [], []
    for number, each in enumerate(asked):
        start, end = each.destination_span
        for low in range(start, end, PIECE):
            pieces.append(Range(each.destination, low, min(low + PIECE, end)))
            of.append(number)
    return pieces, of


def _timed(known: DataFrame, copies: DataFrame, of: t.Sequence[int], pairs: int) -> set[int]:
    """The pairs whose timestamps can be compared: every source record has one, and no copy has the broker's."""
    oldest = known.groupBy("pair").agg(functions.min("timestamp").alias("oldest")).collect()
    stamped = copies.groupBy("range").agg(functions.max("log_append_time").alias("stamped")).collect()
    rewritten = {of[row["range"]] for row in stamped if row["stamped"]}
    without = {row["pair"] for row in oldest if row["oldest"] == NO_TIMESTAMP}
    return set(range(pairs)) - rewritten - without


def _survey(
    spark: SparkSession,
    known: DataFrame,
    copies: DataFrame,
    asked: t.Sequence[Asked],
    of: t.Sequence[int],
    numbers: t.Sequence[int],
    matching: Matching,
) -> dict[int, Survey]:
    """The surveys of the pairs with these numbers."""
    commits = {number: asked[number].commits for number in numbers}
    borders = {number: asked[number].borders for number in numbers}
    its = known.where(functions.col("pair").isin(*numbers))
    size = sum(asked[number].source_span[1] - asked[number].source_span[0] for number in numbers)
    pairs = spark.createDataFrame(list(enumerate(of)), "range int, pair int")
    theirs = (
        named(copies, matching).join(functions.broadcast(pairs), "range").where(functions.col("pair").isin(*numbers))
    )
    rows = located(theirs, places(named(its, matching)), few=size <= BROADCAST)
    runs: dict[int, list[Run]] = collections.defaultdict(list)
    for row in runs_of(rows, of, commits, borders).collect():
        opens, closes = Origin(row["opens_low"], row["opens_high"]), Origin(row["closes_low"], row["closes_high"])
        run = Run(row["first"], row["last"], row["records"], opens, closes, row["highest"], row["rising"])
        runs[of[row["range"]]].append(run)
    parts = {number: [Part(0, 0, 0)] * (len(commits[number]) + 1) for number in numbers}
    for row in parts_of(its, commits).collect():
        parts[row["pair"]][row["part"]] = Part(row["records"], row["first"], row["last"])
    return {
        number: Survey(
            commits[number],
            tuple(parts[number]),
            tuple(merged(runs[number], commits[number], borders[number])),
            matching,
        )
        for number in numbers
    }


def places(records: DataFrame) -> DataFrame:
    """Where each different record of a source partition stands: its lowest and its highest offset. PLACES."""
    return records.groupBy("pair", "name", "time").agg(
        functions.min("offset").alias("low"), functions.max("offset").alias("high")
    )


def located(copies: DataFrame, found: DataFrame, *, few: bool) -> DataFrame:
    """range, offset, low and high of every copy, in the order of a piece's offsets; NOWHERE for a foreign one.

    few: the places fit every task, and the copies stay where they were read; else they are dealt out and sorted.
    """
    wanted = functions.broadcast(found) if few else found.hint("shuffle_hash")
    nowhere = functions.lit(NOWHERE).cast("bigint")
    rows = copies.join(wanted, ["pair", "name", "time"], "left").select(
        "range",
        "offset",
        functions.coalesce("low", nowhere).alias("low"),
        functions.coalesce("high", nowhere).alias("high"),
    )
    return rows if few else rows.repartition("range").sortWithinPartitions("range", "offset")


def runs_of(
    rows: DataFrame,
    of: t.Sequence[int],
    commits: t.Mapping[int, t.Sequence[int]],
    borders: t.Mapping[int, t.Sequence[int]],
) -> DataFrame:
    """The runs of located copies; a run may be cut anywhere, see merged(). of: the pair of each range."""

    def told(batches: t.Iterable[pyarrow.RecordBatch]) -> t.Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            yield from worker.runs_of(batch, of, commits, borders)

    return rows.mapInArrow(told, _RUNS)


def parts_of(records: DataFrame, commits: t.Mapping[int, t.Sequence[int]]) -> DataFrame:
    """How many records of each source partition stand between its commits."""

    def told(batches: t.Iterable[pyarrow.RecordBatch]) -> t.Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            yield worker.parts_of(batch, commits)

    counted = records.select("pair", "offset").mapInArrow(told, _PARTS)
    return counted.groupBy("pair", "part").agg(
        functions.sum("records").alias("records"),
        functions.min("first").alias("first"),
        functions.max("last").alias("last"),
    )
