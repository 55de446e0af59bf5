"""There and back: groups consume at the new cluster, and go on at the old one with what they have not consumed there."""

import collections
import contextlib
import functools
import itertools
import json
import os
import re
import socket

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.producers import last_writers
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.processes import process_namespace
from ansible_collections.streamshift.kafka.plugins.module_utils._model import lease
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from testbed.background import Background, Got, consumer
from testbed.clients import (
    Message,
    NoSuchTopic,
    add_partitions,
    commit,
    committed,
    create_topic,
    delete_records,
    delete_topic,
    log_bounds,
    open_producer,
    produce,
    produce_in_transactions,
    read,
    until,
)
from testbed.mirror_maker import ALIAS, TARGET_ALIAS, MirrorMaker
from tests.support.consumers import member
from tests.support.modules import succeeds
from tests.support.playbooks import done, failed
from tests.support.there_and_back import HOME, KINDS, NOW, PARTITIONS, World


@pytest.fixture
def world(source, destination, topic, tmp_path):
    return World(source, destination, topic, tmp_path)


def test_whoever_returns_is_not_asked_for_again_what_he_has_consumed(world):
    world.begin(600, 200)
    done(world.migrate())
    world.consume(150, at_new=True)
    before = committed(world.old, world.group)
    dry = done(world.take_back("--check", "--diff"))
    assert "2 exact" in dry.output
    assert committed(world.old, world.group) == before
    assert not (world.controller.directory / HOME / "return").exists()
    first = done(world.take_back())
    assert "2 exact" in first.output
    assert "-e group_migration_source=cloud -e group_migration_destination=onprem" in first.output
    assert "start the consumers on onprem. To roll back" in first.output
    # The migration can be rolled back, too: at the old cluster, that repeats nothing.
    said = failed(world.migrate("--check", phase="rollback"))
    assert (
        world.new_group in said and "the group was returned to the source" in said and "consume them again" not in said
    )
    world.consume(100)
    assert done(world.take_back()).changed == 0, "whoever has consumed since stays where he is"


@pytest.mark.parametrize("kind", KINDS)
def test_there_and_back_twice_with_live_consumers(source, destination, topic, tmp_path, kind):
    """Producers move to the new cluster with the second trip; a plain tool follows them.

    Groups lag when they move, but for the first kind. No record is left out, and none comes again that no plan has announced.
    """
    world = World(source, destination, topic, tmp_path, kind)
    count = None if kind == "caught up" else 48
    announced = 0
    for producers_move in (False, True):
        for at_new, move in ((False, world.migrate), (True, world.take_back)):
            world.write(300)
            world.consume(count, at_new=at_new)
            if at_new and producers_move:
                world.move_producers()
            world.write(60)
            world.consume(count, at_new=at_new)
            if kind == "repartitioned":
                if at_new:
                    assert "new_records" in failed(move()), "nobody has counted what only the new cluster has"
                done(move(on_new_records="leave", on_rewind="rewind"))
            else:
                done(move())
            announced += sum(entry["repeats"] for entry in world.plan(back=at_new))
    world.consume()
    assert world.lacking() == set()
    assert sum(world.log.values()) - len(world.log) <= announced
    assert kind == "repartitioned" or announced == 0
    if kind == "compaction":
        assert all(world.is_compacted(at_new=at_new) for at_new in (False, True))


def test_a_group_after_markers_of_transactions_that_has_not_moved_returns_to_where_it_was(
    source, destination, topic, tmp_path
):
    world = World(source, destination, topic, tmp_path, "transactions")
    world.begin(200, 30)
    offsets = [record.offset for record in read(world.old, world.old_topic, [0])]
    after = next(later for at, later in itertools.pairwise(offsets) if at > 5 and later > at + 1)
    commit(world.old, world.group, {(world.old_topic, 0): after})  # as a consumer does that has polled again
    before = committed(world.old, world.group)
    done(world.migrate())
    for options in (["--check"], []):
        assert "2 exact" in done(world.take_back(*options)).output
        assert committed(world.old, world.group) == before


