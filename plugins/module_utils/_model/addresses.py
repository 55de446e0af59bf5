# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Addresses that users give: what may be shown of them, and which URLs may be asked."""

from __future__ import annotations

import re
import typing as t
import urllib.parse

from .errors import InvalidInput

HIDDEN = "***"
# A broker: protocol, user information as masked() leaves it, host and port; each may be missing.
_SERVER = re.compile(
    r"([A-Za-z][\w+.-]*://)?(\*{3}@)?(\[[^]]*\]|[0-9A-Fa-f:]*::[0-9A-Fa-f:]*|[^][\s:;,=/@?]*)(:([0-9]+(?!\w))?)?"
)


def masked(address: str) -> str:
    """An address for messages, without what may be a secret: user information (up to the last @), query and fragment.

    It works on text of any form, for what is refused is shown, too.
    """
    address = re.sub(r"\A([A-Za-z][\w+.-]*://)?.*@", rf"\g<1>{HIDDEN}@", address, flags=re.DOTALL)
    return re.sub(r"[?#].*", f"?{HIDDEN}", address, flags=re.DOTALL)


def masked_server(server: str) -> str:
    """A broker's address for messages, without what follows host and port, which may be a secret as well."""
    text = masked(server.strip())
    known = t.cast("re.Match[str]", _SERVER.match(text))[0]  # it also matches nothing
    return known if known == text else known + HIDDEN


def check_url(url: str, option: str, cluster: str, credentials: str) -> None:
    """Raise InvalidInput for a URL that is not http or https, has no host, or holds user information.

    credentials: the options that a user name and a password belong to.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if "@" in url.partition("?")[0]:
        raise InvalidInput(
            f"{option} {masked(url)} holds user information", cluster=cluster, remedy=f"use {credentials} instead"
        )
    if not usable or not url.isascii() or not url.isprintable() or " " in url:
        raise InvalidInput(
            f"{option} {masked(url)!r} is not an HTTP URL",
            cluster=cluster,
            remedy="write it like https://host:8443/path",
        )
