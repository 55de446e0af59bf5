# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  receipt:
    description:
      - Path of the receipt file. Its directory must exist.
      - Keep the file, because a rollback is not possible without it.
    type: path
    required: true
"""
