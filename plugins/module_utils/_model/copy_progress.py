# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""How far a copy is, as it stands in the commits of its progress groups.

A transaction writes records, and commits for their destination partition the next source offset, with the rest as metadata:
both or nothing. The broker takes any offset, but no partition that it lacks, hence the destination's partition; and at most
4096 bytes of metadata (offset.metadata.max.bytes), of which confluent-kafka takes one. So what does not fit goes to further
groups, in the same transaction. Each commit replaces the metadata of the one before.

    first group:    "<records> <bytes> <next or -> <without timestamp> <expired> <end> <run> <pairs> <throttled>|<C>:<D>,..."
    further groups: "|<C>:<D>,..."

<run> is "<id> <started> <process> <host>" of the run that has the copy. A run claims every partition, in transactions without
records, before it writes any: so the progress exists from the beginning on, and its absence means that somebody removed it.
<pairs> is how many pairs all groups hold: fewer of them mean that a further group was removed. <throttled> is left out where it
is 0.
"""

from __future__ import annotations

import dataclasses
import datetime
import re
import typing as t
import zlib

from .backlog import Backlog, BacklogRange, Done
from .group_state import CommittedOffset
from .grouping import chunks
from .option_names import option_name
from .records import TopicPartition

PREFIX = "streamshift-copy-"
# Boundaries of one group's commit: two numbers of up to 19 digits each, beside at most 220 characters in front.
BOUNDARIES = 95
# Fixed, whatever machine copies: another number of them would let two releases write one partition under two ids.
TRANSACTIONAL_IDS = 16
_HOST = 63  # characters


def begin_anew() -> str:
    """What to do where a copy cannot go on, to end a remedy. Records of others may be among what was copied, or before it.

    And what was copied may have left the source since, as by its retention or by an unclean leader election.
    """
    return (
        "begin anew, but only if the source still has every record that was copied; otherwise keep the topics at the "
        "destination, because nobody else has these records. To begin anew, give the copy up "
        f"({option_name('state: absent')}; with {option_name('remove_topics')}, it deletes the "
        "topics that it has made, if they hold nothing but what it has copied), and run again. Do not delete or empty a topic "
        "that holds other records, such as those of producers that have moved: copy to another topic "
        f"({option_name('topic_map')})"
    )


class Run(t.NamedTuple):
    """One run of a copy. id: unique. process: its id on the host. started: seconds since the epoch."""

    id: str
    host: str
    process: int
    started: int

    def __str__(self) -> str:
        since = datetime.datetime.fromtimestamp(self.started, datetime.UTC)
        return f"process {self.process} on host {self.host}, started at {since:%Y-%m-%d %H:%M:%S} UTC"


@dataclasses.dataclass(slots=True)
class Progress:
    """How far one range is. position: the next source offset. The rest: see backlog.Done.

    end: where the range ends for the run that has the copy. throttled: how many seconds, rounded up, a quota has made the last
    transaction wait at a time.
    """

    position: int
    records: int = 0
    bytes: int = 0
    next: int | None = None
    without_timestamp: int = 0
    expired: int = 0
    places: dict[int, int] = dataclasses.field(default_factory=dict)
    end: int = 0
    run: Run | None = None
    throttled: int = 0

    def done(self) -> Done:
        """The same when all is copied."""
        return Done(self.records, self.bytes, self.next, self.without_timestamp, self.expired, dict(self.places))


def transactional_number(destination: TopicPartition) -> int:
    """The number of the transactional id that writes a partition of the destination.

    It follows from the partition's name alone. So two runs of a copy, from any machines, write a partition under the same id,
    and the newer run fences the older one. Partitions that follow each other have different numbers.
    """
    return (zlib.crc32(destination.topic.encode()) + destination.partition) % TRANSACTIONAL_IDS


def transactional_id(name: str, number: int) -> str:
    """Of a copy's partitions with this number, and not of an attempt to copy them."""
    return f"{name}-{number}"


def transactional_ids(backlog: Backlog) -> list[str]:
    """All that a copy writes under, or another run of it, to which other partitions may have grown."""
    return [
        transactional_id(backlog.name, at)
        for at in sorted({transactional_number(it.destination) for it in backlog.ranges})
    ]


