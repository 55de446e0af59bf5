# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The data of the page's tables: lists of numbers, and every name once. 100,000 group-partitions are 10 to 20 MB. Pure."""

from __future__ import annotations

import typing as t

from ..._model.verdicts import Copied, Verdict
from ..._model.visible_text import shortened, visible
from .figures import GroupPartition, KnownLogs, State
from .totals import GroupFigures, group_figures, lag_of

VERDICTS = tuple(Verdict)
STATES = tuple(State)
MOST_DETAILS = 20_000  # details are the longest part of a row, and plan.json has them all
LONGEST_DETAIL = 400  # characters


_Texts = dict[str, int]  # every text once, with its number in the order of their first use


def _number(text: str, texts: _Texts) -> int:
    return texts.setdefault(visible(text), len(texts))


def page_data(rows: t.Sequence[GroupPartition], logs: KnownLogs) -> dict[str, t.Any]:
    """What the page's script reads. rows and groups: lists in the order that the script names; texts by their numbers.

    A group is: name, partitions, how many have each verdict, repeats (null where not all are counted), committed, lag.
    A row is: group, topic, partition, source group, source topic, source partition, source offset, before, offset, after,
    verdict, repeats, state, verified (1, 0 or null), unconsumed records, whether these are all (1 or 0), reason, detail,
    evidence (four offsets: last consumed record at the source and the destination, first unconsumed one) and certificate.
    Where there are several source positions, the source partition is minus their number, and its offset is null.
    If a cluster was asked for its logs, a row goes on: lag, offsets of the source's log before the source offset, offsets of
    the destination's log before the offset and from it on. They are shorter than where a log starts and ends.
    """
    texts: _Texts = {}
    detailed = _detailed(rows)
    with_logs = logs.source is not None or logs.destination is not None
    made = [
        _row(row, texts, detailed=number in detailed) + (_places(row, logs) if with_logs else [])
        for number, row in enumerate(rows)
    ]
    groups = [_group(group, texts) for group in group_figures(rows, logs)]
    return {"groups": groups, "rows": made, "texts": list(texts), "lags": logs.source is not None}


def _detailed(rows: t.Sequence[GroupPartition]) -> set[int]:
    """The numbers of the rows that keep their details: MOST_DETAILS, blocked before safe before all others."""
    order = {Verdict.BLOCKED: 0, Verdict.SAFE: 1}
    with_details = [number for number, row in enumerate(rows) if row.detail]
    with_details.sort(key=lambda number: order.get(rows[number].verdict or Verdict.EXACT, 2))
    return set(with_details[:MOST_DETAILS])


def _row(row: GroupPartition, texts: _Texts, *, detailed: bool) -> list[t.Any]:
    at = row.source[0]
    several = len(row.source) > 1
    detail = shortened(row.detail, LONGEST_DETAIL) if detailed else "see plan.json" if row.detail else ""
    evidence = row.evidence
    return [
        _number(row.group, texts),
        _number(row.partition.topic, texts),
        row.partition.partition,
        _number(at.group, texts),
        _number(at.partition.topic, texts),
        -len(row.source) if several else at.partition.partition,
        None if several else at.offset,
        row.before,
        row.offset,
        row.after,
        None if row.verdict is None else VERDICTS.index(row.verdict),
        row.repeats,
        STATES.index(row.state),
        None if row.verified is None else int(row.verified),
        row.unconsumed,
        int(row.all),
        _number(row.reason, texts) if row.reason else None,
        _number(detail, texts) if detail else None,
        [*_offsets(evidence.before), *_offsets(evidence.after)] if evidence.before or evidence.after else None,
        _number(evidence.certificate.value, texts) if evidence.certificate else None,
    ]


def _places(row: GroupPartition, logs: KnownLogs) -> list[int | None]:
    own = logs.at_source(row.source[0]) if len(row.source) == 1 else None
    lag = lag_of([row], logs) if own is None else own.after
    return [lag, None if own is None else own.before, *(logs.at_destination(row) or (None, None))]


def _offsets(copied: Copied | None) -> list[int | None]:
    return [None, None] if copied is None else [copied.source, copied.destination]


def _group(group: GroupFigures, texts: _Texts) -> list[t.Any]:
    counts = [group.verdicts[verdict] for verdict in VERDICTS]
    repeats = None if group.repeats.unknown else group.repeats.records
    return [_number(group.group, texts), group.partitions, counts, repeats, group.committed, group.lag]
