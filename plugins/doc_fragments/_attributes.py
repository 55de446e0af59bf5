# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  option_names:
    description:
      - What messages call options, because the user of a role sets its variables, such as C(group_migration_on_rewind).
      - The collection's action plugin sets this option in the tasks of the collection's roles. Do not set it yourself.
    type: dict
attributes:
  action:
    description: Indicates this has a corresponding action plugin so some parts of the options can be executed on the
      controller.
    support: full
    details:
      - In the tasks of the collection's roles, the action plugin lets messages name the variables of the role.
      - It adds C(seconds) to the result, how long the module took, unless the task has C(async).
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in C(check_mode)), when in diff mode.
  idempotent:
    description: When run twice in a row outside check mode, with the same arguments, the second invocation indicates no
      change.
  action_group:
    description: Use C(group/streamshift.kafka.kafka) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - streamshift.kafka.kafka
"""

    # Use together with the standard fragment.
    FILES = r"""
options: {}
attributes:
  check_mode:
    support: full
    details:
      - Check mode returns exactly what the real run returns, and writes nothing.
  diff_mode:
    support: full
  idempotent:
    support: full
"""

    # Use together with the standard fragment.
    INFO_MODULE = r"""
options: {}
attributes:
  check_mode:
    support: full
    details:
      - This action does not modify state.
  diff_mode:
    support: N/A
    details:
      - This action does not modify state.
  idempotent:
    support: full
    details:
      - This action does not modify state.
"""
