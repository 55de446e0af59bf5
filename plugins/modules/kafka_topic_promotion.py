#!/usr/bin/python
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_topic_promotion
short_description: Let topics, partitions, settings and ACLs of a cluster follow another cluster
version_added: 0.1.0
description:
  - Creates topics that are missing at the destination, adds partitions, changes settings, and creates ACLs, as far as
    the options say.
  - Never deletes a topic, never removes partitions, and never touches internal topics. Only a rollback with
    O(remove_created=true) deletes topics.
  - Lets the brokers of the destination check every change before the first one is made. If they would refuse one, the
    module writes nothing and names the topic, the setting and the reason.
  - Saves the receipt to disk before the first write. A rollback restores the settings and ACLs in the receipt.
  - Does not copy records, users or SCRAM credentials.
author: The streamshift.kafka authors (@streamshift)
extends_documentation_fragment:
  [streamshift.kafka._attributes, streamshift.kafka._attributes.files, streamshift.kafka._cluster.source_destination,
   streamshift.kafka._mapping.policy, streamshift.kafka._mapping.topics, streamshift.kafka._progress,
   streamshift.kafka._receipt, streamshift.kafka._selection.topics]
options:
  state:
    description:
      - What the module does.
      - V(promoted) decides what to change, and changes it.
      - V(planned) decides what to change, writes it to O(plan), and changes nothing on the clusters.
      - V(applied) makes the changes in O(plan). It fails, and writes nothing, if a topic that the plan changes is not
        what it was when the plan was made, or if the ACLs in the plan would by now lock clients out (O(on_lockout)) or
        let everybody in.
      - V(rolled_back) restores the settings and ACLs that O(receipt) says were there before the first promotion. It
        leaves alone what somebody else has changed since. Added partitions stay, because Kafka cannot remove them.
      - V(fenced) denies O(principals) to write to the selected topics of O(destination), and O(read_principals) to read
        them. It then looks whether somebody still writes. Only O(topics), O(topic_patterns), O(exclude_topic_patterns),
        O(on_lockout), O(on_still_written), O(idle_wait) and O(receipt) apply besides. Nothing asks O(source). Give the same
        cluster. Set C(sync.topic.acls.enabled) of MirrorMaker 2 to C(false) first, or it copies the fence to its destination.
      - V(lifted) removes the ACLs that V(fenced) has made with this O(receipt), and no others. If O(topics),
        O(topic_patterns) or O(exclude_topic_patterns) are given, it removes only those of the topics that they select.
        Notes name the ACLs that stay, and what else denies writing to O(topics).
    type: str
    choices: [promoted, planned, applied, rolled_back, fenced, lifted]
    default: promoted
  topics:
    description:
      - Names of source topics to select. O(exclude_topic_patterns) does not apply to them.
      - O(topics) or O(topic_patterns) must select at least one topic.
  topic_patterns:
    description: Source topics to select, as regular expressions that match the whole name.
  principals:
    description:
      - With O(state=fenced), who must not write to the topics, each with its type.
      - C(User:*) is everybody. An ACL that denies something has no exceptions, so if somebody has to go on writing, name all
        others instead. Super users ignore ACLs.
    type: list
    elements: str
    default: ["User:*"]
  read_principals:
    description: With O(state=fenced), who must not read the topics, such as consumers that have been moved. C(User:*)
      and the user of this task are refused, because the replication tool and the migration read there.
    type: list
    elements: str
    default: []
  on_still_written:
    description:
      - With O(state=fenced), what to do if the topics still grow after the ACLs are made, or if a
        transaction is still open in them.
      - V(fail) fails, and leaves the ACLs. The message names the topics, and who writes, as far as the brokers tell.
      - V(note) returns a note, and RV(still_written).
    type: str
    choices: [note, fail]
    default: fail
  idle_wait:
    description: With O(state=fenced), how many seconds are between two looks at the ends of the logs. If they have
      moved, or a transaction is open, the module looks twice more, because records may have been on their way.
    type: float
    default: 5
  snapshot:
    description:
      - Path of a snapshot file of M(streamshift.kafka.kafka_group_offsets). Takes the place of O(topics) and
        O(topic_patterns), and selects the source topics on which the groups in it have committed offsets, as far as the
        topics still exist.
      - O(exclude_topic_patterns) applies to these topics, and leaves out none by default.
    type: path
  exclude_topic_patterns:
    description:
      - Topics that O(topic_patterns) must not select, as regular expressions that match the whole name.
      - They are added to the default ones, which leave out topics called like those of Kafka Connect, MirrorMaker 2, schema
        registries, Cruise Control, Amazon MSK, Strimzi, Confluent, Kafka Streams and this collection, which these keep for
        themselves. The notes name what is left out. An empty list leaves nothing out.
  replication_policy:
    description:
      - How MirrorMaker 2 names topics, as in its own configuration.
      - Mutually exclusive with O(topic_map).
      - With O(replication_policy.target_alias), topics that begin with it are copies of the destination's own topics, and left
        out.
  on_missing:
    description:
      - What to do if the destination does not have a topic.
      - V(create) creates it with the source's number of partitions.
      - V(leave) leaves it missing, and says so in the notes.
    type: str
    choices: [create, leave]
    default: create
  replication_factor:
    description:
      - How many replicas the topics get that the module creates. The replicas of existing topics are never changed.
      - V(source) takes the source's number, at most the number of brokers at the destination.
      - V(broker) takes the brokers' C(default.replication.factor).
      - A number is taken as it is.
    type: str
    default: source
  on_fewer_partitions:
    description:
      - What to do if the destination's topic has fewer partitions than the source's. A topic with more partitions is
        always left as it is.
      - V(fail) writes nothing at all, and fails.
      - V(grow_empty) adds partitions if the topic holds no record, and fails if it holds one.
      - V(grow_empty_or_leave) adds partitions if the topic holds no record, and otherwise does the same as V(leave).
      - V(grow) adds partitions. From then on, records with a key go to other partitions than before, so consumers may
        see records of one key out of order. When M(streamshift.kafka.kafka_offset_translate) plans groups, name the
        topic in C(repartitioned), because the records that it holds stay where they are.
      - V(leave) leaves the topic as it is, and says so in the notes.
    type: str
    choices: [fail, grow_empty, grow_empty_or_leave, grow, leave]
    default: fail
  settings:
    description:
      - Which settings follow the source.
      - V(merge) sets what the source sets on the topic itself. What only the destination sets stays.
      - V(exact) also resets what only the destination sets to the brokers' default, except for O(keep_settings) and
        O(exclude_settings).
      - V(created) sets on the topics that the module creates what the source sets, and changes no setting of topics
        that exist.
      - V(none) changes no setting.
    type: str
    choices: [merge, exact, created, none]
    default: merge
  keep_settings:
    description: Settings that O(settings=exact) does not reset, as regular expressions that match the whole name.
    type: list
    elements: str
    default: []
  exclude_settings:
    description:
      - Settings that do not follow the source, as regular expressions that match the whole name. O(overrides) may still
        set them.
      - By default, these settings are left alone - C(follower.replication.throttled.replicas),
        C(leader.replication.throttled.replicas), C(message.timestamp.after.max.ms), C(message.timestamp.before.max.ms),
        C(message.timestamp.difference.max.ms), C(message.timestamp.type), C(min.insync.replicas),
        C(remote.storage.enable), C(unclean.leader.election.enable).
    type: list
    elements: str
  overrides:
    description: Settings that have another value at the destination than at the source. If several entries match a
      topic, the first one that has the setting applies.
    type: list
    elements: dict
    default: []
    suboptions:
      topics:
        description: Source topics, as regular expressions that match the whole name. At least one selected topic must
          match.
        type: list
        elements: str
        required: true
      settings:
        description: The settings and their values. A value of V(null) means the brokers' default.
        type: dict
        required: true
  on_unknown_setting:
    description:
      - What to do if the brokers of the destination do not know a setting, because they run another version of Kafka.
      - V(fail) writes nothing at all, and fails.
      - V(leave) leaves the setting out, and says so in the notes.
    type: str
    choices: [fail, leave]
    default: fail
  acls:
    description:
      - Which ACLs on the selected topics follow the source. Both clusters need an authorizer.
      - V(none) neither reads nor changes ACLs.
      - V(mirror) is for the time while a replication tool writes to the destination. It copies ACLs that allow READ,
        DESCRIBE or DESCRIBE_CONFIGS, and turns an ACL that allows ALL into these three. It copies ACLs that deny
        something, except for WRITE, and turns an ACL that denies ALL into one that denies READ.
      - V(cutover) copies all ACLs. Producers can then write to the destination.
    type: str
    choices: [none, mirror, cutover]
    default: none
  acl_groups:
    description: Consumer groups whose ACLs are copied as well, as regular expressions that match the whole name or
      prefix of the ACL. The names stay the same.
    type: list
    elements: str
    default: []
  acl_transactional_ids:
    description: The same as O(acl_groups), for transactional ids.
    type: list
    elements: str
    default: []
  acl_wildcards:
    description: Copies ACLs on C(*), which cover every topic, and every group or transactional id if O(acl_groups) or
      O(acl_transactional_ids) is set. Without it, these ACLs are left out and listed in the notes, but one that denies
        what a copied ACL allows becomes one on the name or prefix of that ACL.
    type: bool
    default: false
  principal_map:
    description: Principals that have another name at the destination. The first rule that matches applies; other
      principals keep their name.
    type: list
    elements: dict
    default: []
    suboptions:
      name: {description: "The exact principal at the source with its type, such as C(User:billing).", type: str}
      pattern:
        description: A regular expression that matches the whole principal at the source, with its type. It renames neither
          C(User:*) nor C(User:ANONYMOUS).
        type: str
      to:
        description: The principal at the destination with its type. V(\\1) stands for the first group of
          O(principal_map[].pattern).
        type: str
        required: true
  remove_acls:
    description:
      - Removes ACLs on the promoted topics, groups and transactional ids that only the destination has. This can take
        away the ACLs of the replication tool.
      - An ACL on a prefix is removed only if all topics of the destination with this prefix are promoted, or if the source
        has an ACL on this prefix. Otherwise it stays and is listed in the notes.
      - An ACL that denies something stays, because somebody would get access without it. An ACL on C(*) stays, and so do
        the last ones on a resource if the brokers may let everybody in where there is none
        (C(allow.everyone.if.no.acl.found)).
      - Without it, these ACLs stay and are listed in the notes.
    type: bool
    default: false
  fence_receipt:
    description:
      - Path of the receipt of a fence at the source. The ACLs in it are not copied, because they are
        only meant to keep clients away from the source. A note names them.
      - Nothing is left out if the file does not exist, or if it is about another cluster than the source. A note says so, for
        a missing file only if the run copies an ACL that denies READ or WRITE.
    type: path
  on_lockout:
    description:
      - What to do if ACLs that are added take access away from clients that they do not name. Such an ACL is the first one on
        its resource, if the brokers let everybody in where there is no ACL (C(allow.everyone.if.no.acl.found)), or it denies
        something to everybody (C(User:*) from all hosts).
      - Brokers hide the value of C(allow.everyone.if.no.acl.found). It counts as true if a broker has the setting, or if the
        user may not read the brokers' settings, unless the brokers refuse the user what no ACL grants.
      - V(fail) writes nothing at all, and fails.
      - V(add) adds them, with a note. Clients without an ACL of their own lose access at once, such as the replication tool.
    type: str
    choices: [fail, add]
    default: fail
  remove_created:
    description:
      - With O(state=rolled_back), deletes the topics that a promotion has created, if they hold no record and no group
        that the user may describe has a committed offset on them.
      - A topic stays if nobody knows whether a promotion with this receipt has created it, as after a run that was killed
        while it created the topic.
    type: bool
    default: false
  plan:
    description:
      - Path of the file that says what was decided. Its directory must exist.
      - Required unless O(state=rolled_back).
    type: path
