"""Numbers and names are told as people write them."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.wording import counted, first_of


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
