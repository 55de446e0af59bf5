# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Resets as a user asks for them: which partitions a rule is about, and where a group is to go there."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
import re
import typing as t

from .errors import InvalidInput
from .faults import all_done, of_entries
from .option_names import option_name
from .records import TopicPartition
from .selection import check_patterns, matches

LARGEST_OFFSET = (1 << 63) - 1  # Kafka's offsets are INT64
_LARGEST_PARTITION = (1 << 31) - 1

# RFC 3339, as the stock tool takes it, but for the zone, which the tool takes for UTC where it is missing. YAML makes a
# date of an unquoted text like this, and Ansible a text again, with a space in place of the T.
_DATETIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(?P<zone>Z|[+-][01]\d:[0-5]\d)?", re.ASCII)
# java.time.Duration, which the stock tool reads: a day has 24 hours whatever the clocks do, and there are no months.
_DURATION = re.compile(
    r"P(?:(?P<days>\d+)D)?(?:T(?=\d)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d{1,9})?)S)?)?",
    re.ASCII,
)
_BEFORE_1970 = "is before 1970, and Kafka counts times from then on"
_CALENDAR = re.compile(r"P(?:\d+[YMWD])*\d+[YMW].*", re.ASCII)


class ResetTo(enum.StrEnum):
    """Where a group goes."""

    EARLIEST = "earliest"
    LATEST = "latest"
    CURRENT = "current"
    DATETIME = "datetime"
    DURATION = "duration"
    SHIFT = "shift"
    OFFSET = "offset"


@dataclasses.dataclass(frozen=True, slots=True)
class ResetRule:
    """One entry of `resets`.

    value: the offset of `offset`, the number of offsets of `shift`, the time (milliseconds since the epoch) of `datetime` and
    `duration`; 0 for the others. text: how the user has written the value. topics (patterns) and partitions: what the rule is
    about, empty for everything.
    """

    to: ResetTo
    value: int = 0
    text: str = ""
    topics: tuple[str, ...] = ()
    partitions: frozenset[int] = frozenset()

    @property
    def by_time(self) -> bool:
        """Does the offset come from a time look-up?"""
        return self.to in (ResetTo.DATETIME, ResetTo.DURATION)

    @property
    def from_commit(self) -> bool:
        """Does the offset come from what the group has committed?"""
        return self.to in (ResetTo.CURRENT, ResetTo.SHIFT)

    def fits(self, partition: TopicPartition) -> bool:
        """Is the rule about this partition?"""
        if self.partitions and partition.partition not in self.partitions:
            return False
        return not self.topics or matches(partition.topic, self.topics)

    def __str__(self) -> str:
        return f"{self.to} {self.text}".rstrip()


def reset_rules_from(rows: t.Sequence[t.Mapping[str, t.Any]], now: int) -> tuple[ResetRule, ...]:
    """Build the rules of `resets`, or raise InvalidInput that names the entries. now: milliseconds since the epoch."""
    if not rows:
        raise InvalidInput(
            "there are no resets", remedy=f"set {option_name('resets')}, for example to [{{to: earliest}}]"
        )
    return of_entries("resets", rows, lambda place, row: reset_rule_from(place, row, now))


def first_fit(rules: t.Iterable[ResetRule], partition: TopicPartition) -> ResetRule | None:
    """The first rule that is about a partition; None where none is."""
    return next((rule for rule in rules if rule.fits(partition)), None)


def reset_rule_from(place: str, row: t.Mapping[str, t.Any], now: int) -> ResetRule:
    """Build one rule, or raise InvalidInput. place: which entry it is."""
    to, topics, partitions = ResetTo(row["to"]), tuple(row.get("topics") or ()), frozenset(row.get("partitions") or ())
    all_done(
        lambda: _value_of(to, row.get("value"), place, now),
        lambda: check_patterns(f"{place}, topics", topics),
        *(functools.partial(_check_partition, partition, place) for partition in sorted(partitions)),
    )
    return ResetRule(to, *_value_of(to, row.get("value"), place, now), topics, partitions)


def _check_partition(partition: int, place: str) -> None:
    if not 0 <= partition <= _LARGEST_PARTITION:
        raise _refused(place, f"{partition} is no partition", "give numbers from 0 on")


