# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Clients of kafka-python: connect with the true reason, log in, and send many requests at once.

A client of kafka-python 3.0 throws away why a broker refused it. Hence a new client for every further try, and the few
private names below; tests on real brokers cover each. It never forgets a group's coordinator either, so nobody asks it for one.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import io
import itertools
import logging
import math
import struct
import time
import types
import typing as t

from .._http.tokens import TokenSource, token_source
from .._model.connection import Connection
from .._model.errors import WRITTEN
from .abilities import Ability, KnownSince
from .kafka_library import (
    AbstractTokenProvider,
    ApiKey,
    ConsumerProtocolSubscription,
    KafkaAdminClient,
    KafkaConnectionManager,
    KafkaNetClient,
    KafkaNetSocket,
    NetworkSelector,
    admin,
    consumer,
    errors,
    metadata,
)
from .reasons import KafkaFailure, NotOffered, holds_everywhere, hopeless, refusal
from .security import tls_context

CONNECT_SECONDS = 5.0
NO_LIMIT = 1_000_000  # requests in flight: above the limit the library fails them instead of letting them wait
# Which version the brokers seem to have, by the name of the connection, of all that this process has connected to. No request
# tells a version: the library concludes it from the requests that the brokers know.
BROKER_VERSIONS: dict[str, str] = {}
# Requests to a broker that are under way: it handles those of a connection one by one, and each has request_timeout.
MOST_UNDER_WAY = 50
_CHANGING = ("Alter", "Create", "Delete", "IncrementalAlter", "OffsetCommit", "OffsetDelete")  # the names of requests
LARGEST_ANSWER = 1 << 28  # bytes; less than what the first bytes of a TLS alert mean as a length (0x15030000)

# The library warns on stderr about every failed try, and its DEBUG lines hold passwords: let it be silent.
logging.getLogger("kafka").addHandler(logging.NullHandler())
logging.getLogger("kafka").propagate = False

T = t.TypeVar("T")
# What waits for the next client of a connection, by its name.
_WAITING: dict[str, t.Callable[[], None]] = {}


class _SharedTime(KafkaNetSocket):
    """Gives each address of a host name its share of the time. The library gives all of it to the first one that is silent."""

    SCHEMES = ("shared-time",)  # of the address of a proxy, which chooses the class
    _left = 1

    def dns_lookup(self, *args: t.Any, **options: t.Any) -> t.Any:
        addresses = super().dns_lookup(*args, **options)  # type: ignore[no-untyped-call]
        self._left = len(addresses)
        return addresses

    async def connect(self, net: t.Any, addrinfo: t.Any, socket_options: t.Any = (), timeout_at: t.Any = None) -> t.Any:
        now = time.monotonic()
        until = now + (timeout_at - now) / self._left
        self._left -= 1
        try:
            return await super().connect(net, addrinfo, socket_options, until)  # type: ignore[no-untyped-call]
        except errors.KafkaTimeoutError as exc:
            raise errors.KafkaConnectionError("Connection timed out") from exc  # lets the library try the next one


