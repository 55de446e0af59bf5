# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Errors on their way out of Spark: those of the collection as they were raised, all others in one line."""

from __future__ import annotations

import json
import re
import typing as t

from .._model import errors
from .._model.errors import MigrationError, SparkFailed
from .._model.option_names import option_name, with_option_names

_FIELDS = ("what", "cluster", "group", "topic", "partition", "why", "remedy")
_MARK = "streamshift-failure "


class WorkerFailed(RuntimeError):
    """A MigrationError that was raised in a worker, as text: nothing else of an exception reaches the driver."""

    def __init__(self, exc: MigrationError) -> None:
        super().__init__(f"{_MARK}{packed_error(exc)}")


def packed_error(exc: MigrationError) -> str:
    """A MigrationError as text."""
    return json.dumps({"class": type(exc).__name__, **{field: getattr(exc, field) for field in _FIELDS}})


def cause_of(exc: BaseException, spark: str, log: str = "") -> MigrationError:
    """What an error that Spark has raised means.

    spark: what the session calls itself. log: the end of what the session has written, for errors that tell nothing.
    """
    text = str(exc)
    if _MARK in text:
        return unpacked(text.partition(_MARK)[2])
    return known_failure(f"{text}\n{log}", spark) or SparkFailed(
        "Spark has failed", cluster=spark, why=_gist(text, log), remedy="read the log of the Spark cluster"
    )


def known_failure(text: str, spark: str) -> SparkFailed | None:
    """What a text of Spark means, if it is one that a user can do something about."""
    for pattern, what, remedy in _KNOWN:
        if match := re.search(pattern, text):
            return SparkFailed(
                what.format(*match.groups()), cluster=spark, remedy=remedy.format(spark=option_name("spark"))
            )
    return None


def unpacked(text: str) -> MigrationError:
    """The error that packed_error() made such a text of; what follows the text is ignored."""
    told, _end = json.JSONDecoder().raw_decode(text)
    raised: type[MigrationError] = getattr(errors, told["class"], MigrationError)
    fields = {field: told[field] for field in _FIELDS[1:]}
    # A worker does not know what a role calls options.
    remedy = told["remedy"] and with_option_names(told["remedy"], [told["group"] or "", told["topic"] or ""])
    return raised(told["what"], **fields | {"remedy": remedy})


