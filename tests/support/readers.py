"""The records of ranges by either reader: by that of many small ranges, and by that of whole ones."""

import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records.range_reader import read_ranges
from ansible_collections.streamshift.kafka.plugins.module_utils._records.scanning import Piece, scan

Ranges = t.Sequence[tuple[TopicPartition, int, int]]  # start and end of each


def in_small_ranges(connection: Connection, ranges: Ranges, **options: t.Any) -> list[list[Record]]:
    """The records of each range in order, all read at once."""
    wanted: dict[TopicPartition, list[tuple[int, int]]] = {}
    for partition, *span in ranges:
        wanted.setdefault(partition, []).append((span[0], span[1]))
    answers = read_ranges(connection, wanted, **options)
    assert {where: [(its.start, its.end) for its in several] for where, several in answers.items()} == wanted
    left = {where: iter(several) for where, several in answers.items()}
    return [next(left[partition]).records for partition, _start, _end in ranges]


def scanned(connection: Connection, ranges: Ranges, **options: t.Any) -> list[list[Record]]:
    """The same. Those of a range come in order."""
    pieces = [Piece(number, *each) for number, each in enumerate(ranges)]
    found: dict[Piece, list[Record]] = {piece: [] for piece in pieces}
    for rows in scan(connection, pieces, **options):
        columns = zip(rows.offsets, rows.timestamps, rows.fingerprints, rows.bare, strict=True)
        assert sum(run.length for run in rows.runs) == len(rows.offsets)
        for run in rows.runs:
            its = found[run.piece]
            its += [Record(*next(columns), run.log_append_time) for _unused in range(run.length)]
    assert all(its == sorted(its, key=lambda record: record.offset) for its in found.values())
    return [found[piece] for piece in pieces]
