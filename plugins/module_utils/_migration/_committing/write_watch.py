# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which topics of the groups producers still write at the source while the groups are committed at the destination.

What comes there later reaches the groups only as long as a replication tool runs. The ends of the logs are read before and
after idle_wait, which mostly passes while the plan is verified, and once more after the last write.
"""

from __future__ import annotations

import time
import typing as t

from ..._control import positions
from ..._model.connection import Connection
from ..._model.errors import MigrationError, StillBeingWritten
from ..._model.idle import NOT_LOOKED, EarlierLook
from ..._model.notes import Note, NoteKind
from ..._model.option_names import option_name
from ..._model.plan import Plan
from ..._model.policies import OnStillWritten
from ..._model.receipt import Key
from ..still_written import Ends, StillWritten, grown_topics, written_partitions


class WriteWatch:
    """Reads the ends of the source's logs for one commit.

    :param source: None looks at nothing, and so does policy None.
    :param policy: fail raises Refused before the first write, and makes a note of what is seen after the last one.
    :param idle_wait: how many seconds are between the first two readings, at least.
    """

    def __init__(
        self,
        source: Connection | None,
        plan: Plan,
        policy: OnStillWritten | None,
        idle_wait: float,
        earlier: EarlierLook = NOT_LOOKED,
    ) -> None:
        """Take the first reading, unless that is an earlier one of the same run."""
        self._source, self._plan, self._policy = source, plan, policy
        self._last: list[StillWritten] = []
        self.seen: dict[str, StillWritten] = {}
        partitions = written_partitions(plan)
        known = {at: end for at in partitions if (end := earlier.end_of(at)) is not None}
        goes_on = earlier.is_recent and len(known) == len(partitions) and policy is not None
        self._ends: Ends = known if goes_on and policy == OnStillWritten.NOTE else self._read(None)
        # What has come in between was perhaps the last: that refuses nothing.
        goes_on = goes_on and self._ends == known
        self._second = time.monotonic() + (earlier.seconds_left(idle_wait) if goes_on else idle_wait)

    def look(self, keys: t.Collection[Key]) -> None:
        """Take the second one, of the partitions that these entries rest on. before() asks no cluster then."""
        if self._ends and written_partitions(self._plan, keys):
            time.sleep(max(0.0, self._second - time.monotonic()))
        self._last = self._grown(keys)

    def before(self, keys: t.Collection[Key]) -> list[Note]:
        """A note of what had grown at the second reading. keys: those that look() was called with, or some of them."""
        partitions = written_partitions(self._plan, keys)
        topics = {at.topic for at in partitions}
        grown = [written for written in self._last if written.topic in topics]
        self._ends = {at: end for at, end in self._ends.items() if at in partitions}
        self.seen |= {written.topic: written for written in grown}
        if grown and self._policy == OnStillWritten.FAIL:
            raise StillBeingWritten(
                f"producers still write at the source: {'; '.join(map(str, grown))}",
                cluster=str(self._source),
                topic=grown[0].topic,
                why="these records reach the groups only as long as a replication tool copies them",
                remedy="nothing was written. Move the producers to the destination, or stop them; or set "
                f"{option_name('on_still_written')} to note if a replication tool goes on copying",
            )
        return _notes("Producers still write at the source", grown)

    def after(self, keys: t.Collection[Key]) -> list[Note]:
        """The same of topics that have grown only since before(). The groups are committed: nothing fails any more."""
        try:
            grown = self._grown(keys)
        except MigrationError as exc:
            text = f"Nobody knows whether producers still write at the source: {exc}"
            return [Note(NoteKind.STILL_WRITTEN, text)]
        since = [written for written in grown if written.topic not in self.seen]
        self.seen |= {written.topic: written for written in since}
        return _notes("Producers have written at the source while the groups were committed", since)

    def _grown(self, keys: t.Collection[Key]) -> list[StillWritten]:
        before, now = self._ends, self._read(keys)
        self._ends = now
        return grown_topics(self._source, before, now) if self._source is not None else []

    def _read(self, keys: t.Collection[Key] | None) -> Ends:
        """The ends of the logs that these entries rest on, None for those of the whole plan."""
        if self._source is None or self._policy is None:
            return {}
        return positions.log_ends(self._source, written_partitions(self._plan, keys))


def _notes(what: str, grown: t.Sequence[StillWritten]) -> list[Note]:
    return [Note(NoteKind.STILL_WRITTEN, f"{what}: {written}") for written in grown]
