#!/usr/bin/python
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_offset_translate
short_description: Find the offsets at which consumer groups continue on another cluster
version_added: 0.1.0
description:
  - Writes a plan file. For each committed offset in a snapshot, the plan contains the destination offset that neither
    skips nor repeats a record.
  - Finds the offset by comparing the records themselves, whichever replication tool has copied them. If a few records
    do not prove an offset, the module counts both logs as a whole, and uses Spark if they are long.
  - Each planned offset has a verdict that says what is proved.
  - V(exact) - no unconsumed record is skipped and no consumed record is repeated. C(evidence.certificate) in the plan
    names the proof.
  - V(safe) - no unconsumed record is skipped. Consumed records may be repeated, at most as many as the plan says, for
    the reason that it gives.
  - V(blocked) - nothing is proved, and nothing will be committed.
  - V(uncommitted) - the group has no committed offset on this partition.
  - V(requested) - an option requested this offset.
  - A verdict never fails this module; M(streamshift.kafka.kafka_offset_commit) applies the policies.
  - Topics in O(repartitioned) are read completely, with Spark if they have more than O(search_limit) offsets.
  - Writes nothing to the clusters.
author: The streamshift.kafka authors (@streamshift)
extends_documentation_fragment:
  [streamshift.kafka._attributes, streamshift.kafka._attributes.files, streamshift.kafka._cluster.source_destination,
   streamshift.kafka._mapping, streamshift.kafka._mapping.policy, streamshift.kafka._mapping.topics,
   streamshift.kafka._mapping.groups, streamshift.kafka._selection, streamshift.kafka._selection.topics,
   streamshift.kafka._spark, streamshift.kafka._progress, streamshift.kafka._entries]
