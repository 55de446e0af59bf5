#!/usr/bin/python
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_offset_translate
short_description: Find where consumer groups must stand on another cluster
version_added: 0.1.0
description:
  - The plan file holds, for everything in a snapshot, the destination's offset that neither skips nor repeats a record,
    found by comparing the records themselves; it does not matter which tool has copied them. Where few records do not
    prove an offset, both logs are counted, with Spark where they are long.
  - The verdict of each entry says what was proved. V(exact) - no unconsumed record is skipped, and no consumed one is
    repeated; C(evidence.certificate) in the plan names how that is known. V(safe) - none is skipped, at most so many are
    repeated, for this reason. V(blocked) - nothing could be proved, and nothing will be written. V(uncommitted) - the
    group has no commit for this partition. V(requested) - an option asked for this offset.
  - A verdict never makes this module fail; M(streamshift.kafka.kafka_offset_commit) applies the policies.
  - Topics in O(repartitioned) are read whole, with Spark.
  - Nothing is written to the clusters.
author:
  - The streamshift.kafka authors (@streamshift)
extends_documentation_fragment:
  - streamshift.kafka._attributes
  - streamshift.kafka._attributes.files
  - streamshift.kafka._source_destination
  - streamshift.kafka._mapping
  - streamshift.kafka._mapping.renaming
  - streamshift.kafka._selection
  - streamshift.kafka._selection.topics
  - streamshift.kafka._spark
  - streamshift.kafka._progress
options:
  source:
    description:
      - The Kafka cluster that the groups come from.
      - Where it is lost, leave it out and set O(strategy=mirror_maker).
    required: false
  snapshot:
    description:
      - Path of the snapshot file, as M(streamshift.kafka.kafka_group_offsets) writes it, in either format.
      - Required with O(source). Without it, O(groups) and its like tell what is to be planned, and only then.
    type: path
  groups:
    description:
      - Consumer groups, by name, where there is no O(source). A name beats O(exclude_group_patterns).
  snapshot_group:
    description:
      - The group that a CSV file of three columns is about.
    type: str
  plan:
    description:
      - Path of the plan file. Its directory must exist.
      - A file that says the same already is left untouched.
    type: path
    required: true
  receipt:
    description:
      - Path of the receipt file of M(streamshift.kafka.kafka_offset_commit).
      - Where it explains what the destination's groups have committed since, the plan stays as it is.
    type: path
  strategy:
    description:
      - V(records) matches the records.
      - V(identical) keeps the offsets. Inside one cluster that is always right. Between two, the records around every
        committed offset, at the start and at the end of the destination's log are compared first; it needs a replication
        tool that keeps offsets.
      - V(mirror_maker) matches the records, too, with what MirrorMaker 2 has noted of their offsets. Where timestamps do
        not lead to a record, as on topics with C(message.timestamp.type=LogAppendTime), this mostly saves counting both
        logs. Exact entries of an earlier plan in O(plan) are kept for groups that have not moved, while records that are
        read again confirm them. Needs O(replication_policy), and that MirrorMaker 2 has kept the order of records.
      - Without O(source), V(mirror_maker) takes MirrorMaker 2's checkpoints as they are. They are V(safe), with the
        reason C(checkpoint).
    type: str
    choices: [records, identical, mirror_maker]
    default: records
  match_on:
    description:
      - Which parts of a record make it the same record.
      - By default everything. A record whose timestamp or headers the replication tool or the broker has changed is
        compared without them; the plan says what all records were compared by.
      - For a replication tool that re-encodes values, leave out V(value).
    type: list
    elements: str
    choices: [key, value, headers, timestamp]
  wait_for_replication:
    description:
      - How many seconds to wait for records that are still to be copied, before entries are V(blocked) with the reason
        C(destination_lags).
    type: float
    default: 0
  on_uncommitted:
    description:
      - What to do for a partition that the group has not committed, of a topic of which it has committed others.
      - V(ignore) leaves it alone. A consumer with C(auto.offset.reset=latest) would then lose records.
      - V(start) and V(end) commit the destination's start or end.
      - Of topics in O(repartitioned) every partition at the destination gets an offset. What the group has not committed
        counts as unconsumed, with V(end) as consumed.
    type: str
    choices: [ignore, start, end]
    default: ignore
  on_expired:
    description:
      - What to do for a group that stands before the start of the source's log; the destination may still hold what the
        source has lost.
      - V(count_back) counts back from the first record that is on both, assuming that nothing else writes there.
      - V(start) takes the destination's start.
      - V(first_visible) takes the first record that is still on both, and says how many are skipped at most.
      - Of topics in O(repartitioned) V(count_back) takes the first record that only the destination has.
      - V(fail) blocks the entry.
    type: str
    choices: [count_back, start, first_visible, fail]
    default: count_back
  on_no_anchor:
    description:
      - What to do for a group at the end of a source partition from which every record has expired.
      - V(by_retention) takes the first record at the destination that is too young to have expired at the source.
      - V(start) and V(end) take the destination's start or end. V(fail) blocks the entry.
    type: str
    choices: [by_retention, start, end, fail]
    default: by_retention
  tail_check:
    description:
      - How to rule out that consumed records follow the offset, because the replication tool was restarted or has changed
        the order.
      - V(records) counts records where offsets do not prove it, up to O(search_limit), and with Spark up to O(spark_limit).
      - V(offsets) only compares how many offsets follow on both clusters, V(none) does not look. What is not proved is
        then V(safe) with the reason C(tail_not_counted), and consumed records may be repeated.
    type: str
    choices: [records, offsets, none]
    default: records
  search_limit:
    description:
      - How many records of one partition of one cluster may be read for one entry without Spark. Where few records do not
        prove an offset, logs of up to so many offsets are counted whole, and longer ones with Spark.
    type: int
    default: 100000
  spark_limit:
    description:
      - How many records of one partition Spark may read on both clusters together, to settle the entries that need more.
      - Beyond it, and where Spark cannot be used, they stay V(blocked) with the reason C(search_budget_spent), or V(safe) with
        the reason C(tail_not_counted). V(0) does without Spark.
    type: int
    default: 1000000000
