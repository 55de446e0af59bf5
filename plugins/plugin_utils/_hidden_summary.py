# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""For action plugins: show what a module has to say where display_ok_hosts=false hides the task of a role that shows it."""

from __future__ import annotations

import typing as t

from ansible import constants as C  # noqa: N812
from ansible.errors import AnsibleError
from ansible.utils.display import Display

display = Display()


def show_hidden(task: str, host: str, result: t.Mapping[str, t.Any], *, dry_run: bool) -> None:
    """Display the summary and the notes of a result on standard error.

    task: its name. dry_run: whether it changes nothing. A task that has failed shows itself.
    """
    lines = [*result.get("summary", ()), *result.get("notes", ())]
    if lines and not result.get("failed") and _hides_what_has_not_changed():
        for line in (f"{task}{' (dry run)' if dry_run else ''}, {result['seconds']:.1f} s:", *lines):
            # Standard output may be a file that a callback writes.
            display.display(f"[{host}] {line}", stderr=True)


def _hides_what_has_not_changed() -> bool:
    """Whether the callback that prints results has the option display_ok_hosts, and it is false."""
    name: str = C.DEFAULT_STDOUT_CALLBACK  # type: ignore[attr-defined]
    try:
        plugin = name.removeprefix("ansible.builtin.")
        return not C.config.get_config_value("display_ok_hosts", plugin_type="callback", plugin_name=plugin)
    except AnsibleError:  # it shows everything
        return False
