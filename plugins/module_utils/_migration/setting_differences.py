# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Settings of topics that differ between two clusters, and what records that costs a group, or how surely it can be planned."""

from __future__ import annotations

import contextlib
import enum
import time
import typing as t

from .._control import configs, positions
from .._model.connection import Connection
from .._model.errors import MigrationError
from .._model.records import TopicPartition
from .._model.wording import counted
from .drafts import Draft

SettingValues = t.Mapping[str, str]

_PATIENCE = 5.0  # seconds after which a cluster that does not tell where logs begin and end is asked no more
_UNLIMITED = 2**63 - 1  # what brokers show where a timestamp may differ from their clock by any time


class SettingKind(enum.StrEnum):
    """What a difference is about."""

    COMPACTION = "compaction"
    TIMESTAMP_TYPE = "timestamp_type"
    MESSAGE_SIZE = "message_size"
    RETENTION = "retention"
    TIMESTAMP_BEFORE = "timestamp_before"
    TIMESTAMP_AFTER = "timestamp_after"


class SettingDifference(t.NamedTuple):
    """One setting of one topic. source and destination are what the brokers show, and None where they do not have it."""

    kind: SettingKind
    topic: str
    destination_topic: str
    setting: str
    source: str | None
    destination: str | None
    message: str


def setting_differences(
    source: Connection,
    destination: Connection,
    drafts: t.Collection[Draft],
    source_counts: t.Mapping[str, int],
    destination_counts: t.Mapping[str, int],
) -> list[SettingDifference]:
    """The differences of the topics that exist on both clusters, in order of topics, as far as the clusters tell them.

    Nothing here fails a run, because these are hints: what cannot be read, such as settings without the ACL, is left out.

    source_counts, destination_counts: how many partitions each topic has. Retention and limits of timestamps only count where
    the source has records that they concern.
    """
    pairs = sorted({(draft.source_partition.topic, draft.partition.topic) for draft in drafts})
    pairs = [(topic, copy) for topic, copy in pairs if topic in source_counts and copy in destination_counts]
    differences: list[SettingDifference] = []
    with contextlib.suppress(MigrationError):
        source_settings = configs.topic_configs(source, [topic for topic, _copy in pairs])
        destination_settings = configs.topic_configs(destination, [copy for _topic, copy in pairs])
        both = {pair: (source_settings[pair[0]].effective, destination_settings[pair[1]].effective) for pair in pairs}
        for pair, settings in both.items():
            differences += plain_differences(*pair, *settings)
        differences += _by_records(source, drafts, source_counts, both)
    return sorted(differences, key=lambda difference: difference[:3])


def plain_differences(topic: str, copy: str, own: SettingValues, other: SettingValues) -> list[SettingDifference]:
    """What settings alone say. own and other: whatever the source and the destination show of the topic and its copy."""
    differences = []

    def add(kind: SettingKind, setting: str, why: str) -> None:
        differences.append(_difference(kind, topic, copy, setting, own, other, why))

    if _is_compacted(own) != _is_compacted(other):
        side = "destination" if _is_compacted(other) else "source"
        why = f"only the {side} compacts the topic, so that records which the other cluster has are missing there. "
        add(SettingKind.COMPACTION, "cleanup.policy", f"{why}{_ADAPT_POLICY}")
    if _is_stamped(own) != _is_stamped(other):
        side = "destination" if _is_stamped(other) else "source"
        why = (
            f"only the {side} stamps records when it stores them, so that equal records may have other timestamps and "
            "offsets may be safe, not exact. Set CreateTime before records are copied"
        )
        add(SettingKind.TIMESTAMP_TYPE, "message.timestamp.type", why)
    size, largest = own.get("max.message.bytes"), other.get("max.message.bytes")
    if size and largest and int(largest) < int(size):
        why = "the destination refuses larger batches of records, and what is not copied blocks groups. "
        add(SettingKind.MESSAGE_SIZE, "max.message.bytes", f"{why}Raise it at the destination")
    return differences


# Once the source's policy is another, nobody sees any more that it was compacted.
_ADAPT_POLICY = (
    "Give the destination the source's cleanup.policy before you migrate, and leave that of the source as it is"
)

# By what they are about: settings of the destination, with times in milliseconds since the epoch.
_Times = dict[SettingKind, tuple[str, int]]


def _concerned_times(own: SettingValues, other: SettingValues, now: int) -> _Times:
    """The times from which, or until which, the destination does not keep or take the source's records.

    RETENTION: it deletes what is older. TIMESTAMP_BEFORE: it refuses what is older. TIMESTAMP_AFTER: it refuses what is not
    older. A kind is missing where the source limits records in the same way, or where the destination stamps them itself.
    """
    if _is_stamped(other):
        return {}
    times: _Times = {}
    retention = other.get("retention.ms")
    if retention and int(retention) >= 0 and "delete" in other.get("cleanup.policy", "delete"):
        times[SettingKind.RETENTION] = "retention.ms", now - int(retention)
    for kind, side, sign in ((SettingKind.TIMESTAMP_BEFORE, "before", -1), (SettingKind.TIMESTAMP_AFTER, "after", 1)):
        setting, limit = _limit(other, side)
        if limit < _limit(own, side)[1]:
            times[kind] = setting, now + sign * limit
    return {kind: (setting, when) for kind, (setting, when) in times.items() if when >= 0}


