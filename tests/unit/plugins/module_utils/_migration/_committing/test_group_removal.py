"""Old groups of a rename are removed and come back, on a cluster in memory: the order of steps, kills, refusals."""

import dataclasses
import time
import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import topics
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topics import TopicDescription
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing import commit
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing.commit import roll_back
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing.group_removal import (
    RemovalOptions,
    remove_old_groups,
    restore_old_groups,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing.outcome import CommitOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._model.cluster_identity import NO_TRAITS, Traits
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import (
    BrokerError,
    FileMissing,
    GroupBusy,
    NotAuthorized,
    Refused,
    TopicRecreated,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import (
    Commits,
    CommittedOffset,
    GroupReading,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import (
    Evidence,
    Plan,
    PlanEntry,
    SourcePosition,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import (
    Origin,
    Pending,
    Receipt,
    ReceiptEntry,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.removed import Removed
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import SnapshotEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import CertificateName, Reason, Verdict
from tests.support.identities import known_by_id
from tests.support.memory_groups import MemoryGroups

HERE = connection_from({"bootstrap_servers": ["127.0.0.1:9092"]}, "cluster")
NOW = {"idle_wait": 0}
P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
OLD: dict[str, Commits] = {
    "billing": {P0: CommittedOffset(5, "five", 2), P1: CommittedOffset(7)},
    "shipping": {P0: CommittedOffset(9)},
}
NONE_REMOVED = Removed("id")


class Cluster(MemoryGroups):
    """Old and new groups. deleted, denied: topics that are gone, or that the user may not describe."""

    def __init__(self):
        super().__init__({**OLD, **{f"new-{name}": commits for name, commits in OLD.items()}})
        self.deleted: set[str] = set()
        self.denied: set[str] = set()

    def describe_topics(self, _connection, names, surely):
        assert surely
        return {name: TopicDescription(0 if error else 9, error) for name in names for error in [self._error(name)]}

    def _error(self, topic):
        deleted = "UNKNOWN_TOPIC_OR_PARTITION" if topic in self.deleted else None
        return "TOPIC_AUTHORIZATION_FAILED" if topic in self.denied else deleted

    def remove(self, plan=None, receipt=None, dry=False, save=None, **policies):
        save = None if dry else save or self.save
        return remove_old_groups(plan or PLAN, receipt, self.saved, HERE, RemovalOptions(**NOW | policies), save)

    def restore(self, chosen=None, receipt=None, dry=False, **policies):
        save = None if dry else self.save
        return restore_old_groups(self.saved, chosen, HERE, RemovalOptions(**NOW | policies), save, receipt)

    def stays(self, receipt, chosen=None, **policies):
        """Why restoring these is refused."""
        with pytest.raises(Refused) as refused:
            self.restore(chosen, receipt, **policies)
        return str(refused.value)

    def roll_back(self, receipt, chosen=None, removed=NONE_REMOVED, dry=False, **policies):
        save = None if dry else self.save
        return roll_back(receipt, chosen, HERE, CommitOptions(**NOW | policies), save, removed=removed)


@pytest.fixture
def cluster(monkeypatch):
    its = Cluster()
    its.install(monkeypatch, commit)
    for module in (topics, commit):
        monkeypatch.setattr(module, "describe_topics", its.describe_topics)
    known_by_id(monkeypatch, lambda _connection: "id")
    return its


def entry(group: str, partition: TopicPartition, to: str | None = None, **more: t.Any) -> PlanEntry:
    committed = OLD[group][partition]
    evidence = Evidence(certificate=CertificateName.SAME_LOG)
    source = (SourcePosition(group, partition, committed.offset),)
    return PlanEntry(
        to or f"new-{group}", partition, committed.offset, Verdict.EXACT, source, committed.metadata,
        committed.leader_epoch, evidence=evidence, **more,
    )  # fmt: skip


def plan_of(*entries: PlanEntry) -> Plan:
    return Plan("id", "id", "digest", entries)


def blocked(entry: PlanEntry) -> PlanEntry:
    return entry.blocked(Reason.DESTINATION_LAGS, "")


PLAN = plan_of(entry("billing", P0), entry("billing", P1), entry("shipping", P0))


def test_the_file_is_on_disk_before_the_first_group_is_removed(cluster):
    predicted = cluster.remove(dry=True)
    assert cluster.done == []
    outcome = cluster.remove()
    assert outcome == predicted and outcome.groups == ["billing", "shipping"]
    assert cluster.done == ["file", "billing removed", "shipping removed"]
    assert set(cluster.groups) == {"new-billing", "new-shipping"}
    assert cluster.saved.gone() == OLD and outcome.removed == cluster.saved
    again = cluster.remove()
    assert (again.groups, again.left_out, again.removed) == ([], [], cluster.saved)


def test_where_nothing_is_to_be_removed_there_is_no_file(cluster):
    for name in OLD:
        del cluster.groups[name]
    assert cluster.remove().removed is None and cluster.done == []


def became(group: str, partition: TopicPartition) -> ReceiptEntry:
    written = OLD[group][partition]
    return ReceiptEntry(f"new-{group}", partition, None, written, written, (Origin(group, partition),))


BILLING = Receipt("id", (became("billing", P0), became("billing", P1)))
SHIPPED = Receipt("id", (became("shipping", P0),))


def test_new_groups_that_have_consumed_since_are_known_by_the_receipt(cluster):
    cluster.groups["new-shipping"][P0] = CommittedOffset(30)
    with pytest.raises(Refused, match="has the committed offset 30, and not 9 of the plan.*Commit the plan first"):
        cluster.remove()
    cluster.protocols["new-shipping"] = "consumer"
    assert cluster.remove(receipt=SHIPPED).groups == ["billing", "shipping"]


def test_what_another_plan_has_given_is_not_what_this_one_gives(cluster):
    cluster.protocols["new-shipping"] = "consumer"
    cluster.groups["new-shipping"][P0] = CommittedOffset(8)
    (line,) = SHIPPED.entries
    other = line._replace(written=CommittedOffset(4), after=CommittedOffset(4))
    with pytest.raises(Refused, match="has the committed offset 8, and not 9 of the plan.*Commit the plan first"):
        cluster.remove(receipt=SHIPPED.merged([other]))


def test_an_old_group_is_not_removed_where_the_new_one_loses_its_offset_in_the_last_moment(cluster):
    cluster.after_reading = cluster.groups["new-shipping"].clear
    with pytest.raises(Refused, match="has the committed offset none, and not 9"):
        cluster.remove()
    assert cluster.done == [] and cluster.groups["shipping"] == OLD["shipping"]


def test_an_old_group_is_not_removed_where_a_tool_may_have_moved_the_new_one(cluster):
    cluster.groups["new-shipping"][P0] = CommittedOffset(30)
    for policy in ("fail", "rewind"):
        with pytest.raises(Refused, match="no consumer has ever joined it: .* Start a consumer of new-shipping"):
            cluster.remove(receipt=SHIPPED, on_rewind=policy)
    assert cluster.done == []


@pytest.mark.parametrize(
    ("now", "policies"), [(30, {"on_rewind": "keep"}), (3, {"on_advance": "keep"}), (None, {"on_rewind": "keep"})]
)
def test_an_old_group_stays_where_a_policy_has_left_its_new_one_at_another_offset(cluster, now, policies):
    cluster.groups["new-shipping"] = {P0: CommittedOffset(now)} if now else {}
    predicted = cluster.remove(receipt=SHIPPED, dry=True, **policies)
    outcome = cluster.remove(receipt=SHIPPED, **policies)
    assert outcome == predicted and outcome.groups == ["billing"] and "shipping" in cluster.groups
    where = now or "none"
    assert outcome.left_out == [f"shipping: is not removed, because new-shipping is left at {where} instead of 9"]


def test_a_new_group_that_is_not_there_yet_keeps_no_old_one(cluster):
    del cluster.groups["new-shipping"]
    assert cluster.remove(on_rewind="keep", dry=True).groups == ["billing", "shipping"]


def change(cluster: MemoryGroups, **groups: Commits) -> None:
    for name, commits in groups.items():
        cluster.groups[name] |= commits


NOT_GIVEN = "partition 0: .* offset 5, and a new group does not get it"


@pytest.mark.parametrize(
    ("prepare", "plan", "told"),
    [
        (lambda it: change(it, billing={P1: CommittedOffset(8)}), PLAN, "partition 1: .* offset 8, and the plan was made"),
        (lambda it: change(it, billing={P1._replace(topic="x"): CommittedOffset(8)}), PLAN, "topic x.* no new group gets"),
        (
            lambda it: None,
            plan_of(*PLAN.entries[:2], entry("shipping", P0, to="billing")),
            "group billing: the group is to be removed, and it is a new name in the plan, too",
        ),
        (lambda it: None, plan_of(blocked(PLAN.entries[0]), *PLAN.entries[1:]), NOT_GIVEN),
        (lambda it: None, plan_of(blocked(entry("billing", P0, to="another")), *PLAN.entries), NOT_GIVEN),
        (lambda it: None, dataclasses.replace(PLAN, source_id="other"), "from one cluster to another: .* the id id, not other"),
        (lambda it: None, dataclasses.replace(PLAN, source_id="x", destination_id="x"), "another cluster: .* the id id, not x"),
        (lambda it: it.groups.pop("new-billing"), PLAN, "group new-billing, .* has the committed offset none, and not 5"),
    ],
)  # fmt: skip
def test_nothing_is_removed_that_would_be_lost(cluster, prepare, plan, told):
    prepare(cluster)
    with pytest.raises(Refused, match=told):
        cluster.remove(plan)
    assert cluster.done == []


@pytest.mark.parametrize("on_blocked", ["skip_group", "skip_partition"])
def test_an_old_group_stays_where_a_new_one_does_not_get_all_that_it_had_committed(cluster, on_blocked):
    plan = plan_of(PLAN.entries[0], blocked(PLAN.entries[1]), PLAN.entries[2])
    predicted = cluster.remove(plan, on_blocked=on_blocked, dry=True)
    outcome = cluster.remove(plan, on_blocked=on_blocked)
    assert outcome == predicted and outcome.groups == ["shipping"]
    assert outcome.left_out == [
        f"billing: is not removed, because new-billing does not get its offset {offset} of orders-{partition} (on_blocked: "
        f"{on_blocked})"
        for partition, offset in ([(0, 5)] if on_blocked == "skip_group" else [(1, 7)])
    ]
    assert set(cluster.groups) == {"billing", "new-billing", "new-shipping"}


def test_a_group_gives_up_no_partition_on_which_it_has_committed_nothing(cluster):
    merged = PLAN.entries[1]
    merged = dataclasses.replace(merged, source=(*merged.source, SourcePosition("shipping", P1, None)))
    outcome = cluster.remove(plan_of(PLAN.entries[0], blocked(merged), PLAN.entries[2]), on_blocked="skip_partition")
    assert outcome.groups == ["shipping"]
    assert [line.partition(":")[0] for line in outcome.left_out] == ["billing"]


def test_groups_that_become_one_stay_together_where_it_is_left_out_as_a_whole(cluster):
    plan = plan_of(entry("billing", P0), blocked(entry("billing", P1, to="one")), entry("shipping", P0, to="one"))
    cluster.groups["one"] = {}
    assert cluster.remove(plan, on_blocked="skip_group").groups == []
    assert {"billing", "shipping"} <= set(cluster.groups)


def test_groups_in_use_and_missing_rights_are_refused_before_anything_is_removed(cluster):
    cluster.protocols = {"billing": "connect"}
    with pytest.raises(GroupBusy, match="is the group of Kafka Connect's workers"):
        cluster.remove()
    cluster.states, cluster.protocols = {"billing": "Stable"}, {}
    with pytest.raises(GroupBusy, match="group billing: has members"):
        cluster.remove()
    assert cluster.remove(on_active_group="skip_group", dry=True).groups == ["shipping"]
    cluster.states, cluster.rights = {}, {"READ"}
    with pytest.raises(NotAuthorized, match="GROUP DELETE on billing"):
        cluster.remove()
    assert cluster.done == []


def test_what_a_removed_group_may_have_committed_out_of_sight_is_noted(cluster):
    cluster.groups["billing"][P0._replace(topic="payments")] = CommittedOffset(500)
    cluster.hidden = {"payments"}
    for dry in (True, False):
        (note,) = cluster.remove(dry=dry).notes
        assert note.kind is NoteKind.COMMITS_HIDDEN and "committed on the others: billing, shipping." in note.text


def test_the_group_of_a_sink_connector_which_finds_it_by_its_name_is_not_removed(cluster):
    cluster.groups["connect-sink"] = dict(OLD["shipping"])
    source = (SourcePosition("connect-sink", P0, 9),)
    with pytest.raises(Refused, match="group connect-sink: the group belongs to the sink connector sink of Kafka Con"):
        cluster.remove(plan_of(dataclasses.replace(entry("shipping", P0), source=source)))
    assert cluster.done == []


def test_a_group_that_is_joined_in_the_last_moment_is_not_in_the_file(cluster):
    def save(removed: Removed) -> None:
        cluster.save(removed)
        cluster.states["billing"] = "Stable"

    with pytest.raises(GroupBusy, match="group billing: the group cannot be removed"):
        cluster.remove(save=save)
    assert set(cluster.groups) == {"billing", "new-billing", "new-shipping"}
    assert set(cluster.saved.gone()) == {"shipping"}


@pytest.mark.parametrize("steps", range(4))
def test_a_removal_that_was_killed_is_completed_or_taken_back(cluster, steps):
    with cluster.killed_after(steps, surely=False):
        cluster.remove()
    cluster.remove()
    assert set(cluster.groups) == {"new-billing", "new-shipping"}
    for lives in range(5):
        with cluster.killed_after(lives, surely=False):
            cluster.restore()
    cluster.restore()
    assert {name: cluster.groups[name] for name in OLD} == OLD
    assert cluster.saved.gone() == {}


def test_only_selected_groups_come_back_and_a_second_time_nothing_is_done(cluster):
    cluster.remove()
    chosen = Selection(groups=("billing", "never-removed"))
    predicted = cluster.restore(chosen, dry=True)
    outcome = cluster.restore(chosen)
    assert outcome == predicted and outcome.groups == ["billing"]
    assert cluster.groups["billing"] == OLD["billing"] and "shipping" not in cluster.groups
    cluster.done.clear()
    again = cluster.restore(chosen)
    assert (again.groups, again.removed, cluster.done) == ([], cluster.saved, [])


def test_what_comes_back_beside_a_refused_commit_is_known_and_goes_on(cluster):
    cluster.remove()
    cluster.refused = {P1: "UNKNOWN_TOPIC_OR_PARTITION"}
    with pytest.raises(BrokerError, match="1 of 3 commits was refused"):
        cluster.restore()
    cluster.refused = {}
    cluster.groups["shipping"][P0] = CommittedOffset(20)
    again = cluster.restore()
    assert (again.groups, cluster.groups["shipping"][P0]) == (["billing"], CommittedOffset(20))


def test_what_the_brokers_would_not_take_any_more_is_refused_before_any_group_is_made_again(cluster):
    cluster.remove()
    cluster.done, cluster.metadata_limit = [], 3
    with pytest.raises(Refused, match="billing, topic orders, partition 0: the metadata of 4 characters is too long"):
        cluster.restore()
    assert cluster.done == []


def test_a_removed_group_comes_back_without_the_topic_that_was_deleted_since(cluster):
    clicks = TopicPartition("clicks", 0)
    cluster.groups["billing"][clicks] = cluster.groups["new-billing"][clicks] = CommittedOffset(3)
    added = dataclasses.replace(entry("billing", P0), partition=clicks, source=(SourcePosition("billing", clicks, 3),))
    cluster.remove(plan_of(*PLAN.entries, dataclasses.replace(added, offset=3, metadata="", leader_epoch=None)))
    assert clicks in cluster.saved.gone()["billing"]
    del cluster.groups["new-billing"][clicks]  # as brokers do when a topic is deleted
    cluster.deleted = {"clicks"}
    predicted = cluster.restore(dry=True)
    outcome = cluster.restore()
    assert outcome == predicted and outcome.left_out == ["billing clicks-0: does not exist any more: left out"]
    assert cluster.groups["billing"] == OLD["billing"] and cluster.saved.gone() == {}


def moved_to(new: str, *old: tuple[str, str]) -> ReceiptEntry:
    origins = tuple(Origin(group, TopicPartition(topic, 0)) for group, topic in old)
    return ReceiptEntry(new, TopicPartition("clicks-v2", 0), None, CommittedOffset(3), CommittedOffset(3), origins)


def removed(traits: Traits = NO_TRAITS, **groups: Commits) -> Removed:
    readings = [GroupReading(name, True, "Empty", "classic", "", commits) for name, commits in groups.items()]
    return Removed("id").with_removed(readings, traits)


@pytest.mark.parametrize("is_removed", [True, False])
def test_a_new_group_keeps_the_only_offset_of_a_topic_whose_old_one_was_deleted(cluster, is_removed):
    old, new = TopicPartition("clicks", 0), TopicPartition("clicks-v2", 0)
    cluster.groups["billing"][old] = cluster.groups["new-billing"][new] = CommittedOffset(3)
    receipt = Receipt("id", (*BILLING.entries, moved_to("new-billing", ("billing", "clicks"))))
    if is_removed:
        cluster.saved = removed(billing=cluster.groups.pop("billing"))
    else:
        del cluster.groups["billing"][old]  # as brokers do when a topic is deleted
        cluster.saved = Removed("id")
    cluster.deleted = {"clicks"}
    chosen = Selection(groups=("billing",))
    leave = "billing out of the rollback" if is_removed else "clicks out by exclude_topic_patterns"
    told = (
        "new-billing, topic clicks-v2, partition 0: the offset came from billing clicks-0, which does not exist any more: .*"
        f"Leave {leave}, and let the consumers of new-billing go on"
    )
    for dry in (True, False):
        with pytest.raises(Refused, match=told):
            cluster.restore(chosen, receipt, dry)
        with pytest.raises(Refused, match=told):
            cluster.roll_back(receipt, chosen, cluster.saved, dry)
    assert cluster.done == [] and cluster.groups["new-billing"][new] == CommittedOffset(3)
    cluster.deleted = {"clicks", "clicks-v2"}  # no record of it is left
    del cluster.groups["new-billing"][new]
    cluster.restore(chosen, receipt)
    assert cluster.roll_back(receipt, chosen, removed=cluster.saved).set
    assert cluster.groups["billing"] == OLD["billing"] and "new-billing" not in cluster.groups


def test_where_nobody_sees_whether_the_old_topic_was_deleted_the_rollback_says_which_acl_tells(cluster):
    """The ACLs on a topic are often deleted with it, and brokers then say denied, not unknown."""
    cluster.groups["new"] = {TopicPartition("clicks-v2", 0): CommittedOffset(3)}
    cluster.denied = {"clicks"}
    receipt = Receipt("id", (moved_to("new", ("billing", "clicks")),))
    told = "group new, topic clicks-v2, partition 0: .* billing clicks-0, and the user may not see whether topic clicks still"
    choice = "Grant the user ACL TOPIC DESCRIBE on clicks; or leave clicks out by exclude_topic_patterns, and let"
    with pytest.raises(Refused, match=f"{told} exists.*{choice}"):
        cluster.roll_back(receipt)
    assert cluster.done == []
    cluster.denied = set()
    assert cluster.roll_back(receipt).set


@pytest.mark.parametrize(
    ("old", "leave"),
    [
        ([("billing", "clicks"), ("shipping", "clicks")], "clicks out by exclude_topic_patterns"),
        ([("billing", "clicks"), ("billing", "clicks-us")], "clicks, clicks-us out by exclude_topic_patterns"),
        ([("gone", "clicks"), ("billing", "clicks")], "gone, billing out of the rollback"),
    ],
)
def test_of_a_merge_all_is_to_be_left_out_together(cluster, old, leave):
    cluster.groups["new"] = {TopicPartition("clicks-v2", 0): CommittedOffset(3)}
    cluster.deleted = {"clicks"}
    with pytest.raises(Refused, match=f"Leave {leave}, and let the consumers of new go on"):
        cluster.roll_back(Receipt("id", (moved_to("new", *old),)), removed=removed(gone={}), dry=True)


@pytest.mark.parametrize("lacks", ["the old topic", "the old group"])
def test_what_is_left_out_because_it_is_in_use_refuses_no_rollback_of_the_others(cluster, lacks):
    old = ("billing", "clicks") if lacks == "the old topic" else ("expired", "clicks")
    cluster.groups["new"] = {TopicPartition("clicks-v2", 0): CommittedOffset(3)}
    cluster.deleted = {"clicks"} if lacks == "the old topic" else set()
    receipt = Receipt("id", (moved_to("new", old), became("shipping", P0)))
    with pytest.raises((FileMissing, TopicRecreated), match="group new"):
        cluster.roll_back(receipt, on_active_group="skip_group")
    cluster.states["new"] = "Stable"
    outcome = cluster.roll_back(receipt, on_active_group="skip_group")
    assert outcome.active_groups == ["new"] and {group for group, _partition in outcome.set} == {"new-shipping"}
    assert "new" in cluster.groups and "new-shipping" not in cluster.groups


def test_a_group_that_exists_again_is_moved_only_when_that_is_allowed(cluster):
    cluster.remove()
    cluster.groups["billing"] = {P0: CommittedOffset(50)}
    for protocol, told in (("", "has committed up to 45 records more"), ("consumer", "has consumed up to 45 records")):
        cluster.protocols["billing"] = protocol
        with pytest.raises(Refused, match=f"billing, topic orders, partition 0: .* {told} .* on_rewind"):
            cluster.restore()
    kept = cluster.restore(on_rewind="keep")
    assert kept.groups == ["shipping"] and cluster.groups["billing"] == {P0: CommittedOffset(50)}
    assert set(cluster.saved.gone()) == {"billing"}
    cluster.restore(on_rewind="rewind")
    assert cluster.groups["billing"] == OLD["billing"]


def test_an_old_group_comes_back_only_if_its_new_one_goes(cluster):
    """Both would consume the same records."""
    cluster.remove()
    cluster.groups["new-billing"][P1] = CommittedOffset(30)
    assert "committed up to 23 records more since, although no consumer has ever joined it" in cluster.stays(BILLING)
    cluster.protocols["new-billing"] = "consumer"  # it has consumed since
    cluster.done.clear()
    for policy in ("fail", "keep"):
        told = cluster.stays(BILLING, on_rewind=policy)
        assert "beside new groups that stay: new-billing orders-1 was set to 7 and has 30 now" in told
        assert "new-billing has consumed up to 23 records since" in told and "on_rewind to rewind" in told
        assert "so on_rewind: keep is refused, too" in told
        assert "on_advance" not in told and "orders-0" not in told  # which has not moved
    assert cluster.done == [] and "billing" not in cluster.groups
    assert "billing" in cluster.restore(None, BILLING, on_rewind="rewind").groups


def had_before(line: ReceiptEntry) -> ReceiptEntry:
    return line._replace(before=CommittedOffset(3))


def test_a_new_group_of_which_an_offset_has_expired_is_not_called_in_use(cluster):
    cluster.remove()
    cluster.done.clear()
    del cluster.groups["new-billing"][P1]
    receipt = BILLING.merged([had_before(became("billing", P1))])
    for policy in ("fail", "keep"):
        told = cluster.stays(receipt, on_rewind=policy)
        assert "beside new groups that stay: new-billing orders-1 was set to 7 and has none now: both would" in told
        assert "set on_rewind to rewind to accept that" in told and "in use" not in told and "orders-0" not in told
    assert cluster.done == [] and "billing" not in cluster.groups
    assert cluster.restore(None, receipt, on_rewind="rewind").groups == ["billing", "shipping"]


def test_a_new_group_that_has_expired_stays_beside_no_old_one_and_is_refused_where_its_rollback_would_be(cluster):
    cluster.remove()
    cluster.done.clear()
    del cluster.groups["new-shipping"]
    receipt = Receipt("id", (had_before(became("shipping", P0)),))
    told = "new-shipping, topic orders, partition 0: the group was set to 9 and has committed nothing now"
    for call in (cluster.restore, lambda *args: cluster.roll_back(*args[::-1])):
        with pytest.raises(Refused, match=f"{told}: .* Set on_rewind to rewind"):
            call(None, receipt)
    assert cluster.done == [] and "shipping" not in cluster.groups
    assert "shipping" in cluster.restore(None, receipt, on_rewind="keep").groups


@pytest.mark.parametrize(
    ("line", "now", "chosen"),
    [
        (became("billing", P0)._replace(written=CommittedOffset(6), pending=Pending.COMMIT), OLD["billing"][P0], None),
        (had_before(became("billing", P0)), CommittedOffset(3), None),
        (had_before(became("shipping", P0)._replace(group="new-billing")), CommittedOffset(30), Selection(groups=("billing",))),
    ],
    ids=["a commit was killed before it wrote", "it is back already", "it came from a group that is not selected"],
)  # fmt: skip
def test_of_a_new_group_that_stays_only_what_has_moved_is_named(cluster, line, now, chosen):
    cluster.remove()
    cluster.groups["new-billing"] = {P0: now, P1: CommittedOffset(30)}
    told = cluster.stays(BILLING.merged([line]), chosen, on_rewind="keep")
    assert "orders-1 was set to 7 and has 30 now" in told and "orders-0" not in told


def test_a_new_group_of_a_killed_renewal_which_the_rollback_would_make_again_stays(cluster):
    cluster.remove()
    del cluster.groups["new-shipping"]
    receipt = dataclasses.replace(SHIPPED, renewing=(SnapshotEntry("new-shipping", P0, CommittedOffset(30)),))
    told = cluster.stays(receipt, on_rewind="keep")
    assert "that stay: new-shipping orders-0 was set to 9 and has 30 now" in told
    cluster.groups["new-billing"][P1] = CommittedOffset(30)
    # Of an expired one beside it, nothing stays.
    assert "shipping" not in cluster.stays(BILLING.merged([had_before(became("shipping", P0))]), on_rewind="keep")


@pytest.mark.parametrize("is_rolled_back", [True, False])
def test_a_new_group_that_is_rolled_back_already_or_has_expired_needs_no_old_one(cluster, is_rolled_back):
    """Nothing is taken from it."""
    cluster.remove()
    cluster.groups["billing"], cluster.states = {}, {"billing": "Stable"}
    line = had_before(became("billing", P0))
    if is_rolled_back:
        line = line._replace(written=None, after=None)
    cluster.groups["new-billing"] = {P0: CommittedOffset(3)} if is_rolled_back else {}
    policies = {"on_active_group": "skip_group", "on_rewind": "rewind"}
    assert cluster.restore(None, Receipt("id", (line,)), **policies).groups == ["shipping"]


def test_a_rename_of_thousands_of_group_partitions_is_undone_in_no_time(cluster):
    """Each took the longer, the more there were: 10,000 took 40 s."""
    commits = {TopicPartition(f"topic-{number}", 0): CommittedOffset(5) for number in range(4000)}
    cluster.groups, cluster.saved = {"new": dict(commits)}, removed(old=commits)
    lines = (ReceiptEntry("new", at, None, its, its, (Origin("old", at),)) for at, its in commits.items())
    begun = time.process_time()
    assert cluster.restore(None, Receipt("id", tuple(lines))).groups == ["old"]
    assert time.process_time() - begun < 3


def test_an_old_group_does_not_come_back_while_its_new_one_is_in_use(cluster):
    cluster.remove()
    cluster.states["new-shipping"] = "Stable"
    told = cluster.stays(SHIPPED, on_active_group="skip_group")
    assert (
        "that stay: new-shipping is in use: both would consume the same records. Stop the consumers of the new" in told
    )


@pytest.mark.parametrize(
    ("stray", "policies"),
    [({}, {"on_active_group": "skip_group"}), ({P0: CommittedOffset(50)}, {"on_rewind": "keep", "on_advance": "keep"})],
    ids=["in use", "has committed"],
)
def test_a_new_group_does_not_go_while_its_old_one_exists_again_without_its_offsets(cluster, stray, policies):
    """Somebody has started a forgotten consumer of the old name."""
    cluster.remove()
    cluster.groups["billing"] = dict(stray)
    cluster.states = {} if stray else {"billing": "Stable"}
    told = (
        "new-billing: the group got its offsets from billing, which is not made again: .* Stop the consumers of billing"
    )
    cluster.done.clear()
    for dry in (True, False):
        with pytest.raises(Refused, match=told):
            cluster.restore(None, BILLING, dry=dry, **policies)
    with pytest.raises(Refused, match=told):  # it has come since
        cluster.roll_back(BILLING, removed=cluster.saved)
    assert cluster.done == []


def test_of_two_renames_in_a_row_the_later_one_is_rolled_back_first(cluster):
    cluster.remove()
    first = became("shipping", P0)
    receipt = Receipt("id", (first, first._replace(group="newer", source=(Origin("new-shipping", P0),))))
    source = (SourcePosition("new-shipping", P0, 9),)
    cluster.groups["newer"] = dict(OLD["shipping"])
    cluster.remove(plan_of(dataclasses.replace(PLAN.entries[2], group="newer", source=source)))
    for selection in (Selection(groups=("shipping",)), None):
        with pytest.raises(Refused, match="group shipping: the group became new-shipping, .* Roll back new-shipping"):
            cluster.restore(selection, receipt)
    assert set(cluster.groups) == {"newer", "new-billing"}
    for name in ("new-shipping", "shipping"):
        restored = cluster.restore(Selection(groups=(name,)), receipt)
        assert restored.groups == [name]


def test_a_group_whose_name_another_one_has_got_since_comes_back_after_that_one(cluster):
    """Rolled back together, it would end without any offset: what it has comes from the other one, and goes with that."""
    had = {P0: CommittedOffset(5)}
    cluster.groups = {"shipping": {**OLD["shipping"]}, "newer": {**OLD["shipping"]}, "old": had}
    given = (dataclasses.replace(PLAN.entries[2], group="newer"),)
    cluster.remove(plan_of(*given))
    cluster.groups["shipping"] = {**had}
    source = (SourcePosition("old", P0, 5),)
    cluster.remove(plan_of(dataclasses.replace(PLAN.entries[2], group="shipping", offset=5, source=source)))
    lines = [
        ReceiptEntry(to, P0, None, commit, commit, (Origin(name, P0),))
        for to, name, commit in (("newer", "shipping", OLD["shipping"][P0]), ("shipping", "old", CommittedOffset(5)))
    ]
    receipt, policies = Receipt("id", tuple(lines)), {"on_rewind": "rewind", "on_advance": "advance"}
    cluster.done.clear()
    for selection in (None, Selection(groups=("shipping",))):
        with pytest.raises(Refused, match="group shipping, .*: .* old has got its name since: .* Roll back old first"):
            cluster.restore(selection, receipt, **policies)
    assert cluster.done == []
    for name in ("old", "shipping"):
        chosen = Selection(groups=(name,))
        cluster.restore(chosen, receipt)
        gone = cluster.saved
        cluster.roll_back(receipt, chosen, gone)
        receipt, cluster.saved = cluster.saved, gone
    assert cluster.groups == {"old": had, "shipping": OLD["shipping"]}


SHOP: Commits = {P0: CommittedOffset(5), TopicPartition("parcels", 0): CommittedOffset(7)}
SPLIT = Receipt(
    "id",
    tuple(
        ReceiptEntry(group, at, None, SHOP[at], SHOP[at], (Origin("shop", at),))
        for group, at in zip(("billing", "delivery"), SHOP, strict=True)
    ),
)
PATTERNS = {
    "topics by name": {"topics": ("orders",)},
    "topics by pattern": {"topic_patterns": ("ord.*",)},
    "excluded topics": {"exclude_topic_patterns": ("parcels",)},
}


@pytest.fixture
def split(cluster):
    """Shop was split into billing and delivery, and removed; so was another group, which consumed none of its topics."""
    cluster.groups = {"billing": {P0: SHOP[P0]}, "delivery": {key: at for key, at in SHOP.items() if key != P0}}
    cluster.saved = removed(shop=SHOP, till={TopicPartition("payments", 0): CommittedOffset(3)})
    return cluster


@pytest.mark.parametrize("topics", PATTERNS.values(), ids=PATTERNS.keys())
def test_an_old_group_does_not_come_back_for_some_of_its_topics_beside_the_new_group_of_the_others(split, topics):
    chosen = Selection(groups=("shop",), **topics)
    for dry in (True, False):
        with pytest.raises(Refused, match=r"new groups that stay: delivery has parcels of shop: .* Select all topics"):
            split.restore(chosen, SPLIT, dry=dry)
    assert split.done == [] and "shop" not in split.groups
    del split.groups["delivery"]  # it was never started, and has expired
    split.restore(chosen, SPLIT)
    assert split.groups["shop"] == SHOP


def test_with_topics_only_the_removed_groups_that_consumed_them_come_back(split):
    chosen = Selection(group_patterns=(".*",), topics=("orders", "parcels"))
    assert split.restore(chosen, SPLIT).groups == ["shop"]
    assert set(split.saved.gone()) == {"till"}


def test_a_removed_group_comes_back_without_a_topic_that_was_created_again_and_is_left_out(cluster, monkeypatch):
    identities = known_by_id(monkeypatch, lambda _connection: "id")
    identities.traits["id"] = Traits(topic_ids={"orders": "first", "parcels": "first"})
    cluster.saved = removed(identities.traits["id"], shop=SHOP)
    identities.traits["id"] = Traits(topic_ids={"orders": "first", "parcels": "second"})
    cluster.groups = {"billing": {P0: SHOP[P0]}}
    with pytest.raises(Refused, match="parcels.* created again .* Leave the topic out by exclude_topic_patterns"):
        cluster.restore(Selection(groups=("shop",)), SPLIT)
    chosen = Selection(groups=("shop",), exclude_topic_patterns=("parcels",))
    assert cluster.restore(chosen, SPLIT).groups == ["shop"]
    assert cluster.groups["shop"] == {P0: SHOP[P0]} and cluster.saved.gone() == {}


def test_what_groups_that_were_removed_before_had_on_a_topic_that_was_created_again_is_left_out(cluster, monkeypatch):
    identities = known_by_id(monkeypatch, lambda _connection: "id")
    identities.traits["id"] = Traits(topic_ids={"orders": "second"})
    clicks = TopicPartition("clicks", 0)
    commits = {P0: CommittedOffset(41), clicks: CommittedOffset(3)}
    old = Traits(topic_ids={"orders": "first", "clicks": "first"})
    cluster.saved = removed(old, audit=commits)
    outcome = cluster.remove()
    assert outcome.left_out == ["audit orders-0: the topic was created again since the group was removed"]
    assert cluster.saved.gone() == OLD | {"audit": {clicks: CommittedOffset(3)}}
    assert cluster.saved.traits.topic_ids == {"orders": "second", "clicks": "first"}


def test_a_rollback_leaves_the_only_group_that_has_the_offsets_of_a_removed_one(cluster):
    """Where removed.json is lost, or does not have the old group, which nobody could make again then."""
    receipt = Receipt("id", (*BILLING.entries, became("shipping", P0)))
    cluster.saved = Removed("id")
    del cluster.groups["billing"]
    told = "group new-billing: the group got its offsets from billing, which has none now: .* restore removed.json from hist"
    for dry in (True, False):
        with pytest.raises(FileMissing, match=told):
            cluster.roll_back(receipt, dry=dry)
        with pytest.raises(FileMissing, match=told):
            cluster.restore(None, receipt, dry=dry)
    assert cluster.done == []
    cluster.roll_back(receipt, removed=removed(billing={}), dry=True)  # it would be made again, in a dry run
    cluster.roll_back(receipt, Selection(groups=("shipping",)))  # a clone
    assert set(cluster.groups) == {"new-billing", "shipping"}
    del cluster.groups["new-billing"]  # nothing of it is left to lose
    assert cluster.roll_back(receipt).set == {}


def test_a_file_of_another_cluster_is_refused(cluster):
    cluster.saved = Removed("other")
    for call in (cluster.remove, cluster.restore):
        with pytest.raises(Refused, match=r"another cluster: this one has the id id, not other"):
            call()
