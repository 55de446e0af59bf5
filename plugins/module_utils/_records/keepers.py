# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Read the progress of a copy from its groups, which are never joined."""

from __future__ import annotations

import time
import typing as t

from .._model.backlog import BacklogRange
from .._model.connection import Connection
from .._model.copy_progress import Progress, progress_of
from .._model.group_state import CommittedOffset
from .._model.records import TopicPartition
from . import refusals
from .confluent_library import Consumer, KafkaError, KafkaException
from .confluent_library import TopicPartition as Position
from .consumer_client import connected

_COMMITTED_SECONDS = 30.0
_PASSING = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
)


class Keepers:
    """A consumer for each progress group, in order. close() in the end.

    stable: wait while a transaction that commits progress is open, instead of telling what was before it.
    """

    def __init__(self, destination: Connection, groups: t.Sequence[str], stable: bool = True) -> None:
        """Raises ConnectionFailed with the true reason where there is no connection."""
        self._destination = destination
        self.consumers: list[Consumer] = []
        level = {} if stable else {"isolation.level": "read_uncommitted"}
        try:
            for group in groups:
                self.consumers.append(connected(destination, {"group.id": group, **level}).consumer)
        except BaseException:
            self.close()
            raise

    def progress(self, ranges: t.Sequence[BacklogRange]) -> dict[TopicPartition, Progress | None]:
        """How far each range is, by destination partition; None where that was removed or changed.

        Final only for who has fenced all others.
        """
        partitions = [each.destination for each in ranges]
        kept: dict[TopicPartition, list[CommittedOffset | None]] = {partition: [] for partition in partitions}
        for keeper in self.consumers:
            for partition, commit in self._committed(keeper, partitions).items():
                kept[partition].append(commit)
        return {each.destination: progress_of(each, kept[each.destination]) for each in ranges}

    def close(self) -> None:
        """Let go of the connections."""
        for keeper in self.consumers:
            keeper.close()

    def _committed(
        self, keeper: Consumer, partitions: t.Sequence[TopicPartition]
    ) -> dict[TopicPartition, CommittedOffset | None]:
        commits: dict[TopicPartition, CommittedOffset | None] = {}
        for answer in self._asked(keeper, [Position(*partition) for partition in partitions]) if partitions else ():
            partition = TopicPartition(answer.topic, answer.partition)
            if answer.error is not None:
                raise refusals.unwritten(self._destination, answer.error, "the progress cannot be read", partition)
            known = answer.offset is not None and answer.offset >= 0
            commits[partition] = CommittedOffset(answer.offset, answer.metadata or "") if known else None
        return commits

    def _asked(self, keeper: Consumer, wanted: list[Position]) -> list[Position]:
        end = time.monotonic() + _COMMITTED_SECONDS
        while True:
            try:
                return keeper.committed(wanted, _COMMITTED_SECONDS)
            except KafkaException as exc:
                # A coordinator that moves, or is not there yet on a new cluster.
                if exc.args[0].code() not in _PASSING or time.monotonic() > end:
                    what = "the progress of an earlier attempt cannot be read"
                    raise refusals.unwritten(self._destination, exc.args[0], what) from exc
                time.sleep(0.2)
