"""What a run does where brokers do not offer a request, or only an older version of it: the same, or a refusal that says why.

Both clusters hide it. The profiles in tests/data/profiles are services as their documentation describes them.
"""

import contextlib
import json
import re
import typing as t
from pathlib import Path

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.abilities import Ability
from testbed.clients import REQUEST_KEYS, commit, committed, grant
from testbed.sandbox import free_ports, start, stop
from tests.support.clusters import KafkaCluster, authorizer
from tests.support.consumers import unconsumed
from tests.support.hiding_proxy import Offer, before
from tests.support.modules import Migration, run
from tests.support.numbered import numbered_topic
from tests.support.replication_tool import copied_topic

PROFILES = {
    file.stem: json.loads(file.read_text())
    for file in sorted((Path(__file__).parents[1] / "data/profiles").glob("*.json"))
}


def address_of(profile):
    """From where clients come to a cluster that has the profile: what they may do with it is known by that."""
    return f"127.0.0.{10 + list(PROFILES).index(profile)}" if "cluster_operations" in PROFILES[profile] else "127.0.0.1"


def offer_of(profile):
    its = PROFILES[profile]
    return Offer(its["hidden"], its["capped"], its["raised"], address_of(profile))


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
    "confluent_cloud": (),
    "event_hubs": (*_ACLS, "REMOVE_OFFSETS"),
    "msk_serverless": (),
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
    **{name: (offer_of(name), PROFILE_NOTES[name]) for name in PROFILES},
}
REFUSED = {
    "ListOffsets": "the brokers cannot find where logs begin and end: they do not offer ListOffsets 1, .* since 0.10.1",
    "OffsetFetch": "the brokers cannot read all that a group has committed: they do not offer OffsetFetch 2, .* since 0.10.2",
    "FindCoordinator": "the brokers cannot find the coordinator of a group: they do not offer FindCoordinator 0",
    "OffsetCommit": "the group's broker does not offer OffsetCommit 2, which Kafka has since 0.9, nor any version of it",
}


class Hidden(t.NamedTuple):
    """Two clusters with a proxy before each, and what these leave of them."""

    source: KafkaCluster
    destination: KafkaCluster
    offer: Offer

    def hide(self, offer: Offer) -> None:
        self.offer.hidden, self.offer.capped, self.offer.raised = offer.hidden, offer.capped, offer.raised
        self.offer.address, self.offer.asked = offer.address, set()


@pytest.fixture(scope="module")
def clusters(tmp_path_factory):
    folder, offer, found = tmp_path_factory.mktemp("hidden"), Offer(), []
    with contextlib.ExitStack() as stack:
        for name in ("source", "destination"):
            (front,) = free_ports(1)
            stack.callback(stop, name, folder)
            settings = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{front}", **authorizer()}
            cluster = KafkaCluster(start(name, folder, settings=settings, memory="300m"))
            stack.enter_context(before(int(cluster.bootstrap_servers[0].rpartition(":")[2]), offer, front))
            cluster.bootstrap_servers = [f"127.0.0.1:{front}"]
            found.append(cluster)
            let_profiles_do(cluster)
        yield Hidden(*found, offer)


def let_profiles_do(cluster):
    """What clients may do with the cluster itself: those of a profile what its service lets them, and all others everything."""
    grant(cluster, ["CLUSTER ALL on kafka-cluster"], "User:ANONYMOUS", "127.0.0.1")
    for profile, its in PROFILES.items():
        if "cluster_operations" in its:
            operations = [*its["cluster_operations"], "CLUSTER_ACTION"]  # the broker reaches itself by the proxy, too
            rights = [f"CLUSTER {each} on kafka-cluster" for each in operations]
            grant(cluster, rights, "User:ANONYMOUS", address_of(profile))


@pytest.fixture(scope="module")
def records(clusters):
    """A topic whose records are copied."""
    clusters.hide(Offer())
    return copied_topic(clusters.source, clusters.destination, "orders", 20, junk=2)


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
    its = migration.look(topic)
    assert its["problems"] == []
    taken = migration.snapshot(topic)
    notes = [*its["notes"], *taken["notes"]]
    told = {each.name for each in Ability if any(f" {each.value.use} (" in note for note in notes)}
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


@pytest.mark.parametrize("profile", PROFILES)
def test_a_backlog_is_copied_or_refused_in_advance_as_the_page_says(clusters, topic, tmp_path, profile):
    numbered_topic(clusters.source, topic, 20, 5, partitions=1)
    migration = Migration(tmp_path / "migration", clusters.source, clusters.destination)
    clusters.hide(offer_of(profile))
    problems = migration.problems(topic, copy=str(migration.copy_file))
    if "no backlog" in PROFILES[profile]["works"]:
        (problem,) = problems
        assert re.search("cannot (write in transactions|find out whether a transaction)", problem)
        assert "Copy the backlog to brokers of Kafka 2.5 or newer" in problem
    else:
        assert problems == []
        migration.snapshot(topic)
        migration.backlog()
        migration.commit()
    assert not clusters.offer.asked
    clusters.hide(Offer())
    if "no backlog" not in PROFILES[profile]["works"]:
        got = [record[3] for record in unconsumed(clusters.destination, topic, topic)]
        assert got == [record[3] for record in unconsumed(clusters.source, topic, topic)]


def test_the_settings_of_topics_are_not_missed_inside_one_cluster(clusters, migration, topic):
    """There, no records are compared."""
    clusters.hide(Offer(("DescribeConfigs",)))
    its = migration.look(topic, destination=migration.source, group_map=[{"name": topic, "to": f"{topic}-new"}])
    assert (its["problems"], its["notes"]) == ([], [])


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


def test_a_request_that_is_lost_during_a_run_is_named_and_nothing_is_written(clusters, migration, records, topic):
    migration.plan(topic)

    class LosesCommits(Offer):
        def takes(self, frame):
            if int.from_bytes(frame[:2], "big") == REQUEST_KEYS["OffsetFetch"]:
                clusters.hide(Offer(("OffsetCommit",)))
            return super().takes(frame)

    clusters.offer.__class__ = LosesCommits
    try:
        message = migration.commit(via=run)["msg"]
    finally:
        clusters.offer.__class__ = Offer
    assert "2 of 2 commits were refused, or had no answer: UNSUPPORTED_VERSION" in message
    assert "the group's broker does not offer OffsetCommit 2, which Kafka has since 0.9, nor any" in message
    assert "an earlier try without an answer may have done it" in message  # the broker has hung up
    clusters.hide(Offer())
    assert committed(clusters.destination, topic) == {(records, 0): (1, ""), (records, 1): (1, "")}


def test_patterns_need_a_list_of_groups(clusters, migration):
    clusters.hide(Offer(("ListGroups",)))
    message = migration.snapshot(group_patterns=[".*"], via=run)["msg"]
    assert "the brokers cannot find groups by patterns: they do not offer ListGroups 0" in message
    assert "Name the groups instead of patterns" in message
