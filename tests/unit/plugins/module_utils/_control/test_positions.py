"""Brokers name leaders once for look-ups that follow closely, and again if that is old or a leader has changed."""

import io
import types

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import attempts, positions
from ansible_collections.streamshift.kafka.plugins.module_utils._control.abilities import Ability
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.open_clients import keeping
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

CLUSTER = connection_from({"bootstrap_servers": "b1:9092"}, "source cluster")
WHERE = TopicPartition("orders", 0)
OTHER = TopicPartition("orders", 1)
NOT_LEADER_OR_FOLLOWER = 6  # one of the errors that may pass


def answer(*partitions):
    """An answer with these fields for the partitions of orders, by the names that each of the requests has for them."""
    rows = [
        types.SimpleNamespace(**{"partition_index": at, "partition": at, "error_code": 0, **fields})
        for at, fields in enumerate(partitions)
    ]
    topic = types.SimpleNamespace(name="orders", topic="orders", error_code=0, partitions=rows)
    return types.SimpleNamespace(topics=[topic])


class Cluster:
    """Of one partition. leader: whom brokers name. Another broker refuses to tell where the log ends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.leader, self.described, self.now = 1, 0, 1000.0
        monkeypatch.setattr(attempts, "connect", lambda _connection: io.StringIO())
        monkeypatch.setattr(attempts.time, "sleep", lambda _seconds: None)
        monkeypatch.setattr(positions, "monotonic", lambda: self.now)
        monkeypatch.setattr(positions, "request_metadata", self._describe)
        monkeypatch.setattr(positions, "exchange", self._answer)

    def _describe(self, _client, _names):
        self.described += 1
        return answer({"leader_id": self.leader})

    def _answer(self, _client, requests):
        codes = [0 if request.node == self.leader else NOT_LEADER_OR_FOLLOWER for request in requests]
        return [answer({"error_code": code, "offset": self.leader}) for code in codes]

    def end(self) -> int:
        return positions.partition_bounds(CLUSTER, [WHERE])[WHERE].end


def test_leaders_are_asked_for_once_and_again_when_that_is_old_or_they_have_changed(monkeypatch):
    cluster = Cluster(monkeypatch)
    with keeping():
        assert (cluster.end(), cluster.end(), cluster.described) == (1, 1, 1)
        cluster.now += positions._FRESH_SECONDS + 1
        assert (cluster.end(), cluster.described) == (1, 2)
        cluster.leader = 2
        assert (cluster.end(), cluster.described) == (2, 3)


class Segments:
    """The times of one partition, a list for each segment, and the time up to which each seems to have records."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *segments: tuple[int, list[int]], tells_latest: bool = True):
        self.segments = segments
        self.coming: list[int] = []
        self.asked: list[int] = []
        monkeypatch.setattr(attempts, "connect", lambda _connection: io.StringIO())
        monkeypatch.setattr(positions, "can", lambda _client, ability: tells_latest and ability is Ability.LATEST_TIMES)
        monkeypatch.setattr(positions, "partition_leaders", lambda *_given: {WHERE: 1})
        monkeypatch.setattr(positions, "exchange", lambda _client, requests: [self._answer(each) for each in requests])

    def _answer(self, request):
        (time,) = [row["timestamp"] for topic in request.fields["topics"] for row in topic["partitions"]]
        self.asked.append(time)
        # An older version takes the latest time for a time like others.
        assert request.lowest == (7 if time == positions.LATEST_TIME else 1)
        if time == positions.LATEST_TIME:
            self.segments[-1][1].extend(self.coming)
        offset, latest = self._found(time)
        return answer({"offset": offset, "timestamp": latest})

    def _found(self, time):
        if time == positions.LATEST_TIME:
            return -1, max((each for _latest, times in self.segments for each in times), default=-1)
        begin = 0
        for latest, times in self.segments:
            if max([latest, *times]) >= time:
                return next((begin + at for at, each in enumerate(times) if each >= time), -1), -1
            begin += len(times)
        return -1, -1

    def first(self, time):
        refused: set[TopicPartition] = set()
        return positions.lookup_all_times(CLUSTER, [(WHERE, time)], refused).get((WHERE, time), refused)


def test_a_time_that_an_emptied_segment_hides_is_refused_and_others_are_found(monkeypatch):
    log = Segments(monkeypatch, (500, []), (0, [100, 600]))
    assert log.first(50) == log.first(100) == {WHERE}
    assert log.first(501) == 1
    assert log.first(601) is None


