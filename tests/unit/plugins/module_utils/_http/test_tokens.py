"""Tokens come from where the user says, are asked for once, and are told apart from what is none."""

import base64
import socket
import sys
import time
import types
import urllib.parse
from unittest import mock

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._http import tokens
from ansible_collections.streamshift.kafka.plugins.module_utils._http.tokens import token_source
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import ConnectionFailed, InvalidInput
from tests.support.token_endpoint import TokenEndpoint, assumes, unsigned_token

ROLE, OTHER_ROLE = "arn:aws:iam::111122223333:role/move", "arn:aws:iam::444455556666:role/move"


def granting(answer: bytes, status: int = 200):
    return TokenEndpoint(lambda _form: (status, answer))


def connection(**more):
    login = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER"}
    return connection_from({"bootstrap_servers": "b1:9092", **login, **more})


def client_of(endpoint, **more):
    return connection(oauth_token_url=endpoint.url, oauth_client_id="mig:rator", oauth_client_secret="s3cret", **more)


def test_a_token_is_granted_for_the_client_and_kept():
    with granting(b'{"access_token": "t0ken", "expires_in": 3600}') as endpoint:
        source = token_source(client_of(endpoint, oauth_scope="kafka", oauth_audience="https://kafka.example.com"))
        assert source.token()[0] == source.token()[0] == "t0ken"
    basic = "Basic " + base64.b64encode(b"mig%3Arator:s3cret").decode()
    form = {"grant_type": "client_credentials", "scope": "kafka", "audience": "https://kafka.example.com"}
    assert endpoint.asked == [(basic, form)]


PLAIN, ENCODED = ("Basic " + base64.b64encode(login).decode() for login in (b"migrator:s3@cret", b"migrator:s3%40cret"))


def of_two_forms(endpoint):
    """A client whose secret has a character that URLs encode."""
    return connection(oauth_token_url=endpoint.url, oauth_client_id="migrator", oauth_client_secret="s3@cret")


@pytest.mark.parametrize(
    ("taken", "asked"), [(PLAIN, [PLAIN, PLAIN]), (ENCODED, [PLAIN, ENCODED, ENCODED])], ids=["plain", "encoded"]
)
@pytest.mark.parametrize("refusal", [(401, b""), (400, b'{"error": "invalid_request"}')])
def test_a_secret_goes_plain_as_from_kafkas_clients_and_encoded_to_an_endpoint_that_decodes_it(taken, asked, refusal):
    """A right secret with such characters was refused and called wrong, or began each process with a failed login."""

    def knows_one(_form):
        return (200, b'{"access_token": "t", "expires_in": 10}') if endpoint.asked[-1][0] == taken else refusal

    with TokenEndpoint(knows_one) as endpoint:
        assert token_source(of_two_forms(endpoint)).token()[0] == "t"  # which expires soon: two are granted
    assert [login for login, _form in endpoint.asked] == asked


@pytest.mark.parametrize("second", [400, None], ids=["refused", "no answer"])
def test_what_the_first_form_of_a_secret_has_met_is_told(second, monkeypatch):
    monkeypatch.setattr(tokens, "SECONDS", 0.5)

    def refuses(_form):
        if endpoint.asked[-1][0] == ENCODED and second is None:
            time.sleep(1)
        return (401, b"") if endpoint.asked[-1][0] == PLAIN else (400, b"")

    with TokenEndpoint(refuses) as endpoint, pytest.raises(ConnectionFailed, match="401 Unauthorized"):
        token_source(of_two_forms(endpoint))
    assert len(endpoint.asked) == 2


def test_a_secret_that_looks_the_same_in_both_forms_is_tried_once():
    with granting(b"", 401) as endpoint, pytest.raises(ConnectionFailed):
        token_source(client_of(endpoint))
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize("own", ["a+b/c", "a%2Bb%2Fc"])
def test_no_form_of_a_secret_is_shown(own):
    logins = (f"migrator:{form}".encode() for form in ("a+b/c", "a%2Bb%2Fc"))
    for told in ("a+b/c", "a%2Bb%2Fc", "a%2bb%2fc", *(base64.b64encode(login).decode() for login in logins)):
        assert tokens.Endpoint("idp", ("migrator", own)).hidden(f"bad {told} here") == "bad *** here"


