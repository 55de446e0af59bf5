# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Take a copy over for one run: nobody else copies the same, and what is known of it still holds."""

from __future__ import annotations

import dataclasses
import os
import socket
import time
import typing as t
import uuid

from ..._control import commits, groups, positions
from ..._control.positions import Bounds
from ..._model.backlog import Backlog, BacklogRange
from ..._model.connection import Connection
from ..._model.copy_progress import (
    Progress,
    Run,
    all_groups,
    begin_anew,
    host_name,
    is_first_group,
    progress_from_commits,
    run_of,
)
from ..._model.errors import Refused
from ..._model.failure_kinds import FailureKind
from ..._model.group_state import GroupReading
from ..._model.option_names import option_name
from ..._model.records import TopicPartition
from ..._records.claiming import ClaimedProgress, KnownProgress, claim
from . import identity
from .copy_state import read_progress

_EMPTY = Bounds(0, 0, 0)
_OTHER_COPY = "let that copy end and its groups consume, or give it up and delete that group; then run again"


class Takeover(t.NamedTuple):
    """What has become of taking a copy over.

    backlog: with the begins that hold. lost: ranges without progress, and where their logs end; where there are any,
    nothing is claimed yet.
    """

    backlog: Backlog
    lost: dict[TopicPartition, int]


def new_run() -> Run:
    """This process as the one that copies."""
    return Run(uuid.uuid4().hex[:12], host_name(socket.gethostname()), os.getpid(), int(time.time()))


def take_over(
    backlog: Backlog,
    destination: Connection,
    run: Run,
    fresh: bool,
    made: t.Collection[str] = (),
    rebuilt: t.Mapping[TopicPartition, tuple[int, Progress]] | None = None,
) -> Takeover:
    """Claim the copy for this run: every other run of it is fenced, and ends.

    fresh: this run has planned it, so that whatever a log has grown by meanwhile others have written, after whom it begins.
    made: topics that this run has just made. They are empty, and brokers that are still making their logs are not asked.
    rebuilt: of the ranges that an earlier call has found lost, where their logs ended, and their progress. Raises Refused
    where logs or other copies stand against it.
    """
    found: dict[str, t.Any] = {"backlog": backlog, "lost": {}, "first": False}

    def decide(kept: KnownProgress) -> ClaimedProgress:
        empty = [where for where, progress in kept.items() if progress is None and where.topic in made]
        bounds = dict.fromkeys(empty, _EMPTY) | positions.partition_bounds(destination, kept.keys() - set(empty))
        found["first"] = not any(kept.values())
        begun, lost = _judged(backlog, destination, kept, bounds, fresh and found["first"])
        claims = {
            each.destination: kept[each.destination] or Progress(each.start) for each in begun.ranges if each.copies
        }
        for where in lost:
            if rebuilt is None or rebuilt.get(where, (None,))[0] != lost[where]:
                found["lost"] = lost
                raise _Lost
            claims[where] = rebuilt[where][1]
        found["backlog"] = begun
        return claims

    names = all_groups(backlog)
    # Who is refused for it must not end the run that it is refused for.
    for each, progress in _progress(backlog, destination).items():
        if progress is not None:
            _check_end(destination, backlog, each, progress)
    try:
        claim(destination, backlog.name, names, backlog.ranges, run, decide)
    except _Lost:
        return Takeover(backlog, found["lost"])
    try:
        check_others(backlog, destination)
    except Refused:
        # So that two that have seen each other do not stand in each other's way for ever.
        if found["first"] and _is_still_claimed(destination, names[0], run):
            commits.delete_groups(destination, names)
        raise
    return Takeover(found["backlog"], {})


def check_takeover(backlog: Backlog, destination: Connection) -> dict[TopicPartition, int]:
    """What take_over() would refuse, as far as it can be known without taking anything over. -> what it would call lost."""
    check_others(backlog, destination)
    kept: KnownProgress = {each.destination: progress for each, progress in _progress(backlog, destination).items()}
    bounds = positions.partition_bounds(destination, list(kept))
    return _judged(backlog, destination, kept, bounds, False)[1]


def _progress(backlog: Backlog, destination: Connection) -> dict[BacklogRange, Progress | None]:
    """How far each range is that has something to copy, as far as brokers tell without waiting."""
    known = read_progress(backlog, destination, stable=False)
    return {each: known[each.source] for each in backlog.ranges if each.copies}


