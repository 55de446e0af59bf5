"""A topic whose records were copied to other partitions is blocked, though the numbers of partitions are equal."""

import itertools
import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Policy
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.by_records import by_records
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.other_partitions import (
    corrected_entries,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.strategy import (
    StrategyInput,
    TranslateOptions,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.cluster_logs import ClusterLogs, learn_both
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import Draft
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Evidence, Plan, PlanEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import (
    CertificateName,
    Copied,
    Reason,
    Verdict,
)
from tests.support.memory_brokers import DESTINATION, SOURCE, MemoryBrokers
from tests.support.strategies import strategy_input

OLD = [10 * number for number in range(40)]  # in turns in partition 0 and partition 1 of the source
NEW = [1000, 1010, 1020, 1030]
LOGS_AT_SOURCE = OLD[0::2] + NEW[0::2], OLD[1::2] + NEW[1::2]


def log(times: t.Iterable[int], contents: t.Callable[[int], object] = int) -> list[Record]:
    """Records of these times; the content of each is told by its time."""
    digests = [(time, f"{contents(time)!s:>16}".encode()) for time in times]
    return [Record(offset, time, digest, digest) for offset, (time, digest) in enumerate(digests)]


class Clusters(MemoryBrokers):
    """Topic `orders` on both sides, whose logs are given by partition."""

    def __init__(self, source: t.Sequence[list[Record]], destination: t.Sequence[list[Record]]) -> None:
        sides = (SOURCE.name, source), (DESTINATION.name, destination)
        super().__init__({(name, at): log for name, logs in sides for at, log in enumerate(logs)})
        self.partitions = [TopicPartition("orders", at) for at in range(len(source))]
        self.looked_up: set[tuple[int, int]] = set()  # partitions and times, at the destination

    def log_of(self, connection: Connection, partition: TopicPartition) -> tuple[str, int]:
        return connection.name, partition.partition

    def lookup(self, log: tuple[str, int], time: int) -> int | None:
        name, partition = log
        if name == DESTINATION.name:
            self.looked_up.add((partition, time))
        return super().lookup(log, time)

    def planned(self, *committed: int | None, previous: Plan | None = None, **policy: t.Any) -> list[PlanEntry]:
        """The entries of a group that has committed these offsets, by partition."""
        return list(by_records(self.given(*committed, previous=previous, **policy)).entries.values())

    def given(self, *committed: int | None, previous: Plan | None = None, **policy: t.Any) -> StrategyInput:
        """What is asked of a group that has committed these offsets, by partition."""
        drafts = [
            Draft("g", TopicPartition("orders", at), "g", TopicPartition("orders", at), CommittedOffset(offset))
            for at, offset in enumerate(committed)
            if offset is not None
        ]
        source, destination = ClusterLogs(SOURCE, with_open=True), ClusterLogs(DESTINATION)
        learn_both(source, self.partitions, destination, self.partitions)
        options = TranslateOptions(policy=Policy(**policy))
        return strategy_input(source, destination, drafts, previous=previous, options=options)


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> t.Callable[..., Clusters]:
    def make(source: t.Sequence[list[Record]], destination: t.Sequence[list[Record]]) -> Clusters:
        its = Clusters(source, destination)
        its.install(monkeypatch)
        return its

    return make


def grown(clusters, new):
    """The destination had one partition when the old records were copied; of the new ones, so many have been copied since."""
    first, second = (NEW[0::2], NEW[1::2]) if new else ((), ())
    return clusters(list(map(log, LOGS_AT_SOURCE)), [log([*OLD, *first]), log(second)])


@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize("committed", [(5, 3), (20, 3), (5, None)])
def test_partitions_that_were_added_after_the_copy(clusters, new, committed):
    for entry in grown(clusters, new).planned(*committed):
        assert (entry.verdict, entry.offset, entry.reason) == (Verdict.BLOCKED, None, Reason.OTHER_PARTITIONS)
        assert "records of orders were copied to other partitions of orders: orders-1 offset" in entry.detail
        assert "name orders in repartitioned" in entry.detail


def test_a_stray_record_is_named(clusters):
    entry, _other = grown(clusters, True).planned(20, 3)
    assert "orders-1 offset 3 is orders-0 offset 7 there" in entry.detail


def test_a_replication_tool_with_another_partitioner(clusters):
    contents = [*OLD, *NEW]
    destination = [log(contents[at::4] + contents[at + 1 :: 4]) for at in (0, 2)]
    reasons = {entry.reason for entry in clusters(list(map(log, LOGS_AT_SOURCE)), destination).planned(10, 10)}
    assert reasons == {Reason.OTHER_PARTITIONS}


def test_a_destination_that_stamps_records_is_compared_as_a_whole(clusters):
    its = grown(clusters, True)
    its.stamps.add(DESTINATION.name)
    for log in [log for log in its.records if log[0] == DESTINATION.name]:
        stamped = [each._replace(timestamp=5000 + each.offset, log_append_time=True) for each in its.records[log]]
        its.records[log] = stamped
    assert {entry.reason for entry in its.planned(5, 3)} == {Reason.OTHER_PARTITIONS}


def test_what_every_group_has_consumed_may_stand_anywhere(clusters):
    for entry, offset in zip(grown(clusters, True).planned(20, 20), (39, 0), strict=True):
        assert (entry.verdict, entry.offset) == (Verdict.EXACT, offset)


def test_records_that_the_replication_tool_leaves_out_are_nowhere(clusters):
    destination = [log(LOGS_AT_SOURCE[0]), log(LOGS_AT_SOURCE[1][:3] + LOGS_AT_SOURCE[1][6:])]
    for entry, offset in zip(clusters(list(map(log, LOGS_AT_SOURCE)), destination).planned(5, 3), (5, 3), strict=True):
        assert (entry.verdict, entry.offset) == (Verdict.EXACT, offset)


def test_other_partitions_are_not_asked_about_records_that_are_where_they_should_be(clusters):
    its = clusters(list(map(log, LOGS_AT_SOURCE)), list(map(log, LOGS_AT_SOURCE)))
    assert [entry.offset for entry in its.planned(5, None)] == [5]
    assert its.looked_up and all(time in LOGS_AT_SOURCE[partition] for partition, time in its.looked_up)


def test_entries_that_are_kept_from_the_last_plan_cost_no_look_up(clusters):
    """Also where what their groups have not consumed is still to come."""
    committed = 700, 900
    long = [[1000 * number + at for number in range(2000)] for at in range(2)]
    its = clusters(list(map(log, long)), [log(times[:end]) for times, end in zip(long, committed, strict=True)])
    first = its.planned(*committed)
    assert [entry.offset for entry in first] == list(committed)
    its.looked_up.clear()
    assert its.planned(*committed, previous=Plan("here", "there", "", tuple(first))) == first
    assert its.looked_up == set()


def test_an_equal_record_of_the_other_partition_is_no_stray(clusters):
    """Heartbeats of all partitions at one time; the replication tool has left some of one partition out."""
    times = [1000 * number for number in range(12)]
    heartbeats = [log(times, contents=lambda _time: "heartbeat") for _partition in range(2)]
    destination = [heartbeats[0], log(itertools.chain(times[:3], times[6:]), contents=lambda _time: "heartbeat")]
    reasons = {entry.reason for entry in clusters(heartbeats, destination).planned(3, 3)}
    assert Reason.OTHER_PARTITIONS not in reasons


def untimed(partition, time):
    """Six records of this time, all different."""
    digests = [f"{partition} {offset}".rjust(16).encode() for offset in range(6)]
    return [Record(offset, time, digest, digest) for offset, digest in enumerate(digests)]


@pytest.mark.parametrize("time", [-1, -62_135_596_800_000])
class TestTimesThatNoBrokerLooksUp:
    """Records without times, or with negative ones, are known by their content."""

    def test_the_replication_tool_lags(self, clusters, time):
        source = [untimed(at, time) for at in range(2)]
        for entry in clusters(source, [copied[:3] for copied in source]).planned(3, 3):
            assert (entry.verdict, entry.offset) == (Verdict.EXACT, 3)

    def test_a_copy_in_another_partition_is_found(self, clusters, time):
        source = [untimed(at, time) for at in range(2)]
        crossed = source[0][:3] + [
            each._replace(offset=at, timestamp=5000 + at) for at, each in enumerate(source[1][3:], 3)
        ]
        for entry in clusters(source, [crossed, source[1][:3]]).planned(3, 3):
            assert (entry.verdict, entry.reason) == (Verdict.BLOCKED, Reason.OTHER_PARTITIONS)


class TestTimesOfItsOwn:
    """A replication tool that is any producer: with a partitioner, and with the current time as timestamp."""

    SIZE = 400

    @pytest.fixture
    def source(self) -> list[list[Record]]:
        """Two partitions of different records."""
        return [log(10 * number + partition for number in range(self.SIZE)) for partition in range(2)]

    def copied(self, clusters, source, partition_of, lag=0) -> Clusters:
        """The records in the order of their times, each to the partition that is named, and later than all of them."""
        destination: list[list[Record]] = [[], []]
        everything = sorted(
            ((each, at) for at, its in enumerate(source) for each in its), key=lambda its: its[0].timestamp
        )
        for now, (record, at) in enumerate(everything[: len(everything) - lag], 1_000_000):
            its = destination[partition_of(record, at)]
            its.append(record._replace(offset=len(its), timestamp=now))
        return clusters(source, destination)

    @pytest.mark.parametrize(
        "partition_of",
        [
            lambda record, _at: record.timestamp // 10 % 3 % 2,
            lambda _record, _at: 0,
            lambda record, at: at if record.timestamp < 3000 else 0,
        ],
        ids=["a partitioner", "all to one", "all to one since lately"],
    )
    @pytest.mark.parametrize("lag", [0, 20])
    def test_records_in_other_partitions_are_found(self, clusters, source, partition_of, lag):
        entries = self.copied(clusters, source, partition_of, lag).planned(300, 100)
        assert {(entry.verdict, entry.reason) for entry in entries} == {(Verdict.BLOCKED, Reason.OTHER_PARTITIONS)}

    @pytest.mark.parametrize(
        ("lag", "committed"), [(0, (300, 100)), (20, (300, 100)), (20, (390, 390)), (0, (400, 400))]
    )
    def test_a_tool_that_keeps_partitions_blocks_nothing(self, clusters, source, lag, committed):
        entries = self.copied(clusters, source, lambda _record, at: at, lag).planned(*committed)
        assert [(entry.verdict, entry.offset) for entry in entries] == [(Verdict.EXACT, offset) for offset in committed]

    def test_nor_does_one_that_has_not_come_to_the_group(self, clusters, source):
        entries = self.copied(clusters, source, lambda _record, at: at, lag=100).planned(360, 100)
        assert [entry.reason for entry in entries] == [Reason.DESTINATION_LAGS, None]

    def of_long_logs(self, its: Clusters, *offsets: int) -> dict[t.Any, PlanEntry]:
        """What becomes of entries that Spark has decided, whose logs are too long to be read here."""
        given = its.given(300, 100, search_limit=100)
        entries = {}
        for (key, draft), offset in zip(given.searched.items(), offsets, strict=True):
            evidence = Evidence(Copied(0, 0, ""), None, ("key", "value"), CertificateName.WHOLE_LOGS)
            entries[key] = draft.entry(Verdict.EXACT, offset, repeats=0, evidence=evidence)
        return {key[1].partition: entry for key, entry in corrected_entries(given, given.searched, entries).items()}

    def test_long_logs_are_looked_at_around_the_offsets(self, clusters, source):
        its = self.copied(clusters, source, lambda _record, at: at, lag=190)
        assert self.of_long_logs(its, 300, 100) == {}

    def test_records_of_other_partitions_there_are_no_exact_offset(self, clusters, source):
        its = self.copied(clusters, source, lambda record, _at: record.timestamp // 10 % 3 % 2)
        corrected = self.of_long_logs(its, 286, 117)
        assert [entry.verdict for entry in corrected.values()] in ([Verdict.SAFE] * 2, [Verdict.BLOCKED] * 2)
        assert {entry.reason for entry in corrected.values()} == {Reason.OTHER_PARTITIONS}


def test_an_equal_record_of_the_other_partition_that_was_aborted_is_no_stray(clusters):
    """The replication tool has copied it, and lags."""
    first, second = log([0, 10, 20, 30, 40]), log([1, 11, 40, 51])
    aborted = second[2]
    its = clusters([first, [*second[:2], second[3]]], [first[:4], second])
    assert {entry.reason for entry in its.planned(2, 2)} == {Reason.OTHER_PARTITIONS}
    its.aborted[SOURCE.name, 1] = [aborted]
    assert [(entry.verdict, entry.offset) for entry in its.planned(4, 2)] == [(Verdict.EXACT, 4), (Verdict.EXACT, 2)]


def test_an_equal_record_of_the_other_partition_that_has_expired_is_no_stray(clusters):
    first, second = log([0, 10, 20, 30, 40]), log([1, 11, 40, 51, 61])
    its = clusters([first, second[3:]], [first[:4], second])
    assert [(entry.verdict, entry.offset) for entry in its.planned(4, 4)] == [(Verdict.EXACT, 4), (Verdict.EXACT, 4)]


def test_what_stands_where_expired_records_stood_is_a_stray_if_later_ones_are_in_their_partition(clusters):
    first, second = log([0, 10, 20, 30, 40, 50]), log([1, 11, 40, 51, 61])
    destination = [log([0, 10, 20, 30, 50]), second]
    its = clusters([first, second[3:]], destination)
    assert {entry.reason for entry in its.planned(4, 4)} == {Reason.OTHER_PARTITIONS}


@pytest.mark.parametrize("keeps_times", [True, False])
def test_strays_that_begin_after_the_first_unconsumed_records_are_found_next_to_the_offsets(clusters, keeps_times):
    """Logs of which little is read: since lately, all records go to the first partition."""
    source = [log(10 * number + partition for number in range(600)) for partition in range(2)]
    destination: list[list[Record]] = [[], []]
    for number in range(1200):
        record = source[number % 2][number // 2]
        copies = destination[number % 2 if number < 800 else 0]
        copies.append(
            record._replace(offset=len(copies), timestamp=record.timestamp if keeps_times else 10_000 + number)
        )
    entries = clusters(source, destination).planned(450, 300)
    assert {(entry.verdict, entry.reason) for entry in entries} == {(Verdict.BLOCKED, Reason.OTHER_PARTITIONS)}
