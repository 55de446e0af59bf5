#!/usr/bin/python
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_migration_run
short_description: Begin and end a run in the directory of a migration, report on it, and bundle it for support
version_added: 0.3.0
description:
  - With O(state=begun), writes C(lease.json) to the directory of a migration. Until the run ends, the modules of another
    run write nothing there. Each of them fails with the process that holds the directory.
  - A run is a process of C(ansible-playbook). If it was killed, the next run takes the directory over, on the same
    machine. A lease from another machine or container stays until somebody removes the file.
  - With O(state=ended), writes the report, keeps the files of the run in C(history/WHEN-PHASE/), where WHEN is the time
    (UTC) at which the run ends, such as C(2026-11-24T225301Z-migrate), and releases the directory. A report or a history
    that cannot be written never fails the run; RV(said) says why. The next run replaces the files in the directory, and
    leaves the copy as it is.
  - C(run.json) says what the run has done, step by step, in numbers alone. It is beside the report, and in each folder of the
    history.
  - The history has what is there of C(snapshot.json), C(plan.json), C(plan.csv), C(report.json), C(receipt.json),
    C(status.json), C(removed.json), C(copy.json), C(topics.json), C(topics-receipt.json), C(connect-receipt.json) and the
    report of this run, C(run.json), and C(SHA256SUMS) with the checksums of all. A folder appears when it is complete. A
    process that is killed, or a file system that is full, leaves no part of one. The directories have mode 0700, and the
    files 0600.
  - With O(state=reported), only writes the report. It says what was asked for, by whom, and how it ended, which
    group-partitions are blocked or safe and why, what the verification found, and how to roll back. With O(state=ended), it
    also says what is next, as the last lines of the run do.
    C(report.html) also has every group-partition in a table that sorts and searches. It is a single file that loads
    nothing from a network.
  - Connects to no cluster unless O(source_cluster) or O(destination_cluster) is set. Then it reads where the logs begin
    and end, and no records, and the report has the lag at the source and draws where each group is in its logs. A cluster
    that does not answer, or refuses, never fails the module. The report notes what is missing, and why.
  - With O(state=assessed), writes the assessment of an estate to C(assessment.json), C(assessment.html), C(assessment.md),
    C(groups.csv) and C(topics.csv). A file stays as it is if nothing but the time would differ.
  - The roles of this collection do all of this themselves.
author: The streamshift.kafka authors (@streamshift)
extends_documentation_fragment:
  [streamshift.kafka._attributes, streamshift.kafka._attributes.files, streamshift.kafka._cluster.source_cluster,
   streamshift.kafka._cluster.destination_cluster]
