"""Offsets go to other tools and come from them: the stock tool, Spark Structured Streaming."""

import json
import shutil

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model import stock_csv
from testbed.clients import Message, commit, committed, produce
from tests.support.killing import dies_in
from tests.support.modules import Migration, refuses
from tests.support.replication_tool import copied_topic
from tests.support.stock_tool import consumer_groups
from tests.support.streaming_query import queries

WRITING = "ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing.writing"


@pytest.fixture
def copied(source, destination, topic):
    """A topic of two partitions, whose copies at the destination come after others."""
    return copied_topic(source, destination, topic, 30, junk=7)


def table(said):
    """What the stock tool's dry run says: the new offset of each partition of each group."""
    rows = [line.split() for line in said.splitlines()]
    return {(row[0], row[1], int(row[2])): int(row[3]) for row in rows if len(row) == 4 and row[2].isdigit()}


def test_the_stock_tools_dry_run_of_our_csv_says_what_our_plan_says(source, destination, copied, tmp_path, migration):
    groups = [f"{copied}-billing", f"{copied}-shipping"]
    commit(source, groups[0], {(copied, 0): (4, "by hand"), (copied, 1): 10})
    commit(source, groups[1], {(copied, 0): 30})
    migration.snapshot(*groups)
    file = str(migration.directory / "plan.csv")
    done = migration.carefully(groups[0], lambda **how: migration.translate(csv=file, **how))
    assert done["exports"] == [file]
    assert any(f"{file} lacks 1 of 4 group-partitions (1 uncommitted)" in line for line in done["warnings"])
    assert any(f"{file} lacks the metadata of 1 committed offset" in line for line in done["warnings"])
    asked = ["--group", groups[0], "--group", groups[1], "--reset-offsets", "--from-file", file]
    planned = {
        (row["group"], row["topic"], row["partition"]): row["offset"]
        for row in done["entries"]
        if row["offset"] is not None
    }
    assert len(planned) == 3
    assert table(consumer_groups(destination, *asked, "--dry-run")) == planned
    by_hand = tmp_path / "by-hand.csv"  # the same offsets, as people write them
    by_hand.write_text(
        "".join(f"{group},{topic},+{at} ,\t{offset}\r\n" for (group, topic, at), offset in planned.items())
    )
    read = stock_csv.entries_by_line(by_hand.read_text(), str(by_hand), None).values()
    assert {(entry.group, *entry.partition): entry.committed.offset for entry in read} == planned
    assert table(consumer_groups(destination, *asked[:-1], str(by_hand), "--dry-run")) == planned
    consumer_groups(destination, *asked, "--execute")
    exported = tmp_path / "exported.csv"
    words = ["--reset-offsets", "--to-current", "--all-topics", "--dry-run", "--export"]
    exported.write_text(consumer_groups(destination, "--group", groups[0], "--group", groups[1], *words))
    back = Migration(tmp_path / "back", destination, source)
    found = back.translate(snapshot=str(exported))["entries"]
    assert {(row["group"], row["partition"]): row["offset"] for row in found if row["offset"] is not None} == {
        (groups[0], 0): 4,
        (groups[0], 1): 10,
        (groups[1], 0): 30,
    }


def test_a_rollback_restores_what_the_stock_tool_describes(source, destination, copied, tmp_path):
    """After a commit of everything, of a part, and one that was killed before it had read back what it wrote."""
    low, high = groups = [f"{copied}-low", f"{copied}-high"]
    for group in groups:
        commit(source, group, {(copied, 0): 4, (copied, 1): 10})
    commit(destination, low, {(copied, 0): (2, "by hand")})
    commit(destination, high, {(copied, 0): 30, (copied, 1): 35})
    stand = {group: committed(destination, group) for group in groups}

    def described():
        said = consumer_groups(destination, "--describe", "--group", low, "--group", high)
        return sorted(line.split() for line in said.splitlines() if copied in line)

    before = described()
    assert len(before) == 3
    for ends in ("complete", "partial", "interrupted"):
        migration = Migration(tmp_path / ends, source, destination)
        migration.plan(*groups)
        if ends == "interrupted":
            options = {"cluster": migration.destination, "plan": str(migration.plan_file)}
            options |= {"receipt": str(migration.receipt_file), "idle_wait": 0, "on_rewind": "rewind"}
            dies_in(f"{WRITING}.commits_of", "kafka_offset_commit", **options)
        else:
            migration.commit(on_rewind="keep" if ends == "partial" else "rewind")
        assert committed(destination, low) != stand[low]
        assert (committed(destination, high) == stand[high]) is (ends == "partial")
        migration.roll_back(on_rewind="rewind", on_advance="advance")
        assert described() == before, ends
        assert {group: committed(destination, group) for group in groups} == stand


def test_a_streaming_query_that_stops_at_the_source_and_starts_at_the_destination_gets_each_record_once(
    source, destination, copied, tmp_path, migration
):
    with queries(tmp_path / "spark") as spark:
        checkpoint = spark.run("before", source.bootstrap_servers, copied, die_at=3)
        consumed = spark.written("before")
        assert 0 < len(consumed) < 60
        export = migration.directory / "starting-offsets.json"
        asked = {
            "snapshot": str(checkpoint),
            "snapshot_format": "structured_streaming",
            "snapshot_group": "a-name-that-need-not-exist",
            "export": str(export),
            "export_format": "structured_streaming",
        }
        done = migration.carefully("a-name-that-need-not-exist", lambda **how: migration.translate(**asked, **how))
        assert [row["verdict"] for row in done["entries"]] == ["exact", "exact"]
        assert any("batch 3 was begun and is not finished" in line for line in done["warnings"])
        unfinished = checkpoint / "offsets/3"
        assert "is not of the last finished batch, which is batch 2" in migration.translate(
            via=refuses, **asked | {"snapshot": str(unfinished)}
        )
        alone = shutil.copy(checkpoint / "offsets/2", migration.directory / "2")
        assert "nothing says whether that is finished" in migration.translate(
            via=refuses, **asked | {"snapshot": str(alone)}
        )
        produce(source, copied, [Message(b"%d" % number, partition=number % 2) for number in range(60, 70)])
        produce(destination, copied, [Message(b"%d" % number, partition=number % 2) for number in range(60, 70)])
        spark.run("after", destination.bootstrap_servers, copied, starting=export.read_text())
        assert sorted(consumed + spark.written("after"), key=int) == [str(number) for number in range(70)]


def test_nothing_is_written_for_a_query_while_a_partition_is_blocked(copied, tmp_path, migration):
    starting = tmp_path / "starting.json"
    starting.write_text(json.dumps({copied: {"0": 4, "1": 4000}}))
    export = str(migration.directory / "out")
    asked = {"snapshot": str(starting), "snapshot_format": "structured_streaming", "snapshot_group": copied}
    for form in ("structured_streaming", "flink_sql"):
        message = migration.translate(via=refuses, export=export, export_format=form, **asked)
        assert f"group {copied}, topic {copied}, partition 1: {export} is not written" in message
        assert "beyond_end" in message
    assert migration.files() == {}


def test_offsets_of_a_group_are_written_for_streaming_and_flink(source, destination, copied, migration):
    commit(source, copied, {(copied, 0): 4})
    migration.snapshot(copied, format="structured_streaming")
    assert json.loads(migration.snapshot_file.read_text()) == {copied: {"0": 4, "1": -2}}
    migration.snapshot(copied, format="flink_sql")
    assert "'scan.startup.specific-offsets' = 'partition:0,offset:4'" in migration.snapshot_file.read_text()
