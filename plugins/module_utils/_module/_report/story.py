# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a report tells besides its tables: what was asked, how it ended, what is not exact, what to do, the way back. Pure."""

from __future__ import annotations

import typing as t

from ..._model.grouping import values_by_key
from ..._model.left_out import left_out
from ..._model.notes import Note, NoteKind
from ..._model.option_names import with_option_names
from ..._model.record_sum import Bound, RecordSum
from ..._model.report import by_gravity, problems_of
from ..._model.verdicts import Reason, Verdict
from ..._model.wording import MANY_NAMED, counted, first_names
from ..directions import Directions
from . import advice
from .figures import NO_LOGS, STANDING, WRITTEN, GroupPartition, KnownLogs, State, group_partitions, offset_text
from .migration_files import MigrationFiles, has_groups
from .occasion import Occasion
from .sections import Cell, Section, Story, figures_of, group_section, rest_of, restored_section, steps_section
from .totals import Totals, totals

MOST_CHOSEN = 100  # names of each kind
MOST_LEFT_OUT = 100  # lines
MOST_EXAMPLES = 10  # of each reason, of each kind of problem, and of the notes; the table has the others

_UNKNOWN_STEP = (
    "The last lines of the run have said what is next. The playbook streamshift.kafka.migration_status says where groups that "
    "move to another cluster are now, and what is next for each of them."
)
_ORDER = (Verdict.BLOCKED, Verdict.SAFE, Verdict.REQUESTED, Verdict.UNCOMMITTED)


def story(files: MigrationFiles, occasion: Occasion, logs: KnownLogs = NO_LOGS) -> Story:
    """What is to be told of these files, and of the logs that they are about."""
    is_of_receipt = occasion.is_rollback or (files.plan is None and files.snapshot is None)
    taken = occasion.taken(files.receipt)
    made = group_partitions(files, (taken or ()) if is_of_receipt else None)
    rows = tuple(row._replace(state=_state(row, occasion)) for row in made)
    total = totals(files, rows, taken if has_groups(occasion.selection) else None, logs)
    level, headline = _headline(files, occasion, total)
    not_taken = [] if occasion.is_rollback or files.snapshot is None else left_out(files.snapshot.left_out)
    clauses = [] if occasion.failure else _left_out_clauses(occasion, not_taken)
    if clauses:
        level = "warning" if level == "good" else level
        headline = f"{headline[:-1]}{''.join(clauses)}."
    asked = occasion.asked
    names = f"{asked.source} to {asked.destination}" if asked.source and asked.destination else ""
    if occasion.is_within_one_cluster:
        names = asked.source
    them = "it" if occasion.unnamed == 1 else "them"
    unnamed = f"This run left out {counted(occasion.unnamed, 'group')}. Its output names {them}."
    lines = [*occasion.outcome.in_use, *occasion.why_left_alone, *([unnamed] if occasion.unnamed else []), *not_taken]
    lines = list(dict.fromkeys(lines))
    more = [f"... and {counted(len(lines) - MOST_LEFT_OUT, 'more line')}"] if lines[MOST_LEFT_OUT:] else []
    directions = Directions(occasion.outcome, asked)
    exceptions, problems = tuple(_exceptions(rows)), tuple(_problems(files))
    notes = (*_notes(files, occasion, total), *logs.notes)
    left = (*lines[:MOST_LEFT_OUT], *more)
    sections = (
        *steps_section([] if occasion.is_rollback else occasion.run.steps),
        Section("Exceptions", lines=left, rest="" if exceptions else _no_exceptions(files, occasion, total)),
        *exceptions,
        Section("Verification", sentences=() if problems else (_no_problems(occasion, total),)),
        *problems,
        restored_section(rows, occasion.restored) if occasion.is_rollback else group_section(rows, logs),
        *([Section("Notes", lines=tuple(note.text for note in notes))] if notes else []),
        _next_section(files, occasion, directions, rows),
        _back_section(occasion, directions, total),
    )
    return Story(
        title=f"Migration report: {names}" if names else "Migration report",
        headline=headline,
        level=level,
        facts=_facts(files, occasion),
        figures=figures_of(total)[: 2 if occasion.is_rollback else None],  # it plans and verifies nothing
        sections=sections,
        failure=occasion.failure or occasion.refusal,
        totals=None if occasion.is_rollback else total,
        rows=rows,
        logs=logs,
        notes=notes,
    )


