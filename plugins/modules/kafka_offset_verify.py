#!/usr/bin/python
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_offset_verify
short_description: Verify that groups continue with exactly the records that they have not consumed
version_added: 0.1.0
description:
  - Reads the records around a group's offset at the destination and around its committed offset at the source, and
    counts them by content. It does not search for offsets, and uses none of the search code of
    M(streamshift.kafka.kafka_offset_translate).
  - Up to 1,000,000 offsets of both clusters together take seconds. The module counts more records on Spark. If Spark is
    not installed and O(spark) is not set, it counts them itself, 1,000,000 offsets at a time, which takes longer. Of a
    single entry it reads at most so many then. A note C(not_counted) says how many it left out.
  - Fails if an unconsumed record would be skipped or is absent, or if more consumed records would be repeated than the
    plan says. Changes nothing.
  - With O(plan) alone, verifies the planned offsets; groups need not be committed yet. With O(receipt) as well,
    verifies the offsets that were committed.
  - With O(groups) or O(group_patterns), verifies what the groups have committed on both clusters now, with any tool,
    before or after a cut-over. A source partition of a repartitioned or merged topic on which a group has no committed
    offset counts as unconsumed.
author: The streamshift.kafka authors (@streamshift)
extends_documentation_fragment:
  [streamshift.kafka._attributes, streamshift.kafka._attributes.info_module,
   streamshift.kafka._cluster.source_destination, streamshift.kafka._selection, streamshift.kafka._selection.topics,
   streamshift.kafka._mapping, streamshift.kafka._mapping.policy, streamshift.kafka._mapping.topics,
   streamshift.kafka._mapping.groups, streamshift.kafka._spark, streamshift.kafka._progress]
