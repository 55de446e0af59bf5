"""Clusters that have one id, one cluster that has two addresses, and topics that change between a plan and its commit."""

import json
import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.clusters import are_one
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topic_changes import add_partitions
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from testbed.clients import Message, commit, committed, create_topic, delete_topic, produce
from testbed.sandbox import start
from tests.support.clusters import KafkaCluster
from tests.support.modules import Migration, refuses
from tests.support.numbered import numbered_topic
from tests.support.promotion import Promotion
from tests.support.replication_tool import copied_topic


@pytest.fixture(scope="module")
def twin(shared_clusters, source, tmp_path_factory) -> t.Iterator[KafkaCluster]:
    """Another cluster that was formatted with the source's id, as an image or a chart does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sandbox_settings._new_id", lambda: source.cluster_id)
        its = KafkaCluster(start("twin", shared_clusters))
    assert its.cluster_id == source.cluster_id
    return its


@pytest.fixture
def migration(source, twin, topic, tmp_path):
    """100 records at the source, 7 others before their copies at its twin, and a group that stands at 50."""
    copied_topic(source, twin, topic, 100, 50, partitions=1, junk=7)
    return Migration(tmp_path / "migration", source, twin)


class TestTwoClustersWithOneId:
    def test_a_group_keeps_its_name_and_gets_its_offset(self, source, twin, topic, migration):
        migration.snapshot(topic)
        made = migration.translate()
        assert made["note_kinds"] == ["equal_cluster_ids"]
        assert f"have the same cluster id {source.cluster_id}, and are two clusters" in made["notes"][0]
        migration.commit(source=source.connection)
        assert committed(twin, topic) == {(topic, 0): (57, "")}
        assert migration.verify()["problems"] == []

    def test_equal_offsets_are_only_kept_where_records_are_equal(self, topic, migration):
        migration.snapshot(topic)
        for mapping in ({}, {"group_map": [{"name": topic, "to": f"{topic}-2"}]}):
            made = migration.translate(strategy="identical", **mapping)
            assert made["counts"]["blocked"] == 1
        row = json.loads(migration.plan_file.read_text())["entries"][0]
        assert (row["verdict"], row["reason"], row["evidence"]["certificate"]) == ("blocked", "offsets_differ", None)

    def test_files_are_of_the_one_that_they_were_made_for(self, source, twin, destination, topic, migration):
        migration.snapshot(topic)
        migration.translate()
        migration.commit()
        swapped = {"source": twin.connection, "destination": source.connection}
        assert "the topic is not the one that the snapshot is about" in migration.translate(via=refuses, **swapped)
        for message in (
            migration.commit(via=refuses, cluster=source.connection),
            migration.roll_back(via=refuses, cluster=source.connection),
            migration.verify(via=refuses, **swapped),
        ):
            assert "was made for another cluster: this one" in message
            assert f"topic {topic} is another one (its id is " in message or "has brokers at other addresses" in message

    def test_a_topic_is_promoted_under_its_name(self, source, twin, topic, tmp_path):
        create_topic(source, topic, partitions=2)
        made = Promotion(tmp_path, source, twin).run(topics=[topic])
        assert made["note_kinds"][0] == "equal_cluster_ids"


def test_two_listeners_lead_to_one_cluster(secured, twin, source, topic, tmp_path):
    """Other addresses, other users, the same topics and logs."""
    numbered_topic(secured, topic, 20, 5, partitions=1)
    inside, outside = secured.connection, secured.plaintext
    assert are_one(connection_from(inside, "source cluster"), connection_from(outside, "destination cluster"))
    assert not are_one(connection_from(source.connection, "source cluster"), connection_from(twin.connection, "twin"))
    migration = Migration(tmp_path / "migration", secured, secured)
    migration.source, migration.destination = inside, outside
    migration.snapshot(topic)
    assert "are one cluster, and nothing would change for" in migration.translate(via=refuses)
    migration.translate(strategy="identical", group_map=[{"name": topic, "to": f"{topic}-2"}])
    row = json.loads(migration.plan_file.read_text())["entries"][0]
    assert (row["offset"], row["evidence"]["certificate"]) == (5, "same_log")
    migration.commit(cluster=inside)  # planned through the other listener
    assert committed(secured, f"{topic}-2") == {(topic, 0): (5, "")}


class TestBetweenPlanAndCommit:
    """Nothing is committed for a topic that is not what it was, whether or not records are verified before."""

    @pytest.fixture
    def planned(self, migration, topic):
        migration.plan(topic)
        return migration

    def grow(self, cluster: KafkaCluster, topic: str) -> None:
        add_partitions(connection_from(cluster.connection, "cluster"), {topic: 2})

    def refused(self, planned, source, topic, told):
        before = planned.state(topic)
        for more in ({}, {"check": True}):
            message = planned.commit(via=refuses, source=source.connection, **more)
            assert "changed_since_plan" in message and told in message
        assert planned.state(topic) == before
        planned.receipt_file.unlink(missing_ok=True)
        found = planned.verify(scope="plan", on_problem="report")
        assert found["kinds"] == {"changed_since_plan": 1}, found
        done = planned.commit(source=source.connection, on_blocked="skip_partition")
        assert done["written"] == 0 and "changed_since_plan" in done["left_out"][0]

    def test_partitions_are_added_at_the_destination(self, source, twin, topic, planned):
        self.grow(twin, topic)
        produce(twin, topic, [Message(b"new %d" % number, partition=1) for number in range(20)])
        self.refused(planned, source, topic, f"topic {topic} of the destination has 2 partitions, and had 1")

    def test_partitions_are_added_at_the_source(self, source, twin, topic, planned):
        self.grow(source, topic)
        self.refused(planned, source, topic, f"topic {topic} of the source has 2 partitions, and had 1")

    def test_a_longer_topic_takes_the_name(self, source, twin, topic, planned):
        delete_topic(twin, topic)
        create_topic(twin, topic)
        produce(twin, topic, [Message(b"foreign %d" % number) for number in range(300)])
        self.refused(planned, source, topic, f"topic {topic} of the destination was deleted and created again")

    def test_a_rollback_does_not_go_into_another_topic(self, source, twin, topic, planned):
        commit(twin, topic, {(topic, 0): 30})
        planned.translate()
        planned.commit(on_rewind="rewind")
        delete_topic(twin, topic)
        create_topic(twin, topic)
        produce(twin, topic, [Message(b"foreign %d" % number) for number in range(300)])
        assert "was deleted and created again since the commit" in planned.roll_back(via=refuses, on_advance="advance")
        assert committed(twin, topic) == {}
