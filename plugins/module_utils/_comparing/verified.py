# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What the counts of a verification mean for the group whose offsets they are about: wrong, or worth a word. Pure."""

from __future__ import annotations

import typing as t

from .._matching.certificates import DISTINCT
from .._model.notes import Note, NoteKind
from .._model.report import Finding, Flaw, ProblemKind
from .._model.verdicts import Absent, deleted_before
from .._model.wording import are, counted
from .claims import Claim, Windows
from .sums import Counts, Spot


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
    counted_claim = _CountedClaim(claim, counts, windows, is_compacted, opens, starts)
    first = counts.first_skipped or counts.first_repeated or counts.first_absent
    return Finding(
        claim.group,
        claim.source,
        claim.destination,
        counts.compared,
        windows.is_complete and not counts.doubtful,
        counts.skipped,
        counts.absent,
        counts.to_come,
        counted_claim.repeated,
        counts.recopied,
        counts.destination_only,
        first and (first.source and first.source[1], first.destination and first.destination[1]),
        matched_by,
        problems=tuple(counted_claim.problems()),
        notes=tuple(counted_claim.notes()),
    )


class _CountedClaim(t.NamedTuple):
    """A claim with what was counted for it: see finding()."""

    claim: Claim
    counts: Counts
    windows: Windows
    is_compacted: bool
    opens: t.Sequence[int | None]
    starts: t.Sequence[int]

    @property
    def repeated(self) -> int:
        """How many consumed records come again, those among them that are still to be copied."""
        return self.counts.repeated + self.counts.pending

    @property
    def offsets(self) -> str:
        """What the claim is about, in words."""
        destination = self.claim.destination
        return "the offset " + str(destination[0][1]) if len(destination) == 1 else "the offsets"

    @property
    def is_elsewhere(self) -> bool:
        """Is nothing in common where both logs have records, and more of them than may come again or be copies of lost ones?"""
        source_offsets = sum(window.following for window in self.windows.source)
        destination_offsets = sum(window.following for window in self.windows.destination)
        nothing = not any(self.counts._replace(to_come=0, destination_only=0, doubtful=0, unseen=0))
        others = (self.claim.repeats or 0) + self.expired
        return self.windows.is_cut_above and nothing and source_offsets > 0 and destination_offsets > others

    @property
    def expired(self) -> int:
        """How many unconsumed offsets the source has lost before its log begins."""
        return sum(
            max(0, window.low - offset)
            for window, (partition, offset) in zip(self.windows.source, self.claim.source, strict=True)
            if not window.cut_below and partition not in self.claim.uncommitted
        )

    def problems(self) -> t.Iterator[Flaw]:
        """What is wrong."""
        claim, counts = self.claim, self.counts
        if counts.skipped:
            # Equal records of which the replication tool still brings some cannot be told apart from skipped ones.
            may_come = counts.to_come and not claim.leaves
            yield Flaw(
                ProblemKind.SKIPPED,
                f"{_records(counts.skipped, 'unconsumed')} skipped: before {self.offsets}, first "
                f"{self._spot(counts.first_skipped)}"
                + ("; or equal ones are still to be copied: verify again when they are" if may_come else ""),
            )
        if counts.absent and not self.is_compacted:
            yield Flaw(
                ProblemKind.ABSENT,
                f"{_records(counts.absent, 'unconsumed')} not at the destination, though later ones are: "
                f"first {self._spot(counts.first_absent)}{self._absent_cause()}",
            )
        if claim.repeats is not None and self.repeated > claim.repeats:
            said = f"at most {claim.repeats:,}" if claim.repeats else "none"
            what = [f"from {self.offsets} on, first {self._spot(counts.first_repeated)}"] if counts.repeated else []
            if counts.pending:
                why = "because the replication tool has not come as far as the group"
                what.append(f"{counts.pending:,} still to be copied, {why}")
            records = _records(self.repeated, "consumed")
            yield Flaw(ProblemKind.REPEATED, f"{records} repeated: {'; '.join(what)}; the plan says {said}")
        if self.is_elsewhere:
            yield Flaw(
                ProblemKind.NOT_EXAMINED,
                f"none of the records that follow {self.offsets} has an equal one within the limit at the source, although "
                "both logs contain more records; raise the limit (0 reads the whole logs)",
            )

    def _absent_cause(self) -> str:
        first, deleted = self.counts.first_absent, None
        place, offset = first.source if first is not None and first.source is not None else (0, 0)
        if len(self.starts) == 1:
            # Only the first unconsumed offset is known to be before all copies that there are.
            unconsumed = max(self.claim.source[place][1], self.windows.source[place].low)
            deleted = deleted_before(self.starts[0], self.claim.destination[0][1], offset, unconsumed + 1)
        return Absent(self.counts.absent, offset, open_from=self.opens[place], deleted_before=deleted).cause

    def _to_come_cause(self) -> str:
        """That records that are to come may have been there, a clause; nothing where the destination shows one of them."""
        start = self.starts[0]
        if len(self.starts) > 1 or not start or self.counts.compared or self.claim.destination[0][1] > start:
            return ""
        return f", unless the destination, whose log starts at offset {start}, has had and deleted them"

    def notes(self) -> t.Iterator[Note]:
        """What is worth a word."""
        claim, counts, offsets = self.claim, self.counts, self.offsets
        not_counted = self._not_counted()
        if not_counted:
            yield Note(
                NoteKind.NOT_COUNTED,
                f"{_records(not_counted, 'unconsumed')} not verified: no copy follows {offsets}, and within the limit "
                "nothing shows whether one is before it; raise the limit (0 reads the whole logs)",
            )
        elif self._are_few_compared() and not self.is_elsewhere:
            yield Note(
                NoteKind.NOT_COUNTED,
                f"fewer than {DISTINCT} of the unconsumed records within the limit at the source have a copy within the limit "
                f"from {offsets} on, which verifies nothing; raise the limit (0 reads the whole logs)",
            )
        if counts.doubtful:
            later, remedy = "were written meanwhile", "verify again while producers do not write"
            if self.windows.is_cut_above:
                later, remedy = "are outside the limit", "raise the limit (0 reads the whole logs)"
            yield Note(
                NoteKind.NOT_COUNTED,
                f"{_records(counts.doubtful, 'unconsumed')} not verified: copies that follow {offsets} may be those of "
                f"equal records that {later}; {remedy}",
            )
        if counts.to_come > not_counted:
            staying = _records(counts.to_come - not_counted, "unconsumed")
            if claim.leaves:
                yield Note(NoteKind.NEW_RECORDS, f"{staying} only at the source, and the group never gets them")
            else:
                yield Note(NoteKind.TO_COME, f"{staying} still to be copied{self._to_come_cause()}")
        if counts.absent and self.is_compacted:
            absent = f"{_records(counts.absent, 'unconsumed')} not at the destination, which is compacted"
            why = "compaction may have removed what is absent, because only each key's newest record counts"
            yield Note(NoteKind.ABSENT, f"{absent}: {why}")
        if self.repeated and (claim.repeats is None or self.repeated <= claim.repeats):
            yield Note(NoteKind.REPEATED, f"{_records(self.repeated, 'consumed')} repeated")
        if counts.recopied:
            text = f"{_records(counts.recopied, 'unconsumed')} more often at the destination than at the source"
            yield Note(NoteKind.RECOPIED, text)
        if counts.aborted:
            copies = "1 copy of an aborted record follows"
            if counts.aborted > 1:
                copies = f"{counts.aborted:,} copies of aborted records follow"
            yield Note(
                NoteKind.ABORTED,
                f"{copies} {offsets}, and consumers receive such copies; set isolation.level=read_committed for the "
                "consumers of the replication tool, so that it copies no more of them",
            )
        if counts.destination_only:
            text = f"{_records(counts.destination_only, '')} only at the destination"
            if self.expired:
                begins = f"{counted(self.expired, 'offset')} after the committed one"
                text += f"; they may be copies of expired records: the source's log begins {begins}"
            yield Note(NoteKind.DESTINATION_ONLY, text)

    def _not_counted(self) -> int:
        """How many unconsumed records may be skipped, because no copy that may be theirs was counted before the offset.

        That is so where records were left out before a window, and none in it says where it begins in the other log.
        """
        is_open_below = any(window.cut_below for window in self.windows.source) and all(
            window.low >= window.at for window in self.windows.destination
        )
        return self.counts.absent + self.counts.to_come if is_open_below else self.counts.unseen

    def _are_few_compared(self) -> bool:
        """Are there unconsumed records of which nothing is known, and so few others that equal ones may have come by chance?"""
        counts, windows = self.counts, self.windows
        unexamined = any(max(window.low, window.at, window.near) < window.high for window in windows.source)
        return windows.is_cut_above and unexamined and not counts.skipped and counts.compared < DISTINCT

    def _spot(self, spot: Spot | None) -> str:
        """A record for a message: where it is at the source, at the destination, or on both sides."""
        if spot is None:
            return "unknown"
        said = []
        both = ("source", self.claim.source, spot.source), ("destination", self.claim.destination, spot.destination)
        for side, positions, at in both:
            if at is not None:
                place, offset = at
                partition = positions[place][0]
                name = f"{partition} " if len(positions) > 1 else ""
                is_uncommitted = side == "source" and partition in self.claim.uncommitted
                said.append(f"{side} {name}offset {offset}{' (no committed offset)' if is_uncommitted else ''}")
        return ", ".join(said)


def _records(number: int, kind: str) -> str:
    return f"{counted(number, f'{kind} record'.strip())} {are(number)}"
