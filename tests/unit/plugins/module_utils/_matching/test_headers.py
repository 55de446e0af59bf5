"""A replication tool that adds headers, and groups that go back: the source's records have them, and new ones do not."""

import pytest

from tests.attack import rule
from tests.attack.case import parse
from tests.attack.judge import judge

# The tool has brought b three times, with a header more; then producers have moved, and write b without it.
RETURNS = {
    "times are kept": ("S b+x@1 b+x@2 b+x@3 b@9 T b@1<0 b@2<1 b@3<2 C=1", ("exact", 1, 0)),
    "the broker stamps": ("S b+x@1 b+x@2 b+x@3 b@9 T b@1(L)<0 b@2(L)<1 b@3(L)<2 C=1", ("safe", 0, 1)),
    "nothing has a time": ("S b+x@- b+x@- b+x@- b@- T b@-<0 b@-<1 b@-<2 C=1", ("safe", 0, 1)),
}


@pytest.mark.parametrize(("text", "right"), RETURNS.values(), ids=RETURNS)
@pytest.mark.parametrize("way", [rule.near, rule.whole, lambda case: rule.count_by_spark([case])[0]])
def test_a_record_may_be_that_of_one_that_differs_by_headers(way, text: str, right: tuple[str, int, int]) -> None:
    case = parse(text)
    answer = way(case)
    assert answer[:3] == right
    assert judge(case, "", answer) == []


@pytest.mark.parametrize("way", [rule.near, rule.whole, lambda case: rule.count_by_spark([case])[0]])
def test_headers_tell_apart_what_was_copied_twice_with_its_own_time(way) -> None:
    case = parse("S h+1@5 h+2@6 h+3@7 T h+1@5<0 h+2@6<1 h+2@6<1 F h+3@7<2 C=1")
    assert way(case)[:3] == ("exact", 1, 0)
