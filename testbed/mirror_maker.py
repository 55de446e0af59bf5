"""A real MirrorMaker 2 in dedicated mode, impatient enough for tests, and the knowledge that it has caught up."""

from __future__ import annotations

import json
import signal
import time
import typing as t
from pathlib import Path

from testbed.clients import Commits, NoSuchTopic, Servers, committed, log_bounds, read
from testbed.sandbox import alive, archive, end, java_command, keep_archives, last_words, spawn

ALIAS, TARGET_ALIAS = "src", "dst"
MAIN = "org.apache.kafka.connect.mirror.MirrorMaker"
OFFSETS_TOPIC = f"mm2-offsets.{ALIAS}.internal"
IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
SECONDS = 180.0

# Looks for topics, groups and settings within seconds; everything is kept once, for there is one broker.
QUICK = {
    "replication.factor": 1,
    "checkpoints.topic.replication.factor": 1,
    "heartbeats.topic.replication.factor": 1,
    "offset-syncs.topic.replication.factor": 1,
    "offset.storage.replication.factor": 1,
    "status.storage.replication.factor": 1,
    "config.storage.replication.factor": 1,
    "refresh.topics.interval.seconds": 2,
    "refresh.groups.interval.seconds": 2,
    "emit.checkpoints.interval.seconds": 1,
    "emit.heartbeats.interval.seconds": 1,
    "sync.group.offsets.interval.seconds": 1,
    "sync.topic.configs.interval.seconds": 2,
    "sync.topic.acls.enabled": "false",
    f"{TARGET_ALIAS}.offset.flush.interval.ms": 1000,  # without the alias the worker does not see it
    "scheduled.rebalance.max.delay.ms": 0,
    "plugin.discovery": "service_load",  # looking through all jars for plugins takes seconds
}


class MirrorMaker:
    """Copies topics, and with sync_groups commits for their groups, while the with block lasts.

    topics and groups are comma-separated regular expressions. identity keeps the topics' names; otherwise copies
    are called src.NAME. Its files and its log are in the folder; more are settings of its own.
    """

    def __init__(
        self,
        folder: Path,
        source: Servers,
        target: Servers,
        *,
        topics: str = ".*",
        groups: str = ".*",
        identity: bool = True,
        sync_groups: bool = True,
        version: str = "4.3.0",
        more: t.Mapping[str, t.Any] | None = None,
    ) -> None:
        self.source, self.target, self.version = source, target, version
        folder = folder.resolve()  # by its configuration's path it is found, should it outlive this process
        self._folder = folder
        self._log = folder / "mirror-maker.log"
        self._file = folder / "mirror-maker.properties"
        folder.mkdir(parents=True, exist_ok=True)
        flow = f"{ALIAS}->{TARGET_ALIAS}"
        settings = QUICK | {
            "clusters": f"{ALIAS}, {TARGET_ALIAS}",
            f"{ALIAS}.bootstrap.servers": ",".join(source.bootstrap_servers),
            f"{TARGET_ALIAS}.bootstrap.servers": ",".join(target.bootstrap_servers),
            f"{flow}.enabled": "true",
            f"{TARGET_ALIAS}->{ALIAS}.enabled": "false",
            f"{TARGET_ALIAS}->{ALIAS}.emit.heartbeats.enabled": "false",  # or it starts a second, idle Connect cluster
            f"{flow}.topics": topics,
            f"{flow}.groups": groups,
            f"{flow}.sync.group.offsets.enabled": str(sync_groups).lower(),
            **({"replication.policy.class": IDENTITY} if identity else {}),
            **(more or {}),
        }
        self._file.write_text("".join(f"{key} = {value}\n" for key, value in settings.items()))

    def __enter__(self) -> t.Self:
        known = archive(self.version, MAIN).exists()
        command = java_command(
            self.version, MAIN, str(self._file), memory="512m", learn_into=None if known else self._folder
        )
        self._process = spawn(command, str(self._file), self._log)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        end([self._process], signal.SIGTERM, seconds=40)
        keep_archives(self.version, self._folder)

    def copied(self) -> dict[tuple[str, int], int]:
        """The source offset of the last record copied, by topic and partition, as MirrorMaker has stored it."""
        try:
            stored = read(self.target, OFFSETS_TOPIC)
        except NoSuchTopic:
            return {}
        found = {}
        for record in stored:
            connector, where = json.loads(record.key or b"[0, 0]")
            if connector == "MirrorSourceConnector":
                found[(where["topic"], where["partition"])] = json.loads(record.value or b"{}").get("offset", -1)
        return found

    def wait_until_caught_up(self, topics: t.Iterable[str], seconds: float = SECONDS) -> None:
        """Return when the last record of every partition has been copied. Nobody may write meanwhile."""
        # Not the log's end: that stands after control records, which are never copied.
        wanted = {(topic, number): at for topic in topics for number, at in last_records(self.source, topic).items()}
        deadline = time.monotonic() + seconds
        while lagging := {where for where, at in wanted.items() if self.copied().get(where, -1) < at}:
            self._complain(f"{len(lagging)} of {len(wanted)} partitions are not copied yet", deadline)
            time.sleep(0.3)

    def wait_until_groups_stand(
        self, groups: t.Iterable[str], still: float = 3.0, seconds: float = SECONDS
    ) -> dict[str, Commits]:
        """The offsets that it has committed at the target, once they have not changed for some seconds.

        It may commit nothing for some partitions, and nothing at all for some groups: those are left out.
        """
        chosen, deadline = list(groups), time.monotonic() + seconds
        last, since = dict[str, Commits](), time.monotonic()
        while time.monotonic() - since < still or not last:
            now = {group: commits for group in chosen if (commits := committed(self.target, group))}
            if now != last:
                last, since = now, time.monotonic()
            self._complain("the commits at the target still change", deadline)
            time.sleep(0.3)
        return last

    def _complain(self, what: str, deadline: float) -> None:
        if not alive(self._process):
            raise RuntimeError(f"MirrorMaker has ended: {last_words(self._log)}")
        if time.monotonic() > deadline:
            raise TimeoutError(f"MirrorMaker: {what}; {last_words(self._log)}")


def last_records(cluster: Servers, topic: str, window: int = 200) -> dict[int, int]:
    """The offset of each partition's last visible record; a partition without any is left out."""
    bounds = log_bounds(cluster, topic)
    found: dict[int, int] = {}
    unseen = {partition for partition, (first, end_) in bounds.items() if first < end_}
    while unseen:
        start = {partition: max(bounds[partition][0], bounds[partition][1] - window) for partition in unseen}
        for record in read(cluster, topic, unseen, start=start):
            found[record.partition] = record.offset
        unseen = {
            partition for partition in unseen if partition not in found and start[partition] > bounds[partition][0]
        }
        window *= 8
    return found
