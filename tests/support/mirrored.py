"""Topics that one real MirrorMaker 2 has copied with many settings: a flow for each, with names that nobody else uses."""

import time
import typing as t
import uuid
from pathlib import Path
from random import Random

from ansible_collections.streamshift.kafka.plugins.module_utils._model.mirror_records import read_checkpoint
from ansible_collections.streamshift.kafka.plugins.module_utils._model.replication_policy import ReplicationPolicy
from testbed.clients import (
    Message,
    NoSuchTopic,
    commit,
    create_topic,
    log_bounds,
    produce,
    produce_in_transactions,
    read,
    until,
)
from testbed.mirror_maker import IDENTITY, MirrorMaker
from tests.support.clusters import KafkaCluster
from tests.support.kinds import commit_all, group_of

DAY = 86_400_000
NOW = int(time.time() * 1000) - 2 * DAY
SECONDS = 120.0
STILL = 2.0
GROUPS = 8  # of each topic
JUNK = 15  # foreign records in all partitions of a copy, so that offsets differ


class Kind(t.NamedTuple):
    """What the module is told of a flow, and what MirrorMaker 2; and how it copies.

    stamped: the destination gives records the time of their arrival.
    """

    policy: dict[str, t.Any]
    settings: dict[str, str]
    aborted_too: bool = False  # MirrorMaker's default
    exactly_once: bool = False
    stamped: bool = False


FLOWS = {
    "default": Kind({}, {}, aborted_too=True),
    "identity": Kind({"name": "identity"}, {"replication.policy.class": IDENTITY}),
    "dashes": Kind({"separator": "-"}, {"replication.policy.separator": "-"}, stamped=True),
    "dashes, dots inside": Kind(
        {"separator": "-", "internal_topic_separator_enabled": False},
        {"replication.policy.separator": "-", "replication.policy.internal.topic.separator.enabled": "false"},
    ),
    "syncs at the target": Kind(
        {"offset_syncs_location": "target"}, {"offset-syncs.topic.location": "target"}, exactly_once=True
    ),
}


class Flow(t.NamedTuple):
    """The module's replication_policy; a topic and its copy; what groups have committed, by group and partition.

    excluded: the one of the groups that MirrorMaker leaves out. Of the others the first has consumed everything, the second
    nothing.
    """

    policy: dict[str, t.Any]
    topic: str
    copy: str
    commits: dict[str, dict[int, int]]
    excluded: str


def mirrored(
    source: KafkaCluster, destination: KafkaCluster, folder: Path, version: str, names: t.Collection[str]
) -> dict[str, Flow]:
    """Let a MirrorMaker copy a topic for each flow, and end it. -> the flows by name."""
    tag = uuid.uuid4().hex[:6]
    flows: dict[str, Flow] = {}
    settings: dict[str, str] = {"emit.heartbeats.enabled": "false"}  # or it starts flows back, too
    aliases: list[str] = []
    for number, name in enumerate(names):
        source_alias, target_alias = f"here{number}{tag}", f"there{number}{tag}"
        aliases += [source_alias, target_alias]
        kind = FLOWS[name]
        policy = {"name": "default", "source_alias": source_alias, "target_alias": target_alias, **kind.policy}
        flow = flows[name] = _filled(source, destination, f"mirrored-{number}-{tag}", policy, kind.stamped)
        settings |= {
            f"{source_alias}.bootstrap.servers": ",".join(source.bootstrap_servers),
            f"{target_alias}.bootstrap.servers": ",".join(destination.bootstrap_servers),
            f"{source_alias}.consumer.isolation.level": "read_uncommitted" if kind.aborted_too else "read_committed",
            f"{target_alias}.offset.flush.interval.ms": "1000",
            f"{target_alias}.exactly.once.source.support": "enabled" if kind.exactly_once else "disabled",
            f"{source_alias}->{target_alias}.enabled": "true",
            f"{source_alias}->{target_alias}.topics": flow.topic,
            f"{source_alias}->{target_alias}.groups": f".*{flow.topic}.*",
            **{f"{source_alias}->{target_alias}.{key}": value for key, value in kind.settings.items()},
        }
    settings["clusters"] = ", ".join(aliases)
    with MirrorMaker(folder, source, destination, identity=False, version=version, more=settings):
        _wait(source, destination, flows)
    return flows


