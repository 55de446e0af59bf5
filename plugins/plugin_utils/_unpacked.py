# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""For action plugins: run a module from the files of the collection, where its Python is the one that runs Ansible.

Ansible packs each module with a hundred files that it imports, and Python then compiles them anew in every task. That takes
longer than most of the tasks do, and all of it counts in the window of a cut-over.
"""

from __future__ import annotations

import inspect
import json
import os
import pathlib
import sys
import typing as t

import ansible
from ansible import constants as C  # noqa: N812
from ansible.module_utils.common.json import Direction, get_module_encoder
from ansible.plugins.action import ActionBase

from ..module_utils._model.background import without_collecting

_BuiltModule: t.Any
try:  # how Ansible itself starts what it has packed; another ansible-core may do it otherwise
    from ansible.executor.module_common import _BuiltModule
    from ansible.module_utils._internal._ansiballz._loader import run_module

    inspect.signature(run_module).bind(json_params=b"", profile="", module_fqn="", modlib_path="", extensions={})
    inspect.signature(_BuiltModule).bind(b_module_data=b"", module_style="", shebang="", serialization_profile="")
except (ImportError, TypeError):
    _BuiltModule = None

_PROFILE = "legacy"  # of Ansible's modules, which says how values become JSON
_COLLECTION = pathlib.Path(__file__).parents[2]
# A traceback shows the lines of this that call something: none of them may hold the parameters. Files of the working directory,
# of the user's PYTHONPATH and of PyPI's package ansible may have the names of Ansible's and of the collection's.
_SCRIPT = """\
{shebang}
import sys
if not sys.flags.safe_path:
    del sys.path[0]
sys.path.insert(0, {ansible!r})
import ansible
del sys.path[0]
packages = type(sys)("ansible_collections")
packages.__path__ = [{collections!r}]
sys.modules["ansible_collections"] = packages
from ansible.module_utils._internal._ansiballz._loader import run_module
params = {params!r}
run_module(json_params=params, profile={profile!r}, module_fqn={module!r}, modlib_path="", extensions={{}})
"""


class UnpackedActionModule(ActionBase):
    """An action whose module is run as always, but packed only where that is needed."""

    def _configure_module(
        self, module_name: str, module_args: dict[str, t.Any], task_vars: dict[str, t.Any]
    ) -> tuple[t.Any, str]:
        """What Ansible runs, and the path of the module that it tells of with -vvv."""
        path = _COLLECTION / "plugins" / "modules" / f"{module_name.rpartition('.')[2]}.py"
        if not path.is_file() or not self._runs_as_ansible(task_vars):
            with without_collecting():  # Ansible parses a hundred files, in half the time then
                packed: tuple[t.Any, str] = super()._configure_module(module_name, module_args, task_vars)
            return packed
        encoder = get_module_encoder(_PROFILE, Direction.CONTROLLER_TO_MODULE)
        shebang = f"#!{sys.executable}"
        script = _SCRIPT.format(
            shebang=shebang,
            ansible=str(pathlib.Path(ansible.__file__).parents[1]),
            collections=str(_COLLECTION.parents[1]),
            params=json.dumps({"ANSIBLE_MODULE_ARGS": module_args}, cls=encoder).encode(),
            profile=_PROFILE,
            module=f"ansible_collections.streamshift.kafka.plugins.modules.{path.stem}",
        )
        built = _BuiltModule(
            b_module_data=script.encode(), module_style="new", shebang=shebang, serialization_profile=_PROFILE
        )
        return built, str(path)

    def _runs_as_ansible(self, task_vars: dict[str, t.Any]) -> bool:
        """Whether the module would run here, by the same Python and as the same user."""
        delegate = self._task.delegate_to
        of_host = task_vars["ansible_delegated_vars"][delegate] if delegate else task_vars
        return (
            _BuiltModule is not None
            and self._connection.transport == "local"
            and self._connection.become is None
            and _is_this_python(self._templar.template(of_host.get("ansible_python_interpreter")))
            and not C.config.get_config_value("PYTHON_MODULE_RLIMIT_NOFILE", variables=of_host)
            and not C.config.get_config_value("DEFAULT_KEEP_REMOTE_FILES", variables=of_host)
        )


def _is_this_python(path: t.Any) -> bool:
    """Whether a path is another name of what runs this: the program alone does not tell, all environments may share it."""
    return isinstance(path, str) and _program(path) == _program(sys.executable)


def _program(path: str) -> tuple[str, str]:
    return os.path.realpath(os.path.dirname(path)), os.path.realpath(path)
