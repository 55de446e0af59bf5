"""The demo's table is only worth something if its counting is right."""

import pytest

from demo import proof
from demo.proof import Outcome, contradicted, outcome

SOURCE = list(enumerate([b"a", b"b", b"c", b"d"], start=10))
COPY = list(enumerate([b"a", b"b", b"c", b"d"]))
HERE = ("t", 0)


def judge(source, committed, destination, start):
    return proof.judge({HERE: source}, {HERE: committed}, {HERE: destination}, {HERE: start})


@pytest.mark.parametrize(("start", "repeats", "losses"), [(0, 2, 0), (1, 1, 0), (2, 0, 0), (3, 0, 1), (4, 0, 2)])
def test_what_a_start_repeats_or_loses(start, repeats, losses):
    assert judge(SOURCE, 12, COPY, start) == Outcome(consumed=2, repeats=repeats, losses=losses)


def test_a_record_copied_again_after_the_start_is_a_repeat():
    again = [*COPY, (4, b"b")]
    assert judge(SOURCE, 12, again, 2).repeats == 1


def test_records_that_are_not_copied_yet_are_not_lost():
    assert judge(SOURCE, 12, COPY[:3], 3) == Outcome(consumed=2, losses=1)
    assert judge(SOURCE, 13, COPY[:3], 3) == Outcome(consumed=3)


def test_a_whole_second_copy_can_be_passed_to():
    assert judge(SOURCE, 12, [*COPY, *((4 + at, content) for at, content in COPY)], 6) == Outcome(consumed=2)


def test_equal_records_are_counted():
    source = [(0, b"x"), (1, b"x"), (2, b"x"), (3, b"y")]
    assert judge(source, 2, source, 1) == Outcome(consumed=2, repeats=1)
    assert judge(source, 2, source, 2) == Outcome(consumed=2)
    assert judge(source, 2, source, 3) == Outcome(consumed=2, losses=1)


def test_a_group_without_a_commit_starts_at_the_beginning():
    logs = {("t", 0): SOURCE, ("t", 1): SOURCE}
    copies = {("t", 0): COPY, ("t", 1): COPY}
    counted = outcome({("t", 0): (12, ""), ("t", 1): (13, "")}, {("t", 0): (2, "")}, logs, copies)
    assert counted == Outcome(consumed=5, repeats=3, entries=2, missing=1)


def test_a_repartitioned_topic_is_one_for_its_group():
    logs = {("t", 0): SOURCE[:2], ("t", 1): SOURCE[2:]}
    copies = {("t", 0): [(0, b"a"), (1, b"c")], ("t", 1): [(0, b"d")], ("t", 2): [(0, b"b")]}
    commits = {("t", 0): (11, ""), ("t", 1): (12, "")}  # a is consumed
    at_destination = {("t", 0): (1, ""), ("t", 1): (0, ""), ("t", 2): (0, "")}
    assert outcome(commits, at_destination, logs, copies, ["t"]) == Outcome(consumed=1, entries=3)
    late = {**at_destination, ("t", 2): (1, "")}
    assert outcome(commits, late, logs, copies, ["t"]) == Outcome(consumed=1, losses=1, entries=3)
    source = [{"topic": "t", "partition": at, "offset": 11 + at} for at in (0, 1)]
    plan = [
        {
            "group": "g",
            "topic": "t",
            "partition": at,
            "source": source,
            "offset": offset,
            "verdict": "safe",
            "repeats": 0,
        }
        for (_topic, at), (offset, _metadata) in at_destination.items()
    ]
    assert contradicted(plan, logs, copies, ["t"]) == []
    assert contradicted([*plan[:2], plan[2] | {"offset": 1}], logs, copies, ["t"]) != []


@pytest.mark.parametrize(
    ("verdict", "repeats", "offset", "wrong"),
    [
        ("exact", 0, 2, False),
        ("exact", 0, 1, True),
        ("exact", 0, 3, True),
        ("safe", 1, 1, False),
        ("safe", 1, 0, True),
        ("safe", None, 0, False),
        ("safe", None, 3, True),
    ],
)
def test_a_verdict_is_held_against_the_records(verdict, repeats, offset, wrong):
    entry = {
        "group": "g",
        "topic": "t",
        "partition": 0,
        "source": [{"topic": "t", "partition": 0, "offset": 12}],
        "offset": offset,
        "verdict": verdict,
        "repeats": repeats,
    }
    assert contradicted([entry], {("t", 0): SOURCE}, {("t", 0): COPY}) == ([entry] if wrong else [])
