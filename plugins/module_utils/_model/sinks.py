# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Sink connectors by their classes, and where they keep their positions: the table in docs/assessing.md, for programs. Pure.

The classes are those of the connectors' own documentation. A class that nobody knows here may keep positions, too.
"""

from __future__ import annotations

import re
import typing as t

_FAMILIES = (
    (r".*\.iceberg\..*", "Iceberg", "keeps positions in the snapshots of its tables"),
    (r"com\.snowflake\..*", "Snowflake", "keeps an offset token of each channel"),
    (r".*\.hdfs\d?\..*", "HDFS", "keeps positions in the names of its files"),
    (
        r".*\.(s3|gcs|azure\.(blob|datalake[^.]*))\..*",
        "S3, GCS, Azure Blob",
        "keeps the committed offsets alone, and names objects by offsets",
    ),
    (
        r".*\.(jdbc|elasticsearch|opensearch|mongodb?|redis|cassandra|neo4j|couchbase)\..*",
        "JDBC, Elasticsearch and others with keys",
        "keeps the committed offsets alone, and may make keys of offsets",
    ),
)


class Sink(t.NamedTuple):
    """A sink connector: its name, its class, and the group that it consumes in."""

    connector: str
    class_name: str
    group: str

    @property
    def text(self) -> str:
        """What the sink is and where it keeps its positions, in a sentence."""
        begin = f"It is the group of the sink connector {self.connector} of class {self.class_name}"
        for pattern, family, what in _FAMILIES:
            if re.fullmatch(pattern, self.class_name, re.IGNORECASE):
                return f"{begin}, which {what} (in the table: {family})."
        return f"{begin}, which the table does not have: ask its maker where it keeps its positions."


def sink_of(connector: str, config: t.Mapping[str, str]) -> Sink | None:
    """The sink connector of this name and these settings; None for a source connector."""
    if not {"topics", "topics.regex"} & config.keys():
        return None
    group = config.get("consumer.override.group.id") or f"connect-{connector}"
    return Sink(connector, config.get("connector.class", "not known"), group)
