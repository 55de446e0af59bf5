# SPDX-License-Identifier: GPL-3.0-or-later

"""Are the facts of a certificate true? Looked up in the two logs again, by code that shares nothing with the search."""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching import certificates as proofs
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Decision
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record
from tests.attack.broker import Logs
from tests.attack.case import Case

_NEAR = 8  # offsets around a place that a noted difference of offsets must hold for
_Key = t.Callable[[Record], t.Hashable]


def is_true(case: Case, decision: Decision) -> bool:
    """Do the logs show what the certificate of an exact decision says? True where there is no certificate."""
    if decision.certificate is None:
        return True
    assert decision.offset is not None
    return _Facts(case, decision, decision.offset).hold(decision.certificate)


@dataclasses.dataclass
class _Facts:
    """source: the records that count there; copies: those that a consumer sees at the destination."""

    case: Case
    decision: Decision
    offset: int

    def __post_init__(self) -> None:
        logs = Logs(self.case)
        self.source, self.copies = logs.source.with_open, logs.destination.visible
        self.committed = self.case.committed

    def hold(self, proof: proofs.Certificate) -> bool:
        edges = self.case.destination_edges
        match proof:
            case proofs.NothingConsumed():
                return self.committed == 0 and self.offset == edges.start
            case proofs.NothingThere():
                return not self.copies and edges.stable == edges.end and not self._consumed
            case proofs.WholeLogs():
                # What times or headers do not tell apart in some copies is told apart in others.
                return any(map(self._counted, (_content_and_time, _content, _with_headers_and_time, _with_headers)))
            case proofs.FromTheEnd():
                return len(self._unconsumed) == proof.unconsumed and self._counted(self._key)
            case proofs.ContiguousToTheEnd():
                first = self.decision.after
                assert first is not None
                shift, end = first.source - first.destination, edges.end
                return (
                    first.source >= self.committed
                    and self._same(shift, first.destination, first.destination + proof.at_offset.records)
                    and self._same(shift, end - proof.at_end.records, end)
                )
            case proofs.EndsWithConsumed():
                return self._follows_the_last_consumed(proof.at_offset)
            case proofs.SameDifference():
                shift = self.committed - self.offset
                places = (edges.start, self.offset, edges.end)
                spans = [(max(at - _NEAR, edges.start), min(at + _NEAR, edges.end)) for at in places]
                return all(self._same(shift, *span, gaps=True) for span in spans)
        return True  # nothing that logs show

    @property
    def _consumed(self) -> list[Record]:
        return [record for record in self.source if record.offset < self.committed]

    @property
    def _unconsumed(self) -> list[Record]:
        return [record for record in self.source if record.offset >= self.committed]

    @property
    def _after(self) -> list[Record]:
        return [record for record in self.copies if record.offset >= self.offset]

    def _key(self, record: Record) -> t.Hashable:
        """What the decision says that it has compared."""
        parts = self.decision.matched_by
        return (
            record.fingerprint if "headers" in parts else record.bare,
            record.timestamp if "timestamp" in parts else 0,
        )

    def _counted(self, key: _Key) -> bool:
        """Of each content: does as much follow as is unconsumed, as far as it is there, and no more of a consumed one?"""
        known = {key(record) for record in self.source}
        wanted, consumed, after, copied = (
            collections.Counter(map(key, records))
            for records in (self._unconsumed, self._consumed, self._after, self.copies)
        )
        return all(
            min(wanted[each], copied[each]) <= after[each] and (not consumed[each] or after[each] <= wanted[each])
            for each in known
        )

    def _same(self, shift: int, start: int, end: int, *, gaps: bool = False) -> bool:
        """Do the destination's offsets [start, end) hold what the source has there, and, but for gaps, each a record?"""
        copies = [(each.offset, self._key(each)) for each in self.copies if start <= each.offset < end]
        originals = [
            (each.offset - shift, self._key(each)) for each in self.source if start <= each.offset - shift < end
        ]
        return copies == originals and (gaps or len(copies) == end - start)

    def _follows_the_last_consumed(self, found: proofs.Comparison) -> bool:
        before = [self._key(each) for each in self.copies if each.offset < self.offset][-found.records :]
        unconsumed = {self._key(each) for each in self._unconsumed}
        return (
            before == [self._key(each) for each in self._consumed][-found.records :]
            and (found.are_many or not unconsumed & {*before})
            and not unconsumed & {self._key(each) for each in self._after}
        )


def _content(record: Record) -> t.Hashable:
    return record.bare


def _with_headers(record: Record) -> t.Hashable:
    return record.fingerprint


def _with_headers_and_time(record: Record) -> t.Hashable:
    return record.fingerprint, record.timestamp


def _content_and_time(record: Record) -> t.Hashable:
    return record.bare, record.timestamp
