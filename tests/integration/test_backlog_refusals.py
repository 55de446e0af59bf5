"""A copy that cannot be right is refused: in seconds, in one line that says what and where, with nothing written."""

import json
import os

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.configs import topic_configs
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from testbed.clients import (
    Message,
    change_topic,
    commit,
    committed,
    create_topic,
    delete_topic,
    grant,
    list_groups,
    list_topics,
    log_bounds,
    produce,
    read,
    revoke,
)
from tests.support.consumers import content, open_transaction, unconsumed
from tests.support.killing import dies_copying
from tests.support.modules import Migration, refuses, refuses_at_last
from tests.support.numbered import numbered_topic
from tests.support.spark import one_session


@pytest.fixture
def orders(source, topic):
    """A topic with ten records in each of two partitions; a group of its name stands at 5 and 3."""
    return numbered_topic(source, topic, 10, 5, 3)


@pytest.fixture
def migration(orders, migration):
    """The groups' offsets are known."""
    migration.snapshot(orders)
    return migration


@pytest.fixture
def known(migration, source, destination, orders):
    """A copy that has copied nothing, because the group is at the end."""
    create_topic(destination, orders, partitions=2)
    commit(source, orders, {(orders, 0): 10, (orders, 1): 10})
    migration.snapshot(orders)
    migration.backlog()
    return migration


@pytest.fixture
def refused(migration, orders, destination):
    """What a copy is refused for, with options; nothing has been written."""

    def run(**options):
        before = state(migration, destination, orders)
        message = migration.backlog(via=refuses, **options)
        assert state(migration, destination, orders) == before
        return message

    return run


def state(migration, destination, topic):
    """Everything that a copy of this topic could change."""
    connection = connection_from(destination.plaintext, "destination cluster")
    topics = [name for name in list_topics(destination) if topic in name]
    groups = [group for group in list_groups(destination) if group.startswith("streamshift-copy-") or topic in group]
    its = {
        group: {each: at for each, at in committed(destination, group).items() if topic in each[0]} for group in groups
    }
    return (
        migration.files(),
        {
            name: (its_own.own, log_bounds(destination, name))
            for name, its_own in topic_configs(connection, topics).items()
        },
        {group: commits for group, commits in its.items() if commits},
    )


def planned(migration, **changes):
    """Have the copy file say that nothing is copied yet, and change what else is wanted of its ranges."""
    known = json.loads(migration.copy_file.read_text())
    for entry in known["entries"]:
        entry.update({"done": None, **changes})
    migration.copy_file.write_text(json.dumps(known))


class TestTopics:
    def test_destination_is_not_empty(self, refused, destination, orders):
        create_topic(destination, orders, partitions=2)
        produce(destination, orders, [Message(b"foreign", partition=1)])
        message = refused()
        assert f"topic {orders}, partition 1: the topic is not empty" in message and "append" in message

    def test_into_itself(self, refused, source):
        assert "copied into themselves" in refused(destination=source.connection)

    def test_destination_is_compacted(self, refused, destination, orders):
        create_topic(destination, orders, partitions=2, cleanup_policy="compact")
        message = refused()
        assert f"topic {orders}: the topic is compacted" in message

    def test_too_few_replicas_in_sync(self, refused, destination, orders):
        create_topic(destination, orders, partitions=2)
        change_topic(destination, orders, min_insync_replicas=2)
        message = refused()
        assert f"topic {orders}, partition 0: 1 of 1 replicas are in sync, and min.insync.replicas is 2" in message

    def test_source_topic_is_gone(self, refused, source, orders):
        delete_topic(source, orders)
        assert orders in refused()

    def test_destination_topic_is_gone_meanwhile(self, refused, known, destination, orders):
        planned(known, start=9)
        delete_topic(destination, orders)
        message = refused()
        assert f"topic {orders}: the topic does not exist any more" in message


