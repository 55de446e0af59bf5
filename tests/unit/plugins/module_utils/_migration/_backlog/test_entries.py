"""What a backlog's copy means for every group, and disks that are too small."""

import contextlib
import dataclasses

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import positions, storage
from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._control.storage import TopicLayout
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog import entries, preconditions
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog.entries import (
    copy_entries,
    summaries,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog.unconsumed import open_ranges
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import Draft
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import (
    Backlog,
    BacklogRange,
    BacklogTopic,
    Done,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.new_topics import NewTopic
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Receipt, ReceiptEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from tests.support.memory_brokers import SOURCE

HERE, THERE = TopicPartition("orders", 0), TopicPartition("new", 0)


def group(name: str, offset: int | None) -> Draft:
    return Draft(name, THERE, name, HERE, None if offset is None else CommittedOffset(offset, "its metadata"))


def backlog(done: Done | None, start: int = 20) -> Backlog:
    ranges = (BacklogRange(HERE, start, 60, THERE, 100, (start, 30), done),)
    return Backlog("copy", "a", "b", "c", (), ranges)


BOUNDS = {HERE: Bounds(0, 80, 80)}  # at the source
DONE = backlog(Done(40, 900, 140, 0, 0, {20: 100, 30: 110}))


@pytest.mark.parametrize("policy, found", [("ignore", None), ("start", 100), ("end", 140)])
def test_a_group_without_a_commit_stands_by_policy(policy, found):
    (entry,) = copy_entries(DONE, [group("billing", None)], policy)
    assert entry.offset == found
    assert entry.verdict == ("uncommitted" if found is None else "requested")


@pytest.mark.parametrize("offset, place", [(5, 100), (20, 100), (30, 110), (60, 140)])
def test_a_group_stands_where_its_first_record_was_copied_to(offset, place):
    (entry,) = copy_entries(DONE, [group("billing", offset)], "ignore")
    assert (entry.offset, entry.verdict, entry.repeats, entry.metadata) == (place, "exact", 0, "its metadata")
    assert entry.reason == ("expired" if offset < 20 else None)


@pytest.mark.parametrize("offset, lost", [(5, 15 + 8), (20, 8), (30, 6), (55, 0), (60, 0)])
def test_what_expires_during_the_copy_is_lost_to_each_group_that_may_have_needed_it(offset, lost):
    """Of what follows offset 30, 24 of 30 records were copied, and all 5 of what follows offset 55."""
    places = {20: 100, 30: 108, 55: 127}
    (entry,) = copy_entries(backlog(Done(32, 900, 132, 0, 8, places)), [group("billing", offset)], "ignore")
    assert (entry.lost, entry.lost_bound) == (lost, "at most" if lost else "")
    assert (entry.reason == "expired", "during the copy" in entry.detail) == (lost > 0, lost > 0)


def test_who_sets_the_start_and_what_is_lost():
    found = summaries(DONE, [group("early", 5), group("first", 20), group("late", 30)], {HERE: 7}, BOUNDS, "ignore")
    assert [(each.groups, each.lost, each.bytes, each.reason) for each in found] == [
        (("early", "first"), 15, 7, "expired")
    ]


@pytest.mark.parametrize("log_start, left, reason", [(10, 50, "uncommitted"), (60, 0, "nothing_to_copy")])
def test_what_nobody_has_committed_is_left_alone(log_start, left, reason):
    (found,) = summaries(backlog(None, 60), [group("billing", None)], {}, {HERE: Bounds(log_start, 80, 80)}, "ignore")
    assert (found.groups, found.left, found.reason) == ((), left, reason)


@pytest.mark.parametrize(
    "offset, policy, start, boundaries",
    [
        (30, "ignore", 30, (30,)),
        (30, "start", 10, (10, 30)),
        (30, "end", 30, (30,)),
        (3, "ignore", 10, (10,)),  # what has expired is not in the range
    ],
)
def test_a_range_begins_with_the_first_group(offset, policy, start, boundaries):
    bounds = {HERE: Bounds(10, 60, 60)}
    (found,) = open_ranges([group("billing", offset), group("new", None)], bounds, SOURCE, policy)
    assert (found.start, found.end, found.boundaries) == (start, 60, boundaries)


@pytest.mark.parametrize("others, start, boundaries", [((), 60, ()), ((20, 30), 20, (20, 30))])
def test_a_group_that_has_consumed_some_of_an_open_transaction_goes_on_after_the_copy(others, start, boundaries):
    groups, bounds = [group("flink", 75), *(group(f"at {at}", at) for at in others)], {HERE: Bounds(10, 60, 80)}
    (found,) = open_ranges(groups, bounds, SOURCE, "ignore")
    assert (found.start, found.end, found.boundaries) == (start, 60, boundaries)
    copied = dataclasses.replace(found, begin=100, done=Done(40, 9, 140 if others else None, 0, 0, {20: 100, 30: 110}))
    known = dataclasses.replace(DONE, ranges=(copied,))
    flink = next(entry for entry in copy_entries(known, groups, "ignore") if entry.group == "flink")
    assert (flink.offset, flink.verdict, flink.lost) == (140 if others else 100, "exact", 0)
    (summary,) = summaries(known, groups, {}, bounds, "ignore")
    assert (summary.lost, summary.left) == (0, 0)


def test_an_offset_after_the_end_of_the_log_is_refused():
    with pytest.raises(
        Refused, match="group flink.*: offset 81 is committed, and the log ends at 80: the topic was recreated"
    ):
        open_ranges([group("flink", 81)], {HERE: Bounds(10, 60, 80)}, SOURCE, "ignore")


def test_a_log_that_was_cut_off_before_a_committed_offset_is_not_copied_from_there(monkeypatch):
    """What was written between 30 and 50 since then, no group has read."""
    monkeypatch.setattr(positions, "epoch_ends", lambda _connection, asked: dict.fromkeys(asked, 30))
    read = group("billing", 50)._replace(committed=CommittedOffset(50, "", 5))
    with pytest.raises(Refused, match="cut the log off at 30, .*reset the group at the source: to offset 30 after"):
        open_ranges([read], {HERE: Bounds(10, 60, 60)}, SOURCE, "ignore")


ENTRIES = copy_entries(DONE, [group("billing", 20)], "ignore")  # planned at 100; what was copied ends at 140


COPIED = dataclasses.replace(DONE, topics=(BacklogTopic("new", "orders"),))


@pytest.fixture
def standing(monkeypatch):
    """What becomes known of the group that stands at this offset; written: what the receipt says, None for no receipt."""

    def standing(committed, written, joined=True, known=COPIED):
        offsets = {} if committed is None else {THERE: CommittedOffset(committed, "its metadata")}
        reading = GroupReading("billing", True, "Empty", "classic", "consumer" if joined else "", offsets)
        monkeypatch.setattr(entries.groups, "read_groups", lambda *_args: {"billing": reading})
        target = ENTRIES[0].target
        lines = {
            "set": [ReceiptEntry("billing", THERE, None, target, target)],
            "rolled back": [ReceiptEntry("billing", THERE, None, None, None)],
            "another partition": [ReceiptEntry("billing", THERE._replace(partition=1), None, target, target)],
            "another group": [ReceiptEntry("shipping", THERE, None, target, target)],
        }
        receipt = written and Receipt("b", tuple(lines[written]))
        found = entries.standing_of_groups(known, ENTRIES, SOURCE, receipt)
        return found, entries.are_set(COPIED, ENTRIES, SOURCE, receipt)

    return standing


@pytest.mark.parametrize(
    "committed, written, joined, said, needed, needed_once_restored",
    [
        (140, "set", True, "past set", None, None),
        (41_877, "set", True, "past set", None, None),  # producers have written there since
        (139, "set", True, "set", 139, None),
        (120, "set", True, "set", 120, None),
        (100, "set", True, "set", 100, None),
        (99, "set", True, "ahead", 100, 100),
        (None, "set", True, "ahead unsure", None, None),  # expired: the commit step says so, and on_rewind decides
        # A script has once committed this on an empty topic, and the group is still to be set.
        (41_877, None, True, "unsure", 100, None),
        (120, None, True, "", 120, None),
        (100, None, True, "set", 100, None),
        (None, None, True, "ahead", 100, 100),
        (140, "another partition", True, "past set", None, None),  # the group had its offset on this one before
        (139, "another partition", True, "set", 139, None),
        (41_877, "another group", False, "ahead", 100, 100),
        (41_877, "another group", True, "unsure", 100, None),  # it had its offset before, and has consumed, perhaps
        (41_877, "rolled back", True, "ahead", 100, 100),
        (None, "rolled back", True, "ahead", 100, 100),
        (41_877, "set", False, "set unsure", 100, None),
    ],
)
def test_who_has_consumed_what_was_copied(standing, committed, written, joined, said, needed, needed_once_restored):
    """needed_once_restored: when retention may take it, because every group was past it, or because the user wanted it."""
    found, are_set = standing(committed, written, joined)
    told = {"past": found.past == {"new"}, "ahead": found.ahead == {"new"}, "unsure": found.unsure == ENTRIES}
    assert {word for word, is_so in {**told, "set": are_set}.items() if is_so} == set(said.split())
    assert found.needed == ({} if needed is None else {THERE: needed})
    notes = [note.text for note in entries.unsure_notes(found.unsure)]
    assert ["stay suspended" in text and "billing (new-0)" in text for text in notes] == [True] * len(found.unsure)
    restored = dataclasses.replace(COPIED, topics=(BacklogTopic("new", "orders", restored=True),))
    found, _are_set = standing(committed, written, joined, restored)
    assert found.needed == ({} if needed_once_restored is None else {THERE: needed_once_restored})
    # An expired commit does not suspend settings again.
    assert (found.past == {"new"}, found.ahead == {"new"}) == (told["past"], needed_once_restored is not None)


def test_a_group_that_is_planned_at_the_end_needs_nothing_of_it(standing):
    at_end = copy_entries(COPIED, [group("billing", 60)], "ignore")
    standing(None, None)
    assert entries.standing_of_groups(COPIED, at_end, SOURCE, None).past == {"new"}


@pytest.mark.parametrize("created", [None, NewTopic(1, 2, {})])
@pytest.mark.parametrize("free, refused", [({1: 5 << 20, 2: 4 << 20}, False), ({1: 7 << 20}, True), (None, False)])
def test_disks_that_are_too_small_for_all_replicas_are_told(monkeypatch, free, refused, created):
    monkeypatch.setattr(storage, "usable_bytes", lambda _connection: free)
    monkeypatch.setattr(storage, "log_sizes", lambda _connection, _partitions: {HERE: 8 << 20})
    monkeypatch.setattr(
        storage, "topic_layouts", lambda _connection, names: {each: TopicLayout(1, 2) for each in names}
    )
    topic = BacklogTopic("new", "orders", created)
    planned = dataclasses.replace(backlog(None), topics=(topic,))  # half of the log
    with pytest.raises(BrokerError, match="about 8 MB .*, and 7 MB are free") if refused else contextlib.nullcontext():
        preconditions.check_room(planned, SOURCE, preconditions.sizes(planned, SOURCE, BOUNDS))
    for codec, refuses in (("zstd", False), ("none", refused)):
        compressing = dataclasses.replace(SOURCE, client_config={"compression.type": codec})
        with pytest.raises(BrokerError) if refuses else contextlib.nullcontext():
            preconditions.check_room(planned, compressing, preconditions.sizes(planned, SOURCE, BOUNDS))


@pytest.mark.parametrize(
    "needed, log_start, refused",
    [
        (None, 101, "begins at 101, and records were copied from 100 on: copied"),
        ({THERE: 100}, 101, "begins at 101, and records were copied from 100 on: copied"),
        ({THERE: 110}, 111, "copied from 100 on, of which a group needs those from 110 on: copied"),
        ({THERE: 110}, 110, None),
        ({}, 140, None),
    ],
)
def test_copied_records_that_a_group_needs_must_be_there(monkeypatch, needed, log_start, refused):
    monkeypatch.setattr(positions, "partition_bounds", lambda *_: {THERE: Bounds(log_start, 140, 140)})
    with pytest.raises(Refused, match=refused) if refused else contextlib.nullcontext():
        preconditions.check_done(DONE, SOURCE, needed)
