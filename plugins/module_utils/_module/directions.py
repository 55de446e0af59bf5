# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What is next after a run, and the way back, as its last words and its report tell it. Pure."""

from __future__ import annotations

import dataclasses
import json
import shlex
import typing as t

from .._model.wording import counted
from .run_outcome import RunOutcome


def places(source: str, destination: str, *, returns: bool) -> tuple[str, str]:
    """What sentences say for "at the source" and "at the destination"; nothing within one cluster.

    A return calls the clusters by their names, because the source of the migration is its destination.
    """
    if source and source == destination:
        return "", ""
    named = returns and source and destination
    return (f" on {source}", f" on {destination}") if named else (" at the source", " at the destination")


@dataclasses.dataclass(frozen=True, slots=True)
class RoleSettings:
    """What else the variables of a role say that decides what is next, as the option settings of kafka_migration_run.

    renames: whether groups get other names in their cluster. live: whether producers go on. hidden: whether the source may hide
    committed offsets of the groups. after_rollback: what there is to say besides after a rollback.
    """

    on_blocked: str = "fail"
    renames: bool = False
    live: bool = False
    hidden: bool = False
    after_rollback: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """What a run was asked for. role: without the collection's name, empty for tasks of a user's own.

    returns: whether it returns groups, or rolls a return back. refused: whether a commit would refuse the plan. source_lost:
    whether no source was asked. acls: what a promotion does with ACLs.
    """

    directory: str = ""
    role: str = ""
    source: str = ""
    destination: str = ""
    returns: bool = False
    refused: bool = False
    source_lost: bool = False
    acls: str = ""
    settings: RoleSettings = RoleSettings()


class NextStep(t.NamedTuple):
    """What is next. given: what the next command gives besides, None where no command is next.

    back: the way back, where that is said with it. others: for which groups it is next, if not for all. before, after: other
    lines.
    """

    text: str
    given: t.Mapping[str, str] | None = None
    back: str = ""
    others: str = ""
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @property
    def last_words(self) -> list[str]:
        """As a run ends with them."""
        text = " ".join(filter(None, [self.text, self.back]))
        return [*self.before, *([f"Next{self.others}: {text}"] if text else []), *self.after]

    @property
    def sentences(self) -> list[str]:
        """The same where the title says that it is next, and the way back is told apart."""
        text = f"{self.others.removeprefix(', ')}: {self.text}" if self.others else self.text
        return [*self.before, *([text[0].upper() + text[1:]] if text else []), *self.after]


