#!/usr/bin/python
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_group_info
short_description: List consumer groups, their lag, and whether they can be migrated
version_added: 0.2.0
description:
  - Lists groups of a cluster with their type, state, members, topics, committed offsets and lag, and says which of them
    can be migrated now, and why others cannot.
  - The list shows what a migration would be about. Kafka does not return when an offset was committed.
  - Groups without ACL GROUP DESCRIBE do not appear, because brokers do not list them.
  - Writes nothing to the cluster, and reads no records unless O(read_records) or O(schema_registry) says so.
author: The streamshift.kafka authors (@streamshift)
extends_documentation_fragment:
  [streamshift.kafka._attributes, streamshift.kafka._attributes.info_module, streamshift.kafka._cluster,
   streamshift.kafka._selection, streamshift.kafka._waves, streamshift.kafka._http_service.connect,
   streamshift.kafka._http_service.schema_registry]
options:
  groups:
    description:
      - Names of groups to list. O(exclude_group_patterns) does not apply to them.
      - The module fails if one of them does not exist.
  group_patterns:
    description:
      - Groups to list, as regular expressions that match the whole name.
      - Without O(groups) and O(group_patterns), all groups are listed.
  exclude_group_patterns:
    description:
      - Groups that O(group_patterns) must not select, as regular expressions that match the whole name.
      - They are added to the default ones, which leave out groups called like those of Kafka's tools, sink connectors,
        MirrorMaker 2, schema registries, Cruise Control, Amazon MSK, Strimzi, Confluent and this collection.
        RV(left_out_groups) names what is left out.
      - An empty list leaves nothing out, so that every group is listed.
  partitions:
    description: Whether RV(groups) has an entry for each partition with a committed offset.
    type: bool
    default: false
  assessment:
    description:
      - Path of a file that gets this cluster's part of an assessment. It has the groups, the topics, and the risks of a
        migration. The module writes the file in check mode, too.
      - M(streamshift.kafka.kafka_migration_run) with C(state=assessed) makes the assessment of such files.
      - What the user may not see fails nothing. The file says what is missing.
      - If neither O(groups) nor O(group_patterns) select groups, and no pattern leaves one out, it has all topics that the
        user may describe, and says which of them nobody reads. Otherwise it has the topics of the selected groups.
    type: path
  abandoned_after:
    description:
      - After how many days a group without members counts as abandoned, if its next records have waited for so long.
      - Only with O(assessment).
    type: float
    default: 30
  watch_seconds:
    description:
      - How many seconds are between two readings of committed offsets. Those that move in a group without members show
        consumers that use C(assign()). With V(0), they are read once.
      - Only with O(assessment).
    type: float
    default: 5
  read_records:
    description:
      - Whether a few records of each topic are read. The assessment then has the time of the next record of each group, and the
        ids of schemas that the last records carry.
      - This needs the ACL TOPIC READ.
      - Only with O(assessment).
    type: bool
    default: false
  schema_registry:
    description:
      - The schema registry of the consumers at the destination. It is asked for each id of a schema that the last records
        carry, for up to 60 seconds, and the assessment names the ids that it does not know.
      - A few records of each topic are read for that, as with O(read_records=true).
      - Only with O(assessment).
    type: dict
  connect:
    description:
      - Workers of Kafka Connect whose sinks consume from this cluster, one of each Connect cluster. The assessment has the
        classes of their sink connectors, and so knows where a sink keeps its positions.
      - The module only reads, with one request for each worker.
      - Only with O(assessment).
    type: list
    elements: dict
    default: []
seealso: [{module: streamshift.kafka.kafka_group_offsets}]
"""

EXAMPLES = r"""
- name: List all groups of a cluster
  streamshift.kafka.kafka_group_info:
    cluster: "{{ kafka_cluster }}"
  register: found

- name: Show them
  ansible.builtin.debug:
    var: found.summary

- name: Keep the list as a spreadsheet
  ansible.builtin.copy:
    content: "{{ found.csv }}"
    dest: "{{ inventory_dir }}/groups.csv"
    mode: "0600"
"""

RETURN = r"""
groups:
  description: The groups, those with the largest lag first.
  returned: success
  type: list
  elements: dict
  contains:
    group: {description: Name of the group., type: str, sample: billing}
    type:
      description: Type of the group, as Kafka names it; V(unknown) if the brokers do not return it, as those before Kafka 3.8.
      type: str
      sample: classic
    what:
      description: What uses the group, as far as its type, its topics or its name tell; null if they do not tell.
      type: str
      sample: null
    state: {description: "State of the group, as Kafka names it.", type: str, sample: Empty}
    members:
      description: Number of members; null if nobody describes them, as for share groups.
      type: int
      sample: 0
    clients:
      description: Client ID and host of each member.
      type: list
      elements: dict
      sample:
        - client_id: billing-1
          host: 10.0.0.7
    topics: {description: Topics that the group has committed offsets of., type: list, elements: str, sample: [orders]}
    partitions: {description: Number of partitions with a committed offset., type: int, sample: 12}
    lag:
      description: Offsets from the committed offsets to the log ends, in all partitions that still exist and have a leader.
        Offsets that have expired do not count, other than with C(kafka-consumer-groups). Null if there are none.
      type: int
      sample: 1204
    expired: {description: Offsets that have expired before the group consumed them., type: int, sample: 0}
    movable:
      description: Whether the group can be migrated now, as far as this cluster alone shows. A migration may still
        refuse it because of the destination or of the copied records.
      type: bool
      sample: true
    why_not:
      description: Why the group cannot be migrated now; null if it can.
      type: str
      sample: "it is in use: stop its consumers first"
    committed:
      description: The committed offset of each partition.
      type: list
      elements: dict
      returned: if O(partitions=true)
      contains:
        topic: {description: Name of the topic., type: str, sample: orders}
        partition: {description: Number of the partition., type: int, sample: 0}
        offset: {description: The committed offset., type: int, sample: 4711}
        lag:
          description: Offsets from the committed offset to the log end, without those that have expired; null if the partition
            no longer exists, or has no leader now.
          type: int
          sample: 12
        expired: {description: Offsets that have expired before the group consumed them., type: int, sample: 0}
