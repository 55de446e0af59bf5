# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
from __future__ import annotations


class ModuleDocFragment:
    # Modules with these options also list the fragment below.
    DOCUMENTATION = r"""
options:
  groups:
    description: Names of consumer groups to select. O(exclude_group_patterns) does not apply to them.
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
      - They are added to the default ones. An empty list leaves nothing out. What is left out is listed.
      - The default ones are called like groups of Kafka's tools, sink connectors, MirrorMaker 2, schema registries,
        Cruise Control, Amazon MSK, Strimzi, Confluent and this collection - C(console-consumer-.*),
        C(perf-consumer-\d+), C(connect-.*), C(streamshift-.*), C(.*-mm2), C(mirror-?maker-?2?-cluster),
        C((?i)(.*[-_.])?schema[-_.]?registry([-_.].*)?), C((?i)(karapace|apicurio)[-_.].*),
        C(.*[Cc]ruise[-_.]?[Cc]ontrol.*), C((?i)amazon[-_.]msk[-_.].*), C((?i)_{0,2}strimzi[-_.].*),
        C(_confluent(?!-ksql-)(.*)|Confluent(Telemetry|Metrics)Reporter.*), C(__.*).
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
    description: Topics to select, as regular expressions that match the whole name.
    type: list
    elements: str
    default: []
  exclude_topic_patterns:
    description:
      - Topics to leave out, as regular expressions that match the whole name.
      - They are added to the default ones, which do not apply to groups that are selected by name. An empty list leaves nothing
        out. What is left out is listed, with its partitions.
      - The default ones are called like topics of MirrorMaker 2, Kafka itself and this collection - C(streamshift-.*),
        C(mm2-.*), C(heartbeats), C(.*[.-]heartbeats), C(.*[.-]checkpoints[.-]internal), C(__.*).
    type: list
    elements: str
"""
