"""A group that goes to another cluster and back, with everything around it: producers, a replication tool, live consumers."""

import collections
import contextlib
import itertools
import json
import time
import typing as t
import zlib
from pathlib import Path

from testbed.clients import (
    Ends,
    Message,
    commit,
    create_topic,
    log_bounds,
    open_consumer,
    partitions_of,
    produce,
    produce_in_transactions,
    read,
    received,
    until,
)
from tests.support.clusters import KafkaCluster
from tests.support.logs import COMPACTED_AT_ONCE
from tests.support.modules import Result, succeeds
from tests.support.playbooks import Controller, Played
from tests.support.replication_tool import as_message

NOW = int(time.time() * 1000) - 86_400_000
PARTITIONS = 2
HOME = "kafka-migrations/onprem-to-cloud"
KINDS = ("caught up", "transactions", "compaction", "LogAppendTime", "repartitioned")
_SETTINGS: dict[str, dict[str, str | int]] = {
    "compaction": COMPACTED_AT_ONCE,
    "LogAppendTime": {"message_timestamp_type": "LogAppendTime"},
}


class World:
    """A group `billing` at the old cluster is `billing-new` at the new one, and consumes topics of two names.

    kind: what is special about the topics and their records, one of KINDS. Every other record has the key of an earlier one.
    """

    def __init__(
        self, old: KafkaCluster, new: KafkaCluster, name: str, directory: Path, kind: str = "caught up"
    ) -> None:
        self.old, self.new, self.kind = old, new, kind
        self.old_topic, self.new_topic = name, f"copy.{name}"
        self.group, self.new_group = f"{name}-billing", f"{name}-billing-new"
        self.log: collections.Counter[bytes] = collections.Counter()
        self.written = 0
        self.controller = Controller(directory, onprem=old, cloud=new)
        self._partitions = PARTITIONS + (kind == "repartitioned")  # at the new cluster
        self._produces_at_new = False
        self._copied: dict[int, int] = {}
        for at_new, partitions in ((False, PARTITIONS), (True, self._partitions)):
            cluster, _group, topic = self._side(at_new)
            create_topic(cluster, topic, partitions, retention_ms=-1, **_SETTINGS.get(kind, {}))
        commit(old, self.group, {(self.old_topic, number): 0 for number in range(PARTITIONS)})

    def _side(self, at_new: bool) -> tuple[KafkaCluster, str, str]:
        return (self.new, self.new_group, self.new_topic) if at_new else (self.old, self.group, self.old_topic)

    def begin(self, count: int, consumed: int) -> None:
        """Write so many records, copy them, and let the group consume some of each partition."""
        self.produce(count)
        self.copy()
        self.consume(consumed)

    def produce(self, count: int, *, at_new: bool = False) -> None:
        """Write the next records, all of which differ, to one of the clusters."""
        numbers = range(self.written, self.written + count)
        self.written += count
        cluster, _group, topic = self._side(at_new)
        messages = [self._message(n, at_new) for n in numbers]
        if self.kind == "transactions":
            junk = [Message(b"aborted", b"key", (), NOW, number) for number in range(PARTITIONS)]
            parts = (messages[at : at + 25] for at in range(0, count, 25))
            ends = ([(part, True), (junk, False)] for part in parts)
            produce_in_transactions(cluster, topic, itertools.chain.from_iterable(ends))
        else:
            produce(cluster, topic, messages)

    def _message(self, number: int, at_new: bool) -> Message:
        key = b"%d %d" % (number // 4, number % 2)
        return Message(b"%d" % number, key, (), NOW + 10 * number, self._partition(number % PARTITIONS, key, at_new))

    def _partition(self, number: int, key: bytes, at_new: bool) -> int:
        """The tool keeps partitions, unless it has to choose them by the key."""
        if self.kind != "repartitioned":
            return number
        return zlib.crc32(key) % (self._partitions if at_new else PARTITIONS)

    def copy(self, *, back: bool = False, begin: t.Mapping[int, int] | None = None) -> dict[int, int]:
        """Let a plain tool copy to the end, from these source offsets on. -> where it has come to."""
        (source, _group, topic), (destination, _other, to) = self._side(back), self._side(not back)
        ends = {number: end for number, (_start, end) in log_bounds(source, topic).items()}
        records = read(source, topic, start=begin)
        produce(
            destination,
            to,
            [
                as_message(record)._replace(partition=self._partition(record.partition, record.key or b"", not back))
                for record in records
            ],
        )
        return ends

    def write(self, count: int) -> None:
        """Let producers write where they are now, and the tool copy that to the other cluster."""
        self.produce(count, at_new=self._produces_at_new)
        self._copied = self.copy(back=self._produces_at_new, begin=self._copied)

    def move_producers(self) -> None:
        """From now on, they write at the other cluster, and the tool copies what they write there."""
        self._produces_at_new = not self._produces_at_new
        cluster, _group, topic = self._side(self._produces_at_new)
        self._copied = {number: end for number, (_start, end) in log_bounds(cluster, topic).items()}

    def consume(self, count: int | None = None, *, at_new: bool = False) -> None:
        """Let a live consumer of the group log so many records, of each partition the same, and commit what it has logged.

        count: None for all there is.
        """
        cluster, group, topic = self._side(at_new)
        numbers = partitions_of(cluster, topic)
        left: dict[int | None, int] = dict.fromkeys(numbers, 1_000_000 if count is None else count // len(numbers))
        ends: Ends = set()
        with contextlib.closing(open_consumer(cluster, group)) as consumer:
            consumer.subscribe([topic])

            def consumed() -> bool:
                for message in received(consumer, ends, most=50):
                    if left[message.partition()]:
                        left[message.partition()] -= 1
                        self.log[message.value() or b""] += 1
                        consumer.commit(message=message, asynchronous=False)
                return len(ends) == len(numbers) if count is None else not any(left.values())

            until(consumed, what=lambda: f"{left} records more did not come", pause=0)

    def migrate(self, *words: str, **variables: t.Any) -> Played:
        """Play migrate_groups."""
        return self._play("migrate_groups", *words, **variables)

    def take_back(self, *words: str, **variables: t.Any) -> Played:
        """Play return_groups with the variables of the migration."""
        return self._play("return_groups", *words, **variables)

    def _play(self, playbook: str, *words: str, **variables: t.Any) -> Played:
        given = {
            "groups": [self.group],
            "topic_map": [{"pattern": f"({self.old_topic})", "to": "copy.\\1"}],
            "group_map": [{"name": self.group, "to": self.new_group}],
            "match_on": ["key", "value"] if self.kind == "LogAppendTime" else ["key", "value", "headers", "timestamp"],
            "repartitioned": [self.old_topic] if self.kind == "repartitioned" else [],
            **variables,
        }
        return self.controller.play(playbook, *words, **given)

    def plan(self, *, back: bool) -> list[dict[str, t.Any]]:
        """The entries of the last plan."""
        file = self.controller.directory / HOME / ("return/plan.json" if back else "plan.json")
        entries: list[dict[str, t.Any]] = json.loads(file.read_text())["entries"]
        return entries

    def status(self) -> Result:
        """What has become of the group, from the files and the clusters alone."""
        result = succeeds(
            "kafka_group_readiness",
            source=self.old.connection,
            destination=self.new.connection,
            directories=[str(self.controller.directory / HOME)],
            idle_wait=0,
        )
        its: Result
        (its,) = result["groups"]
        return its

    def each_once(self) -> bool:
        """Has every record that was ever written been logged once, over both clusters?"""
        return self.log == collections.Counter(b"%d" % number for number in range(self.written))

    def lacking(self) -> set[int]:
        """The records that nobody has logged, but for those that compaction may have removed."""
        last = {self._message(number, False).key: number for number in range(self.written)}
        wanted = last.values() if self.kind == "compaction" else range(self.written)
        return {number for number in wanted if not self.log[b"%d" % number]}

    def is_compacted(self, *, at_new: bool) -> bool:
        """Has the log lost records to compaction?"""
        cluster, _group, topic = self._side(at_new)
        return len(read(cluster, topic)) < sum(end for _start, end in log_bounds(cluster, topic).values())