class _Manager(KafkaConnectionManager):
    """Remembers why connections failed, and ends the bootstrap when no retry can help: no lock-out by wrong passwords.

    One server that no retry can help, such as a load balancer whose brokers are down, leaves the others to be tried.

    The library draws each server that it tries at random, so that one that is down may take all the time. Here every server
    is tried before one is tried again.
    """

    def __init__(self, net: NetworkSelector, seconds: float, **options: t.Any) -> None:
        super().__init__(net, **options)  # type: ignore[no-untyped-call]
        # Not an option of the client. Ten seconds are built in, and a frozen broker would cost them on every try.
        self.config["socket_connection_setup_timeout_ms"] = self._most_ms = int(seconds * 1000)
        self.config["proxy_url"] = f"{_SharedTime.SCHEMES[0]}://"
        self.reasons: list[BaseException] = []
        self._failures: collections.Counter[t.Any] = collections.Counter()
        self._hopeless: set[t.Any] = set()  # servers
        self._patient_until = time.monotonic() + CONNECT_SECONDS
        self._servers: t.Callable[[], list[t.Any]] = self.cluster.bootstrap_brokers
        self.cluster.bootstrap_brokers = self._least_failed  # type: ignore[method-assign]
        refresh = self.cluster.refresh_metadata

        async def refresh_noting_failure(node_id: t.Any = None) -> t.Any:
            try:
                await refresh(node_id)  # type: ignore[no-untyped-call]
            except KafkaFailure as exc:
                self._failed(exc, node_id)
                raise
            if self.cluster.is_bootstrap(node_id):
                self._keep_first(node_id)

        self.cluster.refresh_metadata = refresh_noting_failure  # type: ignore[method-assign]

    def _keep_first(self, server_id: str) -> None:
        """Let the connection to a bootstrap server be that to the broker of this address.

        The library would close it and open another one, which takes two round trips, and with TLS and a login more.
        """
        server, first = self.cluster.broker_metadata(server_id), self._conns[server_id]
        for broker in self.cluster.brokers():
            if (broker.host, broker.port) == (server.host, server.port) and broker.node_id not in self._conns:
                first.node_id = broker.node_id
                first.close_future.add_both(lambda _: self._conns.pop(first.node_id, None))
                first.close_future.add_errback(lambda _: self.cluster.request_update())
                self._conns |= {server_id: io.BytesIO(), first.node_id: first}  # it closes what it finds there
                break

    def get_connection(self, node_id: t.Any, *args: t.Any, **options: t.Any) -> t.Any:
        if not self.bootstrapped:  # the library gives all the time that is left to each server
            options["timeout_ms"] = min(options.get("timeout_ms") or math.inf, self._most_ms)
        connection = super().get_connection(node_id, *args, **options)  # type: ignore[no-untyped-call]
        # Brokers since 2.0 hold back the next answer themselves (KIP-219). The library would fail each request until then.
        connection._maybe_throttle = lambda _answer: None
        if not connection.init_future.is_done:
            connection.init_future.add_errback(lambda reason: self._failed(reason, node_id))
        return connection

    def _least_failed(self) -> list[t.Any]:
        """The bootstrap servers that the library may try next."""
        servers = self._servers()
        fewest = min(self._failures[server.node_id] for server in servers)
        return [server for server in servers if self._failures[server.node_id] == fewest]

    def update_backoff(self, node_id: t.Any) -> t.Any:
        self._failures[node_id] += 1
        if not self.bootstrapped and time.monotonic() > self._patient_until:
            self.closed = self.closed or all(self._failures[server.node_id] for server in self._servers())
        return super().update_backoff(node_id)  # type: ignore[no-untyped-call]

    def _failed(self, reason: BaseException, node_id: t.Any) -> None:
        if server := self.cluster.broker_metadata(node_id):
            reason.add_note(server.host)
        self.reasons.append(reason)
        if not self.bootstrapped and hopeless(reason):
            self._hopeless.add(node_id)
            others = [server.node_id for server in self._servers() if server.node_id not in self._hopeless]
            self.closed = self.closed or holds_everywhere(reason) or all(self._failures[other] for other in others)

    async def _build_transport(self, node: t.Any, timeout_at: float | None = None) -> t.Any:
        """As the library's, but what came in together with the end of the connection is kept: it tells the reason."""
        transport = await super()._build_transport(node, timeout_at=timeout_at)  # type: ignore[no-untyped-call]
        receive = transport._sock_recv

        def receive_last_words() -> tuple[bytes, BaseException | None]:
            data, error = receive()
            return data, None if data else error

        transport._sock_recv = receive_last_words
        return transport


class _TokenProvider(AbstractTokenProvider):
    """What kafka-python asks for tokens, each time that it connects or logs in again."""

    def __init__(self, source: TokenSource) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._source = source

    def token(self) -> str:
        return self._source.token()[0]

    def extensions(self) -> dict[str, str]:
        return self._source.extensions


def _security_options(connection: Connection) -> dict[str, t.Any]:
    """How a client encrypts and logs in. Raises InvalidInput for certificate files that cannot be used."""
    options: dict[str, t.Any] = {"security_protocol": connection.security_protocol}
    if connection.uses_tls:
        options["ssl_context"] = tls_context(connection)
    if connection.uses_sasl:
        options["sasl_mechanism"] = connection.sasl_mechanism
        if connection.sasl_mechanism == "OAUTHBEARER":
            options["sasl_oauth_token_provider"] = _TokenProvider(token_source(connection))
        else:
            options["sasl_plain_username"] = _login_name(connection)
            options["sasl_plain_password"] = connection.sasl_password
    return options


