"""Exactly the offsets are objected to that skip an unconsumed record, or repeat more than the plan says."""

import collections
import dataclasses
import random
import typing as t
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import LogFacts
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._verification import comparison
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import BacklogRange, Done
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import LogChanged
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record
from ansible_collections.streamshift.kafka.plugins.module_utils._model.report import Finding as ReportFinding
from ansible_collections.streamshift.kafka.plugins.module_utils._model.report import ProblemKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Absent
from ansible_collections.streamshift.kafka.plugins.module_utils._records.refusals import lost
from tests.attack.broker import Broker
from tests.attack.case import Case
from tests.attack.classes import CLASSES, DECLARED
from tests.attack.worlds import world as attacked
from tests.support.findings import FINDINGS, Finding, names, world
from tests.support.listed_clusters import AT, SOURCE, Cluster, Clusters
from tests.support.one_log import OneLog


def same(size: int, start: int = 0) -> Clusters:
    """Two logs of the same records, with times of their own; the source's starts here."""
    records = names(range(size), lambda at: at)
    return world(records, records, start=start)


@pytest.mark.parametrize("finding", FINDINGS, ids=str)
@pytest.mark.parametrize("limit", [None, 10_000])
def test_offsets_that_were_once_planned_are_objected_to(finding: Finding, limit: int | None) -> None:
    clusters = world(finding.source, finding.copies, **finding.edges)
    _verdict, offset, repeats, _reason = finding.right
    if offset is not None:
        (right,) = clusters.findings((finding.committed, offset, repeats), limit=limit)
        assert {flaw.kind for flaw in right.problems} <= {"absent"}
    (found,) = clusters.findings((finding.committed, *finding.wrong), limit=limit)
    assert found.problems
    assert found.problems[0].detail.startswith(f"{finding.problem} record")


def logs_of(case: Case) -> tuple[Clusters, OneLog]:
    """What is to be compared, and the definition of what is promised; what transactions hold is copied by some tools."""
    source, destination = (Broker(case.source, case.source_edges), Broker(case.destination, case.destination_edges))
    held = [record for record in source.with_open if record.offset >= case.source_edges.stable]
    clusters = Clusters(Cluster(source.facts, source.visible, held), Cluster(destination.facts, destination.visible))
    promise = OneLog(
        source.with_open,
        destination.visible,
        lossy=case.source_edges.start > 0 or case.source_edges.compacted,
        start=case.destination_edges.start,
        end=case.destination_edges.end,
    )
    return clusters, promise


@pytest.mark.parametrize("name", [name for name in CLASSES if not name.startswith((DECLARED, "headers", "long"))])
def test_a_plan_is_objected_to_exactly_when_it_is_wrong(name: str) -> None:
    """Every offset of every world one lower, one higher, ten higher."""
    for case in (attacked(name, seed).cases[0] for seed in range(6)):
        if len(case.source) <= 150:
            check_offsets(*logs_of(case), case.committed)


def check_offsets(clusters: Clusters, promise: OneLog, committed: int) -> None:
    answer = promise.answer(committed)
    for moved in (0, -1, 1, 10):
        offset = answer.offset + moved
        if not promise.start <= offset <= promise.end:
            continue
        (found,) = clusters.findings((committed, offset, answer.repeats))
        judged = promise.judge(committed, offset)
        assert found.complete
        assert found.skipped == judged.skipped
        assert any(flaw.kind == "skipped" for flaw in found.problems) == (judged.skipped > 0)
        told = any(flaw.kind == "repeated" for flaw in found.problems)
        assert told == (found.repeated > answer.repeats)
        if answer.arrived:  # else it is not a plan, because consumed records are still to come
            assert not (told and not moved)
            truth = repeats(clusters, committed, offset)
            assert truth is None or told == (truth > answer.repeats)


def repeats(clusters: Clusters, committed: int, offset: int) -> int | None:
    """How many consumed records follow the offset; None where copies of a content have different kinds of times."""
    source = [*clusters.source.records, *clusters.source.hidden]
    copies = clusters.destination.records
    stamped = any(each.log_append_time for each in copies)
    known = {(each.fingerprint, each.timestamp) for each in source}
    contents = {digest for digest, _time in known}
    if not stamped and any(
        each.fingerprint in contents and (each.fingerprint, each.timestamp) not in known for each in copies
    ):
        return None
    keys = [[(each.fingerprint, 0 if stamped else each.timestamp) for each in its] for its in (
        [each for each in source if each.offset < committed],
        [each for each in source if each.offset >= committed],
        [each for each in copies if each.offset >= offset],
    )]  # fmt: skip
    consumed, unconsumed, following = map(collections.Counter, keys)
    return sum(max(0, number - unconsumed[key]) for key, number in following.items() if key in consumed)


