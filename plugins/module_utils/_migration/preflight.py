# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: name everything that stands in a migration's way, before any record is read."""

from __future__ import annotations

import collections
import dataclasses
import re
import typing as t

from .._control import clusters, groups, permissions
from .._control.abilities import Ability
from .._control.topics import cluster_id, list_topics, partition_counts
from .._model.background import at_once
from .._model.connection import Connection
from .._model.errors import (
    ConnectionFailed,
    DestinationChanged,
    GroupBusy,
    InvalidInput,
    MigrationError,
    NotAuthorized,
    NotFound,
    OtherCluster,
    Refused,
    RequirementMissing,
)
from .._model.faults import faults_of
from .._model.mapping import Mapping
from .._model.notes import Note, NoteKind
from .._model.option_names import correct_clusters, option_name, path_option, ways
from .._model.plan import Plan
from .._model.policies import OnActiveGroup, OnBlocked, OnConflict, OnRewind
from .._model.receipt import Receipt
from .._model.records import TopicPartition, every_partition
from .._model.removed import Removed
from .._model.selection import Selection
from .._model.spark import SparkOptions
from .._model.verdicts import Reason
from .._model.wording import NAMED, counted, first_names, first_of
from .._spark.session import absence, obstacle
from . import drafts, hidden_topics, take_snapshot
from .drafts import Draft
from .file_clusters import check_cluster, equal_ids, keeps_rollback
from .one_cluster import check_nothing_stays, check_rules_fit
from .setting_differences import SettingDifference, setting_differences

_TOLD = (Ability.MEMBERS, Ability.GROUP_OPERATIONS, Ability.TOPIC_OPERATIONS)
_COMPARING = (Ability.CONFIGS,)  # inside one cluster, no records are compared
_REMOVAL = (Ability.REMOVE_GROUPS, Ability.REMOVE_OFFSETS)
MAY_BE_SWAPPED = "source and destination may be swapped"


class Preflight(t.NamedTuple):
    """cluster_ids: of the clusters that answered, by source and destination. problems: in the order in which to solve them.

    notes: what does not stand in the migration's way, and had better be known before, such as what the plan will block.
    groups: those of the source that are selected. settings: what differs in the topics' settings, each of which is a note as
    well. drafts: what is selected, with its names at the destination.
    """

    cluster_ids: dict[str, str]
    problems: list[MigrationError]
    notes: list[Note]
    settings: t.Sequence[SettingDifference] = ()
    groups: t.Collection[str] = ()
    drafts: t.Sequence[Draft] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Intent:
    """What a migration is going to do, as options of kafka_migration_info, as far as that decides what stands in its way.

    commits: the destination's groups will be written, and not only read. creates_topics: topics that are missing there will be
    made before a plan. remove_source_groups: the groups of the source will be removed. on_active_group, on_blocked: as for a
    snapshot. on_conflict: as for a plan.
    """

    commits: bool = True
    creates_topics: bool = False
    remove_source_groups: bool = False
    on_active_group: OnActiveGroup = OnActiveGroup.WARN
    on_blocked: OnBlocked = OnBlocked.FAIL
    on_conflict: OnConflict = OnConflict.FAIL


