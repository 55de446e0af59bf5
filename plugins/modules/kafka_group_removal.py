#!/usr/bin/python
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_group_removal
short_description: Remove consumer groups that were renamed, or restore them
version_added: 0.1.0
description:
  - Removes the old groups of a rename inside one cluster, after the new groups have got all that the old ones had
    committed. Restores them as they were - offsets, metadata and leader epochs.
  - Checks everything before it removes a group. The cluster must be the one in the plan, the group must have no
    members, and it must have committed exactly the offsets that the plan gives to new groups, on all of its topics.
  - Saves the committed offsets of the old groups to O(removed) before it removes the first one.
  - The user needs the ACL GROUP DELETE, and TOPIC DESCRIBE on all topics of the groups, because brokers hide committed
    offsets of other topics, and these would be lost.
author: The streamshift.kafka authors (@streamshift)
extends_documentation_fragment:
  [streamshift.kafka._attributes, streamshift.kafka._attributes.files, streamshift.kafka._cluster,
   streamshift.kafka._selection, streamshift.kafka._selection.topics]
options:
  state:
    description:
      - Whether the old groups are there afterwards.
      - V(removed) removes the groups that O(plan) gives to other groups.
      - V(restored) makes the groups again that were removed before, with everything that they had committed.
    type: str
    choices: [removed, restored]
    default: removed
  plan:
    description:
      - Path of the plan file that was committed, as M(streamshift.kafka.kafka_offset_translate) writes it.
      - Required with O(state=removed).
    type: path
  receipt:
    description:
      - Path of the receipt file of M(streamshift.kafka.kafka_offset_commit), which shows that a new group has got its
        offsets and has consumed since.
      - With O(state=restored), the module fails if a new group of the receipt was renamed as well, because both names
        would consume the same records. Roll back the later rename first. It also fails if a rollback of the new groups with
        M(streamshift.kafka.kafka_offset_commit), which comes next, would be refused, or would leave one of them. The file must
        exist then.
    type: path
  removed:
    description:
      - Path of the file that keeps what the removed groups had committed. Its directory must exist.
      - Keep the file, because without it the groups cannot be restored.
    type: path
    required: true
  groups:
    description:
      - With O(state=restored), names of the groups to restore. O(exclude_group_patterns) does not apply to them. The
        module leaves a group alone that is not in O(removed), or that was restored before.
      - Set O(groups) or O(group_patterns), unless O(everything=true).
      - O(topics), O(topic_patterns) and O(exclude_topic_patterns) select groups that had committed offsets on these topics. The
        module restores a group as a whole, so it fails if O(receipt) says that a new group has got a topic that is not
        selected, and would stay. It leaves out only topics that are not selected and were deleted and created again since.
  everything:
    description: With O(state=restored), whether to restore everything in O(removed).
    type: bool
    default: false
  on_active_group:
    description:
      - What to do for a group that has members, or that belongs to Kafka Connect.
      - V(fail) removes or restores nothing at all, and fails.
      - V(skip_group) leaves the group out. With O(receipt) and O(state=restored), it fails if the new group would go then.
    type: str
    choices: [fail, skip_group]
    default: fail
  on_blocked:
    description:
      - With O(state=removed), what to do for a group if a new group does not get one of its committed offsets because
        the plan blocks it. Set it as for M(streamshift.kafka.kafka_offset_commit).
      - V(fail) removes nothing at all, and fails.
      - V(skip_group) leaves the group out, also if the new group does not get the offset because another one of its
        group-partitions is blocked.
      - V(skip_partition) leaves the group out.
    type: str
    choices: [fail, skip_group, skip_partition]
    default: fail
  on_rewind:
    description:
      - With O(state=restored), what to do if the group exists again and has committed an offset after the one in
        O(removed).
      - V(fail) restores nothing at all, and fails.
      - V(keep) leaves the group alone, and fails as V(skip_group) of O(on_active_group) does.
      - V(rewind) commits the offset in O(removed). Records in between may be repeated.
      - With O(state=removed), what the commit has done with a new group that had committed an offset after the planned
        one. Set it as for M(streamshift.kafka.kafka_offset_commit). With V(keep), the old group of one that was left
        at such an offset stays. Otherwise, the module removes nothing at all, and fails.
    type: str
    choices: [fail, keep, rewind]
    default: fail
  on_advance:
    description:
      - With O(state=restored), what to do if the group exists again and has committed an offset before the one in
        O(removed).
      - V(fail) restores nothing at all, and fails.
      - V(keep) leaves the group alone.
      - V(advance) commits the offset in O(removed). The group does not read the records in between.
      - With O(state=removed), the same as O(on_rewind) for a new group that had committed an offset before the planned
        one.
    type: str
    choices: [advance, keep, fail]
    default: fail
  idle_wait:
    description:
      - With O(state=restored), how many seconds to wait before reading the committed offsets of groups that exist again
        a second time.
      - With O(state=removed), the module does not wait, because the offsets of the plan are the first reading.
    type: float
    default: 5
