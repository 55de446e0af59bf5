# SPDX-License-Identifier: GPL-3.0-or-later

"""The classes of worlds that move."""

from __future__ import annotations

import dataclasses
import typing as t

from tests.attack.classes import DECLARED


@dataclasses.dataclass(frozen=True)
class Manner:
    """What goes on in a world.

    size: about so many records of a partition are there before anybody looks. contents: unlike, periodic, statuses (few, at
    random), keyed (tombstones among them) or mixed. clock: of the producers. times: what the tool makes of them: kept, now,
    some (now, of some records) or stamped (by the broker). route: to which partition it copies: same, keyed or any. width: so
    many partitions at the destination, as many as at the source by default. events: what happens, and how often. merged:
    no, partitions (of one topic, which the user has called repartitioned) or topics (which become one). scaled: see rule.LESS.
    """

    size: int = 14
    partitions: int = 1
    contents: str = "mixed"
    clock: str = "steps"
    times: str = "kept"
    route: str = "same"
    width: int = 0
    headers: str = "no"
    events: t.Mapping[str, int] = dataclasses.field(default_factory=dict)
    merged: str = "no"
    scaled: int = 0
    search_limit: int = 100_000


_RETENTION = {"expire_unread": 1}

_MANNERS: dict[str, Manner] = {
    "mirror": Manner(contents="unlike"),
    "mirror, several": Manner(contents="unlike", partitions=2),
    "statuses": Manner(contents="statuses"),
    "periodic": Manner(contents="periodic"),
    "retention": Manner(events=_RETENTION),
    "retention, periodic": Manner(contents="periodic", events=_RETENTION),
    "retention, uncopied": Manner(contents="unlike", events={"expire": 1}),
    "heartbeats": Manner(contents="statuses", clock="same"),
    "bursts": Manner(clock="bursts", events=_RETENTION),
    "jitter": Manner(clock="jitter", events=_RETENTION),
    "deleted there": Manner(events={"expire_there": 1}),
    "keyed, compacted": Manner(contents="keyed", events={"compact": 1}),
    "compacted there": Manner(contents="keyed", events={"compact_there": 1}),
    "transactions": Manner(events={"begin": 3, "end": 5}),
    "transactions, retention": Manner(events={"begin": 3, "end": 5, "expire": 1}),
    "exactly-once tool": Manner(events={"begin_there": 2, "end_there": 4}),
    "no times": Manner(clock="none", partitions=2),
    "odd times": Manner(clock="odd"),
    "current times": Manner(times="now"),
    "some current times": Manner(times="some"),
    "stamped": Manner(times="stamped", events=_RETENTION),
    "headers": Manner(headers="source"),
    "two tools": Manner(headers="second tool", events={"second_tool": 6}),
    "again": Manner(events={"again": 1}),
    "strangers": Manner(events={"stranger": 2}),
    "long": Manner(size=500, contents="unlike"),
    "long, periodic": Manner(size=500, contents="periodic", events=_RETENTION),
    "long, exactly-once tool": Manner(size=400, contents="unlike", events={"begin_there": 1, "end_there": 1}),
    "Spark": Manner(contents="statuses", clock="bursts", search_limit=8, scaled=1, events=_RETENTION),
    "Spark, no times": Manner(clock="none", search_limit=8, scaled=1, events=_RETENTION),
    "Spark, transactions": Manner(search_limit=8, scaled=1, clock="same", events={"begin": 3, "end": 5}),
    "anew by key": Manner(contents="unlike", partitions=2, route="keyed"),
    "anew, current times": Manner(contents="unlike", partitions=2, route="keyed", times="now"),
    "anew, stamped": Manner(contents="unlike", partitions=2, route="keyed", times="stamped"),
    "repartitioned": Manner(partitions=2, width=3, route="keyed", merged="partitions"),
    "repartitioned, retention": Manner(partitions=3, width=2, route="any", merged="partitions", events=_RETENTION),
    "merged": Manner(partitions=2, width=1, route="any", merged="topics", events={"begin": 2, "end": 5}),
}
# Here an assumption is broken that docs/the-rule.md declares: order is kept; only the tool writes; a partition only grows; a
# copy is in the partition of its record, and equal records are in one partition.
_DECLARED: dict[str, Manner] = {
    "truncated": Manner(contents="unlike", events={"truncate": 1}),
    "recreated": Manner(contents="unlike", events={"recreate": 1}),
    "again, lag": Manner(clock="bursts", events={"again": 2, "stranger": 1}),
    "uncopied, strangers": Manner(events={"expire": 1, "stranger": 2}),
    "anew by key, equal records": Manner(contents="keyed", partitions=2, route="keyed"),
}
MANNERS = {f"live, {name}": manner for name, manner in _MANNERS.items()}
MANNERS |= {f"{DECLARED}live, {name}": manner for name, manner in _DECLARED.items()}
