#!/usr/bin/python
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_backlog_copy
short_description: Copy the records that groups have not consumed to another cluster, each record once
version_added: 0.1.0
description:
  - Uses Spark to copy, for each partition that the groups of a snapshot consume, the records from the first committed
    offset to the end. Key, value, headers, timestamp, partition and order stay the same. Records of aborted
    transactions are not copied.
  - Copies each record exactly once. The progress is committed in the same transactions as the records, so if the copy
    is killed at any moment, running the same task again continues it.
  - Writes a plan file with the offset of each group among the copied records, for
    M(streamshift.kafka.kafka_offset_commit).
  - Creates missing topics with the settings of the source's topics. Until every group has consumed the backlog,
    retention, compaction and C(LogAppendTime) are suspended on the destination's topics, because a broker would
    otherwise delete, compact or re-timestamp copied records.
author: The streamshift.kafka authors (@streamshift)
extends_documentation_fragment:
  [streamshift.kafka._attributes, streamshift.kafka._attributes.files, streamshift.kafka._cluster.source_destination,
   streamshift.kafka._mapping.topics, streamshift.kafka._mapping.groups, streamshift.kafka._spark,
   streamshift.kafka._progress]
attributes:
  check_mode:
    support: partial
    details:
      - Check mode returns every range that would be copied and the topics that would be created or changed. The
        destination's offsets are null, because they are known only after the records are copied.
options:
  source:
    description:
      - The Kafka cluster that the groups come from.
      - Required with O(state=present); ignored with O(state=absent).
    required: false
  state:
    description:
      - What the module does with the copy.
      - V(present) copies the records.
      - V(absent) gives the copy up. It deletes the groups that hold the progress, restores the topics' settings that
        the copy has changed and nobody else has changed since, and then deletes the files O(copy) and O(plan). It
        contacts only the destination, so the source may be gone. Copied records stay in topics that are not deleted.
      - V(absent) fails before it changes anything if a run of the copy is in progress, and names the host and the
        process. It detects a run on this machine by its process, and any other run by progress that changes within
        O(idle_wait). A run that it does not detect fails, and writes nothing more. Do not start a run of the copy
        meanwhile.
      - V(absent) also fails if a group of O(plan) has not consumed all copied records yet, because the restored
        retention may delete them. Without the plan of a finished copy, it fails if any group has committed an offset
        among the copied records, because the copy may have been finished with another copy file.
      - V(absent) also fails if another copy has written to a topic whose settings it would restore, and the progress of
        that copy still exists.
    type: str
    choices: [present, absent]
    default: present
  remove_topics:
    description:
      - With O(state=absent), whether to delete the topics that the copy has created, together with their records, also
        those that the source has lost since.
      - The module fails before it changes anything, and names the topic, if another group has committed an offset on
        such a topic, if a member of a group is subscribed to it, or if the topic contains anything but the copied
        records. To check this, it reads all of these records. It fails, too, if the topic changes meanwhile, or if
        a run of the copy starts.
      - The module does not detect consumers that assign partitions to themselves without committing offsets, and jobs
        that keep their offsets elsewhere, as Flink and Spark do. Stop these first. It warns about groups of the newer
        protocol (C(group.protocol=consumer)) with members that have not committed an offset on the topics yet, because
        it cannot read what they are subscribed to.
      - The module never deletes topics that existed before the copy, or that somebody else may have created.
    type: bool
    default: false
  snapshot:
    description:
      - Path of the snapshot file, as M(streamshift.kafka.kafka_group_offsets) writes it.
      - Required with O(state=present).
    type: path
  copy:
    description:
      - Path of the copy file. Its directory must exist. The file contains the ranges to copy and the suspended
        settings, and a later run continues from it.
      - Keep the file until the settings are restored.
    type: path
    required: true
  plan:
    description:
      - Path of the plan file. The module writes it when everything is copied. It refuses the plan of another copy.
      - Required with O(state=present).
    type: path
  receipt:
    description: Path of the receipt file of an earlier commit. If the receipt shows that the destination's groups have
      committed since because they were migrated, the plan does not change. Without it, nobody knows that groups were set, and
      that they have consumed since, so that the topics' settings stay suspended.
    type: path
  on_uncommitted:
    description:
      - What to do for a partition on which the group has no committed offset, if it has committed offsets on other
        partitions of the topic.
      - V(ignore) copies nothing for this group and commits nothing. The consumer starts according to its
        C(auto.offset.reset), and never gets records that were not copied.
      - V(start) copies the whole partition, and the group continues with its first record. No record is skipped.
      - V(end) copies nothing for this group, and the group continues after the copied records. All records that are on
        the partition now are skipped.
    type: str
    choices: [ignore, start, end]
    default: ignore
  append:
    description: Whether a destination topic may already contain records. The copied records are then appended to them, and the
      groups of this copy skip those that were there before.
    type: bool
    default: false
  live:
    description:
      - Whether producers may still write to the source. The module determines the ends when it plans the copy,
        and does not copy records that are written later.
      - With V(false), the module fails if producers have written when everything is copied, or later, as long as not every
        group is set, because these groups would never get the records.
    type: bool
    default: false
  idle_wait:
    description:
      - How many seconds to wait before reading the ends of the source's partitions a second time. Both readings must be
        equal, unless O(live=true).
      - With O(state=absent), how many seconds to wait before reading the progress a second time, to detect a run on
        another machine.
    type: float
    default: 5
  max_bytes_per_second:
    description: How many bytes of keys, values and headers all Spark workers together may copy in a second. Unlimited by
      default.
    type: int
  on_lost_progress:
    description:
      - What to do if a destination partition has grown since the copy was planned, and the progress of the copy is lost
        because its groups were deleted or reset, or their offsets have expired (C(offsets.retention.minutes)). Copying on
        without the progress would repeat records.
      - V(fail) copies nothing, fails and names the partition.
      - V(rebuild) compares the copied records with the source, record by record, and continues after the last one. It
        fails if anything but the copy has written to the partition since the copy was planned, and names the first such
        offset.
    type: str
    choices: [fail, rebuild]
    default: fail
  restore_retention:
    description:
      - Restore the topics' suspended settings although groups have not consumed the backlog yet. The brokers may then
        delete records that groups have not consumed.
      - A run that finds that every group has consumed the backlog restores the settings without this option.
      - A setting that somebody has changed since is not restored. If another copy has written to the topic, too, its
        settings stay suspended, with a warning, until the progress of that copy is deleted. Then run this copy again.
      - If everything is copied and O(plan) exists, such a run contacts only the destination, does not read the snapshot
        and does nothing else. The source may have grown or be gone, and its groups may have expired.
    type: bool
    default: false
