# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What an assessment tells, for a page and for a ticket. Pure."""

from __future__ import annotations

import itertools
import typing as t

from ..._model.assessment import OTHER_USES, Assessment, Row, sharing
from ..._model.option_names import with_option_names
from ..._model.risks import PAGE, RISKS, Risk, RiskKind, Severity
from ..._model.wording import counted, first_names
from .sections import Cell, Section, Story, rest_of

_EXAMPLES = 20  # of each kind of risk
_MOST_SETS = 20
_MOST_GROUPS = 200  # a page takes more, and nobody reads more: groups.csv has all
_MEANINGS = {
    Severity.BLOCKER: "The groups cannot be migrated, or their consumers would fail, until something is done.",
    Severity.WARNING: "The groups can be migrated, and may lose, repeat or miss something unless something is done.",
    Severity.INFO: "Something to know, or to decide.",
}


def assessment_story(assessment: Assessment) -> Story:
    """The story of a whole assessment."""
    head, counts = assessment.head, assessment.counts
    names = {side: head[side] or f"the {side}" for side in ("source", "destination")}
    has_destination = "destination_id" in head
    facts = [
        (side, f"{names[side]} (id {head[f'{side}_id'] or 'not known'})") for side in names if f"{side}_id" in head
    ]
    facts.append(("read", head["read"]))
    applications = [row for row in assessment.groups if row["use"] not in OTHER_USES]
    topics = _own_topics(assessment)
    figures = [
        (len(assessment.groups), "groups"),
        (len(applications), "groups of applications and sinks"),
        (len(applications) - len(_concerned(applications, assessment.risks)), "of these without blockers and warnings"),
        (len(topics), "topics"),
        (sum(row["partitions"] for row in topics), "partitions"),
        (sum(row["lag"] or 0 for row in applications), "offsets of lag"),
        (counts["blocker"], "blocker" if counts["blocker"] == 1 else "blockers"),
        (counts["warning"], "warning" if counts["warning"] == 1 else "warnings"),
        (counts["info"], "to know"),
    ]
    sections = (
        _decisions(assessment.risks),
        _verdicts(assessment.groups),
        _sets(assessment.groups),
        *_risks(assessment.risks),
        _groups(applications),
    )
    return Story(
        f"Assessment of {names['source']}" + (f" for {names['destination']}" if has_destination else ""),
        headline(assessment),
        "bad" if counts["blocker"] else "warning" if counts["warning"] else "good",
        tuple(facts),
        tuple((f"{number:,}", name) for number, name in figures),
        tuple(section for section in sections if section is not None),
    )


def _concerned(groups: t.Iterable[Row], risks: t.Collection[Risk]) -> set[str]:
    """Those of these groups that a blocker or a warning is about, or about a topic of theirs.

    A blocker about the clusters is about all groups.
    """
    if any(risk.severity is Severity.BLOCKER and not risk.place for risk in risks):
        return {row["group"] for row in groups}
    matter = [risk for risk in risks if risk.severity is not Severity.INFO]
    names = {risk.group for risk in matter}
    topics = {risk.topic for risk in matter if risk.group is None}
    return {row["group"] for row in groups if row["group"] in names or topics.intersection(row["topics"])}


def _own_topics(assessment: Assessment) -> list[Row]:
    """The topics of the users: those of Kafka and of tools, such as __consumer_offsets, are not moved."""
    return [row for row in assessment.topics if row["what"] is None]


def headline(assessment: Assessment) -> str:
    """The assessment in one sentence."""
    counts = assessment.counts
    risks = (
        f"{counted(counts['blocker'], 'blocker')}, {counted(counts['warning'], 'warning')}, {counts['info']:,} to know"
    )
    return f"{counted(len(assessment.groups), 'group')} and {counted(len(_own_topics(assessment)), 'topic')}: {risks}."


def _by_kind(risks: t.Sequence[Risk]) -> t.Iterator[tuple[RiskKind, list[Risk]]]:
    for kind, of_kind in itertools.groupby(risks, key=lambda risk: risk.kind):
        yield kind, list(of_kind)


