# SPDX-License-Identifier: GPL-3.0-or-later

"""Groups that go back: they consume what a world's tool has copied, records come to either side, and they return.

A world of worlds.py is the migration: its destination is the cluster that a group leaves now, and its source the one where the
group goes on. The truth is by provenance and content: what a group has not consumed, and what of it is where it goes on.
"""

from __future__ import annotations

import collections
import dataclasses
import random as rnd
import re
import traceback
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Log
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.new_records import with_new_records
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.cluster_logs import ClusterLogs
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import Draft, decided
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.match_on import MatchOn
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import PlanEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnNewRecords
from ansible_collections.streamshift.kafka.plugins.module_utils._model.progress import silent
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason
from tests.attack import rule
from tests.attack.broker import Broker, Logs
from tests.attack.case import Case, Copy, Edges, Original
from tests.attack.classes import CLASSES, DECLARED
from tests.attack.judge import FAULTS, Finding, judge
from tests.attack.tally import Said, Tally, tallied
from tests.attack.truth import Truth
from tests.attack.ways import crash
from tests.attack.worlds import world
from tests.support.listed_clusters import DESTINATION, SOURCE

# Records that came since are unlike all others, or may equal any: then one may be taken for another, which is declared.
UNLIKE, EQUAL = "returned", DECLARED + "returned, equal records"
# The tool on the way there has changed times, and whoever returns compares them all the same, against docs/going-back.md.
TIMES = DECLARED + "returned, changed times"
RETURNS = (UNLIKE, EQUAL, TIMES)
_WAYS = {OnNewRecords.FAIL: "return", OnNewRecords.LEAVE: "return, leave"}
_MIGRATIONS = [name for name in CLASSES if not name.startswith(DECLARED)]
_P = TopicPartition("orders", 0)
_COUNTED = re.compile(r"only at the source: ([\d,]+) unconsumed")


def attack_returns(name: str, seeds: range) -> Tally:
    """What is said of each position in these worlds, by both values of on_new_records, and what is wrong with it."""
    return tallied(name, "return", ((seed, said_of(name, seed)) for seed in seeds))


def said_of(name: str, seed: int) -> t.Iterator[Said]:
    """Each position, each way."""
    random = rnd.Random(f"{name} {seed}")
    for case, met in _returns(random, alike=name == EQUAL, with_changed_times=name == TIMES):
        for policy, way in _WAYS.items():
            try:
                with rule.thresholds(case.scaled):
                    near = rule.near(case)
                    entry = plan(case, near, policy)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
                traceback.clear_frames(error.__traceback__)
                yield way, None, case, [crash(way, error)]
                continue
            reason = None if entry.reason is None else entry.reason.value
            answer = rule.Answer(entry.verdict.value, entry.offset, entry.repeats, reason, entry.lossless)
            found = [its for its in judge(case, way, answer, needless=False) if its.kind in FAULTS]
            if any(its.kind == "balanced" for its in judge(case, way, near)) or _is_taken_for_another(case, met):
                found = []  # declared
            found += [Finding(kind, way, text) for kind, text in _wrong(case, met, entry, policy)]
            yield way, answer, case, found or [Finding(*its, way, str(answer)) for its in _needless(case, met, entry)]


class Met(t.NamedTuple):
    """Which record is which: by the offsets of the cluster that the group leaves, and by those where it goes on."""

    at_source: dict[int, t.Hashable]
    at_destination: dict[int, t.Hashable]


