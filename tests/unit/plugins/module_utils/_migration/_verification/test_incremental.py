"""A verification looks at what the plan does not say to be verified, and notes in it what it has found right."""

import dataclasses

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._verification import incremental
from ansible_collections.streamshift.kafka.plugins.module_utils._model import plan as file
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import Note, NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import (
    Plan,
    PlanEntry,
    SourcePosition,
    Verification,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.report import Finding, Flaw, ProblemKind, Report
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Verdict

RECORDS = Verification("records", 10_000)
ANCHORS = Verification("anchors")
NOTHING = Report("a", "b", None, ())


def entry(partition: int, verified: Verification | None = None, **more) -> PlanEntry:
    at = TopicPartition("orders", partition)
    source = more.pop("source", (SourcePosition("billing", at, 5),))
    return PlanEntry("billing", at, 7, Verdict.SAFE, source, verified=verified, **more)


def report(*entries: PlanEntry, compared: int = 1, complete: bool = False, wrong: bool = False) -> Report:
    flaws = (Flaw(ProblemKind.SKIPPED, "one"),) if wrong else ()
    findings = (Finding(each.group, (), ((each.partition, 7),), compared, complete, problems=flaws) for each in entries)
    return Report("a", "b", 10_000, tuple(findings))


@pytest.mark.parametrize(
    ("earlier", "wanted", "is_covered"),
    [
        (RECORDS, RECORDS, True),
        (RECORDS, ANCHORS, True),
        (ANCHORS, ANCHORS, True),
        (ANCHORS, RECORDS, False),
        (RECORDS, Verification("records", 10_001), False),
        (RECORDS, Verification("records"), False),
        (Verification("records"), RECORDS, True),
    ],
)
def test_covers(earlier, wanted, is_covered):
    assert earlier.covers(wanted) == is_covered
    parted = incremental.part([entry(0, earlier)], wanted)
    assert (len(parted.unverified), len(parted.verified)) == ((0, 1) if is_covered else (1, 0))


def test_repartitioned_entries_stay_together():
    source = (SourcePosition("billing", TopicPartition("orders", 0), 5),)
    alike = [entry(0, RECORDS, source=source), entry(1, None, source=source)]
    assert incremental.part(alike, RECORDS).unverified == alike


def test_blocked_entries_have_nothing_to_verify():
    blocked = dataclasses.replace(entry(0), offset=None, verdict=Verdict.BLOCKED)
    assert incremental.part([blocked], RECORDS) == ([], [])


def test_what_is_right_is_noted_and_survives_the_file():
    entries = right, unseen, wrong, worse, other = [
        entry(number, RECORDS if number > 2 else None) for number in range(5)
    ]
    reports = (
        report(right),
        report(unseen, compared=0),
        report(wrong, wrong=True),
        report(worse, wrong=True),
        report(other),
    )
    found = Report("a", "b", None, tuple(finding for each in reports for finding in each.findings))
    plan = incremental.noted(Plan("a", "b", "c", tuple(entries)), found, [worse, other], RECORDS)
    assert [each.verified for each in plan.entries] == [RECORDS, None, None, None, RECORDS]
    assert file.from_json(file.to_json(plan), "plan.json") == plan
    assert incremental.noted(plan, NOTHING, [], ANCHORS) == plan
    assert incremental.noted(plan, report(right, other), [right, other], ANCHORS) == plan


@pytest.mark.parametrize(
    ("note", "verified"),
    [
        (Note(NoteKind.NOT_COUNTED, "1 unconsumed record is not verified"), None),
        (Note(NoteKind.ABSENT, "1 unconsumed record is absent (on_absent: warn)"), None),
        (Note(NoteKind.ABSENT, "1 unconsumed record is not at the destination, which is compacted"), RECORDS),
    ],
)
def test_what_was_not_counted_or_only_tolerated_is_not_noted_as_verified(note, verified):
    """A later run with on_absent: fail has to find absent records again."""
    found = report(entry(0))
    findings = (dataclasses.replace(found.findings[0], notes=(note,)),)
    found = dataclasses.replace(found, findings=findings)
    assert incremental.noted(Plan("a", "b", "c", (entry(0),)), found, [], RECORDS).entries[0].verified == verified


def test_a_plan_of_an_earlier_version_was_not_verified():
    text = file.to_json(Plan("a", "b", "c", (entry(0),)))
    assert file.from_json(text.replace(', "verified": null', ""), "plan.json").entries[0].verified is None
    text = file.to_json(Plan("a", "b", "c", (entry(0, Verification("later", 1)),)))
    assert file.from_json(text, "plan.json").entries[0].verified is None
