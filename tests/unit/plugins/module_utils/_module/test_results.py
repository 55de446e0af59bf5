# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What people see."""

from __future__ import annotations

import dataclasses

import pytest
import yaml

from ansible_collections.streamshift.kafka.plugins.module_utils._model import plan as plan_file
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan, PlanEntry, SourcePosition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import ReturnEntries
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import Snapshot, SnapshotEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict
from ansible_collections.streamshift.kafka.plugins.module_utils._module import results
from ansible_collections.streamshift.kafka.plugins.modules import kafka_offset_commit, kafka_offset_translate


def entry(group: str, number: int, verdict: Verdict, offset: int | None, source: int | None = 41, **more: object):
    partition = TopicPartition("orders", number)
    return PlanEntry(group, partition, offset, verdict, (SourcePosition(group, partition, source),), **more)  # type: ignore[arg-type]


LAG = {"reason": Reason.DESTINATION_LAGS, "detail": "wait", "lossless": 6}
PLAN = Plan(
    "onprem-id",
    "cloud-id",
    "digest",
    (
        entry("shipping", 0, Verdict.BLOCKED, None, **LAG),
        entry("billing", 2, Verdict.SAFE, 7, reason=Reason.TAIL_NOT_COUNTED, detail="not counted"),
        entry("billing", 0, Verdict.EXACT, 7, repeats=0, detail="nothing to say"),
        entry("billing", 1, Verdict.SAFE, 7, reason=Reason.EQUAL_RECORDS, repeats=2, detail="two are equal"),
        entry("audit", 0, Verdict.SAFE, 9, reason=Reason.EQUAL_RECORDS, repeats=2),
        entry("audit", 1, Verdict.SAFE, 9, reason=Reason.EQUAL_RECORDS, repeats=3),
        entry("audit", 2, Verdict.UNCOMMITTED, None, None),
    ),
)


def test_a_long_diff_shows_the_first_thousand_lines_that_differ_and_counts_the_rest():
    same = [f"same {number}" for number in range(5000)]
    old, new = ([f"{word} {number:04}" for number in range(2000)] for word in ("old", "new"))
    shown = results.diff([*same, *old], [*same, *new], "a", "b")
    assert shown["before"].splitlines() == old[:500]
    assert shown["after"].splitlines() == [*new[:500], "... and 3,000 more lines"]
    only_new = results.diff(same, [*same, *new[:1001]], "a", "b")
    assert only_new["before"] == ""
    assert only_new["after"].splitlines() == [*new[:1000], "... and 1 more line"]
    few = results.diff([*same, "x"], [*same, "y"], "a", "b")
    assert (few["before"], few["after"]) == ("x\n", "y\n")
    short = results.diff(["same", "x"], ["same", "y"], "a", "b")
    assert short["before"] == "same\nx\n"  # with what stands around it
    assert results.diff(same, same, "a", "b")["before"] == results.diff(same, same, "a", "b")["after"]


@pytest.mark.parametrize(("policy", "expected"), [("all", [1, 2, 3]), ("changed", [2]), ("none", [])])
def test_entries_are_returned_as_asked(policy, expected):
    assert results.returned([1, 2, 3], ReturnEntries(policy), lambda entry: entry == 2) == expected


def test_the_plans_table_counts_by_group_and_tells_what_is_not_exact():
    assert results.plan_summary(PLAN) == [
        "group     partitions        exact         safe      blocked  uncommitted  at most repeated",
        "audit              3            0            2            0            1                 5",
        "billing            3            1            2            0            0       not counted",
        "shipping           1            0            0            1            0                 0",
        "  audit orders-0: 41 -> 9, safe (equal_records) repeats at most 2",
        "  audit orders-1: 41 -> 9, safe (equal_records) repeats at most 3",
        "  billing orders-1: 41 -> 7, safe (equal_records) repeats at most 2: two are equal",
        "  billing orders-2: 41 -> 7, safe (tail_not_counted) repeats not counted: not counted",
        "  shipping orders-0: 41 -> not set, blocked (destination_lags): wait (offset 6 would lose nothing)",
    ]


