"""librdkafka is told what a connection says."""

import contextlib
import time
from types import SimpleNamespace

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException

from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import ConnectionFailed, InvalidInput
from ansible_collections.streamshift.kafka.plugins.module_utils._records import consumer_client
from ansible_collections.streamshift.kafka.plugins.module_utils._records.consumer_client import (
    client_configuration,
    connected,
    connection_failed,
)

PEM = {
    "ssl_ca": "-----BEGIN CERTIFICATE-----CA",
    "ssl_cert": "-----BEGIN CERTIFICATE-----X",
    "ssl_key": "-----BEGIN PRIVATE KEY-----K",
}
LOGIN = {"bootstrap_servers": "b1:9092", "security_protocol": "SASL_SSL"}


def test_librdkafka_gets_its_own_names():
    options = {
        **LOGIN, **PEM, "sasl_mechanism": "PLAIN", "sasl_username": "me", "sasl_password": "hunter2",
        "ssl_key_password": "pass", "ssl_check_hostname": False, "request_timeout": 7,
        "client_config": {"metadata.max.age.ms": 180000},
    }  # fmt: skip
    assert client_configuration(connection_from(options)) == {
        "bootstrap.servers": "b1:9092",
        "security.protocol": "SASL_SSL",
        "socket.timeout.ms": 7000,
        "metadata.max.age.ms": "180000",
        "ssl.ca.pem": PEM["ssl_ca"],
        "ssl.certificate.pem": PEM["ssl_cert"],
        "ssl.key.pem": PEM["ssl_key"],
        "ssl.key.password": "pass",
        "ssl.endpoint.identification.algorithm": "none",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "me",
        "sasl.password": "hunter2",
    }


@pytest.mark.parametrize("option", ["sasl_username", "sasl_password", "ssl_key_password"])
@pytest.mark.parametrize("value", [" leading", "\nnext1", "a\0b"])
def test_a_login_that_librdkafka_would_change_is_refused(option, value):
    options = {**LOGIN, "sasl_mechanism": "PLAIN", "sasl_username": "me", "sasl_password": "x", option: value}
    with pytest.raises(InvalidInput, match=f"{option} begins with a blank") as refusal:
        client_configuration(connection_from(options))
    assert value.strip() not in str(refusal.value)
    kept = client_configuration(connection_from({**options, option: "=trailing, "}))
    assert "=trailing, " in kept.values()


def test_librdkafka_gets_the_token_its_end_and_its_extensions():
    cloud = {"logicalCluster": "lkc-1"}
    oauth = {"sasl_mechanism": "OAUTHBEARER", "oauth_token": "t0ken", "oauth_extensions": cloud}
    config = client_configuration(connection_from({**LOGIN, **oauth}))
    token, expires, _whose, extensions = config["oauth_cb"]("")
    assert (token, extensions) == ("t0ken", cloud) and expires > time.time() + 3600
    Consumer({**config, "group.id": "x", "log_level": 0}).close()


def test_a_key_in_the_certificates_file_is_used():
    config = client_configuration(connection_from({**LOGIN, "security_protocol": "SSL", "ssl_certfile": "both.pem"}))
    assert (config["ssl.certificate.location"], config["ssl.key.location"]) == ("both.pem", "both.pem")


def test_a_property_that_librdkafka_does_not_know_is_told():
    told = 'the client cannot be set up: No such configuration property: "no.such". Correct the options of this cluster'
    with pytest.raises(InvalidInput, match=told):
        connected(connection_from({"bootstrap_servers": "b1:9092"}), {"no.such": "1"})


@pytest.mark.parametrize(("timeout", "expected"), [(30, set()), (300, {"300000"})])
def test_a_request_timeout_that_is_raised_is_for_each_step_of_a_connection(timeout, expected):
    config = client_configuration(connection_from({"bootstrap_servers": "b1:9092", "request_timeout": timeout}))
    steps = ("socket.connection.setup.timeout.ms", "api.version.request.timeout.ms")
    assert {str(config[name]) for name in steps if name in config} == expected
    Consumer({**config, "group.id": "x", "log_level": 0}).close()


@pytest.mark.parametrize(
    ("options", "answers_after", "seconds"),
    [
        ({}, 60, 15),
        ({"request_timeout": 5}, 60, 5),
        ({"request_timeout": 120}, 20, None),
        ({"request_timeout": 120}, 500, 120),
    ],
)
def test_a_request_timeout_that_is_raised_gives_a_slow_connection_more_time(
    monkeypatch, options, answers_after, seconds
):
    """seconds: after how many the connection is given up; None for one that is made."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(consumer_client, "time", SimpleNamespace(monotonic=lambda: clock.now))

    class Slow:
        def list_topics(self, timeout):
            clock.now += min(timeout, answers_after)
            if timeout < answers_after:
                raise KafkaException(KafkaError(KafkaError._TRANSPORT))
            return SimpleNamespace(topics={})

        def poll(self, _timeout):
            pass

    connection = connection_from({"bootstrap_servers": "b1:9092", **options})
    opened = consumer_client.Opened(connection, Slow(), {}, [])
    with pytest.raises(ConnectionFailed) if seconds else contextlib.nullcontext():
        consumer_client.learn_partitions(opened)
    assert seconds is None or seconds <= clock.now < seconds + 1


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        (
            "sasl_ssl://b1:9098/bootstrap: SASL authentication error: [a1]: Too many connects",
            "run fewer tasks at a time",
        ),
        ("sasl_ssl://b1:9098/bootstrap: SASL authentication error: invalid credentials", "and the login"),
    ],
)
def test_a_limit_of_connections_is_no_wrong_login(text, remedy):
    down = KafkaError(KafkaError._ALL_BROKERS_DOWN)
    failed = connection_failed(connection_from({"bootstrap_servers": "b1:9098"}), [down, KafkaError(-169, text)])
    assert remedy in str(failed) and text in str(failed)
