"""Waves: which groups they select, and which are in none, in several, or gone."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput
from ansible_collections.streamshift.kafka.plugins.module_utils._model.waves import (
    sort_groups,
    wave_lines,
    wave_results,
    waves_from,
)

EXISTING = ["billing", "billing-eu", "checkout", "shop", "console-consumer-1"]
WAVES = [
    {"name": "first", "groups": ["billing", "left"]},
    {"name": "second", "group_patterns": ["billing.*", "checkout"], "exclude_group_patterns": [".*-eu"]},
]


def test_every_group_is_in_a_wave_or_named():
    found = sort_groups(waves_from(WAVES), EXISTING)
    assert found.groups == {"first": ["billing"], "second": ["billing", "checkout"]}
    assert found.gone == {"first": ["left"], "second": []}
    assert found.in_none == ["billing-eu", "shop"]  # a console consumer is nobody's wave
    assert found.in_several == {"billing": ["first", "second"]}
    assert wave_lines(found) == [
        "wave first: 1 group",
        "wave first names groups that do not exist: left",
        "wave second: 2 groups",
        "in several waves: billing (first, second)",
        "in no wave: billing-eu, shop",
    ]


def test_a_wave_is_as_far_as_its_groups():
    found = sort_groups(waves_from(WAVES[1:]), EXISTING)
    states = {"billing": "returned"}
    assert wave_results(found, states)["waves"][0]["states"] == {"open": 1, "returned": 1}
    assert wave_lines(found, states)[0] == "wave second: 2 groups: 1 open, 1 returned"


def test_without_waves_nothing_is_said():
    found = sort_groups([], EXISTING)
    assert wave_results(found) == {"waves": [], "in_no_wave": [], "in_several_waves": {}}
    assert wave_lines(found) == []


@pytest.mark.parametrize(
    ("wave", "words"),
    [
        ({"name": "first", "groups": ["a", "b", "a"]}, "the wave first: groups names a twice"),
        ({"name": "first"}, "the wave first selects no group"),
        ({"name": "other", "groups": ["a"]}, "the wave other is there twice"),
        ({"name": "first", "group_patterns": ["("]}, "the wave first: "),
        ({"name": "first", "groups": [""]}, "the wave first: groups, entry 1 is empty"),
    ],
)
def test_a_wave_that_cannot_be_meant_is_refused(wave, words):
    with pytest.raises(InvalidInput, match="waves|empty|no regular") as refused:
        waves_from([{"name": "other", "groups": ["z"]}, wave])
    assert words in str(refused.value)
