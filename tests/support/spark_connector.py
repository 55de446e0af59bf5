"""Spark's own Kafka connector."""

from pathlib import Path

from tests.support.maven import fetched

# The newest that Maven's mirrors commonly have. Queries of Spark 4.3 run with it; version 4.0.0 can only read batches there.
CONNECTOR = "4.2.0"
WANTED = (
    "spark-sql-kafka-*",
    "spark-token-provider-kafka-*",
    "kafka-clients-*",
    "commons-pool2-*",
)  # the rest Spark has


def connector_jars(version: str = CONNECTOR) -> list[Path]:
    """Spark's connector and what it needs."""
    folder = fetched(f"spark-connector-{version}", ("org.apache.spark", "spark-sql-kafka-0-10_2.13", version))
    return [jar for pattern in WANTED for jar in folder.glob(f"{pattern}.jar")]
