# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""The few ways to know that an offset skips nothing and repeats nothing: an answer is exact only with one of these.

And the few ways to know that it skips nothing, though it may repeat (Lossless): a blocked entry names an offset only with one.
Each class takes the facts that it needs and refuses to be made without them. Its docstring is its lemma: what the facts show,
and what is assumed besides. `docs/the-rule.md` says how likely which replication tool breaks an assumption.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._model.records import TopicPartition
from .._model.verdicts import CertificateName

DISTINCT = 4  # different records in a comparison, without which it proves nothing


class Comparison(t.NamedTuple):
    """Records in a row that are equal on both clusters, one by one, without a gap.

    records, distinct, times: how many, how many different ones, how many different timestamps (1 where timestamps are not
    compared). whole: they are all that one of the logs has there.
    """

    records: int
    distinct: int
    times: int
    whole: bool = False

    @property
    def are_many(self) -> bool:
        """Are there as many different records and timestamps as hardly stand together twice?"""
        return self.distinct >= DISTINCT and self.times > 1

    @property
    def tells_places_apart(self) -> bool:
        """Can these records hardly stand together anywhere else?"""
        return self.whole or self.are_many


def require(*facts: bool) -> None:
    """Raise ValueError where one of the facts is not true."""
    if not all(facts):
        raise ValueError("these facts do not show what is said with them")


@dataclasses.dataclass(frozen=True, slots=True)
class NothingConsumed:
    """The committed offset is 0. Every record at the destination is new to the group: it starts at the log's start.

    Assumes nothing.
    """

    name: t.ClassVar = CertificateName.NOTHING_CONSUMED
    committed: int

    def __post_init__(self) -> None:
        require(self.committed == 0)


@dataclasses.dataclass(frozen=True, slots=True)
class NothingThere:
    """The destination shows no record and hides none, and the source has no consumed one left that could still come.

    So the group starts at the destination's end. Assumes nothing.
    """

    name: t.ClassVar = CertificateName.NOTHING_THERE
    copies: int
    hidden: int
    consumed_left: int

    def __post_init__(self) -> None:
        require(self.copies == 0, self.hidden == 0, self.consumed_left == 0)


@dataclasses.dataclass(frozen=True, slots=True)
class WholeLogs:
    """Both logs were read whole and counted (counting.py).

    From the offset on, every content stands as often as it is unconsumed, as far as it is there, because the first of
    these copies is not before it (`first_wanted`, None where there is none), and no more of any consumed one; and the
    replication tool has come as far as the group. Nothing there is as old as what the source may have lost of the consumed
    records. Assumes nothing of the tool where the source has lost nothing.
    """

    name: t.ClassVar = CertificateName.WHOLE_LOGS
    offset: int
    first_wanted: int | None
    repeated: int
    arrived: bool

    def __post_init__(self) -> None:
        require(self.first_wanted is None or self.offset <= self.first_wanted, self.repeated == 0, self.arrived)


def has_arrived(before: Comparison | None, distinct: int) -> bool:
    """Has the tool come to the committed offset?

    It has if the last consumed records are right before the offset, all of them or many (`before`). Or if so many different
    unconsumed ones follow: fewer may be the copies of equal consumed records, and the one before them that of an earlier one.
    """
    return distinct >= DISTINCT or (before is not None and before.tells_places_apart)


@dataclasses.dataclass(frozen=True, slots=True)
class FromTheEnd:
    """All that the group has not consumed was read at the source, and the destination from the offset to its end.

    Each unconsumed content stands there as often as it is unconsumed, but for `missing` of them; nothing consumed
    stands there. So nothing is skipped, whatever stands before the offset, but for the missing ones. None of these is
    before the offset either: a time look-up says so, and the record before the offset is the last consumed one, with
    its own time (`missing_are_not_before`). And the tool has come to the committed offset (`arrived`, see has_arrived).
    The look-up, and those by which further records after the offset are known to be destination-only, assume that the
    tool keeps timestamps; so many different records, that they stand so only once.
    """

    name: t.ClassVar = CertificateName.FROM_THE_END
    unconsumed: int
    missing: int
    missing_are_not_before: bool
    arrived: bool
    repeated: int

    def __post_init__(self) -> None:
        require(
            self.arrived,
            self.repeated == 0,
            0 <= self.missing <= self.unconsumed,
            not self.missing or self.missing_are_not_before,
        )


@dataclasses.dataclass(frozen=True, slots=True)
class ContiguousToTheEnd:
    """The first unconsumed record and its copy stand among equal neighbours, and so do the last ones.

    The last ones are the destination's last record and its original. As many offsets lie between both on both clusters.
    If fewer than four different records follow the offset at the destination, equal ones may stand later at the source:
    then the neighbours `before` the offset are many, and equal, too. So what lies in between is the same, and from the
    offset on the destination holds all that is unconsumed, up to where the tool has come. Assumes that the tool did not
    leave out exactly as many records in between as it wrote twice, and that what it has still to copy follows what it
    has copied.
    """

    name: t.ClassVar = CertificateName.CONTIGUOUS_TO_THE_END
    at_offset: Comparison
    at_end: Comparison
    source_offsets: int
    destination_offsets: int
    before: Comparison | None = None

    def __post_init__(self) -> None:
        require(
            self.at_offset.tells_places_apart,
            self.at_end.tells_places_apart,
            self.at_offset.distinct >= DISTINCT or (self.before is not None and self.before.are_many),
            self.source_offsets == self.destination_offsets,
        )


