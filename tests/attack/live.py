# SPDX-License-Identifier: GPL-3.0-or-later

"""What is wrong with what is said of worlds that move.

An answer is wrong if it is so in every picture of the world: at each moment at which edges of logs were told, at the end, and
where the destination's were told before the source's. Then it does not hold, whichever of these readings counts. `stopped` is
an error that the user reads, `false alarm` an objection to a right offset.
"""

from __future__ import annotations

import bisect
import collections
import functools
import traceback
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._comparing.claims import Claim
from ansible_collections.streamshift.kafka.plugins.module_utils._model.cluster_identity import LogRange, Traits
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import MigrationError
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan, PlanEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.report import Finding as Verified
from tests.attack import exhaustive, naive, rule
from tests.attack.case import Case
from tests.attack.driven import GROUPS, Commits, plan, verify
from tests.attack.judge import FAULTS, Finding, judge
from tests.attack.manners import MANNERS
from tests.attack.moving import TOPIC, Topic, World, case_of, topic_of
from tests.attack.requests import Hang, Requests
from tests.attack.tally import Said, Tally, tallied
from tests.attack.truth import Truth
from tests.attack.ways import as_one, crash

VERIFIED = 4  # entries of a plan
FEW = 4  # records and copies of one content, of which every history is tried

Entries = t.Mapping[tuple[str, TopicPartition], PlanEntry]


def attack_moving(name: str, seeds: range) -> Tally:
    """Everything that is said of these worlds, and what is wrong with it."""
    return tallied(name, "plan", ((seed, said_of(name, seed)) for seed in seeds))


def said_of(name: str, seed: int) -> t.Iterator[Said]:
    """Everything that is said of one world, and what is wrong with it."""
    return _said_of(World(MANNERS[name], f"{name} {seed}"))


def plan_noted(world: World, entries: Entries) -> Plan:
    """A plan with these entries, which has noted where the logs start and end now. Their topics keep their ids."""

    def traits(logs: t.Iterable[Topic]) -> Traits:
        return Traits((), {TOPIC: "id"}, {TOPIC: tuple(LogRange(log.edges().start, log.edges().end) for log in logs)})

    return Plan("", "", "", tuple(entries.values()), traits(world.sources), traits(world.copies))


def _said_of(world: World) -> t.Iterator[Said]:
    """A plan and its verification; a second plan later, which keeps what still holds; and the same offsets, if they are."""
    commits = world.commits(GROUPS)
    entries: Entries = {}
    for way in ("plan", "again"):
        requests = Requests(world)
        previous = plan_noted(world, entries) if entries else None
        wait = world.random.choice((0, 0, 3))
        entries, failed = _tried(way, functools.partial(plan, requests, commits, "records", previous, wait))
        yield from _failures(way, world, commits, failed)
        yield from _judged(way, world, commits, requests.pictures, entries)
        yield from _verified(world, commits, requests, entries)
        for _unused in range(world.random.randrange(6)):
            world.happen()
        moved = world.commits(GROUPS)
        commits = [world.random.choice((its, other)) for its, other in zip(commits, moved, strict=True)]
    if world.manner.merged == "no":
        requests = Requests(world)
        entries, failed = _tried("identical", functools.partial(plan, requests, commits, "identical"))
        yield from _failures("identical", world, commits, failed)
        for way, answer, case, found in _judged("identical", world, commits, requests.pictures, entries):
            yield way, answer, case, [its for its in found if its.kind in FAULTS]


_Result = t.TypeVar("_Result")


def _tried(way: str, ask: t.Callable[[], dict[t.Any, _Result]]) -> tuple[dict[t.Any, _Result], Finding | None]:
    try:
        return ask(), None
    except Hang as error:
        return {}, Finding("hang", way, str(error))
    except MigrationError as error:
        return {}, Finding("stopped", way, str(error))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
        traceback.clear_frames(error.__traceback__)
        return {}, crash(way, error)


def _failures(way: str, world: World, commits: Commits, failed: Finding | None) -> t.Iterator[Said]:
    if failed is not None:
        yield way, None, case_of(world.as_it_is(), 0, commits[0][0]), [failed]


