"""A return counts what only the cluster that is left has, and blocks it, or leaves it there."""

import dataclasses

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Log, LogFacts
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning import new_records, settling
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.new_records import with_new_records
from ansible_collections.streamshift.kafka.plugins.module_utils._model import plan as file
from ansible_collections.streamshift.kafka.plugins.module_utils._model.match_on import EVERYTHING, PARTS, MatchOn
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Evidence, PlanEntry, SourcePosition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnNewRecords
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import CertificateName, Reason, Verdict

NEW, OLD = TopicPartition("copy.orders", 0), TopicPartition("orders", 0)
EXACT = Evidence(matched_by=PARTS, certificate=CertificateName.WHOLE_LOGS)


class Logs:
    """A cluster with one partition, whose records are the letters of a text. more: what comes with each further look.

    times: of which letter the time of each is.
    """

    def __init__(self, partition, letters, more=(), times=str, log_append_time=False, match_on=EVERYTHING):
        self.partition, self.letters, self.more, self.times = partition, letters, list(more), times
        self.log_append_time, self.match_on = log_append_time, match_on
        self.logs = {}
        self.learn([partition])

    def learn(self, _partitions):
        if self.logs and self.more:
            self.letters += self.more.pop(0)
        end = len(self.letters)
        facts = LogFacts(0, end, end, log_append_time=self.log_append_time)
        self.logs.setdefault(self.partition, Log(facts)).learn(facts)

    def read(self, spans):
        for _partition, span in spans:
            for start, end in self.logs[self.partition].unread(*span):
                self.logs[self.partition].add((start, end), [self._record(at) for at in range(start, end)])

    def _record(self, at):
        name = self.letters[at].encode()
        return Record(at, ord(self.times(self.letters[at])), name, name)


def settled(new, old, entry, policy=OnNewRecords.FAIL, search_limit=100, wait=0):
    """The entry that is planned, and unchanged where nothing is to be changed. new, old: logs, or the letters of one."""
    source = new if isinstance(new, Logs) else Logs(NEW, new)
    destination = old if isinstance(old, Logs) else Logs(OLD, old)
    return with_new_records({1: entry}, source, destination, policy, search_limit, wait, lambda _line: None).get(
        1, entry
    )


def exact(committed, offset):
    position = SourcePosition("billing", NEW, committed)
    return PlanEntry("billing", OLD, offset, Verdict.EXACT, (position,), repeats=0, evidence=EXACT)


def lagging(committed, lossless, to_come):
    return dataclasses.replace(
        exact(committed, None),
        verdict=Verdict.BLOCKED,
        reason=Reason.DESTINATION_LAGS,
        repeats=None,
        lossless=lossless,
        to_come=to_come,
        evidence=Evidence(),
    )


def is_readable(entry):
    """A plan with this entry is one that its reader takes."""
    text = file.to_json(file.Plan("S", "D", "digest", (entry,)))
    return file.from_json(text, "plan.json").entries == (entry,)


@pytest.mark.parametrize("old", ["abcdef", "abcdefxyz", "abcxdef"])
def test_nothing_changes_where_all_unconsumed_records_are_at_both(old):
    entry = exact(3, 3)
    assert settled("abcdef", old, entry) == entry


def test_unconsumed_new_records_block_with_their_number_and_the_first_one():
    found = settled("abcNdOef", "abcdefyz", exact(2, 2))
    assert (found.verdict, found.reason, found.lossless) == (Verdict.BLOCKED, Reason.NEW_RECORDS, 2)
    assert found.detail.startswith("only at the source: 2 unconsumed records (from source offset 3 on); ")
    assert "on_new_records" in found.detail
    assert is_readable(found)


def test_records_that_the_destination_has_with_other_timestamps_are_told_from_new_ones():
    for entry in (exact(0, 0), lagging(2, 0, 2)):
        found = settled("abcd", Logs(OLD, "abcd", times=str.upper), entry)
        assert found.reason is Reason.NEW_RECORDS
        told = "such records with other timestamps: if replication tools or brokers change timestamps, set match_on"
        assert told in found.detail
    kept = settled("aabcaN", Logs(OLD, "aabc"), exact(4, 4))
    assert "2 unconsumed records" in kept.detail and "match_on" not in kept.detail, "an equal record, produced since"


