"""What a verification finds of a copied range: records that are missing, and records of others that a group would skip."""

import dataclasses

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import BacklogRange, Done
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import LogChanged, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._records.consumer_client import Opened
from ansible_collections.streamshift.kafka.plugins.module_utils._records.copied_so_far import (
    LastGroup,
    range_differences,
)
from tests.support.expiring_log import PARTITION, LogConsumer, records

NOWHERE = connection_from({"bootstrap_servers": "127.0.0.1:1", "request_timeout": 1}, "source cluster")
ORIGINALS = {offset: f"record {offset}" for offset in range(100, 200)}


def reader(log, start):
    consumer = LogConsumer(records(log), start, max(log, default=-1) + 1)
    return Opened(NOWHERE, consumer, {"orders": 1}, [])


def destination_log(new_before, count=20):
    """Copies from offset 0 on, `count` new records of a producer before the copy of one offset, and one after the copy.

    -> the log, the range that was copied, and where the copy of that offset lies.
    """
    log, places, offset = {}, {}, 0
    for original, value in ORIGINALS.items():
        if original == new_before:
            log |= {offset + at: f"new {at}" for at in range(count)}
            offset += count
        if original in (100, 150):
            places[original] = offset
        log[offset] = value
        offset += 1
        if original in (149, 199):
            offset += 1  # a control record
    done = Done(100, 1000, offset - 1, 0, 0, places)
    log[offset] = "new one after the copy"
    return log, BacklogRange(PARTITION, 100, 200, PARTITION, 0, (100, 150), done)


def differences(log, copied, last=None, source_start=100, originals=ORIGINALS):
    """last: where the last group would go on, None without a group."""
    source = {offset: value for offset, value in originals.items() if offset >= source_start}
    group = None if last is None else LastGroup("billing", last)
    return range_differences(reader(source, source_start), reader(log, 0), copied, source_start, max(log) + 1, group)


@pytest.mark.parametrize("new_before, boundary", [(150, 150), (150, 200), (100, 100), (120, 150)])
def test_a_group_that_would_skip_what_others_have_written_meanwhile_is_named(new_before, boundary):
    log, copied = destination_log(new_before)
    (line,) = differences(log, copied, copied.place(boundary))
    assert line.startswith("orders-0: somebody else has written among the copied records")
    assert "20 records from offset" in line and "which billing would skip" in line


@pytest.mark.parametrize("new_before, boundary", [(150, 100), (180, 150), (None, 200)])
def test_groups_that_read_all_of_it_are_no_problem(new_before, boundary):
    log, copied = destination_log(new_before)
    assert differences(log, copied, copied.place(boundary)) == []


@pytest.mark.parametrize("source_start", [130, 190, 200])
def test_copies_of_what_has_expired_since_are_not_taken_for_records_of_others(source_start):
    log, copied = destination_log(None)
    assert differences(log, copied, copied.place(200), source_start) == []


def test_copies_of_what_was_compacted_away_since_are_not_taken_for_records_of_others():
    log, copied = destination_log(None)
    source = {offset: value for offset, value in ORIGINALS.items() if offset % 3 == 1}
    assert differences(log, copied, 101, 0, source) == []


@pytest.mark.parametrize("source_start, problem", [(130, "1 record of the copy is gone"), (100, "is missing")])
def test_a_copy_that_is_gone_is_missed_even_if_the_source_has_lost_its_record(source_start, problem):
    log, copied = destination_log(None)
    del log[20]
    line, *_more = differences(log, copied, 200, source_start)
    assert problem in line


class Unreadable:
    """A record with a header whose name is not UTF-8."""

    def __init__(self, message):
        self.message = message

    def __getattr__(self, name):
        return getattr(self.message, name)

    def headers(self):
        raise SystemError from UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")


def test_a_header_that_cannot_be_read_is_named():
    log, copied = destination_log(None)
    broken = reader(log, 0)
    broken.consumer.log[3] = Unreadable(broken.consumer.log[3])
    with pytest.raises(Refused, match="record at offset 3 has a header whose name is not UTF-8.*Leave the topic out"):
        range_differences(reader(ORIGINALS, 100), broken, copied, 100, max(log) + 1)


def test_without_a_group_only_the_copy_counts():
    log, copied = destination_log(150)
    missing = dataclasses.replace(copied, begin=1)
    line, *_more = differences(log, missing, 200)
    assert differences(log, copied) == [] and "the record of source offset 100 of orders-0 is missing" in line


def test_what_was_there_before_it_was_appended_to_is_left_out_of_account():
    log, copied = destination_log(None)
    log = {0: ORIGINALS[107], 1: ORIGINALS[103], **{offset + 2: value for offset, value in log.items()}}
    appended = dataclasses.replace(copied, begin=2, done=copied.done._replace(next=copied.done.next + 2))
    assert differences(log, appended) == []
    log[max(log) + 1] = ORIGINALS[107]
    (line,) = differences(log, appended)
    assert "1 record is there more than once or out of order from offset 2 on" in line


@pytest.mark.parametrize("new_before, problems", [(None, 0), (150, 1)])
def test_what_expires_at_the_source_while_it_is_compared_is_left_out(new_before, problems):
    log, copied = destination_log(new_before)
    source = LogConsumer(records(ORIGINALS), 100, 200, expires={1: 120, 4: 145})
    found = range_differences(
        Opened(NOWHERE, source, {"orders": 1}, []),
        reader(log, 0),
        copied,
        100,
        max(log) + 1,
        LastGroup("billing", copied.place(200)),
    )
    assert len(found) == problems


def test_a_destination_that_was_cut_is_no_expired_source():
    log, copied = destination_log(None)
    with pytest.raises(LogChanged):
        range_differences(reader(ORIGINALS, 100), reader(log, 0), copied, 100, max(log) + 100)


HEARTBEATS = {0: "up", 1: "x", 2: "up", 3: "y"}


class TestRecordsThatAreAlike:
    """Such as heartbeats: one has expired at the source since it was copied, another one has not."""

    def lines(self, log, source_start, written=4):
        copied = BacklogRange(PARTITION, 0, 4, PARTITION, 0, (0,), Done(written, 10, 4, 0, 0, {0: 0}))
        return differences(log, copied, None, source_start, HEARTBEATS)

    @pytest.mark.parametrize("source_start", [0, 1, 2, 3, 4])
    def test_the_copy_of_the_one_is_no_double_of_the_other(self, source_start):
        assert self.lines(HEARTBEATS, source_start) == []

    def test_one_that_the_copy_has_not_written_is(self):
        (line,) = self.lines(HEARTBEATS, 1, written=3)
        assert "1 record is there more than once" in line and "source offset 2 " in line

    def test_one_after_the_copy_is(self):
        (line,) = self.lines(HEARTBEATS | {4: "up"}, 1)
        assert "1 record is there more than once" in line

    def test_where_one_is_missing_the_others_are_named_too(self):
        missing, out_of_order = self.lines({0: "up", 1: "y", 2: "x", 3: "z"}, 1)
        assert "the record of source offset 2 of orders-0 is missing" in missing
        assert "2 records are there more than once or out of order" in out_of_order
