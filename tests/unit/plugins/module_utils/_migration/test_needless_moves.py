"""A plan takes no group back over offsets that hold no record, and reads little to find out whether they do."""

import dataclasses

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Log, LogFacts
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.expected import without_needless_moves
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan, PlanEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Verdict

ORDERS = TopicPartition("orders", 0)


class Logs:
    """One log with visible records at these offsets. read: what was asked for."""

    def __init__(self, offsets, facts):
        self.offsets, self.asked = offsets, []
        self.logs = {ORDERS: Log(facts)}

    def read(self, spans):
        for _partition, (start, end) in spans:
            self.asked.append((start, end))
            self.logs[ORDERS].add(
                (start, end), [Record(at, at, b"a", b"a") for at in self.offsets if start <= at < end]
            )


@pytest.mark.parametrize(
    ("records", "offset", "expected", "then", "asked"),
    [
        pytest.param([6, 12, 13], 7, 12, 12, [(7, 12), (7, 12)], id="markers and aborted records"),
        pytest.param([6, 9, 12], 7, 12, 7, [(7, 12)], id="a record that comes again"),
        pytest.param([6, 700], 7, 600, 600, [(7, 107), (7, 600)], id="a long gap"),
        pytest.param([6, 590], 7, 600, 7, [(7, 107), (7, 600)], id="a record at its end"),
        pytest.param(range(900), 7, 900, 7, [(7, 107)], id="no gap, of which little is read"),
        pytest.param([6], 7, 901, 7, [], id="after the last stable offset, where records may still appear"),
        pytest.param([6], 3, 12, 3, [], id="before the log's start"),
        pytest.param([6], 12, 7, 12, [], id="further than the group"),
        pytest.param([6], 7, None, 7, [], id="no committed offset"),
        pytest.param([6], 7, 900, 7, [], id="more than may be read"),
    ],
)
def test_a_group_is_taken_back_only_over_records(records, offset, expected, then, asked):
    logs = Logs(records, LogFacts(5, 900, 950))
    found = None if expected is None else CommittedOffset(expected, "old", 3)
    entry = PlanEntry("billing", ORDERS, offset, Verdict.EXACT, (), "m", 2, expected=found)
    most = 850 if asked == [] and expected == 900 else 1_000
    other = dataclasses.replace(entry, group="fraud", verdict=Verdict.REQUESTED, expected=CommittedOffset(40))
    made, same = without_needless_moves(Plan("a", "b", "c", (entry, other)), logs, most).entries
    assert same == other
    assert (made.offset, made.metadata) == (then, "m") and logs.asked == asked
    assert made.leader_epoch == (3 if then == expected else 2)


def test_what_an_option_asks_for_is_not_looked_at():
    logs = Logs([], LogFacts(5, 900, 950))
    entry = PlanEntry("billing", ORDERS, 7, Verdict.REQUESTED, (), expected=CommittedOffset(12))
    assert without_needless_moves(Plan("a", "b", "c", (entry,)), logs, 1_000).entries == (entry,) and logs.asked == []
