"""The fault suite sees harm where there is some: else its zeros would say nothing."""

import pytest

from testbed.clients import Stored
from tests.faults import judge
from tests.faults.suffering import unclear
from tests.faults.tally import Tally

WANTED = [Stored(0, 10 + number, 5, None, b"%d" % number, ()) for number in range(6)]


def copies(*numbers):
    """What is at the destination, by the numbers of the wanted records; None is a record of nobody's."""
    values = [b"foreign" if number is None else WANTED[number].value for number in numbers]
    return [Stored(0, at, 5, None, value, ()) for at, value in enumerate(values)]


@pytest.mark.parametrize(
    ("there", "complete", "harm"),
    [
        ([0, 1, 2, 3, 4, 5], True, (0, 0, 0)),
        ([0, 1, 2], False, (0, 0, 0)),
        ([], False, (0, 0, 0)),
        ([0, 1, 2], True, (3, 0, 0)),
        ([0, 2], False, (1, 0, 0)),
        ([0, 1, 2, 1, 2, 3, 4, 5], True, (0, 2, 0)),
        ([0, 2, 1, 3, 4, 5], True, (0, 0, 1)),
        ([0, 1, None, 2, 3, 4, 5], True, (0, 0, 1)),
    ],
)
def test_records_of_a_copy(monkeypatch, there, complete, harm):
    monkeypatch.setattr(judge, "read", lambda _cluster, _topic: copies(*there))
    found = judge.records(None, "orders", {0: WANTED}, complete=complete)
    assert found[:3] == harm and bool(found.example) == any(harm)


@pytest.mark.parametrize(
    ("stands", "mixed", "is_right"),
    [
        ({0: 7, 1: 8}, False, True),
        ({}, False, True),
        ({0: 7}, False, False),
        ({0: 7}, True, True),
        ({0: 7, 1: 9}, True, False),
        ({0: 7, 1: 8, 2: 0}, True, False),
    ],
)
def test_where_a_group_stands(monkeypatch, stands, mixed, is_right):
    commits = {("orders", partition): (offset, "") for partition, offset in stands.items()}
    monkeypatch.setattr(judge, "committed", lambda _cluster, _group: commits)
    harm = judge.standing(None, "orders", "billing", [{}, {0: 7, 1: 8}], mixed=mixed)
    assert bool(harm) is not is_right


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        ({"msg": "cluster b:1: no answer.", "failure": {"kind": "connection_failed", "cluster": "cluster b:1"}}, None),
        ({"msg": "KeyError: 1", "exception": "Traceback"}, "a traceback"),
        ({"msg": "a\nb", "failure": {"kind": "broker_refused", "cluster": "a"}}, "not one line"),
        ({"msg": "no answer.", "failure": {"kind": "connection_failed", "cluster": None}}, "no cluster is named"),
        ({"msg": "c: missing.", "failure": {"kind": "not_found", "cluster": "c"}}, "not what has happened (not_found)"),
    ],
)
def test_messages(result, problem):
    assert unclear(result) == problem


def test_a_violation_names_the_seed_and_is_in_the_table():
    said = []
    tally = Tally(said.append)
    fault = tally.fault("module killed", "copy", 17)
    tally.came([fault], "mended by re-run")
    tally.violated([fault], "doubled", "2: source offset 5", 17, "copy", 2)
    assert "SEED=17" in said[-1] and tally.violations == said[-1:]
    assert "| module killed | copy | 1 | 0 | 0 | 1 | 0 | 2 | 0 | 0 | 0 | 0 |" in tally.table()
