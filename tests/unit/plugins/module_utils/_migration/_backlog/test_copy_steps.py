"""What stands between a copy and its comparison, or its rebuilding, is told as it is."""

import contextlib
import dataclasses
from unittest import mock

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog import (
    copy_differences,
    copy_steps,
    entries,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog.entries import (
    CopiedTopics,
    copy_entries,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog.planning import CopyOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import Draft
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import (
    Backlog,
    BacklogRange,
    BacklogTopic,
    Done,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import Progress
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Receipt, ReceiptEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.spark import SparkOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._records.claiming import Lost
from tests.support.memory_brokers import DESTINATION, SOURCE

HERE, THERE = TopicPartition("orders", 0), TopicPartition("new", 0)
COPIED = Backlog(
    "streamshift-copy-1",
    "a",
    "b",
    "c",
    (),
    (BacklogRange(HERE, 100, 200, THERE, 0, (100,), Done(100, 900, 101, 0, 0, {100: 0})),),
)


@pytest.fixture
def compared(monkeypatch):
    """Compares the copy while the destination's log looks like this, one look after the other; -> up to where."""

    def compare(*looks, log_start=100, differences=(), copied=COPIED, planned=(), receipt=None):
        coming, waits, ends = list(looks), [], []

        def bounds(connection, partitions):
            if connection is SOURCE:
                return {HERE: Bounds(log_start, 200, 200)}
            return {THERE: coming.pop(0) if len(coming) > 1 else coming[0]}

        def compared_ranges(_session, _source, _destination, wanted):
            ends.extend(each.end for each in wanted)
            compare.wanted = [each.range for each in wanted]
            return list(differences)

        monkeypatch.setattr(copy_differences.positions, "partition_bounds", bounds)
        monkeypatch.setattr(copy_differences.preconditions, "check_topics", lambda *_: None)
        monkeypatch.setattr(copy_differences, "compare", compared_ranges)
        monkeypatch.setattr(copy_differences, "open_session", lambda _options: contextlib.nullcontext())
        clock = iter(range(0, 10_000, 10))
        monkeypatch.setattr(copy_differences.time, "monotonic", lambda: next(clock))
        monkeypatch.setattr(copy_differences.time, "sleep", waits.append)
        found = copy_differences.copy_differences(
            copied, planned, receipt, SOURCE, DESTINATION, SparkOptions(), lambda _text: None
        )
        return found if differences else (ends[:1], len(waits))

    compare.wanted = []
    return compare


def test_a_transaction_that_hides_copied_records_is_waited_for(compared):
    assert compared(Bounds(0, 60, 130), Bounds(0, 130, 130)) == ([130], 1)


def test_one_that_stays_open_is_not_called_a_missing_record(compared):
    with pytest.raises(Refused, match="partition 0: copied records cannot be read.*offset 60.*kafka-transactions"):
        compared(Bounds(0, 60, 130))


@pytest.mark.parametrize("log", [Bounds(0, 101, 130), Bounds(0, 50, 50)], ids=["open after the copy", "cut off"])
def test_nothing_else_is_waited_for(compared, log):
    assert compared(log) == ([log.end], 0)


def test_nobody_is_to_delete_what_only_the_destination_has(compared):
    log = Bounds(0, 130, 130)
    assert compared(log, differences=["a difference"]) == ["a difference"]
    difference, warning = compared(log, log_start=101, differences=["a difference"])
    assert difference == "a difference" and "Neither delete nor empty these topics" in warning
    assert warning.endswith("new-0 (the log of orders-0 starts at 101 now, and the copy at 100)")


@pytest.mark.parametrize(
    "log_start, start, begin", [(0, 100, 0), (1, 150, 40), (40, 150, 40), (41, 180, 70), (71, None, None)]
)
def test_what_retention_has_taken_of_a_finished_copy_is_not_compared(monkeypatch, compared, log_start, start, begin):
    """Groups were past it. From the next boundary on, everything is compared: it is where a group may still go on."""
    done = Done(90, 900, 90, 0, 0, {100: 0, 150: 40, 180: 70})
    only = dataclasses.replace(COPIED.ranges[0], boundaries=(100, 150, 180), done=done)
    standing = CopiedTopics(set(), set(), {}, [])
    monkeypatch.setattr(copy_differences, "standing_of_groups", lambda *_: standing)
    compared(Bounds(log_start, 90, 90), copied=dataclasses.replace(COPIED, ranges=(only,)))
    assert [(each.start, each.begin) for each in compared.wanted] == ([] if start is None else [(start, begin)])
    assert all((each.done is None) == (log_start > 0) for each in compared.wanted)
    standing.needed[THERE] = 0
    with (
        pytest.raises(Refused, match="new, partition 0: the log begins at 1, and")
        if log_start
        else contextlib.nullcontext()
    ):
        compared(Bounds(min(1, log_start), 90, 90), copied=dataclasses.replace(COPIED, ranges=(only,)))


@pytest.mark.parametrize("has_consumed", [True, False])
def test_what_other_groups_have_consumed_may_be_gone_when_one_is_rolled_back(monkeypatch, compared, has_consumed):
    """`late` was rolled back, and goes on at 40. Retention has deleted what is before 20, which only `early` has consumed."""
    done = Done(90, 900, 90, 0, 0, {100: 0, 150: 40})
    only = dataclasses.replace(COPIED.ranges[0], boundaries=(100, 150), done=done)
    copied = dataclasses.replace(COPIED, topics=(BacklogTopic("new", "orders"),), ranges=(only,))
    drafts = [Draft(name, THERE, name, HERE, CommittedOffset(at)) for name, at in (("early", 100), ("late", 150))]
    planned = copy_entries(copied, drafts, "ignore")
    offsets = {"early": {THERE: CommittedOffset(90)} if has_consumed else {}, "late": {}}
    readings = {name: GroupReading(name, True, "Empty", "", "consumer", its) for name, its in offsets.items()}
    monkeypatch.setattr(entries.groups, "read_groups", lambda *_: readings)
    written = {"late": None, "early": CommittedOffset(0) if has_consumed else None}
    receipt = Receipt("b", tuple(ReceiptEntry(name, THERE, None, each, each) for name, each in written.items()))
    with contextlib.nullcontext() if has_consumed else pytest.raises(Refused, match="the log begins at 20"):
        compared(Bounds(20, 90, 90), copied=copied, planned=planned, receipt=receipt)
        assert [(each.start, each.begin) for each in compared.wanted] == [(150, 40)]


@pytest.fixture
def finish(monkeypatch):
    """Ends a copy whose source ends here by now, and that of a partition that was added; -> what was saved, and the notes."""

    def finish(end, added=None, **options):
        saved = []
        running = dataclasses.replace(COPIED, ranges=(dataclasses.replace(COPIED.ranges[0], done=None),))
        progress = Progress(200, 100, 900, 101, places={100: 0}, end=200)
        monkeypatch.setattr(copy_steps.preconditions, "check_topics", lambda *_: None)
        monkeypatch.setattr(copy_steps.copy_state, "read_progress", lambda *_, **_how: {THERE: progress})

        def bounds(cluster, partitions):
            ends = {HERE: end, HERE._replace(partition=1): added}
            return {
                each: Bounds(0, ends[each], ends[each]) if cluster is SOURCE else Bounds(0, 130, 130)
                for each in partitions
            }

        monkeypatch.setattr(copy_steps.positions, "partition_bounds", bounds)
        counts = {"orders": 1 if added is None else 2}
        monkeypatch.setattr(copy_steps.topics, "partition_counts", lambda *_: counts)
        run = copy_steps.CopyRun(SOURCE, DESTINATION, CopyOptions(**options), saved.append, lambda _: None)
        try:
            done, notes = run.finished(running)
        finally:
            assert [each.is_done for each in saved] == [True] * (
                (end == 200 and not added) or options.get("live", False)
            )
        return done, [note.text for note in notes]

    return finish


def test_what_a_forgotten_producer_writes_while_it_is_copied_is_not_left_without_a_word(finish):
    assert finish(200) == (COPIED, [])
    with pytest.raises(Refused, match="orders-0 has grown by 120 offsets.*Stop the producers. Then set live"):
        finish(320)
    done, (note,) = finish(320, live=True)
    assert done == COPIED and "orders-0 has grown by 120 offsets" in note
    assert finish(200, added=0) == (COPIED, [])
    with pytest.raises(Refused, match="orders-1 has grown by 3 offsets.* all of one that is not there"):
        finish(200, added=3)


@pytest.mark.parametrize(
    "at_source, refused",
    [
        ({"orders": "first"}, None),
        ({"orders": None}, None),
        ({}, "topic orders: the topic was deleted since .*Keep the topic new"),
        ({"orders": "another"}, "topic orders: the topic was deleted and created again since .*Keep the topic new"),
    ],
)
def test_what_was_copied_of_a_topic_that_the_source_has_lost_is_to_be_kept(monkeypatch, at_source, refused):
    def ids(cluster, _names):
        return at_source if cluster is SOURCE else {"new": "second"}

    monkeypatch.setattr(copy_steps.preconditions.topics, "topic_ids", ids)
    topic = BacklogTopic("new", "orders", topic_id="second", source_topic_id="first")
    ranges = (dataclasses.replace(COPIED.ranges[0], done=None),)
    running = dataclasses.replace(COPIED, topics=(topic,), ranges=ranges)
    with pytest.raises(Refused, match=refused) if refused else contextlib.nullcontext():
        copy_steps.preconditions.check_topics(running, SOURCE, DESTINATION)


@pytest.fixture
def claim(monkeypatch):
    """Claims a copy that finds its progress gone at these ends of the log, one look after the other."""

    def claim(*ends):
        looks = iter([Lost({THERE: end}) for end in ends] + [COPIED])
        monkeypatch.setattr(copy_steps.takeover, "take_over", lambda *_, **_options: next(looks))
        monkeypatch.setattr(copy_steps.takeover, "check_lost", lambda *asked: claim.lost.append(asked[3]))
        monkeypatch.setattr(copy_steps, "rebuild", lambda *asked: claim.rebuilt.append(asked[3]))
        run = copy_steps.CopyRun(SOURCE, DESTINATION, CopyOptions(), lambda _: None, lambda _: None)
        return run.claim(mock.Mock(), COPIED, ())

    claim.lost, claim.rebuilt = [], []
    return claim


def test_progress_that_is_gone_is_rebuilt_before_the_copy_is_claimed(claim):
    assert claim() == COPIED and claim.rebuilt == []
    assert claim(130) == COPIED
    assert (claim.lost, claim.rebuilt) == ([{THERE: 130}], [[(COPIED.ranges[0], 130)]])


def test_a_log_that_grows_while_its_progress_is_rebuilt_is_named(claim):
    with pytest.raises(Refused, match="topic new, partition 0: the log has grown to 140 while .* run again"):
        claim(130, 140)


def test_progress_that_goes_while_that_of_others_is_rebuilt_is_named():
    """Nobody writes there, so nobody is to be stopped."""
    error = copy_steps.takeover.changed_since_rebuilt(DESTINATION, {THERE: 140}, compared=[HERE])
    assert "topic new, partition 0: the progress of the copy has gone, too, while what was copied" in str(error)
    assert "Run again: " in str(error) and "grown" not in str(error)
