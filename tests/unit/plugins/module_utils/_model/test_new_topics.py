"""A topic is made like the source's, as far as the destination's brokers can."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.new_topics import (
    BROKERS_OWN_SETTINGS,
    NewTopic,
    following_settings,
    is_as_made,
    is_same_value,
    takes_no_records,
    topic_like,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.promotion import EXCLUDED_SETTINGS

MADE = NewTopic(2, 1, {"retention.ms": "5", "cleanup.policy": "compact, delete"})
OWN = {"retention.ms": "5", "cleanup.policy": "compact,delete"}


@pytest.mark.parametrize(
    ("replicas", "asked", "factor"), [(3, None, 2), (2, None, 2), (1, None, 1), (1, 2, 2), (3, 1, 1), (3, -1, -1)]
)
def test_a_topic_gets_the_replicas_of_the_source_but_no_more_than_there_are_brokers(replicas, asked, factor):
    assert topic_like(4, replicas, {"a": "b", "c": None}, 2, asked) == NewTopic(4, factor, {"a": "b"})


def test_settings_follow_but_for_those_that_a_pattern_excludes():
    own = {"retention.ms": "5", "min.insync.replicas": "2"}
    own |= {"leader.replication.throttled.replicas": "*", "remote.storage.enable": "true"}
    assert following_settings(own, EXCLUDED_SETTINGS) == {"retention.ms": "5"}
    assert following_settings(own, BROKERS_OWN_SETTINGS) == {"retention.ms": "5", "min.insync.replicas": "2"}


@pytest.mark.parametrize(
    ("in_sync", "replicas", "none"),
    [("2", 1, True), ("2", 2, False), (" 3 ", 2, True), (None, 1, False), ("many", 1, False), ("2", -1, False)],
)
def test_a_topic_that_wants_more_replicas_in_sync_than_it_has_takes_no_records(in_sync, replicas, none):
    assert takes_no_records(in_sync, replicas) is none


@pytest.mark.parametrize(
    ("partitions", "own", "same"),
    [
        (2, OWN, True),
        (2, OWN | {"added.by.a.policy": "x"}, True),
        (3, OWN, False),
        (2, OWN | {"retention.ms": "6"}, False),
        (2, {"retention.ms": "5"}, False),
    ],
)
def test_a_topic_looks_as_if_it_had_been_made_as_planned(partitions, own, same):
    assert is_as_made(MADE, partitions, own) is same


SAME = [("compact, delete", "compact,delete"), ("TRUE", "true"), (" False ", "false"), ("0.50", "0.5"), ("1", "1.0")]
SAME += [("0.0001", "1.0E-4"), (".5", "0.5"), ("5e-1", "0.5"), ("0.5f", "0.5"), ("0.30000000000000001", "0.3")]
SAME += [("0:1 ,1:2", "0:1,1:2"), (None, None), ("-1", "-01"), ("+007", "7")]
DIFFERENT = [(None, ""), ("1", "2"), ("0.5", "0.51"), ("true", "1"), ("compact,delete", "delete"), ("gzip", "zstd")]
DIFFERENT += [("9223372036854775807", "9223372036854775806"), ("1_000", "1000"), ("a b", "ab"), ("Name", "name")]


@pytest.mark.parametrize(("given", "told"), SAME)
def test_brokers_tell_a_value_as_they_have_read_it(given, told):
    assert is_same_value(given, told) and is_same_value(told, given)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_values_that_differ_to_brokers_differ(one, other):
    assert not is_same_value(one, other)
