"""No brokers, so that no client describes groups to anybody: each group with members has the same one."""

import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration import quiet
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import GroupMember
from ansible_collections.streamshift.kafka.plugins.module_utils._model.option_names import set_variables


@pytest.fixture(autouse=True)
def members(monkeypatch: pytest.MonkeyPatch) -> None:
    member = GroupMember("till-7", "10.0.0.7")
    monkeypatch.setattr(quiet, "group_members", lambda _connection, names: dict.fromkeys(names, (member,)))


@pytest.fixture
def variables() -> t.Iterator[t.Callable[[t.Mapping[str, str]], None]]:
    """``variables({option: variable})``: by which variables the user of a role sets options, until the test ends."""
    yield set_variables
    set_variables(None)
