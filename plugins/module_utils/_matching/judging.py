# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""From what was found at an offset and behind it to the verdict."""

from __future__ import annotations

import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.certificates import WholeLogs
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Decision
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.placing import Place
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict


class Tail(t.NamedTuple):
    """What is known of everything from the cut on.

    repeats: an upper bound of the consumed records there, None when they were not counted. equal: how many of them could as
    well be unconsumed ones. again: whether one of them has another copy before the cut. later: the first record of a later
    copy of everything unconsumed, whole and in order, with which the log ends.
    """

    repeats: int | None
    equal: int = 0
    again: bool = False
    later: Record | None = None


def judged(placed: Place, tail: Tail, settled: bool) -> Decision:
    """The decision for an offset that loses nothing, still without its anchors.

    settled: every record before L is consumed or foreign. An offset that is not the placed one is that of tail.later.
    """
    offset, repeats = placed.offset, tail.repeats
    if tail.later is not None and placed.proved:
        detail = "the copier began again; the last copy is whole and in order, so the group stands in that one"
        return Decision.exact(WholeLogs(0, 0, True), tail.later.offset, Reason.COPIED_AGAIN, detail)
    if not placed.proved:
        reason = Reason.SOURCE_LOST_RECORDS
        detail = (
            "the source has compacted records away, whose copies may be among those before the first unconsumed one"
        )
    elif repeats is None:
        reason = Reason.TAIL_NOT_COUNTED
        detail = "nothing unconsumed is left behind; whether consumed records come again later was not counted"
    elif repeats == 0:
        return Decision.exact(WholeLogs(0, 0, True), offset)
    elif not settled or repeats == tail.equal:
        reason = Reason.EQUAL_RECORDS
        detail = "equal records stand on both sides of the committed offset, and their copies cannot be told apart"
    elif tail.again:
        reason = Reason.COPIED_AGAIN
        detail = "the copier began again and copied consumed records a second time"
    else:
        reason = Reason.ORDER_DIFFERS
        detail = "the copier did not keep the order: consumed records follow the first unconsumed one"
    return Decision(Verdict.SAFE, offset, reason, repeats, detail)
