# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What the modules of a run have returned, for whoever tells of the run as a whole."""

from __future__ import annotations

import typing as t

from ..module_utils._module._report.sections import MOST_ROWS

# What has a row for each group or partition, which may be very many.
_LEFT_OUT = frozenset({"entries", "diff", "readiness", "ranges", "topics", "groups", "members"})
# What Ansible adds: it may hold a secret, or objects that no module can be given.
_LEFT_OUT |= {"invocation", "exception", "module_stderr", "module_stdout", "warnings", "deprecations"}


def results_of(given: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The results by their steps, without rows, but for those of a rollback that its report shows: no file has them.

    So it is with the names of the removed groups that it has made again.

    given: results, or the names of the variables that tasks have registered them in, which need not be there. These values are
    worked out, and templating would copy each row.
    """
    return {step: _short(variables.get(its, {}) if isinstance(its, str) else its, step) for step, its in given.items()}


def _short(result: t.Any, step: str) -> t.Any:
    if not isinstance(result, dict):
        return result
    short = {name: its for name, its in result.items() if name not in _LEFT_OUT}
    if step == "rollback" and "entries" in result:  # first those that were not rolled back
        short["entries"] = sorted(result["entries"], key=lambda row: row["changed"])[:MOST_ROWS]
    if step == "groups" and "groups" in result:
        short["groups"] = result["groups"]
    return short
