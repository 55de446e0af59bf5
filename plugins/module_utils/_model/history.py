# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The history of a migration: which files a run keeps, what the folder of a run is called, which folders outlive others."""

from __future__ import annotations

import datetime
import re
import typing as t

from .errors import InvalidInput

DIRECTORY = "history"
# No lease: it is about a process, and gone when that has ended.
FILES = (
    "snapshot.json",
    "plan.json",
    "plan.csv",
    "report.json",
    "receipt.json",
    "status.json",
    "removed.json",
    "copy.json",
    "topics.json",
    "topics-receipt.json",
    "connect-receipt.json",
)
REPORT_FILES = ("report.html", "report.md")
RUN = "run.json"  # beside the report, and in each folder
CHECKSUMS = "SHA256SUMS"  # in each folder
# What a run saves before its first write: while they stay as they are, it has written nothing.
RECEIPTS = ("receipt.json", "removed.json", "copy.json", "topics-receipt.json", "connect-receipt.json")
ROUND_PHASES = ("sync", "promote_round")
# There are many rounds, and an error may be repeated, so that either would soon be all that is kept.
MOST_ROUNDS = 5
MOST_FAILED = 5
_TIME = "%Y-%m-%dT%H%M%SZ"
_TIME_LENGTH = len("2026-01-31T235959Z")
_PHASE = re.compile(r"[a-z]+(_[a-z]+)*")
_NAME = re.compile(r"\d{4}-\d\d-\d\dT\d{6}Z-(?P<phase>[a-z]+(_[a-z]+)*)(?P<failed>-failed)?(-\d+)?")


def folder_name(when: datetime.datetime, phase: str, present: t.Collection[str], *, failed: bool = False) -> str:
    """The name of the folder of a run that has ended at this time (UTC); names sort in the order of the runs.

    If the newest folder has this time or a later one, because two runs end in one second or the clock went back, the time is a
    second after that of the newest folder.

    present: the names that there are. failed: it has failed and written nothing. Raises InvalidInput for what is no phase.
    """
    if not _PHASE.fullmatch(phase):
        raise InvalidInput(
            f"phase is {phase!r}",
            why="a folder is named after it",
            remedy="give lower-case letters and underscores, such as cut_over",
        )
    newest = max((name[:_TIME_LENGTH] for name in present if is_folder_name(name)), default="")
    if newest >= f"{when:{_TIME}}":
        when = datetime.datetime.strptime(newest, _TIME) + datetime.timedelta(seconds=1)  # noqa: DTZ007 - of UTC as well
    return f"{when:{_TIME}}-{phase}{'-failed' if failed else ''}"


def is_folder_name(name: str) -> bool:
    """Whether a run may have named a folder so; everything else in the directory is somebody else's."""
    return _NAME.fullmatch(name) is not None


def newest_first(present: t.Iterable[str]) -> list[str]:
    """The folders of runs among these names."""
    return sorted(filter(is_folder_name, present), reverse=True)


def has_written_nothing(name: str) -> bool:
    """Is this the name of the folder of a run that has failed and written nothing?"""
    return _kind(name) == "failed"


def outlived(present: t.Iterable[str], made: str, keep: int) -> list[str]:
    """The names of the folders that go when there is a new one, made.

    Runs that have failed and written nothing count apart, and so do rounds: of them, MOST_FAILED and MOST_ROUNDS stay at
    most. Names that no run has given stay, and so does the new folder, whatever the clock says.
    """
    kind = _kind(made)
    alike = sorted(name for name in present if is_folder_name(name) and name != made and _kind(name) == kind)
    beside_it = min(keep, {"failed": MOST_FAILED, "round": MOST_ROUNDS}.get(kind, keep)) - 1
    return alike[: max(len(alike) - beside_it, 0)]


def _kind(name: str) -> str:
    """What the folder of a run counts as."""
    matched = _NAME.fullmatch(name)
    if matched is None:
        return "other"
    if matched["failed"]:
        return "failed"
    return "round" if matched["phase"] in ROUND_PHASES else "run"
