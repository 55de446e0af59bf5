# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What relative paths of variables mean: beside the inventory, wherever the command was given."""

from __future__ import annotations

import os
import typing as t


def inventory_directory(variables: t.Mapping[str, t.Any]) -> str:
    """The directory of the inventory, empty where this host is in no inventory file.

    A list of hosts in place of a file has none, which ansible-core 2.19 calls "None". A localhost that the inventory does not
    name takes that of its hosts.
    """
    own = str(variables.get("inventory_dir"))
    if os.path.isabs(own):
        return own
    others = (
        str(variables["hostvars"][name].get("inventory_dir")) for name in variables.get("groups", {}).get("all", ())
    )
    return next(filter(os.path.isabs, others), "")


def beside_inventory(path: t.Any, variables: t.Mapping[str, t.Any]) -> str:
    """The path, from the inventory's directory if it is relative; empty if it is.

    Without that directory, from the one in which the command was given. path: what YAML has read, such as 2026 for a directory,
    or false for none.
    """
    given = "" if path is None or path is False else os.path.expanduser(str(path))
    return os.path.join(inventory_directory(variables) or os.getcwd(), given) if given else ""
