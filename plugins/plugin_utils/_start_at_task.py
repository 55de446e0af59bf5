# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Refuse a role that --start-at-task starts after its checks."""

from __future__ import annotations

import typing as t

from ansible import context
from ansible.errors import AnsibleError

from ..module_utils._model.errors import NOTHING_WRITTEN


def refuse_middle(variables: t.Mapping[str, t.Any]) -> None:
    """Raise AnsibleError where a role was started after its checks: it would take files of another run for its own.

    variables: those of a task of a role of this collection. A task of the user's own before the role is a good start.
    """
    begin = context.CLIARGS.get("start_at_task")
    if begin and "_common_role" in variables and "__common_looked" not in variables:
        raise AnsibleError(
            f"This playbook was started in its middle (--start-at-task {begin}), without the checks that come first. Run it "
            f"whole: it goes on where it stopped. {NOTHING_WRITTEN}"
        )
