# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What kafka_offset_translate is asked for: which options go together, what makes the plan of them, and what it returns."""

from __future__ import annotations

import dataclasses
import functools
import time
import typing as t

from .._matching.evidence import Policy
from .._migration._planning import checkpoints
from .._migration._planning import translate as use_case
from .._migration._planning.strategy import TranslateOptions, Translation
from .._model import offset_formats, plan, receipt, stock_csv, topic_plan
from .._model.errors import InvalidInput, MigrationError
from .._model.faults import faults_of, raise_any
from .._model.left_out import left_out
from .._model.notes import Note, NoteKind
from .._model.offset_formats import OffsetFormat
from .._model.option_names import option_name
from .._model.policies import OnUncommitted, ReturnEntries, Strategy
from .._model.progress import Say
from .._model.records import TopicPartition
from .._model.replication_policy import ReplicationPolicy
from .._model.snapshot import Snapshot
from .._model.verdicts import Reason
from . import exports, files, options, reset_making, results, streaming_checkpoint, summaries


def check_options(params: dict[str, t.Any]) -> None:
    """Raise InvalidInput for options that cannot be meant, or do not go together.

    Ansible's own rules for arguments would say it less plainly.
    """
    options.check_all(
        params,
        lambda: raise_any((reset_making.faults_of_reset if _is_reset(params) else _faults)(params)),
        lambda: files.check_writable(params["plan"]),
        lambda: exports.asked_for(params),
    )


def _is_reset(params: dict[str, t.Any]) -> bool:
    return bool(params["strategy"] == Strategy.RESET)


def _faults(params: dict[str, t.Any]) -> t.Iterator[MigrationError]:
    if params["resets"]:
        yield InvalidInput(
            f"{option_name('resets')} is for {option_name('strategy')} reset, "
            f"and {option_name('strategy')} is {params['strategy']}",
            remedy=f"set {option_name('strategy')} to reset",
        )
    if params["strategy"] != "mirror_maker":
        yield from faults_of(lambda: options.check_named_once(params))
    elif params["replication_policy"]:
        yield from faults_of(lambda: _mirror(params))
    else:
        yield InvalidInput(
            f"{option_name('strategy')} mirror_maker needs to know how MirrorMaker 2 calls its topics",
            remedy=f"set {option_name('replication_policy')}",
        )
    if params["source"] is None:
        yield from _faults_without_source(params)
        return
    if params["snapshot"] is None:
        yield InvalidInput("there is no snapshot", remedy="take one with kafka_group_offsets, and set snapshot")
    if selected := [option_name(name) for name in options.SELECTION if params[name]]:
        yield InvalidInput(
            f"{' and '.join(selected)} {'are' if selected[1:] else 'is'} for checkpoints, without source; the snapshot tells "
            "which groups and topics are meant",
            remedy=f"give {'them' if selected[1:] else 'it'} to kafka_group_offsets",
        )


def _faults_without_source(params: dict[str, t.Any]) -> t.Iterator[MigrationError]:
    if params["promotion"]:
        yield InvalidInput(
            "promotion is about topics that follow the source, and there is no source",
            remedy="set source and snapshot, or leave promotion out",
        )
    if params["strategy"] != "mirror_maker":
        yield InvalidInput(
            f"{option_name('strategy')} {params['strategy']} reads the source, and there is none",
            remedy="set source and snapshot, or, where the source is lost and MirrorMaker 2 was at work, "
            f"{option_name('strategy')} mirror_maker",
        )
    elif params["snapshot"] is not None:
        yield InvalidInput(
            "a snapshot tells where groups stood at the source, and there is no source to find that in",
            remedy=f"set source, or {option_name('groups')} or {option_name('group_patterns')} in place of snapshot "
            "to take MirrorMaker 2's checkpoints",
        )
    else:
        yield from faults_of(options.selection(params).check)


def plan_as_asked(params: dict[str, t.Any], previous: plan.Plan | None, say: Say) -> Translation:
    """The plan that the options ask for, made of the records, of MirrorMaker 2's checkpoints, or of resets.

    previous: the plan that is there, if any. Raises what the use cases and reading files raise.
    """
    if params["source"] and not _is_reset(params):
        return _from_records(params, previous, say)
    made = (reset_making.plan_of_resets if _is_reset(params) else _from_checkpoints)(params, previous)
    names = {*params["groups"], *params["topics"]} - made.plan.names()
    return dataclasses.replace(made, plan=dataclasses.replace(made.plan, left_out_names=tuple(sorted(names))))


