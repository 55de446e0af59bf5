"""The snapshot file holds what the groups have committed now, and nothing else."""

import csv
import io

import pytest

from testbed.clients import commit
from tests.support.consumers import member
from tests.support.modules import refuses
from tests.support.numbered import numbered_topic
from tests.support.stock_tool import consumer_groups


@pytest.fixture
def orders(source, topic):
    """A topic with two partitions and ten records in each."""
    return numbered_topic(source, topic, 10)


def test_check_mode_predicts_the_file_and_a_second_run_leaves_it(source, orders, migration):
    commit(source, orders, {(orders, 0): (4, "by hand"), (orders, 1): 10})
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


def test_names_that_would_act_on_a_terminal_are_shown_as_escapes(source, orders, migration):
    names = sorted(
        f"{orders}{end}" for end in ("\x1b[2K\r", "\nforged orders-0: 20", "\u202e", "\u200b\x07", " blank ")
    )
    for name in names:
        commit(source, name, {(orders, 0): (1, "\x1b[1A\u2066")})
    found = migration.snapshot(group_patterns=[f"(?s){orders}.*"], diff=True)
    assert [group["name"] for group in found["groups"]] == names
    lines = found["diff"]["after"].removesuffix("\n").split("\n")
    assert len(lines) == len(names) and all(line.isprintable() for line in lines)
    refused = migration.snapshot(f"{names[0]}x", via=refuses)
    assert refused.isprintable() and "\\u000aforged" in refused


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups_of_both_protocols_are_read_and_live_ones_warned_of(source, orders, protocol, migration):
    with member(source, orders, [orders], protocol):
        live = migration.snapshot(orders)
        left_out = migration.snapshot(orders, on_active_group="skip_group")
    assert live["groups"] == [{"name": orders, "type": protocol, "partitions": 2}]
    assert live["active_groups"] == [orders]
    assert any(f"{orders} has members" in line for line in live["warnings"])
    assert left_out["groups"] == []
    assert left_out["left_out_groups"] == [orders]


def test_csv_goes_through_the_stock_tool_and_back(source, orders, migration):
    commit(source, orders, {(orders, 0): 4, (orders, 1): 10})
    file = migration.directory / "orders.csv"
    migration.snapshot(orders, snapshot=str(file), format="csv")
    assert list(csv.reader(io.StringIO(file.read_text()))) == [[orders, "0", "4"], [orders, "1", "10"]]
    commit(source, orders, {(orders, 0): 0, (orders, 1): 0})
    said = consumer_groups(source, "--group", orders, "--reset-offsets", "--from-file", str(file), "--execute")
    assert orders in said
    again = migration.snapshot(orders, snapshot=str(file), format="csv")
    assert again["changed"] is False  # the tool has set exactly what stands in the file
