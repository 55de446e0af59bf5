# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The rule by which nobody is in a group."""

from __future__ import annotations

from .group_state import GroupReading, open_text
from .moves import Move, moves_text


def idle_problem(before: GroupReading, after: GroupReading) -> str | None:
    """Why offsets of a group cannot be set, as a clause about it, or None when nobody is in it.

    The readings lie some seconds apart: a consumer with assign() is never a member, and shows as moving commits only.
    """
    for reading in (before, after):
        if reading.open:  # also of a group that is still to be made by its first commit
            return members_problem(reading)
        if reading.exists:
            problem = reading.without_offsets or members_problem(reading)
            if problem:
                return problem
    changed = sorted(dict(before.offsets.items() ^ after.offsets.items()))  # by other metadata, too
    if not changed:
        return None
    pairs = ((partition, before.offsets.get(partition), after.offsets.get(partition)) for partition in changed)
    moved = [Move(partition, was and was.offset, now and now.offset) for partition, was, now in pairs]
    return (
        f"has commits that move ({moves_text(moved)}): a consumer that uses assign(), or a tool that syncs groups, such as "
        "MirrorMaker 2, writes them"
    )


def members_problem(reading: GroupReading) -> str | None:
    """Why a group cannot be taken for one that nobody uses, as a clause about it, or None."""
    if reading.open:
        return f"is in use: {open_text(reading.open)}"
    if not reading.has_members:
        return None
    return f"has members (its state is {reading.state or 'not known'})"
