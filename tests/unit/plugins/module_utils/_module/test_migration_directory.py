"""What the directory of a migration knows: names that a run has left out, and which groups its return has brought back."""

import dataclasses
import errno
import os
import shutil

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model import lease, plan, report, run_record, status
from ansible_collections.streamshift.kafka.plugins.module_utils._model import receipt as receipt_file
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidFile
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.migrated_groups import groups_of
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Receipt
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import Snapshot, to_json
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Verdict
from ansible_collections.streamshift.kafka.plugins.module_utils._module import digests
from ansible_collections.streamshift.kafka.plugins.module_utils._module.migration_directory import (
    lost_receipts,
    read_directory,
    read_migrated,
    read_return,
    to_undo,
)
from tests.support.held import lease_of

ORDERS = TopicPartition("orders", 0)
AUDIT = (plan.SourcePosition("audit", ORDERS, 5),)


def save(folder, *names):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "snapshot.json").write_text(to_json(Snapshot("id", (), (), left_out_names=names)))


@pytest.mark.parametrize(
    ("home", "where", "is_known"),
    [
        ("all", "all", True),
        ("all", "all/history/2026-01-31T120000Z-migrate", True),  # another wave has replaced the snapshot since
        ("all/return", "all", True),
        ("all/return", "all/history/2026-01-31T120000Z-migrate", True),
        ("all/second", "all", False),
        ("all", "other", False),
    ],
)
def test_a_rollback_knows_what_any_run_of_its_directory_has_left_out(tmp_path, home, where, is_known):
    save(tmp_path / home, "others")
    save(tmp_path / where, "audit")
    (tmp_path / "all/history/broken").mkdir(parents=True)
    (tmp_path / "all/history/broken/snapshot.json").write_text("{")
    selection = Selection(groups=("audit", "biling"))
    left, notes = to_undo(selection, Receipt("id"), str(tmp_path / home / "receipt.json"))
    assert left.groups == (("biling",) if is_known else ("audit", "biling"))
    assert [note.kind for note in notes] == (["without_offsets"] if is_known else [])


@pytest.mark.parametrize(
    ("expected", "beside", "is_left_out"),
    [
        (CommittedOffset(7), None, False),
        (CommittedOffset(6), None, True),
        (None, None, True),
        (CommittedOffset(7), Verdict.BLOCKED, True),
        (CommittedOffset(7), Verdict.UNCOMMITTED, False),
    ],
)
def test_a_group_that_had_all_of_its_offsets_already_was_not_left_out_and_a_rollback_refuses_it(
    tmp_path, expected, beside, is_left_out
):
    entries = [plan.PlanEntry("audit", ORDERS, 7, Verdict.SAFE, AUDIT, expected=expected)]
    if beside:
        entries.append(plan.PlanEntry("audit", ORDERS._replace(partition=1), None, beside, AUDIT))
    (tmp_path / "plan.json").write_text(plan.to_json(plan.Plan("S", "D", "digest", tuple(entries))))
    save(tmp_path / "history/2026-01-31T120000Z-migrate", "audit")
    selection = Selection(groups=("audit",))
    left, _notes = to_undo(selection, Receipt("id"), str(tmp_path / "receipt.json"))
    assert left == (Selection() if is_left_out else selection)
    written = CommittedOffset(1)
    done = Receipt("id", (receipt_file.ReceiptEntry("shop", ORDERS, None, written, written),))
    both, (note,) = to_undo(Selection(groups=("audit", "shop")), done, str(tmp_path / "receipt.json"))
    assert both == Selection(groups=("shop",)) and "wrote nothing for audit" in note.text


