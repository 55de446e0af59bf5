"""Commits: what is written, what is left alone, what the receipt says, and that dying half-way harms nothing."""

import json
import random
import re
import time

import pytest

from testbed import clients
from tests.support.consumers import member
from tests.support.modules import Migration, kill, outcome, refuses, run, spawn
from tests.support.replication_tool import copied_topic

KILLS = 6


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


def receipt_rows(migration):
    lines = migration.receipt_file.read_text().splitlines()
    rows = [json.loads(line.rstrip(",")) for line in lines[1:-1]]  # one entry a line
    return {(row["group"], row["partition"]): row for row in rows}


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


def test_a_later_commit_counts_as_consumption_only_if_somebody_was_in_the_group(destination, orders, migration):
    migration.commit()
    clients.commit(destination, orders, {(orders, 0): 12})
    migration.translate()
    message = migration.commit(via=refuses)
    assert "has committed 12 now, although no consumer has ever joined it" in message and "up to 5 records" in message
    assert migration.commit(on_rewind="rewind")["written"] == 1
    assert clients.consume(destination, orders, [orders], 15) == 15
    clients.commit(destination, orders, {(orders, 0): 22, (orders, 1): 22})
    assert migration.commit()["written"] == 0


def test_a_busy_group_is_left_out_as_asked(source, destination, orders, migration):
    busy = f"{orders}-busy"
    clients.commit(source, busy, {(orders, 0): 5})
    with member(destination, busy, [orders]):
        migration.plan(orders, busy)
        done = migration.commit(on_active_group="skip_group", on_rewind="rewind")
    (line,) = (line for line in done["left_out"] if line.startswith(f"{busy}: has members"))
    assert ": client " in line and " on 127.0.0.1: left out (on_active_group: skip_group)" in line
    assert clients.committed(destination, orders) == {(orders, 0): (7, "five"), (orders, 1): (22, "")}
    assert clients.committed(destination, busy) == {(orders, 0): (22, ""), (orders, 1): (22, "")}


def test_killed_at_any_moment_a_run_goes_on_where_it_was(source, destination, topic, tmp_path):
    """Commits and rollbacks are killed, again and again, and end as if they had not been."""
    clients.create_topic(destination, topic, partitions=40)
    clients.create_topic(source, topic, partitions=40)
    groups = [f"{topic}-{number}" for number in range(30)]
    for number, group in enumerate(groups):
        clients.commit(source, group, {(topic, partition): 0 for partition in range(40)})
        # A third had nothing, a third some commits, a third of one partition only.
        partitions = [range(0), range(0, 40, 3), range(1)][number % 3]
        if partitions:
            clients.commit(
                destination, group, {(topic, partition): (0, f"before {partition}") for partition in partitions}
            )
    migration = Migration(tmp_path / "migration", source, destination)
    migration.plan(*groups)
    before = {group: clients.committed(destination, group) for group in groups}
    options = {"cluster": migration.destination, "idle_wait": 0, "receipt": str(migration.receipt_file)}
    commit_it = {**options, "plan": str(migration.plan_file), "on_advance": "advance"}
    take_it_back = {**options, "state": "rolled_back", "everything": True}

    def check_truth():
        for (group, partition), row in (receipt_rows(migration) if migration.receipt_file.exists() else {}).items():
            found = before[group].get((topic, partition))
            assert row["before"] == (found and {"offset": 0, "metadata": found[1], "leader_epoch": None})

    begin = time.monotonic()
    assert not outcome(spawn("kafka_offset_commit", **commit_it)).get("failed")
    seconds = time.monotonic() - begin
    chance = random.Random(4)
    kills, step = 0, take_it_back
    while kills < KILLS:
        process = spawn("kafka_offset_commit", **step)
        time.sleep(chance.uniform(0, seconds))
        if kill(process):
            kills += 1
            assert not [file for file in migration.files() if file.endswith(".lock")]
        else:
            step = commit_it if step is take_it_back else take_it_back
        check_truth()
    done = run("kafka_offset_commit", **commit_it)
    assert not done.get("failed"), done["msg"]
    check_truth()
    assert {len(clients.committed(destination, group)) for group in groups} == {40}
    assert {metadata for group in groups for _offset, metadata in clients.committed(destination, group).values()} == {
        ""
    }
    assert run("kafka_offset_commit", **commit_it)["changed"] is False

    killed = spawn("kafka_offset_commit", **take_it_back)
    time.sleep(seconds / 2)
    kill(killed)
    done = run("kafka_offset_commit", **take_it_back)
    assert not done.get("failed"), done["msg"]
    assert {group: clients.committed(destination, group) for group in groups} == before
    assert [name for name in clients.list_groups(destination) if name in groups] == sorted(
        g for g in groups if before[g]
    )
