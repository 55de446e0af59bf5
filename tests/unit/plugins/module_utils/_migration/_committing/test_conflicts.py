"""What a commit does with an entry, policy by policy and situation by situation."""

import dataclasses
import time
import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing import (
    conflicts,
    entry_decision,
    rollback,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing.entry_decision import Ground
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing.outcome import CommitOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import (
    CommittedOffset,
    GroupReading,
    commits_of,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.grouping import nested
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import PlanEntry, SourcePosition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnAdvance, OnRewind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import (
    Origin,
    Pending,
    Receipt,
    ReceiptEntry,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict

PARTITION = TopicPartition("orders", 0)
KEY = ("billing", PARTITION)
NOTHING_KNOWN = Receipt("id")


def at(offset: int | None, metadata: str = "") -> CommittedOffset | None:
    return None if offset is None else CommittedOffset(offset, metadata)


def entry(
    offset: int | None, expected: int | CommittedOffset | None = None, group: str = "billing", **more: object
) -> PlanEntry:
    verdict = Verdict.EXACT if offset is not None else Verdict.BLOCKED
    source = (SourcePosition(group, PARTITION, 41),)
    found = expected if isinstance(expected, CommittedOffset) else at(expected)
    return PlanEntry(group, PARTITION, offset, verdict, source, expected=found, **more)  # type: ignore[arg-type]


def receipt(before: int | None, written: int | None, after: int | None) -> Receipt:
    return Receipt("id", (ReceiptEntry(*KEY, at(before), at(written), at(after)),))


def ground_of(
    found: CommittedOffset | None,
    known: Receipt = NOTHING_KNOWN,
    on_rewind: str = "fail",
    on_advance: str = "advance",
    joined: tuple[str, ...] = ("billing",),
) -> Ground:
    offsets = {} if found is None else {PARTITION: found}
    protocol = "consumer" if "billing" in joined else ""
    readings = {"billing": GroupReading("billing", True, "Empty", "classic", protocol, offsets)}
    options = CommitOptions(on_rewind=OnRewind(on_rewind), on_advance=OnAdvance(on_advance))
    return Ground("cloud", readings, known, options)


def decided(plan: PlanEntry, found: CommittedOffset | None, *known: Receipt, **how: t.Any) -> str:
    """written, kept, right (nothing to do), refused by a policy, or changed (since the plan was made).

    What would be written or refused is what a preview and a verification are about, too.
    """
    ground = ground_of(found, *known, **how)
    does = _does(plan, ground)
    assert entry_decision.entries_to_write([plan], ground) == ([] if does in ("kept", "right") else [plan])
    return does


def _does(plan: PlanEntry, ground: Ground) -> str:
    try:
        writes = entry_decision.commit_writes([plan], ground)
    except Refused as exc:
        assert (exc.cluster, exc.group, exc.topic, exc.partition) == ("cloud", "billing", "orders", 0)
        assert exc.remedy
        return "changed" if "has changed since" in exc.what else "refused"
    kept = [*writes.kept, *writes.going_on.values()]
    assert not (writes.set and kept)
    if writes.set:
        assert writes.set == {KEY: plan.target}
        return "written"
    return "kept" if kept else "right"


# A plan that was made just now, and so expects what is there; its target is 50.
@pytest.mark.parametrize(
    ("found", "on_rewind", "on_advance", "expected"),
    [
        (None, "fail", "fail", "written"),
        (None, "keep", "keep", "written"),
        (50, "fail", "fail", "right"),
        (10, "fail", "advance", "written"),
        (10, "fail", "keep", "kept"),
        (10, "fail", "fail", "refused"),
        (90, "fail", "advance", "refused"),
        (90, "keep", "advance", "kept"),
        (90, "rewind", "fail", "written"),
    ],
)
def test_the_first_run(found, on_rewind, on_advance, expected):
    assert decided(entry(50, found), at(found), on_rewind=on_rewind, on_advance=on_advance) == expected


@pytest.mark.parametrize(("expected", "found"), [(None, 10), (10, None), (10, 11), (10, 90)])
@pytest.mark.parametrize(("on_rewind", "on_advance"), [("fail", "fail"), ("keep", "keep"), ("rewind", "advance")])
def test_no_policy_overrides_a_commit_that_the_plan_has_not_seen(expected, found, on_rewind, on_advance):
    assert decided(entry(50, expected), at(found), on_rewind=on_rewind, on_advance=on_advance) == "changed"


def test_a_commit_that_is_right_already_is_no_conflict_though_the_plan_has_not_seen_it():
    assert decided(entry(50, None), at(50)) == "right"


def test_metadata_belongs_to_a_commit():
    plan = entry(50, 50, metadata="from the source")
    assert decided(plan, at(50)) == "written"
    assert decided(plan, at(50), on_advance="keep") == "kept"
    assert decided(plan, at(50, "from the source")) == "right"


def test_a_leader_epoch_that_nobody_asked_for_is_no_difference():
    found = CommittedOffset(50, "", 7)
    assert decided(entry(50), found) == "right"
    assert decided(entry(50, found, leader_epoch=6), found) == "written"
    assert decided(entry(70, CommittedOffset(50, "", 6)), found) == "written", "nor a change since the plan was made"


# The plan's file is the first run's, which expected what stood there before (10 or nothing); its target is 50.
@pytest.mark.parametrize(
    ("before", "after", "found", "expected"),
    [
        pytest.param(10, 50, 50, "right", id="second run"),
        pytest.param(10, 50, 60, "kept", id="has consumed since"),
        pytest.param(None, 50, 60, "kept", id="has consumed since, and had no commit before"),
        pytest.param(10, 50, 30, "refused", id="somebody has rewound it since"),
        pytest.param(10, 50, None, "refused", id="its commit has expired since"),
        pytest.param(None, 50, None, "refused", id="its commit has expired since, and had no commit before"),
        pytest.param(10, 50, 10, "written", id="somebody has put it back since"),
        pytest.param(None, None, None, "written", id="killed before its write"),
        pytest.param(10, None, 10, "written", id="killed before its write, and had a commit before"),
        pytest.param(10, None, 50, "right", id="killed after its write"),
        pytest.param(10, None, 60, "changed", id="killed, and somebody has committed since"),
        pytest.param(10, 70, 70, "changed", id="read back otherwise"),
    ],
)
def test_a_run_after_an_earlier_one(before, after, found, expected):
    assert decided(entry(50, before), at(found), receipt(before, 50, after)) == expected


def test_what_was_moved_back_stays_so_even_for_a_new_plan_unless_it_is_migrated_anew():
    new_plan = entry(50, 30)
    assert decided(new_plan, at(30), receipt(10, 50, 50)) == "refused"
    assert decided(new_plan, at(30), receipt(10, 50, 50), on_advance="keep") == "kept"
    # After a rollback the receipt says that nothing is written here any more.
    assert decided(new_plan, at(30), receipt(10, None, None)) == "written"


# The same, where the first run was to rewind the group from 90 to 50.
@pytest.mark.parametrize(
    ("after", "found", "expected"),
    [
        pytest.param(None, 90, "written", id="killed before its write"),
        pytest.param(None, 50, "right", id="killed after its write"),
        pytest.param(50, 60, "kept", id="has consumed since"),
        pytest.param(50, 90, "kept", id="has consumed since, up to where it once stood"),
        pytest.param(90, 90, "written", id="read back as if it had not been written"),
    ],
)
def test_a_run_after_an_earlier_one_that_rewinds(after, found, expected):
    assert decided(entry(50, 90), at(found), receipt(90, 50, after), on_rewind="rewind") == expected


# The source has moved on, and a new plan says 70.
@pytest.mark.parametrize(
    ("found", "on_rewind", "expected"),
    [
        pytest.param(50, "fail", "written", id="nothing consumed at the destination"),
        pytest.param(60, "fail", "written", id="consumed on both clusters, further at the source"),
        pytest.param(80, "fail", "refused", id="consumed on both clusters, further at the destination"),
        pytest.param(80, "keep", "kept", id="the same, and allowed to stay"),
    ],
)
def test_the_source_has_moved_on(found, on_rewind, expected):
    assert decided(entry(70, found), at(found), receipt(10, 50, 50), on_rewind=on_rewind) == expected


def test_the_source_has_moved_on_and_the_plan_still_expects_what_stood_there_before_the_first_run():
    assert decided(entry(70, 10), at(50), receipt(10, 50, 50)) == "written"
    assert decided(entry(70, 10), at(60), receipt(10, 50, 50)) == "changed"


CHOSEN = {"verdict": Verdict.SAFE, "reason": Reason.CAUGHT_UP}


# The source has not moved since, and a new plan says another offset: an option chooses it by now, or records prove it.
@pytest.mark.parametrize(
    ("target", "found", "stood", "joined", "chosen", "proved"),
    [
        pytest.param(70, 60, 41, True, "kept", "written", id="consumed since, not as far as the plan"),
        pytest.param(55, 60, 41, True, "kept", "kept", id="consumed since, further than the plan"),
        pytest.param(45, 60, 41, True, "refused", "refused", id="what was set was too far"),
        pytest.param(70, 60, 41, False, "refused", "written", id="moved, though nobody has ever joined"),
        pytest.param(70, 50, 41, True, "written", "written", id="not consumed since"),
        pytest.param(70, 30, 41, True, "refused", "written", id="somebody has moved it back"),
        pytest.param(70, 60, 40, True, "written", "written", id="the source has moved"),
        pytest.param(70, 60, None, True, "written", "written", id="the source had committed nothing then"),
    ],
)
def test_no_option_moves_what_a_group_has_consumed_since(target, found, stood, joined, chosen, proved):
    line = receipt(None, 50, 50).entries[0]._replace(source=(Origin(*KEY),), stood=(stood,))
    its = {"known": Receipt("id", (line,)), "joined": ("billing",) if joined else ()}
    planned = entry(target, found)
    assert decided(dataclasses.replace(planned, **CHOSEN), at(found), **its) == chosen
    assert decided(planned, at(found), **its) == proved


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"verdict": Verdict.REQUESTED}, "kept"),
        ({"verdict": Verdict.SAFE, "reason": Reason.CAUGHT_UP}, "kept"),
        ({"verdict": Verdict.SAFE, "reason": Reason.EXPIRED}, "kept"),
        ({"verdict": Verdict.SAFE, "reason": Reason.GROUPS_MERGED, "chosen": Reason.CAUGHT_UP}, "kept"),
        ({"verdict": Verdict.SAFE, "reason": Reason.TAIL_NOT_COUNTED}, "written"),
    ],
)
def test_a_receipt_that_does_not_note_how_the_source_stood_lets_no_chosen_offset_skip(more, expected):
    planned = dataclasses.replace(entry(70, 60), **more)
    assert decided(planned, at(60), receipt(None, 50, 50)) == expected


