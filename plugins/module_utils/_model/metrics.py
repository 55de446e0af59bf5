# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""A status as a text file for Prometheus's node exporter. Pure.

The format is Prometheus's text exposition format 0.0.4, which the textfile collector reads; timestamps of samples are left out,
as the collector demands.
"""

from __future__ import annotations

import typing as t

from .status import Status
from .verdicts import Verdict

_PREFIX = "streamshift_kafka_"
_Labels = tuple[tuple[str, str], ...]
_Samples = list[tuple[_Labels, float]]
_Family = tuple[str, str, t.Sequence[tuple[_Labels, float]]]


def exposition(status: Status, migration: str) -> str:
    """The text of the file; `migration` becomes the label of that name, so that several files can lie side by side."""
    labels: _Labels = (("migration", migration),)

    def per_group(name: str) -> _Samples:
        return [((*labels, ("group", row["group"])), row[name]) for row in status.groups if row[name] is not None]

    verdicts = [
        ((*labels, ("group", row["group"]), ("verdict", verdict.value)), row["verdicts"].get(verdict.value, 0))
        for row in status.groups
        for verdict in Verdict
    ]
    good = [] if status.last_good is None else [(labels, status.last_good)]
    families: list[_Family] = [
        ("last_good_round_timestamp_seconds", "When the last round ended that did not fail, as Unix time.", good),
        ("last_round_timestamp_seconds", "When the last round ended, as Unix time.", [(labels, status.ended)]),
        ("last_round_seconds", "How long the last round took.", [(labels, max(0.0, status.ended - status.started))]),
        ("last_round_failed", "1 if the last round has failed, else 0.", [(labels, int(status.failure is not None))]),
        ("last_round_changed_offsets", "Offsets that the last round has committed.", [(labels, status.changed)]),
        (
            "group_ready",
            "1 if the group has its planned offsets and no member at the destination, else 0.",
            per_group("ready"),
        ),
        ("group_lag", "Records that the group has not consumed at the source, in offsets.", per_group("lag")),
        (
            "group_expired",
            "Records that expired at the source before it consumed them, in offsets.",
            per_group("expired"),
        ),
        ("group_to_come", "Consumed records that have still to come to the destination.", per_group("to_come")),
        (
            "group_absent",
            "Unconsumed records that the destination lacks although later ones are there.",
            per_group("absent"),
        ),
        ("group_partitions", "Partitions of the group with each verdict.", verdicts),
    ]
    return _text(families)


def status_exposition(
    groups: t.Iterable[t.Mapping[str, t.Any]], still_written: t.Iterable[tuple[str, int]], ended: float, migration: str
) -> str:
    """The text of the file of a status. groups: rows. still_written: topics, each with how many records have come meanwhile.

    The names differ from those of rounds, so that one node exporter can read both files.
    """
    labels: _Labels = (("migration", migration),)
    rows = list(groups)
    states = [((*labels, ("group", row["group"]), ("state", row["state"])), 1) for row in rows]

    def per_side(name: str) -> _Samples:
        return [
            ((*labels, ("group", row["group"]), ("cluster", side)), row[f"{side}_{name}"])
            for row in rows
            for side in ("source", "destination")
            if row[f"{side}_{name}"] is not None
        ]

    written = [((*labels, ("topic", topic)), records) for topic, records in still_written]
    return _text(
        [
            ("status_timestamp_seconds", "When the status was read, as Unix time.", [(labels, ended)]),
            ("status_group_state", "1 for the state that the group is in.", states),
            (
                "status_group_lag",
                "Records that the group has not consumed on this cluster, in offsets.",
                per_side("lag"),
            ),
            (
                "status_group_expired",
                "Records that expired before the group consumed them, in offsets.",
                per_side("expired"),
            ),
            ("status_topic_still_written", "Records that have come to the topic at the source meanwhile.", written),
        ]
    )


def _text(families: t.Iterable[_Family]) -> str:
    lines = []
    for name, text, samples in families:
        if samples:
            lines += [f"# HELP {_PREFIX}{name} {text}", f"# TYPE {_PREFIX}{name} gauge"]
            lines += [f"{_PREFIX}{name}{_labels(labels)} {_number(value)}" for labels, value in samples]
    return "\n".join(lines) + "\n"


def _labels(labels: _Labels) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else f"{value:.3f}"
