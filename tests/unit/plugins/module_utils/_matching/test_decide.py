"""The rule, situation by situation; test_properties.py holds it against random logs."""

import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.decide import decide
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import (
    Decision,
    Log,
    LogFacts,
    Need,
    Policy,
    Question,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict, Way
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.build import EPOCH, log, run
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.driver import FullLog, settle

EXACT, SAFE, BLOCKED = Verdict.EXACT, Verdict.SAFE, Verdict.BLOCKED


def decided(committed: int, source: FullLog, destination: FullLog, **policy: t.Any) -> Decision:
    return settle(committed, source, destination, Policy(**policy)).decision


def said(decision: Decision) -> tuple[Verdict, int | None, Reason | None, int | None]:
    return decision.verdict, decision.offset, decision.reason, decision.repeats


X5 = "x@5 x@5 x@5 x@5 x@5"
OPEN = log("a b", high_watermark=4)
EMPTY = log("", start=9, retention_ms=100)
LONG, LONGER = log(run(0, 1000)), log(run(0, 9000))
BACK = log(" ".join(f"r{number}@{number * 2 + (number % 3) * 5}" for number in range(100)))

# What is in the logs -> the committed offset, the source, the destination, and what is decided.
SITUATIONS = {
    # The junk looks like the records, but is older.
    "junk before the copy": (2, log("a b c d"), log("b@-9000 c@-9000 a b c d"), (EXACT, 4, None, 0)),
    "foreign records in between": (2, log("a b c d"), log("a x@1 b y@1 c z@1 d"), (EXACT, 3, None, 0)),
    # At the edges of the source.
    "nothing consumed is the destination's start": (0, log("a b"), log("x a b", start=4), (EXACT, 4, None, 0)),
    "nothing consumed is before all": (0, log("c d", start=2), log("a b c d"), (EXACT, 0, None, 0)),
    "in an open transaction": (3, OPEN, log("a b"), (BLOCKED, None, Reason.OPEN_TRANSACTION, None)),
    "before an open transaction": (1, OPEN, log("a b"), (EXACT, 1, None, 0)),
    "all consumed has left the source": (3, log("d e", start=3), log("a b c d e"), (EXACT, 3, None, 0)),
    "empty on both sides": (9, EMPTY, log("", start=5), (EXACT, 5, None, 0)),
    "all has expired, kept for ever": (9, log("", start=9), log("a b", start=2), (SAFE, 2, Reason.CAUGHT_UP, None)),
    # The source has lost records that the group has not consumed.
    "counted back past twins": (1, log("d e f", start=3), log("a b c b c d e f"), (SAFE, 3, Reason.EXPIRED, 2)),
    # What lies between the log's start and its first visible record is lost as well.
    "counted back from a visible record": (1, log("- - e", start=2), log("x@-50 b c d"), (SAFE, 1, Reason.EXPIRED, 3)),
    # d may be the lost record 3, though c, the only one left, has not arrived.
    "counted back on a compacted source": (
        1, log("c -", start=2, compacted=True), log("x@-50 b d"), (SAFE, 0, Reason.EXPIRED, 3),
    ),
    # a is the last consumed record, b the first unconsumed one.
    "b is still to come": (3, log("a b c d e"), log("a b c"), (EXACT, 3, None, 0)),
    "a is still to come": (3, log("a b c"), log("a b"), (BLOCKED, None, Reason.DESTINATION_LAGS, None)),
    "a is missing, b is there": (2, log("a b c d"), log("a c d"), (EXACT, 1, None, 0)),
    "both are missing": (10, log(run(0, 40)), log(f"{run(0, 5)} {run(30, 40)}"), (EXACT, 5, None, 0)),
    "the destination has expired beyond b": (10, log(run(0, 90)), log(run(60, 90), start=60), (EXACT, 60, None, 0)),
    # Markers and compacted records take offsets, and nothing else.
    "on a marker": (2, log("a b - c d"), log("a b c d"), (EXACT, 2, None, 0)),
    "after a marker": (3, log("a b - c d"), log("a b c d"), (EXACT, 2, None, 0)),
    "caught up after a marker": (3, log("a b -"), log("a b"), (EXACT, 2, None, 0)),
    "markers at the destination": (2, log("a b c d"), log("a - b - c - d -"), (EXACT, 3, None, 0)),
    "a is compacted away": (3, log("a b - d e", compacted=True), log("a b d e"), (EXACT, 2, None, 0)),
    # c may be the consumed record 2; nothing after the offset is lost, and c is older than d.
    "its copy is still there": (3, log("a b - d e", compacted=True), log("a b c d e"), (EXACT, 3, None, 0)),
    "compacted around the offset": (
        3, log("a b - - e f", compacted=True), log("a b c d e f"), (SAFE, 2, Reason.SOURCE_LOST_RECORDS, 2),
    ),
    # j and k are unconsumed and came first, older than c: they are no copies of what is lost before c.
    "what is lost is not taken from what is there": (
        1, log("- - c@9 - - - - - - - j@1 k@2", compacted=True), log("j@1 k@2 c@9"), (EXACT, 0, None, 0),
    ),
    # Equal records.
    "the third of five": (3, log(f"a {X5} z"), log(f"q a {X5} z"), (EXACT, 4, None, 0)),
    "one of five is missing": (3, log(f"a {X5} z"), log("a x@5 x@5 x@5 x@5 z"), (SAFE, 2, Reason.EQUAL_RECORDS, 1)),
    # Three of them follow, as many as are unconsumed.
    "five were copied twice": (3, log(f"a {X5} z"), log(f"a {X5} {X5} z"), (EXACT, 8, None, 0)),
    "by turns": (17, log(" ".join(["a@1 b@1"] * 20)), log(" ".join(["a@1 b@1"] * 20)), (EXACT, 17, None, 0)),
    "more than the context": (
        150, log(f"{run(0, 20)}{' x@20' * 300} {run(21, 40)}"), log(f"{run(0, 20)}{' x@20' * 300} {run(21, 40)}"),
        (EXACT, 150, None, 0),
    ),
    "the copy ends among them": (2, log("a x@5 x@5 z"), log("a x@5"), (SAFE, 1, Reason.EQUAL_RECORDS, 1)),
    # The destination's c is the unconsumed one: the first copy began late and its head expired.
    "one at the far end": (1, log(f"c@1{' b@1' * 70} c@1"), log("c@1 b@1"), (SAFE, 0, Reason.EQUAL_RECORDS, 1)),
    # Copied again, or in another order.
    "the first copy is safe": (4, log("a b c d e f g"), log("a b c d e c d"), (SAFE, 4, Reason.RECOPIED, 2)),
    "batches changed places": (2, log("a@1 b@1 c@1 d@1"), log("a@1 c@1 b@1 d@1"), (SAFE, 1, Reason.ORDER_DIFFERS, 1)),
    "counted far after": (300, LONG, log(f"{run(0, 600)} {run(100, 400)}"), (SAFE, 300, Reason.RECOPIED, 200)),
    "a later copy far after": (300, LONG, log(f"{run(0, 600)} {run(100, 1000)}"), (EXACT, 800, Reason.RECOPIED, 0)),
    "by offsets": (100, LONGER, LONGER, (EXACT, 100, None, 0)),
    "by offsets, with equal records at the end": (
        100, log(run(0, 5000, "x@5000 " * 20)), log(run(0, 5000, "x@5000 " * 20)), (EXACT, 100, None, 0),
    ),
    # Times.
    "times run back by milliseconds": (50, BACK, BACK, (EXACT, 50, None, 0)),
    "no times at all": (2, log("a@-1 b@-1 c@-1 d@-1"), log("a@7 b@8 c@9 d@10"), (EXACT, 2, None, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", SITUATIONS)
def test_situation(name: str) -> None:
    committed, source, destination, expected = SITUATIONS[name]
    assert said(decided(committed, source, destination)) == expected


class TestPlain:
    """A replication tool that keeps the order and leaves nothing out."""

    @pytest.mark.parametrize("committed", [1, 7, 8, 50, 99, 100])
    def test_next_record_is_the_next_record(self, committed: int) -> None:
        source = log(run(0, 100))
        assert said(decided(committed, source, log(run(0, 100), start=31))) == (EXACT, committed + 31, None, 0)

    def test_anchors_are_named(self) -> None:
        decision = decided(3, log("a b c d e"), log("x a b c d e"))
        assert decision.before and decision.after
        assert (decision.before.source, decision.before.destination) == (2, 3)
        assert (decision.after.source, decision.after.destination) == (3, 4)
        assert decision.before.fingerprint == b"c".hex()
        assert decision.matched_by == ("key", "value", "headers", "timestamp")

    def test_caught_up_takes_one_round(self) -> None:
        source = log(run(0, 500))
        assert settle(500, source, source)[1:] == (1, 18)

    def test_lagging_takes_three_rounds_and_few_records(self) -> None:
        source = log(run(0, 500))
        decision, rounds, records_read = settle(200, source, log(run(0, 500), start=7))
        assert (decision.verdict, decision.offset, rounds) == (EXACT, 207, 3)
        assert records_read < 80


def test_beyond_the_end() -> None:
    decision = decided(3, log("a b"), log("a b"))
    assert said(decision) == (BLOCKED, None, Reason.BEYOND_END, None)
    assert "recreated or truncated" in decision.detail
    assert "reset the group at the source to the start of the log (earliest)" in decision.detail


class TestNoRecordAtTheSource:
    """Everything has expired, so only the age of the destination's records tells."""

    def test_by_retention(self) -> None:
        destination = log("a@1 b@50 c@120 d@130", start=2)
        assert said(decided(9, EMPTY, destination, now=EPOCH + 200)) == (SAFE, 4, Reason.CAUGHT_UP, None)

    def test_all_old_enough_is_the_end(self) -> None:
        destination = log("a@1 b@50", start=2)
        assert said(decided(9, EMPTY, destination, now=EPOCH + 200)) == (SAFE, 4, Reason.CAUGHT_UP, None)

    @pytest.mark.parametrize(("option", "offset"), [("start", 2), ("end", 4)])
    def test_by_option(self, option: str, offset: int) -> None:
        decision = decided(9, EMPTY, log("a b", start=2), on_no_anchor=option)
        assert said(decision) == (SAFE, offset, Reason.CAUGHT_UP, None)

    def test_by_option_fail(self) -> None:
        assert decided(9, EMPTY, log("a b"), on_no_anchor="fail").reason is Reason.POLICY_FAIL


class TestNothingIsKnown:
    """Nothing consumed is left, the source has unconsumed records, and the destination has records that differ from all."""

    copied = run(0, 30).replace("r", "x")

    @pytest.mark.parametrize(
        ("copies", "offset"),
        [
            pytest.param(log(copied), 10, id="the tool changes values"),
            pytest.param(log(copied, stamped=True), 0, id="and the broker stamps"),
            pytest.param(log("x@-1 y@-1 z@-1 " * 10), 0, id="and copies have no timestamps"),
            pytest.param(log(run(0, 9)), 9, id="the tool lags"),
        ],
    )
    def test_the_offset_is_not_after_what_may_be_a_copy(self, copies: FullLog, offset: int) -> None:
        source = log(run(10, 30), start=10, retention_ms=1000)
        decision = decided(10, source, copies, now=9 * EPOCH)
        assert said(decision) == (SAFE, offset, Reason.CAUGHT_UP, None)
        assert "; no record of the destination equals one that the source still has: " in decision.detail
        expired = decided(5, source, copies, now=9 * EPOCH)
        assert (expired.offset, expired.reason, expired.lost) == (max(0, offset - 5), Reason.EXPIRED, None)
        assert "; no record of the destination equals one that the source still has: " in expired.detail
        assert expired.repeats == copies.facts.end - (expired.offset or 0)

    @pytest.mark.parametrize(("committed", "verdict"), [(10, EXACT), (5, SAFE), (0, EXACT)])
    def test_what_the_destination_has_deleted_does_not_come_again(self, committed: int, verdict: Verdict) -> None:
        decision = decided(committed, log(run(10, 20), start=10), log("", start=20))
        assert (decision.verdict, decision.offset) == (verdict, 20)
        assert "; the destination's log is empty and starts at offset 20: retention or DeleteRecords" in decision.detail
        assert "the first record that the source still has" not in decision.detail

    def test_nothing_is_said_to_be_deleted_where_nothing_is_to_come(self) -> None:
        assert decided(20, log("", start=20), log("", start=20)).detail == "the destination is empty"

    def test_open_transaction(self) -> None:
        decision = decided(9, log("", start=9, high_watermark=12), log("a b"))
        assert decision.reason is Reason.OPEN_TRANSACTION


class TestExpired:
    """The source has lost records that the group has not consumed."""

    source = log("d e f", start=3)
    destination = log("a b c d e f", start=10)

    def test_counted_back(self) -> None:
        decision = decided(1, self.source, self.destination)
        assert (said(decision), decision.lost) == ((SAFE, 11, Reason.EXPIRED, 2), 0)
        assert decision.detail.startswith("2 unconsumed records expired at the source; counted back 2 records, ")

    def test_equal_records_of_one_time_are_not_said_to_be_lost(self) -> None:
        """Nobody can tell them from second copies: the destination may have all of them."""
        decision = decided(1, log("f@9", start=4), log("a@1 b@2 b@2 b@2 f@9"))
        assert (decision.offset, decision.lost) == (0, None) and "lost" not in decision.detail

    def test_counted_back_from_the_end(self) -> None:
        decision = decided(1, self.source, log("a b c"))
        assert (said(decision), decision.lost) == ((SAFE, 1, Reason.EXPIRED, 2), None)

    @pytest.mark.parametrize(("option", "offset", "repeats"), [("start", 10, 3), ("first_visible", 13, 0)])
    def test_by_option(self, option: str, offset: int, repeats: int) -> None:
        decision = decided(1, self.source, self.destination, on_expired=option)
        assert (said(decision), decision.lost) == ((SAFE, offset, Reason.EXPIRED, repeats), 0)

    STATUSES = " ".join(f"{'abcde'[at % 5]}@{at}" for at in range(300, 1000))

    @pytest.mark.parametrize(
        ("committed", "line", "start", "copied", "stamped", "lost", "repeats"),
        [
            pytest.param(4, run(24, 700), 24, run(24, 690), False, 20, 0, id="none of them, long"),
            pytest.param(4, run(24, 99), 24, run(24, 90), False, 20, 0, id="none of them, short"),
            pytest.param(4, run(24, 99), 24, run(24, 90), True, 20, 0, id="none of them, stamped"),
            pytest.param(200, STATUSES, 300, STATUSES, False, 100, 0, id="contents recur"),
            pytest.param(200, STATUSES, 300, STATUSES, True, 100, 0, id="contents recur, stamped"),
            pytest.param(4, run(24, 700), 24, run(20, 690), False, 16, 4, id="a part of them"),
            pytest.param(4, run(24, 700), 24, run(0, 690), False, 0, 20, id="all of them"),
            pytest.param(
                4, run(24, 99), 24, run(20, 30, run(0, 5, run(30, 90))), False, 16, None, id="consumed ones again"
            ),
            pytest.param(1, "d a f", 3, "d a", True, 2, 0, id="the tool lags, stamped"),
            pytest.param(1, "d e f", 3, "", False, 2, 0, id="nothing was copied"),
            pytest.param(0, run(15, 700), 15, run(15, 690), False, 15, 0, id="nothing consumed"),
            pytest.param(0, run(15, 99), 15, run(15, 90), True, 15, 0, id="nothing consumed, stamped"),
            pytest.param(0, run(15, 700), 15, run(3, 690), False, 3, 0, id="nothing consumed, a part of them"),
            pytest.param(0, run(15, 700), 15, run(0, 690), False, 0, 0, id="nothing consumed, all of them"),
            pytest.param(0, run(15, 99), 15, "x y", False, None, 0, id="nothing consumed, nobody knows"),
        ],
    )
    def test_how_many_are_on_neither_cluster(
        self, committed: int, line: str, start: int, copied: str, stamped: bool, lost: int | None, repeats: int | None
    ) -> None:
        decision = decided(committed, log(line, start=start), log(copied, start=7, stamped=stamped))
        assert (decision.lost, decision.repeats) == (lost, repeats)
        assert f"{start - committed} unconsumed records expired at the source" in decision.detail
        assert ("counted back" in decision.detail) == (committed > 0 and lost != start - committed)
        assert ("lost on both clusters: " in decision.detail) == bool(lost)
        assert f"{lost} records" in decision.detail or not lost

    def test_an_offset_is_no_record_where_there_are_markers(self) -> None:
        decision = decided(1, log("d - e f", start=3), log("d e f"))
        assert decision.detail.startswith("at most 2 unconsumed records expired at the source; ")
        assert "lost on both clusters: at most 2 records" in decision.detail

    def test_by_option_fail(self) -> None:
        assert decided(1, self.source, self.destination, on_expired="fail").reason is Reason.POLICY_FAIL

    @pytest.mark.parametrize(
        ("committed", "left", "start", "copied", "stamped", "offset", "repeats"),
        [
            pytest.param(1, "r", 2, "p q r r", False, 1, 2, id="what the source still has is no lost record"),
            pytest.param(
                50, run(200, 300), 200, run(0, 280, run(100, 300)), True, 50, 330, id="neither if it is stamped"
            ),
            pytest.param(1, "", 2, "p q p", False, 1, 2, id="all has expired, and the second pass goes on"),
            pytest.param(1, "", 2, "p q p", True, 1, 2, id="the same, stamped"),
            pytest.param(1, "r", 2, "p q p r", True, 1, 2, id="the second pass was interrupted for long"),
            pytest.param(1, "r", 2, "p p q r", True, 2, 1, id="and was not"),
            pytest.param(
                450, run(600, 900), 600, run(0, 600, run(300, 310, run(600, 900))), False, 450, 160, id="long"
            ),
        ],
    )
    def test_the_tool_has_begun_again(
        self, committed: int, left: str, start: int, copied: str, stamped: bool, offset: int, repeats: int
    ) -> None:
        decision = decided(committed, log(left, start=start), log(copied, stamped=stamped))
        assert said(decision) == (SAFE, offset, Reason.EXPIRED, repeats)
        assert decision.lost == (0 if copied == "p p q r" else None)

    def test_the_whole_destination_is_read_where_the_source_has_nothing_to_compare_with(self) -> None:
        """In its last records, a second pass that was interrupted looks like a first one."""
        empty, copied = log("", start=1000), log(run(0, 1000, run(0, 600)))
        assert said(decided(500, empty, copied)) == (SAFE, 500, Reason.EXPIRED, 1100)
        assert said(decided(500, empty, copied, search_limit=600)) == (BLOCKED, None, Reason.SEARCH_BUDGET_SPENT, None)
        assert decided(500, empty, copied, on_expired="start", search_limit=600).offset == 0
        assert decided(500, log("", start=600), log(run(0, 600)), on_expired="start", search_limit=599).offset == 0

    @pytest.mark.parametrize(
        ("committed", "left", "copied", "stamped", "offset"),
        [
            # Nothing but its first copy is left of an expired record that equals an older one.
            pytest.param(3, "e", "a b c d a c d e", True, 2, id="stamped"),
            pytest.param(2, "", "d@0 a@1 d@2 b@3 a@1", False, 1, id="nothing is left to tell times by"),
            # The copies of what the source still has do not count, nor are they missing.
            pytest.param(1, "c d", "a b c d c", False, 1, id="again after what was lost"),
        ],
    )
    def test_equal_records_and_a_pass_that_was_interrupted(
        self, committed: int, left: str, copied: str, stamped: bool, offset: int
    ) -> None:
        start = 5 if left == "e" else 4 if not left else 2
        decision = decided(committed, log(left, start=start), log(copied, stamped=stamped))
        assert said(decision)[:2] == (SAFE, offset)

    def test_both_logs_are_counted_where_consumed_records_may_follow(self) -> None:
        copied = log(f"{run(0, 600)} {run(300, 600)}")
        decision = decided(380, log(run(400, 600), start=400), copied)
        assert (*said(decision), decision.way) == (SAFE, 680, Reason.EXPIRED, 20, Way.COUNT)

    @pytest.mark.parametrize(
        ("left", "copied", "lost", "bound"),
        [
            pytest.param("c@4", "d@0 b@1 a@2 - c@4", 1, "about", id="one"),
            pytest.param("c@4 - d@6 -", "a@0 b@2 c@4 d@6", 2, "about", id="none, but at the source"),
            pytest.param("c@4 - d@6 -", "a@0 - b@2 - c@4 - d@6 -", None, "", id="as many on both sides"),
        ],
    )
    def test_markers_are_no_records(self, left: str, copied: str, lost: int | None, bound: str) -> None:
        decision = decided(0, log(left, start=4), log(copied))
        assert (decision.offset, decision.lost, decision.lost_bound.value) == (0, lost, bound)

    @pytest.mark.parametrize(("left", "copied"), [("x y b z b", "a b"), ("x y b z b", "a b d"), ("d a f a", "d a f")])
    def test_a_lost_record_may_equal_one_that_is_left(self, left: str, copied: str) -> None:
        """The broker stamps copies, and nobody can tell whose copy comes first: the tool may just lag."""
        decision = decided(1, log(left, start=3), log(copied, stamped=True))
        assert said(decision)[1:3] == (0, Reason.EXPIRED)
        assert (decision.absent, decision.lost) == (None, None)

    @pytest.mark.parametrize("lost", [1, 10, 100])
    def test_second_copies_that_lead_from_one_to_the_next_do_not_lead_on_for_ever(self, lost: int) -> None:
        copied = log(f"{run(0, 5000)} {run(4000, 5000)} {run(5000, 5100)}")
        settled = settle(5000 - lost, log(run(5000, 5100), start=5000), copied)
        assert (settled.decision.offset, settled.decision.lost) == (6000 - lost, 0)
        assert settled.rounds <= 12

    def test_an_earlier_pass_that_is_known_and_too_far_away_blocks(self) -> None:
        copied = log(f"{run(0, 2000)} {run(500, 1500)} {run(2000, 2500)}")
        source = log(run(2000, 2500), start=2000)
        assert decided(1800, source, copied).offset == 1800
        decision = decided(1800, source, copied, search_limit=800)
        assert said(decision) == (BLOCKED, None, Reason.SEARCH_BUDGET_SPENT, None)

    def test_one_late_event_does_not_hide_an_earlier_pass(self) -> None:
        late = run(0, 2000).replace("r1850 ", "r1850@0 ")
        copied = log(f"{late} {run(500, 1900).replace('r1850 ', 'r1850@0 ')} {run(2000, 2500)}")
        decision = decided(1800, log(run(2000, 2500), start=2000), copied, search_limit=800)
        assert said(decision) == (BLOCKED, None, Reason.SEARCH_BUDGET_SPENT, None)

    def test_a_lost_record_that_is_younger_than_what_is_left_is_not_skipped(self) -> None:
        decision = decided(1, log("d@3", start=3), log("a@0 b@1 c@9 a@0 b@1 d@3"))
        assert said(decision)[:2] == (SAFE, 2)

    @pytest.mark.parametrize(
        ("committed", "copied"),
        [
            pytest.param(
                799, " ".join(f"r{number}@{number // 2}" for number in range(1200)), id="two in a millisecond"
            ),
            pytest.param(800, run(0, 1200).replace("r900 ", "r900@5 "), id="a late event"),
            pytest.param(800, run(0, 1200).replace("r799 r800 ", "r799@800 r800@799 "), id="jitter"),
        ],
    )
    def test_more_has_expired_than_may_be_read_once_more(self, committed: int, copied: str) -> None:
        left = log(" ".join(copied.split()[1000:]), start=1000)
        assert said(decided(committed, left, log(copied), search_limit=100))[:2] == (SAFE, committed)

    def test_nothing_is_said_to_be_lost_that_is_younger_than_what_is_left(self) -> None:
        decision = decided(2, log("d@0 e@4", start=3), log("a@1 b@2 c@3 d@0 e@4"))
        assert (decision.offset, decision.repeats, decision.lost) == (0, 3, None)
        assert "no record of the destination is surely one of them" in decision.detail

    def test_what_is_too_old_to_tell_where_it_was_copied_first_is_said(self) -> None:
        late = run(0, 2000).replace("r1950 ", "r1950@0 ")
        decision = decided(1900, log(run(2000, 2500), start=2000), log(f"{late} {run(2000, 2500)}"), search_limit=800)
        assert said(decision) == (SAFE, 1900, Reason.EXPIRED, 100)
        assert "and that none of these has an earlier copy more than search_limit offsets back" in decision.detail

    def test_repeats_are_not_counted_where_too_much_follows_to_see_what_was_recopied(self) -> None:
        source, again = log(run(1000, 6000), start=1000), " ".join([run(0, 1000)] * 3)
        assert said(decided(900, source, log(run(0, 6000)))) == (SAFE, 900, Reason.EXPIRED, 100)
        assert said(decided(900, source, log(f"{run(0, 6000)} {again}"))) == (SAFE, 900, Reason.EXPIRED, None)


class TestBehindOrPast:
    def test_a_is_still_to_come(self) -> None:
        decision = decided(4, log("a b c d e"), log("a b", start=5))
        assert said(decision) == (BLOCKED, None, Reason.DESTINATION_LAGS, None)
        assert decision.lossless_offset == 7


class TestGaps:
    """Markers, aborted data and compacted records take offsets, and nothing else."""

    @pytest.mark.parametrize("copied", ["a b c d", "a b (x) (y) c d", "a b x y c d"])
    def test_aborted_data_before_the_offset(self, copied: str) -> None:
        decision = decided(5, log("a b (x@1) (y@1) - c d"), log(copied.replace("x", "x@1").replace("y", "y@1")))
        destination = log(copied.replace("x", "x@1").replace("y", "y@1"))
        b = next(record.offset for record in destination.records if record.fingerprint == b"b")
        c = next(record.offset for record in destination.records if record.fingerprint == b"c")
        assert decision.verdict is EXACT and decision.offset is not None
        assert b < decision.offset <= c

    def test_far_gaps_take_few_rounds(self) -> None:
        source = log("a b" + " -" * 5000 + " c d", compacted=True)
        decision, rounds, _unused = settle(2500, source, log("a b c d"))
        assert (decision.verdict, decision.offset) == (EXACT, 2)
        assert rounds <= 8


class TestCopiedAgain:
    def test_a_later_copy_that_is_whole_is_exact(self) -> None:
        decision = decided(4, log("a b c d e f"), log("a b c d e f c d e f"))
        assert said(decision) == (EXACT, 8, Reason.RECOPIED, 0)
        assert decision.after and decision.after.destination == 8

    def test_a_copy_that_began_late_and_again_from_the_start(self) -> None:
        source = log(run(0, 60))
        decision = decided(20, source, log(run(40, 60) + " " + run(0, 30)))
        assert (decision.verdict, decision.offset) == (SAFE, 0)


class TestFirstTries:
    """The tool copied a few records from the beginning, and later began again at the committed offset."""

    @pytest.mark.parametrize(("first", "tried"), [(1, 7), (0, 3), (0, 9), (1, 3), (100, 9), (0, 20)])
    @pytest.mark.parametrize("copied", [33, 100, 300])
    def test_all_that_was_tried_is_passed(self, first: int, tried: int, copied: int) -> None:
        source = log(run(0, 1000))
        destination = log(f"{run(first, first + tried)} {run(600, 600 + copied)}")
        assert said(decided(600, source, destination)) == (EXACT, tried, None, 0)

    def test_the_consumed_twin_of_an_unconsumed_record_may_repeat(self) -> None:
        words = [f"r{number}@0" for number in range(600)]
        words[50] = words[580] = "x@0"
        source, destination = log(" ".join(words)), log(" ".join([*words[570:585], "x@0", *words[585:]]))
        assert said(decided(570, source, destination)) == (SAFE, 0, Reason.EQUAL_RECORDS, 1)


class TestTail:
    """After the cut."""

    def test_too_long_to_count(self) -> None:
        source = log(run(0, 9000))
        destination = log(run(0, 8000, "x@8000") + " " + run(8000, 9000))
        assert said(decided(100, source, destination)) == (EXACT, 100, None, 0)  # both logs are counted
        decision = decided(100, source, destination, search_limit=8000)
        assert said(decision) == (SAFE, 100, Reason.TAIL_NOT_COUNTED, None)


class TestTimes:
    @pytest.mark.parametrize("committed", [55, 60, 61, 80])
    def test_running_back_by_hours(self, committed: int) -> None:
        line = " ".join(f"r{number}@{number + 1000 - (number // 60) * 800}" for number in range(120))
        assert said(decided(committed, log(line), log(line))) == (EXACT, committed, None, 0)

    def test_stamped_at_the_destination(self) -> None:
        source = log("a b c d e")
        decision = decided(3, source, log("x a b c d e", stamped=True))
        assert said(decision) == (EXACT, 4, None, 0)
        assert decision.matched_by == ("key", "value", "headers")

    def test_stamped_and_too_long_to_read(self) -> None:
        source = log(run(0, 100))
        decision = decided(50, source, log(run(0, 100), stamped=True), search_limit=99)
        assert said(decision) == (BLOCKED, None, Reason.SEARCH_BUDGET_SPENT, None)

    @pytest.mark.parametrize("odd", [-1, -2, -62_135_596_800_000, -(1 << 63), 0, (1 << 63) - 1])
    @pytest.mark.parametrize(
        ("numbers", "arrived"),
        [
            pytest.param(range(495, 521), 1000, id="around the committed offset"),
            pytest.param(range(700, 705), 1000, id="after it"),
            pytest.param(range(2), 1000, id="at the start"),
            pytest.param(range(999, 1000), 999, id="still to be copied"),
            pytest.param(range(990, 1000), 995, id="at the end, and a part still to be copied"),
            pytest.param(range(1000), 600, id="everywhere"),
        ],
    )
    def test_times_that_producers_may_write(self, odd: int, numbers: range, arrived: int) -> None:
        """A copy keeps each, or has the current time where brokers do not take it."""
        times = dict.fromkeys(numbers, odd)
        source = self._logs("r", times, 1000)
        for copied in (times, dict.fromkeys(times, 10 * EPOCH)):
            destination = self._logs("r", copied, arrived, before=300, before_times={150: odd})
            assert said(decided(500, source, destination)) == (EXACT, 800, None, 0)

    @staticmethod
    def _logs(
        name: str, times: dict[int, int], size: int, before: int = 0, before_times: dict[int, int] | None = None
    ) -> FullLog:
        """Records of increasing times but for some, after others that are only there."""
        names = [(f"x{at}", (before_times or {}).get(at, EPOCH - 5000 + at)) for at in range(before)]
        names += [(f"{name}{at}", times.get(at, EPOCH + at)) for at in range(size)]
        records = [Record(at, time, text.encode(), text.encode()) for at, (text, time) in enumerate(names)]
        return FullLog(LogFacts(0, len(records), len(records)), records)


class TestHeaders:
    def test_added_by_the_replication_tool(self) -> None:
        decision = decided(2, log("a b c d"), log("a+x b+x c+x d+x"))
        assert said(decision) == (EXACT, 2, None, 0)
        assert decision.matched_by == ("key", "value", "timestamp")

    def test_telling_records_apart(self) -> None:
        source = log("a+1 a+2 a+3 a+4")
        decision = decided(2, source, source)
        assert said(decision) == (EXACT, 2, None, 0)
        assert "headers" in decision.matched_by


class TestTheWay:
    """A decision names the way that it came, and the doubt of one that reads less."""

    TWINS = log(f"{run(0, 300)} b b b {run(300, 400)}")  # equal records on both sides of 302

    @pytest.mark.parametrize(
        ("committed", "source", "destination", "policy", "way", "doubt"),
        [
            pytest.param(0, log("a b"), log("a b"), {}, Way.ENDS, "", id="nothing consumed"),
            pytest.param(1, log("a b"), log("a b"), {}, Way.COUNT, "", id="short logs"),
            pytest.param(200, log(run(0, 500)), log(run(0, 500)), {}, Way.NEAR, "", id="long logs"),
            pytest.param(
                302, TWINS, log(f"{run(0, 300)} b b {run(300, 400)}"), {}, Way.COUNT, "both sides", id="equal records",
            ),
            pytest.param(
                100, log(run(0, 500)), log(run(0, 500), stamped=True), {}, Way.COUNT, "timestamps", id="other timestamps",
            ),
            pytest.param(
                4000, log(run(0, 9500)), log(f"{run(0, 6000)} y {run(6000, 9500)}"), {"search_limit": 9000}, Way.NEAR,
                "more records after the offset", id="too long to count",
            ),
        ],
    )  # fmt: skip
    def test_is_named_with_its_doubt(
        self, committed: int, source: FullLog, destination: FullLog, policy: dict[str, int], way: Way, doubt: str
    ) -> None:
        decision = decided(committed, source, destination, **policy)
        assert decision.way is way
        assert doubt in decision.doubt if doubt else not decision.doubt


def test_a_spent_budget_is_not_absence() -> None:
    # Records that are nowhere at the source can only be told after reading all of it.
    source = log(run(0, 5000))
    foreign = " ".join(f"x{number}@100" for number in range(20))
    decision = decided(100, source, log(f"{run(0, 99)} {foreign} r99 {run(100, 200)}"), search_limit=500)
    assert said(decision) == (BLOCKED, None, Reason.SEARCH_BUDGET_SPENT, None)
    assert decision.lossless_offset is None


def test_what_was_asked_is_not_asked_again() -> None:
    source, destination = log(run(0, 500)), log(run(0, 500))
    question = Question(20, Log(source.facts), Log(destination.facts))
    first = decide(question)
    assert isinstance(first, Need)
    assert first == decide(question), "deciding changes nothing"
    for full, spans, known in (
        (source, first.source, question.source),
        (destination, first.destination, question.destination),
    ):
        for span in spans:
            known.add(span, full.visible(*span))
    second = decide(question)
    assert isinstance(second, Need)
    assert not set(second.source) & set(first.source)


def test_what_compaction_may_have_taken_is_said_with_as_many_records_as_are_counted() -> None:
    source = log(f"{run(0, 20)} {'- ' * 60} {run(80, 100)}", compacted=True)
    decision = settle(60, source, log(run(0, 100))).decision
    assert (decision.offset, decision.repeats) == (20, 60)
    assert "60 records from the offset on may be copies of consumed records that it has lost" in decision.detail
