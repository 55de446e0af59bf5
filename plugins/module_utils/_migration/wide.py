# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What the client could not settle by reading a little: Spark surveys the whole logs, once for all groups of a partition."""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import (
    Decision,
    Need,
    Policy,
    Question,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.survey import (
    Survey,
    count_tail,
    decide_surveyed,
    goes_on,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.reading import Case, Side, answer_all
from ansible_collections.streamshift.kafka.plugins.module_utils._model.progress import Say, counted, silent
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.spark import SparkOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason
from ansible_collections.streamshift.kafka.plugins.module_utils._spark import surveying
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.library import SparkSession
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.session import obstacle
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.surveying import Asked

_Key = t.TypeVar("_Key")


def settle_wide(
    cases: t.Mapping[_Key, Case],
    decisions: t.Mapping[_Key, Decision],
    source: Side,
    destination: Side,
    policy: Policy,
    options: SparkOptions,
    limit: int,
    spark: t.Callable[[], SparkSession],
    say: Say = silent,
) -> dict[_Key, Decision]:
    """Decide again what reading on can decide: spent budgets, and tails that were not counted. The others stay as they are.

    limit: how many records of one partition are read on both clusters together; where there are more, and where Spark
    cannot be used here, the decision stays, and its detail says why. Raises SparkFailed and what reading raises.
    """
    near: dict[_Key, Case] = {}
    answer = dict(decisions)
    for key, case in cases.items():
        if not _is_open(decisions[key], policy):
            continue
        size = _size(case, decisions[key], source, destination)
        if size > limit:
            answer[key] = _too_far(decisions[key], size, limit)
        else:
            near[key] = case
    if not near:
        return answer
    if (why := obstacle(options)) is not None:
        return answer | {key: _with(decisions[key], f"Spark could go on: {why}") for key in near}
    return answer | _Wide(spark(), source, destination, policy, limit, say).decide(near, decisions)


def _is_open(decision: Decision, policy: Policy) -> bool:
    if decision.reason is Reason.TAIL_NOT_COUNTED:
        return policy.tail_check == "records"
    return decision.reason is Reason.SEARCH_BUDGET_SPENT


def _size(case: Case, decision: Decision, source: Side, destination: Side) -> int:
    """How many offsets have to be read: of both logs where nothing is known, else of their tails."""
    here, there = source.logs[case.source].facts, destination.logs[case.destination].facts
    if decision.offset is None:
        return here.end - here.log_start + there.end - there.log_start
    return here.end - case.committed + there.end - decision.offset


def _too_far(decision: Decision, size: int, limit: int) -> Decision:
    return _with(decision, f"Spark would read {size} records, and spark_limit is {limit}")


def _with(decision: Decision, remark: str) -> Decision:
    return dataclasses.replace(decision, detail=f"{decision.detail}; {remark}")


@dataclasses.dataclass(frozen=True, slots=True)
class _Wide:
    """Both clusters as they were looked at, and the session that reads them."""

    spark: SparkSession
    source: Side
    destination: Side
    policy: Policy
    limit: int
    say: Say

    def decide(self, cases: t.Mapping[_Key, Case], decisions: t.Mapping[_Key, Decision]) -> dict[_Key, Decision]:
        """Survey the whole logs where no offset was found, and elsewhere what follows it.

        That mostly is what has still to be consumed at the source. Only where it is not just that, what was consumed is
        read as well, if the limit allows it.
        """
        tails = {key: case for key, case in cases.items() if decisions[key].offset is not None}
        surveys = self._survey(cases, decisions, frozenset(cases) - frozenset(tails))
        answer: dict[_Key, Decision] = {}
        unknown: dict[_Key, Case] = {}
        for key, case in tails.items():
            if goes_on(surveys[key], decisions[key].offset or 0):
                continue
            here = self.source.logs[case.source].facts
            size = _size(case, decisions[key], self.source, self.destination) + case.committed - here.log_start
            if size > self.limit:
                answer[key] = _too_far(decisions[key], size, self.limit)
            else:
                unknown[key] = case
        surveys |= self._survey(unknown, decisions, frozenset(unknown))

        def rule(key: _Key, question: Question) -> Decision | Need:
            if key in tails:
                return count_tail(question, decisions[key], surveys[key])
            return decide_surveyed(question, surveys[key])

        left = {key: case for key, case in cases.items() if key not in answer}
        return answer | answer_all(left, self.source, self.destination, self.policy, rule)

    def _survey(
        self, cases: t.Mapping[_Key, Case], decisions: t.Mapping[_Key, Decision], whole: t.Collection[_Key]
    ) -> dict[_Key, Survey]:
        """The survey that serves each case: one for all cases of a pair that need as much of the logs.

        That is the destination from a decision's offset on, and the source from the committed one on, or for the whole
        cases from its start.
        """
        of: dict[tuple[TopicPartition, TopicPartition, bool, bool], list[_Key]] = collections.defaultdict(list)
        for key, case in cases.items():
            of[case.source, case.destination, decisions[key].offset is None, key in whole].append(key)
        if not of:
            return {}
        asked: list[Asked] = []
        for (source, destination, searched, from_start), keys in of.items():
            here, there = self.source.logs[source].facts, self.destination.logs[destination].facts
            commits = tuple(sorted({cases[key].committed for key in keys}))
            begins = () if searched else tuple(sorted({decisions[key].offset or 0 for key in keys}))
            asked.append(
                Asked(
                    source,
                    destination,
                    (here.log_start if from_start else max(commits[0], here.log_start), here.end),
                    (begins[0] if begins else there.log_start, there.end),
                    commits,
                    begins,
                )
            )
        size = sum(end - start for each in asked for start, end in (each.source_span, each.destination_span))
        self.say(f"comparing up to {counted(size, 'record')} of {counted(len(asked), 'partition')} with Spark")
        surveys = surveying.survey(
            self.spark,
            self.source.connection,
            self.destination.connection,
            asked,
            self.source.parts,
            timestamps=self.policy.with_timestamp,
            headers=self.source.leave_headers_out,
        )
        return {key: made for keys, made in zip(of.values(), surveys, strict=True) for key in keys}