seealso:
  - module: streamshift.kafka.kafka_group_offsets
  - module: streamshift.kafka.kafka_offset_commit
"""

EXAMPLES = r"""
- name: Find where the groups must stand
  streamshift.kafka.kafka_offset_translate:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    snapshot: "{{ inventory_dir }}/snapshot.json"
    plan: "{{ inventory_dir }}/plan.json"

- name: The same for topics that MirrorMaker 2 has prefixed, and for a replication tool that is still at work
  streamshift.kafka.kafka_offset_translate:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    snapshot: "{{ inventory_dir }}/snapshot.json"
    plan: "{{ inventory_dir }}/plan.json"
    replication_policy:
      name: default
      source_alias: onprem
    wait_for_replication: 60

- name: The same where records bear the time at which they came, with MirrorMaker 2's own notes
  streamshift.kafka.kafka_offset_translate:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    snapshot: "{{ inventory_dir }}/snapshot.json"
    plan: "{{ inventory_dir }}/plan.json"
    strategy: mirror_maker
    replication_policy:
      name: default
      source_alias: onprem
      target_alias: cloud

- name: The source is lost, and the groups go on from MirrorMaker 2's checkpoints
  streamshift.kafka.kafka_offset_translate:
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    group_patterns: [".*"]
    plan: "{{ inventory_dir }}/plan.json"
    strategy: mirror_maker
    replication_policy:
      name: default
      source_alias: onprem

- name: Plan new names for groups inside one cluster
  streamshift.kafka.kafka_offset_translate:
    source: "{{ kafka_cluster }}"
    destination: "{{ kafka_cluster }}"
    snapshot: "{{ inventory_dir }}/snapshot.json"
    plan: "{{ inventory_dir }}/plan.json"
    strategy: identical
    group_map:
      - pattern: "legacy-(.*)"
        to: "\\1"
"""

RETURN = r"""
plan:
  description: Path of the plan file.
  returned: success
  type: str
  sample: /srv/kafka-migrations/onprem-to-cloud/plan.json
