"""What cannot be meant is refused before anything is opened, and no secret is told."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from, refuse_store
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput

SERVERS = {"bootstrap_servers": ["b1:9092", "b2:9092"]}
LOGIN = {
    **SERVERS,
    "security_protocol": "SASL_SSL",
    "sasl_mechanism": "SCRAM-SHA-512",
    "sasl_username": "migrator",
    "sasl_password": "hunter2",
}
TLS = {**SERVERS, "security_protocol": "SSL"}
TOKEN = {**SERVERS, "security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER", "oauth_token": "t0ken"}
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\n"


@pytest.mark.parametrize("servers", ["b1:9092,[::1]:9092", "b1:9092, [::1]:9092", ["b1:9092", "[::1]:9092"]])
def test_servers_are_a_list_or_a_comma_separated_text(servers):
    connection = connection_from({"bootstrap_servers": servers}, "source cluster")
    assert connection.bootstrap_servers == ("b1:9092", "[::1]:9092")
    assert str(connection) == "source cluster b1:9092,[::1]:9092"


def test_a_cluster_is_called_as_its_user_calls_it():
    connection = connection_from({**SERVERS, "name": "onprem"}, "source cluster")
    assert str(connection) == "source cluster onprem (b1:9092,b2:9092)"


def test_options_that_were_not_set_are_none_for_ansible_and_do_no_harm():
    unset = dict.fromkeys(("sasl_mechanism", "sasl_password", "ssl_cafile", "ssl_check_hostname", "client_config"))
    connection = connection_from({**SERVERS, **unset, "security_protocol": None, "request_timeout": None})
    assert connection == connection_from(SERVERS)
    assert connection.ssl_check_hostname is True


def test_names_of_kafka_python_are_aliases():
    aliases = {"sasl_plain_username": "migrator", "sasl_plain_password": "hunter2"}
    options = {name: value for name, value in LOGIN.items() if name not in ("sasl_username", "sasl_password")}
    assert connection_from({**options, **aliases}) == connection_from(LOGIN)


def test_no_secret_is_told():
    secrets = {
        "sasl_password": "hunter2",
        "ssl_key": KEY + "s3cret",
        "ssl_cert": CERTIFICATE,
        "ssl_key_password": "pass",
    }
    connection = connection_from({**LOGIN, **secrets})
    told = f"{connection} {connection!r} {[connection]} {vars(InvalidInput(str(connection)))}"
    assert not [secret for secret in secrets.values() if secret in told]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"bootstrap_servers": []}, "bootstrap_servers is empty"),
        ({"bootstrap_servers": "  "}, "bootstrap_servers is empty"),
        ({"bootstrap_servers": "b1"}, "'b1' is not of the form host:port"),
        ({"bootstrap_servers": "b1:0"}, "'b1:0' has a port that no broker has. Give one from 1 to 65535"),
        ({"bootstrap_servers": "b1:990920"}, "'b1:990920' has a port that no broker has. Give one from 1 to 65535"),
        ({"bootstrap_servers": "b1:65536"}, "'b1:65536' has a port that no broker has"),
        ({"bootstrap_servers": "b1:9092 b2:9092"}, "'b1:9092***' is not"),
        ({"bootstrap_servers": "::1:9092"}, "'::1:9092' is not"),
        ({"bootstrap_servers": "b1:9092,"}, "'' is not"),
        ({"bootstrap_servers": "SSL://b1:9092"}, "has a protocol in front"),
        ({**SERVERS, "security_protocol": "TLS"}, "security_protocol has an unknown value"),
        ({**SERVERS, "sasl_mechanism": "PLAIN"}, "sasl_mechanism is given, but PLAINTEXT does not log in"),
        ({**SERVERS, "sasl_password": "x"}, "sasl_password is given, but PLAINTEXT does not log in"),
        ({**TLS, "sasl_username": "x"}, "sasl_username is given, but SSL does not log in"),
        ({**LOGIN, "sasl_mechanism": None}, "SASL_SSL needs sasl_mechanism"),
        ({**LOGIN, "sasl_mechanism": "scram_sha_512"}, "Did you mean SCRAM-SHA-512? Use one of"),
        ({**LOGIN, "sasl_mechanism": "scram"}, "Did you mean SCRAM-SHA-256 or SCRAM-SHA-512? Use one of PLAIN"),
        ({**LOGIN, "sasl_mechanism": "MD5"}, "sasl_mechanism has an unknown value. Use one of PLAIN"),
        ({**LOGIN, "sasl_mechanism": "GSSAPI"}, "is built without it. Let the listener offer SCRAM-SHA-512"),
        ({**LOGIN, "sasl_mechanism": "AWS_MSK_IAM"}, "set sasl_mechanism to OAUTHBEARER and aws_region"),
        ({**LOGIN, "sasl_username": None}, "SCRAM-SHA-512 needs sasl_username"),
        ({**LOGIN, "sasl_password": ""}, "SCRAM-SHA-512 needs sasl_password"),
        (
            {**LOGIN, "sasl_mechanism": "OAUTHBEARER"},
            "needs oauth_token_url and oauth_client_id and oauth_client_secret",
        ),
        (
            {**LOGIN, "sasl_mechanism": "OAUTHBEARER", "aws_region": "eu-west-1", "oauth_client_id": "x"},
            "aws_region and oauth_client_id are both given",
        ),
        (
            {**TLS, "security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER", "aws_role_arn": "arn"},
            "a login with options of AWS needs aws_region. Set aws_region",
        ),
        (
            {**LOGIN, "sasl_mechanism": "OAUTHBEARER", "oauth_token": "t"},
            "sasl_username and sasl_password are given, but OAUTHBEARER logs in by a token. Set sasl_mechanism to one of PLAIN",
        ),
        ({**LOGIN, "oauth_token": "t"}, "oauth_token is given, but SCRAM-SHA-512 takes no token"),
        ({**TOKEN, "oauth_token_url": "https://idp"}, "oauth_token and oauth_token_url are both given. Give one way"),
        ({**TOKEN, "aws_region": "eu-west-1"}, "are both given. Give one way to get tokens"),
        ({**TOKEN, "oauth_token": "error: not logged in"}, "oauth_token has blanks, line breaks or other characters"),
        ({**TOKEN, "oauth_extensions": {"logical_cluster": "lkc-1"}}, "'logical_cluster' with a name or a value"),
        (
            {**TOKEN, "oauth_extensions": {"auth": "x"}},
            "'auth' with a name or a value that cannot be sent. Write names",
        ),
        ({**LOGIN, "sasl_kerberos_keytab": "/etc/k.keytab"}, "sasl_kerberos_keytab is no option of a cluster"),
        ({**SERVERS, "ssl_cafile": "ca.pem"}, "ssl_cafile is given, but PLAINTEXT does not encrypt"),
        ({**TLS, "ssl_cafile": "ca.pem", "ssl_ca": CERTIFICATE}, "ssl_cafile and ssl_ca are both given"),
        ({**TLS, "ssl_certfile": "c.pem", "ssl_cert": CERTIFICATE}, "ssl_certfile and ssl_cert are both given"),
        ({**TLS, "ssl_ca": "/etc/ca.pem"}, "ssl_ca holds no PEM text. Give the text itself, or a path as ssl_cafile"),
        ({**TLS, "ssl_keyfile": "key.pem"}, "ssl_keyfile is given without ssl_certfile"),
        ({**TLS, "ssl_key": KEY}, "ssl_key is given without ssl_cert"),
        ({**TLS, "ssl_cert": CERTIFICATE}, "ssl_cert comes without a private key"),
        ({**TLS, "ssl_cafile": "trust.JKS"}, "ssl_cafile trust.JKS is a Java key store, and PEM is needed. Convert it"),
        ({**TLS, "ssl_certfile": "store.p12"}, "store.p12 is a PKCS#12 store"),
        ({**SERVERS, "request_timeout": 0}, "request_timeout is 0"),
        ({**SERVERS, "request_timeout": 0.009}, "request_timeout is 0.009. Give seconds, from 0.01 to 300"),
        ({**SERVERS, "request_timeout": 300.5}, "request_timeout is 300.5. Give seconds, from 0.01 to 300"),
        ({**SERVERS, "request_timeout": float("nan")}, "request_timeout is nan"),
        ({**SERVERS, "request_timeout": "soon"}, "request_timeout is 'soon'"),
        ({**SERVERS, "bootstrap": "b1:9092"}, "bootstrap is no option of a cluster"),
        ({**SERVERS, "client_config": ["a"]}, "client_config is not a dictionary"),
        ({**SERVERS, "client_config": {"socket.nagle.disable": None}}, "has a NoneType as value"),
    ],
)
def test_what_cannot_be_meant_is_refused(options, said):
    with pytest.raises(InvalidInput) as refusal:
        connection_from(options, "destination cluster")
    assert said.lower() in str(refusal.value).lower()
    assert str(refusal.value).startswith("destination cluster: ")
    assert refusal.value.remedy or "; " in str(refusal.value)  # each of several has its own
    assert "hunter2" not in str(refusal.value)
    with pytest.raises(InvalidInput) as of_host:
        connection_from({**options, "name": "cloud"}, "destination cluster")
    assert str(of_host.value).startswith("destination cluster cloud: ")


OURS = "which the collection sets itself. Remove it"
OTHERS_PROPERTIES = {
    "sasl.password": "use sasl_password",
    "ssl.ca.location": "use ssl_cafile",
    "ssl.keystore.location": "use ssl_certfile and ssl_keyfile",
    "sasl.jaas.config": "use sasl_username and sasl_password",
    "bootstrap.servers": "use bootstrap_servers",
    **dict.fromkeys(["ssl.engine.secret", "ssl.some.password"], "secrets are not masked"),
    "sasl.kerberos.keytab": "Kerberos",
    **dict.fromkeys(["auto.offset.reset", "isolation.level", "debug", "oauth_cb"], OURS),
    **dict.fromkeys(["default.topic.config", "logger", "enable.ssl.certificate.verification"], OURS),
    "delivery.report.only.error": OURS,  # a copy would not know where its records are
    "client.rack": OURS,  # records are read from leaders, because followers lag
}


@pytest.mark.parametrize(("name", "said"), OTHERS_PROPERTIES.items())
def test_a_property_that_has_an_option_or_an_owner_is_refused_without_its_value(name, said):
    with pytest.raises(InvalidInput) as refusal:
        connection_from({**SERVERS, "client_config": {name: "hunter2"}})
    assert said.lower() in str(refusal.value).lower()
    assert "hunter2" not in str(refusal.value)


def test_other_properties_are_passed_on_as_librdkafka_spells_them():
    config = {"socket.keepalive.enable": True, "metadata.max.age.ms": 180000, "broker.address.family": "v4"}
    assert connection_from({**SERVERS, "client_config": config}).client_config == {
        "socket.keepalive.enable": "true",
        "metadata.max.age.ms": "180000",
        "broker.address.family": "v4",
    }


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\xfe\xed\xfe\xed", "Java key store"),
        (b"\xce\xce\xce\xce", "Java key store"),
        (b"\x30\x82\x0a\x00", "PKCS#12"),
    ],
)
def test_a_store_is_known_by_its_first_bytes_whatever_it_is_called(head, kind):
    connection = connection_from({**TLS, "ssl_cafile": "trust.pem"})
    with pytest.raises(InvalidInput, match=kind):
        refuse_store(head, connection, "ssl_cafile", "trust.pem")
    refuse_store(b"-----BEGIN", connection, "ssl_cafile", "trust.pem")


def test_everything_that_is_wrong_with_a_cluster_is_in_one_message():
    wrong = {
        "bootstrap_servers": ["b1", "http://b2:9092"],
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "ssl_keyfile": "key.pem",
        "request_timeout": -1,
        "client_config": {"group.id": "x", "ssl.ca.location": "y"},
        "bootstrap": "b3:9092",
    }
    with pytest.raises(InvalidInput) as refused:
        connection_from(wrong)
    assert [part.what for part in refused.value.parts] == [
        "bootstrap is no option of a cluster",
        "bootstrap server 'b1' is not of the form host:port",
        "bootstrap server 'http://b2:9092' has a protocol in front",
        "request_timeout is -1",
        "client_config holds group.id, which the collection sets itself",
        "client_config holds ssl.ca.location, which an option of its own sets",
        "ssl_keyfile is given without ssl_certfile",
        "PLAIN needs sasl_username and sasl_password",
    ]
