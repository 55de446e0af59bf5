"""What a committed offset at the destination does to its consumers, counted in the records of both clusters.

Nothing of the collection is used here, nor what it says of itself: all records of both logs are read and compared.
"""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import typing as t

from testbed.clients import Commits, Servers, Stored, read

Content = bytes  # a digest of all that a consumer sees of a record, its offset apart
Log = list[tuple[int, Content]]  # the visible records of a partition: offset and content
Logs = dict[tuple[str, int], Log]
Offsets = dict[tuple[str, int], int]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Records that a group gets twice, or never. Of the entries (partitions with a commit), missing have none here."""

    consumed: int = 0
    repeats: int = 0
    losses: int = 0
    entries: int = 0
    missing: int = 0

    def __add__(self, other: Outcome) -> Outcome:
        sums = (own + added for own, added in zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True))
        return Outcome(*sums)


def read_logs(cluster: Servers, topics: t.Iterable[str], restamped: t.Collection[str] = ()) -> Logs:
    """All visible records of the topics. restamped: those whose timestamps are not compared."""
    logs: Logs = {}
    for topic in topics:
        for record in read(cluster, topic):
            content = _content(record if topic not in restamped else record._replace(timestamp=0))
            logs.setdefault((topic, record.partition), []).append((record.offset, content))
    return logs


def outcome(
    committed: Commits, at_destination: Commits, source: Logs, destination: Logs, repartitioned: t.Collection[str] = ()
) -> Outcome:
    """What becomes of a group that has committed at the source, and goes on at the destination.

    committed, at_destination: what it has committed at both.
    Without a commit there it starts at the beginning (auto.offset.reset=earliest), or would lose what it has missed.
    Partitions are compared one by one, but for repartitioned topics.
    """
    total = Outcome()
    for part in _parts(committed, repartitioned):
        before = {where: offset for where, (offset, _unused) in committed.items() if part in (where, where[0])}
        partitions = [where for where in destination if part in (where, where[0])] if isinstance(part, str) else [part]
        start = {where: at_destination[where][0] if where in at_destination else 0 for where in partitions}
        missing = sum(where not in at_destination for where in partitions)
        total += dataclasses.replace(
            judge(source, before, destination, start), entries=len(partitions), missing=missing
        )
    return total


def contradicted(
    plan: t.Iterable[t.Mapping[str, t.Any]], source: Logs, destination: Logs, repartitioned: t.Collection[str] = ()
) -> list[t.Mapping[str, t.Any]]:
    """The entries of a plan whose offset loses records, or repeats more of them than their verdict admits."""
    wrong = []
    for its in _together(plan, repartitioned).values():
        before = {(at["topic"], at["partition"]): at["offset"] or 0 for entry in its for at in entry["source"]}
        start = {(entry["topic"], entry["partition"]): entry["offset"] for entry in its}
        found = judge(source, before, destination, start)
        admitted = [0 if entry["verdict"] == "exact" else entry["repeats"] for entry in its]
        if found.losses or (None not in admitted and found.repeats > sum(admitted)):
            wrong += its
    return wrong


def judge(source: Logs, committed: Offsets, destination: Logs, start: Offsets) -> Outcome:
    """Compare what lies before these offsets and from them on. Equal records are told apart by their number alone."""
    consumed, unconsumed = _split(source, committed)
    skipped, delivered = _split(destination, start)
    return Outcome(
        consumed=consumed.total(),
        # What is delivered more often than it was still to be consumed; what nobody had consumed and is passed over.
        repeats=sum(max(0, delivered[content] - unconsumed[content]) for content in consumed),
        losses=sum(
            max(0, min(due - delivered[content], skipped[content] - consumed[content]))
            for content, due in unconsumed.items()
        ),
    )


def _split(logs: Logs, offsets: Offsets) -> tuple[collections.Counter[Content], collections.Counter[Content]]:
    """The contents before the offsets of some partitions, and those from them on of some partitions."""
    before, after = collections.Counter[Content](), collections.Counter[Content]()
    for where, at in offsets.items():
        for offset, content in logs.get(where, []):
            (before if offset < at else after)[content] += 1
    return before, after


def _parts(commits: Commits, repartitioned: t.Collection[str]) -> list[str | tuple[str, int]]:
    """What is compared: partitions, and whole topics where partitions are not the same."""
    return list(dict.fromkeys(where[0] if where[0] in repartitioned else where for where in commits))


def _together(
    plan: t.Iterable[t.Mapping[str, t.Any]], repartitioned: t.Collection[str]
) -> dict[tuple[str, str, int], list[t.Mapping[str, t.Any]]]:
    """The same parts of a plan, by group."""
    parts: dict[tuple[str, str, int], list[t.Mapping[str, t.Any]]] = {}
    for entry in plan:
        number = 0 if entry["topic"] in repartitioned else entry["partition"]
        parts.setdefault((entry["group"], entry["topic"], number), []).append(entry)
    return parts


def _content(record: Stored) -> Content:
    rest = (record.timestamp, record.key, record.headers, record.value is None)
    content = hashlib.blake2b(repr(rest).encode(), digest_size=16)
    content.update(record.value or b"")
    return content.digest()
