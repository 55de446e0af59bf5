# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the tools that judge the collection, each as one test that shows what the tool has said."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Of the virtual environment, before any other: molecule and ansible-lint call Ansible's programs by name. No version
# manager's shims: ansible-test trips over them.
PROGRAMS = Path(sys.executable).parent
PATH = f"{PROGRAMS}:/usr/local/bin:/usr/bin:/bin"


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


def files_known_to_git() -> list[Path]:
    """What git tracks or would track, relative to the root and sorted; without files deleted and not yet committed."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return sorted({Path(name) for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()})


@pytest.fixture(scope="session")
def known_files() -> list[Path]:
    return files_known_to_git()


@pytest.fixture
def checkout(tmp_path: Path, known_files: list[Path]) -> Path:
    """A copy of what git knows, in a folder where Ansible takes it for an installed collection."""
    copy = tmp_path / "ansible_collections/streamshift/kafka"
    for file in known_files:
        (copy / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / file, copy / file)
    return copy
