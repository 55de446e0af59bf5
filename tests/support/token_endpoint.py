# SPDX-License-Identifier: GPL-3.0-or-later

"""An OAuth token endpoint, and Amazon's STS, of the tests' own; and tokens that the sandbox's brokers take."""

from __future__ import annotations

import base64
import http.server
import json
import threading
import time
import typing as t
import urllib.parse

# What STS answers to AssumeRole, in the form of its API reference.
_ASSUMED = """<AssumeRoleResponse><AssumeRoleResult><Credentials>
<AccessKeyId>{key}</AccessKeyId><SecretAccessKey>of-the-role</SecretAccessKey><SessionToken>session</SessionToken>
<Expiration>2040-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"""
_REFUSED = """<ErrorResponse><Error><Type>Sender</Type>
<Code>AccessDenied</Code><Message>not authorized to perform: sts:AssumeRole</Message></Error></ErrorResponse>"""


def unsigned_token(user: str, seconds: float = 3600) -> str:
    """A JSON Web Token that nobody has signed. seconds: how long it is good; negative: since when it is not."""
    now = time.time()
    parts = ({"alg": "none"}, {"sub": user, "iat": min(now, now + seconds) - 60, "exp": now + seconds})
    encoded = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts)
    return ".".join([*encoded, ""])


class TokenEndpoint:
    """``with TokenEndpoint(answer) as endpoint``: what it is asked is in ``asked``, as (Authorization, form).

    answer: the status and the body for a form that was posted.
    """

    def __init__(self, answer: t.Callable[[dict[str, str]], tuple[int, bytes]]) -> None:
        self.answer = answer
        self.asked: list[tuple[str | None, dict[str, str]]] = []

    def __enter__(self) -> t.Self:
        endpoint = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                form = dict(urllib.parse.parse_qsl(body))
                endpoint.asked.append((self.headers["Authorization"], form))
                status, said = endpoint.answer(form)
                self.send_response(status)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_arguments: t.Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *_details: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/token"


def grants(user: str, seconds: float) -> t.Callable[[dict[str, str]], tuple[int, bytes]]:
    """An answer: a token for this user, good for so many seconds."""
    return lambda _form: (
        200,
        json.dumps({"access_token": unsigned_token(user, seconds), "expires_in": seconds}).encode(),
    )


def assumes(roles: t.Mapping[str, str]) -> t.Callable[[dict[str, str]], tuple[int, bytes]]:
    """STS's answer: credentials with the access key of the role in question, or a refusal. roles: {ARN: access key}."""

    def answer(form: dict[str, str]) -> tuple[int, bytes]:
        key = roles.get(form["RoleArn"])
        return (200, _ASSUMED.format(key=key).encode()) if key else (403, _REFUSED.encode())

    return answer
