# SPDX-License-Identifier: GPL-3.0-or-later

"""A long cable: passes bytes on unchanged, and late. It ends when its standard input does.

    distance.py MILLISECONDS FROM:TO [FROM:TO ...]

Ports of 127.0.0.1. What arrives at FROM leaves for TO after so many milliseconds, and the answers the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import typing as t

CHUNK = 1 << 18
IN_FLIGHT = 256  # chunks on their way, so that a fast sender has to wait at some time

Cable = asyncio.Queue[tuple[float, bytes]]


async def main(milliseconds: str, *routes: str) -> None:
    delay = float(milliseconds) / 1000
    loop = asyncio.get_running_loop()
    for route in routes:
        port, target = map(int, route.split(":"))
        await asyncio.start_server(_joining(target, delay), "127.0.0.1", port)
    await loop.run_in_executor(None, sys.stdin.read)


def _joining(port: int, delay: float) -> t.Callable[[asyncio.StreamReader, asyncio.StreamWriter], t.Awaitable[None]]:
    async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_pass_on(reader, far_writer, delay), _pass_on(far_reader, writer, delay))

    return join


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float) -> None:
    cable: Cable = asyncio.Queue(IN_FLIGHT)
    loop = asyncio.get_running_loop()
    deliver = asyncio.create_task(_deliver(cable, writer))
    data = b"not the end"
    while data:
        data = b""
        with contextlib.suppress(OSError):
            data = await reader.read(CHUNK)
        await cable.put((loop.time() + delay, data))
    await deliver


async def _deliver(cable: Cable, writer: asyncio.StreamWriter) -> None:
    """Nothing is the end. What comes for a receiver that is gone is taken and forgotten."""
    loop = asyncio.get_running_loop()
    data = b"not the end"
    while data:
        due, data = await cable.get()
        await asyncio.sleep(due - loop.time())
        if data and not writer.is_closing():
            writer.write(data)
            with contextlib.suppress(OSError):
                await writer.drain()
    writer.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