# A group that was migrated to 50, and whose commits are gone: removed, renamed, or expired.
@pytest.mark.parametrize("target", [50, 70])
@pytest.mark.parametrize("before", [None, 10])
@pytest.mark.parametrize(("on_rewind", "expected"), [("fail", "refused"), ("keep", "kept"), ("rewind", "written")])
def test_a_commit_that_was_written_and_is_gone_is_remembered(target, before, on_rewind, expected):
    for plan in (entry(target, None), entry(target, before)):
        assert decided(plan, None, receipt(before, 50, 50), on_rewind=on_rewind) == expected
        assert decided(plan, None, receipt(before, 50, 50), on_rewind=on_rewind, joined=()) == expected


def test_what_has_become_of_a_commit_that_is_gone_is_said_with_what_each_way_repeats_or_skips():
    known = Receipt("id", (ReceiptEntry(*KEY, None, at(50), at(50), time=1_764_086_400),))
    ground = dataclasses.replace(ground_of(None, known, joined=()), ends={PARTITION: 93})
    with pytest.raises(Refused) as refused:
        entry_decision.commit_writes([entry(50)], ground)
    assert refused.value.kind == "destination_changed"
    assert str(refused.value) == (
        "cloud, group billing, topic orders, partition 0: the group was migrated to 50 on 2025-11-25T16:00:00Z, and has "
        "no committed offset now (committing 50 repeats what it has consumed at the destination, up to 43 records): its "
        "committed offsets have expired, or somebody has removed or renamed the group; how far it had "
        "consumed is not known any more. If the group has another name now, take it out of the selection. Otherwise set "
        "on_rewind to rewind to commit what the plan says, or to keep to leave such group-partitions alone: their consumers "
        "start by auto.offset.reset, where latest skips what they have not consumed, and earliest repeats everything."
    )


