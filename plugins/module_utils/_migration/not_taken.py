# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What was selected and is not in a snapshot, a line each, with the names of options; not what is in use. Pure."""

from __future__ import annotations

import typing as t

from .._model.known_names import GROUPS, TOPICS, known, with_owner
from .._model.left_out import partitions_text
from .._model.records import TopicPartition
from .._model.selection import Selected, Selection
from .._model.visible_text import visible_name
from .._model.wording import MANY_NAMED, first_names, first_of


def group_lines(excluded: t.Sequence[str], without_offsets: t.Mapping[str, str]) -> list[str]:
    """Whole groups. excluded: by a pattern. without_offsets: why a group keeps none, as a clause about it."""
    lines = [f"{name}: {why}" for name, why in sorted(without_offsets.items())]
    if "" in excluded:
        lines.append("the group with the empty name: brokers neither describe nor remove it")
    named = [with_owner(name, GROUPS) for name in excluded if name]
    if named:
        names = first_of(named, MANY_NAMED, "more groups")
        lines.append(f"{names}: excluded by exclude_group_patterns; name them to take them")
    return lines


def topic_lines(
    committed: t.Mapping[str, t.Collection[TopicPartition]], topics: t.Mapping[str, Selected], selection: Selection
) -> list[str]:
    """Topics that an exclude pattern takes from selected groups, with their partitions, and groups of which nothing is left."""
    lines, elsewhere = [], []
    for name, partitions in sorted(committed.items()):
        for topic in topics[name].left_out:
            shown = partitions_text(partition for partition in partitions if partition.topic == topic)
            way = "the topic" if name in selection.named_groups else "the group or the topic"
            known_name = known(topic, TOPICS)
            like = f" (called like {known_name.whose})" if known_name else ""
            lines.append(f"{name} {shown}{like}: excluded by exclude_topic_patterns; name {way} to take it")
        taken = any(topics[name].has(partition.topic) for partition in partitions)
        if taken or topics[name].left_out:
            continue
        if not partitions:
            lines.append(f"{name}: it has no committed offsets")
        elif name in selection.named_groups:
            lines.append(f"{name}: none of its topics is selected")
        else:
            elsewhere.append(name)
    if elsewhere:  # a pattern for groups beside a choice of topics means those that read these topics
        lines.append(f"{first_names(elsewhere, more='more groups')}: none of their topics is selected")
    return lines


def recreated_lines(gone: t.Mapping[str, t.Collection[TopicPartition]], recreated: t.Container[str]) -> list[str]:
    """What removed groups had committed on these topics, which were created again since."""
    lost = {name: [each for each in partitions if each.topic in recreated] for name, partitions in gone.items()}
    since = "the topic was created again since the group was removed"
    return [f"{visible_name(name)} {partitions_text(lost[name])}: {since}" for name in sorted(lost) if lost[name]]
