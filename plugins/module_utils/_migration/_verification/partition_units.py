# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Partitions whose records are counted together, for all claims about them: what is read of them, and by what."""

from __future__ import annotations

import bisect
import collections
import dataclasses
import itertools
import operator
import typing as t

from ..._comparing.claims import Windows, aligned, pair_runs
from ..._comparing.offset_counts import Contents
from ..._comparing.shared_records import SharedRecords
from ..._comparing.sums import Counts, ToolProgress, with_aborted
from ..._matching.evidence import Span, all_united
from ..._model.background import at_once
from ..._model.connection import Connection
from ..._model.grouping import values_by_key
from ..._model.match_on import MatchOn
from ..._model.records import Record, TopicPartition, record_of
from ..._records.scanning import Piece, scan
from ..._spark import content_frame as dealing
from ..._spark import verify_job
from ..._spark.content_frame import LogPair
from ..._spark.count_job import seen_edges
from ..._spark.session import kept

if t.TYPE_CHECKING:
    from ..._spark.spark_library import SparkSession

# Of a claim's window this many contents, at least, tell where it ends in the other log.
_SAMPLE = 512
_offset = operator.attrgetter("offset")


@dataclasses.dataclass(frozen=True, slots=True)
class PartitionUnit:
    """What is read together and counted together, with the windows of claims within it, by the number of the claim.

    match_on: what is compared. is_lossy: see Windows.
    """

    pair: LogPair
    match_on: MatchOn
    is_lossy: bool
    windows: dict[int, Windows] = dataclasses.field(default_factory=dict)


class ClaimCounts(t.NamedTuple):
    """The counts of a claim, and the windows that they are of. headers: whether all copies have those of their records.

    gaps: whether offsets of the source may be without a record that was read, as those of aborted records are.
    """

    counts: Counts
    windows: Windows
    headers: bool
    gaps: bool = True


def count_in_process(
    source: Connection, destination: Connection, units: t.Sequence[PartitionUnit], parts: tuple[str, ...]
) -> dict[int, ClaimCounts]:
    """What is counted of all units, by claim, in this process: of so few records that Spark would only have started.

    Raises as scan_frame() does.
    """
    sources = [extent for unit in units for extent in unit.pair.sources]
    stable = _spans((each.partition, each.start, each.end) for each in sources)
    held = _spans((each.partition, each.end, each.open_end or each.end) for each in sources)

    def originals() -> _Logs:
        logs = _read(source, stable, parts, committed=True)
        for partition, records in _read(source, held, parts, committed=False).items():
            logs[partition] = logs.get(partition, []) + records
        return logs

    logs = at_once(originals, lambda: _copies(destination, units, parts))
    by_claim: dict[int, ClaimCounts] = {}
    for unit, contents in _contents(units, logs):
        gaps = any(_has_gaps(extent, logs[0].get(extent.partition, [])) for extent in unit.pair.sources)
        for claim, windows in unit.windows.items():
            read = aligned(windows, contents.landmark_runs)
            counts = contents.counts(read, contents.progress)
            by_claim[claim] = ClaimCounts(counts, read, not contents.headers_changed, gaps)
    return by_claim


def _has_gaps(extent: dealing.Extent, records: t.Sequence[Record]) -> bool:
    end = extent.open_end or extent.end
    low, high = (bisect.bisect_left(records, offset, key=_offset) for offset in (extent.start, end))
    return high - low < end - extent.start


def with_aborted_copies(
    source: Connection,
    destination: Connection,
    units: t.Sequence[PartitionUnit],
    parts: tuple[str, ...],
    by_claim: t.Mapping[int, ClaimCounts],
) -> dict[int, ClaimCounts]:
    """What was found of the claims of these units, with copies of aborted records named as such.

    Reads everything once more, in this process: aborted records of the source, too. Raises as scan_frame() does.
    """
    sources = [extent for unit in units for extent in unit.pair.sources]
    spans = _spans((each.partition, each.start, each.open_end or each.end) for each in sources)
    logs = at_once(lambda: _read(source, spans, parts, committed=False), lambda: _copies(destination, units, parts))
    result: dict[int, ClaimCounts] = {}
    for unit, contents in _contents(units, logs):
        for claim in unit.windows:
            claim_counts = by_claim[claim]
            uncommitted = contents.counts(claim_counts.windows, contents.progress)
            result[claim] = claim_counts._replace(counts=with_aborted(claim_counts.counts, uncommitted))
    return result


_Spans = dict[TopicPartition, list[Span]]
_Logs = dict[TopicPartition, list[Record]]


