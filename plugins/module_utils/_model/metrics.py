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
_OF_GROUPS = {
    "ready": "1 if the group has its planned offsets and no member at the destination, else 0.",
    "lag": "Records that the group has not consumed at the source, in offsets.",
    "expired": "Records that expired at the source before it consumed them, in offsets.",
    "to_come": "Consumed records that have still to come to the destination.",
    "absent": "Unconsumed records that the destination lacks although later ones are there.",
}
_OF_GROUPS_ON_A_CLUSTER = {
    "lag": "Records that the group has not consumed on this cluster, in offsets.",
    "expired": "Records that expired before the group consumed them, in offsets.",
}
_Samples = t.Sequence[tuple[t.Mapping[str, str], "float | None"]]  # each has its labels; None is not known
_Family = tuple[str, str, _Samples]


def exposition(status: Status, migration: str) -> str:
    """The text of the file; `migration` becomes the label of that name, so that several files can lie side by side."""

    def per_group(name: str) -> _Samples:
        return [({"group": row["group"]}, row[name]) for row in status.groups]

    verdicts = [
        ({"group": row["group"], "verdict": verdict.value}, row["verdicts"].get(verdict.value, 0))
        for row in status.groups
        for verdict in Verdict
    ]
    good = "When the last round ended that did not fail, as Unix time."
    families: list[_Family] = [
        ("last_good_round_timestamp_seconds", good, [({}, status.last_good)]),
        ("last_round_timestamp_seconds", "When the last round ended, as Unix time.", [({}, status.ended)]),
        ("last_round_seconds", "How long the last round took.", [({}, max(0.0, status.ended - status.started))]),
        ("last_round_failed", "1 if the last round has failed, else 0.", [({}, int(status.failure is not None))]),
        ("last_round_changed_offsets", "Offsets that the last round has committed.", [({}, status.changed)]),
        *((f"group_{name}", text, per_group(name)) for name, text in _OF_GROUPS.items()),
        ("group_partitions", "Partitions of the group with each verdict.", verdicts),
    ]
    return _text(families, migration)


def status_exposition(
    groups: t.Iterable[t.Mapping[str, t.Any]], still_written: t.Iterable[tuple[str, int]], ended: float, migration: str
) -> str:
    """The text of the file of a status. groups: rows. still_written: topics, each with how many records have come meanwhile.

    The names differ from those of rounds, so that one node exporter can read both files.
    """
    rows = list(groups)

    def per_side(name: str) -> _Samples:
        return [
            ({"group": row["group"], "cluster": side}, row[f"{side}_{name}"])
            for row in rows
            for side in ("source", "destination")
        ]

    states = [({"group": row["group"], "state": row["state"]}, 1) for row in rows]
    written = [({"topic": topic}, records) for topic, records in still_written]
    families: list[_Family] = [
        ("status_timestamp_seconds", "When the status was read, as Unix time.", [({}, ended)]),
        ("status_group_state", "1 for the state that the group is in.", states),
        *((f"status_group_{name}", text, per_side(name)) for name, text in _OF_GROUPS_ON_A_CLUSTER.items()),
        ("status_topic_still_written", "Records that have come to the topic at the source meanwhile.", written),
    ]
    return _text(families, migration)


def _text(families: t.Iterable[_Family], migration: str) -> str:
    lines = []
    for name, text, samples in families:
        known = [({"migration": migration, **labels}, value) for labels, value in samples if value is not None]
        if known:
            lines += [f"# HELP {_PREFIX}{name} {text}", f"# TYPE {_PREFIX}{name} gauge"]
            lines += [f"{_PREFIX}{name}{_labels(labels)} {_number(value)}" for labels, value in known]
    return "\n".join(lines) + "\n"


def _labels(labels: t.Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else f"{value:.3f}"
