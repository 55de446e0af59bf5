# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""What the user's options decide where the logs cannot. Pure.

The same for partitions that were copied as they are and for repartitioned topics.
"""

from __future__ import annotations

import typing as t

from .._model.policies import OnExpired, OnNoAnchor
from .._model.verdicts import Reason, Verdict
from .._model.wording import counted
from .certificates import NoRecordBefore
from .evidence import Decision, blocked


def expired(
    policy: OnExpired,
    lost: int,
    start: int,
    first: int,
    count_back: t.Callable[[], tuple[int, str]],
    matched_by: tuple[str, ...] = (),
    each_a_record: bool = False,
) -> Decision:
    """The source has lost records that the group has not consumed; the destination may still have them.

    lost: how many offsets. each_a_record: whether each of them was a record. start: of the destination. first: the destination
    offset of the first record that the source still has. count_back: gives an offset before copies of lost records, and how it
    was found.
    """
    said = expired_text(lost, each_a_record)
    match policy:
        case OnExpired.FAIL:
            return blocked(
                Reason.POLICY_FAIL, f"{said}; on_expired says fail", lossless=NoRecordBefore(start, records=0)
            )
        case OnExpired.START:
            offset, detail = start, "the destination's start, as on_expired says"
        case OnExpired.FIRST_VISIBLE:
            offset, detail = (
                first,
                f"the first record that the source still has: at most {lost:,} unconsumed ones are skipped",
            )
        case OnExpired.COUNT_BACK:
            offset, detail = count_back()
        case _:
            t.assert_never(policy)
    return Decision(Verdict.SAFE, offset, Reason.EXPIRED, None, f"{said}; {detail}", matched_by=matched_by, lost=None)


def expired_text(offsets: int, each_a_record: bool) -> str:
    """What the source has lost, as a clause."""
    how = "" if each_a_record else "at most "
    return f"{how}{counted(offsets, 'unconsumed record')} expired at the source"


def without_anchor(
    policy: OnNoAnchor,
    start: int,
    end: int,
    retention_ms: int | None,
    first_young: t.Callable[[], int | None],
    matched_by: tuple[str, ...] = (),
) -> Decision:
    """The source has no consumed record left to compare with, and nothing unconsumed of it is known at the destination.

    start, end: of the destination. retention_ms: of the source, None for ever. first_young: gives the destination offset of
    the first record that is too young to have expired at the source, None where there is none.
    """
    match policy:
        case OnNoAnchor.FAIL:
            what = "the source has no consumed record left to compare with; on_no_anchor says fail"
            return blocked(Reason.POLICY_FAIL, what, lossless=NoRecordBefore(start, records=0))
        case OnNoAnchor.START:
            offset, detail = start, "the destination's start, as on_no_anchor says"
        case OnNoAnchor.END:
            offset, detail = end, "the destination's end, as on_no_anchor says"
        case OnNoAnchor.BY_RETENTION if retention_ms is None:
            offset = start
            detail = "the source keeps its records for ever, so none of the destination's is known to be consumed"
        case OnNoAnchor.BY_RETENTION:
            young = first_young()
            offset = end if young is None else young
            detail = (
                "the source has no consumed record left to compare with: every record of the destination that is old enough to "
                "have expired at the source counts as consumed"
            )
        case _:
            t.assert_never(policy)
    return Decision(Verdict.SAFE, offset, Reason.CAUGHT_UP, None, detail, matched_by=matched_by)