@settings(max_examples=60)
@given(
    st.integers(40, 400),
    st.integers(0, 30),
    st.integers(0, 399),
    st.integers(20, 200),
    st.booleans(),
    st.integers(0, 3),
    st.integers(1, 15),
)
def test_within_a_limit_exact_plans_are_right_and_others_are_not(
    size: int, lag: int, number: int, limit: int, stamped: bool, strangers: int, moved: int
) -> None:
    """With destination-only records in between, and a tool that lags."""
    number = min(number, size - lag)
    chance = random.Random(size * 1000 + lag)
    words, positions = [], []
    for at in range(size - lag):
        words += [f"f{at}@0"] * (chance.random() < strangers / 10)
        positions.append(len(words))
        words.append(f"p{at}@{'-' if stamped else at}")
    positions.append(len(words))
    clusters = world(names(range(size), lambda at: at), " ".join(words))
    (found,) = clusters.findings((number, positions[number], 0), limit=limit)
    assert (found.problems, found.repeated) == ((), 0)
    assert found.compared >= min(size - lag - number, limit // 2)
    if number + moved <= size - lag:
        (found,) = clusters.findings((number, positions[number + moved], 0), limit=limit)
        assert found.skipped == moved
    if number >= moved:
        (found,) = clusters.findings((number, positions[number - moved], 0), limit=limit)
        assert found.repeated == moved


@pytest.mark.parametrize("skipped", [0, 1])
def test_within_a_limit_an_offset_whose_records_have_expired_is_verified_from_the_start_of_the_log(
    monkeypatch: pytest.MonkeyPatch, skipped: int
) -> None:
    monkeypatch.setattr(comparison, "SHORT", 10)
    clusters = same(900)
    left = clusters.source.records[500:]
    clusters.source = Cluster(dataclasses.replace(clusters.source.facts, log_start=500), left)
    (found,) = clusters.findings((10, 500 + skipped, None), limit=100)
    assert (found.skipped, len(found.problems), found.compared > 50) == (skipped, skipped, True)


COPIED = BacklogRange(AT, 60, 90, AT, 3, done=Done(30, 300, 33, 0, 0, {}))


def copied_world() -> Clusters:
    """Of 100 records, those from 60 up to 90 are copied, after three of others; and records expire before."""
    copies = [*names(range(60, 90), lambda at: at).split(), *["k@1", "l@2"]]
    clusters = world(names(range(100), lambda at: at), " ".join(["x@1", "y@2", "p7@7", *copies]), start=10)
    return dataclasses.replace(clusters, expiring=[10] * 5)


@pytest.mark.parametrize("limit", [None, 25])
def test_of_a_copy_nothing_is_read_but_what_was_copied(limit: int | None) -> None:
    clusters = copied_world()
    # The last one was in the transaction that was open where the copy ends.
    right = clusters.findings((60, 3, 0), (75, 18, 0), (90, 33, 0), (95, 33, 0), limit=limit, copied=COPIED)
    assert [(each.problems, each.repeated) for each in right] == [((), 0)] * 4
    assert all(each.complete for each in right) or limit
    read = {name: [at for which, at in clusters.reads if which == name] for name, _at in clusters.reads}
    assert {(min(offsets), max(offsets)) for offsets in read.values()} == {(60, 89), (3, 32)}
    assert set(clusters.reads.values()) == {1}


@pytest.mark.parametrize("limit", [None, 25])
@pytest.mark.parametrize(
    ("committed", "planned", "problem"),
    [
        (60, 4, "skipped"),
        (60, 2, "repeated"),
        (75, 19, "skipped"),
        (75, 17, "repeated"),
        (90, 32, "repeated"),
        (95, 20, "repeated"),
    ],
)
def test_of_a_copy_another_offset_is_wrong(limit: int | None, committed: int, planned: int, problem: str) -> None:
    (found,) = copied_world().findings((committed, planned, 0), limit=limit, copied=COPIED)
    assert [flaw.kind for flaw in found.problems] == [problem]


@pytest.mark.parametrize("limit", [None, 4])
def test_what_others_write_after_a_copy_is_none_of_its_records(limit: int | None) -> None:
    clusters = world("h@0 " * 10, "h@1 " * 10 + "h@99 " * 3)  # a copy gives records with the time 0 another one
    copied = BacklogRange(AT, 0, 10, AT, 0, done=Done(10, 10, 10, 10, 0, {}))
    found = clusters.findings(*((at, at, 0) for at in (0, 5, 10)), limit=limit, copied=copied)
    assert [each.problems for each in found] == [()] * 3


def test_what_several_groups_share_is_read_once() -> None:
    clusters = same(300)
    found = clusters.findings(*((at, at, 0) for at in range(0, 300, 3)), limit=40)
    assert not any(each.problems for each in found)
    assert set(clusters.reads.values()) == {1}


@pytest.mark.parametrize(("aborted", "times"), [(False, 1), (True, 2)])
def test_logs_are_read_again_for_aborted_records_only_where_the_source_has_gaps(aborted: bool, times: int) -> None:
    clusters = world("p q r s", "p x q r s s")  # a destination-only record, and one that was recopied
    if aborted:
        facts, records, *_rest = clusters.source
        clusters.source = Cluster(facts, [records[0], *records[2:]], aborted=records[1:2])
    (found,) = clusters.findings((0, 0, 0))
    assert (found.destination_only, found.recopied) == (1, 1)
    assert ("aborted" in [note.kind for note in found.notes]) == aborted
    assert set(clusters.reads.values()) == {times}


def test_without_spark_as_much_is_read_at_a_time_as_this_process_can_and_the_rest_is_named() -> None:
    clusters = same(3000)
    claims = [(at, at, 0) for at in (40, 1500, 2950)]
    near = clusters.findings(*claims, limit=20)
    with (
        mock.patch.object(comparison, "absence", lambda _options: "no Spark"),
        mock.patch.object(comparison, "FEW", 200),
    ):
        # More than that, all claims together; each of them is less.
        assert clusters.findings(*claims, limit=20) == near
        clusters.reads.clear()
        found = clusters.findings(*claims, (1500, 1501, 0))
    assert len(clusters.reads) < 2 * 200 * len(claims)
    *right, wrong = found
    assert [(each.complete, each.problems) for each in right] == [(False, ())] * 3
    assert all(each.compared for each in right)
    for each in found:
        assert [(note.kind, "of both logs not read" in note.text) for note in each.notes] == [("not_counted", True)]
    assert wrong.skipped == 1


def test_an_offset_after_the_end_is_wrong() -> None:
    (found,) = world("", "").findings((0, 3, 0))
    assert found.problems == (("beyond_end", "offset 3 of orders-0 is after the destination's end 0"),)
    (found,) = world("", "").findings((0, 0, 0))
    assert (found.problems, found.complete) == ((), True)


@pytest.mark.parametrize("limit", [None, 8])
def test_what_an_open_transaction_hides_before_the_offset_is_not_called_verified(limit: int | None) -> None:
    """The tool has copied ten records, and somebody else's transaction at the destination holds the last five."""
    clusters = world(names(range(10), str), names(range(5), str))
    clusters.destination = clusters.destination._replace(facts=LogFacts(0, 5, 10))
    right, skipping = clusters.findings((5, 5, 0), (5, 9, 0), limit=limit)
    assert (right.complete, right.problems) == (True, ())
    assert not skipping.complete
    assert "4 offsets before the group's were not read, because an open transaction" in skipping.notes[-1].text


def test_what_lies_outside_of_the_limit_is_not_called_complete() -> None:
    clusters = same(300)
    (found,) = clusters.findings((150, 150, 0), limit=100)
    assert (found.complete, found.problems) == (False, ())
    (found,) = clusters.findings((150, 150, 0), limit=150)
    assert found.complete


def test_short_logs_are_read_whole_if_the_limit_lets_nothing_be_compared() -> None:
    clusters = same(300)
    found = clusters.findings((20, 280, 0), (150, 150, 0), limit=15)
    assert "260 unconsumed records are skipped" in found[0].problems[0].detail
    assert [each.complete for each in found] == [True, False]
    with mock.patch.object(comparison, "SHORT", 100):
        (found_near,) = clusters.findings((20, 280, 0), limit=15)
    assert "raise the limit" in found_near.problems[0].detail


@pytest.fixture(params=["short", "long"])
def logs_are(request: pytest.FixtureRequest) -> t.Iterator[str]:
    """Whether the logs of a test are short enough to be read whole where too little is certain within the limit."""
    with mock.patch.object(comparison, "SHORT", {"short": comparison.SHORT, "long": -1}[request.param]):
        yield request.param


def is_doubted(found: ReportFinding) -> bool:
    return any(note.kind is NoteKind.NOT_COUNTED for note in found.notes)


@pytest.mark.parametrize("repeats", [None, 0, 30, 400])
@pytest.mark.parametrize("new", ["", "beat@9999"])
def test_an_offset_far_after_the_copies_is_not_passed_as_if_they_were_still_to_come(
    logs_are: str, repeats: int | None, new: str
) -> None:
    """Producers have moved to the destination: more records than the limit follow the copies. A heartbeat occurs there, too."""
    before = " ".join([names(range(15), lambda at: at), "beat@15", names(range(16, 30), lambda at: at)])
    after = [f"n{number}@{1000 + number}" for number in range(200)]
    after[170] = new or after[170]
    clusters = world(before, f"{before} {' '.join(after)}")
    (wrong,) = clusters.findings((20, 180, repeats), limit=50)
    assert wrong.complete == (logs_are == "short")
    assert [flaw.kind for flaw in wrong.problems] == ["skipped"] if wrong.complete else is_doubted(wrong)
    assert "to_come" not in [note.kind for note in wrong.notes]
    (right,) = clusters.findings((20, 20, repeats), limit=50)
    assert (right.problems, right.compared, is_doubted(right)) == ((), 10, False)


@pytest.mark.parametrize("repeats", [None, 0, 400])
def test_an_offset_is_verified_though_more_offsets_than_the_limit_have_expired(
    logs_are: str, repeats: int | None
) -> None:
    """Of a group at 100, the source has lost 400 unconsumed records. The destination has all, or has lost them, too."""
    clusters = same(600, start=500)
    kept, right, wrong, last = clusters.findings(*((100, at, repeats) for at in (100, 500, 510, 600)), limit=20)
    assert (kept.problems, kept.compared) == ((), 100 if logs_are == "short" else 0)
    assert is_doubted(kept) == (logs_are == "long")  # its copies follow far from the offset
    assert (right.problems, is_doubted(right)) == ((), False) and right.compared >= 15
    assert wrong.skipped == 10 and last.skipped == (100 if logs_are == "short" else 0)
    assert is_doubted(last) == (logs_are == "long")


def test_where_all_has_expired_at_the_source_there_is_nothing_to_examine(logs_are: str) -> None:
    (found,) = same(300, start=300).findings((100, 100, 0), limit=20)
    assert (found.problems, is_doubted(found)) == ((), False)


@settings(max_examples=400)
@given(st.randoms(use_true_random=False), st.integers(3, 8))
def test_a_limit_passes_no_offset_that_skips_records_without_a_word(chance: random.Random, limit: int) -> None:
    """Different records of a source that has lost some, copied by a tool that lags, leaves some out or has begun again."""
    size = chance.randint(1, 40)
    copied = list(range(chance.choice([size, chance.randint(0, size)])))
    if chance.random() < 0.2:
        copied += copied[chance.randint(0, len(copied)) :]
    if chance.random() < 0.2:
        copied = [number for number in copied if chance.random() < 0.9]
    strangers = [names_of(f, chance.choice([0, 0, chance.randint(0, 40)])) for f in "xy"]
    copies = f"{strangers[0]} {names(copied, lambda at: at)} {strangers[1]}"
    start = chance.choice([0, 0, chance.randint(0, size)])
    clusters = world(names(range(size), lambda at: at), copies, start=start)
    claim = (
        chance.randint(0, size),
        chance.randint(0, len(copies.split())),
        chance.choice([None, 0, chance.randint(0, 40)]),
    )
    with mock.patch.object(comparison, "SHORT", -1):
        (near,) = clusters.findings(claim, limit=limit)
    (whole,) = clusters.findings(claim)
    assert near.problems or is_doubted(near) or not whole.skipped


def names_of(stranger: str, number: int) -> str:
    return " ".join(f"{stranger}{at}@{5000 + at}" for at in range(number))


def test_equal_records_whose_copies_have_other_times_are_compared_whole() -> None:
    """Nothing tells where a window ends in the other log."""
    copies = " ".join(f"beat@{9000 + number}" for number in range(330))  # the tool has copied 30 of them twice
    clusters = world(" ".join(f"beat@{number}" for number in range(300)), copies)
    (right,) = clusters.findings((20, 20, 30), limit=50)
    assert right.problems == () and right.complete and right.compared == 280
    (wrong,) = clusters.findings((20, 60, 30), limit=50)
    assert "10 unconsumed records are skipped" in wrong.problems[0].detail


def beats(size: int, copied: int, old: int = 4) -> Clusters:
    """Heartbeats that are equal but for their times; the destination has some that the source has lost, and lags."""
    lost = [f"beat@{1000 + number}" for number in range(old)]
    return world(
        " ".join(f"beat@{at}" for at in range(size)), " ".join([*lost, *(f"beat@{at}" for at in range(copied))])
    )


@pytest.mark.parametrize("limit", [None, 1000])
def test_what_the_tool_has_still_to_copy_is_not_called_skipped_once_it_has_come(limit: int | None) -> None:
    clusters = beats(10, 7)
    clusters.later = beats(12, 9)
    clusters.later.later = beats(14, 12)
    (right,) = clusters.findings((5, 9, 0), limit=limit)
    assert (right.problems, right.skipped) == ((), 0)


def test_an_offset_that_skips_records_is_objected_to_however_often_it_is_looked_at() -> None:
    clusters = beats(10, 7)
    clusters.later = beats(12, 11)
    clusters.later.later = beats(14, 14)
    right, wrong = clusters.findings((5, 9, 0), (5, 10, 0))
    assert not right.problems
    assert (wrong.skipped, [flaw.kind for flaw in wrong.problems]) == (1, ["skipped"])


def test_where_the_tool_has_stopped_its_missing_records_may_be_skipped() -> None:
    (found,) = beats(10, 7).findings((5, 9, 0))
    assert found.skipped == 3


def test_copies_of_later_equal_records_do_not_hide_what_is_skipped() -> None:
    clusters = world("b b b b", "b b b")
    clusters.later = world("b b b b b b", "b b b b b b")
    right, wrong = clusters.findings((1, 1, 0), (0, 1, 0))
    assert (right.problems, right.complete) == ((), True)
    assert (wrong.skipped, [flaw.kind for flaw in wrong.problems]) == (1, ["skipped"])


def test_copies_that_later_equal_records_may_have_hide_nothing_without_a_word() -> None:
    """Of the first record, which the source has lost, there is a copy, too: nobody knows which one is missing."""
    clusters = world("_ b b b b", "b b b b", start=1)
    clusters.later = world("_ b b b b b b", "b b b b b b", start=1)
    (found,) = clusters.findings((2, 3, 0))
    assert (found.problems, found.complete) == ((), False)
    assert found.notes[0].kind == "not_counted"
    clusters = world("_ b b b b", "b b b b", start=1)
    clusters.later = world("_ b b b b b b", "b b b b b b b", start=1)
    (found,) = clusters.findings((2, 2, 1))
    assert (found.problems, found.complete) == ((), True)


def test_later_equal_records_with_their_own_times_stand_for_no_earlier_one() -> None:
    """Some copies have other times, so these stand for any record without a copy."""
    clusters = world("b@1 b@2 b@3", "b@91 b@92")
    clusters.later = world("b@1 b@2 b@3 b@4", "b@91 b@92 b@93 b@4")
    right, wrong = clusters.findings((1, 1, 0), (0, 1, 0))
    assert not right.problems
    assert [flaw.kind for flaw in wrong.problems] == ["skipped"]


def test_a_copy_of_a_lost_record_is_no_sign_that_an_equal_one_has_arrived() -> None:
    (found,) = world("_ _ a p a", "a@- a@-", start=2).findings((3, 1, None))
    assert (found.problems, found.to_come) == ((), 1)


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from("abcdefghij"), min_size=10, max_size=60),
    st.integers(0, 8),
    st.lists(st.tuples(st.integers(0, 60), st.integers(-2, 2)), min_size=2, max_size=6),
    st.integers(1, 9),
    st.booleans(),
)
def test_what_is_found_of_an_offset_does_not_depend_on_other_offsets(
    contents: list[str], lag: int, claims: list[tuple[int, int]], limit: int, stamped: bool
) -> None:
    copies = contents[: max(1, len(contents) - lag)]
    clusters = world(
        " ".join(f"{content}@{at}" for at, content in enumerate(contents)),
        " ".join(f"{content}@{'-' if stamped else at}" for at, content in enumerate(copies)),
    )
    asked = [(min(at, len(copies)), min(max(0, at + by), len(copies)), 0) for at, by in claims]
    assert clusters.findings(*asked, limit=limit) == [clusters.findings(claim, limit=limit)[0] for claim in asked]


