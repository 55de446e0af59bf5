"""ansible-test sanity, without containers."""

import fcntl
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# ansible-test keeps its virtual environments in the home directory: here they are kept for the next run, and go with
# make clean.
HOME = ROOT / ".cache/ansible-test"

# ansible-test downloads get-pip.py before it makes a virtual environment. This stands in for it: pip comes with Python.
GET_PIP = """\
import subprocess
import sys

wanted = [argument for argument in sys.argv[1:] if argument not in ("--no-setuptools", "--no-wheel")]
subprocess.check_call([sys.executable, "-m", "ensurepip", "--default-pip"], stdout=subprocess.DEVNULL)
subprocess.check_call([sys.executable, "-m", "pip", "install", "--quiet", *wanted])
"""


# What users do not get is left to ruff and mypy, which are stricter, and take seconds.
NOT_SHIPPED = ("demo", "docs/site", "extensions", "testbed", "tools")


@pytest.fixture
def home():
    """A home for ansible-test, with the user's settings and downloads of pip; one run at a time works in it."""
    cache = HOME / ".ansible/test/cache"
    cache.mkdir(parents=True, exist_ok=True)
    for release in ("24_2", "25_2"):  # ansible-core 2.19; 2.20 and newer
        (cache / f"get_pip_{release}.py").write_text(GET_PIP)
    for name in (".config", ".cache"):
        if not (HOME / name).is_symlink() and (Path.home() / name).is_dir():
            (HOME / name).symlink_to(Path.home() / name)
    with open(HOME / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield HOME


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_sanity(run_tool, home, checkout):
    tests = [path for path in (checkout / "tests").iterdir() if path.is_dir()]
    for folder in (*tests, *(checkout / name for name in NOT_SHIPPED)):
        shutil.rmtree(folder)
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    # Nothing else on the path: ansible-test trips over the shims of a Python version manager.
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    run_tool("ansible-test", "sanity", "--color", "no", "--python", python, cwd=checkout, HOME=str(home), PATH=path)
