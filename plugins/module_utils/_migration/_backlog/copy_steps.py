# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: carry out the plan of a backlog's copy, from wherever it stands, and tell how far it is."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._control import commits, positions
from ..._model.backlog import Backlog, BacklogRange, BacklogTopic
from ..._model.connection import Connection
from ..._model.copy_progress import Progress, Run, all_groups, transactional_number
from ..._model.errors import BrokerError, MigrationError
from ..._model.failure_kinds import FailureKind
from ..._model.notes import Note, NoteKind
from ..._model.policies import OnLostProgress
from ..._model.progress import Say, counted
from ..._model.records import TopicPartition
from ..._records.claiming import Lost
from ..._records.jobs import Job
from ..._spark.copy_job import copy
from ..._spark.rebuild_job import rebuild
from ..._spark.scan_job import parallel_tasks
from ..._spark.session import open_session
from . import destination_topics, expiry, identity, others, takeover
from .copy_state import read_progress, telling_progress
from .planning import CopyOptions

Save = t.Callable[[Backlog], None]


def carry_out(
    backlog: Backlog,
    source: Connection,
    destination: Connection,
    options: CopyOptions,
    save: Save,
    say: Say,
    fresh: bool,
    size: int,
) -> tuple[Backlog, list[Note]]:
    """Copy what is not copied yet. -> the same with what became of every range, and notes.

    save: writes the copy file, which holds the plan already. fresh: this run has made the plan. size: about how many bytes
    there are to copy, as far as that is known. May be killed at any moment, and called again then, with fresh=False. Raises
    Locked where another run takes the copy over.
    """

    def with_topics(topics: tuple[BacklogTopic, ...]) -> Backlog:
        return dataclasses.replace(backlog, topics=topics)

    say("making topics and holding their retention back")
    prepared = destination_topics.prepare(destination, backlog.topics, lambda noted: save(with_topics(noted)))
    backlog = with_topics(identity.with_ids(prepared.topics, source, destination))
    save(backlog)
    left = sum(each.end - each.start for each in backlog.ranges)
    notes: list[Note] = []
    if left:
        run = takeover.new_run()
        taken = takeover.take_over(backlog, destination, run, fresh, prepared.made)
        lost = taken.ends if isinstance(taken, Lost) else {}
        if lost and options.on_lost_progress == OnLostProgress.FAIL:
            raise takeover.lost_progress(backlog, destination, lost)
        if not isinstance(taken, Lost) and taken != backlog:
            backlog = taken
            save(backlog)
        retention, notes = expiry.seconds_kept(destination, size, options.bytes_per_second, say)
        say(f"copying at most {counted(left, 'record')} on Spark, which is starting")
        with open_session(options.spark) as spark:
            if lost:
                say(
                    f"comparing what is there with the source: the progress of {counted(len(lost), 'partition')} is gone"
                )
                rebuilt = rebuild(spark, source, destination, _lost_ranges(backlog, lost))
                takeover.take_over(backlog, destination, run, fresh=False, rebuilt=rebuilt)
            jobs = _jobs(backlog, source, prepared.largest, options, run, retention, parallel_tasks(spark))
            try:
                with telling_progress(backlog, destination, say), expiry.renewed(backlog, destination, retention, run):
                    copy(spark, source, destination, jobs)
            except MigrationError:
                # A topic that is made anew takes the copy's progress with it, and what brokers then say names no cause.
                identity.check_topics(backlog, source, destination)
                raise
    done = _finished(backlog, source, destination)
    save(done)
    return done, notes


def remove_progress(backlog: Backlog, destination: Connection) -> list[Note]:
    """Remove the progress groups of a copy, when every group is past what was copied. -> what could not be removed.

    Not before: a run that finds none, and records at the destination, cannot go on.
    """
    failed = commits.delete_groups(destination, all_groups(backlog))
    return [Note(NoteKind.PROGRESS_STAYS, f"{group}: {why}") for group, why in sorted(failed.items())]


