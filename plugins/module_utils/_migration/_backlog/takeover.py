# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Whose a copy is: takes it over for one run, when what is known of it still holds, and tells whether a run is under way."""

from __future__ import annotations

import dataclasses
import os
import socket
import time
import typing as t
import uuid

from ..._control import commits, groups, positions, topics
from ..._control.positions import Bounds
from ..._model.backlog import Backlog, BacklogRange
from ..._model.connection import Connection
from ..._model.copy_progress import (
    Progress,
    Run,
    all_groups,
    begin_anew,
    host_name,
    run_of,
)
from ..._model.errors import CopyElsewhere, FileMissing, Locked, ProgressLost, Refused, TopicNotEmpty
from ..._model.group_state import Commits
from ..._model.option_names import option_name
from ..._model.policies import OnLostProgress
from ..._model.records import TopicPartition
from ..._model.wording import counted
from ..._records.claiming import Claimed, KnownProgress, Lost, claim
from ..processes import started
from . import others, preconditions
from .copy_state import read_progress
from .suspended_settings import Save

_EMPTY = Bounds(0, 0, 0)
_ROUNDING = 1.0  # seconds: both times are cut to what their clocks tell


def new_run() -> Run:
    """This process as the one that copies."""
    return Run(uuid.uuid4().hex[:12], host_name(socket.gethostname()), os.getpid(), int(time.time()))


def check_unknown(backlog: Backlog, destination: Connection) -> None:
    """Raise FileMissing for a copy that was begun and whose file is gone: its ends and boundaries were others."""
    names = all_groups(backlog)
    for name, reading in sorted(groups.read_groups(destination, names, stable=False).items()):
        if reading.offsets:
            runs = {str(run) for commit in reading.offsets.values() if (run := run_of(commit))}
            raise FileMissing(
                "this copy has already started, and its copy file is not here" + (f": {min(runs)}" if runs else ""),
                cluster=str(destination),
                group=name,
                why="it was started with another directory, and may still run, or the file is lost",
                remedy="if that process still runs, wait until it has ended; then use its directory, or restore the copy file. "
                "Only if the file is lost and nothing runs, remove this group, and copy to another topic "
                f"({option_name('topic_map')}); or, if the topic holds nothing but what was copied, and the source still has "
                "all of it, delete that, and start again",
            )


def take_over(
    backlog: Backlog,
    destination: Connection,
    run: Run,
    made: t.Collection[str] = (),
    rebuilt: t.Mapping[TopicPartition, tuple[int, Progress]] | None = None,
    append: bool = False,
    save: Save | None = None,
) -> Backlog | Lost:
    """Claim the copy for this run: every other run of it is fenced, and ends. -> the copy with the begins that hold.

    Lost: ranges without progress, but those that `rebuilt` tells of; nothing is claimed yet.
    As long as no run has claimed it, others have written whatever a log has grown by since it was planned. With `append`, it
    begins after them; without, it is refused, because no group would read that.
    made: topics that this run has just made. They are empty, and brokers that are still making their logs are not asked.
    rebuilt: of the ranges that an earlier call has found lost, where their logs ended, and their progress.
    save: writes the copy file, where it changes. Raises Refused where logs or other copies stand against it.
    """
    names, fresh = all_groups(backlog), not backlog.claimed
    # Who is refused for it must not end the run that it is refused for.
    known = read_progress(backlog, destination, stable=False)
    for backlog_range in backlog.ranges:
        if (progress := known.get(backlog_range.destination)) is not None:
            _check_end(destination, backlog, backlog_range, progress)

    def decide(kept: KnownProgress) -> Claimed | Lost:
        nonlocal backlog
        empty = [partition for partition, progress in kept.items() if progress is None and partition.topic in made]
        bounds = dict.fromkeys(empty, _EMPTY) | positions.partition_bounds(destination, kept.keys() - set(empty))
        is_first = not any(kept.values())
        ranges, lost = _judged(backlog, destination, kept, bounds, fresh and is_first, append)
        found_again = {at: progress for at, (end, progress) in (rebuilt or {}).items() if lost.get(at) == end}
        if unknown := lost.keys() - found_again.keys():
            return Lost({at: lost[at] for at in unknown})
        if ranges != backlog.ranges or not backlog.claimed:
            backlog = dataclasses.replace(backlog, ranges=ranges, claimed=True)
            if save is not None:
                save(backlog)  # before it is claimed: later, the log tells nobody where the copy has begun
        progress = {each.destination: kept[each.destination] or Progress(each.start) for each in ranges if each.copies}
        # What was rebuilt, an earlier run has copied: that claim is not to be given back.
        return Claimed(progress | found_again, is_first and not found_again)

    claimed = claim(destination, backlog.name, names, backlog.ranges, run, decide)
    if isinstance(claimed, Lost):
        return claimed
    try:
        others.check_copies(backlog, destination)
    except Refused:
        # So that two that have seen each other do not stand in each other's way for ever.
        if claimed.is_first and _is_still_claimed(destination, names[0], run):
            commits.delete_groups(destination, names)
            if save is not None:
                save(dataclasses.replace(backlog, claimed=False))
        raise
    return backlog


