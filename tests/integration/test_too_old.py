"""A role that is asked for what the brokers are too old for refuses it once, before it writes anything to a cluster.

The message has the version that was found, and the one that is needed.
"""

import re
import uuid

import pytest

from testbed.clients import Message, commit, committed, create_topic, list_groups, produce
from tests.support.playbooks import Controller, failed

NO_GROUP_IS_REMOVED = (
    r"cannot remove groups: they do not offer DeleteGroups 0, which Kafka has since 1\.1, nor any version of it"
)
NO_COPY = (
    r"OffsetFetch 7, which Kafka has since 2\.5, but only OffsetFetch 3\. Copy the backlog to brokers of Kafka 2\.5"
)
NO_SETTINGS = r"IncrementalAlterConfigs 0, which Kafka has since 2\.3, nor any version of it"
NO_GROWTH = r"CreatePartitions 0, which Kafka has since 1\.0, nor any version of it"


@pytest.fixture(scope="module")
def orders(source, kafka011):
    """A group, a topic of its name with other settings on each cluster, and one with more partitions at the source."""
    topic = f"too-old-{uuid.uuid4().hex[:8]}"
    for cluster, wide, settings in ((source, 2, {"max_message_bytes": 500_000}), (kafka011, 1, {})):
        create_topic(cluster, topic, **settings)
        create_topic(cluster, f"{topic}-wide", wide)
        produce(cluster, topic, [Message(b"%d" % n) for n in range(20)])
        commit(cluster, topic, {(topic, 0): 5})
    return topic


@pytest.fixture
def controller(source, kafka011, tmp_path):
    """The old cluster is called onprem where a role works inside one cluster, and is the destination of all others."""
    return Controller(tmp_path / "infrastructure", onprem=kafka011, cloud=kafka011, new=source)


def rename(topic, **variables):
    names = {"groups": [topic], "group_map": [{"name": topic, "to": f"{topic}-new"}], "remove_source_groups": True}
    return lambda controller, *words: controller.clone_groups(*words, **names, **variables)


def backlog(topic, **variables):
    return lambda controller, *words: controller.migrate_backlog(*words, source="new", groups=[topic], **variables)


def promotion(topic, of="", **variables):
    return lambda controller, *words: controller.promote_topics(
        *words, source="new", topics=[f"{topic}{of}"], **variables
    )


CASES = {
    "a rename": (rename, (), {}, NO_GROUP_IS_REMOVED),
    "a backlog": (backlog, (), {}, NO_COPY),
    # What writes to no cluster refuses it, too.
    "the plan of settings": (promotion, (), {"phase": "plan"}, NO_SETTINGS),
    "a dry run of partitions": (promotion, ("--check",), {"of": "-wide", "on_fewer_partitions": "grow"}, NO_GROWTH),
}


@pytest.mark.parametrize(("role", "words", "variables", "refusal"), CASES.values(), ids=CASES)
def test_it_is_refused_before_anything_is_written(controller, kafka011, orders, role, words, variables, refusal):
    played = role(orders, **variables)(controller, *words)
    output = failed(played)
    assert re.search(refusal, output), output
    assert output.count("[ERROR]") == 1
    assert committed(kafka011, orders) == {(orders, 0): (5, "")}
    assert f"{orders}-new" not in list_groups(kafka011)
