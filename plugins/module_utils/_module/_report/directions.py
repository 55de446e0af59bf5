# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What to do next after a run, and the way back, each with its command. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._model.option_names import option_name, ways
from ..._model.verdicts import Verdict
from ..._model.wording import MANY_NAMED, counted, first_names
from .figures import STANDING, WRITTEN, GroupPartition, State
from .migration_files import MigrationFiles
from .occasion import Occasion
from .totals import Totals

_KEEP_RECEIPT = " Keep receipt.json: without it, nothing can be rolled back."
_SAME_PLAYBOOK = "the same playbook again, with all of its variables"


def next_steps(
    files: MigrationFiles, occasion: Occasion, total: Totals, rows: t.Sequence[GroupPartition]
) -> tuple[tuple[str, ...], str]:
    """What to do next, and the command for it, empty for none."""
    again = occasion.command_again()
    if occasion.is_rollback and occasion.failure:
        repeated = "" if occasion.taken(files.receipt) is None else again
        return (f"Correct what the message names: {occasion.failure}", f"Then run {_SAME_PLAYBOOK}."), repeated
    if occasion.failure:
        return (f"Follow the message: {occasion.failure}", f"Then run {_SAME_PLAYBOOK}: it continues."), again
    undone = (
        "Let the consumers go on where they were before, or run the playbook again."
        if occasion.is_within_one_cluster
        else f"See that the groups still have committed offsets{occasion.at_the_source}, and start the consumers there, or "
        f"{'return' if occasion.returns else 'migrate'} again."
    )
    if occasion.is_rollback:
        return _after_rollback(undone, occasion, rows), ""
    if files.plan is None:
        return ("Make a plan.",) if files.receipt is None else ("Nothing: there is no plan.",), ""
    if occasion.refusal:
        return (f"Decide about what a commit would refuse: {occasion.refusal}", f"Then run {_SAME_PLAYBOOK}."), again
    if occasion.phase == "plan":
        return _to_apply(files, occasion, total)
    if occasion.phase == "sync" and files.plan.source_id:
        return _to_cut_over(occasion, total)
    if remedy := _remedy(occasion, total):
        return _without_left_out(remedy, occasion, total, rows)
    if not occasion.may_start and total.states[State.NOT_COMMITTED]:
        return ("Run the playbook to commit these offsets.",), again
    if not occasion.may_start and total.states[State.ROLLED_BACK]:
        return (undone,), ""
    return (f"Start {occasion.its_consumers}.{_keep_receipt(total)}",), ""


def _can_roll_back(total: Totals) -> bool:
    """Whether the receipt has anything of these groups that is not rolled back."""
    return bool(total.earlier or any(total.states[state] for state in WRITTEN))


def _keep_receipt(total: Totals) -> str:
    return _KEEP_RECEIPT * _can_roll_back(total)


def _after_rollback(undone: str, occasion: Occasion, rows: t.Sequence[GroupPartition]) -> tuple[str, ...]:
    """What to do after a rollback: the consumers of groups that it has left alone go on where they are."""
    again = f"Made again: {first_names(occasion.made_again, MANY_NAMED)}. Start the consumers with these names."
    steps = (again,) if occasion.made_again else ()
    if steps and not rows:
        return steps
    kept = {row.group for row in rows if row.state in WRITTEN}
    if not kept:
        return (*steps, undone)
    stay = f"Not rolled back: {first_names(sorted(kept), MANY_NAMED)}. Let their consumers go on{occasion.at_the_destination}."
    has_others = any(row.group not in kept for row in rows)
    return (*steps, stay, *([f"For the other groups: {undone}"] if has_others else []))


def _remedies(total: Totals) -> str:
    """What to do about offsets that the verification objects to, or that are blocked, empty for none."""
    if total.objected:
        return "Follow the remedies of the verification's findings"
    return "Follow the remedies of what is blocked" if total.verdicts[Verdict.BLOCKED] else ""


def _remedy(occasion: Occasion, total: Totals) -> str:
    """What to do about groups of which something is left out, empty for none."""
    if remedies := _remedies(total):
        return remedies
    if occasion.left_out:
        return "Stop the consumers of the groups that were left out"
    if occasion.leaves_groups_out:
        return "If the groups that were left out are to move, too, follow the exceptions"
    if occasion.may_not_start:
        return "If the groups that were left out are to move, too, do what the output of the run says of them"
    return ""


def _without_left_out(
    remedy: str, occasion: Occasion, total: Totals, rows: t.Sequence[GroupPartition]
) -> tuple[tuple[str, ...], str]:
    """What to do where something was left out: the consumers of the other groups may start."""
    then, command = f"{remedy}, and run {_SAME_PLAYBOOK}.", occasion.command_again()
    if occasion.phase == "apply":  # it makes no plan
        then, command = f"{remedy}, and plan again.", dataclasses.replace(occasion, phase="plan").command_again()
    if _some_may_start(occasion, rows):
        start = f"Start {occasion.its_consumers}, but not those of groups that are blocked or left out."
        return (f"{start}{_keep_receipt(total)}", then), command
    if any(total.states[state] for state in STANDING):
        return (then, f"Until then, do not start {occasion.its_consumers}.{_keep_receipt(total)}"), command
    if occasion.phase or not total.verdicts[Verdict.BLOCKED]:
        return (then,), command
    others = (
        "on_blocked",
        f"To migrate the others now, set {option_name('on_blocked')} to skip_partition or skip_group.",
    )
    return tuple(filter(None, (then, ways(others)))), command


