# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a role says in the end of a run: what was done, how long it took, and what comes next. Knows nothing of templates."""

from __future__ import annotations

import dataclasses
import json
import shlex
import typing as t

from ..module_utils._model.run_record import READ_BACK, UNTIMED
from ..module_utils._model.wording import MANY_NAMED, counted
from ..module_utils._module.run_outcome import Result, RunOutcome


@dataclasses.dataclass(frozen=True, slots=True)
class LastWords:
    """What there is to say of a run.

    run: what its modules have returned. variables: those of roles/common, and of the role that includes it. They are worked out
    when they are read, so that whoever asks how long a run took needs none. refused: whether a commit would refuse the plan.
    """

    run: RunOutcome
    variables: t.Mapping[str, t.Any]
    refused: bool = False

    def failed(self) -> list[bool]:
        """Whether a step has failed."""
        return [self.run.failed]

    def done(self) -> list[str]:
        """What was verified and committed, a line each."""
        verified, *more = self.verified() or [""]
        unverified = []
        if self.run.committed.get("changed") and self.variables.get(f"{self._role}_verify") == "none":
            unverified.append(f"Nothing was verified ({self._role}_verify: none).")
        first = " ".join(filter(None, [verified, *self.read_back()]))
        return [*filter(None, [first]), *more, *unverified, *self.run.committed.get("summary", ())]

    def verified(self) -> list[str]:
        """What the verification has found. A commit names the problems with what it leaves out."""
        verified = self._result("verify")
        notes = zip(verified.get("note_kinds", ()), verified.get("notes", ()), strict=True)
        return [
            *verified.get("summary", ()),
            *(verified.get("problems", ()) if _is_skipped(self._result("commit")) else ()),
            *(": ".join(note) for note in notes),
        ]

    def read_back(self) -> list[str]:
        """How many committed offsets were read back, if any were. A dry run has committed nothing, and reads nothing back."""
        read = self._result("read back")
        offsets = sum(read.get(count, 0) for count in READ_BACK)
        if not offsets:
            return []
        records = f"{read['compared']} {'record' if read['compared'] == 1 else 'records'}"
        which = "offset" if offsets == 1 else "offsets"
        beside = "it" if offsets == 1 else "them"
        return [f"{offsets} committed {which} read back, {records} beside {beside} compared."]

    def left_out(self) -> list[str]:
        """A line for the groups that are in use at the source, and one for those that are astray.

        The summary of a commit names what it leaves out itself.
        """
        return self.run.lines_of_groups(MANY_NAMED)

    def took(self) -> list[str]:
        """How long each step has taken, of those that have run."""
        steps = [
            f"{step} {result['seconds']:.1f} s"
            for step, result in self.run.results.items()
            if "seconds" in result and step not in UNTIMED
        ]
        return [f"It took: {', '.join(steps)}."]

    def next(self) -> list[str]:
        """What to do now. It is the same for each role, as far as the phase is the same."""
        if self.run.phase == "rollback" and not self.run.failed:
            return self._after_rollback()
        return [f"Next: {self._next()}"]

    def way_back(self) -> list[str]:
        """How to roll back what is committed, and of how much of it no run can. Nothing, where nothing is."""
        return [*filter(None, [self._way_back("run").lstrip()])]

    def _command_back(self) -> str:
        if not self.variables["_common_returns"]:
            return f"the same command with {self._given(phase='rollback')}"
        given = {name: self.variables[f"_common_{name}"] for name in ("source", "destination", "directory")}
        names = f"{self._role}_groups as they are called on {given['source']}"
        return f"the playbook streamshift.kafka.rollback with {self._given(**given)} and {names}"

    def _after_rollback(self) -> list[str]:
        """What there is to say where nothing was rolled back, and what is next for the groups that have gone back."""
        said, stay = [], any(self.run.committed.get(groups) for groups in ("kept_groups", "active_groups"))
        if not any(result.get("changed") for result in self.run.results.values()):
            elsewhere = "" if stay else f" If other files tell of the groups, set {self._role}_directory."
            said = [f"Nothing was rolled back.{elsewhere}"]
            if self.run.dry_run or stay:
                return said
        if self.run.dry_run:
            return ["Next: run the same command without --check."]
        others = ", for the other groups" if stay else ""
        return [*said, f"Next{others}: {self._undone()}", *self.variables["_common_after_rollback"]]

    def _undone(self) -> str:
        if not self.run.at_source:
            has_renamed = "removed" in self.variables["_common_commit_options"]
            return f"start the consumers{' with the old names' * has_renamed}."
        return (
            f"see that the groups still have committed offsets on {self.variables['_common_source']} "
            "(streamshift.kafka.list_groups), and start the consumers there, or run again the playbook that had moved them."
        )

    def _next(self) -> str:
        if self.run.failed:  # of a play that ignores errors
            again = "remove the cause of the failure, and run the same command again"
            return f"{again}. Until it succeeds, do not start consumers{self.run.at_destination}."
        if "promotion" in self.run.results:
            return self._next_of_promotion()
        # One that finds nothing to do asks for no other run. A plan alone is nothing to do where a commit takes it.
        doing = ("topics", "copy", "plan" if self.run.phase in ("plan", "sync") else "commit", "remove")
        copies = "copy" in self.run.results
        if copies and self.run.phase == "plan":
            producers = "" if self.variables.get(f"{self._role}_live") else "the producers and "
            before = f"stop {producers}the consumers{self.run.at_source}"
            return f"look at what is to be copied. Then {before}, and run the same command without {self._given(phase='plan')}."
        # What is copied and not yet to be committed, a dry run does not look at.
        is_unset = copies and not self._result("commit")
        if self.run.dry_run and (is_unset or any(self._result(step).get("changed") for step in doing)):
            return "look at the offsets, and run the same command without --check."
        if self.run.phase == "plan":
            return self._next_of_plan()
        if self.run.phase == "sync" and not self.variables["_common_source_lost"]:
            not_ready = bool(self._result("readiness").get("not_ready"))
            waits = "go on with rounds until each group is ready. Then " * not_ready
            again = f"run the same command with {self._given(phase='cut_over')}"
            return f"{waits}stop the consumers{self.run.at_source}, and {again}."
        return self._next_of_commit()

    def _next_of_promotion(self) -> str:
        promoted = self._result("promotion")
        if promoted.get("changes") and self.run.dry_run:
            return "look at the changes, and run the same command without --check."
        if promoted.get("changes") and self.run.phase == "plan":
            return (
                f"look at the changes. To make exactly these, run the same command with {self._given(phase='apply')}."
            )
        moves = "if groups are to move, let the replication tool fill the topics, and migrate the groups"
        step = "move the producers" if self.variables[f"{self._role}_acls"] == "cutover" else moves
        # Without a change, there may be no receipt.
        back = f" To roll back, run {self._command_back()}." if promoted.get("changes") else ""
        return f"{step}.{back}"

    def _next_of_plan(self) -> str:
        if self.refused:
            return "decide about what a commit would refuse, and run the same command again."
        fails_on_blocked = self.variables["_common_commit_options"]["on_blocked"] == "fail"
        counts = self.run.planned["counts"]
        has_others = any(count for verdict, count in counts.items() if verdict not in ("blocked", "uncommitted"))
        if counts.get("blocked") and (fails_on_blocked or not has_others):
            others = f" Or leave it out with -e {self._role}_on_blocked=skip_group or skip_partition." * has_others
            return f"remove the cause of what is blocked, and run the same command again.{others}"
        given = self._given(phase="apply", plan_digest=self.run.planned["digest"])
        again = self._given(phase="plan")
        return (
            f"look at the plan. To commit exactly this one, run the same command with {given}. If groups have moved since, run "
            f"it without {again}, which makes a new plan and commits that."
        )

    def _next_of_commit(self) -> str:
        committed = self.run.committed
        leaves_out = bool(committed.get("blocked") or committed.get("left_out") or self.left_out())
        if leaves_out and not self.run.standing:
            return f"look at what is left out, and {self._again()}.{self._until_then()}"
        first = "look at what is left out. Then start" if leaves_out else "start"
        where, options = "", self.variables["_common_plan_options"]
        if "group_map" in options and not options.get("restores"):
            where = self.run.at_destination or " with the new names"
        but = ", but not those of groups that are blocked or left out" if self.run.may_not_start else ""
        back = self._way_back("stop them, and run")
        # It cannot know whether the last run was stopped before it had compared what it has written.
        again = ", because nothing is left to write. If the last run was stopped before its end, run it again first"
        return f"{first} the consumers{where}{but}{again if self.run.dry_run and not leaves_out else ''}.{back}"

    def _way_back(self, verb: str) -> str:
        """How to roll back what has its offsets, and of how much of it no run with this receipt can."""
        committed = self.run.committed
        unwritten = committed.get("unwritten", 0)
        of_receipt = committed.get("receipt") and not (unwritten and unwritten == committed["stands"])
        back = f" To roll back, {verb} {self._command_back()}." if of_receipt else ""
        if not unwritten:
            return back
        those = f"{counted(unwritten, 'offset')} {'was' if unwritten == 1 else 'were'} there already"
        them = "it" if unwritten == 1 else "them"
        return f"{back} {those}, and this directory has not written {them}: it cannot roll {them} back."

    def _again(self) -> str:
        """How what is left out is done later. Applying a plan again makes no other one."""
        if self.run.phase != "apply":
            return "run the same command again"
        return f"plan again: run the same command with {self._given(phase='plan')} and without {self._role}_plan_digest"

    def _until_then(self) -> str:
        """What else there is to say where no group has all of its offsets, but some of them are committed."""
        if not self.run.committed.get("stands"):
            return ""
        return (
            f" Until what is left out is decided about, do not start consumers{self.run.at_destination}."
            f"{self._way_back('run')}"
        )

    @property
    def _role(self) -> str:
        return str(self.variables["_common_role"])

    def _given(self, **variables: str) -> str:
        """How a command gives variables of the role."""
        given = {f"{self._role}_{name}": value for name, value in variables.items()}
        return " ".join(f"-e {_extra_variable(name, value)}" for name, value in given.items())

    def _result(self, step: str) -> Result:
        """What the module of a step has returned, {} if it has not run."""
        result = self.run.results.get(step, {})
        return {} if _is_skipped(result) else result


def _extra_variable(name: str, value: str) -> str:
    """How a shell takes it. Ansible ends name=value at a blank, and so takes other values as JSON only."""
    plain = f"{name}={value}"
    return plain if shlex.quote(value) == value else shlex.quote(json.dumps({name: value}, ensure_ascii=False))


def _is_skipped(result: Result) -> bool:
    return not result or bool(result.get("skipped"))
