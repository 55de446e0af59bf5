"""Logs for which an earlier version of the rule was wrong, where brokers matter: tests/support/findings.py has the others.

Each test writes them with real producers, and asks with default options: the answer is right without any verification, and
of a plan that holds the earlier answer, kafka_offset_verify says what is wrong, and nothing of it is committed.
"""

import pytest

from testbed.clients import Message, produce, produce_with_times, read
from tests.support.consumers import open_transaction
from tests.support.two_logs import Answer, TwoLogs, records


@pytest.fixture(params=[0, 300], ids=["short logs", "long logs"])
def logs(source, destination, topic, tmp_path, request):
    """Short logs are counted whole; of long ones little is read, as long as that proves the answer."""
    return TwoLogs(source, destination, topic, tmp_path / "migration", before=request.param)


def test_f1_records_of_an_open_transaction_are_copied(source, logs):
    """F1: one of them equals a consumed record, and was taken for consumed."""
    logs.create()
    logs.write(records("a"), records("a x c a"))
    with open_transaction(source, logs.topic, records("x c a")):
        assert logs.answer(1) == Answer("exact", 1)
        assert logs.objections() == {}
        assert logs.forced(4) == {"skipped": 3}


@pytest.mark.parametrize("copied", [1, 0], ids=["0 to 1", "0 to now"])
def test_f2b_some_times_are_changed(source, destination, logs, copied):
    """F2b: a record of the time 0 gets another one, as librdkafka takes 0 for now; the others keep theirs."""
    logs.create()
    originals = [Message(value, timestamp=at) for value, at in ((b"a", 0), (b"b", 0), (b"c", 8000))]
    produce_with_times(source, logs.topic, originals)
    assert [record.timestamp for record in read(source, logs.topic)][-3:] == [0, 0, 8000]
    copies = [Message(b"a", timestamp=copied), Message(b"b", timestamp=copied), Message(b"c", timestamp=8000)]
    produce(destination, logs.topic, copies)
    assert logs.answer(1) == Answer("exact", 1)
    assert logs.objections() == {}
    assert logs.forced(2) == {"skipped": 1}
