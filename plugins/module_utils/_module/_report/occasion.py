# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The occasion of a report: who asked for what, and the commands to do it again and to roll it back. Pure."""

from __future__ import annotations

import dataclasses
import json
import shlex
import typing as t

from ..._model.receipt import Key, Receipt, ReceiptEntry
from ..._model.records import TopicPartition
from ..._model.run_record import READ_BACK, VERIFYING, RunRecord
from ..directions import Asked
from ..run_outcome import RunOutcome
from .migration_files import NAMES, SelectionLists, has_groups, selected_entries


class _Role(t.NamedTuple):
    """A role that ends with a report. playbook: for all phases but a rollback. phase: the default one.

    needing_more: the phases that need new names of groups, or the offsets of a reset, which no report knows; nor does it know
    the names that a return is asked for by.
    """

    playbook: str
    phase: str = "migrate"
    in_one_cluster: bool = False
    needing_more: tuple[str, ...] = ()


_ROLES = {
    "backlog_migration": _Role("migrate_backlog"),
    "group_clone": _Role("clone_groups", phase="clone", in_one_cluster=True, needing_more=("clone", "plan", "apply")),
    "group_migration": _Role("migrate_groups"),
    "group_reset": _Role("reset_groups", phase="reset", in_one_cluster=True, needing_more=("reset", "plan")),
    "mirror_maker_group_sync": _Role("sync_mirror_maker_groups", phase="sync"),
}


_MOST_BYTES = 100_000  # of an argument: Linux refuses a command with one of more than 131,071
_VARIABLES_FILE = "file-of-variables-of-that-run.yml"  # for whoever runs the command to replace


@dataclasses.dataclass(frozen=True, slots=True)
class Occasion:
    """What the files do not tell: who asked for what, when, and what the run has done, as far as it is known.

    outcome: without results, the report is made afterwards. run: what run.json says. when: the moment of the report, as text.
    selection: the variables of the role that choose groups and topics, without prefix. refusal: why a commit of the plan would
    be refused. files: the names of those that the report is about. ran_by: the person, or what else has started the run.
    """

    asked: Asked
    outcome: RunOutcome
    run: RunRecord
    when: str
    selection: SelectionLists = dataclasses.field(default_factory=dict)
    refusal: str = ""
    ran_by: str = ""
    files: t.Sequence[str] = NAMES

    @property
    def phase(self) -> str:
        """Of the role."""
        return self.run.phase or ""

    @property
    def is_rollback(self) -> bool:
        """Whether the run has restored what was committed before."""
        return self.phase == "rollback"

    @property
    def failure(self) -> str:
        """The message that ended the run, in one line, empty for none."""
        return " ".join(str((self.outcome.failure or {"msg": ""})["msg"]).split("\n"))

    @property
    def unnamed(self) -> int:
        """How many groups run.json has counted as left out, without their names."""
        return 0 if self.outcome.results else self.run.groups_left_out

    @property
    def restored(self) -> dict[Key, tuple[int | None, bool]]:
        """What group-partitions had committed before a rollback, and whether it has changed that, where that is known."""
        rows = self.outcome.committed.get("entries", ()) if self.is_rollback else ()
        return {
            (row["group"], TopicPartition(row["topic"], row["partition"])): (row["before"], row["changed"])
            for row in rows
        }

    @property
    def restored_count(self) -> int | None:
        """How many a rollback has restored, None where that is not known."""
        count: int | None = self.outcome.committed.get("written", self.run.written)
        return count

    @property
    def made_again(self) -> list[str]:
        """The groups which a rename had removed that a rollback has made again."""
        return list(self.outcome.results.get("groups", {}).get("groups", ()))

    def taken(self, written: Receipt | None) -> tuple[ReceiptEntry, ...] | None:
        """The entries that a rollback of what was selected takes, or has taken, None where it is refused."""
        return selected_entries(written, self.selection, has_ended=self.is_rollback and not self.failure)

    @property
    def wrote_nothing(self) -> bool:
        """Whether the run has succeeded without a write: all that it planned was there, or was left out."""
        return self.run.written == 0 and not self.failure

    @property
    def why_left_alone(self) -> list[str]:
        """A line for each offset that the run has left alone on purpose."""
        return [line for lines in self.outcome.left_alone.values() for line in lines]

    @property
    def leaves_groups_out(self) -> bool:
        """Whether there are groups that the run has left out, or left alone."""
        return bool(self.outcome.in_use or self.why_left_alone or self.unnamed)

    @property
    def verified_nothing(self) -> bool:
        """Whether the run has verified no plan because it had nothing to write: report.json is an earlier run's, or missing."""
        return self.wrote_nothing and "verify" not in {step.step for step in self.run.steps}

    @property
    def read_back(self) -> int:
        """How many committed offsets the run has read back."""
        return sum(
            step.counts.get(name, 0) for step in self.run.steps if step.step == "read back" for name in READ_BACK
        )

    @property
    def verification_failed(self) -> bool:
        """Whether the run has failed because of what a verification has found, which may be in no report.json."""
        return any(step.failed and step.step in VERIFYING for step in self.run.steps)

    @property
    def is_within_one_cluster(self) -> bool:
        """Whether source and destination are one."""
        return bool(self.asked.source) and self.asked.source == self.asked.destination

    def command(self, given: t.Mapping[str, str]) -> str:
        """The command that runs the role again with these variables, empty where the report does not know all that it needs."""
        phase = given.get("phase", self.phase)
        # Nobody knows whether the plan that is there is the one that was reviewed.
        needs_more = phase in self._role.needing_more or (phase == "apply" and "plan_digest" not in given)
        if (self.asked.returns and not self.is_rollback) or needs_more:
            return ""
        everything = self.is_rollback and not has_groups(self.selection)
        return self._command(self._role.playbook, **{"phase": phase, "rollback_all": everything, **given})

    def command_to_migrate(self) -> str:
        """The command that does what a rollback has undone, empty where the report does not know all that the role needs."""
        is_known = has_groups(self.selection) and not self.asked.returns
        return self.command({"phase": self._role.phase}) if is_known else ""

    def command_back(self) -> str:
        """The command that rolls back, empty where the role is not known."""
        return self._command("rollback", phase="rollback")

    @property
    def _role(self) -> _Role:
        return _ROLES.get(self.asked.role, _Role(""))

    def _command(self, playbook: str, **more: t.Any) -> str:
        if self.asked.role not in _ROLES:
            return ""
        given: dict[str, t.Any] = {"source": self.asked.source, "destination": self.asked.destination}
        if self._role.in_one_cluster:
            given = {"cluster": self.asked.destination}
        given |= {"directory": self.asked.directory, **more}
        file = ""
        text = self._variables(given | {option: list(chosen) for option, chosen in self.selection.items()})
        if len(text.encode(errors="surrogatepass")) > _MOST_BYTES:
            # The file comes first: of a variable that is given twice, such as the phase, Ansible takes the last value.
            file, text = f" -e @{_VARIABLES_FILE}", self._variables(given)
        return f"ansible-playbook streamshift.kafka.{playbook} -i inventory.yml{file} \\\n  -e {shlex.quote(text)}"

    def _variables(self, given: t.Mapping[str, t.Any]) -> str:
        return json.dumps(
            {f"{self.asked.role}_{option}": its for option, its in given.items() if its}, ensure_ascii=False
        )
