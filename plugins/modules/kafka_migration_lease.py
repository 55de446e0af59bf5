#!/usr/bin/python
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_migration_lease
short_description: Hold the directory of a migration for a whole run
version_added: 0.1.0
description:
  - Writes C(lease.json) to the directory of a migration. Until the run releases the directory, or ends, the modules of
    another run write nothing there. Each of them fails with the process that holds the directory. Only
    M(streamshift.kafka.kafka_migration_report) still writes its report, because nothing depends on it.
  - A run is a process of C(ansible-playbook). If it was killed, the next run takes the directory over, on the same
    machine. A lease from another machine or container stays until somebody removes the file.
  - The roles of this collection do this themselves.
  - Contacts no cluster.
author:
  - The streamshift.kafka authors (@streamshift)
extends_documentation_fragment:
  - streamshift.kafka._attributes
options:
  directory:
    description:
      - Path of the directory. The module creates it with mode 0700 if it is missing and O(create=true).
    type: path
    required: true
  create:
    description:
      - Whether the module creates O(directory). With V(false), nothing is held if it is missing.
    type: bool
    default: true
  state:
    description:
      - V(held) takes the directory for this run. The tasks of the run need RV(environment) as their environment.
      - V(released) removes the lease of this run. The module does not fail if there is none.
    type: str
    choices: [held, released]
    default: held
  on_locked:
    description:
      - What happens if another run holds the directory.
      - V(fail) fails and names the other run.
      - V(leave) ends this run without a failure, and changes nothing. Use it if a timer starts the runs.
    type: str
    choices: [fail, leave]
    default: fail
  holder:
    description:
      - The process of C(ansible-playbook).
      - The collection's action plugin sets this option. Do not set it yourself.
    type: dict
    suboptions:
      host:
        description:
          - Name of the machine.
        type: str
        required: true
      namespace:
        description:
          - Namespace of process ids on this machine.
        type: str
      process:
        description:
          - Id of the process.
        type: int
        required: true
      ticks:
        description:
          - When the process has started, in clock ticks since the machine booted.
        type: int
      started:
        description:
          - When the process has started, as Unix time in seconds.
        type: float
attributes:
  action:
    details:
      - The action plugin says which process holds the directory.
      - In the tasks of the collection's roles, it lets messages name the variables of the role.
      - It adds C(seconds) to the result, how long the module took.
  check_mode:
    support: full
    details:
      - Check mode returns exactly what the real run returns, and writes nothing.
  diff_mode:
    support: none
  idempotent:
    support: full
    details:
      - Returns C(changed) only if it has created the directory.
"""

EXAMPLES = r"""
- name: Migrate by tasks of my own
  environment: "{{ lease.environment | default({}) }}"
  block:
    - name: Hold the directory
      streamshift.kafka.kafka_migration_lease:
        directory: "{{ inventory_dir }}/kafka-migrations/onprem-to-cloud"
      register: lease

    - name: Take a snapshot
      streamshift.kafka.kafka_group_offsets:
        cluster: "{{ hostvars.onprem.kafka_cluster }}"
        groups: [billing]
        snapshot: "{{ inventory_dir }}/kafka-migrations/onprem-to-cloud/snapshot.json"
  always:
    - name: Release the directory
      streamshift.kafka.kafka_migration_lease:
        directory: "{{ inventory_dir }}/kafka-migrations/onprem-to-cloud"
        state: released
"""

RETURN = r"""
directory:
  description: The directory.
  returned: success
  type: str
  sample: /srv/kafka/kafka-migrations/onprem-to-cloud
held:
  description: Whether this run holds the directory now.
  returned: success
  type: bool
  sample: true
environment:
  description: The environment by which the modules know that their task belongs to this run. Empty if the run does not hold
    the directory.
  returned: success
  type: dict
  sample: {"STREAMSHIFT_KAFKA_LEASE": "controller/pid:[4026531836]/4711/903114"}
reason:
  description: Why this run does not hold the directory, with the process of the other run; null if it does, or if it has
    released the directory.
  returned: success
  type: str
  sample: null
taken_over:
  description: The process whose lease this run has taken over because the process is gone; null if there was none.
  returned: success
  type: str
  sample: null
