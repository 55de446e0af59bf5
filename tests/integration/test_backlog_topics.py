"""Topics are made like the source's, held back while groups are not past the backlog, and given back what they had."""

import itertools
import time

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.configs import topic_configs
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from testbed.background import Background
from testbed.clients import (
    Message,
    add_partitions,
    change_topic,
    commit,
    create_topic,
    list_groups,
    log_bounds,
    partitions_of,
    produce,
    read,
)
from tests.support.consumers import content, member
from tests.support.modules import Migration, run
from tests.support.promotion import Promotion
from tests.support.spark import one_session

LONG_AGO = 1_400_000_000_000
FOREIGN = b"foreign"
THEIRS = {
    "message.timestamp.type": "LogAppendTime",
    "cleanup.policy": "compact,delete",
    "max.message.bytes": "1000",
    "retention.ms": "1000",
    "message.timestamp.before.max.ms": "5000",
}


def own(cluster, topic):
    return topic_configs(connection_from(cluster.plaintext, "cluster"), [topic])[topic].own


@pytest.fixture(scope="module", autouse=True)
def shared_session(source, destination):
    with one_session():
        yield


@pytest.fixture
def migration(source, destination, topic, tmp_path):
    """Old records in a topic that the destination lacks, and in one that is there with settings that would lose them."""
    for name, policy in ((f"{topic}-made", "delete"), (f"{topic}-there", "compact,delete")):
        create_topic(source, name, partitions=2, retention_ms=-1, cleanup_policy=policy, segment_ms=700_000)
        messages = [Message(b"v" * 2000, b"k%d" % n, (), LONG_AGO + n, n % 2) for n in range(20)]
        produce(source, name, messages)
        commit(source, topic, {(name, 0): 2, (name, 1): 0})
    create_topic(destination, f"{topic}-there", partitions=2, **{key.replace(".", "_"): v for key, v in THEIRS.items()})
    migration = Migration(tmp_path / "migration", source, destination)
    migration.snapshot(topic)
    return migration


def test_settings_are_held_back_until_every_group_is_past(migration, source, destination, topic, tmp_path):
    made, there = f"{topic}-made", f"{topic}-there"
    files, groups = migration.files(), list_groups(destination)
    predicted = migration.backlog(check=True, diff=True)
    assert migration.files() == files and own(destination, there) == THEIRS
    assert [each for each in list_groups(destination) if topic in each] == [each for each in groups if topic in each]
    with pytest.raises(Exception, match=made):
        partitions_of(destination, made)

    done = migration.backlog(diff=True)
    assert predicted.keys() == done.keys()
    for name in ("changed", "copy", "plan", "topics"):
        assert predicted[name] == done[name]
    assert [each | {"copied": None} for each in done["ranges"]] == predicted["ranges"]
    assert [each | {"offset": None} for each in done["entries"]] == predicted["entries"]
    assert [line.split(":")[0] for line in predicted["topics"]][:2] == [made, made]
    for name in (made, there):
        its = own(destination, name)
        assert its["retention.ms"] == "-1" and its["cleanup.policy"] == "delete"
        assert its["message.timestamp.type"] == "CreateTime"
        assert unconsumed_of(source, name) == [content(each) for each in read(destination, name)]
    assert partitions_of(destination, made) == [0, 1] and own(destination, made)["segment.ms"] == "700000"

    migration.commit()
    during = own(destination, there)
    assert migration.backlog()["changed"] is False and own(destination, there) == during
    promotion = Promotion(tmp_path, source, destination)
    overrides = [{"topics": [".*"], "settings": {"retention.ms": 9000}}]
    promoted = promotion.carefully(topics=[there], overrides=overrides, exclude_settings=["segment.ms"])
    assert any("cleanup.policy, retention.ms are left alone" in line for line in promoted["notes"])
    assert own(destination, there) == during
    with member(destination, topic, [made, there]):
        pass
    assert migration.backlog(check=True)["changed"] is True and own(destination, there) == during
    assert migration.backlog()["changed"] is True
    assert own(destination, there) == THEIRS
    assert own(destination, made) == own(source, made)
    assert migration.backlog()["changed"] is False

    migration.roll_back(on_rewind="rewind")  # and all of it is unconsumed again
    for expected in ({"check": True}, True, THEIRS), ({}, True, during), ({}, False, during):
        options, changed, settings = expected
        result = migration.backlog(via=run, **options)
        if result.get("failed"):  # the retention that was given back may have taken records by now
            assert "copied records were deleted before every group has consumed them" in result["msg"]
            assert max(start for start, _end in log_bounds(destination, there).values()) > 0
            break
        assert result["changed"] is changed and own(destination, there) == settings


