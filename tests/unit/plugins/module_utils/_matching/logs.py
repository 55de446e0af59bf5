# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Random scenarios: what a source went through, what a replication tool made of it, where a group stands.

scenario() makes one from any random.Random, so a seed reproduces it, and so can hypothesis, which shrinks it.
The source lives through stages: it loses records (its head expires, compaction) before, between and after the
passes of a replication tool. What the rule says that nobody can see through is not made:

* one pass of a replication tool does not both lose records and reorder them;
* one pass of a replication tool does not reorder records whose timestamps run back.
"""

from __future__ import annotations

import dataclasses
import itertools
import random as rnd
import typing as t

from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import LogFacts, Policy
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import NO_TIMESTAMP
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.truth import (
    HOUR,
    NOON,
    Arrived,
    Scenario,
    Written,
)


def scenarios(most_records: int = 24) -> st.SearchStrategy[Scenario]:
    """Any scenario, as hypothesis likes it: drawn from its own source of choices, shrinkable."""
    return st.builds(scenario, st.randoms(use_true_random=False), st.just(most_records))


def plain_scenarios(most_records: int = 40) -> st.SearchStrategy[Scenario]:
    """What most topics are: unlike records, one or several in-order passes; see `plain` of scenario()."""
    return st.builds(scenario, st.randoms(use_true_random=False), st.just(most_records), st.just(True))


def scenario(random: rnd.Random, most_records: int = 24, plain: bool = False) -> Scenario:
    """A scenario of up to most_records written at the source.

    plain: all records unlike each other, nothing dropped or reordered, no odd policy.
    """
    traits: set[str] = set()
    alphabet = 0 if plain else _pick(random, (1, 1, 2, 2, 3, 5, 12, 0))
    written, append_time = _written(random, random.randrange(most_records + 1), alphabet, traits)
    compacted = _chance(random, 0.2)
    passes = 1 + sum(_chance(random, 0.3) for _unused in range(3))
    starts, written = _losses(random, written, passes, compacted, traits)
    arrivals = _copied(random, written, starts, passes, alphabet, plain, traits)
    first_open = next((w.offset for w in written if w.kind == "open"), len(written))
    source_facts = LogFacts(
        log_start=min(starts[passes], first_open),
        end=first_open,
        high_watermark=len(written),
        log_append_time=append_time,
        compacted=compacted,
        retention_ms=_pick(random, (None, HOUR, 24 * HOUR)),
    )
    arrived, aborted_copies, facts = _destination(random, arrivals, traits)
    policy = Policy(now=NOON + HOUR) if plain else _policy(random)
    if not policy.with_timestamp and _chance(random, 0.5):
        traits.add("rewritten_times")
        arrived = tuple(dataclasses.replace(a, timestamp=NOON + HOUR + a.offset // 3) for a in arrived)
    return Scenario(
        _committed(random, source_facts),
        written,
        source_facts,
        passes,
        arrived,
        aborted_copies,
        facts,
        append_time,
        policy,
        frozenset(traits),
    )


def _chance(random: rnd.Random, probability: float) -> bool:
    return random.random() < probability


_T = t.TypeVar("_T")


def _pick(random: rnd.Random, options: t.Sequence[_T]) -> _T:
    return options[random.randrange(len(options))]


def _written(random: rnd.Random, size: int, alphabet: int, traits: set[str]) -> tuple[tuple[Written, ...], bool]:
    """What producers wrote, transactions and their markers included; and whether the broker stamped the times."""
    clock = _pick(
        random, ("same", "same", "steps", "steps", "back_by_ms", "back_by_hours", "append_time", "none", "half")
    )
    traits.add(f"clock_{clock}")
    now = NOON
    written: list[Written] = []
    transactional = _chance(random, 0.4)
    headers = _chance(random, 0.1)
    pace = _pick(random, (0.2, 0.02, 0.0))
    replays = alphabet > 0 and clock != "append_time" and _chance(random, 0.1)
    while len(written) < size:
        if replays and written and _chance(random, 0.2):
            traits.add("replayed")  # by the producer: the same records again, as old as they were
            first = random.randrange(len(written))
            again = written[first : first + 1 + random.randrange(12)]
            written += [dataclasses.replace(w, offset=len(written) + at) for at, w in enumerate(again)]
        fate = _pick(random, ("data", "data", "commit", "abort", "both")) if transactional else "data"
        if fate != "data":
            traits.add("transactions")
        for _unused in range(min(size - len(written), 1 + random.randrange(6))):
            now += _step(random, clock, pace)
            text = _pick(random, "abcdefghijklmnop"[:alphabet]) if alphabet else f"u{len(written)}"
            if headers and _chance(random, 0.5):
                text += "+h"
            aborted = fate == "abort" or (fate == "both" and _chance(random, 0.5))
            timestamp = NO_TIMESTAMP if clock == "none" or (clock == "half" and len(written) < size / 2) else now
            written.append(Written(len(written), "aborted" if aborted else "data", timestamp, text))
        for _unused in range({"data": 0, "both": 2}.get(fate, 1)):
            written.append(Written(len(written), "marker", now))
    if transactional and written and _chance(random, 0.2):
        traits.add("open_transaction")
        first = len(written) - 1 - random.randrange(min(4, len(written)))
        for index in range(first, len(written)):
            if written[index].kind != "marker" and (index == first or _chance(random, 0.7)):
                written[index] = dataclasses.replace(written[index], kind="open")
    return tuple(written), clock == "append_time"


def _step(random: rnd.Random, clock: str, pace: float) -> int:
    if clock == "same":
        return int(_chance(random, pace))
    if clock == "back_by_ms":
        return random.randrange(-3, 6)
    if clock == "back_by_hours" and _chance(random, 0.2):
        return random.randrange(-4, 5) * HOUR
    return random.randrange(4)


def _losses(
    random: rnd.Random, written: tuple[Written, ...], passes: int, compacted: bool, traits: set[str]
) -> tuple[list[int], tuple[Written, ...]]:
    """The log start in each stage (one more than there are passes), and what compaction took in which stage."""
    starts = [0] * (passes + 1)
    if _chance(random, 0.35):
        traits.add("expired")
        for stage in range(passes + 1):
            grown = random.randrange(len(written) + 1) if _chance(random, 0.4) else 0
            starts[stage] = max(starts[stage - 1] if stage else 0, grown)
    if compacted:
        traits.add("compacted")
        share = _pick(random, (0.0, 0.1, 0.3, 0.7))
        written = tuple(
            dataclasses.replace(w, compacted=random.randrange(passes + 1)) if _chance(random, share) else w
            for w in written
        )
    return starts, written


def _copied(
    random: rnd.Random,
    written: tuple[Written, ...],
    starts: list[int],
    passes: int,
    alphabet: int,
    plain: bool,
    traits: set[str],
) -> list[tuple[str, int, int | None]]:
    """(text, timestamp, origin) of everything that the replication tool's passes wrote, in their order."""
    times = [w.timestamp for w in written if w.kind != "marker"]
    runs_back = any(later < earlier for earlier, later in itertools.pairwise(times))
    uncommitted = _chance(random, 0.2)
    injected = _chance(random, 0.1)
    filtered = "" if plain or not _chance(random, 0.15) else _pick(random, "abcde"[: alphabet or 5])
    traits.update(name for name, on in (("read_uncommitted", uncommitted), ("headers_added", injected)) if on)
    size = len(written)
    arrivals: list[tuple[str, int, int | None]] = []
    earlier_end = 0
    for stage in range(passes):
        if stage == 0:
            start = random.randrange(size + 1) if not plain and _chance(random, 0.15) else 0
        elif not plain and _chance(random, 0.05):
            start = random.randrange(size + 1)
            if start > earlier_end:
                traits.add("skipped")
        else:
            start = 0 if _chance(random, 0.3) else random.randrange(earlier_end + 1)
        if start < earlier_end:
            traits.add("recopied")
        if stage == 0 and start > 0:
            traits.add("began_late")
        end = size if _chance(random, 0.6) else start + random.randrange(size - start + 1)
        kinds = ("data", "aborted", "open") if uncommitted else ("data",)
        batch = [w for w in written[start:end] if w.kind in kinds and w.offset >= starts[stage] and w.compacted > stage]
        way = "in_order" if plain else _pick(random, ("in_order", "in_order", "in_order", "drops", "reorders"))
        if filtered:
            traits.add("filtered")
            batch = [w for w in batch if not w.text.startswith(filtered)]
        elif way == "drops":
            traits.add("drops")
            batch = [w for w in batch if not _chance(random, 0.2)]
        elif way == "reorders" and not runs_back:
            traits.add("reorders")
            batch = _reordered(random, batch)
        if injected and not (stage == 0 and passes > 1 and _chance(random, 0.3)):  # or another tool went first
            batch = [dataclasses.replace(w, text=w.text.partition("+")[0] + "+x") for w in batch]
        arrivals += [(w.text, w.timestamp, w.offset) for w in batch]
        earlier_end = max(earlier_end, end)
    return arrivals


