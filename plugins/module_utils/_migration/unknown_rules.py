# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Entries of group_map and topic_map that fit nothing at the source: misspelt, so that something keeps its name."""

from __future__ import annotations

import difflib
import typing as t

from .._control import groups, topics
from .._model.connection import Connection
from .._model.mapping import Mapping, Rule
from .._model.notes import Note, NoteKind
from .._model.option_names import option_name
from .drafts import Draft


def unknown_rules(drafts: t.Collection[Draft], mapping: Mapping, source: Connection) -> list[Note]:
    """A note for each of these entries.

    A map may be shared by several waves: what fits none of the drafts is looked for among all groups and topics that the user
    may describe at the source.
    """
    selected_groups = {draft.source_group for draft in drafts}
    selected_topics = {draft.source_partition.topic for draft in drafts}
    notes: list[Note] = []
    if _unused(mapping.group_rules, selected_groups):
        known = selected_groups | {listing.group for listing in groups.list_groups(source, surely=False)}
        notes += _notes("group", _unused(mapping.group_rules, known), selected_groups)
    if _unused(mapping.topic_rules, selected_topics):
        known = selected_topics | set(topics.list_topics(source))
        notes += _notes("topic", _unused(mapping.topic_rules, known), selected_topics)
    return notes


def _unused(rules: t.Iterable[Rule], names: t.Collection[str]) -> list[tuple[int, Rule]]:
    """The rules that fit none of these names, whatever topics a rule for groups is limited to, and their numbers."""
    return [(number, rule) for number, rule in enumerate(rules, 1) if not any(rule.fits(name) for name in names)]


def _notes(kind: str, unused: t.Iterable[tuple[int, Rule]], selected: t.Collection[str]) -> list[Note]:
    notes = []
    option = option_name(f"{kind}_map")
    for number, rule in unused:
        near = difflib.get_close_matches(rule.name or rule.pattern or "", sorted(selected), 1, 0.75)
        meant = f": did you mean {near[0]}?" if near else "."
        text = (
            f"{option}, entry {number} ({rule}) fits no {kind} that this user may describe at the source{meant} "
            f"A {kind} that no entry fits keeps its name."
        )
        notes.append(Note(NoteKind.RULE_UNUSED, text))
    return notes
