"""A plan is applied only to the snapshot that it was made from, and only as a whole unless asked otherwise."""

import dataclasses
import re

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing.coverage import (
    NotPlanned,
    check_covers,
    check_selected,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import (
    Plan,
    PlanEntry,
    SourcePosition,
    from_json,
    to_json,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import (
    OpenTransaction,
    Snapshot,
    SnapshotEntry,
    SnapshotGroup,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Verdict

OFFSETS = {("billing", "orders", 0): 5, ("billing", "orders", 1): 7, ("fraud", "clicks", 0): 9}


def snapshot_of(offsets, metadata=""):
    entries = tuple(
        SnapshotEntry(group, TopicPartition(topic, partition), CommittedOffset(offset, metadata))
        for (group, topic, partition), offset in offsets.items()
    )
    return Snapshot("onprem-id", (), entries)


def plan_of(snapshot, offsets):
    """Other names at the destination: what counts is the source's."""
    entries = [
        PlanEntry(f"new-{group}", at, offset, Verdict.EXACT, (SourcePosition(group, at, offset),))
        for (group, topic, partition), offset in offsets.items()
        for at in [TopicPartition(topic, partition)]
    ]
    return Plan("onprem-id", "cloud-id", snapshot.digest(), tuple(entries))


SNAPSHOT = snapshot_of(OFFSETS)
PLAN = plan_of(SNAPSHOT, OFFSETS)


def test_a_plan_with_an_entry_for_everything_leaves_nothing_out():
    assert check_covers(PLAN, SNAPSHOT, "fail") == NotPlanned()


def test_removed_lines_are_named_and_refused():
    torn = dataclasses.replace(PLAN, entries=PLAN.entries[:1])
    with pytest.raises(Refused) as refused:
        check_covers(torn, SNAPSHOT, "fail")
    assert "no entry for 2 commits of the snapshot that it was made from: billing orders-1, fraud clicks-0" in str(
        refused.value
    )
    assert "on_missing_entry" in str(refused.value)


def test_removed_lines_are_left_out_where_that_is_asked_for():
    torn = dataclasses.replace(PLAN, entries=PLAN.entries[:2])
    line = "fraud clicks-0: no entry in the plan: left out (on_missing_entry: skip)"
    assert check_covers(torn, SNAPSHOT, "skip") == (frozenset({"fraud"}), (line,))


def test_partitions_without_a_commit_may_be_planned_as_well():
    at = TopicPartition("orders", 2)
    more = PlanEntry("new-billing", at, None, Verdict.UNCOMMITTED, (SourcePosition("billing", at, None),))
    assert check_covers(dataclasses.replace(PLAN, entries=(*PLAN.entries, more)), SNAPSHOT, "fail") == NotPlanned()


@pytest.mark.parametrize("on_missing_entry", ["fail", "skip"])
@pytest.mark.parametrize(
    ("now", "told"),
    [
        ({**OFFSETS, ("billing", "orders", 1): 12}, "group billing: orders-1 from 7 to 12."),
        (
            {key: OFFSETS[key] for key in list(OFFSETS)[:2]},
            "in the plan, and not selected or without committed offsets now: fraud.",
        ),
        ({**OFFSETS, ("audit", "orders", 0): 1}, "selected, and not in the plan: audit."),
        (
            {("billing", "orders", number): 1 for number in range(6)} | {("fraud", "clicks", 0): 9},
            "orders-1 from 7 to 1, orders-2 from none to 1, orders-3 from none to 1, orders-4 from none to 1 and 1 more.",
        ),
    ],
)
def test_a_source_that_has_moved_is_told_by_group_partition_and_both_offsets(now, told, on_missing_entry):
    moved = {group for group, *_rest in now} == {group for group, *_rest in OFFSETS}
    what = "the source's groups have moved since" if moved else "the selected groups .* are not those that the plan was"
    with pytest.raises(Refused, match=what) as refused:
        check_covers(PLAN, snapshot_of(now), on_missing_entry)
    assert told in str(refused.value)


def test_an_edited_source_offset_is_told_as_that():
    edited = plan_of(SNAPSHOT, {**OFFSETS, ("billing", "orders", 1): 12})
    with pytest.raises(Refused, match="somebody has edited the offsets of the source in the plan") as refused:
        check_covers(edited, SNAPSHOT, "fail")
    assert "group billing: orders-1 from 7 to 12 in the plan" in str(refused.value)


@pytest.mark.parametrize(
    ("key", "offset", "told"),
    [
        (("payments", "orders", 0), 5, "payments orders-0"),
        (("billing", "orders", 7), 5, "billing orders-7"),
        (("billing", "clicks", 0), 5, "billing clicks-0"),
    ],
)
def test_what_somebody_has_added_to_a_plan_is_told_whatever_is_missing(key, offset, told):
    """A group that nobody has selected would get an offset."""
    edited = plan_of(SNAPSHOT, {**dict(list(OFFSETS.items())[:2]), key: offset})
    with pytest.raises(
        Refused, match=rf"the plan has 1 commit of the source that is not in the snapshot .* \({told}\): some"
    ):
        check_covers(edited, SNAPSHOT, "skip")


def test_equal_offsets_with_other_metadata_are_another_snapshot():
    with pytest.raises(Refused, match="every offset is the same, but metadata, leader epochs"):
        check_covers(PLAN, snapshot_of(OFFSETS, "other"), "fail")


def test_the_kept_snapshot_names_what_differs_where_every_offset_is_the_same():
    orders, clicks = TopicPartition("orders", 1), TopicPartition("clicks", 0)
    entries = (
        SNAPSHOT.entries[0],
        SnapshotEntry("billing", orders, CommittedOffset(7, "other")),
        SnapshotEntry("fraud", clicks, CommittedOffset(9, "", 3)),
    )
    kept = dataclasses.replace(SNAPSHOT, groups=(SnapshotGroup("fraud", "classic"),))
    is_open = (OpenTransaction("fraud", clicks, "since 9:00"),)
    taken = dataclasses.replace(kept, entries=entries, groups=(SnapshotGroup("fraud", "consumer"),), open=is_open)
    with pytest.raises(
        Refused,
        match="every offset is the same, but the metadata of billing orders-1 and the leader epochs of fraud clicks-0 and the "
        "types of fraud and the open transactions of fraud clicks-0 differ",
    ):
        check_covers(plan_of(kept, OFFSETS), taken, "fail", lambda: kept)
    with pytest.raises(Refused, match="but metadata, leader epochs or the types of groups differ"):
        check_covers(plan_of(kept, OFFSETS), taken, "fail", lambda: snapshot_of({}))


def test_a_snapshot_of_another_cluster_is_refused():
    with pytest.raises(
        Refused, match="another source cluster: that of the snapshot has the id elsewhere-id, not onprem-id"
    ):
        check_covers(PLAN, dataclasses.replace(SNAPSHOT, cluster_id="elsewhere-id"), "fail")


@pytest.mark.parametrize("number", [0, 1])
def test_one_line_that_was_given_another_group_is_refused(number):
    """The group would have no offset there, and one that nobody has selected would get it."""
    entries = list(PLAN.entries)
    entries[number] = dataclasses.replace(entries[number], group="another")
    with pytest.raises(Refused, match="somebody has edited the names of groups in the plan") as refused:
        check_covers(dataclasses.replace(PLAN, entries=tuple(entries)), SNAPSHOT, "fail")
    assert "group billing, topic orders, partition" in str(refused.value) and "another" in str(refused.value)


def copied(plan):
    """The plan as files give it back, with each group once more under another name."""
    copies = tuple(dataclasses.replace(entry, group="copy") for entry in plan.entries)
    return from_json(to_json(dataclasses.replace(plan, entries=(*plan.entries, *copies))), "plan.json")


def test_a_group_that_becomes_several_may_lose_none_of_its_lines():
    whole = copied(PLAN)
    assert check_covers(whole, SNAPSHOT, "fail") == NotPlanned()
    torn = dataclasses.replace(whole, entries=tuple(entry for entry in whole.entries if entry.group != "new-billing"))
    with pytest.raises(Refused, match=re.escape("the plan lacks what it was made with: 2 lines of new-billing")):
        check_covers(torn, SNAPSHOT, "fail")
    groups, (line,) = check_covers(torn, SNAPSHOT, "skip")
    assert groups == {"new-billing"} and line.startswith("2 lines of new-billing: no entry in the plan: left out")


def test_a_group_that_was_renamed_in_all_of_its_lines_is_refused():
    made = from_json(to_json(PLAN), "plan.json")
    renamed = tuple(dataclasses.replace(entry, group="other") for entry in made.entries if entry.group == "new-billing")
    with pytest.raises(Refused, match="somebody has edited the names of groups in the plan.*made without other"):
        check_covers(dataclasses.replace(made, entries=(*renamed, *made.entries[2:])), SNAPSHOT, "skip")


def test_a_plan_of_an_earlier_release_tells_of_commits_alone():
    whole = dataclasses.replace(copied(PLAN), lines={})
    torn = dataclasses.replace(whole, entries=whole.entries[1:])
    assert check_covers(torn, SNAPSHOT, "fail") == NotPlanned()
    assert check_covers(dataclasses.replace(PLAN, entries=PLAN.entries[1:]), SNAPSHOT, "skip").groups == {"new-billing"}


@pytest.mark.parametrize(
    ("selection", "told"),
    [
        (Selection(groups=("new-billing",)), "the plan has 1 group that is not selected: new-fraud"),
        (Selection(group_patterns=("new-b.*",)), "the plan has 1 group that is not selected: new-fraud"),
        (Selection(groups=("nobody",)), "the plan has 2 groups that are not selected: new-billing, new-fraud"),
        (
            Selection(group_patterns=(".*",), exclude_group_patterns=("new-f.*",)),
            "the plan has 1 group that is not selected: new-fraud",
        ),
        (Selection(group_patterns=(".*",), topics=("orders",)), "the plan has 1 topic that is not selected: clicks"),
    ],
)
def test_a_plan_without_a_snapshot_has_nothing_that_is_not_selected(selection, told):
    with pytest.raises(Refused, match=told):
        check_selected(PLAN, selection)


def test_a_named_group_that_is_not_in_the_plan_is_told():
    assert check_selected(PLAN, Selection(group_patterns=(".*",))) == NotPlanned()
    named = Selection(groups=("new-billing", "new-fraud", "new-shipping"))
    assert check_selected(PLAN, named) == (frozenset({"new-shipping"}), ("new-shipping: not in the plan",))
