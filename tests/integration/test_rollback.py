# SPDX-License-Identifier: GPL-3.0-or-later

"""Taking a migration back leaves the destination's groups as they were, even those that were not there."""

from __future__ import annotations

import json
from unittest import mock

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import commits
from testbed.clients import Message, commit, committed, consume, create_topic, list_groups, produce
from tests.support.consumers import commit_with_epoch, member
from tests.support.modules import Migration, refuses, run
from tests.support.replication_tool import copy


@pytest.fixture
def orders(source, destination, topic):
    """A topic with two partitions of 20 records, copied."""
    for cluster in (source, destination):
        create_topic(cluster, topic, partitions=2)
    produce(source, topic, [Message(b"%d" % number, partition=number % 2) for number in range(40)])
    copy(source, destination, topic)
    commit(source, topic, {(topic, 0): 5, (topic, 1): 20})
    return topic


@pytest.fixture
def migration(source, destination, tmp_path):
    return Migration(tmp_path / "migration", source, destination)


def test_a_group_that_was_not_there_is_gone(destination, orders, migration):
    migration.carried_out(orders)
    assert orders in list_groups(destination)
    done = migration.carefully(orders, migration.roll_back)
    assert [entry["after"] for entry in done["entries"]] == [None, None]
    assert committed(destination, orders) == {}
    assert orders not in list_groups(destination)


def test_offset_metadata_epoch_and_the_lack_of_a_commit_come_back(destination, orders, migration):
    other = f"{orders}-other"
    create_topic(destination, other)
    commit(destination, orders, {(other, 0): (0, "of another topic")})
    commit_with_epoch(destination, orders, orders, 3, "before \x00 \N{PARTY POPPER}", 0)
    migration.snapshot(orders, cluster=migration.destination, snapshot=str(migration.directory / "before.json"))
    migration.carried_out(orders)
    migration.carefully(orders, migration.roll_back)
    assert committed(destination, orders) == {
        (other, 0): (0, "of another topic"),
        (orders, 0): (3, "before \x00 \N{PARTY POPPER}"),
    }
    migration.snapshot(orders, cluster=migration.destination, snapshot=str(migration.directory / "after.json"))
    files = migration.files()
    assert files["after.json"] == files["before.json"]  # leader epochs too


def test_a_group_that_has_consumed_since_goes_back_only_when_allowed(destination, orders, migration):
    migration.plan(orders)
    migration.commit()
    assert consume(destination, orders, [orders], 10) == 10
    state = migration.state(orders)
    message = migration.roll_back(via=refuses)
    assert f"group {orders}" in message and "Set on_rewind to rewind" in message
    assert migration.state(orders) == state
    kept = migration.roll_back(on_rewind="keep")
    assert "(on_rewind: keep)" in " ".join(kept["left_out"])
    migration.carefully(orders, lambda **how: migration.roll_back(on_rewind="rewind", **how))
    assert orders not in list_groups(destination)


def test_after_a_rollback_the_same_migration_can_be_done_again(destination, orders, migration):
    migration.carried_out(orders)
    wanted = committed(destination, orders)
    migration.roll_back()
    assert migration.snapshot(orders)["changed"] is False
    assert migration.translate()["changed"] is False
    assert migration.commit()["written"] == 2
    assert committed(destination, orders) == wanted
    migration.roll_back()
    assert orders not in list_groups(destination)


def test_two_migrations_of_a_group_are_taken_back_to_before_the_first(source, destination, orders, migration):
    commit(destination, orders, {(orders, 0): (1, "first")})
    migration.plan(orders)
    migration.commit()
    commit(source, orders, {(orders, 0): 9, (orders, 1): 20})
    migration.plan(orders)
    migration.commit()
    migration.roll_back()
    assert committed(destination, orders) == {(orders, 0): (1, "first")}


def lines(migration, group):
    """The receipt's lines of a group, as they stand in the file."""
    return [
        line.rstrip(",") for line in migration.receipt_file.read_text().splitlines() if f'"group": "{group}"' in line
    ]