def _judged(way: str, world: World, commits: Commits, moments: list[World], entries: Entries) -> t.Iterator[Said]:
    of_group: dict[str, list[PlanEntry]] = collections.defaultdict(list)
    for (group, _partition), entry in sorted(entries.items()):
        of_group[group].append(entry)
    for group, its in of_group.items():
        stands = commits[int(group[1:])]
        answers = list(map(_answer, its))
        if world.manner.merged == "no" and world.manner.route == "same":
            for partition, answer in enumerate(answers):
                cases = (case_of(moment, partition, stands[partition]) for moment in reversed(moments))
                yield way, answer, *_wrong_in_all(cases, functools.partial(_wrong, way, answer))
        else:
            yield from _judged_together(way, world, stands, moments, answers)


def _judged_together(
    way: str, world: World, stands: t.Sequence[int], moments: list[World], answers: list[rule.Answer]
) -> t.Iterator[Said]:
    """All partitions of a topic; of those that are blocked, everything is read."""
    only = set(FAULTS) if world.manner.merged != "no" else {"lost"}
    last = None
    found: list[list[Finding]] = []
    for moment in reversed(moments):
        topic = topic_of(moment, stands)
        if world.manner.merged == "no":
            answers = [
                its if its.offset is not None else its._replace(offset=edges.start, verdict="safe", repeats=None)
                for its, edges in zip(answers, topic.edges, strict=True)
            ]
        joined = as_one(topic, answers)
        last = last or joined
        found.append([] if joined is None else [its._replace(way=way) for its in joined[2] if its.kind in only])
        if not found[-1]:
            break
    if last is not None:
        yield way, last[1], last[0], _common(found)


def _answer(entry: PlanEntry) -> rule.Answer:
    reason = None if entry.reason is None else entry.reason.value
    return rule.Answer(entry.verdict.value, entry.offset, entry.repeats, reason, entry.lossless)


def _wrong(way: str, answer: rule.Answer, case: Case) -> list[Finding]:
    if answer.reason == "internal_error":
        return [Finding("crash", way, str(answer))]
    found = [its for its in judge(case, way, answer, needless=False) if its.kind in FAULTS]
    return found or [Finding(kind, way, text) for kind, text in _needless(case, answer)]


def _needless(case: Case, answer: rule.Answer) -> t.Iterator[tuple[str, str]]:
    """Compared with what every history of both logs allows, or where these are too many, with counting both."""
    if answer.verdict == "exact" or (answer.reason in ("expired", "caught_up", "open_transaction")):
        return
    if (
        answer.reason == "source_lost_records" and case.source_edges.compacted
    ):  # the definition does not know what is lost
        return
    logs = _naive(case)
    if logs is not None:
        offsets = [copy.offset for copy in case.destination if copy.kind == "data"]
        at, lossless = (its and bisect.bisect_left(offsets, its) for its in (answer.offset, answer.lossless))
        its_places = answer._replace(offset=at, lossless=lossless)  # which copy it is, counted from 0
        best, at = logs.best
        if Truth(case).repeats(offsets[at - 1] + 1 if at else case.destination_edges.start, True) > best:
            return  # the definition takes somebody else's record for one that is still to come
        yield from (its for its in exhaustive.judge(logs, its_places) if its[0].startswith("needless"))
        return
    with rule.thresholds(0):
        counted = rule.count(case)
    if counted.verdict == "exact" and not Truth(case).repeats(counted.offset or 0, True):
        yield f"needless {answer.verdict}", f"{answer}, and counting says {counted}"


def _naive(case: Case) -> naive.Logs | None:
    """None where there are too many histories. Compaction loses records as retention does: their copies may equal others."""

    def thing(record: t.Any, stamped: bool) -> naive.Thing:
        return naive.Thing(record.text.partition("+")[0], None if stamped else record.time)

    edges = case.source_edges
    left = [r for r in case.source if r.kind in ("data", "open") and not r.gone and edges.start <= r.offset < edges.end]
    source = [thing(record, False) for record in left]
    copies = [thing(copy, copy.stamped) for copy in case.destination if copy.kind == "data"]
    most = max((n for its in (source, copies) for n in collections.Counter(x.content for x in its).values()), default=0)
    if most > FEW or any(record.kind == "aborted" for record in case.source):
        return None
    consumed = sum(record.offset < case.committed for record in left)
    return naive.Logs(source, copies, consumed, edges.start > 0 or any(record.gone for record in case.source))


def _wrong_in_all(cases: t.Iterable[Case], wrong: t.Callable[[Case], list[Finding]]) -> tuple[Case, list[Finding]]:
    """The last case, and what is wrong in each of them."""
    found: list[list[Finding]] = []
    last = None
    for case in cases:
        last = last or case
        found.append(wrong(case))
        if not found[-1]:
            break
    assert last is not None
    return last, _common(found)


