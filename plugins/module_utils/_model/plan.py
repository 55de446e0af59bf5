# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The plan file: where groups must stand at the destination, and why that is right."""

from __future__ import annotations

import collections
import dataclasses
import functools
import sys
import typing as t

from . import documents
from .cluster_identity import NO_TRAITS, ClusterIdentity, Traits
from .file_rows import (
    LATER,
    RARE,
    Among,
    At,
    Epoch,
    Form,
    Metadata,
    Name,
    partition_from,
    read_row,
    row_order,
    write_row,
)
from .group_state import CommittedOffset
from .match_on import PART, MatchOn
from .option_names import with_option_names
from .record_sum import Bound, RecordSum
from .records import TopicPartition
from .verdicts import Absent, CertificateName, Copied, Reason, Verdict, Way

KIND = "plan"
# None for a name that this version does not know, too: nothing that is not understood makes an offset exact.
_Certificate = t.Annotated[CertificateName, Form({name.value: name for name in CertificateName}.get, str)]
_Way = t.Annotated[Way, Form({way.value: way for way in Way}.get, str)]
_PARTS = Form(lambda parts: MatchOn.of([documents.text_of(part) for part in parts]).parts)


class SourcePosition(t.NamedTuple):
    """Where a source group stands; offset is None where it has no commit.

    assumed: without a commit, on a topic that was merged, before which offset all records count as consumed: 0 for none. None
    for any other position, and in plans of a version that did not note it.
    """

    group: Name
    partition: t.Annotated[TopicPartition, Among()]
    offset: int | None
    assumed: t.Annotated[int | None, RARE] = None


class Evidence(t.NamedTuple):
    """before: the last consumed record's copy before the offset; after: the first unconsumed one at or after it.

    certificate: how it is known that an exact offset is right; None for any other, and in plans of a version that named none.
    way: which way decided; None for what was decided without the rule, and in plans of a version that named none.
    doubt: why fewer records did not prove more, if fewer were read first.
    """

    before: t.Annotated[Copied, Form(_copied, _copied_row)] | None = None
    after: t.Annotated[Copied, Form(_copied, _copied_row)] | None = None
    matched_by: tuple[t.Annotated[str, PART], ...] = ()
    certificate: t.Annotated[_Certificate | None, LATER] = None
    way: t.Annotated[_Way | None, RARE] = None
    doubt: t.Annotated[str, Form(_shared_text), RARE] = ""


_NO_EVIDENCE = Evidence()
_CHOSEN = Reason.EXPIRED, Reason.CAUGHT_UP  # of offsets that an option has chosen


class Verification(t.NamedTuple):
    """How an entry was verified: method is that of kafka_offset_verify; limit in offsets on both sides, None for none."""

    method: str
    limit: int | None = None

    def covers(self, wanted: Verification) -> bool:
        """Has this looked at everything that `wanted` would look at?"""
        if wanted.method == "anchors":
            return True
        if self.method != wanted.method:
            return False
        return self.limit is None or (wanted.limit is not None and wanted.limit <= self.limit)


