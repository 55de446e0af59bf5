"""Nothing is called exact, and no offset lossless, without the facts that show it."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.certificates import (
    Comparison,
    ConsumedBefore,
    ContiguousToTheEnd,
    CountedBefore,
    EndsBefore,
    EndsWithConsumed,
    FromTheEnd,
    NoRecordBefore,
    NothingConsumed,
    NothingThere,
    OwnCopy,
    SameDifference,
    SameLog,
    WholeLogs,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Decision
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Copied, Verdict
from tests.attack import rule
from tests.attack.case import parse
from tests.attack.recheck import is_true

FIRM = Comparison(records=8, distinct=8, times=8)
EQUAL = Comparison(records=8, distinct=1, times=8)
ONE_TIME = Comparison(records=8, distinct=8, times=1)
HERE, THERE = TopicPartition("orders", 0), TopicPartition("orders", 1)


@pytest.mark.parametrize(
    ("kind", "proof", "lacks"),
    [
        (NothingConsumed, {"committed": 0}, [{"committed": 1}]),
        (
            NothingThere,
            {"copies": 0, "hidden": 0, "consumed_left": 0},
            [{"copies": 1}, {"hidden": 1}, {"consumed_left": 1}],
        ),
        (
            WholeLogs,
            {"offset": 7, "first_wanted": 7, "repeated": 0, "arrived": True},
            [{"first_wanted": 6}, {"repeated": 1}, {"arrived": False}],
        ),
        (
            FromTheEnd,
            {"unconsumed": 3, "missing": 1, "missing_are_not_before": True, "arrived": True, "repeated": 0},
            [{"arrived": False}, {"missing": 4}, {"missing": -1}, {"missing_are_not_before": False}, {"repeated": 1}],
        ),
        (
            ContiguousToTheEnd,
            {"at_offset": FIRM, "at_end": FIRM, "source_offsets": 100, "destination_offsets": 100},
            [
                {"at_offset": EQUAL},
                {"at_offset": EQUAL._replace(whole=True)},
                {"at_offset": EQUAL._replace(whole=True), "before": EQUAL._replace(whole=True)},
                {"at_end": EQUAL},
                {"at_end": ONE_TIME},
                {"destination_offsets": 99},
            ],
        ),
        (EndsWithConsumed, {"at_offset": FIRM, "unexplained": 0}, [{"at_offset": EQUAL}, {"unexplained": 1}]),
        (
            SameDifference,
            {"at_start": FIRM, "at_offset": FIRM, "at_end": ONE_TIME, "nowhere_else": True},
            [{"at_start": EQUAL}, {"at_offset": EQUAL}, {"at_end": EQUAL}, {"nowhere_else": False}],
        ),
        (
            SameLog,
            {"one_cluster": True, "topic_ids": ("a", "a"), "source": HERE, "destination": HERE},
            [{"one_cluster": False}, {"topic_ids": ("a", "b")}, {"destination": THERE}],
        ),
        (OwnCopy, {"begin": 10, "place": 12, "end": 20}, [{"place": 9}, {"place": 21}]),
        (NoRecordBefore, {"offset": 7, "records": 0}, [{"records": 1}]),
        (CountedBefore, {"offset": 7, "first_wanted": 7}, [{"first_wanted": 6}]),
        (
            ConsumedBefore,
            {"offset": 7, "neighbours": FIRM, "all_that_is_before": False, "unconsumed": 0},
            [{"neighbours": EQUAL}, {"unconsumed": 1}],
        ),
        (
            EndsBefore,
            {"offset": 7, "at_start": FIRM, "at_end": FIRM, "nowhere_else": True, "unconsumed": 0},
            [{"at_start": EQUAL}, {"at_end": EQUAL}, {"nowhere_else": False}, {"unconsumed": 1}],
        ),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_certificate_cannot_be_made_without_each_of_its_facts(kind, proof, lacks):
    kind(**proof)
    for other in lacks:
        with pytest.raises(ValueError, match="do not show"):
            kind(**proof | other)


def test_a_copy_of_nothing_and_its_edges_are_certified():
    assert [OwnCopy(10, place, end).place for place, end in ((10, 10), (10, 20), (20, 20))] == [10, 10, 20]


def test_an_answer_is_exact_with_a_certificate_and_only_then():
    proof = NothingConsumed(0)
    assert Decision.exact(proof, 0).certificate is proof
    with pytest.raises(ValueError, match="exact with a certificate, and only then"):
        Decision(Verdict.EXACT, 0, repeats=0)
    with pytest.raises(ValueError, match="exact with a certificate, and only then"):
        Decision(Verdict.SAFE, 0, repeats=3, certificate=proof)


LONG = " ".join(f"p{n}@{n}" for n in range(600))
ALL_COPIED = " ".join(f"p{n}@{n}<{n}" for n in range(600))


@pytest.mark.parametrize(
    ("case", "ask", "name"),
    [
        (f"S {LONG} T {ALL_COPIED} C=0", rule.near, "nothing_consumed"),
        (f"S {LONG} T {ALL_COPIED} C=100", rule.near, "contiguous_to_the_end"),
        (f"S {LONG} T {ALL_COPIED} C=590", rule.near, "from_the_end"),
        (f"S {LONG} T {' '.join(ALL_COPIED.split()[:302])} C=300", rule.near, "contiguous_to_the_end"),
        (f"S {LONG} T {ALL_COPIED} C=600", rule.near, "ends_with_consumed"),
        ("S a@1 b@2 T a@1<0 b@2<1 C=1", rule.whole, "whole_logs"),
        ("S a@1(gone) b@2(gone) T C=2 start=2", rule.near, "nothing_there"),
    ],
)
def test_the_answer_names_how_it_is_known_and_the_logs_show_it(case, ask, name):
    answer = ask(parse(case))
    assert (answer.verdict, answer.decision.certificate.name) == ("exact", name)
    assert is_true(parse(case), answer.decision)


SIX = "S a@0 b@1 c@2 d@3 e@4 f@5 T a@0<0 b@1<1 c@2<2 d@3<3 e@4<4 f@5<5"
ALL = {"matched_by": ("key", "value", "headers", "timestamp")}


@pytest.mark.parametrize(
    ("case", "offset", "proof", "more"),
    [
        pytest.param(f"{SIX} C=1", 0, NothingConsumed(0), {}, id="one is consumed"),
        pytest.param(f"{SIX} C=1", 0, NothingThere(0, 0, 0), {}, id="there are copies"),
        pytest.param("S a@0(gone) T a@0(open)<0 C=1 start=1", 0, NothingThere(0, 0, 0), {}, id="some are hidden"),
        pytest.param(f"{SIX} C=2", 3, WholeLogs(3, 3, 0, arrived=True), {}, id="one is skipped"),
        pytest.param(f"{SIX} C=2", 1, WholeLogs(1, 2, 0, arrived=True), {}, id="one is repeated"),
        pytest.param(f"{SIX} C=2", 3, FromTheEnd(4, 1, True, True, 0), ALL, id="the missing one stands before"),
        pytest.param(f"{SIX} C=2", 2, FromTheEnd(5, 0, True, True, 0), ALL, id="it has not read so many"),
        pytest.param(
            f"{SIX} C=2",
            3,
            ContiguousToTheEnd(FIRM._replace(records=2), FIRM._replace(records=2), 4, 4),
            {**ALL, "after": Copied(2, 3, "")},
            id="others are in a row",
        ),
        pytest.param(f"{SIX} C=6", 5, EndsWithConsumed(FIRM._replace(records=4), 0), ALL, id="the last one follows"),
        pytest.param(
            f"{SIX} C=3", 4, SameDifference(FIRM, FIRM, FIRM, nowhere_else=True), ALL, id="another difference"
        ),
    ],
)
def test_a_certificate_that_is_not_true_is_seen_in_the_logs(case, offset, proof, more):
    assert not is_true(parse(case), Decision.exact(proof, offset, **more))
