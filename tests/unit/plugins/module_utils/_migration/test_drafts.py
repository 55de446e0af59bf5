"""From a snapshot to entries of a plan."""

import dataclasses
import re

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.merged_groups import merge_drafts
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import (
    Draft,
    from_snapshot,
    with_uncommitted,
    without_open,
    without_records,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model import option_names
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import Mapping, Prefixes, Rule
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import SourcePosition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnConflict, OnUncommitted
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import (
    OpenTransaction,
    Snapshot,
    SnapshotEntry,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict

ORDERS = TopicPartition("orders", 0)
SYNC = {"exclude_topic_patterns": "mirror_maker_group_sync_exclude_topic_patterns"}  # variables of a role


def snapshot(*commits: tuple[str, str, int]) -> Snapshot:
    """Of (group, topic, partition), all committed at 7."""
    entries = (
        SnapshotEntry(group, TopicPartition(topic, number), CommittedOffset(7, "m", 3))
        for group, topic, number in commits
    )
    return Snapshot("id", (), tuple(entries))


def names(drafts: list[Draft]) -> list[tuple[str, str, str, str]]:
    return [(d.source_group, str(d.source_partition), d.group, str(d.partition)) for d in drafts]


def test_every_commit_gets_its_names_at_the_destination():
    mapping = Mapping((Rule("sales", name="orders"),), (Rule(r"\1-eu", pattern="(.*)", topics=("orders",)),))
    found = from_snapshot(snapshot(("app", "clicks", 0), ("app", "orders", 1)), mapping)
    assert names(found) == [("app", "clicks-0", "app", "clicks-0"), ("app", "orders-1", "app-eu", "sales-1")]


TOPICS, GROUPS = [("app", "a", 0), ("app", "b", 0)], [("x", "a", 0), ("y", "a", 0)]


@pytest.mark.parametrize(
    ("commits", "mapping", "remedy"),
    [
        pytest.param(TOPICS, Mapping((Rule("c", pattern="a|b"),)), "Correct topic_map", id="two topics become one"),
        pytest.param(
            [("app", "a", 0), ("app", "b", 1)],
            Mapping((Rule("c", pattern="a|b"),)),
            "Correct topic_map",
            id="two topics become one, though no partition of theirs does",
        ),
        pytest.param(TOPICS, Mapping((Rule("b", name="a"),)), "Leave b out by exclude_topic_patterns", id="one is new"),
        pytest.param(GROUPS, Mapping((), (Rule("z", pattern="x|y"),)), "Correct topic_map", id="two groups become one"),
        pytest.param(
            GROUPS, Mapping((), (Rule("y", name="x"),)), "Leave y out by exclude_group_patterns", id="one group is new"
        ),
    ],
)
def test_two_sources_on_one_destination_are_refused(commits, mapping, remedy):
    """Inside a cluster, what an earlier run has made is to be left out."""
    for its in (commits, commits[::-1]):
        with pytest.raises(InvalidInput, match="two sources map to one destination: .* both become") as refused:
            from_snapshot(snapshot(*its), mapping)
        said = str(refused.value)
        assert all(f"{group} {topic}" in said for group, topic, _partition in commits)
        assert remedy in said and said.count("exclude_") == remedy.count("exclude_")


def test_repartitioned_topics_may_become_one_each_from_one_group():
    mapping = Mapping((Rule("c", pattern="a|b"),), (Rule("app", pattern="app-.*"),), repartitioned=("[ab]",))
    drafts = from_snapshot(snapshot(("app-a", "a", 0), ("app-b", "b", 0), ("app-b", "b", 1)), mapping)
    assert names(drafts) == [
        ("app-a", "a-0", "app", "c-0"),
        ("app-b", "b-0", "app", "c-0"),
        ("app-b", "b-1", "app", "c-1"),
    ]


@pytest.mark.parametrize(
    ("commits", "repartitioned", "remedy"),
    [
        pytest.param([("x", "a", 0), ("y", "a", 1)], "a|b", "Correct", id="two groups of one topic"),
        pytest.param([("x", "a", 0), ("x", "b", 0), ("y", "a", 1)], "a|b", "Correct", id="a third one"),
        pytest.param(
            [("x", "a", 0), ("x", "b", 0)], "a", "or name both topics in repartitioned", id="only one is named"
        ),
    ],
)
def test_nothing_else_is_merged(commits, repartitioned, remedy):
    mapping = Mapping((Rule("c", pattern="a|b"),), (Rule("z", pattern="x|y"),), repartitioned=(repartitioned,))
    with pytest.raises(InvalidInput, match=f"two sources map to one destination.*{remedy}"):
        from_snapshot(snapshot(*commits), mapping)


def test_a_group_may_be_split_by_topic_and_groups_may_swap_names():
    split = Mapping((), (Rule("app-a", name="app", topics=("a",)), Rule("app-b", name="app", topics=("b",))))
    assert [d.group for d in from_snapshot(snapshot(("app", "a", 0), ("app", "b", 0)), split)] == ["app-a", "app-b"]
    swap = Mapping((), (Rule("y", name="x"), Rule("x", name="y")))
    assert [d.group for d in from_snapshot(snapshot(("x", "a", 0), ("y", "a", 0)), swap)] == ["y", "x"]


@pytest.mark.parametrize("repeats", [0, None])
def test_an_offset_that_on_uncommitted_asks_for_repeats_what_is_known_of_the_source(repeats):
    (draft, _committed) = sorted(
        with_uncommitted(from_snapshot(snapshot(("a", "orders", 1)), Mapping()), {"orders": 2})
    )
    entry = draft.uncommitted(OnUncommitted.START, 3, 9, "no checkpoint", repeats)
    assert (entry.offset, entry.verdict, entry.repeats) == (3, Verdict.REQUESTED, repeats)


def test_the_other_partitions_of_a_committed_topic_are_named_as_uncommitted():
    mapping = Mapping((Rule("sales", name="orders"),))
    drafts = with_uncommitted(
        from_snapshot(snapshot(("app", "orders", 1), ("app", "clicks", 0)), mapping), {"orders": 3}
    )
    added = [draft for draft in drafts if draft.committed is None]
    assert names(added) == [("app", "orders-0", "app", "sales-0"), ("app", "orders-2", "app", "sales-2")]
    assert len(drafts) == 4


def test_thousands_of_groups_share_the_partitions_of_a_topic_and_their_texts():
    drafts = with_uncommitted(from_snapshot(snapshot(("a", "orders", 1), ("b", "orders", 1)), Mapping()), {"orders": 2})
    one, other = (draft for draft in drafts if draft.committed is None)
    assert one.group != other.group
    assert one.partition is other.partition and one.source_partition is other.source_partition
    entries = [draft.uncommitted(OnUncommitted.IGNORE, 0, 9, "no commit in the snapshot") for draft in (one, other)]
    assert entries[0].detail is entries[1].detail and entries[0].evidence is entries[1].evidence


DRAFT = Draft("app", TopicPartition("sales", 2), "app", TopicPartition("orders", 2), CommittedOffset(7, "m", 3))


@pytest.mark.parametrize(
    ("source", "destination", "reason", "told"),
    [
        ({"orders": 3}, {"sales": 3}, None, ""),
        ({}, {"sales": 3}, Reason.TOPIC_MISSING, "topic orders does not exist at the source"),
        ({"orders": 3}, {}, Reason.TOPIC_MISSING, "topic sales does not exist at the destination"),
        ({"orders": 3}, {"orders": 3}, Reason.TOPIC_MISSING, "topic sales does not exist at the destination"),
        ({"orders": 3}, {"sales": 4}, Reason.PARTITION_COUNT_DIFFERS, "orders has 3 partitions"),
        ({"orders": 4}, {"sales": 3}, Reason.PARTITION_COUNT_DIFFERS, "or add them yourself, if each record belongs"),
        ({"orders": 2}, {"sales": 2}, Reason.TOPIC_MISSING, "orders-2 does not exist at the source"),
    ],
)
def test_topics_alone_block_an_entry(source, destination, reason, told):
    entry = without_records(DRAFT, source, destination)
    assert (entry is None) == (reason is None)
    if entry is not None:
        assert (entry.verdict, entry.reason, entry.target) == (Verdict.BLOCKED, reason, None)
        assert told in entry.detail


def test_an_entry_keeps_the_commits_metadata_and_never_its_leader_epoch():
    entry = DRAFT.entry(Verdict.EXACT, 5)
    assert entry.target == CommittedOffset(5, "m", None)
    assert entry.source == (SourcePosition("app", TopicPartition("orders", 2), 7),)


def test_a_draft_without_a_commit_has_no_source_offset():
    entry = DRAFT._replace(committed=None).entry(Verdict.UNCOMMITTED)
    assert entry.source[0].offset is None
    assert entry.target is None


def opened(snapshot: Snapshot, *partitions: tuple[str, str, int]) -> Snapshot:
    """The same while transactions are open that commit offsets for these groups and partitions."""
    its = (OpenTransaction(group, TopicPartition(topic, number), "id x9") for group, topic, number in partitions)
    return dataclasses.replace(snapshot, open=tuple(its))


def reasons(snapshot: Snapshot, mapping: Mapping) -> dict[str, str | None]:
    drafts = from_snapshot(snapshot, mapping)
    entries = [draft.entry(Verdict.EXACT, 7) for draft in drafts]
    return {str(entry.partition): entry.reason for entry in without_open(entries, snapshot, mapping)}


@pytest.mark.parametrize("committed", [[("app", "orders", 0), ("app", "orders", 1)], [("app", "orders", 0)]])
def test_an_open_transaction_blocks_its_partition_alone_also_where_nothing_was_committed_before(committed):
    its = opened(snapshot(*committed), ("app", "orders", 1))
    assert reasons(its, Mapping()) == {"orders-0": None, "orders-1": Reason.OPEN_TRANSACTION}


def test_an_open_transaction_blocks_every_partition_of_a_repartitioned_topic():
    its = opened(snapshot(("app", "a", 0), ("app", "a", 1), ("app", "b", 0)), ("app", "a", 1))
    expected = {"a-0": Reason.OPEN_TRANSACTION, "a-1": Reason.OPEN_TRANSACTION, "b-0": None}
    assert reasons(its, Mapping(repartitioned=("a",))) == expected


def test_a_group_that_is_merged_from_one_with_an_open_transaction_is_blocked():
    mapping = Mapping((), (Rule("z", pattern="x|y"),))
    its = opened(snapshot(("x", "a", 0), ("y", "a", 0)), ("y", "a", 0))
    (draft,) = merge_drafts(from_snapshot(its, mapping, OnConflict.LOWEST), OnConflict.LOWEST)
    (entry,) = without_open([draft.entry(Verdict.EXACT, 7)], its, mapping)
    assert (entry.verdict, entry.offset, entry.reason) == (Verdict.BLOCKED, None, Reason.OPEN_TRANSACTION)
    assert entry.detail.startswith("a transaction that commits offsets for a-0 is open: id x9 at the source: wait")


@pytest.mark.parametrize(
    ("topic", "told"),
    [
        ("app-KSTREAM-AGGREGATE-STATE-STORE-0000000003-repartition", "Kafka Streams makes itself: do not fill it"),
        ("orders-repartition", "create it and let the replication tool fill it, map it in topic_map, or exclude"),
    ],
)
def test_a_repartition_topic_that_is_missing_is_not_to_be_filled(topic, told):
    (draft,) = from_snapshot(snapshot(("app", topic, 0)), Mapping())
    entry = without_records(draft, {topic: 1}, {})
    assert entry.reason is Reason.TOPIC_MISSING and told in entry.detail


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({}, "if MirrorMaker 2 copies it to a topic with a prefix, set replication_policy; otherwise create it"),
        ({"replication_policy": "group_migration_replication_policy"}, "set replication_policy; otherwise create it"),
        ({"topic_map": "backlog_migration_topic_map"}, "does not exist at the destination: create it"),
    ],
)
def test_a_topic_that_has_a_prefix_at_the_destination_is_not_to_be_created(monkeypatch, variables, told):
    monkeypatch.setattr(option_names, "_variables", variables)
    (draft,) = from_snapshot(snapshot(("app", "orders", 0)), Mapping())
    assert told in without_records(draft, {"orders": 1}, {}).detail