@dataclasses.dataclass(frozen=True, slots=True)
class Directions:
    """What is next after a run, and the way back."""

    run: RunOutcome
    asked: Asked

    def way_back(self, stop: str = "", known: tuple[bool, int] = (False, 0)) -> str:
        """How to roll back, and of how many offsets no run with this receipt can, empty for neither.

        stop: what is to be done before. known: as RunOutcome.reversible, where no commit has said it.
        """
        can_roll_back, unwritten = self.run.reversible or known
        lines = [f"To roll back, {stop}run {self._command_back()}."] if can_roll_back else []
        if unwritten:
            them, were = ("it", "was") if unwritten == 1 else ("them", "were")
            lines.append(
                f"{counted(unwritten, 'offset')} {were} there already, and this directory has not written {them}: it cannot "
                f"roll {them} back."
            )
        return " ".join(lines)

    def _command_back(self) -> str:
        if not self.asked.role:
            return "kafka_offset_commit with state=rolled_back and receipt.json"
        if not self.asked.returns:
            return f"the same command with {self._given(phase='rollback')}"
        given = {name: getattr(self.asked, name) for name in ("source", "destination", "directory")}
        names = f"{self.asked.role}_groups as they are called on {self.asked.source}"
        return f"the playbook streamshift.kafka.rollback with {self._given(**given)} and {names}"

    def _after_rollback(self) -> NextStep:
        """What there is to say where nothing was rolled back, and what is next for the groups that have gone back."""
        said, stay = [], self.run.not_moved
        if not any(result.get("changed") for result in self.run.results.values()):
            elsewhere = f" If other files tell of the groups, set {self.asked.role}_directory."
            said = [f"Nothing was rolled back.{elsewhere if self.asked.role and not stay else ''}"]
            if self.run.dry_run or stay:
                return NextStep("", before=tuple(said))
        if self.run.dry_run:
            return NextStep("run the same command without --check.")
        others = ", for the other groups" if stay else ""
        after = self.asked.settings.after_rollback
        return NextStep(self._undone(), others=others, before=tuple(said), after=after)

    def _undone(self) -> str:
        if not self.run.at_source:
            return f"start the consumers{' with the old names' * self.asked.settings.renames}."
        return (
            f"see that the groups still have committed offsets on {self.asked.source or 'the source'} "
            "(streamshift.kafka.list_groups), and start the consumers there, or run again the playbook that had moved them."
        )

    def next(self) -> NextStep:
        """What to do now, empty where nobody has said what has become of the run.

        It is the same for each role, as far as the phase is the same.
        """
        if not (self.run.results or self.asked.refused):
            return NextStep("")
        if self.run.failed:  # of a play that ignores errors
            again = "remove the cause of the failure, and run the same command again"
            return NextStep(f"{again}. Until it succeeds, do not start consumers{self.run.at_destination}.", {})
        if self.run.phase == "rollback":
            return self._after_rollback()
        if "promotion" in self.run.results:
            return self._next_of_promotion()
        # One that finds nothing to do asks for no other run. A plan alone is nothing to do where a commit takes it.
        doing = ("topics", "copy", "plan" if self.run.phase in ("plan", "sync") else "commit", "remove")
        copies = "copy" in self.run.results or self.asked.role == "backlog_migration"
        if copies and self.run.phase == "plan":
            producers = "" if self.asked.settings.live else "the producers and "
            before = f"stop {producers}the consumers{self.run.at_source}"
            again = f"run the same command without {self._given(phase='plan')}"
            return NextStep(f"look at what is to be copied. Then {before}, and {again}.", {"phase": "migrate"})
        # What is copied and not yet to be committed, a dry run does not look at.
        is_unset = copies and not self.run.result("commit")
        if self.run.dry_run and (is_unset or any(self.run.result(step).get("changed") for step in doing)):
            return NextStep("look at the offsets, and run the same command without --check.")
        if self.run.phase == "plan":
            return self._next_of_plan()
        if self.run.phase == "sync" and not self.asked.source_lost:
            given = {"phase": "cut_over"}
            not_ready = bool(self.run.result("readiness").get("not_ready"))
            waits = "go on with rounds until each group is ready. Then " * not_ready
            then = f"stop the consumers{self.run.at_source}, and run the same command with {self._given(**given)}."
            return NextStep(f"{waits}{then}", given)
        return self._next_of_commit()

    def _next_of_promotion(self) -> NextStep:
        promoted = self.run.result("promotion")
        if promoted.get("changes") and self.run.dry_run:
            return NextStep("look at the changes, and run the same command without --check.")
        if promoted.get("changes") and self.run.phase == "plan":
            given = {"phase": "apply"}
            exactly = f"To make exactly these, run the same command with {self._given(**given)}."
            return NextStep(f"look at the changes. {exactly}", given)
        moves = "if groups are to move, let the replication tool fill the topics, and migrate the groups"
        step = "move the producers" if self.asked.acls == "cutover" else moves
        # Without a change, there may be no receipt.
        back = f"To roll back, run {self._command_back()}." if promoted.get("changes") else ""
        return NextStep(f"{step}.", back=back)

    def _next_of_plan(self) -> NextStep:
        if self.asked.refused:
            return NextStep("decide about what a commit would refuse, and run the same command again.", {})
        if "digest" not in self.run.planned:
            return NextStep("")
        counts = self.run.planned["counts"]
        has_others = any(count for verdict, count in counts.items() if verdict not in ("blocked", "uncommitted"))
        if counts.get("blocked") and (self.asked.settings.on_blocked == "fail" or not has_others):
            others = f" Or leave it out with {self._given(on_blocked='skip_group')} or skip_partition." * has_others
            return NextStep(f"remove the cause of what is blocked, and run the same command again.{others}", {})
        given = {"phase": "apply", "plan_digest": self.run.planned["digest"]}
        again = self._given(phase="plan")
        return NextStep(
            f"look at the plan. To commit exactly this one, run the same command with {self._given(**given)}. If groups have "
            f"moved since, run it without {again}, which makes a new plan and commits that.",
            given,
        )

    def _next_of_commit(self) -> NextStep:
        committed = self.run.committed
        if "may_start" not in committed:
            return NextStep("")
        leaves_out = bool(committed.get("blocked") or committed.get("left_out") or self.run.lines_of_groups(1))
        again, given = "run the same command again", {}
        if self.run.phase == "apply":  # applying a plan again makes no other one
            given = {"phase": "plan"}
            digest = f"{self.asked.role}_plan_digest" if self.asked.role else "plan_digest"
            again = f"plan again: run the same command with {self._given(**given)} and without {digest}"
        if leaves_out and not self.run.standing:
            then = f" Until what is left out is decided about, do not start consumers{self.run.at_destination}."
            stands = bool(committed.get("stands"))  # no group has all of its offsets
            back = self.way_back() if stands else ""
            return NextStep(f"look at what is left out, and {again}.{then * stands}", given, back)
        first = "look at what is left out. Then start" if leaves_out else "start"
        where = self.run.at_destination or " with the new names" * self.asked.settings.renames
        text = f"{first} the consumers{where}"
        if self.asked.settings.hidden:
            text += ", once you know that no group consumes what the note topics_hidden names"
        if self.run.may_not_start:
            text += f", but not those of groups that are blocked or left out. To move these, too, remove the cause, and {again}"
        if self.run.dry_run and not leaves_out:
            # It cannot know whether the last run was stopped before it had compared what it has written.
            text += ", because nothing is left to write. If the last run was stopped before its end, run it again first"
        back = self.way_back("stop them, and ")
        return NextStep(f"{text}.", given if self.run.may_not_start else None, back)

    def _given(self, **variables: str) -> str:
        """How a command gives variables of the role."""
        if not self.asked.role:
            return " ".join(f"{name}={value}" for name, value in variables.items())
        given = {f"{self.asked.role}_{name}": value for name, value in variables.items()}
        return " ".join(f"-e {_extra_variable(name, value)}" for name, value in given.items())


def _extra_variable(name: str, value: str) -> str:
    """How a shell takes it. Ansible ends name=value at a blank, and so takes other values as JSON only."""
    plain = f"{name}={value}"
    return plain if shlex.quote(value) == value else shlex.quote(json.dumps({name: value}, ensure_ascii=False))
