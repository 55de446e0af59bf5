"""No way to an answer breaks a promise in a few worlds of each class; `make attack` asks the same of very many."""

import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from tests.attack import rule
from tests.attack.case import NO_TIME, NOON, parse
from tests.attack.classes import CLASSES
from tests.attack.examples import complaints
from tests.attack.exhaustive import WAYS, all_worlds, judge
from tests.attack.exhaustive import World as SmallWorld
from tests.attack.judge import FAULTS
from tests.attack.live import attack_moving
from tests.attack.manners import MANNERS
from tests.attack.moving import World
from tests.attack.naive import Logs, Thing
from tests.attack.requests import Requests
from tests.attack.returns import UNLIKE, attack_returns
from tests.attack.tally import Tally, attack
from tests.attack.ways import EVERY_WAY, answers
from tests.support.listed_clusters import SOURCE

WORLDS = 4  # of each class
MOST_RECORDS = 150
SHORT = [name for name in CLASSES if not name.startswith("long")]  # no world of the others is so short


def _things(*times: int) -> tuple[Thing, ...]:
    """Records or copies of one content."""
    return tuple(Thing("a", time if time == NO_TIME else NOON + time) for time in times)


def _all_complaints(tally: Tally, ways: t.Iterable[str]) -> list[str]:
    return [text for way in ways for text in complaints(tally, way)]


@pytest.mark.parametrize("name", SHORT)
def test_no_world_breaks_a_promise(name: str) -> None:
    assert not _all_complaints(attack(name, range(WORLDS), most_records=MOST_RECORDS), EVERY_WAY)


def test_no_return_skips_a_record_or_is_falsely_exact() -> None:
    assert not _all_complaints(attack_returns(UNLIKE, range(40)), ["return", "return, leave"])


def test_no_small_world_breaks_what_the_naive_definition_promises() -> None:
    tally = Tally.empty()
    for task in all_worlds(2):
        tally.add(task())
    assert not _all_complaints(tally, WAYS)


@pytest.mark.parametrize(
    ("world", "consumed"),
    [
        pytest.param(
            SmallWorld(1, _things(0, 10, 20), _things(10, -5, -5)),
            2,
            id="copies of a lost record and of a consumed one, which a younger record with its own time has followed",
        ),
        pytest.param(
            SmallWorld(1, _things(*[NO_TIME] * 3), _things(*[NO_TIME] * 4)),
            1,
            id="without times, a lost record and the consumed one may both have been copied twice",
        ),
        pytest.param(
            SmallWorld(1, _things(*[NO_TIME] * 3), _things(*[0] * 4), stamped=True),
            1,
            id="the same with stamped copies",
        ),
        pytest.param(
            SmallWorld(1, _things(*[NO_TIME] * 3), _things(*[NO_TIME] * 4, 5)),
            1,
            id="without times, but for one copy: those without may be of the lost record all the same",
        ),
    ],
)
@pytest.mark.parametrize("way", WAYS)
def test_no_way_breaks_what_the_naive_definition_promises_where_one_once_did(way: str, world, consumed: int) -> None:
    with rule.thresholds(1):
        (answer,) = WAYS[way]([world.case(consumed)])
    assert not [found for found in judge(world.logs(consumed), answer) if found[0] in FAULTS]


LIVE = [
    "live, mirror, several", "live, retention", "live, keyed, compacted", "live, transactions", "live, exactly-once tool",
    "live, stamped", "live, two tools", "live, Spark, transactions", "live, repartitioned, retention", "live, merged",
]  # fmt: skip


@pytest.mark.parametrize("name", LIVE)
def test_no_plan_of_a_world_that_moves_breaks_a_promise(name: str) -> None:
    assert not _all_complaints(attack_moving(name, range(WORLDS)), ["plan", "again", "identical"])


def test_a_world_that_moves_refuses_what_brokers_refuse() -> None:
    requests = Requests(World(MANNERS["live, retention"], "any"))
    where, log = TopicPartition("orders", 0), requests.world.sources[0]
    log.expire(1)
    for span, committed in (((0, 1), True), ((log.end, log.end + 1), False)):
        with pytest.raises(BrokerError):
            requests.records(SOURCE, where, span, committed)
    with pytest.raises(ValueError, match="no time"):
        requests.lookup_all_times(SOURCE, [(where, -1)])


def _as_things(text: str) -> list[Thing]:
    return [Thing(word[0], int(word[1:])) for word in text.split()]


