#!/usr/bin/python
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_backlog_copy
short_description: Copy what groups have not consumed to another cluster, each record once
version_added: 0.1.0
description:
  - For each partition that the groups of a snapshot consume, copies the records from the first of their offsets to the end,
    with key, value, headers, timestamp, partition and order, on Spark. What aborted transactions hold is left out.
  - Each record is copied exactly once. The progress is committed in the transactions that hold the records, so a copy that
    is killed at any moment goes on when the same task is run again.
  - Writes a plan file that says where each group stands among the copied records, for
    M(streamshift.kafka.kafka_offset_commit).
  - Topics that are missing are made like the source's. Until every group is past the backlog, settings are held back by
    which a broker would delete, compact or stamp copied records.
author:
  - The streamshift.kafka authors (@streamshift)
extends_documentation_fragment:
  - streamshift.kafka._attributes
  - streamshift.kafka._source_destination
  - streamshift.kafka._mapping.renaming
  - streamshift.kafka._spark
  - streamshift.kafka._progress
attributes:
  check_mode:
    support: partial
    details:
      - Check mode shows every range that is going to be copied and the topics that are going to be made or changed. Where the
        records come to lie is known only when they are copied, so the destination's offsets are null.
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  source:
    description:
      - Required for O(state=present), and not used with O(state=absent).
    required: false
  state:
    description:
      - V(present) copies.
      - V(absent) gives a copy up. The groups that hold its progress are deleted, the topics get back the settings that the copy
        has changed and nobody else has changed since, and then the files O(copy) and O(plan) are removed. Asks nobody but the
        destination, so the source may be gone.
      - V(absent) fails before it changes anything while a run of the copy is under way, and names its host and process. It
        recognizes a run on this machine by its process, and one on another machine by progress that changes within
        O(idle_wait). A run that is not recognized writes nothing any more, and fails.
      - V(absent) fails as well where a group of O(plan) has yet to consume records that were copied, because the retention that
        comes back may delete them. Records stay that were copied to topics which are not deleted.
    type: str
    choices: [present, absent]
    default: present
  remove_topics:
    description:
      - With O(state=absent), delete the topics that the copy has made, with the records in them.
      - Fails before it changes anything, and names the topic, where another group has committed an offset of such a topic, or where
        it holds anything but the records that the copy has written. To know that, all of these records are read.
      - Topics that were there before the copy are never deleted.
    type: bool
    default: false
  snapshot:
    description:
      - Path of the snapshot file, as M(streamshift.kafka.kafka_group_offsets) writes it.
      - Required for O(state=present).
    type: path
  copy:
    description:
      - Path of the copy file, which holds what is copied and what is held back. Its directory must exist. A later run goes
        on with what it says. Keep it until the settings are restored.
    type: path
    required: true
  plan:
    description:
      - Path of the plan file that is written when everything is copied.
      - Required for O(state=present).
    type: path
  receipt:
    description:
      - Path of the receipt file of an earlier commit. It explains what the destination's groups have committed since, so that
        the plan stays as it is.
    type: path
  on_uncommitted:
    description:
      - What to do for a partition that a group has not committed, of a topic of which it has committed another one.
      - V(ignore) leaves it alone, V(start) copies the whole partition and lets the group begin there, V(end) lets it begin
        after what is copied.
    type: str
    choices: [ignore, start, end]
    default: ignore
  append:
    description:
      - Whether a destination topic may hold records already. What is copied is appended to them.
    type: bool
    default: false
  live:
    description:
      - Whether the source may still be written. The ends are fixed when the copy is planned, and what is written later is not
        copied.
    type: bool
    default: false
  idle_wait:
    description:
      - How many seconds lie between two readings of the source's ends, which must be equal unless O(live=true).
      - With O(state=absent), how many seconds lie between two readings of the progress of a run on another machine.
    type: float
    default: 5
  max_bytes_per_second:
    description:
      - The most bytes of keys and values that are copied in a second, by all workers together.
    type: int
  on_lost_progress:
    description:
      - What to do where a destination log has grown since the copy was planned, and the progress of the copy is gone, because
        its groups were deleted, or their commits have expired (C(offsets.retention.minutes)). To copy on would copy a second
        time what is there.
      - V(fail) fails, and names the partition.
      - V(rebuild) compares what is there with the source, record by record, and goes on after it. It fails where anything but
        the copy was written to the log since the copy was planned, and names the first such offset.
    type: str
    choices: [fail, rebuild]
    default: fail
  restore_retention:
    description:
      - Give the topics their settings back although groups are not past the backlog. The brokers may then delete records
        that are not consumed.
      - A run that finds every group past the backlog does it without.
      - Where everything is copied and O(plan) is there, such a run asks nobody but the destination, and does nothing else. The
        source may have grown or be gone, and its groups may have expired. O(snapshot) is not read then.
    type: bool
    default: false
