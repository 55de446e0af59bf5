# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
from __future__ import annotations


class ModuleDocFragment:
    # Modules that have these options list the fragment below as well, whose topic_map they speak of.
    DOCUMENTATION = r"""
options:
  replication_policy:
    description:
      - How MirrorMaker 2 names the topics that it copies. Not together with O(topic_map).
    type: dict
    suboptions:
      name:
        description:
          - V(identity) keeps the names (C(IdentityReplicationPolicy)).
          - V(default) puts O(replication_policy.source_alias) and O(replication_policy.separator) before them
            (C(DefaultReplicationPolicy)).
        type: str
        choices: [identity, default]
        default: identity
      source_alias:
        description:
          - MirrorMaker 2's alias of the source cluster.
        type: str
      separator:
        description:
          - MirrorMaker 2's C(replication.policy.separator).
        type: str
        default: "."
      target_alias:
        description:
          - MirrorMaker 2's alias of the destination cluster, after which it names a topic of its own.
        type: str
      internal_topic_separator_enabled:
        description:
          - Whether topics of its own have O(replication_policy.separator), too
            (C(replication.policy.internal.topic.separator.enabled)).
        type: bool
        default: true
      offset_syncs_location:
        description:
          - The cluster on which it notes the offsets of records (C(offset-syncs.topic.location)).
        type: str
        choices: [source, target]
        default: source
  repartitioned:
    description:
      - Source topics whose records stand in other partitions at the destination, by regular expressions that match the
        whole name. The number of partitions may be another one, or the same with another way of choosing among them.
      - Several of these topics may also be mapped to one, by O(topic_map).
      - Their records are told apart one by one on Spark, which reads both sides whole. Every partition at the destination
        gets an offset that skips no unconsumed record; consumed records may be repeated, and the plan says how
        many.
    type: list
    elements: str
    default: []
"""

    RENAMING = r"""
options:
  topic_map:
    description:
      - Topics that have another name at the destination. The first rule that fits wins; others keep their name.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description:
          - The whole name that this rule is about.
        type: str
      pattern:
        description:
          - A regular expression that matches the whole names that this rule is about.
        type: str
      to:
        description:
          - The name at the destination. V(\\1) stands for the first group of O(topic_map[].pattern).
        type: str
        required: true
  group_map:
    description:
      - Groups that get another name at the destination. The first rule that fits wins; others keep their name.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description:
          - The whole name that this rule is about.
        type: str
      pattern:
        description:
          - A regular expression that matches the whole names that this rule is about.
        type: str
      to:
        description:
          - The name at the destination. V(\\1) stands for the first group of O(group_map[].pattern).
        type: str
        required: true
      topics:
        description:
          - Limits the rule to what the group has committed for these source topics, by regular expressions that
            match the whole name.
        type: list
        elements: str
"""
