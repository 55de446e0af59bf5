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
import enum
import functools
import io
import json
import re
import time
import typing as t

from .background import without_collecting
from .errors import FileDamaged, InvalidFile
from .option_names import path_option
from .visible_text import shortened
from .wording import first_of

Json = dict[str, t.Any]
VERSION = 1
LONGEST_TEXT = (1 << 15) - 1  # bytes of UTF-8: Kafka's protocol gives the length of a string as INT16
_PREFIX = "streamshift.kafka/"
_KEPT = "restore it from the newest folder in history/ that has one, or from a backup"
# What can be done about a file that cannot be used. A receipt cannot be made again: it holds what is gone elsewhere.
_AGAIN = {
    "snapshot": "use another one, or remove it and take the snapshot again",
    "plan": "correct what was edited, or remove it and let the plan be made again",
    "copy": f"{_KEPT}: without it nobody knows how far the copy is",
    "receipt": f"{_KEPT}: without it nothing can be rolled back",
    "removed": f"{_KEPT}: without it the removed groups cannot be made again",
    "report": "remove it, and verify the plan again",
    "run": "remove it: the next report is made without it",
    "support-key": "remove it: the next bundle has other aliases",
    "status": "remove it, and run the next round: without it, groups in rounds look as if they were migrated or returned",
    "migration-status": "remove it, or name another path",
    "assessment": "remove it, and assess again",
    "lease": "remove it, if no run works in the directory",
    "connect-receipt": f"{_KEPT}: without it nothing can be rolled back",
    "topics": "remove it, and plan the promotion again",
    "topics-receipt": f"{_KEPT}: without it nothing can be rolled back",
}
_BEGINNING = re.compile(rf'\ufeff?\s*\{{\s*"format"\s*:\s*"{re.escape(_PREFIX)}([\w-]+)"')
_OPENING, _CLOSING = '"entries": [', "\n]}\n"
_AT_ONCE = 1 << 16  # characters of entries that are read at a time, or one longer entry
_LONGEST_HEAD = 1 << 20  # characters: a longer first line is read with the rest of the document
KINDS = ("snapshot", "plan", "receipt", "report", "copy")  # what people query
_DAMAGE = KeyError, ValueError, TypeError, AttributeError  # of what a file does not hold as its format says
_T = t.TypeVar("_T")
_Choice = t.TypeVar("_Choice", bound=enum.StrEnum)


def dumps(kind: str, head: Json, entries: t.Iterable[Json]) -> str:
    """Write a document of a kind (snapshot, plan, receipt): head's members in order, then the entries in order."""
    members = {"format": _PREFIX + kind, "version": VERSION, **head}
    start = json.dumps(members, ensure_ascii=False)[:-1]
    encode = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode  # json.dumps() makes one for each entry
    text = io.StringIO()
    text.write(f"{start}, {_OPENING}")
    separator = "\n"
    for entry in entries:
        text.write(separator)
        text.write(encode(entry))
        separator = ",\n"
    text.write("]}\n" if separator == "\n" else _CLOSING)
    return text.getvalue()


def loads(kind: str, text: str, path: str) -> tuple[Json, t.Iterable[t.Any]]:
    """Read a document of a kind: its head and its entries, which can be iterated once.

    Raises InvalidFile when the text is not JSON, of another kind, or of a version that this release cannot read; for an entry
    that is not JSON when the iteration comes to it.
    """
    head = _head(text)
    if head is not None:
        _check(kind, head, path)
        return head, _rows(kind, text, path)
    document = _whole(kind, text, path)
    _check(kind, document, path)
    return document, document["entries"]


def kind_of(text: str) -> str | None:
    """The kind of a document by its beginning, whatever follows; None for any other file."""
    shape = _BEGINNING.match(text)
    return None if shape is None else shape[1]


def _head(text: str) -> Json | None:
    """The head of a document with one entry a line, as dumps() writes it; None for another layout."""
    first, _newline, _rest = text[:_LONGEST_HEAD].partition("\n")
    if not first.endswith(_OPENING) or not text.endswith(_CLOSING):
        return None
    with contextlib.suppress(ValueError):
        head = json_of(first + "]}")
        return head if isinstance(head, dict) and head.get("entries") == [] else None
    return None


