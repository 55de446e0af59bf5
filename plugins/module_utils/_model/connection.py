# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""How to reach a cluster: one set of options for both clients, refused here when it cannot be meant."""

from __future__ import annotations

import dataclasses
import difflib
import re
import typing as t

from .addresses import check_url, masked_server
from .client_config import checked_client_config
from .errors import InvalidInput
from .faults import faults_of, raise_any

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
PASSWORD_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_MECHANISMS = (*PASSWORD_MECHANISMS, "OAUTHBEARER")
# What may be meant by options that have few values, or only numbers. Anything else may be a secret in the wrong place, and is
# never shown.
_MEANT = {
    "security_protocol": re.compile("|".join(PROTOCOLS), re.IGNORECASE),
    "sasl_mechanism": re.compile("|".join((*_MECHANISMS, "GSSAPI", "KERBEROS", "AWS_MSK_IAM")), re.IGNORECASE),
    "aws_region": re.compile(r"[a-z]{2,}(-[a-z]+)+-[0-9]{1,2}"),
    "request_timeout": re.compile("[-+0-9.]+"),
    "ssl_check_hostname": re.compile("true|false|yes|no|on|off|[01tfyn]", re.IGNORECASE),
}
ALIASES = {
    "sasl_plain_username": "sasl_username",
    "sasl_plain_password": "sasl_password",
    "ssl_password": "ssl_key_password",
}
OAUTH_OPTIONS = ("oauth_token_url", "oauth_client_id", "oauth_client_secret")
# The options of each way to a token, beside the one that chooses it, and what it needs.
_TOKEN_WAYS = {
    "aws_region": ("aws_profile", "aws_role_arn", "aws_role_session_name", "aws_external_id"),
    "oauth_token": (),
    "oauth_token_url": ("oauth_client_id", "oauth_client_secret", "oauth_scope", "oauth_audience"),
}
TOKEN_OPTIONS = (*(name for way, more in _TOKEN_WAYS.items() for name in (way, *more)), "oauth_extensions")
SSL_OPTIONS = ("ssl_cafile", "ssl_certfile", "ssl_keyfile", "ssl_ca", "ssl_cert", "ssl_key", "ssl_key_password")
_LIMITED = re.compile(
    r"too many (connect|request|login|auth)|throttl|rate.?limit|limit (is |was )?(exceeded|reached)|quota exceeded|server busy",
    re.IGNORECASE,
)
_Faults = t.Iterator[tuple[str, str]]  # what is wrong, and what to do
USUAL_TIMEOUT = 30.0  # seconds, the default of request_timeout
LIMIT_REMEDY = (
    "run again later, or run fewer tasks at a time; if it stays, raise the limit of connections of the service"
)


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Connection:
    """A cluster as the user describes it. Neither str() nor repr() tells a secret.

    name says which cluster it is: "source cluster", "destination cluster" or "cluster".
    host is what the user calls it, which the roles know from the inventory.
    request_timeout is how many seconds a broker may take to answer one request.
    ssl_cafile, ssl_certfile and ssl_keyfile are paths; ssl_ca, ssl_cert and ssl_key are the PEM text itself.
    The key may stand in the certificate's file or text; then ssl_keyfile or ssl_key is None.
    """

    name: str
    bootstrap_servers: tuple[str, ...]
    host: str | None = None
    security_protocol: str = "PLAINTEXT"
    sasl_mechanism: str | None = None
    sasl_username: str | None = None
    sasl_password: str | None = None
    ssl_cafile: str | None = None
    ssl_certfile: str | None = None
    ssl_keyfile: str | None = None
    ssl_ca: str | None = None
    ssl_cert: str | None = None
    ssl_key: str | None = None
    ssl_key_password: str | None = None
    ssl_check_hostname: bool = True
    oauth_token_url: str | None = None
    oauth_client_id: str | None = None
    oauth_client_secret: str | None = None
    oauth_scope: str | None = None
    oauth_audience: str | None = None
    oauth_token: str | None = None
    oauth_extensions: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    aws_region: str | None = None
    aws_profile: str | None = None
    aws_role_arn: str | None = None
    aws_role_session_name: str | None = None
    aws_external_id: str | None = None
    request_timeout: float = USUAL_TIMEOUT
    client_config: t.Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def is_slow(self) -> bool:
        """Has the user raised request_timeout, because connections take long?"""
        return self.request_timeout > USUAL_TIMEOUT

    def __str__(self) -> str:
        addresses = ",".join(self.bootstrap_servers)
        return f"{self.named} ({addresses})" if self.host else f"{self.name} {addresses}"

    @property
    def named(self) -> str:
        """Without addresses, which may be what is wrong."""
        return f"{self.name} {self.host}" if self.host else self.name

    def __repr__(self) -> str:
        return f"<Connection to {self}>"

    @property
    def uses_tls(self) -> bool:
        return self.security_protocol in ("SSL", "SASL_SSL")

    @property
    def uses_sasl(self) -> bool:
        return self.security_protocol in ("SASL_PLAINTEXT", "SASL_SSL")


