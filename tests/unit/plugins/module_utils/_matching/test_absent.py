"""Unconsumed records that the destination lacks although later ones are there: said with the offset."""

import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Decision, Policy
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Absent, Reason, Verdict
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.build import log, run
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.driver import FullLog, settle


def decided(committed: int, source: FullLog, destination: FullLog, **policy: t.Any) -> Decision:
    return settle(committed, source, destination, Policy(**policy)).decision


# Both logs of these are counted: the number is exact.
SHORT = {
    "the destination has lost its first records": (
        20, log(run(0, 60)), log(run(30, 60), start=30), 30, Absent(10, 20, exactly=True, deleted_before=30),
    ),
    "left out after the start of a log that has lost others": (
        2, log("a b c d e f"), log("c e f", start=2), 2, Absent(1, 3),
    ),
    "left out": (2, log("a b c d e f"), log("a b d f"), 2, Absent(2, 2)),
    "some may be of an open transaction": (
        2, log("a b c d e f", high_watermark=8), log("a b d f"), 2, Absent(2, 2, open_from=6),
    ),
    "still to come": (2, log("a b c d e f"), log("a b c d"), 2, None),
    "still to come, stamped": (2, log("a b c d e f"), log("a b c d", stamped=True), 2, None),
    "an equal record is still to come": (1, log("a@0 b@1 a@2 b@3 a@4 b@5"), log("a@0 b@1 a@2 b@3"), 1, None),
    "some of equal ones": (1, log("a@0 b@1 a@2 b@3 a@4 b@5"), log("a@0 a@4 b@5", start=3), 4, Absent(3, 1)),
    "of equal ones, only consumed ones were never copied": (
        6, log("a x b x c x d x e x"), log("c x d x e x", stamped=True), 2, None,
    ),
    # Both copies are of offset 0, so nothing says that the tool has come to offset 2.
    "the tool was restarted and lags": (0, log("h@0 p@1 h@2"), log("h@0 h@0"), 0, None),
    "nothing was consumed, and the first record is there": (0, log("a b c d"), log("a c d"), 0, Absent(1, 1)),
    "nothing was consumed": (0, log(run(0, 60)), log(run(30, 60), start=30), 30, Absent(30, 0, deleted_before=30)),
    "expired on both clusters": (
        5, log(run(10, 60), start=10), log(run(30, 60), start=30), 30, Absent(20, 10, deleted_before=30),
    ),
    "a compacted destination": (2, log("a b c d e f"), log("a b - d - f", compacted=True), 2, None),
}  # fmt: skip


@pytest.mark.parametrize("name", SHORT)
def test_of_short_logs(name: str) -> None:
    committed, source, destination, offset, absent = SHORT[name]
    decision = decided(committed, source, destination)
    assert (decision.offset, decision.absent) == (offset, absent)


def test_why_they_are_absent_is_said_as_far_as_it_is_known() -> None:
    told = str(decided(20, log(run(0, 60)), log(run(30, 60), start=30)).absent)
    assert "the destination's log starts at offset 30: retention or DeleteRecords has deleted" in told
    told = str(decided(2, log("a b c d e f", high_watermark=8), log("a b d f")).absent)
    assert "open at the source from offset 6 on, and some of them may be its records" in told


