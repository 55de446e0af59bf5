# SPDX-License-Identifier: GPL-3.0-or-later

"""The snapshot file holds what the groups have committed now, and nothing else."""

from __future__ import annotations

import csv
import io
import json

import pytest

from testbed.clients import Message, commit, consume, create_topic, delete_topic, produce
from tests.support.consumers import assigned, member
from tests.support.modules import Migration, refuses, succeeds
from tests.support.stock_tool import consumer_groups


@pytest.fixture
def orders(source, topic):
    """A topic with two partitions and ten records in each."""
    create_topic(source, topic, partitions=2)
    produce(source, topic, [Message(b"%d" % number, partition=number % 2) for number in range(20)])
    return topic


def test_check_mode_predicts_the_file_and_a_second_run_leaves_it(source, destination, orders, tmp_path):
    commit(source, orders, {(orders, 0): (4, "by hand"), (orders, 1): 10})
    migration = Migration(tmp_path / "m", source, destination)
    predicted = migration.snapshot(orders, check=True, diff=True)
    assert migration.files() == {}
    done = migration.snapshot(orders, diff=True)
    assert done == predicted
    assert done["changed"] is True
    assert done["groups"] == [{"name": orders, "type": "classic", "partitions": 2}]
    assert done["diff"]["after"] == f"{orders} {orders}-0: 4 'by hand'\n{orders} {orders}-1: 10\n"
    before = migration.snapshot_file.stat()
    again = migration.snapshot(orders)
    assert again["changed"] is False
    assert migration.snapshot_file.stat().st_mtime_ns == before.st_mtime_ns


def test_the_file_is_private_and_has_one_entry_a_line(source, destination, orders, tmp_path):
    consume(source, orders, [orders], 20)
    migration = Migration(tmp_path / "m", source, destination)
    migration.snapshot(orders)
    assert migration.snapshot_file.stat().st_mode & 0o777 == 0o600
    lines = migration.snapshot_file.read_text().splitlines()
    entries = [json.loads(line.rstrip(",")) for line in lines[1:-1]]
    assert [(entry["topic"], entry["partition"], entry["offset"]) for entry in entries] == [
        (orders, 0, 10),
        (orders, 1, 10),
    ]
    assert json.loads("".join(lines))["cluster_id"] == source.cluster_id


def test_patterns_select_names_beat_excludes_and_what_was_left_out_is_said(source, destination, orders, tmp_path):
    names = [f"{orders}-one", f"{orders}-two", f"{orders}-retry", f"console-consumer-{orders}"]
    for name in names:
        commit(source, name, {(orders, 0): 1})
    migration = Migration(tmp_path / "m", source, destination)
    found = migration.snapshot(
        names[3], group_patterns=[f".*{orders}.*"], exclude_group_patterns=["console-consumer-.*", ".*-retry"]
    )
    assert [group["name"] for group in found["groups"]] == sorted([names[3], names[0], names[1]])
    assert found["left_out_groups"] == [names[2]]
    by_default = migration.snapshot(group_patterns=[f".*{orders}.*"])
    assert [group["name"] for group in by_default["groups"]] == sorted(names[:3])
    assert by_default["left_out_groups"] == [names[3]]
    assert any(names[3] in line for line in by_default["warnings"])


def test_names_that_would_act_on_a_terminal_are_shown_as_escapes(source, destination, orders, tmp_path):
    names = sorted(
        f"{orders}{end}" for end in ("\x1b[2K\r", "\nforged orders-0: 20", "\u202e", "\u200b\x07", " blank ")
    )
    for name in names:
        commit(source, name, {(orders, 0): (1, "\x1b[1A\u2066")})
    migration = Migration(tmp_path / "m", source, destination)
    found = migration.snapshot(group_patterns=[f"(?s){orders}.*"], diff=True)
    assert [group["name"] for group in found["groups"]] == names
    lines = found["diff"]["after"].removesuffix("\n").split("\n")
    assert len(lines) == len(names) and all(line.isprintable() for line in lines)
    refused = migration.snapshot(f"{names[0]}x", via=refuses)
    assert refused.isprintable() and "\\u000aforged" in refused


