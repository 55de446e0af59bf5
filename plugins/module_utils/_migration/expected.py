# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a plan expects to find committed at the destination, so that a commit sees when somebody else has been there."""

from __future__ import annotations

import dataclasses
import sys

from .._control import groups
from .._matching.evidence import Span
from .._model.cluster_identity import LogRange
from .._model.connection import Connection
from .._model.group_state import CommittedOffset, commits_of
from .._model.option_names import at_destination
from .._model.plan import Plan, PlanEntry
from .._model.receipt import Key, Receipt, ReceiptEntry
from .._model.records import TopicPartition
from .._model.verdicts import Reason, Verdict
from . import renewal
from .cluster_logs import ClusterLogs
from .file_clusters import entry_changes

_FIRST = 100  # offsets that are read first of many


def with_expected(plan: Plan, destination: Connection, previous: Plan | None, receipt: Receipt | None) -> Plan:
    """The plan with what the destination's groups have committed now, or will have once a killed renewal is completed.

    An entry of which the decision is that of the previous plan stays what it was, where the destination stands as it did,
    or the receipt explains what is there now: so a plan file changes only when a decision does, or what it rests on. Where the
    source has lost the records by now, an entry does not go after the offset that an earlier run has set.
    """
    if previous is not None:
        previous = still_true(previous, plan)
    names = sorted({entry.group for entry in plan.entries})
    written = receipt.as_far_as_of(plan.destination_identity) if receipt else Receipt(plan.destination_id)
    readings = groups.read_groups(destination, names) if names else {}
    commits = commits_of(renewal.completed(readings, renewal.missing_commits(written, readings)))
    known = previous.by_key if previous else {}
    receipts = written.by_key
    one_cluster = plan.is_within_one_cluster  # compares identities: once, not for each of many entries
    entries = (
        _expecting(
            entry,
            commits.get(entry.key),
            known.get(entry.key),
            receipts.get(entry.key),
            plan.destination_traits.log_of(entry.partition),
            one_cluster=one_cluster,
            joined=readings[entry.group].had_members if entry.group in readings else False,
        )
        for entry in sorted(plan.entries, key=lambda entry: entry.key)
    )
    made = dataclasses.replace(plan, entries=tuple(entries))
    if previous is None or not previous.destination_traits.logs or made.entries != previous.entries:
        return made
    # Logs have grown since. What an earlier run has noted of them holds as long as its decisions do.
    return dataclasses.replace(
        made, source_traits=previous.source_traits, destination_traits=previous.destination_traits
    )


def without_needless_moves(plan: Plan, logs: ClusterLogs, most: int) -> Plan:
    """The plan without moves that would take a group back over offsets that hold no record for its consumers.

    Markers of transactions, aborted and compacted records are such offsets. A group after them has consumed no more than one
    before them, and stays where it is: so one that returns without having consumed does not move.

    :param logs: of the destination. most: so many offsets are read of a partition.
    """
    gaps: dict[Key, Span] = {}
    for entry in plan.entries:
        log = None if entry.predicted else logs.logs.get(entry.partition)
        if log is None or entry.offset is None or entry.expected is None or entry.verdict is Verdict.REQUESTED:
            continue
        # After the last stable offset, an open transaction may have records that nobody sees yet.
        if log.facts.log_start <= entry.offset < entry.expected.offset <= min(log.facts.end, entry.offset + most):
            gaps[entry.key] = entry.offset, entry.expected.offset
    # Nearly always, the first few offsets have a record.
    for width in (_FIRST, most) if gaps else ():
        spans = {key: (start, min(end, start + width)) for key, (start, end) in gaps.items()}
        logs.read([(partition, span) for (_group, partition), span in spans.items()])
        gaps = {key: gap for key, gap in gaps.items() if not logs.logs[key[1]].between(*spans[key])}

    entries = tuple(
        dataclasses.replace(entry, offset=entry.expected.offset, leader_epoch=entry.expected.leader_epoch)
        if entry.key in gaps and entry.expected is not None
        else entry
        for entry in plan.entries
    )
    return dataclasses.replace(plan, entries=entries) if gaps else plan


def still_true(previous: Plan, made: Plan) -> Plan:
    """An earlier plan without the entries whose clusters, topics or logs are others by now. made: a plan that is just begun."""
    pairs = (previous.source_identity, made.source_identity), (previous.destination_identity, made.destination_identity)
    if any(was.difference(now) is not None for was, now in pairs):
        return dataclasses.replace(previous, entries=())
    was, now = zip(*((was.traits, now.traits) for was, now in pairs), strict=True)
    change = entry_changes(was, now)
    kept = tuple(entry for entry in previous.entries if change(entry) is None)
    return dataclasses.replace(previous, entries=kept)


