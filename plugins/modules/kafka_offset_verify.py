#!/usr/bin/python
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_offset_verify
short_description: Prove that groups go on with the records that they have not consumed
version_added: 0.1.0
description:
  - Reads what follows a group's offset at the destination, and what follows its offset at the source, and compares them
    record by record on Spark.
  - Fails when a record would be lost, and when more would be repeated than the plan says. Changes nothing.
  - With O(plan), what that plan says, before any group is set. With O(receipt) as well, what it says of the offsets that
    were committed. With O(groups) or O(group_patterns), whatever the groups have committed on both clusters now, by
    whichever tool, before a cut-over or after it.
author:
  - The streamshift.kafka authors (@streamshift)
extends_documentation_fragment:
  - streamshift.kafka._attributes
  - streamshift.kafka._attributes.info_module
  - streamshift.kafka._source_destination
  - streamshift.kafka._selection
  - streamshift.kafka._selection.topics
  - streamshift.kafka._mapping
  - streamshift.kafka._mapping.renaming
  - streamshift.kafka._spark
  - streamshift.kafka._progress
options:
  plan:
    description:
      - Path of the plan file. Not together with a selection, a mapping or O(match_on).
      - Without O(receipt), every offset that it holds is proved, whether it was committed or not, and wherever the groups
        stand at the destination.
    type: path
  receipt:
    description:
      - Path of the receipt file, which goes together with O(plan). Then the offsets that were committed are proved, and
        that the groups stand there or have consumed since.
      - Where there is no such file, nothing had to be written.
    type: path
  copy:
    description:
      - Path of the copy file of M(streamshift.kafka.kafka_backlog_copy), which goes together with O(plan) and
        O(method=records). Then everything that was copied is compared with the source, too, from where the copy began.
      - A record that is missing, is there more than once, or stands in another order fails the task. Records that others
        have written to the same partitions do not.
    type: path
  method:
    description:
      - V(records) compares the records that follow every offset.
      - V(anchors) compares only the two records beside every offset with those of O(plan). It needs neither Spark nor Java.
    type: str
    choices: [records, anchors]
    default: records
  limit:
    description:
      - After how many offsets of a partition the comparison may stop. V(0) compares everything to the end.
      - A record that is missing within that is looked for before the offset as far back as its timestamp allows. Where
        the destination has timestamps of its own, as far back as this limit.
    type: int
    default: 10000
  match_on:
    description:
      - Without O(plan), which parts of a record make it the same record. By default everything, then everything but the
        headers, then the same without the timestamp. A plan says by itself what it has matched.
    type: list
    elements: str
    choices: [key, value, headers, timestamp]
  report:
    description:
      - Path of a file for everything that was found, as JSON. It is written also when something is wrong, and not in check
        mode. It holds offsets and names, and nothing of the records.
    type: path
notes:
  - A record that is missing at the destination while later ones are there counts as lost. Where a copier leaves records
    out on purpose, use O(method=anchors).
  - Where the destination's topic is compacted, such a record may have been there. This is said, and no failure.
  - What the copier has still to write is said, and no failure.
seealso:
  - module: streamshift.kafka.kafka_offset_commit
"""

EXAMPLES = r"""
- name: Prove a plan before a group is set
  streamshift.kafka.kafka_offset_verify:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    plan: "{{ inventory_dir }}/plan.json"

- name: Prove what was committed
  streamshift.kafka.kafka_offset_verify:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    plan: "{{ inventory_dir }}/plan.json"
    receipt: "{{ inventory_dir }}/receipt.json"
    report: "{{ inventory_dir }}/report.json"

- name: See what a cut-over would lose or repeat with the offsets that MirrorMaker 2 has committed
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
proved:
  description: How many entries have records that were compared and are right, or have none on either side.
  returned: always
  type: int
  sample: 12
without_records:
  description: How many entries have nothing that could be compared.
  returned: always
  type: int
  sample: 0
compared:
  description: How many records of the source were found at the destination where they belong.
  returned: always
  type: int
  sample: 118734
problems:
  description: A line for each thing that is wrong.
  returned: always
  type: list
  elements: str
  sample:
    - "billing orders-0: 1 unconsumed record is left behind: before the offset 51, first source offset 50, destination offset 50"
