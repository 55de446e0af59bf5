"""What runs on this machine, as anybody on it may see, and how it ends."""

import contextlib
import os
import subprocess
import typing as t
from pathlib import Path

from testbed.clients import until


class Running(t.NamedTuple):
    """A process. program: the name of its file; words: its command line; environment: the variables that it began with."""

    pid: int
    parent: int
    program: str
    words: str
    environment: str


def running(word: str = "") -> list[Running]:
    """What runs with this word in its command line or environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has just ended
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            program = os.path.basename(os.readlink(folder / "exe"))
            found.append(
                Running(int(folder.name), parent, program, *(_text(folder / f) for f in ("cmdline", "environ")))
            )
    return [each for each in found if word in each.words or word in each.environment]


def _text(file: Path) -> str:
    return file.read_bytes().decode(errors="replace").replace("\0", " ")


def command_lines(word: str = "") -> list[str]:
    """The command lines that hold this word."""
    return [each.words for each in running(word) if word in each.words]


def of_spark(word: str) -> list[Running]:
    """The Java processes, and the Python ones that they have started, with a word in command line or environment."""
    return [each for each in running(word) if each.program.startswith(("java", "python")) and each.pid != os.getpid()]


def gone(word: str, seconds: float = 60.0) -> None:
    """Nothing that Spark has started with this word in its environment may be there any more, soon.

    Java writes its archive of classes when it ends for the first time on a machine, which takes some 20 seconds.
    """
    until(lambda: not of_spark(word), seconds, lambda: f"{of_spark(word)} are still there")


def python_workers(word: str) -> list[int]:
    """Spark's Python workers with this word in their environment, each of which has one task."""
    # So are the workers called too, which the first daemon begets.
    parents = {each.pid: each.parent for each in of_spark(word) if "pyspark.daemon" in each.words}
    return [pid for pid, parent in parents.items() if parent in parents]


def let_end(process: subprocess.Popen[str], seconds: float) -> None:
    """End a program that ends when its standard input does; kill it after so many seconds."""
    assert process.stdin
    process.stdin.close()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
