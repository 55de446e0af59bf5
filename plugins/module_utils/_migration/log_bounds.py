# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Where the logs of a report begin and end. A cluster that does not tell costs seconds and a note, and fails nothing."""

from __future__ import annotations

import dataclasses
import typing as t

from .._control import clusters
from .._control.positions import bounds_as_far_as_known
from .._model.cluster_identity import ClusterIdentity
from .._model.connection import Connection
from .._model.errors import MigrationError
from .._model.notes import Note, NoteKind
from .._model.records import TopicPartition
from .._model.wording import first_of

PATIENCE = 5.0  # seconds for one answer, and for further tries


class LogBounds(t.NamedTuple):
    """ranges: the offsets [start, end) of the logs that are known. note: why others are not, None if all are known."""

    ranges: dict[TopicPartition, tuple[int, int]]
    note: Note | None = None


def read_log_bounds(
    connection: Connection, expected: ClusterIdentity | None, partitions: t.Collection[TopicPartition]
) -> LogBounds:
    """The logs of these partitions, all read at about the same moment. expected: the cluster, None where not known."""
    if not partitions:
        return LogBounds({})
    impatient = dataclasses.replace(connection, request_timeout=min(connection.request_timeout, PATIENCE))

    def missing(why: str) -> Note:
        return Note(NoteKind.LOG_ENDS_MISSING, f"The log ends of the {connection.name} are missing: {why}.")

    try:
        cluster_id, bounds = bounds_as_far_as_known(impatient, partitions, PATIENCE)
        identity = ClusterIdentity(cluster_id)
        if expected is not None and expected.traits.topic_ids:
            identity = clusters.identify(impatient, expected.traits.topic_ids)
    except MigrationError as exc:
        return LogBounds({}, missing(f"{exc.what}{f': {exc.why}' if exc.why else ''}"))
    if expected is not None and (difference := expected.difference(identity)) is not None:
        return LogBounds({}, missing(f"the files are about another cluster, because this one {difference}"))
    ranges = {at: (log.log_start, log.high_watermark) for at, log in bounds.items()}
    unknown = sorted(set(partitions) - set(ranges))
    if not unknown:
        return LogBounds(ranges)
    names = first_of(list(map(str, unknown)))
    why = "do not exist, have no leader at the moment, or need ACL TOPIC DESCRIBE"
    return LogBounds(ranges, missing(f"{len(unknown):,} of {len(set(partitions)):,} partitions {why}: {names}"))
