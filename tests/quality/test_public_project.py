"""What forges, editors and hooks read says the same as the Makefile, the tools and the package."""

import re
import typing as t
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from tests.matrix import tested
from tests.matrix.columns import COLUMNS
from tests.matrix.environment import pins

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def loaded(file: Path) -> t.Any:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def commands(job: dict[str, t.Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


def test_workflows_are_those_of_a_release() -> None:
    assert {"docs", "lint", "units", "integration", "release"} <= {file.stem for file in WORKFLOWS}


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_workflows_run_what_the_makefile_has(file: Path) -> None:
    workflow = loaded(file)
    used = [target for job in workflow["jobs"].values() for text in commands(job) for target in made(text)]
    assert used and set(used) <= TARGETS
    # No workflow may do more than it says, or go on for hours.
    assert workflow["permissions"] == {"contents": "read"}
    assert all(job["timeout-minutes"] <= 90 for job in workflow["jobs"].values())


def made(text: str) -> list[str]:
    return re.findall(r"\bmake ([a-z-]+)", text)


def test_a_demo_installs_what_the_readme_says_and_no_browser() -> None:
    assert "the demo installs Python packages in `.venv`, Java and Maven" in README
    assert "\ndemo: .venv/.complete java  ##" in MAKEFILE


def test_workflows_name_the_versions_that_are_tested() -> None:
    brokers = loaded(ROOT / ".github/workflows/integration.yml")["jobs"]["versions"]["strategy"]["matrix"]["kafka"]
    whole_suite = re.search(r"The whole test suite runs .*? on Kafka (.*?), with MirrorMaker", README, re.DOTALL)
    assert whole_suite and set(brokers) == set(re.findall(r"\d+\.\d+\.\d+", whole_suite[1]))


def test_tested_versions_are_those_that_have_run() -> None:
    results = tested.load()
    assert results and tested.with_table(README, results) == README
    for column in COLUMNS:
        if versions := results.get(column.name):
            assert versions["Python"].startswith(f"{column.python}.")
            assert (versions["source"], versions["destination"]) == (column.source, column.destination)
            pinned = [Requirement(pin) for pin in pins(column)]
            assert all(versions[pin.name] in pin.specifier for pin in pinned)


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_workflows_run_no_programs_of_strangers(file: Path) -> None:
    """Only the forge's own actions, of a stated version: others could be changed by whoever owns them."""
    used = [step["uses"] for job in loaded(file)["jobs"].values() for step in job["steps"] if "uses" in step]
    assert used and all(re.fullmatch(r"actions/[\w-]+@v\d+", each) for each in used)


def test_the_projects_address_stands_in_one_place(known_files: list[Path]) -> None:
    """It is a placeholder: whoever publishes the collection replaces it once."""
    home = loaded(ROOT / "galaxy.yml")["repository"].removeprefix("https://")
    here = Path(__file__).relative_to(ROOT)
    others = [file for file in known_files if file not in {Path("galaxy.yml"), here}]
    assert not [file for file in others if home.encode() in (ROOT / file).read_bytes()]
    assert "placeholder" in (ROOT / "galaxy.yml").read_text().lower()
