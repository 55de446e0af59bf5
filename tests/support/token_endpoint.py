"""An OAuth token endpoint, and Amazon's STS, of the tests' own; and tokens that the sandbox's brokers take."""

import base64
import email
import http
import json
import socket
import time
import typing as t
import urllib.parse

from tests.support.bad_http import BadServer, answers

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


class TokenEndpoint(BadServer):
    """``with TokenEndpoint(answer) as endpoint``. answer: the status and the body for a form that was posted."""

    def __init__(self, answer: t.Callable[[dict[str, str]], tuple[int, bytes]]) -> None:
        def behave(_server: BadServer, connection: socket.socket) -> None:
            status, said = answer(self.asked[-1][1])
            answers(said, f"{status} {http.HTTPStatus(status).phrase}")(self, connection)

        super().__init__(behave)
        self.url = f"http://{self.address}/token"

    @property
    def asked(self) -> list[tuple[str | None, dict[str, str]]]:
        """What it was asked, as (Authorization, form)."""
        parts = (request.partition(b"\r\n\r\n") for request in self.received)
        return [(_authorization(head), dict(urllib.parse.parse_qsl(form.decode()))) for head, _blank, form in parts]


def _authorization(head: bytes) -> str | None:
    return email.message_from_bytes(head.partition(b"\r\n")[2])["Authorization"]


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
