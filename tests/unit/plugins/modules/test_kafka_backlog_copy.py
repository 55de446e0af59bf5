"""kafka_backlog_copy copies, or clears a copy: files are written by a real run only, and the copy file goes last."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog.copy_backlog import CopyOutcome
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog.removal import Removal
from ansible_collections.streamshift.kafka.plugins.module_utils._model import backlog, plan, snapshot
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import Backlog, BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import Note, NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnUncommitted
from ansible_collections.streamshift.kafka.plugins.modules import kafka_backlog_copy
from tests.support.module_inputs import DESTINATION, ORDERS, SNAPSHOT, SOURCE, entry, plan_of, saved, warned

COPY = Backlog(
    "streamshift-copy-0123456789abcdef", "S", "D", SNAPSHOT.digest(), (), (BacklogRange(ORDERS, 5, 9, ORDERS, 0),)
)


@pytest.fixture
def copy(run_module, monkeypatch, tmp_path):
    """``copy(is_done=True, **options)`` copies a backlog; copy.asked is what the use case was given."""

    def run(is_done=True, check=False, diff=False, **options):
        made = plan_of(entry()) if is_done else None

        def use_case(taken, source, destination, mapping, wanted, earlier, save, say):
            run.asked = wanted, earlier
            if save is not None:
                save(COPY)
            return CopyOutcome(
                earlier.backlog,
                COPY,
                [],
                [entry()],
                made,
                earlier.backlog != COPY,
                [Note(NoteKind.SOURCE_GROWN, "look")],
            )

        def removed(known, planned, destination, remove_topics, wait, predict, say):
            run.asked = known, planned, remove_topics, predict
            return Removal(("group",), ("orders",), ("new",), [Note(NoteKind.TOPIC_RECREATED, "gone")])

        monkeypatch.setattr(kafka_backlog_copy.use_case, "copy_backlog", use_case)
        monkeypatch.setattr(kafka_backlog_copy.removal, "remove_copy", removed)
        taken = saved(tmp_path / "s.json", snapshot.to_json(SNAPSHOT))
        files = {"copy": str(tmp_path / "copy.json"), "plan": str(tmp_path / "p.json"), "snapshot": taken}
        given = {"source": SOURCE, "destination": DESTINATION, **files, **options}
        return run_module(kafka_backlog_copy, check=check, diff=diff, **given)

    return run


def test_a_second_run_changes_nothing_and_knows_the_first(copy, tmp_path):
    first, second = copy(), copy()
    assert (first["changed"], second["changed"]) == (True, False) and "look" in warned(first)
    assert (first["notes"], first["note_kinds"]) == (["look"], ["source_grown"])
    assert copy.asked[1].backlog == COPY == backlog.from_json((tmp_path / "copy.json").read_text(), "copy.json")
    assert plan.from_json((tmp_path / "p.json").read_text(), "p.json") == plan_of(entry())


def test_check_mode_says_the_same_and_writes_nothing(copy, tmp_path):
    predicted = copy(check=True, diff=True)
    assert not (tmp_path / "copy.json").exists() and not (tmp_path / "p.json").exists()
    assert {**predicted, "invocation": None} == {**copy(diff=True), "invocation": None}


def test_there_is_no_plan_and_no_offset_while_records_are_to_be_copied(copy, tmp_path):
    result = copy(is_done=False)
    assert [row["offset"] for row in result["entries"]] == [None] and not (tmp_path / "p.json").exists()


def test_options_reach_the_use_case(copy):
    copy(on_uncommitted="start", append=True, max_bytes_per_second=7)
    wanted = copy.asked[0]
    assert (wanted.on_uncommitted, wanted.append, wanted.max_bytes_per_second) == (OnUncommitted.START, True, 7)


@pytest.mark.parametrize("options", [{"idle_wait": -1}, {"max_bytes_per_second": 0}])
def test_a_number_that_cannot_be_meant_is_refused(copy, options):
    result = copy(**options)
    assert result["failed"] and next(iter(options)) in result["msg"] and not hasattr(copy, "asked")


def test_a_copy_that_is_given_up_takes_its_files_with_it(copy, tmp_path):
    copy()
    predicted = copy(state="absent", check=True, remove_topics=True)
    assert copy.asked == (COPY, plan_of(entry()), True, True) and (tmp_path / "copy.json").exists()
    removed = copy(state="absent", remove_topics=True)
    assert {**predicted, "invocation": None} == {**removed, "invocation": None}
    assert removed["changed"] and (removed["removed_groups"], removed["restored_topics"]) == (["group"], ["orders"])
    assert removed["summary"][-1].startswith("Copied records that the source no longer has go with these topics")
    assert not (tmp_path / "copy.json").exists() and not (tmp_path / "p.json").exists()


def test_topics_are_not_removed_with_a_copy_that_goes_on(copy):
    assert "remove_topics has no meaning with state present" in copy(remove_topics=True)["msg"]
    assert not hasattr(copy, "asked")


def test_where_no_copy_is_nothing_is_removed(copy):
    assert not copy(state="absent")["changed"] and not hasattr(copy, "asked")
