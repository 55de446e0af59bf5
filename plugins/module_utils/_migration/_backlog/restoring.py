# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: a copy that is done gives the topics their settings back, whatever has become of its source."""

from __future__ import annotations

from ..._control import topics
from ..._model.connection import Connection
from ..._model.notes import Note, NoteKind
from . import copy_steps, identity
from .copy_backlog import CopyOutcome, Earlier
from .copy_steps import Save
from .entries import RangeSummary


def is_enough(earlier: Earlier) -> bool:
    """Is everything copied and planned, so that the source has nothing more to tell?"""
    return earlier.backlog is not None and earlier.backlog.is_done and earlier.plan is not None


def restore(earlier: Earlier, destination: Connection, save: Save | None) -> CopyOutcome:
    """Give back what is still suspended; is_enough() holds. Asks nobody but the destination. save: as of copy_backlog().

    A topic that is gone, that was made anew, or that another copy has written to is left alone and named. What is planned for a
    topic that no longer holds what was copied is left out of the entries.
    """
    backlog, plan = earlier.backlog, earlier.plan
    if backlog is None or plan is None:
        raise ValueError("not everything is copied and planned")
    identity.check_plan(backlog, plan, destination)
    identity.check_copy_cluster(backlog, destination)
    ids = topics.topic_ids(destination, [topic.name for topic in backlog.topics])
    ours = {topic.name for topic in backlog.topics if identity.is_same(topic, ids)}
    restored, kept = copy_steps.restore_topics(backlog, destination, ours, predict=save is None)
    if save is not None and restored != backlog:
        save(restored)
    others = {topic.name for topic in backlog.topics} - ours
    truncated = identity.truncated(backlog, destination, ours)
    return CopyOutcome(
        backlog,
        restored,
        [RangeSummary(each, (), 0, 0, None, None) for each in backlog.ranges],
        [entry for entry in plan.entries if entry.partition.topic not in others | truncated.keys()],
        plan,
        restored != backlog,
        [
            *kept,
            *(
                Note(
                    NoteKind.TOPIC_RECREATED,
                    f"The topic {name} is gone, or was deleted and created again: its settings are left alone, and its "
                    "planned offsets are worth nothing.",
                )
                for name in sorted(others)
            ),
            *(
                Note(NoteKind.TOPIC_RECREATED, f"The planned offsets of this topic are worth nothing: {why}")
                for _name, why in sorted(truncated.items())
            ),
        ],
    )
