# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The occasion of a report: who asked for what, and the commands to do it again and to roll it back. Pure."""

from __future__ import annotations

import dataclasses
import json
import shlex
import typing as t

from ..._model.receipt import Key, Receipt, ReceiptEntry
from ..._model.run_record import READ_BACK, VERIFYING, Step
from .migration_files import NAMES, SelectionLists, has_groups, selected_entries


class _Role(t.NamedTuple):
    """A role that ends with a report. playbook: for all phases but a rollback. phase: the default one. applies: it has apply.

    needing_more: the phases that need new names of groups, or the offsets of a reset, which no report knows; nor does it know
    the names that a return is asked for by.
    """

    playbook: str
    phase: str = "migrate"
    applies: bool = False
    in_one_cluster: bool = False
    needing_more: tuple[str, ...] = ()


_ROLES = {
    "backlog_migration": _Role("migrate_backlog"),
    "group_clone": _Role("clone_groups", applies=True, in_one_cluster=True, needing_more=("clone", "plan", "apply")),
    "group_migration": _Role("migrate_groups", applies=True),
    "group_reset": _Role("reset_groups", applies=True, in_one_cluster=True, needing_more=("reset", "plan")),
    "mirror_maker_group_sync": _Role("sync_mirror_maker_groups", phase="sync"),
}


_MOST_BYTES = 100_000  # of an argument: Linux refuses a command with one of more than 131,071
_VARIABLES_FILE = "file-of-variables-of-that-run.yml"  # for whoever runs the command to replace


def places(source: str, destination: str, *, returns: bool) -> tuple[str, str]:
    """What sentences say for "at the source" and "at the destination"; nothing within one cluster.

    A return calls the clusters by their names, because the source of the migration is its destination.
    """
    if source and source == destination:
        return "", ""
    named = returns and source and destination
    return (f" on {source}", f" on {destination}") if named else (" at the source", " at the destination")


