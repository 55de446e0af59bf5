#!/usr/bin/python
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_group_offsets
short_description: Write down what consumer groups have committed
version_added: 0.1.0
description:
  - The snapshot file holds what the selected consumer groups of a cluster have committed now, offsets, metadata and
    leader epochs.
  - It is the first step of a migration, and worth keeping - it says where every group stood.
  - Nothing is written to the cluster.
author:
  - The streamshift.kafka authors (@streamshift)
extends_documentation_fragment:
  - streamshift.kafka._attributes
  - streamshift.kafka._attributes.files
  - streamshift.kafka._cluster
  - streamshift.kafka._selection
  - streamshift.kafka._selection.topics
options:
  snapshot:
    description:
      - Path of the snapshot file. Its directory must exist.
      - A file that holds the same already is left untouched.
    type: path
    required: true
  format:
    description:
      - V(json) keeps everything.
      - V(csv) is what C(kafka-consumer-groups --reset-offsets --from-file) reads - C(topic,partition,offset) for one
        group, C(group,topic,partition,offset) for several. Metadata and leader epochs are not in it.
    type: str
    choices: [json, csv]
    default: json
  on_active_group:
    description:
      - What to do with a group that still has members, or whose commits move within O(idle_wait), and so will consume more
        than the snapshot says.
      - V(warn) takes it in with a warning, V(skip_group) leaves it out, V(fail) fails.
    type: str
    choices: [warn, skip_group, fail]
    default: warn
  on_blocked:
    description:
      - What to do with a group in O(groups) that holds no committed offsets, such as a share group.
      - V(fail) fails. V(skip_group) and V(skip_partition) leave it out with a warning, as long as others are selected.
      - Groups like that are never selected by patterns.
    type: str
    choices: [fail, skip_group, skip_partition]
    default: fail
  idle_wait:
    description:
      - How many seconds lie between two readings of the commits, once for all groups together; the second one becomes the
        snapshot. Consumers that use C(assign()) never show as members; only their commits move, every 5 seconds by default.
      - With V(0), the commits are read once.
    type: float
    default: 0
seealso:
  - module: streamshift.kafka.kafka_offset_translate
"""

EXAMPLES = r"""
- name: Write down where two groups stand
  streamshift.kafka.kafka_group_offsets:
    cluster: "{{ kafka_cluster }}"
    groups:
      - billing
      - shipping
    snapshot: "{{ inventory_dir }}/snapshot.json"

- name: Write down all groups of a team, for the stock tools
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
snapshot:
  description: Path of the snapshot file.
  returned: success
  type: str
  sample: /srv/kafka-migrations/onprem-to-cloud/snapshot.json
groups:
  description: The groups in the snapshot, sorted by name.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The group.
      type: str
      returned: success
      sample: billing
    type:
      description: Its type, as Kafka calls it; V(unknown) on brokers that do not tell.
      type: str
      returned: success
      sample: classic
    partitions:
      description: How many partitions it has committed an offset for.
      type: int
      returned: success
      sample: 12
active_groups:
  description: Selected groups that have members, or whose commits have moved within O(idle_wait).
  returned: success
  type: list
  elements: str
  sample: []
left_out_groups:
  description:
    - Groups that a pattern has matched, and an exclude pattern, their type or O(on_active_group) has left out, and named
      ones that O(on_blocked) has left out.
  returned: success
  type: list
  elements: str
  sample:
    - console-consumer-12345
left_out_topics:
  description: Topics that an exclude pattern has left out.
  returned: success
  type: list
  elements: str
  sample: []
"""

import collections
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._migration import snapshot as use_case
from ansible_collections.streamshift.kafka.plugins.module_utils._model import snapshot as file
from ansible_collections.streamshift.kafka.plugins.module_utils._module import files, options, results
from ansible_collections.streamshift.kafka.plugins.module_utils._module.masking import Module
from ansible_collections.streamshift.kafka.plugins.module_utils._module.run import run


def take(module: Module) -> dict[str, t.Any]:
    params = module.params
    path = params["snapshot"]
    files.check_writable(path)
    options.check_not_negative(params, "idle_wait")
    connection, selection = options.connection(params, "cluster"), options.selection(params)
    with files.locked(path):
        taken = use_case.take(
            connection,
            selection,
            params["on_active_group"],
            on_blocked=params["on_blocked"],
            idle_wait=params["idle_wait"],
        )
        text = (file.to_csv if params["format"] == "csv" else file.to_json)(taken.snapshot)
        before = files.read(path)
        if text != before and not module.check_mode:
            files.write(path, text)
    for line in taken.warnings():
        module.warn(line)
    partitions = collections.Counter(entry.group for entry in taken.snapshot.entries)
    if params["format"] == "csv":  # its lines are readable as they are
        diff = results.file_diff(before, text, path, str.splitlines, lambda text, _path: text)
    else:
        diff = results.file_diff(before, text, path, results.snapshot_lines, file.read)
    return {
        "changed": text != before,
        "snapshot": path,
        "groups": [
            {"name": group.name, "type": group.type, "partitions": partitions[group.name]}
            for group in taken.snapshot.groups
        ],
        "active_groups": sorted({*taken.active, *taken.moving}),
        "left_out_groups": sorted({*taken.left_out_groups, *taken.not_consumer_groups, *taken.skipped}),
        "left_out_topics": list(taken.left_out_topics),
        "diff": diff,
    }


def main() -> None:
    module = Module(
        argument_spec={
            **options.cluster_spec("cluster"),
            **options.selection_spec(),
            "snapshot": {"type": "path", "required": True},
            "format": {"type": "str", "choices": ["json", "csv"], "default": "json"},
            "on_active_group": {"type": "str", "choices": ["warn", "skip_group", "fail"], "default": "warn"},
            "on_blocked": {"type": "str", "choices": ["fail", "skip_group", "skip_partition"], "default": "fail"},
            "idle_wait": {"type": "float", "default": 0},
        },
        supports_check_mode=True,
    )
    run(module, take)


if __name__ == "__main__":
    main()
