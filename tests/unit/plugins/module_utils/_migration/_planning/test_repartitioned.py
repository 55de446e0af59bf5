"""Entries of repartitioned and merged topics: which groups are read for together, and what becomes of what was read."""

import contextlib
import dataclasses
import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Log, LogFacts, Policy
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.group_count import (
    Answer,
    Copy,
    GroupCount,
    Lag,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning import merged_counts, settling
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning import repartitioned as use_case
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.merged_counts import NotCounted
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.strategy import (
    StrategyInput,
    TranslateOptions,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import Draft
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.match_on import Matching, MatchOn
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import PlanEntry, SourcePosition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Copied, Reason, Verdict, Way
from tests.support.strategies import strategy_input

EU, US = [TopicPartition("eu", 0), TopicPartition("eu", 1)], [TopicPartition("us", 0)]
ALL = [TopicPartition("all", number) for number in range(3)]
FULL, BARE = b"full", b"bare"
NAME = BARE.hex()


class Side:
    """A cluster of which the edges are known; the destination grows by ten records with each later look."""

    match_on = MatchOn()
    connection = None

    def __init__(self, partitions: t.Iterable[TopicPartition], end: int, grows: bool = False) -> None:
        self.logs = {partition: Log(LogFacts(0, end, end)) for partition in partitions}
        self.starts = dict.fromkeys(self.logs, 0)
        self.starts_later: dict[TopicPartition, int] = {}  # after what expires while records are read
        self.looks, self.grows = 0, grows
        self.retention_ms: int | None = None
        self.younger: dict[int, int] = {}
        self.first_young: int | None = 5

    def learn(self, partitions: t.Collection[TopicPartition]) -> None:
        self.looks += 1
        for partition in partitions:
            end = self.logs[partition].facts.end + 10 * (self.grows and self.looks > 1)
            facts = LogFacts(self.starts[partition], end, end, retention_ms=self.retention_ms)
            self.logs[partition].facts = facts

    def learn_starts(self, partitions: t.Collection[TopicPartition]) -> None:
        for partition in partitions:
            facts = self.logs[partition].facts
            self.logs[partition].facts = dataclasses.replace(
                facts, log_start=self.starts_later.get(partition, facts.log_start)
            )

    def read(self, spans: t.Iterable[tuple[TopicPartition, tuple[int, int]]]) -> None:
        """All these offsets have a record; its time is its offset but for those that are younger."""
        for partition, (start, end) in spans:
            self.logs[partition].add(
                (start, end), [Record(at, self.younger.get(at, at), FULL, BARE, False) for at in range(start, end)]
            )

    def look_up(self, times: t.Iterable[tuple[TopicPartition, int]]) -> None:
        for partition, time in times:
            self.logs[partition].lookups[time] = self.first_young


class Spark:
    """How often a session was asked for, and what of it; it answers what it is told to, the last again and again."""

    def __init__(self) -> None:
        self.sessions = 0
        self.asked: list[list[list[int]]] = []
        self.read: list[list[int]] = []
        self.answers: list[GroupCount] = [told()]

    def session(self) -> t.Self:
        self.sessions += 1
        return self

    @contextlib.contextmanager
    def counting(self, its: t.Any, given: StrategyInput) -> t.Iterator[t.Any]:
        def count(below: t.Sequence[tuple[int, ...]]) -> list[GroupCount]:
            self.read += [
                [given.destination.logs[at].facts.end for at in its.targets],
                [given.source.logs[at].facts.end for at in its.sources],
            ]
            self.asked.append(list(map(list, below)))
            return [self.answers.pop(0) if len(self.answers) > 1 else self.answers[0] for _group in below]

        yield Way.COUNT, count


def told(*lags: Lag, before: Copy | None = None, after: Copy | None = None, unknown: int | None = None) -> GroupCount:
    """The same of each of three partitions: the group belongs at 8, after the last consumed copy and before the first other."""
    answer = Answer(8, 0, 0, False, not lags, 7, 8, False, None, None)
    return GroupCount(
        Matching(True, False), True, (answer,) * 3, (before,) * 3, (after,) * 3, lags, (None,) * 3, (unknown,) * 3
    )


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> Spark:
    its = Spark()
    monkeypatch.setattr(use_case, "counting", its.counting)
    monkeypatch.setattr(settling, "PAUSE", 0)
    return its


def draft(partition: TopicPartition, offset: int, group: str = "g", metadata: str = "") -> Draft:
    target = TopicPartition("all", partition.partition)
    return Draft(group, target, f"old-{group}", partition, CommittedOffset(offset, metadata, 4))


def entries(
    spark: Spark, *drafts: Draft, source=None, destination=None, given: t.Mapping[str, t.Any] = {}, **wanted: t.Any
) -> list[PlanEntry]:
    """given: as for strategy_input(). wanted: options."""
    sides = source or Side([*EU, *US], 50), destination or Side(ALL, 100)
    options = TranslateOptions(**wanted)
    given = strategy_input(*sides, merged=drafts, options=options, spark=spark.session, **given)
    found = use_case.repartitioned_entries(given)
    assert list(found) == [each.key for each in found.values()]
    return list(found.values())


def test_every_partition_there_gets_an_entry_with_every_position(spark):
    found = entries(spark, draft(EU[0], 20), draft(US[0], 30))
    assert [(each.group, each.partition, each.offset) for each in found] == [("g", partition, 8) for partition in ALL]
    assert {each.source for each in found} == {
        (
            SourcePosition("old-g", EU[0], 20),
            SourcePosition("old-g", EU[1], None, 0),
            SourcePosition("old-g", US[0], 30),
        )
    }
    assert spark.asked == [[[20, 0, 30]]]
    assert {each.detail for each in found} == {
        "1 of 3 source partitions has no committed offset: all records of it count as unconsumed (on_uncommitted: ignore)"
    }
    assert {(each.leader_epoch, each.evidence.matched_by) for each in found} == {(None, ("key", "value", "timestamp"))}


def test_topics_that_only_spark_could_count_block_no_others(spark, monkeypatch):
    def counting(its, given):
        if "eu" in its.topics:
            raise NotCounted("Spark cannot be used")
        return spark.counting(its, given)

    monkeypatch.setattr(use_case, "counting", counting)
    found = entries(spark, draft(EU[0], 20), draft(US[0], 30, "h"))
    told = {each.group: (each.verdict, each.reason, each.offset) for each in found}
    assert told["g"] == ("blocked", "search_budget_spent", None)
    assert told["h"] != told["g"]
    assert "Spark cannot be used" in found[0].detail


@pytest.mark.parametrize(("limit", "why"), [(0, "spark_limit is 0"), (1000, "no Java"), (20, "spark_limit is 20")])
def test_what_spark_may_or_can_not_count_asks_for_no_session(monkeypatch, limit, why):
    monkeypatch.setattr(merged_counts, "obstacle", lambda _spark: "no Java.")
    its, policy = Spark(), Policy(search_limit=10)
    (found, *_others) = entries(its, draft(EU[0], 20), policy=policy, spark_limit=limit)
    assert (found.verdict, found.reason, its.sessions) == ("blocked", "search_budget_spent", 0)
    assert why in found.detail


def test_one_reading_serves_all_groups_of_the_same_topics(spark):
    entries(
        spark,
        draft(EU[0], 20, "a"),
        draft(EU[1], 21, "a"),
        draft(EU[0], 1, "b"),
        draft(EU[0], 9, "c"),
        draft(US[0], 3, "c"),
    )
    assert sorted(spark.asked) == [[[9, 0, 3]], [[20, 21], [1, 0]]]


def test_groups_that_have_consumed_nothing_need_no_records(spark):
    found = entries(spark, draft(EU[0], 0), draft(EU[1], 0))
    assert [(each.verdict, each.offset) for each in found] == [(Verdict.EXACT, 0)] * 3
    assert spark.sessions == 0


def test_a_position_that_cannot_be_right_blocks_its_group_alone(spark):
    found = entries(spark, draft(EU[0], 51, "a"), draft(EU[1], 20, "a"), draft(EU[0], 20, "b"))
    assert {(each.group, each.reason) for each in found} == {("a", Reason.BEYOND_END), ("b", None)}
    assert spark.asked == [[[20, 0]]]


@pytest.mark.parametrize(
    ("counts", "partitions"),
    [
        pytest.param({"destination_counts": {}}, 2, id="at the destination"),
        pytest.param({"source_counts": {}}, 3, id="at the source"),
        pytest.param({"source_counts": {"eu": 1}}, 3, id="a partition at the source"),
    ],
)
def test_what_is_missing_blocks_all_entries(spark, counts, partitions):
    found = entries(spark, draft(EU[1], 20), given=counts)
    assert [each.partition for each in found] == ALL[:partitions]
    assert {(each.verdict, each.reason, each.offset) for each in found} == {
        (Verdict.BLOCKED, Reason.TOPIC_MISSING, None)
    }
    assert all(SourcePosition("old-g", EU[1], 20) in each.source for each in found)
    assert spark.sessions == 0


@pytest.mark.parametrize(("metadata", "kept"), [(("m", "m"), "m"), (("m", "n"), ""), (("m", ""), "")])
def test_metadata_is_kept_where_all_commits_agree(spark, metadata, kept):
    found = entries(spark, *(draft(at, 20, metadata=text) for at, text in zip(EU, metadata, strict=True)))
    assert {each.metadata for each in found} == {kept}


def test_the_evidence_says_of_which_partition_a_record_is(spark):
    spark.answers = [told(before=Copy(1, 19, 7), after=Copy(2, 30, 8))]
    evidence = entries(spark, draft(EU[0], 20), draft(US[0], 30))[0].evidence
    assert evidence.before == Copied(19, 7, NAME, EU[1])
    assert evidence.after == Copied(30, 8, NAME, US[0])


def test_what_lies_on_the_wrong_side_of_the_offset_is_no_evidence(spark):
    before, after = Copy(0, 19, 7), Copy(0, 30, 8)
    spark.answers = [told(before=before, after=after, unknown=2)]
    expired = Side([*EU, *US], 50)
    expired.starts[EU[0]] = 5
    entry = entries(spark, draft(EU[0], 2), draft(EU[1], 20), source=expired)[0]
    assert (entry.offset, entry.reason) == (2, Reason.EXPIRED)
    assert (entry.evidence.before, entry.evidence.after) == (None, Copied(30, 8, NAME, EU[0]))


def test_without_commits_all_of_a_partition_counts_as_consumed_where_the_end_is_asked_for(spark):
    spark.answers = [told(Lag(1, 45, 5))]  # of the partition without a commit: nobody waits for it
    found = entries(spark, draft(EU[0], 20), on_uncommitted="end")
    assert spark.asked == [[[20, 50]]]
    assert {(each.verdict, each.offset, each.repeats) for each in found} == {(Verdict.SAFE, 8, 5)}
    assert "5 consumed records may still come to the destination" in found[0].detail
    assert "count as consumed" in found[0].detail
    # The verification counts them as the plan has.
    assert [at.assumed for at in found[0].source] == [None, 50]


def test_what_expires_at_the_source_while_it_is_read_is_not_taken_for_destination_only(spark):
    spark.answers = [told(unknown=2)]
    expiring = Side([*EU, *US], 50)
    expiring.starts_later[EU[0]] = 25
    found = entries(spark, draft(EU[0], 20), draft(EU[1], 20), source=expiring)
    assert {(each.verdict, each.reason, each.offset) for each in found} == {(Verdict.SAFE, Reason.EXPIRED, 2)}


def test_only_what_match_on_names_was_compared(spark):
    assert entries(spark, draft(EU[0], 20), match_on=MatchOn.of(["key"]))[0].evidence.matched_by == ("key",)


def test_what_is_still_to_come_blocks_all_partitions_and_is_waited_for(spark):
    lagging = told(Lag(0, 18, 2), Lag(1, 3, 1))
    spark.answers = [lagging]
    found = entries(spark, draft(EU[0], 20), draft(EU[1], 20))
    assert {(each.reason, each.offset, each.lossless) for each in found} == {(Reason.DESTINATION_LAGS, None, 8)}
    assert (
        "3 consumed records are not at the destination; the last one, eu-0 offset 18, has not come, nor any after it"
        in found[0].detail
    )
    spark.answers = [lagging, lagging, told()]
    spark.read.clear()
    found = entries(
        spark, draft(EU[0], 20), draft(EU[1], 20), destination=Side(ALL, 100, grows=True), wait_for_replication=60
    )
    assert {(each.verdict, each.offset) for each in found} == {(Verdict.EXACT, 8)}
    # Each time, the destination was looked at before the source.
    assert spark.read == [[100] * 3, [50] * 2, [110] * 3, [50] * 2, [120] * 3, [50] * 2]


def test_waiting_ends_when_the_destination_does_not_grow(spark):
    spark.answers = [told(Lag(0, 18, 2))]
    found = entries(spark, draft(EU[0], 20), wait_for_replication=0.05)
    assert {each.reason for each in found} == {Reason.DESTINATION_LAGS}
    assert len(spark.asked) == 1


@pytest.mark.parametrize(
    ("keeps_times", "first_young", "match_on", "verdict"),
    [
        (False, None, MatchOn(), Verdict.SAFE),
        (False, 5, MatchOn(), Verdict.EXACT),
        (True, None, MatchOn(), Verdict.EXACT),
        (False, None, MatchOn.of(["key", "value"]), Verdict.EXACT),
    ],
)
def test_copies_of_an_earlier_round_are_not_those_of_what_the_source_still_has(
    spark, keeps_times, first_young, match_on, verdict
):
    """Statuses recur, and the tool was down for longer than the retention: no copy is as young as the source's records."""
    spark.answers = [told()._replace(matching=Matching(False, False), keeps_times=keeps_times)]
    source, destination = Side([*EU, *US], 50), Side(ALL, 100)
    source.starts[EU[0]] = 15
    destination.first_young = first_young
    policy = Policy(with_timestamp=match_on.timestamp)
    sides = {"source": source, "destination": destination, "policy": policy, "match_on": match_on}
    found = entries(spark, draft(EU[0], 20), draft(EU[1], 20), **sides)
    assert {(each.verdict, each.offset, each.repeats) for each in found} == {
        (verdict, 8, None if verdict is Verdict.SAFE else 0)
    }


@pytest.mark.parametrize(("younger", "offset", "reason"), [({}, 8, None), ({6: 99}, 5, Reason.SOURCE_LOST_RECORDS)])
def test_what_lies_between_the_two_copies_is_read_where_the_source_has_lost_records(spark, younger, offset, reason):
    """Records as old as the first unconsumed one have expired with those that were consumed; younger ones cannot have."""
    counts = told()
    answer = counts.answers[0]._replace(offset=5, last_consumed=4)
    spark.answers = [counts._replace(answers=(answer,) * 3)]
    source, destination = Side([*EU, *US], 50), Side(ALL, 100)
    source.starts[EU[1]] = 2
    destination.younger = younger
    found = entries(spark, draft(EU[0], 20), draft(EU[1], 20), source=source, destination=destination)
    assert {(each.offset, each.reason) for each in found} == {(offset, reason)}
    assert destination.logs[ALL[0]].read == [(4, 9)]  # with the two copies, as evidence


def test_more_between_the_two_copies_than_the_limit_is_not_read(spark):
    counts = told()
    answer = counts.answers[0]._replace(first_wanted=9000)
    spark.answers = [counts._replace(answers=(answer,) * 3)]
    source, destination = Side([*EU, *US], 50), Side(ALL, 10_000)
    source.starts[EU[1]] = 2
    wanted = {"source": source, "destination": destination, "policy": Policy(search_limit=8000)}
    found = entries(spark, draft(EU[0], 20), draft(EU[1], 20), **wanted)
    assert {(each.offset, each.reason) for each in found} == {(8, Reason.SOURCE_LOST_RECORDS)}
    assert all("search_limit" in each.detail for each in found)
    assert destination.logs[ALL[0]].read == [(7, 8), (9000, 9001)]  # as evidence


@pytest.mark.parametrize(("known", "due"), [(True, None), (False, 15)])
def test_where_no_record_is_known_unconsumed_ones_are_looked_for_by_time(spark, known, due):
    """The tool changes values, or this is another topic: what is as young as an unconsumed record may be its copy."""
    counts = told(unknown=2)
    if not known:
        answer = counts.answers[0]._replace(offset=0, last_consumed=None, first_wanted=None)
        counts = counts._replace(answers=(answer,) * 3)
    spark.answers = [counts]
    source, destination = Side([*EU, *US], 50), Side(ALL, 100)
    for at in EU:
        source.starts[at] = 15
    source.retention_ms = 1000
    found = entries(
        spark, draft(EU[0], 15), draft(EU[1], 20), source=source, destination=destination, policy=Policy(now=9999)
    )
    assert {(each.offset, each.reason) for each in found} == {(8, None) if known else (5, Reason.CAUGHT_UP)}
    assert list(destination.logs[ALL[0]].lookups) == ([] if known else [due])


def test_a_fault_of_the_rule_blocks_the_group_that_it_concerns(spark, monkeypatch):
    def faulty(*_args):
        raise IndexError("7 of a record")

    monkeypatch.setattr(use_case, "decide_merged", faulty)
    spark.answers = [told()]
    found = entries(spark, draft(EU[0], 20), draft(EU[1], 20))
    assert {(each.verdict, each.reason, each.offset) for each in found} == {
        (Verdict.BLOCKED, Reason.INTERNAL_ERROR, None)
    }
    assert "IndexError at" in found[0].detail
    assert "committed 20, 20;" in found[0].detail
    assert "7 of a record" not in found[0].detail


def test_a_source_partition_that_was_cut_off_blocks_every_partition_of_the_group(spark):
    found = entries(spark, draft(EU[0], 20), draft(US[0], 30), given={"cut": {("old-g", US[0]): "cut off"}})
    assert [(each.offset, each.reason, each.detail) for each in found] == [(None, Reason.BEYOND_END, "cut off")] * 3
    assert not spark.asked
