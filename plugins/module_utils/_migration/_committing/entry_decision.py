# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a commit does with every entry of a plan, given what stands at the destination. Pure.

The preview, the verification and the commit ask here alone.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..._model.documents import utc_text
from ..._model.errors import DestinationChanged, Refused
from ..._model.faults import all_of
from ..._model.group_state import CommittedOffset, GroupReading, commit_text, same_commit
from ..._model.notes import Note, NoteKind
from ..._model.option_names import at_destination, option_name, ways
from ..._model.plan import PlanEntry, SourcePosition
from ..._model.policies import OnAdvance, OnRewind
from ..._model.receipt import Key, Origin, Pending, Receipt, ReceiptEntry
from ..._model.records import TopicPartition
from ..._model.verdicts import Verdict
from ..._model.visible_text import group_partition, visible_name
from ..._model.wording import counted, first_of
from .conflicts import Target, Writes, entry_refusal, kept_by_policy
from .outcome import CommitOptions

_CONSUMED = "it has consumed since it was restored"
_SWAPPED = "at the destination, every group has gone further than the plan: source and destination may be swapped"
_KILLED = (
    "a run or a rollback that was to set the group may have been killed, so the receipt does not say whether it has consumed "
    "since; if a rollback was killed, run it again first"
)


@dataclasses.dataclass(frozen=True, slots=True)
class Ground:
    """What the decisions on entries rest on.

    readings: the destination's groups. one_cluster: there is no second one. ends: where logs end, for partitions of
    vanished(). goes_back: whether the plan moves every group back, between two clusters.
    """

    cluster: str
    readings: t.Mapping[str, GroupReading]
    receipt: Receipt
    options: CommitOptions
    one_cluster: bool = False
    ends: t.Mapping[TopicPartition, int] = dataclasses.field(default_factory=dict)
    goes_back: bool = False

    def committed(self, key: Key) -> Target:
        """What is committed at the destination."""
        return self.readings[key[0]].offsets.get(key[1])


def commit_writes(entries: t.Iterable[PlanEntry], ground: Ground) -> Writes:
    """What to commit so that every entry stands where the plan says: see decide_entry(), which may raise Refused."""
    writes, alone = Writes({}, []), set()
    entries = list(entries)
    ground = dataclasses.replace(ground, goes_back=not ground.one_cluster and _all_go_back(entries, ground))
    decided = all_of(lambda entry: decide_entry(entry, ground), entries)
    for entry, decision in zip(entries, decided, strict=True):
        match decision:
            case CommittedOffset() as target:
                writes.set[entry.key] = target
            case LeftAlone(line, has_consumed=True):
                writes.going_on[entry.key] = line
            case LeftAlone(line):
                writes.kept.append(line)
                alone.add(entry.group)
    writes.alone = frozenset(alone)
    return writes


def entries_to_write(entries: t.Iterable[PlanEntry], ground: Ground) -> list[PlanEntry]:
    """Those of the entries that commit_writes() would write, or refuse to."""

    def is_written(entry: PlanEntry) -> bool:
        try:
            return isinstance(decide_entry(entry, ground), CommittedOffset)
        except Refused:
            return True

    return [entry for entry in entries if is_written(entry)]


def moved_back(written: t.Iterable[PlanEntry], ground: Ground) -> list[Note]:
    """A note of the group-partitions that on_rewind lets go back at the destination, with what each consumes again there.

    written: what a commit writes. Of a reset, the plan has counted what it repeats of what the group had committed. Of any
    other offset, such as one that on_uncommitted or on_conflict asks for, it knows only what was consumed at the source.
    """
    clauses = []
    for entry in written:
        target, commit, earlier = entry.target, ground.committed(entry.key), ground.receipt.by_key.get(entry.key)
        is_migrated = earlier is not None and earlier.explains(commit)
        is_counted = ground.one_cluster and entry.is_reset and any(at.offset is not None for at in entry.source)
        if target is None or (is_counted and not is_migrated):
            continue
        if commit is not None and commit.offset > target.offset:
            clauses.append(f"{group_partition(*entry.key)} (up to {counted(commit.offset - target.offset, 'record')})")
        elif _vanished(earlier, ground):
            most = _rest(entry, target, ground)
            clauses.append(f"{group_partition(*entry.key)}{most and f' ({most})'}")
    shown = first_of(clauses)
    text = f"What these groups have consumed{at_destination()} after the plan's offsets is repeated: {shown}."
    return [Note(NoteKind.MOVED_BACK, text)] if clauses else []


def vanished(entries: t.Iterable[PlanEntry], ground: Ground) -> list[PlanEntry]:
    """The entries that were written and read back earlier, and of which the destination has no commit any more."""
    return [
        entry
        for entry in entries
        if entry.offset is not None and _vanished(ground.receipt.by_key.get(entry.key), ground)
    ]


class LeftAlone(t.NamedTuple):
    """An entry that is left alone, and why. has_consumed: its group goes on where it was migrated to."""

    line: str
    has_consumed: bool = False


