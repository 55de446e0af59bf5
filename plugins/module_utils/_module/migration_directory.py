# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What the directory of a migration knows: its plan and receipt, its return, the run that is open, the names its runs knew."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import glob
import math
import os
import typing as t

from .._migration._committing.rollback import committed_at_source, without_left_out
from .._model import history, lease, offset_formats, plan, receipt, removed, report, run_record, status
from .._model.documents import utc_text
from .._model.errors import FileMissing, InvalidFile, MigrationError
from .._model.faults import raise_any
from .._model.group_state import CommittedOffset, same_commit
from .._model.grouping import values_by_key
from .._model.lease import OpenRun
from .._model.migrated_groups import DirectoryFiles, DirectoryRuns, GroupRun
from .._model.notes import Note
from .._model.option_names import option_name
from .._model.selection import Selection
from .._model.verdicts import Verdict
from . import digests, files, leases

_MIGRATING = ("migrate", "apply", "cut_over")


def read_directory(directory: str) -> DirectoryFiles:
    """Raises InvalidFile for what is no directory, for one without a plan and a receipt, and for a damaged file.

    A receipt that is lost is told by its newest copy in the history: see lost_receipts().
    """
    if os.path.exists(directory) and not os.path.isdir(directory):
        raise InvalidFile(
            f"{directory} is no directory",
            why="the status is that of all files of a migration",
            remedy=f"name the directory that has plan.json and receipt.json in {option_name('directories')}",
        )
    known, run = _known(directory, _MIGRATING), _open_run(directory)
    made, written = known.plan, known.receipt
    if made is None and written is None:
        lost = (
            "no run has planned or written anything there, or the files are lost",
            f"correct {option_name('directories')}",
        )
        why, remedy = run.before_plan if run else lost
        raise FileMissing(
            f"there is no plan file and no receipt file in {directory}",
            why=why,
            remedy=f"{remedy}, or leave the directory out",
        )
    (returned, return_runs), objected = _read_return(directory), _objected(directory)
    written = _with_found(known)
    lines = written.entries if written else ()
    earlier = _earlier(directory, made, lines, _left_out(known.runs.carried_out, made, lines))
    objected |= earlier.objected
    return DirectoryFiles(
        directory,
        made,
        written,
        returned,
        known.synced,
        objected,
        run,
        known.runs,
        earlier.entries,
        return_runs,
        earlier.kept_in,
    )


class _Known(t.NamedTuple):
    """What a directory, or that of a return in it, has. synced: see _synced(). runs: see _runs()."""

    plan: plan.Plan | None
    receipt: receipt.Receipt | None
    synced: dict[str, float]
    runs: DirectoryRuns


def _known(home: str, phases: t.Container[str]) -> _Known:
    """phases: those of the runs that carry out a plan there. Raises InvalidFile that names all files that are damaged."""
    damaged: list[MigrationError] = []
    made = files.parsed_or_none(os.path.join(home, "plan.json"), plan.from_json, damaged)
    written = files.parsed_or_none(_last_receipt(home), receipt.from_json, damaged)
    last = files.parsed_or_none(os.path.join(home, "status.json"), status.from_json, damaged)
    raise_any(damaged)
    synced = _synced(home, last, made)
    return _Known(made, written, synced, _runs(home, phases, synced, written))


def _with_found(known: _Known) -> receipt.Receipt | None:
    """The receipt, also with what the runs have found as it had to be."""
    # What a run has written before and found unchanged keeps the time of the write, and what was there before it.
    earlier = {line.key: line for line in known.receipt.entries if line.written is not None} if known.receipt else {}
    unwritten = (
        line._replace(before=earlier[line.key].before) if line.key in earlier else line
        for line in _unwritten(known.runs.carried_out)
        if line.key not in earlier or not same_commit(earlier[line.key].written, line.written)
    )
    return _with_lines(known.receipt, known.plan, unwritten)


def _last_receipt(home: str) -> str:
    """The path of the receipt there, or where it is lost, of its newest copy in the history."""
    path = os.path.join(home, "receipt.json")
    return path if os.path.exists(path) else files.kept_copy(path) or path


def lost_receipts(directory: str) -> list[Note]:
    """A note for each receipt there, that of the return included, which read_directory() takes from the history."""
    homes = directory, os.path.join(directory, "return")
    effect = "The status is what that one says, and no rollback or return begins until then."
    return [note for home in homes for note in files.lost_receipt(os.path.join(home, "receipt.json"), effect)]


def _kept(directory: str) -> list[str]:
    """The folders of its runs, the newest first."""
    home = os.path.join(directory, history.DIRECTORY)
    return [os.path.join(home, name) for name in history.newest_first(files.names_in(home))]