@pytest.mark.parametrize(
    ("source", "copies", "consumed", "lost", "best"),
    [
        pytest.param("a0 b1 a2 c3 a4 d5", "a0 b1 a2 x9 c3 a4", 3, False, (0, 3), id="the example of docs/the-rule.md"),
        pytest.param("a0 b0 a0 c0 a0 d0", "b0 x0 c0 a0", 3, False, (1, 1), id="the copy of one of either side"),
        pytest.param("b1 c3", "a0 c2 b1", 2, True, (1, 3), id="a copy of a lost record is none of one still to come"),
        pytest.param("b1 c3", "a0 c2 b1", 2, False, (0, 3), id="where none is lost, it is"),
        pytest.param("a0 a1", "a7 a8 a9", 1, False, (0, 2), id="recopied by a tool that sets times"),
    ],
)
def test_the_naive_definition(source: str, copies: str, consumed: int, lost: bool, best: tuple[int, int]) -> None:
    assert Logs(_as_things(source), _as_things(copies), consumed, lost).best == best


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            "S 0:b@10 1:b@12 2:c@13 T 0:b@10<0 1:b@10<1 2:c@10<2 C=1", id="times rounded to that of an equal record"
        ),
        pytest.param("S 0:b@10 1:b@12 2:b@25 T 0:b@10<0 1:b@10<1 2:b@20<2 C=1", id="some of them to another one"),
        pytest.param("S 0:a@0 1:a@0 2:a@2 T 0:a@0<0 1:a@0<1 2:a@0<2 C=2 scaled=1", id="seen from nearby"),
        pytest.param(
            "S 0:a@0 1:a@3 2:a@4 3:a@5 4:a@8 T 0:a@0<0 1:a@0<1 2:a@0<2 3:a@0<3 4:a@0<4 C=2 scaled=1",
            id="advice, where the tool seems to lag",
        ),
        pytest.param(
            "S 0:b@1 1:a@4 2:b@5 3:a@6 4:b@10 5:a@10 6:b@13 7:a@13 "
            "T 0:b@0<0 1:a@0<1 2:b@0<2 3:a@0<3 4:b@10<4 5:a@10<5 6:b@10<6 7:a@10<7 C=7 scaled=1",
            id="the same near the end",
        ),
        pytest.param("S 0:e@0 1:d@0 2:e@0 T 0:e@0<2 1:d@0<1 C=1", id="a later one came first, and the tool lags"),
        pytest.param("S 0:a@0 1:b@0 2:c@0 3:a@0 T 0:a@0<3 C=1 scaled=1", id="all that is there is a later one"),
        pytest.param(
            "S 0:p0@0 1:a@0 2:p8@0 3:a@0(gone) 4:a@0 T 0:a@0<4 C=2 stable=2 compacted=True scaled=1",
            id="the same where repeated records are not to be counted",
        ),
        pytest.param(
            "S 0:a@0 1:b@0 2:p2@0 3:b@0 4:a@0 T 0:a@0<0 F b@0<1 p2@0<2 b@0<3 a@0<4 C=4 scaled=1",
            id="the copy of a consumed record, equal to the only unconsumed one, while the tool lags",
        ),
        pytest.param(
            "S 0:d@=0(gone) 1:a@=0 2:d@=0 3:b@=0 4:d@=0 5:a@=0(open) T 0:a@=0<1 1:d@=0<2 F b@=0<3 d@=0<4 a@=0<5 "
            "C=4 start=0 compacted=True scaled=1",
            id="the same with two of them",
        ),
        pytest.param(
            "S 0:d@0 1:a@0 2:b@0 3:a@0 4:d@0 5:a@0 T 0:d@0<4 1:a@0<5 C=1 retention_ms=3600000 scaled=1",
            id="two records are left at the destination, and both stand twice at the source",
        ),
        pytest.param(
            "S 0:b@0 1:a@0 2:a@0 3:c@0 4:b@0 5:a@0 T 0:b@0<4 1:a@0<5 C=1 retention_ms=3600000 scaled=1",
            id="the same with another equal record",
        ),
        pytest.param(
            "S 0:a@0 1:d@0 2:d@0 3:d@0 4:a@0 T 0:a@0<4 C=2 retention_ms=3600000 scaled=1",
            id="advice from one record, which is a later one",
        ),
        pytest.param(
            "S 0:b@0 1:a@0 2:b@0 3:b@0 4:a@0 T 0:b@0<0 1:a@0<1 F b@0<2 b@0<3 a@0<4 C=4 scaled=1",
            id="one record that equals the last consumed one, while the tool lags",
        ),
        pytest.param(
            "S 0:e@- 1:c@- 2:e@-(aborted) T 0:e@=1<0 1:c@=1<1 2:e@=1<0 3:c@=1<1 C=2 stable=2",
            id="recopied, and an open transaction hides an equal record that was aborted",
        ),
        pytest.param(
            "S 0:b@0(gone) 1:b@0(gone) 2:a@0 3:b@0 T 0:b@0<0 1:b@0<1 F a@0<2 b@0<3 C=3",
            id="expired records that equal the unconsumed one, while the tool lags",
        ),
        pytest.param(
            "S 0:a@0 1:b@10 2:b@20 3:a@30 T 0:a@0<0 1:a@0<3 F b@10<1 b@20<2 C=1 scaled=1",
            id="a later record came first, with the time of an equal one far before it",
        ),
        pytest.param(
            "S 0:a@0 1:b@10 2:b@20 3:a@30 T 0:a@0<0 1:a@0<3 2:b@10<1 F b@20<2 C=1 scaled=1",
            id="the same while the tool lags less",
        ),
        pytest.param(
            "S 0:p@0(gone) 1:q@0(gone) 2:r@10(aborted) 3:s@10 T 0:p@0<0 1:q@0<1 2:r@10<2 3:s@10<3 4:r@10<2 5:s@10<3 "
            "C=1 search_limit=3",
            id="copies of aborted records are not counted for expired ones",
        ),
    ],
)
def test_no_way_breaks_a_promise_where_one_once_did(case: str) -> None:
    assert not [finding for finding in answers(parse(case), EVERY_WAY)[1] if finding.kind in FAULTS]


