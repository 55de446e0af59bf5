"""How far groups are from their cut-over, on the screen, in the status file and as metrics."""

import json
from pathlib import Path

import jsonschema
import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model import metrics, readiness, status
from ansible_collections.streamshift.kafka.plugins.module_utils._model.cluster_identity import LogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_lag import GroupLag
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan, PlanEntry, SourcePosition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Receipt, ReceiptEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.record_sum import Bound, RecordSum
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Absent, Reason, Verdict

NOW = "2026-11-22T20:00:00Z"
SCHEMA = json.loads((Path(__file__).parents[5] / "docs" / "schemas" / "status.schema.json").read_text())


def at(partition: int) -> TopicPartition:
    return TopicPartition("orders", partition)


def entry(group: str, partition: int, offset: int | None = 7, verdict: Verdict = Verdict.EXACT, **more) -> PlanEntry:
    return PlanEntry(group, at(partition), offset, verdict, (SourcePosition(group, at(partition), 5),), **more)


def lagging(group: str, partition: int, to_come: int | None = 3) -> PlanEntry:
    return entry(group, partition, None, Verdict.BLOCKED, reason=Reason.DESTINATION_LAGS, to_come=to_come)


def reading(group: str, offsets: dict[int, int], state: str = "Empty") -> GroupReading:
    commits = {at(partition): CommittedOffset(offset) for partition, offset in offsets.items()}
    return GroupReading(group, True, state, "classic", "consumer", commits)


def assess(*entries: PlanEntry, changed_source=None, changed_destination=None, since=None, start=0, receipt=None):
    names = {each.group for each in entries}
    source = {name: reading(name, {0: 5, 1: 5}) for name in names} | (changed_source or {})
    destination = {name: reading(name, {0: 7, 1: 7}) for name in names} | (changed_destination or {})
    logs = {at(0): LogRange(start, 9), at(1): LogRange(0, 6)}
    return readiness.assess_readiness(
        Plan("a", "b", "c", entries), source, destination, logs, since or {}, NOW, receipt
    )


def test_a_group_that_stands_where_it_must_is_ready_since_then():
    (found,) = assess(entry("billing", 0), entry("billing", 1))
    assert (found.ready, found.lag, found.to_come, found.ready_since) == (True, GroupLag(5), 0, NOW)
    assert found.line == f"billing: ready since {NOW}; 2 of 2 partitions exact; lag 5 at the source"
    (again,) = assess(entry("billing", 0), since={"billing": "2026-11-22T19:00:00Z"})
    assert again.ready_since == "2026-11-22T19:00:00Z"


@pytest.mark.parametrize(("now", "ready"), [(7, True), (9, True), (6, False)])
def test_a_group_that_has_consumed_since_it_was_committed_needs_no_commit_any_more(now, ready):
    line = ReceiptEntry("billing", at(0), None, CommittedOffset(7), CommittedOffset(7))
    destination = {"billing": reading("billing", {0: now})}
    (found,) = assess(entry("billing", 0), changed_destination=destination, receipt=Receipt("b", (line,)))
    assert (found.ready, found.not_committed) == (ready, int(not ready))


def test_what_has_expired_at_the_source_is_no_lag():
    (found,) = assess(entry("billing", 0), start=7)
    assert found.lag == GroupLag(2, 2) and found.line.endswith("lag 2 (2 expired) at the source")
    assert (status.group_row(found)["lag"], status.group_row(found)["expired"]) == (2, 2)


def test_members_at_the_source_keep_no_group_from_being_ready():
    (found,) = assess(entry("billing", 0), changed_source={"billing": reading("billing", {0: 6}, "Stable")})
    assert (found.ready, found.in_use_at_source, found.lag) == (True, True, GroupLag(3))


def test_records_that_the_destination_lacks_are_said_of_a_group_that_is_ready():
    (found,) = assess(entry("billing", 0, absent=Absent(10, 5)), entry("billing", 1, absent=Absent(2, 5, False)))
    assert (found.ready, found.absent) == (True, RecordSum(12, Bound.AT_LEAST))
    assert "2 of 2 partitions exact; at least 12 unconsumed records absent at the destination" in found.line
    assert status.group_row(found)["absent"] == 12


def test_a_record_that_several_groups_lack_counts_once():
    both = [entry("billing", 0, absent=Absent(10, 5)), entry("audit", 0, absent=Absent(2, 13, False))]
    assert readiness.absent_records(both) == RecordSum(10)
    assert readiness.absent_records([*both, entry("audit", 1, absent=Absent(4, 1, False))]) == RecordSum(
        14, Bound.AT_LEAST
    )


