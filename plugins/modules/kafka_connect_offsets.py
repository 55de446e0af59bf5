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
  - Reads how far Replicator has copied each partition, and stores this position for a MirrorSourceConnector. The
    connector then continues with the next record, so no record is copied twice and none is left out.
  - Checks every position first, because MirrorMaker 2 silently starts from the beginning of a partition if a position
    is out of range.
  - Writes keys and partitions byte for byte as Kafka Connect expects them, and reads them back.
  - Saves the receipt to disk before the first write. A rollback restores the positions in the receipt.
author: The streamshift.kafka authors (@streamshift)
extends_documentation_fragment:
  [streamshift.kafka._attributes, streamshift.kafka._attributes.files, streamshift.kafka._cluster.source_destination,
   streamshift.kafka._mapping.policy, streamshift.kafka._selection.topics,
   streamshift.kafka._receipt, streamshift.kafka._http_service.rest]
options:
  state:
    description:
      - Which positions the connector has afterwards.
      - V(present) stores Replicator's positions. Replicator has copied on purpose what it has a position for, so of the default
        patterns of O(exclude_topic_patterns), only C(heartbeats) applies.
      - V(rolled_back) restores the positions that were stored before, according to O(receipt), of the topics in it that are
        selected. Without O(topics), O(topic_patterns) and O(exclude_topic_patterns), these are all topics in the receipt.
        Records that Replicator has copied may then be recopied.
    type: str
    choices: [present, rolled_back]
    default: present
  replicator:
    description: The Replicator whose position is handed over. It must be stopped. Before the first write, the module looks
      twice, 5 seconds apart, whether it still copies.
    type: dict
    default: {}
    suboptions:
      connector: {description: Name of the connector., type: str, default: replicator}
      offsets_topic:
        description: The topic in which Replicator's Connect workers store offsets (C(offset.storage.topic)).
        type: str
        default: connect-offsets
      cluster:
        description:
          - The cluster that has this topic.
          - V(source) is the source cluster.
          - V(destination) is the destination cluster.
        type: str
        choices: [source, destination]
        default: destination
      group:
        description: The group with which Replicator consumes at the source (C(src.consumer.group.id)). The default is
          the connector's name.
        type: str
      position:
        description:
          - Where to read Replicator's position.
          - V(agree) takes the position stored in Kafka Connect, and fails if the group has committed a different one on a
            selected topic, or one where none is stored.
          - V(stored) takes the position stored in Kafka Connect without comparing it with the group. If it is wrong,
            records are copied twice or left out.
          - V(group) takes the group's committed offsets. This is right for a Replicator with C(offset.start=consumer);
            for others, records may be copied twice or left out.
        type: str
        choices: [agree, stored, group]
        default: agree
      topic_rename_format:
        description: Replicator's C(topic.rename.format). It must give the topics the same names as
          O(replication_policy).
        type: str
        default: ${topic}
      worker_groups:
        description: The C(group.id) of Replicator's Connect workers. The module fails if one of these groups has
          members.
        type: list
        elements: str
        default: []
  replication_policy:
    description: How MirrorMaker 2 names clusters and topics, as in its own configuration. The module needs
      O(replication_policy.source_alias), and no key that is about internal topics.
    required: true
  connector:
    description: Name of the MirrorMaker 2 connector that takes over. For a dedicated MirrorMaker 2 cluster, keep the
      default V(MirrorSourceConnector). Another name needs O(offsets_topic) and O(worker_group), or O(method=rest).
    type: str
    default: MirrorSourceConnector
  method:
    description:
      - How to store the positions.
      - V(topic) writes to the workers' offsets topic while the workers are stopped.
      - V(rest) calls the REST API of a worker of Kafka Connect 3.6 or newer. The connector must be STOPPED; you can
        create it in this state with C(initial_state).
    type: str
    choices: [topic, rest]
    default: topic
  offsets_topic:
    description:
      - With O(method=topic), the topic at the destination in which MirrorMaker 2's workers store offsets. The default
        is the topic of a dedicated MirrorMaker 2 cluster.
      - The module creates the topic if it is missing.
    type: str
  worker_group:
    description: With O(method=topic), the group of the workers that use this topic. It must have no members. The
      default is the group of a dedicated MirrorMaker 2 cluster. Required if O(offsets_topic) is called otherwise than
      the topic of such a cluster.
    type: str
  rest: {description: "With O(method=rest), how to reach the worker's REST API.", type: dict}
  on_misplaced:
    description:
      - What to do if keys of the connector are in a partition where Connect does not look for them, have other bytes
        than Connect writes, or hold no offset. Scripts write such keys. Connect ignores them, takes the wrong one of
        two, or stops.
      - V(fail) writes nothing at all, and fails. A rollback that has nothing to restore does not look.
      - V(remove) deletes the keys. The receipt does not have them, so a rollback does not restore them. To delete records
        of the offsets topic, the module sets its C(cleanup.policy) to C(compact,delete) for a moment, which needs the ACLs
        TOPIC ALTER_CONFIGS and DELETE.
    type: str
    choices: [fail, remove]
    default: fail
  on_rewind:
    description:
      - What to do if the connector's stored position is after Replicator's position, unless the receipt shows that the
        connector has copied further since it took over; or if the receipt shows that the connector was set back since.
      - V(fail) writes nothing at all, and fails.
      - V(keep) keeps these positions. Records between both positions are left out unless they are at the destination
        already.
      - V(rewind) replaces these positions with Replicator's. Records between both positions are recopied; choose it
        if they are not at the destination. A connector that was set back goes on after Replicator's position again.
    type: str
    choices: [fail, keep, rewind]
    default: fail
