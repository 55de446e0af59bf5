# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What the client could not settle by reading a little: Spark counts what follows an offset, or both whole logs.

Either is done once for all groups of a partition.
"""

from __future__ import annotations

import contextlib
import dataclasses
import typing as t

from ..._matching.certificates import FromTheEnd, has_arrived
from ..._matching.evidence import Decision, Need, Question, internal_error
from ..._matching.group_count import GroupPosition
from ..._matching.log_reader import NotRead, Reader
from ..._matching.lost_records import lost_until
from ..._matching.whole import decide_counted, noting_absent
from ..._model.grouping import values_by_key
from ..._model.verdicts import Absent, Copied, Way
from ..._model.wording import counted
from ..._spark import count_job, tail_job
from ..._spark.content_frame import Extent, LogPair, layout_of, read_contents
from ..._spark.session import kept, obstacle
from ..._spark.tail_job import Tail
from ..._spark.worker_packing import Layout
from .settling import Case, answer_all
from .strategy import StrategyInput

if t.TYPE_CHECKING:
    from ..._spark.spark_library import DataFrame, SparkSession

_Key = t.TypeVar("_Key")


def settle_wide(
    cases: t.Mapping[_Key, Case], decisions: t.Mapping[_Key, Decision], given: StrategyInput
) -> dict[_Key, Decision]:
    """Decide again what reading on can decide: spent budgets, and tails that were not counted. The others stay as they are.

    spark_limit says how many records of one partition are read on both clusters together; where there are more, and where
    Spark cannot be used here, the decision stays, and its detail says why. Raises SparkFailed and what reading raises.
    """
    answer = dict(decisions)
    opened = {key: case for key, case in cases.items() if decisions[key].is_open}
    offsets = {key: offset for key in opened if (offset := decisions[key].offset) is not None}
    near = _within_limit(opened, offsets, given, answer)
    if not near:
        return answer
    if (why := obstacle(given.options.spark)) is not None:
        return answer | {key: _with(decisions[key], f"Spark can count them once this is fixed: {why}") for key in near}
    wide = _Wide(given, given.spark())
    # What follows an offset that was found; both logs where that does not prove it right, and elsewhere, if they fit the limit.
    tails = {key: case for key, case in near.items() if key in offsets}
    proved = wide.by_tails(tails, offsets, decisions)
    answer |= proved
    unproved = {key: case for key, case in near.items() if key not in proved}
    left = _within_limit(unproved, {}, given, answer)
    remark = "; what follows the offset does not prove it either"
    return answer | wide.by_whole_logs(
        left, {key: decisions[key].doubt + (remark if key in tails else "") for key in left}
    )


def _within_limit(
    cases: t.Mapping[_Key, Case],
    offsets: t.Mapping[_Key, int],
    given: StrategyInput,
    answer: dict[_Key, Decision],
) -> dict[_Key, Case]:
    """The cases for which spark_limit lets _pair() be read. The answer says of the others why they are not decided.

    offsets: those that were found, of which only what follows is read.
    """
    limit, near = given.options.spark_limit, {}
    for key, case in cases.items():
        size = _pair(case, given, offsets.get(key)).size
        if size > limit:
            answer[key] = _with(answer[key], f"Spark would read {size:,} records, and spark_limit is {limit:,}")
        else:
            near[key] = case
    return near


def _pair(case: Case, given: StrategyInput, offset: int | None) -> LogPair:
    """What is read of both logs: all of them, or what is not consumed and what follows an offset for it."""
    source_facts = given.source.logs[case.source].facts
    destination_facts = given.destination.logs[case.destination].facts
    begin, copies_begin = source_facts.log_start, destination_facts.log_start
    if offset is not None:
        begin, copies_begin = max(case.committed, begin), offset
    return LogPair(
        (Extent(case.source, begin, max(source_facts.end, begin), max(source_facts.high_watermark, begin)),),
        (Extent(case.destination, copies_begin, destination_facts.end),),
    )


def _with(decision: Decision, remark: str) -> Decision:
    return dataclasses.replace(decision, detail=f"{decision.detail}; {remark}")


@dataclasses.dataclass(frozen=True, slots=True)
class _Wide:
    """Both clusters as they were looked at, and the session that reads them."""

    given: StrategyInput
    spark: SparkSession

    def by_tails(
        self, cases: t.Mapping[_Key, Case], offsets: t.Mapping[_Key, int], decisions: t.Mapping[_Key, Decision]
    ) -> dict[_Key, Decision]:
        """The offsets that what follows them proves right: just what is unconsumed, but for what is still to come."""
        if not cases:
            return {}
        numbers, pairs = self._by_pair(cases, offsets)
        asked = [tail_job.TailQuestion(number, cases[key].committed, offsets[key]) for key, number in numbers.items()]
        layout = layout_of(pairs, timestamps=self.given.options.policy.with_timestamp)
        without_headers = self.given.source.match_on.headers_may_differ
        with self._read(pairs, layout) as contents:
            tails = tail_job.count_tails(contents, layout, asked, without_headers=without_headers)
        by_key = dict(zip(numbers, tails, strict=True))
        oldest = [(cases[key].destination, tail.oldest) for key, tail in by_key.items()]
        self.given.destination.look_up([(partition, time) for partition, time in oldest if time is not None])
        proved = {key: self._proved(cases[key], decisions[key], offsets[key], tail) for key, tail in by_key.items()}
        return {key: decision for key, decision in proved.items() if decision is not None}

    def _proved(self, case: Case, decision: Decision, offset: int, tail: Tail) -> Decision | None:
        """The exact decision, with the absent records that the tail shows: all that is unconsumed was read for it.

        None where the tail does not prove it, as certify.py proves it by what it reads.
        """
        log, copies = self.given.source.logs[case.source], self.given.destination.logs[case.destination]
        policy, are_not_before = self.given.options.policy, tail.oldest is None
        if tail.oldest is not None and self._follows_the_last_consumed(case, decision.before, offset):
            # Does a time look-up say that no missing record stands before the offset? Then the tool has kept times.
            first = copies.first_at(tail.oldest)
            are_not_before = policy.with_timestamp and (first is None or first >= offset)
        arrived = has_arrived(None, tail.distinct)
        if tail.others or not arrived or not are_not_before:
            return None
        certified = Decision.exact(
            FromTheEnd(tail.unconsumed, tail.missing, are_not_before, arrived, repeated=tail.others),
            offset,
            before=decision.before,
            after=decision.after,
            matched_by=decision.matched_by,
            way=Way.SPARK_TAIL,
            doubt=decision.doubt,
        )
        # A compacted log lacks older records of its keys as it should.
        absent = None if copies.facts.compacted else _absent_of(tail, log.facts.open_from)
        return noting_absent(Reader(Question(case.committed, log, copies, policy)), certified, absent)

    def _follows_the_last_consumed(self, case: Case, before: Copied | None, offset: int) -> bool:
        """Is the record before the offset the last consumed one?"""
        if before is None or before.destination != offset - 1:
            return False
        between, log = (before.source + 1, case.committed), self.given.source.logs[case.source]
        return not log.unread(*between) and not log.between(*between)

    def by_whole_logs(self, cases: t.Mapping[_Key, Case], doubts: t.Mapping[_Key, str]) -> dict[_Key, Decision]:
        """What counting says, for all groups of a partition at once. doubts: why the near way has not decided."""
        if not cases:
            return {}
        given = self.given
        numbers, pairs = self._by_pair(cases, {})
        until = answer_all(cases, given, _lost_until, lambda *_unused: None)
        position_of = {
            key: GroupPosition(number, (cases[key].committed,), until[key]) for key, number in numbers.items()
        }
        positions = list(dict.fromkeys(position_of.values()))
        layout = layout_of(pairs, timestamps=given.options.policy.with_timestamp)
        facts = [given.source.logs[pair.sources[0].partition].facts for pair in pairs]
        with self._read(pairs, layout) as contents:
            results = count_job.count_wide(
                contents,
                layout,
                positions,
                [pair.destinations[0].end for pair in pairs],
                without_headers=given.source.match_on.headers_may_differ,
                stable=[log_facts.end for log_facts in facts],
                only_doubled=True,
                lossy=[number for number, log_facts in enumerate(facts) if log_facts.is_lossy],
            )
        given.source.learn_starts({case.source for case in cases.values()})
        counts = dict(zip(positions, results, strict=True))

        def rule(key: _Key, question: Question) -> Decision | Need:
            return decide_counted(question, counts[position_of[key]], doubts[key])

        return answer_all(cases, given, rule, internal_error)

    def _by_pair(
        self, cases: t.Mapping[_Key, Case], offsets: t.Mapping[_Key, int]
    ) -> tuple[dict[_Key, int], list[LogPair]]:
        """What is read for all cases of each pair of partitions together, and the number of the pair of each case."""
        together = values_by_key(((case.source, case.destination), key) for key, case in cases.items())
        pairs = []
        for keys in together.values():
            key_pairs = [_pair(cases[key], self.given, offsets.get(key)) for key in keys]
            # The ends are the same for all of them, and the lowest beginning is the first.
            pairs.append(LogPair(min(pair.sources for pair in key_pairs), min(pair.destinations for pair in key_pairs)))
        return {key: number for number, keys in enumerate(together.values()) for key in keys}, pairs

    def _read(self, pairs: t.Sequence[LogPair], layout: Layout) -> contextlib.AbstractContextManager[DataFrame]:
        size = sum(pair.size for pair in pairs)
        self.given.say(f"comparing up to {counted(size, 'record')} of {counted(len(pairs), 'partition')} with Spark")
        source, destination = self.given.source, self.given.destination
        parts = source.match_on.fingerprinted
        return kept(read_contents(self.spark, source.connection, destination.connection, pairs, layout, parts))


def _lost_until(_key: t.Hashable, question: Question) -> int | Need | None:
    if not question.policy.with_timestamp:
        return None  # nothing is compared with it
    reader = Reader(question)
    try:
        return lost_until(reader)
    except NotRead:
        return reader.need()


def _absent_of(tail: Tail, open_from: int | None) -> Absent | None:
    """The missing records before the last one that has arrived: without other records, all copies of a content follow."""
    first, last = tail.first_missing, tail.last_copied
    if first is None or last is None or first > last:
        return None
    return Absent(max(1, tail.absent), first, tail.absent == tail.missing, open_from)
