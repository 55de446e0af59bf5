# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The file of removed groups: what they had committed. It makes them again."""

from __future__ import annotations

import dataclasses
import typing as t

from . import documents
from .cluster_identity import NO_TRAITS, ClusterIdentity, Traits
from .file_rows import Among, Name, read_file, row_order, write_row
from .group_state import Commits, GroupReading
from .grouping import values_by_key
from .records import TopicPartition
from .snapshot import SnapshotEntry

KIND = "removed"


class RemovedGroup(t.NamedTuple):
    """A group, the type that it had, and whether it was made again since."""

    name: Name
    type: str
    restored: bool


@row_order("cluster_id", "traits", "groups", "entries")
@dataclasses.dataclass(frozen=True, slots=True)
class Removed:
    """Every group that was removed, on one cluster, and all that it had committed when it was removed last."""

    cluster_id: str
    groups: tuple[RemovedGroup, ...] = ()
    entries: tuple[SnapshotEntry, ...] = ()
    traits: t.Annotated[Traits, Among()] = NO_TRAITS

    @property
    def identity(self) -> ClusterIdentity:
        """The cluster that the groups were on."""
        return ClusterIdentity(self.cluster_id, self.traits)

    def gone(self) -> dict[str, Commits]:
        """What the groups had committed that are removed and were not made again."""
        commits: dict[str, Commits] = {group.name: {} for group in self.groups if not group.restored}
        for entry in self.entries:
            if entry.group in commits:
                commits[entry.group][entry.partition] = entry.committed
        return commits

    def committed(self) -> dict[str, list[TopicPartition]]:
        """What every group in the file had committed on, whether it was made again or not."""
        return {group.name: [] for group in self.groups} | values_by_key(entry[:2] for entry in self.entries)

    def readings(self) -> dict[str, GroupReading]:
        """The same as groups that a cluster would show, if they were still there."""
        types = {group.name: group.type for group in self.groups}
        return {
            name: GroupReading(name, True, "Empty", types[name], "", offsets) for name, offsets in self.gone().items()
        }

    def with_removed(self, readings: t.Iterable[GroupReading], current: Traits) -> Removed:
        """The same with these groups as removed ones; of one that was removed before, only this counts.

        current: their topics as they are now. The offsets that other groups had on a topic which was created again since mean
        nothing in its new log, and the file has one id for each topic: they are left out.
        """
        new = {reading.group: reading for reading in readings}
        kept = (group for group in self.groups if group.name not in new)
        more = (RemovedGroup(name, reading.type, False) for name, reading in new.items())
        again = self.traits.recreated(current)
        entries = [entry for entry in self.entries if entry.group not in new and entry.partition.topic not in again]
        for name, reading in new.items():
            entries += [SnapshotEntry(name, partition, committed) for partition, committed in reading.offsets.items()]
        traits = self.traits.as_found(current, {entry.partition.topic for entry in entries})
        return Removed(self.cluster_id, (*kept, *more), tuple(entries), traits)

    def with_restored(self, names: t.Collection[str]) -> Removed:
        """The same with these groups as made again."""
        groups = (group._replace(restored=group.restored or group.name in names) for group in self.groups)
        return dataclasses.replace(self, groups=tuple(groups))


def to_json(removed: Removed) -> str:
    """The text of a file of removed groups."""
    ordered = dataclasses.replace(removed, groups=tuple(sorted(removed.groups)))
    entries = sorted(removed.entries, key=lambda entry: entry[:2])
    return documents.dumps(KIND, write_row(ordered, "entries"), map(write_row, entries))


def from_json(text: str, path: str) -> Removed:
    """Read a file of removed groups, or raise InvalidFile."""
    removed = read_file(KIND, text, path, Removed, entries=SnapshotEntry)
    documents.check_once(KIND, path, (entry[:2] for entry in removed.entries))
    documents.check_once(KIND, path, ((group.name,) for group in removed.groups), "group {} is named twice")
    names = [group.name for group in removed.groups]
    documents.check_among(KIND, path, names, (entry.group for entry in removed.entries))
    return removed