def _next_section(
    files: MigrationFiles, occasion: Occasion, directions: Directions, rows: t.Sequence[GroupPartition]
) -> Section:
    step, at = directions.next(), occasion.outcome.at_destination
    lines = [f"Made again: {first_names(occasion.made_again, MANY_NAMED)}."] if occasion.made_again else []
    if occasion.is_rollback and (stay := first_names(occasion.outcome.not_moved, MANY_NAMED)):
        lines.append(f"Not rolled back: {stay}. Let their consumers go on{at}.")
    # The run may not know of the objection, which can be that of an earlier one.
    objected = {row.group for row in rows if row.verified is False and row.state in STANDING}
    if wrong := first_names(sorted(objected.intersection(occasion.outcome.may_start)), MANY_NAMED):
        lines.append(f"Do not start the consumers of {wrong}: the verification objects to offsets that are committed.")
    lines += step.sentences or [_UNKNOWN_STEP]
    # One that names what the receipt does not have would be refused again.
    is_refused = occasion.is_rollback and bool(occasion.failure) and occasion.taken(files.receipt) is None
    command = "" if step.given is None or is_refused else occasion.command(step.given)
    return Section("What to do next", sentences=tuple(lines), command=command)


def _back_section(occasion: Occasion, directions: Directions, total: Totals) -> Section:
    title, at, role = "The way back", occasion.outcome.at_destination, occasion.asked.role
    if occasion.is_rollback:
        command = occasion.command_to_migrate()
        how = f"run again the playbook that had moved them, with all variables of that run{':' if command else '.'}"
        failed = occasion.failure and occasion.run.written == 0
        back = "Nothing was rolled back." if failed else f"To commit offsets for these groups again, {how}"
        return Section(title, sentences=(back,), command="" if failed else command)
    back = directions.way_back(f"stop the consumers{at}, and ", total.reversible)
    can_roll_back, _unwritten = occasion.outcome.reversible or total.reversible
    lines = [back or f"Nothing of this is committed{at}, so there is nothing to roll back."]
    if can_roll_back and role:
        lines.append(
            f"If they have consumed{at} since, add -e {role}_on_rewind=rewind: they then consume these records again."
        )
    if can_roll_back:
        lines.append("Keep receipt.json: without it, nothing can be rolled back.")
    return Section(title, sentences=tuple(lines), command=occasion.command_back() if can_roll_back else "")


def _state(row: GroupPartition, occasion: Occasion) -> State:
    """What became of a group-partition: what the receipt says may be the work of an earlier run."""
    if occasion.is_rollback and row.state is State.ROLLED_BACK:
        known = occasion.restored.get(row.key)
        is_unchanged = occasion.restored_count == 0 or (known is not None and not known[1])
        return State.NOT_RESTORED if is_unchanged else row.state
    undone = row.state in (State.NOT_COMMITTED, State.ROLLED_BACK)
    return State.LEFT_ALONE if undone and row.group in occasion.outcome.left_alone else row.state


def _left_out_clauses(occasion: Occasion, not_taken: t.Sequence[str]) -> list[str]:
    """What a headline says besides of what was left out, a part of a sentence each."""
    clauses = []
    if in_use := occasion.outcome.in_use:
        verb = "it is" if len(in_use) == 1 else "they are"
        clauses.append(f", {counted(len(in_use), 'group')} left out because {verb} in use")
    if occasion.why_left_alone:
        groups = counted(sum(map(bool, occasion.outcome.left_alone.values())), "group")
        clauses.append(f", {groups} left alone: see the exceptions")
    if occasion.unnamed:
        clauses.append(f", {counted(occasion.unnamed, 'group')} left out: see the exceptions")
    if not_taken:
        clauses.append(". Not all that was selected is in the snapshot: see the exceptions")
    return clauses


def _headline(files: MigrationFiles, occasion: Occasion, total: Totals) -> tuple[str, str]:
    written = sum(total.states[state] for state in WRITTEN)
    size = f"{counted(total.partitions, 'group-partition')} of {counted(total.groups, 'group')}"
    blocked = total.verdicts[Verdict.BLOCKED]
    if occasion.is_rollback:
        return _rollback_headline(occasion, total, size)
    if occasion.failure:
        earlier = f" as planned, and {total.earlier:,} by earlier runs" if total.earlier else ""
        failed = "The run failed, and changed no committed offset." if occasion.run.written == 0 else "The run failed."
        if files.plan is None:
            return "bad", f"{failed} It has made no plan."
        return "bad", f"{failed} {written:,} of {size} committed{occasion.outcome.at_destination}{earlier}."
    if files.plan is None and files.receipt is None:
        return (
            "warning",
            f"There is no plan yet: {size} in the snapshot." if total.partitions else "There is no plan yet.",
        )
    standing = sum(total.states[state] for state in STANDING)
    if total.objected and (total.objected_standing or not standing or occasion.phase == "plan"):
        return "bad", f"The verification objects to {total.objected:,} of {size}."
    if occasion.phase == "plan":
        return _planned_headline(occasion, total, size)
    # A run that is known to have written nothing has left out what was rolled back before.
    if (
        total.states[State.ROLLED_BACK]
        and not written
        and occasion.run.written is None
        and not occasion.leaves_groups_out
    ):
        return "warning", f"Rolled back: {total.states[State.ROLLED_BACK]:,} of {size}."
    if not standing and not occasion.outcome.left_alone:
        return _planned_headline(occasion, total, size)
    done = f"{standing:,} of {size}"
    headline = (
        f"Nothing to change: {done} were committed before this run" if occasion.wrote_nothing else f"Committed: {done}"
    )
    return "warning" if blocked or total.objected else "good", f"{headline}, {_others(total, standing)}."


