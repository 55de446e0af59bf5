# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What the group-partitions of a report come to: the totals of all, and the figures of each group. Pure."""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from ..._model.grouping import values_by_key
from ..._model.readiness import absent_records
from ..._model.receipt import ReceiptEntry
from ..._model.record_sum import NOTHING, RecordSum
from ..._model.verdicts import Verdict
from ..summaries import lost_by, most_repeats, repeated_records
from .figures import STANDING, WRITTEN, GroupPartition, KnownLogs, State
from .migration_files import MigrationFiles

_COMMITTED = (State.COMMITTED, State.UNCHANGED)


class GroupFigures(t.NamedTuple):
    """What a group's partitions come to. repeats: of records. lag: see lag_of()."""

    group: str
    partitions: int
    verdicts: t.Mapping[Verdict, int]
    repeats: RecordSum
    committed: int
    lag: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class Totals:
    """Counts of group-partitions, but for groups and for repeats, skipped, absent and lost, which count records.

    within_limit: verified ones of which not all records were compared. objected_standing: those of objected that have the
    offset at the destination. absent: unconsumed records that are not at the
    destination although later ones are. earlier: group-partitions that are committed otherwise than planned, by earlier runs,
    and that a rollback with the selection of this run takes, too. elsewhere: those in the receipt that it does not take, and
    that are not in this plan. lag: see lag_of(). lost: unconsumed records that no cluster has any more. not_taken: lines of the
    snapshot about what was selected and is not in it.
    """

    groups: int
    partitions: int
    verdicts: t.Mapping[Verdict, int]
    states: t.Mapping[State, int]
    repeats: RecordSum
    verified: int
    within_limit: int
    objected: int
    objected_standing: int
    skipped: int
    absent: RecordSum
    earlier: int
    elsewhere: int
    lag: int | None
    not_taken: int
    lost: RecordSum = NOTHING

    @property
    def committed(self) -> int:
        """Group-partitions that are known to be committed at the destination as planned."""
        return sum(self.states.get(state, 0) for state in _COMMITTED)

    @property
    def reversible(self) -> tuple[bool, int]:
        """As of a RunOutcome, as far as the files tell."""
        return bool(self.earlier or any(self.states[state] for state in WRITTEN)), self.states[State.UNCHANGED]

    @property
    def verified_text(self) -> str:
        """A part of a sentence after the number of those that are verified."""
        return f"verified ({self.within_limit:,} within the limit only)" if self.within_limit else "verified"


def totals(
    files: MigrationFiles,
    rows: t.Sequence[GroupPartition],
    taken: t.Collection[ReceiptEntry] | None,
    logs: KnownLogs,
) -> Totals:
    """What the rows of these files come to.

    taken: what a rollback of this run takes. Where that is not known, all that the receipt holds of the groups of the rows.
    """
    verdicts = collections.Counter(row.verdict for row in rows if row.verdict is not None)
    own = {row.key: row.state for row in rows}
    kept = files.receipt.entries if files.receipt is not None else ()
    groups = {row.group for row in rows}
    if taken is None:
        taken = [entry for entry in kept if entry.group in groups]
    selected = {entry.key for entry in taken}
    planned = files.plan.entries if files.plan is not None else ()
    return Totals(
        groups=len(groups),
        partitions=len(rows),
        verdicts={verdict: verdicts[verdict] for verdict in Verdict},
        states=collections.Counter(row.state for row in rows),
        repeats=most_repeats(planned),
        verified=sum(row.verified is True for row in rows),
        within_limit=sum(row.verified is True and not row.all for row in rows),
        objected=sum(row.verified is False for row in rows),
        objected_standing=sum(row.verified is False and row.state in STANDING for row in rows),
        skipped=sum(finding.skipped for finding in files.findings),
        absent=absent_records(planned, files.findings),
        earlier=sum(
            entry.written is not None and own.get(entry.key) not in WRITTEN for entry in kept if entry.key in selected
        ),
        elsewhere=sum(entry.key not in own and entry.key not in selected for entry in kept),
        lag=lag_of(rows, logs),
        lost=lost_by(planned),
        not_taken=len(files.snapshot.left_out) if files.snapshot is not None else 0,
    )


def group_figures(rows: t.Iterable[GroupPartition], logs: KnownLogs) -> list[GroupFigures]:
    """What the rows of each group come to, in the order of the rows."""
    return [
        GroupFigures(
            group,
            len(own),
            collections.Counter(row.verdict for row in own if row.verdict is not None),
            repeated_records((row.verdict, row.repeats) for row in own),
            sum(row.state in _COMMITTED for row in own),
            lag_of(own, logs),
        )
        for group, own in values_by_key((row.group, row) for row in rows).items()
    ]


def lag_of(rows: t.Iterable[GroupPartition], logs: KnownLogs) -> int | None:
    """The unconsumed offsets of the source's logs, each source position once. None where one is not known, or there is none.

    Several rows may come from one position: of a repartitioned topic, or of a group that was cloned twice.
    """
    places = {
        (at.group, at.partition): logs.at_source(at) for row in rows for at in row.source if at.offset is not None
    }
    known = [place for place in places.values() if place is not None]
    return sum(place.lag for place in known) if known and len(known) == len(places) else None
