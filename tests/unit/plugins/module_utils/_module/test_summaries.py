"""What a run comes to fits on one screen, whatever its size."""

import dataclasses
import re

import pytest
import yaml

from ansible_collections.streamshift.kafka.plugins.module_utils._model.cluster_identity import LogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan, PlanEntry, SourcePosition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.readiness import absent_records
from ansible_collections.streamshift.kafka.plugins.module_utils._model.record_sum import Bound, RecordSum
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.report import Finding
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Absent, Reason, Verdict
from ansible_collections.streamshift.kafka.plugins.module_utils._module import summaries
from ansible_collections.streamshift.kafka.plugins.modules import kafka_offset_commit, kafka_offset_translate
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._module.planned import LAG, PLAN, entry


def test_the_plans_table_counts_by_group_and_tells_what_is_not_exact():
    assert summaries.plan_summary(PLAN) == [
        "group     partitions        exact         safe      blocked  uncommitted     at_most_repeated",
        "audit              3            0            2            0            1                    5",
        "billing            3            1            2            0            0  2,_not_counted_in_1",
        "shipping           1            0            0            1            0                    -",
        "  audit orders-0: 41 -> 9, safe (equal_records) repeats at most 2",
        "  audit orders-1: 41 -> 9, safe (equal_records) repeats at most 3",
        "  billing orders-1: 41 -> 7, safe (equal_records) repeats at most 2: two are equal",
        "  billing orders-2: 41 -> 7, safe (tail_not_counted) repeats not counted: not counted",
        "  shipping orders-0: 41 -> not set, blocked (destination_lags): wait (offset 6 would lose nothing)",
        (
            "Total: 3 groups, 7 group-partitions: 1 exact, 4 safe, 1 blocked, 1 uncommitted; "
            "at most 7 records repeated, not counted in 1 group-partition."
        ),
    ]


def test_columns_stand_below_each_other_whatever_names_show():
    """Escapes are longer than the characters that they stand for, and some letters are two columns wide, or none."""
    names = ["billing", "bill\u202eing", "\u8acb\u6c42", "cafe\u0301"]
    plan = Plan("1", "2", "digest", tuple(entry(name, 0, Verdict.EXACT, 7, repeats=0) for name in names))
    keys = plan.by_key
    for lines in (summaries.plan_summary(plan), summaries.commit_summary(dict.fromkeys(keys), keys, [])):
        table = lines[: len(names) + 1]
        assert "bill\\u202eing" in "".join(table) and "\u202e" not in "".join(table)
        assert len({len(line.replace("\u8acb\u6c42", "four").replace("\u0301", "")) for line in table}) == 1


@pytest.mark.parametrize(
    ("lost", "clusters", "words"),
    [
        ((0, 0, 0), 2, ""),
        ((20, 0, 1), 2, ", 21 unconsumed records lost before this run"),
        ((1, 0, 0), 1, ", 1 unconsumed record lost before this run"),
        ((20, None, 0), 2, ", 20 unconsumed records lost before this run, not counted in 1 group-partition"),
        ((0, None, 0), 2, ", unconsumed records lost before this run: not counted"),
    ],
)
def test_the_totals_say_what_is_lost(lost, clusters, words):
    entries = [entry("billing", at, Verdict.EXACT, 7, repeats=0, lost=its) for at, its in enumerate(lost)]
    blocked = entry("billing", 9, Verdict.BLOCKED, None, lost=None, **LAG)
    plan = Plan("1", str(clusters), "digest", (*entries, blocked))
    total = "Total: 1 group, 4 group-partitions: 3 exact, 0 safe, 1 blocked; at most 0 records repeated"
    assert summaries.plan_summary(plan)[-1] == f"{total}{words}."
    keys = plan.by_key
    said = summaries.commit_summary(dict.fromkeys(keys), [], [], [], summaries.lost_records(plan, keys))
    assert said[-1] == f"Total: 1 group, 4 group-partitions: 0 changed, 0 left out{words}."
    assert summaries.lost_records(plan, []) == ""


def test_the_totals_of_a_commit_say_what_its_offsets_cost():
    entries = (
        entry("billing", 0, Verdict.SAFE, 7, repeats=2),
        entry("billing", 1, Verdict.EXACT, 7, repeats=0, absent=Absent(10, 3)),
        entry("billing", 2, Verdict.SAFE, 7, repeats=4),
    )
    plan = Plan("1", "2", "digest", entries)
    now = dict.fromkeys(plan.by_key, CommittedOffset(7))
    told = ", at most 2 records repeated, 10 unconsumed records absent at the destination"
    assert summaries.costs(plan, entries[:2], now) == told  # the third has gone on
    said = summaries.commit_summary(now, now, [], [], told)
    assert said[-1] == f"Total: 1 group, 3 group-partitions: 3 changed, 0 left out{told}."
    assert summaries.costs(plan, [], now) == ""


