"""What is read of all topics of a cluster goes on without those that are deleted, and from where logs begin now."""

import types

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topics import TopicDescription, TopicSettings
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import assess_groups, source_topics
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.list_groups import GroupOverviews
from ansible_collections.streamshift.kafka.plugins.module_utils._model.cluster_identity import LogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import LogChanged, NotFound
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_overview import GroupOverview
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records.range_reader import RangeRead
from tests.support.listed_clusters import SOURCE

ORDERS, GONE = TopicPartition("orders", 0), TopicPartition("gone", 0)
SETTINGS = TopicSettings(log_append_time=False, compacted=False, retention_ms=86_400_000)


@pytest.fixture
def assess(monkeypatch):
    """``assess.run()`` assesses a cluster whose topic "gone" is deleted after the first look.

    Each log starts at 7 by then, and ends at 40. assess.expired: where it starts by the time of a request, by what that is for.

    assess.asked: which topics each request was about, by what it was for. A request with a deleted topic fails.
    """
    assess = types.SimpleNamespace(asked={}, deleted={"gone"}, expired={}, log_start=7)

    def ask(what, names):
        assess.asked.setdefault(what, []).append(set(names))
        if assess.deleted & set(names):
            raise NotFound("topic gone does not exist")

    def check(what, starts):
        log_start = assess.expired.get(what, 7)
        if any(start < log_start for start in starts):
            assess.log_start = log_start  # as the next look at the bounds tells
            raise LogChanged("the offset is not in the log")

    def describe(_connection, names, surely=False):
        looks = assess.asked.setdefault("describe", [])
        looks.append(set(names))
        gone = assess.deleted if looks[1:] else set()
        return {name: TopicDescription(0, "UNKNOWN") if name in gone else TopicDescription(1) for name in names}

    def settings(_connection, names):
        ask("settings", names)
        return dict.fromkeys(names, SETTINGS)

    def times(_connection, wanted, _refused):
        ask("times", {partition.topic for partition, _time in wanted})
        return dict.fromkeys(wanted, 30)

    def read(_connection, spans, deadline):
        ask("next records", {partition.topic for partition in spans})
        check("next records", (start for its in spans.values() for start, _end in its))
        record = types.SimpleNamespace(timestamp=1_764_072_000_000)
        return {partition: [RangeRead(*span, [record]) for span in its] for partition, its in spans.items()}

    def sample(_connection, ranges, _committed, _settings):
        ask("samples", {each.partition.topic for each in ranges})
        check("samples", (each.start for each in ranges))
        return []

    topics = source_topics.topics
    monkeypatch.setattr(topics, "list_topics", lambda _connection: ["gone", "orders"])
    monkeypatch.setattr(topics, "describe_topics", describe)
    monkeypatch.setattr(topics, "topic_settings", settings)
    monkeypatch.setattr(source_topics.permissions, "missing_acls", lambda _connection, **_needs: [])
    monkeypatch.setattr(
        source_topics,
        "bounds_as_far_as_known",
        lambda _connection, wanted, _patience: ("id", dict.fromkeys(wanted, Bounds(assess.log_start, 40, 40))),
    )
    monkeypatch.setattr(source_topics.range_reader, "read_ranges", read)
    monkeypatch.setattr(source_topics.tables, "read_records", sample)
    monkeypatch.setattr(assess_groups.positions, "lookup_all_times", times)
    monkeypatch.setattr(assess_groups, "cluster_id", lambda _connection: "id")

    def run():
        committed = {ORDERS: CommittedOffset(5), GONE: CommittedOffset(9)}
        reading = GroupReading("billing", True, "Stable", "classic", "consumer", committed)
        group = GroupOverview(reading, (), dict.fromkeys(committed, LogRange(0, 40)))
        options = assess_groups.AssessOptions(None, (), every=False, by_patterns=False, read_records=True)
        return assess_groups.assess_groups(SOURCE, GroupOverviews([group]), options)

    assess.run = run
    return assess


def test_a_topic_that_is_deleted_meanwhile_takes_nothing_of_the_others_away(assess):
    found = assess.run()
    assert [risk.kind for risk in found.risks if risk.kind == "not_visible"] == []
    assert {row["topic"]: row["retention_ms"] for row in found.topics} == {"gone": None, "orders": 86_400_000}
    assert [risk.topic for risk in found.risks if risk.kind == "retention_strikes"] == ["orders"]
    for what in ("settings", "times", "next records", "samples"):
        assert assess.asked[what][-1] == {"orders"}


def test_nothing_is_asked_twice_while_all_topics_are_there(assess):
    assess.deleted = set()
    found = assess.run()
    assert [len(asked) for asked in assess.asked.values()] == [1] * len(assess.asked)
    assert {row["topic"] for row in found.topics} == {"gone", "orders"}


def test_the_next_record_is_looked_for_where_the_log_begins_now(assess):
    (row,) = assess.run().groups
    assert row["next_record"] == "2025-11-25T12:00:00Z"


@pytest.mark.parametrize("reads", ["next records", "samples"])
def test_records_that_expire_right_before_they_are_read_take_nothing_of_the_others_away(assess, reads):
    assess.expired = {reads: {"next records": 8, "samples": 35}[reads]}
    found = assess.run()
    assert found.groups[0]["next_record"] == "2025-11-25T12:00:00Z"
    assert [risk.kind for risk in found.risks if risk.kind == "not_visible"] == []
    assert assess.asked[reads][-1] == {"orders"}
