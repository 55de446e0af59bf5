"""The cable of the benchmarks is as long as it says, and loses packets without losing or turning round a byte."""

import socket
import subprocess
import sys
import threading
import time

import pytest

from sandbox_processes import free_ports
from tests.benchmark import cable
from tests.benchmark.cable import LEAST_PATIENCE, PACKET, Cable

DATA = b"".join(b"%09d " % number for number in range(60_000))


@pytest.fixture
def far():
    """A connection over a cable to a server that says everything back, and what makes the cable longer."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        peer, _address = server.accept()
        with peer:
            while said := peer.recv(1 << 16):
                peer.sendall(said)

    threading.Thread(target=serve, daemon=True).start()
    (port,) = free_ports(1)
    command = [sys.executable, cable.__file__, f"{port}:{server.getsockname()[1]}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout.readline()

        def lengthen(words):
            print(words, file=program.stdin, flush=True)
            assert program.stdout.readline()

        with socket.create_connection(("127.0.0.1", port), 10) as peer:
            yield peer, lengthen
        program.stdin.close()
    server.close()


def ask(peer, data):
    """What comes back of it, and after how many seconds."""
    begin = time.monotonic()
    threading.Thread(target=peer.sendall, args=(data,), daemon=True).start()
    found = b""
    while len(found) < len(data) and (said := peer.recv(1 << 16)):
        found += said
    return found, time.monotonic() - begin


def test_a_round_trip_takes_as_long_as_was_asked(far):
    peer, lengthen = far
    lengthen("0 0")
    ask(peer, b"hello")
    lengthen("100 0")
    said, seconds = ask(peer, b"hello")
    assert said == b"hello"
    assert seconds >= 0.2


def test_what_is_lost_comes_late_and_in_order(far):
    peer, lengthen = far
    lengthen("1 0.1")
    said, _seconds = ask(peer, DATA)
    assert said == DATA


def test_a_packet_that_is_lost_waits_for_a_round_trip_and_the_last_one_for_the_sender():
    data = b"." * (3 * PACKET)
    assert list(Cable(1.0, 0.0).late(data)) == [(1.0, data)]
    parts = list(Cable(1.0, 1.0).late(data))
    assert [seconds for seconds, _part in parts] == [1.0, 3.0, 3.0, 3.0 + LEAST_PATIENCE]
    assert [len(part) for _seconds, part in parts] == [0, PACKET, PACKET, PACKET]
