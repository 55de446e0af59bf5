# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""For action plugins: run the module as always, tell it by which variables the user of a role sets its options, and time it."""

from __future__ import annotations

import contextlib
import time
import typing as t

from ansible.errors import AnsibleError

from ._given import role_options
from ._hidden_summary import show_hidden
from ._start_at_task import refuse_middle
from ._unpacked import UnpackedActionModule

_COLLECTION = "streamshift.kafka"
# {module: {option: variable}}, where the variables of the roles are not called like the options.
OTHER_NAMES = {
    "kafka_backlog_copy": {"state: absent": "phase: remove"},
    "kafka_group_offsets": {"on_active_group": "on_active_source"},
    "kafka_group_removal": {"everything": "rollback_all", "on_active_group": "on_active_source"},
    "kafka_migration_info": {"creates_topics": "promote_topics", "on_active_group": "on_active_source"},
    "kafka_migration_run": {"keep": "keep_history", "report": "write_report"},
    "kafka_offset_commit": {"everything": "rollback_all"},
    "kafka_offset_verify": {"limit": "verify_limit", "method": "verify"},
}
# The same in roles that promote the topics of groups.
OF_GROUPS = {"kafka_topic_promotion": {"exclude_topic_patterns": "repartitioned"}}
_POLICIES = ("on_blocked", "on_active_group", "on_active_source")
# {phase: {variable: the one that takes its place, or nothing}}
IN_PHASE: dict[str, dict[str, str | None]] = {
    "cut_over": dict.fromkeys(_POLICIES, "on_not_ready"),
    "sync": {**dict.fromkeys(_POLICIES), "verify": "verify_rounds"},
}
# {option: a value that messages offer, and that not every variable takes which has the option's place}
_OFFERED = {"on_active_source": "warn"}
_KILLED = 137  # as shells tell of a program that SIGKILL has ended, and Ansible of what the shell tells


class OptionNamesActionModule(UnpackedActionModule):
    """The action of every module of the collection. Outside of its roles, it adds the seconds, and tells of a kill."""

    _supports_check_mode = True
    _supports_async = True
    _shows_hidden = True  # lines that Ansible hides with the tasks that show them

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None, **more: t.Any) -> dict[str, t.Any]:
        """Run the module as Ansible's own action does. more: options that this action sets itself.

        Each result gets ``seconds``, how long the module took. The start of an asynchronous task says nothing of that.
        """
        super().run(tmp, task_vars)
        variables = task_vars or {}
        is_ours = self._is_of_the_collection()
        if is_ours:
            refuse_middle(variables)
        args = {**self._task.args, **more}
        if names := self._option_names(variables):
            args["option_names"] = names | self._copied(variables)
        wrap_async = bool(self._task.async_val) and not self._connection.has_native_async
        begin = time.monotonic()
        result: dict[str, t.Any] = self._execute_module(module_args=args, task_vars=task_vars, wrap_async=wrap_async)
        if result.get("rc") == _KILLED and "failure" not in result:
            # Ansible says only that there is no JSON.
            result["msg"] = (
                f"{self._task.action.rpartition('.')[2]} was killed, as the kernel does to a process where memory is short. "
                "Run the same again: it goes on with what is written. If it is killed again, give it more memory."
            )
            result.pop("exception", None)
        if result.get("failed") and is_ours and (after := variables.get("__common_after_failure")) is not None:
            # A variable that cannot be worked out must not hide the failure itself.
            with contextlib.suppress(AnsibleError):
                result["msg"] = f"{result.get('msg', '')} {self._templar.template(after)}"
                # Ansible shows what it has captured of the module, and makes that anew if it is not there.
                result.pop("exception", None)
        if not self._task.async_val:
            result["seconds"] = round(time.monotonic() - begin, 1)
            # The result of a task that looks ahead never counts as changed.
            if is_ours and self._shows_hidden and not self._task.no_log and False not in self._task.changed_when:
                host = str(variables.get("inventory_hostname"))
                show_hidden(self._task.name, host, result, dry_run=bool(self._task.check_mode))
        return result

    def _copied(self, task_vars: t.Mapping[str, t.Any]) -> dict[str, str]:
        """The directory that a dry run works in, which it removes, and the user's, where there are both."""
        copies = (task_vars.get("__common_begun") or {}).get("scratch")
        if copies and task_vars.get("ansible_check_mode"):
            with contextlib.suppress(AnsibleError):
                return {copies: self._templar.template(task_vars.get("_common_directory", copies))}
        return {}

    def _is_of_the_collection(self) -> bool:
        return getattr(self._task._role, "_role_collection", None) == _COLLECTION

    def _option_names(self, task_vars: t.Mapping[str, t.Any]) -> dict[str, str]:
        if not self._is_of_the_collection():
            return {}
        role = self._task._role
        name = role._role_name.rpartition(".")[2]
        if name == "common":  # the role that includes it says its name, but for what only clears up
            if "_common_role" not in task_vars:
                return {}
            name = self._templar.template(task_vars["_common_role"])
        phase = self._templar.template(task_vars.get(f"{name}_phase"))
        return option_names(self._task.action.rpartition(".")[2], name, phase, role_options(name))


def option_names(
    module: str, role: str, phase: str | None, variables: t.Mapping[str, t.Mapping[str, t.Any]]
) -> dict[str, str]:
    """{option: variable} for a task of a role, as far as it is certain. variables: all of the role's, as role_options() says.

    And ``option: value`` for those values that messages offer only where the variable takes them.
    """
    known = {name.removeprefix(f"{role}_"): name for name in variables}
    in_phase = IN_PHASE.get(phase or "", {})

    def called(name: str) -> str | None:
        """The variable that has this name without the role's, or takes its place in this phase."""
        option, colon, value = name.partition(":")
        instead = in_phase.get(option, option)
        variable = instead and known.get(instead, known.get(option))
        return f"{variable}{colon}{value}" if variable else None

    others = OTHER_NAMES.get(module, {}) | OF_GROUPS.get(module, {})
    by_option = {name: called(name) for name in {**known, **in_phase}}
    by_option |= {option: variable for option, name in others.items() if (variable := called(name))}
    by_option |= {
        f"{option}: {value}": f"{variable}: {value}"
        for option, value in _OFFERED.items()
        if (variable := by_option.get(option)) and value in variables[variable].get("choices", ())
    }
    return {option: variable for option, variable in by_option.items() if variable}