class TestSource:
    def test_offset_beyond_the_end(self, refused, migration, source, orders):
        commit(source, orders, {(orders, 1): 11})
        migration.snapshot(orders)
        message = refused()
        assert f"group {orders}, topic {orders}, partition 1: offset 11 is committed, and the log ends at 10" in message

    def test_group_after_an_open_transaction(self, refused, migration, source, orders):
        """With live, a group that reads uncommitted records goes on after the copy, and is verified there."""
        with open_transaction(source, orders, [Message(b"open")] * 3):
            commit(source, orders, {(orders, 0): 12})
            migration.snapshot(orders)
            assert "a transaction is open: the log ends at 13, and is stable up to 10" in refused()
            copied = migration.backlog(live=True)
        assert {row["partition"]: row["offset"] for row in copied["entries"]} == {0: 0, 1: 0}
        assert any(f"go on after the copy: {orders} ({orders}-0: 12)" in line for line in copied["notes"])
        migration.verify(copy=str(migration.copy_file), method="records", limit=0)


class TestFiles:
    def test_snapshot_of_another_cluster(self, refused, kafka39, source):
        message = refused(source=kafka39.connection)
        assert source.cluster_id in message and kafka39.cluster_id in message

    def test_copy_file_of_other_clusters(self, refused, known, kafka39):
        message = refused(destination=kafka39.connection)
        assert "the copy file was made for another cluster" in message and kafka39.cluster_id in message

    def test_a_group_that_has_moved_is_named(self, refused, migration, source, orders):
        migration.backlog(via=dies_copying("copy_steps.CopyRun.make_topics"))
        commit(source, orders, {(orders, 0): 6})
        migration.snapshot(orders)
        assert f"{orders} has committed 6 on {orders}-0; no group had this offset" in refused()

    def test_source_was_written_before_the_groups_are_set(self, refused, known, source, orders):
        produce(source, orders, [Message(b"forgotten", partition=1)])
        message = refused()
        assert f"{orders}-1 has grown by 1 offset since the copy was planned" in message and "Then set live" in message
        assert any("what came later is not copied" in line for line in known.backlog(live=True)["notes"])
        known.commit()
        assert any("what came later is not copied" in line for line in known.backlog()["notes"])

    def test_source_was_truncated_meanwhile(self, refused, known, orders):
        planned(known, end=12)
        message = refused()
        assert f"topic {orders}, partition 0: the log ends at 10, and the copy was planned up to 12" in message
        assert "the topic was truncated" in message and f"Keep the topic {orders} at the destination" in message

    def test_copy_file_is_lost(self, refused, known, source, destination, orders):
        commit(source, orders, {(orders, 0): 5, (orders, 1): 3})
        known.copy_file.unlink()
        known.plan_file.unlink()
        known.snapshot(orders)
        known.backlog(check=True)
        name = f"{self.name_of(known, orders, source, destination)}-progress-0"
        commit(destination, name, {(orders, 0): (7, "2 6 2 0|5:0")})
        produce(destination, orders, [Message(b"copied")])  # not a reason to write after it
        message = refused()
        assert f"group {name}: this copy has already started, and its copy file is not here" in message

    def name_of(self, known, orders, source, destination):
        """As if it had been begun: a copy without anything to copy has the same name as one with something."""
        from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog import planning
        from ansible_collections.streamshift.kafka.plugins.module_utils._model import mapping, offset_formats

        taken = offset_formats.read_snapshot(known.snapshot_file.read_text(), "")
        source_connection, destination_connection = (
            connection_from(each.connection, "") for each in (source, destination)
        )
        wanted = planning.entries_of(taken, mapping.Mapping(), source_connection)
        backlog, _bounds, _sizes = planning.plan(
            taken, wanted, source_connection, destination_connection, planning.CopyOptions(idle_wait=0)
        )
        return backlog.name


