"""Two names of one cluster pass only where nothing is migrated onto itself."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import Draft
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.one_cluster import check_nothing_stays
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

TWIN = connection_from({"bootstrap_servers": ["twin:9092"]}, "source cluster")
ONPREM = connection_from({"bootstrap_servers": ["onprem:9092"]}, "destination cluster")
SOURCE = ("billing", "orders")


def draft(group: str, topic: str, source: tuple[str, str] = SOURCE) -> Draft:
    return Draft(group, TopicPartition(topic, 0), source[0], TopicPartition(source[1], 0), CommittedOffset(1))


@pytest.mark.parametrize("renamed", [("billing-v2", "orders"), ("billing", "eu.orders")])
def test_another_group_or_another_topic_is_enough(renamed):
    check_nothing_stays([draft(*renamed)], True, TWIN, ONPREM)


def test_one_that_stays_as_it_is_is_named():
    with pytest.raises(Refused) as refused:
        check_nothing_stays([draft("billing-v2", "orders"), draft(*SOURCE)], True, TWIN, ONPREM)
    for word in ("twin:9092", "onprem:9092", "group billing on topic orders", "group_map"):
        assert word in str(refused.value)


def test_one_that_an_earlier_rename_has_removed_is_told_as_that():
    told = r"removed.json says that an earlier run has removed billing\. Leave what was removed out by exclude_group_patterns"
    with pytest.raises(Refused, match=told):
        check_nothing_stays([draft(*SOURCE)], True, TWIN, ONPREM, {"billing"})


@pytest.mark.parametrize(
    ("new", "remedy"),
    [
        (("billing-2", "orders"), "Leave billing-2 out by exclude_group_patterns, or if two clusters"),
        (("billing", "orders-v2"), "Leave orders-v2 out by exclude_topic_patterns, or if two clusters"),
    ],
)
def test_what_an_earlier_run_has_made_is_left_out(new, remedy):
    drafts = [draft(*new), draft(*new, source=new)]
    with pytest.raises(Refused, match=remedy):
        check_nothing_stays(drafts, True, TWIN, ONPREM)


def test_two_clusters_may_have_equal_names():
    check_nothing_stays([draft(*SOURCE)], False, TWIN, ONPREM)


@pytest.mark.parametrize(
    ("moves", "named"),
    [
        pytest.param({("a", "orders"): ("b", "orders"), ("b", "orders"): ("a", "orders")}, "a", id="a swap"),
        pytest.param({("a", "orders"): ("b", "orders"), ("b", "clicks"): ("c", "clicks")}, "b", id="a chain of groups"),
        pytest.param({("a", "t"): ("a-2", "t"), ("a-2", "t"): ("a-2-2", "t")}, "a-2", id="a pattern, once more"),
        pytest.param({("a", "t"): ("b", "t2"), ("b", "t"): ("b", "t2")}, None, id="a merge into other topics"),
        pytest.param({("a", "orders"): ("c", "orders"), ("b", "orders"): ("c", "orders")}, None, id="a merge"),
    ],
)
def test_a_group_that_the_next_run_would_give_on_is_refused(moves, named):
    drafts = [draft(*new, source=old) for old, new in moves.items()]
    if named is None:
        check_nothing_stays(drafts, True, TWIN, ONPREM)
    else:
        with pytest.raises(
            Refused,
            match=f"group {named}: .*is selected, and it is the new name of .* exclude_group_patterns, or .* group_map",
        ):
            check_nothing_stays(drafts, True, TWIN, ONPREM)
    check_nothing_stays(drafts, False, TWIN, ONPREM)


def test_a_topic_that_the_next_run_would_give_on_is_refused():
    drafts = [draft("a", "t2", source=("a", "t")), draft("a", "t3", source=("a", "t2"))]
    told = (
        "group a, topic t2: the topic is selected, .* by topic_map that no selected topic has, or leave t2 out by excl"
    )
    with pytest.raises(Refused, match=told) as refused:
        check_nothing_stays(drafts, True, TWIN, ONPREM)
    assert "group_map" not in str(refused.value)
    check_nothing_stays(drafts[:1], True, TWIN, ONPREM)
