"""No brokers, so that no client describes groups to anybody: each group with members has the same one."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration import quiet
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import GroupMember


@pytest.fixture(autouse=True)
def members(monkeypatch: pytest.MonkeyPatch) -> None:
    member = GroupMember("till-7", "10.0.0.7")
    monkeypatch.setattr(quiet, "group_members", lambda _connection, names: dict.fromkeys(names, (member,)))