notes:
  - The module keeps its progress in consumer groups, and writes with transactional IDs, whose names begin with
    C(streamshift-). The run that finds that every group has consumed the backlog deletes these groups.
  - The user needs the ACLs GROUP READ and DELETE and TRANSACTIONAL_ID WRITE on the prefix C(streamshift-). On the
    destination, the user needs TOPIC READ, WRITE, DESCRIBE_CONFIGS and ALTER_CONFIGS on the topics, TOPIC CREATE if
    topics are missing, and GROUP DESCRIBE on the groups. On the source, the user needs TOPIC READ and DESCRIBE_CONFIGS
    on the topics.
  - O(state=absent) needs GROUP DELETE and TRANSACTIONAL_ID WRITE on this prefix, TOPIC DESCRIBE on the topics, and
    DESCRIBE_CONFIGS and ALTER_CONFIGS on those whose settings it restores. O(remove_topics) also needs TOPIC READ and
    DELETE on the topics that it deletes, and GROUP READ on the prefix. With O(remove_topics), or to restore settings
    without the plan of a finished copy, it also needs GROUP DESCRIBE on all groups, and CLUSTER DESCRIBE, because
    brokers do not list all groups without it.
  - C(compression.type) in O(destination.client_config) compresses the copied records. By default, they are not compressed
    until a record comes that its topic takes only compressed. Then, gzip compresses it and those that follow, or zstd, if
    the record does not fit with gzip.
seealso: [{module: streamshift.kafka.kafka_offset_verify}, {module: streamshift.kafka.kafka_offset_commit}]
"""

EXAMPLES = r"""
- name: Save the committed offsets of the groups
  streamshift.kafka.kafka_group_offsets:
    cluster: "{{ hostvars.onprem.kafka_cluster }}"
    groups:
      - billing
    snapshot: "{{ inventory_dir }}/snapshot.json"

- name: Copy the records that the groups have not consumed
  streamshift.kafka.kafka_backlog_copy:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    snapshot: "{{ inventory_dir }}/snapshot.json"
    copy: "{{ inventory_dir }}/copy.json"
    plan: "{{ inventory_dir }}/plan.json"
    receipt: "{{ inventory_dir }}/receipt.json"
    max_bytes_per_second: 50000000

