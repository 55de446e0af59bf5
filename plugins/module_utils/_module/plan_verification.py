# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What kafka_offset_verify is asked for: the plan to verify, how, and the report and notes that it writes."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import functools
import typing as t

from .._migration._committing import pending
from .._migration._committing.outcome import CommitOptions
from .._migration._verification import claimed_offsets, incremental
from .._migration._verification import verify as use_case
from .._migration.file_clusters import check_plan_clusters
from .._model import backlog, plan, receipt, report
from .._model.background import at_once
from .._model.connection import Connection
from .._model.errors import InvalidInput, Locked, NothingSelected
from .._model.group_state import GroupReading
from .._model.idle import EarlierLook
from .._model.option_names import option_name
from .._model.policies import OnAbsent, OnAdvance, OnProblem, OnRewind
from .._model.report import of_copy
from . import digests, files, options
from .frame import Module

_Compared = tuple[use_case.Verified, report.Report]


class _Planned(t.NamedTuple):
    """A plan file.

    known: its receipt, None where there is no such file. written: the receipt of its commit, None where the whole plan is
    verified. chosen: the entries to verify, None for all. readings: the plan's groups at the destination, where they were read
    for that.
    """

    made: plan.Plan
    digest: str
    known: receipt.Receipt | None
    written: receipt.Receipt | None
    chosen: list[plan.PlanEntry] | None
    readings: t.Mapping[str, GroupReading] | None


def check_verification(params: dict[str, t.Any]) -> None:
    """Raise InvalidInput, before anything is read, for options that cannot be meant or do not go together."""
    options.check_all(
        params,
        lambda: _check_chosen(params),
        lambda: _check_paths(params),
        lambda: options.check_named_once(params),
    )


def _check_chosen(params: dict[str, t.Any]) -> None:
    if not (params["plan"] or params["groups"] or params["group_patterns"]):
        raise NothingSelected(
            "nothing is to be verified",
            remedy=f"set plan, or {option_name('groups')} or {option_name('group_patterns')}",
        )


def verify_as_asked(
    module: Module, source: Connection, destination: Connection
) -> tuple[use_case.Verified, str | None]:
    """Verify what the module's options say, and write the report, but not in check mode.

    -> what was found, and the digest of the plan as it is now, None without one. Raises what the use case and reading files
    raise.
    """
    params = module.params
    path = None if module.check_mode else params["report"]
    if path is not None:
        with files.locked(path):  # refused before the work, and not after it
            pass
    planned = _planned(params, source, destination) if params["plan"] else None
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        look = pool.submit(_look, params, planned, source, destination)
        if planned is None:
            verified, made = _records(module, None, source, destination)
        elif params["incremental"]:
            verified, made = _incrementally(module, planned, source, destination)
        else:
            compare = {"records": _records, "anchors": _anchors}[params["method"]]
            verified, made = compare(module, planned, source, destination)
    if path is not None and not (params["scope"] == "to_commit" and _is_settled(made, path)):
        with files.locked(path):
            text = report.to_json(dataclasses.replace(made, look=look.result()))
            files.write_document(path, text, report.from_json)
    return verified, made.plan


def scope(params: dict[str, t.Any]) -> str | None:
    """Which offsets of the plans are verified: the option, or its default; None without a plan."""
    if not params["plan"]:
        return None
    return params["scope"] or ("committed" if params["receipt"] else "plan")


def _check_paths(params: dict[str, t.Any]) -> None:
    if params["incremental"] and (params["copy"] or scope(params) in (None, "committed")):
        raise InvalidInput(
            "incremental verifies a plan before it is committed",
            remedy="set plan, and scope to plan or to_commit, and leave out copy; or leave out incremental",
        )
    if params["copy"] and params["on_problem"] == OnProblem.REPORT:
        raise InvalidInput(
            "a copy whose records differ fails the task, because no offset is to blame",
            remedy="leave out copy, or let a problem fail the task",
        )
    if params["report"]:
        files.check_replaceable(params["report"], report.KIND)


def _planned(params: dict[str, t.Any], source: Connection, destination: Connection) -> _Planned:
    wanted = scope(params)
    text = files.read_required(params["plan"], "plan", "kafka_offset_translate")
    made = plan.from_json(text, params["plan"])
    known = written = files.parsed(params["receipt"], receipt.from_json)
    if params["receipt"] is not None and known is None:  # nothing had to be written
        written = receipt.Receipt(made.destination_id)
    use_case.expect(params["method"], made, source, destination)
    chosen = readings = None
    if wanted == "to_commit":
        _checked, readings = at_once(
            functools.partial(check_plan_clusters, made, source, destination),
            functools.partial(pending.planned_groups, made, destination),
        )
        policies = options.filled(CommitOptions, params)
        chosen = pending.entries_to_commit(made, written, destination, readings, policies)
    done = written if wanted == "committed" else None
    return _Planned(made, digests.digest(text), known, done, chosen, readings)


