#!/usr/bin/python
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_group_offsets
short_description: Save committed offsets of consumer groups to a file
version_added: 0.1.0
description:
  - Writes a snapshot file with everything that the selected consumer groups of a cluster have committed - offsets,
    metadata and leader epochs.
  - This is the first step of a migration. Keep the file, because it records the committed offsets of every group before
    the migration.
  - Writes nothing to the cluster.
author: The streamshift.kafka authors (@streamshift)
extends_documentation_fragment:
  [streamshift.kafka._attributes, streamshift.kafka._attributes.files, streamshift.kafka._cluster,
   streamshift.kafka._selection, streamshift.kafka._selection.topics, streamshift.kafka._progress]
options:
  snapshot:
    description:
      - Path of the snapshot file. Its directory must exist.
      - The module leaves a file that already has the same content untouched. It fails if the file is O(backup), or a
        file of another kind, such as a receipt.
    type: path
    required: true
  backup:
    description:
      - Path of an earlier snapshot file of this cluster, or of a CSV file of the stock tool. The module takes from it what the
        selected groups had committed then, in place of what they have committed now. The groups need not exist any more.
      - A CSV file of three columns does not name its group. It has the offsets of the group that O(groups) names alone.
      - The module fails if the file is from another cluster, or if a selected topic was deleted and created again since. A
        CSV file does not say that, and files of brokers before Kafka 2.8 have no ids of topics; a note then names the topics.
      - O(removed), O(on_active_group), O(on_blocked), O(idle_wait) and O(stop_timeout) have no meaning then.
    type: path
  removed:
    description: Path of the file of M(streamshift.kafka.kafka_group_removal). The snapshot has the groups that it has
      removed as they were then, so a second run of a rename finds what the first has found. The file need not exist.
    type: path
  format:
    description:
      - Format of the snapshot file.
      - V(json) keeps everything.
      - V(csv) is the format that C(kafka-consumer-groups --reset-offsets --from-file) reads - C(topic,partition,offset)
        for one group, C(group,topic,partition,offset) for several groups. It omits metadata and leader epochs.
      - V(structured_streaming) is a value of C(startingOffsets) for a query of Spark Structured Streaming, for one group. A
        partition without a committed offset starts at the start of the log.
      - V(flink_sql) is the options of a table of Flink SQL for each topic, for one group. No module reads it as a snapshot.
    type: str
    choices: [json, csv, structured_streaming, flink_sql]
    default: json
  on_active_group:
    description:
      - What to do for a group in use, which will consume more than the snapshot says. A group is in use if it has
        members, if its committed offsets change within O(idle_wait), or if a transaction that commits offsets for it stays
        open for 5 seconds.
      - V(warn) includes the group and returns a warning. Records that it consumes after the snapshot are repeated after
        the migration.
      - V(include) includes the group without a warning, for rounds before the cut-over, while its consumers still run.
        RV(active_groups) names it.
      - V(skip_group) leaves the group out.
      - V(fail) fails and writes no snapshot.
      - Only V(skip_group) leaves out a group because of an open transaction. Otherwise, the snapshot names the transaction,
        and the plan blocks the partitions for which it commits offsets.
    type: str
    choices: [include, warn, skip_group, fail]
    default: warn
  on_blocked:
    description:
      - What to do for a group in O(groups) that has no committed offsets, such as a share group. Patterns never select
        such groups.
      - V(fail) fails and writes no snapshot.
      - V(skip_group) leaves the group out and returns a warning, as long as other groups are selected.
      - V(skip_partition) does the same as V(skip_group).
    type: str
    choices: [fail, skip_group, skip_partition]
    default: fail
  idle_wait:
    description:
      - How many seconds to wait before reading the committed offsets a second time, once for all groups together. The
        second reading becomes the snapshot.
      - This detects consumers that use C(assign). They never appear as members; only their committed offsets change,
        every 5 seconds by default.
      - If all selected groups have had members, the module does not wait, because their consumers commit nothing after they
        have left. M(streamshift.kafka.kafka_offset_commit) compares their committed offsets with the snapshot once more.
      - With V(0), the module reads the committed offsets once.
    type: float
    default: 0
  stop_timeout:
    description:
      - How many seconds to wait until nobody uses the groups any more, before O(on_active_group) applies to those that
        are still in use. While it waits, the module shows who is in them - client ids and hosts, if the brokers return
        them.
      - A group counts as stopped when it has no members, its committed offsets do not change within O(idle_wait), and no
        transaction that commits offsets for it is open.
      - With V(0), the module does not wait.
    type: float
    default: 0
