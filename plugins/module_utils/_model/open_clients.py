# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Clients that stay connected between the operations of a module: to connect costs more round trips than most requests."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
import typing as t

IDLE_SECONDS = 60.0  # after more, a firewall may have forgotten the connection without telling anybody

_Key = t.TypeVar("_Key")
_Client = t.TypeVar("_Client")


@dataclasses.dataclass(eq=False, slots=True)
class _Open(t.Generic[_Key, _Client]):
    """since: when its last use ended."""

    key: _Key
    client: _Client
    users: int = 1
    since: float = 0.0


class OpenClients(t.Generic[_Key, _Client]):
    """Clients of one kind. Those that nobody uses are kept for the next use while a block of keeping() runs, else closed."""

    def __init__(self, close: t.Callable[[_Client], None], *, shared: bool = False) -> None:
        """close: must not raise. shared: one client serves any number of threads at the same time."""
        self._close = close
        self._shared = shared
        self._open: list[_Open[_Key, _Client]] = []
        self._lock = threading.Lock()
        _KINDS.append(self)

    @contextlib.contextmanager
    def lent(self, key: _Key, connect: t.Callable[[_Key], _Client]) -> t.Iterator[tuple[_Client, bool]]:
        """A client, and whether it was used before. One whose use fails is closed as soon as nobody uses it.

        key: says all that a client depends on. connect: makes one of a key.
        """
        known = self._taken(key)
        open_client = known or self._added(_Open(key, connect(key)))
        try:
            yield open_client.client, known is not None
        except BaseException:
            self.close(key)  # the others are probably as stale
            raise
        finally:
            self._left(open_client)

    def keep(self, key: _Key, connect: t.Callable[[_Key], _Client]) -> None:
        """Make a client for the next use, unless one waits for it, or none would be kept for it."""
        with self._lock:
            waits = any(open_client.key == key and not open_client.users for open_client in self._open)
        if _KEEPING.is_set() and not waits:
            self._left(self._added(_Open(key, connect(key))))

    def close(self, key: _Key | None = None) -> None:
        """Close those of this key, or of all keys: at once if nobody uses them, else as soon as nobody does."""
        with self._lock:
            gone = [open_client for open_client in self._open if key in (None, open_client.key)]
            self._open = [open_client for open_client in self._open if open_client not in gone]
            idle = [open_client for open_client in gone if not open_client.users]  # whoever uses another one closes it
        for open_client in idle:
            self._close(open_client.client)

    def _added(self, open_client: _Open[_Key, _Client]) -> _Open[_Key, _Client]:
        with self._lock:
            self._open.append(open_client)
        return open_client

    def _taken(self, key: _Key) -> _Open[_Key, _Client] | None:
        with self._lock:
            late = time.monotonic() - IDLE_SECONDS
            known = [open_client for open_client in self._open if open_client.key == key]
            stale = [open_client for open_client in known if not open_client.users and open_client.since < late]
            self._open = [open_client for open_client in self._open if open_client not in stale]
            usable = [open_client for open_client in known if self._shared or not open_client.users]
            chosen = next((open_client for open_client in usable if open_client not in stale), None)
            if chosen is not None:
                chosen.users += 1
        for open_client in stale:
            self._close(open_client.client)
        return chosen

    def _left(self, open_client: _Open[_Key, _Client]) -> None:
        with self._lock:
            open_client.users -= 1
            open_client.since = time.monotonic()
            is_over = not open_client.users and not (_KEEPING.is_set() and open_client in self._open)
            if is_over:
                self._open = [other for other in self._open if other is not open_client]
        if is_over:
            self._close(open_client.client)


_KINDS: list[OpenClients[t.Any, t.Any]] = []
_KEEPING = threading.Event()


@contextlib.contextmanager
def keeping() -> t.Iterator[None]:
    """Keep clients between operations until the block ends, and close them then."""
    _KEEPING.set()
    try:
        yield
    finally:
        _KEEPING.clear()
        for kind in _KINDS:
            kind.close()
