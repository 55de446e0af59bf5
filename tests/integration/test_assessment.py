# SPDX-License-Identifier: GPL-3.0-or-later

"""A company's cluster in which each risk occurs once: the assessment has exactly these, with the right numbers."""

from __future__ import annotations

import contextlib
import csv
import http.server
import io
import itertools
import json
import threading
import time
import typing as t

import pytest
from kafka.admin import KafkaAdminClient, UserScramCredentialUpsertion

from testbed.clients import Message, change_topic, commit, create_topic, delete_groups, delete_records, produce
from tests.support.bad_http import BadServer, answers, redirects
from tests.support.consumers import assigned, share_member
from tests.support.modules import refuses, succeeds
from tests.support.playbooks import Controller
from tests.support.replication_tool import copy
from tests.support.rights import grant

MINUTE, DAY = 60_000, 86_400_000
AVRO = [Message(b"\0\0\0\0" + bytes([number]) + b"record") for number in (7, 8)]
SECRET = "registry-pass-word"


class Registry(http.server.BaseHTTPRequestHandler):
    """A schema registry, by its protocol, that knows schema 7 and wants a password."""

    def do_GET(self):
        known = self.path == "/schemas/ids/7"
        if self.headers.get("Authorization") != "Basic dXNlcjpyZWdpc3RyeS1wYXNzLXdvcmQ=":
            return self._say(401, {"error_code": 401, "message": f"Unauthorized: {self.headers.get('Authorization')}"})
        return self._say(
            *((200, {"schema": '"string"'}) if known else (404, {"error_code": 40403, "message": "Schema not found"}))
        )

    def _say(self, status, body):
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_given):
        pass


@pytest.fixture(params=["source", "kafka39", "old", "kafka11"])
def cluster(request):
    """Each version in turn: Kafka 4.3.0, 3.9.1, 2.8.2 and 1.1.1."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def registry():
    """The options of a registry."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {"url": f"http://127.0.0.1:{server.server_port}", "username": "user", "password": SECRET}
        server.shutdown()


def numbers(count, partition=0, ago=0):
    """Records written so many milliseconds ago."""
    when = int(time.time() * 1000) - ago
    return [Message(b"%d" % number, partition=partition, timestamp=when + number) for number in range(count)]


def found(document, *names):
    """The risks of an assessment that are about these names: (kind, group, topic, partition) with what is seen."""
    entries = [json.loads(line.rstrip(",")) for line in document.splitlines()[1:-1]]
    risks = [row for row in entries if row["entry"] == "risk"]
    about = [row for row in risks if any(name in (row["group"] or "") + (row["topic"] or "") for name in names)]
    return {tuple(row[key] for key in ("kind", "group", "topic", "partition")): row["detail"] for row in about}


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


def parts_of(source, destination, directory, **options):
    """What both modules write, as the role has them do; the second one only with a destination."""
    parts = [str(directory / f"{name}.json") for name in ("groups", "destination")]
    its = {"exclude_group_patterns": [], "assessment": parts[0], "watch_seconds": 2, **options}
    succeeds("kafka_group_info", cluster=source, **its)
    if destination is None:
        return parts[:1]
    asked = {"source": source, "destination": destination, "commits": False, "on_blocked": "skip_group"}
    succeeds("kafka_migration_info", **asked, group_patterns=options["group_patterns"], assessment=parts[1])
    return parts


def assess(parts, directory, **options):
    """The result of the step that writes the files, and their texts."""
    result = succeeds("kafka_migration_run", directory=str(directory / "a"), state="assessed", parts=parts, **options)
    return result, {file.name: file.read_text() for file in sorted((directory / "a").iterdir())}


def test_each_risk_of_a_company_is_found_once(cluster, source, destination, topic, registry, tmp_path):
    company(cluster, destination, topic)
    shares = (
        share_member(cluster, f"{topic}-share", f"{topic}-moving") if cluster is source else contextlib.nullcontext()
    )
    stop = threading.Event()
    with assigned(cluster, f"{topic}-assigned", f"{topic}-moving") as more, shares:
        more()

        def go_on():
            for number in itertools.count():
                if stop.wait(0.2):
                    return
                more()
                if number == 5:  # while the module looks
                    delete_groups(cluster, [f"{topic}-vanishing"])

        mover = threading.Thread(target=go_on)
        mover.start()
        try:
            every = {"group_patterns": [f".*{topic}.*"]}
            parts = parts_of(cluster.connection, destination.connection, tmp_path, schema_registry=registry, **every)
        finally:
            stop.set()
            mover.join()
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


@pytest.mark.parametrize(
    ("behaviour", "says"),
    [
        (redirects(302), "302 redirects to another address"),
        (answers(b'{"error_code": 50001, "message": "leader lost"}', "500 Internal Server Error"), "500 leader lost"),
        (answers(b"<html>not found</html>", "404 Not Found"), "this is not a schema registry"),
        (answers(b'{"message": "who are you, registry-pass-word?"}', "401 Unauthorized"), "the schema registry denies it"),
    ],
    ids=["redirects", "fails", "is-none", "denies"],
)  # fmt: skip
def test_a_registry_that_cannot_be_used_is_a_warning(source, topic, tmp_path, behaviour, says):
    create_topic(source, topic)
    produce(source, topic, AVRO)
    commit(source, topic, {(topic, 0): 2})
    with BadServer(behaviour) as server:
        registry = {"url": f"http://{server.address}", "username": "user", "password": SECRET}
        asked = {"group_patterns": [topic], "watch_seconds": 0, "schema_registry": registry}
        _result, files = assess(parts_of(source.connection, None, tmp_path, **asked), tmp_path)
    risks = found(files["assessment.json"], topic)
    assert risks == {("schema_ids", None, topic, None): "Its last records carry ids 7, 8."}
    assert says in files["assessment.json"] and SECRET not in json.dumps(files)


