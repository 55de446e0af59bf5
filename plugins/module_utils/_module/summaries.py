# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a run comes to, on one screen: a line for each group as long as they are few, what is not exact, and the totals last."""

from __future__ import annotations

import collections
import typing as t

from .._model.cluster_identity import LogRange
from .._model.group_lag import GroupLag, lag_sum
from .._model.group_state import CommittedOffset
from .._model.grouping import values_by_key
from .._model.left_out import entry_lines
from .._model.plan import Plan, PlanEntry, SourcePosition
from .._model.readiness import absent_records
from .._model.record_sum import Bound, RecordSum
from .._model.records import TopicPartition
from .._model.report import Finding
from .._model.verdicts import Verdict
from .._model.visible_text import table, unbroken
from .._model.wording import counted
from .results import blocked_line, entry_line, plan_counts

MOST_LINES = 20  # of groups, and of entries: with 4,000 groups, too, everything stays on one screen
_ALWAYS_COUNTED = (Verdict.EXACT, Verdict.SAFE, Verdict.BLOCKED)


def plan_summary(
    plan: Plan, logs: t.Mapping[TopicPartition, LogRange] | None = None, left_out: t.Sequence[str] = ()
) -> list[str]:
    """A table as lines: a line a group, then what may repeat and what is blocked, entry by entry, and the totals.

    left_out: lines of what was asked for and has no offset.

    Of more than MOST_LINES groups those that are exact are one line, and the others come first.
    logs: where they start and end, for a plan inside one cluster. A line then shows an old group and a new one side by side,
    with their lags on the partitions that the one gets from the other.
    """
    groups = values_by_key(
        ((old, entry.group), entry)
        for entry in sorted(plan.entries, key=lambda entry: entry.key)
        for old in (sorted({at.group for at in entry.source}) if logs is not None else [""])
    )
    fine = [names for names, entries in groups.items() if _is_fine(entries)] if len(groups) > MOST_LINES else []
    folded = set(fine)
    told = [names for names in groups if names not in folded]
    lines = _table({names: groups[names] for names in told[:MOST_LINES]}, logs)
    if told[MOST_LINES:]:
        lines.append(f"... and {counted(len(told[MOST_LINES:]), 'more group')}")
    if fine:
        lines.append(f"{counted(len(fine), 'group')}, all exact")
    lines += first_lines([f"  {line}" for line in not_exact(plan)])
    if plan.source_id != plan.destination_id:
        lines += first_lines([f"  {line}" for line in entry_lines(plan.entries, Verdict.REQUESTED)])
    lines += first_lines([f"  {line}" for line in left_out])
    return [*lines, _plan_total(plan, len(left_out))]


def not_exact(plan: Plan) -> list[str]:
    """What may repeat, lacks records or is blocked, and inside one cluster what was requested, entry by entry.

    Partitions of one topic that are blocked by one cause are a line.
    """
    shown = [Verdict.SAFE, Verdict.BLOCKED]
    if plan.is_within_one_cluster:
        shown.append(Verdict.REQUESTED)
    alike: dict[t.Hashable, list[PlanEntry]] = {}
    for entry in sorted(plan.entries, key=lambda entry: entry.key):
        if entry.verdict in shown or entry.absent:
            is_of_topic = entry.verdict is Verdict.BLOCKED and entry.lossless is None and not entry.absent
            alike.setdefault(
                (entry.group, entry.partition.topic, entry.detail) if is_of_topic else entry.key, []
            ).append(entry)
    return [entry_line(same[0]) if len(same) == 1 else blocked_line(same) for same in alike.values()]


