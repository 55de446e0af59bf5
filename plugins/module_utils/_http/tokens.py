# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Access tokens for OAUTHBEARER, for both clients: given by the user, granted by a token endpoint, or signed for Amazon MSK."""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import math
import re
import threading
import time
import typing as t
import urllib.parse

from .._model.addresses import masked
from .._model.connection import TOKEN_OPTIONS, Connection
from .._model.errors import ConnectionFailed, LoginEnded, MigrationError
from .._model.wording import time_text
from . import msk
from .http_json import Endpoint, HttpAnswer, ask, ask_patiently

EARLY_SECONDS = 30.0  # a token is renewed that long before it expires
SECONDS = 10.0  # for an answer
PATIENCE = 10.0  # seconds, for an endpoint that is busy
LARGEST_ANSWER = 1 << 20  # bytes
_FORM = "application/x-www-form-urlencoded"
_UNTOLD_LIFETIME = 300.0  # seconds
_LONGEST_LIFETIME = 1 << 31

Login = tuple[str, str]


class TokenSource:
    """Tokens for a login. It keeps one until shortly before it expires, by a clock that nobody sets."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._logins = connection, _logins(connection)
        self._token, self._expires = "", -math.inf
        self._one_at_a_time = threading.Lock()  # librdkafka asks in threads of its own

    def token(self) -> tuple[str, float]:
        """A token, and for how many seconds it is good. Raises MigrationError if no new one can be had."""
        early = 0.0 if self._connection.oauth_token else EARLY_SECONDS  # there is no other one
        with self._one_at_a_time:
            if time.monotonic() > self._expires - early:
                self._token, seconds = _new_token(self._connection, self._logins)
                self._expires = time.monotonic() + seconds
            return self._token, self._expires - time.monotonic()

    def token_or_last(self) -> tuple[str, float]:
        """As token(), but the last token where no new one can be had, and good for a second although a broker may refuse it.

        librdkafka takes no expired token, and keeps no error of its callback: it waits for another token, or fails with a
        SystemError. A login that the broker refuses it tells at once; whoever tells a user asks token() for the reason.
        """
        token, seconds = self._token, 0.0
        with contextlib.suppress(MigrationError):
            token, seconds = self.token()
        return token, max(1.0, seconds)

    @property
    def extensions(self) -> dict[str, str]:
        """What is sent with a token (RFC 7628, section 3.1)."""
        return dict(self._connection.oauth_extensions)


_sources: dict[tuple[str, ...], TokenSource] = {}


def token_source(connection: Connection) -> TokenSource:
    """Where all clients of this process get tokens for this login: a run opens dozens, and endpoints limit requests.

    The first token is got here, so that its failure is told as what it is. Raises MigrationError.
    """
    login = [str(getattr(connection, option)) for option in TOKEN_OPTIONS]
    source = _sources.setdefault((str(connection), str(connection.client_config), *login), TokenSource(connection))
    source.token()
    return source


def _logins(connection: Connection) -> list[Login]:
    """Client id and secret as the Authorization header may have them: plain, and encoded as RFC 6749, section 2.3.1, wants it.

    Kafka's clients send them plain by default (KIP-1025), and what most endpoints give as a secret is the same in both forms.
    A colon would end a plain client id (RFC 7617).
    """
    plain = (connection.oauth_client_id or "", connection.oauth_client_secret or "")
    encoded = (urllib.parse.quote(plain[0], safe=""), urllib.parse.quote(plain[1], safe=""))
    return [encoded] if ":" in plain[0] else list(dict.fromkeys([plain, encoded]))


def _new_token(connection: Connection, logins: list[Login]) -> tuple[str, float]:
    if connection.oauth_token:
        return connection.oauth_token, _seconds_left(connection)
    return msk.signed(connection) if connection.aws_region else _granted(connection, logins)


def _seconds_left(connection: Connection) -> float:
    """How long the user's token is good, as far as it tells: a JSON Web Token does, in exp (RFC 7519, section 4.1.4)."""
    expires = _claims(connection.oauth_token or "").get("exp")
    if isinstance(expires, bool) or not isinstance(expires, int | float):
        return float(_LONGEST_LIFETIME)
    left = expires - time.time()
    if left <= 0:
        raise LoginEnded(
            f"the token in oauth_token has expired {time_text(-left)} ago",
            cluster=str(connection),
            remedy="fetch a new one and run again, or set oauth_token_url, whose tokens are renewed",
        )
    return min(left, float(_LONGEST_LIFETIME))


