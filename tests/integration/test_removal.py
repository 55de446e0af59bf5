# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Groups inside one cluster get another name, and the old ones are removed and come back as they were."""

from __future__ import annotations

import pytest

from demo.clients import Message, commit, committed, create_topic, list_groups, produce
from tests.support.consumers import commit_with_epoch
from tests.support.modules import Migration, refuses, succeeds


@pytest.fixture
def orders(source, topic):
    """A topic with two partitions of 20 records; a group of its name, with metadata and an epoch."""
    create_topic(source, topic, partitions=2)
    produce(source, topic, [Message(b"%d" % number, partition=number % 2) for number in range(40)])
    commit(source, topic, {(topic, 1): 20})
    commit_with_epoch(source, topic, topic, 5, "before \x00 \N{PARTY POPPER}", 0)
    return topic


class Rename(Migration):
    """A group NAME becomes NAME-new on the same cluster, and is removed."""

    def prepared(self, *groups: str, **options: object) -> dict[str, bytes]:
        self.snapshot(*groups, removed=self.removed)
        maps = {"group_map": [{"pattern": "(.*)", "to": r"\1-new"}], "strategy": "identical"}
        self.translate(**maps | options)
        return self.files()

    @property
    def removed(self) -> str:
        return str(self.directory / "removed.json")

    def remove(self, via=succeeds, **options):
        its = {"cluster": self.source, "removed": self.removed, **self._files("plan", "receipt")}
        return via("kafka_group_removal", **its | options)

    def restore(self, *groups: str, via=succeeds, **options):
        its = {"cluster": self.source, "removed": self.removed, "state": "restored", "idle_wait": 0}
        its |= {"groups": list(groups)} if groups else {"everything": True}
        return via("kafka_group_removal", **its | options)


@pytest.fixture
def rename(source, tmp_path):
    return Rename(tmp_path / "rename", source, source)


def groups(source, name):
    return [group for group in list_groups(source) if name in group]


def test_a_group_is_renamed_and_comes_back(source, orders, rename):
    before = committed(source, orders)
    files = rename.prepared(orders)
    assert "commit the plan first" in rename.remove(via=refuses).lower()
    rename.commit(source=rename.source)
    done = rename.carefully(orders, rename.remove)
    assert done["groups"] == [orders] and groups(source, orders) == [f"{orders}-new"]
    assert committed(source, f"{orders}-new") == before
    # A second run of everything finds the group as it was, and has nothing to do.
    assert {**rename.prepared(orders), **files} == rename.files()
    assert rename.commit(source=rename.source)["changed"] is False
    assert rename.remove()["changed"] is False

    rename.carefully(orders, lambda **how: rename.restore(orders, **how))
    assert committed(source, orders) == before
    rename.roll_back(groups=[orders])
    assert groups(source, orders) == [orders]
    before_it = files["snapshot.json"].replace(b'"type": "classic"', b"")
    rename.snapshot(orders)
    assert rename.files()["snapshot.json"].replace(b'"type": "classic"', b"") == before_it  # epochs, too
