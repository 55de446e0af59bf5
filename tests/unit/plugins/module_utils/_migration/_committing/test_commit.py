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
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing.outcome import (
    CommitOptions,
    CommitOutcome,
)
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
POLICIES = {field.name for field in dataclasses.fields(CommitOptions)}
P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)


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
BEFORE = {"billing": {P0: CommittedOffset(90), P1: CommittedOffset(10, "old")}}
AFTER = {"billing": {P0: CommittedOffset(50), P1: CommittedOffset(50, "new")}, "shipping": {P0: CommittedOffset(40)}}


def options(**policies: t.Any) -> CommitOptions:
    return CommitOptions(**{"idle_wait": 0} | policies)


class Cluster(MemoryGroups):
    """Billing has committed before, shipping never. The file is the receipt; committed offsets expire after a week."""

    def __init__(self, identities: Identities) -> None:
        super().__init__(BEFORE)
        self.identities = identities
        self.retention: int | None = 10_080
        self.keeps_offsets = True  # of groups that have members, as Kafka does since 2.1

    def commit(self, plan: Plan = PLAN, dry: bool = False, save: t.Any = None, **more: t.Any) -> CommitOutcome:
        """What a run does that may rewind, unless `more` says otherwise. more: policies, and arguments of the use case."""
        policies = {"on_rewind": "rewind"} | {name: more.pop(name) for name in POLICIES & more.keys()}
        return commit(plan, self.saved, CLOUD, options(**policies), None if dry else save or self.save, **more)

    def roll_back(
        self, chosen: Selection | None = None, dry: bool = False, save: t.Any = None, **more: t.Any
    ) -> CommitOutcome:
        """The same of a rollback; it may not rewind, unless `more` says so."""
        policies = {name: more.pop(name) for name in POLICIES & more.keys()}
        return roll_back(self.saved, chosen, CLOUD, options(**policies), None if dry else save or self.save, **more)


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


class Group:
    """A group that runs set to an offset, from another cluster or inside this one, and that commits meanwhile."""

    def __init__(self, cluster: Cluster, source_id: str = "onprem-id", name: str = "mailing") -> None:
        self.cluster, self.source_id, self.name = cluster, source_id, name
        cluster.protocols[name] = "consumer"

    def commits(self, offset: int | None) -> None:
        """On its first partition; None: all that it has committed goes."""
        found = self.cluster.groups.get(self.name, {})
        self.cluster.groups[self.name] = {} if offset is None else {**found, P0: CommittedOffset(offset)}

    def set_to(self, offset: int) -> None:
        """A run sets all that the group has committed, or its first partition, to this offset."""
        found = self.cluster.groups.get(self.name) or {P0: None}
        entries = (entry(self.name, at, offset, commit) for at, commit in found.items())
        self.cluster.commit(only(*entries, source_id=self.source_id))

    def killed(self, offset: int, steps: int = 1) -> None:
        """Such a run is killed, before its write or after it (2 steps)."""
        with self.cluster.killed_after(steps):
            self.set_to(offset)

    def refused(self, offset: int) -> None:
        """Such a run writes nothing, because a consumer has joined after its last look."""
        self.cluster.refused = {P0: "UNKNOWN_MEMBER_ID: the group has members"}
        with pytest.raises(BrokerError, match="UNKNOWN_MEMBER_ID"):
            self.set_to(offset)
        self.cluster.refused = {}

    def overtaken(self, offset: int, found: int | None) -> None:
        """Such a run reads something else back than it has written."""
        self.cluster.after_commit = lambda: self.commits(found)
        with pytest.raises(BrokerError, match=f"wanted {offset}, read back {found or 'none'}"):
            self.set_to(offset)
        self.cluster.after_commit = lambda: None

    def rollback_killed(self) -> None:
        with self.cluster.killed_after(1):
            self.cluster.roll_back(on_rewind="rewind")

    def rollback_overtaken(self, found: int) -> None:
        """A rollback reads something else back than it has written, or something where it has removed all."""
        self.cluster.after_commit = lambda: self.commits(found)
        with pytest.raises(BrokerError, match=f"read back {found}"):
            self.cluster.roll_back(on_rewind="rewind")
        self.cluster.after_commit = lambda: None


@pytest.fixture
def mailing(cluster: Cluster) -> Group:
    return Group(cluster)


@pytest.fixture(params=["onprem-id", "cloud-id"])
def set_to_40(request: pytest.FixtureRequest, cluster: Cluster) -> Group:
    """Mailing had committed 10, and was set to 40."""
    its = Group(cluster, request.param)
    its.commits(10)
    its.set_to(40)
    return its


@pytest.fixture
def migrated(cluster):
    """The plan is carried out."""
    cluster.commit()
    cluster.done.clear()
    return cluster


def test_the_receipt_is_on_disk_before_the_first_write_and_complete_after_the_last(cluster):
    cluster.commit()
    assert cluster.done == ["file", "billing orders-0", "billing orders-1", "shipping orders-0", "file"]
    assert cluster.groups == AFTER
    assert [(e.before, e.written, e.after) for e in cluster.saved.entries] == [
        (CommittedOffset(90), CommittedOffset(50), CommittedOffset(50)),
        (CommittedOffset(10, "old"), CommittedOffset(50, "new"), CommittedOffset(50, "new")),
        (None, CommittedOffset(40), CommittedOffset(40)),
    ]


def test_a_prediction_says_what_the_run_says_and_does_nothing(cluster):
    predicted = cluster.commit(dry=True)
    assert cluster.done == []
    assert cluster.groups == BEFORE
    done = cluster.commit()
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
    assert set(cluster.commit(plan, dry=True, on_rewind="fail").set) == {("billing", P1), ("shipping", P0)}
    with pytest.raises(NotFound):
        cluster.commit(plan, on_rewind="fail")
    assert (cluster.done, cluster.groups) == ([], BEFORE)
    cluster.rights = {"DELETE"}  # the ACLs on the topic come with it
    assert set(cluster.commit(only(plan.entries[1]), dry=True, on_rewind="fail").set) == {("billing", P1)}


def test_what_a_verification_objects_to_is_never_written(cluster):
    wrong = {("billing", P1): "5 unconsumed records are skipped"}
    for dry in (True, False):
        with pytest.raises(Refused, match=r"first billing orders-1 \(verification_failed: 5 unconsumed"):
            cluster.commit(dry=dry, objections=wrong)
    assert (cluster.done, cluster.groups) == ([], BEFORE)
    outcome = cluster.commit(objections=wrong, on_blocked="skip_group")
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
    cluster.commit(dry=True, earlier=looked, idle_wait=5)
    assert slept == [5 if moved else 2]
    slept.clear()
    monkeypatch.setattr(time, "sleep", lambda _seconds: cluster.groups["billing"].update({P0: CommittedOffset(92)}))
    with pytest.raises(GroupBusy, match="orders-0 from 90 to 92"):
        cluster.commit(earlier=looked, idle_wait=5)
    assert cluster.done == []


