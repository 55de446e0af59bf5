# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Access tokens for OAUTHBEARER: from an OAuth 2.0 token endpoint, or signed for Amazon MSK."""

from __future__ import annotations

import base64
import contextlib
import json
import tempfile
import time
import typing as t
import urllib.parse

from ansible.module_utils.urls import ConnectionError as HttpError
from ansible.module_utils.urls import open_url

from ansible_collections.streamshift.kafka.plugins.module_utils._control.library import AbstractTokenProvider
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import ConnectionFailed, InvalidInput

EARLY_SECONDS = 30.0  # a token is renewed that long before it expires
TIMEOUT_SECONDS = 10.0


class _Provider(AbstractTokenProvider):
    """Keeps a token until shortly before it expires."""

    def __init__(self, fetch: t.Callable[[], tuple[str, float]]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._fetch = fetch
        self._token, self._expires = "", 0.0

    def token(self) -> str:
        if time.time() > self._expires - EARLY_SECONDS:
            self._token, self._expires = self._fetch()
        return self._token


def token_provider(connection: Connection) -> AbstractTokenProvider:
    """What kafka-python asks for tokens. A first token is got here, so that its failure is told as what it is."""
    provider = _Provider(lambda: _signed(connection) if connection.aws_region else _granted(connection))
    provider.token()
    return provider


def _signed(connection: Connection) -> tuple[str, float]:
    """A token for MSK IAM and its expiry in seconds since the epoch; the signer tells milliseconds."""
    try:
        from aws_msk_iam_sasl_signer import MSKAuthTokenProvider  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as exc:
        raise InvalidInput(
            "aws_region needs the Python package aws-msk-iam-sasl-signer-python",
            cluster=connection.name,
            remedy="install it where this module runs",
        ) from exc
    from botocore.exceptions import BotoCoreError  # type: ignore[import-not-found,import-untyped,unused-ignore]

    try:
        token, expires_ms = MSKAuthTokenProvider.generate_auth_token(connection.aws_region)
    except BotoCoreError as exc:
        raise _failed(connection, str(exc), "check the AWS credentials of this machine") from exc
    return token, expires_ms / 1000


def _granted(connection: Connection) -> tuple[str, float]:
    """The client credentials grant of RFC 6749, section 4.4, with the secret in the Authorization header (2.3.1)."""
    quoted = [
        urllib.parse.quote(each or "", safe="") for each in (connection.oauth_client_id, connection.oauth_client_secret)
    ]
    form = {"grant_type": "client_credentials"} | ({"scope": connection.oauth_scope} if connection.oauth_scope else {})
    headers = {
        "Authorization": "Basic " + base64.b64encode(":".join(quoted).encode()).decode(),
        "Accept": "application/json",
    }
    try:
        with _authorities(connection) as ca_path:
            response = open_url(
                connection.oauth_token_url,
                data=urllib.parse.urlencode(form),
                headers=headers,
                method="POST",
                timeout=TIMEOUT_SECONDS,
                ca_path=ca_path,
                use_netrc=False,  # it would replace the header
            )
            answer = json.load(response)
        return str(answer["access_token"]), time.time() + float(answer.get("expires_in", 300))
    except (OSError, HttpError, ValueError, KeyError, TypeError) as exc:
        why = f"{connection.oauth_token_url}: {getattr(exc, 'reason', None) or type(exc).__name__}"
        raise _failed(connection, why, "check oauth_token_url, oauth_client_id and oauth_client_secret") from exc


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
    return ConnectionFailed("cannot get an access token", cluster=str(connection), why=why, remedy=remedy)
