"""What the role group_clone does where a group is blocked; the way that goes well is extensions/molecule/clone_groups."""

import pytest

from testbed.clients import commit, committed, list_groups
from tests.support.numbered import topic_with_metadata
from tests.support.playbooks import Controller, done, failed


@pytest.fixture
def orders(source, topic):
    return topic_with_metadata(source, topic, "five")


@pytest.fixture
def controller(source, tmp_path):
    return Controller(tmp_path / "infrastructure", onprem=source)


def groups(source, name):
    return [group for group in list_groups(source) if name in group]


def test_a_group_that_is_blocked_ends_the_run_or_is_left_as_it_is(source, orders, controller):
    fine = f"{orders}-fine"
    commit(source, fine, {(orders, 0): 9})
    commit(source, orders, {(orders, 1): 2000})  # after the end of the log
    rename = {
        "groups": [orders, fine],
        "group_map": [{"pattern": "(.*)", "to": r"\1-v2"}],
        "remove_source_groups": True,
    }
    there = [orders, fine]
    assert "on_blocked: skip_group" in failed(controller.clone_groups(**rename))
    assert "beyond_end" in failed(controller.clone_groups(**rename | {"remove_source_groups": False}))
    assert groups(source, orders) == there
    left_out = f"{orders}: is not removed, because {orders}-v2 does not get its offset"
    predicted = done(controller.clone_groups("--check", on_blocked="skip_group", **rename))
    assert left_out in predicted.output and groups(source, orders) == there
    real = done(controller.clone_groups(on_blocked="skip_group", **rename))
    assert left_out in real.output and f"Old groups removed: {fine}." in real.output
    assert "Next: look at what is left out. Then start the consumers with the new names. To roll back, " in real.output
    assert groups(source, orders) == [orders, f"{fine}-v2"]
    assert done(controller.clone_groups(on_blocked="skip_group", **rename)).changed == 0
    assert committed(source, f"{fine}-v2") == {(orders, 0): (9, "")}
    back = done(controller.clone_groups(playbook="rollback", **rename | {"groups": [fine]}))
    assert f"Removed groups made again: {fine}." in back.output
    assert groups(source, orders) == there and committed(source, fine) == {(orders, 0): (9, "")}
