# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: name everything that stands in a migration's way, before any record is read."""

from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import re
import typing as t

from .._control import clusters, groups, permissions
from .._control.abilities import Ability
from .._control.topics import cluster_id, list_topics, partition_counts
from .._model.connection import Connection
from .._model.errors import ConnectionFailed, GroupBusy, InvalidInput, MigrationError, NotAuthorized, NotFound, Refused
from .._model.failure_kinds import FailureKind
from .._model.mapping import Mapping
from .._model.notes import Note, NoteKind
from .._model.option_names import correct_clusters, option_name, path_option, ways
from .._model.plan import Plan
from .._model.policies import OnActiveGroup, OnBlocked, OnConflict, OnRewind
from .._model.progress import NAMED, counted, first_names, first_of
from .._model.receipt import Receipt
from .._model.records import TopicPartition
from .._model.removed import Removed
from .._model.selection import Selection
from .._model.spark import SparkOptions
from .._model.verdicts import Reason
from .._spark.session import absence, obstacle
from . import drafts, take_snapshot
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
    ids, unreachable = _cluster_ids({"source": source, "destination": destination})
    if unreachable:
        return Preflight(ids, unreachable, [])
    one_cluster = clusters.are_one(source, destination)
    wanted, problems = _wanted(source, selection, mapping, intent, removed)
    try:
        # Without these groups it is not known what the rules fit, and the problems say why.
        if wanted and not any(isinstance(problem, NotAuthorized) for problem in problems):
            check_rules_fit(wanted, mapping, one_cluster, destination)
        check_nothing_stays(wanted, one_cluster, source, destination, removed.gone() if removed else ())
    except Refused as exc:
        problems.append(exc)
    if not wanted and not one_cluster:
        problems += _at_the_other_side(source, destination, selection, receipt)
    problems += _missing_at_source(source, selection, wanted)
    problems += _missing_at_destination(destination, wanted, intent.commits, copies)
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
    differing: list[SettingDifference] = []
    if not problems and not copies:
        counts = (
            partition_counts(source, {draft.source_partition.topic for draft in wanted}),
            partition_counts(destination, {draft.partition.topic for draft in wanted}),
        )
        notes += _topics_that_block(wanted, mapping, *counts, intent.creates_topics)
        if not one_cluster:
            missing = {draft.partition.topic for draft in wanted if draft.source_partition.topic in counts[0]} - counts[
                1
            ].keys()
            notes += _with_prefix(destination, missing)
            differing = setting_differences(source, destination, wanted, *counts)
    notes += [Note(NoteKind.SETTING_DIFFERS, difference.message) for difference in differing]
    if intent.commits:
        notes += _missing_for_rollback(destination, wanted, receipt)
    return Preflight(ids, problems, notes, differing, {draft.source_group for draft in wanted}, wanted)


def _cluster_ids(sides: t.Mapping[str, Connection]) -> tuple[dict[str, str], list[MigrationError]]:
    """The ids of the clusters that answer, asked at the same time, and why the others do not."""
    ids: dict[str, str] = {}
    problems: list[MigrationError] = []
    with concurrent.futures.ThreadPoolExecutor(len(sides)) as pool:
        answers = {side: pool.submit(cluster_id, connection) for side, connection in sides.items()}
    for side, answer in answers.items():
        try:
            ids[side] = answer.result()
        except ConnectionFailed as exc:
            problems.append(exc)
    return ids, problems


def _topics_that_block(
    wanted: list[Draft],
    mapping: Mapping,
    source_counts: t.Mapping[str, int],
    destination_counts: t.Mapping[str, int],
    creates_topics: bool,
) -> list[Note]:
    """A note for each topic that stays missing, or whose partition counts differ and nobody has said that they may."""
    entries = [
        entry
        for draft in wanted
        if not (creates_topics and _will_be_made(draft, mapping, source_counts, destination_counts))
        if (entry := drafts.without_records(draft, source_counts, destination_counts, mapping)) is not None
        if entry.reason is Reason.TOPIC_MISSING or not mapping.is_repartitioned(draft.source_partition.topic)
    ]
    return list(dict.fromkeys(Note(NoteKind.TOPIC_BLOCKS, f"{entry.shown_detail}.") for entry in entries))


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


def _will_be_made(
    draft: Draft, mapping: Mapping, source_counts: t.Mapping[str, int], destination_counts: t.Mapping[str, int]
) -> bool:
    """Whether a promotion creates the destination's topic. The user creates repartitioned ones."""
    topic = draft.source_partition.topic
    is_missing = topic in source_counts and draft.partition.topic not in destination_counts
    return is_missing and not mapping.is_repartitioned(topic)


def lacking_for_verification(options: SparkOptions) -> list[MigrationError]:
    """Why records could not be compared on the Spark that the user has described; nothing is started."""
    if absence(options) is not None:
        return []
    anchors = f"{option_name('verify')}: anchors"
    return lacking_spark(options, f"or choose {anchors}, which compares only the two records next to each offset")


