"""New names for groups and topics."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import (
    Mapping,
    prefixes_from,
    repartitioned_from,
    rules_from,
)


def mapping(topic_map=(), group_map=(), policy=None):
    return Mapping(rules_from("topic_map", topic_map), rules_from("group_map", group_map), prefixes_from(policy))


@pytest.mark.parametrize(
    ("topic_map", "topic", "expected"),
    [
        pytest.param([], "orders", "orders", id="no rule keeps the name"),
        pytest.param([{"name": "orders", "to": "sales"}], "orders", "sales", id="by name"),
        pytest.param(
            [{"name": "orders", "to": "sales"}], "orders.archive", "orders.archive", id="of the whole name only"
        ),
        pytest.param([{"name": "a.c", "to": "x"}], "abc", "abc", id="a name is no pattern"),
        pytest.param([{"pattern": "ord", "to": "x"}], "orders", "orders", id="a pattern matches the whole name"),
        pytest.param([{"pattern": "legacy-(.*)", "to": r"\1"}], "legacy-orders", "orders", id="a group of the pattern"),
        pytest.param([{"pattern": r"(\w+)-(\w+)", "to": r"\2.\1"}], "a-b", "b.a", id="two groups of the pattern"),
        pytest.param([{"pattern": "(?P<n>.*)", "to": r"x-\g<n>"}], "a", "x-a", id="a named group of the pattern"),
        pytest.param([{"name": "a", "to": "1"}, {"pattern": ".*", "to": "2"}], "a", "1", id="the first rule wins"),
        pytest.param(
            [{"pattern": ".*", "to": "2"}, {"name": "a", "to": "1"}], "a", "2", id="the first one, name or not"
        ),
        pytest.param(
            [{"name": "a", "to": "b"}, {"name": "b", "to": "c"}], "a", "b", id="rules do not follow each other"
        ),
    ],
)
def test_topics(topic_map, topic, expected):
    assert mapping(topic_map=topic_map).topic(topic) == expected


@pytest.mark.parametrize(
    ("copies", "given", "sources"),
    [
        pytest.param(["orders"], {}, {"orders"}, id="no rule"),
        pytest.param(["sales"], {"topic_map": [{"name": "orders", "to": "sales"}]}, {"sales", "orders"}, id="by name"),
        pytest.param(["orders"], {"topic_map": [{"name": "orders", "to": "sales"}]}, set(), id="the name is taken"),
        pytest.param(["eu.a"], {"topic_map": [{"pattern": "(.*)", "to": r"eu.\1"}]}, {"a"}, id="a prefix"),
        pytest.param(["a.x"], {"topic_map": [{"pattern": ".*", "to": r"\g<0>.x"}]}, {"a"}, id="a suffix"),
        pytest.param(
            ["eu-a-new", "other"],
            {"topic_map": [{"pattern": r"on\.prem-(?P<n>\w+)", "to": r"eu-\g<n>-new"}]},
            {"eu-a-new", "on.prem-a", "other"},
            id="a group between names",
        ),
        pytest.param(["b.a"], {"topic_map": [{"pattern": r"(\w)-(\w)", "to": r"\2.\1"}]}, {"b.a"}, id="two groups"),
        pytest.param(["x"], {"topic_map": [{"pattern": "a+", "to": "x"}]}, {"x"}, id="no group"),
        pytest.param(["x-"], {"topic_map": [{"pattern": "x-(.*)", "to": r"\1"}]}, {"x-x-"}, id="an empty name"),
        pytest.param(
            ["onprem.a", "us.b", "c", "onprem."],
            {"policy": {"name": "default", "source_alias": "onprem", "separator": "."}},
            {"a", ""},
            id="copies have the prefix",
        ),
        pytest.param(
            ["onprem.a", "c"],
            {"policy": {"name": "default", "source_alias": "onprem", "target_alias": "cloud", "separator": "."}},
            {"a", "cloud.onprem.a", "cloud.c"},
            id="and the destination's own topics that of their copies",
        ),
    ],
)
def test_the_source_topics_that_a_copy_may_be_of(copies, given, sources):
    assert mapping(**given).possible_sources(copies) == sources


def test_a_group_rule_can_be_limited_to_topics():
    its = mapping(group_map=[{"name": "app", "to": "app-eu", "topics": [r"eu\..*"]}, {"name": "app", "to": "app-rest"}])
    assert its.groups("app", "eu.orders") == ("app-eu",)
    assert its.groups("app", "us.orders") == ("app-rest",)
    assert its.groups("app", "not.eu.orders") == ("app-rest",)
    assert its.groups("other", "eu.orders") == ("other",)


def test_a_group_rule_may_have_several_new_names_and_the_first_rule_wins():
    its = mapping(
        group_map=[
            {"pattern": "(.*)-app", "to": [r"\1-a", "b, c"], "topics": ["shared"]},
            {"name": "eu-app", "to": "eu-rest"},
        ]
    )
    assert its.groups("eu-app", "shared") == ("eu-a", "b, c")
    assert its.groups("eu-app", "orders") == ("eu-rest",)
    same = mapping(group_map=[{"pattern": "(.*)-(.*)", "to": [r"\1", r"\2"]}])
    with pytest.raises(InvalidInput, match="a-a would get the name a twice"):
        same.groups("a-a", "orders")


def test_rules_that_are_used_for_nothing_are_told_with_the_reason():
    its = mapping(
        group_map=[
            {"name": "app", "to": "x", "topics": ["a.*"]},
            {"name": "app", "to": "x", "topics": ["ab"]},
            {"pattern": "none-.*", "to": "y"},
            {"name": "app", "to": "z"},
        ]
    )
    assert its.idle_group_rules([("app", "ab"), ("app", "c")]) == [
        "group_map, entry 2 (name app, topics ab) is used for nothing: entry 1 comes first for group app on topic ab",
        "group_map, entry 3 (pattern none-.*) is used for nothing: no selected group has a committed offset that it fits",
    ]
    assert its.idle_group_rules([("app", "ab")])[-1].startswith("group_map, entry 4 (name app) is used for nothing")


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (None, "orders"),
        ({"name": "identity", "source_alias": "onprem", "separator": "."}, "orders"),
        ({"name": "default", "source_alias": "onprem", "separator": "."}, "onprem.orders"),
        ({"name": "default", "source_alias": "onprem", "separator": "_"}, "onprem_orders"),
        ({"name": "default", "source_alias": "onprem", "separator": ""}, "onpremorders"),
    ],
)
def test_mirror_makers_names(policy, expected):
    assert mapping(policy=policy).topic("orders") == expected


def test_identity_knows_copies_of_the_destinations_own_topics_by_prefix_and_ending():
    """cloud.device_heartbeats at the source was expected at the destination as onprem.cloud.device_heartbeats."""
    its = mapping(policy={"name": "identity", "source_alias": "onprem", "target_alias": "cloud", "separator": "."})
    assert its.topic("cloud.device_heartbeats") == "device_heartbeats"
    assert its.topic("cloud.orders") == "cloud.orders" and not its.is_own("cloud.orders")
    one_way = mapping(policy={"name": "identity", "source_alias": "onprem", "separator": "."})
    assert "target_alias" in one_way.hint_of_own("cloud.device_heartbeats")
    assert not one_way.hint_of_own("cloud.orders")


def test_mirror_makers_default_policy_needs_an_alias():
    with pytest.raises(InvalidInput, match="replication_policy has no source_alias"):
        prefixes_from({"name": "default", "source_alias": None, "separator": "."})


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"to": "x"}, "topic_map, entry 2 has neither of name and pattern"),
        ({"name": "a", "pattern": "b", "to": "x"}, "topic_map, entry 2 has both of name and pattern"),
        ({"name": "a", "to": ""}, "topic_map, entry 2 has no new name"),
        ({"name": "a", "to": []}, "topic_map, entry 2 has no new name"),
        ({"name": "a", "to": ["x", ""]}, "topic_map, entry 2 has no new name"),
        ({"name": "a", "to": ["x", "y", "x"]}, "topic_map, entry 2 has the new name x twice"),
        ({"name": "a", "to": {"x": "y"}}, "topic_map, entry 2: to is {'x': 'y'}"),
        ({"pattern": "a", "to": ["x", r"\1"]}, "topic_map, entry 2: .* does not fit the pattern 'a'"),
        ({"pattern": "(", "to": "x"}, r"topic_map, entry 2 holds '\(', which is no regular expression"),
        ({"pattern": "a", "to": r"\1"}, "topic_map, entry 2: .* does not fit the pattern 'a': invalid group reference"),
        ({"pattern": "(a)", "to": r"\g<n>"}, "topic_map, entry 2: .* does not fit the pattern"),
        ({"name": "a", "to": "x", "topics": ["["]}, "topic_map, entry 2, topics holds"),
        (
            {"name": "a", "to": "no such topic!"},
            "entry 2: 'no such topic!' is no name that a topic can have. Use 1 to 249 ",
        ),
        ({"name": "a", "to": ".."}, "topic_map, entry 2: '..' is no name"),
        ({"name": "a", "to": "x" * 250}, "topic_map, entry 2: 'x+' is no name"),
        ({"pattern": "(.*)", "to": r"\g<1>/\1"}, "topic_map, entry 2: .* is no name"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused(row, told):
    with pytest.raises(InvalidInput, match=told):
        rules_from("topic_map", [{"name": "fine", "to": "x"}, row])


def test_a_group_may_have_a_name_that_no_topic_can_have():
    assert mapping(group_map=[{"name": "a", "to": "no such topic!"}]).groups("a", "orders") == ("no such topic!",)


def test_every_wrong_rule_is_told():
    with pytest.raises(InvalidInput, match="topic_map, entry 1 has neither .*; topic_map, entry 3 has no new name"):
        rules_from("topic_map", [{"to": "x"}, {"name": "a", "to": "b"}, {"name": "c", "to": ""}])
    with pytest.raises(InvalidInput, match=r"repartitioned holds '\('.*; repartitioned holds '\['"):
        repartitioned_from(["(", "fine", "["])


def test_a_rule_that_leaves_nothing_of_a_name_is_refused():
    its = mapping(group_map=[{"pattern": "legacy-(.*)", "to": r"\1"}])
    with pytest.raises(InvalidInput, match="legacy- would get an empty name"):
        its.groups("legacy-", "orders")


@pytest.mark.parametrize(
    ("topic_map", "destination_topics", "selected", "expected"),
    [
        pytest.param(
            [{"name": "orders", "to": "sales"}],
            ["sales", "clicks"],
            [],
            {"sales": "orders", "clicks": "clicks"},
            id="by name; others keep theirs",
        ),
        pytest.param([{"pattern": "(.*)", "to": r"\1.copy"}], ["x.copy"], ["x"], {"x.copy": "x"}, id="by a pattern"),
        pytest.param([{"pattern": "(.*)", "to": r"\1.copy"}], ["y.copy"], ["x"], {}, id="not selected"),
        pytest.param([{"name": "sales", "to": "old"}], ["old", "sales"], [], {"old": "sales"}, id="not of this flow"),
        pytest.param(
            [{"name": "a", "to": "b"}, {"name": "b", "to": "a"}], ["a", "b"], [], {"a": "b", "b": "a"}, id="a swap"
        ),
    ],
)
def test_names_of_the_source_are_found_again_without_it(topic_map, destination_topics, selected, expected):
    assert mapping(topic_map).source_topics(destination_topics, selected) == expected


def test_a_pattern_is_refused_where_nobody_can_be_asked_which_topics_there_are():
    with pytest.raises(InvalidInput, match=r"topic_map has the pattern \(\.\*\), .* Name these topics in topics"):
        mapping([{"pattern": "(.*)", "to": r"\1.copy"}]).source_topics(["orders.copy"], [])


def test_two_topics_of_one_name_cannot_be_told_apart_without_the_source():
    its = mapping([{"name": "a", "to": "c"}, {"name": "b", "to": "c"}])
    with pytest.raises(InvalidInput, match="topic_map gives a and b the name c"):
        its.source_topics(["c"], [])
    with pytest.raises(InvalidInput, match="topic_map gives a and c the name c"):
        mapping([{"name": "a", "to": "c"}]).source_topics(["c"], ["c"])


BOTH_WAYS = {"name": "default", "source_alias": "A", "separator": "."}


@pytest.mark.parametrize(
    ("topic", "policy", "name"),
    [
        ("foo", {"target_alias": "B"}, "A.foo"),
        ("B.foo", {"target_alias": "B"}, "foo"),  # the destination's own, copied back here
        ("C.foo", {"target_alias": "B"}, "A.C.foo"),  # of a third cluster
        ("Bar.foo", {"target_alias": "B"}, "A.Bar.foo"),
        ("B_foo", {"target_alias": "B", "separator": "_"}, "foo"),
        ("B.foo", {}, "A.B.foo"),
        ("B.foo", {"name": "identity", "target_alias": "B"}, "B.foo"),
    ],
)
def test_a_copy_of_a_topic_of_the_destination_has_its_own_name_there(topic, policy, name):
    assert mapping(policy={**BOTH_WAYS, **policy}).topic(topic) == name


def test_what_may_be_a_copy_of_the_destinations_is_told_with_what_to_set():
    alone = mapping(policy=BOTH_WAYS)
    assert "set target_alias of replication_policy to B" in alone.hint_of_own("B.foo")
    assert [alone.hint_of_own(topic) for topic in ("foo", ".foo", "B.")] == [""] * 3
    assert mapping(policy={**BOTH_WAYS, "target_alias": "B"}).hint_of_own("C.foo") == ""
    assert mapping().hint_of_own("B.foo") == ""


def test_rules_count_in_their_order_however_many_there_are():
    rules = [{"name": f"app-{number}", "to": f"new-{number}"} for number in range(1000)]
    rules.insert(500, {"pattern": r"app-\d*7", "to": "seven"})
    its = mapping(topic_map=rules, group_map=rules)
    told = [its.topic(f"app-{number}") for number in (7, 507, 508, 1007, 1008)]
    assert told == ["new-7", "seven", "new-508", "seven", "app-1008"]
    idle = its.idle_group_rules([(f"app-{number}", "orders") for number in range(1000)])
    assert len(idle) == 50
    assert idle[0] == (
        "group_map, entry 509 (name app-507) is used for nothing: entry 501 comes first for group app-507 on topic orders"
    )
