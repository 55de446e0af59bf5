"""Applications that go on beside what is shown or tested: anything in a thread, and a consumer that remembers what it got."""

from __future__ import annotations

import contextlib
import threading
import typing as t

from testbed.clients import Servers, open_consumer


class Background:
    """Work that goes on until the block, or end(), ends it; what it raises is raised there.

    work: is given an event, and returns soon after it is set.
    """

    def __init__(self, work: t.Callable[[threading.Event], None]) -> None:
        self._work = work
        self._over = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> t.Self:
        return self.start()

    def __exit__(self, *_unused: object) -> None:
        self.end()

    def start(self) -> t.Self:
        """Begin, without a block."""
        self._thread.start()
        return self

    def end(self) -> None:
        """Wait until it has ended."""
        self._over.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            self._work(self._over)
        except Exception as exc:  # noqa: BLE001  # end() raises it
            self._failure = exc


class Got(t.NamedTuple):
    """One record that a consumer got. timestamp: milliseconds."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    value: bytes


def consumer(
    cluster: Servers, group: str, topics: t.Sequence[str], got: list[Got], batch: int = 500, pause: float = 0.0
) -> Background:
    """An application of the group: it adds what it gets to `got`, and commits that, until it is told to end.

    batch: how many records at most it takes at a time; pause: seconds between them. Where the group has committed
    nothing, it starts at the beginning, which shows at the destination.
    """

    def work(over: threading.Event) -> None:
        with contextlib.closing(open_consumer(cluster, group, auto_offset_reset="earliest")) as client:
            client.subscribe(list(topics))
            while not over.wait(pause):
                messages = [message for message in client.consume(batch, 0.2) if not message.error()]
                got.extend(
                    Got(
                        message.topic() or "",
                        message.partition() or 0,
                        message.offset() or 0,
                        message.timestamp()[1],
                        bytes(message.value() or b""),
                    )
                    for message in messages
                )
                if messages:
                    client.commit(asynchronous=False)

    return Background(work)
