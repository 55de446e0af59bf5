# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which further librdkafka properties a user may set: none that hold a secret, none that an option or a rule sets."""

from __future__ import annotations

import re
import typing as t

from .errors import InvalidInput
from .faults import all_of

# property -> the option that says the same. Names: librdkafka's CONFIGURATION.md, and Java's where users know those.
OPTIONS = {
    "bootstrap.servers": "bootstrap_servers",
    "metadata.broker.list": "bootstrap_servers",
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.mechanisms": "sasl_mechanism",
    "sasl.username": "sasl_username",
    "sasl.password": "sasl_password",
    "sasl.jaas.config": "sasl_username and sasl_password",
    "sasl.oauthbearer.method": "oauth_token_url or aws_region",
    "sasl.oauthbearer.config": "oauth_token_url or aws_region",
    "sasl.oauthbearer.client.id": "oauth_client_id",
    "sasl.oauthbearer.client.secret": "oauth_client_secret",
    "sasl.oauthbearer.scope": "oauth_scope",
    "sasl.oauthbearer.extensions": "oauth_extensions",
    "sasl.oauthbearer.token.endpoint.url": "oauth_token_url",
    "ssl.ca.location": "ssl_cafile",
    "ssl.ca.pem": "ssl_ca",
    "ssl.truststore.location": "ssl_cafile",
    "ssl.truststore.password": "ssl_cafile",
    "ssl.certificate.location": "ssl_certfile",
    "ssl.certificate.pem": "ssl_cert",
    "ssl.key.location": "ssl_keyfile",
    "ssl.key.pem": "ssl_key",
    "ssl.key.password": "ssl_key_password",
    "ssl.keystore.location": "ssl_certfile and ssl_keyfile",
    "ssl.keystore.password": "ssl_key_password",
    "ssl.endpoint.identification.algorithm": "ssl_check_hostname",
    "request.timeout.ms": "request_timeout",
    "socket.timeout.ms": "request_timeout",
}
# What a record is found by, and what makes a read exact, is no matter of taste.
OWNED = frozenset({
    "allow.auto.create.topics", "auto.offset.reset", "check.crcs", "client.id", "client.rack", "debug", "default.topic.config",
    "delivery.report.only.error", "enable.auto.commit", "enable.auto.offset.store", "enable.idempotence",
    "enable.partition.eof", "enable.ssl.certificate.verification", "fetch.message.max.bytes", "fetch.queue.backoff.ms",
    "group.id", "group.instance.id", "group.protocol", "isolation.level", "log_level", "logger", "max.partition.fetch.bytes",
    "on_delivery", "queued.min.messages", "test.mock.num.brokers", "topic.blacklist", "transactional.id",
})  # fmt: skip
SECRET_WORDS = (
    "assertion", "credential", "jaas", "key.pem", "keystore.key", "oauthbearer.config", "passphrase", "password", "private.key",
    "pwd", "secret", "token",
)  # fmt: skip
# Keys of storages and of what is encrypted in them (abfss, s3a, gs, swift), signatures of Azure's containers.
_SECRET_KEY = re.compile(
    r".*((account|api|storage)[._-]?key(\..*)?|encryption\.key(\.list)?|client-provided-(encryption-)?key(\..*)?"
    r"|\.azure\.sas\.(?!.*expiry).*|\.pass)",
    re.IGNORECASE,
)
# Properties whose values are shown, of librdkafka and Spark: measures, switches, names of algorithms, places.
_HARMLESS = re.compile(
    r".*\.(address\.family|backoff|bytes|cipher\.suites|codec|cores|cores\.max|count|enable|enabled|instances|kbytes|level|linger"
    r"|location|max|memory|memoryOverhead|messages|min|ms|num|partitions|partitioner|port|protocol|rack|retries|size|timeout|type)"
)


# Though a word of theirs says so: switches, paths, classes that find secrets, and names of Kubernetes' secrets.
_NO_SECRET = re.compile(
    r".*(\.enabled?|(token|credentials?)\.provider(\.(path|type)(\..*)?)?|TokenFile"
    r"|\.secret(\.driver|\.executor)?\.file|\.pullSecrets)|spark\.kubernetes\.executor\.secret(s|KeyRef)\..*"
)


def is_secret(name: str) -> bool:
    """Does a property hold a secret, going by its name?"""
    has_word = _SECRET_KEY.fullmatch(name) or any(word in name.lower() for word in SECRET_WORDS)
    return bool(has_word) and not _NO_SECRET.fullmatch(name)


def is_harmless(name: str) -> bool:
    """May the value of a property be shown? Only where its name says what kind of value it is, and that it is no secret."""
    return _HARMLESS.fullmatch(name) is not None and not is_secret(name)


def checked_client_config(config: t.Any, cluster: str) -> dict[str, str]:
    """The properties as text, or InvalidInput that names those which are refused; never their values."""
    if not isinstance(config, t.Mapping):
        raise InvalidInput("client_config is not a dictionary", cluster=cluster, remedy="give property: value pairs")
    return dict(all_of(lambda item: _checked(*item, cluster), config.items()))


def _checked(key: t.Any, value: t.Any, cluster: str) -> tuple[str, str]:
    name = str(key).strip()
    option = OPTIONS.get(name.lower())
    if name.lower().startswith("sasl.kerberos."):
        raise InvalidInput("Kerberos (GSSAPI) is not supported", cluster=cluster, remedy=f"remove {name}")
    if is_secret(name) and option is None:
        raise InvalidInput(
            f"client_config holds {name}, and secrets are not masked there",
            cluster=cluster,
            remedy="use the cluster's own options for authentication",
        )
    is_owned = name in OWNED or name.endswith("_cb")
    return name, property_text("client_config", name, value, option=option, is_owned=is_owned, cluster=cluster)


def property_text(
    place: str, name: str, value: t.Any, *, option: str | None, is_owned: bool, cluster: str | None = None
) -> str:
    """The value of a property that a user adds in this place, as text; InvalidInput for one that the user may not set there.

    option: the one that sets the property. is_owned: whether the collection sets it itself.
    """
    if option is not None:
        what, remedy = f"{place} holds {name}, which an option of its own sets", f"use {option}"
    elif is_owned:
        what, remedy = f"{place} holds {name}, which the collection sets itself", "remove it"
    elif not isinstance(value, str | int | float):
        what = f"{place} has a {type(value).__name__} as value of {name}"
        remedy = "give text, a number, true or false"
    else:
        return str(value).lower() if isinstance(value, bool) else str(value)
    raise InvalidInput(what, cluster=cluster, remedy=remedy)
