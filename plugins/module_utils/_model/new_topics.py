# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a topic gets that is made like one of another cluster, and whether a topic is what was to be made. Pure."""

from __future__ import annotations

import re
import typing as t

from .selection import matches

IN_SYNC = "min.insync.replicas"
# What belongs to the source's brokers, or what newer brokers no longer know.
BROKERS_OWN_SETTINGS = (
    r"follower\.replication\.throttled\.replicas",
    r"leader\.replication\.throttled\.replicas",
    r"message\.downconversion\.enable",
    r"message\.format\.version",
    r"message\.timestamp\.difference\.max\.ms",
    r"remote\.storage\.enable",
)


class NewTopic(t.NamedTuple):
    """A topic to be made. configs are its own settings; the brokers' defaults apply to all others.

    replication_factor: -1 for the brokers' default.
    """

    partitions: int
    replication_factor: int
    configs: dict[str, str]


def topic_like(
    partitions: int,
    replicas: int,
    settings: t.Mapping[str, str | None],
    brokers: int,
    replication_factor: int | None = None,
) -> NewTopic:
    """A topic that is made like one with so many partitions and replicas, on so many brokers.

    settings: None for the brokers' default. replication_factor: None for as many replicas as the other topic has, as far as
    there are brokers for them; else as of NewTopic.
    """
    factor = min(replicas, brokers) if replication_factor is None else replication_factor
    return NewTopic(partitions, factor, {name: value for name, value in settings.items() if value is not None})


def following_settings(own: t.Mapping[str, str], excluded: t.Collection[str]) -> dict[str, str]:
    """The settings that a topic takes over from one that sets own. excluded: patterns of those that do not follow."""
    return {name: value for name, value in own.items() if not matches(name, excluded)}


def takes_no_records(in_sync: str | None, replicas: int) -> bool:
    """Do more replicas have to be in sync than there are? Producers with acks=all could write nothing.

    in_sync: min.insync.replicas. False where nobody can tell.
    """
    return in_sync is not None and in_sync.strip().isdigit() and 0 < replicas < int(in_sync)


def is_as_made(new: NewTopic, partitions: int, own: t.Mapping[str, str]) -> bool:
    """Does a topic with so many partitions that sets own look as if new had been made?"""
    # A policy of the brokers may have added settings of its own.
    return partitions == new.partitions and all(
        is_same_value(own.get(name), value) for name, value in new.configs.items()
    )


def is_same_value(one: str | None, other: str | None) -> bool:
    """Are two values of a setting one to the brokers?

    They tell what they have read: a list without the blanks that it was given with, "true" for "TRUE", 0.5 for "0.50",
    1.0E-4 for "0.0001". See ConfigDef.parseType() and convertToString() in Kafka.
    """
    return _read(one) == _read(other)


def _read(value: str | None) -> list[str | int | float] | None:
    return None if value is None else [_word(word.strip()) for word in value.split(",")]


def _word(text: str) -> str | int | float:
    """As Java reads it. Whole numbers are no floats, which cannot tell large ones apart; Python holds 1 and 1.0 equal."""
    if re.fullmatch(r"[+-]?[0-9]+", text):
        return int(text)
    if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?[df]?", text, re.IGNORECASE):
        return float(text.rstrip("dDfF"))
    return text.lower() if text.lower() in ("true", "false") else text
