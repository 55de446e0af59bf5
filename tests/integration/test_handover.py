"""What Replicator has stored becomes MirrorMaker 2's, by topic or by REST; what cannot be continued is refused."""

import json
import time
import typing as t
from pathlib import Path

import pytest

from testbed.clients import (
    Message,
    NoSuchTopic,
    commit,
    create_topic,
    grant,
    produce,
    produce_in_transactions,
    read,
    revoke,
    topic_settings,
    until,
)
from testbed.mirror_maker import ALIAS
from tests.support.clusters import KafkaCluster
from tests.support.connect import Worker
from tests.support.consumers import content, open_transaction
from tests.support.modules import refuses, succeeds
from tests.support.playbooks import done
from tests.support.replicator import Places, Replicator, places


class Handover(t.NamedTuple):
    """Two clusters of a test's own, and what stands on them."""

    source: KafkaCluster
    destination: KafkaCluster
    topic: str
    copied: dict[int, int]
    replicator: Replicator
    options: dict[str, t.Any]

    def stored(self) -> Places:
        """What MirrorMaker 2's topic holds of its source connector."""
        return places(self.destination, self.options["offsets_topic"])


def prepared(source: KafkaCluster, destination: KafkaCluster, topic: str, tmp_path: Path, **more: t.Any) -> Handover:
    """A topic that Replicator has copied but for the last records."""
    for cluster in (source, destination):
        create_topic(cluster, topic, 3, retention_ms=-1)
    produce(source, topic, [Message(b"%d" % number, b"k%d" % number, partition=number % 3) for number in range(180)])
    writes = [([Message(b"t%d" % number, partition=0)], number % 3 != 0) for number in range(9)]
    produce_in_transactions(source, topic, writes)
    replicator = Replicator(source, destination, f"replicator-{topic}")
    copied = replicator.copy(topic, topic, lag=20)
    options = {
        "source": source.connection,
        "destination": destination.connection,
        "replication_policy": {"source_alias": ALIAS},
        "replicator": {"connector": replicator.connector, "offsets_topic": replicator.offsets_topic},
        "receipt": str(tmp_path / "connect-receipt.json"),
        "offsets_topic": f"mm2-offsets.{topic}.internal",
        **more,
    }
    return Handover(source, destination, topic, copied, replicator, options)


@pytest.fixture
def handover(source: KafkaCluster, destination: KafkaCluster, topic: str, tmp_path: Path) -> Handover:
    """On clusters that other tests use too, for a MirrorMaker 2 whose offsets topic is the test's own."""
    return prepared(source, destination, topic, tmp_path)


def test_a_connector_in_kafka_connect_goes_on_by_rest(handover, source, destination, topic, tmp_path):
    name = f"mirror {topic}"  # what a url has to quote
    quoted = name.replace(" ", "%20")
    with Worker(tmp_path / "connect", destination, f"worker-{topic}") as worker:
        rest = {key: each for key, each in handover.options.items() if key != "offsets_topic"}
        rest |= {"method": "rest", "rest": {"url": worker.url}, "connector": name}
        assert "404" in refuses("kafka_connect_offsets", **rest)
        worker.mirror(name, source, destination, topic, state="PAUSED")
        assert "is PAUSED" in refuses("kafka_connect_offsets", **rest)
        worker.ask("PUT", f"/connectors/{quoted}/stop")
        its = {**rest, "replicator": {**rest["replicator"], "worker_groups": [worker.group]}}
        assert f"group {worker.group}: it has members" in refuses("kafka_connect_offsets", **its)
        other = {**rest, "replication_policy": {"source_alias": "primary"}}
        assert f"source.cluster.alias {ALIAS}, and replication_policy says primary" in refuses(
            "kafka_connect_offsets", **other
        )
        elsewhere = {**rest, "source": rest["destination"], "destination": rest["source"]}
        assert "and the destination is" in refuses("kafka_connect_offsets", **elsewhere)
        predicted = succeeds("kafka_connect_offsets", check=True, **rest)
        assert any(worker.group in line and ": see that" in line for line in predicted["warnings"])
        stored = succeeds("kafka_connect_offsets", **rest)
        assert predicted["entries"] == stored["entries"]
        assert {row["partition"]: row["after"] for row in stored["entries"]} == handover.copied
        assert succeeds("kafka_connect_offsets", **rest)["changed"] is False
        assert succeeds("kafka_connect_offsets", state="rolled_back", **rest)["written"] == 3
        assert succeeds("kafka_connect_offsets", **rest)["written"] == 3
        worker.resume(name)
        expected = [content(record) for record in read(source, topic)]
        until(lambda: len(read(destination, topic)) >= len(expected), 120)
        time.sleep(3)  # for what should not come
        assert [content(record) for record in read(destination, topic)] == expected