options:
  source:
    description:
      - The Kafka cluster that the groups come from.
      - If the source is lost, omit this option and set O(strategy=mirror_maker). The plan then uses MirrorMaker 2's
        checkpoints. Their verdict is V(safe) with the reason C(checkpoint), so consumed records are repeated.
      - MirrorMaker 2 before 3.4.1 writes checkpoints that may skip records. The module lowers them if it can read the
        offset-syncs at the destination (O(replication_policy.offset_syncs_location=target)).
      - Omit it with O(strategy=reset), which is about O(destination) alone.
    required: false
  snapshot:
    description:
      - Path of the snapshot file, as M(streamshift.kafka.kafka_group_offsets) writes it, in either format.
      - Required with O(source). Omit it only together with O(source); then select the groups with O(groups) or
        O(group_patterns), and the topics with O(topics) and O(topic_patterns).
    type: path
  restores:
    description: Whether O(snapshot) is a backup that its groups get back on the same cluster, with
      O(strategy=identical). Otherwise the module fails if O(source) and O(destination) are one cluster and a group
      would keep its name and its topic. Either way, offsets that keep their topic inside one cluster are V(requested)
      with O(strategy=identical) if O(snapshot) has no id of the topic, as CSV has none.
    type: bool
    default: false
  groups:
    description: Without O(source), names of consumer groups to select. O(exclude_group_patterns) does not apply to
      them.
  snapshot_group:
    description:
      - The name of the group in a snapshot that does not contain it, such as CSV of three columns. The group need not exist
        at the source.
      - Refused beside a snapshot that names other groups.
    type: str
  snapshot_format:
    description:
      - Format of the snapshot file. Offsets that another tool keeps outside of Kafka can be planned like those of a group.
      - V(auto) tells V(json) from V(csv).
      - V(json) and V(csv) are what M(streamshift.kafka.kafka_group_offsets) writes. V(csv) is also what
        C(kafka-consumer-groups) exports.
      - V(structured_streaming) is the checkpoint directory of a query of Spark Structured Streaming that reads Kafka, the file
        of its last finished batch in C(offsets), or a value of C(startingOffsets). Of a directory, the module reads the
        last batch that the query has finished. Stop the query first.
    type: str
    choices: [auto, json, csv, structured_streaming]
    default: auto
  plan:
    description:
      - Path of the plan file. Its directory must exist.
      - The module leaves a file that already has the same content untouched.
    type: path
    required: true
  report:
    description: Path of the report file of M(streamshift.kafka.kafka_offset_verify). The module removes the file if it
      changes O(plan), because the file is about the previous plan.
    type: path
  csv: {description: "Path of a file to write as CSV, as with O(export) and O(export_format=csv).", type: path}
  export:
    description: Path of a file with the planned offsets for another tool, which starts at the destination with them.
      Its directory must exist.
    type: path
  export_format:
    description:
      - Format of O(export).
      - V(csv) is what C(kafka-consumer-groups --reset-offsets --from-file) reads. It lacks blocked and uncommitted
        group-partitions, and all metadata; a warning counts both.
      - V(structured_streaming) is a value of C(startingOffsets) for a query of Spark Structured Streaming with a new
        checkpoint. A partition without an offset starts at the start of the log. One group only.
      - V(flink_sql) is the options of a table of Flink SQL for each topic. One group only.
      - With V(structured_streaming) and V(flink_sql), a blocked partition is an error, and nothing is written.
    type: str
    choices: [csv, structured_streaming, flink_sql]
    default: csv
  receipt:
    description:
      - Path of the receipt file of M(streamshift.kafka.kafka_offset_commit).
      - If the receipt shows that the destination's groups have committed since because they were migrated, the plan
        does not change.
    type: path
  promotion:
    description:
      - Path of the plan file of M(streamshift.kafka.kafka_topic_promotion), for topics that it will create, or to which it
        will add partitions, before this plan is committed.
      - These partitions are planned as if they existed and were empty. Their entries are marked as predicted. A
        partition that exists is planned as always.
      - Does not apply to topics in O(repartitioned).
    type: path
  strategy:
    description:
      - How to find the offsets.
      - V(records) compares the records.
      - V(identical) keeps the source's offsets. Inside one cluster this is always correct. Between two clusters it
        needs a replication tool that preserves offsets; the module first compares the records around every committed
        offset, where both logs have begun, and at the end of the destination's log.
      - V(mirror_maker) compares the records, too, and uses MirrorMaker 2's internal topics to find them. This needs
        O(replication_policy), and MirrorMaker 2 must have preserved the order of the records. If timestamps do not
        identify a record, as on topics with C(message.timestamp.type=LogAppendTime), it usually avoids counting both
        logs.
      - V(reset) moves the groups inside O(destination) to the offsets that O(resets) says. It needs neither O(source) nor
        O(snapshot). The verdict is V(requested), and C(detail) says how many offsets are skipped or repeated.
      - Where records are compared, exact offsets of an earlier O(plan) are kept for groups that have not moved, provided
        that the records around them, read again, confirm them.
    type: str
    choices: [records, identical, mirror_maker, reset]
    default: records
  resets:
    description:
      - Where the groups go. The first entry that fits a partition wins. A partition that none fits stays as it is. An entry
        that fits no partition is an error.
      - Required with O(strategy=reset), and only allowed with it.
      - A group gets offsets on the partitions on which it has committed some, as with C(--all-topics) of
        C(kafka-consumer-groups). If the group is in O(groups) and the topic in O(topics), it gets them on all partitions of
        the topic, and a group that does not exist is created.
      - Without O(topics) and O(topic_patterns), all topics are selected on which the groups have committed offsets.
    type: list
    elements: dict
    suboptions:
      topics:
        description:
          - Regular expressions for the topics that this entry is about. Each must match a whole name.
          - By default, all selected topics.
        type: list
        elements: str
      partitions:
        description: The partitions that this entry is about. By default, all of them.
        type: list
        elements: int
      to:
        description:
          - Where the groups go.
          - V(earliest) is the start of the log. Everything that the log has is read again.
          - V(latest) is the end of the log. All unconsumed records that are there now are skipped.
          - V(current) keeps the committed offset, with its metadata and leader epoch.
          - V(datetime) is the first record that is not older than O(resets[].value), or the end of the log if all records
            are older. Records with later offsets may be older.
          - V(duration) is V(datetime) with the time so long ago.
          - V(shift) moves the committed offset by O(resets[].value) offsets, forward or, if it is negative, back. A second
            run with the same O(receipt) does not move it again.
          - V(offset) is the offset O(resets[].value).
        type: str
        choices: [earliest, latest, current, datetime, duration, shift, offset]
        required: true
      value:
        description:
          - With V(datetime), a date with time and zone, as V(2026-11-22T18:00:00Z) or V(2026-11-22T18:00:00+02:00). A
            time without zone, or in the future, is an error.
          - With V(duration), an ISO 8601 duration of days, hours, minutes and seconds, as V(P1D) or V(PT2H30M). A day has 24
            hours. Years, months and weeks are an error.
          - With V(shift), a number of offsets. With V(offset), an offset.
        type: str
  on_out_of_range:
    description:
      - What to do if O(resets) asks for an offset outside of the log, or for a time before the first record of a log that
        has lost earlier ones.
      - V(block) blocks the group-partition with the reason C(out_of_range).
      - V(clamp) takes the nearest offset that the log has, as C(kafka-consumer-groups) does, and C(detail) says so.
    type: str
    choices: [block, clamp]
    default: block
  match_on:
    description:
      - Which parts two records must have in common to count as the same record.
      - By default, all parts. If the replication tool or the broker has changed a record's timestamp or headers, the
        module compares the record without them; the plan says which parts it has compared for all records.
      - V(key) compares the keys.
      - V(value) compares the values. Leave it out if the replication tool re-encodes values.
      - V(headers) compares the headers. Leave it out if the replication tool changes headers.
      - V(timestamp) compares the timestamps. Leave it out if the replication tool or the broker changes timestamps.
    type: list
    elements: str
    choices: [key, value, headers, timestamp]
  wait_for_replication:
    description: How many seconds to wait for records that the replication tool has not copied yet. After that, the
      group-partitions are V(blocked) with the reason C(destination_lags).
    type: float
    default: 0
  on_uncommitted:
    description:
      - What to do for a partition on which the group has no committed offset, if it has committed offsets on other
        partitions of the topic.
      - V(ignore) commits nothing. The consumer starts according to its C(auto.offset.reset); with C(latest), it skips
        records.
      - V(start) commits the start of the destination's log. No record is skipped.
      - V(end) commits the end of the destination's log. All records that are on the partition now are skipped.
      - In a topic of O(repartitioned), every partition at the destination gets an offset. Records of partitions on
        which the group has no committed offset count as unconsumed; with V(end), they count as consumed.
    type: str
    choices: [ignore, start, end]
    default: ignore
  on_conflict:
    description:
      - What to do if O(group_map) makes one group of several that have committed offsets on the same topic.
      - V(fail) fails and makes no plan.
      - V(lowest) takes the lowest committed offset of each partition. No record is skipped; a record that one of the
        other groups has consumed may be repeated. The verdict is V(safe) with the reason C(groups_merged), and
        C(repeats) says how many offsets may be repeated at most.
      - V(highest) takes the highest committed offset of each partition. The verdict is V(requested), and C(detail) says
        how many offsets one of the groups has not consumed. These records are skipped.
      - If one of the groups has committed an offset on a partition and another has not, V(lowest) blocks the partition,
        unless O(on_uncommitted) says that it has consumed nothing (V(start)) or everything (V(end)) there.
    type: str
    choices: [fail, lowest, highest]
    default: fail
  on_expired:
    description:
      - What to do if a group's committed offset is before the start of the source's log. Unconsumed records have then
        expired at the source, and the destination may still have them.
      - V(count_back) counts back from the first record that both clusters still have. It assumes that only the
        replication tool writes to the destination's topic, and that a restart of it has copied no earlier records than
        before. If another producer writes there, unconsumed records may be skipped.
      - In a topic of O(repartitioned), V(count_back) takes the first record that may be the copy of an expired one,
        because the source does not have it or has it less often.
      - V(start) takes the start of the destination's log. No record is skipped; consumed records that are still there
        are repeated.
      - V(first_visible) takes the first record that both clusters still have. Records that have expired at the source
        are skipped; the plan says how many at most.
      - V(fail) blocks the group-partition.
    type: str
    choices: [count_back, start, first_visible, fail]
    default: count_back
  on_no_anchor:
    description:
      - What to do for a group at the end of a source partition from which every record has expired.
      - V(by_retention) takes the first record at the destination that is too young to have expired at the source, and
        counts older records as consumed. It assumes that the source's present retention time has always applied. A record
        that is as young as the first unconsumed one at the source never counts as consumed.
      - V(start) takes the start of the destination's log. No record is skipped; all consumed records there are
        repeated.
      - V(end) takes the end of the destination's log. No record is repeated; unconsumed records that are already there
        are skipped.
      - V(fail) blocks the group-partition.
    type: str
    choices: [by_retention, start, end, fail]
    default: by_retention
  on_new_records:
    description:
      - For a return, where the source is the cluster that the groups were migrated to. What to do if the source has
        records that the destination does not have, because they were produced at the source since. Leave the option out for a
        migration, where a replication tool copies such records.
      - V(fail) blocks the group-partition with the reason C(new_records), their number and the first one's offset, unless
        the group has consumed them and the destination has a later record that it has consumed.
      - V(leave) sets the group after everything at the destination that it has consumed. The other records stay at the
        source, and the group does not get those that it has not consumed. C(detail) says how many these are. The verdict is
        V(safe) with the reason C(new_records).
      - The module reads up to O(search_limit) offsets of each log from the group's offset on. With V(fail), it blocks a
        group-partition with more.
    type: str
    choices: [fail, leave]
  search_limit:
    description:
      - How many records of one partition of one cluster the module may read without Spark to find one offset.
      - If a few records do not prove an offset, the module counts logs of at most this many offsets as a whole; longer
        logs need Spark. All partitions of a topic in O(repartitioned) count as one log.
    type: int
    default: 100000
  spark_limit:
    description:
      - How many records of one partition Spark may read on both clusters together, to find offsets that need more than
        O(search_limit).
      - The partitions of O(repartitioned) and of merged topics are read together, and may have as many on average.
      - If that is not enough, or if Spark cannot be used, the verdict is V(blocked) with the reason
        C(search_budget_spent), or V(safe) with the reason C(tail_not_counted). With V(safe), consumed records may be
        repeated.
      - With V(0), Spark is not used for this.
    type: int
    default: 1000000000