notes:
  - Progress is kept in groups, and written with transactional ids, whose names begin with C(streamshift-). The groups are
    removed by a run that finds every group past the backlog. The user needs the
    ACLs GROUP READ and DELETE and TRANSACTIONAL_ID WRITE on that prefix, TOPIC READ, WRITE, DESCRIBE_CONFIGS and
    ALTER_CONFIGS on the destination's topics, TOPIC CREATE where some are missing, GROUP DESCRIBE on the destination's
    groups, and TOPIC READ and DESCRIBE_CONFIGS on the source's topics.
  - O(state=absent) needs GROUP DELETE and TRANSACTIONAL_ID WRITE on that prefix, and DESCRIBE_CONFIGS and ALTER_CONFIGS on
    topics that get settings back; with O(remove_topics) TOPIC READ and DELETE on the topics that are deleted, CLUSTER
    DESCRIBE, because brokers do not list all groups without it, and GROUP DESCRIBE on all groups.
  - Records are compressed as C(compression.type) in O(destination.client_config) says; by default they are not.
seealso:
  - module: streamshift.kafka.kafka_offset_verify
  - module: streamshift.kafka.kafka_offset_commit
"""

EXAMPLES = r"""
- name: Write down where the groups stand
  streamshift.kafka.kafka_group_offsets:
    cluster: "{{ hostvars.onprem.kafka_cluster }}"
    groups:
      - billing
    snapshot: "{{ inventory_dir }}/snapshot.json"

- name: Copy what they have not consumed
  streamshift.kafka.kafka_backlog_copy:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    snapshot: "{{ inventory_dir }}/snapshot.json"
    copy: "{{ inventory_dir }}/copy.json"
    plan: "{{ inventory_dir }}/plan.json"
    max_bytes_per_second: 50000000

- name: Set them to the first record that they have not consumed
  streamshift.kafka.kafka_offset_commit:
    cluster: "{{ hostvars.cloud.kafka_cluster }}"
    plan: "{{ inventory_dir }}/plan.json"
    receipt: "{{ inventory_dir }}/receipt.json"

- name: Give the topics their settings back, although the source is gone
  streamshift.kafka.kafka_backlog_copy:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    snapshot: "{{ inventory_dir }}/snapshot.json"
    copy: "{{ inventory_dir }}/copy.json"
    plan: "{{ inventory_dir }}/plan.json"
    restore_retention: true

- name: Give the copy up, and delete the topics that it has made
  streamshift.kafka.kafka_backlog_copy:
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    copy: "{{ inventory_dir }}/copy.json"
    plan: "{{ inventory_dir }}/plan.json"
    state: absent
    remove_topics: true
"""

RETURN = r"""
copy:
  description: Path of the copy file.
  returned: success
  type: str
  sample: /srv/kafka-migrations/onprem-to-cloud/copy.json
plan:
  description: Path of the plan file; null where none is given.
  returned: success
  type: str
  sample: /srv/kafka-migrations/onprem-to-cloud/plan.json
