# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os
import pathlib
import socket
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.yaml import yaml_load

from ..module_utils._migration.processes import process_namespace, start_ticks, started
from ..module_utils._model.history import ROUND_PHASES
from ..plugin_utils._option_names import OptionNamesActionModule
from ..plugin_utils._results import results_of

# What handlers read of the last run with news, which a run without any leaves as it is.
_NEWS = frozenset(
    {"role", "phase", "source", "destination", "directory", "dry_run", "digest", "verdicts", "written", "summary"}
)
_NEWS |= {"left_out", "may_start", "still_written", "failure"}
# What a round that fails says of its plan and its commit if it has come to none.
_NONE_OF_ITS_OWN: dict[str, t.Any] = {"digest": None, "verdicts": {}, "written": 0, "summary": []}


class ActionModule(OptionNamesActionModule):
    """Run kafka_migration_run for the process of ansible-playbook, which forks one like this for each task."""

    _supports_async = False
    _shows_hidden = False  # the tasks before have shown it

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None, **more: t.Any) -> dict[str, t.Any]:
        """Name that process to the module, which may run on another machine, and give it what it reads of the results."""
        variables = task_vars or {}
        of_collection = self._is_of_the_collection()
        if of_collection:
            _refuse_keyword(dry=bool(self._task.check_mode), called=bool(variables.get("ansible_check_mode")))
        process = os.getppid()
        holder = {
            "host": socket.gethostname(),
            "namespace": process_namespace(),
            "process": process,
            "ticks": start_ticks(process),
            "started": started(process),
        }
        more["collection"] = _version()
        given = self._task.args.get("results")
        if isinstance(given, dict):
            more["results"] = results_of(given, variables)
        result = super().run(tmp, task_vars, holder=holder, **more)
        before = variables.get("streamshift_kafka_run")
        has_ended = of_collection and self._task.args.get("state") == "ended"
        # Rounds have told what each has done before they are closed.
        closes = has_ended and self._templar.template(variables.get("__common_closes", False))
        if has_ended and isinstance(before, dict) and (closes or not result.get("has_news")):
            result |= {name: before[name] for name in _NEWS if name in before}
        elif has_ended and isinstance(before, dict):
            result |= _of_rounds_before(result, before)
        return result


def _of_rounds_before(result: dict[str, t.Any], before: dict[str, t.Any]) -> dict[str, t.Any]:
    """What handlers that a good round has notified read of its plan and its commit once a later round has failed.

    before: what they would read without that failure, maybe of another run.
    """
    is_failed_round = result.get("phase") in ROUND_PHASES and result.get("failure") is not None
    if not is_failed_round or any(result.get(name) != before.get(name) for name in ("role", "phase", "directory")):
        return {}
    lacking = (name for name, nothing in _NONE_OF_ITS_OWN.items() if result.get(name) == nothing)
    return {name: before[name] for name in lacking if name in before}


def _refuse_keyword(*, dry: bool, called: bool) -> None:
    """Raise AnsibleActionFail where the keyword check_mode makes the tasks of a role do what the role does not know of.

    dry: whether this task runs in check mode. called: whether ansible-playbook has --check, by which the tasks of a role decide
    where their files are, and what they say.
    """
    if dry and not called:
        raise AnsibleActionFail(
            "The role runs in check mode, but ansible-playbook does not. The tasks of a role's dry run hand files to each "
            "other, which only --check switches on. Run ansible-playbook with --check, or remove the keyword check_mode."
        )
    if called and not dry:
        raise AnsibleActionFail(
            "ansible-playbook runs in check mode, but the keyword check_mode lets the tasks of the role run for real. They "
            "would write to the cluster, and the receipt, without which nothing can be rolled back, would be removed with the "
            "files of the dry run. Remove the keyword check_mode for a dry run, or run ansible-playbook without --check."
        )


def _version() -> str | None:
    """The version of this collection, None where nothing tells it. An installed one has a manifest, a checkout galaxy.yml."""
    root = pathlib.Path(__file__).parents[2]
    for name, load in (("MANIFEST.json", json.loads), ("galaxy.yml", yaml_load)):
        if (root / name).is_file():
            told = load((root / name).read_text(encoding="utf-8"))
            return str(told.get("collection_info", told)["version"])
    return None
