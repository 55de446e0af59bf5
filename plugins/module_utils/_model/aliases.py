# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Stable aliases in place of names, so that the files of a migration can be given away. Pure.

Nothing is kept but what is known to be no name: a member that nobody has thought of becomes an alias. An alias is an HMAC of
the name, so that nobody can try out names without the key. The parts of a name between dots have aliases of their own: what
a replication policy has put before a topic stays recognizable.
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
from .errors import BLANKS
from .file_rows import Form, read_file
from .visible_text import visible

KIND = "support-key"
# Members whose texts are words of the collection or of Kafka.
_KEPT = frozenset({
    "action", "certificate", "chosen", "format", "kind", "lost_bound", "match_on", "matched_by", "method", "operation",
    "origin", "pattern", "permission", "phase", "reason", "ready_since", "resource", "role", "step", "type", "verdict", "way",
})  # fmt: skip
_FOR_PEOPLE = frozenset({"detail", "doubt", "failure", "left_out"})  # texts with names in them
# Objects whose members are called like topics or groups.
BY_NAME = frozenset({"commits", "ends", "lines", "logs", "topic_ids"})
# The values of a setting: numbers, and Kafka's own words. Those of an offset that was committed are no texts.
_VALUES = frozenset({"after", "before", "during", "written"})
_VALUE = re.compile(
    r"-?\d*(\.\d+)*(-IV\d+)?|true|false|(compact|delete)(,(compact|delete))?|CreateTime|LogAppendTime"
    r"|producer|uncompressed|none|gzip|snappy|lz4|zstd"
)
# Options that texts of files name; those that begin with on_ need not be listed.
_OPTIONS = (
    "exclude_group_patterns", "exclude_topic_patterns", "group_map", "match_on", "repartitioned", "replication_policy",
    "schema_registry", "search_limit", "spark_limit", "topic_map", "wait_for_replication",
)  # fmt: skip
_MEMBER = re.compile(r"[a-z]+([._][a-z]+)*")
# What is left of a message once names are aliases: words, numbers, and what the collection itself writes with signs.
_WORD = re.compile(
    r"[A-Za-z]+('s?)?|[-+]?\d[\d,]*(\.\d+){0,2}%?|\d{4}-\d\d-\d\dT[\d:]+Z|on_[a-z_]+(=[a-z_]+)?|\W+"
    rf"|{'|'.join(_OPTIONS)}|max_task_retries"
    r"|group-partitions?|destination-only|read-back|half-way|cut-over|(cleanup|retention|message|min)(\.[a-z]+)+"
    r"|name-[0-9a-f]{12}(\.name-[0-9a-f]{12})*(-\d+)?"
)
_DIGEST = re.compile(r"(streamshift-copy-|)([0-9a-f]{16,64})")
_AROUND = re.compile(r"([\"'(\[{<`]*)(.*?)([\"')\]}>`.,;:!?]*)", re.DOTALL)
_CLIENT = re.compile(r"client (.+?) on ([^\s,;]+)")  # as a refusal names the members of a group
_CLUSTER = re.compile(r"cluster (\S+) \((\S+)\)")  # as an error names a host of the inventory and its brokers
# The same without brokers.
_NAMED_CLUSTER = re.compile(r"(^|\b(?:source|destination) )cluster (\S+?)(?=[:,]\s)", re.MULTILINE)
# As an error says where it is, and what is the matter with a group.
_PLACE = re.compile(
    r"\b(group|topic|connector) (?!that |which |')(\S+?)(?=: |, (?:topic|partition) | (?:is|has|was|lags) )"
)
# What a line about something that is left out has before its colon, besides names.
_BESIDE_NAMES = frozenset({"the", "group", "groups", "with", "empty", "name", "to", "and", "more", "called", "like"})


