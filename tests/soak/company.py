"""A company that does not stand still: producers, a replication tool, and consumers of every temper, for hours.

Each record's timestamp tells its number in its partition at the source, which is its offset there.
"""

import contextlib
import random
import threading
import time
import typing as t

from testbed.background import Background, Got, consumer
from testbed.clients import Message, Servers, commit, committed, create_topic, delete_records, produce
from testbed.live_tool import LiveTool

# And how many partitions. All beats are equal but for their times, and there are five statuses.
TOPICS = {"orders": 3, "beats": 2, "statuses": 2}
HISTORY = 400  # records of each partition before the company is watched
OLD_LIFE = 250  # records of each partition that only the destination has
PACE = 0.1  # seconds between records of one partition


class Temper(t.NamedTuple):
    """How a group consumes: so many records at a time at most, with so many seconds between."""

    batch: int
    pause: float


GROUPS = {
    "quick": Temper(500, 0.0),
    "lagging": Temper(5, 0.9),
    "rewound": Temper(500, 0.0),
    "mistaken": Temper(500, 0.0),
    "idle": None,  # it has stopped in the middle long ago
}
_KEPT = 60  # records before a committed offset that retention leaves, because a group may be set back by 50
_RECOPIED = 20  # records at most of each partition that a restarted tool copies again


class Company:
    """Use it as a context manager, in which everything runs until stop_consumers(), or the end."""

    def __init__(self, source: Servers, destination: Servers, chance: random.Random) -> None:
        self._clusters = source, destination
        self._chance = chance
        self._begin = int(time.time() * 1000) - 86_400_000
        self._stack = contextlib.ExitStack()
        self._tools: dict[str, LiveTool] = {}
        self._running: dict[str, Background] = {}
        self.got: dict[str, list[Got]] = {group: [] for group in GROUPS}
        self.restarts: list[int] = []  # how many records were copied again by each

    def __enter__(self) -> t.Self:
        source, destination = self._clusters
        for topic, partitions in TOPICS.items():
            for cluster, first, last in ((source, 0, HISTORY), (destination, -OLD_LIFE, 0)):
                create_topic(cluster, topic, partitions, retention_ms=-1)
                self._produce(cluster, topic, first, last)
            self._tools[topic] = self._stack.enter_context(LiveTool(source, destination, topic))
        middle = {(topic, number): HISTORY // 2 for topic, count in TOPICS.items() for number in range(count)}
        commit(source, "idle", middle)
        for group in GROUPS:
            self._start(group)
        self._stack.enter_context(Background(self._sell))
        return self

    def __exit__(self, *_unused: object) -> None:
        self.stop_consumers()
        self._stack.close()

    def number(self, record: Got) -> int:
        """The how-manieth record of its partition at the source this is; below 0 where it never was there."""
        return record.timestamp - self._begin

    def stop_consumers(self) -> None:
        """Have all consumers at the source stop, as before a cut-over."""
        while self._running:
            self._running.popitem()[1].end()

    def restart_tool(self, again: bool) -> None:
        """Kill the replication tool of a topic and start it again; again: it has forgotten some of what it has copied."""
        tool = self._tools[self._chance.choice(list(TOPICS))]
        tool.kill()
        count = self._chance.randint(1, _RECOPIED) if again else 0
        self.restarts.append(count)
        tool.start(again=count)

    def expire(self) -> None:
        """Retention at the source removes some of what all groups have consumed."""
        source, _destination = self._clusters
        commits = [committed(source, group) for group in GROUPS]
        for topic, partitions in TOPICS.items():
            lowest = {at: min(its.get((topic, at), (0, ""))[0] for its in commits) for at in range(partitions)}
            starts = {at: max(0, low - _KEPT - self._chance.randrange(_KEPT)) for at, low in lowest.items()}
            delete_records(source, topic, starts)

    def rewind(self) -> None:
        """Somebody sets a group back by some records, and starts its consumers again."""
        self._running.pop("rewound").end()
        source, _destination = self._clusters
        stands = committed(source, "rewound")
        commit(source, "rewound", {where: max(0, offset - 50) for where, (offset, _metadata) in stands.items()})
        self._start("rewound")

    def _start(self, group: str) -> None:
        temper = GROUPS[group]
        if temper is not None:
            its = consumer(self._clusters[0], group, list(TOPICS), self.got[group], *temper)
            self._running[group] = its.start()

    def _sell(self, over: threading.Event) -> None:
        number = HISTORY
        while not over.wait(PACE):
            for topic in TOPICS:
                self._produce(self._clusters[0], topic, number, number + 1)
            number += 1

    def _produce(self, cluster: Servers, topic: str, first: int, last: int) -> None:
        produce(
            cluster,
            topic,
            [
                Message(_value(topic, number), None, (), self._begin + number, partition)
                for number in range(first, last)
                for partition in range(TOPICS[topic])
            ],
        )


def _value(topic: str, number: int) -> bytes:
    return {"beats": b"beat", "statuses": b"status %d" % (number % 5)}.get(topic, b"%d" % number)
