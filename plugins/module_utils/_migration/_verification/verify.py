# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: verify that groups go on at the destination with the records that they have not consumed at the source."""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ..._model.connection import Connection
from ..._model.notes import Note
from ..._model.plan import Plan, PlanEntry
from ..._model.policies import OnAbsent
from ..._model.progress import Say, silent
from ..._model.receipt import Key, Receipt
from ..._model.report import Finding, Flaw, Problem, ProblemKind, Report, by_gravity, problems_of, tolerating_absent
from ..._model.spark import SparkOptions
from ..._model.verdicts import Verdict
from ..._records.range_reader import expect_ranges
from ..._records.scanning import expect_scan
from ..cluster_logs import ClusterLogs, expect_reading
from .anchor_records import (
    Spans,
    absent_beside,
    anchor_spans,
    anchors_of,
    by_parts,
    differing,
    flaws_of,
    found,
    read_spans,
    unseen,
    with_absent_flaw,
)
from .claimed_offsets import NONE_KEEPS, Claims, Policies, entries_to_compare
from .comparison import findings


class Verified(t.NamedTuple):
    """What a verification has found.

    verified: entries whose records were read again and are right. without_records: entries that have none to read.
    requested: entries of which no record was read, because an option has chosen the offset.
    compared: how many records of the source were found at the destination where they belong. incomplete: of how many of
    the verified ones not all records were compared, because of the limit. problems: what is wrong,
    the gravest first. notes: what is worth a word and is not wrong.
    """

    verified: int
    without_records: int
    compared: int
    problems: list[Problem]
    notes: list[Note]
    incomplete: int = 0
    requested: int = 0

    def beside(self, other: Verified) -> Verified:
        """What was found of other entries, and this."""
        return Verified(
            self.verified + other.verified,
            self.without_records + other.without_records,
            self.compared + other.compared,
            by_gravity([*self.problems, *other.problems]),
            _in_order([*self.notes, *other.notes]),
            self.incomplete + other.incomplete,
            self.requested + other.requested,
        )


def expect(method: str, plan: Plan, source: Connection, destination: Connection) -> None:
    """Let consumers connect while it is found out what is to be read of this plan: they are needed then."""
    logs = [
        log
        for traits in (plan.source_traits, plan.destination_traits)
        for topic_logs in traits.logs.values()
        for log in topic_logs
    ]
    longest = max((log.end - log.start for log in logs if log), default=0)
    of_method = expect_ranges if method == "anchors" else functools.partial(expect_scan, longest=longest)
    expect_reading(of_method, source, destination)


def records(
    claimed: Claims,
    source: Connection,
    destination: Connection,
    limit: int | None,
    spark: SparkOptions,
    say: Say = silent,
    on_absent: OnAbsent = OnAbsent.FAIL,
) -> tuple[Verified, Report]:
    """Count the records around every claimed offset on both clusters, many of them on Spark.

    limit: after so many offsets the comparison of a partition may stop; None for none.
    on_absent: fail, or warn where the replication tool leaves records out on purpose.
    """
    flaws = differing(claimed.unidentified, source, destination)
    tolerated = (ProblemKind.ABSENT,) if on_absent == OnAbsent.WARN else ()
    counted = findings(claimed.cases, source, destination, limit, spark, say, tolerated)
    every_finding = _tolerated([_with_flaws(each, flaws) for each in counted], on_absent)
    verified = _summed(every_finding, claimed.problems, claimed.without_records, claimed.requested)
    return verified, Report(claimed.source_id, claimed.destination_id, limit, tuple(every_finding))


