# SPDX-License-Identifier: GPL-3.0-or-later

"""What cannot be right is refused: in seconds, in one line that names what and where, and with nothing written."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time

import pytest

from testbed.clients import Message, commit, committed, create_topic, produce
from tests.support.consumers import assigned, member, share_member
from tests.support.modules import ROOT, Migration, outcome, refuses, spawn, succeeds
from tests.support.replication_tool import copy
from tests.support.rights import grant, rights_of


@pytest.fixture
def orders(source, destination, topic):
    """A topic with ten records in each of two partitions, copied; a group of its name stands at 5 and 10."""
    return prepared(source, destination, topic)


@pytest.fixture
def migration(source, destination, orders, tmp_path):
    """Everything but the commit is done."""
    migration = Migration(tmp_path / "migration", source, destination)
    migration.plan(orders)
    return migration


@pytest.fixture
def untouched(migration, orders):
    """Whatever happens in the test, files and commits stay as they are."""
    before = migration.state(orders)
    yield
    assert migration.state(orders) == before


def prepared(source, destination, topic):
    for cluster in (source, destination):
        create_topic(cluster, topic, partitions=2)
    produce(source, topic, [Message(b"%d" % number, partition=number % 2) for number in range(20)])
    copy(source, destination, topic)
    commit(source, topic, {(topic, 0): 5, (topic, 1): 10})
    return topic


class TestConnections:
    """Each case: the options of a cluster, and what every message about it holds."""

    @pytest.fixture
    def told(self, source, orders, tmp_path):
        """What snapshot, translate (for either cluster) and commit say of such a cluster."""
        good = Migration(tmp_path / "migration", source, source)
        good.plan(orders, strategy="identical", group_map=[{"pattern": "(.*)", "to": "new-\\1"}])
        files = good.files()

        def run(connection, tries=6):
            return itertools.islice(messages(connection), tries)  # some refusals take five seconds

        def messages(connection):
            yield good.snapshot(orders, via=refuses, cluster=connection)
            yield good.translate(via=refuses, source=connection)
            yield good.translate(via=refuses, destination=connection)
            yield good.commit(via=refuses, cluster=connection)
            assert good.files() == files
            for role in ("source", "destination"):
                clusters = {"source": good.source, "destination": good.destination, role: connection}
                problems = problems_of(orders, orders, **clusters)
                assert len(problems) == 1 and problems[0].startswith(f"{role} cluster ")
                yield problems[0]

        return run

    def test_unreachable(self, told):
        with socket.create_server(("127.0.0.1", 0)) as free:
            address = f"127.0.0.1:{free.getsockname()[1]}"
        for message in told({"bootstrap_servers": [address]}, tries=2):
            assert address in message and "connection refused" in message

    def test_silent(self, told):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = f"127.0.0.1:{silent.getsockname()[1]}"
            for message in told({"bootstrap_servers": [address]}, tries=2):
                assert address in message and "cannot connect" in message

    def test_wrong_password(self, told, secured):
        wrong = secured.connection_as("admin") | {"sasl_password": "not-the-password"}
        for message in told(wrong):
            assert "invalid credentials" in message and "not-the-password" not in message

    def test_wrong_ca(self, told, secured):
        for message in told(secured.connection_as("admin") | {"ssl_cafile": secured.paths["other_ca"]}):
            assert "certificate" in message and "ssl_cafile" in message

    def test_no_client_certificate(self, told, secured):
        connection = secured.connection_as("admin")
        for option in ("ssl_certfile", "ssl_keyfile"):
            del connection[option]
        for message in told(connection):
            assert "client certificate" in message or "ssl_certfile" in message

    def test_plaintext_to_a_tls_port(self, told, secured):
        servers = secured.connection_as("admin")["bootstrap_servers"]
        for message in told({"bootstrap_servers": servers}):
            assert "TLS" in message


class TestStores:
    """Nothing is tried with files and mechanisms that the clients cannot use."""

    def test_java_key_store(self, migration, orders, secured, untouched, tmp_path):
        store = tmp_path / "client.pem"  # whatever it is called
        subprocess.run(
            [
                *("keytool", "-importcert", "-noprompt", "-storetype", "JKS", "-storepass", "changeit"),
                *("-file", secured.paths["ca"], "-keystore", str(store)),
            ],
            check=True,
            capture_output=True,
        )
        for path in (str(store), "/nowhere/truststore.jks"):
            connection = secured.connection_as("admin") | {"ssl_cafile": path}
            message = migration.snapshot(orders, via=refuses, cluster=connection)
            assert f"ssl_cafile {path} is a Java key store" in message and "keytool -importkeystore" in message
            assert migration.commit(via=refuses, cluster=connection) == message

    def test_kerberos(self, migration, orders, secured, untouched):
        connection = secured.connection_as("admin") | {"sasl_mechanism": "GSSAPI"}
        for message in (
            migration.snapshot(orders, via=refuses, cluster=connection),
            migration.translate(via=refuses, source=connection),
            migration.commit(via=refuses, cluster=connection),
        ):
            assert "Kerberos (GSSAPI) is not supported, because confluent-kafka" in message
            assert "Let the listener offer SCRAM-SHA-512, too" in message


class TestRights:
    """Each missing ACL is named before anything is written, by the preflight and by the module that would need it."""

    @pytest.fixture
    def migrator(self, secured):
        return secured.connection_as("migrator")

    @pytest.mark.parametrize("right", ["GROUP DESCRIBE", "TOPIC READ", "TOPIC DESCRIBE_CONFIGS"])
    def test_of_the_source(self, secured, destination, topic, migrator, tmp_path, right):
        prepared(secured, destination, topic)
        missing = f"{right} on {topic}"
        # To read is to describe: without READ the topic must be describable, or nothing is known of it at all.
        grant(secured, (rights_of(topic, topic)["source"] | {f"TOPIC DESCRIBE on {topic}"}) - {missing})
        migration = Migration(tmp_path / "migration", migrator, destination)
        files = migration.state(topic)
        problems = problems_of(topic, topic, migration.source, migration.destination)
        assert len(problems) == 1
        assert problems[0].startswith("source cluster ") and missing in problems[0]
        if right == "GROUP DESCRIBE":
            assert f"needs ACL {missing}" in migration.snapshot(topic, via=refuses)
        else:
            migration.snapshot(topic)
            files = migration.state(topic)
            message = migration.translate(via=refuses)
            assert f"source cluster {migrator['bootstrap_servers'][0]}" in message and f"needs ACL {missing}" in message
        assert migration.state(topic) == files
        grant(secured, [missing])
        migration.carried_out(topic)

    def test_of_topics_that_may_not_even_be_described(self, secured, destination, topic, migrator, tmp_path):
        """A broker hides their offsets without a word; a group that seems to have none is refused."""
        prepared(secured, destination, topic)
        grant(secured, [f"GROUP DESCRIBE on {topic}"])
        migration = Migration(tmp_path / "migration", migrator, destination)
        message = migration.snapshot(topic, via=refuses)
        assert f"group {topic}: the group has committed nothing, or TOPIC DESCRIBE" in message
        problems = problems_of(topic, topic, migration.source, migration.destination)
        assert any(f"missing ACL TOPIC READ on {topic}" in problem for problem in problems)
        matched = migration.snapshot(group_patterns=[topic])
        assert any(f"Nothing of these groups is moved: {topic}" in line for line in matched["warnings"])

    @pytest.mark.parametrize("right", ["GROUP READ", "TOPIC READ", "TOPIC DESCRIBE_CONFIGS"])
    def test_of_the_destination(self, source, secured, topic, migrator, tmp_path, right):
        prepared(source, secured, topic)
        missing = f"{right} on {topic}"
        known = {f"GROUP DESCRIBE on {topic}", f"TOPIC DESCRIBE on {topic}"}
        grant(secured, (rights_of(topic, topic)["destination"] | known) - {missing})
        migration = Migration(tmp_path / "migration", source, secured)
        migration.destination = migrator
        problems = problems_of(topic, topic, migration.source, migration.destination)
        assert problems == [
            f"destination cluster {migrator['bootstrap_servers'][0]}: missing ACL {missing}. Grant it to the user."
        ]
        migration.snapshot(topic)
        if right == "GROUP READ":
            migration.translate()
            files = migration.files()
            message = migration.commit(via=refuses)
            assert "receipt.json" not in files
        else:
            files = migration.files()
            message = migration.translate(via=refuses)
        assert f"needs ACL {missing}" in message and "cluster 127.0.0.1" in message
        assert migration.files() == files
        assert committed(secured, topic) == {}
        grant(secured, [missing])
        migration.carried_out(topic)

    def test_to_roll_back_needs_group_delete(self, source, secured, topic, migrator, tmp_path):
        prepared(source, secured, topic)
        commit(secured, topic, {(topic, 0): 1})
        missing = f"GROUP DELETE on {topic}"
        grant(secured, rights_of(topic, topic)["destination"])
        migration = Migration(tmp_path / "migration", source, secured)
        migration.destination = migrator
        for receipt in ({}, {"receipt": str(migration.receipt_file)}):  # the second time, nothing is left to be set
            found = looked_at(topic, topic, migration.source, migrator, **receipt)
            assert found["problems"] == []
            (note,) = found["notes"]
            assert note.startswith(f"destination cluster {migrator['bootstrap_servers'][0]}: missing ACL {missing}")
            migration.plan(topic)
            migration.commit()
        state = migration.state(topic)
        for check in (True, False):
            assert f"needs ACL {missing}" in migration.roll_back(via=refuses, check=check)
            assert migration.state(topic) == state  # what needs no such right is not put back either
        grant(secured, [missing])
        assert looked_at(topic, topic, migration.source, migrator)["notes"] == []
        migration.roll_back()
        assert committed(secured, topic) == {(topic, 0): (1, "")}


class TestSelection:
    """Names that are not there, and patterns that match nothing."""

    def test_unknown_group(self, migration, orders, untouched):
        message = migration.snapshot(f"{orders}-typo", via=refuses)
        assert f"group {orders}-typo: the group does not exist" in message and "cluster 127.0.0.1" in message

    def test_patterns_that_match_nothing(self, migration, orders, untouched):
        message = migration.snapshot(group_patterns=[f"{orders}-nothing.*"], via=refuses)
        assert f"no group is matched by group_patterns ['{orders}-nothing.*']" in message
        message = migration.snapshot(orders, topic_patterns=[f"{orders}-nothing.*"], via=refuses)
        assert f"no topic of the selected groups is matched by topic_patterns ['{orders}-nothing.*']" in message

    def test_a_topic_that_the_groups_do_not_consume(self, migration, orders, untouched):
        assert f"{orders}-typo" in migration.snapshot(orders, topics=[f"{orders}-typo"], via=refuses)

    def test_nothing_is_selected(self, migration, untouched):
        assert "no group is selected" in migration.snapshot(via=refuses)

    def test_no_regular_expression(self, migration, orders, untouched):
        assert "group_patterns holds '*', which is no regular expression" in migration.snapshot(
            group_patterns=["*"], via=refuses
        )

    def test_two_sources_for_one_destination(self, migration, orders, source, untouched):
        other = f"{orders}-other"
        commit(source, other, {(orders, 0): 1})
        both = str(migration.directory.parent / "both.json")
        migration.snapshot(orders, other, snapshot=both)
        message = migration.translate(via=refuses, snapshot=both, group_map=[{"pattern": ".*", "to": "one"}])
        assert f"two sources map to one destination: {orders} {orders}" in message
        assert f" and {other} {orders}" in message and f" both become one {orders}" in message

    @pytest.mark.parametrize("missing", ["topic", "partition"])
    def test_missing_topic_or_partition(self, source, destination, topic, tmp_path, missing):
        create_topic(source, topic, partitions=2)
        if missing == "partition":
            create_topic(destination, topic, partitions=1)
        produce(source, topic, [Message(b"1"), Message(b"2", partition=1)])
        commit(source, topic, {(topic, 1): 1})
        migration = Migration(tmp_path / "migration", source, destination)
        migration.plan(topic)
        before = migration.state(topic)
        message = migration.commit(via=refuses)
        reason = {"topic": "topic_missing", "partition": "partition_count_differs"}[missing]
        assert f"entries of the plan are blocked, first {topic} {topic}-0 ({reason}" in message
        assert migration.state(topic) == before

    def test_a_partition_that_the_source_has_not(self, migration, orders, untouched):
        file = migration.directory.parent / "by-hand.csv"
        file.write_text(f"{orders},{orders},7,1\n")
        plan = str(migration.directory.parent / "plan.json")
        rows = migration.translate(snapshot=str(file), plan=plan)["entries"]
        by_partition = {row["partition"]: row for row in rows}
        assert by_partition[7]["reason"] == "topic_missing"
        assert f"{orders}-7 does not exist at the source" in by_partition[7]["detail"]


class TestLiveGroups:
    """A group that somebody uses is not touched, however it is used."""

    @pytest.mark.parametrize("protocol", ["classic", "consumer"])
    def test_with_members(self, destination, migration, orders, protocol):
        with member(destination, orders, [orders], protocol):
            migration.translate()
            before = migration.state(orders)
            message = migration.commit(via=refuses, on_rewind="rewind")
            assert migration.state(orders) == before
        assert f"group {orders}: has members" in message and "wait for the session timeout" in message
        assert migration.commit(on_rewind="rewind")["written"] == 1

    def test_with_members_at_the_source(self, source, migration, orders, untouched):
        with member(source, orders, [orders]):
            message = migration.snapshot(orders, via=refuses, on_active_group="fail")
        assert f"groups still have members: {orders} (Stable)" in message

    def test_share_groups(self, source, destination, migration, orders):
        with share_member(source, f"{orders}-share", orders):
            message = migration.snapshot(f"{orders}-share", via=refuses)
        assert f"group {orders}-share: the group is a share group" in message
        renamed = [{"name": orders, "to": f"{orders}-share"}]
        with share_member(destination, f"{orders}-share", orders):
            migration.translate(group_map=renamed)
            message = migration.commit(via=refuses)
        assert f"group {orders}-share: is a share group" in message
        assert not migration.receipt_file.exists()

    def test_a_consumer_with_assign_that_keeps_committing(self, destination, migration, orders):
        stop = threading.Event()
        with assigned(destination, orders, orders) as commit_one_more:
            commit_one_more()
            migration.translate()
            files = migration.files()

            def go_on():
                while not stop.wait(0.2):
                    commit_one_more()

            consumer = threading.Thread(target=go_on)
            consumer.start()
            try:
                # The commit's own expectation may be overtaken before it looks twice: both are refusals.
                message = migration.commit(via=refuses, idle_wait=2)
            finally:
                stop.set()
                consumer.join()
        assert f"group {orders}" in message
        assert "has commits that move" in message or "the destination's commit has changed" in message
        assert migration.files() == files

    def test_a_consumer_with_assign_that_commits_between_the_readings(self, destination, migration, orders):
        with assigned(destination, orders, orders) as commit_one_more:
            later = threading.Timer(1.5, commit_one_more)
            later.start()
            message = migration.commit(via=refuses, idle_wait=4)
            later.join()
        assert f"group {orders}: has commits that move ({orders}-0 from none to 1)" in message
        assert "assign()" in message and "MirrorMaker 2" in message
        assert not migration.receipt_file.exists()
        assert committed(destination, orders) == {(orders, 0): (1, "")}

    def test_somebody_has_committed_since_the_plan(self, destination, migration, orders):
        commit(destination, orders, {(orders, 1): 3})
        before = migration.state(orders)
        message = migration.commit(via=refuses)
        assert f"group {orders}, topic {orders}, partition 1: the destination's commit has changed" in message
        assert "expected none, found 3" in message
        assert migration.state(orders) == before


class TestFiles:
    """Files that are damaged, of other versions or for other clusters."""

    def test_made_for_other_clusters(self, source, destination, migration, orders, kafka39):
        message = migration.translate(via=refuses, source=kafka39.connection)
        assert source.cluster_id in message and kafka39.cluster_id in message
        message = migration.commit(via=refuses, cluster=source.connection)
        assert f"the plan was made for another cluster: this one has the id {source.cluster_id}" in message
        migration.commit()
        before = migration.state(orders)
        assert destination.cluster_id in migration.roll_back(via=refuses, cluster=source.connection)
        assert destination.cluster_id in migration.verify(via=refuses, destination=source.connection)
        assert migration.state(orders) == before

    def test_a_receipt_of_another_cluster(self, source, destination, migration, orders, untouched):
        other = migration.directory.parent / "other.json"
        head = {"format": "streamshift.kafka/receipt", "version": 1, "destination": {"cluster_id": source.cluster_id}}
        other.write_text(json.dumps({**head, "entries": []}))
        message = migration.commit(via=refuses, receipt=str(other))
        assert (
            "the receipt was made for another cluster: this one has the id" in message and source.cluster_id in message
        )

    @pytest.mark.parametrize("kind", ["snapshot", "plan", "receipt"])
    def test_damaged(self, destination, migration, orders, kind):
        migration.commit()
        file = migration.directory / f"{kind}.json"
        good = json.loads(file.read_text())
        entry = good["entries"][0]
        masked = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"
        broken = {"receipt": {**entry, "before": {"offset": masked, "metadata": "", "leader_epoch": None}}}
        damages = {
            file.read_text()[:-20]: "damaged",
            json.dumps({**good, "version": 0}): "has version 0, and this release reads version 1",
            json.dumps({**good, "format": "streamshift.kafka/other"}): f"is not a {kind} file",
            json.dumps({**good, "entries": [broken.get(kind, {**entry, "offset": masked})]}): "is damaged",
            json.dumps({**good, "entries": None}): "damaged",
            "": "damaged",
        }
        commits = committed(destination, orders)
        for text, expected in damages.items():
            file.write_text(text)
            steps = {
                "snapshot": [migration.translate],
                "plan": [migration.commit, migration.verify, migration.translate],
                "receipt": [migration.commit, migration.roll_back, migration.verify, migration.translate],
            }
            for step in steps[kind]:
                message = step(via=refuses)
                assert str(file) in message and expected in message
            assert file.read_text() == text
        assert committed(destination, orders) == commits

    def test_missing(self, migration, orders, destination):
        for kind, step in (("snapshot", migration.translate), ("plan", migration.commit)):
            file = migration.directory / f"{kind}.json"
            file.unlink()
            assert f"there is no {kind} file {file}" in step(via=refuses)
        assert f"there is no receipt file {migration.receipt_file}" in migration.roll_back(via=refuses)
        assert committed(destination, orders) == {}

    def test_places_where_nothing_can_be_written(self, migration, orders, untouched, tmp_path):
        in_a_file = tmp_path / "file" / "x.json"
        (tmp_path / "file").write_text("no directory")
        for check in (True, False):
            for path in (in_a_file, tmp_path / "missing" / "x.json", tmp_path):
                for message in (
                    migration.snapshot(orders, via=refuses, snapshot=str(path), check=check),
                    migration.translate(via=refuses, plan=str(path), check=check),
                    migration.commit(via=refuses, receipt=str(path), check=check),
                ):
                    assert f"{path} cannot be written" in message

    def test_a_directory_without_the_right_to_write(self, migration, orders, untouched):
        migration.directory.chmod(0o500)
        try:
            for module, options in {
                "kafka_group_offsets": {"groups": [orders], "snapshot": str(migration.directory / "new.json")},
                "kafka_offset_commit": {"plan": str(migration.plan_file), "receipt": str(migration.receipt_file)},
            }.items():
                cluster = migration.source if module == "kafka_group_offsets" else migration.destination
                result = run_without_privileges(module, cluster=cluster, **options)
                assert result["failed"] is True
                assert f"the directory {migration.directory} is not writable for this user" in result["msg"]
        finally:
            migration.directory.chmod(0o700)


class TestConcurrency:
    """Two runs at once do not mix: the second is refused at once, and the first is not disturbed."""

    def test_in_one_directory(self, destination, migration, orders):
        first = spawn(
            "kafka_offset_commit",
            cluster=migration.destination,
            plan=str(migration.plan_file),
            receipt=str(migration.receipt_file),
            idle_wait=8,
        )
        wait_until(lambda: is_locked(migration.directory))
        for second in (lambda **how: migration.snapshot(orders, **how), migration.translate, migration.commit):
            assert f"another run works in {migration.directory} now" in second(via=refuses)
        assert first.poll() is None  # they were told at once
        assert committed(destination, orders) == {}
        assert outcome(first)["written"] == 2
        assert migration.commit()["changed"] is False

    def test_from_two_directories(self, source, destination, migration, orders, tmp_path):
        """Kafka has no lock for a group: the commit of one is what the other did not expect."""
        other = Migration(tmp_path / "other", source, destination)
        commit(source, f"{orders}-2", {(orders, 0): 9, (orders, 1): 9})
        other.plan(f"{orders}-2", group_map=[{"pattern": ".*", "to": orders}])
        options = {"cluster": migration.destination, "idle_wait": 1}
        runs = [
            spawn("kafka_offset_commit", plan=str(each.plan_file), receipt=str(each.receipt_file), **options)
            for each in (migration, other)
        ]
        results = [outcome(each) for each in runs]
        done = [result for result in results if not result.get("failed")]
        for failure in (result["msg"] for result in results if result.get("failed")):
            assert f"group {orders}" in failure or f"{orders} {orders}-" in failure
        stands = {
            partition: offset for (_topic, partition), (offset, _unused) in committed(destination, orders).items()
        }
        said = [{entry["partition"]: entry["after"] for entry in result["entries"]} for result in done]
        assert not said or stands in said  # a mixture is never called a success


def problems_of(group, topic, source, destination):
    """What the preflight says stands in the way."""
    return [each["message"] for each in looked_at(group, topic, source, destination)["problems"]]


def looked_at(group, topic, source, destination, **options):
    """All that the preflight says."""
    its = {"source": source, "destination": destination, "groups": [group], "topics": [topic], **options}
    return succeeds("kafka_migration_info", **its)


def run_without_privileges(module, **options):
    """A spawned module that may not write where modes forbid it, even when root runs the tests."""
    words = [sys.executable, "-m", "tests.support.modules", module]
    if os.geteuid() == 0:
        assert shutil.which("setpriv"), "setpriv (util-linux) is needed to test this as root"
        words = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *words]
    done = subprocess.run(
        words,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{ROOT / '.ansible/collections'}:{ROOT}", "PYTHONWARNINGS": "ignore"},
        input=json.dumps(options),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def is_locked(directory):
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def wait_until(true):
    deadline = time.monotonic() + 15
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.1)
