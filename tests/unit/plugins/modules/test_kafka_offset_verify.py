"""kafka_offset_verify fails for what is wrong, or reports it; it writes reports and nothing else."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog import copy_differences
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._verification.claimed_offsets import Claims
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._verification.verify import Verified
from ansible_collections.streamshift.kafka.plugins.module_utils._model import backlog, plan, receipt, report
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import NotAuthorized
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.idle import NOT_LOOKED
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import Note, NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.report import Problem, ProblemKind
from ansible_collections.streamshift.kafka.plugins.module_utils._module import plan_verification
from ansible_collections.streamshift.kafka.plugins.module_utils._module.digests import digest
from ansible_collections.streamshift.kafka.plugins.module_utils._module.verify_results import failure, verify_result
from ansible_collections.streamshift.kafka.plugins.modules import kafka_offset_verify
from tests.support.module_inputs import DESTINATION, ORDERS, SNAPSHOT, SOURCE, entry, plan_of, saved, warned

READING = GroupReading("billing", True, "Empty", "classic", "consumer", {ORDERS: CommittedOffset(5)})
SKIPPED = Problem(ProblemKind.SKIPPED, "billing", ((ORDERS, 7),), ((ORDERS, 5),), 2, "2 records would be skipped")


@pytest.fixture
def verify(run_module, monkeypatch, tmp_path):
    """``verify(problems=[], **options)`` verifies a plan with one entry; verify.asked is what was claimed, and how."""

    def run(problems=(), check=False, **options):
        def records(claimed, source, destination, limit, spark, say, on_absent):
            run.asked = {"limit": limit, "on_absent": on_absent, "method": "records"}
            run.compared = claimed
            found = Verified(1, 0, 4, list(problems), [Note(NoteKind.TO_COME, "a note")])
            return found, report.Report("S", "D", limit, ())

        def anchors(made, receipt, source, destination, chosen, on_absent, policies):
            run.asked = {"receipt": receipt, "chosen": chosen, "on_absent": on_absent, "method": "anchors"}
            run.policies = policies
            return Verified(1, 0, 2, list(problems), []), report.Report("S", "D", None, (), method="anchors")

        def claims(*given):
            run.claimed = given
            return Claims("S", "D", [], 0, [], [Note(NoteKind.GROUP_IN_USE, "seen on the way")])

        monkeypatch.setattr(plan_verification.pending.groups, "read_groups", lambda *_given: run.read())
        monkeypatch.setattr(
            plan_verification.pending.positions, "log_ends", lambda _cluster, its: dict.fromkeys(its, 9)
        )
        monkeypatch.setattr(plan_verification.use_case, "records", records)
        monkeypatch.setattr(plan_verification.use_case, "anchors", anchors)
        monkeypatch.setattr(plan_verification.claimed_offsets, "of_plan", claims)
        monkeypatch.setattr(plan_verification.claimed_offsets, "of_commits", claims)
        planned = saved(tmp_path / "p.json", plan.to_json(plan_of(entry())))
        given = {"source": SOURCE, "destination": DESTINATION, "plan": planned, **options}
        given = {name: value for name, value in given.items() if value is not None}
        return run_module(kafka_offset_verify, check=check, **given)

    run.read = lambda: {"billing": READING}
    return run


def test_what_is_right_is_no_change_and_writes_a_report_about_this_plan(verify, tmp_path):
    result = verify(report=str(tmp_path / "report.json"))
    assert not result["changed"] and result["verified"] == 1 and "seen on the way" in warned(result)
    assert result["notes"] == ["seen on the way", "a note"] and result["note_kinds"] == ["group_in_use", "to_come"]
    assert "a note" not in warned(result)
    found = report.objections((tmp_path / "report.json").read_text(), "report.json")
    assert found.plan == result["plan_digest"]


@pytest.mark.parametrize(
    ("options", "ends"), [({"scope": "plan"}, {"orders": (9,)}), ({"scope": "committed", "receipt": True}, {})]
)
def test_a_report_that_a_commit_may_follow_has_its_first_look(verify, tmp_path, options, ends):
    path = tmp_path / "report.json"
    if "receipt" in options:
        options = {**options, "receipt": str(tmp_path / "none.json")}
    verify(report=str(path), **options)
    look = report.objections(path.read_text(), "report.json").look
    assert look.ends == ends and look.is_recent is look.shows([READING]) is bool(ends)


def test_what_cannot_be_looked_at_is_for_the_commit_to_say(verify, tmp_path):
    path = tmp_path / "report.json"

    def refuse():
        raise NotAuthorized("needs ACL GROUP DESCRIBE")

    verify.read = refuse
    assert not verify(report=str(path), scope="plan").get("failed")
    assert report.objections(path.read_text(), "report.json").look == NOT_LOOKED


def test_what_was_compared_and_is_not_right_is_counted(verify):
    worse = SKIPPED._replace(kind=ProblemKind.BEYOND_END, detail="the offset is beyond the end")
    assert verify([SKIPPED, worse], on_problem="report")["summary"] == [
        "1 verified, 1 with problems, 0 without records, 4 records compared."
    ]
    assert verify()["summary"] == ["1 verified, 0 without records, 4 records compared."]


def test_what_was_requested_is_not_said_to_be_without_records():
    result = verify_result(Verified(1, 2, 4, [], [], requested=3), None, "plan")
    assert (result["without_records"], result["requested"]) == (2, 3)
    assert result["summary"] == ["1 verified, 2 without records, 3 requested and not verified, 4 records compared."]


@pytest.mark.parametrize(
    ("verified", "scope", "told"),
    [
        (Verified(0, 0, 0, [], []), "to_commit", "0 verified, because no offset is left to commit."),
        (Verified(0, 0, 0, [], []), "committed", "0 verified, because there is no offset to verify."),
        (Verified(0, 2, 0, [], []), "plan", "0 verified, 2 without records, 0 records compared."),
        # A group that has consumed everything.
        (
            Verified(1, 0, 0, [], []),
            "plan",
            "1 verified, 0 without records, 0 records compared, because the destination has no copies of unconsumed records.",
        ),
        (
            Verified(1, 0, 0, [SKIPPED], []),
            "plan",
            "1 verified, 1 with problems, 0 without records, 0 records compared.",
        ),
    ],
)
def test_whoever_reads_that_nothing_was_compared_reads_why(verified, scope, told):
    assert verify_result(verified, None, scope)["summary"] == [told]


def test_check_mode_verifies_and_writes_no_report(verify, tmp_path):
    assert verify(check=True, report=str(tmp_path / "report.json"))["verified"] == 1
    assert not (tmp_path / "report.json").exists()


def test_whoever_is_stopped_by_one_group_hears_how_to_go_on_with_the_others(verify):
    """A role that has such a policy verifies with it; a task of the user's own has to ask for a report besides."""
    in_a_role = verify([SKIPPED], scope="plan", option_names={"on_blocked": "group_migration_on_not_ready"})
    assert "To go on with the other groups, set group_migration_on_not_ready to skip_group." in in_a_role["msg"]
    alone = verify([SKIPPED], scope="plan")["msg"]
    assert "set on_blocked to skip_group and on_problem to report." in alone
    without = verify([SKIPPED], scope="plan", option_names={"limit": "backlog_migration_verify_limit"})["msg"]
    assert "skip_group" not in without


