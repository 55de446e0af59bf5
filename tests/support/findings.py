"""Logs for which an earlier version of the rule skipped records, or repeated some without saying so: F1 to F12.

F9 is in test_control_records.py, because it is about costs. F10, that an answer depended on which other groups were asked for,
has no test: `make attack`, which asks with other groups and without them, found no example of it.
"""

import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import LogFacts
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record
from tests.support.listed_clusters import Cluster, Clusters


def read(text: str, first: int = 0) -> list[Record]:
    """`a@1 b@2` are records at the offsets 0 and 1; `_` is a gap; `@-` a time that the broker has stamped."""
    records = []
    for offset, word in enumerate(text.split(), first):
        content, _at, time = word.partition("@")
        if content != "_":
            stamped = time == "-"
            digest = content.encode()
            records.append(Record(offset, 0 if stamped else int(time or 0), digest, digest, stamped))
    return records


def world(source: str, copies: str, *, stable: int | None = None, start: int = 0, first: int = 0) -> Clusters:
    """stable: the source's last stable offset; start: its log start. first: the offset of the first copy."""
    originals, copied = read(source), read(copies, first)
    size, end = len(source.split()), first + len(copies.split())
    stable = size if stable is None else stable
    return Clusters(
        Cluster(
            LogFacts(start, stable, size),
            [each for each in originals if start <= each.offset < stable],
            [each for each in originals if each.offset >= stable],
        ),
        Cluster(LogFacts(first, end, end), copied),
    )


def names(numbers: t.Iterable[int], time: t.Callable[[int], t.Any]) -> str:
    return " ".join(f"p{number}@{time(number)}" for number in numbers)


class Finding(t.NamedTuple):
    """right: verdict, offset, repeats and reason. wrong: the offset and repeats that were planned once; problem: with them."""

    what: str
    source: str
    copies: str
    committed: int
    right: tuple[str, int | None, int | None, str | None]
    wrong: tuple[int, int | None]
    problem: str
    edges: t.Mapping[str, int] = {}

    def __str__(self) -> str:
        return self.what


def exact(offset: int) -> tuple[str, int, int, None]:
    return "exact", offset, 0, None


def step(numbers: t.Iterable[int], by: int = 1, first: int = 0) -> str:
    """Unlike records with times that are so far from each other."""
    return names(numbers, lambda at: first + by * at)


_EQUAL = names((*range(999), 5), lambda at: at)
_SOME = " ".join(f"{at if at % 1000 == 0 else 'equal'}@0" for at in range(5000))
FINDINGS = [
    Finding("F1: open transactions are copied", "a x c a", "a x c a", 1, exact(1), (4, 0), "3 unconsumed", {"stable": 1}),
    Finding("F1b: all else is gone", "_ x c a", "_ x c a", 1, exact(1), (4, None), "3 unconsumed", {"stable": 1, "start": 1}),
    Finding(
        "F1c: the tool has begun again", "a x c", "a x c a", 1,
        ("safe", 1, 1, "recopied"), (4, 0), "2 unconsumed", {"stable": 1},
    ),
    Finding("F2: no time is kept", step(range(20), 10), step(range(20), 1, 5000), 10, exact(10), (20, None), "10 unconsumed"),
    Finding(
        "F2: and records are gone", "z@1 a@2 b@3 c@4", "z@51 a@52 b@53 c@54", 1,
        ("safe", 1, 1, "expired"), (3, None), "1 unconsumed", {"start": 2},
    ),
    Finding("F2b: some times are not kept", "a@0 b@0 c@8000", "a@1 b@1 c@8000", 1, exact(1), (2, 0), "1 unconsumed"),
    Finding(
        "F3: recopied, and stamped", step(range(40)), f"{step(range(40))} {names(range(40), lambda _at: '-')}", 10,
        ("exact", 50, 0, "recopied"), (10, 0), "10 consumed",
    ),
    Finding("F4: first try", step(range(120)), step((*range(1, 8), *range(80, 120))), 80, exact(7), (1, 0), "6 consumed"),
    Finding(
        "F5: begun late at a burst", step(range(113), 10), step(range(100, 113), 10), 100, exact(0), (8, 0), "8 unconsumed"
    ),
    Finding("F6: kept", step(range(152)), step(range(152)), 106, exact(106), (152, 0), "46 unconsumed"),
    Finding("F7: identical, below the start", "a b", "a b", 1, exact(101), (100, 0), "1 consumed", {"first": 100}),
    Finding(
        "F8: an early equal is no arrival", _EQUAL, names(range(600), lambda _at: "-"), 1000,
        ("blocked", None, None, "destination_lags"), (600, 0), "400 consumed",
    ),
    Finding("F11: long runs of equal records", _SOME, _SOME, 3001, exact(3001), (3002, 0), "1 unconsumed"),
    Finding(
        "F12: some of many equal records were dropped", "e " * 20, "e " * 18, 10,
        ("safe", 8, 2, "equal_records"), (9, 0), "1 unconsumed",
    ),
]  # fmt: skip