def _planned_headline(occasion: Occasion, total: Totals, size: str) -> tuple[str, str]:
    blocked = total.verdicts[Verdict.BLOCKED]
    ready = total.partitions - blocked - total.verdicts[Verdict.UNCOMMITTED]
    if occasion.refusal:
        return (
            "bad",
            f"Planned: {ready:,} of {size}, {_others(total, ready)}. A commit of this plan would be refused now.",
        )
    planned = f"Planned: {ready:,} of {size} can be committed, {_others(total, ready)}."
    return "warning" if blocked else "good", planned


def _others(total: Totals, done: int) -> str:
    """What became of all but these group-partitions, so that a headline adds up."""
    blocked, uncommitted = (total.verdicts[verdict] for verdict in (Verdict.BLOCKED, Verdict.UNCOMMITTED))
    failed = total.objected - total.objected_standing
    rest = {
        "uncommitted": uncommitted,
        "failed verification": failed,
        "not committed": total.partitions - done - blocked - uncommitted - failed,
    }
    return ", ".join([f"{blocked:,} blocked", *(f"{count:,} {what}" for what, count in rest.items() if count > 0)])


def _rollback_headline(occasion: Occasion, total: Totals, size: str) -> tuple[str, str]:
    again = f"; {counted(len(occasion.made_again), 'removed group')} made again" if occasion.made_again else ""
    if not occasion.failure:
        others = f"; {counted(total.elsewhere, 'other')} in the receipt left alone" if total.elsewhere else ""
        return "warning", f"Rolled back: {_restored(occasion, total):,} of {size}{again}{others}."
    if occasion.run.written == 0:
        return "bad", "The rollback failed, and changed nothing."
    return "bad", f"The rollback failed, perhaps after it had restored some offsets{again}."


def _restored(occasion: Occasion, total: Totals) -> int:
    """How many group-partitions the rollback has restored. Of some of a great many, only the count of the run tells."""
    back = total.states[State.ROLLED_BACK]
    count = occasion.restored_count
    return back if count is None else min(count, back + total.states[State.NOT_RESTORED])


def _facts(files: MigrationFiles, occasion: Occasion) -> tuple[tuple[str, str], ...]:
    """What was asked for, on which clusters, and by which versions, as far as it is known."""
    clusters = [
        ("Source", occasion.asked.source, files.source),
        ("Destination", occasion.asked.destination, files.destination),
    ]
    if occasion.is_within_one_cluster:
        clusters = [("Cluster", occasion.asked.destination, files.destination)]
    facts = [
        ("Report made", occasion.when),
        ("Run by", occasion.ran_by),
        ("Role", occasion.asked.role),
        ("Phase", occasion.phase),
        *(
            (name.replace("_", " ").capitalize(), first_names(chosen, MOST_CHOSEN))
            for name, chosen in occasion.selection.items()
        ),
        *(
            (side, f"{name or 'cluster'} (cluster ID {(cluster and cluster.cluster_id) or 'unknown'})")
            # A rollback asks no source, and no file of it knows one.
            if cluster or not occasion.is_rollback
            else (side, name)
            for side, name, cluster in clusters
        ),
        ("Directory", occasion.asked.directory),
        ("SHA-256 of plan.json", files.digests.get("plan.json", "")),
        *occasion.run.versions.items(),
    ]
    return tuple((name, fact) for name, fact in facts if fact)


def _exceptions(rows: t.Sequence[GroupPartition]) -> t.Iterator[Section]:
    """Blocked ones first, then by how many there are."""
    kinds = values_by_key(((row.verdict, row.reason), row) for row in rows if row.verdict not in (None, Verdict.EXACT))
    order = sorted(kinds, key=lambda kind: (_ORDER.index(kind[0]), -len(kinds[kind]), kind[1]))
    for verdict, reason in order:
        same = kinds[verdict, reason]
        repeats = RecordSum.of((row.repeats, Bound.EXACTLY) for row in same)._replace(bound=Bound.AT_MOST)
        remedy = advice.VERDICTS.get(verdict, "")
        if reason:
            remedy = advice.of_reason(Reason(reason), repeats=bool(repeats) or verdict is not Verdict.SAFE)
        yield Section(
            f"{verdict.value}{f' ({reason})' if reason else ''}: {counted(len(same), 'group-partition')}"
            + (f", {repeats.clause('record', 'repeated')}" if verdict is Verdict.SAFE else ""),
            3,
            (f"Remedy: {with_option_names(remedy)}",),
            header=("group and partition", "source offset", "destination offset", "repeats at most", "detail"),
            rows=tuple(map(_example, same[:MOST_EXAMPLES])),
            rest=rest_of(same, MOST_EXAMPLES, "in plan.json, and in the table of report.html"),
            verdict=verdict,
        )


