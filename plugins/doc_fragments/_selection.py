# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
from __future__ import annotations


class ModuleDocFragment:
    # Modules that have these options list the fragment below as well.
    DOCUMENTATION = r"""
options:
  groups:
    description:
      - Consumer groups, by name. A name beats O(exclude_group_patterns).
    type: list
    elements: str
    default: []
  group_patterns:
    description:
      - Consumer groups, by regular expressions that match the whole name.
      - O(groups) or O(group_patterns) must select something.
    type: list
    elements: str
    default: []
  exclude_group_patterns:
    description:
      - Groups that O(group_patterns) shall not select, by regular expressions that match the whole name.
      - Without it, these are left out, and it is said which - C(__.*), C(console-consumer-.*), C(connect-.*),
        C(streamshift-.*), C(.*-mm2).
    type: list
    elements: str
"""

    TOPICS = r"""
options:
  topics:
    description:
      - Topics, by name. A name beats O(exclude_topic_patterns).
      - Without O(topics) and O(topic_patterns), every topic that offsets are known of.
    type: list
    elements: str
    default: []
  topic_patterns:
    description:
      - Topics, by regular expressions that match the whole name.
    type: list
    elements: str
    default: []
  exclude_topic_patterns:
    description:
      - Topics that are not meant, by regular expressions that match the whole name.
      - Without it, these are left out, and it is said which - C(__.*), C(streamshift-.*), C(mm2-.*), C(heartbeats),
        C(.*[.-]heartbeats), C(.*[.-]checkpoints[.-]internal).
    type: list
    elements: str
"""