def test_the_status_knows_the_last_plan_of_each_group_that_an_earlier_wave_has_written(tmp_path):
    def save(folder, **offsets):
        folder.mkdir(parents=True, exist_ok=True)
        entries = tuple(
            plan.PlanEntry(group, ORDERS, offset, Verdict.SAFE, (plan.SourcePosition(group, ORDERS, offset),))
            for group, offset in offsets.items()
        )
        (folder / "plan.json").write_text(plan.to_json(plan.Plan("S", "D", "digest", entries)))

    save(tmp_path, shop=7)
    save(tmp_path / "history/2026-01-03T120000Z-migrate", shop=6)
    save(tmp_path / "history/2026-01-02T120000Z-migrate", billing=5, others=4, undone=9)
    save(tmp_path / "history/2026-01-01T120000Z-migrate", billing=3, audit=2)
    (tmp_path / "history/2026-01-04T120000Z-migrate").mkdir()
    (tmp_path / "history/2026-01-04T120000Z-migrate/plan.json").write_text("{")
    times = {"undone": 1, "shop": 1, "billing": 1, "audit": None, "lost": 1, "others": 1767355201}
    one = CommittedOffset(1)
    lines = (
        receipt_file.ReceiptEntry(group, ORDERS, None, None if group == "undone" else one, one, (), time)
        for group, time in times.items()
    )
    (tmp_path / "receipt.json").write_text(receipt_file.to_json(Receipt("D", tuple(lines))))
    found = read_directory(str(tmp_path))
    assert {entry.group: entry.offset for entry in found.earlier} == {"billing": 5, "audit": 2, "undone": 9}


def returned_in(folder, phase, *lines, rounds=()):
    """What a migration knows of its return, whose last run had nothing to write, after these lines and rounds."""
    home = folder / "return"
    home.mkdir()
    entry = plan.PlanEntry(
        "billing", ORDERS, 41, Verdict.SAFE, (plan.SourcePosition("billing", ORDERS, 46),), expected=CommittedOffset(41)
    )
    (home / "plan.json").write_text(plan.to_json(plan.Plan("D", "S", "digest", (entry,))))
    run = run_record.RunRecord("group_migration", phase, 1990.0, 2000.0, None, None, {}, 0, {}, {})
    (home / "run.json").write_text(run_record.to_json(run))
    (home / "receipt.json").write_text(receipt_file.to_json(Receipt("S", lines)))
    known = tuple(status.GroupRounds(group, None, until) for group, until in rounds)
    (home / "status.json").write_text(status.to_json(status.Status("sync", 1.0, 2.0, 0, None, 2.0, rounds=known)))
    found = read_return(str(folder))
    return {(line.group, line.time) for line in found.entries}


@pytest.mark.parametrize(("phase", "counts"), [("return", True), ("apply", True), ("cut_over", True), ("sync", False)])
def test_a_return_that_has_nothing_to_write_is_one_in_each_phase_that_ends_it(tmp_path, phase, counts):
    assert returned_in(tmp_path, phase) == ({("billing", 2000)} if counts else set())


def test_rounds_of_a_return_do_not_end_it_whatever_other_groups_do(tmp_path):
    offset = CommittedOffset(41)
    lines = [
        receipt_file.ReceiptEntry(group, ORDERS, None, offset, offset, (), time)
        for group, time in (("billing", 900), ("shop", 900), ("audit", 1950))
    ]
    rounds = [("billing", 1000.0), ("shop", 1000.0), ("audit", None)]
    (tmp_path / "a").mkdir()
    assert returned_in(tmp_path / "a", "sync", *lines, rounds=rounds) == {("audit", 1950)}
    # A return after rounds has had nothing more to write.
    (tmp_path / "b").mkdir()
    assert returned_in(tmp_path / "b", "return", *lines, rounds=rounds) == {("audit", 1950), ("billing", 2000)}


BLOCKED = TopicPartition("orders", 1)
AT_40 = CommittedOffset(40)


