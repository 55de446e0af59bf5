# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What every write to groups has in common: nobody is in them, the ACLs are there, and what was written is read back."""

from __future__ import annotations

import contextlib
import dataclasses
import time
import types
import typing as t

from ..._control import commits, groups, permissions
from ..._control.abilities import Ability
from ..._model.connection import Connection
from ..._model.errors import BrokerError, CommitDiffers, GroupBusy, NotAuthorized, Refused, UnfitGroup
from ..._model.group_state import CommittedOffset, GroupReading, commit_text, commits_of, open_text, same_commit
from ..._model.grouping import nested, values_by_key
from ..._model.idle import idle_problem, idle_remedy
from ..._model.notes import Note, NoteKind
from ..._model.option_names import because_of, option_name, ways
from ..._model.policies import OnActiveGroup
from ..._model.receipt import Key
from ..._model.visible_text import names_text
from ..._model.wording import counted, first_names, part_of
from .. import quiet
from .conflicts import Target

# A group that brokers cannot remove hinders nobody who does not start its consumers.
_STAYS = (
    "leave this group out of the rollback, and do not start its consumers: it stays until its committed offsets expire "
    "(offsets.retention.minutes)"
)


def read_named_groups(
    destination: Connection, names: t.Collection[str], expected: t.Mapping[Key, Target] = types.MappingProxyType({})
) -> dict[str, GroupReading]:
    """State, type and committed offsets of these groups; no request for none.

    expected: what may be written, with what is thought to be committed there. Where nothing is committed, it is asked whether a
    transaction that is open does so, which brokers tell unasked of all other partitions.
    """
    if not names:
        return {}
    without = [key for key, target in expected.items() if target is None]
    readings = groups.read_groups(destination, sorted(names), beside=values_by_key(without))
    gone = [
        (group, partition)
        for (group, partition), target in expected.items()
        if target is not None and partition not in readings[group].offsets and partition not in readings[group].open
    ]
    if gone:
        again = sorted({group for group, _partition in gone})
        readings |= groups.read_groups(destination, again, beside=values_by_key([*without, *gone]))
    return readings


def busy_groups(
    destination: Connection,
    names: t.Collection[str],
    first: t.Mapping[str, GroupReading],
    on_active_group: OnActiveGroup,
    idle_wait: float,
    watched: t.Collection[str] = (),
    meanwhile: t.Callable[[], None] = lambda: None,
) -> dict[str, str]:
    """Why these groups are in use, for each that is, or GroupBusy where on_active_group is fail.

    watched: groups without members that are not written, and may get members, but whose commits must not move without any.
    meanwhile: looks at whatever else is looked at before a write, so that the second reading is the last request before it.

    Two readings, idle_wait apart and once for all groups together, because consumers that use assign() never show as
    members: only their commits move. The whole wait comes after whatever was done since the first reading, so that a consumer
    whose auto.commit.interval.ms is as long is seen, too.
    """
    check_members(destination, names, first, on_active_group)
    readings, problems = first, idle_problems(names, first, first)
    still = [name for name in sorted({*names, *watched}) if name not in problems]
    if still:
        time.sleep(idle_wait)
    meanwhile()
    if still:
        second = read_named_groups(destination, still)
        joined = {name for name in watched if name not in names and second[name].has_members}
        problems |= idle_problems([name for name in still if name not in joined], first, second)
        readings = {**first, **second}
    problems = quiet.with_clients(destination, problems, readings)
    _refuse_in_use(problems, readings, destination, on_active_group)
    return problems


def check_members(
    destination: Connection,
    names: t.Collection[str],
    readings: t.Mapping[str, GroupReading],
    on_active_group: OnActiveGroup,
) -> None:
    """Raise GroupBusy where one of these groups has members, unless on_active_group leaves such groups out."""
    if on_active_group == OnActiveGroup.FAIL:
        problems = quiet.with_clients(destination, idle_problems(names, readings, readings), readings)
        _refuse_in_use(problems, readings, destination, on_active_group)


@contextlib.contextmanager
def members_first(
    destination: Connection,
    names: t.Callable[[], t.Collection[str]],
    readings: t.Mapping[str, GroupReading],
    on_active_group: OnActiveGroup,
) -> t.Iterator[None]:
    """Refuse members before what the block is refused for: whoever corrects that would have to stop them next.

    names: the groups that would be written.
    """
    try:
        yield
    except Refused:
        check_members(destination, names(), readings, on_active_group)
        raise


def idle_problems(
    names: t.Iterable[str], first: t.Mapping[str, GroupReading], second: t.Mapping[str, GroupReading]
) -> dict[str, str]:
    """Why groups are in use, for each that is, in the order of their names."""
    return {name: problem for name in sorted(names) if (problem := idle_problem(first[name], second[name]))}