def _value_of(to: ResetTo, given: t.Any, place: str, now: int) -> tuple[int, str]:
    """The value of a rule, and how the user has written it."""
    text = "" if given is None else str(given).strip()
    if to not in _VALUES:
        if given is not None:
            raise _refused(place, f"to: {to} takes no value, and value is {text!r}", "leave value out")
        return 0, text
    example, read = _VALUES[to]
    if not text:
        raise _refused(place, f"to: {to} needs a value", f"set value, for example to {example}")
    return read(text, place, now), text


def _past(text: str, place: str, now: int) -> int:
    """A moment in milliseconds since the epoch, or InvalidInput for anything that could be meant in two ways."""
    shape = _DATETIME.fullmatch(text)
    if shape is None:
        raise _refused(place, f"{text!r} is no date with a time of day", "write it as 2026-11-22T18:00:00Z")
    if shape["zone"] in (None, "-00:00"):
        raise _refused(
            place,
            f"{text!r} has no time zone, and every zone has another {text[11:16]} o'clock",
            "append Z for UTC, or the difference from UTC, as +02:00",
        )
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError as exc:
        raise _refused(place, f"{text!r} is no date with a time of day: {exc}", "correct it") from exc
    value = _milliseconds(moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC))
    if value < 0:
        raise _refused(place, f"{text} {_BEFORE_1970}", "set to: earliest")
    if value > now:
        clock = datetime.datetime.fromtimestamp(now // 1000, datetime.UTC).isoformat()
        raise _refused(place, f"{text} is in the future: the clock says {clock}", "set to: latest to skip everything")
    return value


def _ago(text: str, place: str, now: int) -> int:
    """The same of a duration before now, which is longer than 0."""
    if _CALENDAR.fullmatch(text):
        raise _refused(
            place,
            f"{text!r} counts years, months or weeks, which are not equally long everywhere or not known to the stock tool",
            "count days of 24 hours, as P30D; minutes stand after a T, as PT5M",
        )
    shape = _DURATION.fullmatch(text)
    if shape is None or not any(shape.groups()):
        raise _refused(place, f"{text!r} is no duration", "write it as P1D (24 hours), PT2H30M or PT90S")
    parts = {name: float(number) for name, number in shape.groupdict().items() if number is not None}
    try:
        milliseconds = _milliseconds(datetime.timedelta(**parts))
    except OverflowError as exc:
        raise _refused(place, f"{text!r} is longer than any log", "set to: earliest") from exc
    if milliseconds <= 0:
        raise _refused(place, f"{text!r} is a duration of 0", "set to: latest to skip everything, or a longer duration")
    if milliseconds > now:
        raise _refused(place, f"{text} ago {_BEFORE_1970}", "set to: earliest")
    return now - milliseconds


def _offset(text: str, place: str, _now: int) -> int:
    if not re.fullmatch(r"\d{1,19}", text, re.ASCII) or int(text) > LARGEST_OFFSET:
        raise _refused(place, f"{text!r} is no offset", f"give a whole number from 0 to {LARGEST_OFFSET}")
    return int(text)


def _shift(text: str, place: str, _now: int) -> int:
    if not re.fullmatch(r"[+-]?\d{1,19}", text, re.ASCII) or abs(int(text)) > LARGEST_OFFSET:
        raise _refused(place, f"{text!r} is no number of offsets", "give a whole number, as 100 or -100")
    return int(text)


# An example of each value, and how it is read. What is not in it takes none.
_VALUES: dict[ResetTo, tuple[str, t.Callable[[str, str, int], int]]] = {
    ResetTo.DATETIME: ("2026-11-22T18:00:00Z", _past),
    ResetTo.DURATION: ("PT24H", _ago),
    ResetTo.SHIFT: ("-100", _shift),
    ResetTo.OFFSET: ("4711", _offset),
}


def _milliseconds(span: datetime.timedelta) -> int:
    return span // datetime.timedelta(milliseconds=1)


def _refused(place: str, what: str, remedy: str) -> InvalidInput:
    return InvalidInput(f"{place}: {what}", remedy=remedy)