def _reordered(random: rnd.Random, records: list[Written]) -> list[Written]:
    """Some neighbouring batches swapped, as a producer's retries do that is not idempotent."""
    length = 1 + random.randrange(4)
    batches = [records[at : at + length] for at in range(0, len(records), length)]
    for at in range(len(batches) - 1):
        if _chance(random, 0.3):
            batches[at], batches[at + 1] = batches[at + 1], batches[at]
    return [record for batch in batches for record in batch]


def _destination(
    random: rnd.Random, arrivals: list[tuple[str, int, int | None]], traits: set[str]
) -> tuple[tuple[Arrived, ...], tuple[Arrived, ...], LogFacts]:
    """Where it all stands at the destination: between junk, others' records, markers and aborted data."""
    late = _chance(random, 0.1)
    compacted = _chance(random, 0.1)
    expired = _chance(random, 0.1)
    others, markers = _pick(random, (0.0, 0.0, 0.1, 0.4)), _pick(random, (0.0, 0.0, 0.1, 0.4))
    everything = list(arrivals)
    if _chance(random, 0.3):
        traits.add("junk")
        junk = [_foreign(random, everything, traits) for _unused in range(1 + random.randrange(6))]
        everything = junk + everything
    offset = random.randrange(3) if _chance(random, 0.3) else 0
    log_start, clock = offset, NOON
    arrived: list[Arrived] = []
    aborted: list[Arrived] = []
    for text, timestamp, origin in everything:
        while others and _chance(random, others):
            traits.add("foreign")
            stranger, when, _unused = _foreign(random, arrivals, traits)
            clock += random.randrange(3)
            arrived.append(Arrived(offset, clock if late else when, stranger, None))
            offset += 1
        if markers and _chance(random, markers):
            traits.add("markers_there")
            if _chance(random, 0.3):
                aborted.append(Arrived(offset, clock if late else timestamp, text, None))
                offset += 1
            offset += 1
        clock += random.randrange(3)
        arrived.append(Arrived(offset, clock if late else timestamp, text, origin))
        offset += 1
    if markers and arrived:
        offset += random.randrange(2)
    end = offset
    if compacted:
        traits.add("compacted_there")
        arrived = [a for a in arrived if not _chance(random, 0.2)]
    if expired:
        traits.add("expired_there")
        log_start = random.randrange(log_start, end + 1)
    if late:
        traits.add("append_time_there")
    return (
        tuple(a for a in arrived if a.offset >= log_start),
        tuple(a for a in aborted if a.offset >= log_start),
        LogFacts(log_start, end, end + (random.randrange(3) if _chance(random, 0.1) else 0), late, compacted),
    )


