# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: the destination's groups stand where the plan says, or where they stood before."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._control import positions
from ..._control.topics import describe_topics
from ..._model.cluster_identity import Traits
from ..._model.connection import Connection
from ..._model.group_state import commits_of
from ..._model.idle import NOT_LOOKED, EarlierLook
from ..._model.left_out import left_out as not_done
from ..._model.notes import Note, NoteKind
from ..._model.option_names import at_destination, is_in_one_cluster
from ..._model.plan import Plan
from ..._model.receipt import Key, Pending, Receipt, ReceiptEntry
from ..._model.removed import Removed
from ..._model.selection import Selection
from ..._model.snapshot import Snapshot
from ..._model.verdicts import Reason
from ..._model.visible_text import names_text
from ..._model.wording import are, part_of
from .. import renewal
from ..file_clusters import changed_entries, check_cluster, check_same, correct_file, keeps_rollback
from . import conflicts, coverage, rollback, rollback_checks, writing
from .commit_decision import CommitDecision, check_targets, decide_commit
from .conflicts import Target
from .outcome import CommitOptions, CommitOutcome, Save, before_and_after, save_last
from .source_watch import SourceWatch
from .write_watch import WriteWatch


def commit(
    plan: Plan,
    receipt: Receipt | None,
    destination: Connection,
    options: CommitOptions,
    save: Save | None,
    snapshot: Snapshot | None = None,
    source: Connection | None = None,
    objections: t.Mapping[Key, str] | None = None,
    now: int | None = None,
    selection: Selection | None = None,
    earlier: EarlierLook = NOT_LOOKED,
    returns: bool = False,
    kept: t.Callable[[], Snapshot | None] = lambda: None,
) -> CommitOutcome:
    """Commit the plan's offsets and read them back.

    :param save: writes the receipt; called before the first write and after the last. None predicts only.
    :param snapshot: what the source has committed now; the plan must have been made from exactly this, and cover it.
    :param source: where to look once more, before the first write and after the last, whether the groups are in use.
    :param objections: entries that a verification of the plan objects to, and why; they count as blocked.
    :param now: Unix time in seconds, for the receipt; None notes none.
    :param selection: the groups and topics that are meant, for a plan without a snapshot; it must have no others. None for
        whatever it has.
    :param earlier: how both clusters were seen when the plan was verified, from when on idle_wait counts.
    :param returns: whether groups are returned to where they were once.
    :param kept: see coverage.check_covers().
    Everything is checked before anything is written. Raises Refused, GroupBusy, BrokerError.
    """
    cluster = str(destination)
    missing = coverage.NotPlanned()
    if snapshot is not None:
        missing = coverage.check_covers(plan, snapshot, options.on_missing_entry, kept)
    elif selection is not None:
        missing = coverage.check_selected(plan, selection)
    _check_certificates(plan, cluster)
    watch = SourceWatch(source, plan, options.on_active_source)
    producers = WriteWatch(source, plan, options.on_still_written, options.idle_wait, earlier)
    changed = changed_entries(plan, source, destination, receipt.traits.topic_ids if receipt else ())
    known = Receipt(changed.destination.cluster_id)
    if receipt is not None:
        check_same(receipt.name, receipt.identity, changed.destination, destination, keeps_rollback())
        known = receipt.as_far_as_of(changed.destination)
    entries, blocked, left_out = conflicts.without_blocked(
        conflicts.objected(
            conflicts.objected(plan.entries, changed.by_entry, Reason.CHANGED_SINCE_PLAN), objections or {}
        ),
        options.on_blocked,
        cluster,
    )
    entries = [entry for entry in entries if entry.offset is not None]
    topics = changed.destination.traits
    decided = decide_commit(
        entries,
        known,
        destination,
        options,
        watch,
        producers,
        earlier,
        now,
        topics,
        one_cluster=plan.is_within_one_cluster,
        returns=returns,
        predicts=save is None,
    )
    written_notes = producers.before(decided.may_start)
    # First what skips records where a policy leaves it alone: of many lines, only the first ones are shown.
    not_taken = not_done(snapshot.left_out if snapshot else (), plan)
    left_out = [*decided.outcome.left_out, *missing.lines, *left_out, *not_taken]
    notes = [*decided.outcome.notes, *_set_anew(decided.outcome.set, receipt, known)]
    outcome = dataclasses.replace(
        decided.outcome,
        left_out=left_out,
        blocked=blocked,
        lacking=missing.groups,
        still_written=list(producers.seen.values()),
        notes=[*decided.source_notes, *notes, *written_notes],
    )
    if save is None:
        return outcome
    if not outcome.set:
        finished = renewal.ended(decided.known, decided.complete)
        if receipt is not None and finished != receipt:
            save(finished)
        return outcome
    _carry_out(destination, decided, topics, save)
    source_notes = watch.after(decided.planned.set) or decided.source_notes
    written_notes += producers.after(decided.may_start)
    notes = [*source_notes, *notes, *written_notes]
    return dataclasses.replace(outcome, notes=notes, still_written=list(producers.seen.values()))


