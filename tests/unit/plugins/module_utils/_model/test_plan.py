"""Plan files."""

import dataclasses
import json
import random

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidFile
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import (
    Evidence,
    Plan,
    PlanEntry,
    SourcePosition,
    from_json,
    to_json,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.record_sum import Bound
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Absent, Copied, Reason, Verdict


def entry(verdict: Verdict = Verdict.EXACT, offset: int | None = 7, partition: int = 0, **more: object) -> PlanEntry:
    source = (SourcePosition("billing", TopicPartition("orders", partition), 41),)
    return PlanEntry("billing", TopicPartition("orders", partition), offset, verdict, source, **more)  # type: ignore[arg-type]


PLAN = Plan(
    "source-id",
    "destination-id",
    "digest",
    (
        entry(
            metadata='of "a,\n€"',
            repeats=0,
            evidence=Evidence(Copied(40, 6, "ab" * 16), Copied(41, 7, "cd" * 16), ("key", "value", "timestamp")),
            expected=CommittedOffset(3, "mm2", 2),
        ),
        entry(Verdict.SAFE, 7, 1, reason=Reason.EQUAL_RECORDS, repeats=2, detail="two are equal"),
        entry(Verdict.SAFE, 7, 2, reason=Reason.TAIL_NOT_COUNTED, repeats=None),
        entry(Verdict.BLOCKED, None, 3, reason=Reason.DESTINATION_LAGS, detail="wait", lossless=5),
        dataclasses.replace(
            entry(Verdict.UNCOMMITTED, None, 4), source=(SourcePosition("billing", TopicPartition("orders", 4), None),)
        ),
        dataclasses.replace(
            entry(
                Verdict.REQUESTED,
                0,
                5,
                leader_epoch=4,
                predicted=True,
                absent=Absent(3, 7, exactly=False),
                lost=2,
                lost_bound=Bound.AT_MOST,
                chosen=Reason.EXPIRED,
            ),
            source=(SourcePosition("billing", TopicPartition("orders", 5), None),),
        ),
        dataclasses.replace(
            entry(Verdict.SAFE, 7, 6, reason=Reason.REPARTITIONED, repeats=1),
            source=(
                SourcePosition("billing", TopicPartition("orders-eu", 0), 41),
                SourcePosition("billing", TopicPartition("orders-us", 0), None),
            ),
            evidence=Evidence(None, Copied(41, 7, "cd" * 16, TopicPartition("orders-eu", 0)), ("key", "value")),
        ),
    ),
)


def test_everything_comes_back():
    both_ways = dataclasses.replace(PLAN, own_prefix="cloud.")
    for plan in (PLAN, both_ways):
        assert from_json(to_json(plan), "plan.json") == plan


def test_entries_are_sorted_and_have_a_line_each():
    shuffled = dataclasses.replace(PLAN, entries=tuple(random.Random(1).sample(PLAN.entries, len(PLAN.entries))))
    assert to_json(shuffled) == to_json(PLAN)
    rows = [json.loads(line.rstrip(",")) for line in to_json(PLAN).splitlines()[1:-1]]
    assert [row["partition"] for row in rows] == list(range(7))


def test_only_proved_and_requested_entries_have_something_to_commit():
    targets = [each.target for each in PLAN.entries]
    assert targets == [
        CommittedOffset(7, 'of "a,\n€"'),
        CommittedOffset(7),
        CommittedOffset(7),
        None,
        None,
        CommittedOffset(0, "", 4),
        CommittedOffset(7),
    ]


def asked_for(*source: tuple[str, int | None], clusters: tuple[str, str] = ("a", "b"), group: str = "billing") -> Plan:
    """A plan with one requested entry. source: groups and what they have committed."""
    orders = TopicPartition("orders", 0)
    positions = tuple(SourcePosition(name, orders, offset) for name, offset in source)
    return Plan(*clusters, "digest", (PlanEntry(group, orders, 35, Verdict.REQUESTED, positions),))


@pytest.mark.parametrize(
    "plan",
    [
        asked_for(("billing", None)),  # on_uncommitted
        asked_for(("billing", None), ("shipping", None)),
        asked_for(("billing", 50), ("shipping", 41)),  # on_conflict: highest
        asked_for(("billing", 50), ("shipping", None)),
        asked_for(("billing", 50), clusters=("a", "a")),  # a reset
        asked_for(("billing", None), clusters=("a", "a")),
    ],
)
def test_what_an_option_has_asked_for_comes_back(plan):
    assert from_json(to_json(plan), "plan.json") == plan


@pytest.mark.parametrize(
    "plan",
    [
        asked_for(("billing", 50)),
        asked_for(("billing", 50), ("shipping", 50)),  # what counts for both of them is found by records
        asked_for(("billing", 50), ("billing", 41)),  # topics that are merged have no other groups
        asked_for(("billing", 50), clusters=("a", "a"), group="clone"),
    ],
)
def test_what_no_option_asks_for_is_refused_because_nothing_would_verify_it(plan):
    with pytest.raises(
        InvalidFile, match="entry 1: verdict requested needs a group without a committed offset"
    ) as caught:
        from_json(to_json(plan), "plan.json")
    assert caught.value.remedy == "correct what was edited, or remove it and let the plan be made again"


@pytest.mark.parametrize(("lost", "row"), [(0, {}), (20, {"lost": 20}), (None, {"lost": None})])
def test_only_entries_of_which_records_are_lost_say_so(lost, row):
    plan = dataclasses.replace(PLAN, entries=(dataclasses.replace(PLAN.entries[1], lost=lost),))
    text = to_json(plan)
    assert {key: value for key, value in json.loads(text)["entries"][0].items() if key == "lost"} == row
    assert from_json(text, "plan.json") == plan


def test_only_entries_that_are_predicted_say_so():
    rows = json.loads(to_json(PLAN))["entries"]
    assert [row["partition"] for row in rows if "predicted" in row] == [5]
