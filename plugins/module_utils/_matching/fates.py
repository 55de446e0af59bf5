# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""What has become of the records that have no partner behind a group's offset: lost, late, repeated or foreign. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.comparing import (
    Comparison,
    Content,
    Fate,
    Row,
)


class Seen(t.NamedTuple):
    """How often something that was looked for is there, and where first: the partition's number and the offset."""

    times: int
    place: int
    offset: int


Sight = t.Mapping[Content, Seen]


class Elsewhere(t.NamedTuple):
    """What was found of the records without a partner, by content, outside of where they were compared.

    skipped: at the destination, before the offset. consumed, unconsumed: at the source, before the committed offset and
    from there on. is_whole: do `skipped` and `consumed` count everything that was ever there?
    """

    skipped: Sight
    consumed: Sight
    unconsumed: Sight
    is_whole: bool


class Spot(t.NamedTuple):
    """A record where it was found: at the source, at the destination, or on both sides."""

    source: tuple[int, int] | None
    destination: tuple[int, int] | None


class Counts(t.NamedTuple):
    """How many records without a partner have which fate, and the first of each where it can be named.

    left_behind: unconsumed ones that are at the destination before the offset. absent: unconsumed ones that are not at
    the destination, though later ones are. to_come: those that the copier has still to write. repeated: consumed ones
    behind the offset. copied_again: unconsumed ones that are there more often than at the source. foreign: those that
    the source does not have, or not any more.
    """

    left_behind: int
    absent: int
    to_come: int
    repeated: int
    copied_again: int
    foreign: int
    first_left_behind: Spot | None
    first_absent: Spot | None
    first_repeated: Spot | None


def sought(comparison: Comparison) -> set[Content]:
    """What has to be looked for before count() can tell."""
    return {each.row.content(comparison.how) for each in (*comparison.missing, *comparison.extra)}


def count(comparison: Comparison, elsewhere: Elsewhere) -> Counts:
    """Of equal records that cannot be told apart, the worse is taken."""
    left_behind, absent, to_come = _missing(comparison, elsewhere)
    repeated: list[Row] = []
    copied_again = foreign = 0
    for each in comparison.extra:
        content = each.row.content(comparison.how)
        if content in elsewhere.consumed:
            repeated.append(each.row)
        elif content in elsewhere.unconsumed:
            copied_again += 1
        elif each.fate is not Fate.BEYOND:
            foreign += 1
    return Counts(
        len(left_behind),
        len(absent),
        to_come + sum(block.records for block in comparison.unread),
        len(repeated),
        copied_again,
        foreign,
        min(left_behind, default=None, key=lambda spot: spot.source or ()),
        Spot(absent[0][:2], None) if absent else None,
        Spot(None, repeated[0][:2]) if repeated else None,
    )


def _missing(comparison: Comparison, elsewhere: Elsewhere) -> tuple[list[Spot], list[Row], int]:
    """(left behind, absent, how many are still to come)"""
    left_behind, absent, to_come = [], [], 0
    surplus: dict[Content, int] = {}
    for each in comparison.missing:
        content = each.row.content(comparison.how)
        if surplus.setdefault(content, _surplus(content, elsewhere)) > 0:
            surplus[content] -= 1
            seen = elsewhere.skipped[content]
            left_behind.append(Spot(each.row[:2], (seen.place, seen.offset)))
        elif each.fate is Fate.COUNTS:
            absent.append(each.row)
        else:
            to_come += each.fate is Fate.TO_COME
    return left_behind, absent, to_come


def _surplus(content: Content, elsewhere: Elsewhere) -> int:
    """How many copies before the offset are none of consumed records."""
    if content not in elsewhere.skipped:
        return 0
    skipped = elsewhere.skipped[content].times
    if content not in elsewhere.consumed:
        return skipped
    # Where not everything was counted, equal consumed records may well be those.
    return skipped - elsewhere.consumed[content].times if elsewhere.is_whole else 0
