# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a commit writes, decided before its first write: by what stands at the destination, its members, limits and ACLs."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._control import positions
from ..._control.abilities import Ability
from ..._control.configs import broker_number
from ..._control.permissions import not_offered
from ..._model.cluster_identity import LogRange, Traits
from ..._model.connection import Connection
from ..._model.errors import MetadataTooLong, Refused
from ..._model.faults import raise_any
from ..._model.group_state import GroupReading, commits_of
from ..._model.idle import EarlierLook
from ..._model.notes import Note
from ..._model.option_names import option_name, ways
from ..._model.plan import PlanEntry
from ..._model.policies import OnExpiring
from ..._model.receipt import Key, Receipt, ReceiptEntry
from ..._model.wording import counted
from .. import quiet, renewal
from . import conflicts, entry_decision, writing
from .conflicts import Target, Writes
from .entry_decision import Ground
from .outcome import CommitOptions, CommitOutcome, before_and_after
from .source_watch import SourceWatch
from .write_watch import WriteWatch

METADATA_LIMIT = "offset.metadata.max.bytes"
DEFAULT_METADATA_LIMIT = 4096


@dataclasses.dataclass(frozen=True, slots=True)
class CommitDecision:
    """What a commit writes, once nothing refuses it.

    known: the receipt so far. found: the destination's groups as they were read. outcome: as far as these decide it, of the
    entries and whatever else is written. planned: what the plan says, of the writes; the others are commits of groups that are
    made again. may_start: what groups have then of which a policy leaves nothing alone, and what is planned of the others.
    renewed: groups that are removed first. complete: groups of which nothing is left to do afterwards.
    """

    known: Receipt
    found: dict[str, GroupReading]
    outcome: CommitOutcome
    receipt_entries: list[ReceiptEntry]
    planned: Writes
    may_start: set[Key]
    renewed: set[str]
    complete: set[str]
    source_notes: list[Note]