def _returns(random: rnd.Random, *, alike: bool, with_changed_times: bool) -> t.Iterator[tuple[Case, Met]]:
    """Positions at which a group returns, in one world.

    :param alike: what came since may equal other records.
    :param with_changed_times: times are compared, even those that the tool or the broker has changed on the way there.
    """
    migrated = world(random.choice(_MIGRATIONS), random.randrange(10**9)).cases[0]
    edges = migrated.destination_edges
    left = [Original(c.offset, c.time, c.text, c.kind) for c in migrated.destination]
    met = Met({c.offset: ("new", c.offset) if c.origin is None else c.origin for c in migrated.destination}, {})
    first: dict[int, int] = {}
    for copy in migrated.destination:
        if copy.kind == "data" and copy.origin is not None and copy.offset >= edges.start:
            first.setdefault(copy.origin, copy.offset)
    stamped = migrated.source_edges.append_time
    back = [
        Copy(r.offset, r.time, r.text, first.get(r.offset), r.kind, stamped)
        for r in migrated.source
        if not r.gone and migrated.source_edges.start <= r.offset < migrated.source_edges.stable
    ]
    met.at_destination.update({copy.offset: copy.offset for copy in back})
    texts = [record.text for record in left if record.kind == "data"] or ["a"]
    time = max([*(record.time for record in left), *(copy.time for copy in back)], default=0)
    end, back_end = edges.end, migrated.source_edges.stable
    new = []
    for number in range(random.choice((0, 0, 1, 2, 5))):
        text = random.choice(texts) if alike and random.random() < 0.5 else f"n{number}"
        new.append(Original(end + number, time + 1 + random.randrange(5) + number, text))
        met.at_source[end + number] = ("new", end + number)
    copied = random.choice((0, len(new), random.randrange(len(new) + 1)))
    coming: list[tuple[Original | None, str, int]] = [(its, its.text, its.time) for its in new[:copied]]
    for number in range(random.choice((0, 0, 1, 3))):
        text = random.choice(texts) if alike and random.random() < 0.5 else f"o{number}"
        coming.insert(random.randrange(len(coming) + 1), (None, text, time + random.randrange(9)))
    for origin, text, stamp in coming:
        met.at_destination[back_end] = ("old", back_end) if origin is None else met.at_source[origin.offset]
        back.append(Copy(back_end, stamp, text, origin and origin.offset, "data", stamped))
        back_end += 1
    source, destination = (*left, *new), tuple(back)
    source_edges = dataclasses.replace(edges, stable=end + len(new), end=end + len(new))
    back_edges = Edges(migrated.source_edges.start, back_end, back_end, stamped, migrated.source_edges.compacted)
    odd = [edges.start, end, source_edges.end, source_edges.end - 1]
    picked = {random.choice(odd) for _unused in range(2)}
    picked |= {random.randrange(edges.start, source_edges.end + 1) for _unused in range(3)}
    times = {record.offset: record.time for record in migrated.source}
    kept = not edges.append_time and all(c.origin is None or c.time == times[c.origin] for c in migrated.destination)
    with_timestamp = migrated.options.with_timestamp and (kept or with_changed_times)
    options = dataclasses.replace(migrated.options, search_limit=100_000, with_timestamp=with_timestamp)
    for at in sorted(its for its in picked if its >= edges.start):
        yield Case(at, source, source_edges, destination, back_edges, (), options, migrated.scaled), met


class _Cluster(ClusterLogs):
    """What use cases read of one partition."""

    def __init__(self, connection: t.Any, broker: Broker, match_on: MatchOn, *, with_open: bool) -> None:
        super().__init__(connection, match_on, with_open, {_P: Log(broker.facts, with_open)})
        self._broker = broker

    def learn(self, partitions: t.Collection[TopicPartition]) -> None:
        """Nothing is written meanwhile."""

    def read(self, spans: t.Any, committed: bool = True) -> None:
        assert committed
        for wanted in {span for _partition, span in spans}:
            for span in self.logs[_P].unread(*wanted):
                self.logs[_P].add(span, self._broker.read(span))


def plan(case: Case, near: rule.Answer, policy: OnNewRecords) -> PlanEntry:
    """The entry of a group that returns there, as translate() makes it of small logs. near: what the rule says."""
    match_on = MatchOn() if case.options.with_timestamp else MatchOn(("key", "value"))
    entry = decided(Draft("g", _P, "g", _P, CommittedOffset(case.committed)), near.decision, match_on)
    logs = Logs(case)
    source = _Cluster(SOURCE, logs.source, match_on, with_open=True)
    destination = _Cluster(DESTINATION, logs.destination, match_on, with_open=False)
    return {"": entry, **with_new_records({"": entry}, source, destination, policy, 100_000, 0, silent)}[""]


