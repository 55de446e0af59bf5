# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which settings of a topic must stay as they are, because groups have yet to consume what a backlog copy has written to it."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._model.backlog import SUSPENDED
from ..._model.connection import Connection
from ..._model.copy_progress import is_first_group
from ..._model.notes import Note, NoteKind
from ..._model.progress import are
from ..._model.topic_plan import SettingChange, TopicChange
from . import survey
from .survey import TopicState


class Needed(t.NamedTuple):
    """The settings of a topic that a copy needs as they are. group: the copy's progress group."""

    settings: tuple[str, ...]
    group: str

    @property
    def what(self) -> str:
        """The settings as a subject with its verb."""
        return f"{', '.join(self.settings)} {are(len(self.settings))}"

    @property
    def why(self) -> str:
        """The reason, to follow the names of the settings."""
        return f"the backlog copy whose progress is in {self.group} needs that until its groups have consumed"


def needed_by_copies(
    destination: Connection, changes: t.Iterable[TopicChange], states: t.Mapping[str, TopicState]
) -> dict[str, Needed]:
    """By topic the settings among these changes that a copy needs: with others, brokers may delete or compact the records.

    Whether a copy has suspended them or found them so does not matter. Its progress is there until all its groups have
    consumed; a user who may not describe its groups does not see it.
    """
    undone: dict[str, tuple[str, ...]] = {}
    for change in changes:
        names = () if change.before is None else change.settings
        if stay := tuple(name for name in names if _undoes(name, change.settings[name], states[change.topic])):
            undone[change.topic] = stay
    # Open transactions hide no progress, because a run has committed its claim of every partition before it copies. But a group
    # that is not listed while its coordinator moves would let brokers delete what was copied.
    progress = survey.readers_of(destination, undone, is_first_group, stable=False)
    return {topic: Needed(names, progress[topic][0]) for topic, names in undone.items() if progress[topic]}


def without_needed(
    changes: t.Iterable[TopicChange], needed: t.Mapping[str, Needed]
) -> tuple[list[TopicChange], list[Note]]:
    """The changes but for the settings that copies need, and a note of each such topic."""
    left = []
    for change in changes:
        stay = needed[change.topic].settings if change.topic in needed else ()
        settings = {name: each for name, each in change.settings.items() if name not in stay}
        left.append(dataclasses.replace(change, settings=settings))
    lines = [f"{topic}: {each.what} left alone, because {each.why}." for topic, each in needed.items()]
    return left, [Note(NoteKind.SETTING_LEFT_ALONE, line) for line in sorted(lines)]


def _undoes(name: str, change: SettingChange, state: TopicState) -> bool:
    suspended = SUSPENDED.get(name)
    return suspended is not None and state.configs.effective.get(name) == suspended != change.after
