# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""A Spark session for as long as a module works: inside its process, or at a Spark Connect server.

Only this file knows the difference, and only it uses what Spark Connect lacks (the context, the gateway to Java).
"""

from __future__ import annotations

import contextlib
import functools
import os
import socket
import subprocess
import sys
import time
import typing as t
from pathlib import Path

from .._model.errors import InvalidInput, SparkFailed
from .._model.option_names import option_name
from .._model.progress import Say, silent
from .._model.spark import ALWAYS, EMBEDDED, SparkOptions
from . import spark_library, workers
from .failures import cause_of
from .java import VECTOR, ClassData, Java, class_data, find_java
from .scan_job import CORES
from .shipping import check_archives, code_archive
from .surroundings import (
    check_work_directory,
    deadline,
    end_of,
    end_processes,
    environment,
    import_path,
    output_to,
    work_folder,
)

if t.TYPE_CHECKING:
    from .spark_library import DataFrame, SparkSession

_LOG = "spark.log"
_PROBED_WITHIN = 5.0  # seconds
_ANSWERS_WITHIN = 15.0
_ENDS_WITHIN = 60.0
_LONG = 60.0
# Variables by which the user's other work with Spark would change this one.
_USERS_OWN = ("MASTER", "PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_API_MODE", "SPARK_REMOTE")


@contextlib.contextmanager
def open_session(options: SparkOptions, say: Say = silent) -> t.Iterator[SparkSession]:
    """A session whose workers can import this collection's code, and nothing of which is left afterwards.

    say is told what happens in it that takes long. Everything that the process prints goes to a log. An error of Spark
    that leaves the block becomes a MigrationError: the one that was raised in a worker, or SparkFailed. Raises
    InvalidInput where Spark or Java is missing.
    """
    spark_library.check_packages()
    java = _driver_java(options) if options.remote is None else None
    say("Spark is starting" if java else f"connecting to {options}")
    with (
        work_folder(options.work_directory, say) as folder,
        import_path(),
        output_to(folder / _LOG),
        _translated(options, folder / _LOG),
        _embedded(options, java, folder, say) if java else _remote(options) as spark,
        _translated(options, folder / _LOG),
    ):
        spark.addArtifacts(str(code_archive(folder)), pyfile=True)
        local = options.is_local
        cores = spark.sparkContext.defaultParallelism if local else workers.cores(spark, str(options), folder / _LOG)
        spark.conf.set(CORES, str(cores))
        yield spark


def obstacle(options: SparkOptions) -> str | None:
    """Why no session can be opened here, as far as that can be said without starting anything."""
    try:
        spark_library.check_packages()
        if options.remote is None:
            _driver_java(options)
            check_archives(options.archives)
            check_work_directory(options.work_directory)
    except InvalidInput as exc:
        return str(exc)
    if _is_silent(options.master_addresses if options.remote is None else [options.remote_address]):
        what = "master" if options.remote is None else "remote"
        return f"{options} does not answer. Correct {what} in {option_name('spark')}, or start it."
    return None


def absence(options: SparkOptions) -> str | None:
    """Why Spark is not installed here; None where it is, and where the user has said anything about Spark.

    What is only counted does without it then. Whoever describes a Spark wants it, and is told what is wrong with it.
    """
    return obstacle(options) if options == SparkOptions() else None


def _driver_java(options: SparkOptions) -> Java:
    """The Java for a driver of this machine's own. Raises InvalidInput where that one could not begin."""
    spark_library.check_home()
    spark_library.check_cluster_manager(options)
    return find_java(options)


def _is_silent(addresses: t.Sequence[tuple[str, int]]) -> bool:
    return bool(addresses) and all(_silence(address, _PROBED_WITHIN) for address in addresses)


def _silence(address: tuple[str, int], seconds: float) -> str | None:
    """Why nothing answers there; None when something does."""
    try:
        socket.create_connection(address, seconds).close()
    except OSError as exc:
        return exc.strerror or str(exc)
    return None


