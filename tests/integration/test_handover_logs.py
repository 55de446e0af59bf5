"""A real MirrorMaker 2 goes on with the very next record of every kind of log, each record proved."""

import typing as t
import zlib
from pathlib import Path

from testbed.clients import Message, create_topic, delete_records, log_bounds, produce, produce_in_transactions, read
from testbed.mirror_maker import ALIAS, OFFSETS_TOPIC, MirrorMaker
from tests.support import kinds
from tests.support.clusters import KafkaCluster
from tests.support.consumers import content
from tests.support.modules import refuses, succeeds
from tests.support.replicator import Replicator, places, without_junk

LAG = 20
JUNK = 13
# Settings of topics are left alone, or the copy of a compacted topic would be compacted as well.
MORE = {"src.consumer.isolation.level": "read_committed", "sync.topic.configs.enabled": "false"}
ONCE = {"dst.exactly.once.source.support": "enabled", "dst.transaction.state.log.replication.factor": 1}


def plain(cluster: KafkaCluster, topic: str) -> None:
    """Partition 0 has records enough, partition 1 less than are left to copy, partition 2 none."""
    create_topic(cluster, topic, 3, retention_ms=-1)
    produce(cluster, topic, [Message(b"%d" % n, b"k%d" % (n % 5), partition=int(n % 8 == 7)) for n in range(120)])


def expiring(cluster: KafkaCluster, topic: str) -> None:
    """Its older records are about to leave the log."""
    create_topic(cluster, topic, retention_ms=-1)
    produce(cluster, topic, [Message(b"%d" % n) for n in range(60)])


KINDS: dict[str, t.Callable[[KafkaCluster, str], t.Any]] = {
    "transactions": kinds.transactions,
    "compacted": kinds.compacted,
    "peculiar": kinds.peculiar,
    "plain": plain,
    "expiring": expiring,
}


class Flow:
    """Topics of some kinds, which Replicator has copied but for the last records, and the module's options."""

    def __init__(
        self, source: KafkaCluster, destination: KafkaCluster, tmp_path: Path, topics: t.Iterable[str], prefix: str
    ) -> None:
        self.source, self.destination, self.prefix, self.topics = source, destination, prefix, list(topics)
        replicator = Replicator(source, destination, "replicator")
        self.copied: dict[tuple[str, int], int] = {}
        self.once_there = {}
        for topic in self.topics:
            KINDS[topic](source, topic)
            partitions = 4 if topic == "peculiar" else 3 if topic == "plain" else 1
            create_topic(destination, prefix + topic, partitions, retention_ms=-1)
            self.once_there[topic] = self.contents(source, topic)
            lag = 6 if topic == "compacted" else LAG
            copied = replicator.copy(topic, prefix + topic, lag, JUNK)
            self.copied |= {(topic, partition): offset for partition, offset in copied.items()}
        if "expiring" in self.topics:
            delete_records(source, "expiring", {0: self.copied["expiring", 0] + 1})
        self.options: dict[str, t.Any] = {
            "source": source.connection,
            "destination": destination.connection,
            "replicator": {"topic_rename_format": f"{prefix}${{topic}}"},
            "receipt": str(tmp_path / "connect-receipt.json"),
        }
        self.options["replicator"]["offsets_topic"] = replicator.offsets_topic

    def contents(self, cluster: KafkaCluster, topic: str) -> list[t.Any]:
        """The records without their offsets."""
        return [content(record) for record in without_junk(read(cluster, topic))]

    def stored(self) -> dict[tuple[str, int], int]:
        """What the module has stored."""
        done = succeeds("kafka_connect_offsets", check=True, **self.options)
        return {(row["topic"], row["partition"]): row["before"] for row in done["entries"]}

    def prove(self) -> None:
        """Fail unless each record of the source is at the destination once and in order, and nothing else."""
        for topic in self.topics:
            originals, copies = self.contents(self.source, topic), self.contents(self.destination, self.prefix + topic)
            if topic in ("compacted", "expiring"):  # the source may have lost what it had
                known = self.once_there[topic]
                assert copies == [each for each in known if each in copies], topic
                assert [each for each in copies if each in originals] == originals, topic
                assert len(copies) > len(originals) or topic == "compacted"
            else:
                assert copies == originals, topic
            assert originals

    def misplace(self) -> int:
        """Write keys as scripts do. -> how many."""
        key = f'["MirrorSourceConnector",{{"cluster":"{ALIAS}","partition":0,"topic":"plain"}}]'.encode()
        spaced = key.replace(b",", b", ")
        ordered = f'["MirrorSourceConnector",{{"topic":"plain","partition":0,"cluster":"{ALIAS}"}}]'.encode()
        create_topic(self.destination, OFFSETS_TOPIC, 25, cleanup_policy="compact")
        for each in (key, spaced, ordered):
            produce(self.destination, OFFSETS_TOPIC, [Message(b'{"offset":3}', each, partition=zlib.crc32(each) % 25)])
        # Wherever the right one is, a worker reads one of these after it.
        others = f'["MirrorSourceConnector",{{"cluster":"{ALIAS}","partition":0,"topic":"transactions"}}]'.encode()
        produce(
            self.destination,
            OFFSETS_TOPIC,
            [Message(b'{"offset":5}', others, partition=partition) for partition in range(25)],
        )
        return 3 + 24


