"""kafka_offset_verify verifies exact migrations by their contents, and says of wrong ones what would be skipped or repeated.

Where Spark may come to another result, tests run twice: counted in the process, as small logs are, and in one Spark session.
"""

import contextlib
import hashlib
import json
import typing as t
from unittest import mock

import jsonschema
import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._verification import comparison
from ansible_collections.streamshift.kafka.plugins.module_utils._model.spark import SparkOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.session import open_session
from testbed.clients import Message, commit, consume, create_topic, produce, produce_in_transactions, read
from tests.support.modules import ROOT, Migration, run
from tests.support.numbered import numbered
from tests.support.replication_tool import copy

DAY = 86_400_000
OWN_TIME = {"message_timestamp_type": "LogAppendTime"}


@pytest.fixture(scope="module")
def session() -> t.Iterator[t.Any]:
    with open_session(SparkOptions(master="local[2]", conf={"spark.sql.shuffle.partitions": "2"})) as spark:
        yield spark


@pytest.fixture(params=["in process", "on Spark"])
def one_session(request: pytest.FixtureRequest) -> t.Iterator[None]:
    if request.param == "in process":
        with mock.patch.object(comparison, "session_on_demand", lambda _options, _say: contextlib.nullcontext(None)):
            yield
        return
    session = request.getfixturevalue("session")
    shared = contextlib.nullcontext(lambda: session)
    with (
        mock.patch.object(comparison, "session_on_demand", lambda _options, _say: shared),
        mock.patch.object(comparison, "FEW", 0),
    ):
        yield


in_process = pytest.mark.parametrize("one_session", ["in process"], indirect=True)


@pytest.fixture
def migration(source, destination, tmp_path, one_session):
    return Migration(tmp_path / "migration", source, destination)


class Verifier:
    """kafka_offset_verify of what groups have committed on both clusters, without a plan."""

    def __init__(self, source, destination, folder):
        self.source, self.destination, self.report = source, destination, folder / "report.json"

    def __call__(self, *groups, **options):
        return run(
            "kafka_offset_verify",
            **{
                "source": dict(self.source.connection),
                "destination": dict(self.destination.connection),
                "groups": list(groups),
                "report": str(self.report),
            }
            | options,
        )

    def found(self):
        """The report's entries, by group, topic and partition of the destination."""
        return {
            (entry["group"], entry["destination"][0]["topic"], entry["destination"][0]["partition"]): entry
            for entry in json.loads(self.report.read_text())["entries"]
        }


@pytest.fixture
def verify(source, destination, tmp_path, one_session):
    return Verifier(source, destination, tmp_path)