entries:
  description: What the plan says, sorted by group, topic and partition.
  returned: success
  type: list
  elements: dict
  contains:
    group:
      description: The destination's group.
      type: str
      returned: success
      sample: billing
    topic:
      description: The destination's topic.
      type: str
      returned: success
      sample: orders
    partition:
      description: The partition.
      type: int
      returned: success
      sample: 3
    offset:
      description: Where the group must stand; null when the entry is blocked or uncommitted.
      type: int
      returned: success
      sample: 41877
    verdict:
      description: How much is proved.
      type: str
      returned: success
      sample: exact
    reason:
      description: Why the verdict is not V(exact).
      type: str
      returned: success
      sample: null
    repeats:
      description: How many consumed records are repeated at most; null when they were not counted.
      type: int
      returned: success
      sample: 0
    detail:
      description: What was found or assumed, and what to do about it.
      type: str
      returned: success
      sample: ""
digest:
  description: The SHA-256 digest of the plan file's bytes, for O(streamshift.kafka.kafka_offset_commit#module:plan_digest).
  returned: success
  type: str
  sample: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
kept:
  description: How many entries were kept from the plan that was there, with O(strategy=mirror_maker).
  returned: success
  type: int
  sample: 0
records_read:
  description: How many records of both clusters were read without Spark.
  returned: success
  type: int
  sample: 913
index:
  description: How much MirrorMaker 2 has noted, with O(strategy=mirror_maker).
  returned: success
  type: dict
  sample:
    checkpoints: 12
    syncs: 604
counts:
  description: How many entries have each verdict.
  returned: success
  type: dict
  sample:
    blocked: 0
    exact: 12
    requested: 0
    safe: 0
    uncommitted: 0
summary:
  description: A table for people, as lines.
  returned: success
  type: list
  elements: str
  sample:
    - "group    partitions        exact  at most repeated"
    - "billing          12           12                 0"
"""

import time
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Policy
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import checkpoints
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import translate as use_case
from ansible_collections.streamshift.kafka.plugins.module_utils._model import plan as file
from ansible_collections.streamshift.kafka.plugins.module_utils._model import receipt, snapshot
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput
from ansible_collections.streamshift.kafka.plugins.module_utils._model.replication_policy import ReplicationPolicy
from ansible_collections.streamshift.kafka.plugins.module_utils._module import digests, files, options, results
from ansible_collections.streamshift.kafka.plugins.module_utils._module.masking import Module
from ansible_collections.streamshift.kafka.plugins.module_utils._module.progress import progress_spec, reporter
from ansible_collections.streamshift.kafka.plugins.module_utils._module.run import run


def translate(module: Module) -> dict[str, t.Any]:
    params = module.params
    path = params["plan"]
    options.check_not_negative(params, "wait_for_replication", "search_limit", "spark_limit")
    _check_combination(params)
    files.check_writable(path)
    with files.locked(path):
        before = files.read(path)
        previous = file.from_json(before, path) if before is not None else None
        made = (_from_records if params["source"] else _from_checkpoints)(module, previous)
        plan = made.plan
        text = file.to_json(plan)
        if text != before and not module.check_mode:
            files.write(path, text)
    return {
        "changed": text != before,
        "plan": path,
        "digest": digests.digest(text),
        "kept": made.kept,
        "records_read": made.records_read,
        "index": made.index,
        "entries": [results.plan_row(entry) for entry in plan.entries],
        "counts": results.plan_counts(plan),
        "summary": results.plan_summary(plan),
        "diff": results.file_diff(before, text, path, results.plan_lines, file.from_json),
    }


def _check_combination(params: dict[str, t.Any]) -> None:
    """What Ansible's own rules for arguments would say less plainly."""
    if params["strategy"] == "mirror_maker" and not params["replication_policy"]:
        raise InvalidInput(
            "strategy mirror_maker needs to know how MirrorMaker 2 calls its topics", remedy="set replication_policy"
        )
    selected = [name for name in options.selection_spec() if params[name]]
    if params["source"] is None and params["strategy"] != "mirror_maker":
        raise InvalidInput(
            f"strategy {params['strategy']} reads the source, and there is none",
            remedy="set source and snapshot, or, where the source is lost and MirrorMaker 2 was at work, strategy mirror_maker",
        )
    if params["source"] is not None and params["snapshot"] is None:
        raise InvalidInput("there is no snapshot", remedy="take one with kafka_group_offsets, and set snapshot")
    if params["source"] is not None and selected:
        raise InvalidInput(
            f"{selected[0]} is for checkpoints, without source; the snapshot tells which groups and topics are meant",
            remedy="give it to kafka_group_offsets",
        )
    if params["source"] is None and params["snapshot"] is not None:
        raise InvalidInput(
            "a snapshot tells where groups stood at the source, and there is no source to find that in",
            remedy="set source, or groups or group_patterns in place of snapshot to take MirrorMaker 2's checkpoints",
        )


