# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What groups and topics of the source are called at the destination."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import compiled, matches


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    r"""Rename what is called `name`, or what `pattern` matches as a whole, to `to`, in which \1 is the first group.

    topics limits a rule for groups to the source topics that one of these patterns matches; empty means all.
    """

    to: str
    name: str | None = None
    pattern: str | None = None
    topics: tuple[str, ...] = ()

    def apply(self, name: str, topic: str | None = None) -> str | None:
        """The new name, or None when the rule is not about this one."""
        if self.topics and (topic is None or not matches(topic, self.topics)):
            return None
        if self.name is not None:
            return self.to if name == self.name else None
        found = re.fullmatch(self.pattern or "", name)
        return found.expand(self.to) if found else None


@dataclasses.dataclass(frozen=True, slots=True)
class Mapping:
    """First rule that applies wins; what no rule is about keeps its name. InvalidInput for one that would lose it.

    topic_prefix is put before every topic, as MirrorMaker 2's DefaultReplicationPolicy does. repartitioned are patterns
    of source topics whose records stand in other partitions there, and several of which may become one topic.
    """

    topic_rules: tuple[Rule, ...] = ()
    group_rules: tuple[Rule, ...] = ()
    topic_prefix: str = ""
    repartitioned: tuple[str, ...] = ()

    def topic(self, topic: str) -> str:
        """The destination's name of a source topic."""
        return self.topic_prefix + _first(self.topic_rules, topic)

    def is_repartitioned(self, topic: str) -> bool:
        """Whether records of a source topic may stand in any partition there."""
        return matches(topic, self.repartitioned)

    def idle_patterns(self, topics: t.Collection[str]) -> list[str]:
        """The patterns of repartitioned that match none of these source topics."""
        return [pattern for pattern in self.repartitioned if not any(matches(topic, [pattern]) for topic in topics)]

    def group(self, group: str, topic: str) -> str:
        """The destination's name of a source group, for what it has committed on a source topic."""
        return _first(self.group_rules, group, topic)


def rules_from(option: str, rows: t.Iterable[dict[str, t.Any]]) -> tuple[Rule, ...]:
    """Build the rules of topic_map or group_map, or raise InvalidInput that names the row."""
    rules = []
    for number, row in enumerate(rows, 1):
        where = f"{option}, entry {number}"
        name, pattern, to = row.get("name"), row.get("pattern"), row.get("to")
        if (name is None) == (pattern is None):
            raise InvalidInput(f"{where} has {'both' if name else 'neither'} of name and pattern", remedy="give one")
        if not to:
            raise InvalidInput(f"{where} has no new name", remedy="set to")
        topics = tuple(row.get("topics") or ())
        for each in topics:
            compiled(each, f"{where}, topics")
        if pattern is not None:
            _check_references(compiled(pattern, where), to, where)
        rules.append(Rule(to=to, name=name, pattern=pattern, topics=topics))
    return tuple(rules)


def repartitioned_from(patterns: t.Iterable[str]) -> tuple[str, ...]:
    """The patterns of repartitioned, or InvalidInput for one that is no regular expression."""
    return tuple(pattern for pattern in patterns if compiled(pattern, "repartitioned"))


def topic_prefix_from(policy: dict[str, t.Any] | None) -> str:
    """The prefix that MirrorMaker 2's replication policy gives to topics, or raise InvalidInput."""
    if policy is None or policy["name"] == "identity":
        return ""
    if not policy.get("source_alias"):
        raise InvalidInput(
            "replication_policy has no source_alias, and topics are called <source_alias><separator><topic> there",
            remedy="set source_alias to the alias that MirrorMaker 2 has for the source cluster",
        )
    return f"{policy['source_alias']}{policy.get('separator') or '.'}"


def _check_references(pattern: re.Pattern[str], to: str, where: str) -> None:
    try:
        pattern.sub(to, "")  # reads the template even where nothing matches
    except (re.error, IndexError) as exc:
        raise InvalidInput(f"{where}: {to!r} does not fit the pattern {pattern.pattern!r}", why=str(exc)) from exc


def _first(rules: tuple[Rule, ...], name: str, topic: str | None = None) -> str:
    for rule in rules:
        new = rule.apply(name, topic)
        if new == "":
            raise InvalidInput(
                f"{name} would get an empty name by {rule.to!r}", remedy="correct topic_map or group_map"
            )
        if new is not None:
            return new
    return name