def test_what_is_not_exact_is_told_without_the_table():
    assert [f"  {line}" for line in results.not_exact(PLAN)] == results.plan_summary(PLAN)[4:]


def test_an_entry_names_its_group_partition_on_both_clusters():
    renamed = dataclasses.replace(PLAN.entries[2], group="billing-eu", partition=TopicPartition("eu.orders", 3))
    row = results.plan_row(renamed)
    assert (row["group"], row["topic"], row["partition"], row["offset"]) == ("billing-eu", "eu.orders", 3, 7)
    assert row["source"] == [{"group": "billing", "topic": "orders", "partition": 0, "offset": 41}]


def test_inside_one_cluster_old_and_new_groups_are_side_by_side_with_their_lags():
    first, second = (TopicPartition("orders", number) for number in range(2))
    entries = (
        PlanEntry("all", first, 40, Verdict.SAFE, (SourcePosition("b", first, 40), SourcePosition("a", first, 55)),
                  reason=Reason.GROUPS_MERGED, repeats=15, detail="told"),
        PlanEntry("new-a", second, 7, Verdict.EXACT, (SourcePosition("a", second, 7),), repeats=0),
        PlanEntry("new-a", first, None, Verdict.UNCOMMITTED, (SourcePosition("a", first, None),)),
    )  # fmt: skip
    assert results.plan_summary(Plan("id", "id", "digest", entries), {first: 60, second: 10}) == [
        "old group         lag  new group         lag  partitions        exact         safe  uncommitted  at most repeated",
        "a                   5  all                20           1            0            1            0                15",
        "b                  20  all                20           1            0            1            0                15",
        "a                   3  new-a               3           2            1            0            1                 0",
        "  all orders-0: 40, 55 -> 40, safe (groups_merged) repeats at most 15: told",
    ]


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


def test_the_commits_table_counts_by_group_and_tells_what_was_left_out():
    keys = [("billing", TopicPartition("orders", number)) for number in range(12)]
    before = dict.fromkeys(keys)
    assert results.commit_summary(before, keys[:5], ["billing orders-7: left"]) == [
        "group    partitions  changed",
        "billing          12        5",
        "  billing orders-7: left",
    ]


@pytest.mark.parametrize(
    ("written", "recorded", "line"),
    [
        ("", "ab", "0 of 2 groups in the receipt go back"),
        ("a", "ab", "1 of 2 groups in the receipt goes back"),
        ("ab", "abc", "2 of 3 groups in the receipt go back"),
        ("", "a", "0 of 1 group in the receipt goes back"),
    ],
)
def test_a_rollback_says_how_many_groups_of_how_many_go_back(written, recorded, line):
    keys = [(group, TopicPartition("orders", number)) for group in written for number in range(3)]
    assert results.rollback_line(keys, set(recorded)) == line


def test_the_documented_samples_are_tables_of_this_form():
    entries = tuple(entry("billing", number, Verdict.EXACT, 7, repeats=0) for number in range(12))
    sample = yaml.safe_load(kafka_offset_translate.RETURN)["summary"]["sample"]
    assert sample == results.plan_summary(Plan("a", "b", "c", entries))
    sample = yaml.safe_load(kafka_offset_commit.RETURN)["summary"]["sample"]
    keys = [each.key for each in entries]
    assert sample == results.commit_summary(dict.fromkeys(keys), keys, [])


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
    text = plan_file.to_json(Plan("a", "b", "c", PLAN.entries[1:3]))
    diff = results.file_diff(None, text, "/srv/onprem-to-cloud/plan.json", results.plan_lines, plan_file.from_json)
    assert diff == {
        "before_header": "plan.json (before)",
        "after_header": "plan.json (after)",
        "before": "",
        "after": "billing orders-0: 41 -> 7, exact\n"
        "billing orders-2: 41 -> 7, safe (tail_not_counted) repeats not counted: not counted\n",
    }


def test_a_damaged_file_that_is_replaced_is_shown_as_damaged():
    text = plan_file.to_json(Plan("a", "b", "c", ()))
    diff = results.file_diff("{", text, "plan.json", results.plan_lines, plan_file.from_json)
    assert diff["before"].startswith("the plan file plan.json is damaged")
