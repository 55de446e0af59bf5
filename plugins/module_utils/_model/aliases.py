# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Stable aliases in place of names, so that the files of a migration can be given away. Pure.

Nothing is kept but what is known to be no name: a member that nobody has thought of becomes an alias. Texts for people are left
out, because no search finds every name in a sentence. An alias is an HMAC of the name, so that nobody can try out names without
the key. The parts of a name between dots have aliases of their own: what a replication policy has put before a topic stays
recognizable.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import hmac
import json
import re
import typing as t

from . import documents
from .file_rows import Form, read_file

KIND = "support-key"
# Members whose texts are words of the collection or of Kafka.
_KEPT = frozenset({
    "action", "certificate", "chosen", "doubt", "format", "kind", "lost_bound", "match_on", "matched_by", "method", "operation",
    "origin", "pattern", "permission", "phase", "reason", "ready_since", "resource", "role", "step", "type", "verdict", "way",
})  # fmt: skip
_FOR_PEOPLE = frozenset({"detail", "failure", "left_out", "told"})  # texts with names in them
LEFT_OUT = "not in the bundle"  # in place of each, because it helps to know that there was one
# Objects whose members are called like topics or groups.
BY_NAME = frozenset({"commits", "ends", "lines", "logs", "topic_ids"})
# The values of a setting: numbers, and Kafka's own words. Those of an offset that was committed are no texts.
_VALUES = frozenset({"after", "before", "during", "written"})
_VALUE = re.compile(
    r"-?\d*(\.\d+)*(-IV\d+)?|true|false|(compact|delete)(,(compact|delete))?|CreateTime|LogAppendTime"
    r"|producer|uncompressed|none|gzip|snappy|lz4|zstd"
)
_MEMBER = re.compile(r"[a-z]+([._][a-z]+)*")
_DIGEST = re.compile(r"(streamshift-copy-|)([0-9a-f]{16,64})")


class Aliases:
    """The aliases of a key, and the names that they stand for so far."""

    def __init__(self, key: str) -> None:
        """key: 64 hexadecimal digits."""
        self.key = key
        self._names: dict[str, str] = {}

    def name(self, name: str) -> str:
        """The alias of a name. In ACLs, `*` is everybody."""
        if name in {"", "*", "User:*"}:
            return name
        if name not in self._names:
            self._names[name] = ".".join(map(self._part, name.split(".")))
        return self._names[name]

    def _part(self, part: str) -> str:
        """A digest stays one, of the same length, so that the files with aliases are files that can be read."""
        digest = _DIGEST.fullmatch(part)
        before, length = (digest[1], len(digest[2])) if digest else ("name-", 12)
        made = hmac.new(bytes.fromhex(self.key), part.encode(), hashlib.sha256).hexdigest()
        return part and f"{before}{made[:length]}"

    def document(self, text: str) -> tuple[str, int]:
        """The text of a file with aliases, one entry a line as before, and how many lines are damaged, which it lacks."""
        document, damaged = _parsed(text)
        made = self._value(document, "")
        return documents.dumps("", made, made.pop("entries")), damaged

    def _value(self, value: t.Any, member: str) -> t.Any:
        """JSON with aliases. member: what it is called in the object around it, or the list that it is in."""
        if isinstance(value, dict):
            if member == "versions":
                return value
            by_name = member in BY_NAME
            return {
                self.name(name) if by_name or not _is_member(name) else name: self._value(
                    child, "" if by_name else name
                )
                for name, child in value.items()
            }
        if isinstance(value, list):
            return [self._value(each, member) for each in value]
        if not isinstance(value, str) or member in _KEPT:
            return value
        if member in _FOR_PEOPLE:
            return value and LEFT_OUT
        if (member in _VALUES or "." in member) and _VALUE.fullmatch(value):
            return value
        return self.name(value)

    def to_json(self) -> str:
        """The text of the key file, with which its owner can tell what an alias stands for."""
        parts = {self._part(part): part for name in self._names for part in name.split(".") if part}
        rows = [{"alias": alias, "name": parts[alias]} for alias in sorted(parts)]
        return documents.dumps(KIND, {"key": self.key}, rows)


@functools.cache
def _is_member(name: str) -> bool:
    return _MEMBER.fullmatch(name) is not None


def _parsed(text: str) -> tuple[documents.Json, int]:
    """A document, and how many of its lines are damaged. Of a damaged one, the lines that are whole."""
    with contextlib.suppress(ValueError, RecursionError):
        whole = json.loads(text)
        if isinstance(whole, dict) and isinstance(whole.get("entries"), list):
            return whole, 0
    head: documents.Json = {}
    rows, damaged = [], 0
    for line in text.splitlines():
        for complete in (line, line.removesuffix(","), f"{line}]}}"):
            with contextlib.suppress(ValueError, RecursionError):
                row = json.loads(complete)
                if isinstance(row, dict) and row.pop("entries", None) is not None:
                    head = row
                else:
                    rows.append(row)
                break
        else:
            damaged += line != "]}"
    return {**head, "entries": rows}, damaged


class _KeyFile(t.NamedTuple):
    key: t.Annotated[str, Form(_key_of)]


def key_from(text: str, path: str) -> str:
    """The key in a key file, or InvalidFile."""
    return read_file(KIND, text, path, _KeyFile).key


def _key_of(value: t.Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[0-9a-f]{64}", value):
        raise ValueError("it is not 64 hexadecimal digits")
    return value
