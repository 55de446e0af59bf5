# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Whether a value is of the type that a specification wants, told in this collection's words.

Ansible's own check of a role prints the whole specification, takes a list for a text, and names Python's classes.
"""

from __future__ import annotations

import datetime
import difflib
import json
import math
import re
import typing as t

from ansible.module_utils.common.validation import (
    check_type_bool,
    check_type_dict,
    check_type_float,
    check_type_int,
    check_type_list,
)

from ..module_utils._model.addresses import HIDDEN
from ..module_utils._model.connection import may_be_shown
from ..module_utils._model.reset_rules import LARGEST_OFFSET
from ..module_utils._model.visible_text import shortened, visible_name

_WORD = re.compile(r"[A-Za-z_-]+")

Option = t.Mapping[str, t.Any]
Lines = t.Iterator[str]


def _finite(value: t.Any) -> float:
    """A number of seconds or so: text may also say nan or inf, which no module takes."""
    number = check_type_float(value)
    if not math.isfinite(number):
        raise ValueError
    return float(number)


# {type: (what takes such a value, what to give)}
_WANTED: dict[str, tuple[t.Callable[[t.Any], t.Any], str]] = {
    "bool": (check_type_bool, "Give true or false"),
    "dict": (check_type_dict, "Give a dictionary"),
    "float": (_finite, "Give a number"),
    "int": (check_type_int, "Give a whole number"),
    "list": (check_type_list, "Give a list of texts"),
}

# A list as YAML or JSON write it, and no pattern such as [Pp]ay.*[0-9], whose first bracket closes before the end.
_LIST = re.compile(r"""\s*\[(\s*["'{].*|([^][]|\[[^][]*\])*)\]\s*""", re.DOTALL)
_BROKEN = re.compile(r"""\s*\[\s*["'{]""")  # if it is no such list
# A pattern may be a single character class, too, such as [a-z].
_CLASS = re.compile(r"""\s*\[[^][,.*"'{]+\]\s*""")
_EMPTY = {"list": "list, such as []", "dict": "dictionary, such as {}"}


def did_you_mean(given: object, known: t.Iterable[str]) -> str:
    """A question with a blank before it, if one of these is much like what was given; else empty."""
    folded = {name.lower(): name for name in known}
    alike = difflib.get_close_matches(str(given).lower(), list(folded), n=1)
    return f" Did you mean {folded[alike[0]]}?" if alike else ""


def unknown_keys(place: str, keys: t.Iterable[object], known: t.Collection[str]) -> Lines:
    """A line for each key that no specification has. The last one lists those that there are."""
    lines = [
        f"{place} has the key {key}, which does not exist.{did_you_mean(key, known)}"
        for key in keys
        if key not in known
    ]
    yield from lines[:-1]
    yield from (f"{line} There are: {', '.join(known)}." for line in lines[-1:])


def of_no_value(option: Option, place: str) -> Lines:
    """A line where Ansible's own check takes null for nothing: for a list, and where there is a default, but for texts.

    The default of seconds and of a choice may be another one in each phase, and then no specification has it.
    """
    kind, choices = option.get("type", "str"), " or ".join(map(str, option.get("choices", ())))
    give = f"Give {choices}" if choices and kind == "str" else _WANTED[kind][1] if kind in _WANTED else ""
    if kind in _EMPTY:
        give = f"Give a {_EMPTY[kind]}"
    if give and (kind in ("list", "float") or choices or option.get("default") is not None):
        yield f"{place} has no value. {give}, or leave it out."


def of_value(value: t.Any, option: Option, place: str) -> Lines:
    """A line for each thing that is wrong with a value, or in it.

    option: what an argument specification says of it. place: where it is, such as "group_map, entry 1: to".
    """
    kind = option.get("type", "str")
    if value is None or kind == "raw":
        return
    given = value
    if kind == "list" and isinstance(value, str) and _LIST.fullmatch(value):
        entries = [entry.strip() for entry in value.strip()[1:-1].split(",")]
        is_quoted = entries[0][:1] in ('"', "'", "{", "")
        may_be_pattern = place.endswith(("patterns", "repartitioned")) and _CLASS.fullmatch(value)
        if {*value} & {*("-^{}" if may_be_pattern else "{}")}:
            entries = ["PATTERN"]
        braces = f"-e '{{\"{place}\": {value.strip() if is_quoted else json.dumps(entries)}}}'"
        also = ", or put the pattern in a list" if may_be_pattern else ""
        yield f"{place} is a text, which -e NAME=VALUE makes of a list. Give it in braces: {braces}{also}."
        return
    if (
        kind == "list"
        and isinstance(value, str)
        and _BROKEN.match(value)
        and not place.endswith(("patterns", "repartitioned"))
    ):
        yield f"{place} begins like a list in JSON, and is none. Correct its brackets, quotes and commas."
        return
    if kind in _WANTED:
        takes, give = _WANTED[kind]
        try:
            if kind == "list" and _is_read_by_yaml(value, option):  # Ansible makes a text of it
                raise TypeError
            value = takes(value)
        except (TypeError, ValueError, OverflowError):
            dictionary = f"Give {'a list of dictionaries' if kind == 'list' else 'a dictionary'} with {_keys(option)}"
            yield f"{place} is {_shown(value, option, place)}. {dictionary if 'options' in option else give}."
            return
        if kind in ("int", "float") and value < 0:
            yield f"{place} is {given}. Give 0 or more."
        elif kind in ("int", "float") and value > LARGEST_OFFSET:  # which no file or engine takes
            yield f"{place} is {shortened(str(given), 25)}. Give {LARGEST_OFFSET} at most."
    elif isinstance(value, list | dict):
        yield f"{place} is {_shown(value, option, place)}. Give one text."
        return
    elif _is_read_by_yaml(value, option):
        yield f"{place} is {_shown(value, option, place)}, and no text. Put it in quotes if it is a name."
        return
    yield from _strange(value, option, place)
    if kind == "list":
        element = {**option, "type": option.get("elements", "raw")}
        for number, item in enumerate(value, 1):
            if item is None:  # Ansible makes an empty text of it
                yield f"{place}, entry {number} is empty. Remove it, or put null in quotes if it is a name."
            yield from of_value(item, element, f"{place}, entry {number}")
    elif kind == "dict" and "options" in option:
        yield from _of_dictionary(value, option, place)


def _is_read_by_yaml(value: t.Any, option: Option) -> bool:
    """Is this another text now than the one that was written, such as 1.50, or a time? A secret is not to be shown."""
    if "choices" in option:
        return False
    return isinstance(value, bool) or (isinstance(value, float | datetime.date) and not option.get("no_log"))


def _strange(value: t.Any, option: Option, place: str) -> Lines:
    """A value that is none of the choices."""
    choices = option.get("choices", [])
    if choices and not isinstance(value, list) and value not in choices:
        texts = [str(choice) for choice in choices]
        # A word that is nearly a choice is no secret; a longer text may have one beside it.
        is_slip = _WORD.fullmatch(str(value)) and difflib.get_close_matches(
            str(value).lower(), [text.lower() for text in texts], cutoff=0.75
        )
        shown = visible_name(str(value)) if is_slip else _shown(value, option, place)
        yield f"{place} is {shown}.{did_you_mean(value, texts)} The choices are {', '.join(texts)}."


def _of_dictionary(value: dict[str, t.Any], option: Option, place: str) -> Lines:
    known: Option = option["options"]
    given = {key for key, member in value.items() if member is not None}
    yield from unknown_keys(place, value, known)
    for key, suboption in known.items():
        if suboption.get("required") and key not in given:
            yield f"{place} has no {key}. Give it."
    # All specifications with both mean one of them; those of roles cannot say so.
    if {"name", "pattern"} <= known.keys() and len(given & {"name", "pattern"}) != 1:
        yield f"{place} has {'both name and' if 'name' in given else 'neither name nor'} pattern. Give one of them."
    for key in filter(known.__contains__, value):
        yield from of_value(value[key], known[key], f"{place}{': ' if ', entry ' in place else '.'}{key}")


def _shown(value: t.Any, option: Option, place: str) -> str:
    """A value as a message shows it: what it is where it has parts, because one of them may be a secret."""
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "a dictionary"
    if option.get("type") == "dict":
        return "no dictionary"
    if not may_be_shown(place.rpartition(".")[2], str(value)):
        return HIDDEN
    return str(value).lower() if isinstance(value, bool) else visible_name(str(value)) or "empty"


def _keys(option: Option) -> str:
    return ", ".join(
        f"{key} (required)" if suboption.get("required") else key
        for key, suboption in option.get("options", {}).items()
    )
