"""A migration that the reports of the tests are about, as the texts of its files."""

import dataclasses
import itertools
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._model import plan, receipt, report, snapshot
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.match_on import PARTS
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import Note
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Evidence, PlanEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnMismatch
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import (
    CertificateName,
    Copied,
    Reason,
    Verdict,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._module._report.figures import NO_LOGS, KnownLogs
from ansible_collections.streamshift.kafka.plugins.module_utils._module._report.migration_files import read_files
from ansible_collections.streamshift.kafka.plugins.module_utils._module._report.occasion import Occasion
from ansible_collections.streamshift.kafka.plugins.module_utils._module._report.sections import Section, Story
from ansible_collections.streamshift.kafka.plugins.module_utils._module._report.story import story
from ansible_collections.streamshift.kafka.plugins.module_utils._module.digests import digest
from ansible_collections.streamshift.kafka.plugins.module_utils._module.directions import Asked, places
from ansible_collections.streamshift.kafka.plugins.module_utils._module.run_outcome import RunOutcome

WHEN = "2026-11-23 01:00:00 UTC"
_ASKED = {field.name for field in dataclasses.fields(Asked)} - {"directory"}
ASKED: dict[str, t.Any] = {
    "role": "group_migration",
    "phase": "migrate",
    "source": "onprem",
    "destination": "cloud",
    "selection": {"groups": ["billing"]},
}


def entry(group: str, topic: str, number: int, verdict: Verdict = Verdict.EXACT, **more: t.Any) -> PlanEntry:
    """Offset 41 at the source is 46 at the destination, unless the verdict has none."""
    at = TopicPartition(topic, number)
    evidence = Evidence(Copied(40, 45, "a"), Copied(41, 46, "b"), PARTS)
    if verdict is Verdict.EXACT:
        evidence = evidence._replace(certificate=CertificateName.FROM_THE_END)
    given = {
        "offset": None if verdict in (Verdict.BLOCKED, Verdict.UNCOMMITTED) else 46,
        "source": (
            plan.SourcePosition(group, at, None if verdict in (Verdict.REQUESTED, Verdict.UNCOMMITTED) else 41),
        ),
        "repeats": 0 if verdict is Verdict.EXACT else None,
        "evidence": evidence,
    }
    return PlanEntry(group, at, verdict=verdict, **(given | more))


ENTRIES = (
    entry("billing", "orders", 0),
    entry("billing", "orders", 1, offset=1046),
    entry(
        "billing",
        "clicks",
        0,
        Verdict.BLOCKED,
        reason=Reason.DESTINATION_LAGS,
        detail="the last consumed record, source offset 40, is not at the destination; wait for the replication tool",
    ),
    entry(
        "fraud", "orders", 0, Verdict.SAFE, reason=Reason.EQUAL_RECORDS, repeats=66, detail="equal records", offset=9
    ),
    entry("fraud", "orders", 1, Verdict.UNCOMMITTED),
)


def texts_of(entries: t.Sequence[PlanEntry], *, committed: bool = False, skipped: int = 0) -> dict[str, str]:
    """The files of a migration of these entries. skipped: what the verification objects to in the first one."""
    taken = snapshot.Snapshot(
        "source-id",
        tuple(snapshot.SnapshotGroup(group, "classic") for group in sorted({entry.group for entry in entries})),
        tuple(
            snapshot.SnapshotEntry(at.group, at.partition, CommittedOffset(at.offset))
            for entry in entries
            for at in entry.source
            if at.offset is not None
        ),
    )
    planned = plan.to_json(plan.Plan("source-id", "destination-id", taken.digest(), tuple(entries)))
    writable = [entry for entry in entries if entry.offset is not None]
    findings = [
        report.Finding(
            entry.group,
            tuple((at.partition, at.offset or 0) for at in entry.source),
            ((entry.partition, entry.offset or 0),),
            compared=18,
            complete=number > 0,
            skipped=skipped if number == 0 else 0,
            problems=(report.Flaw(report.ProblemKind.SKIPPED, f"{skipped} unconsumed records are skipped"),)
            if skipped and number == 0
            else (),
        )
        for number, entry in enumerate(writable)
    ]
    verified = report.Report("source-id", "destination-id", 100, tuple(findings), digest(planned))
    texts = {"snapshot.json": snapshot.to_json(taken), "plan.json": planned, "report.json": report.to_json(verified)}
    if committed:
        rows = tuple(
            receipt.ReceiptEntry(entry.group, entry.partition, CommittedOffset(12), entry.target, entry.target)
            for entry in writable
        )
        texts["receipt.json"] = receipt.to_json(receipt.Receipt("destination-id", rows))
    return texts


class Told(Story):
    """A report, and what its sections say."""

    def _section(self, title: str) -> Section:
        return next(section for section in self.sections if section.title == title)

    def _after(self, title: str) -> list[Section]:
        """The sections of the third level below this one."""
        below = self.sections[self.sections.index(self._section(title)) + 1 :]
        return list(itertools.takewhile(lambda section: section.level == 3, below))

    @property
    def left_out(self) -> tuple[str, ...]:
        return self._section("Exceptions").lines

    @property
    def exceptions(self) -> list[Section]:
        return self._after("Exceptions")

    @property
    def no_exceptions(self) -> str:
        return self._section("Exceptions").rest

    @property
    def problems(self) -> list[Section]:
        return self._after("Verification")

    @property
    def no_problems(self) -> str:
        return "".join(self._section("Verification").sentences)

    @property
    def next_steps(self) -> tuple[str, ...]:
        return self._section("What to do next").sentences

    @property
    def next_command(self) -> str:
        return self._section("What to do next").command

    @property
    def way_back(self) -> str:
        return " ".join(self._section("The way back").sentences)

    @property
    def way_back_command(self) -> str:
        return self._section("The way back").command


def told(texts: t.Mapping[str, str], logs: KnownLogs = NO_LOGS, **given: t.Any) -> Told:
    """The story of these files. given: members of what was asked, of the run, and of the occasion, besides ASKED."""
    its = ASKED | given
    phase, results = its.pop("phase"), its.pop("results", {})
    if msg := its.pop("failure", ""):
        results = {**results, "rollback" if phase == "rollback" else "commit": {"failed": True, "msg": msg}}
    its["refused"] = bool(its.get("refusal"))
    asked = Asked("migrations/onprem-to-cloud", **{name: its.pop(name) for name in _ASKED if name in its})
    outcome = RunOutcome(results, phase, *places(asked.source, asked.destination, returns=asked.returns))
    noted = {name: its.pop(name) for name in ("written", "steps", "left_out") if name in its}
    run = dataclasses.replace(outcome.record(asked.role, None, 0.0, {"ansible-core": "2.19"}), **noted)
    made = story(read_files(texts, "folder", OnMismatch.FAIL), Occasion(asked, outcome, run, WHEN, **its), logs)
    return Told(**{field.name: getattr(made, field.name) for field in dataclasses.fields(made)})


def logs_of(entries: t.Sequence[PlanEntry], *, notes: tuple[Note, ...] = ()) -> KnownLogs:
    """Logs from 1 to 120 at the source and from 6 to 126 at the destination, of every partition."""
    return KnownLogs(
        {at.partition: (1, 120) for entry in entries for at in entry.source},
        {entry.partition: (6, 126) for entry in entries},
        notes,
    )