def _look(
    params: dict[str, t.Any], planned: _Planned | None, source: Connection, destination: Connection
) -> EarlierLook | None:
    """How both clusters are seen meanwhile; None unless a commit may follow, which reads it in the report."""
    if planned is None or scope(params) == "committed" or not params["report"]:
        return None
    return pending.look_before_commit(planned.made, source, destination, planned.readings)


def _incrementally(module: Module, planned: _Planned, source: Connection, destination: Connection) -> _Compared:
    """Verify what the plan does not say to be verified so, look at the rest by its anchors, and note both in the plan."""
    params = module.params
    limit = params["limit"] or None if params["method"] == "records" else None
    wanted = plan.Verification(params["method"], limit)
    parts = incremental.part(planned.made.entries if planned.chosen is None else planned.chosen, wanted)
    if params["method"] == "anchors":  # then those of all entries are read at once
        every = planned._replace(chosen=parts.unverified + parts.verified)
        verified, made = _anchors(module, every, source, destination)
    else:
        anchored, by_anchors = _anchors(module, planned._replace(chosen=parts.verified), source, destination)
        compared, made = _records(module, planned._replace(chosen=parts.unverified), source, destination)
        verified = compared.beside(anchored)
        made = dataclasses.replace(made, findings=made.findings + by_anchors.findings)
    noted = incremental.noted(planned.made, made, parts.verified, wanted)
    return verified, dataclasses.replace(made, plan=_note(module, params["plan"], planned, noted))


def _note(module: Module, path: str, before: _Planned, after: plan.Plan) -> str:
    """Write a plan with its notes in place of the one that was read; the digest of what is there now."""
    if after == before.made or module.check_mode:
        return before.digest
    with files.locked(path):
        if digests.digest(files.read_required(path, "plan", "kafka_offset_translate")) != before.digest:
            raise Locked(
                f"{path} was changed while it was verified", remedy="run one migration at a time in its directory"
            )
        text = plan.to_json(after)
        files.write(path, text)  # read just now: only how entries were verified is new
        return digests.digest(text)


def _records(module: Module, planned: _Planned | None, source: Connection, destination: Connection) -> _Compared:
    params = module.params
    spark = options.spark_options(params)
    if planned is not None:
        claimed = claimed_offsets.of_plan(
            planned.made, planned.written, source, destination, planned.chosen, _policies(params)
        )
    else:
        match_on = options.match_on(params)
        claimed = claimed_offsets.of_commits(
            source, destination, options.selection(params), options.mapping(params), match_on
        )
    notes = claimed.notes
    module.warned(notes)
    copied = None
    if planned is not None and params["copy"]:
        copied = files.parsed_required(params["copy"], backlog.from_json, "copy", "kafka_backlog_copy")
        is_its_own = planned.made.snapshot == copied.snapshot
        claimed = claimed.within(copied) if is_its_own else claimed
    verified, made = use_case.records(
        claimed, source, destination, params["limit"] or None, spark, module.say, OnAbsent(params["on_absent"])
    )
    if planned is not None and copied is not None:
        # Few runs have a copy to verify.
        from .._migration._backlog.copy_differences import copy_differences

        known = planned.known if is_its_own else None
        verified.problems[:0] = of_copy(
            copy_differences(copied, planned.made.entries, known, source, destination, spark, module.say)
        )
    digest = planned.digest if planned is not None else None
    return verified._replace(notes=[*notes, *verified.notes]), dataclasses.replace(made, plan=digest)


def _anchors(module: Module, planned: _Planned, source: Connection, destination: Connection) -> _Compared:
    on_absent, policies = OnAbsent(module.params["on_absent"]), _policies(module.params)
    verified, made = use_case.anchors(
        planned.made, planned.written, source, destination, planned.chosen, on_absent, policies
    )
    return verified, dataclasses.replace(made, plan=planned.digest)


def _policies(params: dict[str, t.Any]) -> claimed_offsets.Policies:
    return OnRewind(params["on_rewind"]), OnAdvance(params["on_advance"])


def _is_settled(made: report.Report, path: str) -> bool:
    """Is there nothing new to report of a plan whose report is there?"""
    previous = None if made.findings else files.parsed_or_none(path, report.objections)
    return previous is not None and previous.plan == made.plan
