# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What the topics of the destination mean for groups that are to come, as risks; the pre-migration checks say the rest."""

from __future__ import annotations

import typing as t

from .._control import permissions
from .._control.topics import TopicDescription, describe_topics
from .._model.assessment import Assessment
from .._model.connection import Connection
from .._model.errors import MigrationError, NotAuthorized
from .._model.mapping import Mapping
from .._model.risks import Risk, RiskKind
from .._model.wording import counted, first_names, first_of
from .drafts import Draft
from .setting_differences import SettingDifference, SettingKind, setting_differences
from .source_topics import topics_without

_DENIED = "TOPIC_AUTHORIZATION_FAILED"
_KINDS = {
    SettingKind.COMPACTION: RiskKind.CLEANUP_POLICY_DIFFERS,
    SettingKind.MESSAGE_SIZE: RiskKind.MESSAGE_LIMIT_SMALLER,
}


def assess_destination(
    source: Connection,
    destination: Connection,
    drafts: t.Sequence[Draft],
    mapping: Mapping,
    problems: t.Collection[MigrationError],
    cluster_ids: t.Mapping[str, str],
    settings: t.Iterable[SettingDifference],
) -> Assessment:
    """The part of an assessment that is about the destination.

    drafts, problems, cluster_ids and settings: what the pre-migration checks have found. Without drafts, the problems say why.
    If there are problems, the checks have not compared settings.
    """
    risks = _obstacles(problems)
    head = {"destination_id": cluster_ids.get("destination")}
    if not drafts and problems:
        names = f"{RiskKind.OBSTACLE.value} and {RiskKind.ACL_MISSING.value}"
        detail = f"No topic was compared with the destination, because of what {names} name."
        risks.append(Risk(RiskKind.NOT_VISIBLE, detail))
    if not drafts or "destination" not in cluster_ids:
        return Assessment(head, risks=tuple(risks))
    readers: dict[tuple[str, str], set[str]] = {}
    for draft in drafts:
        readers.setdefault((draft.source_partition.topic, draft.partition.topic), set()).add(draft.source_group)
    own = describe_topics(source, {topic for topic, _copy in readers})
    copies = describe_topics(destination, {copy for _topic, copy in readers})
    hidden = {name for name, description in copies.items() if description.error == _DENIED}
    if hidden:
        names = first_of(sorted(hidden))
        detail = (
            f"{counted(len(hidden), 'topic')} may be hidden at the destination: grant ACL TOPIC DESCRIBE on {names}."
        )
        risks.append(Risk(RiskKind.NOT_VISIBLE, detail))
    comparable = set()
    for (topic, copy), groups in sorted(readers.items()):
        if copy in hidden or own[topic].error is not None:
            continue
        named = "" if topic == copy else f"It is called {copy} there. "
        read = "reads" if len(groups) == 1 else "read"
        who = f"{counted(len(groups), 'group')} {read} it: {first_names(sorted(groups))}."
        if copies[copy].error is not None:
            risks.append(Risk(RiskKind.TOPIC_MISSING, f"{named}{who}", None, topic))
            continue
        comparable.add((topic, copy))
        counts = own[topic].partitions, copies[copy].partitions
        if counts[0] != counts[1] and not mapping.is_repartitioned(topic):
            detail = f"{named}{counts[0]} partitions at the source, {counts[1]} at the destination. {who}"
            risks.append(Risk(RiskKind.PARTITIONS_DIFFER, detail, None, topic))
    if problems:
        settings = _visible_differences(source, destination, drafts, own, copies, comparable, risks)
    risks += [
        Risk(_KINDS.get(difference.kind, RiskKind.SETTING_DIFFERS), difference.message, None, difference.topic)
        for difference in settings
    ]
    return Assessment(head, risks=tuple(risks))


def _obstacles(problems: t.Iterable[MigrationError]) -> list[Risk]:
    """A risk for each problem, but one for all groups or topics on which an ACL is missing."""
    risks: list[Risk] = []
    lacking: dict[str, list[str]] = {}
    for problem in problems:
        acl, _on, name = problem.what.partition(" on ")
        if isinstance(problem, NotAuthorized) and name:
            lacking.setdefault(f"{problem.cluster}: {acl}", []).append(name)
        else:
            risks.append(Risk(RiskKind.OBSTACLE, f"{problem}", problem.group, problem.topic, problem.partition))
    risks += [Risk(RiskKind.ACL_MISSING, f"{acl} on {first_names(sorted(names))}.") for acl, names in lacking.items()]
    return risks


def _visible_differences(
    source: Connection,
    destination: Connection,
    drafts: t.Iterable[Draft],
    own: t.Mapping[str, TopicDescription],
    copies: t.Mapping[str, TopicDescription],
    comparable: t.Collection[tuple[str, str]],
    risks: list[Risk],
) -> list[SettingDifference]:
    """Settings that differ, of the topics that exist on both clusters and whose settings the login may read.

    risks: gets the others.
    """
    missing = (
        permissions.missing_acls(source, reads_topics={topic for topic, _copy in comparable}),
        permissions.missing_acls(destination, reads_topics={copy for _topic, copy in comparable}),
    )
    unset = [topics_without("DESCRIBE_CONFIGS", acls) for acls in missing]
    visible_drafts = [
        draft
        for draft in drafts
        if (draft.source_partition.topic, draft.partition.topic) in comparable
        if draft.source_partition.topic not in unset[0] and draft.partition.topic not in unset[1]
    ]
    if unset[1]:
        names = first_of(sorted(unset[1]))
        count = counted(len(unset[1]), "topic")
        detail = f"Settings of {count} are hidden at the destination: grant ACL TOPIC DESCRIBE_CONFIGS on {names}."
        risks.append(Risk(RiskKind.NOT_VISIBLE, detail))
    return setting_differences(
        source,
        destination,
        visible_drafts,
        {name: description.partitions for name, description in own.items() if description.error is None},
        {name: description.partitions for name, description in copies.items() if description.error is None},
    )
