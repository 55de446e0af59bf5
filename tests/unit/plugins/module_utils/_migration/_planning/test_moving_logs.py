"""A plan ends, whatever brokers answer: logs move between two requests, and some answers contradict what was learned before."""

import dataclasses
import itertools
import random as rnd
import types
import typing as t
from unittest import mock

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.decide import decide
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import (
    Decision,
    Log,
    LogFacts,
    Need,
    NoProgress,
    Policy,
    Question,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.group_count import Answer, Copy, GroupCount
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.log_reader import LogReader, Measure
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.whole import decide_counted
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning import by_records, settling
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.identical import identical
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.strategy import (
    StrategyInput,
    TranslateOptions,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.cluster_logs import ClusterLogs, learn_both
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import Draft
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import LogChanged, MigrationError
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.match_on import Matching
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan, PlanEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict
from ansible_collections.streamshift.kafka.plugins.module_utils._records.refusals import lost
from tests.support.memory_brokers import DESTINATION, ORDERS, SOURCE, MemoryBrokers
from tests.support.strategies import strategy_input

MOST_STEPS = 20_000  # looks at a log in one plan: so many are never needed in logs of a few hundred offsets


def records(times: t.Iterable[int], contents: t.Callable[[int], object] = int) -> list[Record]:
    """Records from offset 0 on; contents gives a record's by its offset."""
    digests = [(time, f"{contents(at)!s:>16}".encode()) for at, time in enumerate(times)]
    return [Record(offset, time, digest, digest) for offset, (time, digest) in enumerate(digests)]


class Brokers(MemoryBrokers):
    """Partition orders-0 on both clusters. `bounds` are answered one after the other, the last one from then on."""

    def __init__(self, source: list[Record], destination: list[Record]) -> None:
        super().__init__({SOURCE.name: source, DESTINATION.name: destination})
        self.bounds = {name: [Bounds(0, len(held), len(held))] for name, held in self.records.items()}

    def bounds_of(self, name: str) -> Bounds:
        left = self.bounds[name]
        return left.pop(0) if len(left) > 1 else left[0]


def learned() -> tuple[ClusterLogs, ClusterLogs]:
    source, destination = ClusterLogs(SOURCE, with_open=True), ClusterLogs(DESTINATION)
    learn_both(source, [ORDERS], destination, [ORDERS])
    return source, destination


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> t.Callable[..., PlanEntry]:
    """``planned(brokers, committed, ...)``: the entry; it fails where the plan does not end. Every second passes at once."""
    clock = itertools.count()
    time = types.SimpleNamespace(monotonic=lambda: next(clock), sleep=lambda _seconds: None)
    monkeypatch.setattr(settling, "time", time)
    want = LogReader.want
    steps = [0]

    def counted_want(reader: LogReader, start: int, end: int) -> bool:
        steps[0] += 1
        assert steps[0] < MOST_STEPS, "the plan goes round for ever"
        return want(reader, start, end)

    monkeypatch.setattr(LogReader, "want", counted_want)

    def plan(
        brokers: Brokers,
        committed: int,
        strategy: t.Callable[[StrategyInput], t.Any] = by_records.by_records,
        wait: float = 0,
        previous: PlanEntry | None = None,
        **policy: t.Any,
    ) -> PlanEntry:
        steps[0] = 0
        brokers.install(monkeypatch)
        draft = Draft("g", ORDERS, "g", ORDERS, CommittedOffset(committed))
        options = TranslateOptions(wait_for_replication=wait, policy=Policy(**policy), spark_limit=0)
        earlier = Plan("a", "b", "digest", (previous,)) if previous else None
        given = strategy_input(*learned(), [draft], previous=earlier, options=options)
        (entry,) = strategy(given).entries.values()
        return entry

    return plan


class TestTheEndHasMoved:
    """A look-up tells of records after the end that was learned: the replication tool went on, or a transaction is open."""

    @pytest.mark.parametrize("committed", [345, 346, 353, 354, 355, 390, 399, 400])
    @pytest.mark.parametrize("bounds", [Bounds(0, 345, 345), Bounds(0, 345, 400)], ids=["grown", "open transaction"])
    def test_the_tool_lags(self, planned: t.Any, committed: int, bounds: Bounds) -> None:
        brokers = Brokers(records(range(400)), records(range(400)))
        brokers.bounds[DESTINATION.name] = [bounds]
        entry = planned(brokers, committed)
        if committed == 345:
            assert (entry.verdict, entry.offset) == (Verdict.EXACT, 345)
        else:
            assert (entry.verdict, entry.reason, entry.lossless) == (Verdict.BLOCKED, Reason.DESTINATION_LAGS, 345)

    def test_it_is_waited_for(self, planned: t.Any) -> None:
        brokers = Brokers(records(range(400)), records(range(400)))
        brokers.bounds[DESTINATION.name] = [Bounds(0, 345, 345), Bounds(0, 345, 400), Bounds(0, 400, 400)]
        entry = planned(brokers, 390, wait=60)
        assert (entry.verdict, entry.offset) == (Verdict.EXACT, 390)


class TestTheStartHasPassedTheCommittedOffset:
    """What was learned before is no longer in the log."""

    @pytest.mark.parametrize("committed", [400, 449])
    def test_between_two_looks(self, planned: t.Any, committed: int) -> None:
        brokers = Brokers(records([-1] * 600), records([-1] * committed))
        brokers.records[DESTINATION.name].pop()
        brokers.bounds = {
            SOURCE.name: [Bounds(0, 600, 600), Bounds(450, 600, 600)],
            DESTINATION.name: [Bounds(0, committed - 1, committed - 1)],
        }
        entry = planned(brokers, committed, wait=30)
        assert (entry.verdict, entry.reason) == (Verdict.SAFE, Reason.EXPIRED)

    @pytest.mark.parametrize("committed", [400, 449])
    def test_after_spark_has_counted(self, committed: int) -> None:
        """The copy of an unconsumed record was found, and its original has expired since."""
        source = Log(LogFacts(450, 600, 600), with_open=True)
        destination = Log(LogFacts(0, 600, 600))
        destination.add((committed, committed + 1), records([-1] * 600)[committed : committed + 1])
        copy = Copy(0, committed, committed)
        answer = Answer(committed, 0, 0, False, True, None, committed, False, None, committed)
        question = Question(committed, source, destination, Policy(search_limit=500))
        decision = decide_counted(
            question, GroupCount(Matching(False, True), False, (answer,), (None,), (copy,), (), (None,), (None,))
        )
        assert isinstance(decision, Decision)
        assert (decision.verdict, decision.offset, decision.reason) == (Verdict.SAFE, committed, Reason.EXPIRED)


def expiring(log: Log, facts: LogFacts) -> tuple[list[int], list[tuple[int, int]], dict[int, int | None]]:
    log.learn(facts)
    return [record.offset for record in log.records], log.read, log.lookups


class TestWhatIsForgotten:
    """When edges are learned anew."""

    @pytest.fixture
    def log(self) -> Log:
        """Offsets 10 to 29, of which those from 20 on are hidden by an open transaction."""
        log = Log(LogFacts(10, 20, 30), with_open=True, lookups={5: 12, 7: None})
        log.add((10, 30), [record for record in records(range(30)) if record.offset >= 10])
        log.made["count"] = 1
        return log

    def test_what_has_expired_and_what_may_have_been_aborted(self, log: Log) -> None:
        assert expiring(log, LogFacts(15, 40, 40)) == ([15, 16, 17, 18, 19], [(15, 20)], {5: 12})
        assert log.made == {}
        assert log.first_at(5) == 15

    def test_only_what_has_expired_if_the_ends_have_not_moved(self, log: Log) -> None:
        assert expiring(log, LogFacts(15, 20, 30)) == (list(range(15, 30)), [(15, 30)], {5: 12, 7: None})

    @pytest.mark.parametrize(
        "facts", [LogFacts(9, 20, 30), LogFacts(10, 19, 30), LogFacts(10, 20, 29)], ids=["start", "stable", "end"]
    )
    def test_all_of_another_log(self, log: Log, facts: LogFacts) -> None:
        assert expiring(log, facts) == ([], [], {})


class Expiring(Brokers):
    """Of the source, records expire when somebody reads them for the first time."""

    def read(self, name: str, start: int, end: int) -> list[Record]:
        if name == SOURCE.name and start < self.bounds[name][-1].log_start:
            self.bounds[name] = self.bounds[name][-1:]
            raise lost(SOURCE, ORDERS, f"offset {start} is not in the log")
        return super().read(name, start, end)


class TestReading:
    """While records expire."""

    @pytest.fixture
    def source(self, monkeypatch: pytest.MonkeyPatch) -> ClusterLogs:
        """Offsets 0 to 29, of which those from 20 on are hidden, and those up to 11 expire."""
        brokers = Expiring(records(range(30)), [])
        brokers.bounds[SOURCE.name] = [Bounds(0, 20, 30), Bounds(12, 20, 30)]
        brokers.install(monkeypatch)
        logs = ClusterLogs(SOURCE, with_open=True)
        logs.learn([ORDERS])
        return logs

    def test_what_is_left_is_read(self, source: ClusterLogs) -> None:
        source.read([(ORDERS, (0, 15)), (ORDERS, (14, 30))])
        log = source.logs[ORDERS]
        assert (log.facts, log.read) == (LogFacts(12, 20, 30), [(12, 30)])
        assert [each.offset for each in log.records] == list(range(12, 30))

    def test_nothing_is_read_twice(self, source: ClusterLogs) -> None:
        source.read([(ORDERS, (15, 30))])
        source.read([(ORDERS, (12, 30))])
        assert source.records_read == 18

    def test_nothing_is_read_twice_for_spans_that_overlap(self, source: ClusterLogs) -> None:
        source.read([(ORDERS, (12, 18)), (ORDERS, (13, 20)), (ORDERS, (14, 19)), (ORDERS, (13, 20))])
        assert source.records_read == 8 and source.logs[ORDERS].read == [(12, 20)]

    def test_a_log_that_has_lost_its_end_is_an_error(
        self, source: ClusterLogs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fault = lost(SOURCE, ORDERS, "offset 29 is not in the log")
        monkeypatch.setattr(Expiring, "read", mock.Mock(side_effect=fault))
        with pytest.raises(LogChanged, match="offset 29"):
            source.read([(ORDERS, (25, 30))])


class TestLookUps:
    """What the answer of a broker means within the edges that were learned."""

    LOG = Log(LogFacts(10, 20, 30), lookups={1: 5, 2: 15, 3: 20, 4: 35, 5: None})

    @pytest.mark.parametrize(
        ("time", "offset"), [(1, 10), (2, 15), (3, None), (4, None), (5, None), (-1, 10), (-(1 << 62), 10)]
    )
    def test_it_is_an_offset_of_the_log(self, time: int, offset: int | None) -> None:
        assert self.LOG.knows(time)
        assert self.LOG.first_at(time) == offset

    def test_none_is_needed_where_brokers_refuse_them(self) -> None:
        log = dataclasses.replace(self.LOG, untimed=True)
        assert log.knows(77)
        assert log.first_at(77) == 10


class Contradicting(Brokers):
    """Whatever is asked, the answer may be true, or anything else, edges included."""

    def __init__(self, random: rnd.Random) -> None:
        size = random.choice((20, 300, 600))
        times = random.choice(
            (range(size), [-1] * size, [-(10**9)] * size, [random.randrange(-3, 9) for _ in range(size)])
        )
        contents = random.choice((int, lambda at: at % 5, lambda _at: 0))
        source = records(times, contents)
        super().__init__(source, source[: random.randrange(size + 1)])
        self.random, self.size = random, size

    def topic_settings(self, _connection: Connection, names: t.Iterable[str]) -> t.Any:
        stamped, compacted, retention = (self.random.random() < 0.2 for _ in range(3))
        its = types.SimpleNamespace(
            log_append_time=stamped, compacted=compacted, retention_ms=300 if retention else None
        )
        return dict.fromkeys(names, its)

    def partition_bounds(self, connection: Connection, partitions: t.Iterable[TopicPartition]) -> dict[t.Any, Bounds]:
        its = super().partition_bounds(connection, partitions)
        return {where: self._moved(bounds) for where, bounds in its.items()}

    def _moved(self, bounds: Bounds) -> Bounds:
        if self.random.random() < 0.3:
            return bounds
        return Bounds(*(max(0, at + self.random.choice((0, 0, -9, 9, 100, -100, 290))) for at in bounds))

    def lookup(self, name: str, time: int) -> int | None:
        wrong = (None, -50, 0, self.random.randrange(self.size), self.size, self.size + 500, 1 << 60)
        return super().lookup(name, time) if self.random.random() < 0.4 else self.random.choice(wrong)

    def read(self, name: str, start: int, end: int) -> list[Record]:
        true = super().read(name, start, end)
        match self.random.randrange(5):
            case 0:
                return []
            case 1:
                return [each for each in true if self.random.random() < 0.5]
            case 2:
                return super().read(name, max(0, start - 30), end + 30)
            case 3:
                return [each._replace(timestamp=self.random.randrange(-2, 700)) for each in true]
        return true


@pytest.mark.parametrize("seed", range(400))
def test_every_plan_ends(planned: t.Any, seed: int) -> None:
    random = rnd.Random(seed)
    brokers = Contradicting(random)
    committed = random.choice((0, 1, random.randrange(brokers.size + 1), brokers.size))
    strategy = random.choice((by_records.by_records, by_records.by_records, identical))
    policy = {"search_limit": random.choice((5, 50, 100_000))}
    previous = None
    for _again in range(2):  # the second time, an exact entry may be kept
        try:
            previous = planned(brokers, committed, strategy, random.choice((0, 5)), previous, **policy)
        except MigrationError as error:
            assert error.topic == "orders"
            continue
        assert previous.reason is not Reason.INTERNAL_ERROR, previous.detail


class TestAGuard:
    """What would go round for ever is an error that says where, and what to do."""

    CASES: t.ClassVar = {"g": settling.Case(7, ORDERS, ORDERS)}

    def settled(self, rule: t.Callable[[str, Question], t.Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, t.Any]:
        brokers = Brokers(records(range(9)), records(range(9)))
        brokers.install(monkeypatch)
        return settling.answer_all(self.CASES, strategy_input(*learned()), rule, settling.internal_error)

    def test_a_fault_of_the_rule_blocks_its_own_partition_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def rule(key: str, question: Question) -> Decision | Need:
            if key == "faulty":
                raise KeyError(b"a secret of a record")
            return decide(question)

        monkeypatch.setattr(self, "CASES", self.CASES | {"faulty": settling.Case(3, ORDERS, ORDERS)})
        found = self.settled(rule, monkeypatch)
        assert (found["g"].verdict, found["g"].offset) == (Verdict.EXACT, 7)
        its = found["faulty"]
        assert (its.verdict, its.offset, its.reason) == (Verdict.BLOCKED, None, Reason.INTERNAL_ERROR)
        for part in ("KeyError at", "rule()", "committed 3;", "source [0, 9, 9], of the destination [0, 9, 9]"):
            assert part in its.detail
        assert "secret" not in its.detail

    @pytest.mark.parametrize("need", [Need(), Need(source=((0, 3),)), Need(destination_times=(3,))])
    def test_a_round_that_brings_nothing_new(self, monkeypatch: pytest.MonkeyPatch, need: Need) -> None:
        with pytest.raises(MigrationError, match="Run again") as caught:
            self.settled(lambda *_: need, monkeypatch)
        assert "source cluster" in str(caught.value)
        place = caught.value.place()
        assert "destination cluster" in place.pop("cluster")
        assert place == {"kind": "broker_refused", "group": None, "topic": "orders", "partition": 0}

    def test_a_loop_that_gets_no_further(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def rule(_key: str, _question: Question) -> Decision:
            measure = Measure()
            while True:
                measure.shrink(1, 3)

        with pytest.raises(MigrationError, match="gets no further"):
            self.settled(rule, monkeypatch)

    def test_a_measure_shrinks_by_its_weightiest_part(self) -> None:
        measure = Measure()
        for left in ((1, 9, 0), (1, 8, 50), (0, 70, 3), (0, 70, 2)):
            measure.shrink(*left)
        with pytest.raises(NoProgress):
            measure.shrink(0, 70, 2)
