# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What modules show: rows and diffs with one line an entry."""

from __future__ import annotations

import collections
import os
import typing as t

from .._model.connection import Connection
from .._model.errors import InvalidFile
from .._model.file_rows import write_row
from .._model.group_state import CommittedOffset, commit_text
from .._model.left_out import partitions_text
from .._model.notes import Note
from .._model.plan import Plan, PlanEntry
from .._model.policies import ReturnEntries
from .._model.snapshot import Snapshot
from .._model.verdicts import Reason, Verdict
from .._model.visible_text import group_partition, visible, visible_name
from .._model.wording import counted

Diff = dict[str, str]
_Commits = t.Mapping[tuple[str, t.Any], t.Optional[CommittedOffset]]  # noqa: UP045 - the pylint of the sanity tests
LONGEST_DIFF = 200  # lines of both sides together
# The members of a plan's entry that results have.
_SHOWN = ("group", "topic", "partition", "offset", "verdict", "reason", "repeats", "lost", "detail", "absent", "source")
_T = t.TypeVar("_T")


def diff(before: t.Iterable[str], after: t.Iterable[str], before_header: str, after_header: str) -> Diff:
    """A diff in Ansible's form, of lines without line ends, which show what of them cannot be seen.

    Of more than LONGEST_DIFF lines only those that differ are shown, the first LONGEST_DIFF of them, and the rest is counted:
    Ansible compares the sides on the controller, line by line, and prints what differs.
    """
    old, new = list(map(visible, before)), list(map(visible, after))
    if len(old) + len(new) > LONGEST_DIFF:
        same = set(old) & set(new)
        old, new = [line for line in old if line not in same], [line for line in new if line not in same]
        more = len(old) + len(new) - LONGEST_DIFF
        if more > 0:
            old, new = _cut(old, new)
            rest = f"... and {counted(more, 'more line')}"
            old, new = [*old, rest], [*new, rest]  # on both sides, or it would look like an added line
    return {
        "before_header": visible(before_header),
        "after_header": visible(after_header),
        "before": "".join(f"{line}\n" for line in old),
        "after": "".join(f"{line}\n" for line in new),
    }


def _cut(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    """The first lines of each side, LONGEST_DIFF together: as many of both, unless one side has fewer."""
    half = LONGEST_DIFF // 2
    most = max(half, LONGEST_DIFF - len(new)), max(half, LONGEST_DIFF - len(old))
    return old[: most[0]], new[: most[1]]


def note_results(notes: t.Iterable[Note]) -> dict[str, list[str]]:
    """The members `notes` and `note_kinds` of a module's result: lines for people, and kinds for playbooks."""
    told = list(notes)
    return {"notes": [note.text for note in told], "note_kinds": [note.kind.value for note in told]}


def returned(entries: t.Iterable[_T], return_entries: ReturnEntries, changed: t.Callable[[_T], bool]) -> list[_T]:
    """The entries that a module returns: all of them, those that this run changes, or none."""
    if return_entries == ReturnEntries.NONE:
        return []
    return [entry for entry in entries if return_entries == ReturnEntries.ALL or changed(entry)]


def file_diff(
    before: str | None, after: _T, path: str, lines: t.Callable[[_T], list[str]], read: t.Callable[[str, str], _T]
) -> Diff:
    """The diff of a file, shown as its entries; a file that is there but damaged was to be replaced anyway.

    before: the text of the file. after: what it holds now, as read() returns it.
    """
    try:
        old = lines(read(before, path)) if before is not None else []
    except InvalidFile as exc:
        old = [str(exc)]
    name = os.path.basename(path)
    return diff(old, lines(after), f"{name} (before)", f"{name} (after)")


def text_lines(text: str) -> list[str]:
    """The lines of a file, which end at line feeds alone: a name may hold other characters that Python takes for line ends."""
    return text.removesuffix("\n").split("\n") if text else []


def commit_lines(commits: _Commits) -> list[str]:
    """`group topic-partition: offset`, with metadata where there is some, and none where nothing is committed."""
    return [
        f"{group_partition(group, partition)}: {commit_text(committed)}"
        for (group, partition), committed in sorted(commits.items())
    ]


def commit_diff(before: _Commits, after: _Commits, cluster: Connection) -> Diff:
    """What becomes of committed offsets, as lines of commit_lines()."""
    return diff(commit_lines(before), commit_lines(after), f"{cluster} (before)", f"{cluster} (after)")


def snapshot_lines(snapshot: Snapshot) -> list[str]:
    """The commits of a snapshot."""
    return commit_lines({entry[:2]: entry.committed for entry in snapshot.entries})


def plan_lines(plan: Plan) -> list[str]:
    """Every entry of a plan: where from, where to, and why that is right."""
    return [entry_line(entry) for entry in sorted(plan.entries, key=lambda entry: entry.key)]


def entry_line(entry: PlanEntry) -> str:
    """One entry of a plan for people, with both names of a group-partition that gets another one."""
    (first, *others) = entry.source
    if any(at.partition != first.partition for at in others):
        source = f"{len(entry.source)} positions"
    else:
        source = ", ".join("none" if at.offset is None else str(at.offset) for at in entry.source)
    offset = "not set" if entry.offset is None else str(entry.offset)
    name = group_partition(*entry.key)
    if others or (first.group, first.partition) == entry.key:
        return f"{name}: {source} -> {offset}, {_verdict(entry)}"
    return f"{group_partition(first.group, first.partition)}: {source} -> {name}: {offset}, {_verdict(entry)}"


def blocked_line(entries: t.Sequence[PlanEntry]) -> str:
    """Partitions of one group that are blocked by one cause, without the offsets, in which they differ."""
    return f"{visible_name(entries[0].group)} {partitions_text(entry.partition for entry in entries)}: {_verdict(entries[0])}"


def plan_row(entry: PlanEntry) -> dict[str, t.Any]:
    """One entry of a plan as a module's result shows it."""
    row = {"lost": 0, "absent": None, **write_row(entry)}
    return {name: row[name] for name in _SHOWN}


def plan_counts(plan: Plan) -> dict[str, int]:
    """How many entries have each verdict; verdicts without entries are counted as 0."""
    counts = collections.Counter(entry.verdict.value for entry in plan.entries)
    return {verdict.value: counts[verdict.value] for verdict in Verdict}


def _verdict(entry: PlanEntry) -> str:
    words = ["predicted,"] if entry.predicted else []
    words.append(entry.verdict.value)
    if entry.reason:
        words.append(f"({entry.reason.value})")
    if entry.verdict is Verdict.SAFE:
        words.append("repeats not counted" if entry.repeats is None else f"repeats at most {entry.repeats:,}")
    is_told = entry.verdict is not Verdict.EXACT or entry.absent or entry.lost != 0
    line = " ".join(words) + (f": {entry.shown_detail}" if entry.detail and is_told else "")
    if entry.lossless is None:
        return line
    if entry.reason is Reason.NEW_RECORDS:
        # It skips nothing that is there, and the detail ends with the option that takes it.
        return f"{line} (the group then goes on at offset {entry.lossless})"
    return f"{line} (offset {entry.lossless} would lose nothing)"
