# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a commit or a rollback may do, and what it has done."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._model.errors import InvalidFile, Refused
from ..._model.group_state import CommittedOffset, same_commit
from ..._model.notes import Note
from ..._model.option_names import at_destination
from ..._model.plan import PlanEntry
from ..._model.policies import OnActiveGroup, OnAdvance, OnBlocked, OnExpiring, OnMissingEntry, OnRewind, OnStillWritten
from ..._model.receipt import Key, Receipt
from ..._model.verdicts import Verdict
from ..._model.wording import are, counted
from ..still_written import StillWritten
from .conflicts import Target
from .writing import Written

Save = t.Callable[[Receipt], None]


@dataclasses.dataclass(frozen=True, slots=True)
class CommitOptions:
    """The options of kafka_offset_commit; idle_wait in seconds. on_still_written: None does not look."""

    on_blocked: OnBlocked = OnBlocked.FAIL
    on_rewind: OnRewind = OnRewind.FAIL
    on_advance: OnAdvance = OnAdvance.ADVANCE
    on_active_group: OnActiveGroup = OnActiveGroup.FAIL
    on_active_source: OnActiveGroup = OnActiveGroup.FAIL
    on_missing_entry: OnMissingEntry = OnMissingEntry.FAIL
    idle_wait: float = 5.0
    on_expiring: OnExpiring = OnExpiring.WARN
    on_still_written: OnStillWritten | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class CommitOutcome:
    """What was, or in check mode would be, done.

    before, after: the commits of every entry concerned; None for no commit. set: those of them that were written.
    blocked: the entries that the plan blocks. left_out: a line for what else was asked for and is not done: the
    snapshot does not have it, nothing is committed, or a policy or an earlier migration leaves it alone.
    notes: what the user should know besides, such as
    source groups that are still in use where a policy allows it, or groups whose commits expire by an old clock.
    going_on: a line for each group-partition that was migrated earlier and has consumed since.
    unmoved: one line for each reason why a rollback restores nothing of groups.
    kept_groups: groups of which a policy leaves an offset alone, or that are left out because they are
    in use at the source. lacking: groups of which the plan has no entry for a commit of the snapshot, and
    those that were asked for and of which nothing was taken.
    active_groups: groups that are left out because they are in use at the destination, and for which the plan has other
    offsets than they have, or that a rollback would change. still_written: topics of the source that have grown at the last
    look.
    """

    before: dict[Key, Target]
    after: dict[Key, Target]
    set: dict[Key, Target]
    left_out: list[str]
    notes: list[Note] = dataclasses.field(default_factory=list)
    blocked: list[PlanEntry] = dataclasses.field(default_factory=list)
    active_groups: list[str] = dataclasses.field(default_factory=list)
    unmoved: list[str] = dataclasses.field(default_factory=list)
    kept_groups: list[str] = dataclasses.field(default_factory=list)
    lacking: frozenset[str] = frozenset()
    going_on: t.Mapping[Key, str] = dataclasses.field(default_factory=dict)
    still_written: list[StillWritten] = dataclasses.field(default_factory=list)

    def standing(self, entries: t.Iterable[PlanEntry]) -> list[PlanEntry]:
        """Those of the entries that have exactly their offset now; of the others, groups of going_on have had it."""
        return [
            entry
            for entry in entries
            if entry.offset is not None and same_commit(self.after.get(entry.key), entry.target)
        ]

    def unwritten(self, standing: t.Iterable[PlanEntry], known: Receipt | None) -> list[Key]:
        """Those of the standing entries of whose groups the receipt has nothing written, so that no rollback takes them.

        known: the receipt before.
        """
        earlier = {line.group for line in known.entries if line.written is not None} if known else set()
        written = earlier.union(group for group, _partition in self.set)
        return [entry.key for entry in standing if entry.group not in written]

    def may_start(self, entries: t.Collection[PlanEntry]) -> list[str]:
        """The groups of these entries that have all of their offsets now, or have consumed since, by name."""
        return sorted({entry.group for entry in entries} - self.may_not_start(entries))

    def may_not_start(self, entries: t.Iterable[PlanEntry]) -> frozenset[str]:
        """The groups of which something is blocked or left out: without an offset, consumers start by auto.offset.reset."""
        unset = frozenset(entry.group for entry in entries if not self._is_settled(entry))
        return unset.union(self.lacking, self.kept_groups, self.active_groups)

    def _is_settled(self, entry: PlanEntry) -> bool:
        """Whether the group has this offset now, or has consumed since, or has never used the partition."""
        if entry.offset is None:
            return entry.verdict is Verdict.UNCOMMITTED or entry.key in self.going_on
        now = self.after.get(entry.key)
        return entry.key in self.going_on or (now is not None and now.offset >= entry.offset)


def before_and_after(
    concerned: t.Iterable[Key], current: t.Mapping[Key, CommittedOffset], writes: t.Mapping[Key, Target]
) -> tuple[dict[Key, Target], dict[Key, Target]]:
    """What these group-partitions have committed before and after these writes. concerned: also those that stay."""
    before = {key: current.get(key) for key in sorted(concerned)}
    return before, {key: writes.get(key, commit) for key, commit in before.items()}


def save_last(receipt: Receipt, written: Written, save: Save) -> None:
    """Save the receipt after the last write. Raises InvalidFile or Refused that says what is written, which it does not."""
    count = len(written.targets) - len(written.failed)
    try:
        save(receipt)
    except (InvalidFile, Refused) as exc:
        then = "then run the same again, which completes the file and writes " + (
            "what could not be written" if written.failed else "nothing else"
        )
        if isinstance(exc, Refused):  # of what the file would be, which does not change
            then = "the receipt that is there has what was committed before, so a rollback is possible"
        raise type(exc)(
            f"{counted(count, 'offset')} {are(count)} written{at_destination()}, and {exc.what}",
            why=exc.why,
            remedy=f"{exc.remedy}; {then}",
        ) from exc
