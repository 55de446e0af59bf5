"""Without the source, MirrorMaker 2's checkpoints say where groups go on, whatever names its replication policy gives."""

import re

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning import (
    by_mirror_maker,
    checkpoints,
    mirror_index,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import Draft
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput, NotFound, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import Mapping, Prefixes, Rule
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mirror_records import (
    Checkpoint,
    CheckpointKey,
    OffsetSync,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnUncommitted
from ansible_collections.streamshift.kafka.plugins.module_utils._model.record_sum import Bound
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.replication_policy import ReplicationPolicy
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Verdict
from tests.support.identities import known_by_id

CLOUD = connection_from({"bootstrap_servers": ["127.0.0.1:1"]}, "destination cluster")
POLICY = ReplicationPolicy("onprem", "cloud", "identity")
ALL, SALES, NO_MAP = Selection(("billing",)), Selection(("billing",), topics=("sales",)), Mapping()


@pytest.fixture
def plan(monkeypatch):
    """Plans from a checkpoint for each of these topics: billing, 41 to 47. plan.read: the topics that were read for it."""
    copied_topics = ["sales", "clicks", "onprem.orders"]
    found = {CheckpointKey("billing", TopicPartition(topic, 0)): Checkpoint(41, 47, "m") for topic in copied_topics}
    monkeypatch.setattr(
        checkpoints, "read_checkpoints", lambda _cluster, topic, _notes: plan.read.append(topic) or found
    )
    monkeypatch.setattr(mirror_index, "cleanup_policy", lambda _cluster, _topic: "compact")
    known_by_id(monkeypatch, lambda _cluster: "C", lambda _cluster, names: dict.fromkeys(names, 1))
    monkeypatch.setattr(
        checkpoints.positions, "partition_bounds", lambda _cluster, where: {each: Bounds(0, 50, 50) for each in where}
    )
    monkeypatch.setattr(checkpoints, "with_expected", lambda plan, *_given: plan)

    def plan(selection=SALES, mapping=NO_MAP, policy=POLICY, on_uncommitted=OnUncommitted.IGNORE):
        return checkpoints.plan_from_checkpoints(CLOUD, policy, selection, mapping, on_uncommitted)

    plan.read = []
    return plan


def placed(made):
    """The source topic and the offset by the destination topic."""
    return {entry.partition.topic: (entry.source[0].partition.topic, entry.offset) for entry in made.plan.entries}


def test_a_policy_of_ones_own_names_the_internal_topics_and_the_map_the_copied_ones(plan):
    renamed = Mapping((Rule("sales", name="orders"),))
    expected = {"sales": ("orders", 47), "clicks": ("clicks", 47), "onprem.orders": ("onprem.orders", 47)}
    assert placed(plan(ALL, renamed)) == expected
    # The same with a policy that prefixes topics by itself: the map alone counts.
    assert placed(plan(ALL, renamed, ReplicationPolicy("onprem", "cloud", "default", "-"))) == expected
    assert plan.read == ["onprem.checkpoints.internal", "onprem-checkpoints-internal"]


def test_without_a_map_the_policy_names_both(plan):
    made = plan(ALL, Mapping(prefixes=Prefixes("onprem.")), POLICY._replace(name="default"))
    assert placed(made) == {"onprem.orders": ("orders", 47)}


@pytest.mark.parametrize(
    ("syncs", "offset", "detail"),
    [
        ([], 47, "; one of MirrorMaker 2 before 3.4.1 may skip records"),
        ([OffsetSync(42, 47)], 47, "; one of MirrorMaker 2 before 3.4.1 may skip records"),
        ([OffsetSync(41, 47)], 47, ""),
        ([OffsetSync(30, 30), OffsetSync(40, 46), OffsetSync(99, 90)], 47, ""),
        ([OffsetSync(10, 15), OffsetSync(30, 36)], 37, ", says 47, and may skip records, .*; its offset-sync says 37"),
    ],
)
def test_a_checkpoint_that_counts_over_gaps_is_lowered_to_its_offset_sync(plan, monkeypatch, syncs, offset, detail):
    """MirrorMaker 2 before 3.4.1 makes 47 of 41 by the sync 30 = 36, though fewer than eleven records may have followed."""
    monkeypatch.setattr(checkpoints, "read_offset_syncs", lambda *_asked: {TopicPartition("sales", 0): syncs})
    made = plan(policy=POLICY._replace(offset_syncs_location="target"))
    (entry,) = made.plan.entries
    assert (entry.verdict, entry.offset, entry.repeats) == (Verdict.SAFE, offset, 50 - offset)
    assert re.fullmatch(
        f"MirrorMaker 2's checkpoint, written when the group stood at source offset 41{detail}", entry.detail
    )
    assert made.index == {"checkpoints": 3, "syncs": len(syncs)}


def test_what_has_expired_after_a_checkpoint_is_told_as_lost(plan, monkeypatch):
    expired = Bounds(49, 50, 50)
    monkeypatch.setattr(checkpoints.positions, "partition_bounds", lambda _cluster, its: dict.fromkeys(its, expired))
    made = plan()
    (entry,) = made.plan.entries
    assert (entry.offset, entry.lost, entry.lost_bound) == (49, 2, Bound.AT_MOST)
    assert "47 has expired, and at most 2 records that the group may not have consumed with it" in entry.detail
    assert [note.kind for note in made.notes] == [NoteKind.RECORDS_EXPIRED]


def test_a_checkpoints_topic_that_forgets_is_noted_and_used(plan, monkeypatch):
    """The source is lost: nobody can let MirrorMaker 2 write its checkpoints again."""
    monkeypatch.setattr(mirror_index, "cleanup_policy", lambda _cluster, _topic: "compact,delete")
    made = plan()
    assert [entry.offset for entry in made.plan.entries] == [47]
    (note,) = made.notes
    assert note.kind is NoteKind.CHECKPOINT_MISSING
    assert "cleanup.policy of onprem.checkpoints.internal is compact,delete. Brokers delete checkpoints" in note.text
    # Who has every checkpoint skips nothing at the end, whatever other groups lack.
    assert [entry.offset for entry in plan(ALL, on_uncommitted=OnUncommitted.END).plan.entries] == [47, 47, 47]
    known_by_id(monkeypatch, lambda _cluster: "C", lambda _cluster, names: dict.fromkeys(names, 2))
    with pytest.raises(
        Refused,
        match="checkpoints may be missing, .*: billing clicks-1, .*: .* theirs. Set on_uncommitted to start, which skips",
    ):
        plan(ALL, on_uncommitted=OnUncommitted.END)
    with pytest.raises(
        NotFound, match="group fraud is not in the checkpoints topic .*: .* groups may lack theirs. Corr"
    ):
        plan(Selection(("fraud",)))


def test_a_pattern_is_about_the_topics_that_are_named(plan):
    lower = Mapping((Rule(r"\1", pattern="prod[.](.*)"),))
    assert placed(plan(Selection(("billing",), topics=("prod.sales",)), lower)) == {"sales": ("prod.sales", 47)}
    with pytest.raises(InvalidInput, match="Name these topics in topics"):
        plan(ALL, lower)


@pytest.mark.parametrize(
    ("selection", "error", "said"),
    [
        (
            Selection(("biling",), topics=("sale", "sales")),
            NotFound,
            r"group biling is not in the checkpoints topic onprem.checkpoints.internal: .*mean billing.*; topic sale",
        ),
        (
            Selection(group_patterns=("x",)),
            InvalidInput,
            r"no group in the checkpoints topic .* by group_patterns \['x'\]: .* only billing. .*, or correct repl",
        ),
        (
            Selection(("billing",), topic_patterns=("sale",)),
            InvalidInput,
            r"no topic among .* in the checkpoints topic .* is matched by topic_patterns \['sale'\]: .* clicks, onprem.orders",
        ),
    ],
)
def test_what_has_no_checkpoint_is_refused_together(plan, selection, error, said):
    with pytest.raises(error, match=said):
        plan(selection)


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        (Mapping(), "none of the topics that replication_policy expects exists: sales: .* Correct replication_policy"),
        (
            Mapping((Rule("sales", name="orders"),)),
            "none of the topics that topic_map expects exists: sales: .* Correct topic_map: it alone says",
        ),
    ],
)
def test_topics_that_are_not_there_are_the_fault_of_what_names_them(monkeypatch, mapping, said):
    monkeypatch.setattr(by_mirror_maker.topics, "list_topics", lambda _cluster: ["x.orders"])
    draft = Draft("billing", TopicPartition("sales", 0), "billing", TopicPartition("orders", 0), None)
    with pytest.raises(type(by_mirror_maker.no_copies([draft], CLOUD, mapping)), match=said):
        raise by_mirror_maker.no_copies([draft], CLOUD, mapping)
