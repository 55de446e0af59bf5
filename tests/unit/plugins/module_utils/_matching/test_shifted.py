"""A noted difference of offsets settles long logs without timestamps, and is not believed where it does not hold."""

import dataclasses
import itertools
import random

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching import shifted
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Log, Need, Policy, Question
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Copied, Reason, Verdict, Way
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.build import log, run
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.driver import FullLog, settle
from tests.attack.broker import serve
from tests.attack.judge import FAULTS, judge
from tests.attack.rule import by_notes
from tests.attack.worlds import world

LONG = 3000
SHORT_OF_MONEY = Policy(search_limit=1000)


def copied(line: str, *, start: int = 0) -> FullLog:
    """A destination that has put its own time on all records."""
    return log(line, start=start, stamped=True)


SOURCE = log(run(0, LONG))


@pytest.mark.parametrize("committed", [1, 700, 1500, LONG - 1, LONG])
def test_a_true_difference_settles_a_long_log_by_reading_little(committed):
    destination = copied(run(0, LONG), start=50)
    decision, _rounds, records_read = settle(committed, SOURCE, destination, SHORT_OF_MONEY, (-50,))
    assert (decision.verdict, decision.offset, decision.repeats) == (Verdict.EXACT, committed + 50, 0)
    assert decision.way is Way.DIFFERENCE
    assert records_read < 250
    assert settle(committed, SOURCE, destination, SHORT_OF_MONEY).decision.reason is Reason.SEARCH_BUDGET_SPENT


def test_records_of_one_moment_are_settled_as_well():
    line = " ".join(f"r{number}@0" for number in range(LONG))
    source, destination = log(line), log(f"junk@0 {line}")
    assert settle(2000, source, destination, SHORT_OF_MONEY).decision.reason is Reason.SEARCH_BUDGET_SPENT
    # What was there before the copies is not the source's, so as many offsets do not lie in between.
    assert settle(2000, source, destination, SHORT_OF_MONEY, (-1,)).decision.offset is None
    assert settle(2000, source, log(line), SHORT_OF_MONEY, (0,)).decision.offset == 2000


@pytest.mark.parametrize(
    ("line", "shift"),
    [
        pytest.param(run(0, LONG), 3, id="wrong"),
        pytest.param(f"{run(0, LONG)} {run(0, LONG)}", -LONG, id="of a second copy"),
        pytest.param(f"{run(0, 1000)} {run(400, LONG)}", -600, id="begun again before"),
        pytest.param(f"{run(0, 2500)} {run(2000, LONG)}", 0, id="begun again after the end"),
        pytest.param(f"{run(0, 1000)} junk {run(1000, LONG)}", -1, id="foreign records"),
        pytest.param(run(0, 1000) + " - " + run(1000, LONG), 0, id="a marker"),
    ],
)
def test_what_does_not_hold_everywhere_is_not_believed(line, shift):
    decision = settle(1500, SOURCE, copied(line), SHORT_OF_MONEY, (shift,)).decision
    assert (decision.verdict, decision.reason) == (Verdict.BLOCKED, Reason.SEARCH_BUDGET_SPENT)


def test_a_wrong_one_does_not_keep_a_right_one_from_being_tried():
    assert settle(1500, SOURCE, copied(run(0, LONG)), SHORT_OF_MONEY, (7, 0)).decision.offset == 1500


def test_equal_records_prove_nothing():
    line = " ".join(["a@0"] * LONG)
    assert settle(1500, log(line), copied(line), SHORT_OF_MONEY, (0,)).decision.offset is None


def test_a_replication_tool_that_lags_is_seen():
    decision = settle(1500, SOURCE, copied(run(0, 1400)), SHORT_OF_MONEY, (0,)).decision
    assert (decision.reason, decision.lossless_offset) == (Reason.DESTINATION_LAGS, 1400)


def test_no_log_breaks_a_promise(monkeypatch):
    """Random logs without timestamps, and the differences of some of their true copies; short logs, so few are compared."""
    monkeypatch.setattr(shifted, "WIDTHS", (3, 6, 12))
    believed = 0
    for name, seed in itertools.product(("plain", "mixed", "strangers", "again", "lag"), range(50)):
        chance = random.Random(seed)
        for its in world(name, seed).cases:
            copies = [each for each in its.destination if each.origin is not None]
            some = chance.choices(copies, k=4) if copies else []
            shifts = tuple({(each.origin or 0) - each.offset for each in some})
            for search_limit in (100_000, 0):
                options = dataclasses.replace(its.options, with_timestamp=False, search_limit=search_limit)
                case = dataclasses.replace(its, options=options)
                answer = by_notes(case, shifts)
                found = [each for each in judge(case, "", answer) if each.kind in {*FAULTS} - {"to come"}]
                assert not found, f"{name}, {seed}, {shifts}: {case}"
                believed += answer.verdict == "exact" and not search_limit
    assert believed > 25