seealso: [{module: streamshift.kafka.kafka_group_offsets}, {module: streamshift.kafka.kafka_offset_commit}]
"""

EXAMPLES = r"""
- name: Find the offsets at which the groups continue
  streamshift.kafka.kafka_offset_translate:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    snapshot: "{{ inventory_dir }}/snapshot.json"
    plan: "{{ inventory_dir }}/plan.json"

- name: Find the offsets on topics that MirrorMaker 2 has prefixed and is still copying
  streamshift.kafka.kafka_offset_translate:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    snapshot: "{{ inventory_dir }}/snapshot.json"
    plan: "{{ inventory_dir }}/plan.json"
    replication_policy:
      name: default
      source_alias: onprem
    wait_for_replication: 60

- name: Find the offsets on topics with LogAppendTime, with the help of MirrorMaker 2's offset-syncs
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

- name: Continue from MirrorMaker 2's checkpoints because the source is lost
  streamshift.kafka.kafka_offset_translate:
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    group_patterns: [".*"]
    plan: "{{ inventory_dir }}/plan.json"
    strategy: mirror_maker
    replication_policy:
      name: default
      source_alias: onprem

- name: Plan to rename and merge groups inside one cluster, and write the offsets for kafka-consumer-groups, too
  streamshift.kafka.kafka_offset_translate:
    source: "{{ kafka_cluster }}"
    destination: "{{ kafka_cluster }}"
    snapshot: "{{ inventory_dir }}/snapshot.json"
    plan: "{{ inventory_dir }}/plan.json"
    strategy: identical
    group_map:
      - pattern: "legacy-(.*)"
        to: "\\1"
      - pattern: "billing-(eu|us)"
        to: billing
    on_conflict: lowest
    csv: "{{ inventory_dir }}/plan.csv"