def _some_may_start(occasion: Occasion, rows: t.Sequence[GroupPartition]) -> bool:
    """Whether any group has all offsets of the plan at the destination, or has consumed since."""
    # Only the run knows whether it has left a group out that has an offset which the verification objects to.
    objected = {row.group for row in rows if row.verified is False and row.state in STANDING}
    if occasion.may_start is not None or objected:
        return bool(occasion.may_start) and objected.isdisjoint(occasion.may_start or ())
    settled: dict[str, bool] = {}
    for row in rows:
        gone_on = row.state is State.LEFT_ALONE and row.offset is not None and not occasion.left_alone.get(row.group)
        is_settled = row.state in STANDING or row.verdict is Verdict.UNCOMMITTED or gone_on
        settled[row.group] = settled.get(row.group, True) and is_settled
    return any(settled.values())


def _to_apply(files: MigrationFiles, occasion: Occasion, total: Totals) -> tuple[tuple[str, ...], str]:
    """How a plan that was made to be reviewed is committed, without what is blocked."""
    left_out = total.objected + total.verdicts[Verdict.BLOCKED]
    if left_out:
        again = f"{_remedies(total)}, and run {_SAME_PLAYBOOK}."
        if not occasion.has_apply or total.partitions == left_out + total.verdicts[Verdict.UNCOMMITTED]:
            return (again,), occasion.command_again()
        policy = ways(("on_blocked", f", and with {option_name('on_blocked')}: skip_group"))
        how, command = _applying(files, occasion, on_blocked="skip_group")
        return (again, f"Or review the plan. To commit the others of exactly this plan, {how}{policy}."), command
    if not occasion.has_apply:
        return ("Review the plan, and run the playbook without a phase to commit these offsets.",), ""
    how, command = _applying(files, occasion)
    return (f"Review the plan. To commit exactly this plan, {how}.",), command


def _applying(files: MigrationFiles, occasion: Occasion, **more: str) -> tuple[str, str]:
    """How exactly this plan is committed, and the command for it, empty where the report does not know all that it needs."""
    digest = files.digests["plan.json"]
    command = dataclasses.replace(occasion, phase="apply").command_again(plan_digest=digest, **more)
    if command:
        return "run the phase apply with its digest", command
    return f"run {_SAME_PLAYBOOK}, but with {occasion.role}_phase=apply and {occasion.role}_plan_digest={digest}", ""


def _to_cut_over(occasion: Occasion, total: Totals) -> tuple[tuple[str, ...], str]:
    """How rounds end: their groups still consume at the source."""
    remedy = _remedies(total)
    rounds = f"{remedy}, and go" if remedy else "Go"
    then = f"Then stop the consumers{occasion.at_the_source}, and run {_SAME_PLAYBOOK}, but with the phase cut_over."
    steps = (f"{rounds} on with rounds until each group is ready.", f"{then}{_KEEP_RECEIPT}")
    return steps, dataclasses.replace(occasion, phase="cut_over").command_again()


def way_back(occasion: Occasion, total: Totals) -> tuple[str, str]:
    """How to undo what the run has done, and the command for it, empty for none."""
    if occasion.is_rollback:
        return _rollback_undone(occasion)
    if not _can_roll_back(total):
        if unwritten := total.states[State.UNCHANGED]:
            which = f"{unwritten:,} of these offsets {'was' if unwritten == 1 else 'were'} there already"
            return f"{which}, and the receipt of this directory does not have them: it cannot roll them back.", ""
        return f"Nothing of this is committed{occasion.at_the_destination}, so there is nothing to roll back.", ""
    earlier = ""
    if total.earlier:
        earlier = (
            f"Earlier runs have committed {counted(total.earlier, 'group-partition')} of these groups"
            f"{occasion.at_the_destination}. "
        )
    how = (
        f"roll these groups back. If they have consumed{occasion.at_the_destination} since, add "
        f"-e {occasion.role}_on_rewind=rewind: the consumers then consume these records once more:"
        if occasion.role
        else "run kafka_offset_commit with state=rolled_back and receipt.json."
    )
    return f"{earlier}Stop {occasion.its_consumers}, then {how}", occasion.command_back()


def _rollback_undone(occasion: Occasion) -> tuple[str, str]:
    """How to do again what a rollback has undone, and the command for it, empty for none."""
    if occasion.failure and occasion.written == 0:
        return "Nothing was rolled back.", ""
    command = occasion.command_to_migrate()
    how = f"run {occasion.playbook} with all variables of that run"
    return f"To commit offsets for these groups again, {how}{':' if command else '.'}", command
