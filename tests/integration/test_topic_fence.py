"""A fence keeps producers out, says who passes by, and is lifted exactly; while it stands, a group is cut over."""

import re
import time
from pathlib import Path

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.acl_requests import (
    create_acls,
    delete_acls,
    list_acls,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.acls import Acl
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from testbed.background import Background
from testbed.clients import Message, commit, committed, create_topic, grant, open_producer, produce, revoke
from tests.support.consumers import member, refusal
from tests.support.modules import refuses, run, succeeds
from tests.support.playbooks import Controller, done, failed

PAGE = Path(__file__).parents[2] / "docs/producers.md"
SECONDS = 20.0
NOW = int(time.time() * 1000) - 86_400_000


class Fence:
    """A fence over one topic of the secured cluster, at which the user migrator may write."""

    def __init__(self, secured, topic, folder):
        self.cluster, self.topic, self.folder = secured, topic, folder
        create_topic(secured, topic)

    def run(self, state="fenced", via=succeeds, receipt="topics-receipt.json", **options):
        its = {"topics": [self.topic], "idle_wait": 0.2, **options}
        connection = self.cluster.connection
        return via(
            "kafka_topic_promotion",
            source=connection,
            destination=connection,
            state=state,
            receipt=str(self.folder / receipt),
            **its,
        )

    def acls(self):
        return {str(acl) for acl in list_acls(connection_from(self.cluster.connection)) if acl.name == self.topic}

    def denied(self, principal="User:*", operation="WRITE"):
        return Acl("TOPIC", self.topic, "LITERAL", principal, "*", operation, "DENY")

    def write(self):
        """The name of the error with which a record of migrator is refused, None for one that is taken."""
        return refusal(self.cluster.connection_as("migrator"), self.topic)


@pytest.fixture
def fence(secured, topic, tmp_path):
    right = [f"TOPIC WRITE on {topic}"]
    made = Fence(secured, topic, tmp_path)
    grant(secured, right)
    yield made
    revoke(secured, right)


def test_a_fence_keeps_producers_out_until_it_is_lifted(fence):
    before = fence.acls()
    predicted = fence.run(check=True)
    assert fence.acls() == before and fence.write() is None
    made = fence.run()
    assert (made["changed"], made["acls"], made["fenced"]) == (True, predicted["acls"], [fence.topic])
    assert made["still_written"] == []
    assert fence.write() == "TOPIC_AUTHORIZATION_FAILED"
    assert not fence.run()["changed"]
    # A principal that was forgotten is added, and everything goes together.
    assert len(fence.run(read_principals=["User:mallory"])["acls"]) == 1
    assert fence.run("lifted", check=True)["changed"] and fence.write() is not None
    assert len(fence.run("lifted")["acls"]) == 2
    assert (fence.acls(), fence.write()) == (before, None)
    assert not fence.run("lifted")["changed"]


def test_a_fence_leaves_what_others_have_made_and_says_what_they_have_changed(fence):
    connection = connection_from(fence.cluster.connection)
    create_acls(connection, [fence.denied("User:mallory")])
    made = fence.run(principals=["User:mallory", "User:migrator"])
    # Another one says that MirrorMaker 2 may copy the fence, if a test has had one here.
    assert "stay when it is lifted" in dict(zip(made["note_kinds"], made["notes"], strict=True))["acl_changed"]
    delete_acls(connection, [fence.denied("User:migrator")])
    other = fence.run(receipt="other.json", principals=["User:*"])
    assert len(other["acls"]) == 1
    lifted = fence.run("lifted")
    assert not lifted["acls"] and lifted["changed"], "nothing is left to know"
    told = " ".join(lifted["notes"])
    assert (
        f"These ACLs stay, because this fence has not made them: {fence.denied()}, {fence.denied('User:mallory')}."
        in told
    )
    assert f"Somebody has removed these ACLs, or an earlier run has: {fence.denied('User:migrator')}." in told
    fence.run("lifted", receipt="other.json")
    assert str(fence.denied("User:mallory")) in fence.acls()
    delete_acls(connection, [fence.denied("User:mallory")])


def test_a_fence_is_lifted_topic_by_topic(fence):
    before = fence.acls()
    other = f"{fence.topic}-other"
    create_topic(fence.cluster, other)
    fence.run(topics=[fence.topic, other])
    refused = fence.run("lifted", refuses, topics=[fence.topic[:-1]])
    assert "neither the fence nor the cluster has" in refused and f"did you mean {fence.topic}" in refused
    lifted = fence.run("lifted", topics=[other])
    assert len(lifted["acls"]) == 1 and other in str(lifted["acls"])
    assert "These ACLs of the fence stay" in " ".join(lifted["notes"]) and fence.write() is not None
    assert not fence.run("lifted", topic_patterns=[".*-other"], topics=[])["changed"]
    assert fence.run("lifted", topics=[])["changed"]
    assert (fence.acls(), fence.write()) == (before, None)


def test_who_passes_by_is_named(fence):
    """A super user writes, whom no ACL stops."""
    producer = open_producer(fence.cluster, enable_idempotence=True)

    def write(over):
        while not over.wait(0.05):
            producer.produce(fence.topic, b"more")
            producer.flush(SECONDS)

    with Background(write):
        refused = fence.run(via=run, idle_wait=0.5)["msg"]
        assert "super users ignore ACLs" in refused and re.search(rf"{fence.topic}: \d+ records?, last at", refused)
        assert fence.denied().permission in " ".join(fence.acls()), "the fence stays"
        noted = fence.run(idle_wait=0.5, on_still_written="note")
        assert noted["still_written"][0]["topic"] == fence.topic and "still_written" in noted["note_kinds"]
    fence.run("lifted")


def test_a_transaction_that_was_open_before_is_named_until_it_has_ended(fence):
    """Its producer commits it although the fence stands."""
    name = f"{fence.topic}-flink"
    producer = open_producer(fence.cluster, transactional_id=name)
    producer.begin_transaction()
    producer.produce(fence.topic, b"undecided")
    producer.flush(SECONDS)
    refused = fence.run(via=run)["msg"]
    assert f"still open: {fence.topic} partition 0 from offset 0 on by {name}" in refused
    assert f"--topic {fence.topic} --partition 0 --start-offset 0" in refused
    noted = fence.run(on_still_written="note")
    assert (noted["note_kinds"], noted["still_written"]) == (["still_written"], [])
    producer.commit_transaction(SECONDS)
    assert fence.run()["note_kinds"] == []
    fence.run("lifted")


def test_what_cannot_be_fenced_is_refused(fence, source):
    before = fence.acls()
    assert "does not exist" in fence.run(via=refuses, topics=["nowhere"])
    assert "no topic is selected" in fence.run(via=refuses, topics=[])
    assert "the migration read these topics" in fence.run(via=refuses, read_principals=["User:*"])
    assert "the user of this run" in fence.run(via=refuses, read_principals=["User:admin"])
    assert "is no principal" in fence.run(via=refuses, principals=["migrator"])
    assert "there is no receipt file" in fence.run("lifted", via=refuses)
    fence.cluster, secured = source, fence.cluster
    create_topic(source, fence.topic)
    refused = fence.run(via=refuses)
    assert "has no authorizer" in refused and "stop the producers, change their passwords" in refused
    fence.cluster = secured
    fence.run()
    fence.cluster = source
    assert "made for another cluster" in fence.run("lifted", via=refuses)
    fence.cluster = secured
    fence.run("lifted")
    assert fence.acls() == before


def test_a_group_is_cut_over_while_a_fence_stands_which_stays_if_that_fails(fence, destination, topic, tmp_path):
    """The play of the documentation, as it stands there."""
    messages = [Message(b"%d" % number, b"key", (), NOW + number) for number in range(20)]
    create_topic(destination, topic, retention_ms=-1)
    for cluster in (fence.cluster, destination):
        produce(cluster, topic, messages)
    commit(fence.cluster, f"{topic}-billing", {(topic, 0): 5})
    play = re.search(r"```yaml\n(- name: Fence orders.*?)```", PAGE.read_text(), re.DOTALL)
    controller = Controller(tmp_path, onprem=fence.cluster, cloud=destination)
    (tmp_path / "cut_over.yml").write_text(
        play[1].replace("[orders]", f"[{topic}]").replace("[billing]", f"[{topic}-billing]")
    )
    words = ("-e", "group_migration_verify=anchors group_migration_idle_wait=0 group_migration_write_report=false")
    words = (*words, "-e", "topic_fence_idle_wait=0.2")
    before, files = fence.acls(), controller.files()
    done(controller.run(str(tmp_path / "cut_over.yml"), "--check", *words))
    assert (fence.acls(), controller.files(), committed(destination, f"{topic}-billing")) == (before, files, {})
    with member(fence.cluster, f"{topic}-billing", [topic], commits=False):
        assert "groups are in use" in failed(controller.run(str(tmp_path / "cut_over.yml"), *words))
    assert fence.write() == "TOPIC_AUTHORIZATION_FAILED" and committed(destination, f"{topic}-billing") == {}
    done(controller.run(str(tmp_path / "cut_over.yml"), *words, "-e", "topic_fence_phase=lift"))
    assert (fence.acls(), committed(destination, f"{topic}-billing")) == (before, {})
    played = done(controller.run(str(tmp_path / "cut_over.yml"), *words))
    assert "Consumers may start at the destination" in played.output
    assert fence.write() == "TOPIC_AUTHORIZATION_FAILED"
    copy = f"{topic}-copy"
    onto_itself = Controller(tmp_path, onprem=fence.cluster, cloud=fence.cluster)
    mapped = [{"name": topic, "to": copy}]
    said = done(onto_itself.promote_topics(topics=[topic], topic_map=mapped, acls="cutover")).output
    assert f"ACLs of the fence at the source are left out: {fence.denied()}." in said
    assert {str(acl) for acl in list_acls(connection_from(fence.cluster.connection)) if acl.name == copy} == {
        each.replace(topic, copy) for each in before
    }
    fence.run("lifted", receipt="kafka-fences/onprem/topics-receipt.json")
    assert fence.acls() == before
