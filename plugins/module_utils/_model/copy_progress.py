# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""How far a copy is, as it stands in the commits of its progress groups.

A transaction writes records, and commits for their destination partition the next source offset, with the rest as metadata:
both or nothing. The broker takes any offset, but no partition that it lacks, hence the destination's partition; and at most
4096 bytes of metadata (offset.metadata.max.bytes), of which confluent-kafka takes one. So what does not fit goes to further
groups, in the same transaction. Each commit replaces the metadata of the one before.

    "<records> <bytes> <next or -> <without timestamp> <expired>|<C>:<D>,<C>:<D>..."    first group
    "|<C>:<D>,..."                                                                    further groups
"""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import Backlog, BacklogRange, Done
from ansible_collections.streamshift.kafka.plugins.module_utils._model.groups import CommittedOffset

# Boundaries of one group's commit: two numbers of up to 19 digits each, beside five numbers in front.
BOUNDARIES = 95


@dataclasses.dataclass(slots=True)
class Progress:
    """How far one range is. position: the next source offset. The rest: see backlog.Done."""

    position: int
    records: int = 0
    bytes: int = 0
    next: int | None = None
    without_timestamp: int = 0
    expired: int = 0
    places: dict[int, int] = dataclasses.field(default_factory=dict)

    def done(self) -> Done:
        """The same when all is copied."""
        return Done(self.records, self.bytes, self.next, self.without_timestamp, self.expired, dict(self.places))


def transactional_id(name: str, number: int) -> str:
    """Of a bin and not of an attempt to copy it: of two attempts, the newer fences the older."""
    return f"{name}-{number}"


def progress_groups(name: str, ranges: t.Iterable[BacklogRange]) -> list[str]:
    """The progress groups that a copy of these ranges needs; the first of them is needed always."""
    most = max((len(each.boundaries) for each in ranges), default=0)
    return [f"{name}-progress-{number}" for number in range(max(1, -(-most // BOUNDARIES)))]


def all_groups(backlog: Backlog) -> list[str]:
    """The progress groups of a whole copy."""
    return progress_groups(backlog.name, backlog.ranges)


def metadata(progress: Progress, boundaries: t.Sequence[int], group: int) -> str | None:
    """What the commit in the group of this number holds beside the offset; None where there is nothing to hold."""
    head = ""
    if group == 0:
        following = "-" if progress.next is None else progress.next
        head = f"{progress.records} {progress.bytes} {following} {progress.without_timestamp} {progress.expired}"
    places = progress.places
    its = boundaries[group * BOUNDARIES : (group + 1) * BOUNDARIES]
    pairs = ",".join(f"{offset}:{places[offset]}" for offset in its if offset in places)
    return f"{head}|{pairs}" if head or pairs else None


def read(start: int, commits: t.Iterable[CommittedOffset | None]) -> Progress:
    """The progress of a range that begins at `start`, from what each of its groups has committed, in order.

    Raises ValueError for what no copy has committed.
    """
    first, *more = commits
    if first is None:
        return Progress(start)
    head, _mark, pairs = _text(first).partition("|")
    records, size, following, without_timestamp, expired = head.split(" ")
    progress = Progress(
        first.offset,
        int(records),
        int(size),
        None if following == "-" else int(following),
        int(without_timestamp),
        int(expired),
    )
    for text in (pairs, *(_text(each).partition("|")[2] for each in more if each is not None)):
        for pair in filter(None, text.split(",")):
            here, _colon, there = pair.partition(":")
            progress.places[int(here)] = int(there)
    return progress


def _text(commit: CommittedOffset) -> str:
    """confluent-kafka ends metadata with a NUL, which other clients see."""
    return commit.metadata.rstrip("\0")
