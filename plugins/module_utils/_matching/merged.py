# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""The rule for a destination topic whose partitions are not copies of one source partition each. Pure.

Its records come from several source partitions, in an order that nobody has kept. Counting does not need one: of each content
the group has consumed so many records in all source partitions together, and needs as many as are left, in all destination
partitions together (the youngest copies). What is left to decide here is what no count can tell: records that the source
has lost, and those that have still to come.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._model.records import TopicPartition
from .._model.verdicts import BEFORE_LOSS, Reason, Verdict
from .._model.wording import counted
from . import chosen, rows
from .between import Between
from .certificates import CountedBefore, NothingConsumed
from .evidence import Decision, LogFacts, Policy, Span, blocked
from .group_count import Answer
from .lost_records import deleted_records
from .whole import OLDER, by_count

_ORDER_DIFFERS = (
    "records of several source partitions are in another order at the destination: consumed ones follow the first "
    "unconsumed one"
)


class Position(t.NamedTuple):
    """Where a group stands on one source partition: what lies below `consumed_below` is consumed.

    committed is None where the group has no commit; what it has consumed there is then a matter of policy.
    """

    partition: TopicPartition
    committed: int | None
    consumed_below: int
    facts: LogFacts


class Missing(t.NamedTuple):
    """Consumed records that are not at the destination: how many, of partitions of which the last one has not come.

    partition and offset are those of the first of these last ones.
    """

    records: int
    partition: TopicPartition
    offset: int


@dataclasses.dataclass(frozen=True, slots=True)
class Sources:
    """Every source partition of the topics that were merged or repartitioned, as one group stands on them.

    due_from: before which time (ms since the epoch) there is no copy of an unconsumed record, if the destination has no record
    that the source still has, and the replication tool may have changed them; None otherwise, or if none is unconsumed.
    is_older: no copy has its record's time, and none is as young as what the source, which may have lost records, still has.
    """

    positions: tuple[Position, ...]
    missing: Missing | None = None
    due_from: int | None = None
    is_older: bool = False

    @property
    def consumed(self) -> int:
        """How many offsets the group has consumed. Of a partition without a commit, those that have expired do not count."""
        return sum(
            max(0, at.consumed_below - (at.facts.log_start if at.committed is None else 0)) for at in self.positions
        )

    @property
    def expired(self) -> int:
        """How many offsets that the group has not consumed have expired."""
        return sum(max(0, at.facts.log_start - at.committed) for at in self.positions if at.committed is not None)

    @property
    def compacted(self) -> bool:
        """May records have been compacted away, unconsumed ones too?"""
        return any(at.facts.compacted for at in self.positions)

    @property
    def incomplete(self) -> bool:
        """May records have been at the source that it has no more?"""
        return self.compacted or any(at.facts.log_start > 0 for at in self.positions)

    @property
    def retention_ms(self) -> int | None:
        """How old a record gets at the source, at the most; None for those that are kept for ever."""
        ages = [at.facts.retention_ms for at in self.positions]
        return None if None in ages else max(age for age in ages if age is not None)


class PartitionCount(t.NamedTuple):
    """What one destination partition holds for one group, up to its end.

    answer: what counting says of it. between: what lies between its last consumed and its first unconsumed copy; it
    matters only where the source may have lost records, see gap(). first_unknown: the offset of the first record that
    the source does not have. first_surplus: of the first copy that may be one of such a record, because there are more
    than the source has. first_young: of the first record that may be unconsumed by its time (see young_from);
    it matters only where neither copy is there. unread: whether more lies between than the user's limit lets be read.
    """

    answer: Answer
    between: Between = Between(False, False)
    first_unknown: int | None = None
    first_surplus: int | None = None
    first_young: int | None = None
    unread: bool = False


def blocked_by_one(positions: t.Iterable[Position]) -> Decision | None:
    """What a single source partition decides for all entries of the group, None where nothing stands in the way."""
    for at in positions:
        if at.consumed_below > at.facts.high_watermark:
            return blocked(
                Reason.BEYOND_END,
                f"{at.partition} ends at {at.facts.high_watermark} at the source, and {at.consumed_below} is committed: the "
                "topic was recreated or truncated after the commit, or a file says a wrong offset; correct the file, or first "
                f"reset the group at the source {BEFORE_LOSS}",
            )
        if at.consumed_below > at.facts.end:
            return blocked(
                Reason.OPEN_TRANSACTION,
                f"an open transaction keeps the records of {at.partition} from {at.facts.end} on from being read at the "
                "source; try again when it is over",
            )
    return None


def young_from(sources: Sources, now: int) -> int | None:
    """From which timestamp on a record may be unconsumed; None when records never expire at the source.

    That is if it cannot have expired there yet, or from `due_from` on.

    :param now: milliseconds since the epoch.
    """
    if sources.retention_ms is None:
        return None
    young = max(0, now - sources.retention_ms)
    return young if sources.due_from is None else min(young, sources.due_from)


