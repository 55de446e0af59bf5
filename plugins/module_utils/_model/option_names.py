# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What messages call an option: its name, or the variable of the role that passes it on.

As with gettext, the text is chosen where a message is made, so that names of topics and groups are never touched. A module
runs once in its process and sets the variables once, in the beginning. What is written to a file has the names of options,
because another role or a module may read it: such texts are translated where they are shown.
"""

from __future__ import annotations

import re
import typing as t

_WORD = r"(?<![\w./-])(?:[a-z]+(?:_[a-z]+)+|(?<=\bin )repartitioned)(?![\w/-]|\.\w)"
_variables: dict[str, str] = {}


def set_variables(variables: t.Mapping[str, str] | None) -> None:
    """From now on, options have the names of these variables, {option: variable}; the others keep their own.

    A directory that a dry run works in has the place of an option, and the user's that of a variable: see own_paths().
    """
    _variables.clear()
    _variables.update(variables or {})


def option_name(option: str) -> str:
    """What the user sets. option may have a value, such as `state: absent`, where the variable is set to another one."""
    return _variables.get(option, option)


def ways(*ways_on: tuple[str, str]) -> str:
    """The ways on that a remedy offers, joined by "or": those whose option the user can set where the message is shown.

    Each is an option's name, with a value that not every variable takes, such as `on_active_source: warn`, or without, or
    nothing for a way without an option, and the text. A role does not have every option of the
    modules that it calls; a task of the user's own has all.
    """
    offered = [text for option, text in ways_on if not option or not _variables or option in _variables]
    return ", or ".join(offered)


def own_paths(text: str) -> str:
    """A text in which the files that a dry run works on have the paths of those that it has copied."""
    for copies, directory in _variables.items():
        if copies.startswith("/"):
            text = text.replace(copies, directory)
    return text


def path_option() -> str:
    """What the user corrects where a file is another one than was meant: the directory of a role, else the path."""
    directory = option_name("directory")
    return directory if directory in _variables.values() else "the path"


def correct_clusters(*, says_exchanged: bool = True) -> str:
    """What the user does where another cluster answers than was meant: a clause with the variables of a role.

    says_exchanged: whether it says what may be wrong with them; not where the message has said it already.
    """
    names = [_variables[option] for option in ("source", "destination", "cluster") if option in _variables]
    if not names:
        return "correct the addresses if they are wrong"
    if not names[1:]:
        return f"correct {names[0]}, or bootstrap_servers of this host in the inventory"
    which = ", which may be exchanged," if says_exchanged else ","
    return f"correct {' and '.join(names)}{which} or bootstrap_servers of these hosts in the inventory"


def another_directory() -> str:
    """How another place for files is asked for: the directory of a role, if there is one."""
    directory = path_option()
    return "use another directory" if directory == "the path" else f"set {directory} to another directory"


def give_back() -> str:
    """What lets a copy of a backlog go on whose groups have moved at the source: it holds for no other committed offsets."""
    return (
        "give these groups what they had when the copy was planned, by the playbook restore_offsets with group_clone_backup: "
        "snapshot.json of the copy's directory, and group_clone_on_rewind: rewind (what they have consumed since is "
        "repeated), and remove what they have committed on other partitions since (kafka-consumer-groups --delete-offsets)"
    )


def is_in_one_cluster() -> bool:
    """Is the message shown in a role that works inside one cluster, and so has neither a source nor a destination?"""
    return "cluster" in _variables and "source" not in _variables


def moves_groups() -> bool:
    """Is the message shown where committed offsets are set, too? Of a task of the user's own, nobody knows that it is not."""
    return not _variables or "on_rewind" in _variables


def at_destination() -> str:
    """Where a group is set, to follow a verb: nothing inside one cluster."""
    return "" if is_in_one_cluster() else " at the destination"


def because_of(option: str, value: str) -> str:
    """The option's value that something is due to, in parentheses after a blank; nothing where the user cannot set it."""
    told = ways((option, f"{option_name(option)}: {value}"))
    return f" ({told})" if told else ""


def with_option_names(text: str, names: t.Collection[str] = ()) -> str:
    """A text that was written with names of options, in the user's words.

    names: of groups and topics that the text may hold, none of which is an option.
    """
    if not any(option in text for option in _variables):
        return text
    # Only such a name may hold what looks like an option. So nearly all texts share one pattern, which is compiled once.
    alike = [name for name in names if any(option.partition(": ")[0] in name for option in _variables)]
    known = [rf"(?<!\w){re.escape(name)}(?!\w)" for name in sorted(alike, key=len, reverse=True)]
    with_values = [re.escape(option) for option in _variables if ": " in option]
    pattern = "|".join([*known, *with_values, _WORD])
    return re.sub(pattern, lambda word: word[0] if word[0] in names else option_name(word[0]), text)
