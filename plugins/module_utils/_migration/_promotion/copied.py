# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which settings of a topic must stay as they are, because groups have yet to consume what a backlog copy has written to it."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._control.configs import topic_defaults
from ..._model.backlog import SUSPENDED
from ..._model.connection import Connection
from ..._model.copy_progress import is_first_group
from ..._model.notes import Note, NoteKind
from ..._model.topic_plan import SettingChange, TopicChange
from ..._model.wording import are
from . import survey
from .survey import TopicState

_RETENTION = "retention.ms"


class Needed(t.NamedTuple):
    """The settings of a topic that a copy needs as they are. group: the copy's progress group."""

    settings: tuple[str, ...]
    group: str

    @property
    def why(self) -> str:
        """The reason, to follow the names of the settings."""
        return f"the backlog copy whose progress is in {self.group} needs that until its groups have consumed"


def needed_by_copies(
    destination: Connection, changes: t.Iterable[TopicChange], states: t.Mapping[str, TopicState]
) -> dict[str, Needed]:
    """By topic the settings among these changes that a copy needs: with others, brokers may delete or compact the records.

    Whether a copy has suspended them or found them so does not matter. Its progress is there until all its groups have
    consumed, also if it has given the settings back before that; a user who may not describe its groups does not see it.
    """
    undone: dict[str, dict[str, SettingChange]] = {}
    for change in changes:
        settings = {} if change.before is None else change.settings
        if undoing := {name: each for name, each in settings.items() if _undoes(name, each, states[change.topic])}:
            undone[change.topic] = undoing
    # Open transactions hide no progress, because a run has committed its claim of every partition before it copies. But a group
    # that is not listed while its coordinator moves would let brokers delete what was copied.
    progress = survey.readers_of(destination, undone, is_first_group, stable=False)
    undone = {topic: settings for topic, settings in undone.items() if progress[topic]}
    resets = {topic for topic, settings in undone.items() if any(each.after is None for each in settings.values())}
    defaults = topic_defaults(destination, resets, SUSPENDED)
    needed = {
        topic: tuple(
            name
            for name, each in settings.items()
            if each.after is not None or defaults[topic].get(name) != SUSPENDED[name]
        )
        for topic, settings in undone.items()
    }
    return {topic: Needed(names, progress[topic][0]) for topic, names in needed.items() if names}


def without_needed(
    changes: t.Iterable[TopicChange], needed: t.Mapping[str, Needed]
) -> tuple[list[TopicChange], list[Note]]:
    """The changes but for the settings that copies need, and a note of each such topic."""
    left = []
    for change in changes:
        stay = needed[change.topic].settings if change.topic in needed else ()
        settings = {name: each for name, each in change.settings.items() if name not in stay}
        left.append(dataclasses.replace(change, settings=settings))
    lines = [
        f"{topic}: {', '.join(each.settings)} {are(len(each.settings))} left alone, because {each.why}. If it needs nothing "
        "any more, give it up (backlog_migration_phase: remove)."
        for topic, each in needed.items()
    ]
    return left, [Note(NoteKind.SETTING_LEFT_ALONE, line) for line in sorted(lines)]


def _undoes(name: str, change: SettingChange, state: TopicState) -> bool:
    """Not where the topic loses records by their age: a copy has given its settings back, or somebody has set the retention.

    The next run of a copy that still needs it suspends it again, and says so.
    """
    now, suspended = state.configs.effective, SUSPENDED.get(name)
    is_suspended = suspended is not None and now.get(_RETENTION) == SUSPENDED[_RETENTION]
    return is_suspended and now.get(name) == suspended != change.after
