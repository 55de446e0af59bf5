# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: what has become of every group that the directories of migrations know? Reads both clusters, writes nothing."""

from __future__ import annotations

import functools
import time
import typing as t

from .._control import clusters, groups, positions, topics
from .._control.abilities import Ability
from .._control.attempts import DEADLINE_SECONDS
from .._control.configs import broker_number
from .._control.permissions import not_offered
from .._control.reasons import ErrorCode
from .._model import migration_status
from .._model.background import at_once
from .._model.cluster_identity import ClusterIdentity, LogRange
from .._model.connection import Connection
from .._model.errors import ConnectionFailed, NotAuthorized
from .._model.grouping import values_by_key
from .._model.migrated_groups import DirectoryFiles, GroupFiles, groups_of
from .._model.migration_status import Deleted, GroupStatus, WayBack
from .._model.notes import Note, NoteKind
from .._model.option_names import correct_clusters
from .._model.records import TopicPartition
from .._model.visible_text import visible_name
from .._model.wording import first_of
from .file_clusters import check_same
from .still_written import Ends, StillWritten, grown_topics

_Logs = dict[TopicPartition, LogRange]
_Noted = tuple[str, ClusterIdentity]  # a file, and of which cluster it is


class MigrationStatus(t.NamedTuple):
    """groups: those that need somebody first. still_written: the topics at the source that have grown meanwhile.

    knows_source: whether the source has answered.
    """

    groups: list[GroupStatus]
    still_written: list[StillWritten]
    notes: list[Note]
    knows_source: bool = True


def look_at_status(
    directories: t.Sequence[DirectoryFiles], source: Connection, destination: Connection, pause: float
) -> MigrationStatus:
    """pause: seconds between two readings of the log ends at the source, at least.

    A source that does not answer costs a note: it may be gone for good after the last wave. Raises Refused for files of other
    clusters, NotAuthorized, and ConnectionFailed for a destination that does not answer.
    """
    silent, recreated = _check_clusters(directories, source, destination)
    known, notes = _newest(directories)
    wanted = {partition for group_files in known for _group, partition in group_files.source}
    begun, before = time.monotonic(), _logs(source, wanted) if silent is None else {}
    source_names = {name for group_files in known for name in group_files.source_groups}
    at_source, at_destination = at_once(
        lambda: _read(source, source_names) if silent is None else None,
        lambda: _read(destination, {group_files.group for group_files in known}),
    )
    at_new = {partition for group_files in known for partition in group_files.partitions}
    destination_logs = _logs(destination, at_new)
    if silent is None:
        ways, unknown = _ways_back(known, source, {partition.topic for partition in before})
        time.sleep(max(0.0, begun + pause - time.monotonic()))
        now = _logs(source, wanted)
    else:
        ways, unknown, now = [WayBack() for _group_files in known], [silent], {}
    deleted = Deleted(
        _deleted(source, wanted, now) if silent is None else (),
        _deleted(destination, at_new, destination_logs),
    )
    statuses = [
        migration_status.assess(group_files, at_source, at_destination, now, destination_logs, way, deleted)
        for group_files, way in zip(known, ways, strict=True)
    ]
    return MigrationStatus(
        migration_status.in_order(statuses),
        grown_topics(source, _written(directories, before), _ends(now)),
        [*notes, *recreated, *unknown],
        knows_source=silent is None,
    )


def _read(connection: Connection, names: t.Collection[str]) -> migration_status.Readings:
    """A group with an open transaction is where it was before it: nobody waits."""
    return groups.read_groups(connection, sorted(names), stable=False)


def _logs(connection: Connection, partitions: t.Collection[TopicPartition]) -> _Logs:
    """Of the partitions that exist and are served."""
    if not partitions:
        return {}
    _cluster, bounds = positions.bounds_as_far_as_known(connection, partitions, DEADLINE_SECONDS)
    return {partition: edges.log for partition, edges in bounds.items()}


def _deleted(connection: Connection, wanted: t.Iterable[TopicPartition], logs: _Logs) -> list[str]:
    """The topics without logs that no broker knows. Others have no leader now, or the user may not describe them."""
    missing = {partition.topic for partition in wanted} - {partition.topic for partition in logs}
    described = topics.describe_topics(connection, missing, surely=True)
    return [name for name, each in described.items() if each.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.name]


def _ends(logs: _Logs) -> Ends:
    return {partition: end for partition, (_start, end) in logs.items()}


def _written(directories: t.Sequence[DirectoryFiles], logs: _Logs) -> Ends:
    """The ends of the logs that producers at the source write, as far as plans tell copies of the destination's own topics."""
    plans = [files.plan for files in directories if files.plan is not None]
    own = {at.topic for at in logs if any(plan.is_own_copy(at.topic) for plan in plans)}
    return {at: end for at, end in _ends(logs).items() if at.topic not in own}


