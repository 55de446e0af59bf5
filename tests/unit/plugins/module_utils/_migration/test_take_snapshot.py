# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which groups patterns find while coordinators move, which no real cluster does at a given moment."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import groups
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import quiet, selected_groups, take_snapshot
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError, InvalidInput, NotFound
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import (
    CommittedOffset,
    GroupListing,
    GroupReading,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnActiveGroup
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from tests.support.identities import known_by_id

ORDERS = TopicPartition("orders", 0)


class Cluster:
    """Lists other groups each time; a clock that only sleeping moves on."""

    def __init__(self, monkeypatch, *lists):
        self.lists, self.watched, self.now = list(lists), [], 0.0
        monkeypatch.setattr(groups, "attempt", lambda _connection, _read: self.listed(self.lists.pop(0)))
        monkeypatch.setattr(groups, "read_groups", self.read)
        for module in (groups, quiet, selected_groups):
            monkeypatch.setattr(module.time, "sleep", self.sleep)
            monkeypatch.setattr(module.time, "monotonic", lambda: self.now)
        known_by_id(monkeypatch, lambda _connection: "id")
        monkeypatch.setattr(take_snapshot, "partition_counts", lambda _connection, names: dict.fromkeys(names, 1))

    def listed(self, names):
        return {name: GroupListing(name, "Empty", "classic", "consumer") for name in names}

    def read(self, _connection, names, stable=True):
        self.watched.append(tuple(names))
        committed = {ORDERS: CommittedOffset(5)}
        return {name: GroupReading(name, True, "Empty", "classic", "consumer", committed) for name in names}

    def sleep(self, seconds):
        self.now += seconds

    def take(self, **options):
        selection = Selection(group_patterns=("billing.*",))
        return take_snapshot.take(Connection("cluster", ("127.0.0.1:1",)), selection, OnActiveGroup.FAIL, **options)


def names(taken):
    return [group.name for group in taken.snapshot.groups]


def test_a_group_that_only_the_second_list_shows_is_watched_like_the_others(monkeypatch):
    cluster = Cluster(monkeypatch, ["billing"], ["billing", "billing-eu", "fraud"])
    assert names(cluster.take(idle_wait=5)) == ["billing", "billing-eu"]
    assert cluster.watched == [("billing",)] * 2 + [("billing", "billing-eu")] * 2


@pytest.mark.parametrize(("lists", "looks"), [([["billing"], []], 1), ([[], ["billing"]], 2)])
def test_a_group_that_one_of_the_lists_lacks_is_found(monkeypatch, lists, looks):
    cluster = Cluster(monkeypatch, *lists)
    assert names(cluster.take()) == ["billing"]
    assert len(cluster.watched) == looks


def test_the_time_between_two_lists_is_not_waited_for_again_after_groups_were_watched(monkeypatch):
    cluster = Cluster(monkeypatch, ["billing"], ["billing"])
    cluster.take(idle_wait=5)
    assert cluster.now == 5
    cluster = Cluster(monkeypatch, ["billing"], ["billing"])
    cluster.take(idle_wait=0)
    assert cluster.now == groups.SETTLE_SECONDS


def test_patterns_that_neither_list_matches_are_refused(monkeypatch):
    cluster = Cluster(monkeypatch, ["fraud"], [])
    with pytest.raises(InvalidInput, match=r"no group is matched by group_patterns \['billing\.\*'\]"):
        cluster.take()


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("biling", "Correct groups (did you mean billing?), or grant the ACL."),
        ("bill.*", "Correct groups (patterns belong in group_patterns), or grant the ACL."),
    ],
)
def test_a_misspelt_group_is_told_with_those_that_may_be_meant(monkeypatch, name, remedy):
    Cluster(monkeypatch, ["billing", "fraud"])
    missing = {name: GroupReading(name, False, "", "", "", {})}
    monkeypatch.setattr(groups, "read_groups", lambda _connection, _names: missing)
    with pytest.raises(NotFound) as found:
        take_snapshot.take(Connection("cluster", ("127.0.0.1:1",)), Selection(groups=(name,)), OnActiveGroup.FAIL)
    assert str(found.value).endswith(remedy)


def test_a_list_that_fails_hides_no_misspelt_group(monkeypatch):
    def refuse(*_given, **_options):
        raise BrokerError("too busy")

    monkeypatch.setattr(groups, "list_groups", refuse)
    monkeypatch.setattr(
        groups,
        "read_groups",
        lambda _connection, names: {each: GroupReading(each, False, "", "", "", {}) for each in names},
    )
    with pytest.raises(NotFound, match=r"Correct groups, or grant the ACL\."):
        take_snapshot.take(Connection("cluster", ("127.0.0.1:1",)), Selection(groups=("x",)), OnActiveGroup.FAIL)


class WithTransaction(Cluster):
    """A group `billing` of which a transaction commits an offset, until the clock shows `ends`."""

    ends = 1e9

    def read(self, _connection, names, stable=True):
        found = super().read(_connection, names)
        told = {ORDERS: "x9"} if self.now < self.ends else {}
        return found | {name: dataclasses.replace(found[name], open=told) for name in names if name == "billing"}


def test_a_group_with_an_open_transaction_is_taken_and_told_and_no_matter_of_others(monkeypatch):
    taken = WithTransaction(monkeypatch, *[["billing", "billing-eu"]] * 2).take()
    assert names(taken) == ["billing", "billing-eu"]
    assert taken.snapshot.open == (("billing", ORDERS, "x9"),)
    assert "billing: a transaction that commits offsets for orders-0 is open: x9" in "".join(map(str, taken.notes()))


def test_a_policy_for_groups_in_use_leaves_it_out(monkeypatch):
    WithTransaction(monkeypatch, *[["billing", "billing-eu"]] * 2)
    taken = take_snapshot.take(
        Connection("cluster", ("127.0.0.1:1",)), Selection(group_patterns=("billing.*",)), OnActiveGroup.SKIP_GROUP
    )
    assert (names(taken), taken.skipped, taken.snapshot.open) == (["billing-eu"], ("billing",), ())


def test_its_end_is_waited_for_as_long_as_for_consumers(monkeypatch):
    monkeypatch.setattr(WithTransaction, "ends", 20.0)
    cluster = WithTransaction(monkeypatch, *[["billing"]] * 2)
    said = []
    assert cluster.take(stop_timeout=60, say=said.append).snapshot.open == ()
    assert 20 <= cluster.now < 30 and "billing (a transaction that commits offsets for orders-0 is open: x9)" in said[0]
