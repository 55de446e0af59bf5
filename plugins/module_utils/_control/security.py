# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The certificates and keys of a connection, as Python's TLS takes them."""

from __future__ import annotations

import os
import ssl
import tempfile
from pathlib import Path

from .._http.http_json import authorities
from .._model.connection import Connection, refuse_store
from .._model.errors import InvalidInput


def tls_context(connection: Connection) -> ssl.SSLContext:
    """Built here, because the library would ask for an encrypted key's passphrase on the terminal."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = connection.ssl_check_hostname
    for option in ("ssl_cafile", "ssl_certfile", "ssl_keyfile"):
        path = getattr(connection, option)
        if path and not (option == "ssl_cafile" and os.path.isdir(path)):
            content_of(connection, option, path)
    _load_authorities(connection, context)
    if connection.ssl_certfile:
        _load_certificate(connection, context, connection.ssl_certfile, connection.ssl_keyfile)
    elif connection.ssl_cert:
        # OpenSSL's Python binding takes certificates from files only: one that nobody else can read, and briefly.
        try:
            with tempfile.NamedTemporaryFile("w", suffix=".pem", encoding="utf-8") as file:
                file.write("\n".join(text for text in (connection.ssl_key, connection.ssl_cert) if text) + "\n")
                file.flush()
                _load_certificate(connection, context, file.name, None)
        except OSError as exc:
            remedy = "set TMPDIR to a directory that can be written"
            raise _unusable(connection, "ssl_cert cannot be written to a temporary file", exc, remedy) from exc
    return context


def _load_authorities(connection: Connection, context: ssl.SSLContext) -> None:
    try:
        if connection.ssl_ca or connection.ssl_cafile:
            context.load_verify_locations(**authorities(connection.ssl_cafile, connection.ssl_ca))
        else:
            context.load_default_certs()
    except (OSError, ValueError) as exc:
        option = "ssl_ca" if connection.ssl_ca else f"ssl_cafile {connection.ssl_cafile}"
        what = f"{option} holds no certificate that can be used"
        raise _unusable(connection, what, exc, "give the authority's certificate as PEM") from exc


def _load_certificate(connection: Connection, context: ssl.SSLContext, certificate: str, key: str | None) -> None:
    asked = []

    def passphrase() -> str:
        asked.append(True)
        return connection.ssl_key_password or ""

    try:
        context.load_cert_chain(certificate, key, password=passphrase)
    except (OSError, ValueError) as exc:
        which = "ssl_cert and ssl_key" if connection.ssl_cert else f"{certificate} and {key or 'the key in it'}"
        if asked:
            what = "the private key is encrypted, and " + (
                "ssl_key_password does not open it" if connection.ssl_key_password else "ssl_key_password is not set"
            )
            raise InvalidInput(what, cluster=connection.named, remedy="set the key's passphrase") from exc
        remedy = "give a certificate and the key that belongs to it as PEM"
        raise _unusable(connection, f"{which} cannot be used", exc, remedy) from exc


def content_of(connection: Connection, option: str, path: str) -> bytes:
    """What the file of certificates or keys holds that an option names. Raises InvalidInput where it cannot be one."""
    try:
        content = Path(path).read_bytes()
    except OSError as exc:
        raise InvalidInput(
            f"{option} {path} cannot be read", cluster=connection.named, why=exc.strerror, remedy="correct the path"
        ) from exc
    refuse_store(content, connection, option, path)
    return content


def _unusable(connection: Connection, what: str, exc: OSError | ValueError, remedy: str) -> InvalidInput:
    why = str(getattr(exc, "reason", None) or getattr(exc, "strerror", None) or exc).replace("_", " ").lower()
    return InvalidInput(what, cluster=connection.named, why=why, remedy=remedy)
