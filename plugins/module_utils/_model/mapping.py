# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What groups and topics of the source are called at the destination."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import heapq
import operator
import re
import typing as t

from .errors import InvalidInput
from .faults import all_done, all_of, of_entries
from .grouping import values_by_key
from .option_names import option_name
from .records import LEGAL_TOPIC
from .replication_policy import HEARTBEATS
from .selection import check_patterns, compiled, kept_pattern, matches
from .visible_text import quoted

_REFERENCE = re.compile(r"\\([0-9]+|g<\w+>)")  # of a template, to a group of its pattern
_LITERAL = r"((?:[\w-]|\\?\.|\\-)*)"
_AROUND_A_GROUP = re.compile(rf"{_LITERAL}\([^()]*\){_LITERAL}")


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    r"""Rename what is called `name`, or what `pattern` matches as a whole, to `to`, in which \1 is the first group.

    topics limits a rule for groups to the source topics that one of these patterns matches; empty means all. more: the
    other names of a rule that makes several groups of one.
    """

    to: str
    name: str | None = None
    pattern: str | None = None
    topics: tuple[str, ...] = ()
    more: tuple[str, ...] = ()

    def apply(self, name: str, topic: str | None = None) -> tuple[str, ...]:
        """The new names; none when the rule is not about this one."""
        if self.topics and (topic is None or not matches(topic, self.topics)):
            return ()
        names = (self.to, *self.more)
        if self.name is not None:
            return names if name == self.name else ()
        match = kept_pattern(self.pattern or "").fullmatch(name)
        return tuple(match.expand(new_name) for new_name in names) if match else ()

    def reversed(self, new: str) -> str | None:
        """The name of which the rule may have made this one; None where it cannot be told.

        It can for a pattern with one group between literal characters, and where `to` keeps the whole name.
        """
        if self.name is not None:
            return self.name if new == self.to else None
        before, reference, after = (*_REFERENCE.split(self.to, maxsplit=1), "", "")[:3]
        if not (reference and new.startswith(before) and new.endswith(after)):
            return None
        kept = new[len(before) : len(new) - len(after)]
        if reference == "g<0>":
            return kept
        around = _AROUND_A_GROUP.fullmatch(self.pattern or "")
        return around and kept.join(part.replace("\\", "") for part in around.groups())

    def fits(self, name: str) -> bool:
        """Is the rule about this name, on any topic?"""
        return name == self.name if self.name is not None else bool(kept_pattern(self.pattern or "").fullmatch(name))

    def __str__(self) -> str:
        """What the rule is about, as the user has written it."""
        about = f"name {self.name}" if self.name is not None else f"pattern {self.pattern}"
        return about + (f", topics {', '.join(self.topics)}" if self.topics else "")


class Prefixes(t.NamedTuple):
    """What MirrorMaker 2 puts before names of topics.

    of_source: before those that it copies. of_destination: before copies of the destination's own topics at the source, empty
    where that is not known. separator: what ends both. ending: of those that get either, empty for all.
    """

    of_source: str = ""
    of_destination: str = ""
    separator: str = ""
    ending: str = ""


NO_PREFIXES = Prefixes()


class _RulesByName:
    """The rules of a map: it may have thousands, and thousands of names are looked for in it."""

    def __init__(self, rules: t.Iterable[Rule]) -> None:
        numbered = [*enumerate(rules, 1)]
        self._by_name = values_by_key((rule.name, (number, rule)) for number, rule in numbered if rule.name is not None)
        self._patterns = [(number, rule) for number, rule in numbered if rule.name is None]

    def about(self, name: str) -> t.Iterator[tuple[int, Rule]]:
        """Those that may be about this name, in their order, each with its number."""
        return heapq.merge(self._by_name.get(name, ()), self._patterns, key=operator.itemgetter(0))


