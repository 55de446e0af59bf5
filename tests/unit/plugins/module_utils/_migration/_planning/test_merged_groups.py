"""Groups that become one: the commit that counts, and what the plan says of the others."""

import dataclasses

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import LogFacts
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.merged_groups import (
    at_highest,
    highest_key,
    merge_drafts,
    merged_entry,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import (
    Draft,
    from_snapshot,
    with_uncommitted,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import Mapping, Rule
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Evidence, PlanEntry, SourcePosition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnConflict, OnUncommitted
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import Snapshot, SnapshotEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import CertificateName, Reason, Verdict

ORDERS = TopicPartition("orders", 0)
MERGE = Mapping(group_rules=(Rule("all", pattern="billing|shipping"),))
LOG = LogFacts(10, 202, 210)


def drafts(policy: str, *commits: tuple[str, int, int], counts: int = 1) -> list[Draft]:
    """Of (group, partition of orders, offset)."""
    entries = tuple(
        SnapshotEntry(group, ORDERS._replace(partition=number), CommittedOffset(offset, f"of {group}", 2))
        for group, number, offset in commits
    )
    wanted = from_snapshot(Snapshot("id", (), entries), MERGE, OnConflict(policy))
    return merge_drafts(with_uncommitted(wanted, {"orders": counts}), OnConflict(policy))


def decided(draft: Draft) -> PlanEntry:
    return draft.entry(Verdict.EXACT, draft.offset, repeats=0, evidence=Evidence(certificate=CertificateName.SAME_LOG))


def plan(policy: str, *commits: tuple[str, int, int], uncommitted: str = "ignore", counts: int = 1) -> list[PlanEntry]:
    return [
        merged_entry(
            decided(draft), decided(highest_of(draft)), draft, OnConflict(policy), OnUncommitted(uncommitted), LOG
        )
        for draft in drafts(policy, *commits, counts=counts)
        if draft.committed is not None
    ]


def highest_of(draft: Draft) -> Draft:
    return at_highest({draft.key: draft}).get(highest_key(draft.key), draft)


def test_the_lowest_offset_is_safe_and_says_how_many_offsets_may_be_repeated():
    (entry,) = plan("lowest", ("billing", 0, 55), ("shipping", 0, 40))
    assert (entry.group, entry.offset, entry.metadata) == ("all", 40, "of shipping")
    assert (entry.verdict, entry.reason, entry.repeats) == (Verdict.SAFE, Reason.GROUPS_MERGED, 15)
    assert [(at.group, at.offset) for at in entry.source] == [("shipping", 40), ("billing", 55)]
    assert entry.evidence.certificate is None and "shipping 40, billing 55" in entry.detail


def test_the_highest_offset_is_requested_and_says_what_one_group_has_not_consumed():
    (entry,) = plan("highest", ("billing", 0, 55), ("shipping", 0, 40))
    assert (entry.offset, entry.metadata, entry.verdict, entry.reason) == (55, "of billing", Verdict.REQUESTED, None)
    assert "one of the groups has not consumed 15 offsets before this one" in entry.detail
    assert (entry.repeats, entry.skipped) == (0, 15)


@pytest.mark.parametrize(
    ("policy", "uncommitted", "repeats", "skipped"),
    [
        ("lowest", "start", 45, 0),
        ("lowest", "end", 147, 0),
        ("highest", "start", 0, 45),
        ("highest", "end", 147, 0),
        ("highest", "ignore", None, None),
    ],
)
def test_what_is_repeated_and_skipped_is_counted_as_the_option_takes_a_group_without_an_offset(
    policy, uncommitted, repeats, skipped
):
    commits = ("billing", 0, 55), ("billing", 1, 7), ("shipping", 1, 7)
    (entry, _agreed) = plan(policy, *commits, uncommitted=uncommitted, counts=2)
    assert (entry.repeats, entry.skipped) == (repeats, skipped)
    assert uncommitted != "start" or policy == "lowest" or "has not consumed 45 offsets before this one" in entry.detail


def test_what_has_expired_is_not_skipped():
    (entry,) = plan("highest", ("billing", 0, 55), ("shipping", 0, 3))
    assert entry.skipped == 55 - LOG.log_start and "has not consumed 45 offsets before this one" in entry.detail
    (entry,) = plan("highest", ("billing", 0, 5), ("shipping", 0, 3))  # all of it
    assert entry.skipped == 0 and "has not consumed" not in entry.detail


def test_what_the_highest_offset_itself_repeats_stays():
    (draft,) = drafts("highest", ("billing", 0, 55), ("shipping", 0, 40))
    for repeats in (3, None):
        safe = draft.entry(Verdict.SAFE, 52, reason=Reason.EQUAL_RECORDS, repeats=repeats)
        entry = merged_entry(safe, safe, draft, OnConflict.HIGHEST, OnUncommitted.IGNORE, LOG)
        assert (entry.verdict, entry.repeats, entry.skipped) == (Verdict.REQUESTED, repeats, 15)


@pytest.mark.parametrize("policy", ["lowest", "highest"])
@pytest.mark.parametrize("reason", [Reason.EXPIRED, Reason.CAUGHT_UP, Reason.EQUAL_RECORDS])
def test_whether_an_option_has_chosen_the_offset_is_not_forgotten(policy, reason):
    (draft,) = drafts(policy, ("billing", 0, 55), ("shipping", 0, 40))
    chosen = draft.entry(Verdict.SAFE, 50, reason=reason)
    entry = merged_entry(chosen, chosen, draft, OnConflict(policy), OnUncommitted.IGNORE, LOG)
    assert entry.reason != reason and entry.chosen == (None if reason is Reason.EQUAL_RECORDS else reason)


@pytest.mark.parametrize("policy", ["lowest", "highest"])
def test_groups_that_agree_are_no_conflict(policy):
    (entry,) = plan(policy, ("billing", 0, 55), ("shipping", 0, 55))
    assert (entry.offset, entry.verdict, entry.repeats) == (55, Verdict.EXACT, 0)
    assert len(entry.source) == 2


@pytest.mark.parametrize(
    ("policy", "uncommitted", "offset", "verdict", "told"),
    [
        ("lowest", "ignore", None, Verdict.BLOCKED, "nobody knows what shipping has consumed; set on_uncommitted to"),
        ("lowest", "start", 10, Verdict.SAFE, "shipping counts as having consumed nothing"),
        ("lowest", "end", 55, Verdict.REQUESTED, "shipping counts as having consumed the partition"),
        ("highest", "ignore", 55, Verdict.REQUESTED, "nobody knows what shipping has consumed"),
        (
            "highest",
            "start",
            55,
            Verdict.REQUESTED,
            "one of the groups has not consumed 45 offsets before this one; shipping",
        ),
        ("highest", "end", 55, Verdict.REQUESTED, "shipping counts as having consumed the partition"),
    ],
)
def test_a_group_that_has_committed_on_another_partition_only(policy, uncommitted, offset, verdict, told):
    commits = ("billing", 0, 55), ("billing", 1, 7), ("shipping", 1, 7)
    first, second = plan(policy, *commits, uncommitted=uncommitted, counts=2)
    assert (first.offset, first.verdict) == (offset, verdict)
    assert told in first.detail
    assert [(at.group, at.offset) for at in first.source] == [("billing", 55), ("shipping", None)]
    if verdict is Verdict.SAFE:
        assert (first.repeats, first.metadata) == (45, "")
    assert (second.offset, second.verdict) == (7, Verdict.EXACT)


def test_a_partition_that_nobody_has_committed_stays_uncommitted():
    found = drafts("lowest", ("billing", 0, 5), ("shipping", 0, 5), counts=2)
    (nothing,) = [draft for draft in found if draft.committed is None]
    assert {at.group for at in (nothing.position, *nothing.others)} == {"billing", "shipping"}
    entry = nothing.uncommitted(OnUncommitted.IGNORE, 0, 9, "no commit")
    assert not at_highest({nothing.key: nothing})
    assert merged_entry(entry, entry, nothing, OnConflict.LOWEST, OnUncommitted.IGNORE, LOG) == entry


@pytest.mark.parametrize("uncommitted", ["ignore", "start"])
def test_repeats_that_the_highest_offset_does_not_tell_are_not_counted(uncommitted):
    (draft, *_more) = drafts("lowest", ("billing", 0, 55), ("shipping", 0, 40))
    if uncommitted == "start":
        draft = draft._replace(others=(*draft.others, SourcePosition("returns", ORDERS, None)))
    policies = OnConflict.LOWEST, OnUncommitted(uncommitted), LOG
    open_tail = draft.entry(Verdict.SAFE, 55, reason=Reason.TAIL_NOT_COUNTED)
    entry = merged_entry(decided(draft), open_tail, draft, *policies)
    assert (entry.verdict, entry.reason, entry.repeats) == (Verdict.SAFE, Reason.GROUPS_MERGED, None)
    lags = draft.entry(Verdict.BLOCKED, reason=Reason.DESTINATION_LAGS)
    entry = merged_entry(decided(draft), lags, draft, *policies)
    assert (entry.verdict, entry.repeats) == (Verdict.SAFE, None)
    assert (
        "the repeats are not counted, because the offset for 55 is not known (destination_lags); committed were"
        in entry.detail
    )


@pytest.mark.parametrize(
    ("policy", "lacks", "uncommitted", "stays"),
    [
        ("highest", False, "ignore", None),
        ("lowest", True, "ignore", None),
        ("lowest", True, "start", None),
        ("lowest", True, "end", 40),
        ("lowest", False, "ignore", 40),
    ],
)
def test_what_loses_nothing_of_one_commit_is_said_only_if_it_loses_nothing_of_the_others(
    policy, lacks, uncommitted, stays
):
    (draft, *_more) = drafts(policy, ("billing", 0, 55), ("shipping", 0, 40))
    if lacks:
        draft = draft._replace(others=(SourcePosition("returns", ORDERS, None),))
    blocked = dataclasses.replace(draft.entry(Verdict.BLOCKED, reason=Reason.DESTINATION_LAGS), lossless=40)
    entry = merged_entry(blocked, blocked, draft, OnConflict(policy), OnUncommitted(uncommitted), LOG)
    assert (entry.verdict, entry.lossless) == (Verdict.BLOCKED, stays)
