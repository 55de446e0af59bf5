# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which ids of schemas a schema registry knows, and which ids records carry.

https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/index.html#wire-format, and the
interface that Confluent's registry, Karapace and Apicurio (below /apis/ccompat/v7) share.
"""

from __future__ import annotations

import functools
import time
import typing as t
import urllib.parse

from .._http.http_json import HttpAnswer, HttpService, ask, ask_patiently
from .._model.errors import BrokerError, InvalidInput, MigrationError, NotAuthorized
from .._model.option_names import option_name

_SECONDS = 10.0  # for an answer
_PATIENCE = 2.0  # seconds, for a registry that elects a leader
_LIMIT = 1 << 24  # bytes of an answer: a schema
# A registry's error_code for no such subject, version or schema. Apicurio has all of them for ids.
_UNKNOWN = (40401, 40402, 40403)
_MAGIC, _HEAD = b"\0", 5  # a byte, and four of the id


class SchemaRegistry(HttpService):
    """A schema registry."""

    __slots__ = ()
    NAME = "schema registry"


class SubjectId(t.NamedTuple):
    """An id of a schema, and the subject that records with it have by the names of their topic, such as orders-value."""

    number: int
    subject: str


class KnownIds(t.NamedTuple):
    """unknown: what the registry does not have. not_asked: that for which there was no time."""

    unknown: frozenset[SubjectId]
    not_asked: frozenset[SubjectId] = frozenset()


def known_ids(registry: SchemaRegistry, ids: t.Collection[SubjectId], seconds: float) -> KnownIds:
    """Ask for each id, for so many seconds at most.

    An id that the registry's default context lacks may be in the one that has the subject, where consumers find it, too.
    Raises ConnectionFailed, NotAuthorized, BrokerError or InvalidInput at the first answer that is none of a registry.
    """
    in_default = functools.cache(functools.partial(_is_known, registry))
    unknown = set()
    end = time.monotonic() + seconds
    left = sorted(ids)
    while left and time.monotonic() < end:
        number, subject = asked = left.pop(0)
        if not in_default(number) and not _is_known(registry, number, f"?subject={urllib.parse.quote(subject)}"):
            unknown.add(asked)
    return KnownIds(frozenset(unknown), frozenset(left))


def schema_id(content: bytes | None) -> int | None:
    """The id of a schema at the begin of a key or value; None where there is none."""
    if content is None or len(content) <= _HEAD or content[:1] != _MAGIC:
        return None
    number = int.from_bytes(content[1:_HEAD], signed=True)
    return number if number > 0 else None


def schema_ids(contents: t.Iterable[bytes | None]) -> frozenset[int]:
    """The ids in keys, or in values, of one topic. Binary data may begin like an id: none unless all of them do."""
    ids = [schema_id(content) for content in contents if content is not None]
    return frozenset(number for number in ids if number is not None) if all(ids) else frozenset()


def _is_known(registry: SchemaRegistry, number: int, query: str = "") -> bool:
    endpoint = registry.endpoint(_SECONDS, _LIMIT)
    url = f"{registry.url.rstrip('/')}/schemas/ids/{number}{query}"
    answer = ask_patiently(functools.partial(ask, endpoint, "GET", url), _PATIENCE)
    try:
        content = answer.json()
    except ValueError as exc:
        raise _refused(registry, answer, endpoint.hidden(str(exc))) from exc
    told = content if isinstance(content, dict) else {}
    if answer.is_success and isinstance(told.get("schema"), str):
        return True
    if answer.status == 404 and told.get("error_code") in _UNKNOWN:
        return False
    raise _refused(registry, answer, endpoint.hidden(str(told.get("message") or "its answer is not one of a registry")))


def _refused(registry: SchemaRegistry, answer: HttpAnswer, why: str) -> MigrationError:
    why = f"{answer.status} {why}"
    option = option_name("schema_registry")
    if answer.status in (401, 403):
        remedy = f"correct username and password of {option}"
        return NotAuthorized("the schema registry denies it", cluster=str(registry), why=why, remedy=remedy)
    if answer.may_pass:
        remedy = "see its log, and assess again"
        return BrokerError("the schema registry cannot answer", cluster=str(registry), why=why, remedy=remedy)
    remedy = f"correct the url of {option}"
    return InvalidInput("this is not a schema registry", cluster=str(registry), why=why, remedy=remedy)