- name: Find where a query of Spark Structured Streaming starts at the destination
  streamshift.kafka.kafka_offset_translate:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    snapshot: /srv/checkpoints/enrich-orders
    snapshot_format: structured_streaming
    snapshot_group: enrich-orders
    plan: "{{ inventory_dir }}/plan.json"
    export: "{{ inventory_dir }}/starting-offsets.json"
    export_format: structured_streaming

- name: Plan to read the orders since yesterday evening again
  streamshift.kafka.kafka_offset_translate:
    destination: "{{ kafka_cluster }}"
    groups: [billing]
    plan: "{{ inventory_dir }}/plan.json"
    strategy: reset
    resets:
      - topics: [orders]
        to: datetime
        value: "2026-11-21T18:00:00+01:00"

- name: Plan to read the last 1,000 offsets of each partition again, or as many as there are
  streamshift.kafka.kafka_offset_translate:
    destination: "{{ kafka_cluster }}"
    groups: [billing]
    plan: "{{ inventory_dir }}/plan.json"
    strategy: reset
    resets:
      - topics: [orders]
        to: shift
        value: -1000
    on_out_of_range: clamp
"""

RETURN = r"""
plan: {description: Path of the plan file., returned: success, type: str, sample: /srv/onprem-to-cloud/plan.json}
exports:
  description: Paths of the files for other tools that O(csv) and O(export) name.
  returned: success
  type: list
  elements: str
  sample: []
