"""What is asked of the brokers before a copy is claimed, and whether a run of it is under way or dead."""

import dataclasses
import os
import socket
import subprocess
import time

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog import preconditions, takeover
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.processes import started
from ansible_collections.streamshift.kafka.plugins.module_utils._model import copy_progress
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import Backlog, BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import (
    Progress,
    Run,
    all_groups,
    host_name,
    progress_commits,
    progress_metadata,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Locked, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnLostProgress
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from tests.support.memory_brokers import DESTINATION

MADE, THERE = (
    BacklogRange(TopicPartition(name, 0), 5, 9, TopicPartition(f"{name}-to", 0), 3) for name in ("made", "there")
)
BACKLOG = Backlog("streamshift-copy-1", "a", "b", "c", (), (MADE, THERE))
FRESH = dataclasses.replace(BACKLOG, claimed=False)
RUN = Run("mine", "here", 1, 1)
HERE = host_name(socket.gethostname())


@pytest.fixture
def take(monkeypatch):
    """Claims a copy of which this progress is kept; take.asked: the partitions whose bounds it has asked for."""

    def bounds(_connection, partitions):
        take.asked.extend(partitions)
        return dict.fromkeys(partitions, Bounds(0, 7, 7))

    def take(kept, backlog=FRESH, **options):
        def claim(_connection, _name, _groups, _ranges, _run, decide):
            return decide({MADE.destination: None, THERE.destination: None} | kept)

        known = {each.destination: kept.get(each.destination) for each in (MADE, THERE)}
        monkeypatch.setattr(takeover, "read_progress", lambda *_args, **_options: known)
        monkeypatch.setattr(takeover, "claim", claim)
        return takeover.take_over(backlog, DESTINATION, RUN, **options)

    monkeypatch.setattr(takeover.positions, "partition_bounds", bounds)
    monkeypatch.setattr(takeover.others, "check_copies", lambda *_args: None)
    monkeypatch.setattr(takeover.topics, "partition_counts", lambda _cluster, names: dict.fromkeys(names, 1))
    take.asked = []
    return take


def test_topics_that_were_just_made_are_empty_and_not_asked_about(take):
    """Brokers that are still making their logs answer NOT_LEADER_OR_FOLLOWER, for a minute where there are thousands."""
    taken = take({}, made={"made-to"}, append=True)
    assert take.asked == [THERE.destination]
    assert [each.begin for each in taken.ranges] == [3, 7]


def test_where_it_begins_is_saved_before_it_is_claimed_and_holds_when_it_claims_again(take, monkeypatch):
    saved = []

    def claim(_connection, _name, _groups, ranges, _run, decide):
        first = decide(dict.fromkeys([MADE.destination, THERE.destination]))
        assert [each.begin for each in saved[-1].ranges] == [7, 7]
        # Another run that began at the same moment has fenced it meanwhile, so that it has claimed one of them.
        return decide({MADE.destination: first.progress[MADE.destination], THERE.destination: None})

    take({}, append=True)
    monkeypatch.setattr(takeover, "claim", claim)
    taken = takeover.take_over(FRESH, DESTINATION, RUN, append=True, save=saved.append)
    assert saved == [taken] and [each.begin for each in taken.ranges] == [7, 7]


def test_others_are_and_what_has_grown_without_progress_is_lost(take):
    taken = take({}, BACKLOG)
    assert sorted(take.asked) == [MADE.destination, THERE.destination]
    assert taken.ends == {MADE.destination: 7, THERE.destination: 7}


def test_of_what_is_rebuilt_only_what_has_changed_since_is_still_lost(take):
    rebuilt = {MADE.destination: (7, Progress(9, next=7)), THERE.destination: (6, Progress(8, next=6))}
    assert take({}, BACKLOG, rebuilt=rebuilt).ends == {THERE.destination: 7}


@pytest.mark.parametrize("log", [Bounds(0, 3, 7), Bounds(0, 9, 9)], ids=["open from before the plan", "ended since"])
def test_what_others_write_before_any_run_claims_the_copy_is_no_progress_that_is_lost(take, monkeypatch, log):
    """A run was killed after it had planned: in an appended topic, a transaction was open, or somebody goes on writing."""
    monkeypatch.setattr(takeover.positions, "partition_bounds", lambda _cluster, asked: dict.fromkeys(asked, log))
    monkeypatch.setattr(
        takeover, "read_progress", lambda *_args, **_options: dict.fromkeys([MADE.destination, THERE.destination])
    )
    assert takeover.check_takeover(FRESH, DESTINATION, append=True) == {}
    taken = take({}, append=True)
    assert taken.claimed and [each.begin for each in taken.ranges] == [log.end, log.end]


@pytest.mark.parametrize("counts", [{"there-to": 1}, {"there-to": 1, "made-to": 0}], ids=["topic", "partition"])
def test_what_is_not_there_yet_is_empty_and_not_asked_about(take, monkeypatch, counts):
    """A run was killed before it could make the topic; or somebody else has made it, which is told later."""
    take({THERE.destination: Progress(9, next=7, end=9)})
    take.asked.clear()
    monkeypatch.setattr(takeover.topics, "partition_counts", lambda *_asked: counts)
    assert takeover.check_takeover(BACKLOG, DESTINATION, append=False) == {}
    assert take.asked == [THERE.destination]


def test_nothing_is_copied_after_what_came_to_an_empty_topic_since_it_was_planned(take):
    """Every group would skip that: their first record comes after it. Producers that were moved too early keep it."""
    with pytest.raises(
        Refused, match="there-to.*was empty when the copy was planned.*every group would skip"
    ) as refused:
        take({}, made={"made-to"})
    assert "keep these records if nobody else has them: give the copy up" in str(refused.value)
    assert "copy to another topic (topic_map). Only if nobody needs them, empty the topic" in str(refused.value)


def test_progress_is_held_against_the_log_also_of_a_topic_that_was_made_again(take):
    take({MADE.destination: Progress(9, next=7, end=9)}, made={"made-to", "there-to"})
    assert take.asked == [MADE.destination]


@pytest.mark.parametrize("log_start", [0, MADE.start])
def test_progress_can_be_rebuilt_while_the_source_has_all_that_is_copied(monkeypatch, log_start):
    monkeypatch.setattr(
        takeover.positions, "partition_bounds", lambda _source, asked: dict.fromkeys(asked, Bounds(log_start, 9, 9))
    )
    takeover.check_lost(BACKLOG, DESTINATION, DESTINATION, {MADE.destination: 7}, OnLostProgress.REBUILD)
    with pytest.raises(Refused, match="the progress of the copy is gone.*on_lost_progress to rebuild.*or begin anew"):
        takeover.check_lost(BACKLOG, DESTINATION, DESTINATION, {MADE.destination: 7}, OnLostProgress.FAIL)


@pytest.mark.parametrize("policy", OnLostProgress)
def test_who_cannot_compare_what_was_copied_is_told_to_keep_it(monkeypatch, policy):
    monkeypatch.setattr(
        takeover.positions,
        "partition_bounds",
        lambda _source, asked: dict.fromkeys(asked, Bounds(MADE.start + 1, 9, 9)),
    )
    with pytest.raises(Refused, match="cannot be rebuilt: the log starts at .*Keep what is in made-to") as refused:
        takeover.check_lost(BACKLOG, DESTINATION, DESTINATION, {MADE.destination: 7}, policy)
    assert "egin anew" not in str(refused.value)


def test_who_begins_anew_is_told_first_what_would_be_lost():
    assert copy_progress.begin_anew().startswith("begin anew, but only if the source still has every record")


def test_what_was_copied_of_a_log_that_was_truncated_is_to_be_kept():
    with pytest.raises(Refused, match="ends at 7, and the copy was planned up to 9.*Keep the topic made-to") as refused:
        preconditions.check_source_log(DESTINATION, MADE, Bounds(0, 7, 7))
    assert "remove_topics" not in str(refused.value)


MADE_NOW = ("made-to", "there-to")


class TestAnotherCopyAgainstIt:
    @pytest.fixture
    def refused(self, monkeypatch):
        """Claim everything, find another copy, and then have the progress name these runs -> the deleted groups."""

        def refused(*runs, backlog=FRESH, **options):
            progress = {MADE.destination: Progress(5, run=runs[0]), THERE.destination: Progress(5, run=runs[1])}
            names = all_groups(BACKLOG)
            held = dict(progress_commits(BACKLOG.ranges, progress, 1)[0])
            readings = {name: GroupReading(name, True, "Empty", "classic", "", held) for name in names}
            deleted, saved = [], []

            def others(*_args):
                raise Refused("another copy")

            monkeypatch.setattr(takeover.groups, "read_groups", lambda *_args, **_how: readings)
            monkeypatch.setattr(
                takeover.commits, "delete_groups", lambda _connection, names: deleted.extend(names) or {}
            )
            monkeypatch.setattr(takeover.others, "check_copies", others)
            with pytest.raises(Refused):
                takeover.take_over(backlog, DESTINATION, RUN, save=saved.append, **options)
            return deleted, [each.claimed for each in saved]

        return refused

    def test_it_takes_back_what_it_has_claimed(self, take, refused):
        take({}, append=True)
        assert refused(RUN, RUN, made=MADE_NOW) == (all_groups(BACKLOG), [True, False])

    def test_also_after_a_run_that_was_killed_just_before_it_claimed_it(self, take, refused):
        take({}, append=True)
        assert refused(RUN, RUN, backlog=BACKLOG, made=MADE_NOW) == (all_groups(BACKLOG), [False])

    def test_but_not_what_an_earlier_run_has_copied_and_this_one_has_rebuilt(self, take, refused):
        """Else the next run would begin after what is copied already, and copy it again."""
        take({}, append=True)
        rebuilt = {each.destination: (7, Progress(each.end, next=7)) for each in (MADE, THERE)}
        assert refused(RUN, RUN, backlog=BACKLOG, append=True, rebuilt=rebuilt) == ([], [])

    def test_but_not_what_another_run_of_it_has_claimed_since(self, take, refused):
        take({}, append=True)
        assert refused(RUN, RUN._replace(id="newer"), made=MADE_NOW) == ([], [True])


def test_when_a_process_started():
    began = time.time()
    process = subprocess.Popen(["sleep", "60"])
    try:
        assert abs(started(process.pid) - began) < 30  # the clock of a busy machine may be set meanwhile
    finally:
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert started(process.pid) is None  # a zombie has ended
        process.wait()
    assert started(process.pid) is None


@pytest.fixture
def check(monkeypatch):
    """Looks for a run that has committed these positions, one look after the other; -> how long it waits between them."""

    def ask(run, *positions):
        commits = [
            CommittedOffset(position, progress_metadata(Progress(position, run=run, end=9), ())[0])
            for position in positions
        ]
        (name,) = all_groups(BACKLOG)
        looks = iter([{name: GroupReading(name, True, "Empty", "", "", {MADE.destination: each})} for each in commits])
        monkeypatch.setattr(takeover.groups, "read_groups", lambda *_args, **_keywords: next(looks))
        slept = []
        monkeypatch.setattr(takeover.time, "sleep", slept.append)
        takeover.check_idle(BACKLOG, DESTINATION, 3.0)
        return slept

    return ask


SELF, UNSEEN = os.getpid(), 2**22 + 1


@pytest.mark.parametrize(
    ("host", "process", "seconds_ago", "moves", "is_under_way"),
    [
        pytest.param(HERE, os.getppid(), 0, False, True, id="on this machine, by its process"),
        pytest.param(HERE, SELF, 0, False, False, id="this process, which has claimed it to give it up"),
        pytest.param(HERE, SELF, 10**9, False, False, id="another process with its number"),
        # As in another container of this name, without /proc, or of another user where that is hidden.
        pytest.param(HERE, UNSEEN, 0, True, True, id="a process that is not seen, by what it commits"),
        pytest.param(HERE, UNSEEN, 0, False, False, id="a process that has ended"),
        pytest.param("elsewhere", SELF, 0, True, True, id="on another machine, by what it commits"),
        pytest.param("elsewhere", SELF, 0, False, False, id="on another machine, and ended"),
    ],
)
def test_a_run_that_is_under_way(check, host, process, seconds_ago, moves, is_under_way):
    run = Run("r", host, process, int(time.time()) - seconds_ago)
    if is_under_way:
        with pytest.raises(Locked, match=f"a run of this copy is under way: process {process} on host {host}"):
            check(run, 5, 6 if moves else 5)
    else:
        assert check(run, 5, 5) == [3.0]