def _by_records(
    source: Connection,
    drafts: t.Iterable[Draft],
    counts: t.Mapping[str, int],
    settings: t.Mapping[tuple[str, str], tuple[SettingValues, SettingValues]],
) -> list[SettingDifference]:
    """The differences that matter only if the source has such records: one look-up a partition and time.

    settings: what both clusters show of each topic and its copy.

    Brokers count transaction markers in these look-ups, and no look-up tells a marker from a record. So an old marker right
    after a committed offset, or at the start of the log, gives a note although no record is concerned. It is not read to find
    out: a note too many costs a look, one too few records.
    """
    committed: dict[tuple[str, str], dict[TopicPartition, int]] = {}
    for draft in drafts:
        partition = draft.source_partition
        if draft.committed is not None and partition.partition < counts.get(partition.topic, 0):
            least = committed.setdefault((partition.topic, draft.partition.topic), {})
            least[partition] = min(draft.committed.offset, least.get(partition, draft.committed.offset))
    now = int(time.time() * 1000)
    times = {pair: _concerned_times(*shown, now) for pair, shown in settings.items() if pair in committed}
    wanted = {pair: (kinds, committed[pair]) for pair, kinds in times.items() if kinds}
    every = {partition for _kinds, offsets in wanted.values() for partition in offsets}
    _cluster, bounds = positions.bounds_as_far_as_known(source, every, _PATIENCE) if every else ("", {})
    asked = [
        (at, when)
        for kinds, offsets in wanted.values()
        for _setting, when in kinds.values()
        for at in offsets
        if at in bounds
    ]
    untimed: set[TopicPartition] = set()
    firsts = positions.lookup_all_times(source, asked, untimed)
    differences = []
    for (topic, copy), (kinds, offsets) in wanted.items():
        for kind, (setting, when) in kinds.items():
            concerned = 0
            for partition, offset in offsets.items():
                if partition in untimed or partition not in bounds:
                    continue
                first, end = firsts[partition, when], bounds[partition].high_watermark
                if kind is SettingKind.TIMESTAMP_AFTER:
                    concerned += first is not None
                else:
                    begin = bounds[partition].log_start
                    begin = max(begin, offset) if kind is SettingKind.RETENTION else begin
                    concerned += begin < (end if first is None else first)
            if concerned:
                why = _WHY[kind].format(count=counted(concerned, "partition"))
                differences.append(_difference(kind, topic, copy, setting, *settings[topic, copy], why))
    return differences


_WHY = {
    SettingKind.RETENTION: (
        "on {count} of the source, the oldest unconsumed record is older than the destination keeps records, "
        "and may be deleted there before its group consumes it. Raise it at the destination until the groups have "
        "caught up"
    ),
    SettingKind.TIMESTAMP_BEFORE: (
        "on {count} of the source, there are records older than the destination takes, and what is not copied "
        "blocks groups. Raise it at the destination"
    ),
    SettingKind.TIMESTAMP_AFTER: (
        "on {count} of the source, there are records with later timestamps than the destination takes, and "
        "what is not copied blocks groups. Raise it at the destination"
    ),
}


def _difference(
    kind: SettingKind, topic: str, copy: str, setting: str, own: SettingValues, other: SettingValues, why: str
) -> SettingDifference:
    source_value, destination_value = own.get(setting), other.get(setting)
    name = topic if topic == copy else f"{topic} ({copy} at the destination)"
    shown = "not set" if source_value is None else source_value
    message = f"topic {name}: {setting} is {shown} at the source, {destination_value} at the destination: {why}."
    return SettingDifference(kind, topic, copy, setting, source_value, destination_value, message)


def _is_compacted(settings: SettingValues) -> bool:
    return "compact" in settings.get("cleanup.policy", "")


def _is_stamped(settings: SettingValues) -> bool:
    return settings.get("message.timestamp.type") == "LogAppendTime"


def _limit(settings: SettingValues, side: str) -> tuple[str, int]:
    """The setting that limits timestamps on this side of the broker's clock, and its value in ms.

    Brokers of version 3.6 and later have one for each side, and those before 4.0 one for both, which counts where the other is
    not set. Source: https://cwiki.apache.org/confluence/display/KAFKA/KIP-937
    """
    name, both = f"message.timestamp.{side}.max.ms", "message.timestamp.difference.max.ms"
    value = int(settings.get(name, _UNLIMITED))
    if value == _UNLIMITED and both in settings:
        return both, int(settings[both])
    return name, value
