"""The list of groups from which an operator chooses."""

import csv
import dataclasses
import io
import re

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_lag import GroupLag
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_overview import (
    GroupOverview,
    overview_csv,
    overview_table,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import (
    CommittedOffset,
    GroupMember,
    GroupReading,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

ORDERS = [TopicPartition("orders", 0), TopicPartition("orders", 1)]


def overview(
    name="billing",
    state="Empty",
    kind="classic",
    protocol="consumer",
    committed=(4, 7),
    ends=(10, 7),
    members=(),
    start=0,
):
    """A group with these committed offsets of the partitions of orders; an end of None: the partition is deleted."""
    offsets = {where: CommittedOffset(offset) for where, offset in zip(ORDERS, committed, strict=False)}
    known = {where: (start, end) for where, end in zip(ORDERS, ends, strict=False) if end is not None}
    return GroupOverview(GroupReading(name, True, state, kind, protocol, offsets), members, known)


@pytest.mark.parametrize(
    ("group", "lag"),
    [
        (overview(), GroupLag(6)),
        (overview(committed=(4, 9)), GroupLag(6)),  # a log that was truncated does not lower the lag of another
        (overview(ends=(10, None)), GroupLag(6)),
        (overview(start=6), GroupLag(4, 2)),  # what has expired is nobody's to consume
        (overview(start=7, ends=(7, 7)), GroupLag(0, 3)),
        (overview(committed=()), None),
        (overview(ends=(None, None)), None),
    ],
)
def test_lag_counts_what_still_exists(group, lag):
    assert group.lag == lag


@pytest.mark.parametrize(
    ("group", "why_not"),
    [
        (overview(), None),
        (overview(protocol="", state="Empty"), None),  # committed by a tool that never joins
        (overview(state="Stable"), "it is in use: stop its consumers first"),
        (overview(committed=()), "it has no committed offsets"),
        (overview(ends=(None, None)), "all topics that it has committed are deleted"),
        (overview(committed=(4, 8)), "it has committed 8 on orders-1, after the log's end 7"),
        (overview(committed=(11, 8)), "it has committed 11 on orders-0, after the log's end 10, and 1 more"),
        (overview(kind="streams", protocol="streams"), None),
        (overview(kind="streams", protocol="streams", state="Stable"), "it is in use: stop its consumers first"),
        (overview(kind="share", committed=()), "it is a share group, which has no single position in a partition"),
        (
            overview(protocol="connect", committed=()),
            "it is the group of Kafka Connect's workers, which keep what they have done in topics of their own",
        ),
        (overview(protocol="sr", committed=()), "it speaks the protocol sr and is no consumer group"),
    ],
)
def test_why_a_group_cannot_be_migrated(group, why_not):
    assert group.why_not == why_not
    assert group.row()["movable"] is (why_not is None)


def test_a_group_whose_topics_are_all_excluded_has_to_be_named():
    """Also where it is in use: stopping it would not help."""
    for topic in ("heartbeats", "__audit", "mm2-offset-syncs.b.internal"):
        offsets = {TopicPartition(topic, 0): CommittedOffset(4)}
        reading = GroupReading("monitor", True, "Stable", "classic", "consumer", offsets)
        group = GroupOverview(reading, (), dict.fromkeys(offsets, (0, 9)))
        assert group.why_not == "its topics are excluded by default: name the group to take them"
        assert not group.row()["movable"]
        both = dataclasses.replace(reading, state="Empty", offsets=offsets | {ORDERS[0]: CommittedOffset(4)})
        assert group._replace(reading=both, logs=dict.fromkeys(both.offsets, (0, 9))).why_not is None


def test_the_table_has_a_line_for_each_group():
    groups = [
        overview(members=(GroupMember("a", "10.0.0.7"),), state="Stable"),
        overview("crm", kind="share", members=None, committed=()),
    ]
    assert overview_table(groups) == [
        "group    type     what   state   members  topics  partitions  lag  movable  why_not",
        "billing  classic  -      Stable        1  orders           2    6  no       it is in use: stop its consumers first",
        f"crm      share    share  Empty         -  -                0    -  no       {groups[1].why_not}",
    ]


@pytest.mark.parametrize(
    ("name", "kind", "protocol", "what"),
    [
        ("billing", "classic", "consumer", None),
        ("billing", "streams", "streams", "streams"),
        ("connect-jdbc", "classic", "consumer", "a sink connector's"),
        ("connect-cluster", "classic", "connect", "connect"),
        ("amazon.msk.canary.group.broker-1", "classic", "consumer", "Amazon MSK's"),
        ("schema-registry", "classic", "sr", "other"),
        ("schema-registry-10-8081", "classic", "", "a schema registry's"),
        ("_confluent-ksql-default_query_CTAS_X_0", "consumer", "consumer", "a query of ksqlDB"),
    ],
)
def test_what_uses_a_group_is_known_by_its_kind_and_its_name(name, kind, protocol, what):
    assert overview(name, kind=kind, protocol=protocol).what == what


def test_no_group_is_a_header_alone():
    assert len(overview_table([])) == 1
    assert len(overview_csv([], {}).splitlines()) == 1


def test_no_cell_but_the_last_has_a_blank_at_which_yaml_would_break_the_line():
    """Ansible's callback_result_format=yaml breaks long lines at single blanks, and at no others."""
    reading = overview().reading
    offsets = {TopicPartition(topic, 0): CommittedOffset(4) for topic in ("shop.t0", "shop.t1", "shop t2")}
    group = GroupOverview(dataclasses.replace(reading, offsets=offsets), (), dict.fromkeys(offsets, (0, 9)), True)
    cells = re.split(" {2,}", overview_table([group])[1])
    assert cells[2] == "Kafka_Streams" and cells[5] == "'shop t2',shop.t0,shop.t1"
    (row,) = csv.DictReader(io.StringIO(overview_csv([group], {})))
    assert (row["what"], row["topics"]) == ("Kafka Streams", "'shop t2', shop.t0, shop.t1")


def test_the_csv_names_the_wave_of_each_group():
    """Of 400 groups, a line of the summary names five that are in no wave: the spreadsheet has all of them."""
    groups = [overview("billing"), overview("checkout"), overview("reports")]
    text = overview_csv(groups, {"billing": ["first"], "checkout": ["first", "second"]})
    rows = csv.DictReader(io.StringIO(text))
    assert [row["wave"] for row in rows] == ["first", "first, second", ""]


def test_what_has_expired_is_beside_the_lag():
    group = overview(committed=(1_000,), ends=(9_000,), start=2_500)
    assert "6,500_(1,500_expired)" in overview_table([group])[1]
    (row,) = csv.DictReader(io.StringIO(overview_csv([group], {})))
    assert (row["lag"], row["expired"]) == ("6500", "1500")


def test_names_are_data_in_a_spreadsheet():
    rows = list(csv.DictReader(io.StringIO(overview_csv([overview("=cmd|' /C calc'!A0"), overview('a,"b"')], {}))))
    assert [row["group"] for row in rows] == ["'=cmd|' /C calc'!A0", 'a,"b"']
    assert rows[0]["lag"] == "6"


@pytest.mark.parametrize("name", ["x;=cmd|' /C calc'!A0;y", 'x;"=cmd"', "x;+1;@y", "x\t=cmd"])
def test_names_are_data_also_where_semicolons_or_tabs_separate_cells(name):
    row = overview_csv([overview(name)], {}).splitlines()[1]
    for separator in ";\t":
        (cells,) = csv.reader([row], delimiter=separator)
        assert not [cell for cell in cells if cell.lstrip('"').startswith(("=", "+", "@"))]
