"""A clean environment for a column: a virtual environment, and in it what a user installs, in the column's versions."""

import functools
import json
import os
import shutil
import subprocess
import typing as t
from pathlib import Path

from tests.matrix.columns import Column

ROOT = Path(__file__).parents[2]
# Whose versions are written down.
PACKAGES = ("ansible-core", "kafka-python", "confluent-kafka", "xxhash", "jmespath", "pyspark", "pyarrow", "pandas")
LIST_VERSIONS = """
import importlib.metadata as m, json, platform, sys
found = {each.metadata["Name"].lower(): each.version for each in m.distributions()}
print(json.dumps({"Python": platform.python_version()} | {name: found[name] for name in sys.argv[1:] if name in found}))
"""


class StepFailed(Exception):
    """A command of a column has failed; the message has what it printed."""


class NotPrepared(Exception):
    """What a column runs in cannot be had; the message says why in one line. So nothing is known of its versions."""


class Environment(t.NamedTuple):
    """Programs of a virtual environment, which find only the collections of its folder."""

    folder: Path
    python: Path

    def run(self, program: str, *words: str | Path, cwd: Path | None = None) -> str:
        """What the program prints. StepFailed if it fails."""
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTHON"))}
        variables |= {
            "ANSIBLE_COLLECTIONS_PATH": str(self.folder / "collections"),
            "ANSIBLE_HOME": str(self.folder / "home"),
            "ANSIBLE_NOCOLOR": "1",
            "PATH": f"{self.python.parent}:{os.environ['PATH']}",
        }
        command = [str(self.python.parent / program), *map(str, words)]
        done = subprocess.run(
            command,
            cwd=cwd or self.folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise StepFailed(f"$ {' '.join(command)}\n{done.stdout}")
        return done.stdout

    def versions(self) -> dict[str, str]:
        """Which Python this is, and which packages it has."""
        found: dict[str, str] = json.loads(self.run("python", "-c", LIST_VERSIONS, *PACKAGES))
        return found


def build_package(folder: Path, galaxy: Path) -> Path:
    """The package of this checkout, as `make package` builds it. NotPrepared if that fails."""
    shutil.rmtree(folder, ignore_errors=True)
    _prepare("the package cannot be built", galaxy, "collection", "build", "--output-path", folder, ROOT)
    (package,) = folder.glob("*.tar.gz")
    return package


def install_package(environment: Environment, package: Path) -> Path:
    """Install the collection as a user does; returns its folder."""
    target = environment.folder / "collections"
    shutil.rmtree(target, ignore_errors=True)
    environment.run("ansible-galaxy", "collection", "install", "--offline", "--collections-path", target, package)
    return target / "ansible_collections/streamshift/kafka"


def environment_for(column: Column, interpreter: Path, folder: Path) -> Environment:
    """The column's virtual environment, made anew when it is not there, without packages. NotPrepared if that fails."""
    environment = Environment(folder, folder / "venv/bin/python")
    if not environment.python.exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _prepare(f"{interpreter} makes no virtual environment", interpreter, "-m", "venv", folder / "venv")
        except BaseException as exc:
            shutil.rmtree(folder / "venv", ignore_errors=True)  # the next run would take it for a whole one
            if isinstance(exc, OSError):
                raise NotPrepared(f"{folder} cannot be made: {exc}") from exc
            raise
    return environment


def install_packages(environment: Environment, column: Column) -> None:
    """Have pip install the requirements that the collection brings, in the column's versions. NotPrepared if it does not."""
    files = [word for file in required(column) for word in ("-r", file)]
    options = ("--quiet", "--disable-pip-version-check", "--upgrade")
    try:
        environment.run("pip", "install", *options, *files, *pins(column))
    except StepFailed as fault:
        raise NotPrepared(f"its packages cannot be installed: {_last_line(str(fault))}") from fault


def required(column: Column) -> list[Path]:
    """The files of the requirements that a user of this column installs."""
    return [ROOT / "requirements.txt", *([ROOT / "requirements-spark.txt"] if column.spark else [])]


def pins(column: Column) -> list[str]:
    """What pip is told besides the requirements: the lowest version of each package where wanted, and the pins."""
    if not column.lowest:
        return list(column.pins)
    lines = [line for file in required(column) for line in file.read_text(encoding="utf-8").splitlines()]
    ranges = [line.partition(",")[0] for line in lines if ">=" in line and not line.startswith("#")]
    return [*(line.replace(">=", "==") for line in ranges), *column.pins]


def _prepare(failure: str, *command: str | Path) -> None:
    """Run a command. NotPrepared if it fails, with the last line that it has printed."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
    except OSError as exc:
        raise NotPrepared(f"{failure}: {exc}") from exc
    if done.returncode:
        raise NotPrepared(f"{failure}: {_last_line(done.stdout) or f'it has ended with {done.returncode}'}")


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


@functools.cache
def interpreter(version: str) -> Path | None:
    """A Python of this version that makes virtual environments: on the path, or of a version manager."""
    manager = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    on_path = shutil.which(f"python{version}")
    candidates = [*([Path(on_path)] if on_path else []), *sorted(manager.glob(f"{version}.*/bin/python{version}"))]
    return next((each for each in candidates if _works(each)), None)


def _works(python: Path) -> bool:
    return not subprocess.run([python, "-c", "import venv, ensurepip"], capture_output=True, check=False).returncode