def test_the_playbook_looks_ahead_hands_over_once_and_goes_back(handover, controller):
    its = {name: handover.options[name] for name in ("replication_policy", "replicator", "offsets_topic")}
    dry = done(controller.hand_over_replicator("--check", "--diff", **its))
    assert "Dry run" in dry.output and controller.files() == {}
    with pytest.raises(NoSuchTopic):
        handover.stored()
    real = done(controller.hand_over_replicator(**its))
    stored = {partition: json.loads(value) for (_topic, partition), ((_place, value),) in handover.stored().items()}
    assert stored == {partition: {"offset": offset} for partition, offset in handover.copied.items()}
    assert real.changed == dry.changed > 0
    assert "Next: start MirrorMaker 2" in real.output and "Next:" not in dry.output
    assert done(controller.hand_over_replicator(**its)).changed == 0
    assert done(controller.hand_over_replicator(phase="rollback", **its)).changed > 0
    assert {value for ((_place, value),) in handover.stored().values()} == {None}


def test_what_is_no_connect_is_said(handover, source):
    rest = {key: each for key, each in handover.options.items() if key != "offsets_topic"}
    rest |= {"method": "rest", "connector": "mirror"}
    broker = f"http://{source.bootstrap_servers[0]}"
    for url in (broker, "http://127.0.0.1:1"):
        assert "cannot connect" in refuses("kafka_connect_offsets", **rest, rest={"url": url})


def test_keys_that_mislead_are_refused_and_removed_when_told(handover):
    topic, offsets_topic = handover.topic, handover.options["offsets_topic"]
    create_topic(handover.destination, offsets_topic, 25, cleanup_policy="compact")

    def store(key: str, value: bytes | None, partitions: t.Iterable[int]) -> None:
        written = [Message(value, key.encode(), partition=each) for each in partitions]
        produce(handover.destination, offsets_topic, written)

    def key(partition: int, connector: str = "MirrorSourceConnector") -> str:
        return f'["{connector}",{{"cluster":"{ALIAS}","partition":{partition},"topic":"{topic}"}}]'

    store(key(0), b'{"offset":3}', range(25))
    store(key(1), None, range(25))
    store(key(2), b'{"offset":"3"}', range(25))
    store(key(1).replace(",", ", "), b'{"offset":3}', [3])
    store(key(0, "another"), b'{"offset":3}', range(25))
    store(key(0, "another"), b'{"offset":4}', range(25))
    misplaced = 24 + 24 + 25 + 1
    said = refuses("kafka_connect_offsets", **handover.options)
    assert f"Connect cannot use {misplaced} keys of the connector" in said
    done = succeeds("kafka_connect_offsets", diff=True, on_misplaced="remove", **handover.options)
    assert done["misplaced"] == misplaced
    removed = set(done["diff"]["before"].splitlines()) - set(done["diff"]["after"].splitlines())
    assert f"{offsets_topic}-3: {key(1).replace(',', ', ')}" in removed
    assert {row["partition"]: row["before"] for row in done["entries"]} == {0: 3, 1: None, 2: None}
    assert {where: len(its) for where, its in handover.stored().items()} == {(topic, each): 1 for each in range(3)}
    others = [each for each in read(handover.destination, offsets_topic) if b"another" in (each.key or b"")]
    assert [(each.partition, each.value) for each in others] == [(each, b'{"offset":4}') for each in range(25)]
    assert topic_settings(handover.destination, offsets_topic) == {"cleanup.policy": "compact"}
    assert succeeds("kafka_connect_offsets", **handover.options)["changed"] is False


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
def test_an_offsets_topic_that_connect_would_not_start_with_is_refused(handover, policy):
    create_topic(handover.destination, handover.options["offsets_topic"], 25, cleanup_policy=policy)
    assert f"cleanup.policy is {policy}" in refuses("kafka_connect_offsets", **handover.options)
    assert handover.stored() == {}


def test_a_mirror_maker_with_another_alias_is_pointed_to(handover):
    another = f"mm2-offsets.another-{handover.topic}.internal"
    create_topic(handover.destination, another, cleanup_policy="compact")
    (told,) = (line for line in succeeds("kafka_connect_offsets", **handover.options)["warnings"] if another in line)
    assert "see that source_alias is MirrorMaker 2's" in told
    assert not any(another in line for line in succeeds("kafka_connect_offsets", **handover.options)["warnings"])


def test_positions_of_transactions_that_are_open_or_aborted_are_refused(handover):
    succeeds("kafka_connect_offsets", **handover.options)
    offsets_topic = handover.options["offsets_topic"]
    ((place, _value),) = handover.stored()[handover.topic, 0]
    key = f'["MirrorSourceConnector",{{"cluster":"{ALIAS}","partition":0,"topic":"{handover.topic}"}}]'.encode()
    told = "aborted or open transactions have left other positions than committed ones"
    with open_transaction(handover.destination, offsets_topic, [Message(b'{"offset":5}', key, partition=place)]):
        assert told in refuses("kafka_connect_offsets", **handover.options)
    assert told in refuses("kafka_connect_offsets", **handover.options)
    produce(handover.destination, offsets_topic, [Message(b'{"offset":%d}' % handover.copied[0], key, partition=place)])
    assert succeeds("kafka_connect_offsets", **handover.options)["changed"] is False


