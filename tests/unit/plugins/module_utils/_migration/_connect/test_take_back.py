# SPDX-License-Identifier: GPL-3.0-or-later

"""A rollback of a hand-over restores what was stored before, of the selected topics of the receipt alone."""

from __future__ import annotations

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._connect.handover import take_back
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._connect.stores import StoredOffsets
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connect_receipt import (
    ConnectEntry,
    ConnectReceipt,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput, NotFound
from ansible_collections.streamshift.kafka.plugins.module_utils._model.failure_kinds import FailureKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnMisplaced
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection

ORDERS, PINGS = TopicPartition("orders", 0), TopicPartition("heartbeats", 0)
RECEIPT = ConnectReceipt("D", "offsets", "mirror", "src", (ConnectEntry(PINGS, 3, 7, 7), ConnectEntry(ORDERS, 4, 9, 9)))


class Stored:
    """A store with what was handed over."""

    connector, source_alias = "mirror", "src"

    def __init__(self) -> None:
        self.offsets = {ORDERS: 9, PINGS: 7}

    def check(self) -> tuple[()]:
        return ()

    def read(self) -> StoredOffsets:
        return StoredOffsets(dict(self.offsets))

    def write(self, changes, _misplaced) -> None:
        self.offsets |= changes


@pytest.mark.parametrize(
    ("selection", "restored"),
    [
        (Selection(), {ORDERS: 4, PINGS: 3}),
        (Selection(topics=("orders",)), {ORDERS: 4}),
        (Selection(topics=("heartbeats",)), {PINGS: 3}),
        (Selection(topic_patterns=("ord.*",)), {ORDERS: 4}),
        (Selection(exclude_topic_patterns=("hear.*",)), {ORDERS: 4}),
    ],
    ids=str,
)
def test_only_the_selected_topics_are_restored(selection, restored):
    store, saved = Stored(), []
    outcome = take_back(store, RECEIPT, selection, OnMisplaced.FAIL, saved.append)
    assert (outcome.after, outcome.written) == (restored, len(restored))
    assert store.offsets == {ORDERS: 9, PINGS: 7, **restored}
    if saved:
        assert {its.partition: its.written for its in saved[-1].entries} == {
            ORDERS: 9,
            PINGS: 7,
            **dict.fromkeys(restored),
        }


def test_a_topic_that_was_not_handed_over_is_refused():
    with pytest.raises(NotFound, match=r"topic order is not in the receipt: there .*did you mean orders\?"):
        take_back(Stored(), RECEIPT, Selection(topics=("order",)), OnMisplaced.FAIL, None)


@pytest.mark.parametrize(
    ("selection", "why"),
    [
        (
            Selection(topic_patterns=("order",)),
            r"no topic in the receipt is matched by topic_patterns \['order'\]: a pat",
        ),
        (
            Selection(exclude_topic_patterns=("ord.*",)),
            "no topic in the receipt is selected: Left out by exclude_topic_p",
        ),
    ],
)
def test_a_rollback_of_nothing_is_refused(selection, why):
    with pytest.raises(InvalidInput, match=why) as refused:
        take_back(Stored(), RECEIPT, selection, OnMisplaced.FAIL, None)
    assert refused.value.kind is FailureKind.NOTHING_SELECTED