def run_in(
    folder, phase, ended, *groups, blocked=(), failure=None, found=AT_40, left_out=(), has_written=True, **digest
):
    """A run of these groups that has found each at the offset 40 that it planned, in a directory that keeps it.

    A group that is called X-new is X at the source. found: what each had committed. left_out: how much was, by kind.
    has_written: as its folder says. digest: of the plan in run.json, in place of the true one.
    """
    kept = folder / "history" / f"1970-01-01T{ended // 3600:02}{ended % 3600 // 60:02}{ended % 60:02}Z-{phase}"
    kept = kept if has_written else kept.with_name(f"{kept.name}-failed")
    entries = [
        plan.PlanEntry(group, ORDERS, 40, Verdict.SAFE, (plan.SourcePosition(name, ORDERS, 40),), expected=found)
        for group, name in ((group, group.removesuffix("-new")) for group in groups)
    ]
    entries += [
        plan.PlanEntry(group, BLOCKED, None, Verdict.BLOCKED, (plan.SourcePosition(group, BLOCKED, 9),), expected=AT_40)
        for group in blocked
    ]
    text = plan.to_json(plan.Plan("D", "S", "digest", tuple(entries)))
    known = digest.get("digest", digests.digest(text) if groups else None)
    failed = failure and run_record.Failure(failure, None)
    run = run_record.RunRecord("group_migration", phase, ended - 9.0, float(ended), failed, known, {}, 0, {}, {})
    done = ["commit", "read back", "start"][: {"commit": 0, "read back": 1, "rollback": 0}.get(failure, 2)]
    steps = tuple(run_record.Step(step, 1.0) for step in done)
    run = dataclasses.replace(run, left_out=dict(left_out), steps=steps)
    for home in (folder, kept):
        home.mkdir(parents=True, exist_ok=True)
        if groups:
            (home / "plan.json").write_text(text)
        (home / "run.json").write_text(run_record.to_json(run))
    if (folder / "receipt.json").exists():
        shutil.copy(folder / "receipt.json", kept)
    (kept / "report.json").write_text("{")  # damaged, which tells nothing
    path = folder / "status.json"
    if phase in ("sync", "cut_over"):
        earlier = status.from_json(path.read_text(), "").rounds if path.exists() else ()
        rows = tuple(
            {"group": group, "ready": group not in blocked, "ready_since": None, "in_use_at_source": False}
            | {"verdicts": {"blocked": 1} if group in blocked else {}, "lag": 0, "to_come": 0}
            for group in groups
        )
        made = status.Status(phase, ended - 9.0, ended - 1.0, 0, None, None, rows).after(earlier)
        path.write_text(status.to_json(made))


def written_in(folder, *groups, time=900, rolled_back=(), at=AT_40):
    lines = [receipt_file.ReceiptEntry(group, ORDERS, None, at, at, (), time) for group in groups]
    lines += [receipt_file.ReceiptEntry(group, ORDERS, None, None, None, (), time) for group in rolled_back]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "receipt.json").write_text(receipt_file.to_json(Receipt("D", tuple(lines))))


def groups_in(folder):
    return {its.group: its for its in groups_of(read_directory(str(folder)))}


def known_of(folder):
    return {group: (its.is_synced, its.is_returned) for group, its in groups_in(folder).items()}


def unconfirmed_in(folder):
    return read_directory(str(folder)).runs.unconfirmed


def migrated_in(folder):
    return {line.group for line in read_migrated(str(folder / "receipt.json")).entries}


@pytest.mark.parametrize("with_rounds", [True, False])
@pytest.mark.parametrize("is_back", [False, True])
def test_a_group_that_a_cut_over_has_left_out_is_neither_cut_over_nor_returned(tmp_path, with_rounds, is_back):
    written_in(tmp_path, "shop", "billing")
    homes = [tmp_path, tmp_path / "return"][: 1 + is_back]
    for home in homes:
        if with_rounds:
            run_in(home, "sync", 1000, "shop", "billing", blocked=["billing"])
        run_in(home, "cut_over", 2000, "shop", "billing", blocked=["billing"])
    for after in ([], ["audit"]):  # nor after a run of another wave
        if after:
            run_in(homes[-1], "cut_over", 3000, *after)
        known = known_of(tmp_path)
        assert (known["billing"], known["shop"]) == ((with_rounds, False), (False, is_back))


