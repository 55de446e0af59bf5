"""A plan stays as it is while nothing has happened, and copies that keep offsets are compared before they are believed."""

import dataclasses
import functools
import typing as t
from unittest import mock

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import clusters
from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Policy
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import expected
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning import by_mirror_maker, settling
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.mirror_index import MirrorIndex
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.strategy import (
    TranslateOptions,
    Translation,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.translate import (
    STRATEGIES,
    translate,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model import option_names
from ansible_collections.streamshift.kafka.plugins.module_utils._model import plan as plans
from ansible_collections.streamshift.kafka.plugins.module_utils._model.cluster_identity import LogRange, Traits
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import Mapping, Prefixes, Rule
from ansible_collections.streamshift.kafka.plugins.module_utils._model.match_on import MatchOn
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan, PlanEntry, Verification
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import (
    OnConflict,
    OnExpired,
    OnNewRecords,
    OnUncommitted,
    Strategy,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Receipt, ReceiptEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.replication_policy import ReplicationPolicy
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import Snapshot, SnapshotEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.topic_plan import TopicChange, TopicPlan
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict, Way
from tests.support.identities import known_by_id
from tests.support.memory_brokers import DESTINATION, ORDERS, SOURCE, MemoryBrokers

IDENTICAL = TranslateOptions(strategy=Strategy.IDENTICAL)
MIRROR = ReplicationPolicy("src", "dst", "identity")
SAME_NAMES = Mapping()
RENAMED = Mapping(group_rules=(Rule("billing-v2", name="billing"),))
MERGED = Mapping(group_rules=(Rule("one", pattern="[abc]"),))


def snapshot(
    commits: int | dict[str, int], cluster_id: str | None = "source cluster-id", **ids: str | None
) -> Snapshot:
    """What these groups have committed on the topic; a number is billing's. ids: of topics."""
    offsets = {"billing": commits} if isinstance(commits, int) else commits
    entries = tuple(SnapshotEntry(name, ORDERS, CommittedOffset(at, "m", 5)) for name, at in offsets.items())
    return Snapshot(cluster_id, (), entries, Traits(topic_ids=ids))


class World(MemoryBrokers):
    """Two clusters with one topic, where records have equal offsets on both."""

    def __init__(self) -> None:
        self.ids = {"source cluster": "source cluster-id", "destination cluster": "destination cluster-id"}
        self.counts = {"source cluster": 1, "destination cluster": 1}  # of partitions; 0 where the topic is missing
        self.committed: CommittedOffset | None = None
        self.bounds = Bounds(0, 20, 20)
        super().__init__({side: [record(offset) for offset in range(20)] for side in self.ids})

    def cluster_id(self, connection: Connection) -> str:
        return self.ids[connection.name]

    def check_exist(self, connection: Connection, partitions: t.Iterable[TopicPartition]) -> None:
        """A broker says nothing of partitions that it does not have."""
        assert all(each.partition < self.counts[connection.name] for each in partitions)

    def partition_counts(self, connection: Connection, names: t.Collection[str]) -> dict[str, int]:
        count = self.counts[connection.name]
        return dict.fromkeys(names, count) if count else {}

    def bounds_of(self, _name: str) -> Bounds:
        return self.bounds

    def read_groups(self, _connection: Connection, names: t.Iterable[str]) -> dict[str, GroupReading]:
        offsets = {} if self.committed is None else {ORDERS: self.committed}
        return {name: GroupReading(name, True, "Empty", "classic", "", dict(offsets)) for name in names}


def record(offset: int, content: bytes | None = None, timestamp: int | None = None) -> Record:
    digest = content or b"record %9d" % offset
    return Record(offset, offset if timestamp is None else timestamp, digest, digest)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    its = World()
    its.install(monkeypatch)
    monkeypatch.setattr(expected, "groups", its)
    its.identities = known_by_id(monkeypatch, its.cluster_id, its.partition_counts)
    return its


def translated(
    previous: Plan | None = None,
    receipt: Receipt | None = None,
    offset: int = 7,
    taken: Snapshot | None = None,
    mapping: Mapping = SAME_NAMES,
    **options: t.Any,
) -> Translation:
    """By default, of an offset of billing, which keeps its names, by strategy identical."""
    wanted = dataclasses.replace(IDENTICAL, **options)
    return translate(taken or snapshot(offset), SOURCE, DESTINATION, mapping, wanted, previous, receipt)


def planned(*earlier: t.Any, **more: t.Any) -> Plan:
    return translated(*earlier, **more).plan


def kept(previous: Plan, **more: t.Any) -> int:
    return translated(previous, **more).kept


def in_one_cluster(world: World, topic_id: str | None = "one") -> None:
    world.ids["destination cluster"] = "source cluster-id"
    world.identities.traits["source cluster-id"] = Traits(topic_ids={"orders": topic_id}, logs={"orders": (None,)})


def migrated(before: int | None, written: int, after: int | None) -> Receipt:
    commits = [None if each is None else CommittedOffset(each, "m") for each in (before, written, after)]
    return Receipt("destination cluster-id", (ReceiptEntry("billing", ORDERS, *commits),))


def test_every_strategy_that_a_user_may_choose_is_there():
    assert set(STRATEGIES) == set(Strategy) - {Strategy.RESET}


def test_a_plan_expects_what_stands_at_the_destination(world):
    assert planned().entries[0].expected is None
    world.committed = CommittedOffset(3)
    assert planned().entries[0].expected == CommittedOffset(3)


def test_a_plan_tells_which_source_topics_are_copies_of_the_destinations_own(world):
    made = planned(mapping=Mapping(prefixes=Prefixes("onprem.", "cloud.", ".")))
    assert [made.is_own_copy(topic) for topic in ("cloud.orders", "orders")] == [True, False]
    assert not planned().is_own_copy("cloud.orders")
    # A return does not take the topics that groups were migrated to for copies that grow anyway.
    back = Mapping(prefixes=Prefixes("cloud.", "onprem.", "."))
    assert not planned(mapping=back, on_new_records=OnNewRecords.LEAVE).is_own_copy("onprem.orders")


def test_an_uncommitted_partition_where_the_destination_has_a_commit_is_told(world):
    world.counts = dict.fromkeys(world.counts, 2)
    other = SnapshotEntry("billing", ORDERS._replace(partition=1), CommittedOffset(7))

    def detail() -> str:
        entries = planned(taken=Snapshot("source cluster-id", (), (other,))).entries
        (uncommitted,) = (entry for entry in entries if entry.verdict is Verdict.UNCOMMITTED)
        return uncommitted.detail

    assert detail().endswith("left alone (on_uncommitted: ignore)")
    world.committed = CommittedOffset(3)
    assert detail().endswith("; consumers start at what the group has committed at the destination")


@pytest.mark.parametrize(
    ("found", "receipt", "stays"),
    [
        pytest.param(None, None, True, id="nothing has happened"),
        pytest.param(7, migrated(None, 7, 7), True, id="committed since"),
        pytest.param(7, migrated(None, 7, None), True, id="committed since, and killed"),
        pytest.param(9, migrated(None, 7, 7), True, id="committed and consumed since"),
        pytest.param(3, None, False, id="somebody has committed"),
        pytest.param(3, migrated(None, 7, 7), False, id="somebody has rewound what was committed"),
        pytest.param(9, migrated(None, 7, None), False, id="somebody has committed before a killed run did"),
        pytest.param(9, migrated(None, 5, 5), False, id="it was committed elsewhere"),
        pytest.param(7, dataclasses.replace(migrated(None, 7, 7), cluster_id="other"), False, id="in another cluster"),
    ],
)
def test_a_plan_stays_as_it_is_and_expects_anew_what_no_receipt_explains(world, found, receipt, stays):
    first = planned()
    world.committed = None if found is None else CommittedOffset(found, "m")
    second = planned(first, receipt)
    assert (second == first) is stays
    assert second.entries[0].expected == (None if stays else world.committed)


@pytest.mark.parametrize("evidence", [{"way": Way.COUNT, "doubt": "it was not clear"}, {"way": None, "doubt": ""}])
def test_a_decision_that_has_come_by_another_way_is_the_same(world, evidence):
    first = planned(offset=99)
    (entry,) = first.entries
    assert entry.verdict is Verdict.BLOCKED, "an exact entry is kept, and not decided anew"
    other = dataclasses.replace(entry, evidence=entry.evidence._replace(**evidence))
    earlier = dataclasses.replace(first, entries=(other,))
    assert planned(earlier, offset=99) == earlier


def test_a_new_decision_expects_what_stands_there_now(world):
    first = planned()
    world.committed = CommittedOffset(7, "m")
    second = planned(first, migrated(None, 7, 7), offset=8)
    assert (second.entries[0].offset, second.entries[0].expected) == (8, CommittedOffset(7, "m"))


def test_equal_records_at_equal_offsets_prove_a_copy_that_keeps_offsets(world):
    entry = planned().entries[0]
    assert (entry.verdict, entry.offset, entry.metadata, entry.leader_epoch) == (Verdict.EXACT, 7, "m", None)
    before, after = entry.evidence.before, entry.evidence.after
    assert before and after and (before.source, after.source) == (6, 7)


@pytest.mark.parametrize("where", [8, 19], ids=["beside the offset", "where equal records end"])
def test_records_that_differ_refute_it(world, where):
    if where == 19:
        for records in world.records.values():
            records[1:19] = [record(at, b"equal content...", 1) for at in range(1, 19)]
    world.records["destination cluster"][where] = record(where, b"something else..")
    entry = planned().entries[0]
    assert (entry.verdict, entry.reason, entry.offset) == (Verdict.BLOCKED, Reason.OFFSETS_DIFFER, None)
    assert "use strategy records" in entry.detail


def test_only_what_match_on_names_is_compared(world):
    world.records["destination cluster"] = [
        record(each.offset, timestamp=1) for each in world.records["destination cluster"]
    ]
    assert planned().entries[0].verdict is Verdict.BLOCKED
    entry = planned(match_on=MatchOn.of(["key", "value"]), policy=Policy(with_timestamp=False)).entries[0]
    assert (entry.verdict, entry.evidence.matched_by) == (Verdict.EXACT, ("key", "value"))


@pytest.fixture
def mirrored_log(world: World) -> World:
    """A tool that keeps offsets has copied 200 records; each fifth offset is that of a marker."""
    world.bounds_of = functools.partial(MemoryBrokers.bounds_of, world)
    for side in world.ids:
        world.records[side] = [record(offset) for offset in range(200) if offset % 5 != 4]
    return world


def cut(world: World, side: str, start: int, end: int) -> None:
    side = f"{side} cluster"
    world.records[side] = [each for each in world.records[side] if start <= each.offset < end]


@pytest.mark.parametrize(("committed", "last"), [(151, 150), (150, 148)])
def test_kept_offsets_that_are_still_to_come_are_waited_for(mirrored_log, monkeypatch, committed, last):
    whole = mirrored_log.records["destination cluster"]
    cut(mirrored_log, "destination", 0, 119)
    (entry,) = planned(offset=committed).entries
    assert (entry.verdict, entry.reason, entry.lossless) == (Verdict.BLOCKED, Reason.DESTINATION_LAGS, 119)
    assert f"the last consumed record, source offset {last}, is not at the destination" in entry.detail
    arrives = mock.Mock(side_effect=lambda _s: mirrored_log.records.update({"destination cluster": whole}))
    monkeypatch.setattr(settling.time, "sleep", arrives)
    (entry,) = planned(offset=committed, wait_for_replication=60).entries
    assert (entry.verdict, entry.offset) == (Verdict.EXACT, committed)
    arrives.assert_called_once()


def test_kept_offsets_lag_whatever_retention_has_deleted_and_however_far_the_last_consumed_record_is(mirrored_log):
    records = mirrored_log.records
    records["source cluster"] = [each for each in records["source cluster"] if not 125 < each.offset < 150]
    for side, end in (("source", 200), ("destination", 120)):
        cut(mirrored_log, side, 90, end)
    (entry,) = planned(offset=150).entries
    assert (entry.reason, entry.lossless) == (Reason.DESTINATION_LAGS, 119)
    assert "source offset 125, is not at the destination, and none after it; wait" in entry.detail


@pytest.mark.parametrize("stamped", [False, True])
@pytest.mark.parametrize(("committed", "records"), [(0, 40), (20, 24)])
def test_kept_offsets_whose_records_the_destination_alone_has_deleted_are_absent(
    mirrored_log, stamped, committed, records
):
    cut(mirrored_log, "destination", 50, 200)
    if stamped:
        mirrored_log.stamps.add("destination cluster")
        mirrored_log.records["destination cluster"] = [
            each._replace(timestamp=10**9 + each.offset, log_append_time=True)
            for each in mirrored_log.records["destination cluster"]
        ]
    (entry,) = planned(offset=committed).entries
    assert (entry.offset, entry.absent.records, entry.absent.source) == (50, records, committed)
    assert "no other is skipped" not in entry.detail


def test_only_a_destination_that_goes_with_the_source_lags(mirrored_log):
    cut(mirrored_log, "destination", 0, 119)
    assert planned(offset=201).entries[0].reason is Reason.BEYOND_END, "at the source as well"
    mirrored_log.records["destination cluster"] = [record(offset, b"other %9d" % offset) for offset in range(119)]
    assert planned(offset=150).entries[0].reason is Reason.OFFSETS_DIFFER
    mirrored_log.records["destination cluster"] = []
    assert planned(offset=150).entries[0].reason is Reason.DESTINATION_LAGS


@pytest.mark.parametrize("committed", [100, 101, 150, 199])
def test_what_only_the_source_has_lost_does_not_keep_offsets_from_being_kept(mirrored_log, committed):
    cut(mirrored_log, "source", 100, 200)
    cut(mirrored_log, "destination", 90, 200)
    (entry,) = planned(offset=committed).entries
    assert (entry.verdict, entry.offset, entry.repeats) == (Verdict.EXACT, committed, 0)
    assert (entry.evidence.before is None) == (committed in (100, 150)), (
        "no record that the source has lost, and no marker"
    )


def test_kept_offsets_stay_proved_when_the_source_has_lost_them_since(mirrored_log):
    first = planned(offset=51)
    cut(mirrored_log, "source", 100, 200)
    assert kept(first, offset=51) == 1
    (entry,) = planned(offset=51).entries
    assert (entry.verdict, entry.reason) == (Verdict.BLOCKED, Reason.OFFSETS_DIFFER)
    assert "it has expired at the source, whose log starts at 100; use strategy records" in entry.detail


def test_kept_offsets_stay_proved_when_the_source_has_lost_all_and_a_marker_is_last(mirrored_log):
    starts = dict.fromkeys(mirrored_log.ids, 0)
    mirrored_log.bounds_of = lambda log: Bounds(starts[log], 200, 200)
    first = planned(offset=199)
    starts["source cluster"] = 200
    cut(mirrored_log, "source", 200, 200)
    assert kept(first, offset=199) == 1


@pytest.mark.parametrize("search_limit", [100, 10])
def test_kept_offsets_read_no_more_than_search_limit(world, search_limit):
    world.bounds_of = functools.partial(MemoryBrokers.bounds_of, world)
    cut(world, "destination", 3, 20)
    (entry,) = planned(offset=0, policy=Policy(search_limit=search_limit)).entries
    assert entry.absent and (entry.absent.records, entry.absent.exactly) == (3, search_limit > 20)


def test_what_both_logs_have_must_be_the_same_where_the_source_has_lost_records(mirrored_log):
    whole = mirrored_log.records["destination cluster"]
    cut(mirrored_log, "source", 100, 200)
    cut(mirrored_log, "destination", 90, 200)
    assert planned(offset=95).entries[0].reason is Reason.OFFSETS_DIFFER, "what is unconsumed was lost"
    mirrored_log.records["destination cluster"] = [
        record(each.offset, b"other %9d" % each.offset if each.offset < 103 else None) for each in whole
    ]
    assert planned(offset=150).entries[0].reason is Reason.OFFSETS_DIFFER
    mirrored_log.records["destination cluster"] = whole
    cut(mirrored_log, "source", 196, 200)
    assert planned(offset=198).entries[0].reason is Reason.OFFSETS_DIFFER, "few tell nothing"


@pytest.mark.parametrize("is_cut_off", [False, True])
def test_inside_one_cluster_an_offset_and_its_epoch_are_kept(world, is_cut_off):
    """Where the log was cut off after an election, its consumers find that out, as they do under the old name."""
    if is_cut_off:
        world.epochs[ORDERS, 5] = 4
    in_one_cluster(world)
    (entry,) = planned(taken=snapshot(7, orders="one"), mapping=RENAMED).entries
    assert (entry.group, entry.verdict, entry.target) == ("billing-v2", Verdict.EXACT, CommittedOffset(7, "m", 5))
    assert entry.evidence.certificate == "same_log"


@pytest.mark.parametrize(
    ("name", "restores"),
    [
        pytest.param("billing", True, id="a backup"),
        pytest.param("billing-v2", True, id="a backup for another group"),
        pytest.param("billing-v2", False, id="a clone"),
    ],
)
@pytest.mark.parametrize(
    ("then", "now"),
    [
        pytest.param({}, "one", id="CSV"),
        pytest.param({"orders": None}, "one", id="a backup of brokers before 2.8"),
        pytest.param({}, None, id="brokers before 2.8, still"),
        pytest.param({"orders": "one"}, "one", id="known"),
    ],
)
def test_inside_one_cluster_an_offset_is_exact_only_where_the_id_of_its_topic_is_known(
    world, name, restores, then, now
):
    in_one_cluster(world, now)
    mapping = Mapping(group_rules=(Rule(name, name="billing"),))
    given = {"taken": snapshot(7, None, **then), "mapping": mapping, "restores": restores}
    plan = planned(**given)
    (entry,) = plan.entries
    said = (Verdict.EXACT, None) if then == {"orders": now} else (Verdict.REQUESTED, Reason.TOPIC_UNIDENTIFIED)
    assert (entry.verdict, entry.reason) == said
    assert entry.target == CommittedOffset(7, "m", 5) and not entry.is_reset
    assert plans.from_json(plans.to_json(plan), "plan.json").entries == plan.entries
    assert planned(plan, **given).entries == plan.entries


@pytest.mark.parametrize(
    ("restores", "why"), [(True, "not in the backup"), (False, "no commit in the snapshot")], ids=["restore", "clone"]
)
def test_what_a_backup_does_not_have_is_told_as_that(world, restores, why):
    in_one_cluster(world)
    world.counts = dict.fromkeys(world.counts, 2)
    world.identities.traits["source cluster-id"] = Traits(topic_ids={"orders": "one"}, logs={"orders": (None, None)})
    plan = planned(taken=snapshot(7, orders="one"), mapping=RENAMED, restores=restores)
    assert plan.entries[1].detail == f"{why}: left alone (on_uncommitted: ignore)"


@pytest.mark.parametrize(
    ("on_conflict", "offset", "repeats"), [(OnConflict.LOWEST, 7, 8), (OnConflict.HIGHEST, 15, None)]
)
def test_merged_offsets_on_an_unidentified_topic_are_not_safe(world, on_conflict, offset, repeats):
    in_one_cluster(world)
    backup = snapshot({"a": 7, "b": 15}, None)
    plan = planned(taken=backup, mapping=MERGED, on_conflict=on_conflict, restores=True)
    (entry,) = plans.from_json(plans.to_json(plan), "plan.json").entries
    assert (entry.verdict, entry.reason) == (Verdict.REQUESTED, Reason.TOPIC_UNIDENTIFIED)
    assert (entry.offset, entry.repeats) == (offset, repeats)


def test_inside_one_cluster_merged_groups_repeat_just_the_offsets_between_their_commits(world):
    in_one_cluster(world)
    world.bounds = Bounds(5, 20, 20)
    world.read = mock.Mock(side_effect=NotImplementedError)
    for lowest, repeats in ((7, 8), (3, 10)):
        taken = snapshot({"a": lowest, "b": 15}, orders="one")
        (entry,) = planned(taken=taken, mapping=MERGED, on_conflict=OnConflict.LOWEST).entries
        assert (entry.verdict, entry.reason, entry.repeats) == (Verdict.SAFE, Reason.GROUPS_MERGED, repeats)
    assert entry.offset == 5, "what has expired is not repeated"


def test_where_topics_have_no_ids_records_decide_inside_one_cluster_too(world):
    in_one_cluster(world, None)
    (entry,) = planned(taken=snapshot(7, orders=None), mapping=RENAMED).entries
    assert (entry.verdict, entry.target) == (Verdict.EXACT, CommittedOffset(7, "m"))
    assert entry.evidence.certificate == "same_difference"


@pytest.mark.parametrize("equal_id", ["5L6g3nShT-eMCtK--X86sw", "unknown"])
def test_two_clusters_with_one_id_are_compared_by_their_records(world, monkeypatch, equal_id):
    world.ids = dict.fromkeys(world.ids, equal_id)
    monkeypatch.setattr(clusters, "are_one", lambda _source, _destination: False)
    world.records["destination cluster"] = [record(offset, b"another %9d" % offset) for offset in range(20)]
    found = translated(taken=snapshot(7, equal_id))
    assert found.plan.entries[0].reason is Reason.OFFSETS_DIFFER
    assert [note.kind for note in found.notes] == (["equal_cluster_ids"] if equal_id != "unknown" else [])


@pytest.mark.parametrize("side", ["source cluster", "destination cluster"])
def test_what_an_earlier_plan_has_found_of_a_topic_counts_no_more_once_it_was_created_again(world, side):
    of_topic = {side: Traits(topic_ids={"orders": side}, logs={"orders": (LogRange(0, 20),)}) for side in world.ids}
    world.identities.traits |= {world.ids[side]: its for side, its in of_topic.items()}
    by_records = {"strategy": Strategy.RECORDS}
    first = planned(**by_records)
    assert kept(first, **by_records) == 1
    grown = Traits(topic_ids={"orders": side}, logs={"orders": (LogRange(0, 25),)})
    world.identities.traits[f"{side}-id"] = grown
    assert planned(first, **by_records) == first
    world.identities.traits[f"{side}-id"] = grown._replace(topic_ids={"orders": "another"})
    again = translated(first, **by_records)
    assert again.kept == 0
    noted = again.plan.source_traits if side == "source cluster" else again.plan.destination_traits
    assert noted.topic_ids == {"orders": "another"}


def test_inside_one_cluster_nothing_is_migrated_onto_itself(world):
    world.ids["destination cluster"] = "source cluster-id"
    with pytest.raises(Refused, match="are one cluster, .* nothing would change for group billing on topic orders"):
        planned()
    with pytest.raises(Refused, match=r"entry 1 \(name biling\) is used for nothing"):
        planned(mapping=Mapping(group_rules=(Rule("billing-v2", name="biling"),)))


def test_a_plan_by_records_says_what_match_on_has_compared(world):
    (entry,) = planned(strategy=Strategy.RECORDS, match_on=MatchOn.of(["key", "timestamp"])).entries
    assert (entry.verdict, entry.offset, entry.evidence.matched_by) == (Verdict.EXACT, 7, ("key", "timestamp"))


@pytest.fixture
def mirrored(monkeypatch):
    """What MirrorMaker 2 has noted: nothing."""
    monkeypatch.setattr(by_mirror_maker, "read_index", lambda *_flow: MirrorIndex({}, {}))


def anew(world: World, side: str) -> None:
    """Other records in the log of this cluster."""
    world.records[side] = [record(each.offset, b"another %8d" % each.offset) for each in world.records[side]]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda world: world.ids.update({"destination cluster": "rebuilt"}), id="another cluster"),
        pytest.param(lambda world: anew(world, "source cluster"), id="the source's topic was created again"),
        pytest.param(lambda world: anew(world, "destination cluster"), id="the destination's topic was created again"),
        pytest.param(lambda world: world.epochs.update({(ORDERS, 5): 4}), id="the log was cut off"),
    ],
)
def test_nothing_is_kept_of_another_log(world, change):
    first = planned(strategy=Strategy.RECORDS)
    assert kept(first, strategy=Strategy.RECORDS) == 1
    change(world)
    assert kept(first, strategy=Strategy.RECORDS) == 0