def test_two_records_that_end_a_long_log_may_be_later_equal_ones():
    """The destination has lost all that is before them, and an hour's records have one time."""
    between = " ".join(f"x{number}@0" for number in range(700))
    decision = rule.near(parse(f"S d@0 a@0 {between} d@0 a@0 T d@0<702 a@0<703 C=1")).decision
    assert (decision.verdict, decision.offset, decision.repeats) == ("safe", 0, 1)


def test_two_records_that_end_a_long_log_may_be_earlier_equal_ones():
    """The replication tool has come no farther."""
    between = " ".join(f"x{number}@0" for number in range(700))
    decision = rule.near(parse(f"S a@0 d@0 {between} a@0 d@0 T a@0<0 d@0<1 C=702")).decision
    assert (decision.verdict, decision.offset) == ("blocked", None)


@pytest.mark.parametrize("way", [rule.near, rule.whole])
def test_what_is_around_its_copy_shows_that_the_last_consumed_record_has_come(way):
    """The broker stamps copies. The copy of a record that the source has lost equals the last one, and holds the offset low."""
    source = "0:c@1(gone) 1:a@2(gone) 2:a@3 3:p@4 4:q@5 5:a@6 6:r@7 7:s@8 8:t@9 9:c@10"
    copies = "0:c@21(L)<0 1:a@22(L)<1 2:a@23(L)<2 3:p@24(L)<3 4:q@25(L)<4 5:a@26(L)<5 6:r@27(L)<6 7:s@28(L)<7"
    decision = way(parse(f"S {source} T {copies} C=7")).decision
    assert (decision.verdict, decision.offset, decision.repeats) == ("safe", 0, 6)  # not the five once more, as to come


@pytest.mark.parametrize("way", [rule.near, rule.whole])
def test_a_single_younger_record_may_be_the_copy_of_one_that_compaction_has_taken(way):
    case = parse("S 0:a@0 1:b@5(gone) 2:c@10 3:d@30 T 0:a@0<0 1:x@20 2:c@10<2 3:d@30<3 C=2 compacted=True scaled=1")
    with rule.thresholds(case.scaled):
        assert str(way(case)) == "safe 1 source_lost_records repeats <= 1"


@pytest.mark.parametrize("way", [rule.near, rule.whole])
@pytest.mark.parametrize(
    ("case", "offset", "repeats"),
    [
        pytest.param(
            # The tool has left out 1 and 4, so as many records as are lost from C on reach back to consumed ones.
            "S 0:a@0(gone) 1:b@1(gone) 2:c@2(gone) 3:d@3(gone) 4:e@4(gone) 5:f@5(gone) 6:g@6 start=0 "
            "T 0:a@0<0 1:c@2<2 2:d@3<3 3:f@5<5 4:g@6<6 C=4",
            2,
            2,
            id="filtered, all consumed ones are lost",
        ),
        pytest.param(
            "S 0:a@0 1:b@1(gone) 2:c@2(gone) 3:d@3 T 0:a@0<0 1:b@1<1 2:c@2<2 3:d@3<3 C=2", 1, 2, id="lost on both sides"
        ),
        pytest.param("S 0:a@0 1:b@1(gone) 2:b2@2 T 0:a@0<0 1:b@1<1 C=2", 1, 1, id="nothing unconsumed has arrived"),
    ],
)
def test_copies_of_consumed_records_that_compaction_has_taken_are_among_the_repeats(way, case, offset, repeats):
    assert str(way(parse(f"{case} compacted=True"))) == f"safe {offset} source_lost_records repeats <= {repeats}"


@pytest.mark.parametrize("way", [rule.near, rule.whole])
def test_all_that_is_consumed_is_still_to_come_to_an_empty_destination(way):
    case = parse("S 0:a@0 1:b@1 2:c@2 T C=2 scaled=1")
    with rule.thresholds(case.scaled):
        decision = way(case).decision
    assert (decision.reason, decision.lossless_offset, decision.to_come) == ("destination_lags", 0, 2)
