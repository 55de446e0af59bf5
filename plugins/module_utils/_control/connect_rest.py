# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The REST interface of Kafka Connect, as far as source connectors' offsets and the classes of sinks need it.

https://kafka.apache.org/documentation/#connect_rest; offsets can be read since Kafka 3.5 and changed since 3.6.
"""

from __future__ import annotations

import functools
import http
import json
import re
import time
import typing as t
import urllib.parse

from .._http.http_json import Endpoint, HttpAnswer, HttpService, Json, ask, ask_patiently
from .._model.errors import (
    WRITTEN,
    BrokerError,
    ConnectionFailed,
    ConnectorUnfit,
    InvalidInput,
    MigrationError,
    NotAuthorized,
    NotFound,
)
from .._model.sinks import Sink, sink_of

SECONDS = 30.0  # for an answer
PATIENCE = 60.0  # seconds, for workers that rebalance
LARGEST_ANSWER = 1 << 26  # bytes; a hundred for each partition
_STOPPED_WITHIN = 60.0
_PAUSE = 0.5  # seconds


# A partition and an offset as a connector calls them; an offset of None was forgotten.
ConnectorOffset: t.TypeAlias = "tuple[dict[str, t.Any], dict[str, t.Any] | None]"


class ConnectRest(HttpService):
    """The REST interface of a worker."""

    __slots__ = ()
    NAME = "Kafka Connect"


def check_worker(rest: ConnectRest) -> str | None:
    """The id of the cluster that the worker belongs to; None where its brokers have told it none.

    Raises an error that says what there is instead of a worker that changes offsets, which Kafka Connect does since 3.6.
    """
    answer = _ask(rest, "GET", "")
    if not isinstance(answer, dict) or not {"version", "kafka_cluster_id"} <= answer.keys():
        raise _stranger(rest, "its answer has no version and kafka_cluster_id")
    told = re.match(r"(\d+)\.(\d+)\.", str(answer["version"]))
    version = (int(told[1]), int(told[2])) if told else (3, 6)
    # Confluent Platform 7.6 has Kafka 3.6, and 5.0, the first one that tells its own number, has 2.0.
    if version < (3, 6) or (5, 0) <= version < (7, 6):
        raise BrokerError(
            f"Kafka Connect {answer['version']} cannot change the offsets of connectors",
            cluster=str(rest),
            remedy="use Kafka Connect 3.6 or newer, or stop its workers and use the topic of their offsets",
        )
    cluster_id = answer["kafka_cluster_id"]
    return None if cluster_id is None else str(cluster_id)


def state(rest: ConnectRest, connector: str) -> str:
    """RUNNING, PAUSED, STOPPED, ... Ask read_config() first: one that is not there is waited for like one without a status."""
    status = _members(rest, _ask(rest, "GET", f"/connectors/{_quoted(connector)}/status"))
    state_name = _members(rest, status.get("connector")).get("state")
    if not isinstance(state_name, str):
        raise _stranger(rest, "its answer has no state of the connector")
    return state_name if state_name != "STOPPED" or not status.get("tasks") else "STOPPING"


def wait_until_stopped(rest: ConnectRest, connector: str) -> None:
    """Stopping takes a moment after it was asked for."""
    end = time.monotonic() + _STOPPED_WITHIN
    while (state_name := state(rest, connector)) in ("STOPPING", "UNASSIGNED") and time.monotonic() < end:
        time.sleep(0.5)
    if state_name != "STOPPED":
        raise ConnectorUnfit(
            f"connector {connector} is {state_name}, and its offsets can be changed only while it is STOPPED",
            cluster=str(rest),
            remedy=f"stop it (PUT /connectors/{connector}/stop), or create it with initial_state STOPPED",
        )


def read_config(rest: ConnectRest, connector: str) -> dict[str, str]:
    """The connector's own settings; what a provider of configurations fills in is shown as its place holder."""
    config = _members(rest, _ask(rest, "GET", f"/connectors/{_quoted(connector)}/config"))
    return {str(name): str(value) for name, value in config.items()}


def read_sinks(rest: ConnectRest) -> list[Sink]:
    """The sink connectors of the workers, by name. Workers before Kafka 2.3 answer with names alone."""
    answer = _ask(rest, "GET", "/connectors?expand=info")
    if isinstance(answer, list):
        configs = {str(name): read_config(rest, str(name)) for name in answer}
    else:
        infos = {
            name: _members(rest, _members(rest, connector).get("info"))
            for name, connector in _members(rest, answer).items()
        }
        configs = {name: _members(rest, info.get("config")) for name, info in infos.items()}
    sinks = (sink_of(name, config) for name, config in sorted(configs.items()))
    return [sink for sink in sinks if sink is not None]