@pytest.mark.parametrize("state", ["Empty", "Stable"])
def test_a_second_run_writes_nothing_and_so_asks_nobody_to_leave(migrated, state):
    migrated.states["billing"] = state
    outcome = migrated.commit()
    assert (migrated.done, outcome.set, outcome.left_out) == ([], {}, [])
    assert outcome.before == outcome.after


def test_a_rollback_puts_back_every_commit_and_removes_what_was_not_there_and_all_can_be_done_again(migrated):
    for _run in range(2):
        outcome = migrated.roll_back()
        assert migrated.groups == BEFORE
        assert outcome.after["shipping", P0] is None
        migrated.done.clear()
        assert migrated.roll_back().set == {}
        assert migrated.done == []
        migrated.commit()
        assert migrated.groups == AFTER


def test_what_is_written_beside_a_refused_commit_is_known_and_what_is_consumed_since_stays(cluster):
    cluster.refused = {P1: "UNKNOWN_TOPIC_OR_PARTITION"}
    with pytest.raises(
        BrokerError, match="group billing, topic orders, partition 1: 1 of 3 commits was refused: UNKNOWN_"
    ):
        cluster.commit()
    assert [entry.is_confirmed for entry in cluster.saved.entries] == [True, False, True]
    cluster.refused = {}
    cluster.groups["billing"][P0] = cluster.groups["shipping"][P0] = CommittedOffset(70)
    cluster.protocols = dict.fromkeys(cluster.groups, "consumer")
    outcome = cluster.commit(on_rewind="fail")
    assert set(outcome.set) == {("billing", P1)} and len(outcome.going_on) == 2
    cluster.roll_back(on_rewind="rewind")
    assert cluster.groups == BEFORE


def test_a_rollback_that_is_refused_in_part_takes_back_the_rest_and_knows_it(migrated):
    recorded = migrated.saved
    migrated.refused = {P1: "UNKNOWN_TOPIC_OR_PARTITION"}
    with pytest.raises(BrokerError, match="1 of 3 commits was refused"):
        migrated.roll_back()
    assert migrated.done[0] == "file"
    assert [entry.written is None for entry in migrated.saved.entries] == [True, False, True]
    assert migrated.saved.entries[1] == recorded.entries[1]
    migrated.refused = {}
    migrated.groups["billing"][P0] = CommittedOffset(95)  # consumed since: no business of the next run
    assert set(migrated.roll_back().set) == {("billing", P1)}
    assert migrated.groups == {"billing": {P0: CommittedOffset(95), P1: CommittedOffset(10, "old")}}


def test_what_a_rollback_without_an_answer_may_have_restored_is_not_taken_for_consumption(migrated):
    migrated.protocols["billing"] = "consumer"
    migrated.unanswered = {"billing"}
    with pytest.raises(BrokerError, match="2 of 3 commits were refused, or had no answer: REQUEST_TIMED_OUT"):
        migrated.roll_back()
    migrated.unanswered = set()
    assert migrated.groups == BEFORE
    with pytest.raises(Refused, match="90 would move back to 50") as found:
        migrated.commit(on_rewind="fail")
    assert "if a rollback was killed, run it again first" in str(found.value.why)
    migrated.roll_back()
    assert all(each.written is None for each in migrated.saved.entries)


ONLY_SHIPPING = Selection(groups=("shipping",))


@pytest.mark.parametrize("source", ["cloud-id", "onprem-id"])
def test_inside_one_cluster_a_rollback_keeps_what_a_group_has_done_since_an_earlier_run(migrated, source):
    migrated.groups["billing"][P0] = CommittedOffset(95)
    found = {name: dict(commits) for name, commits in migrated.groups.items()}
    entries = (entry(name, at, 30, commit) for name, commits in found.items() for at, commit in commits.items())
    later = dataclasses.replace(PLAN, source_id=source, entries=tuple(entries))
    with migrated.killed_after(1):
        migrated.commit(later)
    migrated.commit(later)
    migrated.roll_back()
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
        cluster.commit(only(*entries, source_id="cloud-id"), on_advance="advance")

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
    cluster.roll_back()
    assert cluster.groups == {"billing": right_before}


@pytest.mark.parametrize(("returns", "back"), [(True, 60), (False, 10)])
def test_the_rollback_of_a_second_return_leads_to_what_the_group_has_consumed_since_the_first(cluster, returns, back):
    def run(offset: int, found: int, stood: int) -> None:
        (line,) = only(entry("billing", P1, offset, CommittedOffset(found))).entries
        plan = only(dataclasses.replace(line, source=(SourcePosition("billing", P1, stood),)))
        cluster.commit(plan, returns=returns, on_rewind="fail")

    cluster.groups = {"billing": {P1: CommittedOffset(10)}}
    cluster.protocols["billing"] = "consumer"
    run(20, 10, 7)
    run(30, 20, 8)  # in rounds, for example
    cluster.groups["billing"][P1] = CommittedOffset(60)
    run(90, 60, 80)
    cluster.roll_back()
    assert cluster.groups == {"billing": {P1: CommittedOffset(back)}}


def test_inside_one_cluster_a_run_that_only_adds_partitions_is_rolled_back_with_the_one_before(cluster):
    cloned = [dataclasses.replace(line, source=(SourcePosition("old", line.partition, 7),)) for line in PLAN.entries]
    completed = dataclasses.replace(PLAN, source_id="cloud-id", entries=tuple(cloned))
    begun = dataclasses.replace(completed, entries=completed.entries[:1])
    cluster.protocols["billing"] = "consumer"
    cluster.commit(begun)
    cluster.groups["billing"][P0] = CommittedOffset(95)
    cluster.commit(completed)
    cluster.roll_back(on_rewind="rewind")
    assert cluster.groups["billing"] == BEFORE["billing"]


def test_only_what_is_selected_goes_back_though_the_others_are_in_use_and_have_gone_on(migrated):
    others = [each for each in migrated.saved.entries if each.group != "shipping"]
    migrated.groups["billing"][P0] = CommittedOffset(70)
    migrated.states["billing"] = "Stable"
    predicted = migrated.roll_back(ONLY_SHIPPING, dry=True)
    outcome = migrated.roll_back(ONLY_SHIPPING)
    assert predicted == outcome
    assert outcome.set == {("shipping", P0): None}
    assert migrated.groups == {"billing": {P0: CommittedOffset(70), P1: CommittedOffset(50, "new")}}
    assert [each for each in migrated.saved.entries if each.group != "shipping"] == others
    assert migrated.roll_back(ONLY_SHIPPING).set == {}


def test_the_receipt_says_where_each_entry_comes_from(cluster):
    merged = SourcePosition("old", P0, 7), SourcePosition("old", TopicPartition("clicks", 3), None)
    cluster.commit(only(dataclasses.replace(SHIPPING, source=merged)), on_rewind="fail")
    (line,) = cluster.saved.entries
    assert line.source == (Origin("old", P0), Origin("old", TopicPartition("clicks", 3)))


