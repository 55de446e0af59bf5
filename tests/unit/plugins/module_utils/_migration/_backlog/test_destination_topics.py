"""Topics are made so that records can be written; what somebody else has made meanwhile is not taken for the copy's."""

import contextlib

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.configs import TopicConfigs
from ansible_collections.streamshift.kafka.plugins.module_utils._control.storage import BrokerCount, TopicLayout
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topic_changes import Creation, Refusal, Trial
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import topic_making
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog import (
    destination_topics,
    preconditions,
    suspended_settings,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import (
    Backlog,
    BacklogRange,
    BacklogTopic,
    Suspended,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import NotAuthorized, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.new_topics import NewTopic
from tests.support.memory_brokers import DESTINATION, ORDERS

LIMIT = "message.timestamp.before.max.ms"
PLANNED = BacklogTopic(
    "orders",
    "orders",
    NewTopic(2, 1, {"retention.ms": "-1", "segment.ms": "1000"}),
    {"retention.ms": Suspended("600000", "-1"), LIMIT: Suspended(None, "9")},
)
LARGE_BATCHES = {"max.message.bytes": "10000000"}
OURS = {"retention.ms": "-1", "segment.ms": "1000"}


@pytest.fixture
def prepare(monkeypatch):
    """Prepare a topic that was planned to be made, and that is there; or is there by the time that it is made."""

    def prepare(own, partitions=2, topic_id="its", missing=False, made=False, saved=None):
        effective = {LIMIT: "5", "max.message.bytes": "1000", "segment.bytes": "900"} | own
        patch = monkeypatch.setattr
        counts = [{} if missing or made else {"orders": partitions}]

        def partition_counts(_connection, names):
            return (counts.pop(0) if counts else {"orders": partitions}) if names else {}

        def create_topics(_connection, wanted, note):
            if not wanted:
                return Creation({}, frozenset())
            answer = Creation({"orders": topic_id}, frozenset()) if made else Creation({}, frozenset(wanted))
            note(answer)
            return answer

        patch(destination_topics.topics, "partition_counts", partition_counts)
        patch(destination_topics.topics, "topic_ids", lambda _connection, names: dict.fromkeys(names, topic_id))
        patch(topic_making, "create_topics", create_topics)
        for module in (destination_topics, topic_making.configs):
            patch(module, "topic_configs", lambda *_args, **_how: {"orders": TopicConfigs(effective, own)})
        patch(destination_topics, "alter_topic_configs", lambda *_args: None)
        copied = BacklogRange(ORDERS, 0, 9, ORDERS, 0)
        backlog = Backlog("copy", "a", "b", "c", (PLANNED,), (copied,))
        return destination_topics.prepare(
            DESTINATION, DESTINATION, backlog, [].append if saved is None else saved.append
        )

    return prepare


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("own, partitions", [({"retention.ms": "777"}, 2), ({}, 2), (OURS, 3)])
def test_a_topic_of_somebody_else_is_refused(prepare, own, partitions, missing):
    with pytest.raises(Refused, match="topic orders.*somebody else has created the topic"):
        prepare(own, partitions, missing=missing)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("own", [OURS, OURS | {LIMIT: "9"}, OURS | {"added.by.a.policy": "x"}])
def test_a_topic_that_looks_as_planned_takes_the_records_but_is_nobody_s(prepare, own, missing):
    """A run may have been killed after it had made the topic, or somebody else has made it."""
    (topic,) = prepare(own, missing=missing).topics
    assert topic.suspended["retention.ms"] == Suspended("600000", "-1")
    assert topic.created is None  # so that it is not deleted when the copy is given up


def test_a_topic_that_goes_after_it_was_looked_at_is_told_as_one_that_a_later_run_misses(monkeypatch):
    monkeypatch.setattr(destination_topics.topics, "partition_counts", lambda *_asked: {})
    monkeypatch.setattr(preconditions.topics, "topic_ids", lambda *_asked: {})
    backlog = Backlog("copy", "a", "b", "c", (BacklogTopic("orders", "orders", topic_id="its"),), ())
    with pytest.raises(Refused, match="topic orders: the topic does not exist any more. Begin anew, but") as later:
        preconditions.check_topics(backlog, DESTINATION, DESTINATION)
    with pytest.raises(Refused) as now:
        destination_topics.prepare(DESTINATION, DESTINATION, backlog, [].append)
    assert (str(now.value), now.value.kind) == (str(later.value), later.value.kind)


def test_where_brokers_give_no_ids_nobody_can_know(prepare):
    (topic,) = prepare({"retention.ms": "777"}, topic_id=None).topics
    assert topic.suspended["retention.ms"].before == "777" and topic.created == PLANNED.created


def test_what_this_run_has_made_is_its_own_and_noted_at_once(prepare):
    saved = []
    prepared = prepare(OURS, made=True, saved=saved)
    assert (prepared.largest, prepared.segments) == ({"orders": 1000}, {"orders": 900})
    assert prepared.made == {"orders"} and prepared.topics[0].created == PLANNED.created
    assert [each.topics[0].topic_id for each in saved] == ["its", "its"]


@pytest.fixture
def plan(monkeypatch):
    """Plan a topic that is missing at the destination, of which the brokers say this."""

    def plan(trial, own=None, replicas=1, copies=False, inherited=None, longest=None, up=3):
        own = own or {}
        monkeypatch.setattr(preconditions, "broker_number", lambda *_args: longest)
        monkeypatch.setattr(
            destination_topics,
            "topic_configs",
            lambda *_args, **_how: {"orders": TopicConfigs(own | (inherited or {}), own)},
        )
        monkeypatch.setattr(destination_topics, "_check_replicas", lambda *_args: None)
        counts = [{"orders": 2}, {}]
        monkeypatch.setattr(destination_topics.topics, "partition_counts", lambda *_args: counts.pop(0))
        monkeypatch.setattr(destination_topics.storage, "broker_count", lambda *_args: BrokerCount(3, up))
        layouts = {"orders": TopicLayout(2, replicas)}
        monkeypatch.setattr(destination_topics.storage, "topic_layouts", lambda *_args: layouts)
        monkeypatch.setattr(topic_making.topic_changes, "try_creation", lambda *_args: trial)
        copied = {"orders"} if copies else set()
        (topic,) = destination_topics.plan_topics(DESTINATION, DESTINATION, {"orders": "orders"}, copied)
        return topic

    return plan


@pytest.mark.parametrize(
    "replicas, default, own, wanted",
    [
        (1, "2", {}, {"min.insync.replicas": "1"}),
        (1, None, {"min.insync.replicas": "2"}, {"min.insync.replicas": "1"}),
        (3, "2", {}, {}),
        (3, "2", {"min.insync.replicas": "3"}, {"min.insync.replicas": "3"}),
        (4, "2", {"min.insync.replicas": "4"}, {"min.insync.replicas": "3"}),
    ],
)
def test_a_topic_that_is_made_wants_no_more_replicas_in_sync_than_it_has(plan, replicas, default, own, wanted):
    configs = {} if default is None else {"orders": TopicConfigs({"min.insync.replicas": default} | own, own)}
    assert plan(Trial({}, configs, {}), own, replicas).created == NewTopic(2, min(replicas, 3), wanted)


@pytest.mark.parametrize(
    "refusal, error, why",
    [
        (Refusal("POLICY_VIOLATION", "too few replicas"), Refused, "orders: it cannot be created: too few replicas"),
        (
            Refusal("TOPIC_ALREADY_EXISTS", "exists"),
            Refused,
            "orders: it cannot be created: .* exists, and do not show it: it is being deleted, or the user may not describe it",
        ),
        (Refusal("TOPIC_AUTHORIZATION_FAILED", "no"), NotAuthorized, "needs ACL TOPIC CREATE on orders"),
    ],
)
def test_a_topic_that_the_brokers_would_refuse_is_named(plan, refusal, error, why):
    with pytest.raises(error, match=f"destination cluster.*: .*{why}"):
        plan(Trial({"orders": refusal}, {}, {}))


@pytest.mark.parametrize(
    ("up", "in_sync", "refused"), [(1, "2", True), (2, "3", True), (2, "2", False), (2, "4", True)]
)
def test_a_topic_that_takes_no_records_while_brokers_are_down_is_refused_in_the_plan(plan, up, in_sync, refused):
    """It was made with fewer replicas in sync than it wants, and the copy failed after it had written."""
    trial = Trial({}, {"orders": TopicConfigs({"min.insync.replicas": in_sync}, {})}, {"orders": 3})
    why = f"topic orders: {up} of 3 replicas would be in sync, and min.insync.replicas is {in_sync}.* Start the brokers"
    with pytest.raises(Refused, match=why) if refused else contextlib.nullcontext():
        assert plan(trial, replicas=3, up=up).created.configs == {}


def test_settings_that_belong_to_the_source_s_brokers_do_not_follow(plan):
    own = {
        "leader.replication.throttled.replicas": "0:1",
        "message.timestamp.difference.max.ms": "5",
        "message.format.version": "2.8-IV1",
        "remote.storage.enable": "true",
        "segment.ms": "7",
        "unclean.leader.election.enable": "true",
    }
    assert plan(Trial({}, {}, {}), own).created.configs == {"segment.ms": "7", "unclean.leader.election.enable": "true"}


@pytest.mark.parametrize(
    ("shown", "keeps", "refused"),
    [
        ("0.10.0-IV1", True, True),
        ("0.9.0", True, True),
        ("0.10.2-IV0", False, False),  # brokers that ignore it
        ("0.11.0-IV2", True, False),
        ("2.8-IV1", True, False),
        (None, True, False),
    ],
)
def test_a_topic_in_a_format_without_transactions_is_refused_in_the_plan(plan, monkeypatch, shown, keeps, refused):
    monkeypatch.setattr(preconditions.topics, "keeps_message_formats", lambda _connection: keeps)
    shows = {} if shown is None else {"message.format.version": shown}
    trial = Trial({}, {"orders": TopicConfigs({"min.insync.replicas": "1"} | shows, {})}, {})
    assert plan(trial, copies=False)
    why = f"topic orders: the topic is in the message format {shown} .*Set its"
    with pytest.raises(Refused, match=why) if refused else contextlib.nullcontext() as found:
        assert plan(trial, copies=True)
    assert not refused or found.value.kind == "topic_unsuitable"


def test_a_topic_that_is_there_is_suspended_without_the_settings_of_a_source_that_tells_none():
    existing = {"cleanup.policy": "delete", "message.timestamp.type": "CreateTime", "max.message.bytes": "1000"}
    existing |= {"retention.bytes": "-1", "retention.ms": "600000"}
    found = suspended_settings.to_suspend(TopicConfigs({}, {}), TopicConfigs(existing, {"retention.ms": "600000"}))
    assert found == {"retention.ms": Suspended("600000", "-1")}


class TestTheSourceTakesLargerBatchesThanTheDestination:
    """Because its brokers do, whatever the topic says."""

    def trial(self, size):
        return Trial({}, {"orders": TopicConfigs({"max.message.bytes": size}, {})}, {})

    def test_a_topic_that_is_made_takes_them_while_records_are_copied(self, plan):
        topic = plan(self.trial("1048588"), copies=True, inherited=LARGE_BATCHES)
        assert topic.created.configs.items() > LARGE_BATCHES.items()
        assert topic.suspended["max.message.bytes"] == Suspended(None, "10000000")

    @pytest.mark.parametrize("size, copies", [("10000000", True), ("20000000", True), ("1048588", False)])
    def test_a_topic_that_takes_them_or_that_nothing_is_copied_to_is_made_as_it_is(self, plan, size, copies):
        topic = plan(self.trial(size), copies=copies, inherited=LARGE_BATCHES)
        assert not {"max.message.bytes"} & {*topic.created.configs, *topic.suspended}


@pytest.mark.parametrize(
    "longest, copies, refused", [(59_999, True, True), (60_000, True, False), (59_999, False, False)]
)
def test_brokers_that_end_transactions_too_early_are_refused_in_the_plan(plan, longest, copies, refused):
    why = "transaction.max.timeout.ms is 59,999, .* may take 60,000"
    with pytest.raises(Refused, match=why) if refused else contextlib.nullcontext():
        assert plan(Trial({}, {}, {}), copies=copies, longest=longest)
