#!/usr/bin/python
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_migration_info
short_description: Run pre-migration checks of connectivity, ACLs, topics and files
version_added: 0.1.0
description:
  - Connects to both clusters and checks that the user has every ACL that a migration of the selected groups needs.
  - Reports a problem if source and destination are the same cluster, unless every group gets another name or
    another topic.
  - Reads no records and writes nothing.
author: The streamshift.kafka authors (@streamshift)
extends_documentation_fragment:
  [streamshift.kafka._attributes, streamshift.kafka._attributes.info_module,
   streamshift.kafka._cluster.source_destination, streamshift.kafka._selection, streamshift.kafka._selection.topics,
   streamshift.kafka._mapping, streamshift.kafka._mapping.policy, streamshift.kafka._mapping.topics,
   streamshift.kafka._mapping.groups, streamshift.kafka._spark]
options:
  commits:
    description: Whether the migration will write the groups at the destination, and not only read them.
    type: bool
    default: true
  creates_topics:
    description: Whether the migration will create topics that are missing at the destination, as
      M(streamshift.kafka.kafka_topic_promotion) does. They get no note then.
    type: bool
    default: false
  plan:
    description: Path of the plan file that the migration will use. The module reports a problem if the file is damaged,
      or if its directory is missing and cannot be created.
    type: path
  receipt:
    description: Path of the receipt file that the migration will use. The module reports a problem if the file is
      damaged or belongs to another destination cluster, or if its directory is missing and cannot be created.
    type: path
  removed:
    description: Path of the file of M(streamshift.kafka.kafka_group_removal). Groups that it has removed are checked as
      they were. The module reports a problem if the file is damaged or belongs to another cluster.
    type: path
  remove_source_groups:
    description: Whether the migration will remove the groups of the source afterwards, as
      M(streamshift.kafka.kafka_group_removal) does. The module reports a problem if the brokers cannot do that.
    type: bool
    default: false
  returns:
    description:
      - Path of the receipt of a migration that is to be taken back, from its destination to its source. O(source) is then the
        cluster that the groups leave, and O(destination) the one to which they return.
      - O(groups), O(topics), their patterns, O(topic_map), O(replication_policy) and O(repartitioned) are those of the
        migration. RV(return_names) has what they are for the return, and the module checks that.
      - The module fails if a group was not migrated, or if its migration is rolled back.
      - The module reports a problem if a group has committed later offsets since, although no consumer has ever joined it,
        unless O(on_rewind=keep).
    type: path
  on_conflict:
    description:
      - What to do if O(group_map) makes one group of several that have committed offsets on the same topic.
      - V(fail) reports a problem.
      - V(lowest) and V(highest) check them like all others.
    type: str
    choices: [fail, lowest, highest]
    default: fail
  copy:
    description:
      - Path of the copy file that M(streamshift.kafka.kafka_backlog_copy) will use. The module reports a problem if the
        file is damaged, or if the user lacks an ACL for writing the destination's topics.
      - Unless everything is copied already, it also reports a problem for each missing requirement of O(spark).
    type: path
  verify:
    description:
      - How the migration will verify the offsets.
      - V(records) needs Spark only for many records. The module reports a problem for each missing requirement of
        O(spark), if any of its suboptions is set. Otherwise M(streamshift.kafka.kafka_offset_verify) does without Spark.
      - V(anchors) needs neither Spark nor Java.
      - V(none) checks nothing more.
    type: str
    choices: [records, anchors, none]
    default: none
  on_active_group:
    description:
      - What to do for a source group that has members.
      - V(warn) checks it like any other group.
      - V(skip_group) leaves it out of the checks.
      - V(fail) reports a problem.
    type: str
    choices: [warn, skip_group, fail]
    default: warn
  on_blocked:
    description:
      - What to do for a group in O(groups) that has no committed offsets, such as a share group.
      - V(fail) reports a problem.
      - V(skip_group) leaves the group out of the checks, as long as other groups are selected.
      - V(skip_partition) does the same as V(skip_group).
    type: str
    choices: [fail, skip_group, skip_partition]
    default: fail
  on_rewind:
    description:
      - What to do if a receipt in a directory beside that of O(receipt) says that a selected group was migrated in the opposite
        direction, from this destination to this source.
      - V(fail) reports a problem, unless O(commits=false), because source and destination may be swapped.
      - V(keep) and V(rewind) make it one of the RV(notes).
    type: str
    choices: [fail, keep, rewind]
    default: fail
  assessment:
    description:
      - Path of a file that gets the destination's part of an assessment - the RV(problems), and what topics that are missing or
        differ mean for the groups, also if there are problems. The module writes the file in check mode, too.
      - M(streamshift.kafka.kafka_migration_run) with C(state=assessed) makes the assessment of such files.
    type: path
  on_problem:
    description:
      - What to do if there is a problem.
      - V(report) returns it.
      - V(fail) fails, and its message has a line for each problem. Any failure then says that nothing was written to a cluster.
    type: str
    choices: [report, fail]
    default: report
