# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The rule by which nobody is in a group."""

from __future__ import annotations

from .group_state import GroupReading, open_text


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
    moved = sorted(
        partition
        for partition in before.offsets.keys() | after.offsets.keys()
        if before.offsets.get(partition) != after.offsets.get(partition)
    )
    if not moved:
        return None
    first = moved[0]
    was, now = before.offsets.get(first), after.offsets.get(first)
    return (
        f"has commits that move ({first} from {was.offset if was else 'none'} to {now.offset if now else 'none'}"
        f"{f', and {len(moved) - 1} more' if moved[1:] else ''}): "
        "a consumer that uses assign(), or a tool that syncs groups, such as MirrorMaker 2, writes them"
    )


def members_problem(reading: GroupReading) -> str | None:
    """Why a group cannot be taken for one that nobody uses, as a clause about it, or None."""
    if reading.open:
        return f"is in use: {open_text(reading.open)}"
    if not reading.has_members:
        return None
    return f"has members (its state is {reading.state or 'not known'})"
