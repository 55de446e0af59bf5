# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decisions by surveys are held to the same promises as those that read on round by round."""

from __future__ import annotations

import dataclasses
import random

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.context import Matching
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Decision, Log, Question
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.survey import (
    Origin,
    Run,
    count_tail,
    goes_on,
    merged,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.build import log, run
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.driver import serve, settle
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.judge import violations
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.logs import scenario
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.surveyor import (
    settle_surveyed,
    survey,
    usual_survey,
)
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.truth import Scenario

EXACT_IS_KNOWN = "3"  # a survey knows less of equal records than their neighbours tell, and may be safe instead


def wrong(case: Scenario, decision: Decision, allowed: str = "") -> list[str]:
    found = [text for text in violations(case, decision) if not allowed or not text.startswith(allowed)]
    return [str(case), str(decision), *found] if found else []


@pytest.mark.parametrize("size", [5, 12, 24, 60, 200])
def test_no_log_of_any_size_breaks_a_promise(size: int) -> None:
    """With one to three groups that share a survey."""
    for seed in range(12000 // size):
        draws = random.Random(seed)
        case = scenario(draws, size)
        others = [draws.randrange(size) for _unused in range(draws.randrange(3))]
        decision = settle_surveyed(case.committed, others, case.source(), case.destination(), case.policy)
        assert not wrong(case, decision, EXACT_IS_KNOWN), seed


def test_plain_logs_are_exact_wherever_that_is_known() -> None:
    for seed in range(1000):
        case = scenario(random.Random(seed), 40, plain=True)
        if "read_uncommitted" not in case.traits:  # the copies of aborted records are foreign to a survey
            decision = settle_surveyed(case.committed, (), case.source(), case.destination(), case.policy)
            assert not wrong(case, decision), seed


def counted(case: Scenario, others: list[int]) -> Decision | None:
    """What a survey of the tail makes of an offset whose tail was not counted; None when it was."""
    policy = dataclasses.replace(case.policy, tail_check="none")
    source, destination = case.source(), case.destination()
    first = settle(case.committed, source, destination, policy).decision
    if first.reason is not Reason.TAIL_NOT_COUNTED or first.offset is None:
        return None
    commits = [case.committed, *others]
    found = usual_survey(source, destination, commits, policy, (min(commits), first.offset), [first.offset])
    if not goes_on(found, first.offset):
        found = usual_survey(source, destination, commits, policy, (0, first.offset), [first.offset])
    question = Question(case.committed, Log(source.facts), Log(destination.facts), policy)
    answer = count_tail(question, first, found)
    if not isinstance(answer, Decision):
        serve(answer, question, source, destination)
        answer = count_tail(question, first, found)
    assert isinstance(answer, Decision)
    return answer


def test_no_counted_tail_breaks_a_promise() -> None:
    verdicts = []
    for seed in range(3000):
        draws = random.Random(seed)
        case = scenario(draws, 40, plain=seed % 2 == 0)
        decision = counted(case, [draws.randrange(40) for _unused in range(draws.randrange(3))])
        # The copies of aborted records are foreign to a survey; of those that look like others it may count one too few.
        if decision is not None and "read_uncommitted" not in case.traits:
            assert not wrong(case, decision, EXACT_IS_KNOWN), seed
            verdicts.append(decision.verdict)
    assert verdicts.count(Verdict.EXACT) > 300 and Verdict.SAFE in verdicts


def test_a_faithful_copy_has_a_run_for_each_group() -> None:
    records = log(run(0, 1000)).records
    found = survey(records, records, [100, 500, 900], Matching(True, True))
    assert [(each.first, each.last, each.rising) for each in found.runs] == [
        (0, 99, True),
        (100, 499, True),
        (500, 899, True),
        (900, 999, True),
    ]
    assert [(part.records, part.first, part.last) for part in found.parts] == [
        (100, 0, 99),
        (400, 100, 499),
        (400, 500, 899),
        (100, 900, 999),
    ]


def test_runs_that_were_cut_are_joined_but_not_at_borders_and_never_overlap() -> None:
    one, two = Origin(3, 3), Origin(4, 4)
    first, second = Run(10, 10, 1, one, one, 3, True), Run(11, 11, 1, two, two, 4, True)
    assert merged([second, first], [7]) == [Run(10, 11, 2, one, two, 4, True)]
    assert merged([first, second], [4]) == [first, second]
    assert merged([first, second], [7], borders=[11]) == [first, second]
    assert not merged([first, second._replace(opens=one, closes=one)], [7])[0].rising
    with pytest.raises(ValueError, match="begins within"):
        merged([first._replace(last=11), second], [7])
