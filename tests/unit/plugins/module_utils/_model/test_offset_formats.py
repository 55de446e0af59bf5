"""Offsets in the forms of Spark's Structured Streaming and of Flink SQL."""

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidFile, InvalidInput
from ansible_collections.streamshift.kafka.plugins.module_utils._model.offset_formats import (
    OffsetFormat,
    positions_of,
    read_snapshot,
    to_text,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

STREAMING, FLINK = OffsetFormat.STRUCTURED_STREAMING, OffsetFormat.FLINK_SQL
# As Spark 4.3 writes it.
BATCH = """v1
{"batchWatermarkMs":0,"batchTimestampMs":1795370400000,"conf":{"spark.sql.shuffle.partitions":"200"}}
{"orders":{"1":60,"0":41}}
-
{"clicks":{"0":7}}"""
NAMED = """v2
{"batchWatermarkMs":0,"batchTimestampMs":1795370400000,"conf":{}}
orders_src:{"orders":{"1":60,"0":41}}
1:-
2:{"clicks":{"0":7}}"""
ORDERS = TopicPartition("orders", 0)
OFFSETS = {TopicPartition("clicks", 0): 7, ORDERS: 41, TopicPartition("orders", 1): 60}

SPECIFIC = "'scan.startup.specific-offsets'"

topic_names = st.text(string.ascii_letters + string.digits + "_-", min_size=1, max_size=8)
partitions = st.builds(TopicPartition, topic_names, st.integers(0, 2**31 - 1))
positions = st.dictionaries(partitions, st.none() | st.integers(0, 2**63 - 1), max_size=5)


def read(form, text):
    return positions_of(read_snapshot(text, "/srv/offsets", "etl", form))["etl"]


@given(positions, st.sampled_from([STREAMING, FLINK]))
def test_offsets_are_read_again(offsets, form):
    text = to_text(form, {"etl": offsets})
    known = {partition: offset for partition, offset in offsets.items() if offset is not None}
    if form is STREAMING and known != offsets:
        assert {topic: set(its) for topic, its in json.loads(text).items()} == {
            topic: {str(each.partition) for each in offsets if each.topic == topic}
            for topic in {each.topic for each in offsets}
        }
    elif known:
        assert read(form, text) == known


@pytest.mark.parametrize("text", [BATCH, NAMED])
def test_both_versions_of_a_checkpoints_file_are_read_with_all_sources(text):
    assert read(STREAMING, text) == OFFSETS
    assert read(STREAMING, "\ufeff" + text.replace("\n", "\r\n") + "\r\n\r\n") == OFFSETS
    assert read_snapshot(text, "offsets/7", "etl", "structured_streaming").cluster_id is None


def test_a_later_version_of_a_checkpoints_file_is_refused():
    with pytest.raises(InvalidFile, match="is of version v3 of Spark's offset log, and this release reads v1 and v2"):
        read(STREAMING, NAMED.replace("v2", "v3"))


@pytest.mark.parametrize("name", ["", "again:"])
def test_sources_that_are_equally_far_are_one_offset(name):
    """As of a query that joins a topic with itself."""
    lines = (BATCH if not name else NAMED) + f'\n{name}{{"orders":{{"1":60,"2":9}}}}'
    assert read(STREAMING, lines) == {**OFFSETS, TopicPartition("orders", 2): 9}


def test_starting_offsets_name_every_partition_and_are_read():
    text = to_text(STREAMING, {"etl": {**OFFSETS, TopicPartition("orders", 2): None}})
    assert text == '{"clicks":{"0":7},"orders":{"0":41,"1":60,"2":-2}}\n'
    assert read(STREAMING, '{"orders":{"0":41}}') == {ORDERS: 41}


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ('v2\n{}\n{"orders":{"0":41}}', 3, 'it is not source:{"topic"'),
        ('v2\n{}\na:{"orders":{"0":41}}\nb:{"orders":{"0":42}}', 4, "one of which is at 41 and one at 42"),
        ('v2\n{}\na:b:{"orders":{"0":41}}', 3, "Expecting value"),
        ("v2\n{}\na-", 3, "it is not source:"),
        ('v1\n{}\na:{"orders":{"0":41}}', 3, "Expecting value"),
        ("orders,0,41\n", 1, "it is neither v1 or v2"),
        ('v1\n{}\n{"logOffset":3}', 3, "this source of the query is not Kafka"),
        ("v1\n{}\n17", 3, "this source of the query is not Kafka"),
        ('v1\n{}\n{"orders":{"0":41}', 3, "Expecting"),
        (
            'v1\n{}\n{"orders":{"0":41}}\n{"orders":{"0":42}}',
            4,
            "orders-0 is read by two sources of the query, one of which is at 41 and one at 42",
        ),
        ('v1\n{}\n{"orders":{"0":41,"0":42}}', 3, "is there twice"),
        ('v1\n{}\n\n{"orders":{"0":41}}', 3, "Expecting value"),
        ('{"orders":{"0":-2}}', 1, "orders-0 is at -2, which names an end of the log"),
        ('{"orders":{"0":-3}}', 1, "-3 is not an offset"),
        ('{"orders":{"0":"41"}}', 1, "is not an offset"),
        ('{"orders":{"0":9223372036854775808}}', 1, "is not an offset"),
        ('{"orders":{"x":1}}', 1, "'x' of topic orders is no partition"),
        ('{"orders":{"-1":1}}', 1, "is no partition"),
        ('{"orders":{"00":1,"0":2}}', 1, "'00' of topic orders is no partition"),
        ('{"orders":{"0":41}}\n{"clicks":{"0":1}}', 2, "startingOffsets is one line"),
        ('{"format": "streamshift.kafka/snapshot"}', 1, "is not Kafka"),
        ("{" * 100_000, 1, ""),
    ],
)
def test_what_structured_streaming_does_not_write_is_refused_with_its_line(text, line, why):
    with pytest.raises(InvalidFile) as refused:
        read(STREAMING, text)
    assert f"line {line} of /srv/offsets is not what Structured Streaming writes" in str(refused.value)
    assert why in str(refused.value)


