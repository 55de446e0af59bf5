# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Strategy `records`: the rule decides by the records of both logs."""

from __future__ import annotations

import typing as t

from ..._matching.evidence import Decision
from ..._model.progress import Say, silent
from ..._model.verdicts import Reason
from ..._model.wording import counted
from .. import drafts
from ..cluster_logs import learn_both, while_records_expire
from .kept import in_place_of_later, part_kept
from .merged_groups import is_highest_key
from .mirror_index import MirrorIndex
from .other_partitions import corrected_entries
from .repartitioned import repartitioned_entries
from .settling import Case, ReplicationWait, settle
from .strategy import DraftKey, StrategyInput, StrategyOutput
from .wide import settle_wide


def by_records(given: StrategyInput, hints: MirrorIndex | None = None) -> StrategyOutput:
    """Entries of the previous plan for groups that have not moved; for others the rule's, by the records alone.

    hints: the differences of offsets that MirrorMaker 2 has noted. The rule tries them where times do not lead.
    A topic whose records were copied to other partitions is blocked as a whole.
    """
    kept, moved = part_kept(given)
    cases: dict[DraftKey, Case] = {}
    for key, draft in moved.items():
        question = draft.offset, draft.source_partition, draft.partition
        cases[key] = Case(*question, hints.shifts(*question) if hints else ())
    decisions = decide_in_time(cases, given, lambda asked, say: settle(asked, given, say))
    # At the end, when the replication tool has had its time, Spark reads on.
    readable = _readable(cases, given)
    final = while_records_expire(
        lambda: settle_wide(readable, decisions, given),
        given.source,
        {case.source for case in readable.values()},
        given.destination,
        {case.destination for case in readable.values()},
        given.say,
        lambda: decisions.update(settle(readable, given, given.say)),
    )
    decided = {key: drafts.decided(draft, final[key], given.options.match_on) for key, draft in moved.items()}
    decided |= in_place_of_later(given, decided)
    corrected = corrected_entries(given, moved, kept | decided)
    return StrategyOutput(
        kept | decided | corrected | repartitioned_entries(given), len(kept.keys() - corrected.keys())
    )


def decide_in_time(
    cases: t.Mapping[DraftKey, Case],
    given: StrategyInput,
    decide: t.Callable[[t.Mapping[DraftKey, Case], Say], dict[DraftKey, Decision]],
) -> dict[DraftKey, Decision]:
    """Decide all cases; while copies are still to come, and there is time, look at both logs again."""
    readable, waiting = _readable(cases, given), ReplicationWait(given.options.wait_for_replication, given.say)
    decisions = decide(cases, given.say)
    # Nobody waits for what only says how much a merged group repeats.
    while not all(map(is_highest_key, lagging := _lagging(readable, decisions))) and waiting.goes_on(
        f"the replication tool: {_lag(lagging, decisions)}"
    ):
        originals = {case.source for case in lagging.values()}
        learn_both(given.source, originals, given.destination, {case.destination for case in lagging.values()})
        decisions |= decide(lagging, silent)
    return decisions


def _readable(cases: t.Mapping[DraftKey, Case], given: StrategyInput) -> dict[DraftKey, Case]:
    """The cases on partitions that exist: nothing is copied to the others yet, and Spark cannot read them."""
    return {key: case for key, case in cases.items() if case.destination not in given.destination.predicted}


def _lagging(cases: t.Mapping[DraftKey, Case], decisions: t.Mapping[DraftKey, Decision]) -> dict[DraftKey, Case]:
    """The cases whose consumed records have not all come."""
    return {key: case for key, case in cases.items() if decisions[key].reason is Reason.DESTINATION_LAGS}


def _lag(lagging: t.Mapping[DraftKey, Case], decisions: t.Mapping[DraftKey, Decision]) -> str:
    """How many partitions lag, and which one most, as a clause."""
    partitions = {case.destination for case in lagging.values()}
    last = max(lagging, key=lambda key: decisions[key].to_come or 0)
    lag = decisions[last].to_come
    by = f" by {counted(lag, 'record')}" if lag else ""
    if len(partitions) == 1:
        return f"{lagging[last].destination} lags{by}"
    return f"{len(partitions):,} partitions lag, most of all {lagging[last].destination}{by}"