def _from_records(module: Module, previous: file.Plan | None) -> use_case.Translation:
    params = module.params
    taken = snapshot.read(
        files.read_required(params["snapshot"], "snapshot", "kafka_group_offsets"),
        params["snapshot"],
        params["snapshot_group"],
    )
    mapping = options.mapping(params)
    for pattern in mapping.idle_patterns({entry.partition.topic for entry in taken.entries}):
        module.warn(f"repartitioned: {pattern} matches no topic of these groups")
    return use_case.translate(
        taken,
        options.connection(params, "source"),
        options.connection(params, "destination"),
        mapping,
        _options(params),
        previous,
        _receipt(params["receipt"]),
        reporter(params["progress_file"]),
    )


def _from_checkpoints(module: Module, previous: file.Plan | None) -> use_case.Translation:
    params = module.params
    plan, count, notes = checkpoints.plan_from_checkpoints(
        options.connection(params, "destination"),
        options.replication_policy(params, "source_alias"),
        options.selection(params),
        options.mapping(params),
        params["on_uncommitted"],
        previous,
        _receipt(params["receipt"]),
    )
    for note in notes:
        module.warn(note)
    return use_case.Translation(plan, index={"checkpoints": count, "syncs": 0})


def _mirror(params: dict[str, t.Any]) -> ReplicationPolicy | None:
    """How MirrorMaker 2 calls its topics; those on the source are named after the target, and the other way round."""
    if params["strategy"] != "mirror_maker":
        return None
    at_source = params["replication_policy"]["offset_syncs_location"] == "source"
    return options.replication_policy(params, "source_alias", *(["target_alias"] if at_source else []))


def _options(params: dict[str, t.Any]) -> use_case.Options:
    match_on = tuple(params["match_on"] or ())
    policy = Policy(
        on_expired=params["on_expired"],
        on_no_anchor=params["on_no_anchor"],
        tail_check=params["tail_check"],
        with_timestamp=not match_on or "timestamp" in match_on,
        budget=params["search_limit"],
        now=time.time_ns() // 1_000_000,
    )
    return use_case.Options(
        params["strategy"],
        params["wait_for_replication"],
        params["on_uncommitted"],
        match_on,
        policy,
        options.spark_options(params),
        params["spark_limit"],
        _mirror(params),
    )


def _receipt(path: str | None) -> receipt.Receipt | None:
    text = files.read(path) if path else None
    return receipt.from_json(text, path or "") if text is not None else None


def main() -> None:
    module = Module(
        argument_spec={
            "source": {**options.cluster_spec("source")["source"], "required": False},
            **options.cluster_spec("destination"),
            **options.mapping_spec(),
            **options.selection_spec(),
            **options.spark_spec(),
            **progress_spec(),
            "snapshot": {"type": "path"},
            "snapshot_group": {"type": "str"},
            "plan": {"type": "path", "required": True},
            "receipt": {"type": "path"},
            "strategy": {"type": "str", "choices": ["records", "identical", "mirror_maker"], "default": "records"},
            "match_on": {"type": "list", "elements": "str", "choices": ["key", "value", "headers", "timestamp"]},
            "wait_for_replication": {"type": "float", "default": 0},
            "on_uncommitted": {"type": "str", "choices": ["ignore", "start", "end"], "default": "ignore"},
            "on_expired": {
                "type": "str",
                "choices": ["count_back", "start", "first_visible", "fail"],
                "default": "count_back",
            },
            "on_no_anchor": {
                "type": "str",
                "choices": ["by_retention", "start", "end", "fail"],
                "default": "by_retention",
            },
            "tail_check": {"type": "str", "choices": ["records", "offsets", "none"], "default": "records"},
            "search_limit": {"type": "int", "default": 100_000},
            "spark_limit": {"type": "int", "default": 1_000_000_000},
        },
        supports_check_mode=True,
    )
    run(module, translate)


if __name__ == "__main__":
    main()