@dataclasses.dataclass(frozen=True)
class Mapping:
    """First rule that applies wins; what no rule is about keeps its name. InvalidInput for one that would lose it.

    prefixes are what MirrorMaker 2's replication policy puts before topics. repartitioned are patterns of source topics
    whose records stand in other partitions there, and several of which may become one topic.
    """

    topic_rules: tuple[Rule, ...] = ()
    group_rules: tuple[Rule, ...] = ()
    prefixes: Prefixes = NO_PREFIXES
    repartitioned: tuple[str, ...] = ()

    @functools.cached_property
    def _topic_rules(self) -> _RulesByName:
        return _RulesByName(self.topic_rules)

    @functools.cached_property
    def _group_rules(self) -> _RulesByName:
        return _RulesByName(self.group_rules)

    def topic(self, topic: str) -> str:
        """The destination's name of a source topic. What was copied from the destination has its own name there."""
        if self.is_own(topic):
            return topic.removeprefix(self.prefixes.of_destination)
        name = _first(self._topic_rules, topic)[0]
        return self.prefixes.of_source + name if topic.endswith(self.prefixes.ending) else name

    def possible_sources(self, destination_topics: t.Iterable[str]) -> set[str]:
        """Source topics that may have these copies, as far as the rules can be reversed; the source may not have them."""
        rules_by_name = values_by_key((rule.to, rule) for rule in self.topic_rules if rule.name is not None)
        patterns = [rule for rule in self.topic_rules if rule.name is None]
        sources = set()
        for copy in destination_topics:
            renamed = copy.removeprefix(self.prefixes.of_source)
            before_rules = (rule.reversed(renamed) for rule in (*rules_by_name.get(renamed, ()), *patterns))
            for name in {renamed, self.prefixes.of_destination + copy, *filter(None, before_rules)}:
                with contextlib.suppress(InvalidInput):  # a rule would give it an empty name
                    if self.topic(name) == copy:
                        sources.add(name)
        return sources

    def is_own(self, topic: str) -> bool:
        """Is this topic of the source the copy of one of the destination's own, where MirrorMaker 2 copies both ways?"""
        of_destination, ending = self.prefixes.of_destination, self.prefixes.ending
        return bool(of_destination) and topic.startswith(of_destination) and topic.endswith(ending)

    def is_exception(self, topic: str) -> bool:
        """Does a source topic get a prefix although others get none?"""
        return bool(self.prefixes.ending) and topic.endswith(self.prefixes.ending)

    def hint_of_own(self, topic: str) -> str:
        """What to set if a source topic without a copy is itself a copy of the destination's; empty where it cannot be."""
        alias, _separator, own = topic.partition(self.prefixes.separator) if self.prefixes.separator else ("", "", "")
        if self.prefixes.of_destination or not alias or not own or not own.endswith(self.prefixes.ending):
            return ""
        return (
            f"; if {topic} is MirrorMaker 2's copy of the destination's own topic {own}, set target_alias of "
            f"replication_policy to {alias}"
        )

    def source_topics(self, destination_topics: t.Iterable[str], selected: t.Iterable[str]) -> dict[str, str]:
        """The source's names of destination topics, by these, where topic_rules alone name topics and nobody can be asked.

        A topic that no rule names keeps its name. A pattern gives a name to source topics of which nobody knows: it counts for
        those that the user has selected by name. Raises InvalidInput for a pattern without them, and for two source topics of
        one name at the destination.
        """
        selected = set(selected)
        pattern = next((rule for rule in self.topic_rules if rule.name is None), None)
        if pattern is not None and not selected:
            raise InvalidInput(
                f"{option_name('topic_map')} has the {pattern}, and no source tells which topics it renames",
                remedy=f"name these topics in {option_name('topics')}, or rename each of them by its name",
            )
        names: dict[str, str] = {}
        for topic in sorted(selected | {rule.name for rule in self.topic_rules if rule.name is not None}):
            other = names.setdefault(self.topic(topic), topic)
            if other != topic:
                raise InvalidInput(
                    f"{option_name('topic_map')} gives {other} and {topic} the name {self.topic(topic)}",
                    why="without the source, nobody knows which of them a checkpoint is about",
                    remedy=f"correct {option_name('topic_map')}",
                )
        return {
            topic: name
            for topic in destination_topics
            if (name := names.get(topic, topic)) and self.topic(name) == topic
        }

    def is_repartitioned(self, topic: str) -> bool:
        """Whether records of a source topic may stand in any partition there."""
        return matches(topic, self.repartitioned)

    def idle_patterns(self, topics: t.Collection[str]) -> list[str]:
        """The patterns of repartitioned that match none of these source topics."""
        return [pattern for pattern in self.repartitioned if not any(matches(topic, [pattern]) for topic in topics)]

    def groups(self, group: str, topic: str) -> tuple[str, ...]:
        """The destination's names of a source group, for what it has committed on a source topic; one or several."""
        return _first(self._group_rules, group, topic)

    def idle_group_rules(self, committed: t.Collection[tuple[str, str]]) -> list[str]:
        """A clause for each rule of group_map that gives none of these groups, on none of these topics, its name."""
        used: set[int] = set()
        shadowed: dict[int, tuple[int, str, str]] = {}
        for group, topic in committed:
            fitting = [number for number, rule in self._group_rules.about(group) if rule.apply(group, topic)]
            used.update(fitting[:1])
            for number in fitting[1:]:
                shadowed.setdefault(number, (fitting[0], group, topic))
        lines = []
        for number, rule in enumerate(self.group_rules, 1):
            if number in used:
                continue
            why = "no selected group has a committed offset that it fits"
            if number in shadowed:
                first, group, topic = shadowed[number]
                why = f"entry {first} comes first for group {group} on topic {topic}"
            lines.append(f"{option_name('group_map')}, entry {number} ({rule}) is used for nothing: {why}")
        return lines


