# SPDX-License-Identifier: GPL-3.0-or-later

"""A long cable: passes bytes on unchanged, and late. It ends when its standard input does.

    cable.py FROM:TO [FROM:TO ...]

Ports of 127.0.0.1. A line "MILLISECONDS LOSS" on its standard input says how long everything takes from FROM to TO, and the
answers the same, and which part of the packets is lost. It prints a line when it holds, and for every line which round trips
there were since the last one: JSON of trips.Trip.

A lost packet is one that comes late, as TCP sends it again: after one more round trip, because the receiver acknowledges what
follows it; or, if nothing follows it, when the sender's patience of a round trip and LEAST_PATIENCE ends. What was sent after
it waits, because TCP delivers in order. Not imitated: a sender that sends less after a loss.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import random
import sys
import typing as t
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))  # as a program

from tests.benchmark.trips import Exchanges, Trip

CHUNK = 1 << 18
PACKET = 1448  # bytes of data in an Ethernet frame
LEAST_PATIENCE = 0.2  # seconds: TCP_RTO_MIN of Linux
IN_FLIGHT = 256  # chunks on their way, so that a fast sender has to wait at some time

Way = asyncio.Queue[tuple[float, bytes]]
Witness = t.Callable[[bytes, float], None]  # what passes, and when


@dataclasses.dataclass
class Cable:
    """seconds: one way. loss: the part of the packets that is lost. trips: what has gone there and come back."""

    seconds: float = 0.0
    loss: float = 0.0
    trips: list[Trip] = dataclasses.field(default_factory=list)
    chance: random.Random = dataclasses.field(default_factory=lambda: random.Random(1))

    def late(self, data: bytes) -> t.Iterator[tuple[float, bytes]]:
        """What of the data is delivered together, and how many seconds after it was sent."""
        begin, last = 0, max(0, len(data) - 1) // PACKET
        seconds = self.seconds
        for number in range(last + 1):
            if self.loss and self.chance.random() < self.loss:
                yield seconds, data[begin : number * PACKET]
                begin, seconds = number * PACKET, self.seconds * 3 + (LEAST_PATIENCE if number == last else 0)
        yield seconds, data[begin:]


async def main(*routes: str) -> None:
    cable = Cable()
    for route in routes:
        port, target = map(int, route.split(":"))
        await asyncio.start_server(_joining(target, cable), "127.0.0.1", port)
    print("holds", flush=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        milliseconds, loss = map(float, line.split())
        cable.seconds, cable.loss = milliseconds / 1000, loss
        print(json.dumps(cable.trips), flush=True)
        cable.trips.clear()


def _joining(port: int, cable: Cable) -> t.Callable[[asyncio.StreamReader, asyncio.StreamWriter], t.Awaitable[None]]:
    async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        begin = asyncio.get_running_loop().time()
        await asyncio.sleep(2 * cable.seconds)  # what the handshake takes, in which nothing has been sent yet
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.close()
            return
        its = Exchanges(cable.trips, begin)
        await asyncio.gather(
            _pass_on(reader, far_writer, cable, seen=its.asked),
            _pass_on(far_reader, writer, cable, delivered=its.answered),
        )

    return join


def _ignore(_data: bytes, _now: float) -> None:
    """What nobody wants to know."""


async def _pass_on(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    cable: Cable,
    seen: Witness = _ignore,
    delivered: Witness = _ignore,
) -> None:
    way: Way = asyncio.Queue(IN_FLIGHT)
    loop = asyncio.get_running_loop()
    deliver = asyncio.create_task(_deliver(way, writer, delivered))
    data = b"not the end"
    while data:
        data = b""
        with contextlib.suppress(OSError):
            data = await reader.read(CHUNK)
        now = loop.time()
        seen(data, now)
        for seconds, part in cable.late(data):
            if part or not data:
                await way.put((now + seconds, part))
    await deliver


async def _deliver(way: Way, writer: asyncio.StreamWriter, delivered: Witness) -> None:
    """Nothing is the end. What comes for a receiver that is gone is taken and forgotten."""
    loop = asyncio.get_running_loop()
    data = b"not the end"
    while data:
        due, data = await way.get()
        await asyncio.sleep(due - loop.time())
        delivered(data, loop.time())
        if data and not writer.is_closing():
            writer.write(data)
            with contextlib.suppress(OSError):
                await writer.drain()
    writer.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
