"""A verification by anchors looks for the first unconsumed record of the source, not for the first one that has a copy."""

import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._verification import claimed_offsets, verify
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.file_clusters import PlanChanges
from ansible_collections.streamshift.kafka.plugins.module_utils._model.cluster_identity import ClusterIdentity, Traits
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import (
    Evidence,
    Plan,
    PlanEntry,
    SourcePosition,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnAbsent
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Receipt, ReceiptEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record
from ansible_collections.streamshift.kafka.plugins.module_utils._model.report import Finding, ProblemKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.spark import SparkOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import (
    Absent,
    CertificateName,
    Copied,
    Verdict,
)
from tests.support.identities import known_by_id
from tests.support.memory_brokers import DESTINATION, ORDERS, SOURCE, MemoryBrokers

PARTS = "key", "value", "headers", "timestamp"


def fingerprint(number: int) -> bytes:
    return f"{number:>16}".encode()


def log(numbers: t.Iterable[int], start: int = 0) -> list[Record]:
    """A record for each number, which is its time and its content."""
    return [Record(at, n, fingerprint(n), fingerprint(n)) for at, n in enumerate(numbers, start)]


@pytest.fixture
def verified(monkeypatch):
    """``verified(source, destination, committed, entry)`` verifies an entry of a plan by its anchors."""

    def run(
        source,
        destination,
        committed,
        offset,
        on_absent=OnAbsent.FAIL,
        compacted=False,
        verdict=Verdict.EXACT,
        now=None,
        **more,
    ):
        MemoryBrokers({SOURCE.name: source, DESTINATION.name: destination}, compacted).install(monkeypatch)
        known_by_id(monkeypatch, lambda connection: connection.name)
        position = SourcePosition("g", ORDERS, committed)
        entry = PlanEntry("g", ORDERS, offset, verdict, (position,), **more)
        plan = Plan(SOURCE.name, DESTINATION.name, "", (entry,))
        if now is None:
            return verify.anchors(plan, None, SOURCE, DESTINATION, on_absent=on_absent)
        reading = GroupReading("g", True, "Empty", "classic", "consumer", {ORDERS: CommittedOffset(now)})
        monkeypatch.setattr(claimed_offsets.groups, "read_groups", lambda _cluster, _names: {"g": reading})
        written = CommittedOffset(offset)
        receipt = Receipt(DESTINATION.name, (ReceiptEntry("g", ORDERS, None, written, written),))
        return verify.anchors(plan, receipt, SOURCE, DESTINATION, on_absent=on_absent)

    return run


def copied(number: int, at: int) -> Copied:
    return Copied(number, at, fingerprint(number).hex())


def evidence(source: int, destination: int) -> Evidence:
    return Evidence(None, copied(source, destination), PARTS, CertificateName.WHOLE_LOGS)


LAST = Evidence(copied(59, 59), None, PARTS, CertificateName.WHOLE_LOGS)  # of a group that has consumed all


def test_records_that_the_destination_has_lost_are_a_problem(verified):
    found, report = verified(log(range(60)), log(range(30, 60), 30), 20, 30, evidence=evidence(30, 30))
    (problem,) = found.problems
    assert (problem.kind, problem.records, found.verified) == (ProblemKind.ABSENT, 10, 0)
    assert "at least 10 unconsumed records, from source offset 20 on, are not at the destination" in problem.detail
    assert (report.findings[0].absent, report.findings[0].first_difference) == (10, (20, None))


def test_they_are_a_note_where_the_user_says_so(verified):
    found, _report = verified(log(range(60)), log(range(30, 60), 30), 20, 30, OnAbsent.WARN, evidence=evidence(30, 30))
    assert (found.problems, found.verified) == ([], 1)
    assert [note.kind for note in found.notes] == [NoteKind.ABSENT]
    assert "on_absent: warn" in found.notes[0].text and found.notes[0].text.startswith("g orders-0")


def test_a_compacted_destination_may_lack_them(verified):
    found, _report = verified(log(range(60)), log(range(30, 60), 30), 20, 30, compacted=True, evidence=evidence(30, 30))
    assert (found.problems, [note.kind for note in found.notes]) == ([], [NoteKind.ABSENT])


def test_what_the_plan_says_to_be_absent_is_a_problem_even_without_anchors(verified):
    found, _report = verified(log(range(60)), log(range(30, 60), 30), 0, 30, absent=Absent(30, 0))
    assert [(problem.kind, problem.records) for problem in found.problems] == [(ProblemKind.ABSENT, 30)]


def test_another_order_is_no_problem(verified):
    destination = log([*range(20), 22, 21, 20, *range(23, 60)])
    found, _report = verified(log(range(60)), destination, 20, 20, evidence=evidence(22, 20))
    assert (found.problems, found.verified) == ([], 1)


def test_offsets_without_a_record_are_no_problem(verified):
    source = [record for record in log(range(60)) if not 20 <= record.offset < 23]  # markers, and what was aborted
    destination = log([*range(20), *range(23, 60)])
    found, _report = verified(source, destination, 20, 20, evidence=evidence(23, 20))
    assert (found.problems, found.verified) == ([], 1)


def test_an_entry_that_has_nothing_after_it_is_as_before(verified):
    found, _report = verified(log(range(60)), log(range(60)), 60, 60, evidence=LAST)
    assert (found.problems, found.verified, found.compared) == ([], 1, 1)


@pytest.mark.parametrize(("verdict", "counts"), [(Verdict.REQUESTED, (0, 0, 1)), (Verdict.SAFE, (0, 1, 0))])
def test_without_anchors_nothing_is_verified_whoever_has_chosen_the_offset(verified, verdict, counts):
    found, _report = verified(log(range(60)), log(range(60)), None, 0, verdict=verdict)
    assert (found.verified, found.without_records, found.requested) == counts


def caught_up(verified, *destination):
    return verified(log(range(70)), log([*range(60), *destination]), 60, 60, evidence=LAST)[0]


def test_what_was_left_out_since_the_plan_was_made_is_a_problem(verified):
    (problem,) = caught_up(verified, 62, 63, 64).problems
    assert (problem.kind, problem.records) == (ProblemKind.ABSENT, 2)


@pytest.mark.parametrize("copied", [(), (60,), (60, 61, 62), (1000, 1001, 60)])
def test_what_is_still_to_come_is_no_problem(verified, copied):
    assert caught_up(verified, *copied).problems == []


@pytest.mark.parametrize(("ids", "problems"), [({}, ["record_differs"]), ({"orders": "an-id"}, [])])
def test_by_records_it_shows_that_a_topic_without_an_id_was_created_again(monkeypatch, ids, problems):
    """None of the new records has a copy, so that nothing is skipped. Where topics have ids, these show it at once."""
    MemoryBrokers({SOURCE.name: log(range(100, 160)), DESTINATION.name: log(range(60))}).install(monkeypatch)
    known_by_id(monkeypatch, lambda connection: connection.name)
    monkeypatch.setattr(claimed_offsets, "changed_entries", lambda *_all: PlanChanges({}, ClusterIdentity("id")))
    counted = Finding("g", ((ORDERS, 20),), ((ORDERS, 20),), compared=40)
    monkeypatch.setattr(verify, "findings", lambda *_all: [counted])
    entry = PlanEntry("g", ORDERS, 20, Verdict.EXACT, (SourcePosition("g", ORDERS, 20),), evidence=evidence(20, 20))
    traits = Traits(topic_ids=ids)
    plan = Plan(SOURCE.name, DESTINATION.name, "", (entry,), source_traits=traits, destination_traits=traits)
    claims = claimed_offsets.of_plan(plan, None, SOURCE, DESTINATION)
    found, report = verify.records(claims, SOURCE, DESTINATION, None, SparkOptions())
    assert [problem.kind for problem in found.problems] == problems
    assert [flaw.kind for flaw in report.findings[0].problems] == problems


BOTH = Evidence(copied(19, 19), copied(20, 20), PARTS, CertificateName.WHOLE_LOGS)


def test_what_nobody_can_read_any_more_is_not_verified(verified):
    found, report = verified(log(range(50, 60), 50), log(range(50, 60), 50), 20, 20, evidence=BOTH)
    assert (found.problems, found.verified, found.without_records, found.compared) == ([], 0, 1, 0)
    assert report.findings[0].compared == 0


def test_a_first_unconsumed_record_whose_copy_the_destination_has_deleted_is_absent(verified):
    found, _report = verified(log(range(60)), log(range(50, 60), 50), 20, 20, evidence=BOTH)
    (problem,) = found.problems
    assert (problem.kind, problem.records, found.verified) == (ProblemKind.ABSENT, 1, 0)
    assert "at least 1 unconsumed record, from source offset 20 on" in problem.detail
    assert "the destination's log starts at offset 50" in problem.detail


@pytest.mark.parametrize(("now", "kinds"), [(20, [ProblemKind.ABSENT]), (55, [])])
def test_a_copy_that_is_deleted_after_the_group_has_consumed_it_is_no_problem(verified, now, kinds):
    found, _report = verified(log(range(60)), log(range(50, 60), 50), 20, 20, evidence=BOTH, now=now)
    assert [problem.kind for problem in found.problems] == kinds


def test_a_last_consumed_record_that_has_expired_is_no_problem(verified):
    found, _report = verified(log(range(20, 60), 20), log(range(20, 60), 20), 20, 20, evidence=BOTH)
    assert (found.problems, found.verified, found.compared) == ([], 1, 1)