def may_be_shown(option: str, value: str) -> bool:
    """Is this value of an option of a cluster none that may be a misplaced secret?"""
    return option not in _MEANT or _MEANT[option].fullmatch(value) is not None


def is_limited(reason: str) -> bool:
    """Does a cluster refuse a connection because there are too many, in the words of the reason? It may take one later.

    Amazon MSK with IAM refuses the login then: "Too many connects".
    """
    return _LIMITED.search(reason) is not None


def connection_from(options: t.Mapping[str, t.Any], name: str = "cluster") -> Connection:
    """Build the connection of a cluster's suboptions, or raise InvalidInput. Nothing is opened, no file is read."""
    options = dict(options)
    given: dict[str, t.Any] = {"host": options.pop("name", None)}
    known = {field.name for field in dataclasses.fields(Connection)} - {"name", "host"}
    unknown = [key for key in options if key not in known and key not in ALIASES]
    for key, value in options.items():
        if value not in (None, "") and key not in unknown:
            given.setdefault(ALIASES.get(key, key), value)
    servers = _servers(given.pop("bootstrap_servers", ()))
    mechanism = given.pop("sasl_mechanism", None)
    timeout, config = given.pop("request_timeout", USUAL_TIMEOUT), given.pop("client_config", {})
    connection = Connection(
        name=name,
        bootstrap_servers=servers,
        security_protocol=str(given.pop("security_protocol", "PLAINTEXT")).upper(),
        sasl_mechanism=str(mechanism).upper() if mechanism is not None else None,
        oauth_extensions={str(key): str(value) for key, value in given.pop("oauth_extensions", {}).items()},
        **given,
    )
    no_options = ((f"{key} is no option of a cluster", "remove it") for key in unknown)
    checked: dict[str, str] = {}
    raise_any(
        [
            *(_refusal(connection, *fault) for fault in no_options),
            *(
                _refusal(connection, *fault)
                for fault in (*_faults_of_servers(connection), *_faults_of_timeout(timeout))
            ),
            *faults_of(lambda: checked.update(checked_client_config(config, connection.named))),
            *(_refusal(connection, *fault) for fault in _faults_of_login(connection)),
        ]
    )
    return dataclasses.replace(connection, request_timeout=float(timeout), client_config=checked)


def _servers(value: t.Any) -> tuple[str, ...]:
    return tuple(str(server).strip() for server in (value.split(",") if isinstance(value, str) else value))


# Each of these yields all that it finds, so that nobody corrects one option a run.


def _faults_of_servers(connection: Connection) -> _Faults:
    if not any(connection.bootstrap_servers):
        yield "bootstrap_servers is empty", "name at least one broker as host:port"
        return
    for server in connection.bootstrap_servers:
        match = re.fullmatch(r"(\[[0-9A-Fa-f:.%\w]+\]|[^\s:\[\]/@]+):([0-9]+)", server)
        shown = masked_server(server)
        if "://" in server:
            yield (
                f"bootstrap server {shown!r} has a protocol in front",
                "give host:port, and the protocol as security_protocol",
            )
        elif match and not 0 < int(match[2]) < 65536:
            yield f"bootstrap server {shown!r} has a port that no broker has", "give one from 1 to 65535"
        elif not match:
            yield f"bootstrap server {shown!r} is not of the form host:port", "write it like broker1:9092 or [::1]:9092"


def _faults_of_timeout(timeout: t.Any) -> _Faults:
    # librdkafka takes no other socket.timeout.ms.
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0.01 <= timeout <= 300:
        yield f"request_timeout is {timeout!r}", "give seconds, from 0.01 to 300"


