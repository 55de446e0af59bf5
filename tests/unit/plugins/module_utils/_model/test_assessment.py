"""The parts of an assessment become one: a cause is one risk, and lists in spreadsheets can be told apart."""

import csv
import io

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.assessment import (
    Assessment,
    from_json,
    groups_csv,
    merged,
    to_json,
    topics_csv,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import PlanEntry, SourcePosition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.risks import Risk, RiskKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.sinks import sink_of
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict

ORDERS = TopicPartition("orders", 0)


def group(name="billing", topics=("orders",)):
    empty = ("what", "next_record", "why_not", "lag")
    zero = ("members", "partitions", "expired", "uncommitted", "latest_skips")
    return {
        "group": name, "use": "application", "type": "classic", "state": "Empty", "topics": list(topics), "movable": True,
        **dict.fromkeys(empty), **dict.fromkeys(zero, 0),
    }  # fmt: skip


def topic(name="orders", groups=()):
    unknown = dict.fromkeys(("what", "retention_ms", "cleanup_policy"))
    return {"topic": name, "partitions": 1, "offsets": 3, "groups": list(groups), "schema_ids": [7, 8], **unknown}


def blocked(reason, where=ORDERS):
    return PlanEntry(
        "billing", where, None, Verdict.BLOCKED, (SourcePosition("billing", where, 5),), reason=reason, detail="no"
    )


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        (Reason.TOPIC_MISSING, Risk(RiskKind.TOPIC_MISSING, "seen", None, "orders")),
        (Reason.PARTITION_COUNT_DIFFERS, Risk(RiskKind.PARTITIONS_DIFFER, "seen", None, "orders")),
        (Reason.BEYOND_END, Risk(RiskKind.AFTER_LOG_END, "seen", "billing", "orders", 0)),
    ],
)
def test_what_the_plan_blocks_for_a_known_cause_is_no_second_blocker(reason, cause):
    whole = merged([Assessment({}, (group(),), (topic(),), (cause,))], [blocked(reason)])
    assert whole.risks == (cause,) and whole.counts["blocker"] == 1
    (row,) = whole.groups
    assert (row["blocked"], row["movable"], row["why_not"]) == (1, False, cause.kind.value)


def test_what_the_plan_blocks_for_another_cause_is_a_blocker_with_its_reason():
    cause = Risk(RiskKind.TOPIC_MISSING, "seen", None, "clicks")
    found = [blocked(Reason.TOPIC_MISSING), blocked(Reason.DESTINATION_LAGS, TopicPartition("orders", 1))]
    whole = merged([Assessment({}, (group(),), (topic(),), (cause,))], found)
    (other,) = set(whole.risks) - {cause}
    assert other == Risk(
        RiskKind.PLAN_BLOCKED, "2 partitions are blocked (destination_lags, topic_missing).", "billing"
    )
    assert whole.groups[0]["why_not"] == "plan_blocked"


def test_a_blocker_about_the_clusters_holds_every_group_and_a_warning_none():
    down, unseen = Risk(RiskKind.OBSTACLE, "cloud does not answer"), Risk(RiskKind.NOT_VISIBLE, "seen")
    moves = {}
    for risks in ((unseen,), (unseen, down)):
        whole = merged([Assessment({}, (group(), group("fraud")), (topic(),), risks)])
        moves[risks] = [(row["movable"], row["why_not"]) for row in whole.groups]
    assert moves == {(unseen,): [(True, None)] * 2, (unseen, down): [(False, "obstacle")] * 2}


def test_names_in_a_list_of_a_spreadsheet_can_be_told_apart():
    names = ["a b", "a, b", "c\n", "=d"]
    whole = merged([Assessment({}, (group(topics=["orders", "clicks"]),), (topic(groups=names),))])
    (row,) = csv.DictReader(io.StringIO(topics_csv(whole)))
    assert (row["groups"], row["schema_ids"]) == (r"'a b', 'a, b', c\u000a, =d", "7, 8")
    (row,) = csv.DictReader(io.StringIO(groups_csv(whole)))
    assert row["topics"] == "orders, clicks"


def test_a_file_says_what_was_assessed():
    risks = (Risk(RiskKind.TOPIC_UNREAD, "seen", None, "orders"),)
    whole = merged([Assessment({"read": "now"}, (group(),), (topic(),), risks)])
    assert from_json(to_json(whole), "a.json") == whole


@pytest.mark.parametrize(
    ("class_name", "words"),
    [
        ("org.apache.iceberg.connect.IcebergSinkConnector", "keeps positions in the snapshots of its tables"),
        ("io.tabular.iceberg.connect.IcebergSinkConnector", "keeps positions in the snapshots of its tables"),
        ("com.snowflake.kafka.connector.SnowflakeStreamingSinkConnector", "keeps an offset token"),
        ("io.confluent.connect.hdfs3.Hdfs3SinkConnector", "in the names of its files"),
        ("io.confluent.connect.s3.S3SinkConnector", "names objects by offsets"),
        ("io.confluent.connect.azure.blob.AzureBlobStorageSinkConnector", "names objects by offsets"),
        ("io.confluent.connect.jdbc.JdbcSinkConnector", "may make keys of offsets"),
        ("com.example.OwnSink", "ask its maker"),
    ],
)
def test_a_sink_is_known_by_its_class(class_name, words):
    sink = sink_of("lake", {"connector.class": class_name, "topics": "orders"})
    assert sink.group == "connect-lake" and words in sink.text
    assert sink.text.startswith(f"It is the group of the sink connector lake of class {class_name}")


def test_a_sink_may_consume_in_a_group_of_any_name():
    config = {"connector.class": "x", "topics.regex": "o.*", "consumer.override.group.id": "lake-readers"}
    assert sink_of("lake", config).group == "lake-readers"
    assert sink_of("source", {"connector.class": "x"}) is None