options:
  directory:
    description: Path of the directory. With O(state=begun), the module creates it with mode 0700 if it is missing and
      O(create=true).
    type: path
    required: true
  state:
    description:
      - V(begun) takes the directory for this run. The tasks of the run need RV(environment) as their environment.
      - V(ended) ends the run. The module does not fail if none was begun.
      - V(reported) writes C(report.html) and C(report.md). It asks for no lease, because nothing depends on a report.
      - V(bundled) writes O(archive) for somebody who helps you. It asks for no lease, because it changes no file of the
        migration.
      - V(assessed) writes an assessment of the O(parts). It asks for no lease either. Without O(parts), it only checks that
        the files can be written.
    type: str
    choices: [begun, ended, reported, bundled, assessed]
    default: begun
  create:
    description: Whether the module creates O(directory). With V(false), nothing is held if it is missing.
    type: bool
    default: true
  on_locked:
    description:
      - What happens if another run holds the directory.
      - V(fail) fails and names the other run.
      - V(leave) ends this run without a failure, and changes nothing. Use it if a timer starts the runs.
    type: str
    choices: [fail, leave]
    default: fail
  parts:
    description: With O(state=assessed), the files that O(streamshift.kafka.kafka_group_info#module:assessment) and
      O(streamshift.kafka.kafka_migration_info#module:assessment) name.
    type: list
    elements: path
    default: []
  plan:
    description: With O(state=assessed), path of a plan file of the groups. The assessment then has the verdicts of each
      group.
    type: path
  not_visible:
    description: With O(state=assessed), what else could not be seen, a sentence each.
    type: list
    elements: str
    default: []
  aside:
    description: Files of O(directory) that are copied to a temporary directory, RV(scratch), where a dry run works on
      them. Those that are missing are left out. Also in check mode.
    type: list
    elements: str
  archive:
    description:
      - With O(state=bundled), path of the archive (C(.tar.gz)). The module replaces no file there.
      - It has the JSON files of O(directory) and of its C(return/), C(run.json) of each run in the history, versions, and
        the brokers' versions and requests where O(source_cluster) and O(destination_cluster) are given.
      - In all of them, aliases stand for the names of groups, topics, hosts, users and clients, for metadata, ids, and
        digests. No message is in it, and no connection option.
    type: path
  key_file:
    description:
      - With O(state=bundled), path of the file with the key of the aliases and with what each one stands for. The module
        creates it, and later bundles with the same key have the same aliases. Do not give it away.
      - By default, C(support-key.json) in O(directory).
    type: path
  holder:
    description:
      - The process of C(ansible-playbook).
      - The collection's action plugin sets this option. Do not set it yourself.
    type: dict
    suboptions:
      host: {description: Name of the machine., type: str, required: true}
      namespace: {description: Namespace of process ids on this machine., type: str}
      process: {description: Id of the process., type: int, required: true}
      ticks: {description: "When the process has started, in clock ticks since the machine booted.", type: int}
      started: {description: "When the process has started, as Unix time in seconds.", type: float}
  collection:
    description:
      - Version of the collection, for C(run.json).
      - The collection's action plugin sets this option. Do not set it yourself.
    type: str
  scratch: {description: "RV(scratch) of this run, which the end removes.", type: path}
  results:
    description:
      - What the modules of the run have returned, by the name of the step and in the order of the steps - C(snapshot),
        C(topics), C(plan), C(preview), C(verify), C(commit), C(remove) and C(read back), or others. Give C({}\) for a
        step that has not run.
      - The report says how long the steps took, what has failed, what was written, and what was left out. Without it,
        O(state=reported) takes this from C(run.json), unless that is about another plan or another O(phase).
    type: dict
    default: {}
  report: {description: "With O(state=ended), whether to write the report.", type: bool, default: true}
  files:
    description:
      - The files that the report is about. A missing file is no failure. The report says which files are missing.
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
      - What the report does if a file is damaged, of another version, or does not belong to the files before it, in the
        order of O(files). A plan belongs to a snapshot with its digest and its cluster, a report to a plan with its
        digest, and a receipt to a plan with its destination.
      - V(fail) fails and writes no report.
      - V(leave_out) makes the report without this file, and says so in the report.
    type: str
    choices: [fail, leave_out]
    default: fail
  role:
    description: Role that has made the files, without the name of the collection. The report then has the command to roll
      back, and with O(state=ended) the one that is next.
    type: str
  returns:
    description: Whether the run returns groups. The report then calls the clusters by their names, and has no command
      that begins the run again, because it does not know the names by which the groups were asked for. A rollback in
      the directory C(return) of a migration is one of a return.
    type: bool
    default: false
  phase:
    description:
      - Phase of the role, in lower-case letters and underscores. O(state=ended) needs it. With O(state=begun), C(lease.json)
        has it, so that the status of a run that was stopped holds back only the groups of its plan.
      - V(sync) and V(promote_round) are the phases of rounds. The history counts them apart, and keeps only what they
        have written.
      - With V(rollback), the report says what of O(selection) is rolled back, or of the whole receipt if no group is
        selected. Give V(receipt.json) alone in O(files) then, because the plan that is there may be another run's.
    type: str
  source: {description: Name of the source cluster in the inventory., type: str}
  destination:
    description: Name of the destination cluster in the inventory. If it is the source, too, the report is about one
      cluster.
    type: str
  selection:
    description: Which groups and topics were asked for. The keys are C(groups), C(group_patterns),
      C(exclude_group_patterns), C(topics), C(topic_patterns) and C(exclude_topic_patterns), and the values are lists.
    type: dict
    default: {}
  settings:
    description:
      - What else the variables of the role say that decides what is next, for the report.
      - The roles set this option. Do not set it yourself.
    type: dict
    suboptions:
      on_blocked: {description: What a commit does about blocked group-partitions., type: str, default: fail}
      renames: {description: Whether groups get other names in their cluster., type: bool, default: false}
      live: {description: Whether producers go on while records are copied., type: bool, default: false}
      hidden: {description: Whether the source may hide committed offsets of the groups., type: bool, default: false}
      after_rollback: {description: "What there is to say besides after a rollback.", type: list, elements: str, default: []}
  refusal:
    description: Why a commit of the plan would be refused now, for the report.
    type: str
  ran_by:
    description: Who has started the run. The roles give the user of AWX or of the automation controller, and otherwise
      the user who runs C(ansible-playbook).
    type: str
  status:
    description: With O(state=ended), path of the status file of M(streamshift.kafka.kafka_group_readiness). If the run
      has failed, the module writes the reason there, and keeps the groups of the round before.
    type: path
  metrics: {description: The same of the metrics file of M(streamshift.kafka.kafka_group_readiness)., type: path}
  migration:
    description: Name of the migration, for the label C(migration) of the metrics. By default, the name of O(directory).
    type: str
  started:
    description: When the round has started, as Unix time in seconds, for the status file. By default, now.
    type: float
  keep:
    description:
      - How many folders the history has at most, with the new one. The module removes the oldest ones, and never anything
        that does not have the name of such a folder. With V(0), it keeps nothing.
      - Only a run that has changed something or failed, as O(results) say, keeps its files.
      - Folders of rounds do not count here. The module keeps the last 5 of them, or O(keep) if that is less. The same is
        true for the folders of runs that have failed and written nothing, whose names end in C(-failed).
      - A run that has written something before it failed keeps its place among the others. The module recognizes it
        because C(receipt.json), C(removed.json), C(copy.json), C(topics-receipt.json) or C(connect-receipt.json), which a
        run saves before its first write, differs from that in the newest folder that has it.
    type: int
    default: 20
  release:
    description:
      - With O(state=ended), whether to release the directory. Set V(false) after a round that others follow.
      - The task needs the environment of the run. Otherwise, the directory stays held.
    type: bool
    default: true
attributes:
  action:
    details:
      - The action plugin says which process holds the directory.
      - In the tasks of the collection's roles, it lets messages name the variables of the role.
      - It adds C(seconds) to the result, how long the module took.
  check_mode:
    details:
      - Check mode returns what the real run returns, but for the time in the name of the folder. It makes and removes
        temporary directories, and writes nothing else.
  diff_mode: {support: none}
  idempotent:
    details:
      - Returns C(changed) only if it has created the directory, and always with O(state=bundled), which makes a new archive
        each time. Nothing depends on a report or on the history.
seealso:
  - module: streamshift.kafka.kafka_offset_translate
  - module: streamshift.kafka.kafka_offset_verify
  - module: streamshift.kafka.kafka_offset_commit
"""

EXAMPLES = r"""
- name: Migrate by tasks of my own
  environment: "{{ begun.environment | default({}) }}"
  block:
    - name: Hold the directory
      streamshift.kafka.kafka_migration_run:
        directory: "{{ inventory_dir }}/kafka-migrations/onprem-to-cloud"
      register: begun

    - name: Take a snapshot
      streamshift.kafka.kafka_group_offsets:
        cluster: "{{ hostvars.onprem.kafka_cluster }}"
        groups: [billing]
        snapshot: "{{ inventory_dir }}/kafka-migrations/onprem-to-cloud/snapshot.json"
      register: taken
  always:
    - name: Report, keep the files, and release the directory
      streamshift.kafka.kafka_migration_run:
        directory: "{{ inventory_dir }}/kafka-migrations/onprem-to-cloud"
        state: ended
        phase: snapshot
        results:
          snapshot: "{{ taken | default({}) }}"

- name: Write the report of a migration
  streamshift.kafka.kafka_migration_run:
    directory: "{{ inventory_dir }}/kafka-migrations/onprem-to-cloud"
    state: reported
    source: onprem
    destination: cloud
  register: migration

- name: Say where it is
  ansible.builtin.debug:
    msg: "{{ migration.headline }} See {{ migration.html }}"

- name: Write it with the lag and with the logs, and with the command to roll back
  streamshift.kafka.kafka_migration_run:
    directory: "{{ inventory_dir }}/kafka-migrations/onprem-to-cloud"
    state: reported
    role: group_migration
    phase: migrate
    source: onprem
    destination: cloud
    selection:
      groups: [billing]
    source_cluster: "{{ hostvars.onprem.kafka_cluster }}"
    destination_cluster: "{{ hostvars.cloud.kafka_cluster }}"
    ran_by: "{{ lookup('ansible.builtin.env', 'USER') }}"

- name: Bundle the files for somebody who helps me
  streamshift.kafka.kafka_migration_run:
    directory: "{{ inventory_dir }}/kafka-migrations/onprem-to-cloud"
    state: bundled
    archive: "{{ inventory_dir }}/kafka-support.tar.gz"
    source_cluster: "{{ hostvars.onprem.kafka_cluster }}"
    destination_cluster: "{{ hostvars.cloud.kafka_cluster }}"
"""

RETURN = r"""
archive:
  description: Path of the archive. In check mode, where it would be.
  returned: O(state=bundled)
  type: str
  sample: /srv/kafka-support.tar.gz
key_file:
  description: Path of the file with the key, and with what each alias stands for.
  returned: O(state=bundled)
  type: str
  sample: /srv/onprem-to-cloud/support-key.json
bundled:
  description: Names of the files in the archive.
  returned: O(state=bundled)
  type: list
  elements: str
  sample: [bundle.json, plan.json, receipt.json, run.json, snapshot.json]
directory: {description: The directory., returned: success, type: str, sample: /srv/kafka/kafka-migrations/onprem-to-cloud}
held: {description: Whether this run holds the directory now., returned: O(state=begun), type: bool, sample: true}
environment:
  description: The environment by which the modules know that their task belongs to this run. Empty if the run does not hold
    the directory.
  returned: O(state=begun)
  type: dict
  sample: {"STREAMSHIFT_KAFKA_LEASE": "controller/pid:[4026531836]/4711/903114"}
reason:
  description: Why this run does not hold the directory, with the process of the other run; null if it does.
  returned: O(state=begun)
  type: str
  sample: null
scratch:
  description: The temporary directory with the copies of O(aside); null without O(aside).
  returned: O(state=begun)
  type: str
  sample: null
html:
  description: Path of the HTML report or assessment; null if none was written. In check mode, where it would be.
  returned: O(state=ended), O(state=reported) or O(state=assessed)
  type: str
  sample: /srv/onprem-to-cloud/report.html
markdown:
  description: Path of the Markdown report or assessment; null if none was written. In check mode, where it would be.
  returned: O(state=ended), O(state=reported) or O(state=assessed)
  type: str
  sample: /srv/onprem-to-cloud/report.md
headline:
  description: How the run ended, or the assessment, in one sentence; null if no report was written.
  returned: O(state=ended), O(state=reported) or O(state=assessed)
  type: str
  sample: "Committed: 66 of 66 group-partitions of 12 groups, 0 blocked."
folder:
  description: Path of the new folder of the history; null if nothing was kept.
  returned: O(state=ended)
  type: str
  sample: /srv/onprem-to-cloud/history/2026-11-24T225301Z-migrate
kept:
  description: Names of the files in the folder.
  returned: O(state=ended)
  type: list
  elements: str
  sample: [snapshot.json, plan.json, report.json, receipt.json, run.json, SHA256SUMS]
removed:
  description: Names of the folders that were removed.
  returned: O(state=ended)
  type: list
  elements: str
  sample: [2026-10-02T201134Z-plan]
released: {description: Whether the module has released the directory., returned: O(state=ended), type: bool, sample: true}
said:
  description: Where the report is, why there is none, and why the history lacks the run, a line each.
  returned: O(state=ended)
  type: list
  elements: str
  sample: ["Report: /srv/kafka-migrations/onprem-to-cloud/report.html"]
has_news:
  description: Whether the run has a new plan, has written something, has failed in a verification or as a round, or names
    groups that another tool has moved since it has set them.
  returned: O(state=ended)
  type: bool
  sample: true
digest:
  description: SHA-256 digest of C(plan.json); null if the run has made no plan.
  returned: O(state=ended)
  type: str
  sample: 4b825dc642cb6eb9a060e54bf8d69288fbee4904a8ad5e0b2c1d4d1a8e3f2c11
verdicts:
  description: How many group-partitions have each verdict; empty if the run has made no plan.
  returned: O(state=ended)
  type: dict
  sample: {"exact": 66, "blocked": 0}
written:
  description: How many committed offsets the run has changed, null if that is not known.
  returned: O(state=ended)
  type: int
  sample: 66
summary:
  description: What the run has shown of the plan and of the commit, a line each.
  returned: O(state=ended)
  type: list
  elements: str
  sample: ["66 of 66 offsets changed."]
left_out:
  description: What was asked for and is not done, a line each.
  returned: O(state=ended)
  type: list
  elements: str
  sample: []
verification_failed:
  description: Whether a verification has failed, or has found new problems.
  returned: O(state=ended)
  type: bool
  sample: false
notes:
  description: What you should know of the lease or of the report, a line each.
  returned: success
  type: list
  elements: str
  sample:
    - >-
      The last run in /srv/kafka-migrations/onprem-to-cloud ended without releasing it:
      process 4711 on this machine. This run takes it over.
risks:
  description: How many risks of each severity the assessment has.
  returned: O(state=assessed)
  type: dict
  sample: {blocker: 1, warning: 4, info: 7}
note_kinds: {description: "Kinds of the RV(notes), in the same order.", returned: success, type: list, elements: str}
failure: {description: "What C(msg) says, as data. See C(docs/troubleshooting.md).", returned: failure, type: dict}
"""

import functools
import time
import typing as t

from ..module_utils._model.policies import OnLocked, OnMismatch
from ..module_utils._module import options
from ..module_utils._module._report.migration_files import NAMES
from ..module_utils._module.assessment_results import write_assessment
from ..module_utils._module.directions import RoleSettings, places
from ..module_utils._module.frame import Module
from ..module_utils._module.report_writing import is_of_return, write_report
from ..module_utils._module.run_begin import begin_run
from ..module_utils._module.run_end import end_run, run_record_of, versions
from ..module_utils._module.run_outcome import RunOutcome, check_results
from ..module_utils._module.support_bundle import write_bundle


def migration_run(module: Module) -> dict[str, t.Any]:
    params = module.params
    if params["state"] == "begun":
        return begin_run(module)
    if params["state"] == "bundled":
        return write_bundle(module, versions(module))
    if params["state"] == "assessed":
        return write_assessment(module)
    check_results(params["results"])
    phrases = places(params["source"] or "", params["destination"] or "", returns=is_of_return(params))
    outcome = RunOutcome(params["results"], params["phase"] or "", *phrases, dry_run=module.check_mode)
    if params["state"] == "reported":
        made = functools.partial(run_record_of, module, outcome, time.time())
        return {"changed": False, "directory": params["directory"], **write_report(module, outcome, made)}
    return end_run(module, outcome)


def main() -> None:
    spec = {
        **options.cluster_spec("source_cluster", "destination_cluster", required=False),
        "directory": {"type": "path", "required": True},
        "state": options.choices("begun", "ended", "reported", "bundled", "assessed", default="begun"),
        "create": {"type": "bool", "default": True},
        "on_locked": options.choices(OnLocked, default="fail"),
        "parts": {"type": "list", "elements": "path", "default": []},
        **options.optional("path", "plan", "archive", "key_file", "scratch", "status", "metrics"),
        "not_visible": {"type": "list", "elements": "str", "default": []},
        "aside": {"type": "list", "elements": "str"},
        "holder": {
            "type": "dict",
            "options": {
                "host": {"type": "str", "required": True},
                "namespace": {"type": "str"},
                "process": {"type": "int", "required": True},
                "ticks": {"type": "int"},
                "started": {"type": "float"},
            },
        },
        **options.optional(
            "str", "collection", "role", "phase", "source", "destination", "ran_by", "refusal", "migration"
        ),
        "results": {"type": "dict", "default": {}},
        "report": {"type": "bool", "default": True},
        "files": {"type": "list", "elements": "str", "choices": list(NAMES), "default": list(NAMES)},
        "on_mismatch": options.choices(OnMismatch, default="fail"),
        "returns": {"type": "bool", "default": False},
        "selection": {"type": "dict", "default": {}},
        "settings": {"type": "dict", "options": options.spec_of(RoleSettings)},
        "started": {"type": "float"},
        "keep": {"type": "int", "default": 20},
        "release": {"type": "bool", "default": True},
    }
    Module(spec, required_if=[("state", "ended", ("phase",)), ("state", "bundled", ("archive",))]).run(migration_run)


if __name__ == "__main__":
    main()