seealso: [{module: streamshift.kafka.kafka_offset_translate}]
"""

EXAMPLES = r"""
- name: Wait five minutes at most until the consumers have stopped, and save where they have stopped
  streamshift.kafka.kafka_group_offsets:
    cluster: "{{ kafka_cluster }}"
    groups:
      - billing
    snapshot: "{{ inventory_dir }}/snapshot.json"
    on_active_group: fail
    idle_wait: 5
    stop_timeout: 300

- name: Save the committed offsets of two groups
  streamshift.kafka.kafka_group_offsets:
    cluster: "{{ kafka_cluster }}"
    groups:
      - billing
      - shipping
    snapshot: "{{ inventory_dir }}/snapshot.json"

- name: Save the committed offsets of all groups of a team as CSV for Kafka's own tools
  streamshift.kafka.kafka_group_offsets:
    cluster: "{{ kafka_cluster }}"
    group_patterns:
      - payments-.*
    exclude_topic_patterns:
      - .*-retry
    snapshot: "{{ inventory_dir }}/payments.csv"
    format: csv
"""

RETURN = r"""
snapshot: {description: Path of the snapshot file., returned: success, type: str, sample: /srv/onprem-to-cloud/snapshot.json}
groups:
  description: The groups in the snapshot, sorted by name.
  returned: success
  type: list
  elements: dict
  contains:
    name: {description: Name of the group., type: str, sample: billing}
    type:
      description: Type of the group, as Kafka names it; V(unknown) if the brokers do not return it, as those before Kafka 3.8.
      type: str
      sample: classic
    partitions: {description: Number of partitions with a committed offset., type: int, sample: 12}
active_groups:
  description: Selected groups that have members, whose committed offsets changed within O(idle_wait), or for which a
    transaction that commits offsets is open.
  returned: success
  type: list
  elements: str
  sample: []
members:
  description: Who is in the groups of RV(active_groups), if the brokers return it.
  returned: success
  type: list
  elements: dict
  contains:
    group: {description: Name of the group., type: str, sample: billing}
    client_id: {description: Client id of the consumer., type: str, sample: billing-worker-1}
    host: {description: Host that the consumer connects from., type: str, sample: 10.0.0.7}
skipped_groups:
  description: Those of RV(active_groups) that O(on_active_group=skip_group) has left out.
  returned: success
  type: list
  elements: str
  sample: []
left_out_groups:
  description: Groups that match a pattern but were left out because of an exclude pattern, their type or
    O(on_active_group), and groups in O(groups) that were left out because of O(on_blocked).
  returned: success
  type: list
  elements: str
  sample:
    - console-consumer-12345
left_out:
  description: One line for what was selected and is not in the snapshot - topics that an exclude pattern has taken out of a
    group, with their partitions, and groups that have no committed offsets, or whose topics are not selected. Not for groups
    in use.
  returned: success
  type: list
  elements: str
  sample: []
notes:
  description: What you should know of the snapshot, a line each. Each note is a warning, too.
  returned: success
  type: list
  elements: str
  sample:
    - "Left out by exclude_group_patterns: console-consumer-12345 (called like the console consumer's). To take them, name
      them in groups"
