# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What users may choose where more than one thing can be done: the values of the options of these names.

The modules' documentation says what each value does. The choices of their options are made from these.
"""

from __future__ import annotations

import enum


class Strategy(enum.StrEnum):
    """How offsets are found."""

    RECORDS = "records"
    IDENTICAL = "identical"
    MIRROR_MAKER = "mirror_maker"
    RESET = "reset"  # asks for offsets inside one cluster, and translates none


class OnExpired(enum.StrEnum):
    """A group's committed offset is before the start of the source's log."""

    COUNT_BACK = "count_back"
    START = "start"
    FIRST_VISIBLE = "first_visible"
    FAIL = "fail"


class OnNoAnchor(enum.StrEnum):
    """The source has no consumed record left to compare with."""

    BY_RETENTION = "by_retention"
    START = "start"
    END = "end"
    FAIL = "fail"


class OnUncommitted(enum.StrEnum):
    """A group has no committed offset for a partition of a topic for which it has others."""

    IGNORE = "ignore"
    START = "start"
    END = "end"


class OnBlocked(enum.StrEnum):
    """An entry has no offset."""

    FAIL = "fail"
    SKIP_GROUP = "skip_group"
    SKIP_PARTITION = "skip_partition"


class OnMissingEntry(enum.StrEnum):
    """A plan has no entry for a committed offset of the snapshot that it was made from."""

    FAIL = "fail"
    SKIP = "skip"


class OnProblem(enum.StrEnum):
    """A module that only looks has found something wrong."""

    FAIL = "fail"
    REPORT = "report"


class OnAbsent(enum.StrEnum):
    """Unconsumed records are not at the destination, although later ones are."""

    FAIL = "fail"
    WARN = "warn"


class OnNewRecords(enum.StrEnum):
    """A return finds records that were produced at the cluster that groups leave, and that the other one does not have."""

    FAIL = "fail"
    LEAVE = "leave"


class OnLostProgress(enum.StrEnum):
    """The progress of a copy is gone, and records of it are at the destination."""

    FAIL = "fail"
    REBUILD = "rebuild"


class OnMisplaced(enum.StrEnum):
    """A connector's topic has keys that would mislead the new connector."""

    FAIL = "fail"
    REMOVE = "remove"


class OnLocked(enum.StrEnum):
    """Another run holds the directory."""

    FAIL = "fail"
    LEAVE = "leave"


class OnRewind(enum.StrEnum):
    """A committed offset would become a lower one."""

    FAIL = "fail"
    KEEP = "keep"
    REWIND = "rewind"


class OnAdvance(enum.StrEnum):
    """A committed offset would become a higher one."""

    FAIL = "fail"
    KEEP = "keep"
    ADVANCE = "advance"


def keeps(committed: int | None, planned: int, on_rewind: OnRewind, on_advance: OnAdvance) -> bool:
    """Do the policies leave a group at this offset instead of the planned one? committed: None where it has none now."""
    if committed is not None and committed <= planned:
        return on_advance == OnAdvance.KEEP
    return on_rewind == OnRewind.KEEP


class OnActiveGroup(enum.StrEnum):
    """A group is in use. Only a snapshot can include it without a warning."""

    INCLUDE = "include"
    WARN = "warn"
    SKIP_GROUP = "skip_group"
    FAIL = "fail"


class OnStillWritten(enum.StrEnum):
    """Producers write at the source while groups are committed at the destination."""

    NOTE = "note"
    FAIL = "fail"


class OnOutOfRange(enum.StrEnum):
    """A reset asks for an offset outside of the log."""

    BLOCK = "block"
    CLAMP = "clamp"


class OnConflict(enum.StrEnum):
    """Several groups become one, and have committed offsets on the same topic."""

    FAIL = "fail"
    LOWEST = "lowest"
    HIGHEST = "highest"


class OnExpiring(enum.StrEnum):
    """The committed offsets of a group expire by a clock that a commit does not start anew."""

    WARN = "warn"
    RENEW = "renew"


class OnMismatch(enum.StrEnum):
    """A file of a report is damaged, of another version, or does not belong to the others."""

    FAIL = "fail"
    LEAVE_OUT = "leave_out"


class ReturnEntries(enum.StrEnum):
    """Which entries a module returns."""

    ALL = "all"
    CHANGED = "changed"
    NONE = "none"


class OnMissing(enum.StrEnum):
    """The destination does not have the topic."""

    CREATE = "create"
    LEAVE = "leave"


class OnFewerPartitions(enum.StrEnum):
    """The destination's topic has fewer partitions than the source's."""

    FAIL = "fail"
    GROW_EMPTY = "grow_empty"
    GROW_EMPTY_OR_LEAVE = "grow_empty_or_leave"
    GROW = "grow"
    LEAVE = "leave"


class Settings(enum.StrEnum):
    """Which settings of a topic follow the source."""

    MERGE = "merge"
    EXACT = "exact"
    CREATED = "created"
    NONE = "none"


class OnUnknownSetting(enum.StrEnum):
    """The destination's version does not know a setting."""

    FAIL = "fail"
    LEAVE = "leave"


class Acls(enum.StrEnum):
    """Which ACLs follow the source."""

    NONE = "none"
    MIRROR = "mirror"
    CUTOVER = "cutover"


class OnLockout(enum.StrEnum):
    """An ACL takes access away from clients that it does not name."""

    FAIL = "fail"
    ADD = "add"
