# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Places: one number for a partition of a cluster and an offset in it."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Axis:
    """The logs of some partitions of one cluster, end to end, so that a place in any of them is one number.

    starts: the first offset of each log, as of when the axis was made. A place is number * step + offset - start, where number
    is the partition's, and step leaves room for every log to grow. Places are ordered by partition and offset.
    """

    starts: tuple[int, ...]
    step: int = dataclasses.field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", (1 << 62) // max(1, len(self.starts)))

    def place(self, number: int, offset: int) -> int:
        """The place of an offset of the partition with this number; offsets outside of the log's room count as its edges."""
        return number * self.step + min(max(0, offset - self.starts[number]), self.step - 1)

    def at(self, place: int) -> tuple[int, int]:
        """The number of the partition and the offset."""
        number, distance = divmod(place, self.step)
        return number, self.starts[number] + distance
