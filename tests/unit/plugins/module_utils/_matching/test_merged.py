"""The rule for repartitioned and merged topics: situation by situation, and against random topics whose truth is known."""

import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.between import Between
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Decision, LogFacts, Policy
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.group_count import Answer
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.merged import (
    Missing,
    PartitionCount,
    Position,
    Sources,
    blocked_by_one,
    decide_merged,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict
from tests.attack.examples import complaints
from tests.attack.tally import attack

THERE = LogFacts(0, 100, 100)
COMPACTED = {"compacted": True}


def position(committed: int | None, start: int = 0, end: int = 50, number: int = 0, **facts: t.Any) -> Position:
    its = LogFacts(start, end, facts.pop("high_watermark", end), **facts)
    return Position(TopicPartition("orders", number), committed, start if committed is None else committed, its)


NOTHING, OLDER, YOUNGER = Between(False, False), Between(True, False), Between(True, True)


def found(
    first: int | None = None,
    last: int | None = None,
    between: Between = NOTHING,
    *,
    repeats: int = 0,
    equal: int = 0,
    recopied: bool = False,
    surplus: int | None = None,
    unknown: int | None = None,
    young: int | None = None,
    if_lost: int = 0,
) -> PartitionCount:
    """What counting and reading say: the first unconsumed copy, the last consumed one before it, and the rest."""
    offset = 0 if last is None else last + 1
    answer = Answer(offset, repeats, equal, False, True, last, first, recopied, None, None, if_lost=if_lost)
    return PartitionCount(answer, between, unknown, surplus, young)


def decided(found: PartitionCount, *positions: Position, missing: Missing | None = None, **policy: t.Any) -> Decision:
    return decide_merged(Sources(positions or (position(20),), missing), found, THERE, Policy(**policy))


def told(decision: Decision) -> tuple[Verdict, int | None, Reason | None, int | None]:
    return decision.verdict, decision.offset, decision.reason, decision.repeats


@pytest.mark.parametrize(
    ("found", "positions", "expected"),
    [
        pytest.param(found(8, 7), (), (8, None, 0), id="consumed ones first"),
        pytest.param(found(8, 7, repeats=3), (), (8, Reason.REPARTITIONED, 3), id="mixed"),
        pytest.param(found(8, 7, repeats=5, equal=2), (), (8, Reason.REPARTITIONED, 5), id="both"),
        pytest.param(found(8, 7, repeats=2, equal=2), (), (8, Reason.EQUAL_RECORDS, 2), id="equal records"),
        pytest.param(
            found(8, 7, repeats=1, if_lost=2),
            (),
            (8, Reason.SOURCE_LOST_RECORDS, 3),
            id="copies before the offset may be those of lost records",
        ),
        pytest.param(found(None, 7), (), (8, None, 0), id="nothing unconsumed"),
        pytest.param(found(), (), (0, None, 0), id="empty"),
        pytest.param(found(8, 3, unknown=5), (), (4, None, 0), id="a foreign record is not skipped"),
        pytest.param(found(8, 3, recopied=True), (), (4, Reason.RECOPIED, 0), id="recopied, and whole"),
        pytest.param(found(8, 3, OLDER), (position(20, 10),), (8, None, 0), id="what has expired is not repeated"),
        pytest.param(
            found(8, 3, YOUNGER),
            (position(20, 10),),
            (4, Reason.SOURCE_LOST_RECORDS, None),
            id="what is too young to have expired may be foreign",
        ),
        pytest.param(
            found(8, 3, OLDER),
            (position(20, **COMPACTED),),
            (4, Reason.SOURCE_LOST_RECORDS, None),
            id="compaction takes unconsumed ones too",
        ),
        pytest.param(
            found(8, 3, repeats=1), (position(20, **COMPACTED),), (4, Reason.REPARTITIONED, 1), id="compacted"
        ),
        pytest.param(found(8, unknown=2), (), (8, None, 0), id="junk before the copy is skipped"),
        pytest.param(found(8, unknown=9), (), (0, None, 0), id="nothing consumed came here"),
        pytest.param(found(unknown=9), (), (0, None, 0), id="only foreign records"),
        pytest.param(
            found(8, unknown=2),
            (position(20, **COMPACTED),),
            (0, Reason.SOURCE_LOST_RECORDS, None),
            id="compacted, and nothing consumed came here",
        ),
        pytest.param(found(8, 3), (position(0), position(None, 5)), (0, None, 0), id="nothing was consumed"),
        pytest.param(found(8, 3), (position(0), position(5, 5)), (4, None, 0), id="all that was consumed has expired"),
    ],
)
def test_the_group_stands_after_the_last_consumed_record_before_the_first_unconsumed_one(found, positions, expected):
    decision = decided(found, *positions)
    assert (decision.offset, decision.reason, decision.repeats) == expected
    assert decision.verdict is (Verdict.EXACT if expected[1] in (None, Reason.RECOPIED) else Verdict.SAFE)


@pytest.mark.parametrize(
    ("policy", "retention", "offset"),
    [("by_retention", 1000, 30), ("by_retention", None, 0), ("start", 1000, 0), ("end", 1000, 100)],
)
def test_where_all_has_expired_that_was_consumed_the_policy_decides(policy, retention, offset):
    its = found(unknown=5, young=30)
    decision = decided(its, position(20, 10, retention_ms=retention), on_no_anchor=policy)
    assert told(decision) == (Verdict.SAFE, offset, Reason.CAUGHT_UP, None)


def test_without_young_records_by_retention_is_the_end_and_fail_blocks():
    old = found(unknown=5)
    assert decided(old, position(20, 10, retention_ms=1000)).offset == 100
    blocked = decided(old, position(20, 10, retention_ms=1000), on_no_anchor="fail")
    assert (told(blocked), blocked.lossless_offset) == ((Verdict.BLOCKED, None, Reason.POLICY_FAIL, None), 0)


@pytest.mark.parametrize(
    ("policy", "found", "offset"),
    [
        pytest.param("count_back", found(8, 3, unknown=2), 2, id="it may be one of the lost"),
        pytest.param("count_back", found(8, 3, unknown=20), 4, id="those after it are read anyway"),
        pytest.param("count_back", found(unknown=2), 2, id="nothing but lost ones"),
        pytest.param("count_back", found(8, 3, surplus=2), 2, id="it may be the copy of a lost twin"),
        pytest.param("start", found(8, 3, unknown=2), 0, id="start"),
        pytest.param("first_visible", found(8, 3, unknown=2), 4, id="first visible"),
        pytest.param("first_visible", found(8, unknown=2), 8, id="first visible, no consumed one"),
        pytest.param("first_visible", found(unknown=2), 100, id="first visible, none there"),
    ],
)
def test_unconsumed_records_that_have_expired_are_found_among_what_only_the_destination_has(policy, found, offset):
    decision = decided(found, position(20), position(5, 12, number=1), on_expired=policy)
    assert told(decision) == (Verdict.SAFE, offset, Reason.EXPIRED, None)
    assert "7" in decision.detail


@pytest.mark.parametrize(("start", "incomplete"), [(0, False), (1, True)])
def test_a_source_has_lost_records_from_the_first_expired_one_on(start, incomplete):
    assert Sources((position(20), position(20, start, number=1))).incomplete is incomplete


def test_expired_records_may_block():
    decision = decided(found(8, 3), position(5, 12), on_expired="fail")
    assert (told(decision), decision.lossless_offset) == ((Verdict.BLOCKED, None, Reason.POLICY_FAIL, None), 0)


def test_consumed_records_that_are_still_to_come_block_and_are_named():
    missing = Missing(3, TopicPartition("orders", 2), 41)
    decision = decided(found(8, 3), missing=missing)
    assert (told(decision), decision.lossless_offset) == ((Verdict.BLOCKED, None, Reason.DESTINATION_LAGS, None), 4)
    assert "3 consumed records" in decision.detail
    assert "orders-2 offset 41" in decision.detail
    hiding = decide_merged(Sources((position(20),), missing), found(8, 3), LogFacts(50, 60, 63), Policy()).detail
    assert "the destination's log starts at offset 50: retention or DeleteRecords has deleted what was before" in hiding
    assert "a transaction that is open at the destination hides 3 offsets from 60 on" in hiding
    assert "wait for the replication tool (wait_for_replication) only if it has not copied them yet" in hiding


@pytest.mark.parametrize(
    ("source", "offset"),
    [
        pytest.param(position(50, 50, retention_ms=1), 30, id="expired"),
        pytest.param(position(50, **COMPACTED), 0, id="compacted"),
    ],
)
def test_what_a_partition_hides_may_be_copies_of_lost_records(source: Position, offset: int):
    decision = decide_merged(Sources((source,)), found(), LogFacts(0, 30, 100), Policy())
    assert told(decision) == (Verdict.SAFE, offset, Reason.CAUGHT_UP, None)
    assert "open at the destination hides 70 offsets from 30 on, which may be copies of consumed" in decision.detail


def test_what_a_partition_hides_is_still_to_come_where_the_source_has_lost_nothing():
    decision = decide_merged(Sources((position(50),)), found(), LogFacts(0, 30, 100), Policy())
    assert told(decision) == (Verdict.EXACT, 0, None, 0)


@pytest.mark.parametrize("skipping", [{"on_expired": "first_visible"}, {"on_expired": "fail"}, {"on_no_anchor": "end"}])
def test_no_option_makes_the_lossless_offset_skip_records(skipping):
    missing = Missing(3, TopicPartition("orders", 2), 41)
    decision = decided(found(8, 3, unknown=2), position(5, 12), missing=missing, **skipping)
    assert (decision.reason, decision.lossless_offset) == (Reason.DESTINATION_LAGS, 2)
    decision = decided(found(unknown=2), position(20, 10), missing=missing, **skipping)
    assert (decision.reason, decision.lossless_offset) == (Reason.DESTINATION_LAGS, 0)


@pytest.mark.parametrize(
    ("positions", "reason"),
    [
        pytest.param((position(20), position(50, number=1)), None, id="within"),
        pytest.param((position(20), position(51, number=1)), Reason.BEYOND_END, id="beyond the end"),
        pytest.param((position(50, high_watermark=60),), None, id="before an open transaction"),
        pytest.param((position(51, high_watermark=60),), Reason.OPEN_TRANSACTION, id="in an open transaction"),
        pytest.param((position(None, high_watermark=60),), None, id="nothing committed"),
    ],
)
def test_one_source_partition_can_refuse_them_all(positions, reason):
    decision = blocked_by_one(positions)
    assert (decision and decision.reason) is reason
    assert decision is None or str(positions[-1].partition) in decision.detail
    assert reason is not Reason.BEYOND_END or "to the start of the log (earliest)" in decision.detail


@pytest.mark.parametrize("name", ["mixed", "equal records", "expired", "open, copied", "again", "lag", "strangers"])
def test_no_topic_breaks_a_promise(name: str) -> None:
    tally = attack(name, range(60), ways=("merged",))
    assert not complaints(tally, "merged")
    assert all(tally.counts[name, "merged", verdict] for verdict in ("exact", "safe"))
