# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  return_entries:
    description:
      - Which entries the module returns in RV(entries). With thousands of partitions, they make the result large and the
        play slow. The files and the summary always have all of them.
      - V(all) returns every entry.
      - V(changed) returns the entries that this run changes.
      - V(none) returns an empty list.
    type: str
    choices: [all, changed, none]
    default: all
"""