def decide_commit(
    entries: list[PlanEntry],
    known: Receipt,
    destination: Connection,
    options: CommitOptions,
    watch: SourceWatch,
    producers: WriteWatch,
    earlier: EarlierLook,
    now: int | None,
    topics: Traits,
    *,
    one_cluster: bool,
    returns: bool,
    predicts: bool,
) -> CommitDecision:
    """What is written of these entries. topics: the destination's, with their logs as they were learned a moment ago.

    earlier: how its groups were seen before. one_cluster: whether it is the source as well. returns: see commit(). predicts:
    topics that a promotion would make are not there yet. The last request is the last look at the destination's groups, because
    what is committed after it is overwritten, while the source is looked at once more after the last write.

    Raises whatever commit() raises before its first write.
    """
    found = writing.read_named_groups(
        destination,
        {entry.group for entry in entries} | {entry.group for entry in known.renewing},
        {(key := entry.key): _thought(entry, known.by_key.get(key)) for entry in entries},
    )
    # What a renewal that was killed has still to give back counts as committed.
    lacking = renewal.missing_commits(known, found)
    readings = renewal.completed(found, lacking)
    current = commits_of(readings)
    known = conflicts.confirmed(known, current)
    concerned = {entry.key for entry in entries}
    with_members = writing.groups_left_out({entry.group for entry in entries}, found, options.on_active_group)
    busy = quiet.with_clients(destination, with_members, found)
    ground = Ground(str(destination), readings, known, options, one_cluster)
    waiting = entry_decision.entries_to_write([entry for entry in entries if entry.group in busy], ground)
    entries = [entry for entry in entries if entry.group not in busy]
    gone = sorted({entry.partition for entry in entry_decision.vanished(entries, ground)})
    ground = dataclasses.replace(ground, ends=positions.log_ends(destination, gone))

    def written_groups() -> set[str]:
        return {entry.group for entry in entry_decision.entries_to_write(entries, ground)}

    with writing.members_first(destination, written_groups, found, options.on_active_group):
        planned = entry_decision.commit_writes(entries, ground)
    renewed, warned = _renewed(entries, known, found, planned, options)
    again = {key: target for key, target in current.items() if key[0] in renewed}
    absent = {entry.key for entry in entries if entry.predicted} if predicts else set()
    within = {key: target for key, target in planned.set.items() if key not in absent}
    given = _given(entries, known)
    _check_bounds(destination, within, topics, {entry.key for entry in entries if entry.is_of_copy} & given)
    check_targets(destination, {**again, **planned.set})
    writing.check_write_acls(destination, {**again, **within}, "the renewal" if renewed else "the commit", renewed)

    names = {group for group, _partition in {**lacking, **again, **planned.set}}
    consumed = planned.consumed
    watched = {name for name in consumed if not found[name].has_members}
    notes = [*_expiry_notes(destination, warned), *writing.hidden_notes(destination, renewed)]

    alone = planned.alone | consumed
    may_start = {*planned.set, *(entry.key for entry in entries if entry.group not in alone)}
    others = {group for group, _partition in planned.set} | alone
    settled = {key for key in may_start if key[0] not in others}

    def look_at_source() -> None:
        producers.look(may_start)
        watch.look(planned.set, settled, given)

    is_second = earlier.shows(found[name] for name in {*names, *watched})
    idle_wait = earlier.seconds_left(options.idle_wait) if is_second else options.idle_wait
    moving = writing.busy_groups(destination, names, found, options.on_active_group, idle_wait, watched, look_at_source)
    still = planned.without(moving)
    allowed, in_use, source_notes = watch.before(still)
    not_written = {group for group, _partition in still.set.keys() - allowed.set.keys()}
    skipped = moving.keys() | not_written | (allowed.alone - planned.alone)

    written = [entry for entry in entries if entry.key in allowed.set]
    # A renewed group is made again with all that it had committed; one whose renewal was killed gets what it still lacks.
    remade = {key: target for key, target in {**lacking, **again}.items() if key[0] not in skipped}
    writes = {**remade, **allowed.set}
    outcome = CommitOutcome(
        *before_and_after({*concerned, *writes}, commits_of(found), writes),
        writes,
        [*allowed.kept, *writing.left_out_lines(busy), *writing.left_out_lines(moving), *in_use],
        [*entry_decision.moved_back(written, ground), *notes],
        active_groups=sorted(moving.keys() | {entry.group for entry in waiting}),
        kept_groups=sorted(allowed.alone),
        going_on=allowed.going_on,
    )
    return CommitDecision(
        known=known,
        found=found,
        outcome=outcome,
        receipt_entries=conflicts.receipt_entries(
            entries, allowed.set, current, known, now, undoes_last=one_cluster or returns
        ),
        planned=allowed,
        may_start={key for key in may_start if key[0] not in skipped},
        renewed=renewed - skipped,
        complete=found.keys() - skipped,
        source_notes=source_notes,
    )


def _given(entries: t.Iterable[PlanEntry], known: Receipt) -> set[Key]:
    """The entries that a run before this one has written as the plan says, and read back."""
    return {entry.key for entry in entries if (ours := known.line_of(entry)) is not None and ours.is_confirmed}


def _renewed(
    entries: t.Iterable[PlanEntry],
    known: Receipt,
    readings: t.Mapping[str, GroupReading],
    writes: Writes,
    options: CommitOptions,
) -> tuple[set[str], list[str]]:
    """The groups that are made again so that their offsets do not expire, and those that are only warned of."""
    expiring = dict.fromkeys(renewal.expiring(readings, {entry.group for entry in entries}))  # in order
    # A group that is made again has never had members: what it has consumed since would not be known as that any more, on
    # whatever topic.
    consumed = writes.consumed | {
        line.group
        for line in known.entries
        if line.group in expiring
        and line.key not in writes.set
        and line.explains(now := readings[line.group].offsets.get(line.partition))
        and line.has_moved_alone(now, had_members=False)
    }
    renewed = expiring.keys() - consumed if options.on_expiring == OnExpiring.RENEW else set()
    return renewed, [name for name in expiring if name not in renewed]


