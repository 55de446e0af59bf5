"""Topics that producers still write at the source are named, with who writes them, or stop a commit before it writes."""

import time
import types

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._control.producers import Writer
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import still_written
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing import write_watch
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing.write_watch import WriteWatch
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import ConnectionFailed, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.idle import NOT_LOOKED, EarlierLook
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan, PlanEntry, SourcePosition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnStillWritten
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Verdict

SOURCE = connection_from({"bootstrap_servers": ["127.0.0.1:1"]}, "source cluster")
NOON = 1_764_072_000_000  # 2025-11-25T12:00:00Z
PLACES = [TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("clicks", 0)]
ENTRIES = tuple(PlanEntry("billing", at, 5, Verdict.SAFE, (SourcePosition("billing", at, 5),)) for at in PLACES)
KEYS = [entry.key for entry in ENTRIES]


@pytest.fixture
def watch(monkeypatch):
    """``watch(policy, *readings)``: a watch of logs with these ends, a list for each reading."""

    def make(policy, *readings, source=SOURCE, idle_wait=0, earlier=NOT_LOOKED, own_prefix=""):
        left = list(readings)

        def bounds(_connection, partitions):
            if not partitions:
                return {}
            ends = left.pop(0)
            if isinstance(ends, Exception):
                raise ends
            known = dict(zip(PLACES, ends, strict=True))
            return {at: Bounds(0, known[at], known[at]) for at in partitions}

        monkeypatch.setattr(write_watch.positions, "partition_bounds", bounds)
        monkeypatch.setattr(
            still_written.producers,
            "last_writers",
            lambda _connection, partitions: {
                at: (Writer(7, NOON + at.partition), Writer(8, NOON - 1000, "shop"), Writer(9, NOON - 10**6))
                for at in partitions
                if at.topic == "orders"
            },
        )
        plan = Plan("S", "D", "digest", ENTRIES, own_prefix=own_prefix)
        return WriteWatch(source, plan, policy, idle_wait, earlier)

    return make


def before(watched, keys):
    watched.look(keys)
    return watched.before(keys)


def test_a_note_for_each_topic_that_has_grown(watch):
    watched = watch(OnStillWritten.NOTE, [5, 5, 5], [7, 6, 6], [7, 6, 6])
    notes = before(watched, KEYS)
    assert [note.kind for note in notes] == [NoteKind.STILL_WRITTEN] * 2
    assert notes[0].text == "Producers still write at the source: clicks: 1 record"
    assert notes[1].text == (
        "Producers still write at the source: orders: 3 records, last at 2025-11-25T12:00:00Z by producer id 7, shop"
    )
    assert (watched.seen["orders"].last, watched.seen["clicks"].last) == (NOON + 1, None)
    assert watched.after(KEYS) == []


def test_only_topics_of_what_is_written_count(watch):
    assert before(watch(OnStillWritten.NOTE, [5, 5, 5], [5, 5, 9]), KEYS[:2]) == []
    assert before(watch(OnStillWritten.NOTE, [5, 5, 5]), []) == []


def test_copies_of_the_destinations_own_topics_grow_by_its_own_producers(watch):
    """As where MirrorMaker 2 copies in both directions."""
    watched = watch(OnStillWritten.FAIL, [5, 5, 5], [5, 5, 9], [5, 5, 11], own_prefix="cli")
    assert (before(watched, KEYS), watched.after(KEYS), watched.seen) == ([], [], {})
    with pytest.raises(Refused, match="producers still write at the source: orders: 1 record"):
        before(watch(OnStillWritten.FAIL, [5, 5, 5], [6, 5, 9], own_prefix="cli"), KEYS)


@pytest.fixture
def slept_for(monkeypatch):
    """How long was waited, by a clock that stands still."""
    its = []
    monkeypatch.setattr(write_watch, "time", types.SimpleNamespace(monotonic=lambda: 0.0, sleep=its.append))
    return its