def test_thousands_of_groups_that_have_consumed_since_or_are_kept_take_as_long_as_few():
    """A commit of 100,000 offsets of so many groups took 12 s, and a rollback 30 s."""
    keys = [(f"group-{number % 5000}", TopicPartition(f"topic-{number // 5000}", 0)) for number in range(20_000)]
    lines = tuple(ReceiptEntry(*key, at(10), at(50), at(50)) for key in keys)
    entries = [dataclasses.replace(entry(50, 10), group=group, partition=where) for group, where in keys]
    offsets = nested((key, at(60)) for key in keys)
    readings = {name: GroupReading(name, True, "Empty", "", "consumer", its) for name, its in offsets.items()}
    begun = time.process_time()
    writes = entry_decision.commit_writes(entries, Ground("cloud", readings, Receipt("id", lines), CommitOptions()))
    _back, kept = rollback.without_kept(lines, commits_of(readings), "keep", "keep", "cloud")
    assert time.process_time() - begun < 2
    assert (len(writes.going_on), len(writes.consumed), len(kept)) == (20_000, 5000, 20_000)


# Migrated to 50; another tool, or a consumer that uses assign(), has committed since.
@pytest.mark.parametrize(("on_rewind", "expected"), [("fail", "refused"), ("keep", "kept"), ("rewind", "written")])
def test_a_later_commit_of_a_group_that_nobody_has_ever_joined_is_not_taken_for_consumption(on_rewind, expected):
    for plan in (entry(50, None), entry(50, 60)):
        assert decided(plan, at(60), receipt(None, 50, 50), on_rewind=on_rewind, joined=()) == expected
        assert decided(plan, at(60), receipt(None, 50, 50), on_rewind=on_rewind, joined=("shipping",)) == expected
    assert decided(entry(50, None), at(50, "by its own commit"), receipt(None, 50, 50), joined=()) == "kept"


