# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Let Java start Spark from classes that it has read before (JEP 310, JEP 350): in half the time.

The archive lies in the user's cache and may be lost at any time. Java checks that it fits, and does without if it does not.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
import shutil
import sys
import typing as t
from pathlib import Path

from .java import Java


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
    folder = (Path(named).expanduser() if named else Path.home() / ".cache/streamshift-kafka") / "spark"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = folder.stat()
    except OSError:
        return None
    return folder if status.st_uid == os.getuid() and not status.st_mode & 0o022 else None