def look(
    source: Connection,
    destination: Connection,
    selection: Selection,
    mapping: Mapping,
    intent: Intent,
    *,
    copies: bool = False,
    receipt: Receipt | None = None,
    removed: Removed | None = None,
) -> Preflight:
    """Connect to both clusters, and ask for every ACL that the migration needs.

    :param copies: whether the destination's topics will be written, too, and made where they are missing.
    :param receipt: what was written to the destination before.
    :param removed: as for a snapshot.
    """
    selection.check()
    answers = at_once(lambda: _id_or_problem(source), lambda: _id_or_problem(destination))
    sides = zip(("source", "destination"), answers, strict=True)
    ids = {side: answer for side, answer in sides if isinstance(answer, str)}
    if len(ids) < 2:
        return Preflight(ids, [answer for answer in answers if not isinstance(answer, str)], [])
    one_cluster = clusters.are_one(source, destination)
    wanted, problems, in_use = _wanted(source, selection, mapping, intent, removed)
    try:
        # Without these groups it is not known what the rules fit, and the problems say why.
        if wanted and not any(isinstance(problem, NotAuthorized) for problem in problems):
            check_rules_fit(wanted, mapping, one_cluster, destination)
        check_nothing_stays(wanted, one_cluster, source, destination, removed.gone() if removed else ())
    except Refused as exc:
        problems.append(exc)
    if not wanted and not one_cluster:
        problems += _at_the_other_side(source, destination, selection, receipt)
    names, copied = {draft.group for draft in wanted}, {draft.partition.topic for draft in wanted}
    source_names, topics = {draft.source_group for draft in wanted}, {draft.source_partition.topic for draft in wanted}
    # Offsets of topics that may not be described are hidden without a word: those that were named are asked about too.
    problems += _missing(source, reads_groups=source_names, reads_topics={*topics, *selection.topics})
    problems += hidden_topics.subscribed(source, in_use, selection)
    needs = {"commits_groups": names, "commits_topics": copied} if intent.commits else {}
    needs |= {"writes_topics": copied} if copies else {}
    problems += _missing(destination, reads_groups=names, reads_topics=copied, **needs)
    if copies:
        problems += permissions.copy_obstacles(destination)
    if intent.remove_source_groups:
        problems += permissions.removal_obstacles(source)
    notes = equal_ids(ids["source"], ids["destination"], one_cluster)
    removal = _REMOVAL if intent.commits else ()
    if one_cluster:
        notes += permissions.not_told([(destination, (*_TOLD, *removal))])
    else:  # what the source does not tell of open transactions, the snapshot says
        both = *_TOLD, *_COMPARING
        notes += permissions.not_told([(source, both), (destination, (*both, *removal))])
        notes += hidden_topics.copied(source, destination, selection, mapping, topics)
    differing: list[SettingDifference] = []
    if not problems and not copies:
        counts = partition_counts(source, topics), partition_counts(destination, copied)
        notes += _topics_that_block(wanted, mapping, *counts, intent.creates_topics)
        if not one_cluster:
            expected = {draft.partition.topic for draft in wanted if draft.source_partition.topic in counts[0]}
            notes += _with_prefix(destination, expected - counts[1].keys())
            differing = setting_differences(source, destination, wanted, *counts)
    notes += [Note(NoteKind.SETTING_DIFFERS, difference.message) for difference in differing]
    if intent.commits:
        notes += _missing_for_rollback(destination, wanted, receipt)
    return Preflight(ids, problems, notes, differing, source_names, wanted)


def _id_or_problem(connection: Connection) -> str | ConnectionFailed:
    """The id of a cluster, or why it does not answer."""
    try:
        return cluster_id(connection)
    except ConnectionFailed as exc:
        return exc


def _topics_that_block(
    wanted: list[Draft],
    mapping: Mapping,
    source_counts: t.Mapping[str, int],
    destination_counts: t.Mapping[str, int],
    creates_topics: bool,
) -> list[Note]:
    """A note for each topic that stays missing, or whose partition counts differ and nobody has said that they may."""
    notes: dict[Note, None] = {}
    for draft in wanted:
        topic = draft.source_partition.topic
        entry = drafts.without_records(draft, source_counts, destination_counts, mapping)
        if mapping.is_repartitioned(topic):  # the user creates such topics, and their partition counts may differ
            blocks = entry is not None and entry.reason is Reason.TOPIC_MISSING
        else:
            is_missing = topic in source_counts and draft.partition.topic not in destination_counts
            blocks = not (creates_topics and is_missing)
        if entry is not None and blocks:
            notes[Note(NoteKind.TOPIC_BLOCKS, f"{entry.shown_detail}.")] = None
    return list(notes)


def _with_prefix(destination: Connection, missing: t.Collection[str]) -> list[Note]:
    """Where missing topics are there with a prefix, as MirrorMaker 2 calls copies by its default policy: the likely mistake."""
    topics_by_alias: dict[str, set[str]] = collections.defaultdict(set)
    for name in list_topics(destination) if missing else ():
        for dot in re.finditer(r"\.", name):
            if (topic := name[dot.end() :]) in missing:
                topics_by_alias[name[: dot.start()]].add(topic)
    return [
        Note(
            NoteKind.TOPIC_BLOCKS,
            f"Missing at the destination, but there with the prefix {alias}: {first_of(sorted(topics))}. If "
            f"MirrorMaker 2 has copied them, do not create them: set {option_name('replication_policy')} to "
            f"{{name: default, source_alias: {alias}}}.",
        )
        for alias, topics in sorted(topics_by_alias.items(), key=lambda item: -len(item[1]))[:NAMED]
    ]


