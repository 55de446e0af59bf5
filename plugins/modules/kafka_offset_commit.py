#!/usr/bin/python
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_offset_commit
short_description: Set consumer groups to where a plan says, and take it back
version_added: 0.1.0
description:
  - The groups of a cluster stand where the plan says, or where they stood before.
  - Everything is checked before anything is written - the cluster is the plan's, nothing of the plan is blocked, every
    group stands where the plan expects it and nobody is in it. Then the offsets are committed with their metadata, and
    read back.
  - The receipt is on disk before the first write. It holds what stood there before, and is the rollback.
  - What stands right is left alone, and so is a group that was migrated earlier and has consumed since.
author:
  - The streamshift.kafka authors (@streamshift)
extends_documentation_fragment:
  - streamshift.kafka._attributes
  - streamshift.kafka._attributes.files
  - streamshift.kafka._cluster
options:
  state:
    description:
      - V(committed) - the groups stand where O(plan) says.
      - V(rolled_back) - the groups stand where O(receipt) says that they stood before. Commits that were not there are
        removed, and so is a group that then holds nothing.
    type: str
    choices: [committed, rolled_back]
    default: committed
  plan:
    description:
      - Path of the plan file, as M(streamshift.kafka.kafka_offset_translate) writes it.
      - Required for O(state=committed).
    type: path
  snapshot:
    description:
      - Path of a snapshot file. Nothing is written unless the plan was made from exactly this snapshot, so a plan that
        was reviewed is applied only while the source stands where it stood.
    type: path
  receipt:
    description:
      - Path of the receipt file. Its directory must exist. Keep it - it is the only way back.
    type: path
    required: true
  report:
    description:
      - Path of the report file that M(streamshift.kafka.kafka_offset_verify) has written of O(plan). An entry to which it
        objects counts as blocked, with the reason C(verification_failed), under O(on_blocked).
      - A report of another plan is refused. So is a report of an earlier state of the plan file.
    type: path
  on_blocked:
    description:
      - What to do when entries of the plan are blocked, or when O(report) objects to them.
      - V(fail) writes nothing at all, V(skip_group) leaves out the groups concerned, V(skip_partition) only the entries.
    type: str
    choices: [fail, skip_group, skip_partition]
    default: fail
  on_rewind:
    description:
      - What to do for an entry whose group has already committed a later offset here.
      - V(fail) writes nothing at all, V(keep) leaves such entries alone, V(rewind) sets them.
    type: str
    choices: [fail, keep, rewind]
    default: fail
  on_advance:
    description:
      - The same for a group that has committed an earlier offset here.
    type: str
    choices: [advance, keep, fail]
    default: advance
  on_active_group:
    description:
      - What to do for a group that somebody uses - it has members, or its commits move within O(idle_wait).
      - V(fail) writes nothing at all, V(skip_group) leaves it out.
    type: str
    choices: [fail, skip_group]
    default: fail
  idle_wait:
    description:
      - How many seconds lie between two readings of the commits, once for all groups together. Consumers that use
        C(assign()) never show as members; only their commits move, every 5 seconds by default.
      - There is no wait when nothing is to be written.
    type: float
    default: 5
seealso:
  - module: streamshift.kafka.kafka_offset_translate
  - module: streamshift.kafka.kafka_offset_verify
"""

EXAMPLES = r"""
- name: Set the groups to where the plan says
  streamshift.kafka.kafka_offset_commit:
    cluster: "{{ kafka_cluster }}"
    plan: "{{ inventory_dir }}/plan.json"
    receipt: "{{ inventory_dir }}/receipt.json"

- name: Set the groups, but for what the verification objects to
  streamshift.kafka.kafka_offset_commit:
    cluster: "{{ kafka_cluster }}"
    plan: "{{ inventory_dir }}/plan.json"
    receipt: "{{ inventory_dir }}/receipt.json"
    report: "{{ inventory_dir }}/report.json"
    on_blocked: skip_group

- name: Take it back
  streamshift.kafka.kafka_offset_commit:
    cluster: "{{ kafka_cluster }}"
    receipt: "{{ inventory_dir }}/receipt.json"
    state: rolled_back
"""

RETURN = r"""
receipt:
  description: Path of the receipt file.
  returned: success
  type: str
  sample: /srv/kafka-migrations/onprem-to-cloud/receipt.json
entries:
  description: The commits before and after, sorted by group, topic and partition; null where there is none.
  returned: success
  type: list
  elements: dict
  contains:
    group:
      description: The group.
      type: str
      returned: success
      sample: billing
    topic:
      description: The topic.
      type: str
      returned: success
      sample: orders
    partition:
      description: The partition.
      type: int
      returned: success
      sample: 3
    before:
      description: The offset that was committed before.
      type: int
      returned: success
      sample: null
    after:
      description: The offset that is committed now, or would be in check mode.
      type: int
      returned: success
      sample: 41877