def _left_out(
    runs: t.Mapping[str, GroupRun], made: plan.Plan | None, lines: t.Iterable[receipt.ReceiptEntry]
) -> set[str]:
    """The groups that these runs have left out, or partitions of them, unless all of it has gone on by another name since."""
    told = {origin for line in lines if line.written is not None for origin in line.origins}
    told |= _consumed(made.entries if made else ())
    consumed = {group: _consumed(run.entries) for group, run in runs.items() if run.left_out}
    return {group for group, origins in consumed.items() if not origins or not origins <= told}


def _consumed(entries: t.Iterable[plan.PlanEntry]) -> set[receipt.Origin]:
    return {receipt.Origin(at.group, at.partition) for entry in entries for at in entry.source if at.offset is not None}


class _Earlier(t.NamedTuple):
    """What earlier plans tell, as DirectoryFiles has it. objected: what has failed the verification of these plans."""

    entries: tuple[plan.PlanEntry, ...]
    objected: frozenset[receipt.Key]
    kept_in: dict[str, str]


def _earlier(
    directory: str, made: plan.Plan | None, lines: t.Iterable[receipt.ReceiptEntry], left_out: t.Collection[str]
) -> _Earlier:
    """The last kept plan of each group that this one lacks, and the last entries with what these lines have written.

    Of groups without a line, those alone that the last run has left out, or partitions of them: left_out.
    """
    lacking = {line.key: line for line in lines}
    unwritten = {*left_out}.difference(group for group, _partition in lacking)
    planned: set[str] = set()
    found: list[plan.PlanEntry] = []
    objected: set[receipt.Key] = set()
    kept_in: dict[str, str] = {}
    for folder in (None, *_kept(directory)):
        # A plan from before a write does not have what was written.
        name = os.path.basename(folder or "~")
        keys = {key for key, line in lacking.items() if utc_text(line.time or 0).replace(":", "") <= name}
        if not keys and unwritten <= planned:
            break
        read = files.parsed_or_none(os.path.join(folder, "plan.json"), plan.from_json) if folder else made
        entries = [entry for entry in (read.entries if read else ()) if entry.key in keys or entry.group not in planned]
        matched = {entry.key for entry in entries if entry.key in keys and _has_written(entry, lacking[entry.key])}
        groups = ({group for group, _partition in keys} | unwritten) - planned
        if folder:
            found += (entry for entry in entries if entry.key in matched or entry.group in groups)
            last = {entry.key for entry in entries if entry.group in groups}
            kept_in |= dict.fromkeys((group for group, _partition in last), folder)
            with contextlib.suppress(InvalidFile):
                objected |= last & _objected(folder) if last else frozenset()
        planned |= {entry.group for entry in entries}
        lacking = {key: line for key, line in lacking.items() if key not in matched}
    return _Earlier(tuple(found), frozenset(objected), kept_in)


def _has_written(entry: plan.PlanEntry, line: receipt.ReceiptEntry) -> bool:
    return line.written is None or entry.offset == line.written.offset  # of what is rolled back, each plan tells enough


def _ended_run(home: str) -> run_record.RunRecord | None:
    """The last run that has ended there, None where the plan there is that of a later one."""
    run = files.parsed_or_none(os.path.join(home, history.RUN), run_record.from_json)
    made = files.read(os.path.join(home, "plan.json"))
    is_of_plan = run is not None and run.plan in (None, None if made is None else digests.digest(made))
    return run if is_of_plan else None


def is_in_doubt(directory: str) -> bool:
    """Has a run that is kept there failed as it read back what was committed, and none since has read it back?"""
    for folder in _kept(directory):
        run = files.parsed_or_none(os.path.join(folder, history.RUN), run_record.from_json)
        if run is not None and run.phase not in history.ROUND_PHASES and (run.is_unconfirmed or run.has_read_back):
            return run.is_unconfirmed
    return False


