"""What would be written is what a commit writes or refuses to write, and nothing else."""

import dataclasses

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing import conflicts, pending
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing.outcome import CommitOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan, PlanEntry, SourcePosition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Receipt, ReceiptEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict

CLOUD = Connection("cloud", ("d:1",))
P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
NOW = CommitOptions(idle_wait=0)
AT_50 = CommittedOffset(50)


def entry(group, partition, offset=50, source=None):
    verdict = Verdict.BLOCKED if offset is None else Verdict.EXACT
    return PlanEntry(group, partition, offset, verdict, source or (SourcePosition(group, partition, 7),))


@pytest.fixture
def would_write(monkeypatch):
    """``would_write(entries, commits, ...)``: the group-partitions, where these are the destination's commits."""

    def ask(entries, commits, options=NOW, receipt=(), states=None):
        def read(_connection, names):
            return {
                name: GroupReading(
                    name,
                    True,
                    (states or {}).get(name, "Empty"),
                    "classic",
                    "consumer",
                    {at: CommittedOffset(offset) for (group, at), offset in commits.items() if group == name},
                )
                for name in names
            }

        monkeypatch.setattr(pending.groups, "read_groups", read)
        plan = Plan("S", "D", "", tuple(entries))
        found = pending.entries_to_commit(
            plan, Receipt("D", tuple(receipt)), CLOUD, pending.planned_groups(plan, CLOUD), options
        )
        return [each.key for each in found]

    return ask


def test_what_stands_right_or_has_consumed_since_is_not_written(would_write):
    entries = [entry("billing", P0), entry("billing", P1), entry("shipping", P0)]
    commits = {("billing", P0): 50, ("shipping", P0): 70}
    migrated = [ReceiptEntry("shipping", P0, None, AT_50, AT_50)]
    assert would_write(entries, commits, receipt=migrated) == [("billing", P1)]
    assert would_write(entries, commits) == [("billing", P1), ("shipping", P0)]


def test_what_an_option_keeps_is_not_written(would_write):
    """Each way of a policy: test_conflicts.py."""
    planned = [dataclasses.replace(entry("billing", at), expected=CommittedOffset(90)) for at in (P0, P1)]
    keep = dataclasses.replace(NOW, on_rewind="keep")
    found = {("billing", P0): 90, ("billing", P1): 91}  # the second one has changed since the plan was made
    assert would_write(planned, found, keep) == [("billing", P1)]


def test_groups_that_are_left_out_are_not_written(would_write):
    entries = [entry("billing", P0), entry("billing", P1, offset=None), entry("shipping", P0)]
    assert would_write(entries, {}) == [("billing", P0), ("shipping", P0)]
    skip = dataclasses.replace(NOW, on_blocked="skip_group")
    assert would_write(entries, {}, skip) == [("shipping", P0)]
    busy = {"shipping": "Stable"}
    assert would_write(entries, {}, states=busy) == [("billing", P0), ("shipping", P0)]
    skip = dataclasses.replace(NOW, on_active_group="skip_group")
    assert would_write(entries, {}, skip, states=busy) == [("billing", P0)]


def test_partitions_that_were_merged_belong_together(would_write):
    source = tuple(SourcePosition("billing", TopicPartition(name, 0), 5) for name in ("eu", "us"))
    entries = [entry("billing", P0, source=source), entry("billing", P1, source=source)]
    assert would_write(entries, {("billing", P0): 50}) == [("billing", P0), ("billing", P1)]
    assert would_write(entries, {("billing", P0): 50, ("billing", P1): 50}) == []


def test_an_objection_blocks_an_entry_that_would_be_written_and_no_other():
    planned, blocked = entry("billing", P0), entry("billing", P1, offset=None)
    first, second = conflicts.objected([planned, blocked], {planned.key: "skips 5", blocked.key: "skips 6"})
    assert (first.verdict, first.reason, first.detail) == (Verdict.BLOCKED, Reason.VERIFICATION_FAILED, "skips 5")
    assert first.target is None and second == blocked
    with pytest.raises(Refused, match=r"first billing orders-0 \(verification_failed: skips 5\)"):
        conflicts.without_blocked([first], "fail", "cloud")
    left, _blocked, lines = conflicts.without_blocked([first], "skip_partition", "cloud")
    assert (left, lines) == ([], ["billing orders-0: blocked, verification_failed (skips 5): left out"])
