# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: waves
short_description: Read the files of waves
version_added: 0.2.0
description:
  - A wave is a file of variables of the role P(streamshift.kafka.group_migration#role), as C(-e @waves/billing.yml) gives
    them to a run. The look-up returns what the option O(streamshift.kafka.kafka_group_info#module:waves) takes.
  - Fails if no file is called like a path, and names every file that selects no group, or has a variable that the role
    does not know.
  - Reads only the machine that Ansible runs on.
author: The streamshift.kafka authors (@streamshift)
options:
  _terms:
    description: Paths of files, or patterns of them such as C(waves/*.yml). A relative path is relative to the
      directory of the inventory.
    type: list
    elements: str
    required: true
  directory:
    description: Directory of the waves that do not set C(group_migration_directory), relative to the directory of the
      inventory.
    type: str
    default: ""
seealso:
  - module: streamshift.kafka.kafka_group_info
  - module: streamshift.kafka.kafka_group_readiness
"""

EXAMPLES = r"""
- name: Say which groups are in no wave
  streamshift.kafka.kafka_group_info:
    cluster: "{{ kafka_cluster }}"
    waves: "{{ query('streamshift.kafka.waves', 'waves/*.yml') }}"
  register: groups
"""

RETURN = r"""
_raw:
  description: Each wave with its C(name), which is that of its file, C(groups), C(group_patterns),
    C(exclude_group_patterns) if the file has any, and C(directory). Sorted by path.
  type: list
  elements: dict
"""

import glob
import os
import typing as t

import yaml
from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from ..plugin_utils._given import Given, role_options
from ..plugin_utils._problems import misspelt

_ROLE = "group_migration"


class LookupModule(LookupBase):
    """The look-up."""

    def run(
        self, terms: list[str], variables: dict[str, t.Any] | None = None, **kwargs: t.Any
    ) -> list[dict[str, t.Any]]:
        """The waves of these files."""
        self.set_options(var_options=variables, direct=kwargs)  # type: ignore[no-untyped-call]
        inventory = str((variables or {}).get("inventory_dir") or os.getcwd())
        problems: list[str] = []
        paths: set[str] = set()
        for term in terms:
            found = glob.glob(os.path.join(inventory, term))
            paths.update(found)
            if not found:
                problems.append(f"No file matches {term} in the inventory's directory {inventory}.")
        known = role_options(_ROLE)
        waves = [_wave(path, known, problems) for path in sorted(paths)]
        if problems:
            raise AnsibleLookupError("\n".join(problems))
        home = self.get_option("directory")  # type: ignore[no-untyped-call]
        return [{**wave, "directory": os.path.join(inventory, wave["directory"] or home)} for wave in waves]


def _wave(path: str, known: t.Mapping[str, t.Mapping[str, t.Any]], problems: list[str]) -> dict[str, t.Any]:
    """The wave of a file, whose directory may be empty; what is wrong with the file is added to the problems.

    known: the variables of the role, with what its specification says of each.
    """
    its = None
    try:
        with open(path, encoding="utf-8") as file:
            its = yaml.safe_load(file)
    except IsADirectoryError:
        problems.append(f"{path} is a directory. Name its files, such as {os.path.join(path, '*.yml')}.")
    except (OSError, ValueError, yaml.YAMLError) as exc:
        problems.append(f"{path} cannot be read: {exc}")
    else:
        if not isinstance(its, dict):
            problems.append(f"{path} has no variables.")
    given = its if isinstance(its, dict) else {}
    variables = {str(name): value for name, value in given.items()}
    problems.extend(f"{path}: {line}" for line in misspelt(Given(_ROLE, "role", known, variables)))
    names = ("groups", "group_patterns", "exclude_group_patterns")
    chosen = {name: given[f"{_ROLE}_{name}"] for name in names if f"{_ROLE}_{name}" in given}
    problems.extend(
        f"{path}: {_ROLE}_{name} is no list of texts. Give one, such as [billing]."
        for name, its in chosen.items()
        if isinstance(its, dict) or (isinstance(its, list) and any(isinstance(each, (dict, list)) for each in its))
    )
    if given and not chosen.get("groups") and not chosen.get("group_patterns"):
        problems.append(f"{path} selects no group: set {_ROLE}_groups or {_ROLE}_group_patterns.")
    name = os.path.splitext(os.path.basename(path))[0]
    return {"name": name, "directory": given.get(f"{_ROLE}_directory", ""), **chosen}
