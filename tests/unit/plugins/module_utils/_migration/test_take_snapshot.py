"""Which groups patterns find while coordinators move, which no real cluster does at a given moment."""

import dataclasses

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import groups
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import quiet, selected_groups, take_snapshot
from ansible_collections.streamshift.kafka.plugins.module_utils._model import option_names
from ansible_collections.streamshift.kafka.plugins.module_utils._model.cluster_identity import Traits
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import (
    BrokerError,
    GroupBusy,
    InvalidInput,
    NotFound,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import (
    CommittedOffset,
    GroupListing,
    GroupReading,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.idle import Move
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnActiveGroup, OnBlocked
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.removed import Removed, RemovedGroup
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import SnapshotEntry
from tests.support.identities import known_by_id

ORDERS = TopicPartition("orders", 0)


class Cluster:
    """Lists other groups each time; a clock that only sleeping moves on. lost: groups that do not exist."""

    def __init__(self, monkeypatch, *lists, lost=()):
        self.lost = lost
        self.lists, self.watched, self.now = list(lists), [], 0.0
        monkeypatch.setattr(groups, "attempt", lambda _connection, _read: self.listed(self.lists.pop(0)))
        monkeypatch.setattr(groups, "read_groups", self.read)
        for module in (groups, quiet, take_snapshot):
            monkeypatch.setattr(module.time, "sleep", self.sleep)
            monkeypatch.setattr(module.time, "monotonic", lambda: self.now)
        known_by_id(monkeypatch, lambda _connection: "id")
        monkeypatch.setattr(take_snapshot, "partition_counts", lambda _connection, names: dict.fromkeys(names, 1))
        self.topics, self.committed, self.protocol, self.state, self.step = [], {}, "", "Empty", 0
        monkeypatch.setattr(selected_groups, "list_topics", lambda _connection: self.topics)

    def listed(self, names):
        return {name: GroupListing(name, "Empty", "classic", "consumer") for name in names}

    def read(self, _connection, names, stable=True, **_how):
        self.watched.append(tuple(names))
        now = CommittedOffset(5 + self.step * len(self.watched))
        offsets = {name: dict.fromkeys(self.committed.get(name, [ORDERS]), now) for name in names}
        kinds = {name: "share" if name.startswith("share") else "classic" for name in names}
        return {
            name: GroupReading(name, False, "", "", "", {})
            if name in self.lost
            else GroupReading(name, True, self.state, kinds[name], self.protocol, offsets[name])
            for name in names
        }

    def sleep(self, seconds):
        self.now += seconds

    def take(self, selection=None, on_active_group=OnActiveGroup.FAIL, **options):
        selection = selection or Selection(group_patterns=("billing.*",))
        return take_snapshot.take(Connection("cluster", ("127.0.0.1:1",)), selection, on_active_group, **options)


def names(taken):
    return [group.name for group in taken.snapshot.groups]


def too_busy(*_given, **_options):
    raise BrokerError("too busy")


def test_a_group_that_only_the_second_list_shows_is_watched_like_the_others(monkeypatch):
    cluster = Cluster(monkeypatch, ["billing"], ["billing", "billing-eu", "fraud"])
    assert names(cluster.take(idle_wait=5)) == ["billing", "billing-eu"]
    assert cluster.watched == [("billing",)] * 2 + [("billing", "billing-eu")] * 2


@pytest.mark.parametrize(("lists", "looks"), [([["billing"], []], 1), ([[], ["billing"]], 2)])
def test_a_group_that_one_of_the_lists_lacks_is_found(monkeypatch, lists, looks):
    cluster = Cluster(monkeypatch, *lists)
    assert names(cluster.take()) == ["billing"]
    assert len(cluster.watched) == looks


@pytest.mark.parametrize(("idle_wait", "waited"), [(5, 5), (0, groups.SETTLE_SECONDS)])
def test_the_time_between_two_lists_is_not_waited_for_again_after_groups_were_watched(monkeypatch, idle_wait, waited):
    cluster = Cluster(monkeypatch, ["billing"], ["billing"])
    cluster.take(idle_wait=idle_wait)
    assert cluster.now == waited


def test_groups_that_have_had_members_are_not_waited_for(monkeypatch):
    """Who has left commits nothing more, and the commit of the plan compares all groups once more."""
    cluster = Cluster(monkeypatch, ["billing"])
    cluster.protocol = "consumer"
    cluster.take(Selection(groups=("billing",)), idle_wait=5)
    assert (cluster.now, cluster.watched) == (0, [("billing",)])


@pytest.mark.parametrize(
    ("state", "step", "warned"),
    [
        ("Stable", 0, "These groups are in use, and may consume more than the snapshot says: billing has members"),
        (
            "Empty",
            1,
            "These groups are in use, and may consume more than the snapshot says: billing has commits that move",
        ),
    ],
)
def test_whoever_expects_groups_to_be_in_use_is_not_warned_of_it(monkeypatch, state, step, warned):
    """A round includes the groups every minute while their consumers go on. A user's own playbook is warned."""
    monkeypatch.setattr(quiet, "group_members", lambda *_which: {})
    for policy, told in ((OnActiveGroup.WARN, [warned]), (OnActiveGroup.INCLUDE, [])):
        cluster = Cluster(monkeypatch, ["billing"])
        cluster.state, cluster.step = state, step
        taken = cluster.take(Selection(groups=("billing",)), policy, idle_wait=5)
        assert [note.text[: len(warned)] for note in taken.notes()] == told
        assert names(taken) == ["billing"] and taken.seen.busy == {"billing"}


def test_patterns_that_neither_list_matches_are_refused(monkeypatch):
    told = r"no group that this user may describe is matched by group_patterns \['billing\.\*'\]"
    with pytest.raises(InvalidInput, match=told):
        Cluster(monkeypatch, ["fraud"], []).take()


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("biling", "Correct groups (did you mean billing?), or grant the ACL."),
        ("bill.*", "Correct groups (patterns belong in group_patterns), or grant the ACL."),
    ],
)
def test_a_misspelt_group_is_told_with_those_that_may_be_meant(monkeypatch, name, remedy):
    with pytest.raises(NotFound) as found:
        Cluster(monkeypatch, ["billing", "fraud"], lost=[name]).take(Selection(groups=(name,)))
    assert str(found.value).endswith(remedy)