def lacking_for_verification(options: SparkOptions) -> list[MigrationError]:
    """Why records could not be compared on the Spark that the user has described; nothing is started."""
    if absence(options) is not None:
        return []
    anchors = f"{option_name('verify')}: anchors"
    return lacking_spark(options, f"or choose {anchors}, which compares only the two records next to each offset")


def lacking_spark(options: SparkOptions, otherwise: str | None = None) -> list[MigrationError]:
    """Why the Spark that the user has described would not start. otherwise: what to do without it, None for nothing."""
    why = obstacle(options)
    return [] if why is None else [RequirementMissing(why.removesuffix("."), remedy=otherwise)]


def receipt_of_another(
    receipt: Receipt,
    source: Connection,
    destination: Connection,
    cluster_ids: t.Mapping[str, str],
    is_of_one: t.Callable[[], bool],
    *,
    returns: bool = False,
) -> list[MigrationError]:
    """Why a receipt that is there cannot be added to; cluster_ids are those of look().

    is_of_one: says whether the receipt is one of a clone or a reset inside one cluster. returns: why groups cannot be returned
    by the receipt of their migration, which was made for the cluster that they leave now.
    """
    names = "the source and the destination of the migration"
    if returns:
        wanted, sides, remedy = source, ("source", "destination"), f"{correct_clusters()}: a return has {names}"
        exchanged_why = f"the {receipt.name} was made for this cluster, and the groups would leave {source}"
        instead = f": a return has {names}"
    else:
        wanted, sides, remedy = destination, ("destination", "source"), keeps_rollback()
        exchanged_why = f"the {receipt.name} was made for the cluster that is the source now, {source}"
        instead = f"; to bring groups back on purpose, run the playbook return_groups with {names}"
    own, other = (cluster_ids.get(side) for side in sides)
    if own is None:
        return []
    if receipt.identity.cluster_id != other or own == other:
        return list(faults_of(lambda: check_cluster(receipt.name, receipt.identity, wanted, remedy)))
    what, cluster, why = "source and destination are exchanged", destination, exchanged_why
    remedy = correct_clusters(says_exchanged=False) + instead
    if is_of_one():
        what, cluster = "the directory is that of a clone or a reset inside one cluster", wanted
        why, remedy = f"the {receipt.name} was made for the other cluster alone", f"correct {path_option()}"
    return [OtherCluster(what, cluster=str(cluster), why=why, remedy=remedy)]


def never_joined(receipt: Receipt, source: Connection, names: t.Collection[str]) -> list[MigrationError]:
    """A problem for each group that a return would set after records that nobody is known to have consumed.

    receipt: of the migration. source: the cluster that groups leave, names: these groups there. One that has committed later
    offsets than it was given, although no consumer has ever joined it, may have got them from a tool.
    """
    readings = groups.read_groups(source, sorted(names)) if names else {}
    ahead: dict[str, list[tuple[TopicPartition, int]]] = {}
    for entry in receipt.entries:
        reading = readings.get(entry.group)
        now = reading and reading.offsets.get(entry.partition)
        if reading and now and entry.written and entry.has_moved_alone(now, reading.had_members):
            ahead.setdefault(entry.group, []).append((entry.partition, now.offset - entry.written.offset))
    return [
        DestinationChanged(
            f"the group has gone on since the migration ({first_of([str(at) for at, _number in places])}), although no "
            "consumer has ever joined it",
            cluster=str(source),
            group=group,
            why="a tool that syncs groups, such as MirrorMaker 2, or a consumer that uses assign(), has committed; where it "
            f"was a tool, the return skips up to {counted(sum(number for _at, number in places), 'record')} that nobody "
            "has consumed",
            remedy="if nobody has consumed there, roll the migration back instead; if a consumer that uses assign() has, set "
            f"{option_name('on_rewind')} to keep",
        )
        for group, places in sorted(ahead.items())
    ]


def is_opposite(plan: Plan, cluster_ids: t.Mapping[str, str]) -> bool:
    """Is a plan one of the opposite direction? cluster_ids: those of look()."""
    direction = cluster_ids.get("source"), cluster_ids.get("destination")
    return (plan.destination_id, plan.source_id) == direction and plan.source_id != plan.destination_id


