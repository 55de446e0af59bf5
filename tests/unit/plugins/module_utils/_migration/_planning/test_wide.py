"""When what Spark counts after an offset makes it exact; what Spark counts is given here."""

import contextlib
import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Decision, Log, LogFacts
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning import wide
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.settling import Case
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.strategy import TranslateOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.cluster_logs import ClusterLogs
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Absent, Copied, Reason, Verdict
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.tail_job import Tail
from tests.support.strategies import strategy_input

ORDERS = TopicPartition("orders", 0)
CLUSTER = connection_from({"bootstrap_servers": ["127.0.0.1:1"]}, "source cluster")
COMMITTED, OFFSET, END = 50, 60, 100
ALL = Tail(headers=True, unconsumed=50, missing=0, oldest=None, others=0, distinct=50)
FEW = ALL._replace(distinct=3)
ONE_MISSING = ALL._replace(missing=1, oldest=70)


def _cluster(first_at: int | None = None, **facts: t.Any) -> ClusterLogs:
    """A log of END offsets, of which the ten before COMMITTED were read, but for the last one."""
    log = Log(LogFacts(0, END, END, **facts), lookups={70: first_at})
    log.add((COMMITTED - 10, COMMITTED), [Record(at, at, b"%d" % at, b"%d" % at) for at in range(40, COMMITTED - 1)])
    return ClusterLogs(CLUSTER, logs={ORDERS: log})


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> t.Callable[..., Decision]:
    """What becomes of an offset that was found, when this tail follows it and both whole logs are more than is allowed."""

    def settle(tail: Tail, before: Copied | None, first_at: int | None = None, **facts: t.Any) -> Decision:
        destination = _cluster(first_at, **facts)
        monkeypatch.setattr(wide, "obstacle", lambda _options: None)
        monkeypatch.setattr(wide, "read_contents", lambda *_args: None)
        monkeypatch.setattr(wide, "kept", contextlib.nullcontext)
        monkeypatch.setattr(wide.tail_job, "count_tails", lambda *_args, **_options: [tail])
        monkeypatch.setattr(ClusterLogs, "look_up", lambda _self, _times: None)
        found = Decision(Verdict.SAFE, OFFSET, Reason.TAIL_NOT_COUNTED, 40, before=before)
        case, limit = Case(COMMITTED, ORDERS, ORDERS), 2 * END - 1
        options = TranslateOptions(spark_limit=limit)
        given = strategy_input(_cluster(), destination, options=options, spark=lambda: None)
        return wide.settle_wide({1: case}, {1: found}, given)[1]

    return settle


LAST = Copied(COMMITTED - 2, OFFSET - 1, "")  # the last consumed record that is there, right before the offset
EARLIER = Copied(COMMITTED - 3, OFFSET - 1, "")
APART = Copied(COMMITTED - 2, OFFSET - 2, "")
UNREAD = Copied(COMMITTED - 20, OFFSET - 1, "")


@pytest.mark.parametrize(
    ("tail", "before", "first_at"),
    [
        pytest.param(ALL, LAST, None, id="all that is unconsumed"),
        pytest.param(ALL, None, None, id="and nothing is known of what precedes it"),
        pytest.param(ONE_MISSING, LAST, None, id="the missing one is not there"),
        pytest.param(ONE_MISSING, LAST, OFFSET, id="nor before the offset"),
    ],
)
def test_exact(settled: t.Callable[..., Decision], tail: Tail, before: Copied | None, first_at: int | None) -> None:
    decision = settled(tail, before, first_at)
    assert (decision.verdict, decision.offset) == (Verdict.EXACT, OFFSET)
    assert decision.certificate is not None
    assert decision.certificate.name == "from_the_end"


@pytest.mark.parametrize(
    ("tail", "absent"),
    [
        pytest.param(ALL, None, id="nothing is missing"),
        pytest.param({"first_missing": 99, "last_copied": 98}, None, id="what is still to come is not absent"),
        pytest.param({"first_missing": 70, "last_copied": 99, "absent": 3}, Absent(3, 70), id="all that are missing"),
        pytest.param(
            {"first_missing": 70, "last_copied": 98, "absent": 2}, Absent(2, 70, False), id="and one may be to come"
        ),
        pytest.param({"first_missing": 70, "last_copied": 98}, Absent(1, 70, False), id="other tasks know the last"),
    ],
)
def test_what_the_tail_lacks_is_told(settled: t.Callable[..., Decision], tail: t.Any, absent: Absent | None) -> None:
    lacking = ONE_MISSING._replace(**{"missing": 3, **tail}) if isinstance(tail, dict) else tail
    decision = settled(lacking, LAST)
    assert (decision.verdict, decision.absent) == (Verdict.EXACT, absent)
    # Compaction removes older records of a key.
    assert settled(lacking, LAST, compacted=True).absent is None


@pytest.mark.parametrize(
    ("tail", "before", "first_at"),
    [
        pytest.param(ALL._replace(others=1), LAST, None, id="another record follows"),
        pytest.param(FEW, LAST, None, id="few, after a record that equals the last consumed one"),
        pytest.param(FEW, None, None, id="few, which may be copies of equal consumed ones"),
        pytest.param(FEW, EARLIER, None, id="few, and a consumed record before them is absent"),
        pytest.param(FEW, APART, None, id="few, and something precedes them"),
        pytest.param(FEW, UNREAD, None, id="few, and nobody has read what was consumed last"),
        pytest.param(ONE_MISSING, LAST, OFFSET - 1, id="a missing one may precede the offset"),
        pytest.param(ONE_MISSING, APART, None, id="one is missing, and times are not known to be kept"),
        pytest.param(ALL._replace(missing=1, oldest=-1), LAST, None, id="one is missing, and has no time"),
        pytest.param(
            ALL._replace(missing=1, oldest=-(10**14)), LAST, None, id="one is missing, and is older than any time"
        ),
    ],
)
def test_in_doubt(settled: t.Callable[..., Decision], tail: Tail, before: Copied | None, first_at: int | None) -> None:
    decision = settled(tail, before, first_at)
    assert (decision.verdict, decision.reason) == (Verdict.SAFE, Reason.TAIL_NOT_COUNTED)
    assert f"spark_limit is {2 * END - 1}" in decision.detail