def _rows(kind: str, text: str, path: str) -> t.Iterator[t.Any]:
    """The entries, some lines at a time: all of a large document at once take several times the memory of its text."""
    decoder = json.JSONDecoder(object_pairs_hook=_members_once)
    begin, end = text.index("\n") + 1, len(text) - len(_CLOSING)
    count = 0
    while begin <= end:
        stop = text.find("\n", min(begin + _AT_ONCE, end), end)
        is_last = stop == -1
        lines = text[begin : end if is_last else stop]
        try:
            if not lines or (not is_last and not lines.endswith(",")):
                raise ValueError("there is nothing, or more on the next line")
            rows = decoder.decode(f"[{lines if is_last else lines[:-1]}]")
        except (ValueError, RecursionError):
            # Damaged, or somebody has edited it.
            yield from _whole(kind, text, path)["entries"][count:]
            return
        yield from rows
        count += len(rows)
        begin = end + 1 if is_last else stop + 1


def _whole(kind: str, text: str, path: str) -> t.Any:
    try:
        return json_of(text)
    except ValueError as exc:
        raise damaged(kind, path, str(exc)) from exc


def _check(kind: str, document: t.Any, path: str) -> None:
    """Raise InvalidFile for a document of another kind or version."""
    file_format = document.get("format") if isinstance(document, dict) else None
    again = _AGAIN[kind]
    is_kept = again.startswith(_KEPT)
    if file_format != _PREFIX + kind:
        correct = f"correct {path_option()}"
        # Without a file that was moved away, a run goes on as if it had never been there.
        remedy = f"{again}; or {correct}" if is_kept else f"{correct}, or move that file away"
        raise FileDamaged(
            f"{path} is not a {kind} file",
            why=f"its format is {_shown(file_format)}, not {_shown(_PREFIX + kind)}",
            remedy=remedy,
        )
    if document.get("version") != VERSION:
        raise FileDamaged(
            f"the {kind} file {path} has version {_shown(document.get('version'))}, and this release reads version {VERSION}",
            remedy="use the release that wrote it" + ("" if is_kept else f", or {again}"),
        )
    if not isinstance(document.get("entries"), list):
        raise damaged(kind, path, "it has no list of entries")


def loads_any(text: str, path: str) -> Json:
    """Read a document of any kind of a migration, as a whole. Raises InvalidFile as loads() does."""
    try:
        document = json_of(text)
        file_format = document.get("format") if isinstance(document, dict) else None
        if file_format not in [_PREFIX + kind for kind in KINDS]:
            formats = f"{_PREFIX}{', '.join(KINDS)}"
            raise ValueError(f"its format is {_shown(file_format)}, and those of a migration are {formats}")
    except ValueError as exc:
        raise InvalidFile(f"{path} is no file of a migration", why=str(exc), remedy="correct the path") from exc
    whole: Json = document
    _check(file_format.removeprefix(_PREFIX), whole, path)
    return whole


def parse_entries(kind: str, path: str, rows: t.Iterable[t.Any], build: t.Callable[[t.Any], _T]) -> tuple[_T, ...]:
    """As parse(), for all entries of a document; the error says which of them it is about, counted from 1."""
    made, wrong = [], []
    with without_collecting():
        for number, row in enumerate(rows, 1):
            try:
                made.append(build(row))
            except _DAMAGE as exc:
                wrong.append(f"entry {number}: {_why(exc, row)}")
    if wrong:
        raise damaged(kind, path, first_of(wrong, between="; "))
    return tuple(made)


def check_once(
    kind: str, path: str, keys: t.Iterable[tuple[t.Any, ...]], twice: str = "group {} has two entries for {}"
) -> None:
    """Raise InvalidFile where two entries have one key. twice: what the error says of its parts."""
    seen = set()
    for key in keys:
        if key in seen:
            raise damaged(kind, path, twice.format(*key))
        seen.add(key)


def check_among(kind: str, path: str, groups: t.Iterable[str], named: t.Iterable[str], what: str = "an entry") -> None:
    """Raise InvalidFile where a group is named that is not among the groups of a file. what: what it has."""
    known = set(groups)
    strange = next((name for name in named if name not in known), None)
    if strange is not None:
        raise damaged(kind, path, f"group {strange} has {what} and is not among the groups")


def parse(kind: str, path: str, head: t.Any, build: t.Callable[[t.Any], _T]) -> _T:
    """The same of the head of a document. Whatever is missing or of a wrong type becomes InvalidFile, which shows it."""
    try:
        return build(head)
    except _DAMAGE as exc:
        raise damaged(kind, path, f"its head: {_why(exc, head)}") from exc


def _why(exc: Exception, row: t.Any) -> str:
    if isinstance(exc, KeyError):
        why = f"{exc} is missing"
    elif isinstance(exc, ValueError):
        why = str(exc)
    else:  # in Python's words, which say nothing of the file
        why = "it is not built as the format says"
    return f"{why}, in {_shown(row)}"


