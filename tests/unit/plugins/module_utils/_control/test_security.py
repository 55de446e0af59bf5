"""Certificates as users have them, and what is said of those that cannot be used."""

import tempfile

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.security import tls_context
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput

SERVERS = {"bootstrap_servers": "b1:9092", "security_protocol": "SSL"}
AUTHORITY = """# Zertifizierungsstelle für Prüfungen
-----BEGIN CERTIFICATE-----
MIIBfjCCASWgAwIBAgIUKoLmj+o8Rjq6tAv5GnjErjKVrTYwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJQXV0aG9yaXR5MCAXDTI2MTEyOTE1MTcyMVoYDzIxMjYxMTA1
MTUxNzIxWjAUMRIwEAYDVQQDDAlBdXRob3JpdHkwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATYjrDknivvVtwmgspqgVsVUM6DkQciKlLrt+XNPcddnZR5EcfzOn9v
mJvVr+hI+M+uMzEKqIcX6O4lYsWdafxro1MwUTAdBgNVHQ4EFgQUoW1jl3WEsL+6
YnY1vRXhxc+NW6IwHwYDVR0jBBgwFoAUoW1jl3WEsL+6YnY1vRXhxc+NW6IwDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiBE5vjyAl+M0THW7rKExYQu
aMZvuobwFfBsOY+eLf/I1QIgBOE/yTw649Y7Xyn7Sf+IzBvpndxeydO4I7x5QIbw
HiI=
-----END CERTIFICATE-----
"""


@pytest.mark.parametrize("option", ["ssl_ca", "ssl_cafile"])
def test_authorities_have_comments_in_any_language(option, tmp_path):
    (tmp_path / "ca.pem").write_text(AUTHORITY, encoding="utf-8")
    given = AUTHORITY if option == "ssl_ca" else str(tmp_path / "ca.pem")
    assert len(tls_context(connection_from({**SERVERS, option: given})).get_ca_certs()) == 1


def test_authorities_may_be_a_directory_and_nothing_else_may(tmp_path):
    assert tls_context(connection_from({**SERVERS, "ssl_cafile": str(tmp_path)}))
    (tmp_path / "ca.pem").write_text(AUTHORITY, encoding="utf-8")
    files = {"ssl_certfile": str(tmp_path / "ca.pem"), "ssl_keyfile": str(tmp_path / "ca.pem")}
    for option in files:
        with pytest.raises(InvalidInput) as refused:
            tls_context(connection_from({**SERVERS, **files, option: str(tmp_path)}))
        assert f"{option} {tmp_path} cannot be read: Is a directory. Correct the path." in str(refused.value)


def test_a_certificate_without_a_place_for_temporary_files(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(InvalidInput) as refused:
        tls_context(connection_from({**SERVERS, "ssl_cert": AUTHORITY, "ssl_key": AUTHORITY}))
    assert "ssl_cert cannot be written to a temporary file: no such file or directory. Set TMPDIR" in str(refused.value)
