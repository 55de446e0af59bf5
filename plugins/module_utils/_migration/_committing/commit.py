# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: the destination's groups stand where the plan says, or where they stood before."""

from __future__ import annotations

import dataclasses
import time
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._control import commits, groups, permissions, positions
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topics import cluster_id
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing import (
    conflicts,
    coverage,
    limits,
    rollback,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing.conflicts import Target, Writes
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing.source_watch import SourceWatch
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import (
    BrokerError,
    GroupBusy,
    NotAuthorized,
    Refused,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import (
    CommittedOffset,
    GroupReading,
    commit_text,
    commits_of,
    same_commit,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.idle import idle_problem
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan, PlanEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import (
    OnActiveGroup,
    OnAdvance,
    OnBlocked,
    OnRewind,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.progress import counted
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Key, Receipt
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import Snapshot

Save = t.Callable[[Receipt], None]


@dataclasses.dataclass(frozen=True, slots=True)
class CommitOptions:
    """The options of kafka_offset_commit; idle_wait in seconds."""

    on_blocked: OnBlocked = OnBlocked.FAIL
    on_rewind: OnRewind = OnRewind.FAIL
    on_advance: OnAdvance = OnAdvance.ADVANCE
    on_active_group: OnActiveGroup = OnActiveGroup.FAIL
    on_active_source: OnActiveGroup = OnActiveGroup.FAIL
    on_missing_entry: str = "fail"
    idle_wait: float = 5.0


@dataclasses.dataclass(frozen=True, slots=True)
class CommitOutcome:
    """What was, or in check mode would be, done.

    before, after: the commits of every entry concerned; None for no commit. set: those of them that were written.
    left_out: one line for each entry or group that a policy or an earlier migration leaves alone.
    receipt: what the receipt file holds afterwards, None when there is none. notes: what the user should know besides, such as
    source groups that are still in use where a policy allows it.
    """

    before: dict[Key, Target]
    after: dict[Key, Target]
    set: dict[Key, Target]
    left_out: list[str]
    receipt: Receipt | None
    notes: list[str] = dataclasses.field(default_factory=list)


def commit(
    plan: Plan,
    receipt: Receipt | None,
    destination: Connection,
    options: CommitOptions,
    save: Save | None,
    snapshot: Snapshot | None = None,
    source: Connection | None = None,
    objections: t.Mapping[Key, str] | None = None,
) -> CommitOutcome:
    """Commit the plan's offsets and read them back.

    :param save: writes the receipt; called before the first write and after the last. None predicts only.
    :param snapshot: what the source has committed now; the plan must have been made from exactly this, and cover it.
    :param source: where to look once more, before the first write and after the last, whether the groups are in use.
    :param objections: entries that a verification of the plan objects to, and why; they count as blocked.
    Everything is checked before anything is written. Raises Refused, GroupBusy, BrokerError.
    """
    cluster = str(destination)
    missing = [] if snapshot is None else coverage.check_covers(plan, snapshot, options.on_missing_entry)
    _check_certificates(plan, cluster)
    watch = SourceWatch(source, plan, options.on_active_source)
    watch.check_cluster()
    known = _receipt_of(receipt, _same_cluster(plan.destination_id, "plan", destination))
    entries, left_out = conflicts.without_blocked(
        conflicts.objected(plan.entries, objections or {}), options.on_blocked, cluster
    )
    entries = [entry for entry in entries if entry.target is not None]
    readings = _read(destination, {entry.group for entry in entries})
    current = commits_of(readings)
    known = conflicts.confirmed(known, current)
    concerned = [entry.key for entry in entries]
    entries, busy = _without_members(entries, readings, options)
    writes = conflicts.commit_writes(entries, current, known, options.on_rewind, options.on_advance, cluster)
    _check_bounds(destination, writes.set)
    limits.check_metadata(destination, writes.set)
    writes, moving = _idle(destination, writes, readings, options)
    writes, in_use, notes = watch.before(writes)
    left_out = [*missing, *left_out, *writes.kept, *busy, *moving, *in_use]
    outcome = dataclasses.replace(_outcome(concerned, current, writes, left_out, receipt), notes=notes)
    if save is None:
        return outcome
    if not writes.set:
        if receipt is not None and known != receipt:
            save(known)
            return dataclasses.replace(outcome, receipt=known)
        return outcome
    prepared = known.merged(conflicts.receipt_entries(writes, entries, current, known))
    save(prepared)
    _write(destination, writes.set)
    done, wrong = _read_back(destination, writes.set)
    finished = prepared.merged(
        entry._replace(after=done.get(entry.key)) for entry in prepared.entries if entry.key in writes.set
    )
    save(finished)
    _raise_if(wrong, cluster, "the commit", "run the same again: what is right is left alone, the rest is written")
    return dataclasses.replace(outcome, receipt=finished, notes=watch.after(writes.set) or notes)


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
        )


def roll_back(
    receipt: Receipt, selection: Selection | None, destination: Connection, options: CommitOptions, save: Save | None
) -> CommitOutcome:
    """Put back what stood there before, removing commits and groups that were not there. As commit() otherwise.

    :param selection: which groups and topics, by their names at the source; None for everything in the receipt.
    Nothing else is asked for, written or changed in the receipt. Raises InvalidInput, NotFound and NotAuthorized, too.
    """
    cluster = str(destination)
    _same_cluster(receipt.cluster_id, "receipt", destination)
    chosen = rollback.choose(receipt, selection, cluster)
    readings = _read(destination, {entry.group for entry in chosen.entries})
    current = commits_of(readings)
    entries, kept = rollback.without_kept(chosen.entries, current, options.on_rewind, options.on_advance, cluster)
    wanted = rollback.targets(entries, readings)
    put_back = sorted({partition for (_group, partition), target in wanted.items() if target is not None})
    bounds = positions.partition_bounds(destination, put_back) if put_back else {}
    notes = [*chosen.notes, *rollback.check_bounds(wanted, bounds, cluster)]
    _check_rights(destination, wanted)
    writes, busy = _idle(destination, Writes(wanted, kept), readings, options)
    concerned = [entry.key for entry in chosen.entries]
    outcome = dataclasses.replace(_outcome(concerned, current, writes, [*writes.kept, *busy], receipt), notes=notes)
    if save is None:
        return outcome
    _write(destination, writes.set)
    done, wrong = _read_back(destination, writes.set)
    _raise_if(wrong, cluster, "the rollback", "run the same again: what is back already is left alone")
    in_use = {group for group, _partition in wanted.keys() - writes.set.keys()}
    finished = receipt.merged(
        entry._replace(written=None, after=None)
        for entry in entries
        if entry.group not in in_use and (entry.key in writes.set or current.get(entry.key) == entry.before)
    )
    _remove_empty_groups(destination, writes.set, done)
    if finished != receipt:
        save(finished)
    return dataclasses.replace(outcome, receipt=finished)


def _same_cluster(expected: str, file: str, destination: Connection) -> str:
    found = cluster_id(destination)
    if found != expected:
        raise Refused(
            f"the {file} was made for cluster {expected}, and this is cluster {found}",
            cluster=str(destination),
            remedy=f"connect to the cluster of the {file}" + (", or plan again for this one" if file == "plan" else ""),
        )
    return found


def _receipt_of(receipt: Receipt | None, cluster_id: str) -> Receipt:
    if receipt is None:
        return Receipt(cluster_id)
    if receipt.cluster_id != cluster_id:
        raise Refused(
            f"the receipt is of cluster {receipt.cluster_id}, and this is cluster {cluster_id}",
            remedy="use another receipt file for another cluster, because the rollback of the earlier run needs this one",
        )
    return receipt


def _read(destination: Connection, names: t.Collection[str]) -> dict[str, GroupReading]:
    return groups.read_groups(destination, sorted(names)) if names else {}


def _without_members(
    entries: list[PlanEntry], readings: t.Mapping[str, GroupReading], options: CommitOptions
) -> tuple[list[PlanEntry], list[str]]:
    """The entries of groups in which nobody is, where a policy leaves out the others, and one line for each of those.

    What members commit after the plan was made, or how far they are, is then no reason to refuse anything.
    """
    if options.on_active_group != OnActiveGroup.SKIP_GROUP:
        return entries, []
    problems = {name: problem for name, each in sorted(readings.items()) if (problem := idle_problem(each, each))}
    return [entry for entry in entries if entry.group not in problems], _left_out_lines(problems)


def _idle(
    destination: Connection, writes: Writes, first: t.Mapping[str, GroupReading], options: CommitOptions
) -> tuple[Writes, list[str]]:
    """The writes of groups in which nobody is, and one line for each group that a policy leaves out.

    Two readings, idle_wait apart and once for all groups together, for consumers that use assign() never show as
    members: only their commits move.
    """
    names = sorted({group for group, _partition in writes.set})
    if not names:
        return writes, []
    problems = {name: problem for name in names if (problem := idle_problem(first[name], first[name]))}
    quiet = [name for name in names if name not in problems]
    if quiet and not (problems and options.on_active_group == OnActiveGroup.FAIL):
        time.sleep(options.idle_wait)
        second = _read(destination, quiet)
        problems |= {name: problem for name in quiet if (problem := idle_problem(first[name], second[name]))}
    if problems and options.on_active_group == OnActiveGroup.FAIL:
        name, problem = next(iter(sorted(problems.items())))
        raise GroupBusy(
            problem
            + (f" ({len(problems)} groups are in use: {', '.join(sorted(problems))})" if len(problems) > 1 else ""),
            cluster=str(destination),
            group=name,
            remedy="stop what uses it and wait for the session timeout, or leave it out by on_active_group: skip_group",
        )
    left = {key: target for key, target in writes.set.items() if key[0] not in problems}
    return Writes(left, writes.kept), _left_out_lines(problems)


def _left_out_lines(problems: t.Mapping[str, str]) -> list[str]:
    return [f"{name}: {problem}: left out (on_active_group: skip_group)" for name, problem in sorted(problems.items())]


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
                remedy="translate again: records have expired or were deleted since the plan was made",
            )


def _write(destination: Connection, targets: t.Mapping[Key, Target]) -> None:
    to_set: dict[str, dict[TopicPartition, CommittedOffset]] = {}
    to_remove: dict[str, list[TopicPartition]] = {}
    for (group, partition), target in sorted(targets.items()):
        if target is None:
            to_remove.setdefault(group, []).append(partition)
        else:
            to_set.setdefault(group, {})[partition] = target
    errors = commits.commit_offsets(destination, to_set) if to_set else {}
    errors |= commits.delete_offsets(destination, to_remove) if to_remove else {}
    first = next(((group, its) for group, its in sorted(errors.items()) if its), None)
    if first is not None:
        group, its = first
        partition, why = next(iter(sorted(its.items())))
        count = sum(len(each) for each in errors.values())
        raise BrokerError(
            f"{count} of {len(targets)} commits were refused",
            cluster=str(destination),
            group=group,
            topic=partition.topic,
            partition=partition.partition,
            why=why,
            remedy="remove the cause and run the same again: what was written stays, the receipt knows it",
        )


def _read_back(
    destination: Connection, targets: t.Mapping[Key, Target]
) -> tuple[dict[Key, CommittedOffset], list[str]]:
    done = commits_of(_read(destination, {group for group, _partition in targets}))
    wrong = [
        f"{group} {partition}: wanted {commit_text(target)}, read back {commit_text(done.get((group, partition)))}"
        for (group, partition), target in sorted(targets.items())
        if not same_commit(done.get((group, partition)), target)
    ]
    return done, wrong


def _raise_if(wrong: list[str], cluster: str, what: str, remedy: str) -> None:
    if wrong:
        raise BrokerError(
            f"the read-back after {what} found {counted(len(wrong), 'different offset')}; the first is {wrong[0]}",
            cluster=cluster,
            why="somebody else commits to this group at the same time",
            remedy=f"stop them and {remedy}",
        )


def _check_rights(destination: Connection, targets: t.Mapping[Key, Target]) -> None:
    """Raise NotAuthorized before anything is written: a rollback that stops half-way leaves groups split."""
    missing = permissions.missing_acls(
        destination,
        commits_groups={group for (group, _partition), target in targets.items() if target is not None},
        commits_topics={partition.topic for _group, partition in targets},
        deletes_groups={group for (group, _partition), target in targets.items() if target is None},
    )
    if missing:
        raise NotAuthorized(
            f"needs ACL {', '.join(missing)}",
            cluster=str(destination),
            why="without it the rollback would stop half-way",
            remedy="grant it to the user of this cluster",
        )


def _remove_empty_groups(
    destination: Connection, targets: t.Mapping[Key, Target], done: t.Mapping[Key, CommittedOffset]
) -> None:
    """A group that holds nothing after its commits were taken back was not there before."""
    alive = {group for group, _partition in done}
    empty = sorted({group for (group, _partition), target in targets.items() if target is None} - alive)
    if not empty:
        return
    errors = commits.delete_groups(destination, empty)
    for group, why in sorted(errors.items()):
        raise BrokerError(
            "the group is empty again, but cannot be removed", cluster=str(destination), group=group, why=why
        )


def _outcome(
    concerned: t.Iterable[Key],
    current: t.Mapping[Key, CommittedOffset],
    writes: Writes,
    left_out: list[str],
    receipt: Receipt | None,
) -> CommitOutcome:
    before = {key: current.get(key) for key in sorted(concerned)}
    after = {key: writes.set.get(key, found) for key, found in before.items()}
    return CommitOutcome(before, after, writes.set, left_out, receipt)