_PACKAGES = "install confluent-kafka, xxhash, pyarrow and numpy there, or send an environment with archives in {spark}"
# A pattern, what it means, and a remedy, in which {spark} is what the user calls the option.
_KNOWN: t.Sequence[tuple[str, str, str]] = (
    (
        r"No space left on device|Disk quota exceeded",
        "the disk is full where Spark keeps its files",
        "free some, or set work_directory in {spark} (on a cluster: the workers' spark.local.dir) to a larger disk",
    ),
    (
        r"NoSuchFileException: (\S+\.(?:tar\.gz|tgz|tar|zip|jar))\b",
        "there is no archive {0} on this machine",
        "correct archives in {spark}",
    ),
    (
        r"ModuleNotFoundError: No module named '([\w.]+)'",
        "the Python of Spark's workers has no package {0}",
        _PACKAGES,
    ),
    (
        r"PACKAGE_NOT_INSTALLED\] (.*?) must be installed",
        "the Python of Spark's workers has no {0}",
        _PACKAGES,
    ),
    (
        r"PYTHON_VERSION_MISMATCH.*?(\d+\.\d+).*?(\d+\.\d+)",
        "the Python of Spark's workers is {0}, and the one here is {1}",
        "use the same, or send an environment with archives in {spark}",
    ),
    (
        r'Cannot run program "([^"]*python[^"]*)"',
        "Spark's workers have no Python {0}",
        (
            "set spark.pyspark.python in conf of {spark} to the path that it has there, or send an environment with "
            "archives in {spark}"
        ),
    ),
    (
        r"INVALID_DRIVER_MEMORY",
        "Spark's driver has too little memory",
        "set driver_memory in {spark} to 512m or more",
    ),
    (
        r"maxResultSize \((\d[^)]*)\)",
        "what a job tells is larger than spark.driver.maxResultSize, which is {0}",
        "raise it in conf of {spark}",
    ),
    (
        r"ExecutorLostFailure[^\n]*(exceeding[^\n]*memory limits|OOMKilled|[Ee]xit(ed with)? (code|status):? 137\b)",
        "an executor of Spark was killed, because it took more memory than it may",
        "raise spark.executor.memory or spark.executor.memoryOverhead in conf of {spark}",
    ),
    (
        r"OutOfMemoryError|GC overhead limit",
        "Spark's memory is used up",
        "raise driver_memory in {spark}, or on a cluster spark.executor.memory in its conf",
    ),
    (
        r"UnsupportedClassVersionError|JAVA_GATEWAY_EXITED",
        "Spark's Java process did not start",
        (
            "set java_home in {spark} to a Java of 17 or newer, and see that SPARK_HOME, where it is set, is of the same "
            "version as pyspark"
        ),
    ),
    (
        r"UNAUTHENTICATED|PERMISSION_DENIED",
        "the Spark Connect server refuses this client",
        "correct the token in remote in {spark}",
    ),
    (
        r"InvalidClassException: [^\n]*local class incompatible",
        "the Spark cluster has another version of Spark than this machine",
        "install the pyspark of the cluster's version here, or set master in {spark} to a cluster of this one's",
    ),
    (
        r"Master removed our application: FAILED",
        "executors of Spark have failed again and again",
        (
            "read their logs on the workers, and see that they have Java 17 or newer and reach this machine by the name "
            "that spark.driver.host in conf of {spark} has"
        ),
    ),
    (
        r"All masters are unresponsive|Could not parse Master URL",
        "Spark's master does not answer",
        "correct master in {spark}, and see that both machines reach each other",
    ),
    (
        r"KubernetesClientException: An error has occurred\.(?:\n(?!Caused by).*)*\nCaused by: [\w.$]+: ([^\n]+)",
        "the API server of Kubernetes cannot be reached: {0}",
        "correct master in {spark}, or the authority in the file that KUBECONFIG names",
    ),
    (
        r"KubernetesClientException: Failure executing: [^\n]*? Message: ([^\n]*?)\. Received status",
        "the API server of Kubernetes refuses this client: {0}",
        (
            "correct the login in the file that KUBECONFIG names, and spark.kubernetes.namespace in conf of {spark}, or "
            "grant that login what is named"
        ),
    ),
    (
        r"Max number of executor failures \((\d+)\) reached",
        "executors of Spark have failed more than {0} times",
        "read their logs, and see that they reach this machine by the name that spark.driver.host in conf of {spark} has",
    ),
    (
        # Py4J tells no more than what it called when there was no answer.
        (
            r"\A(\[Errno \d+\] Connection|Error while sending or receiving|Answer from Java side is empty"
            r"|An error occurred while calling \S+\n(?!: )|[\w.]+ does not exist in the JVM)"
        ),
        "Spark's Java process has ended",
        "see whether the machine's memory was used up and the process was killed, or raise driver_memory in {spark}",
    ),
    (
        r"failed \d+ times, most recent failure: [^\n]*\n?[^\n]*Python worker exited unexpectedly",
        "Python workers of Spark have died in each of the attempts at a task",
        "see whether their machine's memory was used up and they were killed, and run again",
    ),
)


def _gist(text: str, log: str) -> str:
    """The line that tells most: what a worker's Python raised, else what Spark did, else the last one of the log."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # What was awaited has failed by a cause of its own.
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    aborted = [line.removeprefix("Caused by: ").lstrip(": ") for line in lines if "Job aborted" in line]
    python = [line for line in lines if re.match(r"[\w.]+(Error|Exception): ", line)]
    java = [line.lstrip(": ") for line in lines if re.search(r"\[[A-Z_.]{3,}\] |^: [\w.$]+: ", line)]
    last = [line.strip() for line in log.splitlines() if line.strip()]
    best = python[-1:] or aborted[:1] or causes[-1:] or java[:1] or lines[:1] or last[-1:] or ["no reason was given"]
    return best[0][:500].rstrip(".")
