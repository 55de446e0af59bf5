# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What tells one cluster from another, as files note it: a cluster's id alone does not. Pure.

An image or a chart may format every cluster with one built-in id, and some services give none. Topic ids are random for each
topic (KIP-516), and two clusters cannot answer at one address.
"""

from __future__ import annotations

import hashlib
import types
import typing as t

from . import documents
from .file_rows import RARE, Among, Form, Name, offset_pair
from .records import TopicPartition
from .wording import counted

UNKNOWN_ID = "unknown"  # stands for the id of a cluster that gives none
_NO_IDS = frozenset({UNKNOWN_ID, "None"})  # the second one in files of earlier releases
_NOTHING: t.Mapping[str, t.Any] = types.MappingProxyType({})
_MARKS = Form(lambda marks: tuple(map(documents.text_of, marks)), sorted)


def address_mark(host: str, port: int) -> str:
    """What files note of a broker's address: the same for the same one, and no address."""
    return hashlib.sha256(f"{host}:{port}".encode()).hexdigest()[:16]


class LogRange(t.NamedTuple):
    """The offsets of a log: the first one, and the one after the last (the high watermark)."""

    start: int
    end: int


_RANGE = Form(lambda row: LogRange(*offset_pair(row)))


class Traits(t.NamedTuple):
    """What a cluster is besides its id, as far as a file notes it. Files of earlier releases note nothing.

    brokers: of address_mark(), because no file holds an address. topic_ids: of the existing topics that the file is about; None
    where brokers give none (before 2.8). logs: of these topics, by partition number; None where it was not known. Only plans
    have them.
    """

    brokers: t.Annotated[tuple[str, ...], _MARKS, RARE] = ()
    topic_ids: t.Annotated[t.Mapping[Name, str | None], RARE] = _NOTHING
    logs: t.Annotated[t.Mapping[Name, tuple[t.Annotated[LogRange, _RANGE] | None, ...]], RARE] = _NOTHING

    @property
    def counts(self) -> dict[str, int]:
        """How many partitions the topics have; those that do not exist are left out."""
        return {name: len(logs) for name, logs in self.logs.items()}

    def log_of(self, partition: TopicPartition) -> LogRange | None:
        """The log of a partition; None where it was not known, or the topic is none of these."""
        logs = self.logs.get(partition.topic, ())
        return logs[partition.partition] if partition.partition < len(logs) else None

    def with_counts(self, counts: t.Mapping[str, int]) -> Traits:
        """The same with partitions that are yet to be made, of which no log is known."""
        more = {name: (None,) * (count - len(self.logs.get(name, ()))) for name, count in counts.items()}
        return self._replace(logs={name: (*self.logs.get(name, ()), *unknown) for name, unknown in more.items()})

    def as_found(self, current: Traits, topics: t.Container[str]) -> Traits:
        """The same with these topics alone, and as they are now, as far as that is known."""
        known = {**self.topic_ids, **current.topic_ids}
        return Traits(current.brokers, {name: topic_id for name, topic_id in known.items() if name in topics})

    def recreated(self, current: Traits) -> dict[str, str]:
        """The topics that were deleted and created again since this was noted, and how that shows. current: as they are now."""
        return {name: how for name in self.topic_ids if (how := self.how_recreated(name, current)) is not None}

    def how_recreated(self, name: str, current: Traits) -> str | None:
        """How it shows that one topic was deleted and created again; None where it does not."""
        was, now = self.topic_ids.get(name), current.topic_ids.get(name)
        return None if was is None or now is None or now == was else f"its id is {now}, and was {was}"


NO_TRAITS = Traits()


