#!/usr/bin/python
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_migration_info
short_description: Name everything that stands in the way of a migration
version_added: 0.1.0
description:
  - Connects to both clusters, and asks for every right that migrating these groups needs.
  - Refuses two names of one cluster, told by the cluster's id, unless every group gets another name or another topic.
  - No record is read, and nothing is written.
author:
  - The streamshift.kafka authors (@streamshift)
extends_documentation_fragment:
  - streamshift.kafka._attributes
  - streamshift.kafka._attributes.info_module
  - streamshift.kafka._source_destination
  - streamshift.kafka._selection
  - streamshift.kafka._selection.topics
  - streamshift.kafka._mapping
  - streamshift.kafka._mapping.renaming
  - streamshift.kafka._spark
options:
  commits:
    description:
      - Whether the destination's groups will be written, and not only read.
    type: bool
    default: true
  plan:
    description:
      - Path of the plan file that the migration is going to use. One that is there and damaged is a problem, and so is a
        directory that is missing and cannot be made.
    type: path
  receipt:
    description:
      - The same for the receipt file, and one of another destination cluster is a problem, too.
    type: path
  copy:
    description:
      - Path of the copy file, where M(streamshift.kafka.kafka_backlog_copy) is going to copy the records. One that is damaged
        is a problem. So is a right to write the destination's topics that is missing, and, unless everything is copied
        already, whatever is missing of what O(spark) says.
    type: path
  verify:
    description:
      - How the offsets are going to be verified. V(records) needs what O(spark) says, and what is missing is a problem.
    type: str
    choices: [records, anchors, none]
    default: none
  on_active_group:
    description:
      - What to do with a source group that still has members.
      - V(fail) makes it a problem, V(skip_group) leaves it out, V(warn) takes it as any other.
    type: str
    choices: [warn, skip_group, fail]
    default: warn
  on_blocked:
    description:
      - What to do with a group in O(groups) that holds no committed offsets, such as a share group.
      - V(fail) makes it a problem, V(skip_group) and V(skip_partition) leave it out, as long as others are selected.
    type: str
    choices: [fail, skip_group, skip_partition]
    default: fail
seealso:
  - module: streamshift.kafka.kafka_group_offsets
"""

EXAMPLES = r"""
- name: Look for what is missing
  streamshift.kafka.kafka_migration_info:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    groups:
      - billing
  register: migration

- name: Go on only when nothing is
  ansible.builtin.assert:
    that: migration.problems | length == 0
    fail_msg: "{{ migration.problems | join('\n') }}"
"""

RETURN = r"""
cluster_ids:
  description: The ids of the clusters that answered.
  returned: success
  type: dict
  sample:
    source: 5L6g3nShT-eMCtK--X86sw
    destination: vPeOCWypqUOSepEvx0cbog
problems:
  description: A line for each thing that is missing; empty when a migration can start.
  returned: success
  type: list
  elements: str
  sample:
    - "source cluster broker1:9092: missing ACL TOPIC READ on orders"
notes:
  description:
    - A line for each thing that does not stand in the way, and should be known before the migration begins, such as an ACL
      that only a rollback needs, or a topic that would block entries of the plan because it is missing or has another number of
      partitions at the destination.
    - Topics are not looked at where O(copy) makes them, and where there are RV(problems).
  returned: success
  type: list
  elements: str
  sample:
    - "topic orders does not exist at the destination: fill it, map it, or exclude it."
"""

import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._migration import preflight as use_case
from ansible_collections.streamshift.kafka.plugins.module_utils._model import backlog, plan, receipt
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidFile, InvalidInput
from ansible_collections.streamshift.kafka.plugins.module_utils._module import files, options
from ansible_collections.streamshift.kafka.plugins.module_utils._module.masking import Module
from ansible_collections.streamshift.kafka.plugins.module_utils._module.run import run

_File = t.TypeVar("_File")


def look(module: Module) -> dict[str, t.Any]:
    params = module.params
    _unused, damaged = _read(params["plan"], plan.from_json)
    written, damaged_too = _read(params["receipt"], receipt.from_json)
    copied, damaged_as_well = _read(params["copy"], backlog.from_json)
    spark = options.spark_options(params)
    lacking = use_case.lacking_for_proof(spark) if params["verify"] == "records" else []
    if params["copy"] and not (copied and copied.is_done):
        lacking = use_case.lacking_for_copy(spark)
    found = use_case.look(
        options.connection(params, "source"),
        options.connection(params, "destination"),
        options.selection(params),
        options.mapping(params),
        params["commits"],
        params["on_active_group"],
        params["copy"] is not None,
        written,
        params["on_blocked"],
    )
    foreign = use_case.foreign_receipt(written, params["receipt"], found.cluster_ids) if written is not None else []
    problems = dict.fromkeys([*damaged, *damaged_too, *damaged_as_well, *foreign, *lacking, *found.problems])
    return {
        "changed": False,
        "cluster_ids": found.cluster_ids,
        "problems": list(problems),
        "notes": found.notes,
    }


def _read(path: str | None, parse: t.Callable[[str, str], _File]) -> tuple[_File | None, list[str]]:
    """A file, and why it cannot be used, or not be made; it is looked at again when it is."""
    if path is None:
        return None, []
    try:
        text = files.read(path)
        if text is None:
            files.check_makeable(path)
            return None, []
        return parse(text, path), []
    except (InvalidFile, InvalidInput) as exc:
        return None, [str(exc)]


def main() -> None:
    module = Module(
        argument_spec={
            **options.cluster_spec("source", "destination"),
            **options.selection_spec(),
            **options.mapping_spec(),
            **options.spark_spec(),
            "commits": {"type": "bool", "default": True},
            "plan": {"type": "path"},
            "receipt": {"type": "path"},
            "copy": {"type": "path"},
            "verify": {"type": "str", "choices": ["records", "anchors", "none"], "default": "none"},
            "on_active_group": {"type": "str", "choices": ["warn", "skip_group", "fail"], "default": "warn"},
            "on_blocked": {"type": "str", "choices": ["fail", "skip_group", "skip_partition"], "default": "fail"},
        },
        supports_check_mode=True,
    )
    run(module, look)


if __name__ == "__main__":
    main()
