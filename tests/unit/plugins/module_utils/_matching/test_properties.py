"""What an answer costs, and that it does not depend on where a client commits; test_attack.py holds what is promised."""

import dataclasses

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import LogFacts, Policy
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Verdict
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.driver import FullLog, settle
from tests.attack import rule
from tests.attack.case import Options
from tests.attack.tally import attack
from tests.attack.worlds import world

MOST_ROUNDS_OF_PLAIN_LOGS = 8
MOST_RECORDS_OF_PLAIN_LOGS = 150


def test_on_a_marker_or_after_it_is_the_same_place() -> None:
    """Clients commit both; nothing lies between, so nothing may differ in the answer."""
    compared = 0
    for seed in range(40):
        case = dataclasses.replace(world("transactions", seed).cases[0], options=Options(), scaled=0)
        for marker in (record.offset for record in case.source if record.kind == "marker"):
            if case.source_edges.start < marker < case.source_edges.stable:
                positions = (dataclasses.replace(case, committed=at) for at in (marker, marker + 1))
                on_it, after_it = (rule.near(each) for each in positions)
                assert (on_it.verdict, on_it.offset) == (after_it.verdict, after_it.offset), f"{seed}, {marker}: {case}"
                compared += 1
    assert compared > 130


def test_plain_logs_are_decided_in_few_rounds() -> None:
    cost = attack("plain", range(150), ways=("near",)).cost["plain"]
    assert max(rounds for rounds, _records in cost) <= MOST_ROUNDS_OF_PLAIN_LOGS


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
