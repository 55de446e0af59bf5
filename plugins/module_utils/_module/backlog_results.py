# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What kafka_backlog_copy shows of a copy."""

from __future__ import annotations

import itertools
import typing as t

from .._migration._backlog.copy_backlog import CopyOutcome
from .._migration._backlog.entries import RangeSummary
from .._migration._backlog.removal import Removal
from .._model.backlog import Backlog, BacklogTopic
from .._model.visible_text import table
from .._model.wording import counted, first_names
from . import results


def backlog_result(outcome: CopyOutcome) -> dict[str, t.Any]:
    """The members of a module's result, the same of a run and of its prediction but for what only the copy can tell."""
    backlog = outcome.backlog
    rows = [results.plan_row(entry) for entry in outcome.entries]
    if outcome.plan is None:
        rows = [{**row, "offset": None} for row in rows]
    return {
        "ranges": [_row(each) for each in outcome.ranges],
        "topics": _topic_lines(backlog.topics),
        "suspended": sorted(topic.name for topic in backlog.topics if topic.suspended and not topic.restored),
        "entries": rows,
        "summary": _summary(outcome),
        "diff": results.diff(_lines(outcome.before), _lines(backlog), "copy (before)", "copy (after)"),
    }


def removal_result(backlog: Backlog | None, removal: Removal) -> dict[str, t.Any]:
    """The members of a module's result for a copy that is removed. backlog: None where there was none."""
    lines = [f"{name}: progress of the copy, deleted" for name in removal.groups]
    lines += [f"{name}: gets back the settings that the copy has changed" for name in removal.settings]
    lines += [f"{name}: made by this copy, deleted" for name in removal.topics]
    if removal.topics:
        lines.append("Copied records that the source no longer has go with these topics: nobody else has them.")
    return {
        "removed_groups": list(removal.groups),
        "restored_topics": list(removal.settings),
        "removed_topics": list(removal.topics),
        "summary": lines or ["There is nothing to remove."],
        "diff": results.diff(_lines(backlog), [], "copy (before)", "copy (after)"),
    }


def _row(summary: RangeSummary) -> dict[str, t.Any]:
    backlog_range = summary.range
    return {
        **backlog_range.source._asdict(),
        "destination_topic": backlog_range.destination.topic,
        "start": backlog_range.start,
        "end": backlog_range.end,
        "records": backlog_range.end - backlog_range.start,
        "bytes": summary.bytes,
        "groups": list(summary.groups),
        "lost": summary.lost,
        "left": summary.left,
        "reason": summary.reason,
        "copied": backlog_range.done and backlog_range.done.records,
    }


def _summary(outcome: CopyOutcome) -> list[str]:
    """A table: a line a partition, the sums of each topic, and what is done with the topics."""
    is_done = outcome.backlog.is_done
    heads = (("partition", 9), ("start", 12), ("end", 12), ("records_at_most", 15), ("MB", 8), ("copied", 10))
    numbers = [head.rjust(width) for head, width in (heads if is_done else heads[:-1])]
    rows = []
    for topic, of_topic in itertools.groupby(outcome.ranges, lambda summary: summary.range.source.topic):
        summaries = list(of_topic)
        for summary in summaries:
            partition, start, end = summary.range.source.partition, summary.range.start, summary.range.end
            rows.append([topic, str(partition), str(start), str(end), *_amounts([summary], is_done), _from(summary)])
        if summaries[1:]:
            rows.append([topic, "all", "", "", *_amounts(summaries, is_done), ""])
    lines = table(["topic", *numbers, "from"], rows, numbers)
    lines += [f"  {line}" for line in _topic_lines(outcome.backlog.topics)]
    was_done = outcome.before is not None and outcome.before.is_done
    return [*lines, "An earlier run has copied this. Nothing is copied now."] if was_done else lines


def _amounts(summaries: t.Collection[RangeSummary], is_done: bool) -> list[str]:
    """Two columns, or three."""
    sizes = [summary.bytes for summary in summaries]
    megabytes = "?" if None in sizes else f"{sum(size or 0 for size in sizes) / 1e6:.1f}"
    records = sum(summary.range.end - summary.range.start for summary in summaries)
    copied = sum(summary.range.done.records for summary in summaries if summary.range.done)
    return [str(records), megabytes, *([str(copied)] if is_done else [])]


def _from(summary: RangeSummary) -> str:
    """Which groups set the start, and what is to be said of it."""
    groups = first_names(summary.groups)
    lost = f"{summary.lost:,} offsets before the start have expired, and are lost" if summary.lost else ""
    nothing = "nothing to copy" if summary.range.start == summary.range.end else ""
    if summary.left:
        nothing = f"no group has committed anything: {summary.left:,} offsets are left alone"
    return "; ".join(part for part in (groups, lost, nothing) if part)


def _lines(backlog: Backlog | None) -> list[str]:
    if backlog is None:
        return []
    ranges = [
        f"{each.source}: {each.start} to {each.end} -> {each.destination}" + ("" if each.done is None else ", copied")
        for each in backlog.ranges
    ]
    return [*ranges, *_topic_lines(backlog.topics)]


def _topic_lines(planned: t.Iterable[BacklogTopic]) -> list[str]:
    """What is done with each topic, for people."""
    said = []
    for topic in sorted(planned, key=lambda topic: topic.name):
        if topic.created is not None:
            partitions, factor, _configs = topic.created
            made = counted(partitions, "partition")
            said.append(f"{topic.name}: made by this copy, with {made} and replication factor {factor}")
        if topic.restored:
            said.append(f"{topic.name}: {', '.join(sorted(topic.suspended))} are what they were before the copy")
        elif topic.suspended:
            held = ", ".join(
                f"{name}={setting.during} instead of {'the default' if setting.before is None else setting.before}"
                for name, setting in sorted(topic.suspended.items())
                if setting.during != setting.before
            )
            said.append(f"{topic.name}: until every group is past the backlog, {held}")
    return said