def check_others(backlog: Backlog, destination: Connection) -> None:
    """Raise Refused where another copy has begun to write one of the partitions, and has not ended."""
    wanted = {each.destination for each in backlog.ranges}
    for name, reading in _other_copies(backlog, destination):
        for where in sorted(wanted & set(reading.offsets)):
            try:
                progress = progress_from_commits(0, [reading.offsets[where]])
            except ValueError:
                progress = None
            if progress is None or progress.position < progress.end:
                raise Refused(
                    "another copy is under way to this partition" + (f": {progress.run}" if progress else ""),
                    cluster=str(destination),
                    group=name,
                    remedy=_OTHER_COPY,
                    **where._asdict(),
                    kind=FailureKind.COPY_ELSEWHERE,
                )


def other_copies(backlog: Backlog, destination: Connection) -> dict[str, str]:
    """The topics that another copy writes to, too, with its progress group.

    That copy has found their settings suspended, so that it has noted nothing to restore. Its progress is there until each of
    its groups has consumed what it has copied.
    """
    ours = {topic.name for topic in backlog.topics}
    return {
        where.topic: name
        for name, reading in _other_copies(backlog, destination)
        for where in reading.offsets
        if where.topic in ours
    }


def _other_copies(backlog: Backlog, destination: Connection) -> list[tuple[str, GroupReading]]:
    """The first progress group of every other copy to this cluster, by name."""
    names = [each.group for each in groups.list_groups(destination, surely=False)]
    others = [name for name in names if is_first_group(name) and name not in all_groups(backlog)]
    return sorted(groups.read_groups(destination, others, stable=False).items())


def lost_progress(backlog: Backlog, destination: Connection, lost: t.Mapping[TopicPartition, int]) -> Refused:
    """The error for logs that have grown, of which no progress tells by what."""
    where = min(lost)
    begin = next(each.begin for each in backlog.ranges if each.destination == where)
    more = f" ({len(lost) - 1} more partitions)" if len(lost) > 1 else ""
    return Refused(
        f"the progress of the copy is gone, and the log has grown from {begin} to {lost[where]} since it was planned{more}",
        cluster=str(destination),
        group=all_groups(backlog)[0],
        why="a progress group was deleted, or its commits have expired (offsets.retention.minutes): going on would copy "
        "records a second time, or place groups after records that they have not consumed",
        remedy=f"set {option_name('on_lost_progress')} to rebuild, which compares the copied records with the source "
        f"and goes on after the last one; or {begin_anew()}; "
        f"or copy to other topics ({option_name('topic_map')}) from another directory",
        **where._asdict(),
        kind=FailureKind.PROGRESS_LOST,
    )


def _is_still_claimed(destination: Connection, group: str, run: Run) -> bool:
    """Does the first progress group name this run only? Another one may have claimed partitions since."""
    named = map(run_of, groups.read_groups(destination, [group])[group].offsets.values())
    return all(its is not None and its.id == run.id for its in named)


class _Lost(Exception):
    """Ends a claim before anything is committed."""


def _judged(
    backlog: Backlog,
    destination: Connection,
    kept: KnownProgress,
    bounds: t.Mapping[TopicPartition, Bounds],
    fresh: bool,
) -> tuple[Backlog, dict[TopicPartition, int]]:
    """The backlog with the begins that hold, and the ranges whose logs have grown without progress, with their ends."""
    lost, ranges = {}, []
    for each in backlog.ranges:
        placed = each
        its = bounds.get(each.destination)
        if its is not None:
            progress = kept[each.destination]
            if progress is not None:
                _check_end(destination, backlog, each, progress)
                identity.check_log(destination, each, progress.next, its)
            elif its.high_watermark > each.begin and fresh:
                placed = dataclasses.replace(each, begin=its.end)
            elif its.high_watermark > each.begin:
                lost[each.destination] = its.high_watermark
        ranges.append(placed)
    return dataclasses.replace(backlog, ranges=tuple(ranges)), lost


def _check_end(destination: Connection, backlog: Backlog, each: BacklogRange, progress: Progress) -> None:
    if progress.end and progress.end != each.end:
        raise Refused(
            f"another directory's run has planned this copy up to source offset {progress.end}, and this one up to {each.end}: "
            f"{progress.run}",
            cluster=str(destination),
            group=all_groups(backlog)[0],
            remedy="go on in that directory, or with its copy.json",
            **each.destination._asdict(),
            kind=FailureKind.COPY_ELSEWHERE,
        )