options:
  plan:
    description:
      - Path of the plan file.
      - Mutually exclusive with O(match_on) and the options that select or map groups and topics.
    type: path
  receipt:
    description: Path of the receipt file. If it does not exist, nothing was committed.
    type: path
  copy:
    description:
      - Path of the copy file of M(streamshift.kafka.kafka_backlog_copy). Needs O(plan) and O(method=records). The
        module then also compares all copied records with the source, from the start of the copy on. Outside of what was
        copied, it reads nothing for the offsets of the plan of this copy, whatever O(limit) is.
      - The task fails if a record is missing, is there more than once, or has another place in the order. Records that
        other producers have written to the same partitions do not fail the task. Neither do copied records that the
        destination has deleted since, if no group needs them; O(receipt) shows which groups have consumed them.
      - Cannot be used with O(on_problem=report), because no offset is to blame for a copy that differs.
    type: path
  scope:
    description:
      - Which offsets of O(plan) to verify.
      - V(plan) verifies every planned offset, committed or not, whatever the groups have committed at the destination.
        This is the default without O(receipt).
      - V(to_commit) verifies only the offsets that M(streamshift.kafka.kafka_offset_commit) would write now. Spark does
        not start if there are none. O(on_blocked), O(on_rewind), O(on_advance) and O(on_active_group) determine which
        offsets the commit leaves alone; O(receipt) shows which groups were migrated earlier and have consumed since.
      - V(committed) verifies the offsets that were committed according to O(receipt), or that were correct already, and
        that the groups still have them or have consumed since. O(on_rewind) and O(on_advance) determine which offsets
        the commit has left alone. This is the default with O(receipt).
    type: str
    choices: [plan, to_commit, committed]
  method:
    description:
      - How to verify the offsets.
      - V(records) counts the records around every offset.
      - V(anchors) compares only the two records next to every offset with those in O(plan). It needs neither Spark nor
        Java. It detects neither skipped nor repeated records farther away from the offset. It also looks for the first
        unconsumed records of the source, and for those that O(plan) says to be absent; see O(on_absent).
    type: str
    choices: [records, anchors]
    default: records
  limit:
    description:
      - How many offsets to read before and after each offset, on both clusters. V(0) reads complete logs. The module reads up
        to three times as many, so that groups share what is read.
      - The module does not verify what is outside this range, and sets C(complete) to false for the entry in O(report).
        If O(plan) allows repeated records, it reads as many additional offsets, up to the same limit again.
      - If the limit lets too little be compared, such as where all records are equal, or if there seems to be a problem, the
        module reads both logs whole if they have at most 1,000,000 offsets together. A problem that O(on_absent) tolerates is
        no reason.
    type: int
    default: 10000
  incremental:
    description:
      - Whether to verify by O(method) only the entries of O(plan) that the plan file does not say to be verified so
        already, with O(limit) or a larger limit. Of the others, the module compares the two records next to the offset,
        as V(anchors) does.
      - The module notes in the plan file how it has verified each entry without a problem, but not in check mode.
        M(streamshift.kafka.kafka_offset_translate) keeps the note of an entry as long as it keeps the entry. So repeated
        runs verify only what has moved. The note changes the SHA-256 digest of the plan file.
      - Needs O(plan). Cannot be used with O(scope=committed) or O(copy).
    type: bool
    default: false
  match_on:
    description:
      - Without O(plan), which parts two records must have in common to count as the same record. A plan contains the
        parts that were compared.
      - By default, all parts; then all parts except the headers. A timestamp is used only to distinguish records that
        are otherwise equal.
      - V(key) compares the keys.
      - V(value) compares the values. Leave it out if the replication tool re-encodes values.
      - V(headers) compares the headers.
      - V(timestamp) compares the timestamps.
    type: list
    elements: str
    choices: [key, value, headers, timestamp]
  on_problem:
    description:
      - What to do if there is a problem.
      - V(fail) writes O(report) and then fails the task.
      - V(report) succeeds and returns the problems. M(streamshift.kafka.kafka_offset_commit) with the same O(report)
        does not commit these offsets.
    type: str
    choices: [fail, report]
    default: fail
  on_absent:
    description:
      - What to do if an unconsumed record is absent at the destination although later records are there. The
        replication tool has left the record out or lost it, and no offset brings it back.
      - V(fail) counts this as a problem, so the offset fails verification. The group would never get this record.
      - V(warn) reports this as a note. Choose it if the replication tool filters records on purpose. Records that were
        lost by accident are then only a note, too. Everything else is verified as before.
    type: str
    choices: [fail, warn]
    default: fail
  on_blocked:
    description:
      - With O(scope=to_commit), what the commit will do if the plan contains blocked group-partitions. Set it as for
        M(streamshift.kafka.kafka_offset_commit).
      - V(fail) verifies all offsets that are not blocked, although the commit will fail.
      - V(skip_group) does not verify groups that have a blocked group-partition.
      - V(skip_partition) verifies all offsets that are not blocked.
    type: str
    choices: [fail, skip_group, skip_partition]
    default: fail
  on_rewind:
    description:
      - With O(scope=to_commit) and O(scope=committed), what the commit does if a group has committed an offset at the
        destination that is after the planned offset and that no consumption explains, or has no committed offset any
        more. Set it as for M(streamshift.kafka.kafka_offset_commit).
      - V(fail) verifies the planned offset, although the commit will fail. Of what was committed, it is a problem.
      - V(keep) does not verify the planned offset.
      - V(rewind) verifies the planned offset. Of what was committed, it is a problem.
    type: str
    choices: [fail, keep, rewind]
    default: fail
  on_advance:
    description:
      - With O(scope=to_commit) and O(scope=committed), what the commit does if a group has committed an offset at the
        destination that is before the planned offset. Set it as for M(streamshift.kafka.kafka_offset_commit).
      - V(advance) verifies the planned offset. Of what was committed, it is a problem.
      - V(keep) does not verify the planned offset.
      - V(fail) verifies the planned offset, although the commit will fail. Of what was committed, it is a problem.
    type: str
    choices: [advance, keep, fail]
    default: advance
  on_active_group:
    description:
      - With O(scope=to_commit), what the commit will do for a group that has members at the destination. Set it as for
        M(streamshift.kafka.kafka_offset_commit).
      - V(fail) verifies the group's offsets, although the commit will fail.
      - V(skip_group) does not verify the group's offsets.
    type: str
    choices: [fail, skip_group]
    default: fail
  report:
    description:
      - Path of a JSON file for all findings.
      - The module also writes the file if there are problems, but not in check mode. The file contains names and
        offsets but no contents of records, and the SHA-256 digest of the verified plan file.
      - With O(scope=to_commit), an existing report of the same plan stays as it is if there is nothing left to commit.
    type: path
