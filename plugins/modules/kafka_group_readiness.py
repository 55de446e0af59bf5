#!/usr/bin/python
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_group_readiness
short_description: Show how far consumer groups are from being ready for a cut-over
version_added: 0.1.0
description:
  - Returns one entry for each group of a plan file - its lag at the source, the records that the replication tool has
    still to bring, the partitions whose offset is not exact, and whether somebody uses the group on either cluster.
  - A group is ready if no partition is blocked, if the group has committed the planned offsets at the destination, and
    if nobody uses it there. With O(report), no offset of the group may have failed verification either.
  - With O(directories) in place of O(plan), says instead what has become of every group that these migrations know - whether
    it is only planned, committed, consuming at the destination or at the source again, not started, moved by somebody else,
    rolled back or returned - and until when a way back is possible.
  - Can write the same to a status file, and to a metrics file for Prometheus's node exporter.
  - Reads no records and writes nothing to the clusters.
author: The streamshift.kafka authors (@streamshift)
extends_documentation_fragment:
  [streamshift.kafka._attributes, streamshift.kafka._attributes.files, streamshift.kafka._cluster.source_destination,
  streamshift.kafka._waves]
options:
  plan:
    description:
      - Path of the plan file of M(streamshift.kafka.kafka_offset_translate).
      - Give O(plan) or O(directories).
    type: path
  directories:
    description:
      - Directories of migrations between O(source) and O(destination), for RV(groups) in place of RV(readiness). The module
        reads C(plan.json), C(receipt.json), C(status.json) and C(return/receipt.json) there, as far as they exist.
      - The module refuses a directory that has neither a plan nor a receipt, damaged files, and files of other clusters. If
        several directories know a group, the one that has committed it last counts, and a note says so.
      - If O(source) does not answer, a note says so, and the status is what the files and O(destination) tell.
      - Mutually exclusive with O(plan), O(receipt) and O(report).
    type: list
    elements: path
  receipt:
    description: Path of the receipt file of M(streamshift.kafka.kafka_offset_commit), which need not exist. With it, planned
      offsets count as committed if the group has consumed since they were committed.
    type: path
  idle_wait:
    description: With O(directories), how many seconds are between two looks at the ends of the logs at O(source), at
      least, to see which topics producers still write there.
    type: float
    default: 2
  report:
    description:
      - Path of the report file that M(streamshift.kafka.kafka_offset_verify) has written for O(plan). Offsets that
        failed verification count as blocked, with the reason C(verification_failed).
      - The module refuses a report about another plan, or about an earlier state of the plan file.
    type: path
  status:
    description:
      - Path of the status file. The module replaces it, and takes from the earlier file since when groups have been ready, and
        what it says of groups that are not in O(plan), as those of other waves.
      - With O(directories), it has what the module returns. The module does not replace the status file of a round with it, and
        writes no C(status.json) into the directory of a migration.
    type: path
  metrics:
    description: Path of a text file for the textfile collector of Prometheus's node exporter. Its name must end in
      C(.prom). The module replaces it at once, with mode 0644.
    type: path
  migration:
    description: Name of the migration, for the label C(migration) of the metrics. By default, the name of the directory
      of O(plan), and V(all) with O(directories).
    type: str
  phase: {description: "What the run was, for the status file.", type: str, default: sync}
  started: {description: "When the round has started, as Unix time in seconds. By default, now.", type: float}
  changed_offsets: {description: How many offsets the round has committed., type: int, default: 0}
  wait_for_start:
    description:
      - How many seconds to wait at most until every group that is ready at the first look, and not in use at O(source), has
        members at the destination. Consumers that use C(assign) never show as members.
      - With V(0), the module does not wait.
    type: float
    default: 0
  wait_for_groups:
    description: The groups of O(plan) that O(wait_for_start) waits for, in place of those. A commit may have left out groups
      that are ready, such as one that was in use at O(source) then.
    type: list
    elements: str
attributes:
  diff_mode: {support: none}
  idempotent:
    details:
      - Never returns C(changed), although each call replaces the status file and the metrics file.
seealso: [{module: streamshift.kafka.kafka_offset_translate}]
"""

EXAMPLES = r"""
- name: Look how far the groups are
  streamshift.kafka.kafka_group_readiness:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    plan: "{{ inventory_dir }}/kafka-migrations/onprem-to-cloud/plan.json"
  register: groups

- name: Wait for the groups that are not ready
  ansible.builtin.assert:
    that: groups.not_ready | length == 0
    fail_msg: "{{ groups.summary | join('\n') }}"

- name: Look what has become of the groups of a migration
  streamshift.kafka.kafka_group_readiness:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    directories: ["{{ inventory_dir }}/kafka-migrations/onprem-to-cloud"]
  register: status