@row_order(
    "group", "partition", "offset", "metadata", "leader_epoch", "verdict", "reason", "repeats", "detail", "lossless", "to_come",
    "source", "evidence", "expected", "verified", "predicted", "lost", "lost_bound", "absent", "chosen", "skipped",
)  # fmt: skip
@dataclasses.dataclass(frozen=True, slots=True)
class PlanEntry:
    """One destination group, topic and partition. offset is None for blocked and uncommitted entries.

    lossless is, for a blocked entry, an offset that is known to lose nothing, when one is known. to_come is, where the
    destination lags, how many consumed offsets follow the last consumed record that has come to it. expected is
    what the destination group had committed when the plan was made, None for nothing. verified: how the entry was
    verified since it was decided, without a problem; None where it was not. lost: how many records that the group has not
    consumed are on neither cluster any more, None where that is not known. predicted: the destination did not have the
    partition yet, and the entry is what a promotion of its topic leads to. absent: None where no record is known to be.
    chosen: why an option has chosen the offset, where `reason` is that of a merge of groups or of a return. skipped: how many
    unconsumed offsets are before an offset that an option has asked for, None where that is not known.
    """

    group: Name
    partition: t.Annotated[TopicPartition, Among()]
    offset: int | None
    verdict: Verdict
    source: tuple[SourcePosition, ...]
    metadata: Metadata = ""
    leader_epoch: t.Annotated[Epoch, LATER] = None
    reason: Reason | None = None
    repeats: int | None = None
    detail: t.Annotated[str, LATER] = ""
    lossless: t.Annotated[int | None, LATER] = None
    evidence: Evidence = _NO_EVIDENCE
    expected: CommittedOffset | None = None
    verified: t.Annotated[t.Annotated[Verification, Form(_verification, write_row)] | None, LATER] = None
    to_come: t.Annotated[int | None, LATER] = None
    predicted: t.Annotated[bool, RARE] = False
    lost: t.Annotated[int | None, RARE] = 0
    lost_bound: t.Annotated[Bound, RARE] = Bound.EXACTLY
    absent: t.Annotated[Absent | None, RARE] = None
    chosen: t.Annotated[Reason | None, RARE] = None
    skipped: t.Annotated[int | None, RARE] = 0

    @property
    def is_own(self) -> bool:
        """Whether the group gets no other one's offset. Inside one cluster, it is reset, or gets back what it had."""
        return all((at.group, at.partition) == self.key for at in self.source)

    @property
    def is_of_copy(self) -> bool:
        """Whether it is of the plan of a backlog's copy, which is the same whenever it is made."""
        return self.evidence.certificate == CertificateName.OWN_COPY

    @property
    def is_reset(self) -> bool:
        """Whether the group goes to an offset that was asked for, instead of getting that of another one, or its own again."""
        return self.verdict is Verdict.REQUESTED and self.is_own and self.reason is not Reason.TOPIC_UNIDENTIFIED

    @property
    def is_chosen(self) -> bool:
        """Whether an option has chosen the offset, because no record tells it."""
        return self.verdict is Verdict.REQUESTED or self.why_chosen is not None

    @property
    def why_chosen(self) -> Reason | None:
        """Which records the source has lost where an option has chosen the offset: unconsumed ones, or all of them."""
        return self.chosen or (self.reason if self.reason in _CHOSEN else None)

    @property
    def key(self) -> tuple[str, TopicPartition]:
        """What makes the entry unique in its plan."""
        return self.group, self.partition

    @property
    def lost_records(self) -> RecordSum:
        """How many records that the group has not consumed no cluster has any more."""
        return RecordSum.of([(self.lost, self.lost_bound)])

    @property
    def source_partitions(self) -> frozenset[TopicPartition]:
        """The partitions at the source that the entry rests on."""
        return frozenset(at.partition for at in self.source)

    @property
    def lacks_certificate(self) -> bool:
        """Is the offset called exact without saying how that is known? Such an entry has to be decided anew."""
        return self.verdict is Verdict.EXACT and self.evidence.certificate is None

    @property
    def repeated_copy(self) -> Copied | None:
        """The copy of the last consumed record, if the evidence has it at or after the offset, as no plan does that is made."""
        before = self.evidence.before
        return before if before is not None and self.offset is not None and before.destination >= self.offset else None

    @property
    def skipped_copy(self) -> Copied | None:
        """The copy of the first unconsumed record, if the evidence has it before the offset, as no plan does that is made."""
        after = self.evidence.after
        return after if after is not None and self.offset is not None and after.destination < self.offset else None

    @property
    def shown_detail(self) -> str:
        """The detail as messages show it; the file names options of the module in any case."""
        names = {self.group, self.partition.topic}
        names.update(name for at in self.source for name in (at.group, at.partition.topic))
        return with_option_names(self.detail, names)

    def blocked(self, reason: Reason, detail: str) -> PlanEntry:
        """The same without an offset, and why."""
        return dataclasses.replace(
            self, offset=None, verdict=Verdict.BLOCKED, reason=reason, repeats=None, detail=detail
        )

    def without_certificate(self, reason: Reason, **more: t.Any) -> PlanEntry:
        """The same as a safe entry, of which nobody knows what it repeats, with what is said otherwise."""
        values = {"repeats": None, "evidence": self.evidence._replace(certificate=None), **more}
        return dataclasses.replace(self, verdict=Verdict.SAFE, reason=reason, **values)

    @property
    def target(self) -> CommittedOffset | None:
        """What is to be committed; None for an entry that nothing is written for."""
        if self.offset is None:
            return None
        return CommittedOffset(self.offset, self.metadata, self.leader_epoch)


