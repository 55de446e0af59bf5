# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What kafka_topic_promotion is asked for, state by state: promotes, fences, and takes back what a receipt says."""

from __future__ import annotations

import dataclasses
import functools
import os
import typing as t

from .._migration._promotion import fence, promote, undo
from .._model import promotion, snapshot, topic_plan, topic_receipt
from .._model.acls import DENY, Acl
from .._model.errors import InvalidFile
from .._model.faults import all_done
from .._model.known_names import is_repartition_topic
from .._model.mapping import rules_from
from .._model.notes import Note, NoteKind
from .._model.option_names import option_name, path_option
from .._model.policies import Acls, OnLockout, OnStillWritten
from .._model.selection import Selection
from .._model.topic_plan import ADD
from . import files, options, promotion_results
from .frame import Module
from .results import note_results


def promote_topics(module: Module) -> dict[str, t.Any]:
    """Decide what becomes of the topics, or take it from the plan, and do it. -> the module's result."""
    params, path = module.params, module.params["plan"]
    options.check_all(
        params,
        lambda: files.check_writable(path),
        lambda: files.check_writable(params["receipt"]),
        lambda: options.check_named_once(params),
        lambda: _options(params).check(),
        (lambda: promotion.check_selection(_selection(params))) if params["state"] != "applied" else None,
    )
    source, destination = options.both_clusters(params)
    decides, applies = params["state"] != "applied", params["state"] != "planned"
    with files.locked(params["receipt"]):
        receipt = promote.promotion_receipt(destination, files.parsed(params["receipt"], topic_receipt.from_json))
        before = files.read(path)
        if decides:
            if before is not None:
                topic_plan.from_json(before, path)  # what is no plan, such as the receipt, is not overwritten
            mapping, wished = options.mapping(params), _options(params)
            fence_path = None if wished.acls is Acls.NONE else params["fence_receipt"]  # without ACLs, nobody needs it
            read_fence = functools.partial(_parsed_fence, fence_path, "fence_receipt")
            plan, notes = promote.plan_promotion(source, destination, _selection(params), mapping, wished, read_fence)
            notes = (*notes, *_unused_fence(fence_path, read_fence(), plan))
        else:
            made_by = "kafka_topic_promotion with state: planned"
            planned = files.parsed_required(path, topic_plan.from_json, "topics", made_by)
            on_lockout = OnLockout(params["on_lockout"])
            plan, notes = promote.check_expected(source, destination, planned, receipt, on_lockout), ()
        after = topic_plan.to_json(plan)
        # A round without news keeps the file: it says what the last round with news has decided.
        is_new = decides and after != before and (not applies or plan.changes or before is None)
        if is_new:
            files.write_document(path, after, topic_plan.from_json, check=module.check_mode)
        if applies and not module.check_mode:
            promote.apply_plan(destination, plan, receipt, _saving(params["receipt"]))
    return {
        "changed": is_new or (applies and plan.changes),
        "plan": path,
        "receipt": params["receipt"],
        **note_results(notes),
        **promotion_results.promotion_result(plan, () if decides else _beyond_selection(params, path, "applied")),
    }


def fence_topics(module: Module) -> dict[str, t.Any]:
    """Let nobody write to the topics, or nobody read them either, and look who still does. -> the module's result."""
    params, path = module.params, module.params["receipt"]
    options.check_all(
        params,
        lambda: _check_no_snapshot(params),
        lambda: files.check_writable(path),
        lambda: promotion.check_selection(options.selection(params)),
    )
    cluster = options.connection(params, "destination")
    asked = options.filled(fence.FenceOptions, params)
    with files.locked(path):
        receipt = promote.promotion_receipt(cluster, _parsed_fence(path))
        is_made = not module.check_mode
        plan, names, notes = fence.plan_fence(cluster, options.selection(params), asked, receipt, is_made=is_made)
        if not module.check_mode:
            promote.apply_plan(cluster, plan, receipt, _saving(path))
    passing = (
        fence.Passing([], [])
        if module.check_mode or not asked.principals
        else fence.look_beyond(cluster, names, params["idle_wait"])
    )
    notes += fence.told(cluster, passing, OnStillWritten(params["on_still_written"]))
    return {
        "changed": plan.changes,
        "receipt": path,
        "fenced": names,
        "still_written": [each.row() for each in passing.grown],
        **note_results(notes),
        **promotion_results.promotion_result(plan),
    }


def _check_no_snapshot(params: dict[str, t.Any]) -> None:
    options.check_unused(params, "a fence is about topics, and a snapshot about groups", "snapshot")


def _beyond_selection(params: dict[str, t.Any], path: str, done: str) -> list[str]:
    """A line where the selection does not limit what is done to all that a file has."""
    given = [option_name(name) for name in ("topics", "topic_patterns", "snapshot") if params[name]]
    return [f"{given[0]} does not limit this: everything in {os.path.basename(path)} is {done}."] if given else []


