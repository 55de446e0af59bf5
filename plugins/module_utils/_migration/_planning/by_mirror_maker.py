# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Strategy `mirror_maker`: the rule, with MirrorMaker 2's notes as hints, and with what the last plan knows already."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._control import topics
from ..._model.connection import Connection
from ..._model.errors import NotFound
from ..._model.mapping import Mapping
from ..._model.option_names import option_name
from ..._model.wording import first_of
from ..drafts import Draft
from .by_records import by_records
from .mirror_index import read_index
from .strategy import StrategyInput, StrategyOutput


def by_mirror_maker(given: StrategyInput) -> StrategyOutput:
    """Entries of the previous plan for groups that have not moved; the rule's, which knows the noted offsets, for others."""
    if given.options.mirror is None:
        raise ValueError("strategy mirror_maker needs to know how MirrorMaker 2 calls its topics")
    index = read_index(given.source.connection, given.destination.connection, given.options.mirror)
    return dataclasses.replace(by_records(given, index), index=index.counts(), notes=index.notes)


def no_copies(wanted: t.Sequence[Draft], destination: Connection, mapping: Mapping) -> NotFound:
    """Topics that may still come are no reason to fail, but where none is there, the policy is mostly another one."""
    option, remedy = "replication_policy", "name, source_alias and separator are those of MirrorMaker 2"
    if mapping.topic_rules:
        option, remedy = "topic_map", "it alone says what the copied topics are called"
    names = sorted({draft.partition.topic for draft in wanted})
    sources = tuple({draft.source_partition.topic for draft in wanted})
    like = [name for name in topics.list_topics(destination) if name.endswith(sources)]
    return NotFound(
        f"none of the topics that {option_name(option)} expects exists: {first_of(names)}",
        cluster=str(destination),
        why=f"there is {first_of(like)}" if like else "no topic name ends with these names either",
        remedy=f"correct {option_name(option)}: {remedy}",
    )
