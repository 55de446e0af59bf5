# SPDX-License-Identifier: GPL-3.0-or-later

"""Java, and the jars of one Kafka version: fetched once by Maven, then taken from a cache.

The cache is ~/.cache/streamshift-kafka, or the folder that STREAMSHIFT_CACHE names; it may be deleted at any time.
It also keeps what the Java machine has learnt while starting a version (a class data sharing archive): a broker
then starts in 0.8 s instead of 2 s.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import re
import shutil
import subprocess
import tempfile
import typing as t
from pathlib import Path

# What people migrate from: only their brokers are fetched.
OLD_VERSIONS = ("2.6.3", "2.4.1", "2.1.1", "2.0.1", "1.1.1", "0.11.0.3", "0.10.2.2")
VERSIONS = ("4.4.0", "4.3.0", "3.9.1", "2.8.2", *OLD_VERSIONS)
DEFAULT_VERSION = "4.3.0"
# There is no MirrorMaker 2 of these: one of another version copies to and from their brokers.
WITHOUT_MIRROR_MAKER = ("4.4.0", *OLD_VERSIONS)
OLDEST_JAVA = 17
MAVEN_SECONDS = 900
COPY_DEPENDENCIES = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

# Kafka 4 comes without a logging back-end, and would say nothing; a broker of 2.8 or 3.9 brings its own.
LOGGING = ("org.slf4j", "slf4j-simple", "1.7.36")
# What the oldest brokers leave out, or Java has dropped: ZooKeeper 3.4 dies without log4j, Kafka 0.10 without jaxb.
FOR_OLD_ONES = (
    ("org.slf4j", "slf4j-log4j12", "1.7.25"),
    ("log4j", "log4j", "1.2.17"),
    ("javax.xml.bind", "jaxb-api", "2.3.1"),
)
DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
PROJECT = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>streamshift</groupId><artifactId>kafka-sandbox</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    {dependencies}
  </dependencies>
</project>
"""
ARCHIVE = ".jsa"
# A broker of 2.8 or 3.9 reads this file; one of 4.x is told by properties.
LOG4J_1_FILE = "log4j.properties"
LOG4J_1 = """\
log4j.rootLogger=WARN, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{HH:mm:ss,SSS} %p %m (%c)%n
"""


class SandboxError(Exception):
    """Said to the user as it is: what failed, why, and what to do."""


def cache_folder() -> Path:
    """Where jars are kept."""
    named = os.environ.get("STREAMSHIFT_CACHE")
    return Path(named).expanduser().resolve() if named else Path.home() / ".cache" / "streamshift-kafka"


@functools.cache
def java() -> str:
    """The path of a Java that can run every supported broker: that of JAVA_HOME or of PATH, the first that is new enough.

    Raises SandboxError that names what was found instead.
    """
    home = os.environ.get("JAVA_HOME")
    seen = []
    for place, program in (("JAVA_HOME", home and f"{home}/bin/java"), ("PATH", shutil.which("java"))):
        if not program:
            continue
        release = _release(program)
        if release >= OLDEST_JAVA:
            return program
        seen.append(f"{place} has " + (f"Java {release}" if release else f"no Java that runs ({program})"))
    raise SandboxError(
        f"Kafka needs Java {OLDEST_JAVA} or newer: {'; '.join(seen) or 'JAVA_HOME and PATH have none'}. "
        f"Install it, for example: apt-get install openjdk-{OLDEST_JAVA}-jre-headless"
    )


def _release(program: str) -> int:
    """8, 17, ..., or 0 when it does not run."""
    try:
        said = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError:
        return 0
    version = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(version[1]) if version else 0


def jars(version: str) -> Path:
    """The folder with the jars of a version: broker, ZooKeeper where it still has one, tools, Connect and MirrorMaker 2.

    Runs Maven when the cache has none.
    """
    folder = cache_folder() / version
    if not folder.is_dir():
        with locked(f"{version}-jars"):
            if not folder.is_dir():
                _fetch(version, folder)
    return folder


