# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Source and destination may be one cluster, as long as nothing is migrated onto itself. Pure."""

from __future__ import annotations

import typing as t

from .._model.connection import Connection
from .._model.errors import OneCluster, OptionRefused
from .._model.mapping import Mapping
from .._model.option_names import option_name, ways
from .._model.wording import first_names, first_of
from .drafts import Draft, without_new


def check_nothing_stays(
    drafts: t.Collection[Draft],
    is_one_cluster: bool,
    source: Connection,
    destination: Connection,
    gone: t.Container[str] = (),
) -> None:
    """Raise Refused when both clusters are one, and a group would keep both its name and its topic, or give on what it gets.

    is_one_cluster: of clusters.are_one(), because two names, or two addresses, of one cluster would otherwise pass for a
    migration that does nothing. gone: groups that earlier runs have removed, which patterns select all the same.
    """
    if not is_one_cluster:
        return
    same = {
        (draft.source_group, draft.source_partition.topic)
        for draft in drafts
        if (draft.group, draft.partition.topic) == (draft.source_group, draft.source_partition.topic)
    }
    if same:
        texts = [f"group {group} on topic {topic}" for group, topic in sorted(same)]
        why = "their brokers have the same addresses, or their topics the same ids and logs"
        without = ""
        if removed := sorted({group for group, _topic in same if group in gone}):
            why = f"removed.json says that an earlier run has removed {first_names(removed)}"
            without = f"leave what was removed out by {option_name('exclude_group_patterns')}"
        new_groups = {draft.group for draft in drafts if draft.group != draft.source_group}
        new_topics = {
            draft.partition.topic for draft in drafts if draft.partition.topic != draft.source_partition.topic
        }
        new = without_new(
            new_groups.intersection(group for group, _topic in same),
            new_topics.intersection(topic for _group, topic in same),
        )
        raise OneCluster(
            f"{source} and {destination} are one cluster, and nothing would change for {first_of(texts)}",
            why=why,
            remedy=ways(
                *([("exclude_group_patterns", without)] if without else []),
                *new,
                ("", "if two clusters are meant, correct bootstrap_servers of one of them"),
                ("group_map", f"give every group another name by {option_name('group_map')}"),
                ("topic_map", f"give its topics other names by {option_name('topic_map')}"),
            ),
        )
    _check_nothing_is_given_on(drafts, str(destination))


def _check_nothing_is_given_on(drafts: t.Collection[Draft], cluster: str) -> None:
    """Raise Refused where a selected group or topic is also what another one becomes."""
    selected = {draft.source_group for draft in drafts}
    topics = {draft.source_partition.topic for draft in drafts}
    given = [draft for draft in drafts if draft.group in selected and draft.partition.topic in topics]
    check_none_is_both(
        selected,
        {draft.group for draft in given if draft.group != draft.source_group},
        cluster,
        "the group is selected, and it is the new name of a selected group, too",
        why="this run would write what it reads, and the next one would give it on to another group",
        remedy=ways(
            (
                "exclude_group_patterns",
                f"if patterns have selected it, leave it out by {option_name('exclude_group_patterns')}",
            ),
            ("group_map", f"give the new groups names by {option_name('group_map')} that no selected group has"),
        ),
    )
    if given:
        group, topic = min((draft.group, draft.partition.topic) for draft in given)
        raise OptionRefused(
            "the topic is selected, and it is the new name of a selected topic, too",
            cluster=cluster,
            group=group,
            topic=topic,
            why="this run would write what it reads, and the next one would give it on to another topic",
            remedy=ways(
                ("topic_map", f"give the new topics names by {option_name('topic_map')} that no selected topic has"),
                ("exclude_topic_patterns", f"leave {topic} out by {option_name('exclude_topic_patterns')}"),
            ),
        )


def check_none_is_both(
    old: t.Collection[str], new: t.Collection[str], cluster: str, what: str, *, remedy: str, why: str | None = None
) -> None:
    """Raise Refused where an old group has the name of a new one."""
    both = sorted({*old}.intersection(new))
    if both:
        raise OptionRefused(what, cluster=cluster, group=both[0], why=why, remedy=remedy)


def check_rules_fit(drafts: t.Iterable[Draft], mapping: Mapping, is_one_cluster: bool, cluster: Connection) -> None:
    """Raise Refused when both clusters are one, and a rule of group_map gives no group its new name.

    Groups that are moved to another cluster keep their names without a rule; inside one, a rule that fits nothing is a mistake.
    """
    if not is_one_cluster:
        return
    idle = mapping.idle_group_rules(sorted({(draft.source_group, draft.source_partition.topic) for draft in drafts}))
    if idle:
        raise OptionRefused(
            first_of(idle, more="more rules", between="; "),
            cluster=str(cluster),
            remedy=f"correct {option_name('group_map')}, or select the groups and topics that the rule is about",
        )
