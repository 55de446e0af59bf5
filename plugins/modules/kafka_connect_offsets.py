#!/usr/bin/python
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_connect_offsets
short_description: Hand Confluent Replicator's position over to MirrorMaker 2
version_added: 0.1.0
description:
  - Reads how far Replicator has copied each partition, and stores that for a MirrorSourceConnector, which then goes on with
    the next record - none is copied twice, none is left out.
  - Every position is checked first, for MirrorMaker 2 begins from the start, without a word, where one is out of range.
  - Keys and partitions are written byte for byte as Kafka Connect looks for them, and read back.
  - The receipt is on disk before the first write, and is the way back.
author:
  - The streamshift.kafka authors (@streamshift)
extends_documentation_fragment:
  - streamshift.kafka._attributes
  - streamshift.kafka._attributes.files
  - streamshift.kafka._source_destination
  - streamshift.kafka._selection.topics
options:
  state:
    description:
      - V(present) - the connector's stored positions are Replicator's.
      - V(rolled_back) - they are what O(receipt) says that they were before.
    type: str
    choices: [present, rolled_back]
    default: present
  replicator:
    description:
      - The Replicator whose position is taken over. It must be stopped.
    type: dict
    default: {}
    suboptions:
      connector:
        description: The name of the connector.
        type: str
        default: replicator
      offsets_topic:
        description: The topic in which its worker stores offsets, C(offset.storage.topic).
        type: str
        default: connect-offsets
      cluster:
        description: On which cluster that topic is.
        type: str
        choices: [source, destination]
        default: destination
      group:
        description: The group with which it consumes at the source, C(src.consumer.group.id). The connector's name by default.
        type: str
      position:
        description:
          - V(agree) takes what is stored, and refuses where the group has committed anything else.
          - V(stored) does not look at the group. V(group) takes what the group has committed, which is right for a Replicator
            with C(offset.start=consumer).
        type: str
        choices: [agree, stored, group]
        default: agree
      topic_rename_format:
        description: Its property C(topic.rename.format). It has to be what O(replication_policy) does.
        type: str
        default: ${topic}
      worker_groups:
        description: The C(group.id) of its Connect workers. A group of these that has members is refused.
        type: list
        elements: str
        default: []
  replication_policy:
    description:
      - How MirrorMaker 2 calls topics and clusters.
    type: dict
    required: true
    suboptions:
      name:
        description: Whether topics keep their names (V(identity)), or get the alias of the source before them (V(default)).
        type: str
        choices: [identity, default]
        default: identity
      source_alias:
        description: The alias that MirrorMaker 2 has for the source.
        type: str
        required: true
      separator:
        description: What is between alias and topic, C(replication.policy.separator).
        type: str
        default: .
  connector:
    description:
      - The name of the connector that goes on. V(MirrorSourceConnector) is right for a MirrorMaker 2 that runs by itself.
    type: str
    default: MirrorSourceConnector
  method:
    description:
      - V(topic) writes to the worker's topic while the worker is stopped.
      - V(rest) asks a worker of Kafka Connect 3.6 or newer. The connector must be STOPPED; it can be created so, with
        C(initial_state).
    type: str
    choices: [topic, rest]
    default: topic
  offsets_topic:
    description:
      - With O(method=topic), the topic where the worker stores offsets, on the destination. By default that of a MirrorMaker 2
        that runs by itself. It is made if it is missing.
    type: str
  worker_group:
    description:
      - With O(method=topic), the group of the workers that use this topic, which must have no members. By default that of a
        MirrorMaker 2 that runs by itself.
    type: str
  rest:
    description:
      - With O(method=rest), where the worker is.
    type: dict
    suboptions:
      url:
        description: Its address, such as C(https://connect.example.com:8083).
        type: str
        required: true
      username:
        description: For basic authentication.
        type: str
      password:
        description: For basic authentication.
        type: str
      ca_path:
        description: A file with the certificates to trust.
        type: path
      validate_certs:
        description: Whether the worker's certificate must be valid.
        type: bool
        default: true
  on_misplaced:
    description:
      - What to do when keys of the connector are in a partition where Connect does not look for them, have other bytes than it
        writes, or hold no offset. Scripts write such keys; Connect ignores them, takes the wrong one of two, or stops.
      - V(fail) writes nothing at all. V(remove) removes them. For that, records of the offsets topic are deleted, which needs
        its C(cleanup.policy) to be C(compact,delete) for a moment, and the ACLs TOPIC ALTER_CONFIGS and DELETE.
    type: str
    choices: [fail, remove]
    default: fail
  on_rewind:
    description:
      - What to do when the connector stands further than Replicator already, and not because it has gone on since it was
        handed over, by O(receipt) - records would be copied again.
      - V(fail) writes nothing at all. V(keep) leaves those positions as they are. V(rewind) replaces them, which is right where
        the records are not at the destination.
    type: str
    choices: [fail, keep, rewind]
    default: fail
  receipt:
    description:
      - Path of the receipt file. Its directory must exist. Keep it - it is the only way back.
    type: path
    required: true
seealso:
  - module: streamshift.kafka.kafka_offset_translate
"""

EXAMPLES = r"""
- name: Let MirrorMaker 2 go on where Replicator has stopped
  streamshift.kafka.kafka_connect_offsets:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    replicator:
      worker_groups:
        - connect-cluster
    replication_policy:
      source_alias: onprem
    receipt: "{{ inventory_dir }}/connect-receipt.json"
"""

RETURN = r"""
receipt:
  description: Path of the receipt file.
  returned: success
  type: str
  sample: /srv/kafka-migrations/onprem-to-cloud/connect-receipt.json
entries:
  description: The offset of the last record that was copied, before and after, sorted; null where there is none.
  returned: success
  type: list
  elements: dict
  contains:
    topic:
      description: The source's topic.
      type: str
      returned: success
      sample: orders
    partition:
      description: The partition.
      type: int
      returned: success
      sample: 3
    before:
      description: What was stored before.
      type: int
      returned: success
      sample: null
    after:
      description: What is stored now, or would be in check mode.
      type: int
      returned: success
      sample: 41876
written:
  description: How many positions were, or in check mode would be, stored or forgotten.
  returned: success
  type: int
  sample: 12
misplaced:
  description: How many keys were, or in check mode would be, removed by O(on_misplaced=remove).
  returned: success
  type: int
  sample: 0
"""

import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._connect import handover as use_case
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._connect.replicator import Replicator
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._connect.stores import Store
from ansible_collections.streamshift.kafka.plugins.module_utils._model import connect_receipt as file
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput
from ansible_collections.streamshift.kafka.plugins.module_utils._model.replication_policy import ReplicationPolicy
from ansible_collections.streamshift.kafka.plugins.module_utils._module import files, options, results
from ansible_collections.streamshift.kafka.plugins.module_utils._module.masking import Module
from ansible_collections.streamshift.kafka.plugins.module_utils._module.run import run


def connect_offsets(module: Module) -> dict[str, t.Any]:
    params = module.params
    path = params["receipt"]
    rolling_back = params["state"] == "rolled_back"
    if rolling_back:
        files.check_there(path, "receipt", "a hand-over: without one there is nothing to roll back")
    files.check_writable(path)
    source, destination = options.connection(params, "source"), options.connection(params, "destination")
    policy = _policy(params)
    store = _store(params, destination, policy)

    def save(receipt: file.ConnectReceipt) -> None:
        files.write(path, file.to_json(receipt))

    writer = None if module.check_mode else save
    with files.locked(path):
        text = files.read(path)
        receipt = use_case.receipt_of(store, destination, None if text is None else file.from_json(text, path))
        if rolling_back:
            outcome = use_case.take_back(store, receipt, writer)
        else:
            task = use_case.Handover(
                source,
                destination,
                _replicator(params, source, destination),
                policy,
                options.selection(params),
                params["on_misplaced"],
                params["on_rewind"],
            )
            outcome = use_case.hand_over(task, store, receipt, writer)
    for line in outcome.notes:
        module.warn(line)
    return {
        "changed": bool(outcome.written or outcome.misplaced),
        "receipt": path,
        "entries": [
            {**where._asdict(), "before": before, "after": outcome.after[where]}
            for where, before in sorted(outcome.before.items())
        ],
        "written": outcome.written,
        "misplaced": len(outcome.misplaced),
        "diff": results.diff(
            [
                *_lines(outcome.before),
                *(f"{where}: {key.decode(errors='replace')}" for where, key in outcome.misplaced),
            ],
            _lines(outcome.after),
            f"{store} (before)",
            f"{store} (after)",
        ),
    }


def _lines(offsets: t.Mapping[t.Any, int | None]) -> list[str]:
    return [f"{where}: {'none' if offset is None else offset}" for where, offset in sorted(offsets.items())]


def _policy(params: dict[str, t.Any]) -> ReplicationPolicy:
    given = params["replication_policy"]
    policy = ReplicationPolicy(given["source_alias"], "", given["name"], given["separator"])
    form = (params["replicator"] or {}).get("topic_rename_format")
    made = policy.topic("${topic}")
    if form not in (None, made):
        raise InvalidInput(
            f"Replicator calls topics {form}, and MirrorMaker 2 with this replication_policy {made}",
            remedy="correct replication_policy; what is neither ${topic} nor <alias><separator>${topic} cannot be continued",
        )
    return policy


def _store(params: dict[str, t.Any], destination: Connection, policy: ReplicationPolicy) -> Store:
    if params["method"] == "topic":
        return use_case.topic_store(
            destination, params["offsets_topic"], params["worker_group"], params["connector"], policy
        )
    if params["offsets_topic"] or params["worker_group"]:
        raise InvalidInput("offsets_topic and worker_group are for method topic", remedy="remove them")
    return use_case.rest_store(params["rest"], params["connector"], policy)


def _replicator(params: dict[str, t.Any], source: Connection, destination: Connection) -> Replicator:
    its = params["replicator"]
    return Replicator(
        source if its["cluster"] == "source" else destination,
        its["offsets_topic"],
        its["connector"],
        its["group"] or its["connector"],
        its["position"],
        tuple(its["worker_groups"]),
    )


def main() -> None:
    replicator = {
        "connector": {"type": "str", "default": "replicator"},
        "offsets_topic": {"type": "str", "default": "connect-offsets"},
        "cluster": {"type": "str", "choices": ["source", "destination"], "default": "destination"},
        "group": {"type": "str"},
        "position": {"type": "str", "choices": ["agree", "stored", "group"], "default": "agree"},
        "topic_rename_format": {"type": "str", "default": "${topic}"},
        "worker_groups": {"type": "list", "elements": "str", "default": []},
    }
    policy = {
        "name": {"type": "str", "choices": ["identity", "default"], "default": "identity"},
        "source_alias": {"type": "str", "required": True},
        "separator": {"type": "str", "default": "."},
    }
    rest = {
        "url": {"type": "str", "required": True},
        "username": {"type": "str"},
        "password": {"type": "str", "no_log": True},
        "ca_path": {"type": "path"},
        "validate_certs": {"type": "bool", "default": True},
    }
    module = Module(
        argument_spec={
            **options.cluster_spec("source", "destination"),
            **options.topic_selection_spec(),
            "state": {"type": "str", "choices": ["present", "rolled_back"], "default": "present"},
            "replicator": {"type": "dict", "default": {}, "options": replicator, "apply_defaults": True},
            "replication_policy": {"type": "dict", "required": True, "options": policy},
            "connector": {"type": "str", "default": "MirrorSourceConnector"},
            "method": {"type": "str", "choices": ["topic", "rest"], "default": "topic"},
            "offsets_topic": {"type": "str"},
            "worker_group": {"type": "str"},
            "rest": {"type": "dict", "options": rest},
            "on_misplaced": {"type": "str", "choices": ["fail", "remove"], "default": "fail"},
            "on_rewind": {"type": "str", "choices": ["fail", "keep", "rewind"], "default": "fail"},
            "receipt": {"type": "path", "required": True},
        },
        required_if=[("method", "rest", ("rest",))],
        supports_check_mode=True,
    )
    run(module, connect_offsets)


if __name__ == "__main__":
    main()