@dataclasses.dataclass(frozen=True)
class Plan:
    """snapshot: the digest of the snapshot that the plan was made from. The traits are those that the plan rests on.

    match_on: the parts of records that the user names. left_out_names: of a plan that was made from no snapshot, as there.
    lines: how many entries each group had when the plan was made, but for partitions that it has never used; empty in plans of
    earlier releases. own_prefix: see is_own_copy(); empty in those and in plans of a return, too.
    """

    source_id: t.Annotated[str, At("source", "cluster_id")]
    destination_id: t.Annotated[str, At("destination", "cluster_id")]
    snapshot: str
    entries: tuple[PlanEntry, ...]
    source_traits: t.Annotated[Traits, Among("source")] = NO_TRAITS
    destination_traits: t.Annotated[Traits, Among("destination")] = NO_TRAITS
    match_on: t.Annotated[tuple[str, ...], _PARTS, RARE] = ()
    left_out_names: t.Annotated[tuple[str, ...], RARE] = ()
    own_prefix: t.Annotated[str, RARE] = ""
    lines: t.Annotated[t.Mapping[str, int], LATER] = dataclasses.field(default_factory=dict, compare=False)

    @property
    def source_identity(self) -> ClusterIdentity:
        """The source cluster that the plan was made for."""
        return ClusterIdentity(self.source_id, self.source_traits)

    @property
    def destination_identity(self) -> ClusterIdentity:
        """The destination cluster that the plan was made for."""
        return ClusterIdentity(self.destination_id, self.destination_traits)

    @property
    def is_within_one_cluster(self) -> bool:
        """Are source and destination one cluster, as far as the plan has noted?"""
        return self.source_identity.difference(self.destination_identity) is None

    def is_same_topic(self, topic: str) -> bool:
        """Has the topic the same id at source and destination?"""
        topic_id = self.source_traits.topic_ids.get(topic)
        return topic_id is not None and self.destination_traits.topic_ids.get(topic) == topic_id

    def is_own_copy(self, topic: str) -> bool:
        """As Mapping.is_own() of the mapping that a migration was planned with: such a topic is written at the destination."""
        return bool(self.own_prefix) and topic.startswith(self.own_prefix)

    def names(self) -> set[str]:
        """The groups and topics that it knows, by their names at the source; where an entry has none, by its own."""
        origins = [at for entry in self.entries for at in entry.source or (entry,)]
        return {name for at in origins for name in (at.group, at.partition.topic)}.union(self.left_out_names)

    @functools.cached_property
    def lines_left(self) -> t.Mapping[str, int]:
        """What lines would be if the plan had been made as it is."""
        return collections.Counter(entry.group for entry in self.entries if entry.verdict is not Verdict.UNCOMMITTED)

    @functools.cached_property
    def removed_lines(self) -> dict[str, int]:
        """How many entries each group has lost since the plan was made, of those that have lost some."""
        left = self.lines_left
        return {group: lines - left[group] for group, lines in sorted(self.lines.items()) if left[group] < lines}

    @functools.cached_property
    def by_key(self) -> t.Mapping[tuple[str, TopicPartition], PlanEntry]:
        """The entries by destination group and partition."""
        return {entry.key: entry for entry in self.entries}


