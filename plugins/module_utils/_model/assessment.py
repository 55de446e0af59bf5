# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The assessment file: groups, topics and risks of clusters, each module's part of it, and the whole as JSON and CSV. Pure."""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from . import documents
from .file_rows import read_row
from .group_overview import spreadsheet
from .grouping import values_by_key
from .plan import PlanEntry
from .risks import Risk, RiskKind, Severity
from .verdicts import Reason, Verdict
from .wording import counted

KIND = "assessment"
OTHER_USES = ("tool", "share", "connect workers", "other")  # of groups that share topics with others by design
GROUP_COLUMNS = (
    "group", "use", "what", "type", "state", "members", "topics", "partitions", "lag", "next_record", "expired", "uncommitted",
    "latest_skips", "exact", "safe", "blocked", "shares", "risks", "movable", "why_not",
)  # fmt: skip
TOPIC_COLUMNS = (
    "topic", "what", "partitions", "offsets", "retention_ms", "cleanup_policy", "groups", "schema_ids", "risks"
)  # fmt: skip
# What a plan calls the causes that need no plan to be found.
_CAUSES = {
    Reason.TOPIC_MISSING: RiskKind.TOPIC_MISSING,
    Reason.PARTITION_COUNT_DIFFERS: RiskKind.PARTITIONS_DIFFER,
    Reason.BEYOND_END: RiskKind.AFTER_LOG_END,
}
Row = documents.Json


