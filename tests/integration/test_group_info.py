"""The list of a cluster's groups is what the cluster says, of every version and of every type of group."""

import csv
import io

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._promotion.survey import readers_of
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from testbed.clients import Message, commit, create_topic, delete_topic, grant, produce, set_passwords
from tests.support.connect_worker import connect_worker
from tests.support.consumers import member, share_member
from tests.support.modules import refuses, succeeds
from tests.support.numbered import numbered_topic
from tests.support.playbooks import done


def groups_of(cluster, **options):
    """Rows by group."""
    found = succeeds("kafka_group_info", cluster=cluster.connection, **options)
    return {row["group"]: row for row in found["groups"]}, found


def test_lag_and_committed_offsets(cluster, topic):
    numbered_topic(cluster, topic, 10, 4, 10)
    rows, found = groups_of(cluster, groups=[topic], partitions=True)
    row = rows[topic]
    assert (row["lag"], row["partitions"], row["members"], row["movable"]) == (6, 2, 0, True)
    assert row["committed"] == [
        {"topic": topic, "partition": 0, "offset": 4, "lag": 6, "expired": 0},
        {"topic": topic, "partition": 1, "offset": 10, "lag": 0, "expired": 0},
    ]
    assert found["summary"][1].split()[0] == topic
    delete_topic(cluster, topic)
    after, _found = groups_of(cluster, group_patterns=[topic])
    assert not after or after[topic]["why_not"] is not None  # brokers delete the committed offsets of a deleted topic


def test_members_of_both_protocols_and_a_share_group(source, topic):
    create_topic(source, topic)
    produce(source, topic, [Message(b"1")])
    names = {protocol: f"{topic}-{protocol}" for protocol in ("classic", "consumer", "share")}
    for protocol in ("classic", "consumer"):
        commit(source, names[protocol], {(topic, 0): 0})
    with (
        member(source, names["classic"], [topic]),
        member(source, names["consumer"], [topic], protocol="consumer"),
        share_member(source, names["share"], topic),
    ):
        rows, _found = groups_of(source, group_patterns=[f"{topic}.*"])
    for protocol in ("classic", "consumer"):
        row = rows[names[protocol]]
        assert (row["type"], row["members"], row["why_not"]) == (protocol, 1, "it is in use: stop its consumers first")
        assert row["clients"][0]["host"] == "127.0.0.1"
    share = rows[names["share"]]
    assert (share["members"], share["movable"], share["lag"]) == (None, False, None)


def test_workers_of_connect_are_listed_beside_the_others(cluster, topic):
    create_topic(cluster, topic)
    produce(cluster, topic, [Message(b"1")])
    connect_worker(cluster, f"{topic}-workers")
    with member(cluster, topic, [topic]):
        rows, _found = groups_of(cluster, group_patterns=[f"{topic}.*"])
    assert rows[topic]["members"] == 1
    workers = rows[f"{topic}-workers"]
    assert (workers["what"], workers["members"]) == ("connect", 1)


def test_groups_that_the_user_may_not_describe_do_not_count(secured, topic):
    """Who may describe or alter the cluster is told the names of all groups, and no more of them."""
    create_topic(secured, topic)
    commit(secured, topic, {(topic, 0): 0})
    commit(secured, f"{topic}-of-others", {(topic, 0): 0})
    set_passwords(secured, [topic], "some-password")
    rights = {f"CLUSTER {each} on kafka-cluster" for each in ("DESCRIBE", "ALTER")}
    rights |= {f"GROUP DESCRIBE on {topic}", f"TOPIC DESCRIBE on {topic}*"}
    grant(secured, rights, f"User:{topic}")
    asked = {"cluster": secured.connection | {"sasl_username": topic, "sasl_password": "some-password"}}
    found = succeeds("kafka_group_info", **asked, group_patterns=[f"{topic}.*"])
    assert [row["group"] for row in found["groups"]] == [topic]
    refused_name = refuses("kafka_group_info", **asked, groups=[f"{topic}-of-others"])
    assert f"needs ACL GROUP DESCRIBE on {topic}-of-others" in refused_name
    readers = readers_of(connection_from(asked["cluster"], "destination cluster"), [topic])
    assert readers == {topic: (topic,)}


def test_a_group_is_listed_though_one_of_its_topics_is_denied(secured, topic, granted):
    """Brokers describe no group of the consumer protocol to whom a topic of a member is denied."""
    for name in (topic, f"{topic}-denied"):
        create_topic(secured, name)
        produce(secured, name, [Message(b"1")])
    granted(f"GROUP DESCRIBE on {topic}", f"TOPIC DESCRIBE on {topic}")
    with member(secured, topic, [topic, f"{topic}-denied"], protocol="consumer"):
        found = succeeds("kafka_group_info", cluster=secured.connection_as("migrator"), groups=[topic])
    (row,) = found["groups"]
    assert (row["type"], row["members"], row["lag"]) == ("consumer", None, 0)


def test_the_playbook_lists_each_cluster(source, topic, controller, tmp_path):
    create_topic(source, topic)
    commit(source, topic, {(topic, 0): 0})
    played = done(controller.list_groups("--limit", "onprem", group_patterns=[topic], directory=".."))
    assert f"{topic}  classic" in played.output
    rows = list(csv.DictReader(io.StringIO((tmp_path / "onprem-groups.csv").read_text())))
    assert [row["group"] for row in rows] == [topic]