def _runs(
    home: str, phases: t.Container[str], synced: t.Container[str], written: receipt.Receipt | None
) -> DirectoryRuns:
    """The last runs there that have carried out their plan of each group, unless a rollback has undone them.

    synced: the groups whose rounds go on, which a cut-over has left out. written: the receipt as it is now.
    """
    kept = (
        (files.parsed_or_none(os.path.join(folder, history.RUN), run_record.from_json), folder)
        for folder in _kept(home)
    )
    runs = [(run, folder) for run, folder in ((_ended_run(home), home), *kept) if run is not None]
    if len(runs) > 1 and runs[0][1] == home and runs[0][0].ended <= runs[1][0].ended:
        del runs[0]  # the history has what its receipt said then
    found: dict[str, GroupRun] = {}
    unconfirmed: dict[str, dict[receipt.Key, CommittedOffset]] = {}
    confirmed: set[str] = set()
    undone: set[str] = set()
    now = files.parsed_or_none(os.path.join(home, "plan.json"), lambda text, _path: text)
    texts: set[str | None] = {None}  # of plans, which many runs have in common
    for run, folder in runs:
        if run.phase not in phases or not (run.failure is None or run.is_unconfirmed or run.has_read_back):
            continue
        if run.is_unconfirmed and history.has_written_nothing(os.path.basename(folder)):
            continue  # what an earlier one has written is in doubt by that one, or not at all
        text = files.parsed_or_none(os.path.join(folder, "plan.json"), lambda text, _path: text)
        made = None if text in texts else files.parsed_or_none(os.path.join(folder, "plan.json"), plan.from_json)
        if run.failure is None:
            texts.add(text)
        planned = values_by_key(
            (entry.group, entry)
            for entry in (made.entries if made else ())
            if entry.group not in found and entry.group not in undone
        )
        if not planned:
            continue
        then = files.parsed_or_none(os.path.join(folder, "receipt.json"), receipt.from_json)
        lines = then.by_key if then else {}
        undone |= planned.keys() & {group for group, _partition in _rolled_back(written) - _rolled_back(then)}
        failed: t.Container[receipt.Key] = ()
        if run.failure is None:
            with contextlib.suppress(InvalidFile):
                failed = _objected(folder)
        for group in planned.keys() - undone:
            targets = {
                entry.key: entry.target
                for entry in planned[group]
                if entry.target is not None and _is_set(entry, lines.get(entry.key))
            }
            if not run.is_unconfirmed:
                confirmed |= {group} if targets else set()
                # What a later run has failed to read back is then another group's.
                if unconfirmed.get(group, {}).items() <= targets.items():
                    unconfirmed.pop(group, None)
            elif targets and group not in confirmed:
                unconfirmed.setdefault(group, targets)
            if run.failure is not None:
                continue
            entries = tuple(planned[group])
            goes_on = run.phase == "cut_over" and group in synced
            left_out = tuple(
                entry
                for entry in entries
                if goes_on
                or entry.verdict is Verdict.BLOCKED
                or entry.key in failed
                # Of what a run leaves out, such as a group in use, no file has the name.
                or (run.left_out and not _is_set(entry, lines.get(entry.key)))
            )
            found[group] = GroupRun(run.ended, entries, left_out, None if text == now else folder)
    return DirectoryRuns(found, frozenset(unconfirmed))


def _rolled_back(written: receipt.Receipt | None) -> set[receipt.Key]:
    return {line.key for line in written.entries if line.written is None} if written else set()


def _is_set(entry: plan.PlanEntry, line: receipt.ReceiptEntry | None) -> bool:
    """Did the run have nothing to write of an entry, or has it, or one before it, written the entry? line: after the run."""
    written = line and line.written
    return entry.target is None or any(same_commit(commit, entry.target) for commit in (entry.expected, written))


def _settled(made: plan.Plan) -> set[str]:
    """The groups, by their names at the source, that had all offsets of this plan before a run could write them."""
    wanted = values_by_key(
        (at.group, entry.target is not None and same_commit(entry.expected, entry.target))
        for entry in made.entries
        if entry.verdict is not Verdict.UNCOMMITTED
        for at in entry.source or (entry,)
    )
    return {group for group, had in wanted.items() if all(had)}


def _unwritten(runs: t.Mapping[str, GroupRun]) -> t.Iterator[receipt.ReceiptEntry]:
    """What these runs have found as it had to be, which no receipt has, as lines of one."""
    for run in runs.values():
        for entry in () if run.left_out else run.entries:
            target, origins = entry.target, tuple(receipt.Origin(at.group, at.partition) for at in entry.source)
            if target is not None and same_commit(entry.expected, target):
                yield receipt.ReceiptEntry(*entry.key, entry.expected, target, target, origins, int(run.ended))


def _with_lines(
    written: receipt.Receipt | None, made: plan.Plan | None, more: t.Iterable[receipt.ReceiptEntry]
) -> receipt.Receipt | None:
    """A receipt with these lines, too; of each group-partition, the last one counts. made: the plan there."""
    if written is None:
        written = receipt.Receipt(made.destination_id, traits=made.destination_traits) if made else None
    lines = sorted((*more, *(written.entries if written else ())), key=lambda line: line.time or 0)
    return written and dataclasses.replace(written, entries=tuple({line.key: line for line in lines}.values()))


def _synced(home: str, last: status.Status | None, made: plan.Plan | None) -> dict[str, float]:
    """When the rounds of each group have ended that go on. Those of a round that has not ended go on, whatever it has written.

    last, made: the status file and the plan there.
    """
    synced, run = last.synced_until if last else {}, _own_open_run(home)
    if made is None or run is None or not run.is_of_rounds:
        return synced
    ended = _ended_run(home)
    if ended is not None and ended.plan is not None and ended.failure is None:  # the round has not planned yet
        return synced
    return synced | dict.fromkeys((entry.group for entry in made.entries), math.inf)