notes:
  - If the destination's topic is compacted, compaction may have removed an absent record. The module reports this as a
    note; it does not fail the task.
  - Records that the replication tool has not copied yet are reported as a note; they do not fail the task.
seealso: [{module: streamshift.kafka.kafka_offset_commit}]
"""

EXAMPLES = r"""
- name: Verify a plan before it is committed
  streamshift.kafka.kafka_offset_verify:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    plan: "{{ inventory_dir }}/plan.json"

- name: Verify the plans of several waves
  streamshift.kafka.kafka_offset_verify:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    plan: "{{ inventory_dir }}/{{ item }}/plan.json"
    report: "{{ inventory_dir }}/{{ item }}/report.json"
  loop: [wave1, wave2]

- name: Verify what would be committed, and let the commit refuse offsets that fail verification
  streamshift.kafka.kafka_offset_verify:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    plan: "{{ inventory_dir }}/plan.json"
    receipt: "{{ inventory_dir }}/receipt.json"
    scope: to_commit
    report: "{{ inventory_dir }}/report.json"
    on_problem: report

- name: Verify what was committed with the two records next to every offset
  streamshift.kafka.kafka_offset_verify:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    plan: "{{ inventory_dir }}/plan.json"
    receipt: "{{ inventory_dir }}/receipt.json"
    method: anchors

- name: Check what a cut-over would skip or repeat with the offsets that MirrorMaker 2 has committed
  streamshift.kafka.kafka_offset_verify:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    groups:
      - billing
    replication_policy:
      name: default
      source_alias: onprem
    limit: 0
"""

RETURN = r"""
verified:
  description: Number of group-partitions whose records were compared without a problem, or that have no records on
    either cluster.
  returned: always
  type: int
  sample: 12
incomplete:
  description: Number of the verified group-partitions whose records were compared only within O(limit), or not all,
    which a note C(not_counted) says. With O(method=anchors), 0.
  returned: always
  type: int
  sample: 0
without_records:
  description: Number of group-partitions that have no records to compare, or are not verified because other partitions of a
    repartitioned or merged topic have no offset, which a note C(not_counted) says.
  returned: always
  type: int
  sample: 0
requested:
  description: Number of group-partitions whose records were not compared, because an option, a reset or a merge of groups
    has chosen the offset.
  returned: always
  type: int
  sample: 0
compared:
  description: Number of the source's records that were found at the destination where they belong.
  returned: always
  type: int
  sample: 118734
problems:
  description: One line for each problem, the most serious first.
  returned: always
  type: list
  elements: str
  sample:
    - "billing orders-0: 1 unconsumed record is skipped: before the offset 51, first source offset 50, destination offset
      50"
findings:
  description: The same problems in the same order, as data.
  returned: always
  type: list
  elements: dict
  contains:
    kind:
      description:
        - Kind of the problem.
        - V(skipped) - unconsumed records are before the offset.
        - V(beyond_end) - the offset is after the end of the log.
        - V(repeated) - more consumed records are repeated than the plan says.
        - V(absent) - unconsumed records are not at the destination, although later ones are.
        - V(moved) - the committed offset is no longer the one that was committed.
        - V(record_differs) - a record next to the offset is not the one that was matched.
        - V(not_committed) and V(not_comparable) - a group, or a topic, has nothing to compare with.
        - V(changed_since_plan) - partitions were added to the topic, it was created again, or its log has gone back.
        - V(not_examined) - too many records differ.
      type: str
      sample: skipped
    group: {description: The group at the destination., type: str, sample: billing}
    topic: {description: The topic at the destination., type: str, sample: orders}
    partition:
      description: The partition; null if several partitions of a repartitioned or merged topic are verified together.
      type: int
      sample: 0
    count:
      description: How many records the problem concerns; null if the problem does not concern a number of records.
      type: int
      sample: 1
    source:
      description: The group's committed offsets at the source, each with C(topic), C(partition) and C(offset). Of a partition
        without one, the offset before which records count as consumed.
      type: list
      elements: dict
      sample:
        - topic: orders
          partition: 0
          offset: 50
    destination:
      description: The offsets that were verified, each with C(topic), C(partition) and C(offset).
      type: list
      elements: dict
      sample:
        - topic: orders
          partition: 0
          offset: 51
    detail:
      description: Description of the problem.
      type: str
      sample: "1 unconsumed record is skipped: before the offset 51, first source offset 50, destination offset 50"