def _expecting(
    entry: PlanEntry,
    current: CommittedOffset | None,
    previous: PlanEntry | None,
    receipt: ReceiptEntry | None,
    log: LogRange | None,
    *,
    one_cluster: bool,
    joined: bool,
) -> PlanEntry:
    """Note what the destination has committed; keep the older note while the decision and its reasons stand.

    joined: whether the group has, or had, members at the destination.
    """
    if entry.verdict is Verdict.UNCOMMITTED and current is not None:
        detail = f"{entry.detail}; consumers start at what the group has committed{at_destination()}"
        entry = dataclasses.replace(entry, detail=sys.intern(detail))
    stands = previous is not None and _stands(entry, previous, log)
    if receipt is not None and receipt.settles(entry, one_cluster=one_cluster):
        if previous is not None and joined and _goes_on(entry, previous, receipt, current):
            return previous
        if not stands:
            entry = _not_after_earlier(entry, receipt, log, joined)
            stands = previous is not None and _stands(entry, previous, log)
    if previous is not None and stands:
        ours = receipt is not None and receipt.written == previous.target and receipt.explains(current)
        if ours or current == previous.expected:
            return previous
    return entry if entry.expected == current else dataclasses.replace(entry, expected=current)


def _goes_on(entry: PlanEntry, previous: PlanEntry, receipt: ReceiptEntry, current: CommittedOffset | None) -> bool:
    """Has the group consumed since it was set to the previous plan's offset? A commit leaves it alone, so the plan stays."""
    if receipt.written is None or current is None or entry.offset is None or entry.offset < receipt.written.offset:
        return False
    has_consumed = receipt.explains(current) and current.offset > receipt.written.offset
    return has_consumed and previous.target == receipt.written and _stood(previous) == _stood(entry)


def _stood(entry: PlanEntry) -> list[tuple[str, TopicPartition, int | None]]:
    """Where the groups stood at the source, whatever counts as consumed of what they have not committed."""
    return [(at.group, at.partition, at.offset) for at in entry.source]


def _not_after_earlier(entry: PlanEntry, receipt: ReceiptEntry, log: LogRange | None, joined: bool) -> PlanEntry:
    """The entry, not after the offset that the group was set to before, where the source has lost the records by now.

    What an option chooses then, or what the first unconsumed record alone says, counts on nobody but the replication tool
    writing at the destination, and producers may have moved there since. The group has not: it has consumed nothing after its
    offset of then.
    """
    if receipt.written is None or entry.offset is None or not receipt.stood:
        return entry
    first = max(receipt.written.offset, 0 if log is None else log.start)
    # Until somebody has joined, what on_uncommitted: end chooses moves on with the log.
    by_end = any(at.assumed for at in entry.source) or all(at.offset is None for at in entry.source)
    has_lost_last = entry.evidence.before is None and entry.evidence.after is not None
    if not (joined if by_end else entry.is_chosen or has_lost_last) or entry.offset <= first:
        return entry
    why = (
        f"not after {receipt.written.offset}, to which the group was set from the same committed offset before: "
        "to choose anew, roll back first"
    )
    # Who has committed nothing at the source repeats nothing.
    repeats = entry.repeats if all(at.offset is None for at in entry.source) else None
    skipped = None if entry.skipped is None else max(0, entry.skipped - (entry.offset - first))
    if has_lost_last and entry.verdict is Verdict.EXACT:  # another offset is
        entry = entry.without_certificate(Reason.EXPIRED, verified=None)
    detail = "; ".join(filter(None, (entry.detail, why)))
    return dataclasses.replace(entry, offset=first, leader_epoch=None, repeats=repeats, skipped=skipped, detail=detail)


def _stands(entry: PlanEntry, previous: PlanEntry, log: LogRange | None) -> bool:
    """Is the earlier decision still the same? One by retention moves on with the clock, and stays as safe as it was.

    Its detail says what has chosen it: the retention time, or another value of the option.

    It does not stay if the log starts after it by now: consumers that find their offset gone start where their settings say.

    The way that a decision came is not the decision: longer logs may have led to the same one by another way.
    """
    if entry == previous:  # of a wide topic, nearly all are: nothing is committed there
        return True
    earlier = entry.why_chosen is previous.why_chosen is Reason.CAUGHT_UP and entry.detail == previous.detail
    start = 0 if log is None else log.start
    if (
        earlier
        and entry.offset is not None
        and previous.offset is not None
        and start <= previous.offset <= entry.offset
    ):
        entry = dataclasses.replace(entry, offset=previous.offset, repeats=previous.repeats, evidence=previous.evidence)
    evidence = entry.evidence._replace(way=previous.evidence.way, doubt=previous.evidence.doubt)
    source = previous.source if _stood(entry) == _stood(previous) else entry.source
    same = dataclasses.replace(
        entry, expected=previous.expected, verified=previous.verified, evidence=evidence, source=source
    )
    return same == previous