notes:
  description: A line for each thing that is worth a word and not wrong.
  returned: always
  type: list
  elements: str
  sample:
    - "billing orders-1: 3 unconsumed records are still to be copied"
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog import verifying
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._proof import claims
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._proof import verify as use_case
from ansible_collections.streamshift.kafka.plugins.module_utils._model import backlog, plan, receipt, report
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput
from ansible_collections.streamshift.kafka.plugins.module_utils._module import files, options
from ansible_collections.streamshift.kafka.plugins.module_utils._module.progress import progress_spec, reporter
from ansible_collections.streamshift.kafka.plugins.module_utils._module.run import run

# A plan says all of this by itself.
_WITHOUT_PLAN = (*options.selection_spec(), *options.mapping_spec(), "match_on")


def verify(module: AnsibleModule) -> dict[str, t.Any]:
    params = module.params
    options.check_not_negative(params, "limit")
    if params["report"]:
        files.check_writable(params["report"])
    found = _anchors(params) if params["method"] == "anchors" else _records(module)
    if found.problems:
        count = len(found.problems)
        wrong = "One thing is wrong" if count == 1 else f"{count} things are wrong, the first of them"
        module.fail_json(
            msg=f"{wrong}: {found.problems[0]}. {_remedy(params)}.",
            **found._asdict(),
        )
    return {"changed": False, **found._asdict()}


def _remedy(params: dict[str, t.Any]) -> str:
    if params["receipt"]:
        return "Keep consumers stopped, and roll back with the receipt"
    if params["plan"]:
        return (
            "Do not commit this plan, but make it again and prove that; "
            "where it is committed, keep consumers stopped, and roll back with the receipt"
        )
    return "Keep consumers stopped, and correct what is committed"


def _records(module: AnsibleModule) -> use_case.Verified:
    params = module.params
    source, destination = options.connection(params, "source"), options.connection(params, "destination")
    spark = options.spark_options(params)
    if not (params["plan"] or params["groups"] or params["group_patterns"]):
        raise InvalidInput("nothing is to be proved", remedy="set plan, or groups or group_patterns")
    if params["plan"]:
        claimed = claims.of_plan(*_files(params), source, destination)
    else:
        match_on = tuple(params["match_on"] or ())
        claimed = claims.of_commits(source, destination, options.selection(params), options.mapping(params), match_on)
    for line in claimed.warnings:
        module.warn(line)
    say = reporter(params["progress_file"])
    found, told = use_case.records(claimed, source, destination, params["limit"] or None, spark, say)
    if params["copy"]:
        copied = backlog.from_json(files.read_required(params["copy"], "copy", "kafka_backlog_copy"), params["copy"])
        found.problems[:0] = verifying.differences(copied, source, destination, spark, say)
    if params["report"] and not module.check_mode:
        files.write(params["report"], report.to_json(told))
    return found


def _anchors(params: dict[str, t.Any]) -> use_case.Verified:
    if params["report"]:
        raise InvalidInput("method anchors makes no report", remedy="remove report, or use method records")
    source, destination = options.connection(params, "source"), options.connection(params, "destination")
    return use_case.anchors(*_files(params), source, destination)


def _files(params: dict[str, t.Any]) -> tuple[plan.Plan, receipt.Receipt | None]:
    """The plan, and the receipt of its commit: empty where nothing had to be written, None where no file is named."""
    made = plan.from_json(files.read_required(params["plan"], "plan", "kafka_offset_translate"), params["plan"])
    if not params["receipt"]:
        return made, None
    written = files.read(params["receipt"])
    if written is None:
        return made, receipt.Receipt(made.destination_id)
    return made, receipt.from_json(written, params["receipt"])


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **options.cluster_spec("source", "destination"),
            **options.selection_spec(),
            **options.mapping_spec(),
            **options.spark_spec(),
            **progress_spec(),
            "plan": {"type": "path"},
            "receipt": {"type": "path"},
            "copy": {"type": "path"},
            "method": {"type": "str", "choices": ["records", "anchors"], "default": "records"},
            "limit": {"type": "int", "default": 10_000},
            "match_on": {"type": "list", "elements": "str", "choices": ["key", "value", "headers", "timestamp"]},
            "report": {"type": "path"},
        },
        required_by={"receipt": ("plan",), "copy": ("plan",)},
        required_if=[("method", "anchors", ("plan",))],
        mutually_exclusive=[("plan", name) for name in _WITHOUT_PLAN],
        supports_check_mode=True,
    )
    run(module, verify)


if __name__ == "__main__":
    main()
