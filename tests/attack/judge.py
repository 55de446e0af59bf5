# SPDX-License-Identifier: GPL-3.0-or-later

"""What every answer is held to, and what two answers are held to against each other."""

from __future__ import annotations

import collections
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.certificates import ContiguousToTheEnd
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Decision
from tests.attack.case import Case, Lately
from tests.attack.recheck import is_true
from tests.attack.rule import Answer, may_skip
from tests.attack.truth import Truth, has_later_times, is_doubted

# What breaks a promise. stopped: an error in place of an answer; ghost: skipped, though the source has lost it before anybody
# had consumed it; to come: repeated by what a tool still writes that keeps the order.
FAULTS = (
    "hang", "crash", "stopped", "lost", "ghost", "false exact", "too few", "advice loses", "to come", "outside",
    "contradict", "unseen", "untrue certificate",
)  # fmt: skip
# What is right, and could be better; balanced, later: a declared assumption that a tool has broken by chance (later records are
# outside of every certificate); not counted: skipped, and a verification that says that it has not counted everything has not
# seen it.
NEEDLESS = (
    "balanced", "later", "neighbours", "differs", "needless safe", "needless blocked", "false alarm", "undecided",
    "not counted",
)  # fmt: skip


class Finding(t.NamedTuple):
    """kind: one of FAULTS or NEEDLESS; way: near, whole, plan, ..."""

    kind: str
    way: str
    text: str


_TRUTHS: Lately[Truth] = Lately(1)  # several ways are asked of one case


def _truth(case: Case, is_merged: bool = False) -> Truth:
    return _TRUTHS.of((case,), is_merged, lambda: Truth(case, is_merged))


def judge(case: Case, way: str, answer: Answer, needless: bool = True) -> list[Finding]:
    """What is wrong with one answer. needless: also where it could be better."""
    found = [Finding(kind, way, text) for kind, text in _judge(_truth(case, way == "merged"), answer, needless)]
    if isinstance(answer.decision, Decision) and _is_balanced(case, answer.decision):
        found = [its._replace(kind="balanced") if its.kind in ("lost", "false exact") else its for its in found]
    if isinstance(answer.decision, Decision) and not is_true(case, answer.decision):
        found.append(Finding("untrue certificate", way, f"{answer}: {answer.decision.certificate}"))
    return found


def _is_balanced(case: Case, decision: Decision) -> bool:
    """Has the tool left out exactly as many records from the offset on as it wrote more than once, or too late?"""
    first = decision.after
    if not isinstance(decision.certificate, ContiguousToTheEnd) or first is None:
        return False
    wanted = {each.offset for each in case.source if each.offset >= first.source and not each.gone}
    copies = [copy for copy in case.destination if copy.offset >= first.destination]
    left_out = wanted - {copy.origin for copy in copies}
    return len(left_out) > 0 and len(copies) == len(wanted)


def _judge(truth: Truth, answer: Answer, needless: bool) -> t.Iterator[tuple[str, str]]:
    edges = truth.case.destination_edges
    for name, offset in (("lost", answer.offset), ("advice loses", answer.lossless)):
        if offset is None:
            continue
        if not edges.start <= offset <= edges.end:
            yield "outside", f"{answer}: {offset} lies outside of [{edges.start}, {edges.end}]"
        elif skipped := truth.skipped(offset):
            yield name, f"{answer}: skips {skipped}"
    if answer.offset is not None and (ghosts := _ghosts(truth.case, answer.offset)):
        yield "ghost", f"{answer}: skips {ghosts}, which only the destination has"
    if answer.offset is not None and answer.repeats is not None:
        stated = 0 if answer.verdict == "exact" else answer.repeats
        if (repeats := truth.repeats(answer.offset)) > stated:
            yield "too few" if stated else "false exact", f"{answer}: repeats {repeats}"
        elif (repeats := truth.repeats(answer.offset, to_come=True)) > stated:
            yield (
                "to come" if truth.is_in_order else "later",
                f"{answer}: repeats {repeats} when the tool has caught up",
            )
        elif isinstance(answer.decision, Decision) and (repeats := truth.repeats_with_lost(answer.offset)) > stated:
            kind = "too few" if stated else "false exact"
            yield kind, f"{answer}: repeats {repeats} with those that the source has lost"
    if answer.verdict == "exact" and truth.hides_all_consumed:
        yield "false exact", f"{answer}: an open transaction hides copies of consumed records, the only ones"
    if needless and answer.verdict != "exact" and truth.is_plain:
        yield f"needless {answer.verdict}", f"{answer}, and {truth.best[0]} is exact"


