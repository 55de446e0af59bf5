"""A company's cluster in which each risk occurs once: the assessment has exactly these, and the plan agrees with it."""

import contextlib
import csv
import io
import itertools
import json
import typing as t

import pytest

from testbed.background import Background
from testbed.clients import change_topic, commit, create_topic, delete_groups, delete_records, produce
from tests.support.assessments import AVRO, SECRET, assess, found, numbers, parts_of
from tests.support.consumers import assigned, share_member
from tests.support.playbooks import Controller, done
from tests.support.replication_tool import copy

MINUTE, DAY = 60_000, 86_400_000


@pytest.fixture(params=["source", "kafka39", "old", "kafka11"])
def cluster(request):
    """Each version in turn: Kafka 4.3.0, 3.9.1, 2.8.2 and 1.1.1."""
    return request.getfixturevalue(request.param)


def odd(topic):
    """A name that spreadsheets, terminals and pages take for something else."""
    return f'=HYPERLINK("x"),{topic}\n\u202e<b>'


def company(source, destination, topic):
    """Topics and groups of which each has one fault."""
    settings: dict[str, dict[str, t.Any]] = {"short": {"retention_ms": 60 * MINUTE}, "old": {"retention_ms": -1}}
    for name, partitions in {
        "orders": 2,
        "clicks": 2,
        **dict.fromkeys(("audit", "short", "old", "gone", "nobody", "avro", "moving"), 1),
    }.items():
        create_topic(source, f"{topic}-{name}", partitions, **settings.get(name, {}))
        if name not in ("clicks", "orders"):
            create_topic(destination, f"{topic}-{name}", partitions, **settings.get(name, {}))
    create_topic(destination, f"{topic}-orders", 1)
    create_topic(source, f"{topic}-app-store-changelog", cleanup_policy="compact")
    create_topic(destination, f"{topic}-app-store-changelog", cleanup_policy="compact")
    change_topic(destination, f"{topic}-audit", max_message_bytes=1000, cleanup_policy="compact")
    for name, messages in {
        "orders": [*numbers(10), *numbers(10, 1)], "clicks": [*numbers(3), *numbers(7, 1)], "audit": numbers(4),
        "short": numbers(5, ago=50 * MINUTE), "old": numbers(5, ago=40 * DAY), "gone": numbers(8), "nobody": numbers(3),
        "avro": AVRO, "moving": numbers(1000),
    }.items():  # fmt: skip
        produce(source, f"{topic}-{name}", messages)
    delete_records(source, f"{topic}-gone", {0: 6})
    orders = {(f"{topic}-orders", number): 10 for number in range(2)}
    for group, offsets in {
        f"{topic}-billing": {(f"{topic}-orders", 0): 4, (f"{topic}-orders", 1): 10},
        f"{topic}-analytics": {**orders, (f"{topic}-clicks", 0): 3},
        f"{topic}-auditor": {(f"{topic}-audit", 0): 4},
        f"{topic}-slow": {(f"{topic}-short", 0): 0},
        f"{topic}-forgotten": {(f"{topic}-old", 0): 1},
        f"{topic}-late": {(f"{topic}-gone", 0): 2},
        f"{topic}-ahead": {**orders, (f"{topic}-orders", 1): 99},
        f"{topic}-reader": {(f"{topic}-avro", 0): 2},
        f"{topic}-app": orders,
        f"connect-{topic}": orders,
        f"cg-control-{topic}": orders,
        f"console-consumer-{topic}": orders,
        f"{topic}-vanishing": orders,
        odd(topic): orders,
    }.items():
        commit(source, group, offsets)


