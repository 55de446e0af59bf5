"""Brokers that will not, or cannot, create a topic: what a promotion says, and how the next run goes on from its receipt."""

import json
import resource
import shutil
import subprocess

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import topic_changes
from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Unserved
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topics import topic_ids
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidFile
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._module import promoting
from testbed.clients import Message, create_topic, produce, read
from testbed.sandbox import end, java_command, start
from tests.support.modules import refuses, run
from tests.support.promotion import Promotion

# What a company may have: Java adds the jar of an agent to the class path.
POLICY = """
public class Policy implements org.apache.kafka.server.policy.CreateTopicPolicy {
    public static void premain(String arguments) {}
    public void configure(java.util.Map<String, ?> settings) {}
    public void close() {}
    public void validate(RequestMetadata topic) {
        if (topic.topic().endsWith("-refused"))
            throw new org.apache.kafka.common.errors.PolicyViolationException("a topic needs an owner");
    }
}
"""
INDEX = 10 << 20  # bytes: log.index.size.max.bytes, which a broker sets aside for each index of a new log


@pytest.fixture
def strict(source, own_cluster, tmp_path, monkeypatch):
    """A cluster that refuses topics whose names end with -refused."""
    if shutil.which("javac") is None:
        pytest.skip("there is no javac, and the policy has to be compiled")
    command = java_command("4.3.0", "any", memory="64m")
    (tmp_path / "Policy.java").write_text(POLICY)
    classes = command[command.index("-cp") + 1]
    subprocess.run(["javac", "-cp", classes, "Policy.java"], cwd=tmp_path, check=True)
    (tmp_path / "manifest").write_text("Premain-Class: Policy\n")
    subprocess.run(["jar", "cfm", "policy.jar", "manifest", "Policy.class"], cwd=tmp_path, check=True)
    with monkeypatch.context() as only_here:
        only_here.setenv("JAVA_TOOL_OPTIONS", f"-javaagent:{tmp_path / 'policy.jar'}")
        return own_cluster("strict", settings={"create.topic.policy.class.name": "Policy"})


def test_topics_that_a_policy_refuses_are_named_before_anything_is_made(source, strict, topic, tmp_path):
    names = [f"{topic}-fine", f"{topic}-one-refused", f"{topic}-two-refused"]
    for name in names:
        create_topic(source, name)
    promotion = Promotion(tmp_path, source, strict)
    said = promotion.run(refuses, topics=names)
    assert said.startswith(f"destination cluster {strict.bootstrap_servers[0]}: the brokers would not take ")
    for name in names[1:]:
        assert f"{name}: it cannot be created: a topic needs an owner" in said
    assert "leave the topic out; nothing was written" in said
    assert promotion.files() == promotion.partitions(*names) == {}
    promotion.carefully(topics=names[:1])
    assert promotion.partitions(*names) == {names[0]: 1}


def test_a_broker_that_cannot_write_to_its_disk(source, own_cluster, topic, tmp_path, monkeypatch):
    """It takes the topics into its metadata, names itself their leader, and cannot make their logs."""
    full = own_cluster("full")
    broker = full.cluster.process("broker-1")
    names = [f"{topic}-a", f"{topic}-b"]
    for name in names:
        create_topic(source, name, 2)
    promotion = Promotion(tmp_path, source, full)
    monkeypatch.setattr(topic_changes, "LEADER_SECONDS", 2)
    # A file that grows above the limit is refused as on a full disk; those that are there already go on.
    resource.prlimit(broker.pid, resource.RLIMIT_FSIZE, (INDEX - 1, resource.RLIM_INFINITY))
    said = promotion.run(refuses, topics=names)
    where = f"destination cluster {full.bootstrap_servers[0]}, topic {names[0]}, partition 0"
    assert said.startswith(f"{where}: its leader, broker 1, does not serve it after 2 s: NOT_LEADER_FOR_PARTITION. ")
    assert "a broker whose disk is full or read-only can create no partitions" in said
    assert "Run again when all brokers are up" in said
    ids = topic_ids(connection_from(full.connection), names)
    assert noted(promotion) == ids and len(ids) == 2

    end([broker])
    start("full", tmp_path)
    promotion.run(topics=names)
    assert promotion.partitions(*names) == dict.fromkeys(names, 2) and noted(promotion) == ids
    produce(full, names[0], [Message(b"one")])
    assert [each.value for each in read(full, names[0])] == [b"one"]
    back = promotion.run(state="rolled_back", remove_created=True)
    assert back["notes"] == [f"{names[0]} stays, because it holds records."]
    assert promotion.partitions(*names) == {names[0]: 2}


