# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The steps of a run that copies. copy_backlog() puts them in order."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import typing as t

from ..._control import positions, topics
from ..._model.backlog import Backlog, BacklogRange
from ..._model.connection import Connection
from ..._model.copy_progress import Progress, Run, all_groups, transactional_number
from ..._model.errors import MigrationError, ProgressLost
from ..._model.grouping import values_by_key
from ..._model.notes import Note
from ..._model.progress import Say
from ..._model.records import every_partition
from ..._model.wording import counted
from ..._records.claiming import Lost
from ..._records.jobs import Job
from ..._spark.copy_job import check_speculation, copy, rebuild
from ..._spark.scan_job import parallel_tasks
from ..._spark.session import open_session
from . import copy_state, destination_topics, planning, preconditions, takeover
from .destination_topics import Prepared
from .planning import CopyOptions
from .suspended_settings import Save

if t.TYPE_CHECKING:
    from ..._spark.spark_library import SparkSession


@dataclasses.dataclass(frozen=True, slots=True)
class CopyRun:
    """One run of a copy, and what each of its steps needs. May be killed at any moment; the next run goes on from there.

    save: writes the copy file.
    """

    source: Connection
    destination: Connection
    options: CopyOptions
    save: Save
    say: Say
    run: Run = dataclasses.field(default_factory=takeover.new_run)

    @contextlib.contextmanager
    def spark(self, backlog: Backlog) -> t.Iterator[SparkSession | None]:
        """A session that can copy; None where nothing is to be copied. Raises as open_session() and check_speculation()."""
        if not any(each.copies for each in backlog.ranges):
            yield None
            return
        self.say("Spark is starting")
        with open_session(self.options.spark) as spark:
            check_speculation(spark)
            yield spark

    def make_topics(self, backlog: Backlog) -> tuple[Backlog, Prepared]:
        """Make the topics that are missing, and suspend settings. What was made and what stood there is saved before."""
        self.say("creating topics and suspending their retention")
        prepared = destination_topics.prepare(self.source, self.destination, backlog, self.save)
        backlog = backlog.with_topics(preconditions.with_ids(prepared.topics, self.source, self.destination))
        self.save(backlog)
        return backlog, prepared

    def claim(self, spark: SparkSession, backlog: Backlog, made: t.Collection[str]) -> Backlog:
        """Claim the copy, so that every other run of it ends. made: topics that this run has just made.

        Where progress is lost, find out before, on Spark, how far the copy is. -> the copy with the begins that hold. Raises
        Refused where logs or other copies stand against it, or what is lost is not to be rebuilt.
        """
        append, save = self.options.append, self.save
        take_over = functools.partial(takeover.take_over, backlog, self.destination, self.run, append=append, save=save)
        taken = take_over(made)
        if isinstance(taken, Lost):
            lost = taken.ends
            takeover.check_lost(backlog, self.source, self.destination, lost, self.options.on_lost_progress)
            partitions = counted(len(lost), "partition")
            self.say(f"comparing what is there with the source: the progress of {partitions} is gone")
            ranges = [(each, lost[each.destination]) for each in backlog.ranges if each.destination in lost]
            taken = take_over(rebuilt=rebuild(spark, self.source, self.destination, ranges))
            if isinstance(taken, Lost):
                raise takeover.changed_since_rebuilt(self.destination, taken.ends, lost)
        return taken

    def copy_records(self, spark: SparkSession, backlog: Backlog, prepared: Prepared, size: int) -> list[Note]:
        """Copy on Spark what is not copied yet. Raises Locked where another run takes the copy over.

        size: about how many bytes there are to copy, as far as that is known.
        """
        kept, notes = copy_state.seconds_kept(self.destination, size, self.options.max_bytes_per_second, self.say)
        left = sum(each.end - each.start for each in backlog.ranges)
        self.say(f"copying at most {counted(left, 'record')}")
        jobs = self._jobs(backlog, prepared, kept * copy_state.RENEWED, parallel_tasks(spark))
        try:
            with (
                copy_state.telling_progress(backlog, self.destination, self.say),
                copy_state.renewed(backlog, self.destination, kept, self.run),
            ):
                copy(spark, self.source, self.destination, jobs)
        except MigrationError:
            # A topic that is made anew takes the copy's progress with it, and what brokers then say names no cause.
            preconditions.check_topics(backlog, self.source, self.destination)
            raise
        return notes

    def finished(self, backlog: Backlog) -> tuple[Backlog, list[Note]]:
        """The copy with what became of every range, where all of it is still there; it is saved. -> also what came too late.

        Raises Refused where producers have written at the source meanwhile, unless they may: then nothing is called copied.
        """
        preconditions.check_topics(backlog, self.source, self.destination)
        progress = copy_state.read_progress(backlog, self.destination, stable=True)
        ranges = tuple(
            self._done(each, progress[each.destination] if each.copies else Progress(each.end))
            for each in backlog.ranges
        )
        done = dataclasses.replace(backlog, ranges=ranges)
        preconditions.check_done(done, self.destination)
        counts = topics.partition_counts(self.source, {each.source.topic for each in backlog.ranges})
        bounds = positions.partition_bounds(self.source, every_partition(counts))
        grown = planning.growth(backlog, bounds, self.source, self.options.live)
        self.save(done)
        return done, grown

    def _jobs(self, backlog: Backlog, prepared: Prepared, renew_seconds: float, parallel: int) -> list[Job]:
        """One for each transactional id. parallel: how many tasks run at a time."""
        bounds = positions.partition_bounds(self.source, [each.source for each in backlog.ranges])
        numbered = values_by_key(
            (transactional_number(each.destination), each) for each in backlog.ranges if each.copies
        )
        limit = self.options.max_bytes_per_second
        return [
            Job(
                backlog.name,
                number,
                tuple(ranges),
                self.run,
                tuple(all_groups(backlog)),
                {each.source: bounds[each.source].log_start for each in ranges},
                {each.destination.topic: prepared.largest[each.destination.topic] for each in ranges},
                {each.destination.topic: prepared.segments[each.destination.topic] for each in ranges},
                renew_seconds,
                limit and limit / min(len(numbered), parallel),
            )
            for number, ranges in sorted(numbered.items())
        ]

    def _done(self, backlog_range: BacklogRange, progress: Progress | None) -> BacklogRange:
        if progress is None or progress.position < backlog_range.end:
            raise ProgressLost(
                "the progress of the copy is gone"
                if progress is None
                else f"the copy has ended at source offset {progress.position} of {backlog_range.end}",
                cluster=str(self.destination),
                why="somebody has removed or changed the progress group",
                remedy="run again: what is there is compared with what is known before anything is written",
                **backlog_range.destination._asdict(),
            )
        return dataclasses.replace(backlog_range, done=progress.done())
