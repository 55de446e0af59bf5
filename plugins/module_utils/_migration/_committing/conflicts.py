# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a commit does with every entry of a plan, given what stands at the destination. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.failure_kinds import FailureKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import (
    CommittedOffset,
    commit_text,
    same_commit,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.option_names import option_name
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import PlanEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnAdvance, OnBlocked, OnRewind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Key, Origin, Receipt, ReceiptEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict

Target: t.TypeAlias = "CommittedOffset | None"
Commits = t.Mapping[Key, CommittedOffset]


@dataclasses.dataclass(slots=True)
class Writes:
    """set: what is written, None where a commit is removed. kept: one line for each entry left alone on purpose."""

    set: dict[Key, Target]
    kept: list[str]


def objected(entries: t.Iterable[PlanEntry], objections: t.Mapping[Key, str]) -> list[PlanEntry]:
    """The entries, blocked where a verification of the plan objects to the offset; objections: why, by key."""
    return [
        dataclasses.replace(
            entry,
            offset=None,
            verdict=Verdict.BLOCKED,
            reason=Reason.VERIFICATION_FAILED,
            repeats=None,
            detail=objections[entry.key],
        )
        if entry.offset is not None and entry.key in objections
        else entry
        for entry in entries
    ]


def absent_objections(entries: t.Iterable[PlanEntry]) -> dict[Key, str]:
    """Why the offsets must not be written whose destination lacks unconsumed records, by key."""
    remedy = (
        f"let the replication tool copy them and plan again, or set {option_name('on_absent')} to warn "
        "if it leaves them out on purpose"
    )
    return {entry.key: f"{entry.absent}; {remedy}" for entry in entries if entry.absent}


def _blocked(entries: t.Sized, first: PlanEntry, count: int, cluster: str) -> Refused:
    return Refused(
        f"{count} of {len(entries)} entries of the plan are blocked, first {_name(first)} "
        f"({first.reason and first.reason.value}: {first.shown_detail})",
        cluster=cluster,
        remedy="remove the cause and plan again, "
        f"or leave them out by {option_name('on_blocked')}: skip_group or skip_partition",
        kind=FailureKind.PLAN_BLOCKED,
    )


def without_blocked(
    entries: t.Iterable[PlanEntry], on_blocked: OnBlocked, cluster: str
) -> tuple[list[PlanEntry], list[str], list[str]]:
    """The entries that may be written, a line for each that the plan blocks, and one for each other that is left out.

    on_blocked: fail raises Refused for any blocked entry; skip_group leaves out its group, skip_partition itself.
    """
    entries = list(entries)
    blocked = [entry for entry in entries if entry.verdict is Verdict.BLOCKED]
    groups: set[str] = set()
    match on_blocked:
        case OnBlocked.FAIL:
            if blocked:
                raise _blocked(entries, blocked[0], len(blocked), cluster)
        case OnBlocked.SKIP_GROUP:
            groups = {entry.group for entry in blocked}
        case OnBlocked.SKIP_PARTITION:
            pass
        case _:
            t.assert_never(on_blocked)
    lines: dict[bool, list[str]] = {True: [], False: []}
    for entry in blocked:
        by_plan = entry.reason is not Reason.VERIFICATION_FAILED
        lines[by_plan].append(f"{_name(entry)}: blocked, {_reason(entry)}: left out")
    whole = [f"{group}: left out as a whole ({option_name('on_blocked')}: skip_group)" for group in sorted(groups)]
    remaining = [entry for entry in entries if entry.group not in groups and entry.verdict is not Verdict.BLOCKED]
    return remaining, lines[True], lines[False] + whole


def confirmed(receipt: Receipt, current: Commits) -> Receipt:
    """The receipt of a run that was killed before it read back, completed where its writes are seen to have arrived."""
    return receipt.merged(
        entry._replace(after=found)
        for entry in receipt.entries
        if entry.written is not None
        and not entry.is_confirmed
        and (found := current.get(entry.key)) is not None
        and same_commit(found, entry.written)
    )


def commit_writes(
    entries: t.Iterable[PlanEntry],
    current: Commits,
    receipt: Receipt,
    on_rewind: OnRewind,
    on_advance: OnAdvance,
    cluster: str,
) -> Writes:
    """What to commit so that every entry stands where the plan says.

    Nothing for an entry that stands there, or that was migrated and has consumed since (the receipt tells).
    Raises Refused when the destination's commit is not what the plan expects, or a policy says fail.
    """
    writes = Writes({}, [])
    receipts = receipt.by_key()
    for entry in entries:
        target, found = entry.target, current.get(entry.key)
        if target is None or same_commit(found, target):
            continue
        earlier = receipts.get(entry.key)
        if earlier is not None and earlier.written == target and earlier.explains(found):
            writes.kept.append(f"{_name(entry)}: migrated earlier, has consumed since: left at {commit_text(found)}")
            continue
        if earlier is not None and _moved_back(earlier, found, target):
            if on_advance == OnAdvance.KEEP:
                writes.kept.append(f"{_name(entry)}: migrated earlier, moved back since: left at {commit_text(found)}")
                continue
            raise entry_refusal(
                entry.key,
                f"the group was migrated to {commit_text(target)} earlier, and somebody has moved it back to "
                f"{commit_text(found)} since",
                cluster,
                remedy=f"set {option_name('on_advance')} to keep to leave such entries alone, "
                "or roll back and migrate again to set it anew",
                kind=FailureKind.DESTINATION_CHANGED,
            )
        if found != entry.expected and not (earlier is not None and same_commit(found, earlier.written)):
            raise entry_refusal(
                entry.key,
                f"the destination's commit has changed since the plan was made: expected {commit_text(entry.expected)}, "
                f"found {commit_text(found)}",
                cluster,
                remedy="find out who commits there, then plan again",
                kind=FailureKind.DESTINATION_CHANGED,
            )
        if allowed(entry.key, found, target, on_rewind, on_advance, cluster, writes.kept):
            writes.set[entry.key] = target
    return writes