def test_wrong_input_is_refused_before_anything_is_written(handover):
    replicator, topic = handover.replicator, handover.topic
    options = handover.options

    def refused(policy: dict[str, str] | None = None, **of_replicator: str) -> str:
        its = {**options, "replicator": {**options["replicator"], **of_replicator}}
        return refuses("kafka_connect_offsets", **its | ({"replication_policy": policy} if policy else {}))

    assert "does not exist" in refused(offsets_topic="nowhere")
    assert "source cluster" in refused(cluster="source")
    default = {"name": "default", "source_alias": ALIAS}
    assert "does not exist at the destination" in refused(default, topic_rename_format=f"{ALIAS}.${{topic}}")
    assert "Replicator calls topics" in refused(topic_rename_format="${topic}-replica")
    assert "topic nowhere is not among those of which a position" in refuses(
        "kafka_connect_offsets", **options, topics=["nowhere"]
    )
    commit(handover.source, replicator.connector, {(topic, 1): 5})
    assert "position: stored or group" in refused()
    replicator.store("gone", 0, '{"offset":1}')
    stored = {**options, "replicator": {**options["replicator"], "position": "stored"}}
    assert "gone-0 does not exist at the source" in refuses("kafka_connect_offsets", **stored, topics=["gone"])
    replicator.store(topic, 2, '{"offset":50}')
    looked = succeeds("kafka_connect_offsets", check=True, **stored)
    assert {row["topic"] for row in looked["entries"]} == {topic}
    assert any("does not have them any more: 1 position, of gone-0." in line for line in looked["warnings"])
    with pytest.raises(NoSuchTopic):
        handover.stored()


def test_the_group_says_where_replicator_is_when_it_is_told_to(handover):
    commit(handover.source, handover.replicator.connector, {(handover.topic, 0): 11})
    its = {**handover.options["replicator"], "position": "group"}
    done = succeeds("kafka_connect_offsets", **{**handover.options, "replicator": its})
    assert {row["partition"]: row["after"] for row in done["entries"]}[0] == 10


def test_the_documented_rights_are_enough_and_each_that_is_missing_is_refused(secured, topic, tmp_path):
    copy, offsets_topic, worker_group = f"{ALIAS}.{topic}", f"mm2-offsets.{topic}.internal", f"{topic}-mm2"
    for name in (topic, copy):
        create_topic(secured, name)
    produce(secured, topic, [Message(b"%d" % number) for number in range(50)])
    replicator = Replicator(secured, secured, f"replicator-{topic}")
    replicator.copy(topic, copy, lag=20)
    key = f'["MirrorSourceConnector",{{"cluster":"{ALIAS}","partition":0,"topic":"{topic}"}}]'.encode()
    its = {
        "connector": replicator.connector,
        "offsets_topic": replicator.offsets_topic,
        "topic_rename_format": f"{ALIAS}.${{topic}}",
        "worker_groups": [f"{topic}-connect"],
    }
    options = {
        **dict.fromkeys(("source", "destination"), secured.connection_as("migrator")),
        "replication_policy": {"source_alias": ALIAS, "name": "default"},
        "replicator": its,
        "offsets_topic": offsets_topic,
        "worker_group": worker_group,
        "receipt": str(tmp_path / "connect-receipt.json"),
        "on_misplaced": "remove",
        "on_rewind": "rewind",
    }
    rights = {
        f"GROUP DESCRIBE on {replicator.connector}",
        f"GROUP DESCRIBE on {worker_group}",
        f"GROUP DESCRIBE on {topic}-connect",
        f"TOPIC DESCRIBE on {topic}",
        f"TOPIC DESCRIBE on {copy}",
        f"TOPIC READ on {replicator.offsets_topic}",
        *(f"TOPIC {operation} on {offsets_topic}" for operation in ("READ", "WRITE", "DESCRIBE_CONFIGS")),
    }
    to_remove = {f"TOPIC {operation} on {offsets_topic}" for operation in ("ALTER_CONFIGS", "DELETE")}
    create = {f"TOPIC CREATE on {offsets_topic}"}

    def each_is_needed(some: set[str]) -> None:
        for right in sorted(some):
            revoke(secured, {right})
            assert "ACL" in refuses("kafka_connect_offsets", **options), right
            grant(secured, {right})

    grant(secured, {*rights, *create})
    try:
        assert succeeds("kafka_connect_offsets", **options)["written"] == 1
        revoke(secured, create)
        ((place, _value),) = places(secured, offsets_topic)[topic, 0]
        produce(secured, offsets_topic, [Message(b'{"offset":3}', key, partition=place)])
        each_is_needed(rights)
        assert succeeds("kafka_connect_offsets", **options)["written"] == 1
        grant(secured, to_remove)
        produce(secured, offsets_topic, [Message(b'{"offset":3}', key, partition=each) for each in range(25)])
        each_is_needed(to_remove)
        assert succeeds("kafka_connect_offsets", **options)["misplaced"] == 24
        assert len(places(secured, offsets_topic)[topic, 0]) == 1
        assert topic_settings(secured, offsets_topic) == {"cleanup.policy": "compact"}
    finally:
        revoke(secured, {*rights, *to_remove})