def check_takeover(backlog: Backlog, destination: Connection, append: bool) -> dict[TopicPartition, int]:
    """What take_over() would refuse, as far as it can be known without ending any run. -> what it would call lost."""
    others.check_copies(backlog, destination)
    kept = read_progress(backlog, destination, stable=False)
    # A run may have been killed before it made the topics; who has made one with fewer partitions is told when they are made.
    counts = topics.partition_counts(destination, {each.topic for each in kept})
    existing = [each for each in kept if each.partition < counts.get(each.topic, 0)]
    bounds = dict.fromkeys(kept, _EMPTY) | positions.partition_bounds(destination, existing)
    return _judged(backlog, destination, kept, bounds, not backlog.claimed and not any(kept.values()), append)[1]


def check_idle(backlog: Backlog, destination: Connection, wait: float) -> None:
    """Raise Locked, which names the run, where somebody copies this now.

    A run of this machine is under way while its process is found here, and is not this one, which may have claimed the copy to
    give it up. Of any other one nobody knows that here, nor of one in another container of this name: its progress is read
    twice, `wait` seconds apart, and must be the same.
    """
    first = _named(backlog, destination)
    run = max(filter(None, map(run_of, first.values())), key=lambda each: each.started, default=None)
    if run is None or backlog.is_done:
        return
    if run.host != host_name(socket.gethostname()) or run.process == os.getpid() or not is_alive(run):
        time.sleep(wait)
        if _named(backlog, destination) == first:
            return
    raise run_going_on(backlog, destination, "is under way", run)


def run_going_on(backlog: Backlog, destination: Connection, what: str, run: Run | None) -> Locked:
    """The error for another run of the copy. run: as far as it is known."""
    return Locked(
        f"a run of this copy {what}" + (f": {run}" if run else ""),
        cluster=str(destination),
        group=all_groups(backlog)[0],
        remedy="stop that run, or let it end; then run again",
    )


def is_alive(run: Run) -> bool:
    """Does the process of a run of this machine still live? Another one may have got its number since."""
    began = started(run.process)
    return began is not None and began <= run.started + _ROUNDING


def check_lost(
    backlog: Backlog,
    source: Connection,
    destination: Connection,
    lost: t.Mapping[TopicPartition, int],
    on_lost_progress: OnLostProgress,
) -> None:
    """Raise Refused for logs that have grown, of which no progress tells by what, unless it is to be rebuilt, and can be."""
    _check_rebuilding(backlog, source, lost)  # first: what only the destination has is to be kept, whatever the option
    if not lost or on_lost_progress is OnLostProgress.REBUILD:
        return
    partition = min(lost)
    begin = next(each.begin for each in backlog.ranges if each.destination == partition)
    more = f" ({counted(len(lost) - 1, 'more partition')})" if len(lost) > 1 else ""
    raise ProgressLost(
        f"the progress of the copy is gone, and the log has grown from {begin} to {lost[partition]} since it was planned{more}",
        cluster=str(destination),
        group=all_groups(backlog)[0],
        why="a progress group was deleted or reset, or its commits have expired (offsets.retention.minutes): going on would "
        "copy records a second time, or place groups after records that they have not consumed",
        remedy=f"set {option_name('on_lost_progress')} to rebuild, which compares the copied records with the source "
        f"and goes on after the last one; or {begin_anew()}",
        **partition._asdict(),
    )


