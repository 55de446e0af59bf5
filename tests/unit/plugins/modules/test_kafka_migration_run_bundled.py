"""A support bundle has the files of a migration, and no name and no secret."""

import dataclasses
import json
import os
import re
import tarfile
from pathlib import Path

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import admin_client
from ansible_collections.streamshift.kafka.plugins.module_utils._model import (
    aliases,
    connect_receipt,
    lease,
    plan,
    receipt,
    run_record,
    snapshot,
    status,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.modules import kafka_migration_run
from tests.support.held import room_for

ROOT = Path(__file__).parents[4]
WRITTEN = re.findall(r"```json\n(.*?)```", (ROOT / "docs/files.md").read_text(), re.DOTALL)
# What the examples of all files are about, and what is planted beside it.
NAMES = [
    "billing", "orders", "clicks", "host-7", "ABhmwknX73IbSTyzXQlabw", "5d7c5a0e", "3b1c9c4b1f0a7e52", "73a2e3e8c8",
    "9a0f7f6ef5b7ab4b", "2fec81329f280354", "51f3a7c2d09be846",
]  # fmt: skip
PLANTED = [
    "payments", "web-7", "10.20.30.40", "broker1.corp.example", "alice", "controller7", "s3cret", "Zoë's group", "teams/x",
    "10.9.8.7", "bucket-of-teams", "payroll", "salaries", "bonuses", "night", "owl", "onprem",
    "acmebank", "zanzibar",
]  # fmt: skip
FAILURE = (
    "source cluster onprem (broker1.corp.example:9092): group Zoë's group is in use: client payments on 10.20.30.40, client "
    "web-7 on controller7. Its commits on orders-0 move (5 -> 7)."
    " See /srv/teams/x/plan.json, or set on_active_group=skip_group. "
    "Destination cluster 10.9.8.7, group payroll, topic salaries, partition 2: group payroll lags by 1,024 records of group "
    "night owl, 0.5 % of them on Kafka 3.9.1. source cluster acmebank: sasl_mechanism has an unknown value. Ask zanzibar."
)


@pytest.fixture
def home(tmp_path):
    """The directory of a migration with every file that there is, as docs/files.md shows them, and names in all places."""
    folder = tmp_path / "migration"
    (folder / "return").mkdir(parents=True)
    kept = folder / "history/2026-11-24T225301Z-migrate"
    kept.mkdir(parents=True)
    for text in WRITTEN:
        name = json.loads(text)["format"].removeprefix("streamshift.kafka/")
        (folder / f"{name}.json").write_text(text)
        (folder / f"return/{name}.json").write_text(text)
    (kept / "run.json").write_text((folder / "run.json").read_text())
    (kept / "plan.json").write_text(WRITTEN[1])
    taken = (folder / "snapshot.json").read_text().replace('"host-7"', '"s3cret of Zoë\'s group"')
    open_transaction = {"group": "billing", "topic": "orders", "partition": 0, "told": "transaction zanzibar is open"}
    taken = taken.replace('"groups"', f'"open_transactions": [{json.dumps(open_transaction)}], "groups"')
    taken = taken.replace('{"name": "billing"', '{"name": "night\\nowl", "type": "classic"}, {"name": "billing"')
    left_out = (
        ', "left_out": ["payments: orders is left out", "bonuses, salaries-0 to 2: excluded by zanzibar"], "groups"'
    )
    (folder / "snapshot.json").write_text(taken.replace(', "groups"', left_out))
    planned = (folder / "plan.json").read_text().replace('"detail": ""', '"detail": "as zanzibar has said"', 1)
    doubted = '"way": "count", "doubt": "consumed records follow the offset"'
    (folder / "plan.json").write_text(planned.replace('"way": "count"', doubted, 1))
    look = '"look": {"at": 1, "commits": {"payroll": "9a0f7f6ef5b7ab4b"}, "ends": {"salaries.bonuses": [7]}}, "entries"'
    (folder / "report.json").write_text((folder / "report.json").read_text().replace('"entries"', look, 1))
    row = {"group": "Zoë's group", "ready": False, "ready_since": None, "source_groups": ["Zoë's group"], "lag": 1}
    row |= {"to_come": 0, "absent": 0, "verdicts": {"exact": 1}, "not_exact": [], "not_committed": 0}
    told = status.Status("sync", 1.0, 2.0, 3, FAILURE, 2.0, (row,)).after(())
    (folder / "status.json").write_text(status.to_json(told))
    (folder / "lease.json").write_text(lease.to_json(lease.Lease("controller7", "pid:[1]", 7, 8, 9.0)))
    (folder / "topics.json").write_text((folder / "topics.json").read_text().replace("User:billing", "User:alice"))
    topics = (folder / "topics-receipt.json").read_text()
    (folder / "topics-receipt.json").write_text(topics.replace('"before": "604800000"', '"before": "bucket-of-teams"'))
    handed = connect_receipt.ConnectReceipt("id", "http://broker1.corp.example:8083/s3cret", "payments", "alice")
    (folder / "connect-receipt.json").write_text(connect_receipt.to_json(handed))
    (folder / "notes.txt").write_text("s3cret")
    return folder


@pytest.fixture
def bundle(run_module, home, tmp_path):
    """``bundle(**options)`` makes a bundle; -> the module's result, and the files in the archive by their names."""

    def made(name="support.tar.gz", **options):
        given = {"state": "bundled", "directory": str(home), "archive": str(tmp_path / name), **options}
        result = run_module(kafka_migration_run, **given)
        if result.get("failed") or options.get("check"):
            return result, {}
        with tarfile.open(tmp_path / name) as archive:
            members = {member.name: archive.extractfile(member).read().decode() for member in archive}
            assert {(member.mode, member.uname, member.uid, member.mtime) for member in archive} == {(0o600, "", 0, 0)}
        return result, {name.removeprefix("support-bundle/"): text for name, text in members.items()}

    return made


def test_no_name_and_no_secret_is_in_the_archive(bundle, tmp_path, monkeypatch):
    monkeypatch.setattr(admin_client, "CONNECT_SECONDS", 0.3)
    login = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_username": "alice"}
    login |= {"sasl_password": "s3cret-password", "client_config": {"ssl.engine.id": "web-7"}}
    result, files = bundle(source_cluster={"bootstrap_servers": ["127.0.0.1:1"], **login})
    assert not {(name, each) for name, text in files.items() for each in [*NAMES, *PLANTED] if each in text}
    assert "consumed records follow the offset" in files["plan.json"]
    assert "s3cret-password" not in json.dumps(result)
    assert (tmp_path / "support.tar.gz").stat().st_mode & 0o777 == 0o600
    assert {"plan.json", "return/receipt.json", "history/2026-11-24T225301Z-migrate/run.json", "bundle.json"} <= set(
        files
    )
    assert not {name for name in files if name.endswith(("notes.txt", "migrate/plan.json", "support-key.json"))}
    assert json.loads(files["bundle.json"])["clusters"] == {"source_cluster": {"failure": "connection_failed"}}
    assert result["note_kinds"] == ["brokers_missing"] and result["bundled"] == sorted(files)


def test_each_object_whose_members_are_called_like_groups_or_topics_is_known():
    words = {"configs", "counts", "settings", "suspended", "verdicts", "versions"}  # of Kafka or of the collection

    def open_objects(schema):
        for name, child in schema.items() if isinstance(schema, dict) else enumerate(schema):
            if isinstance(child, dict | list):
                yield from [name] if isinstance(child, dict) and child.get("additionalProperties") else ()
                yield from open_objects(child)

    schemas = [json.loads(path.read_text()) for path in (ROOT / "docs/schemas").iterdir()]
    assert {name for schema in schemas for name in open_objects(schema)} == aliases.BY_NAME | words


def test_what_helps_stays(bundle, home):
    _result, files = bundle(collection="0.2.0")
    planned, before = plan.from_json(files["plan.json"], ""), plan.from_json((home / "plan.json").read_text(), "")
    for made, its in zip(planned.entries, before.entries, strict=True):
        assert (made.verdict, made.reason, made.offset, made.repeats) == (
            its.verdict,
            its.reason,
            its.offset,
            its.repeats,
        )
        assert made.evidence.certificate == its.evidence.certificate and bool(made.metadata) == bool(its.metadata)
    group = planned.entries[0].group
    assert {entry.group for entry in receipt.from_json(files["receipt.json"], "").entries} == {group}
    assert snapshot.from_json(files["snapshot.json"], "").entries[0].group == group
    assert {entry.detail for entry in planned.entries} == {aliases.LEFT_OUT, ""}
    taken = snapshot.from_json(files["snapshot.json"], "")
    assert taken.left_out == (aliases.LEFT_OUT,) * 2
    run, its_run = (
        run_record.from_json(files["run.json"], ""),
        run_record.from_json((home / "run.json").read_text(), ""),
    )
    assert dataclasses.replace(run, plan=its_run.plan) == its_run
    assert json.loads(files["bundle.json"])["versions"]["streamshift.kafka"] == "0.2.0"
    assert json.loads(files["status.json"])["failure"] == aliases.LEFT_OUT
    assert run.failure == its_run.failure
    changes = json.loads(files["topics.json"])["entries"]
    assert changes[1]["settings"]["retention.ms"] == {"before": "604800000", "after": "3600000", "origin": "source"}
    assert changes[2]["acl"]["operation"] == "READ" and changes[2]["acl"]["host"] == "*"


def test_the_owner_of_the_key_can_translate_back_and_aliases_stay_the_same(bundle, home):
    _result, first = bundle()
    _result, second = bundle("second.tar.gz")
    assert {**first, "bundle.json": ""} == {**second, "bundle.json": ""}
    key = home / "support-key.json"
    assert key.stat().st_mode & 0o777 == 0o600
    names = {row["alias"]: row["name"] for row in json.loads(key.read_text())["entries"]}
    assert names[plan.from_json(first["plan.json"], "").entries[1].partition.topic] == "orders"
    key.unlink()
    _result, third = bundle("third.tar.gz")
    assert third["plan.json"] != first["plan.json"]


def test_a_prefix_of_a_replication_policy_stays_recognizable(bundle, home):
    text = (home / "plan.json").read_text()
    planned = '"topic": "%s", "partition": 0, "offset": 46'
    (home / "plan.json").write_text(text.replace(planned % "orders", planned % "onprem.orders"))
    _result, files = bundle()
    entry = plan.from_json(files["plan.json"], "").entries[1]
    assert entry.partition.topic.partition(".")[2] == entry.source[0].partition.topic


def test_the_own_prefix_stays_recognizable(bundle, home):
    made = plan.from_json((home / "plan.json").read_text(), "")
    (entry, *others) = made.entries
    of_own = entry.source[0]._replace(partition=TopicPartition("cloud.orders", 0))
    entry = dataclasses.replace(entry, source=(of_own,))
    both_ways = dataclasses.replace(made, entries=(entry, *others), own_prefix="cloud.")
    (home / "plan.json").write_text(plan.to_json(both_ways))
    _result, files = bundle()
    shown = plan.from_json(files["plan.json"], "")
    assert shown.is_own_copy(shown.entries[0].source[0].partition.topic) and shown.own_prefix != "cloud."


def test_of_a_damaged_file_the_bundle_has_what_is_whole(bundle, home):
    lines = (home / "plan.json").read_text().splitlines()
    (home / "plan.json").write_text("\n".join([*lines[:2], lines[2][:90], *lines[3:5]]))
    (home / "receipt.json").write_bytes(b"\xff\xfe\0")
    result, files = bundle()
    assert len(json.loads(files["plan.json"])["entries"]) == 3 and "receipt.json" not in files
    assert result["note_kinds"] == ["file_left_out"] * 2
    told = json.loads(files["bundle.json"])
    assert {"file": "plan.json", "damaged": 1} in told["entries"] and told["unreadable"] == ["receipt.json"]
    assert not [text for text in files.values() if "orders" in text]


def test_check_mode_writes_nothing(bundle, home, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    predicted, _files = bundle(check=True)
    assert sorted(tmp_path.rglob("*")) == before
    assert bundle()[0] == predicted


def test_wrong_input_is_refused_before_anything_is_written(bundle, home, tmp_path):
    (tmp_path / "there.tar.gz").write_text("mine")
    (tmp_path / "empty").mkdir()
    (tmp_path / "key").write_text("{}")
    cases = [
        ({"name": "there.tar.gz"}, "there.tar.gz exists already. Remove it, or give another path in archive."),
        ({"directory": str(tmp_path / "none")}, "none is no directory. Correct directory."),
        ({"directory": str(tmp_path / "empty")}, "there is no file of a migration in"),
        ({"name": "none/support.tar.gz"}, "none is no directory"),
        ({"key_file": str(tmp_path / "key")}, "is not a support-key file"),
        ({"name": "one", "key_file": str(tmp_path / "one")}, "key_file and archive are both"),
    ]
    before = sorted(tmp_path.rglob("*"))
    for options, said in cases:
        result, _files = bundle(**options)
        assert result["failed"] and said in result["msg"], result["msg"]
    assert sorted(tmp_path.rglob("*")) == before and (tmp_path / "there.tar.gz").read_text() == "mine"


def test_a_full_disk_leaves_no_part_of_an_archive(bundle, home, tmp_path):
    bundle("first.tar.gz")
    (home / "run.json").write_text((home / "run.json").read_text().replace("3.11.13", os.urandom(9000).hex()))
    with room_for(9000):
        result, _files = bundle()
    assert result["failed"] and "cannot be written" in result["msg"] and "File too large" in result["msg"]
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["first.tar.gz"]
