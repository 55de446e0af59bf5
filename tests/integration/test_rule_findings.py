# SPDX-License-Identifier: GPL-3.0-or-later

"""Logs for which an earlier version of the rule skipped records, where brokers matter: tests/support/findings.py has the others.

Each test writes them with real producers, and asks with default options: the answer is right without any verification, and
of a plan that holds the earlier answer, kafka_offset_verify says what is wrong, and nothing of it is committed.
"""

from __future__ import annotations

import contextlib

import pytest
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient

from testbed.clients import Message, create_topic, produce, read
from tests.support.consumers import open_transaction
from tests.support.mirror_records import offset_sync
from tests.support.two_logs import Answer, TwoLogs, records, unlike


@pytest.fixture(params=[0, 300], ids=["short logs", "long logs"])
def logs(source, destination, topic, tmp_path, request):
    """Short logs are counted whole; of long ones little is read, as long as that proves the answer."""
    return TwoLogs(source, destination, topic, tmp_path / "migration", before=request.param)


@pytest.fixture
def alone(source, destination, topic, tmp_path):
    """Nothing but what the test writes."""
    return TwoLogs(source, destination, topic, tmp_path / "migration")


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
    with contextlib.closing(KafkaProducer(bootstrap_servers=source.bootstrap_servers)) as producer:
        for value, at in ((b"a", 0), (b"b", 0), (b"c", 8000)):
            producer.send(logs.topic, value, partition=0, timestamp_ms=at)
    assert [record.timestamp for record in read(source, logs.topic)][-3:] == [0, 0, 8000]
    copies = [Message(b"a", timestamp=copied), Message(b"b", timestamp=copied), Message(b"c", timestamp=8000)]
    produce(destination, logs.topic, copies)
    assert logs.answer(1) == Answer("exact", 1)
    assert logs.objections() == {}
    assert logs.forced(2) == {"skipped": 1}


@pytest.fixture
def keeping(source, destination, alone):
    """With strategy mirror_maker, which keeps entries of earlier plans, and MirrorMaker 2's internal topics."""
    tag = alone.topic[-8:]
    policy = {"name": "identity", "source_alias": f"here{tag}", "target_alias": f"there{tag}"}
    alone.options = {"strategy": "mirror_maker", "replication_policy": policy}
    syncs = f"mm2-offset-syncs.there{tag}.internal"
    create_topic(source, syncs, cleanup_policy="compact")
    produce(source, syncs, [offset_sync(alone.topic, 0, 0, 0)])
    create_topic(destination, f"here{tag}.checkpoints.internal", cleanup_policy="compact")
    return alone


def test_f6_a_kept_entry_and_a_log_that_begins_anew(destination, keeping):
    """F6: an entry at the start of the destination's log was kept, and the topic was copied anew from its beginning."""
    keeping.create()
    keeping.write(unlike(range(200)), unlike(range(200)))
    keeping.start(destination, 152)
    assert keeping.answer(106) == Answer("exact", 152)
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=destination.bootstrap_servers)) as client:
        client.delete_topics([keeping.topic])
    create_topic(destination, keeping.topic, retention_ms=-1)
    produce(destination, keeping.topic, unlike(range(200)))
    assert keeping.answer(106) == Answer("exact", 106)
    assert keeping.objections() == {}
    assert keeping.forced(152) == {"skipped": 46}
