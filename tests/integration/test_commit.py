"""Commits and rollbacks: what is written, what is left alone, what the receipt says, and what comes back."""

import re

import pytest

from testbed import clients
from tests.support.modules import refuses
from tests.support.replication_tool import copied_topic


@pytest.fixture
def orders(source, destination, topic):
    """A topic with two partitions of 20 records, copied; at the destination two junk records come first."""
    return copied_topic(source, destination, topic, 20, junk=2)


@pytest.fixture
def migration(source, orders, migration):
    """The plan of a group that stands at 5 and 20."""
    clients.commit(source, orders, {(orders, 0): (5, "five"), (orders, 1): 20})
    migration.plan(orders)
    return migration


def test_a_group_whose_commits_are_gone_is_not_set_to_the_old_offsets_again_in_silence(destination, orders, migration):
    """It was removed here; brokers that let commits expire leave the same."""
    migration.commit()
    assert clients.consume(destination, orders, [orders], 15) == 15
    clients.delete_groups(destination, [orders])
    migration.translate()
    receipt = migration.receipt_file.read_bytes()
    for how in ({"check": True}, {}):
        message = migration.commit(via=refuses, **how)
        assert re.search(r"was migrated to 7 'five' on 20..-..-..T..:..:..Z, and has no committed offset now", message)
        assert "(committing 7 'five' repeats what it has consumed at the destination, up to 15 records)" in message
    assert (clients.committed(destination, orders), migration.receipt_file.read_bytes()) == ({}, receipt)
    assert "has no committed offset now: left without one" in migration.commit(on_rewind="keep")["left_out"][0]
    assert migration.commit(on_rewind="rewind")["written"] == 2


def test_offset_metadata_epoch_and_the_lack_of_a_commit_come_back(destination, orders, migration):
    other = f"{orders}-other"
    clients.create_topic(destination, other)
    clients.commit(destination, orders, {(other, 0): (0, "of another topic")})
    clients.commit(destination, orders, {(orders, 0): (3, "before \x00 \N{PARTY POPPER}")}, epoch=0)
    migration.snapshot(orders, cluster=migration.destination, snapshot=str(migration.directory / "before.json"))
    migration.carried_out(orders)
    migration.carefully(orders, migration.roll_back)
    assert clients.committed(destination, orders) == {
        (other, 0): (0, "of another topic"),
        (orders, 0): (3, "before \x00 \N{PARTY POPPER}"),
    }
    migration.snapshot(orders, cluster=migration.destination, snapshot=str(migration.directory / "after.json"))
    files = migration.files()
    assert files["after.json"] == files["before.json"]  # leader epochs too
