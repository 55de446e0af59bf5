"""Errors of the client say why, and what to do."""

import asyncio
import io
import socket
import ssl
import time
import types
from unittest import mock

import pytest
from kafka import errors
from kafka.protocol.broker_version_data import BrokerVersionData

from ansible_collections.streamshift.kafka.plugins.module_utils._control import admin_client, attempts, reasons
from ansible_collections.streamshift.kafka.plugins.module_utils._control.abilities import Ability
from ansible_collections.streamshift.kafka.plugins.module_utils._control.reasons import translated
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import (
    BrokerError,
    ConnectionFailed,
    NotAuthorized,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.open_clients import keeping

CLUSTER = connection_from({"bootstrap_servers": "b1:9092"}, "source cluster")


login, gone = errors.SaslAuthenticationFailedError, errors.KafkaConnectionError
UNTRUSTED = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed (_ssl.c:1016)"
EXPIRED = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate has expired (_ssl.c:1016)"
UNKNOWN = ssl.SSLError(1, "[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] alert")
TOO_MANY = "SaslAuthenticationFailedError: [a1b2]: Too many connects"


@pytest.mark.parametrize(
    ("reason", "why", "remedy", "hopeless"),
    [
        (login("SaslAuthenticationFailedError: Invalid password"), "Invalid password", "user name", True),
        (login(TOO_MANY), "[a1b2]: Too many connects", "run fewer tasks", False),
        (login("connection rate limit exceeded"), "limit exceeded", "run again later", False),
        (errors.UnsupportedSaslMechanismError(), "does not offer", "Set one", True),
        (gone(f"Handshake failed: {UNTRUSTED}"), "certificate verify failed: self-signed.", "ssl_cafile", True),
        (gone(f"Handshake failed: {EXPIRED}"), "certificate has expired.", "or correct the clock", True),
        (gone("[SSL: SSLV3_ALERT_CERTIFICATE_EXPIRED]"), "the client certificate has expired", "ssl_certfile", True),
        (gone(UNKNOWN), "wants a client certificate", "ssl_certfile", True),
        (errors.InvalidReceiveError("Invalid frame length: 352518912"), "speaks TLS", "security_protocol", True),
        (gone("111 ECONNREFUSED"), "connection refused", "listens", False),
        (gone("socket disconnected"), "closed the connection", "security_protocol", False),
    ],
)
def test_a_reason_is_told_with_what_cures_it(reason, why, remedy, hopeless):
    told = str(reasons.refusal(CLUSTER, [reason, errors.KafkaTimeoutError("Unable to bootstrap from ['b1:9092']")]))
    assert told.startswith("source cluster b1:9092: cannot connect: ")
    assert why in told and remedy.lower() in told.lower()
    assert "_ssl.c" not in told and "Unable to bootstrap" not in told
    assert reasons.hopeless(reason) is hopeless


def test_an_old_broker_that_hangs_up_may_have_refused_the_login():
    its = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_username": "u", "sasl_password": "p"}
    cluster = connection_from({"bootstrap_servers": "b1:9092", **its})
    told = str(reasons.refusal(cluster, [gone("socket disconnected")]))
    assert "brokers before Kafka 1.0 refuse a login in this way, so check the user name, the password" in told


def test_the_most_telling_of_several_reasons_is_told():
    several = [gone("socket disconnected"), login("SaslAuthenticationFailedError: no"), gone("socket disconnected")]
    assert reasons.refusal(CLUSTER, several).why == "no"


def test_names_that_cannot_be_resolved_are_told_beside_another_reason(monkeypatch):
    monkeypatch.setattr(admin_client, "CONNECT_SECONDS", 0.5)
    with pytest.raises(ConnectionFailed) as failed:
        admin_client.connect(connection_from({"bootstrap_servers": "127.0.0.1:1,no-such-host.invalid:9092"}))
    assert failed.value.why == "connection refused; the host name no-such-host.invalid cannot be resolved"


@pytest.mark.parametrize(("request_timeout", "is_raised"), [(0.3, False), (2, True)])
def test_a_request_timeout_that_is_raised_gives_a_slow_connection_more_time(monkeypatch, request_timeout, is_raised):
    """The server takes connections, and is silent on them."""
    monkeypatch.setattr(admin_client, "CONNECT_SECONDS", 0.2)
    monkeypatch.setattr(f"{connection_from.__module__}.USUAL_TIMEOUT", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address, begun = f"127.0.0.1:{silent.getsockname()[1]}", time.monotonic()
        with pytest.raises(ConnectionFailed, match="no answer"):
            admin_client.connect(connection_from({"bootstrap_servers": address, "request_timeout": request_timeout}))
    assert (time.monotonic() - begun >= 2) is is_raised


def test_a_silent_address_of_a_host_name_leaves_time_for_the_next_one(monkeypatch):
    """Linux answers nothing where a listener's queue is full."""
    monkeypatch.setattr(admin_client, "CONNECT_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as silent, socket.create_connection(silent.getsockname()):
        places = [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", place) for place in (silent.getsockname(), ("127.0.0.1", 1))
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_given: places)
        with pytest.raises(ConnectionFailed, match="connection refused"):
            admin_client.connect(connection_from({"bootstrap_servers": "broker:9092"}))


too_old = errors.IncompatibleBrokerVersion
NO_REMOVAL = "Kafka broker does not support the 'OffsetDeleteRequest' Kafka protocol."
NO_FETCH = (
    "No version of the 'OffsetFetchRequest' Kafka protocol is supported by both the client [2-7] and broker [0-1]."
)


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (too_old("no DescribeConfigs"), BrokerError, "do not offer a request that is needed"),
        (
            too_old(NO_REMOVAL),
            BrokerError,
            "cannot remove single committed offsets: they do not offer OffsetDelete 0, which Kafka has since 2.4",
        ),
        (
            too_old(NO_FETCH),
            BrokerError,
            "cannot read all that a group has committed: they do not offer OffsetFetch 2, which Kafka has since 0.10.2",
        ),
        (errors.ClusterAuthorizationFailedError(), NotAuthorized, "CLUSTER_AUTHORIZATION_FAILED"),
        (gone("gone"), ConnectionFailed, "advertised.listeners"),
        (errors.RequestTimedOutError("Request timed out after 4989 ms"), ConnectionFailed, "a broker does not answer"),
        (errors.KafkaTimeoutError("no answer"), ConnectionFailed, "advertised.listeners"),
        (errors.RequestTimedOutError(), BrokerError, "the broker refused: REQUEST_TIMED_OUT"),
        (errors.UnknownError(), BrokerError, "the broker refused"),
        (
            errors.LeaderNotAvailableError("a-0, a-1"),
            BrokerError,
            "no broker leads partitions that are needed: a-0, a-1",
        ),
        (errors.ThrottlingQuotaExceededError(), BrokerError, "the broker refused"),
        (errors.KafkaProtocolError("Unable to decode response"), BrokerError, "the broker's answer cannot be read"),
        (errors.InvalidReceiveError("Invalid frame"), ConnectionFailed, "advertised.listeners has addresses of Kafka"),
        (errors.InvalidReceiveError("Invalid frame length: 352518912"), ConnectionFailed, "the listener speaks TLS"),
        (gone("CERTIFICATE_VERIFY_FAILED"), ConnectionFailed, "Set ssl_cafile or ssl_ca"),
        (errors.IllegalStateError("closed"), BrokerError, "the request failed"),
        (login("Too many connects"), ConnectionFailed, "run fewer tasks at a time"),
        (login("wrong"), ConnectionFailed, "user name, the password"),
    ],
)
def test_an_error_that_nobody_explained_keeps_kafkas_name(error, kind, said):
    told = translated(CLUSTER, error)
    assert isinstance(told, kind) and said in str(told)


@pytest.mark.parametrize(("times", "raises"), [(2, False), (1000, True)])
@pytest.mark.parametrize("where", ["connect", "operation"])
def test_a_broker_that_takes_no_more_connections_is_tried_again(monkeypatch, times, raises, where):
    left = [times]

    def limited(error):
        left[0] -= 1
        if left[0] >= 0:
            raise error

    def connect(_connection):
        if where == "connect":
            limited(reasons.refusal(CLUSTER, [login("Too many connects")]))
        return io.StringIO()

    def operation(_client):
        if where == "operation":
            limited(login("Too many connects"))
        return 7

    monkeypatch.setattr(attempts, "connect", connect)
    monkeypatch.setattr(attempts.time, "sleep", lambda _seconds: None)
    lines = []
    monkeypatch.setattr(attempts, "tell_wait", lines.append)
    if raises:
        with pytest.raises(ConnectionFailed, match="Too many connects. Run again later"):
            attempts.attempt(CLUSTER, operation, 0.01)
    else:
        assert attempts.attempt(CLUSTER, operation) == 7
    if not raises or where == "connect":
        assert "takes no more connections now (Too many connects), and is asked again until it does" in lines[0]


def test_a_wrong_password_is_not_tried_again(monkeypatch):
    connect = mock.Mock(side_effect=reasons.refusal(CLUSTER, [login("Invalid password")]))
    monkeypatch.setattr(attempts, "connect", connect)
    with pytest.raises(ConnectionFailed, match="Check the user name"):
        attempts.attempt(CLUSTER, lambda _client: None)
    assert connect.call_count == 1


def test_a_cluster_that_is_gone_is_told_at_once_though_an_earlier_operation_has_reached_it(monkeypatch):
    connect = mock.Mock(side_effect=[io.StringIO(), reasons.refusal(CLUSTER, [gone("111 ECONNREFUSED")])])
    monkeypatch.setattr(attempts, "connect", connect)
    monkeypatch.setattr(attempts.time, "sleep", lambda _seconds: None)
    with keeping():
        assert attempts.attempt(CLUSTER, lambda _client: 7) == 7
        with pytest.raises(ConnectionFailed, match="connection refused"):
            attempts.attempt(CLUSTER, mock.Mock(side_effect=gone("socket disconnected")))
    assert connect.call_count == 2


@pytest.mark.parametrize(
    ("error", "tried_for"),
    [
        (gone("unreachable"), 18.0),
        (errors.NodeNotReadyError("5"), 18.0),
        (errors.KafkaTimeoutError("no answer"), 18.0),
        (errors.RequestTimedOutError("Request timed out after 4989 ms"), 18.0),
        (errors.RequestTimedOutError(), 60.0),
        (errors.CoordinatorLoadInProgressError(), 60.0),
    ],
)
def test_a_broker_that_another_one_names_and_nobody_reaches_is_not_tried_for_long(monkeypatch, error, tried_for):
    now = [1000.0]
    monkeypatch.setattr(attempts.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(attempts.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    monkeypatch.setattr(attempts, "connect", lambda _connection: io.StringIO())
    cluster = connection_from({"bootstrap_servers": "b1:9092", "request_timeout": 6})
    with pytest.raises((ConnectionFailed, BrokerError)):
        attempts.attempt(cluster, mock.Mock(side_effect=error))
    assert tried_for < now[0] - 1000.0 < tried_for + 3


@pytest.mark.parametrize(
    ("mechanism", "name", "sent"),
    [
        ("SCRAM-SHA-512", "svc=migrator", "svc=3Dmigrator"),
        ("scram-sha-256", "a,b=2C", "a=2Cb=3D2C"),
        ("PLAIN", "a,b=c", "a,b=c"),
    ],
)
def test_scram_escapes_what_separates_its_words(mechanism, name, sent):
    options = {"bootstrap_servers": "b:1", "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": mechanism}
    found = admin_client._security_options(
        connection_from({**options, "sasl_username": name, "sasl_password": "p,=2C"})
    )
    assert (found["sasl_plain_username"], found["sasl_plain_password"]) == (sent, "p,=2C")


def test_a_request_is_the_library_s_with_the_rows_of_its_arrays():
    partitions = [{"partition_index": 3, "timestamp": -1}]
    topics = [{"name": "orders", "partitions": partitions}, {"name": "bills", "partitions": []}]
    client = types.SimpleNamespace(offered_versions={})
    request = admin_client.Request("ListOffsets", {"isolation_level": 1, "topics": topics}, 7, lowest=1)
    sent = admin_client._message(client, request)
    assert (type(sent).__name__, sent.isolation_level) == ("ListOffsetsRequest", 1)
    assert (sent._min_version, sent._max_version) == (1, None)
    assert [topic.name for topic in sent.topics] == ["orders", "bills"]
    assert [(each.partition_index, each.timestamp) for each in sent.topics[0].partitions] == [(3, -1)]
    every = admin_client._message(client, admin_client.Request("Metadata", {"topics": None}))
    assert every.topics is None


def test_few_requests_are_under_way_to_a_broker_so_that_each_is_answered_in_time():
    under_way, most = {1: 0, 2: 0}, {1: 0, 2: 0}

    async def answered(message, node_id):
        await asyncio.sleep(0)
        under_way[node_id] -= 1
        return message.group_id

    def send(message, node_id):
        under_way[node_id] += 1
        most[node_id] = max(most[node_id], under_way[node_id])
        return asyncio.ensure_future(answered(message, node_id))

    client = types.SimpleNamespace(
        manager=types.SimpleNamespace(send=send, run=lambda coroutine: asyncio.run(coroutine())), offered_versions={}
    )
    fields = [({"group_id": f"group-{number}", "topics": []}, 1 + number % 2) for number in range(300)]
    answers = admin_client.exchange(client, [admin_client.Request("OffsetDelete", each, node) for each, node in fields])
    assert answers == [each["group_id"] for each, _node in fields]
    assert most == {1: admin_client.MOST_UNDER_WAY, 2: admin_client.MOST_UNDER_WAY}


def test_a_broker_that_is_older_than_the_first_one_lowers_what_is_asked_for(monkeypatch):
    newer, older = BrokerVersionData(broker_version=(3, 9)), BrokerVersionData(broker_version=(2, 8))
    connections = {1: io.BytesIO(), 2: types.SimpleNamespace(broker_version_data=older)}
    manager = types.SimpleNamespace(broker_version_data=newer, _conns=connections)
    library = types.SimpleNamespace(_manager=manager, close=lambda: None)
    monkeypatch.setattr(attempts, "connect", lambda _connection: admin_client.AdminClient(library))

    def ask(client, *, falls_back):
        if admin_client.can(client, Ability.MANY_GROUPS) or not falls_back:
            raise too_old(NO_FETCH)
        return 7

    assert attempts.attempt(CLUSTER, lambda client: ask(client, falls_back=True)) == 7
    with pytest.raises(BrokerError, match="do not offer OffsetFetch 2"):
        attempts.attempt(CLUSTER, lambda client: ask(client, falls_back=False))