- name: Commit the offset of the first unconsumed record for each group
  streamshift.kafka.kafka_offset_commit:
    cluster: "{{ hostvars.cloud.kafka_cluster }}"
    plan: "{{ inventory_dir }}/plan.json"
    receipt: "{{ inventory_dir }}/receipt.json"

- name: Restore the topics' settings although the source is gone
  streamshift.kafka.kafka_backlog_copy:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    snapshot: "{{ inventory_dir }}/snapshot.json"
    copy: "{{ inventory_dir }}/copy.json"
    plan: "{{ inventory_dir }}/plan.json"
    restore_retention: true

- name: Give the copy up and delete the topics that it has created
  streamshift.kafka.kafka_backlog_copy:
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    copy: "{{ inventory_dir }}/copy.json"
    plan: "{{ inventory_dir }}/plan.json"
    state: absent
    remove_topics: true
"""

RETURN = r"""
copy: {description: Path of the copy file., returned: success, type: str, sample: /srv/onprem-to-cloud/copy.json}
plan:
  description: Path of the plan file; null if O(plan) is not set.
  returned: success
  type: str
  sample: /srv/onprem-to-cloud/plan.json
ranges:
  description: The copied range of each source partition, sorted.
  returned: O(state=present)
  type: list
  elements: dict
  contains:
    topic: {description: The topic at the source., type: str, sample: orders}
    partition: {description: "The partition, the same on both clusters.", type: int, sample: 3}
    destination_topic: {description: The topic at the destination., type: str, sample: orders}
    start: {description: The first offset of the range., type: int, sample: 41877}
    end: {description: The offset after the last one of the range., type: int, sample: 50000}
    records:
      description: How many records the range contains at most. Control records and records that compaction has removed
        do not count as records.
      type: int
      sample: 8123
    bytes:
      description: Approximate size of the range on the source's disks; null if the brokers do not return sizes, or if
        the source is not contacted.
      type: int
      sample: 1212416
    groups:
      description: The groups whose committed offset is the start of the range, or before it; empty if the source is not
        contacted.
      type: list
      elements: str
      sample: [billing]
    lost:
      description: How many offsets, from the first group's committed offset on, have already left the source's log.
      type: int
      sample: 0
    left:
      description: How many offsets are not copied because no group has a committed offset on the partition.
      type: int
      sample: 0
    reason:
      description: V(expired) if offsets have left the source's log, V(uncommitted) if offsets are not copied,
        V(nothing_to_copy) if the groups are at the end; otherwise null.
      type: str
      sample: null
    copied: {description: How many records all runs together have copied; null in check mode., type: int, sample: 8119}
topics:
  description: One line for each topic that the copy creates, and one for each topic with suspended settings.
  returned: O(state=present)
  type: list
  elements: str
  sample:
    - "orders: made by this copy, with 6 partitions and replication factor 3"
suspended:
  description: Destination topics whose settings are still suspended, sorted.
  returned: O(state=present)
  type: list
  elements: str
  sample: [orders]
entries:
  description: The planned offset of each group among the copied records. Offsets are null in check mode.
  returned: O(state=present)
  type: list
  elements: dict
  contains:
    group: {description: The group at the destination., type: str, sample: billing}
    topic: {description: The topic at the destination., type: str, sample: orders}
    partition: {description: The partition., type: int, sample: 3}
    offset: {description: The offset to commit., type: int, sample: 0}
    verdict: {description: "V(exact), V(requested) or V(uncommitted).", type: str, sample: exact}
    reason:
      description: V(expired) if unconsumed records had left the source's log; otherwise null.
      type: str
      sample: null
    repeats: {description: How many consumed records are repeated; V(0) for an exact offset., type: int, sample: 0}
    detail: {description: More about the reason., type: str, sample: ""}
removed_groups:
  description: The deleted groups that held the progress of the copy.
  returned: O(state=absent)
  type: list
  elements: str
  sample: [streamshift-copy-2f6b1c0a9d8e7f60-progress-0]
restored_topics:
  description: The topics whose settings were restored, sorted.
  returned: O(state=absent)
  type: list
  elements: str
  sample: [orders]
removed_topics: {description: "The deleted topics, sorted.", returned: O(state=absent), type: list, elements: str, sample: []}
summary:
  description: A human-readable table, as lines.
  returned: success
  type: list
  elements: str
  sample:
    - "topic   partition         start           end  records_at_most        MB  from"
    - "orders          0         41877         50000             8123       1.2  billing"
