# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Waves: which groups each of them selects, and which groups are in none, in several, or no longer there. Pure."""

from __future__ import annotations

import collections
import typing as t

from .errors import InvalidInput
from .faults import all_of, raise_any
from .grouping import values_by_key
from .notes import Note
from .option_names import option_name
from .selection import Selection
from .visible_text import visible_name
from .wording import counted, first_names, first_of

_OPEN = "open"  # what no migration knows


class Wave(t.NamedTuple):
    """name: of its file of variables. selection: of groups. directory: of its migration; None where nobody has named it."""

    name: str
    selection: Selection
    directory: str | None = None


class WaveGroups(t.NamedTuple):
    """groups: of each wave, those that exist, by name. gone: of each wave, those that it names and that do not.

    in_none: the groups that no wave selects. waves_of: the waves of each group that any selects, by name.
    """

    groups: dict[str, list[str]]
    gone: dict[str, list[str]]
    in_none: list[str]
    waves_of: dict[str, list[str]]

    @property
    def in_several(self) -> dict[str, list[str]]:
        """The waves of each group that more than one selects."""
        return {name: wave_names for name, wave_names in self.waves_of.items() if len(wave_names) > 1}


def waves_from(rows: t.Iterable[t.Mapping[str, t.Any]]) -> list[Wave]:
    """The waves that the option describes.

    Raises InvalidInput for a wave without groups, for one that names a group twice, and for two of one name.
    """
    made = all_of(_wave, rows)
    counts = collections.Counter(wave.name for wave in made)
    twice = [name for name, count in counts.items() if count > 1]
    raise_any(_refused(name, "is there twice", "give each file of a wave another name") for name in twice)
    return made


def _wave(row: t.Mapping[str, t.Any]) -> Wave:
    name, excluded = row["name"], row.get("exclude_group_patterns")
    selection = Selection(
        groups=tuple(row.get("groups") or ()),
        group_patterns=tuple(row.get("group_patterns") or ()),
        exclude_group_patterns=None if excluded is None else tuple(excluded),
    )
    if not selection.groups and not selection.group_patterns:
        raise _refused(name, "selects no group", "name groups or patterns in its file, or leave the file out")
    try:
        selection.check_words()
    except InvalidInput as exc:
        what = f"{option_name('waves')}: the wave {name}: {exc.what}"
        raise InvalidInput(what, why=exc.why, remedy=exc.remedy) from exc
    return Wave(name, selection, row.get("directory"))


def _refused(name: str, what: str, remedy: str) -> InvalidInput:
    return InvalidInput(f"{option_name('waves')}: the wave {name} {what}", remedy=remedy)


def sort_groups(waves: t.Sequence[Wave], existing: t.Collection[str]) -> WaveGroups:
    """Which of the existing groups each wave selects. Groups that every selection leaves out by default are in no list."""
    known = frozenset(existing)
    selected = {wave.name: wave.selection.select_groups(known).names for wave in waves}
    groups = {wave: [name for name in names if name in known] for wave, names in selected.items()}
    gone = {wave: [name for name in names if name not in known] for wave, names in selected.items()}
    waves_of = values_by_key((name, wave) for wave, names in groups.items() for name in names)
    wanted = Selection(group_patterns=(".*",)).select_groups(known).names
    return WaveGroups(
        groups,
        gone,
        [name for name in wanted if name not in waves_of] if waves else [],
        dict(sorted(waves_of.items())),
    )


def unused_patterns(waves: t.Iterable[Wave], existing: t.Collection[str], place: str) -> list[Note]:
    """A note for each wave with patterns that match none of these groups. place: as for Selection.unused()."""
    return [
        note._replace(text=f"wave {wave.name}: {note.text}")
        for wave in waves
        for note in wave.selection.unused("groups", existing, place)
    ]


def wave_results(wave_groups: WaveGroups, states: t.Mapping[str, str] | None = None) -> dict[str, t.Any]:
    """The waves as a module returns them. states: of groups at the source, None where nobody has looked."""
    rows: list[dict[str, t.Any]] = [
        {"wave": wave, "groups": names, "gone": wave_groups.gone[wave]} for wave, names in wave_groups.groups.items()
    ]
    if states is not None:
        for row in rows:
            counts = collections.Counter(states.get(name, _OPEN) for name in row["groups"])
            row["states"] = dict(sorted(counts.items()))
    return {"waves": rows, "in_no_wave": wave_groups.in_none, "in_several_waves": wave_groups.in_several}


def wave_lines(wave_groups: WaveGroups, states: t.Mapping[str, str] | None = None) -> list[str]:
    """A line for each wave, with how far it is where states are given, and what is wrong with them together."""
    lines = []
    for row in wave_results(wave_groups, states)["waves"]:
        far = ", ".join(f"{number:,} {state}" for state, number in row.get("states", {}).items())
        lines.append(f"wave {row['wave']}: {counted(len(row['groups']), 'group')}{f': {far}' if far else ''}")
        if row["gone"]:
            lines.append(f"wave {row['wave']} names groups that do not exist: {first_names(row['gone'])}")
    several = [f"{visible_name(name)} ({', '.join(wave_names)})" for name, wave_names in wave_groups.in_several.items()]
    if several:
        lines.append(f"in several waves: {first_of(several)}")
    if wave_groups.in_none:
        lines.append(f"in no wave: {first_names(wave_groups.in_none)}")
    return lines
