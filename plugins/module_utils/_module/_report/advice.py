# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What to do about each reason and each problem, in one sentence; docs/troubleshooting.md says more. Pure."""

from __future__ import annotations

from ..._model.report import ProblemKind
from ..._model.verdicts import Reason, Verdict

_OF_REPEATS = " If repeats matter, set on_expired."
REASONS = {
    Reason.CAUGHT_UP: "Check retention.ms of the source topic, or decide yourself with on_no_anchor.",
    Reason.EXPIRED: "Tell the group's owner how many records are lost." + _OF_REPEATS,
    Reason.TAIL_NOT_COUNTED: "None is needed if the consumers are idempotent; otherwise do what the detail says.",
    Reason.EQUAL_RECORDS: "Let the replication tool catch up and plan again, or accept the repeats.",
    Reason.RECOPIED: "Let the replication tool finish and plan again, or accept the repeats.",
    Reason.ORDER_DIFFERS: "Accept the repeats: the consumers must be idempotent or deduplicate.",
    Reason.SOURCE_LOST_RECORDS: "Accept the repeats.",
    Reason.REPARTITIONED: "Accept the repeats, or let the group consume everything at the source before you migrate it.",
    Reason.CHECKPOINT: "Accept the repeats, or plan again when the source is available.",
    Reason.GROUPS_MERGED: "Accept the repeats, or let the groups reach the same offset first; if blocked, set on_uncommitted.",
    Reason.NEW_RECORDS: "Let a replication tool copy these records, or set on_new_records to leave to go on without them.",
    Reason.TOPIC_UNIDENTIFIED: "Make sure that the topic was not created again since the snapshot or backup, or use another.",
    Reason.OPEN_TRANSACTION: "Do what the detail says: wait until it ends and plan again, or for a backup, use another one.",
    Reason.BEYOND_END: "Reset the group at the source, not to the end of the log, and plan again, or leave the topic out.",
    Reason.TOPIC_MISSING: "If it has another name there, set replication_policy or topic_map. Else create it, or leave it out.",
    Reason.PARTITION_COUNT_DIFFERS: "Do what the detail says, or create the topic again with the number of the source.",
    Reason.OTHER_PARTITIONS: "Do what the detail says, or create the topic again and let the replication tool fill it.",
    Reason.DESTINATION_LAGS: "Let the replication tool catch up and plan again, or set wait_for_replication.",
    Reason.SEARCH_BUDGET_SPENT: "Install Java and the Spark packages, or raise spark_limit or search_limit.",
    Reason.POLICY_FAIL: "Set the option that the detail names to another value than fail.",
    Reason.OFFSETS_DIFFER: "Set strategy to records.",
    Reason.OUT_OF_RANGE: "Correct resets, or set on_out_of_range to clamp.",
    Reason.INTERNAL_ERROR: "Report the detail as a bug, and leave the topic out.",
    Reason.NO_TIMESTAMPS: "Reset to earliest, latest, an offset, or by shift instead of a time.",
    Reason.VERIFICATION_FAILED: "Follow the remedy of the verification's problem.",
    Reason.CHANGED_SINCE_PLAN: "Plan again; roll back first what was committed already.",
}

# Of entries without a reason.
VERDICTS = {
    Verdict.REQUESTED: "None, if the offsets are what you have asked for: the details say by which option.",
    Verdict.UNCOMMITTED: "Without a commit, consumers start by auto.offset.reset: to skip none, set on_uncommitted to start.",
}

PROBLEMS = {
    ProblemKind.SKIPPED: "Let the replication tool catch up and run again; if the offset is committed, roll it back first.",
    ProblemKind.COPY_DIFFERS: "Set no group. Stop what else writes. Copy anew only if the source still has all copied records.",
    ProblemKind.BEYOND_END: "Plan again; if its offset at the source is after the end, first reset the group, not to the end.",
    ProblemKind.REPEATED: "Let the replication tool catch up, and plan again.",
    ProblemKind.ABSENT: "Have the replication tool copy the missing records, or set on_absent to warn.",
    ProblemKind.MOVED: "Stop what else commits for the group, then run again or roll back.",
    ProblemKind.RECORD_DIFFERS: "Roll back if the offset is committed, and plan again.",
    ProblemKind.NOT_COMMITTED: "Migrate the group, or leave it out of the selection.",
    ProblemKind.NOT_COMPARABLE: "Create the topic with the number of partitions of the source, or name it in repartitioned.",
    ProblemKind.CHANGED_SINCE_PLAN: "Plan again; roll back first what was committed already.",
    ProblemKind.NOT_EXAMINED: "Raise the limit of the verification, or set it to 0 to read the whole logs.",
}


def of_reason(reason: Reason, *, repeats: bool) -> str:
    """What to do about a reason. repeats: whether any records may be repeated because of it."""
    return REASONS[reason] if repeats else REASONS[reason].removesuffix(_OF_REPEATS)
