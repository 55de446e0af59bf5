# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What the files of a migration say of each group-partition, what became of it, and where it is in the logs. Pure."""

from __future__ import annotations

import dataclasses
import enum
import typing as t

from ..._model.notes import Note
from ..._model.plan import Evidence, PlanEntry, SourcePosition
from ..._model.receipt import Key, ReceiptEntry
from ..._model.record_sum import NOT_COUNTED
from ..._model.records import TopicPartition
from ..._model.report import Finding
from ..._model.verdicts import Verdict
from .migration_files import MigrationFiles

_Ranges = t.Mapping[TopicPartition, tuple[int, int]]


MOST_ORIGINS = 10  # source positions of a group-partition that are shown among the exceptions
LOST = "unconsumed records lost before this run"


def offset_text(value: int | None) -> str:
    """An offset, or a number of records, of a single group-partition."""
    return "-" if value is None else str(value)


class State(enum.StrEnum):
    """What became of an offset, as far as the receipt tells."""

    COMMITTED = "committed"
    NOT_READ_BACK = "not read back"  # the run ended between the write and its check
    ROLLED_BACK = "rolled back"
    NOT_RESTORED = "unchanged by this rollback"  # it was rolled back before, or had come back by itself
    UNCHANGED = "unchanged"  # the destination had it already
    NOT_COMMITTED = "not committed"
    LEFT_ALONE = "left alone"  # there is no offset to commit, or the commit has left the group alone on purpose
    EARLIER = "committed by an earlier run"  # this plan has no offset for it


WRITTEN = (State.COMMITTED, State.NOT_READ_BACK)
STANDING = (*WRITTEN, State.UNCHANGED)  # the destination has the offset of the plan


class LogPlace(t.NamedTuple):
    """Where an offset is in its log: offsets from the log's start up to it, and from it up to the log's end.

    before is negative if the log starts after the offset, after if it ends before the offset.
    """

    before: int
    after: int

    @property
    def lag(self) -> int:
        """How many offsets of the log follow, without those that have expired."""
        return max(0, self.after + min(0, self.before))


class GroupPartition(t.NamedTuple):
    """One line of the report. verdict is None where no plan knows it; after: committed last, as far as the receipt tells.

    unconsumed: records from the offset on that the verification counted at the source, None where it did not; all says
    whether these are all of them. Where there are several source positions, they are those of all of these together.
    source_places: of each source position, None where not known, or empty. place: of offset.
    """

    group: str
    partition: TopicPartition
    source: tuple[SourcePosition, ...]
    before: int | None
    offset: int | None
    after: int | None
    state: State
    verdict: Verdict | None = None
    reason: str = ""
    repeats: int | None = None
    detail: str = ""
    evidence: Evidence = Evidence()
    verified: bool | None = None
    unconsumed: int | None = None
    all: bool = True

    @property
    def key(self) -> Key:
        """Of a group-partition, as in the receipt."""
        return self.group, self.partition

    @property
    def source_offsets(self) -> str:
        """The committed offsets at the source, of MOST_ORIGINS positions, and how many more there are."""
        shown = ", ".join(offset_text(at.offset) for at in self.source[:MOST_ORIGINS])
        return f"{shown} and {self.more_origins} more" if self.more_origins else shown

    @property
    def origin_names(self) -> list[str]:
        """The names at the source, of MOST_ORIGINS positions; none where there is one position with the same name."""
        if [(at.group, at.partition) for at in self.source] == [(self.group, self.partition)]:
            return []
        return [f"{at.group} {at.partition}" for at in self.source[:MOST_ORIGINS]]

    @property
    def more_origins(self) -> int:
        """How many source positions there are besides MOST_ORIGINS."""
        return max(0, len(self.source) - MOST_ORIGINS)

    @property
    def repeats_text(self) -> str:
        """How many records are repeated at most."""
        return (
            NOT_COUNTED
            if self.verdict in (Verdict.SAFE, Verdict.REQUESTED) and self.repeats is None
            else offset_text(self.repeats)
        )


