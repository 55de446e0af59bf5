"""Counting contents: the definition of what is promised; test_findings.py has more examples."""

import collections

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.content import tallies
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.counting import Logs, LogSet
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.group_count import Answer
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record
from tests.support.findings import read
from tests.support.one_log import OneLog


def count(source: str, copies: str, committed: int) -> Answer:
    return logs(source, copies).answer(committed)


def logs(source: str, copies: str) -> OneLog:
    return OneLog(read(source), read(copies), end=len(copies.split()))


@pytest.mark.parametrize(
    ("source", "copies", "committed", "offset", "repeats"),
    [
        pytest.param("a@1 b@2 c@3", "a@1 b@2 c@3", 2, 2, 0, id="a faithful copy"),
        pytest.param("a@1 b@2 c@3", "x@0 a@1 b@2 c@3", 1, 2, 0, id="a destination-only record before it"),
        pytest.param("a@5 x@5 c@5 a@5", "a@5 x@5 c@5 a@5", 1, 1, 0, id="equal records on both sides"),
        pytest.param("p@0 q@1", "p@0 q@1 p@- q@-", 1, 3, 0, id="recopied as a whole, with stamped times"),
        pytest.param("p@0 q@1", "p@0 q@1 p@-", 1, 1, 1, id="recopied, but not to the end"),
        pytest.param("a@1 b@2 c@3", "a@1 b@2 c@3 b@9", 1, 1, 0, id="somebody else's record of another time"),
        pytest.param("a@1 b@2 c@3", "a@1 b@2 c@3 b@9", 3, 3, 1, id="which may be a consumed one once more"),
        pytest.param("p@0 q@1 r@2 s@3", "p@0 q@1 r@2 s@3", 0, 0, 0, id="nothing consumed"),
        pytest.param("p@0 q@1 r@2 s@3", "q@1 r@2 s@3", 3, 2, 0, id="begun late"),
        pytest.param("p@0 q@1 r@2 s@3", "s@3 p@0 q@1", 3, 0, 2, id="out of order"),
        pytest.param("b@10 b@12 c@13", "b@10 b@10 c@10", 1, 1, 1, id="a rounded time that is that of an equal record"),
        pytest.param(
            "b@10 b@12 b@25", "b@10 b@10 b@20", 1, 1, 1, id="one of several rounded times is that of an equal record"
        ),
        pytest.param("b@10 b@12 c@13", "b@10 b@10 b@12 c@13", 1, 2, 0, id="recopied equal records, all of them there"),
    ],
)
def test_examples(source: str, copies: str, committed: int, offset: int, repeats: int) -> None:
    answer = count(source, copies, committed)
    assert (answer.offset, answer.repeats, answer.arrived) == (offset, repeats, True)


COPIED = "p@0 q@1 r@2 s@3 u@4 v@5"
# For each committed offset: the offset, how many records it repeats, and whether these have been passed before.
ANEW = {
    f"{COPIED} {COPIED}": ([0, 7, 8, 9, 10, 11, 12], [0] * 7, [False] * 7),
    f"{COPIED} p@0 q@1 r@2": ([0, 1, 2, 3, 4, 5, 9], [0, 1, 2, 3, 3, 3, 0], [False, *[True] * 5, False]),
}


@pytest.mark.parametrize("copies", ANEW, ids=["all of it", "up to its middle"])
def test_a_tool_that_was_started_anew_has_copied(copies: str) -> None:
    log = logs(COPIED, copies)
    answers = [log.answer(committed) for committed in range(7)]
    offsets, repeats, again = ANEW[copies]
    assert [answer.offset for answer in answers] == offsets
    assert [answer.repeats for answer in answers] == repeats
    assert [answer.again for answer in answers] == again
    assert [answer.recopied for answer in answers] == [False, *[copies.endswith("v@5")] * 5, False]
    assert all(answer.arrived for answer in answers)


def test_an_early_equal_is_not_the_arrival_of_the_last_consumed_record() -> None:
    beats = " ".join(f"h@{number}" for number in range(100))
    assert not count(beats, " ".join(["h@-"] * 60), 90).arrived  # of the forty that are to come, thirty are consumed
    assert count(beats, " ".join(["h@-"] * 95), 90)[:2] == (85, 5)


