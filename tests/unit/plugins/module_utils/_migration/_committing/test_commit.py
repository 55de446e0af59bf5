"""Commits and rollbacks on a cluster in memory: the order of steps, kills between them, and what is refused."""

import dataclasses
import re
import time
import types
import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import positions
from ansible_collections.streamshift.kafka.plugins.module_utils._control.abilities import Ability
from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import still_written
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing import commit as use_case
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing import (
    commit_decision,
    source_watch,
    write_watch,
    writing,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing.commit import commit, roll_back
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing.conflicts import own_objections
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing.outcome import CommitOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing.source_watch import SourceWatch
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing.write_watch import WriteWatch
from ansible_collections.streamshift.kafka.plugins.module_utils._model.cluster_identity import LogRange, Traits
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import (
    BrokerError,
    GroupBusy,
    InvalidFile,
    MigrationError,
    NotAuthorized,
    NotFound,
    Refused,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.idle import EarlierLook
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import (
    Evidence,
    Plan,
    PlanEntry,
    SourcePosition,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnStillWritten
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Origin, Receipt
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import (
    Snapshot,
    SnapshotEntry,
    SnapshotGroup,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import (
    CertificateName,
    Copied,
    Reason,
    Verdict,
)
from tests.support.identities import Identities, known_by_id
from tests.support.memory_groups import MemoryGroups

CLOUD = connection_from({"bootstrap_servers": ["127.0.0.1:9092"]}, "destination cluster")
ONPREM = connection_from({"bootstrap_servers": ["127.0.0.1:2"]}, "source cluster")
NOW = CommitOptions(idle_wait=0)
P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)


class Cluster(MemoryGroups):
    """Billing has committed before, shipping never. The file is the receipt; committed offsets expire after a week."""

    def __init__(self, identities: Identities) -> None:
        super().__init__({"billing": {P0: CommittedOffset(90), P1: CommittedOffset(10, "old")}})
        self.identities = identities
        self.retention: int | None = 10_080
        self.keeps_offsets = True  # of groups that have members, as Kafka does since 2.1


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    its = Cluster(known_by_id(monkeypatch, lambda _connection: "cloud-id"))
    its.install(monkeypatch, use_case, commit_decision)

    def broker_number(_connection: object, name: str) -> int | None:
        return its.metadata_limit if name == commit_decision.METADATA_LIMIT else its.retention

    monkeypatch.setattr(commit_decision, "broker_number", broker_number)
    monkeypatch.setattr(
        commit_decision, "not_offered", lambda _connection, ability: [] if its.keeps_offsets else [ability]
    )
    return its


def entry(group: str, partition: TopicPartition, offset: int | None, expected: CommittedOffset | None, **more: t.Any):
    verdict = more.pop("verdict", Verdict.BLOCKED if offset is None else Verdict.EXACT)
    evidence = Evidence(certificate=CertificateName.WHOLE_LOGS if verdict is Verdict.EXACT else None)
    more = {"evidence": evidence, **more}
    source = (SourcePosition(more.pop("origin", group), partition, 7),)
    return PlanEntry(group, partition, offset, verdict, source, expected=expected, **more)


PLAN = Plan(
    "onprem-id",
    "cloud-id",
    "digest",
    (
        entry("billing", P0, 50, CommittedOffset(90)),  # a rewind
        entry("billing", P1, 50, CommittedOffset(10, "old"), metadata="new"),
        entry("shipping", P0, 40, None),
    ),
)


def only(*entries: PlanEntry, **changes: t.Any) -> Plan:
    return dataclasses.replace(PLAN, entries=entries, **changes)


SHIPPING = PLAN.entries[2]
REWIND = dataclasses.replace(NOW, on_rewind="rewind")
BEFORE = {"billing": {P0: CommittedOffset(90), P1: CommittedOffset(10, "old")}}
AFTER = {"billing": {P0: CommittedOffset(50), P1: CommittedOffset(50, "new")}, "shipping": {P0: CommittedOffset(40)}}


def set_to(cluster: Cluster, offset: int, source_id: str = "onprem-id", group: str = "mailing") -> None:
    """A run that sets all that the group has committed, or its first partition, to this offset."""
    found = cluster.groups.get(group) or {P0: None}
    plan = only(*(entry(group, at, offset, commit) for at, commit in found.items()), source_id=source_id)
    commit(plan, cluster.saved, CLOUD, REWIND, cluster.save)


@pytest.fixture
def migrated(cluster):
    """The plan is carried out."""
    commit(PLAN, None, CLOUD, REWIND, cluster.save)
    cluster.done.clear()
    return cluster


def test_the_receipt_is_on_disk_before_the_first_write_and_complete_after_the_last(cluster):
    commit(PLAN, None, CLOUD, REWIND, cluster.save)
    assert cluster.done == ["file", "billing orders-0", "billing orders-1", "shipping orders-0", "file"]
    assert cluster.groups == AFTER
    assert [(e.before, e.written, e.after) for e in cluster.saved.entries] == [
        (CommittedOffset(90), CommittedOffset(50), CommittedOffset(50)),
        (CommittedOffset(10, "old"), CommittedOffset(50, "new"), CommittedOffset(50, "new")),
        (None, CommittedOffset(40), CommittedOffset(40)),
    ]


def test_a_prediction_says_what_the_run_says_and_does_nothing(cluster):
    predicted = commit(PLAN, None, CLOUD, REWIND, None)
    assert cluster.done == []
    assert cluster.groups == BEFORE
    done = commit(PLAN, None, CLOUD, REWIND, cluster.save)
    assert predicted == done


def test_a_partition_that_a_promotion_has_yet_to_make_is_no_hindrance_to_a_prediction_alone(cluster, monkeypatch):
    def partition_bounds(_connection, partitions):
        if P1 in partitions:
            raise NotFound("no such partition: orders-1")
        return dict.fromkeys(partitions, Bounds(0, 99, 99))

    for its_module in (use_case, commit_decision):
        monkeypatch.setattr(its_module, "positions", positions)
    monkeypatch.setattr(positions, "partition_bounds", partition_bounds)
    plan = only(PLAN.entries[2], dataclasses.replace(PLAN.entries[1], predicted=True))
    assert set(commit(plan, None, CLOUD, NOW, None).set) == {("billing", P1), ("shipping", P0)}
    with pytest.raises(NotFound):
        commit(plan, None, CLOUD, NOW, cluster.save)
    assert (cluster.done, cluster.groups) == ([], BEFORE)
    cluster.rights = {"DELETE"}  # the ACLs on the topic come with it
    assert set(commit(only(plan.entries[1]), None, CLOUD, NOW, None).set) == {("billing", P1)}


def test_what_a_verification_objects_to_is_never_written(cluster):
    wrong = {("billing", P1): "5 unconsumed records are skipped"}
    for save in (None, cluster.save):
        with pytest.raises(Refused, match=r"first billing orders-1 \(verification_failed: 5 unconsumed"):
            commit(PLAN, None, CLOUD, REWIND, save, objections=wrong)
    assert (cluster.done, cluster.groups) == ([], BEFORE)
    skip = dataclasses.replace(REWIND, on_blocked="skip_group")
    outcome = commit(PLAN, None, CLOUD, skip, cluster.save, objections=wrong)
    assert (outcome.may_start(PLAN.entries), outcome.may_not_start(PLAN.entries)) == (["shipping"], {"billing"})
    assert set(outcome.set) == {("shipping", P0)}
    assert cluster.groups == {**BEFORE, "shipping": {P0: CommittedOffset(40)}}


@pytest.mark.parametrize("moved", [False, True])
def test_the_second_reading_waits_only_for_the_rest_since_the_verification_of_groups_that_stand(
    cluster, monkeypatch, moved
):
    slept: list[float] = []
    looked = EarlierLook.of(writing.groups.read_groups(CLOUD, ["billing", "shipping"]), {})
    monkeypatch.setattr(time, "time", lambda: looked.at + 3)
    monkeypatch.setattr(time, "sleep", slept.append)
    if moved:
        cluster.groups["billing"][TopicPartition("clicks", 0)] = CommittedOffset(91)
    commit(PLAN, None, CLOUD, dataclasses.replace(REWIND, idle_wait=5), None, earlier=looked)
    assert slept == [5 if moved else 2]
    slept.clear()
    monkeypatch.setattr(time, "sleep", lambda _seconds: cluster.groups["billing"].update({P0: CommittedOffset(92)}))
    with pytest.raises(GroupBusy, match="orders-0 from 90 to 92"):
        commit(PLAN, None, CLOUD, dataclasses.replace(REWIND, idle_wait=5), cluster.save, earlier=looked)
    assert cluster.done == []


@pytest.mark.parametrize("state", ["Empty", "Stable"])
def test_a_second_run_writes_nothing_and_so_asks_nobody_to_leave(migrated, state):
    migrated.states["billing"] = state
    outcome = commit(PLAN, migrated.saved, CLOUD, REWIND, migrated.save)
    assert (migrated.done, outcome.set, outcome.left_out) == ([], {}, [])
    assert outcome.before == outcome.after


def test_a_rollback_puts_back_every_commit_and_removes_what_was_not_there_and_all_can_be_done_again(migrated):
    for _run in range(2):
        outcome = roll_back(migrated.saved, None, CLOUD, NOW, migrated.save)
        assert migrated.groups == BEFORE
        assert outcome.after["shipping", P0] is None
        migrated.done.clear()
        assert roll_back(migrated.saved, None, CLOUD, NOW, migrated.save).set == {}
        assert migrated.done == []
        commit(PLAN, migrated.saved, CLOUD, REWIND, migrated.save)
        assert migrated.groups == AFTER


def test_what_is_written_beside_a_refused_commit_is_known_and_what_is_consumed_since_stays(cluster):
    cluster.refused = {P1: "UNKNOWN_TOPIC_OR_PARTITION"}
    with pytest.raises(
        BrokerError, match="group billing, topic orders, partition 1: 1 of 3 commits was refused: UNKNOWN_"
    ):
        commit(PLAN, None, CLOUD, REWIND, cluster.save)
    assert [entry.is_confirmed for entry in cluster.saved.entries] == [True, False, True]
    cluster.refused = {}
    cluster.groups["billing"][P0] = cluster.groups["shipping"][P0] = CommittedOffset(70)
    cluster.protocols = dict.fromkeys(cluster.groups, "consumer")
    outcome = commit(PLAN, cluster.saved, CLOUD, NOW, cluster.save)
    assert set(outcome.set) == {("billing", P1)} and len(outcome.going_on) == 2
    roll_back(cluster.saved, None, CLOUD, dataclasses.replace(NOW, on_rewind="rewind"), cluster.save)
    assert cluster.groups == BEFORE


def test_a_rollback_that_is_refused_in_part_takes_back_the_rest_and_knows_it(migrated):
    recorded = migrated.saved
    migrated.refused = {P1: "UNKNOWN_TOPIC_OR_PARTITION"}
    migrated.saved = None
    with pytest.raises(BrokerError, match="1 of 3 commits was refused"):
        roll_back(recorded, None, CLOUD, NOW, migrated.save)
    assert migrated.done[0] == "file"
    assert [entry.written is None for entry in migrated.saved.entries] == [True, False, True]
    assert migrated.saved.entries[1] == recorded.entries[1]
    migrated.refused = {}
    migrated.groups["billing"][P0] = CommittedOffset(95)  # consumed since: no business of the next run
    assert set(roll_back(migrated.saved, None, CLOUD, NOW, migrated.save).set) == {("billing", P1)}
    assert migrated.groups == {"billing": {P0: CommittedOffset(95), P1: CommittedOffset(10, "old")}}


def test_what_a_rollback_without_an_answer_may_have_restored_is_not_taken_for_consumption(migrated):
    migrated.protocols["billing"] = "consumer"
    migrated.unanswered = {"billing"}
    with pytest.raises(BrokerError, match="2 of 3 commits were refused, or had no answer: REQUEST_TIMED_OUT"):
        roll_back(migrated.saved, None, CLOUD, NOW, migrated.save)
    migrated.unanswered = set()
    assert migrated.groups == BEFORE
    with pytest.raises(Refused, match="90 would move back to 50") as found:
        commit(PLAN, migrated.saved, CLOUD, NOW, migrated.save)
    assert "if a rollback was killed, run it again first" in str(found.value.why)
    roll_back(migrated.saved, None, CLOUD, NOW, migrated.save)
    assert all(each.written is None for each in migrated.saved.entries)


ONLY_SHIPPING = Selection(groups=("shipping",))


@pytest.mark.parametrize("source", ["cloud-id", "onprem-id"])
def test_inside_one_cluster_a_rollback_keeps_what_a_group_has_done_since_an_earlier_run(migrated, source):
    migrated.groups["billing"][P0] = CommittedOffset(95)
    found = {name: dict(commits) for name, commits in migrated.groups.items()}
    entries = (entry(name, at, 30, commit) for name, commits in found.items() for at, commit in commits.items())
    later = dataclasses.replace(PLAN, source_id=source, entries=tuple(entries))
    with migrated.killed_after(1):
        commit(later, migrated.saved, CLOUD, REWIND, migrated.save)
    commit(later, migrated.saved, CLOUD, REWIND, migrated.save)
    roll_back(migrated.saved, None, CLOUD, NOW, migrated.save)
    since_then = {"billing": found["billing"]}  # shipping has not gone on, and goes back to before the earlier run
    assert {group: commits for group, commits in migrated.groups.items() if commits} == (
        since_then if source == "cloud-id" else BEFORE
    )


@pytest.mark.parametrize(
    ("earlier", "since", "later"),
    [
        pytest.param({P0: None, P1: None}, {P0: 70, P1: 60}, {P0: 95, P1: 60}, id="a clone of which one has gone on"),
        pytest.param({P0: 90, P1: 80}, {P0: 70, P1: 60}, {P0: 10, P1: 60}, id="a reset to the same offset"),
        pytest.param({P0: 90, P1: 80}, {P0: 70, P1: 75}, {P0: 10, P1: 60}, id="one that is left alone"),
        pytest.param({P0: 90, P1: 80}, {P0: 55, P1: 60}, {P0: 10}, id="one that the later run does not name"),
    ],
)
def test_inside_one_cluster_a_rollback_leads_to_one_moment_also_where_the_last_run_has_written_nothing(
    cluster, earlier, since, later
):
    def run(offsets: dict[TopicPartition, int]) -> None:
        found = cluster.groups.get("billing", {})
        entries = tuple(entry("billing", at, offset, found.get(at), origin="old") for at, offset in offsets.items())
        commit(
            dataclasses.replace(PLAN, source_id="cloud-id", entries=entries), cluster.saved, CLOUD, both, cluster.save
        )

    both = dataclasses.replace(REWIND, on_advance="advance")
    cluster.groups = {"billing": {at: CommittedOffset(offset) for at, offset in earlier.items() if offset is not None}}
    cluster.protocols["billing"] = "consumer"
    run({P0: 50, P1: 60})
    right_before = {at: CommittedOffset(offset) for at, offset in since.items()}
    cluster.groups["billing"] = dict(right_before)
    run({P0: 50, P1: 60})  # the same run once more leaves all of it alone
    with cluster.killed_after(1):
        run(later)
    run(later)
    assert cluster.groups["billing"] == right_before | {P0: CommittedOffset(later[P0])}
    roll_back(cluster.saved, None, CLOUD, NOW, cluster.save)
    assert cluster.groups == {"billing": right_before}


@pytest.mark.parametrize(("returns", "back"), [(True, 60), (False, 10)])
def test_the_rollback_of_a_second_return_leads_to_what_the_group_has_consumed_since_the_first(cluster, returns, back):
    def run(offset: int, found: int, stood: int, save: t.Any = cluster.save) -> None:
        (line,) = only(entry("billing", P1, offset, CommittedOffset(found))).entries
        plan = only(dataclasses.replace(line, source=(SourcePosition("billing", P1, stood),)))
        commit(plan, cluster.saved, CLOUD, NOW, save, returns=returns)

    cluster.groups = {"billing": {P1: CommittedOffset(10)}}
    cluster.protocols["billing"] = "consumer"
    run(20, 10, 7)
    run(30, 20, 8)  # in rounds, for example
    cluster.groups["billing"][P1] = CommittedOffset(60)
    run(90, 60, 80)
    roll_back(cluster.saved, None, CLOUD, NOW, cluster.save)
    assert cluster.groups == {"billing": {P1: CommittedOffset(back)}}


def test_who_would_go_back_after_a_rollback_that_was_killed_before_its_first_write_is_told_of_it(migrated):
    migrated.protocols["shipping"] = "consumer"
    migrated.groups["shipping"][P0] = CommittedOffset(95)
    with migrated.killed_after(1):
        roll_back(migrated.saved, ONLY_SHIPPING, CLOUD, REWIND, migrated.save)
    again = only(entry("shipping", P0, 40, CommittedOffset(95)))
    with pytest.raises(Refused, match="95 would move back to 40") as found:
        commit(again, migrated.saved, CLOUD, NOW, migrated.save)
    assert "if a rollback was killed, run it again first" in str(found.value.why)


@pytest.mark.parametrize("is_wrong", [True, False], ids=["read back otherwise", "killed"])
@pytest.mark.parametrize("kills", [0, 1, 2])
@pytest.mark.parametrize("before", [None, CommittedOffset(7)])
def test_a_migration_after_a_rollback_that_has_not_ended_keeps_what_was_there_before_the_first_run(
    cluster, before, kills, is_wrong
):
    cluster.groups["mailing"] = {P0: before} if before else {}
    set_to(cluster, 40)
    cluster.groups["mailing"][P0] = CommittedOffset(55)
    if is_wrong and before:
        cluster.after_commit = lambda: cluster.groups["mailing"].update({P0: CommittedOffset(55)})
        with pytest.raises(BrokerError, match="wanted 7, read back 55"):
            roll_back(cluster.saved, None, CLOUD, REWIND, cluster.save)
        cluster.after_commit = lambda: None
    else:
        with cluster.killed_after(1):
            roll_back(cluster.saved, None, CLOUD, REWIND, cluster.save)
    for _kill in range(kills):
        with cluster.killed_after(1):
            set_to(cluster, 40)
        cluster.groups["mailing"][P0] = CommittedOffset(cluster.groups["mailing"][P0].offset + 1)
    set_to(cluster, 40)
    assert cluster.groups["mailing"] == {P0: CommittedOffset(40)}
    assert cluster.saved.entries[-1].is_confirmed
    roll_back(cluster.saved, None, CLOUD, NOW, cluster.save)
    assert cluster.groups.get("mailing", {}) == ({P0: before} if before else {})


@pytest.mark.parametrize("is_killed", [True, False])
def test_inside_one_cluster_a_killed_rollback_changes_nothing_of_where_the_next_one_leads_back_to(cluster, is_killed):
    cluster.groups["mailing"] = {P0: CommittedOffset(90)}
    cluster.protocols["mailing"] = "consumer"
    set_to(cluster, 40, "cloud-id")
    cluster.groups["mailing"][P0] = CommittedOffset(55)
    if is_killed:
        with cluster.killed_after(1):
            roll_back(cluster.saved, None, CLOUD, NOW, cluster.save)
    set_to(cluster, 30, "cloud-id")
    roll_back(cluster.saved, None, CLOUD, NOW, cluster.save)
    assert cluster.groups["mailing"] == {P0: CommittedOffset(55)}


def test_inside_one_cluster_a_run_that_only_adds_partitions_is_rolled_back_with_the_one_before(cluster):
    cloned = [dataclasses.replace(line, source=(SourcePosition("old", line.partition, 7),)) for line in PLAN.entries]
    completed = dataclasses.replace(PLAN, source_id="cloud-id", entries=tuple(cloned))
    begun = dataclasses.replace(completed, entries=completed.entries[:1])
    cluster.protocols["billing"] = "consumer"
    commit(begun, None, CLOUD, REWIND, cluster.save)
    cluster.groups["billing"][P0] = CommittedOffset(95)
    commit(completed, cluster.saved, CLOUD, REWIND, cluster.save)
    roll_back(cluster.saved, None, CLOUD, REWIND, cluster.save)
    assert cluster.groups["billing"] == BEFORE["billing"]


def test_only_what_is_selected_goes_back_though_the_others_are_in_use_and_have_gone_on(migrated):
    others = [each for each in migrated.saved.entries if each.group != "shipping"]
    migrated.groups["billing"][P0] = CommittedOffset(70)
    migrated.states["billing"] = "Stable"
    predicted = roll_back(migrated.saved, ONLY_SHIPPING, CLOUD, NOW, None)
    outcome = roll_back(migrated.saved, ONLY_SHIPPING, CLOUD, NOW, migrated.save)
    assert predicted == outcome
    assert outcome.set == {("shipping", P0): None}
    assert migrated.groups == {"billing": {P0: CommittedOffset(70), P1: CommittedOffset(50, "new")}}
    assert [each for each in migrated.saved.entries if each.group != "shipping"] == others
    assert roll_back(migrated.saved, ONLY_SHIPPING, CLOUD, NOW, migrated.save).set == {}


def test_the_receipt_says_where_each_entry_comes_from(cluster):
    merged = SourcePosition("old", P0, 7), SourcePosition("old", TopicPartition("clicks", 3), None)
    commit(only(dataclasses.replace(SHIPPING, source=merged)), None, CLOUD, NOW, cluster.save)
    (line,) = cluster.saved.entries
    assert line.source == (Origin("old", P0), Origin("old", TopicPartition("clicks", 3)))


@pytest.mark.parametrize("why", ["has consumed", "is in use"])
def test_a_group_that_is_left_keeps_its_lines_so_that_a_later_rollback_takes_all_of_it_back(migrated, why):
    # It has consumed up to where one partition stood before, which is not the same as having gone back.
    migrated.groups["billing"] = {P0: CommittedOffset(90), P1: CommittedOffset(60)}
    receipt = migrated.saved
    options = dataclasses.replace(NOW, on_rewind="keep")
    if why == "is in use":
        migrated.states["billing"] = "Stable"
        options = dataclasses.replace(REWIND, on_active_group="skip_group")
    outcome = roll_back(receipt, Selection(groups=("billing",)), CLOUD, options, migrated.save)
    assert outcome.set == {} and outcome.left_out
    assert migrated.saved == receipt
    migrated.states["billing"] = "Empty"
    migrated.groups["billing"][P0] = CommittedOffset(95)
    roll_back(migrated.saved, None, CLOUD, REWIND, migrated.save)
    assert migrated.groups == BEFORE


@pytest.mark.parametrize("right", ["READ", "DELETE"])
def test_a_rollback_is_refused_before_anything_is_written_where_an_acl_is_missing(migrated, right):
    migrated.rights.remove(right)
    for save in (None, migrated.save):
        with pytest.raises(NotAuthorized, match=f"GROUP {right} on {'shipping' if right == 'DELETE' else 'billing'}"):
            roll_back(migrated.saved, None, CLOUD, NOW, save)
    assert migrated.done == [] and migrated.groups == AFTER


def test_an_offset_after_the_end_is_refused_before_anything_is_written(migrated):
    changed = migrated.saved.entries[0]._replace(before=CommittedOffset(100))
    with pytest.raises(Refused, match="billing, topic orders, partition 0: offset 100.*is after the log's end 99"):
        roll_back(migrated.saved.merged([changed]), None, CLOUD, NOW, migrated.save)
    assert migrated.done == [] and migrated.groups == AFTER


def test_a_group_that_has_other_commits_survives_its_rollback(migrated):
    migrated.groups["shipping"][P1] = CommittedOffset(3)
    (note,) = roll_back(migrated.saved, None, CLOUD, NOW, migrated.save).notes
    assert note.kind is NoteKind.COMMITS_STAY and "shipping orders-1 (3)" in note.text
    assert migrated.groups["shipping"] == {P1: CommittedOffset(3)}


@pytest.mark.parametrize("seems", [True, False], ids=["single topics are denied", "not all topics are allowed"])
def test_a_rollback_leaves_what_a_group_has_committed_on_topics_that_the_user_does_not_see(
    migrated, monkeypatch, seems
):
    monkeypatch.setattr(migrated, "sees_every_topic", lambda _connection: seems)
    unseen = TopicPartition("payments", 0)
    migrated.groups["shipping"][unseen] = CommittedOffset(500)
    migrated.hidden = {"payments"}
    done = roll_back(migrated.saved, None, CLOUD, NOW, migrated.save)
    assert migrated.groups == {**BEFORE, "shipping": {unseen: CommittedOffset(500)}}
    assert all(each.written is None for each in migrated.saved.entries)
    assert done.after["shipping", P0] is None
    assert roll_back(migrated.saved, None, CLOUD, NOW, migrated.save).set == {}


def test_brokers_that_remove_only_whole_groups_remove_none_that_may_have_more_than_the_user_sees(migrated, monkeypatch):
    need = Ability.REMOVE_OFFSETS.value
    asked = []

    def not_offered(_connection, *abilities, groups):
        asked.extend(groups)
        return [need] if Ability.REMOVE_OFFSETS in abilities else []

    monkeypatch.setattr(migrated, "not_offered", not_offered)
    migrated.hidden = {"payments"}
    before = {name: dict(commits) for name, commits in migrated.groups.items()}
    with pytest.raises(BrokerError, match="cannot remove single .* Grant the user TOPIC DESCRIBE on all topics"):
        roll_back(migrated.saved, None, CLOUD, NOW, migrated.save)
    assert migrated.groups == before
    assert asked == ["shipping"]  # its coordinator, because others may be newer
    migrated.hidden = set()
    migrated.done.clear()
    roll_back(migrated.saved, None, CLOUD, NOW, migrated.save)
    assert migrated.groups == BEFORE
    assert [step for step in migrated.done if step.endswith("removed")] == ["shipping removed"]


@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize("steps", range(5))
def test_a_commit_that_was_killed_at_any_step_is_finished_by_the_same_again_and_can_be_rolled_back(
    cluster, steps, again
):
    with cluster.killed_after(steps):
        commit(PLAN, None, CLOUD, REWIND, cluster.save)
    if again:
        commit(PLAN, cluster.saved, CLOUD, REWIND, cluster.save)
        assert cluster.groups == AFTER
        assert all(each.is_confirmed for each in cluster.saved.entries)
    if cluster.saved is not None:
        roll_back(cluster.saved, None, CLOUD, NOW, cluster.save)
    assert cluster.groups == BEFORE


@pytest.mark.parametrize("before", [None, CommittedOffset(10)])
@pytest.mark.parametrize("is_killed", [True, False])
def test_a_rollback_restores_what_a_consumer_has_committed_before_the_first_write(cluster, is_killed, before):
    cluster.groups |= {"mailing": {P0: before}} if before else {}
    if is_killed:
        with cluster.killed_after(1):
            set_to(cluster, 40)
    else:  # a consumer has joined after the last look
        cluster.refused = {P0: "UNKNOWN_MEMBER_ID: the group has members"}
        with pytest.raises(BrokerError, match="UNKNOWN_MEMBER_ID"):
            set_to(cluster, 40)
        cluster.refused = {}
    cluster.groups["mailing"] = {P0: CommittedOffset(70)}
    set_to(cluster, 90)
    roll_back(cluster.saved, None, CLOUD, NOW, cluster.save)
    assert cluster.groups["mailing"] == {P0: CommittedOffset(70)}


def test_a_run_that_was_killed_after_others_does_not_take_what_they_have_written_for_the_groups_own(cluster):
    set_to(cluster, 40)
    with cluster.killed_after(1):
        set_to(cluster, 50)
    set_to(cluster, 60)
    roll_back(cluster.saved, None, CLOUD, NOW, cluster.save)
    assert cluster.groups == BEFORE


class TestTheSecondRunHasNotEnded:
    """Mailing has committed 10, was migrated to 40, and was to be set again."""

    @pytest.fixture(params=["onprem-id", "cloud-id"])
    def run(self, request, cluster):
        cluster.groups["mailing"] = {P0: CommittedOffset(10)}
        cluster.protocols["mailing"] = "consumer"
        set_to(cluster, 40, request.param)
        return lambda offset: set_to(cluster, offset, request.param)

    @pytest.mark.parametrize("why", ["killed before its write", "killed after its write", "killed twice", "refused"])
    def test_a_rollback_needs_no_option(self, cluster, run, why):
        if why == "refused":
            cluster.refused = {P0: "UNKNOWN_MEMBER_ID"}
            with pytest.raises(BrokerError, match="UNKNOWN_MEMBER_ID"):
                run(50)
            cluster.refused = {}
        else:
            with cluster.killed_after(2 if why == "killed after its write" else 1):
                run(50)
        if why == "killed twice":
            with cluster.killed_after(1):
                run(60)
        assert cluster.groups["mailing"] == {P0: CommittedOffset(50 if why == "killed after its write" else 40)}
        roll_back(cluster.saved, None, CLOUD, NOW, cluster.save)
        assert cluster.groups == BEFORE | {"mailing": {P0: CommittedOffset(10)}}

    @pytest.mark.parametrize(
        ("second", "found", "told"),
        [
            pytest.param(50, 45, "45 would move back to 10: the group has consumed up to 5 records", id="before it"),
            pytest.param(50, 55, "55 would move back to 10: the group has consumed up to 15 records", id="after it"),
            pytest.param(30, 40, "40 would move back to 10: the group has consumed up to 10 records", id="if it did"),
            pytest.param(50, 35, "the group was set to 40 and has committed 35 now", id="moved by somebody"),
        ],
    )
    def test_what_may_be_consumed_is_restored_over_only_where_that_is_asked_for(
        self, cluster, run, second, found, told
    ):
        with cluster.killed_after(1):
            run(second)
        cluster.groups["mailing"] = {P0: CommittedOffset(found)}
        with pytest.raises(Refused, match=told):
            roll_back(cluster.saved, None, CLOUD, NOW, cluster.save)
        roll_back(cluster.saved, None, CLOUD, REWIND, cluster.save)
        assert cluster.groups["mailing"] == {P0: CommittedOffset(10)}

    @pytest.mark.parametrize("is_third_killed", [False, True])
    @pytest.mark.parametrize("found", [45, 55])
    def test_what_is_committed_in_the_moment_of_the_write_is_restored_over_only_where_that_is_asked_for(
        self, cluster, run, found, is_third_killed
    ):
        cluster.after_commit = lambda: cluster.groups["mailing"].update({P0: CommittedOffset(found)})
        with pytest.raises(BrokerError, match=f"wanted 50, read back {found}"):
            run(50)
        cluster.after_commit = lambda: None
        if is_third_killed:
            with cluster.killed_after(1):
                run(60)
        with pytest.raises(Refused):
            roll_back(cluster.saved, None, CLOUD, NOW, cluster.save)
        roll_back(cluster.saved, None, CLOUD, REWIND, cluster.save)
        assert cluster.groups["mailing"] == {P0: CommittedOffset(10)}


def test_who_had_removed_a_commit_when_it_was_read_back_changes_nothing_of_what_was_there_first(cluster):
    cluster.groups["mailing"] = {P0: CommittedOffset(10)}
    set_to(cluster, 40)
    cluster.after_commit = cluster.groups["mailing"].clear
    with pytest.raises(BrokerError, match="wanted 50, read back none"):
        set_to(cluster, 50)
    cluster.after_commit = lambda: None
    cluster.groups["mailing"][P0] = CommittedOffset(12)
    set_to(cluster, 60)
    roll_back(cluster.saved, None, CLOUD, NOW, cluster.save)
    assert cluster.groups["mailing"] == {P0: CommittedOffset(10)}


@pytest.mark.parametrize("is_retried", [True, False])
def test_inside_one_cluster_a_run_after_one_that_was_killed_is_rolled_back_to_one_moment(cluster, is_retried):
    cluster.protocols["billing"] = "consumer"
    set_to(cluster, 50, "cloud-id", "billing")
    with cluster.killed_after(1):
        set_to(cluster, 80, "cloud-id", "billing")
    right_before = {P0: CommittedOffset(60), P1: CommittedOffset(50)}
    cluster.groups["billing"] = dict(right_before)
    set_to(cluster, 80 if is_retried else 20, "cloud-id", "billing")
    roll_back(cluster.saved, None, CLOUD, NOW, cluster.save)
    assert cluster.groups["billing"] == right_before


def test_what_has_expired_since_a_run_was_killed_is_restored(cluster):
    with cluster.killed_after(1):
        commit(PLAN, None, CLOUD, REWIND, cluster.save)
    del cluster.groups["billing"]
    gone = dataclasses.replace(PLAN, entries=tuple(dataclasses.replace(each, expected=None) for each in PLAN.entries))
    commit(gone, cluster.saved, CLOUD, REWIND, cluster.save)
    roll_back(cluster.saved, None, CLOUD, NOW, cluster.save)
    assert cluster.groups == BEFORE


@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize("steps", range(5))
def test_a_rollback_that_was_killed_at_any_step_is_finished_by_the_same_again_and_is_no_consumption(
    cluster, steps, again
):
    cluster.protocols = {"billing": "consumer", "shipping": "consumer"}
    commit(PLAN, None, CLOUD, REWIND, cluster.save)
    with cluster.killed_after(steps):
        roll_back(cluster.saved, None, CLOUD, NOW, cluster.save)
    found = {e: cluster.groups.get(e.group, {}).get(e.partition) for e in cluster.saved.entries}
    assert all(e.is_pending(now) if now == e.before else e.explains(now) for e, now in found.items())
    if again:
        outcome = commit(PLAN, cluster.saved, CLOUD, REWIND, cluster.save)
        assert (cluster.groups, outcome.going_on) == (AFTER, {})
    roll_back(cluster.saved, None, CLOUD, NOW, cluster.save)
    assert {group: commits for group, commits in cluster.groups.items() if commits} == BEFORE
    assert all(each.written is None for each in cluster.saved.entries)


def test_what_is_read_back_otherwise_is_an_error_and_no_later_run_takes_it_for_progress(cluster):
    def sync() -> None:
        cluster.groups["shipping"][P0] = CommittedOffset(45, "mirror maker")

    cluster.after_commit = sync
    with pytest.raises(BrokerError, match="shipping orders-0: wanted 40, read back 45 'mirror maker'"):
        commit(PLAN, None, CLOUD, REWIND, cluster.save)
    with pytest.raises(Refused, match="has changed since the plan was made"):
        commit(PLAN, cluster.saved, CLOUD, REWIND, cluster.save)


@pytest.mark.parametrize(
    ("error", "then"),
    [(InvalidFile, "then run the same again, which completes the file"), (Refused, "so a rollback is possible")],
)
@pytest.mark.parametrize("back", [False, True])
def test_a_receipt_that_cannot_be_completed_tells_what_was_written(cluster, back, error, then):
    if back:
        commit(PLAN, None, CLOUD, REWIND, cluster.save)
        cluster.done.clear()

    def save(receipt: Receipt) -> None:
        if len(cluster.done) > 1:
            raise error("r.json cannot be written", why="no space", remedy="free space")
        cluster.save(receipt)

    told = f"3 offsets are written at the destination, and r.json cannot be written: no space. Free space; .*{then}"
    with pytest.raises(error, match=told):
        roll_back(cluster.saved, None, CLOUD, NOW, save) if back else commit(PLAN, None, CLOUD, REWIND, save)
    done = roll_back(cluster.saved, None, CLOUD, NOW, cluster.save) if back else None
    assert done is None or all(each.written is None for each in cluster.saved.entries)


def test_a_group_whose_commits_move_is_refused_before_anything_is_written(cluster):
    def consume() -> None:
        cluster.groups["billing"][P0] = CommittedOffset(cluster.groups["billing"][P0].offset + 1)

    cluster.after_reading = consume
    with pytest.raises(
        GroupBusy, match=r"\(orders-0 from 90 to 91\).*MirrorMaker 2, .*\. Stop that consumer or tool, or"
    ):
        commit(PLAN, None, CLOUD, REWIND, cluster.save)
    assert cluster.done == []


def test_the_destination_is_looked_at_last_before_the_first_write(cluster, monkeypatch):
    def note(name: str) -> t.Callable[..., dict[str, t.Any]]:
        return lambda *_args, **_how: cluster.done.append(name) or {}

    monkeypatch.setattr(SourceWatch, "look", note("source"))
    monkeypatch.setattr(WriteWatch, "look", note("source's logs"))
    cluster.after_reading = note("destination")
    commit(PLAN, None, CLOUD, REWIND, cluster.save)
    first = cluster.done.index("billing orders-0")
    assert cluster.done[:first] == ["destination", "source's logs", "source", "destination", "file"]


def consumed_since(cluster: Cluster, **protocols: str) -> None:
    """Everything was migrated, and shipping has gone on from 40 to 45."""
    commit(PLAN, None, CLOUD, REWIND, cluster.save)
    cluster.groups["shipping"][P0] = CommittedOffset(45)
    cluster.protocols = protocols
    cluster.done.clear()


def test_the_same_offset_under_another_leader_epoch_is_no_change_since_the_plan_was_made(cluster):
    cluster.groups["shipping"] = {P0: CommittedOffset(30, "", 5)}
    plan = only(entry("shipping", P0, 40, CommittedOffset(30, "", 4)))
    assert set(commit(plan, None, CLOUD, NOW, cluster.save).set) == {("shipping", P0)}


def test_a_commit_that_another_tool_has_made_ahead_is_not_taken_for_consumption(cluster):
    consumed_since(cluster)
    for save in (None, cluster.save):
        with pytest.raises(Refused, match="although no consumer has ever joined it: .* skips up to 5 records"):
            commit(PLAN, cluster.saved, CLOUD, NOW, save)
    assert cluster.done == []
    commit(PLAN, cluster.saved, CLOUD, REWIND, cluster.save)
    assert cluster.groups == AFTER


def test_a_reset_is_not_done_twice_where_a_consumer_that_nobody_sees_has_gone_on(cluster):
    reset = entry("billing", P0, 40, CommittedOffset(90), verdict=Verdict.REQUESTED)
    plan = dataclasses.replace(only(reset), source_id="cloud-id")
    commit(plan, None, CLOUD, REWIND, cluster.save)
    cluster.groups["billing"][P0] = CommittedOffset(70)  # by assign()
    outcome = commit(plan, cluster.saved, CLOUD, REWIND, cluster.save)
    assert outcome.set == {} and "has consumed since: left at 70" in outcome.going_on["billing", P0]
    merged = entry("billing", P0, 40, CommittedOffset(90), verdict=Verdict.REQUESTED, origin="old")
    (note,) = commit(dataclasses.replace(plan, entries=(merged,)), cluster.saved, CLOUD, REWIND, None).notes
    assert note.kind is NoteKind.MOVED_BACK and "billing orders-0 (up to 30 records)" in note.text


def test_a_group_that_another_run_has_made_of_others_is_not_set_over_what_these_have_not_consumed(cluster):
    """Two groups of the source get one name in two runs, or two topics do."""

    def plan(offset: int, *sources: tuple[str, str], source_id: str = "onprem-id", expected: int | None = None) -> Plan:
        positions = tuple(SourcePosition(group, TopicPartition(topic, 0), offset) for group, topic in sources)
        seen = None if expected is None else CommittedOffset(expected)
        moved = dataclasses.replace(entry("both", P0, offset, seen), source=positions)
        return dataclasses.replace(only(moved), source_id=source_id)

    first = "both-v1", "orders"
    commit(plan(10, first), None, CLOUD, NOW, cluster.save)
    for consumed in (10, 15):
        cluster.groups["both"][P0] = CommittedOffset(consumed)
        for other in (("both-v2", "orders"), ("both-v1", "visits")):
            told = rf"got offset 10 from both-v1 on orders earlier, and the plan has 20 from {' on '.join(other)} alone"
            with pytest.raises(Refused, match=told):
                commit(plan(20, other, expected=consumed), cluster.saved, CLOUD, NOW, cluster.save)
    for policy in ("rewind", "keep"):  # back: this skips nothing
        cluster.groups["both"][P0] = CommittedOffset(40)
        options = dataclasses.replace(NOW, on_rewind=policy)
        back = commit(plan(20, ("both-v2", "orders"), expected=40), cluster.saved, CLOUD, options, None)
        assert bool(back.set) is (policy == "rewind")
    cluster.groups["both"][P0] = CommittedOffset(15)
    together = plan(20, first, ("both-v2", "orders"), expected=15)
    inside = plan(20, ("both", "orders"), source_id="cloud-id", expected=15)  # a reset
    grown = plan(20, first, expected=15)
    for allowed in (together, inside, grown):
        assert set(commit(allowed, cluster.saved, CLOUD, NOW, None).set) == {("both", P0)}
    roll_back(cluster.saved, None, CLOUD, REWIND, cluster.save)
    assert set(commit(plan(20, ("both-v2", "orders")), cluster.saved, CLOUD, NOW, None).set) == {("both", P0)}


@pytest.mark.parametrize("said", [{}, {"verdict": Verdict.REQUESTED, "reason": Reason.TOPIC_UNIDENTIFIED}])
@pytest.mark.parametrize("now", [90, 30, None])
def test_a_backup_that_is_restored_again_is_restored_as_the_first_time(cluster, now, said):
    def restore(options):
        # While the receipt explains what is there, the plan stays as it is, and so does what it has found.
        found = None if now == 90 else cluster.groups.get("shipping", {}).get(P0)
        plan = dataclasses.replace(only(entry("shipping", P0, 40, found, **said)), source_id="cloud-id")
        return commit(plan, cluster.saved, CLOUD, options, cluster.save)

    restore(NOW)
    cluster.protocols["shipping"] = "consumer"
    cluster.groups["shipping"] = {} if now is None else {P0: CommittedOffset(now)}
    options = dataclasses.replace(NOW, on_advance="fail")
    if now is not None:
        told = f"committed offset {now} would move .* to 40" + (
            ".*has consumed since it was restored" if now == 90 else ""
        )
        with pytest.raises(Refused, match=told):
            restore(options)
        (line,) = restore(dataclasses.replace(NOW, on_rewind="keep", on_advance="keep")).left_out
        assert "skip" not in line and ("has consumed since" in line) is (now == 90)
        cluster.protocols["shipping"] = ""  # nobody has ever joined
        (line,) = restore(dataclasses.replace(NOW, on_rewind="keep", on_advance="keep")).left_out
        assert ("starts now skips up to 50 records" in line) is (now == 90)
        cluster.protocols["shipping"] = "consumer"
        options = dataclasses.replace(NOW, on_rewind="rewind")
    assert set(restore(options).set) == {("shipping", P0)}
    roll_back(cluster.saved, None, CLOUD, NOW, cluster.save)
    assert cluster.groups.get("shipping", {}).get(P0) == (None if now is None else CommittedOffset(now))


@pytest.mark.parametrize(("protocol", "state"), [("consumer", "Empty"), ("consumer", "Stable"), ("", "Stable")])
def test_a_group_that_has_or_had_members_and_consumed_since_is_left_alone_and_said(cluster, protocol, state):
    consumed_since(cluster, shipping=protocol)
    cluster.states["shipping"] = state
    outcome = commit(PLAN, cluster.saved, CLOUD, NOW, cluster.save)
    assert outcome.set == {}
    assert list(outcome.going_on.values()) == ["shipping orders-0: migrated earlier, has consumed since: left at 45"]
    assert outcome.left_out == []


def test_a_group_that_is_left_alone_is_watched_as_one_that_is_written(cluster):
    consumed_since(cluster, shipping="consumer")

    def sync() -> None:
        cluster.groups["shipping"][P0] = CommittedOffset(cluster.groups["shipping"][P0].offset + 1)

    cluster.after_reading = sync
    with pytest.raises(GroupBusy, match=r"group shipping: has commits that move \(orders-0 from 45 to 46\)"):
        commit(PLAN, cluster.saved, CLOUD, NOW, cluster.save)
    skip = dataclasses.replace(NOW, on_active_group="skip_group")
    outcome = commit(PLAN, cluster.saved, CLOUD, skip, cluster.save)
    assert outcome.active_groups == ["shipping"]
    assert (cluster.done, outcome.set) == ([], {})


def test_a_consumer_that_joins_a_group_that_is_left_alone_is_no_hindrance(cluster):
    consumed_since(cluster, shipping="consumer")

    def join() -> None:
        cluster.states["shipping"] = "Stable"
        cluster.groups["shipping"][P0] = CommittedOffset(46)

    cluster.after_reading = join
    assert commit(PLAN, cluster.saved, CLOUD, NOW, cluster.save).active_groups == []


def test_who_would_go_back_after_a_commit_that_was_killed_is_told_that_it_may_have_consumed_since(cluster):
    with cluster.killed_after(1):
        set_to(cluster, 40)
    cluster.groups["mailing"] = {P0: CommittedOffset(95)}
    again = only(entry("mailing", P0, 40, CommittedOffset(95)))
    with pytest.raises(Refused, match="95 would move back to 40") as found:
        commit(again, cluster.saved, CLOUD, NOW, cluster.save)
    assert "the receipt does not say whether it has consumed since" in str(found.value.why)


@pytest.mark.parametrize("is_killed", [True, False])
def test_only_after_a_commit_that_was_read_back_may_the_old_group_be_gone(cluster, monkeypatch, is_killed):
    """An earlier run may have removed it, once its new group had the offset; this has expired since."""
    monkeypatch.setattr(source_watch, "groups", MemoryGroups({}))
    renamed = only(entry("mailing", P0, 40, None, origin="letters"), source_id="cloud-id")
    if is_killed:
        with cluster.killed_after(1):
            commit(renamed, None, CLOUD, NOW, cluster.save)
        with pytest.raises(GroupBusy, match="group letters: .* orders-0"):
            commit(renamed, cluster.saved, CLOUD, REWIND, cluster.save, source=CLOUD)
    else:
        commit(renamed, None, CLOUD, NOW, cluster.save)
        del cluster.groups["mailing"]
        assert commit(renamed, cluster.saved, CLOUD, REWIND, cluster.save, source=CLOUD).set


@pytest.mark.parametrize("earlier_group", ["shipping", "billing"])
def test_a_group_whose_commits_are_gone_is_not_migrated_again_in_silence(cluster, earlier_group):
    """They have expired, or the group was removed or renamed, by whatever tool."""
    commit(PLAN, None, CLOUD, REWIND, cluster.save, now=1_764_086_400)
    cluster.groups.pop(earlier_group)
    cluster.done.clear()
    for save in (None, cluster.save):
        with pytest.raises(Refused, match=f"{earlier_group}, .* on 2025-11-25T16:00:00Z, and has no committed offset"):
            commit(PLAN, cluster.saved, CLOUD, NOW, save)
    kept = commit(PLAN, cluster.saved, CLOUD, dataclasses.replace(NOW, on_rewind="keep"), cluster.save)
    assert all("left without one (on_rewind: keep)" in line for line in kept.left_out) and kept.left_out
    assert cluster.done == []
    commit(PLAN, cluster.saved, CLOUD, REWIND, cluster.save)
    assert cluster.groups == AFTER


def test_a_plan_that_moves_every_group_back_asks_whether_the_clusters_are_swapped(cluster):
    back = only(entry("billing", P0, 50, CommittedOffset(90)), entry("billing", P1, 3, CommittedOffset(10, "old")))
    told = (
        "committed offset 90 would move back to 50; partition 1: .* back to 3: at the destination, every group has gone "
        r"further than the plan: source and destination may be swapped\. Set on_rewind to rewind to allow it"
    )
    with pytest.raises(Refused, match=told):
        commit(back, None, CLOUD, NOW, cluster.save)
    with pytest.raises(Refused, match=r"move back to 50\. Set on_rewind"):
        commit(PLAN, None, CLOUD, NOW, cluster.save)
    reset = only(dataclasses.replace(PLAN.entries[0], verdict=Verdict.REQUESTED, evidence=Evidence()))
    with pytest.raises(Refused, match=r"move back to 50\. Set on_rewind"):
        commit(reset, None, CLOUD, NOW, cluster.save)
    restore = dataclasses.replace(back, source_id=back.destination_id)
    with pytest.raises(Refused, match=r"move back to 50; partition 1: .* move back to 3\. Set on_rewind"):
        commit(restore, None, CLOUD, NOW, cluster.save)


def test_a_group_that_can_hold_no_offsets_needs_another_name_and_is_not_in_use(cluster):
    cluster.protocols["billing"] = "connect"
    told = "billing: is the group of Kafka Connect's workers.* another name by group_map, or delete the one that is there, or"
    with pytest.raises(GroupBusy, match=told) as refused:
        commit(PLAN, None, CLOUD, REWIND, cluster.save)
    assert (refused.value.kind, cluster.done) == ("invalid_option", [])


def test_members_are_named_before_whatever_else_a_run_would_be_refused_for(cluster):
    cluster.states["billing"] = "Stable"
    told = r"group billing: has members \(its state is Stable\): client till-7 on 10\.0\.0\.7\. Stop .* session timeout"
    with pytest.raises(GroupBusy, match=told):
        commit(PLAN, None, CLOUD, NOW, cluster.save)
    cluster.states["billing"] = "Empty"
    with pytest.raises(Refused, match="would move back to 50"):
        commit(PLAN, None, CLOUD, NOW, cluster.save)
    assert cluster.done == []
    consumed_since(cluster, shipping="consumer")
    cluster.states["shipping"] = "Stable"
    with pytest.raises(GroupBusy, match="group shipping: has members"):
        roll_back(cluster.saved, None, CLOUD, NOW, cluster.save)
    assert cluster.done == []


RETURNED = (
    "was returned to the source, where the consumers go on at the offsets of the return; this rollback changes nothing"
)
UNKNOWN = (
    r"although no consumer has ever joined it: a tool, another run or a consumer that uses assign\(\) has committed"
)


@pytest.mark.parametrize(
    ("joined", "returned", "of_all", "of_shipping"),
    [
        (
            ("billing", "shipping"), (),
            "the groups have consumed up to 12 records at the destination since",
            "committed offset 45 would be removed: the group has consumed up to 5 records",
        ),
        (
            ("billing", "shipping"), {"shipping"},
            f"billing has consumed up to 7 records at the destination .* again; shipping {RETURNED}",
            f"would be removed: the group {RETURNED}",
        ),
        (
            ("billing",), (),
            f"billing has consumed up to 7 records at the .*; shipping has committed up to 5 records more since, {UNKNOWN}.",
            "would be removed: the group has committed up to 5 records more since",
        ),
    ],
    ids=["consumed", "returned since", "nobody knows what is consumed"],
)  # fmt: skip
def test_a_rollback_is_refused_with_what_it_repeats(cluster, joined, returned, of_all, of_shipping):
    consumed_since(cluster, **dict.fromkeys(joined, "consumer"))
    cluster.groups["billing"][P1] = CommittedOffset(57)
    for selection, told in ((None, of_all), (ONLY_SHIPPING, of_shipping)):
        with pytest.raises(Refused, match=told):
            roll_back(cluster.saved, selection, CLOUD, NOW, cluster.save, returned)
    assert cluster.done == []


def test_inside_one_cluster_it_is_refused_with_what_it_repeats_since_the_run(cluster, variables):
    consumed_since(cluster, shipping="consumer")
    variables({"cluster": "group_clone_cluster"})
    with pytest.raises(
        Refused, match="the group has consumed up to 5 records since the run that is rolled back; after"
    ):
        roll_back(cluster.saved, ONLY_SHIPPING, CLOUD, NOW, cluster.save)


def test_a_group_in_use_can_be_left_out_as_a_whole_whatever_its_members_commit(cluster):
    cluster.states["billing"] = "Stable"
    in_use = cluster.groups["billing"] | {P0: CommittedOffset(91)}
    cluster.groups["billing"] = dict(in_use)
    options = dataclasses.replace(NOW, on_active_group="skip_group")
    predicted = commit(PLAN, None, CLOUD, options, None)
    outcome = commit(PLAN, None, CLOUD, options, cluster.save)
    assert outcome.left_out == predicted.left_out
    assert cluster.groups == {"billing": in_use, "shipping": AFTER["shipping"]}
    (line,) = outcome.left_out
    assert re.fullmatch(
        r"billing: has members .*: client till-7 on .*: left out \(on_active_group: skip_group\).*", line
    )
    assert [each.group for each in cluster.saved.entries] == ["shipping"]
    assert outcome.active_groups == predicted.active_groups == ["billing"]


def test_a_group_in_use_that_has_consumed_since_it_was_migrated_waits_for_nothing(migrated):
    migrated.groups["shipping"][P0] = CommittedOffset(45)
    migrated.states["shipping"] = "Stable"
    options = dataclasses.replace(REWIND, on_active_group="skip_group")
    outcome = commit(PLAN, migrated.saved, CLOUD, options, None)
    assert [line.partition(":")[0] for line in outcome.left_out] == ["shipping"] and outcome.active_groups == []


IN_USE = {"states": {"shipping": "Stable"}, "groups": {"shipping": {}}}


@pytest.mark.parametrize(
    ("plan", "arrange", "told"),
    [
        (
            dataclasses.replace(PLAN, destination_id="other-id"), {},
            "was made for another cluster: this one has the id cloud-id, not other-id",
        ),
        (only(entry("shipping", P0, 40, None, metadata="m" * 4097)), {}, "metadata of 4097 characters is too long"),
        (only(SHIPPING), {"rights": {"DELETE"}}, "needs ACL GROUP READ on shipping, TOPIC READ on or"),
        (only(SHIPPING), IN_USE, "has members"),
        (
            only(entry("shipping", P0, 100, None)), {},
            "is not between the log's start.*the plan was edited, or the topic was truncated.*Plan again",
        ),
        (only(entry("billing", P0, 50, CommittedOffset(90))), {}, "would move back to 50.*on_rewind"),
        (
            only(*PLAN.entries, entry("x", P0, None, None, reason=Reason.BEYOND_END)), {},
            "1 of 4 group-partitions of the plan is blocked",
        ),
        (
            only(entry("shipping", P0, 7, None, evidence=Evidence())), {},
            "1 of 1 group-partition of the plan is called exact, and nothing says how that is known.*Plan again",
        ),
        (only(entry("shipping", P0, 40, CommittedOffset(3))), {}, "has changed since the plan was made"),
    ],
)  # fmt: skip
def test_a_dry_run_refuses_what_the_run_refuses_and_neither_saves_a_receipt(cluster, plan, arrange, told):
    for name, value in arrange.items():
        setattr(cluster, name, value)
    before, said = {name: dict(its) for name, its in cluster.groups.items()}, []
    for save in (None, cluster.save):
        with pytest.raises(MigrationError, match=told) as refused:
            commit(plan, None, CLOUD, NOW, save)
        said.append(str(refused.value))
    assert said[0] == said[1]
    assert (cluster.done, cluster.saved, cluster.groups) == ([], None, before)


def test_how_much_was_deleted_after_an_offset_since_the_plan_was_made_is_told_for_each_group_partition(cluster):
    cluster.identities.traits["cloud-id"] = Traits(
        ("a:1",), {"orders": "x"}, {"orders": (LogRange(45, 99), LogRange(0, 99))}
    )
    plan = only(entry("billing", P0, 42, CommittedOffset(90)), SHIPPING)
    with pytest.raises(Refused) as refused:
        commit(plan, None, CLOUD, REWIND, cluster.save)
    for told in (
        "group billing, partition 0: offset 42 is not between the log's start 45",
        "up to 3 records from this offset on were deleted",
        "group shipping, partition 0: offset 40",
        "up to 5 records from this offset on were deleted",
        "Plan again: what the source still has of them is absent then, and on_absent decides about it",
    ):
        assert told in str(refused.value)
    assert cluster.done == []


def test_no_new_plan_is_asked_for_where_retention_has_deleted_what_was_copied_for_an_expired_commit(cluster):
    """A copy has one plan, with the same offsets whenever it is made."""
    copied = Evidence(certificate=CertificateName.OWN_COPY)
    plan = only(entry("shipping", P0, 40, None, evidence=copied))
    commit(plan, None, CLOUD, NOW, cluster.save)
    cluster.identities.traits["cloud-id"] = Traits(("a:1",), {"orders": "x"}, {"orders": (LogRange(45, 99),)})
    del cluster.groups["shipping"]
    with pytest.raises(Refused, match="up to 5 records .* deleted.*Set on_rewind to keep .* --to-earliest") as refused:
        commit(plan, cluster.saved, CLOUD, REWIND, cluster.save)
    assert "lan again" not in str(refused.value)
    commit(plan, cluster.saved, CLOUD, dataclasses.replace(NOW, on_rewind="keep"), cluster.save)
    assert "shipping" not in cluster.groups
    with pytest.raises(
        Refused, match="Plan again"
    ):  # it was never set: the next run of the copy says how to begin anew
        commit(plan, None, CLOUD, NOW, cluster.save)


def test_a_receipt_of_another_cluster_is_refused(cluster):
    with pytest.raises(Refused, match="receipt was made for another cluster.* Correct the addresses if they are wrong"):
        commit(PLAN, Receipt("other-id"), CLOUD, REWIND, cluster.save)
    with pytest.raises(
        Refused, match="9092: the receipt of/x.json was made for another cluster.*; or correct the path"
    ):
        roll_back(Receipt("other-id", path="of/x.json"), None, CLOUD, REWIND, cluster.save)
    assert cluster.done == []


def test_a_plan_is_applied_only_while_the_source_stands_where_it_stood(cluster):
    snapshot = Snapshot("onprem-id", (), ())
    with pytest.raises(Refused, match="the selected groups .* are not those that the plan was made for"):
        commit(PLAN, None, CLOUD, REWIND, cluster.save, snapshot)
    assert cluster.done == []
    entries = [
        SnapshotEntry(at.group, at.partition, CommittedOffset(at.offset))
        for entry in PLAN.entries
        for at in entry.source
    ]
    snapshot = Snapshot("onprem-id", (), tuple(entries))
    commit(dataclasses.replace(PLAN, snapshot=snapshot.digest()), None, CLOUD, REWIND, cluster.save, snapshot)
    assert cluster.groups == AFTER


def test_a_group_whose_line_somebody_has_removed_from_the_plan_may_not_start(cluster):
    """Without an offset, a consumer of this partition would start by auto.offset.reset."""
    entries = tuple(
        entry(new, P0, 40, None, origin=old) for new, old in (("new-billing", "billing"), ("shipping", "shipping"))
    )
    taken = [("billing", P0), ("billing", P1), ("gone", P0), ("shipping", P0)]
    commits = tuple(SnapshotEntry(group, at, CommittedOffset(7)) for group, at in taken)
    snapshot = Snapshot("onprem-id", (), commits)
    plan = dataclasses.replace(PLAN, entries=entries, snapshot=snapshot.digest())
    skip = dataclasses.replace(REWIND, on_missing_entry="skip")
    outcome = commit(plan, None, CLOUD, skip, cluster.save, snapshot)
    assert outcome.may_start(entries) == ["shipping"]
    assert outcome.may_not_start(entries) == {"new-billing", "gone"}


def test_a_plan_without_a_snapshot_has_what_is_selected_and_nothing_else(cluster):
    with pytest.raises(Refused, match="the plan has 1 group that is not selected: billing"):
        commit(PLAN, None, CLOUD, REWIND, None, selection=ONLY_SHIPPING)
    audit = Selection(groups=("audit", "billing", "shipping"))
    outcome = commit(PLAN, None, CLOUD, REWIND, None, selection=audit)
    assert (outcome.left_out, outcome.may_not_start(PLAN.entries)) == (["audit: not in the plan"], {"audit"})


def test_a_group_of_which_nothing_was_taken_may_not_start(cluster):
    """None of its topics is selected, so its consumers would start by auto.offset.reset."""
    entries = tuple(
        entry(new, P0, 40, None, origin=old) for new, old in (("audit", "billing"), ("shipping", "shipping"))
    )
    groups = tuple(SnapshotGroup(name, "classic") for name in ("audit", "billing", "fraud", "shipping"))
    commits = tuple(SnapshotEntry(group, P0, CommittedOffset(7)) for group in ("billing", "shipping"))
    snapshot = Snapshot("onprem-id", groups, commits, left_out=("fraud: none of its topics is selected",))
    plan = dataclasses.replace(PLAN, entries=entries, snapshot=snapshot.digest())
    outcome = commit(plan, None, CLOUD, REWIND, cluster.save, snapshot)
    assert outcome.may_start(entries) == ["audit", "shipping"]
    assert outcome.may_not_start(entries) == {"fraud"}


RENEW = dataclasses.replace(REWIND, on_expiring="renew")
OTHER = TopicPartition("clicks", 0)


@pytest.fixture
def old_group(cluster):
    """Billing had members once, and has committed on a topic that no plan is about."""
    cluster.protocols["billing"] = "consumer"
    cluster.groups["billing"][OTHER] = CommittedOffset(7, "other", 3)
    return cluster


RENEWED = {**AFTER, "billing": {**AFTER["billing"], OTHER: CommittedOffset(7, "other", 3)}}


def test_only_what_has_its_offset_or_has_gone_on_stands(cluster):
    cluster.states["billing"] = "Stable"
    skips = dataclasses.replace(REWIND, on_active_group="skip_group")
    assert len(commit(PLAN, None, CLOUD, skips, None).standing(PLAN.entries)) == 1  # billing is left out
    cluster.states["billing"] = "Empty"
    commit(PLAN, None, CLOUD, REWIND, cluster.save)
    cluster.groups["shipping"][P0] = CommittedOffset(45)
    cluster.protocols["shipping"] = "consumer"
    again = commit(PLAN, cluster.saved, CLOUD, NOW, cluster.save)
    assert (again.set, len(again.standing(PLAN.entries)), len(again.going_on)) == ({}, 2, 1)


def test_what_a_rewind_repeats_is_noted_and_is_no_matter_of_the_plan(cluster):
    for save in (None, cluster.save):
        (note,) = commit(PLAN, None, CLOUD, REWIND, save).notes
        assert (note.kind, note.text.rpartition(": ")[2]) == (
            NoteKind.MOVED_BACK,
            "billing orders-0 (up to 40 records).",
        )


def test_a_commit_that_is_gone_is_noted_with_what_writing_it_again_repeats(migrated):
    del migrated.groups["shipping"]
    outcome = commit(PLAN, migrated.saved, CLOUD, REWIND, None)
    assert [note.text.rpartition(": ")[2] for note in outcome.notes] == ["shipping orders-0 (up to 59 records)."]


def test_a_group_whose_commits_expire_by_an_old_clock_is_named(old_group):
    told = r"^Empty now, and had members: billing\. .* expire offsets.retention.minutes \(10080\) after"
    for save in (None, old_group.save):
        note = commit(PLAN, None, CLOUD, REWIND, save).notes[-1]
        assert note.kind is NoteKind.OFFSETS_EXPIRE and re.match(told, note.text)
    assert old_group.protocols == {"billing": "consumer"}
    old_group.retention = None
    note = commit(PLAN, old_group.saved, CLOUD, REWIND, None).notes[-1]
    assert "expire offsets.retention.minutes after" in note.text
    old_group.keeps_offsets = False  # then what is committed now is kept as long as any
    assert commit(PLAN, old_group.saved, CLOUD, REWIND, None).notes == []


@pytest.mark.parametrize(("state", "protocol", "kind"), [("Empty", "", "classic"), ("Empty", "consumer", "consumer")])
def test_a_group_whose_clock_starts_with_each_commit_is_none_of_them(state, protocol, kind):
    reading = GroupReading("billing", True, state, kind, protocol, {P0: CommittedOffset(1)})
    assert use_case.renewal.expiring({"billing": reading}, ["billing"]) == []
    assert use_case.renewal.expiring({"billing": dataclasses.replace(reading, exists=False)}, ["billing"]) == []


def test_renew_removes_such_a_group_and_makes_it_again_with_all_its_commits(old_group):
    predicted = commit(PLAN, None, CLOUD, RENEW, None)
    assert old_group.done == []
    done = commit(PLAN, None, CLOUD, RENEW, old_group.save)
    assert predicted == done
    assert old_group.done[:3] == ["file", "billing removed", "billing clicks-0"]
    assert old_group.groups == RENEWED
    assert old_group.saved.renewing == ()
    assert ("billing", OTHER) not in old_group.saved.by_key  # a rollback is not about it
    old_group.done.clear()
    again = commit(PLAN, old_group.saved, CLOUD, RENEW, old_group.save)
    assert (again.set, again.notes, old_group.done) == ({}, [], [])


def test_a_renewal_that_may_lose_what_the_user_does_not_see_says_so(old_group):
    assert commit(PLAN, None, CLOUD, RENEW, None).notes[-1].kind is NoteKind.MOVED_BACK
    old_group.groups["billing"][TopicPartition("payments", 0)] = CommittedOffset(500)
    old_group.hidden = {"payments"}
    for save in (None, old_group.save):
        note = commit(PLAN, None, CLOUD, RENEW, save).notes[-1]
        assert note.kind is NoteKind.COMMITS_HIDDEN and "committed on the others: billing." in note.text
    assert commit(PLAN, old_group.saved, CLOUD, RENEW, None).notes == []  # nothing is renewed


def test_a_group_that_has_consumed_since_is_not_made_again_but_named(old_group):
    """Made again, it would look like one that nobody has ever joined."""
    commit(PLAN, None, CLOUD, REWIND, old_group.save)
    old_group.groups["billing"][P0] = CommittedOffset(55)
    old_group.done.clear()
    for _run in range(2):
        outcome = commit(PLAN, old_group.saved, CLOUD, RENEW, old_group.save)
        assert [note.kind for note in outcome.notes] == [NoteKind.OFFSETS_EXPIRE] and old_group.done == []


def test_a_group_that_has_consumed_on_another_topic_since_is_not_made_again_either(old_group):
    clicks = only(entry("billing", OTHER, 20, CommittedOffset(7, "other", 3)))
    commit(clicks, None, CLOUD, NOW, old_group.save)
    old_group.groups["billing"][OTHER] = CommittedOffset(60)
    commit(PLAN, old_group.saved, CLOUD, RENEW, old_group.save)
    assert old_group.protocols == {"billing": "consumer"}
    again = commit(clicks, old_group.saved, CLOUD, NOW, old_group.save)
    assert "has consumed since: left at 60" in again.going_on["billing", OTHER]


def test_a_group_that_is_right_already_is_renewed_as_well(old_group):
    commit(PLAN, None, CLOUD, REWIND, old_group.save)
    outcome = commit(PLAN, old_group.saved, CLOUD, RENEW, old_group.save)
    assert {group for group, _partition in outcome.set} == {"billing"}
    assert outcome.before == outcome.after
    assert (old_group.groups, old_group.protocols) == (RENEWED, {})


@pytest.mark.parametrize("steps", range(8))
def test_a_renewal_that_was_killed_is_completed_by_the_next_run_or_the_rollback(old_group, steps):
    before = {name: dict(commits) for name, commits in old_group.groups.items()}
    with old_group.killed_after(steps, surely=False):
        commit(PLAN, None, CLOUD, RENEW, old_group.save)
    groups, receipt = {name: dict(commits) for name, commits in old_group.groups.items()}, old_group.saved
    for on_expiring in ("renew", "warn"):
        policies = dataclasses.replace(RENEW, on_expiring=on_expiring)
        commit(PLAN, old_group.saved, CLOUD, policies, old_group.save)
        assert old_group.groups == RENEWED
        assert old_group.saved.renewing == ()
        old_group.groups, old_group.saved = {name: dict(its) for name, its in groups.items()}, receipt
    if receipt is not None:
        roll_back(receipt, None, CLOUD, REWIND, old_group.save)
        assert old_group.groups == before
        assert old_group.saved.renewing == ()


def test_a_wave_of_other_groups_completes_the_renewal_too(old_group):
    with old_group.killed_after(2):
        commit(PLAN, None, CLOUD, RENEW, old_group.save)
    assert "billing" not in old_group.groups
    shipping = only(*PLAN.entries[2:])
    commit(shipping, old_group.saved, CLOUD, NOW, old_group.save)
    assert old_group.groups["billing"] == {**BEFORE["billing"], OTHER: CommittedOffset(7, "other", 3)}


def test_a_group_that_cannot_be_made_again_is_not_removed(old_group):
    old_group.rights.remove("DELETE")
    with pytest.raises(NotAuthorized, match="GROUP DELETE on billing"):
        commit(PLAN, None, CLOUD, RENEW, old_group.save)
    old_group.rights.add("DELETE")
    old_group.groups["billing"][OTHER] = CommittedOffset(7, "x" * 5000)
    with pytest.raises(Refused, match="metadata"):
        commit(PLAN, None, CLOUD, RENEW, old_group.save)
    assert old_group.done == []


def test_a_group_that_is_joined_before_it_is_removed_keeps_what_it_has_and_the_others_are_made_again(old_group):
    old_group.groups["shipping"] = {OTHER: CommittedOffset(8)}
    old_group.protocols["shipping"] = "consumer"

    def join(receipt: Receipt) -> None:
        old_group.save(receipt)
        old_group.states["shipping"] = "Stable"

    with pytest.raises(GroupBusy, match="group shipping: the group cannot be removed"):
        commit(PLAN, None, CLOUD, RENEW, join)
    assert old_group.groups == RENEWED | {"shipping": {OTHER: CommittedOffset(8)}}
    assert {each.group for each in old_group.saved.renewing} == {"shipping"}
    old_group.states.clear()
    commit(PLAN, old_group.saved, CLOUD, RENEW, old_group.save)
    assert old_group.groups == RENEWED | {"shipping": {OTHER: CommittedOffset(8), P0: CommittedOffset(40)}}
    assert old_group.saved.renewing == ()


NOTED = Traits(("a:1",), {"orders": "first"}, {"orders": (LogRange(0, 60), LogRange(0, 60))})
GROWN = {"orders": (LogRange(3, 70), LogRange(0, 60))}
CHANGED = [
    (NOTED._replace(topic_ids={"orders": "second"}), "was deleted and created again.* its id is second, and was first"),
    (NOTED._replace(logs={"orders": (LogRange(0, 60),) * 3}), "has 3 partitions, and had 2 when the plan was made"),
    (NOTED._replace(logs={"orders": (LogRange(0, 60),)}), "has 1 partition, and had 2 when the plan was made"),
    (NOTED._replace(logs={"orders": (LogRange(0, 55), LogRange(0, 60))}), "ends at 55, and ended at 60"),
    (NOTED._replace(topic_ids={}, logs={}), "topic orders of the destination does not exist any more"),
]


def refuses_or_skips(cluster, plan, told, partition):
    """Nothing is written, and with skip_partition nothing for this partition."""
    for save in (None, cluster.save):
        with pytest.raises(Refused, match=told):
            commit(plan, None, CLOUD, REWIND, save)
    assert cluster.done == []
    skipping = dataclasses.replace(REWIND, on_blocked="skip_partition")
    assert partition not in {where for _group, where in commit(plan, None, CLOUD, skipping, cluster.save).set}


@pytest.mark.parametrize(("found", "told"), CHANGED)
def test_a_topic_that_is_not_what_it_was_when_the_plan_was_made_blocks_its_entries(cluster, found, told):
    cluster.identities.traits["cloud-id"] = found
    plan = dataclasses.replace(PLAN, destination_traits=NOTED)
    refuses_or_skips(cluster, plan, f"changed_since_plan: .*{told}", P0)


@pytest.mark.parametrize(
    ("partition", "has"),
    [
        (TopicPartition("orders", 7), "topic orders has 2 partitions"),
        (TopicPartition("odrers", 0), "topic odrers does not exist"),
    ],
)
def test_a_partition_that_only_an_edited_plan_has_blocks_its_entry(cluster, partition, has):
    cluster.identities.traits["cloud-id"] = NOTED
    first, *others = PLAN.entries
    edited = (dataclasses.replace(first, partition=partition), *others)
    plan = dataclasses.replace(PLAN, entries=edited, destination_traits=NOTED)
    told = f"first billing {partition} .*the destination has no partition {partition}: {has}; the plan was edited, or"
    refuses_or_skips(cluster, plan, rf"{told}.*plan again", partition)


def test_an_offset_beyond_the_copy_that_the_evidence_names_was_edited_and_is_not_written(cluster):
    first, *others = PLAN.entries
    evidence = first.evidence._replace(after=Copied(7, 49, "ab" * 16))
    plan = dataclasses.replace(PLAN, entries=(dataclasses.replace(first, evidence=evidence), *others))
    objections = own_objections(plan.entries)
    for save in (None, cluster.save):
        with pytest.raises(Refused, match=r"verification_failed: offset 50 would skip .* at offset 49: .* plan again"):
            commit(plan, None, CLOUD, REWIND, save, objections=objections)
    assert cluster.done == []
    skipping = dataclasses.replace(REWIND, on_blocked="skip_partition")
    done = commit(plan, None, CLOUD, skipping, cluster.save, objections=objections)
    assert done.set.keys() == {("billing", P1), ("shipping", P0)}


def test_a_log_that_has_only_gone_on_blocks_nothing(cluster):
    cluster.identities.traits["cloud-id"] = NOTED._replace(logs=GROWN)
    assert commit(dataclasses.replace(PLAN, destination_traits=NOTED), None, CLOUD, REWIND, cluster.save).set
    assert cluster.saved.traits == Traits(("a:1",), {"orders": "first"})


def test_the_source_is_looked_at_as_well(cluster):
    cluster.identities.id_of = lambda connection: "onprem-id" if connection is ONPREM else "cloud-id"
    cluster.identities.traits["onprem-id"] = NOTED._replace(logs={"orders": (LogRange(0, 60),) * 3})
    plan = dataclasses.replace(PLAN, source_traits=NOTED)
    with pytest.raises(Refused, match="topic orders of the source has 3 partitions, and had 2 when the plan was made"):
        commit(plan, None, CLOUD, REWIND, cluster.save, source=ONPREM)
    with pytest.raises(Refused, match="the plan was made for another cluster.* plan again"):
        commit(PLAN, None, CLOUD, REWIND, cluster.save, source=CLOUD)


@pytest.fixture
def onprem(migrated, monkeypatch):
    """The source of a plan of which nothing is left to write; its consumers have been started again and stopped."""
    migrated.identities.id_of = lambda connection: "cloud-id" if connection is CLOUD else "onprem-id"
    groups = MemoryGroups({"billing": {P0: CommittedOffset(9), P1: CommittedOffset(7)}})
    monkeypatch.setattr(source_watch, "groups", groups)
    return groups


def test_a_group_of_which_nothing_is_left_to_write_is_not_told_to_start_while_it_is_used_at_the_source(
    migrated, onprem
):
    with pytest.raises(GroupBusy, match="group billing: the group is still in use at the source.*orders-0 from 7 to 9"):
        commit(PLAN, migrated.saved, CLOUD, NOW, migrated.save, source=ONPREM)
    skipping = dataclasses.replace(NOW, on_active_source="skip_group")
    outcome = commit(PLAN, migrated.saved, CLOUD, skipping, migrated.save, source=ONPREM)
    assert (outcome.set, outcome.kept_groups) == ({}, ["billing"])
    assert outcome.may_start(PLAN.entries) == ["shipping"]  # which the source does not have any more
    assert "billing: its source group billing has moved since the snapshot" in outcome.left_out[0]
    assert migrated.done == []


@pytest.mark.parametrize("left", [0, 1])
def test_producers_of_a_group_of_which_nothing_or_not_all_is_left_to_write_are_found_as_well(
    migrated, onprem, monkeypatch, left
):
    """Somebody still writes to orders-1, of which billing has the planned offset already, and maybe of orders-0 as well."""
    onprem.groups["billing"][P0] = CommittedOffset(7)  # as planned
    first = dataclasses.replace(PLAN.entries[0], offset=50 if left == 0 else 60)
    plan = dataclasses.replace(PLAN, entries=(first, *PLAN.entries[1:]))
    ends = iter([90, 91])

    def log_ends(_connection, partitions):
        end = next(ends)
        return {at: end if at == P1 else 90 for at in partitions}

    monkeypatch.setattr(write_watch, "positions", types.SimpleNamespace(log_ends=log_ends))
    monkeypatch.setattr(still_written.producers, "last_writers", lambda _connection, _partitions: {})
    fails = dataclasses.replace(NOW, on_still_written=OnStillWritten.FAIL)
    with pytest.raises(Refused, match="producers still write at the source: orders: 1 record"):
        commit(plan, migrated.saved, CLOUD, fails, migrated.save, source=ONPREM)
    assert (len(commit(plan, migrated.saved, CLOUD, NOW, None).set), migrated.done) == (left, [])


def test_such_a_group_that_is_left_out_is_not_made_again_either(migrated, onprem):
    migrated.protocols["billing"] = "consumer"
    skipping = dataclasses.replace(NOW, on_active_source="skip_group", on_expiring="renew")
    outcome = commit(PLAN, migrated.saved, CLOUD, skipping, migrated.save, source=ONPREM)
    assert (outcome.set, outcome.kept_groups, migrated.done) == ({}, ["billing"], [])


def test_a_group_that_has_consumed_at_the_destination_since_is_not_looked_at_again(migrated, onprem):
    migrated.groups["billing"] = {P0: CommittedOffset(60), P1: CommittedOffset(60)}
    migrated.protocols["billing"] = "consumer"
    outcome = commit(PLAN, migrated.saved, CLOUD, NOW, migrated.save, source=ONPREM)
    assert (outcome.kept_groups, outcome.may_start(PLAN.entries)) == ([], ["billing", "shipping"])


def test_a_receipt_knows_nothing_of_a_topic_that_was_created_again(cluster):
    cluster.identities.traits["cloud-id"] = NOTED
    plan = dataclasses.replace(PLAN, destination_traits=NOTED)
    commit(plan, None, CLOUD, REWIND, cluster.save)
    again = NOTED._replace(topic_ids={"orders": "second"})
    cluster.identities.traits["cloud-id"] = again
    with pytest.raises(Refused, match="created again since the commit: its id is second, and was first.*exclude_topic"):
        roll_back(cluster.saved, None, CLOUD, REWIND, cluster.save)
    cluster.groups = {"billing": {P0: CommittedOffset(70)}}
    entries = tuple(dataclasses.replace(each, expected=None) for each in PLAN.entries if each.key != ("billing", P0))
    entries += (dataclasses.replace(PLAN.by_key["billing", P0], expected=CommittedOffset(70)),)
    anew = dataclasses.replace(PLAN, entries=entries, destination_traits=again)
    notes = {note.kind: note.text for note in commit(anew, cluster.saved, CLOUD, REWIND, cluster.save).notes}
    assert "since their groups were set: orders. " in notes[NoteKind.TOPIC_RECREATED]
    assert cluster.saved.by_key["billing", P0].before == CommittedOffset(70)  # 90 was in the old topic
    again = commit(anew, cluster.saved, CLOUD, REWIND, cluster.save).notes
    assert NoteKind.TOPIC_RECREATED not in {note.kind for note in again}
    assert cluster.saved.traits.topic_ids == {"orders": "second"}


def test_a_receipt_of_another_cluster_with_the_same_id_is_refused(cluster):
    cluster.identities.traits["cloud-id"] = NOTED
    commit(PLAN, None, CLOUD, REWIND, cluster.save)
    cluster.identities.traits["cloud-id"] = Traits(("b:1",), {"orders": "another"})
    told = r"has brokers at other addresses and its topic orders is another one \(its id is another, and was first\)"
    with pytest.raises(Refused, match=told):
        commit(PLAN, cluster.saved, CLOUD, REWIND, cluster.save)
    with pytest.raises(Refused, match=told):
        roll_back(cluster.saved, None, CLOUD, REWIND, cluster.save)
