"""What groups have not consumed arrives as it was, each record once, and each group stands where it stood.

An independent client compares every record, and consumes from the offsets of the plan.
"""

import uuid

import pytest

from testbed.clients import Message, commit, create_topic, grant, produce, produce_with_times, read
from tests.support.consumers import unconsumed
from tests.support.kinds import KINDS, LONG_AGO, check_copy, commit_all, group_of
from tests.support.modules import Migration, refuses, run
from tests.support.numbered import numbered_topic
from tests.support.spark import one_session

NAMES = [kind.__name__ for kind in KINDS]
RENAMED = {"topic_map": [{"pattern": "(.*)", "to": r"new.\1"}], "group_map": [{"pattern": "(.*)", "to": r"new.\1"}]}


class Filled:
    """Topics of these kinds on a cluster, with groups."""

    def __init__(self, source, kinds=KINDS):
        self.source, self.suffix = source, uuid.uuid4().hex[:8]
        self.groups = {}
        for kind in kinds:
            topic = self.topic(kind.__name__)
            self.groups[topic] = kind(source, topic)
            commit_all(source, topic, self.groups[topic])

    def topic(self, kind):
        return f"{kind}-{self.suffix}"


class Copied:
    """All of them copied together, and the groups committed."""

    def __init__(self, filled, directory, destination, renamed=False):
        self.filled, self.destination = filled, destination
        self.prefix = "new." if renamed else ""
        self.migration = Migration(directory, filled.source, destination)
        names = (group_of(topic, number) for topic, its in filled.groups.items() for number in range(len(its)))
        self.migration.snapshot(*names)
        self.result = self.migration.backlog(**(RENAMED if renamed else {}))
        self.migration.commit()

    def check(self, kind):
        topic = self.filled.topic(kind)
        groups = self.filled.groups[topic]
        copy = self.prefix + topic
        entries = self.result["entries"]
        check_copy(
            self.filled.source, topic, groups, self.destination, copy, entries,
            lambda number: self.prefix + group_of(topic, number),
        )  # fmt: skip
        last = group_of(topic, len(groups) // 2)  # and one of them goes on
        assert unconsumed(self.destination, self.prefix + last, copy) == unconsumed(self.filled.source, last, topic)


@pytest.fixture(scope="module", autouse=True)
def shared_session(source, destination, secured, kafka39, old, kafka011):
    with one_session():
        yield


@pytest.fixture(scope="module")
def between_new_ones(source, destination, tmp_path_factory):
    return Copied(Filled(source), tmp_path_factory.mktemp("new") / "migration", destination)


@pytest.mark.parametrize("kind", NAMES)
def test_every_kind_of_record_arrives_as_it_was(between_new_ones, kind):
    between_new_ones.check(kind)


def test_what_expired_before_the_copy_is_told(between_new_ones):
    topic = between_new_ones.filled.topic("expired")
    ranges = {(each["topic"], each["partition"]): each for each in between_new_ones.result["ranges"]}
    first, second = ranges[topic, 0], ranges[topic, 1]
    assert (first["start"], first["lost"], first["reason"], first["copied"]) == (20, 15, "expired", 30)
    assert (second["start"], second["end"], second["lost"], second["copied"]) == (50, 50, 47, 0)
    assert first["groups"] == [group_of(topic, 0), group_of(topic, 1)]
    entries = {(each["group"], each["partition"]): each for each in between_new_ones.result["entries"]}
    assert entries[group_of(topic, 0), 0]["reason"] == "expired"
    assert "15 offsets from 5 on" in entries[group_of(topic, 0), 0]["detail"]
    assert entries[group_of(topic, 1), 0]["reason"] is None
    assert any("15 offsets" in line and topic in line for line in between_new_ones.result["summary"])


def test_a_proof_agrees(between_new_ones):
    migration = between_new_ones.migration
    said = migration.verify(method="records", limit=0, copy=str(migration.copy_file), spark={"master": "local[2,4]"})
    assert said["compared"] > 200


def test_what_a_copy_cannot_keep_is_told_before_it(source, destination, topic, migration):
    create_topic(source, topic, retention_ms=-1)
    produce_with_times(
        source, topic, [Message(b"%d" % number, timestamp=0 if number < 20 else LONG_AGO) for number in range(30)]
    )
    commit(source, topic, {(topic, 0): 5})
    migration.snapshot(topic)
    predicted = migration.backlog(check=True)
    assert any(f"{topic}-0 (up to 15 records)" in line for line in predicted["notes"]), predicted["notes"]
    made = migration.backlog()
    assert any("15 records have the timestamp 0" in line for line in made["notes"]), made["notes"]
    assert [record.timestamp for record in read(destination, topic)] == [1] * 15 + [LONG_AGO] * 10
    migration.commit()
    assert migration.verify(copy=str(migration.copy_file), method="records", limit=0)["compared"] > 0


def test_a_proof_objects_to_what_is_there_twice(source, destination, topic, tmp_path, migration):
    """Without the copy file, it would be a consumed record that a replication tool has copied again."""
    numbered_topic(source, topic, 30, 10, partitions=1)
    migration.snapshot(topic)
    migration.backlog()
    again = read(destination, topic)[7]
    produce(destination, topic, [Message(again.value, again.key, again.headers, again.timestamp)])
    options = {"receipt": None, "limit": 0, "copy": str(migration.copy_file), "spark": {"master": "local[2,4]"}}
    said = migration.verify(via=run, method="records", report=str(tmp_path / "report.json"), **options)
    assert said["failed"] and f"{topic}-0: 1 record is there more than once" in str(said), said


@pytest.fixture(scope="module")
def of_the_oldest(old):
    return Filled(old)


@pytest.fixture(scope="module")
def from_the_oldest(of_the_oldest, kafka39, tmp_path_factory):
    return Copied(of_the_oldest, tmp_path_factory.mktemp("old") / "migration", kafka39)


@pytest.mark.parametrize("kind", NAMES)
def test_from_2_8_to_3_9(from_the_oldest, kind):
    from_the_oldest.check(kind)


@pytest.fixture(scope="module")
def in_one_cluster(of_the_oldest, old, tmp_path_factory):
    return Copied(of_the_oldest, tmp_path_factory.mktemp("one") / "migration", old, renamed=True)


@pytest.mark.parametrize("kind", NAMES)
def test_within_one_cluster_under_other_names(in_one_cluster, kind):
    in_one_cluster.check(kind)


def test_a_backlog_comes_from_an_old_cluster(kafka011, destination, topic, tmp_path):
    """A source needs no transactions."""
    create_topic(kafka011, topic, 2)
    produce(kafka011, topic, [Message(b"%d" % n, b"k%d" % (n % 7), partition=n % 2) for n in range(20)])
    commit(kafka011, topic, {(topic, 0): 4, (topic, 1): 10})
    migration = Migration(tmp_path / "migration", kafka011, destination)
    migration.snapshot(topic)
    migration.backlog()
    migration.commit()
    assert unconsumed(destination, topic, topic) == unconsumed(kafka011, topic, topic)


def test_to_a_secured_cluster_with_the_documented_rights(source, secured, topic, tmp_path):
    made, there = f"{topic}-made", f"{topic}-there"
    for name in (made, there):
        numbered_topic(source, name, 20)
    create_topic(secured, there, partitions=2, retention_ms=1000)
    commit(source, topic, {(name, partition): 7 for name in (made, there) for partition in range(2)})
    topics = ("READ", "WRITE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS")
    grant(
        secured,
        ["GROUP READ on streamshift-*", "GROUP DELETE on streamshift-*", "TRANSACTIONAL_ID WRITE on streamshift-*"]
        + [f"TOPIC {operation} on {name}" for name in (made, there) for operation in topics]
        + [f"TOPIC CREATE on {made}", f"GROUP READ on {topic}"],  # the latter to commit
    )
    migration = Migration(tmp_path / "migration", source, secured)
    migration.destination = secured.connection_as("migrator")
    migration.snapshot(topic)
    assert not migration.backlog()["warnings"]
    migration.commit()
    for name in (made, there):
        assert unconsumed(secured, topic, name) == unconsumed(source, topic, name)
    assert len(unconsumed(secured, topic, made)) == 26


def test_a_partition_without_a_commit(source, topic, migration):
    create_topic(source, topic, partitions=3)
    produce(source, topic, [Message(b"%d" % n, partition=n % 3) for n in range(30)])
    other = f"{topic}-other"
    commit(source, topic, {(topic, 0): 4})
    commit(source, other, {(topic, 1): 6})
    migration.snapshot(topic, other)
    result = migration.backlog(on_uncommitted="start")
    assert {each["partition"]: each["copied"] for each in result["ranges"]} == {0: 10, 1: 10, 2: 10}
    found = {(each["group"], each["partition"]): (each["verdict"], each["offset"]) for each in result["entries"]}
    assert [found[topic, partition] for partition in range(3)] == [("exact", 4), ("requested", 0), ("requested", 0)]
    assert [found[other, partition] for partition in range(3)] == [("requested", 0), ("exact", 6), ("requested", 0)]


def test_a_partition_without_a_commit_is_left_alone_until_told_otherwise(source, topic, migration):
    numbered_topic(source, topic, 10, 4)
    migration.snapshot(topic)
    result = migration.backlog()
    assert [(each["verdict"], each["offset"]) for each in result["entries"]] == [("exact", 0), ("uncommitted", None)]
    assert [(each["copied"], each["left"], each["reason"]) for each in result["ranges"]] == [
        (6, 0, None),
        (0, 10, "uncommitted"),
    ]
    assert any(
        f"no committed offset at the source (on_uncommitted: ignore): {topic} {topic}-1." in line
        for line in result["warnings"]
    )
    assert any("no group has committed anything: 10 offsets are left alone" in line for line in result["summary"])
    again = migration.backlog()
    assert (
        again["changed"] is False and again["summary"][-1] == "An earlier run has copied this. Nothing is copied now."
    )
    entries = migration.backlog(on_uncommitted="end")["entries"]
    assert [(each["verdict"], each["offset"]) for each in entries] == [("exact", 0), ("requested", 0)]
    files = migration.files()
    # What was not copied would be lost to the group.
    message = migration.backlog(via=refuses, on_uncommitted="start")
    assert f"on_uncommitted would start {topic} at 0 on {topic}-1" in message
    assert migration.files() == files