def test_a_misspelt_group_hides_no_misspelt_topic(monkeypatch):
    cluster = Cluster(monkeypatch, ["billing"], lost=["biling"])
    cluster.topics = ["orders"]
    with pytest.raises(
        NotFound, match=r"group biling: the group does .* \(did you mean billing\?\).*: ordres \(.*mean orders\?"
    ):
        cluster.take(Selection(groups=("biling",), topics=("ordres", "orders")))


@pytest.mark.parametrize(
    ("topics", "told"),
    [
        ({"topics": ("clicks",)}, "clicks"),
        (
            {"topic_patterns": ("click.*",)},
            r"no topic of the selected groups is matched by topic_patterns \['click\.\*'\]",
        ),
    ],
)
def test_a_misspelt_group_pattern_is_named_where_the_topics_of_its_groups_are_missing(monkeypatch, topics, told):
    cluster = Cluster(monkeypatch, ["billing", "web"], ["billing", "web"])
    cluster.committed = {"web": [TopicPartition("clicks", 0)]}
    told = f"{told}.*: No group .* is matched by wep.*Correct group_patterns"
    with pytest.raises((InvalidInput, NotFound), match=told):
        cluster.take(Selection(group_patterns=("billing", "wep.*"), **topics))


def test_a_list_that_fails_hides_no_misspelt_group(monkeypatch):
    monkeypatch.setattr(groups, "list_groups", too_busy)
    with pytest.raises(NotFound, match=r"Correct groups, or grant the ACL\."):
        Cluster(monkeypatch, lost=["x"]).take(Selection(groups=("x",)))