def _check_clusters(
    directories: t.Sequence[DirectoryFiles], source: Connection, destination: Connection
) -> tuple[Note | None, list[Note]]:
    """Raise Refused for the first file of another cluster. Each cluster is asked once for the topics of all files.

    -> a note where the source does not answer, and one of topics that were created again at the destination.
    """
    noted: tuple[list[_Noted], list[_Noted]] = ([], [])
    for directory, plan, receipt, returned, *_more in directories:
        if plan is not None:
            # A plan that was made from checkpoints has no source, because nobody could ask it then.
            if plan.source_id:
                noted[0].append((f"plan in {directory}", plan.source_identity))
            noted[1].append((f"plan in {directory}", plan.destination_identity))
        if receipt is not None:
            noted[1].append((f"receipt in {directory}", receipt.identity))
        if returned is not None:
            noted[0].append((f"receipt of the return in {directory}", returned.identity))
    identities = at_once(
        lambda: _identity(source, _topics(noted[0])), lambda: clusters.identify(destination, _topics(noted[1]))
    )
    silent, recreated = None, dict[str, str]()
    for connection, files, cluster in zip((source, destination), noted, identities, strict=True):
        if isinstance(cluster, Note):
            silent = cluster
            continue
        for file, identity in files:
            check_same(file, identity, cluster, connection, f"{correct_clusters()}; or leave its directory out")
            if connection is destination:
                recreated |= identity.traits.recreated(cluster.traits)
    if not recreated:
        return silent, []
    shown = [f"{visible_name(name)} ({how})" for name, how in sorted(recreated.items())]
    text = (
        "These topics were deleted and created again at the destination since the migration was planned or committed. Brokers "
        f"remove the committed offsets of a deleted topic: {first_of(shown)}."
    )
    return silent, [Note(NoteKind.TOPIC_RECREATED, text)]


def _identity(source: Connection, names: t.Collection[str]) -> ClusterIdentity | Note:
    try:
        return clusters.identify(source, names)
    except ConnectionFailed as exc:
        text = f"Nobody knows who consumes or writes at the source, nor until when groups can go back: {exc}"
        return Note(NoteKind.SOURCE_SILENT, text)


def _topics(noted: t.Iterable[_Noted]) -> set[str]:
    return {topic for _file, identity in noted for topic in identity.traits.topic_ids}


def _newest(directories: t.Sequence[DirectoryFiles]) -> tuple[list[GroupFiles], list[Note]]:
    """Every group once, as the directory knows it that has committed it last; a note where several know one.

    One that is rolled back comes before plans, and those before what an earlier wave has left out, which needs no note.
    """
    every = (group_files for files in directories for group_files in groups_of(files))
    known = values_by_key((group_files.group, group_files) for group_files in every)
    for versions in known.values():
        versions.sort(key=_precedence, reverse=True)
    having = {
        group: [version.directory for version in versions if not version.is_left_out]
        for group, versions in known.items()
    }
    shown = [f"{visible_name(group)} ({', '.join(names)})" for group, names in sorted(having.items()) if names[1:]]
    notes = []
    if shown:
        text = (
            "These groups have files in several directories. The status is from the first one, which has committed the group "
            f"last, if any has: {first_of(shown)}."
        )
        notes.append(Note(NoteKind.SEVERAL_DIRECTORIES, text))
    return [versions[0] for versions in known.values()], notes


def _precedence(version: GroupFiles) -> tuple[bool, int, bool, bool]:
    return bool(version.written), version.committed_at or 0, version.is_rolled_back, not version.is_left_out


def _ways_back(
    known: t.Sequence[GroupFiles], source: Connection, existing: t.Collection[str]
) -> tuple[list[WayBack], list[Note]]:
    by_offset = not_offered(source, Ability.KEPT_OFFSETS)  # and no request tells when an offset was committed
    minutes = None if by_offset else broker_number(source, "offsets.retention.minutes")
    notes = [need.note(str(source)) for need in by_offset if any(group_files.written for group_files in known)]
    try:
        settings = topics.of_existing(source, existing, functools.partial(topics.topic_settings, source))
        retention = {
            name: topic_settings.retention_ms / 1000
            for name, topic_settings in settings.items()
            if topic_settings.retention_ms is not None
        }
    except NotAuthorized as exc:
        retention = {}
        notes.append(Note(NoteKind.RETENTION_UNKNOWN, f"Nobody knows until when groups can be returned: {exc}"))
    consumed = {at.topic for group_files in known if group_files.written for _group, at in group_files.source}
    missing = consumed - set(existing)
    if missing:
        text = (
            "Nobody knows whether groups can go back that consume these topics, because the source does not tell the ends of "
            f"their logs: {first_of(sorted(missing))}. They do not exist there, have no leaders, or the user may not "
            "describe them."
        )
        notes.append(Note(NoteKind.RETENTION_UNKNOWN, text))
    ways = []
    for group_files in known:
        names = {at.topic for _group, at in group_files.source}
        shortest = min((retention[name] for name in names if name in retention), default=None)
        since = None if names & missing else group_files.committed_at
        ways.append(
            WayBack(
                None if since is None or minutes is None else since + 60 * minutes,
                None if since is None or shortest is None else since + shortest,
            )
        )
    return ways, notes
