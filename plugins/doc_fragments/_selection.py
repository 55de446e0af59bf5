# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
from __future__ import annotations


class ModuleDocFragment:
    # Modules with these options also list the fragment below.
    DOCUMENTATION = r"""
options:
  groups:
    description:
      - Names of consumer groups to select. O(exclude_group_patterns) does not apply to them.
    type: list
    elements: str
    default: []
  group_patterns:
    description:
      - Consumer groups to select, as regular expressions that match the whole name.
      - O(groups) or O(group_patterns) must select at least one group.
    type: list
    elements: str
    default: []
  exclude_group_patterns:
    description:
      - Groups that O(group_patterns) must not select, as regular expressions that match the whole name.
      - By default, these groups are left out and listed in a warning - C(__.*), C(console-consumer-.*), C(connect-.*),
        C(streamshift-.*), C(.*-mm2).
    type: list
    elements: str
"""

    TOPICS = r"""
options:
  topics:
    description:
      - Names of topics to select. O(exclude_topic_patterns) does not apply to them.
      - Without O(topics) and O(topic_patterns), all topics that have offsets are selected.
    type: list
    elements: str
    default: []
  topic_patterns:
    description:
      - Topics to select, as regular expressions that match the whole name.
    type: list
    elements: str
    default: []
  exclude_topic_patterns:
    description:
      - Topics to leave out, as regular expressions that match the whole name.
      - By default, these topics are left out and listed in a warning - C(__.*), C(streamshift-.*), C(mm2-.*),
        C(heartbeats), C(.*[.-]heartbeats), C(.*[.-]checkpoints[.-]internal).
    type: list
    elements: str
"""