def test_what_a_run_had_nothing_to_write_of_stays_known_after_runs_of_other_waves(tmp_path):
    back, synced, migrated, returned = tmp_path / "return", (True, False), (False, False), (False, True)

    def then(folder, phase, ended, group):
        run_in(folder, phase, ended, group)
        return known_of(tmp_path)["billing"]

    written_in(tmp_path, "billing")
    assert then(tmp_path, "sync", 1000, "billing") == synced
    assert then(tmp_path, "migrate", 2000, "billing") == migrated
    assert then(tmp_path, "migrate", 3000, "shop") == migrated
    assert then(back, "return", 4000, "billing") == returned
    assert then(back, "return", 5000, "shop") == returned
    # Until rounds return it again, or the return is rolled back, or it is migrated again.
    written_in(back, "billing", time=3900)
    assert then(back, "return", 5500, "billing") == returned
    written_in(back, rolled_back=["billing"], time=3900)
    run_in(back, "rollback", 6000)
    assert known_of(tmp_path)["billing"] == migrated
    assert then(back, "return", 7000, "billing") == returned
    assert then(back, "sync", 8000, "billing") == migrated
    assert then(back, "cut_over", 9000, "billing") == returned
    assert then(tmp_path, "migrate", 10000, "billing") == migrated


@pytest.mark.parametrize("failure", [None, "rollback"])
def test_a_rollback_undoes_what_it_has_rolled_back_and_leaves_the_rest_known(tmp_path, failure):
    written_in(tmp_path, "billing", "shop")
    run_in(tmp_path / "return", "return", 1000, "billing")
    run_in(tmp_path, "migrate", 2000, "billing", "shop")
    written_in(tmp_path, "billing", rolled_back=["shop"])
    run_in(tmp_path, "rollback", 3000, failure=failure)
    assert known_of(tmp_path)["billing"] == (False, False), "migrated again after the return"
    assert set(read_directory(str(tmp_path)).runs.carried_out) == {"billing"}
    # One that is migrated once more, without a write, stays so when another one is rolled back.
    run_in(tmp_path, "migrate", 4000, "shop")
    written_in(tmp_path, rolled_back=["billing", "shop"])
    run_in(tmp_path, "rollback", 5000)
    its = groups_in(tmp_path)
    assert its["billing"].is_rolled_back and not its["shop"].is_rolled_back


@pytest.mark.parametrize(
    ("after", "rolled_back", "found", "is_unconfirmed"),
    [
        pytest.param(None, None, None, True, id="the last run"),
        pytest.param(("plan", "billing"), None, None, True, id="planned again"),
        pytest.param(("migrate", "shop"), None, None, True, id="another wave"),
        pytest.param(("rollback",), "audit", None, True, id="a rollback of another group"),
        pytest.param(("rollback",), "billing", None, False, id="a rollback"),
        pytest.param(("migrate", "billing"), None, None, False, id="run again"),
        pytest.param(None, None, CommittedOffset(30), False, id="left out"),
    ],
)
def test_a_group_that_a_run_has_failed_to_read_back_waits_for_another_run(
    tmp_path, after, rolled_back, found, is_unconfirmed
):
    if found is None:
        written_in(tmp_path, "billing", "audit")
    run_in(tmp_path, "migrate", 1000, "billing", found=found, failure="read back")
    if rolled_back:
        written_in(tmp_path, *{"billing", "audit"} - {rolled_back}, rolled_back=[rolled_back])
    if after:
        run_in(tmp_path, after[0], 2000, *after[1:])
    waiting = {"billing"} if is_unconfirmed else set()
    assert unconfirmed_in(tmp_path) == waiting
    assert {group for group, its in groups_in(tmp_path).items() if its.is_unconfirmed} == waiting
    # Another failure has committed nothing that nobody has read back.
    run_in(tmp_path, "migrate", 3000, "ledger", failure="commit")
    assert "ledger" not in unconfirmed_in(tmp_path)


