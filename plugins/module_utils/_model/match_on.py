# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which parts of records are compared: the option match_on, the same in files (matched_by), and one way of comparing."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import typing as t

from .file_rows import one_of
from .records import Record

FINGERPRINTED = ("key", "value", "headers")
PARTS = (*FINGERPRINTED, "timestamp")
PART = one_of(*PARTS)  # as files name it
Key = t.Hashable


class Matching(t.NamedTuple):
    """One way to compare records: which parts have to be equal besides what the fingerprint without headers covers."""

    timestamp: bool
    headers: bool

    @property
    def parts(self) -> tuple[str, ...]:
        """The same as a plan names it."""
        return (
            "key",
            "value",
            *(("headers",) if self.headers else ()),
            *(("timestamp",) if self.timestamp else ()),
        )

    def fingerprint(self, record: Record) -> str:
        """What of a record's content is compared, as a plan shows it."""
        return (record.fingerprint if self.headers else record.bare).hex()

    @property
    def key(self) -> c.Callable[[Record], Key]:
        """What must be equal for two records to match."""
        return _KEYS[self]


_KEYS: dict[Matching, c.Callable[[Record], Key]] = {
    Matching(True, True): lambda record: (record.timestamp, record.fingerprint),
    Matching(True, False): lambda record: (record.timestamp, record.bare),
    Matching(False, True): lambda record: record.fingerprint,
    Matching(False, False): lambda record: record.bare,
}


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class MatchOn:
    """The parts that a user names, in the order of PARTS.

    Without any, everything is compared, and what a tool may change only where it has not: headers and timestamps.
    """

    parts: tuple[str, ...] = ()

    @classmethod
    def of(cls, names: t.Collection[str] | None) -> MatchOn:
        """The value of the option, or of matched_by in a plan."""
        return cls(tuple(part for part in PARTS if part in (names or ())))

    @property
    def timestamp(self) -> bool:
        """Do timestamps count, where the destination keeps them?"""
        return not self.parts or "timestamp" in self.parts

    @property
    def headers_may_differ(self) -> bool:
        """May records match without their headers, where a tool has added some?"""
        return not self.parts

    @property
    def fingerprinted(self) -> tuple[str, ...]:
        """What fingerprints are made of."""
        return tuple(part for part in FINGERPRINTED if part in self.parts) if self.parts else FINGERPRINTED

    @property
    def covered(self) -> tuple[str, ...]:
        """What fingerprints are made of where one reading serves many claims: one without headers comes with each."""
        return FINGERPRINTED if self.fingerprinted == ("key", "value") else self.fingerprinted

    @property
    def compares_headers(self) -> bool:
        """Are fingerprints of `covered` compared as they are, and not those without headers?"""
        return not self.parts or self.covered == self.fingerprinted

    def compared(self, headers: bool) -> Matching:
        """How fingerprints of `covered` were compared. headers: whether all copies had those of their records."""
        return Matching(self.timestamp, self.compares_headers and headers)

    def matched_by(self, compared: tuple[str, ...]) -> tuple[str, ...]:
        """What a plan says of an answer, for which the rule has compared these parts of what fingerprints cover."""
        return self.parts if self.parts and compared else compared


EVERYTHING = MatchOn()