notes:
  description: What you should know of the lease, a line each. Each note is a warning, too.
  returned: success
  type: list
  elements: str
  sample:
    - >-
      The last run in /srv/kafka-migrations/onprem-to-cloud ended without releasing it:
      process 4711 on this machine. This run takes it over.
note_kinds:
  description: Kind of each of the RV(notes), in the same order. The page C(docs/troubleshooting.md) has an entry for each, with
    cause and remedy.
  returned: success
  type: list
  elements: str
  sample: [run_taken_over]
failure:
  description:
    - What has failed. C(msg) says the same in words, with the reason and the remedy.
    - The page C(docs/troubleshooting.md) has an entry for each C(kind). The other values are null unless the failure is about a
      single cluster, group, topic or partition.
  returned: failure
  type: dict
  sample: {kind: acl_missing, cluster: "source cluster broker1:9092", group: null, topic: null, partition: null}
"""

import os
import typing as t

from ..module_utils._model import lease as file
from ..module_utils._model.errors import InvalidInput, Locked
from ..module_utils._model.notes import Note, NoteKind
from ..module_utils._model.policies import OnLocked
from ..module_utils._module import files, options
from ..module_utils._module.frame import run
from ..module_utils._module.holder import process_clause
from ..module_utils._module.leases import VARIABLE
from ..module_utils._module.masking import Module
from ..module_utils._module.note_results import warned
from ..module_utils._module.releasing import release


def hold(module: Module) -> dict[str, t.Any]:
    params = module.params
    directory, mine = params["directory"], _lease(params)
    if params["state"] == "released":
        return _result(module, notes=release(directory, mine.run, check=module.check_mode))
    changed = params["create"] and files.make_directory(directory, check=module.check_mode)
    if not os.path.isdir(directory):  # in check mode, it may be one that would be made
        return _result(module, mine if params["create"] else None, changed=changed)
    try:
        gone = _take(module, mine)
    except Locked as exc:
        if params["on_locked"] == OnLocked.FAIL:
            raise
        return _result(module, reason=str(exc), changed=changed)
    taken_over = process_clause(gone.process, gone.host, gone.started) if gone is not None else None
    notes = []
    if taken_over is not None:
        text = f"The last run in {directory} ended without releasing it: {taken_over}. This run takes it over."
        notes.append(Note(NoteKind.RUN_TAKEN_OVER, text))
    return _result(module, mine, taken_over=taken_over, changed=changed, notes=notes)


def _lease(params: dict[str, t.Any]) -> file.Lease:
    if params["holder"] is None:
        raise InvalidInput(
            "holder is missing, which the collection's action plugin sets",
            remedy="call the module as streamshift.kafka.kafka_migration_lease",
        )
    return file.Lease(**params["holder"])


def _take(module: Module, mine: file.Lease) -> file.Lease | None:
    """Write the lease of this run. -> the one of a run that is gone, which it replaces."""
    path = os.path.join(module.params["directory"], file.FILE)
    files.check_writable(path)
    with files.locked(path, mine.run):
        text = files.read(path)
        files.write_document(path, file.to_json(mine), file.from_json, check=module.check_mode)
    before = file.from_json(text, path) if text is not None else None
    return before if before is not None and before.run != mine.run else None


def _result(
    module: Module,
    held: file.Lease | None = None,
    *,
    reason: str | None = None,
    taken_over: str | None = None,
    changed: bool = False,
    notes: t.Sequence[Note] = (),
) -> dict[str, t.Any]:
    return {
        "changed": changed,
        "directory": module.params["directory"],
        "held": held is not None,
        "environment": {} if held is None else {VARIABLE: held.run},
        "reason": reason,
        "taken_over": taken_over,
        **warned(module, notes),
    }


def main() -> None:
    module = Module(
        argument_spec={
            "directory": {"type": "path", "required": True},
            "create": {"type": "bool", "default": True},
            "state": {"type": "str", "choices": ["held", "released"], "default": "held"},
            "on_locked": {**options.choices(OnLocked), "default": "fail"},
            "holder": {
                "type": "dict",
                "options": {
                    "host": {"type": "str", "required": True},
                    "namespace": {"type": "str"},
                    "process": {"type": "int", "required": True},
                    "ticks": {"type": "int"},
                    "started": {"type": "float"},
                },
            },
        },
        supports_check_mode=True,
    )
    run(module, hold)


if __name__ == "__main__":
    main()
