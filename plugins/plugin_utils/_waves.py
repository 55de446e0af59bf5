# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The files of waves: what they select, and a line for each thing that is wrong with them."""

from __future__ import annotations

import glob
import os
import typing as t

import yaml

from ._given import Given, role_options
from ._problems import misspelt, not_taken

_ROLE = "group_migration"
_VAULT = "$ANSIBLE_VAULT"  # what all that ansible-vault has encrypted begins with
_ENCRYPTED = " is encrypted with ansible-vault, and waves are read without its password. Encrypt only secrets."


class _Loader(yaml.SafeLoader):
    """Takes values with a tag of Ansible's, such as !vault and !unsafe, as they are written."""


_Loader.add_multi_constructor("!", lambda loader, _tag, node: loader.construct_scalar(node))


class ReadWaves(t.NamedTuple):
    """waves: as a module takes them, by path; their directory may be missing. problems: a line for each."""

    waves: list[dict[str, t.Any]]
    problems: list[str]


def read_waves(terms: t.Iterable[str], inventory: str) -> ReadWaves:
    """The waves of files. terms: paths, or patterns of them, from the directory of the inventory, several with commas."""
    paths: set[str] = set()
    problems: list[str] = []
    for term in filter(None, (part.strip() for text in terms for part in str(text).split(","))):
        matches = glob.glob(os.path.join(glob.escape(inventory), os.path.expanduser(term)))
        paths.update(matches)
        if not matches:
            problems.append(f"No file matches {term} in the inventory's directory {inventory}.")
    waves = []
    for path in sorted(paths):
        try:
            given = _variables(path)
        except (TypeError, ValueError) as exc:
            problems.append(str(exc))
        else:
            problems.extend(f"{path}: {line}" for line in _wrong(given))
            waves.append(_wave(path, given.variables))
    return ReadWaves(waves, problems)


def _variables(path: str) -> Given:
    """The variables of a file, or TypeError or ValueError."""
    try:
        with open(path, encoding="utf-8") as file:
            variables = _Loader(file).get_single_data()
    except IsADirectoryError as exc:
        raise ValueError(f"{path} is a directory. Name its files, such as {os.path.join(path, '*.yml')}.") from exc
    except (OSError, ValueError, yaml.YAMLError) as exc:
        raise ValueError(f"{path} cannot be read: {exc}") from exc
    if str(variables).startswith(_VAULT):
        raise ValueError(f"{path}{_ENCRYPTED}")
    if not isinstance(variables, dict):
        raise TypeError(f"{path} has no variables.")
    return Given(_ROLE, "role", role_options(_ROLE), {str(name): value for name, value in variables.items()})


def _wrong(given: Given) -> t.Iterator[str]:
    yield from misspelt(given)
    # A run may decrypt other variables, or make them of templates. Those of groups are read as they are.
    chosen, texts = _chosen(given.variables), {name: str(value) for name, value in given.variables.items()}
    encrypted = {name for name, text in texts.items() if _VAULT in text}
    yield from (f"{name}{_ENCRYPTED}" for name in sorted(encrypted & {*chosen, f"{_ROLE}_directory"}))
    unread = encrypted | {name for name, text in texts.items() if "{{" in text and name not in chosen}
    yield from not_taken(given, {name: option for name, option in given.options.items() if name not in unread})
    if not given.get("groups") and not given.get("group_patterns"):
        yield f"It selects no group. Set {_ROLE}_groups or {_ROLE}_group_patterns."


def _chosen(variables: t.Mapping[str, t.Any]) -> dict[str, str]:
    """{variable: option of a wave} of those that are given and select groups."""
    options = ("groups", "group_patterns", "exclude_group_patterns")
    return {f"{_ROLE}_{option}": option for option in options if f"{_ROLE}_{option}" in variables}


def _wave(path: str, variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    chosen = {option: variables[name] for name, option in _chosen(variables).items()}
    name = os.path.splitext(os.path.basename(path))[0]
    return {"name": name, "directory": variables.get(f"{_ROLE}_directory", ""), **chosen}
