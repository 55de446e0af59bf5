"""Who uses the clusters of a test run, and that the last one stops them: even one that was killed.

As a program (BASE PID) it waits for the end of a pytest process and then does what that could not do any more.
"""

import contextlib
import fcntl
import os
import sys
import time
import typing as t
from pathlib import Path

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from testbed.sandbox import configured_below, end, stop


def join(base: Path) -> None:
    """This process uses sandboxes below the base folder."""
    with _locked(base) as users:
        (users / str(os.getpid())).touch()


def leave(base: Path, pid: int) -> None:
    """A process does not any more. When nobody else does, stop every sandbox below the base folder."""
    with _locked(base) as users:
        (users / str(pid)).unlink(missing_ok=True)
        if not any(_alive(int(user.name)) for user in users.iterdir()):
            for folder, below, files in os.walk(base):
                if "cluster.json" in files:
                    below.clear()
                    stop(Path(folder).name, Path(folder).parent)
            end(configured_below(base))


@contextlib.contextmanager
def _locked(base: Path) -> t.Iterator[Path]:
    """Nobody else comes or goes meanwhile."""
    users = base / "sandbox-users"
    users.mkdir(parents=True, exist_ok=True)
    with alone(base / "sandbox-users.lock"):
        yield users


@contextlib.contextmanager
def alone(path: Path) -> t.Iterator[None]:
    """Wait until no other process is in a block that names this file."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    folder, process = Path(sys.argv[1]), int(sys.argv[2])
    while _alive(process):
        time.sleep(1)
    if folder.exists():
        leave(folder, process)