seealso: [{module: streamshift.kafka.kafka_group_offsets}]
"""

EXAMPLES = r"""
- name: Check everything that the migration needs
  streamshift.kafka.kafka_migration_info:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    groups:
      - billing
    on_problem: fail
"""

RETURN = r"""
cluster_ids:
  description: The cluster IDs of the clusters that answered.
  returned: success
  type: dict
  sample:
    source: 5L6g3nShT-eMCtK--X86sw
    destination: vPeOCWypqUOSepEvx0cbog
problems:
  description: What prevents the migration. The list is empty if the migration can start.
  returned: success, or with O(on_problem=fail)
  type: list
  elements: dict
  contains:
    kind: {description: "Kind of the problem, as in C(kind) of RV(failure).", type: str, sample: acl_missing}
    cluster:
      description: The cluster that the problem is about; null if it is about none, or both.
      type: str
      sample: source cluster broker1:9092
    group: {description: "The group, if the problem is about a single one.", type: str, sample: null}
    topic: {description: "The topic, if the problem is about a single one.", type: str, sample: null}
    partition: {description: "The partition, if the problem is about a single one.", type: int, sample: null}
    message:
      description: The whole problem in one line, with the remedy.
      type: str
      sample: "source cluster broker1:9092: missing ACL TOPIC READ on orders. Grant it to the user."
    remedy:
      description: What to do, if there is more to say than the problem itself.
      type: str
      sample: grant it to the user
notes:
  description:
    - One line for each thing that does not prevent the migration but that you should know before it starts. Examples
      are an ACL that only a rollback needs, or a topic that would block group-partitions because it is missing or has
      another number of partitions at the destination.
    - The module does not check topics that the copy of O(copy) creates, and none if there are RV(problems).
  returned: success
  type: list
  elements: str
  sample:
    - "topic orders does not exist at the destination: if MirrorMaker 2 copies it to a topic with a prefix, set
      replication_policy; otherwise create it and let the replication tool fill it, map it in topic_map, or exclude it in
      exclude_topic_patterns."
note_kinds: {description: "Kinds of the RV(notes), in the same order.", returned: success, type: list, elements: str}
settings:
  description:
    - Settings of topics that differ between the clusters, and because of which the destination may lose or refuse records,
      or offsets may be V(safe) and not V(exact). RV(notes) has the RV(settings[].message) of each.
    - The module compares topics that exist on both clusters. It does not check topics that the copy of O(copy) creates, none
      inside one cluster, none if there are RV(problems), and none if it may not read settings.
  returned: success
  type: list
  elements: dict
  contains:
    kind:
      description:
        - V(retention) if the oldest unconsumed record of a group is older than the destination keeps records.
        - V(timestamp_type) if only one cluster stamps records when it stores them (C(LogAppendTime)).
        - V(compaction) if only one cluster compacts the topic.
        - V(message_size) if the destination takes smaller batches of records than the source.
        - V(timestamp_before) or V(timestamp_after) if the source has records that are too old, or too far in the future,
          for the destination.
      type: str
      sample: retention
    topic: {description: The topic at the source., type: str, sample: orders}
    destination_topic: {description: The topic at the destination., type: str, sample: orders}
    setting: {description: The setting., type: str, sample: retention.ms}
    source:
      description: Its value at the source, a default included; null if the source does not have the setting.
      type: str
      sample: "604800000"
    destination: {description: Its value at the destination., type: str, sample: "3600000"}
    message:
      description: The difference in one line, with its consequence and what to do.
      type: str
      sample: >-
        topic orders: retention.ms is 604800000 at the source, 3600000 at the destination: on 2 partitions of the source, the
        oldest unconsumed record is older than the destination keeps records, and may be deleted there before its group
        consumes it. Raise it at the destination until the groups have caught up.
