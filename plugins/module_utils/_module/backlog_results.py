# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What kafka_backlog_copy shows of a copy."""

from __future__ import annotations

import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._migration import backlog_topics
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.backlog_entries import RangeSummary
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.backlog_run import Outcome
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import Backlog
from ansible_collections.streamshift.kafka.plugins.module_utils._module import results


def result(outcome: Outcome) -> dict[str, t.Any]:
    """The members of a module's result, the same of a run and of its prediction but for what only the copy can tell."""
    backlog = outcome.backlog
    rows = [results.plan_row(entry) for entry in outcome.entries]
    if outcome.plan is None:
        rows = [{**row, "offset": None} for row in rows]
    return {
        "ranges": [_row(each) for each in outcome.ranges],
        "topics": backlog_topics.lines(backlog.topics),
        "entries": rows,
        "summary": _summary(outcome),
        "diff": results.diff(_lines(outcome.before), _lines(backlog), "copy (before)", "copy (after)"),
    }


def _row(each: RangeSummary) -> dict[str, t.Any]:
    its = each.range
    return {
        **its.source._asdict(),
        "destination_topic": its.destination.topic,
        "start": its.start,
        "end": its.end,
        "records": its.end - its.start,
        "bytes": each.bytes,
        "groups": list(each.groups),
        "lost": each.lost,
        "reason": each.reason,
        "copied": its.done and its.done.records,
    }


def _summary(outcome: Outcome) -> list[str]:
    """A table: a line a topic; then what has expired, and what is done with the topics."""
    topics: dict[str, list[RangeSummary]] = {}
    for each in outcome.ranges:
        topics.setdefault(each.range.source.topic, []).append(each)
    width = max(len(name) for name in ["topic", *topics])
    copied = outcome.backlog.is_done
    head = f"{'topic':<{width}}  partitions  records at most        MB" + ("      copied" if copied else "")
    lines = [head]
    for name, its in topics.items():
        records = sum(each.range.end - each.range.start for each in its)
        line = f"{name:<{width}}  {len(its):>10}  {records:>15}  {_megabytes(its):>8}"
        if copied:
            line += f"  {sum(each.range.done.records for each in its if each.range.done):>10}"
        lines.append(line)
    for each in outcome.ranges:
        if each.lost:
            first = ", ".join(each.groups)
            lines.append(
                f"  {each.range.source}: {each.lost} offsets that {first} has not consumed have left the source"
            )
    return lines + [f"  {line}" for line in backlog_topics.lines(outcome.backlog.topics)]


def _megabytes(its: t.Iterable[RangeSummary]) -> str:
    sizes = [each.bytes for each in its]
    return "?" if None in sizes else f"{sum(size or 0 for size in sizes) / 1e6:.1f}"


def _lines(backlog: Backlog | None) -> list[str]:
    if backlog is None:
        return []
    ranges = [
        f"{each.source}: {each.start} to {each.end} -> {each.destination}" + ("" if each.done is None else ", copied")
        for each in backlog.ranges
    ]
    return [*ranges, *backlog_topics.lines(backlog.topics)]
