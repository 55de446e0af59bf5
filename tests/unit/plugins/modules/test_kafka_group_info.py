"""kafka_group_info returns groups as they were read; without a selection it asks for all of them."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration import assess_groups
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.list_groups import GroupOverviews
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.source_topics import ClusterTopics
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_overview import GroupOverview
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import Note, NoteKind
from ansible_collections.streamshift.kafka.plugins.modules import kafka_group_info
from tests.support.module_inputs import ORDERS, SOURCE

BILLING = GroupOverview(
    GroupReading("billing", True, "Empty", "classic", "consumer", {ORDERS: CommittedOffset(7)}), (), {ORDERS: (0, 9)}
)


@pytest.fixture
def look(run_module, monkeypatch):
    """``look(**options)`` looks at a cluster with one group; look.asked is the selection, look.listed what is found."""

    def run(check=False, **options):
        def use_case(_connection, selection):
            run.asked = selection
            return run.listed

        monkeypatch.setattr(kafka_group_info.use_case, "group_overviews", use_case)
        return run_module(kafka_group_info, check=check, cluster=SOURCE, **options)

    run.listed = GroupOverviews([BILLING], ("old",), listed=("billing", "old"))
    return run


@pytest.mark.parametrize("check", [False, True])
def test_nothing_changes_and_all_groups_are_asked_for(look, check):
    result = look(check=check)
    assert not result["changed"] and look.asked.group_patterns == (".*",)
    assert result["left_out_groups"] == ["old"] and any("billing" in line for line in result["summary"])
    assert result["summary"][-1].startswith("Left out by exclude_group_patterns: old.")


def test_patterns_that_match_nothing_are_warned_of(look):
    look.listed = GroupOverviews([BILLING], unused=[Note(NoteKind.RULE_UNUSED, "odd")])
    result = look(group_patterns=["billing", "odd"])
    assert (result["note_kinds"], result["notes"]) == (["rule_unused"], ["odd"])


def test_patterns_of_waves_that_match_nothing_are_warned_of(look):
    look.listed = GroupOverviews([BILLING], listed={"billing": None, "web": None})
    waves = [{"name": "first", "group_patterns": ["billing", "wep"]}, {"name": "second", "group_patterns": ["web"]}]
    result = look(groups=["billing"], waves=waves)
    assert result["csv"].splitlines()[1].endswith(",first")
    assert result["note_kinds"] == ["rule_unused"]
    assert result["notes"][0].startswith("wave first: No group") and "is matched by wep." in result["notes"][0]


def test_named_groups_alone_are_asked_for(look):
    look(groups=["billing"])
    assert (look.asked.groups, look.asked.group_patterns) == (("billing",), ())


def test_partitions_come_with_their_lag_where_they_are_wanted(look):
    (group,) = look(partitions=True)["groups"]
    assert group["committed"] == [{"topic": "orders", "partition": 0, "offset": 7, "lag": 2, "expired": 0}]
    assert "committed" not in look()["groups"][0]


@pytest.mark.parametrize("value", ["inf", "nan", "-1"])
def test_a_number_that_is_none_is_refused_with_the_others(look, tmp_path, value):
    result = look(assessment=str(tmp_path / "a.json"), abandoned_after=value, watch_seconds=value, group_patterns=["("])
    assert result["failed"] and "group_patterns holds '('" in result["msg"] and not hasattr(look, "asked")
    for option in ("abandoned_after", "watch_seconds"):
        assert f"{option} is {float(value)}" in result["msg"]


@pytest.mark.parametrize(
    "unused",
    [{"abandoned_after": 0, "watch_seconds": -1}, {"schema_registry": {"url": "none"}}, {"connect": [{"url": "none"}]}],
    ids=["numbers", "schema_registry", "connect"],
)
def test_options_of_an_assessment_are_looked_at_only_with_one(look, tmp_path, unused):
    assert not look(**unused).get("failed")
    assert look(assessment=str(tmp_path / "a.json"), **unused)["failed"]


@pytest.mark.parametrize(
    ("selection", "is_said"),
    [
        ({}, True),
        ({"group_patterns": ["bill.*"]}, True),
        ({"exclude_group_patterns": ["old"]}, True),
        ({"groups": ["billing"]}, False),
    ],
)
def test_an_assessment_of_patterns_says_that_a_login_may_see_only_a_part(
    look, monkeypatch, tmp_path, selection, is_said
):
    for name, value in {
        "read_topics": ClusterTopics({}, {}, {}, frozenset(), []),
        "missing_cluster_acls": ["CLUSTER DESCRIBE on kafka-cluster"],
        "cluster_id": "id",
    }.items():
        monkeypatch.setattr(assess_groups, name, lambda *_given, value=value: value)
    monkeypatch.setattr(assess_groups.positions, "lookup_all_times", lambda *_given: {})
    part = tmp_path / "part.json"
    look(assessment=str(part), watch_seconds=0, **selection)
    assert ("The login sees 2 groups. It lacks ACL CLUSTER DESCRIBE" in part.read_text()) == is_said
