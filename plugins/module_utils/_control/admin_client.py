# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Clients of kafka-python: connect with the true reason, send many requests at once, retry with a deadline.

A client of kafka-python 3.0 throws away why a broker refused it. Hence a new client for every further try, and the few
private names below; tests on real brokers cover each. It never forgets a group's coordinator either, so nobody asks it for one.
"""

from __future__ import annotations

import collections
import io
import logging
import math
import time
import typing as t

from .._model.connection import Connection
from .._model.errors import BrokerError, ConnectionFailed, LoginEnded, MigrationError
from .._model.open_clients import OpenClients
from .._model.progress import paced, tell_wait
from .._model.written import WRITTEN
from .kafka_library import KafkaAdminClient, KafkaConnectionManager, KafkaNetClient, NetworkSelector, errors
from .reasons import hopeless, limits, refusal, translated
from .security import security_options

CONNECT_SECONDS = 5.0
DEADLINE_SECONDS = 60.0
SAY_EVERY = 5.0
PATIENCE = 3  # as many times request_timeout, a broker that cannot be reached is tried
NO_LIMIT = 1_000_000  # requests in flight: above the limit the library fails them instead of letting them wait
# Which version the brokers seem to have, by the name of the connection, of all that this process has connected to. No request
# tells a version: the library concludes it from the requests that the brokers know.
BROKER_VERSIONS: dict[str, str] = {}
_CHANGING = ("Alter", "Create", "Delete", "IncrementalAlter", "OffsetCommit", "OffsetDelete")  # the names of requests
LARGEST_ANSWER = 1 << 28  # bytes; less than what the first bytes of a TLS alert mean as a length (0x15030000)

# The library warns on stderr about every failed try, and its DEBUG lines hold passwords: let it be silent.
logging.getLogger("kafka").addHandler(logging.NullHandler())
logging.getLogger("kafka").propagate = False

T = t.TypeVar("T")
# To connect another one takes more round trips than most operations, and one takes the requests of several threads.
_CLIENTS: OpenClients[Connection, KafkaAdminClient] = OpenClients(lambda client: client.close(), shared=True)
# What waits for the next client of a connection, by its name.
_WAITING: dict[str, t.Callable[[], None]] = {}


class HeldBack(Exception):
    """A quota on changes of topics (KIP-599) has held back a part of what was asked; everything else has been answered.

    first: a topic that was held back. seconds: how long the broker wants to be left alone. progress: whether it has
    taken anything.
    """

    def __init__(self, first: str, seconds: float, progress: bool) -> None:
        super().__init__(first)
        self.first, self.seconds, self.progress = first, seconds, progress

    def told(self, connection: Connection) -> BrokerError:
        """What a user is told when time is up."""
        return BrokerError(
            "a quota of the cluster, controller_mutation_rate, takes no more changes of topics",
            cluster=str(connection),
            topic=self.first,
            why=f"the brokers ask to wait {self.seconds:.1f} s, and took nothing more after that",
            remedy="raise controller_mutation_rate of this user or client id (kafka-configs --entity-type users or clients) "
            "and run again: what was made stays, and only what is left is asked for",
        )


class _Manager(KafkaConnectionManager):
    """Remembers why connections failed, and ends the bootstrap when no retry can help: no lock-out by wrong passwords.

    The library draws each server that it tries at random, so that one that is down may take all the time. Here every server
    is tried before one is tried again.
    """

    def __init__(self, net: NetworkSelector, **options: t.Any) -> None:
        super().__init__(net, **options)  # type: ignore[no-untyped-call]
        self.reasons: list[BaseException] = []
        self._failures: collections.Counter[t.Any] = collections.Counter()
        self._patient_until = time.monotonic() + CONNECT_SECONDS
        self._servers: t.Callable[[], list[t.Any]] = self.cluster.bootstrap_brokers
        self.cluster.bootstrap_brokers = self._least_failed  # type: ignore[method-assign]
        refresh = self.cluster.refresh_metadata

        async def refresh_noting_failure(node_id: t.Any = None) -> t.Any:
            try:
                await refresh(node_id)  # type: ignore[no-untyped-call]
            except errors.KafkaError as exc:
                self._failed(exc)
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
            options["timeout_ms"] = min(options.get("timeout_ms") or math.inf, CONNECT_SECONDS * 1000)
        connection = super().get_connection(node_id, *args, **options)  # type: ignore[no-untyped-call]
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

    def _failed(self, reason: BaseException, node_id: t.Any = None) -> None:
        if server := self.cluster.broker_metadata(node_id):
            reason.add_note(server.host)
        self.reasons.append(reason)
        if not self.bootstrapped and hopeless(reason):
            self.closed = True

    async def _build_transport(self, node: t.Any, timeout_at: float | None = None) -> t.Any:
        """As the library's, but what came in together with the end of the connection is kept: it tells the reason."""
        transport = await super()._build_transport(node, timeout_at=timeout_at)  # type: ignore[no-untyped-call]
        receive = transport._sock_recv

        def receive_last_words() -> tuple[bytes, BaseException | None]:
            data, error = receive()
            return data, None if data else error

        transport._sock_recv = receive_last_words
        return transport