def rules_from(option: str, rows: t.Iterable[dict[str, t.Any]]) -> tuple[Rule, ...]:
    """Build the rules of topic_map or group_map, or raise InvalidInput that names the rows."""
    return of_entries(option, rows, topic_rule_from if option == "topic_map" else rule_from)


def topic_rule_from(place: str, row: dict[str, t.Any]) -> Rule:
    """Build one rule of topic_map, or raise InvalidInput that also names what no topic can be called."""
    rule = rule_from(place, row)
    for to in (rule.to, *rule.more):
        # What a pattern has found is a part of another topic's name.
        if not LEGAL_TOPIC.fullmatch(to if rule.pattern is None else _REFERENCE.sub("x", to)):
            raise InvalidInput(
                f"{place}: {quoted(to)} is no name that a topic can have",
                remedy="use 1 to 249 letters, digits, dots, dashes and underscores, and neither . nor .. alone",
            )
    return rule


def rule_from(place: str, row: dict[str, t.Any]) -> Rule:
    """Build one rule, or raise InvalidInput. place: which row it is."""
    name, pattern, topics = row.get("name"), row.get("pattern"), tuple(row.get("topics") or ())
    all_done(
        lambda: _check_one(name, pattern, place),
        lambda: _names(row.get("to"), place),
        lambda: check_patterns(f"{place}, topics", topics),
        *([] if pattern is None else [lambda: compiled(pattern, place)]),
    )
    names = _names(row.get("to"), place)
    if pattern is not None:
        all_of(lambda to: _check_references(compiled(pattern, place), to, place), names)
    return Rule(to=names[0], name=name, pattern=pattern, topics=topics, more=names[1:])


def _check_one(name: str | None, pattern: str | None, place: str) -> None:
    if (name is None) == (pattern is None):
        raise InvalidInput(f"{place} has {'both' if name else 'neither'} of name and pattern", remedy="give one")


def repartitioned_from(patterns: t.Collection[str]) -> tuple[str, ...]:
    """The patterns of repartitioned, or InvalidInput for those that are no regular expressions."""
    listed = tuple(patterns)
    check_patterns("repartitioned", listed)
    return listed


def prefixes_from(policy: dict[str, t.Any] | None) -> Prefixes:
    """The prefixes that MirrorMaker 2's replication policy gives to topics, or raise InvalidInput."""
    if policy is None:
        return NO_PREFIXES
    is_identity = policy["name"] == "identity"
    if not policy.get("source_alias"):
        if is_identity:
            return NO_PREFIXES
        raise InvalidInput(
            f"{option_name('replication_policy')} has no source_alias, "
            "and topics are called <source_alias><separator><topic> there",
            remedy="set source_alias to the alias that MirrorMaker 2 has for the source cluster",
        )
    separator = policy["separator"]
    target = policy.get("target_alias")
    of_destination = f"{target}{separator}" if target else ""
    return Prefixes(
        f"{policy['source_alias']}{separator}", of_destination, separator, HEARTBEATS if is_identity else ""
    )


def _names(to: t.Any, place: str) -> tuple[str, ...]:
    """The new names of a rule: one, or several in a list. A comma is a part of a name."""
    names = to if isinstance(to, list | tuple) else [to]
    if any(isinstance(name, bool) or not isinstance(name, str | int | None) for name in names):
        raise InvalidInput(f"{place}: to is {to!r}", remedy="set to to a name, or to a list of names")
    names = ["" if name is None else str(name) for name in names]
    if not names or "" in names:
        raise InvalidInput(f"{place} has no new name", remedy="set to")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidInput(f"{place} has the new name {twice} twice", remedy="remove one of them from to")
    return tuple(names)


def _check_references(pattern: re.Pattern[str], to: str, place: str) -> None:
    try:
        pattern.sub(to, "")  # reads the template even where nothing matches
    except (re.error, IndexError) as exc:
        raise InvalidInput(
            f"{place}: {quoted(to)} does not fit the pattern {quoted(pattern.pattern)}", why=str(exc)
        ) from exc


def _first(rules: _RulesByName, name: str, topic: str | None = None) -> tuple[str, ...]:
    for _number, rule in rules.about(name):
        new = rule.apply(name, topic)
        if "" in new:
            raise InvalidInput(
                f"{name} would get an empty name by {quoted(rule.to)}",
                remedy=f"correct {option_name('topic_map')} or {option_name('group_map')}",
            )
        if len(set(new)) < len(new):  # two templates may give one name
            raise InvalidInput(
                f"{name} would get the name {new[0]} twice", remedy=f"correct {option_name('group_map')}"
            )
        if new:
            return new
    return (name,)