def _claims(token: str) -> dict[str, t.Any]:
    """What a JSON Web Token says of itself; nothing of another token."""
    with contextlib.suppress(ValueError, IndexError):
        said = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
        if isinstance(said, dict):
            return said
    return {}


def _granted(connection: Connection, logins: list[Login]) -> tuple[str, float]:
    """A token, and how many seconds it lives. logins: see _answer()."""
    try:
        granted = _answer(connection, logins).json()
        if isinstance(granted, dict):
            return _token(granted), _lifetime(granted)
        raise ValueError("its answer is no JSON object")
    except ValueError as exc:
        raise _failed(connection, str(exc)) from exc


def _answer(connection: Connection, logins: list[Login]) -> HttpAnswer:
    """What grants a token. logins: only the first that the endpoint takes is left.

    The client credentials grant of RFC 6749, section 4.4, with the secret in the Authorization header (2.3.1). Raises
    ConnectionFailed with what the first login has met, if none is taken: endpoints say various things of a form that they do
    not know.
    """
    form = {"grant_type": "client_credentials", "scope": connection.oauth_scope, "audience": connection.oauth_audience}
    url = connection.oauth_token_url or ""
    body = urllib.parse.urlencode({name: value for name, value in form.items() if value}).encode()
    failures = []
    for login in list(logins):
        endpoint = _endpoint(connection, login)
        try:
            answer = ask_patiently(functools.partial(ask, endpoint, "POST", url, body, _FORM), PATIENCE)
        except ConnectionFailed as exc:
            failures.append(_failed(connection, exc.why or exc.what))
            break
        if answer.is_success:
            logins[:] = [login]
            return answer
        code = _code(answer)
        why = f"{answer.status} {endpoint.hidden(answer.reason)}{f' ({code})' if code else ''}"
        failures.append(_failed(connection, why))
    raise failures[0]


def _code(answer: HttpAnswer) -> str:
    """The error code of RFC 6749, section 5.2, empty for none; nothing else that an endpoint says is shown."""
    try:
        said = answer.json()
    except ValueError:
        return ""
    code = said.get("error") if isinstance(said, dict) else None
    return code if isinstance(code, str) and re.fullmatch("[a-z_]{1,40}", code) else ""


def _token(granted: dict[str, t.Any]) -> str:
    """The access token: visible ASCII (RFC 6749, appendix A.12), for a control character would end it within SASL's message."""
    token = granted.get("access_token")
    if not isinstance(token, str) or not re.fullmatch("[!-~]+", token):
        raise ValueError("its answer has no access_token of visible characters")
    return token


def _lifetime(granted: dict[str, t.Any]) -> float:
    """Seconds; RFC 6749 lets an endpoint leave them out. Some write them as text, and some 0 or less where they do not know."""
    seconds = granted.get("expires_in")
    if isinstance(seconds, str) and re.fullmatch("-?[0-9]{1,10}", seconds):
        seconds = int(seconds)
    if seconds is None:
        return _UNTOLD_LIFETIME
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not -math.inf < seconds < _LONGEST_LIFETIME:
        raise ValueError("its answer has an expires_in that is no number of seconds")
    return float(seconds) if seconds > 0 else _UNTOLD_LIFETIME


def _endpoint(connection: Connection, login: Login) -> Endpoint:
    """The token endpoint, with the authorities that librdkafka's properties name; its "probe" means the system's."""
    config = connection.client_config
    text, path = config.get("https.ca.pem"), config.get("https.ca.location")
    return Endpoint(
        str(connection),
        login,
        None if text or path == "probe" else path,
        seconds=SECONDS,
        limit=LARGEST_ANSWER,
        ca_text=text,
        ca_option=f"client_config: https.ca.{'pem' if text else 'location'}",
    )


def _failed(connection: Connection, why: str) -> ConnectionFailed:
    return ConnectionFailed(
        "cannot get an access token",
        cluster=str(connection),
        why=f"{masked(connection.oauth_token_url or '')}: {why}",
        remedy="check oauth_token_url, oauth_client_id and oauth_client_secret",
    )
