# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The common shape of the collection's files: JSON with a format name and version, one entry a line.

    {"format": "streamshift.kafka/plan", "version": 1, ..., "entries": [
    {...},
    {...}
    ]}

Equal content gives equal bytes, so a second run leaves a file untouched, and `git diff` shows single entries.
"""

from __future__ import annotations

import contextlib
import json
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidFile

Json = dict[str, t.Any]
VERSION = 1
_PREFIX = "streamshift.kafka/"
# What can be done about a file that cannot be used. A receipt cannot be made again: it holds what is gone elsewhere.
_AGAIN = {
    "snapshot": "remove it, and take the snapshot again",
    "plan": "remove it, and let the plan be made again",
    "copy": "restore it from a backup: without it nobody knows how far the copy is",
    "receipt": "restore it from a backup: without it nothing can be rolled back",
    "report": "remove it, and verify the plan again",
    "connect-receipt": "restore it from a backup: without it nothing can be rolled back",
}
_T = t.TypeVar("_T")


def dumps(kind: str, head: Json, entries: t.Iterable[Json]) -> str:
    """Write a document of a kind (snapshot, plan, receipt): head's members in order, then the entries in order."""
    members = {"format": _PREFIX + kind, "version": VERSION, **head}
    start = json.dumps(members, ensure_ascii=False)[:-1]
    rows = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
    return f'{start}, "entries": [\n{rows}\n]}}\n' if rows else f'{start}, "entries": []}}\n'


def loads(kind: str, text: str, path: str) -> tuple[Json, list[Json]]:
    """Read a document of a kind: its head and its entries.

    Raises InvalidFile when the text is not JSON, of another kind, or of a version that this release cannot read.
    """
    try:
        document = json.loads(text)
    except ValueError as exc:
        raise InvalidFile(
            f"the {kind} file {path} is damaged",
            why=f"it is not JSON ({exc})",
            remedy=_AGAIN[kind],
        ) from exc
    found = document.get("format") if isinstance(document, dict) else None
    if found != _PREFIX + kind:
        raise InvalidFile(
            f"{path} is not a {kind} file",
            why=f"its format is {found!r}, not {_PREFIX + kind!r}",
            remedy="correct the path, or move that file away",
        )
    if document.get("version") != VERSION:
        raise InvalidFile(
            f"the {kind} file {path} has version {document.get('version')!r}, and this release reads version {VERSION}",
            remedy="use the release that wrote it" + (f", or {_AGAIN[kind]}" if kind != "receipt" else ""),
        )
    entries = document.get("entries")
    if not isinstance(entries, list):
        raise damaged(kind, path, "it has no list of entries")
    return document, entries


def parse(kind: str, path: str, row: t.Any, build: t.Callable[[t.Any], _T]) -> _T:
    """Build one object from JSON, turning whatever is missing or of a wrong type into InvalidFile."""
    try:
        return build(row)
    except KeyError as exc:
        why = f"{exc} is missing"
    except ValueError as exc:
        why = str(exc)
    except (TypeError, AttributeError):  # in Python's words, which say nothing of the file
        why = "it is not built as the format says"
    raise damaged(kind, path, f"{why}, in {_shown(row)}")


def damaged(kind: str, path: str, why: str) -> InvalidFile:
    """The error for a file that has the right format name, but not its members."""
    return InvalidFile(f"the {kind} file {path} is damaged", why=why, remedy=_AGAIN[kind])


def text_of(value: t.Any) -> str:
    """A JSON string, or ValueError; also for half a character, which neither Kafka nor a file can hold."""
    if isinstance(value, str):
        with contextlib.suppress(UnicodeEncodeError):
            value.encode()
            return value
    raise ValueError(f"{_shown(value)} is not a text")


def offset_of(value: t.Any) -> int:
    """A JSON integer from 0 on, of Kafka's 64 bits, or ValueError: a masked or rounded offset must never be committed."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise ValueError(f"{_shown(value)} is not an offset")
    return value


def _shown(value: t.Any) -> str:
    """As it stands in the file, or the beginning of it; half characters escaped."""
    return json.dumps(value, ensure_ascii=False)[:200].encode(errors="backslashreplace").decode()