def test_a_limit_within_which_the_log_begins_does_not_decide_about_offsets_farther_on(logs_are: str) -> None:
    """The same is read for both. A copy may be that of a record before the range of the second one, but not of the first."""
    clusters = world("c@1000 c@1001 c@1002 b@1003 r4@1004", "c@500")
    asked = (1, 1, 0), (5, 1, None)
    assert clusters.findings(*asked, limit=3) == [clusters.findings(claim, limit=3)[0] for claim in asked]


def test_a_single_stamped_copy_may_be_that_of_a_record_that_the_source_has_lost() -> None:
    """So it does not show that the replication tool has passed the records before the one that is left."""
    (found,) = world("_ p q r b", "b@- p@- q@-", start=1).findings((1, 0, None))
    assert (found.problems, found.absent, found.to_come) == ((), 0, 1)


def test_copies_of_expired_records_are_not_put_down_to_a_stranger() -> None:
    """Of a group that lags, the source has lost three records. Those of a stranger have no such excuse."""
    lost = world("_ _ _ _ d e", "a@0 b@1 c@2 x@3 d@4 e@5", start=4)
    lagging, ahead = lost.findings((1, 1, None), (4, 3, None))
    excuse = "they may be copies of expired records: the source's log begins 3 offsets after the committed one"
    assert [note.text for note in lagging.notes] == [f"3 records are only at the destination; {excuse}"]
    assert [note.text for note in ahead.notes] == ["1 record is only at the destination"]


