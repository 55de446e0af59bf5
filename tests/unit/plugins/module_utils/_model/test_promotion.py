"""Options of a promotion that cannot be meant."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import Rule
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import Acls, Settings
from ansible_collections.streamshift.kafka.plugins.module_utils._model.promotion import (
    Override,
    PromotionOptions,
    check_selection,
    overrides_from,
    replication_factor_from,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"settings": Settings.NONE, "overrides": (Override((".*",), {"a": "1"}),)}, "overrides give settings, and"),
        ({"keep_settings": ("a",)}, "keep_settings only works with settings: exact, and settings is merge"),
        ({"keep_settings": ("(",), "settings": Settings.EXACT}, r"keep_settings holds '\(', which is no regular"),
        ({"exclude_settings": ("(",)}, r"exclude_settings holds '\('"),
        ({"overrides": (Override(("(",), {"a": "1"}),)}, r"overrides, entry 1 holds '\('"),
        ({"acl_groups": ("a",)}, "acl_groups is about ACLs, and acls is none"),
        ({"acl_transactional_ids": ("a",)}, "acl_transactional_ids is about ACLs, and acls is none"),
        ({"acl_wildcards": True}, "acl_wildcards is about ACLs, and acls is none"),
        ({"principal_rules": (Rule("User:b", "User:a"),)}, "principal_map is about ACLs, and acls is none"),
        ({"remove_acls": True}, "remove_acls is about ACLs, and acls is none"),
        ({"acls": Acls.MIRROR, "acl_groups": ("(",)}, r"acl_groups holds '\('"),
        (
            {"acls": Acls.MIRROR, "principal_rules": (Rule("User:a", name="b"),)},
            "principal_map, entry 1: 'b' is no principal",
        ),
        (
            {"acls": Acls.MIRROR, "principal_rules": (Rule("User:a", name="User:b"), Rule("a", pattern=".*"))},
            "principal_map, entry 2: 'a' is no principal",
        ),
    ],
)
def test_options_that_contradict_each_other_are_refused(options, why):
    with pytest.raises(InvalidInput, match=why):
        PromotionOptions(**options).check()


def test_options_that_can_be_meant_are_not():
    PromotionOptions().check()
    rules = (Rule("User:a:b", name="User:b"), Rule(r"\1-prod", pattern="(.*)"))
    PromotionOptions(acls=Acls.CUTOVER, principal_rules=rules).check()
    PromotionOptions(acls=Acls.CUTOVER, acl_groups=(".*",), remove_acls=True, settings=Settings.EXACT).check()


@pytest.mark.parametrize(("text", "factor"), [("source", None), ("broker", -1), ("1", 1), ("32767", 32767)])
def test_replication_factors(text, factor):
    assert replication_factor_from(text) == factor


@pytest.mark.parametrize("text", ["0", "-1", "two", "", "32768", "1.5", "²"])
def test_a_replication_factor_that_is_none_is_refused(text):
    with pytest.raises(InvalidInput, match="Set it to source, to broker, or to a number from 1 on"):
        replication_factor_from(text)


def test_overrides_become_what_kafka_writes():
    rows = [{"topics": ["a", "b"], "settings": {"retention.ms": 5, "preallocate": True, "x": None, "y": "a,b"}}]
    assert overrides_from(rows) == (
        Override(("a", "b"), {"retention.ms": "5", "preallocate": "true", "x": None, "y": "a,b"}),
    )


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"topics": [], "settings": {"a": 1}}, "overrides, entry 1 names no topics"),
        ({"topics": ["a"], "settings": {}}, "overrides, entry 1 gives no settings"),
        ({"topics": ["a"], "settings": {"a": ["b"]}}, "overrides, entry 1: the value of a is not a text or a number"),
    ],
)
def test_overrides_that_cannot_be_meant_are_refused(row, why):
    with pytest.raises(InvalidInput, match=why):
        overrides_from([row])


def test_everything_must_be_asked_for():
    with pytest.raises(InvalidInput, match=r"no topic is selected\. Set topics or topic_patterns"):
        check_selection(Selection())
    check_selection(Selection(topic_patterns=(".*",)))