@dataclasses.dataclass(frozen=True, slots=True)
class Occasion:
    """What the files do not tell: who asked for what, and when. Empty texts and None where it is not known.

    role: the role without the collection's name. returns: whether it returns groups, or rolls a return back. selection: its
    variables that choose groups and topics, without prefix. when: the moment of the report, as text. versions: of programs,
    by name. failure: the message that ended the run. refusal: why a commit of the plan would be refused. files: the names of
    those that the report is about. ran_by: the person, or what else has started the run. steps: as long as they have taken,
    in their order. written: how many committed offsets the run has changed, None where not known. left_out: a line for each
    group that was left out because it was in use. left_alone: see RunOutcome. unnamed: how many other groups
    run.json has counted as left out, without their names. may_start: the groups that have all offsets of the plan at the
    destination, None where only the files tell. may_not_start: how many were asked for, and have not. unused_rules: what was
    said of rules and patterns that match nothing. restored: what group-partitions had committed before a rollback, and whether
    it has changed that, of those of which that is known. restored_count: how many it has restored, None where not known.
    made_again: the groups which a rename had removed that the rollback has made again.
    """

    directory: str
    when: str
    role: str = ""
    phase: str = ""
    returns: bool = False
    source: str = ""
    destination: str = ""
    selection: SelectionLists = dataclasses.field(default_factory=dict)
    versions: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    failure: str = ""
    refusal: str = ""
    ran_by: str = ""
    steps: t.Sequence[Step] = ()
    files: t.Sequence[str] = NAMES
    written: int | None = None
    left_out: t.Sequence[str] = ()
    left_alone: t.Mapping[str, t.Sequence[str]] = dataclasses.field(default_factory=dict)
    unnamed: int = 0
    may_start: t.Collection[str] | None = None
    may_not_start: int = 0
    unused_rules: t.Sequence[str] = ()
    restored: t.Mapping[Key, tuple[int | None, bool]] = dataclasses.field(default_factory=dict)
    restored_count: int | None = None
    made_again: t.Sequence[str] = ()

    @property
    def is_rollback(self) -> bool:
        """Whether the run has restored what was committed before."""
        return self.phase == "rollback"

    def taken(self, written: Receipt | None) -> tuple[ReceiptEntry, ...] | None:
        """The entries that a rollback of what was selected takes, or has taken, None where it is refused."""
        return selected_entries(written, self.selection, has_ended=self.is_rollback and not self.failure)

    @property
    def playbook(self) -> str:
        """The playbook of the role, or words for it."""
        if self.returns:
            return "streamshift.kafka.return_groups"
        playbook = self._role.playbook
        return f"streamshift.kafka.{playbook}" if playbook else "the playbook of the migration"

    @property
    def has_apply(self) -> bool:
        """Whether the role has a phase that commits a reviewed plan."""
        return self._role.applies

    @property
    def wrote_nothing(self) -> bool:
        """Whether the run has succeeded without a write: all that it planned was there, or was left out."""
        return self.written == 0 and not self.failure

    @property
    def why_left_alone(self) -> list[str]:
        """The lines of left_alone."""
        return [line for lines in self.left_alone.values() for line in lines]

    @property
    def leaves_groups_out(self) -> bool:
        """Whether there are groups that the run has left out, or left alone."""
        return bool(self.left_out or self.why_left_alone or self.unnamed)

    @property
    def verified_nothing(self) -> bool:
        """Whether the run has verified no plan because it had nothing to write: report.json is an earlier run's, or missing."""
        return self.wrote_nothing and "verify" not in {step.step for step in self.steps}

    @property
    def read_back(self) -> int:
        """How many committed offsets the run has read back."""
        return sum(step.counts.get(name, 0) for step in self.steps if step.step == "read back" for name in READ_BACK)

    @property
    def verification_failed(self) -> bool:
        """Whether the run has failed because of what a verification has found, which may be in no report.json."""
        return any(step.failed and step.step in VERIFYING for step in self.steps)

    @property
    def is_within_one_cluster(self) -> bool:
        """Whether source and destination are one."""
        return bool(self.source) and self.source == self.destination

    @property
    def at_the_source(self) -> str:
        """A part of a sentence, empty where there is but one cluster."""
        return places(self.source, self.destination, returns=self.returns)[0]

    @property
    def at_the_destination(self) -> str:
        """The same."""
        return places(self.source, self.destination, returns=self.returns)[1]

    @property
    def its_consumers(self) -> str:
        """Which consumers are to be started or stopped."""
        return f"the consumers{self.at_the_destination or ' of the groups'}"

    def command_again(self, **more: t.Any) -> str:
        """The command that runs the same phase, empty where the report does not know all that the role needs.

        more: other variables of the role, without prefix.
        """
        # Nobody knows whether the plan that is there is the one that was reviewed.
        needs_more = self.phase in self._role.needing_more or (self.phase == "apply" and "plan_digest" not in more)
        if (self.returns and not self.is_rollback) or needs_more:
            return ""
        everything = self.is_rollback and not has_groups(self.selection)
        return self._command(self._role.playbook, phase=self.phase, rollback_all=everything, **more)

    def command_to_migrate(self) -> str:
        """The command that does what a rollback has undone, empty where the report does not know all that the role needs."""
        if self.returns or self._role.needing_more or not has_groups(self.selection):
            return ""
        return self._command(self._role.playbook, phase=self._role.phase)

    def command_back(self) -> str:
        """The command that rolls back, empty where the role is not known."""
        return self._command("rollback", phase="rollback")

    @property
    def _role(self) -> _Role:
        return _ROLES.get(self.role, _Role(""))

    def _command(self, playbook: str, **more: t.Any) -> str:
        if self.role not in _ROLES:
            return ""
        given: dict[str, t.Any] = {"source": self.source, "destination": self.destination}
        if self._role.in_one_cluster:
            given = {"cluster": self.destination}
        given |= {"directory": self.directory, **more}
        file = ""
        text = self._variables(given | {option: list(chosen) for option, chosen in self.selection.items()})
        if len(text.encode(errors="surrogatepass")) > _MOST_BYTES:
            # The file comes first: of a variable that is given twice, such as the phase, Ansible takes the last value.
            file, text = f" -e @{_VARIABLES_FILE}", self._variables(given)
        return f"ansible-playbook streamshift.kafka.{playbook} -i inventory.yml{file} \\\n  -e {shlex.quote(text)}"

    def _variables(self, given: t.Mapping[str, t.Any]) -> str:
        return json.dumps({f"{self.role}_{option}": its for option, its in given.items() if its}, ensure_ascii=False)
