# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The binary records of MirrorMaker 2's internal topics.

Formats: Checkpoint and OffsetSync of org.apache.kafka.connect.mirror. Integers are big-endian; a STRING is
its length in bytes as INT16, then UTF-8. Both topics are compacted: the last record of a key counts, and none is
left of a key whose last record has no value.

    record        key                                       value
    checkpoint    group, topic (the target's), partition    version INT16, source offset INT64, target offset INT64, metadata
    offset-sync   topic (the source's), partition           source offset INT64, target offset INT64
"""

from __future__ import annotations

import dataclasses
import typing as t

from .errors import DamagedRecord
from .records import TopicPartition

_VERSION = 0  # of checkpoints; offset-syncs have none


class CheckpointKey(t.NamedTuple):
    """Of which group, and of which partition of the target, a checkpoint tells."""

    group: str
    partition: TopicPartition


class Checkpoint(t.NamedTuple):
    """Two offsets to be committed: what a group has consumed of the source, and what MirrorMaker 2 makes of that."""

    source: int
    target: int
    metadata: str


class OffsetSync(t.NamedTuple):
    """The offsets that one record has on both clusters."""

    source: int
    target: int


def read_checkpoint(key: bytes | None, value: bytes | None) -> tuple[CheckpointKey, Checkpoint | None]:
    """A record of a checkpoints topic. Raises DamagedRecord, as all of these do."""
    fields = _Fields("checkpoint", key)
    its_key = CheckpointKey(fields.string(), TopicPartition(fields.string(), fields.not_negative(4)))
    fields.end()
    if value is None:
        return its_key, None
    fields = _Fields("checkpoint", value)
    fields.version()
    checkpoint = Checkpoint(fields.not_negative(8), fields.not_negative(8), fields.string())
    fields.end()
    return its_key, checkpoint


def read_offset_sync(key: bytes | None, value: bytes | None) -> tuple[TopicPartition, OffsetSync | None]:
    """A record of an offset-syncs topic; the partition is the source's."""
    fields = _Fields("offset-sync", key)
    partition = TopicPartition(fields.string(), fields.not_negative(4))
    fields.end()
    if value is None:
        return partition, None
    fields = _Fields("offset-sync", value)
    sync = OffsetSync(fields.integer(8), fields.integer(8))  # -1 is written before anything is copied
    fields.end()
    return partition, sync


@dataclasses.dataclass(slots=True)
class _Fields:
    """The fields of a key or a value, one after the other."""

    kind: str
    content: bytes | None
    position: int = 0

    def integer(self, size: int) -> int:
        return int.from_bytes(self._take(size), "big", signed=True)

    def not_negative(self, size: int) -> int:
        number = self.integer(size)
        if number < 0:
            raise self._damaged(f"{number} is below 0")
        return number

    def string(self) -> str:
        content = self._take(self.not_negative(2))
        try:
            return content.decode()
        except UnicodeDecodeError as exc:
            raise self._damaged(f"{content!r} is not UTF-8") from exc

    def version(self) -> None:
        version = self.integer(2)
        if version != _VERSION:
            raise self._damaged(f"its version is {version}, and this release reads version {_VERSION}")

    def end(self) -> None:
        left = len(self.content or b"") - self.position
        if left:
            raise self._damaged(f"it has {left} bytes more than it should")

    def _take(self, size: int) -> bytes:
        taken = (self.content or b"")[self.position : self.position + size]
        if self.content is None or len(taken) < size:
            raise self._damaged("it ends too early" if self.content is not None else "it has no key")
        self.position += size
        return taken

    def _damaged(self, why: str) -> DamagedRecord:
        return DamagedRecord(f"this is no {self.kind} of MirrorMaker 2", why=why)