def _refuse_in_use(
    problems: t.Mapping[str, str],
    readings: t.Mapping[str, GroupReading],
    destination: Connection,
    on_active_group: OnActiveGroup,
) -> None:
    if problems and on_active_group == OnActiveGroup.FAIL:
        name, problem = next(iter(sorted(problems.items())))
        raise (GroupBusy if readings[name].keeps_offsets else UnfitGroup)(
            problem
            + (
                f" ({len(problems):,} groups cannot be set: {names_text(sorted(problems))})"
                if len(problems) > 1
                else ""
            ),
            cluster=str(destination),
            group=name,
            remedy=ways(
                ("", idle_remedy(readings[name])),
                ("on_active_group", f"leave the group out by {option_name('on_active_group')}: skip_group"),
            ),
        )


def groups_left_out(
    names: t.Iterable[str], readings: t.Mapping[str, GroupReading], on_active_group: OnActiveGroup
) -> dict[str, str]:
    """Those of these groups that have members, and why they are left out, where a policy leaves them out.

    What members commit after the plan was made, or how far they are, is then no reason to refuse anything.
    """
    return idle_problems(names, readings, readings) if on_active_group == OnActiveGroup.SKIP_GROUP else {}


def left_out_lines(problems: t.Mapping[str, str]) -> list[str]:
    """A line for each group that is left out, because it is in use."""
    return [
        f"{name}: {problem}: left out{because_of('on_active_group', 'skip_group')}"
        for name, problem in sorted(problems.items())
    ]


@dataclasses.dataclass(frozen=True)
class Written:
    """What came of the writing of these targets. done: what their groups have committed now, of whatever partition.

    refused: why brokers have not stored it, or are not known to have, by target. wrong: how what is committed differs, by each
    other such target.
    """

    targets: t.Mapping[Key, Target]
    done: t.Mapping[Key, CommittedOffset]
    refused: t.Mapping[Key, str]
    wrong: t.Mapping[Key, str]

    @property
    def failed(self) -> set[Key]:
        """The targets that are not committed as they should be."""
        return {*self.refused, *self.wrong}

    @property
    def not_stored(self) -> set[Key]:
        """Those of the refused targets that brokers surely have not stored."""
        return {key for key, why in self.refused.items() if not isinstance(why, commits.Unanswered)}

    @property
    def failed_groups(self) -> set[str]:
        """The groups of these."""
        return {group for group, _partition in self.failed}

    def check(self, destination: Connection, what: str, remedy: str) -> None:
        """Raise BrokerError where anything was refused, or is committed otherwise than it was written."""
        if self.refused:
            (group, partition), why = min(self.refused.items())
            count = part_of(len(self.refused), len(self.targets), "commit")
            raise BrokerError(
                f"{count} {'was' if len(self.refused) == 1 else 'were'} refused"
                + ("" if len(self.not_stored) == len(self.refused) else ", or had no answer"),
                cluster=str(destination),
                group=group,
                **partition._asdict(),
                why=why,
                remedy="remove the cause and run the same again: what was written stays, and is noted in the file of this run",
            )
        if self.wrong:
            first = self.wrong[min(self.wrong)]
            raise CommitDiffers(
                f"the read-back after {what} found {counted(len(self.wrong), 'different offset')}; the first is {first}",
                cluster=str(destination),
                why="somebody else commits to this group at the same time",
                remedy=f"stop them and {remedy}",
            )


def write_commits(destination: Connection, targets: t.Mapping[Key, Target], whole: t.Collection[str] = ()) -> Written:
    """Commit these offsets, remove commits where there is none, and read back what was not refused.

    A group without any commit is left to the brokers, which drop it: it may have commits that the user does not see.

    whole: of which groups all is removed, see check_write_acls(). Only a check may decide that, because nobody looks any more
    what else a group has committed.
    """
    to_set = nested((key, target) for key, target in sorted(targets.items()) if target is not None)
    to_remove = values_by_key(key for key, target in sorted(targets.items()) if target is None)
    set_errors = commits.commit_offsets(destination, to_set) if to_set else {}
    singly = {group: partitions for group, partitions in to_remove.items() if group not in whole}
    removal_errors = commits.delete_offsets(destination, singly) if singly else {}
    not_removed = remove_groups(destination, to_remove.keys() - singly.keys())
    refused = {
        (group, partition): why
        for errors in (set_errors, removal_errors)
        for group, group_errors in errors.items()
        for partition, why in group_errors.items()
    }
    refused |= {(group, partition): why for group, why in not_removed.items() for partition in to_remove[group]}
    sent = {key: target for key, target in targets.items() if key not in refused}
    readings = read_named_groups(destination, {group for group, _partition in sent})
    done = commits_of(readings)
    wrong = {
        key: f"{key[0]} {key[1]}: wanted {commit_text(target)}, read back {commit_text(done.get(key))}"
        for key, target in sent.items()
        if not same_commit(done.get(key), target)
    }
    wrong |= {
        (group, partition): f"{group} {partition}: {open_text({partition: told})}, and will replace what was written"
        for group, reading in readings.items()
        for partition, told in reading.open.items()
        if (group, partition) in sent
    }
    return Written(targets, done, refused, wrong)


