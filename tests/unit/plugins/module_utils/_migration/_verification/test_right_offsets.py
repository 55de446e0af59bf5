"""A verification objects to no right offset, and passes none that skips, because it compares records as the rule does."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.report import Finding, ProblemKind
from tests.attack import rule
from tests.attack.case import parse
from tests.support.listed_clusters import Cluster, Clusters


def found(text: str, offset: int, limit: int | None = None, repeats: int = 0) -> Finding:
    """What is found of an offset in two logs, as tests/attack/case.py writes them."""
    case = parse(text)
    logs = rule.Logs(case)
    source, destination = logs.source, logs.destination
    hidden = [record for record in source.with_open if record.offset >= source.facts.end]
    aborted = [record for record in source.everything if record not in source.with_open]
    clusters = Clusters(
        Cluster(source.facts, source.visible, hidden, aborted), Cluster(destination.facts, destination.visible)
    )
    (finding,) = clusters.findings((case.committed, offset, repeats), limit=limit, parts=())
    return finding


def numbered(template: str, count: int, first: int = 0) -> str:
    return " ".join(template.format(n=number, k=number % 5, t=10 * number) for number in range(first, count))


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        pytest.param(
            f"S {numbered('p{n}@{n}', 60)} T {numbered('p{n}@{n}<{n}', 30)} {numbered('p{n}+T@{n}<{n}', 60, 30)} C=60",
            60,
            id="only later copies have a header more",
        ),
        pytest.param("S d@0 a@1 T d@0<0 a+T@1<1 C=2", 2, id="the same, of two records"),
        pytest.param("S h@0 h+H@0 T h@0<0 C=1", 1, id="records that only a header tells apart, and the tool lags"),
        pytest.param(
            f"S {numbered('h+{n}@5', 60)} T {numbered('h+{n}@9(L)<{n}', 55)} C=50",
            50,
            id="trace ids as headers, stamped copies, and the tool lags",
        ),
        pytest.param("S h@0 p@1 h@2 T h@0<0 h@0<0 C=0", 0, id="recopied, and the tool lags"),
        pytest.param("S a@0 a@1 a@2 T a@2<2 a@3 C=3", 2, id="begun late, and an equal record of another time"),
        pytest.param(
            f"S {numbered('s{k}@{t}', 60)} T {numbered('s{k}@{t}<{n}', 60)} {numbered('s{k}@9{n}00', 20)} C=60",
            60,
            id="somebody else writes equal records",
        ),
        pytest.param(
            "S a@10 a@20 a@30 a@40 T a@10<0 a@20<1 a@20<1 a@20<1 a@30<2 C=1",
            1,
            id="second copies of unconsumed records are none of the consumed one, though the tool lags",
        ),
        pytest.param(
            "S p@10 q@20 a@30 T p@10<0 a@31 C=1",
            1,
            id="somebody else's equal record does not mean that the tool was there",
        ),
    ],
)
def test_a_right_offset_is_not_objected_to(text: str, offset: int) -> None:
    assert found(text, offset).problems == ()


def test_a_copy_with_another_time_is_a_repeat_if_records_of_one_time_lack_it() -> None:
    (problem,) = found("S a@0 a@0 T a@0<0 a@1<1 C=1", 0).problems
    assert problem.kind is ProblemKind.REPEATED


def test_a_copy_of_a_record_before_the_limit_is_none_of_an_equal_record_within_it() -> None:
    source = f"S {numbered('p{n}@{t}', 26)} c@261 {numbered('p{n}@{t}', 45, 27)} c@451 {numbered('p{n}@{t}', 60, 46)}"
    copies = f"T {numbered('p{n}@{t}<{n}', 26)} c@261<26 {numbered('p{n}@{t}<{n}', 45, 27)}"
    assert found(f"{source} {copies} C=40", 37, limit=9, repeats=3).problems == ()


@pytest.mark.parametrize("time", ["@{t}", "@9(L)"])
def test_a_skipped_record_shows_whose_copy_lacks_a_header_that_an_equal_one_lacks_too(time: str) -> None:
    text = f"S b+x@0 b+x@10 b+x@20 b@90 T {numbered('b' + time + '<{n}', 3)} C=1"
    assert [problem.kind for problem in found(text, 2).problems] == [ProblemKind.SKIPPED]


def test_the_copy_of_a_lost_record_does_not_mean_that_the_tool_has_come_to_an_equal_one_of_its_time() -> None:
    assert found("S a@10(gone) a@10 p@10 a@10 T a@10<0 a@10<1 C=1", 0, repeats=1).problems == ()


def test_what_a_limit_objects_to_is_counted_again_in_whole_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else's record counts as the copy of a consumed one, whose own copy is outside the limit."""
    text = "S a@0 a@10 a@20 a@30 a@40 a@50 T a@0<0 a@10<1 a@20<2 a@30<3 a@40<4 a@41 a@50<5 C=4"
    finding = found(text, 4, limit=3)
    assert (finding.problems, finding.complete) == ((), True)
    monkeypatch.setattr("tests.support.listed_clusters.comparison.SHORT", 10)
    finding = found(text, 4, limit=3)
    assert ([problem.kind for problem in finding.problems], finding.complete) == ([ProblemKind.REPEATED], False)