class ClusterIdentity(t.NamedTuple):
    """A cluster. cluster_id: UNKNOWN_ID where it gives none."""

    cluster_id: str
    traits: t.Annotated[Traits, Among()] = NO_TRAITS

    @classmethod
    def with_topics(cls, cluster_id: str, ids: t.Mapping[str, str | None]) -> t.Self:
        """A cluster with its topics by their ids, as far as these are known."""
        return cls(
            cluster_id, Traits(topic_ids={name: topic_id for name, topic_id in ids.items() if topic_id is not None})
        )

    def difference(self, current: ClusterIdentity) -> str | None:
        """How another cluster differs from this noted one, as the predicate of `the cluster`; None where they are one.

        current: with the ids of the topics that are noted here, as far as they exist. Clusters with equal ids are one where any
        topic has its id or any broker its address, because topics are created again, and brokers replaced. What a file of an
        earlier release does not note makes no difference.
        """
        ids = self.cluster_id, current.cluster_id
        if not _NO_IDS & set(ids) and ids[0] != ids[1]:
            return f"has the id {ids[1]}, not {ids[0]}"
        was, now = self.traits, current.traits
        if any(
            topic_id is not None and now.topic_ids.get(name) == topic_id for name, topic_id in was.topic_ids.items()
        ):
            return None
        if not was.brokers or not now.brokers or set(was.brokers) & set(now.brokers):
            return None
        if not was.topic_ids and not _NO_IDS & set(ids):
            return None  # nothing is noted but addresses, which may all have changed
        topics = [f"its topic {name} is another one ({how})" for name, how in sorted(was.recreated(now).items())]
        if was.topic_ids and not any(was.topic_ids.values()):
            no_ids = (
                "tells no ids of topics, as brokers before Kafka 2.8, so that another listener of one cluster looks like "
                "another cluster: if it is the same cluster, connect with the addresses that were used then"
            )
            topics = [no_ids]
        return " and ".join(["has brokers at other addresses", *topics[:1]])


def change_of(partition: TopicPartition, noted: Traits, current: Traits, side: str) -> str | None:
    """What has become of a partition's topic since it was noted, in words; None where nothing has that a plan rests on.

    side: what the cluster is called. Partitions that were yet to be made have no logs, and may still be missing.
    """
    name = partition.topic
    topic = f"topic {name} of the {side}"
    if name in noted.topic_ids and name not in current.topic_ids:
        return f"{topic} does not exist any more"
    if (how := noted.how_recreated(name, current)) is not None:
        return f"{topic} was deleted and created again since the plan was made: {how}"
    was, now = noted.logs.get(name), current.logs.get(name)
    if was is None or now is None:
        return None
    if len(now) > len(was) or any(log is not None for log in was[len(now) :]):
        return f"{topic} has {counted(len(now), 'partition')}, and had {len(was)} when the plan was made"
    if partition.partition >= len(now):
        return None
    return _went_back(f"{partition} of the {side}", was[partition.partition], now[partition.partition])


def seem_one(before: Traits, between: Traits, after: Traits) -> bool:
    """Is it one cluster that was looked at three times, the second time at other addresses? All with every topic and log.

    Topics of one cluster have the same ids, and its logs only go on. Where neither brokers give ids nor logs have records,
    nothing shows that it is one.
    """
    common = before.topic_ids.keys() & between.topic_ids.keys() & after.topic_ids.keys()
    stable = {name: topic_id for name in common if (topic_id := before.topic_ids[name]) == after.topic_ids[name]}
    compared = {
        name for name, topic_id in stable.items() if topic_id is not None and between.topic_ids[name] is not None
    }
    same = {name for name in compared if stable[name] == between.topic_ids[name]}
    if compared and not same:
        return False
    looked_at = same or common
    if any(len(before.logs[name]) == len(after.logs[name]) != len(between.logs[name]) for name in looked_at):
        return False
    logs = [
        ranges
        for name in looked_at
        for ranges in zip(before.logs[name], between.logs[name], after.logs[name], strict=False)
        if None not in ranges
    ]
    goes_on = all(
        first.start <= second.start <= third.start and first.end <= second.end <= third.end
        for first, second, third in t.cast("list[tuple[LogRange, LogRange, LogRange]]", logs)
    )
    return goes_on and (bool(same) or any(first is not None and first.end > 0 for first, _second, _third in logs))


def _went_back(name: str, was: LogRange | None, now: LogRange | None) -> str | None:
    """Logs only grow, and lose their beginning; one that does otherwise was truncated, or is another one."""
    if was is None or now is None:
        return None
    if now.end < was.end:
        return f"the log of {name} ends at {now.end}, and ended at {was.end} when the plan was made: it was truncated"
    if now.start < was.start:
        return f"the log of {name} starts at {now.start}, and started at {was.start} when the plan was made: it is another one"
    return None
