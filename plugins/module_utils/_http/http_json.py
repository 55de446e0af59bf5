# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""HTTP as token endpoints, Kafka Connect and schema registries need it: one request, one JSON answer, bounded in time and size.

Requests carry secrets, so no redirect is ever followed. Whatever else the other side does, or does not do, becomes an error
of the collection here, and nowhere else.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import http.client
import json
import os
import re
import ssl
import time
import typing as t
import urllib.error
import urllib.parse
import urllib.request

from .._model.addresses import HIDDEN, check_url
from .._model.background import in_time
from .._model.errors import ConnectionFailed, InvalidInput
from .._model.visible_text import shortened

Json = t.Any
_PIECE = 1 << 16  # bytes
_SHOWN = 500  # characters of a refusal
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 2.0  # seconds
# RFC 9110, RFC 6585 and RFC 8470: timeout, conflict, too early, too many requests, internal error, and what gateways answer.
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504})


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Endpoint:
    """Who is asked, by what name errors call it, and how long and how large an answer may be.

    login: user name and password, sent at once (RFC 7617). ca_path: a file or directory of authorities in place of the
    system's. ca_text: the same as PEM text. ca_option: what errors call either. seconds: for the whole exchange, from the
    look-up of the name to the last byte. limit: bytes of an answer.
    """

    name: str
    login: tuple[str, str] | None = None
    ca_path: str | None = None
    validate_certs: bool = True
    seconds: float = 30.0
    limit: int = 1 << 26
    ca_text: str | None = None
    ca_option: str = "ca_path"

    @property
    def credentials(self) -> str | None:
        """The login as the Authorization header has it."""
        return self.login and _basic(self.login)

    def hidden(self, text: str) -> str:
        """What the endpoint says, in one line and without the secret, encoded for URLs or forms, decoded or as it was told."""
        secrets: set[str] = set()
        encoded = functools.partial(urllib.parse.quote, safe="")
        for form in (str, urllib.parse.unquote, encoded, urllib.parse.quote_plus):
            if self.login is not None:
                login = (form(self.login[0]), form(self.login[1]))
                secrets |= {login[1], _basic(login)}
        for secret in sorted(filter(None, secrets), key=len, reverse=True):  # one may be a part of another
            text = re.sub(re.escape(secret), HIDDEN, text, flags=re.IGNORECASE)  # %2B and %2b are the same
        return shortened("".join(letter if letter.isprintable() else " " for letter in text).strip(), _SHOWN)


def _basic(login: tuple[str, str]) -> str:
    return base64.b64encode(":".join(login).encode()).decode()


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class HttpService:
    """Where a service is, and who asks, as the user describes it. Neither str() nor repr() tells the password.

    NAME: what errors call it. Raises InvalidInput for a url that is none, or that holds user information.
    """

    NAME: t.ClassVar[str]

    url: str
    username: str | None = None
    password: str | None = None
    ca_path: str | None = None
    validate_certs: bool = True

    def __post_init__(self) -> None:
        check_url(self.url, "url", self.NAME, "username and password")

    def __str__(self) -> str:
        return f"{self.NAME} at {urllib.parse.urlsplit(self.url).netloc}"

    def __repr__(self) -> str:
        return f"<{self}>"

    def endpoint(self, seconds: float, limit: int) -> Endpoint:
        """The service as ask() wants it. seconds and limit: see Endpoint."""
        login = None if self.username is None else (self.username, self.password or "")
        return Endpoint(str(self), login, self.ca_path, self.validate_certs, seconds, limit)