def test_an_offset_that_has_expired_is_blocked_where_the_user_says_so(world, monkeypatch):
    world.bounds, world.ids["destination cluster"] = Bounds(5, 20, 20), world.ids["source cluster"]
    expected_of = {
        OnExpired.FAIL: (Verdict.BLOCKED, Reason.POLICY_FAIL, None, 5),
        OnExpired.COUNT_BACK: (Verdict.SAFE, Reason.EXPIRED, 5, None),
    }
    for on_expired, said in expected_of.items():
        (entry,) = planned(offset=3, mapping=RENAMED, policy=Policy(on_expired)).entries
        assert (entry.verdict, entry.reason, entry.offset, entry.lossless) == said
        assert entry.lost == (2 if entry.offset is not None else 0)
        assert entry.detail.startswith("offset 3 has expired, because the log at the destination starts at 5; ")
    monkeypatch.setattr(option_names, "_variables", {"cluster": "group_clone_cluster"})
    (entry,) = planned(offset=3, mapping=RENAMED).entries
    assert entry.detail.startswith("offset 3 has expired, because the log starts at 5; ")


@pytest.mark.parametrize("strategy", [Strategy.IDENTICAL, Strategy.RECORDS])
@pytest.mark.parametrize("committed", [0, 3])
def test_what_no_cluster_has_any_more_is_in_the_entry_and_in_a_note(world, strategy, committed):
    world.bounds = Bounds(5, 20, 20)
    made = translated(offset=committed, strategy=strategy)
    (entry,), (note,) = made.plan.entries, made.notes
    assert (entry.verdict, entry.offset, entry.repeats) == (Verdict.SAFE if committed else Verdict.EXACT, 5, 0)
    assert entry.lost == 5 - committed
    assert "lost on both clusters: " in entry.detail
    assert note.kind is NoteKind.RECORDS_EXPIRED
    at_most = "at most " if strategy is Strategy.IDENTICAL else ""
    assert f"billing orders-0 ({at_most}{5 - committed})" in note.text


