"""Which topics are promoted, and names that cannot be meant."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._promotion.naming import (
    check_topic_names,
    pairs,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import (
    InvalidInput,
    NotFound,
    NothingSelected,
    OneCluster,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import Mapping, Prefixes, Rule
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import Note, NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.promotion import CommittedTopics
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection

OF_TOOLS = ("connect-offsets", "heartbeats", "mm2.a.internal", "orders.replica")
EXISTING = ("__consumer_offsets", "orders", "returns", *OF_TOOLS)


def selected(mapping=Mapping(), existing=EXISTING, **selection):  # noqa: B008
    return pairs(Selection(**selection), mapping, existing, "source")


def test_a_pattern_leaves_out_what_tools_keep_for_themselves_and_says_so():
    found = selected(topic_patterns=(".*",))
    assert found.names == {"orders": "orders", "returns": "returns"}
    said = (
        "Left out by exclude_topic_patterns: connect-offsets (called like Kafka Connect's), heartbeats (called like "
        "MirrorMaker 2's), mm2.a.internal (called like MirrorMaker 2's), orders.replica (called like MirrorMaker 2's). "
        "To take them, name them in topics."
    )
    assert found.notes == (Note(NoteKind.EXCLUDED, said),)
    platform = [
        "_schemas",
        "connect-cluster-configs",
        "docker-connect-offsets",
        "_confluent-command",
        "wc-counts-changelog",
    ]
    existing = ["orders", *platform]
    for own in (None, ("returns",)):
        found = selected(existing=existing, topic_patterns=(".*",), exclude_topic_patterns=own)
        assert found.names == {"orders": "orders"} and all(name in found.notes[0].text for name in platform)
    assert len(selected(existing=existing, topic_patterns=(".*",), exclude_topic_patterns=()).names) == 6


def test_a_pattern_that_matches_nothing_is_told_while_others_match():
    # People exclude what may come.
    (note,) = selected(topic_patterns=("orders", "ordres"), exclude_topic_patterns=("none-.*",)).notes
    assert note.kind is NoteKind.RULE_UNUSED and "ordres. Correct topic_patterns" in note.text


def test_an_internal_topic_is_never_selected():
    assert "__consumer_offsets" not in selected(topic_patterns=(".*",), exclude_topic_patterns=()).names


@pytest.mark.parametrize(
    ("selection", "error", "why"),
    [
        ({"topics": ("__consumer_offsets",)}, InvalidInput, "source, topic __consumer_offsets: the topic is internal"),
        ({"topics": ("nothing",)}, NotFound, "source, topic nothing: the topic does not exist"),
        (
            {"topic_patterns": ("heart.*",)},
            NothingSelected,
            "no topic is selected: Left out by exclude_topic_patterns: heartbeats",
        ),
    ],
)
def test_a_selection_that_cannot_be_meant_is_refused(selection, error, why):
    with pytest.raises(error, match=why):
        selected(**selection)


def test_of_the_topics_that_groups_have_committed_on_those_that_are_left_are_taken():
    committed = frozenset({"__consumer_offsets", "heartbeats", "orders", "deleted", "returns"})
    assert pairs(CommittedTopics(committed), Mapping(), EXISTING, "source") == (
        {"heartbeats": "heartbeats", "orders": "orders", "returns": "returns"},
        (),
    )
    renamed = Mapping(topic_rules=(Rule("sales", name="orders"),))
    assert pairs(CommittedTopics(committed, ("heart.*", "returns")), renamed, EXISTING, "source").names == {
        "orders": "sales"
    }
    assert pairs(CommittedTopics(frozenset({"deleted"})), Mapping(), EXISTING, "source").names == {}


def test_a_topic_with_the_prefix_of_the_policy_is_refused():
    with pytest.raises(InvalidInput, match=r"topic eu\.orders: the topic has the prefix eu\. already"):
        selected(Mapping(prefixes=Prefixes("eu.")), ["eu.orders"], topics=("eu.orders",))
    identity = Mapping(prefixes=Prefixes("eu.", ending="heartbeats"))
    assert selected(identity, ["eu.orders"], topics=("eu.orders",)).names == {"eu.orders": "eu.orders"}


@pytest.mark.parametrize(
    ("names", "existing", "why"),
    [
        ({"a": "x", "b": "x"}, [], "a and b would both become x"),
        ({"a": "x" * 250}, [], "has 250 characters, and Kafka allows 249"),
        ({"a": "x y"}, [], "a would be called x y, which is no legal name"),
        ({"a": ".."}, [], r"a would be called \.\., which is no legal name"),
        ({"a": "__consumer_offsets"}, [], "a would become the internal topic __consumer_offsets"),
        ({"a": "x.y", "b": "x_y"}, [], r"x_y and x\.y differ only in \. and _"),
        ({"a": "x.y"}, ["x_y"], r"x\.y and x_y differ only in \. and _"),
    ],
)
def test_names_that_cannot_be_meant_are_refused(names, existing, why):
    with pytest.raises(InvalidInput, match=why):
        check_topic_names(names, existing, False, "destination")


def test_names_that_the_destination_has_already_are_no_collision():
    check_topic_names({"a": "x.y"}, ["x_y", "x.y"], False, "destination")


def test_a_topic_keeps_its_name_only_in_another_cluster():
    check_topic_names({"a": "a"}, ["a"], False, "destination")
    check_topic_names({"a": "b"}, ["a"], True, "destination")
    with pytest.raises(OneCluster, match="one cluster, and the topic would keep its name"):
        check_topic_names({"a": "a"}, ["a"], True, "destination")


def test_copies_of_the_destinations_own_topics_follow_nobody():
    both_ways = Mapping(prefixes=Prefixes("eu.", "us.", "."))
    found = selected(both_ways, ["orders", "us.orders"], topic_patterns=(".*",))
    assert found.names == {"orders": "eu.orders"}
    assert [note.text for note in found.notes] == [
        "Left out, because they are copies of the destination's own topics: us.orders."
    ]
    committed = CommittedTopics(frozenset({"orders", "us.orders"}))
    assert pairs(committed, both_ways, ["orders", "us.orders"], "source").names == {"orders": "eu.orders"}
