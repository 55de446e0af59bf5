# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""The rule: where a group must stand at the destination, or what must be read before that can be said."""

from __future__ import annotations

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Decision, Need, Question
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict


def decide(question: Question) -> Decision | Need:
    """Decide an entry from what its logs hold, or say what they must hold first. Pure."""
    return Decision(Verdict.BLOCKED, None, Reason.SEARCH_BUDGET_SPENT, detail="not decided yet")
