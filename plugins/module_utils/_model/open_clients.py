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
        its = known or self._added(_Open(key, connect(key)))
        try:
            yield its.client, known is not None
        except BaseException:
            self.close(key)  # the others are probably as stale
            raise
        finally:
            self._left(its)

    def keep(self, key: _Key, connect: t.Callable[[_Key], _Client]) -> None:
        """Make a client for the next use, unless one waits for it, or none would be kept for it."""
        with self._lock:
            waits = any(its.key == key and not its.users for its in self._open)
        if _KEEPING.is_set() and not waits:
            self._left(self._added(_Open(key, connect(key))))

    def close(self, key: _Key | None = None) -> None:
        """Close those of this key, or of all keys: at once if nobody uses them, else as soon as nobody does."""
        with self._lock:
            gone = [its for its in self._open if key in (None, its.key)]
            self._open = [its for its in self._open if its not in gone]
            idle = [its for its in gone if not its.users]  # whoever uses another one closes it
        for its in idle:
            self._close(its.client)

    def _added(self, its: _Open[_Key, _Client]) -> _Open[_Key, _Client]:
        with self._lock:
            self._open.append(its)
        return its

    def _taken(self, key: _Key) -> _Open[_Key, _Client] | None:
        with self._lock:
            usable = [its for its in self._open if its.key == key and (self._shared or not its.users)]
            late = time.monotonic() - IDLE_SECONDS
            stale = [its for its in usable if not its.users and its.since < late]
            found = next((its for its in usable if its not in stale), None)
            if found is not None:
                found.users += 1
            self._open = [its for its in self._open if its not in stale]
        for its in stale:
            self._close(its.client)
        return found

    def _left(self, its: _Open[_Key, _Client]) -> None:
        with self._lock:
            its.users -= 1
            its.since = time.monotonic()
            is_over = not its.users and not (_KEEPING.is_set() and its in self._open)
            if is_over:
                self._open = [other for other in self._open if other is not its]
        if is_over:
            self._close(its.client)


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
