# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lease is that of the process of ansible-playbook, the parent of the one in which an action runs."""

from __future__ import annotations

import os
import socket
import types

from ansible.plugins.action import ActionBase

from ansible_collections.streamshift.kafka.plugins.action.kafka_migration_lease import ActionModule
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import processes


def test_the_module_is_told_whose_process_it_is(monkeypatch):
    given = {}
    monkeypatch.setattr(ActionBase, "run", lambda *_arguments: {})
    monkeypatch.setattr(ActionModule, "_execute_module", lambda _self, **arguments: given.update(arguments) or given)
    action = ActionModule.__new__(ActionModule)
    action._task = types.SimpleNamespace(args={"directory": "/srv/kafka", "holder": {"process": 1}})
    assert action.run(task_vars={"inventory_hostname": "cloud"}) is given
    holder = given["module_args"].pop("holder")
    assert given == {"module_args": {"directory": "/srv/kafka"}, "task_vars": {"inventory_hostname": "cloud"}}
    assert (holder["host"], holder["process"]) == (socket.gethostname(), os.getppid())
    assert not processes.has_ended(holder["process"], holder["ticks"])
