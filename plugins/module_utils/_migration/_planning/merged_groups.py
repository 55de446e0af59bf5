# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Several groups become one: which of their committed offsets counts, and what that means for the others. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._matching.evidence import LogFacts
from ..._model.grouping import nested, values_by_key
from ..._model.plan import PlanEntry, SourcePosition
from ..._model.policies import OnConflict, OnUncommitted
from ..._model.verdicts import Reason, Verdict
from ..._model.visible_text import names_text, visible_name
from ..._model.wording import counted
from ..drafts import Draft
from .strategy import DraftKey

_LACKING = {
    OnUncommitted.IGNORE: "nobody knows what {} has consumed",
    OnUncommitted.START: "{} counts as having consumed nothing (on_uncommitted: start)",
    OnUncommitted.END: "{} counts as having consumed the partition (on_uncommitted: end)",
}

_HOW_TO_DECIDE = "set on_uncommitted to start to begin at the log's start, or to end to count the partition as consumed"


def merge_drafts(drafts: t.Collection[Draft], on_conflict: OnConflict) -> list[Draft]:
    """One draft for each group and partition of the destination, of the commit that counts; the others are noted in it.

    A group that has committed on other partitions of the topic only is one of them, without an offset.
    """
    names = nested((((draft.group, draft.partition.topic), draft.source_group), None) for draft in drafts)
    drafts_by_key = values_by_key((draft.key, draft) for draft in drafts)
    first_of = max if on_conflict == OnConflict.HIGHEST else min
    result = []
    for (name, partition), together in drafts_by_key.items():
        sources = names[name, partition.topic]
        if len(sources) == 1:
            result += together
            continue
        committed = [draft for draft in together if draft.committed is not None]
        chosen = first_of(committed, key=lambda draft: draft.offset) if committed else together[0]
        positions = {draft.source_group: draft.position for draft in together}
        others = tuple(
            positions.get(source) or SourcePosition(source, chosen.source_partition, None)
            for source in sources
            if source != chosen.source_group
        )
        result.append(chosen._replace(others=others))
    return result


def highest_key(key: DraftKey) -> DraftKey:
    """The key under which at_highest() has a draft: a name that as good as no group has."""
    return f"{key[0]}\0", key[1]


def is_highest_key(key: DraftKey) -> bool:
    """Is it one of these?"""
    return key[0].endswith("\0")


def at_highest(merged: t.Mapping[DraftKey, Draft]) -> dict[DraftKey, Draft]:
    """A draft of the highest commit for each of these of which a lower one counts: to know what its group repeats there."""
    result = {}
    for key, draft in merged.items():
        highest = max((at.offset for at in draft.positions if at.offset is not None), default=0)
        if draft.committed is not None and highest > draft.offset:
            result[highest_key(key)] = draft._replace(committed=draft.committed._replace(offset=highest))
    return result