def _parsed_fence(path: str | None, option: str = "") -> topic_receipt.PromotionReceipt | None:
    """The receipt of a fence, None where there is none. Raises InvalidFile for that of a promotion, which a lift would undo.

    option: the one with the path, if it is not the directory of a role.
    """
    receipt = files.parsed(path, topic_receipt.from_json)
    if receipt is not None and (
        receipt.topics or any(before or acl.permission != DENY for acl, before in receipt.acls.items())
    ):
        raise InvalidFile(
            f"{path} is the receipt of a promotion",
            why="a fence has only ACLs that deny something",
            remedy=f"correct {option_name(option) if option else path_option()}: each fence and each promotion needs its own",
        )
    return receipt


def _unused_fence(
    path: str | None, receipt: topic_receipt.PromotionReceipt | None, plan: topic_plan.TopicPlan
) -> list[Note]:
    """A note of a receipt that leaves nothing out; one that is missing matters only if a fence may follow."""
    if path is None:
        return []
    told = "so no ACL is left out as one of a fence at the source."
    if receipt is None and any(map(fence.may_be_of_fence, plan.acls_that(ADD))):
        return [Note(NoteKind.FILE_MISSING, f"{option_name('fence_receipt')}, {path}, does not exist, {told}")]
    if receipt is not None and receipt.cluster_id != plan.source_id:
        why = f"is of cluster {receipt.cluster_id}, and the source is {plan.source_id}"
        return [Note(NoteKind.FILE_LEFT_OUT, f"{option_name('fence_receipt')}, {path}, {why}, {told}")]
    return []


def roll_back_topics(module: Module) -> dict[str, t.Any]:
    """Take back what the receipt of a promotion or of a fence says. -> the module's result."""
    path, lifts = module.params["receipt"], module.params["state"] == "lifted"
    options.check_all(
        {**module.params, "source": None, "topic_map": [], "replication_policy": None},
        (lambda: _check_no_snapshot(module.params)) if lifts else None,
        lambda: files.check_rollback_file(path, "receipt"),
    )
    destination = options.connection(module.params, "destination")
    with files.locked(path):
        parsed = _parsed_fence(path) if lifts else files.parsed(path, topic_receipt.from_json)
        receipt = promote.promotion_receipt(destination, parsed)
        stays: dict[Acl, bool] = {}
        notes: list[Note] = []
        if lifts:
            stays, notes = fence.not_lifted(destination, options.selection(module.params), receipt)
        goes = dataclasses.replace(
            receipt, acls={acl: before for acl, before in receipt.acls.items() if acl not in stays}
        )
        undone = undo.plan_undo(destination, goes, module.params["remove_created"])
        changed = undone.plan.changes or undone.receipt != goes
        if changed and not module.check_mode:
            save = _saving(path)
            undone = undo.undo_promotion(
                destination,
                undone,
                module.params["remove_created"],
                lambda left: save(dataclasses.replace(left, acls=left.acls | stays)),
            )
    return {
        "changed": changed,
        "receipt": path,
        **note_results([*notes, *undone.notes]),
        **promotion_results.undo_result(undone, () if lifts else _beyond_selection(module.params, path, "rolled back")),
    }


def _selection(params: dict[str, t.Any]) -> Selection | promotion.CommittedTopics:
    path = params["snapshot"]
    if path is None:
        return options.selection(params)
    taken = files.parsed_required(path, snapshot.from_json, "snapshot", "kafka_group_offsets")
    topics = frozenset(
        entry.partition.topic
        for entry in taken.entries
        if not is_repartition_topic(entry.partition.topic, entry.group)  # Kafka Streams makes them itself
    )
    return promotion.CommittedTopics(topics, tuple(params["exclude_topic_patterns"] or ()))


def _saving(path: str) -> t.Callable[[topic_receipt.PromotionReceipt], None]:
    return lambda receipt: files.write_document(path, topic_receipt.to_json(receipt), topic_receipt.from_json)


def _options(params: dict[str, t.Any]) -> promotion.PromotionOptions:
    excluded = params["exclude_settings"]
    parts: dict[str, t.Callable[[], t.Any]] = {
        "replication_factor": lambda: promotion.replication_factor_from(params["replication_factor"]),
        "overrides": lambda: promotion.overrides_from(params["overrides"]),
        "principal_rules": lambda: rules_from("principal_map", params["principal_map"]),
    }
    all_done(*parts.values())
    return options.filled(
        promotion.PromotionOptions,
        params,
        exclude_settings=promotion.EXCLUDED_SETTINGS if excluded is None else tuple(excluded),
        **{name: part() for name, part in parts.items()},
    )
