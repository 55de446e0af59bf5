"""How copies end: settings come back whatever has become of the source, and a copy that is given up leaves nothing."""

import functools
import shutil
import socket
from unittest import mock

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import positions
from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import all_groups
from testbed import clients
from testbed.clients import grant, revoke
from tests.support import copies
from tests.support.consumers import member
from tests.support.copies import messages
from tests.support.modules import kill, outcome, refuses, run
from tests.support.situations import make_anew
from tests.support.sparkless import spawn

pytestmark = pytest.mark.usefixtures("without_spark")

RECORDS = 2000  # of each partition
COMMITS = ((100, 1400), (20, 1990))
GONE = {"bootstrap_servers": ["127.0.0.1:1"]}
SUSPENDED = {"retention.ms": "-1"}
BEFORE = {
    "retention.ms": "600000",
    "message.timestamp.type": "LogAppendTime",
    "message.timestamp.before.max.ms": "5000",
}


@pytest.fixture
def orders(source, topic):
    topic = f"{topic}-source"
    clients.create_topic(source, topic, 2, retention_ms=-1)
    for partition in range(2):
        clients.produce(source, topic, messages(partition, RECORDS))
    return topic


class Copy(copies.Copy):
    spawn = staticmethod(spawn)

    def remove(self, via=run, check=False, diff=False, **options):
        """State absent, of which the source is not told."""
        files = {"copy": str(self.copy_file), "plan": str(self.plan_file)}
        its = {"destination": self.destination, "state": "absent", "idle_wait": 0.5, **files}
        return via("kafka_backlog_copy", check=check, diff=diff, **its | options)

    def progress(self):
        """The progress groups that are there."""
        return [group for group in clients.list_groups(self.servers) if group in self.names]

    def state(self):
        """What a removal that is refused must not change."""
        records = clients.read(self.servers, self.to, [0, 1])
        return self.files(), self.progress(), clients.topic_settings(self.servers, self.to), len(records)


@pytest.fixture
def copy(source, destination, orders, topic, tmp_path):
    """A copy that was killed in the middle, to a topic that it has made."""
    return killed(Copy(tmp_path / "migration", source, destination, orders, topic, COMMITS))


@pytest.fixture
def to_theirs(source, destination, orders, topic, tmp_path):
    """The same to a topic that was there, with settings by which copied records would be lost."""
    clients.create_topic(destination, topic, 2, **{name.replace(".", "_"): value for name, value in BEFORE.items()})
    return killed(Copy(tmp_path / "migration", source, destination, orders, topic, COMMITS))


def killed(copy):
    running = copy.begun(seconds=20)
    copy.comes_to(300, running)
    assert kill(running)
    copy.names = all_groups(copy.known())
    assert copy.progress() and clients.topic_settings(copy.servers, copy.to).items() >= SUSPENDED.items()
    return copy


def own(settings):
    return {name: settings.get(name) for name in BEFORE}


class TestRestored:
    def test_whatever_has_become_of_the_source(self, to_theirs, source, orders):
        copy = to_theirs
        copy.backlog()
        clients.add_partitions(source, orders, 4)
        clients.delete_groups(source, copy.groups)
        copy.snapshot_file.unlink()
        during, files = clients.topic_settings(copy.servers, copy.to), copy.files()
        asked = {"restore_retention": True, "source": GONE, "topic_map": []}
        predicted = copy.backlog(check=True, diff=True, **asked)
        assert (clients.topic_settings(copy.servers, copy.to), copy.files()) == (during, files)
        done = copy.backlog(diff=True, **asked)
        assert done == predicted and done["changed"] is True and done["suspended"] == []
        assert own(clients.topic_settings(copy.servers, copy.to)) == BEFORE
        assert len(done["entries"]) == 4 and all(each["offset"] is not None for each in done["entries"])
        assert copy.plan_file.read_bytes() == files["plan.json"]
        assert copy.backlog(**asked)["changed"] is False

    def test_not_of_a_topic_that_was_made_anew(self, source, destination, orders, topic, tmp_path):
        copy = Copy(tmp_path / "migration", source, destination, orders, topic, COMMITS)
        copy.backlog()
        make_anew(copy.servers, copy.to)
        result = copy.backlog(restore_retention=True, source=GONE)
        assert result["changed"] is False
        (warning,) = result["warnings"]
        assert warning.startswith(f"topic_recreated: The topic {topic} is gone, or was deleted and created again: ")
        assert warning.endswith("its settings are left alone, and its planned offsets are worth nothing.")
        assert result["entries"] == []

    def test_offsets_of_a_topic_that_was_truncated_are_worth_nothing(self, to_theirs):
        copy = to_theirs
        copy.backlog()
        with mock.patch.object(
            positions, "partition_bounds", lambda _where, asked: dict.fromkeys(asked, Bounds(0, 1, 1))
        ):
            result = copy.backlog(restore_retention=True, source=GONE)
        (warning,) = result["warnings"]
        assert "the log ends at 1, and records were copied up to" in warning and "worth nothing" in warning
        assert result["entries"] == [] and own(clients.topic_settings(copy.servers, copy.to)) == BEFORE