def test_a_broker_that_stops_because_of_its_disk(source, own_cluster, topic, tmp_path, monkeypatch):
    """Most do, when they cannot write what they have to."""
    stopping = own_cluster("stopping")
    names = [f"{topic}-a", f"{topic}-b"]
    for name in names:
        create_topic(source, name, 2)
    promotion = Promotion(tmp_path, source, stopping)
    broker = stopping.cluster.process("broker-1")

    def stops(*_args):
        end([broker])
        return [Unserved(TopicPartition(names[0], 0), 1, "KAFKA_STORAGE_ERROR")]

    with monkeypatch.context() as only_here:
        only_here.setattr(topic_changes, "unserved", stops)
        said = promotion.run(refuses, topics=names)
    where = f"destination cluster {stopping.bootstrap_servers[0]}, topic {names[0]}"
    assert said.startswith(
        f"{where}: its partitions were created, and those of 1 more topic, but the brokers do not answer any more: "
        "connection refused. "
    )
    assert "a broker whose disk is full or read-only can create no partitions, and may stop" in said

    start("stopping", tmp_path)
    promotion.run(topics=names)
    assert promotion.partitions(*names) == dict.fromkeys(names, 2)
    assert noted(promotion) == topic_ids(connection_from(stopping.connection), names)


def test_only_the_run_that_has_created_a_topic_deletes_it(source, destination, topic, tmp_path, monkeypatch):
    """Two directories, one plan: the second run finds the topic that the first one has created after both have planned."""
    create_topic(source, topic, 2, retention_ms=5000)
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    first = Promotion(tmp_path / "first", source, destination)
    second = Promotion(tmp_path / "second", source, destination)
    made = []
    rows = topic_changes._creation_rows

    def after_the_first(client, connection, topics, validate_only):
        if not validate_only and not made:
            made.append(True)
            first.run(topics=[topic])
        return rows(client, connection, topics, validate_only)

    with monkeypatch.context() as only_here:
        only_here.setattr(topic_changes, "_creation_rows", after_the_first)
        second.run(topics=[topic])
    assert made and noted(first) == topic_ids(connection_from(destination.connection), [topic])
    assert noted(second) == {}
    second.run(state="rolled_back", remove_created=True)
    assert first.partitions(topic) == {topic: 2}
    first.run(state="rolled_back", remove_created=True)
    assert first.partitions(topic) == {}


def noted(promotion):
    """The ids of the topics that the receipt says the promotion has created."""
    entries = json.loads(promotion.receipt_file.read_text())["entries"]
    return {each["topic"]: each["topic_id"] for each in entries if each["created"]}


def test_a_rollback_that_fails_after_topics_are_deleted_says_that_it_has_changed_something(
    source, destination, topic, tmp_path, monkeypatch
):
    create_topic(source, topic)
    promotion = Promotion(tmp_path, source, destination)
    promotion.run(topics=[topic])

    def full(path, *_document):
        raise InvalidFile(f"{path} cannot be written", why="No space left on device")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(promoting.files, "write_document", full)
        result = promotion.run(run, state="rolled_back", remove_created=True)
    assert (result["failed"], result.get("changed")) == (True, True), result
    assert promotion.partitions(topic) == {}
    assert promotion.run(state="rolled_back", remove_created=True)["changed"] is True  # completes the receipt
