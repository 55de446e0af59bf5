# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: the destination's groups stand where the plan says, or where they stood before."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._control import positions
from ..._control.configs import broker_number
from ..._model.cluster_identity import ClusterIdentity, Traits
from ..._model.connection import Connection
from ..._model.errors import InvalidFile, Refused
from ..._model.failure_kinds import FailureKind
from ..._model.group_state import CommittedOffset, GroupReading, commits_of
from ..._model.idle import idle_problem
from ..._model.left_out import left_out as not_done
from ..._model.notes import Note, NoteKind
from ..._model.plan import Plan, PlanEntry
from ..._model.policies import OnActiveGroup, OnAdvance, OnBlocked, OnExpiring, OnMissingEntry, OnRewind, OnStillWritten
from ..._model.progress import counted, first_of
from ..._model.receipt import Key, Receipt, ReceiptEntry
from ..._model.selection import Selection
from ..._model.snapshot import Snapshot
from ..._model.verdicts import Reason
from .. import renewal
from ..file_clusters import KEEPS_ROLLBACK, changed_entries, check_cluster
from . import conflicts, coverage, entry_decision, limits, rollback, writing
from .conflicts import Target, Writes
from .entry_decision import Ground
from .source_watch import SourceWatch
from .write_watch import StillWritten, WriteWatch

_NAMED = 10  # group-partitions that a note names
Save = t.Callable[[Receipt], None]


