# SPDX-License-Identifier: GPL-3.0-or-later

"""Make a case smaller while something stays true of it, without leaving what a replication tool can have done."""

from __future__ import annotations

import bisect
import dataclasses
import time
import typing as t

from tests.attack.case import HOUR, NO_TIME, NOON, Case, Options

SECONDS = 20  # that are spent on one case


def shrunk(case: Case, still: t.Callable[[Case], bool]) -> Case:
    """The smallest case that taking away one thing after the other leads to, `still` being true of each."""
    end = time.monotonic() + SECONDS
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for smaller in _smaller(case):
            if time.monotonic() > end:
                break
            if smaller != case and still(smaller):
                case, progress = smaller, True
                break
    return case


def _smaller(case: Case) -> t.Iterator[Case]:
    size = len(case.source)
    length = size // 2
    while length:
        for first in range(size - length, -1, -length):
            yield _without_originals(case, {r.offset for r in case.source[first : first + length]})
        length //= 2
    copies = case.destination
    for length in (len(copies) // 2, len(copies) // 4, 1):
        if length and copies:
            yield _without_copies(case, {copy.offset for copy in copies[:length]})
            yield _without_copies(case, {copy.offset for copy in copies[-length:]})
    for copy in copies:
        if copy.origin is None:
            yield _without_copies(case, {copy.offset})
    taken = {copy.offset for copy in copies}
    edges = case.destination_edges
    yield _without_copies(case, set(range(edges.start)))
    for gap in range(edges.start, edges.end):
        if gap not in taken:
            yield _without_copies(case, {gap})
    if case.to_come:
        yield dataclasses.replace(case, to_come=())
    if case.options != Options():
        yield dataclasses.replace(case, options=Options())
    if case.scaled:
        yield dataclasses.replace(case, scaled=0)
    yield _with_small_times(case)


def _moved(gone: set[int]) -> t.Callable[[int], int]:
    ordered = sorted(gone)
    return lambda offset: offset - bisect.bisect_left(ordered, offset)


def _without_originals(case: Case, gone: set[int]) -> Case:
    """As if these source records had never been written, and so never copied."""
    move = _moved(gone)
    edges = case.source_edges
    smaller = dataclasses.replace(
        case,
        committed=move(case.committed),
        source=tuple(r._replace(offset=move(r.offset)) for r in case.source if r.offset not in gone),
        source_edges=dataclasses.replace(
            edges, start=move(edges.start), stable=move(edges.stable), end=move(edges.end)
        ),
    )
    smaller = _without_copies(smaller, {copy.offset for copy in case.destination if copy.origin in gone})
    return dataclasses.replace(
        smaller,
        destination=tuple(c._replace(origin=None if c.origin is None else move(c.origin)) for c in smaller.destination),
        to_come=tuple(
            c._replace(origin=None if c.origin is None else move(c.origin))
            for c in case.to_come
            if c.origin not in gone
        ),
    )


def _without_copies(case: Case, gone: set[int]) -> Case:
    """As if nothing had ever been at these destination offsets."""
    move = _moved(gone)
    edges = case.destination_edges
    return dataclasses.replace(
        case,
        destination=tuple(c._replace(offset=move(c.offset)) for c in case.destination if c.offset not in gone),
        destination_edges=dataclasses.replace(
            edges, start=move(edges.start), stable=move(edges.stable), end=move(edges.end)
        ),
    )


def _with_small_times(case: Case) -> Case:
    """The same order of times, one millisecond apart, where nothing is judged by age."""
    every = [r.time for r in case.source] + [c.time for c in (*case.destination, *case.to_come)]
    times = sorted({time for time in every if time > NOON - 24 * HOUR})
    rank = {time: NOON + number for number, time in enumerate(times)} | {NO_TIME: NO_TIME}

    def changed(records: t.Any) -> t.Any:
        return tuple(r._replace(time=rank.get(r.time, r.time)) for r in records)

    return dataclasses.replace(
        case, source=changed(case.source), destination=changed(case.destination), to_come=changed(case.to_come)
    )