class WithTransaction(Cluster):
    """A group `billing` of which a transaction commits an offset, until the clock shows `ends`."""

    ends = 1e9

    def read(self, _connection, names, stable=True, **_how):
        found = super().read(_connection, names)
        told = {ORDERS: "x9"} if self.now < self.ends else {}
        return found | {name: dataclasses.replace(found[name], open=told) for name in names if name == "billing"}


def test_a_group_with_an_open_transaction_is_taken_and_told_and_no_matter_of_others(monkeypatch):
    taken = WithTransaction(monkeypatch, *[["billing", "billing-eu"]] * 2).take()
    assert names(taken) == ["billing", "billing-eu"]
    assert taken.snapshot.open == (("billing", ORDERS, "x9"),)
    assert "billing: a transaction that commits offsets for orders-0 is open: x9" in "".join(map(str, taken.notes()))


@pytest.mark.parametrize(
    ("selection", "named"),
    [
        ({"group_patterns": ("billing.*",)}, ()),
        ({"groups": ("billing", "billing-eu"), "topics": ("orders", "clicks")}, ("billing", "clicks")),
    ],
)
def test_a_policy_for_groups_in_use_leaves_it_out_and_what_was_selected_by_name_is_known(monkeypatch, selection, named):
    cluster = WithTransaction(monkeypatch, *[["billing", "billing-eu"]] * 2)
    cluster.committed = {"billing": [ORDERS, TopicPartition("clicks", 0)]}
    taken = cluster.take(Selection(**selection), OnActiveGroup.SKIP_GROUP)
    assert (names(taken), taken.skipped, taken.snapshot.open) == (["billing-eu"], ("billing",), ())
    assert taken.snapshot.left_out_names == named
    assert taken.snapshot.names() == {"billing-eu", "orders", *named}


def test_its_end_is_waited_for_as_long_as_for_consumers(monkeypatch):
    monkeypatch.setattr(WithTransaction, "ends", 20.0)
    cluster = WithTransaction(monkeypatch, *[["billing"]] * 2)
    said = []
    assert cluster.take(stop_timeout=60, say=said.append).snapshot.open == ()
    assert (
        20 <= cluster.now < 30
        and "billing is in use: a transaction that commits offsets for orders-0 is open: x9 (60 s" in said[0]
    )


LIKE_MIRROR_MAKER = "(called like MirrorMaker 2's): excluded by exclude_topic_patterns"
MONITOR = [TopicPartition("heartbeats", number) for number in range(3)]


def kinds(taken):
    return [note.kind for note in taken.notes()]


def test_a_group_that_is_named_keeps_topics_that_are_called_like_those_of_tools(monkeypatch):
    cluster = Cluster(monkeypatch)
    cluster.committed = {"monitor": [*MONITOR, TopicPartition("__audit", 0)]}
    taken = cluster.take(Selection(groups=("monitor", "billing")))
    assert {entry.partition.topic for entry in taken.snapshot.entries} == {"heartbeats", "__audit", "orders"}
    assert taken.snapshot.left_out == () and kinds(taken) == []


def test_what_is_taken_out_of_a_group_has_a_line_with_its_partitions_and_the_option(monkeypatch):
    cluster = Cluster(monkeypatch, ["monitor", "mixed", "console-consumer-7", "", "two\nlines"])
    cluster.committed = {"monitor": MONITOR, "mixed": [ORDERS, TopicPartition("mm2-events", 4)]}
    taken = cluster.take(Selection(groups=("billing",), group_patterns=(".*",)), surely=False)
    assert [entry.group for entry in taken.snapshot.entries] == ["billing", "mixed", "two\nlines"]
    assert taken.snapshot.left_out == (
        "the group with the empty name: brokers neither describe nor remove it",
        "console-consumer-7 (called like the console consumer's): excluded by exclude_group_patterns; name them to take them",
        f"mixed mm2-events-4 {LIKE_MIRROR_MAKER}; name the group or the topic to take it",
        f"monitor heartbeats-0 to 2 {LIKE_MIRROR_MAKER}; name the group or the topic to take it",
    )
    (unnamed,) = (note for note in taken.notes() if note.kind is NoteKind.GROUP_UNNAMED)
    assert "could not be rolled back" in unnamed.text


