"""What has become of a group, from the files of its migration and from what both clusters say now."""

import dataclasses

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.cluster_identity import LogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_lag import GroupLag
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.lease import OpenRun
from ansible_collections.streamshift.kafka.plugins.module_utils._model.migrated_groups import (
    DirectoryFiles,
    DirectoryRuns,
    GroupRun,
    groups_of,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.migration_status import (
    NONE_DELETED,
    Deleted,
    GroupStatus,
    WayBack,
    assess,
    half_written,
    in_order,
    incomplete_lines,
    next_lines,
    status_table,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.next_steps import NEXT, GroupState
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan, PlanEntry, SourcePosition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import (
    Origin,
    Pending,
    Receipt,
    ReceiptEntry,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict

OLD, NEW = TopicPartition("orders", 0), TopicPartition("copy.orders", 0)
NOON = 1_764_072_000
NO_RUNS = DirectoryRuns()


def entry(committed: int | None = 50, number: int = 0, **changes) -> PlanEntry:
    """The group's entry of this partition, with what it has committed at the source."""
    source = (SourcePosition("billing", OLD._replace(partition=number), committed),)
    planned = PlanEntry("billing-new", NEW._replace(partition=number), 40, Verdict.SAFE, source)
    return dataclasses.replace(planned, **changes)


def plan_of(*entries: PlanEntry) -> Plan:
    return Plan("S", "D", "digest", entries)


def blocked(committed: int = 50, number: int = 0) -> PlanEntry:
    return entry(committed, number).blocked(Reason.TOPIC_MISSING, "")


PLAN = plan_of(entry())
ONE_BLOCKED = plan_of(entry(), blocked(7, 1), entry(None, 2, offset=None, verdict=Verdict.UNCOMMITTED))


def run(is_stopped: bool | None, **more) -> OpenRun:
    return OpenRun("/here", "process 7 on box", is_stopped, **more)


def line(written: int | None = 40, time: int = NOON) -> ReceiptEntry:
    offset = None if written is None else CommittedOffset(written)
    return ReceiptEntry("billing-new", NEW, None, offset, offset, (Origin("billing", OLD),), time)


def begun(before: int | None = None) -> ReceiptEntry:
    """What a run was about to write when it was stopped."""
    return line()._replace(after=None, before=None if before is None else CommittedOffset(before))


def back(written: int | None, time: int) -> ReceiptEntry:
    offset = None if written is None else CommittedOffset(written)
    return ReceiptEntry("billing", OLD, CommittedOffset(50), offset, offset, (Origin("billing-new", NEW),), time)


def reading(group: str, where: TopicPartition, offset: int | None, used: bool, joined: bool = True) -> GroupReading:
    offsets = {} if offset is None else {where: CommittedOffset(offset)}
    return GroupReading(group, True, "Stable" if used else "Empty", "classic", "consumer" if joined else "", offsets)


def begun_again(after: int) -> ReceiptEntry:
    """What a second run was about to write when it was stopped. after: what the first one has written."""
    return line()._replace(after=CommittedOffset(after), pending=Pending.COMMIT)


def look(
    *lines: ReceiptEntry,
    old=50,
    new: int | None = 40,
    used_old=False,
    used_new=False,
    returned=(),
    plan=PLAN,
    synced=(),
    silent=False,
    objected=(),
    open_run=None,
    start=0,
    migrated=0,
    is_whole=True,
    earlier=(),
    has_topic=True,
    joined=True,
    unconfirmed=(),
    return_runs=NO_RUNS,
    kept_in=None,
    deleted=NONE_DELETED,
) -> GroupStatus:
    """The status of the one group, whose committed offsets are these now.

    migrated: when its last run ended that carried this plan out. is_whole: it left nothing out.

    silent: the source does not answer. start: of its log. has_topic: whether it can be seen there. joined: has a consumer ever
    joined the group at the destination?
    """
    files = DirectoryFiles(
        "/here",
        plan,
        Receipt("D", lines) if lines else None,
        Receipt("S", tuple(returned)),
        dict.fromkeys(synced, NOON),
        frozenset(objected),
        open_run,
        DirectoryRuns(
            {"billing-new": GroupRun(migrated, plan.entries, () if is_whole else plan.entries)} if migrated else {},
            frozenset(unconfirmed),
        ),
        earlier,
        return_runs,
        {"billing-new": kept_in} if kept_in else {},
    )
    its = groups_of(files)[0]
    at_destination = {"billing-new": reading("billing-new", NEW, new, used_new, joined)}
    if silent:
        return assess(its, None, at_destination, {}, {NEW: LogRange(0, 45)}, WayBack(), deleted)
    at_source = {"billing": reading("billing", OLD, old, used_old)}
    log = {OLD: LogRange(start, 60)} if has_topic else {}
    way_back = WayBack(NOON + 5.0, NOON + 7.0)
    return assess(its, at_source, at_destination, log, {NEW: LogRange(0, 45)}, way_back, deleted)


@pytest.mark.parametrize(
    ("state", "lines", "now"),
    [
        (GroupState.PLANNED, [], {"new": None}),
        (GroupState.NOT_STARTED, [line()], {}),
        (GroupState.COMMITTED, [line()], {"synced": ["billing-new"]}),
        (GroupState.COMMITTED, [line()], {"synced": ["billing-new"], "used_old": True, "old": 58}),
        (GroupState.MOVED, [line()], {"synced": ["billing-new"], "new": 39}),
        (GroupState.NOT_STARTED, [line(time=NOON + 1)], {"synced": ["billing-new"]}),
        # A migration after the rounds had nothing to write.
        (GroupState.NOT_STARTED, [line()], {"synced": ["billing-new"], "migrated": NOON + 9}),
        (GroupState.COMMITTED, [line()], {"synced": ["billing-new"], "migrated": NOON - 9}),
        (GroupState.AT_SOURCE, [line()], {"used_old": True}),
        (GroupState.AT_SOURCE, [line()], {"used_old": True, "used_new": True}),
        (GroupState.AT_SOURCE, [line()], {"old": 51}),
        (GroupState.AT_DESTINATION, [line()], {"used_new": True}),
        (GroupState.AT_DESTINATION, [line()], {"new": 44}),
        (GroupState.AT_DESTINATION, [line()], {"new": 44, "synced": ["billing-new"]}),
        (GroupState.MOVED, [line()], {"new": 39}),
        # Nobody has ever joined it, who could have consumed.
        (GroupState.MOVED, [line()], {"new": 42, "joined": False}),
        (GroupState.NOT_STARTED, [line()], {"joined": False}),
        (GroupState.GONE, [line()], {"new": None}),
        (GroupState.GONE, [line()], {"returned": [back(55, NOON + 9)], "old": None}),
        (GroupState.MOVED, [line()], {"new": 39, "used_new": True}),
        (GroupState.UNFINISHED, [begun()], {"new": None}),
        (GroupState.UNFINISHED, [begun()], {"new": None, "used_old": True}),
        (GroupState.UNFINISHED, [begun(30)], {"new": 30}),
        (GroupState.UNFINISHED, [line()], {"returned": [back(55, NOON + 9)._replace(after=None)], "old": 50}),
        (GroupState.UNFINISHED, [begun_again(30)], {"new": 30}),
        (GroupState.UNFINISHED, [begun_again(60)], {"new": 60}),
        (GroupState.NOT_STARTED, [begun_again(30)], {}),
        (GroupState.MOVED, [begun_again(30)], {"new": 31}),
        (GroupState.GONE, [begun_again(30)], {"new": None}),
        (GroupState.UNFINISHED, [begun_again(30)._replace(pending=Pending.ROLLBACK)], {"new": None}),
        (GroupState.UNFINISHED, [begun_again(30)._replace(pending=Pending.ROLLBACK)], {"new": 30}),
        (GroupState.MOVED, [begun_again(30)._replace(pending=Pending.ROLLBACK)], {"new": 45}),
        (GroupState.MOVED, [line()._replace(after=CommittedOffset(30))], {"new": 30}),  # read back so
        (GroupState.NOT_STARTED, [begun()], {}),
        (GroupState.MOVED, [begun(30)], {"new": 31}),
        (GroupState.GONE, [begun(30)], {"new": None}),
        (GroupState.ROLLED_BACK, [line(None)], {"new": None}),
        (GroupState.RETURNED, [line()], {"returned": [back(55, NOON + 9)], "old": 57, "used_old": True}),
        (GroupState.MOVED, [line()], {"returned": [back(55, NOON + 9)], "old": 54}),
        # Migrated again after a return, and a return that is rolled back.
        (GroupState.NOT_STARTED, [line(time=NOON + 20)], {"returned": [back(55, NOON + 9)], "old": 50}),
        (GroupState.NOT_STARTED, [line()], {"returned": [back(None, NOON + 9)]}),
    ],
)
def test_each_state_is_told_from_the_others(state, lines, now):
    found = look(*lines, **now)
    assert found.state is state
    assert found.row()["next"] == NEXT[state]


@pytest.mark.parametrize(
    ("lines", "now"),
    [([line(None)], {"new": None}), ([line()], {"returned": [back(55, NOON + 9)], "old": 55, "new": 60})],
)
def test_nobody_is_told_to_start_consumers_at_the_source_while_others_run_at_the_destination(lines, now):
    its = look(*lines, used_new=True, **now)
    assert its.next.startswith("stop the consumers at the destination first; then start the consumers at the source")
    assert look(*lines, used_new=True, open_run=run(False), **now).next == run(False).next
    assert look(*lines, **now).next == NEXT[its.state]


@pytest.mark.parametrize(
    ("returned", "now", "told"),
    [
        ((), {"new": None}, f"topic {NEW.topic} does not exist at the destination any more"),
        ([back(55, NOON + 9)], {"old": None}, f"topic {OLD.topic} does not exist at the source any more"),
    ],
)
def test_nobody_looks_for_expired_offsets_where_the_topic_was_deleted(returned, now, told):
    its = look(line(), returned=returned, deleted=Deleted([OLD.topic], [NEW.topic]), **now)
    assert its.state is GroupState.GONE and its.next.startswith(told) and "expired" not in its.next
    other = look(line(), returned=returned, deleted=Deleted(["x"], ["y"]), **now)
    assert other.next == NEXT[GroupState.GONE]


def test_what_is_gone_at_the_source_has_no_date_and_is_restored_before_consumers_start_there():
    its = look(line(), old=None)
    assert its.way_back == WayBack(None, NOON + 7.0)
    assert its.next.startswith(f"{NEXT[GroupState.NOT_STARTED]}; before any consumers start at the source, restore")
    undone = look(line(None), old=None, new=None, used_new=True).next
    assert undone.startswith("stop the consumers at the destination first") and "history/" in undone
    # Consumers that go on need nothing of it, nor do those that run at the source.
    consuming = look(line(), old=None, used_new=True)
    assert (consuming.next, consuming.way_back.rollback) == (NEXT[GroupState.AT_DESTINATION], None)
    assert look(line(None), old=None, new=None, used_old=True).next == NEXT[GroupState.ROLLED_BACK]
    # Of a topic that is gone, or that nobody may read, or on which the group had nothing, nothing is lost.
    assert look(line(), old=None, has_topic=False).next == NEXT[GroupState.NOT_STARTED]
    assert look(line(), plan=plan_of(entry(None)), old=None).way_back.rollback == NOON + 5.0


def test_without_the_source_the_rest_is_told_and_nothing_is_called_moved():
    assert look(silent=True).state is GroupState.PLANNED
    its = look(line(), new=43, used_new=True, silent=True)
    assert (its.state, its.source_lag, its.destination_lag) == (GroupState.AT_DESTINATION, None, GroupLag(2))
    assert its.in_use_at_source is None and its.way_back == WayBack()
    assert look(line(), returned=[back(50, NOON + 1)], silent=True).state is GroupState.RETURNED
    assert look(line(), new=3, silent=True).state is GroupState.MOVED
    assert "-" in status_table([its])[1]


def test_a_group_knows_its_lags_and_until_when_it_can_go_back():
    row = look(line()).row()
    assert (row["source_lag"], row["destination_lag"]) == (10, 5)
    expired = look(line(), start=57)
    assert [expired.row()[name] for name in ("source_lag", "source_expired", "destination_expired")] == [3, 7, 0]
    assert "3_(7_expired)" in status_table([expired])[1]
    assert (row["committed_at"], row["rollback_until"]) == ("2025-11-25T12:00:00Z", "2025-11-25T12:00:05Z")
    assert row["return_until"] == "2025-11-25T12:00:07Z"
    told = status_table([look(line())])[-1]
    assert told.startswith("Lags count offsets")
    for reason in ("transaction markers", "compacted", "expired", "its own", "still to be copied", "left out"):
        assert reason in told
    for without_lag in ({"old": 55}, {"used_new": True}):
        assert len(status_table([look(line(), **without_lag)])) == 2
    # Brokers keep the offsets of a group with members; nothing is left to take back of one that was returned.
    assert look(line(), used_old=True).row()["rollback_until"] is None
    assert look(line(), returned=[back(55, NOON + 9)], old=55).way_back == WayBack()


def test_a_receipt_of_a_wave_is_enough_after_the_plan_of_the_next():
    (its,) = groups_of(DirectoryFiles("/here", None, Receipt("D", (line(),)), None))
    assert (its.source_groups, its.partitions) == (["billing"], {NEW})


def test_no_rollback_is_promised_of_a_group_that_had_its_offsets_already():
    there = line()._replace(before=CommittedOffset(40))
    status = look(there)
    assert status.state is GroupState.NOT_STARTED and status.next == "start the consumers at the destination"
    assert status.way_back == WayBack(None, NOON + 7.0)
    moved = look(there, new=30)
    assert moved.state is GroupState.MOVED
    assert moved.next == "find out who has committed other offsets; then run streamshift.kafka.migrate_groups"


def test_the_last_plan_of_a_group_counts_after_that_of_another_wave():
    other = plan_of(entry(group="shop"))
    assert look(line(), plan=other, old=58).state is GroupState.NOT_STARTED, "nobody knows better"
    assert look(line(), plan=other, earlier=(entry(),)).state is GroupState.NOT_STARTED
    assert look(line(), plan=other, earlier=(entry(),), old=58).state is GroupState.AT_SOURCE
    assert look(line(), plan=other, earlier=(blocked(),)).state is GroupState.AT_SOURCE
    # It was refused, but what is written is that of an earlier one.
    refused = blocked(58)
    for old, state in ((50, GroupState.NOT_STARTED), (58, GroupState.AT_SOURCE)):
        assert look(line(), plan=other, earlier=(refused, entry()), old=old).state is state
        assert look(line(), plan=plan_of(refused), earlier=(entry(),), old=old).state is state


@pytest.mark.parametrize(("group", "is_returned"), [("billing-new", False), ("shipping", True)])
def test_only_a_later_migration_of_the_same_group_undoes_a_return(group, is_returned):
    migrated = {group: GroupRun(NOON + 100, PLAN.entries)}
    receipts = Receipt("D", (line(),)), Receipt("S", (back(55, NOON + 9),))
    its = groups_of(DirectoryFiles("/here", PLAN, *receipts, runs=DirectoryRuns(migrated)))[0]
    assert (its.group, its.is_returned) == ("billing-new", is_returned)


def test_a_run_that_has_left_a_partition_out_carries_its_plan_out_and_ends_no_rounds():
    plan = plan_of(blocked())
    done = {"plan": plan, "migrated": NOON + 9, "is_whole": False}
    its = look(line(), **done)
    assert (its.state, its.left_out) == (GroupState.NOT_STARTED, 1)
    assert incomplete_lines([its])[0].startswith("billing as billing-new: 1 of 1 partition left out: plan.json")
    # What it has left out was written where the group has consumed on since.
    assert look(line(), earlier=(entry(49),), **done).state is GroupState.AT_SOURCE
    its = look(line(), earlier=(entry(49),), used_new=True, **done)
    assert its.left_out == 1 and "look at the partitions" in its.next
    # Set from what the group still has committed at the source, it needs no other run.
    for now, state in (({"used_new": True}, GroupState.AT_DESTINATION), ({}, GroupState.NOT_STARTED)):
        its = look(line(), earlier=PLAN.entries, **done, **now)
        assert (its.state, its.left_out, its.next) == (state, 0, NEXT[state])
    assert look(line(), synced=["billing-new"], **done).state is GroupState.COMMITTED
    # No run has carried this plan out.
    its = look(line(), plan=plan)
    assert (its.state, its.left_out) == (GroupState.AT_SOURCE, 0)


def test_what_needs_somebody_comes_first_on_the_screen():
    found = in_order([look(line(), used_new=True), look(line(), used_old=True)])
    table = status_table(found)
    assert table[0].split("  ")[0] == "group" and len(table) == 3
    assert table[1].split() == ["billing-new", "consuming_at_source", "10*", "5", "-", "2025-11-25T12:00:07Z"]
    states = [text.split(" (")[0][2:] for text in next_lines(found)]
    assert states == ["consuming_at_source", "consuming_at_destination"]


def test_a_plan_of_which_nothing_can_be_applied_is_not_said_to_be_applied():
    refused, planned = (look(new=None, plan=plan) for plan in (plan_of(blocked()), PLAN))
    assert (refused.state, planned.state) == (GroupState.PLANNED, GroupState.PLANNED)
    refused_line, planned_line = next_lines([refused, planned])
    assert "phase=apply" not in refused_line + refused.row()["next"] and "remove what blocks" in refused_line
    assert "phase=apply" in planned_line and "remove what blocks" not in planned_line


def test_a_group_that_has_failed_verification_is_not_said_to_be_applied():
    its = look(new=None, objected=[PLAN.entries[0].key])
    assert its.state is GroupState.PLANNED and its.row()["left_out"] == 1
    assert "remove what blocks partitions or fails verification, which plan.json, report.json" in its.row()["next"]
    (told,) = incomplete_lines([its])
    assert "billing-new: nothing is written; 1 of 1 partition blocked: plan.json, report.json and the report in" in told
    assert look(line(), objected=[PLAN.entries[0].key]).row()["left_out"] == 0  # a run before has set it


@pytest.mark.parametrize(
    ("lines", "now", "left"),
    [
        pytest.param([line()], {}, 1, id="the plan blocks another partition"),
        pytest.param([line()], {"new": None}, 1, id="what is gone was not left out"),
        pytest.param([], {"new": None}, 1, id="nothing is committed, and the plan blocks one"),
        pytest.param([line()], {"returned": [back(55, NOON + 9)]}, 0, id="returned"),
    ],
)
def test_partitions_that_are_left_out_are_counted_and_told(lines, now, left):
    its = look(*lines, plan=ONE_BLOCKED, **now)
    assert its.row()["left_out"] == left
    what = "1 of 2 partitions left out" if lines else "nothing is written; 1 of 2 partitions blocked"
    told = f"billing as billing-new: {what}: plan.json, report.json and the report in /here say why. Remove the cause, and "
    assert incomplete_lines([its]) == [f"{told}run streamshift.kafka.migrate_groups again."] * left


KEPT_IN = "/here/history/2026-01-31T120000Z-migrate"


def test_what_a_wave_has_left_out_is_told_after_the_plan_of_the_next_with_the_folder_that_says_why():
    other = {"plan": plan_of(entry(group="shop")), "earlier": ONE_BLOCKED.entries, "kept_in": KEPT_IN}
    its = look(line(), **other)
    assert (its.state, its.left_out, its.row()["partitions"]) == (GroupState.NOT_STARTED, 1, 3)
    assert its.next.startswith("do not start the consumers at the destination, because partitions are left out")
    (told,) = incomplete_lines([its])
    assert told.startswith(
        f"billing as billing-new: 1 of 2 partitions left out: plan.json and report.json in {KEPT_IN} say"
    )
    # Left out as a whole, it stays in the table, and apply would take another plan.
    its = look(new=None, **other)
    assert (its.state, its.left_out) == (GroupState.PLANNED, 1)
    assert f"which plan.json and report.json in {KEPT_IN} name, and run" in its.next
    in_use = look(new=None, **(other | {"earlier": PLAN.entries}))
    assert (in_use.state, in_use.left_out) == (GroupState.PLANNED, 0)
    assert "apply" not in in_use.next and in_use.next.startswith(
        "run streamshift.kafka.migrate_groups, which makes a new"
    )


RETURNED = {"returned": [back(55, NOON + 9)], "old": 55}
RETURN_FAILED = DirectoryRuns(unconfirmed=frozenset({"billing"}))


@pytest.mark.parametrize(
    ("lines", "now", "step"),
    [
        ([line()], {"plan": ONE_BLOCKED}, "destination, because partitions are left out"),
        ([line()], {"plan": ONE_BLOCKED, "used_new": True}, "look at the partitions that are left out"),
        # To migrate the group again, or to cut it over, plans it anew.
        ([line()], {"plan": ONE_BLOCKED, "used_old": True}, NEXT[GroupState.AT_SOURCE]),
        ([line()], {"plan": ONE_BLOCKED, "synced": ["billing-new"]}, NEXT[GroupState.COMMITTED]),
        ([line()], {"plan": ONE_BLOCKED, "new": 39}, NEXT[GroupState.MOVED]),
        # The last run has failed to read the group back.
        ([line()], {"unconfirmed": ["billing-new"]}, "destination, because the run that committed their offsets has"),
        ([line()], {"unconfirmed": ["billing-new"], "used_new": True}, "the run that committed the offsets has failed"),
        ([line()], {"unconfirmed": ["shop"]}, NEXT[GroupState.NOT_STARTED]),
        ([line(None)], {"unconfirmed": ["billing-new"], "new": None}, NEXT[GroupState.ROLLED_BACK]),
        ([line()], RETURNED | {"return_runs": RETURN_FAILED}, "source, because the return has failed as it read back"),
        # What became of the migration before the return, or of a return before the migration, does not matter.
        ([line()], RETURNED | {"unconfirmed": ["billing-new"]}, NEXT[GroupState.RETURNED]),
        ([line(time=NOON + 20)], RETURNED | {"return_runs": RETURN_FAILED, "old": 50}, NEXT[GroupState.NOT_STARTED]),
    ],
)
def test_nobody_is_told_to_start_consumers_where_offsets_are_missing_or_not_read_back(lines, now, step):
    told = look(*lines, **now).next
    assert step in told
    if "because" in step:
        assert told.startswith("do not start the consumers at the ") and " again" in told and "roll" in told


@pytest.mark.parametrize(
    ("partition", "offset", "left"),
    [
        pytest.param(1, 7, 1, id="blocked"),
        pytest.param(1, None, 0, id="blocked, and not consumed"),
        pytest.param(0, 44, 0, id="an earlier return has set it"),
    ],
)
def test_what_a_return_has_left_out_is_told_before_consumers_start_at_the_source(partition, offset, left):
    at, origin = OLD._replace(partition=partition), SourcePosition("billing-new", NEW, offset)
    left_out = (PlanEntry("billing", at, None, Verdict.BLOCKED, (origin,)),)
    runs = DirectoryRuns({"billing": GroupRun(NOON + 9, left_out, left_out)})
    its = look(line(), **RETURNED, return_runs=runs)
    assert (its.state, its.left_out) == (GroupState.RETURNED, left)
    assert (its.next == NEXT[GroupState.RETURNED]) is (left == 0)
    if left:
        assert its.next.startswith("do not start the consumers at the source")
        (told,) = incomplete_lines([its])
        assert "its return has left out 1 partition: plan.json, report.json and the report in /here/return say" in told
        assert "run streamshift.kafka.return_groups again" in told
    # One that was migrated again, or whose migration is rolled back, is another matter.
    assert look(line(time=NOON + 20), returned=[back(55, NOON + 9)], return_runs=runs).left_out == 0
    assert look(line(None), new=None, **RETURNED, return_runs=runs).left_out == 0


def test_what_a_stopped_run_has_not_written_is_neither_gone_nor_committed_and_has_no_deadlines():
    its = look(begun(), new=None, open_run=run(True))
    row = its.row()
    assert (row["committed"], row["moved"], row["left_out"], row["committed_at"]) == (0, 0, 0, None)
    assert row["rollback_until"] is None and row["return_until"] is None
    assert row["next"] == run(True).next and half_written([its], "/here") == ["billing-new"]
    again = "run its command again (a rollback, if it was one), or roll back, before any consumers start"
    assert again in look(begun(), new=None).next


def test_a_group_that_a_stopped_run_has_written_as_a_whole_is_not_told_to_run_again_for_itself():
    complete = "all of their offsets are committed; start the consumers at the destination only after"
    for is_stopped in (True, None):
        assert look(line(), open_run=run(is_stopped)).next.startswith(complete)
    assert look(line(), open_run=run(False)).next == run(False).next


@pytest.mark.parametrize(
    ("changes", "offset", "state"),
    [
        pytest.param({"offset": None, "verdict": Verdict.BLOCKED}, 50, GroupState.AT_SOURCE, id="blocked"),
        pytest.param({"offset": 44}, 50, GroupState.AT_SOURCE, id="a later offset was refused"),
        pytest.param({"offset": 36}, 50, GroupState.AT_SOURCE, id="an earlier offset was refused"),
        pytest.param({}, 50, GroupState.NOT_STARTED, id="the same offset"),
        pytest.param({"offset": None, "verdict": Verdict.UNCOMMITTED}, None, GroupState.NOT_STARTED, id="no offset"),
    ],
)
def test_nobody_is_told_to_start_consumers_at_an_offset_that_a_refused_run_was_to_replace(changes, offset, state):
    plan = plan_of(entry(offset, **changes))
    assert look(line(), plan=plan).state is state
    # Where consumers have started nevertheless, or rounds go on, the plan says nothing.
    assert look(line(), plan=plan, used_new=True).state is GroupState.AT_DESTINATION
    assert look(line(), plan=plan, synced=["billing-new"]).state is GroupState.COMMITTED
    # A run that works writes the offset yet.
    assert look(line(), plan=plan, open_run=run(False)).next == run(False).next


@pytest.mark.parametrize("is_stopped", [True, False, None])
def test_nobody_is_told_to_start_consumers_before_a_run_has_ended(is_stopped):
    its = run(is_stopped)
    groups = [look(line(), new=offset, open_run=its) for offset in (None, 39)]
    groups.append(look(line(None), new=None, open_run=its))
    groups.append(look(line(), returned=[back(55, NOON + 9)], old=57, open_run=its))
    assert {group.next for group in groups} == {its.next} and "before any consumers start" in its.next
    assert half_written(groups, "/here") == ["billing-new", "billing-new"] and half_written(groups, "/there") == []
    # What nobody would take for the end of the run stays as it is.
    goes_on = look(line(), used_new=True, open_run=its)
    assert goes_on.next == NEXT[goes_on.state]


@pytest.mark.parametrize(
    ("is_stopped", "told"),
    [(True, "run it again"), (False, "wait until the run"), (None, "if so, remove lease.json, and run")],
)
def test_a_group_that_a_stopped_run_has_only_planned_waits_for_this_run_and_not_for_a_review(is_stopped, told):
    its = look(open_run=run(is_stopped), new=None)
    assert told in its.next and "apply" not in its.next and "roll" not in its.next


@pytest.mark.parametrize(
    ("is_stopped", "is_of_plan", "is_planned", "is_held"),
    [
        pytest.param(True, True, False, False, id="of another wave"),
        pytest.param(True, True, True, True, id="of its plan"),
        pytest.param(True, False, False, True, id="a rollback"),
        pytest.param(False, True, False, True, id="works, and may plan yet"),
        pytest.param(None, True, False, True, id="may work still"),
    ],
)
def test_a_stopped_run_holds_back_the_groups_of_its_plan_alone(is_stopped, is_of_plan, is_planned, is_held):
    plan = PLAN if is_planned else plan_of()
    its = look(line(), plan=plan, earlier=PLAN.entries, open_run=run(is_stopped, is_of_plan=is_of_plan))
    assert its.state is GroupState.NOT_STARTED
    assert (its.next == NEXT[its.state]) is not is_held


@pytest.mark.parametrize("is_stopped", [True, None])
def test_nobody_is_told_to_roll_back_what_has_no_receipt(is_stopped):
    assert "or roll back" in run(is_stopped).note([]).text
    assert "roll" not in (text := run(is_stopped, has_receipt=False).note([]).text) and "run it again" in text
