# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which groups and topics a task is about."""

from __future__ import annotations

import bisect
import collections
import dataclasses
import difflib
import functools
import itertools
import re
import typing as t

from . import known_names
from .errors import InvalidInput, MigrationError, NothingSelected
from .faults import all_of, faults_of, raise_any
from .notes import Note, NoteKind
from .option_names import option_name
from .records import TopicPartition
from .visible_text import names_text, quoted, visible_name
from .wording import MANY_NAMED, first_of

DEFAULT_EXCLUDED_GROUPS = known_names.patterns(known_names.GROUPS)
DEFAULT_EXCLUDED_TOPICS = known_names.patterns(known_names.TOPICS)

_MOST_ALIKE = 3  # names that a hint has
_MOST_MISSPELT = 10  # names of which a hint says what may be meant: each is compared with all that there are
_MOST_PARTS = 10  # that a pattern with commas in brackets is made of
_ALIKE = 0.7  # see difflib.SequenceMatcher.ratio(); its own 0.6 finds billing-retry for biling


@dataclasses.dataclass(frozen=True)
class Selection:
    """Names and patterns as the user gave them.

    An exclude list adds to the default one; an empty one means that nothing is excluded, None the default one alone. What is
    named is never excluded, and of a group that is named only the user's own patterns exclude topics. of_receipt: whether a
    receipt names the groups, for a return, and not the user.
    """

    groups: tuple[str, ...] = ()
    group_patterns: tuple[str, ...] = ()
    exclude_group_patterns: tuple[str, ...] | None = None
    topics: tuple[str, ...] = ()
    topic_patterns: tuple[str, ...] = ()
    exclude_topic_patterns: tuple[str, ...] | None = None
    of_receipt: bool = False

    @functools.cached_property
    def named_groups(self) -> frozenset[str]:
        """The same as groups: one is looked for in it thousands of times."""
        return frozenset(self.groups)

    def check(self, kind: str = "group") -> None:
        """Raise InvalidInput for a selection of nothing, and for all that check_words() refuses. kind: group or topic."""
        names, patterns = f"{kind}s", f"{kind}_patterns"
        faults: list[MigrationError] = []
        if not getattr(self, names) and not getattr(self, patterns):
            all_of_them = "; the pattern .* selects all" if kind == "topic" else ""
            remedy = f"set {option_name(names)} or {option_name(patterns)}{all_of_them}"
            faults.append(NothingSelected(f"no {kind} is selected", remedy=remedy))
        raise_any([*faults, *self._faults_of_words()])

    def check_words(self) -> None:
        """Raise InvalidInput that says all of it: empty names, names that are there twice, patterns that cannot be compiled."""
        raise_any(self._faults_of_words())

    def _faults_of_words(self) -> t.Iterator[MigrationError]:
        for option in ("groups", "topics"):
            yield from faults_of_names(option, getattr(self, option))
        for option in ("group_patterns", "exclude_group_patterns", "topic_patterns", "exclude_topic_patterns"):
            yield from faults_of(functools.partial(check_patterns, option, getattr(self, option) or ()))

    def select_groups(self, existing: t.Iterable[str]) -> Selected:
        """The named groups, whether they exist or not, and the existing ones that the patterns add."""
        excluded = all_excluded(self.exclude_group_patterns, DEFAULT_EXCLUDED_GROUPS)
        return _select(existing, self.groups, self.group_patterns, excluded)

    def select_topics(self, existing: t.Iterable[str], group: str | None = None, only_own: bool = False) -> Selected:
        """The same for topics; without any topic selection every existing one that is not excluded.

        group: whose topics they are. Whoever names it means all that it consumes, but for what he excludes himself.
        only_own: whether that is so of all.
        """
        own = self.exclude_topic_patterns
        excluded = (own or ()) if only_own or group in self.named_groups else all_excluded(own, DEFAULT_EXCLUDED_TOPICS)
        patterns = self.topic_patterns if self.topics or self.topic_patterns else (".*",)
        return _select(existing, self.topics, patterns, excluded)

    def topics_of(self, committed: t.Mapping[str, t.Iterable[TopicPartition]]) -> dict[str, Selected]:
        """The selected ones of the topics that each group, by its name, has committed on."""
        return {
            name: self.select_topics({partition.topic for partition in partitions}, name)
            for name, partitions in committed.items()
        }

    def unused(self, option: str, existing: t.Collection[str], place: str) -> list[Note]:
        """A note if some of the patterns match none of these names: they may be misspelt.

        option: groups or topics. place: what has these names, such as "in the receipt". Exclude patterns do not count: people
        set them for what may come.
        """
        what = option[:-1]
        patterns = getattr(self, f"{what}_patterns") or ()
        unused = [pattern for pattern in patterns if not any(matches(name, (pattern,)) for name in existing)]
        if not existing or not unused:
            return []
        text = (
            f"No {what} {place} is matched by {first_of(unused, MANY_NAMED)}{comma_hint(patterns)}. "
            f"Correct {option_name(f'{what}_patterns')}, or remove from it what is not needed."
        )
        return [Note(NoteKind.RULE_UNUSED, text)]


def seen_on(cluster: object) -> str:
    """For Selection.unused(): what a cluster shows."""
    return f"that this user may describe on {cluster}"


def faults_of_names(option: str, names: t.Sequence[str]) -> t.Iterator[InvalidInput]:
    """Names that are empty, or that are there twice."""
    for number, name in enumerate(names, 1):
        if not name:
            yield InvalidInput(f"{option_name(option)}, entry {number} is empty", remedy="remove it")
    if twice := [name for name, count in collections.Counter(names).items() if count > 1 and name]:
        yield InvalidInput(
            f"{option_name(option)} names {names_text(twice)} twice",
            remedy="remove one of them, or correct it if another one was meant",
        )


