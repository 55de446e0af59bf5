"""A query of Spark Structured Streaming with Spark's own Kafka connector, in a process of its own.

As a program, it reads a line of JSON for each query: servers, topic, checkpoint, sink, starting (startingOffsets), and die_at,
the number of the batch in which the sink fails. It runs the query until nothing is left to read, and prints a line of JSON.
"""

import contextlib
import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

from tests.support.processes import let_end
from tests.support.spark_connector import connector_jars

ROOT = Path(__file__).parents[2]
BATCH = 10  # records, at most


class Queries:
    """Queries of one Spark application, one after the other."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self.process = process
        self.folder = folder

    def run(self, name: str, servers: list[str], topic: str, starting: str = "earliest", die_at: int = -1) -> Path:
        """Run a query to the end of the topic, or until its sink fails in batch die_at. Returns its checkpoint."""
        assert self.process.stdin and self.process.stdout
        checkpoint = self.folder / f"{name}-checkpoint"
        asked = {"servers": ",".join(servers), "topic": topic, "starting": starting, "die_at": die_at}
        asked |= {"checkpoint": str(checkpoint), "sink": str(self.folder / name)}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline()
        assert said, "Spark has ended"
        assert json.loads(said) == {"failed": die_at >= 0}, said
        return checkpoint

    def written(self, name: str) -> list[str]:
        """The values that a query's sink has taken, batch by batch."""
        files = sorted((self.folder / name).iterdir(), key=lambda file: int(file.name))
        return [value for file in files for value in json.loads(file.read_text())]


@contextlib.contextmanager
def queries(folder: Path) -> t.Iterator[Queries]:
    """Spark, for as long as the block lasts. Its output is in folder/spark.log."""
    folder.mkdir()
    with (folder / "spark.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.streaming_query", str(folder)],
            cwd=ROOT,
            env={
                **os.environ,
                "PYTHONPATH": f"{ROOT}:{ROOT / 'roles/kafka_sandbox/files'}",
                "SPARK_LOCAL_IP": "127.0.0.1",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            yield Queries(process, folder)
        finally:
            let_end(process, 60)
            assert process.stdout
            process.stdout.close()


def main() -> None:
    from pyspark.errors import StreamingQueryException
    from pyspark.sql import DataFrame, SparkSession

    folder = Path(sys.argv[1])
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", ",".join(str(jar) for jar in connector_jars()))
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.local.dir", str(folder / "local"))
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .getOrCreate()
    )
    for line in sys.stdin:
        asked = json.loads(line)
        sink = Path(asked["sink"])
        sink.mkdir()

        def take(rows: DataFrame, number: int, sink: Path = sink, die_at: int = asked["die_at"]) -> None:
            if number == die_at:
                raise RuntimeError("the sink fails")
            values = [row.value for row in rows.selectExpr("CAST(value AS STRING) AS value").collect()]
            (sink / str(number)).write_text(json.dumps(values))

        query = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", asked["servers"])
            .option("subscribe", asked["topic"])
            .option("startingOffsets", asked["starting"])
            .option("maxOffsetsPerTrigger", BATCH)
            .load()
            .writeStream.foreachBatch(take)
            .option("checkpointLocation", asked["checkpoint"])
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination()
            failed = False
        except StreamingQueryException:
            failed = True
        print(json.dumps({"failed": failed}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
