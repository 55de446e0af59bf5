# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Access tokens for OAUTHBEARER: from an OAuth 2.0 token endpoint, or signed for Amazon MSK."""

from __future__ import annotations

import contextlib
import math
import re
import tempfile
import time
import typing as t
import urllib.parse

from .._model.addresses import masked
from .._model.connection import Connection
from .._model.errors import ConnectionFailed, InvalidInput, MigrationError
from .._model.failure_kinds import FailureKind
from .http_json import Endpoint, HttpAnswer, ask, ask_patiently
from .kafka_library import AbstractTokenProvider

EARLY_SECONDS = 30.0  # a token is renewed that long before it expires
SECONDS = 10.0  # for an answer
PATIENCE = 10.0  # seconds, for an endpoint that is busy
LARGEST_ANSWER = 1 << 20  # bytes
_FORM = "application/x-www-form-urlencoded"
_UNTOLD_LIFETIME = 300  # seconds
_LONGEST_LIFETIME = 1 << 31


class _Provider(AbstractTokenProvider):
    """Keeps a token until shortly before it expires, by a clock that nobody sets. fetch: a token, and its seconds."""

    def __init__(self, fetch: t.Callable[[], tuple[str, float]]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._fetch = fetch
        self._token, self._expires = "", -math.inf

    def token(self) -> str:
        if time.monotonic() > self._expires - EARLY_SECONDS:
            self._token, seconds = self._fetch()
            self._expires = time.monotonic() + seconds
        return self._token


def token_provider(connection: Connection) -> AbstractTokenProvider:
    """What kafka-python asks for tokens. A first token is got here, so that its failure is told as what it is."""
    provider = _Provider(lambda: _signed(connection) if connection.aws_region else _granted(connection))
    provider.token()
    return provider


def _signed(connection: Connection) -> tuple[str, float]:
    """A token for MSK IAM, and how many seconds it lives; the signer tells when it expires, in milliseconds."""
    try:
        from aws_msk_iam_sasl_signer import MSKAuthTokenProvider  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as exc:
        raise InvalidInput(
            "aws_region needs the Python package aws-msk-iam-sasl-signer-python",
            cluster=connection.name,
            remedy="install it where this module runs",
            kind=FailureKind.REQUIREMENT_MISSING,
        ) from exc
    from botocore.exceptions import BotoCoreError  # type: ignore[import-not-found,import-untyped,unused-ignore]

    try:
        token, expires_ms = MSKAuthTokenProvider.generate_auth_token(connection.aws_region)
    except BotoCoreError as exc:
        raise _failed(connection, str(exc), "check the AWS credentials of this machine") from exc
    return token, expires_ms / 1000 - time.time()


def _granted(connection: Connection) -> tuple[str, float]:
    """A token, and how many seconds it lives.

    The client credentials grant of RFC 6749, section 4.4, with the secret in the Authorization header (2.3.1).
    """
    client, secret = (
        urllib.parse.quote(each or "", safe="") for each in (connection.oauth_client_id, connection.oauth_client_secret)
    )
    form = {"grant_type": "client_credentials"} | ({"scope": connection.oauth_scope} if connection.oauth_scope else {})
    remedy = "check oauth_token_url, oauth_client_id and oauth_client_secret"
    url = connection.oauth_token_url or ""
    with _authorities(connection) as ca_path:
        endpoint = Endpoint(str(connection), (client, secret), ca_path, seconds=SECONDS, limit=LARGEST_ANSWER)
        try:
            body = urllib.parse.urlencode(form).encode()
            answer = ask_patiently(lambda: ask(endpoint, "POST", url, body, _FORM), PATIENCE)
        except MigrationError as exc:
            raise _failed(connection, exc.why or exc.what, remedy) from exc
    try:
        if not answer.is_success:
            raise ValueError(f"{answer.status} {endpoint.hidden(answer.reason)}{_code(answer)}")
        granted = answer.json()
        if isinstance(granted, dict):
            return _token(granted), _lifetime(granted)
        raise ValueError("its answer is no JSON object")
    except ValueError as exc:
        raise _failed(connection, str(exc), remedy) from exc


def _code(answer: HttpAnswer) -> str:
    """The error code of RFC 6749, section 5.2; nothing else that an endpoint says is shown."""
    try:
        said = answer.json()
    except ValueError:
        return ""
    code = said.get("error") if isinstance(said, dict) else None
    return f" ({code})" if isinstance(code, str) and re.fullmatch("[a-z_]{1,40}", code) else ""


def _token(granted: dict[str, t.Any]) -> str:
    """The access token: visible ASCII (RFC 6749, appendix A.12), for a control character would end it within SASL's message."""
    token = granted.get("access_token")
    if not isinstance(token, str) or not re.fullmatch("[!-~]+", token):
        raise ValueError("its answer has no access_token of visible characters")
    return token


def _lifetime(granted: dict[str, t.Any]) -> float:
    """Seconds; RFC 6749 lets an endpoint leave them out, and some write them as text."""
    seconds = granted.get("expires_in", _UNTOLD_LIFETIME)
    if isinstance(seconds, str) and re.fullmatch("[0-9]{1,10}", seconds):
        seconds = int(seconds)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < _LONGEST_LIFETIME:
        raise ValueError("its answer has an expires_in that is no number of seconds")
    return float(seconds)


@contextlib.contextmanager
def _authorities(connection: Connection) -> t.Iterator[str | None]:
    """A file of the token endpoint's authorities, where librdkafka's properties for them are set; None for the system's."""
    text = connection.client_config.get("https.ca.pem")
    if text is None:
        yield connection.client_config.get("https.ca.location")
        return
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(text)
        file.flush()
        yield file.name


def _failed(connection: Connection, why: str, remedy: str) -> ConnectionFailed:
    where = f"{masked(connection.oauth_token_url)}: " if connection.oauth_token_url else ""
    return ConnectionFailed("cannot get an access token", cluster=str(connection), why=f"{where}{why}", remedy=remedy)
