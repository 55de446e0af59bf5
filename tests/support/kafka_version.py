"""``pytest -p tests.support.kafka_version --kafka-version 3.9.1`` runs the tests that need brokers of this version."""

import typing as t

import pytest

# The fixtures of tests/integration/conftest.py whose clusters are not of the newest version.
OLDER = {"kafka39": "3.9.1", "old": "2.8.2"}
NEWEST = "4.3.0"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kafka-version", choices=[NEWEST, *OLDER.values()], default=NEWEST)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = config.getoption("--kafka-version")
    others = [item for item in items if wanted not in versions(item)]
    items[:] = [item for item in items if wanted in versions(item)]
    config.hook.pytest_deselected(items=others)


def versions(item: pytest.Item) -> set[str]:
    """The older versions that a test needs, by a fixture or by a parameter that names one; the newest, if none."""
    parameters: dict[str, t.Any] = item.callspec.params if hasattr(item, "callspec") else {}
    names = {*getattr(item, "fixturenames", ()), *(value for value in parameters.values() if isinstance(value, str))}
    return {version for fixture, version in OLDER.items() if fixture in names} or {NEWEST}