def anchors(
    plan: Plan,
    receipt: Receipt | None,
    source: Connection,
    destination: Connection,
    chosen: list[PlanEntry] | None = None,
    on_absent: OnAbsent = OnAbsent.FAIL,
    policies: Policies = NONE_KEEPS,
) -> tuple[Verified, Report]:
    """Read the records beside every offset again, on both clusters, and compare them with those of the plan.

    For each entry of the plan that was written, or stood right already: the group stands there or further; the last
    consumed record's copy lies before the offset, the first unconsumed one's at or after it, and both are equal to their
    originals. What a policy has left alone is not looked at. Without a receipt, for each entry that has an offset,
    wherever the group stands. chosen: for these entries instead. on_absent: see records(). policies: see entries_to_prove().

    Unconsumed records that the plan says to be absent, or that are missing before the first one that has a copy, are a
    problem.
    """
    entries, problems, consumed = entries_to_compare(plan, receipt, source, destination, chosen, policies)
    looked_at = [entry for entry in entries if anchors_of(entry) or entry.absent]
    requested = sum(entry.verdict is Verdict.REQUESTED for entry in entries if not (anchors_of(entry) or entry.absent))
    every_finding = []
    for alike, source_logs, destination_logs in by_parts(looked_at, source, destination, _spans):
        read_spans(destination_logs, _gaps(alike, source_logs))
        for entry in alike:
            finding = Finding(
                entry.group,
                tuple((at.partition, at.offset) for at in entry.source if at.offset is not None),
                ((entry.partition, entry.offset or 0),),
                compared=found(entry, destination_logs),
                complete=False,
                matched_by=entry.evidence.matched_by,
                problems=tuple(flaws_of(entry, source_logs, destination_logs)),
            )
            absent = absent_beside(entry, source_logs, destination_logs, is_consumed=entry.key in consumed)
            is_compacted = destination_logs.logs[entry.partition].facts.compacted
            every_finding.append(with_absent_flaw(finding, absent, is_compacted))
    every_finding = _tolerated(every_finding, on_absent)
    without_records = len(entries) - len(looked_at) - requested
    verified = _summed(every_finding, problems, without_records, requested)._replace(incomplete=0)
    return verified, Report(plan.source_id, plan.destination_id, None, tuple(every_finding), method="anchors")


def _summed(
    findings: t.Sequence[Finding], problems: t.Sequence[Problem], without_records: int, requested: int
) -> Verified:
    """What the findings say together, besides these problems, and so many entries of which no record was to be read."""
    right = [finding for finding in findings if not finding.problems]
    seen = [finding for finding in right if finding.is_verified]
    verified = sum(len(finding.destination) for finding in seen)
    return Verified(
        verified,
        without_records + sum(len(finding.destination) for finding in right) - verified,
        sum(finding.compared for finding in findings),
        by_gravity([*problems, *(problem for finding in findings for problem in problems_of(finding))]),
        _in_order(Note(note.kind, f"{finding.name}: {note.text}") for finding in findings for note in finding.notes),
        sum(len(finding.destination) for finding in seen if not finding.complete),
        requested,
    )


def _with_flaws(finding: Finding, flaws: t.Mapping[Key, t.Sequence[Flaw]]) -> Finding:
    more = [flaw for partition, _offset in finding.destination for flaw in flaws.get((finding.group, partition), ())]
    return dataclasses.replace(finding, problems=(*finding.problems, *more)) if more else finding


def _tolerated(findings: list[Finding], on_absent: OnAbsent) -> list[Finding]:
    return [tolerating_absent(finding) for finding in findings] if on_absent == OnAbsent.WARN else findings


def _in_order(notes: t.Iterable[Note]) -> list[Note]:
    """By what they are about, with which each of them begins."""
    return sorted(notes, key=lambda note: note.text)


def _spans(entry: PlanEntry) -> tuple[Spans, Spans]:
    """What is read for an entry: the records beside its offset, and those that may be absent at the destination."""
    originals, copies = anchor_spans(entry)
    if (spans := unseen(entry)) is not None:
        originals.add((entry.source[0].partition, spans[0]))
    if entry.absent:
        copies.add((entry.partition, (0, 0)))  # the edges and settings of the log alone
    return originals, copies


def _gaps(entries: t.Iterable[PlanEntry], source_logs: ClusterLogs) -> Spans:
    """What to read at the destination where the source has records that may be absent there: mostly nothing."""
    return {
        (entry.partition, spans[1])
        for entry in entries
        if (spans := unseen(entry)) and source_logs.logs[entry.source[0].partition].between(*spans[0])
    }
