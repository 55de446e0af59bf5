# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Strategy reset on real brokers: planned, reviewed, committed and rolled back; the offsets are the stock tool's."""

from __future__ import annotations

import pytest

from demo.clients import Message, commit, committed, create_topic, produce
from tests.support.modules import Migration


class Reset(Migration):
    """A reset inside one cluster, whose files are those of a migration."""

    def plan_resets(self, *rules, groups, **options):
        its = {"source": None, "snapshot": None, "strategy": "reset", "groups": groups, "resets": list(rules)}
        return self.translate(**its | options)


@pytest.fixture
def orders(source, topic):
    """A topic of two partitions with ten records in each."""
    create_topic(source, topic, partitions=2)
    produce(source, topic, [Message(b"%d" % number, partition=number % 2) for number in range(20)])
    return topic


def test_a_reset_is_planned_committed_and_rolled_back(source, orders, tmp_path):
    before = {(orders, 0): (4, "by hand"), (orders, 1): (10, "")}
    commit(source, orders, before)
    reset = Reset(tmp_path / "reset", source, source)
    planned = reset.carefully(orders, lambda **how: reset.plan_resets({"to": "earliest"}, groups=[orders], **how))
    assert [(row["offset"], row["verdict"], row["repeats"], row["detail"]) for row in planned["entries"]] == [
        (0, "requested", 4, "earliest; 4 offsets are repeated"),
        (0, "requested", 10, "earliest; 10 offsets are repeated"),
    ]
    assert committed(source, orders) == before
    reset.carefully(orders, lambda **how: reset.commit(on_rewind="rewind", **how))
    assert committed(source, orders) == {(orders, 0): (0, ""), (orders, 1): (0, "")}
    assert reset.plan_resets({"to": "earliest"}, groups=[orders])["changed"] is False
    reset.roll_back(on_advance="advance")
    assert committed(source, orders) == before
