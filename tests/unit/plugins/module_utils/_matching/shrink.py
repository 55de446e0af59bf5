# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Make a scenario smaller while something stays true of it, without leaving what a replication tool can have done."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Policy
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.truth import Arrived, Scenario


def shrunk(scenario: Scenario, still: t.Callable[[Scenario], bool]) -> Scenario:
    """The smallest scenario that taking away one thing after the other leads to, `still` being true of each."""
    progress = True
    while progress:
        progress = False
        for smaller in _smaller(scenario):
            if still(smaller):
                scenario, progress = smaller, True
                break
    return scenario


def _smaller(scenario: Scenario) -> t.Iterator[Scenario]:
    for offset in reversed(range(len(scenario.written))):
        yield _without_written(scenario, offset)
    there = scenario.arrived
    for index, arrived in enumerate(there):
        if arrived.origin is None or index in (0, len(there) - 1):
            yield _without_arrived(scenario, {arrived.offset})
    taken = {a.offset for a in there}
    for gap in reversed(range(scenario.destination_facts.end)):
        if gap not in taken:
            yield _without_arrived(scenario, {gap})
    plain = Policy(now=scenario.policy.now)
    if scenario.policy != plain:
        yield dataclasses.replace(scenario, policy=plain)
    facts = scenario.destination_facts
    if facts.high_watermark > facts.end:
        yield dataclasses.replace(scenario, destination_facts=dataclasses.replace(facts, high_watermark=facts.end))


def _without_written(scenario: Scenario, offset: int) -> Scenario:
    """As if this source record had never been written, and so never copied."""

    def moved(other: int) -> int:
        return other - (other > offset)

    facts = scenario.source_facts
    smaller = dataclasses.replace(
        scenario,
        committed=moved(scenario.committed),
        written=tuple(dataclasses.replace(w, offset=moved(w.offset)) for w in scenario.written if w.offset != offset),
        source_facts=dataclasses.replace(
            facts, log_start=moved(facts.log_start), end=moved(facts.end), high_watermark=moved(facts.high_watermark)
        ),
    )
    smaller = _without_arrived(smaller, {a.offset for a in scenario.arrived if a.origin == offset})
    return dataclasses.replace(
        smaller,
        arrived=tuple(
            dataclasses.replace(a, origin=None if a.origin is None else moved(a.origin)) for a in smaller.arrived
        ),
    )


def _without_arrived(scenario: Scenario, gone: set[int]) -> Scenario:
    """As if nothing had ever been at these destination offsets."""

    def moved(offset: int) -> int:
        return offset - sum(1 for other in gone if other < offset)

    def left(records: tuple[Arrived, ...]) -> tuple[Arrived, ...]:
        return tuple(dataclasses.replace(a, offset=moved(a.offset)) for a in records if a.offset not in gone)

    facts = scenario.destination_facts
    return dataclasses.replace(
        scenario,
        arrived=left(scenario.arrived),
        aborted_there=left(scenario.aborted_there),
        destination_facts=dataclasses.replace(
            facts, log_start=moved(facts.log_start), end=moved(facts.end), high_watermark=moved(facts.high_watermark)
        ),
    )