def _ghosts(case: Case, offset: int) -> list[int]:
    """Unconsumed records that have expired, and stand before the offset, where counting back from what is left finds them.

    So it is where all records of one time are unlike, and the tool has copied them in their order, without a gap. It may have
    begun again, and been interrupted, but never before the first record that is there.
    """
    if case.options.on_expired != "count_back" or case.source_edges.compacted:
        return []
    records = [record for record in case.source if record.kind == "data"]
    texts = {record.offset: record.text for record in records}
    copies = [(copy.origin, copy.offset) for copy in case.destination if copy.origin in texts]
    last_copies = dict(copies)  # in the order of the first ones
    origins = list(last_copies)
    first = next((at for at, record in enumerate(records) if [record.offset] == origins[:1]), len(records))
    in_order = origins == [record.offset for record in records[first : first + len(origins)]]
    if not in_order or len({(record.text, record.time) for record in records}) < len(records):
        return []
    following = collections.Counter(texts[origin] for origin, at in copies if at >= offset)
    unconsumed = [origin for origin in sorted(origins, reverse=True) if origin >= case.committed]
    skipped = []
    for origin in unconsumed:  # the last ones are served first
        following[texts[origin]] -= 1
        if following[texts[origin]] < 0 and origin < case.source_edges.start:
            skipped.append(origin)
    return skipped


def verification(case: Case, offsets: t.Sequence[int], judged: t.Sequence[tuple[int, int]]) -> list[Finding]:
    """Whoever verifies one of these offsets objects to it when it skips or repeats, and only then.

    `undecided`: repeats that no log shows, because in another world with these logs nothing repeats: copies of equal records
    have the times that this one would give them, a second copy with another time is somebody else's record, somebody else's
    record looks like the copy, or a record after the last stable offset that equals a consumed one is committed. Or what the
    definition counts as skipped: see may_skip().
    """
    truth = _truth(case)
    found = []
    for offset, (skipped, repeated) in zip(offsets, judged, strict=True):
        true = truth.skipped(offset), truth.repeats(offset)
        text = f"offset {offset} skips {true[0]} and repeats {true[1]}, counted {skipped} and {repeated}"
        may_be_others = is_doubted(case) or _may_commit(case) or has_later_times(case) or _has_twin(case)
        if skipped < true[0] or (repeated < true[1] and not may_be_others):
            found.append(Finding("unseen", "verify", text))
        elif repeated < true[1]:
            found.append(Finding("undecided", "verify", text))
        elif skipped and not true[0]:
            found.append(Finding("undecided" if may_skip(case, offset) else "false alarm", "verify", text))
    return found


def _has_twin(case: Case) -> bool:
    """Has somebody else written a record with the content and the time of a consumed one?"""
    consumed = {(r.text, r.time) for r in case.source if r.offset < case.committed and r.kind == "data" and not r.gone}
    return any(copy.origin is None and (copy.text, copy.time) in consumed for copy in case.destination)


def _may_commit(case: Case) -> bool:
    """Does an aborted record equal a consumed one, while an open transaction before it hides that it was aborted?"""
    consumed = {r.text for r in case.source if r.offset < case.committed and r.kind == "data" and not r.gone}
    stable = case.source_edges.stable
    return any(r.kind == "aborted" and r.offset >= stable and r.text in consumed for r in case.source)


def contradiction(case: Case, one: Answer, other: Answer, ways: str) -> list[Finding]:
    """Two exact answers have to stand at one place: no record lies between them, destination-only ones included.

    `differs` says that they do not, though the truth does not object to either.
    """
    if one.verdict != "exact" or other.verdict != "exact" or one.offset is None or other.offset is None:
        return []
    low, high = sorted((one.offset, other.offset))
    if any(low <= copy.offset < high and copy.kind == "data" for copy in case.destination):
        wrong = any(found.kind in FAULTS for answer in (one, other) for found in judge(case, "", answer))
        return [Finding("contradict" if wrong else "differs", ways, f"{one}, but {other}")]
    return []
