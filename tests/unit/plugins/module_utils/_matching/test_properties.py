# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The matching rule against random logs whose truth is known."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.certificates import WholeLogs
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Decision, LogFacts, Policy
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Verdict
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.driver import FullLog, settle
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.judge import (
    AMPLE,
    settle_among_others,
    violations,
)
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.logs import (
    plain_scenarios,
    scenario,
    scenarios,
)
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.oracle import Oracle
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.truth import (
    Arrived,
    Scenario,
    Written,
)

MOST_ROUNDS_OF_PLAIN_LOGS = 8
MOST_RECORDS_OF_PLAIN_LOGS = 150

many = settings(max_examples=400, suppress_health_check=list(HealthCheck))


def wrong(case: Scenario) -> list[str]:
    """What is wrong with the answer to a scenario, with the scenario itself where anything is."""
    decision = settle(case.committed, case.source(), case.destination(), case.policy).decision
    found = violations(case, decision)
    return [str(case), str(decision), *found] if found else []


@many
@given(scenarios())
def test_no_log_breaks_a_promise(case: Scenario) -> None:
    assert not wrong(case)


@many
@given(scenarios(most_records=8))
def test_no_tiny_log_breaks_a_promise(case: Scenario) -> None:
    assert not wrong(case)


@many
@given(plain_scenarios())
def test_exact_is_said_wherever_it_is_known(case: Scenario) -> None:
    """violations() demands it; here most scenarios are of the class where it is known."""
    assert not wrong(case)


@pytest.mark.parametrize("size", [5, 12, 24, 60, 200])
def test_no_log_of_any_size_breaks_a_promise(size: int) -> None:
    """The same from a plain generator, which is much faster than hypothesis and takes long logs too."""
    for seed in range(6000 // size):
        assert not wrong(scenario(random.Random(seed), size)), seed


@many
@given(scenarios(), st.randoms(use_true_random=False))
def test_what_other_groups_have_read_breaks_no_promise(case: Scenario, others: random.Random) -> None:
    decision = settle_among_others(case, others)
    assert not violations(case, decision), f"{case}{decision}"


def test_on_a_marker_or_after_it_is_the_same_place() -> None:
    """Clients commit both; nothing lies between, so nothing may differ in the answer."""
    compared = 0
    for seed in range(2000):
        case = scenario(random.Random(seed), 24)
        source, destination = case.source(), case.destination()
        if case.source_facts.compacted or case.policy.budget < AMPLE:
            continue  # a marker looks like a lost record there, and what is spent may differ by one
        for marker in (w.offset for w in case.written if w.kind == "marker"):
            if source.facts.log_start < marker < source.facts.end:
                on_it, after_it = (settle(at, source, destination, case.policy)[0] for at in (marker, marker + 1))
                assert (on_it.verdict, on_it.offset) == (after_it.verdict, after_it.offset), f"{seed}, {marker}: {case}"
                compared += 1
    assert compared > 500


def test_plain_logs_are_decided_in_few_rounds() -> None:
    odd = {"clock_back_by_hours", "clock_none", "clock_half", "recopied", "foreign", "junk", "append_time_there"}
    decided = 0
    for seed in range(4000):
        case = scenario(random.Random(seed), 60, plain=True)
        if odd.isdisjoint(case.traits) and Oracle(case).exact_is_known:
            rounds = settle(case.committed, case.source(), case.destination(), case.policy).rounds
            assert rounds <= MOST_ROUNDS_OF_PLAIN_LOGS, f"{seed}: {case}"
            decided += 1
    assert decided > 100


@pytest.mark.parametrize("after", [0, 3, 900])
@pytest.mark.parametrize("markers_every", [0, 10])
def test_cost_does_not_grow_with_the_logs(after: int, markers_every: int) -> None:
    """Records read are the same few for a log of two thousand and of twenty thousand records."""
    read = []
    for size in (2_000, 20_000):
        source, destination = (_mirror(size, first, markers_every) for first in (0, 77))
        decision, rounds, records = settle(source.facts.end - after, source, destination, Policy())
        assert decision.verdict is Verdict.EXACT
        assert rounds <= MOST_ROUNDS_OF_PLAIN_LOGS
        read.append(records)
    assert read[0] == read[1]
    if not markers_every:  # which make the tail be counted, record by record
        assert read[0] <= MOST_RECORDS_OF_PLAIN_LOGS


def _mirror(size: int, first: int, markers_every: int) -> FullLog:
    """`size` unlike records, one every 2 ms, from offset `first` on; a transaction's marker after every so many."""
    records, offset = [], first
    for index in range(size):
        records.append(Record(offset, 1_000_000 + 2 * index, digest := b"r%d" % index, digest))
        offset += 2 if markers_every and index % markers_every == markers_every - 1 else 1
    return FullLog(LogFacts(first, offset, offset), records)


def test_the_truth_of_a_worked_example() -> None:
    """So that the oracle is not taken on trust: a x b x, consumed up to b, copied twice; counted by hand."""
    written = tuple(Written(offset, "data", 5, text) for offset, text in enumerate("axbx"))
    arrived = tuple(Arrived(offset, 5, "axbx"[offset % 4], offset % 4) for offset in range(8))
    truth = Oracle(Scenario(2, written, LogFacts(0, 4, 4), 1, arrived, (), LogFacts(0, 8, 8)))
    assert [truth.lost(offset) for offset in range(9)] == [0, 0, 0, 0, 0, 0, 0, 1, 2]
    assert [truth.repeats(offset) for offset in range(9)] == [4, 3, 2, 2, 2, 1, 0, 0, 0]
    assert truth.best() == (6, 0)


def test_the_judge_sees_through_a_careless_rule() -> None:
    """A rule that takes the first record that looks like the next one, and calls it exact, is caught both ways."""
    kinds: set[str] = set()
    for seed in range(300):
        case = scenario(random.Random(seed), 12)
        unconsumed = [r.fingerprint for r in case.source().records if r.offset >= case.committed]
        match = next((r.offset for r in case.destination().records if [r.fingerprint] == unconsumed[:1]), None)
        if match is not None and Oracle(case).within:
            kinds.update(
                found[0] for found in violations(case, Decision.exact(WholeLogs(match, None, 0, arrived=True), match))
            )
    assert {"1", "2"} <= kinds