def _faults_of_login(connection: Connection) -> _Faults:
    if connection.security_protocol not in PROTOCOLS:  # which says what else is needed
        yield _unknown("security_protocol", connection.security_protocol, PROTOCOLS)
        return
    yield from _faults_of_tls(connection)
    yield from _faults_of_sasl(connection)


def _faults_of_sasl(connection: Connection) -> _Faults:
    mechanism = connection.sasl_mechanism
    if connection.aws_region and not may_be_shown("aws_region", connection.aws_region):
        yield "aws_region is not the name of a region", "write it like eu-central-1"
    if mechanism in ("GSSAPI", "KERBEROS"):
        what = (
            "Kerberos (GSSAPI) is not supported, because confluent-kafka, which reads the records, is built without it"
        )
        remedy = (
            "let the listener offer SCRAM-SHA-512, too, until the migration is over: add it to sasl.enabled.mechanisms, and "
            "a user with kafka-configs (docs/logging-in.md, Kerberos). Or use a listener with client certificates"
        )
        yield what, remedy
    elif mechanism == "AWS_MSK_IAM":
        yield (
            "AWS_MSK_IAM is the name of a Java login module",
            "set sasl_mechanism to OAUTHBEARER and aws_region to the cluster's region",
        )
    elif mechanism is not None and mechanism not in _MECHANISMS:
        yield _unknown("sasl_mechanism", mechanism, _MECHANISMS)
    elif not connection.uses_sasl:
        yield from _without_effect(
            connection,
            ("sasl_mechanism", "sasl_username", "sasl_password", *TOKEN_OPTIONS),
            f"{connection.security_protocol} does not log in",
            "set security_protocol to SASL_SSL or SASL_PLAINTEXT",
        )
    elif mechanism is None:
        yield f"{connection.security_protocol} needs sasl_mechanism", f"use one of {', '.join(_MECHANISMS)}"
    elif mechanism in PASSWORD_MECHANISMS:
        yield from _without_effect(
            connection, TOKEN_OPTIONS, f"{mechanism} takes no token", "set sasl_mechanism to OAUTHBEARER"
        )
        yield from _missing(connection, ("sasl_username", "sasl_password"), mechanism)
    else:
        yield from _faults_of_tokens(connection)


def _faults_of_tokens(connection: Connection) -> _Faults:
    """Two ways to a token, a way without what it needs, and what no client could send."""
    given = [way for way, more in _TOKEN_WAYS.items() if any(getattr(connection, name) for name in more)]
    chosen = next((way for way in _TOKEN_WAYS if getattr(connection, way)), (given or ["oauth_token_url"])[0])
    others = [name for way, more in _TOKEN_WAYS.items() if way != chosen for name in (way, *more)]
    if several := [option for option in others if getattr(connection, option)]:
        what = f"{chosen} and {' and '.join(several)} are {'all' if several[1:] else 'both'} given"
        yield what, "give one way to get tokens"
    elif chosen == "oauth_token_url":
        yield from _missing(connection, OAUTH_OPTIONS, "OAUTHBEARER (without oauth_token or aws_region)")
        secrets = "oauth_client_id and oauth_client_secret"
        if url := connection.oauth_token_url:
            for fault in faults_of(lambda: check_url(url, "oauth_token_url", connection.named, secrets)):
                yield fault.what, fault.remedy or ""
    elif chosen == "aws_region":
        yield from _missing(connection, ("aws_region",), "a login with options of AWS")
        if connection.aws_external_id or connection.aws_role_session_name:
            yield from _missing(connection, ("aws_role_arn",), "aws_external_id or aws_role_session_name")
    if connection.oauth_token and not re.fullmatch("[!-~]+", connection.oauth_token):
        yield "oauth_token has blanks, line breaks or other characters that no token has", "give the token alone"
    yield from _without_effect(
        connection,
        ("sasl_username", "sasl_password"),
        "OAUTHBEARER logs in by a token",
        f"set sasl_mechanism to one of {', '.join(PASSWORD_MECHANISMS)}",
    )
    yield from _faults_of_extensions(connection)


