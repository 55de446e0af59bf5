"""An HTTP server that misbehaves in every way that the tests know, on sockets, because a library would not."""

import contextlib
import socket
import threading
import typing as t

Behaviour = t.Callable[["BadServer", socket.socket], None]


class BadServer:
    """Gives every connection the same behaviour while the with block lasts; `received` is what all of them have sent."""

    def __init__(self, behaviour: Behaviour, elsewhere: str = "") -> None:
        self.received: list[bytes] = []
        self.elsewhere = elsewhere  # where redirects lead
        self._behaviour = behaviour
        self._ended = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._listen)]

    def __enter__(self) -> t.Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_raised: object) -> None:
        self._ended.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)

    def pause(self, seconds: float = 60.0) -> bool:
        """Wait; True when the server is to end."""
        return self._ended.wait(seconds)

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _address = self._listener.accept()
                thread = threading.Thread(target=self._serve, args=(connection,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            self.received.append(_request(connection))
            self._behaviour(self, connection)
            connection.shutdown(socket.SHUT_WR)


def _request(connection: socket.socket) -> bytes:
    """A request's head and body; who wants to speak TLS sends neither."""
    connection.settimeout(5)
    data = b""
    while b"\r\n\r\n" not in data and not data.startswith(b"\x16") and (more := connection.recv(65536)):
        data += more
    head, _blank, body = data.partition(b"\r\n\r\n")
    lengths = [int(line.split(b":")[1]) for line in head.splitlines() if line.lower().startswith(b"content-length:")]
    while len(body) < sum(lengths) and (more := connection.recv(65536)):
        data, body = data + more, body + more
    return data


def says(content: bytes) -> Behaviour:
    """Exactly these bytes, and the end."""
    return lambda _server, connection: connection.sendall(content)


def answers(body: bytes, status: str = "200 OK", headers: str = "") -> Behaviour:
    """A proper answer."""
    return says(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body)


def stalls(content: bytes = b"") -> Behaviour:
    """These bytes, and nothing more."""

    def behave(server: BadServer, connection: socket.socket) -> None:
        connection.sendall(content)
        server.pause()

    return behave


def drips(begin: bytes, drop: bytes) -> Behaviour:
    """A little at a time and without end: no read ever waits for long."""

    def behave(server: BadServer, connection: socket.socket) -> None:
        connection.sendall(begin)
        while not server.pause(0.02):
            connection.sendall(drop)

    return behave


def floods(begin: bytes) -> Behaviour:
    """As much as the other side takes."""

    def behave(server: BadServer, connection: socket.socket) -> None:
        connection.sendall(begin)
        while not server.pause(0):
            connection.sendall(b" " * 65536)

    return behave


def redirects(status: int, path: str = "/stolen") -> Behaviour:
    """To another host."""

    def behave(server: BadServer, connection: socket.socket) -> None:
        place = f"http://{server.elsewhere}{path}"
        connection.sendall(f"HTTP/1.1 {status} Moved\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n".encode())

    return behave


_OK = b"HTTP/1.1 200 OK\r\n"
DEEP = b'{"access_token": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"

BEHAVIOURS: dict[str, Behaviour] = {
    # The connection
    "ends at once": says(b""),
    "says what is no HTTP": says(b"\x00\xffgarbage\r\n\r\n"),
    "answers with a TLS alert": says(b"\x15\x03\x01\x00\x02\x02\x46"),
    "never answers": stalls(),
    "stops within the status line": stalls(b"HTTP/1.1 20"),
    # The head
    "has a status that is no number": says(b"HTTP/1.1 OK 200\r\n\r\n"),
    "has a negative status": says(b"HTTP/1.1 -1 x\r\n\r\n"),
    "has a line of 100 KB": says(_OK + b"X: " + b"x" * 100_000 + b"\r\n\r\n"),
    "has 200 headers": says(_OK + b"".join(b"X-%d: 1\r\n" % number for number in range(200)) + b"\r\n"),
    "stops within the headers": stalls(_OK + b"Content-Le"),
    "drips headers": drips(_OK + b"X: ", b"x"),
    "says 100 Continue without end": drips(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    # The body
    "ends within the body": says(_OK + b'Content-Length: 100\r\n\r\n{"version": "1"'),
    "has chunks of no size": says(_OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n"),
    "ends within a chunk": says(_OK + b"Transfer-Encoding: chunked\r\n\r\n50\r\n{}"),
    "stops within the body": stalls(_OK + b"Content-Length: 100\r\n\r\n{"),
    "drips the body": drips(_OK + b"Content-Length: 100000\r\n\r\n", b" "),
    "drips chunks": drips(_OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "never stops": floods(_OK + b"\r\n"),
    "claims gzip": answers(b"\x1f\x8b\x08garbage", headers="Content-Encoding: gzip\r\n"),
    # Statuses
    **{
        f"refuses with {status}": answers(b"<html>s3cret</html>", f"{status} Why")
        for status in (400, 401, 403, 404, 409, 429, 500, 503)
    },
    "refuses with JSON of another kind": answers(b"[5]", "500 Oh"),
    "refuses with deep JSON": answers(DEEP, "500 Oh"),
    "stalls in a refusal": stalls(b"HTTP/1.1 500 Oh\r\nContent-Length: 100\r\n\r\n{"),
    "drips a refusal": drips(b"HTTP/1.1 500 Oh\r\n\r\n", b" "),
    "floods a refusal": floods(b"HTTP/1.1 500 Oh\r\n\r\n"),
    "has nothing to say": says(b"HTTP/1.1 204 No Content\r\n\r\n"),
    # Redirects
    **{f"redirects with {status}": redirects(status) for status in (301, 302, 303, 307, 308)},
    "redirects nowhere": answers(b"", "302 Found"),
    "redirects to a file": answers(b"", "302 Found", "Location: file:///etc/passwd\r\n"),
    # Content
    "is empty": answers(b""),
    "is a web page": answers(b"<html>Welcome</html>"),
    "is half of JSON": answers(b'{"version": '),
    "is not UTF-8": answers(b'{"version": "\xff"}'),
    "is nested too deeply": answers(DEEP),
    "is a number of 10,000 digits": answers(b"1" * 10_000),
    **{f"is {text}": answers(text.encode()) for text in ("null", "[]", "5", '"x"', "true", "NaN", "[[]]")},
}