def check_write_acls(
    destination: Connection, targets: t.Mapping[Key, Target], what: str, deletes: t.Collection[str] = ()
) -> t.Collection[str]:
    """Raise NotAuthorized, or BrokerError for what brokers cannot do, before anything is written.

    Because what stops half-way leaves groups split. deletes: groups that are removed as a whole. No cluster is asked where
    nothing is written.

    -> the groups of which targets remove all that they have, from brokers that cannot remove less: whole of write_commits().
    """
    whole = _check_removal(destination, targets, deletes)
    missing = permissions.missing_acls(
        destination,
        commits_groups={group for (group, _partition), target in targets.items() if target is not None},
        commits_topics={partition.topic for _group, partition in targets},
        deletes_groups={*deletes, *(group for (group, _partition), target in targets.items() if target is None)},
    )
    if missing:
        raise NotAuthorized(
            f"needs ACL {', '.join(missing)}", cluster=str(destination), why=f"without it {what} would stop half-way"
        )
    return whole


def _check_removal(
    destination: Connection, targets: t.Mapping[Key, Target], deletes: t.Collection[str]
) -> t.Collection[str]:
    """As check_write_acls(): where brokers cannot remove this, such as single offsets of a group that keeps others."""
    removed = values_by_key(key for key, target in targets.items() if target is None)
    if not removed and not deletes:
        return ()
    asked = (Ability.REMOVE_GROUPS, *((Ability.REMOVE_OFFSETS,) if removed else ()))
    lacking = {need.request: need for need in permissions.not_offered(destination, *asked, groups={*removed, *deletes})}
    if (need := lacking.get(Ability.REMOVE_GROUPS.value.request)) is not None:
        raise need.refusal(str(destination), min({*removed, *deletes}), _STAYS if removed else None)
    if (need := lacking.get(Ability.REMOVE_OFFSETS.value.request)) is not None:
        kept = {group for (group, _partition), target in targets.items() if target is not None}
        readings = read_named_groups(destination, removed)
        if not permissions.sees_every_topic(destination):
            unseen = "grant the user TOPIC DESCRIBE on all topics, because the group may have other offsets"
            raise need.refusal(str(destination), min(removed), f"{unseen}; or {_STAYS}")
        for group, partitions in sorted(removed.items()):
            if group in kept or readings[group].offsets.keys() - set(partitions):
                raise need.refusal(str(destination), group)
        return removed.keys()
    return ()


def hidden_notes(destination: Connection, names: t.Collection[str]) -> list[Note]:
    """A note of groups that are to be removed, if they may have committed offsets that the user does not see.

    It is no refusal: most users may describe only some topics, and few of their groups have committed on others.
    """
    if not names or permissions.sees_every_topic(destination):
        return []
    text = (
        "The user may not describe every topic. A removal loses what these groups have committed on the others: "
        f"{first_names(sorted(names))}. To be sure that there is nothing, grant it the ACL TOPIC DESCRIBE on all "
        "topics."
    )
    return [Note(NoteKind.COMMITS_HIDDEN, text)]


def remove_groups(destination: Connection, names: t.Collection[str]) -> dict[str, str]:
    """Remove whole groups; the answer says of those that could not be removed why not."""
    return commits.delete_groups(destination, sorted(names)) if names else {}


def check_removed(destination: Connection, errors: t.Mapping[str, str], remedy: str) -> None:
    """errors: of remove_groups(). Raises GroupBusy for a group that somebody has joined, BrokerError for any other refusal."""
    for group, why in sorted(errors.items()):
        error = GroupBusy if why.startswith(commits.BUSY_FOR_REMOVAL) else BrokerError
        more = f" ({len(errors):,} groups cannot be removed: {names_text(sorted(errors))})" if len(errors) > 1 else ""
        raise error(f"the group cannot be removed{more}", cluster=str(destination), group=group, why=why, remedy=remedy)
