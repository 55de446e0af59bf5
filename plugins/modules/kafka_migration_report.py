#!/usr/bin/python
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_migration_report
short_description: Write a report of a migration as HTML and Markdown
version_added: 0.2.0
description:
  - Reads the files of a migration, C(snapshot.json), C(plan.json), C(report.json) and C(receipt.json), and writes
    C(report.html) and C(report.md) beside them.
  - The report says what was asked for, by whom, and how it ended, which group-partitions are blocked or safe and why, what the
    verification found, what to do next, and how to roll back. C(report.html) also has every group-partition in a table
    that sorts and searches. It is a single file that loads nothing from a network.
  - A missing file is no failure. The report says which files are missing.
  - Never returns C(changed), because a report contains the time at which it was made and nothing depends on it.
  - Connects to no cluster unless O(source_cluster) or O(destination_cluster) is set. Then it reads where the logs begin
    and end, and no records, and the report has the lag at the source and draws where each group is in its logs. A cluster
    that does not answer, or refuses, never fails the module. The report notes what is missing, and why.
author:
  - The streamshift.kafka authors (@streamshift)
extends_documentation_fragment:
  - streamshift.kafka._attributes
  - streamshift.kafka._cluster.source_cluster
  - streamshift.kafka._cluster.destination_cluster
options:
  directory:
    description:
      - Directory of the migration's files. It must exist.
    type: path
    required: true
  files:
    description:
      - The files to read.
      - V(snapshot.json) says what the groups had committed at the source.
      - V(plan.json) says which offsets they get, and why.
      - V(report.json) says what the verification has found.
      - V(receipt.json) says what was written, and what was committed before.
    type: list
    elements: str
    choices: [snapshot.json, plan.json, report.json, receipt.json]
    default: [snapshot.json, plan.json, report.json, receipt.json]
  on_mismatch:
    description:
      - What to do if a file is damaged, of another version, or does not belong to the files before it, in the order of
        O(files). A plan belongs to a snapshot with its digest and its cluster, a report to a plan with its digest, and
        a receipt to a plan with its destination.
      - V(fail) fails and writes nothing.
      - V(leave_out) makes the report without this file, and says so in the report.
    type: str
    choices: [fail, leave_out]
    default: fail
  role:
    description:
      - Role that has made the files, without the name of the collection. The report then has the commands to go on and
        to roll back.
    type: str
  phase:
    description:
      - Phase of the role.
      - With V(rollback), the report says what of O(selection) is rolled back, or of the whole receipt if no group is
        selected. Give V(receipt.json) alone in O(files) then, because the plan that is there may be another run's.
    type: str
  source:
    description:
      - Name of the source cluster in the inventory.
    type: str
  destination:
    description:
      - Name of the destination cluster in the inventory. If it is the source, too, the report is about one cluster.
    type: str
  selection:
    description:
      - Which groups and topics were asked for. The keys are C(groups), C(group_patterns), C(exclude_group_patterns),
        C(topics), C(topic_patterns) and C(exclude_topic_patterns), and the values are lists.
    type: dict
    default: {}
  failure:
    description:
      - Message that ended the run, for the report of a failed run.
    type: str
  written:
    description:
      - How many committed offsets the run has changed, which M(streamshift.kafka.kafka_offset_commit) returns as C(written).
      - With V(0), the report says that the run had nothing to change, and that earlier runs have committed the offsets. If
        the run has failed, the report says that it has changed no committed offset.
      - Leave it out if it is not known.
    type: int
  left_out:
    description:
      - One line for each group that the run has left out because it was in use. The report lists them as exceptions, and says
        what to do about them.
    type: list
    elements: str
    default: []
  ran_by:
    description:
      - Who has started the run. The roles give the user of AWX or of the automation controller, and otherwise the user
        who runs C(ansible-playbook).
    type: str
  steps:
    description:
      - How long the steps of the run took, in their order.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description:
          - Name of the step.
        type: str
        required: true
      seconds:
        description:
          - How long it took.
        type: float
        required: true
      records:
        description:
          - How many records it has read or compared. The report then says how many these are in a second.
        type: int