def test_a_token_that_expires_soon_is_renewed():
    with granting(b'{"access_token": "t0ken", "expires_in": 10}') as endpoint:
        token_source(client_of(endpoint)).token()
    assert len(endpoint.asked) == 2


@pytest.mark.parametrize(
    "told", ["", ', "expires_in": null', *(f', "expires_in": {text}' for text in ("0", "-1", '"0"'))]
)
def test_a_token_of_which_no_lifetime_is_told_is_good_for_a_while(told):
    with granting(b'{"access_token": "t0ken"%s}' % told.encode()) as endpoint:
        assert 290 < token_source(client_of(endpoint)).token()[1] <= 300
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize("seconds", [0.25, 10])
def test_librdkafka_gets_no_token_that_has_expired_when_it_looks(seconds):
    with granting(b'{"access_token": "t0ken", "expires_in": %g}' % seconds) as endpoint:
        source = token_source(client_of(endpoint))
        assert source.token()[1] <= seconds
        token, left = source.token_or_last()
    assert token == "t0ken" and left == pytest.approx(max(1, seconds), abs=0.5)
    assert source.token_or_last() == ("t0ken", 1.0)  # the endpoint is gone


@pytest.mark.parametrize(
    ("status", "answer", "why"),
    [
        (401, b'{"error": "invalid_client"}', "Unauthorized"),
        (400, b'{"error": "invalid_scope", "error_description": "s3cret"}', "400 Bad Request (invalid_scope)"),
        (200, b"<html>", "its answer is not JSON"),
        (200, b"{}", "no access_token"),
    ],
)
def test_a_refusal_is_told_without_the_secret(status, answer, why):
    with granting(answer, status) as endpoint, pytest.raises(ConnectionFailed) as refusal:
        token_source(client_of(endpoint))
    assert why in refusal.value.why and "oauth_client_secret" in refusal.value.remedy
    assert "s3cret" not in str(refusal.value)


def test_a_token_of_the_users_is_used_as_long_as_it_is_good():
    token = unsigned_token("me", 20)
    value, seconds = token_source(connection(oauth_token=token)).token()
    assert value == token and 15 < seconds <= 20
    opaque, seconds = token_source(connection(oauth_token="opaque.but.good")).token()
    assert opaque == "opaque.but.good" and seconds > 86_400


@pytest.mark.parametrize(
    ("seconds", "told"), [(90, "90 s"), (119, "119 s"), (120, "2 minutes"), (11_000, "3 hours"), (10**6, "11 days")]
)
def test_a_token_that_has_expired_is_told_as_that_in_a_time_for_people(seconds, told):
    token = unsigned_token("me", -seconds)
    with pytest.raises(ConnectionFailed, match=f"the token in oauth_token has expired {told} ago") as refusal:
        token_source(connection(oauth_token=token))
    assert token not in str(refusal.value) and "fetch a new one" in refusal.value.remedy


def test_a_token_of_the_users_that_ends_during_the_run_is_told_as_that(monkeypatch):
    source = token_source(connection(oauth_token=unsigned_token("me", 20)))
    later = types.SimpleNamespace(time=lambda: time.time() + 30, monotonic=lambda: time.monotonic() + 30)
    monkeypatch.setattr(tokens, "time", later)
    with pytest.raises(ConnectionFailed, match="the token in oauth_token has expired 10 s ago"):
        source.token()


def test_clients_of_one_login_share_its_token_and_others_have_their_own():
    with granting(b'{"access_token": "t0ken", "expires_in": 3600}') as endpoint:
        for _client in range(3):
            token_source(client_of(endpoint))
        assert len(endpoint.asked) == 1
        token_source(client_of(endpoint, oauth_scope="another"))
        assert len(endpoint.asked) == 2


def test_extensions_go_with_the_token():
    cloud = {"logicalCluster": "lkc-1", "identityPoolId": "pool-2"}
    assert token_source(connection(oauth_token="t0ken", oauth_extensions=cloud)).extensions == cloud


@pytest.fixture
def sts(monkeypatch, tmp_path):
    """Amazon's STS, which knows two roles, and a machine with credentials of its own and a profile."""
    (tmp_path / "credentials").write_text("[other]\naws_access_key_id = OFPROFILE\naws_secret_access_key = x\n")
    for name, value in {
        "AWS_ACCESS_KEY_ID": "OFMACHINE",
        "AWS_SECRET_ACCESS_KEY": "x",
        "AWS_MAX_ATTEMPTS": "1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with TokenEndpoint(assumes({ROLE: "OFROLE", OTHER_ROLE: "OFOTHER"})) as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", endpoint.url.removesuffix("/token"))
        yield endpoint


