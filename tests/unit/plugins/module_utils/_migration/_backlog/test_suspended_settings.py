"""Settings that are suspended come back once, to whom they belong, and never under records that are still needed."""

import dataclasses

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.configs import TopicConfigs
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog import (
    destination_topics,
    others,
    suspended_settings,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import (
    Backlog,
    BacklogRange,
    BacklogTopic,
    Suspended,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import (
    CommittedOffset,
    GroupListing,
    GroupReading,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from tests.support.memory_brokers import DESTINATION, SOURCE

OTHER = "streamshift-copy-fedcba9876543210-progress-0"

DEFAULTS = {
    "cleanup.policy": "delete",
    "max.message.bytes": "1000",
    "segment.bytes": "1000",
    "message.timestamp.type": "CreateTime",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
}


def a_topic(name):
    return BacklogTopic(name, name, None, {"retention.ms": Suspended("600000", "-1")})


def a_range(name):
    return BacklogRange(TopicPartition(name, 0), 0, 9, TopicPartition(name, 0), 0)


BACKLOG = Backlog(
    "streamshift-copy-0123456789abcdef",
    "here",
    "there",
    "digest",
    (a_topic("orders"), a_topic("bills")),
    (a_range("orders"), a_range("bills")),
)


class Cluster:
    """The destination's topics with their own settings, and its groups."""

    def __init__(self, monkeypatch):
        self.own = {"orders": {"retention.ms": "-1"}, "bills": {"retention.ms": "-1"}}
        self.offsets = {"streamshift-copy-0123456789abcdef-progress-0": "orders"}  # topics by group
        self.fails = False
        patch = monkeypatch.setattr
        for module in (destination_topics, suspended_settings):
            patch(module, "topic_configs", lambda _connection, names, **_how: {it: self.configs(it) for it in names})
            patch(module, "alter_topic_configs", self.alter)
        patch(others.groups, "list_groups", lambda _connection, surely=True: self.listed(surely))
        patch(others.groups, "read_groups", lambda _connection, names, stable: {it: self.reading(it) for it in names})

    def configs(self, name):
        return TopicConfigs(DEFAULTS | self.own[name], self.own[name])

    def listed(self, surely):
        """While coordinators move, one list of groups lacks theirs: whoever asks but once sees none."""
        return [GroupListing(it, "", "", "") for it in self.offsets] if surely else []

    def alter(self, _connection, changes):
        if self.fails and changes:
            raise ZeroDivisionError
        for name, its in changes.items():
            own = self.own[name] | its
            self.own[name] = {key: value for key, value in own.items() if value is not None}

    def reading(self, group):
        offsets = {TopicPartition(self.offsets[group], 0): CommittedOffset(9, "9 9 9 0 0 9 r 1 1 host|")}
        return GroupReading(group, True, "Empty", "classic", "", offsets)


@pytest.fixture
def cluster(monkeypatch):
    return Cluster(monkeypatch)


BOTH = {"orders", "bills"}


def bring(backlog, free, save, left=()):
    """Give settings back, or suspend them; save keeps the copy file, None predicts."""
    return suspended_settings.bring_settings(backlog, DESTINATION, free, save, left)


def restored(backlog):
    return {topic.name: topic.restored for topic in backlog.topics}


class TestAnotherCopyIntoTheTopic:
    """It has found retention suspended, and notes nothing of that."""

    @pytest.mark.parametrize("save", [[].append, None])
    def test_its_groups_keep_the_settings_of_the_first(self, cluster, save):
        cluster.offsets[OTHER] = "orders"
        after, (note,), _changed = bring(BACKLOG, BOTH, save)
        assert restored(after) == {"orders": False, "bills": True}
        assert cluster.own["orders"] == {"retention.ms": "-1"}
        assert note.kind is NoteKind.SETTINGS_SUSPENDED and OTHER in note.text
        assert note.text.startswith("The topic orders keeps its suspended settings, because another copy")

    def test_when_it_has_ended_they_come_back(self, cluster):
        after, notes, _changed = bring(BACKLOG, BOTH, [].append)
        assert restored(after) == {"orders": True, "bills": True} and notes == []
        assert cluster.own["orders"] == {"retention.ms": "600000"}


class TestHeldAgain:
    """After a rollback groups need again what was copied."""

    RESTORED = dataclasses.replace(
        BACKLOG, topics=tuple(dataclasses.replace(each, restored=True) for each in BACKLOG.topics)
    )

    @pytest.fixture(autouse=True)
    def given_back(self, cluster):
        cluster.own = {name: {"retention.ms": "600000"} for name in cluster.own}

    def test_one_that_is_noted_as_held_and_is_not_is_suspended_by_the_next_run(self, cluster):
        """Else the next run would set groups under the real retention."""
        saved = []
        cluster.fails = True
        with pytest.raises(ZeroDivisionError):
            bring(self.RESTORED, {"bills"}, saved.append)
        assert [restored(each) for each in saved] == [{"orders": False, "bills": True}]
        cluster.fails = False
        held, (note,), changed = bring(saved[-1], {"bills"}, saved.append)
        assert restored(held) == {"orders": False, "bills": True} and saved[-1] == held
        assert cluster.own == {"orders": {"retention.ms": "-1"}, "bills": {"retention.ms": "600000"}}
        assert (
            changed
            and "copied to the topic orders, and these settings of it are not suspended: retention.ms." in note.text
        )
        assert bring(held, {"bills"}, saved.append) == (held, [], False)

    @pytest.mark.parametrize("consumed", [True, False])
    def test_what_a_killed_run_has_suspended_comes_back(self, cluster, monkeypatch, consumed):
        class Killed(BaseException):
            pass

        def alter_and_die(connection, changes):
            cluster.alter(connection, changes)
            raise Killed

        saved = [self.RESTORED]
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(suspended_settings, "alter_topic_configs", alter_and_die)
            bring(self.RESTORED, {"bills"}, saved.append)
        assert cluster.own["orders"] == {"retention.ms": "-1"}
        if consumed:
            after, notes, _changed = bring(saved[-1], BOTH, saved.append)
            assert after == self.RESTORED == saved[-1] and notes == []
            assert cluster.own["orders"] == {"retention.ms": "600000"}
        else:  # removed
            back = suspended_settings.changes_back(DESTINATION, saved[-1].topics)
            assert back == {"orders": {"retention.ms": "600000"}}

    def test_a_topic_that_is_left_is_not_touched(self, cluster):
        cluster.fails = True
        assert bring(self.RESTORED, (), [].append, left=BOTH)[1] == []
        assert bring(BACKLOG, BOTH, [].append, left=BOTH) == (BACKLOG, [], False)

    def test_what_somebody_has_set_since_comes_back(self, cluster):
        cluster.own["orders"] = {"retention.ms": "777"}
        saved = []
        predicted, _notes, _changed = bring(self.RESTORED, {"bills"}, None)
        assert cluster.own["orders"] == {"retention.ms": "777"}
        held, _notes, _changed = bring(self.RESTORED, {"bills"}, saved.append)
        assert held == predicted and cluster.own["orders"] == {"retention.ms": "-1"}
        noted = [each.topics[0].suspended["retention.ms"].before for each in saved]
        assert noted == ["777"]
        bring(held, BOTH, saved.append)
        assert cluster.own["orders"] == {"retention.ms": "777"}


def test_a_setting_that_somebody_has_changed_is_not_restored(cluster):
    cluster.own["orders"] = {"retention.ms": "777"}
    after, _notes, _changed = bring(BACKLOG, BOTH, [].append)
    assert restored(after) == {"orders": True, "bills": True}
    assert cluster.own == {"orders": {"retention.ms": "777"}, "bills": {"retention.ms": "600000"}}


@pytest.fixture
def prepared(cluster, monkeypatch):
    """``prepared(topics, saved)``: these topics, before records are copied to orders."""
    monkeypatch.setattr(
        destination_topics.topics, "partition_counts", lambda _connection, names: dict.fromkeys(names, 1)
    )

    def prepare(planned, saved):
        backlog = dataclasses.replace(BACKLOG, topics=planned, ranges=(a_range("orders"),))
        known = destination_topics.prepare(SOURCE, DESTINATION, backlog, lambda noted: saved.append(noted.topics))
        return known.topics

    return prepare


def test_a_copy_that_goes_on_notes_what_somebody_has_set_before_it_suspends_that_again(cluster, prepared):
    cluster.own["orders"] = {"retention.ms": "777"}
    saved = []
    noted = prepared(BACKLOG.topics, saved)
    assert cluster.own["orders"] == {"retention.ms": "-1"}
    assert [topic.suspended["retention.ms"].before for topic in noted] == ["777", "600000"]
    assert saved == [noted]


class TestPlannedWhileAnotherCopyHeldTheSettings:
    """The plan has nothing to suspend; then the other copy gives the settings back, seeing no progress of this one."""

    PLANNED = (BacklogTopic("orders", "orders"), BacklogTopic("bills", "bills"))

    @pytest.fixture(autouse=True)
    def given_back(self, cluster):
        cluster.own = {name: {"retention.ms": "600000"} for name in cluster.own}

    def test_they_are_suspended_before_records_are_copied_and_come_back_later(self, cluster, prepared):
        saved = []
        orders, bills = prepared(self.PLANNED, saved)
        assert cluster.own["orders"] == {"retention.ms": "-1"} and saved == [(orders, bills)]
        assert cluster.own["bills"] == {"retention.ms": "600000"} and not bills.suspended, "nothing is copied to it"
        backlog = dataclasses.replace(BACKLOG, topics=(orders, bills))
        bring(backlog, BOTH, saved.append)
        assert cluster.own["orders"] == {"retention.ms": "600000"}

    @pytest.fixture
    def compacted(self, cluster, monkeypatch):
        """Orders is compacted now, and is not at the source."""
        cluster.own["orders"] = {"cleanup.policy": "compact"}
        like_now = cluster.configs
        at_source = TopicConfigs(DEFAULTS, {})
        monkeypatch.setattr(
            destination_topics,
            "topic_configs",
            lambda at, names, **_how: {it: at_source if at is SOURCE else like_now(it) for it in names},
        )

    def test_a_topic_that_is_compacted_meanwhile_is_refused(self, compacted, prepared):
        with pytest.raises(Refused, match="topic orders: the topic is compacted"):
            prepared(self.PLANNED, [])

    def test_a_topic_that_somebody_compacts_again_during_the_copy_is_suspended_again(
        self, cluster, compacted, prepared
    ):
        begun = dataclasses.replace(self.PLANNED[0], suspended={"cleanup.policy": Suspended("compact", "delete")})
        (orders,) = prepared((begun,), [])
        assert cluster.own["orders"]["cleanup.policy"] == "delete"
        assert orders.suspended["cleanup.policy"] == Suspended("compact", "delete")


def test_what_somebody_sets_while_records_are_copied_is_suspended_again_and_noted(cluster):
    cluster.own["orders"] = {"retention.ms": "777"}
    saved = []
    after, (note,) = suspended_settings.suspend_again(BACKLOG, DESTINATION, saved.append)
    assert cluster.own["orders"] == {"retention.ms": "-1"} and saved == [after]
    assert note.kind is NoteKind.SETTINGS_SUSPENDED and "set retention.ms of the topic orders while" in note.text
    bring(after, BOTH, saved.append)
    assert cluster.own == {"orders": {"retention.ms": "777"}, "bills": {"retention.ms": "600000"}}


def test_settings_that_are_still_suspended_are_left_alone_without_a_word(cluster):
    cluster.fails = True
    assert suspended_settings.suspend_again(BACKLOG, DESTINATION, [].append) == (BACKLOG, [])