def test_after_a_rollback_the_same_plan_is_committed_again():
    assert decided(entry(50, 10), at(10), receipt(10, None, None)) == "written"
    assert decided(entry(50, None), None, receipt(None, None, None)) == "written"


def test_what_is_left_alone_is_said_with_the_reason():
    ground = ground_of(CommittedOffset(90), on_rewind="keep")
    writes = entry_decision.commit_writes([entry(50, 90)], ground)
    kept = "billing orders-0: kept at 90 instead of moved back to 50 (on_rewind: keep)"
    assert writes.kept == [f"{kept}: a consumer that starts now skips up to 40 records"]


def test_a_refusal_names_the_option_that_allows_it():
    told = "committed offset 10 would move forward to 50. Set on_advance to advance to allow it, or to keep"
    ground = ground_of(at(10), on_advance="fail")
    with pytest.raises(Refused, match=told):
        entry_decision.commit_writes([entry(50, 10)], ground)


@pytest.mark.parametrize(
    ("known", "found", "before", "after"),
    [
        pytest.param(receipt(10, 50, 50), 50, 10, 50, id="repeated commits keep the earliest state"),
        pytest.param(receipt(10, 50, 50), 60, 10, 50, id="what a group has consumed since is not what stood there"),
        pytest.param(receipt(10, 50, None), 10, 10, None, id="a run that was stopped has not written"),
        pytest.param(
            receipt(10, 50, None), 60, 60, None, id="somebody has committed instead of a run that was stopped"
        ),
        pytest.param(receipt(None, 50, None), 60, 60, None, id="the same where nothing was committed"),
        pytest.param(receipt(10, 50, None), None, 10, None, id="what has expired since is known"),
        pytest.param(receipt(10, None, None), 12, 12, None, id="after a rollback it begins anew"),
        pytest.param(NOTHING_KNOWN, None, None, None, id="what was not there is known as not there"),
    ],
)
def test_what_stood_there_before_is_in_the_receipt(known, found, before, after):
    current = {} if found is None else {KEY: at(found)}
    entries = conflicts.receipt_entries([entry(70)], {KEY}, current, known, 5, undoes_last=False)
    assert entries == [
        ReceiptEntry(*KEY, at(before), at(70), at(after), (Origin(*KEY),), time=5, pending=Pending.COMMIT, stood=(41,))
    ]


