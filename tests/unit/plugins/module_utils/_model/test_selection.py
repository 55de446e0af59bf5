"""Which groups and topics are meant."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection, name_hint

GROUPS = [
    "billing",
    "billing-retry",
    "shipping",
    "console-consumer-7",
    "connect-sink",
    "__internal",
    "streamshift-records",
]
TOPICS = ["orders", "orders.archive", "__consumer_offsets", "mm2-offset-syncs.cloud.internal", "onprem.heartbeats"]


def test_everything_that_is_wrong_with_names_and_patterns_is_in_one_message():
    wrong = Selection(groups=("a", "a", ""), group_patterns=("(", "fine", "*"), exclude_topic_patterns=("[",))
    with pytest.raises(InvalidInput) as refused:
        wrong.check()
    assert str(refused.value) == (
        "groups, entry 3 is empty (remove it); groups names a twice (remove one of them, or correct it if another one was "
        "meant); group_patterns holds '(', which is no regular expression: missing ), unterminated subpattern at position 0 "
        "(correct the pattern); group_patterns holds '*', which is no regular expression: nothing to repeat at position 0 "
        "(correct the pattern (did you mean '.*'?)); exclude_topic_patterns holds '[', which is no regular expression: "
        "unterminated character set at position 0 (correct the pattern)."
    )


@pytest.mark.parametrize(
    ("selection", "names", "left_out"),
    [
        pytest.param(Selection(groups=("billing",)), ["billing"], [], id="a name"),
        pytest.param(Selection(group_patterns=("billing",)), ["billing"], [], id="a pattern matches the whole name"),
        pytest.param(Selection(group_patterns=("billing.*",)), ["billing", "billing-retry"], [], id="a pattern"),
        pytest.param(Selection(group_patterns=("bill", "ping")), [], [], id="no pattern matches a part of a name"),
        pytest.param(
            Selection(group_patterns=(".*",)),
            ["billing", "billing-retry", "shipping"],
            ["__internal", "connect-sink", "console-consumer-7", "streamshift-records"],
            id="the default excludes, and what they left out",
        ),
        pytest.param(
            Selection(group_patterns=(".*",), exclude_group_patterns=(".*-.*",)),
            ["billing", "shipping"],
            ["__internal", "billing-retry", "connect-sink", "console-consumer-7", "streamshift-records"],
            id="a given exclude list adds to the default one",
        ),
        pytest.param(
            Selection(group_patterns=("c.*",), exclude_group_patterns=()),
            ["connect-sink", "console-consumer-7"],
            [],
            id="an empty exclude list excludes nothing",
        ),
        pytest.param(
            Selection(groups=("connect-sink",), group_patterns=("connect-.*",)),
            ["connect-sink"],
            [],
            id="a name beats an exclude pattern",
        ),
        pytest.param(Selection(groups=("gone",)), ["gone"], [], id="a name is selected though there is no such group"),
    ],
)
def test_groups(selection, names, left_out):
    selection.check()
    assert selection.select_groups(GROUPS) == (tuple(names), tuple(left_out))


@pytest.mark.parametrize(
    ("selection", "names", "left_out"),
    [
        pytest.param(
            Selection(),
            ["orders", "orders.archive"],
            ["__consumer_offsets", "mm2-offset-syncs.cloud.internal", "onprem.heartbeats"],
            id="without a selection every topic but internal ones",
        ),
        pytest.param(Selection(topics=("orders",)), ["orders"], [], id="a name"),
        pytest.param(Selection(topic_patterns=("orders",)), ["orders"], [], id="a pattern matches the whole name"),
        pytest.param(
            Selection(topics=("onprem.heartbeats",), topic_patterns=("ord.*",)),
            ["onprem.heartbeats", "orders", "orders.archive"],
            [],
            id="names and patterns add up, and a name beats an exclude pattern",
        ),
        pytest.param(
            Selection(exclude_topic_patterns=(r".*\.archive",)),
            ["orders"],
            ["__consumer_offsets", "mm2-offset-syncs.cloud.internal", "onprem.heartbeats", "orders.archive"],
            id="an exclude list without a selection",
        ),
    ],
)
def test_topics(selection, names, left_out):
    assert selection.select_topics(TOPICS) == (tuple(names), tuple(left_out))


@pytest.mark.parametrize(
    ("selection", "left_out"),
    [
        (Selection(groups=("monitor",)), []),
        (Selection(groups=("monitor",), topic_patterns=(".*",)), []),
        (Selection(groups=("monitor",), exclude_topic_patterns=("audit", "__.*")), ["__audit"]),
        (Selection(groups=("other",), group_patterns=("mon.*",)), ["__audit", "device-heartbeats", "mm2-events"]),
        (
            Selection(group_patterns=(".*",), topics=("mm2-events",), topic_patterns=(".*",)),
            ["__audit", "device-heartbeats"],
        ),
        (Selection(group_patterns=(".*",), exclude_topic_patterns=()), []),
    ],
)
def test_a_group_that_is_named_keeps_all_topics_but_those_that_the_user_excludes(selection, left_out):
    topics = ["orders", "device-heartbeats", "__audit", "mm2-events"]
    chosen = selection.topics_of({"monitor": [TopicPartition(topic, 0) for topic in topics]})["monitor"]
    assert chosen == (tuple(sorted(set(topics) - set(left_out))), tuple(left_out))


@pytest.mark.parametrize(
    ("selection", "told"),
    [
        (Selection(), "no group is selected"),
        (Selection(topics=("orders",)), "no group is selected"),
        (Selection(groups=("g",), topics=("",)), "topics, entry 1 is empty"),
        (Selection(groups=("g",), exclude_group_patterns=("*",)), "exclude_group_patterns holds"),
        (Selection(groups=("g",), topic_patterns=("[",)), "topic_patterns holds"),
    ],
)
def test_a_selection_that_cannot_be_meant_is_refused(selection, told):
    with pytest.raises(InvalidInput, match=told) as refused:
        selection.check()
    assert refused.value.remedy


@pytest.mark.parametrize(
    ("missing", "hint"),
    [
        (["biling"], " (did you mean billing?)"),
        (["biling-retry"], " (did you mean billing-retry?)"),
        (["biling", "shipping-"], " (did you mean billing or shipping?)"),
        (["payments"], ""),
        (["billing.*"], " (patterns belong in group_patterns)"),
        (["billing|shipping"], " (patterns belong in group_patterns)"),
        (["[bf]illing"], " (patterns belong in group_patterns)"),
    ],
)
def test_a_name_that_does_not_exist_is_told_with_those_that_may_be_meant(missing, hint):
    assert name_hint("groups", missing, GROUPS) == hint


@pytest.mark.parametrize(
    ("missing", "hint"),
    [
        (["7"], " (did you mean 007?)"),  # what YAML makes of it
        (["G0", "g2 "], " (did you mean g0 or g2?)"),
        (["bilings", "G2"], " (did you mean billing or g2 or billing2?)"),  # one for each name comes first
        (["8"], ""),
    ],
)
def test_a_name_that_differs_in_case_blanks_or_zeros_is_the_nearest(missing, hint):
    assert name_hint("groups", missing, ["007", "Billing", "billing", "billing2", "g0", "g2"]) == hint


def test_names_that_are_the_parts_of_one_with_a_comma_are_told_as_that():
    hint = " (did you mean 'eu,orders'? Ansible splits a text at commas: give a list)"
    assert name_hint("groups", ["eu", "orders"], [*GROUPS, "eu,orders", "us,orders"]) == hint
    assert name_hint("groups", ["eu", "payments"], [*GROUPS, "eu,orders"]) == ""


@pytest.mark.parametrize(("patterns", "excluded"), [((".*",), None), (("", "b.*"), ()), (("b?.*",), ("c.*",))])
def test_a_group_with_an_empty_name_is_left_out_whatever_pattern_matches_it(patterns, excluded):
    selection = Selection(group_patterns=patterns, exclude_group_patterns=excluded)
    assert selection.select_groups(["", "billing"]) == (("billing",), ("",))


@pytest.mark.parametrize("option", ["groups", "topics"])
def test_what_is_named_twice_is_refused(option):
    with pytest.raises(InvalidInput, match=f"{option} names b twice. Remove one of them"):
        Selection(**{option: ("a", "b", "b")}).check_words()


@pytest.mark.parametrize(
    ("patterns", "told"),
    [
        (["shop-(."], False),
        (["shop-(.", "billing"], False),
        (["(a|b", "x){1", "2}"], True),  # of (a|b,x){1,2}
        (["[a", "b"], False),
    ],
)
def test_a_comma_is_blamed_only_where_patterns_are_parts_of_a_text_with_one(patterns, told):
    with pytest.raises(InvalidInput) as refused:
        Selection(group_patterns=tuple(patterns)).check()
    assert ("Ansible splits a text at commas" in str(refused.value)) == told


def test_a_hint_is_about_the_first_names_that_do_not_exist():
    missing = [letter * 9 for letter in "acdefhjkmo"]
    assert name_hint("groups", [*missing, "biling"], ["billing"]) == ""
    assert name_hint("groups", [*missing[:9], "biling"], ["billing"]) == " (did you mean billing?)"


def test_what_is_selected_is_found_among_its_names():
    selected = Selection(topics=("b", "d")).select_topics(["a", "b", "c"])
    assert [name for name in "abcde" if selected.has(name)] == ["b", "d"]


def test_more_patterns_than_are_kept_compiled_select_what_they_match():
    patterns = tuple(f"{number}-.*" for number in range(600))
    names = [f"{number}-x" for number in range(0, 1200, 100)]
    assert Selection(group_patterns=patterns).select_groups(names).names == tuple(sorted(names[:6]))