def test_groups_that_do_not_read_the_chosen_topics_share_one_line(monkeypatch):
    others = [f"reader-{number}" for number in range(7)]
    cluster = Cluster(monkeypatch, ["billing", *others])
    cluster.committed = {name: [TopicPartition("clicks", 0)] for name in others}
    taken = cluster.take(Selection(group_patterns=(".*",), topics=("orders",)), surely=False)
    told = "reader-0, reader-1, reader-2, reader-3, reader-4 and 2 more groups: none of their topics is selected"
    assert taken.snapshot.left_out == (told,)


def test_a_named_group_that_ends_with_nothing_has_a_line(monkeypatch):
    cluster = Cluster(monkeypatch)
    cluster.committed = {"monitor": MONITOR}
    taken = cluster.take(Selection(groups=("monitor", "billing"), topics=("orders",)))
    assert taken.snapshot.left_out == ("monitor: none of its topics is selected",)
    own = cluster.take(Selection(groups=("monitor", "billing"), exclude_topic_patterns=("heart.*",)))
    assert own.snapshot.left_out == (f"monitor heartbeats-0 to 2 {LIKE_MIRROR_MAKER}; name the topic to take it",)
    assert kinds(own) == ["excluded", "without_offsets"]
    assert own.notes()[1].text.endswith("in the snapshot: monitor has no committed offsets on the selected topics.")


def test_the_note_on_groups_without_offsets_says_why_each_has_none(monkeypatch):
    taken = Cluster(monkeypatch).take(Selection(groups=("billing",)))
    why = "is a share group, which has no single position in a partition"
    (note,) = taken._replace(not_consumer_groups={"a": why, "b": why, "c": "is of the unknown type x"}).notes()
    told = f"Nothing of these groups is in the snapshot: a, b: each {why}; c is of the unknown type x."
    assert (note.kind, note.text) == ("without_offsets", told)


def test_a_backup_gives_no_advice_for_a_move(monkeypatch):
    taken = Cluster(monkeypatch).take(Selection(groups=("connect-jdbc",)))._replace(streams=("wc",))
    assert kinds(taken) == ["streams_group", "sink_group"]
    monkeypatch.setattr(option_names, "_variables", {"groups": "back_up_offsets_groups"})
    assert kinds(taken) == []
    monkeypatch.setattr(option_names, "_variables", {"on_rewind": "group_reset_on_rewind"})
    assert kinds(taken) == ["streams_group", "sink_group"]


@pytest.mark.parametrize(
    ("committed", "topics"),
    [
        ([ORDERS, TopicPartition("wc-KSTREAM-AGGREGATE-STATE-STORE-0000000003-repartition", 0)], []),
        ([ORDERS], ["orders", "wc-counts-changelog"]),
    ],
)
def test_an_application_of_kafka_streams_is_known_by_its_topics(monkeypatch, committed, topics):
    cluster = Cluster(monkeypatch, ["wc", "w"])
    cluster.committed, cluster.topics = {"wc": committed}, topics
    taken = cluster.take(Selection(groups=("wc", "w")))
    assert taken.streams == ("wc",) and kinds(taken) == ["streams_group"]
    assert "not their state" in taken.notes()[0].text and "another group name" in taken.notes()[0].text


@pytest.mark.parametrize("others", [["orders-enricher"], [], None])
def test_the_topic_of_another_application_makes_no_group_one_of_kafka_streams(monkeypatch, others):
    """Where nobody knows of the other application, the doubt stays."""
    cluster = Cluster(monkeypatch, ["orders", *(others or ())])
    cluster.topics = ["orders-enricher-store-changelog"]
    if others is None:
        monkeypatch.setattr(groups, "list_groups", too_busy)
    streams = () if others else ("orders",)
    assert cluster.take(Selection(groups=("orders",))).streams == streams