def _visible(case: Case) -> list[Original]:
    return [r for r in case.source if r.kind == "data" and r.offset >= case.source_edges.start]


def _lacking(case: Case, met: Met, offset: int) -> collections.Counter[str]:
    """The records that a group has not consumed and does not get from this offset on, by their contents."""
    consumed = {its for at, its in met.at_source.items() if at < case.committed}
    wanted = {met.at_source[r.offset]: _bare(r.text) for r in _visible(case) if r.offset >= case.committed}
    due = collections.Counter(text for its, text in wanted.items() if its not in consumed)
    return due - collections.Counter(_bare(c.text) for c in case.destination if c.kind == "data" and c.offset >= offset)


def _skipped_at_the_end(case: Case, met: Met, offset: int) -> list[int]:
    """What only the cluster has where the group goes on, after all that the group has consumed, and before this offset.

    Nobody can tell where such a record looks like one that the group has consumed, which is declared, or where the cluster that
    the group leaves has lost what tells.
    """
    consumed = {its for at, its in met.at_source.items() if at < case.committed}
    last = max((at for at, its in met.at_destination.items() if its in consumed), default=-1)
    if case.source_edges.compacted or (case.source_edges.start > 0 and last < 0):
        return []
    others = [copy for copy in case.destination if copy.offset > last and copy.kind == "data" and copy.origin is None]
    with_times = case.options.with_timestamp and not (
        case.source_edges.append_time or case.destination_edges.append_time
    )
    seen = {_look(record, with_times) for record in case.source if record.offset < case.committed}
    if any(_look(copy, with_times) in seen for copy in others):
        return []
    return [copy.offset for copy in others if copy.offset < offset]


def _is_taken_for_another(case: Case, met: Met) -> bool:
    """Has the group consumed somebody else's record that is altogether like one where it goes on, whose own copy is not?

    So it is where the tool has given that copy other headers.
    """
    texts = {record.offset: record.text for record in case.source}

    def look(record: Original | Copy) -> tuple[str, int | None]:
        return record.text, record.time if case.options.with_timestamp else None

    unlike = {look(c) for c in case.destination if c.origin is not None and texts[c.origin] != c.text}
    others = (r for r in case.source if r.offset < case.committed and met.at_source.get(r.offset) == ("new", r.offset))
    return any(look(record) in unlike for record in others)


def _look(record: Original | Copy, with_times: bool) -> tuple[str, int | None]:
    return _bare(record.text), record.time if with_times else None


def _bare(text: str) -> str:
    return text.partition("+")[0]


def _wrong(case: Case, met: Met, entry: PlanEntry, policy: OnNewRecords) -> t.Iterator[tuple[str, str]]:
    if entry.offset is None:
        return
    text = f"{entry.verdict.value} {entry.offset} {entry.detail or ''}"
    if skipped := _skipped_at_the_end(case, met, entry.offset):
        yield "lost", f"{text}: skips {skipped}, which only the destination has"
    lacking = _lacking(case, met, entry.offset)
    counted = _COUNTED.search(entry.detail or "")
    told = int(counted[1].replace(",", "")) if counted and entry.reason is Reason.NEW_RECORDS else 0
    if lacking.total() > told:
        yield "lost" if policy == OnNewRecords.FAIL else "too few", f"{text}: the group does not get {dict(lacking)}"


def _needless(case: Case, met: Met, entry: PlanEntry) -> t.Iterator[tuple[str]]:
    """Blocked, where reading both logs tells an offset that neither skips nor repeats, and all records are there."""
    truth = Truth(case)
    if entry.offset is None and truth.is_plain and not _lacking(case, met, truth.best[0]):
        yield ("needless blocked",)