class Aliases:
    """The aliases of a key, and the names that they stand for so far."""

    def __init__(self, key: str) -> None:
        """key: 64 hexadecimal digits."""
        self.key = key
        self._names: dict[str, str] = {}
        self._with_spaces: dict[str, str] = {}  # as messages show them

    def name(self, name: str) -> str:
        """The alias of a name; the user of an ACL stays recognizable as one, and `*` is everybody."""
        if name in {"", "*", "User:*"}:
            return name
        if name not in self._names:
            self._names[name] = self._parts(name)
            if re.search(r"\s", name) or _AROUND.fullmatch(name)[2] != name:  # type: ignore[index]
                self._with_spaces.update(dict.fromkeys((name, visible(name), visible(name.translate(BLANKS))), name))
        return self._names[name]

    def _parts(self, name: str) -> str:
        return ".".join(map(self._part, name.split(".")))

    def _part(self, part: str) -> str:
        """A digest stays one, of the same length, so that the files with aliases are files that can be read."""
        before, digits = _DIGEST.fullmatch(part).groups() if _DIGEST.fullmatch(part) else ("name-", "0" * 12)  # type: ignore[union-attr]
        made = hmac.new(bytes.fromhex(self.key), part.encode(), hashlib.sha256).hexdigest()
        return part and f"{before}{made[: len(digits)]}"

    def text(self, text: str) -> str:
        """A message with aliases in place of all names that are known, and of all words that might be one."""
        text = _CLIENT.sub(lambda match: f"client {self.name(match[1])} on {self.name(match[2])}", text)
        text = _CLUSTER.sub(lambda match: f"cluster {self.name(match[1])} ({self.name(match[2])})", text)
        text = _NAMED_CLUSTER.sub(lambda match: f"{match[1]}cluster {self.name(match[2])}", text)
        text = _PLACE.sub(lambda match: f"{match[1]} {self.name(match[2])}", text)
        for shown in sorted(self._with_spaces, key=len, reverse=True):
            text = text.replace(shown, self.name(self._with_spaces[shown]))
        return re.sub(r"\S+", lambda match: self._word(match[0]), text)

    def _word(self, word: str) -> str:
        if word.isalpha() and word.isascii() and word not in self._names:  # most are
            return word
        before, core, after = _AROUND.fullmatch(word).groups()  # type: ignore[union-attr]
        topic, hyphen, number = core.rpartition("-")
        if core not in self._names and topic in self._names and number.isdecimal():
            return f"{before}{self.name(topic)}{hyphen}{number}{after}"
        is_name = core in self._names or not _WORD.fullmatch(core)
        return f"{before}{self.name(core) if is_name else core}{after}"

    def learn(self, text: str) -> None:
        """Take in the names of a file, because the messages of one file name what another one lists."""
        document, _damaged = _parsed(text)
        self._value(document, "", learns=True)

    def _left_out(self, line: str) -> None:
        """Take in the names that a line about something left out begins with: no other file may have them."""
        names, colon, _why = line.partition(": ")
        for word in names.split() if colon else ():
            name = re.sub(r"-\d+$", "", _AROUND.fullmatch(word)[2])  # type: ignore[index]
            if name not in _BESIDE_NAMES and not name.isdecimal():
                self.name(name)

    def document(self, text: str) -> tuple[str, int]:
        """The text of a file with aliases, one entry a line as before, and how many lines are damaged, which it lacks."""
        document, damaged = _parsed(text)
        made = self._value(document, "", learns=False)
        return documents.dumps("", made, made.pop("entries")), damaged

    def _value(self, value: t.Any, member: str, *, learns: bool) -> t.Any:
        """JSON with aliases. member: what it is called in the object around it, or the list that it is in."""
        if isinstance(value, dict):
            if member == "versions":
                return value
            by_name = member in BY_NAME
            return {
                self.name(name) if by_name or not _is_member(name) else name: self._value(
                    child, "" if by_name else name, learns=learns
                )
                for name, child in value.items()
            }
        if isinstance(value, list):
            return [self._value(each, member, learns=learns) for each in value]
        if not isinstance(value, str) or member in _KEPT:
            return value
        if (member in _VALUES or "." in member) and _VALUE.fullmatch(value):
            return value
        if member in _FOR_PEOPLE:
            if learns and member == "left_out":
                self._left_out(value)
            return value if learns else self.text(value)
        if member == "own_prefix":  # taken for a name, it would be replaced within the names that begin with it
            return self._names.setdefault(value, self._parts(value))
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
