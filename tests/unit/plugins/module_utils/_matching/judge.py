# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What every decision is held to, in one place for the property tests and for the long run."""

from __future__ import annotations

import random as rnd
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.decide import decide
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import (
    Decision,
    Log,
    Need,
    Question,
    Span,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.driver import (
    MOST_ROUNDS,
    FullLog,
    serve,
)
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.oracle import Oracle
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.truth import Scenario

AMPLE = 10_000  # a budget that no scenario can spend


def violations(scenario: Scenario, decision: Decision) -> list[str]:
    """Everything that is wrong with a decision, each as "property: what was expected and what came"."""
    truth = Oracle(scenario)
    return [
        *_shape(scenario, decision),
        *_promise(truth, decision),
        *_honesty(truth, decision),
        *_refusals(truth, decision),
    ]


def _shape(scenario: Scenario, decision: Decision) -> t.Iterator[str]:
    facts = scenario.destination_facts
    if decision.verdict not in (Verdict.EXACT, Verdict.SAFE, Verdict.BLOCKED):
        yield f"shape: verdict {decision.verdict} is not decide's to give"
    if (decision.offset is None) != (decision.verdict is Verdict.BLOCKED):
        yield f"shape: offset {decision.offset} with verdict {decision.verdict.value}"
    for name, offset in (("offset", decision.offset), ("lossless", decision.lossless_offset)):
        if offset is not None and not facts.log_start <= offset <= facts.end:
            yield f"shape: {name} {offset} lies outside of the destination [{facts.log_start}, {facts.end}]"
    if decision.verdict is not Verdict.EXACT and decision.reason is None:
        yield f"shape: {decision.verdict.value} without a reason"
    if decision.verdict is Verdict.BLOCKED and not decision.detail:
        yield "shape: blocked without a word on what to do"
    if decision.verdict is Verdict.EXACT and decision.repeats != 0:
        yield f"shape: exact, and repeats is {decision.repeats}"


def _anchors(truth: Oracle, decision: Decision) -> t.Iterator[str]:
    """The evidence is on the right sides of both offsets, and each anchor is a record and its like."""
    written = {w.offset: w for w in truth.scenario.written}
    arrived = {a.offset: a for a in truth.scenario.arrived}
    for name, anchor, consumed in (("before", decision.before, True), ("after", decision.after, False)):
        if anchor is None:
            continue
        if (anchor.source_offset < truth.scenario.committed) != consumed:
            yield f"7 anchors: {name} {anchor} on the wrong side of {truth.scenario.committed}"
        if decision.offset is not None and (anchor.destination_offset < decision.offset) != consumed:
            yield f"7 anchors: {name} {anchor} on the wrong side of offset {decision.offset}"
        source, copy = written.get(anchor.source_offset), arrived.get(anchor.destination_offset)
        if source is None or copy is None or truth.content(source) != truth.content(copy):
            yield f"7 anchors: {name} {anchor} are {source} and {copy}"


def _promise(truth: Oracle, decision: Decision) -> t.Iterator[str]:
    """Nothing that is at the destination is skipped."""
    for name, offset in (("offset", decision.offset), ("lossless", decision.lossless_offset)):
        if offset is not None and (lost := truth.lost(offset)):
            yield f"1 lost: {name} {offset} ({decision.verdict.value}) loses {lost}; the best is {truth.best()}"
    if decision.offset is not None and _order_kept(truth) and (ghosts := truth.lost_for_good(decision.offset)):
        yield f"5 ghosts: offset {decision.offset} skips source records {ghosts}, which only the destination has"


def _honesty(truth: Oracle, decision: Decision) -> t.Iterator[str]:
    """Exact is said when it is so, and only then; the number of repeats holds."""
    scenario = truth.scenario
    if decision.offset is not None:
        repeats = truth.repeats(decision.offset)
        if decision.verdict is Verdict.EXACT and repeats:
            yield f"2 exact: offset {decision.offset} repeats {repeats}; the best is {truth.best()}"
        elif decision.repeats is not None and repeats > decision.repeats:
            yield f"4 repeats: offset {decision.offset} repeats {repeats}, stated {decision.repeats}"
    if 0 < scenario.committed < scenario.source_facts.log_start and decision.verdict is Verdict.EXACT:
        yield "2 exact: the source has lost what comes next, nobody can know this"
    ample = scenario.policy.budget >= AMPLE and scenario.policy.tail_check == "records"
    if scenario.committed == 0:
        if (decision.verdict, decision.offset) != (Verdict.EXACT, scenario.destination_facts.log_start):
            yield "3 known: nothing was consumed, so the destination's start is exact"
    elif ample and truth.exact_is_known and decision.verdict is not Verdict.EXACT:
        yield f"3 known: {_words(decision)}, though exact is known; the best is {truth.best()}"


def _refusals(truth: Oracle, decision: Decision) -> t.Iterator[str]:
    """A refusal has its true reason, and what can be answered is not refused."""
    scenario, facts = truth.scenario, truth.scenario.source_facts
    reason = decision.reason if decision.verdict is Verdict.BLOCKED else None
    forced = None
    if scenario.committed > facts.high_watermark:
        forced = Reason.BEYOND_END
    elif scenario.committed > facts.end:
        forced = Reason.OPEN_TRANSACTION
    if forced is not None:
        if reason is not forced:
            yield f"6 refusal: {_words(decision)}, though {forced.value}"
        return
    allowed: set[Reason | None] = {None}
    if scenario.policy.budget < AMPLE:
        allowed.add(Reason.SEARCH_BUDGET_SPENT)
    if not truth.visible and facts.end < facts.high_watermark:
        allowed.add(Reason.OPEN_TRANSACTION)
    if scenario.policy.on_expired == "fail" and scenario.committed < facts.log_start:
        allowed.add(Reason.POLICY_FAIL)
    if not truth.purely_unconsumed_copied:
        allowed.add(Reason.DESTINATION_LAGS)
        if scenario.policy.on_no_anchor == "fail" and not truth.consumed:
            allowed.add(Reason.POLICY_FAIL)
    if reason not in allowed:
        yield f"6 refusal: {_words(decision)}, which does not hold here; the best is {truth.best()}"


def _order_kept(truth: Oracle) -> bool:
    """Is this the history in which even lost records can be told: one pass, in order, of records all unlike?

    What the source has lost is recognised by where it stands, so nothing else may write there.
    """
    scenario = truth.scenario
    strange = {"recopied", "reorders", "drops", "filtered", "skipped", "began_late", "foreign", "junk"}
    return (
        truth.all_unlike
        and strange.isdisjoint(scenario.traits)
        and scenario.policy.on_expired == "count_back"
        and scenario.policy.on_no_anchor != "end"
    )


def _words(decision: Decision) -> str:
    reason = f" {decision.reason.value}" if decision.reason else ""
    return f"{decision.verdict.value}{reason} at {decision.offset}"


def settle_among_others(scenario: Scenario, random: rnd.Random) -> Decision:
    """The decision when parts of both logs are known already, as other groups' questions have it."""
    source, destination = scenario.source(), scenario.destination()
    question = Question(scenario.committed, Log(source.facts, with_open=True), Log(destination.facts), scenario.policy)
    need: Need | Decision = Need(
        source=_spans(random, source),
        destination=_spans(random, destination),
        source_times=tuple(record.timestamp for record in source.records[:1]),
        destination_times=tuple(record.timestamp for record in source.records[-1:]),
    )
    if need == Need():
        need = decide(question)
    for _unused in range(MOST_ROUNDS):
        if isinstance(need, Decision):
            return need
        serve(need, question, source, destination)
        need = decide(question)
    raise AssertionError(f"no decision after {MOST_ROUNDS} rounds; the last need was {need}")


def _spans(random: rnd.Random, log: FullLog) -> tuple[Span, ...]:
    """Up to two random spans of a log."""
    size = log.facts.end - log.facts.log_start
    spans = []
    for _unused in range(random.randrange(3) if size else 0):
        start = log.facts.log_start + random.randrange(size)
        spans.append((start, start + 1 + random.randrange(log.facts.end - start)))
    return tuple(spans)