def connect(connection: Connection) -> KafkaAdminClient:
    """A client that a broker has answered, to be closed by the caller.

    Raises ConnectionFailed with the true reason: at once when it cannot be cured by trying again, else after
    CONNECT_SECONDS, or as many for each server that does not answer. Raises InvalidInput for files that cannot be used.
    """
    seconds = min(CONNECT_SECONDS, connection.request_timeout) * len(connection.bootstrap_servers)
    options = security_options(connection)
    managers: list[_Manager] = []

    def net_client(**given: t.Any) -> KafkaNetClient:
        net = NetworkSelector(**given)
        managers.append(_Manager(net, **given))
        # Not an option of the client. Ten seconds are built in, and a frozen broker would cost them on every try.
        managers[0].config["socket_connection_setup_timeout_ms"] = int(CONNECT_SECONDS * 1000)
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
    except errors.KafkaError as exc:
        for manager in managers:  # a constructor that failed does not end its thread and sockets
            manager.closed = False
            manager.close()  # type: ignore[no-untyped-call]
            manager._net.stop(1000)
            manager._net.close()
        raise refusal(connection, [*(managers[0].reasons if managers else ()), exc]) from exc
    BROKER_VERSIONS[connection.name] = ".".join(map(str, client._manager.broker_version))
    if act := _WAITING.pop(connection.name, None):
        act()
    return client


def once_let_in(connection: Connection, act: t.Callable[[], None]) -> None:
    """Do this as soon as a broker has let in the next client of a connection, and its login is known to be right.

    It runs beside the operation that has asked for the client, which waits for it.
    """
    _WAITING[connection.name] = act


def exchange(client: KafkaAdminClient, requests: t.Sequence[tuple[t.Any, int | None]]) -> list[t.Any]:
    """Send (request, broker id or None for any) all at once and return the answers in the same order."""
    manager = client._manager
    names = [type(each).__name__ for each, _node in requests if not getattr(each, "validate_only", False)]
    WRITTEN.extend(name for name in names if name.startswith(_CHANGING))

    async def run() -> list[t.Any]:
        sent = [manager.send(request, node_id=node) for request, node in requests]
        return [await answer for answer in sent]

    return t.cast("list[t.Any]", manager.run(run))


def attempt(
    connection: Connection, operation: t.Callable[[KafkaAdminClient], T], deadline: float = DEADLINE_SECONDS
) -> T:
    """Run an operation that may be repeated, with a new client for each further try, until no retriable error is left.

    deadline: seconds after which no further try begins. After HeldBack, the next try begins when the broker wants to be asked
    again, and the deadline begins anew whenever a part was taken. Brokers that cannot be reached, though another one told of
    them, are tried for PATIENCE times request_timeout at most. Raises ConnectionFailed, NotAuthorized or BrokerError; what the
    operation itself raises of MigrationError passes through.
    """
    begun, pause, reached = time.monotonic(), 0.1, False
    say = paced(tell_wait, SAY_EVERY)
    while True:
        try:
            with _CLIENTS.lent(connection, connect) as (client, used):
                reached = reached or not used  # a kept client tells nothing of now
                return operation(client)
        except errors.KafkaError as exc:
            may_pass, error = is_retriable(exc) or limits(exc), translated(connection, exc)
            if not may_pass or time.monotonic() > begun + _patience(connection, error, deadline):
                raise error from exc
            if limits(exc):
                say(_waits_for_room(connection, error))
        except HeldBack as exc:
            if exc.progress:
                begun = time.monotonic()
            elif time.monotonic() > begun + deadline:
                raise exc.told(connection) from None
            say(
                f"{connection}: a quota (controller_mutation_rate) takes no changes of topics for {exc.seconds:.1f} s; "
                f"topic {exc.first} is next"
            )
            time.sleep(exc.seconds)
        except LoginEnded:
            raise
        except ConnectionFailed as exc:
            # An unreachable cluster is told at once; one that went away in between may come back.
            if not (reached or limits(exc)) or time.monotonic() > begun + _patience(connection, exc, deadline):
                raise
            if limits(exc):
                say(_waits_for_room(connection, exc))
        time.sleep(pause)
        pause = min(pause * 2, 2.0)


def attempt_until(connection: Connection, holds: t.Callable[[KafkaAdminClient], bool], seconds: float) -> None:
    """Ask, again and again as attempt() does, until the brokers show it, or so many seconds are over."""
    end = time.monotonic() + seconds
    while not attempt(connection, holds) and time.monotonic() < end:
        time.sleep(0.1)


def _waits_for_room(connection: Connection, error: MigrationError) -> str:
    return f"{connection}: takes no more connections now ({error.why}), and is asked again until it does"


def _patience(connection: Connection, error: MigrationError, deadline: float) -> float:
    """For how many seconds an operation that fails so is tried."""
    if isinstance(error, ConnectionFailed) and not limits(error):
        return min(deadline, PATIENCE * connection.request_timeout)
    return deadline


def is_retriable(error: errors.KafkaError | type[errors.KafkaError]) -> bool:
    """Kafka's own word, and a partition that has no leader at the moment (the library asks for broker -1 then)."""
    kind = error if isinstance(error, type) else type(error)
    return bool(error.retriable) or issubclass(kind, errors.UnknownBrokerIdError)


def raise_if_retriable(error: type[errors.KafkaError]) -> None:
    """Answers report errors as values, retriable ones too: these let attempt() begin again."""
    if error is not errors.NoError and is_retriable(error):
        raise error()


def raise_if_held_back(codes: t.Mapping[str, int], answer: t.Any) -> None:
    """Raise HeldBack where an answer has this error for a topic; codes: by topic."""
    held = [name for name, code in codes.items() if code == errors.ThrottlingQuotaExceededError.errno]
    if held:
        raise HeldBack(held[0], answer.throttle_time_ms / 1000, len(held) < len(codes))
