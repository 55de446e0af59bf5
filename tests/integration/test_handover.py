# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replicator hands over to a real MirrorMaker 2, which goes on with the very next record: by topic."""

from __future__ import annotations

import json
import time
import typing as t
import zlib
from pathlib import Path

import kafka.errors
import pytest

from demo.clients import Message, commit, create_topic, delete_records, produce, produce_in_transactions, read
from demo.mirror_maker import ALIAS, OFFSETS_TOPIC, MirrorMaker
from tests.support import copier
from tests.support.clusters import KafkaCluster
from tests.support.connect import Worker
from tests.support.modules import refuses, succeeds
from tests.support.playbooks import Controller, done, failed


class Replicator:
    """A stand-in for Confluent Replicator, which is no free software: it copies, stores and commits as that does."""

    def __init__(self, source: KafkaCluster, destination: KafkaCluster, connector: str) -> None:
        self.source, self.destination, self.connector = source, destination, connector
        self.offsets_topic = f"{connector}-offsets"
        create_topic(destination, self.offsets_topic, 25, cleanup_policy="compact")

    def copy(self, topic: str, to: str, behind: int) -> dict[int, int]:
        """Copy all but the last so many records of each partition. -> the last offsets copied."""
        copies = copier.copy(self.source, self.destination, topic, to, behind=behind)
        last: dict[int, int] = {}
        for partition, offset in copies:
            last[partition] = max(last.get(partition, 0), offset)
        for partition, offset in last.items():
            self.store(topic, partition, json.dumps({"offset": offset}, separators=(",", ":")))
        commit(self.source, self.connector, {(topic, partition): offset + 1 for partition, offset in last.items()})
        return last

    def store(self, topic: str, partition: int, value: str | None) -> None:
        """Store a value for a partition, with the order of members that Replicator's keys have."""
        key = json.dumps([self.connector, {"topic": topic, "partition": partition}], separators=(",", ":")).encode()
        value_bytes = None if value is None else value.encode()
        produce(self.destination, self.offsets_topic, [Message(value_bytes, key, partition=zlib.crc32(key) % 25)])


class Handover(t.NamedTuple):
    """Two clusters of a test's own, and what stands on them."""

    source: KafkaCluster
    destination: KafkaCluster
    topic: str
    copied: dict[int, int]
    replicator: Replicator
    options: dict[str, t.Any]

    def contents(self, of: str, cluster: KafkaCluster) -> list[tuple[t.Any, ...]]:
        """The records of a topic without their offsets, in order."""
        return [(each.partition, *each[2:]) for each in read(cluster, of)]

    def stored(self) -> dict[tuple[str, int], list[tuple[int, bytes | None]]]:
        """What MirrorMaker 2's topic holds of its source connector: every place where a key is, and its last value there."""
        found: dict[tuple[str, int], dict[int, bytes | None]] = {}
        for record in read(self.destination, self.options["offsets_topic"]):
            connector, where = json.loads(record.key or b"")
            if connector == "MirrorSourceConnector":
                found.setdefault((where["topic"], where["partition"]), {})[record.partition] = record.value
        return {key: sorted(places.items()) for key, places in found.items()}


def prepared(source: KafkaCluster, destination: KafkaCluster, topic: str, tmp_path: Path, **more: t.Any) -> Handover:
    """A topic that Replicator has copied but for the last records."""
    for cluster in (source, destination):
        create_topic(cluster, topic, 3, retention_ms=-1)
    produce(source, topic, [Message(b"%d" % number, b"k%d" % number, partition=number % 3) for number in range(180)])
    writes = [([Message(b"t%d" % number, partition=0)], number % 3 != 0) for number in range(9)]
    produce_in_transactions(source, topic, writes)
    replicator = Replicator(source, destination, f"replicator-{topic}")
    copied = replicator.copy(topic, topic, behind=20)
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


def test_mirror_maker_goes_on_with_the_next_record_and_a_second_run_changes_nothing(own_cluster, topic, tmp_path):
    clusters = own_cluster("source"), own_cluster("destination")
    handover = prepared(*clusters, topic, tmp_path, offsets_topic=OFFSETS_TOPIC)
    predicted = succeeds("kafka_connect_offsets", check=True, **handover.options)
    assert not (tmp_path / "connect-receipt.json").exists()
    done = succeeds("kafka_connect_offsets", **handover.options)
    assert {**done, "invocation": 0} == {**predicted, "invocation": 0}
    assert {(row["topic"], row["partition"]): row["after"] for row in done["entries"]} == {
        (handover.topic, partition): offset for partition, offset in handover.copied.items()
    }
    assert succeeds("kafka_connect_offsets", **handover.options)["changed"] is False
    more = {"src.consumer.isolation.level": "read_committed"}
    with MirrorMaker(
        tmp_path / "mm2", handover.source, handover.destination, topics=handover.topic, sync_groups=False, more=more
    ) as mirror_maker:
        mirror_maker.wait_until_caught_up([handover.topic])
        said = refuses("kafka_connect_offsets", **handover.options)
        assert "src-mm2" in said and "members" in said
    expected = handover.contents(handover.topic, handover.source)
    assert handover.contents(handover.topic, handover.destination) == expected
    # It has found what was written, and has written its own behind it: no key is anywhere else.
    assert {key: len(places) for key, places in handover.stored().items()} == {(topic, each): 1 for each in range(3)}


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
        predicted = succeeds("kafka_connect_offsets", check=True, **rest)
        stored = succeeds("kafka_connect_offsets", **rest)
        assert predicted["entries"] == stored["entries"]
        assert {row["partition"]: row["after"] for row in stored["entries"]} == handover.copied
        assert succeeds("kafka_connect_offsets", **rest)["changed"] is False
        assert succeeds("kafka_connect_offsets", state="rolled_back", **rest)["written"] == 3
        assert succeeds("kafka_connect_offsets", **rest)["written"] == 3
        worker.resume(name)
        expected = handover.contents(topic, source)
        deadline = time.monotonic() + 120
        while len(handover.contents(topic, destination)) < len(expected) and time.monotonic() < deadline:
            time.sleep(0.5)
        time.sleep(3)  # for what should not come
        assert handover.contents(topic, destination) == expected