@pytest.mark.parametrize(("form", "text"), [(STREAMING, "v1\n{}\n-"), (FLINK, "'topic' = 'a'")])
def test_a_file_without_an_offset_is_refused(form, text):
    with pytest.raises(InvalidFile, match="/srv/offsets holds no offset"):
        read(form, text)


def flinks_own(value):
    """KafkaConnectorOptionsUtil.parseSpecificOffsets(): pairs are divided by semicolons, and their members by commas.

    Java's split() leaves out what is empty at the end.
    """
    found = {}
    for pair in value.rstrip(";").split(";"):
        members = dict(member.split(":") for member in pair.rstrip(",").split(","))
        found[int(members["partition"])] = int(members["offset"])
    return found


STATEMENTS = """-- what's read: 'topic' = 'none'
CREATE TEMPORARY TABLE IF NOT EXISTS db.`o` (id INT, ts TIMESTAMP(3) METADATA FROM 'timestamp') WITH (
  'scan.startup.specific-offsets' = 'partition:1,offset:60',  -- in any order
  'connector' = 'kafka', 'properties.sasl.jaas.config' = 'x username=''a'' password=''b'';',
  'scan.startup.mode'='specific-offsets',
  /* 'topic' = 'other', */ 'topic' = 'orders'
);
CREATE TABLE clicks (id INT) WITH ('connector' = 'kafka', 'topic' = 'clicks');
CREATE TABLE sink (id INT) WITH ('connector' = 'print');
INSERT INTO sink SELECT id FROM clicks
  /*+ OPTIONS('scan.startup.mode'='specific-offsets', 'scan.startup.specific-offsets'='partition:0,offset:+7;') */;
INSERT INTO sink SELECT id FROM o;
"""


def test_options_of_flink_are_read_as_people_have_them():
    assert read(FLINK, STATEMENTS) == {TopicPartition("orders", 1): 60, TopicPartition("clicks", 0): 7}
    assert read(FLINK, "\ufeff" + STATEMENTS.replace("\n", "\r\n")) == read(FLINK, STATEMENTS)


@pytest.mark.parametrize("value", ["partition:0,offset:41;", "partition:0,offset:41,;;", "partition:0,offset:41"])
@pytest.mark.parametrize("mode", ["", "'scan.startup.mode' = 'specific-offsets',\n"])
def test_a_table_may_name_its_topic_last(value, mode):
    assert read(FLINK, f"{mode}'scan.startup.specific-offsets' = '{value}',\n'topic' = 'orders'\n") == {ORDERS: 41}
    assert flinks_own(value) == {0: 41}


def test_a_hint_wins_over_its_table():
    table = "CREATE TABLE t (id INT) WITH ('topic'='orders', 'scan.startup.specific-offsets'='partition:0,offset:1');"
    hint = "SELECT * FROM `t` /*+ OPTIONS('scan.startup.specific-offsets'='partition:0,offset:41') */"
    assert read(FLINK, f"{table}\n{hint}") == {ORDERS: 41}
    assert read(FLINK, "/*+ OPTIONS('topic'='orders','scan.startup.specific-offsets'='partition:0,offset:41') */") == {
        ORDERS: 41
    }
    with pytest.raises(InvalidFile, match="orders-0 is there twice, with 41 and 42"):
        read(FLINK, f"{table}\n{hint};\n{hint.replace('41', '42')}")