def test_records_that_expire_between_two_requests_are_no_failure():
    clusters = same(20)
    clusters.expiring = [2, 3]
    right, wrong = clusters.findings((10, 10, 0), (10, 11, 0))
    assert right.problems == () and [flaw.kind for flaw in wrong.problems] == [ProblemKind.SKIPPED]
    # Nobody says that a log that was truncated is verified.
    clusters.scan = mock.Mock(side_effect=lost(SOURCE, AT, "the log ends at 3, and 20 was expected"))
    with pytest.raises(LogChanged, match="or the topic was truncated or recreated"):
        clusters.findings((10, 10, 0))


LACKING = Absent(2, 300)  # of a group at 20


def with_absent(copied: t.Iterable[int], compacted: bool = False, absent: Absent = LACKING) -> ReportFinding:
    """What is found, within a limit, of a plan that says this, where these records are copied."""
    originals, copies = ([record(at, number) for at, number in enumerate(its)] for its in (range(400), copied))
    facts = [LogFacts(0, len(log), len(log), compacted=compacted) for log in (originals, copies)]
    clusters = Clusters(Cluster(facts[0], originals), Cluster(facts[1], copies))
    (found,) = clusters.findings((20, 20, 0), limit=40, absent=absent)
    return found


def record(offset: int, number: int) -> Record:
    digest = b"record %9d" % number
    return Record(offset, 1000 * number, digest, digest)


