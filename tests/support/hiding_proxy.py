"""A proxy before a broker, which hides requests and caps their versions, as services do that offer only part of Kafka.

The broker must advertise the proxy's address. A client that asks for what is hidden is cut off.
Format: https://kafka.apache.org/protocol#The_Messages_ApiVersions
"""

import contextlib
import dataclasses
import socket
import socketserver
import struct
import threading
import typing as t

from testbed.clients import REQUEST_KEYS

API_VERSIONS, UNSUPPORTED_VERSION = 18, 35


@dataclasses.dataclass
class Offer:
    """What the service leaves of Kafka.

    hidden: requests that it does not know. capped: the highest version of others, or the lowest that the broker knows.
    raised: the lowest version. address: from which the broker takes clients to come, so that ACLs can tell them from
    others. asked: what a client has sent although it is not offered.
    """

    hidden: t.Collection[str] = ()
    capped: t.Mapping[str, int] = dataclasses.field(default_factory=dict)
    raised: t.Mapping[str, int] = dataclasses.field(default_factory=dict)
    address: str = "127.0.0.1"
    asked: set[str] = dataclasses.field(default_factory=set)

    def takes(self, frame: bytes) -> bool:
        """Is this a request, and a version of it, that the service offers? One above the cap is not looked for."""
        key, version = struct.unpack(">hh", frame[:4])
        name = next((each for each, its_key in REQUEST_KEYS.items() if its_key == key), "")
        taken = name not in self.hidden and version >= self.raised.get(name, 0)
        if not taken:
            self.asked.add(f"{name} {version}")
        return taken

    def left_of(self, answer: bytes) -> bytes:
        """An answer to ApiVersions 0, without what is not offered."""
        hidden = {REQUEST_KEYS[name] for name in self.hidden}
        capped = {REQUEST_KEYS[name]: version for name, version in {**self.capped, "ApiVersions": 0}.items()}
        raised = {REQUEST_KEYS[name]: version for name, version in self.raised.items()}
        rows = struct.iter_unpack(">hhh", answer[10:])
        left = [
            (key, max(low, raised.get(key, low)), max(low, min(high, capped.get(key, high))))
            for key, low, high in rows
            if key not in hidden
        ]
        return answer[:6] + struct.pack(">i", len(left)) + b"".join(struct.pack(">hhh", *row) for row in left)


@contextlib.contextmanager
def before(port: int, offer: Offer, listen: int) -> t.Iterator[None]:
    """Let clients of the port `listen` reach the broker at `port`, as far as the offer goes at that moment."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            its_own = (offer.address, 0)
            with (
                socket.create_connection(("127.0.0.1", port), source_address=its_own) as broker,
                contextlib.suppress(OSError),
            ):
                self.versions: set[int] = set()  # correlation ids of what asks for versions
                back = threading.Thread(target=self._answers, args=(broker,), daemon=True)
                back.start()
                for frame in _frames(self.request):
                    if not offer.takes(frame):
                        break
                    if (own := self._refusal(frame)) is not None:
                        _send(self.request, own)
                    else:
                        _send(broker, frame)
                for end in (broker, self.request):
                    end.shutdown(socket.SHUT_RDWR)

        def _refusal(self, frame: bytes) -> bytes | None:
            """Of a question for versions that is not of version 0, so that the client asks by that."""
            key, version, correlation = struct.unpack(">hhi", frame[:8])
            if key != API_VERSIONS:
                return None
            if version == 0:
                self.versions.add(correlation)
                return None
            return struct.pack(">ihihhh", correlation, UNSUPPORTED_VERSION, 1, API_VERSIONS, 0, 0)

        def _answers(self, broker: socket.socket) -> None:
            with contextlib.suppress(OSError):
                for frame in _frames(broker):
                    known = struct.unpack(">i", frame[:4])[0] in self.versions
                    _send(self.request, offer.left_of(frame) if known else frame)
                    self.versions.discard(struct.unpack(">i", frame[:4])[0])

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address, daemon_threads = True, True

    with Server(("127.0.0.1", listen), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()


def _frames(end: socket.socket) -> t.Iterator[bytes]:
    with end.makefile("rb") as stream, contextlib.suppress(OSError):
        while len(size := stream.read(4)) == 4:
            yield stream.read(struct.unpack(">i", size)[0])


def _send(end: socket.socket, frame: bytes) -> None:
    end.sendall(struct.pack(">i", len(frame)) + frame)