def key_of(connection):
    """The access key with which a token is signed: a base64 encoded, signed URL."""
    token, seconds = token_source(connection).token()
    assert 890 < seconds <= 900
    url = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
    assert urllib.parse.urlparse(url).hostname.startswith("kafka.eu-west-1.")
    return urllib.parse.parse_qs(urllib.parse.urlparse(url).query)["X-Amz-Credential"][0].split("/")[0]


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({}, "OFMACHINE"),
        ({"aws_profile": "other"}, "OFPROFILE"),
        ({"aws_role_arn": ROLE}, "OFROLE"),
        ({"aws_role_arn": OTHER_ROLE, "aws_external_id": "e1", "aws_profile": "other"}, "OFOTHER"),
    ],
)
def test_iam_signs_with_the_machines_credentials_a_profiles_or_a_roles(sts, options, key):
    assert key_of(connection(aws_region="eu-west-1", **options)) == key
    assumed = [form for _login, form in sts.asked]
    assert [form["RoleArn"] for form in assumed] == ([options["aws_role_arn"]] if "aws_role_arn" in options else [])
    assert [form.get("ExternalId") for form in assumed] == ([options.get("aws_external_id")] if assumed else [])
    assert all(form["RoleSessionName"] == "streamshift" for form in assumed)


@pytest.mark.parametrize(
    ("options", "why", "remedy"),
    [
        ({"aws_role_arn": ROLE + "s"}, "not authorized to perform: sts:AssumeRole", "check aws_role_arn"),
        ({"aws_profile": "nobody"}, "nobody", "check aws_profile"),
    ],
)
def test_credentials_that_aws_does_not_give_are_told(sts, options, why, remedy):
    with pytest.raises(ConnectionFailed) as refusal:
        token_source(connection(aws_region="eu-west-1", **options))
    assert why in refusal.value.why and remedy in refusal.value.remedy


def test_a_machine_without_credentials_is_told(sts, monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(
        ConnectionFailed, match=f"no AWS credentials.*credentials of the machine {socket.gethostname()}"
    ):
        token_source(connection(aws_region="eu-west-1"))


def config(monkeypatch, path, text):
    """The machine has this configuration of AWS, and no credentials besides."""
    path.write_text(text)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(path))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("credential_process = /nowhere/program s3cret", "/nowhere/program: No such file or directory"),
        ('credential_process = "/nowhere/program --token s3cret"', "FileNotFoundError: No such file or directory"),
        ("credential_process = echo s3cret", "JSONDecodeError"),
        (f"role_arn = {ROLE}\nweb_identity_token_file = /nowhere", "/nowhere: No such file or directory"),
        (
            f"role_arn = {ROLE}\nsource_profile = other\nmfa_serial = arn:aws:iam::111122223333:mfa/me",
            "the role of the profile asks for the code of an MFA device, which nobody can type during a run",
        ),
    ],
)
def test_what_a_profile_asks_for_and_the_machine_does_not_have_is_told(sts, monkeypatch, tmp_path, lines, why):
    config(monkeypatch, tmp_path / "config", f"[profile mine]\n{lines}\n")
    with pytest.raises(ConnectionFailed) as refusal:
        token_source(connection(aws_region="eu-west-1", aws_profile="mine"))
    assert refusal.value.why == why
    assert "check aws_profile, the AWS credentials of the machine" in refusal.value.remedy


def test_an_error_without_a_file_is_told_by_its_name(sts, monkeypatch):
    signing = "aws_msk_iam_sasl_signer.MSKAuthTokenProvider.generate_auth_token_from_credentials_provider"
    monkeypatch.setattr(signing, mock.Mock(side_effect=OSError("s3cret")))
    with pytest.raises(ConnectionFailed) as refusal:
        token_source(connection(aws_region="eu-west-1"))
    assert refusal.value.why == "OSError"


def test_iam_without_its_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "aws_msk_iam_sasl_signer", None)
    with pytest.raises(InvalidInput, match="aws-msk-iam-sasl-signer-python.*on the workers of a Spark cluster"):
        token_source(connection(aws_region="eu-west-1"))