def _example(row: GroupPartition) -> tuple[Cell, ...]:
    return (
        Cell(f"{row.group} {row.partition}", "name", tuple(row.origin_names), row.more_origins),
        Cell(row.source_offsets, "number"),
        Cell(offset_text(row.offset), "number"),
        Cell(row.repeats_text, "number"),
        Cell(row.detail, "detail"),
    )


def _no_exceptions(files: MigrationFiles, occasion: Occasion, total: Totals) -> str:
    """What is said where everything is exact."""
    if occasion.is_rollback:
        others = "Of the other groups, none" if any(total.states[state] for state in WRITTEN) else "None"
        return f"{others}: a rollback restores what was committed before, whatever was planned."
    if files.plan is None:
        return "Not known: there is no plan."
    if total.objected:
        return "None in the plan; what failed verification is below."
    if occasion.leaves_groups_out or total.not_taken:
        return "Of the other groups, nothing is blocked, and no consumed record comes again."
    return f"None: nothing is blocked, and no consumed record comes again.{_absent(total)}"


def _no_problems(occasion: Occasion, total: Totals) -> str:
    """What is said where the verification has found no problem."""
    if occasion.verification_failed:
        return "The verification has failed: see the message above."
    verified = f"No problem: {counted(total.verified, 'group-partition')} {total.verified_text}"
    if not occasion.verified_nothing:
        return f"{verified}.{_absent(total)}" if total.verified else "Nothing was verified."
    read = occasion.read_back
    so = f"only read {counted(read, 'committed offset')} back" if read else "verified nothing"
    by_whom = ""
    if any(total.states[state] for state in WRITTEN):
        by_whom = " Earlier runs have committed these offsets: see receipt.json."
    elif total.states[State.UNCHANGED] == total.partitions:
        by_whom = f" The groups had these offsets already{occasion.outcome.at_destination}."
    earlier = f" {verified} by an earlier run.{_absent(total)}" if total.verified else ""
    return f"This run wrote nothing, and so it {so}.{by_whom}{earlier}"


def _absent(total: Totals) -> str:
    """What is allowed to be absent is no problem, but nobody should take it for nothing."""
    if not total.absent:
        return ""
    verb = "is" if total.absent.records == 1 else "are"
    clause = total.absent.clause("unconsumed record", f"{verb} not at the destination: see the notes and details.")
    return f" {clause[0].upper()}{clause[1:]}"


def _problems(files: MigrationFiles) -> t.Iterator[Section]:
    problems = by_gravity(problem for finding in files.findings for problem in problems_of(finding))
    for kind, same in values_by_key((problem.kind, problem) for problem in problems).items():
        yield Section(
            f"{kind.value}: {counted(len(same), 'problem')}",
            3,
            (f"Remedy: {with_option_names(advice.PROBLEMS[kind])}",),
            tuple(problem.line for problem in same[:MOST_EXAMPLES]),
            rest=rest_of(same, MOST_EXAMPLES, "in report.json"),
        )


def _notes(files: MigrationFiles, occasion: Occasion, total: Totals) -> t.Iterator[Note]:
    yield from (Note(NoteKind.RULE_UNUSED, text) for text in occasion.outcome.unused_rules)
    yield from (Note(NoteKind.FILE_LEFT_OUT, why) for why in files.left_out)
    missing = [
        name
        for name in occasion.files
        if name not in files.digests
        and not any(name in why for why in files.left_out)
        and not (name == "report.json" and occasion.verified_nothing)
    ]
    if missing:
        yield Note(NoteKind.FILE_MISSING, f"Not there: {', '.join(missing)}.")
    if total.elsewhere and not occasion.is_rollback:
        elsewhere = counted(total.elsewhere, "group-partition")
        text = f"The receipt also holds {elsewhere} of other runs in this directory. A selected rollback leaves them alone."
        yield Note(NoteKind.OTHER_RUNS, text)
    notes = [Note(note.kind, f"{finding.name}: {note.text}") for finding in files.findings for note in finding.notes]
    yield from notes[:MOST_EXAMPLES]
    if len(notes) > MOST_EXAMPLES:
        text = f"... and {counted(len(notes) - MOST_EXAMPLES, 'more note')} in report.json."
        yield Note(NoteKind.MORE_NOTES, text)
