"""What people see."""

import dataclasses

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model import plan as plan_file
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan, SourcePosition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import ReturnEntries
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import Snapshot, SnapshotEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict
from ansible_collections.streamshift.kafka.plugins.module_utils._module import results
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._module.planned import PLAN, entry


def test_a_long_diff_shows_the_first_lines_that_differ_and_counts_the_rest():
    same = [f"same {number}" for number in range(5000)]
    old, new = ([f"{word} {number:04}" for number in range(2000)] for word in ("old", "new"))
    shown = results.diff([*same, *old], [*same, *new], "a", "b")
    assert shown["before"].splitlines() == [*old[:100], "... and 3,800 more lines"]
    assert shown["after"].splitlines() == [*new[:100], "... and 3,800 more lines"]
    only_new = results.diff(same, [*same, *new[:201]], "a", "b")
    assert only_new["before"].splitlines() == ["... and 1 more line"]
    assert only_new["after"].splitlines() == [*new[:200], "... and 1 more line"]
    few = results.diff([*same, "x"], [*same, "y"], "a", "b")
    assert (few["before"], few["after"]) == ("x\n", "y\n")
    short = results.diff(["same", "x"], ["same", "y"], "a", "b")
    assert short["before"] == "same\nx\n"  # with what stands around it
    assert results.diff(same, same, "a", "b")["before"] == results.diff(same, same, "a", "b")["after"]


@pytest.mark.parametrize(("policy", "expected"), [("all", [1, 2, 3]), ("changed", [2]), ("none", [])])
def test_entries_are_returned_as_asked(policy, expected):
    assert results.returned([1, 2, 3], ReturnEntries(policy), lambda entry: entry == 2) == expected


def test_an_entry_names_its_group_partition_on_both_clusters():
    renamed = dataclasses.replace(PLAN.entries[2], group="billing-eu", partition=TopicPartition("eu.orders", 3))
    assert results.entry_line(renamed) == "billing orders-0: 41 -> billing-eu eu.orders-3: 7, exact"
    row = results.plan_row(renamed)
    assert (row["group"], row["topic"], row["partition"], row["offset"]) == ("billing-eu", "eu.orders", 3, 7)
    assert row["source"] == [{"group": "billing", "topic": "orders", "partition": 0, "offset": 41}]


def test_a_name_with_blanks_or_commas_is_in_quotes_in_each_line():
    odd = dataclasses.replace(PLAN.entries[2], group="new, group")
    assert results.entry_line(odd) == "billing orders-0: 41 -> 'new, group' orders-0: 7, exact"
    (line,) = results.commit_lines({("lost property", TopicPartition("orders", 0)): CommittedOffset(7)})
    assert line == "'lost property' orders-0: 7"


def test_new_records_at_the_source_are_not_said_to_be_nothing_to_lose():
    blocked = entry(
        "billing", 0, Verdict.BLOCKED, None, reason=Reason.NEW_RECORDS, detail="only at the source", lossless=6
    )
    assert results.entry_line(blocked).endswith("only at the source (the group then goes on at offset 6)")


def test_the_plans_diff_has_a_line_for_every_entry():
    lines = results.plan_lines(PLAN)
    assert len(lines) == len(PLAN.entries)
    assert lines[2] == "audit orders-2: none -> not set, uncommitted"
    assert lines[3] == "billing orders-0: 41 -> 7, exact"


def test_an_entry_with_several_positions_shows_how_many():
    positions = tuple(SourcePosition("audit", TopicPartition("orders", number), number) for number in range(4))
    merged = dataclasses.replace(PLAN.entries[4], source=positions)
    assert results.entry_line(merged) == "audit orders-0: 4 positions -> 9, safe (equal_records) repeats at most 2"


def test_every_verdict_is_counted():
    assert results.plan_counts(PLAN) == {"exact": 1, "safe": 4, "blocked": 1, "requested": 0, "uncommitted": 1}


def test_commits_are_shown_with_their_metadata_and_what_is_missing_as_none():
    commits = {
        ("b", TopicPartition("t", 0)): None,
        ("a", TopicPartition("t", 10)): CommittedOffset(7, "of yesterday", 3),
        ("a", TopicPartition("t", 9)): CommittedOffset(7),
    }
    assert results.commit_lines(commits) == ["a t-9: 7", "a t-10: 7 'of yesterday'", "b t-0: none"]


def test_a_snapshots_diff_shows_its_commits():
    snapshot = Snapshot("id", (), (SnapshotEntry("billing", TopicPartition("orders", 0), CommittedOffset(41)),))
    assert results.snapshot_lines(snapshot) == ["billing orders-0: 41"]


def test_a_files_diff_names_the_file_and_ends_every_line():
    plan = Plan("a", "b", "c", PLAN.entries[1:3])
    diff = results.file_diff(None, plan, "/srv/onprem-to-cloud/plan.json", results.plan_lines, plan_file.from_json)
    assert diff == {
        "before_header": "plan.json (before)",
        "after_header": "plan.json (after)",
        "before": "",
        "after": "billing orders-0: 41 -> 7, exact\n"
        "billing orders-2: 41 -> 7, safe (tail_not_counted) repeats not counted: not counted\n",
    }


def test_a_damaged_file_that_is_replaced_is_shown_as_damaged():
    diff = results.file_diff("{", Plan("a", "b", "c", ()), "plan.json", results.plan_lines, plan_file.from_json)
    assert diff["before"].startswith("the plan file plan.json is damaged")
