"""Groups inside one cluster get another name, and the old ones are removed and come back as they were."""

import random
import time

import pytest

from testbed.clients import Message, commit, committed, create_topic, list_groups, produce
from tests.support.consumers import member
from tests.support.modules import Migration, kill, refuses, spawn, succeeds
from tests.support.numbered import topic_with_metadata


@pytest.fixture
def orders(source, topic):
    return topic_with_metadata(source, topic, "before \x00 \N{PARTY POPPER}")


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


def test_a_new_name_that_is_taken_and_a_group_that_goes_on_are_refused(source, orders, rename):
    taken = f"{orders}-taken"
    commit(source, taken, {(orders, 0): 1})
    rename.prepared(orders, group_map=[{"name": orders, "to": taken}])
    assert "on_advance" in rename.commit(via=refuses, source=rename.source, on_advance="fail")
    rename.commit(source=rename.source)
    with member(source, orders, [orders]):
        assert "has members" in rename.remove(via=refuses)
    assert "partition 0: the group has committed offset 20, and the plan was made for 5" in rename.remove(via=refuses)
    assert groups(source, orders) == [orders, taken]


def test_a_renewal_that_is_killed_at_any_moment_ends_as_if_it_had_not_been(source, topic, tmp_path):
    """Groups that had members once, with commits that no plan is about, are removed and made again."""
    create_topic(source, topic, partitions=20)
    produce(source, topic, [Message(b"%d" % number, partition=number % 20) for number in range(100)])
    names = [f"{topic}-{number}" for number in range(6)]
    new = [f"{name}-new" for name in names]
    for name in names:
        commit(source, name, {(topic, partition): 2 for partition in range(10)})
        with member(source, f"{name}-new", [topic]):
            pass  # it has committed everything, and is empty from now on
    rename = Rename(tmp_path / "renewal", source, source)
    rename.prepared(*names)
    warned = rename.commit(check=True, on_rewind="rewind")
    assert warned["note_kinds"] == ["moved_back", "offsets_expire"]
    assert "offsets.retention.minutes (10080)" in warned["notes"][1]
    options = {"cluster": rename.destination, "plan": str(rename.plan_file), "receipt": str(rename.receipt_file)}
    options |= {"idle_wait": 0, "on_rewind": "rewind", "on_expiring": "renew"}
    chance = random.Random(7)
    for _unused in range(5):
        process = spawn("kafka_offset_commit", **options)
        time.sleep(chance.uniform(0.05, 0.6))
        kill(process)
    rename.commit(on_rewind="rewind", on_expiring="renew")
    expected = {(topic, partition): (2 if partition < 10 else 5, "") for partition in range(20)}
    assert {name: committed(source, name) for name in new} == dict.fromkeys(new, expected)
    assert "renewing" not in rename.receipt_file.read_text()
    again = rename.commit(on_rewind="rewind", on_expiring="renew")
    assert (again["changed"], again["notes"]) == (False, [])  # it counts from its commits now
    rename.roll_back()
    everything = {(topic, partition): (5, "") for partition in range(20)}
    assert {name: committed(source, name) for name in new} == dict.fromkeys(new, everything)
