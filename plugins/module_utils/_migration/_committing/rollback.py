# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which entries of a receipt a rollback is about, and what it does with each of them. Pure."""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from ..._model.choosing import Holder
from ..._model.errors import DestinationChanged, InvalidInput
from ..._model.faults import all_of
from ..._model.group_state import GroupReading, commit_text, same_commit
from ..._model.grouping import values_by_key
from ..._model.notes import Note, NoteKind
from ..._model.option_names import at_destination, is_in_one_cluster, option_name, path_option
from ..._model.policies import OnAdvance, OnRewind
from ..._model.receipt import Key, Origin, Receipt, ReceiptEntry
from ..._model.records import TopicPartition
from ..._model.removed import Removed
from ..._model.selection import Selection
from ..._model.visible_text import group_partition
from ..._model.wording import MANY_NAMED, counted, first_names, first_of
from . import conflicts
from .conflicts import Commits, Target


class Chosen(t.NamedTuple):
    """Entries of a receipt, and what there is to say of their choice."""

    entries: tuple[ReceiptEntry, ...]
    notes: tuple[Note, ...] = ()


def committed_at_source(receipt: Receipt, removed: Removed | None) -> dict[str, list[TopicPartition]]:
    """What a rollback can select, by the names at the source: what the receipt has, and what a rename has removed.

    Of a removed group, the receipt has nothing if its new group had all of the offsets already.
    """
    origins = ((origin.group, origin.partition) for entry in receipt.entries for origin in entry.origins)
    known = removed.committed() if removed is not None else {}
    return known | {group: [*known.get(group, ()), *its] for group, its in values_by_key(origins).items()}


def choose(receipt: Receipt, selection: Selection | None, cluster: str, removed: Removed | None = None) -> Chosen:
    """The entries that are selected by their names at the source, and notes; every entry without a selection.

    removed: the groups that a rename has removed. kafka_group_removal makes the selected ones again, so they may be selected
    although the receipt does not have them.

    An entry that does not name its source goes by its names at the destination. Raises NotFound for a name that neither has,
    and InvalidInput for patterns that match nothing, or for an entry that was made from several sources of which only some
    are selected.
    """
    if selection is None:
        return Chosen(receipt.entries)
    if not selection.groups and not selection.group_patterns:  # see without_left_out()
        return Chosen(())
    pairs = [(entry, origin) for entry in receipt.entries for origin in entry.origins]
    which = (
        "where a run has renamed groups, the names are the old ones"
        if is_in_one_cluster()
        else "the names are those at the source, or at the destination where the receipt has no others"
    )
    holder = Holder(
        f"in the {receipt.name}{' or in removed.json' if removed is not None and removed.groups else ''}",
        cluster,
        f"; {which}; or correct {path_option()}",
        renamed={
            "group": {entry.group: origin.group for entry, origin in pairs},
            "topic": {entry.partition.topic: origin.partition.topic for entry, origin in pairs},
        },
    )
    choice = holder.choose(selection, committed_at_source(receipt, removed))
    entries = []
    for entry in receipt.entries:
        others = [origin for origin in entry.origins if not choice.has(origin.group, origin.partition.topic)]
        if not others:
            entries.append(entry)
        elif len(others) < len(entry.origins):
            raise InvalidInput(
                "the offset was set for several sources together, and not all of them are selected",
                cluster=cluster,
                group=entry.group,
                **entry.partition._asdict(),
                why=f"{others[0].group} {others[0].partition} is not",
                remedy="select all of them or none",
            )
    return Chosen(tuple(entries), choice.notes)


def without_left_out(
    receipt: Receipt, selection: Selection, known: t.Callable[[], t.Iterable[str]], removed: Removed | None = None
) -> tuple[Selection, list[Note]]:
    """The selection without names that earlier runs knew and left out, and a note of them: the variables of a run undo it.

    known: what reads the groups and topics that the runs knew. Other names that the receipt does not have may be misspelt,
    and stay. removed: see choose().
    """
    committed = committed_at_source(receipt, removed)
    topics = {partition.topic for partitions in committed.values() for partition in partitions}
    its_topics = {at.topic for group in selection.select_groups(committed).names for at in committed.get(group, ())}
    # That another group was removed with a topic says nothing of the selected ones.
    having = its_topics.union(origin.partition.topic for entry in receipt.entries for origin in entry.origins)
    without = [name for name in selection.groups if name not in committed]
    others = [name for name in selection.topics if name not in having]
    left_out = {*without, *others}.intersection(known()) if without or others else ()
    without, others = ([name for name in names if name in left_out] for names in (without, others))
    if not without and not others:
        return selection, []
    names = first_names([*without, *others], MANY_NAMED)
    pronoun = "it" if len(without) + len(others) == 1 else "them"
    text = f"Earlier runs wrote nothing for {names}. So this one leaves {pronoun} out."
    left = dataclasses.replace(
        selection,
        groups=tuple(name for name in selection.groups if name not in without),
        topics=tuple(name for name in selection.topics if name not in others),
    )
    if without:  # other waves may have written their topics
        left = dataclasses.replace(
            left, topics=tuple(name for name in left.topics if name in its_topics or name not in topics)
        )
    if selection.topics and not left.topics and not left.topic_patterns:  # without any, all topics would be meant
        left = Selection()
    return left, [Note(NoteKind.WITHOUT_OFFSETS, text)]