seealso: [{module: streamshift.kafka.kafka_offset_translate}]
"""

EXAMPLES = r"""
- name: Let MirrorMaker 2 continue after the last record that Replicator has copied
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
  sample: /srv/onprem-to-cloud/connect-receipt.json
entries:
  description: The stored position of each partition before and after, sorted. A position is the offset of the last
    copied record; null if there is none.
  returned: success
  type: list
  elements: dict
  contains:
    topic: {description: The topic at the source., type: str, sample: orders}
    partition: {description: The partition., type: int, sample: 3}
    before: {description: The position that was stored before., type: int, sample: null}
    after:
      description: The position that is stored now. In check mode, the position that would be stored.
      type: int
      sample: 41876
written:
  description: Number of positions that the module has stored or deleted. In check mode, the number that it would store
    or delete.
  returned: success
  type: int
  sample: 12
misplaced:
  description: Number of keys that O(on_misplaced=remove) has deleted. In check mode, the number that it would delete.
  returned: success
  type: int
  sample: 0
notes:
  description: What you should know of the hand-over, a line each. Each note is a warning, too.
  returned: success
  type: list
  elements: str
  sample:
    - "Left out by exclude_topic_patterns: heartbeats (called like MirrorMaker 2's). To take them, name them in topics."
note_kinds: {description: "Kinds of the RV(notes), in the same order.", returned: success, type: list, elements: str}
failure: {description: "What C(msg) says, as data. See C(docs/troubleshooting.md).", returned: failure, type: dict}
"""

import typing as t

from ..module_utils._control.connect_rest import ConnectRest
from ..module_utils._migration._connect import handover as use_case
from ..module_utils._migration._connect.replicator import Replicator
from ..module_utils._migration._connect.stores import Store
from ..module_utils._migration._connect.topic import OFFSETS_TOPICS, TopicStore
from ..module_utils._migration._connect.worker import RestStore
from ..module_utils._model import connect_receipt as file
from ..module_utils._model.connection import Connection
from ..module_utils._model.errors import InvalidInput
from ..module_utils._model.option_names import option_name
from ..module_utils._model.policies import OnMisplaced
from ..module_utils._model.replication_policy import ReplicationPolicy
from ..module_utils._module import files, options, results
from ..module_utils._module.frame import Module

_DEDICATED = "MirrorSourceConnector"  # how a dedicated MirrorMaker 2 cluster calls its connector
_SAME_NAME = "${topic}"  # the topic.rename.format with which Replicator keeps the names of topics


def connect_offsets(module: Module) -> dict[str, t.Any]:
    params = module.params
    path = params["receipt"]
    rolling_back = params["state"] == "rolled_back"
    options.check_all(
        params,
        lambda: files.check_rollback_file(path, "receipt") if rolling_back else files.check_writable(path),
        lambda: _policy(params),
        lambda: _check_method(params),
    )
    source, destination = options.both_clusters(params)
    policy = _policy(params)
    on_misplaced = OnMisplaced(params["on_misplaced"])
    store = _store(params, destination, policy)
    save = files.saver(path, file.to_json, file.from_json, check=module.check_mode)
    with files.locked(path):
        receipt = use_case.receipt_of(store, destination, files.parsed(path, file.from_json))
        if rolling_back:
            outcome = use_case.take_back(store, receipt, options.selection(params), on_misplaced, save)
        else:
            task = options.filled(
                use_case.Handover,
                params,
                source=source,
                destination=destination,
                replicator=_replicator(params, source, destination),
                policy=policy,
                selection=options.selection(params),
            )
            outcome = use_case.hand_over(task, store, receipt, save)
    return {
        "changed": bool(outcome.written or outcome.misplaced),
        "receipt": path,
        "entries": [
            {**partition._asdict(), "before": before, "after": outcome.after[partition]}
            for partition, before in sorted(outcome.before.items())
        ],
        "written": outcome.written,
        "misplaced": len(outcome.misplaced),
        **module.warned(outcome.notes),
        "diff": results.diff(
            [
                *_lines(outcome.before),
                *(f"{partition}: {key.decode(errors='replace')}" for partition, key in outcome.misplaced),
            ],
            _lines(outcome.after),
            f"{store} (before)",
            f"{store} (after)",
        ),
    }


def _lines(offsets: t.Mapping[t.Any, int | None]) -> list[str]:
    return [f"{partition}: {'none' if offset is None else offset}" for partition, offset in sorted(offsets.items())]


def _policy(params: dict[str, t.Any]) -> ReplicationPolicy:
    policy = options.replication_policy(params, "source_alias")
    form = (params["replicator"] or {}).get("topic_rename_format")
    made = policy.topic(_SAME_NAME)
    if form not in (None, made):
        remedies = [
            f"set topic_rename_format of {option_name('replicator')} to Replicator's own topic.rename.format",
            f"correct {option_name('replication_policy')}",
        ]
        if form != _SAME_NAME:  # the default, which the user need not have meant
            remedies.reverse()
        raise InvalidInput(
            f"Replicator calls topics {form}, and MirrorMaker 2 with this {option_name('replication_policy')} {made}",
            remedy=f"{', or '.join(remedies)}; "
            f"what is neither {_SAME_NAME} nor <alias><separator>{_SAME_NAME} cannot be continued",
        )
    return policy


def _store(params: dict[str, t.Any], destination: Connection, policy: ReplicationPolicy) -> Store:
    """Where the connector looks. Without topic and group, what a MirrorMaker 2 that runs by itself calls them."""
    connector, alias = params["connector"], policy.source_alias
    if params["method"] != "topic":
        return RestStore(ConnectRest(**params["rest"]), destination, connector, policy)
    topic = params["offsets_topic"] or policy.connect_offsets.name
    return TopicStore(destination, topic, params["worker_group"] or f"{alias}-mm2", connector, alias)


def _check_method(params: dict[str, t.Any]) -> None:
    if params["method"] != "topic" and (params["offsets_topic"] or params["worker_group"]):
        raise InvalidInput(
            f"{option_name('offsets_topic')} and {option_name('worker_group')} are for {option_name('method')} topic",
            remedy="remove them",
        )
    if params["method"] == "rest" and not params["rest"]:
        raise InvalidInput(
            f"{option_name('method')} is rest, and {option_name('rest')} is missing",
            remedy="give it the url of a worker",
        )
    topic, is_dedicated = params["offsets_topic"], params["connector"] == _DEDICATED
    if params["method"] == "topic" and not (is_dedicated or (topic and params["worker_group"])):
        raise InvalidInput(
            f"{option_name('connector')} is {params['connector']}, and nothing says where its workers store offsets",
            why=f"a dedicated MirrorMaker 2 cluster calls its connector {_DEDICATED}, and would not look there",
            remedy=f"set {option_name('offsets_topic')} and {option_name('worker_group')}, or {option_name('method')} to rest",
        )
    if topic and not params["worker_group"] and not OFFSETS_TOPICS.fullmatch(topic):
        raise InvalidInput(
            f"{option_name('offsets_topic')} is {topic}, and {option_name('worker_group')} is missing",
            why="the workers that use this topic must not run, and this is no topic of a dedicated MirrorMaker 2 cluster",
            remedy=f"set {option_name('worker_group')} to the group.id of these workers",
        )


def _replicator(params: dict[str, t.Any], source: Connection, destination: Connection) -> Replicator:
    given = params["replicator"]
    cluster = source if given["cluster"] == "source" else destination
    group = given["group"] or given["connector"]
    return options.filled(Replicator, given, connection=cluster, topic=given["offsets_topic"], group=group)


def main() -> None:
    replicator = {
        "connector": {"type": "str", "default": "replicator"},
        "offsets_topic": {"type": "str", "default": "connect-offsets"},
        "cluster": options.choices("source", "destination", default="destination"),
        "group": {"type": "str"},
        "position": options.choices("agree", "stored", "group", default="agree"),
        "topic_rename_format": {"type": "str", "default": _SAME_NAME},
        "worker_groups": {"type": "list", "elements": "str", "default": []},
    }
    spec = {
        **options.cluster_spec("source", "destination"),
        **options.TOPIC_SELECTION,
        "state": options.choices("present", "rolled_back", default="present"),
        "replicator": {"type": "dict", "default": {}, "options": replicator, "apply_defaults": True},
        "replication_policy": {**options.POLICY["replication_policy"], "required": True},
        "connector": {"type": "str", "default": _DEDICATED},
        "method": options.choices("topic", "rest", default="topic"),
        **options.optional("str", "offsets_topic", "worker_group"),
        "rest": {"type": "dict", "options": options.HTTP_SERVICE},
        **options.spec_of(use_case.Handover),
        "receipt": {"type": "path", "required": True},
    }
    Module(spec).run(connect_offsets)


if __name__ == "__main__":
    main()
