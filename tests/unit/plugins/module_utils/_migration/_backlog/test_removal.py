"""What a removal looks at before it deletes or restores anything, and in which order."""

import dataclasses

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.configs import TopicConfigs
from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog import (
    copy_backlog,
    entries,
    others,
    removal,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog.copy_backlog import Earlier
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog.planning import CopyOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import (
    Backlog,
    BacklogRange,
    BacklogTopic,
    Suspended,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import (
    Progress,
    Run,
    all_groups,
    progress_commits,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Locked, NotAuthorized, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import (
    CommittedOffset,
    GroupListing,
    GroupReading,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.new_topics import NewTopic
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import Note, NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan
from ansible_collections.streamshift.kafka.plugins.module_utils._model.progress import silent
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records.whole_ranges import RecordCount
from tests.support.identities import known_by_id
from tests.support.memory_brokers import DESTINATION, ORDERS

HELD = BacklogTopic("orders", "orders", None, {"retention.ms": Suspended("600000", "-1")}, topic_id="first")
HELD_BACK = {"orders": {"retention.ms": "600000"}}
RANGE = BacklogRange(ORDERS, 40, 60, ORDERS, 100)
BACKLOG = Backlog("streamshift-copy-0123456789abcdef", "here", "there", "digest", (HELD,), (RANGE,))


class Cluster:
    """The destination: what it tells a removal, and what is done to it, in order."""

    def __init__(self, monkeypatch):
        self.done = []
        self.exist = True  # all groups
        self.offsets = {}  # by group
        self.members = {}  # of groups, the topics that theirs are subscribed to
        self.ids = {"orders": "first"}
        self.sizes = {ORDERS: 1}
        self.back = HELD_BACK
        self.bounds = Bounds(0, 120, 120)
        self.holds(Progress(60, 20, next=120, end=60))
        patch = monkeypatch.setattr
        known_by_id(monkeypatch, lambda _connection: "there")
        patch(removal.topics, "topic_ids", lambda _connection, names: {n: self.ids[n] for n in names if n in self.ids})
        patch(removal.preconditions.permissions, "missing_acls", lambda *_args, **_needs: [])
        patch(removal.takeover, "check_idle", lambda *_args: None)
        patch(removal, "fence", lambda *_args: self.done.append("fence"))
        patch(removal, "claim", lambda *_args: self.done.append("claim"))
        patch(removal.suspended_settings, "changes_back", lambda _connection, topics: self.back)
        patch(removal, "alter_topic_configs", lambda _connection, changes: self.done.append(changes))
        patch(removal.deletion, "delete_topics", lambda _connection, topics: self.done.append(topics))
        patch(removal.commits, "delete_groups", lambda _connection, names: self.done.append(names) or {})
        patch(others.groups, "list_groups", lambda *_args, **_how: self.listed())
        patch(others.groups, "subscriptions", lambda _connection, names: {name: self.members[name] for name in names})
        patch(others.groups, "read_groups", lambda _connection, names, **_how: self.readings(names))
        patch(others.storage, "log_sizes", lambda _connection, _partitions: self.sizes)
        patch(others.positions, "partition_bounds", lambda _connection, its: dict.fromkeys(its, self.bounds))

    def holds(self, progress):
        """What the copy's progress group says; None for nothing."""
        (group,) = all_groups(BACKLOG)
        commits = progress_commits([RANGE], {ORDERS: progress}, 1)[0] if progress else ()
        self.offsets[group] = dict(commits)

    def commits(self, group, offset, where=ORDERS):
        self.offsets[group] = {where: CommittedOffset(offset, "")}

    def listed(self):
        return [GroupListing(name, "", "classic", "consumer") for name in {**self.offsets, **self.members}]

    def readings(self, names):
        its = {name: self.offsets.get(name, {}) for name in names}
        states = {name: "Stable" if name in self.members else "Empty" for name in names}
        return {name: GroupReading(name, self.exist, states[name], "classic", "", each) for name, each in its.items()}

    def remove(self, backlog=BACKLOG, plan=None, remove_topics=False):
        return removal.remove_copy(backlog, plan, DESTINATION, remove_topics, 0, False, silent)


@pytest.fixture
def cluster(monkeypatch):
    return Cluster(monkeypatch)


class TestGroupsWithoutAPlan:
    """A copy file of a forgotten directory knows neither the plan nor that the copy has been finished elsewhere."""

    @pytest.mark.parametrize("offset", [100, 119])
    def test_one_among_the_copied_records_keeps_the_settings(self, cluster, offset):
        cluster.commits("billing", offset)
        with pytest.raises(Refused, match=f"group billing.*committed offset {offset}.*yet to consume"):
            cluster.remove()
        assert cluster.done == []

    @pytest.mark.parametrize(
        ("group", "offset", "claimed", "back", "settings"),
        [
            pytest.param("billing", 99, True, HELD_BACK, ("orders",), id="before them"),
            pytest.param("billing", 120, True, HELD_BACK, ("orders",), id="after them"),
            pytest.param("streamshift-copy-fedcba9876543210-progress-1", 110, True, HELD_BACK, ("orders",), id="a copy"),
            pytest.param("billing", 110, True, {}, (), id="finished and restored from another directory"),
            # Producers and consumers have moved to its topic too early, so that it was refused.
            pytest.param("billing", 110, False, HELD_BACK, ("orders",), id="no run has claimed it, so nothing is copied"),
        ],
    )  # fmt: skip
    def test_another_one_does_not(self, cluster, group, offset, claimed, back, settings):
        cluster.commits(group, offset)
        cluster.back = back
        if not claimed:
            cluster.holds(None)
        assert cluster.remove(dataclasses.replace(BACKLOG, claimed=claimed)).settings == settings

    def test_where_the_progress_is_gone_everything_up_to_the_end_may_be_copied(self, cluster):
        cluster.holds(None)
        cluster.bounds = Bounds(0, 130, 130)
        cluster.commits("billing", 129)
        with pytest.raises(Refused, match="group billing"):
            cluster.remove()
        cluster.commits("billing", 130)
        assert cluster.remove().settings == ("orders",)

    def test_progress_that_somebody_has_reset_is_gone(self, cluster):
        cluster.commits(*all_groups(BACKLOG), 60)
        cluster.commits("billing", 119)
        with pytest.raises(Refused, match="group billing"):
            cluster.remove()
        cluster.commits("billing", 130)
        assert cluster.remove().groups == tuple(all_groups(BACKLOG))

    def test_who_may_not_see_every_group_is_told(self, cluster):
        cluster.sizes = None
        with pytest.raises(NotAuthorized, match="needs ACL CLUSTER DESCRIBE"):
            cluster.remove()
        assert cluster.done == []


KEPT = TopicPartition("kept", 0)
MADE = BacklogTopic("orders", "orders", NewTopic(1, 1, {}), HELD.suspended, topic_id="first")
MAKING = dataclasses.replace(BACKLOG, topics=(MADE,), ranges=(dataclasses.replace(RANGE, begin=0),))


class TestWhileTheRecordsAreRead:
    """Reading them may take hours, in which others go on."""

    @pytest.fixture
    def during(self, cluster, monkeypatch):
        """Have something happen while the records are counted."""
        cluster.holds(Progress(60, 20, next=20, end=60))
        cluster.bounds = Bounds(0, 20, 20)
        monkeypatch.setattr(others.topics, "partition_counts", lambda _connection, names: dict.fromkeys(names, 1))

        def during(what):
            def count(_connection, ranges):
                what()
                return dict.fromkeys(ranges, RecordCount(20, 19))

            monkeypatch.setattr(others, "count_records", count)

        return during

    def test_nothing_happens(self, cluster, during):
        during(lambda: cluster.done.append("read"))
        cluster.back = {}
        assert cluster.remove(MAKING, remove_topics=True).topics == ("orders",)
        assert cluster.done == ["fence", "claim", "read", "fence", {}, {"orders": "first"}, all_groups(BACKLOG)]

    @pytest.mark.parametrize(
        ("happens", "why"),
        [
            pytest.param(
                lambda cluster: setattr(cluster, "bounds", Bounds(0, 21, 21)),
                "topic orders, partition 0.*the log has changed while it was read", id="a producer begins",
            ),
            pytest.param(
                lambda cluster: cluster.commits("billing", 3), "group billing.*committed offset 3", id="a group commits"
            ),
            pytest.param(
                lambda cluster: cluster.ids.update(orders="second"),
                "topics were deleted or created while records were read", id="the topic is made anew",
            ),
            pytest.param(
                lambda cluster: cluster.commits("billing", 3, KEPT),
                "group billing, topic kept.*yet to consume", id="a group comes to a topic that stays",
            ),
        ],
    )  # fmt: skip
    def test_what_happens_keeps_the_topics(self, cluster, during, happens, why):
        kept = dataclasses.replace(HELD, name="kept", topic_id="kept")
        ranges = (*MAKING.ranges, BacklogRange(KEPT, 0, 9, KEPT, 0))
        cluster.ids["kept"], cluster.back = "kept", {"kept": {"retention.ms": "600000"}}
        during(lambda: happens(cluster))
        with pytest.raises(Refused, match=why):
            cluster.remove(dataclasses.replace(MAKING, topics=(MADE, kept), ranges=ranges), remove_topics=True)
        assert cluster.done == ["fence", "claim"]

    @pytest.mark.parametrize(
        ("claimed", "why"),
        [
            (True, "the progress of the copy is gone"),
            (False, "this copy has written 0 records, and the log holds 20 records"),
        ],
    )
    def test_a_copy_that_no_run_has_claimed_has_had_no_progress(self, cluster, during, claimed, why):
        during(lambda: None)
        cluster.holds(None)
        cluster.back = {}
        with pytest.raises(Refused, match=f"topic orders, partition 0: it is not sure .*: {why}"):
            cluster.remove(dataclasses.replace(MAKING, claimed=claimed), remove_topics=True)


def test_settings_stay_suspended_under_another_copy(cluster):
    """That one has found them suspended, and its groups have yet to consume."""
    cluster.commits("streamshift-copy-fedcba9876543210-progress-0", 9)
    with pytest.raises(Refused, match="group streamshift-copy-fedcba9876543210-progress-0, topic orders.*another copy"):
        cluster.remove()
    assert cluster.done == []
    cluster.back = {}
    assert cluster.remove().settings == ()


def test_a_topic_that_is_gone_is_named_and_one_that_was_never_made_is_not(cluster):
    cluster.ids, cluster.back = {}, {}
    assert cluster.remove().notes == [Note(NoteKind.TOPIC_RECREATED, "The topic orders does not exist any more.")]
    planned = dataclasses.replace(MADE, topic_id=None)
    assert cluster.remove(dataclasses.replace(MAKING, topics=(planned,))).notes == []


class TestATopicThatTheCopyWasToMake:
    """The run was killed, or refused, before it knew the topic's id."""

    PLANNED = dataclasses.replace(
        MAKING, topics=(dataclasses.replace(MADE, topic_id=None, created=NewTopic(1, 1, {"retention.ms": "-1"})),)
    )

    @pytest.fixture
    def existing(self, monkeypatch):
        def existing(partitions, **own):
            configs = TopicConfigs({}, {name.replace("_", "."): value for name, value in own.items()})
            patch = monkeypatch.setattr
            making = removal.preconditions.topic_making
            patch(making.configs, "topic_configs", lambda _connection, names: dict.fromkeys(names, configs))
            patch(removal.topics, "partition_counts", lambda _connection, names: dict.fromkeys(names, partitions))

        return existing

    @pytest.mark.parametrize("partitions, retention", [(2, "-1"), (1, "777")])
    def test_one_of_somebody_else_is_left_alone(self, cluster, existing, partitions, retention):
        existing(partitions, retention_ms=retention)
        cluster.back = {}
        removed = cluster.remove(self.PLANNED, remove_topics=True)
        said = "The topic orders was created by somebody else, and is left alone."
        assert removed.notes == [Note(NoteKind.TOPIC_RECREATED, said)]
        assert removed.topics == ()

    def test_one_like_it_may_be_its_own(self, cluster, existing):
        existing(1, retention_ms="-1")
        assert cluster.remove(self.PLANNED).settings == ("orders",)
        removed = cluster.remove(self.PLANNED, remove_topics=True)
        assert (removed.settings, removed.topics) == (("orders",), ())
        (note,) = removed.notes
        assert note.kind == "topic_stays" and "a run was killed meanwhile, or Kafka is older than 2.8" in note.text


@pytest.mark.parametrize("is_left", [True, False])
@pytest.mark.parametrize("save", [None, lambda _backlog: None])
def test_progress_that_a_finished_copy_removes_counts_as_a_change_in_check_mode_too(
    cluster, monkeypatch, is_left, save
):
    cluster.exist = is_left
    monkeypatch.setattr(copy_backlog.preconditions, "check_done", lambda *_: None)
    monkeypatch.setattr(
        copy_backlog.entries, "standing_of_groups", lambda *_: entries.CopiedTopics({"orders"}, set(), {}, [])
    )
    monkeypatch.setattr(copy_backlog.suspended_settings, "bring_settings", lambda *_: (BACKLOG, [], False))
    _backlog, notes, changed = copy_backlog._settled(BACKLOG, [], DESTINATION, CopyOptions(), None, save)
    assert (notes, changed) == ([], is_left)
    assert cluster.done == [tuple(all_groups(BACKLOG)) if is_left else ()] * (save is not None)


class TestThePlanOfAnotherCopy:
    """Such as copy: a/copy.json with plan: b/plan.json, which would be overwritten or deleted."""

    @pytest.mark.parametrize("ids", [("other", "there", "digest"), ("here", "other", "digest"), ("here", "there", "x")])
    def test_is_refused_before_anything_is_written(self, cluster, ids):
        earlier = Earlier(BACKLOG, Plan(*ids, ()), None)
        for use_case in (
            lambda: cluster.remove(plan=earlier.plan),
            lambda: copy_backlog.restore_settings(earlier, DESTINATION, None),
            lambda: copy_backlog.copy_backlog(None, None, DESTINATION, None, None, earlier, None, silent),
        ):
            with pytest.raises(Refused, match="the plan is not the one of this copy"):
                use_case()
        assert cluster.done == []

    def test_its_own_is_not(self, cluster):
        done = dataclasses.replace(BACKLOG, ranges=(dataclasses.replace(RANGE, done=Progress(60).done()),))
        assert cluster.remove(done, Plan("here", "there", "digest", ())).settings == ("orders",)


@pytest.mark.parametrize("before", [Run("a", "host", 7, 1), None])
def test_a_run_that_begins_while_records_are_read_keeps_its_topics(cluster, monkeypatch, before):
    def read(*_args, **_how):
        cluster.holds(Progress(50, 10, next=110, end=60, run=Run("b", "other-host", 8, 2)))

    monkeypatch.setattr(removal.others, "check_records", read)
    cluster.holds(Progress(60, 20, next=120, end=60, run=before) if before else None)
    with pytest.raises(
        Locked, match="a run of this copy has begun while records were read: process 8 on host other-host"
    ):
        cluster.remove(MAKING, remove_topics=True)
    assert cluster.done == (["fence", "claim"] if before else ["fence"])


class TestMembers:
    """Of groups that have committed nothing."""

    @pytest.fixture(autouse=True)
    def nothing_is_there(self, cluster, monkeypatch):
        monkeypatch.setattr(removal.others, "check_records", lambda *_args, **_how: None)
        cluster.back = {}

    def test_who_reads_the_topic_keeps_it(self, cluster):
        cluster.members["billing"] = frozenset({"orders", "bills"})
        with pytest.raises(Refused, match="group billing, topic orders: .*a member of the group is subscribed to it"):
            cluster.remove(MAKING, remove_topics=True)
        assert cluster.done == []
        assert cluster.remove(MAKING).topics == ()  # nobody is asked for a topic that stays

    def test_who_reads_another_does_not(self, cluster):
        cluster.members["billing"] = frozenset({"bills"})
        assert cluster.remove(MAKING, remove_topics=True).notes == []

    def test_those_of_whom_brokers_tell_nothing_are_named(self, cluster):
        cluster.members["billing"] = None
        (note,) = cluster.remove(MAKING, remove_topics=True).notes
        assert note.kind is NoteKind.MEMBERS_UNKNOWN and "billing" in note.text and "Nobody can tell" in note.text