def would_write(
    entry: PlanEntry,
    found: CommittedOffset | None,
    earlier: ReceiptEntry | None,
    on_rewind: OnRewind,
    on_advance: OnAdvance,
) -> bool:
    """Would commit_writes() write this entry, or refuse to?"""
    target = entry.target
    if target is None or same_commit(found, target):
        return False
    if earlier is not None and earlier.written == target and earlier.explains(found):
        return False
    if found is None:
        return True
    if earlier is not None and _moved_back(earlier, found, target):
        return on_advance != OnAdvance.KEEP
    return (on_rewind if target.offset < found.offset else on_advance) != "keep"


def entries_to_write(
    entries: t.Iterable[PlanEntry], current: Commits, receipt: Receipt, on_rewind: OnRewind, on_advance: OnAdvance
) -> list[PlanEntry]:
    """Those of the entries that commit_writes() would write, or refuse to."""
    earlier = receipt.by_key()
    return [
        entry
        for entry in entries
        if would_write(entry, current.get(entry.key), earlier.get(entry.key), on_rewind, on_advance)
    ]


def receipt_entries(
    writes: Writes, entries: t.Iterable[PlanEntry], current: Commits, receipt: Receipt
) -> list[ReceiptEntry]:
    """The receipt's entries before a commit: the earliest `before` of what is still written, nothing read back.

    entries: the plan's, which say what each was made from.
    """
    known = receipt.by_key()
    result = []
    for entry in entries:
        if entry.key not in writes.set:
            continue
        earlier = known.get(entry.key)
        before = earlier.before if earlier is not None and earlier.written is not None else current.get(entry.key)
        source = tuple(Origin(position.group, position.partition) for position in entry.source)
        result.append(ReceiptEntry(*entry.key, before, writes.set[entry.key], after=None, source=source))
    return result


def allowed(
    key: Key,
    found: Target,
    target: Target,
    on_rewind: OnRewind,
    on_advance: OnAdvance,
    cluster: str,
    kept: list[str],
    unit: str = "entries",
) -> bool:
    """May a commit be replaced by another, or removed? Adds a line to kept where a policy says keep.

    unit: what keep leaves alone. Raises Refused where a policy says fail.
    """
    if found is None:
        return True
    rewind = target is None or target.offset < found.offset
    option, policy = ("on_rewind", on_rewind) if rewind else ("on_advance", on_advance)
    direction = "back" if rewind else "forward"
    match policy:
        case OnRewind.REWIND | OnAdvance.ADVANCE:
            return True
        case OnRewind.KEEP | OnAdvance.KEEP:
            group, partition = key
            kept.append(
                f"{group} {partition}: kept at {commit_text(found)} instead of moved {direction} to "
                f"{commit_text(target)} ({option_name(option)}: keep)"
            )
            return False
        case OnRewind.FAIL | OnAdvance.FAIL:
            raise entry_refusal(
                key,
                f"the group has the committed offset {commit_text(found)}; this would move it {direction} to "
                f"{commit_text(target)}",
                cluster,
                remedy=f"set {option_name(option)} to {'rewind' if rewind else 'advance'} to allow it, "
                f"or to keep to leave such {unit} alone",
                kind=FailureKind.WOULD_MOVE_BACK if rewind else FailureKind.WOULD_MOVE_FORWARD,
            )
        case _:
            t.assert_never(policy)


def entry_refusal(key: Key, what: str, cluster: str, remedy: str, kind: FailureKind, why: str | None = None) -> Refused:
    """The refusal of what would be done with an entry."""
    group, partition = key
    return Refused(
        what,
        cluster=cluster,
        group=group,
        topic=partition.topic,
        partition=partition.partition,
        why=why,
        remedy=remedy,
        kind=kind,
    )


def _moved_back(earlier: ReceiptEntry, found: Target, target: CommittedOffset) -> bool:
    """Does a group stand before what was set here once, and not where it stood before that?"""
    if found is None or not earlier.is_confirmed or earlier.written != target:
        return False
    return found.offset < target.offset and not same_commit(found, earlier.before)


def _reason(entry: PlanEntry) -> str:
    """Why an entry is blocked; in words, too, where the plan, which is shown before, does not say it."""
    if entry.reason is Reason.VERIFICATION_FAILED:
        return f"{entry.reason.value} ({entry.shown_detail})"
    return str(entry.reason and entry.reason.value)


def _name(entry: PlanEntry) -> str:
    return f"{entry.group} {entry.partition}"
