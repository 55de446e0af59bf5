# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""For all groups together, whatever they share, the comparison comes to what counting comes to for each of them.

Clusters are lists here, which are read in Spark's place.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import hashlib
import itertools
import typing as t
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._matching import blocks, comparing
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.blocks import MATCHINGS, Block, cut_at
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.comparing import Row
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.context import Matching
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Log, LogFacts
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.verified import Claim
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._proof import comparison, elsewhere
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._proof.comparison import Case, findings
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.spark import SparkOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._records.fingerprint import PARTS
from ansible_collections.streamshift.kafka.plugins.module_utils._records.scanning import Range
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.proof import Asked, Search, Sighting

SOURCE, DESTINATION = Connection("source", ("s:1",)), Connection("destination", ("d:1",))
AT = TopicPartition("orders", 0)
NOON = 1_000_000


@dataclasses.dataclass
class Clusters:
    """Logs in memory, and how often each record of them was read for blocks."""

    logs: dict[str, dict[TopicPartition, list[Row]]]
    own_time: bool = False
    reads: collections.Counter[tuple[str, int]] = dataclasses.field(default_factory=collections.Counter)

    def side(self, connection: Connection) -> FakeSide:
        return FakeSide(connection, self)

    def rows(self, connection: Connection, where: t.Any) -> list[Row]:
        return [row for row in self.logs[connection.name][where.partition] if where.start <= row.offset < where.end]

    def read_blocks(self, _spark: t.Any, *asked: Asked) -> list[list[list[Block]]]:
        for each in asked:
            for where in each.ranges:
                self.reads.update((each.connection.name, row.offset) for row in self.rows(each.connection, where))
        return [
            [
                [
                    block
                    for span in itertools.pairwise([where.start, *edges, where.end])
                    for block in blocks_of(self.rows(each.connection, Range(where.partition, *span)))
                ]
                for where, edges in zip(each.ranges, each.edges, strict=True)
            ]
            for each in asked
        ]

    def read_rows(self, _spark: t.Any, *asked: Asked) -> list[list[list[Row]]]:
        return [[self.rows(each.connection, where) for where in each.ranges] for each in asked]

    def search(self, _spark: t.Any, asked: Asked, searches: t.Sequence[Search]) -> list[dict[t.Any, Sighting]]:
        answers = []
        for where, wanted in zip(asked.ranges, searches, strict=True):
            found: dict[t.Any, Sighting] = {}
            for row in self.rows(asked.connection, where):
                content = row.content(wanted.how)
                if content in wanted.wanted:
                    times, offset = found.get(content, (0, row.offset))
                    found[content] = Sighting(times + 1, offset)
            answers.append(found)
        return answers


class FakeSide:
    def __init__(self, connection: Connection, clusters: Clusters) -> None:
        self.connection, self.clusters = connection, clusters
        self.logs: dict[TopicPartition, Log] = {}

    def learn(self, partitions: t.Iterable[TopicPartition]) -> None:
        for partition in partitions:
            rows = self.clusters.logs[self.connection.name][partition]
            start = rows[0].offset if rows else 0
            end = rows[-1].offset + 1 if rows else 0
            own = self.clusters.own_time and self.connection is DESTINATION
            self.logs[partition] = Log(LogFacts(start, end, end, log_append_time=own))

    def look_up(self, times: t.Mapping[TopicPartition, t.Iterable[int]]) -> None:
        for partition, each in times.items():
            for time in each:
                rows = self.clusters.logs[self.connection.name][partition]
                found = next((row.offset for row in rows if row.timestamp >= time), None)
                self.logs[partition].lookups[time] = found


def blocks_of(rows: list[Row]) -> list[Block]:
    edges = [0, *cut_at([number for number, row in enumerate(rows) if row.bare[0] % 3 == 0], len(rows), 0), len(rows)]
    return [block_of(rows[low:high]) for low, high in itertools.pairwise(edges) if low < high]