def _filled(
    source: KafkaCluster, destination: KafkaCluster, topic: str, policy: dict[str, t.Any], stamped: bool
) -> Flow:
    """Transactions, some aborted, in partition 0, and single records in partition 1; groups at the edges and anywhere."""
    copy = topic if policy["name"] == "identity" else policy["source_alias"] + policy.get("separator", ".") + topic
    create_topic(source, topic, 2, retention_ms=-1)
    stamps: dict[str, str | int] = {"message_timestamp_type": "LogAppendTime"} if stamped else {}
    create_topic(destination, copy, 2, retention_ms=-1, **stamps)
    junk = [Message(b"junk", timestamp=NOW - DAY, partition=number % 2) for number in range(JUNK)]
    produce(destination, copy, junk)
    random, numbers = Random(topic.split("-")[1]), iter(range(1_000_000))
    writes = [
        ([numbered(next(numbers)) for _each in range(random.randrange(1, 60))], random.random() < 0.8)
        for _write in range(40)
    ]
    produce_in_transactions(source, topic, writes)
    produce(source, topic, [numbered(next(numbers), partition=1) for _each in range(1500)])
    ends = {partition: end for partition, (_start, end) in log_bounds(source, topic).items()}
    stands = [dict(ends), dict.fromkeys(ends, 0)]
    stands += [{each: random.randrange(end) for each, end in ends.items()} for _group in range(GROUPS)]
    commit_all(source, topic, stands)
    commits = {group_of(topic, number): its for number, its in enumerate(stands)}
    excluded = f"console-consumer-{topic}"
    commits[excluded] = dict(stands[-1])
    commit(source, excluded, {(topic, partition): offset for partition, offset in commits[excluded].items()})
    return Flow(policy, topic, copy, commits, excluded)


def numbered(number: int, partition: int = 0) -> Message:
    """A record with a number of its own; three have the same timestamp each."""
    return Message(b"%d" % number, b"key", timestamp=NOW + number // 3 * 1000, partition=partition)


def _wait(source: KafkaCluster, destination: KafkaCluster, flows: t.Mapping[str, Flow]) -> None:
    """Return when everything is copied, and groups' checkpoints have stood still for some seconds."""
    until(
        lambda: all(_is_copied(source, destination, name, flow) for name, flow in flows.items()),
        SECONDS,
        "MirrorMaker has not copied everything",
        STILL,
    )
    seen: list[list[set[tuple[str, int]]]] = [[]]

    def stand_still() -> bool:
        seen.append([checkpointed(destination, flow) for flow in flows.values()])
        return all(seen[-1]) and seen[-1] == seen[-2]

    until(stand_still, SECONDS, lambda: f"MirrorMaker has written checkpoints of {seen[-1]} only", STILL)


def _is_copied(source: KafkaCluster, destination: KafkaCluster, name: str, flow: Flow) -> bool:
    records = read(source, flow.topic, committed=not FLOWS[name].aborted_too)
    return len(read(destination, flow.copy)) >= len(records) + JUNK


def checkpointed(destination: KafkaCluster, flow: Flow) -> set[tuple[str, int]]:
    """The groups and partitions of which MirrorMaker has written a checkpoint."""
    policy = flow.policy
    names = ReplicationPolicy(
        policy["source_alias"],
        policy["target_alias"],
        policy["name"],
        policy.get("separator", "."),
        policy.get("internal_topic_separator_enabled", True),
    )
    try:
        keys = [read_checkpoint(each.key, each.value)[0] for each in read(destination, names.checkpoints.name)]
    except NoSuchTopic:
        return set()
    return {(key.group, key.partition.partition) for key in keys}
