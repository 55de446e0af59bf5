"""Committed offsets are saved, and restored after an accident: on the same cluster, or by records elsewhere."""

import json

import pytest

from testbed.clients import commit, committed, create_topic, delete_groups, delete_topic
from tests.support.consumers import unconsumed
from tests.support.numbered import numbered_topic
from tests.support.playbooks import done, failed
from tests.support.replication_tool import copy


@pytest.fixture
def orders(source, topic):
    """A topic with two partitions; a group of its name and another one."""
    numbered_topic(source, topic, 20, (5, "kept"), 20)
    commit(source, f"{topic}-other", {(topic, 0): 1})
    return topic


def back_up(controller, topic):
    wanted = json.dumps({"back_up_offsets_group_patterns": [f"{topic}.*"]})
    done(controller.run("streamshift.kafka.back_up_offsets", "--limit", "onprem", "-e", wanted))
    (file,) = (controller.directory / "kafka-backups/onprem").glob("*.json")
    return str(file.relative_to(controller.directory))


def test_a_group_that_was_deleted_or_moved_gets_its_offsets_back(source, orders, controller):
    restore = {"playbook": "restore_offsets", "groups": [orders], "backup": back_up(controller, orders)}
    before, other = committed(source, orders), committed(source, f"{orders}-other")

    delete_groups(source, [orders])
    dry = done(controller.clone_groups("--check", "--diff", **restore))
    assert f"+{orders} {orders}-0: 5 'kept'" in dry.output and committed(source, orders) == {}
    done(controller.clone_groups(**restore))
    assert committed(source, orders) == before
    assert done(controller.clone_groups(**restore)).changed == 0

    commit(source, orders, {(orders, 0): 2})
    assert "would move forward to 5 'kept': the group then skips up to 3 offsets" in failed(
        controller.clone_groups(**restore)
    )
    commit(source, orders, {(orders, 0): 15})
    assert "would move back to 5 'kept'" in failed(controller.clone_groups(**restore))
    done(controller.clone_groups(**restore, on_rewind="rewind"))
    assert committed(source, orders) == before
    done(controller.clone_groups(**restore | {"playbook": "rollback"}))
    assert committed(source, orders)[orders, 0] == (15, "")
    assert committed(source, f"{orders}-other") == other


def test_offsets_that_expired_at_the_old_cluster_come_back_from_the_snapshot_of_the_migration(
    source, destination, orders, controller
):
    """The brokers have deleted the group while its consumers were away."""
    create_topic(destination, orders, 2)
    copy(source, destination, orders)
    before = committed(source, orders)
    done(controller.migrate_groups(groups=[orders]))
    delete_groups(source, [orders])
    done(controller.rollback(groups=[orders]))
    restore = {"playbook": "restore_offsets", "groups": [orders]}
    restore["backup"] = "kafka-migrations/onprem-to-cloud/snapshot.json"
    assert f"+{orders} {orders}-0: 5 'kept'" in done(controller.clone_groups("--check", "--diff", **restore)).output
    done(controller.clone_groups(**restore))
    assert committed(source, orders) == before


def test_a_backup_is_refused_where_its_offsets_mean_nothing(source, orders, controller):
    restore = {"playbook": "restore_offsets", "backup": back_up(controller, orders)}
    said = failed(controller.clone_groups(groups=[f"{orders}x"], **restore))
    assert f"group {orders}x is not in " in said and f"did you mean {orders}" in said
    assert "There is no backup." in failed(controller.clone_groups(playbook="restore_offsets", groups=[orders]))
    delete_topic(source, orders)
    create_topic(source, orders, 2)
    assert "it was deleted and created again" in failed(controller.clone_groups(groups=[orders], **restore))


def test_topics_that_were_restored_elsewhere_are_found_by_records(source, destination, orders, controller):
    backup = back_up(controller, orders)
    wanted = unconsumed(source, orders, orders)
    delete_groups(source, [orders])
    create_topic(destination, orders, 2)
    copy(source, destination, orders, junk=3)
    done(controller.migrate_groups(groups=[orders], backup=backup, verify="records"))
    assert unconsumed(destination, orders, orders) == wanted