def test_a_problem_fails_the_module_and_is_in_its_report(verify, tmp_path):
    result = verify([SKIPPED], report=str(tmp_path / "report.json"))
    assert result["failed"] and "2 records would be skipped" in result["msg"]
    assert (tmp_path / "report.json").exists()


def test_what_the_replication_tool_left_out_is_no_fault_of_the_offset(verify):
    absent = SKIPPED._replace(kind=ProblemKind.ABSENT)
    said = verify([absent])["msg"]
    assert "The offsets are not the cause." in said and "set on_absent to warn" in said
    said = verify([SKIPPED, absent])["msg"]
    assert said.startswith("2 problems of 2 kinds: skipped 1, absent 1. The most serious: ") and "the cause" not in said


@pytest.mark.parametrize(
    ("scope", "told"), [("to_commit", "This run commits nothing."), ("plan", "Set no group of this copy.")]
)
def test_a_copy_that_differs_is_not_planned_again(scope, told):
    """Its plan would be the same."""
    differs = Problem(ProblemKind.COPY_DIFFERS, "", (), (), None, "3 records are missing")
    said = failure([SKIPPED, differs], scope)
    assert f"{told} Where groups of this copy are set already, stop their consumers and roll them back." in said
    assert "lan again" not in said and "skip_group" not in said


def test_a_problem_is_only_reported_where_the_user_says_so(verify):
    result = verify([SKIPPED], on_problem="report")
    assert not result.get("failed") and not result["changed"]
    assert "billing" in result["problems"][0] and result["findings"]


