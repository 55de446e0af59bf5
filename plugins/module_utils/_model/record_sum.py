# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""How many records several group-partitions come to, where some numbers are bounds and others are not known. Pure."""

from __future__ import annotations

import enum
import typing as t

from .wording import counted

NOT_COUNTED = "not counted"


class Bound(enum.StrEnum):
    """How a number of records that is told is to the true one."""

    EXACTLY = ""
    AT_LEAST = "at least"
    AT_MOST = "at most"
    ABOUT = "about"


class RecordSum(t.NamedTuple):
    """How many records in all. unknown: of how many group-partitions that is not known; records does not have theirs."""

    records: int
    bound: Bound = Bound.EXACTLY
    unknown: int = 0

    @classmethod
    def of(cls, parts: t.Iterable[tuple[int | None, Bound]]) -> RecordSum:
        """The sum of numbers, each with its bound; None is a number that is not known."""
        numbers = list(parts)
        known = [(number, bound) for number, bound in numbers if number is not None]
        bounds = {bound for number, bound in known if number} - {Bound.EXACTLY}
        bound = Bound.ABOUT if len(bounds) > 1 else bounds.pop() if bounds else Bound.EXACTLY
        return cls(sum(number for number, _bound in known), bound, len(numbers) - len(known))

    @classmethod
    def of_shared(cls, parts: t.Iterable[tuple[t.Hashable, int | None, Bound]]) -> RecordSum:
        """The same of records that groups share, each of which counts once: for each key, the most that one of them has."""
        numbers = [(number, key, bound) for key, number, bound in parts]
        most: dict[t.Hashable, tuple[int, Bound]] = {}
        for number, key, bound in numbers:
            if number is not None and (key not in most or (number, not bound) > (most[key][0], not most[key][1])):
                most[key] = number, bound
        return cls.of(most.values())._replace(unknown=sum(number is None for number, _key, _bound in numbers))

    def __bool__(self) -> bool:
        """Are there any, as far as is known?"""
        return bool(self.records or self.unknown)

    def __str__(self) -> str:
        """The number for a table."""
        if self.unknown and not self.records:
            return NOT_COUNTED
        number = f"{self.bound} {self.records:,}".strip()
        return f"{number}, {NOT_COUNTED} in {self.unknown:,}" if self.unknown else number

    def clause(self, noun: str, what: str = "") -> str:
        """A part of a sentence, such as "at least 3 unconsumed records lost". noun: singular. what: is said of them."""
        if self.unknown and not self.records:
            return f"{noun}s {what}: {NOT_COUNTED}"
        clause = f"{self.bound} {counted(self.records, noun)} {what}".strip()
        return f"{clause}, {NOT_COUNTED} in {counted(self.unknown, 'group-partition')}" if self.unknown else clause


NOTHING = RecordSum(0)