@pytest.mark.parametrize("wrong", [5, -5, 10])
@pytest.mark.parametrize("after", [0, 20])
def test_values_that_come_again_and_again_do_not_make_a_wrong_difference_right(wrong, after):
    """Every fifth record says the same; the first ones have expired, and the last are still to be copied."""
    words = [f"{'abcde'[number % 5]}@{number}" for number in range(2000)]
    source, destination = log(" ".join(words[10:]), start=10), copied(" ".join(words[10 : 2000 - after]))
    decision = settle(1200, source, destination, SHORT_OF_MONEY, (10 + wrong,)).decision
    assert decision.offset is None, decision
    # Nor is the right one believed.
    assert settle(1200, source, destination, SHORT_OF_MONEY, (10,)).decision.offset is None


def on(source: FullLog, destination: FullLog, anchor: Copied, timestamp: bool = False) -> bool:
    question = Question(0, Log(source.facts), Log(destination.facts))
    while isinstance(answer := shifted.goes_on(question, anchor, timestamp), Need):
        serve(answer, question, source, destination)
    return answer


ANCHOR = Copied(1000, 1050, b"r1000".hex())


@pytest.mark.parametrize(
    ("line", "same"),
    [
        pytest.param(run(0, 2000), True, id="as it was"),
        pytest.param(run(0, LONG), True, id="more has come"),
        pytest.param(f"{run(0, 2000)} {run(500, 900)}", False, id="begun again"),
        pytest.param(run(100, 2100), False, id="recreated"),
        pytest.param(run(0, 900), False, id="truncated"),
    ],
)
def test_what_was_proved_holds_as_long_as_the_logs_go_on_alike(line, same):
    assert on(SOURCE, copied(line, start=50), ANCHOR) is same


@pytest.mark.parametrize(
    ("source", "copies", "same"),
    [
        pytest.param(run(1500, LONG), run(0, 2000), True, id="expired"),
        pytest.param(run(1500, LONG), f"{run(0, 2000)} {run(500, 900)}", False, id="begun again"),
        pytest.param(run(1500, LONG), run(100, 2100), False, id="another destination"),
        pytest.param(run(1501, LONG), run(0, 2000), False, id="another source"),
        pytest.param(run(2000, LONG), run(0, 2000), True, id="just all that was copied has expired"),
        pytest.param(run(2000, LONG), f"{run(0, 1995)} {run(500, 506)}", False, id="the same, and begun again"),
        pytest.param(run(2000, LONG), run(100, 2100), False, id="the same, and another destination"),
        pytest.param(run(2000, LONG), run(0, 1999), False, id="more has expired than was copied"),
    ],
)
def test_the_copy_says_so_where_the_record_has_expired(source, copies, same):
    start = 2000 if source.startswith("r2000") else 1500
    assert on(log(source, start=start), copied(copies, start=50), ANCHOR) is same


@pytest.mark.parametrize(("again", "same"), [((1200, 1600), False), ((1600, 2000), True)])
def test_second_copies_show_where_just_as_much_has_expired_as_was_written(again, same):
    copies, source = ([f"r{at}@{at}" for at in range(*places)] for places in ((0, 2000), (2000, LONG)))
    destination = log(" ".join(copies[:1600] + copies[slice(*again)]))
    assert on(log(" ".join(source), start=2000), destination, Copied(1000, 1000, b"r1000".hex())) is same


def test_a_source_that_was_recreated_is_another_one():
    assert on(log(run(5, LONG)), copied(run(0, 2000), start=50), ANCHOR) is False


def test_a_replication_tool_that_began_again_is_seen_by_the_times_of_values_that_come_again_and_again():
    words = [f"{'abcde'[number % 5]}@{number}" for number in range(120)]
    source, destination = log(" ".join(words)), words[:100] + words[90:110]
    anchor = Copied(95, 95, b"a".hex())
    assert on(source, log(" ".join(words[:110])), anchor, True) is True
    assert on(source, log(" ".join(destination)), anchor, True) is False
    assert on(log(" ".join(words + words[:5])), copied(" ".join(destination)), anchor) is False