def group_partitions(
    files: MigrationFiles, of_receipt: t.Collection[ReceiptEntry] | None = None
) -> list[GroupPartition]:
    """Every group-partition that this run is about, by name: those of the plan, else of the snapshot, else of the receipt.

    of_receipt: of a run that is about these lines of the receipt alone, such as a rollback.
    """
    if of_receipt is not None:
        return [_noted(entry) for entry in sorted(of_receipt, key=lambda entry: entry.key)]
    noted = files.receipt.by_key if files.receipt is not None else {}
    if files.plan is not None:
        findings = {(each.group, partition): each for each in files.findings for partition, _offset in each.destination}
        by_records = files.report is not None and files.report.method == "records"
        entries = sorted(files.plan.entries, key=lambda entry: entry.key)
        return [_planned(entry, noted.get(entry.key), findings.get(entry.key), by_records) for entry in entries]
    if files.snapshot is not None:
        return [
            GroupPartition(
                group, at, (SourcePosition(group, at, committed.offset),), None, None, None, State.NOT_COMMITTED
            )
            for group, at, committed in sorted(files.snapshot.entries, key=lambda entry: entry[:2])
        ]
    return [_noted(noted[key]) for key in sorted(noted)]


def _planned(entry: PlanEntry, noted: ReceiptEntry | None, finding: Finding | None, by_records: bool) -> GroupPartition:
    before = noted.before if noted is not None else entry.expected
    unconsumed = None
    if finding is not None and by_records:
        unconsumed = finding.compared + finding.skipped + finding.absent + finding.to_come
    return GroupPartition(
        entry.group,
        entry.partition,
        entry.source,
        before=None if before is None else before.offset,
        offset=entry.offset,
        after=noted.after.offset if noted is not None and noted.after is not None else None,
        state=_state(entry, noted),
        verdict=entry.verdict,
        reason=entry.reason.value if entry.reason else "",
        repeats=entry.repeats,
        detail=entry.shown_detail,
        evidence=entry.evidence,
        verified=None if finding is None else finding.is_verified,
        unconsumed=unconsumed,
        all=finding is None or finding.complete or not by_records,
    )


def _state(entry: PlanEntry, noted: ReceiptEntry | None) -> State:
    if entry.target is None:
        return State.LEFT_ALONE if noted is None or noted.written is None else State.EARLIER
    if noted is not None:
        if noted.written is None:
            return State.ROLLED_BACK
        if noted.written[:2] == entry.target[:2]:
            return State.COMMITTED if noted.is_confirmed else State.NOT_READ_BACK
    if entry.expected is not None and entry.expected[:2] == entry.target[:2]:
        return State.UNCHANGED
    return State.NOT_COMMITTED


def _noted(entry: ReceiptEntry) -> GroupPartition:
    state = State.ROLLED_BACK
    if entry.written is not None:
        state = State.COMMITTED if entry.is_confirmed else State.NOT_READ_BACK
    return GroupPartition(
        entry.group,
        entry.partition,
        tuple(SourcePosition(*origin, None) for origin in entry.origins),
        before=None if entry.before is None else entry.before.offset,
        offset=None if entry.written is None else entry.written.offset,
        after=None if entry.after is None else entry.after.offset,
        state=state,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class KnownLogs:
    """source, destination: the offsets [start, end) of each log that is known, None for a cluster that was not asked.

    notes: why others are not known.
    """

    source: _Ranges | None = None
    destination: _Ranges | None = None
    notes: tuple[Note, ...] = ()

    def at_source(self, at: SourcePosition) -> LogPlace | None:
        """Where a committed offset is in its log, None where that is not known, or nothing is committed."""
        return _place(at.offset, (self.source or {}).get(at.partition))

    def at_destination(self, row: GroupPartition) -> LogPlace | None:
        """The same of the offset for the destination."""
        return _place(row.offset, (self.destination or {}).get(row.partition))


NO_LOGS = KnownLogs()


def _place(offset: int | None, log: tuple[int, int] | None) -> LogPlace | None:
    return None if offset is None or log is None else LogPlace(offset - log[0], log[1] - offset)