@pytest.mark.parametrize("is_its_own", [True, False])
def test_only_what_was_copied_is_read_for_the_plan_of_this_copy(verify, monkeypatch, tmp_path, is_its_own):
    monkeypatch.setattr(copy_differences, "copy_differences", lambda *_: [])
    monkeypatch.setattr(Claims, "within", lambda claims, copied: claims._replace(source_id=copied.name))
    taken = SNAPSHOT.digest() if is_its_own else "another"
    copied = backlog.Backlog("streamshift-copy-0123456789abcdef", "S", "D", taken, (), ())
    verify(copy=saved(tmp_path / "copy.json", backlog.to_json(copied)))
    assert verify.compared.source_id == (copied.name if is_its_own else "S")


@pytest.mark.parametrize("is_there", [True, False])
def test_of_a_copy_what_would_be_committed_is_verified_and_its_receipt_says_what_is_needed(
    verify, monkeypatch, tmp_path, is_there
):
    asked = []
    monkeypatch.setattr(copy_differences, "copy_differences", lambda *given: asked.append(given) or [])
    monkeypatch.setattr(plan_verification, "check_plan_clusters", lambda *_: None)
    copied = backlog.Backlog("streamshift-copy-0123456789abcdef", "S", "D", SNAPSHOT.digest(), (), ())
    known = receipt.Receipt("D", (receipt.ReceiptEntry("billing", ORDERS, None, None, None),))
    path = saved(tmp_path / "receipt.json", receipt.to_json(known)) if is_there else str(tmp_path / "none.json")
    verify(copy=saved(tmp_path / "copy.json", backlog.to_json(copied)), receipt=path, scope="to_commit")
    ((_copied, planned, passed, *_clusters),) = asked
    assert ([each.group for each in planned], passed) == (["billing"], known if is_there else None)
    _plan, written, *_clusters, chosen, _policies = verify.claimed
    assert written is None and chosen == []  # the group has the planned offset


def test_a_copy_that_differs_cannot_only_be_reported(verify):
    refused = verify(copy="copy.json", on_problem="report")
    assert refused["failed"] and "Leave out copy, or let a problem fail the task." in refused["msg"]


def test_the_report_is_about_the_plan_that_was_verified_and_not_about_one_that_came_meanwhile(
    verify, tmp_path, monkeypatch
):
    path, others = tmp_path / "p.json", plan.to_json(plan_of(entry(6)))
    monkeypatch.setattr(plan_verification.use_case, "expect", lambda *_given: path.write_text(others))
    assert verify()["plan_digest"] == digest(plan.to_json(plan_of(entry())))
    assert path.read_text() == others


def test_options_reach_the_use_case(verify):
    verify(limit=0, on_absent="warn")
    assert verify.asked == {"limit": None, "on_absent": "warn", "method": "records"}
    verify(method="anchors")
    assert verify.asked == {"receipt": None, "chosen": None, "on_absent": "fail", "method": "anchors"}
    verify(method="anchors", on_rewind="keep")
    assert verify.policies == ("keep", "advance")
    verify(on_advance="keep")
    assert verify.claimed[-1] == ("fail", "keep")


def test_all_anchors_are_read_at_once_though_only_some_are_noted(verify):
    verify(method="anchors", incremental=True)
    assert [each.key for each in verify.asked["chosen"]] == [entry().key]


def test_without_a_plan_the_named_groups_are_compared_as_match_on_says(verify):
    verify(plan=None, groups=["billing"], match_on=["value", "key"])
    *_rest, match_on = verify.claimed
    assert match_on.parts == ("key", "value")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"plan": None}, "nothing is to be verified"),
        ({"plan": None, "groups": ["billing"], "method": "anchors"}, "all of the following are missing: plan"),
        ({"groups": ["billing"]}, "mutually exclusive"),
        ({"plan": None, "receipt": "r.json"}, "required by 'receipt': plan"),
        ({"match_on": ["key"]}, "match_on"),
        ({"scope": "committed"}, "receipt"),
        (
            {
                "plan": None,
                "groups": ["billing"],
                "topic_map": [{"name": "a", "to": "b"}],
                "replication_policy": {"source_alias": "src"},
            },
            "topic_map and replication_policy both name",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(verify, options, said):
    result = verify(**options)
    assert result["failed"] and said in result["msg"] and not hasattr(verify, "asked")
