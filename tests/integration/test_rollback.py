# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Taking a migration back leaves the destination's groups as they were, even those that were not there."""

from __future__ import annotations

from unittest import mock

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import commits
from demo.clients import Message, commit, committed, consume, create_topic, list_groups, produce
from tests.support.consumers import commit_with_epoch
from tests.support.copier import copy
from tests.support.modules import Migration, refuses, run


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
    assert f"group {orders}" in message and "on_rewind" in message
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


def test_killed_before_the_group_is_removed_the_next_run_removes_it(destination, orders, migration):
    migration.carried_out(orders)
    with mock.patch.object(commits, "delete_groups", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        migration.roll_back(via=run)
    assert orders in list_groups(destination)
    migration.carefully(orders, migration.roll_back)
    assert orders not in list_groups(destination)
