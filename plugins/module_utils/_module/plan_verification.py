# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What kafka_offset_verify is asked for: the files to verify, how, and the reports and notes that it writes."""

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

_Compared = tuple[use_case.Verified, list[report.Report]]


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


def verify_as_asked(module: Module, source: Connection, destination: Connection) -> tuple[use_case.Verified, list[str]]:
    """Verify what the module's options say, and write the reports, but not in check mode.

    -> what was found, and the digests of the plans as they are now. Raises what the use case and reading files raise.
    """
    params = module.params
    for path in () if module.check_mode else params["report"] or ():
        with files.locked(path):  # refused before the work, and not after it
            pass
    planned = _planned(params, source, destination)
    compare = _incrementally if params["incremental"] else {"records": _records, "anchors": _anchors}[params["method"]]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        looks = pool.submit(_looks, params, planned, source, destination)
        verified, reports = compare(module, planned, source, destination)
    if not module.check_mode:
        for path, made, look in zip(params["report"] or (), reports, looks.result(), strict=False):
            if not (params["scope"] == "to_commit" and _is_settled(made, path)):
                with files.locked(path):
                    text = report.to_json(dataclasses.replace(made, look=look))
                    files.write_document(path, text, report.from_json)
    return verified, [made.plan for made in reports if made.plan is not None]


def scope(params: dict[str, t.Any]) -> str | None:
    """Which offsets of the plans are verified: the option, or its default; None without a plan."""
    if not params["plan"]:
        return None
    return params["scope"] or ("committed" if params["receipt"] else "plan")


def _check_paths(params: dict[str, t.Any]) -> None:
    plans = len(params["plan"] or ())
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
    if len(params["receipt"] or ()) not in (0, 1, plans):
        raise InvalidInput(f"there are {plans} plans", remedy="name one receipt, or one for each plan, in receipt")
    reports = params["report"] or []
    if len(reports) not in (0, plans or 1) or len(set(reports)) < len(reports):
        raise InvalidInput(f"there are {plans} plans", remedy="name another report for each of them in report")
    for path in reports:
        files.check_replaceable(path, report.KIND)


def _planned(params: dict[str, t.Any], source: Connection, destination: Connection) -> list[_Planned]:
    paths, receipts = params["plan"] or [], params["receipt"] or [None]
    if len(receipts) == 1:
        receipts = receipts * len(paths)
    wanted = scope(params)
    policies = options.filled(CommitOptions, params)
    planned = []
    for path, receipt_path in zip(paths, receipts, strict=True):
        text = files.read_required(path, "plan", "kafka_offset_translate")
        made = plan.from_json(text, path)
        known = files.parsed(receipt_path, receipt.from_json)
        written = known
        if receipt_path is not None and known is None:  # nothing had to be written
            written = receipt.Receipt(made.destination_id)
        use_case.expect(params["method"], made, source, destination)
        chosen = readings = None
        if wanted == "to_commit":
            _checked, readings = at_once(
                functools.partial(check_plan_clusters, made, source, destination),
                functools.partial(pending.planned_groups, made, destination),
            )
            chosen = pending.entries_to_commit(made, written, destination, readings, policies)
        done = written if wanted == "committed" else None
        planned.append(_Planned(made, digests.digest(text), known, done, chosen, readings))
    return planned


def _looks(
    params: dict[str, t.Any], planned: list[_Planned], source: Connection, destination: Connection
) -> list[EarlierLook | None]:
    """For each report, how both clusters are seen meanwhile; None unless a commit may follow."""
    if scope(params) not in ("plan", "to_commit") or not params["report"]:
        return [None] * max(1, len(planned))
    return [pending.look_before_commit(each.made, source, destination, each.readings) for each in planned]