@pytest.mark.parametrize("failure", [None, "start"])
def test_what_a_run_has_read_back_is_not_in_doubt_because_of_another_group_of_a_later_run(tmp_path, failure):
    written_in(tmp_path, "billing", "shop")
    run_in(tmp_path, "cut_over", 500, "billing", found=None, failure=failure)
    run_in(tmp_path, "migrate", 1000, "billing", "shop", failure="read back")
    assert unconfirmed_in(tmp_path) == {"shop"}
    # Nor is anything because of a run that had nothing to write.
    run_in(tmp_path, "migrate", 2000, "shop")
    run_in(tmp_path, "migrate", 3000, "billing", "shop", failure="read back", has_written=False)
    shutil.rmtree(tmp_path / "history/1970-01-01T003320Z-migrate")
    assert unconfirmed_in(tmp_path) == {"shop"}  # since the run of 1000
    shutil.rmtree(tmp_path / "history/1970-01-01T001640Z-migrate")
    assert unconfirmed_in(tmp_path) == set()


def test_a_run_that_reads_back_well_and_fails_later_ends_the_doubt_about_what_it_has_set(tmp_path):
    written_in(tmp_path, "billing", "shop")
    run_in(tmp_path, "migrate", 1000, "billing", "shop", found=None, failure="read back")
    run_in(tmp_path, "cut_over", 2000, "billing", found=None, failure="start")
    assert unconfirmed_in(tmp_path) == {"shop"}


@pytest.mark.parametrize(("failure", "left"), [(None, {BLOCKED}), ("read back", set())])
def test_the_directory_knows_what_its_return_has_left_out_or_failed_to_read_back(tmp_path, failure, left):
    written_in(tmp_path, "billing")
    written_in(tmp_path / "return", "billing", time=1900)
    run_in(tmp_path / "return", "return", 2000, "billing", blocked=["billing"], failure=failure)
    its = groups_in(tmp_path)["billing"]
    assert its.is_returned and its.is_unconfirmed is (failure is not None) and its.kept_in is None
    assert {partition for _group, partition in its.unreturned} == left
    run_in(tmp_path / "return", "return", 2500, "shop")
    its = groups_in(tmp_path)["billing"]
    assert {partition for _group, partition in its.unreturned} == left
    kept_in = str(tmp_path / "return/history/1970-01-01T003320Z-return")
    assert its.kept_in == (kept_in if left else None)
    run_in(tmp_path / "return", "return", 3000, "billing")
    its = groups_in(tmp_path)["billing"]
    assert its.is_returned and not its.is_unconfirmed and not its.unreturned


@pytest.mark.parametrize("phase", ["plan", "migrate"])
def test_what_a_wave_has_left_out_stays_known_after_the_plans_of_other_waves(tmp_path, phase):
    written_in(tmp_path, "billing")
    run_in(tmp_path, "migrate", 1000, "billing", blocked=["billing", "audit"])
    known = groups_in(tmp_path)
    assert {group: its.blocked for group, its in known.items()} == {"billing": {BLOCKED}, "audit": {BLOCKED}}
    for ended in (2000, 3000):
        run_in(tmp_path, phase, ended, "shop")
        kept_in = str(tmp_path / "history/1970-01-01T001640Z-migrate")
        now = groups_in(tmp_path)
        assert now.keys() - known.keys() == {"shop"} and now["shop"].kept_in is None
        assert {group: now[group] for group in known} == {
            group: its._replace(kept_in=kept_in) for group, its in known.items()
        }
    run_in(tmp_path, phase, 4000, "billing", blocked=["billing", "audit"])
    assert {its.kept_in for group, its in groups_in(tmp_path).items() if group != "shop"} == {None}


def test_a_group_that_was_left_out_is_told_by_its_new_name_once_all_of_it_goes_by_that(tmp_path):
    left = {"in_use_at_destination": 2}
    run_in(tmp_path, "migrate", 1000, "billing", "audit", blocked=["audit"], found=None, left_out=left)
    run_in(tmp_path, "migrate", 2000, "billing-new", "audit-new")
    assert groups_in(tmp_path).keys() == {"audit", "audit-new", "billing-new"}
    run_in(tmp_path, "plan", 3000, "shop")  # from now on, only what is written tells it
    assert groups_in(tmp_path).keys() == {"audit", "audit-new", "billing-new", "shop"}