written:
  description: How many commits were, or in check mode would be, written or removed.
  returned: success
  type: int
  sample: 12
left_out:
  description: A line for everything that a policy, or an earlier migration, leaves alone.
  returned: success
  type: list
  elements: str
  sample: []
summary:
  description: A table for people, as lines.
  returned: success
  type: list
  elements: str
  sample:
    - "group    partitions  changed"
    - "billing          12       12"
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.streamshift.kafka.plugins.module_utils._migration import commit as use_case
from ansible_collections.streamshift.kafka.plugins.module_utils._model import plan, receipt, report, snapshot
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._module import files, options, results
from ansible_collections.streamshift.kafka.plugins.module_utils._module.run import run


def commit(module: AnsibleModule) -> dict[str, t.Any]:
    params = module.params
    path = params["receipt"]
    options.check_not_negative(params, "idle_wait")
    if params["state"] == "rolled_back":
        files.check_there(path, "receipt", "a migration: without one there is nothing to roll back")
    files.check_writable(path)
    cluster = options.connection(params, "cluster")
    policies = use_case.Options(
        **{key: params[key] for key in ("on_blocked", "on_rewind", "on_advance", "on_active_group", "idle_wait")}
    )

    def save(done: receipt.Receipt) -> None:
        files.write(path, receipt.to_json(done))

    writer = None if module.check_mode else save
    with files.locked(path):
        if params["state"] == "committed":
            text = files.read_required(params["plan"], "plan", "kafka_offset_translate")
            taken = params["snapshot"] and files.read_required(params["snapshot"], "snapshot", "kafka_group_offsets")
            earlier = files.read(path)
            outcome = use_case.commit(
                plan.from_json(text, params["plan"]),
                receipt.from_json(earlier, path) if earlier is not None else None,
                cluster,
                policies,
                writer,
                snapshot.read(taken, params["snapshot"]) if taken else None,
                _objections(params),
            )
        else:
            text = files.read_required(path, "receipt", "a migration")
            outcome = use_case.roll_back(receipt.from_json(text, path), cluster, policies, writer)
    return {
        "changed": bool(outcome.set),
        "receipt": path,
        "entries": [
            {
                "group": group,
                "topic": partition.topic,
                "partition": partition.partition,
                "before": found and found.offset,
                "after": (done := outcome.after[group, partition]) and done.offset,
            }
            for (group, partition), found in outcome.before.items()
        ],
        "written": len(outcome.set),
        "left_out": outcome.left_out,
        "summary": results.commit_summary(outcome.before, outcome.set, outcome.left_out),
        "diff": results.diff(
            results.commit_lines(outcome.before),
            results.commit_lines(outcome.after),
            f"{cluster} (before)",
            f"{cluster} (after)",
        ),
    }


def _objections(params: dict[str, t.Any]) -> dict[receipt.Key, str]:
    """What the report objects to. Raises Refused when it is about another plan."""
    path = params["report"]
    if path is None:
        return {}
    found = report.objections(files.read_required(path, "report", "kafka_offset_verify"), path)
    digest = files.file_digest(params["plan"])
    if found.plan != digest:
        about = "no plan" if found.plan is None else f"a plan with the digest {found.plan}"
        raise Refused(
            f"the report {path} is about {about}, and {params['plan']} has the digest {digest}",
            why="the plan has changed since it was verified, or another one was verified",
            remedy="verify this plan with kafka_offset_verify",
        )
    return found.lines


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **options.cluster_spec("cluster"),
            "state": {"type": "str", "choices": ["committed", "rolled_back"], "default": "committed"},
            "plan": {"type": "path"},
            "snapshot": {"type": "path"},
            "receipt": {"type": "path", "required": True},
            "report": {"type": "path"},
            "on_blocked": {"type": "str", "choices": ["fail", "skip_group", "skip_partition"], "default": "fail"},
            "on_rewind": {"type": "str", "choices": ["fail", "keep", "rewind"], "default": "fail"},
            "on_advance": {"type": "str", "choices": ["advance", "keep", "fail"], "default": "advance"},
            "on_active_group": {"type": "str", "choices": ["fail", "skip_group"], "default": "fail"},
            "idle_wait": {"type": "float", "default": 5},
        },
        required_if=[("state", "committed", ["plan"])],
        supports_check_mode=True,
    )
    run(module, commit)


if __name__ == "__main__":
    main()
