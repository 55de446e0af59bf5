"""Where a little reading does not settle an offset, Spark reads whole logs: on real brokers, in local mode."""

import json
import time

import pytest

from testbed.clients import Message, commit, create_topic, produce, produce_in_transactions
from tests.support.consumers import unconsumed
from tests.support.modules import refuses
from tests.support.replication_tool import copy

RECORDS = 6000  # more than the client counts after an offset
COMMITS = (1, 2500, 5990)
BEGIN = time.time_ns() // 1_000_000 - RECORDS


@pytest.fixture(scope="module")
def topics(source, destination) -> dict[str, str]:
    """Three groups on each of these topics, which the replication tool has brought over in its own way."""
    topics = {name: f"wide-{name}" for name in ("stamped", "twice", "broken-off", "transactions", "pings")}
    for name, topic in topics.items():
        create_topic(source, topic)
        its = {"message_timestamp_type": "LogAppendTime"} if name in ("stamped", "pings") else {}
        create_topic(destination, topic, **its)
        produce(source, topic, _messages(name))
        for consumed in COMMITS:
            commit(source, f"{topic}-{consumed}", {(topic, 0): consumed})
    copy(source, destination, topics["stamped"], junk=3)
    copy(source, destination, topics["pings"], junk=3)
    copy(source, destination, topics["twice"], again=RECORDS)
    copy(source, destination, topics["broken-off"], again=4000)
    messages = _messages("transactions")  # each hundred of them is followed by a marker at the destination
    batches = [(messages[at : at + 100], True) for at in range(0, RECORDS, 100)]
    produce_in_transactions(destination, topics["transactions"], batches)
    return topics


def _messages(name: str) -> list[Message]:
    """Most records are unlike each other; every third of pings is like many others."""
    values = [b"ping" if name == "pings" and at % 3 == 0 else b"%d" % at for at in range(RECORDS)]
    return [Message(value, timestamp=BEGIN + at) for at, value in enumerate(values)]


def _values(cluster, group, topic):
    return [each[3] for each in unconsumed(cluster, group, topic)]


def planned(migration, *topics, **options):
    groups = [f"{topic}-{consumed}" for topic in topics for consumed in COMMITS]
    return {group: entry for (group, _topic, _partition), entry in migration.plan(*groups, **options).items()}


def test_all_of_it_is_settled_at_once(source, destination, topics, migration):
    entries = planned(migration, *topics.values(), search_limit=300)

    def told(name):
        its = [entries[f"{topics[name]}-{consumed}"] for consumed in COMMITS]
        return [(entry["verdict"], entry["reason"], entry["offset"], entry["repeats"]) for entry in its]

    for name in ("stamped", "pings"):
        assert told(name) == [("exact", None, consumed + 3, 0) for consumed in COMMITS]
    assert told("transactions") == [("exact", None, consumed + (consumed - 1) // 100, 0) for consumed in COMMITS]
    # The second copy is whole.
    assert told("twice") == [("exact", "recopied", RECORDS + consumed, 0) for consumed in COMMITS]
    # What came again is all unconsumed for the first group, and begins with consumed records for the others.
    assert told("broken-off") == [
        ("exact", None, 1, 0),
        ("exact", "recopied", RECORDS + 500, 0),
        ("exact", "recopied", RECORDS + 3990, 0),
    ]
    migration.commit()
    for topic in topics.values():
        for consumed in COMMITS:
            group = f"{topic}-{consumed}"
            at_source, at_destination = (_values(cluster, group, topic) for cluster in (source, destination))
            assert set(at_source) == set(at_destination)
            assert at_source == at_destination or group == f"{topics['broken-off']}-1"


def test_records_that_the_tool_has_left_out_far_from_the_offset_are_told(source, destination, topic, migration):
    """The near way reads only the first ones, and Spark what follows the offset: nobody reads both whole logs."""
    create_topic(source, topic)
    create_topic(destination, topic)
    produce(source, topic, _messages("filtered"))
    commit(source, f"{topic}-1", {(topic, 0): 1})
    copy(source, destination, topic, keep=lambda record: record.offset not in (3000, 4000))
    migration.plan(f"{topic}-1", search_limit=300)
    (entry,) = json.loads(migration.plan_file.read_text())["entries"]
    assert (entry["verdict"], entry["offset"], entry["evidence"]["way"]) == ("exact", 1, "spark_tail")
    assert entry["absent"] == {"records": 2, "source": 3000, "exactly": True}
    assert "2 unconsumed records, from source offset 3000 on" in migration.commit(via=refuses)


def test_without_spark_it_stays_as_it_is(topics, migration, monkeypatch, tmp_path):
    twice, stamped = topics["twice"], topics["stamped"]
    entries = planned(migration, twice, stamped, search_limit=300, spark_limit=0)
    assert {entry["reason"] for group, entry in entries.items() if group.startswith(stamped)} == {"search_budget_spent"}
    assert {entry["reason"] for group, entry in entries.items() if group.startswith(twice)} == {"tail_not_counted"}
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    (entry,) = [
        entry
        for group, entry in planned(migration, twice, search_limit=300).items()
        if group.endswith(f"-{COMMITS[1]}")
    ]
    assert "Java" in entry["detail"] and "17" in entry["detail"]


def test_what_was_consumed_counts_for_the_limit_too(topics, migration):
    """The tail of the last group is within it; that it holds consumed records is known only from both whole logs."""
    group = f"{topics['twice']}-{COMMITS[-1]}"
    entry = planned(migration, topics["twice"], search_limit=300, spark_limit=2 * RECORDS - 1)[group]
    assert (entry["verdict"], entry["reason"]) == ("safe", "tail_not_counted")
    assert f"Spark would read {3 * RECORDS:,} records" in entry["detail"]