seealso: [{module: streamshift.kafka.kafka_offset_commit}]
"""

EXAMPLES = r"""
- name: Remove the old groups of a rename that was committed
  streamshift.kafka.kafka_group_removal:
    cluster: "{{ kafka_cluster }}"
    plan: "{{ inventory_dir }}/plan.json"
    receipt: "{{ inventory_dir }}/receipt.json"
    removed: "{{ inventory_dir }}/removed.json"

- name: Restore one of them
  streamshift.kafka.kafka_group_removal:
    cluster: "{{ kafka_cluster }}"
    state: restored
    removed: "{{ inventory_dir }}/removed.json"
    groups:
      - billing
"""

RETURN = r"""
removed:
  description: Path of the file of removed groups.
  returned: success
  type: str
  sample: /srv/kafka-clones/onprem/removed.json
groups:
  description: The groups that the module has removed or restored. In check mode, those that it would remove or restore.
  returned: success
  type: list
  elements: str
  sample: [billing]
left_out:
  description: One line for each group that the module left alone because of an option, or because it is gone already, and for
    each partition that it could not restore, because it does not exist any more. With O(state=removed), also one for offsets of
    groups that were removed before, on topics that were created again since; O(removed) does not keep them.
  returned: success
  type: list
  elements: str
  sample: []
notes:
  description: With O(state=restored), one line for each offset that is before the start of the log by now. With
    O(state=removed), a line if the groups may have committed offsets that the user may not see.
  returned: success
  type: list
  elements: str
  sample: []
note_kinds: {description: "Kinds of the RV(notes), in the same order.", returned: success, type: list, elements: str}
failure: {description: "What C(msg) says, as data. See C(docs/troubleshooting.md).", returned: failure, type: dict}
"""

import typing as t

from ..module_utils._migration._committing import group_removal as use_case
from ..module_utils._model import plan, receipt, removed
from ..module_utils._model.policies import OnActiveGroup
from ..module_utils._module import files, options, results
from ..module_utils._module.frame import Module
from ..module_utils._module.migration_directory import to_undo


def _check_restores(params: dict[str, t.Any]) -> None:
    files.check_rollback_file(params["removed"], "removed groups")
    if params["receipt"] is not None:
        otherwise = (
            "If each new group had its offsets before the rename, so that there never was one, make the old groups again by "
            "kafka_group_removal with state=restored and without a receipt"
        )
        files.check_rollback_file(params["receipt"], "receipt", otherwise)


def remove(module: Module) -> dict[str, t.Any]:
    params = module.params
    path = params["removed"]
    options.check_all(
        params,
        lambda: options.rollback_selection(params),
        lambda: _check_restores(params) if params["state"] == "restored" else files.check_writable(path),
    )
    selection, cluster = options.rollback_selection(params), options.connection(params, "cluster")
    policies = options.filled(use_case.RemovalOptions, params)
    save = files.saver(path, removed.to_json, removed.from_json, check=module.check_mode)
    with files.locked(path):
        known = files.parsed(path, removed.from_json)
        written = files.parsed(params["receipt"], receipt.from_json)
        if params["state"] == "removed":
            made = files.parsed_required(params["plan"], plan.from_json, "plan", "kafka_offset_translate")
            outcome = use_case.remove_old_groups(made, written, known, cluster, policies, save)
        else:
            gone = files.parsed_required(path, removed.from_json, "removed groups", None)
            selection, _told_by_the_rollback = to_undo(selection, written, params["receipt"], gone)
            outcome = use_case.restore_old_groups(gone, selection, cluster, policies, save, written)
    return {
        "changed": bool(outcome.groups) or outcome.removed != known,
        "removed": path,
        "groups": outcome.groups,
        "left_out": outcome.left_out,
        **module.warned(outcome.notes),
        "diff": results.commit_diff(outcome.before, outcome.after, cluster),
    }


def main() -> None:
    spec = {
        **options.cluster_spec("cluster"),
        **options.SELECTION,
        **options.spec_of(use_case.RemovalOptions),
        "state": options.choices("removed", "restored", default="removed"),
        **options.optional("path", "plan", "receipt"),
        "removed": {"type": "path", "required": True},
        "everything": {"type": "bool", "default": False},
        "on_active_group": options.choices(OnActiveGroup.FAIL, OnActiveGroup.SKIP_GROUP, default="fail"),
    }
    Module(spec, required_if=[("state", "removed", ["plan"])]).run(remove)


if __name__ == "__main__":
    main()