def test_what_somebody_sets_before_every_group_is_past_is_suspended_again(migration, destination, topic):
    there = f"{topic}-there"
    migration.backlog()
    migration.commit()
    during = own(destination, there)
    change_topic(destination, there, message_timestamp_type="LogAppendTime")  # unlike retention, it takes no records
    result = migration.backlog()
    assert result["changed"] is True and own(destination, there) == during
    assert any(f"copied to the topic {there}, and these settings" in line for line in result["warnings"])
    assert migration.backlog()["changed"] is False


def test_settings_are_given_back_although_the_source_has_got_partitions(migration, source, destination, topic):
    made, there = f"{topic}-made", f"{topic}-there"
    migration.backlog()
    migration.commit()
    add_partitions(source, there, 3)
    with member(destination, topic, [made, there]):
        pass
    result = migration.backlog()
    assert result["changed"] is True and own(destination, there) == THEIRS
    assert any(f"{there}-2 was added at the source since the copy was planned" in line for line in result["warnings"])


def test_a_commit_that_is_older_than_the_copy_gives_no_settings_back(migration, destination, topic):
    """A script has once set the group far after the end of an empty topic; it is still to be set to the copied records."""
    there = f"{topic}-there"
    commit(destination, topic, {(there, p): 41_877 for p in (0, 1)})
    result = migration.backlog()
    assert own(destination, there)["retention.ms"] == "-1" and there in result["suspended"]
    assert any("nobody knows whether these groups have consumed" in line for line in result["notes"])
    migration.commit(on_rewind="rewind")
    assert not any("nobody knows" in line for line in migration.backlog()["notes"])


def test_settings_are_given_back_at_once_when_asked(migration, source, destination, topic):
    migration.backlog(restore_retention=True)
    assert own(destination, f"{topic}-there") == THEIRS
    assert own(destination, f"{topic}-made") == own(source, f"{topic}-made")
    assert migration.backlog(restore_retention=True)["changed"] is False


def test_others_write_on_both_sides_while_records_are_copied_slowly(source, destination, topic, tmp_path):
    limit = 1_000_000  # bytes a second
    create_topic(source, topic)
    produce(source, topic, [Message(b"%06d" % n + b"." * 1000) for n in range(6000)])
    create_topic(destination, topic)
    produce(destination, topic, [Message(FOREIGN)] * 3)
    stands = {f"{topic}-{n}": n for n in range(0, 6000, 500)}
    for group, offset in stands.items():
        commit(source, group, {(topic, 0): offset})
    migration = Migration(tmp_path / "migration", source, destination)
    migration.snapshot(*stands)
    seen = []

    def write(over):
        while not over.is_set():
            produce(source, topic, [Message(b"too late")])
            produce(destination, topic, [Message(FOREIGN)])
            seen.append((time.monotonic(), log_bounds(destination, topic)[0][1]))

    with Background(write):
        result = migration.backlog(live=True, append=True, max_bytes_per_second=limit)
    (planned,) = result["ranges"]
    copies = read(destination, topic)
    originals = [each for each in read(source, topic) if each.offset < planned["end"]]
    assert [each.value for each in copies if each.value != FOREIGN] == [each.value for each in originals]
    for entry in result["entries"]:
        first = next(each for each in copies if each.offset >= entry["offset"] and each.value != FOREIGN)
        assert first.offset == entry["offset"] and first.value.startswith(b"%06d" % stands[entry["group"]])
    moving = [(at, end) for (at, end), (_at, after) in itertools.pairwise(seen) if after - end > 50]
    (begin, low), (finish, high) = moving[0], moving[-1]
    assert (high - low) * 1006 / (finish - begin) < 2 * limit
    assert any(
        "what came later is not copied" in line for line in migration.backlog(append=True, live=True)["warnings"]
    )


def unconsumed_of(cluster, topic):
    return [content(each) for each in read(cluster, topic, start={0: 2})]