def _from_records(params: dict[str, t.Any], previous: plan.Plan | None, say: Say) -> Translation:
    taken, lines, notes = _snapshot(params)
    mapping = options.mapping(params)
    notes += [
        Note(NoteKind.RULE_UNUSED, f"{option_name('repartitioned')}: {pattern} matches no topic of these groups")
        for pattern in mapping.idle_patterns({entry.partition.topic for entry in taken.entries})
    ]
    made = use_case.translate(
        taken,
        options.connection(params, "source"),
        options.connection(params, "destination"),
        mapping,
        _options(params),
        previous,
        files.parsed(params["receipt"], receipt.from_json),
        say,
    )
    made = dataclasses.replace(made, notes=(*notes, *made.notes), not_taken=taken.left_out)
    if not any(entry.reason is Reason.TOPIC_MISSING for entry in made.plan.entries):
        return made
    numbers = lines()
    entries = tuple(_with_line(entry, params["snapshot"], numbers) for entry in made.plan.entries)
    return dataclasses.replace(made, plan=dataclasses.replace(made.plan, entries=entries))


_Lines = dict[tuple[str, TopicPartition], int]


def _with_line(entry: plan.PlanEntry, path: str, lines: _Lines) -> plan.PlanEntry:
    """The same; one of a topic or partition that is not there names the line of the CSV file, which may be mistyped."""
    numbers = [lines[at[:2]] for at in entry.source if at[:2] in lines]
    if entry.reason is not Reason.TOPIC_MISSING or not numbers:
        return entry
    return dataclasses.replace(entry, detail=f"{entry.detail} (line {numbers[0]} of {path})")


def _snapshot(params: dict[str, t.Any]) -> tuple[Snapshot, t.Callable[[], _Lines], list[Note]]:
    """The snapshot, what tells the lines of its entries if it is CSV, and what the user should know of it."""
    path, group, form = (params[name] for name in ("snapshot", "snapshot_group", "snapshot_format"))
    if form != OffsetFormat.STRUCTURED_STREAMING:
        text = files.read_required(path, "snapshot", "kafka_group_offsets")
        if not group and offset_formats.lacks_group(text, form):
            raise stock_csv.without_group(path, f"set {option_name('snapshot_group')}")
        taken = offset_formats.read_snapshot(text, path, group, form)
        return taken, functools.partial(offset_formats.line_numbers, text, path, group, form), []
    offsets_file = streaming_checkpoint.offsets_file(path)
    return offset_formats.read_snapshot(offsets_file.text, offsets_file.path, group, form), dict, offsets_file.notes


def _from_checkpoints(params: dict[str, t.Any], previous: plan.Plan | None) -> Translation:
    return checkpoints.plan_from_checkpoints(
        options.connection(params, "destination"),
        options.replication_policy(params, "source_alias"),
        options.selection(params),
        options.mapping(params),
        OnUncommitted(params["on_uncommitted"]),
        previous,
        files.parsed(params["receipt"], receipt.from_json),
    )


def _mirror(params: dict[str, t.Any]) -> ReplicationPolicy | None:
    """How MirrorMaker 2 calls its topics; those on the source are named after the target, and the other way round."""
    if params["strategy"] != "mirror_maker":
        return None
    at_source = params["replication_policy"]["offset_syncs_location"] == "source"
    return options.replication_policy(params, "source_alias", *(["target_alias"] if at_source else []))


def _options(params: dict[str, t.Any]) -> TranslateOptions:
    match_on, path = options.match_on(params), params["promotion"]
    policy = options.filled(Policy, params, with_timestamp=match_on.timestamp, now=time.time_ns() // 1_000_000)
    topics = (
        None if path is None else files.parsed_required(path, topic_plan.from_json, "topics", "kafka_topic_promotion")
    )
    return options.filled(
        TranslateOptions,
        params,
        match_on=match_on,
        policy=policy,
        spark=options.spark_options(params),
        mirror=_mirror(params),
        promotion=topics,
    )


def plan_result(made: Translation, previous: plan.Plan | None, return_entries: ReturnEntries) -> dict[str, t.Any]:
    """The result, but for notes and files. previous: the plan before; entries that it has as they are have not changed."""
    now, known = made.plan, previous.by_key if previous else {}
    lines = left_out(made.not_taken, now)
    return {
        "kept": made.kept,
        "records_read": made.records_read,
        "index": made.index,
        "entries": [
            {**results.plan_row(entry), "predicted": entry.predicted}
            for entry in results.returned(now.entries, return_entries, lambda entry: known.get(entry.key) != entry)
        ],
        "counts": results.plan_counts(now),
        "not_exact": summaries.not_exact(now),
        "left_out": lines,
        "summary": summaries.plan_summary(now, made.logs, lines),
    }