@pytest.mark.parametrize("strategy", [Strategy.IDENTICAL, Strategy.RECORDS, Strategy.MIRROR_MAKER])
def test_an_entry_that_has_not_moved_is_kept_with_what_verified_it(world, mirrored, strategy):
    options = {"strategy": strategy, "mirror": MIRROR}
    first = planned(**options)
    entry = dataclasses.replace(first.entries[0], verified=Verification("records", 5))
    assert entry.verdict is Verdict.EXACT
    first = dataclasses.replace(first, entries=(entry,))
    assert planned(first, **options) == first
    assert kept(first, **options) == 1
    assert kept(first, offset=8, **options) == 0
    moved = planned(first, offset=8, **options).entries[0]
    assert (moved.offset, moved.verified) == (8, None)


def promotes(before: int | None, after: int | None, source_id: str = "source cluster-id") -> TopicPlan:
    """The plan of a promotion that makes the topic, or gives it more partitions."""
    return TopicPlan(source_id, "destination cluster-id", (TopicChange("orders", "orders", before, after),))


@pytest.mark.parametrize("strategy", [Strategy.RECORDS, Strategy.IDENTICAL])
def test_a_topic_that_a_promotion_makes_is_planned_as_an_empty_one(world, strategy):
    world.counts["destination cluster"] = 0
    (entry,) = planned(offset=0, strategy=strategy, promotion=promotes(None, 1)).entries
    assert (entry.verdict, entry.offset, entry.predicted) == (Verdict.EXACT, 0, True)
    (blocked,) = planned(strategy=strategy, promotion=promotes(None, 1)).entries
    assert (blocked.verdict, blocked.reason, blocked.predicted) == (Verdict.BLOCKED, Reason.DESTINATION_LAGS, True)


