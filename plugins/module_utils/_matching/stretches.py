# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Blocks that are the same on both sides for a stretch, taken together: many groups read the same partitions. Pure.

Each group's blocks begin elsewhere and end at the same end, so that going through them for every group would cost the
number of groups times that of blocks, which grows with the groups.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.blocks import Block
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.context import Matching


@dataclasses.dataclass(frozen=True, slots=True)
class Stretches:
    """The blocks of a partition of each side. Blocks are told by their numbers.

    partners: the destination's block for each of the source's that has one which nothing else could be paired with.
    ends: the number behind the last of the source's blocks up to which partners follow each other on both sides.
    """

    source: t.Sequence[Block]
    destination: t.Sequence[Block]
    partners: dict[int, int]
    ends: dict[int, int]


def stretches_of(source: t.Sequence[Block], destination: t.Sequence[Block], hows: t.Sequence[Matching]) -> Stretches:
    """Partners are equal by every one of `hows`, and by none of them equal to another block."""
    partners = dict(_partners(source, destination, hows[0]))
    for how in hows[1:]:
        partners = dict(partners.items() & _partners(source, destination, how))
    ends: dict[int, int] = {}
    for number in sorted(partners, reverse=True):
        goes_on = partners.get(number + 1) == partners[number] + 1
        ends[number] = ends[number + 1] if goes_on else number + 1
    return Stretches(source, destination, partners, ends)


def joined(known: Stretches, mine: range, others: range) -> tuple[list[Block], list[Block]]:
    """The source's blocks with the numbers `mine`, the destination's with `others`: of a stretch the first, and the rest.

    What is found is the same as with each block for itself: the rest of a stretch is paired with its like, which is
    where it was, and the first block stays what it is, for the two sides may part there.
    """
    here: list[Block] = []
    jumps: dict[int, int] = {}
    number = mine.start
    while number < mine.stop:
        other, length = known.partners.get(number, -1), 1
        if other in others:
            length = min(known.ends[number], mine.stop, number + others.stop - other) - number
            jumps[other] = other + length
        here += _first_and_rest(known.source[number : number + length])
        number += length
    there: list[Block] = []
    number = others.start
    while number < others.stop:
        end = jumps.get(number, number + 1)
        there += _first_and_rest(known.destination[number:end])
        number = end
    return here, there


def _partners(source: t.Sequence[Block], destination: t.Sequence[Block], how: Matching) -> set[tuple[int, int]]:
    there = _alone(destination, how)
    return {(number, there[content]) for content, number in _alone(source, how).items() if content in there}


def _alone(blocks: t.Sequence[Block], how: Matching) -> dict[tuple[bytes, bytes], int]:
    """The number of each block that no other one is equal to, by its content."""
    numbers: dict[tuple[bytes, bytes], int] = {}
    twice = set()
    for number, block in enumerate(blocks):
        content = block.content(how)
        if numbers.setdefault(content, number) != number:
            twice.add(content)
    return {content: number for content, number in numbers.items() if content not in twice}


def _first_and_rest(blocks: t.Sequence[Block]) -> t.Sequence[Block]:
    """The rest is one block with the content of its first, which only its partner on the other side has."""
    if len(blocks) < 3:
        return blocks
    rest = blocks[1:]
    records, oldest = sum(block.records for block in rest), min(block.oldest for block in rest)
    return [blocks[0], rest[0]._replace(end=rest[-1].end, records=records, oldest=oldest)]
