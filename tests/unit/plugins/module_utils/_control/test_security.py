"""kafka-python gets user names as the mechanism sends them."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.security import security_options
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from


@pytest.mark.parametrize(
    ("mechanism", "name", "sent"),
    [
        ("SCRAM-SHA-512", "svc=migrator", "svc=3Dmigrator"),
        ("scram-sha-256", "a,b=2C", "a=2Cb=3D2C"),
        ("PLAIN", "a,b=c", "a,b=c"),
    ],
)
def test_scram_escapes_what_separates_its_words(mechanism, name, sent):
    options = {"bootstrap_servers": "b:1", "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": mechanism}
    found = security_options(connection_from({**options, "sasl_username": name, "sasl_password": "p,=2C"}))
    assert (found["sasl_plain_username"], found["sasl_plain_password"]) == (sent, "p,=2C")
