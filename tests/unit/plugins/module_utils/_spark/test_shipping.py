"""Workers get this collection's code as one archive, and a connection that needs none of this machine's files."""

import pickle
import subprocess
import sys

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.shipping import code_archive, portable

PEM = "-----BEGIN {0}-----\nMIIB\n-----END {0}-----\n"
# As on a worker: neither Ansible nor the other client is there, and no environment names the checkout.
PROGRAM = """
import sys
sys.modules |= dict.fromkeys(("ansible", "kafka", "pandas"))
sys.path.insert(0, sys.argv[1])
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.scan_job import read_batches
assert "streamshift-kafka-" in read_batches.__code__.co_filename, read_batches.__code__.co_filename
"""


def test_the_code_can_be_imported_from_its_archive(tmp_path):
    archive = code_archive(tmp_path)
    subprocess.run([sys.executable, "-c", PROGRAM, str(archive)], check=True, cwd=tmp_path, env={})


def test_the_same_code_makes_the_same_archive(tmp_path):
    (tmp_path / "again").mkdir()
    one, two = code_archive(tmp_path), code_archive(tmp_path / "again")
    assert one.name == two.name and one.read_bytes() == two.read_bytes()


def test_code_that_came_in_an_archive_itself_is_shipped_on(tmp_path):
    """As where Ansible runs a module: its payload is an archive on sys.path."""
    archive = code_archive(tmp_path)
    (tmp_path / "again").mkdir()
    program = (
        PROGRAM
        + """
import pathlib
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.shipping import code_archive
print(code_archive(pathlib.Path(sys.argv[2])))
"""
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(archive), str(tmp_path / "again")],
        check=True, cwd=tmp_path, env={}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    subprocess.run([sys.executable, "-c", PROGRAM, done.stdout.strip()], check=True, cwd=tmp_path, env={})


def test_certificates_travel_as_content(tmp_path):
    files = {}
    for kind in ("ca", "cert", "key"):
        files[f"ssl_{kind}file"] = str(tmp_path / kind)
        (tmp_path / kind).write_text(PEM.format(kind.upper()))
    options = {"bootstrap_servers": "a:1", "security_protocol": "SSL", "ssl_key_password": "s3cret", **files}
    connection = connection_from(options)
    shipped = pickle.loads(pickle.dumps(portable(connection)))
    for kind in ("ca", "cert", "key"):
        (tmp_path / kind).unlink()
        assert getattr(shipped, f"ssl_{kind}") == PEM.format(kind.upper())
        assert getattr(shipped, f"ssl_{kind}file") is None
    assert shipped.ssl_key_password == "s3cret" and "s3cret" not in repr(shipped)
    with pytest.raises(InvalidInput, match=r"ssl_cafile .*/ca cannot be read: No such file or directory"):
        portable(connection)


def test_the_authorities_of_a_token_endpoint_travel_as_content(tmp_path):
    """No worker has the file: it would get no token, and librdkafka would not even make a client."""
    (tmp_path / "ca").write_text(PEM.format("CA"))
    options = {
        "bootstrap_servers": "a:1",
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "OAUTHBEARER",
        "oauth_token_url": "https://idp.example.com/token",
        "oauth_client_id": "migration",
        "oauth_client_secret": "s3cret",
        "client_config": {"https.ca.location": str(tmp_path / "ca"), "socket.keepalive.enable": True},
    }
    shipped = pickle.loads(pickle.dumps(portable(connection_from(options))))
    assert shipped.client_config == {"https.ca.pem": PEM.format("CA"), "socket.keepalive.enable": "true"}
    connected = connection_from(options | {"client_config": {"https.ca.location": "probe"}})
    assert portable(connected) == connected


def test_a_connection_without_files_stays_as_it_is():
    connection = connection_from({"bootstrap_servers": "a:1", "security_protocol": "SSL", "ssl_ca": PEM.format("CA")})
    assert portable(connection) == connection


def test_a_java_key_store_is_refused_before_it_is_sent(tmp_path):
    (tmp_path / "store").write_bytes(b"\xfe\xed\xfe\xed....")
    options = {"bootstrap_servers": "a:1", "security_protocol": "SSL", "ssl_cafile": str(tmp_path / "store")}
    with pytest.raises(InvalidInput, match="Java key store"):
        portable(connection_from(options))
