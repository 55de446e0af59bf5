"""Whoever waits for the replication tool reads which partition it has still to reach, and by how much."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import blocked
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning import by_records, settling
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason


@pytest.mark.parametrize(
    ("lags", "line"),
    [
        ({("billing", 0): 5}, "orders-0 lags by 5 records"),
        ({("billing", 0): 1}, "orders-0 lags by 1 record"),
        ({("billing", 0): None}, "orders-0 lags"),
        ({("billing", 0): 5, ("fraud", 0): 7}, "orders-0 lags by 7 records"),
        ({("billing", 0): 5, ("billing", 1): 1200}, "2 partitions lag, most of all orders-1 by 1,200 records"),
    ],
)
def test_the_partition_that_lags_most_is_named(lags, line):
    partitions = {key: TopicPartition("orders", key[1]) for key in lags}
    cases = {key: settling.Case(10, partition, partition) for key, partition in partitions.items()}
    decisions = {key: blocked(Reason.DESTINATION_LAGS, "", to_come=lag) for key, lag in lags.items()}
    assert by_records._lag(cases, decisions) == line


def test_what_is_waited_for_is_said_now_and_then(monkeypatch):
    now, said = [0.0], []
    monkeypatch.setattr(settling.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(settling.time, "sleep", lambda seconds: now.append(now.pop() + seconds))
    waiting = settling.ReplicationWait(12, said.append)
    while waiting.goes_on("copies"):
        pass
    assert said == [f"waiting for copies ({left} s left)" for left in (12, 7, 2)]
