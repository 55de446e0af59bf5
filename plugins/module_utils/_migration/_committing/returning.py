# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a return moves, and what it is called: the names of a receipt, the other way round. Pure."""

from __future__ import annotations

import re
import typing as t

from ..._model.errors import InvalidFile, InvalidInput, NotFound
from ..._model.mapping import Mapping, Prefixes
from ..._model.option_names import option_name
from ..._model.receipt import Receipt, ReceiptEntry
from ..._model.selection import Selection
from ..._model.wording import first_names
from . import rollback

MapRows = list[dict[str, t.Any]]


class ReturnNames(t.NamedTuple):
    """The options of a migration that takes groups back. Groups, topics and patterns are those of the cluster that they leave.

    topics: empty for all that a group consumes there, also what was not migrated. replication_policy: where MirrorMaker 2
    copies in both directions and names topics by itself.
    """

    groups: list[str]
    topics: list[str]
    exclude_topic_patterns: list[str] | None
    topic_map: MapRows
    group_map: MapRows
    repartitioned: list[str]
    replication_policy: dict[str, str] | None = None


def return_names(receipt: Receipt, selection: Selection, mapping: Mapping, cluster: str) -> ReturnNames:
    """How the selected groups of a receipt are taken back.

    :param selection: by the names of the migration, as for a rollback.
    :param mapping: that of the migration, which knows the repartitioned topics.
    :param cluster: where the receipt was written, for messages.

    Raises NotFound for a group that was not migrated, or whose migration is rolled back, InvalidInput for topics of which
    several became one, and InvalidFile where the receipt does not say what was what at the source.
    """
    selection.check()
    entries = _written(rollback.choose(receipt, selection, cluster).entries, receipt, cluster)
    topics = _topics(entries, cluster)
    excluded = None
    if (patterns := selection.exclude_topic_patterns) is not None:
        left = {entry.partition.topic for entry in receipt.entries} - topics.keys()
        excluded = [*patterns, *(re.escape(topic) for topic in sorted(left))] if patterns else []
    policy = _policy(mapping, topics)
    return ReturnNames(
        sorted({entry.group for entry in entries}),
        sorted(topics) if selection.topics or selection.topic_patterns else [],
        excluded,
        [] if policy else [{"name": name, "to": to} for name, to in sorted(topics.items()) if name != to],
        _group_rows(entries),
        # A topic may have got partitions since, and messages name it as it is called where the groups are now.
        [
            re.escape(topic)
            for topic, origin in sorted(topics.items())
            if any(map(mapping.is_repartitioned, (topic, origin)))
        ],
        policy,
    )


def _policy(mapping: Mapping, topics: t.Mapping[str, str]) -> dict[str, str] | None:
    """MirrorMaker 2's names for the other direction, if it has copied in both and these are the names of all topics."""
    ahead, back, separator, ending = mapping.prefixes
    turned = Mapping(prefixes=Prefixes(back, ahead, separator, ending))
    if not back or any(turned.topic(name) != origin for name, origin in topics.items()):
        return None
    aliases = {"source_alias": back.removesuffix(separator), "target_alias": ahead.removesuffix(separator)}
    return {"name": "identity" if ending else "default", "separator": separator, **aliases}


def _written(entries: t.Sequence[ReceiptEntry], receipt: Receipt, cluster: str) -> list[ReceiptEntry]:
    """The entries of groups that are migrated. Raises NotFound where one of them is rolled back."""
    undone = sorted({entry.group for entry in receipt.entries if entry.written is None} & {e.group for e in entries})
    if undone:
        raise NotFound(
            f"the migration of {first_names(undone)} is rolled back, so there is nothing to return",
            cluster=cluster,
            remedy=f"take it out of {option_name('groups')}, or leave it out by {option_name('exclude_group_patterns')}",
        )
    nameless = next((entry for entry in entries if not entry.source), None)
    if nameless is not None:
        raise InvalidFile(
            "the receipt does not say which group and topic of the source this was",
            cluster=cluster,
            group=nameless.group,
            **nameless.partition._asdict(),
            why="an early version of the collection wrote it",
            remedy=f"leave the group out of {option_name('groups')}, and migrate it with the clusters exchanged",
        )
    return list(entries)


def _topics(entries: t.Iterable[ReceiptEntry], cluster: str) -> dict[str, str]:
    """The source's names of topics, by those at the destination."""
    names: dict[str, str] = {}
    for entry in entries:
        for origin in entry.origins:
            other = names.setdefault(entry.partition.topic, origin.partition.topic)
            if other != origin.partition.topic:
                raise InvalidInput(
                    f"the topic was made of {other} and {origin.partition.topic}, and a return cannot take it apart",
                    cluster=cluster,
                    topic=entry.partition.topic,
                    remedy=f"leave these topics out by {option_name('exclude_topic_patterns')}",
                )
    return names


def _group_rows(entries: t.Iterable[ReceiptEntry]) -> MapRows:
    """Rules of group_map: by topic where a group was made of several that consume different topics."""
    names: dict[str, dict[str, set[str]]] = {}
    for entry in entries:
        origin_groups = names.setdefault(entry.group, {}).setdefault(entry.partition.topic, set())
        origin_groups.update(origin.group for origin in entry.origins)
    rows: MapRows = []
    for group, by_topic in sorted(names.items()):
        origins = sorted(set().union(*by_topic.values()))
        if all(len(origin_groups) == len(origins) for origin_groups in by_topic.values()):
            rows += [] if origins == [group] else [{"name": group, "to": origins}]
        else:
            rows += [
                {"name": group, "to": sorted(origin_groups), "topics": [re.escape(topic)]}
                for topic, origin_groups in sorted(by_topic.items())
            ]
    return rows