@pytest.mark.parametrize(
    ("after", "found", "expected"),
    [
        pytest.param(None, 50, 50, id="its write is seen"),
        pytest.param(None, 60, None, id="something else is seen"),
        pytest.param(None, None, None, id="nothing is seen"),
        pytest.param(50, 60, 50, id="it was complete"),
    ],
)
def test_the_receipt_of_a_killed_run_is_completed_by_what_is_seen(after, found, expected):
    current = {} if found is None else {KEY: at(found)}
    assert conflicts.confirmed(receipt(10, 50, after), current) == receipt(10, 50, expected)


@pytest.mark.parametrize(("after", "is_seen"), [(None, True), (40, True), (50, True), (None, False), (40, False)])
def test_a_write_is_pending_until_it_is_seen(after, is_seen):
    known = receipt(10, 50, after)
    pending = known.merged(line._replace(pending=Pending.COMMIT) for line in known.entries)
    seen = conflicts.confirmed(pending, {KEY: at(50 if is_seen else 45)})
    assert seen == (receipt(10, 50, 50) if is_seen else pending)


BLOCKED = entry(None, reason=Reason.DESTINATION_LAGS, detail="wait for the replication tool")
ITS_GROUP = PlanEntry("billing", TopicPartition("orders", 1), 50, Verdict.EXACT, BLOCKED.source)
OTHER = entry(50, group="shipping")


@pytest.mark.parametrize(
    ("policy", "entries", "lines"),
    [
        ("skip_group", [OTHER], ["billing: left out as a whole (on_blocked: skip_group)"]),
        ("skip_partition", [ITS_GROUP, OTHER], []),
    ],
)
def test_blocked_entries_are_left_out_and_named(policy, entries, lines):
    assert conflicts.without_blocked([BLOCKED, ITS_GROUP, OTHER], policy, "cloud") == (entries, [BLOCKED], lines)


def test_nothing_is_written_while_anything_is_blocked():
    with pytest.raises(Refused) as refused:
        conflicts.without_blocked([ITS_GROUP, BLOCKED, OTHER], "fail", "cloud")
    assert "1 of 3 group-partitions" in str(refused.value)
    assert "billing orders-0 (destination_lags: wait for the replication tool)" in str(refused.value)
    assert "on_blocked" in str(refused.value)


@pytest.mark.parametrize("policy", ["fail", "skip_group", "skip_partition"])
def test_without_blocked_entries_no_policy_leaves_anything_out(policy):
    assert conflicts.without_blocked([ITS_GROUP, OTHER], policy, "cloud") == ([ITS_GROUP, OTHER], [], [])
