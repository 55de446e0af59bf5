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
  topics:
    description:
      - Names of source topics. Without any topic selection, every topic of which a position is known.
    type: list
    elements: str
    default: []
  topic_patterns:
    description:
      - Regular expressions that match the whole name.
    type: list
    elements: str
    default: []
  exclude_topic_patterns:
    description:
      - What is left out. A name in O(topics) beats it. Replaces the default list, which holds internal topics.
    type: list
    elements: str
  on_misplaced:
    description:
      - What to do when a key of the connector is in a partition where Connect does not look for it, or has other bytes.
      - V(fail) writes nothing at all, V(tombstone) makes Connect forget it.
    type: str
    choices: [fail, tombstone]
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
  description: How many keys were, or in check mode would be, forgotten for Connect does not look for them there.
  returned: success
  type: int
  sample: 0
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.streamshift.kafka.plugins.module_utils._control.connect_rest import ConnectRest
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topics import cluster_id
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import handover as use_case
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.connect_stores import RestStore, TopicStore
from ansible_collections.streamshift.kafka.plugins.module_utils._model import connect_receipt as file
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput
from ansible_collections.streamshift.kafka.plugins.module_utils._model.replication_policy import ReplicationPolicy
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from ansible_collections.streamshift.kafka.plugins.module_utils._module import files, options, results
from ansible_collections.streamshift.kafka.plugins.module_utils._module.run import run


def connect_offsets(module: AnsibleModule) -> dict[str, t.Any]:
    params = module.params
    path = params["receipt"]
    rolling_back = params["state"] == "rolled_back"
    if rolling_back:
        files.check_there(path, "receipt", "a hand-over: without one there is nothing to roll back")
    files.check_writable(path)
    source, destination = options.connection(params, "source"), options.connection(params, "destination")
    policy = _policy(params)
    store = _store(params, destination, policy)
    blank = file.ConnectReceipt(cluster_id(destination), str(store), params["connector"], policy.source_alias)

    def save(receipt: file.ConnectReceipt) -> None:
        files.write(path, file.to_json(receipt))

    writer = None if module.check_mode else save
    with files.locked(path):
        text = files.read(path)
        known = None if text is None else file.from_json(text, path)
        if rolling_back and known is not None:
            outcome = use_case.take_back(known, store, blank, writer)
        else:
            wanted = use_case.wanted(
                source, destination, _replicator(params, source, destination), _selection(params), policy
            )
            for line in wanted.notes:
                module.warn(line)
            mend = params["on_misplaced"] == "tombstone"
            outcome = use_case.hand_over(wanted.offsets, store, blank, known, mend, writer)
    return {
        "changed": bool(outcome.written or outcome.misplaced),
        "receipt": path,
        "entries": [
            {**where._asdict(), "before": before, "after": outcome.after[where]}
            for where, before in sorted(outcome.before.items())
        ],
        "written": outcome.written,
        "misplaced": outcome.misplaced,
        "diff": results.diff(_lines(outcome.before), _lines(outcome.after), f"{store} (before)", f"{store} (after)"),
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


def _store(params: dict[str, t.Any], destination: Connection, policy: ReplicationPolicy) -> TopicStore | RestStore:
    if params["method"] == "rest":
        if params["offsets_topic"] or params["worker_group"]:
            raise InvalidInput("offsets_topic and worker_group are for method topic", remedy="remove them")
        return RestStore(ConnectRest(**params["rest"]), params["connector"], policy.source_alias)
    return TopicStore(
        destination,
        params["offsets_topic"] or policy.connect_offsets.name,
        params["worker_group"] or f"{policy.source_alias}-mm2",
        params["connector"],
        policy.source_alias,
    )


def _replicator(params: dict[str, t.Any], source: Connection, destination: Connection) -> use_case.Replicator:
    its = params["replicator"]
    return use_case.Replicator(
        source if its["cluster"] == "source" else destination,
        its["offsets_topic"],
        its["connector"],
        its["group"] or its["connector"],
        its["position"],
        tuple(its["worker_groups"]),
    )


def _selection(params: dict[str, t.Any]) -> Selection:
    excluded = params["exclude_topic_patterns"]
    return Selection(
        topics=tuple(params["topics"]),
        topic_patterns=tuple(params["topic_patterns"]),
        exclude_topic_patterns=None if excluded is None else tuple(excluded),
    )


def main() -> None:
    strings = {"type": "list", "elements": "str"}
    replicator = {
        "connector": {"type": "str", "default": "replicator"},
        "offsets_topic": {"type": "str", "default": "connect-offsets"},
        "cluster": {"type": "str", "choices": ["source", "destination"], "default": "destination"},
        "group": {"type": "str"},
        "position": {"type": "str", "choices": ["agree", "stored", "group"], "default": "agree"},
        "topic_rename_format": {"type": "str", "default": "${topic}"},
        "worker_groups": {**strings, "default": []},
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
    module = AnsibleModule(
        argument_spec={
            **options.cluster_spec("source", "destination"),
            "state": {"type": "str", "choices": ["present", "rolled_back"], "default": "present"},
            "replicator": {"type": "dict", "default": {}, "options": replicator, "apply_defaults": True},
            "replication_policy": {"type": "dict", "required": True, "options": policy},
            "connector": {"type": "str", "default": "MirrorSourceConnector"},
            "method": {"type": "str", "choices": ["topic", "rest"], "default": "topic"},
            "offsets_topic": {"type": "str"},
            "worker_group": {"type": "str"},
            "rest": {"type": "dict", "options": rest},
            "topics": {**strings, "default": []},
            "topic_patterns": {**strings, "default": []},
            "exclude_topic_patterns": strings,
            "on_misplaced": {"type": "str", "choices": ["fail", "tombstone"], "default": "fail"},
            "receipt": {"type": "path", "required": True},
        },
        required_if=[("method", "rest", ("rest",))],
        supports_check_mode=True,
    )
    run(module, connect_offsets)


if __name__ == "__main__":
    main()
