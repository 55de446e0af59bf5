"""What can happen around a copy in an order of events that no random fault would find, and what must be true then.

Each situation raises AssertionError where anything of it is not. They need no Spark: run them within sparkless(). With a
`chance` it happens at any moment of the copy, without one always at the same.
"""

import functools
import os
import random
import shutil
import signal
import socket
import time
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import all_groups
from testbed import clients
from tests.support import copies, sparkless
from tests.support.copies import messages
from tests.support.modules import kill, outcome, refuses

RECORDS = 3000  # of each partition
PARTITIONS = 4
COMMITS = ((100, 1400, 0, 3), (20, 2990, 900, 1200))
HERE = f"on host {socket.gethostname()}"
_LONG = 100  # seconds, of a copy that something happens to
_SOME, _MANY = 500, 2000  # records, of about ten thousand
_RECREATED = ("created again", "recreated")


class Copy(copies.Copy):
    """A copy whose processes need no Spark."""

    spawn = staticmethod(sparkless.spawn)


CopyIn = t.Callable[[str], Copy]  # the same copy, by the name of its directory


def owned_topic(source: clients.Servers, topic: str) -> str:
    """Make and fill the topic that the copies of situations begin with."""
    clients.create_topic(source, topic, PARTITIONS, retention_ms=-1)
    for partition in range(PARTITIONS):
        clients.produce(source, topic, messages(partition, RECORDS))
    return topic


def moment(chance: random.Random | None, usual: int = _SOME) -> int:
    """How many records have been copied when it happens."""
    return chance.randint(1, _MANY) if chance else usual


def half_done(copy: Copy, chance: random.Random | None = None) -> Copy:
    """The copy, killed in the middle; nothing of it runs any more."""
    running = copy.begun(seconds=_LONG)
    copy.comes_to(moment(chance), running)
    assert kill(running)
    assert copy.copied() < copy.all
    return copy


def elsewhere(copy: Copy, name: str) -> Copy:
    """The same copy, gone on with from a copy of its directory."""
    other = shutil.copytree(copy.directory, copy.directory.parent / name)
    return Copy(other, *copy.clusters, copy.topic, copy.to, copy.commits)


def two_runs(copy_in: CopyIn, chance: random.Random | None = None, *, begins: str) -> None:
    """Of one copy, from two directories. begins: when the second one does, "at once" or "after the plan" of the first."""
    one, other = copy_in("one"), copy_in("other")
    seconds = chance.uniform(2, 8) if chance else 4
    first = one.begun(seconds=seconds)
    while begins == "after the plan" and not one.copy_file.exists():
        time.sleep(0.01)
    if chance:
        time.sleep(chance.uniform(0, seconds / 4))
    second = other.begun(seconds=seconds)
    said = {one: outcome(first), other: outcome(second)}
    losers = [copy for copy in said if said[copy].get("failed")]
    assert len(losers) == 1, said
    for message in (said[loser]["msg"] for loser in losers):
        known = ("another run copies the same records", "this copy has already started", "has taken over")
        assert any(words in message for words in known), message
        assert HERE in message and "started at" in message and "\n" not in message
    winner = one if other in losers else other
    winner.check(said[winner]["entries"])


def wakes_up(copy_in: CopyIn, chance: random.Random | None = None) -> None:
    """A suspended run, when another one has copied everything."""
    message = _of_who_wakes_up(copy_in, chance)
    assert "has taken over" in message and HERE in message and "\n" not in message, message


def wakes_up_without_progress(copy_in: CopyIn, chance: random.Random | None = None) -> None:
    """A suspended run, when another one has copied everything and the progress was removed."""
    message = _of_who_wakes_up(copy_in, chance, removes_progress=True)
    assert "the progress of the copy was removed or reset while it was running" in message, message


def _of_who_wakes_up(copy_in: CopyIn, chance: random.Random | None, removes_progress: bool = False) -> str:
    one = copy_in("one")
    suspended = one.begun(seconds=_LONG)
    one.comes_to(moment(chance, 1), suspended)
    os.kill(suspended.pid, signal.SIGSTOP)
    other = elsewhere(one, "other")
    entries = other.backlog()["entries"]
    if removes_progress:
        clients.delete_groups(one.servers, all_groups(other.known()))
    os.kill(suspended.pid, signal.SIGCONT)
    message: str = outcome(suspended)["msg"]
    other.check(entries)
    return message


def progress_is_removed(copy_in: CopyIn, chance: random.Random | None = None) -> None:
    """While a run copies, which ends then; a later one rebuilds it."""
    copy = copy_in("migration")
    running = copy.begun(seconds=_LONG)
    copy.comes_to(moment(chance), running)
    (progress,) = all_groups(copy.known())
    clients.delete_groups(copy.servers, [progress])
    message = outcome(running)["msg"]
    assert f"group {progress}" in message and "the progress of the copy was removed" in message
    copy.check(copy.backlog(on_lost_progress="rebuild")["entries"])