def test_what_has_failed_verification_in_a_wave_stays_known_after_the_next(tmp_path):
    written_in(tmp_path, "billing")
    run_in(tmp_path, "migrate", 1000, "billing")
    at = ((ORDERS, 40),)
    finding = report.Finding("billing", at, at, problems=(report.Flaw(report.ProblemKind.SKIPPED, "one record"),))
    verified = digests.digest((tmp_path / "plan.json").read_text())
    text = report.to_json(report.Report("D", "S", None, (finding,), verified))
    for home in (tmp_path, tmp_path / "history/1970-01-01T001640Z-migrate"):
        (home / "report.json").write_text(text)
    assert groups_in(tmp_path)["billing"].blocked == {ORDERS}
    run_in(tmp_path, "plan", 2000, "shop")
    (tmp_path / "report.json").unlink()
    assert groups_in(tmp_path)["billing"].blocked == {ORDERS}


def test_a_group_that_was_found_in_its_place_is_migrated_without_a_line_of_the_receipt(tmp_path):
    run_in(tmp_path, "migrate", 1000, "billing")
    run_in(tmp_path, "migrate", 2000, "shop")
    its = groups_in(tmp_path)
    assert {group: files.written[0].written for group, files in its.items()} == {"billing": AT_40, "shop": AT_40}
    assert its["billing"].source == {("billing", ORDERS): 40}
    # A return takes it back with the others, whether any of them was written or not.
    assert migrated_in(tmp_path) == {"billing", "shop"}
    written_in(tmp_path, "audit")
    assert migrated_in(tmp_path) == {"audit", "billing", "shop"}
    # One whose plan was never carried out is not.
    (tmp_path / "b").mkdir()
    run_in(tmp_path / "b", "plan", 1000, "billing")
    assert not groups_in(tmp_path / "b")["billing"].written
    with pytest.raises(InvalidFile, match="there is no receipt file"):
        read_migrated(str(tmp_path / "b" / "receipt.json"))


def test_a_return_does_not_begin_without_a_history_that_may_have_more_of_its_groups(tmp_path, monkeypatch):
    written_in(tmp_path, "audit")
    run_in(tmp_path, "migrate", 1000, "billing")
    home, unlistable = tmp_path / "history", tmp_path / "return" / "history"
    unlistable.mkdir(parents=True)
    list_folder = os.listdir

    def listdir(folder):
        if os.path.exists(folder) and os.path.samefile(folder, unlistable):
            raise OSError(errno.EIO, "Input/output error")
        return list_folder(folder)

    monkeypatch.setattr(os, "listdir", listdir)
    # That of the return has nothing that was migrated, and what is damaged besides the receipt is another one's concern.
    (tmp_path / "report.json").write_text("{")
    assert migrated_in(tmp_path) == {"audit", "billing"}
    unlistable = home
    with pytest.raises(InvalidFile, match=r"history cannot be read: .*Input/output error.* Check its permissions\."):
        read_migrated(str(tmp_path / "receipt.json"))
    # With a damaged file of the migration itself, the receipt is enough.
    unlistable = tmp_path / "return" / "history"
    (tmp_path / "status.json").write_text("{")
    assert migrated_in(tmp_path) == {"audit"}


def test_a_group_goes_on_from_where_its_last_migration_has_found_it(tmp_path):
    written_in(tmp_path, "billing", at=CommittedOffset(30))
    run_in(tmp_path, "migrate", 2000, "billing")
    assert groups_in(tmp_path)["billing"].written[0].written == AT_40
    # Where it is what was written, the time of the write counts.
    written_in(tmp_path, "billing")
    assert groups_in(tmp_path)["billing"].committed_at == 900