notes:
  description: What you should know of the copy, or of its removal, a line each. Each note is a warning, too.
  returned: success
  type: list
  elements: str
  sample:
    - "orders-1: 40 offsets expired at the source after the copy was planned, before they were copied."
note_kinds: {description: "Kinds of the RV(notes), in the same order.", returned: success, type: list, elements: str}
failure: {description: "What C(msg) says, as data. See C(docs/troubleshooting.md).", returned: failure, type: dict}
"""

import functools
import os
import typing as t

from ..module_utils._migration._backlog import copy_backlog as use_case
from ..module_utils._migration._backlog import removal
from ..module_utils._migration._backlog.planning import CopyOptions
from ..module_utils._model import backlog as file
from ..module_utils._model import offset_formats, plan, receipt
from ..module_utils._module import backlog_results, files, options
from ..module_utils._module.frame import Module


def backlog_copy(module: Module) -> dict[str, t.Any]:
    params, is_absent = module.params, module.params["state"] == "absent"
    if is_absent:
        options.check_all({**params, "source": None})
    else:
        options.check_all(
            params,
            lambda: options.check_unused(params, "only state absent removes something", "remove_topics"),
            *(functools.partial(files.check_writable, params[name]) for name in ("copy", "plan")),
        )
    result = _absent(module) if is_absent else _present(module)
    return {**result, "copy": params["copy"], "plan": params["plan"]}


def _present(module: Module) -> dict[str, t.Any]:
    params = module.params
    path = params["copy"]
    source, destination = options.both_clusters(params)
    mapping = options.mapping(params)
    save = files.saver(path, file.to_json, file.from_json, check=module.check_mode)
    with files.locked(path):
        planned = files.read(params["plan"])
        earlier = use_case.Earlier(
            files.parsed(path, file.from_json),
            None if planned is None else plan.from_json(planned, params["plan"]),
            files.parsed(params["receipt"], receipt.from_json),
        )
        if params["restore_retention"] and earlier.is_enough:
            outcome = use_case.restore_settings(earlier, destination, save)
        else:
            taken = files.parsed_required(
                params["snapshot"], offset_formats.read_snapshot, "snapshot", "kafka_group_offsets"
            )
            asked = options.filled(CopyOptions, params, spark=options.spark_options(params))
            outcome = use_case.copy_backlog(taken, source, destination, mapping, asked, earlier, save, module.say)
        now = outcome.plan
        made = planned if now is None or now == earlier.plan else plan.to_json(now)
        if made is not None and made != planned:
            files.write_document(params["plan"], made, plan.from_json, check=module.check_mode, most=files.LARGEST)
    result = backlog_results.backlog_result(outcome)
    return {"changed": outcome.changed or made != planned, **result, **module.warned(outcome.notes)}


def _absent(module: Module) -> dict[str, t.Any]:
    params = module.params
    path, destination = params["copy"], options.connection(params, "destination")
    if not os.path.exists(path):
        nothing = removal.Removal((), (), (), [])
        return {"changed": False, **backlog_results.removal_result(None, nothing), **module.warned(nothing.notes)}
    for name in filter(None, (path, params["plan"])):
        files.check_writable(name)
    with files.locked(path):
        known = files.parsed_required(path, file.from_json, "copy", "kafka_backlog_copy")
        removed = removal.remove_copy(
            known,
            files.parsed(params["plan"], plan.from_json),
            destination,
            params["remove_topics"],
            params["idle_wait"],
            module.check_mode,
            module.say,
        )
        if not module.check_mode:
            # The copy file last: a run that was killed begins with it.
            for name in filter(None, (params["plan"], path)):
                files.remove(name)
    return {"changed": True, **backlog_results.removal_result(known, removed), **module.warned(removed.notes)}


def main() -> None:
    spec = {
        **options.cluster_spec("source", required=False),
        **options.cluster_spec("destination"),
        **options.RENAMING,
        **options.SPARK,
        **options.PROGRESS,
        **options.spec_of(CopyOptions),
        "state": options.choices("present", "absent", default="present"),
        "remove_topics": {"type": "bool", "default": False},
        **options.optional("path", "snapshot", "plan", "receipt"),
        "copy": {"type": "path", "required": True},
    }
    Module(spec, required_if=[("state", "present", ("source", "snapshot", "plan"))]).run(backlog_copy)


if __name__ == "__main__":
    main()