entries:
  description: The contents of the plan, sorted by group, topic and partition.
  returned: success
  type: list
  elements: dict
  contains:
    group: {description: The group at the destination., type: str, sample: billing}
    topic: {description: The topic at the destination., type: str, sample: orders}
    partition: {description: The partition., type: int, sample: 3}
    offset: {description: The offset to commit; null if the verdict is V(blocked) or V(uncommitted)., type: int, sample: 41877}
    verdict: {description: What is proved about the offset., type: str, sample: exact}
    reason: {description: Why the verdict is not V(exact)., type: str, sample: null}
    repeats: {description: How many consumed records are repeated at most; null if they were not counted., type: int, sample: 0}
    lost:
      description: How many records that the group has not consumed have expired on both clusters; null if that is not
        known.
      type: int
      sample: 0
    detail: {description: "What the module has found or assumed, and what you can do about it.", type: str, sample: ""}
    absent:
      description:
        - Unconsumed records that are known to be absent at the destination although later ones are there; null if none is.
        - C(records) says how many, C(source) from which source offset on, and C(exactly) whether there are no more.
      type: dict
      sample: null
    predicted:
      description: Whether the partition did not exist at the destination, and O(promotion) says that it will.
      type: bool
      sample: false
    source:
      description:
        - What the offset was planned from, by the names at the source. Several if partitions or topics were merged into
          this partition.
        - Each has C(group), C(topic), C(partition) and C(offset). C(offset) is the committed offset; null if there is
          none.
      type: list
      elements: dict
      sample:
        - group: billing
          topic: orders
          partition: 3
          offset: 41801
