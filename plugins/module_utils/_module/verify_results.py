# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What kafka_offset_verify shows of a verification."""

from __future__ import annotations

import typing as t

from .._migration._verification.verify import Verified
from .._model.connection import Connection
from .._model.errors import VerificationFailed
from .._model.option_names import option_name, ways
from .._model.report import PartitionOffset, Problem, ProblemKind, counts_by_kind, summary
from .._model.wording import counted
from .results import note_results


def verify_result(verified: Verified, plan_digest: str | None, scope: str | None) -> dict[str, t.Any]:
    """The members of the module's result, the same whether it fails or not. scope: as for failure()."""
    return {
        "verified": verified.verified,
        "incomplete": verified.incomplete,
        "without_records": verified.without_records,
        "requested": verified.requested,
        "compared": verified.compared,
        "problems": [problem.line for problem in verified.problems],
        "findings": [_row(problem) for problem in verified.problems],
        "kinds": counts_by_kind(verified.problems),
        **note_results(verified.notes),
        "summary": [_line(verified, scope)],
        "plan_digest": plan_digest,
    }


def _line(verified: Verified, scope: str | None) -> str:
    within = f" ({verified.incomplete:,} within the limit only)" if verified.incomplete else ""
    wrong = len(
        {(problem.group, partition) for problem in verified.problems for partition, _offset in problem.destination}
    )
    requested = f"{verified.requested:,} requested and not verified, " if verified.requested else ""
    why = ""
    if not (verified.verified or verified.without_records or verified.requested or verified.problems):
        nothing = "no offset is left to commit" if scope == "to_commit" else "there is no offset to verify"
        return f"0 verified, because {nothing}."
    if verified.verified and not (verified.compared or verified.problems):
        why = ", because the destination has no copies of unconsumed records"
    numbers = (
        f"{verified.without_records:,} without records, {requested}{counted(verified.compared, 'record')} compared"
    )
    return f"{verified.verified:,} verified{within}, {f'{wrong:,} with problems, ' if wrong else ''}{numbers}{why}."


def failure_place(gravest: Problem, destination: Connection) -> dict[str, t.Any]:
    """The `failure` of a verification that fails, as of any other error."""
    place = {name: _row(gravest)[name] for name in ("topic", "partition")}
    error = VerificationFailed(gravest.detail, cluster=str(destination), group=gravest.group or None, **place)
    return error.place()


def failure(problems: list[Problem], scope: str | None) -> str:
    """The message of a verification that fails. scope: the option's value, None where no plan was verified."""
    return f"{summary(problems)}. The most serious: {problems[0].line}. {_remedy(problems, scope)}."


def _remedy(problems: list[Problem], scope: str | None) -> str:
    absent = ways(
        ("", "Let the replication tool copy what is missing"),
        ("on_absent", f"set {option_name('on_absent')} to warn where records are missing on purpose"),
    )
    remedies = {
        None: "Keep consumers stopped, and correct what is committed",
        "committed": "Keep consumers stopped, and roll back what the receipt has",
        "to_commit": "None of these offsets is committed. Plan again and verify that plan",
        "plan": (
            "Do not commit this plan, but make it again and verify that; "
            "where it is committed, keep consumers stopped, and roll back what the receipt has"
        ),
    }
    if any(problem.kind is ProblemKind.COPY_DIFFERS for problem in problems):
        nothing = "This run commits nothing" if scope == "to_commit" else "Set no group of this copy"
        return f"{nothing}. Where groups of this copy are set already, stop their consumers and roll them back"
    is_late = all(problem.kind is ProblemKind.ABSENT for problem in problems)
    remedy = f"The offsets are not the cause. {absent}" if is_late else remedies[scope]
    others = ways(("on_blocked", f". To go on with the other groups, set {option_name('on_blocked')} to skip_group"))
    reported = ways(("on_problem", f" and {option_name('on_problem')} to report"))  # roles do so themselves
    return remedy + (others + reported if others and scope in ("to_commit", "plan") else "")


def _row(problem: Problem) -> dict[str, t.Any]:
    single = problem.destination[0] if len(problem.destination) == 1 else None
    return {
        "kind": problem.kind.value,
        "group": problem.group,
        "topic": problem.destination[0][0].topic if problem.destination else None,
        "partition": single and single[0].partition,
        "count": problem.records,
        "source": [_position(each) for each in problem.source],
        "destination": [_position(each) for each in problem.destination],
        "detail": problem.detail,
    }


def _position(position: PartitionOffset) -> dict[str, t.Any]:
    partition, offset = position
    return {**partition._asdict(), "offset": offset}
