"""Long work says what it is doing, in the order in which it does it."""

from testbed.clients import Message, commit, create_topic, produce
from tests.support.numbered import numbered
from tests.support.replication_tool import copy, repartition


def test_what_spark_reads_for_a_plan_is_told(source, destination, topic, migration):
    create_topic(source, topic)
    create_topic(destination, topic, message_timestamp_type="LogAppendTime")
    produce(source, topic, numbered(2000))
    copy(source, destination, topic, junk=3)
    other = f"{topic}-other"
    create_topic(source, other, partitions=2)
    create_topic(destination, other, partitions=3)
    produce(source, other, [Message(b"%d" % number, partition=number % 2) for number in range(120)])
    repartition(source, destination, [other], other, 3)
    commit(source, topic, {(topic, 0): 900, (other, 0): 7, (other, 1): 8})

    migration.snapshot(topic)
    options = {"search_limit": 100, "repartitioned": [other], "spark": {"master": "local[2]"}}
    lines = migration.directory.parent / "progress"
    told = migration.translate(check=True, progress_file=str(lines), **options)
    silently = migration.translate(**options)
    assert told | {"invocation": None} == silently | {"invocation": None}
    said = lines.read_text().splitlines()
    assert [line for line in said if line.startswith(("Spark is", "comparing"))] == [
        "Spark is starting",
        "comparing up to 4,003 records of 1 partition with Spark",
        f"comparing up to 240 records of topic {other} with Spark",
    ]