def damaged(kind: str, path: str, why: str) -> InvalidFile:
    """The error for a file that has the right format name, but not its members."""
    return FileDamaged(f"the {kind} file {path} is damaged", why=why, remedy=_AGAIN[kind])


def text_of(value: t.Any) -> str:
    """A JSON string, or ValueError; also for half a character, which neither Kafka nor a file can hold."""
    if isinstance(value, str):
        if value.isascii():  # nearly all are, and a file has millions
            return value
        with contextlib.suppress(UnicodeEncodeError):
            value.encode()
            return value
    raise ValueError(f"{_shown(value)} is not a text")


def name_of(value: t.Any) -> str:
    """The name of a group or a topic: a text of one character or more that Kafka's protocol can carry, or ValueError."""
    return _name_of(value) if isinstance(value, str) else text_of(value)


@functools.lru_cache(1 << 16)
def _name_of(value: str) -> str:
    """The same object for the same name: thousands of entries share it."""
    name = text_of(value)
    if not name:
        raise ValueError("a name is empty")
    if len(name.encode()) > LONGEST_TEXT:
        raise ValueError(f"a name is longer than {LONGEST_TEXT} bytes, which Kafka's protocol cannot carry")
    return name


def metadata_of(value: t.Any) -> str:
    """The metadata of a commit: a text that Kafka's protocol can carry, or ValueError. Brokers usually take less."""
    metadata = text_of(value)
    if metadata and len(metadata.encode()) > LONGEST_TEXT:
        raise ValueError(f"the metadata is longer than {LONGEST_TEXT} bytes, which Kafka's protocol cannot carry")
    return metadata


def choice_of(kind: type[_Choice], value: t.Any) -> _Choice:
    """The value of an enumeration, or ValueError that names all of them."""
    try:
        return kind(value)
    except ValueError:
        raise ValueError(f"{_shown(value)} is none of {', '.join(kind)}") from None


def flag_of(value: t.Any) -> bool:
    """JSON's true or false, or ValueError."""
    if isinstance(value, bool):
        return value
    raise ValueError(f"{_shown(value)} is not true or false")


def whole_number(value: t.Any, what: str, below: int, first: int = 0) -> int:
    """A JSON integer from first on and less than below, or ValueError."""
    if isinstance(value, bool) or not isinstance(value, int) or not first <= value < below:
        raise ValueError(f"{_shown(value)} is not {what}")
    return value


def partition_of(value: t.Any) -> int:
    """A JSON integer from 0 on, of Kafka's 32 bits, or ValueError."""
    return whole_number(value, "a partition", 1 << 31)


def epoch_of(value: t.Any) -> int | None:
    """A leader epoch: null, or a JSON integer from 0 on, of Kafka's 32 bits; ValueError otherwise."""
    return None if value is None else whole_number(value, "a leader epoch", 1 << 31)


def offset_of(value: t.Any) -> int:
    """A JSON integer from 0 on, of Kafka's 64 bits, or ValueError: a masked or rounded offset must never be committed."""
    if value.__class__ is int and 0 <= value < 1 << 63:  # nearly all are, and a file has millions
        return value
    return whole_number(value, "an offset", 1 << 63)


def unix_time_of(value: t.Any) -> float:
    """Unix time in seconds that can be said as a date, or ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1 << 37:
        raise ValueError(f"{_shown(value)} is not a time")
    return float(value)


def utc_text(unix_time: float) -> str:
    """Unix time in seconds as people read it, and as ISO 8601: 2026-11-25T20:15:00Z."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(unix_time))


def _shown(value: t.Any) -> str:
    """As it stands in the file, or the beginning of it; half characters escaped."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "what is nested too deeply"
    return shortened(text.encode(errors="backslashreplace").decode(), 200)


def json_of(text: str) -> t.Any:
    """What JSON says, or ValueError that says why it is none, or has a member twice: readers take the one or the other."""
    try:
        return json.loads(text, object_pairs_hook=_members_once)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as exc:
        raise ValueError(f"it is not JSON ({exc})") from exc


def _members_once(pairs: list[tuple[str, t.Any]]) -> Json:
    members = dict(pairs)
    if len(members) != len(pairs):
        places: dict[str, int] = {}
        first = next(name for at, (name, _value) in enumerate(pairs) if places.setdefault(name, at) != at)
        raise ValueError(f"{_shown(first)} is there twice in one object, which begins with {_shown(pairs[0][1])}")
    return members