seealso: [{module: streamshift.kafka.kafka_offset_translate}]
"""

EXAMPLES = r"""
- name: Create the topics of the shop at the destination before MirrorMaker 2 copies them
  streamshift.kafka.kafka_topic_promotion:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.cloud.kafka_cluster }}"
    topic_patterns:
      - shop\..*
    overrides:
      - topics: [shop\..*]
        settings:
          min.insync.replicas: 2
    acls: mirror
    plan: "{{ inventory_dir }}/topics.json"
    receipt: "{{ inventory_dir }}/topics-receipt.json"

- name: Let nobody write at the source any more
  streamshift.kafka.kafka_topic_promotion:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    destination: "{{ hostvars.onprem.kafka_cluster }}"
    state: fenced
    topic_patterns:
      - shop\..*
    receipt: "{{ inventory_dir }}/kafka-fences/onprem/topics-receipt.json"
"""

RETURN = r"""
plan:
  description: Path of the file that says what was decided.
  returned: if O(state) is V(promoted), V(planned) or V(applied)
  type: str
  sample: /srv/kafka-promotions/staging-to-production/topics.json
receipt:
  description: Path of the receipt file.
  returned: success
  type: str
  sample: /srv/kafka-promotions/staging-to-production/topics-receipt.json
topics:
  description: The topics, sorted. A rollback lists only those that it changes.
  returned: success
  type: list
  elements: dict
  contains:
    topic: {description: The topic at the destination., type: str, sample: orders}
    source: {description: The topic at the source; null in a rollback., type: str, sample: orders}
    partitions:
      description: Number of partitions before and after; null for a topic that does not exist.
      type: dict
      sample: {"before": null, "after": 12}
    settings:
      description: The settings that change, by name, with the values before and after (null for the brokers' default)
        and the origin of the new value - V(source), V(override) or V(default).
      type: dict
      sample: {"retention.ms": {"before": null, "after": "3600000", "origin": "source"}}
acls:
  description: The ACLs that change, sorted. With O(remove_acls=false), also those that only the destination has.
  returned: success
  type: list
  elements: dict
  contains:
    acl: {description: The ACL., type: str, sample: ALLOW READ on TOPIC orders for User:billing}
    action:
      description: What the module does with the ACL - V(add), V(remove) or V(extra), which means that it stays.
      type: str
      sample: add
fenced:
  description: The topics that are fenced, sorted.
  returned: if O(state) is V(fenced)
  type: list
  elements: str
  sample: [shop.orders]
still_written:
  description: The topics that still grow despite the fence, as M(streamshift.kafka.kafka_offset_commit) returns them. Check
    mode does not look.
  returned: if O(state) is V(fenced)
  type: list
  elements: dict
  sample: []
changes:
  description: How many topics and ACLs change. With O(state=planned) and in check mode, how many would change.
  returned: success
  type: int
  sample: 1
notes:
  description: What you should know, such as topics and ACLs that were left out.
  returned: success
  type: list
  elements: str
  sample: ["orders gets 1 replica instead of the source's 3, because the destination has 1 broker."]
note_kinds: {description: "Kinds of the RV(notes), in the same order.", returned: success, type: list, elements: str}
summary:
  description: The changes for people, a line each.
  returned: success
  type: list
  elements: str
  sample: ["orders: created with 12 partitions"]
failure: {description: "What C(msg) says, as data. See C(docs/troubleshooting.md).", returned: failure, type: dict}
"""

import typing as t

from ..module_utils._migration._promotion.fence import FenceOptions
from ..module_utils._model import promotion
from ..module_utils._model.policies import OnStillWritten
from ..module_utils._module import options
from ..module_utils._module.frame import Module
from ..module_utils._module.promoting import fence_topics, promote_topics, roll_back_topics


def topic_promotion(module: Module) -> dict[str, t.Any]:
    ways = {"fenced": fence_topics, "rolled_back": roll_back_topics, "lifted": roll_back_topics}
    return ways.get(module.params["state"], promote_topics)(module)


def main() -> None:
    override = {
        "topics": {"type": "list", "elements": "str", "required": True},
        "settings": {"type": "dict", "required": True},
    }
    spec = {
        **options.cluster_spec("source", "destination"),
        **options.TOPIC_SELECTION,
        **options.PROGRESS,
        **options.spec_of(promotion.PromotionOptions),
        "state": options.choices(
            "promoted", "planned", "applied", "rolled_back", "fenced", "lifted", default="promoted"
        ),
        **options.optional("path", "snapshot", "plan", "fence_receipt"),
        "topic_map": options.RULES,
        **options.POLICY,
        "replication_factor": {"type": "str", "default": "source"},
        "exclude_settings": {"type": "list", "elements": "str"},
        "overrides": {"type": "list", "elements": "dict", "default": [], "options": override},
        "principal_map": options.RULES,
        "remove_created": {"type": "bool", "default": False},
        **options.spec_of(FenceOptions),
        "on_still_written": options.choices(OnStillWritten, default="fail"),
        "idle_wait": {"type": "float", "default": 5},
        "receipt": {"type": "path", "required": True},
    }
    Module(
        spec,
        mutually_exclusive=[("snapshot", "topics"), ("snapshot", "topic_patterns")],
        required_if=[("state", state, ("plan",)) for state in ("promoted", "planned", "applied")],
    ).run(topic_promotion)


if __name__ == "__main__":
    main()
