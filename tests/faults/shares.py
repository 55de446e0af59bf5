"""How many faults a migration gets, and of which kinds."""

import math
import time
import typing as t

from tests.faults.kinds import KINDS, Kind


class Share(t.NamedTuple):
    """How many faults a migration gets: while it copies, without which it has no steps at all, and in each quick step.

    cycles: of commit and rollback, and of faults in each. situations: how many migrations there are for each that begins with
    one of those that are ordered; 0 for none. trips: of one group there and back beside each migration, in which playbooks are
    killed. kinds: of the faults that are drawn. ends: when no further fault begins, by time.monotonic().
    """

    copy: int = 30
    quick: int = 5
    cycles: int = 2
    situations: int = 3
    trips: int = 1
    kinds: tuple[Kind, ...] = KINDS
    ends: float = math.inf

    def is_over(self) -> bool:
        """Whether no further fault may begin. What has happened is mended then."""
        return time.monotonic() > self.ends
