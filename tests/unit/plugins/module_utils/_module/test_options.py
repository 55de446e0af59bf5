"""From a module's parameters to a connection, a selection and a mapping."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from ansible_collections.streamshift.kafka.plugins.module_utils._module import options

NOTHING = {"topic_map": [], "group_map": [], "replication_policy": None, "repartitioned": []}
POLICY = {"name": "default", "source_alias": "onprem", "separator": "."}


def test_a_cluster_is_named_by_its_option():
    cluster = {"bootstrap_servers": ["broker1:9092"], "sasl_password": None}
    params = {"cluster": cluster, "source": cluster, "destination": cluster}
    assert [options.connection(params, name).name for name in params] == [
        "cluster",
        "source cluster",
        "destination cluster",
    ]


def test_an_error_names_the_cluster_whose_options_are_wrong():
    with pytest.raises(InvalidInput, match="^destination cluster: bootstrap server 'broker1'"):
        options.connection({"destination": {"bootstrap_servers": ["broker1"]}}, "destination")


def test_excludes_that_are_not_given_are_not_empty_ones():
    params = {name: [] for name in options.SELECTION} | {"groups": ["a"]}
    assert options.selection(params) == Selection(("a",), (), (), (), (), ())
    params |= {"exclude_group_patterns": None, "exclude_topic_patterns": None}
    assert options.selection(params) == Selection(("a",))


def test_a_module_without_groups_selects_topics_alone():
    params = {name: [name] for name in options.TOPIC_SELECTION}
    assert options.selection(params) == Selection(
        topics=("topics",), topic_patterns=("topic_patterns",), exclude_topic_patterns=("exclude_topic_patterns",)
    )


def test_maps_and_policies_become_one_mapping():
    rule = {"name": "a", "pattern": None, "to": "b"}
    assert options.mapping({**NOTHING, "topic_map": [rule]}).topic("a") == "b"
    assert options.mapping({**NOTHING, "group_map": [{**rule, "topics": None}]}).groups("a", "t") == ("b",)
    assert options.mapping({**NOTHING, "replication_policy": POLICY}).topic("a") == "onprem.a"
    assert options.mapping(NOTHING).topic("a") == "a"
    assert options.mapping({**NOTHING, "repartitioned": ["a.*"]}).is_repartitioned("ab")


def test_a_module_that_only_renames_has_no_policy_and_nothing_repartitioned():
    params = {name: spec["default"] for name, spec in options.RENAMING.items()}
    mapping = options.mapping({**params, "topic_map": [{"name": "a", "pattern": None, "to": "b"}]})
    assert (mapping.topic("a"), mapping.topic("c"), mapping.is_repartitioned("a")) == ("b", "c", False)


def test_a_topic_map_alone_names_the_copied_topics_beside_a_policy():
    mapping = options.mapping({**NOTHING, "topic_map": [{"name": "a", "to": "b"}], "replication_policy": POLICY})
    assert (mapping.topic("a"), mapping.topic("c")) == ("b", "c")


def test_a_topic_map_and_a_policy_cannot_both_name_topics():
    options.check_named_once({**NOTHING, "replication_policy": POLICY})
    options.check_named_once({**NOTHING, "topic_map": [{"name": "a", "to": "b"}]})
    with pytest.raises(InvalidInput, match="topic_map and replication_policy both name"):
        options.check_named_once({**NOTHING, "topic_map": [{"name": "a", "to": "b"}], "replication_policy": POLICY})


def test_a_pattern_that_is_none_is_refused_by_the_name_of_its_option():
    with pytest.raises(InvalidInput, match=r"repartitioned holds 'a\(', which is no regular expression"):
        options.mapping({**NOTHING, "repartitioned": ["a("]})


NOTHING_SELECTED = {name: spec.get("default") for name, spec in options.SELECTION.items()}
ROLLBACK = {**NOTHING_SELECTED, "state": "rolled_back", "everything": False}


def test_what_is_rolled_back_is_selected_or_everything():
    assert options.rollback_selection(ROLLBACK | {"groups": ["a"], "topics": ["t"]}) == Selection(("a",), topics=("t",))
    assert options.rollback_selection(ROLLBACK | {"group_patterns": [".*"]}) == Selection(group_patterns=(".*",))
    assert options.rollback_selection(ROLLBACK | {"everything": True}) is None
    assert options.rollback_selection({**NOTHING_SELECTED, "state": "committed", "everything": False}) is None
    committed = {**NOTHING_SELECTED, "state": "committed", "everything": False, "groups": ["a"]}
    assert options.rollback_selection(committed) == Selection(("a",))  # what the plan must be about


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({}, "no group is selected for the rollback.*Set groups or group_patterns.*or everything"),
        ({"topics": ["orders"]}, "no group is selected for the rollback"),
        ({"groups": ["billing"], "everything": True}, "everything is true, and groups selects a part"),
        ({"groups": ["billing"], "topic_patterns": ["*"]}, "topic_patterns holds"),
        ({"groups": [""]}, "groups, entry 1 is empty"),
        (
            {"state": "committed", "topics": ["orders"], "snapshot": "snapshot.json"},
            "topics selects what is rolled back, and state is committed",
        ),
        ({"state": "committed", "topics": ["orders"]}, "no group is selected"),
        ({"state": "committed", "everything": True}, "everything selects what is rolled back, and state is committed"),
    ],
)
def test_a_rollback_whose_selection_cannot_be_meant_is_refused(params, said):
    with pytest.raises(InvalidInput, match=said):
        options.rollback_selection(ROLLBACK | params)