def progress_is_lost(copy_in: CopyIn, chance: random.Random | None = None) -> None:
    """Between two runs: refused, until it is rebuilt."""
    copy = half_done(copy_in("migration"), chance)
    (progress,) = all_groups(copy.known())
    clients.delete_groups(copy.servers, [progress])
    for check in (True, False):
        message = copy.backlog(via=refuses, check=check)
        assert f"group {progress}, topic {copy.to}, partition " in message
        assert "the progress of the copy is gone, and the log has grown from 0 to" in message
        assert "on_lost_progress" in message and "topic_map" in message and "begin anew" in message
    before = {at: len(clients.read(copy.servers, copy.to, [at])) for at in range(PARTITIONS)}
    result = copy.backlog(on_lost_progress="rebuild")
    assert sum(before.values()) > 0
    assert {each["partition"]: each["copied"] for each in result["ranges"]} == {
        at: len(wanted) for at, wanted in copy.wanted.items()
    }
    copy.check(result["entries"])


def made_anew_while_copied(copy_in: CopyIn, chance: random.Random | None = None) -> None:
    """The destination's topic, while records are copied to it."""
    copy = copy_in("migration")
    running = copy.begun(seconds=_LONG)
    copy.comes_to(moment(chance), running)
    make_anew(copy.servers, copy.to)
    message = outcome(running)["msg"]
    assert copy.to in message and any(text in message for text in (*_RECREATED, "does not exist")), message
    message = copy.backlog(via=refuses)
    assert any(text in message for text in _RECREATED), message
    assert not copy.plan_file.exists()
    begin_anew(copy)
    copy.check(copy.backlog()["entries"])


def made_anew_when_copied(copy_in: CopyIn, _chance: random.Random | None = None) -> None:
    """The destination's topic, when all is copied."""
    copy = copy_in("migration")
    copy.backlog()
    make_anew(copy.servers, copy.to)
    for check in (True, False):
        message = copy.backlog(via=refuses, check=check)
        assert f"topic {copy.to}: the topic was deleted and created again since the copy was planned" in message
    begin_anew(copy)
    copy.check(copy.backlog()["entries"])


def copied_records_are_deleted(copy_in: CopyIn, chance: random.Random | None = None) -> None:
    """The first ones, before any group has consumed them."""
    copy = copy_in("migration")
    copy.backlog()
    partition, start = (chance.randrange(PARTITIONS), chance.randint(1, 1000)) if chance else (1, 100)
    clients.delete_records(copy.servers, copy.to, {partition: start})
    for check in (True, False):
        assert _begins_at(copy, partition, start) in copy.backlog(via=refuses, check=check)
    begin_anew(copy)
    copy.check(copy.backlog()["entries"])


def records_are_deleted_while_copied(copy_in: CopyIn, chance: random.Random | None = None) -> None:
    """The first ones of a partition, while records are copied to it: no run may succeed over that."""
    copy = copy_in("migration")
    running = copy.begun(seconds=10 if chance else 5)
    copy.comes_to(moment(chance), running)
    ends = {partition: end for (partition, (_start, end)) in clients.log_bounds(copy.servers, copy.to).items() if end}
    partition = chance.choice(sorted(ends)) if chance else min(ends)
    start = chance.randint(1, ends[partition]) if chance else 1
    clients.delete_records(copy.servers, copy.to, {partition: start})
    message = outcome(running)["msg"]
    assert _begins_at(copy, partition, start) in message, message
    assert not copy.plan_file.exists()
    assert _begins_at(copy, partition, start) in copy.backlog(via=refuses)
    begin_anew(copy)
    copy.check(copy.backlog()["entries"])


def _begins_at(copy: Copy, partition: int, start: int) -> str:
    return f"topic {copy.to}, partition {partition}: the log begins at {start}, and records were copied from 0 on"


def make_anew(cluster: clients.Servers, topic: str) -> None:
    """Delete a topic and create it again."""
    partitions = len(clients.partitions_of(cluster, topic))
    clients.delete_topic(cluster, topic)
    clients.create_topic(cluster, topic, partitions, retention_ms=-1)


def begin_anew(copy: Copy) -> None:
    """Do what the messages tell to do: give the copy up, delete the topic, and run again."""
    names = all_groups(copy.known())
    copy.backlog(state="absent")
    assert not {*names} & {*clients.list_groups(copy.servers)}
    assert not copy.copy_file.exists() and not copy.plan_file.exists()
    clients.delete_topic(copy.servers, copy.to)


# By what the fault suite calls them.
SITUATIONS: dict[str, t.Callable[[CopyIn, random.Random | None], None]] = {
    "C1: two runs at once": functools.partial(two_runs, begins="at once"),
    "C1: two runs, one after the plan": functools.partial(two_runs, begins="after the plan"),
    "C2: suspended, and another run has copied all": wakes_up,
    "C2: suspended, and the progress was removed": wakes_up_without_progress,
    "C3: progress removed while copying": progress_is_removed,
    "C3: progress gone between two runs": progress_is_lost,
    "C4: topic made anew while copying": made_anew_while_copied,
    "C4: topic made anew when all was copied": made_anew_when_copied,
    "C4: copied records deleted": copied_records_are_deleted,
    "C4: copied records deleted while copying": records_are_deleted_while_copied,
}