def test_patterns_take_a_topic_for_that_of_a_group_that_they_do_not_select(monkeypatch):
    cluster = Cluster(monkeypatch, *[["billing", "billing-eu", "billing-eu-fraud"]] * 2)
    cluster.topics = ["billing-eu-fraud-store-changelog", "billing-eu-sums-by-day-changelog"]
    selection = Selection(group_patterns=("billing.*",), exclude_group_patterns=(".*fraud",))
    assert cluster.take(selection).streams == ("billing-eu",)


def test_topics_that_cannot_be_listed_fail_no_snapshot(monkeypatch):
    cluster = Cluster(monkeypatch)
    monkeypatch.setattr(selected_groups, "list_topics", too_busy)
    assert cluster.take(Selection(groups=("billing",))).streams == ()


@pytest.mark.parametrize("name", ["connect-jdbc", "cg-control-iceberg"])
def test_a_group_of_a_sink_is_told_what_a_sink_does_with_positions_of_its_own(monkeypatch, name):
    (note,) = Cluster(monkeypatch).take(Selection(groups=("billing", name))).notes()
    assert note.kind == "sink_group" and name in note.text and "billing" not in note.text


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (
            "Empty",
            "groups are in use: a has commits that .*. Stop their consumers, or the tool that commits for them, or ",
        ),
        ("Stable", "groups are in use: a has commits .*; b has members .*. Stop .* session timeout, or "),
    ],
)
def test_only_members_have_a_session_to_wait_for(state, told):
    readings = {name: GroupReading(name, True, its, "classic", "", {}) for name, its in (("a", "Empty"), ("b", state))}
    seen = quiet.Seen(readings, {"a": [Move(ORDERS, 1, 2)]})
    with pytest.raises(GroupBusy, match=told):
        take_snapshot._skipped(seen, OnActiveGroup.FAIL, 0, Connection("c", ("a:1",)))


@pytest.fixture
def refusal(monkeypatch):
    """What is said of groups that are named. The names say what is the matter with each."""

    def refuse(*names, error=NotFound, **selection):
        cluster = Cluster(monkeypatch, ["lost property"], lost=[name for name in names if name.startswith("lost")])
        cluster.committed = dict.fromkeys(names, ())
        with pytest.raises(error) as refused:
            cluster.take(Selection(groups=names, **selection))
        return refused.value

    return refuse


def test_all_groups_are_told_of_which_nothing_can_be_moved(refusal):
    assert str(refusal("lost propertyy", "empty", "share1", "lost, too", "share2")) == (
        "cluster 127.0.0.1:1: group empty has committed nothing, or TOPIC DESCRIBE on what it consumes is not allowed; "
        "groups 'lost propertyy', 'lost, too': they do not exist, or GROUP DESCRIBE on them is not allowed; "
        "groups share1, share2: each of them is a share group, which has no single position in a partition, so it has no "
        "committed offsets that can be moved. Correct groups (did you mean 'lost property'?), take the others out, "
        "or grant the ACL."
    )
    share = refusal("share1", error=InvalidInput)
    assert share.group == "share1" and str(share).endswith("Take it out of groups.")


def test_a_named_group_without_commits_is_left_out_where_blocked_groups_are(monkeypatch):
    cluster = Cluster(monkeypatch)
    cluster.committed = {"new": []}
    taken = cluster.take(Selection(groups=("billing", "new")), on_blocked=OnBlocked.SKIP_GROUP)
    assert taken.snapshot.left_out == ("new: it has no committed offsets",) and "new" in taken.snapshot.names()
    with pytest.raises(NotFound, match="has committed nothing"):  # there is nothing else to move
        cluster.take(Selection(groups=("new",)), on_blocked=OnBlocked.SKIP_GROUP)


def test_groups_of_a_receipt_are_not_called_misspelt(refusal):
    lost = refusal("lost", of_receipt=True)
    assert lost.group == "lost"
    assert "is not allowed, although the receipt has it. Find out whether" in str(lost) and "orrect" not in str(lost)


