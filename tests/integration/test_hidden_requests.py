# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run does where brokers do not offer a request, or only an older version of it: the same, or a refusal that says why.

Both clusters hide it. The profiles in tests/data/profiles are services as their documentation describes them.
"""

from __future__ import annotations

import contextlib
import json
import re
import typing as t
from pathlib import Path

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.abilities import Ability
from testbed.clients import Message, commit, committed, create_topic, produce
from testbed.sandbox import free_ports, start, stop
from tests.support.clusters import KafkaCluster
from tests.support.consumers import unconsumed
from tests.support.hiding_proxy import Offer, before
from tests.support.modules import Migration, run, succeeds
from tests.support.replication_tool import copy

PROFILES = {file.stem: file for file in (Path(__file__).parents[1] / "data/profiles").glob("*.json")}
# None of these is needed to move a group that had committed offsets at the destination before.
NEEDLESS = (
    "DescribeAcls", "CreateAcls", "AlterConfigs", "DescribeLogDirs", "IncrementalAlterConfigs", "OffsetDelete", "DeleteGroups",
    "DescribeCluster", "DescribeProducers", "DescribeTransactions", "ListTransactions", "InitProducerId",
    "OffsetForLeaderEpoch", "ConsumerGroupDescribe", "DescribeTopicPartitions", "DeleteRecords", "CreatePartitions",
    "CreateTopics", "DeleteTopics",
)  # fmt: skip
CAPPED = {
    "OffsetFetch": 5,
    "ListOffsets": 1,
    "Metadata": 7,
    "DescribeGroups": 2,
    "FindCoordinator": 2,
    "OffsetCommit": 6,
}
_ACLS = "GROUP_OPERATIONS", "TOPIC_OPERATIONS"
PROFILE_NOTES = {
    "old_proxy": (*_ACLS, "STABLE_OFFSETS", "REMOVE_GROUPS", "REMOVE_OFFSETS"),
    "streamnative_ursa": (),
}
# What is hidden, and of which abilities the checks say that they are missing.
WORKS = {
    "nothing that is not needed": (Offer(NEEDLESS), ("REMOVE_GROUPS", "REMOVE_OFFSETS")),
    "no settings": (Offer(("DescribeConfigs",)), ("CONFIGS",)),
    "no list of groups": (Offer(("ListGroups",)), ()),
    "no description of groups": (Offer(("DescribeGroups", "ConsumerGroupDescribe")), ("MEMBERS", "GROUP_OPERATIONS")),
    "no operations of users": (Offer((), {"DescribeGroups": 2, "Metadata": 7}), _ACLS),
    "no stable offsets": (Offer((), {"OffsetFetch": 5}), ("STABLE_OFFSETS",)),
    "no isolation levels": (Offer((), {"ListOffsets": 1}), ()),
    "all of these": (
        Offer((*NEEDLESS, "DescribeConfigs", "ListGroups"), CAPPED),
        (*_ACLS, "CONFIGS", "STABLE_OFFSETS", "REMOVE_GROUPS", "REMOVE_OFFSETS"),
    ),
    **{
        name: (Offer(its["hidden"], its["capped"]), PROFILE_NOTES[name])
        for name, file in PROFILES.items()
        if (its := json.loads(file.read_text()))
    },
}
REFUSED = {
    "ListOffsets": "the brokers cannot find where logs begin and end: they do not offer ListOffsets 1, .* since 0.10.1",
    "OffsetFetch": "the brokers cannot read all that a group has committed: they do not offer OffsetFetch 2, .* since 0.10.2",
    "FindCoordinator": "the brokers cannot find the coordinator of a group: they do not offer FindCoordinator 0",
    "OffsetCommit": "the brokers cannot commit offsets: they do not offer OffsetCommit 2",
}


class Hidden(t.NamedTuple):
    """Two clusters with a proxy before each, and what these leave of them."""

    source: KafkaCluster
    destination: KafkaCluster
    offer: Offer

    def hide(self, offer: Offer) -> None:
        self.offer.hidden, self.offer.capped, self.offer.asked = offer.hidden, offer.capped, set()


@pytest.fixture(scope="module")
def clusters(tmp_path_factory):
    folder, offer, found = tmp_path_factory.mktemp("hidden"), Offer(), []
    with contextlib.ExitStack() as stack:
        for name in ("source", "destination"):
            (front,) = free_ports(1)
            stack.callback(stop, name, folder)
            settings = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{front}"}
            cluster = KafkaCluster(start(name, folder, settings=settings, memory="300m"))
            stack.enter_context(before(int(cluster.bootstrap_servers[0].rpartition(":")[2]), offer, front))
            cluster.bootstrap_servers = [f"127.0.0.1:{front}"]
            found.append(cluster)
        yield Hidden(*found, offer)


@pytest.fixture(scope="module")
def records(clusters):
    """A topic whose records are copied."""
    clusters.hide(Offer())
    create_topic(clusters.source, "orders", 2)
    create_topic(clusters.destination, "orders", 2)
    produce(clusters.source, "orders", [Message(b"%d" % n, partition=n % 2) for n in range(40)])
    copy(clusters.source, clusters.destination, "orders", junk=2)
    return "orders"


@pytest.fixture
def migration(clusters, records, topic, tmp_path):
    """Of a group that stands at 5 and 20, and at 1 and 1 at the destination."""
    clusters.hide(Offer())
    commit(clusters.source, topic, {(records, 0): 5, (records, 1): 20})
    commit(clusters.destination, topic, {(records, 0): 1, (records, 1): 1})
    yield Migration(tmp_path / "migration", clusters.source, clusters.destination)
    clusters.hide(Offer())


@pytest.mark.parametrize("case", WORKS)
def test_a_group_is_migrated_and_rolled_back(clusters, migration, records, topic, case):
    offer, missing = WORKS[case]
    clusters.hide(offer)
    its = succeeds("kafka_migration_info", source=migration.source, destination=migration.destination, groups=[topic])
    assert its["problems"] == []
    taken = succeeds(
        "kafka_group_offsets", cluster=migration.source, groups=[topic], snapshot=str(migration.snapshot_file)
    )
    notes = [*its["notes"], *taken["notes"]]
    told = {each.name for each in Ability if any(f"cannot {each.value.use} (" in note for note in notes)}
    assert len(set(notes)) == len(notes), notes
    assert told == set(missing)
    planned = migration.plan(topic)
    assert {key[2]: (entry["verdict"], entry["offset"]) for key, entry in planned.items()} == {
        0: ("exact", 7),
        1: ("exact", 22),
    }
    migration.commit()
    migration.verify()
    assert migration.commit()["changed"] is False
    assert not clusters.offer.asked
    clusters.hide(Offer())
    assert unconsumed(clusters.destination, topic, records) == unconsumed(clusters.source, topic, records)
    clusters.hide(offer)
    migration.roll_back()
    clusters.hide(Offer())
    assert committed(clusters.destination, topic) == {(records, 0): (1, ""), (records, 1): (1, "")}


@pytest.mark.parametrize("request_name", REFUSED)
def test_what_cannot_be_done_without_is_named(clusters, migration, topic, request_name):
    clusters.hide(Offer((request_name,)))
    for step in (
        lambda: migration.snapshot(topic, via=run),
        lambda: migration.translate(via=run),
        lambda: migration.commit(via=run),
    ):
        result = step()
        if result.get("failed"):
            break
    assert re.search(REFUSED[request_name], result["msg"]), result["msg"]


def test_patterns_need_a_list_of_groups(clusters, migration):
    clusters.hide(Offer(("ListGroups",)))
    message = migration.snapshot(group_patterns=[".*"], via=run)["msg"]
    assert "the brokers cannot find groups by patterns: they do not offer ListGroups 0" in message
    assert "Name the groups instead of patterns" in message