"""

RETURN = r"""
readiness:
  description: One entry for each group, sorted by name.
  returned: with O(plan)
  type: list
  elements: dict
  contains:
    group: {description: The group at the destination., type: str, sample: billing}
    ready: {description: Whether the group is ready., type: bool, sample: true}
    ready_since:
      description: Since when the group has been ready in every round, in UTC; null if it is not ready.
      type: str
      sample: "2026-11-22T20:15:00Z"
    source_groups: {description: The groups at the source., type: list, elements: str, sample: [billing]}
    lag:
      description: Number of offsets that the group has not consumed at the source and that are still there; null without a
        committed offset.
      type: int
      sample: 1204
    expired:
      description: Number of offsets that have expired at the source before the group consumed them.
      type: int
      sample: 0
    to_come:
      description: Number of consumed offsets that the replication tool has still to bring; null if it lags and the number
        is not known.
      type: int
      sample: 0
    absent:
      description: Number of unconsumed records that are known to be absent at the destination although later ones are there.
      type: int
      sample: 0
    verdicts:
      description: Number of partitions with each verdict that occurs.
      type: dict
      sample:
        exact: 12
    not_exact:
      description: The partitions whose verdict is V(safe), V(blocked) or V(requested), each with C(topic), C(partition),
        C(verdict), C(reason) and C(repeats).
      type: list
      elements: dict
      sample: []
    not_committed:
      description: Number of partitions for which the group has not committed the planned offset at the destination.
      type: int
      sample: 0
    in_use_at_source: {description: Whether the group has members at the source., type: bool, sample: true}
    in_use_at_destination: {description: Whether the group has members at the destination., type: bool, sample: false}
not_started:
  description: The groups that have no members at the destination, sorted by name.
  returned: with O(plan)
  type: list
  elements: str
  sample: []
not_ready:
  description: The groups that are not ready, sorted by name.
  returned: with O(plan)
  type: list
  elements: str
  sample: []
summary:
  description: One line for each group, the worst first, twenty at most, and how many more there are. With O(directories), which
    topics are still written at the source, how far the waves are, and a line for each state with what to do next.
  returned: success
  type: list
  elements: str
  sample:
    - "billing: ready since 2026-11-22T20:15:00Z; 12 of 12 partitions exact; lag 1,204 at the source, in use"
groups:
  description: One entry for each group that a directory knows, those that need somebody first.
  returned: with O(directories)
  type: list
  elements: dict
  contains:
    group: {description: The group at the destination., type: str, sample: billing}
    state:
      description:
        - V(consuming_at_source) - the group is committed at the destination, and consumes at the source again, or has since.
          Also a group whose plan has another offset than is written, or none, because a later run was refused.
        - V(moved) - its committed offsets are not those that were written, nor what it can have consumed since.
        - V(commits_gone) - some of them are gone, because they have expired, or somebody has removed or renamed the group,
          or deleted the topic.
        - V(unfinished) - a run was to write some or all of its committed offsets, and has not yet, because it was stopped
          before its end, or works still.
        - V(not_started) - it is committed, and nobody consumes on either cluster.
        - V(committed) - rounds have committed it, and its consumers have not been cut over.
        - V(planned) - nothing is committed.
        - V(rolled_back) and V(returned) - it was migrated, and that is undone.
        - V(consuming_at_destination) - it has members at the destination, or has consumed there.
      type: str
      sample: consuming_at_destination
    directory:
      description: The directory that has committed the group last.
      type: str
      sample: /srv/kafka-migrations/onprem-to-cloud
    source_groups: {description: The groups at the source., type: list, elements: str, sample: [billing]}
    in_use_at_source:
      description: Whether the group has members at the source; null if the source does not answer.
      type: bool
      sample: false
    in_use_at_destination: {description: Whether the group has members at the destination., type: bool, sample: true}
    source_lag: {description: "As RV(readiness[].lag).", type: int, sample: 1204}
    source_expired: {description: "As RV(readiness[].expired).", type: int, sample: 0}
    destination_lag: {description: "As RV(groups[].source_lag), at the destination.", type: int, sample: 3}
    destination_expired: {description: "As RV(groups[].source_expired), at the destination.", type: int, sample: 0}
    partitions: {description: Number of partitions that the plan and the receipt have for the group., type: int, sample: 12}
    committed:
      description: Number of partitions for which offsets were committed, and not rolled back.
      type: int
      sample: 12
    moved: {description: Number of partitions whose committed offset the receipt does not explain., type: int, sample: 0}
    left_out:
      description: Number of partitions that the group consumes at the source and that its migration has not set, because
        the plan blocks them, because they have failed verification, or because the group has no committed offset there at
        the destination. Of a group of which nothing is written, only those that are blocked or have failed verification.
        Of a group that is returned, those that the return has not set.
      type: int
      sample: 0
    committed_at:
      description: When the group was last committed, in UTC; null if it is not, or if an early version has written the receipt.
      type: str
      sample: "2026-11-22T20:15:00Z"
    rollback_until:
      description:
        - When the brokers of the source may delete the committed offsets of the group (C(offsets.retention.minutes) after
          RV(groups[].committed_at), at the latest). From then on, a rollback of the migration leaves the consumers without
          committed offsets there.
        - Null if the group has members at the source, if some of these offsets are gone already, if it is not committed, if the
          user may not read the settings of the brokers, or if these are older than Kafka 2.1. There, each committed offset
          expires so long after it was committed, and no request tells when that was.
      type: str
      sample: "2026-11-29T20:15:00Z"
    return_until:
      description:
        - When all records that were at the source at RV(groups[].committed_at) have expired, by the shortest C(retention.ms) of
          the group's topics. A group that has not consumed them at the destination by then does not get them after a return.
        - Null if none of the topics deletes records by age, if the group is not committed, or if the user may not read the
          topics' settings.
      type: str
      sample: "2026-11-29T20:15:00Z"
    next: {description: What to do next., type: str, sample: "nothing to do; to go back, run streamshift.kafka.return_groups"}