def commit_summary(
    before: t.Mapping[tuple[str, t.Any], CommittedOffset | None],
    written: t.Collection[tuple[str, t.Any]],
    left_out: list[str],
    going_on: t.Sequence[str] = (),
    costs: str = "",
) -> list[str]:
    """A table as lines: a line a group, then a line for everything that is left alone on purpose, and the totals.

    going_on: lines of what was migrated earlier and has consumed since, which is right and not left out.

    True of a run and of its prediction in check mode alike, as Ansible's own word "changed". Of more than MOST_LINES groups
    those that are changed in all of their partitions, or in none, are a line each. costs: what costs() says.
    """
    partitions = collections.Counter(group for group, _partition in before)
    writes = collections.Counter(group for group, _partition in written)
    folded: dict[str, list[str]] = {"changed": [], "unchanged": []} if len(partitions) > MOST_LINES else {}
    rows = []
    for name in sorted(partitions):
        kind = {0: "unchanged", partitions[name]: "changed"}.get(writes[name], "in part")
        if kind in folded:
            folded[kind].append(name)
        else:
            rows.append(name)
    head = ("group", "partitions", "changed")
    cells = [(name, str(partitions[name]), str(writes[name])) for name in rows]
    first, *others = table(head, cells, numbers=head[1:])
    lines = [first, *first_lines(others)] if rows else []
    lines += [f"{counted(len(names), 'group')}, all {kind}" for kind, names in folded.items() if names]
    total = f"Total: {_size(len(partitions), len(before))}: {len(written):,} changed"
    total += f"{costs}{_see_above(len(left_out))}." if left_out else f", 0 left out{costs}."
    return [*lines, *first_lines([f"  {line}" for line in (*left_out, *going_on)]), total]


def _see_above(lines: int) -> str:
    """Each line may be a group, or some of its partitions."""
    if lines > MOST_LINES:
        return f"; left out: {counted(lines, 'line')}, the first {MOST_LINES} of them above"
    return f"; left out: see the {f'{lines} lines' if lines > 1 else 'line'} above"


def rollback_line(written: t.Iterable[tuple[str, t.Any]], recorded: t.Collection[str]) -> str:
    """How many of the groups that a receipt holds go back, true of a run and of its prediction alike."""
    back = len({group for group, _partition in written})
    return f"Rollback of {back:,} of {counted(len(recorded), 'group')} in the receipt"


def _table(
    groups: t.Mapping[tuple[str, ...], list[PlanEntry]], logs: t.Mapping[TopicPartition, LogRange] | None
) -> list[str]:
    """A header and a line for each group, only with the verdicts that these groups have."""
    if not groups:
        return []
    seen = {entry.verdict for entries in groups.values() for entry in entries}
    verdicts = [verdict.value for verdict in Verdict if verdict in seen]
    numbers = ("partitions", *(f"{verdict:>11}" for verdict in verdicts), "at_most_repeated")
    rows = []
    for (old, name), entries in groups.items():
        counts = collections.Counter(entry.verdict.value for entry in entries)
        where = [name]
        if logs is not None:
            lag, new_lag = _lags(old, entries, logs)
            where = [old, lag, name, new_lag]
        repeats = unbroken(str(most_repeats(entries))) if _sets_any(entries) else "-"
        rows.append([*where, str(len(entries)), *(str(counts[verdict]) for verdict in verdicts), repeats])
    lag_head = f"{'lag':>10}"
    names = ("group",) if logs is None else ("old_group", lag_head, "new_group", lag_head)
    return table((*names, *numbers), rows, (lag_head, *numbers))


def _lags(old: str, entries: t.Iterable[PlanEntry], logs: t.Mapping[TopicPartition, LogRange]) -> tuple[str, str]:
    """The lags of an old group and of the new one on the partitions that the one gets from the other.

    A group that gets its own offsets back lags by what it has committed now, and not by what the backup has.
    """
    was = ((entry, _committed(entry, at)) for entry in entries for at in entry.source if at.group == old)
    lags = _lag(was, logs), _lag(((entry, entry.offset) for entry in entries), logs)
    return unbroken(str(lags[0] or "-")), unbroken(str(lags[1] or "-"))


def _committed(entry: PlanEntry, at: SourcePosition) -> int | None:
    if not entry.is_own:
        return at.offset
    return None if entry.expected is None else entry.expected.offset


def _plan_total(plan: Plan, left_out: int) -> str:
    counts = plan_counts(plan)
    told = [
        f"{counts[verdict.value]:,} {verdict.value}"
        for verdict in Verdict
        if counts[verdict.value] or verdict in _ALWAYS_COUNTED
    ]
    more = ""
    if _sets_any(plan.entries):
        more = "; " + most_repeats(plan.entries)._replace(bound=Bound.AT_MOST).clause("record", "repeated")
    more += lost_records(plan, plan.by_key)
    more += _skipped(plan.entries)
    absent = absent_records(plan.entries)
    if absent:
        more += "; " + absent.clause("unconsumed record", "absent at the destination")
    predicted = sum(entry.predicted for entry in plan.entries)
    if predicted:
        more += f"; {predicted:,} predicted, on partitions that do not exist yet"
    if left_out:
        more += _see_above(left_out)
    return f"Total: {_size(len({entry.group for entry in plan.entries}), len(plan.entries))}: {', '.join(told)}{more}."