def test_what_a_promotion_makes_is_planned_as_it_is_once_it_is_made(world):
    def entries(offset: int, promotion: TopicPlan | None = None) -> list[PlanEntry]:
        made = planned(offset=offset, strategy=Strategy.RECORDS, promotion=promotion).entries
        return [dataclasses.replace(entry, predicted=False) for entry in made]

    world.counts["destination cluster"] = 0
    predicted = [entries(offset, promotes(None, 1)) for offset in (0, 7)]
    world.counts["destination cluster"], world.records["destination cluster"] = 1, []
    world.partition_bounds = lambda connection, partitions: dict.fromkeys(
        partitions, world.bounds if connection is SOURCE else Bounds(0, 0, 0)
    )
    assert predicted == [entries(offset) for offset in (0, 7)]


def test_only_partitions_that_a_promotion_adds_are_predicted(world):
    world.counts |= {"source cluster": 3, "destination cluster": 1}
    entries = planned(strategy=Strategy.RECORDS, on_uncommitted=OnUncommitted.START, promotion=promotes(1, 3)).entries
    exact, started = (Verdict.EXACT, 7, False), (Verdict.REQUESTED, 0, True)
    assert [(entry.verdict, entry.offset, entry.predicted) for entry in entries] == [exact, started, started]


@pytest.mark.parametrize("change", [(None, 1), (2, 3), (None, None), (1, 1)])
def test_a_promotion_that_is_done_or_does_not_fit_predicts_nothing(world, change):
    assert planned(promotion=promotes(*change)) == planned()


