# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: plan
short_description: Query the files of a migration
version_added: 0.1.0
description:
  - Reads snapshot, plan, receipt, report and copy files, and returns what a JMESPath query finds in them. The documentation
    page on files describes their members, and has queries to begin with.
  - Reads only the machine that Ansible runs on.
author: The streamshift.kafka authors (@streamshift)
requirements:
  - jmespath
options:
  _terms:
    description: Paths of files. A relative path is searched for as by P(ansible.builtin.file#lookup).
    type: list
    elements: str
    required: true
  query:
    description: A JMESPath expression. Without it, the whole file is returned.
    type: str
seealso:
  - module: streamshift.kafka.kafka_offset_translate
"""

EXAMPLES = r"""
- name: Stop before the maintenance window if anything is blocked
  ansible.builtin.assert:
    that: blocked | length == 0
    fail_msg: "{{ blocked }}"
  vars:
    blocked: "{{ lookup('streamshift.kafka.plan', inventory_dir ~ '/kafka-migrations/onprem-to-cloud/plan.json',
      query='entries[?verdict==`blocked`].[group, topic, partition, reason]') }}"
"""

RETURN = r"""
_raw:
  description: What the query finds in each file; null where it finds nothing.
  type: list
  elements: raw
"""

import typing as t

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from ..module_utils._model import documents
from ..module_utils._model.errors import MigrationError
from ..module_utils._module import files

try:
    import jmespath
    from jmespath.exceptions import JMESPathError
except ImportError:
    jmespath = None


class LookupModule(LookupBase):
    """The look-up."""

    def run(self, terms: list[str], variables: dict[str, t.Any] | None = None, **kwargs: t.Any) -> list[t.Any]:
        """What the query finds in each file."""
        self.set_options(var_options=variables, direct=kwargs)  # type: ignore[no-untyped-call]
        query = self.get_option("query")  # type: ignore[no-untyped-call]
        if not terms:  # of no file nothing would be found, and nothing is what many queries hope for
            raise AnsibleLookupError("The look-up needs the path of a file.")
        return [_found(self._document(term, variables or {}), query, term) for term in terms]

    def _document(self, path: str, variables: dict[str, t.Any]) -> documents.Json:
        found_path = self.find_file_in_search_path(variables, "files", path, ignore_missing=True)  # type: ignore[no-untyped-call]
        there = found_path or path
        try:
            text = files.read(there)
            if text is not None:
                return documents.loads_any(text, there)
        except MigrationError as exc:
            raise AnsibleLookupError(str(exc)) from None
        raise AnsibleLookupError(f"There is no file {path} on this machine{_elsewhere(variables)}.")


def _found(document: documents.Json, query: str | None, path: str) -> t.Any:
    if query is None:
        return document
    if jmespath is None:
        raise AnsibleLookupError("The look-up needs the Python package jmespath on the machine that Ansible runs on.")
    try:
        return jmespath.compile(query).search(document)
    except JMESPathError as exc:
        why = " ".join(str(exc).split())
        raise AnsibleLookupError(f"The query {query!r} cannot be run on {path}: {why}.") from None


def _elsewhere(variables: t.Mapping[str, t.Any]) -> str:
    """Why a file may be missing: look-ups read the controller, and modules write where they run."""
    host = variables.get("inventory_hostname")
    if variables.get("ansible_connection") == "local" or host in (None, "localhost"):
        return ". Correct the path, or make the file first"
    return (
        f", which a look-up reads whatever host a task runs on. If the tasks of {host} run on another machine, their files are "
        "there: fetch the file with ansible.builtin.fetch, and look it up then"
    )
