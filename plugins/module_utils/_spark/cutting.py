# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What runs on Spark's workers: records are cut into blocks, and only digests of those leave the worker."""

from __future__ import annotations

import bisect
import dataclasses
import hashlib
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.blocks import cut_at, ends_block

if t.TYPE_CHECKING:
    import pyarrow

SCHEMA = (
    "range int, start bigint, end bigint, records bigint, oldest bigint, "
    "fingerprints binary, bare binary, timestamps binary"
)
_DIGEST, _NUMBER = 16, 8  # bytes

# For each range, by its number, the offsets where a block has to begin, ascending.
Edges = t.Sequence[t.Sequence[int]]


def cut(batches: t.Iterable[pyarrow.RecordBatch], edges: Edges = ()) -> t.Iterator[pyarrow.RecordBatch]:
    """Blocks of records that come as range, offset, timestamp, fingerprint, bare.

    The records of a range are in order, in as many batches as they like; those of several ranges may take turns.
    edges: without any, blocks begin where their content says so.
    """
    import pyarrow.compute as pc

    growing: dict[int, _Growing] = {}
    for batch in batches:
        records = _records_of(batch)
        ended: list[tuple[t.Any, ...]] = []
        runs = pc.run_end_encode(batch.column(0))
        begin = 0
        for number, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            its = growing.setdefault(number, _Growing())
            if its.records and records.offsets[begin] < its.end:  # another part of the same range
                ended.append((number, *its.taken()))
            edge_records = records.at_edges(begin, end, its, edges[number]) if edges else ()
            for edge in (*edge_records, end):
                stops = [begin + each for each in cut_at(records.endings(begin, edge), edge - begin, its.records)]
                for stop in stops:
                    its.add(records, begin, stop)
                    ended.append((number, *its.taken()))
                    begin = stop
                its.add(records, begin, edge)
                begin = edge
                if its.records and edge < end:
                    ended.append((number, *its.taken()))
        if ended:
            yield _batch(ended)
    yield _batch([(number, *its.taken()) for number, its in growing.items() if its.records])


class _Records(t.NamedTuple):
    """A batch's columns: the offsets, another one as array, and the memory of three of them."""

    offsets: memoryview[int]
    timestamps: pyarrow.Array
    fingerprint_bytes: memoryview
    bare_bytes: memoryview
    timestamp_bytes: memoryview

    def at_edges(self, begin: int, end: int, its: _Growing, edges: t.Sequence[int]) -> list[int]:
        """Which of the records [begin, end) are the first ones at or behind an edge, seen from the open block."""
        since = its.end if its.records else self.offsets[begin] + 1
        low, high = bisect.bisect_left(edges, since), bisect.bisect_right(edges, self.offsets[end - 1])
        return [bisect.bisect_left(self.offsets, edge, begin, end) for edge in edges[low:high]]

    def endings(self, begin: int, end: int) -> list[int]:
        """Which of the records [begin, end), counted from `begin`, would end a block."""
        bare = self.bare_bytes[_DIGEST * begin : _DIGEST * end]
        last_bytes = bytes(bare[_DIGEST - 1 :: _DIGEST])
        found = []
        number = last_bytes.find(0)  # in C, which leaves few to be looked at
        while number >= 0:
            if ends_block(bytes(bare[_DIGEST * number : _DIGEST * (number + 1)])):
                found.append(number)
            number = last_bytes.find(0, number + 1)
        return found


@dataclasses.dataclass(slots=True)
class _Growing:
    """A block that has not ended. end is its last record's offset plus 1."""

    records: int = 0
    start: int = 0
    end: int = 0
    oldest: int = 0
    digests: tuple[t.Any, ...] = ()

    def add(self, records: _Records, begin: int, end: int) -> None:
        """Take in the records [begin, end) of a batch."""
        import pyarrow.compute as pc

        if begin == end:
            return
        oldest = int(pc.min(records.timestamps.slice(begin, end - begin)).as_py())
        if not self.records:
            self.start, self.oldest = records.offsets[begin], oldest
            self.digests = tuple(hashlib.blake2b(digest_size=_DIGEST) for _column in range(3))
        self.records += end - begin
        self.end = records.offsets[end - 1] + 1
        self.oldest = min(self.oldest, oldest)
        for digest, content, size in zip(self.digests, records[2:], (_DIGEST, _DIGEST, _NUMBER), strict=True):
            digest.update(content[size * begin : size * end])

    def taken(self) -> tuple[t.Any, ...]:
        """The block as it is now, as a row; what comes next begins another."""
        row = (self.start, self.end, self.records, self.oldest, *(digest.digest() for digest in self.digests))
        self.records = 0
        return row


def _records_of(batch: pyarrow.RecordBatch) -> _Records:
    import pyarrow as pa

    fingerprints, bare = (batch.column(number).cast(pa.binary(_DIGEST)) for number in (3, 4))
    offsets, timestamps = batch.column(1), batch.column(2)
    return _Records(
        _memory(offsets, _NUMBER).cast("q"),
        timestamps,
        _memory(fingerprints, _DIGEST),
        _memory(bare, _DIGEST),
        _memory(timestamps, _NUMBER),
    )


def _memory(column: pyarrow.Array, size: int) -> memoryview:
    """The values of a column of fixed width, one after the other."""
    return memoryview(column.buffers()[1])[size * column.offset : size * (column.offset + len(column))]


def _batch(rows: list[tuple[t.Any, ...]]) -> pyarrow.RecordBatch:
    import pyarrow as pa

    types = [pa.int32(), *[pa.int64()] * 4, *[pa.binary()] * 3]
    columns = zip(*rows, strict=True) if rows else [()] * len(types)
    names = [field.split()[0] for field in SCHEMA.split(", ")]
    return pa.RecordBatch.from_arrays(
        [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)], names=names
    )