def _incrementally(module: Module, planned: list[_Planned], source: Connection, destination: Connection) -> _Compared:
    """Verify what the plans do not say to be verified so, look at the rest by its anchors, and note both in the plans."""
    params = module.params
    limit = params["limit"] or None if params["method"] == "records" else None
    wanted = plan.Verification(params["method"], limit)
    parted = [incremental.part(each.made.entries if each.chosen is None else each.chosen, wanted) for each in planned]
    if params["method"] == "anchors":  # then those of all entries are read at once
        every = [
            each._replace(chosen=parts.unverified + parts.verified) for each, parts in zip(planned, parted, strict=True)
        ]
        verified, made = _anchors(module, every, source, destination)
    else:
        rest = [each._replace(chosen=parts.verified) for each, parts in zip(planned, parted, strict=True)]
        todo = [each._replace(chosen=parts.unverified) for each, parts in zip(planned, parted, strict=True)]
        anchored, by_anchors = _anchors(module, rest, source, destination)
        compared, by_method = _records(module, todo, source, destination)
        verified = use_case.together([compared, anchored])
        made = [
            dataclasses.replace(new, findings=new.findings + old.findings)
            for new, old in zip(by_method, by_anchors, strict=True)
        ]
    reports = []
    for path, each, parts, found in zip(params["plan"], planned, parted, made, strict=True):
        noted = incremental.noted(each.made, found, parts.verified, wanted)
        reports.append(dataclasses.replace(found, plan=_note(module, path, each, noted)))
    return verified, reports


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


def _records(module: Module, planned: list[_Planned], source: Connection, destination: Connection) -> _Compared:
    params = module.params
    spark = options.spark_options(params)
    if planned:
        claimed = [
            claimed_offsets.of_plan(each.made, each.written, source, destination, each.chosen, _policies(params))
            for each in planned
        ]
    else:
        match_on = options.match_on(params)
        claimed = [
            claimed_offsets.of_commits(
                source, destination, options.selection(params), options.mapping(params), match_on
            )
        ]
    notes = [note for each in claimed for note in each.notes]
    module.warned(notes)
    if params["copy"]:
        copied = files.parsed_required(params["copy"], backlog.from_json, "copy", "kafka_backlog_copy")
        claimed = [
            each.within(copied) if one.made.snapshot == copied.snapshot else each
            for each, one in zip(claimed, planned, strict=True)
        ]
    verified, reports = use_case.records(
        claimed, source, destination, params["limit"] or None, spark, module.say, OnAbsent(params["on_absent"])
    )
    if params["copy"]:
        # Few runs have a copy to verify.
        from .._migration._backlog.copy_differences import copy_differences

        entries = [entry for each in planned for entry in each.made.entries]
        known = next((each.known for each in planned if each.made.snapshot == copied.snapshot), None)
        verified.problems[:0] = of_copy(
            copy_differences(copied, entries, known, source, destination, spark, module.say)
        )
    digests = [each.digest for each in planned] if planned else [None]
    return verified._replace(notes=[*notes, *verified.notes]), [
        dataclasses.replace(each, plan=digest) for each, digest in zip(reports, digests, strict=True)
    ]


def _anchors(module: Module, planned: list[_Planned], source: Connection, destination: Connection) -> _Compared:
    on_absent, policies = OnAbsent(module.params["on_absent"]), _policies(module.params)
    verified = [
        use_case.anchors(each.made, each.written, source, destination, each.chosen, on_absent, policies)
        for each in planned
    ]
    reports = [
        dataclasses.replace(written, plan=each.digest)
        for each, (_verified, written) in zip(planned, verified, strict=True)
    ]
    return use_case.together(each for each, _report in verified), reports


def _policies(params: dict[str, t.Any]) -> claimed_offsets.Policies:
    return OnRewind(params["on_rewind"]), OnAdvance(params["on_advance"])


def _is_settled(made: report.Report, path: str) -> bool:
    """Is there nothing new to report of a plan whose report is there?"""
    previous = None if made.findings else files.parsed_or_none(path, report.objections)
    return previous is not None and previous.plan == made.plan