@pytest.mark.usefixtures("rights_on_copies")
class TestRights:
    """Each that the documentation names is missed by name before anything is written."""

    TOPIC = ("READ", "WRITE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS")

    def test_of_the_destination(self, refused, secured, orders):
        create_topic(secured, orders, partitions=2)
        # Who may alter settings may see them, without another right.
        needed = [f"TOPIC {operation} on {orders}" for operation in self.TOPIC if operation != "DESCRIBE_CONFIGS"]
        needed += ["TRANSACTIONAL_ID WRITE on streamshift-*"]
        needed += [f"GROUP {operation} on streamshift-*" for operation in ("READ", "DELETE")]
        always = [f"GROUP READ on {orders}", f"TOPIC DESCRIBE_CONFIGS on {orders}"]
        self.each_missed(refused, secured, needed, *always, destination=secured.ssl_connection)

    def test_to_make_a_topic(self, refused, secured, orders):
        needed = [f"TOPIC {operation} on {orders}" for operation in self.TOPIC] + [f"GROUP READ on {orders}"]
        needed += [f"{kind} on streamshift-*" for kind in ("TRANSACTIONAL_ID WRITE", "GROUP READ", "GROUP DELETE")]
        grant(secured, needed, secured.ssl_principal)
        message = refused(destination=secured.ssl_connection)
        revoke(secured, needed, secured.ssl_principal)
        assert f"TOPIC CREATE on {orders}" in message

    def test_of_the_source(self, secured, destination, topic, tmp_path):
        numbered_topic(secured, topic, 10, 5, partitions=1)
        migration = Migration(tmp_path / "migration", secured, destination)
        migration.snapshot(topic)
        self.each_missed(
            lambda **options: migration.backlog(via=refuses, **options),
            secured,
            [f"TOPIC READ on {topic}", f"TOPIC DESCRIBE_CONFIGS on {topic}"],
            f"TOPIC DESCRIBE on {topic}",
            source=secured.ssl_connection,
        )

    def each_missed(self, refused, cluster, needed, *others, **connection):
        grant(cluster, [*needed, *others], cluster.ssl_principal)
        try:
            for right in needed:
                revoke(cluster, [right], cluster.ssl_principal)
                message = refused(**connection)
                assert f"ACL {right.removesuffix('*')}" in message, right
                grant(cluster, [right], cluster.ssl_principal)
        finally:
            revoke(cluster, [*needed, *others], cluster.ssl_principal)


def copied_whole(source, destination, topic, tmp_path):
    """A migration whose backlog, all of the topic, has been copied as it is."""
    commit(source, topic, {(topic, 0): 0})
    migration = Migration(tmp_path / "migration", source, destination)
    migration.snapshot(topic)
    with one_session():
        migration.backlog()
    assert [content(each) for each in read(destination, topic)] == [content(each) for each in read(source, topic)]
    return migration


def test_a_record_that_fits_only_when_it_is_compressed(source, destination, topic, tmp_path):
    """Also one that fits with zstd alone."""
    create_topic(source, topic, max_message_bytes=50_000)
    produce(source, topic, [Message(b"small")])
    produce(source, topic, [Message(b"x" * 200_000)], compression_type="gzip")
    # Twice the same, farther apart than gzip looks back.
    produce(source, topic, [Message(2 * os.urandom(40_000))], compression_type="zstd")
    produce(source, topic, [Message(b"small, too")])
    migration = copied_whole(source, destination, topic, tmp_path)
    migration.commit()
    assert len(unconsumed(destination, topic, topic)) == 4


def test_a_record_that_fits_only_when_it_is_compressed_among_many(source, destination, topic, tmp_path):
    """The broker refuses it while others are being sent, whose call fails and tells nothing of it."""
    create_topic(source, topic)
    many = [Message(b"x" * 100)] * 50_000
    produce(source, topic, many)
    produce(source, topic, [Message(b"x" * 2_000_000, headers=[("name", b"x" * 2_000_000)])], compression_type="gzip")
    produce(source, topic, many + many)
    copied_whole(source, destination, topic, tmp_path)


def test_a_record_that_is_too_large_in_any_way_is_named(source, destination, topic, tmp_path):
    """The source's topic took larger ones once."""
    create_topic(source, topic)
    produce(source, topic, [Message(b"small"), Message(os.urandom(200_000))])
    change_topic(source, topic, max_message_bytes=50_000)
    create_topic(destination, topic, max_message_bytes=50_000)
    commit(source, topic, {(topic, 0): 0})
    migration = Migration(tmp_path / "migration", source, destination)
    migration.snapshot(topic)
    with one_session():
        message = migration.backlog(via=refuses_at_last)
        assert message.startswith("destination cluster ") and f"topic {topic}, partition 0: the record at" in message
        assert f"source offset 1 of {topic}-0 has 200,000 bytes, and max.message.bytes is 50,000" in message
        assert read(destination, topic) == [] and not migration.plan_file.exists()
        change_topic(destination, topic, max_message_bytes=500_000)
        migration.backlog()
    assert [content(each) for each in read(destination, topic)] == [content(each) for each in read(source, topic)]
