# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Surveys two logs that are complete in memory, record by record: the twin of what Spark does with large ones."""

from __future__ import annotations

import bisect
import collections
import itertools
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.context import Key, Matching
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import (
    Decision,
    Log,
    Policy,
    Question,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.survey import (
    NOWHERE,
    Origin,
    Part,
    Run,
    Survey,
    decide_surveyed,
    merged,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import NO_TIMESTAMP, Record
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.driver import (
    MOST_ROUNDS,
    FullLog,
    serve,
)

FOREIGN = Origin(NOWHERE, NOWHERE)


def survey(
    source: t.Sequence[Record],
    destination: t.Sequence[Record],
    commits: t.Iterable[int],
    matching: Matching,
    borders: t.Collection[int] = (),
) -> Survey:
    """What a survey of these visible records says."""
    ascending = tuple(sorted(set(commits)))
    origins = resolved(origins_of(source, destination, matching), ascending)
    runs = [
        Run(record.offset, record.offset, 1, origin, origin, origin.high, origin.low == origin.high)
        for record, origin in zip(destination, origins, strict=True)
    ]
    return Survey(ascending, parts_of(source, ascending), tuple(merged(runs, ascending, borders)), matching)


def parts_of(source: t.Sequence[Record], commits: t.Sequence[int]) -> tuple[Part, ...]:
    parts: list[list[int]] = [[] for _unused in range(len(commits) + 1)]
    for record in source:
        parts[bisect.bisect_right(commits, record.offset)].append(record.offset)
    return tuple(Part(len(part), min(part, default=0), max(part, default=0)) for part in parts)


def origins_of(source: t.Sequence[Record], destination: t.Sequence[Record], matching: Matching) -> list[Origin]:
    places: dict[Key, list[int]] = collections.defaultdict(list)
    for record in source:
        places[matching.key(record)].append(record.offset)
    found = [places.get(matching.key(record)) for record in destination]
    return [FOREIGN if each is None else Origin(each[0], each[-1]) for each in found]


def resolved(origins: list[Origin], commits: t.Sequence[int]) -> list[Origin]:
    """Records with several places, between two with one place each, in order and on the same side: so are they.

    As long as there are no more of them than the source has offsets in between.
    """
    certain = [(index, origin.low) for index, origin in enumerate(origins) if NOWHERE < origin.low == origin.high]
    result = list(origins)
    for (one, low), (other, high) in itertools.pairwise(certain):
        here = [index for index in range(one + 1, other) if origins[index].low != NOWHERE]
        same = bisect.bisect_right(commits, low) == bisect.bisect_right(commits, high)
        if same and len(here) < high - low:
            for index in here:
                origin = origins[index]
                if origin.low < high and origin.high > low:
                    result[index] = Origin(max(origin.low, low), min(origin.high, high))
    return result


def usual_survey(
    source: FullLog,
    destination: FullLog,
    commits: t.Iterable[int],
    policy: Policy,
    spans: tuple[int, int] = (0, 0),
    borders: t.Collection[int] = (),
) -> Survey:
    """With what can be compared of these records. spans: from where on the logs are read."""
    here, there = source.visible(spans[0], source.facts.end), destination.visible(spans[1], destination.facts.end)
    timed = policy.with_timestamp and not any(record.log_append_time for record in there)
    timed = timed and all(record.timestamp != NO_TIMESTAMP for record in here)
    found = survey(here, there, commits, Matching(timed, True), borders)
    bare = survey(here, there, commits, Matching(timed, False), borders)
    return bare if bare.foreign < found.foreign else found  # some copies have had headers added


def settle_surveyed(
    committed: int, others: t.Iterable[int], source: FullLog, destination: FullLog, policy: Policy
) -> Decision:
    """The decision by a survey that several groups share."""
    found = usual_survey(source, destination, {committed, *others}, policy)
    question = Question(committed, Log(source.facts), Log(destination.facts), policy)
    for _unused in range(MOST_ROUNDS):
        answer = decide_surveyed(question, found)
        if isinstance(answer, Decision):
            return answer
        serve(answer, question, source, destination)
    raise AssertionError(f"no decision after {MOST_ROUNDS} rounds; the last need was {answer}")
