# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: waves
short_description: Read the files of waves
version_added: 0.3.0
description:
  - A wave is a file of variables of the role P(streamshift.kafka.group_migration#role), as C(-e @waves/billing.yml) gives
    them to a run. The look-up returns what the option O(streamshift.kafka.kafka_group_info#module:waves) takes.
  - Fails if no file is called like a path, and names every file that selects no group, names one twice, or has a variable
    that the role does not know or a value that it does not take.
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

import typing as t

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from ..plugin_utils._inventory import beside_inventory, inventory_directory
from ..plugin_utils._waves import read_waves


class LookupModule(LookupBase):
    """The look-up."""

    def run(
        self, terms: list[str], variables: dict[str, t.Any] | None = None, **kwargs: t.Any
    ) -> list[dict[str, t.Any]]:
        """The waves of these files."""
        self.set_options(var_options=variables, direct=kwargs)  # type: ignore[no-untyped-call]
        variables = variables or {}
        waves, problems = read_waves(terms, inventory_directory(variables) or ".")
        if problems:
            raise AnsibleLookupError("\n".join(problems))
        home = self.get_option("directory")  # type: ignore[no-untyped-call]
        return [{**wave, "directory": beside_inventory(wave["directory"] or home, variables)} for wave in waves]
