"""With what MirrorMaker 2 has stored, groups are sent to exactly their record; it is never just believed."""

import itertools

import pytest

from testbed.clients import commit, create_topic, delete_records, delete_topic, produce
from tests.support.kinds import group_of
from tests.support.mirror_records import checkpoint
from tests.support.mirrored import FLOWS, checkpointed, mirrored, numbered
from tests.support.modules import refuses
from tests.support.numbered import Judge
from tests.support.random_logs import World, whatever
from tests.support.replication_tool import copy

OF_VERSIONS = {"4.3.0": tuple(FLOWS), "3.9.1": ("default", "identity")}
ALL = [pytest.param(version, name, id=f"{name}, {version}") for version, names in OF_VERSIONS.items() for name in names]


@pytest.fixture(scope="module")
def flows(source, destination, tmp_path_factory):
    """The flows of a real MirrorMaker of a version, which is started and stopped by the first test that asks."""
    done = {}

    def of(version):
        if version not in done:
            folder = tmp_path_factory.mktemp("mirror-maker")
            done[version] = mirrored(source, destination, folder, version, OF_VERSIONS[version])
        return done[version]

    return of


@pytest.mark.parametrize(("version", "name"), ALL)
def test_every_group_is_sent_to_its_record(flows, version, name, source, destination, migration):
    flow = flows(version)[name]
    late = f"{flow.topic}-late"  # has no checkpoint: MirrorMaker has ended
    commits = {**flow.commits, late: {0: 100, 1: 1234}}
    commit(source, late, {(flow.topic, partition): offset for partition, offset in commits[late].items()})
    migration.snapshot(*commits)
    options = {"strategy": "mirror_maker", "replication_policy": flow.policy}
    done = migration.translate(**options)
    judge = Judge(source, flow.topic, destination, flow.copy)
    for entry in done["entries"]:
        assert entry["verdict"] == "exact", entry
        assert entry["topic"] == flow.copy
        judge.check(entry, commits[entry["group"]][entry["partition"]])
    assert len(done["entries"]) == 2 * len(commits)
    assert done["index"]["syncs"] >= 2
    again = migration.translate(**options)
    assert again["changed"] is False
    # Marks of transactions leave open whether records were copied again: those of partition 0, and all where MirrorMaker
    # copies exactly once. One group has consumed nothing, so that it names no record.
    if not FLOWS[name].exactly_once:
        assert again["kept"] >= len(commits) - 1
        assert again["records_read"] < done["records_read"]


@pytest.mark.parametrize(("version", "name"), ALL)
def test_without_the_source_checkpoints_lose_nothing(flows, version, name, source, destination, migration):
    flow = flows(version)[name]
    # MirrorMaker may write none for a group at the start: nothing there is a lower bound. Nor does it write one where a
    # group lags the first offset-sync that it has kept, which depends on its pace.
    groups = flow.commits.keys() - {flow.excluded, group_of(flow.topic, 1)}
    options = {"source": None, "snapshot": None, "strategy": "mirror_maker", "replication_policy": flow.policy}
    done = migration.translate(**options, groups=sorted(groups), on_uncommitted="start")
    judge = Judge(source, flow.topic, destination, flow.copy)
    with_checkpoint = checkpointed(destination, flow)
    for entry in done["entries"]:
        where = entry["group"], entry["partition"]
        assert entry["topic"] == flow.copy
        assert (entry["verdict"], entry["reason"]) == (
            ("safe", "checkpoint") if where in with_checkpoint else ("requested", None)
        )
        judge.check(entry, flow.commits[entry["group"]][entry["partition"]])
    assert {(entry["group"], entry["partition"]) for entry in done["entries"]} == set(itertools.product(groups, (0, 1)))
    assert len(with_checkpoint) >= len(groups)
    assert flow.excluded in migration.translate(via=refuses, **options, groups=[flow.excluded])


@pytest.fixture
def world(source, destination, topic, tmp_path):
    return World(source, destination, topic, tmp_path / "migration")


def test_a_topic_that_was_recreated_at_both_ends_or_at_one(world, stamps="LogAppendTime"):
    """Syncs, checkpoints and the plan of before all tell of records that are gone."""
    world.create(expired=7, stamps=stamps)
    produce(world.source, world.topic, [numbered(number) for number in range(100)])
    copy(world.source, world.destination, world.topic)
    world.index(*(world.sync(at, at) for at in range(0, 100, 10)))
    produce(world.destination, world.checkpoints, [checkpoint("other", world.topic, 0, 57, 50)])
    world.stand(20, 50, 99)
    world.all_exact()
    # At the destination, where a few came first this time.
    recreate(world.destination, world.topic, stamps)
    copy(world.source, world.destination, world.topic, junk=4)
    assert world.all_exact()["kept"] == 0
    assert world.all_exact()["kept"] == 3
    # At both, with other records: as many as before.
    recreate(world.source, world.topic)
    recreate(world.destination, world.topic, stamps)
    produce(world.source, world.topic, [numbered(number) for number in range(1000, 1107)])
    copy(world.source, world.destination, world.topic)
    assert "the topic is not the one that the snapshot is about" in world.migration.translate(refuses, **world.options)
    world.stand(20, 50, 99)
    assert world.all_exact()["kept"] == 0


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_in_the_logs_and_in_the_index(world, seed):
    whatever(world, seed)


