"""One partition on both clusters, what is answered for a group on it, and what becomes of a wrong answer."""

import json
import time
import typing as t
from pathlib import Path

from testbed.clients import Message, Servers, commit, committed, create_topic, delete_records, produce
from tests.support.modules import Migration, refuses

DAY = 86_400_000
BEGIN = int(time.time() * 1000) - 2 * DAY  # the times of records are given as milliseconds after that
OWN_TIME = {"message_timestamp_type": "LogAppendTime"}


class Answer(t.NamedTuple):
    """An entry of a plan. repeats: how many consumed records come again at most, None where nobody knows."""

    verdict: str
    offset: int | None
    repeats: int | None = 0
    reason: str | None = None


def records(text: str) -> list[Message]:
    """`a@5 b` are two records, written 5 and 0 milliseconds after BEGIN."""
    words = (word.partition("@") for word in text.split())
    return [Message(value.encode(), b"key", (), BEGIN + int(at or 0)) for value, _at, at in words]


def unlike(numbers: t.Iterable[int], step: int = 1, later: int = 0) -> list[Message]:
    """The records p0, p1, ...; their times are as many steps after BEGIN, and so many milliseconds later."""
    return [Message(b"p%d" % number, b"key", (), BEGIN + step * number + later) for number in numbers]


class TwoLogs:
    """A topic with one partition on both clusters; groups are created on it as they are asked for.

    before: so many records, which all groups have consumed, stand before everything else on both clusters; offsets are
    given and returned without them. options: those of kafka_offset_translate, for every plan.
    """

    def __init__(self, source: t.Any, destination: t.Any, topic: str, directory: Path, before: int = 0) -> None:
        self.source, self.destination, self.topic, self.before = source, destination, topic, before
        self.migration = Migration(directory, source, destination)
        self.options: dict[str, t.Any] = {}

    def create(
        self, at_source: t.Mapping[str, t.Any] | None = None, at_destination: t.Mapping[str, t.Any] | None = None
    ) -> None:
        """Create the topic with these settings."""
        create_topic(self.source, self.topic, **{"retention_ms": -1} | dict(at_source or {}))
        create_topic(self.destination, self.topic, **{"retention_ms": -1} | dict(at_destination or {}))
        earlier = [Message(b"earlier %d" % at, None, (), BEGIN - 60_000 + 100 * at) for at in range(self.before)]
        self.write(earlier, earlier)

    def write(self, source: t.Sequence[Message], destination: t.Sequence[Message]) -> None:
        """Write these records."""
        produce(self.source, self.topic, source)
        produce(self.destination, self.topic, destination)

    def start(self, cluster: Servers, offset: int) -> None:
        """Let the log begin here."""
        delete_records(cluster, self.topic, {0: self.before + offset})

    def answer(self, consumed: int) -> Answer:
        """What is planned for a group that has committed this offset at the source."""
        return self.answers(consumed)[0]

    def answers(self, *consumed: int) -> list[Answer]:
        """The same for several groups at once."""
        groups = {f"{self.topic}-{offset}": offset for offset in consumed}
        for group, offset in groups.items():
            commit(self.source, group, {(self.topic, 0): self.before + offset})
        entries = self.migration.plan(*groups, **self.options)
        return [self._answer(entries[group, self.topic, 0]) for group in groups]

    def _answer(self, entry: t.Mapping[str, t.Any]) -> Answer:
        offset = None if entry["offset"] is None else entry["offset"] - self.before
        return Answer(entry["verdict"], offset, entry["repeats"], entry["reason"])

    def objections(self) -> dict[str, int | None]:
        """What kafka_offset_verify says of the plan as it is: how many records are concerned, by kind."""
        return self._verified(self.migration.directory / "report.json")

    def forced(self, offset: int, repeats: int | None = 0) -> dict[str, int | None]:
        """The same of the plan with another offset: exact, unless it repeats some (None: nobody knows how many).

        A commit that is given the report must refuse it, and write nothing.
        """
        migration = self.migration
        document = json.loads(migration.plan_file.read_text())
        (entry,) = document["entries"]
        verdict = "exact" if repeats == 0 else "safe"
        entry |= {
            "offset": self.before + offset,
            "verdict": verdict,
            "repeats": repeats,
            "reason": None,
            "lossless": None,
        }
        entry["evidence"] |= {"before": None, "after": None, "certificate": "whole_logs" if repeats == 0 else None}
        migration.plan_file.write_text(json.dumps(document))
        report = migration.directory / "report.json"
        kinds = self._verified(report)
        group, before = entry["group"], committed(self.destination, entry["group"])
        files = {"plan": str(migration.plan_file), "receipt": str(migration.receipt_file), "report": str(report)}
        said = refuses("kafka_offset_commit", cluster=migration.destination, idle_wait=0, **files)
        assert "verification_failed" in said
        assert committed(self.destination, group) == before == {}
        assert not migration.receipt_file.exists()
        return kinds

    def _verified(self, report: Path) -> dict[str, int | None]:
        done = self.migration.verify(method="records", receipt=None, report=str(report), on_problem="report")
        return {found["kind"]: found["count"] for found in done["findings"]}