def test_a_return_has_rounds_and_a_cut_over_as_the_way_forward(world):
    """While a consumer works at the new cluster, rounds follow it at the old one; the cut-over does what is left."""
    world.begin(300, 20)
    done(world.migrate())
    world.consume(100, at_new=True)
    before = committed(world.old, world.group)
    with member(world.new, world.new_group, [world.new_topic], commits=False):
        assert "2 exact" in done(world.take_back("--check", "--diff", phase="sync")).output
        assert committed(world.old, world.group) == before
        round_ = done(world.take_back(phase="sync", metrics=str(world.controller.directory / "back.prom")))
        assert f"{world.group}: ready since" in round_.output
        assert "stop the consumers on cloud, and run the same command with -e group_migration_phase=cut_over" in (
            " ".join(round_.output.split())
        )
        status = world.status()
    assert (status["state"], status["in_use_at_destination"]) == ("consuming_at_destination", True)
    assert 'migration="onprem-to-cloud-return"' in (world.controller.directory / "back.prom").read_text()
    between = committed(world.old, world.group)
    assert all(between[where][0] > before[where][0] for where in before)
    world.consume(60, at_new=True)
    said = done(world.take_back(phase="cut_over")).output
    assert f"Consumers may start on onprem: {world.group}." in said
    assert "-e group_migration_source=cloud -e group_migration_destination=onprem" in said
    assert (world.controller.phases(), world.status()["state"]) == (["migrate", "sync", "cut_over"], "returned")
    world.consume(300 - 20 - 100 - 60)
    assert world.each_once()


def test_there_and_back_beside_mirror_maker_in_both_directions(source, destination, topic, controller, tmp_path):
    """With its default policy. Producers write on both sides all the time, and the group consumes what comes from either."""
    back = f"{TARGET_ALIAS}->{ALIAS}"
    settings = {f"{back}.enabled": "true", f"{back}.topics": f".*{topic}", f"{ALIAS}.offset.flush.interval.ms": 1000}
    names = {source: [topic, f"{TARGET_ALIAS}.{topic}"], destination: [f"{ALIAS}.{topic}", topic]}
    policy = {"name": "default", "source_alias": ALIAS, "target_alias": TARGET_ALIAS}
    options = {"groups": [topic], "replication_policy": policy, "wait_for_replication": 60}
    got: list[Got] = []
    written = 0

    def size(cluster):
        with contextlib.suppress(NoSuchTopic):
            return sum(end for name in names[cluster] for _start, end in log_bounds(cluster, name).values())
        return 0

    def write():
        nonlocal written
        for cluster in names:
            numbers = range(written, written + 100)
            produce(cluster, topic, [Message(b"%d" % number, partition=number % PARTITIONS) for number in numbers])
            written += 100
        for cluster in names:
            until(functools.partial(lambda cluster: size(cluster) == written, cluster), 120)

    def consume(cluster, count):
        with consumer(cluster, topic, names[cluster], got, batch=10, pause=0.02) as running:
            until(lambda: len(got) >= count and len({each[:2] for each in got}) >= 2 * PARTITIONS, 120)
            running.end()

    for cluster in names:
        create_topic(cluster, topic, PARTITIONS, retention_ms=-1)
    its = {"topics": topic, "identity": False, "sync_groups": False, "more": settings}
    with MirrorMaker(tmp_path / "mirror-maker", source, destination, **its):
        for _trip in range(2):
            write()
            consume(source, len(got) + 60)
            done(controller.play("migrate_groups", **options))
            write()
            consume(destination, len(got) + 60)
            assert "4 exact" in done(controller.play("return_groups", **options)).output
        consume(source, written)
    assert collections.Counter(each.value for each in got) == collections.Counter(b"%d" % n for n in range(written))


@pytest.mark.parametrize(("old", "consumed"), [(300, 20), (800, 840)], ids=["short logs", "long logs"])
def test_what_was_produced_at_the_new_cluster_stays_there(world, old, consumed):
    """The last 100 records at the new cluster are its own; the old one has 50 that nobody has copied."""
    world.begin(old, 20)
    done(world.migrate())
    world.produce(100, at_new=True)
    world.produce(50)
    world.consume(consumed - 20, at_new=True)
    before = committed(world.old, world.group)
    refused = failed(world.take_back())
    assert "new_records: only at the source" in refused
    assert "group_migration_on_new_records to leave" in refused
    assert committed(world.old, world.group) == before
    done(world.take_back(on_new_records="leave"))
    stay = old + 100 - max(consumed, old)
    told = [entry["detail"] for entry in world.plan(back=True)]
    assert [text.split(" unconsumed")[0] for text in told] == [f"only at the source: {stay // PARTITIONS}"] * PARTITIONS
    world.consume(old + 50 - min(consumed, old))
    assert max(world.log.values()) == 1
    lacking = {b"%d" % number for number in range(world.written)} - world.log.keys()
    assert len(lacking) == stay
    assert all(old <= int(value) < old + 100 for value in lacking), "only the announced records stay"