def read_offsets(rest: ConnectRest, connector: str) -> list[ConnectorOffset]:
    """What the connector has stored."""
    answer = _members(rest, _ask(rest, "GET", f"/connectors/{_quoted(connector)}/offsets")).get("offsets")
    if not isinstance(answer, list):
        raise _stranger(rest, "its answer has no offsets of the connector")
    rows = [_members(rest, each) for each in answer]
    if not all(
        isinstance(row.get("partition"), dict) and isinstance(row.get("offset", 0), dict | None) for row in rows
    ):
        raise _stranger(rest, "its answer has an entry that is not a partition and its offset")
    return [(row["partition"], row["offset"]) for row in rows]


def write_offsets(rest: ConnectRest, connector: str, offsets: t.Sequence[ConnectorOffset]) -> None:
    """Change these; None forgets one. Connect takes what it does not know as well: check before, and read back.

    A worker that does not answer as it should may have changed them all the same: what is stored is looked at before they are
    sent again.
    """
    body = {"offsets": [{"partition": partition, "offset": offset} for partition, offset in offsets]}
    path = f"/connectors/{_quoted(connector)}/offsets"
    end = time.monotonic() + PATIENCE
    WRITTEN.append(path)
    while True:
        try:
            said = _members(rest, _ask(rest, "PATCH", path, body, patient=False))
            break
        except (_MayPass, ConnectionFailed):
            if _are_stored(offsets, read_offsets(rest, connector)):
                return
            if time.monotonic() > end:
                raise
        time.sleep(_PAUSE)
    if not isinstance(said.get("message"), str):
        raise _stranger(rest, "its answer does not say that the offsets were changed")


def _are_stored(offsets: t.Sequence[ConnectorOffset], stored: t.Sequence[ConnectorOffset]) -> bool:
    known = {json.dumps(partition, sort_keys=True): offset for partition, offset in stored}
    return all(known.get(json.dumps(partition, sort_keys=True)) == offset for partition, offset in offsets)


class _MayPass(BrokerError):
    """An answer that may be another one soon."""


def _ask(rest: ConnectRest, method: str, path: str, body: Json = None, patient: bool = True) -> Json:
    """What the worker answers, or an error of the collection's.

    patient: while it answers that it could not do it now, it is asked again for PATIENCE seconds.
    """
    url = rest.url.rstrip("/") + (path or "/")
    endpoint = rest.endpoint(SECONDS, LARGEST_ANSWER)
    content = None if body is None else json.dumps(body).encode()
    once = functools.partial(ask, endpoint, method, url, content, "application/json")
    answer = ask_patiently(once, PATIENCE, _may_pass) if patient else once()
    if not answer.is_success:
        raise _refused(rest, method, path, answer, endpoint)
    try:
        return answer.json()
    except ValueError as exc:
        raise _stranger(rest, str(exc)) from exc


def _refused(rest: ConnectRest, method: str, path: str, answer: HttpAnswer, endpoint: Endpoint) -> MigrationError:
    try:
        said = answer.json()["message"]
    except (ValueError, TypeError, KeyError):
        said = answer.content.decode("utf-8", "replace")
    why = endpoint.hidden(f"{answer.status} {said or answer.reason}")
    if answer.status in (401, 403):
        return NotAuthorized("the worker denies it", cluster=str(rest), why=why, remedy="correct username and password")
    if _may_pass(answer):
        return _MayPass(
            f"the worker could not carry out {method} {path or '/'} within {PATIENCE:g} s",
            cluster=str(rest),
            why=why,
            remedy="wait until its rebalance has ended, see the worker's log, and run the same again",
        )
    if answer.status == http.HTTPStatus.NOT_FOUND and path:
        return NotFound(
            f"{method} {path} is not known there",
            cluster=str(rest),
            why=why,
            remedy="correct the connector's name or the url",
        )
    is_too_old = answer.status == http.HTTPStatus.METHOD_NOT_ALLOWED
    remedy = "use Kafka Connect 3.6 or newer" if is_too_old else None
    return BrokerError(f"{method} {path or '/'} was refused", cluster=str(rest), why=why, remedy=remedy)


def _may_pass(answer: HttpAnswer) -> bool:
    """May the worker answer otherwise soon? An internal error without Kafka Connect's own words is somebody else's.

    A connector that was created just now has no status until a worker has stored one (AbstractHerder.connectorStatus()).
    """
    if answer.status == http.HTTPStatus.NOT_FOUND:
        return b"No status found for connector" in answer.content
    if answer.status != http.HTTPStatus.INTERNAL_SERVER_ERROR:
        return answer.may_pass
    try:
        return "error_code" in answer.json()
    except (ValueError, TypeError):
        return False


def _members(rest: ConnectRest, answer: Json) -> dict[str, t.Any]:
    """A JSON object, or an error."""
    if not isinstance(answer, dict):
        raise _stranger(rest, "its answer is no JSON object")
    return answer


def _stranger(rest: ConnectRest, why: str) -> InvalidInput:
    return InvalidInput(
        "this is not the REST interface of Kafka Connect", cluster=str(rest), why=why, remedy="correct the url"
    )


def _quoted(name: str) -> str:
    return urllib.parse.quote(name, safe="")
