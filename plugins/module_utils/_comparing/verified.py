# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What the counts of a verification mean for the group whose offsets they are about: wrong, or worth a word. Pure."""

from __future__ import annotations

import typing as t

from .._matching.certificates import DISTINCT
from .._model.notes import Note, NoteKind
from .._model.progress import are, counted
from .._model.report import Finding, Flaw, ProblemKind
from .._model.verdicts import Absent, deleted_before
from .claims import Claim, Windows
from .sums import Counts, PlaceInClaim, Spot


def finding(
    claim: Claim,
    counts: Counts,
    windows: Windows,
    matched_by: tuple[str, ...],
    is_compacted: bool,
    opens: t.Sequence[int | None],
    starts: t.Sequence[int],
) -> Finding:
    """windows: what was read.

    is_compacted: the destination drops records whose key came again, so one that is absent may have been there. opens: from
    which offset on a transaction is open, for each source partition of the claim. starts: where the logs of its destination
    partitions start.
    """
    return Finding(
        claim.group,
        claim.source,
        claim.destination,
        counts.compared,
        windows.is_complete and not counts.doubtful,
        counts.skipped,
        counts.absent,
        counts.to_come,
        counts.repeated + counts.pending,
        counts.recopied,
        counts.destination_only,
        _first_difference(counts),
        matched_by,
        problems=tuple(_problems(claim, counts, windows, is_compacted, opens, starts)),
        notes=tuple(_notes(claim, counts, windows, is_compacted)),
    )


def _first_difference(counts: Counts) -> tuple[int | None, int | None] | None:
    spot = counts.first_skipped or counts.first_repeated or counts.first_absent
    return spot and (_offset(spot.source), _offset(spot.destination))


def _offset(place: PlaceInClaim | None) -> int | None:
    return None if place is None else place[1]


def _problems(
    claim: Claim,
    counts: Counts,
    windows: Windows,
    is_compacted: bool,
    opens: t.Sequence[int | None],
    starts: t.Sequence[int],
) -> t.Iterator[Flaw]:
    if counts.skipped:
        yield Flaw(
            ProblemKind.SKIPPED,
            f"{_records(counts.skipped, 'unconsumed')} skipped: before {_offsets(claim)}, "
            f"first {_spot(claim, counts.first_skipped)}{'' if claim.leaves else _or_to_come(counts)}",
        )
    if counts.absent and not is_compacted:
        yield Flaw(
            ProblemKind.ABSENT,
            f"{_records(counts.absent, 'unconsumed')} not at the destination, though later ones are: "
            f"first {_spot(claim, counts.first_absent)}{_absent_cause(claim, counts, windows, opens, starts)}",
        )
    repeated = counts.repeated + counts.pending
    if claim.repeats is not None and repeated > claim.repeats:
        said = f"at most {claim.repeats:,}" if claim.repeats else "none"
        repeated_from = (
            f"from {_offsets(claim)} on, first {_spot(claim, counts.first_repeated)}" if counts.repeated else ""
        )
        late = f"{counts.pending:,} still to be copied, because the replication tool has not come as far as the group"
        what = "; ".join(clause for clause in (repeated_from, late if counts.pending else "") if clause)
        yield Flaw(ProblemKind.REPEATED, f"{_records(repeated, 'consumed')} repeated: {what}; the plan says {said}")
    if _is_elsewhere(claim, counts, windows):
        yield Flaw(
            ProblemKind.NOT_EXAMINED,
            f"none of the records that follow {_offsets(claim)} has an equal one within the limit at the source, although "
            "both logs contain more records; raise the limit (0 reads the whole logs)",
        )


def _absent_cause(
    claim: Claim, counts: Counts, windows: Windows, opens: t.Sequence[int | None], starts: t.Sequence[int]
) -> str:
    first = counts.first_absent
    place, offset = first.source if first is not None and first.source is not None else (0, 0)
    deleted = None
    if len(starts) == 1:
        # Only the first unconsumed offset is known to be before all copies that there are.
        unconsumed = max(claim.source[place][1], windows.source[place].low)
        deleted = deleted_before(starts[0], claim.destination[0][1], offset, unconsumed + 1)
    return Absent(counts.absent, offset, open_from=opens[place], deleted_before=deleted).cause


def _or_to_come(counts: Counts) -> str:
    """Equal records of which the replication tool still brings some cannot be told apart from skipped ones."""
    return "; or equal ones are still to be copied: verify again when they are" if counts.to_come else ""


def _is_elsewhere(claim: Claim, counts: Counts, windows: Windows) -> bool:
    """Is nothing in common where both logs have records, and more of them than may come again or be copies of lost ones?"""
    source_offsets = sum(window.following for window in windows.source)
    destination_offsets = sum(window.following for window in windows.destination)
    nothing = not any(counts._replace(to_come=0, destination_only=0, doubtful=0, unseen=0))
    others = (claim.repeats or 0) + _expired(claim, windows)
    return windows.is_cut_above and nothing and source_offsets > 0 and destination_offsets > others


