"""What roles say in the end of a run: the next step is one that can be done, and nothing is left out without a word."""

import json
import shlex

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._module.directions import places
from ansible_collections.streamshift.kafka.plugins.module_utils._module.run_outcome import RunOutcome
from ansible_collections.streamshift.kafka.plugins.plugin_utils._last_words import LastWords

PLANNED = {"counts": {"exact": 3, "blocked": 0}, "digest": "4b82", "changed": True, "seconds": 1.25}
COMMITTED = {
    "blocked": [],
    "left_out": [],
    "may_start": ["billing", "web"],
    "receipt": "/m/receipt.json",
    "summary": ["3 of 3 offsets changed."],
}
BACK = "To roll back, stop them, and run the same command with -e group_migration_phase=rollback."
LEFT_OUT = "look at what is left out"
OTHERS = (
    f"{LEFT_OUT}. Then start the consumers at the destination, but not those of groups that are blocked or left out. "
    "To move these, too, remove the cause, and run the same command again."
)
CHECKED = "look at the offsets, and run the same command without --check."
APPLY = (
    "look at the plan. To commit exactly this one, run the same command with -e group_migration_phase=apply "
    "-e group_migration_plan_digest=4b82. If groups have moved since, run it without -e group_migration_phase=plan, "
    "which makes a new plan and commits that."
)
CHANGES = "look at the changes"
APART = "run the same command with -e group_migration_phase="
MOVING = "if groups are to move, let the replication tool fill the topics, and migrate the groups"
FAILED = {"failed": True, "msg": "no broker answers"}
REMEDY = "remove the cause of the failure, and run the same command again."
AGAIN = f"{REMEDY} Until it succeeds, do not start consumers at the destination."
MOVED = {"not_ready": ["billing"], "not_started": ["billing", "web"]}  # by another tool, after the commit
SKIPPED = {"changed": False, "skipped": True}


def words(
    phase="migrate",
    *,
    destination="cloud",
    directory="/m",
    returns=False,
    refused=False,
    hidden=False,
    source_lost=False,
    dry_run=False,
    verifies=True,
    moves=True,
    fails_on_blocked=True,
    acls="none",
    live=False,
    **more,
):
    """Those of a run of group_migration. more: results by the step."""
    variables = {
        "_common_role": "group_migration",
        "group_migration_live": live,
        "_common_source": "onprem",
        "_common_destination": destination,
        "_common_directory": directory,
        "_common_returns": returns,
        "_common_source_lost": source_lost,
        "_common_plan_options": {"group_map": []} if moves else {},
        "_common_commit_options": {"on_blocked": "fail" if fails_on_blocked else "skip_group"},
        "_common_after_rollback": [],
        "group_migration_acls": acls,
        "group_migration_verify": "anchors" if verifies else "none",
    }
    results = {step.replace("_", " "): result for step, result in more.items()}
    run = RunOutcome(results, phase, *places("onprem", destination, returns=returns), dry_run=dry_run)
    return LastWords(run, variables, refused, hidden)


