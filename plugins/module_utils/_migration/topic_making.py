# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Makes topics that are missing at the destination: asks its brokers first, and tells what it has made from what others have.

What such a topic looks like: see _model/new_topics.py. A topic of the name may appear between the plan and the request. One
that looks as planned serves as well, but only the brokers' answer says who has made it: a rollback that went by its looks
would delete what somebody else has made.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._control import configs, topic_changes, topics
from .._control.topic_changes import Creation, Refusal, Trial, create_topics
from .._model.connection import Connection
from .._model.errors import NotAccepted, NotAuthorized
from .._model.new_topics import IN_SYNC, NewTopic, is_as_made, takes_no_records
from .._model.wording import first_of

DENIED = "TOPIC_AUTHORIZATION_FAILED"
_EXISTS = "TOPIC_ALREADY_EXISTS"

NewTopics = t.Mapping[str, NewTopic]


@dataclasses.dataclass(frozen=True, slots=True)
class ChangeObjections:
    """What stands against changes of topics. missing: ACLs. problems: what brokers would refuse, with their words."""

    missing: list[str] = dataclasses.field(default_factory=list)
    problems: list[str] = dataclasses.field(default_factory=list)

    def add(self, refusals: t.Mapping[str, Refusal], operation: str, what: str) -> None:
        """Note refusals by topic. operation: the ACL that it needs. what: what cannot be done."""
        denied = sorted(topic for topic, refusal in refusals.items() if refusal.error == DENIED)
        if denied:
            self.missing.append(f"TOPIC {operation} on {', '.join(denied)}")
        for topic, refusal in sorted(refusals.items()):
            why = (
                "the brokers say that it exists, and do not show it: it is being deleted, or the user may not describe it"
                if refusal.error == _EXISTS
                else refusal.why
            )
            if refusal.error != DENIED:
                self.problems.append(f"topic {topic}: {what}: {why}")

    def check(self, destination: Connection, remedy: str) -> None:
        """Raise NotAuthorized that names every missing ACL, or Refused that names what the brokers would not take."""
        if self.missing:
            raise NotAuthorized(f"needs ACL {'; '.join(self.missing)}", cluster=str(destination))
        if self.problems:
            raise NotAccepted(
                f"the brokers would not take {first_of(self.problems, between='; ')}",
                cluster=str(destination),
                remedy=f"{remedy}; nothing was written",
            )


class Unwritable(t.NamedTuple):
    """A topic that would take no records from producers with acks=all.

    in_sync: what its min.insync.replicas would be. up: how many of its replicas, as far as brokers are up.
    """

    in_sync: str
    replicas: int
    up: int


def try_topics(destination: Connection, wanted: NewTopics, objections: ChangeObjections) -> Trial:
    """Ask the brokers whether these topics could be made. What stands against it is added to objections."""
    trial = topic_changes.try_creation(destination, wanted)
    objections.add(trial.refusals, "CREATE", "it cannot be created")
    return trial


def unwritable(wanted: NewTopics, trial: Trial, brokers: int) -> dict[str, Unwritable]:
    """Those of these topics that would take no records. The brokers' defaults count, as far as the user may know them.

    brokers: how many are up.
    """
    found = {}
    for name, new in sorted(wanted.items()):
        trial_configs = trial.configs.get(name)
        in_sync = new.configs.get(IN_SYNC) if trial_configs is None else trial_configs.effective.get(IN_SYNC)
        replicas = trial.replicas.get(name, new.replication_factor)
        up = min(replicas, brokers)
        if in_sync is not None and takes_no_records(in_sync, up):
            found[name] = Unwritable(in_sync, replicas, up)
    return found


def make_topics(destination: Connection, wanted: NewTopics, note: t.Callable[[Creation], None]) -> list[str]:
    """Make topics that were missing when they were planned. -> those that others have made since then, as unlike_planned().

    note: is told what was made as soon as brokers have answered, even if others of the topics are refused then.
    """
    creation = create_topics(destination, wanted, note)
    return unlike_planned(destination, {name: new for name, new in wanted.items() if name not in creation.made})


def unlike_planned(destination: Connection, wanted: NewTopics) -> list[str]:
    """Those of these topics that are there with other partitions or settings than were to be made: others have made them."""
    counts = topics.partition_counts(destination, wanted)
    own = configs.topic_configs(destination, counts)
    return [name for name, count in sorted(counts.items()) if not is_as_made(wanted[name], count, own[name].own)]
