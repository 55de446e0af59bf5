"""Where a copy ends while the source is written to, and what is said of what follows that end."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import positions
from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog.unconsumed import (
    after_transactions,
    quiet_bounds,
    zero_times,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import Draft
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from tests.support.memory_brokers import ORDERS, SOURCE


def group(offset):
    return Draft("billing", ORDERS, "billing", ORDERS, None if offset is None else CommittedOffset(offset, ""))


@pytest.mark.parametrize("offset, policy", [(100, "ignore"), (500, "ignore"), (None, "start")])
def test_what_follows_an_open_transaction_is_named_because_nobody_copies_it(offset, policy):
    (note,) = after_transactions([group(offset)], {ORDERS: Bounds(0, 500, 10_000)}, policy)
    assert "orders-0 (9,500 offsets from 500 on)" in note.text and note.text.endswith("without live.")


def test_groups_that_have_consumed_some_of_an_open_transaction_are_named():
    bounds = {ORDERS: Bounds(0, 500, 10_000)}
    (note,) = after_transactions([group(100), group(501)._replace(source_group="flink")], bounds, "ignore")
    assert note.text.endswith("have consumed some of it, and go on after the copy: flink (orders-0: 501).")


@pytest.mark.parametrize(
    "offset, bounds", [(100, Bounds(0, 500, 500)), (None, Bounds(0, 500, 10_000))], ids=["stable", "not copied at all"]
)
def test_nothing_is_said_where_nothing_is_left_out(offset, bounds):
    assert after_transactions([group(offset)], {ORDERS: bounds}, "ignore") == []


@pytest.mark.parametrize(
    "second, what, recommends_live",
    [(Bounds(0, 9, 9), "the log grows: from 5 to 9", True), (Bounds(0, 3, 5), "a transaction is open", False)],
)
def test_a_copy_ends_only_in_a_quiet_log(monkeypatch, second, what, recommends_live):
    looks = iter([Bounds(0, 5, 5), second])
    monkeypatch.setattr(positions, "partition_bounds", lambda _source, _partitions: {ORDERS: next(looks)})
    with pytest.raises(Refused, match=what) as refused:
        quiet_bounds(SOURCE, [ORDERS], 0.0)
    assert ("set live to copy" in str(refused.value)) == recommends_live


def test_a_hint_that_cannot_be_given_ends_no_copy(monkeypatch):
    def refuse(*_given):
        raise BrokerError("the broker does not answer")

    monkeypatch.setattr(positions, "lookup_all_times", refuse)
    assert zero_times(SOURCE, [BacklogRange(ORDERS, 100, 200, ORDERS, 0, (100,))]) == []
