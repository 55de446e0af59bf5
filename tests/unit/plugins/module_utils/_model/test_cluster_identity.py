"""Clusters are told apart by what they are, and files say how they know it."""

import json

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.cluster_identity import (
    UNKNOWN_ID,
    ClusterIdentity,
    LogRange,
    Traits,
    address_mark,
    change_of,
    seem_one,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.file_rows import read_row, write_row
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

ORDERS = TopicPartition("orders", 0)
A = Traits(("a1:9092", "a2:9092"), {"orders": "x", "clicks": "y"})
OTHER_LISTENER = A._replace(brokers=("out1:9093", "out2:9093"))
REPLACED = A._replace(brokers=("a2:9092", "a3:9092"), topic_ids={"orders": "z"})
TWIN = Traits(("b1:9092",), {"orders": "z", "clicks": "u"})
WITHOUT_TOPICS = Traits(("b1:9092",), {})
OLD = Traits(("a1:9092",), {"orders": None})
OLD_TWIN = Traits(("b1:9092",), {"orders": None})
NO_IDS = (
    "has brokers at other addresses and tells no ids of topics, as brokers before Kafka 2.8, so that another listener of one "
    "cluster looks like another cluster: if it is the same cluster, connect with the addresses that were used then"
)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (ClusterIdentity("id", A), ClusterIdentity("id", A)),
        (ClusterIdentity("id", A), ClusterIdentity("id", OTHER_LISTENER)),
        (ClusterIdentity("id", A), ClusterIdentity("id", REPLACED)),
        (ClusterIdentity("None", A), ClusterIdentity(UNKNOWN_ID, OTHER_LISTENER)),
        (ClusterIdentity(UNKNOWN_ID, A), ClusterIdentity("id", A)),
        (ClusterIdentity("id", OLD), ClusterIdentity("id", OLD)),
        (ClusterIdentity("id"), ClusterIdentity("id", A)),  # of a file of an earlier release
        (ClusterIdentity("None"), ClusterIdentity(UNKNOWN_ID, A)),
        (ClusterIdentity("id", Traits(("a1:9092",))), ClusterIdentity("id", Traits(("b1:9092",)))),  # about no topic
    ],
)
def test_one_cluster(was, now):
    assert was.difference(now) is None


@pytest.mark.parametrize(
    ("was", "now", "told"),
    [
        (ClusterIdentity("id", A), ClusterIdentity("other", A), "has the id other, not id"),
        (
            ClusterIdentity("id", A),
            ClusterIdentity("id", TWIN),
            "has brokers at other addresses and its topic clicks is another one (its id is u, and was y)",
        ),
        (ClusterIdentity("id", A), ClusterIdentity("id", WITHOUT_TOPICS), "has brokers at other addresses"),
        (
            ClusterIdentity("id", OLD),
            ClusterIdentity("id", OLD_TWIN),  # or another listener
            NO_IDS,
        ),
        (
            ClusterIdentity("None", Traits(("a1:9092",))),
            ClusterIdentity(UNKNOWN_ID, Traits(("b1:9092",))),
            "has brokers at other addresses",
        ),
    ],
)
def test_two_clusters(was, now, told):
    assert was.difference(now) == told


def with_logs(traits, *ranges):
    return traits._replace(logs={"orders": tuple(LogRange(*each) for each in ranges)})


@pytest.mark.parametrize(
    ("before", "between", "after", "is_one"),
    [
        (with_logs(A, (0, 10)), with_logs(OTHER_LISTENER, (0, 12)), with_logs(A, (2, 15)), True),
        (with_logs(A, (0, 10)), with_logs(OTHER_LISTENER, (0, 9)), with_logs(A, (0, 10)), False),  # a copied disk
        (with_logs(A, (0, 10)), with_logs(OTHER_LISTENER, (0, 16)), with_logs(A, (0, 15)), False),
        (with_logs(A, (0, 10)), with_logs(TWIN, (0, 10)), with_logs(A, (0, 10)), False),
        (with_logs(OLD, (0, 10)), with_logs(OLD_TWIN, (0, 10)), with_logs(OLD, (0, 10)), True),
        (with_logs(OLD, (0, 10)), with_logs(OLD_TWIN, (1, 10)), with_logs(OLD, (0, 10)), False),
        (with_logs(OLD, (0, 10)), with_logs(OLD_TWIN, (0, 10), (0, 0)), with_logs(OLD, (0, 10)), False),
        (with_logs(OLD, (0, 0)), with_logs(OLD_TWIN, (0, 0)), with_logs(OLD, (0, 0)), False),
        (with_logs(OLD, (0, 10)), WITHOUT_TOPICS, with_logs(OLD, (0, 10)), False),
    ],
)
def test_what_answers_at_other_addresses_is_one_cluster_where_topics_and_logs_are_the_same(
    before, between, after, is_one
):
    every = A.topic_ids.keys() | {"orders"}
    looked = [its._replace(logs={name: its.logs.get(name, ()) for name in every}) for its in (before, between, after)]
    assert seem_one(*looked) is is_one


def test_a_log_that_starts_earlier_is_another_one():
    was, now = with_logs(OLD, (5, 10)), with_logs(OLD, (0, 30))
    assert "starts at 0, and started at 5" in change_of(ORDERS, was, now, "source")
    assert change_of(ORDERS, was, with_logs(OLD, (9, 30)), "source") is None


def test_partitions_that_a_promotion_has_yet_to_make_may_be_missing():
    was = with_logs(A, (0, 10)).with_counts({"orders": 3, "new": 2})
    assert was.counts == {"orders": 3, "new": 2}
    assert change_of(ORDERS, was, with_logs(A, (0, 10)), "destination") is None
    assert change_of(TopicPartition("new", 1), was, with_logs(A, (0, 10)), "destination") is None
    made = with_logs(A, (0, 10), (0, 0), (0, 0), (0, 0))
    assert "has 4 partitions, and had 3" in change_of(ORDERS, was, made, "destination")


@pytest.mark.parametrize("traits", [Traits(), A, OLD, with_logs(A, (0, 10), (3, 3)).with_counts({"orders": 3})])
def test_files_hold_it_whole(traits):
    identity = ClusterIdentity("id", traits)
    assert read_row(ClusterIdentity, json.loads(json.dumps(write_row(identity)))) == identity


def test_a_file_shows_no_address():
    mark = address_mark("kafka-1.intern", 9092)
    assert mark == address_mark("kafka-1.intern", 9092) != address_mark("kafka-1.intern", 9093)
    assert "kafka" not in mark and len(mark) == 16