def _foreign(
    random: rnd.Random, arrivals: list[tuple[str, int, int | None]], traits: set[str]
) -> tuple[str, int, None]:
    """Somebody else's record: mostly unlike any, sometimes equal but for its time, seldom equal altogether."""
    when = NOON + _pick(random, (0, random.randrange(-5, 30), random.randrange(-5, 30), -20 * HOUR, HOUR))
    if _chance(random, 0.02):
        when = NO_TIMESTAMP
    if not arrivals or not _chance(random, 0.1):
        return f"f{random.randrange(3)}", when, None
    text, timestamp, _unused = _pick(random, arrivals)
    traits.add("look_alike")
    if timestamp == NO_TIMESTAMP or _chance(random, 0.2):
        return text, timestamp, None
    return text, timestamp - 1 - random.randrange(2 * HOUR), None


def _committed(random: rnd.Random, facts: LogFacts) -> int:
    """Anywhere, the odd places more often than their share."""
    odd = (0, facts.log_start, facts.log_start - 1, facts.end, facts.high_watermark, facts.high_watermark + 1)
    if _chance(random, 0.25):
        return max(0, _pick(random, odd))
    return random.randrange(facts.high_watermark + 1)


def _policy(random: rnd.Random) -> Policy:
    return Policy(
        on_expired=_pick(random, ("count_back", "count_back", "count_back", "start", "first_visible", "fail")),
        on_no_anchor=_pick(random, ("by_retention", "by_retention", "start", "end", "fail")),
        tail_check=_pick(random, ("records", "records", "records", "offsets", "none")),
        with_timestamp=not _chance(random, 0.05),
        budget=_pick(random, (100_000, 100_000, 100_000, 30, 8)),
        now=NOON + _pick(random, (0, HOUR, 3 * HOUR, 30 * HOUR)),
    )