def _contents(
    units: t.Iterable[PartitionUnit], logs: tuple[_Logs, _Logs]
) -> t.Iterator[tuple[PartitionUnit, Contents]]:
    """Each unit with its contents. logs: what was read of both clusters."""
    together = values_by_key(((unit.pair.partitions, unit.match_on), unit) for unit in units)
    for (partitions, match_on), alike in together.items():
        source, copies = (
            [cluster_logs.get(partition, []) for partition in side]
            for cluster_logs, side in zip(logs, partitions, strict=True)
        )
        shared = SharedRecords(source, copies, match_on)
        for unit in alike:
            spans = ([(extent.start, extent.open_end or extent.end) for extent in side] for side in unit.pair)
            yield unit, shared.contents(*spans, is_lossy=unit.is_lossy)


def _copies(destination: Connection, units: t.Iterable[PartitionUnit], parts: tuple[str, ...]) -> _Logs:
    spans = _spans((each.partition, each.start, each.end) for unit in units for each in unit.pair.destinations)
    return _read(destination, spans, parts, committed=True)


def _spans(spans: t.Iterable[tuple[TopicPartition, int, int]]) -> _Spans:
    by_partition = values_by_key((partition, (start, end)) for partition, start, end in spans if start < end)
    return {partition: all_united(own) for partition, own in by_partition.items()}


def _read(connection: Connection, spans: _Spans, parts: tuple[str, ...], *, committed: bool) -> _Logs:
    pieces = [Piece(0, partition, *span) for partition, partition_spans in spans.items() for span in partition_spans]
    logs: _Logs = collections.defaultdict(list)
    for rows in scan(connection, pieces, parts=parts, committed=committed):
        stamped = itertools.chain.from_iterable(itertools.repeat(run.log_append_time, run.length) for run in rows.runs)
        columns = zip(rows.offsets, rows.timestamps, rows.fingerprints, rows.bare, stamped, strict=True)
        records = map(record_of, columns)
        for run in rows.runs:
            logs[run.piece.partition] += itertools.islice(records, run.length)
    return dict(logs)


def count_on_spark(
    spark: SparkSession,
    source: Connection,
    destination: Connection,
    units: t.Sequence[PartitionUnit],
    parts: tuple[str, ...],
    reach: int | None,
) -> dict[int, ClaimCounts]:
    """As count_in_process(). reach: how far the windows go; None for whole logs.

    What cannot be said before all tasks have told where logs end is asked in a second step.
    """
    read, layout = dealing.shared([unit.pair for unit in units])
    lossy = [number for number, unit in enumerate(units) if unit.is_lossy and unit.match_on.timestamp]
    of_read = dealing.layout_of(read, timestamps=True)
    is_whole = [all(window.is_complete for window in unit.windows.values()) for unit in units]
    step = None if all(is_whole) else max(1, (reach or 0) // _SAMPLE)
    windows = [unit.windows for unit in units]
    with kept(dealing.read_contents(spark, source, destination, read, of_read, parts)) as frame:
        edges = seen_edges(frame, layout, lossy)
        # What is lacking is first taken for still to come, and nothing consumed for it.
        asked = {
            number: verify_job.PairClaims(unit.match_on, windows[number] if whole else {}, ToolProgress.none(), step)
            for number, (unit, whole) in enumerate(zip(units, is_whole, strict=True))
        }
        answers = verify_job.count_claims(frame, layout, asked, edges)
        again = {}
        for number, answer in answers.items():
            if not is_whole[number]:
                runs = pair_runs(answer.landmarks)
                windows[number] = {claim: aligned(window, runs) for claim, window in windows[number].items()}
            if not is_whole[number] or _may_lag(answer, windows[number].values()):
                again[number] = verify_job.PairClaims(units[number].match_on, windows[number], answer.progress)
        if again:
            answers |= verify_job.count_claims(frame, layout, again, edges)
    return {
        claim: ClaimCounts(answer.counts.get(claim, Counts()), window, not answer.headers_changed)
        for number, answer in answers.items()
        for claim, window in windows[number].items()
    }


def _may_lag(answer: verify_job.PairCounts, windows: t.Iterable[Windows]) -> bool:
    """May records be still to come, unconsumed or consumed ones?"""
    reached = answer.progress.reached
    sources = [place for window in windows for place in enumerate(window.source)]
    return any(counts.to_come for counts in answer.counts.values()) or any(
        window.at > reached.get(place, window.at) + 1 for place, window in sources
    )