def test_what_cannot_be_returned_is_refused_and_a_return_is_rolled_back(world):
    world.begin(100, 20)
    assert "receipt" in failed(world.take_back())
    done(world.migrate())
    # A tool has moved it there, and nobody has consumed.
    migrated = {where: offset for where, (offset, _metadata) in committed(world.new, world.new_group).items()}
    commit(world.new, world.new_group, {where: offset + 15 for where, offset in migrated.items()})
    for words in (("--check",), ()):
        said = failed(world.take_back(*words))
        assert "no consumer has ever joined it" in said and "skips up to 30 records that nobody has consumed" in said
    assert world.status()["state"] == "moved"
    commit(world.new, world.new_group, migrated)
    world.consume(20, at_new=True)
    before = committed(world.old, world.group)
    with member(world.new, world.new_group, [world.new_topic], commits=False):
        assert "group_in_use" in failed(world.take_back())
    with member(world.old, world.group, [world.old_topic], commits=False):
        assert "group_in_use" in failed(world.take_back())
    assert committed(world.old, world.group) == before
    # Somebody has moved it further there than it has consumed.
    commit(world.old, world.group, {(world.old_topic, 0): 45})
    assert "would move back to 20. Set group_migration_on_rewind" in failed(world.take_back())
    commit(world.old, world.group, {where: offset for where, (offset, _metadata) in before.items()})
    done(world.take_back())
    assert committed(world.old, world.group) != before
    back = {"source": "cloud", "destination": "onprem", "directory": f"{HOME}/return", "groups": [world.new_group]}
    done(world.controller.rollback(**back))
    assert committed(world.old, world.group) == before
    assert world.status()["state"] == "consuming_at_destination"
    # The old cluster has lost records that the group has not consumed.
    delete_records(world.old, world.old_topic, {0: 45})
    assert "new_records" in failed(world.take_back())
    assert committed(world.old, world.group) == before
    done(world.controller.rollback(groups=[world.group], on_rewind="rewind"))
    assert "is rolled back" in failed(world.take_back())


def test_topics_that_are_not_what_they_were_are_refused_whatever_was_said_of_new_records(world):
    world.begin(100, 20)
    done(world.migrate())
    world.consume(20, at_new=True)
    delete_topic(world.old, world.old_topic)
    for policy in ("fail", "leave"):
        assert "topic_missing: topic" in failed(world.take_back(on_new_records=policy))
    told = done(world.controller.migration_status()).output
    assert "rollback_until" in told and f"ends of their logs: {world.old_topic}." in " ".join(told.split())
    create_topic(world.old, world.old_topic, PARTITIONS, retention_ms=-1)
    assert "new_records: only at the source" in failed(world.take_back())
    add_partitions(world.new, world.new_topic, PARTITIONS + 1)
    assert "partition_count_differs" in failed(world.take_back(on_new_records="leave"))
    assert committed(world.old, world.group) == {}


def test_who_still_writes_is_named_and_may_stop_a_migration(world):
    world.begin(100, 20)
    producer = open_producer(world.old, transactional_id=f"{world.group}-shop")

    def write(over):
        while not over.wait(0.2):
            producer.begin_transaction()
            producer.produce(world.old_topic, b"more", b"key", 0)
            producer.commit_transaction(30)

    with Background(write):
        refused = failed(world.migrate(idle_wait=3, on_still_written="fail"))
        assert re.search(r'"kind":\s*"still_written"', refused)
        assert f"{world.group}-shop" in refused
        assert committed(world.new, world.new_group) == {}
        noted = done(world.migrate(idle_wait=3))
        assert f"still_written: Producers still write at the source: {world.old_topic}: " in noted.output
        told = done(world.controller.migration_status(idle_wait=1)).output
        assert re.search(rf"still written at the source: {world.old_topic}: \d+ records?, last at", told)
    assert len(committed(world.new, world.new_group)) == PARTITIONS


