# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Serve the verification of groups' offsets: both logs around them are read, once for all of them, and contents counted."""

from __future__ import annotations

import contextlib
import dataclasses
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._comparing.claims import Claim, Windows, window
from ansible_collections.streamshift.kafka.plugins.module_utils._comparing.sums import Counts
from ansible_collections.streamshift.kafka.plugins.module_utils._comparing.verified import finding
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._verification.partition_units import (
    ClaimCounts,
    InProcess,
    PartitionUnit,
    UnitReader,
    on_spark,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.cluster_logs import ClusterLogs
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.match_on import Matching, MatchOn
from ansible_collections.streamshift.kafka.plugins.module_utils._model.progress import Say, counted, repeating, silent
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.report import (
    Finding,
    Flaw,
    Position,
    ProblemKind,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.spark import SparkOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.session import session_on_demand

# So many offsets of both clusters together are read and counted in this process; more, and Spark is faster.
FEW = 500_000


class ClaimCase(t.NamedTuple):
    """A claim, and how its records are compared."""

    claim: Claim
    match_on: MatchOn


def findings(
    cases: t.Sequence[ClaimCase],
    source: Connection,
    destination: Connection,
    limit: int | None,
    spark: SparkOptions,
    say: Say = silent,
) -> list[Finding]:
    """What is found of every case, in order.

    limit: so many offsets on both sides of each offset are read, on both clusters; None for whole logs. Spark is started
    where there is much to read. Raises as open_session() and scan_frame() do.
    """
    here, there = ClusterLogs(source), ClusterLogs(destination)
    # The destination's end first: what it has must be there at the source.
    there.learn({partition for case in cases for partition, _offset in case.claim.destination})
    here.learn({partition for case in cases for partition, _offset in case.claim.source})
    found: dict[int, tuple[ClaimCounts, Matching]] = {}
    with repeating(say) as tell, session_on_demand(spark, tell) as session:
        for parts in sorted({case.match_on.covered for case in cases}):
            numbers = [number for number, case in enumerate(cases) if case.match_on.covered == parts]
            units = _units(cases, numbers, here, there, limit)
            with contextlib.ExitStack() as stack:
                size = sum(unit.size for unit in units)
                if size:
                    partitions = {partition for unit in units for partition in unit.destinations}
                    tell(f"comparing up to {counted(size, 'record')} of {counted(len(partitions), 'partition')}")
                reader: UnitReader
                if size <= FEW:
                    reader = InProcess(source, destination, units, parts)
                else:
                    reader = stack.enter_context(on_spark(session(), source, destination, units, parts, limit))
                found |= _counted(cases, units, reader, tell)
    return [_finding(case, *found[number], here, there) for number, case in enumerate(cases)]


def _units(
    cases: t.Sequence[ClaimCase], numbers: t.Sequence[int], here: ClusterLogs, there: ClusterLogs, limit: int | None
) -> list[PartitionUnit]:
    """Cases about the same partitions, compared in the same way, are counted together."""
    units: dict[t.Any, PartitionUnit] = {}
    for number in numbers:
        claim = cases[number].claim
        sources = tuple(partition for partition, _offset in claim.source)
        destinations = tuple(partition for partition, _offset in claim.destination)
        stable = tuple(here.logs[partition].facts.end for partition in sources)
        key = sources, destinations, cases[number].match_on
        units.setdefault(key, PartitionUnit(sources, destinations, stable)).windows[number] = _windows(
            claim, here, there, limit
        )
    return list(units.values())


def _windows(claim: Claim, here: ClusterLogs, there: ClusterLogs, limit: int | None) -> Windows:
    """At the source up to the high watermark: what an open transaction holds is not consumed, and may be copied."""
    # What comes again stands between the offset and the copies of what is unconsumed.
    reach = None if limit is None else limit + min(claim.repeats or 0, limit)
    return Windows(
        tuple(_window(here, each, reach, hidden=True) for each in claim.source),
        tuple(_window(there, each, reach, hidden=False) for each in claim.destination),
    )


def _window(side: ClusterLogs, position: Position, reach: int | None, *, hidden: bool) -> t.Any:
    partition, offset = position
    facts = side.logs[partition].facts
    return window(offset, facts.log_start, facts.high_watermark if hidden else facts.end, reach)


def _counted(
    cases: t.Sequence[ClaimCase], units: t.Sequence[PartitionUnit], reader: UnitReader, say: Say
) -> dict[int, tuple[ClaimCounts, Matching]]:
    """For each case what is counted, by the way of comparing that leaves fewest records without an equal one."""
    found: dict[int, tuple[ClaimCounts, Matching]] = {}
    matchings = [cases[next(iter(unit.windows))].match_on.matchings for unit in units]
    for turn in range(max(map(len, matchings), default=0)):
        wanted: dict[Matching, list[int]] = {}
        for number, unit in enumerate(units):
            lacks = not turn or any(_unequal(found[claim][0].counts) for claim in unit.windows)
            if turn < len(matchings[number]) and lacks:
                wanted.setdefault(matchings[number][turn], []).append(number)
        if turn and wanted:
            say("comparing once more without headers, because some records have no equal one")
        for how, numbers in wanted.items():
            for claim, its in reader.count(numbers, how).items():
                if not turn or _unequal(its.counts) < _unequal(found[claim][0].counts):
                    found[claim] = its, how
    return found


def _unequal(counts: Counts) -> int:
    return counts.absent + counts.to_come + counts.destination_only


def _finding(case: ClaimCase, its: ClaimCounts, how: Matching, here: ClusterLogs, there: ClusterLogs) -> Finding:
    claim = case.claim
    partitions: list[TopicPartition] = [partition for partition, _offset in claim.destination]
    stamped = all(there.logs[partition].facts.log_append_time for partition in partitions)
    its_parts = (*case.match_on.covered, *(() if stamped else ("timestamp",)))
    found = finding(
        claim,
        its.counts,
        its.windows,
        tuple(part for part in how.parts if part in its_parts),
        is_compacted=any(there.logs[partition].facts.compacted for partition in partitions),
    )
    wrong = [
        Flaw(
            ProblemKind.BEYOND_END,
            f"offset {offset} of {partition} is beyond the {name}'s end {side.logs[partition].facts.high_watermark}",
        )
        for name, side, positions in (("source", here, found.source), ("destination", there, found.destination))
        for partition, offset in positions
        if offset > side.logs[partition].facts.high_watermark
    ]
    return dataclasses.replace(found, problems=(*wrong, *found.problems))