def test_topics_can_be_chosen(source, destination, orders, tmp_path):
    other = f"{orders}-other"
    create_topic(source, other)
    commit(source, orders, {(orders, 0): 1, (other, 0): 0})
    migration = Migration(tmp_path / "m", source, destination)
    migration.snapshot(orders, topic_patterns=[".*-other"])
    assert [entry["topic"] for entry in json.loads(migration.snapshot_file.read_text())["entries"]] == [other]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups_of_both_protocols_are_read_and_live_ones_warned_of(source, destination, orders, tmp_path, protocol):
    migration = Migration(tmp_path / "m", source, destination)
    with member(source, orders, [orders], protocol):
        live = migration.snapshot(orders)
        left_out = migration.snapshot(orders, on_active_group="skip_group")
    assert live["groups"] == [{"name": orders, "type": protocol, "partitions": 2}]
    assert live["active_groups"] == [orders]
    assert any("still have members" in line and orders in line for line in live["warnings"])
    assert left_out["groups"] == []
    assert left_out["left_out_groups"] == [orders]


def test_a_group_of_a_consumer_with_assign_is_read(source, destination, orders, tmp_path):
    with assigned(source, orders, orders) as commits:
        commits()
        found = Migration(tmp_path / "m", source, destination).snapshot(orders)
    assert found["groups"] == [{"name": orders, "type": "classic", "partitions": 1}]


def test_csv_goes_through_the_stock_tool_and_back(source, destination, orders, tmp_path):
    commit(source, orders, {(orders, 0): 4, (orders, 1): 10})
    migration = Migration(tmp_path / "m", source, destination)
    file = tmp_path / "m" / "orders.csv"
    migration.snapshot(orders, snapshot=str(file), format="csv")
    assert list(csv.reader(io.StringIO(file.read_text()))) == [[orders, "0", "4"], [orders, "1", "10"]]
    commit(source, orders, {(orders, 0): 0, (orders, 1): 0})
    said = consumer_groups(source, "--group", orders, "--reset-offsets", "--from-file", str(file), "--execute")
    assert orders in said
    again = migration.snapshot(orders, snapshot=str(file), format="csv")
    assert again["changed"] is False  # the tool has set exactly what stands in the file


def test_csv_of_several_groups_names_them_and_is_read_by_translate(source, destination, orders, tmp_path):
    for group, offset in ((f"{orders}-a", 3), (f"{orders}-b", 7)):
        commit(source, group, {(orders, 0): offset})
    migration = Migration(tmp_path / "m", source, source)
    file = str(tmp_path / "m" / "groups.csv")
    migration.snapshot(f"{orders}-a", f"{orders}-b", snapshot=file, format="csv")
    rows = succeeds(
        "kafka_offset_translate",
        source=migration.source,
        destination=migration.source,
        snapshot=file,
        plan=str(migration.plan_file),
        strategy="identical",
        group_map=[{"pattern": "(.*)", "to": "new-\\1"}],
    )["entries"]
    assert [(row["group"], row["partition"], row["offset"]) for row in rows if row["verdict"] == "exact"] == [
        (f"new-{orders}-a", 0, 3),
        (f"new-{orders}-b", 0, 7),
    ]


def test_metadata_is_kept_byte_for_byte(source, destination, orders, tmp_path):
    metadata = 'a "b"\nc\x00 \N{PARTY POPPER} \\ ' + "x" * 4000
    commit(source, orders, {(orders, 0): (4, metadata)})
    migration = Migration(tmp_path / "m", source, destination)
    migration.snapshot(orders)
    assert json.loads(migration.snapshot_file.read_text())["entries"][0]["metadata"] == metadata


def test_a_group_without_a_name_is_left_out_with_a_note(source, destination, orders, tmp_path):
    """Brokers keep its commits, and describe it to nobody."""
    commit(source, orders, {(orders, 0): 4})
    commit(source, "", {(orders, 0): 3})
    try:
        migration = Migration(tmp_path / "m", source, destination)
        taken = migration.snapshot(groups=[], group_patterns=[f"({orders})?"], via=succeeds)
        assert [group["name"] for group in taken["groups"]] == [orders]
        assert taken["note_kinds"] == ["group_unnamed"] and "could not be rolled back" in taken["notes"][0]
    finally:
        delete_topic(source, orders)  # nothing else removes what brokers keep for it
