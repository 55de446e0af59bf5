"""Whatever a server does: each call ends soon, with an error of the collection that holds no secret.

And no secret goes elsewhere.
"""

import base64
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import connect_rest
from ansible_collections.streamshift.kafka.plugins.module_utils._control.connect_rest import ConnectRest
from ansible_collections.streamshift.kafka.plugins.module_utils._http import tokens
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import (
    ConnectionFailed,
    InvalidInput,
    MigrationError,
)
from tests.support.bad_http import BEHAVIOURS, BadServer, answers

SECRET = "s3cret"
ENCODED = base64.b64encode(b"me:" + SECRET.encode()).decode()
SECONDS = 0.4  # that an answer may take, where none comes
SOON = 20.0  # seconds: the machine is busy, and these servers hold on for a minute


def get_token(address, **more):
    options = {
        "bootstrap_servers": "b1:9092",
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "OAUTHBEARER",
        "oauth_token_url": f"http://{address}/token",
        "oauth_client_id": "me",
        "oauth_client_secret": SECRET,
        **more,
    }
    return tokens.token_source(connection_from(options)).token()[0]


def connect_call(call, *arguments):
    return lambda address: call(ConnectRest(f"http://{address}", "me", SECRET), *arguments)


CALLS = {
    "token": get_token,
    "check": connect_call(connect_rest.check_worker),
    "state": connect_call(connect_rest.state, "mirror"),
    "wait_until_stopped": connect_call(connect_rest.wait_until_stopped, "mirror"),
    "read_config": connect_call(connect_rest.read_config, "mirror"),
    "read_offsets": connect_call(connect_rest.read_offsets, "mirror"),
    "write_offsets": connect_call(connect_rest.write_offsets, "mirror", [({"topic": "t"}, None)]),
}
# Answers that are wrong for one call.
WRONG = {
    "token": [
        b'{"access_token": null}', b'{"access_token": ""}', b'{"access_token": 5}', b'{"access_token": ["t"]}', b"{}",
        b'{"access_token": "a\\r\\nb"}', b'{"access_token": "a\\u0001b"}', b'{"access_token": "\\ud800"}',
        *(b'{"access_token": "t", "expires_in": ' + text + b"}" for text in (
            b"NaN", b"Infinity", b"true", b"[]", b'"soon"', b"1e999", b"1" * 400)),
    ],
    "check": [b"{}", b'{"version": "4.3.0"}'],
    "state": [b"{}", b'{"connector": null}', b'{"connector": 5}', b'{"connector": {}}', b'{"connector": {"state": null}}'],
    "wait_until_stopped": [b'{"connector": {"state": 5}}', b'{"connector": {"state": "FAILED"}}'],
    "read_offsets": [
        b"{}", b'{"offsets": null}', b'{"offsets": {}}', b'{"offsets": [5]}', b'{"offsets": [null]}',
        b'{"offsets": [{}]}', b'{"offsets": [{"partition": null, "offset": null}]}', b'{"offsets": [{"partition": {}}]}',
        b'{"offsets": [{"partition": {}, "offset": 5}]}',
    ],
    "write_offsets": [b"{}", b'{"message": null}', b'{"offsets": []}'],
}  # fmt: skip


@pytest.fixture
def impatient(monkeypatch):
    """For servers that never answer; one that does may be late on a busy machine."""
    for its in (tokens, connect_rest):
        monkeypatch.setattr(its, "SECONDS", SECONDS)
        monkeypatch.setattr(its, "PATIENCE", 0.0)


