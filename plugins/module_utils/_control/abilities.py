# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What brokers can do since which version of Kafka, what it is needed for, and what happens without it.

Sources: https://kafka.apache.org/protocol, and what brokers of each version answer to ApiVersions. Error messages, notes, and a
table in docs/works-with.md are made of this. Services may offer less than the Kafka whose other requests they know.
"""

from __future__ import annotations

import enum
import math
import typing as t

from .._model.errors import BrokerError
from .._model.grouping import values_by_key
from .._model.notes import Note, NoteKind


class KnownSince(t.NamedTuple):
    """A request in this version or a later one. since: the first Kafka that answers it.

    use: what it does, after "to". without: what a run does, or what you can do, where brokers do not offer it; a sentence
    without its full stop. last: the last version that librdkafka knows, where services offer only later ones. found: the
    highest version that the brokers offer, -1 for none; None where that is not known.
    """

    request: str
    version: int
    since: str
    use: str
    without: str
    last: float = math.inf
    found: int | None = None

    def refusal(self, cluster: str, group: str | None = None, remedy: str | None = None) -> BrokerError:
        """The error where nothing can be done without it. remedy: instead of what `without` says."""
        return BrokerError(
            f"the brokers cannot {self.use}",
            cluster=cluster,
            group=group,
            why=f"they do not offer {self.needed}",
            remedy=remedy or self.without,
        )

    def note(self, cluster: str) -> Note:
        """That the brokers do not offer it, and what follows."""
        return not_told_notes({cluster: [self]})[0]

    @property
    def needed(self) -> str:
        """It, with what is known to be there instead: a part of a sentence."""
        instead = ", nor any version of it" if self.found == -1 else f", but only {self.request} {self.found}"
        needed = f"{self.request} {self.version}, which Kafka has since {self.since}"
        return needed if self.found is None else needed + instead


_NOT_CHECKED = "ACLs on {} are not checked in advance. If one is missing, the step that needs it fails"
_BY_FILE = "Give the offsets as a CSV file, and write the plan as CSV for kafka-consumer-groups"


class Ability(enum.Enum):
    """What is asked of brokers that not every one can do."""

    LOG_ENDS = KnownSince(
        "ListOffsets", 1, "0.10.1", "find where logs begin and end", "Nothing can be planned. Upgrade the brokers"
    )
    ALL_OFFSETS = KnownSince("OffsetFetch", 2, "0.10.2", "read all that a group has committed", _BY_FILE)
    GROUP_LIST = KnownSince("ListGroups", 0, "0.9", "find groups by patterns", "Name the groups instead of patterns")
    MEMBERS = KnownSince(
        "DescribeGroups",
        0,
        "0.9",
        "see whether groups have members",
        "Stop the consumers of the groups yourself. Only committed offsets that change are noticed",
    )
    COORDINATORS = KnownSince("FindCoordinator", 0, "0.9", "find the coordinator of a group", _BY_FILE)
    COMMITS = KnownSince("OffsetCommit", 2, "0.9", "commit offsets", _BY_FILE)
    NO_CREATION = KnownSince(
        "Metadata",
        4,
        "0.11",
        "ask for a topic without creating it",
        "All topics are listed, and none is asked for that is not in the list",
    )
    ISOLATION = KnownSince(
        "ListOffsets",
        2,
        "0.11",
        "find where open transactions begin",
        "The end of a log counts as the end of what consumers read, as it is without transactions",
    )
    CONFIGS = KnownSince(
        "DescribeConfigs",
        0,
        "0.11",
        "read the settings of topics",
        "A plan takes topics for compacted at the source and for stamped by the broker at the destination, so it reads more, "
        "and some offsets are safe that could be exact. A copy creates topics with the settings of the destination's brokers: "
        "create those yourself that need others. No topics can be promoted",
    )
    TRANSACTIONS = KnownSince(
        "AddPartitionsToTxn",
        0,
        "0.11",
        "write in transactions, and records with headers",
        "No backlog can be copied to these brokers",
        last=0,
    )
    ACLS = KnownSince("DescribeAcls", 0, "0.11", "read ACLs", "Promote topics without ACLs")
    PREFIXED_ACLS = KnownSince("CreateAcls", 1, "2.0", "create prefixed ACLs", "Promote topics without ACLs")
    TRANSACTION_COORDINATORS = KnownSince(
        "FindCoordinator",
        1,
        "0.11",
        "find the coordinator of a transaction",
        "No backlog can be copied to these brokers",
    )
    ADD_PARTITIONS = KnownSince("CreatePartitions", 0, "1.0", "add partitions", "Add them with kafka-topics")
    LOG_SIZES = KnownSince(
        "DescribeLogDirs",
        0,
        "1.0",
        "tell how large logs are, and how much room there is",
        "A copy does not check whether there is room for it",
    )
    REMOVE_GROUPS = KnownSince(
        "DeleteGroups",
        0,
        "1.1",
        "remove groups",
        "A rename cannot remove old groups, nor a rollback groups that had committed nothing before. They stay until they "
        "expire (offsets.retention.minutes)",
    )
    KEPT_OFFSETS = KnownSince(
        "OffsetCommit",
        5,
        "2.1",
        "keep the committed offsets of a group as long as it has members",
        "Each committed offset expires offsets.retention.minutes after it was committed, and no request tells when that was. "
        "So nobody knows until when groups can go back; if their offsets are gone, restore them from a snapshot",
    )
    GROUP_OPERATIONS = KnownSince(
        "DescribeGroups", 3, "2.3", "find out what the user may do with groups", _NOT_CHECKED.format("groups")
    )
    TOPIC_OPERATIONS = KnownSince(
        "Metadata", 8, "2.3", "find out what the user may do with topics", _NOT_CHECKED.format("topics")
    )
    EPOCH_ENDS = KnownSince(
        "OffsetForLeaderEpoch",
        3,
        "2.3",
        "tell where the records of a leader epoch end",
        "A plan does not notice that a source log was cut off by an unclean leader election, and has grown again past a "
        "committed offset",
    )
    ALTER_CONFIGS = KnownSince(
        "IncrementalAlterConfigs", 0, "2.3", "change single settings of topics", "Change them with kafka-configs"
    )
    REMOVE_OFFSETS = KnownSince(
        "OffsetDelete",
        0,
        "2.4",
        "remove single committed offsets",
        "A rollback removes groups that had none before, and cannot remove single offsets of other groups",
    )
    STABLE_OFFSETS = KnownSince(
        "OffsetFetch",
        7,
        "2.5",
        "find out whether a transaction that commits offsets is open",
        "Committed offsets are read twice. If such a transaction is open and commits later, the group reads its records again, "
        "and skips none",
    )
    GROUP_STATES = KnownSince("ListGroups", 4, "2.6", "list groups with their states", "Each group is described")
    TOPIC_IDS = KnownSince(
        "Metadata",
        10,
        "2.8",
        "tell topics that were created again",
        "Clusters are told apart by ids, addresses and logs",
    )
    CLUSTER_OPERATIONS = KnownSince(
        "DescribeCluster",
        0,
        "2.8",
        "find out what the user may do with the cluster",
        _NOT_CHECKED.format("the cluster"),
    )
    TOPICS_BY_ID = KnownSince(
        "DeleteTopics",
        6,
        "2.8",
        "delete a topic only if it is the one that was created",
        "Topics that were created stay. Delete them with kafka-topics",
    )
    LATEST_TIMES = KnownSince(
        "ListOffsets",
        7,
        "3.0",
        "tell the latest time of a log",
        "If a look-up by time finds no record, that is believed, unless a record that was read has such a time",
    )
    MANY_GROUPS = KnownSince(
        "OffsetFetch", 8, "3.0", "read the offsets of many groups at once", "A request is sent for each group"
    )
    MANY_COORDINATORS = KnownSince(
        "FindCoordinator",
        4,
        "3.0",
        "find the coordinators of many groups at once",
        "A request is sent for each group",
    )
    OPEN_TRANSACTIONS = KnownSince(
        "ListTransactions", 0, "3.0", "name open transactions", "Messages do not name the transactions"
    )


def not_told_notes(lacking: t.Mapping[str, t.Iterable[KnownSince]]) -> list[Note]:
    """One note of all that brokers do not offer, by cluster, and what follows; none where nothing is lacking."""
    clusters = values_by_key(
        (need._replace(found=None), cluster) for cluster, needs in lacking.items() for need in needs
    )
    alike = values_by_key((tuple(names), need) for need, names in clusters.items())
    texts = [f"{' and '.join(names)}: {_cannot(needs)}" for names, needs in alike.items()]
    return [Note(NoteKind.NOT_TOLD, " ".join(texts))] if texts else []


def _cannot(needs: t.Sequence[KnownSince]) -> str:
    uses = [f"{need.use} ({need.request} {need.version}, since Kafka {need.since})" for need in needs]
    told = " or ".join([*([", ".join(uses[:-1])] if uses[1:] else []), uses[-1]])
    sentences = dict.fromkeys(sentence for need in needs for sentence in need.without.split(". "))
    return f"the brokers cannot {told}. {'. '.join(sentences)}."