return_names:
  description: With O(returns), the options of M(streamshift.kafka.kafka_group_offsets) and
    M(streamshift.kafka.kafka_offset_translate) for the return. Otherwise null.
  returned: success, or with O(on_problem=fail)
  type: dict
  contains:
    groups:
      description: The groups, as the cluster that they leave calls them.
      type: list
      elements: str
      sample: [billing]
    topics:
      description: Their topics there, if only some were asked for. Empty for all topics.
      type: list
      elements: str
      sample: []
    exclude_topic_patterns:
      description: Topics that were excluded. Null if none were.
      type: list
      elements: str
      sample: null
    topic_map:
      description: What the topics are called at the cluster to which the groups return.
      type: list
      elements: dict
      sample: [{"name": "onprem.orders", "to": "orders"}]
    group_map:
      description: What the groups are called at the cluster to which they return.
      type: list
      elements: dict
      sample: []
    repartitioned: {description: Topics whose records are in other partitions., type: list, elements: str, sample: []}
    replication_policy:
      description: How MirrorMaker 2 names topics in this direction, if it copies in both. Otherwise null.
      type: dict
      sample: null
failure: {description: "What C(msg) says, as data. See C(docs/troubleshooting.md).", returned: failure, type: dict}
"""

import dataclasses
import functools
import glob
import os
import typing as t

from ..module_utils._migration import preflight as use_case
from ..module_utils._migration._committing.returning import ReturnNames, return_names
from ..module_utils._migration.destination_risks import assess_destination
from ..module_utils._model import backlog, plan, receipt, removed
from ..module_utils._model.errors import NOTHING_WRITTEN, InvalidFile, MigrationError
from ..module_utils._model.notes import Note, NoteKind
from ..module_utils._model.policies import OnActiveGroup, OnProblem, OnRewind
from ..module_utils._module import files, options
from ..module_utils._module.assessment_results import write_part
from ..module_utils._module.frame import Module
from ..module_utils._module.migration_directory import read_migrated, to_undo
from ..module_utils._module.results import note_results

_File = t.TypeVar("_File")


def look(module: Module) -> dict[str, t.Any]:
    if module.params["on_problem"] == OnProblem.FAIL:  # as the first task of a run
        module.closing = NOTHING_WRITTEN
    options.check_all(module.params, options.selection(module.params).check)
    params, migrated, names, left_out = _turned_round(module.params)
    source, destination = options.both_clusters(params)
    selection = dataclasses.replace(options.selection(params), of_receipt=names is not None)
    mapping = options.mapping(params)
    damaged: list[MigrationError] = []
    _read(params["plan"], plan.from_json, damaged)
    written = _read(params["receipt"], receipt.from_json, damaged)
    copied = _read(params["copy"], backlog.from_json, damaged)
    gone = _read(params["removed"], removed.from_json, damaged)
    spark = options.spark_options(params)
    lacking = use_case.lacking_for_verification(spark) if params["verify"] == "records" else []
    if params["copy"] and not (copied and copied.is_done):
        lacking = use_case.lacking_spark(spark)
    preflight = use_case.look(
        source,
        destination,
        selection,
        mapping,
        options.filled(use_case.Intent, params),
        copies=params["copy"] is not None,
        receipt=written,
        removed=gone,
    )

    def of_another(recorded: receipt.Receipt | None, path: str, *, returns: bool = False) -> list[MigrationError]:
        compared = source, destination, preflight.cluster_ids, functools.partial(_is_of_one_cluster, path)
        return [] if recorded is None else use_case.receipt_of_another(recorded, *compared, returns=returns)

    another = of_another(migrated, params["returns"], returns=True) or of_another(written, params["receipt"])
    if migrated and not (another or preflight.problems or params["on_rewind"] == OnRewind.KEEP):
        another = use_case.never_joined(migrated, source, preflight.groups)
    problems = list({str(problem): problem for problem in (*damaged, *another, *lacking, *preflight.problems)}.values())
    if params["assessment"]:
        part = assess_destination(
            source, destination, preflight.drafts, mapping, problems, preflight.cluster_ids, preflight.settings
        )
        write_part(params["assessment"], part)
    named = {*preflight.groups, *params["groups"]}  # of groups that do not exist at the source, nothing is found
    opposite = use_case.opposite(_opposite_beside(params["receipt"], preflight.cluster_ids), named, params["on_rewind"])
    if opposite:  # which asks the same question and says why
        problems = [problem for problem in problems if not problem.what.endswith(use_case.MAY_BE_SWAPPED)]
    told = [Note(NoteKind.OPPOSITE_DIRECTION, str(each)) for each in opposite]
    if params["commits"] and params["on_rewind"] == OnRewind.FAIL:
        problems, told = [*opposite, *problems], []
    result = {
        "cluster_ids": preflight.cluster_ids,
        "problems": [{**problem.place(), "message": str(problem), "remedy": problem.remedy} for problem in problems],
        **note_results([*left_out, *told, *preflight.notes]),
        "settings": [each._asdict() for each in preflight.settings],
        "return_names": names and names._asdict(),
    }
    if problems and params["on_problem"] == OnProblem.FAIL:
        message = "\n".join(map(str, [*told, *problems]))
        module.fail_json(msg=message, failure=problems[0].place(), **result)
    return {"changed": False, **result}


def _turned_round(
    params: dict[str, t.Any],
) -> tuple[dict[str, t.Any], receipt.Receipt | None, ReturnNames | None, list[Note]]:
    """The options, with a return's names instead of a selection; what it undoes, these names, and notes.

    Raises InvalidFile without a receipt.
    """
    path = params["returns"]
    if path is None:
        return params, None, None, []
    migrated = read_migrated(path)
    source, asked = str(options.connection(params, "source")), options.selection(params)
    meant, notes = to_undo(asked, migrated, path)
    if meant is None or not (meant.groups or meant.group_patterns):  # a return of nothing is none
        meant, notes = asked, []
    names = return_names(migrated, meant, options.mapping(params), source)
    named = {**names._asdict(), "group_patterns": [], "topic_patterns": [], "exclude_group_patterns": None}
    return {**params, **named}, migrated, names, notes


def _read(path: str | None, parse: t.Callable[[str, str], _File], damaged: list[MigrationError]) -> _File | None:
    """A file; adds to damaged why it cannot be used, or not be made. It is looked at again when it is."""
    if path is None:
        return None
    try:
        files.check_makeable(path)
        return files.parsed(path, parse)
    except InvalidFile as exc:
        damaged.append(exc)
        return None


def _is_of_one_cluster(path: str) -> bool:
    """Is the plan beside this receipt one inside one cluster, as that of a clone or a reset?"""
    made = files.parsed_or_none(os.path.join(os.path.dirname(path), "plan.json"), plan.from_json)
    return made is not None and made.is_within_one_cluster


def _opposite_beside(path: str | None, cluster_ids: t.Mapping[str, str]) -> t.Iterator[tuple[str, receipt.Receipt]]:
    """Receipts of the opposite direction in the directories beside that of this receipt, each with its path.

    There may be many large ones of this direction, of which the heads of the plans tell enough.
    """
    if path is None:
        return
    own = os.path.realpath(path)
    pattern = os.path.join(glob.escape(os.path.dirname(os.path.dirname(own))), "*", "receipt.json")
    for other in sorted(
        {os.path.realpath(found) for found in glob.iglob(pattern)} - {own}
    ):  # a link is no other migration
        plan_path = os.path.join(os.path.dirname(other), "plan.json")
        head = files.parsed_or_none(plan_path, plan.head_from_json)
        if head is None or not use_case.is_opposite(head, cluster_ids):
            continue
        made = files.parsed_or_none(plan_path, plan.from_json)
        written = files.parsed_or_none(other, receipt.from_json)
        if made is not None and written is not None:
            yield other, written


def main() -> None:
    spec = {
        **options.cluster_spec("source", "destination"),
        **options.SELECTION,
        **options.MAPPING,
        **options.SPARK,
        **options.spec_of(use_case.Intent),
        "on_active_group": options.choices(
            OnActiveGroup.WARN, OnActiveGroup.SKIP_GROUP, OnActiveGroup.FAIL, default="warn"
        ),
        **options.optional("path", "plan", "receipt", "removed", "returns", "copy", "assessment"),
        "verify": options.choices("records", "anchors", "none", default="none"),
        "on_rewind": options.choices(OnRewind, default="fail"),
        "on_problem": options.choices(OnProblem, default="report"),
    }
    Module(spec).run(look)


if __name__ == "__main__":
    main()
