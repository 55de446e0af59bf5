# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""How to reach a cluster: one set of options for both clients, refused here when it cannot be meant."""

from __future__ import annotations

import dataclasses
import difflib
import re
import typing as t

from .addresses import check_url, masked
from .client_config import checked_client_config
from .errors import InvalidInput

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
PASSWORD_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_MECHANISMS = (*PASSWORD_MECHANISMS, "OAUTHBEARER")
# What may be meant by options that have few values. Anything else may be a secret in the wrong place, and is never shown.
_MEANT = {
    "security_protocol": re.compile("|".join(PROTOCOLS), re.IGNORECASE),
    "sasl_mechanism": re.compile("|".join((*_MECHANISMS, "GSSAPI", "KERBEROS", "AWS_MSK_IAM")), re.IGNORECASE),
    "aws_region": re.compile(r"[a-z]{2,}(-[a-z]+)+-[0-9]{1,2}"),
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
    request_timeout: float = 30.0
    client_config: t.Mapping[str, str] = dataclasses.field(default_factory=dict)

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
    known = {field.name for field in dataclasses.fields(Connection)} - {"name", "host"}
    options = dict(options)
    given: dict[str, t.Any] = {"host": options.pop("name", None)}
    named = f"{name} {given['host']}" if given["host"] else name
    for key, value in options.items():
        if key not in known and key not in ALIASES:
            raise InvalidInput(f"{key} is no option of a cluster", cluster=named, remedy="remove it")
        if value is not None and value != "":
            given.setdefault(ALIASES.get(key, key), value)
    servers = _servers(given.pop("bootstrap_servers", ()), named)
    protocol = str(given.pop("security_protocol", "PLAINTEXT")).upper()
    mechanism = given.pop("sasl_mechanism", None)
    timeout = given.pop("request_timeout", 30.0)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout <= 0:
        raise InvalidInput(f"request_timeout is {timeout!r}", cluster=named, remedy="give seconds, more than 0")
    connection = Connection(
        name=name,
        bootstrap_servers=servers,
        security_protocol=protocol,
        sasl_mechanism=str(mechanism).upper() if mechanism is not None else None,
        request_timeout=float(timeout),
        client_config=checked_client_config(given.pop("client_config", {}), named),
        oauth_extensions={str(key): str(value) for key, value in given.pop("oauth_extensions", {}).items()},
        **given,
    )
    _check_protocol(connection)
    _check_sasl(connection)
    _check_tls(connection)
    return connection


def _servers(value: t.Any, name: str) -> tuple[str, ...]:
    servers = tuple(str(each).strip() for each in (value.split(",") if isinstance(value, str) else value))
    if not any(servers):
        raise InvalidInput("bootstrap_servers is empty", cluster=name, remedy="name at least one broker as host:port")
    for server in servers:
        if "://" in server:
            raise InvalidInput(
                f"bootstrap server {masked(server)!r} has a protocol in front",
                cluster=name,
                remedy="give host:port, and the protocol as security_protocol",
            )
        found = re.fullmatch(r"(\[[0-9A-Fa-f:.%\w]+\]|[^\s:\[\]/@]+):([0-9]{1,5})", server)
        if not found or not 0 < int(found[2]) < 65536:
            raise InvalidInput(
                f"bootstrap server {masked(server)!r} is not of the form host:port",
                cluster=name,
                remedy="write it like broker1:9092 or [::1]:9092",
            )
    return servers


def _check_protocol(connection: Connection) -> None:
    if connection.security_protocol not in PROTOCOLS:
        raise _refusal(connection, *_unknown("security_protocol", connection.security_protocol, PROTOCOLS))
    if not connection.uses_tls:
        given = [option for option in SSL_OPTIONS if getattr(connection, option)]
        if given:
            raise _refusal(
                connection,
                f"{given[0]} is given, but {connection.security_protocol} does not encrypt",
                "set security_protocol to SSL or SASL_SSL, or remove it",
            )


def _check_sasl(connection: Connection) -> None:
    mechanism = connection.sasl_mechanism
    if mechanism in ("GSSAPI", "KERBEROS"):
        raise _refusal(
            connection,
            "Kerberos (GSSAPI) is not supported, because confluent-kafka, which reads the records, is built without it",
            "let the listener offer SCRAM-SHA-512, too, until the migration is over: add it to sasl.enabled.mechanisms, and "
            "a user with kafka-configs (docs/logging-in.md, Kerberos). Or use a listener with client certificates",
        )
    if mechanism == "AWS_MSK_IAM":
        raise _refusal(
            connection,
            "AWS_MSK_IAM is the name of a Java login module",
            "set sasl_mechanism to OAUTHBEARER and aws_region to the cluster's region",
        )
    if mechanism in PASSWORD_MECHANISMS:
        given = [option for option in TOKEN_OPTIONS if getattr(connection, option)]
        if given:
            what = f"{given[0]} is given, but {mechanism} takes no token"
            raise _refusal(connection, what, f"set sasl_mechanism to OAUTHBEARER, or remove {given[0]}")
    if mechanism is not None and mechanism not in _MECHANISMS:
        raise _refusal(connection, *_unknown("sasl_mechanism", mechanism, _MECHANISMS))
    if connection.aws_region and not may_be_shown("aws_region", connection.aws_region):
        raise _refusal(connection, "aws_region is not the name of a region", "write it like eu-central-1")
    if not connection.uses_sasl:
        for option in ("sasl_mechanism", "sasl_username", "sasl_password", *TOKEN_OPTIONS):
            if getattr(connection, option):
                raise _refusal(
                    connection,
                    f"{option} is given, but {connection.security_protocol} does not log in",
                    "set security_protocol to SASL_SSL or SASL_PLAINTEXT, or remove it",
                )
        return
    if mechanism is None:
        raise _refusal(
            connection,
            f"{connection.security_protocol} needs sasl_mechanism",
            f"use one of {', '.join(_MECHANISMS)}",
        )
    if mechanism in PASSWORD_MECHANISMS:
        _require(connection, ("sasl_username", "sasl_password"), mechanism)
    else:
        _check_tokens(connection)


def _check_tokens(connection: Connection) -> None:
    """Refuse two ways to a token, a way without what it needs, and what no client could send."""
    given = [way for way, more in _TOKEN_WAYS.items() if any(getattr(connection, name) for name in more)]
    chosen = next((way for way in _TOKEN_WAYS if getattr(connection, way)), (given or ["oauth_token_url"])[0])
    others = [name for way, more in _TOKEN_WAYS.items() if way != chosen for name in (way, *more)]
    for option in others:
        if getattr(connection, option):
            raise _refusal(connection, f"{chosen} and {option} are both given", "give one way to get tokens")
    if chosen == "oauth_token_url":
        _require(connection, OAUTH_OPTIONS, "OAUTHBEARER (without oauth_token or aws_region)")
        secrets = "oauth_client_id and oauth_client_secret"
        check_url(connection.oauth_token_url or "", "oauth_token_url", connection.name, secrets)
    if connection.oauth_token and not re.fullmatch("[!-~]+", connection.oauth_token):
        raise _refusal(
            connection,
            "oauth_token has blanks, line breaks or other characters that no token has",
            "give the token alone",
        )
    if chosen == "aws_region":
        _require(connection, ("aws_region",), "a login with options of AWS")
    if connection.aws_external_id or connection.aws_role_session_name:
        _require(connection, ("aws_role_arn",), "aws_external_id or aws_role_session_name")
    for option in ("sasl_username", "sasl_password"):
        if getattr(connection, option):
            what = f"{option} is given, but OAUTHBEARER logs in by a token"
            raise _refusal(
                connection, what, f"set sasl_mechanism to one of {', '.join(PASSWORD_MECHANISMS)}, or remove it"
            )
    _check_extensions(connection)


def _check_extensions(connection: Connection) -> None:
    """RFC 7628, section 3.1: names are letters, auth is taken, and values are printable ASCII."""
    for name, value in connection.oauth_extensions.items():
        if name == "auth" or not re.fullmatch("[A-Za-z]+", name) or not re.fullmatch("[ -~]+", value):
            raise _refusal(
                connection,
                f"oauth_extensions has {name!r} with a name or a value that cannot be sent",
                "write names in letters, such as logicalCluster and identityPoolId, and values in visible ASCII",
            )


def _check_tls(connection: Connection) -> None:
    for file_option, text_option in (
        ("ssl_cafile", "ssl_ca"),
        ("ssl_certfile", "ssl_cert"),
        ("ssl_keyfile", "ssl_key"),
    ):
        file, text = getattr(connection, file_option), getattr(connection, text_option)
        if file and text:
            raise _refusal(connection, f"{file_option} and {text_option} are both given", "give one of them")
        if file:
            _check_suffix(connection, file_option, file)
        if text and "-----BEGIN " not in text:
            raise _refusal(
                connection, f"{text_option} holds no PEM text", f"give the text itself, or a path as {file_option}"
            )
    for key, certificate in (("ssl_keyfile", "ssl_certfile"), ("ssl_key", "ssl_cert")):
        if getattr(connection, key) and not getattr(connection, certificate):
            raise _refusal(connection, f"{key} is given without {certificate}", f"set {certificate}")
    if connection.ssl_cert and not connection.ssl_key and "PRIVATE KEY-----" not in connection.ssl_cert:
        raise _refusal(connection, "ssl_cert comes without a private key", "set ssl_key")


def refuse_store(head: bytes, connection: Connection, option: str, path: str) -> None:
    """Raise InvalidInput when a file's first bytes are those of a Java or PKCS#12 store.

    Magic numbers: sun.security.provider.JavaKeyStore (FEEDFEED), com.sun.crypto.provider.JceKeyStore (CECECECE);
    a PKCS#12 file is a DER sequence (RFC 7292).
    """
    if head[:4] in (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce"):
        raise _store(connection, option, path, "Java key store")
    if head[:2] in (b"\x30\x82", b"\x30\x80"):
        raise _store(connection, option, path, "PKCS#12 store or a certificate in DER form")


def _check_suffix(connection: Connection, option: str, path: str) -> None:
    suffix = path.lower().rpartition(".")[2]
    if suffix in ("jks", "jceks"):
        raise _store(connection, option, path, "Java key store")
    if suffix in ("p12", "pfx"):
        raise _store(connection, option, path, "PKCS#12 store")


def _store(connection: Connection, option: str, path: str, kind: str) -> InvalidInput:
    commands = (
        "keytool -importkeystore -srckeystore STORE -destkeystore STORE.p12 -deststoretype PKCS12, then "
        if "Java" in kind
        else ""
    )
    return _refusal(
        connection,
        f"{option} {path} is a {kind}, and PEM is needed",
        f"convert it: {commands}openssl pkcs12 -in STORE.p12 -out STORE.pem (add -nokeys for a trust store)",
    )


def _require(connection: Connection, options: t.Sequence[str], why: str) -> None:
    missing = [option for option in options if not getattr(connection, option)]
    if missing:
        raise _refusal(connection, f"{why} needs {' and '.join(missing)}", f"set {' and '.join(missing)}")


def _unknown(option: str, value: str, known: t.Sequence[str]) -> tuple[str, str]:
    """What is wrong with a value, which is not shown, and what to do."""
    near = difflib.get_close_matches(value, known, 1)
    return f"{option} has an unknown value", (
        f"did you mean {near[0]}? Use" if near else "use"
    ) + f" one of {', '.join(known)}"


def _refusal(connection: Connection, what: str, remedy: str) -> InvalidInput:
    return InvalidInput(what, cluster=connection.named, remedy=remedy)