times = st.sampled_from([0, 0, 0, 1, 2])
contents = st.sampled_from("abcdefgh")
sources = st.lists(st.tuples(contents, times), max_size=12).map(lambda its: " ".join(f"{c}@{t}" for c, t in its))
copied = st.lists(st.tuples(contents, st.one_of(times, st.sampled_from(["-", 9]))), max_size=14).map(
    lambda its: " ".join(f"{c}@{t}" for c, t in its)
)


@given(sources, copied, st.integers(0, 13))
def test_whatever_is_there_it_is_the_last_offset_that_skips_nothing(source: str, copies: str, committed: int) -> None:
    """By content alone, without times: so many copies have to follow as there are unconsumed records, as far as they exist."""
    both = OneLog(read(source), read(copies), timestamps=False, end=len(copies.split()))
    answer = both.answer(committed)
    unconsumed = collections.Counter(record.fingerprint for record in read(source) if record.offset >= committed)
    consumed = collections.Counter(record.fingerprint for record in read(source) if record.offset < committed)
    copied_records = read(copies)

    def following(offset: int) -> collections.Counter[bytes]:
        return collections.Counter(record.fingerprint for record in copied_records if record.offset >= offset)

    def skips(offset: int) -> int:
        all_copies, after = following(0), following(offset)
        return sum(max(0, min(number, all_copies[its]) - after[its]) for its, number in unconsumed.items())

    def repeats(offset: int) -> int:
        """Where copies of a content are missing, each of them may have been an unconsumed one."""
        most = 0
        for its, number in following(offset).items():
            wanted = unconsumed[its]
            missing = max(0, consumed[its] + wanted - following(0)[its]) if wanted else 0
            most += min(number, max(0, number + missing - wanted)) if consumed[its] else 0
        return most

    assert skips(answer.offset) == 0
    assert answer.repeats == repeats(answer.offset)
    for later in range(answer.offset, both.end + 1):
        assert skips(later) or repeats(later) >= answer.repeats
        assert both.judge(committed, later)[:2] == (skips(later), repeats(later))


def test_copies_of_aborted_records_that_stand_before_the_offset_at_the_source_are_passed() -> None:
    copies = read("a@1 x@2 y@3 b@4 z@5")
    aborted = read("_ x@2 y@3 _ _ z@5")
    both = OneLog(read("a@1 _ _ _ b@4"), copies, aborted=aborted, end=5)
    assert both.answer(4)[:2] == (3, 0)
    assert both.answer(5)[:2] == (4, 0)
    (last,) = both.count(4).last_consumed
    assert last is not None and (last.source_offset, last.destination_offset) == (2, 2)


def test_copies_that_rounding_has_given_the_time_of_equal_records_are_wanted_all():
    # Of three unconsumed records, one of time 3 was rounded to 0; two consumed ones of another partition follow.
    (count,) = tallies({40: 1, 100: 1}, {0: 2, 3: 1}, [(0, 0), (1, 0), (2, 0), (3, 40), (4, 100)])
    assert (count.first_wanted, count.skipped(0), count.skipped(1)) == (0, 0, 1)


@pytest.mark.parametrize(
    ("numbers", "stable", "answers"),
    [
        pytest.param((2, 1, 1), 1, [(1, 0), (0, 1)], id="alone"),
        pytest.param((3, 2, 1), 2, [(1, 1), (0, 1)], id="beside that of an unconsumed one"),
        pytest.param((5, 5, 0), 4, [(1, 1), (0, 0)], id="once"),
    ],
)
def test_a_second_copy_that_may_be_that_of_a_hidden_record_counts_as_repeated_in_several_partitions_too(
    numbers: tuple[int, int, int], stable: int, answers: list[tuple[int, int]]
) -> None:
    """The tool may have copied a consumed record twice: an open transaction, which may abort, hides an equal one.

    numbers: how many equal records the source, and the two partitions of the destination have.
    """
    records, *copies = ([Record(offset, 5, b"a", b"a") for offset in range(number)] for number in numbers)
    destination = LogSet(copies, (0, 0), numbers[1:])
    counted = Logs(
        LogSet([records], (0,), numbers[:1]), destination, timestamps=True, stable=(stable,), only_doubled=False
    )
    (count,) = counted.count([(1,)])
    assert [(answer.offset, answer.repeats) for answer in count.answers] == answers
