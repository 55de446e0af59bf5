# SPDX-License-Identifier: GPL-3.0-or-later

"""Spark's own Kafka connector, fetched by Maven for the first time."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from sandbox_java import COPY_DEPENDENCIES, cache_folder, locked

# The newest that Maven's mirrors commonly have. Queries of Spark 4.3 run with it; version 4.0.0 can only read batches there.
CONNECTOR = "4.2.0"
PROJECT = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>streamshift</groupId><artifactId>benchmark</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.spark</groupId><artifactId>spark-sql-kafka-0-10_2.13</artifactId><version>VERSION</version>
    </dependency>
  </dependencies>
</project>
"""
WANTED = (
    "spark-sql-kafka-*",
    "spark-token-provider-kafka-*",
    "kafka-clients-*",
    "commons-pool2-*",
)  # the rest Spark has


def connector_jars(version: str = CONNECTOR) -> list[Path]:
    """Spark's connector and what it needs."""
    folder = cache_folder() / f"spark-connector-{version}"
    with locked(folder.name):
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as scratch:
                project, target = Path(scratch) / "pom.xml", Path(scratch) / "jars"
                project.write_text(PROJECT.replace("VERSION", version))
                subprocess.run(
                    ["mvn", "-q", "-B", "-f", project, COPY_DEPENDENCIES, f"-DoutputDirectory={target}"],
                    check=True,
                    stdout=sys.stderr,  # Maven resets colours even if it is quiet, and programs answer on stdout
                    timeout=900,
                )
                target.rename(folder)
    return [jar for pattern in WANTED for jar in folder.glob(f"{pattern}.jar")]
