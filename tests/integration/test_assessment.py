"""An assessment says what it could not see, whatever a login, a schema registry or a Connect worker refuses."""

import csv
import io
import json

import pytest

from testbed.clients import commit, create_topic, grant, produce, set_passwords
from tests.support.assessments import AVRO, SECRET, assess, found, numbers, parts_of
from tests.support.bad_http import BadServer, answers, redirects
from tests.support.modules import refuses
from tests.support.playbooks import done
from tests.support.replication_tool import copy


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


def test_sinks_are_known_by_their_classes(source, topic, tmp_path):
    """Also where their groups are called otherwise; a worker that does not say so costs a warning."""
    create_topic(source, topic)
    commit(source, f"{topic}-lake", {(topic, 0): 0})
    config = {"connector.class": "com.snowflake.kafka.connector.SnowflakeStreamingSinkConnector", "topics": topic}
    connectors = {"lake": {"info": {"config": config | {"consumer.override.group.id": f"{topic}-lake"}}}}
    denies = answers(json.dumps({"message": f"who is {SECRET}?"}).encode(), "401 Unauthorized")
    with BadServer(answers(json.dumps(connectors).encode())) as worker, BadServer(denies) as other:
        login = {"username": "user", "password": SECRET}
        workers = [{"url": f"http://{each.address}", **login} for each in (worker, other)]
        asked = {"group_patterns": [f"{topic}.*"], "watch_seconds": 0, "connect": workers}
        _result, files = assess(parts_of(source.connection, None, tmp_path, **asked), tmp_path)
    (detail,) = found(files["assessment.json"], topic).values()
    assert "SnowflakeStreamingSinkConnector, which keeps an offset token of each channel" in detail
    assert f"{topic}-lake,sink," in files["groups.csv"]
    assert "Classes of sink connectors could not be read: Kafka Connect at " in files["assessment.json"]
    assert SECRET not in json.dumps(files)


def test_an_assessment_of_no_group_asks_whether_the_clusters_are_swapped(topic, controller):
    asked = {"group_patterns": [f"{topic}.*"], "watch_seconds": 0, "plan": True, "destination": "cloud"}
    assert "Dry run: no file is written." in done(controller.assess_migration("--check", **asked)).output
    assert controller.files() == {}
    done(controller.assess_migration(**asked))
    page = (controller.directory / "kafka-assessments/onprem/assessment.md").read_text()
    assert "No group is visible on onprem. Check that this is the source, and not cloud" in page
    assert "0 blockers" in page and "No plan" not in page


def test_what_a_login_may_not_see_is_said(secured, topic, tmp_path):
    create_topic(secured, f"{topic}-seen")
    create_topic(secured, f"{topic}-seen-by-nobody")
    create_topic(secured, f"{topic}-hidden")
    for name in ("seen", "hidden"):
        commit(secured, f"{topic}-{name}", {(f"{topic}-{name}", 0): 0})
    set_passwords(secured, [topic], "some-password")
    login = secured.connection | {"sasl_username": topic, "sasl_password": "some-password"}
    nothing = assess(parts_of(login, None, tmp_path, watch_seconds=0), tmp_path)
    assert "The login sees 0 groups. It lacks ACL CLUSTER DESCRIBE" in nothing[1]["assessment.md"]
    seen = {f"{topic}-seen", f"{topic}-seen-by-nobody", "__consumer_offsets"}
    grant(
        secured, {f"GROUP DESCRIBE on {topic}-seen", *(f"TOPIC DESCRIBE on {name}" for name in seen)}, f"User:{topic}"
    )
    _result, files = assess(parts_of(login, None, tmp_path, watch_seconds=0, read_records=True), tmp_path)
    for text in (
        "The login sees 1 group.",
        f"Settings of 3 topics (__consumer_offsets, {topic}-seen, {topic}-seen-by-nobody) are hidden: grant ACL TOPIC",
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


def test_the_playbook_does_all_of_this(source, destination, topic, registry, controller):
    for name in ("orders", "lost"):
        create_topic(source, f"{topic}-{name}")
        produce(source, f"{topic}-{name}", numbers(4))
        commit(source, f"{topic}-{name}", {(f"{topic}-{name}", 0): 4})
    create_topic(destination, f"{topic}-orders")
    copy(source, destination, f"{topic}-orders")
    with controller.changed_clusters() as clusters:  # Ansible itself shows what -e says
        clusters["hosts"]["onprem"]["migration_assessment_schema_registry"] = registry
    asked = {"group_patterns": [f"{topic}.*"], "watch_seconds": 0, "plan": True, "destination": "cloud"}
    failed = controller.assess_migration("-vvvv", **asked, fail_on="blocker")
    assert failed.code == 2 and "2 groups and 2 topics: 1 blocker" in failed.output
    assert SECRET not in failed.output
    assert "migration_assessment_fail_on is blocker" in failed.output
    folder = controller.directory / "kafka-assessments/onprem"
    names = ["assessment.html", "assessment.json", "assessment.md", "groups.csv", "plan", "topics.csv"]
    assert sorted(file.name for file in folder.iterdir()) == names
    rows = {row["group"]: row for row in csv.DictReader(io.StringIO((folder / "groups.csv").read_text()))}
    assert [rows[f"{topic}-{name}"]["exact"] for name in ("orders", "lost")] == ["1", "0"]
    lost = rows[f"{topic}-lost"]
    assert (lost["blocked"], lost["movable"], lost["why_not"]) == ("1", "no", "topic_missing")
    assert "_phase=apply" not in failed.output
    lost = found((folder / "assessment.json").read_text(), f"{topic}-lost")
    assert lost == {
        ("topic_missing", None, f"{topic}-lost", None): f"1 group reads it: {topic}-lost.",
    }
    dry_run = controller.assess_migration("--check", **asked, fail_on="blocker")
    assert (dry_run.code, dry_run.changed) == (2, 0) and "Run without --check, read " in dry_run.output


def test_the_playbook_merges_groups_as_the_migration_would(source, destination, topic, controller):
    groups = [f"{topic}-a", f"{topic}-b"]
    create_topic(source, topic)
    produce(source, topic, numbers(4))
    for group in groups:
        commit(source, group, {(topic, 0): 4})
    create_topic(destination, topic)
    with controller.changed_clusters() as clusters:
        clusters["hosts"]["onprem"]["group_migration_on_conflict"] = "lowest"
    merged = [{"name": group, "to": topic} for group in groups]
    asked = {"group_patterns": [f".*{topic}.*"], "watch_seconds": 0, "destination": "cloud", "group_map": merged}
    done(controller.assess_migration(**asked))
    assert not found((controller.directory / "kafka-assessments/onprem/assessment.json").read_text(), topic)


def test_options_that_cannot_be_meant_are_refused_before_a_cluster_is_asked(tmp_path):
    its = {"cluster": {"bootstrap_servers": ["127.0.0.1:1"]}, "assessment": str(tmp_path / "a.json")}
    asked = refuses("kafka_group_info", **its, schema_registry={"url": "https://user:secret@registry"})
    assert "holds user information" in asked and "secret" not in asked
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
