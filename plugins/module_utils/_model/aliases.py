# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Stable aliases in place of names, so that the files of a migration can be given away. Pure.

Nothing is kept but what is known to be no name: a member that nobody has thought of becomes an alias. An alias is an HMAC of
the name, so that nobody can try out names without the key. The parts of a name between dots have aliases of their own: what
a replication policy has put before a topic stays recognizable.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import typing as t

from . import documents

KIND = "support-key"
# Members whose texts are words of the collection or of Kafka.
_KEPT = frozenset(
    {"action", "certificate", "format", "kind", "lost_bound", "match_on", "matched_by", "method", "operation"}
)
_KEPT |= {
    "origin",
    "pattern",
    "permission",
    "phase",
    "reason",
    "ready_since",
    "resource",
    "role",
    "step",
    "type",
    "verdict",
}
_FOR_PEOPLE = frozenset({"detail", "failure", "left_out"})  # texts with names in them
_BY_NAME = frozenset({"logs", "topic_ids"})  # objects whose members are called like topics
# The values of a setting. Those of an offset that was committed are no texts.
_VALUES = frozenset({"after", "before", "during", "written"})
_VALUE = re.compile(r"[a-z\d.,_-]*|[A-Z][A-Za-z]*Time")
_MEMBER = re.compile(r"[a-z]+([._][a-z]+)*")
# What is left of a message once names are aliases: words, numbers, and what the collection itself writes with signs.
_WORD = re.compile(
    r"[A-Za-z]+('s?)?|[-+]?\d[\d,.]*%?|\d{4}-\d\d-\d\dT[\d:]+Z|on_[a-z_]+(=[a-z_]+)?|\W+"
    r"|(match_on|search_limit|topic_map|group_map|topics_map|replication_policy|repartitioned|max_task_retries)"
    r"|group-partitions?|destination-only|read-back|half-way|cut-over|(cleanup|retention|message|min)(\.[a-z]+)+"
    r"|name-[0-9a-f]{12}(\.name-[0-9a-f]{12})*(-\d+)?"
)
_DIGEST = re.compile(r"(streamshift-copy-|)([0-9a-f]{16,64})")
_AROUND = re.compile(r"([\"'(\[{<`]*)(.*?)([\"')\]}>`.,;:!?]*)", re.DOTALL)
_CLIENT = re.compile(r"client (.+?) on ([^\s,;]+)")  # as a refusal names the members of a group


class Aliases:
    """The aliases of a key, and the names that they stand for so far."""

    def __init__(self, key: str) -> None:
        """key: 64 hexadecimal digits."""
        self.key = key
        self._names: dict[str, str] = {}
        self._with_spaces: list[str] = []

    def name(self, name: str) -> str:
        """The alias of a name; the user of an ACL stays recognizable as one, and `*` is everybody."""
        if name in {"", "*", "User:*"}:
            return name
        if name not in self._names:
            self._names[name] = ".".join(map(self._part, name.split(".")))
            if re.search(r"\s", name) or _AROUND.fullmatch(name)[2] != name:  # type: ignore[index]
                self._with_spaces.append(name)
        return self._names[name]

    def _part(self, part: str) -> str:
        """A digest stays one, of the same length, so that the files with aliases are files that can be read."""
        before, digits = _DIGEST.fullmatch(part).groups() if _DIGEST.fullmatch(part) else ("name-", "0" * 12)  # type: ignore[union-attr]
        made = hmac.new(bytes.fromhex(self.key), part.encode(), hashlib.sha256).hexdigest()
        return part and f"{before}{made[: len(digits)]}"

    def text(self, text: str) -> str:
        """A message with aliases in place of all names that are known, and of all words that might be one."""
        text = _CLIENT.sub(lambda found: f"client {self.name(found[1])} on {self.name(found[2])}", text)
        for name in sorted(self._with_spaces, key=len, reverse=True):
            text = text.replace(name, self.name(name))
        return re.sub(r"\S+", lambda found: self._word(found[0]), text)

    def _word(self, word: str) -> str:
        before, core, after = _AROUND.fullmatch(word).groups()  # type: ignore[union-attr]
        topic, hyphen, number = core.rpartition("-")
        if core not in self._names and topic in self._names and number.isdecimal():
            return f"{before}{self.name(topic)}{hyphen}{number}{after}"
        is_name = core in self._names or not _WORD.fullmatch(core)
        return f"{before}{self.name(core) if is_name else core}{after}"

    def value(self, value: t.Any, member: str = "") -> t.Any:
        """JSON with aliases. member: what it is called in the object around it, or the list that it is in."""
        if isinstance(value, dict):
            if member == "versions":
                return value
            return {
                self.name(name) if member in _BY_NAME or not _MEMBER.fullmatch(name) else name: self.value(
                    its, "" if member in _BY_NAME else name
                )
                for name, its in value.items()
            }
        if isinstance(value, list):
            return [self.value(each, member) for each in value]
        if not isinstance(value, str) or member in _KEPT:
            return value
        if (member in _VALUES or "." in member) and _VALUE.fullmatch(value):
            return value
        return self.text(value) if member in _FOR_PEOPLE else self.name(value)

    def document(self, text: str) -> tuple[str, int]:
        """The text of a file with aliases, one entry a line as before, and how many lines are damaged, which it lacks."""
        try:
            whole = self.value(json.loads(text))
            return documents.dumps("", whole, whole.pop("entries")), 0
        except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
            return self._lines(text)

    def _lines(self, text: str) -> tuple[str, int]:
        """The lines of a damaged file that are whole: its head, its entries, and its end."""
        found, damaged = [], 0
        for line in text.splitlines():
            for cut, added in (("", ""), (",", ""), ("", "]}")):
                try:
                    row = self.value(json.loads(line.removesuffix(cut) + added))
                except (ValueError, RecursionError):
                    continue
                found.append(json.dumps(row, ensure_ascii=False).removesuffix(added) + cut)
                break
            else:
                damaged += line != "]}"
        return "\n".join([*found, "]}"]) + "\n", damaged

    def to_json(self) -> str:
        """The text of the key file, with which its owner can tell what an alias stands for."""
        parts = {self._part(part): part for name in self._names for part in name.split(".") if part}
        rows = [{"alias": alias, "name": parts[alias]} for alias in sorted(parts)]
        return documents.dumps(KIND, {"key": self.key}, rows)


def key_from(text: str, path: str) -> str:
    """The key in a key file, or InvalidFile."""
    head, _rows = documents.loads(KIND, text, path)

    def read(row: documents.Json) -> str:
        if not isinstance(row["key"], str) or not re.fullmatch(r"[0-9a-f]{64}", row["key"]):
            raise ValueError("key: it is not 64 hexadecimal digits")
        return row["key"]

    return documents.parse(KIND, path, head, read)
