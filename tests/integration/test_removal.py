"""Groups inside one cluster get another name, and the old ones are removed and come back as they were."""

import pytest

from testbed.clients import commit, committed, list_groups
from tests.support.consumers import member
from tests.support.modules import Migration, refuses, succeeds
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
    """Those that have committed offsets: brokers of Kafka 4 keep others for a while."""
    return [group for group in list_groups(source) if name in group and committed(source, group)]


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