@pytest.mark.parametrize("strategy", [Strategy.RECORDS, Strategy.IDENTICAL])
def test_nobody_waits_for_copies_in_a_topic_that_does_not_exist(world, monkeypatch, strategy):
    world.counts["destination cluster"] = 0
    monkeypatch.setattr(settling.time, "sleep", lambda _seconds: pytest.fail("it waits"))
    options = {"strategy": strategy, "wait_for_replication": 60, "promotion": promotes(None, 1)}
    assert planned(**options).entries[0].reason is Reason.DESTINATION_LAGS


def test_plans_and_promotions_of_other_clusters_are_refused_and_a_snapshot_that_does_not_tell_is_not(world):
    told = "was {} for another cluster: this one has the id source cluster-id, not other-id"
    with pytest.raises(Refused, match=f"the snapshot {told.format('made')}"):
        planned(taken=snapshot(7, "other-id"))
    assert planned(taken=snapshot(7, None)).entries[0].offset == 7
    with pytest.raises(Refused, match=f"the promotion {told.format('planned')}"):
        planned(promotion=promotes(None, 1, "other-id"))


def test_a_topic_that_is_missing_is_not_predicted_without_a_promotion_or_where_it_is_repartitioned(world):
    world.counts["destination cluster"] = 0
    assert planned().entries[0].reason is Reason.TOPIC_MISSING
    options = {"strategy": Strategy.RECORDS, "promotion": promotes(None, 1)}
    (entry,) = planned(mapping=Mapping(repartitioned=("orders",)), **options).entries
    assert (entry.reason, entry.predicted) == (Reason.TOPIC_MISSING, False)


