# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a role says in the end of a run: what was done, how long it took, and what comes next. Knows nothing of templates."""

from __future__ import annotations

import dataclasses
import json
import shlex

from ..module_utils._model.progress import first_names
from ..module_utils._model.run_record import UNTIMED
from ..module_utils._module.run_outcome import Result, RunOutcome

NAMED = 20  # more groups than these are not named


@dataclasses.dataclass(frozen=True, slots=True)
class LastWords:
    """What there is to say of a run.

    run: what its modules have returned. role: without the name of the collection; its variables begin with it. source,
    destination: clusters, by their names in the inventory. directory: of the files. returns: whether groups are returned.
    source_lost: whether no source was asked. dry_run: whether nothing was written. verifies: whether the role was asked to
    verify. moves: whether groups go on elsewhere, or by another name. fails_on_blocked: whether a blocked entry ends the run.
    refused: whether a commit would refuse the plan.
    """

    run: RunOutcome
    role: str
    source: str
    destination: str
    directory: str
    returns: bool
    source_lost: bool
    dry_run: bool
    verifies: bool
    moves: bool
    fails_on_blocked: bool
    refused: bool

    def failed(self) -> list[bool]:
        """Whether a step has failed."""
        return [self.run.failed]

    def done(self) -> list[str]:
        """What was verified and committed, a line each."""
        verified, *more = self.verified() or [""]
        unverified = []
        if self.run.committed.get("changed") and not self.verifies:
            unverified.append(f"Nothing was verified ({self.role}_verify: none).")
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
        offsets = sum(read.get(count, 0) for count in ("verified", "without_records", "requested"))
        if not offsets:
            return []
        records = f"{read['compared']} {'record' if read['compared'] == 1 else 'records'}"
        which = "offset" if offsets == 1 else "offsets"
        beside = "it" if offsets == 1 else "them"
        return [f"{offsets} committed {which} read back, {records} beside {beside} compared."]

    def left_out(self) -> list[str]:
        """The groups that are in use at the source, on one line. The summary of a commit names what it leaves out itself."""
        groups = first_names(self.run.left_at_source, NAMED)
        return [f"Left out, because they are in use{self.run.at_source}: {groups}."] if groups else []

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
        return [f"Next: {self._next()}"]

    def command_back(self) -> list[str]:
        """Which command rolls back."""
        if not self.returns:
            return [f"the same command with {self._given(phase='rollback')}"]
        given = self._given(source=self.source, destination=self.destination, directory=self.directory)
        names = f"{self.role}_groups as they are called on {self.source}"
        return [f"the playbook streamshift.kafka.rollback with {given} and {names}"]

    def _next(self) -> str:
        # A dry run that finds nothing to do says the same of what comes next as the run itself.
        if self.dry_run and any(self._result(step).get("changed") for step in ("topics", "plan", "commit", "remove")):
            return "look at the offsets, and run the same command without --check."
        if self.run.phase == "plan":
            return self._next_of_plan()
        if self.run.phase == "sync" and not self.source_lost:
            waits = (
                "go on with rounds until each group is ready. Then "
                if self._result("readiness").get("not_ready")
                else ""
            )
            again = f"run the same command with {self._given(phase='cut_over')}"
            return f"{waits}stop the consumers{self.run.at_source}, and {again}."
        return self._next_of_commit()

    def _next_of_plan(self) -> str:
        if self.fails_on_blocked and self.run.planned["counts"].get("blocked"):
            return (
                "remove the cause of what is blocked, and run the same command again. Or leave it out with "
                f"-e {self.role}_on_blocked=skip_group or skip_partition."
            )
        if self.refused:
            return "decide about what a commit would refuse, and run the same command again."
        given = self._given(phase="apply", plan_digest=self.run.planned["digest"])
        again = self._given(phase="plan")
        return (
            f"look at the plan. To commit exactly this one, run the same command with {given}. If groups have moved since, run "
            f"it without {again}, which makes a new plan and commits that."
        )

    def _next_of_commit(self) -> str:
        committed = self.run.committed
        leaves_out = bool(committed.get("blocked") or committed.get("left_out") or self.left_out())
        if leaves_out and not committed.get("stands"):
            return "look at what is left out, and run the same command again."
        first = "look at what is left out. Then start" if leaves_out else "start"
        where = ""
        if self.moves:
            where = " with the new names" if self.source == self.destination else self.run.at_destination
        back = f" To roll back, stop them, and run {self.command_back()[0]}." if committed.get("receipt") else ""
        # It cannot know whether the last run was stopped before it had compared what it has written.
        again = ", because nothing is left to write. If the last run was stopped before its end, run it again first"
        return f"{first} the consumers{where}{again if self.dry_run and not leaves_out else ''}.{back}"

    def _given(self, **variables: str) -> str:
        """How a command gives variables of the role."""
        given = {f"{self.role}_{name}": value for name, value in variables.items()}
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