def test_the_totals_of_a_commit_have_what_the_verification_has_counted():
    entries = (
        entry("billing", 0, Verdict.EXACT, 7, repeats=0, absent=Absent(1, 3, False)),
        entry("billing", 1, Verdict.EXACT, 7, repeats=0, absent=Absent(5, 3)),
        entry("billing", 2, Verdict.EXACT, 7, repeats=0),
    )
    plan = Plan("1", "2", "digest", entries)
    findings = [
        Finding("billing", ((at.source[0].partition, 3),), ((at.partition, 7),), absent=number, complete=complete)
        for at, number, complete in zip(entries, (19, 5, 100), (True, False, True), strict=True)
    ]
    told = summaries.costs(plan, entries[:2], plan.by_key, findings)  # the third has gone on
    assert told == ", 24 unconsumed records absent at the destination"
    assert absent_records(entries[:2], findings[:2]) == RecordSum(24)


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ((Bound.AT_LEAST, Bound.EXACTLY), "at least 5 unconsumed records"),
        ((Bound.AT_MOST, Bound.AT_MOST), "at most 5 unconsumed records"),
        ((Bound.AT_MOST, Bound.AT_LEAST), "about 5 unconsumed records"),
    ],
)
def test_the_totals_know_only_as_much_as_the_entries(bounds, words):
    entries = [
        entry("billing", at, Verdict.EXACT, 7, repeats=0, lost=lost, lost_bound=bound)
        for at, (lost, bound) in enumerate(zip((3, 2), bounds, strict=True))
    ]
    plan = Plan("1", "2", "digest", tuple(entries))
    assert summaries.plan_summary(plan)[-1].endswith(f"repeated, {words} lost before this run.")


def test_an_exact_entry_says_what_is_lost():
    given = entry("billing", 0, Verdict.EXACT, 7, repeats=0, detail="15 records are lost", lost=15)
    assert summaries.entry_line(given) == "billing orders-0: 41 -> 7, exact: 15 records are lost"


def test_exact_offsets_whose_destination_lacks_records_are_told():
    lacking = dataclasses.replace(PLAN.entries[2], detail=str(Absent(10, 41)), absent=Absent(10, 41))
    table, line, total = summaries.plan_summary(dataclasses.replace(PLAN, entries=(lacking,)))[1:]
    assert table.split() == ["billing", "1", "1", "0"]
    assert line == (
        "  billing orders-0: 41 -> 7, exact: 10 unconsumed records, from source offset 41 on, are not at the destination, "
        "though later ones are"
    )
    assert total.endswith("at most 0 records repeated; 10 unconsumed records absent at the destination.")


def test_entries_on_topics_that_do_not_exist_yet_are_named_as_predicted():
    plan = dataclasses.replace(
        PLAN, entries=tuple(dataclasses.replace(each, predicted=True) for each in PLAN.entries[:3])
    )
    lines = summaries.plan_summary(plan)
    assert lines[-1].endswith("records repeated: not counted; 3 predicted, on partitions that do not exist yet.")
    assert (
        "  shipping orders-0: 41 -> not set, predicted, blocked (destination_lags): wait (offset 6 would lose nothing)"
        in lines
    )


def test_what_is_not_exact_is_told_without_the_table():
    assert [f"  {line}" for line in summaries.not_exact(PLAN)] == summaries.plan_summary(PLAN)[4:-1]


def test_partitions_of_a_topic_that_are_blocked_by_one_cause_are_a_line():
    def blocked(number: int, detail: str, lossless: int | None = None) -> PlanEntry:
        partition = TopicPartition("orders", number)
        return PlanEntry(
            "billing", partition, None, Verdict.BLOCKED, (SourcePosition("billing", partition, 5 + number),),
            reason=Reason.PARTITION_COUNT_DIFFERS, detail=detail, lossless=lossless,
        )  # fmt: skip

    entries = (
        blocked(0, "3 here"),
        blocked(1, "3 here"),
        blocked(2, "other"),
        blocked(3, "3 here", 9),
        blocked(4, "3 here"),
    )
    assert summaries.not_exact(Plan("a", "b", "digest", entries)) == [
        "billing orders-0 to 1, orders-4: blocked (partition_count_differs): 3 here",
        "billing orders-2: 7 -> not set, blocked (partition_count_differs): other",
        "billing orders-3: 8 -> not set, blocked (partition_count_differs): 3 here (offset 9 would lose nothing)",
    ]


