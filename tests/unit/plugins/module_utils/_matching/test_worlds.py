"""What the attack on the rule stands on: its notation, its truth and its worlds."""

import itertools

import pytest

from tests.attack.case import parse
from tests.attack.classes import CLASSES
from tests.attack.judge import judge
from tests.attack.rule import Answer
from tests.attack.truth import Truth
from tests.attack.worlds import world

PAIRS = " ".join(f"p{n}@{10 * n}" for n in range(20))
REWRITTEN = " ".join(f"p{n}@{5000 + n}<{n}" for n in range(20))
TRIED = " ".join(f"p{n}@{n}<{n}" for n in [*range(1, 8), *range(80, 120)])
HIDDEN = "S a@5 x@5(open) c@5(open) a@5(open) T a@5<0 x@5<1 c@5<2 a@5<3 C=1"


def _steps_back(case):
    origins = [copy.origin for copy in case.destination if copy.origin is not None]
    return any(later <= earlier for earlier, later in itertools.pairwise(origins))


@pytest.mark.parametrize(
    ("text", "offset", "skipped", "repeated"),
    [
        pytest.param(HIDDEN, 4, 3, 0, id="hidden by an open transaction, and copied"),
        pytest.param(HIDDEN, 1, 0, 0, id="the offset that is right there"),
        pytest.param(f"S {PAIRS} T {REWRITTEN} C=10", 20, 10, 0, id="times rewritten"),
        pytest.param("S a@0 b@0 c@80 T a@1<0 b@1<1 c@80<2 C=1", 2, 1, 0, id="some times rewritten"),
        pytest.param("S z(gone) a(gone) b@2 c@3 T z@9<0 a@9<1 b@9<2 c@9<3 C=1", 3, 1, 0, id="and others expired"),
        pytest.param("S p@0 q@1 T p@0<0 q@1<1 p@9(L)<0 q@9(L)<1 C=1", 1, 0, 1, id="a second pass, stamped"),
        pytest.param("S p@0 q@1 T p@0<0 q@1<1 p@9(L)<0 q@9(L)<1 C=1", 3, 0, 0, id="the second pass serves as well"),
        pytest.param(f"S {' '.join(f'p{n}@{n}' for n in range(120))} T {TRIED} C=80", 1, 0, 6, id="a first try"),
        pytest.param("S h@0 h@1 T h@0<0 h@1<1 C=1", 2, 1, 0, id="equal, but for times that were kept"),
        pytest.param("S h@0 h@0 T h@0<1 h@0<0 C=1", 1, 0, 0, id="equal records may be exchanged"),
        pytest.param("S a b T a@0<0 b@1<1 b@9 C=1", 2, 1, 0, id="a destination-only record with another time is none"),
        pytest.param("S a b(aborted) T a@0<0 b@1<1 C=1", 2, 0, 0, id="nobody misses an aborted record"),
    ],
)
def test_the_truth_of_an_offset(text: str, offset: int, skipped: int, repeated: int) -> None:
    truth = Truth(parse(text))
    assert (truth.skipped(offset), truth.repeats(offset)) == (skipped, repeated)


def test_what_is_still_to_come_repeats_as_well() -> None:
    truth = Truth(parse("S a@0 b@1 c@2 T a@0<0 F b@1<1 c@2<2 C=2"))
    assert (truth.repeats(1), truth.repeats(1, to_come=True)) == (0, 1)


def test_the_judge_objects_where_an_open_transaction_hides_all_that_was_consumed() -> None:
    found = judge(parse("S a@0(gone) b@1(gone) T a@0(open)<0 b@1(open)<1 C=2 start=2"), "", Answer("exact", 0, 0))
    assert [each.kind for each in found] == ["false exact"]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Answer("exact", 1, 0), None),
        (Answer("exact", 2, 0), "lost"),
        (Answer("exact", 0, 0), "false exact"),
        (Answer("safe", 0, 1), "needless safe"),
        (Answer("safe", 0, None), "needless safe"),
        (Answer("blocked", None, None, lossless=2), "advice loses"),
        (Answer("exact", 4, 0), "outside"),
    ],
)
def test_the_judge_objects_to_what_is_wrong(answer: Answer, kind: str | None) -> None:
    found = judge(parse("S a@0 b@1 c@2 T a@0<0 b@1<1 c@2<2 C=1"), "near", answer)
    assert kind in {finding.kind for finding in found} if kind else not found


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_and_a_number_make_a_world_that_its_text_gives_again(name: str) -> None:
    for seed in range(5):
        its = world(name, seed)
        assert its == world(name, seed)
        assert [parse(str(case)) for case in its.cases] == its.cases


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("open, copied", lambda case: any(_kind(case, copy.origin) == "open" for copy in case.destination)),
        ("stamped, partly", lambda case: len({copy.stamped for copy in case.destination}) == 2),
        ("lag", lambda case: case.to_come),
        ("first tries", _steps_back),
        ("strangers", lambda case: any(copy.origin is None and copy.kind == "data" for copy in case.destination)),
        ("compacted", lambda case: any(record.gone for record in case.source)),
    ],
)
def test_the_worlds_go_through_what_their_class_says(name, seen) -> None:
    assert sum(bool(seen(world(name, seed).cases[0])) for seed in range(40)) >= 8


def _kind(case, origin):
    return next((record.kind for record in case.source if record.offset == origin), None)
