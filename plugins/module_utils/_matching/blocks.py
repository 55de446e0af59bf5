# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Two logs compared by digests of blocks of records, so that only what differs has to be looked at. Pure.

A block ends behind a record whose own fingerprint says so (content-defined chunking, as in rsync's descendants), and not
after so many records: one record more or less on one side changes the block that it is in, and no block after it.
"""

from __future__ import annotations

import collections
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.context import Matching

# One record in so many ends a block, but no block has fewer (which a run of equal records could make) or more.
ONE_IN = 1024
FEWEST, MOST = 128, 4096

_Item = t.TypeVar("_Item")


# Strictest first: a copier may add headers, a destination may rewrite timestamps.
MATCHINGS = (Matching(True, True), Matching(True, False), Matching(False, True), Matching(False, False))


class Block(t.NamedTuple):
    """Some records that follow each other in a log.

    place is the number of the partition among those of a side; start is the first record's offset, end the last one's
    plus 1; records is how many they are; oldest is the smallest timestamp. fingerprints, bare and timestamps are digests
    of those of all its records in order; bare means without headers.
    """

    place: int
    start: int
    end: int
    records: int
    oldest: int
    fingerprints: bytes
    bare: bytes
    timestamps: bytes

    def content(self, how: Matching) -> tuple[bytes, bytes]:
        """What is the same for two blocks with equal records in equal order."""
        return self.fingerprints if how.headers else self.bare, self.timestamps if how.timestamp else b""


class Pairing(t.NamedTuple, t.Generic[_Item]):
    """pairs: (source, destination). source, destination: what is left of either side, in order."""

    pairs: list[tuple[_Item, _Item]]
    source: list[_Item]
    destination: list[_Item]


def pair_up(
    source: t.Sequence[_Item],
    destination: t.Sequence[_Item],
    key: t.Callable[[_Item], t.Hashable],
    last_first: bool = False,
) -> Pairing[_Item]:
    """Pair what has equal keys: the first with the first, the second with the second, or from the end."""
    step = -1 if last_first else 1
    waiting: dict[t.Hashable, collections.deque[int]] = collections.defaultdict(collections.deque)
    for number in range(len(destination))[::step]:
        waiting[key(destination[number])].append(number)
    taken: set[int] = set()
    pairs, left = [], []
    for item in source[::step]:
        numbers = waiting.get(key(item))
        if numbers:
            number = numbers.popleft()
            taken.add(number)
            pairs.append((item, destination[number]))
        else:
            left.append(item)
    rest = [item for number, item in enumerate(destination) if number not in taken]
    return Pairing(pairs[::step], left[::step], rest)


def pair_blocks(source: t.Sequence[Block], destination: t.Sequence[Block], how: Matching) -> Pairing[Block]:
    """The blocks that hold equal records in equal order, and those that have no such partner."""
    return pair_up(source, destination, lambda block: block.content(how))


def best_how(
    source: t.Sequence[Block], destination: t.Sequence[Block], hows: t.Sequence[Matching] = MATCHINGS
) -> Matching:
    """The comparison by which most records are equal; of several such the one that comes first."""
    return max(
        hows, key=lambda how: sum(block.records for block, _other in pair_blocks(source, destination, how).pairs)
    )


def ends_block(bare: bytes) -> bool:
    """Would a record with this fingerprint, headers left out, be the last one of a block? Its last byte is 0 then."""
    return int.from_bytes(bare[-2:], "big") % ONE_IN == 0


def cut_at(candidates: t.Sequence[int], length: int, already: int) -> list[int]:
    """Where blocks end within the next `length` records of a log: numbers of records, each the first of a new block.

    candidates: the numbers of the records whose fingerprint would end a block, ascending. already: how many records the
    block has that is open before them. The same content is cut in the same way once two logs have one cut in common.
    """
    cuts: list[int] = []
    begin = -already
    for candidate in [*candidates, length + MOST]:
        while candidate + 1 - begin > MOST:
            begin += MOST
            if begin > length:
                return cuts
            cuts.append(begin)
        if candidate >= length:
            break
        if candidate + 1 - begin >= FEWEST:
            begin = candidate + 1
            cuts.append(begin)
    return cuts
