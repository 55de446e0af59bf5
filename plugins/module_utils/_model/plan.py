# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The plan file: where groups must stand at the destination, and why that is right."""

from __future__ import annotations

import collections
import dataclasses
import functools
import sys
import typing as t

from . import cluster_identity, documents
from .cluster_identity import NO_TRAITS, ClusterIdentity, Traits
from .file_rows import At, Form, partition_from, read_row
from .group_state import CommittedOffset
from .match_on import PART, MatchOn
from .option_names import with_option_names
from .record_sum import Bound, RecordSum
from .records import TopicPartition
from .verdicts import Absent, CertificateName, Copied, Reason, Verdict, Way

KIND = "plan"
_CERTIFICATES = {name.value: name for name in CertificateName}
_WAYS = {way.value: way for way in Way}
_PARTS = Form(lambda parts: MatchOn.of([documents.text_of(part) for part in parts]).parts)
_Named = t.TypeVar("_Named", CertificateName, Way)


class SourcePosition(t.NamedTuple):
    """Where a source group stands; offset is None where it has no commit.

    assumed: without a commit, on a topic that was merged, before which offset all records count as consumed: 0 for none. None
    for any other position, and in plans of a version that did not note it.
    """

    group: str
    partition: TopicPartition
    offset: int | None
    assumed: int | None = None


class Evidence(t.NamedTuple):
    """before: the last consumed record's copy before the offset; after: the first unconsumed one at or after it.

    certificate: how it is known that an exact offset is right; None for any other, and in plans of a version that named none.
    way: which way decided; None for what was decided without the rule, and in plans of a version that named none.
    doubt: why fewer records did not prove more, if fewer were read first.
    """

    before: Copied | None = None
    after: Copied | None = None
    matched_by: tuple[str, ...] = ()
    certificate: CertificateName | None = None
    way: Way | None = None
    doubt: str = ""


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