@pytest.mark.parametrize(
    ("entries", "changed_destination", "words"),
    [
        ([entry("billing", 0), lagging("billing", 1)], {}, "3 records to come"),
        ([lagging("billing", 1)], {}, "not orders-1 blocked (destination_lags)"),
        ([entry("billing", 0)], {"billing": reading("billing", {0: 6})}, "1 offset not yet committed"),
        ([entry("billing", 0)], {"billing": reading("billing", {0: 7}, "Stable")}, "in use at the destination"),
    ],
)
def test_what_keeps_a_group_from_being_ready_is_said(entries, changed_destination, words):
    (found,) = assess(*entries, changed_destination=changed_destination, since={"billing": NOW})
    assert (found.ready, found.ready_since) == (False, None)
    assert found.line.startswith("billing: not ready; ")
    assert words in found.line


def test_a_safe_offset_is_ready_and_named():
    (found,) = assess(entry("billing", 0, verdict=Verdict.SAFE, reason=Reason.CAUGHT_UP, repeats=4))
    assert found.ready
    assert "0 of 1 partition exact, not orders-0 safe (caught_up)" in found.line


def test_the_worst_comes_first_and_twenty_lines_are_enough():
    entries = [entry(f"group-{number:02}", 0) for number in range(30)]
    found = assess(*entries, lagging("x", 1, 9), lagging("y", 1, 90), lagging("z", 1, None))
    lines = readiness.readiness_lines(found)
    assert [line.split(":")[0] for line in lines[:4]] == ["z", "y", "x", "group-00"]
    assert len(lines) == 21
    assert lines[-1] == "and 13 groups more, 13 of them ready"


def made(**more) -> status.Status:
    groups = assess(entry('bill"ing', 0), entry("late", 0), lagging("late", 1))
    rows = tuple(map(status.group_row, groups))
    return status.Status("sync", 100.0, 103.5, 2, None, 103.5, rows, **more).after(())


def test_the_status_file_fits_its_schema_and_is_read_back():
    text = status.to_json(made())
    jsonschema.validate(json.loads(text), SCHEMA)
    assert status.from_json(text, "status.json") == made()
    assert status.from_json(text, "status.json").ready_since == {'bill"ing': NOW}
    early = json.loads(text)
    del early["rounds"]
    assert status.from_json(json.dumps(early), "status.json") == made()
    failed = status.Status("cut_over", 1.0, 2.0, 0, "no", None)
    jsonschema.validate(json.loads(status.to_json(failed)), SCHEMA)


def of_billing(phase: str, failure: str | None = None, **row) -> status.Status:
    row = {"group": "billing", "ready": True, "verdicts": {}, "lag": 0, "to_come": 0, "ready_since": None} | row
    return status.Status(phase, 1.0, 2.0, 0, failure, None, (row,))


@pytest.mark.parametrize(
    ("row", "goes_on"),
    [
        ({}, False),
        ({"ready": False, "in_use_at_destination": True}, False),
        ({"in_use_at_source": True}, True),
        ({"ready": False, "not_committed": 1, "in_use_at_destination": True}, True),
        ({"ready": False, "verdicts": {"blocked": 1}}, True),
    ],
)
def test_a_cut_over_ends_the_rounds_of_what_stands_where_it_must(row, goes_on):
    cut_over = of_billing("cut_over", **row).after(of_billing("sync").after(()).rounds)
    assert (cut_over.synced_until == {"billing": 2.0}) is goes_on


def test_a_cut_over_that_has_failed_ends_no_rounds_in_files_that_did_not_know_any():
    early = json.loads(status.to_json(of_billing("cut_over", "no")))
    del early["rounds"]
    read = status.from_json(json.dumps(early), "status.json")
    assert (read.phase, read.synced_until) == ("cut_over", {"billing": 2.0})


def test_metrics_are_in_the_format_of_prometheus():
    lines = metrics.exposition(made(), "onprem-to-cloud").splitlines()
    assert 'streamshift_kafka_last_good_round_timestamp_seconds{migration="onprem-to-cloud"} 103.500' in lines
    assert 'streamshift_kafka_group_ready{migration="onprem-to-cloud",group="late"} 0' in lines
    assert 'streamshift_kafka_group_lag{migration="onprem-to-cloud",group="bill\\"ing"} 4' in lines
    assert 'streamshift_kafka_group_to_come{migration="onprem-to-cloud",group="late"} 3' in lines
    labels = 'migration="onprem-to-cloud",group="late",verdict="blocked"'
    assert f"streamshift_kafka_group_partitions{{{labels}}} 1" in lines
    assert all(line.startswith(("# HELP ", "# TYPE ")) or line.rsplit(" ", 1)[1] for line in lines)
