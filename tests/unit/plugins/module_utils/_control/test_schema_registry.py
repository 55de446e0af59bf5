"""A schema registry that is slow costs no more time than is given, and what it was not asked is no unknown id."""

import json
import time

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import schema_registry
from ansible_collections.streamshift.kafka.plugins.module_utils._control.schema_registry import (
    SchemaRegistry,
    SubjectId,
    known_ids,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import ConnectionFailed, InvalidInput
from tests.support.bad_http import BadServer, answers, drips, stalls


def ids(*numbers, subject="orders-value"):
    return [SubjectId(number, subject) for number in numbers]


def test_ids_for_which_there_is_no_time_are_not_unknown():
    known = answers(json.dumps({"schema": '"string"'}).encode())

    def slow(server, connection):
        server.pause(0.2)
        known(server, connection)

    with BadServer(slow) as server:
        found = known_ids(SchemaRegistry(f"http://{server.address}"), ids(*range(1, 101)), 0.5)
        assert (
            not found.unknown and 90 < len(found.not_asked) < 100 and len(server.received) == 100 - len(found.not_asked)
        )


@pytest.mark.parametrize("behaviour", [stalls(), drips(b"HTTP/1.1 200 OK\r\n\r\n", b" ")], ids=["stalls", "drips"])
def test_one_that_does_not_come_to_an_end_is_an_error(monkeypatch, behaviour):
    monkeypatch.setattr(schema_registry, "_SECONDS", 0.5)
    monkeypatch.setattr(schema_registry, "_PATIENCE", 0.1)
    begun = time.monotonic()
    with BadServer(behaviour) as server, pytest.raises(ConnectionFailed, match=f"schema registry at {server.address}"):
        known_ids(SchemaRegistry(f"http://{server.address}"), ids(1, 2, 3), 60)
    assert time.monotonic() - begun < 30


def asked_of(server):
    return [request.split()[1].decode() for request in server.received]


def test_an_id_that_the_default_context_lacks_is_asked_for_by_its_subject():
    def schema_linking(server, connection):
        is_found = asked_of(server)[-1] in ("/schemas/ids/1", "/schemas/ids/7?subject=orders-value")
        missing = answers(b'{"error_code": 40403, "message": "Schema 7 not found"}', "404 Not Found")
        (answers(b'{"schema": "string"}') if is_found else missing)(server, connection)

    wanted = [*ids(1, 7), *ids(7, subject="clicks-key")]
    with BadServer(schema_linking) as server:
        found = known_ids(SchemaRegistry(f"http://{server.address}"), wanted, 60)
        assert found == (frozenset(ids(7, subject="clicks-key")), frozenset())
        assert asked_of(server) == [
            "/schemas/ids/1",
            "/schemas/ids/7",
            "/schemas/ids/7?subject=clicks-key",
            "/schemas/ids/7?subject=orders-value",
        ]


@pytest.mark.parametrize("code", [40401, 40402, 40403])
def test_whatever_a_registry_does_not_find_of_an_id_is_unknown(code):
    with BadServer(answers(b'{"error_code": %d, "message": "not found"}' % code, "404 Not Found")) as server:
        assert known_ids(SchemaRegistry(f"http://{server.address}"), ids(7), 60).unknown == {*ids(7)}


def test_a_wrong_path_of_a_registry_is_no_unknown_id():
    wrong_path = answers(b'{"error_code": 404, "message": "HTTP 404 Not Found"}', "404 Not Found")
    with (
        BadServer(wrong_path) as server,
        pytest.raises(InvalidInput, match="not a schema registry.*HTTP 404 Not Found"),
    ):
        known_ids(SchemaRegistry(f"http://{server.address}"), ids(7), 60)
