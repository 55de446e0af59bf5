"""What the role mirror_maker_group_sync keeps, leaves out and refuses, beside a real MirrorMaker 2 that runs."""

import json
import typing as t
import uuid

import pytest

from testbed.clients import (
    Message,
    commit,
    committed,
    create_topic,
    grant,
    list_groups,
    produce,
    produce_in_transactions,
    read,
    revoke,
    until,
)
from testbed.mirror_maker import MirrorMaker
from tests.support.consumers import member, unconsumed
from tests.support.mirror_records import checkpoint, offset_sync
from tests.support.playbooks import Controller, done, failed


class Mirrored(t.NamedTuple):
    """Two clusters and how the MirrorMaker 2 that copies between them calls clusters and topics."""

    source: t.Any
    destination: t.Any
    policy: dict[str, t.Any]

    def copy_of(self, topic):
        return f"{self.policy['source_alias']}-{topic}"

    def is_exact(self, group, topic):
        """Does the group get at the destination what it has not consumed at the source, and nothing else?"""
        return unconsumed(self.destination, group, self.copy_of(topic)) == unconsumed(self.source, group, topic)

    def wait_until_copied(self, topic):
        wanted = len(read(self.source, topic))
        until(lambda: len(read(self.destination, self.copy_of(topic))) >= wanted)


def says(output, *texts):
    for text in texts:
        assert text in output, output


@pytest.fixture(scope="module")
def mirrored(source, destination, tmp_path_factory):
    """It copies topics called sync-..., with dashes in their names there, but not in those of its own topics."""
    tag = uuid.uuid4().hex[:6]
    source_alias, target_alias = f"here{tag}", f"there{tag}"
    policy = {
        "name": "default",
        "source_alias": source_alias,
        "target_alias": target_alias,
        "separator": "-",
        "internal_topic_separator_enabled": False,
    }
    settings = {
        "clusters": f"{source_alias}, {target_alias}",
        f"{source_alias}.bootstrap.servers": ",".join(source.bootstrap_servers),
        f"{target_alias}.bootstrap.servers": ",".join(destination.bootstrap_servers),
        f"{source_alias}.consumer.isolation.level": "read_committed",
        f"{target_alias}.offset.flush.interval.ms": "1000",
        f"{source_alias}->{target_alias}.enabled": "true",
        f"{source_alias}->{target_alias}.topics": "sync-.*",
        f"{source_alias}->{target_alias}.groups": "sync-.*",
        "emit.heartbeats.enabled": "false",
        "replication.policy.separator": "-",
        "replication.policy.internal.topic.separator.enabled": "false",
    }
    folder = tmp_path_factory.mktemp("mirror-maker")
    with MirrorMaker(folder, source, destination, identity=False, more=settings):
        yield Mirrored(source, destination, policy)


@pytest.fixture
def orders(mirrored):
    """A topic that is copied, so that offsets differ there: some of its records were aborted."""
    name = f"sync-{uuid.uuid4().hex[:8]}"
    create_topic(mirrored.source, name, 2, retention_ms=-1)
    writes = [([Message(b"%d" % number) for number in range(at, at + 20)], at % 3 != 0) for at in range(0, 400, 20)]
    produce_in_transactions(mirrored.source, name, writes)
    produce(mirrored.source, name, [Message(b"%d" % number, partition=1) for number in range(300)])
    mirrored.wait_until_copied(name)
    return name


@pytest.fixture
def controller(mirrored, tmp_path):
    return Controller(tmp_path / "user", onprem=mirrored.source, cloud=mirrored.destination)


def test_a_later_offset_at_the_destination_is_never_kept_in_silence(mirrored, orders, controller):
    source, destination, copy = mirrored.source, mirrored.destination, mirrored.copy_of(orders)
    other, third = f"{orders}-other", f"{orders}-third"
    groups = {"groups": [orders, other, third], "replication_policy": mirrored.policy}
    for group, offset in ((orders, 50), (other, 60), (third, 55)):
        commit(source, group, {(orders, 1): offset})
    for group, offset in ((orders, 90), (third, 80)):
        commit(destination, group, {(copy, 1): offset})  # by somebody else
    refused = failed(controller.sync_mirror_maker_groups(**groups))
    says(
        refused,
        "committed offset 90 would move back to 50",
        "Set mirror_maker_group_sync_on_rewind to rewind",
    )
    assert other not in list_groups(destination)
    kept = done(controller.sync_mirror_maker_groups(on_rewind="keep", **groups)).output
    says(
        kept,
        f"{orders} {copy}-1: kept at 90 instead of moved back to 50 (mirror_maker_group_sync_on_rewind: keep): "
        "a consumer that starts now skips up to 40 records",
    )
    assert mirrored.is_exact(other, orders)
    followed = done(controller.sync_mirror_maker_groups(on_rewind="rewind", **groups)).output
    says(followed, f'{orders} {copy}-1: moved back from 90 to 50"', f'"{third} {copy}-1: moved back from 80 to 55"')
    assert mirrored.is_exact(orders, orders)
    commit(source, orders, {(orders, 1): 70})
    last = done(controller.sync_mirror_maker_groups(phase="cut_over", idle_wait=0.5, **groups)).output
    says(last, f"Consumers may start at the destination: {orders}, {other}, {third}.", "It took: snapshot ")
    assert committed(destination, orders)[copy, 1][0] == 70


