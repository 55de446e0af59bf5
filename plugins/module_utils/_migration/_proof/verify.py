# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: prove that groups go on at the destination with the records that they have not consumed at the source."""

from __future__ import annotations

import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._proof.claims import (
    Claims,
    check_clusters,
    entries_to_prove,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._proof.comparison import findings
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.reading import Side
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Copied, Plan, PlanEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.progress import Say, silent
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Key, Receipt
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.report import Report
from ansible_collections.streamshift.kafka.plugins.module_utils._model.spark import SparkOptions


class Verified(t.NamedTuple):
    """proved: entries whose records were read again and are right. without_records: entries that have none to read.

    compared: how many records of the source were found at the destination where they belong. problems: one line for
    each thing that is wrong. notes: one for each that is worth a word and is not.
    """

    proved: int
    without_records: int
    compared: int
    problems: list[str]
    notes: list[str]


def records(
    claims: Claims,
    source: Connection,
    destination: Connection,
    limit: int | None,
    spark: SparkOptions,
    say: Say = silent,
) -> tuple[Verified, Report]:
    """Compare what follows every claimed offset with what followed it at the source, record by record, on Spark.

    limit: after so many offsets the comparison of a partition may stop; None for none.
    """
    found = findings(claims.cases, source, destination, limit, spark, say)
    right = [each for each in found if not each.problems]
    # Where both logs were read to their ends, and nothing is there, that is what had to be proved.
    seen = [each for each in right if each.compared or each.complete]
    proved = sum(len(each.destination) for each in seen)
    verified = Verified(
        proved,
        claims.without_records + sum(len(each.destination) for each in right) - proved,
        sum(each.compared for each in found),
        sorted([*claims.problems, *(f"{each.name}: {line}" for each in found for line in each.problems)]),
        sorted(f"{each.name}: {line}" for each in found for line in each.notes),
    )
    return verified, Report(claims.source_id, claims.destination_id, limit, tuple(found))


def anchors(plan: Plan, receipt: Receipt | None, source: Connection, destination: Connection) -> Verified:
    """Read the records beside every offset that was set again, on both clusters, and compare them.

    For each entry of the plan that was written, or stood right already: the group stands there or further; the last
    consumed record's copy lies before the offset, the first unconsumed one's at or after it, and both are equal to their
    originals. What a policy has left alone is not looked at. Without a receipt, for each entry that has an offset,
    wherever the group stands.
    """
    check_clusters(plan, source, destination)
    entries, problems = entries_to_prove(plan, receipt, destination)
    matched_by = {entry.evidence.matched_by for entry in entries if entry.evidence.matched_by}
    checked: set[Key] = set()
    compared = wrong = 0
    for parts in sorted(matched_by):
        alike = [entry for entry in entries if entry.evidence.matched_by == parts]
        here, there = _sides(source, destination, parts)
        _read(here, {(_source_partition(entry, at), at.source) for entry in alike for at in _anchors(entry)})
        _read(there, {(entry.partition, at.destination) for entry in alike for at in _anchors(entry)})
        for entry in alike:
            checked.add(entry.key)
            compared += len(_anchors(entry))
            found = _record_problems(entry, here, there)
            wrong += bool(found)
            problems += found
    return Verified(len(checked) - wrong, len(entries) - len(checked), compared, sorted(problems), [])


def _sides(source: Connection, destination: Connection, matched_by: tuple[str, ...]) -> tuple[Side, Side]:
    parts = tuple(part for part in matched_by if part != "timestamp")
    return Side(source, parts, False), Side(destination, parts, False)


def _anchors(entry: PlanEntry) -> list[Copied]:
    return [at for at in (entry.evidence.before, entry.evidence.after) if at is not None]


def _source_partition(entry: PlanEntry, anchor: Copied) -> TopicPartition:
    return anchor.partition or entry.source[0].partition


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
        original = _record(here, _source_partition(entry, at), at.source)
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