class TestGivenUp:
    def test_its_progress_and_its_settings(self, to_theirs):
        copy = to_theirs
        before = copy.state()
        predicted = copy.remove(check=True, diff=True)
        assert copy.state() == before
        done = copy.remove(diff=True)
        assert done == predicted and done["changed"] is True
        assert (done["removed_groups"], done["restored_topics"], done["removed_topics"]) == (copy.names, [copy.to], [])
        assert copy.progress() == [] and own(clients.topic_settings(copy.servers, copy.to)) == BEFORE
        assert not copy.copy_file.exists() and not copy.plan_file.exists()
        assert max(end for _start, end in clients.log_bounds(copy.servers, copy.to).values()) > 0
        again = copy.remove()
        assert again["changed"] is False and again["summary"] == ["There is nothing to remove."]

    def test_its_topics_on_request(self, copy):
        before = copy.state()
        predicted = copy.remove(check=True, remove_topics=True, diff=True)
        assert copy.state() == before
        done = copy.remove(remove_topics=True, diff=True)
        assert done == predicted and done["removed_topics"] == [copy.to] and done["restored_topics"] == []
        with pytest.raises(Exception, match=copy.to):
            clients.log_bounds(copy.servers, copy.to)
        assert copy.progress() == [] and not copy.copy_file.exists()
        assert copy.remove(remove_topics=True)["changed"] is False
        copy.check(copy.backlog()["entries"])  # it may begin anew

    def test_not_what_somebody_reads_who_has_committed_nothing(self, copy):
        reads = functools.partial(member, copy.servers, topics=[copy.to], commits=False)
        with reads(f"{copy.to}-new", protocol="consumer"):
            with reads(f"{copy.to}-old"):
                before = copy.state()
                message = copy.remove(refuses, remove_topics=True)
                assert f"group {copy.to}-old, topic {copy.to}: " in message and "is subscribed to it" in message
                assert copy.state() == before
            removed = copy.remove(remove_topics=True)
        assert removed["removed_topics"] == [copy.to]
        assert any(f"{copy.to}-new" in line for line in removed["warnings"]), removed["warnings"]

    def test_not_what_others_have_written(self, copy):
        copy.backlog()  # all of it
        clients.produce_in_transactions(
            copy.servers, copy.to, [([clients.Message(b"of somebody else", partition=1)], True)]
        )
        before = copy.state()
        for check in (True, False):
            message = copy.remove(refuses, check, remove_topics=True)
            assert f"topic {copy.to}, partition 1: it is not sure that only this copy has written" in message
            assert "remove_topics" in message
        assert copy.state() == before

    def test_not_while_a_run_of_it_is_under_way(self, source, destination, orders, topic, tmp_path):
        copy = Copy(tmp_path / "migration", source, destination, orders, topic, COMMITS)
        running = copy.begun(seconds=200)
        copy.comes_to(1, running)
        elsewhere = shutil.copytree(copy.directory, tmp_path / "elsewhere")
        other = {"copy": str(elsewhere / "copy.json"), "plan": str(elsewhere / "plan.json")}
        named = f"process {running.pid} on host {socket.gethostname()}"
        for check in (True, False):
            message = copy.remove(refuses, check, **other)
            assert f"a run of this copy is under way: {named}" in message
            assert f"another run works in {copy.directory} now" in copy.remove(refuses, check)
        copied = copy.copied()
        copy.comes_to(copied + 1, running)  # it has not noticed
        assert kill(running)
        assert copy.remove(**other)["changed"] is True

    def test_a_run_that_nobody_knows_of_writes_nothing_any_more(
        self, source, destination, orders, topic, tmp_path, monkeypatch
    ):
        """On another machine, and so slow that it seems to stand still."""
        copy = Copy(tmp_path / "migration", source, destination, orders, topic, COMMITS)
        running = copy.begun(seconds=200)
        copy.comes_to(1, running)
        elsewhere = shutil.copytree(copy.directory, tmp_path / "elsewhere")
        monkeypatch.setattr(socket, "gethostname", lambda: "another")
        copy.remove(copy=str(elsewhere / "copy.json"), plan=str(elsewhere / "plan.json"), idle_wait=0)
        assert outcome(running)["failed"]
        assert [group for group in clients.list_groups(destination) if group.startswith(copy.known().name)] == []


@pytest.mark.usefixtures("rights_on_copies")
def test_permissions_are_asked_for_before_anything_is_changed(source, secured, orders, topic, tmp_path):
    copy = Copy(tmp_path / "migration", source, secured, orders, topic, COMMITS)
    copy.backlog()
    copy.names = all_groups(copy.known())
    needed = [f"GROUP {operation} on streamshift-*" for operation in ("DESCRIBE", "DELETE")]
    needed += ["TRANSACTIONAL_ID WRITE on streamshift-*", f"TOPIC READ on {topic}", f"TOPIC DELETE on {topic}"]
    configs = [f"TOPIC {operation} on {topic}" for operation in ("DESCRIBE_CONFIGS", "ALTER_CONFIGS")]
    claims = [f"GROUP READ on {copy.names[0]}"]  # only for topics whose records are read before they are deleted
    grant(secured, needed[:3] + configs, secured.ssl_principal)
    asked = {"destination": secured.ssl_connection, "remove_topics": True}
    try:
        message = copy.remove(refuses, destination=secured.ssl_connection)
        assert f"needs ACL TOPIC DESCRIBE on {topic}" in message
        grant(secured, needed[3:-1] + claims, secured.ssl_principal)
        message = copy.remove(refuses, **asked)
        assert f"TOPIC DELETE on {topic}" in message and "GROUP" not in message
        revoke(secured, needed[:1] + needed[1:2], secured.ssl_principal)
        grant(secured, needed[-1:], secured.ssl_principal)
        message = copy.remove(refuses, **asked)
        assert f"GROUP DELETE on {copy.names[0]}" in message and "TOPIC" not in message
        grant(secured, needed[:2], secured.ssl_principal)
        assert "needs ACL CLUSTER DESCRIBE" in copy.remove(refuses, **asked)
        assert copy.progress() == copy.names and copy.copy_file.exists()
    finally:
        revoke(secured, needed + configs + claims, secured.ssl_principal)
    assert copy.remove(remove_topics=True)["removed_topics"] == [topic]
