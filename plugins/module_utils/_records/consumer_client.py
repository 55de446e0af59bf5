# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""librdkafka's configuration from a connection, and a consumer that tells why it cannot connect."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
import typing as t

from .._http.tokens import token_source
from .._model.connection import LIMIT_REMEDY, Connection, is_limited
from .._model.errors import ConnectionFailed, InvalidInput, MigrationError
from .._model.open_clients import OpenClients
from .confluent_library import Consumer, KafkaError, KafkaException

CONNECT_SECONDS = 15.0
# Over round trips of 150 ms, an answer takes half a second, and with TLS and a login a whole one.
FIRST_WAIT_SECONDS = 2.0
# Milliseconds, for more than a thousand partitions: each look whether the queue has room locks all of them.
FEW_LOOKS = 10
# For so many seconds, what was told of topics is not asked for again: a plan reads several times, and each would wait for it.
_FRESH_SECONDS = 5.0

_FINAL_CODES = frozenset({
    KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.UNSUPPORTED_SASL_MECHANISM,
})  # fmt: skip
_FINAL_TEXTS = ("authentication", "ssl alert", "ssl/tls alert", "handshake failed", "certificate")
_LOGIN_OPTIONS = ("sasl_username", "sasl_password", "ssl_key_password")
# The whole of a connection, and the first answer on it; 30 and 10 seconds by default.
_SET_UP_TIMEOUTS = ("socket.connection.setup.timeout.ms", "api.version.request.timeout.ms")
# What is assigned is read exactly, and nothing is ever committed or joined.
_EXACT = {
    "group.id": "streamshift-records",
    "client.id": "streamshift-records",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",  # anything else silently moves to another record
    "enable.partition.eof": True,
    "allow.auto.create.topics": False,
    "check.crcs": True,
    "enable.metrics.push": False,
    "fetch.error.backoff.ms": 20,
    # With the default of 1000 ms a full queue stops fetching for a second at a time.
    "fetch.queue.backoff.ms": 5,
    "reconnect.backoff.ms": 20,  # half of it passes between the first connection, to a bootstrap server, and the second
    "log_level": 0,
}


def client_configuration(connection: Connection) -> dict[str, t.Any]:
    """librdkafka's properties for reaching a cluster. They hold secrets: never print, store or raise them.

    Raises InvalidInput for a login that librdkafka cannot send.
    """
    timeout = int(connection.request_timeout * 1000)
    config: dict[str, t.Any] = {
        "bootstrap.servers": ",".join(connection.bootstrap_servers),
        "security.protocol": connection.security_protocol,
        "socket.timeout.ms": timeout,
        **dict.fromkeys(_SET_UP_TIMEOUTS if connection.is_slow else (), timeout),
        **connection.client_config,
    }
    _check_login(connection)
    if connection.uses_tls:
        certificates = {
            "ssl.ca.location": connection.ssl_cafile,
            "ssl.ca.pem": connection.ssl_ca,
            "ssl.certificate.location": connection.ssl_certfile,
            "ssl.certificate.pem": connection.ssl_cert,
            # A file or text may hold the key as well.
            "ssl.key.location": connection.ssl_keyfile or connection.ssl_certfile,
            "ssl.key.pem": connection.ssl_key or connection.ssl_cert,
            "ssl.key.password": connection.ssl_key_password,
        }
        config |= {name: value for name, value in certificates.items() if value is not None}
        config["ssl.endpoint.identification.algorithm"] = "https" if connection.ssl_check_hostname else "none"
    if connection.uses_sasl:
        config["sasl.mechanism"] = connection.sasl_mechanism
        if connection.sasl_mechanism != "OAUTHBEARER":
            config |= {"sasl.username": connection.sasl_username, "sasl.password": connection.sasl_password}
        else:
            config["oauth_cb"] = _token_callback(connection)
    return config


def _check_login(connection: Connection) -> None:
    """Raise InvalidInput for what librdkafka does not take as it is: it skips blanks before a value, and ends it at a NUL."""
    for option in _LOGIN_OPTIONS:
        value = getattr(connection, option) or ""
        if value[:1] in tuple(" \t\n\v\f\r") or "\0" in value:
            raise InvalidInput(
                f"{option} begins with a blank or a line break, or has a NUL character",
                cluster=str(connection),
                why="librdkafka, which reads the records, cannot send it",
                remedy="correct it, or give the migration a login of its own",
            )


@dataclasses.dataclass(slots=True)
class Opened:
    """A consumer of a cluster for assign(), the numbers of partitions, and what librdkafka has complained of since.

    The numbers are of every topic that the consumer's user may describe, and were told at `since` of time.monotonic(). While
    it is polled, more complaints may come.
    """

    connection: Connection
    consumer: Consumer
    partitions: dict[str, int]
    complaints: list[KafkaError]
    since: float = -math.inf


def connected(connection: Connection, settings: t.Mapping[str, t.Any]) -> Opened:
    """A consumer that has been answered, to be closed by the caller.

    Raises ConnectionFailed with the true reason: librdkafka tells it only to those who poll,
    so the metadata is asked for in short turns.
    """
    opened = _connecting(connection, settings)
    try:
        learn_partitions(opened)
    except MigrationError:
        opened.consumer.close()
        raise
    return opened


