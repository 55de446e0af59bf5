"""The source around a committed offset, and the side that it gives to a record."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.context import (
    Context,
    Known,
    Side,
    read_context,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Log, Question
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.log_reader import LogReader, NotRead, Reader
from ansible_collections.streamshift.kafka.plugins.module_utils._model.match_on import Matching
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.build import log, run
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.driver import FullLog


def read(full: FullLog, committed: int, width: int) -> Context:
    """The context of a log that is known from end to end."""
    known, whole = Log(full.facts), (full.facts.log_start, full.facts.end)
    known.add(whole, full.records)
    known.add_uncommitted(whole, full.uncommitted(*whole))
    return read_context(LogReader(known, 1000), committed, width)


def offsets(records: list[Record]) -> list[int]:
    return [record.offset for record in records]


def test_nothing_is_known_at_first() -> None:
    empty = Log(log(run(0, 50)).facts)
    reader = Reader(Question(20, empty, empty))
    with pytest.raises(NotRead):
        read_context(reader.source, 20, 4)
    assert reader.need().source == ((14, 24),)


def test_both_sides() -> None:
    context = read(log(run(0, 50)), 20, 3)
    assert (offsets(context.before), offsets(context.after)) == ([17, 18, 19], [20, 21, 22])
    assert not context.has_gaps and not context.whole


def test_a_side_without_records_is_widened() -> None:
    context = read(log("a" + " -" * 40 + " b c"), 38, 4)
    assert (offsets(context.before), offsets(context.after)[:1]) == ([0], [41])


def test_no_more_is_kept_than_is_near_after_much_aborted_data() -> None:
    context = read(log(f"{run(0, 100)} {'(x) ' * 1900}{run(100, 7000)}"), 100, 16)
    assert (context.low, context.high, len(context.after)) == (84, 2016, 16)


def test_the_same_on_a_marker_and_after_it() -> None:
    source = log(f"{run(0, 20)} - - {run(20, 40)}")
    contexts = [read(source, committed, 8) for committed in (20, 21, 22)]
    assert len({(c.low, c.high, *offsets(c.before), -1, *offsets(c.after)) for c in contexts}) == 1


def test_the_edges_of_the_log() -> None:
    context = read(log("a b c", start=7), 8, 100)
    assert (context.low, context.high, context.whole) == (7, 10, True)


def test_aborted_records_have_their_side() -> None:
    context = read(log("a (x) b (y) c"), 2, 8)
    assert offsets(context.looked_for) == [0, 2, 3, 4]
    assert offsets(context.after) == [2, 4]


def test_sides() -> None:
    known = Known(read(log("a x@9 (q) | x@9 b (r)".replace("| ", "")), 3, 8), Matching(True, True))
    destination = log("a x@9 b f a@77 q r").records
    assert known.sides(destination) == [
        Side.CONSUMED,
        Side.BOTH,
        Side.UNCONSUMED,
        Side.UNKNOWN,
        Side.UNKNOWN,
        Side.CONSUMED,
        Side.UNCONSUMED,
    ]


def test_an_aborted_record_is_never_read_again() -> None:
    known = Known(read(log("a (q) b"), 2, 8), Matching(True, True))
    a, q, b = log("a q b").records
    assert [known.repeats(record) for record in (a, q, b)] == [True, False, False]


def test_of_equal_consumed_records_the_first_counts() -> None:
    known = Known(read(log("x@1 a x@1 b y@2 c y@2"), 4, 8), Matching(True, True))
    x, y = log("x@1 y@2").records
    assert (known.consumed_at(x), known.unconsumed_at(y)) == (0, 6)


@pytest.mark.parametrize(
    ("matching", "other", "same"),
    [
        (Matching(True, True), "a+h@5", False),
        (Matching(True, False), "a+h@5", True),
        (Matching(True, False), "a@6", False),
        (Matching(False, True), "a@6", True),
        (Matching(False, False), "a+h@6", True),
        (Matching(False, False), "b@5", False),
    ],
)
def test_what_is_compared(matching: Matching, other: str, same: bool) -> None:
    assert (matching.key(log("a@5").records[0]) == matching.key(log(other).records[0])) is same
