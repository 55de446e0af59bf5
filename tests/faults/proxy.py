"""TCP proxies between clients and brokers, whose connections can be cut, refused, delayed, or made black holes."""

import asyncio
import contextlib
import socket
import threading
import typing as t

_CHUNK = 1 << 16


class Network:
    """The thread in which all proxies of a program live. Its methods may be called from any other thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def proxy(self, port: int, target: int) -> "Proxy":
        """A proxy of 127.0.0.1:target that listens on 127.0.0.1:port."""
        proxy = Proxy(self, port, target)
        self.run(proxy.listen())
        return proxy

    def run(self, what: t.Coroutine[t.Any, t.Any, None]) -> None:
        """Do it in the thread, and return when it is done."""
        asyncio.run_coroutine_threadsafe(what, self._loop).result(10)

    def close(self) -> None:
        """End the thread, and with it every connection."""

        async def end() -> None:
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        self.run(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()


class Proxy:
    """The way to one broker. It forwards, until one of its methods says otherwise; heal() makes it forward again."""

    def __init__(self, network: Network, port: int, target: int) -> None:
        self._network, self._port, self._target = network, port, target
        self._server: asyncio.Server | None = None
        self._ends: set[asyncio.StreamWriter] = set()
        self._passes = asyncio.Event()
        self._passes.set()
        self._delay = 0.0

    def cut(self) -> None:
        """Reset every connection that is open; new ones are taken at once."""
        self._network.run(self._cut())

    def refuse(self) -> None:
        """Reset every connection, and refuse new ones."""

        async def change() -> None:
            await self._close()
            await self._cut()

        self._network.run(change())

    def swallow(self) -> None:
        """Forward nothing: connections stay open, new ones are taken, and no byte arrives until heal()."""

        async def change() -> None:
            self._passes.clear()

        self._network.run(change())

    def slow(self, seconds: float) -> None:
        """Keep whatever arrives for so long, in both directions."""

        async def change() -> None:
            self._delay = seconds

        self._network.run(change())

    def heal(self) -> None:
        """Forward again."""

        async def change() -> None:
            self._delay = 0.0
            self._passes.set()
            if self._server is None:
                await self.listen()

        self._network.run(change())

    async def listen(self) -> None:
        """Take connections."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port, reuse_address=True)

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _cut(self) -> None:
        for end in self._ends:
            _reset(end)
        self._ends.clear()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._ends.add(writer)
        try:
            await self._passes.wait()
            there, back = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:  # the broker is dead
            _reset(writer)
            self._ends.discard(writer)
            return
        self._ends.add(back)
        ways = [asyncio.create_task(self._forward(reader, back)), asyncio.create_task(self._forward(there, writer))]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        for end in (writer, back):
            self._ends.discard(end)
            _reset(end)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(_CHUNK):
                if self._delay:
                    await asyncio.sleep(self._delay)
                await self._passes.wait()
                writer.write(data)
                await writer.drain()


def _reset(end: asyncio.StreamWriter) -> None:
    """Close it so that the other side is told at once."""
    sock = end.get_extra_info("socket")
    with contextlib.suppress(OSError, AttributeError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    end.transport.abort()
