"""Lines of progress are few, and read well."""

import time

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.progress import (
    counted,
    first_of,
    paced,
    repeating,
)


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (0, "record", "0 records"),
        (1, "entry", "1 entry"),
        (2, "entry", "2 entries"),
        (74, "key", "74 keys"),
        (2000000, "record", "2,000,000 records"),
    ],
)
def test_numbers_are_told_as_people_write_them(number, noun, text):
    assert counted(number, noun) == text


@pytest.mark.parametrize(("most", "text"), [(3, "a, b, c"), (2, "a, b and 1 more"), (1, "a and 2 more")])
def test_of_many_names_the_first_are_told(most, text):
    assert first_of(["a", "b", "c"], most) == text


def test_of_many_clauses_the_number_of_the_others_is_a_clause_of_its_own():
    assert (
        first_of(["it is gone", "it is empty", "it is full"], 2, between="; ") == "it is gone; it is empty; and 1 more"
    )
    assert first_of(["it is gone", "it is empty"], 2, between="; ") == "it is gone; it is empty"


def test_lines_that_come_too_soon_are_left_out(monkeypatch):
    now, said = 100.0, []
    monkeypatch.setattr(time, "monotonic", lambda: now)
    say = paced(said.append, 5)
    for now in (100.0, 104.9, 105.0, 107.0, 111.0):
        say(f"at {now:.0f}")
    assert said == ["at 100", "at 105", "at 111"]


def test_a_line_is_repeated_where_nothing_else_is_said():
    said = []
    with repeating(said.append, 0.05) as say:
        say("reading")
        while len(said) < 2:
            time.sleep(0.01)
        say("done")
    assert said[0] == "reading"
    assert said[1].startswith("reading (for 0 s")
    assert said[-1] == "done"
    count = len(said)
    time.sleep(0.1)
    assert len(said) == count
