# SPDX-License-Identifier: GPL-3.0-or-later

"""Logs for which an earlier version of the rule gave wrong answers: it skipped records, or repeated some without saying so.

Each test writes them with real producers, and asks with default options: the answer is right without any verification, and
of a plan that holds the earlier answer, kafka_offset_verify says what is wrong, and nothing of it is committed.

The findings are called F1 to F12. F10, that an answer depended on which other groups of the partition were asked for, has no
test here: `make attack`, which asks with other groups and without them, found no example of it.
"""

from __future__ import annotations

import contextlib
import time
from unittest import mock

import pytest
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient

from ansible_collections.streamshift.kafka.plugins.module_utils._migration.cluster_logs import ClusterLogs
from testbed.clients import Message, change_topic, create_topic, produce, produce_in_transactions, read
from tests.support.consumers import open_transaction
from tests.support.mirror_records import offset_sync
from tests.support.two_logs import BEGIN, DAY, OWN_TIME, Answer, TwoLogs, records, unlike


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


@pytest.mark.parametrize(("consumed", "values"), [(100, 7), (150, 7), (150, 1000)])
def test_f1_and_the_destination_stamps_them(source, alone, consumed, values):
    """F1: values come again and again, and no time tells them apart."""
    messages = [Message(b"v%d" % (n * n % values), b"key", (), BEGIN + n) for n in range(300)]
    alone.create(at_destination=OWN_TIME)
    alone.write(messages[:150], messages)
    with open_transaction(source, alone.topic, messages[150:]):
        assert alone.answer(consumed) == Answer("exact", consumed)
        assert alone.objections() == {}
        assert alone.forced(300) == {"skipped": 300 - consumed}


def test_f1b_and_all_that_was_consumed_is_gone(source, logs):
    """F1b: hidden records that are older than retention were taken for consumed."""
    logs.create()
    hidden = [*records("x c"), Message(b"new", b"key", (), BEGIN + 2 * DAY)]  # for its sake the broker keeps them all
    logs.write(records("a"), [*records("a"), *hidden])
    with open_transaction(source, logs.topic, hidden):
        change_topic(source, logs.topic, retention_ms=DAY)
        logs.start(source, 1)
        assert logs.answer(1) == Answer("exact", 1)
        assert logs.objections() == {}
        assert logs.forced(3, repeats=None) == {"skipped": 2}


def test_f1c_and_the_replication_tool_began_again(source, logs):
    """F1c: the group was sent after the second copy of the consumed record."""
    logs.create()
    logs.write(records("a"), records("a x c a"))
    with open_transaction(source, logs.topic, records("x c")):
        assert logs.answer(1) == Answer("safe", 1, 1, "recopied")
        assert logs.objections() == {}
        assert logs.forced(4) == {"skipped": 2}


def test_f2_the_tool_keeps_no_timestamp(logs):
    """F2: the plan advised to go to the end, which "would lose nothing"."""
    logs.create()
    logs.write(unlike(range(20), step=10), unlike(range(20), later=5000))
    assert logs.answer(10) == Answer("exact", 10)
    assert logs.objections() == {}
    assert logs.forced(20) == {"skipped": 10}


def test_f2_expired_and_the_tool_keeps_no_timestamp(source, logs):
    """F2, expired: what is left was taken for consumed, because nothing has its time."""
    logs.create()
    logs.write(records("z@1 a@2 b@3 c@4"), records("z@51 a@52 b@53 c@54"))
    logs.start(source, 2)
    # Better than at b: the destination still has a, which expired at the source before the group consumed it.
    assert logs.answer(1) == Answer("safe", 1, 1, "expired")
    assert logs.objections() == {}
    assert logs.forced(3, repeats=None) == {"skipped": 1}


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


def test_f3_the_destination_stamped_a_second_pass(destination, logs):
    """F3: the second copies of consumed records have the broker's time, and were not counted among the repeats."""
    logs.create()
    logs.write(unlike(range(40)), unlike(range(40)))
    change_topic(destination, logs.topic, **OWN_TIME)
    produce(destination, logs.topic, unlike(range(40)))
    change_topic(destination, logs.topic, message_timestamp_type="CreateTime")
    assert logs.answer(10) == Answer("exact", 50, 0, "recopied")
    assert logs.objections() == {}
    assert logs.forced(10) == {"repeated": 10}


@pytest.mark.parametrize("consumed", [80, 680], ids=["short logs", "long logs"])
def test_f4_the_tool_was_tried_and_began_in_the_middle(alone, consumed):
    """F4: six consumed records of the first try stood after the offset."""
    alone.create()
    alone.write(unlike(range(consumed + 40)), unlike([*range(1, 8), *range(consumed, consumed + 40)]))
    assert alone.answer(consumed) == Answer("exact", 7)
    assert alone.objections() == {}
    assert alone.forced(1) == {"repeated": 6}


@pytest.mark.parametrize("size", [200, 800])
def test_f5_the_tool_began_at_a_late_burst(alone, size):
    """F5: records with times of one second before were taken for consumed; all that is there is unconsumed."""
    burst = [message._replace(timestamp=BEGIN + 100 + at) for at, message in enumerate(unlike(range(size, size + 8)))]
    last = [message._replace(timestamp=BEGIN + 10 * size) for message in unlike(range(size + 8, size + 13))]
    alone.create()
    alone.write([*unlike(range(size), step=10), *burst, *last], [*burst, *last])
    assert alone.answer(100) == Answer("exact", 0)
    absent = {"absent": size - 100}  # no offset brings them back
    assert alone.objections() == absent
    assert alone.forced(8) == {"skipped": 8, **absent}


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