def test_an_offset_that_fails_verification_is_left_out_of_the_round(mirrored, orders, controller):
    source, destination, copy = mirrored.source, mirrored.destination, mirrored.copy_of(orders)
    groups = {"groups": [orders], "replication_policy": mirrored.policy}
    commit(source, orders, {(orders, 0): 100, (orders, 1): 250})
    done(controller.sync_mirror_maker_groups(**groups))
    done(controller.sync_mirror_maker_groups(phase="rollback", **groups))
    file = controller.directory / "kafka-syncs/onprem-to-cloud/plan.json"
    plan = json.loads(file.read_text())
    # A round keeps what an earlier one has decided, as far as the record after the offset speaks for it.
    plan["entries"][1]["evidence"]["before"]["fingerprint"] = "00" * 16
    file.write_text(json.dumps(plan))
    for words in (["--check"], []):
        output = done(controller.sync_mirror_maker_groups(*words, verify="anchors", **groups)).output
        says(output, f"{orders} {copy}-1: blocked, verification_failed (", "is not the one that was matched")
    assert committed(destination, orders).keys() == {(copy, 0)}


def test_what_cannot_be_synced_is_left_out_and_named(mirrored, orders, controller):
    source, destination, copy = mirrored.source, mirrored.destination, mirrored.copy_of(orders)
    elsewhere = f"elsewhere-{orders}"  # MirrorMaker does not copy it
    create_topic(source, elsewhere)
    commit(source, orders, {(orders, 1): 50, (elsewhere, 0): 0})
    used, living = f"{orders}-used", f"{orders}-living"
    commit(source, used, {(orders, 1): 299})
    groups = {"group_patterns": [f"{orders}.*"], "replication_policy": mirrored.policy, "on_rewind": "rewind"}
    with member(source, living, [orders]), member(destination, used, [copy]):
        standing = committed(destination, used)
        output = done(controller.sync_mirror_maker_groups(**groups)).output
        assert committed(destination, used) == standing
    says(
        output,
        f"{orders} {elsewhere}-0: 0 -> {orders} {mirrored.copy_of(elsewhere)}-0: not set, blocked (topic_missing)",
    )
    says(output, f"{used}: has members (its state is Stable): client ")
    assert committed(destination, orders).keys() == {(copy, 1)}
    assert mirrored.is_exact(orders, orders) and mirrored.is_exact(living, orders)


def test_when_the_source_is_lost_the_last_checkpoints_count(mirrored, orders, tmp_path):
    source, destination, copy = mirrored.source, mirrored.destination, mirrored.copy_of(orders)
    commit(source, orders, {(orders, 0): 300, (orders, 1): 299})
    checkpoints = f"{mirrored.policy['source_alias']}.checkpoints.internal"
    until(
        lambda: (
            sum(orders.encode() in (each.key or b"")[: len(orders) + 2] for each in read(destination, checkpoints)) > 1
        )
    )
    controller = Controller(tmp_path / "user", onprem={"bootstrap_servers": ["127.0.0.1:1"]}, cloud=destination)
    groups = {"groups": [orders], "replication_policy": mirrored.policy}
    output = done(
        controller.sync_mirror_maker_groups(source_lost=True, interval=1, run_for=600, verify="anchors", **groups)
    ).output
    says(output, "2 safe", "(checkpoint)")
    for partition in (0, 1):
        left = [each for each in unconsumed(source, orders, orders) if each[0] == partition]
        gets = [each for each in unconsumed(destination, orders, copy) if each[0] == partition]
        assert gets[len(gets) - len(left) :] == left  # nothing is lost


def test_the_rights_that_are_documented_are_enough(secured, topic, tmp_path):
    """One secured cluster is both, and MirrorMaker's own topics are such as it could have written."""
    source_alias, target_alias = f"here-{topic}", f"there-{topic}"
    copy, syncs, checkpoints = (
        f"{source_alias}.{topic}",
        f"mm2-offset-syncs.{target_alias}.internal",
        f"{source_alias}.checkpoints.internal",
    )
    for name in (topic, copy):
        create_topic(secured, name, retention_ms=-1)
        produce(secured, name, [Message(b"%d" % number, timestamp=1_700_000_000_000 + number) for number in range(60)])
    for name, record in ((syncs, offset_sync(topic, 0, 0, 0)), (checkpoints, checkpoint(topic, copy, 0, 20, 20))):
        create_topic(secured, name, cleanup_policy="compact")
        produce(secured, name, [record])
    commit(secured, topic, {(topic, 0): 42})
    user = secured.connection_as("migrator")
    controller = Controller(tmp_path / "user", onprem=user, cloud=user)
    groups = {
        "groups": [topic],
        "topics": [topic],
        "replication_policy": {"name": "default", "source_alias": source_alias, "target_alias": target_alias},
    }
    rights = {f"GROUP READ on {topic}"}
    rights |= {f"TOPIC {right} on {name}" for name in (topic, copy) for right in ("READ", "DESCRIBE_CONFIGS")}
    own = {f"TOPIC {right} on {name}" for name in (syncs, checkpoints) for right in ("READ", "DESCRIBE_CONFIGS")}
    grant(secured, rights)
    try:
        says(failed(controller.sync_mirror_maker_groups(**groups)), syncs)
        grant(secured, own)
        done(controller.sync_mirror_maker_groups(**groups))
    finally:
        revoke(secured, rights | own)
    assert committed(secured, topic)[copy, 0] == (42, "")
