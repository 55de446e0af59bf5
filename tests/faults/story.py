"""One migration from its snapshot to its end, every step of which suffers faults. A seed draws all of it."""

import random
import traceback
import typing as t
from pathlib import Path

from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import partition_bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from testbed import clients
from tests.faults import judge
from tests.faults.bed import Bed
from tests.faults.judge import Harm, Wanted, numbered
from tests.faults.shares import Share
from tests.faults.suffering import Step, Sufferer
from tests.faults.tally import Tally
from tests.support.consumers import member
from tests.support.modules import Migration, Result
from tests.support.situations import COMMITS, SITUATIONS, Copy, owned_topic
from tests.support.sparkless import sparkless

PARTITIONS, RECORDS = 3, 1200  # of each partition
GROUPS = 2
PLACES = 3  # before the first, in the middle, at the end
COPIES_FOR = {False: 25.0, True: 25.0}  # seconds, without and with Spark
SETTINGS: dict[str, str | int] = {"retention_ms": 31 * 86_400_000, "cleanup_policy": "delete"}


class Source(t.NamedTuple):
    """The topic that every migration copies from its own offsets on, and the one of the ordered situations."""

    topic: str
    records: Wanted
    owned: str


def filled(bed: Bed) -> Source:
    """A topic with plain records, and a partition whose records came in transactions, one in three of them aborted."""
    topic = "orders"
    clients.create_topic(bed.source, topic, PARTITIONS, **SETTINGS)
    for partition in range(PARTITIONS - 1):
        clients.produce(bed.source, topic, numbered(partition, RECORDS))
    its = list(numbered(PARTITIONS - 1, RECORDS))
    pieces = [its[at : at + 100] for at in range(0, RECORDS, 100)]
    gone = [each._replace(value=b"aborted") for each in its[:50]]
    clients.produce_in_transactions(
        bed.source, topic, [each for piece in pieces for each in ((piece, True), (gone, False))]
    )
    return Source(
        topic, {at: clients.read(bed.source, topic, [at]) for at in range(PARTITIONS)}, owned_topic(bed.source, "owned")
    )


