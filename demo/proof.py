# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a committed offset at the destination does to its consumers, counted in the records of both clusters.

Nothing of the collection is used here, nor what it says of itself: all records of both logs are read and compared.
"""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import typing as t

from demo.clients import Commits, Servers, Stored, read

Content = bytes  # a digest of all that a consumer sees of a record, its offset apart
Log = list[tuple[int, Content]]  # the visible records of a partition: offset and content
Logs = dict[tuple[str, int], Log]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Records that a group gets twice, or never. Of the entries (partitions with a commit), missing have none here."""

    consumed: int = 0
    repeats: int = 0
    losses: int = 0
    entries: int = 0
    missing: int = 0

    def __add__(self, other: Outcome) -> Outcome:
        sums = (
            mine + theirs for mine, theirs in zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True)
        )
        return Outcome(*sums)


def read_logs(cluster: Servers, topics: t.Iterable[str]) -> Logs:
    """All visible records of the topics."""
    logs: Logs = {}
    for topic in topics:
        for record in read(cluster, topic):
            logs.setdefault((topic, record.partition), []).append((record.offset, _content(record)))
    return logs


def outcome(committed: Commits, here: Commits, source: Logs, destination: Logs) -> Outcome:
    """What becomes of a group that has committed at the source, and goes on at the destination where it stands `here`.

    Without a commit there it starts at the beginning (auto.offset.reset=earliest), or would lose what it has missed.
    """
    total = Outcome()
    for where, (offset, _unused) in committed.items():
        start = here[where][0] if where in here else 0
        counted = judge(source.get(where, []), offset, destination.get(where, []), start)
        total += dataclasses.replace(counted, entries=1, missing=int(where not in here))
    return total


def contradicted(
    plan: t.Iterable[t.Mapping[str, t.Any]], source: Logs, destination: Logs
) -> list[t.Mapping[str, t.Any]]:
    """The entries of a plan whose offset loses records, or repeats more of them than their verdict admits."""
    wrong = []
    for entry in plan:
        where = (entry["topic"], entry["partition"])
        (position,) = entry["source"]
        found = judge(source.get(where, []), position["offset"], destination.get(where, []), entry["offset"])
        admitted = 0 if entry["verdict"] == "exact" else entry["repeats"]
        if found.losses or (admitted is not None and found.repeats > admitted):
            wrong.append(entry)
    return wrong


def judge(source: Log, committed: int, destination: Log, start: int) -> Outcome:
    """Compare what lies before and behind both offsets. Equal records are told apart by their number alone."""
    consumed = collections.Counter(content for offset, content in source if offset < committed)
    unconsumed = collections.Counter(content for offset, content in source if offset >= committed)
    skipped = collections.Counter(content for offset, content in destination if offset < start)
    delivered = collections.Counter(content for offset, content in destination if offset >= start)
    return Outcome(
        consumed=consumed.total(),
        # What is delivered more often than it was still to be consumed; what nobody had consumed and is passed over.
        repeats=sum(max(0, delivered[content] - unconsumed[content]) for content in consumed),
        losses=sum(max(0, skipped[content] - consumed[content]) for content in unconsumed),
    )


def _content(record: Stored) -> Content:
    parts = (record.timestamp, record.key, record.value, record.headers)
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).digest()