ALL = log(run(0, 600))
# Of these, few records are read; of the last ones, at most 5,000.
LONG = {
    "all that is unconsumed was read": (
        400, ALL, log(run(430, 590), start=430), Verdict.EXACT, Absent(30, 400, deleted_before=430),
    ),
    "the tool lags": (400, ALL, log(run(0, 590)), Verdict.EXACT, None),
    "nothing was consumed": (
        0, ALL, log(run(30, 600), start=30), Verdict.EXACT, Absent(30, 0, exactly=False, deleted_before=30),
    ),
    "nothing was consumed, and the broker has stamped the copies": (
        0, ALL, log(run(30, 600), start=30, stamped=True), Verdict.EXACT, Absent(30, 0, deleted_before=30),
    ),
    "nothing was consumed, and the tool sets its own times": (
        0, ALL, log(" ".join(f"r{number}@{number + 5000}" for number in range(30, 600))), Verdict.EXACT, Absent(30, 0),
    ),
    "nothing was consumed, and records have no times": (
        0, log(" ".join(f"r{number}@-1" for number in range(600))),
        log(" ".join(f"r{number}@-1" for number in range(30, 600))), Verdict.EXACT, Absent(30, 0),
    ),
    "nothing was consumed, stamped records of others come first": (
        0, ALL, log(run(900, 916) + " " + run(0, 590), stamped=True), Verdict.EXACT, None,
    ),
    "nothing was consumed, aborted data comes first at the source": (
        0, log(f"{'(x) ' * 8}{run(0, 600)}"), log(run(30, 600), start=30), Verdict.EXACT,
        Absent(30, 8, exactly=False, deleted_before=30),
    ),
    "nothing was consumed, aborted data comes first at the destination": (
        0, ALL, log(f"{'- ' * 8}{run(30, 600)}"), Verdict.EXACT, Absent(30, 0, exactly=False),
    ),
    "nothing was consumed, much aborted data comes first at the source": (
        0, log(f"{'(x) ' * 600}{run(0, 600)}"), log(run(30, 600), start=30), Verdict.EXACT,
        Absent(30, 600, exactly=False, deleted_before=30),
    ),
    "nothing was consumed, and the clock of the first record is far ahead": (
        0, log(f"x@1000000 {run(0, 600)}"), ALL, Verdict.EXACT, Absent(1, 0, exactly=False),
    ),
    "nothing was consumed, and the clocks of the first records are far ahead": (
        0, log(f"{'- ' * 600}{run(1000000, 1000020)} {run(100, 600)}"), ALL, Verdict.EXACT, Absent(20, 600, exactly=False),
    ),
    "aborted data follows the committed offset": (
        100, log(f"{run(0, 100)} {'(x) ' * 600}{run(100, 6700)}"), log(f"{run(0, 100)} {run(130, 6700)}"), Verdict.SAFE,
        Absent(30, 700, exactly=False),
    ),
    "expired, and all that is left is still to come": (
        5, log(run(100, 600), start=100), log(run(0, 90)), Verdict.SAFE, None,
    ),
    "nothing was consumed, other records come first": (0, ALL, log("x@-5 y@-4 " * 8 + run(0, 590)), Verdict.EXACT, None),
    "expired on both clusters": (
        5, log(run(10, 600), start=10), log(run(30, 600), start=30), Verdict.SAFE,
        Absent(20, 10, exactly=False, deleted_before=30),
    ),
    # Neither is the last consumed record there, and 5,000 records follow: nothing is proved of what may be repeated.
    "nothing consumed is there": (
        400, log(run(0, 6000)), log(run(430, 6000), start=430), Verdict.SAFE,
        Absent(30, 400, exactly=False, deleted_before=430),
    ),
    "more is absent than is read": (
        400, log(run(0, 7000)), log(run(2000, 7000), start=2000), Verdict.SAFE,
        Absent(512, 400, exactly=False, deleted_before=2000),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LONG)
def test_of_long_logs(name: str) -> None:
    committed, source, destination, verdict, absent = LONG[name]
    decision = decided(committed, source, destination, search_limit=5000)
    assert (decision.verdict, decision.absent) == (verdict, absent)


def pairs(first: int, end: int) -> str:
    """Every record is there twice, with the same time."""
    return " ".join(f"r{number} r{number}" for number in range(first, end))


AGAIN = {
    # What retention has deleted of the first copies is there once more.
    "all of it": (0, ALL, log(f"{run(100, 600)} {run(0, 600)}", start=100), None),
    "what is left": (0, ALL, log(f"{run(100, 600)} {run(100, 600)}", start=100), 100),
    "what is left, expired": (5, log(run(10, 600), start=10), log(f"{run(30, 600)} {run(30, 600)}", start=30), 20),
    "all of it, and it lags": (0, ALL, log(f"{run(5, 300)} {run(0, 500)}"), None),
    "nothing, of records that are there twice": (0, log(pairs(0, 300)), log(pairs(60, 300), start=120), 120),
    "all, of records that are there twice": (
        0,
        log(pairs(0, 300)),
        log(f"{pairs(60, 300)} {pairs(0, 300)}", start=120),
        None,
    ),
}


@pytest.mark.parametrize("what", AGAIN)
def test_what_a_tool_has_copied_again_is_not_absent(what: str) -> None:
    committed, source, destination, number = AGAIN[what]
    absent = decided(committed, source, destination).absent
    assert (absent and absent.records) == number


def test_no_more_is_read_where_nothing_is_there_twice() -> None:
    _decision, _rounds, records_read = settle(0, log(run(0, 20_000)), log(run(30, 20_000), start=30))
    assert records_read < 1000


def test_what_is_absent_from_a_log_that_is_too_long_to_count_is_not_known() -> None:
    decision = decided(0, ALL, log(run(30, 600), start=30, stamped=True), search_limit=500)
    assert (decision.verdict, decision.absent) == (Verdict.EXACT, None)
    assert "whether unconsumed records are absent is not known" in decision.detail
    assert "not known" not in decided(0, ALL, log(run(0, 590), stamped=True), search_limit=500).detail


def test_nothing_was_consumed_and_nothing_is_absent() -> None:
    decision, rounds, records_read = settle(0, ALL, ALL)
    assert (decision.absent, rounds, records_read) == (None, 1, 16)


NOTHING_ABSENT = {
    "the tool lags": (log(run(1000, 2000), start=1000), log(run(0, 600)), 528),
    "the tool lags, and aborted data is last": (log(run(1000, 2000), start=1000), log(run(0, 600) + " -" * 8), 544),
    "aborted data comes first at the source": (log(f"{'(x) ' * 8}{run(0, 600)}"), ALL, 512),
    "much aborted data comes first at the source": (log(f"{'(x) ' * 600}{run(0, 3000)}"), log(run(0, 3000)), 432),
    "the source has only aborted data": (log("(x) " * 600), ALL, 16),
    "aborted data comes first at the destination": (ALL, log(f"{'- ' * 8}{run(0, 600)}"), 512),
    "the destination has only aborted data": (ALL, log("- " * 20), 8),
}


@pytest.mark.parametrize("name", NOTHING_ABSENT)
def test_nothing_was_consumed_and_few_readings_show_that_nothing_is_absent(name: str) -> None:
    source, destination, few = NOTHING_ABSENT[name]
    decision, _rounds, records_read = settle(0, source, destination)
    assert (decision.verdict, decision.absent, records_read) == (Verdict.EXACT, None, few)


class TestDeleted:
    """The destination has deleted all that it had."""

    EMPTIED = (
        "the destination's log is empty and starts at offset 10: retention or DeleteRecords has deleted what was there"
    )

    def test_equal_records_of_which_some_were_deleted_are_not_waited_for(self) -> None:
        source, copies = log("a " * 70), log("a@1 " * 20, start=50)
        decision = decided(36, source, copies, with_timestamp=False)
        assert decision.reason is Reason.DESTINATION_LAGS
        assert (
            "the destination's log starts at offset 50: retention or DeleteRecords has deleted what was before"
            in decision.detail
        )
        assert (
            "wait for the replication tool (wait_for_replication) only if it has not copied this record yet"
            in decision.detail
        )
        assert "none after it" not in decision.detail
        with_all = decided(36, source, log("a@1 " * 20), with_timestamp=False)
        assert "none after it; wait for the replication tool (wait_for_replication), or see" in with_all.detail

    @pytest.mark.parametrize("committed", [0, 5, 10])
    def test_an_empty_log_that_had_records_is_told_apart_from_a_tool_that_lags(self, committed: int) -> None:
        assert self.EMPTIED in decided(committed, log(run(0, 10)), log("", start=10)).detail
        assert "deleted" not in decided(committed, log(run(0, 10)), log("")).detail

    def test_where_nothing_is_to_come_nothing_is_said(self) -> None:
        assert "deleted" not in decided(0, log(""), log("", start=10)).detail
        assert "deleted" not in decided(10, log("", start=10), log("", start=10)).detail

    def test_a_long_source(self) -> None:
        assert self.EMPTIED in decided(400, log(run(0, 600)), log("", start=10)).detail