@pytest.fixture
def renamed(monkeypatch):
    """A cluster and its removed groups; orders was created again since, and billing was made again by somebody."""
    cluster = Cluster(monkeypatch, *[["billing"]] * 2, lost=["audit", "fraud"])
    cluster.identities = known_by_id(monkeypatch, lambda _connection: "id")
    cluster.identities.traits["id"] = Traits(topic_ids={"orders": "new", "clicks": "old"})
    clicks = TopicPartition("clicks", 0)
    stood = (
        ("audit", ORDERS, 41),
        ("billing", ORDERS, 5),
        ("fraud", clicks, 41),
        ("fraud", ORDERS, 41),
    )  # billing as now
    removed = Removed(
        "id",
        tuple(RemovedGroup(name, "classic", False) for name in ("audit", "billing", "fraud")),
        tuple(SnapshotEntry(group, where, CommittedOffset(offset)) for group, where, offset in stood),
        Traits(topic_ids=dict.fromkeys(("orders", "clicks"), "old")),
    )
    return cluster, removed


AGAIN = "orders-0: the topic was created again since the group was removed"


def test_what_removed_groups_had_committed_on_topics_that_were_created_again_is_left_out(renamed):
    cluster, removed = renamed
    taken = cluster.take(Selection(groups=("audit",), group_patterns=(".*",)), removed=removed).snapshot
    assert [(*entry[:2], entry.committed.offset) for entry in taken.entries] == [
        ("billing", ORDERS, 5),
        ("fraud", TopicPartition("clicks", 0), 41),
    ]
    assert taken.left_out == (f"audit {AGAIN}", f"fraud {AGAIN}")


@pytest.mark.parametrize(
    ("selection", "left_out"),
    [
        ({"groups": ("fraud",), "topics": ("clicks",)}, []),
        (
            {"groups": ("fraud",), "exclude_topic_patterns": ("ord.*",)},
            ["fraud orders-0: excluded by exclude_topic_patterns; name the topic to take it"],
        ),
        ({"groups": ("audit",), "topics": ("orders",)}, [f"audit {AGAIN}"]),
        ({"groups": ("audit",), "topic_patterns": ("ord.*",)}, [f"audit {AGAIN}"]),
    ],
)
def test_topics_that_were_created_again_are_selected_as_all_others(renamed, selection, left_out):
    cluster, removed = renamed
    assert list(cluster.take(Selection(**selection), removed=removed).snapshot.left_out) == left_out


@pytest.mark.parametrize("then", [{}, {"clicks": None}])
def test_what_a_removed_group_had_committed_is_of_an_unknown_topic_where_its_id_was_not_noted(renamed, then):
    cluster, removed = renamed
    removed = dataclasses.replace(removed, traits=Traits(topic_ids=then | {"orders": "old"}))
    cluster.identities.traits["id"] = Traits(("address",), {"orders": "old", "clicks": "new"})
    taken = cluster.take(Selection(groups=("billing", "fraud")), removed=removed).snapshot
    assert taken.traits == Traits(("address",), {"orders": "old", "clicks": None})


def unused(taken):
    return [note.text for note in taken.notes() if note.kind is NoteKind.RULE_UNUSED]


def test_patterns_that_match_nothing_are_told_while_others_match(monkeypatch):
    cluster = Cluster(monkeypatch, *[["billing", "fraud"]] * 4)
    (told,) = unused(cluster.take(Selection(group_patterns=("e{2", "3}", "billing"), topic_patterns=("ord.*",))))
    comma = "Ansible splits a text at commas, so give a pattern with a comma in a list. Correct group_"
    assert f"is matched by e{{2, 3}}; {comma}" in told
    assert unused(cluster.take(Selection(group_patterns=(".*",), exclude_group_patterns=("later-.*",)))) == []


def test_a_pattern_for_topics_that_no_selected_group_reads_is_told_only_where_there_is_no_such_topic(monkeypatch):
    selection = Selection(groups=("billing",), topics=("orders",), topic_patterns=("audit",))
    cluster = Cluster(monkeypatch)
    (told,) = unused(cluster.take(selection))
    assert "is matched by audit. Correct topic_patterns," in told
    cluster.topics = ["audit"]
    assert unused(cluster.take(selection)) == []
