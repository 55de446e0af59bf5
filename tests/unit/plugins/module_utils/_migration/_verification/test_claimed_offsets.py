"""What is to be proved of a plan: what was committed, compared by what the plan has matched."""

import dataclasses
import types
import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._comparing.claims import Claim
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._verification import claimed_offsets
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import Backlog, BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import Mapping
from ansible_collections.streamshift.kafka.plugins.module_utils._model.match_on import (
    EVERYTHING,
    FINGERPRINTED,
    MatchOn,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import (
    Evidence,
    Plan,
    PlanEntry,
    SourcePosition,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnAdvance, OnRewind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Receipt, ReceiptEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import Snapshot, SnapshotEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict
from tests.support.identities import known_by_id

SOURCE, DESTINATION = Connection("source", ("s:1",)), Connection("destination", ("d:1",))
ALL = (*FINGERPRINTED, "timestamp")
FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


def entry(partition=FIRST, offset=60, source=((FIRST, 50),), matched_by=ALL, verdict=Verdict.EXACT, **more):
    positions = tuple(SourcePosition("billing", *each) for each in source)
    more = {"repeats": 0, "evidence": Evidence(matched_by=matched_by)} | more
    return PlanEntry("billing", partition, offset, verdict, positions, **more)


@pytest.fixture
def claimed(monkeypatch: pytest.MonkeyPatch) -> t.Callable[..., claimed_offsets.Claims]:
    """``claimed(entries, commits, receipt)``: what is claimed, where these are the destination's commits."""

    def make(
        entries: list[PlanEntry],
        commits: dict[TopicPartition, int] | None = None,
        receipt: tuple[ReceiptEntry, ...] = (),
        ids: tuple[str, str] = ("S", "D"),
        before_the_commit: bool = False,
        match_on: tuple[str, ...] = (),
        protocol: str = "consumer",
        policies: claimed_offsets.Policies = claimed_offsets.NONE_KEEPS,
        within: str = "D",
    ) -> claimed_offsets.Claims:
        known = {each.partition: each.offset or 0 for each in entries} if commits is None else commits
        offsets = {partition: CommittedOffset(offset) for partition, offset in known.items()}
        reading = GroupReading("billing", True, "Empty", "classic", protocol, offsets)
        known_by_id(monkeypatch, lambda cluster: ids[cluster is DESTINATION])
        monkeypatch.setattr(claimed_offsets.groups, "read_groups", lambda _cluster, _names: {"billing": reading})
        plan = Plan("S", within, "", tuple(entries), match_on=match_on)
        known = None if before_the_commit else Receipt(within, receipt)
        return claimed_offsets.of_plan(plan, known, SOURCE, DESTINATION, policies=policies)

    return make


def test_a_committed_entry_is_compared_from_both_offsets_on(claimed):
    (case,) = claimed([entry()]).cases
    assert case.claim == Claim("billing", ((FIRST, 50),), ((FIRST, 60),), 0)


def test_what_the_user_has_named_is_compared_and_else_everything(claimed):
    (case,) = claimed([entry(matched_by=("key", "value"))]).cases
    assert case.match_on == EVERYTHING
    (case,) = claimed([entry(matched_by=("value",))], match_on=("value",)).cases
    assert case.match_on == MatchOn.of(["value"])


def test_repeats_are_those_that_the_plan_admits(claimed):
    cases = claimed(
        [
            entry(verdict=Verdict.SAFE, repeats=7),
            entry(SECOND, source=((SECOND, 0),), verdict=Verdict.SAFE, repeats=None),
        ]
    ).cases
    assert [case.claim.repeats for case in cases] == [7, None]


def test_what_the_plan_leaves_at_the_source_is_not_still_to_be_copied(claimed):
    left = entry(verdict=Verdict.SAFE, reason=Reason.NEW_RECORDS)
    assert [case.claim.leaves for case in claimed([left]).cases] == [True]
    assert [case.claim.leaves for case in claimed([entry()]).cases] == [False]


def test_partitions_that_were_merged_are_proved_together(claimed):
    eu, us = TopicPartition("eu", 0), TopicPartition("us", 0)
    source = ((eu, 5), (us, 6))
    both = [entry(FIRST, 60, source, verdict=Verdict.SAFE, repeats=2), entry(SECOND, 70, source, matched_by=())]
    (case,) = claimed(both).cases
    assert case.claim == Claim("billing", source, ((FIRST, 60), (SECOND, 70)), 2)
    # When one of them was left alone, what is missing in the other may be there.
    found = claimed(both, commits={FIRST: 60})
    assert (found.cases, found.without_records) == ([], 1)


def test_what_was_merged_and_is_not_committed_counts_as_the_plan_has_counted_it(claimed):
    committed, start, end = (TopicPartition("eu", number) for number in range(3))
    source = ((committed, 5), (start, None, 0), (end, None, 7), (TopicPartition("eu", 3), None))  # in an older plan
    (case,) = claimed([entry(source=source)]).cases
    expected = ((committed, 5), (start, 0), (end, 7))
    assert (case.claim.source, case.claim.uncommitted) == (expected, {start, end})


@pytest.mark.parametrize("width", [1, 2])
def test_what_groups_have_committed_is_compared_with_all_partitions_of_a_repartitioned_topic(monkeypatch, width):
    """A partition without a committed offset is all unconsumed."""
    known_by_id(monkeypatch, lambda cluster: cluster.name)
    snapshot = Snapshot("S", (), (SnapshotEntry("billing", SECOND, CommittedOffset(5)),))
    taken = types.SimpleNamespace(snapshot=snapshot, notes=list)
    monkeypatch.setattr(claimed_offsets.take_snapshot, "take", lambda *_args: taken)
    monkeypatch.setattr(
        claimed_offsets.topics,
        "partition_counts",
        lambda cluster, _names: {"orders": 3 if cluster is SOURCE else width},
    )
    monkeypatch.setattr(claimed_offsets.topics, "cluster_id", lambda cluster: cluster.name)
    offsets = {TopicPartition("orders", number): CommittedOffset(9) for number in range(width)}
    reading = GroupReading("billing", True, "Empty", "classic", "consumer", offsets)
    monkeypatch.setattr(claimed_offsets.groups, "read_groups", lambda _cluster, _names: {"billing": reading})
    mapping = Mapping(repartitioned=("orders",))
    found = claimed_offsets.of_commits(SOURCE, DESTINATION, Selection(), mapping)
    (case,) = found.cases
    third = TopicPartition("orders", 2)
    assert (found.problems, case.claim.source) == ([], ((SECOND, 5), (FIRST, 0), (third, 0)))
    assert (len(case.claim.destination), case.claim.uncommitted) == (width, {FIRST, third})


def test_what_was_requested_is_counted_as_that(claimed):
    found = claimed([entry(source=((FIRST, None),), verdict=Verdict.REQUESTED)])
    assert (found.cases, found.without_records, found.requested) == ([], 0, 1)


@pytest.mark.parametrize(("count", "compared"), [(None, 0), (1, 0), (2, 1)])
def test_what_is_predicted_is_compared_once_it_exists(claimed, monkeypatch, count, compared):
    counts = {} if count is None else {"orders": count}
    monkeypatch.setattr(claimed_offsets.topics, "partition_counts", lambda _cluster, _names: counts)
    found = claimed([entry(SECOND, predicted=True)])
    assert (len(found.cases), found.without_records) == (compared, 1 - compared)


def test_what_was_left_alone_is_not_looked_at(claimed):
    blocked = dataclasses.replace(entry(), offset=None, verdict=Verdict.BLOCKED)
    assert claimed([blocked, entry(SECOND)], commits={SECOND: 3}).cases == []


def written(offset: int) -> tuple[ReceiptEntry, ...]:
    commit = CommittedOffset(offset)
    return (ReceiptEntry("billing", FIRST, None, commit, commit),)


def test_a_group_that_has_consumed_since_is_compared_where_it_was_set(claimed):
    found = claimed([entry()], {FIRST: 75}, written(60))
    assert (found.problems, found.cases[0].claim.destination) == ([], ((FIRST, 60),))


@pytest.mark.parametrize(
    ("now", "protocol", "told", "keeping"),
    [
        ({FIRST: 59}, "consumer", "59", (OnRewind.FAIL, OnAdvance.KEEP)),
        ({}, "consumer", "none", (OnRewind.KEEP, OnAdvance.FAIL)),
        ({FIRST: 75}, "", "75, although no consumer has ever joined the group", (OnRewind.KEEP, OnAdvance.FAIL)),
    ],
)
def test_a_group_that_has_moved_since_is_a_problem_unless_a_policy_has_left_it_alone(
    claimed, now, protocol, told, keeping
):
    found = claimed([entry()], now, written(60), protocol=protocol)
    (problem,) = found.problems
    line = f"billing orders-0: offset 60 was committed, but the committed offset is now {told}"
    assert (problem.kind, problem.line, found.cases) == ("moved", line, [])
    found = claimed([entry()], now, written(60), protocol=protocol, policies=keeping)
    assert (found.problems, found.cases) == ([], [])


def test_what_is_still_to_be_written_is_kept_by_no_policy(claimed):
    pending = (ReceiptEntry("billing", FIRST, None, CommittedOffset(60), None),)
    found = claimed([entry()], {}, pending, policies=(OnRewind.KEEP, OnAdvance.KEEP))
    assert [problem.kind for problem in found.problems] == ["moved"]


def test_a_group_that_was_reset_inside_its_cluster_has_consumed_without_members(claimed):
    """As the commit takes it: nothing else moves it."""
    reset = entry(source=((FIRST, 60),), offset=60, verdict=Verdict.REQUESTED, repeats=0)
    found = claimed([reset], {FIRST: 75}, written(60), ids=("S", "S"), protocol="", within="S")
    assert (found.problems, found.requested) == ([], 1)


def test_what_an_earlier_plan_has_written_is_not_taken_for_what_this_one_says(claimed):
    found = claimed([entry()], {FIRST: 70}, written(70))  # left there by a policy
    assert (found.problems, found.cases) == ([], [])


def test_before_a_commit_it_does_not_matter_where_groups_stand(claimed):
    blocked = dataclasses.replace(entry(), offset=None, verdict=Verdict.BLOCKED)
    left = entry(SECOND, 70, source=((SECOND, 60),))
    found = claimed([blocked, left], commits={SECOND: 3}, before_the_commit=True)
    assert (found.problems, found.without_records) == ([], 0)
    assert [case.claim.destination for case in found.cases] == [((SECOND, 70),)]


def test_of_a_merge_that_is_blocked_in_part_nothing_is_proved_before_the_commit(claimed):
    source = ((TopicPartition("eu", 0), 5), (TopicPartition("us", 0), 6))
    blocked = dataclasses.replace(entry(SECOND, source=source), offset=None, verdict=Verdict.BLOCKED)
    found = claimed([entry(FIRST, 60, source), blocked], commits={}, before_the_commit=True)
    assert (found.cases, found.without_records) == ([], 1)
    (note,) = found.notes
    assert note.kind == "not_counted"
    assert note.text.startswith("billing orders: not verified, because only 1 of 2 partitions has an offset to verify")


@pytest.mark.parametrize("ids", [("other", "D"), ("S", "other")])
def test_a_plan_for_other_clusters_is_refused(claimed, ids):
    with pytest.raises(Refused, match="the plan was made for another cluster"):
        claimed([entry()], ids=ids)


def test_only_what_was_copied_is_read_for_the_plan_of_a_copy(claimed):
    """Offsets of other partitions, and those of merged topics, are compared as ever."""
    merged = [entry(FIRST, 7, ((FIRST, 50), (SECOND, 9))), entry(SECOND, 8, ((FIRST, 50), (SECOND, 9)))]
    of_first = BacklogRange(FIRST, 40, 90, FIRST, 3)
    copied = Backlog("streamshift-copy-0123456789abcdef", "S", "D", "snapshot", (), (of_first,))
    for entries, ranges in ([entry(), entry(SECOND, source=((SECOND, 5),))], [of_first, None]), (merged, [None]):
        assert [case.copied for case in claimed(entries).within(copied).cases] == ranges
