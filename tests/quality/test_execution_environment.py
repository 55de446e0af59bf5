"""ansible-builder finds the Python packages and Java, and accepts the execution environment that users build."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import distro
import pytest
import yaml
from bindep.depends import Depends

ROOT = Path(__file__).parents[2]
COMMENT = re.compile(r"\s+# from collection streamshift\.kafka$")


def stated(file: str) -> set[str]:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and line[0] not in "#-"}


def test_ansible_builder_finds_all_requirements(run_tool: Callable[..., str]) -> None:
    found = yaml.safe_load(run_tool("ansible-builder", "introspect", ROOT / ".ansible/collections"))
    python = {COMMENT.sub("", line) for line in found["python"]}
    # The image has its own ansible-core: execution-environment.yml names it.
    required = {line for line in stated("requirements.txt") if not line.startswith("ansible-core")}
    assert python == required | stated("requirements-spark.txt")
    assert {COMMENT.sub("", line) for line in found["system"]} == stated("bindep.txt")


def test_ansible_builder_accepts_the_environment(run_tool: Callable[..., str], tmp_path: Path) -> None:
    file = ROOT / "execution-environment.yml"
    run_tool("ansible-builder", "create", "--file", file, "--context", tmp_path, "--output-filename", "Containerfile")
    core = next(line for line in stated("requirements.txt") if line.startswith("ansible-core"))
    assert core in (tmp_path / "Containerfile").read_text()
    assert "streamshift.kafka" in (tmp_path / "_build/requirements.yml").read_text()


def packages() -> set[str]:
    """What bindep installs on the system that it finds."""
    depends = Depends((ROOT / "bindep.txt").read_text(encoding="utf-8"))
    return {rule[0] for rule in depends.active_rules(depends.platform_profiles())}


@pytest.mark.parametrize(
    ("system", "version", "package"),
    [
        ("almalinux", "9.6", "java-21-openjdk-headless"),
        ("rhel", "10.0", "java-21-openjdk-headless"),  # has no Java 17
        ("debian", "12", "openjdk-17-jre-headless"),  # has no Java 21
        ("debian", "13", "openjdk-21-jre-headless"),  # has no Java 17
        ("ubuntu", "24.04", "openjdk-21-jre-headless"),
    ],
)
def test_each_system_gets_a_java_that_it_has(
    monkeypatch: pytest.MonkeyPatch, system: str, version: str, package: str
) -> None:
    for name, value in {"id": system, "version": version, "codename": "", "name": system}.items():
        monkeypatch.setattr(distro, name, lambda *_unused, value=value: value)
    assert packages() == {package}


@pytest.mark.skipif(shutil.which("apt-cache") is None, reason="there is no apt")
def test_the_packages_of_bindep_exist_where_apt_can_look() -> None:
    """Those of rpm have the same releases. `make matrix` installs the Python packages in clean environments."""
    said = subprocess.run(["apt-cache", "pkgnames", "openjdk"], check=True, capture_output=True, text=True)
    known = set(said.stdout.split())
    if not known:
        pytest.skip("apt knows no packages: run apt-get update")
    assert packages() and packages() <= known
