"""Answers of a worker that rebalances are not final, and what may have been done is looked at before it is asked for again."""

import contextlib
import json
import urllib.parse

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import connect_rest
from ansible_collections.streamshift.kafka.plugins.module_utils._control.connect_rest import ConnectRest
from ansible_collections.streamshift.kafka.plugins.module_utils._http import http_json, tokens
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import (
    BrokerError,
    ConnectionFailed,
    InvalidInput,
    MigrationError,
    NotAuthorized,
    NotFound,
)
from tests.support.bad_http import BadServer, answers

WHERE = {"cluster": "src", "topic": "orders", "partition": 0}
OTHER = {**WHERE, "partition": 1}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(http_json, "_FIRST_PAUSE", 0.01)
    monkeypatch.setattr(connect_rest, "_PAUSE", 0.01)


class Connect:
    """Gives these answers to requests, and the last one for ever. Each is a status and whether a change is carried out."""

    def __init__(self, *answers_to_changes, reading=(200,)):
        self.changing, self.reading = list(answers_to_changes), list(reading)
        self.stored, self.asked = {}, []
        self.refusal = "a rebalance was underway"
        self.version = "4.3.0"

    def __call__(self, server, connection):
        request = server.received[-1]
        method = request.split(b" ")[0].decode()
        self.asked.append(method)
        if method == "GET":
            status = self.reading.pop(0) if len(self.reading) > 1 else self.reading[0]
            rows = [{"partition": json.loads(key), "offset": offset} for key, offset in self.stored.items()]
            said = {"offsets": rows, "version": self.version, "kafka_cluster_id": "x"}
        else:
            status, done = self.changing.pop(0) if len(self.changing) > 1 else self.changing[0]
            for each in json.loads(request.partition(b"\r\n\r\n")[2])["offsets"] if done else ():
                self.stored[json.dumps(each["partition"])] = each["offset"]
            said = {"message": "done"}
        if status is None:
            return  # the connection ends without an answer
        body = said if status == 200 else {"error_code": status, "message": self.refusal}
        answers(json.dumps(body).encode(), f"{status} X")(server, connection)


def ask(worker, call, *arguments):
    with BadServer(worker) as server:
        return call(ConnectRest(f"http://{server.address}", "me", "s3cret"), *arguments)


def write(worker):
    """-> how often it was asked for the change."""
    ask(worker, connect_rest.write_offsets, "mirror", ((WHERE, {"offset": 7}), (OTHER, None)))
    return worker.asked.count("PATCH")


@pytest.mark.parametrize("statuses", [(409,), (500, 409), (503, 502, 504), (429,)])
def test_a_worker_that_rebalances_is_asked_again(statuses):
    worker = Connect((200, True), reading=(*statuses, 200))
    ask(worker, connect_rest.check_worker)
    assert len(worker.asked) == len(statuses) + 1


@pytest.mark.parametrize(
    ("version", "is_too_old"),
    [("3.5.1", True), ("2.8.0", True), ("3.6.0", False), ("7.6.1-ccs", False), ("7.5.0-ccs", True)],
)
def test_a_worker_that_cannot_change_offsets_is_refused_before_it_is_asked_to(version, is_too_old):
    worker = Connect((200, True))
    worker.version = version
    refused = pytest.raises(
        BrokerError, match=f"Kafka Connect {version} cannot change .* Use Kafka Connect 3.6 or newer"
    )
    with refused if is_too_old else contextlib.nullcontext():
        ask(worker, connect_rest.check_worker)


def test_a_connector_that_has_no_status_yet_is_asked_again():
    worker = Connect((200, True), reading=(404, 404, 200))
    worker.refusal = "No status found for connector mirror"
    ask(worker, connect_rest.read_offsets, "mirror")
    assert len(worker.asked) == 3


@pytest.mark.parametrize("status", [409, 500, 503])
def test_what_was_not_carried_out_is_asked_for_again(status):
    worker = Connect((status, False), (status, False), (200, True))
    assert write(worker) == 3 and worker.stored


@pytest.mark.parametrize("status", [500, 503, 504, None])
def test_what_was_carried_out_is_not_asked_for_again(status):
    worker = Connect((status, True))
    assert write(worker) == 1
    assert worker.asked == ["PATCH", "GET"]