def test_the_status_names_the_topic_that_was_deleted_with_its_committed_offsets(world):
    world.begin(100, 20)
    done(world.migrate())
    delete_topic(world.new, world.new_topic)
    until(lambda: committed(world.new, world.new_group) == {})
    its = world.status()
    assert its["state"] == "commits_gone"
    assert its["next"].startswith(f"topic {world.new_topic} does not exist at the destination any more, and brokers")


def test_the_status_says_what_has_become_of_a_group(world):
    """From the files and the clusters alone: planned, not started, consuming on either cluster, moved, gone back."""
    directory, state = world.controller.directory, world.status
    world.begin(100, 20)
    done(world.migrate(phase="plan"))
    planned = state()
    assert (planned["state"], planned["source_lag"], planned["committed_at"]) == ("planned", 80, None)
    done(world.migrate())
    assert (state()["state"], "start the consumers" in state()["next"]) == ("not_started", True)
    killed = directory / HOME / lease.FILE
    killed.write_text(lease.to_json(lease.Lease(socket.gethostname(), process_namespace(), os.getpid(), 1, None)))
    assert "only after the last run was run again to its end" in state()["next"]
    assert "was stopped before its end" in done(world.controller.migration_status()).output
    killed.unlink()
    before = committed(world.old, world.group)
    done(world.take_back())
    assert committed(world.old, world.group) == before  # nobody has consumed anything
    assert (state()["state"], "start the consumers at the source" in state()["next"]) == ("returned", True)
    done(world.migrate(write_report=True))  # without news, only the report tells of it
    assert state()["state"] == "not_started"
    with member(world.new, world.new_group, [world.new_topic], commits=False):
        its = state()
    assert (its["state"], its["in_use_at_destination"], its["destination_lag"]) == (
        "consuming_at_destination",
        True,
        80,
    )
    assert its["rollback_until"] > its["committed_at"] and its["return_until"] is None
    with member(world.old, world.group, [world.old_topic], commits=False):
        assert state()["state"] == "consuming_at_source"
    written = committed(world.new, world.new_group)
    commit(world.new, world.new_group, {(world.new_topic, 0): 3})
    assert state()["state"] == "moved"
    commit(world.new, world.new_group, {(world.new_topic, 0): written[(world.new_topic, 0)][0] + 5})
    done(world.take_back())

    (directory / "waves").mkdir()
    wave = directory / "waves/first.yml"
    wave.write_text(json.dumps({"group_migration_groups": [world.group, "nobody"]}))
    status = functools.partial(world.controller.migration_status, waves=["waves/*.yml"])
    told = done(status(write_to="status", metrics=str(directory / "status.prom"))).output
    assert "wave first: 1 group: 1 returned" in told
    assert "wave first names groups that do not exist: nobody" in told
    labels = f'{{migration="onprem-to-cloud",group="{world.new_group}",state="returned"}}'
    assert f"status_group_state{labels} 1" in (directory / "status.prom").read_text()
    assert json.loads((directory / "status/status.json").read_text())["entries"][0]["state"] == "returned"
    assert "the plan in" in failed(status(source="cloud", destination="onprem", directories=[HOME]))

    delete_records(world.old, world.old_topic, {0: log_bounds(world.old, world.old_topic)[0][1]})
    its = state()
    (listed,) = succeeds("kafka_group_info", cluster=world.old.connection, groups=[world.group])["groups"]
    assert (its["source_lag"], its["source_expired"]) == (listed["lag"], listed["expired"])
    assert its["source_expired"] > 0


def test_brokers_of_each_version_tell_who_has_written(cluster, connection, topic):
    create_topic(cluster, topic, PARTITIONS, retention_ms=-1)
    produce(cluster, topic, [Message(b"plain", timestamp=NOW)], enable_idempotence=True)
    produce_in_transactions(
        cluster, topic, [([Message(b"more", timestamp=NOW + 5, partition=1)], True)], transactional_id=topic
    )
    found = last_writers(connection, [TopicPartition(topic, number) for number in range(PARTITIONS)])
    names = {where.partition: [writer.transactional_id for writer in its] for where, its in found.items()}
    assert names == {0: [""], 1: ["" if cluster.name == "old" else topic]}
    # After a transaction, brokers give the time of its marker.
    assert found[TopicPartition(topic, 0)][0].last == NOW < found[TopicPartition(topic, 1)][0].last
