# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What to do next after a run, and the way back, each with its command. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._model.option_names import option_name, ways
from ..._model.progress import counted, first_names
from ..._model.verdicts import Verdict
from .figures import STANDING, WRITTEN, GroupPartition, State
from .migration_files import MigrationFiles
from .occasion import Occasion
from .recorded import selected_entries
from .totals import Totals

_KEEP_RECEIPT = "Keep receipt.json: without it, nothing can be rolled back."
_NAMED = 20  # more groups than these are not named
_SAME_PLAYBOOK = "the same playbook again, with all of its variables"


def next_steps(
    files: MigrationFiles, occasion: Occasion, total: Totals, rows: t.Iterable[GroupPartition]
) -> tuple[tuple[str, ...], str]:
    """What to do next, and the command for it, empty for none."""
    again = occasion.command_again()
    if occasion.is_rollback and occasion.failure:
        repeated = "" if selected_entries(files.receipt, occasion.selection) is None else again
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
        return _after_rollback(undone, occasion, total, rows), ""
    if total.objected:
        return _after_objections(occasion, total), again
    if files.plan is None:
        return ("Make a plan.",) if files.receipt is None else ("Nothing: there is no plan.",), ""
    if occasion.refusal:
        return (f"Decide about what a commit would refuse: {occasion.refusal}", f"Then run {_SAME_PLAYBOOK}."), again
    if total.verdicts[Verdict.BLOCKED]:
        steps = f"Follow the remedies of what is blocked, then run {_SAME_PLAYBOOK}."
        if _any_stand(total):
            return (steps,), again
        policies = "skip_group" if occasion.phase == "cut_over" else "skip_partition or skip_group"
        others = ways(("on_blocked", f"To migrate the others now, set {option_name('on_blocked')} to {policies}."))
        return tuple(filter(None, (steps, others))), again
    if occasion.phase == "plan" and (total.states[State.NOT_COMMITTED] or total.states[State.ROLLED_BACK]):
        return _to_apply(files, occasion)
    if occasion.phase == "sync" and files.plan.source_id:
        return _to_cut_over(occasion)
    if occasion.leaves_groups_out:
        return _without_left_out(occasion, total), again
    if total.states[State.NOT_COMMITTED]:
        return ("Run the playbook to commit these offsets.",), again
    if total.states[State.ROLLED_BACK]:
        return (undone,), ""
    return (f"Start {occasion.its_consumers}. {_KEEP_RECEIPT}",), ""


def _after_rollback(
    undone: str, occasion: Occasion, total: Totals, rows: t.Iterable[GroupPartition]
) -> tuple[str, ...]:
    """What to do after a rollback: the consumers of groups that it has left alone go on where they are."""
    kept = sorted({row.group for row in rows if row.state in WRITTEN})
    if not kept:
        return (undone,)
    stay = f"Not rolled back: {first_names(kept, _NAMED)}. Let their consumers go on{occasion.at_the_destination}."
    return (stay, f"For the other groups: {undone}") if total.states[State.ROLLED_BACK] else (stay,)


def _without_left_out(occasion: Occasion, total: Totals) -> tuple[str, ...]:
    """What to do where groups were left out because they were in use, or left alone on purpose."""
    then = f"Stop the consumers of the groups that were left out, and run {_SAME_PLAYBOOK}."
    if not occasion.left_out:
        then = f"If the groups that were left out are to move, too, follow the exceptions, and run {_SAME_PLAYBOOK}."
    if not _any_stand(total):
        return (then,)
    start = f"Start {occasion.its_consumers}, but not those of the groups that were left out: see the exceptions."
    return f"{start} {_KEEP_RECEIPT}", then


def _after_objections(occasion: Occasion, total: Totals) -> tuple[str, ...]:
    """What to do where the verification has objected. Where that was left out, the other groups are migrated."""
    then = f"Follow the remedies of the verification's findings, then run {_SAME_PLAYBOOK}."
    if occasion.phase in ("plan", "sync") or total.objected_standing or not _any_stand(total):
        return (then,)
    start = f"Start {occasion.its_consumers}, but not those of groups that failed verification or were left out."
    return f"{start} {_KEEP_RECEIPT}", then


def _any_stand(total: Totals) -> bool:
    """Whether any group has the offset of the plan at the destination."""
    return any(total.states[state] for state in STANDING)


def _to_apply(files: MigrationFiles, occasion: Occasion) -> tuple[tuple[str, ...], str]:
    """How a plan that was made to be reviewed is committed."""
    if not occasion.has_apply:
        return ("Review the plan, and run the playbook without a phase to commit these offsets.",), ""
    digest = files.digests["plan.json"]
    command = dataclasses.replace(occasion, phase="apply").command_again(plan_digest=digest)
    if command:
        return ("Review the plan. To commit exactly this plan, run the phase apply with its digest.",), command
    changes = f"{occasion.role}_phase=apply and {occasion.role}_plan_digest={digest}"
    return (f"Review the plan. To commit exactly this plan, run {_SAME_PLAYBOOK}, but with {changes}.",), ""


def _to_cut_over(occasion: Occasion) -> tuple[tuple[str, ...], str]:
    """How rounds end: their groups still consume at the source."""
    then = f"Then stop the consumers{occasion.at_the_source}, and run {_SAME_PLAYBOOK}, but with the phase cut_over."
    steps = ("Go on with rounds until each group is ready.", f"{then} {_KEEP_RECEIPT}")
    return steps, dataclasses.replace(occasion, phase="cut_over").command_again()


def way_back(occasion: Occasion, total: Totals) -> tuple[str, str]:
    """How to undo what the run has done, and the command for it, empty for none."""
    if occasion.is_rollback:
        return _rollback_undone(occasion)
    if not total.earlier and not any(total.states[state] for state in WRITTEN):
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