states:
  description: Number of groups in each state that occurs.
  returned: with O(directories)
  type: dict
  sample: {consuming_at_destination: 12}
table:
  description: A header, and a line for each of the RV(groups). A lag with C(*) is of a group that has members there.
  returned: with O(directories)
  type: list
  elements: str
  sample: []
still_written:
  description: The topics at the source that have grown while the module looked, as M(streamshift.kafka.kafka_offset_commit)
    returns them.
  returned: with O(directories)
  type: list
  elements: dict
  sample: []
waves:
  description: One entry for each of the O(waves), with its C(groups), the groups that it names and that do not exist
    (C(gone)), and the number of groups in each state (C(states)). V(open) is the state of a group that no directory knows.
  returned: with O(directories)
  type: list
  elements: dict
  sample: [{wave: billing, groups: [billing, checkout], gone: [], states: {open: 2}}]
in_no_wave:
  description: The groups that none of the O(waves) selects.
  returned: with O(directories)
  type: list
  elements: str
  sample: []
in_several_waves:
  description: The waves of each group that more than one selects.
  returned: with O(directories)
  type: dict
  sample: {}
notes:
  description: What you should know of the round, a line each. Each note is a warning, too.
  returned: always
  type: list
  elements: str
  sample:
    - "The clock of this machine has gone back since the last round: durations and ready_since may be wrong."
note_kinds: {description: "Kinds of the RV(notes), in the same order.", returned: always, type: list, elements: str}
failure: {description: "What C(msg) says, as data. See C(docs/troubleshooting.md).", returned: failure, type: dict}
"""

import dataclasses
import functools
import os
import typing as t

from ..module_utils._migration import look_at_readiness as use_case
from ..module_utils._migration._committing.conflicts import objected
from ..module_utils._model import documents, plan, readiness, receipt, status
from ..module_utils._module import digests, files, options
from ..module_utils._module.frame import Module
from ..module_utils._module.status_files import check_status_paths, last_status, write_status
from ..module_utils._module.status_results import status_result


def look(module: Module) -> dict[str, t.Any]:
    params = module.params
    options.check_all(
        params,
        lambda: check_status_paths(params),
        lambda: options.check_needed(params, "directories", "waves"),
        lambda: options.check_needed(params, "plan", "wait_for_start", "wait_for_groups"),
    )
    source, destination = options.both_clusters(params)
    if params["directories"] is not None:
        return status_result(module, source, destination)
    last = last_status(params["status"], params["started"])
    text = files.read_required(params["plan"], "plan", "kafka_offset_translate")
    made = plan.from_json(text, params["plan"])
    objections = digests.read_objections(params["report"], params["plan"], text).lines
    made = dataclasses.replace(made, entries=tuple(objected(made.entries, objections)))
    now = documents.utc_text(last.now)
    committed = files.parsed(params["receipt"], receipt.from_json)
    look_once = functools.partial(
        use_case.look_at_readiness, made, committed, source, destination, last.status.ready_since, now
    )
    groups = use_case.look_until_started(look_once, params["wait_for_start"], params["wait_for_groups"])
    rows = tuple(status.group_row(group) for group in groups)
    # A cut-over is no round, and may fail after this.
    good = last.now if params["phase"] == status.ROUNDS else last.status.last_good
    written = status.Status(params["phase"], last.started, last.now, params["changed_offsets"], None, good, rows)
    write_status(module, written.after(last.status.rounds), os.path.dirname(params["plan"]))
    return {
        "changed": False,
        "readiness": list(rows),
        "not_started": [row["group"] for row in rows if not row["in_use_at_destination"]],
        "not_ready": [row["group"] for row in rows if not row["ready"]],
        "summary": readiness.readiness_lines(groups),
        **module.warned(last.notes),
    }


def main() -> None:
    spec = {
        **options.cluster_spec("source", "destination"),
        **options.optional("path", "plan", "receipt", "report", "status", "metrics"),
        "directories": {"type": "list", "elements": "path"},
        "waves": options.WAVES,
        "idle_wait": {"type": "float", "default": 2},
        "migration": {"type": "str"},
        "phase": {"type": "str", "default": "sync"},
        "started": {"type": "float"},
        "changed_offsets": {"type": "int", "default": 0},
        "wait_for_start": {"type": "float", "default": 0},
        "wait_for_groups": {"type": "list", "elements": "str"},
    }
    Module(
        spec,
        required_one_of=[("plan", "directories")],
        mutually_exclusive=[("directories", name) for name in ("plan", "receipt", "report")],
    ).run(look)


if __name__ == "__main__":
    main()