def test_what_a_login_may_not_see_is_said(secured, topic, tmp_path):
    create_topic(secured, f"{topic}-seen")
    create_topic(secured, f"{topic}-seen-by-nobody")
    create_topic(secured, f"{topic}-hidden")
    for name in ("seen", "hidden"):
        commit(secured, f"{topic}-{name}", {(f"{topic}-{name}", 0): 0})
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=secured.bootstrap_servers)) as client:
        client.alter_user_scram_credentials([UserScramCredentialUpsertion(topic, "SCRAM-SHA-512", "some-password")])
    login = secured.connection | {"sasl_username": topic, "sasl_password": "some-password"}
    nothing = assess(parts_of(login, None, tmp_path, watch_seconds=0), tmp_path)
    assert "The login sees 0 groups and 0 topics. It lacks ACL CLUSTER DESCRIBE" in nothing[1]["assessment.md"]
    grant(secured, {f"GROUP DESCRIBE on {topic}-seen", f"TOPIC DESCRIBE on {topic}-seen*"}, f"User:{topic}")
    _result, files = assess(parts_of(login, None, tmp_path, watch_seconds=0, read_records=True), tmp_path)
    for text in (
        "The login sees 1 group and 2 topics.",
        f"Settings of 2 topics ({topic}-seen, {topic}-seen-by-nobody) are hidden: grant ACL TOPIC DESCRIBE_CONFIGS.",
        f"Records of 2 topics ({topic}-seen, {topic}-seen-by-nobody) are hidden: grant ACL TOPIC READ.",
    ):
        assert text in files["assessment.json"]
    assert found(files["assessment.json"], topic) == {
        ("topic_unread", None, f"{topic}-seen-by-nobody", None): "0 offsets are in its logs."
    }
    assert "hidden-" not in files["groups.csv"] and "some-password" not in json.dumps(files)
    grant(secured, {"CLUSTER DESCRIBE on kafka-cluster"}, f"User:{topic}")
    _result, files = assess(parts_of(login, None, tmp_path, watch_seconds=0), tmp_path)
    assert "may not be described: grant ACL GROUP DESCRIBE on " in files["assessment.json"]


def test_the_playbook_does_all_of_this(source, destination, topic, registry, tmp_path):
    for name in ("orders", "lost"):
        create_topic(source, f"{topic}-{name}")
        produce(source, f"{topic}-{name}", numbers(4))
        commit(source, f"{topic}-{name}", {(f"{topic}-{name}", 0): 4})
    create_topic(destination, f"{topic}-orders")
    copy(source, destination, f"{topic}-orders")
    controller = Controller(tmp_path / "c", onprem=source, cloud=destination)
    inventory = json.loads(controller.inventory.read_text())  # Ansible itself shows what -e says
    inventory["kafka_clusters"]["hosts"]["onprem"]["migration_assessment_schema_registry"] = registry
    controller.inventory.write_text(json.dumps(inventory))
    asked = {"group_patterns": [f"{topic}.*"], "watch_seconds": 0, "plan": True, "destination": "cloud"}
    failed = controller.assess_migration("-vvvv", **asked, fail_on="blocker")
    assert failed.code == 2 and "2 groups and 2 topics: 2 blockers" in failed.output
    assert SECRET not in failed.output
    assert "migration_assessment_fail_on is blocker" in failed.output
    folder = tmp_path / "c/kafka-assessments/onprem"
    names = ["assessment.html", "assessment.json", "assessment.md", "groups.csv", "plan", "topics.csv"]
    assert sorted(file.name for file in folder.iterdir()) == names
    rows = {row["group"]: row for row in csv.DictReader(io.StringIO((folder / "groups.csv").read_text()))}
    assert [rows[f"{topic}-{name}"]["exact"] for name in ("orders", "lost")] == ["1", "0"]
    lost = rows[f"{topic}-lost"]
    assert (lost["blocked"], lost["movable"], lost["why_not"]) == ("1", "no", "plan_blocked, topic_missing")
    assert "_phase=apply" not in failed.output
    lost = found((folder / "assessment.json").read_text(), f"{topic}-lost")
    assert lost == {
        ("plan_blocked", f"{topic}-lost", None, None): "1 partition is blocked (topic_missing).",
        ("topic_missing", None, f"{topic}-lost", None): f"1 group reads it: {topic}-lost.",
    }


def test_options_that_cannot_be_meant_are_refused_before_a_cluster_is_asked(tmp_path):
    its = {"cluster": {"bootstrap_servers": ["127.0.0.1:1"]}, "assessment": str(tmp_path / "a.json")}
    asked = refuses("kafka_group_info", **its, schema_registry={"url": "https://user:secret@registry"})
    assert "holds user information" in asked and "secret" not in asked
    assert "abandoned_after is 0" in refuses("kafka_group_info", **its, abandoned_after=0)
    missing = refuses(
        "kafka_migration_run", directory=str(tmp_path), state="assessed", parts=[str(tmp_path / "none.json")]
    )
    assert "none.json" in missing
    (tmp_path / "bad.json").write_text(
        '{"format": "streamshift.kafka/assessment", "version": 1, "entries": [{"entry": "x"}]}'
    )
    assert "'x' is no kind of entry" in refuses(
        "kafka_migration_run", directory=str(tmp_path), state="assessed", parts=[str(tmp_path / "bad.json")]
    )