def without_kept(
    entries: t.Collection[ReceiptEntry],
    current: Commits,
    on_rewind: OnRewind,
    on_advance: OnAdvance,
    cluster: str,
    why: str | None = None,
) -> tuple[list[ReceiptEntry], list[str]]:
    """The entries of groups that may go back, and one line for each entry that keeps its group, and for each such group.

    A group that stands where the migration has put it may go back. One that has consumed since is moved by on_rewind, or by
    on_advance where it stood further before; one that stands where nothing of that explains it, by on_rewind as well. keep
    leaves all of the group's entries alone, so that no group is split. Raises Refused where a policy says fail.

    why: what repeats() says of them, for the refusal.
    """
    moved = [entry for entry in entries if is_to_move(entry, current)]
    told = all_of(lambda entry: _kept(entry, current.get(entry.key), on_rewind, on_advance, cluster, why), moved)
    kept = values_by_key((entry.group, line) for entry, line in zip(moved, told, strict=True) if line is not None)
    moving = collections.Counter(entry.group for entry in moved)
    lines = []
    for group, reasons in sorted(kept.items()):
        lines += reasons
        if moving[group] > len(reasons):
            lines.append(f"{group}: left as a whole, because keep does not split a group")
    return [entry for entry in entries if entry.group not in kept], lines


def targets(entries: t.Iterable[ReceiptEntry], current: Commits) -> dict[Key, Target]:
    """What to commit, or to remove (None), so that every entry stands where it stood before."""
    return {entry.key: entry.before for entry in entries if is_to_move(entry, current)}


def unmoved_lines(entries: t.Iterable[ReceiptEntry], current: Commits, moved: t.Container[str]) -> list[str]:
    """Why nothing of a group goes back, a line for each reason, of all groups but those that a policy or members keep.

    moved: groups of which something is to be restored, or of which something else says why not.
    """
    of_group = values_by_key((entry.group, entry) for entry in entries)
    alike: dict[str, list[str]] = {}
    for group, group_entries in sorted(of_group.items()):
        if group in moved:
            continue
        if all(entry.written is None for entry in group_entries):
            why = "no run has written offsets, or they are rolled back already"
        elif any(current.get(entry.key) for entry in group_entries):
            why = "what was committed before is committed now"
        else:
            why = "nothing was committed before, and nothing is now; a group of another name keeps its own offsets"
        alike.setdefault(why, []).append(group)
    return [f"{first_names(names, MANY_NAMED)}: {why}" for why, names in alike.items()]


def kept_lines(groups: t.Sequence[str], on_rewind: OnRewind, on_advance: OnAdvance) -> list[str]:
    """What becomes of the consumers of groups that a policy leaves alone, a line for all of them, as unmoved_lines()."""
    if not groups:
        return []
    consumers = (
        "Let their consumers go on in these groups"
        if is_in_one_cluster()
        else "Let their consumers go on at the destination, because consumers at the source would consume again what these "
        "have consumed since. docs/going-back.md says how they go back without repeats"
    )
    policies = [("on_rewind", on_rewind, OnRewind.REWIND), ("on_advance", on_advance, OnAdvance.ADVANCE)]
    allowing = [f"{option_name(option)} to {other}" for option, policy, other in policies if policy == "keep"]
    back = f"To roll these groups back, too, stop their consumers, and set {' and '.join(allowing)}"
    return [f"{first_names(groups, MANY_NAMED)}: left alone, which the lines below explain. {consumers}. {back}"]


def staying(receipt: Receipt, wanted: t.Iterable[Key], current: Commits) -> list[Note]:
    """A note of what groups that go back have committed on their topics without this collection, which stays.

    wanted: what is rolled back. No receipt says whether it was there before the migration or is what consumers have committed
    since. A topic of which the receipt has the id, and no entry any more, counts as one of theirs: a run has written it.
    """
    known = receipt.by_key
    without_entry = receipt.traits.topic_ids.keys() - {partition.topic for _group, partition in known}
    topics = {(group, topic) for group, partition in wanted for topic in (partition.topic, *without_entry)}
    stays = [key for key in sorted(current) if (key[0], key[1].topic) in topics and key not in known]
    named = [f"{group_partition(group, partition)} ({current[group, partition].offset})" for group, partition in stays]
    text = f"These committed offsets are not in the receipt, and stay{at_destination()}: {first_of(named, MANY_NAMED)}."
    return [Note(NoteKind.COMMITS_STAY, text)] if stays else []