def unused_cause(unused: t.Iterable[Note]) -> str | None:
    """Group patterns that match nothing, as the reason why topics of the selected groups are missing; None without any."""
    return " ".join(note.text for note in unused).removesuffix(".") or None


class Selected(t.NamedTuple):
    """names: what is selected, sorted. left_out: what a pattern matched and an exclude pattern took away, sorted."""

    names: tuple[str, ...]
    left_out: tuple[str, ...]

    def has(self, name: str) -> bool:
        """Is this selected? A group may have thousands of topics, and each is looked for."""
        at = bisect.bisect_left(self.names, name)
        return self.names[at : at + 1] == (name,)


def all_topics(selected: t.Mapping[str, Selected]) -> Selected:
    """The topics of all groups together."""
    return Selected(
        tuple(sorted({topic for of_group in selected.values() for topic in of_group.names})),
        tuple(sorted({topic for of_group in selected.values() for topic in of_group.left_out})),
    )


def all_excluded(own: tuple[str, ...] | None, default: tuple[str, ...]) -> tuple[str, ...]:
    """The patterns that exclude: those of the user besides the default ones, but none where the user's list is empty."""
    return default if own is None else (*own, *default) if own else ()


def compiled(pattern: str, option: str, beside: t.Sequence[str] = ()) -> re.Pattern[str]:
    """Compile a user's regular expression, or raise InvalidInput that names the option. beside: all that are in its list."""
    try:
        return re.compile(pattern, re.DOTALL)  # names of groups may hold line breaks
    except re.error as exc:
        meant = " (did you mean '.*'?)" if pattern == "*" else ""  # as for a shell
        raise InvalidInput(
            f"{option_name(option)} holds {quoted(pattern)}, which is no regular expression",
            why=str(exc),
            remedy=f"correct the pattern{meant}{comma_hint(beside)}",
        ) from exc


def check_patterns(option: str, patterns: t.Sequence[str]) -> None:
    """Raise InvalidInput for those of an option's patterns that are no regular expressions."""
    all_of(lambda pattern: compiled(pattern, option, patterns), patterns)


def matches(name: str, patterns: t.Iterable[str]) -> bool:
    """Does any pattern match the whole name?"""
    return _matches(name, tuple(patterns))


@functools.lru_cache(maxsize=1 << 16)  # thousands of groups consume the same topics
def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(kept_pattern(pattern, re.DOTALL).fullmatch(name) for pattern in patterns)


@functools.cache  # the module re keeps a few hundred patterns, and compiles more than that anew for each name
def kept_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern that was checked, compiled once."""
    return re.compile(pattern, flags)


def looks_like_pattern(name: str) -> bool:
    """Has it characters that names may have, but seldom do?"""
    return re.search(r"[][*+?(){}|^$\\]", name) is not None


def comma_hint(patterns: t.Sequence[str]) -> str:
    """Whether some of these are parts of a text with a comma in brackets, such as e{2 and 3}, to follow them; else empty."""
    return _comma_hint(tuple(patterns))


@functools.lru_cache(maxsize=1)  # each pattern of a list that cannot be compiled asks
def _comma_hint(patterns: tuple[str, ...]) -> str:
    for at, pattern in enumerate(patterns):
        together = ("".join(patterns[at:end]) for end in range(at + 2, min(at + _MOST_PARTS, len(patterns)) + 1))
        if not _has_pairs(pattern) and any(map(_has_pairs, together)):
            return "; Ansible splits a text at commas, so give a pattern with a comma in a list"
    return ""


def _has_pairs(text: str) -> bool:
    """Has it as many closing brackets of each kind as opening ones?"""
    return all(text.count(left) == text.count(right) for left, right in ("{}", "()", "[]"))


def name_hint(option: str, missing: t.Collection[str], existing: t.Collection[str]) -> str:
    """What may be wrong with names that do not exist, in brackets, to follow the option's name; empty if nobody knows.

    option: groups or topics. existing: the names that the user may see; those of them that are most alike are named.
    """
    if any(map(looks_like_pattern, missing)):
        return f" (patterns belong in {option_name(f'{option[:-1]}_patterns')})"
    parts = frozenset(missing)
    split = sorted(name for name in existing if "," in name and {part.strip() for part in name.split(",")} <= parts)
    if split:
        return f" (did you mean {visible_name(split[0])}? Ansible splits a text at commas: give a list)"
    near = [_nearest(name, existing) for name in itertools.islice(missing, _MOST_MISSPELT)]
    alike = dict.fromkeys(name for rank in itertools.zip_longest(*near) for name in rank if name is not None)
    return f" (did you mean {' or '.join(map(visible_name, list(alike)[:_MOST_ALIKE]))}?)" if alike else ""


def _nearest(name: str, existing: t.Collection[str]) -> list[str]:
    """The names most like this one, the nearest first. YAML takes 007 for the number 7."""
    same = [each for each in existing if _folded(each) == _folded(name)]
    return list(dict.fromkeys([*same, *difflib.get_close_matches(name, existing, cutoff=_ALIKE)]))


def _folded(name: str) -> str:
    return name.strip().casefold().lstrip("0")


def _select(
    existing: t.Iterable[str], names: tuple[str, ...], patterns: tuple[str, ...], excluded: tuple[str, ...]
) -> Selected:
    matched = {name for name in existing if matches(name, patterns)} - set(names)
    # Brokers store commits of a group without a name, but do not describe it or remove them: nobody could roll it back.
    left_out = {name for name in matched if not name or matches(name, excluded)}
    return Selected(tuple(sorted({*names, *(matched - left_out)})), tuple(sorted(left_out)))
