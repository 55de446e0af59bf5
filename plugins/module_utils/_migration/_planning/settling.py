# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Serve the rule with evidence: decide all questions, read what they still need, and decide again."""

from __future__ import annotations

import itertools
import time
import typing as t

from ..._matching.decide import decide
from ..._matching.evidence import Decision, Need, NoProgress, Policy, Question, internal_error
from ..._model.background import at_once
from ..._model.errors import BrokerError, MigrationError
from ..._model.progress import Say, paced, silent
from ..._model.records import TopicPartition
from ..._model.wording import counted
from ..cluster_logs import ClusterLogs
from .strategy import StrategyInput

PAUSE = 1.0  # seconds between two looks at a replication tool that lags
_SAY_WAITING_EVERY = 5.0  # seconds


class Case(t.NamedTuple):
    """A question of one entry: where a group that stands at `committed` belongs. shifts: see Question."""

    committed: int
    source: TopicPartition
    destination: TopicPartition
    shifts: tuple[int, ...] = ()


_Key = t.TypeVar("_Key")
_Answer = t.TypeVar("_Answer")


def settle(cases: t.Mapping[_Key, Case], given: StrategyInput, say: Say) -> dict[_Key, Decision]:
    """Decide all cases by the rule, reading round by round for all of them together. The sides' logs must be known.

    Groups that stand at one offset have one case: it is decided once.
    """
    different = {case: case for case in cases.values()}
    answers = answer_all(different, given, lambda _case, question: decide(question), internal_error, say)
    return {key: answers[case] for key, case in cases.items()}


def answer_all(
    cases: t.Mapping[_Key, Case],
    given: StrategyInput,
    rule: t.Callable[[_Key, Question], _Answer | Need],
    failed: t.Callable[[Exception, Question], _Answer],
    say: Say = silent,
    policy: Policy | None = None,
) -> dict[_Key, _Answer]:
    """The same with another rule: what is answered of a case, or what has to be read before that.

    failed: what is answered of a case where the rule itself fails, so that the others do not fail with it. It ends because each
    round reads something that was not known: raises BrokerError where a case needs again just what it has needed before.
    policy: that of the plan by default.
    """
    source, destination = given.source, given.destination
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
                question = Question(case.committed, *logs, policy or given.options.policy, case.shifts)
                try:
                    answer = rule(key, question)
                    if isinstance(answer, Need) and answer == asked.get(key):
                        raise NoProgress("the same is needed again")
                except NoProgress as error:
                    raise _gets_no_further(case, question, source, destination) from error
                except MigrationError:
                    raise
                except Exception as error:  # noqa: BLE001 - a fault of this code, at one partition, must not stop all others
                    answer = failed(error, question)
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
        _read(source, destination, needs)


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


def _read(source: ClusterLogs, destination: ClusterLogs, needs: t.Sequence[tuple[Case, Need]]) -> None:
    """Read what cases need of both clusters, at the same time."""

    def read_source() -> None:
        times = [(case.source, when) for case, need in needs for when in need.source_times]
        spans = [(case.source, span) for case, need in needs for span in need.source]
        at_once(lambda: source.read(spans), lambda: source.look_up(times))
        uncommitted = [(case.source, span) for case, need in needs for span in need.source_uncommitted]
        source.read(uncommitted, committed=False)

    def read_destination() -> None:
        times = [(case.destination, when) for case, need in needs for when in need.destination_times]
        spans = [(case.destination, span) for case, need in needs for span in need.destination]
        at_once(lambda: destination.read(spans), lambda: destination.look_up(times))

    at_once(read_source, read_destination)


def _partitions(item: tuple[t.Any, Case]) -> tuple[TopicPartition, TopicPartition]:
    return item[1].source, item[1].destination


def _told(needs: t.Sequence[Need]) -> str:
    """What will be read, in a line. Entries may share what they need, so that it is less in the end."""
    spans = [(*need.source, *need.source_uncommitted, *need.destination) for need in needs]
    size = sum(end - start for start, end in itertools.chain.from_iterable(spans))
    what = f"reading up to {counted(size, 'record')}" if size else "looking up timestamps"
    return f"{what} for {counted(len(needs), 'group-partition')}"


class ReplicationWait:
    """The time that a replication tool has to copy what is missing, in seconds from now on. It says now and then what for."""

    def __init__(self, seconds: float, say: Say) -> None:
        self._deadline, self._say = time.monotonic() + seconds, paced(say, _SAY_WAITING_EVERY)

    def goes_on(self, awaited: str) -> bool:
        """Say what is awaited, and pause before the next look; False at once when the time is over."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            return False
        self._say(f"waiting for {awaited} ({left:.0f} s left)")
        time.sleep(PAUSE)
        return True
