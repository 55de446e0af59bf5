"""Each record once, also when two runs copy the same, a suspended one wakes up, progress is lost, or topics are made anew."""

import json
import os
import time

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import partition_bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import all_groups
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from testbed.clients import Message, create_topic, delete_groups, delete_topic, produce, read
from tests.support import situations
from tests.support.copies import messages
from tests.support.modules import kill, outcome, refuses, refuses_at_last, run
from tests.support.situations import COMMITS, HERE, RECORDS, SITUATIONS, Copy, elsewhere, make_anew, owned_topic

pytestmark = pytest.mark.usefixtures("without_spark")


@pytest.fixture(scope="module")
def orders(source):
    return owned_topic(source, f"owned-{os.getpid()}")


@pytest.fixture
def copy_in(source, destination, orders, topic, tmp_path):
    """``copy_in(name)`` is the same copy in a directory of this name."""
    return lambda name: Copy(tmp_path / name, source, destination, orders, topic, COMMITS)


@pytest.fixture
def half_done(copy_in):
    return situations.half_done(copy_in("migration"))


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_situation_ends_as_it_must(copy_in, name):
    SITUATIONS[name](copy_in, None)


class TestTwoRuns:
    def test_who_takes_over_is_named_and_readers_wait_for_nobody(self, copy_in):
        one = copy_in("one")
        first = one.begun(seconds=100)
        one.comes_to(1, first)
        other = elsewhere(one, "other")
        second = other.begun()
        said = outcome(first)
        assert said["failed"] and f"has taken over: process {second.pid} {HERE}" in said["msg"], said
        result = outcome(second)
        assert not result.get("failed"), result
        bounds = partition_bounds(
            connection_from(one.servers.connection, ""), [TopicPartition(one.to, at) for at in range(4)]
        )
        assert all(its.end == its.high_watermark for its in bounds.values())  # no transaction is open
        other.check(result["entries"])
        one.check(one.backlog()["entries"])

    def test_who_has_planned_another_end_is_refused_and_ends_nobody(self, copy_in):
        one = copy_in("one")
        first = one.begun(seconds=15)
        one.comes_to(1, first)
        other = elsewhere(one, "other")
        document = json.loads(other.copy_file.read_text())
        document["entries"][1]["end"] -= 1
        other.copy_file.write_text(json.dumps(document))
        message = other.backlog(via=refuses, live=True)
        assert "another directory's run has planned this copy up to source offset" in message and HERE in message
        result = outcome(first)
        assert not result.get("failed"), result
        one.check(result["entries"])

    def test_of_other_groups(self, half_done, source, destination, orders, tmp_path):
        other = Copy(tmp_path / "other", source, destination, orders, half_done.to, COMMITS[:1])
        (progress,) = all_groups(half_done.known())
        for check in (True, False):
            message = other.backlog(via=refuses, append=True, check=check)
            assert f"group {progress}, topic {other.to}, partition 0: another copy is under way" in message
            assert HERE in message and not other.copy_file.exists()
        half_done.check(half_done.backlog()["entries"])
        assert not other.backlog(via=run, append=True).get("failed")  # now that one is done


class TestLostProgress:
    def test_nothing_is_rebuilt_from_what_others_have_written(self, half_done):
        delete_groups(half_done.servers, all_groups(half_done.known()))
        (at,) = produce(half_done.servers, half_done.to, [Message(b"of somebody else", partition=2)])
        message = half_done.backlog(via=refuses_at_last, on_lost_progress="rebuild")
        assert f"topic {half_done.to}, partition 2: the record at offset {at} is not the one" in message
        assert read(half_done.servers, half_done.to, [2])[-1].offset == at  # nothing was written after it


class TestTopics:
    def test_deleted_while_it_is_copied_to(self, copy_in):
        copy = copy_in("migration")
        copy.destination["request_timeout"] = 5
        running = copy.begun(seconds=100)
        copy.comes_to(500, running)
        delete_topic(copy.servers, copy.to)
        begin = time.monotonic()
        message = outcome(running)["msg"]
        assert time.monotonic() - begin < 90
        assert f"topic {copy.to}" in message and "does not exist" in message, message
        for check in (True, False):
            message = copy.backlog(via=refuses, check=check)
            assert "does not exist any more" in message and "Begin anew" in message, message

    def test_the_source_is_made_anew_before_all_is_copied(self, source, destination, topic, tmp_path):
        to = f"{topic}-there"
        create_topic(source, topic, 1, retention_ms=-1)
        produce(source, topic, messages(0, RECORDS))
        copy = Copy(tmp_path / "migration", source, destination, topic, to, ((10,),))
        running = copy.begun(seconds=100)
        copy.comes_to(100, running)
        assert kill(running)
        make_anew(source, topic)
        produce(source, topic, messages(0, RECORDS))
        message = copy.backlog(via=refuses)
        assert message.startswith("source cluster") and f"topic {topic}: the topic is not the one" in message