def lacking_spark(options: SparkOptions, otherwise: str | None = None) -> list[MigrationError]:
    """Why the Spark that the user has described would not start. otherwise: what to do without it, None for nothing."""
    why = obstacle(options)
    kind = FailureKind.REQUIREMENT_MISSING
    return [] if why is None else [InvalidInput(why.removesuffix("."), remedy=otherwise, kind=kind)]


def receipt_of_another(
    receipt: Receipt,
    source: Connection,
    destination: Connection,
    cluster_ids: t.Mapping[str, str],
    is_of_one: t.Callable[[], bool],
) -> list[MigrationError]:
    """Why a receipt that is there cannot be added to; cluster_ids are those of look().

    is_of_one: says whether the receipt is one of a clone or a reset inside one cluster.
    """
    exchanged = Refused(
        "source and destination are exchanged",
        cluster=str(destination),
        why=f"the {receipt.name} was made for the cluster that is the source now, {source}",
        remedy=f"{correct_clusters(says_exchanged=False)}; to bring groups back on purpose, run the playbook return_groups "
        "with the source and the destination of the migration",
        kind=FailureKind.OTHER_CLUSTER,
    )
    sides = ("destination", "source")
    return _of_other_side(receipt, destination, sides, cluster_ids, exchanged, keeps_rollback(), is_of_one)


def receipt_of_no_return(
    receipt: Receipt,
    source: Connection,
    destination: Connection,
    cluster_ids: t.Mapping[str, str],
    is_of_one: t.Callable[[], bool],
) -> list[MigrationError]:
    """Why groups cannot be returned by the receipt of their migration: it was made for another cluster than they leave now.

    As receipt_of_another() otherwise.
    """
    names = "a return has the source and the destination of the migration"
    exchanged = Refused(
        "source and destination are exchanged",
        cluster=str(destination),
        why=f"the {receipt.name} was made for this cluster, and the groups would leave {source}",
        remedy=f"{correct_clusters(says_exchanged=False)}: {names}",
        kind=FailureKind.OTHER_CLUSTER,
    )
    remedy = f"{correct_clusters()}: {names}"
    return _of_other_side(receipt, source, ("source", "destination"), cluster_ids, exchanged, remedy, is_of_one)


def _inside_one(receipt: Receipt, cluster: Connection) -> Refused:
    return Refused(
        "the directory is that of a clone or a reset inside one cluster",
        cluster=str(cluster),
        why=f"the {receipt.name} was made for the other cluster alone",
        remedy=f"correct {path_option()}",
        kind=FailureKind.OTHER_CLUSTER,
    )


def never_joined(receipt: Receipt, source: Connection, names: t.Collection[str]) -> list[MigrationError]:
    """A problem for each group that a return would set after records that nobody is known to have consumed.

    receipt: of the migration. source: the cluster that groups leave, names: these groups there. One that has committed later
    offsets than it was given, although no consumer has ever joined it, may have got them from a tool.
    """
    readings = groups.read_groups(source, sorted(names)) if names else {}
    ahead: dict[str, list[tuple[TopicPartition, int]]] = {}
    for entry in receipt.entries:
        reading = readings.get(entry.group)
        now = None if reading is None else reading.offsets.get(entry.partition)
        if reading and now and entry.written and entry.has_moved_alone(now, reading.had_members):
            ahead.setdefault(entry.group, []).append((entry.partition, now.offset - entry.written.offset))
    skipped = {group: counted(sum(number for _at, number in places), "record") for group, places in ahead.items()}
    return [
        Refused(
            f"the group has gone on since the migration ({first_of([str(at) for at, _number in places])}), although no "
            "consumer has ever joined it",
            cluster=str(source),
            group=group,
            why="a tool that syncs groups, such as MirrorMaker 2, or a consumer that uses assign(), has committed; where it "
            f"was a tool, the return skips up to {skipped[group]} that nobody has consumed",
            remedy="if nobody has consumed there, roll the migration back instead; if a consumer that uses assign() has, set "
            f"{option_name('on_rewind')} to keep",
            kind=FailureKind.DESTINATION_CHANGED,
        )
        for group, places in sorted(ahead.items())
    ]


def _of_other_side(
    receipt: Receipt,
    wanted: Connection,
    sides: tuple[str, str],
    cluster_ids: t.Mapping[str, str],
    exchanged: Refused,
    remedy: str,
    is_of_one: t.Callable[[], bool],
) -> list[MigrationError]:
    """Why a receipt is not of the wanted cluster.

    sides: which one that is, and the other, whose receipt is `exchanged`, or is_of_one() and of that cluster alone.
    """
    own, other = (cluster_ids.get(side) for side in sides)
    if own is None:
        return []
    if receipt.identity.cluster_id == other != own:
        return [_inside_one(receipt, wanted) if is_of_one() else exchanged]
    try:
        check_cluster(receipt.name, receipt.identity, wanted, remedy)
    except Refused as exc:
        return [exc]
    return []