ranges:
  description: What is copied of each partition of the source, sorted.
  returned: O(state=present)
  type: list
  elements: dict
  contains:
    topic:
      description: The source's topic.
      type: str
      returned: success
      sample: orders
    partition:
      description: The partition, here and there.
      type: int
      returned: success
      sample: 3
    destination_topic:
      description: The destination's topic.
      type: str
      returned: success
      sample: orders
    start:
      description: The first offset that is copied.
      type: int
      returned: success
      sample: 41877
    end:
      description: The offset after the last one that is copied.
      type: int
      returned: success
      sample: 50000
    records:
      description: How many records that are at most; markers of transactions and what was compacted away are no records.
      type: int
      returned: success
      sample: 8123
    bytes:
      description: About how many bytes they have on the source's disks; null where its brokers do not tell, or are not asked.
      type: int
      returned: success
      sample: 1212416
    groups:
      description: The groups that stand at the start, or before it; empty where the source is not asked.
      type: list
      elements: str
      returned: success
      sample: [billing]
    lost:
      description: How many offsets from the first group's on have left the source's log already.
      type: int
      returned: success
      sample: 0
    left:
      description: How many offsets are left alone, because no group has committed anything of the partition.
      type: int
      returned: success
      sample: 0
    reason:
      description:
        - V(expired) where records are lost, V(uncommitted) where they are left alone, V(nothing_to_copy) where the groups are at
          the end, else null.
      type: str
      returned: success
      sample: null
    copied:
      description: How many records were copied, by all runs together; null in check mode.
      type: int
      returned: success
      sample: 8119
topics:
  description: A line for each topic that is made, and for each of which settings are held back.
  returned: O(state=present)
  type: list
  elements: str
  sample:
    - "orders: made by this copy, with 6 partitions and replication factor 3"
suspended:
  description: Topics of the destination that have not got their settings back yet, sorted.
  returned: O(state=present)
  type: list
  elements: str
  sample: [orders]
entries:
  description: Where every group stands among the copied records, as the plan says it. Offsets are null in check mode.
  returned: O(state=present)
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
      description: The offset that is to be committed.
      type: int
      returned: success
      sample: 0
    verdict:
      description: V(exact), V(requested) or V(uncommitted).
      type: str
      returned: success
      sample: exact
    reason:
      description: V(expired) where records had left the source's log.
      type: str
      returned: success
      sample: null
    repeats:
      description: V(0) for an exact offset.
      type: int
      returned: success
      sample: 0
    detail:
      description: A word on the reason.
      type: str
      returned: success
      sample: ""
removed_groups:
  description: The groups with the progress of the copy that are deleted.
  returned: O(state=absent)
  type: list
  elements: str
  sample: [streamshift-copy-2f6b1c0a9d8e7f60-progress-0]
restored_topics:
  description: The topics that get settings back, sorted.
  returned: O(state=absent)
  type: list
  elements: str
  sample: [orders]
removed_topics:
  description: The topics that are deleted, sorted.
  returned: O(state=absent)
  type: list
  elements: str
  sample: []
summary:
  description: A table for people, as lines.
  returned: success
  type: list
  elements: str
  sample:
    - "topic   partition         start           end  records at most        MB  from"
    - "orders          0         41877         50000             8123       1.2  billing"