def test_a_value_with_a_blank_is_given_whole():
    (back,) = words(returns=True, directory="/m/it's mine", commit=COMMITTED).way_back()
    (given,) = [word for word in shlex.split(back) if "directory" in word]
    assert json.loads(given) == {"group_migration_directory": "/m/it's mine"}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (words(commit=COMMITTED), f"start the consumers at the destination. {BACK}"),
        (words(commit=COMMITTED, destination="onprem"), f"start the consumers with the new names. {BACK}"),
        (words(commit=COMMITTED, destination="onprem", moves=False), f"start the consumers. {BACK}"),
        (
            words(commit=COMMITTED, hidden=True),
            (
                "start the consumers at the destination, once you know that no group consumes what the note topics_hidden "
                f"names. {BACK}"
            ),
        ),
        (words(commit={**COMMITTED, "receipt": None}), "start the consumers at the destination."),
        # What another directory has written is in no receipt of this one.
        (
            words(commit={**COMMITTED, "stands": 3, "unwritten": 3}),
            (
                "start the consumers at the destination. 3 offsets were there already, and this directory has not written "
                "them: it cannot roll them back."
            ),
        ),
        (
            words(commit={**COMMITTED, "stands": 3, "unwritten": 1}),
            (
                f"start the consumers at the destination. {BACK} 1 offset was there already, and this directory has not "
                "written it: it cannot roll it back."
            ),
        ),
        (words(commit={**COMMITTED, "blocked": ["shop orders-0: blocked"], "may_not_start": 1}), f"{OTHERS} {BACK}"),
        # Where groups have only partitions without a committed offset, or excluded ones, none of them is left out.
        (
            words(commit={**COMMITTED, "left_out": ["web orders-0: uncommitted"]}),
            f"look at what is left out. Then start the consumers at the destination. {BACK}",
        ),
        (
            words(
                commit={**COMMITTED, "left_out": ["shop orders-0: blocked, verification_failed"], "may_not_start": 1}
            ),
            f"{OTHERS} {BACK}",
        ),
        # Nothing may start, although an offset of a group stands.
        (
            words(commit={**COMMITTED, "may_start": [], "stands": 1, "blocked": ["billing orders-0: blocked"]}),
            (
                "look at what is left out, and run the same command again. Until what is left out is decided about, do not "
                "start consumers at the destination. To roll back, run the same command with -e group_migration_phase=rollback."
            ),
        ),
        (
            words("apply", commit={**COMMITTED, "may_start": [], "blocked": ["billing orders-0: blocked"]}),
            (
                "look at what is left out, and plan again: run the same command with -e group_migration_phase=plan and "
                "without group_migration_plan_digest."
            ),
        ),
        (
            words("cut_over", commit={**COMMITTED, "may_start": ["billing"]}, readiness=MOVED),
            f"{LEFT_OUT}, and run the same command again.",
        ),
        (words(commit=COMMITTED, snapshot={"skipped_groups": ["shop"]}), f"{OTHERS} {BACK}"),
        (
            words(commit={**COMMITTED, "may_start": [], "left_out": ["billing: in use"]}),
            f"{LEFT_OUT}, and run the same command again.",
        ),
        (
            words("return", commit=COMMITTED, returns=True),
            (
                "start the consumers on cloud. To roll back, stop them, and run the playbook streamshift.kafka.rollback with "
                "-e group_migration_source=onprem -e group_migration_destination=cloud -e group_migration_directory=/m and "
                "group_migration_groups as they are called on onprem."
            ),
        ),
        (words("plan", plan=PLANNED, commit=SKIPPED), APPLY),
        (
            words("plan", plan=PLANNED, refused=True),
            "decide about what a commit would refuse, and run the same command again.",
        ),
        (
            words("plan", plan={**PLANNED, "counts": {"exact": 2, "blocked": 1}}),
            (
                "remove the cause of what is blocked, and run the same command again. Or leave it out with -e "
                "group_migration_on_blocked=skip_group or skip_partition."
            ),
        ),
        (words("plan", plan={**PLANNED, "counts": {"exact": 2, "blocked": 1}}, fails_on_blocked=False), APPLY),
        (
            words("plan", plan={**PLANNED, "counts": {"blocked": 1, "uncommitted": 1}}, fails_on_blocked=False),
            "remove the cause of what is blocked, and run the same command again.",
        ),
        (words("plan", plan=PLANNED, dry_run=True), CHECKED),
        (words(plan=PLANNED, commit={**COMMITTED, "changed": True}, dry_run=True), CHECKED),
        # A dry run that finds nothing to do at a cluster asks for no other run.
        (
            words(plan=PLANNED, commit={**COMMITTED, "changed": False}, dry_run=True),
            (
                "start the consumers at the destination, because nothing is left to write. If the last run was "
                f"stopped before its end, run it again first. {BACK}"
            ),
        ),
        (
            words("sync", commit=COMMITTED, readiness={"not_ready": ["billing"]}),
            (
                "go on with rounds until each group is ready. Then stop the consumers at the source, and run the same "
                "command with -e group_migration_phase=cut_over."
            ),
        ),
        (
            words("sync", commit=COMMITTED, readiness={"not_ready": []}),
            "stop the consumers at the source, and run the same command with -e group_migration_phase=cut_over.",
        ),
        # Of a play that ignores errors.
        (words(commit=FAILED), AGAIN),
        (words(commit=COMMITTED, read_back=FAILED), AGAIN),
        (words("plan", plan=FAILED), AGAIN),
        (words(commit=FAILED, destination="onprem"), f"{REMEDY} Until it succeeds, do not start consumers."),
        (words("cut_over", commit={**COMMITTED, "may_start": ["billing", "web"]}, readiness=MOVED), f"{OTHERS} {BACK}"),
        # Of a promotion.
        (words("plan", promotion={"changes": 1}), f"{CHANGES}. To make exactly these, {APART}apply."),
        (
            words("plan", promotion={"changes": 1}, dry_run=True),
            f"{CHANGES}, and run the same command without --check.",
        ),
        (words("promote", promotion={"changes": 1}), f"{MOVING}. To roll back, {APART}rollback."),
        (words("promote", promotion={"changes": 0}, dry_run=True), f"{MOVING}."),
        (words("promote", promotion={"changes": 0}, acls="cutover"), "move the producers."),
        (words("promote", promotion=FAILED), AGAIN),
        # Of a migration with its backlog.
        (words(copy={"changed": True}, commit=COMMITTED), f"start the consumers at the destination. {BACK}"),
        (words(copy={"changed": True}, commit=SKIPPED, dry_run=True), CHECKED),
        (words(copy={"changed": False}, commit=SKIPPED, dry_run=True), CHECKED),
        (
            words("plan", copy={"changed": False}, commit=SKIPPED, dry_run=True),
            (
                "look at what is to be copied. Then stop the producers and the consumers at the source, and run the same "
                "command without -e group_migration_phase=plan."
            ),
        ),
        (
            words("plan", copy={"changed": False}, commit=SKIPPED, live=True),
            (
                "look at what is to be copied. Then stop the consumers at the source, and run the same command without -e "
                "group_migration_phase=plan."
            ),
        ),
        (words("sync", commit=COMMITTED, source_lost=True), f"start the consumers at the destination. {BACK}"),
        (
            words("sync", commit={**COMMITTED, "left_out": ["shop: in use"], "may_not_start": 1}, source_lost=True),
            f"{OTHERS} {BACK}",
        ),
    ],
)
def test_the_next_step_is_that_of_the_phase_and_of_what_was_done(said, expected):
    assert said.next() == [f"Next: {expected}"]


