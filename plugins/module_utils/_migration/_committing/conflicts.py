# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which entries of a plan a commit is about, what it notes of them, and what policies say of a move. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._model.errors import PlanBlocked, Refused, WouldMoveBack, WouldMoveForward
from ..._model.group_state import CommittedOffset, commit_text, same_commit
from ..._model.left_out import partitions_text
from ..._model.option_names import because_of, option_name, ways
from ..._model.plan import PlanEntry
from ..._model.policies import OnAdvance, OnBlocked, OnRewind
from ..._model.receipt import Key, Origin, Pending, Receipt, ReceiptEntry
from ..._model.verdicts import Reason, Verdict
from ..._model.visible_text import group_partition
from ..._model.wording import are, part_of

Target: t.TypeAlias = "CommittedOffset | None"
Commits = t.Mapping[Key, CommittedOffset]
_FOUND_LATER = (Reason.VERIFICATION_FAILED, Reason.CHANGED_SINCE_PLAN)  # what no plan says of its entries


@dataclasses.dataclass(slots=True)
class Writes:
    """set: what is written, None where a commit is removed. kept: one line for each entry left alone on purpose.

    alone: the groups of these, and those that are left out because they are in use at the source. going_on: a line for each
    other entry whose group has consumed since it was migrated.
    """

    set: dict[Key, Target]
    kept: list[str]
    going_on: dict[Key, str] = dataclasses.field(default_factory=dict)
    alone: frozenset[str] = frozenset()

    @property
    def consumed(self) -> frozenset[str]:
        """The groups that go on."""
        return frozenset(group for group, _partition in self.going_on)

    def without(self, groups: t.Container[str]) -> Writes:
        """The writes of all other groups."""
        return dataclasses.replace(self, set={key: target for key, target in self.set.items() if key[0] not in groups})


def objected(
    entries: t.Iterable[PlanEntry], objections: t.Mapping[Key, str], reason: Reason = Reason.VERIFICATION_FAILED
) -> list[PlanEntry]:
    """The entries, blocked for this reason where something objects to the offset; objections: what it is, by key."""
    return [
        entry.blocked(reason, objections[entry.key]) if entry.offset is not None and entry.key in objections else entry
        for entry in entries
    ]


def own_objections(entries: t.Iterable[PlanEntry], *, absent: bool = True) -> dict[Key, str]:
    """Why a plan says itself that offsets must not be written, by key.

    Either the destination lacks unconsumed records, if absent ones count, or the offset would skip one whose copy the evidence
    names. No plan is made with such an offset, but people edit plans.
    """
    remedy = ways(
        ("", "let the replication tool copy them and plan again"),
        ("on_absent", f"set {option_name('on_absent')} to warn if they are missing on purpose"),
    )
    objections = {}
    for entry in entries:
        if skipped := entry.skipped_copy:
            objections[entry.key] = (
                f"offset {entry.offset} would skip the copy of the first unconsumed record, which the evidence in the plan has "
                f"at offset {skipped.destination}: the plan was edited; plan again"
            )
        elif absent and entry.absent:
            objections[entry.key] = f"{entry.absent}; {remedy}"
    return objections


def without_blocked(
    entries: t.Iterable[PlanEntry], on_blocked: OnBlocked, cluster: str
) -> tuple[list[PlanEntry], list[PlanEntry], list[str]]:
    """The entries that may be written, those that the plan blocks, and a line for each other that is left out.

    on_blocked: fail raises Refused for any blocked entry; skip_group leaves out its group, skip_partition itself.
    """
    entries = list(entries)
    blocked = [entry for entry in entries if entry.verdict is Verdict.BLOCKED]
    groups: set[str] = set()
    match on_blocked:
        case OnBlocked.FAIL:
            if blocked:
                first, count = blocked[0], len(blocked)
                raise PlanBlocked(
                    f"{part_of(count, len(entries), 'group-partition')} of the plan {are(count)} blocked, first "
                    f"{group_partition(*first.key)} ({first.reason and first.reason.value}: {first.shown_detail})",
                    cluster=cluster,
                    remedy=ways(
                        ("", "remove the cause and plan again"),
                        ("on_blocked", f"leave their groups out by {option_name('on_blocked')}: skip_group"),
                    ),
                )
        case OnBlocked.SKIP_GROUP:
            groups = {entry.group for entry in blocked}
        case OnBlocked.SKIP_PARTITION:
            pass
        case _:
            t.assert_never(on_blocked)
    by_plan = [entry for entry in blocked if entry.reason not in _FOUND_LATER]
    found_later = [blocked_text([entry]) for entry in blocked if entry.reason in _FOUND_LATER]
    whole = [f"{group}: left out as a whole{because_of('on_blocked', 'skip_group')}" for group in sorted(groups)]
    remaining = [entry for entry in entries if entry.group not in groups and entry.verdict is not Verdict.BLOCKED]
    return remaining, by_plan, found_later + whole