def created(name, topic, offset=None):
    more = "" if offset is None else f", {SPECIFIC}='partition:0,offset:{offset}'"
    return f"CREATE TABLE {name} (id INT) WITH ('topic'='{topic}'{more});\n"


def hinted(name, offset=42):
    return f"SELECT * FROM {name} /*+ OPTIONS({SPECIFIC}='partition:0,offset:{offset}') */;\n"


@pytest.mark.parametrize("name", ["db1.orders", "`db1`.`orders`", "cat.db1.orders"])
def test_a_hint_is_about_the_table_that_it_names(name):
    tables = created("db1.orders", "a") + created("db2.orders", "b") + "SET 'x' = 'y';\n"
    assert read(FLINK, tables + hinted(name)) == {TopicPartition("a", 0): 42}


def test_names_in_backticks_may_hold_dots_and_dashes():
    tables = created("`x.orders-eu`", "a") + created("x.`orders-eu`", "b")
    assert read(FLINK, tables + hinted("`x.orders-eu`")) == {TopicPartition("a", 0): 42}


@pytest.mark.parametrize("first", ["orders", "db1.orders"])
def test_a_hint_that_may_be_about_tables_of_two_topics_is_refused(first):
    with pytest.raises(
        InvalidFile, match=r"line 3 .* tables called orders have the topics a and b: write the table with"
    ):
        read(FLINK, created(first, "a") + created("db2.orders", "b") + hinted("orders"))
    with pytest.raises(InvalidFile, match="a-0 is there twice, with 10 and 42"):
        read(FLINK, created(first, "a", 10) + created("db2.orders", "a", 10) + hinted("orders"))


@pytest.mark.parametrize(
    "use",
    [
        "SELECT * FROM {};",
        "SELECT * FROM a, db.{};",
        "SELECT * FROM TABLE(TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '1' MINUTE));",
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_table_that_is_also_read_without_its_hint_starts_at_two_offsets(use, is_first):
    reads = [f"{use.format('o')}\n", hinted("o", 50)]
    also = f"and line {3 if is_first else 4} reads (db.)?o without a hint"
    statements = "/* two\nlines */" + created("o", "orders", 10) + "".join(reads if is_first else reads[::-1])
    with pytest.raises(InvalidFile, match=f"orders-0 is there twice, with 10 and 50, {also}"):
        read(FLINK, statements)
    with pytest.raises(InvalidFile, match=f"line 2 .* the mode is latest-offset, which says no offsets, {also}"):
        read(FLINK, statements.replace("'topic'", "'scan.startup.mode'='latest-offset', 'topic'"))


@pytest.mark.parametrize(
    "use",
    [
        "DROP TABLE IF EXISTS o;",
        "INSERT INTO o SELECT 1;",
        "INSERT INTO x (id, o) SELECT id, COUNT(*) o, EXTRACT(DAY FROM o) FROM x, y o GROUP BY id, o;",
        "SELECT o.id FROM x AS o;",
        "CREATE TABLE x (ts INT METADATA FROM 'timestamp' VIRTUAL, o INT, PRIMARY KEY (o) NOT ENFORCED);",
        "CREATE TEMPORARY VIEW o AS SELECT 1; SELECT * FROM o;",
        "WITH o (id) AS (SELECT 1) SELECT * FROM o;",
        "USE o; DESCRIBE o; SHOW CREATE TABLE o; SHOW COLUMNS FROM o; EXPLAIN SELECT * FROM o;",
        "-- o",
    ],
)
def test_what_does_not_read_a_table_leaves_the_hint_alone(use):
    assert read(FLINK, f"{created('o', 'orders', 10)}{use}\n{hinted('o', 50)}{use}") == {ORDERS: 50}


def test_a_table_that_is_created_anew_is_the_last_one_unless_the_first_was_read():
    first, second = created("o", "orders", 10), created("o", "other", 20)
    assert read(FLINK, first + first + hinted("o", 50)) == {ORDERS: 50}
    last = {TopicPartition("other", 0): 50}
    assert read(FLINK, f"{first}DROP TABLE o;\n{second}{hinted('o', 50)}") == last
    with pytest.raises(InvalidFile, match="tables called o have the topics orders and other"):
        read(FLINK, f"{first}SELECT * FROM o;\nDROP TABLE o;\n{second}{hinted('o', 50)}")
    with pytest.raises(InvalidFile, match="tables called o have the topics orders and other"):
        read(FLINK, f"{first}{hinted('o', 30)}DROP TABLE o;\n{second}")


def test_flink_reads_one_value_a_topic():
    text = to_text(FLINK, {"etl": {**OFFSETS, TopicPartition("orders", 2): None}})
    options = [dict(line.rstrip(",").split(" = ") for line in part.splitlines()) for part in text.split("\n\n")]
    assert [each["'scan.startup.mode'"] for each in options] == ["'specific-offsets'"] * 2
    assert {each["'topic'"]: flinks_own(each["'scan.startup.specific-offsets'"].strip("'")) for each in options} == {
        "'clicks'": {0: 7},
        "'orders'": {0: 41, 1: 60},
    }


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        (f"'topic' = 'o;p',\n{SPECIFIC} = 'partition:0,offset:1'", 1, "it names several topics"),
        (f"'topic' = ' o',\n{SPECIFIC} = 'partition:0,offset:1'", 1, "' o' cannot be the name of"),
        ("'topic' = 'orders',\n'scan.startup.mode' = 'specific", 2, "a quote is not closed"),
        (f"{SPECIFIC} = 'partition:0,offset:1'", 1, "no 'topic' is named with it"),
        (f"SELECT * FROM o /*+ OPTIONS({SPECIFIC}='partition:0,offset:1') */", 1, "no 'topic' is named"),
        ("'topic' = 'o',\n'scan.startup.mode' = 'specific-offsets'", 2, "'scan.startup.specific-offsets' is missing"),
        (f"'topic' = 'o',\n{SPECIFIC} = ';'", 2, "'' is not partition:NUMBER"),
        (f"'topic' = 'o',\n{SPECIFIC} = 'partition: 0,offset: 1'", 2, "'partition: 0,offset: 1' is not"),
        (f"'topic' = 'o',\n{SPECIFIC} = 'partition:0,offset:-1'", 2, "'partition:0,offset:-1' is not"),
        (f"'topic' = 'o',\n{SPECIFIC} = 'offset:1,partition:0'", 2, "is not partition:NUMBER"),
        (f"'topic' = 'o',\n{SPECIFIC} = 'partition:0,offset:1;partition:0,offset:2'", 2, "twice"),
        (f"'topic' = 'o',\n{SPECIFIC} = 'partition:0,offset:9999999999999999999'", 2, "not an offset"),
        ("'topic' = 'o',\n'scan.startup.mode' = 'earliest-offset'", 2, "the mode is earliest-offset"),
    ],
)
def test_what_is_no_startup_option_of_flink_is_refused_with_its_line(text, line, why):
    with pytest.raises(InvalidFile) as refused:
        read(FLINK, text)
    assert f"line {line} of /srv/offsets is no option of Flink SQL" in str(refused.value)
    assert why in str(refused.value)


