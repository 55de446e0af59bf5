"""What shows that a lagging replication tool has come as far as the group: only the copy of an unconsumed record does."""

import pytest

from tests.attack import rule
from tests.attack.case import parse
from tests.attack.judge import judge
from tests.attack.ways import answers

LAGS = {
    "a copy of an equal record that has expired": "S x@0(gone) a@10 x@50 T x@0<0 F a@10<1 x@50<2 C=2",
    "the same, stamped by the broker": "S x@0(gone) a@10 x@50 T x@999(L)<0 F a@999(L)<1 x@999(L)<2 C=2",
    "the same, without times": "S x@-(gone) a@- x@- T x@-<0 F a@-<1 x@-<2 C=2",
    "the same of several": "S x@-(gone) a@- x@- x@- T x@-<0 F a@-<1 x@-<2 x@-<3 C=2",
    "a record that was copied twice": "S a@1 b@2 a@1 C=2 T a@1<0 a@1<0 F b@2<1 a@1<2",
    "one of equal records, the last of which is consumed": "S c@0 p4@0 c@0 T c@0<0 c@0<0 F p4@0<1 c@0<2 C=3",
    "a destination-only record": "S b@0 a@10 x@50 T x@9 F b@0<0 a@10<1 x@50<2 C=2",
}


@pytest.mark.parametrize("text", LAGS.values(), ids=LAGS)
@pytest.mark.parametrize("way", [rule.near, rule.whole, lambda case: rule.count_by_spark([case])[0]])
def test_a_record_of_another_time_is_no_arrival(way, text: str) -> None:
    case = parse(text)
    assert judge(case, "", way(case)) == []


@pytest.mark.parametrize("way", [rule.near, rule.whole, rule.count, lambda case: rule.count_by_spark([case])[0]])
def test_a_stamped_copy_of_the_only_record_of_its_content_is_its_arrival_unless_equal_ones_may_be_lost(way) -> None:
    assert way(parse("S b@0 c@10 T c@99(L)<1 C=2"))[:3] == ("exact", 1, 0)
    lossy = parse("S x@0(gone) b@10 c@20 T c@99(L)<2 C=3")
    assert way(lossy)[0] == "safe"


ADVISED = {
    "no times, and a destination-only record with one": "S 0:a@- 1:a@- T 0:a@-<1 1:a@=0 C=1 compacted=True",
    "times that the tool has made equal": "S 0:a@0 1:c@0 2:a@2 3:e@2 4:b@4 5:a@6 6:c@6 7:c@6 8:a@6 "
    "T 0:a@0<0 1:c@0<1 2:a@0<2 3:e@0<3 4:b@0<4 5:a@0<5 6:c@0<6 7:c@0<7 8:a@0<8 C=3 append_time=True scaled=1",
    "a noted difference, and an equal record": "S p@0 c@0 c@0 c@1 c@2 T p@0<0 c@1<3 C=3 append_time=True scaled=1",
}


@pytest.mark.parametrize("text", ADVISED.values(), ids=ADVISED)
def test_no_offset_is_advised_that_loses_a_record(text: str) -> None:
    _given, found = answers(parse(text), ("near", "notes"))
    assert found == []


@pytest.mark.parametrize("stamped", [False, True])
@pytest.mark.parametrize("way", [rule.near, rule.whole, lambda case: rule.count_by_spark([case])[0]])
def test_a_record_is_repeated_once_whether_it_is_there_or_still_to_come(way, stamped: bool) -> None:
    """The copies may be those of lost records; then the consumed ones are still to come, and these copies are no repeats."""
    time = "@99(L)" if stamped else "@-"
    copies = " ".join(f"{content}{time}<{at}" for at, content in enumerate("xbpqr"))
    answer = way(parse(f"S x@-(gone) b@- p@- q@- r@- b@- z@- T {copies} F b{time}<5 z{time}<6 C=4"))
    assert (answer.verdict, answer.repeats) == ("safe", 3)


@pytest.mark.parametrize("time", ["@-", "@99(L)"])
@pytest.mark.parametrize("way", [rule.near, rule.whole])
def test_a_copy_of_what_compaction_has_taken_is_no_arrival(way, time: str) -> None:
    copies = f"k{time}<0 a{time}<1 F k{time}<2 z{time}<3"
    answer = way(parse(f"S 0:k@-(gone) 1:a@- 2:k@- 3:z@- T {copies} C=3 compacted=True start=0"))
    assert (answer.verdict, answer.offset, answer.reason) == ("safe", 2, "destination_lags")


@pytest.mark.parametrize("way", [rule.near, rule.whole])
def test_who_knows_that_the_tool_changes_times_is_told_how_to_say_so(way) -> None:
    """The destination has deleted consumed and unconsumed records, and no time shows that the rest are copies."""
    source = " ".join(f"r{at}@{at}" for at in range(10))
    text = f"S {source} T {' '.join(f'r{at}@{900 + at}<{at}' for at in range(6, 10))} C=4"
    unsure = way(parse(text))
    assert unsure[:4] == ("safe", 0, 4, "destination_lags")
    assert "leave timestamp out of match_on" in unsure.decision.detail
    assert way(parse(f"{text} with_timestamp=False"))[:3] == ("exact", 0, 0)
    lossy = way(parse(text.replace("r0@0", "r0@0(gone)")))
    assert lossy.repeats == 3 and "match_on" not in lossy.decision.detail
