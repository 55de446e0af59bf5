# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a role says in the end of a run: what was done, how long it took, and what comes next. Knows nothing of templates."""

from __future__ import annotations

import dataclasses
import typing as t

from ..module_utils._model.run_record import READ_BACK, UNTIMED
from ..module_utils._model.wording import MANY_NAMED
from ..module_utils._module.directions import Asked, Directions, RoleSettings
from ..module_utils._module.run_outcome import RunOutcome


@dataclasses.dataclass(frozen=True, slots=True)
class LastWords:
    """What there is to say of a run.

    run: what its modules have returned. variables: those of roles/common, and of the role that includes it. They are worked out
    when they are read, so that whoever asks how long a run took needs none. refused: whether a commit would refuse the plan.
    hidden: whether the source may hide committed offsets of the groups.
    """

    run: RunOutcome
    variables: t.Mapping[str, t.Any]
    refused: bool = False
    hidden: bool = False

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
        verified = self.run.result("verify")
        notes = zip(verified.get("note_kinds", ()), verified.get("notes", ()), strict=True)
        return [
            *verified.get("summary", ()),
            *(verified.get("problems", ()) if not self.run.result("commit") else ()),
            *(": ".join(note) for note in notes),
        ]

    def read_back(self) -> list[str]:
        """How many committed offsets were read back, if any were. A dry run has committed nothing, and reads nothing back."""
        read = self.run.result("read back")
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
        """What to do now."""
        return self._directions.next().last_words

    def way_back(self) -> list[str]:
        """How to roll back what is committed, and of how much of it no run can. Nothing, where nothing is."""
        return [*filter(None, [self._directions.way_back()])]

    def settings(self) -> list[dict[str, t.Any]]:
        """What the end of the run has to know for its report. That of one that has failed needs nothing."""
        return [{} if self.run.failed else dataclasses.asdict(self._settings)]

    @property
    def _settings(self) -> RoleSettings:
        planning = self.variables.get("_common_plan_options", {})
        committing = self.variables.get("_common_commit_options", {})
        return RoleSettings(
            on_blocked=committing.get("on_blocked", "fail"),
            renames="removed" in committing or ("group_map" in planning and not planning.get("restores")),
            live=bool(self.variables.get(f"{self._role}_live")),
            hidden=self.hidden,
            after_rollback=self.variables.get("_common_after_rollback", []),
        )

    @property
    def _directions(self) -> Directions:
        names = ("directory", "role", "source", "destination", "returns", "source_lost")
        asked = {name: self.variables[f"_common_{name}"] for name in names if f"_common_{name}" in self.variables}
        acls = self.variables.get(f"{self._role}_acls", "")
        # One that has failed needs no more, and what cannot be worked out must not hide why.
        settings = RoleSettings() if self.run.failed else self._settings
        return Directions(self.run, Asked(**asked, refused=self.refused, acls=acls, settings=settings))

    @property
    def _role(self) -> str:
        return str(self.variables["_common_role"])