@contextlib.contextmanager
def session_on_demand(options: SparkOptions, say: Say) -> t.Iterator[t.Callable[[], SparkSession]]:
    """One session for all who ask for it within the block, opened when the first of them does; see open_session()."""
    with contextlib.ExitStack() as stack:
        yield functools.cache(lambda: stack.enter_context(open_session(options, say)))


@contextlib.contextmanager
def _translated(options: SparkOptions, log: Path) -> t.Iterator[None]:
    try:
        yield
    except spark_library.errors() as exc:
        raise cause_of(exc, str(options), end_of(log)) from None


@contextlib.contextmanager
def kept(rows: DataFrame) -> t.Iterator[DataFrame]:
    """Evaluate the rows once, on disk, for several actions: each would read Kafka again, and may see other records."""
    rows = rows.persist(spark_library.StorageLevel.DISK_ONLY)
    try:
        rows.count()
        yield rows
    finally:
        with contextlib.suppress(*spark_library.errors()):  # with the session it goes anyway
            rows.unpersist()


@contextlib.contextmanager
def _embedded(options: SparkOptions, java: Java, folder: Path, say: Say) -> t.Iterator[SparkSession]:
    """A session whose driver is a Java process beside this one; it ends with the block, or when this process is killed."""
    if _is_silent(options.master_addresses):  # Spark itself would ask for a minute
        remedy = f"correct master in {option_name('spark')}, or start it"
        raise SparkFailed("Spark's master does not answer", cluster=str(options), remedy=remedy)
    known = class_data(java, folder)
    properties = _properties(options, folder, known)
    with environment(**_variables(options, java, folder, properties)):
        began, learnt = time.monotonic(), False
        builder = spark_library.SparkSession.builder.master(options.master).appName("streamshift-kafka")
        try:
            with (
                _translated(options, folder / _LOG),  # the text of an error has to be asked for while Java is there
                deadline(
                    workers.APPEAR_WITHIN, lambda: _kill_java(folder), lambda: _not_started(options, folder / _LOG)
                ),
            ):
                spark = builder.config(map=dict(properties)).getOrCreate()
            with workers.watched_jobs(spark.sparkContext.statusTracker(), say):
                yield spark
            # Writing the archive takes some ten seconds, which do not matter after a session that has done much.
            learnt = known.made is not None and time.monotonic() - began > _LONG
        finally:
            _end(kill=known.made is not None and not learnt)
            known.keep()


def _variables(
    options: SparkOptions, java: Java, folder: Path, properties: t.Mapping[str, str]
) -> dict[str, str | None]:
    """What pyspark, its Java process and its Python workers find in their environment, and with None do not find."""
    variables: dict[str, str | None] = {
        "JAVA_HOME": str(_home(java, folder)),
        "PYSPARK_PYTHON": properties.get("spark.pyspark.python") or _python(options),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_HOME": os.environ.get("SPARK_HOME") or None,  # an empty one would be the current directory
        "SPARK_LOCAL_DIRS": str(folder),  # by which the next session knows what this one has started, see work_folder()
        "TMPDIR": str(folder),
        **dict.fromkeys(_USERS_OWN),
    }
    if options.is_local:
        variables["SPARK_LOCAL_IP"] = "127.0.0.1"  # nothing listens on the network
    return variables


def _properties(options: SparkOptions, folder: Path, known: ClassData) -> dict[str, str]:
    """What Java is started with; all of it is visible in the list of processes."""
    # Compiled once and quickly, and no threads for collecting garbage: Python does most of the work, for seconds or minutes.
    quick = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", f"-Djava.io.tmpdir={folder}"]
    java_options = " ".join(f'"{option}"' for option in [*quick, *known.java_options])  # paths may hold blanks
    properties = {
        "spark.driver.memory": options.driver_memory,
        "spark.log.level": "WARN",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.liveUpdate.period": "0",  # else how many tasks are done is known when the next ones are, see watching
        "spark.ui.showConsoleProgress": "false",
    }
    if options.archives:
        properties["spark.archives"] = ",".join(options.archives)
    if options.is_local:
        properties |= {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": str(4 * (os.cpu_count() or 1)),
        }
    properties |= options.conf
    given = properties.get("spark.driver.extraJavaOptions", "")
    return properties | ALWAYS | EMBEDDED | {"spark.driver.extraJavaOptions": f"{java_options} {given}".strip()}