def test_of_two_waves_in_one_directory_the_second_is_taken_back_while_the_first_goes_on(
    source, destination, orders, migration
):
    first, second = f"{orders}-first", f"{orders}-second"
    commit(destination, second, {(orders, 1): (3, "an older life")})
    for group in (first, second):
        commit(source, group, {(orders, 0): 5, (orders, 1): 10})
        migration.plan(group)
        migration.commit()
    receipt = lines(migration, first)
    assert consume(destination, first, [orders], 7) == 7
    moved = committed(destination, first)
    with member(destination, first, [orders]):  # nobody asks whether it is in use, and it consumes the rest
        done = migration.carefully(second, lambda **how: migration.roll_back(groups=[second], **how))
    assert {entry["group"] for entry in done["entries"]} == {second}
    assert done["written"] == 2 and done["summary"][0] == "Rollback of 1 of 2 groups in the receipt"
    assert committed(destination, second) == {(orders, 1): (3, "an older life")}
    gone_on = committed(destination, first)
    assert gone_on.keys() == moved.keys() and all(gone_on[key] >= moved[key] for key in moved)
    assert lines(migration, first) == receipt

    # What it has consumed since is a question only for who takes it back, too.
    assert "on_rewind" in migration.roll_back(via=refuses, groups=[first])
    migration.carefully(first, lambda **how: migration.roll_back(groups=[first], on_rewind="rewind", **how))
    assert first not in list_groups(destination)


def test_a_group_is_selected_by_the_names_that_it_had_at_the_source(source, destination, orders, migration):
    other = f"{orders}-other"
    commit(source, other, {(orders, 0): 5})
    maps = {"group_map": [{"pattern": "(.*)", "to": "new-\\1"}]}
    migration.plan(orders, other, **maps)
    migration.commit()
    receipt = lines(migration, f"new-{orders}")
    message = migration.roll_back(via=refuses, groups=[f"new-{other}"])
    assert f"group new-{other} is not in the receipt" in message and f"it holds {orders}, {other}" in message
    assert len(committed(destination, f"new-{other}")) == 1
    migration.roll_back(group_patterns=[".*-oth.r"])
    assert [name for name in list_groups(destination) if orders in name] == [f"new-{orders}"]
    assert lines(migration, f"new-{orders}") == receipt
    # A receipt of a release that did not note the source knows the destination's names.
    document = json.loads(migration.receipt_file.read_text())
    for entry in document["entries"]:
        del entry["source"]
    migration.receipt_file.write_text(json.dumps(document))
    migration.roll_back(groups=[f"new-{orders}"], topics=[orders])
    assert not [name for name in list_groups(destination) if orders in name]


def test_keep_keeps_a_whole_group(destination, orders, migration):
    migration.plan(orders)
    migration.commit()
    commit(destination, orders, {(orders, 0): 9})  # it has consumed one partition only
    state = migration.state(orders)
    kept = migration.carefully(orders, lambda **how: migration.roll_back(groups=[orders], on_rewind="keep", **how))
    assert migration.state(orders) == state and kept["written"] == 0
    assert kept["summary"][0] == "Rollback of 0 of 1 group in the receipt"
    assert kept["left_out"][-1] == f"{orders}: left as a whole, because keep does not split a group"


def test_an_offset_beyond_the_end_of_the_log_is_not_put_back(destination, orders, migration):
    commit(destination, orders, {(orders, 0): 1, (orders, 1): 1})
    migration.plan(orders)
    migration.commit()
    text = migration.receipt_file.read_text()
    migration.receipt_file.write_text(text.replace('"before": {"offset": 1,', '"before": {"offset": 999,', 1))
    state = migration.state(orders)
    message = migration.roll_back(via=refuses)
    assert f"group {orders}, topic {orders}, partition 0: offset 999" in message
    assert migration.state(orders) == state


def test_killed_before_the_group_is_removed_the_next_run_removes_it(destination, orders, migration):
    migration.carried_out(orders)
    with mock.patch.object(commits, "delete_groups", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        migration.roll_back(via=run)
    assert orders in list_groups(destination)
    migration.carefully(orders, migration.roll_back)
    assert orders not in list_groups(destination)
