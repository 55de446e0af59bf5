"""Groups of a cluster in memory, for what commits, rolls back and removes them."""

import contextlib
import types
import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.commits import Unanswered
from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing import (
    commit_decision,
    writing,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import Commits, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

_Errors = dict[str, dict[TopicPartition, str]]


class Killed(BaseException):
    """The process is gone."""


class Mortal:
    """What is written to by a process that may be killed. steps_to_live: how many steps it takes before; None for all."""

    steps_to_live: int | None = None

    @contextlib.contextmanager
    def killed_after(self, steps: int, surely: bool = True) -> t.Iterator[None]:
        """What the block does is killed after so many steps; if not surely, it may need fewer."""
        self.steps_to_live = steps
        with pytest.raises(Killed) if surely else contextlib.suppress(Killed):
            yield
        self.steps_to_live = None


class MemoryGroups(Mortal):
    """Groups and their commits, the file that is saved, and everything that was done, in order.

    states: of groups that are not empty. refused: partitions that the broker does not commit, and its error. unanswered: groups
    for which it commits, and its answers are lost. rights: on groups and topics. hidden: topics that the user may not describe.
    metadata_limit: the broker's. A group goes with its last offset, as brokers drop it, at once or after a while.
    """

    BUSY_FOR_REMOVAL = ("NON_EMPTY_GROUP",)
    Unanswered = Unanswered

    def __init__(self, groups: t.Mapping[str, Commits]) -> None:
        self.groups = {name: dict(commits) for name, commits in groups.items()}
        self.states: dict[str, str] = {}
        self.protocols: dict[str, str] = {}
        self.refused: dict[TopicPartition, str] = {}
        self.unanswered: set[str] = set()
        self.rights = {"READ", "DELETE"}
        self.hidden: set[str] = set()
        self.done: list[str] = []
        self.saved: t.Any = None
        self.metadata_limit = 4096
        self.after_reading: t.Callable[[], None] = lambda: None
        self.after_commit: t.Callable[[], None] = lambda: None

    def install(self, monkeypatch: pytest.MonkeyPatch, *asking: types.ModuleType) -> None:
        """Be what is written to, and for these modules a cluster whose logs have the offsets 0 to 98."""
        for name in ("groups", "commits", "permissions"):
            monkeypatch.setattr(writing, name, self)
        monkeypatch.setattr(commit_decision, "broker_number", lambda _connection, _name: self.metadata_limit)
        log = Bounds(0, 99, 99)
        logs = types.SimpleNamespace(
            partition_bounds=lambda _connection, its: dict.fromkeys(its, log),
            log_ends=lambda _connection, its: dict.fromkeys(its, log.high_watermark),
            log_ranges=lambda _connection, its: dict.fromkeys(its, log.log),
        )
        for module in asking:
            monkeypatch.setattr(module, "positions", logs)

    def step(self, name: str) -> None:
        if self.steps_to_live is not None:
            self.steps_to_live -= 1
            if self.steps_to_live < 0:
                raise Killed
        self.done.append(name)

    def save(self, document: object) -> None:
        self.step("file")
        self.saved = document

    def read_groups(self, _connection: object, names: t.Sequence[str], **_how: object) -> dict[str, GroupReading]:
        found = {name: self._reading(name) for name in names}
        self.after_reading()
        return found

    def _reading(self, name: str) -> GroupReading:
        if name not in self.groups:
            return GroupReading(name, False, "", "", self.protocols.get(name, ""), {})
        state = self.states.get(name, "Empty")
        seen = {
            partition: commit for partition, commit in self.groups[name].items() if partition.topic not in self.hidden
        }
        return GroupReading(name, True, state, "classic", self.protocols.get(name, ""), seen)

    def not_offered(self, _connection: object, *_abilities: object, **_groups: object) -> list[object]:
        return []

    def sees_every_topic(self, _connection: object) -> bool:
        return not self.hidden

    def missing_acls(self, _connection: object, **needs: t.Collection[str]) -> list[str]:
        of = {"commits_groups": "GROUP READ", "deletes_groups": "GROUP DELETE", "commits_topics": "TOPIC READ"}
        wanted = [f"{of[kind]} on {name}" for kind, names in needs.items() if kind in of for name in sorted(names)]
        return [acl for acl in wanted if acl.split()[1] not in self.rights]

    def commit_offsets(self, _connection: object, wanted: t.Mapping[str, Commits]) -> _Errors:
        errors: _Errors = {}
        for group, commits in wanted.items():
            for partition, committed in commits.items():
                self.step(f"{group} {partition}")
                if partition in self.refused:
                    errors.setdefault(group, {})[partition] = self.refused[partition]
                else:
                    self.groups.setdefault(group, {})[partition] = committed
                if group in self.unanswered:
                    errors.setdefault(group, {})[partition] = Unanswered(
                        "REQUEST_TIMED_OUT: it may have been done or not"
                    )
        self.after_commit()
        return errors

    def delete_offsets(self, _connection: object, wanted: t.Mapping[str, t.Sequence[TopicPartition]]) -> _Errors:
        for group, partitions in wanted.items():
            for partition in partitions:
                self.step(f"{group} {partition} removed")
                self.groups[group].pop(partition, None)  # one that is not there is what was wanted
            if not self.groups[group]:
                self.groups.pop(group)
        self.after_commit()
        return {}

    def delete_groups(self, _connection: object, names: t.Sequence[str]) -> dict[str, str]:
        errors = {}
        for name in names:
            self.step(f"{name} removed")
            if self.states.get(name, "Empty") != "Empty":
                errors[name] = "NON_EMPTY_GROUP: the group has members"
            else:
                self.groups.pop(name)
                self.protocols.pop(name, None)
        return errors