def _set_anew(keys: t.Iterable[Key], receipt: Receipt | None, known: Receipt) -> list[Note]:
    """A note of what an earlier run has set in logs that are gone since. known: what of the receipt is still true."""
    gone = receipt.by_key.keys() - known.by_key.keys() if receipt else set()
    topics = sorted({partition.topic for group, partition in keys if (group, partition) in gone})
    text = (
        f"These topics were deleted and created again{at_destination()} since their groups were set: {names_text(topics)}. "
        "The groups are set again, as the plan says."
    )
    if not is_in_one_cluster():
        text += " What they have consumed at the destination since is repeated if the new topics hold it."
    return [Note(NoteKind.TOPIC_RECREATED, text)] if topics else []


def _carry_out(destination: Connection, decided: CommitDecision, topics: Traits, save: Save) -> None:
    """Write what is decided and read it back, between two savings of the receipt.

    topics: those that are written and those of the receipt so far, as they are now.
    """
    remedy = "run the same again: what is right is left alone, the rest is written"
    prepared = renewal.begun(decided.known.merged(decided.receipt_entries), decided.found, decided.renewed)
    prepared = prepared.noting(topics)
    save(prepared)
    not_removed = writing.remove_groups(destination, decided.renewed)
    writes = {key: target for key, target in decided.outcome.set.items() if key[0] not in not_removed}
    written = writing.write_commits(destination, writes)
    finished = prepared.merged(
        entry._replace(after=written.done[entry.key], pending=None)
        for entry in prepared.entries
        if entry.key in decided.planned.set and entry.key in written.done and entry.key not in written.refused
    )
    finished = renewal.ended(finished, decided.complete - written.failed_groups - not_removed.keys())
    save_last(finished, written, save)
    written.check(destination, "the commit", remedy)
    writing.check_removed(destination, not_removed, remedy)


def _check_certificates(plan: Plan, cluster: str) -> None:
    """An offset is only exact where it is known why; a plan of an earlier version, or an edited one, may not say it."""
    lacking = [entry for entry in plan.entries if entry.lacks_certificate]
    if lacking:
        raise conflicts.entry_refusal(
            lacking[0].key,
            f"{part_of(len(lacking), len(plan.entries), 'group-partition')} of the plan {are(len(lacking))} called exact, and "
            "nothing says how that is known",
            cluster,
            remedy="plan again",
            why="evidence.certificate is missing or unknown; the plan was made by another version, or was edited",
        )


