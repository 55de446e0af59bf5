"""What the role group_clone does where a group is blocked, or a file is lost; extensions/molecule/clone_groups goes well."""

import pytest

from testbed.clients import commit, committed, delete_groups, list_groups
from tests.support.numbered import numbered_topic, topic_with_metadata
from tests.support.playbooks import Controller, done, failed


@pytest.fixture
def orders(source, topic):
    return topic_with_metadata(source, topic, "five")


@pytest.fixture
def controller(source, tmp_path):
    return Controller(tmp_path / "infrastructure", onprem=source)


def groups(source, name):
    """Those that have committed offsets: brokers of Kafka 4 keep others for a while."""
    return [group for group in list_groups(source) if name in group and committed(source, group)]


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
    assert (
        "Then start the consumers with the new names, but not those of groups that are blocked or left out."
        in real.output
    )
    assert groups(source, orders) == [orders, f"{fine}-v2"]
    assert done(controller.clone_groups(on_blocked="skip_group", **rename)).changed == 0
    assert committed(source, f"{fine}-v2") == {(orders, 0): (9, "")}
    back = done(controller.clone_groups(playbook="rollback", **rename | {"groups": [fine]}))
    assert f"Removed groups made again: {fine}." in back.output
    assert groups(source, orders) == there and committed(source, fine) == {(orders, 0): (9, "")}


def test_a_rename_whose_files_are_lost_in_part_is_not_rolled_back_in_part(source, orders, controller):
    new, before = f"{orders}-v2", committed(source, orders)
    rename = {"groups": [orders], "group_map": [{"name": orders, "to": new}], "remove_source_groups": True}
    done(controller.clone_groups(**rename))
    files = controller.directory / "kafka-clones" / "onprem"
    told = {"removed": f"got its offsets from {orders}, which has none now", "receipt": "there is no receipt file"}
    for name, why in told.items():
        (files / f"{name}.json").rename(files / "aside")
        for words in (["--check"], []):
            output = failed(controller.clone_groups(*words, playbook="rollback", **rename))
            assert why in output and "history/" in output, output
            assert (groups(source, orders), committed(source, new)) == ([new], before)
        (files / "aside").rename(files / f"{name}.json")
    done(controller.clone_groups("--check", playbook="rollback", **rename))
    done(controller.clone_groups(playbook="rollback", **rename))
    assert (groups(source, orders), committed(source, orders)) == ([orders], before)


def test_a_renamed_group_comes_back_although_its_new_name_had_the_offsets_before_the_rename(source, orders, controller):
    """So the receipt does not have it, whether the rollback names it or matches it by a pattern."""
    other = f"{orders}-other"
    commit(source, other, {(orders, 1): 9})
    before = committed(source, orders)
    done(
        controller.clone_groups(groups=[orders], group_map=[{"name": orders, "to": f"{orders}-v2"}], directory="first")
    )
    rename = {
        "groups": [orders, other],
        "group_map": [{"pattern": "(.*)", "to": r"\1-v2"}],
        "remove_source_groups": True,
    }
    for selection in ({"groups": [orders]}, {"groups": [], "group_patterns": [orders]}, {"groups": [orders, other]}):
        done(controller.clone_groups(**rename))
        assert groups(source, orders) == [f"{other}-v2", f"{orders}-v2"]
        both = other in selection["groups"]
        for words in (["--check"], []):
            played = done(controller.clone_groups(*words, playbook="rollback", **rename | selection))
            said = f"Removed groups made again: {orders}, {other}." if both else f"Removed groups made again: {orders}."
            assert said in played.output and "leaves it out" not in played.output
        assert groups(source, orders) == sorted([orders, other if both else f"{other}-v2", f"{orders}-v2"])
        assert committed(source, orders) == before


def test_an_old_group_that_was_split_comes_back_only_if_all_of_its_new_ones_go(source, orders, controller):
    parcels = f"{orders}-parcels"
    numbered_topic(source, parcels, 20)
    commit(source, orders, {(parcels, 0): 7})
    before = committed(source, orders)
    billing, delivery = f"{orders}-billing", f"{orders}-delivery"
    to = [{"name": orders, "to": new, "topics": [topic]} for new, topic in ((billing, orders), (delivery, parcels))]
    split = {"groups": [orders], "group_map": to, "remove_source_groups": True}
    done(controller.clone_groups(**split))
    output = failed(controller.clone_groups(playbook="rollback", **split, topics=[orders]))
    assert f"{delivery} has {parcels} of {orders}" in output and "by group_clone_topics, " in output
    assert groups(source, orders) == [billing, delivery]
    done(controller.clone_groups(playbook="rollback", **split, topics=[orders, parcels]))
    assert (groups(source, orders), committed(source, orders)) == ([orders], before)


def test_a_renamed_group_that_was_never_started_gets_its_expired_offsets_again(source, orders, controller):
    new, before = f"{orders}-v2", committed(source, orders)
    rename = {"groups": [orders], "group_map": [{"name": orders, "to": new}], "remove_source_groups": True}
    done(controller.clone_groups(**rename))
    delete_groups(source, [new])  # as if its offsets had expired
    assert "Otherwise set group_clone_on_rewind to rewind" in failed(controller.clone_groups(**rename))
    done(controller.clone_groups("--check", **rename, on_rewind="rewind"))
    done(controller.clone_groups(**rename, on_rewind="rewind"))
    assert (groups(source, orders), committed(source, new)) == ([new], before)