def test_inside_one_cluster_old_and_new_groups_are_side_by_side_with_their_lags():
    first, second = (TopicPartition("orders", number) for number in range(2))
    entries = (
        PlanEntry("all", first, 40, Verdict.SAFE, (SourcePosition("b", first, 40), SourcePosition("a", first, 55)),
                  reason=Reason.GROUPS_MERGED, repeats=15, detail="told"),
        PlanEntry("new-a", second, 7, Verdict.EXACT, (SourcePosition("a", second, 7),), repeats=0),
        PlanEntry("new-a", first, None, Verdict.UNCOMMITTED, (SourcePosition("a", first, None),)),
    )  # fmt: skip
    assert summaries.plan_summary(
        Plan("id", "id", "digest", entries), {first: LogRange(0, 60), second: LogRange(0, 10)}
    ) == [
        "old_group         lag  new_group         lag  partitions        exact         safe  uncommitted  at_most_repeated",
        "a                   5  all                20           1            0            1            0                15",
        "b                  20  all                20           1            0            1            0                15",
        "a                   3  new-a               3           2            1            0            1                 0",
        "  all orders-0: 40, 55 -> 40, safe (groups_merged) repeats at most 15: told",
        "Total: 2 groups, 3 group-partitions: 1 exact, 1 safe, 0 blocked, 1 uncommitted; at most 15 records repeated.",
    ]


def test_inside_one_cluster_what_has_expired_is_beside_the_lag():
    at = TopicPartition("orders", 0)
    entries = (
        PlanEntry("new-a", at, 8, Verdict.SAFE, (SourcePosition("a", at, 7),), reason=Reason.EXPIRED, repeats=0),
    )
    lines = summaries.plan_summary(Plan("id", "id", "digest", entries), {at: LogRange(8, 10)})
    assert lines[0].startswith("old_group            lag  new_group         lag  partitions")
    assert lines[1].startswith("a          2_(1_expired)  new-a               2           1")


def test_inside_one_cluster_the_totals_say_how_much_is_skipped():
    entries = (
        entry("audit", 0, Verdict.REQUESTED, 51, repeats=0, detail="10 offsets are skipped", skipped=10),
        entry("audit", 1, Verdict.REQUESTED, 30, repeats=11),
        entry("audit", 2, Verdict.REQUESTED, 9, None, repeats=0),
        entry("billing", 0, Verdict.EXACT, 41, repeats=0),
    )
    total = "Total: 2 groups, 4 group-partitions: 1 exact, 0 safe, 0 blocked, 3 requested; at most 11 records repeated"
    plan = Plan("onprem-id", "onprem-id", "digest", entries)
    assert summaries.plan_summary(plan)[-1] == f"{total}, 10 offsets skipped."
    assert summaries.costs(plan, entries, plan.by_key) == ", at most 11 records repeated, 10 offsets skipped"


def test_the_totals_say_what_a_merge_of_groups_skips_of_a_group_that_has_committed_nothing():
    """The highest offset counts, and on_uncommitted: start says that the other group has consumed nothing."""

    def merged(number: int, offset: int, skipped: int | None) -> PlanEntry:
        at = TopicPartition("parcels", number)
        source = SourcePosition("p-us", at, offset), SourcePosition("p-eu", at, None)
        return PlanEntry("p", at, offset, Verdict.REQUESTED, source, repeats=0, skipped=skipped)

    plan = Plan("onprem-id", "onprem-id", "digest", (merged(0, 120, 120), merged(1, 5, 5)))
    total = "Total: 1 group, 2 group-partitions: 0 exact, 0 safe, 0 blocked, 2 requested; at most 0 records repeated"
    assert summaries.plan_summary(plan)[-1] == f"{total}, 125 offsets skipped."
    unknown = dataclasses.replace(plan, entries=(merged(0, 120, 120), merged(1, 5, None)))
    assert summaries.plan_summary(unknown)[-1] == f"{total}, 120 offsets skipped, not counted in 1 group-partition."


def test_repeats_that_nobody_has_counted_are_not_told_as_none():
    """Of a backup without ids of topics, nothing shows which records its offsets mean."""
    entries = (entry("billing", 0, Verdict.REQUESTED, 41, reason=Reason.TOPIC_UNIDENTIFIED),)
    lines = summaries.plan_summary(Plan("onprem-id", "onprem-id", "digest", entries))
    assert lines[1].split()[-1] == "not_counted"
    assert lines[-1].endswith("1 requested; records repeated: not counted.")


@pytest.mark.parametrize(("expected", "lag"), [(CommittedOffset(5), "55"), (None, "-")])
def test_a_group_that_a_backup_is_restored_to_lags_by_what_it_has_committed_now(expected, lag):
    at = TopicPartition("orders", 0)
    entries = (
        PlanEntry("billing", at, 10, Verdict.EXACT, (SourcePosition("billing", at, 10),), expected=expected, repeats=0),
    )
    lines = summaries.plan_summary(Plan("id", "id", "digest", entries), {at: LogRange(0, 60)})
    assert lines[1].split()[:4] == ["billing", lag, "billing", "50"]