def _login_name(connection: Connection) -> str:
    """The user name as the mechanism sends it. librdkafka does the same by itself, and kafka-python does not.

    RFC 5802, section 5.1: SCRAM separates what it sends by commas and equals signs.
    """
    name = connection.sasl_username or ""
    if not (connection.sasl_mechanism or "").startswith("SCRAM-"):
        return name
    return name.replace("=", "=3D").replace(",", "=2C")


class AdminClient:
    """A client of the library that is connected, and what it knows of the cluster since then."""

    def __init__(self, library: KafkaAdminClient) -> None:
        self.manager: t.Any = library._manager
        self.close: t.Callable[[], None] = library.close

    @property
    def broker_version(self) -> str:
        return ".".join(map(str, self.manager.broker_version))

    @property
    def offered_versions(self) -> dict[int, tuple[int, int]]:
        """The lowest and the highest version of each request that the brokers offer, by its number."""
        return t.cast("dict[int, tuple[int, int]]", self.manager.broker_version_data.api_versions)

    def learn_versions(self) -> t.Any:
        """Take for offered what the oldest connected broker offers. -> that; the same object as before if nothing is new."""
        told = [getattr(each, "broker_version_data", None) for each in (self.manager, *self.manager._conns.values())]
        self.manager.broker_version_data = min(filter(None, told))
        return self.manager.broker_version_data

    @property
    def known_brokers(self) -> list[int]:
        """The brokers of the last answer to a request for metadata."""
        return [broker.node_id for broker in self.manager.cluster.brokers()]


def can(client: AdminClient, ability: Ability) -> bool:
    """Whether the brokers offer it, as far as they are known: see learn_versions()."""
    return missing_part(client, ability) is None


def missing_part(client: AdminClient, ability: Ability) -> KnownSince | None:
    """What is lacking, with what brokers offer instead; None where they offer what is needed."""
    lowest, highest = client.offered_versions.get(ApiKey[ability.value.request], (0, -1))
    is_offered = highest >= ability.value.version and lowest <= ability.value.last
    return None if is_offered else ability.value._replace(found=highest)


def connect(connection: Connection) -> AdminClient:
    """A client that a broker has answered, to be closed by the caller.

    Raises ConnectionFailed with the true reason: at once when it cannot be cured by trying again, else after
    CONNECT_SECONDS, or as many, or a raised request_timeout, for each server that does not answer. Raises InvalidInput for
    files that cannot be used.
    """
    patience = connection.request_timeout if connection.is_slow else CONNECT_SECONDS
    seconds = min(patience, connection.request_timeout) * len(connection.bootstrap_servers)
    options = _security_options(connection)
    managers: list[_Manager] = []

    def net_client(**given: t.Any) -> KafkaNetClient:
        net = NetworkSelector(**given)
        managers.append(_Manager(net, patience, **given))
        return KafkaNetClient(net=net, manager=managers[0])

    try:
        client = KafkaAdminClient(
            bootstrap_servers=list(connection.bootstrap_servers),
            client_id="streamshift-control",
            request_timeout_ms=int(connection.request_timeout * 1000),
            bootstrap_timeout_ms=int(seconds * 1000),
            max_in_flight_requests_per_connection=NO_LIMIT,
            receive_message_max_bytes=LARGEST_ANSWER,
            kafka_client=net_client,
            **options,
        )
    except KafkaFailure as exc:
        for manager in managers:  # a constructor that failed does not end its thread and sockets
            manager.closed = False
            manager.close()  # type: ignore[no-untyped-call]
            manager._net.stop(1000)
            manager._net.close()
        raise refusal(connection, [*(managers[0].reasons if managers else ()), exc]) from exc
    connected = AdminClient(client)
    BROKER_VERSIONS[connection.name] = connected.broker_version
    if act := _WAITING.pop(connection.name, None):
        act()
    return connected


def once_let_in(connection: Connection, act: t.Callable[[], None]) -> None:
    """Do this as soon as a broker has let in the next client of a connection, and its login is known to be right.

    It runs beside the operation that has asked for the client, which waits for it.
    """
    _WAITING[connection.name] = act