@dataclasses.dataclass(frozen=True, slots=True)
class Assessment:
    """head: facts of the clusters, by name. groups, topics: rows of the file. risks: in the order of Risk.order."""

    head: Row
    groups: tuple[Row, ...] = ()
    topics: tuple[Row, ...] = ()
    risks: tuple[Risk, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many risks there are of each severity."""
        counts = collections.Counter(risk.severity for risk in self.risks)
        return {severity.value: counts[severity] for severity in Severity}


def to_json(assessment: Assessment) -> str:
    """The text of an assessment file: its groups, its topics, its risks, sorted."""
    rows = [
        *({"entry": "group", **row} for row in sorted(assessment.groups, key=lambda row: row["group"])),
        *({"entry": "topic", **row} for row in sorted(assessment.topics, key=lambda row: row["topic"])),
        *({"entry": "risk", **risk.row()} for risk in sorted(assessment.risks, key=lambda risk: risk.order)),
    ]
    return documents.dumps(KIND, assessment.head, rows)


def from_json(text: str, path: str) -> Assessment:
    """Read an assessment file or a part of one. Raises InvalidFile."""
    head, entries = documents.loads(KIND, text, path)
    rows = documents.parse_entries(KIND, path, entries, _read)
    facts = {name: value for name, value in head.items() if name not in ("format", "version", "entries")}
    groups, topics = (tuple(entry for kind, entry in rows if kind == wanted) for wanted in ("group", "topic"))
    return Assessment(facts, groups, topics, tuple(entry for _kind, entry in rows if isinstance(entry, Risk)))


def _read(row: Row) -> tuple[str, t.Any]:
    """A row of the file, with its kind; raises KeyError or ValueError for what is none."""
    kind = row.pop("entry")
    if kind == "risk":
        return kind, read_row(Risk, row)
    if kind not in ("group", "topic"):
        raise ValueError(f"{kind!r} is no kind of entry")
    documents.name_of(row[kind])
    return kind, row


def merged(parts: t.Iterable[Assessment], plan: t.Iterable[PlanEntry] = ()) -> Assessment:
    """The parts of several modules as one, with what a plan says of each group."""
    head: Row = {}
    risks: set[Risk] = set()
    groups: list[Row] = []
    topics: list[Row] = []
    for part in parts:
        head |= part.head
        groups += part.groups
        topics += part.topics
        risks |= set(part.risks)
    entries = tuple(plan)
    verdicts = values_by_key((group, entry.verdict) for entry in entries for group in {at.group for at in entry.source})
    risks |= set(_plan_risks(entries, risks))
    blockers = _blockers(risks)
    sets = sharing(groups)
    numbers = {group: number for number, names in enumerate(sets, 1) for group in names}
    of_groups = collections.Counter(risk.group for risk in risks)
    of_topics = collections.Counter(risk.topic for risk in risks if risk.group is None)
    shown = (Verdict.EXACT, Verdict.SAFE, Verdict.BLOCKED)
    groups = [
        row
        | {verdict.value: given.count(verdict) if (given := verdicts.get(row["group"])) else None for verdict in shown}
        | {
            "shares": numbers.get(row["group"]),
            "risks": of_groups[row["group"]] + sum(of_topics[topic] for topic in row["topics"]),
        }
        | _held(row, blockers)
        for row in groups
    ]
    topics = [row | {"risks": of_topics[row["topic"]]} for row in topics]
    ordered = sorted(risks, key=lambda risk: risk.order)
    return Assessment(head, tuple(groups), tuple(topics), tuple(ordered))


_Place: t.TypeAlias = "tuple[str | None, str | None]"  # of a risk: its group, or its topic, or neither: the clusters


def _blockers(risks: t.Iterable[Risk]) -> dict[_Place, set[str]]:
    blockers: dict[_Place, set[str]] = collections.defaultdict(set)
    for risk in risks:
        if risk.severity is Severity.BLOCKER:
            blockers[risk.group, None if risk.group else risk.topic].add(risk.kind.value)
    return blockers


def _held(row: Row, blockers: t.Mapping[_Place, set[str]]) -> Row:
    """What to change of a group that its own cluster lets go, and that a blocker of it, its topics or the clusters holds."""
    places: list[_Place] = [(None, None), (row["group"], None), *((None, topic) for topic in row["topics"])]
    kinds = set().union(*(blockers.get(place, ()) for place in places))
    return {"movable": False, "why_not": ", ".join(sorted(kinds))} if row["movable"] and kinds else {}


def _plan_risks(plan: t.Iterable[PlanEntry], risks: t.Collection[Risk]) -> t.Iterator[Risk]:
    """What the plan has blocked for another cause than the risks that are known: one cause is one risk."""
    known = {(risk.kind, risk.group, risk.topic) for risk in risks}
    reasons: dict[str, list[str]] = collections.defaultdict(list)
    for entry in plan:
        if entry.verdict is not Verdict.BLOCKED or entry.reason is None:
            continue
        kind = _CAUSES.get(entry.reason)
        for at in entry.source:
            if not {(kind, None, at.partition.topic), (kind, at.group, at.partition.topic)} & known:
                reasons[at.group].append(entry.reason.value)
    for group, group_reasons in reasons.items():
        verb = "is" if len(group_reasons) == 1 else "are"
        detail = f"{counted(len(group_reasons), 'partition')} {verb} blocked ({', '.join(sorted(set(group_reasons)))})."
        yield Risk(RiskKind.PLAN_BLOCKED, detail, group)


def sharing(groups: t.Iterable[Row]) -> list[list[str]]:
    """Sets of two or more groups that are joined by topics, directly or by way of others; the largest first.

    Groups of tools do not join others: a console that has read every topic would make one set of all.
    """
    first: dict[str, str] = {}  # topic: a group that consumes it
    root: dict[str, str] = {}

    def found(group: str) -> str:
        while root[group] != group:
            root[group] = root[root[group]]
            group = root[group]
        return group

    for row in sorted(groups, key=lambda row: row["group"]):
        if row["use"] in OTHER_USES:
            continue
        root[row["group"]] = row["group"]
        for topic in row["topics"]:
            root[found(row["group"])] = found(first.setdefault(topic, row["group"]))
    sets = values_by_key((found(group), group) for group in root)
    return sorted((sorted(names) for names in sets.values() if len(names) > 1), key=lambda names: (-len(names), names))


def groups_csv(assessment: Assessment) -> str:
    """A row for each group, those with most risks first."""
    rows = sorted(assessment.groups, key=lambda row: (-row["risks"], row["group"]))
    return spreadsheet(GROUP_COLUMNS, rows)


def topics_csv(assessment: Assessment) -> str:
    """A row for each topic, those with most risks first."""
    rows = sorted(assessment.topics, key=lambda row: (-row["risks"], row["topic"]))
    return spreadsheet(TOPIC_COLUMNS, rows)
