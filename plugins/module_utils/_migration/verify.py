# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: prove, after a commit, that groups stand between the copies of the records they stood between before."""

from __future__ import annotations

import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._control import groups
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topics import cluster_id
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.conflicts import same, text
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.reading import Side
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan, PlanEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Key, Receipt
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition


class Verified(t.NamedTuple):
    """proved: entries whose neighbours were read again and are right. without_records: entries that have no neighbour

    to read (nothing was ever consumed, or all of it has expired). problems: one line for each entry that is wrong.
    """

    proved: int
    without_records: int
    problems: list[str]


def anchors(plan: Plan, receipt: Receipt, source: Connection, destination: Connection) -> Verified:
    """Read the records beside every offset that was set again, on both clusters, and compare them.

    For each entry of the plan that was written, or stood right already: the group stands there or further; the last
    consumed record's copy lies before the offset, the first unconsumed one's at or after it, and both are equal to their
    originals. What a policy has left alone is not looked at.
    """
    for expected, connection in ((plan.source_id, source), (plan.destination_id, destination)):
        found = cluster_id(connection)
        if found != expected:
            raise Refused(
                f"the plan was made for cluster {expected}, and this is {found}",
                cluster=str(connection),
                remedy="connect to the plan's clusters, or plan again",
            )
    entries, problems = _set(plan, receipt, destination)
    matched_by = {entry.evidence.matched_by for entry in entries if entry.evidence.matched_by}
    checked: set[Key] = set()
    for parts in sorted(matched_by):
        alike = [entry for entry in entries if entry.evidence.matched_by == parts]
        here, there = _sides(source, destination, parts)
        _read(here, {(entry.source[0].partition, at.source) for entry in alike for at in _anchors(entry)})
        _read(there, {(entry.partition, at.destination) for entry in alike for at in _anchors(entry)})
        for entry in alike:
            checked.add(entry.key)
            problems += _record_problems(entry, here, there)
    return Verified(len(checked), len(entries) - len(checked), sorted(problems))


def _set(plan: Plan, receipt: Receipt, destination: Connection) -> tuple[list[PlanEntry], list[str]]:
    """The entries that the destination's groups were set to, and one line for each that they have left since."""
    written = receipt.by_key()
    wanted = [entry for entry in plan.entries if entry.target is not None]
    names = sorted({entry.group for entry in wanted})
    readings = groups.read_groups(destination, names) if names else {}
    entries, problems = [], []
    for entry in wanted:
        found = readings[entry.group].offsets.get(entry.partition)
        ours = written.get(entry.key)
        if ours is not None and ours.written is not None:
            if not same(found, ours.written) and not ours.explains(found):
                problems.append(
                    f"{entry.group} {entry.partition}: {text(ours.written)} was committed, and now {text(found)} is"
                )
        elif not same(found, entry.target):
            continue
        entries.append(entry)
    return entries, problems


def _sides(source: Connection, destination: Connection, matched_by: tuple[str, ...]) -> tuple[Side, Side]:
    parts = tuple(part for part in matched_by if part != "timestamp")
    return Side(source, parts, False), Side(destination, parts, False)


def _anchors(entry: PlanEntry) -> list[t.Any]:
    return [at for at in (entry.evidence.before, entry.evidence.after) if at is not None]


def _read(side: Side, wanted: set[tuple[TopicPartition, int]]) -> None:
    if not wanted:
        return
    side.learn({partition for partition, _offset in wanted})
    spans: dict[TopicPartition, set[tuple[int, int]]] = {}
    for partition, offset in wanted:
        facts = side.logs[partition].facts
        if facts.log_start <= offset < facts.end:
            spans.setdefault(partition, set()).add((offset, offset + 1))
    side.read(spans)


def _record_problems(entry: PlanEntry, here: Side, there: Side) -> list[str]:
    if entry.offset is None:
        return []
    problems = []
    name = f"{entry.group} {entry.partition}"
    before, after = entry.evidence.before, entry.evidence.after
    if before is not None and before.destination >= entry.offset:
        problems.append(f"{name}: the last consumed record's copy {before.destination} is behind {entry.offset}")
    if after is not None and after.destination < entry.offset:
        problems.append(f"{name}: the first unconsumed record's copy {after.destination} is before {entry.offset}")
    for at in _anchors(entry):
        original = _record(here, entry.source[0].partition, at.source)
        copy = _record(there, entry.partition, at.destination)
        # What has expired since the plan was made cannot be read again; its fingerprint stands in the plan.
        for side, record in (("source", original), ("destination", copy)):
            offset = at.source if side == "source" else at.destination
            if record is not None and record.digest.hex() != at.fingerprint:
                problems.append(f"{name}: the {side}'s record at {offset} is not the one that was matched")
    return problems


def _record(side: Side, partition: TopicPartition, offset: int) -> Record | None:
    found = side.logs[partition].between(offset, offset + 1)
    return found[0] if found else None
