"""A schema registry that is slow costs no more time than is given, and what it was not asked is no unknown id."""

import json
import time

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import schema_registry
from ansible_collections.streamshift.kafka.plugins.module_utils._control.schema_registry import (
    SchemaRegistry,
    known_ids,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import ConnectionFailed
from tests.support.bad_http import BadServer, answers, drips, stalls


def test_ids_for_which_there_is_no_time_are_not_unknown():
    known = answers(json.dumps({"schema": '"string"'}).encode())

    def slow(server, connection):
        server.pause(0.2)
        known(server, connection)

    with BadServer(slow) as server:
        found = known_ids(SchemaRegistry(f"http://{server.address}"), range(1, 101), 0.5)
        assert (
            not found.unknown and 90 < len(found.not_asked) < 100 and len(server.received) == 100 - len(found.not_asked)
        )


@pytest.mark.parametrize("behaviour", [stalls(), drips(b"HTTP/1.1 200 OK\r\n\r\n", b" ")], ids=["stalls", "drips"])
def test_one_that_does_not_come_to_an_end_is_an_error(monkeypatch, behaviour):
    monkeypatch.setattr(schema_registry, "_SECONDS", 0.5)
    monkeypatch.setattr(schema_registry, "_PATIENCE", 0.1)
    begun = time.monotonic()
    with BadServer(behaviour) as server, pytest.raises(ConnectionFailed, match=f"schema registry at {server.address}"):
        known_ids(SchemaRegistry(f"http://{server.address}"), [1, 2, 3], 60)
    assert time.monotonic() - begun < 30
