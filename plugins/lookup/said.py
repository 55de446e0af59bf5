# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: said
short_description: Say what a role of this collection has done
version_added: 0.3.0
description:
  - Private to this collection. Do not use this look-up yourself, because it may change in any release.
  - Reads the variables of a role of this collection and what its modules have returned.
author: The streamshift.kafka authors (@streamshift)
options:
  _terms:
    description:
      - What to say, in this order.
      - V(done) returns what was verified, read back and committed.
      - V(verified) returns what the verification has found.
      - V(read_back) returns how many committed offsets were read back, if any were.
      - V(left_out) returns the groups that are in use at the source, and those that another tool has moved at the destination,
        if there are any.
      - V(took) returns how long each step has taken.
      - V(next) returns what to do next.
      - V(way_back) returns how to roll back what is committed, and how much of it cannot be rolled back.
      - V(settings) returns what the end of the run has to know to say the same in its report.
      - V(failed) returns whether a step has failed.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Say what was done
  ansible.builtin.debug:
    msg: "{{ query('streamshift.kafka.said', 'done', 'took', 'next') }}"
"""

RETURN = r"""
_raw:
  description: The lines of all terms.
  type: list
  elements: raw
"""

import typing as t

from ansible.plugins.lookup import LookupBase
from ansible.template import Templar

from ..module_utils._model.notes import NoteKind
from ..module_utils._module.directions import places
from ..module_utils._module.run_outcome import RunOutcome
from ..plugin_utils._last_words import LastWords
from ..plugin_utils._results import results_of
from ..plugin_utils._start_at_task import refuse_middle
from ..plugin_utils._templated import Templated


class LookupModule(LookupBase):
    """The look-up."""

    def run(self, terms: list[str], variables: dict[str, t.Any] | None = None, **kwargs: t.Any) -> list[t.Any]:
        """The lines."""
        self.set_options(var_options=variables, direct=kwargs)  # type: ignore[no-untyped-call]
        raw = variables or {}
        refuse_middle(raw)
        told = Templated(raw, t.cast(Templar, self._templar))
        results = results_of(told.get("_common_results") or told["__common_results"], raw)
        phrases = places(told["_common_source"], told["_common_destination"], returns=told["_common_returns"])
        run = RunOutcome(results, told["_common_phase"], *phrases, dry_run=bool(told["ansible_check_mode"]))
        hidden = NoteKind.TOPICS_HIDDEN in raw.get("__common_info", {}).get("note_kinds", ())
        words = LastWords(run, told, refused="failure" in raw.get("__common_refusal", {}), hidden=hidden)
        return [line for term in terms for line in getattr(words, term)()]