def to_json(plan: Plan) -> str:
    """The text of a plan file."""
    head = write_row(dataclasses.replace(plan, lines=plan.lines or plan.lines_left), "entries")
    return documents.dumps(KIND, head, map(write_row, sorted(plan.entries, key=lambda entry: entry.key)))


def from_json(text: str, path: str) -> Plan:
    """Read a plan file, or raise InvalidFile."""
    plan, rows = _loaded(text, path)
    # Only a reset and a backup ask for offsets of groups that have committed some, and they stay inside one cluster.
    may_reset = plan.source_id == plan.destination_id and plan.is_within_one_cluster
    entries = documents.parse_entries(KIND, path, rows, functools.partial(_entry, may_reset=may_reset))
    documents.check_once(KIND, path, (entry.key for entry in entries))
    return dataclasses.replace(plan, entries=entries)


def head_from_json(text: str, path: str) -> Plan:
    """A plan file without its entries, which are not looked at, because that takes long. Raises InvalidFile as from_json()."""
    return _loaded(text, path)[0]


def _loaded(text: str, path: str) -> tuple[Plan, t.Iterable[t.Any]]:
    """The plan without its entries, and their rows."""
    head, rows = documents.loads(KIND, text, path)
    return documents.parse(KIND, path, head, lambda row: read_row(Plan, row, entries=())), rows


def _entry(row: t.Any, *, may_reset: bool) -> PlanEntry:
    entry = read_row(PlanEntry, row)
    verdict = entry.verdict
    if (entry.offset is None) != (verdict in (Verdict.BLOCKED, Verdict.UNCOMMITTED)):
        raise ValueError(f"verdict {verdict.value} {'needs an' if entry.offset is None else 'has no'} offset")
    if verdict is not Verdict.EXACT and row["evidence"].get("certificate") is not None:
        raise ValueError(f"verdict {verdict.value} has a certificate, which only exact offsets have")
    if row.get("predicted", True) is not True:
        raise ValueError("predicted can only be true")
    if entry.chosen not in (None, *_CHOSEN):
        raise ValueError("chosen can only be expired or caught_up")
    if not entry.source:
        raise ValueError("there is no source position")
    if verdict is Verdict.REQUESTED and not _may_be_requested(entry, may_reset):
        raise ValueError(
            "verdict requested needs a group without a committed offset at the source, several groups that become one and have "
            "committed different offsets, a reset, or a backup"
        )
    return entry


def _may_be_requested(entry: PlanEntry, may_reset: bool) -> bool:
    """Can an option have asked for the offset? Records tell any other one, and no verification looks at requested ones."""
    if may_reset and [at[:2] for at in entry.source] == [entry.key]:
        return True
    offsets = {at.offset for at in entry.source}
    if may_reset and entry.reason is Reason.TOPIC_UNIDENTIFIED and entry.offset in offsets:
        return True
    return offsets == {None} or (len(offsets) > 1 and len({at.group for at in entry.source}) > 1)


def _verification(row: t.Any) -> Verification | None:
    """None for a method that this version does not know, too: the entry is then verified again."""
    return read_row(Verification, row) if row["method"] in ("records", "anchors") else None


def _shared_text(value: t.Any) -> str:
    """The same object for the same text: thousands of entries share theirs."""
    return sys.intern(documents.text_of(value))


# By hand, which is faster: each of a million entries has two.


def _copied(row: t.Any) -> Copied:
    partition = partition_from(row) if "topic" in row or "partition" in row else None
    source, destination = documents.offset_of(row["source"]), documents.offset_of(row["destination"])
    return Copied(source, destination, documents.text_of(row["fingerprint"]), partition)


def _copied_row(copied: Copied) -> documents.Json:
    source, destination, fingerprint, partition = copied
    row = {"source": source, "destination": destination, "fingerprint": fingerprint}
    return row if partition is None else {**partition._asdict(), **row}