def untouched(sources: Sources, destination: LogFacts) -> Decision:
    """Where a group must start that has never consumed anything."""
    return Decision.exact(NothingConsumed(sources.consumed), destination.log_start, detail="nothing was ever consumed")


def decide_merged(sources: Sources, count: PartitionCount, destination: LogFacts, policy: Policy) -> Decision:
    """Where the group must stand in one destination partition.

    No unconsumed record that both clusters have is skipped, whatever the order of the copies.
    """
    if not sources.consumed:
        return untouched(sources, destination)
    if sources.missing is not None:
        return _lags(sources, sources.missing, count, destination)
    if sources.expired:
        return _expired(sources, count, destination, policy)
    return _placed(sources, count, destination, policy)


def _lags(sources: Sources, missing: Missing, count: PartitionCount, destination: LogFacts) -> Decision:
    """Consumed records are still to come. The lossless offset obeys no option that allows records to be skipped."""
    last = count.answer.last_consumed
    offset = destination.log_start if last is None else last + 1
    if sources.expired:
        offset = _before_lost_ones(offset, count)
    deleted = deleted_records(destination)
    wait = rows.WAIT + (" only if it has not copied them yet" if deleted else "")
    return blocked(
        Reason.DESTINATION_LAGS,
        f"{missing.records:,} consumed records are not at the destination; the last one, {missing.partition} offset "
        f"{missing.offset}, has not come, nor any after it; they would be repeated when they come{deleted}"
        f"{rows.hidden_records(destination)}; {wait}",
        lossless=CountedBefore(offset, count.answer.first_wanted),
        to_come=missing.records,
    )


def _before_lost_ones(offset: int, count: PartitionCount) -> int:
    """This offset, or the first record that may be a copy of one that has expired at the source, if that comes before it.

    Where records of several partitions stand mixed, the last ones are not those that were consumed last.
    """
    return min(at for at in (offset, count.first_unknown, count.first_surplus) if at is not None)


def gap(sources: Sources, answer: Answer) -> Span | None:
    """The offsets that PartitionCount.between is about, with the first unconsumed copy; None where they do not matter."""
    first, last = answer.first_wanted, answer.last_consumed
    if not sources.incomplete or first is None or last is None or last + 1 == first:
        return None
    return last + 1, first + 1


def _placed(sources: Sources, count: PartitionCount, destination: LogFacts, policy: Policy) -> Decision:
    answer, unknown = count.answer, count.first_unknown
    first, last = answer.first_wanted, answer.last_consumed
    if last is not None:
        if first is None or not count.between.any:
            return _counted(sources, last + 1, answer)
        if sources.compacted or count.between.younger:
            return _lost(last + 1, count.unread)
        return _counted(sources, first, answer)
    if first is None and unknown is None and sources.incomplete and destination.hidden:
        decision = _by_policy(sources, count, destination, policy)
        return dataclasses.replace(decision, detail=decision.detail + rows.hidden_records(destination))
    if unknown is None:
        return _counted(sources, destination.log_start, answer)
    if sources.compacted:
        return _lost(destination.log_start)
    if first is None and sources.incomplete:
        return _by_policy(sources, count, destination, policy)
    # Before the first copy stands what was there earlier, or what has expired after it was consumed.
    return _counted(sources, first if first is not None and unknown < first else destination.log_start, answer)


def _counted(sources: Sources, offset: int, answer: Answer) -> Decision:
    if sources.is_older:
        return Decision(Verdict.SAFE, offset, Reason.SOURCE_LOST_RECORDS, None, OLDER)
    arrived = sources.missing is None  # of all partitions together
    to_come = Reason.REPARTITIONED, f"{counted(answer.to_come, 'consumed record')} may still come to the destination"
    otherwise = Reason.REPARTITIONED, _ORDER_DIFFERS
    return by_count(answer, offset, arrived, to_come, otherwise, "offsets")


def _lost(offset: int, unread: bool = False) -> Decision:
    """Nobody knows how many follow: the order between source partitions is lost."""
    detail = "the source has lost records, whose copies may be among those before the first unconsumed one"
    if unread:
        detail += ", which were not read, because they are more than search_limit allows"
    return Decision(Verdict.SAFE, offset, Reason.SOURCE_LOST_RECORDS, None, detail)


def _expired(sources: Sources, count: PartitionCount, destination: LogFacts, policy: Policy) -> Decision:
    """The source has lost records that the group has not consumed; the destination may still have them."""
    wanted, last = count.answer.first_wanted, count.answer.last_consumed
    first = (destination.end if wanted is None else wanted) if last is None else last + 1

    def back() -> tuple[int, str]:
        how = "the group starts before every record that may be a copy of an expired one, because it may not have consumed it"
        return _before_lost_ones(first, count), how

    return chosen.expired(policy.on_expired, sources.expired, destination.log_start, first, back)


def _by_policy(sources: Sources, count: PartitionCount, destination: LogFacts, policy: Policy) -> Decision:
    """Nothing here is at the source any more, or ever was."""
    return chosen.without_anchor(
        policy.on_no_anchor, destination.log_start, destination.end, sources.retention_ms, lambda: count.first_young
    )