def opposite(
    others: t.Iterable[tuple[str, Receipt]], selected: t.Collection[str], on_rewind: OnRewind
) -> list[Refused]:
    """What speaks against this direction: other migrations that have brought selected groups from the destination, in one.

    others: receipts of the opposite direction, each with its path. selected: groups of the source.
    """
    back = "", "to take that migration back, run the playbook return_groups or rollback in its directory"
    meant = (
        "on_rewind",
        f"if this direction is meant, set {option_name('on_rewind')} to rewind: no record is skipped then",
    )
    remedy = ways(back, meant) if on_rewind == OnRewind.FAIL else ways(back)
    opposites = []
    for path, receipt in others:
        written = {entry.group for entry in receipt.entries if entry.written is not None} & set(selected)
        if written:
            opposites.append(
                f"{path} says that {first_names(sorted(written))} came from this destination to this source"
            )
    if not opposites:
        return []
    why = first_of(opposites)
    return [OtherCluster(MAY_BE_SWAPPED, why=why, remedy=remedy)]


def _wanted(
    source: Connection, selection: Selection, mapping: Mapping, intent: Intent, removed: Removed | None
) -> tuple[list[Draft], list[MigrationError], dict[str, str]]:
    """What the selection and the mapping mean, and why they may mean nothing or must not be done now.

    Besides, the types of the groups that have members, by name.
    """
    on_active_group, skip_denied = intent.on_active_group, False
    problems: list[MigrationError] = []
    while True:
        try:
            taken = take_snapshot.take(
                source,
                selection,
                on_active_group,
                surely=False,  # the snapshot that follows looks twice
                on_blocked=intent.on_blocked,
                removed=removed,
                skip_denied=skip_denied,
            )
            in_use = {group.name: group.type for group in taken.snapshot.groups if group.name in taken.seen.active}
            return drafts.from_snapshot(taken.snapshot, mapping, intent.on_conflict), problems, in_use
        except (GroupBusy, InvalidInput, NotAuthorized, NotFound, Refused) as exc:
            problems.append(exc)
            if isinstance(exc, GroupBusy):
                on_active_group = OnActiveGroup.WARN
            elif isinstance(exc, NotAuthorized) and not skip_denied:
                skip_denied = True
            else:
                return [], problems, {}


def _at_the_other_side(
    source: Connection, destination: Connection, selection: Selection, receipt: Receipt | None
) -> list[MigrationError]:
    """The question whether the clusters are swapped, where named groups are at the destination alone.

    Those that the receipt has were migrated, and may have been removed at the source since.
    """
    names = sorted({*selection.groups} - {entry.group for entry in (receipt.entries if receipt is not None else ())})
    try:
        at_source, at_destination = groups.read_groups(source, names), groups.read_groups(destination, names)
    except MigrationError:
        return []  # it may not be seen
    elsewhere = [name for name in names if at_destination[name].offsets and not at_source[name].offsets]
    if not elsewhere:
        return []
    have = "has" if len(elsewhere) == 1 else "have"
    what = f"{first_names(elsewhere)} {have} committed offsets here, and none at the source: {MAY_BE_SWAPPED}"
    remedy = correct_clusters(says_exchanged=False)
    return [OtherCluster(what, cluster=str(destination), remedy=remedy)]


def _missing_for_rollback(destination: Connection, wanted: list[Draft], receipt: Receipt | None) -> list[Note]:
    """A note for each group of which a rollback would have to remove commits, and could not."""
    pairs = {(draft.group, draft.partition.topic) for draft in wanted}
    names = {group for group, _topic in pairs}
    try:
        current = groups.read_groups(destination, sorted(names)) if names else {}
        counts = partition_counts(destination, {topic for _group, topic in pairs})
    except NotAuthorized:
        return []  # a problem, and named as one
    # Every partition of a topic may be set: those without a commit by on_uncommitted, all of a repartitioned one.
    removes = {
        group
        for group, topic in pairs
        for partition in every_partition({topic: counts.get(topic, 1)})  # one that does not exist will be made
        if partition not in current[group].offsets
    }
    entries = receipt.entries if receipt is not None else ()
    removes |= {entry.group for entry in entries if entry.written is not None and entry.before is None} & names
    return [
        Note(
            NoteKind.ROLLBACK_ACL_MISSING,
            f"{error.cluster}: {error.what}: a rollback needs it to delete offsets that this migration adds. "
            "Grant it before you migrate",
        )
        for error in _missing(destination, deletes_groups=removes)
    ]


def _missing(connection: Connection, **needs: t.Collection[str]) -> list[MigrationError]:
    missing = permissions.missing_acls(connection, **needs)
    return [NotAuthorized(f"missing ACL {acl}", cluster=str(connection)) for acl in missing]
