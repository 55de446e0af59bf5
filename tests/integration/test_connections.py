"""Who may not connect is told why, within seconds, by both clients."""

import contextlib
import os
import socket
import threading
import time

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import admin_client
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topics import cluster_id
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import ConnectionFailed, InvalidInput
from ansible_collections.streamshift.kafka.plugins.module_utils._records.consumer_client import connected
from testbed.clients import set_passwords
from tests.support.modules import refuses

SECONDS = 8.0


def by_control(connection):
    return cluster_id(connection)


def by_records(connection):
    opened = connected(connection, {})
    opened.consumer.close()
    return opened.partitions


@pytest.fixture(params=[by_control, by_records])
def connect(request):
    return request.param


def text(path):
    with open(path) as file:
        return file.read()


def contents(options):
    """The same certificates, as texts."""
    files = {"ssl_cafile": "ssl_ca", "ssl_certfile": "ssl_cert", "ssl_keyfile": "ssl_key"}
    return {files.get(name, name): text(value) if name in files else value for name, value in options.items()}


def options_that_work(secured):
    tls, encrypted = secured.ssl_connection, {"ssl_keyfile": secured.paths["encrypted_key"]}
    password = {"ssl_key_password": secured.ssl_key_password}
    yield from (secured.connection_as("admin", each) for each in ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"))
    yield from (tls, contents(tls), contents(secured.connection))
    yield from ({**tls, **encrypted, **password}, contents({**tls, **encrypted, **password}))
    yield {**contents(tls), "ssl_key": None, "ssl_cert": text(tls["ssl_keyfile"]) + text(tls["ssl_certfile"])}
    yield {**secured.plaintext, "bootstrap_servers": ["127.0.0.1:1", *secured.bootstrap_servers]}


def test_every_way_to_log_in_works(secured):
    for options in options_that_work(secured):
        connection = connection_from(options)
        assert by_control(connection) == secured.cluster_id
        by_records(connection)


NAMES = ["svc=migrator", "a,b", "=2C,=3D", "two words% ", 'x"y\\z']  # Kafka's SCRAM takes ASCII only


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "SCRAM-SHA-256"])
def test_user_names_of_any_characters_log_in(secured, connect, mechanism):
    """What SCRAM itself separates its words with is escaped once, by either client."""
    password = "p=1,q=2"
    set_passwords(secured, NAMES, password, mechanism)
    for name in NAMES:
        options = {**secured.connection_as("admin", mechanism), "sasl_username": name, "sasl_password": password}
        connect(connection_from(options))


def refused(connect, options, kind=ConnectionFailed):
    began = time.monotonic()
    with pytest.raises(kind) as refusal:
        connect(connection_from(options, "destination cluster"))
    assert time.monotonic() - began < SECONDS
    assert str(refusal.value).startswith("destination cluster")
    assert "secret" not in str(refusal.value)
    return refusal.value


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "PLAIN"])
@pytest.mark.parametrize("wrong", [{"sasl_password": "secret"}, {"sasl_username": "nobody"}])
def test_a_wrong_login(secured, connect, wrong, mechanism):
    error = refused(connect, {**secured.connection_as("migrator", mechanism), **wrong})
    assert "invalid credentials" in error.why or "Invalid username or password" in error.why
    assert "login" in error.remedy or "password" in error.remedy


def test_a_broker_whose_authority_is_not_known(secured, connect):
    error = refused(connect, {**secured.connection, "ssl_cafile": secured.paths["other_ca"]})
    assert "certificate verify failed" in error.why


def test_a_client_without_a_certificate(secured, connect):
    without = {
        name: value for name, value in secured.ssl_connection.items() if name not in ("ssl_certfile", "ssl_keyfile")
    }
    assert "certificate" in refused(connect, without).why


def test_a_client_certificate_of_another_authority(secured, connect):
    paths = secured.paths
    other = {"ssl_certfile": paths["other_certificate"], "ssl_keyfile": paths["other_key"]}
    assert "certificate" in refused(connect, {**secured.ssl_connection, **other}).why


def test_tls_to_a_plaintext_listener(secured, connect):
    error = refused(connect, {**secured.ssl_connection, "bootstrap_servers": secured.bootstrap_servers})
    assert "does not speak TLS" in error.why or "PLAINTEXT broker listener" in error.why


def test_plaintext_to_a_tls_listener(secured):
    for options in (secured.ssl_connection, secured.connection):
        error = refused(by_control, {"bootstrap_servers": options["bootstrap_servers"]})
        assert error.why == "the listener speaks TLS, the client does not"
        assert "security_protocol" in error.remedy


