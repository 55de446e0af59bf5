# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What runs on Spark's workers: the contents of a task as units, whose records are counted together whatever is committed.

A unit mostly is a content. Where all copies have times of the source's, each time of a content is a unit of its own. Units with
one source record, nearly all, are columns; only the others are objects.
"""

from __future__ import annotations

import typing as t

from .worker_packing import Grouped, Layout, Records

if t.TYPE_CHECKING:
    from .worker_packing import Column, Flags


class Unit(t.NamedTuple):
    """Rows of Records that are counted together.

    mixed: what is counted together depends on what is committed. by_time: see Tally.
    """

    sources: Column
    copies: Column
    mixed: bool
    by_time: bool


class Units(t.NamedTuple):
    """All units that have records at the source and copies.

    singles: the rows of one source record and of its one copy. by_time: of one source record and of a copy with its time.
    repeated: for each copy of one source record that has several, the rows of both, and whether it is the one that has to
    follow where the record is unconsumed: the last one. several: the others. changed: the rows of all copies that have not
    the time of a source record of their content. lacking: the rows of source records without a copy; of equal ones, the last.
    surplus: the rows of copies in units that have more copies than source records, or may have.
    """

    singles: tuple[Column, Column]
    by_time: tuple[Column, Column]
    repeated: tuple[Column, Column, Flags]
    several: list[Unit]
    changed: Column
    lacking: Column
    surplus: Column


def units(records: Records, groups: Grouped, layout: Layout) -> Units:
    """Tell the contents of a task's records apart."""
    import numpy as np

    single = (groups.sources == 1) & (groups.copies == 1)
    first = groups.starts[single]
    singles = groups.order[first], groups.order[first + 1]
    differ = records.stamped[singles[1]] | (records.times[singles[0]] != records.times[singles[1]])
    changed = singles[1][differ]
    kept = ~differ & layout.timestamps
    by_time = singles[0][kept], singles[1][kept]
    lacking = groups.order[np.repeat(groups.copies == 0, groups.sources + groups.copies)]
    others = (groups.sources > 0) & (groups.copies > 0) & ~single
    if not others.any():
        none = np.empty(0, np.int64)
        return Units(singles, by_time, (none, none, none.astype(bool)), [], changed, lacking, none)
    rows, contents = _rows_of(groups, others)
    copies = rows >= records.sources
    times, own, mixed, doubted = _told_by_time(records, rows, contents, copies, layout)
    changed = np.append(changed, rows[copies & ~own])
    # Each unit together, the source's records first, then the copies by place; in several partitions, by time.
    wide = np.bincount(np.array(layout.destination_pairs, np.int64), minlength=1 + records.pairs.max()) > 1
    ages = np.where(wide[records.pairs[rows]], records.times[rows], 0)
    order = np.lexsort((records.places[rows], ages, copies, times, contents))
    rows, contents, times, copies, own = rows[order], contents[order], times[order], copies[order], own[order]
    begins = np.ones(len(rows), bool)
    begins[1:] = (contents[1:] != contents[:-1]) | (times[1:] != times[:-1])
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], len(rows))
    sources = np.add.reduceat((~copies).astype(np.int64), starts)
    number = ends - starts - sources
    at = np.arange(len(rows)) - np.repeat(starts, ends - starts)
    surplus = rows[copies & (np.repeat(number > sources, ends - starts) | doubted[contents])]
    lacking = np.append(lacking, rows[~copies & (at >= np.repeat(number, ends - starts))])
    simple = (sources == 1) & ~mixed[contents[starts]]
    alone = simple & (number == 1)
    again = simple & (number > 1)
    of_again = np.repeat(again, ends - starts) & copies
    unit = np.cumsum(begins) - 1
    last = np.zeros(len(rows), bool)
    last[ends - 1] = True
    of_one = own & simple[unit]
    told = ~mixed & (np.bincount(contents[copies & ~own], minlength=len(mixed)) == 0)
    several = [
        Unit(
            rows[begin : begin + count],
            rows[begin + count : end],
            bool(mixed[contents[begin]]),
            bool(told[contents[begin]]),
        )
        for begin, count, end in zip(
            *(each[~simple & (sources > 0) & (number > 0)] for each in (starts, sources, ends)), strict=True
        )
    ]
    return Units(
        (np.append(singles[0], rows[starts[alone]]), np.append(singles[1], rows[starts[alone] + 1])),
        (np.append(by_time[0], rows[starts[unit[of_one]]]), np.append(by_time[1], rows[of_one])),
        (rows[starts[unit[of_again]]], rows[of_again], last[of_again]),
        several,
        changed,
        lacking,
        surplus,
    )


def _rows_of(groups: Grouped, wanted: Flags) -> tuple[Column, Column]:
    """The rows of these contents, and for each row the number of its content among them."""
    import numpy as np

    sizes = groups.sources + groups.copies
    rows: Column = groups.order[np.repeat(wanted, sizes)]
    contents = np.repeat(np.arange(np.count_nonzero(wanted)), sizes[wanted])
    return rows, contents


def _told_by_time(
    records: Records, rows: Column, contents: Column, copies: Flags, layout: Layout
) -> tuple[Column, Flags, Flags, Flags]:
    """The times that tell units of one content apart, 0 where they do not.

    And which copies have the time of a source record of their content; and for each content, whether it is mixed, and whether
    copies may have the time of an equal record.
    """
    import numpy as np

    times = records.times[rows]
    stamped = copies & (records.stamped[rows] if layout.timestamps else True)
    order = np.lexsort((copies, stamped, times, contents))  # records of the source first
    begins = np.ones(len(rows), bool)
    begins[1:] = (contents[order][1:] != contents[order][:-1]) | (times[order][1:] != times[order][:-1])
    starts = np.flatnonzero(begins)
    of_time = np.add.reduceat((~copies[order]).astype(np.int64), starts)
    own = np.empty(len(rows), bool)
    own[order] = np.repeat(of_time > 0, np.diff(starts, append=len(rows)))
    own &= copies & ~stamped
    more = np.add.reduceat(own[order].astype(np.int64), starts) - of_time

    def how_many(which: Flags) -> Column:
        return np.bincount(contents[which], minlength=contents[-1] + 1)

    owns, stamps, all_copies, sources = how_many(own), how_many(stamped), how_many(copies), how_many(~copies)
    rests = all_copies - owns - stamps
    kinds = (owns > 0).astype(int) + (stamps > 0) + (rests > 0)
    doubted = np.zeros(len(owns), bool)  # see _matching.content.doubted
    having_more, having_less = (contents[order][starts[which]] for which in (more > 0, more < 0))
    doubted[np.intersect1d(having_more, having_less)] = True
    by_time = (owns == all_copies) & ~doubted
    mixed: Flags = doubted | (kinds > 1) & ((sources > 1) | (rests > 0))
    return np.where(by_time[contents], times, 0), own, mixed, doubted
