# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a selection takes of the groups and topics that a file or a cluster has, and why it may take nothing. Pure."""

from __future__ import annotations

import typing as t

from .errors import NotFound, NothingSelected
from .faults import all_done
from .notes import Note, excluded
from .option_names import option_name
from .records import TopicPartition
from .selection import Selected, Selection, all_topics, comma_hint, name_hint, unused_cause
from .visible_text import names_text, quoted_list, visible_name
from .wording import MANY_NAMED, are, first_names, first_of

_EXAMPLES = {"group": "billing.*", "topic": "orders.*"}


class Choice(t.NamedTuple):
    """The selected groups, and the selected ones of the topics of each. unused: patterns that match nothing."""

    groups: Selected
    topics: t.Mapping[str, Selected]
    unused: t.Sequence[Note]

    @property
    def topics_left_out(self) -> tuple[str, ...]:
        """What exclude patterns take from the selected groups."""
        return all_topics(self.topics).left_out

    @property
    def notes(self) -> tuple[Note, ...]:
        """What the user should know of the choice."""
        return (*excluded(self.groups.left_out, self.topics_left_out), *self.unused)

    def has(self, group: str, topic: str) -> bool:
        """Is this topic of this group selected?"""
        return group in self.topics and self.topics[group].has(topic)


class Holder(t.NamedTuple):
    """A file or a cluster that has groups and topics, as an error about a selection of them says it.

    place: where they are, such as "in the receipt". remedy: what else the user can do about a selection that does not fit, to
    follow a clause. renamed: the old names of groups and of topics by their new ones, by kind. why: the reason if it is known.
    """

    place: str
    cluster: str | None = None
    remedy: str = ""
    renamed: t.Mapping[str, t.Mapping[str, str]] = {}
    why: str | None = None

    def choose(self, selection: Selection, committed: t.Mapping[str, t.Iterable[TopicPartition]]) -> Choice:
        """What is selected of what each group has committed on.

        Raises NotFound for a name that is not there, and InvalidInput for patterns that match nothing.
        """
        groups, every_topic = selection.select_groups(committed), _topics(committed)
        all_done(
            lambda: self.check_named("group", selection.groups, committed),
            lambda: self.check_named("topic", selection.topics, every_topic),
            lambda: self.check_matched("group", selection.group_patterns, committed, groups),
        )
        unused = selection.unused("groups", committed, self.place)
        of_selected = {name: committed[name] for name in groups.names}
        topics, their_topics = selection.topics_of(of_selected), _topics(of_selected)
        theirs = self._replace(place=f"among those of the selected groups {self.place}", why=unused_cause(unused))
        theirs.check_named("topic", selection.topics, their_topics)
        theirs.check_matched("topic", selection.topic_patterns, their_topics, all_topics(topics))
        return Choice(groups, topics, [*unused, *selection.unused("topics", every_topic, self.place)])

    def check_named(self, kind: str, wanted: t.Iterable[str], names: t.Collection[str]) -> None:
        """Raise NotFound for wanted names that are not among the holder's. kind: group or topic."""
        missing = [name for name in wanted if name not in names]
        if missing:
            option, renamed = f"{kind}s", self.renamed.get(kind, {})
            old = [
                f"{visible_name(renamed[name])} became {visible_name(name)}"
                for name in missing
                if renamed.get(name, name) != name
            ]
            hint = f" ({first_of(old)})" if old else name_hint(option, missing, names)
            raise NotFound(
                f"{option if missing[1:] else kind} {names_text(missing)} {are(len(missing))} not {self.place}",
                cluster=self.cluster,
                why=self.why or _text(kind, names),
                remedy=f"correct {option_name(option)}{hint}{self.remedy}",
            )

    def check_matched(self, kind: str, patterns: t.Sequence[str], names: t.Collection[str], selected: Selected) -> None:
        """Raise InvalidInput if nothing is selected of the holder's names, if it has any. A group may have no topics."""
        if not selected.names and (names or kind == "group"):
            option = option_name(f"{kind}s")
            option_of_patterns = option_name(f"{kind}_patterns" if patterns else f"exclude_{kind}_patterns")
            how = f"matched by {option_of_patterns} {quoted_list(patterns)}" if patterns else "selected"
            left_out = " ".join(note.text for note in excluded(**{f"{kind}s": selected.left_out})).rstrip(".")
            raise NothingSelected(
                f"no {kind} {self.place} is {how}",
                cluster=self.cluster,
                why=self.why
                or left_out
                or f"a pattern has to match the whole name, such as {_EXAMPLES[kind]} for all that begins so, and "
                f"{_text(kind, names)}",
                remedy=f"correct {option_of_patterns}, or name the {kind}s in {option}{self.remedy}{comma_hint(patterns)}",
            )


def _topics(committed: t.Mapping[str, t.Iterable[TopicPartition]]) -> set[str]:
    return {partition.topic for partitions in committed.values() for partition in partitions}


def _text(kind: str, names: t.Collection[str]) -> str:
    shown = first_names(sorted(names), MANY_NAMED)
    return f"there {are(len(names))} only {shown}" if names else f"there are no {kind}s"
