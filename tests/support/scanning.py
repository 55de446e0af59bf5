"""A program that reads topics on Spark, to be run, watched and killed by tests.

Its standard input: JSON with job (one of JOBS), options (of Spark), connection, topic, ranges (start and end by partition). It
prints "open" when its session is there, and in the end a line of JSON: rows and distinct of a scan, or failed.
"""

import json
import os
import subprocess
import sys
import typing as t
import uuid
from pathlib import Path

from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection, connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import Run
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import MigrationError
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.spark import spark_options_from
from ansible_collections.streamshift.kafka.plugins.module_utils._records.jobs import Job
from ansible_collections.streamshift.kafka.plugins.module_utils._records.scanning import Range
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.copy_job import Compared, compare, copy, rebuild
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.scan_job import scan_frame
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.session import kept, open_session
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.spark_library import SparkSession
from testbed.clients import until
from tests.support.processes import Running, running

ROOT = Path(__file__).parents[2]
MARK = "STREAMSHIFT_TEST"  # in the environment of the program and of whatever it starts


class Program:
    """A started job. Everything on this machine that belongs to it can be found and must be gone after it."""

    def __init__(
        self,
        connection: dict[str, t.Any],
        ranges: dict[tuple[str, int], tuple[int, int]],
        job: str = "scan",
        **options: t.Any,
    ) -> None:
        self.mark = uuid.uuid4().hex
        asked = {
            "job": job,
            "connection": connection,
            "ranges": [[topic, partition, *bounds] for (topic, partition), bounds in ranges.items()],
            "options": options,
        }
        path = f"{ROOT / '.ansible/collections'}:{ROOT}"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.scanning"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path, MARK: self.mark},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdin
        self.process.stdin.write(json.dumps(asked))
        self.process.stdin.close()
        self.process.stdin = None  # communicate() would flush it

    def opened(self) -> None:
        """Wait until the session is there."""
        assert self.process.stdout
        said = self.process.stdout.readline()
        assert said == "open\n", (said, *self.process.communicate())

    def outcome(self) -> dict[str, t.Any]:
        """The last line, which must be all that was printed, and nothing may be left of it."""
        said, complaints = self.process.communicate(timeout=300)
        assert not complaints, complaints
        self.gone()
        result: dict[str, t.Any] = json.loads(said.removeprefix("open\n"))
        return result

    def kill(self) -> None:
        """End it as a machine's operator or the kernel does."""
        self.process.kill()
        self.process.communicate()

    def gone(self, seconds: float = 60.0) -> None:
        """Nothing that it has started may be there any more, soon; a machine may be busy."""
        until(lambda: not self.processes(), seconds, lambda: f"{self.processes()} are still there")

    def processes(self, program: str = "") -> list[Running]:
        """The processes that belong to it, but for itself."""
        its = running(f"{MARK}={self.mark}")
        return [each for each in its if program in each.words and each.pid != self.process.pid]


def _scan(spark: SparkSession, connection: Connection, ranges: list[Range]) -> dict[str, t.Any]:
    with kept(scan_frame(spark, connection, ranges)) as rows:
        found = rows.selectExpr("count(*)", "count(distinct range, offset)").collect()[0]
    return {"rows": found[0], "distinct": found[1]}


def _copy(spark: SparkSession, connection: Connection, ranges: list[Range]) -> dict[str, t.Any]:
    largest = {each.partition.topic: 1_000_000 for each in ranges}
    copy(
        spark,
        connection,
        connection,
        [Job("copy", 0, tuple(_copied(ranges)), Run("", "", 0, 0), ("progress",), {}, largest, largest)],
    )
    return {}


def _rebuild(spark: SparkSession, connection: Connection, ranges: list[Range]) -> dict[str, t.Any]:
    rebuild(spark, connection, connection, [(each, each.end) for each in _copied(ranges)])
    return {}


def _compare(spark: SparkSession, connection: Connection, ranges: list[Range]) -> dict[str, t.Any]:
    compare(spark, connection, connection, [Compared(each, each.start, each.end) for each in _copied(ranges)])
    return {}


def _copied(ranges: list[Range]) -> list[BacklogRange]:
    """The same as ranges of a copy to topics with longer names."""
    return [
        BacklogRange(
            its.partition,
            its.start,
            its.end,
            its.partition._replace(topic=f"{its.partition.topic}-to"),
            0,
            (its.start,),
        )
        for its in ranges
    ]


JOBS = {"scan": _scan, "copy": _copy, "rebuild": _rebuild, "compare": _compare}


def main(asked: dict[str, t.Any]) -> dict[str, t.Any]:
    """Open the session, say so, and do the job."""
    connection = connection_from(asked["connection"], "source cluster")
    ranges = [Range(TopicPartition(topic, part), start, end) for topic, part, start, end in asked["ranges"]]
    printed = os.dup(1)  # the session has the process's output
    try:
        with open_session(spark_options_from(asked["options"])) as spark:
            os.write(printed, b"open\n")
            print("this goes to the session's log")
            return JOBS[asked["job"]](spark, connection, ranges)
    except MigrationError as exc:
        return {"failed": str(exc), "kind": type(exc).__name__}


if __name__ == "__main__":
    print(json.dumps(main(json.load(sys.stdin))))