@dataclasses.dataclass(frozen=True, slots=True)
class EndsWithConsumed:
    """The last consumed record's copy stands among equal neighbours, and nothing but destination-only records follows it.

    So nothing repeats. Time look-ups tell that no unconsumed record is there: they assume that the tool keeps timestamps, and
    that those of records which follow each other do not run back farther than docs/the-rule.md says.
    """

    name: t.ClassVar = CertificateName.ENDS_WITH_CONSUMED
    at_offset: Comparison
    unexplained: int

    def __post_init__(self) -> None:
        require(self.at_offset.tells_places_apart, self.unexplained == 0)


@dataclasses.dataclass(frozen=True, slots=True)
class SameDifference:
    """Offsets differ by one number where the destination begins, at the committed offset, and where it ends.

    Where offsets are kept and the source has lost more, the source's start takes the place of the destination's. The records
    at its end stand nowhere else at the source. As many offsets lie in between on both clusters, so no copy is missing, new
    or there twice. Assumes that the tool keeps the order of a partition, as MirrorMaker 2 does, and that it did not leave out
    exactly as many records between these places as it wrote twice.
    """

    name: t.ClassVar = CertificateName.SAME_DIFFERENCE
    at_start: Comparison
    at_offset: Comparison
    at_end: Comparison
    nowhere_else: bool

    def __post_init__(self) -> None:
        places = (self.at_start, self.at_offset, self.at_end)
        require(self.nowhere_else, all(place.whole or place.distinct >= DISTINCT for place in places))


@dataclasses.dataclass(frozen=True, slots=True)
class SameLog:
    """Source and destination are the same partition of the same topic: an offset means the same record. Assumes nothing.

    topic_ids: the topic's id as either connection tells it; a cluster's id would not do, because clusters may share it.
    """

    name: t.ClassVar = CertificateName.SAME_LOG
    one_cluster: bool
    topic_ids: tuple[str, str]
    source: TopicPartition
    destination: TopicPartition

    def __post_init__(self) -> None:
        require(self.one_cluster, self.topic_ids[0] == self.topic_ids[1], self.source == self.destination)


@dataclasses.dataclass(frozen=True, slots=True)
class OwnCopy:
    """This collection has copied the range itself, in transactions that write each record once, and has noted each place.

    begin, end: the destination offsets of the copy; both are the same where there was nothing to copy. Assumes that no
    other tool copies the same records to these partitions, and that nobody writes to them before the copy has ended.
    """

    name: t.ClassVar = CertificateName.OWN_COPY
    begin: int
    place: int
    end: int

    def __post_init__(self) -> None:
        require(self.begin <= self.place <= self.end)


Certificate: t.TypeAlias = (
    "NothingConsumed | NothingThere | WholeLogs | FromTheEnd | ContiguousToTheEnd | EndsWithConsumed | SameDifference | "
    "SameLog | OwnCopy"
)


@dataclasses.dataclass(frozen=True, slots=True)
class NoRecordBefore:
    """No visible record is before the offset: it is the log's start, or the log shows no record. Assumes nothing."""

    offset: int
    records: int

    def __post_init__(self) -> None:
        require(self.records == 0)


@dataclasses.dataclass(frozen=True, slots=True)
class CountedBefore:
    """Both logs were read whole and counted (counting.py): the first copy that the group needs is not before the offset.

    first_wanted: its offset, None where the destination has none. Assumes nothing of the tool. What the source has lost
    is outside of the promise.
    """

    offset: int
    first_wanted: int | None

    def __post_init__(self) -> None:
        require(self.first_wanted is None or self.offset <= self.first_wanted)


@dataclasses.dataclass(frozen=True, slots=True)
class ConsumedBefore:
    """The records before the offset are, one by one, the last consumed ones that have come to the destination.

    None of the compared ones has the content of an unconsumed record (`unconsumed`), and they hardly stand together anywhere
    else, or are all that is there. Assumes that the tool copies a partition in order, so that nothing unconsumed
    comes before consumed records.
    """

    offset: int
    neighbours: Comparison
    all_that_is_before: bool
    unconsumed: int

    def __post_init__(self) -> None:
        require(self.unconsumed == 0, self.all_that_is_before or self.neighbours.distinct >= DISTINCT)


@dataclasses.dataclass(frozen=True, slots=True)
class EndsBefore:
    """Offsets differ by one number where the destination begins and where it ends, and its end is before the committed one.

    See certificates.SameDifference, whose assumptions it shares. None of the last records has the content of one of the
    first unconsumed ones (`unconsumed`).
    """

    offset: int
    at_start: Comparison
    at_end: Comparison
    nowhere_else: bool
    unconsumed: int

    def __post_init__(self) -> None:
        places = (self.at_start, self.at_end)
        require(
            self.nowhere_else,
            self.unconsumed == 0,
            all(place.whole or place.distinct >= DISTINCT for place in places),
        )


Lossless: t.TypeAlias = "NoRecordBefore | CountedBefore | ConsumedBefore | EndsBefore"