def test_what_is_no_connect_is_said(handover, source):
    broker = f"http://{source.bootstrap_servers[0]}"
    rest = {key: each for key, each in handover.options.items() if key != "offsets_topic"}
    rest |= {"method": "rest", "connector": "mirror"}
    for url, why in (
        (broker, "cannot connect"),
        ("http://127.0.0.1:1", "cannot connect"),
        ("nonsense", "cannot connect"),
    ):
        assert why in refuses("kafka_connect_offsets", **rest, rest={"url": url})


def test_what_was_stored_is_taken_back(handover):
    succeeds("kafka_connect_offsets", **handover.options)
    assert len(handover.stored()) == 3
    back = succeeds("kafka_connect_offsets", state="rolled_back", **handover.options)
    assert back["written"] == 3
    assert [value for places in handover.stored().values() for _place, value in places] == [None] * 3
    assert succeeds("kafka_connect_offsets", state="rolled_back", **handover.options)["changed"] is False


def test_a_key_in_the_wrong_partition_is_refused_and_mended_when_told(handover):
    key = f'["MirrorSourceConnector",{{"cluster":"{ALIAS}","partition":0,"topic":"{handover.topic}"}}]'.encode()
    create_topic(handover.destination, handover.options["offsets_topic"], 25, cleanup_policy="compact")
    for partition in range(25):
        produce(
            handover.destination,
            handover.options["offsets_topic"],
            [Message(b'{"offset":3}', key, partition=partition)],
        )
    said = refuses("kafka_connect_offsets", **handover.options)
    assert "24 keys stand where Connect does not look for them" in said
    done = succeeds("kafka_connect_offsets", on_misplaced="tombstone", **handover.options)
    assert done["misplaced"] == 24
    before = {row["partition"]: row["before"] for row in done["entries"]}
    assert before == {0: 3, 1: None, 2: None}
    assert succeeds("kafka_connect_offsets", **handover.options)["changed"] is False


def test_wrong_input_is_refused_before_anything_is_written(handover):
    replicator, topic = handover.replicator, handover.topic
    options = handover.options

    def refused(policy: dict[str, str] | None = None, **of_replicator: str) -> str:
        its = {**options, "replicator": {**options["replicator"], **of_replicator}}
        return refuses("kafka_connect_offsets", **its | ({"replication_policy": policy} if policy else {}))

    assert f"it holds those of {replicator.connector}" in refused(connector="replicatr")
    assert "does not exist" in refused(offsets_topic="nowhere")
    default = {"name": "default", "source_alias": ALIAS}
    assert "does not exist at the destination" in refused(default, topic_rename_format=f"{ALIAS}.${{topic}}")
    assert "Replicator calls topics" in refused(topic_rename_format="${topic}-replica")
    commit(handover.source, replicator.connector, {(topic, 1): 5})
    assert "position: stored or group" in refused()
    replicator.store(topic, 2, '{"offset":7.0}')
    said = refused(position="stored")
    assert "tells no position" in said and replicator.offsets_topic in said
    replicator.store(topic, 2, '{"offset":5000}')
    assert "behind the source's last offset" in refused(position="stored")
    replicator.store("gone", 0, '{"offset":1}')
    replicator.store(topic, 2, f'{{"offset":{handover.copied[2]}}}')
    assert "gone-0 does not exist at the source" in refused(position="stored")
    delete_records(handover.source, topic, {2: handover.copied[2] + 5})
    assert f"records from {handover.copied[2] + 1} to {handover.copied[2] + 4} have expired" in refused(
        position="stored"
    )
    with pytest.raises(kafka.errors.UnknownTopicOrPartitionError):
        handover.stored()


def test_the_group_says_where_replicator_is_when_it_is_told_to(handover):
    commit(handover.source, handover.replicator.connector, {(handover.topic, 0): 11})
    its = {**handover.options["replicator"], "position": "group"}
    done = succeeds("kafka_connect_offsets", **{**handover.options, "replicator": its})
    assert {row["partition"]: row["after"] for row in done["entries"]}[0] == 10


def test_the_playbook_predicts_hands_over_and_takes_back(handover, source, destination, tmp_path):
    controller = Controller(tmp_path / "user", onprem=source, cloud=destination)
    variables = {name: handover.options[name] for name in ("replication_policy", "replicator", "offsets_topic")}
    before = controller.files()
    predicted = done(controller.hand_over_replicator("--check", "--diff", **variables))
    assert f"+{handover.topic}-0: {handover.copied[0]}" in predicted.output
    assert controller.files() == before
    with pytest.raises(kafka.errors.UnknownTopicOrPartitionError):
        handover.stored()
    assert "3 of 3 positions changed." in done(controller.hand_over_replicator(**variables)).output
    assert len(handover.stored()) == 3
    assert done(controller.hand_over_replicator(**variables)).changed == 0
    done(controller.hand_over_replicator(phase="rollback", **variables))
    assert [value for places in handover.stored().values() for _place, value in places] == [None] * 3
    assert "Did you mean replicator_handover_phase" in failed(
        controller.hand_over_replicator(phse="rollback", **variables)
    )
