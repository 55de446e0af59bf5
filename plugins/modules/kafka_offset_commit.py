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
  - streamshift.kafka._selection
  - streamshift.kafka._selection.topics
options:
  state:
    description:
      - V(committed) - the groups stand where O(plan) says.
      - V(rolled_back) - the selected groups stand where O(receipt) says that they stood before. Commits that were not there
        are removed, and so is a group that then holds nothing. Everything else in the receipt is left alone, whoever uses it.
    type: str
    choices: [committed, rolled_back]
    default: committed
  plan:
    description:
      - Path of the plan file, as M(streamshift.kafka.kafka_offset_translate) writes it.
      - An entry whose metadata is longer than the brokers' C(offset.metadata.max.bytes) is refused before the first commit is
        written. A user without the ACL CLUSTER DESCRIBE_CONFIGS may not read that limit, and has 4096, Kafka's default.
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
  groups:
    description:
      - With O(state=rolled_back), the groups to roll back, by the names that they had at the source. So are
        O(group_patterns), O(topics) and O(topic_patterns). A receipt of a release that did not note the source knows only
        the names at the destination.
      - O(groups) or O(group_patterns) must select something, unless O(everything=true). A name that is not in the receipt
        is an error. A name beats O(exclude_group_patterns).
    type: list
    elements: str
    default: []
  everything:
    description:
      - With O(state=rolled_back), roll back all that the receipt holds, also what other runs in the same directory have set.
    type: bool
    default: false
  on_blocked:
    description:
      - What to do when entries of the plan are blocked.
      - V(fail) writes nothing at all, V(skip_group) leaves out the groups concerned, V(skip_partition) only the entries.
    type: str
    choices: [fail, skip_group, skip_partition]
    default: fail
  on_rewind:
    description:
      - What to do for an entry whose group has already committed a later offset here.
      - V(fail) writes nothing at all, V(keep) leaves such entries alone, V(rewind) sets them.
      - With O(state=rolled_back), it is about groups that have consumed since, or that do not stand where O(receipt) says
        that they were set. V(keep) leaves all partitions of such a group alone, V(rewind) rolls them back.
    type: str
    choices: [fail, keep, rewind]
    default: fail
  on_advance:
    description:
      - The same for a group that has committed an earlier offset here. With O(state=rolled_back), V(keep) leaves all
        partitions of such a group alone.
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
"""

EXAMPLES = r"""
- name: Set the groups to where the plan says
  streamshift.kafka.kafka_offset_commit:
    cluster: "{{ kafka_cluster }}"
    plan: "{{ inventory_dir }}/plan.json"
    receipt: "{{ inventory_dir }}/receipt.json"

- name: Roll back one group
  streamshift.kafka.kafka_offset_commit:
    cluster: "{{ kafka_cluster }}"
    receipt: "{{ inventory_dir }}/receipt.json"
    state: rolled_back
    groups:
      - billing
"""

RETURN = r"""
receipt:
  description: Path of the receipt file.
  returned: success
  type: str
  sample: /srv/kafka-migrations/onprem-to-cloud/receipt.json
entries:
  description: The commits before and after, of a rollback the selected ones, sorted by group, topic and partition; null where there is none.
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
  description: A table for people, as lines. That of a rollback begins with how many groups go back.
  returned: success
  type: list
  elements: str
  sample:
    - "group    partitions  changed"
    - "billing          12       12"
"""

import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._migration import commit as use_case
from ansible_collections.streamshift.kafka.plugins.module_utils._model import plan, receipt, snapshot
from ansible_collections.streamshift.kafka.plugins.module_utils._module import files, options, results
from ansible_collections.streamshift.kafka.plugins.module_utils._module.masking import Module
from ansible_collections.streamshift.kafka.plugins.module_utils._module.run import run


def commit(module: Module) -> dict[str, t.Any]:
    params = module.params
    path = params["receipt"]
    options.check_not_negative(params, "idle_wait")
    selection = options.rollback_selection(params)
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
    head: list[str] = []
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
            )
        else:
            recorded = receipt.from_json(files.read_required(path, "receipt", "a migration"), path)
            outcome = use_case.roll_back(recorded, selection, cluster, policies, writer)
            head = [results.rollback_line(outcome.set, {entry.group for entry in recorded.entries})]
    for line in outcome.notes:
        module.warn(line)
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
        "summary": head + results.commit_summary(outcome.before, outcome.set, outcome.left_out),
        "diff": results.diff(
            results.commit_lines(outcome.before),
            results.commit_lines(outcome.after),
            f"{cluster} (before)",
            f"{cluster} (after)",
        ),
    }


def main() -> None:
    module = Module(
        argument_spec={
            **options.cluster_spec("cluster"),
            **options.selection_spec(),
            "state": {"type": "str", "choices": ["committed", "rolled_back"], "default": "committed"},
            "plan": {"type": "path"},
            "snapshot": {"type": "path"},
            "receipt": {"type": "path", "required": True},
            "everything": {"type": "bool", "default": False},
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
