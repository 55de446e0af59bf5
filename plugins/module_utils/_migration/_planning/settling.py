# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Serve the rule with evidence: decide all questions, read what they still need, and decide again."""

from __future__ import annotations

import collections
import functools
import itertools
import typing as t

from ..._matching.decide import decide
from ..._matching.evidence import Decision, Need, NoProgress, Policy, Question, internal_error
from ..._model.background import at_once
from ..._model.errors import BrokerError, MigrationError
from ..._model.progress import Say, counted, paced, silent
from ..._model.records import TopicPartition
from ..cluster_logs import ClusterLogs


class Case(t.NamedTuple):
    """A question of one entry: where a group that stands at `committed` belongs. shifts: see Question."""

    committed: int
    source: TopicPartition
    destination: TopicPartition
    shifts: tuple[int, ...] = ()


_Key = t.TypeVar("_Key")
_Answer = t.TypeVar("_Answer")


def settle(
    cases: t.Mapping[_Key, Case], source: ClusterLogs, destination: ClusterLogs, policy: Policy, say: Say = silent
) -> dict[_Key, Decision]:
    """Decide all cases by the rule, reading round by round for all of them together. The sides' logs must be known.

    Groups that stand at one offset have one case: it is decided once.
    """

    def rule(_its: Case, question: Question) -> Decision | Need:
        return decide(question)

    different = {case: case for case in cases.values()}
    answers = answer_all(different, source, destination, policy, rule, internal_error, say)
    return {key: answers[case] for key, case in cases.items()}


def answer_all(
    cases: t.Mapping[_Key, Case],
    source: ClusterLogs,
    destination: ClusterLogs,
    policy: Policy,
    rule: t.Callable[[_Key, Question], _Answer | Need],
    failed: t.Callable[[Exception, Question], _Answer],
    say: Say = silent,
) -> dict[_Key, _Answer]:
    """The same with another rule: what is answered of a case, or what has to be read before that.

    failed: what is answered of a case where the rule itself fails, so that the others do not fail with it. It ends because each
    round reads something that was not known: raises BrokerError where a case needs again just what it has needed before.
    """
    answers: dict[_Key, _Answer] = {}
    asked: dict[_Key, Need] = {}
    say = paced(say)
    ordered = sorted(cases.items(), key=_partitions)
    while True:
        needs: list[tuple[Case, Need]] = []
        left = (item for item in ordered if item[0] not in answers)
        for (source_partition, destination_partition), several in itertools.groupby(left, _partitions):
            logs = source.logs[source_partition], destination.logs[destination_partition]
            for key, case in several:
                question = Question(case.committed, *logs, policy, case.shifts)
                try:
                    answer = _answer(functools.partial(rule, key), question, failed, asked.get(key))
                except NoProgress as error:
                    raise _gets_no_further(case, question, source, destination) from error
                if isinstance(answer, Need):
                    asked[key] = answer
                    needs.append((case, answer))
                else:
                    answers[key] = answer
            # It serves the groups of these partitions only, and is as large as what was read of them.
            for log in logs:
                log.made.clear()
        if not needs:
            return answers
        say(_told([need for _case, need in needs]))
        at_once(
            functools.partial(_read_source, source, needs), functools.partial(_read_destination, destination, needs)
        )


def _answer(
    rule: t.Callable[[Question], _Answer | Need],
    question: Question,
    failed: t.Callable[[Exception, Question], _Answer],
    asked: Need | None,
) -> _Answer | Need:
    """What the rule says, or failed(). asked: what was read for it last. Raises NoProgress where it would go on for ever."""
    try:
        answer = rule(question)
    except (NoProgress, MigrationError):
        raise
    except Exception as error:  # noqa: BLE001 - a fault of this code, at one partition, must not stop all others
        return failed(error, question)
    if isinstance(answer, Need) and answer == asked:
        raise NoProgress("the same is needed again")
    return answer


def _gets_no_further(case: Case, question: Question, source: ClusterLogs, destination: ClusterLogs) -> BrokerError:
    """What was read contradicts what was read before, so that reading on would never end."""
    edges = question.source.facts, question.destination.facts
    (start, end), (copy_start, copy_end) = ((facts.log_start, facts.high_watermark) for facts in edges)
    return BrokerError(
        f"the search for the offset that belongs to {case.committed} gets no further",
        cluster=str(destination.connection),
        **case.destination._asdict(),
        why=f"what was read of {case.source} on the {source.connection} (offsets {start} to {end}), or of the copy (offsets "
        f"{copy_start} to {copy_end}), contradicts what was read before: the logs change in ways that no log should",
        remedy="run again when nobody recreates these topics, truncates them or deletes their records; if it fails again, "
        "leave the topic out, and report this text as a bug",
    )


def _read_source(source: ClusterLogs, needs: t.Sequence[tuple[Case, Need]]) -> None:
    times = _collected((case.source, need.source_times) for case, need in needs)
    wanted = _collected((case.source, need.source) for case, need in needs)
    at_once(functools.partial(source.read, wanted), functools.partial(source.look_up, times))
    source.read(_collected((case.source, need.source_uncommitted) for case, need in needs), committed=False)


def _read_destination(destination: ClusterLogs, needs: t.Sequence[tuple[Case, Need]]) -> None:
    times = _collected((case.destination, need.destination_times) for case, need in needs)
    wanted = _collected((case.destination, need.destination) for case, need in needs)
    at_once(functools.partial(destination.read, wanted), functools.partial(destination.look_up, times))


def _partitions(item: tuple[t.Any, Case]) -> tuple[TopicPartition, TopicPartition]:
    return item[1].source, item[1].destination


def _told(needs: t.Sequence[Need]) -> str:
    """What will be read, in a line. Entries may share what they need, so that it is less in the end."""
    spans = [
        span
        for need in needs
        for side_spans in (need.source, need.source_uncommitted, need.destination)
        for span in side_spans
    ]
    size = sum(end - start for start, end in spans)
    what = f"reading up to {counted(size, 'record')}" if size else "looking up timestamps"
    return f"{what} for {counted(len(needs), 'group-partition')}"


_Item = t.TypeVar("_Item")


def _collected(pairs: t.Iterable[tuple[TopicPartition, t.Iterable[_Item]]]) -> dict[TopicPartition, set[_Item]]:
    result: dict[TopicPartition, set[_Item]] = collections.defaultdict(set)
    for partition, items in pairs:
        result[partition].update(items)
    return {partition: items for partition, items in result.items() if items}
