"""A short form of `make matrix`: the package, installed into a folder of its own, migrates with the locked versions.

In a Python that has only what requirements.txt names: without Spark.
"""

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.matrix.environment import Environment, build_package, install_package
from tests.matrix.story import tell

OF_SPARK = ("pyspark", "py4j", "pyarrow", "pandas", "numpy")


def without_spark(folder: Path) -> Path:
    """A Python with the packages of this one, except those that only Spark needs."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin/python"
    command = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(OF_SPARK):
            (packages / entry.name).symlink_to(entry)
    for program in ("ansible", "ansible-doc", "ansible-galaxy", "ansible-playbook"):
        lines = Path(sys.executable).with_name(program).read_text().splitlines()[1:]
        python.with_name(program).write_text("\n".join([f"#!{python}", *lines]))
        python.with_name(program).chmod(0o755)
    return python


def installed(folder: Path, python: Path) -> Environment:
    """What a user has who has installed the package."""
    package = build_package(folder / "package", Path(sys.executable).with_name("ansible-galaxy"))
    environment = Environment(folder / "user", python)
    environment.folder.mkdir()
    assert not (install_package(environment, package) / "tests").exists()
    return environment


@pytest.mark.timeout(1200)
def test_the_installed_package_migrates_and_rolls_back_without_spark(source, destination, tmp_path):
    environment = installed(tmp_path, without_spark(tmp_path / "venv"))
    tell(environment, source, destination, spark=False)