@pytest.mark.parametrize("why", ["has consumed", "is in use"])
def test_a_group_that_is_left_keeps_its_lines_so_that_a_later_rollback_takes_all_of_it_back(migrated, why):
    # It has consumed up to where one partition stood before, which is not the same as having gone back.
    migrated.groups["billing"] = {P0: CommittedOffset(90), P1: CommittedOffset(60)}
    receipt = migrated.saved
    policies = {"on_rewind": "keep"}
    if why == "is in use":
        migrated.states["billing"] = "Stable"
        policies = {"on_rewind": "rewind", "on_active_group": "skip_group"}
    outcome = migrated.roll_back(Selection(groups=("billing",)), **policies)
    assert outcome.set == {} and outcome.left_out
    assert migrated.saved == receipt
    migrated.states["billing"] = "Empty"
    migrated.groups["billing"][P0] = CommittedOffset(95)
    migrated.roll_back(on_rewind="rewind")
    assert migrated.groups == BEFORE


@pytest.mark.parametrize("right", ["READ", "DELETE"])
def test_a_rollback_is_refused_before_anything_is_written_where_an_acl_is_missing(migrated, right):
    migrated.rights.remove(right)
    for dry in (True, False):
        with pytest.raises(NotAuthorized, match=f"GROUP {right} on {'shipping' if right == 'DELETE' else 'billing'}"):
            migrated.roll_back(dry=dry)
    assert migrated.done == [] and migrated.groups == AFTER


def test_an_offset_after_the_end_is_refused_before_anything_is_written(migrated):
    changed = migrated.saved.entries[0]._replace(before=CommittedOffset(100))
    migrated.saved = migrated.saved.merged([changed])
    with pytest.raises(Refused, match="billing, topic orders, partition 0: offset 100.*is after the log's end 99"):
        migrated.roll_back()
    assert migrated.done == [] and migrated.groups == AFTER


def test_a_group_that_has_other_commits_survives_its_rollback(migrated):
    migrated.groups["shipping"][P1] = CommittedOffset(3)
    (note,) = migrated.roll_back().notes
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
    done = migrated.roll_back()
    assert migrated.groups == {**BEFORE, "shipping": {unseen: CommittedOffset(500)}}
    assert all(each.written is None for each in migrated.saved.entries)
    assert done.after["shipping", P0] is None
    assert migrated.roll_back().set == {}


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
        migrated.roll_back()
    assert migrated.groups == before
    assert asked == ["shipping"]  # its coordinator, because others may be newer
    migrated.hidden = set()
    migrated.done.clear()
    migrated.roll_back()
    assert migrated.groups == BEFORE
    assert [step for step in migrated.done if step.endswith("removed")] == ["shipping removed"]


@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize("steps", range(5))
def test_a_commit_that_was_killed_at_any_step_is_finished_by_the_same_again_and_can_be_rolled_back(
    cluster, steps, again
):
    with cluster.killed_after(steps):
        cluster.commit()
    if again:
        cluster.commit()
        assert cluster.groups == AFTER
        assert all(each.is_confirmed for each in cluster.saved.entries)
    if cluster.saved is not None:
        cluster.roll_back()
    assert cluster.groups == BEFORE