def confirmed(receipt: Receipt, current: Commits) -> Receipt:
    """The receipt of a run that was killed before it read back, completed where its writes are seen to have arrived."""
    return receipt.merged(
        entry._replace(after=commit, pending=None)
        for entry in receipt.entries
        if entry.written is not None
        and (entry.pending or not entry.is_confirmed)
        and (commit := current.get(entry.key)) is not None
        and same_commit(commit, entry.written)
    )


def receipt_entries(
    entries: t.Iterable[PlanEntry],
    writes: t.Container[Key],
    current: Commits,
    receipt: Receipt,
    now: int | None,
    *,
    undoes_last: bool,
) -> list[ReceiptEntry]:
    """The receipt's entries before a commit: the earliest `before` of what is still written, and what was read back of that.

    entries: of the plan, which says what each was made from. writes: what of these is written. now: Unix time in seconds.
    undoes_last: see ReceiptEntry.is_replaced().
    """
    standing = {entry.key: entry for entry in receipt.entries if entry.written is not None}
    replaced = {key for key, entry in standing.items() if entry.is_replaced(current.get(key), undoes_last=undoes_last)}
    if undoes_last:  # a group goes back to one moment
        gone_on = {group for group, _partition in replaced}
        replaced = {
            key
            for key, entry in standing.items()
            if key[0] in gone_on
            and not (entry.is_pending(current.get(key)) and same_commit(current.get(key), entry.before))
        }
    result = []
    set_again, topics = set(), set()
    for entry in entries:
        topics.add((entry.group, entry.partition.topic))
        if entry.key not in writes:
            continue
        earlier, commit = standing.get(entry.key), current.get(entry.key)
        before, after = commit, None
        pending: Pending | None = Pending.COMMIT
        if entry.key in replaced:
            set_again.add(entry.group)
        elif earlier is not None:
            before, after = earlier.before, earlier.after
            pending = earlier.pending or (None if earlier.is_read_back_otherwise else Pending.COMMIT)
        source = tuple(Origin(position.group, position.partition) for position in entry.source)
        stood = tuple(position.offset for position in entry.source)
        result.append(ReceiptEntry(*entry.key, before, entry.target, after, source, now, pending, stood))
    if undoes_last:  # with what the run leaves as it is in its topics
        result += [
            standing[group, partition]._replace(before=current.get((group, partition)))
            for group, partition in sorted(replaced)
            if group in set_again and (group, partition.topic) in topics and (group, partition) not in writes
        ]
    return result


def kept_by_policy(
    key: Key,
    commit: Target,
    target: Target,
    on_rewind: OnRewind,
    on_advance: OnAdvance,
    cluster: str,
    unit: str = "group-partitions",
    why: str | None = None,
) -> str | None:
    """Why a commit is not replaced by another, or removed: a line where a policy says keep, None where it is.

    unit: what keep leaves alone. why: what the move means, for the refusal. Raises Refused where a policy says fail.
    """
    if commit is None:
        return None
    rewind = target is None or target.offset < commit.offset
    option, policy = ("on_rewind", on_rewind) if rewind else ("on_advance", on_advance)
    direction = "back" if rewind else "forward"
    to = "removed" if target is None else f"moved {direction} to {commit_text(target)}"
    does = "be removed" if target is None else f"move {direction} to {commit_text(target)}"
    match policy:
        case OnRewind.REWIND | OnAdvance.ADVANCE:
            return None
        case OnRewind.KEEP | OnAdvance.KEEP:
            return (
                f"{group_partition(*key)}: kept at {commit_text(commit)} instead of {to} ({option_name(option)}: keep)"
            )
        case OnRewind.FAIL | OnAdvance.FAIL:
            raise entry_refusal(
                key,
                f"committed offset {commit_text(commit)} would {does}",
                cluster,
                remedy=f"set {option_name(option)} to {'rewind' if rewind else 'advance'} to allow it, "
                f"or to keep to leave such {unit} alone",
                error=WouldMoveBack if rewind else WouldMoveForward,
                why=why,
            )
        case _:
            t.assert_never(policy)


def entry_refusal(
    key: Key, what: str, cluster: str, remedy: str, error: type[Refused] = Refused, why: str | None = None
) -> Refused:
    """The refusal of what would be done with an entry."""
    group, partition = key
    return error(what, cluster=cluster, group=group, **partition._asdict(), why=why, remedy=remedy)


def blocked_text(entries: t.Sequence[PlanEntry]) -> str:
    """A line for partitions of one group that are left out, because they are blocked for one reason."""
    where = group_partition(entries[0].group, partitions_text(entry.partition for entry in entries))
    reason = str(entries[0].reason and entries[0].reason.value)
    if entries[0].reason in _FOUND_LATER:  # the plan, which is shown before, does not say it
        reason += f" ({entries[0].shown_detail})"
    return f"{where}: blocked, {reason}: left out"