def _python(options: SparkOptions) -> str:
    """The workers' Python: that of the first archive that has a name, else the path that it has here."""
    names = [name for _path, mark, name in (archive.rpartition("#") for archive in options.archives) if mark]
    return f"./{names[0]}/bin/python" if names else sys.executable


def _home(java: Java, folder: Path) -> Path:
    """JAVA_HOME for Spark's launcher, which always names a module that small Java distributions lack."""
    if not java.small:
        return java.home
    program = folder / "java/bin/java"
    program.parent.mkdir(parents=True)
    program.write_text(
        "#!/usr/bin/env bash\n"
        "words=()\n"
        f'for word in "$@"; do [[ $word == {VECTOR} ]] || words+=("$word"); done\n'
        f"exec '{java.home}/bin/java' \"${{words[@]}}\"\n"
    )
    program.chmod(0o700)
    return folder / "java"


def _not_started(options: SparkOptions, log: Path) -> SparkFailed:
    if not options.is_local:
        return workers.no_worker(str(options), log)
    return SparkFailed(
        f"Spark has not started within {workers.APPEAR_WITHIN:.0f} s",
        cluster=str(options),
        remedy="see whether this machine has free processors and memory, and run again",
    )


def _kill_java(folder: Path) -> None:
    """Also one that has not told yet how it can be reached, for which pyspark would wait for ever."""
    if spark_library.SparkContext._gateway is not None:
        spark_library.SparkContext._gateway.proc.kill()
    else:
        end_processes(folder)


def _end(kill: bool) -> None:
    """End the session and the Java process, even one that has lost its way or never became a session.

    kill: do not let it write its archive of classes, which it does when it ends by itself.
    """
    contexts, sessions = spark_library.SparkContext, spark_library.SparkSession
    context, gateway = contexts._active_spark_context, contexts._gateway
    if context is not None:
        with contextlib.suppress(*spark_library.errors()):
            context.stop()
    if gateway is not None:
        with contextlib.suppress(spark_library.Py4JError, ConnectionError):
            gateway.shutdown()
        gateway.proc.stdin.close()  # for which it waits
        if kill:
            gateway.proc.kill()
        try:
            gateway.proc.wait(_ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            gateway.proc.kill()
            gateway.proc.wait()
    # pyspark would go on with what it knows of a Java process that was killed, and the next session would fail.
    contexts._gateway = contexts._jvm = contexts._active_spark_context = None
    sessions._instantiatedSession = sessions._activeSession = None


@contextlib.contextmanager
def _remote(options: SparkOptions) -> t.Iterator[SparkSession]:
    """A session at a Spark Connect server, which has its own Java, memory and Python."""
    why = _silence(options.remote_address, _ANSWERS_WITHIN)
    if why:  # the client itself would try again for minutes, as below
        raise _unreachable(options, why)
    with environment(**dict.fromkeys(_USERS_OWN)):
        spark = spark_library.SparkSession.builder.remote(str(options.remote)).create()
        try:
            no_answer = functools.partial(_unreachable, options, f"no answer within {_ANSWERS_WITHIN:.0f} s")
            with deadline(_ANSWERS_WITHIN, spark.client.close, no_answer):
                for name, value in {**options.conf, **ALWAYS}.items():
                    spark.conf.set(name, value)
            yield spark
        finally:
            spark.stop()


def _unreachable(options: SparkOptions, why: str) -> SparkFailed:
    return SparkFailed(
        "cannot connect",
        cluster=str(options),
        why=why,
        remedy=f"correct remote in {option_name('spark')} (also use_ssl and token), or start the server",
    )
