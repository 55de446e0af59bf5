"""Errors come out of Spark as they went in, and its own in one line that names the cause."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import (
    BrokerError,
    NotFound,
    ProgressLost,
    SparkFailed,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.option_names import set_variables
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.failures import WorkerFailed, cause_of


@pytest.mark.parametrize(
    "raised",
    [
        BrokerError(
            "the log ends at 3", cluster="source cluster a:1", topic="t", partition=0, why="{b} end", remedy="wait"
        ),
        NotFound('the topic has "2" partitions', cluster="\u00e9 a:1", topic="t", partition=5),
        ProgressLost("the progress is gone"),
    ],
)
def test_an_error_of_a_worker_is_the_same_here(raised):
    text = f'Job aborted: {{"x": 1}} end\nTraceback:\n  File x\nmodule.WorkerFailed: {WorkerFailed(raised)}\n\tat java'
    found = cause_of(RuntimeError(text), "Spark local[2]")
    assert type(found) is type(raised) and str(found) == str(raised) and vars(found) == vars(raised)


@pytest.fixture
def variables():
    yield set_variables
    set_variables(None)


def test_a_remedy_of_a_worker_names_the_variable_of_the_role(variables):
    worker = BrokerError(
        "no room", group="billing", topic="topic_map", remedy="name a topic beside topic_map in on_rewind"
    )
    variables({"on_rewind": "group_migration_on_rewind", "topic_map": "group_migration_topic_map"})
    found = cause_of(WorkerFailed(worker), "Spark local[2]")
    assert found.remedy == "name a topic beside topic_map in group_migration_on_rewind"


def test_a_remedy_names_the_variable_of_the_role_and_the_key_in_it(variables):
    variables({"spark": "group_migration_spark"})
    found = cause_of(RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited"), "Spark local[2]")
    assert "Set java_home in group_migration_spark to a Java of 17 or newer" in str(found)


UNREACHABLE = """io.fabric8.kubernetes.client.KubernetesClientException: An error has occurred.
\tat a.b(C.java:1)
Caused by: java.io.IOException: Connection refused: /10.0.0.1:6443
\tat a.b(C.java:1)
Caused by: java.net.ConnectException: Connection refused"""
FORBIDDEN = (
    "io.fabric8.kubernetes.client.KubernetesClientException: Failure executing: POST at: https://127.0.0.1:6443/api/v1/"
    'namespaces/migration/configmaps. Message: configmaps is forbidden: User "system:serviceaccount:spark" '
    'cannot create resource "configmaps". Received status: Status(apiVersion=v1, code=403)'
)
MENDED = {
    "java.io.IOException: No space left on device": "the disk is full where Spark keeps its files",
    "Task 1 in stage 0.0 failed 4 times, most recent failure: Python worker exited unexpectedly (crashed).":
        "Python workers of Spark have died in each of the attempts at a task",
    "java.nio.file.NoSuchFileException: /nowhere/env.tar.gz": "there is no archive /nowhere/env.tar.gz on this machine",
    "ModuleNotFoundError: No module named 'xxhash'": "the Python of Spark's workers has no package xxhash",
    "[PACKAGE_NOT_INSTALLED] PyArrow >= 18.0.0 must be installed; however, it was not found.":
        "the Python of Spark's workers has no PyArrow >= 18.0.0",
    "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.12 than that in driver: 3.11, PySpark":
        "the Python of Spark's workers is 3.12, and the one here is 3.11",
    'Cannot run program "./env/bin/python": error=2, No such file or directory':
        "Spark's workers have no Python ./env/bin/python",
    UNREACHABLE: "the API server of Kubernetes cannot be reached: Connection refused: /10.0.0.1:6443. Correct master in spark",
    FORBIDDEN: 'the API server of Kubernetes refuses this client: configmaps is forbidden: User "system:serviceaccount:',
    "Job aborted due to stage failure: Master removed our application: FAILED":
        "executors of Spark have failed again and again. Read their logs on the workers",
    "Reason: All masters are unresponsive! Giving up.": "Spark's master does not answer. Correct master in spark",
    "All masters are unresponsive\njava.io.InvalidClassException: org.apache.spark.rpc.A; local class incompatible: stream":
        "the Spark cluster has another version of Spark than this machine. Install the pyspark of the cluster's version",
    "java.lang.OutOfMemoryError: Java heap space": "Spark's memory is used up",
    "[JAVA_GATEWAY_EXITED] Java gateway process exited": "Spark's Java process did not start",
}  # fmt: skip


@pytest.mark.parametrize(("text", "named"), MENDED.items())
def test_what_users_can_mend_is_named(text, named):
    found = cause_of(
        RuntimeError(f"An error occurred while calling o70.count.\n: {text}\n\tat x.y(Z.scala:1)"), "Spark yarn"
    )
    assert isinstance(found, SparkFailed)
    assert str(found).startswith(f"Spark yarn: {named}") and found.remedy


def test_the_log_tells_what_the_error_does_not():
    found = cause_of(RuntimeError("[JAVA_GATEWAY_EXITED] ..."), "Spark local", log="x\nOutOfMemoryError: no room\n")
    assert "Spark's memory is used up" in str(found)
    shut = "org.apache.spark.SparkException: Job 0 cancelled because SparkContext was shut down"
    log = "26/11/27 00:20:41 ERROR ExecutorPodsLifecycleManager: Max number of executor failures (4) reached\n"
    found = cause_of(RuntimeError(shut), "Spark k8s://https://a", log)
    assert "executors of Spark have failed more than 4 times. Read their logs, and see that" in str(found)


@pytest.mark.parametrize(
    "exc",
    [
        ConnectionRefusedError(111, "Connection refused"),
        RuntimeError("Answer from Java side is empty"),
        RuntimeError("PythonRDD does not exist in the JVM"),
        RuntimeError("org.apache.spark.api.python.PythonRDD.setupBroadcast does not exist in the JVM"),
        RuntimeError("An error occurred while calling o54.get"),
    ],
)
def test_a_java_process_that_is_gone(exc):
    assert "Spark local: Spark's Java process has ended. See whether" in str(cause_of(exc, "Spark local"))


@pytest.mark.parametrize(
    ("text", "gist"),
    [
        (
            "An exception was thrown from the Python worker:\nTraceback:\n  File x\nValueError: seven\n",
            "ValueError: seven",
        ),
        (
            "An error occurred while calling o7.x.\n: org.apache.spark.SparkException: [A_B] not so\n\tat x",
            "[A_B] not so",
        ),
        (
            "(org.apache.spark.sql.AnalysisException) [CANNOT_MODIFY] no\n\nJVM stacktrace:\nx.AnalysisException\n\tat",
            "no",
        ),
        ("", "no reason was given"),
    ],
)
def test_of_all_others_the_line_that_tells_most(text, gist):
    found = cause_of(RuntimeError(text), "Spark local")
    assert gist in (found.why or "") and "\n" not in str(found)
    assert "\tat" not in str(found)


AWAITED = """An error occurred while calling o99.toArrow.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
\tat org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:53)
Caused by: org.apache.spark.SparkException: Job aborted due to stage failure: {}
\tat a.b(C.java:1)
Caused by: java.lang.IllegalStateException: inner
"""


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("Task 3 in stage 1.0 failed 4 times", "Job aborted due to stage failure: Task 3 in stage 1.0 failed 4 times"),
        ("Total size of results (2 KiB) is bigger than spark.driver.maxResultSize (1.0 B)", "is 1.0 B"),
        (
            "ExecutorLostFailure (executor 2 exited): Container killed by YARN for exceeding physical memory limits",
            "took more memory than it may",
        ),
        (
            "ExecutorLostFailure (executor 2 exited) Reason: Command exited with code 137",
            "took more memory than it may",
        ),
        (
            "ExecutorLostFailure (executor 2 exited) Reason: bad node ip-10-0-0-137. Exit status: 143",
            "Job aborted due to",
        ),
    ],
)
def test_what_was_awaited_is_told_by_its_cause(reason, said):
    assert said in str(cause_of(RuntimeError(AWAITED.format(reason)), "Spark local[2]"))


def test_what_has_aborted_a_job_tells_more_than_the_last_cause():
    text = ": org.apache.spark.SparkException: Job aborted due to stage failure: FetchFailed\nCaused by: java.io.IOException: x"
    assert "Job aborted due to stage failure: FetchFailed" in str(cause_of(RuntimeError(text), "Spark local[2]"))
