# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The REST interface of Kafka Connect, as far as source connectors' offsets need it.

https://kafka.apache.org/documentation/#connect_rest; offsets can be read since Kafka 3.5 and changed since 3.6.
"""

from __future__ import annotations

import dataclasses
import http.client
import json
import time
import typing as t
import urllib.error
import urllib.parse

from ansible.module_utils.urls import open_url

from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import (
    BrokerError,
    ConnectionFailed,
    InvalidInput,
    NotAuthorized,
    NotFound,
)

_SECONDS = 30
_STOPPED_WITHIN = 60.0
_Json = t.Any


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class ConnectRest:
    """Where a worker's REST interface is, and who asks. Neither str() nor repr() tells the password."""

    url: str
    username: str | None = None
    password: str | None = None
    ca_path: str | None = None
    validate_certs: bool = True

    def __str__(self) -> str:
        return f"Kafka Connect at {urllib.parse.urlsplit(self.url).netloc.rpartition('@')[2]}"

    def __repr__(self) -> str:
        return f"<{self}>"


def check(rest: ConnectRest) -> str:
    """The version of the worker, or an error that says what there is instead."""
    found = _ask(rest, "GET", "")
    if not isinstance(found, dict) or not {"version", "kafka_cluster_id"} <= found.keys():
        raise InvalidInput(
            "this is not the REST interface of Kafka Connect", cluster=str(rest), remedy="correct the url"
        )
    return str(found["version"])


def state(rest: ConnectRest, connector: str) -> str:
    """RUNNING, PAUSED, STOPPED, ... Raises NotFound for a connector that is not there."""
    found = _ask(rest, "GET", f"/connectors/{_quoted(connector)}/status")
    tasks = found.get("tasks") or []
    its = str(found.get("connector", {}).get("state", "UNKNOWN"))
    return its if its != "STOPPED" or not tasks else "STOPPING"


def wait_until_stopped(rest: ConnectRest, connector: str) -> None:
    """Stopping takes a moment after it was asked for."""
    end = time.monotonic() + _STOPPED_WITHIN
    while (its := state(rest, connector)) in ("STOPPING", "UNASSIGNED") and time.monotonic() < end:
        time.sleep(0.5)
    if its != "STOPPED":
        raise BrokerError(
            f"connector {connector} is {its}, and its offsets can be changed only while it is STOPPED",
            cluster=str(rest),
            remedy=f"stop it (PUT /connectors/{connector}/stop), or create it with initial_state STOPPED",
        )


def read_config(rest: ConnectRest, connector: str) -> dict[str, str]:
    """The connector's own settings; what a provider of configurations fills in is shown as its place holder."""
    found = _ask(rest, "GET", f"/connectors/{_quoted(connector)}/config")
    return {str(name): str(value) for name, value in found.items()}


def read_offsets(rest: ConnectRest, connector: str) -> list[tuple[dict[str, t.Any], dict[str, t.Any] | None]]:
    """What the connector has stored: partition and offset as it calls them; an offset of None was forgotten."""
    found = _ask(rest, "GET", f"/connectors/{_quoted(connector)}/offsets")
    if not isinstance(found, dict) or not isinstance(found.get("offsets"), list):
        raise InvalidInput(
            "this worker tells no offsets of connectors", cluster=str(rest), remedy="use Kafka Connect 3.6 or newer"
        )
    return [(each["partition"], each["offset"]) for each in found["offsets"]]


def write_offsets(
    rest: ConnectRest, connector: str, offsets: t.Sequence[tuple[dict[str, t.Any], dict[str, t.Any] | None]]
) -> None:
    """Change these; None forgets one. Connect takes what it does not know as well: check before, and read back."""
    body = {"offsets": [{"partition": partition, "offset": offset} for partition, offset in offsets]}
    _ask(rest, "PATCH", f"/connectors/{_quoted(connector)}/offsets", body)


def _ask(rest: ConnectRest, method: str, path: str, body: _Json = None) -> _Json:
    url = rest.url.rstrip("/") + (path or "/")
    try:
        answer = open_url(
            url,
            method=method,
            data=None if body is None else json.dumps(body),
            headers={"Content-Type": "application/json", "Accept": "application/json"},
            timeout=_SECONDS,
            url_username=rest.username,
            url_password=rest.password,
            force_basic_auth=rest.username is not None,
            ca_path=rest.ca_path,
            validate_certs=rest.validate_certs,
            follow_redirects="none",
        )
        content = answer.read()
    except urllib.error.HTTPError as exc:
        raise _refused(rest, method, path, exc) from exc
    # URLError is an OSError; HTTPException: an answer that is not HTTP; ValueError: no url.
    except (OSError, http.client.HTTPException, ValueError) as exc:
        why = str(getattr(exc, "reason", exc))
        raise ConnectionFailed("cannot connect", cluster=str(rest), why=why, remedy="check the url") from exc
    try:
        return json.loads(content) if content else None
    except ValueError as exc:
        raise InvalidInput(
            "this is not the REST interface of Kafka Connect", cluster=str(rest), remedy="correct the url"
        ) from exc


def _refused(rest: ConnectRest, method: str, path: str, exc: urllib.error.HTTPError) -> Exception:
    text = exc.read().decode("utf-8", "replace")
    try:
        said = json.loads(text).get("message", text)
    except (ValueError, AttributeError):
        said = text
    why = f"{exc.code} {said or exc.reason}"[:500]
    if exc.code in (401, 403):
        return NotAuthorized("the worker denies it", cluster=str(rest), why=why, remedy="correct username and password")
    if exc.code == 404 and path:
        return NotFound(
            f"{method} {path} is not known there",
            cluster=str(rest),
            why=why,
            remedy="correct the connector's name or the url",
        )
    return BrokerError(f"{method} {path or '/'} was refused", cluster=str(rest), why=why)


def _quoted(name: str) -> str:
    return urllib.parse.quote(name, safe="")
