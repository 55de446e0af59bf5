# SPDX-License-Identifier: GPL-3.0-or-later

"""A committed offset, both logs as they can be read, and what only the world knows: which copy came from which record.

In text, as findings about the rule are written down (offsets count up from the one before, where they are left out):

    S 0:a@0 1:x@0(open) 2:c@0(open) 3:a@0(open)
    T 0:a@0<0 1:x@0<1 2:c@0<2 3:a@0<3
    C=1 stable=1

`(aborted)`, `(open)` and `(marker)` say what a record belongs to or is; `(gone)` records have expired or were compacted
away; `(L)` marks a time that the destination's broker has stamped. `<3` is the source offset that a copy came from, without
it a record is destination-only. `F` lists copies that the replication tool is still to write. Times are milliseconds after
NOON; `@-` is no timestamp, `@=0` the epoch plus 0.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

NOON = 10_000_000_000  # some time, in milliseconds since the epoch
HOUR = 3_600_000
NO_TIME = -1


_Made = t.TypeVar("_Made")


class Lately(t.Generic[_Made]):
    """What was made of things last, which are told apart by who they are: to compare logs record by record takes long."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[tuple[int, ...], tuple[object, object, _Made]] = {}

    def of(self, things: tuple[object, ...], rest: object, make: t.Callable[[], _Made]) -> _Made:
        """rest: what has to be equal beside the things."""
        key = tuple(map(id, things))
        known = self._known.pop(key, None)
        if known is None or known[1] != rest:
            known = things, rest, make()  # it keeps the things, so that nobody else gets their ids
        self._known[key] = known
        if len(self._known) > self._most:
            del self._known[next(iter(self._known))]
        return known[2]


class Original(t.NamedTuple):
    """What a producer wrote at the source. kind: data, aborted, open (in an open transaction) or marker."""

    offset: int
    time: int
    text: str
    kind: str = "data"
    gone: bool = False


class Copy(t.NamedTuple):
    """A record of the destination. origin: the offset of the original, None for a destination-only record.

    kind: data, aborted or marker. stamped: the broker has set the time.
    """

    offset: int
    time: int
    text: str
    origin: int | None = None
    kind: str = "data"
    stamped: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Edges:
    """One log's edges and settings; stable is the last stable offset, end the high watermark."""

    start: int
    stable: int
    end: int
    append_time: bool = False
    compacted: bool = False
    retention_ms: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """The user's options, with their defaults; see the rule's Policy."""

    on_expired: str = "count_back"
    on_no_anchor: str = "by_retention"
    with_timestamp: bool = True
    search_limit: int = 100_000
    now: int = NOON + HOUR


@dataclasses.dataclass(frozen=True)
class Case:
    """One position in one world. to_come: first copies that the replication tool has still to write, in their order."""

    committed: int
    source: tuple[Original, ...]
    source_edges: Edges
    destination: tuple[Copy, ...]
    destination_edges: Edges
    to_come: tuple[Copy, ...] = ()
    options: Options = Options()
    scaled: int = 0

    def __str__(self) -> str:
        lines = [_line("S", map(_original, self.source)), _line("T", map(_copy, self.destination))]
        if self.to_come:
            lines.append(_line("F", (_copy(copy).partition(":")[2] for copy in self.to_come)))
        return "\n".join([*lines, " ".join([f"C={self.committed}", *self._settings()])])

    def _settings(self) -> t.Iterator[str]:
        plain = _edges(self.source, {})
        for name, value in _differences(self.source_edges, plain):
            yield f"{name}={value}"
        for name, value in _differences(self.destination_edges, _edges(self.destination, {})):
            yield f"T.{name}={value}"
        for name, value in _differences(self.options, Options()):
            yield f"{name}={value}"
        if self.scaled:
            yield f"scaled={self.scaled}"


def _differences(value: t.Any, plain: t.Any) -> t.Iterator[tuple[str, t.Any]]:
    for field in dataclasses.fields(value):
        if getattr(value, field.name) != getattr(plain, field.name):
            yield field.name, getattr(value, field.name)


def _line(name: str, words: t.Iterable[str]) -> str:
    return " ".join([name, *words])


