"""Groups that become one: the commit that counts, and what the plan says of the others."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.merged_groups import (
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
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Evidence, PlanEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnConflict, OnUncommitted
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import Snapshot, SnapshotEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import CertificateName, Reason, Verdict

ORDERS = TopicPartition("orders", 0)
MERGE = Mapping(group_rules=(Rule("all", pattern="billing|shipping"),))
LOG_START = 10


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
        merged_entry(decided(draft), draft, OnConflict(policy), OnUncommitted(uncommitted), LOG_START)
        for draft in drafts(policy, *commits, counts=counts)
        if draft.committed is not None
    ]


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


@pytest.mark.parametrize("policy", ["lowest", "highest"])
def test_groups_that_agree_are_no_conflict(policy):
    (entry,) = plan(policy, ("billing", 0, 55), ("shipping", 0, 55))
    assert (entry.offset, entry.verdict, entry.repeats) == (55, Verdict.EXACT, 0)
    assert len(entry.source) == 2


@pytest.mark.parametrize(
    ("policy", "uncommitted", "offset", "verdict", "told"),
    [
        ("lowest", "ignore", None, Verdict.BLOCKED, "nobody knows what shipping has consumed; set on_uncommitted to"),
        ("lowest", "start", LOG_START, Verdict.SAFE, "shipping counts as having consumed nothing"),
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
        assert (first.repeats, first.metadata) == (55 - LOG_START, "")
    assert (second.offset, second.verdict) == (7, Verdict.EXACT)


def test_a_partition_that_nobody_has_committed_stays_uncommitted():
    found = drafts("lowest", ("billing", 0, 5), ("shipping", 0, 5), counts=2)
    (nothing,) = [draft for draft in found if draft.committed is None]
    assert {at.group for at in (nothing.position, *nothing.others)} == {"billing", "shipping"}
    entry = nothing.uncommitted(OnUncommitted.IGNORE, 0, 9, "no commit")
    assert merged_entry(entry, nothing, OnConflict.LOWEST, OnUncommitted.IGNORE, 0) == entry
