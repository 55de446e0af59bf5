#!/usr/bin/python
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_migration_history
short_description: Keep the files of a run in the history of a migration
version_added: 0.2.0
description:
  - Copies the files of a migration to C(history/WHEN-PHASE/) in its directory, where WHEN is the time (UTC) at which the
    run ends, such as C(2026-11-24T225301Z-migrate). The next run replaces the files in the directory, and leaves the copy
    as it is.
  - Copies what is there of C(snapshot.json), C(plan.json), C(plan.csv), C(report.json), C(receipt.json), C(status.json),
    C(removed.json), C(copy.json), C(topics.json), C(topics-receipt.json), C(connect-receipt.json), C(report.html) and
    C(report.md), and nothing else. Without any of them, makes no folder.
  - A folder appears when it is complete. A process that is killed, or a file system that is full, leaves no part of one.
  - The directories have mode 0700, and the files 0600.
  - The roles of this collection do this themselves, at the end of a run that has changed something or failed.
  - Contacts no cluster.
author:
  - The streamshift.kafka authors (@streamshift)
extends_documentation_fragment:
  - streamshift.kafka._attributes
options:
  directory:
    description:
      - Directory of the migration's files. It must exist.
    type: path
    required: true
  phase:
    description:
      - Phase of the role, in lower-case letters and underscores.
      - V(sync) and V(promote_round) are the phases of rounds, which are counted apart.
    type: str
    required: true
  keep:
    description:
      - How many folders the history has at most, with the new one. The module removes the oldest ones, and never anything
        that does not have the name of such a folder.
      - Folders of rounds do not count here. The module keeps the last 5 of them, or O(keep) if that is less. The same is
        true for the folders of runs that have O(failed) and written nothing.
    type: int
    default: 20
  failed:
    description:
      - Whether the run has failed. The name of its folder then ends in C(-failed), as in
        C(2026-11-24T225301Z-rollback-failed), so that it pushes no other run out.
      - A run that has written something before it failed keeps its place among the others. The module recognizes it
        because C(receipt.json), C(removed.json), C(copy.json), C(topics-receipt.json) or C(connect-receipt.json), which a
        run saves before its first write, differs from that in the newest folder that has it.
    type: bool
    default: false
  report:
    description:
      - Whether C(report.html) and C(report.md) are kept, too. Leave them out if this run has written no report, because
        those that are there are another run's.
    type: bool
    default: true
  release:
    description:
      - Whether to release the directory, too, when the files are kept, as M(streamshift.kafka.kafka_migration_lease) does
        with C(state=released).
      - The task needs the environment of the run, which that module returns. Otherwise, the directory stays held.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    details:
      - Check mode returns what the real run returns, but for the time in the name of the folder, and changes nothing.
  diff_mode:
    support: none
  idempotent:
    support: none
    details:
      - Every run makes a folder of its own.
seealso:
  - module: streamshift.kafka.kafka_migration_report
"""

EXAMPLES = r"""
- name: Keep the files of this run
  streamshift.kafka.kafka_migration_history:
    directory: "{{ inventory_dir }}/kafka-migrations/onprem-to-cloud"
    phase: migrate
  register: history

- name: Say where they are
  ansible.builtin.debug:
    msg: "{{ history.folder }}"
"""

RETURN = r"""
folder:
  description: Path of the new folder; null if there was no file to keep.
  returned: success
  type: str
  sample: /srv/kafka-migrations/onprem-to-cloud/history/2026-11-24T225301Z-migrate
files:
  description: Names of the files in the folder.
  returned: success
  type: list
  elements: str
  sample: [snapshot.json, plan.json, report.json, receipt.json]
removed:
  description: Names of the folders that were removed.
  returned: success
  type: list
  elements: str
  sample: [2026-10-02T201134Z-plan]
released:
  description: Whether this task has released the directory.
  returned: success
  type: bool
  sample: false
notes:
  description: What you should know, a line each. Each note is a warning, too.
  returned: success
  type: list
  elements: str
  sample: []
note_kinds:
  description: Kind of each of the RV(notes), in the same order. The page C(docs/troubleshooting.md) has an entry for each, with
    cause and remedy.
  returned: success
  type: list
  elements: str
  sample: []
failure:
  description:
    - What has failed. C(msg) says the same in words, with the reason and the remedy.
    - The page C(docs/troubleshooting.md) has an entry for each C(kind). The other values are null unless the failure is about a
      single cluster, group, topic or partition.
  returned: failure
  type: dict
  sample: {kind: acl_missing, cluster: "source cluster broker1:9092", group: null, topic: null, partition: null}
"""

import datetime
import os
import typing as t

from ..module_utils._model.errors import InvalidInput
from ..module_utils._model.history import FILES, REPORT_FILES
from ..module_utils._model.option_names import option_name
from ..module_utils._module import files
from ..module_utils._module.frame import run
from ..module_utils._module.history_folder import keep_files
from ..module_utils._module.leases import VARIABLE
from ..module_utils._module.masking import Module
from ..module_utils._module.note_results import warned
from ..module_utils._module.releasing import release


def keep_history(module: Module) -> dict[str, t.Any]:
    params = module.params
    if params["keep"] < 1:
        raise InvalidInput(
            f"{option_name('keep')} is {params['keep']}", remedy="give 1 or more; to keep nothing, leave this task out"
        )
    folder = os.path.abspath(params["directory"])
    with files.locked(os.path.join(folder, FILES[0])):
        kept = keep_files(
            folder,
            FILES + (REPORT_FILES if params["report"] else ()),
            params["phase"],
            params["keep"],
            datetime.datetime.now(datetime.UTC),
            failed=params["failed"],
            check=module.check_mode,
        )
    its_run = os.environ.get(VARIABLE) if params["release"] else None
    notes = release(folder, its_run, check=module.check_mode) if its_run else []
    return {
        "changed": kept.folder is not None,
        "folder": kept.folder,
        "files": list(kept.files),
        "removed": list(kept.removed),
        "released": bool(its_run) and not notes and not module.check_mode,
        **warned(module, notes),
    }


def main() -> None:
    module = Module(
        argument_spec={
            "directory": {"type": "path", "required": True},
            "phase": {"type": "str", "required": True},
            "keep": {"type": "int", "default": 20},
            "failed": {"type": "bool", "default": False},
            "report": {"type": "bool", "default": True},
            "release": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    run(module, keep_history)


if __name__ == "__main__":
    main()