attributes:
  check_mode:
    support: full
    details:
      - Check mode returns what the real run returns, and writes nothing.
  diff_mode:
    support: none
  idempotent:
    support: full
    details:
      - Never returns changed, but every run writes a report with the current time and the log ends of this time.
seealso:
  - module: streamshift.kafka.kafka_offset_translate
  - module: streamshift.kafka.kafka_offset_verify
  - module: streamshift.kafka.kafka_offset_commit
"""

EXAMPLES = r"""
- name: Write the report of a migration
  streamshift.kafka.kafka_migration_report:
    directory: "{{ inventory_dir }}/kafka-migrations/onprem-to-cloud"
    source: onprem
    destination: cloud
  register: migration

- name: Say where it is
  ansible.builtin.debug:
    msg: "{{ migration.headline }} See {{ migration.html }}"

- name: Write it with the lag and with the logs
  streamshift.kafka.kafka_migration_report:
    directory: "{{ inventory_dir }}/kafka-migrations/onprem-to-cloud"
    source_cluster: "{{ hostvars.onprem.kafka_cluster }}"
    destination_cluster: "{{ hostvars.cloud.kafka_cluster }}"

- name: Write it with the commands to go on and to roll back
  streamshift.kafka.kafka_migration_report:
    directory: "{{ inventory_dir }}/kafka-migrations/onprem-to-cloud"
    role: group_migration
    phase: migrate
    source: onprem
    destination: cloud
    selection:
      groups: [billing]
    ran_by: "{{ lookup('ansible.builtin.env', 'USER') }}"
"""

RETURN = r"""
html:
  description: Path of the HTML report. In check mode, where it would be.
  returned: success
  type: str
  sample: /srv/kafka-migrations/onprem-to-cloud/report.html
markdown:
  description: Path of the Markdown report. In check mode, where it would be.
  returned: success
  type: str
  sample: /srv/kafka-migrations/onprem-to-cloud/report.md
headline:
  description: How the run ended, in one sentence.
  returned: success
  type: str
  sample: "Committed: 66 of 66 group-partitions of 12 groups, 0 blocked."
notes:
  description: What else the report notes, such as files that are missing or left out, and clusters that did not answer.
  returned: success
  type: list
  elements: str
  sample: ["Not there: report.json."]
note_kinds:
  description: Kind of each of the RV(notes), in the same order. The page C(docs/troubleshooting.md) has an entry for each, with
    cause and remedy.
  returned: success
  type: list
  elements: str
  sample: [file_missing]
failure:
  description:
    - What has failed. C(msg) says the same in words, with the reason and the remedy.
    - The page C(docs/troubleshooting.md) has an entry for each C(kind). The other values are null unless the failure is about a
      single cluster, group, topic or partition.
  returned: failure
  type: dict
  sample: {kind: acl_missing, cluster: "source cluster broker1:9092", group: null, topic: null, partition: null}
