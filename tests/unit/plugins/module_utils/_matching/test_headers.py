"""A replication tool that adds headers, and groups that go back: the source's records have them, and new ones do not."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.counting import Logs, LogSet
from tests.attack import broker, rule
from tests.attack.case import parse
from tests.attack.judge import FAULTS, judge
from tests.attack.truth import Truth

# The tool has brought b three times, with a header more; then producers have moved, and write b without it.
RETURNS = {
    "times are kept": ("S b+x@1 b+x@2 b+x@3 b@9 T b@1<0 b@2<1 b@3<2 C=1", ("exact", 1, 0)),
    "the broker stamps": ("S b+x@1 b+x@2 b+x@3 b@9 T b@1(L)<0 b@2(L)<1 b@3(L)<2 C=1", ("safe", 0, 3)),
    "nothing has a time": ("S b+x@- b+x@- b+x@- b@- T b@-<0 b@-<1 b@-<2 C=1", ("safe", 0, 3)),
}


@pytest.mark.parametrize(("text", "right"), RETURNS.values(), ids=RETURNS)
@pytest.mark.parametrize("way", [rule.near, rule.whole, lambda case: rule.count_by_spark([case])[0]])
def test_a_record_may_be_that_of_one_that_differs_by_headers(way, text: str, right: tuple[str, int, int]) -> None:
    case = parse(text)
    answer = way(case)
    assert answer[:3] == right
    assert judge(case, "", answer) == []


_SENT = " ".join(f"a+h{at}@{at}0" for at in range(10))
_AT_ONCE = " ".join(f"a+h{at}@0" for at in range(10))
_AGAIN = [0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 7, 8]  # a second tool was stopped, and the last record is to come


@pytest.mark.parametrize("way", [rule.near, rule.whole])
@pytest.mark.parametrize(
    ("text", "right"),
    [
        (f"S {_SENT} T {' '.join(f'a+h{at}@900(L)<{at}' for at in _AGAIN)} F a+h9@999(L)<9 C=5", ("safe", 5, 4)),
        (f"S {_AT_ONCE} T {' '.join(f'a+h{at}@0<{at}' for at in _AGAIN)} F a+h9@0<9 C=5", ("safe", 5, 4)),
        ("S 0:a+h0@0(gone) 1:a+h1@9 T a+h0@90(L)<0 a+h1@91(L)<1 a+h0@92(L)<0 C=1", ("exact", 1, 0)),
        ("S a+h0@0 a+h1@0 a+h2@0 T a+h1@8<1 a+h2@9<2 a+h2@9<2 C=1", ("safe", 0, 1)),
        ("S 0:a+h0@0(gone) 1:a@0 T a@8<1 a+h0@9<0 C=1", ("exact", 0, 0)),
        (
            (
                "S 0:a+h2@10(aborted) 1:(marker) 2:a+h0@20 3:a+h0@30 4:a+h0@70(aborted) 5:(marker) "
                "T a+h2@10<0 a+h0@20<2 a+h0@30<3 a+h0@70<4 C=3"
            ),
            ("safe", 2, 1),
        ),
    ],
    ids=[
        "stamped, again",
        "of one time, again",
        "a lost one, again",
        "other times, again",
        "other times, a lost one",
        "aborted ones",
    ],
)
def test_nothing_is_skipped_where_headers_alone_tell_records_apart(way, text: str, right: tuple[str, int, int]) -> None:
    """Copies have kept their headers, but one may as well be that of a record with others."""
    case = parse(text)
    answer = way(case)
    assert answer[:3] == right
    assert judge(case, "", answer) == []


@pytest.mark.parametrize("way", [rule.near, rule.whole, lambda case: rule.count_by_spark([case])[0]])
def test_headers_tell_apart_what_was_copied_twice_with_its_own_time(way) -> None:
    case = parse("S h+1@5 h+2@6 h+3@7 T h+1@5<0 h+2@6<1 h+2@6<1 F h+3@7<2 C=1")
    assert way(case)[:3] == ("exact", 1, 0)


@pytest.mark.parametrize("way", [rule.near, rule.whole, lambda case: rule.count_by_spark([case])[0]])
@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("S a+h0@5 a+h2@5 a+h0@9 T a+h0@80(L)<2 a@5<0 a@5<1 C=2", ("safe", 0, 2)),
        ("S a+h0@5 a+h2@5 a+h0@9 T a+h0@80<2 a+h0x@5<0 a+h2x@5<1 C=1", ("safe", 0, 1)),
        ("S b@1 a+h0@5 a+h2@5 a+h0@9 T b@1<0 a+h0@80<3 b@1<0 a@5<1 a@5<2 C=3", ("safe", 1, 3)),
    ],
    ids=["stamped, then without headers", "at another time, then with others", "again"],
)
def test_a_tool_that_changes_headers_alone_has_not_copied_records_of_other_times(
    way, text: str, right: tuple[str, int, int]
) -> None:
    """One tool has begun with the last record, and then another one with the first ones: the last copies are theirs."""
    case = parse(text)
    answer = way(case)
    assert answer[:3] == right
    assert judge(case, "", answer) == []


@pytest.mark.parametrize("way", [rule.near, rule.whole, lambda case: rule.count_by_spark([case])[0]])
@pytest.mark.parametrize("stamped", ["", "(L)"])
def test_a_copy_that_has_kept_its_headers_alone_is_none_of_a_record_with_others(way, stamped: str) -> None:
    """Another one may be, whose headers were changed as well: it stands before."""
    source = "S a+h0@10 a+h1@20 a+h0@30"
    case = parse(f"{source} T a+h1x@51{stamped}<1 a+h0@52{stamped}<2 a+h0@30<2 C=1")
    answer = way(case)
    assert answer[:3] == ("safe", 0, 1)
    assert judge(case, "", answer) == []


@pytest.mark.parametrize("way", [rule.near, rule.whole])
@pytest.mark.parametrize("consumed", ["0:b+h1@0(aborted)", "0:b+h1@0(gone)"])
def test_the_copy_of_an_aborted_record_is_none_of_one_that_differs_by_headers(way, consumed: str) -> None:
    """The aborted one follows, and has the same timestamp."""
    case = parse(f"S {consumed} 1:b+h1@0 2:b+h0@0(aborted) T 0:b+h1@0<1 1:b+h0@0<2 C=1")
    answer = way(case)
    assert (answer.verdict, answer.offset) == ("exact", 0)
    assert judge(case, "", answer) == []


def test_the_verification_takes_a_copy_with_other_headers_for_no_record_of_another_time() -> None:
    case = parse("S a+h0@0 a+h1@0 a+h0@1 a+h1@1 T a+h0x@0<0 a+h1@0<1 a+h0x@1<2 a+h1@1<3 a+h0@1<2 C=0")
    assert rule.verify(case, [0, 1]) == [(0, 0), (1, 0)]


def test_few_records_prove_nothing_beside_a_second_copy_with_other_headers_and_another_time() -> None:
    with rule.thresholds(1):
        assert rule.near(parse("S a+h0@0 T a+h0@0<0 a@1<0 C=1"))[:3] == ("safe", 1, 1)


@pytest.mark.parametrize("way", [rule.near, rule.whole])
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("S 0:w 1:u 2:w T 0:w(L)<0 1:u(L)<1 2:w(L)<2 3:w+a(L) C=2", id="stamped"),
        pytest.param("S 0:w@0 1:w@1 T 0:w@900<0 1:w@901<1 2:w+a@902 C=1", id="moved"),
        pytest.param("S 0:w 1:u 2:w 3:w+a(aborted) 4:z T w(L)<0 u(L)<1 w(L)<2 w+a(L)<3 z(L)<4 C=2", id="aborted"),
        pytest.param("S 0:v+a@- 1:u@1 2:v@- 3:z@9 T 0:u@1<1 1:v@-<2 2:v@900 3:z@9<3 C=2", id="no time"),
    ],
)
def test_a_record_of_somebody_else_with_other_headers_stands_for_none(way, text: str) -> None:
    case = parse(text)
    answer = way(case)
    assert answer.offset is None or not Truth(case).skipped(answer.offset)


@pytest.mark.parametrize("way", [rule.near, rule.whole])
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("S 0:v+a@0 1:v+a@0 2:v@0 3:z T v+a@0<0 v+a+x@0<1 F v+x@0<2 z<3 C=3", id="lag"),
        pytest.param("S 0:v+a@0 1:v@0 2:z@1 T v+a@0<0 v+a+x@0<0 v+x@0<1 z@1<2 C=1", id="restart"),
    ],
)
def test_a_tool_that_begins_to_add_headers_gives_no_copy_to_another_record_of_its_time(way, text: str) -> None:
    assert way(parse(text)).verdict != "exact"


@pytest.mark.parametrize("way", [rule.near, rule.whole])
@pytest.mark.parametrize(
    ("text", "answer"),
    [
        pytest.param("u@7 b+h1@43 T b+h1@4<0 b+h0@4<1 b+h1+x@4<0 u@7<2 F b+h1@43<3 C=2", ("safe", 2, 1), id="repeated"),
        pytest.param(
            "u@7 b+h1@43 T b+h1@4<0 b+h0@4<1 b+h1+x@4<0 F u@7<2 b+h1@43<3 C=3", ("blocked", None, None), id="lag"
        ),
        pytest.param("b+h1@43 T b+h0@4<1 b+h1@4<0 b+h1+x@4<0 F b+h1@43<2 C=1", ("safe", 0, 2), id="between"),
    ],
)
def test_a_second_copy_with_other_headers_and_a_told_time_stands_for_no_record_to_come(way, text: str, answer) -> None:
    case = parse(f"S b+h1@4 b+h0@4 {text}")
    given = way(case)
    assert given[:3] == answer
    assert not [found for found in judge(case, "near", given) if found.kind in FAULTS]


@pytest.mark.parametrize("way", [rule.near, rule.whole])
def test_the_copy_of_an_unconsumed_record_is_not_given_to_an_equal_consumed_one_that_has_none(way) -> None:
    """Somebody else has written an equal record at another time, and the tool has changed the headers of one copy."""
    case = parse("S a+h@0 u@1 a+h@0 a@4 z@5 T a+h@0<2 a@4<3 a+h@900 a+x@901 z@5<4 C=2")
    assert not Truth(case).skipped(way(case).offset)


_TWO_TIMES = (
    "S a+h1@4 a+h0@4 a+h1@43 a+h0@43 T a+h1+x@4<0 a+h1@4<0 a+h0+x@4<1 a+h1+x@43<2 a+h0@43<3 a+h1@43<2 a+h0@43<3 C=1"
)


@pytest.mark.parametrize("way", [rule.near, rule.whole, lambda case: rule.count_by_spark([case])[0]])
def test_a_second_copy_with_other_headers_stands_for_no_record_of_another_time_that_has_an_earlier_copy(way) -> None:
    case = parse(_TWO_TIMES)
    given = way(case)
    assert given.offset == 2
    assert not [found for found in judge(case, "near", given) if found.kind in FAULTS]
    assert rule.verify(case, [2, 3]) == [(0, 0), (1, 0)]


def test_a_second_copy_with_other_headers_stands_for_no_record_of_another_time_in_several_partitions_either() -> None:
    brokers = broker.Logs(parse(_TWO_TIMES))
    source, copies = brokers.source.with_open, brokers.destination.visible
    both = LogSet([source], (0,), (4,)), LogSet([copies, []], (0, 0), (7, 0))
    (found,) = Logs(*both, timestamps=True, stable=(4,), only_doubled=False).count([(1,)])
    assert found.answers[0].offset == 2