def costs(
    plan: Plan,
    standing: t.Sequence[PlanEntry],
    keys: t.Collection[tuple[str, t.Any]],
    findings: t.Iterable[Finding] = (),
) -> str:
    """What a plan's offsets cost the groups, as the rest of a sentence; empty for nothing. keys: as for lost_records().

    standing: the entries whose group has the planned offset, and has not gone on since: what they repeat, lack and skip counts.
    findings: of the verification, if there was one.
    """
    own = {entry.key for entry in standing}
    counted_ones = [
        finding for finding in findings if any((finding.group, at) in own for at, _offset in finding.destination)
    ]
    repeats = most_repeats(standing)
    told = [repeats._replace(bound=Bound.AT_MOST).clause("record", "repeated")] if repeats else []
    absent = absent_records(standing, counted_ones)
    told += [absent.clause("unconsumed record", "absent at the destination")] if absent else []
    return "".join(f", {clause}" for clause in told) + lost_records(plan, keys) + _skipped(standing)


def _skipped(entries: t.Iterable[PlanEntry]) -> str:
    """How many offsets groups skip because an option asks for it, as the rest of a sentence; empty for none."""
    skipped = RecordSum.of((entry.skipped, Bound.EXACTLY) for entry in entries if entry.offset is not None)
    return f", {skipped.clause('offset', 'skipped')}" if skipped else ""


def lost_records(plan: Plan, keys: t.Collection[tuple[str, t.Any]]) -> str:
    """How many records that groups have not consumed no cluster has any more, as the rest of a sentence; empty for none.

    keys: of the entries that count.
    """
    lost = lost_by(entry for entry in plan.entries if entry.key in keys)
    return f", {lost.clause('unconsumed record', 'lost before this run')}" if lost else ""


def lost_by(entries: t.Iterable[PlanEntry]) -> RecordSum:
    """How many records that groups have not consumed no cluster has any more, each once; blocked entries do not count."""
    return RecordSum.of_shared(
        (entry.source_partitions, entry.lost, entry.lost_bound) for entry in entries if entry.offset is not None
    )


def _size(groups: int, partitions: int) -> str:
    return f"{counted(groups, 'group')}, {counted(partitions, 'group-partition')}"


def first_lines(lines: t.Sequence[str]) -> list[str]:
    """MOST_LINES of them, and how many there are besides."""
    more = len(lines) - MOST_LINES
    return [*lines[:MOST_LINES], *([f"  ... and {counted(more, 'more line')}"] if more > 0 else [])]


def _sets_any(entries: t.Iterable[PlanEntry]) -> bool:
    """Has any of them an offset? Of others, there is nothing to repeat."""
    return any(entry.offset is not None for entry in entries)


def _is_fine(entries: t.Iterable[PlanEntry]) -> bool:
    return all(entry.verdict is Verdict.EXACT and not entry.absent for entry in entries)


def _lag(
    offsets: t.Iterable[tuple[PlanEntry, int | None]], logs: t.Mapping[TopicPartition, LogRange]
) -> GroupLag | None:
    """How many offsets are still to be consumed; None where nothing is committed."""
    known = ((entry, offset) for entry, offset in offsets if offset is not None and entry.partition in logs)
    return lag_sum(GroupLag.of(offset, logs[entry.partition]) for entry, offset in known)


def most_repeats(entries: t.Iterable[PlanEntry]) -> RecordSum:
    """How many records are repeated at most."""
    return repeated_records((entry.verdict, entry.repeats) for entry in entries)


def repeated_records(offsets: t.Iterable[tuple[Verdict | None, int | None]]) -> RecordSum:
    """The same of offsets, each with its verdict and how many records it repeats, None where that is not counted."""
    setting = Verdict.EXACT, Verdict.SAFE, Verdict.REQUESTED
    return RecordSum.of((number, Bound.EXACTLY) for verdict, number in offsets if verdict in setting)