def decide_entry(entry: PlanEntry, ground: Ground) -> CommittedOffset | LeftAlone | None:
    """What a commit does with an entry: what it writes, why it leaves it alone, or None where it stands right.

    Raises Refused where the destination's commit is not what the plan expects, and where a policy says fail.
    """
    target, commit, earlier = entry.target, ground.committed(entry.key), ground.receipt.by_key.get(entry.key)
    if target is None or same_commit(commit, target):
        return None
    reading, ours = ground.readings[entry.group], ground.receipt.line_of(entry)
    # Whoever restores a backup again wants what it has, whatever the group has consumed since.
    is_restored = ground.one_cluster and entry.is_own and not entry.is_reset
    standing = None if is_restored else earlier
    settled = standing if standing is not None and standing.settles(entry, one_cluster=ground.one_cluster) else None
    if settled is not None and commit is not None and _goes_on(entry, settled, commit, target):
        # Nothing syncs the offsets of a group that is reset inside its cluster, so a consumer that uses assign() has committed.
        if settled.accounts_for(reading, is_consumed=ground.one_cluster and entry.is_reset):
            line = f"{group_partition(*entry.key)}: migrated earlier, has consumed since: left at {commit_text(commit)}"
            return LeftAlone(line, has_consumed=True)
        return _unexplained(entry, target, commit, settled, ground)
    if standing is not None and _vanished(standing, ground):
        return _again(entry, target, standing, ground)
    if settled is not None and _moved_back(entry, settled, commit):
        if ground.options.on_advance == OnAdvance.KEEP:
            return LeftAlone(
                f"{group_partition(*entry.key)}: migrated earlier, moved back since: left at {commit_text(commit)}"
            )
        raise entry_refusal(
            entry.key,
            f"the group was migrated to {commit_text(settled.written)} {_when(settled)}, and somebody has moved it back to "
            f"{commit_text(commit)} since",
            ground.cluster,
            remedy=ways(
                ("on_advance", f"set {option_name('on_advance')} to keep to leave such group-partitions alone"),
                ("", "roll back and migrate again to set it anew"),
            ),
            error=DestinationChanged,
        )
    is_expected = (commit and commit[:2]) == (entry.expected and entry.expected[:2])  # whatever the leader epoch
    is_known = earlier is not None and (
        same_commit(commit, earlier.written) or (is_restored and earlier.explains(commit))
    )
    if not is_expected and not is_known:
        raise entry_refusal(
            entry.key,
            f"the committed offset{at_destination()} has changed since the plan was made: expected "
            f"{commit_text(entry.expected)}, found {commit_text(commit)}",
            ground.cluster,
            remedy="find out who commits there, then plan again",
            error=DestinationChanged,
        )
    has_consumed = is_restored and ours is not None and ours.accounts_for(reading)
    ahead = 0 if commit is None else commit.offset - target.offset
    why = _SWAPPED if ground.goes_back else _CONSUMED if has_consumed else None
    if is_restored and ahead < 0:  # elsewhere, another group may have consumed what is between
        why = f"the group then skips up to {counted(-ahead, 'offset')}"
    if ours is not None and (ours.pending is Pending.ROLLBACK or ours.is_replaced(commit, undoes_last=False)):
        why = _KILLED
    policies = ground.options.on_rewind, ground.options.on_advance
    kept = kept_by_policy(entry.key, commit, target, *policies, ground.cluster, why=why)
    if kept is not None:
        return LeftAlone(f"{kept}: {_CONSUMED if has_consumed else _skips(ahead)}" if ahead > 0 else kept)
    if earlier is not None and (commit is None or ahead < 0) and not ground.one_cluster:
        _check_same_sources(entry, earlier, ground.cluster)
    return target


def _check_same_sources(entry: PlanEntry, earlier: ReceiptEntry, cluster: str) -> None:
    """Raise Refused where an earlier run made the entry of what the plan knows nothing of: another group, or another topic."""
    if _names(earlier.source) <= _names(entry.source) or not entry.source or not earlier.is_confirmed:
        return
    earlier_ones, own = (", ".join(sorted(_names(source))) for source in (earlier.source, entry.source))
    raise entry_refusal(
        entry.key,
        f"the group got offset {commit_text(earlier.written)} from {earlier_ones} {_when(earlier)}, and the plan has "
        f"{commit_text(entry.target)} from {own} alone",
        cluster,
        remedy=ways(
            ("group_map", f"give it another name by {option_name('group_map')}"),
            ("", "plan all of them in one run, which sees what each has consumed"),
            ("", "roll back the earlier run first"),
        ),
        error=DestinationChanged,
        why="what the one has consumed, the other may not have",
    )


def _names(source: t.Iterable[Origin | SourcePosition]) -> set[str]:
    """The groups of a source, each with its topic."""
    return {f"{visible_name(at.group)} on {at.partition.topic}" for at in source}


def _skips(ahead: int) -> str:
    """What becomes of the records before a commit that nobody explains, in words. ahead: of the planned one."""
    return f"a consumer that starts now skips up to {counted(ahead, 'record')}"


