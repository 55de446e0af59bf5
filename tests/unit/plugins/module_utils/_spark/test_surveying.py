# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A survey on Spark says what its plain twin says of the same records."""

from __future__ import annotations

import itertools
import random

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.context import Matching
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._spark import surveying
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.naming import named
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.surveying import Asked
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching import surveyor
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.logs import scenario

COLUMNS = "range int, offset bigint, timestamp bigint, log_append_time boolean, fingerprint binary, bare binary"


def rows(number: int, records: list[Record]) -> list[tuple[int, int, int, bool, bytes, bytes]]:
    return [(number, r.offset, r.timestamp, r.log_append_time, r.digest, r.bare) for r in records]


def asked(commits: list[int], **more: object) -> Asked:
    where = TopicPartition("orders", 0)
    return Asked(where, where, (0, 1 << 30), (0, 1 << 30), tuple(sorted(set(commits))), **more)


def frame(spark, parts: list[list[tuple]]):
    return spark.createDataFrame([row for part in parts for row in part], COLUMNS)


@pytest.mark.parametrize("few", [True, False], ids=["broadcast", "shuffled"])
def test_a_survey_is_what_its_plain_twin_says(spark, monkeypatch, few):
    """150 random histories at once, those with headers added, broker's times and compaction among them."""
    monkeypatch.setattr(surveying, "BROADCAST", 1 << 60 if few else 0)
    draws = random.Random(4)
    cases = [scenario(random.Random(number), (8, 24, 80)[number % 3]) for number in range(150)]
    logs = [(case.source().records, case.destination().records) for case in cases]
    pairs = [
        asked(
            [draws.randrange(90) for _unused in range(1 + draws.randrange(4))],
            borders=tuple(sorted(draws.randrange(90) for _unused in range(draws.randrange(3)))),
        )
        for _unused in cases
    ]
    # Every third destination is read in two pieces.
    pieces, of = [], []
    for number, (_source, there) in enumerate(logs):
        cut = len(there) // 2 if number % 3 == 0 else len(there)
        for part in (there[:cut], there[cut:]):
            pieces.append(rows(len(of), part))
            of.append(number)
    known = frame(spark, [rows(number, source) for number, (source, _there) in enumerate(logs)])
    found = surveying.surveys(spark, known, frame(spark, pieces), pairs, of)
    for (source, there), pair, made in zip(logs, pairs, found, strict=True):
        expected = surveyor.survey(source, there, pair.commits, made.matching, pair.borders)
        assert made.parts == expected.parts
        # A piece's border may leave a record with several places in doubt that the whole log settles.
        if of.count(pairs.index(pair)) == 1 or all(run.opens.low == run.opens.high for run in expected.runs):
            assert made.runs == expected.runs
        others = surveyor.survey(source, there, pair.commits, made.matching._replace(headers=not made.matching.headers))
        assert made.matching.headers or made.foreign < others.foreign


def test_the_large_side_stays_where_it_was_read(spark):
    """A hundred million copies are not to be sent around for a few thousand places."""
    copies = spark.createDataFrame([], f"{COLUMNS}, pair int")
    places = spark.createDataFrame([], surveying.PLACES)
    compared = named(copies, Matching(True, True))
    plan = located_plan(surveying.located(compared, places, few=True))
    assert "BroadcastHashJoin" in plan
    assert not any("Exchange" in line and "Broadcast" not in line for line in plan.splitlines())


def located_plan(frame) -> str:
    return frame._jdf.queryExecution().executedPlan().toString()


def test_nothing_at_all(spark):
    nothing = frame(spark, [])
    (found,) = surveying.surveys(spark, nothing, nothing, [asked([3, 7])], [0])
    assert found.runs == () and [part.records for part in found.parts] == [0, 0, 0]


def test_pieces_cover_the_destination(monkeypatch):
    monkeypatch.setattr(surveying, "PIECE", 10)
    one, other = asked([1])._replace(destination_span=(3, 25)), asked([1])._replace(destination_span=(7, 7))
    pieces, of = surveying._pieces([one, other])
    assert [(piece.start, piece.end) for piece in pieces] == [(3, 13), (13, 23), (23, 25)]
    assert of == [0, 0, 0]
    assert all(a.end == b.start for a, b in itertools.pairwise(pieces))
