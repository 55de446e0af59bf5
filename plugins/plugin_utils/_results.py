# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What the modules of a run have returned, for whoever tells of the run as a whole."""

from __future__ import annotations

import typing as t

# What has a row for each group or partition, which may be very many.
_LEFT_OUT = frozenset({"entries", "diff", "readiness", "ranges", "topics", "groups", "members"})
# What Ansible adds: it may hold a secret, or objects that no module can be given.
_LEFT_OUT |= {"invocation", "exception", "module_stderr", "module_stdout", "warnings", "deprecations"}


def results_of(given: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The results by their steps, without rows.

    given: results, or the names of the variables that tasks have registered them in, which need not be there. These values are
    worked out, and templating would copy each row.
    """
    return {step: _short(variables.get(its, {}) if isinstance(its, str) else its) for step, its in given.items()}


def _short(result: t.Any) -> t.Any:
    return {name: its for name, its in result.items() if name not in _LEFT_OUT} if isinstance(result, dict) else result