def opposite(
    others: t.Iterable[tuple[str, Plan, Receipt]],
    cluster_ids: t.Mapping[str, str],
    selected: t.Collection[str],
    on_rewind: OnRewind,
) -> list[Refused]:
    """What speaks against this direction: other migrations that have brought selected groups from the destination, in one.

    others: the path of its receipt, its plan and the receipt. cluster_ids: those of look(). selected: groups of the source.
    """
    back = "", "to take that migration back, run the playbook return_groups or rollback in its directory"
    meant = (
        "on_rewind",
        f"if this direction is meant, set {option_name('on_rewind')} to rewind: no record is skipped then",
    )
    remedy = ways(back, meant) if on_rewind == OnRewind.FAIL else ways(back)
    opposites = []
    for path, plan, receipt in others:
        is_opposite = (plan.destination_id, plan.source_id) == (
            cluster_ids.get("source"),
            cluster_ids.get("destination"),
        )
        written = {entry.group for entry in receipt.entries if entry.written is not None} & set(selected)
        if is_opposite and plan.source_id != plan.destination_id and written:
            opposites.append(
                f"{path} says that {first_names(sorted(written))} came from this destination to this source"
            )
    if not opposites:
        return []
    why = first_of(opposites)
    return [Refused(MAY_BE_SWAPPED, why=why, remedy=remedy, kind=FailureKind.OTHER_CLUSTER)]


def _wanted(
    source: Connection,
    selection: Selection,
    mapping: Mapping,
    intent: Intent,
    removed: Removed | None,
    skip_denied: bool = False,
) -> tuple[list[Draft], list[MigrationError]]:
    """What the selection and the mapping mean, and why they may mean nothing or must not be done now."""
    try:
        # The snapshot that follows looks twice.
        taken = take_snapshot.take(
            source,
            selection,
            intent.on_active_group,
            surely=False,
            on_blocked=intent.on_blocked,
            removed=removed,
            skip_denied=skip_denied,
        )
        return drafts.from_snapshot(taken.snapshot, mapping, intent.on_conflict), []
    except GroupBusy as exc:
        warning = dataclasses.replace(intent, on_active_group=OnActiveGroup.WARN)
        wanted, problems = _wanted(source, selection, mapping, warning, removed, skip_denied)
        return wanted, [exc, *problems]
    except (InvalidInput, NotAuthorized, NotFound, Refused) as exc:
        if skip_denied or not isinstance(exc, NotAuthorized):
            return [], [exc]
        wanted, problems = _wanted(source, selection, mapping, intent, removed, skip_denied=True)
        return wanted, [exc, *problems]


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
    have = "has committed offsets" if len(elsewhere) == 1 else "have committed offsets"
    what = f"{first_names(elsewhere)} {have} here, and none at the source: {MAY_BE_SWAPPED}"
    remedy = correct_clusters(says_exchanged=False)
    return [Refused(what, cluster=str(destination), remedy=remedy, kind=FailureKind.OTHER_CLUSTER)]


def _missing_for_rollback(destination: Connection, wanted: list[Draft], receipt: Receipt | None) -> list[Note]:
    """A note for each group of which a rollback would have to remove commits, and could not."""
    topics: dict[str, set[str]] = {}
    for draft in wanted:
        topics.setdefault(draft.group, set()).add(draft.partition.topic)
    try:
        current = groups.read_groups(destination, sorted(topics)) if topics else {}
        counts = partition_counts(destination, set().union(*topics.values()))
    except NotAuthorized:
        return []  # a problem, and named as one
    # Every partition of a topic may be set: those without a commit by on_uncommitted, all of a repartitioned one.
    removes = {
        group
        for group, names in topics.items()
        for name in names
        for partition in range(counts.get(name, 1))  # one that does not exist will be made
        if TopicPartition(name, partition) not in current[group].offsets
    }
    entries = receipt.entries if receipt is not None else ()
    removes |= {entry.group for entry in entries if entry.written is not None and entry.before is None} & topics.keys()
    return [
        Note(
            NoteKind.ROLLBACK_ACL_MISSING,
            f"{error.cluster}: {error.what}: a rollback needs it to delete offsets that this migration adds. "
            "Grant it before you migrate",
        )
        for error in _missing(destination, deletes_groups=removes)
    ]


def _missing_at_source(source: Connection, selection: Selection, wanted: list[Draft]) -> list[MigrationError]:
    """The ACLs that a plan needs at the source and the user does not have."""
    # Offsets of topics that may not be described are hidden without a word: those that were named are asked about too.
    topics = {draft.source_partition.topic for draft in wanted} | set(selection.topics)
    return _missing(source, reads_groups={draft.source_group for draft in wanted}, reads_topics=topics)


def _missing_at_destination(
    destination: Connection, wanted: list[Draft], commits: bool, copies: bool
) -> list[MigrationError]:
    """The ACLs that a plan, a commit and a copy need at the destination and the user does not have."""
    names = {draft.group for draft in wanted}
    topics = {draft.partition.topic for draft in wanted}
    needs = {"commits_groups": names, "commits_topics": topics} if commits else {}
    needs |= {"writes_topics": topics} if copies else {}
    return _missing(destination, reads_groups=names, reads_topics=topics, **needs)


def _missing(connection: Connection, **needs: t.Collection[str]) -> list[MigrationError]:
    missing = permissions.missing_acls(connection, **needs)
    return [NotAuthorized(f"missing ACL {acl}", cluster=str(connection)) for acl in missing]