def _not_counted(counts: Counts, windows: Windows) -> int:
    """How many unconsumed records may be skipped, because no copy that may be theirs was counted before the offset.

    That is so where records were left out before a window, and none in it says where it begins in the other log.
    """
    is_open_below = any(window.cut_below for window in windows.source) and all(
        window.low >= window.at for window in windows.destination
    )
    return counts.absent + counts.to_come if is_open_below else counts.unseen


def _are_few_compared(counts: Counts, windows: Windows) -> bool:
    """Are there unconsumed records of which nothing is known, and so few others that equal ones may have come by chance?"""
    unexamined = any(max(window.low, window.at, window.near) < window.high for window in windows.source)
    return windows.is_cut_above and unexamined and not counts.skipped and counts.compared < DISTINCT


def _notes(claim: Claim, counts: Counts, windows: Windows, is_compacted: bool) -> t.Iterator[Note]:
    if not_counted := _not_counted(counts, windows):
        yield Note(
            NoteKind.NOT_COUNTED,
            f"{_records(not_counted, 'unconsumed')} not verified: no copy follows {_offsets(claim)}, and within the limit "
            "nothing shows whether one is before it; raise the limit (0 reads the whole logs)",
        )
    elif _are_few_compared(counts, windows) and not _is_elsewhere(claim, counts, windows):
        yield Note(
            NoteKind.NOT_COUNTED,
            f"fewer than {DISTINCT} of the unconsumed records within the limit at the source have a copy within the limit from "
            f"{_offsets(claim)} on, which verifies nothing; raise the limit (0 reads the whole logs)",
        )
    if counts.doubtful:
        later, remedy = "were written meanwhile", "verify again while producers do not write"
        if windows.is_cut_above:
            later, remedy = "are outside the limit", "raise the limit (0 reads the whole logs)"
        yield Note(
            NoteKind.NOT_COUNTED,
            f"{_records(counts.doubtful, 'unconsumed')} not verified: copies that follow {_offsets(claim)} may be those of "
            f"equal records that {later}; {remedy}",
        )
    if counts.to_come > not_counted:
        yield _to_come_note(claim, counts.to_come - not_counted)
    if counts.absent and is_compacted:
        absent = f"{_records(counts.absent, 'unconsumed')} not at the destination, which is compacted"
        why = "compaction may have removed what is absent, because only each key's newest record counts"
        yield Note(NoteKind.ABSENT, f"{absent}: {why}")
    repeated = counts.repeated + counts.pending
    if repeated and (claim.repeats is None or repeated <= claim.repeats):
        yield Note(NoteKind.REPEATED, f"{_records(repeated, 'consumed')} repeated")
    if counts.recopied:
        text = f"{_records(counts.recopied, 'unconsumed')} more often at the destination than at the source"
        yield Note(NoteKind.RECOPIED, text)
    if counts.aborted:
        following = (
            "1 copy of an aborted record follows"
            if counts.aborted == 1
            else f"{counts.aborted:,} copies of aborted records follow"
        )
        yield Note(
            NoteKind.ABORTED,
            f"{following} {_offsets(claim)}, and consumers receive such copies; set isolation.level=read_committed for the "
            "consumers of the replication tool, so that it copies no more of them",
        )
    if counts.destination_only:
        text = f"{_records(counts.destination_only, '')} only at the destination{_expired_clause(claim, windows)}"
        yield Note(NoteKind.DESTINATION_ONLY, text)


def _to_come_note(claim: Claim, number: int) -> Note:
    if claim.leaves:
        return Note(
            NoteKind.NEW_RECORDS, f"{_records(number, 'unconsumed')} only at the source, and the group never gets them"
        )
    return Note(NoteKind.TO_COME, f"{_records(number, 'unconsumed')} still to be copied")


def _expired_clause(claim: Claim, windows: Windows) -> str:
    """What records that only the destination has may be, where the source's log begins after a committed offset."""
    expired = _expired(claim, windows)
    if not expired:
        return ""
    after = f"{counted(expired, 'offset')} after the committed one"
    return f"; they may be copies of expired records: the source's log begins {after}"


def _expired(claim: Claim, windows: Windows) -> int:
    """How many unconsumed offsets the source has lost before its log begins."""
    return sum(
        max(0, window.low - offset)
        for window, (partition, offset) in zip(windows.source, claim.source, strict=True)
        if not window.cut_below and partition not in claim.uncommitted
    )


def _records(number: int, kind: str) -> str:
    return f"{counted(number, f'{kind} record'.strip())} {are(number)}"


def _offsets(claim: Claim) -> str:
    return "the offset " + str(claim.destination[0][1]) if len(claim.destination) == 1 else "the offsets"


def _spot(claim: Claim, spot: Spot | None) -> str:
    """A record for a message: where it is at the source, at the destination, or on both sides."""
    if spot is None:
        return "unknown"
    said = []
    for side, positions, at in (
        ("source", claim.source, spot.source),
        ("destination", claim.destination, spot.destination),
    ):
        if at is not None:
            place, offset = at
            partition = f"{positions[place][0]} " if len(positions) > 1 else ""
            uncommitted = claim.uncommitted if side == "source" else ()
            known = " (no committed offset)" if positions[place][0] in uncommitted else ""
            said.append(f"{side} {partition}offset {offset}{known}")
    return ", ".join(said)
