# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Notes: what the user should know although nothing has failed, each with its kind."""

from __future__ import annotations

import enum
import typing as t

from .known_names import GROUPS, TOPICS, with_owner
from .option_names import option_name
from .wording import first_of

_NAMED = 100  # groups or topics that a note names


class NoteKind(enum.StrEnum):
    """What a module returns in `note_kinds`. docs/troubleshooting.md has an entry for each, with cause and remedy."""

    # what was selected
    EXCLUDED = "excluded"
    WITHOUT_OFFSETS = "without_offsets"
    GROUP_UNNAMED = "group_unnamed"
    RULE_UNUSED = "rule_unused"
    # before a migration
    OPPOSITE_DIRECTION = "opposite_direction"
    TOPIC_BLOCKS = "topic_blocks"
    SETTING_DIFFERS = "setting_differs"
    EQUAL_CLUSTER_IDS = "equal_cluster_ids"
    ROLLBACK_ACL_MISSING = "rollback_acl_missing"
    TOPICS_HIDDEN = "topics_hidden"
    NOT_TOLD = "not_told"
    # groups
    GROUP_IN_USE = "group_in_use"
    SOURCE_IN_USE = "source_in_use"
    STILL_WRITTEN = "still_written"
    STREAMS_GROUP = "streams_group"
    SINK_GROUP = "sink_group"
    UNCOMMITTED = "uncommitted"
    CHECKPOINT_MISSING = "checkpoint_missing"
    OFFSET_SYNCS_MISSING = "offset_syncs_missing"
    GROUP_CREATED = "group_created"
    MOVED_BACK = "moved_back"
    COMMITS_STAY = "commits_stay"
    COMMITS_HIDDEN = "commits_hidden"
    RECEIPT_LOST = "receipt_lost"
    OFFSETS_EXPIRE = "offsets_expire"
    BEFORE_LOG_START = "before_log_start"
    # files of other tools
    EXPORT_INCOMPLETE = "export_incomplete"
    BATCH_UNFINISHED = "batch_unfinished"
    # verifications
    NOT_COUNTED = "not_counted"
    TO_COME = "to_come"
    ABSENT = "absent"
    NEW_RECORDS = "new_records"
    REPEATED = "repeated"
    RECOPIED = "recopied"
    ABORTED = "aborted"
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
    POSITION_MISSING = "position_missing"
    ALIAS_UNCERTAIN = "alias_uncertain"
    OFFSETS_TOPIC_NEW = "offsets_topic_new"
    # promotions
    TOPIC_LEFT_MISSING = "topic_left_missing"
    FEWER_REPLICAS = "fewer_replicas"
    PARTITIONS_DIFFER = "partitions_differ"
    PARTITIONS_GROW = "partitions_grow"
    PARTITIONS_STAY = "partitions_stay"
    KEEPS_LESS = "keeps_less"
    SETTING_LEFT_ALONE = "setting_left_alone"
    ACL_LOCKOUT = "acl_lockout"
    ACL_CHANGED = "acl_changed"
    ACL_LEFT_OUT = "acl_left_out"
    ACL_COVERS_MORE = "acl_covers_more"
    ACL_SPLIT = "acl_split"
    ACL_DESTINATION_ONLY = "acl_destination_only"
    TOPIC_STAYS = "topic_stays"
    # runs
    RUN_TAKEN_OVER = "run_taken_over"
    RUN_OPEN = "run_open"
    LEASE_STAYS = "lease_stays"
    STATUS_UNUSABLE = "status_unusable"
    SEVERAL_DIRECTORIES = "several_directories"
    RETENTION_UNKNOWN = "retention_unknown"
    SOURCE_SILENT = "source_silent"
    CLOCK_WENT_BACK = "clock_went_back"
    # reports
    FILE_MISSING = "file_missing"
    FILE_LEFT_OUT = "file_left_out"
    OTHER_RUNS = "other_runs"
    BROKERS_MISSING = "brokers_missing"
    LOG_ENDS_MISSING = "log_ends_missing"
    MORE_NOTES = "more_notes"


class Note(t.NamedTuple):
    """One thing that the user should know. text: a line."""

    kind: NoteKind
    text: str

    def __str__(self) -> str:
        return self.text


def excluded(groups: t.Sequence[str] = (), topics: t.Sequence[str] = ()) -> list[Note]:
    """The notes of the groups and topics that match a pattern and an exclude pattern, and of a group with an empty name."""
    named = [group for group in groups if group]
    kinds = (("groups", named, GROUPS), ("topics", topics, TOPICS))
    notes = []
    for option, names, table in kinds:
        if names:
            told = first_of([with_owner(name, table) for name in names], _NAMED)
            text = (
                f"Left out by {option_name(f'exclude_{option[:-1]}_patterns')}: {told}. "
                f"To take them, name them in {option_name(option)}."
            )
            notes.append(Note(NoteKind.EXCLUDED, text))
    if len(named) < len(groups):
        text = (
            "Left out the group with the empty name: brokers do not describe it or remove its committed offsets, so it could "
            "not be rolled back. Set group.id of its consumers."
        )
        notes.append(Note(NoteKind.GROUP_UNNAMED, text))
    return notes
