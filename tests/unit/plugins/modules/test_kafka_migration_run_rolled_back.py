"""The report of a rollback says what this rollback has done, and not what an earlier one had done."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing import commit
from ansible_collections.streamshift.kafka.plugins.module_utils._model import receipt, snapshot
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Receipt, ReceiptEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.modules import kafka_migration_run, kafka_offset_commit
from ansible_collections.streamshift.kafka.plugins.plugin_utils._results import results_of
from tests.support.identities import known_by_id
from tests.support.memory_groups import MemoryGroups
from tests.support.module_inputs import DESTINATION, saved


def line(group: str, *, before: int, written: int | None, number: int = 0) -> ReceiptEntry:
    """What a receipt has of a partition of orders. written: None where it is rolled back."""
    target = None if written is None else CommittedOffset(written)
    return ReceiptEntry(group, TopicPartition("orders", number), CommittedOffset(before), target, target)


@pytest.fixture
def ticket(run_module, monkeypatch, tmp_path):
    """``ticket(groups, *lines)`` rolls these lines back, on a cluster with these offsets of groups, and returns the ticket.

    selection: names of groups, everything without any. made_again: removed groups.
    """
    known_by_id(monkeypatch, lambda _connection: "id")

    def ticket(groups, *lines, selection=(), made_again=(), **options):
        commits = {name: dict(zip(*its, strict=True)) for name, its in groups.items()}
        its = MemoryGroups(commits)
        its.install(monkeypatch, commit)
        path = saved(tmp_path / "receipt.json", receipt.to_json(Receipt("id", lines)))
        chosen = {"groups": list(selection)} if selection else {"everything": True}
        given = {"cluster": DESTINATION, "receipt": path, "state": "rolled_back", "idle_wait": 0, **chosen, **options}
        done = run_module(kafka_offset_commit, **given)
        ended = {
            "directory": str(tmp_path),
            "state": "ended",
            "phase": "rollback",
            "role": "group_migration",
            "keep": 0,
        }
        ended |= {"files": ["receipt.json"], "holder": {"host": "a", "process": 1}}
        if made_again:
            ended |= {
                "role": "group_clone",
                "source": "onprem",
                "destination": "onprem",
                "settings": {"renames": True},
            }
        ended |= {"selection": {"groups": list(selection)} if selection else {}}
        steps = {"groups": {"changed": bool(made_again), "groups": list(made_again)}, "rollback": done}
        run_module(kafka_migration_run, results=results_of(steps, {}), **ended)
        return (tmp_path / "report.md").read_text().replace("\\", "").replace("`", "")

    return ticket


def at(**offsets: int):
    """Partition 0 of orders for each group."""
    return {name: ([TopicPartition("orders", 0)], [CommittedOffset(offset)]) for name, offset in offsets.items()}


def test_what_was_rolled_back_before_and_has_moved_since_is_not_called_rolled_back(ticket):
    told = ticket(at(audit=42, billing=9), line("audit", before=5, written=None), line("billing", before=3, written=9))
    assert "Rolled back: 1 of 2 group-partitions of 2 groups." in told
    assert "| audit orders-0 | 42 | - | unchanged by this rollback |" in told
    assert "| billing orders-0 | 9 | 3 | rolled back |" in told


def test_a_group_that_got_other_metadata_back_with_the_same_offset_is_rolled_back(ticket):
    orders, streams = TopicPartition("orders", 0), CommittedOffset(9, "of Kafka Streams")
    told = ticket(at(billing=9), ReceiptEntry("billing", orders, streams, CommittedOffset(9), CommittedOffset(9)))
    assert "Rolled back: 1 of 1 group-partition of 1 group." in told
    assert "| billing orders-0 | 9 | 9 | rolled back |" in told


@pytest.mark.parametrize("selection", [["audit"], ["audit", "billing"]])
def test_a_removed_group_that_the_rollback_has_made_again_is_told_though_the_receipt_lacks_it(
    ticket, tmp_path, selection
):
    (tmp_path / "snapshot.json").write_text(
        snapshot.to_json(snapshot.Snapshot("id", (), (), left_out_names=("audit",)))
    )
    told = ticket(at(billing=9), line("billing", before=3, written=9), selection=selection, made_again=["audit"])
    has_line = "billing" in selection
    size = "1 of 1 group-partition of 1 group" if has_line else "0 of 0 group-partitions of 0 groups"
    others = "." if has_line else "; 1 other in the receipt left alone."
    assert f"Rolled back: {size}; 1 removed group made again{others}" in told
    assert "Made again: audit." in told and "Start the consumers with the old names." in told


def test_a_rollback_that_is_refused_has_restored_nothing(ticket):
    lines = line("audit", before=5, written=None), line("billing", before=3, written=9)
    told = ticket(at(audit=42, billing=20), *lines)
    assert "The rollback failed, and changed nothing." in told
    assert "| audit orders-0 | - | - | unchanged by this rollback |" in told
    assert "| billing orders-0 | - | - | committed |" in told


@pytest.mark.parametrize("earlier", [150, 250])
def test_of_a_great_many_group_partitions_each_that_is_shown_is_shown_with_what_became_of_it(ticket, earlier):
    """The ones that go back are between the others, by name."""
    lines = [line("audit", before=5, written=9 if number % 2 else None, number=number) for number in range(300)]
    lines += [line("audit", before=5, written=None, number=number) for number in range(300, 150 + earlier)]
    offsets = [CommittedOffset(42 if entry.written is None else 9) for entry in lines]
    told = ticket({"audit": ([entry.partition for entry in lines], offsets)}, *lines)
    assert f"Rolled back: 150 of {len(lines)} group-partitions of 1 group." in told
    rows = [row for row in told.splitlines() if row.startswith("| audit orders-")]
    assert len(rows) == 200
    assert sum(row.endswith("| 42 | - | unchanged by this rollback |") for row in rows) == min(earlier, 200)
    assert sum(row.endswith("| 9 | 5 | rolled back |") for row in rows) == 200 - min(earlier, 200)


def test_what_the_runs_had_left_out_takes_no_group_from_the_report(ticket, tmp_path):
    (tmp_path / "snapshot.json").write_text(
        snapshot.to_json(snapshot.Snapshot("id", (), (), left_out_names=("audit",)))
    )
    told = ticket(at(billing=9), line("billing", before=3, written=9), selection=["audit", "billing"])
    assert "Rolled back: 1 of 1 group-partition of 1 group." in told
    assert "| billing orders-0 | 9 | 3 | rolled back |" in told