def host_name(name: str) -> str:
    """A host's name as metadata can hold it."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", name)[:_HOST] or "-"


def progress_groups(name: str, ranges: t.Iterable[BacklogRange]) -> list[str]:
    """The progress groups that a copy of these ranges needs; the first of them is needed always."""
    most = max((len(each.boundaries) for each in ranges), default=0)
    return [f"{name}-progress-{number}" for number in range(max(1, -(-most // BOUNDARIES)))]


def is_first_group(group: str) -> bool:
    """Is this the first progress group of some copy?"""
    return group.startswith(PREFIX) and group.endswith("-progress-0")


def all_groups(backlog: Backlog) -> list[str]:
    """The progress groups of a whole copy."""
    return progress_groups(backlog.name, backlog.ranges)


def progress_metadata(progress: Progress, boundaries: t.Sequence[int]) -> list[str | None]:
    """What the commits of the groups hold beside the offset, for as many groups as the boundaries need; None for nothing."""
    run, places = progress.run or Run("-", "-", 0, 0), progress.places
    following = "-" if progress.next is None else progress.next
    head = f"{progress.records} {progress.bytes} {following} {progress.without_timestamp} {progress.expired}"
    head += f" {progress.end} {run.id} {run.started} {run.process} {run.host}"
    head += f" {sum(offset in places for offset in boundaries)}"
    head += f" {progress.throttled}" if progress.throttled else ""
    first, *further = [
        ",".join(f"{offset}:{places[offset]}" for offset in group_boundaries if offset in places)
        for group_boundaries in chunks(boundaries, BOUNDARIES)
    ] or [""]
    return [f"{head}|{first}", *(f"|{pairs}" if pairs else None for pairs in further)]


def progress_commits(
    ranges: t.Iterable[BacklogRange], progress: t.Mapping[TopicPartition, Progress], groups: int
) -> list[list[tuple[TopicPartition, CommittedOffset]]]:
    """What each progress group is to hold of these ranges, in the groups' order. progress: by destination partition."""
    group_commits: list[list[tuple[TopicPartition, CommittedOffset]]] = [[] for _unused in range(groups)]
    for backlog_range in ranges:
        range_progress = progress[backlog_range.destination]
        texts = progress_metadata(range_progress, backlog_range.boundaries)
        for commits, text in zip(group_commits, texts, strict=False):  # a range may need fewer groups than others
            if text is not None:
                commits.append((backlog_range.destination, CommittedOffset(range_progress.position, text)))
    return group_commits


def progress_from_commits(start: int, commits: t.Iterable[CommittedOffset | None]) -> Progress:
    """The progress of a range that begins at `start`, from what each of its groups has committed, in order.

    Raises ValueError for what no copy has committed.
    """
    return _parsed(start, commits)[0]


def progress_of(backlog_range: BacklogRange, commits: t.Sequence[CommittedOffset | None]) -> Progress | None:
    """The same of one range; None where its progress was removed, all of it or one of the groups that hold its pairs.

    So it is where somebody else has committed, such as kafka-consumer-groups --reset-offsets --all-groups. The first group's
    commit alone says how far the range is, without these pairs.
    """
    if commits[0] is None:
        return None
    try:
        progress, pairs = _parsed(backlog_range.start, commits)
    except ValueError:
        return None
    if len(commits) < len(progress_groups("", [backlog_range])):
        return progress
    return progress if len(progress.places) == pairs else None


def _parsed(start: int, commits: t.Iterable[CommittedOffset | None]) -> tuple[Progress, int]:
    """What the commits hold, and how many pairs they should hold together."""
    first, *more = commits
    if first is None:
        return Progress(start), 0
    head, _mark, pairs = _text(first).partition("|")
    records, size, following, without_timestamp, expired, end, run, started, process, host, number, *throttled = (
        head.split(" ")
    )
    progress = Progress(
        first.offset,
        int(records),
        int(size),
        None if following == "-" else int(following),
        int(without_timestamp),
        int(expired),
        end=int(end),
        run=None if run == "-" else Run(run, host, int(process), int(started)),
        throttled=sum(map(int, throttled)),
    )
    for text in (pairs, *(_text(commit).partition("|")[2] for commit in more if commit is not None)):
        for pair in filter(None, text.split(",")):
            source, _colon, destination = pair.partition(":")
            progress.places[int(source)] = int(destination)
    return progress, int(number)


def run_of(commit: CommittedOffset) -> Run | None:
    """The run that a commit of a first progress group names; None for what no copy has committed."""
    try:
        return progress_from_commits(0, [commit]).run
    except ValueError:
        return None


def _text(commit: CommittedOffset) -> str:
    """confluent-kafka ends metadata with a NUL, which other clients see."""
    return commit.metadata.rstrip("\0")