"""

import datetime
import math
import os
import platform
import typing as t

from ansible.module_utils.ansible_release import __version__ as ansible_version

from ..module_utils._migration.log_bounds import read_log_bounds
from ..module_utils._model.errors import InvalidInput
from ..module_utils._model.policies import OnMismatch
from ..module_utils._module import files, options
from ..module_utils._module._report.figures import group_partitions
from ..module_utils._module._report.logs import KnownLogs
from ..module_utils._module._report.migration_files import NAMES, MigrationFiles, read_files
from ..module_utils._module._report.occasion import Occasion
from ..module_utils._module._report.page import html_page
from ..module_utils._module._report.steps import Step
from ..module_utils._module._report.story import story
from ..module_utils._module._report.ticket import markdown
from ..module_utils._module.frame import run
from ..module_utils._module.masking import Module
from ..module_utils._module.note_results import note_results

SELECTION = ("groups", "group_patterns", "exclude_group_patterns", "topics", "topic_patterns", "exclude_topic_patterns")


def write_report(module: Module) -> dict[str, t.Any]:
    params = module.params
    if params["written"] is not None:
        options.check_not_negative(params, "written")
    folder = os.path.abspath(params["directory"])
    paths = {name: os.path.join(folder, name) for name in ("report.html", "report.md")}
    for path in paths.values():
        files.check_writable(path)
    texts = {name: files.read(os.path.join(folder, name)) for name in NAMES if name in params["files"]}
    there = {name: text for name, text in texts.items() if text is not None}
    migration = read_files(there, folder, OnMismatch(params["on_mismatch"]))
    told = story(migration, _occasion(module, folder), _logs(params, migration))
    if not module.check_mode:
        files.write(paths["report.html"], html_page(told))
        files.write(paths["report.md"], markdown(told))
    return {
        "changed": False,
        "html": paths["report.html"],
        "markdown": paths["report.md"],
        "headline": told.headline,
        **note_results(told.notes),
    }


def _occasion(module: Module, folder: str) -> Occasion:
    params = module.params
    return Occasion(
        folder,
        datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        role=params["role"] or "",
        phase=params["phase"] or "",
        source=params["source"] or "",
        destination=params["destination"] or "",
        selection=_selection(params["selection"]),
        versions={"ansible-core": ansible_version, "Python": platform.python_version()},
        failure=params["failure"] or "",
        ran_by=params["ran_by"] or "",
        written=params["written"],
        left_out=params["left_out"],
        steps=[_step(step) for step in params["steps"]],
        files=[name for name in NAMES if name in params["files"]],
    )


def _step(given: dict[str, t.Any]) -> Step:
    step = Step(**given)
    if not (0 <= step.seconds < math.inf and (step.records is None or step.records >= 0)):
        raise InvalidInput(
            f"the step {step.name!r} of steps has {step.seconds} seconds and {step.records} records",
            remedy="give the time that it took, and leave records out where they are not known",
        )
    return step


def _logs(params: dict[str, t.Any], migration: MigrationFiles) -> KnownLogs:
    """The logs of the clusters that are given, those that an offset of this migration is in."""
    rows = group_partitions(migration)
    at_source = {at.partition for row in rows for at in row.source if at.offset is not None}
    at_destination = {row.partition for row in rows if row.offset is not None}
    clusters = (
        ("source_cluster", migration.source, at_source),
        ("destination_cluster", migration.destination, at_destination),
    )
    connections = {name: options.connection(params, name) for name, _id, _wanted in clusters if params[name]}
    read = {
        name: read_log_bounds(connections[name], cluster, wanted)
        for name, cluster, wanted in clusters
        if name in connections
    }
    source, destination = (read[name].ranges if name in read else None for name, _id, _wanted in clusters)
    return KnownLogs(source, destination, tuple(its.note for its in read.values() if its.note))


def _selection(given: dict[str, t.Any]) -> dict[str, list[str]]:
    """The selection as lists of texts, in the order of SELECTION."""
    for name, chosen in given.items():
        if name not in SELECTION or not isinstance(chosen, list):
            raise InvalidInput(
                f"selection has {name!r}, which is not a list of {', '.join(SELECTION)}",
                remedy="give the selection that the role was given",
            )
    return {name: [str(each) for each in given[name]] for name in SELECTION if given.get(name)}


def main() -> None:
    text: dict[str, t.Any] = {"type": "str"}
    clusters = options.cluster_spec("source_cluster", "destination_cluster")
    module = Module(
        argument_spec={
            **{name: {**spec, "required": False} for name, spec in clusters.items()},
            "directory": {"type": "path", "required": True},
            "files": {"type": "list", "elements": "str", "choices": list(NAMES), "default": list(NAMES)},
            "on_mismatch": {**options.choices(OnMismatch), "default": "fail"},
            "role": text,
            "phase": text,
            "source": text,
            "destination": text,
            "selection": {"type": "dict", "default": {}},
            "failure": text,
            "written": {"type": "int"},
            "left_out": {"type": "list", "elements": "str", "default": []},
            "ran_by": text,
            "steps": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "name": {"type": "str", "required": True},
                    "seconds": {"type": "float", "required": True},
                    "records": {"type": "int"},
                },
            },
        },
        supports_check_mode=True,
    )
    run(module, write_report)


if __name__ == "__main__":
    main()
