# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Strategy `reset` as kafka_offset_translate is asked for it: its options, what is wrong with them, and its plan."""

from __future__ import annotations

import time
import typing as t

from .._migration._planning import resets
from .._migration._planning.strategy import Translation
from .._model import receipt
from .._model.errors import InvalidInput, MigrationError
from .._model.faults import faults_of
from .._model.offset_formats import OffsetFormat
from .._model.option_names import option_name
from .._model.plan import Plan
from .._model.policies import OnOutOfRange
from .._model.reset_rules import ResetRule, ResetTo, reset_rules_from
from . import files, options

SPEC = {
    "resets": {
        "type": "list",
        "elements": "dict",
        "options": {
            "topics": {"type": "list", "elements": "str"},
            "partitions": {"type": "list", "elements": "int"},
            "to": {**options.choices(ResetTo), "required": True},
            "value": {"type": "str"},
        },
    },
    "on_out_of_range": options.choices(OnOutOfRange, default="block"),
}
_OF_TWO_CLUSTERS = ("source", "snapshot", "topic_map", "group_map", "replication_policy", "repartitioned", "promotion")


def faults_of_reset(params: dict[str, t.Any]) -> t.Iterator[MigrationError]:
    """What is wrong where a reset is asked for."""
    if given := [option_name(name) for name in _OF_TWO_CLUSTERS if params[name]]:
        has, it = ("has", given[0]) if len(given) == 1 else ("have", "them")
        yield InvalidInput(
            f"{' and '.join(given)} {has} no meaning for {option_name('strategy')} reset",
            why="it moves groups inside one cluster",
            remedy=f"leave {it} out; destination, groups and topics say what is reset",
        )
    yield from faults_of(options.selection(params).check, lambda: _resets(params))


def plan_of_resets(params: dict[str, t.Any], previous: Plan | None) -> Translation:
    """The plan that is asked for. previous: the plan that is there, if any. Raises what resets.plan_resets() raises."""
    planned = resets.plan_resets(
        options.connection(params, "destination"),
        options.selection(params),
        _resets(params),
        OnOutOfRange(params["on_out_of_range"]),
        previous,
        files.parsed(params["receipt"], receipt.from_json),
    )
    form = OffsetFormat(params["export_format"])
    if planned.unruled and params["export"] and form.is_complete:
        group, partition = planned.unruled[0]
        raise InvalidInput(
            f"no entry of resets fits the partition, and a file of the form {form} must have all of them",
            group=group,
            **partition._asdict(),
            remedy="end resets with the entry {to: current}, or leave the topic out",
        )
    return planned


def _resets(params: dict[str, t.Any]) -> tuple[ResetRule, ...]:
    return reset_rules_from(params["resets"] or (), time.time_ns() // 1_000_000)