class Story:
    """A migration of its own groups, to a topic of its own. spark: whether Spark copies and verifies."""

    def __init__(
        self, bed: Bed, source: Source, tally: Tally, seed: int, folder: Path, spark: bool, share: Share
    ) -> None:
        self.bed, self.source, self.tally, self.spark, self.share = bed, source, tally, spark, share
        folder.mkdir(parents=True)
        self.under = Sufferer(bed, tally, seed, folder, share)
        self.to = f"orders-{seed}"
        self.groups = [f"group-{seed}-{number}" for number in range(GROUPS)]
        self.migration = Migration(folder / "migration", bed.source, bed.destination)
        chance = random.Random(seed)
        ends = {at: its[-1].offset + 1 for at, its in source.records.items()}
        self.commits = [
            {at: chance.choice([0, chance.randrange(end), end]) if chance.random() < 0.3 else chance.randrange(end // 3)
             for at, end in ends.items()}
            for _group in self.groups
        ]  # fmt: skip
        starts = {at: min(commits[at] for commits in self.commits) for at in ends}
        self.wanted = {
            at: [record for record in its if record.offset >= starts[at]] for at, its in source.records.items()
        }
        self.before: list[dict[int, int]] = [{} for _group in self.groups]
        self.is_made_before = chance.random() < 0.4
        self.others: set[str] = set()
        self.planned: list[dict[int, int]] = []
        self.plain: dict[str, Result] = {}

    def play(self) -> None:
        """All of its steps. What is wrong is in the tally."""
        self._prepare()
        share, under = self.share, self.under
        if share.situations and under.story % share.situations == 1 % share.situations:
            self._situation(under.story // share.situations)
        if not share.copy:
            return
        under.calmly(self._snapshot())
        under.suffer(self._snapshot(), share.quick)
        under.calmly(self._preview())
        under.suffer(self._preview(), 1)
        if under.suffer(self._copy(), share.copy) is None:
            return
        self.planned = self._must_stand()
        under.suffer(self._translation(), share.quick)
        under.suffer(self._verification(), share.quick)
        for _time in range(share.cycles):
            under.suffer(self._commit(), share.cycles)
            under.suffer(self._rollback(), share.cycles)
        under.suffer(self._commit(), 1)
        self._consume()
        under.suffer(self._settings_back(), 1)
        self._look_for_leftovers()
        self._remove()

    def _prepare(self) -> None:
        self.others = set(clients.list_groups(self.bed.destination))
        for group, commits in zip(self.groups, self.commits, strict=True):
            clients.commit(self.bed.source, group, {(self.source.topic, at): offset for at, offset in commits.items()})
        if self.is_made_before:
            clients.create_topic(self.bed.destination, self.to, PARTITIONS, **SETTINGS)
            self.before[0] = dict.fromkeys(range(PARTITIONS), 0)
            clients.commit(
                self.bed.destination, self.groups[0], dict.fromkeys(((self.to, at) for at in range(PARTITIONS)), 0)
            )

    def _situation(self, number: int) -> None:
        """One of those that are ordered, the next one each time, at a moment that the seed draws."""
        names = list(SITUATIONS)
        name = names[number % len(names)]
        to = f"owned-{self.under.story}"
        folder = self.migration.directory.parent / "situation"  # its copies are not this migration's
        folder.mkdir()
        fault = self.tally.fault(name, "copy", self.under.story)
        self.tally.say(f"{fault.number:4} copy: {name}")
        try:
            with sparkless():
                SITUATIONS[name](
                    lambda directory: Copy(
                        folder / directory, self.bed.source, self.bed.destination, self.source.owned, to, COMMITS
                    ),
                    random.Random(self.under.story),
                )
        except Exception:  # noqa: BLE001  whatever it is, the situation is not as it must be
            self.tally.violated([fault], "other", traceback.format_exc(limit=-8), self.under.story, "copy")
        else:
            self.tally.came([fault], "mended by re-run")
        clients.delete_topic(self.bed.destination, to)
        clients.delete_groups(self.bed.destination, self._progress_groups())

    def _snapshot(self) -> Step:
        return Step("snapshot", lambda via: self.migration.snapshot(*self.groups, via=via), done=self._same("snapshot"))

    def _preview(self) -> Step:
        """The copy in check mode."""

        def nothing_is_there() -> Harm:
            if self.migration.copy_file.exists() or self._progress_groups():
                return Harm(other=1, example="check mode has left something")
            return Harm()

        return Step(
            "plan", lambda via: self._backlog(via, check=True), always=nothing_is_there,
            done=self._same("preview"), again=False,
        )  # fmt: skip

    def _copy(self) -> Step:
        size = sum(len(each.key or b"") + len(each.value or b"") for its in self.wanted.values() for each in its)
        limit = max(1, int(size / COPIES_FOR[self.spark]))
        return Step(
            "copy", lambda via: self._backlog(via, max_bytes_per_second=limit),
            always=lambda: judge.records(self.bed.destination, self.to, self.wanted, complete=False)
            if self._is_there() else Harm(),
            done=self._copied, faults=15, spark=self.spark, copies=True,
        )  # fmt: skip

    def _translation(self) -> Step:
        return Step(
            "plan",
            lambda via: self.migration.translate(
                via, plan=str(self.migration.directory / "translated.json"), topic_map=self._topic_map()
            ),
            done=self._same("translation"),
        )

    def _verification(self) -> Step:
        on_spark = {"copy": str(self.migration.copy_file), "limit": 0, "spark": {"master": "local[2,4]"}}
        more = on_spark if self.spark else {}
        return Step(
            "verification",
            lambda via: self.migration.verify(via, receipt=None, method="records", **more),
            done=self._same("verification"), spark=self.spark,
        )  # fmt: skip

    def _commit(self) -> Step:
        return Step(
            "commit", self.migration.commit,
            always=lambda: self._standing([self.before, self.planned], mixed=True),
            done=lambda _result: self._standing([self.planned]),
        )  # fmt: skip

    def _rollback(self) -> Step:
        return Step(
            "rollback", lambda via: self.migration.roll_back(via, on_rewind="rewind"),
            always=lambda: self._standing([self.before, self.planned], mixed=True),
            done=lambda _result: self._standing([self.before]),
        )  # fmt: skip

    def _settings_back(self) -> Step:
        """When every group is past the backlog."""

        def given_back(result: Result) -> Harm:
            its = clients.topic_settings(self.bed.destination, self.to)
            # The topic was created with what its replicas can meet at a destination of three brokers.
            its.pop("min.insync.replicas", None)
            if result["suspended"] or its != clients.topic_settings(self.bed.source, self.source.topic):
                return Harm(other=1, example=f"settings are not back: {its}")
            return Harm()

        return Step("settings back", self._backlog, done=given_back)

    def _backlog(self, via: t.Callable[..., t.Any], **options: t.Any) -> t.Any:
        return self.migration.backlog(via, topic_map=self._topic_map(), **options)

    def _topic_map(self) -> list[dict[str, str]]:
        return [{"name": self.source.topic, "to": self.to}]

    def _same(self, name: str) -> t.Callable[[Result], Harm]:
        """Whatever a step says the first time it says whenever it succeeds, but for how much it had to read for that."""
        free = ("changed", "diff", "warnings", "notes", "note_kinds", "records_read")

        def compared(result: Result) -> Harm:
            its = {key: value for key, value in result.items() if key not in free}
            first = self.plain.setdefault(name, its)
            wrong = [key for key in first if first[key] != its.get(key)]
            text = f"{name} says otherwise: {[(key, first[key], its.get(key)) for key in wrong]}"
            return Harm(other=1, example=text) if wrong else Harm()

        return compared

    def _copied(self, result: Result) -> Harm:
        harm = judge.records(self.bed.destination, self.to, self.wanted, complete=True)
        must = self._must_stand()
        its: list[dict[int, int]] = [{} for _group in self.groups]
        for entry in result["entries"]:
            its[self.groups.index(entry["group"])][entry["partition"]] = entry["offset"]
        if not harm and its != must:
            return Harm(misplaced=1, example=f"the plan says {its}, and the groups must stand at {must}")
        where = [TopicPartition(self.to, at) for at in range(PARTITIONS)]
        bounds = partition_bounds(connection_from({"bootstrap_servers": self.bed.destination.bootstrap_servers}), where)
        if not harm and any(each.end != each.high_watermark for each in bounds.values()):
            return Harm(other=1, example="a transaction is open")
        return harm

    def _must_stand(self) -> list[dict[int, int]]:
        return [judge.places(self.bed.destination, self.to, self.wanted, commits) for commits in self.commits]

    def _standing(self, allowed: t.Sequence[t.Sequence[dict[int, int]]], mixed: bool = False) -> Harm:
        harms = (
            judge.standing(self.bed.destination, self.to, group, [state[number] for state in allowed], mixed=mixed)
            for number, group in enumerate(self.groups)
        )
        return next((harm for harm in harms if harm), Harm())

    def _consume(self) -> None:
        """As the groups do at the destination: each gets what it has not consumed, and is at the end then."""
        for group, commits in zip(self.groups, self.commits, strict=True):
            stands = judge.of_topic(clients.committed(self.bed.destination, group), self.to)
            got = clients.read(self.bed.destination, self.to, start=stands)
            its = {at: [each for each in wanted if each.offset >= commits[at]] for at, wanted in self.wanted.items()}
            if [each[2:] for each in got] != [each[2:] for at in sorted(its) for each in its[at]]:
                self.tally.violated([], "lost", f"{group} does not get its records", self.under.story, "commit")
            with member(self.bed.destination, group, [self.to]):
                pass

    def _look_for_leftovers(self) -> None:
        self.under.left()
        if names := self._progress_groups():
            self.tally.violated([], "leftovers", f"groups {names}", self.under.story, "settings back")

    def _progress_groups(self) -> list[str]:
        names = set(clients.list_groups(self.bed.destination)) - self.others
        return sorted(name for name in names if name.startswith("streamshift-"))

    def _is_there(self) -> bool:
        return self.to in clients.list_topics(self.bed.destination)

    def _remove(self) -> None:
        for side in (self.bed.source, self.bed.destination):
            clients.delete_groups(side, self.groups)
        clients.delete_topic(self.bed.destination, self.to)