def test_only_a_look_up_that_finds_nothing_is_held_against_the_latest_time(monkeypatch):
    log = Segments(monkeypatch, (0, [100, 200]))
    assert (log.first(150), log.asked) == (1, [150])
    assert (log.first(201), log.asked) == (None, [150, 201, positions.LATEST_TIME])


def test_a_record_that_comes_meanwhile_is_found(monkeypatch):
    log = Segments(monkeypatch, (0, [100]))
    log.coming = [300]
    assert (log.first(300), log.asked) == (1, [300, positions.LATEST_TIME, 300])


def test_older_brokers_are_believed(monkeypatch):
    log = Segments(monkeypatch, (500, []), (0, [100]), tells_latest=False)
    assert (log.first(50), log.asked) == (None, [50])


class Client(io.StringIO):
    """Of brokers that offer OffsetForLeaderEpoch up to a version."""

    def __init__(self, highest: int) -> None:
        super().__init__()
        self.offered_versions = {23: (0, highest)}


class Epochs(Cluster):
    """Two partitions with leaders of their own, who tell where epochs end. ends: what they say; errors: their codes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, highest: int = 4) -> None:
        super().__init__(monkeypatch)
        monkeypatch.setattr(attempts, "connect", lambda _connection: Client(highest))
        self.ends: dict[tuple[int, int], int] = {}
        self.errors: list[int] = []
        self.requests: list[tuple[int, dict[int, int]]] = []

    def _describe(self, _client, _names):
        return answer({"leader_id": 1}, {"leader_id": 2})

    def _answer(self, _client, requests):
        return [self._told(request) for request in requests]

    def _told(self, request):
        assert (request.name, request.lowest, request.fields["replica_id"]) == ("OffsetForLeaderEpoch", 3, -1)
        (topic,) = request.fields["topics"]
        asked = {row["partition"]: row["leader_epoch"] for row in topic["partitions"]}
        self.requests.append((request.node, asked))
        code = self.errors.pop() if self.errors else 0
        return answer(
            *(
                {"partition": number, "error_code": code, "end_offset": self.ends.get((number, epoch), -1)}
                for number, epoch in asked.items()
            )
        )


def test_the_ends_of_epochs_take_one_request_a_leader_but_for_other_epochs_of_a_partition(monkeypatch):
    cluster = Epochs(monkeypatch)
    cluster.ends = {(0, 5): 80, (1, 5): 7, (0, 6): 200}
    found = positions.epoch_ends(CLUSTER, {(WHERE, 5), (OTHER, 5), (WHERE, 6), (WHERE, 9)})
    assert found == {(WHERE, 5): 80, (OTHER, 5): 7, (WHERE, 6): 200}  # nobody knows epoch 9
    assert sorted((node, list(asked.items())) for node, asked in cluster.requests) == [
        (1, [(0, 5)]), (1, [(0, 6)]), (1, [(0, 9)]), (2, [(1, 5)]),
    ]  # fmt: skip


def test_brokers_that_do_not_tell_the_ends_of_epochs_are_not_asked(monkeypatch):
    cluster = Epochs(monkeypatch, highest=2)
    assert (positions.epoch_ends(CLUSTER, {(WHERE, 5)}), cluster.requests) == ({}, [])


def test_a_leader_that_has_changed_is_asked_again_for_the_ends_of_epochs(monkeypatch):
    cluster = Epochs(monkeypatch)
    cluster.ends, cluster.errors = {(0, 5): 80}, [NOT_LEADER_OR_FOLLOWER]
    assert (positions.epoch_ends(CLUSTER, {(WHERE, 5)}), len(cluster.requests)) == ({(WHERE, 5): 80}, 2)


@pytest.mark.parametrize("codes", [(NOT_LEADER_OR_FOLLOWER, 3), (3, NOT_LEADER_OR_FOLLOWER)])
def test_a_broker_that_does_not_know_a_partition_yet_does_not_make_a_topic_missing(monkeypatch, codes):
    """One partition has another leader now, and one is not known to its leader yet: both are asked for again."""
    Cluster(monkeypatch)
    tries = []

    def tell(_client, requests):
        tries.append(requests)
        said = [{"error_code": code, "offset": 7} for code in (codes if len(tries) == 1 else (0, 0))]
        return [answer(*said) for _each in requests]

    leaders = answer({"leader_id": 1}, {"leader_id": 1})
    monkeypatch.setattr(positions, "request_metadata", lambda *_asked: leaders)
    monkeypatch.setattr(positions, "exchange", tell)
    found = positions.partition_bounds(CLUSTER, [WHERE, OTHER])
    assert [bounds.end for bounds in found.values()] == [7, 7]