@pytest.mark.parametrize(
    ("found", "left_out", "written", "is_back"),
    [
        pytest.param(None, {}, 30, False, id="set by somebody else"),
        pytest.param(None, {"in_use_at_destination": 1}, 30, True, id="left out"),
        pytest.param(None, {"in_use_at_destination": 1}, 40, False, id="another one is left out"),
        pytest.param(AT_40, {"in_use_at_destination": 1}, 30, False, id="nothing to write"),
    ],
)
def test_a_returned_group_that_a_commit_leaves_out_is_not_migrated_again(tmp_path, found, left_out, written, is_back):
    written_in(tmp_path, "billing", at=CommittedOffset(written))
    run_in(tmp_path / "return", "return", 2000, "billing")
    run_in(tmp_path, "migrate", 3000, "billing", found=found, left_out=left_out)
    assert known_of(tmp_path)["billing"] == (False, is_back)


@pytest.mark.parametrize("is_stopped", [True, False])
@pytest.mark.parametrize("returns", [True, False])
def test_a_round_that_has_not_ended_neither_cuts_over_nor_returns_what_it_has_written(tmp_path, is_stopped, returns):
    home = tmp_path / "return" if returns else tmp_path
    written_in(tmp_path, "billing")
    run_in(home, "sync", 1000, "billing", "shop")
    written_in(home, "billing", time=1900)
    held = dataclasses.replace(lease_of(os.getpid()), phase="sync", **({"ticks": 1} if is_stopped else {}))
    (home / "lease.json").write_text(lease.to_json(held))
    # The plan is that of a run that has ended: this one has not planned yet.
    assert known_of(tmp_path)["billing"] == (False, returns)
    run_in(home, "sync", 1000, "billing", digest="of the round before")
    assert known_of(tmp_path)["billing"] == (not returns, False)


def test_a_run_that_has_ended_does_not_answer_for_the_plan_of_one_that_was_killed(tmp_path):
    written_in(tmp_path, "billing")
    run_in(tmp_path, "migrate", 1000, "billing", digest="of the plan before")
    shutil.rmtree(tmp_path / "history")
    assert read_directory(str(tmp_path)).runs.carried_out == {}
    run_in(tmp_path, "migrate", 1000, "billing")
    shutil.rmtree(tmp_path / "history")
    assert set(read_directory(str(tmp_path)).runs.carried_out) == {"billing"}


def test_nobody_removes_the_memory_of_rounds_and_takes_their_groups_for_migrated(tmp_path):
    (tmp_path / "receipt.json").write_text(receipt_file.to_json(Receipt("D")))
    (tmp_path / "status.json").write_text("{")
    with pytest.raises(InvalidFile, match="Remove it, and run the next round: without it, groups in rounds look as if"):
        read_directory(str(tmp_path))


@pytest.mark.parametrize("home", ["", "return"])
def test_a_lost_receipt_is_told_by_its_copy_in_the_history_and_no_return_rests_on_that(tmp_path, home):
    written_in(tmp_path, "billing", "shop")
    run_in(tmp_path, "migrate", 1000, "billing", "shop")
    written_in(tmp_path / "return", "billing", "shop", time=2900)
    run_in(tmp_path / "return", "return", 3000, "billing", "shop")
    assert lost_receipts(str(tmp_path)) == []
    (tmp_path / home / "receipt.json").unlink()
    run_in(tmp_path, "migrate", 4000, "audit")  # with nothing to write
    its = groups_in(tmp_path)
    assert {group: (bool(files.written), files.is_returned) for group, files in its.items()} == {
        "audit": (True, False),
        "billing": (True, True),
        "shop": (True, True),
    }
    (note,) = lost_receipts(str(tmp_path))
    assert note.kind == "receipt_lost" and f"{tmp_path / home / 'receipt.json'} is not there, and " in note.text
    if not home:
        with pytest.raises(InvalidFile, match=r"If it is lost, restore receipt\.json from .*-migrate/receipt\.json"):
            read_migrated(str(tmp_path / "receipt.json"))
