"""The files that the tools judge."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def known_files() -> list[Path]:
    """What git tracks or would track, relative to the root and sorted; without files deleted and not yet committed."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return sorted({Path(name) for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()})


@pytest.fixture
def checkout(tmp_path: Path, known_files: list[Path]) -> Path:
    """A copy of what git knows, in a folder where Ansible takes it for an installed collection."""
    copy = tmp_path / "ansible_collections/streamshift/kafka"
    for file in known_files:
        (copy / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / file, copy / file)
    return copy