note_kinds: {description: "Kinds of the RV(notes), in the same order.", returned: success, type: list, elements: str}
failure: {description: "What C(msg) says, as data. See C(docs/troubleshooting.md).", returned: failure, type: dict}
"""

import collections
import os
import typing as t

from ..module_utils._migration import from_backup as backups
from ..module_utils._migration import take_snapshot as use_case
from ..module_utils._model import offset_formats, removed
from ..module_utils._model import snapshot as file
from ..module_utils._model.connection import Connection
from ..module_utils._model.errors import FileMissing, InvalidFile, InvalidInput
from ..module_utils._model.left_out import left_out
from ..module_utils._model.offset_formats import OffsetFormat
from ..module_utils._model.option_names import option_name
from ..module_utils._model.policies import OnActiveGroup, OnBlocked
from ..module_utils._model.selection import Selection
from ..module_utils._module import exports, files, options, results
from ..module_utils._module.frame import Module


def take(module: Module) -> dict[str, t.Any]:
    params = module.params
    path = params["snapshot"]
    selection = options.selection(params)
    options.check_all(
        params,
        lambda: files.check_replaceable(path, file.KIND),
        lambda: _check_backup_stays(params),
        selection.check,
    )
    connection = options.connection(params, "cluster")
    with files.locked(path):
        taken = _taken(module, connection, selection)
        text = exports.snapshot_text(taken.snapshot, connection, params["format"])
        before = files.read(path)
        if text != before and params["format"] == "json":
            files.write_document(path, text, file.from_json, check=module.check_mode)
        elif text != before and not module.check_mode:
            files.write(path, text)
    partitions = collections.Counter(entry.group for entry in taken.snapshot.entries)
    if params["format"] == "json":
        diff = results.file_diff(before, taken.snapshot, path, results.snapshot_lines, offset_formats.read_snapshot)
    else:  # their lines are readable as they are
        diff = results.file_diff(before, text, path, results.text_lines, lambda text, _path: text)
    return {
        "changed": text != before,
        "snapshot": path,
        "groups": [
            {"name": group.name, "type": group.type, "partitions": partitions[group.name]}
            for group in taken.snapshot.groups
        ],
        "active_groups": sorted(taken.seen.problems),
        "members": [
            {"group": group, **member._asdict()}
            for group, members in sorted(taken.seen.members.items())
            for member in members
        ],
        "skipped_groups": list(taken.skipped),
        "left_out_groups": sorted({*taken.left_out_groups, *taken.not_consumer_groups, *taken.skipped}),
        "left_out": left_out(taken.snapshot.left_out),
        **module.warned(taken.notes()),
        "diff": diff,
    }


def _check_backup_stays(params: dict[str, t.Any]) -> None:
    """Raise InvalidInput where the snapshot would replace the backup, and hold only what is selected of it."""
    backup = params["backup"]
    if backup is not None and os.path.realpath(backup) == os.path.realpath(params["snapshot"]):
        raise InvalidInput(
            f"{option_name('backup')} is {backup}, the file that the snapshot is written to",
            why="the backup would lose the groups and topics that are not selected",
            remedy=f"copy the file, and set {option_name('backup')} to the copy",
        )


def _taken(module: Module, connection: Connection, selection: Selection) -> use_case.TakenSnapshot:
    params = module.params
    if params["backup"] is not None:
        path = params["backup"]
        return backups.from_backup(_backup(path, selection), path, connection, selection)
    return use_case.take(
        connection,
        selection,
        OnActiveGroup(params["on_active_group"]),
        on_blocked=OnBlocked(params["on_blocked"]),
        idle_wait=params["idle_wait"],
        stop_timeout=params["stop_timeout"],
        say=module.say,
        removed=files.parsed(params["removed"], removed.from_json),
    )


def _backup(path: str, selection: Selection) -> file.Snapshot:
    """Raises InvalidFile, which never says to remove the file: nobody can make a backup again."""
    remedy = f"correct {option_name('backup')}, or use another backup"
    if (text := files.read(path)) is None:
        raise FileMissing(f"there is no backup file {path}", remedy=remedy)
    try:
        return offset_formats.read_backup(text, path, selection)
    except InvalidFile as exc:
        if text.strip() and not file.is_json(text):  # of CSV, the remedy names the line
            raise
        raise type(exc)(exc.what, why=exc.why, remedy=remedy) from exc


def main() -> None:
    spec = {
        **options.cluster_spec("cluster"),
        **options.SELECTION,
        **options.PROGRESS,
        "snapshot": {"type": "path", "required": True},
        **options.optional("path", "backup", "removed"),
        "format": options.choices("json", *OffsetFormat, default="json"),
        "on_active_group": options.choices(OnActiveGroup, default="warn"),
        "on_blocked": options.choices(OnBlocked, default="fail"),
        "idle_wait": {"type": "float", "default": 0},
        "stop_timeout": {"type": "float", "default": 0},
    }
    Module(spec).run(take)


if __name__ == "__main__":
    main()