WITHOUT_TWO = [number for number in range(400) if number not in (300, 301)]


def test_what_a_plan_says_to_be_absent_after_the_limit_is_a_problem(monkeypatch):
    monkeypatch.setattr(comparison, "SHORT", 0)
    found = with_absent(WITHOUT_TWO)
    assert ([flaw.kind for flaw in found.problems], found.absent, found.complete) == ([ProblemKind.ABSENT], 2, False)
    assert found.problems[0].detail.startswith("2 unconsumed records, from source offset 300 on, are not at the dest")
    noted = with_absent(WITHOUT_TWO, compacted=True)
    assert (noted.problems, [note.kind for note in noted.notes]) == ((), [NoteKind.ABSENT])


def test_what_a_plan_says_to_be_absent_is_looked_for_where_logs_are_short():
    """It may have come since."""
    assert [flaw.kind for flaw in with_absent(WITHOUT_TWO).problems] == [ProblemKind.ABSENT]
    assert with_absent(range(400)).problems == ()


def test_what_a_plan_says_to_be_absent_within_the_limit_may_have_come_since(monkeypatch):
    monkeypatch.setattr(comparison, "SHORT", 0)
    near = Absent(2, 30)
    assert with_absent(range(400), absent=near).problems == ()
    found = with_absent([*range(30), *range(32, 400)], absent=near)
    assert [flaw.kind for flaw in found.problems] == [ProblemKind.ABSENT]
