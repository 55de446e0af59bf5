"""What is said of topics on which brokers may hide committed offsets, and that nothing is said without a cause."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.topics import TopicDescription
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import hidden_topics
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import Mapping, Prefixes
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection

ONPREM, CLOUD = Connection("source cluster", ("a:1",)), Connection("destination cluster", ("b:1",))
GROUP = Selection(groups=("acl-g",))
EVERY_GROUP = Selection(group_patterns=(".*",))
TOOLS = [
    "__consumer_offsets",
    "heartbeats",
    "onprem.checkpoints.internal",
    "mm2-offset-syncs.cloud.internal",
    "connect-configs",
    "_schemas",
    "acl-g-store-changelog",
]


@pytest.fixture
def clusters(monkeypatch):
    """The user of the source may describe `visible` alone. `asked` is what it was asked about."""

    class Clusters:
        def __init__(self):
            self.visible = {"acl.a"}
            self.at_destination, self.members, self.asked, self.unseen = [], {}, [], []

        def described(self, connection, names):
            assert connection is ONPREM
            self.asked += sorted(names)
            hidden = TopicDescription(0, "TOPIC_AUTHORIZATION_FAILED")
            return {name: TopicDescription(1) if name in self.visible else hidden for name in names}

        def listed(self, connection):
            assert connection is CLOUD
            return self.at_destination

    its = Clusters()
    monkeypatch.setattr(hidden_topics, "describe_topics", its.described)
    monkeypatch.setattr(hidden_topics, "list_topics", its.listed)
    monkeypatch.setattr(
        hidden_topics.groups, "subscriptions", lambda _source, names: {n: its.members[n] for n in names}
    )
    monkeypatch.setattr(hidden_topics, "assigned_unseen", lambda _source, names: [n for n in its.unseen if n in names])
    return its


def in_use(*classic, **others):
    """Groups with their types, by name."""
    return dict.fromkeys(classic, "classic") | others


def notes(selection=GROUP, mapping=Mapping(), seen=("acl.a",)):  # noqa: B008
    return hidden_topics.copied(ONPREM, CLOUD, selection, mapping, seen)


def test_a_copy_of_a_topic_that_the_source_denies_is_named_with_what_may_be_lost_and_what_to_do(clusters):
    clusters.at_destination = ["acl.a", "acl.b", *TOOLS]
    (note,) = notes()
    assert note.kind is NoteKind.TOPICS_HIDDEN and clusters.asked == ["acl.b"]  # of others, nobody is asked
    assert note.text.startswith("source cluster a:1: the user may not describe topics")
    assert "may have copies of: acl.b. " in note.text and "by auto.offset.reset" in note.text
    assert "grant the ACL TOPIC DESCRIBE on them at the source" in note.text and "exclude_topic_patterns" in note.text


def test_all_of_them_are_one_note_that_names_some(clusters):
    clusters.at_destination = [f"acl.{number:02}" for number in range(30)]
    (note,) = notes()
    assert "acl.00, acl.01" in note.text and "acl.19 and 10 more" in note.text


@pytest.mark.parametrize("selection", [GROUP, EVERY_GROUP])
def test_nothing_is_said_of_what_the_user_may_describe_or_tools_have_made(clusters, selection):
    clusters.at_destination = ["acl.a", "known", *TOOLS]
    clusters.visible = {"acl.a", "known"}
    assert notes(selection) == []


@pytest.mark.parametrize(
    ("selection", "named"),
    [
        (Selection(groups=("acl-g",), topics=("acl.a",)), []),
        (Selection(groups=("acl-g",), topics=("acl.a",), topic_patterns=(r"pay\..*",)), ["pay.x"]),
        (Selection(groups=("acl-g",), topic_patterns=(r"acl\..*",)), ["acl.b"]),
        (Selection(groups=("acl-g",), exclude_topic_patterns=(r"acl\.b",)), ["pay.x"]),
        (Selection(groups=("acl-g",), exclude_topic_patterns=()), ["acl.b", "pay.x"]),
    ],
)
def test_only_what_the_selection_takes_is_asked_about(clusters, selection, named):
    clusters.at_destination = ["acl.a", "acl.b", "pay.x", "heartbeats"]
    told = notes(selection)
    assert sorted(clusters.asked) == named
    assert [note.text.partition("copies of: ")[2].partition(". Brokers")[0] for note in told] == [
        ", ".join(named)
    ] * bool(named)


def test_names_are_those_of_the_source_and_other_prefixes_do_not_count(clusters):
    clusters.at_destination = ["onprem.acl.a", "onprem.acl.b", "us.acl.c", "own"]
    (note,) = notes(mapping=Mapping(prefixes=Prefixes("onprem.", separator=".")))
    assert "copies of: acl.b. " in note.text and clusters.asked == ["acl.b"]


def test_a_topic_that_members_are_subscribed_to_is_refused_with_its_acl(clusters):
    clusters.members = {"acl-g": frozenset({"acl.a", "acl.b"}), "acl-h": frozenset({"acl.c"}), "new": None}
    clusters.members["acl-i"] = clusters.members["acl-h"]
    one, two = hidden_topics.subscribed(ONPREM, in_use("acl-g", "acl-h", "acl-i", new="consumer"), EVERY_GROUP)
    assert one.place() == {
        "kind": "acl_missing", "cluster": str(ONPREM), "group": "acl-g", "topic": "acl.b", "partition": None
    }  # fmt: skip
    assert "missing ACL TOPIC READ on acl.b: members of acl-g are subscribed to it" in str(one)
    assert "exclude the topic by exclude_topic_patterns" in str(one)
    assert two.group is None and "on acl.c: members of acl-h, acl-i are subscribed to it" in str(two)


@pytest.mark.parametrize(
    "selection",
    [
        Selection(groups=("acl-g",), topics=("acl.a", "acl.b")),  # whose ACLs are asked for in any case
        Selection(groups=("acl-g",), topic_patterns=(r"acl\.a",)),
        Selection(groups=("acl-g",), exclude_topic_patterns=(r".*\.b",)),
    ],
)
def test_subscriptions_to_what_is_not_selected_do_not_matter(clusters, selection):
    clusters.members = {"acl-g": frozenset({"acl.a", "acl.b"})}
    assert hidden_topics.subscribed(ONPREM, in_use("acl-g"), selection) == []


def test_that_members_of_the_newer_protocol_consume_a_hidden_topic_is_refused_where_all_topics_are_meant(clusters):
    clusters.members = {"acl-g": None, "old": frozenset({"acl.a"}), "rebalancing": None}
    clusters.unseen = ["acl-g", "old", "rebalancing"]
    (problem,) = hidden_topics.subscribed(ONPREM, in_use("old", "rebalancing", **{"acl-g": "consumer"}), EVERY_GROUP)
    assert problem.group == "acl-g" and "missing ACL TOPIC READ on a topic that its members consume" in str(problem)
    assert "select topics by topic_patterns" in str(problem)
    for words in ({"topic_patterns": ("acl.*",)}, {"exclude_topic_patterns": ("x",)}, {"topics": ("acl.a",)}):
        newer = in_use(**{"acl-g": "consumer"})
        assert hidden_topics.subscribed(ONPREM, newer, Selection(groups=("acl-g",), **words)) == []
