# SPDX-License-Identifier: GPL-3.0-or-later

"""A run that is under way is recognized, and one that is dead is not taken for it."""

from __future__ import annotations

import os
import socket
import subprocess
import time

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog import takeover
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.processes import started
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import Backlog, BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import (
    Progress,
    Run,
    host_name,
    progress_metadata,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Locked
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

NOWHERE = connection_from({"bootstrap_servers": "127.0.0.1:1"}, "destination cluster")
WHERE = TopicPartition("there", 0)
BACKLOG = Backlog("streamshift-copy-1", "a", "b", "c", (), (BacklogRange(TopicPartition("here", 0), 0, 9, WHERE, 0),))
HERE = host_name(socket.gethostname())


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
    def ask(run, *positions):
        texts = [progress_metadata(Progress(position, run=run, end=9), (), 0) for position in positions]
        readings = [
            {name: GroupReading(name, True, "Empty", "classic", "", {WHERE: CommittedOffset(position, text)})}
            for name, position, text in zip(["streamshift-copy-1-progress-0"] * 2, positions, texts, strict=False)
        ]
        monkeypatch.setattr(takeover.groups, "read_groups", lambda *_args, **_keywords: readings.pop(0))
        slept = []
        monkeypatch.setattr(takeover.time, "sleep", slept.append)
        takeover.check_idle(BACKLOG, NOWHERE, 3.0)
        return slept

    return ask


def test_on_this_machine_by_its_process(check):
    parent = os.getppid()
    with pytest.raises(Locked, match=f"a run of this copy is under way: process {parent} on host {HERE}"):
        check(Run("r", HERE, parent, int(time.time())), 5)


def test_this_process_does_not_wait_for_itself(check):
    """It has tried to give the copy up before, and claimed it."""
    check(Run("r", HERE, os.getpid(), int(time.time())), 5, 5)
    assert check(Run("r", HERE, 2**22 + 1, int(time.time())), 5, 5) == [3.0]


def test_a_process_that_cannot_be_seen_from_here_is_known_by_what_it_commits(check):
    """As in another container of this name, without /proc, or of another user where that is hidden."""
    with pytest.raises(Locked, match=f"a run of this copy is under way: process {2**22 + 1}"):
        check(Run("r", HERE, 2**22 + 1, int(time.time())), 5, 6)


def test_another_process_with_its_number_is_not_taken_for_it(check):
    assert check(Run("r", HERE, os.getpid(), int(started(os.getpid())) - 60), 5, 5) == [3.0]


def test_on_another_machine_by_what_it_commits(check):
    run = Run("r", "elsewhere", os.getpid(), int(time.time()))
    with pytest.raises(Locked, match=f"process {os.getpid()} on host elsewhere"):
        check(run, 5, 6)
    assert check(run, 5, 5) == [3.0]