@pytest.mark.parametrize("form", ["auto", "csv"])
def test_a_group_beside_a_file_that_names_others_is_refused(form):
    text = "g1,orders,0,41\ng2,orders,0,42\n"
    with pytest.raises(InvalidInput, match="names its groups itself, and snapshot_group is g1: it holds offsets of g2"):
        read_snapshot(text, "/srv/offsets", "g1", form)
    assert [group.name for group in read_snapshot("g1,orders,0,41\n", "/srv/offsets", "g1", form).groups] == ["g1"]
    assert len(read_snapshot(text, "/srv/offsets", None, form).groups) == 2


@pytest.mark.parametrize("form", [STREAMING, FLINK])
def test_forms_without_group_names_are_of_one_group_that_is_named(form):
    with pytest.raises(InvalidInput, match="is for one group, .* would be for 2: billing, shipping"):
        to_text(form, {"billing": {ORDERS: 1}, "shipping": {ORDERS: 2}})
    with pytest.raises(InvalidFile, match="Set snapshot_group"):
        read_snapshot(to_text(form, {"etl": {ORDERS: 1}}), "/srv/offsets", None, form)


@pytest.mark.parametrize("text", ["", "\ufeff", " \r\n", "\n \r\n"])
@pytest.mark.parametrize("form", ["auto", *OffsetFormat])
def test_an_empty_file_is_called_empty_whatever_form_was_expected(text, form):
    with pytest.raises(InvalidFile, match="/srv/offsets is empty"):
        read_snapshot(text, "/srv/offsets", "etl", form)


def test_many_tables_and_long_words_are_read():
    numbers = range(200)
    tables = "".join(
        f"DROP TABLE db.t{number};\n{created(f'db.t{number}', f'topic{number}', 10)}" for number in numbers
    )
    hints = "".join(hinted(f"t{number}", 50) for number in numbers[::2])
    offsets = read(FLINK, f"{'x' * 20_000};\n{tables}{hints}")
    assert offsets == {TopicPartition(f"topic{number}", 0): 10 if number % 2 else 50 for number in numbers}
