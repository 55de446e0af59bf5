# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""How far each group of a plan is from being ready for its cut-over. Pure."""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from .cluster_identity import LogRange
from .group_lag import GroupLag, lag_on
from .group_state import GroupReading
from .grouping import values_by_key
from .plan import Plan, PlanEntry
from .receipt import Key, Receipt, ReceiptEntry
from .record_sum import NOTHING, RecordSum
from .records import TopicPartition
from .report import Finding
from .verdicts import Reason, Verdict
from .wording import counted, first_of

MOST_LINES = 20


def absent_records(entries: t.Iterable[PlanEntry], findings: t.Iterable[Finding] = ()) -> RecordSum:
    """How many unconsumed records are known to be absent at the destination, each once, however many groups lack it.

    As the entries of a plan say, or as a verification has counted, whichever is more.
    """
    counted_ones = [(finding.source_partitions, *finding.absent_number[:2]) for finding in findings]
    return RecordSum.of_shared(
        [*counted_ones, *((entry.source_partitions, *entry.absent.number[:2]) for entry in entries if entry.absent)]
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Readiness:
    """One group of the destination.

    lag: at the source; None without a commit there. to_come: consumed offsets that the replication tool has still to bring;
    None where it lags and that is not known. verdicts: how many partitions have each. not_exact: entries that are not proved.
    not_committed: partitions of which the group has not committed the plan's offset at the destination, or consumed since.
    in_use_at_source and in_use_at_destination: has it members there? ready_since: UTC, in ISO 8601; None for a group that is
    not ready. absent: unconsumed records that the destination is known to lack although later ones are there.
    """

    group: str
    source_groups: tuple[str, ...]
    lag: GroupLag | None
    to_come: int | None
    verdicts: dict[Verdict, int]
    not_exact: tuple[PlanEntry, ...]
    not_committed: int
    in_use_at_source: bool
    in_use_at_destination: bool
    absent: RecordSum = NOTHING
    ready_since: str | None = None

    @property
    def ready(self) -> bool:
        """Does the group stand at the destination where the plan says, on every partition, and nobody uses it there?"""
        return not (self.verdicts.get(Verdict.BLOCKED) or self.not_committed or self.in_use_at_destination)

    @property
    def line(self) -> str:
        """The group in one line for people."""
        partitions = sum(self.verdicts.values())
        exact = self.verdicts.get(Verdict.EXACT, 0)
        state = f"ready since {self.ready_since}" if self.ready and self.ready_since else "ready" if self.ready else ""
        parts = [state or "not ready", f"{exact} of {counted(partitions, 'partition')} exact"]
        if self.not_exact:
            parts[-1] += f", not {first_of(list(map(_verdict_text, self.not_exact)))}"
        if self.absent:
            parts.append(self.absent.clause("unconsumed record", "absent at the destination"))
        if self.to_come:
            parts.append(f"{counted(self.to_come, 'record')} to come")
        if self.not_committed:
            parts.append(f"{counted(self.not_committed, 'offset')} not yet committed at the destination")
        if self.in_use_at_destination:
            parts.append("in use at the destination")
        if self.lag is not None:
            parts.append(f"lag {self.lag} at the source" + (", in use" if self.in_use_at_source else ""))
        return f"{self.group}: " + "; ".join(parts)


def assess_readiness(
    plan: Plan,
    source: t.Mapping[str, GroupReading],
    destination: t.Mapping[str, GroupReading],
    logs: t.Mapping[TopicPartition, LogRange],
    since: t.Mapping[str, str],
    now: str,
    receipt: Receipt | None,
) -> list[Readiness]:
    """One entry a group, sorted by name.

    source, destination: the groups now, by the names that they have there. logs: those of the source that
    are there. since: since when groups were ready at the last round. now: what a group that has become ready gets.
    receipt: of the plan's commits, so that a group that has consumed since counts as committed.
    """
    lines = {} if receipt is None else receipt.as_far_as_of(plan.destination_identity).by_key
    groups = values_by_key((entry.group, entry) for entry in plan.entries)
    result = []
    for name, entries in sorted(groups.items()):
        readiness = _assess(name, entries, source, destination[name], logs, lines)
        result.append(
            dataclasses.replace(readiness, ready_since=since.get(name, now)) if readiness.ready else readiness
        )
    return result


def _assess(
    name: str,
    entries: list[PlanEntry],
    source: t.Mapping[str, GroupReading],
    at_destination: GroupReading,
    logs: t.Mapping[TopicPartition, LogRange],
    lines: t.Mapping[Key, ReceiptEntry],
) -> Readiness:
    positions = {(at.group, at.partition) for entry in entries for at in entry.source}
    source_groups = tuple(sorted({group for group, _partition in positions}))
    lagging = [entry.to_come for entry in entries if entry.reason is Reason.DESTINATION_LAGS and entry.offset is None]

    def is_committed(entry: PlanEntry) -> bool:
        current, line = at_destination.offsets.get(entry.partition), lines.get(entry.key)
        has_consumed = line is not None and line.settles(entry, one_cluster=False) and line.accounts_for(at_destination)
        return has_consumed or (current is not None and current.offset == entry.offset)

    return Readiness(
        name,
        source_groups,
        lag_on(((source[group], partition) for group, partition in positions), logs),
        None if None in lagging else sum(count or 0 for count in lagging),
        dict(collections.Counter(entry.verdict for entry in entries)),
        tuple(
            entry
            for entry in sorted(entries, key=lambda entry: entry.key)
            if entry.verdict in (Verdict.SAFE, Verdict.BLOCKED, Verdict.REQUESTED)
        ),
        sum(entry.offset is not None and not is_committed(entry) for entry in entries),
        any(source[group].has_members for group in source_groups),
        at_destination.has_members,
        absent=absent_records(entries),
    )


def _verdict_text(entry: PlanEntry) -> str:
    return f"{entry.partition} {entry.verdict.value}" + (f" ({entry.reason.value})" if entry.reason else "")


def readiness_lines(groups: t.Iterable[Readiness]) -> list[str]:
    """A line a group, the worst first, and how many there are besides."""
    sorted_groups = sorted(groups, key=_badness)
    result = [group.line for group in sorted_groups[:MOST_LINES]]
    rest = sorted_groups[MOST_LINES:]
    if rest:
        ready = sum(group.ready for group in rest)
        result.append(f"and {counted(len(rest), 'group')} more, {ready:,} of them ready")
    return result


def _badness(group: Readiness) -> tuple[bool, int, int, int, int, int, str]:
    to_come = group.to_come if group.to_come is not None else 1 << 63
    blocked = group.verdicts.get(Verdict.BLOCKED, 0)
    return (
        group.ready,
        -blocked,
        -group.absent.records,
        -to_come,
        -len(group.not_exact),
        -(group.lag.offsets if group.lag else 0),
        group.group,
    )
