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
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.reading import Case, Side, settle
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.spark import SparkOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason
from ansible_collections.streamshift.kafka.plugins.module_utils._spark import surveying
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.library import SparkSession
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.session import obstacle
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.surveying import Asked

_Key = t.TypeVar("_Key")
_Pair = tuple[TopicPartition, TopicPartition]


def settle_wide(
    cases: t.Mapping[_Key, Case],
    decisions: t.Mapping[_Key, Decision],
    source: Side,
    destination: Side,
    policy: Policy,
    options: SparkOptions,
    limit: int,
    spark: t.Callable[[], SparkSession],
) -> dict[_Key, Decision]:
    """Decide again what reading on can decide: spent budgets, and tails that were not counted. The others stay as they are.

    limit: how many records of one partition are read on both clusters together; where there are more, and where Spark
    cannot be used here, the decision stays, and its detail says why. Raises SparkFailed and what reading raises.
    """
    open_cases = {key: case for key, case in cases.items() if _is_open(decisions[key], policy)}
    near: dict[_Key, Case] = {}
    answer = dict(decisions)
    for key, case in open_cases.items():
        size = _size(case, decisions[key], source, destination)
        if size > limit:
            answer[key] = _with(decisions[key], f"Spark would read {size} records, and spark_limit is {limit}")
        else:
            near[key] = case
    if not near:
        return answer
    if (why := obstacle(options)) is not None:
        return answer | {key: _with(decisions[key], f"Spark could go on: {why}") for key in near}
    wide = _Wide(spark(), source, destination, policy)
    searched = {key: case for key, case in near.items() if decisions[key].offset is None}
    tails = {key: case for key, case in near.items() if key not in searched}
    return answer | wide.search(searched) | wide.count(tails, decisions)


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


def _with(decision: Decision, remark: str) -> Decision:
    return dataclasses.replace(decision, detail=f"{decision.detail}; {remark}")


@dataclasses.dataclass(frozen=True, slots=True)
class _Wide:
    """Both clusters as they were looked at, and the session that reads them."""

    spark: SparkSession
    source: Side
    destination: Side
    policy: Policy

    def search(self, cases: t.Mapping[_Key, Case]) -> dict[_Key, Decision]:
        """Decide by surveys of the whole logs."""
        commits = _commits(cases)
        asked = [self._asked(pair, commits[pair]) for pair in commits]
        surveys = dict(zip(commits, self._survey(asked), strict=True))

        def rule(key: _Key, question: Question) -> Decision | Need:
            return decide_surveyed(question, surveys[_pair(cases[key])])

        return settle(cases, self.source, self.destination, self.policy, rule)

    def count(self, cases: t.Mapping[_Key, Case], decisions: t.Mapping[_Key, Decision]) -> dict[_Key, Decision]:
        """Count what follows the offsets that were found, which mostly is what has still to be consumed at the source.

        Only where it is not just that, what was consumed is read as well.
        """
        surveys = self._tails(cases, decisions, whole=False)
        unknown = {key: case for key, case in cases.items() if not goes_on(surveys[key], decisions[key].offset or 0)}
        surveys |= self._tails(unknown, decisions, whole=True)

        def rule(key: _Key, question: Question) -> Decision | Need:
            return count_tail(question, decisions[key], surveys[key])

        return settle(cases, self.source, self.destination, self.policy, rule)

    def _tails(
        self, cases: t.Mapping[_Key, Case], decisions: t.Mapping[_Key, Decision], whole: bool
    ) -> dict[_Key, Survey]:
        of: dict[_Pair, list[_Key]] = collections.defaultdict(list)
        for key, case in cases.items():
            of[_pair(case)].append(key)
        asked = []
        for pair, keys in of.items():
            begins = sorted({decisions[key].offset or 0 for key in keys})
            made = self._asked(pair, tuple(sorted({cases[key].committed for key in keys})))
            made = made._replace(borders=tuple(begins), destination_span=(begins[0], made.destination_span[1]))
            if not whole:
                made = made._replace(source_span=(max(made.commits[0], made.source_span[0]), made.source_span[1]))
            asked.append(made)
        surveys = self._survey(asked)
        return {key: made for keys, made in zip(of.values(), surveys, strict=True) for key in keys}

    def _asked(self, pair: _Pair, commits: tuple[int, ...]) -> Asked:
        here, there = self.source.logs[pair[0]].facts, self.destination.logs[pair[1]].facts
        return Asked(*pair, (here.log_start, here.end), (there.log_start, there.end), commits)

    def _survey(self, asked: list[Asked]) -> list[Survey]:
        if not asked:
            return []
        return surveying.survey(
            self.spark,
            self.source.connection,
            self.destination.connection,
            asked,
            self.source.parts,
            timestamps=self.policy.with_timestamp,
            headers=self.source.leave_headers_out,
        )


def _pair(case: Case) -> _Pair:
    return case.source, case.destination


def _commits(cases: t.Mapping[t.Any, Case]) -> dict[_Pair, tuple[int, ...]]:
    found: dict[_Pair, set[int]] = collections.defaultdict(set)
    for case in cases.values():
        found[_pair(case)].add(case.committed)
    return {pair: tuple(sorted(commits)) for pair, commits in found.items()}