def test_the_commits_table_counts_by_group_and_tells_what_was_left_out():
    keys = [("billing", TopicPartition("orders", number)) for number in range(12)]
    before = dict.fromkeys(keys)
    assert summaries.commit_summary(before, keys[:5], ["billing orders-7: left"]) == [
        "group    partitions  changed",
        "billing          12        5",
        "  billing orders-7: left",
        "Total: 1 group, 12 group-partitions: 5 changed; left out: see the line above.",
    ]


def test_no_line_says_that_more_is_above_than_is_shown():
    keys = [("billing", TopicPartition("orders", number)) for number in range(1334)]
    lines = summaries.commit_summary(dict.fromkeys(keys), [], [f"billing {where}: left" for _group, where in keys])
    assert lines[-1].endswith("0 changed; left out: 1,334 lines, the first 20 of them above.")
    assert lines[-2] == "  ... and 1,314 more lines"


def test_no_row_of_a_table_has_a_single_blank_at_which_ansible_breaks_it_where_it_shows_yaml():
    entries = (entry("b" * 70, 0, Verdict.SAFE, 4, None), entry("b" * 70, 1, Verdict.SAFE, 4, repeats=1_000))
    for line in summaries.plan_summary(Plan("onprem-id", "cloud-id", "digest", entries))[:2]:
        assert " " not in line.replace("  ", "")[80:].strip()
        assert re.search(r"\S \S", line) is None


@pytest.mark.parametrize(
    ("written", "recorded", "line"),
    [
        ("", "ab", "Rollback of 0 of 2 groups in the receipt"),
        ("a", "ab", "Rollback of 1 of 2 groups in the receipt"),
        ("ab", "abc", "Rollback of 2 of 3 groups in the receipt"),
        ("", "a", "Rollback of 0 of 1 group in the receipt"),
    ],
)
def test_a_rollback_says_how_many_groups_of_how_many_go_back(written, recorded, line):
    keys = [(group, TopicPartition("orders", number)) for group in written for number in range(3)]
    assert summaries.rollback_line(keys, set(recorded)) == line


def test_the_documented_samples_are_tables_of_this_form():
    entries = tuple(entry("billing", number, Verdict.EXACT, 7, repeats=0) for number in range(12))
    sample = yaml.safe_load(kafka_offset_translate.RETURN)["summary"]["sample"]
    assert sample == summaries.plan_summary(Plan("a", "b", "c", entries))
    sample = yaml.safe_load(kafka_offset_commit.RETURN)["summary"]["sample"]
    keys = [each.key for each in entries]
    assert sample == summaries.commit_summary(dict.fromkeys(keys), keys, [])


def test_of_many_groups_the_exact_ones_are_one_line_and_the_others_are_named():
    entries = [entry(f"g{number:03}", 0, Verdict.EXACT, 7, repeats=0) for number in range(400)]
    entries[7] = entry("g007", 0, Verdict.SAFE, 7, reason=Reason.EQUAL_RECORDS, repeats=2)
    assert summaries.plan_summary(Plan("a", "b", "c", tuple(entries))) == [
        "group  partitions         safe  at_most_repeated",
        "g007            1            1                 2",
        "399 groups, all exact",
        "  g007 orders-0: 41 -> 7, safe (equal_records) repeats at most 2",
        "Total: 400 groups, 400 group-partitions: 399 exact, 1 safe, 0 blocked; at most 2 records repeated.",
    ]


def test_of_many_exceptions_the_rest_is_counted():
    entries = tuple(entry(f"g{number:03}", 0, Verdict.BLOCKED, None, **LAG) for number in range(4000))
    summary = summaries.plan_summary(Plan("a", "b", "c", entries))
    assert len(summary) == 44  # a header, twice 20 lines and what is left of them, the totals
    assert summary[21] == "... and 3,980 more groups"
    assert summary[-2:] == [
        "  ... and 3,980 more lines",
        "Total: 4,000 groups, 4,000 group-partitions: 0 exact, 0 safe, 4,000 blocked.",
    ]


def test_of_many_groups_that_are_set_those_alike_are_one_line():
    keys = [(f"g{number:03}", TopicPartition("orders", partition)) for number in range(50) for partition in range(2)]
    written = [key for key in keys if key[0] < "g030"][:-1]
    assert summaries.commit_summary(dict.fromkeys(keys), written, []) == [
        "group  partitions  changed",
        "g029            2        1",
        "29 groups, all changed",
        "20 groups, all unchanged",
        "Total: 50 groups, 100 group-partitions: 59 changed, 0 left out.",
    ]
    assert summaries.commit_summary(dict.fromkeys(keys), keys, [])[0] == "50 groups, all changed"
