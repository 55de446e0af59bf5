# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs that claim one copy at the same moment: exactly one of them goes on."""

from __future__ import annotations

import collections
import threading
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import (
    Progress,
    Run,
    progress_from_commits,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Locked
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records import claiming
from ansible_collections.streamshift.kafka.plugins.module_utils._records.transactions import Transactions
from demo.clients import committed, create_topic

PARTITIONS = 4
STARTED = 1_700_000_000


@pytest.mark.parametrize("started", [(STARTED, STARTED + 1), (STARTED + 1, STARTED), (STARTED, STARTED)])
def test_of_two_that_fence_each_other_one_goes_on(destination, topic, started):
    """Each takes over half of the transactional ids after the other one has."""
    create_topic(destination, topic, PARTITIONS)
    there = [connection_from(destination.plaintext, "destination cluster") for _unused in started]
    ranges = [
        BacklogRange(TopicPartition("orders", at), 0, 10, TopicPartition(topic, at), 0) for at in range(PARTITIONS)
    ]
    runs = [Run(f"run-{number}", f"host-{number}", 7, its) for number, its in enumerate(started)]
    name = f"streamshift-copy-{topic}"
    first_ones: dict[str, threading.Event] = collections.defaultdict(threading.Event)
    turned, opened_all = set(), threading.Barrier(len(runs))

    def open_in_turn(connection, id_, keepers, settings):
        number = 0 if connection is there[0] else 1
        is_first = int(id_.rpartition("-")[2]) % 2 == number
        if not is_first and (number, id_) not in turned:
            assert first_ones[id_].wait(30)
        turned.add((number, id_))
        opened = Transactions(connection, id_, keepers, settings)
        first_ones[id_].set()
        return opened

    def claimed(number):
        def decide(kept):
            if not any(kept.values()):
                opened_all.wait(30)
            return {where: progress or Progress(0) for where, progress in kept.items()}

        try:
            return claiming.claim(there[number], name, [f"{name}-progress-0"], ranges, runs[number], decide)
        except Locked as exc:
            return str(exc)

    with mock.patch.object(claiming, "Transactions", open_in_turn), ThreadPoolExecutor(len(runs)) as pool:
        said = list(pool.map(claimed, range(len(runs))))
    winner = max(range(2), key=lambda number: (started[number], number))
    assert isinstance(said[winner], dict), said
    assert "another run copies the same records" in said[1 - winner] and f"host-{winner}" in said[1 - winner]
    commits = committed(destination, f"{name}-progress-0").values()
    assert {progress_from_commits(0, [CommittedOffset(*each)]).run for each in commits} == {runs[winner]}
