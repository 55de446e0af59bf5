# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: a copy that is given up leaves nothing: no progress, no changed settings and, on request, no topics."""

from __future__ import annotations

import functools
import typing as t

from ..._control import commits, deletion, topics
from ..._control.configs import alter_topic_configs
from ..._model.backlog import Backlog, BacklogTopic
from ..._model.connection import Connection
from ..._model.copy_progress import Run, all_groups, transactional_id, transactional_ids, transactional_number
from ..._model.errors import BrokerError, Locked, TopicRecreated
from ..._model.notes import Note, NoteKind
from ..._model.option_names import option_name
from ..._model.plan import Plan
from ..._model.progress import Say
from ..._model.records import TopicPartition
from ..._model.wording import counted
from ..._records.claiming import Claimed, KnownProgress, claim, fence
from . import others, preconditions, suspended_settings, takeover
from .copy_state import existing_groups, read_progress
from .entries import committed_within


class Removal(t.NamedTuple):
    """What was, or in check mode would be, removed. groups: those of the copy's progress that were there.

    settings: topics that get settings back. topics: those that are deleted. notes: what is left alone, and why.
    """

    groups: tuple[str, ...]
    settings: tuple[str, ...]
    topics: tuple[str, ...]
    notes: list[Note]


def remove_copy(
    backlog: Backlog,
    plan: Plan | None,
    destination: Connection,
    remove_topics: bool,
    wait: float,
    predict: bool,
    say: Say,
) -> Removal:
    """Clear what a copy has left at the destination. May be killed at any moment, and called again then.

    plan: of a copy that is done. wait: see takeover.check_idle(). predict: only tell. Asks nobody but the destination.
    Raises, before anything is removed, NotAuthorized for missing ACLs, Locked where a run is under way or begins meanwhile,
    and Refused for topics of which somebody else needs, or has written, something. What is fenced by then stays fenced.
    """
    preconditions.check_copy_cluster(backlog, destination)
    if plan is not None:
        preconditions.check_plan(backlog, plan, destination)
    ours, notes = _still_ours(backlog, destination)
    made, stay = _made(ours) if remove_topics else ([], [])
    notes += stay
    staying = [topic for topic in ours if topic not in made]
    names, deleted = all_groups(backlog), [topic.name for topic in made]
    preconditions.require_acls(
        destination,
        reads_groups=names,
        deletes_groups=names,
        commits_groups=names if made else (),
        transactional_ids=transactional_ids(backlog),
        alters_topics=[topic.name for topic in staying if topic.suspended],
        deletes_topics=deleted,
    )
    takeover.check_idle(backlog, destination, wait)
    _check_consumers(backlog, plan, destination, staying)
    others.check_groups(backlog, deleted, destination)
    claimed = {} if predict else _claimed(backlog, deleted, destination)
    if deleted:
        say(f"looking whether others have written to {counted(len(deleted), 'topic')}")
        others.check_records(backlog, deleted, destination, fenced=not predict)
        # What was right before may have taken hours to read.
        if _still_ours(backlog, destination)[0] != ours:
            raise TopicRecreated(
                "topics were deleted or created while records were read", cluster=str(destination), remedy="run again"
            )
        _check_consumers(backlog, plan, destination, staying)
        notes += others.check_groups(backlog, deleted, destination)
    settings = suspended_settings.changes_back(destination, staying)
    left = existing_groups(backlog, destination)
    if not predict:
        if deleted:
            _check_claim(backlog, destination, claimed)
            fence(destination, transactional_ids(backlog))
            _check_claim(backlog, destination, claimed)  # of a run that has begun just before it was fenced
        alter_topic_configs(destination, settings)
        deletion.delete_topics(destination, {topic.name: topic.topic_id for topic in made if topic.topic_id})
        _delete_groups(destination, names)
    return Removal(left, tuple(sorted(settings)), tuple(sorted(deleted)), notes)


def _claimed(backlog: Backlog, deleted: t.Collection[str], destination: Connection) -> dict[TopicPartition, Run | None]:
    """End every run of the copy. -> what its progress names then, which changes when a run begins.

    deleted: topics whose records are read before they are deleted, for hours perhaps. Their progress, where there is any, names
    this process meanwhile, so that a run which was fenced can say by whom.
    """
    progress = read_progress(backlog, destination, stable=False)
    known = [each for each in backlog.ranges if each.destination.topic in deleted and progress.get(each.destination)]
    numbers = {transactional_number(each.destination) for each in known}
    fence(destination, sorted({*transactional_ids(backlog)} - {transactional_id(backlog.name, at) for at in numbers}))
    if known:
        names = all_groups(backlog)
        decide = functools.partial(_as_they_are, destination, names[0])
        claim(destination, backlog.name, names, known, takeover.new_run(), decide)
    return _named(backlog, destination)