@dataclasses.dataclass(frozen=True, slots=True)
class PlanEntry:
    """One destination group, topic and partition. offset is None for blocked and uncommitted entries.

    lossless is, for a blocked entry, an offset that is known to lose nothing, when one is known. to_come is, where the
    destination lags, how many consumed offsets follow the last consumed record that has come to it. expected is
    what the destination group had committed when the plan was made, None for nothing. verified: how the entry was
    verified since it was decided, without a problem; None where it was not. lost: how many records that the group has not
    consumed are on neither cluster any more, None where that is not known. predicted: the destination did not have the
    partition yet, and the entry is what a promotion of its topic leads to. absent: None where no record is known to be.
    chosen: why an option has chosen the offset, where `reason` is that of a merge of groups or of a return.
    """

    group: str
    partition: TopicPartition
    offset: int | None
    verdict: Verdict
    source: tuple[SourcePosition, ...]
    metadata: str = ""
    leader_epoch: int | None = None
    reason: Reason | None = None
    repeats: int | None = None
    detail: str = ""
    lossless: int | None = None
    evidence: Evidence = _NO_EVIDENCE
    expected: CommittedOffset | None = None
    verified: Verification | None = None
    to_come: int | None = None
    predicted: bool = False
    lost: int | None = 0
    lost_bound: Bound = Bound.EXACTLY
    absent: Absent | None = None
    chosen: Reason | None = None

    @property
    def is_own(self) -> bool:
        """Whether the group gets no other one's offset. Inside one cluster, it is reset, or gets back what it had."""
        return all((at.group, at.partition) == self.key for at in self.source)

    @property
    def is_reset(self) -> bool:
        """Whether the group goes to an offset that was asked for, instead of getting that of another one."""
        return self.verdict is Verdict.REQUESTED and self.is_own

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
    earlier releases.
    """

    source_id: t.Annotated[str, At("source", "cluster_id")]
    destination_id: t.Annotated[str, At("destination", "cluster_id")]
    snapshot: str
    entries: tuple[PlanEntry, ...]
    source_traits: t.Annotated[Traits, cluster_identity.TRAITS, At("source")] = NO_TRAITS
    destination_traits: t.Annotated[Traits, cluster_identity.TRAITS, At("destination")] = NO_TRAITS
    match_on: t.Annotated[tuple[str, ...], _PARTS] = ()
    left_out_names: tuple[str, ...] = ()
    lines: dict[str, int] = dataclasses.field(default_factory=dict, compare=False)

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

    @property
    def same_topics(self) -> dict[str, tuple[str, str]]:
        """The topics that have the same id at source and destination, and their ids there."""
        source_ids, destination_ids = self.source_traits.topic_ids, self.destination_traits.topic_ids
        return {
            name: (source_id, destination_id)
            for name, source_id in source_ids.items()
            if source_id is not None
            and (destination_id := destination_ids.get(name)) is not None
            and source_id == destination_id
        }

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
    return documents.dumps(
        KIND,
        {
            "source": cluster_identity.to_row(plan.source_identity),
            "destination": cluster_identity.to_row(plan.destination_identity),
            "snapshot": plan.snapshot,
            **{name: list(values) for name in ("match_on", "left_out_names") if (values := getattr(plan, name))},
            "lines": dict(sorted((plan.lines or plan.lines_left).items())),
        },
        (plan_entry_row(entry) for entry in sorted(plan.entries, key=lambda entry: entry.key)),
    )


def from_json(text: str, path: str) -> Plan:
    """Read a plan file, or raise InvalidFile."""
    head, rows = documents.loads(KIND, text, path)
    missing: documents.Json = {"match_on": [], "left_out_names": [], "lines": {}}
    plan = documents.parse(KIND, path, head, lambda row: read_row(Plan, {**missing, **row}, entries=()))
    # Only a reset asks for offsets of groups that have committed some, and it stays inside one cluster.
    may_reset = plan.source_id == plan.destination_id and plan.is_within_one_cluster
    entries = documents.parse_entries(KIND, path, rows, functools.partial(_entry, may_reset=may_reset))
    documents.check_once(KIND, path, (entry.key for entry in entries))
    return dataclasses.replace(plan, entries=entries)


def plan_entry_row(entry: PlanEntry) -> documents.Json:
    """An entry as files hold it."""
    return {
        "group": entry.group,
        "topic": entry.partition.topic,
        "partition": entry.partition.partition,
        "offset": entry.offset,
        "metadata": entry.metadata,
        "leader_epoch": entry.leader_epoch,
        "verdict": entry.verdict.value,
        "reason": entry.reason and entry.reason.value,
        "repeats": entry.repeats,
        "detail": entry.detail,
        "lossless": entry.lossless,
        "to_come": entry.to_come,
        "source": [_position_row(at) for at in entry.source],
        "evidence": {
            "before": _copied_row(entry.evidence.before),
            "after": _copied_row(entry.evidence.after),
            "matched_by": list(entry.evidence.matched_by),
            "certificate": entry.evidence.certificate,
            **({"way": entry.evidence.way} if entry.evidence.way else {}),
            **({"doubt": entry.evidence.doubt} if entry.evidence.doubt else {}),
        },
        "expected": documents.committed_row(entry.expected),
        "verified": entry.verified and entry.verified._asdict(),
        **({"predicted": True} if entry.predicted else {}),
        **({} if entry.lost == 0 else {"lost": entry.lost}),
        **({"lost_bound": entry.lost_bound} if entry.lost_bound else {}),
        **({"absent": entry.absent.row()} if entry.absent else {}),
        **({"chosen": entry.chosen.value} if entry.chosen else {}),
    }


# Enum members by value, without the enum's own look-up, which takes several times as long; a plan has thousands of each.
_verdict = functools.cache(functools.partial(documents.choice_of, Verdict))
_reason = functools.cache(functools.partial(documents.choice_of, Reason))
_bound = functools.cache(functools.partial(documents.choice_of, Bound))


def _entry(row: t.Any, *, may_reset: bool) -> PlanEntry:
    verdict = _verdict(row["verdict"])
    offset = _optional(row["offset"])
    if (offset is None) != (verdict in (Verdict.BLOCKED, Verdict.UNCOMMITTED)):
        raise ValueError(f"verdict {verdict.value} {'needs an' if offset is None else 'has no'} offset")
    if verdict is not Verdict.EXACT and row["evidence"].get("certificate") is not None:
        raise ValueError(f"verdict {verdict.value} has a certificate, which only exact offsets have")
    if row.get("predicted", True) is not True:
        raise ValueError("predicted can only be true")
    if "chosen" in row and row["chosen"] not in _CHOSEN:
        raise ValueError("chosen can only be expired or caught_up")
    if not row["source"]:
        raise ValueError("there is no source position")
    entry = PlanEntry(
        group=documents.name_of(row["group"]),
        partition=partition_from(row),
        offset=offset,
        verdict=verdict,
        source=tuple(
            SourcePosition(
                documents.name_of(at["group"]),
                partition_from(at),
                _optional(at["offset"]),
                _optional(at.get("assumed")),
            )
            for at in row["source"]
        ),
        metadata=documents.metadata_of(row["metadata"]),
        leader_epoch=documents.epoch_of(row.get("leader_epoch")),
        reason=None if row["reason"] is None else _reason(row["reason"]),
        repeats=_optional(row["repeats"]),
        detail=documents.text_of(row.get("detail", "")),
        lossless=_optional(row.get("lossless")),
        to_come=_optional(row.get("to_come")),
        evidence=Evidence(
            _copied(row["evidence"]["before"]),
            _copied(row["evidence"]["after"]),
            tuple(map(PART.read, row["evidence"]["matched_by"])),
            _known(_CERTIFICATES, row["evidence"].get("certificate")),
            _known(_WAYS, row["evidence"].get("way")),
            sys.intern(documents.text_of(row["evidence"].get("doubt", ""))),  # thousands of entries share theirs
        ),
        expected=documents.committed_from(row["expected"]),
        verified=_verification(row.get("verified")),
        predicted="predicted" in row,
        lost=_optional(row.get("lost", 0)),
        lost_bound=_bound(row.get("lost_bound", "")),
        absent=_absent(row["absent"]) if "absent" in row else None,
        chosen=_reason(row["chosen"]) if "chosen" in row else None,
    )
    if verdict is Verdict.REQUESTED and not _may_be_requested(entry, may_reset):
        raise ValueError(
            "verdict requested needs a group without a committed offset at the source, several groups that become one and have "
            "committed different offsets, or a reset"
        )
    return entry


def _may_be_requested(entry: PlanEntry, may_reset: bool) -> bool:
    """Can an option have asked for the offset? Records tell any other one, and no verification looks at requested ones."""
    if may_reset and [at[:2] for at in entry.source] == [entry.key]:
        return True
    offsets = {at.offset for at in entry.source}
    return offsets == {None} or (len(offsets) > 1 and len({at.group for at in entry.source}) > 1)


def _absent(row: t.Any) -> Absent:
    return Absent(
        documents.offset_of(row["records"]),
        documents.offset_of(row["source"]),
        documents.flag_of(row["exactly"]),
        _optional(row.get("open_from")),
        _optional(row.get("deleted_before")),
    )


def _verification(row: t.Any) -> Verification | None:
    """None for a method that this version does not know, too: the entry is then verified again."""
    if row is None or row["method"] not in ("records", "anchors"):
        return None
    return Verification(documents.text_of(row["method"]), _optional(row["limit"]))


def _known(members: t.Mapping[str, _Named], name: t.Any) -> _Named | None:
    """None for a name that this version does not know, too: nothing that is not understood makes an offset exact."""
    return members.get(name) if isinstance(name, str) else None


def _optional(value: t.Any) -> int | None:
    return None if value is None else documents.offset_of(value)


def _position_row(at: SourcePosition) -> documents.Json:
    row = {"group": at.group, "topic": at.partition.topic, "partition": at.partition.partition, "offset": at.offset}
    return row if at.assumed is None else {**row, "assumed": at.assumed}


def _copied_row(copied: Copied | None) -> documents.Json | None:
    if copied is None:
        return None
    row = {"source": copied.source, "destination": copied.destination, "fingerprint": copied.fingerprint}
    return row if copied.partition is None else {**copied.partition._asdict(), **row}


def _copied(row: t.Any) -> Copied | None:
    if row is None:
        return None
    partition = None
    if "topic" in row or "partition" in row:
        partition = partition_from(row)
    return Copied(
        documents.offset_of(row["source"]),
        documents.offset_of(row["destination"]),
        documents.text_of(row["fingerprint"]),
        partition,
    )
