"""What is seen at the source around a commit: members, moved offsets, what they mean, and what each policy does."""

import dataclasses
import re
import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing import source_watch
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing.conflicts import Writes
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing.source_watch import SourceWatch
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import (
    ConnectionFailed,
    GroupBusy,
    SourceInUse,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import (
    Evidence,
    Plan,
    PlanEntry,
    SourcePosition,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import CertificateName, Verdict
from ansible_collections.streamshift.kafka.plugins.plugin_utils._given import role_options
from ansible_collections.streamshift.kafka.plugins.plugin_utils._option_names import option_names
from tests.support.memory_groups import MemoryGroups

ONPREM = connection_from({"bootstrap_servers": ["onprem:9092"]}, "source cluster")
P0, P1, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("other", 0)


def entry(group: str, source_group: str, partition: TopicPartition, offset: int | None) -> PlanEntry:
    verdict = Verdict.UNCOMMITTED if offset is None else Verdict.EXACT
    return PlanEntry(group, partition, offset, verdict, (SourcePosition(source_group, partition, offset),))


PLAN = Plan(
    "onprem-id",
    "cloud-id",
    "digest",
    (
        entry("billing-v2", "billing", P0, 5),
        entry("billing-v2", "billing", P1, None),
        entry("shipping", "shipping", P0, 7),
    ),
)
ALL = Writes({("billing-v2", P0): CommittedOffset(5), ("shipping", P0): CommittedOffset(7)}, ["kept"])


class Source(MemoryGroups):
    """The groups of a cluster that may be gone, and which of them were asked for."""

    def __init__(self) -> None:
        stands = {"billing": {P0: 5, OTHER: 1}, "shipping": {P0: 7}}
        super().__init__({name: offsets(its) for name, its in stands.items()})
        self.asked: list[str] = []
        self.gone = False

    def read_groups(self, connection: object, names: t.Sequence[str], **how: object) -> dict[str, GroupReading]:
        if self.gone:
            raise ConnectionFailed("cannot connect", cluster=str(ONPREM), why="connection refused")
        self.asked += names
        return super().read_groups(connection, names, **how)


def offsets(its: t.Mapping[TopicPartition, int]) -> dict[TopicPartition, CommittedOffset]:
    return {where: CommittedOffset(offset) for where, offset in its.items()}


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> Source:
    its = Source()
    monkeypatch.setattr(source_watch, "groups", its)
    return its


def before(watch: SourceWatch, writes: Writes) -> tuple[Writes, list[str], list[t.Any]]:
    watch.look(writes.set)
    return watch.before(writes)


@pytest.mark.parametrize(("connection", "asked"), [(ONPREM, ["billing", "shipping"] * 2), (None, [])])
def test_groups_that_stand_still_pass_and_without_a_source_nobody_is_asked(source, connection, asked):
    watch = SourceWatch(connection, PLAN, "fail")
    assert before(watch, ALL) == (ALL, [], [])
    assert watch.after(ALL.set) == []
    assert source.asked == asked


def test_only_groups_that_are_written_are_looked_at_and_only_what_was_planned_of_them(source):
    source.groups["shipping"][P0] = CommittedOffset(9)
    source.groups["billing"][OTHER] = CommittedOffset(99)
    written = {key: target for key, target in ALL.set.items() if key[0] == "billing-v2"}
    assert SourceWatch(ONPREM, PLAN, "fail").after(written) == []
    assert source.asked == ["billing"]


@pytest.mark.parametrize(
    ("stands", "told"),
    [
        (
            {P0: 9},
            "billing has moved since the snapshot: orders-0 from 5 to 9; up to 4 records that it has consumed since",
        ),
        ({P0: 5, P1: 0}, "orders-1 from none to 0; what it consumes from now on would be repeated"),
        ({P0: 2}, "orders-0 from 5 to 2; up to 3 records that it has moved back over would be missed"),
        ({P0: 5, P1: 3}, "orders-1 from none to 3; up to 3 records that it has consumed since would be repeated"),
        ({}, "orders-0 from 5 to none; commits that the plan was made from are gone. Nothing"),
    ],
)
def test_what_has_moved_is_told_with_both_offsets_and_what_it_means(source, stands, told):
    source.groups["billing"] = offsets(stands)
    with pytest.raises(GroupBusy) as refused:
        before(SourceWatch(ONPREM, PLAN, "fail"), ALL)
    message = str(refused.value)
    assert message.startswith("source cluster onprem:9092, group billing: the group is still in use at the source: ")
    assert told in message
    assert "Nothing was written. Stop its consumers at the source" in message and "on_active_source" in message


@pytest.mark.parametrize(
    ("phase", "offered"),
    [
        ("migrate", ["on_active_source to skip_group", "on_active_source to warn"]),
        ("cut_over", ["on_not_ready to skip_group"]),
    ],
)
def test_only_what_the_variable_takes_is_offered(source, variables, phase, offered):
    role = "group_migration"
    variables(option_names("kafka_offset_commit", role, phase, role_options(role)))
    source.groups["billing"][P0] = CommittedOffset(9)
    with pytest.raises(GroupBusy) as refused:
        before(SourceWatch(ONPREM, PLAN, "fail"), ALL)
    assert re.findall(r"set group_migration_(\w+ to \w+)", str(refused.value)) == offered


def test_a_copy_whose_group_has_moved_goes_on_only_with_what_it_was_planned_for(source):
    copied = dataclasses.replace(PLAN.entries[0], evidence=Evidence(certificate=CertificateName.OWN_COPY))
    watch = SourceWatch(ONPREM, dataclasses.replace(PLAN, entries=(copied, *PLAN.entries[1:])), "fail")
    source.groups["billing"][P0] = CommittedOffset(9)
    with pytest.raises(GroupBusy, match="then give these groups what they had .*restore_offsets.*run again") as refused:
        before(watch, ALL)
    assert "on_active_source" not in str(refused.value)
    assert "on other partitions since (kafka-consumer-groups --delete-offsets), and run again" in str(refused.value)
    with pytest.raises(GroupBusy, match="then either start those at the destination all the same, or roll back"):
        watch.after(ALL.set)


def test_inside_one_cluster_nothing_is_said_of_a_source_and_a_destination(source):
    source.groups["billing"][P0] = CommittedOffset(9)
    within = dataclasses.replace(PLAN, destination_id=PLAN.source_id)
    with pytest.raises(GroupBusy) as refused:
        before(SourceWatch(ONPREM, within, "fail"), ALL)
    told = str(refused.value).partition("group billing: ")[2]
    assert told.startswith(
        "the group is still in use: billing has moved since the snapshot: orders-0 from 5 to 9; up to 4"
    )
    assert "would be repeated. Nothing was written. Stop its consumers, then" in told
    with pytest.raises(GroupBusy) as after:
        SourceWatch(ONPREM, within, "fail").after(ALL.set)
    for message in (told, str(after.value).partition("group billing: ")[2]):
        assert "at the source" not in message and "at the destination" not in message


def test_members_are_told(source):
    source.states["billing"] = "Stable"
    told = r"billing has members \(its state is Stable\): client till-7 on 10\.0\.0\.7; what it consumes from now on"
    with pytest.raises(GroupBusy, match=told):
        before(SourceWatch(ONPREM, PLAN, "fail"), ALL)


@pytest.mark.parametrize("policy", ["fail", "skip_group"])
def test_after_the_commit_both_ways_on_are_named(source, policy):
    source.groups["billing"][P0] = CommittedOffset(9)
    source.states["shipping"] = "Stable"
    with pytest.raises(GroupBusy) as refused:
        SourceWatch(ONPREM, PLAN, policy).after(ALL.set)
    message = str(refused.value)
    assert (
        "billing: the group was in use at the source while its offsets were committed, and so was shipping: " in message
    )
    assert "the offsets of the plan are committed and stay" in message.lower()
    assert "migrate again" in message and "roll back" in message


def test_groups_in_use_can_be_left_out_before_the_commit(source):
    source.groups["billing"][P0] = CommittedOffset(9)
    writes, left_out, notes = before(SourceWatch(ONPREM, PLAN, "skip_group"), ALL)
    assert writes == Writes({("shipping", P0): CommittedOffset(7)}, ["kept"], alone=frozenset({"billing-v2"}))
    assert [line.partition(":")[0] for line in left_out] == ["billing-v2"]
    assert "orders-0 from 5 to 9" in left_out[0] and "on_active_source: skip_group" in left_out[0]
    assert notes == []


def test_groups_in_use_can_be_committed_with_a_note(source):
    source.groups["billing"][P0] = CommittedOffset(9)
    watch = SourceWatch(ONPREM, PLAN, "warn")
    writes, left_out, (note,) = before(watch, ALL)
    assert (writes, left_out) == (ALL, [])
    assert "billing has moved since the snapshot: orders-0 from 5 to 9" in note.text
    assert note.kind is NoteKind.SOURCE_IN_USE
    assert "orders-0 from 5 to 9" in watch.after(ALL.set)[0].text


def test_a_source_that_cannot_be_read_any_more_is_told_with_what_was_done(source):
    source.gone = True
    with pytest.raises(SourceInUse) as failed:
        SourceWatch(ONPREM, PLAN, "fail").after(ALL.set)
    assert "the plan's offsets are committed, but the source's groups could not be read once more" in str(failed.value)
    assert "connection refused" in str(failed.value)


def test_a_group_that_is_left_out_after_the_look_is_no_matter(source):
    source.groups["billing"][P0] = CommittedOffset(9)
    watch = SourceWatch(ONPREM, PLAN, "fail")
    watch.look(ALL.set)
    source.gone = True  # nobody is asked again
    assert watch.before(ALL.without({"billing-v2"}))[0].set.keys() == {("shipping", P0)}


SETTLED = {("shipping", P0)}
WRITTEN = ALL.without({"shipping"})


def test_a_group_that_has_the_planned_offsets_already_is_looked_at_before_and_after(source):
    watch = SourceWatch(ONPREM, PLAN, "fail")
    watch.look(WRITTEN.set, SETTLED)
    assert watch.before(WRITTEN) == (WRITTEN, [], [])
    source.groups["shipping"][P0] = CommittedOffset(9)
    with pytest.raises(GroupBusy, match="group shipping: the group was in use at the source.*orders-0 from 7 to 9"):
        watch.after(WRITTEN.set)


def test_such_a_group_is_named_and_left_out_once(source):
    source.states["shipping"] = "Stable"
    watch = SourceWatch(ONPREM, PLAN, "skip_group")
    watch.look(WRITTEN.set, SETTLED)
    writes, left_out, _notes = watch.before(WRITTEN)
    assert (writes.set, writes.alone) == (WRITTEN.set, {"shipping"})
    assert [line.partition(" has members")[0] for line in left_out] == ["shipping: its source group shipping"]
    assert watch.after(writes.set) == []


def test_such_a_group_that_was_removed_at_the_source_since_is_not_in_use(source):
    del source.groups["shipping"]
    watch = SourceWatch(ONPREM, PLAN, "fail")
    watch.look(WRITTEN.set, SETTLED)
    assert watch.before(WRITTEN) == (WRITTEN, [], [])
    assert watch.after(WRITTEN.set) == []


GIVEN = {("billing-v2", P0), ("shipping", P0)}


def test_inside_one_cluster_an_old_group_that_a_rename_has_removed_is_not_in_use(source):
    """Its new group gets the same offsets once more, because they have expired."""
    del source.groups["billing"]
    within = dataclasses.replace(PLAN, destination_id=PLAN.source_id)
    watch = SourceWatch(ONPREM, within, "fail")
    watch.look(ALL.set, (), GIVEN)
    assert watch.before(ALL) == (ALL, [], [])
    assert watch.after(ALL.set) == []
    source.groups["billing"] = offsets({P0: 2})  # somebody has started it again
    with pytest.raises(GroupBusy, match="orders-0 from 5 to 2"):
        watch.after(ALL.set)


@pytest.mark.parametrize(
    ("destination", "given"),
    [("onprem-id", GIVEN - {("billing-v2", P0)}), ("cloud-id", GIVEN)],
    ids=["nobody has given its offsets to the new group yet", "in another cluster, no run removes groups"],
)
def test_a_group_that_no_run_can_have_removed_is_missed(source, destination, given):
    del source.groups["billing"]
    watch = SourceWatch(ONPREM, dataclasses.replace(PLAN, destination_id=destination), "fail")
    watch.look(ALL.set, (), given)
    with pytest.raises(GroupBusy, match="orders-0 from 5 to none"):
        watch.before(ALL)