def _connecting(connection: Connection, settings: t.Mapping[str, t.Any]) -> Opened:
    """A consumer that has begun to connect, which nobody waits for. Raises InvalidInput where there can be none."""
    errors: list[KafkaError] = []
    try:
        consumer = Consumer({**_EXACT, **client_configuration(connection), **settings, "error_cb": errors.append})
    except KafkaException as exc:
        raise unusable_client(connection, exc) from exc
    return Opened(connection, consumer, {}, errors)


def learn_partitions(opened: Opened) -> None:
    """Ask for the numbers of partitions. Raises ConnectionFailed as connected() does."""
    topics = _metadata(opened)
    opened.partitions = {topic.topic: len(topic.partitions) for topic in topics if topic.error is None}
    opened.since = time.monotonic()
    opened.complaints.clear()  # of bootstrap servers that did not answer, while another did


# A consumer that may be used again depends on these: a connection and settings.
_Key = tuple[Connection, tuple[tuple[str, t.Any], ...]]
_READERS: OpenClients[_Key, Opened] = OpenClients(lambda opened: opened.consumer.close())


def _key(connection: Connection, settings: t.Mapping[str, t.Any]) -> _Key:
    return connection, tuple(sorted(settings.items()))


def expect_consumer(connection: Connection, settings: t.Mapping[str, t.Any]) -> None:
    """Let a consumer begin to connect that open_consumer() will want: that takes six round trips, and nobody waits for them.

    Only for a login that brokers have let in: librdkafka repeats one that they refuse until it is locked. What is wrong with
    it otherwise, open_consumer() says.
    """

    def begin(_key: _Key) -> Opened:
        opened = _connecting(connection, settings)
        # There is no answer yet. Without a question it may begin to connect a second later.
        with contextlib.suppress(KafkaException):
            opened.consumer.list_topics(timeout=0)
        return opened

    with contextlib.suppress(MigrationError):
        _READERS.keep(_key(connection, settings), begin)


@contextlib.contextmanager
def open_consumer(connection: Connection, settings: t.Mapping[str, t.Any]) -> t.Iterator[Opened]:
    """A consumer as of connected(), which may have been used before, and is left to whoever comes next."""
    key = _key(connection, settings)
    with _READERS.lent(key, lambda _key: _connecting(connection, settings)) as (opened, _was_used):
        if time.monotonic() > opened.since + _FRESH_SECONDS:
            learn_partitions(opened)
        opened.complaints.clear()  # of former uses
        try:
            yield opened
        finally:
            with contextlib.suppress(KafkaException):  # after an error, which tells more, the consumer is closed
                opened.consumer.unassign()


def unusable_client(connection: Connection, exc: KafkaException) -> InvalidInput:
    """A client that librdkafka does not make: it names the property and the file, and quotes no secret."""
    return InvalidInput(
        "the client cannot be set up",
        cluster=str(connection),
        why=exc.args[0].str(),
        remedy="correct the options of this cluster, such as client_config",
    )


def _metadata(opened: Opened) -> list[t.Any]:
    """Ask for ever longer: librdkafka tells why it fails only between the calls, and asks anew with each."""
    connection, consumer, errors = opened.connection, opened.consumer, opened.complaints
    wait, last_chance = FIRST_WAIT_SECONDS, False
    patience = connection.request_timeout
    end = time.monotonic() + (patience if connection.is_slow else min(CONNECT_SECONDS, patience))
    while True:
        try:
            answer: t.Any = consumer.list_topics(timeout=wait)
        except KafkaException as exc:
            consumer.poll(0)
            _check_token(connection)
            if last_chance or time.monotonic() > end:
                raise connection_failed(connection, [*errors, exc.args[0]]) from exc
            # Another bootstrap server may answer even after a final reason.
            last_chance = any(map(_is_final, errors))
        else:
            return list(answer.topics.values())
        wait = min(wait * 2, max(0.1, end - time.monotonic()))


def _check_token(connection: Connection) -> None:
    """Raise the MigrationError that says why there is no token for the login any more: no further try would get one."""
    if connection.sasl_mechanism == "OAUTHBEARER":
        token_source(connection)


def connection_failed(connection: Connection, errors: t.Sequence[KafkaError]) -> ConnectionFailed:
    """The most telling of the errors that librdkafka has reported: a final reason, else anything but "all brokers are down".

    Raises the MigrationError that says why there is no token for the login, if there is none any more.
    """
    _check_token(connection)
    final = [error for error in errors if _is_final(error)]
    telling = [error for error in errors if error.code() != KafkaError._ALL_BROKERS_DOWN]
    limited = [error for error in errors if is_limited(error.str())]
    best = (limited or final or telling or errors)[0]
    return ConnectionFailed(
        "cannot connect",
        cluster=str(connection),
        why=best.str(),
        remedy=LIMIT_REMEDY if limited else "check bootstrap_servers, security_protocol, the TLS options and the login",
    )


def _is_final(error: KafkaError) -> bool:
    if is_limited(error.str()):
        return False
    return error.code() in _FINAL_CODES or any(text in error.str().lower() for text in _FINAL_TEXTS)


def _token_callback(connection: Connection) -> t.Callable[[str], tuple[str, float, str, dict[str, str]]]:
    """What librdkafka calls for a token: the token, when it expires (seconds since 1970), whose it is, and its extensions."""
    source = token_source(connection)

    def token(_config: str) -> tuple[str, float, str, dict[str, str]]:
        value, seconds = source.token_or_last()
        return value, time.time() + seconds, "", source.extensions

    return token
