# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Serve the verification of groups' offsets: both logs around them are read, once for all of them, and contents counted."""

from __future__ import annotations

import dataclasses
import functools
import time
import typing as t

from ..._comparing.claims import Claim, Window, Windows, extent, window
from ..._comparing.verified import finding
from ..._matching.evidence import LogFacts
from ..._model.backlog import BacklogRange
from ..._model.connection import Connection
from ..._model.match_on import MatchOn
from ..._model.notes import Note, NoteKind
from ..._model.progress import Say, repeating, silent
from ..._model.records import TopicPartition
from ..._model.report import Finding, Flaw, ProblemKind
from ..._model.spark import SparkOptions
from ..._model.verdicts import Absent
from ..._model.wording import counted
from ..._spark.content_frame import Extent, LogPair, read_once
from ..._spark.session import absence, session_on_demand
from ..cluster_logs import ClusterLogs, learn_both, while_records_expire
from .anchor_records import with_absent_flaw
from .partition_units import ClaimCounts, PartitionUnit, count_in_process, count_on_spark, with_aborted_copies

if t.TYPE_CHECKING:
    from ..._spark.spark_library import SparkSession

# So many offsets of both clusters together are read and counted in this process, in about 500 MB. That takes less time than
# Spark takes to start and to read them. Where there is no Spark, all are read here, so many at a time.
FEW = 1_000_000
# The logs of a claim with so many offsets of both clusters together are read whole if the limit lets nothing be compared, and
# before anything is objected to: a limit takes equal records of one time for one another.
SHORT = 1_000_000
# After so many seconds without a new record at the destination, the replication tool counts as stopped.
_PAUSE = 2.0
# So often an offset that seems to skip records is looked at again, at most.
_MOST_LOOKS = 10
# How many limits are read of a partition, at most: both ways, for repeats, and up to the next multiples.
_LIMITS_READ = 8


class ClaimCase(t.NamedTuple):
    """A claim, and how its records are compared. absent: what its plan says to be absent, within the limit or not.

    copied: all that a backlog's copy can have brought to the destination; what is outside of it on both sides is not read.
    """

    claim: Claim
    match_on: MatchOn
    absent: Absent | None = None
    copied: BacklogRange | None = None


def findings(
    cases: t.Sequence[ClaimCase],
    source: Connection,
    destination: Connection,
    limit: int | None,
    spark: SparkOptions,
    say: Say = silent,
    tolerated: t.Collection[ProblemKind] = (),
) -> list[Finding]:
    """What is found of every case, in order.

    limit: so many offsets on both sides of each offset are read, on both clusters; None for whole logs. Whole logs are also
    read where the limit lets nothing be compared, or a problem be found that is not tolerated, if they are short. Spark is
    started where there is much to read. Raises as open_session() and scan_frame() do.
    """
    with repeating(say) as tell, session_on_demand(spark, tell) as session:
        no_spark = functools.cache(lambda: absence(spark))
        return _Comparison(source, destination, limit, tolerated, session, no_spark, tell).findings(cases)


class _Edges(t.NamedTuple):
    """The logs of both clusters, whose edges are known. existed: only what is before these offsets can be skipped."""

    source: ClusterLogs
    destination: ClusterLogs
    existed: t.Mapping[TopicPartition, int]


# What one reading of both clusters has found of its cases, in order, and where their logs ended.
_Look = tuple[list[Finding], _Edges]


