"""What directories know of one group is put together, and the status says until when each group can go back."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.abilities import Ability
from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._control.producers import Writer
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topics import TopicDescription, TopicSettings
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import look_at_status as use_case
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import still_written
from ansible_collections.streamshift.kafka.plugins.module_utils._model.cluster_identity import ClusterIdentity, Traits
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.migrated_groups import DirectoryFiles
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan, PlanEntry, SourcePosition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Origin, Receipt, ReceiptEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Verdict
from tests.support.listed_clusters import DESTINATION, SOURCE

AT = TopicPartition("orders", 0)
DAY = 86_400
MIDNIGHT = 20_000 * DAY


@pytest.fixture
def look(monkeypatch):
    """``look(*directories)``: every group is at offset 5 on both clusters.

    look.topics: those that the source has. look.not_offered: what its brokers cannot do. look.topic_id: of the topic orders.
    look.new_topics: those that the destination has, None for any; look.error: what it says of others.
    look.committed: what each group has committed. look.more: by how many offsets the logs grow between two readings.
    """

    def read(_connection, names, stable):
        return {name: GroupReading(name, True, "Empty", "", "", look.committed) for name in names}

    def bounds(connection, partitions, _deadline):
        topics = look.new_topics if connection is DESTINATION else look.topics
        known = [each for each in partitions if topics is None or each.topic in topics]
        look.end += look.more
        return "id", dict.fromkeys(known, Bounds(0, look.end, look.end))

    def look(*directories):
        return use_case.look_at_status(directories, SOURCE, DESTINATION, 0)

    look.topics, look.new_topics, look.error = {"orders"}, None, "UNKNOWN_TOPIC_OR_PARTITION"
    look.committed = {AT: CommittedOffset(5)}
    look.not_offered = []
    look.end, look.more = 9, 0
    look.topic_id = "first"
    ids = {SOURCE.name: "S", DESTINATION.name: "D"}
    monkeypatch.setattr(
        use_case.clusters,
        "identify",
        lambda cluster, _topics: ClusterIdentity(ids[cluster.name], Traits(topic_ids={"orders": look.topic_id})),
    )
    monkeypatch.setattr(use_case.groups, "read_groups", read)
    monkeypatch.setattr(use_case.positions, "bounds_as_far_as_known", bounds)
    monkeypatch.setattr(use_case, "broker_number", lambda _connection, _name: 7 * 1440)
    monkeypatch.setattr(use_case, "not_offered", lambda _connection, _ability: look.not_offered)
    monkeypatch.setattr(
        use_case.topics,
        "describe_topics",
        lambda _connection, names, surely: {name: TopicDescription(0, look.error) for name in names},
    )
    settings = TopicSettings(log_append_time=False, compacted=False, retention_ms=2000 * DAY)
    monkeypatch.setattr(use_case.topics, "topic_settings", lambda _connection, names: dict.fromkeys(names, settings))
    return look


def directory(name, *times, cluster="D"):
    """The files of a migration that has committed a group for each of these times."""
    at = CommittedOffset(5)
    lines = (ReceiptEntry(f"g{n}", AT, None, at, at, (Origin(f"g{n}", AT),), time) for n, time in enumerate(times))
    return DirectoryFiles(
        name, None, Receipt(cluster, tuple(lines), traits=Traits(topic_ids={"orders": "first"})), None
    )


def test_of_two_directories_that_know_a_group_the_last_commit_counts_and_a_note_names_both(look):
    found = look(directory("old", MIDNIGHT, MIDNIGHT), directory("new", MIDNIGHT + 9))
    assert {its.files.group: its.files.directory for its in found.groups} == {"g0": "new", "g1": "old"}
    (note,) = found.notes
    assert note.kind is NoteKind.SEVERAL_DIRECTORIES and "g0 (new, old)" in note.text and "g1" not in note.text


@pytest.mark.parametrize("is_planned", [True, False])
def test_a_directory_that_has_only_left_a_group_out_says_nothing_where_another_has_rolled_it_back_or_plans_it(
    look, is_planned
):
    its = PlanEntry("g0", AT, 5, Verdict.SAFE, (SourcePosition("g0", AT, 5),))
    planned = DirectoryFiles("planned", Plan("S", "D", "digest", (its,)), None, None)
    back = planned._replace(directory="back", receipt=Receipt("D", (ReceiptEntry("g0", AT, None, None, None),)))
    left = planned._replace(directory="left", plan=None, earlier=(its,), kept_in={"g0": "history/w1"})
    found = look(left, planned if is_planned else back)
    assert [each.files.directory for each in found.groups] == ["planned" if is_planned else "back"]
    assert found.notes == []
    assert [each.files.directory for each in look(planned, back).groups] == ["back"]


def test_each_group_says_until_when_it_can_go_back_unless_its_topics_are_gone(look):
    (its,) = look(directory("here", MIDNIGHT)).groups
    assert its.way_back == (MIDNIGHT + 7 * DAY, MIDNIGHT + 2 * DAY)
    look.topics = set()
    found = look(directory("here", MIDNIGHT))
    assert found.groups[0].way_back == (None, None)
    (note,) = found.notes
    assert note.kind is NoteKind.RETENTION_UNKNOWN and "ends of their logs: orders." in note.text


def test_nobody_knows_until_when_a_rollback_is_possible_where_each_offset_expires_by_itself(look):
    look.not_offered = [Ability.KEPT_OFFSETS.value]
    found = look(directory("here", MIDNIGHT))
    assert found.groups[0].way_back == (None, MIDNIGHT + 2 * DAY)
    (note,) = found.notes
    assert note.kind is NoteKind.NOT_TOLD and "OffsetCommit 5, since Kafka 2.1" in note.text
    assert look().notes == []  # no group is committed


@pytest.mark.parametrize(("own_prefix", "grown"), [("", ["clicks", "cloud.orders"]), ("cloud.", ["clicks"])])
def test_topics_that_producers_still_write_at_the_source_are_told(look, monkeypatch, own_prefix, grown):
    monkeypatch.setattr(still_written.producers, "last_writers", lambda _connection, _partitions: {})
    look.topics, look.more = {"clicks", "cloud.orders"}, 1
    at_source = [SourcePosition("billing", TopicPartition(name, 0), 5) for name in sorted(look.topics)]
    copies = [TopicPartition(name, 0) for name in ("onprem.clicks", "orders")]
    entries = tuple(
        PlanEntry("billing", at, 5, Verdict.SAFE, (its,)) for at, its in zip(copies, at_source, strict=True)
    )
    plan = Plan("S", "D", "digest", entries, own_prefix=own_prefix)
    found = look(DirectoryFiles("m", plan, None, None))
    assert [written.topic for written in found.still_written] == grown


def test_a_topic_that_was_created_again_is_named(look):
    assert look(directory("here", MIDNIGHT)).notes == []
    look.topic_id = "second"
    (note,) = look(directory("here", MIDNIGHT), directory("there", MIDNIGHT - 1)).notes[1:]
    assert note.kind is NoteKind.TOPIC_RECREATED and "orders (its id is second, and was first)." in note.text


def test_a_topic_counts_as_deleted_only_where_brokers_say_that_it_does_not_exist(look):
    look.committed, look.new_topics = {}, set()
    for error, told in (("UNKNOWN_TOPIC_OR_PARTITION", True), ("TOPIC_AUTHORIZATION_FAILED", False)):
        look.error = error
        (its,) = look(directory("here", MIDNIGHT)).groups
        assert its.next.startswith("topic orders does not exist at the destination any more") is told


def test_files_of_another_cluster_are_refused(look):
    with pytest.raises(Refused, match="the receipt in there was made for another cluster"):
        look(directory("here", MIDNIGHT), directory("there", MIDNIGHT, cluster="E"))


@pytest.mark.parametrize(("noted", "is_refused"), [("S", False), ("", False), ("T", True)])
def test_a_plan_that_was_made_without_the_source_is_of_whatever_source_answers_again(look, noted, is_refused):
    files = directory("here", MIDNIGHT)._replace(plan=Plan(noted, "D", "digest", ()))
    if is_refused:
        with pytest.raises(Refused, match="the plan in here was made for another cluster"):
            look(files)
    else:
        assert [its.files.group for its in look(files).groups] == ["g0"]


def test_a_topic_is_told_with_its_own_writers_each_once(monkeypatch):
    orders, clicks = ([TopicPartition(topic, number) for number in range(2)] for topic in ("orders", "clicks"))
    writers = {
        orders[0]: (Writer(1, 1_000, ""), Writer(2, 3_000, "")),
        orders[1]: (Writer(1, 2_000, ""),),
        clicks[0]: (Writer(3, 1_500, ""),),
    }
    monkeypatch.setattr(still_written.producers, "last_writers", lambda _connection, _partitions: writers)
    found = still_written.grown_topics(
        None, dict.fromkeys([*orders, *clicks], 0), {orders[0]: 1, orders[1]: 2, clicks[0]: 4}
    )
    assert [(each.topic, each.records, [writer[:2] for writer in each.writers]) for each in found] == [
        ("clicks", 4, [(3, 1_500)]),
        ("orders", 3, [(2, 3_000), (1, 2_000)]),
    ]