kinds:
  description: Number of problems of each kind that occurs, the most serious kind first.
  returned: always
  type: dict
  sample:
    skipped: 1
    absent: 4
notes:
  description: One line for each observation that is not a problem.
  returned: always
  type: list
  elements: str
  sample:
    - "billing orders-1: 3 unconsumed records are still to be copied"
summary:
  description: The numbers of this result as a line.
  returned: always
  type: list
  elements: str
  sample:
    - "12 verified, 0 without records, 118734 records compared."
note_kinds: {description: "Kinds of the RV(notes), in the same order.", returned: always, type: list, elements: str}
plan_digest:
  description: SHA-256 digest of O(plan) as it is now; null without one.
  returned: always
  type: str
  sample: 0f343b0931126a20f133d67c2b018a3b5d0d9d0b3a5c7b7a6c2d3f4e5a6b7c8d
failure: {description: "What C(msg) says, as data. See C(docs/troubleshooting.md).", returned: failure, type: dict}
"""

import typing as t

from ..module_utils._model.match_on import PARTS
from ..module_utils._model.policies import OnAbsent, OnActiveGroup, OnAdvance, OnBlocked, OnProblem, OnRewind
from ..module_utils._module import options, verify_results
from ..module_utils._module.frame import Module
from ..module_utils._module.plan_verification import check_verification, scope, verify_as_asked

# A plan says all of this by itself.
_WITHOUT_PLAN = (*options.SELECTION, *options.MAPPING, "match_on")


def verify(module: Module) -> dict[str, t.Any]:
    check_verification(module.params)
    source, destination = options.both_clusters(module.params)
    verified, digest = verify_as_asked(module, source, destination)
    result = verify_results.verify_result(verified, digest, scope(module.params))
    if verified.problems and module.params["on_problem"] == OnProblem.FAIL:
        message = verify_results.failure(verified.problems, scope(module.params))
        module.fail_json(msg=message, failure=verify_results.failure_place(verified.problems[0], destination), **result)
    return {"changed": False, **result}


def main() -> None:
    spec = {
        **options.cluster_spec("source", "destination"),
        **options.SELECTION,
        **options.MAPPING,
        **options.SPARK,
        **options.PROGRESS,
        **options.optional("path", "plan", "receipt", "copy", "report"),
        "scope": options.choices("plan", "to_commit", "committed"),
        "method": options.choices("records", "anchors", default="records"),
        "limit": {"type": "int", "default": 10_000},
        "incremental": {"type": "bool", "default": False},
        "match_on": {"type": "list", "elements": "str", "choices": list(PARTS)},
        "on_problem": options.choices(OnProblem, default="fail"),
        "on_absent": options.choices(OnAbsent, default="fail"),
        "on_blocked": options.choices(OnBlocked, default="fail"),
        "on_rewind": options.choices(OnRewind, default="fail"),
        "on_advance": options.choices(OnAdvance, default="advance"),
        "on_active_group": options.choices(OnActiveGroup.FAIL, OnActiveGroup.SKIP_GROUP, default="fail"),
    }
    Module(
        spec,
        required_by={"receipt": ("plan",), "scope": ("plan",), "copy": ("plan",)},
        required_if=[("method", "anchors", ("plan",)), ("scope", "committed", ("receipt",))],
        mutually_exclusive=[("plan", name) for name in _WITHOUT_PLAN],
    ).run(verify)


if __name__ == "__main__":
    main()