def _unexplained(
    entry: PlanEntry, target: CommittedOffset, commit: CommittedOffset, earlier: ReceiptEntry, ground: Ground
) -> CommittedOffset | LeftAlone:
    """What becomes of a group that goes on after where it was migrated to, although nobody has ever joined it."""
    was = earlier.written or target
    line = f"{group_partition(*entry.key)}: migrated earlier, and has never had members since: left at {commit_text(commit)}"
    return _rewound(
        entry,
        target,
        ground,
        f"{line} ({option_name('on_rewind')}: keep)",
        f"the group was migrated to {commit_text(was)} {_when(earlier)}, and has committed {commit_text(commit)} now, "
        f"although no consumer has ever joined it: where a tool has committed this, {_skips(commit.offset - was.offset)}",
        "a tool that syncs groups, such as MirrorMaker 2, or a consumer that uses assign(), has committed",
        f"stop what commits there; then set {option_name('on_rewind')} to rewind to commit what the plan says again, or, if "
        "a consumer has consumed, to keep to leave such group-partitions alone",
    )


def _again(
    entry: PlanEntry, target: CommittedOffset, earlier: ReceiptEntry, ground: Ground
) -> CommittedOffset | LeftAlone:
    """What becomes of a group that was migrated, and has no committed offset any more."""
    what = f"the group was migrated to {commit_text(earlier.written)} {_when(earlier)}, and has no committed offset now"
    most = _rest(entry, target, ground)
    repeats = f"committing {commit_text(target)} repeats what it has consumed{at_destination()}{most and f', {most}'}"
    return _rewound(
        entry,
        target,
        ground,
        f"{group_partition(*entry.key)}: {what.removeprefix('the group ')}: left without one "
        f"({option_name('on_rewind')}: keep)",
        f"{what} ({repeats})",
        "its committed offsets have expired, or somebody has removed or renamed the group; how far it had consumed is not "
        "known any more",
        f"if the group has another name now, take it out of the selection. Otherwise set {option_name('on_rewind')} to rewind "
        "to commit what the plan says, or to keep to leave such group-partitions alone: their consumers start by "
        "auto.offset.reset, where latest skips what they have not consumed, and earliest repeats everything",
    )


def _rest(entry: PlanEntry, target: CommittedOffset, ground: Ground) -> str:
    """How many records a group consumes again at most whose commit is gone, in words; empty where nobody knows."""
    end = ground.ends.get(entry.partition)
    return "" if end is None else f"up to {counted(max(0, end - target.offset), 'record')}"


def _rewound(
    entry: PlanEntry, target: CommittedOffset, ground: Ground, line: str, what: str, why: str, remedy: str
) -> CommittedOffset | LeftAlone:
    """What on_rewind says of an entry whose commit is not known to be what the group has consumed."""
    match ground.options.on_rewind:
        case OnRewind.REWIND:
            return target
        case OnRewind.KEEP:
            return LeftAlone(line)
        case OnRewind.FAIL:
            raise entry_refusal(entry.key, what, ground.cluster, remedy, DestinationChanged, why)
        case _:
            t.assert_never(ground.options.on_rewind)


def _goes_on(entry: PlanEntry, earlier: ReceiptEntry, commit: CommittedOffset, target: CommittedOffset) -> bool:
    """Has a group gone on after what was set here once, so that the plan's offset is none for it any more?

    If that was the plan's offset, other metadata are no matter. One that records prove to be further is better, and one before
    what was set says that this was wrong.
    """
    was = earlier.written
    if was is None or not earlier.explains(commit):
        return False
    no_better = was.offset <= target.offset and (entry.is_chosen or target.offset <= commit.offset)
    return was == target or (commit.offset > was.offset and no_better)


def _moved_back(entry: PlanEntry, earlier: ReceiptEntry, commit: Target) -> bool:
    """Does a group stand before what was set here once, and not where it stood before that?"""
    was = earlier.written
    if commit is None or was is None or not earlier.is_confirmed or not (was == entry.target or entry.is_chosen):
        return False
    return commit.offset < was.offset and not same_commit(commit, earlier.before)


def _all_go_back(entries: t.Iterable[PlanEntry], ground: Ground) -> bool:
    """Has each group that is moved gone further at the destination, on each partition? Who asks for offsets may go back."""
    found_by_records = (entry for entry in entries if entry.verdict is not Verdict.REQUESTED)
    targets = [(entry.target, ground.committed(entry.key)) for entry in found_by_records if entry.target is not None]
    return bool(targets) and all(commit is not None and commit.offset > target.offset for target, commit in targets)


def _vanished(earlier: ReceiptEntry | None, ground: Ground) -> bool:
    return earlier is not None and earlier.is_confirmed and ground.committed(earlier.key) is None


def _when(earlier: ReceiptEntry) -> str:
    """When an entry was written, as far as its receipt says."""
    return "earlier" if earlier.time is None else f"on {utc_text(earlier.time)}"
