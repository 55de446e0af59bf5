# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
from __future__ import annotations


class ModuleDocFragment:
    # The descriptions of repartitioned and replication_policy refer to topic_map. A module without it describes them itself.
    DOCUMENTATION = r"""
options:
  repartitioned:
    description:
      - Source topics whose records are in other partitions at the destination, as regular expressions that match the
        whole name. The number of partitions may differ, or the same number of partitions may be assigned in another
        way.
      - O(topic_map) may also map several of these topics to one.
      - These topics are read completely on both clusters, by Spark if they are long, and equal records are counted. Each
        partition at the destination gets an offset that skips no unconsumed record. Consumed records may be repeated; the
        plan says how many.
    type: list
    elements: str
    default: []
"""

    POLICY = r"""
options:
  replication_policy:
    description:
      - How MirrorMaker 2 names clusters and topics, as in its own configuration.
      - With a replication policy of your own, set O(topic_map) as well. O(topic_map) alone then says what the copied topics
        are called, and this option what MirrorMaker 2's internal topics are called. Only strategy V(mirror_maker) accepts
        both.
    type: dict
    suboptions:
      name:
        description:
          - How MirrorMaker 2 names the topics that it copies.
          - V(identity) keeps the names (C(IdentityReplicationPolicy)), except that MirrorMaker 2 also prefixes a name that ends
            with C(heartbeats), such as C(device_heartbeats). Set O(replication_policy.source_alias) if you have such topics.
          - V(default) prefixes the names with O(replication_policy.source_alias) and O(replication_policy.separator)
            (C(DefaultReplicationPolicy)).
        type: str
        choices: [identity, default]
        default: identity
      source_alias: {description: "MirrorMaker 2's alias of the source cluster.", type: str}
      separator: {description: "MirrorMaker 2's C(replication.policy.separator).", type: str, default: "."}
      target_alias:
        description:
          - MirrorMaker 2's alias of the destination cluster. One of its internal topics has this alias in its name.
          - Set it with V(default) if MirrorMaker 2 copies in both directions. A source topic C(cloud.orders) is then the copy
            of the topic C(orders) of the destination C(cloud), and its groups are set on that. With V(identity), this is so
            only of topics whose names end with C(heartbeats).
          - Strategy V(mirror_maker) needs it if O(replication_policy.offset_syncs_location=source).
        type: str
      internal_topic_separator_enabled:
        description: Whether MirrorMaker 2 uses O(replication_policy.separator) in the names of its internal topics, too
          (C(replication.policy.internal.topic.separator.enabled)).
        type: bool
        default: true
      offset_syncs_location:
        description:
          - The cluster that holds MirrorMaker 2's offset-syncs topic (C(offset-syncs.topic.location)).
          - V(source) is the source cluster.
          - V(target) is the destination cluster.
        type: str
        choices: [source, target]
        default: source
"""

    TOPICS = r"""
options:
  topic_map:
    description: Topics that have another name at the destination. The first rule that matches applies; other topics
      keep their name.
    type: list
    elements: dict
    default: []
    suboptions:
      name: {description: The exact name of the source topic., type: str}
      pattern: {description: A regular expression that matches the whole name of the source topic., type: str}
      to:
        description: The name at the destination. V(\\1) stands for the first group of O(topic_map[].pattern).
        type: str
        required: true
"""

    GROUPS = r"""
options:
  group_map:
    description: Groups that get another name at the destination. The first rule that matches applies; other groups keep
      their name.
    type: list
    elements: dict
    default: []
    suboptions:
      name: {description: The exact name of the source group., type: str}
      pattern: {description: A regular expression that matches the whole name of the source group., type: str}
      to:
        description:
          - The name at the destination, or a list of names. V(\\1) stands for the first group of O(group_map[].pattern).
          - With a list, the group becomes several groups, and each of them gets the committed offsets.
        type: raw
        required: true
      topics:
        description: Applies the rule only to the group's committed offsets on these source topics, as regular
          expressions that match the whole name.
        type: list
        elements: str
"""