def merged_entry(
    entry: PlanEntry,
    highest: PlanEntry,
    draft: Draft,
    on_conflict: OnConflict,
    on_uncommitted: OnUncommitted,
    log: LogFacts,
) -> PlanEntry:
    """The entry of a draft of several groups, decided for the commit that counts, as all of these groups see it.

    highest: the entry of the highest of their commits. log: of the destination. A group without an
    offset has consumed nothing by on_uncommitted: start, and everything by end; otherwise nobody knows, and lowest blocks the
    entry.
    """
    if not draft.others or draft.committed is None:
        return entry
    lacking = [at.group for at in draft.others if at.offset is None]
    offsets = [draft.offset, *(at.offset for at in draft.others if at.offset is not None)]
    apart = max(offsets) - min(offsets)
    if entry.offset is None:  # what loses nothing of the commit that counts may lose records of another group
        is_lowest = not (lacking and on_uncommitted != OnUncommitted.END) and not (
            apart and on_conflict == OnConflict.HIGHEST
        )
        return entry if is_lowest else dataclasses.replace(entry, lossless=None)
    if not apart and not lacking:
        return entry
    unconsumed = 0  # offsets before this one, of the group that has consumed least
    if on_conflict == OnConflict.HIGHEST:
        from_start = entry.offset - log.log_start if lacking and on_uncommitted == OnUncommitted.START else 0
        # What has expired is nobody's any more.
        unconsumed = max(0, min(max(apart, from_start), entry.offset - log.log_start))
        merged = dataclasses.replace(_requested(entry), skipped=unconsumed)
        if lacking:
            merged = _at_highest_of_all(merged, on_uncommitted, log)
    elif entry.verdict is Verdict.REQUESTED and not lacking:
        merged = dataclasses.replace(entry, repeats=apart)  # the lowest offset is no safer than the others
    elif lacking:
        merged = _at_lowest(entry, highest, on_uncommitted, log)
    else:
        merged = _safe(entry, entry.offset, highest)
    uncounted = merged.verdict is Verdict.SAFE and highest.offset is None
    texts = (f"{visible_name(at.group)} {'nothing' if at.offset is None else at.offset}" for at in draft.positions)
    clauses = [
        f"one of the groups has not consumed {counted(unconsumed, 'offset')} before this one" if unconsumed else "",
        _LACKING[on_uncommitted].format(names_text(lacking)) if lacking else "",
        _HOW_TO_DECIDE if merged.offset is None else "",
        f"the repeats are not counted, because the offset for {max(offsets)} is not known ({highest.reason})"
        if uncounted
        else "",
        f"committed were {', '.join(texts)} (on_conflict: {on_conflict})",
        entry.detail,
    ]
    evidence = entry.evidence._replace(certificate=None)
    detail = "; ".join(filter(None, clauses))
    return dataclasses.replace(merged, evidence=evidence, detail=detail, chosen=entry.why_chosen)


def _requested(entry: PlanEntry) -> PlanEntry:
    """The entry as one that an option has chosen. A doubt about the topic stays."""
    reason = entry.reason if entry.reason is Reason.TOPIC_UNIDENTIFIED else None
    return dataclasses.replace(entry, verdict=Verdict.REQUESTED, reason=reason)


def _repeating_the_rest(entry: PlanEntry, log: LogFacts) -> PlanEntry:
    """The entry where one of its groups counts as having consumed the partition: it repeats all that follows."""
    return dataclasses.replace(entry, repeats=None if entry.offset is None else max(0, log.end - entry.offset))


def _at_highest_of_all(entry: PlanEntry, on_uncommitted: OnUncommitted, log: LogFacts) -> PlanEntry:
    """The requested entry by on_conflict: highest where a group has committed nothing."""
    match on_uncommitted:
        case OnUncommitted.END:
            return _repeating_the_rest(entry, log)
        case OnUncommitted.START:
            return entry
        case OnUncommitted.IGNORE:
            return dataclasses.replace(entry, repeats=None, skipped=None)
        case _:
            t.assert_never(on_uncommitted)


def _safe(entry: PlanEntry, offset: int, highest: PlanEntry) -> PlanEntry:
    """The entry with this offset. Between it and that of the highest commit, each record may be one that a group has consumed.

    So offsets of the destination count: it may have several copies of a record. Of what follows, the highest commit knows.
    """
    repeats = None
    if highest.offset is not None and highest.repeats is not None:
        repeats = max(0, highest.offset - offset) + highest.repeats
    return dataclasses.replace(entry, offset=offset, verdict=Verdict.SAFE, reason=Reason.GROUPS_MERGED, repeats=repeats)


def _at_lowest(entry: PlanEntry, highest: PlanEntry, on_uncommitted: OnUncommitted, log: LogFacts) -> PlanEntry:
    """The entry by on_conflict: lowest where a group has committed nothing."""
    match on_uncommitted:
        case OnUncommitted.END:
            return _repeating_the_rest(_requested(entry), log)
        case OnUncommitted.START:
            entry = _safe(entry, log.log_start, highest)
        case OnUncommitted.IGNORE:
            entry = dataclasses.replace(entry.blocked(Reason.GROUPS_MERGED, ""), lossless=log.log_start)
        case _:
            t.assert_never(on_uncommitted)
    return dataclasses.replace(entry, metadata="", leader_epoch=None)  # they belong to the offset of the commit