class HttpAnswer(t.NamedTuple):
    """status and reason as HTTP has them; content: the whole body."""

    status: int
    reason: str
    content: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def may_pass(self) -> bool:
        """Does the server say that it could not do it now? As Kafka Connect while its workers rebalance (409, 500)."""
        return self.status in _PASSING

    def json(self) -> Json:
        """The body as JSON; None where there is none. Raises ValueError that says in a clause what there is instead."""
        if not self.content.strip():
            return None
        try:
            return json.loads(self.content)
        except RecursionError:
            raise ValueError("its answer is JSON that is nested too deeply") from None
        except ValueError:
            raise ValueError("its answer is not JSON") from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect stays the answer that it is."""

    def redirect_request(self, *_arguments: t.Any) -> None:
        return None


def ask(endpoint: Endpoint, method: str, url: str, body: bytes | None = None, content_type: str = "") -> HttpAnswer:
    """Send one request and read its answer, whatever its status.

    Raises ConnectionFailed, with the true reason, where no complete answer comes, and for a redirect; InvalidInput for
    authorities that cannot be used.
    """
    context = _tls_context(endpoint)
    headers = {"Accept": "application/json"}
    if body is not None:
        headers["Content-Type"] = content_type
    if endpoint.credentials is not None:
        headers["Authorization"] = f"Basic {endpoint.credentials}"
    try:
        # No timeout of a socket bounds the whole: a name is looked up, TLS is agreed upon and headers are read, each by as many
        # waits as the other side likes.
        answer = in_time(endpoint.seconds, lambda: _exchanged(endpoint, context, method, url, headers, body))
    except Exception as exc:  # "whatever": a hostile server finds what no list of exceptions names
        is_tls = isinstance(getattr(exc, "reason", None), ssl.SSLError)
        raise ConnectionFailed(
            "cannot connect",
            cluster=endpoint.name,
            why=_reason(endpoint, exc),
            remedy=f"check the address{f', the certificate there and {endpoint.ca_option}' if is_tls else ''}",
        ) from exc
    if 300 <= answer.status < 400:
        raise ConnectionFailed(
            "cannot connect",
            cluster=endpoint.name,
            why=f"{answer.status} redirects to another address, and no redirect is followed with a secret",
            remedy="give the address that answers itself",
        )
    return answer


def ask_patiently(
    ask_once: t.Callable[[], HttpAnswer],
    seconds: float,
    may_pass: t.Callable[[HttpAnswer], bool] = lambda answer: answer.may_pass,
) -> HttpAnswer:
    """What ask_once() answers at last: what may pass is asked again for so many seconds, ever more seldom.

    For requests that may be repeated. Raises as ask() does. Once there was an answer, a server that is away for a moment is
    asked again, too.
    """
    end, pause, answered = time.monotonic() + seconds, _FIRST_PAUSE, False
    while True:
        try:
            answer = ask_once()
            if not may_pass(answer) or time.monotonic() > end:
                return answer
            answered = True
        except ConnectionFailed:
            if not answered or time.monotonic() > end:
                raise
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)


def authorities(path: str | None, text: str | None) -> dict[str, str | None]:
    """The authorities in a file or directory, or in PEM text with comments in any language, as Python's TLS takes them."""
    kind = "capath" if path is not None and os.path.isdir(path) else "cafile"
    return {kind: path, "cadata": text and text.encode("ascii", "replace").decode()}


def _tls_context(endpoint: Endpoint) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, **authorities(endpoint.ca_path, endpoint.ca_text))
    except OSError as exc:
        raise InvalidInput(
            " ".join(filter(None, (endpoint.ca_option, endpoint.ca_path, "cannot be used"))),
            cluster=endpoint.name,
            why=_reason(endpoint, exc),
            remedy="give the authority's certificate as PEM",
        ) from exc
    if not endpoint.validate_certs:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _exchanged(
    endpoint: Endpoint, context: ssl.SSLContext, method: str, url: str, headers: dict[str, str], body: bytes | None
) -> HttpAnswer:
    end = time.monotonic() + endpoint.seconds
    opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context), _NoRedirect)
    request = urllib.request.Request(url, body, headers, method=method)
    response: t.Any
    try:
        response = opener.open(request, timeout=endpoint.seconds)
    except urllib.error.HTTPError as exc:
        response = exc
    with response:
        return HttpAnswer(response.status, str(response.reason), _content(endpoint, response, end))


def _content(endpoint: Endpoint, response: t.Any, end: float) -> bytes:
    content = bytearray()
    while piece := response.read1(_PIECE) if response.fp is not None else b"":
        content += piece
        if len(content) > endpoint.limit:
            raise _Unfit(f"its answer is larger than {endpoint.limit} bytes")
        if time.monotonic() > end:
            raise TimeoutError
    if getattr(response, "length", None):  # read1() says nothing of a body that is cut off
        raise http.client.IncompleteRead(bytes(content))
    return bytes(content)


class _Unfit(Exception):
    """Says in a clause why an answer is not read on."""


def _reason(endpoint: Endpoint, exc: BaseException) -> str:
    """What went wrong, as a clause; exceptions quote what the other side says, and urllib's hold the true one."""
    if isinstance(exc, urllib.error.URLError) and isinstance(exc.reason, BaseException):
        exc = exc.reason
    if isinstance(exc, TimeoutError):
        return f"no complete answer within {endpoint.seconds:g} s"
    if isinstance(exc, _Unfit):
        return str(exc)
    if isinstance(exc, http.client.IncompleteRead):
        return "its answer ends too early"
    if isinstance(exc, ssl.SSLError):
        return endpoint.hidden(str(getattr(exc, "verify_message", None) or exc.reason or exc)).replace("_", " ").lower()
    if isinstance(exc, OSError) and not isinstance(exc, http.client.HTTPException):
        return endpoint.hidden(str(exc.strerror or getattr(exc, "reason", None) or exc)).lower()
    return f"its answer is not HTTP ({type(exc).__name__})"
