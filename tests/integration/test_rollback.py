"""Taking a migration back leaves the destination's groups as they were, even those that were not there."""

import pytest

from testbed.clients import commit, committed, create_topic, list_groups
from tests.support.replication_tool import copied_topic


@pytest.fixture
def orders(source, destination, topic):
    """A topic with two partitions of 20 records, copied."""
    return copied_topic(source, destination, topic, 20, 5, 20)


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
    commit(destination, orders, {(orders, 0): (3, "before \x00 \N{PARTY POPPER}")}, epoch=0)
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