"""

import os
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog import removal, restoring
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog import run as use_case
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog.planning import Options
from ansible_collections.streamshift.kafka.plugins.module_utils._model import backlog as file
from ansible_collections.streamshift.kafka.plugins.module_utils._model import plan, receipt, snapshot
from ansible_collections.streamshift.kafka.plugins.module_utils._module import backlog_results, files, options
from ansible_collections.streamshift.kafka.plugins.module_utils._module.masking import Module
from ansible_collections.streamshift.kafka.plugins.module_utils._module.progress import progress_spec, reporter
from ansible_collections.streamshift.kafka.plugins.module_utils._module.run import run


def backlog_copy(module: Module) -> dict[str, t.Any]:
    options.check_not_negative(module.params, "idle_wait")
    options.check_positive(module.params, "max_bytes_per_second")
    result = _absent(module) if module.params["state"] == "absent" else _present(module)
    return {**result, "copy": module.params["copy"], "plan": module.params["plan"]}


def _present(module: Module) -> dict[str, t.Any]:
    params = module.params
    path = params["copy"]
    for name in ("copy", "plan"):
        files.check_writable(params[name])
    source, destination = options.connection(params, "source"), options.connection(params, "destination")
    mapping = options.mapping(params)

    def save(backlog: file.Backlog) -> None:
        files.write(path, file.to_json(backlog))

    with files.locked(path):
        known, planned, given = (
            files.read(params[name]) if params[name] else None for name in ("copy", "plan", "receipt")
        )
        earlier = use_case.Earlier(
            file.from_json(known, path) if known is not None else None,
            plan.from_json(planned, params["plan"]) if planned is not None else None,
            receipt.from_json(given, params["receipt"]) if given is not None else None,
        )
        written = None if module.check_mode else save
        if params["restore_retention"] and restoring.is_enough(earlier):
            outcome = restoring.restore(earlier, destination, written)
        else:
            text = files.read_required(params["snapshot"], "snapshot", "kafka_group_offsets")
            taken, say = snapshot.read(text, params["snapshot"]), reporter(params["progress_file"])
            outcome = use_case.run(taken, source, destination, mapping, _options(params), earlier, written, say)
        made = plan.to_json(outcome.plan) if outcome.plan is not None else planned
        if made is not None and made != planned and not module.check_mode:
            files.write(params["plan"], made)
    for line in outcome.warnings:
        module.warn(line)
    return {"changed": outcome.changed or made != planned, **backlog_results.result(outcome)}


def _absent(module: Module) -> dict[str, t.Any]:
    params = module.params
    path, destination = params["copy"], options.connection(params, "destination")
    if not os.path.exists(path):
        return {"changed": False, **backlog_results.removal_result(None, removal.Removal((), (), (), []))}
    files.check_writable(path)
    with files.locked(path):
        known = file.from_json(files.read_required(path, "copy", "kafka_backlog_copy"), path)
        planned = files.read(params["plan"]) if params["plan"] else None
        removed = removal.remove(
            known,
            plan.from_json(planned, params["plan"]) if planned is not None else None,
            destination,
            params["remove_topics"],
            params["idle_wait"],
            module.check_mode,
            reporter(params["progress_file"]),
        )
        if not module.check_mode:
            for name in filter(
                None, (params["plan"], path)
            ):  # the copy file last: a run that was killed begins with it
                files.remove(name)
    for line in removed.warnings:
        module.warn(line)
    return {"changed": True, **backlog_results.removal_result(known, removed)}


def _options(params: dict[str, t.Any]) -> Options:
    return Options(
        params["on_uncommitted"],
        params["append"],
        params["live"],
        params["idle_wait"],
        params["max_bytes_per_second"],
        params["restore_retention"],
        params["on_lost_progress"],
        options.spark_options(params),
    )


def main() -> None:
    module = Module(
        argument_spec={
            **options.cluster_spec("source", "destination"),
            "source": {**options.cluster_spec("source")["source"], "required": False},
            **options.renaming_spec(),
            **options.spark_spec(),
            **progress_spec(),
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "remove_topics": {"type": "bool", "default": False},
            "snapshot": {"type": "path"},
            "copy": {"type": "path", "required": True},
            "plan": {"type": "path"},
            "receipt": {"type": "path"},
            "on_uncommitted": {"type": "str", "choices": ["ignore", "start", "end"], "default": "ignore"},
            "append": {"type": "bool", "default": False},
            "live": {"type": "bool", "default": False},
            "idle_wait": {"type": "float", "default": 5},
            "max_bytes_per_second": {"type": "int"},
            "restore_retention": {"type": "bool", "default": False},
            "on_lost_progress": {"type": "str", "choices": ["fail", "rebuild"], "default": "fail"},
        },
        required_if=[("state", "present", ("source", "snapshot", "plan"))],
        supports_check_mode=True,
    )
    run(module, backlog_copy)


if __name__ == "__main__":
    main()
