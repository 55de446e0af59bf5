# SPDX-License-Identifier: GPL-3.0-or-later

"""Tokens come from the endpoint that the user named, and are asked for once."""

from __future__ import annotations

import base64
import http.server
import json
import threading
import urllib.parse

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.security import security_options
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import ConnectionFailed, InvalidInput


class Endpoint(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.asked.append((self.headers["Authorization"], dict(urllib.parse.parse_qsl(body))))
        status, answer = self.server.answer
        self.send_response(status)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_arguments):
        pass


@pytest.fixture
def endpoint():
    server = http.server.HTTPServer(("127.0.0.1", 0), Endpoint)
    server.asked = []
    server.answer = (200, json.dumps({"access_token": "t0ken", "expires_in": 3600}).encode())
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def connection(endpoint, **more):
    return connection_from(
        {
            "bootstrap_servers": "b1:9092",
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "OAUTHBEARER",
            "oauth_token_url": f"http://127.0.0.1:{endpoint.server_address[1]}/token",
            "oauth_client_id": "mig:rator",
            "oauth_client_secret": "s3cret",
            **more,
        }
    )


def test_a_token_is_granted_for_the_client_and_kept(endpoint):
    provider = security_options(connection(endpoint, oauth_scope="kafka"))["sasl_oauth_token_provider"]
    assert provider.token() == provider.token() == "t0ken"
    basic = "Basic " + base64.b64encode(b"mig%3Arator:s3cret").decode()
    assert endpoint.asked == [(basic, {"grant_type": "client_credentials", "scope": "kafka"})]


def test_a_token_that_expires_soon_is_renewed(endpoint):
    endpoint.answer = (200, b'{"access_token": "t0ken", "expires_in": 10}')
    provider = security_options(connection(endpoint))["sasl_oauth_token_provider"]
    provider.token()
    assert len(endpoint.asked) == 2


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((401, b'{"error": "invalid_client"}'), "Unauthorized"),
        ((400, b'{"error": "invalid_scope", "error_description": "s3cret"}'), "400 Bad Request (invalid_scope)"),
        ((200, b"<html>"), "its answer is not JSON"),
        ((200, b"{}"), "no access_token"),
    ],
)
def test_a_refusal_is_told_without_the_secret(endpoint, answer, why):
    endpoint.answer = answer
    with pytest.raises(ConnectionFailed) as refusal:
        security_options(connection(endpoint))
    assert why in refusal.value.why and "oauth_client_secret" in refusal.value.remedy
    assert "s3cret" not in str(refusal.value)


def test_iam_without_its_package_says_what_to_install(endpoint):
    none = dict.fromkeys(("oauth_token_url", "oauth_client_id", "oauth_client_secret"))
    with pytest.raises(InvalidInput, match="aws-msk-iam-sasl-signer-python"):
        security_options(connection(endpoint, **none, aws_region="eu-west-1"))
