"""kafka_group_removal hands plan, receipt and the file of removed groups to the use case, and saves that file."""

import dataclasses
import re

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import topics
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topics import TopicDescription
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing import commit
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing.group_removal import (
    RemovalOptions,
    RemovalOutcome,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model import plan, receipt, removed
from ansible_collections.streamshift.kafka.plugins.module_utils._model.cluster_identity import NO_TRAITS
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import Note, NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import (
    OnActiveGroup,
    OnAdvance,
    OnBlocked,
    OnRewind,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.removed import Removed, RemovedGroup
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import SnapshotEntry
from ansible_collections.streamshift.kafka.plugins.modules import kafka_group_removal, kafka_offset_commit
from tests.support.identities import known_by_id
from tests.support.memory_groups import MemoryGroups
from tests.support.module_inputs import DESTINATION, ORDERS, entry, plan_of, saved, warned, written

KEY = "billing", ORDERS
REMOVED = Removed("id", (RemovedGroup("billing", "classic", False),), (SnapshotEntry(*KEY, CommittedOffset(3)),))
OUTCOME = RemovalOutcome(
    ["billing"], {KEY: CommittedOffset(3)}, {KEY: None}, ["fraud: left out"], [Note(NoteKind.BEFORE_LOG_START, "look")], REMOVED
)  # fmt: skip


@pytest.fixture
def removal(run_module, monkeypatch, tmp_path):
    """``removal(**options)`` removes or restores; removal.asked is what the use case was given."""

    def done(*given):
        removal.asked = given
        for save in filter(callable, given):
            save(OUTCOME.removed)
        return OUTCOME

    def removal(check=False, diff=False, **options):
        monkeypatch.setattr(kafka_group_removal.use_case, "remove_old_groups", done)
        monkeypatch.setattr(kafka_group_removal.use_case, "restore_old_groups", done)
        given = {"cluster": DESTINATION, "removed": str(tmp_path / "g.json"), **options}
        if given.get("state") != "restored":
            given["plan"] = saved(tmp_path / "p.json", plan.to_json(plan_of(entry())))
        return run_module(kafka_group_removal, check=check, diff=diff, **given)

    return removal


def test_what_was_removed_is_told_and_saved(removal, tmp_path):
    written_before = saved(tmp_path / "r.json", receipt.to_json(written(1)))
    result = removal(diff=True, receipt=written_before, on_active_group="skip_group", on_blocked="skip_group")
    assert result["changed"] and result["groups"] == ["billing"] and result["left_out"] == ["fraud: left out"]
    assert (result["diff"]["before"], result["diff"]["after"]) == ("billing orders-0: 3\n", "billing orders-0: none\n")
    assert "look" in warned(result)
    assert (result["notes"], result["note_kinds"]) == (["look"], ["before_log_start"])
    made, earlier, known, _cluster, policies, _save = removal.asked
    assert (made, earlier, known) == (plan_of(entry()), written(1), None)
    assert policies == RemovalOptions(OnActiveGroup.SKIP_GROUP, OnBlocked.SKIP_GROUP, OnRewind.FAIL, OnAdvance.FAIL, 5)
    assert removed.from_json((tmp_path / "g.json").read_text(), "g.json") == REMOVED


def test_check_mode_says_the_same_and_saves_nothing(removal, tmp_path):
    predicted = removal(check=True, diff=True)
    assert not (tmp_path / "g.json").exists() and removal.asked[-1] is None
    assert {**predicted, "invocation": None} == {**removal(diff=True), "invocation": None}


def test_groups_are_restored_from_the_file(removal, tmp_path):
    saved(tmp_path / "g.json", removed.to_json(REMOVED))
    its = saved(tmp_path / "r.json", receipt.to_json(written(1)))
    removal(state="restored", groups=["billing"], receipt=its, on_rewind="keep", idle_wait=0)
    known, selection, _cluster, policies, _save, earlier = removal.asked
    assert (known, selection, policies.on_rewind) == (REMOVED, Selection(groups=("billing",)), OnRewind.KEEP)
    assert earlier == written(1)
    removal(state="restored", everything=True)
    assert removal.asked[1] is None


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"topics": ["orders"]}, "topics selects what is rolled back, and state is removed"),
        ({"state": "restored"}, "no group is selected for the rollback"),
        ({"idle_wait": -1}, "idle_wait is -1"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(removal, tmp_path, options, told):
    if options.get("state"):
        saved(tmp_path / "g.json", removed.to_json(REMOVED))
    assert told in removal(**options)["msg"]


def test_without_a_file_there_is_nothing_to_restore(removal):
    message = removal(state="restored", groups=["billing"])["msg"]
    assert "there is no removed groups file" in message and "estore g.json from a backup" in message


def test_without_the_receipt_that_rolls_the_new_groups_back_no_group_is_restored(removal, tmp_path):
    """It would be there beside its new group, which the next task cannot roll back."""
    saved(tmp_path / "g.json", removed.to_json(REMOVED))
    for check in (True, False):
        message = removal(check=check, state="restored", groups=["billing"], receipt=str(tmp_path / "r.json"))["msg"]
        assert "there is no receipt file" in message and "restore r.json from a backup" in message
        assert "nothing to undo" not in message and "with state=restored and without a receipt" in message
    assert not hasattr(removal, "asked")


def test_topics_are_selected_as_for_the_rollback_that_follows(removal, tmp_path):
    saved(tmp_path / "g.json", removed.to_json(REMOVED))
    removal(state="restored", groups=["billing"], topics=["orders"], exclude_topic_patterns=["parcels"])
    assert removal.asked[1] == Selection(groups=("billing",), topics=("orders",), exclude_topic_patterns=("parcels",))


AT = {"billing": TopicPartition("orders", 0), "shipping": TopicPartition("parcels", 0)}


@pytest.fixture
def renamed(run_module, monkeypatch, tmp_path):
    """``renamed(module, **options)`` on a cluster where two groups were renamed, and one new name had its offsets before.

    Both old groups are removed, and the receipt has what a run has written for the other one.
    """
    commits = {name: {at: CommittedOffset(7)} for name, at in AT.items()}
    groups = MemoryGroups({f"new-{name}": its for name, its in commits.items()})
    groups.install(monkeypatch, commit)
    for its in (topics, commit):
        monkeypatch.setattr(
            its, "describe_topics", lambda _at, names, *_how, **_more: dict.fromkeys(names, TopicDescription(1, None))
        )
    known_by_id(monkeypatch, lambda _connection: "D")
    readings = (GroupReading(name, True, "Empty", "classic", "", its) for name, its in commits.items())
    gone = Removed("D").with_removed(readings, NO_TRAITS)
    had = dataclasses.replace(entry(7), group="new-billing", expected=CommittedOffset(7))
    saved(tmp_path / "plan.json", plan.to_json(plan_of(had)))
    target = CommittedOffset(7)
    line = receipt.ReceiptEntry(
        "new-shipping", AT["shipping"], None, target, target, (receipt.Origin("shipping", AT["shipping"]),)
    )
    given = {
        "cluster": DESTINATION,
        "receipt": saved(tmp_path / "receipt.json", receipt.to_json(receipt.Receipt("D", (line,)))),
        "removed": saved(tmp_path / "removed.json", removed.to_json(gone)),
        "idle_wait": 0,
    }

    def renamed(module, check=False, **options):
        return run_module(module, check=check, **given, **options)

    renamed.groups = groups
    return renamed


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize(
    ("selection", "back", "goes"),
    [
        ({"groups": ["billing"]}, ["billing"], 0),
        ({"groups": ["billing", "shipping"]}, ["billing", "shipping"], 1),
        ({"group_patterns": ["bil.*"]}, ["billing"], 0),
        ({"group_patterns": ["bil.*", "ship.*"]}, ["billing", "shipping"], 1),
        ({"groups": ["billing", "shipping"], "topics": ["orders"]}, ["billing"], 0),
        ({"groups": ["billing", "shipping"], "topic_patterns": ["ord.*"]}, ["billing"], 0),
        ({"everything": True}, ["billing", "shipping"], 1),
    ],
    ids=["one", "both", "one by a pattern", "both by patterns", "by a topic", "by a pattern of topics", "everything"],
)
def test_a_removed_group_comes_back_although_no_run_has_written_its_new_one(renamed, check, selection, back, goes):
    result = renamed(kafka_group_removal, check, state="restored", **selection)
    assert result.get("groups") == back, result
    undone = renamed(kafka_offset_commit, check, state="rolled_back", **selection)
    assert undone.get("written") == goes, undone
    assert undone["notes"] == []  # such as one that a group was left out which has come back
    stays = {"new-billing", *(["new-shipping"] if check or not goes else [])}
    assert set(renamed.groups.groups) == {*([] if check else back), *stays}


def test_a_name_that_neither_the_receipt_nor_the_removed_groups_have_is_refused(renamed):
    told = "group biling is not in the receipt .*/receipt.json or in removed.json: there are only billing, shipping"
    for module, state in ((kafka_group_removal, "restored"), (kafka_offset_commit, "rolled_back")):
        message = renamed(module, state=state, groups=["biling", "shipping"])["msg"]
        assert re.search(told, message), message
    assert renamed.groups.done == []