def test_each_risk_of_a_company_is_found_once(cluster, source, destination, topic, registry, tmp_path):
    company(cluster, destination, topic)
    shares = (
        share_member(cluster, f"{topic}-share", f"{topic}-moving") if cluster is source else contextlib.nullcontext()
    )
    with assigned(cluster, f"{topic}-assigned", f"{topic}-moving") as more, shares:
        more()

        def go_on(over):
            for number in itertools.count():
                if over.wait(0.2):
                    return
                more()
                if number == 5:  # while the module looks
                    delete_groups(cluster, [f"{topic}-vanishing"])

        with Background(go_on):
            every = {"group_patterns": [f".*{topic}.*"]}
            parts = parts_of(cluster.connection, destination.connection, tmp_path, schema_registry=registry, **every)
    result, files = assess(parts, tmp_path, source="onprem", destination="cloud")
    risks = found(files["assessment.json"], topic)
    moved = risks.pop(("assigned_consumers", f"{topic}-assigned", None, None))
    assert f"{topic}-moving-0 from " in moved
    text = risks.pop(("partitions_differ", None, f"{topic}-orders", None))
    assert text.startswith("2 partitions at the source, 1 at the destination. ")
    assert f"{topic}-analytics" in text
    if cluster is source:  # older brokers have no share groups
        assert risks.pop(("share_group", f"{topic}-share", None, None)) == "Its state is Stable."
    registry_name = f"schema registry at {registry['url'].removeprefix('http://')}"
    about = {"max.message.bytes": "message_limit_smaller", "cleanup.policy": "cleanup_policy_differs"}
    for setting, kind in about.items():
        assert setting in risks.pop((kind, None, f"{topic}-audit", None))
    assert risks == {
        ("after_log_end", f"{topic}-ahead", f"{topic}-orders", 1): "It has committed 99, and the log ends at 10.",
        ("topic_missing", None, f"{topic}-clicks", None): f"1 group reads it: {topic}-analytics.",
        ("schema_id_unknown", None, f"{topic}-avro", None): f"{registry_name} does not know id 8.",
        ("streams_state", f"{topic}-app", None, None): f"Its changelog and repartition topics: {topic}-app-store-changelog.",
        ("sink_positions", f"connect-{topic}", None, None): (
            f"Its control group cg-control-{topic} shows that it is an Iceberg sink."
        ),
        ("sink_positions", f"cg-control-{topic}", None, None): "It is called like the control group of an Iceberg sink.",
        ("records_expired", f"{topic}-late", f"{topic}-gone", None): "4 unconsumed offsets expired.",
        ("retention_strikes", f"{topic}-slow", f"{topic}-short", None): (
            f"5 unconsumed offsets will be deleted soon: retention.ms is {60 * MINUTE}."
        ),
        ("partitions_uncommitted", f"{topic}-analytics", f"{topic}-clicks", None): (
            "It has no committed offset on 1 partition, with 7 offsets that auto.offset.reset=latest would skip."
        ),
        ("tool_group", f"console-consumer-{topic}", None, None): "It is called like the console consumer's.",
        ("group_abandoned", f"{topic}-forgotten", None, None): (
            "It has no members, and its next record has waited for 30 days or more, "
            "on every partition where it lags (1 partition)."
        ),
    }  # fmt: skip
    assert result["changed"] and SECRET not in json.dumps([result, files])
    rows = {row["group"].removeprefix("'"): row for row in csv.DictReader(io.StringIO(files["groups.csv"]))}
    billing = rows[f"{topic}-billing"]
    assert (billing["lag"], billing["use"], billing["next_record"][:2], billing["shares"]) == (
        "6",
        "application",
        "20",
        "1",
    )
    assert not [
        row for row in csv.reader(io.StringIO(files["groups.csv"])) if any(cell[:1] in "=+-@" for cell in row if cell)
    ]
    assert all("\n" not in cell for row in rows.values() for cell in row.values())
    for name in ("assessment.md", "assessment.html"):
        assert "\u202e" not in files[name]
    assert "<b>" not in files["assessment.html"]
    again, same = assess(parts, tmp_path, source="onprem", destination="cloud")
    assert not again["changed"] and same == files


def test_the_plan_blocks_what_the_assessment_foretold(cluster, destination, topic, tmp_path):
    company(cluster, destination, topic)
    change_topic(destination, f"{topic}-audit", cleanup_policy="delete")  # no key, no record of a compacted topic
    for name in ("audit", "short", "old", "gone", "avro"):
        copy(cluster, destination, f"{topic}-{name}")
    change_topic(destination, f"{topic}-audit", cleanup_policy="compact")
    controller = Controller(tmp_path / "c", onprem=cluster, cloud=destination)
    asked = {"group_patterns": [f".*{topic}.*"], "watch_seconds": 0, "destination": "cloud"}
    done(controller.assess_migration(**asked, plan=True))
    entries = json.loads((tmp_path / "c/kafka-assessments/onprem/assessment.json").read_text())["entries"]
    groups = [row for row in entries if row["entry"] == "group" and row["exact"] is not None]
    blockers = [row for row in entries if row["entry"] == "risk" and row["severity"] == "blocker"]
    assert "plan_blocked" not in {each["kind"] for each in blockers}
    planned = {row["group"]: row for row in groups}
    foretold = {
        name
        for name, row in planned.items()
        for each in blockers
        if each["group"] == name or (each["group"] is None and each["topic"] in row["topics"])
    }
    assert {name for name, row in planned.items() if row["blocked"]} == foretold
    for name, verdicts in {
        "auditor": (1, 0),
        "slow": (1, 0),
        "forgotten": (1, 0),
        "reader": (1, 0),
        "late": (0, 1),  # its records expired
    }.items():
        row = planned[f"{topic}-{name}"]
        assert (row["exact"], row["safe"]) == verdicts, name
