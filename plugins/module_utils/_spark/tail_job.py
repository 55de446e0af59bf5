# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Is what follows an offset just what a group has not consumed? Counted on Spark from the ends of both logs alone.

That reads as much as the group lags, however long the logs are. A copy has the content of its record and, unless the broker has
stamped it, the time.

_matching.counted_contents does not count tails, although it could: of 200,000 records of 1,000 contents whose times recur, too,
it takes 1.46 s of a core, and this 0.15 s. Where contents or times do not recur, both take the same.
"""

from __future__ import annotations

import typing as t

from .._matching.count_parts import highest, lowest
from .on_workers import values_of
from .worker_packing import Layout, Records, grouped, unpack

if t.TYPE_CHECKING:
    import pyarrow

    from .spark_library import DataFrame
    from .worker_packing import Column, Flags


class TailQuestion(t.NamedTuple):
    """A pair of one source and one destination partition, by its number; where a group has committed; an offset for it."""

    pair: int
    committed: int
    offset: int


class Tail(t.NamedTuple):
    """What follows an offset.

    unconsumed: how many records the group has not consumed. missing: of how many of these no copy follows, nor of any
    of their content; oldest: the lowest timestamp of these, in milliseconds; None without any. others: how many records
    follow that are not known to be unconsumed, and how many of a content follow less often than it is unconsumed.
    distinct: how many different unconsumed records have a copy that follows. first_missing: the source offset of the first
    missing record; last_copied: of the last unconsumed one that is not missing; None without any. absent: how many of the
    missing ones are before the last copied one, at least: each task knows the last one of its own contents.
    """

    headers: bool
    unconsumed: int
    missing: int
    oldest: int | None
    others: int
    distinct: int
    absent: int = 0
    first_missing: int | None = None
    last_copied: int | None = None


def count_tails(
    contents: DataFrame, layout: Layout, asked: t.Sequence[TailQuestion], *, without_headers: bool = True
) -> list[Tail]:
    """The tails that follow offsets.

    The frame holds at least the source from each committed offset, the destination from each offset on.
    without_headers: compare without headers where more is known to be unconsumed so.
    """
    rows = values_of(contents, lambda batches: tail_rows(batches, layout, asked, without_headers))
    return folded(rows, len(asked))


def folded(rows: t.Iterable[tuple[t.Any, ...]], asked: int) -> list[Tail]:
    """What all tasks together say of each that was asked, in the better one of both ways to compare.

    rows: whether headers are compared, None where that makes no difference; and what tails() says.
    """
    by_headers = {headers: [Tail(headers, 0, 0, None, 0, 0)] * asked for headers in (True, False)}
    for row_headers, number, *row in rows:  # of all tasks and offsets, which may be millions: none is kept
        for headers in (True, False) if row_headers is None else (row_headers,):
            by_headers[headers][number] = _together(by_headers[headers][number], Tail(headers, *row))
    both_ways = zip(*by_headers.values(), strict=True)
    return [min(tails, key=lambda tail: tail.others + tail.missing) for tails in both_ways]


def _together(one: Tail, other: Tail) -> Tail:
    """What two tasks say of the same offset."""
    return Tail(
        one.headers,
        unconsumed=one.unconsumed + other.unconsumed,
        missing=one.missing + other.missing,
        oldest=lowest((one.oldest, other.oldest)),
        others=one.others + other.others,
        distinct=one.distinct + other.distinct,
        absent=one.absent + other.absent,
        first_missing=lowest((one.first_missing, other.first_missing)),
        last_copied=highest((one.last_copied, other.last_copied)),
    )


def tail_rows(
    batches: t.Iterable[pyarrow.RecordBatch], layout: Layout, asked: t.Sequence[TailQuestion], without_headers: bool
) -> list[tuple[t.Any, ...]]:
    """What one task has to say: a row for each offset that its records say something of, and way to compare; for folded()."""
    import numpy as np

    records = unpack(batches, layout)
    both = without_headers and bool(records.with_headers.any())
    pairs = 1 + max((*layout.source_pairs, *layout.destination_pairs), default=0)
    return [
        (compared if both else None, *row)
        for compared in ((True, False) if both else (True,))
        for row in tails(records, layout, asked, np.full(pairs, compared))
    ]


def tails(
    records: Records, layout: Layout, asked: t.Sequence[TailQuestion], headers: Flags
) -> t.Iterator[tuple[int | None, ...]]:
    """The number of the question, and the fields of its Tail from unconsumed on, where these records say something of it."""
    import numpy as np

    groups = grouped(records, headers)
    contents = np.repeat(np.arange(len(groups.starts)), groups.sources + groups.copies)
    by_pair = np.argsort(records.pairs[groups.order], kind="stable")  # and by content, as they are
    rows, contents = groups.order[by_pair], contents[by_pair]
    edges = np.searchsorted(records.pairs[rows], np.arange(len(headers) + 1))
    sources = {pair: number for number, pair in enumerate(layout.source_pairs)}
    destinations = {pair: number for number, pair in enumerate(layout.destination_pairs)}
    for number, (pair, committed, offset) in enumerate(asked):
        pair_rows, content = (column[edges[pair] : edges[pair + 1]] for column in (rows, contents))
        if not len(pair_rows):
            continue
        of_source = pair_rows < records.sources
        places = records.places[pair_rows]
        unconsumed = of_source & (places >= layout.source.place(sources[pair], committed))
        following = ~of_source & (places >= layout.destination.place(destinations[pair], offset))
        stamped = following & (records.stamped[pair_rows] if layout.timestamps else True)
        content, in_doubt = _by_time(content, records.times[pair_rows], following, stamped)
        wanted, followed = (
            np.bincount(content[which], minlength=content.max() + 1) for which in (unconsumed, following)
        )
        absent = (followed == 0) & (wanted > 0)
        missing, copied = unconsumed & absent[content], unconsumed & ~absent[content]
        times, lacking = records.times[pair_rows[missing]], places[missing]
        last_copied = int(places[copied].max(initial=-1))
        yield (
            number,
            int(wanted.sum()),
            len(times),
            int(times.min()) if len(times) else None,
            int(np.abs(followed - wanted)[~absent].sum()) + in_doubt,
            int(((wanted > 0) & (followed > 0)).sum()),
            int((lacking < last_copied).sum()),
            layout.source.at(int(lacking.min()))[1] if len(lacking) else None,
            layout.source.at(last_copied)[1] if last_copied >= 0 else None,
        )


def _by_time(content: Column, times: Column, following: Flags, stamped: Flags) -> tuple[Column, int]:
    """Contents told apart by time as well, where the broker has stamped none of the copies that follow.

    And of how many copies it has stamped some of the same content, and not these.
    """
    import numpy as np

    content = np.unique(content, return_inverse=True)[1]
    some, others = (
        np.bincount(content[which], minlength=content.max() + 1) for which in (stamped, following & ~stamped)
    )
    order, time = np.unique(np.where(some[content] > 0, 0, times), return_inverse=True)
    both: Column = np.unique(content * len(order) + time, return_inverse=True)[1]
    return both, int(others[some > 0].sum())
