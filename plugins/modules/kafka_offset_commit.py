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
  - streamshift.kafka._cluster.source
options:
  source:
    description:
      - The Kafka cluster that the groups come from. Where it is given, the groups that will be written are read there twice
        more - before the first write, together with the second reading of the destination, and after the last write. Groups
        that have members, or whose offsets are not those that the plan was made from, are treated as O(on_active_source) says.
      - The first of the readings is the snapshot that the plan was made from. A consumer that commits at the source is seen
        when it has done so between the snapshot and the last write.
      - Not used with O(state=rolled_back).
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
  plan_digest:
    description:
      - The SHA-256 digest of the plan file's bytes, as M(streamshift.kafka.kafka_offset_translate) returns it and
        C(sha256sum) prints it. Nothing is written when the file has another one, so exactly the plan that was reviewed is
        committed.
    type: str
  snapshot:
    description:
      - Path of a snapshot file. Nothing is written unless the plan was made from exactly this snapshot, so a plan that
        was reviewed is applied only while the source stands where it stood.
      - The plan must also cover the snapshot, see O(on_missing_entry).
    type: path
  on_missing_entry:
    description:
      - What to do when O(plan) has no entry for something in O(snapshot), because somebody has removed its line.
      - V(fail) writes nothing at all, V(skip) leaves such partitions out. Their consumers then start by their
        C(auto.offset.reset).
    type: str
    choices: [fail, skip]
    default: fail
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
  on_active_source:
    description:
      - What to do for a group that somebody uses at O(source).
      - V(fail) writes nothing at all, V(skip_group) leaves it out, V(warn) commits what the plan says, and returns a note.
      - When it is seen only after the last write, V(fail) and V(skip_group) fail. Nothing is undone by itself then; the
        message says what would be missed or repeated at the destination, and how to go on.
    type: str
    choices: [fail, skip_group, warn]
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

- name: Commit exactly the plan that was reviewed, and only while nobody uses the groups at the source
  streamshift.kafka.kafka_offset_commit:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    cluster: "{{ hostvars.cloud.kafka_cluster }}"
    plan: "{{ inventory_dir }}/plan.json"
    plan_digest: "{{ reviewed_digest }}"
    receipt: "{{ inventory_dir }}/receipt.json"

- name: Set the groups, but for what the verification objects to
  streamshift.kafka.kafka_offset_commit:
    cluster: "{{ kafka_cluster }}"
    plan: "{{ inventory_dir }}/plan.json"
    receipt: "{{ inventory_dir }}/receipt.json"
    report: "{{ inventory_dir }}/report.json"
    on_blocked: skip_group

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
notes:
  description: A line for each group that is still in use at O(source), where O(on_active_source=warn) allows it.
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
from ansible_collections.streamshift.kafka.plugins.module_utils._model import plan, receipt, report, snapshot
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._module import digests, files, options, results
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
    source = options.connection(params, "source") if params["source"] else None
    policies = use_case.Options(
        **{key: params[key] for key in ("on_blocked", "on_rewind", "on_advance", "on_active_group", "idle_wait")},
        on_active_source=params["on_active_source"],
        on_missing_entry=params["on_missing_entry"],
    )

    def save(done: receipt.Receipt) -> None:
        files.write(path, receipt.to_json(done))

    writer = None if module.check_mode else save
    head: list[str] = []
    with files.locked(path):
        if params["state"] == "committed":
            text = files.read_required(params["plan"], "plan", "kafka_offset_translate")
            if params["plan_digest"] is not None:
                digests.check(text, params["plan_digest"], params["plan"])
            taken = params["snapshot"] and files.read_required(params["snapshot"], "snapshot", "kafka_group_offsets")
            earlier = files.read(path)
            outcome = use_case.commit(
                plan.from_json(text, params["plan"]),
                receipt.from_json(earlier, path) if earlier is not None else None,
                cluster,
                policies,
                writer,
                snapshot.read(taken, params["snapshot"]) if taken else None,
                source,
                _objections(params),
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
        "notes": outcome.notes,
        "summary": head + results.commit_summary(outcome.before, outcome.set, outcome.left_out),
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
    module = Module(
        argument_spec={
            **options.cluster_spec("cluster"),
            **options.selection_spec(),
            "source": {**options.cluster_spec("source")["source"], "required": False},
            "state": {"type": "str", "choices": ["committed", "rolled_back"], "default": "committed"},
            "plan": {"type": "path"},
            "plan_digest": {"type": "str"},
            "snapshot": {"type": "path"},
            "on_missing_entry": {"type": "str", "choices": ["fail", "skip"], "default": "fail"},
            "receipt": {"type": "path", "required": True},
            "everything": {"type": "bool", "default": False},
            "report": {"type": "path"},
            "on_blocked": {"type": "str", "choices": ["fail", "skip_group", "skip_partition"], "default": "fail"},
            "on_rewind": {"type": "str", "choices": ["fail", "keep", "rewind"], "default": "fail"},
            "on_advance": {"type": "str", "choices": ["advance", "keep", "fail"], "default": "advance"},
            "on_active_group": {"type": "str", "choices": ["fail", "skip_group"], "default": "fail"},
            "on_active_source": {"type": "str", "choices": ["fail", "skip_group", "warn"], "default": "fail"},
            "idle_wait": {"type": "float", "default": 5},
        },
        required_if=[("state", "committed", ["plan"])],
        supports_check_mode=True,
    )
    run(module, commit)


if __name__ == "__main__":
    main()
