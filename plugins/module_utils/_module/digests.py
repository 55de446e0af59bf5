# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The digest of a reviewed file, by which a later step knows that it uses exactly that file, and that a report is about it."""

from __future__ import annotations

import hashlib
import re

from .._model import report
from .._model.errors import InvalidInput, PlanNotReviewed, Refused
from .._model.option_names import option_name
from . import files


def digest(text: str) -> str:
    """The SHA-256 digest of a file's bytes in hexadecimal, as `sha256sum` prints it; text is what files.read() returns."""
    return hashlib.sha256(text.encode()).hexdigest()


def is_digest(text: str) -> bool:
    """Can it be a SHA-256 digest in hexadecimal? Upper case is as good."""
    return re.fullmatch("[0-9a-f]{64}", text.strip().lower()) is not None


def check_digest(text: str, wanted: str, path: str) -> None:
    """Raise Refused unless a plan file has the digest that the user wants, InvalidInput for what is no digest."""
    if not is_digest(wanted):
        raise InvalidInput(
            f"{option_name('plan_digest')} is {wanted!r}, and a SHA-256 digest has 64 hexadecimal digits",
            remedy=f"give the one that sha256sum {path} prints",
        )
    actual, option = digest(text), option_name("plan_digest")
    # A role has phases, and all but one commit a plan that they have made themselves.
    other = "" if option == "plan_digest" else "; the phase apply commits a reviewed plan, and others make a new one"
    if actual != wanted.strip().lower():
        raise PlanNotReviewed(
            f"the plan file {path} is not the one that was reviewed",
            why=f"its SHA-256 digest is {actual}, and {option} is {wanted!r}",
            remedy=f"review the plan again, and set {option} to its digest{other}",
        )


def read_objections(path: str | None, plan: str, text: str) -> report.Objections:
    """Why each offset failed verification, and which records are absent; nothing without a report file.

    path, plan: of the report and of the plan file. text: the plan's, as it is used. Raises Refused for a report about another.
    """
    if path is None:
        return report.Objections(None, {})
    objections = files.parsed_required(path, report.objections, "report", "kafka_offset_verify")
    actual = digest(text)
    if objections.plan != actual:
        about = "no plan" if objections.plan is None else f"a plan with the digest {objections.plan}"
        raise Refused(
            f"the report {path} is about {about}, and {plan} has the digest {actual}",
            why="the plan has changed since it was verified, or another one was verified",
            remedy="verify this plan with kafka_offset_verify",
        )
    return objections
