# SPDX-License-Identifier: GPL-3.0-or-later

"""The role group_clone and its playbook, played as users play them."""

from __future__ import annotations

import pytest

from testbed.clients import Message, commit, committed, consume, create_topic, list_groups, produce
from tests.support.consumers import commit_with_epoch
from tests.support.playbooks import Controller, done, failed

DRY_RUN = "Dry run: nothing of this has been written."


@pytest.fixture
def orders(source, topic):
    """A topic with two partitions of 20 records; a group of its name, with metadata and a leader epoch."""
    create_topic(source, topic, partitions=2)
    produce(source, topic, [Message(b"%d" % number, partition=number % 2) for number in range(40)])
    commit(source, topic, {(topic, 1): 20})
    commit_with_epoch(source, topic, topic, 5, "five", 0)
    return topic


@pytest.fixture
def controller(source, tmp_path):
    return Controller(tmp_path / "infrastructure", onprem=source)


def groups(source, name):
    return [group for group in list_groups(source) if name in group]


def test_a_group_is_renamed_and_taken_back(source, orders, controller):
    new = f"{orders}-v2"
    rename = {"groups": [orders], "group_map": [{"name": orders, "to": new}], "remove_source_groups": True}
    before = committed(source, orders)
    dry = done(controller.clone_groups("--check", "--diff", **rename))
    assert f"+{new} {orders}-0: 5 'five'" in dry.output and f"-{orders} {orders}-0: 5 'five'" in dry.output
    assert DRY_RUN in dry.output and "run the same command without --check" in dry.output
    assert controller.files() == {} and groups(source, orders) == [orders]

    real = done(controller.clone_groups(**rename, write_report=True))
    assert f"Old groups removed: {orders}." in real.output
    assert "-e group_clone_phase=rollback" in real.output
    # 15 records are left in the one partition and none in the other, for the old group as for the new one.
    side_by_side = next(line.split() for line in real.output.splitlines() if f'"{orders} ' in line)
    assert [word.strip('"') for word in side_by_side[:5]] == [orders, "15", new, "15", "2"]
    assert groups(source, orders) == [new] and committed(source, new) == before
    assert consume(source, new, [orders], 3) == 3
    files, moved = controller.files(), committed(source, new)
    assert done(controller.clone_groups(**rename)).changed == 0  # though the old group is gone, and the new one goes on
    assert (controller.files(), committed(source, new)) == (files, moved)

    rollback = {**rename, "phase": "rollback"}
    ticket = controller.directory / "kafka-clones/onprem/report.md"
    said = "Committed: 2 of 2 group-partitions of 1 group, 0 blocked."
    assert said in ticket.read_text() and "Not there" not in ticket.read_text()
    assert controller.phases() == ["clone"]  # no dry run, and no run that has changed nothing
    (kept,) = controller.history()
    assert {"snapshot.json", "plan.json", "receipt.json", "removed.json", "report.md"} < {
        file.name for file in kept.iterdir()
    }

    refused = failed(controller.clone_groups(**rollback, write_report=True))
    assert "and set group_clone_on_rewind to rewind: the old groups then read again" in refused
    assert "keep" not in refused  # which is refused, too
    assert f"beside new groups that stay: {new} {orders}-" in refused
    assert "The rollback failed, and changed nothing." in ticket.read_text()
    assert groups(source, orders) == [new] and committed(source, new) == moved
    said = failed(controller.clone_groups(**rollback | {"on_rewind": "keep"}))
    assert "both would consume the same records" in said and f"{new} {orders}-" in said
    assert groups(source, orders) == [new] and committed(source, new) == moved
    back = done(controller.clone_groups(playbook="rollback", on_rewind="rewind", write_report=True, **rollback))
    assert f"Removed groups made again: {orders}." in back.output
    assert groups(source, orders) == [orders] and committed(source, orders) == before
    assert "Rolled back: 2 of 2 group-partitions of 1 group." in ticket.read_text()
    assert done(controller.clone_groups(**rollback | {"on_rewind": "keep"})).changed == 0
    assert controller.phases() == ["clone", "rollback-failed", "rollback-failed", "rollback"]


def test_a_group_that_is_blocked_ends_the_run_or_is_left_as_it_is(source, orders, controller):
    fine = f"{orders}-fine"
    commit(source, fine, {(orders, 0): 9})
    commit(source, orders, {(orders, 1): 2000})  # after the end of the log
    rename = {
        "groups": [orders, fine],
        "group_map": [{"pattern": "(.*)", "to": r"\1-v2"}],
        "remove_source_groups": True,
    }
    there = [orders, fine]
    assert "on_blocked: skip_group" in failed(controller.clone_groups(**rename))
    assert "beyond_end" in failed(controller.clone_groups(**rename | {"remove_source_groups": False}))
    assert groups(source, orders) == there
    left_out = f"{orders}: is not removed, because {orders}-v2 does not get its offset"
    predicted = done(controller.clone_groups("--check", on_blocked="skip_group", **rename))
    assert left_out in predicted.output and groups(source, orders) == there
    real = done(controller.clone_groups(on_blocked="skip_group", **rename))
    assert left_out in real.output and f"Old groups removed: {fine}." in real.output
    assert "Next: look at what is left out. Then start the consumers with the new names. To roll back, " in real.output
    assert groups(source, orders) == [orders, f"{fine}-v2"]
    assert done(controller.clone_groups(on_blocked="skip_group", **rename)).changed == 0
    assert committed(source, f"{fine}-v2") == {(orders, 0): (9, "")}
