"""Unconsumed records that are not where a group would read them: lost at the destination, or in another partition."""

import json

import pytest

from testbed.clients import Message, commit, committed, create_topic, produce, read
from tests.support.modules import Migration, refuses, succeeds
from tests.support.two_logs import BEGIN, TwoLogs, unlike


@pytest.fixture(params=[0, 600], ids=["short logs", "long logs"])
def lost(source, destination, topic, tmp_path, request):
    """The destination has lost the first 30 of 60 records, of which a group has consumed 20."""
    logs = TwoLogs(source, destination, topic, tmp_path / "migration", before=request.param)
    logs.create()
    logs.write(unlike(range(60)), unlike(range(60)))
    logs.start(destination, 30)
    return logs


def test_records_that_the_destination_has_lost_are_in_the_plan_and_keep_it_from_being_written(destination, lost):
    answer = lost.answer(20)
    assert (answer.verdict, answer.offset) == ("exact", 30)
    (entry,) = json.loads(lost.migration.plan_file.read_text())["entries"]
    start = lost.before + 30
    absent = {"records": 10, "source": lost.before + 20, "exactly": True, "deleted_before": start}
    assert entry["absent"] == absent
    deleted = f"the destination's log starts at offset {start}: retention or DeleteRecords has deleted them there"
    assert deleted in entry["detail"]
    assert "10 unconsumed records" in entry["detail"]
    migration, group = lost.migration, entry["group"]
    for method in ("anchors", "records"):
        done = migration.verify(receipt=None, method=method, on_problem="report")
        assert [(found["kind"], found["count"]) for found in done["findings"]] == [("absent", 10)]
        assert deleted in str(done["findings"]) and "filtered" not in str(done["findings"])
        noted = migration.verify(receipt=None, method=method, on_absent="warn")
        assert (noted["findings"], noted["verified"], noted["note_kinds"].count("absent")) == ([], 1, 1)
    assert "10 unconsumed records" in migration.commit(via=refuses)
    assert committed(destination, group) == {}
    migration.commit(on_absent="warn")
    assert committed(destination, group)[lost.topic, 0][0] == lost.before + 30
    looked = succeeds(
        "kafka_group_readiness",
        source=migration.source,
        destination=migration.destination,
        plan=str(migration.plan_file),
    )
    assert "10 unconsumed records absent at the destination" in looked["summary"][0]


@pytest.mark.parametrize("lag", [0, 20])
def test_a_script_with_a_partitioner_that_writes_the_current_time(source, destination, topic, tmp_path, lag):
    """As `kafka-console-consumer | kafka-console-producer`: nothing but the values is kept."""
    for cluster in (source, destination):
        create_topic(cluster, topic, 2, retention_ms=-1)
    messages = [Message(b"%d" % number, None, (), BEGIN + number, number % 2) for number in range(800)]
    produce(source, topic, messages)
    records = sorted(read(source, topic), key=lambda record: record.timestamp)[: 800 - lag]
    produce(destination, topic, [Message(each.value, partition=int(each.value or 0) // 2 % 3 % 2) for each in records])
    commit(source, topic, {(topic, 0): 300, (topic, 1): 100})
    entries = Migration(tmp_path / "migration", source, destination).plan(topic).values()
    assert {(entry["verdict"], entry["reason"]) for entry in entries} == {("blocked", "other_partitions")}