def test_a_login_where_nobody_logs_in(secured, connect):
    options = {**secured.connection, "bootstrap_servers": secured.ssl_connection["bootstrap_servers"]}
    assert "SASL" in refused(connect, options).why


def test_no_login_where_everybody_must(secured):
    options = {**secured.ssl_connection, "bootstrap_servers": secured.connection["bootstrap_servers"]}
    assert "closed the connection" in refused(by_control, options).why


@pytest.mark.parametrize(("backlog", "said"), [(None, "connection was lost"), (9, "a broker does not answer")])
def test_a_broker_that_advertises_an_address_which_nobody_reaches(own_cluster, backlog, said):
    """The first answer comes from another address, as through a load balancer. A listener without accept() hangs."""
    with socket.socket() as advertised:
        advertised.bind(("127.0.0.1", 0))
        if backlog:
            advertised.listen(backlog)
        listeners = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{advertised.getsockname()[1]}"}
        connection = {**own_cluster("elsewhere", settings=listeners).connection, "request_timeout": 2}
        told = refuses("kafka_group_info", cluster=connection)
    assert said in told and "advertised.listeners" in told


def test_servers_that_are_down_are_passed_over(secured, monkeypatch):
    monkeypatch.setattr(admin_client, "CONNECT_SECONDS", 1.0)
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1] for _unused in range(3)]
        down = [f"127.0.0.1:{port}" for port in (*silent, 1)]
        servers = {**secured.plaintext, "bootstrap_servers": [*down, *secured.bootstrap_servers]}
        assert [by_control(connection_from(servers)) for _unused in range(3)] == [secured.cluster_id] * 3
        assert refused(by_control, {"bootstrap_servers": down}).why in ("no answer", "connection refused")


def test_a_load_balancer_whose_brokers_are_down_is_passed_over(secured):
    """It ends the connection during the handshake, which alone looks like a listener that does not speak TLS."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as balancer:

        def end_each_connection():
            with contextlib.suppress(OSError):
                while True:
                    balancer.accept()[0].close()

        threading.Thread(target=end_each_connection, daemon=True).start()
        alone = [f"127.0.0.1:{balancer.getsockname()[1]}"]
        servers = {
            **secured.ssl_connection,
            "bootstrap_servers": [*alone, *secured.ssl_connection["bootstrap_servers"]],
        }
        assert [by_control(connection_from(servers)) for _unused in range(8)] == [secured.cluster_id] * 8
        refused(by_control, {**secured.ssl_connection, "bootstrap_servers": alone})


def test_an_encrypted_key_asks_nobody_for_its_passphrase(secured):
    key = {"ssl_keyfile": secured.paths["encrypted_key"]}
    for password, said in ((None, "ssl_key_password is not set"), ("secret", "ssl_key_password does not open it")):
        error = refused(by_control, {**secured.ssl_connection, **key, "ssl_key_password": password}, InvalidInput)
        assert said in str(error)


def test_files_that_cannot_be_used(secured, tmp_path):
    tls, store = secured.ssl_connection, tmp_path / "trust.pem"
    store.write_bytes(b"\xfe\xed\xfe\xed\x00\x00\x00\x02")
    for wrong, said in (
        ({"ssl_cafile": str(tmp_path / "none.pem")}, "none.pem cannot be read: No such file or directory"),
        ({"ssl_cafile": str(store)}, "trust.pem is a Java key store, and PEM is needed"),
        ({"ssl_cafile": __file__}, "holds no certificate"),
        ({"ssl_keyfile": secured.paths["other_key"]}, "key values mismatch"),
    ):
        assert said in str(refused(by_control, {**tls, **wrong}, InvalidInput))


def test_failed_connections_leave_no_thread_and_no_socket(secured):
    options = {**secured.connection_as("migrator"), "sasl_password": "secret"}
    refused(by_control, options)
    before = threading.active_count(), len(os.listdir("/proc/self/fd"))
    for _unused in range(5):
        refused(by_control, options)
    assert (threading.active_count(), len(os.listdir("/proc/self/fd"))) <= before


def test_nothing_is_printed_while_connecting_fails(secured, capfd):
    refused(by_control, {"bootstrap_servers": "127.0.0.1:1"})
    refused(by_records, {**secured.connection_as("migrator"), "sasl_password": "secret"})
    assert capfd.readouterr() == ("", "")