def test_a_missing_copy_of_the_destinations_own_topic_is_told_with_what_to_set():
    mapping = Mapping(prefixes=Prefixes("A.", "", "."))
    (draft,) = from_snapshot(snapshot(("app", "B.foo", 0)), mapping)
    assert without_records(draft, {"B.foo": 1}, {}, mapping).detail.endswith(
        "set target_alias of replication_policy to B"
    )


@pytest.mark.parametrize(
    ("counts", "role", "remedy"),
    [
        (
            (3, 2),
            {},
            "name it in repartitioned, so that .*, or wait until the replication tool adds the missing ones, or add",
        ),
        ((3, 2), SYNC, "wait until the replication tool adds the missing ones, or add them yourself"),
        ((2, 3), {}, "name it in repartitioned, so that each record is looked for in all partitions$"),
        ((2, 3), SYNC, "exclude it in exclude_topic_patterns$"),
    ],
)
def test_other_numbers_of_partitions_name_only_options_that_the_user_has(monkeypatch, counts, role, remedy):
    monkeypatch.setattr(option_names, "_variables", role)
    draft = Draft("billing", ORDERS, "billing", ORDERS, CommittedOffset(7))
    entry = without_records(draft, *({"orders": count} for count in counts))
    assert re.search(f"at the destination: {remedy}", entry.detail)


def test_each_of_several_topics_that_become_one_has_to_be_repartitioned():
    rules = (Rule("all", pattern="."),)
    entries = tuple(SnapshotEntry("app", TopicPartition(topic, 0), CommittedOffset(1)) for topic in "abc")
    snapshot = Snapshot("id", (), entries)
    made = from_snapshot(snapshot, Mapping(rules, repartitioned=("[abc]",)))
    assert [draft.source_partition.topic for draft in made] == ["a", "b", "c"]
    with pytest.raises(InvalidInput, match="app a and app c both become app all"):
        from_snapshot(snapshot, Mapping(rules, repartitioned=("[ab]",)))
