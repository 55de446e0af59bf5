# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Where a reset sets a group in one log, and how many offsets are skipped or repeated by it.

The offsets are those of `kafka-consumer-groups --reset-offsets`: latest is the high watermark, a time after the last record is
the end. Where the tool moves an offset into the log with a warning, this blocks it, unless `on_out_of_range` says clamp.
"""

from __future__ import annotations

import typing as t

from .._model.policies import OnOutOfRange
from .._model.reset_rules import ResetRule, ResetTo
from .._model.verdicts import Reason, Verdict
from .evidence import Decision, blocked

_YOUNGER = "the log's first record is younger"


class ResetLog(t.NamedTuple):
    """The range of a log: its start, its last stable offset and its end (the high watermark).

    at: the offset of the first record that is not older than the rule's time, None where all are older.
    begins_later: are all records that are left younger than that time? untimed: why no time can be found in the log, None where
    one can.
    """

    log_start: int
    stable: int
    end: int
    at: int | None = None
    begins_later: bool = False
    untimed: str | None = None


def reset_decision(rule: ResetRule, committed: int | None, log: ResetLog, on_out_of_range: OnOutOfRange) -> Decision:
    """The offset that a rule asks for, requested or blocked.

    committed: what the group has committed, None for nothing; ValueError where the rule needs it.
    """
    if rule.by_time and log.untimed is not None:
        other = f"set it to {ResetTo.EARLIEST}, {ResetTo.LATEST}, an {ResetTo.OFFSET}, or by {ResetTo.SHIFT}"
        return blocked(Reason.NO_TIMESTAMPS, f"{rule}: {log.untimed}; {other}")
    wanted, outside = _wanted(rule, committed, log)
    offset = min(max(wanted, log.log_start), log.end)
    if outside is None and offset != wanted:
        outside = f"offset {wanted} is not between the log's start {log.log_start} and its end {log.end}"
    if outside is not None and on_out_of_range == OnOutOfRange.BLOCK:
        by = "" if rule.to == ResetTo.OFFSET else f"{rule}: "  # which has the number that is outside
        return blocked(Reason.OUT_OF_RANGE, f"{by}{outside}; on_out_of_range: clamp takes offset {offset}")
    clauses = [str(rule), _effect(committed, offset, log)]
    if outside is not None:
        clauses.append(f"{outside}: moved to offset {offset} (on_out_of_range: clamp)")
    elif log.begins_later:
        clauses.append(_YOUNGER)
    if log.stable < offset:
        clauses.append(
            f"an open transaction begins at offset {log.stable}, and its records before {offset} are skipped"
        )
    start = offset if committed is None else committed
    repeats, skipped = _between(offset, start, log), _between(start, offset, log)
    return Decision(Verdict.REQUESTED, offset, repeats=repeats, detail="; ".join(clauses), skipped=skipped)


def _wanted(rule: ResetRule, committed: int | None, log: ResetLog) -> tuple[int, str | None]:
    """The offset, which may be outside of the log; and what is outside where the number does not show it."""
    match rule.to:
        case ResetTo.EARLIEST:
            return log.log_start, None
        case ResetTo.LATEST:
            return log.end, None
        case ResetTo.OFFSET:
            return rule.value, None
        case ResetTo.CURRENT | ResetTo.SHIFT:
            if committed is None:
                raise ValueError(f"{rule} of a group that has committed nothing")
            return committed + rule.value, None
        case ResetTo.DATETIME | ResetTo.DURATION:
            if log.at is None:
                return log.end, None
            may_have_lost = log.at > 0  # by retention or compaction, what was as young
            return log.at, _YOUNGER if log.begins_later and may_have_lost else None


def _effect(committed: int | None, offset: int, log: ResetLog) -> str:
    """What becomes of the offsets between the two; those that the log has no more are not among them."""
    if committed is None:
        return f"nothing was committed, and {_offsets(_between(log.log_start, offset, log))} before it"
    skipped, repeated = _between(committed, offset, log), _between(offset, committed, log)
    if skipped:
        return f"{_offsets(skipped)} skipped"
    return f"{_offsets(repeated)} repeated" if repeated else "nothing is skipped or repeated"


def _between(low: int, high: int, log: ResetLog) -> int:
    """How many offsets from low to high are in the log."""
    return max(0, min(high, log.end) - max(low, log.log_start))


def _offsets(count: int) -> str:
    return "1 offset is" if count == 1 else f"{count:,} offsets are"