def _common(found: t.Sequence[list[Finding]]) -> list[Finding]:
    kinds = [{its.kind for its in each} for each in found]
    return [its for its in found[0] if all(its.kind in each for each in kinds)] if found else []


def _verified(world: World, commits: Commits, requests: Requests, entries: Entries) -> t.Iterator[Said]:
    """Some of the plan's offsets, and some that are wrong, as they are claimed; of one plan in two, as it takes long."""
    random = world.random
    if random.random() < 0.5:
        return
    limit = random.choice((None, None, 3, 8))
    way = "verify" if limit is None else "verify, limit"
    claims = []
    for entry in random.sample([*entries.values()], min(VERIFIED, len(entries))):
        if world.manner.merged == "no" and world.manner.route == "same" and entry.offset is not None:
            edges = world.copies[entry.partition.partition].edges()
            for by in (0, random.choice((-1, 1, 10))):
                at = min(max(entry.offset + by, edges.start), edges.end)
                stands = ((entry.source[0].partition, entry.source[0].offset or 0),)
                claims.append(Claim(entry.group, stands, ((entry.partition, at),), None if by else entry.repeats))
    if not claims:
        return
    ask = functools.partial(verify, requests, claims, limit, random.random() < 0.5)
    found, failed = _tried(way, lambda: dict(enumerate(ask())))
    yield from _failures(way, world, commits, failed)
    pictures = requests.pictures
    for number, its in found.items():
        [(where, committed)], [(_there, offset)] = claims[number].source, claims[number].destination
        truths = Pictured(pictures, where.partition, committed)
        found_wrong = list(_objections(way, truths, offset, claims[number].repeats, its))
        yield way, None, case_of(pictures[-1], where.partition, committed), found_wrong


class Pictured:
    """One position in all pictures of a world; the last one is looked at first, as most answers are right for it."""

    def __init__(self, pictures: t.Sequence[World], partition: int, committed: int) -> None:
        self._of = partition, committed
        self._pictures = pictures[::-1]
        self._truths: list[Truth] = []

    def __iter__(self) -> t.Iterator[Truth]:
        for at, picture in enumerate(self._pictures):
            if at == len(self._truths):
                self._truths.append(Truth(case_of(picture, *self._of)))
            yield self._truths[at]


def _objections(way: str, truths: Pictured, offset: int, repeats: int | None, its: Verified) -> t.Iterator[Finding]:
    kinds = {flaw.kind.value for flaw in its.problems}
    text = f"offset {offset}: {'; '.join(f'{flaw.kind.value}: {flaw.detail}' for flaw in its.problems) or 'no problem'}"
    if not kinds & {"skipped", "beyond_end"} and all(truth.skipped(offset) for truth in truths):
        skipped = next(iter(truths)).skipped(offset)
        if its.complete:
            yield Finding("unseen", way, f"{text}, and it skips {skipped}")
        elif its.compared and "not_examined" not in kinds:
            yield Finding("not counted", way, f"{text}, of what was counted, and it skips {skipped}")
        return
    if "skipped" in kinds and not any(truth.skipped(offset) for truth in truths):
        is_outside = repeats is None and not its.complete  # of no plan, and a second copy is outside the limit
        may_skip = is_outside or any(rule.may_skip(truth.case, offset) for truth in truths)
        kind = "undecided" if may_skip else "false alarm"
        yield Finding(kind, way, f"{text}, and it skips nothing")
    if not kinds & {"repeated", "absent"} or all(truth.skipped(offset) for truth in truths):
        return
    if "repeated" in kinds and all(
        max(truth.repeats(offset, True), truth.reread(offset)) <= (repeats or 0) for truth in truths
    ):
        yield Finding("false alarm", way, f"{text}, and it repeats no more than {repeats}")
    if "absent" in kinds and all(_only_lags(truth.case) for truth in truths):
        yield Finding("false alarm", way, f"{text}, and all that is missing is still to come")


def _only_lags(case: Case) -> bool:
    """Is no record without a copy before one that has a copy?"""
    copied = {copy.origin for copy in case.destination if copy.kind == "data" and copy.origin is not None}
    unconsumed = (r for r in case.source if r.kind == "data" and not r.gone and r.offset >= case.committed)
    return all(record.offset in copied or record.offset > max(copied, default=-1) for record in unconsumed)