@pytest.mark.parametrize(("keys", "passed", "slept"), [(KEYS, 0, [5]), (KEYS, 3, [2]), (KEYS, 9, [0]), ([], 0, [])])
def test_idle_wait_is_between_the_first_two_readings_where_there_is_anything_to_read(
    watch, monkeypatch, keys, passed, slept
):
    now, slept_for = [0.0], []
    monkeypatch.setattr(write_watch, "time", types.SimpleNamespace(monotonic=lambda: now[0], sleep=slept_for.append))
    watched = watch(OnStillWritten.FAIL, [5, 5, 5], [5, 5, 5], idle_wait=5)
    now[0] += passed
    watched.look(keys)
    assert slept_for == slept


@pytest.mark.parametrize(("ago", "ends", "waits"), [(2, [5, 5, 5], 3), (70, [5, 5, 5], 5), (2, [5, 5], 5)])
def test_a_reading_of_the_same_run_that_has_all_partitions_is_the_first_one(
    watch, monkeypatch, slept_for, ago, ends, waits
):
    earlier = EarlierLook.of({}, dict(zip(PLACES, ends, strict=False)))
    monkeypatch.setattr(time, "time", lambda: earlier.at + ago)
    readings = [[5, 5, 6]] if waits == 3 else [[5, 5, 5], [5, 5, 6]]
    (note,) = before(watch(OnStillWritten.NOTE, *readings, idle_wait=5, earlier=earlier), KEYS)
    assert note.text.endswith("clicks: 1 record") and slept_for == [waits]


@pytest.mark.parametrize(("now", "waits"), [([5, 5, 5], 3), ([5, 5, 6], 5)])
def test_what_has_come_since_an_earlier_reading_refuses_nothing(watch, monkeypatch, slept_for, now, waits):
    """Its producers may have been stopped in between."""
    earlier = EarlierLook.of({}, dict.fromkeys(PLACES, 5))
    monkeypatch.setattr(time, "time", lambda: earlier.at + 2)
    assert before(watch(OnStillWritten.FAIL, now, now, idle_wait=5, earlier=earlier), KEYS) == []
    assert slept_for == [waits]


def test_what_is_left_out_after_the_look_is_no_matter(watch):
    watched = watch(OnStillWritten.FAIL, [5, 5, 5], [5, 5, 9])
    watched.look(KEYS)
    assert (watched.before(KEYS[:2]), watched.seen) == ([], {})


def test_fail_refuses_before_the_first_write_and_notes_afterwards(watch):
    with pytest.raises(Refused, match="Nothing was written") as refused:
        before(watch(OnStillWritten.FAIL, [5, 5, 5], [5, 5, 6]), KEYS)
    assert (refused.value.kind, refused.value.topic) == ("still_written", "clicks")
    watched = watch(OnStillWritten.FAIL, [5, 5, 5], [5, 5, 5], [5, 5, 6])
    assert before(watched, KEYS) == []
    (note,) = watched.after(KEYS)
    assert note.text == "Producers have written at the source while the groups were committed: clicks: 1 record"


def test_a_topic_that_grows_before_and_after_the_commit_is_noted_once(watch):
    watched = watch(OnStillWritten.NOTE, [5, 5, 5], [5, 5, 7], [5, 5, 8])
    (note,) = before(watched, KEYS)
    assert note.text == "Producers still write at the source: clicks: 2 records"
    assert (watched.after(KEYS), watched.seen["clicks"].records) == ([], 2)


def test_a_source_that_is_gone_after_the_commit_fails_nothing(watch):
    watched = watch(OnStillWritten.FAIL, [5, 5, 5], [5, 5, 5], ConnectionFailed("no broker answers"))
    before(watched, KEYS)
    (note,) = watched.after(KEYS)
    assert note.text.startswith("Nobody knows whether producers still write at the source")


@pytest.mark.parametrize(("source", "policy"), [(SOURCE, None), (None, OnStillWritten.FAIL)])
def test_nobody_looks_unless_that_is_wanted(watch, source, policy):
    watched = watch(policy, source=source)
    assert (before(watched, KEYS), watched.after(KEYS), watched.seen) == ([], [], {})