def test_mirror_maker_goes_on_under_the_same_names_whatever_the_logs_are(own_cluster, tmp_path):
    flow = Flow(own_cluster("source"), own_cluster("destination"), tmp_path, KINDS, "")
    flow.options["replication_policy"] = {"source_alias": ALIAS}
    misplaced = flow.misplace()
    assert f"Connect cannot use {misplaced} keys of the connector" in refuses("kafka_connect_offsets", **flow.options)
    flow.options |= {"on_misplaced": "remove", "on_rewind": "rewind"}
    predicted = succeeds("kafka_connect_offsets", check=True, **flow.options)
    assert not (tmp_path / "connect-receipt.json").exists()
    done = succeeds("kafka_connect_offsets", **flow.options)
    assert {**done, "invocation": 0} == {**predicted, "invocation": 0}
    assert done["misplaced"] == misplaced
    assert flow.stored() == flow.copied
    assert all(len(each) == 1 for each in places(flow.destination, OFFSETS_TOPIC).values())
    assert succeeds("kafka_connect_offsets", **flow.options)["changed"] is False

    topics = "|".join(KINDS)
    its = {"topics": topics, "sync_groups": False, "more": MORE}
    with MirrorMaker(tmp_path / "mm2", flow.source, flow.destination, **its) as mirror_maker:
        mirror_maker.wait_until_caught_up(KINDS)
        said = refuses("kafka_connect_offsets", **flow.options)
        assert "src-mm2" in said and "members" in said
    flow.prove()
    # It has gone on, so that a second hand-over and a rollback would have it copy everything again.
    before = flow.stored()
    assert before != flow.copied
    assert succeeds("kafka_connect_offsets", **flow.options)["changed"] is False
    assert "it was copied since" in refuses("kafka_connect_offsets", state="rolled_back", **flow.options)
    produce_in_transactions(
        flow.source, "transactions", [([Message(b"later %d" % n)] * 3, n % 2 == 0) for n in range(9)]
    )
    produce(flow.source, "plain", [Message(b"later %d" % n, partition=n % 3) for n in range(60)])
    with MirrorMaker(tmp_path / "mm2", flow.source, flow.destination, **its) as mirror_maker:
        mirror_maker.wait_until_caught_up(KINDS)
    flow.prove()


def test_an_older_mirror_maker_that_copies_exactly_once_goes_on_after_a_separator(own_cluster, tmp_path):
    kinds_of = [name for name in KINDS if name != "compacted"]
    flow = Flow(own_cluster("source"), own_cluster("destination"), tmp_path, kinds_of, f"{ALIAS}-")
    flow.options["replication_policy"] = {"source_alias": ALIAS, "name": "default", "separator": "-"}
    assert succeeds("kafka_connect_offsets", **flow.options)["written"] == len(flow.copied)
    more = {**MORE, **ONCE, "replication.policy.separator": "-"}
    its = {"topics": "|".join(kinds_of), "sync_groups": False, "identity": False, "version": "3.9.1", "more": more}
    with MirrorMaker(tmp_path / "mm2", flow.source, flow.destination, **its) as mirror_maker:
        mirror_maker.wait_until_caught_up(kinds_of)
    flow.prove()
    copy = f"{ALIAS}-plain"
    assert log_bounds(flow.destination, copy)[0][1] > len(
        read(flow.destination, copy, [0])
    )  # markers: it was exactly once
    assert succeeds("kafka_connect_offsets", **flow.options)["changed"] is False