def _check_rebuilding(backlog: Backlog, source: Connection, lost: t.Collection[TopicPartition]) -> None:
    """Raise Refused where the source no longer has the first records of a lost range: nothing tells which were copied."""
    ranges = [each for each in backlog.ranges if each.destination in lost]
    bounds = positions.partition_bounds(source, [each.source for each in ranges]) if ranges else {}
    for backlog_range in ranges:
        log_start = bounds[backlog_range.source].log_start
        if log_start > backlog_range.start:
            raise ProgressLost(
                f"the progress of the copy cannot be rebuilt: the log starts at {log_start} now, and the copy has started at "
                f"{backlog_range.start}",
                cluster=str(source),
                why="the records between have expired, and what was copied of them cannot be compared any more",
                remedy=f"keep what is in {backlog_range.destination} at the destination, because the source does not have it "
                f"any more: let consumers read it from offset {backlog_range.begin} on, and copy what is left to another topic "
                f"({option_name('topic_map')}) from another directory",
                **backlog_range.source._asdict(),
            )


def changed_since_rebuilt(
    destination: Connection, lost: t.Mapping[TopicPartition, int], compared: t.Collection[TopicPartition]
) -> Refused:
    """The error for what is lost although what was copied has just been compared with the source.

    lost: where the logs end that have grown meanwhile, or whose progress has gone. compared: the partitions that were.
    """
    partition = min(lost)
    more = f" ({counted(len(lost) - 1, 'more partition')})" if len(lost) > 1 else ""
    if partition in compared:
        what, first = f"the log has grown to {lost[partition]}", "stop whoever writes there, and "
        why = "somebody else writes to the topic, or a transaction has ended there; nothing tells which records are copies"
    else:
        what, first = "the progress of the copy has gone, too,", ""
        why = "somebody deletes or resets a progress group, or its commits expire (offsets.retention.minutes)"
    return ProgressLost(
        f"{what} while what was copied was compared with the source{more}",
        cluster=str(destination),
        why=why,
        remedy=f"{first}run again: what is there is compared once more before anything is written",
        **partition._asdict(),
    )


def _named(backlog: Backlog, destination: Connection) -> Commits:
    """What the first progress group holds, which names the runs."""
    name = all_groups(backlog)[0]
    return groups.read_groups(destination, [name], stable=False)[name].offsets


def _is_still_claimed(destination: Connection, group: str, run: Run) -> bool:
    """Does the first progress group name this run only? Another one may have claimed partitions since."""
    named = map(run_of, groups.read_groups(destination, [group])[group].offsets.values())
    return all(named_run is not None and named_run.id == run.id for named_run in named)


def _judged(
    backlog: Backlog,
    destination: Connection,
    kept: KnownProgress,
    bounds: t.Mapping[TopicPartition, Bounds],
    fresh: bool,
    append: bool,
) -> tuple[tuple[BacklogRange, ...], dict[TopicPartition, int]]:
    """The ranges with the begins that hold, and those whose logs have grown without progress, with their ends."""
    lost: dict[TopicPartition, int] = {}
    ranges = {each.destination: each for each in backlog.ranges}
    for partition, log in bounds.items():
        planned, progress = ranges[partition], kept[partition]
        if progress is not None:
            _check_end(destination, backlog, planned, progress)
            preconditions.check_log(destination, planned, progress.next, log, planned.begin)
        elif log.high_watermark > planned.begin and fresh:
            if log.log_start < log.high_watermark and not append:
                raise TopicNotEmpty(
                    f"the topic was empty when the copy was planned, and has offsets {log.log_start} to {log.high_watermark}",
                    cluster=str(destination),
                    why="somebody else writes to it, and every group would skip these records",
                    remedy="stop whoever writes there, and keep these records if nobody else has them: give the copy up "
                    f"({option_name('state: absent')}), and copy to another topic ({option_name('topic_map')}). Only if nobody "
                    "needs them, empty the topic, and run again",
                    **partition._asdict(),
                )
            ranges[partition] = dataclasses.replace(planned, begin=log.end)
        elif log.high_watermark > planned.begin:
            lost[partition] = log.high_watermark
    return tuple(ranges.values()), lost


def _check_end(destination: Connection, backlog: Backlog, backlog_range: BacklogRange, progress: Progress) -> None:
    if progress.end and progress.end != backlog_range.end:
        raise CopyElsewhere(
            f"another directory's run has planned this copy up to source offset {progress.end}, "
            f"and this one up to {backlog_range.end}: {progress.run}",
            cluster=str(destination),
            group=all_groups(backlog)[0],
            remedy="go on in that directory, or with its copy.json",
            **backlog_range.destination._asdict(),
        )