@dataclasses.dataclass(frozen=True, slots=True)
class _Comparison:
    """What is compared, and what reads and counts. no_spark: why Spark is not installed, None where it can count."""

    source: Connection
    destination: Connection
    limit: int | None
    tolerated: t.Collection[ProblemKind]
    session: t.Callable[[], SparkSession]
    no_spark: t.Callable[[], str | None]
    tell: Say

    def findings(self, cases: t.Sequence[ClaimCase]) -> list[Finding]:
        """Those of a look, and of further ones at offsets that seem to skip records while the tool goes on copying.

        Where an unconsumed record is missing, an equal record before the offset counts as its copy, so an offset may seem to
        skip what the tool has still to copy. A further look asks only about records that existed at the first one. Later
        records cannot be skipped: they were written after the destination's log had reached the offset, so their copies follow
        it.
        """
        latest, logs = self._look(cases, {})
        existed = {partition: log.facts.high_watermark for partition, log in logs.source.logs.items()}
        for _further in range(_MOST_LOOKS):
            doubted = [
                number
                for number, finding in enumerate(latest)
                if finding.skipped and not any(flaw.kind == ProblemKind.BEYOND_END for flaw in finding.problems)
            ]
            if not doubted:
                break
            time.sleep(_PAUSE)
            doubted_cases = [cases[number] for number in doubted]
            if not _has_grown(doubted_cases, logs.destination, self.destination):
                break
            offsets = counted(len(doubted), "offset")
            self.tell(f"looking again at {offsets}, because the replication tool goes on copying")
            again, logs = self._look(doubted_cases, existed)
            for number, finding_again in zip(doubted, again, strict=True):
                latest[number] = finding_again
        return latest

    def _look(self, cases: t.Sequence[ClaimCase], existed: t.Mapping[TopicPartition, int]) -> _Look:
        """One look within the limit, and at whole logs where it does not tell enough. existed: of _Edges."""
        found, logs = self._read(cases, self.limit, existed)
        numbers = [] if self.limit is None else _unsure(cases, found, logs, self.tolerated)
        if numbers:
            offsets = counted(len(numbers), "offset")
            self.tell(f"reading whole logs for {offsets}, because too little is certain within the limit")
            whole, _whole_logs = self._read([cases[number] for number in numbers], None, existed)
            for number, finding_of_whole in zip(numbers, whole, strict=True):
                found[number] = finding_of_whole
        return found, logs

    def _read(self, cases: t.Sequence[ClaimCase], limit: int | None, existed: t.Mapping[TopicPartition, int]) -> _Look:
        logs = _Edges(ClusterLogs(self.source), ClusterLogs(self.destination), existed)
        originals = {partition for case in cases for partition, _offset in case.claim.source}
        copies = {partition for case in cases for partition, _offset in case.claim.destination}
        learn_both(logs.source, originals, logs.destination, copies)
        found = while_records_expire(
            lambda: self._counted(cases, limit, logs), logs.source, originals, logs.destination, copies, self.tell
        )
        return found, logs

    def _counted(self, cases: t.Sequence[ClaimCase], limit: int | None, logs: _Edges) -> list[Finding]:
        """What these logs show, whose edges are known. Raises LogChanged where they have other edges now."""
        counts: dict[int, ClaimCounts] = {}
        left_out: dict[int, int] = {}  # see _units()
        for parts in sorted({case.match_on.covered for case in cases}):
            numbers = [number for number, case in enumerate(cases) if case.match_on.covered == parts]
            units = _units(cases, numbers, logs, limit, left_out)
            size = _size(units)
            no_spark = self.no_spark() if size > FEW else None
            if no_spark is not None:
                units = _units(cases, numbers, logs, limit, left_out, most=FEW)
                size = _size(units)
            if size:
                partitions = {extent.partition for unit in units for extent in unit.pair.destinations}
                note = f" in this process ({no_spark.removesuffix('.')})" if no_spark else ""
                self.tell(f"comparing up to {counted(size, 'record')} of {counted(len(partitions), 'partition')}{note}")
            clusters = self.source, self.destination
            if size > FEW and no_spark is None:
                counts |= count_on_spark(self.session(), *clusters, units, parts, limit)
            else:
                for some in _in_turn(units) if size > FEW else [units]:
                    counts |= count_in_process(*clusters, some, parts)
            if doubted := _few_with_extra_copies(units, counts):
                counts |= with_aborted_copies(*clusters, doubted, parts, counts)
        return [_finding(case, counts[number], logs, left_out.get(number, 0)) for number, case in enumerate(cases)]


def _size(units: t.Iterable[PartitionUnit]) -> int:
    """How many offsets are read for them, each once."""
    return sum(pair.size for pair in read_once(unit.pair for unit in units).values())


def _few_with_extra_copies(
    units: t.Iterable[PartitionUnit], counts: t.Mapping[int, ClaimCounts]
) -> list[PartitionUnit]:
    """Those with copies that may be those of aborted records, which leave gaps at the source.

    As many as this process reads at once.
    """
    few: list[PartitionUnit] = []
    size = 0
    for unit in units:
        several = [counts[number] for number in unit.windows]
        extra = any(
            claim_counts.gaps and (claim_counts.counts.destination_only or claim_counts.counts.recopied)
            for claim_counts in several
        )
        if extra and size + unit.pair.size <= FEW:
            few.append(unit)
            size += unit.pair.size
    return few