def _as_they_are(destination: Connection, group: str, kept: KnownProgress) -> Claimed:
    progress = {partition: current for partition, current in kept.items() if current is not None}
    if len(progress) < len(kept):
        raise Locked(
            "somebody else removes the progress of the copy, too",
            cluster=str(destination),
            group=group,
            remedy="run again",
        )
    return Claimed(progress, False)


def _check_claim(backlog: Backlog, destination: Connection, claimed: dict[TopicPartition, Run | None]) -> None:
    """Raise Locked where a run of the copy has begun since it was claimed."""
    for partition, run in _named(backlog, destination).items():
        if run != claimed[partition]:
            raise takeover.run_going_on(backlog, destination, "has begun while records were read", run)


def _named(backlog: Backlog, destination: Connection) -> dict[TopicPartition, Run | None]:
    """The run that the progress of each range names, by destination partition."""
    progress = read_progress(backlog, destination, stable=True)
    return {partition: current.run if current else None for partition, current in progress.items()}


def _still_ours(backlog: Backlog, destination: Connection) -> tuple[list[BacklogTopic], list[Note]]:
    """The topics that are still those that the copy has written to, and a note of each of the others."""
    ids = topics.topic_ids(destination, [topic.name for topic in backlog.topics])
    ours, others_are = [], []
    for topic in backlog.topics:
        if topic.name not in ids:
            if topic.created is None or topic.topic_id is not None:  # else it was never made
                others_are.append(f"The topic {topic.name} does not exist any more.")
        elif not preconditions.is_same(topic, ids):
            others_are.append(f"The topic {topic.name} was deleted and created again, and is left alone.")
        else:
            ours.append(topic)
    others_made = preconditions.not_made(destination, ours, ids)
    others_are += [f"The topic {name} was created by somebody else, and is left alone." for name in others_made]
    notes = [Note(NoteKind.TOPIC_RECREATED, line) for line in others_are]
    return [topic for topic in ours if topic.name not in others_made], notes


def _made(ours: t.Iterable[BacklogTopic]) -> tuple[list[BacklogTopic], list[Note]]:
    """The topics that the copy has made, and a note of each where that is not sure."""
    planned = [topic for topic in ours if topic.created is not None]
    notes = [
        Note(
            NoteKind.TOPIC_STAYS,
            f"The topic {topic.name} stays, because nobody knows whether the copy has created it: a run was killed meanwhile, "
            "or Kafka is older than 2.8. If nobody needs its records, delete it yourself.",
        )
        for topic in planned
        if topic.topic_id is None
    ]
    return [topic for topic in planned if topic.topic_id is not None], notes


def _check_consumers(
    backlog: Backlog, plan: Plan | None, destination: Connection, staying: t.Iterable[BacklogTopic]
) -> None:
    """Raise Refused where a group still consumes what was copied: the settings that come back may delete it."""
    suspended = suspended_settings.changes_back(destination, staying)
    if not suspended:
        return
    shared = others.other_copies(backlog, destination)
    for name in sorted(suspended.keys() & shared.keys()):
        what = "another copy has written to the topic, and its groups may have yet to consume"
        remedy = "run that copy again when its groups have consumed, or give it up first"
        raise others.needs_settings(destination, what, remedy, group=shared[name], topic=name)
    if plan is None or not backlog.is_done:  # the copy may have been finished from another directory
        others.check_waiting(backlog, suspended, destination)
        return
    for entry, committed in committed_within(backlog, plan.entries, destination):
        if entry.partition.topic in suspended:
            first = f"or set {option_name('restore_retention')} first, which gives the settings back"
            raise others.has_to_consume(destination, entry.group, entry.partition, committed, first)


def _delete_groups(destination: Connection, names: t.Sequence[str]) -> None:
    failed = commits.delete_groups(destination, names)
    if failed:
        group = min(failed)
        raise BrokerError(
            "the group that holds the copy's progress cannot be deleted",
            cluster=str(destination),
            group=group,
            why=failed[group],
            remedy="remove the cause, and run again",
        )