@dataclasses.dataclass(frozen=True, slots=True)
class CommitOptions:
    """The options of kafka_offset_commit; idle_wait in seconds. on_still_written: None does not look."""

    on_blocked: OnBlocked = OnBlocked.FAIL
    on_rewind: OnRewind = OnRewind.FAIL
    on_advance: OnAdvance = OnAdvance.ADVANCE
    on_active_group: OnActiveGroup = OnActiveGroup.FAIL
    on_active_source: OnActiveGroup = OnActiveGroup.FAIL
    on_missing_entry: OnMissingEntry = OnMissingEntry.FAIL
    idle_wait: float = 5.0
    on_expiring: OnExpiring = OnExpiring.WARN
    on_still_written: OnStillWritten | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class CommitOutcome:
    """What was, or in check mode would be, done.

    before, after: the commits of every entry concerned; None for no commit. set: those of them that were written.
    blocked: one line for each entry that the plan blocks. left_out: one for what else was asked for and is not done: the
    snapshot does not have it, nothing is committed, or a policy or an earlier migration leaves it alone.
    receipt: what the receipt file holds afterwards, None when there is none. notes: what the user should know besides, such as
    source groups that are still in use where a policy allows it, or groups whose commits expire by an old clock.
    going_on: one line for each group-partition that was migrated earlier and has consumed since.
    unmoved: one line for each group of which a rollback finds nothing to restore.
    kept_groups: groups of which a policy or an earlier migration leaves an offset alone. active_groups: groups that are left
    out because they are in use at the destination, and for which the plan has other offsets than they have. still_written:
    topics of the source that have grown at the last look.
    """

    before: dict[Key, Target]
    after: dict[Key, Target]
    set: dict[Key, Target]
    left_out: list[str]
    receipt: Receipt | None
    notes: list[Note] = dataclasses.field(default_factory=list)
    blocked: list[str] = dataclasses.field(default_factory=list)
    active_groups: list[str] = dataclasses.field(default_factory=list)
    unmoved: list[str] = dataclasses.field(default_factory=list)
    kept_groups: list[str] = dataclasses.field(default_factory=list)
    going_on: list[str] = dataclasses.field(default_factory=list)
    still_written: list[StillWritten] = dataclasses.field(default_factory=list)


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
) -> CommitOutcome:
    """Commit the plan's offsets and read them back.

    :param save: writes the receipt; called before the first write and after the last. None predicts only.
    :param snapshot: what the source has committed now; the plan must have been made from exactly this, and cover it.
    :param source: where to look once more, before the first write and after the last, whether the groups are in use.
    :param objections: entries that a verification of the plan objects to, and why; they count as blocked.
    :param now: Unix time in seconds, for the receipt; None notes none.
    Everything is checked before anything is written. Raises Refused, GroupBusy, BrokerError.
    """
    cluster = str(destination)
    missing = [] if snapshot is None else coverage.check_covers(plan, snapshot, options.on_missing_entry)
    _check_certificates(plan, cluster)
    watch = SourceWatch(source, plan, options.on_active_source)
    producers = WriteWatch(source, plan, options.on_still_written)
    producers.begin()
    changed = changed_entries(plan, source, destination)
    topics = _topics_now(receipt, plan, destination)
    known = Receipt(topics.cluster_id) if receipt is None else receipt.as_far_as_of(topics)
    entries, blocked, left_out = conflicts.without_blocked(
        conflicts.objected(conflicts.objected(plan.entries, changed, Reason.CHANGED_SINCE_PLAN), objections or {}),
        options.on_blocked,
        cluster,
    )
    entries = [entry for entry in entries if entry.target is not None]
    decided = _decide(entries, known, destination, options, watch, now, predicts=save is None)
    written_notes = producers.before(decided.planned.set)
    left_out = [*missing, *left_out, *decided.left_out, *not_done(snapshot.left_out if snapshot else (), plan)]
    outcome = _outcome(decided.concerned, commits_of(decided.found), decided.writes, left_out, receipt)
    notes = [*decided.source_notes, *decided.back_notes, *decided.expiry_notes, *written_notes]
    outcome = dataclasses.replace(
        outcome,
        blocked=blocked,
        active_groups=decided.active_groups,
        kept_groups=sorted(decided.planned.alone),
        still_written=list(producers.seen.values()),
        notes=notes,
    )
    if save is None:
        return outcome
    if not decided.writes.set:
        finished = renewal.ended(decided.known, decided.complete)
        if receipt is not None and finished != receipt:
            save(finished)
            return dataclasses.replace(outcome, receipt=finished)
        return outcome
    finished = _carry_out(destination, decided, topics.traits, save)
    notes = watch.after(decided.planned.set) or decided.source_notes
    written_notes = producers.after(decided.planned.set) or written_notes
    return dataclasses.replace(
        outcome,
        receipt=finished,
        notes=[*notes, *decided.back_notes, *decided.expiry_notes, *written_notes],
        still_written=list(producers.seen.values()),
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Decision:
    """What a commit writes, once nothing refuses it.

    known: the receipt so far. found: the destination's groups as they were read. concerned: entries of the plan, and more
    that is written. planned: what the plan says, of the writes; the others are commits of groups that are made again.
    renewed: groups that are removed first. complete: groups of which nothing is left to do afterwards.
    """

    known: Receipt
    found: dict[str, GroupReading]
    concerned: set[Key]
    receipt_entries: list[ReceiptEntry]
    planned: Writes
    writes: Writes
    renewed: set[str]
    complete: set[str]
    left_out: list[str]
    active_groups: list[str]
    source_notes: list[Note]
    back_notes: list[Note]
    expiry_notes: list[Note]


def _decide(
    entries: list[PlanEntry],
    known: Receipt,
    destination: Connection,
    options: CommitOptions,
    watch: SourceWatch,
    now: int | None,
    *,
    predicts: bool,
) -> _Decision:
    """What is written of these entries. predicts: topics that a promotion would make are not there yet.

    Raises whatever commit() raises before its first write.
    """
    found = writing.read_named_groups(
        destination,
        {entry.group for entry in entries} | {each.group for each in known.renewing},
        [entry.key for entry in entries],
    )
    lacking = renewal.missing_commits(known, found)
    readings = renewal.completed(found, lacking)
    current = commits_of(readings)
    known = conflicts.confirmed(known, current)
    concerned = {entry.key for entry in entries}
    busy = groups_with_members(entries, found, options)
    in_busy = [entry for entry in entries if entry.group in busy]
    ground = ground_of(destination, readings, known, options)
    waiting = entry_decision.entries_to_write(in_busy, ground)
    entries = [entry for entry in entries if entry.group not in busy]
    ground = _with_ends(ground, entries, destination)
    try:
        writes = entry_decision.commit_writes(entries, ground)
    except Refused:  # members come first: whoever is refused for anything else would have to stop them next
        to_write = {entry.group for entry in entry_decision.entries_to_write(entries, ground)}
        writing.check_members(destination, to_write, found, options.on_active_group)
        raise
    absent = {entry.key for entry in entries if entry.predicted} if predicts else set()
    _check_bounds(destination, {key: target for key, target in writes.set.items() if key not in absent})
    expiring = renewal.expiring(found, {entry.group for entry in entries})
    # A group that is made again has never had members: what it has consumed since would not be known as that any more.
    renewed = set(expiring) - writes.consumed if options.on_expiring == OnExpiring.RENEW else set()
    again = {key: target for key, target in current.items() if key[0] in renewed}
    limits.check_targets(destination, {**again, **writes.set})
    granted = {key: target for key, target in {**again, **writes.set}.items() if key not in absent}
    writing.check_write_acls(destination, granted, "the renewal" if renewed else "the commit", renewed)
    names = {group for group, _partition in {**lacking, **again, **writes.set}}
    watched = {name for name in writes.consumed if not found[name].has_members}
    moving = writing.busy_groups(destination, names, found, options.on_active_group, options.idle_wait, watched)
    writes = _without(writes, moving)
    allowed, in_use, source_notes = watch.before(writes)
    skipped = moving.keys() | ({group for group, _partition in writes.set.keys() - allowed.set.keys()})
    # A renewed group is made again with all that it had committed; one whose renewal was killed gets what it still lacks.
    remade = {key: target for key, target in {**lacking, **again}.items() if key[0] not in skipped}
    warned = [name for name in expiring if name not in renewed]
    return _Decision(
        known=known,
        found=found,
        concerned={*concerned, *remade, *allowed.set},
        receipt_entries=conflicts.receipt_entries(allowed, entries, current, known, now),
        planned=allowed,
        writes=Writes({**remade, **allowed.set}, allowed.kept, allowed.going_on),
        renewed=renewed - skipped,
        complete=found.keys() - skipped,
        left_out=[*allowed.kept, *writing.left_out_lines(busy), *writing.left_out_lines(moving), *in_use],
        active_groups=sorted(moving.keys() | {entry.group for entry in waiting}),
        source_notes=source_notes,
        back_notes=_back_notes(entry_decision.moved_back(entries, allowed, ground)),
        expiry_notes=renewal.notes(warned, broker_number(destination, "offsets.retention.minutes")) if warned else [],
    )


def _back_notes(clauses: t.Sequence[str]) -> list[Note]:
    """clauses: of what on_rewind lets go back."""
    if not clauses:
        return []
    where = first_of(clauses, _NAMED)
    text = f"What these groups have consumed at the destination after the plan's offsets is repeated: {where}."
    return [Note(NoteKind.MOVED_BACK, text)]


def _carry_out(destination: Connection, decided: _Decision, topics: Traits, save: Save) -> Receipt:
    """Write what is decided and read it back, between two savings of the receipt, which is the result.

    topics: those that are written and those of the receipt so far, as they are now.
    """
    remedy = "run the same again: what is right is left alone, the rest is written"
    writes = decided.writes.set
    prepared = renewal.begun(decided.known.merged(decided.receipt_entries), decided.found, decided.renewed)
    prepared = prepared.noting(topics)
    save(prepared)
    writing.remove_groups(destination, decided.renewed, remedy)
    writing.write_commits(destination, writes)
    done, wrong = writing.read_back(destination, writes)
    finished = prepared.merged(
        entry._replace(after=done.get(entry.key)) for entry in prepared.entries if entry.key in decided.planned.set
    )
    if not wrong:
        finished = renewal.ended(finished, decided.complete)
    _save_last(finished, writes, save)
    writing.raise_if(wrong, str(destination), "the commit", remedy)
    return finished


def _save_last(receipt: Receipt, done: t.Sized, save: Save) -> None:
    """Save the receipt after the last write. Raises InvalidFile that says what was written, as the file does not yet."""
    try:
        save(receipt)
    except InvalidFile as exc:
        raise InvalidFile(
            f"{counted(len(done), 'offset')} {'is' if len(done) == 1 else 'are'} written at the destination, and {exc.what}",
            why=exc.why,
            remedy=f"{exc.remedy}; then run the same again, which completes the file and writes nothing else",
            kind=exc.kind,
        ) from exc


def _check_certificates(plan: Plan, cluster: str) -> None:
    """An offset is only exact where it is known why; a plan of an earlier version, or an edited one, may not say it."""
    lacking = [entry for entry in plan.entries if entry.lacks_certificate]
    if lacking:
        first = lacking[0]
        raise Refused(
            f"{len(lacking)} of {len(plan.entries)} entries of the plan are called exact, and nothing says how that is known",
            cluster=cluster,
            group=first.group,
            topic=first.partition.topic,
            partition=first.partition.partition,
            why="evidence.certificate is missing or unknown; the plan was made by another version, or was edited",
            remedy="plan again",
            kind=FailureKind.PLAN_OUTDATED,
        )


def roll_back(
    receipt: Receipt, selection: Selection | None, destination: Connection, options: CommitOptions, save: Save | None
) -> CommitOutcome:
    """Restore what was committed before, removing commits and groups that were not there. As commit() otherwise.

    :param selection: which groups and topics, by their names at the source; None for everything in the receipt.
    Nothing else is asked for, written or changed in the receipt. Raises InvalidInput, NotFound and NotAuthorized, too.
    """
    cluster = str(destination)
    now = check_cluster("receipt", receipt.identity, destination, "connect to the cluster of the receipt")
    chosen = rollback.choose(receipt, selection, cluster)
    found = writing.read_named_groups(destination, {entry.group for entry in chosen.entries})
    lacking = renewal.missing_commits(receipt, found)
    readings = renewal.completed(found, lacking)
    current = commits_of(readings)
    recreated = receipt.traits.recreated(now.traits)
    rollback.check_recreated({**lacking, **rollback.targets(chosen.entries, readings)}, recreated, cluster)
    try:
        entries, kept = rollback.without_kept(chosen.entries, current, options.on_rewind, options.on_advance, cluster)
    except Refused:  # as a commit does
        moving = {entry.group for entry in chosen.entries if rollback.is_to_move(entry, current)}
        writing.check_members(destination, moving, found, options.on_active_group)
        raise
    wanted = {**lacking, **rollback.targets(entries, readings)}
    put_back = sorted({partition for (_group, partition), target in wanted.items() if target is not None})
    bounds = positions.partition_bounds(destination, put_back) if put_back else {}
    notes = [*chosen.notes, *rollback.check_bounds(wanted, bounds, cluster)]
    writing.check_write_acls(destination, wanted, "the rollback")
    limits.check_targets(destination, wanted)
    names = sorted({group for group, _partition in wanted})
    busy = writing.busy_groups(destination, names, found, options.on_active_group, options.idle_wait)
    writes = _without(Writes(wanted, kept), busy)
    concerned = {*(entry.key for entry in chosen.entries), *writes.set}
    left_out = [*writes.kept, *writing.left_out_lines(busy)]
    outcome = dataclasses.replace(
        _outcome(concerned, commits_of(found), writes, left_out, receipt),
        notes=notes,
        unmoved=rollback.unmoved_lines(entries, current, {group for group, _partition in wanted}),
    )
    if save is None:
        return outcome
    if writes.set:
        save(receipt)
    writing.write_commits(destination, writes.set)
    done, wrong = writing.read_back(destination, writes.set)
    writing.raise_if(wrong, cluster, "the rollback", "run the same again: what is back already is left alone")
    in_use = {group for group, _partition in wanted.keys() - writes.set.keys()}
    finished = receipt.merged(
        entry._replace(written=None, after=None)
        for entry in entries
        if entry.group not in in_use and (entry.key in writes.set or current.get(entry.key) == entry.before)
    )
    finished = renewal.ended(finished, found.keys() - in_use)
    _remove_empty_groups(destination, writes.set, done)
    if finished != receipt:
        _save_last(finished, writes.set, save)
    return dataclasses.replace(outcome, receipt=finished)


def _topics_now(receipt: Receipt | None, plan: Plan, destination: Connection) -> ClusterIdentity:
    """The destination with the topics of the plan and of the receipt. Raises Refused for the receipt of another cluster."""
    noted = receipt.identity if receipt is not None else plan.destination_identity
    return check_cluster(
        "receipt", noted, destination, KEEPS_ROLLBACK, {entry.partition.topic for entry in plan.entries}
    )


def groups_with_members(
    entries: t.Iterable[PlanEntry], readings: t.Mapping[str, GroupReading], options: CommitOptions
) -> dict[str, str]:
    """The groups that have members, and why they are left out, where a policy leaves them out.

    What members commit after the plan was made, or how far they are, is then no reason to refuse anything.
    """
    if options.on_active_group != OnActiveGroup.SKIP_GROUP:
        return {}
    return {
        name: problem
        for name in sorted({entry.group for entry in entries})
        if (problem := idle_problem(readings[name], readings[name]))
    }


def ground_of(
    destination: Connection, readings: t.Mapping[str, GroupReading], receipt: Receipt, options: CommitOptions
) -> Ground:
    """What decisions rest on, of groups as they were read, without the ends of logs."""
    joined = {name for name, reading in readings.items() if reading.had_members}
    return Ground(str(destination), commits_of(readings), receipt, options.on_rewind, options.on_advance, joined)


def _with_ends(ground: Ground, entries: list[PlanEntry], destination: Connection) -> Ground:
    """The same with the ends of the logs of which a refusal says how much would be repeated."""
    partitions = sorted({entry.partition for entry in entry_decision.vanished(entries, ground.current, ground.receipt)})
    bounds = positions.partition_bounds(destination, partitions) if partitions else {}
    return dataclasses.replace(ground, ends={partition: its.high_watermark for partition, its in bounds.items()})


def _without(writes: Writes, groups: t.Container[str]) -> Writes:
    """The writes of all other groups."""
    return dataclasses.replace(writes, set={key: target for key, target in writes.set.items() if key[0] not in groups})


def _check_bounds(destination: Connection, targets: t.Mapping[Key, Target]) -> None:
    """A broker takes any offset; a consumer outside the log falls back to its reset policy, and loses or repeats."""
    partitions = {partition for _group, partition in targets}
    bounds = positions.partition_bounds(destination, sorted(partitions)) if partitions else {}
    for (group, partition), target in sorted(targets.items()):
        its = bounds[partition]
        if target is not None and not its.log_start <= target.offset <= its.high_watermark:
            raise Refused(
                f"offset {target.offset} is not between the log's start {its.log_start} and its end {its.high_watermark}",
                cluster=str(destination),
                group=group,
                topic=partition.topic,
                partition=partition.partition,
                why="the log has lost records since the plan was made"
                if target.offset < its.log_start
                else "the plan was edited, or the topic was truncated or created again since it was made",
                remedy="plan again",
                kind=FailureKind.PLAN_OUTDATED,
            )


def _remove_empty_groups(
    destination: Connection, targets: t.Mapping[Key, Target], done: t.Mapping[Key, CommittedOffset]
) -> None:
    """A group that holds nothing after its commits were rolled back was not there before."""
    alive = {group for group, _partition in done}
    empty = {group for (group, _partition), target in targets.items() if target is None} - alive
    writing.remove_groups(destination, empty, "stop what uses it, and run the same again")


def _outcome(
    concerned: t.Iterable[Key],
    current: t.Mapping[Key, CommittedOffset],
    writes: Writes,
    left_out: list[str],
    receipt: Receipt | None,
) -> CommitOutcome:
    before = {key: current.get(key) for key in sorted(concerned)}
    after = {key: writes.set.get(key, found) for key, found in before.items()}
    return CommitOutcome(before, after, writes.set, left_out, receipt, going_on=writes.going_on)
