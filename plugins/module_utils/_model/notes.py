# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Notes: what the user should know although nothing has failed, each with its kind."""

from __future__ import annotations

import enum
import typing as t


class NoteKind(enum.StrEnum):
    """What a module returns in `note_kinds`. docs/troubleshooting.md has an entry for each, with cause and remedy."""

    # what was selected
    EXCLUDED = "excluded"
    WITHOUT_OFFSETS = "without_offsets"
    RULE_UNUSED = "rule_unused"
    # before a migration
    TOPIC_BLOCKS = "topic_blocks"
    SETTING_DIFFERS = "setting_differs"
    ROLLBACK_ACL_MISSING = "rollback_acl_missing"
    # groups
    GROUP_IN_USE = "group_in_use"
    SOURCE_IN_USE = "source_in_use"
    STREAMS_GROUP = "streams_group"
    UNCOMMITTED = "uncommitted"
    CHECKPOINT_MISSING = "checkpoint_missing"
    GROUP_CREATED = "group_created"
    OFFSETS_EXPIRE = "offsets_expire"
    BEFORE_LOG_START = "before_log_start"
    # files of other tools
    EXPORT_INCOMPLETE = "export_incomplete"
    BATCH_UNFINISHED = "batch_unfinished"
    # verifications
    NOT_COUNTED = "not_counted"
    TO_COME = "to_come"
    ABSENT = "absent"
    REPEATED = "repeated"
    RECOPIED = "recopied"
    DESTINATION_ONLY = "destination_only"
    # copies
    SOURCE_GROWN = "source_grown"
    RECORDS_EXPIRED = "records_expired"
    TIMESTAMP_CHANGED = "timestamp_changed"
    PROGRESS_EXPIRES = "progress_expires"
    PROGRESS_STAYS = "progress_stays"
    SETTINGS_SUSPENDED = "settings_suspended"
    MEMBERS_UNKNOWN = "members_unknown"
    TOPIC_RECREATED = "topic_recreated"
    # connectors
    CONNECTOR_MAY_RUN = "connector_may_run"
    KEYS_UNKNOWN = "keys_unknown"
    NOT_COMPARED = "not_compared"
    ALIAS_UNCERTAIN = "alias_uncertain"
    # promotions
    TOPIC_LEFT_MISSING = "topic_left_missing"
    FEWER_REPLICAS = "fewer_replicas"
    PARTITIONS_DIFFER = "partitions_differ"
    PARTITIONS_GROW = "partitions_grow"
    PARTITIONS_STAY = "partitions_stay"
    SETTING_LEFT_ALONE = "setting_left_alone"
    ACL_LEFT_OUT = "acl_left_out"
    ACL_SPLIT = "acl_split"
    ACL_DESTINATION_ONLY = "acl_destination_only"
    TOPIC_STAYS = "topic_stays"
    # runs
    RUN_TAKEN_OVER = "run_taken_over"
    LEASE_STAYS = "lease_stays"
    STATUS_UNUSABLE = "status_unusable"
    CLOCK_WENT_BACK = "clock_went_back"
    # reports
    FILE_MISSING = "file_missing"
    FILE_LEFT_OUT = "file_left_out"
    OTHER_RUNS = "other_runs"
    LOG_ENDS_MISSING = "log_ends_missing"
    MORE_NOTES = "more_notes"


class Note(t.NamedTuple):
    """One thing that the user should know. text: a line."""

    kind: NoteKind
    text: str

    def __str__(self) -> str:
        return self.text


def excluded(names: t.Sequence[str]) -> list[Note]:
    """The note of the groups and topics that match a pattern and an exclude pattern; none without such names."""
    return [Note(NoteKind.EXCLUDED, f"Left out by an exclude pattern: {', '.join(names)}.")] if names else []