def test_the_look_itself_may_come_during_a_rebalance():
    assert write(Connect((500, True), reading=(409, 500, 200))) == 1


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (
            409,
            BrokerError,
            "could not carry out PATCH .* 409 a rebalance was underway. Wait until its rebalance has ended",
        ),
        (401, NotAuthorized, "correct username and password"),
        (404, NotFound, "is not known there"),
        (400, BrokerError, "was refused: 400"),
        (405, BrokerError, "was refused: 405.*use Kafka Connect 3.6 or newer"),
    ],
)
def test_a_refusal_that_stays_is_told(monkeypatch, status, kind, said):
    monkeypatch.setattr(connect_rest, "PATIENCE", 0.1)
    worker = Connect((status, False))
    with pytest.raises(kind, match=f"(?i){said}"):
        write(worker)
    assert (len(worker.asked) > 1) is (status == 409)


def test_a_worker_that_goes_away_while_it_rebalances_is_waited_for():
    assert ask(Connect((200, True), reading=(409, None, 200)), connect_rest.read_offsets, "mirror") == []
    with pytest.raises(ConnectionFailed):
        ask(Connect((200, True), reading=(None,)), connect_rest.read_offsets, "mirror")


@pytest.mark.parametrize(("statuses", "works"), [([503, 429, 200], True), ([401, 200], False), ([400, 200], False)])
def test_a_token_endpoint_that_is_busy_is_asked_again(statuses, works):
    left = list(statuses)

    def endpoint(server, connection):
        answers(b'{"access_token": "t0ken"}', f"{left.pop(0)} X")(server, connection)

    with BadServer(endpoint) as server:
        options = {"bootstrap_servers": "b:1", "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER"}
        options |= {"oauth_token_url": f"http://{server.address}/", "oauth_client_id": "me", "oauth_client_secret": "x"}
        if works:
            assert tokens.token_source(connection_from(options)).token()[0] == "t0ken"
        else:
            with pytest.raises(MigrationError):
                tokens.token_source(connection_from(options))
            assert len(left) == 1


SINK = {"connector.class": "com.example.Sink", "topics": "orders"}


@pytest.mark.parametrize("expands", [True, False])
def test_the_sinks_of_a_worker_are_found_among_its_connectors(expands):
    """Workers before Kafka 2.3 answer with names alone."""
    configs = {"lake": SINK, "a source": {"connector.class": "com.example.Source"}}
    infos = {name: {"info": {"name": name, "config": config}} for name, config in configs.items()}

    def behave(server, connection):
        path = server.received[-1].split(b" ")[1].decode()
        if path.startswith("/connectors?"):
            said = infos if expands else list(configs)
        else:
            said = configs[urllib.parse.unquote(path.split("/")[2])]
        answers(json.dumps(said).encode())(server, connection)

    found = ask(behave, connect_rest.read_sinks)
    assert [(sink.connector, sink.class_name, sink.group) for sink in found] == [
        ("lake", "com.example.Sink", "connect-lake")
    ]


@pytest.mark.parametrize("said", [b"7", b'{"lake": 7}', b'{"lake": {"info": {"config": []}}}'])
def test_what_names_no_connectors_is_no_worker(said):
    with pytest.raises(InvalidInput, match="not the REST interface"):
        ask(answers(said), connect_rest.read_sinks)


NO_CONNECT = "this is not the REST interface of Kafka Connect"


@pytest.mark.parametrize(
    ("behaviour", "told"),
    [
        (answers(b"<html><body>Welcome</body></html>"), NO_CONNECT),
        (answers(b"[]"), NO_CONNECT),
        (answers(b"<html>no such page</html>", "404 X"), "404"),
        (answers(b"[1]", "404 X"), "404"),
        (answers(b'{"message":"who is there?"}', "401 X"), "who is there?"),
        (answers(b"\xff\xfe", "500 X"), "500"),
    ],
)
def test_what_is_no_worker_is_told_without_the_password(monkeypatch, behaviour, told):
    monkeypatch.setattr(connect_rest, "PATIENCE", 0.1)
    with pytest.raises(MigrationError) as refused:
        ask(behaviour, connect_rest.check_worker)
    assert told in str(refused.value) and "s3cret" not in str(refused.value)
