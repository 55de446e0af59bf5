# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Tell the records of a destination topic apart: consumed, unconsumed, unsure, or unknown to the source.

Functions of DataFrames, as scan() makes them: `range` is a source or destination partition's number among those that were
read. Records are recognised by `name` (a fingerprint) and `time`. Many groups are served at once: bit g of `consumed` is
set where group g has consumed a record, or every source record that is equal to it.

Of n equal source records on both sides of a committed offset and n copies, the i-th is the i-th, by timestamp, partition
and offset. For whoever reads them, equal records are the same: what counts is how many are left to be read. Where the
numbers differ, the copies may be any of them: `unsure`.
"""

from __future__ import annotations

from ansible_collections.streamshift.kafka.plugins.module_utils._spark.library import (
    Column,
    DataFrame,
    Window,
    functions,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.naming import time_of

MOST_GROUPS = 62  # bits of a bigint that are no sign
UNKNOWN, CONSUMED, UNCONSUMED, UNSURE = range(4)

# What the small tables hold that go with the records to every task.
SIDES = "range int, low bigint, high bigint, consumed bigint"
PIECES = "range int, piece int, low bigint, high bigint"
STARTS = "range int, group int, piece int"
GAPS = "number int, range int, low bigint, high bigint"
PLACES = "number int, range int, offset bigint"

_NAME = ["name", "time"]


def traits(records: DataFrame) -> DataFrame:
    """One row: with_headers (a record has some), untimed (one has no timestamp), stamped (a broker has set one's)."""
    f = functions
    return records.agg(
        f.coalesce(f.bool_or(f.col("fingerprint") != f.col("bare")), f.lit(False)).alias("with_headers"),
        f.coalesce(f.bool_or(f.col("timestamp") < 0), f.lit(False)).alias("untimed"),
        f.coalesce(f.bool_or("log_append_time"), f.lit(False)).alias("stamped"),
    )


def other_headers(source: DataFrame, destination: DataFrame, timestamp: bool) -> DataFrame:
    """A row for every record without headers that is at the source, and at the destination with headers of its own."""
    return _changed(source, destination, [functions.col("bare"), time_of(timestamp).alias("time")], "fingerprint")


def other_times(source: DataFrame, destination: DataFrame) -> DataFrame:
    """A row for every key and value that is at the source, and at the destination with a timestamp of its own."""
    return _changed(source, destination, [functions.col("bare")], "timestamp")


def _changed(source: DataFrame, destination: DataFrame, kept: list[Column], part: str) -> DataFrame:
    """What both clusters have with the same kept parts, and the destination with another part than the source."""
    f = functions

    def each(records: DataFrame, at_source: bool) -> DataFrame:
        return records.select(*kept, part, f.lit(at_source).alias("here"))

    whole = each(source, True).union(each(destination, False))
    names = [name for name in whole.columns if name not in (part, "here")]
    seen = whole.groupBy(*names, part).agg(f.bool_or("here").alias("here"))
    return seen.groupBy(*names).agg((f.bool_or("here") & ~f.bool_and("here")).alias("other")).where("other")


def told_apart(source: DataFrame, sides: DataFrame) -> DataFrame:
    """The source's records with `consumed`. sides: of each partition, which groups have consumed [low, high)."""
    return _within(source, sides).select(source["*"], "consumed")


def tally(source: DataFrame, destination: DataFrame) -> DataFrame:
    """A row for each name and time, with how many are `here` at the source (told apart) and `there`.

    every, some: the groups that have consumed all of those here, and any of them. lowest, highest: the first and the last
    source partition of them, earliest: the lowest offset. range, offset, timestamp: the one there, where it is the only one.
    """
    f = functions
    nothing = f.lit(None)
    here = source.select(
        *_NAME,
        f.lit(1).alias("here"),
        f.lit(0).alias("there"),
        "consumed",
        f.col("range").alias("from"),
        f.col("offset").alias("earliest"),
        nothing.cast("int").alias("range"),
        nothing.cast("bigint").alias("offset"),
        nothing.cast("bigint").alias("timestamp"),
    )
    there = destination.select(
        *_NAME,
        f.lit(0),
        f.lit(1),
        nothing.cast("bigint"),
        nothing.cast("int"),
        nothing.cast("bigint"),
        "range",
        "offset",
        "timestamp",
    )
    return (
        here.union(there)
        .groupBy(*_NAME)
        .agg(
            f.sum("here").alias("here"),
            f.sum("there").alias("there"),
            f.bit_and("consumed").alias("every"),
            f.bit_or("consumed").alias("some"),
            f.min("from").alias("lowest"),
            f.max("from").alias("highest"),
            *(f.min(column).alias(column) for column in ("earliest", "range", "offset", "timestamp")),
        )
    )


def alone(tallied: DataFrame) -> DataFrame:
    """Every destination record whose name is there once, and at the source once or not at all, as told() has them."""
    f = functions
    return tallied.where((f.col("there") == 1) & (f.col("here") <= 1)).select(
        "range",
        "offset",
        "timestamp",
        f.col("every").alias("consumed"),
        f.lit(0).cast("bigint").alias("unsure"),
        *_NAME,
    )


def repeated(tallied: DataFrame) -> DataFrame:
    """The rows of the tally for all other destination records."""
    f = functions
    return tallied.where((f.col("there") > 0) & ((f.col("there") > 1) | (f.col("here") > 1)))


def told(repeats: DataFrame, source: DataFrame, destination: DataFrame) -> DataFrame:
    """The destination's records that are repeated, looked up by name.

    The columns: range, offset, timestamp, consumed (null where it is unknown), unsure, name, time.
    """
    f = functions
    countable = (f.col("here") == f.col("there")) & (f.col("every") != f.col("some"))
    known = repeats.select(
        *_NAME,
        "every",
        f.coalesce((f.col("here") > 0) & countable, f.lit(False)).alias("countable"),
        f.coalesce(f.col("some").bitwiseAND(f.bitwise_not("every")), f.lit(0).cast("bigint")).alias("unsure"),
    )
    copies = destination.join(known, _NAME)
    simple = copies.where(~f.col("countable")).withColumnRenamed("every", "consumed")
    originals = source.join(known.where("countable").select(*_NAME), _NAME)
    equal = (
        _numbered(copies.where("countable"))
        .join(_numbered(originals).select(*_NAME, "number", "consumed"), [*_NAME, "number"])
        .withColumn("unsure", f.lit(0).cast("bigint"))
    )
    columns = ["range", "offset", "timestamp", "consumed", "unsure", *_NAME]
    return simple.select(*columns).union(equal.select(*columns))


def firsts(records: DataFrame, groups: int, young: int | None) -> DataFrame:
    """For each range, group and state its first record (offset, timestamp), and the first from the timestamp young on."""
    f = functions
    recent = f.lit(None).cast("bigint") if young is None else f.when(f.col("timestamp") >= young, f.col("offset"))
    merged = records.groupBy("range", "consumed", "unsure").agg(
        f.min(f.struct("offset", "timestamp")).alias("first"), f.min(recent).alias("young")
    )
    return (
        _by_group(merged, groups)
        .groupBy("range", "group", "state")
        .agg(f.min("first").alias("first"), f.min("young").alias("young"))
        .select("range", "group", "state", "first.offset", "first.timestamp", "young")
    )


def around(records: DataFrame, groups: int, pieces: DataFrame, starts: DataFrame) -> DataFrame:
    """For each range and group: last_consumed before its first unconsumed record, and what follows from there on.

    pieces: each range cut at the first unconsumed records of all groups. starts: the piece that begins with the group's
    own. consumed_after, unsure_after: how many from there on are consumed or unsure.
    """
    f = functions
    cut = _within(records, pieces).groupBy(records["range"], "piece", "consumed", "unsure")
    merged = cut.agg(f.count(f.lit(1)).alias("records"), f.max("offset").alias("last"))
    each = _by_group(merged, groups).join(f.broadcast(starts.withColumnRenamed("piece", "own")), ["range", "group"])
    after = f.col("piece") >= f.col("own")

    def how_many(state: int) -> Column:
        return f.sum(f.when(after & (f.col("state") == state), f.col("records")).otherwise(0))

    return each.groupBy("range", "group").agg(
        f.max(f.when(~after & (f.col("state") == CONSUMED), f.col("last"))).alias("last_consumed"),
        how_many(CONSUMED).alias("consumed_after"),
        how_many(UNSURE).alias("unsure_after"),
    )


def youngest_unknown(records: DataFrame, gaps: DataFrame) -> DataFrame:
    """For each number of gaps the latest timestamp of the unknown records in [low, high); no row where there are none."""
    unknown = records.where(functions.col("consumed").isNull())
    return _within(unknown, gaps).groupBy("number").agg(functions.max("timestamp").alias("timestamp"))


def lacking(tallied: DataFrame) -> DataFrame:
    """The rows of the tally for consumed records of which the destination has fewer than the source."""
    f = functions
    return tallied.where((f.col("here") > f.col("there")) & (f.col("some") != 0))


def passed(tallied: DataFrame) -> DataFrame:
    """For each range of the source: the last offset that is surely at the destination.

    Equal records of several partitions prove nothing of any, and of several of one partition the first alone is sure.
    """
    f = functions
    return (
        tallied.where((f.col("there") > 0) & (f.col("lowest") == f.col("highest")))
        .groupBy(f.col("lowest").alias("range"))
        .agg(f.max("earliest").alias("passed"))
    )


def missing(lacks: DataFrame, several: DataFrame, source: DataFrame, last: DataFrame, groups: int) -> DataFrame:
    """For each range of the source and group: how many consumed records may be still to come, and the first one's offset.

    lacks: as lacking() makes them; several: those of them that are at the source more than once; last: see passed().
    """
    f = functions
    single = lacks.where(f.col("here") == 1).select(
        f.col("lowest").alias("range"), f.col("earliest").alias("offset"), f.col("every").alias("consumed")
    )
    equal = source.join(several.select(*_NAME), _NAME, "left_semi").select("range", "offset", "consumed")
    merged = (
        single.union(equal)
        .where(f.col("consumed") != 0)
        .join(f.broadcast(last), "range", "left")
        .where(f.col("offset") > f.coalesce("passed", f.lit(-1)))
        .groupBy("range", "consumed")
        .agg(f.count(f.lit(1)).alias("records"), f.min("offset").alias("first"))
        .withColumn("unsure", f.lit(0).cast("bigint"))
    )
    return (
        _by_group(merged, groups)
        .where(f.col("state") == CONSUMED)
        .groupBy("range", "group")
        .agg(f.sum("records").alias("records"), f.min("first").alias("first"))
    )


def at_places(records: DataFrame, places: DataFrame) -> DataFrame:
    """The records that stand at places, with their numbers."""
    small = functions.broadcast(places.withColumnsRenamed({"range": "at", "offset": "wanted"}))
    found = records.join(small, (records["range"] == small["at"]) & (records["offset"] == small["wanted"]))
    return found.select("number", "offset", *_NAME)


def originals(source: DataFrame, names: DataFrame) -> DataFrame:
    """Of the source's records that have one of these names: the first of each name, time and `consumed`."""
    f = functions
    wanted = source.join(f.broadcast(names.select(*_NAME).distinct()), _NAME)
    first = wanted.groupBy(*_NAME, "consumed").agg(f.min(f.struct("range", "offset")).alias("first"))
    return first.select(*_NAME, "consumed", "first.range", "first.offset")


def _within(records: DataFrame, spans: DataFrame) -> DataFrame:
    """The records with the columns of the spans that they lie in, and without the spans' own range."""
    small = functions.broadcast(spans.withColumnRenamed("range", "of"))
    offset = records["offset"]
    return records.join(small, (records["range"] == small["of"]) & (offset >= small["low"]) & (offset < small["high"]))


def _numbered(records: DataFrame) -> DataFrame:
    order = Window.partitionBy(*_NAME).orderBy("timestamp", "range", "offset")
    return records.withColumn("number", functions.row_number().over(order))


def _by_group(rows: DataFrame, groups: int) -> DataFrame:
    """The rows once for each group, with what their records are for it. To be used on few rows only."""
    f = functions
    one = f.explode(f.sequence(f.lit(0), f.lit(groups - 1))).alias("group")

    def has(column: str) -> Column:
        return f.expr(f"(shiftright({column}, `group`) & 1) = 1")

    state = (
        f.when(f.col("consumed").isNull(), UNKNOWN)
        .when(has("consumed"), CONSUMED)
        .when(has("unsure"), UNSURE)
        .otherwise(UNCONSUMED)
    )
    return rows.select("*", one).withColumn("state", state)
