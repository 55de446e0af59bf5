# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The frame around every module: libraries are checked first, and errors are told in one line."""

from __future__ import annotations

import gc
import sys
import typing as t

from .._model.errors import MigrationError
from .._model.failure_kinds import FailureKind
from .._model.missing import CONTROL, RECORDS, unmet
from .._model.open_clients import keeping
from .._model.progress import hear_waits
from .._model.written import WRITTEN
from .progress_file import reporter

if t.TYPE_CHECKING:
    from .masking import Module

# What every module needs; those that use Spark say what more they need.
REQUIREMENTS = tuple(sorted(CONTROL + RECORDS))

# Records are kept by the hundred thousand, and hold no cycles: with Python's 700, a fifth of the time goes into looking.
COLLECTED_AT = 100_000  # new objects


def run(module: Module, main: t.Callable[[Module], dict[str, t.Any]]) -> t.NoReturn:
    """Call main(module) for the module's result, and end the module with it."""
    problems = missing_libraries()
    if problems:
        module.fail_json(
            msg=f"{', '.join(problems)} for {sys.executable}. Install the collection's requirements there "
            "(pip install -r requirements.txt), or set ansible_python_interpreter to a Python that has them.",
            failure=MigrationError("", kind=FailureKind.REQUIREMENT_MISSING).place(),
        )
    gc.set_threshold(COLLECTED_AT)
    WRITTEN.clear()
    hear_waits(reporter(module.params.get("progress_file")))
    try:
        with keeping():
            result = main(module)
    except MigrationError as exc:
        changed = {"changed": True} if WRITTEN else {}
        module.fail_json(msg=str(exc), failure=exc.place(), **changed, **exc.result)
    module.exit_json(**result)


def missing_libraries() -> list[str]:
    """One clause for each library that is missing, too old or too new."""
    return unmet(REQUIREMENTS)
