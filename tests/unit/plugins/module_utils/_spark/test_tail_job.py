"""What follows an offset is counted from the ends of both logs, and only what is certainly unconsumed counts as such."""

import collections
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._spark import tail_job as worker
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.content_frame import layout_of
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.tail_job import Tail, TailQuestion
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._spark.by_hand import (
    chunks,
    frame,
    log_pair,
    travelled,
)
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._spark.test_count_job import log


def tail(source: str, copies: str, committed: int, offset: int) -> Tail:
    """Each letter is a record with its place in the alphabet as its time, at every second offset."""
    logs = [log([(letter, ord(letter.lower()) - ord("a")) for letter in text]) for text in (source, copies)]
    return tails([logs], [TailQuestion(0, committed, offset)])[0]


def tails(pairs: list, asked: list[TailQuestion], timestamps: bool = True) -> list[Tail]:
    its = layout_of([log_pair(1, 1)] * len(pairs), timestamps=timestamps)
    tasks = chunks(its, [source for source, _copies in pairs], [copies for _source, copies in pairs], 4)
    rows = [row for task in tasks for row in travelled(worker.tail_rows(task, its, asked, True))]
    return worker.folded(rows, len(asked))


@pytest.mark.parametrize(
    ("copies", "offset", "expected"),
    [
        pytest.param("xabcd", 4, Tail(True, 3, 0, None, 0, 3, last_copied=6), id="just what is unconsumed"),
        pytest.param("xabc", 4, Tail(True, 3, 1, 3, 0, 2, 0, 6, 4), id="one is still to come"),
        pytest.param("xab", 4, Tail(True, 3, 2, 2, 0, 1, 0, 4, 2), id="two are"),
        pytest.param("xabcd", 2, Tail(True, 3, 0, None, 1, 3, last_copied=6), id="a consumed one, or another tool's"),
        pytest.param(
            "xabcdb", 4, Tail(True, 3, 0, None, 1, 3, last_copied=6), id="one that comes twice may be consumed"
        ),
        pytest.param("xaBCD", 4, Tail(False, 3, 0, None, 0, 3, last_copied=6), id="headers were added"),
    ],
)
def test_examples(copies: str, offset: int, expected: Tail) -> None:
    assert tail("abcd", copies, 2, offset) == expected


@pytest.mark.parametrize(
    ("copies", "missing", "absent", "first", "last"),
    [
        pytest.param("acdefgh", 1, (1,), 2, 14, id="the first one"),
        pytest.param("abcefh", 2, (0, 1, 2), 6, 14, id="each task knows whether one of its own records follows"),
        pytest.param("abcd", 4, (0,), 8, 6, id="what is still to come is not absent"),
    ],
)
def test_what_is_absent_is_before_the_last_record_that_has_arrived(
    copies: str, missing: int, absent: tuple[int, ...], first: int, last: int
) -> None:
    found = tail("abcdefgh", copies, 2, 2)
    assert (found.missing, found.first_missing, found.last_copied) == (missing, first, last)
    assert found.absent in absent


def test_where_copies_of_a_content_are_missing_those_that_are_there_may_be_consumed_ones() -> None:
    assert tail("hhhhz", "hhh", 4, 4) == Tail(True, 3, 1, 25, 1, 1, 0, 8, 6)


def test_times_count_unless_the_broker_has_stamped_them() -> None:
    source, offset = log([("a", 1), ("b", 2)]), TailQuestion(0, 2, 0)
    for time, timestamps, others in ((2, True, 0), (9, True, 1), (9, False, 0), (None, True, 0)):
        assert tails([(source, log([("b", time)]))], [offset], timestamps)[0].others == others
    assert tails([(log([("b", 1), ("b", 2)]), log([("b", 1), ("b", None)]))], [TailQuestion(0, 0, 0)])[0].others > 0


times = st.sampled_from([0, 0, 1])
logs = st.lists(st.tuples(st.sampled_from("abcdefgh"), times), max_size=12).map(log)
copied = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from([0, 0, 1, None])), max_size=12).map(log)
asked_of = st.lists(st.tuples(st.integers(0, 26), st.integers(0, 26)), min_size=1, max_size=4)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(logs, copied, asked_of), min_size=1, max_size=3), st.booleans())
def test_nothing_is_certain_that_is_not_so_by_hand(pairs: list, timestamps: bool) -> None:
    """Without others, each content follows as often as it is unconsumed, or not at all; and nothing else does."""
    asked = [TailQuestion(number, *each) for number, (_source, _copies, its) in enumerate(pairs) for each in its]
    found = tails([its[:2] for its in pairs], asked, timestamps)
    for (pair, committed, offset), its_tail in zip(asked, found, strict=True):
        source, copies, _its = pairs[pair]
        unconsumed = [its for its in source if its.offset >= committed]
        wanted = collections.Counter(its.fingerprint for its in unconsumed)
        following = collections.Counter(its.fingerprint for its in copies if its.offset >= offset)
        absent = [its for its in unconsumed if not following[its.fingerprint]]
        others = sum(abs(number - wanted[its]) for its, number in following.items())
        assert its_tail.unconsumed == len(unconsumed)
        assert its_tail.others >= (others > 0)
        if not timestamps or all(its.log_append_time for its in copies):
            oldest = min((its.timestamp for its in absent), default=None)
            assert its_tail[2:6] == (len(absent), oldest, others, len(wanted.keys() & following.keys()))
            last = max((its.offset for its in unconsumed if its not in absent), default=None)
            assert its_tail[7:] == (min((its.offset for its in absent), default=None), last)
            assert its_tail.absent <= sum(last is not None and its.offset < last for its in absent)


def test_what_tasks_say_of_the_same_offset_is_put_together_field_by_field() -> None:
    rows = [(None, 0, 1, 2, None, 3, 4, 5, 60, None), (None, 0, 10, 20, 7, 30, 40, 50, 6, 8)]
    assert worker.folded(rows, 1) == [Tail(True, 11, 22, 7, 33, 44, 55, 6, 8)]


def test_the_driver_keeps_no_row_of_a_task_longer_than_it_folds_it() -> None:
    tasks, asked = 2000, 10
    rows = (
        (None, number, task, 1, 10**12 + task, 2, 3, 0, task, task) for task in range(tasks) for number in range(asked)
    )
    tracemalloc.start()
    found = worker.folded(rows, asked)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found[9] == Tail(True, sum(range(tasks)), tasks, 10**12, 2 * tasks, 3 * tasks, 0, 0, tasks - 1)
    assert peak < 200_000  # the 20,000 rows take 3.6 MB


def test_on_spark(spark) -> None:
    its = layout_of([log_pair(1, 1)] * 2, timestamps=True)
    sides = ([log([(letter, 0) for letter in text])] * 2 for text in ("abcdefgh", "xabcdefg"))
    found = worker.count_tails(frame(spark, its, *sides, 4), its, [TailQuestion(0, 4, 6), TailQuestion(1, 4, 4)])
    assert found == [Tail(True, 6, 1, 0, others, 5, 0, 14, 12) for others in (0, 1)]
