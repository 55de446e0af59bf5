"""The collection as its users get it: the package, its documentation, its changelog."""

import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

from tests.support.playbooks import NOWHERE

ROOT = Path(__file__).parents[2]
RUNTIME = yaml.safe_load((ROOT / "meta/runtime.yml").read_text())
MODULES = RUNTIME["action_groups"]["kafka"]
# But for roles/common, which nobody uses but the others.
ROLES = sorted(path.parents[1].name for path in (ROOT / "roles").glob("*/meta/argument_specs.yml"))


@pytest.fixture(scope="module")
def package(run_tool, tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    run_tool("ansible-galaxy", "collection", "build", "--output-path", folder, ROOT)
    (package,) = folder.glob("streamshift-kafka-*.tar.gz")
    return package


@pytest.fixture(scope="module")
def installed(run_tool, package, tmp_path_factory):
    """A folder of collections in which only the package is installed: what it lacks is missing there."""
    folder = tmp_path_factory.mktemp("installed")
    run_tool("ansible-galaxy", "collection", "install", "--offline", "--collections-path", folder, package, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def documentation(run_tool, installed):
    """What ansible-doc says of each module and role of the installed package."""
    folder = installed
    only_here = {"ANSIBLE_COLLECTIONS_PATH": str(folder), "PYTHONPATH": ""}
    texts = {}
    for kind, names in (("module", MODULES), ("role", ROLES)):
        wanted = [f"streamshift.kafka.{name}" for name in names]
        said = run_tool("ansible-doc", "--type", kind, *wanted, cwd=folder, **only_here)
        for text in re.split(r"^(?=> (?:MODULE|ROLE:) )", said, flags=re.MULTILINE)[1:]:
            _mark, _kind, name, where = text.split(maxsplit=4)[:4]
            assert str(folder) in where
            texts[name.strip("*").removeprefix("streamshift.kafka.")] = text
    return texts


def test_package_holds_what_git_knows_and_no_more(package, known_files):
    with tarfile.open(package) as archive:
        names = {name.removeprefix("./") for name in archive.getnames() if archive.getmember(name).isfile()}
    made = {"MANIFEST.json", "FILES.json"}
    assert names - made <= {str(file) for file in known_files}
    required = {
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "requirements.txt",
        "requirements-spark.txt",
        "bindep.txt",
        "meta/runtime.yml",
    }
    assert required | made <= names
    assert not {name.split("/")[0] for name in names} & {
        "demo",
        "extensions",
        "testbed",
        "tests",
        "tools",
        "ansible.cfg",
    }
    assert not [name for name in names if name.startswith("docs/site/")]


def test_playbooks_of_the_installed_package_load(run_tool, installed):
    playbooks = [f"streamshift.kafka.{file.stem}" for file in (ROOT / "playbooks").glob("*.yml")]
    words = ["--syntax-check", "-i", "onprem,cloud,", "-e", "__role=group_migration"]
    words += ["-e", "list_groups_hosts=onprem back_up_offsets_hosts=onprem"]  # no host is of their group here
    only_here = {"ANSIBLE_COLLECTIONS_PATH": str(installed), "PYTHONPATH": ""}
    run_tool("ansible-playbook", *words, *playbooks, cwd=installed, **only_here)


def test_a_module_of_the_installed_package_runs(installed):
    """As far as the first connection: all that it imports is there."""
    program = Path(sys.executable).parent / "ansible-playbook"
    inventory = installed / "inventory.json"
    host = {"kafka_cluster": NOWHERE}
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    inventory.write_text(json.dumps({"kafka_clusters": {"vars": local, "hosts": {"onprem": host}}}))
    done = subprocess.run(
        [program, "streamshift.kafka.list_groups", "-i", inventory],
        cwd=installed,
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(installed), "PYTHONPATH": "", "ANSIBLE_NOCOLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode and "cannot connect" in done.stdout


@pytest.mark.parametrize(
    "command",
    [
        ["make", "--no-print-directory", "--eval", "shown: ; @env", "shown"],
        [sys.executable, "-c", "import conftest, os; print(os.environ)"],  # as pytest begins
    ],
)
def test_what_a_shell_sets_for_other_work_does_not_count(command):
    others = dict.fromkeys(("ANSIBLE_COLLECTIONS_PATH", "ANSIBLE_CONFIG", "SPARK_HOME"), "/opt/elsewhere")
    said = subprocess.run(
        command, cwd=ROOT, env=os.environ | others, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    assert "PATH" in said and "/opt/elsewhere" not in said


def test_every_module_is_in_the_action_group():
    assert sorted(MODULES) == sorted(file.stem for file in (ROOT / "plugins/modules").glob("[!_]*.py"))


@pytest.mark.parametrize("module", MODULES)
def test_documentation_of_an_installed_module(documentation, module):
    text = documentation[module]
    assert "EXAMPLES" in text and "RETURN VALUES" in text


@pytest.mark.parametrize("role", ROLES)
def test_documentation_of_an_installed_role(documentation, role):
    text = documentation[role]
    assert "ENTRY POINT" in text and f"{role}_" in text


@pytest.mark.parametrize("role", ROLES)
def test_defaults_of_a_role_are_those_of_its_documentation(role):
    folder = ROOT / "roles" / role
    entry_points = yaml.safe_load((folder / "meta/argument_specs.yml").read_text())["argument_specs"]
    documented = {
        name: option["default"]
        for entry_point in entry_points.values()
        for name, option in entry_point.get("options", {}).items()
        if "default" in option
    }
    assert documented == yaml.safe_load((folder / "defaults/main.yml").read_text())


@pytest.mark.long
def test_plugin_documentation_and_its_references(run_tool):
    run_tool("antsibull-docs", "lint-collection-docs", "--plugin-docs", "--validate-collection-refs", "self", ".")


# Of each of hundreds of entries, which are plain reStructuredText, it would start an application of Sphinx, and import parts of
# docutils anew to forget what an entry has registered.
LINT_CHANGELOG = """
import sys
sys.modules["sphinx"] = None
from docutils.parsers.rst import directives, roles
from rstcheck_core import _docutils
_docutils.clean_docutils_directives_and_roles_cache = lambda: (directives._directives.clear(), roles._roles.clear())
from antsibull_changelog.cli import run
sys.exit(run(["antsibull-changelog", "lint"]))
"""


def test_changelog_and_its_fragments(run_tool):
    run_tool("python", "-c", LINT_CHANGELOG)