def _thought(entry: PlanEntry, earlier: ReceiptEntry | None) -> Target:
    """What is thought to be committed for an entry: what a run before this one has written, or the plan has seen."""
    return entry.expected if earlier is None or earlier.written is None else earlier.written


def _expiry_notes(destination: Connection, groups: t.Sequence[str]) -> list[Note]:
    """Where brokers do not look at members, an offset that is committed now is kept as long as any."""
    if not groups or not_offered(destination, Ability.KEPT_OFFSETS):
        return []
    return [renewal.note(groups, broker_number(destination, "offsets.retention.minutes"))]


def _check_bounds(
    destination: Connection, targets: t.Mapping[Key, Target], topics: Traits, set_by_copy: t.Container[Key]
) -> None:
    """A broker takes any offset; a consumer outside the log falls back to its reset policy, and loses or repeats.

    set_by_copy: what an earlier run has set as the plan of a backlog's copy says, which is the same whenever it is made.
    """
    partitions = {partition for _group, partition in targets}
    known = {at: noted for at in partitions if (noted := topics.log_of(at)) is not None}
    known |= positions.log_ranges(destination, partitions - known.keys())
    raise_any(
        _outside(key, target.offset, log, str(destination), key in set_by_copy)
        for key, target in sorted(targets.items())
        if target is not None and not (log := known[key[1]]).start <= target.offset <= log.end
    )


def _outside(key: Key, offset: int, log: LogRange, cluster: str, is_set_by_copy: bool) -> Refused:
    """The refusal of an offset outside its log."""
    what = f"offset {offset} is not between the log's start {log.start} and its end {log.end}"
    why = "the plan was edited, or the topic was truncated or created again since it was made"
    remedy = "plan again"
    if offset < log.start:
        lost = counted(log.start - offset, "record")
        why = f"up to {lost} from this offset on were deleted since the plan was made"
        if is_set_by_copy:
            remedy = (
                f"set {option_name('on_rewind')} to keep to leave such group-partitions alone, and then reset the group to the "
                "start of the log (kafka-consumer-groups --reset-offsets --to-earliest)"
            )
        else:
            # Of records that the source has lost as well, on_expired decides, as it did for this plan.
            absent = ": what the source still has of them is absent then, and"
            remedy += ways(("on_absent", f"{absent} {option_name('on_absent')} decides about it"))
    return conflicts.entry_refusal(key, what, cluster, remedy, Refused, why)


def check_targets(destination: Connection, targets: t.Mapping[Key, Target]) -> None:
    """Raise Refused for metadata that is longer than the brokers take, which names the first entry that it is about.

    Where their limit may not be read, it is Kafka's default. A cluster is asked only where an entry has metadata. What no
    cluster would take is in no file (_model/documents.py).
    """
    lengths = {key: _length(target.metadata) for key, target in sorted(targets.items()) if target and target.metadata}
    if not lengths:
        return
    limit = broker_number(destination, METADATA_LIMIT)
    why = f"the brokers' {METADATA_LIMIT} is {limit}"
    remedy = f"raise {METADATA_LIMIT} of the brokers, or shorten the metadata in the file"
    if limit is None:
        limit = DEFAULT_METADATA_LIMIT
        why = f"Kafka's default of {METADATA_LIMIT} is {limit}, and this user may not read the brokers'"
        remedy = "grant ACL CLUSTER DESCRIBE_CONFIGS, or shorten the metadata in the file"
    for key, length in lengths.items():
        if length > limit:
            what = f"the metadata of {length} characters is too long to be committed"
            raise conflicts.entry_refusal(key, what, str(destination), remedy, MetadataTooLong, why)


def _length(metadata: str) -> int:
    """As brokers count, which call it bytes: String.length() of Java, that is, units of UTF-16."""
    return len(metadata.encode("utf-16-le")) // 2