left_out_groups:
  description: Groups that an exclude pattern has left out.
  returned: success
  type: list
  elements: str
  sample:
    - console-consumer-12345
summary:
  description: The list as a table, a line for each group, the groups that an exclude pattern has left out, and what is to be
    said of the waves.
  returned: success
  type: list
  elements: str
  sample:
    - "group    type     what  state  members  topics  partitions    lag  movable  why_not"
    - "billing  classic  -     Empty        0  orders          12  1,204  yes      -"
waves:
  description: One entry for each of the O(waves), with its C(groups), and the groups that it names and that are not in the list
    (C(gone)).
  returned: success
  type: list
  elements: dict
  sample: [{wave: billing, groups: [billing, checkout], gone: []}]
in_no_wave:
  description: The groups of the list that none of the O(waves) selects; empty without waves.
  returned: success
  type: list
  elements: str
  sample: []
in_several_waves:
  description: The waves of each group of the list that more than one selects.
  returned: success
  type: dict
  sample: {}
risks:
  description: How many risks of each severity the O(assessment) has.
  returned: if O(assessment) is set
  type: dict
  sample: {blocker: 0, warning: 2, info: 5}
csv:
  description: The list as CSV with a header. The column C(wave) names the O(waves) that select the group, and is empty for a
    group in no wave. Characters of a name that cannot be seen are escapes, as in RV(summary).
  returned: success
  type: str
  sample: |
    group,type,what,state,members,topics,partitions,lag,movable,why_not,expired,wave
    billing,classic,,Empty,0,orders,12,1204,yes,,0,billing
notes:
  description: Patterns that match no group, a line each. Each note is a warning, too.
  returned: success
  type: list
  elements: str
  sample: []
note_kinds: {description: "Kinds of the RV(notes), in the same order.", returned: success, type: list, elements: str}
failure: {description: "What C(msg) says, as data. See C(docs/troubleshooting.md).", returned: failure, type: dict}
"""

import dataclasses
import typing as t

from ..module_utils._migration import list_groups as use_case
from ..module_utils._migration.assess_groups import AssessOptions
from ..module_utils._model import group_overview, waves
from ..module_utils._model.group_lag import lag_members
from ..module_utils._model.group_overview import GroupOverview
from ..module_utils._model.notes import excluded
from ..module_utils._model.selection import seen_on
from ..module_utils._module import options
from ..module_utils._module.assessment_results import group_part, registry, workers, write_part
from ..module_utils._module.frame import Module


def look(module: Module) -> dict[str, t.Any]:
    params = module.params
    selection = options.selection(params)
    if not selection.groups and not selection.group_patterns:
        selection = dataclasses.replace(selection, group_patterns=(".*",))
    of_assessment = options.spec_of(AssessOptions)
    options.check_all(
        params if params["assessment"] else {name: params[name] for name in params if name not in of_assessment},
        lambda: waves.waves_from(params["waves"]),
        *((lambda: registry(params), lambda: workers(params)) if params["assessment"] else ()),
    )
    asked, connection = waves.waves_from(params["waves"]), options.connection(params, "cluster")
    listed = use_case.group_overviews(connection, selection)
    groups, left_out = listed.groups, listed.left_out
    sorted_waves = waves.sort_groups(asked, [group.reading.group for group in groups])
    told = waves.wave_lines(sorted_waves) if asked else []
    assessed = {}
    if params["assessment"]:
        part = group_part(params, connection, listed, selection)
        write_part(params["assessment"], part)
        assessed = {"risks": part.counts}
    return {
        "changed": False,
        "groups": [_row(group, params["partitions"]) for group in groups],
        "left_out_groups": list(left_out),
        "summary": [*group_overview.overview_table(groups), *(note.text for note in excluded(left_out)), *told],
        **module.warned([*listed.unused, *waves.unused_patterns(asked, listed.listed, seen_on(connection))]),
        **waves.wave_results(sorted_waves),
        "csv": group_overview.overview_csv(groups, sorted_waves.waves_of),
        **assessed,
    }


def _row(group: GroupOverview, partitions: bool) -> dict[str, t.Any]:
    row = {**group.row(), "clients": [member._asdict() for member in group.members or ()]}
    if partitions:
        row["committed"] = [
            {**partition._asdict(), "offset": committed.offset, **lag_members(group.partition_lag(partition))}
            for partition, committed in sorted(group.reading.offsets.items())
        ]
    return row


def main() -> None:
    spec = {
        **options.cluster_spec("cluster"),
        **options.GROUP_SELECTION,
        "partitions": {"type": "bool", "default": False},
        "waves": options.WAVES,
        "assessment": {"type": "path"},
        **options.spec_of(AssessOptions),
        "schema_registry": {"type": "dict", "options": options.HTTP_SERVICE},
        "connect": {"type": "list", "elements": "dict", "default": [], "options": options.HTTP_SERVICE},
    }
    Module(spec).run(look)


if __name__ == "__main__":
    main()
