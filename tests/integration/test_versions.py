"""Other versions at the source, and a destination of three brokers of which one dies in the worst moment."""

import contextlib
import os
import signal
import time

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.admin_client import connect
from ansible_collections.streamshift.kafka.plugins.module_utils._control.coordinators import find_coordinators
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from testbed import clients
from tests.support.consumers import member, unconsumed
from tests.support.modules import Migration, refuses
from tests.support.replication_tool import copied_topic, copy


@pytest.mark.parametrize("version", ["kafka39", "old"])
def test_from_an_older_version(request, destination, topic, tmp_path, version):
    source = request.getfixturevalue(version)
    for cluster in (source, destination):
        clients.create_topic(cluster, topic, partitions=3)
    clients.produce(source, topic, [clients.Message(b"%d" % number) for number in range(20)])
    transactions = [
        [clients.Message(b"%d" % number, partition=1) for number in range(10 * at, 10 * at + 10)] for at in range(3)
    ]
    clients.produce_in_transactions(source, topic, zip(transactions, (True, False, True), strict=True))
    clients.produce(source, topic, [clients.Message(b"%d" % number, partition=2) for number in range(20)])
    copy(source, destination, topic, junk=2)
    clients.delete_records(source, topic, {2: 10})
    # caught up; consumed the first transaction and the aborted one; stands where its log starts
    clients.commit(source, topic, {(topic, 0): (20, "caught up"), (topic, 1): 22, (topic, 2): 10})
    migration = Migration(tmp_path / "migration", source, destination)
    entries = migration.carried_out(topic)
    assert {entry["verdict"] for entry in entries.values()} == {"exact"}
    assert unconsumed(destination, topic, topic) == unconsumed(source, topic, topic)
    migration.carefully(topic, migration.roll_back)
    assert clients.committed(destination, topic) == {}


def test_an_older_version_as_destination(source, old, topic, tmp_path):
    """Some go back: the destination may be the older one."""
    copied_topic(source, old, topic, 10, (4, "kept"), partitions=1, junk=1)
    migration = Migration(tmp_path / "migration", source, old)
    assert migration.carried_out(topic)[topic, 0]["verdict"] == "exact"
    assert clients.committed(old, topic) == {(topic, 0): (5, "kept")}
    migration.roll_back()
    assert topic not in clients.list_groups(old)
    with member(old, topic, [topic]):
        migration.translate()
        assert f"group {topic}: has members" in migration.commit(via=refuses, on_rewind="rewind")


def test_the_coordinator_dies_between_plan_and_commit(source, own_cluster, topic, tmp_path):
    destination = own_cluster("three", nodes=3)
    copied_topic(source, destination, topic, 20, partitions=1, junk=1)
    groups = [f"{topic}-{number}" for number in range(6)]  # of several coordinators
    for number, group in enumerate(groups):
        clients.commit(source, group, {(topic, 0): number + 3})
    clients.commit(destination, groups[0], {(topic, 0): 1})
    migration = Migration(tmp_path / "migration", source, destination)
    migration.plan(*groups)

    broker = coordinator(destination, groups[0])
    os.kill(destination.cluster.pids[f"broker-{broker}"], signal.SIGKILL)
    began = time.monotonic()
    assert migration.commit()["written"] == len(groups)
    assert time.monotonic() - began < 60
    stand = {number: clients.committed(destination, group) for number, group in enumerate(groups)}
    assert stand == {number: {(topic, 0): (number + 4, "")} for number in range(len(groups))}
    assert migration.commit()["changed"] is False
    migration.verify()
    migration.roll_back()
    stand = [clients.committed(destination, group) for group in groups]
    assert stand == [{(topic, 0): (1, "")}, *[{}] * (len(groups) - 1)]


def coordinator(cluster, group):
    with contextlib.closing(connect(connection_from(cluster.connection))) as client:
        (node, error) = find_coordinators(client, [group])[group]
    assert error == 0
    return node
