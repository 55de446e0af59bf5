"""Where a reset sets a group in one log, against a model that counts offsets one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.reset_offsets import ResetLog, reset_decision
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnOutOfRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.reset_rules import ResetRule, ResetTo
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict

LOG = ResetLog(log_start=10, stable=100, end=100)
BLOCK, CLAMP = OnOutOfRange.BLOCK, OnOutOfRange.CLAMP


def decided(to, value=0, committed=40, log=LOG, policy=BLOCK):
    return reset_decision(ResetRule(ResetTo(to), value, str(value) if value else ""), committed, log, policy)


@pytest.mark.parametrize(
    ("to", "value", "committed", "offset", "detail"),
    [
        ("earliest", 0, 40, 10, "earliest; 30 offsets are repeated"),
        ("latest", 0, 40, 100, "latest; 60 offsets are skipped"),
        ("current", 0, 40, 40, "current; nothing is skipped or repeated"),
        ("shift", -1, 40, 39, "shift -1; 1 offset is repeated"),
        ("shift", 60, 40, 100, "shift 60; 60 offsets are skipped"),
        ("offset", 41, 40, 41, "offset 41; 1 offset is skipped"),
        ("earliest", 0, None, 10, "earliest; nothing was committed, and 0 offsets are before it"),
        ("latest", 0, None, 100, "latest; nothing was committed, and 90 offsets are before it"),
        # What has expired is neither skipped nor repeated by anybody.
        ("latest", 0, 3, 100, "latest; 90 offsets are skipped"),
        ("earliest", 0, 3, 10, "earliest; nothing is skipped or repeated"),
        # A topic that was created again: the offsets from its end on are of another log.
        ("earliest", 0, 500, 10, "earliest; 90 offsets are repeated"),
    ],
)
def test_the_offset_is_taken_and_what_it_skips_or_repeats_is_counted(to, value, committed, offset, detail):
    decision = decided(to, value, committed)
    assert (decision.verdict, decision.offset, decision.detail) == (Verdict.REQUESTED, offset, detail)


@pytest.mark.parametrize(
    ("to", "committed", "repeats", "skipped"),
    [
        ("latest", 40, 0, 60),
        ("earliest", 40, 30, 0),
        ("earliest", 3, 0, 0),
        ("latest", 3, 0, 90),
        ("latest", None, 0, 0),
    ],
)
def test_the_numbers_are_those_of_the_detail(to, committed, repeats, skipped):
    """What has expired is neither repeated nor skipped, and of what was never committed, nobody knows what was consumed."""
    decision = decided(to, committed=committed)
    assert (decision.repeats, decision.skipped) == (repeats, skipped)


def test_a_time_is_where_its_first_record_is_or_the_end_of_older_ones():
    rule = ResetRule(ResetTo.DATETIME, 1, "then")
    assert reset_decision(rule, 40, LOG._replace(at=55), BLOCK).offset == 55
    assert reset_decision(rule, 40, LOG, BLOCK).offset == 100
    before_all = LOG._replace(at=12, begins_later=True)
    blocked = reset_decision(rule, 40, before_all, BLOCK)
    assert (blocked.verdict, blocked.reason) == (Verdict.BLOCKED, Reason.OUT_OF_RANGE)
    assert "datetime then: the log's first record is younger; on_out_of_range: clamp takes offset 12" in blocked.detail
    clamped = reset_decision(rule, 40, before_all, CLAMP)
    assert clamped.offset == 12
    assert "the log's first record is younger: moved to offset 12 (on_out_of_range: clamp)" in clamped.detail


@pytest.mark.parametrize(("to", "value", "nearest"), [("offset", 9, 10), ("offset", 101, 100), ("shift", -31, 10)])
def test_an_offset_outside_of_the_log_is_blocked_or_clamped(to, value, nearest):
    blocked = decided(to, value)
    assert (blocked.offset, blocked.reason) == (None, Reason.OUT_OF_RANGE)
    assert blocked.detail.startswith("shift -31: offset 9 is not" if to == "shift" else f"offset {value} is not")
    assert "is not between the log's start 10 and its end 100" in blocked.detail
    assert f"clamp takes offset {nearest}" in blocked.detail
    assert decided(to, value, policy=CLAMP).offset == nearest


def test_an_expired_commit_is_outside_for_current_as_well():
    assert decided("current", committed=3).reason is Reason.OUT_OF_RANGE
    assert decided("current", committed=3, policy=CLAMP).offset == 10


def test_records_of_an_open_transaction_that_are_skipped_are_told():
    open_log = LOG._replace(stable=90)
    assert "an open transaction begins at offset 90, and its records before 100 are skipped" in (
        decided("latest", log=open_log).detail
    )
    assert "transaction" not in decided("offset", 90, log=open_log).detail


@given(st.sampled_from(["earliest", "latest", "shift", "offset"]), *[st.integers(0, 20)] * 3, st.integers(-25, 25))
def test_the_counts_are_those_of_the_offsets_one_by_one(to, start, length, committed, value):
    log = ResetLog(start, start + length, start + length)
    value = abs(value) if to == "offset" else value
    decision = decided(to, value if to in ("shift", "offset") else 0, committed, log, CLAMP)
    held = range(log.log_start, log.end)
    assert decision.offset is not None and log.log_start <= decision.offset <= log.end
    assert decision.repeats == sum(decision.offset <= each < committed for each in held)
    skipped = sum(committed <= each < decision.offset for each in held)
    assert (f" {skipped} offset" in decision.detail and "skipped" in decision.detail) or not skipped
