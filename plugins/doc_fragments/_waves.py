# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection.
"""The documentation of the option waves."""

from __future__ import annotations


class ModuleDocFragment:
    """Waves, as kafka_group_info and kafka_group_readiness take them."""

    DOCUMENTATION = r"""
options:
  waves:
    description:
      - The waves of a migration, to return which groups each of them has, and which groups are in no wave, in several, or
        no longer there.
      - The module refuses a wave without groups, and one that names a group twice.
    type: list
    elements: dict
    default: []
    suboptions:
      name: {description: Name of the wave., type: str, required: true}
      directory:
        description: Directory of the wave's migration. M(streamshift.kafka.kafka_group_readiness) reads it as if it
          were in C(directories), unless the wave has not begun.
        type: path
      groups: {description: "Groups of the wave, by their names at the source.", type: list, elements: str, default: []}
      group_patterns:
        description: Groups of the wave, as regular expressions that match the whole name.
        type: list
        elements: str
        default: []
      exclude_group_patterns:
        description: Groups that O(waves[].group_patterns) must not select, as regular expressions that match the whole
          name. They are added to the default ones of M(streamshift.kafka.kafka_group_info).
        type: list
        elements: str
"""