def restore_topics(
    backlog: Backlog, destination: Connection, names: t.Collection[str], predict: bool
) -> tuple[Backlog, list[Note]]:
    """Restore what was suspended of these topics. predict: only tell what would be. -> also what is left as it is, and why."""
    held = [topic for topic in backlog.topics if topic.name in names and topic.suspended and not topic.restored]
    shared = others.other_copies(backlog, destination) if held else {}
    notes = [
        Note(
            NoteKind.SETTINGS_SUSPENDED,
            f"The topic {topic.name} keeps its suspended settings, because another copy, whose progress is in "
            f"{shared[topic.name]}, has written to it. Run this copy again when that copy's groups have consumed its records "
            "and it has been run again.",
        )
        for topic in held
        if topic.name in shared
    ]
    held = [topic for topic in held if topic.name not in shared]
    if not predict:
        destination_topics.give_back(destination, destination_topics.changes_back(destination, held))
    return _marked(backlog, held, restored=True), notes


def hold_again(backlog: Backlog, destination: Connection, names: t.Collection[str], save: Save | None) -> Backlog:
    """Hold back again what was restored of these topics. save: as of carry_out(); None only tells what would be."""
    restored = [topic for topic in backlog.topics if topic.name in names and topic.restored]
    if not restored:
        return backlog
    noted = {topic.name: topic for topic in destination_topics.noted_again(destination, restored)}
    backlog = dataclasses.replace(backlog, topics=tuple(noted.get(topic.name, topic) for topic in backlog.topics))
    marked = _marked(backlog, noted.values(), restored=False)
    if save is not None:
        save(backlog)
        destination_topics.suspend_settings(destination, noted.values())
        save(marked)
    return marked


def _marked(backlog: Backlog, topics: t.Collection[BacklogTopic], restored: bool) -> Backlog:
    its = (dataclasses.replace(each, restored=restored) if each in topics else each for each in backlog.topics)
    return dataclasses.replace(backlog, topics=tuple(its))


def _lost_ranges(backlog: Backlog, lost: t.Mapping[TopicPartition, int]) -> list[tuple[BacklogRange, int]]:
    return [(each, lost[each.destination]) for each in backlog.ranges if each.destination in lost]


def _jobs(
    backlog: Backlog,
    source: Connection,
    largest: t.Mapping[str, int],
    options: CopyOptions,
    run: Run,
    retention: float,
    parallel: int,
) -> list[Job]:
    """One for each transactional id. parallel: how many tasks run at a time."""
    bounds = positions.partition_bounds(source, [each.source for each in backlog.ranges])
    numbered: dict[int, list[BacklogRange]] = {}
    for each in backlog.ranges:
        if each.copies:
            numbered.setdefault(transactional_number(each.destination), []).append(each)
    limit = options.bytes_per_second
    return [
        Job(
            backlog.name,
            number,
            tuple(ranges),
            run,
            tuple(all_groups(backlog)),
            {each.source: bounds[each.source].log_start for each in ranges},
            {each.destination.topic: largest[each.destination.topic] for each in ranges},
            retention * expiry.RENEWED,
            limit and limit / min(len(numbered), parallel),
        )
        for number, ranges in sorted(numbered.items())
    ]


def _finished(backlog: Backlog, source: Connection, destination: Connection) -> Backlog:
    """The backlog with what became of every range, where all of it is still there."""
    identity.check_topics(backlog, source, destination)
    progress = read_progress(backlog, destination, stable=True)
    ranges = []
    for each in backlog.ranges:
        its = progress[each.source] if each.copies else Progress(each.end)
        if its is None or its.position < each.end:
            raise BrokerError(
                "the progress of the copy is gone"
                if its is None
                else f"the copy has ended at source offset {its.position} of {each.end}",
                cluster=str(destination),
                why="somebody has removed or changed the progress group",
                remedy="run again: what is there is compared with what is known before anything is written",
                **each.destination._asdict(),
                kind=FailureKind.PROGRESS_LOST,
            )
        ranges.append(dataclasses.replace(each, done=its.done()))
    done = dataclasses.replace(backlog, ranges=tuple(ranges))
    identity.check_done(done, destination)
    return done
