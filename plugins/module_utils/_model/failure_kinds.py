# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The kinds of failures: one for everything that an operator does about them, however many sentences there are."""

from __future__ import annotations

import enum


class FailureKind(enum.StrEnum):
    """What a module returns as `failure.kind`, and kafka_migration_info as the kind of a problem.

    docs/troubleshooting.md has an entry for each, with cause and remedy.
    """

    # what was asked for
    INVALID_OPTION = "invalid_option"
    NOTHING_SELECTED = "nothing_selected"
    NOT_FOUND = "not_found"
    ONE_CLUSTER = "one_cluster"
    # where the modules run
    REQUIREMENT_MISSING = "requirement_missing"
    SPARK_FAILED = "spark_failed"
    LOCKED = "locked"
    # the clusters
    CONNECTION_FAILED = "connection_failed"
    ACL_MISSING = "acl_missing"
    ACL_LOCKOUT = "acl_lockout"
    BROKER_REFUSED = "broker_refused"
    RECORD_UNREADABLE = "record_unreadable"
    # files
    FILE_MISSING = "file_missing"
    FILE_UNUSABLE = "file_unusable"
    FILE_DAMAGED = "file_damaged"
    OTHER_CLUSTER = "other_cluster"
    # groups
    GROUP_IN_USE = "group_in_use"
    SOURCE_IN_USE = "source_in_use"
    STILL_WRITTEN = "still_written"
    WOULD_MOVE_BACK = "would_move_back"
    WOULD_MOVE_FORWARD = "would_move_forward"
    # plans and commits
    PLAN_BLOCKED = "plan_blocked"
    PLAN_OUTDATED = "plan_outdated"
    PLAN_NOT_REVIEWED = "plan_not_reviewed"
    ENTRY_MISSING = "entry_missing"
    DESTINATION_CHANGED = "destination_changed"
    METADATA_TOO_LONG = "metadata_too_long"
    COMMIT_DIFFERS = "commit_differs"
    VERIFICATION_FAILED = "verification_failed"
    # copies
    TOPIC_UNSUITABLE = "topic_unsuitable"
    TOPIC_NOT_EMPTY = "topic_not_empty"
    TOPIC_RECREATED = "topic_recreated"
    RECORDS_UNREACHABLE = "records_unreachable"
    DISK_FULL = "disk_full"
    COPY_OUTDATED = "copy_outdated"
    COPY_ELSEWHERE = "copy_elsewhere"
    COPY_IN_USE = "copy_in_use"
    PROGRESS_LOST = "progress_lost"
    # connectors
    CONNECTOR_UNFIT = "connector_unfit"
    POSITIONS_UNCLEAR = "positions_unclear"
    POSITIONS_MOVED = "positions_moved"
