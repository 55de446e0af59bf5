"""Formatting, types, import rules, licenses, YAML and Ansible's conventions."""

from pathlib import Path

import pytest

PLUGINS = "ansible_collections.streamshift.kafka.plugins"


def test_ruff_check(run_tool):
    run_tool("ruff", "check", ".")


def test_ruff_format(run_tool):
    run_tool("ruff", "format", "--check", "--diff", ".")


def test_spelling(run_tool):
    run_tool("codespell")


def test_types_of_the_collection(run_tool):
    run_tool("mypy", "-p", PLUGINS)


def test_types_of_the_programs(run_tool, known_files):
    programs = [file for file in known_files if file.suffix == ".py" and is_program(file)]
    assert programs
    run_tool("mypy", *programs)


def is_program(file: Path) -> bool:
    """Whether it is run or imported by other programs: all but the plugins (checked as a package) and the tests proper."""
    if file.parts[0] == "tests":
        return file.parts[1] in {"attack", "benchmark", "faults", "matrix", "support"}
    return file.parts[0] != "plugins"


def test_import_rules(run_tool):
    run_tool("lint-imports", "--cache-dir", ".cache/import-linter", PYTHONPATH=".ansible/collections")


def test_licenses(run_tool):
    run_tool("reuse", "lint")


def test_yaml(run_tool):
    run_tool("yamllint", "--strict", ".")


@pytest.mark.long
def test_ansible_lint_production(run_tool):
    said = run_tool("ansible-lint", "--offline", "--strict", "--profile", "production")
    assert "ERROR" not in said  # it passes playbooks that it could not load
