# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Several groups become one: which of their committed offsets counts, and what that means for the others. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._model.plan import PlanEntry, SourcePosition
from ..._model.policies import OnConflict, OnUncommitted
from ..._model.progress import counted
from ..._model.verdicts import Reason, Verdict
from ..._model.visible_text import names_text, visible_name
from ..drafts import Draft

_LACKING = {
    OnUncommitted.IGNORE: "nobody knows what {} has consumed",
    OnUncommitted.START: "{} counts as having consumed nothing (on_uncommitted: start)",
    OnUncommitted.END: "{} counts as having consumed the partition (on_uncommitted: end)",
}


def merge_drafts(drafts: t.Iterable[Draft], on_conflict: OnConflict) -> list[Draft]:
    """One draft for each group and partition of the destination, of the commit that counts; the others are noted in it.

    A group that has committed on other partitions of the topic only is one of them, without an offset.
    """
    names: dict[tuple[str, str], dict[str, None]] = {}
    drafts_by_key: dict[tuple[str, t.Any], list[Draft]] = {}
    for draft in drafts:
        names.setdefault((draft.group, draft.partition.topic), {})[draft.source_group] = None
        drafts_by_key.setdefault(draft.key, []).append(draft)
    result = []
    for (name, partition), together in drafts_by_key.items():
        sources = names[name, partition.topic]
        if len(sources) == 1:
            result += together
            continue
        committed = [draft for draft in together if draft.committed is not None]
        if not committed:
            chosen = together[0]
        elif on_conflict == OnConflict.HIGHEST:
            chosen = max(committed, key=lambda draft: draft.offset)
        else:
            chosen = min(committed, key=lambda draft: draft.offset)
        positions = {draft.source_group: draft.position for draft in together}
        others = tuple(
            positions.get(source) or SourcePosition(source, chosen.source_partition, None)
            for source in sources
            if source != chosen.source_group
        )
        result.append(chosen._replace(others=others))
    return result


def merged_entry(
    entry: PlanEntry, draft: Draft, on_conflict: OnConflict, on_uncommitted: OnUncommitted, log_start: int
) -> PlanEntry:
    """The entry of a draft of several groups, decided for the commit that counts, as all of these groups see it.

    log_start: where the destination's log starts. A group without an offset has consumed nothing by on_uncommitted: start, and
    everything by end; otherwise nobody knows, and lowest blocks the entry.
    """
    if not draft.others or entry.offset is None or draft.committed is None:
        return entry
    lacking = [at.group for at in draft.others if at.offset is None]
    offsets = [draft.offset, *(at.offset for at in draft.others if at.offset is not None)]
    apart = max(offsets) - min(offsets)
    if not apart and not lacking:
        return entry
    texts = (
        f"{visible_name(at.group)} {'nothing' if at.offset is None else at.offset}"
        for at in (draft.position, *draft.others)
    )
    words = [f"committed were {', '.join(texts)} (on_conflict: {on_conflict})", entry.detail]
    if lacking:
        words.insert(0, _LACKING[on_uncommitted].format(names_text(lacking)))
    changes: dict[str, t.Any] = {"verdict": Verdict.REQUESTED, "reason": None, "repeats": None}
    if on_conflict == OnConflict.HIGHEST:
        if lacking and on_uncommitted == OnUncommitted.START:
            apart = max(apart, entry.offset - log_start)
        if apart:
            words.insert(0, f"one of the groups has not consumed {counted(apart, 'offset')} before this one")
    elif not lacking or on_uncommitted != OnUncommitted.END:
        repeats = None if entry.repeats is None else entry.repeats + apart
        changes = {"verdict": Verdict.SAFE, "reason": Reason.GROUPS_MERGED, "repeats": repeats}
        if lacking and on_uncommitted == OnUncommitted.START:
            changes |= {"offset": log_start, "metadata": "", "leader_epoch": None}
            changes["repeats"] = max(0, entry.offset - log_start) + apart
        elif lacking:
            words.insert(
                1,
                "set on_uncommitted to start to begin at the log's start, or to end to count the partition as consumed",
            )
            changes |= {"offset": None, "metadata": "", "leader_epoch": None}
            changes |= {"verdict": Verdict.BLOCKED, "repeats": None, "lossless": log_start}
    evidence = entry.evidence._replace(certificate=None)
    return dataclasses.replace(entry, **changes, evidence=evidence, detail="; ".join(filter(None, words)))