def is_to_move(entry: ReceiptEntry, current: Commits) -> bool:
    """Is the entry not where it was before the migration?"""
    return entry.written is not None and current.get(entry.key) != entry.before


def unjoined(readings: t.Mapping[str, GroupReading]) -> set[str]:
    """The groups that have never had members, see repeats()."""
    return {name for name, reading in readings.items() if not reading.had_members}


def repeats(
    entries: t.Iterable[ReceiptEntry],
    current: Commits,
    returned: t.Collection[str] = (),
    never_joined: t.Collection[str] = (),
    *,
    one_cluster: bool,
    are_named: bool = False,
) -> str | None:
    """What a rollback of these entries means for groups that have consumed since, None where no group has.

    A group that was returned goes on at the source where the return has set it, whatever is rolled back. never_joined: groups
    that have never had members, so that nobody knows whether what they have committed since is consumed. are_named: whether the
    message has named all groups that have moved, so that they are only named again where this is true of some of them.
    """
    consumed: collections.Counter[str] = collections.Counter()
    for entry in entries:
        commit, lowest = current.get(entry.key), entry.lowest
        if lowest is None or commit is None or is_as_set(entry, commit):
            continue
        start = lowest.offset
        if one_cluster and entry.before is not None and entry.origins == (Origin(*entry.key),):
            start = max(start, entry.before.offset)  # the group itself goes on where it was before
        consumed[entry.group] += max(0, commit.offset - start)
    moved = sorted(group for group, count in consumed.items() if count and group not in returned)
    again = [group for group in moved if group not in never_joined]
    unexplained = [group for group in moved if group in never_joined]
    back = sorted(group for group, count in consumed.items() if count and group in returned)

    def who(groups: list[str], one: str, more: str) -> str:
        whole = "the group" if len(groups) == 1 else "the groups"
        are_all = are_named and len(groups) == len(consumed)
        return f"{whole if are_all else first_names(groups)} {one if len(groups) == 1 else more}"

    texts = []
    if again:
        records = counted(sum(consumed[group] for group in again), "record")
        texts.append(
            f"{who(again, 'has', 'have')} consumed up to {records} "
            + (
                "since the run that is rolled back; after the rollback, the consumers consume them again"
                if one_cluster
                else "at the destination since the migration; after the rollback, consumers at the source consume them again"
            )
        )
    if unexplained:
        records = counted(sum(consumed[group] for group in unexplained), "record")
        texts.append(
            f"{who(unexplained, 'has', 'have')} committed up to {records} more since, although no consumer has ever joined "
            f"{'them' if unexplained[1:] else 'it'}: a tool, another run or a consumer that uses assign() has committed"
        )
    if back:
        texts.append(
            f"{who(back, 'was', 'were')} returned to the source, where the "
            "consumers go on at the offsets of the return; this rollback changes nothing there"
        )
    return "; ".join(texts) or None


def is_as_set(entry: ReceiptEntry, commit: Target) -> bool:
    """Does the group stand where a run has put it? To the higher one of two such offsets, it may have consumed by itself."""
    return same_commit(commit, entry.written) or same_commit(commit, entry.lowest)


def _kept(
    entry: ReceiptEntry, commit: Target, on_rewind: OnRewind, on_advance: OnAdvance, cluster: str, repeats: str | None
) -> str | None:
    """Why the entry, and so its group, stays where it is, or None where it may go back. repeats: see repeats()."""
    lowest = entry.lowest
    if lowest is None or is_as_set(entry, commit):
        return None
    if (commit is None or commit.offset < lowest.offset) and on_rewind != OnRewind.REWIND:
        what = (
            f"the group was set to {commit_text(lowest)} and has committed "
            f"{'nothing' if commit is None else commit_text(commit)} now"
        )
        if on_rewind == OnRewind.KEEP:
            return f"{group_partition(*entry.key)}: {what} ({option_name('on_rewind')}: keep)"
        raise conflicts.entry_refusal(
            entry.key,
            what,
            cluster,
            why="its commit has expired, somebody else has set the group, or the receipt was changed",
            remedy=f"set {option_name('on_rewind')} to rewind to restore what was committed before all the same, "
            "or to keep to leave such groups alone",
            error=DestinationChanged,
        )
    return conflicts.kept_by_policy(entry.key, commit, entry.before, on_rewind, on_advance, cluster, "groups", repeats)