def fault(call, behaviour):
    """What is wrong with how a call takes a behaviour; None for nothing."""
    with BadServer(answers(b'{"access_token": "stolen"}')) as thief, BadServer(behaviour, thief.address) as server:
        began = time.monotonic()
        try:
            return f"took it: {CALLS[call](server.address)!r}"
        except MigrationError as exc:
            said = f"{exc} {exc!r} {exc.__cause__!r}"
        except Exception as exc:  # noqa: BLE001 - any is a fault
            return repr(exc)
        if time.monotonic() - began > SOON:
            return f"took {time.monotonic() - began:.1f} s"
        # By path: with many servers at once, one may have got the port of another that has ended.
        if any(b" /stolen" in request for request in thief.received):
            return f"went elsewhere: {thief.received}"
        if SECRET in said or ENCODED in said:
            return f"tells the secret: {said}"
    return None


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("call", ["token", "state", "write_offsets"])  # the others ask in the way of one of these
def test_whatever_a_server_does_is_an_error_with_its_reason(call):
    with ThreadPoolExecutor(16) as pool:
        found = pool.map(lambda behaviour: fault(call, behaviour), BEHAVIOURS.values())
        faults = {name: each for name, each in zip(BEHAVIOURS, found, strict=True) if each}
    assert faults == {}
    assert len(BEHAVIOURS) >= 32


@pytest.mark.parametrize(("call", "content"), [(call, each) for call, contents in WRONG.items() for each in contents])
def test_an_answer_of_another_shape_is_an_error_with_its_reason(call, content):
    assert fault(call, answers(content)) is None


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("ends at once", "is not HTTP"),
        ("never answers", "no complete answer within 0.4 s"),
        ("drips the body", "no complete answer within 0.4 s"),
        ("ends within the body", "ends too early"),
        ("redirects with 302", "redirects to another address, and no redirect is followed"),
        ("is a web page", "is not JSON"),
        ("is nested too deeply", "nested too deeply"),
    ],
)
def test_the_reason_is_the_true_one(behaviour, reason, request):
    if "no complete answer" in reason:
        request.getfixturevalue("impatient")
    for call in ("token", "state"):
        with BadServer(BEHAVIOURS[behaviour], "127.0.0.1:1") as server, pytest.raises(MigrationError) as raised:
            CALLS[call](server.address)
        assert reason in str(raised.value)


def test_what_does_not_speak_tls_may_be_a_wrong_address_or_a_wrong_certificate():
    with BadServer(BEHAVIOURS["is a web page"]) as server, pytest.raises(ConnectionFailed, match="and ca_path"):
        connect_rest.check_worker(ConnectRest(f"https://{server.address}"))


def test_an_answer_may_be_too_large(monkeypatch):
    monkeypatch.setattr(connect_rest, "LARGEST_ANSWER", 1000)
    with BadServer(answers(b" " * 2000)) as server, pytest.raises(MigrationError, match="larger than 1000 bytes"):
        CALLS["state"](server.address)


def test_nothing_listens_there():
    for call in CALLS.values():
        with pytest.raises(MigrationError, match="refused"):
            call("127.0.0.1:1")


@pytest.mark.parametrize("scheme", ["file", "ftp", "gopher", "data"])
def test_only_http_is_asked(scheme):
    with pytest.raises(MigrationError, match="is not an HTTP URL"):
        ConnectRest(f"{scheme}://127.0.0.1/etc/passwd")


def test_authorities_that_cannot_be_used_are_no_wrong_address(tmp_path):
    wrong, address = str(tmp_path / "none.pem"), "127.0.0.1:1"
    with pytest.raises(InvalidInput, match=f"ca_path {wrong} cannot be used: no"):
        connect_rest.check_worker(ConnectRest(f"https://{address}", ca_path=wrong))
    for option, value, said in (("location", wrong, f"https.ca.location {wrong}"), ("pem", "none", "https.ca.pem")):
        with pytest.raises(InvalidInput, match=f"client_config: {said} cannot be used: no"):
            get_token(address, client_config={f"https.ca.{option}": value})
    for usable in (str(tmp_path), "probe"):  # a directory, and the system's
        with pytest.raises(ConnectionFailed, match="refused"):
            get_token(address, client_config={"https.ca.location": usable})
