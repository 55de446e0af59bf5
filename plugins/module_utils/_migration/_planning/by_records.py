# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Strategy `records`: the rule decides by the records of both logs."""

from __future__ import annotations

import time
import typing as t

from ..._matching.evidence import Decision
from ..._model.plan import PlanEntry
from ..._model.progress import counted, paced
from ..._model.records import TopicPartition
from ..._model.verdicts import Reason
from .. import drafts
from ..cluster_logs import learn_both, while_records_expire
from ..drafts import Draft
from .kept import part_kept
from .other_partitions import corrected_entries
from .repartitioned import repartitioned_entries
from .settling import PAUSE, SAY_WAITING_EVERY, Case, settle
from .strategy import DraftKey, StrategyInput, StrategyOutput
from .wide import settle_wide


class OffsetHints(t.Protocol):
    """What a replication tool has noted of offsets. The rule tries it where times do not lead, and believes none of it."""

    def shifts(self, committed: int, source: TopicPartition, destination: TopicPartition) -> tuple[int, ...]:
        """Differences of a source offset and its copy's around a committed offset, the likeliest first."""


def by_records(given: StrategyInput, hints: OffsetHints | None = None) -> StrategyOutput:
    """Entries of the previous plan for groups that have not moved; for others the rule's, by the records alone.

    A topic whose records were copied to other partitions is blocked as a whole.
    """
    kept, moved = part_kept(given)
    decided = _one_to_one(given, moved, hints)
    corrected = corrected_entries(given, moved, kept | decided)
    return StrategyOutput(
        kept | decided | corrected | repartitioned_entries(given), len(kept.keys() - corrected.keys())
    )


def _one_to_one(
    given: StrategyInput, searched: t.Mapping[DraftKey, Draft], hints: OffsetHints | None
) -> dict[DraftKey, PlanEntry]:
    """Settle by the rule; while copies are still to come, and there is time, look again. Read on with Spark at the end."""
    source, destination, options = given.source, given.destination, given.options
    cases = {key: _case(draft, hints) for key, draft in searched.items()}
    # Nothing is copied to a partition that does not exist yet, and Spark cannot read it.
    readable = {key: case for key, case in cases.items() if case.destination not in destination.predicted}
    deadline = time.monotonic() + options.wait_for_replication
    decisions = settle(cases, source, destination, options.policy, say=given.say)
    say_waiting = paced(given.say, SAY_WAITING_EVERY)
    while True:
        lagging = {key: case for key, case in readable.items() if decisions[key].reason is Reason.DESTINATION_LAGS}
        left = deadline - time.monotonic()
        if not lagging or left <= 0:
            break
        say_waiting(f"waiting for the replication tool: {_lag(lagging, decisions)} ({left:.0f} s left)")
        time.sleep(PAUSE)
        originals = {case.source for case in lagging.values()}
        learn_both(source, originals, destination, {case.destination for case in lagging.values()})
        decisions |= settle(lagging, source, destination, options.policy)

    def read_on() -> dict[DraftKey, Decision]:
        return settle_wide(readable, decisions, given)

    def settle_again() -> None:
        decisions.update(settle(readable, source, destination, options.policy, say=given.say))

    originals, copies = ({case.source for case in readable.values()}, {case.destination for case in readable.values()})
    final = while_records_expire(read_on, source, originals, destination, copies, given.say, settle_again)
    return {key: drafts.decided(draft, final[key], options.match_on) for key, draft in searched.items()}


def _lag(lagging: t.Mapping[DraftKey, Case], decisions: t.Mapping[DraftKey, Decision]) -> str:
    """How many partitions lag, and which one most, as a clause."""
    partitions = {case.destination for case in lagging.values()}
    last = max(lagging, key=lambda key: decisions[key].to_come or 0)
    lag = decisions[last].to_come
    most = str(lagging[last].destination), f"by {counted(lag, 'record')}" if lag else ""
    if len(partitions) == 1:
        return " ".join([most[0], "lags", most[1]]).rstrip()
    return " ".join([f"{len(partitions):,} partitions lag, most of all", *most]).rstrip()


def _case(draft: Draft, hints: OffsetHints | None) -> Case:
    question = draft.offset, draft.source_partition, draft.partition
    return Case(*question, hints.shifts(*question) if hints else ())
