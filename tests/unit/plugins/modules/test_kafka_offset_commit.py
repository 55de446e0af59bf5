"""kafka_offset_commit hands plan, receipt and report to the use case, and saves the receipt that comes back."""

import dataclasses
from pathlib import Path

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing.outcome import CommitOutcome
from ansible_collections.streamshift.kafka.plugins.module_utils._model import plan, receipt, removed, report, snapshot
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import GroupBusy, InvalidFile
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.idle import NOT_LOOKED
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import Note, NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import (
    OnActiveGroup,
    OnBlocked,
    ReturnEntries,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.removed import Removed, RemovedGroup
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Absent, Reason
from ansible_collections.streamshift.kafka.plugins.module_utils._module.commit_results import commit_result
from ansible_collections.streamshift.kafka.plugins.module_utils._module.digests import digest
from ansible_collections.streamshift.kafka.plugins.modules import kafka_offset_commit
from tests.support.module_inputs import DESTINATION, ORDERS, SNAPSHOT, SOURCE, entry, plan_of, saved, warned, written

KEY = "billing", ORDERS
OUTCOME = CommitOutcome(
    {KEY: CommittedOffset(3)},
    {KEY: CommittedOffset(5)},
    {KEY: CommittedOffset(5)},
    ["fraud: left out"],
    [Note(NoteKind.SOURCE_IN_USE, "look")],
)


def test_partitions_that_a_plan_blocks_for_one_reason_are_a_line_for_people():
    lacking = [
        dataclasses.replace(entry().blocked(Reason.TOPIC_MISSING, ""), partition=ORDERS._replace(partition=number))
        for number in range(3)
    ]
    outcome = dataclasses.replace(OUTCOME, blocked=lacking)
    result = commit_result(outcome, Connection("cloud", ("127.0.0.1:1",)), ReturnEntries.ALL, [], "")
    assert result["blocked"] == [f"billing orders-{number}: blocked, topic_missing: left out" for number in range(3)]
    assert "  billing orders-0 to 2: blocked, topic_missing: left out" in result["summary"]
    assert result["summary"][-1].endswith("left out: see the 2 lines above.")


@pytest.fixture
def commit(run_module, monkeypatch, tmp_path):
    """``commit(**options)`` commits a plan with one entry; commit.asked is what the use case was given.

    commit.does: what it does in place of saving a receipt once; it gets what saves one.
    """

    def done(*given, **more):
        commit.asked, commit.more = given, more
        for save in filter(callable, given):
            commit.does(save)
        return OUTCOME

    def commit(check=False, diff=False, **options):
        monkeypatch.setattr(kafka_offset_commit.use_case, "commit", done)
        monkeypatch.setattr(kafka_offset_commit.use_case, "roll_back", done)
        planned = saved(tmp_path / "p.json", plan.to_json(plan_of(dataclasses.replace(entry(), absent=commit.absent))))
        given = {"cluster": DESTINATION, "plan": planned, "receipt": str(tmp_path / "r.json"), **options}
        return run_module(kafka_offset_commit, check=check, diff=diff, **given)

    commit.absent, commit.does = None, lambda save: save(written(3))
    return commit


def test_what_was_committed_is_told_with_before_and_after(commit, tmp_path):
    result = commit(diff=True)
    assert result["changed"] and result["written"] == 1 and result["left_out"] == ["fraud: left out"]
    row = {"group": "billing", "topic": "orders", "partition": 0, "before": 3, "after": 5, "changed": True}
    assert result["entries"] == [row]
    assert (result["diff"]["before"], result["diff"]["after"]) == ("billing orders-0: 3\n", "billing orders-0: 5\n")
    assert "look" in warned(result)
    assert (result["notes"], result["note_kinds"]) == (["look"], ["source_in_use"])
    assert receipt.from_json((tmp_path / "r.json").read_text(), "r.json") == written(3)


def test_what_was_there_already_is_in_no_receipt_unless_a_run_has_written_its_group():
    nothing = dataclasses.replace(OUTCOME, set={})
    assert nothing.unwritten([entry()], None) == [entry().key]
    assert nothing.unwritten([entry()], written(3)) == OUTCOME.unwritten([entry()], None) == []


def test_check_mode_says_the_same_and_saves_nothing(commit, tmp_path):
    predicted = commit(check=True, diff=True)
    assert not (tmp_path / "r.json").exists() and not any(map(callable, commit.asked))
    assert {**predicted, "invocation": None} == {**commit(diff=True), "invocation": None}


def test_files_and_policies_reach_the_use_case(commit, tmp_path):
    taken = saved(tmp_path / "s.json", snapshot.to_json(SNAPSHOT))
    saved(tmp_path / "r.json", receipt.to_json(written(1)))
    commit(snapshot=taken, on_blocked="skip_group", on_active_group="skip_group", idle_wait=0)
    made, earlier, _cluster, policies, _save, snapshot_given, source = commit.asked
    assert (made, earlier, snapshot_given, source) == (plan_of(entry()), written(1), SNAPSHOT, None)
    assert (policies.on_blocked, policies.on_active_group) == (OnBlocked.SKIP_GROUP, OnActiveGroup.SKIP_GROUP)
    more = commit.more
    assert policies.idle_wait == 0 and more["earlier"] == NOT_LOOKED and not (more["returns"] or more["objections"])
    (tmp_path / "return").mkdir()
    saved(tmp_path / "receipt.json", receipt.to_json(written(1)))  # of the migration
    commit(receipt=str(tmp_path / "return" / "receipt.json"))
    assert commit.more["returns"]


def test_csv_that_names_no_group_is_told_of_no_option_that_only_another_module_has(commit, tmp_path):
    result = commit(snapshot=saved(tmp_path / "offsets.csv", "orders,0,5\n"))
    assert result["failed"] and "Use a file with four columns (group, topic, partition, offset)" in result["msg"]
    assert "snapshot_group" not in result["msg"]


def test_another_plan_than_the_reviewed_one_is_refused(commit):
    for wanted, said in (("0" * 64, "is not the one that was reviewed"), ("0" * 63, "64 hexadecimal digits")):
        result = commit(plan_digest=wanted)
        assert result["failed"] and said in result["msg"] and not hasattr(commit, "asked")


def test_a_report_about_another_plan_is_refused(commit, tmp_path):
    about = report.to_json(report.Report("S", "D", 10, (), plan="0" * 64))
    result = commit(report=saved(tmp_path / "report.json", about))
    assert result["failed"] and "the plan has changed since it was verified" in result["msg"]
    assert not hasattr(commit, "asked")


def test_absent_records_keep_an_offset_from_being_written_unless_a_verification_or_the_user_decides(commit, tmp_path):
    commit.absent = Absent(10, 3)
    commit()
    (objections,) = commit.more["objections"].items()
    assert objections[0] == KEY
    assert (
        "10 unconsumed records, from source offset 3 on" in objections[1] and "set on_absent to warn" in objections[1]
    )
    commit(on_absent="warn")
    assert commit.more["objections"] == {}
    planned = saved(tmp_path / "p.json", plan.to_json(plan_of(dataclasses.replace(entry(), absent=commit.absent))))
    found = report.Report("S", "D", None, (), plan=digest(Path(planned).read_text()))
    commit(report=saved(tmp_path / "report.json", report.to_json(found)))
    assert commit.more["objections"] == {}


def test_an_edited_offset_is_objected_to_whoever_decides_about_absent_records(commit, tmp_path):
    edited = dataclasses.replace(entry(), evidence=entry().evidence._replace(after=plan.Copied(7, 4, "ab" * 16)))
    planned = saved(tmp_path / "edited.json", plan.to_json(plan_of(edited)))
    found = report.Report("S", "D", None, (), plan=digest(Path(planned).read_text()))
    reported = saved(tmp_path / "report.json", report.to_json(found))
    for given in ({}, {"on_absent": "warn"}, {"report": reported}):
        commit(plan=planned, **given)
        (objection,) = commit.more["objections"].values()
        assert "would skip the copy of the first unconsumed record" in objection and "the plan was edited" in objection


def test_a_receipt_that_only_the_history_has_is_noted(commit, tmp_path):
    assert "receipt_lost" not in commit()["note_kinds"]
    (tmp_path / "history/2026-11-01T090000Z-migrate").mkdir(parents=True)
    kept = tmp_path / "history/2026-11-01T090000Z-migrate/r.json"
    kept.write_text("{}")
    for check in (True, False):
        (tmp_path / "r.json").unlink(missing_ok=True)
        result = commit(_ansible_check_mode=check)
        assert f"r.json is not there, and {kept} is: copy it to its place" in result["notes"][0], result


def test_without_a_receipt_nothing_is_rolled_back(commit):
    result = commit(state="rolled_back", everything=True)
    assert result["failed"] and "r.json" in result["msg"] and not hasattr(commit, "asked")
    # A migration that is run again finds nothing to change, and makes no receipt.
    assert "restore r.json from a backup, or correct the path" in result["msg"]
    assert "make it" not in result["msg"]


def test_a_rollback_needs_a_selection_or_everything(commit, tmp_path):
    saved(tmp_path / "r.json", receipt.to_json(written(3)))
    assert commit(state="rolled_back")["failed"] and not hasattr(commit, "asked")
    assert not commit(state="rolled_back", groups=["billing"]).get("failed")
    recorded, selection, *_rest = commit.asked
    assert recorded == written(3) and selection.groups == ("billing",)


@pytest.mark.parametrize(
    ("groups", "gone"),
    [
        (None, set()),
        ((RemovedGroup("shop", "classic", False), RemovedGroup("till", "classic", True)), {"shop"}),
    ],
    ids=["no file", "one of two was restored"],
)
def test_the_rollback_of_a_rename_knows_which_old_groups_can_be_restored(commit, tmp_path, groups, gone):
    saved(tmp_path / "r.json", receipt.to_json(written(3)))
    path = tmp_path / "removed.json"
    if groups is not None:
        saved(path, removed.to_json(Removed("id", groups)))
    commit(state="rolled_back", groups=["billing"], removed=str(path))
    assert set(commit.asked[-1].gone()) == gone
    commit(state="rolled_back", groups=["billing"])
    assert commit.asked[-1] is None  # of a migration, they are on another cluster


@pytest.mark.parametrize("state", ["committed", "rolled_back"])
def test_a_receipt_that_has_grown_is_saved_after_the_writes_and_rolled_back(commit, monkeypatch, tmp_path, state):
    one, two = (dataclasses.replace(written(1), entries=tuple(lines)) for lines in _grown())
    texts = []

    def writes(save):
        for done in (one, two, one):
            save(done)
            texts.append((tmp_path / "r.json").read_text())

    commit.does = writes
    small, large = receipt.to_json(one), receipt.to_json(two)
    for limit, there, is_saved in (
        (len(small), written(1), True),
        (len(small) - 1, written(1), False),
        (len(small) - 1, two, True),
    ):
        monkeypatch.setattr(kafka_offset_commit.files, "MOST_WRITTEN", limit)
        saved(tmp_path / "r.json", receipt.to_json(there))
        texts.clear()
        result = commit(state=state, groups=["billing"] * (state == "rolled_back"))
        assert texts == ([small, large, small] if is_saved else [])
        assert (
            result.get("failed", False) is not is_saved and ("was not written" in result.get("msg", "")) is not is_saved
        )


def test_what_a_renewal_is_to_make_again_is_saved_only_if_a_later_run_can_read_it(commit, tmp_path):
    twice = (snapshot.SnapshotEntry("billing", ORDERS, CommittedOffset(5)),) * 2
    commit.does = lambda save: save(dataclasses.replace(written(3), renewing=twice))
    result = commit()
    assert result["failed"] and "no later run could read it: renewing: group billing has two entries" in result["msg"]
    assert not (tmp_path / "r.json").exists()


def _grown():
    """Two entries before and after the first one is read back; nothing of the other was written."""
    line = written(1).entries[0]
    other = line._replace(group="shop", written=None, after=None)
    return [line._replace(after=None), other], [line, other]


@pytest.mark.parametrize(("state", "read"), [("committed", 1), ("rolled_back", 0)])
def test_only_new_entries_of_a_receipt_are_read_before_they_are_written(commit, monkeypatch, tmp_path, state, read):
    begun, done = (dataclasses.replace(written(1), entries=tuple(lines)) for lines in _grown())
    saved(tmp_path / "r.json", receipt.to_json(done))
    texts = []
    from_json = receipt.from_json
    monkeypatch.setattr(receipt, "from_json", lambda text, path: texts.append(text) or from_json(text, path))
    commit.does = lambda save: [save(begun), save(done)]
    commit(state=state, everything=state == "rolled_back")
    assert texts == [receipt.to_json(done)] + [receipt.to_json(begun)] * read  # the first one is what is there


@pytest.mark.parametrize("begun", [False, True, "full disk"])
@pytest.mark.parametrize("state", ["committed", "rolled_back"])
def test_a_failure_says_whether_nothing_was_written(commit, monkeypatch, tmp_path, state, begun):
    def busy(save):
        if begun:
            save(written(3))
        raise GroupBusy("the group has members", cluster="destination", group="billing", remedy="stop them")

    def full(path, *_given, **_options):
        raise InvalidFile(f"{path} cannot be written: billing", why="no space left on device", remedy="free space")

    commit.does, its_receipt = busy, tmp_path / "r.json"
    before = receipt.to_json(written(1))
    saved(its_receipt, before)
    if begun == "full disk":
        for write in ("write", "write_document"):
            monkeypatch.setattr(kafka_offset_commit.files, write, full)
    result = commit(state=state, groups=["billing"] * (state == "rolled_back"))
    assert result["failed"] and "billing" in result["msg"]
    assert result.get("written") == (None if begun is True else 0)
    assert result.get("changed", False) is (begun is True)
    assert (its_receipt.read_text() == before) is not (begun is True)


@pytest.mark.parametrize(
    ("option", "value"), [("plan_digest", "x"), ("snapshot", "x"), ("report", "x"), ("on_still_written", "fail")]
)
def test_a_rollback_refuses_what_it_would_ignore(commit, tmp_path, option, value):
    saved(tmp_path / "r.json", receipt.to_json(written(3)))
    result = commit(state="rolled_back", everything=True, **{option: value})
    assert f"{option} has no meaning with state rolled_back: a rollback rests on the receipt alone" in result["msg"]
    assert not hasattr(commit, "asked")


def test_nobody_looks_for_producers_without_the_source(commit):
    result = commit(on_still_written="fail")
    assert "on_still_written has no meaning without source: the module looks there for producers" in result["msg"]
    assert not hasattr(commit, "asked")
    assert commit(on_still_written="fail", source=SOURCE)["changed"]


def test_a_rollback_without_its_directory_is_told_once(commit, tmp_path):
    message = commit(state="rolled_back", plan=None, receipt=str(tmp_path / "b-to-a/r.json"), everything=True)["msg"]
    assert "there is no receipt file" in message and "cannot be written" not in message


def test_the_snapshot_beside_the_plan_can_say_what_has_changed(commit, tmp_path):
    commit()
    assert commit.more["kept"]() is None
    saved(tmp_path / "snapshot.json", snapshot.to_json(SNAPSHOT))
    assert commit.more["kept"]() == SNAPSHOT