def _risks(risks: t.Sequence[Risk]) -> t.Iterator[Section]:
    by_kind = list(_by_kind(risks))
    for severity in Severity:
        kinds = [(kind, of_kind) for kind, of_kind in by_kind if RISKS[kind].severity is severity]
        if not kinds:
            continue
        number = sum(len(of_kind) for _kind, of_kind in kinds)
        yield Section(f"{severity.value.capitalize()}: {number:,}", sentences=(_MEANINGS[severity],))
        for kind, of_kind in kinds:
            yield Section(
                f"{kind.value}: {len(of_kind):,}",
                3,
                (RISKS[kind].meaning, f"Remedy: {_remedy(kind)} See {PAGE}#{kind.value}."),
                header=("Group or topic", "What is seen"),
                rows=tuple(_named(risk.place or "-", risk.detail) for risk in of_kind[:_EXAMPLES]),
                rest=rest_of(of_kind, _EXAMPLES, "in assessment.json"),
                anchor=kind.value,
            )


def _remedy(kind: RiskKind) -> str:
    return with_option_names(RISKS[kind].remedy)


def _named(name: str, *texts: str) -> tuple[Cell, ...]:
    """A row that begins with a name."""
    *short, detail = texts
    return Cell(name, "name"), *map(Cell, short), Cell(detail, "detail")


def _verdicts(groups: t.Iterable[Row]) -> Section | None:
    planned = [row for row in groups if row["exact"] is not None]
    if not planned:
        return None
    blocked = sum(bool(row["blocked"]) for row in planned)
    safe = sum(bool(row["safe"] and not row["blocked"]) for row in planned)
    # A plan commits nothing there, or what on_uncommitted asks for.
    uncommitted = sum(bool(row["uncommitted"] and not row["safe"] and not row["blocked"]) for row in planned)
    exact = len(planned) - blocked - safe - uncommitted
    sentence = (
        f"{counted(len(planned), 'group')} planned: {exact:,} with exact offsets only, {safe:,} with safe offsets, which "
        f"may repeat records, {uncommitted:,} with exact offsets and partitions without a committed offset, and {blocked:,} "
        "with blocked partitions."
    )
    return Section("How exact it will be", sentences=(sentence,))


def _decisions(risks: t.Sequence[Risk]) -> Section:
    rows = []
    for kind, of_kind in _by_kind(risks):
        groups, topics = (
            {risk.group for risk in of_kind} - {None},
            {risk.topic for risk in of_kind if not risk.group} - {None},
        )
        about = [counted(len(names), noun) for names, noun in ((groups, "group"), (topics, "topic")) if names]
        texts = RISKS[kind].severity.value, " and ".join(about) or "the clusters"
        rows.append((Cell(kind.value, "section"), *map(Cell, texts), Cell(_remedy(kind), "detail")))
    if not rows:
        return Section("What to decide", sentences=("Nothing stands in the way that this assessment sees.",))
    header = ("Kind", "Severity", "About", "What to do")
    return Section("What to decide", header=header, rows=tuple(rows))


def _sets(groups: t.Iterable[Row]) -> Section:
    sets = sharing(groups)
    if not sets:
        return Section("Groups that share topics", sentences=("No two groups consume the same topic.",))
    sentence = (
        "Move the groups of a set in one wave. Otherwise their topics must go on being replicated until the last of them has "
        "moved."
    )
    return Section(
        "Groups that share topics",
        sentences=(sentence,),
        header=("Set", "Groups", "Names"),
        rows=tuple(
            (
                Cell(str(number), "number"),
                Cell(f"{len(names):,}", "number"),
                Cell(first_names(names, _EXAMPLES), "detail"),
            )
            for number, names in enumerate(sets[:_MOST_SETS], 1)
        ),
        rest=rest_of(sets, _MOST_SETS, "sets: see the column shares of groups.csv"),
    )


def _groups(groups: t.Sequence[Row]) -> Section:
    rows = sorted(groups, key=lambda row: (-row["risks"], row["group"]))
    header = ("Group", "Use", "State", "Topics", "Partitions", "Lag", "Next record", "Risks", "Can be migrated now")
    if not rows:
        return Section("Groups of applications and sinks", sentences=("The login sees none.",))
    return Section(
        "Groups of applications and sinks",
        header=header,
        rows=tuple(
            _named(
                row["group"],
                row["use"],
                row["state"],
                f"{len(row['topics']):,}",
                f"{row['partitions']:,}",
                "-" if row["lag"] is None else f"{row['lag']:,}",
                row["next_record"] or "-",
                f"{row['risks']:,}",
                "yes" if row["movable"] else f"no: {row['why_not']}",
            )
            for row in rows[:_MOST_GROUPS]
        ),
        rest=rest_of(rows, _MOST_GROUPS, "groups in groups.csv"),
    )
