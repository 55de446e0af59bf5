"""What tests of every kind share."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAMS = Path(sys.executable).parent
# The virtual environment's programs before any other: molecule and ansible-lint call Ansible's by name.
PATH = f"{PROGRAMS}:{os.environ['PATH']}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the users' stories: they take longest, and the other processes do everything else meanwhile."""
    items.sort(key=lambda item: not item.nodeid.startswith("tests/molecule/"))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Show at once why a test has failed, also where it is repeated and passes then: a run may be ended before its summary."""
    if "PYTEST_XDIST_WORKER" not in os.environ and report.outcome in ("failed", "rerun"):
        sys.stderr.write(f"\n{report.nodeid}: {report.outcome} in {report.when}\n{report.longreprtext}\n")
        sys.stderr.flush()


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """With nothing beside it: a preflight looks into the directories beside a migration's, and pytest's are other tests'."""
    alone = tmp_path / "alone"
    alone.mkdir()
    return alone


@pytest.fixture(scope="session")
def run_tool() -> Callable[..., str]:
    """``run_tool(program, *arguments, cwd=ROOT, **environment)`` gives its output; anything but exit code 0 fails."""

    def run(program: str, *arguments: str | Path, cwd: Path = ROOT, **environment: str) -> str:
        command = [str(PROGRAMS / program), *map(str, arguments)]
        if not Path(command[0]).exists():
            pytest.fail(f"{program} is not installed beside {sys.executable}: run make setup", pytrace=False)
        done = subprocess.run(
            command,
            cwd=cwd,
            env=os.environ | {"PATH": PATH, "NO_COLOR": "1"} | environment,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            pytest.fail(f"$ {program} {' '.join(command[1:])}\n{done.stdout}", pytrace=False)
        return done.stdout

    return run
