"""The proxies of the fault suite do to connections what they say."""

import contextlib
import socket
import threading
import time

import pytest

from sandbox_processes import free_ports
from tests.faults.proxy import Network


@pytest.fixture
def way():
    """A proxy before a server that says everything back, and a function that asks it through the proxy."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=say_back, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    network = Network()
    (port,) = free_ports(1)
    yield network.proxy(port, server.getsockname()[1]), lambda: socket.create_connection(("127.0.0.1", port), 5)
    network.close()
    server.close()


def say_back(peer):
    with contextlib.suppress(OSError), peer:
        while said := peer.recv(100):
            peer.sendall(said)


def ask(peer):
    peer.sendall(b"hello")
    return peer.recv(100)


def answered(connect):
    """A connection through which the server has answered."""
    peer = connect()
    assert ask(peer) == b"hello"
    return peer


def test_it_forwards(way):
    _proxy, connect = way
    answered(connect).close()


def test_connections_are_cut_and_new_ones_taken(way):
    proxy, connect = way
    with answered(connect) as peer:
        proxy.cut()
        with pytest.raises(ConnectionError):
            ask(peer)
    answered(connect).close()


def test_connections_are_refused_until_it_heals(way):
    proxy, connect = way
    proxy.refuse()
    with pytest.raises(ConnectionRefusedError):
        connect()
    proxy.heal()
    answered(connect).close()


def test_a_black_hole_swallows_everything_until_it_heals(way):
    proxy, connect = way
    with answered(connect) as peer:
        proxy.swallow()
        peer.settimeout(0.2)
        with pytest.raises(TimeoutError):
            ask(peer)
        proxy.heal()
        peer.settimeout(5)
        assert peer.recv(100) == b"hello"


def test_answers_are_late(way):
    proxy, connect = way
    proxy.slow(0.1)
    with connect() as peer:
        began = time.monotonic()
        assert ask(peer) == b"hello"
        assert time.monotonic() - began >= 0.2  # both ways
