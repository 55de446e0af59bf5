"""What shows that a lagging replication tool has come as far as the group: only the copy of an unconsumed record does."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import LogFacts
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.build import log, run
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.driver import FullLog, settle
from tests.attack import rule
from tests.attack.case import parse
from tests.attack.judge import judge
from tests.attack.ways import answers

LAGS = {
    "a copy of an equal record that has expired": "S x@0(gone) a@10 x@50 T x@0<0 F a@10<1 x@50<2 C=2",
    "the same, stamped by the broker": "S x@0(gone) a@10 x@50 T x@999(L)<0 F a@999(L)<1 x@999(L)<2 C=2",
    "the same, without times": "S x@-(gone) a@- x@- T x@-<0 F a@-<1 x@-<2 C=2",
    "the same of several": "S x@-(gone) a@- x@- x@- T x@-<0 F a@-<1 x@-<2 x@-<3 C=2",
    "a record that was copied twice": "S a@1 b@2 a@1 C=2 T a@1<0 a@1<0 F b@2<1 a@1<2",
    "one of equal records, the last of which is consumed": "S c@0 p4@0 c@0 T c@0<0 c@0<0 F p4@0<1 c@0<2 C=3",
    "a destination-only record": "S b@0 a@10 x@50 T x@9 F b@0<0 a@10<1 x@50<2 C=2",
}


@pytest.mark.parametrize("text", LAGS.values(), ids=LAGS)
@pytest.mark.parametrize("way", [rule.near, rule.whole, lambda case: rule.count_by_spark([case])[0]])
def test_a_record_of_another_time_is_no_arrival(way, text: str) -> None:
    case = parse(text)
    assert judge(case, "", way(case)) == []


@pytest.mark.parametrize("way", [rule.near, rule.whole, rule.count, lambda case: rule.count_by_spark([case])[0]])
def test_a_stamped_copy_of_the_only_record_of_its_content_is_its_arrival_unless_equal_ones_may_be_lost(way) -> None:
    assert way(parse("S b@0 c@10 T c@99(L)<1 C=2"))[:3] == ("exact", 1, 0)
    lossy = parse("S x@0(gone) b@10 c@20 T c@99(L)<2 C=3")
    assert way(lossy)[0] == "safe"


ADVISED = {
    "no times, and a destination-only record with one": "S 0:a@- 1:a@- T 0:a@-<1 1:a@=0 C=1 compacted=True",
    "times that the tool has made equal": "S 0:a@0 1:c@0 2:a@2 3:e@2 4:b@4 5:a@6 6:c@6 7:c@6 8:a@6 "
    "T 0:a@0<0 1:c@0<1 2:a@0<2 3:e@0<3 4:b@0<4 5:a@0<5 6:c@0<6 7:c@0<7 8:a@0<8 C=3 append_time=True scaled=1",
    "a noted difference, and an equal record": "S p@0 c@0 c@0 c@1 c@2 T p@0<0 c@1<3 C=3 append_time=True scaled=1",
}


@pytest.mark.parametrize("text", ADVISED.values(), ids=ADVISED)
def test_no_offset_is_advised_that_loses_a_record(text: str) -> None:
    _given, found = answers(parse(text), ("near", "notes"))
    assert found == []


@pytest.mark.parametrize("stamped", [False, True])
@pytest.mark.parametrize("way", [rule.near, rule.whole, lambda case: rule.count_by_spark([case])[0]])
def test_a_record_is_repeated_once_whether_it_is_there_or_still_to_come(way, stamped: bool) -> None:
    """The copies may be those of lost records; then the consumed ones are still to come, and these copies are no repeats."""
    time = "@99(L)" if stamped else "@-"
    copies = " ".join(f"{content}{time}<{at}" for at, content in enumerate("xbpqr"))
    answer = way(parse(f"S x@-(gone) b@- p@- q@- r@- b@- z@- T {copies} F b{time}<5 z{time}<6 C=4"))
    assert (answer.verdict, answer.repeats) == ("safe", 3)


@pytest.mark.parametrize("time", ["@-", "@99(L)"])
@pytest.mark.parametrize("way", [rule.near, rule.whole])
def test_a_copy_of_what_compaction_has_taken_is_no_arrival(way, time: str) -> None:
    copies = f"k{time}<0 a{time}<1 F k{time}<2 z{time}<3"
    answer = way(parse(f"S 0:k@-(gone) 1:a@- 2:k@- 3:z@- T {copies} C=3 compacted=True start=0"))
    assert (answer.verdict, answer.offset, answer.reason) == ("safe", 2, "destination_lags")


@pytest.mark.parametrize("way", [rule.near, rule.whole])
def test_who_knows_that_the_tool_changes_times_is_told_how_to_say_so(way) -> None:
    """The destination has deleted consumed and unconsumed records, and no time shows that the rest are copies."""
    source = " ".join(f"r{at}@{at}" for at in range(10))
    text = f"S {source} T {' '.join(f'r{at}@{900 + at}<{at}' for at in range(6, 10))} C=4"
    unsure = way(parse(text))
    assert unsure[:4] == ("safe", 0, 4, "destination_lags")
    assert "leave timestamp out of match_on" in unsure.decision.detail
    assert way(parse(f"{text} with_timestamp=False"))[:3] == ("exact", 0, 0)
    lossy = way(parse(text.replace("r0@0", "r0@0(gone)")))
    assert lossy.repeats == 3 and "match_on" not in lossy.decision.detail


class EmptiedSegment(FullLog):
    """A compacted log whose first segment has lost all records, but not the time of its file: it hides all later ones."""

    def lookup(self, timestamp: int) -> int | None:
        """As a broker answers that searches this segment alone."""
        return None


@pytest.mark.parametrize("committed", [500, 480, 300])
def test_a_look_up_that_an_emptied_segment_answers_skips_nothing(committed: int) -> None:
    # The tool has copied 0 to 799, has begun anew, and has come to 499. Compaction has taken the first copies of 0 to 499.
    source = log(run(0, 800))
    order = [*range(500, 800), *range(500)]
    copies = [source.records[number]._replace(offset=500 + at) for at, number in enumerate(order)]
    destination = EmptiedSegment(LogFacts(0, 1300, 1300, compacted=True), copies)
    decision = settle(committed, source, destination).decision
    assert (decision.verdict, decision.offset) == (Verdict.SAFE, 500)
    assert decision.repeats == committed


@pytest.mark.parametrize("start", [0, 1], ids=["the source has lost nothing", "the source has lost a record"])
def test_copies_with_other_times_are_known_by_those_around_them_though_the_tool_began_late(start: int) -> None:
    copies = " ".join(f"r{number}@{9000 + number}" for number in range(20, 40))
    decision = settle(30, log(run(start, 40), start=start), log(copies)).decision
    assert (decision.verdict, decision.offset) == (Verdict.EXACT, 10)


@pytest.mark.parametrize("start", [0, 50], ids=["the source has lost nothing", "the source has lost records"])
def test_what_a_producer_writes_to_both_clusters_does_not_show_how_far_a_tool_has_come_that_keeps_times(
    start: int,
) -> None:
    copies = " ".join([run(0, 500), *(f"r{number}@{9000 + number}" for number in range(600, 1000))])
    decision = settle(700, log(run(start, 1000), start=start), log(copies)).decision
    assert decision.verdict is Verdict.SAFE and (decision.repeats or 0) >= 100


def test_stamped_copies_are_known_by_those_around_them_though_a_recurring_record_is_consumed_last() -> None:
    copied = "h " + run(0, 90) + " h"
    filtered = " ".join(word for word in copied.split() if word not in ("r20", "r40"))
    decision = settle(92, log(copied + " " + run(90, 100)), log(filtered, stamped=True)).decision
    assert (decision.verdict, decision.offset) == (Verdict.EXACT, 90)


class TestOpenTransaction:
    """One is open at the destination, and hides what the tool has copied."""

    SAID = "a transaction that is open at the destination hides {} from {} on, which may be copies of consumed records"

    @pytest.mark.parametrize("length", [20, 600])
    def test_it_is_named_beside_retention(self, length: int) -> None:
        decision = settle(10, log(run(0, length)), log("", start=500, high_watermark=520)).decision
        assert decision.reason is Reason.DESTINATION_LAGS
        assert self.SAID.format("20 offsets", 500) in decision.detail
        assert "empty" not in decision.detail
        assert (
            "nor any after it that can be told from consumed ones; the destination's log starts at offset 500: reten"
            in (decision.detail)
        )

    def test_it_is_named_alone_where_nothing_was_deleted(self) -> None:
        decision = settle(10, log(run(0, 20)), log("", high_watermark=20)).decision
        assert self.SAID.format("20 offsets", 0) in decision.detail and "deleted" not in decision.detail

    @pytest.mark.parametrize(("hidden", "named"), [(299, False), (300, True)])
    def test_it_is_not_named_where_it_cannot_hide_what_is_to_come(self, hidden: int, named: bool) -> None:
        """Of 600 offsets that are to come, every other one may be a marker."""
        decision = settle(900, log(run(0, 1000)), log(run(0, 300), high_watermark=300 + hidden)).decision
        assert (decision.reason, decision.to_come) == (Reason.DESTINATION_LAGS, 600)
        assert ("transaction" in decision.detail) is named

    @pytest.mark.parametrize("text", ["S a@- a@- T a@-<0 C=2", "S b@1 a@5 a@5 T b@1<0 a@5<1 F a@5<2 C=3"])
    def test_none_is_named_where_equal_records_have_come_and_none_is_open(self, text: str) -> None:
        decision = rule.near(parse(text)).decision
        assert (decision.reason, decision.to_come) == (Reason.DESTINATION_LAGS, 1)
        assert "transaction" not in decision.detail

    def test_it_is_named_where_a_part_is_visible(self) -> None:
        decision = settle(50, log(run(0, 100)), log(run(0, 30), high_watermark=100)).decision
        assert (decision.reason, decision.lossless_offset) == (Reason.DESTINATION_LAGS, 30)
        assert self.SAID.format("70 offsets", 30) in decision.detail

    def test_it_may_hide_copies_of_consumed_records_that_have_expired(self) -> None:
        decision = settle(100, log("", start=100), log("", high_watermark=60)).decision
        assert (decision.verdict, decision.offset, decision.reason) == (Verdict.SAFE, 0, Reason.CAUGHT_UP)
        assert self.SAID.format("60 offsets", 0) in decision.detail and "is empty" not in decision.detail

    @pytest.mark.parametrize(("length", "named"), [(20, False), (21, True)])
    def test_where_nothing_was_consumed_retention_is_named_unless_all_may_be_hidden(
        self, length: int, named: bool
    ) -> None:
        decision = settle(0, log(run(0, length)), log("", start=500, high_watermark=520)).decision
        assert decision.verdict is Verdict.EXACT
        assert ("the destination's log starts at offset 500" in decision.detail) is named

    @pytest.mark.parametrize("committed", [10, 19])
    def test_what_is_proved_without_it_stays_exact(self, committed: int) -> None:
        decision = settle(committed, log(run(0, 40)), log(run(0, 20), high_watermark=60)).decision
        assert (decision.verdict, decision.offset, decision.detail) == (Verdict.EXACT, committed, "")
