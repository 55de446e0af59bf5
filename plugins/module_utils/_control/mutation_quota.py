# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""A quota on changes of topics (KIP-599): what it has held back is asked for again when the broker wants to be asked."""

from __future__ import annotations

import typing as t

from .._model.connection import Connection
from .._model.errors import BrokerError
from .error_codes import ErrorCode


class HeldBack(Exception):
    """The quota has held back a part of what was asked; everything else has been answered.

    first: a topic that was held back. seconds: how long the broker wants to be left alone. progress: whether it has
    taken anything.
    """

    def __init__(self, first: str, seconds: float, progress: bool) -> None:
        super().__init__(first)
        self.first, self.seconds, self.progress = first, seconds, progress

    def told(self, connection: Connection) -> BrokerError:
        """What a user is told when time is up."""
        return BrokerError(
            "a quota of the cluster, controller_mutation_rate, takes no more changes of topics",
            cluster=str(connection),
            topic=self.first,
            why=f"the brokers ask to wait {self.seconds:.1f} s, and took nothing more after that",
            remedy="raise controller_mutation_rate of this user or client id (kafka-configs --entity-type users or clients) "
            "and run again: what was made stays, and only what is left is asked for",
        )


def not_held_back(rows: t.Sequence[t.Any], answer: t.Any) -> t.Iterator[t.Any]:
    """Those of the rows of an answer that the quota has let pass. HeldBack is raised after them."""
    yield from (row for row in rows if row.error_code != ErrorCode.THROTTLING_QUOTA_EXCEEDED)
    raise_if_held_back({row.name: row.error_code for row in rows}, answer)


def raise_if_held_back(codes: t.Mapping[str, int], answer: t.Any) -> None:
    """Raise HeldBack where an answer has this error for a topic; codes: by topic."""
    held = [name for name, code in codes.items() if code == ErrorCode.THROTTLING_QUOTA_EXCEEDED]
    if held:
        raise HeldBack(held[0], answer.throttle_time_ms / 1000, len(held) < len(codes))