def test_they_can_be_left():
    found = settled("abcNdOef", "abcdefyz", exact(2, 2), OnNewRecords.LEAVE)
    assert (found.verdict, found.reason, found.offset, found.repeats) == (Verdict.SAFE, Reason.NEW_RECORDS, 2, 0)
    assert found.detail.startswith(
        "only at the source: 2 unconsumed records (from source offset 3 on); they stay there"
    )
    assert is_readable(found)
    chosen = dataclasses.replace(exact(2, 2), verdict=Verdict.SAFE, reason=Reason.CAUGHT_UP, evidence=Evidence())
    assert settled("abcNdOef", "abcdefyz", chosen, OnNewRecords.LEAVE).chosen is Reason.CAUGHT_UP


def test_consumed_ones_after_the_last_that_both_have_are_left_and_may_be_repeated_if_they_are_copied():
    entry = lagging(5, 3, 2)
    found = settled("abcNOPQ", "abcyz", entry, OnNewRecords.LEAVE)
    assert (found.verdict, found.offset, found.repeats) == (Verdict.SAFE, 3, 2)
    assert "2 unconsumed records (from source offset 5 on) and 2 consumed records; they stay" in found.detail
    assert is_readable(found)
    blocked = settled("abcNOPQ", "abcyz", entry)
    assert (blocked.verdict, blocked.reason, blocked.lossless) == (Verdict.BLOCKED, Reason.NEW_RECORDS, 3)


def test_what_another_one_of_merged_groups_may_repeat_is_not_counted():
    entry = lagging(5, 3, 2)
    merged = dataclasses.replace(entry, source=(*entry.source, SourcePosition("shipping", NEW, 7)))
    left = settled("abcNOdef", "abcdefyz", merged, OnNewRecords.LEAVE)
    assert (left.verdict, left.offset, left.repeats) == (Verdict.SAFE, 3, None)
    assert is_readable(left)


def test_what_is_not_counted_blocks_and_is_left_only_on_demand(monkeypatch):
    monkeypatch.setattr(new_records, "BESIDE", 0)
    found = settled("abcdef", "abcdef", exact(1, 1), search_limit=3)
    assert (found.verdict, found.reason) == (Verdict.BLOCKED, Reason.NEW_RECORDS)
    assert "search_limit" in found.detail
    left = settled("abcdef", "abcdef", exact(1, 1), OnNewRecords.LEAVE, search_limit=3)
    assert "an unknown number of unconsumed records" in left.detail


def test_what_a_replication_tool_brings_while_the_source_is_looked_at_is_no_new_record():
    """Producers have stayed at the destination, and the tool copies from there: its end is older than the source's."""
    assert settled("abcd", Logs(OLD, "ab", more=["cd"]), exact(1, 1)) == exact(1, 1)


def test_a_replication_tool_has_time_to_bring_them(monkeypatch):
    monkeypatch.setattr(settling, "PAUSE", 0)
    entry = exact(1, 1)
    old = Logs(OLD, "ab", more=["", "c", "d"])
    assert settled("abcd", old, entry, wait=60) == entry
    late = settled("abcd", Logs(OLD, "ab", more=["c"]), entry, wait=0.01)
    assert "only at the source: 1 unconsumed record (from source offset 3 on)" in late.detail


def test_an_equal_record_with_another_time_counts_as_another_one_unless_times_are_not_compared():
    later = Logs(OLD, "aA", times=str.swapcase)
    assert settled("aA", later, exact(1, 1)).reason is Reason.NEW_RECORDS
    stamped = Logs(OLD, "aA", times=str.swapcase, log_append_time=True)
    assert settled("aA", stamped, exact(1, 1)) == exact(1, 1)
    assert settled(Logs(NEW, "aA", match_on=MatchOn(("key", "value"))), later, exact(1, 1)) == exact(1, 1)


@pytest.mark.parametrize("policy", OnNewRecords)
def test_an_equal_record_with_another_time_is_not_taken_for_the_last_consumed_one(policy):
    """The old cluster's N is unconsumed, and equal to the new one's but for the time."""
    old = Logs(OLD, "aNb", times=lambda letter: "M" if letter == "N" else letter)
    before = file.Copied(1, 1, "fingerprint")
    entry = dataclasses.replace(exact(2, 2), evidence=EXACT._replace(before=before))
    found = settled("aNb", old, entry, policy)
    assert (found.verdict, found.lossless) == (Verdict.BLOCKED, None)
    assert "another timestamp" in found.detail
    assert is_readable(found)
    far = dataclasses.replace(exact(99, 2), evidence=EXACT._replace(before=before))
    assert settled("aN" + "x" * 97 + "b", "aNb", far, policy) == far


