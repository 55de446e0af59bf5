# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""What is claimed of a group's offsets, and how much of the logs is read to verify it. Pure.

Where a log is read only in part, the other one is counted only as far as its records have their copies, or originals, in that
part: both are cut at the same place. The places are found by contents that occur once on each side.
"""

from __future__ import annotations

import collections
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._model.report import Position

# Where nothing says how records are compared. A replication tool may add headers; times are told apart record by record.

# Of so many such contents, the outermost one does not count: so far a replication tool may have changed the order.
_OUTERMOST = 16


class Claim(t.NamedTuple):
    """What is said of a group's offsets. repeats: how many consumed records may come again, None for any number."""

    group: str
    source: tuple[Position, ...]
    destination: tuple[Position, ...]
    repeats: int | None


class Window(t.NamedTuple):
    """The offsets [low, high) of a partition that are read around the offset `at` of a group.

    near: records from this offset on only serve as partners of others, because their own may stand where nothing was read, or
    because they are too young to be skipped.
    cut_below, cut_above: whether the log has offsets before the window, or after it.
    """

    low: int
    at: int
    high: int
    near: int
    cut_below: bool
    cut_above: bool


class Windows(t.NamedTuple):
    """A window for each source partition and each destination partition, as the claim lists them."""

    source: tuple[Window, ...]
    destination: tuple[Window, ...]

    @property
    def is_cut_above(self) -> bool:
        """Does any of the logs go on after its window?"""
        return any(window.cut_above for window in (*self.source, *self.destination))

    @property
    def is_complete(self) -> bool:
        """Are all logs read whole?"""
        return not any(window.cut_below or window.cut_above for window in (*self.source, *self.destination))


class SingleContent(t.NamedTuple):
    """A content that occurs once on each side. The places are the numbers of the partitions among the claim's."""

    source_place: int
    source: int
    place: int
    offset: int


def window(at: int, log_start: int, log_end: int, reach: int | None) -> Window:
    """The window of a partition, up to `reach` offsets on both sides of an offset; None for the whole log."""
    end = max(log_start, log_end)
    if reach is None:
        return Window(log_start, at, end, end, cut_below=False, cut_above=False)
    low = min(max(log_start, at - reach), end)
    high = max(low, min(end, at + reach))
    return Window(low, at, high, high, low > log_start, high < end)


def aligned(windows: Windows, pairs: t.Iterable[SingleContent]) -> Windows:
    """The same, cut at the same place. pairs: those that were read of the claim's partitions, or a sample of them.

    Where there are none, nothing is known to stand in both windows.
    """
    if windows.is_complete:
        return windows
    here, there = windows
    nears: _Offsets = collections.defaultdict(list)
    their_nears: _Offsets = collections.defaultdict(list)
    their_lows: _Offsets = collections.defaultdict(list)
    for source_place, source, place, offset in pairs:
        mine, its = here[source_place], there[place]
        if not (mine.low <= source < mine.high and its.low <= offset < its.high):
            continue
        if source >= mine.at:
            nears[source_place, place].append(source)
        if offset >= its.at:
            their_nears[place, source_place].append(offset)
        else:
            their_lows[place, source_place].append(-offset)
    if any(each.cut_above for each in there):
        here = tuple(
            each._replace(near=min(each.near, _most(nears, at, each.at - 1) + 1)) for at, each in enumerate(here)
        )
    if any(each.cut_above for each in windows.source):
        there = tuple(each._replace(near=_most(their_nears, at, each.at - 1) + 1) for at, each in enumerate(there))
    if any(each.cut_below for each in windows.source):
        there = tuple(each._replace(low=-_most(their_lows, at, -each.at)) for at, each in enumerate(there))
    return Windows(here, there)


_Offsets = dict[tuple[int, int], list[int]]  # by the partition, and the one on the other side


def _most(offsets: _Offsets, place: int, default: int) -> int:
    """Of a partition the offset up to which most of them stand, whichever partition the others belong to."""
    return min((_quantile(its) for (at, _other), its in offsets.items() if at == place), default=default)


def _quantile(offsets: list[int]) -> int:
    offsets.sort()
    return offsets[len(offsets) - 1 - len(offsets) // _OUTERMOST]
