# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a plan can say of an entry, and why."""

from __future__ import annotations

import enum
import typing as t

from .file_rows import RARE
from .record_sum import Bound, RecordSum
from .records import TopicPartition


class Verdict(enum.StrEnum):
    """How much is proved of a destination offset."""

    EXACT = "exact"  # no unconsumed record lost, no consumed one repeated
    SAFE = "safe"  # none lost; repeats is an upper bound, or null when it could not be counted
    BLOCKED = "blocked"  # nothing proved, nothing written
    REQUESTED = "requested"  # an offset that was asked for
    UNCOMMITTED = "uncommitted"  # no commit in the snapshot: left alone


class Reason(enum.StrEnum):
    """Why a verdict is not exact, or what an exact one rests on."""

    # safe
    CAUGHT_UP = "caught_up"
    EXPIRED = "expired"
    TAIL_NOT_COUNTED = "tail_not_counted"
    EQUAL_RECORDS = "equal_records"
    RECOPIED = "recopied"
    ORDER_DIFFERS = "order_differs"
    SOURCE_LOST_RECORDS = "source_lost_records"
    REPARTITIONED = "repartitioned"
    CHECKPOINT = "checkpoint"
    GROUPS_MERGED = "groups_merged"  # blocked, too, where one of the groups has committed nothing
    NEW_RECORDS = "new_records"  # blocked, too, unless on_new_records is leave
    # requested
    TOPIC_UNIDENTIFIED = "topic_unidentified"
    # blocked
    OPEN_TRANSACTION = "open_transaction"
    BEYOND_END = "beyond_end"
    TOPIC_MISSING = "topic_missing"
    PARTITION_COUNT_DIFFERS = "partition_count_differs"
    OTHER_PARTITIONS = "other_partitions"  # safe, too, where a log is too long to look
    DESTINATION_LAGS = "destination_lags"  # safe, too, where counts say less than times would
    SEARCH_BUDGET_SPENT = "search_budget_spent"
    POLICY_FAIL = "policy_fail"
    OFFSETS_DIFFER = "offsets_differ"
    OUT_OF_RANGE = "out_of_range"
    INTERNAL_ERROR = "internal_error"
    NO_TIMESTAMPS = "no_timestamps"
    # blocked by a commit alone: a plan keeps what the rule decided
    VERIFICATION_FAILED = "verification_failed"
    CHANGED_SINCE_PLAN = "changed_since_plan"


# Where a group goes on whose committed offset is after the end of the log, and nobody knows which of its records it has read.
BEFORE_LOSS = (
    "to the start of the log (earliest) or to a time safely before the loss; "
    "the end of the log skips what was written since"
)


# Why an entry of a restore is uncommitted. The group was to get back what the backup has: nothing of it is left out.
NOT_IN_BACKUP = "not in the backup"


class Copied(t.NamedTuple):
    """A source record and its copy, as found by the match.

    partition is the source record's, where the entry has several source positions; None stands for the only one.
    """

    source: int
    destination: int
    fingerprint: str
    partition: TopicPartition | None = None


class Absent(t.NamedTuple):
    """Unconsumed records that the source has and the destination has not, although a later one has arrived there.

    records: how many; source: the source offset of the first one; exactly: whether there are no more of them. open_from: the
    source's last stable offset, where a transaction is open, whose records may be among them. deleted_before: the start of the
    destination's log, before which it has deleted records, where these would be; None where they would be after it.
    """

    records: int
    source: int
    exactly: bool = True
    open_from: t.Annotated[int | None, RARE] = None
    deleted_before: t.Annotated[int | None, RARE] = None

    def __str__(self) -> str:
        return f"{self.what}{self.known_cause}"

    @property
    def what(self) -> str:
        """How many records are absent, and from where on."""
        verb = "is" if self.records == 1 else "are"
        clause = f"from source offset {self.source} on, {verb} not at the destination, though later ones are"
        return f"{self.number.clause('unconsumed record')}, {clause}"

    @property
    def known_cause(self) -> str:
        """Why they may be absent, as clauses that follow another one; nothing where neither log shows it."""
        clauses = ""
        if self.deleted_before is not None:
            clauses += (
                f"; the destination's log starts at offset {self.deleted_before}: retention or DeleteRecords has deleted them "
                "there, if the replication tool had copied them"
            )
        if self.open_from is not None:
            whose = "they" if self.source >= self.open_from else "some of them"
            clauses += (
                f"; a transaction is open at the source from offset {self.open_from} on, and {whose} may be its records: "
                "wait until it has ended, and plan again"
            )
        return clauses

    @property
    def cause(self) -> str:
        """The same where the records have been counted, so that the replication tool is the cause where neither log is."""
        is_open = self.open_from is not None and self.source >= self.open_from
        by_tool = (
            "" if is_open or self.deleted_before else "; the replication tool has filtered or lost what is missing"
        )
        return f"{by_tool}{self.known_cause}"

    @property
    def number(self) -> RecordSum:
        """How many, for sums."""
        return RecordSum(self.records, Bound.EXACTLY if self.exactly else Bound.AT_LEAST)


def deleted_before(log_start: int, offset: int, first: int, next_copied: int) -> int | None:
    """The start of the destination's log, if absent records would be before it.

    offset: from where on the group reads there. first: the source offset of the first absent record. next_copied: of the first
    unconsumed record that has a copy.
    """
    return log_start if log_start > 0 and offset <= log_start and first < next_copied else None


class Way(enum.StrEnum):
    """Which way the rule decided an offset; docs/architecture.md says which function to look at for each."""

    ENDS = "ends"  # where the committed offset is in the source's log
    NEAR = "near"  # mostly few records around the committed offset and at the ends
    DIFFERENCE = "difference"  # few records, found by how much the offsets differ
    COUNT = "count"  # all records of both logs, read by the module
    SPARK_TAIL = "spark_tail"  # all that follows the offset, read by Spark
    SPARK_COUNT = "spark_count"  # all records of both logs, read by Spark


class CertificateName(enum.StrEnum):
    """How it is known that an exact offset skips and repeats nothing; see _matching/certificates.py and docs/the-rule.md."""

    NOTHING_CONSUMED = "nothing_consumed"
    NOTHING_THERE = "nothing_there"
    WHOLE_LOGS = "whole_logs"
    FROM_THE_END = "from_the_end"
    CONTIGUOUS_TO_THE_END = "contiguous_to_the_end"
    ENDS_WITH_CONSUMED = "ends_with_consumed"
    SAME_DIFFERENCE = "same_difference"
    SAME_LOG = "same_log"
    OWN_COPY = "own_copy"