def _in_turn(units: t.Iterable[PartitionUnit]) -> t.Iterator[list[PartitionUnit]]:
    """The units, as many at a time as this process reads at once. What several of them need may be read more than once."""
    some: list[PartitionUnit] = []
    size = 0
    for unit in units:
        if some and size + unit.pair.size > FEW:
            yield some
            some, size = [], 0
        some.append(unit)
        size += unit.pair.size
    if some:
        yield some


def _unsure(
    cases: t.Sequence[ClaimCase], found: list[Finding], logs: _Edges, tolerated: t.Collection[ProblemKind]
) -> list[int]:
    """The numbers of cases of which the limit does not tell enough, and whose logs are short enough to be read whole.

    So it is where all records are equal, and the replication tool has given the copies other times: then nothing tells where
    a window ends in the other log. And a copy may be that of an equal record outside the limit.
    """
    return [
        number
        for number, finding in enumerate(found)
        if not finding.complete
        and (
            any(flaw.kind not in tolerated for flaw in finding.problems)
            or any(note.kind is NoteKind.NOT_COUNTED for note in finding.notes)
        )
        and _log_size(cases[number].claim, logs) <= SHORT
    ]


def _log_size(claim: Claim, logs: _Edges) -> int:
    """How many offsets its logs have together."""
    sides = (logs.source, claim.source), (logs.destination, claim.destination)
    facts = [side.logs[partition].facts for side, positions in sides for partition, _offset in positions]
    return sum(log.high_watermark - log.log_start for log in facts)


def _has_grown(cases: t.Sequence[ClaimCase], before: ClusterLogs, destination: Connection) -> bool:
    now = ClusterLogs(destination)
    now.learn({partition for case in cases for partition, _offset in case.claim.destination})
    return any(log.facts.end > before.logs[partition].facts.end for partition, log in now.logs.items())


def _units(
    cases: t.Sequence[ClaimCase],
    numbers: t.Sequence[int],
    logs: _Edges,
    limit: int | None,
    left_out: dict[int, int],
    most: int | None = None,
) -> list[PartitionUnit]:
    """Cases about the same extents, compared in the same way, are counted together.

    most: for a case with more offsets, less than the limit is read. left_out: gets how many are not read of a case then.
    """
    units: dict[t.Any, PartitionUnit] = {}
    for number in numbers:
        case = cases[number]
        claim, match_on = case.claim, case.match_on
        windows, pair = _read_for(case, logs, limit)
        wanted = pair.size
        if most is not None and wanted > most:
            less = most // (_LIMITS_READ * (len(claim.source) + len(claim.destination)))
            windows, pair = _read_for(case, logs, less)
            left_out[number] = wanted - pair.size
        key = pair, match_on, windows.is_lossy  # of equal extents, some windows are cut and others are not
        if key not in units:
            units[key] = PartitionUnit(pair, match_on, windows.is_lossy)
        units[key].windows[number] = windows
    return list(units.values())


def _read_for(case: ClaimCase, logs: _Edges, limit: int | None) -> tuple[Windows, LogPair]:
    """What a claim looks at, and what is read for it."""
    claim, copied = case.claim, case.copied
    # What comes again stands between the offset and the copies of what is unconsumed.
    reach = None if limit is None else limit + min(claim.repeats or 0, limit)
    is_lossy = False
    sources: list[Window] = []
    originals: list[Extent] = []
    for partition, offset in claim.source:
        # Up to the high watermark: what an open transaction holds is not consumed, and may be copied.
        facts = logs.source.logs[partition].facts
        if copied is not None:
            facts = _part(facts, copied.start, copied.end)
        around = window(offset, facts.log_start, facts.high_watermark, reach)
        has_lost = facts.is_lossy if copied is None else facts.compacted or facts.log_start > copied.start
        is_lossy |= has_lost or around.cut_below
        if partition in logs.existed:  # what is at or after this offset serves as partner of other records only
            around = around._replace(near=max(offset, min(around.near, logs.existed[partition])))
        sources.append(around)
        start, end = extent(around, facts.log_start, facts.high_watermark, limit)
        originals.append(Extent(partition, start, min(end, max(start, facts.end)), end))
    destinations: list[Window] = []
    copies: list[Extent] = []
    for partition, offset in claim.destination:
        facts = logs.destination.logs[partition].facts
        if copied is not None:  # what others have written after it is none of its records
            facts = _part(facts, copied.begin, copied.place(copied.end) if copied.done else facts.high_watermark)
        destinations.append(window(offset, facts.log_start, facts.end, reach))
        copies.append(Extent(partition, *extent(destinations[-1], facts.log_start, facts.end, limit)))
    return Windows(tuple(sources), tuple(destinations), is_lossy), LogPair(tuple(originals), tuple(copies))


