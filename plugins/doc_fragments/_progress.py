# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  progress_file:
    description:
      - Path of the file to which the module appends its progress, one line at a time.
      - The collection's action plugin sets this option. Do not set it yourself.
    type: path
notes:
  - While the module works, it prints its progress to standard error, but only with C(ansible_connection=local), without
    C(no_log) and without C(async).
"""
