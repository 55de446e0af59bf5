"""Rules of a reset: what can be meant is read, and what could be meant in two ways is refused."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.reset_rules import (
    LARGEST_OFFSET,
    first_fit,
    reset_rules_from,
)
from ansible_collections.streamshift.kafka.plugins.plugin_utils._given import Given, Inventory, role_options
from ansible_collections.streamshift.kafka.plugins.plugin_utils._problems import of_play

NOW = 1_795_370_400_000  # 2026-11-22T18:00:00Z
HOUR = 3_600_000


def value_of(to, value):
    (rule,) = reset_rules_from([{"to": to, "value": value}], NOW)
    return rule.value


@pytest.mark.parametrize(
    ("to", "text", "value"),
    [
        ("datetime", "2026-11-22T18:00:00Z", NOW),
        ("datetime", "2026-11-22 18:00:00+00:00", NOW),  # what Ansible makes of a date without quotes
        ("datetime", "2026-11-22T19:29:00.250+01:30", NOW - 60_000 + 250),
        ("datetime", "2026-11-22T17:00Z", NOW - HOUR),
        ("datetime", "1970-01-01T00:00:00Z", 0),
        # The night in which clocks go back has two half past two; the difference from UTC tells them apart.
        ("datetime", "2026-10-25T02:30:00+02:00", NOW - 28 * 24 * HOUR - 17 * HOUR - HOUR // 2),
        ("datetime", "2026-10-25T02:30:00+01:00", NOW - 28 * 24 * HOUR - 16 * HOUR - HOUR // 2),
        ("duration", "P1D", NOW - 24 * HOUR),
        ("duration", "PT2H30M", NOW - 5 * HOUR // 2),
        ("duration", "P1DT0.5S", NOW - 24 * HOUR - 500),
        ("duration", "PT0.001S", NOW - 1),
        ("shift", "-100", -100),
        ("shift", "+7", 7),
        ("shift", "0", 0),
        ("offset", "0", 0),
        ("offset", str(LARGEST_OFFSET), LARGEST_OFFSET),
    ],
)
def test_a_value_is_read(to, text, value):
    assert value_of(to, text) == value


REFUSED = {
    "datetime": {
        "2026-11-22T18:00:00": "no time zone, and every zone has another 18:00 o'clock",
        "2026-11-22T18:00:00-00:00": "no time zone",
        "2026-11-22T18:00:00 Europe/Berlin": "is no date with a time of day",
        "2026-11-22T18:00:00+24:00": "is no date with a time of day. Write it as",
        "2026-11-22": "is no date with a time of day",
        "1795370400000": "is no date with a time of day",
        "2026-02-30T00:00:00Z": "is no date with a time of day",
        "2026-11-22T18:00:01Z": "in the future: the clock says 2026-11-22T18:00:00",
        "1969-12-31T23:59:59Z": "before 1970",
        "٢٠٢٦-11-22T18:00:00Z": "is no date",
    },
    "duration": {
        **dict.fromkeys(["P1M", "P1Y2M3D", "P2W"], "counts years, months or weeks"),
        **dict.fromkeys(["P0D", "PT0.0001S"], "is a duration of 0"),
        **dict.fromkeys(["-PT5M", "P", "PT", "P1DT", "5 minutes"], "is no duration"),
        "P99999999999D": "longer than any log",
        "P30000D": "before 1970",
    },
    "shift": {
        **dict.fromkeys(["ten", "1.5", "-9223372036854775808"], "is no number of offsets"),
        None: "needs a value",
    },
    "offset": {
        **dict.fromkeys(["-1", "1e3", "4_1", "9223372036854775808", "True"], "is no offset"),
        "": "needs a value",
    },
    "earliest": {"0": "takes no value"},
    "current": {"": "takes no value"},
}


@pytest.mark.parametrize(
    ("to", "text", "why"), [(to, text, why) for to, texts in REFUSED.items() for text, why in texts.items()]
)
def test_a_value_that_cannot_be_meant_or_in_two_ways_is_refused_with_its_entry(to, text, why):
    with pytest.raises(InvalidInput) as refused:
        reset_rules_from([{"to": "latest"}, {"to": to, "value": text}], NOW)
    assert refused.value.what.startswith("resets, entry 2: ")
    assert why in str(refused.value)
    assert refused.value.remedy


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"topics": ["orders("]}, "resets, entry 1, topics holds 'orders(', which is no regular expression"),
        ({"partitions": [-1]}, "resets, entry 1: -1 is no partition"),
        ({"partitions": [1 << 31]}, "is no partition"),
    ],
)
def test_a_rule_about_what_cannot_be_is_refused(row, why):
    with pytest.raises(InvalidInput) as refused:
        reset_rules_from([{"to": "latest", **row}], NOW)
    assert why in str(refused.value)


def test_every_wrong_rule_is_told():
    wrong = [{"to": "offset", "value": "x"}, {"to": "latest"}, {"to": "datetime", "value": "today"}]
    with pytest.raises(InvalidInput, match=r"entry 1: 'x' is no offset \(.*\); resets, entry 3: 'today' is no date"):
        reset_rules_from(wrong, NOW)


def test_a_role_tells_every_wrong_rule_before_it_asks_a_cluster():
    later = "2999-01-01T00:00:00Z"  # by which clock is up to the machine that resets the group
    resets = [
        {"topics": ["a"]},
        {"to": "shift"},
        {"to": "latst"},
        {"to": "datetime", "value": later},
        {"to": "offset", "value": "x"},
    ]
    variables = {"inventory_hostname": "cloud", "inventory_dir": "/srv", "group_reset_resets": resets}
    given = Given("group_reset", "role", role_options("group_reset"), variables)
    inventory = Inventory({"all": ["cloud"]}, lambda _host: None, lambda _host, _name: None)
    assert [line.partition(". ")[0] for line in of_play(given, inventory)] == [
        "group_reset_resets, entry 1 has no to",
        "group_reset_resets, entry 3: to is latst",
        "group_reset_resets, entry 2: to: shift needs a value",
        "group_reset_resets, entry 5: 'x' is no offset",
    ]


def test_a_reset_to_nowhere_is_refused():
    with pytest.raises(InvalidInput, match="there are no resets"):
        reset_rules_from([], NOW)


def test_the_first_rule_that_fits_wins_and_patterns_match_whole_names():
    rules = reset_rules_from(
        [
            {"to": "latest", "topics": ["orders"], "partitions": [1, 2]},
            {"to": "earliest", "topics": ["orders", "shop-.*"]},
            {"to": "current", "partitions": [7]},
        ],
        NOW,
    )

    def found(topic, partition):
        rule = first_fit(rules, TopicPartition(topic, partition))
        return None if rule is None else rule.to

    assert [found("orders", each) for each in range(3)] == ["earliest", "latest", "latest"]
    assert found("orders-retry", 0) is None
    assert found("orders-retry", 7) == "current"
    assert found("shop-a", 7) == "earliest"