def test_nothing_is_kept_of_a_topic_that_was_deleted_and_is_to_be_made_again(world):
    first = planned(strategy=Strategy.RECORDS)
    world.counts["destination cluster"] = 0
    again = planned(first, strategy=Strategy.RECORDS, promotion=promotes(None, 1)).entries[0]
    assert (again.reason, again.offset, again.predicted) == (Reason.DESTINATION_LAGS, None, True)


@pytest.mark.parametrize("strategy", [Strategy.RECORDS, Strategy.IDENTICAL])
def test_records_that_were_written_after_an_unclean_election_are_not_taken_for_consumed(world, strategy):
    """The group has read up to 7 in leader epoch 5; the log was cut off at 4, and has grown past 7 again."""
    (before,) = planned(strategy=strategy).entries
    assert (before.verdict, before.offset) == (Verdict.EXACT, 7)
    world.epochs[ORDERS, 5] = 4
    (entry,) = planned(strategy=strategy).entries
    assert (entry.verdict, entry.reason, entry.offset) == (Verdict.BLOCKED, Reason.BEYOND_END, None)
    assert "first reset the group at the source: to offset 4 after an election, or to the start" in entry.detail


def test_a_log_that_has_all_of_a_leader_epoch_is_none_that_was_cut_off(world):
    world.epochs[ORDERS, 5] = 7
    assert planned().entries[0].offset == 7


