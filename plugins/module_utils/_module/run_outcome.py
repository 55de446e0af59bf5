# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What has become of a run, as the results of its modules tell: for the report, the history, and handlers. Pure."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .._model.errors import InvalidInput
from .._model.grouping import values_by_key
from .._model.history import ROUND_PHASES
from .._model.notes import NoteKind
from .._model.run_record import VERIFYING, Failure, RunRecord, Step
from .._model.visible_text import visible_name
from .._model.wording import first_names

Result = t.Mapping[str, t.Any]
# Of a round, only what it has written is worth keeping: snapshot and plan differ in each.
_WRITING = frozenset({"commit", "remove", "promotion"})
# What these change, or would, is nothing on a cluster.
_READING = frozenset({"snapshot", "plan", "preview", *VERIFYING})
_NAME_ENDS = re.compile("(?=:? )")  # where a name at the begin of a line may end; it may have blanks, too
_SEVERAL = frozenset({"sync", "cut_over"})  # only the last of several rounds is known


@dataclasses.dataclass(frozen=True, slots=True)
class RunOutcome:
    """What a run has done, and what it has left out.

    results: what its modules have returned, by the name of the step and in the order of the steps; {} for a step that has not
    run. phase: of the role. at_source, at_destination: what sentences say for the clusters, with a blank before. dry_run:
    whether nothing was really committed.
    """

    results: t.Mapping[str, Result]
    phase: str = ""
    at_source: str = " at the source"
    at_destination: str = " at the destination"
    dry_run: bool = False

    def result(self, step: str) -> Result:
        """What the module of a step has returned, {} if it has not run."""
        its = self.results.get(step, {})
        return {} if its.get("skipped") else its

    @property
    def failed_step(self) -> str | None:
        """The first step that has failed."""
        return next((step for step, result in self.results.items() if result.get("failed")), None)

    @property
    def failed(self) -> bool:
        """Whether a step has failed."""
        return self.failed_step is not None

    @property
    def failure(self) -> dict[str, t.Any] | None:
        """The first failure: its ``msg``, and where the module knows them its kind and place."""
        if self.failed_step is None:
            return None
        result = self.results[self.failed_step]
        return {"msg": result.get("msg", ""), **(result.get("failure") or {})}

    @property
    def is_worth_keeping(self) -> bool:
        """Whether the history keeps the files of this run: it has changed something, or failed."""
        counting = _WRITING if self.phase in ROUND_PHASES else self.results.keys()
        return self.failed or any(result.get("changed") for step, result in self.results.items() if step in counting)

    @property
    def has_written_nothing(self) -> bool:
        """Whether surely nothing was changed on a cluster. A module that fails after its first write says that it has.

        One that was killed says nothing, neither that nor why it has failed.
        """
        may_have_written = {
            step
            for step, result in self.results.items()
            if result.get("changed") or (result.get("failed") and "failure" not in result)
        }
        return may_have_written <= _READING and self.phase not in _SEVERAL

    @property
    def planned(self) -> Result:
        """The result of the step that has made the plan."""
        return self.results.get("plan", {})

    @property
    def not_made(self) -> frozenset[str]:
        """The files of the directory that are an earlier run's, because this one has ended before it made them.

        A round that fails is about the groups of the round before it.
        """
        if "plan" not in self.results or "digest" in self.planned or self.phase in ("apply", "sync"):
            return frozenset()
        taken = self.results.get("snapshot") or {"failed": True}
        return frozenset(["plan.json", "report.json", *(["snapshot.json"] if taken.get("failed") else [])])

    @property
    def committed(self) -> Result:
        """The result of the step that has committed, or rolled back."""
        return self.results.get("commit") or self.results.get("rollback", {})

    @property
    def written(self) -> int | None:
        """How many committed offsets the run has changed, None where that is not known.

        Earlier rounds may have changed others, and a commit that fails half-way says no number. Nor does what has made removed
        groups again.
        """
        restored = self.results.get("groups", {})
        if self.phase == "sync" or restored.get("changed"):
            return None
        if "written" in self.committed:
            return int(self.committed["written"])
        return 0 if self.failed and not self.committed.get("failed") else None

    @property
    def astray(self) -> list[str]:
        """The groups that have other offsets than the commit has left them with, and no members that can have consumed.

        Only a run that looks once more knows them. A dry run has committed nothing, so that they tell nothing there.
        """
        looked = self.results.get("readiness", {})
        others = {*looked.get("not_ready", ())} & {*looked.get("not_started", ())}
        return [] if self.dry_run else [group for group in self.committed.get("may_start", ()) if group in others]

    @property
    def may_start(self) -> list[str]:
        """The groups whose consumers may start: rounds and plans start none, nor does a run of which a step has failed."""
        return [] if self.failed or self.phase in ROUND_PHASES else self.standing

    @property
    def standing(self) -> list[str]:
        """The groups that have all planned offsets after the commit, and are not astray."""
        astray = set(self.astray)
        return [group for group in self.committed.get("may_start", ()) if group not in astray]

    @property
    def may_not_start(self) -> int:
        """How many groups were asked for and must not start, because something of theirs is blocked, left out or astray."""
        return int(self.committed.get("may_not_start", 0)) + len(self.left_at_source) + len(self.astray)

    @property
    def not_moved(self) -> list[str]:
        """The groups that a policy or members have kept as they were at the destination."""
        return sorted({*self.committed.get("kept_groups", ()), *self.committed.get("active_groups", ())})

    @property
    def reversible(self) -> tuple[bool, int] | None:
        """Whether a rollback takes any offset that stands, and how many no rollback takes; None where no commit has said it."""
        if "receipt" not in self.committed:
            return None
        unwritten = self.committed.get("unwritten", 0)
        return bool(self.committed["receipt"]) and not (unwritten and unwritten == self.committed["stands"]), unwritten

    @property
    def left_at_source(self) -> list[str]:
        """The groups that the snapshot has left out because they are in use."""
        return list(self.results.get("snapshot", {}).get("skipped_groups", ()))

    @property
    def in_use(self) -> list[str]:
        """A line for each group that was left out because it is in use."""
        active = self.committed.get("active_groups", ())
        return [
            *(f"{group}: left out, because it is in use{self.at_source}." for group in self.left_at_source),
            *(f"{group}: left out, because it is in use{self.at_destination}." for group in active),
        ]

    @property
    def left_alone(self) -> dict[str, list[str]]:
        """The groups of which a commit or a rollback has left an offset alone on purpose, each with the lines that say why.

        A group that was migrated earlier, and has consumed since, has none. With them, the groups that are astray.
        """
        names = {group: visible_name(group) for group in self.committed.get("kept_groups", ())}
        wanted = frozenset(names.values())
        lines = values_by_key(
            (name, line)
            for line in self.committed.get("left_out", ())
            for end in _NAME_ENDS.finditer(line)
            if (name := line[: end.start()]) in wanted
        )
        kept = {group: lines.get(name, []) for group, name in names.items()}
        return kept | {group: [self._astray_line(visible_name(group))] for group in self.astray}

    @property
    def left_out(self) -> list[str]:
        """A line for everything that was asked for and is not done: those of the modules, and the groups at the source."""
        lines = [*self.committed.get("blocked", ()), *self.lines_of_groups(len(self.left_at_source) + len(self.astray))]
        for result in self.results.values():
            lines.extend(result.get("left_out", ()))
        return list(dict.fromkeys(lines))

    @property
    def unused_rules(self) -> list[str]:
        """What the modules say of rules and patterns that match nothing, each once: no file tells it."""
        told = [
            text
            for result in self.results.values()
            for kind, text in zip(result.get("note_kinds", ()), result.get("notes", ()), strict=False)
            if kind == NoteKind.RULE_UNUSED
        ]
        return list(dict.fromkeys(told))

    def lines_of_groups(self, most: int) -> list[str]:
        """One line for the groups that are in use at the source, and one for those that are astray, if there are any.

        most: more than these are not named.
        """
        in_use, astray = (first_names(groups, most) for groups in (self.left_at_source, self.astray))
        lines = [f"Left out, because they are in use{self.at_source}: {in_use}."] if in_use else []
        return [*lines, self._astray_line(astray)] if astray else lines

    def _astray_line(self, groups: str) -> str:
        return (
            f"{groups}: the committed offset{self.at_destination} is not the planned one any more, and the group has no "
            "members. Do not start the consumers: records may be skipped. Stop what else commits there, such as MirrorMaker 2 "
            "with sync.group.offsets.enabled, and run the same command again."
        )

    @property
    def _left_out_counts(self) -> dict[str, int]:
        """How much was asked for and is not done, by kind, of the kinds that there are."""
        lines = {line for result in self.results.values() for line in result.get("left_out", ())}
        alone = list(filter(None, self.left_alone.values()))
        blocked = len(self.committed["blocked"]) if "blocked" in self.committed else None
        counts = {
            "blocked": self.planned.get("counts", {}).get("blocked", 0) if blocked is None else blocked,
            "in_use_at_source": len(self.left_at_source),
            "in_use_at_destination": len(self.committed.get("active_groups", ())),
            "left_alone": len(alone),
            "others": len(lines.difference(*alone)),
        }
        return {kind: count for kind, count in counts.items() if count}

    def record(
        self,
        role: str | None,
        started: float | None,
        ended: float,
        versions: t.Mapping[str, str],
        *,
        refused: bool = False,
    ) -> RunRecord:
        """The run in numbers, without a name of anything on a cluster."""
        failed, failure = self.failed_step, self.failure or {}
        # A verification notes in the plan what it has verified.
        verified = [self.results.get(step, {}).get("plan_digest") for step in VERIFYING]
        steps = tuple(_step(step, result) for step, result in self.results.items() if "seconds" in result)
        return RunRecord(
            role,
            self.phase or None,
            started,
            ended,
            None if failed is None else Failure(failed, failure.get("kind")),
            next(filter(None, reversed(verified)), self.planned.get("digest")),
            self.planned.get("counts", {}),
            self.written,
            self._left_out_counts,
            dict(versions),
            steps,
            refused,
        )

    @property
    def verification_failed(self) -> bool:
        """Whether a verification has failed, or has found problems that are news.

        Where problems are left out and do not fail the run, a second run that finds the same ones has nothing new to tell.
        """
        verified = [self.results.get(step, {}) for step in VERIFYING]
        changed = bool(self.planned.get("changed") or self.committed.get("changed"))
        return any(result.get("failed") or (changed and result.get("problems")) for result in verified)

    @property
    def has_news(self) -> bool:
        """Whether handlers have something new to hear.

        There is a new plan, a new offset, a verification that has failed, a round that has failed, or a group astray.
        """
        changed = self.planned.get("changed") or self.committed.get("changed")
        has_failed_round = self.failed and self.phase in ROUND_PHASES
        return bool(changed or self.verification_failed or has_failed_round or self.astray)

    def told(self) -> dict[str, t.Any]:
        """What handlers of a play may read; docs/handlers.md describes it."""
        committed = self.committed
        return {
            "digest": self.planned.get("digest"),
            "verdicts": self.planned.get("counts", {}),
            "written": committed.get("written", None if committed.get("failed") else 0),
            "summary": [*self.planned.get("summary", ()), *committed.get("summary", ())],
            "left_out": self.left_out,
            "may_start": self.may_start,
            "still_written": [topic["topic"] for topic in committed.get("still_written", ())],
            "failure": self.failure,
            "verification_failed": self.verification_failed,
        }


def check_results(results: t.Mapping[str, t.Any]) -> None:
    """Raise InvalidInput where a user's own tasks give what no module has returned."""
    for step, result in results.items():
        if not isinstance(result, dict) or not isinstance(result.get("seconds", 0), int | float):
            raise InvalidInput(
                f"{step!r} in results is no result of a module",
                remedy="give what the task has registered, or {} if it has not run",
            )


def _step(name: str, result: Result) -> Step:
    counts = {
        member: value
        for member, value in result.items()
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0 and member != "seconds"
    }
    return Step(name, float(result["seconds"]), bool(result.get("changed")), bool(result.get("failed")), counts)
