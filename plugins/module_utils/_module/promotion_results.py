# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What kafka_topic_promotion returns: rows, lines for people, and a diff for each topic."""

from __future__ import annotations

import typing as t

from .._migration._promotion.undo import Undo
from .._model.acls import EVERY, LITERAL, TOPIC, Acl
from .._model.grouping import values_by_key
from .._model.topic_plan import ADD, DEFAULT, EXTRA, REMOVE, AclChange, SettingChange, TopicChange, TopicPlan
from .._model.wording import counted
from .results import Diff, diff

_VERBS = {ADD: "added:", REMOVE: "removed:"}
_OTHER = "other ACLs"  # on groups, transactional ids, prefixes and *


def promotion_result(plan: TopicPlan, head: t.Sequence[str] = ()) -> dict[str, t.Any]:
    """The topics, the ACLs, how many of both change, a summary and the diff of what a promotion changes.

    head: lines with which the summary begins.
    """
    lines = [_line(change) for change in plan.topics if change.changes]
    return _result(plan, head, lines)


def undo_result(undo: Undo, head: t.Sequence[str]) -> dict[str, t.Any]:
    """The same of a rollback."""
    lines = [f"{name}: deleted" for name in undo.deleted]
    lines += [_line(change) for change in undo.plan.topics if change.settings]
    return _result(undo.plan, head, lines)


def _result(plan: TopicPlan, head: t.Iterable[str], lines: t.Sequence[str]) -> dict[str, t.Any]:
    """plan: what is taken back has no source. lines: what changes of topics."""
    topics = {change.topic: change for change in plan.topics}
    changed = [change for change in plan.acls if change.action != EXTRA]
    lines = [*lines, *(f"{_VERBS[change.action]} {change.acl}" for change in changed)]
    return {
        "topics": [
            {
                "topic": name,
                "source": change.source or None,
                "partitions": {"before": change.before, "after": change.after},
                "settings": {setting: setting_change._asdict() for setting, setting_change in change.settings.items()},
            }
            for name, change in topics.items()
        ],
        "acls": [{"acl": str(change.acl), "action": change.action} for change in plan.acls],
        "changes": len(lines),
        "summary": [*head, *(lines or ["Nothing to change."])],
        "diff": _diffs(topics, changed),
    }


def _line(change: TopicChange) -> str:
    parts = []
    if change.is_new:
        factor = (
            "the brokers' default of replicas"
            if change.replication_factor == -1
            else counted(change.replication_factor or 0, "replica")
        )
        parts.append(f"created with {counted(change.after or 0, 'partition')} and {factor}")
    elif change.grows:
        parts.append(f"{change.after} partitions instead of {change.before}")
    parts += [_setting(name, setting) for name, setting in change.settings.items()]
    return f"{change.topic}: {', '.join(parts)}"


def _setting(name: str, change: SettingChange) -> str:
    origin = "" if change.origin == DEFAULT else f" ({change.origin})"
    return f"{name} {_value(change.before)} -> {_value(change.after)}{origin}"


def _value(value: str | None) -> str:
    return "default" if value is None else value


def _diffs(topics: t.Mapping[str, TopicChange], acls: t.Sequence[AclChange]) -> list[Diff]:
    """One for each topic that changes, and one for ACLs that are on no single topic."""
    by_place = values_by_key((_place(change.acl), change) for change in acls)
    places = sorted({name for name, change in topics.items() if change.changes} | (by_place.keys() - {_OTHER}))
    places += [_OTHER] if _OTHER in by_place else []
    return [_diff(place, topics.get(place), by_place.get(place, [])) for place in places]


def _place(acl: Acl) -> str:
    return acl.name if acl.resource == TOPIC and acl.pattern == LITERAL and acl.name != EVERY else _OTHER


def _diff(place: str, change: TopicChange | None, acls: t.Sequence[AclChange]) -> Diff:
    before, after = [], []
    if change is not None and change.before is not None:
        before = [f"partitions: {change.before}"]
        before += [f"{name}: {_value(setting.before)}" for name, setting in change.settings.items()]
    if change is not None and change.after is not None:
        after = [f"partitions: {change.after}"]
        after += [
            f"{name}: {_value(setting.after)}" + ("" if setting.origin == DEFAULT else f"  # {setting.origin}")
            for name, setting in change.settings.items()
        ]
    before += [str(acl_change.acl) for acl_change in acls if acl_change.action == REMOVE]
    after += [str(acl_change.acl) for acl_change in acls if acl_change.action == ADD]
    return diff(before, after, f"{place} (before)", f"{place} (after)")