def test_equal_records_before_the_limit_do_not_hide_that_one_is_skipped() -> None:
    """Nothing tells where a window of the source begins at the destination, so short logs are read whole."""
    equal = f"S {numbered('e@0', 120)} T {numbered('e@9(L)<{n}', 120)} C=115"
    assert found(equal, 115, limit=100).problems == ()
    assert [problem.kind for problem in found(equal, 116, limit=100).problems] == [ProblemKind.SKIPPED]


def test_where_whole_logs_are_too_long_such_records_are_not_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.listed_clusters.comparison.SHORT", 50)
    finding = found(f"S {numbered('e@0', 120)} T {numbered('e@9(L)<{n}', 120)} C=115", 116, limit=100)
    assert (finding.complete, finding.problems) == (False, ())
    assert [note.kind for note in finding.notes] == [NoteKind.NOT_COUNTED]
    assert finding.notes[0].text.startswith("1 unconsumed record is not verified")


def test_spark_knows_that_a_hidden_record_may_be_aborted() -> None:
    """Everything was copied twice, so the copy that follows may be the second one of the consumed record."""
    case = parse("S b@- h@- h@-(open) T b@-<0 h@-<1 b@-<0 h@-<1 C=2")
    assert rule.count_by_spark([case])[0][:3] == rule.count(case)[:3] == ("safe", 3, 1)


@pytest.mark.parametrize("time", ["@{n}", "@9(L)"])
def test_copies_of_aborted_records_are_called_that(time: str) -> None:
    aborted = " ".join(f"q{number}@{number}(aborted)" for number in range(10, 13))
    copies = f"{numbered('p{n}' + time + '<{n}', 10)} {numbered('q{n}' + time + '<{n}', 13, 10)} f@5"
    finding = found(f"S {numbered('p{n}@{n}', 10)} {aborted} m@13(marker) T {copies} C=5", 5)
    assert (finding.problems, finding.destination_only) == ((), 1)
    assert [note.kind for note in finding.notes] == [NoteKind.ABORTED, NoteKind.DESTINATION_ONLY]
    assert finding.notes[0].text.startswith("3 copies of aborted records follow the offset 5,")
    assert "isolation.level=read_committed" in finding.notes[0].text


@pytest.mark.parametrize("time", ["@{t}", "@9(L)"])
def test_a_record_that_was_aborted_and_written_again_is_not_called_recopied(time: str) -> None:
    aborted = " ".join(f"p{number}@{10 * number}(aborted)" for number in range(3))
    again = " ".join(f"p{number}@{100 + number}" for number in range(3))
    copies = f"{numbered('p{n}' + time + '<{n}', 3)} " + " ".join(
        f"p{number}{'@9(L)' if '(L)' in time else f'@{100 + number}'}<{number + 4}" for number in range(3)
    )
    finding = found(f"S {aborted} m@25(marker) {again} T {copies} C=4", 0)
    assert (finding.problems, finding.recopied) == ((), 0)
    (note,) = finding.notes
    assert (note.kind, note.text.partition(",")[0]) == (
        NoteKind.ABORTED,
        "3 copies of aborted records follow the offset 0",
    )