def recreate(cluster, topic, stamps="CreateTime", cleanup_policy="delete"):
    delete_topic(cluster, topic)
    create_topic(cluster, topic, retention_ms=-1, message_timestamp_type=stamps, cleanup_policy=cleanup_policy)


def test_checkpoints_where_the_source_is_lost(world):
    """The last one of each key counts, unless it is a tombstone; what they tell of a topic that is not there is blocked."""
    world.create(expired=7)
    produce(world.source, world.topic, [numbered(number) for number in range(100)])
    copy(world.source, world.destination, world.topic)
    delete_records(world.destination, world.topic, {0: 5})
    create_topic(world.destination, world.checkpoints, cleanup_policy="compact")

    def told(group, at, to, topic=world.topic):
        return checkpoint(f"{world.topic}-{group}", topic, 0, at + 7, to)

    written = [told("a", 10, 3), told("a", 60, 55), told("b", 50, 50), told("b", 50, 50)._replace(value=None)]
    written += [told("early", 3, 3), told("far", 90, 101), told("gone", 5, 5, f"{world.topic}-gone")]
    produce(world.destination, world.checkpoints, written)
    options = {**world.options, "source": None, "snapshot": None}
    done = world.migration.translate(**options, group_patterns=[f"{world.topic}-.*"])
    said = {entry["group"].rpartition("-")[2]: entry for entry in done["entries"]}
    assert {name: (each["verdict"], each["offset"], each["reason"]) for name, each in said.items()} == {
        "a": ("safe", 55, "checkpoint"),
        "early": ("safe", 5, "checkpoint"),  # the destination's log starts there
        "far": ("blocked", None, "beyond_end"),
        "gone": ("blocked", None, "topic_missing"),
    }
    # From there on every consumed record may come again.
    assert said["a"]["repeats"] >= 60 - 55
    assert world.migration.translate(**options, group_patterns=[f"{world.topic}-.*"])["changed"] is False
    assert f"{world.topic}-b" in world.refused(source=None, snapshot=None, groups=[f"{world.topic}-b"])
    assert "group_patterns" in world.refused(source=None, snapshot=None, group_patterns=["nobody-.*"])


def test_a_wrong_policy_is_told_which_topics_there_are(world):
    world.create()
    produce(world.source, world.topic, [numbered(number) for number in range(10)])
    copy(world.source, world.destination, world.topic)
    world.stand(5)

    def without_syncs():
        """The note of a plan that is made without them."""
        told = world.migration.translate(**world.options)
        assert (told["note_kinds"], told["index"]["syncs"]) == (["offset_syncs_missing"], 0)
        assert [entry["verdict"] for entry in told["entries"]] == ["exact"]
        return told["notes"][0]

    # As MirrorMaker 2 with emit.offset-syncs.enabled=false leaves it.
    assert "replication_policy are those of MirrorMaker 2" in without_syncs()
    world.index(world.sync(0, 0))
    right = dict(world.policy)
    for wrong in ({"target_alias": "nobody"}, {"offset_syncs_location": "target", "source_alias": "nobody"}):
        world.policy = right | wrong
        said = without_syncs()
        assert "offset_syncs_location" in wrong or world.syncs in said
    world.policy = right | {"name": "default", "separator": "-"}
    said = world.refused()
    assert f"none of the topics that replication_policy expects exists: {right['source_alias']}-{world.topic}" in said
    assert f"there is {world.topic}" in said
    world.policy = right | {"source_alias": "nobody"}
    said = world.refused(source=None, snapshot=None, groups=["any"])
    assert "nobody.checkpoints.internal" in said and world.checkpoints in said
    world.policy = right
    world.all_exact()


def test_an_index_that_forgets_or_is_damaged_is_only_a_hint(world):
    world.create()
    world.stand(0)
    good = world.sync(0, 0)
    world.index(good, good._replace(value=good.value[:-1]), cleanup_policy="delete")
    produce(world.destination, world.checkpoints, [checkpoint("any", world.topic, 0, 5, 5, version=1)])
    done = world.judged()
    for topic, at, why in ((world.syncs, 1, "ends too early"), (world.checkpoints, 0, "version is 1")):
        assert any(topic in line and f"at offset {at}" in line and why in line for line in done["warnings"])
    assert done["index"]["syncs"] == 1
    assert "version is 1" in world.refused(source=None, snapshot=None, groups=["any"])


def test_without_the_source_what_has_no_checkpoint_is_named(world):
    create_topic(world.destination, world.topic, 2, retention_ms=-1)
    produce(world.destination, world.topic, [numbered(number)._replace(partition=number % 2) for number in range(20)])
    create_topic(world.destination, world.checkpoints, cleanup_policy="compact")
    produce(world.destination, world.checkpoints, [checkpoint("billing", world.topic, 1, 5, 3)])
    options = {"source": None, "snapshot": None, "groups": ["billing"], **world.options}
    done = world.migration.translate(**options)
    assert [(each["verdict"], each["offset"]) for each in done["entries"]] == [("uncommitted", None), ("safe", 3)]
    assert any(f"No checkpoint for billing {world.topic}-0: not planned" in line for line in done["warnings"])
    started = world.migration.translate(on_uncommitted="start", **options)
    assert [(each["verdict"], each["offset"]) for each in started["entries"]] == [("requested", 0), ("safe", 3)]
