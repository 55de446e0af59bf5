"""Unconsumed records that the destination lacks although later ones are there: said with the offset."""

import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Decision, Policy
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Absent, Reason, Verdict
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.build import log, run
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.driver import FullLog, settle


def decided(committed: int, source: FullLog, destination: FullLog, **policy: t.Any) -> Decision:
    return settle(committed, source, destination, Policy(**policy)).decision


class TestShortLogs:
    """Both logs are counted: the number is exact."""

    def test_the_destination_has_lost_its_first_records(self) -> None:
        decision = decided(20, log(run(0, 60)), log(run(30, 60), start=30))
        assert (decision.verdict, decision.offset) == (Verdict.EXACT, 30)
        assert decision.absent == Absent(10, 20, exactly=True, deleted_before=30)
        assert "the destination's log starts at offset 30: retention or DeleteRecords has deleted" in str(
            decision.absent
        )

    def test_the_tool_has_left_records_out_after_the_start_of_a_log_that_has_lost_others(self) -> None:
        decision = decided(2, log("a b c d e f"), log("c e f", start=2))
        assert (decision.offset, decision.absent) == (2, Absent(1, 3))

    def test_the_tool_has_left_records_out(self) -> None:
        decision = decided(2, log("a b c d e f"), log("a b d f"))
        assert (decision.offset, decision.absent) == (2, Absent(2, 2))

    def test_some_of_them_may_belong_to_a_transaction_that_is_open(self) -> None:
        decision = decided(2, log("a b c d e f", high_watermark=8), log("a b d f"))
        assert decision.absent == Absent(2, 2, open_from=6)
        assert "open at the source from offset 6 on, and some of them may be its records" in str(decision.absent)

    @pytest.mark.parametrize("stamped", [False, True])
    def test_what_is_still_to_come_is_not_absent(self, stamped: bool) -> None:
        decision = decided(2, log("a b c d e f"), log("a b c d", stamped=stamped))
        assert (decision.offset, decision.absent) == (2, None)

    def test_nor_is_an_equal_record_that_is_still_to_come(self) -> None:
        decision = decided(1, log("a@0 b@1 a@2 b@3 a@4 b@5"), log("a@0 b@1 a@2 b@3"))
        assert (decision.offset, decision.absent) == (1, None)

    def test_of_equal_records_some_are_absent(self) -> None:
        decision = decided(1, log("a@0 b@1 a@2 b@3 a@4 b@5"), log("a@0 a@4 b@5", start=3))
        assert (decision.offset, decision.absent) == (4, Absent(3, 1))

    def test_where_the_tool_was_restarted_and_lags_nothing_is_absent(self) -> None:
        # Both copies are of offset 0, so nothing says that the tool has come to offset 2.
        assert decided(0, log("h@0 p@1 h@2"), log("h@0 h@0")).absent is None

    def test_nothing_was_consumed(self) -> None:
        decision = decided(0, log(run(0, 60)), log(run(30, 60), start=30))
        assert (decision.verdict, decision.offset) == (Verdict.EXACT, 30)
        assert decision.absent == Absent(30, 0, deleted_before=30)

    def test_records_have_expired_on_both_clusters(self) -> None:
        decision = decided(5, log(run(10, 60), start=10), log(run(30, 60), start=30))
        assert (decision.verdict, decision.reason) == (Verdict.SAFE, Reason.EXPIRED)
        assert decision.absent == Absent(20, 10, deleted_before=30)

    def test_a_compacted_destination_lacks_records_as_it_should(self) -> None:
        assert decided(2, log("a b c d e f"), log("a b - d - f", compacted=True)).absent is None


class TestLongLogs:
    """Few records are read."""

    def test_all_that_is_unconsumed_was_read(self) -> None:
        decision = decided(400, log(run(0, 600)), log(run(430, 590), start=430))
        assert (decision.verdict, decision.offset) == (Verdict.EXACT, 430)
        assert decision.absent == Absent(30, 400, deleted_before=430)

    def test_the_tool_lags(self) -> None:
        assert decided(400, log(run(0, 600)), log(run(0, 590))).absent is None

    def test_nothing_consumed_is_there(self) -> None:
        # Neither is the last consumed record, and 5,000 records follow: nothing is proved of what may be repeated.
        decision = decided(400, log(run(0, 6000)), log(run(430, 6000), start=430), budget=5000)
        assert (decision.verdict, decision.offset) == (Verdict.SAFE, 430)
        assert decision.absent == Absent(30, 400, exactly=False, deleted_before=430)

    def test_more_is_absent_than_is_read(self) -> None:
        decision = decided(400, log(run(0, 7000)), log(run(2000, 7000), start=2000), budget=5000)
        assert decision.absent == Absent(512, 400, exactly=False, deleted_before=2000)

    def test_nothing_was_consumed(self) -> None:
        decision = decided(0, log(run(0, 600)), log(run(30, 600), start=30))
        assert (decision.verdict, decision.offset) == (Verdict.EXACT, 30)
        assert decision.absent == Absent(30, 0, exactly=False, deleted_before=30)

    def test_nothing_was_consumed_and_nothing_is_absent(self) -> None:
        decision, rounds, records_read = settle(0, log(run(0, 600)), log(run(0, 600)))
        assert (decision.absent, rounds, records_read) == (None, 1, 16)

    def test_nothing_was_consumed_and_other_records_come_first(self) -> None:
        assert decided(0, log(run(0, 600)), log("x@-5 y@-4 " * 8 + run(0, 590))).absent is None

    def test_records_have_expired_on_both_clusters(self) -> None:
        decision = decided(5, log(run(10, 600), start=10), log(run(30, 600), start=30))
        assert decision.reason is Reason.EXPIRED
        assert decision.absent == Absent(20, 10, exactly=False, deleted_before=30)


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
        assert "wait for the replication tool only if it has not copied this record yet" in decision.detail
        assert "none after it" not in decision.detail
        with_all = decided(36, source, log("a@1 " * 20), with_timestamp=False)
        assert "none after it; wait for the replication tool, or see" in with_all.detail

    @pytest.mark.parametrize("committed", [0, 5, 10])
    def test_an_empty_log_that_had_records_is_told_apart_from_a_tool_that_lags(self, committed: int) -> None:
        assert self.EMPTIED in decided(committed, log(run(0, 10)), log("", start=10)).detail
        assert "deleted" not in decided(committed, log(run(0, 10)), log("")).detail

    def test_where_nothing_is_to_come_nothing_is_said(self) -> None:
        assert "deleted" not in decided(0, log(""), log("", start=10)).detail
        assert "deleted" not in decided(10, log("", start=10), log("", start=10)).detail

    def test_a_long_source(self) -> None:
        assert self.EMPTIED in decided(400, log(run(0, 600)), log("", start=10)).detail
