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
from .._model.wording import MANY_NAMED
from .drafts import Draft


def unknown_rules(drafts: t.Collection[Draft], mapping: Mapping, source: Connection) -> list[Note]:
    """A note for each of these entries.

    A map may be shared by several waves: what fits none of the drafts is looked for among all groups and topics that the user
    may describe at the source.
    """
    of_groups = "group", mapping.group_rules, {draft.source_group for draft in drafts}
    of_topics = "topic", mapping.topic_rules, {draft.source_partition.topic for draft in drafts}
    notes: list[Note] = []
    for kind, rules, selected in (of_groups, of_topics):
        unused = _unused(rules, selected)
        if unused:
            if kind == "topic":
                listed = topics.list_topics(source)
            else:
                listed = [listing.group for listing in groups.list_groups(source, surely=False)]
            unused = _unused(rules, {*selected, *listed})
        names = sorted(selected)
        for at, (number, rule) in enumerate(unused):
            # Each is compared with all names: of a map that lists what was there once, the first ones are enough.
            known = names if at < MANY_NAMED else ()
            near = difflib.get_close_matches(rule.name or rule.pattern or "", known, 1, 0.75)
            meant = f": did you mean {near[0]}?" if near else "."
            text = (
                f"{option_name(f'{kind}_map')}, entry {number} ({rule}) fits no {kind} that this user may describe at the "
                f"source{meant} A {kind} that no entry fits keeps its name."
            )
            notes.append(Note(NoteKind.RULE_UNUSED, text))
    return notes


def _unused(rules: t.Iterable[Rule], names: t.Collection[str]) -> list[tuple[int, Rule]]:
    """The rules that fit none of these names, whatever topics a rule for groups is limited to, and their numbers."""
    return [
        (number, rule)
        for number, rule in enumerate(rules, 1)
        if not (rule.name in names if rule.name is not None else any(rule.fits(name) for name in names))
    ]
