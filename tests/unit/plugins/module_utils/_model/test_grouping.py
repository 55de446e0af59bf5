"""Values by what they have in common keep their order, because the order of files and messages follows from it."""

from ansible_collections.streamshift.kafka.plugins.module_utils._model.grouping import chunks, nested, values_by_key


def test_keys_and_values_stand_in_the_order_in_which_they_come():
    assert list(values_by_key([("b", 2), ("a", 3), ("b", 1)]).items()) == [("b", [2, 1]), ("a", [3])]
    assert values_by_key([]) == {}


def test_pairs_become_dictionaries_of_dictionaries():
    rows = [(("billing", 1), 7), (("audit", 0), 5), (("billing", 0), 6)]
    assert list(nested(rows).items()) == [("billing", {1: 7, 0: 6}), ("audit", {0: 5})]


def test_no_value_is_lost_where_the_last_part_is_smaller():
    assert list(chunks([1, 2, 3, 4, 5], 2)) == [[1, 2], [3, 4], [5]]
    assert list(chunks([], 2)) == []