@pytest.mark.parametrize("policy", OnNewRecords)
@pytest.mark.parametrize(
    ("new", "old", "entry"),
    [
        ("abN", "yN", exact(2, 1)),  # of what the group has consumed, nothing is at the old cluster
        ("N", "yN", exact(0, 1)),
        ("abaN", "abayaN", exact(3, 5)),  # the last a is none that was copied, as there are three of them
        ("acdbe", "abcde", exact(3, 4)),  # b was copied late, and is before the offset
    ],
)
def test_a_record_that_only_the_old_cluster_has_is_not_skipped_for_a_later_one(policy, new, old, entry):
    found = settled(new, old, entry, policy)
    assert (found.verdict, found.reason, found.lossless) == (Verdict.BLOCKED, Reason.NEW_RECORDS, None)
    assert "nobody knows whether the group has consumed it" in found.detail


MANY = "".join(map(chr, range(0x4E00, 0x4E00 + 200)))  # each with a time of its own, each later than the one before


@pytest.mark.parametrize("policy", OnNewRecords)
@pytest.mark.parametrize(
    ("search_limit", "why"), [(1000, "has a copy before the destination's offset 140"), (150, "may have a copy")]
)
def test_what_a_tool_has_copied_late_is_not_skipped_far_before_the_offset(policy, search_limit, why):
    """It was started at the newest records first, and later at the oldest ones."""
    entry = settled(MANY[100:] + MANY[:50], MANY, exact(40, 140), policy, search_limit)
    assert (entry.verdict, entry.reason, entry.lossless) == (Verdict.BLOCKED, Reason.NEW_RECORDS, None)
    assert why in entry.detail


def test_new_records_that_are_a_little_early_are_left():
    """As those of several producers are, whose clocks differ."""
    new = MANY[:150] + MANY[198] + MANY[150]
    entry = settled(new, MANY[:150] + MANY[199], exact(100, 100), OnNewRecords.LEAVE)
    assert (entry.verdict, entry.offset) == (Verdict.SAFE, 100) and "only at the source: 2 unconsumed" in entry.detail


def test_equal_records_at_both_are_in_no_doubt():
    assert settled("aaaN", "aaaN", exact(3, 3)) == exact(3, 3)


def test_times_tell_nothing_where_the_new_cluster_stamps_records():
    def returned(match_on):
        source = Logs(NEW, "ab", times=str.swapcase, log_append_time=True, match_on=match_on)
        return settled(source, "ab", exact(1, 1), OnNewRecords.LEAVE)

    assert "LogAppendTime" in returned(EVERYTHING).detail and "match_on" in returned(EVERYTHING).detail
    assert returned(MatchOn(("key", "value"))) == exact(1, 1)


def test_what_may_have_been_consumed_from_the_offset_on_counts_as_repeated():
    found = settled("abcabNOP", "abcab", lagging(7, 1, 2), OnNewRecords.LEAVE)
    assert (found.offset, found.repeats) == (1, 2 + 4)


def test_other_entries_are_left_alone():
    requested = dataclasses.replace(exact(1, 1), verdict=Verdict.REQUESTED, evidence=Evidence())
    blocked = dataclasses.replace(lagging(1, None, 1), reason=Reason.TOPIC_MISSING)
    for entry in (requested, blocked):
        assert settled("abcd", "a", entry) == entry


@pytest.mark.parametrize("policy", OnNewRecords)
def test_a_repartitioned_topic_is_not_counted(policy):
    found = new_records.uncounted(exact(1, 1), policy)
    assert (found.offset is None) == (policy is OnNewRecords.FAIL)


def test_one_note_tells_of_all():
    found = settled("abN", "ab", exact(1, 1), OnNewRecords.LEAVE)
    (note,) = new_records.new_record_notes([found, dataclasses.replace(found, group="other"), exact(1, 1)])
    assert note.text.endswith("(and 1 more group-partition)")
    blocked = settled("abN", "ab", exact(1, 1))
    assert new_records.new_record_notes([exact(1, 1), blocked]) == []  # the plan says what it blocks
