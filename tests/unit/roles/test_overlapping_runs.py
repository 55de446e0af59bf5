# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two runs never overlap: a run whose directory another one holds fails, or leaves, and writes nothing there."""

from __future__ import annotations

import socket
import subprocess

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration import processes
from ansible_collections.streamshift.kafka.plugins.module_utils._model import lease
from tests.support.playbooks import Controller, done, failed

NOWHERE = {"bootstrap_servers": ["127.0.0.1:1"]}
POLICY = {"source_alias": "onprem", "target_alias": "cloud"}


@pytest.fixture
def controller(tmp_path):
    """Two clusters that do not answer: without the source, this role asks none before it holds its directory."""
    return Controller(tmp_path / "infrastructure", onprem=NOWHERE, cloud=NOWHERE)


@pytest.fixture
def other(controller):
    """The process of another run that holds the directory."""
    process = subprocess.Popen(["sleep", "600"])
    home = controller.directory / "kafka-syncs/onprem-to-cloud"
    home.mkdir(parents=True)
    its = processes.start_ticks(process.pid), processes.started(process.pid)
    held = lease.Lease(socket.gethostname(), processes.process_namespace(), process.pid, *its)
    (home / "lease.json").write_text(lease.to_json(held))
    yield process
    process.kill()
    process.wait()


def sync(controller, *words, **variables):
    its = {"groups": ["billing"], "replication_policy": POLICY, "source_lost": True, **variables}
    return controller.sync_mirror_maker_groups(*words, **its)


def test_a_run_whose_directory_is_held_fails_or_leaves(controller, other):
    files = controller.files()
    output = failed(sync(controller))
    assert (
        f"another run works in {controller.directory}/kafka-syncs/onprem-to-cloud now: process {other.pid} on "
        in output
    )
    assert "cannot connect" not in output
    left = done(sync(controller, on_locked="leave"))
    assert f"now: process {other.pid} on " in left.output and "This run leaves, and changes nothing." in left.output
    assert left.changed == 0
    policy = {"groups": ["billing"], "replication_policy": POLICY}
    output = failed(controller.play("rollback", prefix="mirror_maker_group_sync", **policy))
    assert f"now: process {other.pid} on " in output
    assert controller.files() == files
    # A dry run writes nothing there, and asks the clusters.
    assert "cannot connect" in failed(sync(controller, "--check"))
    assert controller.files() == files


def test_a_run_that_was_killed_is_followed_by_the_next_and_a_failed_one_releases_its_directory(controller, other):
    other.kill()
    other.wait()
    taken_over = "ended without releasing it"
    output = " ".join(failed(sync(controller)).split())  # Ansible breaks the lines of warnings
    assert taken_over in output and "cannot connect" in output
    assert "kafka-syncs/onprem-to-cloud/lease.json" not in controller.files()
    assert taken_over not in " ".join(failed(sync(controller)).split())