def test_each_leader_epoch_of_a_partition_is_asked_for_once_and_none_without_one(world):
    groups = {"a": 5, "b": 5, "c": 6, "d": None}
    rows = [SnapshotEntry(name, ORDERS, CommittedOffset(7, "", epoch)) for name, epoch in groups.items()]
    planned(taken=Snapshot("source cluster-id", (), tuple(rows)), strategy=Strategy.RECORDS)
    assert sorted(world.epochs_asked) == [(ORDERS, 5), (ORDERS, 6)]


def test_one_group_of_a_merge_whose_log_was_cut_off_blocks_it(world):
    world.epochs[ORDERS, 5] = 4
    options = {"strategy": Strategy.RECORDS, "on_conflict": OnConflict.LOWEST}
    (entry,) = planned(taken=snapshot({"a": 3, "b": 7}), mapping=MERGED, **options).entries
    assert (entry.reason, entry.verdict) == (Reason.BEYOND_END, Verdict.BLOCKED)


@pytest.mark.parametrize("strategy", [Strategy.RECORDS, Strategy.MIRROR_MAKER])
@pytest.mark.parametrize(
    ("copies", "commits", "offset", "repeats"),
    [
        pytest.param("abcdefghij", {"a": 2, "b": 7}, 2, 5, id="one copy"),
        pytest.param("abcdefgcdefghij", {"a": 2, "b": 7}, 2, 10, id="recopied between the commits"),
        pytest.param("abcdefghijabcdef", {"a": 2, "b": 8}, 2, 12, id="recopied after both"),
        pytest.param("abcdefghijabcdef", {"a": 2, "b": 8, "c": None}, 0, 14, id="one has consumed nothing"),
        pytest.param("abcdefghijabcdef", {"a": 2, "c": None}, 0, 4, id="only one has consumed"),
    ],
)
def test_merged_groups_repeat_no_more_than_the_plan_says(world, mirrored, strategy, copies, commits, offset, repeats):
    """The tool was started anew, and has written records twice: the groups see each copy that one of them has consumed."""
    world.bounds_of = functools.partial(MemoryBrokers.bounds_of, world)
    source = "abcdefghij"
    for side, line in (("source cluster", source), ("destination cluster", copies)):
        world.records[side] = [record(at, word.encode() * 8, source.index(word)) for at, word in enumerate(line)]
    world.counts = dict.fromkeys(world.counts, 2)
    rows = [
        SnapshotEntry(name, ORDERS._replace(partition=int(at is None)), CommittedOffset(at or 0))
        for name, at in commits.items()
    ]
    options = {"strategy": strategy, "mirror": MIRROR, "on_uncommitted": OnUncommitted.START}
    taken = Snapshot("source cluster-id", (), tuple(rows))
    plan = planned(taken=taken, mapping=MERGED, on_conflict=OnConflict.LOWEST, **options)
    assert {entry.group for entry in plan.entries} == {"one"} and len(plan.entries) == 2
    (entry,) = [entry for entry in plan.entries if entry.partition == ORDERS]
    assert (entry.verdict, entry.reason) == (Verdict.SAFE, Reason.GROUPS_MERGED)
    assert (entry.offset, entry.repeats) == (offset, repeats)
    consumed = source[: max(at or 0 for at in commits.values())]
    assert sum(word in consumed for word in copies[offset:]) <= repeats
