"""Run a module's main() in this process, and give back what it said."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.modules import run


@pytest.fixture
def run_module() -> Callable[..., dict[str, Any]]:
    """``run_module(module, check=False, diff=False, **options)`` gives the module's result, of a failure too.

    Use it with a module that has been imported: its collaborators can be replaced with ``monkeypatch`` before the run.
    """
    return run
