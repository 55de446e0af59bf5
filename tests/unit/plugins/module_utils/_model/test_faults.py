"""Several errors as one."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import (
    InvalidInput,
    NotFound,
    WouldMoveBack,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.faults import all_done, all_of, raise_any


def refusal(partition, group="billing", remedy="set on_rewind"):
    return WouldMoveBack(
        "it would be moved back", cluster="cloud", group=group, topic="orders", partition=partition, remedy=remedy
    )


def told(*faults):
    with pytest.raises(type(faults[0])) as found:
        raise_any(faults)
    return found.value


def test_one_is_said_as_it_is_and_none_is_no_error():
    assert told(one := refusal(0)) is one
    raise_any([])


def test_what_they_share_is_said_once_and_a_few_of_many_are_named():
    both = told(refusal(0), refusal(1))
    assert str(both) == (
        "cloud, group billing, topic orders: partition 0: it would be moved back; partition 1: it would be moved back. "
        "Set on_rewind."
    )
    assert both.place() == {
        "kind": "would_move_back", "cluster": "cloud", "group": "billing", "topic": "orders", "partition": None,
    }  # fmt: skip
    many = str(told(*(refusal(number, f"g{number}") for number in range(1234))))
    assert "group g4, partition 4: it would be moved back; and 1,229 more. Set on_rewind." in many and "g5" not in many


def test_each_has_its_own_remedy_where_they_differ():
    said = str(told(refusal(0), refusal(1, remedy="plan again")))
    assert (
        "partition 0: it would be moved back (set on_rewind); partition 1: it would be moved back (plan again)." in said
    )


def test_everything_is_looked_at_before_an_error_is_raised():
    def refuse(number):
        if number % 2:
            raise InvalidInput(f"{number} is odd", remedy="give even numbers")
        return number

    assert all_of(refuse, [0, 2]) == [0, 2]
    with pytest.raises(InvalidInput, match=r"^1 is odd; 3 is odd\. Give even numbers\.$"):
        all_of(refuse, [0, 1, 2, 3])
    with pytest.raises(NotFound, match="no group; 1 is odd"):
        all_done(lambda: raise_any([NotFound("no group", remedy="give even numbers")]), lambda: refuse(1))


def test_an_error_of_several_adds_its_parts_to_others_and_none_is_said_twice():
    whole = told(refusal(0), refusal(1))
    assert [part.partition for part in told(whole, refusal(1), refusal(2)).parts] == [0, 1, 2]
