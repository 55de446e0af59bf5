# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  progress_file:
    description:
      - Where the module writes how far it is, a line each. Set by the collection's action plugin; leave it out.
    type: path
attributes:
  action:
    description: Indicates this has a corresponding action plugin so some parts of the options can be executed on the controller.
    support: full
    details:
      - It shows what the module is doing, line by line while it works.
notes:
  - While the module works, lines on standard error say what it is doing. Only with C(ansible_connection=local), not under
    C(no_log), and not under C(async).
"""
