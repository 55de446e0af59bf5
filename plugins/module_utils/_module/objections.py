# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What the verification of a plan file objects to, for the modules that work with that plan."""

from __future__ import annotations

from .._model import report
from .._model.errors import Refused
from . import digests, files


def read_objections(path: str | None, plan: str, text: str) -> report.Objections:
    """Why each offset failed verification, and which records are absent; nothing without a report file.

    path, plan: of the report and of the plan file. text: the plan's, as it is used. Raises Refused for a report about another.
    """
    if path is None:
        return report.Objections(None, {})
    objections = files.parsed_required(path, report.objections, "report", "kafka_offset_verify")
    digest = digests.digest(text)
    if objections.plan != digest:
        about = "no plan" if objections.plan is None else f"a plan with the digest {objections.plan}"
        raise Refused(
            f"the report {path} is about {about}, and {plan} has the digest {digest}",
            why="the plan has changed since it was verified, or another one was verified",
            remedy="verify this plan with kafka_offset_verify",
        )
    return objections