def test_f6_a_kept_entry_and_a_log_that_begins_later(destination, keeping):
    """F6: an entry below the start of the destination's log was kept, and then refused by every commit."""
    keeping.create()
    keeping.write(unlike(range(200)), unlike(range(200)))
    assert keeping.answers(106, 180) == [Answer("exact", 106), Answer("exact", 180)]
    keeping.start(destination, 152)
    assert keeping.answers(106, 180) == [Answer("exact", 152), Answer("exact", 180)]  # the first record that is left
    assert keeping.objections() == {"absent": 46}
    assert keeping.migration.commit(check=True, on_absent="warn")["written"] == 2


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


def test_f7_identical_offsets_below_the_start(destination, alone):
    """F7: an offset that is before the destination's start was taken for expired, whatever stands there."""
    alone.create()
    alone.write(records("a b"), [Message(b"other")] * 100)
    alone.start(destination, 100)
    produce(destination, alone.topic, records("a b"))
    assert alone.answer(1) == Answer("exact", 101)
    alone.options = {"strategy": "identical"}
    assert alone.answer(1) == Answer("blocked", None, None, "offsets_differ")
    assert alone.forced(100) == {"repeated": 1}


IDENTICAL = {
    "a second pass": (1, "a b", "a b a b"),
    "equal neighbours": (12, "a" + 24 * " h@1" + " b@2", 24 * " h@1" + " b@2"),
}


@pytest.mark.parametrize(("consumed", "written", "copied"), IDENTICAL.values(), ids=IDENTICAL)
def test_f7_identical_offsets_of_other_records(alone, consumed, written, copied):
    """F7: the records beside the offset are equal, but elsewhere offsets differ."""
    alone.create()
    alone.write(records(written), records(copied))
    alone.options = {"strategy": "identical"}
    assert alone.answer(consumed) == Answer("blocked", None, None, "offsets_differ")


def test_f8_an_early_equal_record_is_no_arrival(alone):
    """F8: the last consumed record is still to come; an equal one, long before, was taken for it."""
    values = [b"%d" % (number if number < 999 else 5) for number in range(1000)]
    messages = [Message(value, b"key", (), BEGIN + at) for at, value in enumerate(values)]
    alone.create(at_destination=OWN_TIME)
    alone.write(messages, messages[:600])
    assert alone.answer(1000) == Answer("blocked", None, None, "destination_lags")
    assert alone.forced(600) == {"repeated": 400}


@pytest.mark.parametrize(
    ("consumed", "cheap"),
    [
        pytest.param(2980, "plain", id="as cheap as without transactions"),
        # What follows a committed offset has to be read where transactions have left gaps, in a live copy as well.
        pytest.param(1450, "live", id="as cheap as in a live copy"),
    ],
)
def test_f9_old_records_are_copied_in_transactions(source, destination, topic, tmp_path, consumed, cheap):
    """F9: markers of now stand among records of then, and every time look-up ended at the first of them."""
    costs = {}
    for kind in (cheap, "late"):
        # A live copy's markers are no later than what follows them, as here, where all records are of half an hour ahead.
        ahead = int(time.time() * 1000) - BEGIN + 1_800_000 if kind == "live" else 0
        messages = unlike(range(3000), later=ahead)
        its = TwoLogs(source, destination, f"{topic}-{kind}", tmp_path / kind)
        its.create()
        its.write(messages, messages if kind == "plain" else [])
        if kind != "plain":
            batches = [(messages[at : at + 100], True) for at in range(0, len(messages), 100)]
            produce_in_transactions(destination, its.topic, batches)
        with mock.patch.object(ClusterLogs, "look_up", autospec=True, side_effect=ClusterLogs.look_up) as look_up:
            markers = 0 if kind == "plain" else consumed // 100
            assert its.answer(consumed) == Answer("exact", consumed + markers)
            costs[kind] = look_up.call_count
        assert its.objections() == {}
        costs[kind] = costs[kind], its.migration.translate()["records_read"]
    (rounds, records_read), (most_rounds, most_read) = costs["late"], costs[cheap]
    assert rounds <= 5 * most_rounds, costs
    assert records_read <= 5 * most_read, costs


def test_f11_long_runs_of_equal_records_of_one_moment(alone):
    """F11: of 10,000 records of one millisecond all but each thousandth are equal; the tool has kept the order."""
    messages = [Message(b"%d" % at if at % 1000 == 0 else b"equal", b"key", (), BEGIN) for at in range(10_000)]
    alone.create()
    alone.write(messages, messages)
    consumed = (3000, 3001, 3002, 7777)
    assert alone.answers(*consumed) == [Answer("exact", offset) for offset in consumed]
    assert alone.objections() == {}


def test_f12_some_of_many_equal_records_were_dropped(logs):
    """F12: nobody knows which two of twenty are missing: ten follow in any case, and two of them may be consumed."""
    logs.create()
    logs.write(records("e " * 20), records("e " * 18))
    assert logs.answer(10) == Answer("safe", 8, 2, "equal_records")
    assert logs.objections() == {}