def _part(facts: LogFacts, start: int, end: int) -> LogFacts:
    """A log of which nothing is read before the start, nor from the end on."""
    end = min(facts.high_watermark, end)
    return dataclasses.replace(
        facts, log_start=max(facts.log_start, start), end=min(facts.end, end), high_watermark=end
    )


def _finding(case: ClaimCase, claim_counts: ClaimCounts, logs: _Edges, left_out: int) -> Finding:
    """left_out: how many offsets were not read for want of Spark."""
    claim = case.claim
    copies = [logs.destination.logs[partition].facts for partition, _offset in claim.destination]
    is_compacted = any(facts.compacted for facts in copies)
    found = finding(
        claim,
        claim_counts.counts,
        claim_counts.windows,
        _matched_by(case.match_on, claim_counts.headers, all(facts.log_append_time for facts in copies)),
        is_compacted=is_compacted,
        opens=[logs.source.logs[partition].facts.open_from for partition, _offset in claim.source],
        starts=[facts.log_start for facts in copies],
    )
    if case.absent is not None and _is_unexamined(case.absent, claim_counts):
        found = with_absent_flaw(found, case.absent, is_compacted)
    wrong = [
        Flaw(
            ProblemKind.BEYOND_END,
            f"offset {offset} of {partition} is after the {name}'s end {side.logs[partition].facts.high_watermark}",
        )
        for name, side, positions in (
            ("source", logs.source, claim.source),
            ("destination", logs.destination, claim.destination),
        )
        for partition, offset in positions
        if offset > side.logs[partition].facts.high_watermark
    ]
    if case.copied is not None:  # what is before it was not read
        wrong += [
            Flaw(
                ProblemKind.REPEATED,
                f"offset {offset} of {partition} is before offset {case.copied.begin}, where the copy begins: the group would "
                "read what others have written",
            )
            for partition, offset in claim.destination
            if offset < case.copied.begin
        ]
    # Copies that an open transaction hides from consumers are not read, and the offset may skip them.
    offsets = zip(copies, claim.destination, strict=True)
    hidden = sum(max(0, min(offset, facts.high_watermark) - facts.end) for facts, (_partition, offset) in offsets)
    not_counted = []
    if hidden:
        not_counted.append(
            f"{counted(hidden, 'offset')} before the group's were not read, because an open transaction at the destination "
            "hides them; wait until it ends, and verify again"
        )
    if left_out > 0:
        not_counted.append(
            f"{counted(left_out, 'offset')} of both logs not read, because Spark is not installed here. To read all, install "
            "Java 17 or newer and requirements-spark.txt"
        )
    if not (wrong or not_counted):
        return found
    return dataclasses.replace(
        found,
        complete=found.complete and not hidden,
        problems=(*wrong, *found.problems),
        notes=(*found.notes, *(Note(NoteKind.NOT_COUNTED, text) for text in not_counted)),
    )


def _is_unexamined(absent: Absent, claim_counts: ClaimCounts) -> bool:
    """May the records that the plan says to be absent be some that were not read, or of which too little was read to tell?

    Of several source partitions, nobody knows which one has them.
    """
    counts, windows = claim_counts.counts, claim_counts.windows
    if counts.absent or windows.is_complete:
        return False
    return len(windows.source) > 1 or absent.source >= windows.source[0].near or counts.to_come > 0


@functools.cache
def _matched_by(match_on: MatchOn, headers: bool, are_stamped: bool) -> tuple[str, ...]:
    """headers: whether all copies have those of their records. are_stamped: whether they have times of brokers."""
    its_parts = (*match_on.covered, *(() if are_stamped else ("timestamp",)))
    return tuple(part for part in match_on.compared(headers).parts if part in its_parts)
