# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Clients that stay connected between the operations of a module: to connect costs more round trips than most requests."""

from __future__ import annotations

import contextlib
import threading
import time
import typing as t

IDLE_SECONDS = 60.0  # after more, a firewall may have forgotten the connection without telling anybody

_Key = t.TypeVar("_Key")
_Client = t.TypeVar("_Client")


class _Kept(t.NamedTuple, t.Generic[_Key, _Client]):
    key: _Key
    client: _Client
    since: float


class OpenClients(t.Generic[_Key, _Client]):
    """Clients of one kind. Those that nobody uses are kept for the next use while a block of keeping() runs, else closed."""

    def __init__(self, close: t.Callable[[_Client], None]) -> None:
        """close: must not raise."""
        self._close = close
        self._kept: list[_Kept[_Key, _Client]] = []
        self._lock = threading.Lock()
        _KINDS.append(self)

    @contextlib.contextmanager
    def lent(self, key: _Key, connect: t.Callable[[_Key], _Client]) -> t.Iterator[tuple[_Client, bool]]:
        """A client that nobody else uses meanwhile, and whether it was used before. One whose use fails is closed.

        key: says all that a client depends on. connect: makes one of a key.
        """
        kept = self._taken(key)
        client = kept.client if kept else connect(key)
        try:
            yield client, kept is not None
        except BaseException:
            self._close(client)
            self.close(key)  # the others are probably as stale
            raise
        if _KEEPING.is_set():
            with self._lock:
                self._kept.append(_Kept(key, client, time.monotonic()))
        else:
            self._close(client)

    def close(self, key: _Key | None = None) -> None:
        """Close those that nobody uses, of this key or of all keys."""
        with self._lock:
            gone = [kept for kept in self._kept if key in (None, kept.key)]
            self._kept = [kept for kept in self._kept if key not in (None, kept.key)]
        for kept in gone:
            self._close(kept.client)

    def _taken(self, key: _Key) -> _Kept[_Key, _Client] | None:
        while True:
            with self._lock:
                number = next((number for number, kept in enumerate(self._kept) if kept.key == key), None)
                kept = None if number is None else self._kept.pop(number)
            if kept is None or time.monotonic() - kept.since <= IDLE_SECONDS:
                return kept
            self._close(kept.client)


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