def command(version: str, main: str, *arguments: str, memory: str, learn_into: Path | None = None) -> list[str]:
    """The command line that runs a main class of a version, made for a quick start and a small process.

    With learn_into the process leaves a class archive in that folder when it ends: keep_archives() adds it to the
    cache. Without, an archive from the cache is used if there is one.
    """
    known = archive(version, main)
    if learn_into:
        sharing = [f"-XX:ArchiveClassesAtExit={learn_into / known.name}"]
    else:
        sharing = [f"-XX:SharedArchiveFile={known}"] if known.exists() else []
    return [
        java(),
        f"-Xmx{memory}",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:-UsePerfData",
        "-Xlog:disable",
        "-Xlog:all=error:stderr",
        *sharing,
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
        "-Dorg.slf4j.simpleLogger.log.org.reflections=error",
        f"-Dlog4j.configuration=file:{jars(version) / LOG4J_1_FILE}",
        "-cp",
        f"{jars(version)}/*",
        main,
        *arguments,
    ]


def archive(version: str, main: str) -> Path:
    """Where the class archive of a main class lies. It fits one Java only, so the name tells which."""
    machine = Path(java()).resolve()
    return cache_folder() / version / f"{main.rsplit('.', 1)[-1]}-{machine.stat().st_mtime_ns}{ARCHIVE}"


def keep_archives(version: str, folder: Path) -> None:
    """Move the class archives of processes that have ended into the cache."""
    for made in folder.glob(f"*{ARCHIVE}"):
        scratch = cache_folder() / version / f".{made.name}-{os.getpid()}"
        shutil.move(made, scratch)
        scratch.replace(cache_folder() / version / made.name)  # at once, whoever reads it meanwhile


@contextlib.contextmanager
def locked(name: str) -> t.Iterator[None]:
    """Let one process at a time change a part of the cache. The lock ends with the process that holds it."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with (cache_folder() / f".{name}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _needed(version: str) -> t.Iterator[tuple[str, str, str]]:
    if version in OLD_VERSIONS:
        yield "org.apache.kafka", "kafka_2.12", version
        yield from FOR_OLD_ONES
        # Their own ZooKeeper, 3.4.13, resolves no address with Java 14 or newer (ZOOKEEPER-3779).
        if version in ("2.1.1", "2.0.1"):
            yield "org.apache.zookeeper", "zookeeper", "3.4.10"
        return
    yield "org.apache.kafka", "kafka_2.13", version
    yield "org.apache.kafka", "kafka-tools", version
    if version not in WITHOUT_MIRROR_MAKER:
        yield "org.apache.kafka", "connect-mirror", version
    if version.startswith("4"):
        yield LOGGING


def _fetch(version: str, folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise SandboxError(
            f"Kafka {version} is not in {folder.parent} yet, and Maven, which fetches it, was not found. "
            "Install it, for example: apt-get install maven"
        )
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{version}-") as scratch:
        project, target = Path(scratch) / "pom.xml", Path(scratch) / "jars"
        project.write_text(
            PROJECT.format(dependencies="\n    ".join(DEPENDENCY.format(*each) for each in _needed(version)))
        )
        try:
            done = subprocess.run(
                [maven, "-q", "-B", "-f", str(project), COPY_DEPENDENCIES, f"-DoutputDirectory={target}"],
                env=_variables_of_maven(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=MAVEN_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as slow:
            raise SandboxError(f"Maven did not fetch Kafka {version} within {MAVEN_SECONDS} s") from slow
        if done.returncode:
            why = [line for line in done.stdout.splitlines() if "ERROR" in line][:3] or done.stdout.splitlines()[-3:]
            raise SandboxError(f"Maven could not fetch Kafka {version}: {' '.join(why)}")
        (target / LOG4J_1_FILE).write_text(LOG4J_1)
        target.rename(folder)


def _variables_of_maven() -> dict[str, str]:
    """Without a JAVA_HOME in which java() has found nothing: Maven takes the Java of PATH only if there is none."""
    found = java() == f"{os.environ.get('JAVA_HOME')}/bin/java"
    return {name: value for name, value in os.environ.items() if found or name != "JAVA_HOME"}
