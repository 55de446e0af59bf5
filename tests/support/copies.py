"""Copies of a backlog that something happens to, and what must be true when they have ended."""

import bisect
import time
import typing as t
from pathlib import Path

from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import Backlog, from_json
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import all_groups
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import (
    progress_from_commits as read_progress,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from testbed.clients import Headers, Message, commit, committed, read, until
from tests.support.modules import Migration, Process, outcome, spawn, succeeds

SECONDS = 240.0


def messages(partition: int, records: int) -> t.Iterator[Message]:
    """Old records; every kind of nothing for keys, values and headers."""
    old = int(time.time() * 1000) - 30 * 86_400_000
    headers: tuple[Headers, ...] = ((), (("a", b"1"), ("a", b"2"), ("n", None), ("e", b"")))
    for at in range(records):
        key = None if at % 5 == 0 else b"" if at % 11 == 0 else b"k%d" % at
        value = None if at % 7 == 0 else b"v%d" % at
        yield Message(value, key, headers[at % 2], old + at, partition)


class Copy(Migration):
    """The copy of a topic that groups are in the middle of, to another name. commits: of each group, by partition."""

    spawn: t.Callable[..., Process] = staticmethod(spawn)

    def __init__(
        self,
        directory: Path,
        source: t.Any,
        destination: t.Any,
        topic: str,
        name: str,
        commits: t.Sequence[t.Sequence[int]],
    ) -> None:
        super().__init__(directory, source, destination)
        self.clusters = (source, destination)
        self.topic, self.to, self.commits = topic, name, commits
        self.groups = [f"{name}-{number}" for number in range(len(commits))]
        for group, offsets in zip(self.groups, commits, strict=True):
            commit(source, group, {(topic, partition): offset for partition, offset in enumerate(offsets)})
        self.snapshot(*self.groups)
        starts = dict(enumerate(map(min, zip(*commits, strict=True))))
        self.wanted = {partition: read(source, topic, [partition], start=starts) for partition in starts}
        self.bytes = sum(len(each.key or b"") + len(each.value or b"") for its in self.wanted.values() for each in its)
        self.all = sum(map(len, self.wanted.values()))

    def backlog(self, via: t.Callable[..., t.Any] = succeeds, seconds: float | None = None, **options: t.Any) -> t.Any:
        """seconds: about as long as copying everything takes."""
        limit = {"max_bytes_per_second": int(self.bytes / seconds)} if seconds else {}
        return super().backlog(via, **{"topic_map": [{"name": self.topic, "to": self.to}], **limit, **options})

    def begun(self, seconds: float | None = None, **options: t.Any) -> Process:
        """The copy in a process of its own."""
        process: Process = self.backlog(self.spawn, seconds, **options)
        return process

    def known(self) -> Backlog:
        """What the copy file says."""
        return from_json(self.copy_file.read_text(), "")

    def copied(self) -> int:
        """How many records the progress groups tell of."""
        known = self.known()
        commits = committed(self.servers, all_groups(known)[0])
        its = (commits.get((each.destination.topic, each.destination.partition)) for each in known.ranges)
        return sum(read_progress(0, [CommittedOffset(*each)]).records for each in its if each)

    def comes_to(self, records: int, process: Process) -> None:
        """Wait until so many are copied."""

        def copied() -> bool:
            assert process.poll() is None, outcome(process)
            return self.copy_file.exists() and self.copied() >= records

        until(copied, SECONDS, f"{records} are not copied within {SECONDS} s")

    def check(self, entries: t.Iterable[dict[str, t.Any]]) -> None:
        """All records are there once, in order, and each group stands at the first one that it has not consumed."""
        places = {(each["group"], each["partition"]): each["offset"] for each in entries}
        for partition, wanted in self.wanted.items():
            copies = read(self.servers, self.to, [partition])
            assert [copy[2:] for copy in copies] == [record[2:] for record in wanted]
            offsets = [record.offset for record in wanted]
            for group, committed_ones in zip(self.groups, self.commits, strict=True):
                rank = bisect.bisect_left(offsets, committed_ones[partition])
                assert places[group, partition] == copies[rank].offset
        assert self.backlog()["changed"] is False