class Request(t.NamedTuple):
    """A request by Kafka's name of it, with the names of its fields, and of those of its answer: https://kafka.apache.org/protocol.

    fields: a row of an array is a dictionary; what is left out is as Kafka says. node: the broker that is asked, None for any.
    lowest, highest: which of its versions may be sent, None for all that the brokers offer, as far as they are known.
    """

    name: str
    fields: t.Mapping[str, t.Any]
    node: int | None = None
    lowest: int | None = None
    highest: int | None = None


def exchange(client: AdminClient, requests: t.Sequence[Request], partly: bool = False) -> list[t.Any]:
    """Send them all at once, as far as MOST_UNDER_WAY lets, and return the answers in the same order.

    partly: a request that its broker does not offer is not sent, and its answer is nothing but an error_code. Otherwise
    NotOffered is raised, and the answers to the others are lost.
    """
    manager = client.manager
    names = [each.name for each in requests if not each.fields.get("validate_only")]
    WRITTEN.extend(name for name in names if name.startswith(_CHANGING))
    messages = [(_message(client, each), each.node) for each in requests]

    async def answered(answer: t.Any) -> t.Any:
        try:
            return await answer
        except NotOffered as exc:
            if not partly:
                raise
            return types.SimpleNamespace(error_code=exc.errno)

    async def run() -> list[t.Any]:
        sent: dict[int | None, list[t.Any]] = collections.defaultdict(list)
        answers = []
        for message, node in messages:
            if len(sent[node]) >= MOST_UNDER_WAY:
                await answered(sent[node][-MOST_UNDER_WAY])
            answers.append(manager.send(message, node_id=node))
            sent[node].append(answers[-1])
        return [await answered(answer) for answer in answers]

    return t.cast("list[t.Any]", manager.run(run))


def _message(client: AdminClient, request: Request) -> t.Any:
    """The request as an object of the library, in the version that can() speaks of or a later one.

    An older broker would get an earlier version, which may lack a field, such as require_stable, and nobody would know. So this
    raises NotOffered for such a broker, and attempt() begins anew with what that broker offers.
    """
    name = f"{request.name}Request"
    kind = next(getattr(module, name) for module in (admin, consumer, metadata) if hasattr(module, name))
    _first, last = client.offered_versions.get(kind.API_KEY, (0, 0))
    offered = min(last, kind.max_version, last if request.highest is None else request.highest)
    lowest = max(offered, request.lowest or 0)
    return _builder(kind)(**request.fields, min_version=lowest, max_version=request.highest)


@functools.cache
def _builder(kind: t.Any) -> t.Callable[..., t.Any]:
    """What makes an object of a class of the library, with objects of its own classes for the rows of arrays."""
    rows = {name: _builder(field.data_class) for name, field in kind.fields.items() if field.is_struct_array()}

    def build(**fields: t.Any) -> t.Any:
        for name, build_row in rows.items():
            if fields.get(name) is not None:
                fields[name] = [build_row(**row) for row in fields[name]]
        return kind(**fields)

    return build if rows else t.cast("t.Callable[..., t.Any]", kind)


@dataclasses.dataclass(slots=True)
class BrokerQuestion(t.Generic[T]):
    """Requests, and what their answers come to, which may raise.

    Questions that do not need each other's answers are asked together, and wait for one round trip.
    """

    requests: t.Sequence[Request]
    read: t.Callable[[t.Sequence[t.Any]], T]
    answers: t.Sequence[t.Any] = ()

    def answer(self) -> T:
        return self.read(self.answers)


def ask_together(client: AdminClient, *questions: BrokerQuestion[t.Any]) -> None:
    """Ask all of them in the time of one round trip. A broker answers them in this order, as if they were asked one by one."""
    answers = iter(exchange(client, [request for question in questions for request in question.requests]))
    for question in questions:
        question.answers = list(itertools.islice(answers, len(question.requests)))


def answer_to(client: AdminClient, question: BrokerQuestion[T]) -> T:
    """The answer to a single one."""
    ask_together(client, question)
    return question.answer()


def subscribed_topics(member_metadata: bytes) -> list[str]:
    """What a member of a classic group of consumers is subscribed to. Raises ValueError where nobody can read that."""
    try:
        return list(ConsumerProtocolSubscription.decode(member_metadata).topics)
    except (struct.error, IndexError) as exc:
        raise ValueError(str(exc)) from exc
