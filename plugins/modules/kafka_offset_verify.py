#!/usr/bin/python
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_offset_verify
short_description: Prove that migrated groups stand where they stood
version_added: 0.1.0
description:
  - Reads the commits of a receipt again, and on both clusters the records beside them, and compares.
  - The last consumed record's copy must lie before the offset, and the first unconsumed one's at or after it.
  - Fails when anything is wrong, and changes nothing.
author:
  - The streamshift.kafka authors (@streamshift)
extends_documentation_fragment:
  - streamshift.kafka._attributes
  - streamshift.kafka._attributes.info_module
  - streamshift.kafka._source_destination
options:
  plan:
    description:
      - Path of the plan file.
    type: path
    required: true
  receipt:
    description:
      - Path of the receipt file. Where there is none, nothing had to be written.
    type: path
    required: true
  method:
    description:
      - V(anchors) compares the records on both sides of every offset.
    type: str
    choices: [anchors]
    default: anchors
seealso:
  - module: streamshift.kafka.kafka_offset_commit
"""

EXAMPLES = r"""
- name: Prove what was committed
  streamshift.kafka.kafka_offset_verify:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    plan: "{{ inventory_dir }}/plan.json"
    receipt: "{{ inventory_dir }}/receipt.json"
"""

RETURN = r"""
proved:
  description: How many entries have neighbours that were compared and are right.
  returned: success
  type: int
  sample: 12
without_records:
  description: How many entries have no neighbour to compare, for nothing was consumed, or all of it has expired.
  returned: success
  type: int
  sample: 0
problems:
  description: A line for each entry that is wrong.
  returned: always
  type: list
  elements: str
  sample: []
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.streamshift.kafka.plugins.module_utils._migration import verify as use_case
from ansible_collections.streamshift.kafka.plugins.module_utils._model import plan, receipt
from ansible_collections.streamshift.kafka.plugins.module_utils._module import files, options
from ansible_collections.streamshift.kafka.plugins.module_utils._module.run import run


def verify(module: AnsibleModule) -> dict[str, t.Any]:
    params = module.params
    planned = files.read_required(params["plan"], "plan", "kafka_offset_translate")
    made = plan.from_json(planned, params["plan"])
    written = files.read(params["receipt"])
    found = use_case.anchors(
        made,
        receipt.from_json(written, params["receipt"]) if written is not None else receipt.Receipt(made.destination_id),
        options.connection(params, "source"),
        options.connection(params, "destination"),
    )
    if found.problems:
        module.fail_json(
            msg=f"{len(found.problems)} entries are wrong, first {found.problems[0]}. "
            "Keep consumers stopped, and roll back with the receipt.",
            problems=found.problems,
        )
    return {"changed": False, **found._asdict()}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **options.cluster_spec("source", "destination"),
            "plan": {"type": "path", "required": True},
            "receipt": {"type": "path", "required": True},
            "method": {"type": "str", "choices": ["anchors"], "default": "anchors"},
        },
        supports_check_mode=True,
    )
    run(module, verify)


if __name__ == "__main__":
    main()