# What a group that had committed `before` has been through, and where a rollback leads.
@pytest.mark.parametrize("before", [None, 10])
@pytest.mark.parametrize(
    ("story", "restored"),
    [
        pytest.param(lambda its: (its.killed(40), its.commits(70), its.set_to(90)), 70, id="consumed, and no run had written"),
        pytest.param(lambda its: (its.refused(40), its.commits(70), its.set_to(90)), 70, id="consumed, as a run was refused"),
        pytest.param(lambda its: (its.set_to(40), its.killed(50), its.set_to(60)), "before", id="killed between two others"),
        pytest.param(
            lambda its: (its.set_to(40), its.overtaken(50, None), its.commits(12), its.set_to(60)), "before",
            id="somebody had removed its commit when it was read back",
        ),
        pytest.param(
            lambda its: (its.set_to(40), its.commits(55), its.rollback_killed()), "before",
            id="its rollback was killed",
        ),
        pytest.param(
            lambda its: (its.set_to(40), its.commits(55), its.rollback_overtaken(55)), "before",
            id="its rollback read back something else",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kills", [0, 1, 2])
def test_a_rollback_restores_what_was_committed_before_the_first_write(mailing, before, story, restored, kills):
    mailing.commits(before)
    story(mailing)
    for kill in range(kills):
        mailing.killed(40)
        mailing.commits(56 + kill)
    mailing.set_to(40)
    assert (
        mailing.cluster.groups["mailing"] == {P0: CommittedOffset(40)}
        and mailing.cluster.saved.entries[-1].is_confirmed
    )
    mailing.cluster.roll_back()
    offset = before if restored == "before" else restored
    assert mailing.cluster.groups.get("mailing", {}) == ({P0: CommittedOffset(offset)} if offset else {})


@pytest.mark.parametrize(
    ("story", "found"),
    [
        pytest.param(lambda its: its.killed(50), 40, id="killed before its write"),
        pytest.param(lambda its: its.killed(50, 2), 50, id="killed after its write"),
        pytest.param(lambda its: (its.killed(50), its.killed(60)), 40, id="killed twice"),
        pytest.param(lambda its: its.refused(50), 40, id="refused"),
    ],
)
def test_a_rollback_needs_no_option_where_the_second_run_has_not_ended(cluster, set_to_40, story, found):
    story(set_to_40)
    assert cluster.groups["mailing"] == {P0: CommittedOffset(found)}
    cluster.roll_back()
    assert cluster.groups == BEFORE | {"mailing": {P0: CommittedOffset(10)}}


@pytest.mark.parametrize(
    ("story", "told"),
    [
        (lambda its: (its.killed(50), its.commits(45)), "45 would move back to 10: the group has consumed up to 5 records"),
        (lambda its: (its.killed(50), its.commits(55)), "55 would move back to 10: the group has consumed up to 15 records"),
        (lambda its: (its.killed(30), its.commits(40)), "40 would move back to 10: the group has consumed up to 10 records"),
        (lambda its: (its.killed(50), its.commits(35)), "the group was set to 40 and has committed 35 now"),
        # It is committed in the moment of the write.
        (lambda its: its.overtaken(50, 45), "group mailing, .* on_rewind"),
        (lambda its: its.overtaken(50, 55), "group mailing, .* on_rewind"),
        (lambda its: (its.overtaken(50, 45), its.killed(60)), "group mailing, .* on_rewind"),
        (lambda its: (its.overtaken(50, 55), its.killed(60)), "group mailing, .* on_rewind"),
    ],
)  # fmt: skip
def test_what_may_be_consumed_is_restored_over_only_where_that_is_asked_for(cluster, set_to_40, story, told):
    story(set_to_40)
    with pytest.raises(Refused, match=told):
        cluster.roll_back()
    cluster.roll_back(on_rewind="rewind")
    assert cluster.groups["mailing"] == {P0: CommittedOffset(10)}


@pytest.mark.parametrize("story", [
    pytest.param(lambda its: (its.set_to(40), its.commits(55), its.set_to(30)), id="two runs"),
    pytest.param(lambda its: (its.set_to(40), its.commits(55), its.rollback_killed(), its.set_to(30)), id="a killed rollback"),
    pytest.param(lambda its: (its.set_to(40), its.killed(80), its.commits(55), its.set_to(20)), id="another run was killed"),
    pytest.param(lambda its: (its.set_to(40), its.killed(80), its.commits(55), its.set_to(80)), id="the same run was killed"),
])  # fmt: skip
def test_inside_one_cluster_a_rollback_leads_back_to_the_moment_before_the_last_run(cluster, story):
    story(Group(cluster, "cloud-id", "billing"))
    cluster.roll_back()
    assert cluster.groups["billing"] == {P0: CommittedOffset(55), P1: CommittedOffset(40)}


def test_what_has_expired_since_a_run_was_killed_is_restored(cluster):
    with cluster.killed_after(1):
        cluster.commit()
    del cluster.groups["billing"]
    gone = dataclasses.replace(PLAN, entries=tuple(dataclasses.replace(each, expected=None) for each in PLAN.entries))
    cluster.commit(gone)
    cluster.roll_back()
    assert cluster.groups == BEFORE


@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize("steps", range(5))
def test_a_rollback_that_was_killed_at_any_step_is_finished_by_the_same_again_and_is_no_consumption(
    cluster, steps, again
):
    cluster.protocols = {"billing": "consumer", "shipping": "consumer"}
    cluster.commit()
    with cluster.killed_after(steps):
        cluster.roll_back()
    found = {e: cluster.groups.get(e.group, {}).get(e.partition) for e in cluster.saved.entries}
    assert all(e.is_pending(now) if now == e.before else e.explains(now) for e, now in found.items())
    if again:
        outcome = cluster.commit()
        assert (cluster.groups, outcome.going_on) == (AFTER, {})
    cluster.roll_back()
    assert {group: commits for group, commits in cluster.groups.items() if commits} == BEFORE
    assert all(each.written is None for each in cluster.saved.entries)


def test_what_is_read_back_otherwise_is_an_error_and_no_later_run_takes_it_for_progress(cluster):
    def sync() -> None:
        cluster.groups["shipping"][P0] = CommittedOffset(45, "mirror maker")

    cluster.after_commit = sync
    with pytest.raises(BrokerError, match="shipping orders-0: wanted 40, read back 45 'mirror maker'"):
        cluster.commit()
    with pytest.raises(Refused, match="has changed since the plan was made"):
        cluster.commit()


@pytest.mark.parametrize(
    ("error", "then"),
    [(InvalidFile, "then run the same again, which completes the file"), (Refused, "so a rollback is possible")],
)
@pytest.mark.parametrize("back", [False, True])
def test_a_receipt_that_cannot_be_completed_tells_what_was_written(cluster, back, error, then):
    if back:
        cluster.commit()
        cluster.done.clear()

    def save(receipt: Receipt) -> None:
        if len(cluster.done) > 1:
            raise error("r.json cannot be written", why="no space", remedy="free space")
        cluster.save(receipt)

    told = f"3 offsets are written at the destination, and r.json cannot be written: no space. Free space; .*{then}"
    with pytest.raises(error, match=told):
        cluster.roll_back(save=save) if back else cluster.commit(save=save)
    done = cluster.roll_back() if back else None
    assert done is None or all(each.written is None for each in cluster.saved.entries)


def test_a_group_whose_commits_move_is_refused_before_anything_is_written(cluster):
    def consume() -> None:
        cluster.groups["billing"][P0] = CommittedOffset(cluster.groups["billing"][P0].offset + 1)

    cluster.after_reading = consume
    with pytest.raises(
        GroupBusy, match=r"\(orders-0 from 90 to 91\).*MirrorMaker 2, .*\. Stop that consumer or tool, or"
    ):
        cluster.commit()
    assert cluster.done == []


def test_the_destination_is_looked_at_last_before_the_first_write(cluster, monkeypatch):
    def note(name: str) -> t.Callable[..., dict[str, t.Any]]:
        return lambda *_args, **_how: cluster.done.append(name) or {}

    monkeypatch.setattr(SourceWatch, "look", note("source"))
    monkeypatch.setattr(WriteWatch, "look", note("source's logs"))
    cluster.after_reading = note("destination")
    cluster.commit()
    first = cluster.done.index("billing orders-0")
    assert cluster.done[:first] == ["destination", "source's logs", "source", "destination", "file"]


def consumed_since(cluster: Cluster, **protocols: str) -> None:
    """Everything was migrated, and shipping has gone on from 40 to 45."""
    cluster.commit()
    cluster.groups["shipping"][P0] = CommittedOffset(45)
    cluster.protocols = protocols
    cluster.done.clear()


def test_a_commit_that_another_tool_has_made_ahead_is_not_taken_for_consumption(cluster):
    consumed_since(cluster)
    for dry in (True, False):
        with pytest.raises(Refused, match="although no consumer has ever joined it: .* skips up to 5 records"):
            cluster.commit(dry=dry, on_rewind="fail")
    assert cluster.done == []
    cluster.commit()
    assert cluster.groups == AFTER


def test_a_reset_is_not_done_twice_where_a_consumer_that_nobody_sees_has_gone_on(cluster):
    reset = entry("billing", P0, 40, CommittedOffset(90), verdict=Verdict.REQUESTED)
    plan = dataclasses.replace(only(reset), source_id="cloud-id")
    cluster.commit(plan)
    cluster.groups["billing"][P0] = CommittedOffset(70)  # by assign()
    outcome = cluster.commit(plan)
    assert outcome.set == {} and "has consumed since: left at 70" in outcome.going_on["billing", P0]
    merged = entry("billing", P0, 40, CommittedOffset(90), verdict=Verdict.REQUESTED, origin="old")
    (note,) = cluster.commit(dataclasses.replace(plan, entries=(merged,)), dry=True).notes
    assert note.kind is NoteKind.MOVED_BACK and "billing orders-0 (up to 30 records)" in note.text


@pytest.mark.parametrize(
    ("source_id", "source", "is_noted"),
    [
        ("cloud-id", {"billing": 90}, False),  # a reset, whose plan has counted what it repeats
        ("cloud-id", {"billing": None}, True),  # a backup has no offset, and on_uncommitted asks for one
        ("cloud-id", {"old-1": 40, "old-2": 30}, True),  # a merge at the highest offset
        ("onprem-id", {"billing": None}, True),  # a migration by on_uncommitted
        ("onprem-id", {"old-1": 40, "old-2": 30}, True),
    ],
)
def test_a_requested_offset_that_takes_a_group_back_is_noted_where_no_plan_has_counted_it(
    cluster, source_id, source, is_noted
):
    positions = tuple(SourcePosition(group, P0, offset) for group, offset in source.items())
    asked = entry("billing", P0, 40, CommittedOffset(90), verdict=Verdict.REQUESTED, repeats=0)
    plan = only(dataclasses.replace(asked, source=positions), source_id=source_id)
    notes = [note.text for note in cluster.commit(plan, dry=True).notes if note.kind is NoteKind.MOVED_BACK]
    assert [("billing orders-0 (up to 50 records)" in text) for text in notes] == [True] * is_noted


def test_the_refusal_to_restore_a_later_offset_says_what_this_skips(cluster):
    cluster.groups["shipping"] = {P0: CommittedOffset(5)}
    given = entry("shipping", P0, 40, CommittedOffset(5))
    told = "offset 5 would move forward to 40: the group then skips up to 35 offsets. Set on_advance to advance to allow it"
    with pytest.raises(Refused, match=told):
        cluster.commit(only(given, source_id="cloud-id"), dry=True, on_advance="fail")
    # A migration moves it to what it has consumed at the source.
    with pytest.raises(Refused, match="offset 5 would move forward to 40. Set"):
        cluster.commit(only(given), dry=True, on_advance="fail")


def test_a_group_that_another_run_has_made_of_others_is_not_set_over_what_these_have_not_consumed(cluster):
    """Two groups of the source get one name in two runs, or two topics do."""

    def plan(offset: int, *sources: tuple[str, str], source_id: str = "onprem-id", expected: int | None = None) -> Plan:
        positions = tuple(SourcePosition(group, TopicPartition(topic, 0), offset) for group, topic in sources)
        seen = None if expected is None else CommittedOffset(expected)
        moved = dataclasses.replace(entry("both", P0, offset, seen), source=positions)
        return dataclasses.replace(only(moved), source_id=source_id)

    first = "both-v1", "orders"
    cluster.commit(plan(10, first), on_rewind="fail")
    for consumed in (10, 15):
        cluster.groups["both"][P0] = CommittedOffset(consumed)
        for other in (("both-v2", "orders"), ("both-v1", "visits")):
            told = rf"got offset 10 from both-v1 on orders earlier, and the plan has 20 from {' on '.join(other)} alone"
            with pytest.raises(Refused, match=told):
                cluster.commit(plan(20, other, expected=consumed), on_rewind="fail")
    for policy in ("rewind", "keep"):  # back: this skips nothing
        cluster.groups["both"][P0] = CommittedOffset(40)
        back = cluster.commit(plan(20, ("both-v2", "orders"), expected=40), dry=True, on_rewind=policy)
        assert bool(back.set) is (policy == "rewind")
    cluster.groups["both"][P0] = CommittedOffset(15)
    together = plan(20, first, ("both-v2", "orders"), expected=15)
    inside = plan(20, ("both", "orders"), source_id="cloud-id", expected=15)  # a reset
    grown = plan(20, first, expected=15)
    for allowed in (together, inside, grown):
        assert set(cluster.commit(allowed, dry=True, on_rewind="fail").set) == {("both", P0)}
    cluster.roll_back(on_rewind="rewind")
    assert set(cluster.commit(plan(20, ("both-v2", "orders")), dry=True, on_rewind="fail").set) == {("both", P0)}


@pytest.mark.parametrize("said", [{}, {"verdict": Verdict.REQUESTED, "reason": Reason.TOPIC_UNIDENTIFIED}])
@pytest.mark.parametrize("now", [90, 30, None])
def test_a_backup_that_is_restored_again_is_restored_as_the_first_time(cluster, now, said):
    def restore(**policies):
        # While the receipt explains what is there, the plan stays as it is, and so does what it has found.
        found = None if now == 90 else cluster.groups.get("shipping", {}).get(P0)
        plan = dataclasses.replace(only(entry("shipping", P0, 40, found, **said)), source_id="cloud-id")
        return cluster.commit(plan, **{"on_rewind": "fail"} | policies)

    restore()
    cluster.protocols["shipping"] = "consumer"
    cluster.groups["shipping"] = {} if now is None else {P0: CommittedOffset(now)}
    if now is not None:
        told = f"committed offset {now} would move .* to 40" + (
            ".*has consumed since it was restored" if now == 90 else ""
        )
        with pytest.raises(Refused, match=told):
            restore(on_advance="fail")
        (line,) = restore(on_rewind="keep", on_advance="keep").left_out
        assert "skip" not in line and ("has consumed since" in line) is (now == 90)
        cluster.protocols["shipping"] = ""  # nobody has ever joined
        (line,) = restore(on_rewind="keep", on_advance="keep").left_out
        assert ("starts now skips up to 50 records" in line) is (now == 90)
        cluster.protocols["shipping"] = "consumer"
    assert set(restore(on_rewind="rewind").set) == {("shipping", P0)}
    cluster.roll_back()
    assert cluster.groups.get("shipping", {}).get(P0) == (None if now is None else CommittedOffset(now))


@pytest.mark.parametrize(("protocol", "state"), [("consumer", "Empty"), ("consumer", "Stable"), ("", "Stable")])
def test_a_group_that_has_or_had_members_and_consumed_since_is_left_alone_and_said(cluster, protocol, state):
    consumed_since(cluster, shipping=protocol)
    cluster.states["shipping"] = state
    outcome = cluster.commit(on_rewind="fail")
    assert outcome.set == {}
    assert list(outcome.going_on.values()) == ["shipping orders-0: migrated earlier, has consumed since: left at 45"]
    assert outcome.left_out == []


def test_a_group_that_is_left_alone_is_watched_as_one_that_is_written(cluster):
    consumed_since(cluster, shipping="consumer")

    def sync() -> None:
        cluster.groups["shipping"][P0] = CommittedOffset(cluster.groups["shipping"][P0].offset + 1)

    cluster.after_reading = sync
    with pytest.raises(GroupBusy, match=r"group shipping: has commits that move \(orders-0 from 45 to 46\)"):
        cluster.commit(on_rewind="fail")
    outcome = cluster.commit(on_rewind="fail", on_active_group="skip_group")
    assert outcome.active_groups == ["shipping"]
    assert (cluster.done, outcome.set) == ([], {})


def test_a_consumer_that_joins_a_group_that_is_left_alone_is_no_hindrance(cluster):
    consumed_since(cluster, shipping="consumer")

    def join() -> None:
        cluster.states["shipping"] = "Stable"
        cluster.groups["shipping"][P0] = CommittedOffset(46)

    cluster.after_reading = join
    assert cluster.commit(on_rewind="fail").active_groups == []


@pytest.mark.parametrize(
    ("story", "why"),
    [
        (lambda its: (its.killed(40), its.commits(95)), "the receipt does not say whether it has consumed since"),
        (
            lambda its: (its.set_to(40), its.commits(95), its.rollback_killed()),
            "if a rollback was killed, run it again first",
        ),
    ],
)
def test_who_would_go_back_after_a_run_that_was_killed_before_its_first_write_is_told_of_it(mailing, story, why):
    story(mailing)
    with pytest.raises(Refused, match="95 would move back to 40") as found:
        mailing.cluster.commit(only(entry("mailing", P0, 40, CommittedOffset(95))), on_rewind="fail")
    assert why in str(found.value.why)


@pytest.mark.parametrize("is_killed", [True, False])
def test_only_after_a_commit_that_was_read_back_may_the_old_group_be_gone(cluster, monkeypatch, is_killed):
    """An earlier run may have removed it, once its new group had the offset; this has expired since."""
    monkeypatch.setattr(source_watch, "groups", MemoryGroups({}))
    renamed = only(entry("mailing", P0, 40, None, origin="letters"), source_id="cloud-id")
    if is_killed:
        with cluster.killed_after(1):
            cluster.commit(renamed, on_rewind="fail")
        with pytest.raises(GroupBusy, match="group letters: .* orders-0"):
            cluster.commit(renamed, source=CLOUD)
    else:
        cluster.commit(renamed, on_rewind="fail")
        del cluster.groups["mailing"]
        assert cluster.commit(renamed, source=CLOUD).set


@pytest.mark.parametrize("earlier_group", ["shipping", "billing"])
def test_a_group_whose_commits_are_gone_is_not_migrated_again_in_silence(cluster, earlier_group):
    """They have expired, or the group was removed or renamed, by whatever tool."""
    cluster.commit(now=1_764_086_400)
    cluster.groups.pop(earlier_group)
    cluster.done.clear()
    for dry in (True, False):
        with pytest.raises(Refused, match=f"{earlier_group}, .* on 2025-11-25T16:00:00Z, and has no committed offset"):
            cluster.commit(dry=dry, on_rewind="fail")
    kept = cluster.commit(on_rewind="keep")
    assert all("left without one (on_rewind: keep)" in line for line in kept.left_out) and kept.left_out
    assert cluster.done == []
    cluster.commit()
    assert cluster.groups == AFTER


def test_a_plan_that_moves_every_group_back_asks_whether_the_clusters_are_swapped(cluster):
    back = only(entry("billing", P0, 50, CommittedOffset(90)), entry("billing", P1, 3, CommittedOffset(10, "old")))
    told = (
        "committed offset 90 would move back to 50; partition 1: .* back to 3: at the destination, every group has gone "
        r"further than the plan: source and destination may be swapped\. Set on_rewind to rewind to allow it"
    )
    with pytest.raises(Refused, match=told):
        cluster.commit(back, on_rewind="fail")
    with pytest.raises(Refused, match=r"move back to 50\. Set on_rewind"):
        cluster.commit(on_rewind="fail")
    reset = only(dataclasses.replace(PLAN.entries[0], verdict=Verdict.REQUESTED, evidence=Evidence()))
    with pytest.raises(Refused, match=r"move back to 50\. Set on_rewind"):
        cluster.commit(reset, on_rewind="fail")
    restore = dataclasses.replace(back, source_id=back.destination_id)
    with pytest.raises(Refused, match=r"move back to 50; partition 1: .* move back to 3\. Set on_rewind"):
        cluster.commit(restore, on_rewind="fail")


def test_a_group_that_can_hold_no_offsets_needs_another_name_and_is_not_in_use(cluster):
    cluster.protocols["billing"] = "connect"
    told = "billing: is the group of Kafka Connect's workers.* another name by group_map, or delete the one that is there, or"
    with pytest.raises(GroupBusy, match=told) as refused:
        cluster.commit()
    assert (refused.value.kind, cluster.done) == ("invalid_option", [])


def test_members_are_named_before_whatever_else_a_run_would_be_refused_for(cluster):
    cluster.states["billing"] = "Stable"
    with pytest.raises(GroupBusy, match=r"group billing: has members .*: client till-7 on .* Stop .* session timeout"):
        cluster.commit(on_rewind="fail")
    cluster.states["billing"] = "Empty"
    with pytest.raises(Refused, match="would move back to 50"):
        cluster.commit(on_rewind="fail")
    assert cluster.done == []
    consumed_since(cluster, shipping="consumer")
    cluster.states["shipping"] = "Stable"
    with pytest.raises(GroupBusy, match="group shipping: has members"):
        cluster.roll_back()
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
            cluster.roll_back(selection, returned=returned)
    assert cluster.done == []


def test_inside_one_cluster_it_is_refused_with_what_it_repeats_since_the_run(cluster, variables):
    consumed_since(cluster, shipping="consumer")
    variables({"cluster": "group_clone_cluster"})
    with pytest.raises(
        Refused, match="the group has consumed up to 5 records since the run that is rolled back; after"
    ):
        cluster.roll_back(ONLY_SHIPPING)


def test_a_group_in_use_can_be_left_out_as_a_whole_whatever_its_members_commit(cluster):
    cluster.states["billing"] = "Stable"
    in_use = cluster.groups["billing"] | {P0: CommittedOffset(91)}
    cluster.groups["billing"] = dict(in_use)
    predicted, outcome = (
        cluster.commit(dry=dry, on_rewind="fail", on_active_group="skip_group") for dry in (True, False)
    )
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
    outcome = migrated.commit(dry=True, on_active_group="skip_group")
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
    for dry in (True, False):
        with pytest.raises(MigrationError, match=told) as refused:
            cluster.commit(plan, dry=dry, on_rewind="fail")
        said.append(str(refused.value))
    assert said[0] == said[1]
    assert (cluster.done, cluster.saved, cluster.groups) == ([], None, before)


def test_how_much_was_deleted_after_an_offset_since_the_plan_was_made_is_told_for_each_group_partition(cluster):
    cluster.identities.traits["cloud-id"] = Traits(
        ("a:1",), {"orders": "x"}, {"orders": (LogRange(45, 99), LogRange(0, 99))}
    )
    plan = only(entry("billing", P0, 42, CommittedOffset(90)), SHIPPING)
    with pytest.raises(Refused) as refused:
        cluster.commit(plan)
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
    cluster.commit(plan, on_rewind="fail")
    cluster.identities.traits["cloud-id"] = Traits(("a:1",), {"orders": "x"}, {"orders": (LogRange(45, 99),)})
    del cluster.groups["shipping"]
    with pytest.raises(Refused, match="up to 5 records .* deleted.*Set on_rewind to keep .* --to-earliest") as refused:
        cluster.commit(plan)
    assert "lan again" not in str(refused.value)
    cluster.commit(plan, on_rewind="keep")
    assert "shipping" not in cluster.groups
    cluster.saved = None  # it was never set: the next run of the copy says how to begin anew
    with pytest.raises(Refused, match="Plan again"):
        cluster.commit(plan, on_rewind="fail")


def test_a_receipt_of_another_cluster_is_refused(cluster):
    cluster.saved = Receipt("other-id", path="of/x.json")
    with pytest.raises(
        Refused, match="receipt of/x.json was made for another cluster.* Correct the addresses if they are wrong"
    ):
        cluster.commit()
    with pytest.raises(
        Refused, match="9092: the receipt of/x.json was made for another cluster.*; or correct the path"
    ):
        cluster.roll_back(on_rewind="rewind")
    assert cluster.done == []


def test_a_group_whose_line_somebody_has_removed_from_the_plan_may_not_start(cluster):
    """Without an offset, a consumer of this partition would start by auto.offset.reset."""
    entries = tuple(
        entry(new, P0, 40, None, origin=old) for new, old in (("new-billing", "billing"), ("shipping", "shipping"))
    )
    taken = [("billing", P0), ("billing", P1), ("gone", P0), ("shipping", P0)]
    commits = tuple(SnapshotEntry(group, at, CommittedOffset(7)) for group, at in taken)
    snapshot = Snapshot("onprem-id", (), commits)
    plan = dataclasses.replace(PLAN, entries=entries, snapshot=snapshot.digest())
    with pytest.raises(Refused, match="no entry for 2 commits of the snapshot"):
        cluster.commit(plan, snapshot=snapshot)
    assert cluster.done == []
    outcome = cluster.commit(plan, snapshot=snapshot, on_missing_entry="skip")
    assert outcome.may_start(entries) == ["shipping"]
    assert outcome.may_not_start(entries) == {"new-billing", "gone"}


def test_a_group_that_is_selected_and_not_in_a_plan_without_a_snapshot_may_not_start(cluster):
    audit = Selection(groups=("audit", "billing", "shipping"))
    outcome = cluster.commit(dry=True, selection=audit)
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
    outcome = cluster.commit(plan, snapshot=snapshot)
    assert outcome.may_start(entries) == ["audit", "shipping"]
    assert outcome.may_not_start(entries) == {"fraud"}


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
    skipped = cluster.commit(dry=True, on_active_group="skip_group")
    assert len(skipped.standing(PLAN.entries)) == 1  # billing is left out
    cluster.states["billing"] = "Empty"
    cluster.commit()
    cluster.groups["shipping"][P0] = CommittedOffset(45)
    cluster.protocols["shipping"] = "consumer"
    again = cluster.commit(on_rewind="fail")
    assert (again.set, len(again.standing(PLAN.entries)), len(again.going_on)) == ({}, 2, 1)


def test_what_is_repeated_is_noted_of_a_rewind_and_of_a_commit_that_is_gone_and_is_no_matter_of_the_plan(cluster):
    for dry in (True, False):
        (note,) = cluster.commit(dry=dry).notes
        assert note.kind is NoteKind.MOVED_BACK and note.text.endswith(": billing orders-0 (up to 40 records).")
    del cluster.groups["shipping"]
    (note,) = cluster.commit(dry=True).notes
    assert note.text.endswith(": shipping orders-0 (up to 59 records).")


def test_a_group_whose_commits_expire_by_an_old_clock_is_named(old_group):
    told = r"^Empty now, and had members: billing\. .* expire offsets.retention.minutes \(10080\) after"
    for dry in (True, False):
        note = old_group.commit(dry=dry).notes[-1]
        assert note.kind is NoteKind.OFFSETS_EXPIRE and re.match(told, note.text)
    assert old_group.protocols == {"billing": "consumer"}
    old_group.retention = None
    note = old_group.commit(dry=True).notes[-1]
    assert "expire offsets.retention.minutes after" in note.text
    old_group.keeps_offsets = False  # then what is committed now is kept as long as any
    assert old_group.commit(dry=True).notes == []


@pytest.mark.parametrize(("state", "protocol", "kind"), [("Empty", "", "classic"), ("Empty", "consumer", "consumer")])
def test_a_group_whose_clock_starts_with_each_commit_is_none_of_them(state, protocol, kind):
    reading = GroupReading("billing", True, state, kind, protocol, {P0: CommittedOffset(1)})
    assert use_case.renewal.expiring({"billing": reading}, ["billing"]) == []
    assert use_case.renewal.expiring({"billing": dataclasses.replace(reading, exists=False)}, ["billing"]) == []


def test_renew_removes_such_a_group_and_makes_it_again_with_all_its_commits(old_group):
    predicted = old_group.commit(dry=True, on_expiring="renew")
    assert old_group.done == []
    done = old_group.commit(on_expiring="renew")
    assert predicted == done
    assert old_group.done[:3] == ["file", "billing removed", "billing clicks-0"]
    assert old_group.groups == RENEWED
    assert old_group.saved.renewing == ()
    assert ("billing", OTHER) not in old_group.saved.by_key  # a rollback is not about it
    old_group.done.clear()
    again = old_group.commit(on_expiring="renew")
    assert (again.set, again.notes, old_group.done) == ({}, [], [])


def test_a_renewal_that_may_lose_what_the_user_does_not_see_says_so(old_group):
    assert old_group.commit(dry=True, on_expiring="renew").notes[-1].kind is NoteKind.MOVED_BACK
    old_group.groups["billing"][TopicPartition("payments", 0)] = CommittedOffset(500)
    old_group.hidden = {"payments"}
    for dry in (True, False):
        note = old_group.commit(dry=dry, on_expiring="renew").notes[-1]
        assert note.kind is NoteKind.COMMITS_HIDDEN and "committed on the others: billing." in note.text
    assert old_group.commit(dry=True, on_expiring="renew").notes == []  # nothing is renewed


def test_a_group_that_has_consumed_since_is_not_made_again_but_named(old_group):
    """Made again, it would look like one that nobody has ever joined."""
    old_group.commit()
    old_group.groups["billing"][P0] = CommittedOffset(55)
    old_group.done.clear()
    for _run in range(2):
        outcome = old_group.commit(on_expiring="renew")
        assert [note.kind for note in outcome.notes] == [NoteKind.OFFSETS_EXPIRE] and old_group.done == []


def test_a_group_that_has_consumed_on_another_topic_since_is_not_made_again_either(old_group):
    clicks = only(entry("billing", OTHER, 20, CommittedOffset(7, "other", 3)))
    old_group.commit(clicks, on_rewind="fail")
    old_group.groups["billing"][OTHER] = CommittedOffset(60)
    old_group.commit(on_expiring="renew")
    assert old_group.protocols == {"billing": "consumer"}
    again = old_group.commit(clicks, on_rewind="fail")
    assert "has consumed since: left at 60" in again.going_on["billing", OTHER]


def test_a_group_that_is_right_already_is_renewed_as_well(old_group):
    old_group.commit()
    outcome = old_group.commit(on_expiring="renew")
    assert {group for group, _partition in outcome.set} == {"billing"}
    assert outcome.before == outcome.after
    assert (old_group.groups, old_group.protocols) == (RENEWED, {})


@pytest.mark.parametrize("steps", range(8))
def test_a_renewal_that_was_killed_is_completed_by_the_next_run_or_the_rollback(old_group, steps):
    before = {name: dict(commits) for name, commits in old_group.groups.items()}
    with old_group.killed_after(steps, surely=False):
        old_group.commit(on_expiring="renew")
    groups, receipt = {name: dict(commits) for name, commits in old_group.groups.items()}, old_group.saved
    for on_expiring in ("renew", "warn"):
        old_group.commit(on_expiring=on_expiring)
        assert old_group.groups == RENEWED
        assert old_group.saved.renewing == ()
        old_group.groups, old_group.saved = {name: dict(its) for name, its in groups.items()}, receipt
    if receipt is not None:
        old_group.roll_back(on_rewind="rewind")
        assert old_group.groups == before
        assert old_group.saved.renewing == ()


def test_a_wave_of_other_groups_completes_the_renewal_too(old_group):
    with old_group.killed_after(2):
        old_group.commit(on_expiring="renew")
    assert "billing" not in old_group.groups
    shipping = only(*PLAN.entries[2:])
    old_group.commit(shipping, on_rewind="fail")
    assert old_group.groups["billing"] == {**BEFORE["billing"], OTHER: CommittedOffset(7, "other", 3)}


def test_a_group_that_cannot_be_made_again_is_not_removed(old_group):
    old_group.rights.remove("DELETE")
    with pytest.raises(NotAuthorized, match="GROUP DELETE on billing"):
        old_group.commit(on_expiring="renew")
    old_group.rights.add("DELETE")
    old_group.groups["billing"][OTHER] = CommittedOffset(7, "x" * 5000)
    with pytest.raises(Refused, match="metadata"):
        old_group.commit(on_expiring="renew")
    assert old_group.done == []


def test_a_group_that_is_joined_before_it_is_removed_keeps_what_it_has_and_the_others_are_made_again(old_group):
    old_group.groups["shipping"] = {OTHER: CommittedOffset(8)}
    old_group.protocols["shipping"] = "consumer"

    def join(receipt: Receipt) -> None:
        old_group.save(receipt)
        old_group.states["shipping"] = "Stable"

    with pytest.raises(GroupBusy, match="group shipping: the group cannot be removed"):
        old_group.commit(save=join, on_expiring="renew")
    assert old_group.groups == RENEWED | {"shipping": {OTHER: CommittedOffset(8)}}
    assert {each.group for each in old_group.saved.renewing} == {"shipping"}
    old_group.states.clear()
    old_group.commit(on_expiring="renew")
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
    for dry in (True, False):
        with pytest.raises(Refused, match=told):
            cluster.commit(plan, dry=dry)
    assert cluster.done == []
    assert partition not in {where for _group, where in cluster.commit(plan, on_blocked="skip_partition").set}


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
    for dry in (True, False):
        with pytest.raises(Refused, match=r"verification_failed: offset 50 would skip .* at offset 49: .* plan again"):
            cluster.commit(plan, dry=dry, objections=objections)
    assert cluster.done == []
    done = cluster.commit(plan, objections=objections, on_blocked="skip_partition")
    assert done.set.keys() == {("billing", P1), ("shipping", P0)}


def test_a_log_that_has_only_gone_on_blocks_nothing(cluster):
    cluster.identities.traits["cloud-id"] = NOTED._replace(logs=GROWN)
    assert cluster.commit(dataclasses.replace(PLAN, destination_traits=NOTED)).set
    assert cluster.saved.traits == Traits(("a:1",), {"orders": "first"})


def test_the_source_is_looked_at_as_well(cluster):
    cluster.identities.id_of = lambda connection: "onprem-id" if connection is ONPREM else "cloud-id"
    cluster.identities.traits["onprem-id"] = NOTED._replace(logs={"orders": (LogRange(0, 60),) * 3})
    plan = dataclasses.replace(PLAN, source_traits=NOTED)
    with pytest.raises(Refused, match="topic orders of the source has 3 partitions, and had 2 when the plan was made"):
        cluster.commit(plan, source=ONPREM)
    with pytest.raises(Refused, match="the plan was made for another cluster.* plan again"):
        cluster.commit(source=CLOUD)


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
    told = "group billing: the group is still in use at the source.*orders-0 from 7 to 9"
    with pytest.raises(GroupBusy, match=told):
        migrated.commit(source=ONPREM, on_rewind="fail")
    migrated.protocols["billing"] = "consumer"  # it is not made again either
    for more in ({}, {"on_expiring": "renew"}):
        outcome = migrated.commit(source=ONPREM, on_rewind="fail", on_active_source="skip_group", **more)
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
    with pytest.raises(Refused, match="producers still write at the source: orders: 1 record"):
        migrated.commit(plan, source=ONPREM, on_still_written=OnStillWritten.FAIL)
    assert (len(migrated.commit(plan, dry=True, on_rewind="fail").set), migrated.done) == (left, [])


def test_a_group_that_has_consumed_at_the_destination_since_is_not_looked_at_again(migrated, onprem):
    migrated.groups["billing"] = {P0: CommittedOffset(60), P1: CommittedOffset(60)}
    migrated.protocols["billing"] = "consumer"
    outcome = migrated.commit(source=ONPREM, on_rewind="fail")
    assert (outcome.kept_groups, outcome.may_start(PLAN.entries)) == ([], ["billing", "shipping"])


def test_a_receipt_knows_nothing_of_a_topic_that_was_created_again(cluster):
    cluster.identities.traits["cloud-id"] = NOTED
    plan = dataclasses.replace(PLAN, destination_traits=NOTED)
    cluster.commit(plan)
    again = NOTED._replace(topic_ids={"orders": "second"})
    cluster.identities.traits["cloud-id"] = again
    with pytest.raises(Refused, match="created again since the commit: its id is second, and was first.*exclude_topic"):
        cluster.roll_back(on_rewind="rewind")
    cluster.groups = {"billing": {P0: CommittedOffset(70)}}
    entries = tuple(dataclasses.replace(each, expected=None) for each in PLAN.entries if each.key != ("billing", P0))
    entries += (dataclasses.replace(PLAN.by_key["billing", P0], expected=CommittedOffset(70)),)
    anew = dataclasses.replace(PLAN, entries=entries, destination_traits=again)
    notes = {note.kind: note.text for note in cluster.commit(anew).notes}
    assert "since their groups were set: orders. " in notes[NoteKind.TOPIC_RECREATED]
    assert cluster.saved.by_key["billing", P0].before == CommittedOffset(70)  # 90 was in the old topic
    again = cluster.commit(anew).notes
    assert NoteKind.TOPIC_RECREATED not in {note.kind for note in again}
    assert cluster.saved.traits.topic_ids == {"orders": "second"}


def test_a_receipt_of_another_cluster_with_the_same_id_is_refused(cluster):
    cluster.identities.traits["cloud-id"] = NOTED
    cluster.commit()
    cluster.identities.traits["cloud-id"] = Traits(("b:1",), {"orders": "another"})
    told = r"has brokers at other addresses and its topic orders is another one \(its id is another, and was first\)"
    with pytest.raises(Refused, match=told):
        cluster.commit()
    with pytest.raises(Refused, match=told):
        cluster.roll_back(on_rewind="rewind")