def block_of(rows: list[Row]) -> Block:
    parts = ([row.fingerprint for row in rows], [row.bare for row in rows], [b"%d " % row.timestamp for row in rows])
    digests = [hashlib.md5(b"".join(part)).digest() for part in parts]
    return Block(0, rows[0].offset, rows[-1].offset + 1, len(rows), min(row.timestamp for row in rows), *digests)


def log_of(contents: t.Iterable[tuple[str, int]], first: int = 0) -> list[Row]:
    """Contents and timestamps, one after the other, with a gap behind every fifth."""
    rows = []
    for number, (content, timestamp) in enumerate(contents):
        digest = hashlib.md5(content.encode()).digest()
        rows.append(Row(0, first + number + number // 5, timestamp, digest, digest))
    return rows


def found_of(
    clusters: Clusters,
    positions: t.Sequence[tuple[int, int]],
    limit: int | None = None,
    hows: tuple[Matching, ...] = MATCHINGS[:1],
) -> list[t.Any]:
    cases = [Case(Claim("g", ((AT, c),), ((AT, d),), 0), PARTS, hows) for c, d in positions]
    with (
        mock.patch.object(blocks, "FEWEST", 2),
        mock.patch.object(blocks, "MOST", 6),
        mock.patch.object(comparing, "MOST", 6),
        mock.patch.object(comparison, "MARGIN", 12),
        mock.patch.object(comparison, "READ_AT_MOST", 40),
        mock.patch.object(comparison, "open_session", lambda _options, _say: contextlib.nullcontext()),
        mock.patch.object(comparison, "Side", clusters.side),
        mock.patch.object(comparison, "read_blocks", clusters.read_blocks),
        mock.patch.object(comparison, "read_rows", clusters.read_rows),
        mock.patch.object(elsewhere, "search", clusters.search),
    ):
        return findings(cases, SOURCE, DESTINATION, limit, SparkOptions())


records = st.lists(st.tuples(st.sampled_from("abcdefghijklm"), st.integers(NOON, NOON + 9)), max_size=40)
firsts = st.integers(0, 3)
offsets = st.integers(0, 55)


@settings(max_examples=300)
@given(records, records, firsts, firsts, st.lists(st.tuples(offsets, offsets), min_size=1, max_size=4))
def test_every_group_gets_what_counting_gives(here, there, first, other, positions):
    source, destination = log_of(here, first), log_of(there, other)
    clusters = Clusters({"source": {AT: source}, "destination": {AT: destination}})
    for (committed, offset), found in zip(positions, found_of(clusters, positions), strict=True):
        consumed, unconsumed = apart(source, committed)
        skipped, delivered = apart(destination, offset)
        missing, extra = unconsumed - delivered, delivered - unconsumed
        left_behind = missing & (skipped - consumed)
        assert found.compared == (unconsumed & delivered).total()
        assert found.skipped == left_behind.total()
        assert found.absent + found.to_come == (missing - left_behind).total()
        assert found.repeated == sum(number for content, number in extra.items() if content in consumed)
        assert found.repeated + found.copied_again + found.foreign == extra.total()
        assert bool(found.problems) >= bool(found.skipped or found.absent or found.repeated)
        assert found.complete
    # However many groups there are, a record is read for blocks once.
    assert set(clusters.reads.values()) <= {1}


def test_a_group_costs_little_more_however_many_share_its_partition():
    contents = [(str(number), NOON + number) for number in range(300)]
    source, destination = log_of(contents), log_of([*contents[:200], ("foreign", NOON), *contents[200:]])
    clusters = Clusters({"source": {AT: source}, "destination": {AT: destination}})
    numbers = range(0, 300, 3)
    compared = []
    plain = comparing.pair_blocks
    with mock.patch.object(
        comparing, "pair_blocks", lambda here, there, how: compared.append(len(there)) or plain(here, there, how)
    ):
        answers = found_of(clusters, [(at(source, each), at(destination, each + (each > 200))) for each in numbers])
    for number, found in zip(numbers, answers, strict=True):
        assert (found.compared, found.foreign, found.problems) == (300 - number, number <= 200, ())
    # Not each of the hundred and more blocks that the others' offsets have made.
    assert max(compared) < 10


def apart(log: list[Row], offset: int) -> tuple[collections.Counter[t.Any], collections.Counter[t.Any]]:
    how = MATCHINGS[0]
    return (
        collections.Counter(row.content(how) for row in log if row.offset < offset),
        collections.Counter(row.content(how) for row in log if row.offset >= offset),
    )


@settings(max_examples=200)
@given(
    st.integers(1, 150),
    st.integers(0, 20),
    st.lists(st.integers(0, 149), min_size=1, max_size=4),
    st.none() | st.integers(1, 60),
    st.booleans(),
    st.data(),
)
def test_exact_groups_are_right_and_others_are_not(size, lag, numbers, limit, own_time, data):
    contents = [(str(number), NOON + number) for number in range(size)]
    copied = contents[: max(1, size - lag)]
    if own_time:
        copied = [(content, timestamp + 5_000) for content, timestamp in copied]
    source, destination = log_of(contents), log_of([("junk", 0), *copied], first=7)
    clusters = Clusters({"source": {AT: source}, "destination": {AT: destination}}, own_time)
    stand = [min(number, len(copied)) for number in numbers]
    right = [(at(source, number), at(destination, number + 1)) for number in stand]
    for found in found_of(clusters, right, limit, MATCHINGS):
        assert found.problems == ()
        assert (found.repeated, found.foreign) == (0, 0)
        assert found.in_order is not False
    moved = data.draw(st.integers(0, len(stand) - 1))
    number, skips = stand[moved], data.draw(st.integers(1, 20))
    if number + skips <= len(copied):
        wrong = [*right]
        wrong[moved] = (right[moved][0], at(destination, number + 1 + skips))
        answers = found_of(clusters, wrong, limit, MATCHINGS)
        assert 0 < answers[moved].skipped <= skips
        assert "left behind" in answers[moved].problems[0]
        assert all(not found.problems for each, found in enumerate(answers) if wrong[each] == right[each])
    if number >= skips:
        wrong = [*right]
        wrong[moved] = (right[moved][0], at(destination, number + 1 - skips))
        answers = found_of(clusters, wrong, limit, MATCHINGS)
        assert 0 < answers[moved].repeated <= skips
        assert "repeated" in answers[moved].problems[0]


def at(rows: list[Row], number: int) -> int:
    return rows[number].offset if number < len(rows) else rows[-1].offset + 1


def test_an_offset_beyond_the_end_is_wrong():
    clusters = Clusters({"source": {AT: []}, "destination": {AT: []}})
    (found,) = found_of(clusters, [(0, 3)])
    assert found.problems == ("offset 3 of orders-0 is beyond the destination's end 0",)
    (found,) = found_of(clusters, [(0, 0)])
    assert (found.problems, found.complete) == ((), True)


@pytest.mark.parametrize("limit", [None, 1000])
def test_late_records_do_not_make_the_whole_log_be_searched(limit):
    """Where a copier is behind, its timestamps say that nothing before the offset can be meant."""
    contents = [(str(number), NOON + number) for number in range(100)]
    clusters = Clusters({"source": {AT: log_of(contents)}, "destination": {AT: log_of(contents[:60])}})
    searched: list[t.Any] = []
    plain = clusters.search
    with mock.patch.object(
        Clusters, "search", lambda self, spark, asked, wanted: searched.append(asked) or plain(spark, asked, wanted)
    ):
        (found,) = found_of(
            clusters, [(at(clusters.logs["source"][AT], 50), at(clusters.logs["destination"][AT], 50))], limit
        )
    assert (found.compared, found.to_come) == (10, 40)
    assert not [where for asked in searched for where in asked.ranges if asked.connection is DESTINATION]