def _time(time: int) -> str:
    return "-" if time == NO_TIME else f"={time}" if time < NOON // 2 else str(time - NOON)


def _original(record: Original) -> str:
    flags = ("" if record.kind == "data" else f"({record.kind})") + ("(gone)" if record.gone else "")
    return f"{record.offset}:{record.text or '_'}@{_time(record.time)}{flags}"


def _copy(copy: Copy) -> str:
    flags = ("" if copy.kind == "data" else f"({copy.kind})") + ("(L)" if copy.stamped else "")
    origin = "" if copy.origin is None else f"<{copy.origin}"
    return f"{copy.offset}:{copy.text or '_'}@{_time(copy.time)}{flags}{origin}"


_WORD = re.compile(r"(?:(\d+):)?([^@<(]+)(?:@(-?=?\d+|-))?((?:\([a-zL]+\))*)(?:<(\d+))?((?:\([a-zL]+\))*)")


def parse(text: str) -> Case:
    """The case that str() wrote, or that somebody has written by hand. Raises ValueError for what is not understood."""
    words = {"S": [], "T": [], "F": []}  # type: dict[str, list[str]]
    settings: dict[str, str] = {}
    current: list[str] | None = None
    for word in text.replace("|", " ").replace(";", " ").split():
        if word in words:
            current = words[word]
        elif "=" in word and "@" not in word:
            name, _unused, value = word.partition("=")
            settings[name] = value
        elif current is None:
            raise ValueError(f"{word!r} stands before S, T or F")
        else:
            current.append(word)
    source = tuple(
        Original(offset, time, "" if kind == "marker" else content, kind, "gone" in flags)
        for offset, content, time, kind, flags, _origin in _parsed(words["S"])
    )
    copies = {
        name: tuple(
            Copy(offset, time, "" if kind == "marker" else content, origin, kind, "L" in flags)
            for offset, content, time, kind, flags, origin in _parsed(words[name])
        )
        for name in ("T", "F")
    }
    options = {field.name: settings[field.name] for field in dataclasses.fields(Options) if field.name in settings}
    return Case(
        int(settings["C"]),
        source,
        _edges(source, settings),
        copies["T"],
        _edges(copies["T"], {name[2:]: value for name, value in settings.items() if name.startswith("T.")}),
        tuple(copy._replace(offset=-1) for copy in copies["F"]),
        Options(**{name: _value(value) for name, value in options.items()}),
        int(settings.get("scaled", 0)),
    )


def _parsed(words: list[str]) -> t.Iterator[tuple[int, str, int, str, set[str], int | None]]:
    offset = 0
    for word in words:
        match = _WORD.fullmatch(word)
        if match is None:
            raise ValueError(f"{word!r} is not understood; write offset:content@time<origin, as in 3:a@5<1")
        offset = int(match[1] or offset)
        flags = set(re.findall(r"\w+", match[4] + match[6]))
        kind = next((kind for kind in ("aborted", "open", "marker") if kind in flags), "data")
        raw = match[3] or str(offset)
        time = NO_TIME if raw == "-" else int(raw[1:]) if raw.startswith("=") else NOON + int(raw)
        yield offset, match[2], time, kind, flags, None if match[5] is None else int(match[5])
        offset += 1


def _edges(records: t.Sequence[Original | Copy], settings: t.Mapping[str, str]) -> Edges:
    """What the records say of their log's edges, unless it is set."""
    end = int(settings.get("end", records[-1].offset + 1 if records else 0))
    open_from = next((record.offset for record in records if record.kind == "open"), end)
    left = [record.offset for record in records if not getattr(record, "gone", False)]
    first = min(left, default=end)
    if not any(getattr(record, "gone", False) for record in records):
        first = records[0].offset if records else 0
    retention = settings.get("retention_ms", "None")
    return Edges(
        int(settings.get("start", first)),
        int(settings.get("stable", open_from)),
        end,
        settings.get("append_time", str(bool(records) and all(getattr(r, "stamped", False) for r in records)))
        == "True",
        settings.get("compacted") == "True",
        None if retention == "None" else int(retention),
    )


def _value(text: str) -> t.Any:
    if text in ("True", "False"):
        return text == "True"
    return int(text) if text.lstrip("-").isdigit() else text
