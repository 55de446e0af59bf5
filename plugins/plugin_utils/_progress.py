# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""For action plugins: run the module as always, and show the lines that it writes about its progress while it runs."""

from __future__ import annotations

import contextlib
import os
import tempfile
import typing as t

from ansible import constants as C  # noqa: N812
from ansible.utils.display import Display

from ..module_utils._model.background import every
from ..module_utils._model.visible_text import visible
from ._option_names import OptionNamesActionModule

_LOOK_EVERY = 0.2  # seconds

display = Display()


class ProgressActionModule(OptionNamesActionModule):
    """The action of a module that has the option progress_file. Everything but its lines is as without this class."""

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None, **more: t.Any) -> dict[str, t.Any]:
        """Show the lines of progress while the module runs."""
        # On another machine nobody here could read the file; and no_log means what it says.
        if self._task.async_val or self._connection.transport != "local" or self._task.no_log:
            return super().run(tmp, task_vars, **more)
        # Ansible removes this folder when it ends, even if that comes before the end of this block.
        with tempfile.TemporaryDirectory(dir=C.DEFAULT_LOCAL_TMP) as folder:  # type: ignore[attr-defined]
            file = os.path.join(folder, "progress")
            with _shown(file, f"[{_who(task_vars or {})}] "):
                return super().run(tmp, task_vars, progress_file=file, **more)


def _who(task_vars: dict[str, t.Any]) -> str:
    """The host, and in a loop the item, as Ansible shows it after the task; an item that is no name would be too long."""
    host = str(task_vars.get("inventory_hostname", "localhost"))
    item = task_vars.get(task_vars.get("ansible_loop_var", ""))
    return visible(f"{host}: {item}" if isinstance(item, str | int) else host)


@contextlib.contextmanager
def _shown(path: str, prefix: str) -> t.Iterator[None]:
    """Display the lines of a file as they come, until the block ends."""
    rest = b""
    # The user's own file, though the module may become somebody else: who cannot write it says nothing.
    with open(path, "xb"), open(path, "rb") as file:

        def show() -> None:
            nonlocal rest
            *lines, rest = (rest + file.read()).split(b"\n")
            for line in lines:
                # Standard output may be a callback's JSON.
                display.display(prefix + line.decode(errors="replace"), stderr=True)

        try:
            with every(_LOOK_EVERY, show):
                yield
        finally:
            show()
