"""Groups whose topics are missing at the destination: the role creates the topics first, and predicts that in a dry run."""

import pytest

from testbed.clients import Message, commit, committed, create_topic, list_groups, produce, read
from tests.support.modules import refuses
from tests.support.playbooks import done
from tests.support.replication_tool import as_message, copy


@pytest.fixture
def orders(source, topic):
    """A topic that only the source has; a group of its name has consumed some of one partition, and nothing of the other."""
    create_topic(source, topic, 2, retention_ms=86_400_000)
    produce(source, topic, [Message(b"%d" % number, partition=number % 2) for number in range(20)])
    commit(source, topic, {(topic, 0): 5, (topic, 1): 0})
    return topic


def test_missing_topics_are_created_before_the_plan(source, destination, orders, controller, promotion):
    wanted = {"groups": [orders], "promote_topics": True, "on_blocked": "skip_partition"}
    dry = done(controller.migrate_groups("--check", "--diff", **wanted))
    assert f"{orders}: created with 2 partitions and 1 replica" in dry.output
    assert "does not exist at the destination" not in dry.output
    assert f"{orders} {orders}-0: 5 -> not set, predicted, blocked (destination_lags)" in dry.output
    assert "2 predicted, on partitions that do not exist yet" in dry.output
    assert (controller.files(), promotion.partitions(orders)) == ({}, {})

    real = done(controller.migrate_groups("--diff", **wanted))
    assert f"{orders} {orders}-0: 5 -> not set, blocked (destination_lags)" in real.output
    assert "do not exist yet" not in real.output and dry.changed == real.changed
    assert promotion.partitions(orders) == {orders: 2} and promotion.own(orders) == {"retention.ms": "86400000"}
    assert committed(destination, orders) == {(orders, 1): (0, "")}

    copy(source, destination, orders)
    done(controller.migrate_groups(**wanted))
    assert committed(destination, orders) == {(orders, 0): (5, ""), (orders, 1): (0, "")}
    files = controller.files()
    assert done(controller.migrate_groups(**wanted)).changed == 0
    assert controller.files() == files


def test_a_reviewed_plan_creates_the_topics_that_it_predicts(source, destination, orders, controller, promotion):
    commit(source, orders, {(orders, 0): 0})
    wanted = {"groups": [orders], "promote_topics": True}
    output = done(controller.migrate_groups(phase="plan", **wanted)).output
    assert "No topic has been created yet: the phase apply creates them." in output
    assert "2 predicted, on partitions that do not exist yet" in output and promotion.partitions(orders) == {}
    done(controller.migrate_groups("--check", phase="apply", **wanted))
    assert promotion.partitions(orders) == {} and orders not in list_groups(destination)
    done(controller.migrate_groups(phase="apply", **wanted))
    assert promotion.partitions(orders) == {orders: 2}
    assert committed(destination, orders) == {(orders, 0): (0, ""), (orders, 1): (0, "")}

    done(controller.rollback(groups=[orders]))
    assert committed(destination, orders) == {} and promotion.partitions(orders) == {orders: 2}
    home = "kafka-migrations/onprem-to-cloud"
    done(controller.promote_topics(phase="rollback", remove_created=True, directory=home))
    assert promotion.partitions(orders) == {}


def test_a_topic_with_records_is_not_grown_and_one_that_was_grown_by_hand_skips_nothing(
    source, destination, orders, promotion, migration
):
    commit(source, orders, {(orders, 1): 3})
    create_topic(destination, orders, 1)
    # All that the source has lies where one partition has put it.
    copies = sorted(read(source, orders), key=lambda record: int(record.value))
    produce(destination, orders, [as_message(record)._replace(partition=0) for record in copies])
    migration.snapshot(orders)
    its = {
        "on_fewer_partitions": "grow_empty_or_leave",
        "settings": "created",
        "snapshot": str(migration.snapshot_file),
    }
    left = promotion.carefully(**its)
    assert f"{orders} has 1 partition" in left["notes"][0] and "holds records" in left["notes"][0]
    entries = migration.plan(orders)
    assert {entry["reason"] for entry in entries.values()} == {"partition_count_differs"}

    promotion.run(on_fewer_partitions="grow", settings="none", topics=[orders])
    entries = migration.plan(orders)
    assert entries[orders, orders, 1]["verdict"] == "blocked"
    assert f"{orders}-1" in migration.commit(refuses)
    assert orders not in list_groups(destination)