digest:
  description: SHA-256 digest of the plan file, for O(streamshift.kafka.kafka_offset_commit#module:plan_digest).
  returned: success
  type: str
  sample: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
kept:
  description: The number of entries that were kept from the earlier plan.
  returned: success
  type: int
  sample: 0
records_read:
  description: Number of records read without Spark, on both clusters together.
  returned: success
  type: int
  sample: 913
index:
  description: With O(strategy=mirror_maker), the number of checkpoints and offset-syncs that were read from MirrorMaker
    2's internal topics.
  returned: success
  type: dict
  sample:
    checkpoints: 12
    syncs: 604
counts:
  description: Number of entries with each verdict.
  returned: success
  type: dict
  sample:
    blocked: 0
    exact: 12
    requested: 0
    safe: 0
    uncommitted: 0
not_exact:
  description: One line for each entry with the verdict V(safe) or V(blocked), with the reason, and for each entry whose
    destination lacks unconsumed records. Partitions of one topic that are blocked by one cause are one line.
  returned: success
  type: list
  elements: str
  sample: []
left_out:
  description: One line for what was selected and gets no offset although nothing blocks it - topics that an exclude pattern has
    taken out of a group, groups without committed offsets, and the partitions of each topic that are V(uncommitted).
  returned: success
  type: list
  elements: str
  sample: []
summary:
  description: A human-readable table, as lines. After it, the first lines of RV(not_exact), what is V(requested), the first
    lines of RV(left_out), and the totals. Of more than 20 groups, those whose offsets are all V(exact) are counted in one line.
  returned: success
  type: list
  elements: str
  sample:
    - "group    partitions        exact  at_most_repeated"
    - "billing          12           12                 0"
    - "Total: 1 group, 12 group-partitions: 12 exact, 0 safe, 0 blocked; at most 0 records repeated."
notes:
  description: What you should know of the plan and of files for other tools, a line each. Each note is a warning, too.
  returned: success
  type: list
  elements: str
  sample:
    - "repartitioned: ordres matches no topic of these groups"
note_kinds: {description: "Kinds of the RV(notes), in the same order.", returned: success, type: list, elements: str}
failure: {description: "What C(msg) says, as data. See C(docs/troubleshooting.md).", returned: failure, type: dict}
"""

import typing as t

from ..module_utils._matching.evidence import Policy
from ..module_utils._migration._planning.strategy import TranslateOptions
from ..module_utils._model import plan as file
from ..module_utils._model.match_on import PARTS
from ..module_utils._model.notes import NoteKind
from ..module_utils._model.offset_formats import READ, OffsetFormat
from ..module_utils._model.policies import ReturnEntries
from ..module_utils._module import digests, exports, files, options, reset_making, results
from ..module_utils._module.frame import Module
from ..module_utils._module.plan_making import check_options, plan_as_asked, plan_result


def translate(module: Module) -> dict[str, t.Any]:
    params = module.params
    path = params["plan"]
    check_options(params)
    asked_for = exports.asked_for(params)
    with files.locked(path):
        before = files.read(path)
        previous = file.from_json(before, path) if before is not None else None
        made = plan_as_asked(params, previous, module.say)
        text = file.to_json(made.plan)
        exported = [exports.export_of(made.plan, path, form) for path, form in asked_for.items()]
        if text != before:
            if params["report"] and not module.check_mode:
                files.remove(params["report"])
            files.write_document(path, text, None, check=module.check_mode)
        diffs = [file_diff for each in exported if (file_diff := each.write(module.check_mode)) is not None]
    diff = results.file_diff(before, made.plan, path, results.plan_lines, lambda *_file: previous or made.plan)
    notes = [*made.notes, *(note for each in exported for note in each.notes)]
    return {
        "changed": text != before or bool(diffs),
        "plan": path,
        "exports": [each.path for each in exported],
        "digest": digests.digest(text),
        **plan_result(made, previous, ReturnEntries(params["return_entries"])),
        **module.warned(notes, in_summary=(NoteKind.ABSENT,)),
        "diff": [diff, *diffs] if exported else diff,
    }


def main() -> None:
    spec = {
        **options.cluster_spec("source", required=False),
        **options.cluster_spec("destination"),
        **options.MAPPING,
        **options.SELECTION,
        **options.SPARK,
        **options.PROGRESS,
        **options.RETURN_ENTRIES,
        **options.spec_of(TranslateOptions),
        **options.spec_of(Policy, "with_timestamp", "now"),
        **options.optional("path", "snapshot", "report", "csv", "export", "receipt", "promotion"),
        "snapshot_group": {"type": "str"},
        "snapshot_format": options.choices("auto", "json", *READ, default="auto"),
        "plan": {"type": "path", "required": True},
        "export_format": options.choices(OffsetFormat, default="csv"),
        **reset_making.SPEC,
        "match_on": {"type": "list", "elements": "str", "choices": list(PARTS)},
    }
    Module(spec).run(translate)


if __name__ == "__main__":
    main()
