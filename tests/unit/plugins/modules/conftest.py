"""Run a module's main() in this process, and give back what it said."""

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ansible.module_utils import _internal
from ansible.module_utils.common import warnings
from ansible.module_utils.testing import patch_module_args


@pytest.fixture
def run_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """``run_module(module, check=False, diff=False, **options)`` gives the module's result, of a failure too.

    Use it with a module that has been imported: its collaborators can be replaced with ``monkeypatch`` before the run.
    """
    # Ansible collects warnings per process, and a module is meant to have one for itself.
    monkeypatch.setattr(warnings, "_global_warnings", {})
    monkeypatch.setattr(warnings, "_global_deprecations", {})
    # Where a test before has loaded Ansible's own part, for a look-up or an action, warnings would go to its display.
    monkeypatch.setattr(_internal, "is_controller", False)

    def run(module: ModuleType, *, check: bool = False, diff: bool = False, **options: Any) -> dict[str, Any]:
        arguments = {
            "_ansible_check_mode": check,
            "_ansible_diff": diff,
            "_ansible_remote_tmp": str(tmp_path),
            "_ansible_keep_remote_files": False,
            **options,
        }
        said = io.StringIO()
        with patch_module_args(arguments), contextlib.redirect_stdout(said), pytest.raises(SystemExit) as stop:
            module.main()
        result: dict[str, Any] = json.loads(said.getvalue())
        assert bool(stop.value.code) == bool(result.get("failed"))
        return result

    return run