def _open_run(directory: str) -> OpenRun | None:
    """The run that has not ended there, or the return that has not. Raises InvalidFile."""
    returning = _own_open_run(os.path.join(directory, "return"))
    # A return has a plan of its own, and its rounds are those of a return.
    return _own_open_run(directory) or (returning and returning._replace(is_of_plan=False, is_of_rounds=False))


def _own_open_run(home: str) -> OpenRun | None:
    path = os.path.join(home, lease.FILE)
    return leases.open_run(files.read(path), path)


def _objected(directory: str) -> frozenset[receipt.Key]:
    """What has failed the verification of the plan that is there. Raises InvalidFile."""
    objections = files.parsed(os.path.join(directory, "report.json"), report.objections)
    made = files.read(os.path.join(directory, "plan.json"))
    is_of_plan = objections is not None and made is not None and objections.plan == digests.digest(made)
    return frozenset(objections.lines) if objections and is_of_plan else frozenset()


def read_return(directory: str) -> receipt.Receipt | None:
    """The receipt of the return of a migration, without what rounds have set and nobody has cut over. Raises InvalidFile.

    With entries for what the return has found as it has to be, as where nobody has consumed anything since the migration.
    """
    return _read_return(directory)[0]


def _read_return(directory: str) -> tuple[receipt.Receipt | None, DirectoryRuns]:
    known = _known(os.path.join(directory, "return"), ("return", *_MIGRATING))
    found = _with_lines(known.receipt, known.plan, _unwritten(known.runs.carried_out))
    if found is None:
        return None, known.runs
    # Rounds of a return have moved the others at the source, and they go on at the destination.
    is_over = (line for line in found.entries if (line.time or 0) > known.synced.get(line.group, -1.0))
    return dataclasses.replace(found, entries=tuple(is_over)), known.runs


def read_migrated(path: str) -> receipt.Receipt:
    """This receipt of a migration, also with what its runs have found as it had to be.

    Raises InvalidFile, if it is lost, and for a history that cannot be listed: that may have groups which no receipt has.
    """
    found, home = None, os.path.dirname(path)
    if os.path.basename(path) == "receipt.json" and not files.lost_receipt(path):
        _kept(home)  # raises for one that cannot be listed
        with contextlib.suppress(InvalidFile):  # without the plan or the status, the receipt is enough
            found = _with_found(_known(home, _MIGRATING))
    return found if found and found.entries else files.parsed_required(path, receipt.from_json, "receipt", None)


def is_in_return(path: str) -> bool:
    """Is this file one of a return, whose directory is in that of the migration?"""
    above, name = os.path.split(os.path.dirname(files.absolute(path)))
    return name == "return" and any(os.path.exists(os.path.join(above, its)) for its in ("receipt.json", "plan.json"))


def to_undo(
    selection: Selection | None, written: receipt.Receipt | None, path: str | None, gone: removed.Removed | None = None
) -> tuple[Selection | None, list[Note]]:
    """As rollback.without_left_out(), by the snapshots and plans of all runs in the directory of this receipt that are kept.

    A return takes the names of its migration, and knows those of that, too. A file that is damaged tells nothing. Groups that
    had all of their offsets already may go on at the destination, and nothing here can roll them back: a selection of no others
    stays as it is, and is refused. gone: the groups that a rename has removed, which come back in any case.
    """
    if selection is None or written is None or path is None:
        return selection, []
    home = os.path.dirname(path)
    homes = (home, os.path.dirname(home)) if os.path.basename(home) == "return" else (home,)
    known = functools.cache(lambda: [_names_known(each) for each in homes])  # read only where the receipt lacks a name
    left, notes = without_left_out(
        written, selection, lambda: {name for names, _groups in known() for name in names}, gone
    )
    if left.groups or left.group_patterns or left is selection:
        return left, notes
    refused = known()[0][1].intersection(selection.groups).difference(committed_at_source(written, gone))
    return (selection, []) if refused else (left, notes)


def _names_known(home: str) -> tuple[set[str], set[str]]:
    """The names in the snapshots and plans of all runs of a directory, and of these the groups that were settled before."""
    names: set[str] = set()
    settled: set[str] = set()
    for folder in (home, *glob.iglob(os.path.join(glob.escape(home), history.DIRECTORY, "*"))):
        snapshot = files.parsed_or_none(os.path.join(folder, "snapshot.json"), offset_formats.read_snapshot)
        made = files.parsed_or_none(os.path.join(folder, "plan.json"), plan.from_json)
        names.update(snapshot.names() if snapshot else (), made.names() if made else ())
        settled.update(_settled(made) if made else ())
    return names, settled