def roll_back(
    receipt: Receipt,
    selection: Selection | None,
    destination: Connection,
    options: CommitOptions,
    save: Save | None,
    returned: t.Collection[str] = (),
    removed: Removed | None = None,
) -> CommitOutcome:
    """Restore what was committed before, removing commits and groups that were not there. As commit() otherwise.

    :param selection: which groups and topics, by their names at the source; None for everything in the receipt.
    :param returned: the groups that a return has set at the source since, for messages.
    :param removed: of a rename, the removed groups, of which a prediction expects that those that are gone are made again
        before; None does not look whether old groups are there.
    Nothing else is asked for, written or changed in the receipt. Raises InvalidInput, NotFound and NotAuthorized, too.
    """
    cluster = str(destination)
    now = check_cluster(receipt.name, receipt.identity, destination, correct_file())
    chosen, chosen_notes = rollback.choose(receipt, selection, cluster, removed)
    found = writing.read_named_groups(destination, {entry.group for entry in chosen})
    lacking = renewal.missing_commits(receipt, found)
    readings = renewal.completed(found, lacking)
    current = commits_of(readings)
    recreated = receipt.traits.recreated(now.traits)
    rollback_checks.check_recreated({**lacking, **rollback.targets(chosen, current)}, recreated, cluster)
    policies = options.on_rewind, options.on_advance
    unjoined, one_cluster = rollback.unjoined(found), is_in_one_cluster()
    why = rollback.repeats(chosen, current, returned, unjoined, one_cluster=one_cluster, are_named=True)
    moving = {entry.group for entry in chosen if rollback.is_to_move(entry, current)}
    with writing.members_first(destination, lambda: moving, found, options.on_active_group):
        entries, kept = rollback.without_kept(chosen, current, *policies, cluster, why)
    wanted = {**lacking, **rollback.targets(entries, current)}
    gone = removed.gone() if removed is not None else None
    if gone is not None:
        taken = [entry for entry in entries if entry.key in wanted and entry.key in current]
        renamed = describe_topics(destination, rollback_checks.renamed_topics(taken), surely=True)
        old = {origin.group for entry in taken for origin in entry.origins}.difference(gone)
        # A group of the name of a removed one may exist, but not with what was removed.
        having = {name for name, reading in writing.read_named_groups(destination, old).items() if reading.offsets}
    restoring_notes, whole = check_restorable(destination, wanted, "the rollback")
    names = sorted({group for group, _partition in wanted})
    busy = writing.busy_groups(destination, names, found, options.on_active_group, options.idle_wait)
    if gone is not None:  # offsets that would be left to no group
        taken = [entry for entry in taken if entry.group not in busy]
        rollback_checks.check_old_partitions(taken, renamed, gone, cluster)
        rollback_checks.check_old_groups(taken, having.union(gone if save is None else ()), gone, cluster)
    writes = {key: target for key, target in wanted.items() if key[0] not in busy}
    concerned = {*(entry.key for entry in chosen), *writes}
    alone = sorted({entry.group for entry in chosen} - {entry.group for entry in entries})
    outcome = CommitOutcome(
        *before_and_after(concerned, commits_of(found), writes),
        writes,
        [*kept, *writing.left_out_lines(busy)],
        notes=[*chosen_notes, *restoring_notes, *rollback.staying(receipt, wanted, current)],
        active_groups=sorted(busy),
        kept_groups=alone,
        unmoved=[
            *rollback.kept_lines(alone, options.on_rewind, options.on_advance),
            *rollback.unmoved_lines(entries, current, set(names)),
        ],
    )
    if save is not None:
        restorable = [entry for entry in entries if entry.group not in busy]
        back = [entry for entry in restorable if entry.key in writes or current.get(entry.key) == entry.before]
        _restore(destination, writes, whole, receipt, back, found.keys() - busy.keys(), save)
    return outcome


def check_restorable(
    destination: Connection, wanted: t.Mapping[Key, Target], what: str, file: str = "the receipt"
) -> tuple[list[Note], t.Collection[str]]:
    """Raise Refused or NotAuthorized where these offsets, which stood there once, cannot be restored as a whole.

    what: is done, and file: has the offsets, for messages. -> notes, and the groups to remove as a whole, as
    writing.check_write_acls() gives them.
    """
    partitions = sorted({partition for (_group, partition), target in wanted.items() if target is not None})
    bounds = positions.partition_bounds(destination, partitions) if partitions else {}
    notes = rollback_checks.check_bounds(wanted, bounds, str(destination), file)
    whole = writing.check_write_acls(destination, wanted, what)
    check_targets(destination, wanted)
    return notes, whole


def _restore(
    destination: Connection,
    targets: t.Mapping[Key, Target],
    whole: t.Collection[str],
    receipt: Receipt,
    back: t.Iterable[ReceiptEntry],
    complete: set[str],
    save: Save,
) -> None:
    """Write what was committed before and read it back, between two savings of the receipt.

    whole: as for writing.write_commits(). back: the entries that stand as before then. complete: groups of which nothing is
    left to do then.

    Until it is known what has gone back, no commit counts as one that its group has consumed since.
    """
    prepared = receipt.merged(
        entry._replace(after=entry.after if entry.pending else None, pending=Pending.ROLLBACK)
        for entry in receipt.entries
        if entry.key in targets
    )
    if targets:
        save(prepared)
    written = writing.write_commits(destination, targets, whole)
    finished = prepared.merged(entry for entry in receipt.entries if entry.key in written.not_stored)
    finished = finished.merged(
        entry._replace(written=None, after=None, pending=None) for entry in back if entry.key not in written.failed
    )
    finished = renewal.ended(finished, complete - written.failed_groups)
    if finished != prepared:
        save_last(finished, written, save)
    written.check(destination, "the rollback", "run the same again: what is back already is left alone")