def _faults_of_extensions(connection: Connection) -> _Faults:
    """RFC 7628, section 3.1: names are letters, auth is taken, and values are printable ASCII."""
    for name, value in connection.oauth_extensions.items():
        if name == "auth" or not re.fullmatch("[A-Za-z]+", name) or not re.fullmatch("[ -~]+", value):
            yield (
                f"oauth_extensions has {name!r} with a name or a value that cannot be sent",
                "write names in letters, such as logicalCluster and identityPoolId, and values in visible ASCII",
            )


def _faults_of_tls(connection: Connection) -> _Faults:
    if not connection.uses_tls:
        why = f"{connection.security_protocol} does not encrypt"
        yield from _without_effect(connection, SSL_OPTIONS, why, "set security_protocol to SSL or SASL_SSL")
        return
    for file_option, text_option in (
        ("ssl_cafile", "ssl_ca"),
        ("ssl_certfile", "ssl_cert"),
        ("ssl_keyfile", "ssl_key"),
    ):
        file, text = getattr(connection, file_option), getattr(connection, text_option)
        if file and text:
            yield f"{file_option} and {text_option} are both given", "give one of them"
        if file:
            yield from _faults_of_suffix(file_option, file)
        if text and "-----BEGIN " not in text:
            yield f"{text_option} holds no PEM text", f"give the text itself, or a path as {file_option}"
    for key, certificate in (("ssl_keyfile", "ssl_certfile"), ("ssl_key", "ssl_cert")):
        if getattr(connection, key) and not getattr(connection, certificate):
            yield f"{key} is given without {certificate}", f"set {certificate}"
    if connection.ssl_cert and not connection.ssl_key and "PRIVATE KEY-----" not in connection.ssl_cert:
        yield "ssl_cert comes without a private key", "set ssl_key"


def refuse_store(head: bytes, connection: Connection, option: str, path: str) -> None:
    """Raise InvalidInput when a file's first bytes are those of a Java or PKCS#12 store.

    Magic numbers: sun.security.provider.JavaKeyStore (FEEDFEED), com.sun.crypto.provider.JceKeyStore (CECECECE);
    a PKCS#12 file is a DER sequence (RFC 7292).
    """
    if head[:4] in (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce"):
        raise _refusal(connection, *_wrong_store(option, path, "Java key store"))
    if head[:2] in (b"\x30\x82", b"\x30\x80"):
        raise _refusal(connection, *_wrong_store(option, path, "PKCS#12 store or a certificate in DER form"))


def _faults_of_suffix(option: str, path: str) -> _Faults:
    suffix = path.lower().rpartition(".")[2]
    if suffix in ("jks", "jceks"):
        yield _wrong_store(option, path, "Java key store")
    if suffix in ("p12", "pfx"):
        yield _wrong_store(option, path, "PKCS#12 store")


def _wrong_store(option: str, path: str, kind: str) -> tuple[str, str]:
    commands = (
        "keytool -importkeystore -srckeystore STORE -destkeystore STORE.p12 -deststoretype PKCS12, then "
        if "Java" in kind
        else ""
    )
    return (
        f"{option} {path} is a {kind}, and PEM is needed",
        f"convert it: {commands}openssl pkcs12 -in STORE.p12 -out STORE.pem (add -nokeys for a trust store)",
    )


def _missing(connection: Connection, options: t.Sequence[str], why: str) -> _Faults:
    if missing := [option for option in options if not getattr(connection, option)]:
        yield f"{why} needs {' and '.join(missing)}", f"set {' and '.join(missing)}"


def _without_effect(connection: Connection, options: t.Sequence[str], why: str, remedy: str) -> _Faults:
    if given := [option for option in options if getattr(connection, option)]:
        are, them = ("is", given[0]) if len(given) == 1 else ("are", "them")
        yield f"{' and '.join(given)} {are} given, but {why}", f"{remedy}, or remove {them}"


def _unknown(option: str, value: str, known: t.Sequence[str]) -> tuple[str, str]:
    """What is wrong with a value, which is not shown, and what to do."""
    parts = [name for name in known if len(value) > 3 and value in name]  # such as SCRAM
    near = parts or difflib.get_close_matches(value, known, 1)
    return f"{option} has an unknown value", (
        f"did you mean {' or '.join(near)}? Use" if near else "use"
    ) + f" one of {', '.join(known)}"


def _refusal(connection: Connection, what: str, remedy: str) -> InvalidInput:
    return InvalidInput(what, cluster=connection.named, remedy=remedy)
