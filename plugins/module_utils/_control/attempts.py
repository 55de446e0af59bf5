# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Tries operations on a cluster again until no error is left that may pass, each time with a new client."""

from __future__ import annotations

import time
import typing as t

from .._model.connection import Connection
from .._model.errors import ConnectionFailed, LoginEnded, MigrationError
from .._model.open_clients import OpenClients
from .._model.progress import paced, tell_wait
from .admin_client import AdminClient, connect
from .reasons import HeldBack, KafkaFailure, NotOffered, limits, may_pass, translated

DEADLINE_SECONDS = 60.0
SAY_EVERY = 5.0
PATIENCE = 3  # as many times request_timeout, a broker that cannot be reached is tried

T = t.TypeVar("T")
# To connect another one takes more round trips than most operations, and one takes the requests of several threads.
_CLIENTS: OpenClients[Connection, AdminClient] = OpenClients(lambda client: client.close(), shared=True)


def attempt(connection: Connection, operation: t.Callable[[AdminClient], T], deadline: float = DEADLINE_SECONDS) -> T:
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
                return _as_offered(client, operation)
        except KafkaFailure as exc:
            error = translated(connection, exc)
            if not (may_pass(exc) or limits(exc)) or time.monotonic() > begun + _patience(connection, error, deadline):
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


def _as_offered(client: AdminClient, operation: t.Callable[[AdminClient], T]) -> T:
    """Let it begin anew where a broker turns out to be older than the first one, as while brokers are upgraded."""
    known = None
    while True:
        try:
            return operation(client)
        except NotOffered:
            before, known = known, client.learn_versions()
            if known is before:
                raise


def attempt_until(connection: Connection, holds: t.Callable[[AdminClient], bool], seconds: float) -> bool:
    """Ask, again and again as attempt() does, until the brokers show it (True), or so many seconds are over."""
    end = time.monotonic() + seconds
    while not (is_shown := attempt(connection, holds)) and time.monotonic() < end:
        time.sleep(0.1)
    return is_shown


def _waits_for_room(connection: Connection, error: MigrationError) -> str:
    return f"{connection}: takes no more connections now ({error.why}), and is asked again until it does"


def _patience(connection: Connection, error: MigrationError, deadline: float) -> float:
    """For how many seconds an operation that fails so is tried."""
    if isinstance(error, ConnectionFailed) and not limits(error):
        return min(deadline, PATIENCE * connection.request_timeout)
    return deadline
