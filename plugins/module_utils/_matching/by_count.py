# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""From what a count says of an offset to a decision: exact if nothing is repeated, otherwise safe, with the reason."""

from __future__ import annotations

import typing as t

from .._model.verdicts import Reason, Verdict
from .certificates import WholeLogs
from .evidence import Decision
from .group_count import Answer

Why = tuple[Reason, str]  # with the detail for the user


def by_count(
    answer: Answer, offset: int, arrived: bool, to_come: Why, otherwise: Why, offsets: str = "offset", **evidence: t.Any
) -> Decision:
    """The decision for an offset that skips nothing.

    arrived: whether the replication tool has come as far as the group. to_come: why records may be repeated, if consumed ones
    may still come. otherwise: the same if nothing is to come, the source has lost nothing that matters, and a repeated record
    has a content that is not unconsumed as well. offsets: what the user has committed, one offset or several.
    """
    repeats = answer.at_most
    if not repeats:
        certificate = WholeLogs(offset, answer.first_wanted, repeats, arrived)
        again = Reason.RECOPIED if answer.recopied else None
        detail = "records were recopied; the group starts after the last consumed copy" if again else ""
        return Decision.exact(certificate, offset, again, detail, **evidence)
    if answer.to_come:
        reason, detail = to_come
    elif answer.if_lost or not answer.repeats:
        reason, detail = Reason.SOURCE_LOST_RECORDS, answer.lost_detail
    elif answer.repeats == answer.equal:
        reason = Reason.EQUAL_RECORDS
        detail = f"equal records are before and after the committed {offsets}; their copies cannot be distinguished"
    else:
        reason, detail = otherwise
    return Decision(Verdict.SAFE, offset, reason, repeats, detail=detail, **evidence)