@pytest.mark.parametrize(
    ("commit", "said"),
    [
        ({}, ["To roll back, run the same command with -e group_migration_phase=rollback."]),
        (
            {"stands": 3, "unwritten": 3},
            ["3 offsets were there already, and this directory has not written them: it cannot roll them back."],
        ),
        ({"receipt": None}, []),
    ],
)
def test_a_read_back_that_fails_offers_only_a_rollback_that_can_be_done(commit, said):
    assert words(commit=COMMITTED | commit, read_back=FAILED).way_back() == said


GO_ON = (
    "see that the groups still have committed offsets on onprem (streamshift.kafka.list_groups), and start the consumers "
    "there, or run again the playbook that had moved them."
)
NOTHING = "Nothing was rolled back."


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ({"changed": True}, [f"Next: {GO_ON}"]),
        ({"changed": True, "kept_groups": ["web"]}, [f"Next, for the other groups: {GO_ON}"]),
        ({}, [f"{NOTHING} If other files tell of the groups, set group_migration_directory.", f"Next: {GO_ON}"]),
        ({"active_groups": ["web"]}, [NOTHING]),
    ],
)
def test_after_a_rollback_the_groups_that_went_back_go_on_where_they_were(result, said):
    assert words("rollback", rollback=result).next() == said
    dry = ["Next: run the same command without --check."] if result.get("changed") else said[:1]
    assert words("rollback", rollback=result, dry_run=True).next() == dry


@pytest.mark.parametrize(("renames", "which"), [(False, ""), (True, " with the old names")])
def test_after_a_rollback_within_one_cluster_the_consumers_start_there(renames, which):
    groups = words("rollback", destination="onprem", moves=renames, groups={"changed": True}, rollback={})
    assert groups.next() == [f"Next: start the consumers{which}."]


def test_what_was_done_is_said_in_the_order_of_the_steps():
    verified = {"summary": ["3 verified.", "2 absent."], "problems": ["p"], "note_kinds": ["lag"], "notes": ["n"]}
    read = {"verified": 1, "without_records": 0, "requested": 0, "compared": 2}
    run = words(verify=verified, commit=COMMITTED, read_back=read)
    assert run.done() == [
        "3 verified. 1 committed offset read back, 2 records beside it compared.",
        "2 absent.",
        "lag: n",
        "3 of 3 offsets changed.",
    ]
    # A commit names the problems with what it leaves out. Without one, the verification does.
    assert words("plan", verify=verified, commit=SKIPPED).done() == ["3 verified.", "2 absent.", "p", "lag: n"]


def test_a_commit_without_a_verification_says_so():
    changed = {**COMMITTED, "changed": True}
    assert words(verify=SKIPPED, commit=changed, verifies=False).done() == [
        "Nothing was verified (group_migration_verify: none).",
        "3 of 3 offsets changed.",
    ]
    assert words(verify=SKIPPED, commit=COMMITTED, verifies=False).done() == ["3 of 3 offsets changed."]


def test_nothing_is_said_to_be_read_back_where_nothing_was():
    assert words(read_back=SKIPPED).read_back() == words(read_back={}).read_back() == words().read_back() == []
    read = {"verified": 2, "without_records": 1, "requested": 1, "compared": 1}
    assert words(read_back=read).read_back() == ["4 committed offsets read back, 1 record beside them compared."]


def test_groups_in_use_at_the_source_are_named():
    many = [f"group-{number}" for number in range(30)]
    (line,) = words(snapshot={"skipped_groups": many}).left_out()
    assert line.startswith("Left out, because they are in use at the source: group-0, group-1, ")
    assert "group-19" in line and "group-20" not in line
    assert words(snapshot={"skipped_groups": []}).left_out() == []


def test_whoever_asks_only_for_results_needs_no_variable():
    """One that cannot be worked out must not hide why a run has failed."""
    run = LastWords(RunOutcome({"plan": {"failed": True, "seconds": 2.0}}), {})
    assert (run.failed(), run.took(), run.read_back()) == ([True], ["It took: plan 2.0 s."], [])


def test_each_step_of_a_run_tells_how_long_it_took():
    run = words(snapshot={"seconds": 0.51}, plan=PLANNED, verify={}, readiness={"seconds": 9})
    assert run.took() == ["It took: snapshot 0.5 s, plan 1.2 s."]