def test_a_migration_is_proved(source, both, destination, migration, tmp_path):
    topic = both(partitions=3)
    produce(source, topic, [message._replace(partition=part) for part in (0, 1) for message in numbered(2000)])
    copy(source, destination, topic, junk=3)
    commit(source, topic, {(topic, 0): 500, (topic, 1): 2000, (topic, 2): 0})
    migration.plan(topic)
    migration.commit()
    report = tmp_path / "report.json"
    before = migration.state(topic)
    predicted = migration.verify(method="records", report=str(report), check=True)
    assert not report.exists()
    done = migration.verify(method="records", report=str(report))
    assert done == predicted
    assert (done["verified"], done["without_records"], done["problems"], done["compared"]) == (3, 0, [], 1500)
    assert migration.state(topic) == before
    assert report.stat().st_mode & 0o777 == 0o600
    schema = json.loads((ROOT / "docs/schemas/report.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(json.loads(report.read_text()))


def test_one_too_far_is_a_loss_and_one_too_low_a_repeat(source, destination, both, verify, topic):
    both()
    produce(source, topic, numbered(3000))
    copy(source, destination, topic, junk=2)
    for group, offset in (("right", 52), ("far", 53), ("low", 51), ("end", 3002), ("start", 0)):
        commit(source, f"{topic}-{group}", {(topic, 0): 50})
        commit(destination, f"{topic}-{group}", {(topic, 0): offset})
    groups = [f"{topic}-{group}" for group in ("right", "far", "low", "end", "start")]
    said = verify(*groups)
    found = {key[0].removeprefix(f"{topic}-"): entry for key, entry in verify.found().items()}
    assert found["right"]["problems"] == found["right"]["notes"] == []
    assert (found["right"]["compared"], found["right"]["complete"]) == (2950, True)
    assert found["far"]["skipped"] == 1
    assert found["far"]["first_difference"] == {"source": 50, "destination": 52}
    assert "first source offset 50, destination offset 52" in found["far"]["problems"][0]["detail"]
    assert (found["low"]["repeated"], found["low"]["first_difference"]) == (1, {"source": 49, "destination": 51})
    assert found["end"]["skipped"] == 2950
    assert (found["start"]["repeated"], found["start"]["destination_only"]) == (50, 2)
    # Of offsets that nobody has promised anything of, only losses are wrong.
    assert said["failed"]
    assert [line.split(" ")[0] for line in said["problems"]] == [f"{topic}-end", f"{topic}-far"]


@in_process
def test_a_plan_is_proved_before_a_group_is_set(source, destination, both, migration, tmp_path, topic):
    both()
    produce(source, topic, numbered(300))
    copy(source, destination, topic, junk=3)
    groups = {f"{topic}-{offset}": offset for offset in (50, 120)}
    for group, offset in groups.items():
        commit(source, group, {(topic, 0): offset})
    commit(destination, f"{topic}-120", {(topic, 0): 7})  # it stands elsewhere, which the commit would judge
    migration.plan(*groups)
    before = migration.state(*groups)
    for method in ("records", "anchors"):
        said = migration.verify(method=method, receipt=None)
        assert (said["verified"], said["without_records"], said["problems"]) == (2, 0, [])
    migration.commit(on_rewind="rewind", on_advance="advance")
    assert migration.verify(method="records", receipt=None)["compared"] == 250 + 180  # committed or not
    migration.roll_back()
    assert migration.state(*groups)[1] == before[1]

    right = migration.plan_file.read_text()
    migration.plan_file.write_text(right.replace('"offset": 53, "metadata"', '"offset": 54, "metadata"', 1))
    said = migration.verify(via=run, method="records", receipt=None)
    assert said["failed"]
    (problem,) = said["problems"]
    assert problem.startswith(f"{topic}-50 {topic}-0: 1 unconsumed record is skipped: before the offset 54,")
    assert problem.endswith("first source offset 50, destination offset 53")
    assert "Do not commit this plan, but make it again" in said["msg"]
    assert (said["verified"], migration.state(*groups)[1]) == (1, before[1])
    said = migration.verify(via=run, method="anchors", receipt=None)
    (problem,) = said["problems"]
    assert problem.startswith(
        f"{topic}-50 {topic}-0: offset 53, the copy of the first unconsumed record, is before the"
    )
    assert [found["kind"] for found in said["findings"]] == ["skipped"]


@pytest.mark.parametrize("settings", [None, OWN_TIME], ids=["CreateTime", "LogAppendTime"])
def test_transactions_headers_and_own_timestamps(source, destination, both, verify, topic, settings):
    """Markers and aborted records on one side; a replication tool that adds headers; timestamps that are not compared."""
    both(None, settings)
    produce_in_transactions(
        source, topic, [(numbered(400), True), (numbered(50, 5000), False), (numbered(400, 400), True)]
    )
    written = [
        Message(record.value, record.key, (("copied-by", b"copier"),), record.timestamp)
        for record in read(source, topic)
    ]
    produce_in_transactions(destination, topic, [(written[:100], True), (written[100:], True)])
    commit(source, topic, {(topic, 0): 100})
    commit(destination, topic, {(topic, 0): 101})
    said = verify(topic)
    assert not said.get("failed"), said["msg"]
    (entry,) = verify.found().values()
    assert (entry["compared"], entry["destination_only"], entry["to_come"]) == (700, 0, 0)
    assert entry["matched_by"] == ["key", "value", *([] if settings else ["timestamp"])]
    commit(destination, topic, {(topic, 0): 102})
    said = verify(topic)
    assert "1 unconsumed record is skipped" in said["problems"][0]


@in_process
def test_copies_of_aborted_records_are_called_that(source, destination, both, verify, topic):
    both()
    produce_in_transactions(source, topic, [(numbered(20), True), (numbered(7, 500), False), (numbered(20, 20), True)])
    copy(source, destination, topic, committed=False)
    commit(source, topic, {(topic, 0): 10})
    commit(destination, topic, {(topic, 0): 10})
    said = verify(topic)
    assert not said.get("failed"), said["msg"]
    assert said["note_kinds"] == ["aborted"], said["notes"]
    assert f"{topic} {topic}-0: 7 copies of aborted records follow the offset 10," in said["notes"][0]


@in_process
def test_what_cannot_be_compared_is_named(source, destination, both, verify, topic):
    both()
    create_topic(source, f"{topic}-only", 1, retention_ms=-1)
    produce(source, topic, numbered(10))
    commit(source, topic, {(topic, 0): 5, (f"{topic}-only", 0): 0})
    said = verify(topic)
    assert said["problems"] == [
        f"{topic} {topic}-0: nothing is committed at the destination",
        (
            f"{topic} {topic}-only-0: topic {topic}-only does not exist at the destination: if MirrorMaker 2 copies it to a "
            "topic with a prefix, set replication_policy; otherwise create it and let the replication tool fill it, map it in "
            "topic_map, or exclude it in exclude_topic_patterns"
        ),
    ]
    commit(destination, topic, {(topic, 0): 7})
    said = verify(topic, topics=[topic])
    assert f"offset 7 of {topic}-0 is after the destination's end 0" in said["problems"][0]


def test_merged_and_repartitioned_topics_are_proved_as_a_whole(source, destination, topic, verify):
    consumed = {"eu": {0: 30, 1: 0}, "us": {0: 50, 1: 41}}
    for name in consumed:
        create_topic(source, f"{topic}-{name}", 2, retention_ms=-1)
        for partition in (0, 1):
            messages = numbered(100, 1000 * partition + 5000 * (name == "us"), partition=partition)
            produce(source, f"{topic}-{name}", messages)
    create_topic(destination, topic, 3, retention_ms=-1)
    records = sorted(
        ((record, name) for name in consumed for record in read(source, f"{topic}-{name}")),
        key=lambda each: (each[0].offset, each[1], each[0].partition),
    )
    spread: dict[int, list[bool]] = {0: [], 1: [], 2: []}
    for number, (record, name) in enumerate(records):
        partition = number * 7 % 3
        spread[partition].append(record.offset < consumed[name][record.partition])
        produce(destination, topic, [Message(record.value, record.key, (), record.timestamp, partition)])
    for name, positions in consumed.items():
        commit(source, topic, {(f"{topic}-{name}", partition): offset for partition, offset in positions.items()})
    first = {partition: its.index(False) for partition, its in spread.items()}
    commit(destination, topic, {(topic, partition): offset for partition, offset in first.items()})
    names = {"topic_map": [{"pattern": f"({topic})-(eu|us)", "to": "\\1"}], "repartitioned": [f"{topic}-.*"]}
    said = verify(topic, **names)
    assert not said.get("failed"), said["msg"]
    assert said["compared"] == 400 - 30 - 50 - 41
    assert said["verified"] == 3
    again = sum(sum(its[first[partition] :]) for partition, its in spread.items())
    assert said["notes"] == [f"{topic} {topic}: {again} consumed records are repeated"]

    commit(destination, topic, {(topic, partition): offset + (partition == 1) for partition, offset in first.items()})
    said = verify(topic, **names)
    assert f"1 unconsumed record is skipped: before the offsets, first source {topic}-" in said["problems"][0]
    assert f"destination {topic}-1 offset {first[1]}" in said["problems"][0]
    # Within a limit nothing that stands beyond it is missed.
    said = verify(topic, **names, limit=50)
    assert [line.split(":")[1] for line in said["problems"]] == [" 1 unconsumed record is skipped"]


@in_process
def test_only_what_would_be_written_is_verified(source, destination, both, migration, tmp_path, topic):
    both()
    produce(source, topic, numbered(100))
    copy(source, destination, topic, junk=3)
    groups = [f"{topic}-{number}" for number in range(3)]
    for group in groups:
        commit(source, group, {(topic, 0): 50})
    commit(destination, groups[0], {(topic, 0): 53})  # it stands right already
    migration.plan(*groups)
    report = tmp_path / "report.json"
    its = {"method": "records", "scope": "to_commit", "report": str(report)}
    said = migration.verify(**its)
    assert (said["verified"], said["compared"]) == (2, 2 * 50)
    assert [entry["group"] for entry in json.loads(report.read_text())["entries"]] == groups[1:]
    migration.commit()
    assert consume(destination, groups[1], [topic], 27) == 27
    before = report.read_bytes()
    with (
        mock.patch.object(comparison, "count_in_process", side_effect=AssertionError),
        mock.patch.object(comparison, "FEW", 0),
    ):
        for options in ({}, {"method": "anchors"}):
            said = migration.verify(**its | options)
            assert (said["verified"], said["without_records"], report.read_bytes()) == (0, 0, before)


def set_offset(migration, topic, offset):
    """Edit the offset of the plan's first entry of partition 0, as somebody would who knows better."""
    plan = json.loads(migration.plan_file.read_text())
    entry = next(entry for entry in plan["entries"] if entry["topic"] == topic and entry["partition"] == 0)
    entry["offset"] = offset
    migration.plan_file.write_text(json.dumps(plan))


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()
