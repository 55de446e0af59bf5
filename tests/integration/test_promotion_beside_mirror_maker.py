"""A promotion beside MirrorMaker 2's own sync of topics, settings and ACLs, from the same source to the same destination.

Each test is a row of the table in docs/promoting-topics.md, "Compared with MirrorMaker 2".
"""

import time
import typing as t
import uuid
from pathlib import Path

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.acl_requests import (
    create_acls,
    delete_acls,
    list_acls,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._control.configs import topic_configs
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topics import list_topics, partition_counts
from ansible_collections.streamshift.kafka.plugins.module_utils._model.acls import Acl
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from testbed.clients import create_topic, until
from testbed.mirror_maker import IDENTITY, MirrorMaker
from testbed.sandbox import start, stop
from tests.support.clusters import KafkaCluster
from tests.support.modules import Result, refuses
from tests.support.promotion import Promotion

SECONDS = 60.0
LONGEST = 249  # characters of a topic's name
LIMIT = "message.timestamp.before.max.ms"
# What the topic has at the source, and what its copies had at the destination before anybody touched them.
AT_SOURCE = {"retention_ms": 500_000, "message_timestamp_before_max_ms": 3_600_000}
BEFORE = {"retention_ms": 700_000, "segment_bytes": 2_097_152}


class Beside(t.NamedTuple):
    """A topic, and what its copies have become: by_tool and by_promotion are their names, same_name a copy with its own.

    asked: the options of the promotion that was run, with acls: mirror. predicted: what the dry run has said before.
    long: another topic, whose copies would have names that are too long. log: of MirrorMaker 2.
    """

    topic: str
    group: str
    promotion: Promotion
    asked: dict[str, t.Any]
    predicted: Result
    long: str
    log: Path

    @property
    def by_tool(self) -> str:
        return f"src.{self.topic}"

    @property
    def by_promotion(self) -> str:
        return f"promoted.{self.topic}"

    def settings(self, topic: str) -> dict[str, str]:
        """What is set on a topic of the destination itself."""
        return self.promotion.own(topic)

    def partitions(self, topic: str) -> int:
        """How many a topic of the destination has."""
        return self.promotion.partitions(topic)[topic]

    def acls(self, name: str, who: str) -> set[str]:
        """The ACLs of one principal on one name at the destination."""
        found = list_acls(connection_from(self.promotion.destination.connection))
        return {
            f"{acl.permission} {acl.operation}"
            for acl in found
            if (acl.name, acl.principal) == (name, principal(who, self.topic))
        }

    def at_cut_over(self) -> set[str]:
        """The ACLs that a promotion with acls: cutover would add."""
        found = self.promotion.run(check=True, **self.asked | {"acls": "cutover"})
        return {each["acl"] for each in found["acls"] if each["action"] == "add"}


def principal(who: str, topic: str) -> str:
    """A user whom no other test knows."""
    return f"User:{who}-{topic}"


def acls_of(topic: str, group: str) -> list[Acl]:
    """One user for each row of the table that is about ACLs."""

    def acl(
        who: str, permission: str, operation: str, name: str = topic, *, on: str = "TOPIC", as_: str = "LITERAL"
    ) -> Acl:
        return Acl(on, name, as_, principal(who, topic), "*", operation, permission)

    return [
        acl("no-writer", "DENY", "WRITE"),
        acl("nobody", "DENY", "ALL"),
        acl("owner", "ALLOW", "ALL"),
        acl("by-prefix", "ALLOW", "READ", f"{topic[:-1]}", as_="PREFIXED"),
        acl("of-group", "ALLOW", "READ", group, on="GROUP"),
        acl("of-any", "ALLOW", "READ", "*"),
    ]


@pytest.fixture(scope="module")
def beside(secured: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Beside]:
    folder = tmp_path_factory.mktemp("beside")
    tag = uuid.uuid4().hex[:8]
    topic, group = f"beside-{tag}", f"group-beside-{tag}"
    create_topic(secured, topic, 2, **AT_SOURCE)
    create_topic(secured, f"src.{topic}-old")
    long = f"long-{tag}".ljust(LONGEST, "-")
    create_topic(secured, long)
    given = acls_of(topic, group)
    source = connection_from(secured.connection)
    create_acls(source, given)
    destination = KafkaCluster(start("beside", folder, secured=True))
    try:
        for copy in (f"src.{topic}", f"promoted.{topic}"):
            create_topic(destination, copy, 1, **BEFORE)
        log = _let_mirror_maker_sync(folder / "mirror-maker", secured, destination, topic, long)
        promotion = Promotion(folder, secured, destination)
        asked = {
            "topics": [topic],
            "topic_map": [{"pattern": "(.*)", "to": r"promoted.\1"}],
            "on_fewer_partitions": "grow",
            "acls": "mirror",
            "acl_groups": [group],
            "acl_wildcards": True,
        }
        predicted = promotion.run(check=True, diff=True, **asked)
        promotion.run(**asked)
        yield Beside(topic, group, promotion, asked, predicted, long, log)
    finally:
        delete_acls(source, given)
        stop("beside", folder)


def _let_mirror_maker_sync(
    folder: Path, source: KafkaCluster, destination: KafkaCluster, topic: str, long: str
) -> Path:
    """Under the default policy's names and, as a second flow, under the topic's own; until all of it is there. -> its log."""
    # Where topics are selected by .*, as they mostly are, the name of the ACL on * is matched, too.
    flows = {"src->dst": f"{topic},{long},src.{topic}-old,[*]", "same->names": topic}
    settings: dict[str, t.Any] = {
        "clusters": "src, dst, same, names",
        "sync.topic.acls.enabled": "true",
        "sync.topic.acls.interval.seconds": 1,
        "sync.topic.configs.interval.seconds": 1,
        "emit.checkpoints.enabled": "false",
        "emit.heartbeats.enabled": "false",  # or it starts flows back, too
        "same.bootstrap.servers": ",".join(source.bootstrap_servers),
        "names.bootstrap.servers": ",".join(destination.bootstrap_servers),
        "same->names.enabled": "true",
        "same->names.replication.policy.class": IDENTITY,
        **{f"{flow}.topics": names for flow, names in flows.items()},
    }
    target = connection_from(destination.connection)

    def missing() -> set[str]:
        names = set(list_topics(target))
        wanted = {f"src.src.{topic}-old", topic}
        if wanted - names:
            return wanted - names
        own = topic_configs(target, [f"src.{topic}"])[f"src.{topic}"].own
        on_names = {acl.name for acl in list_acls(target)}
        rest = {name for name in (f"src.{topic}", topic, "src.*") if name not in on_names}
        if own.get("retention.ms") != str(AT_SOURCE["retention_ms"]):
            rest.add("the settings")
        if partition_counts(target, [f"src.{topic}"])[f"src.{topic}"] < 2:
            rest.add("the partitions")
        return rest

    with MirrorMaker(folder, source, destination, identity=False, sync_groups=False, more=settings):
        until(lambda: not missing(), SECONDS, lambda: f"MirrorMaker 2 has not made {missing()}", 0.5)
        time.sleep(3)  # another sync of settings and ACLs: what it leaves out now, it leaves out
    return folder / "mirror-maker.log"


def test_settings_that_only_the_destination_has(beside):
    assert "segment.bytes" not in beside.settings(beside.by_tool)
    assert beside.settings(beside.by_promotion)["segment.bytes"] == "2097152"
    exact = beside.promotion.run(check=True, **beside.asked | {"settings": "exact"})
    assert exact["topics"][0]["settings"]["segment.bytes"]["after"] is None


def test_a_value_that_was_changed_at_the_destination(beside):
    assert beside.settings(beside.by_tool)["retention.ms"] == "500000"
    assert beside.settings(beside.by_promotion)["retention.ms"] == "500000"
    (diff,) = [each for each in beside.predicted["diff"] if beside.by_promotion in each["before_header"]]
    assert "retention.ms: 700000" in diff["before"]
    assert "retention.ms: 500000" in diff["after"]


def test_values_that_differ_between_environments(beside):
    overrides = [{"topics": [beside.topic], "settings": {"retention.ms": "900000"}}]
    found = beside.promotion.run(check=True, **beside.asked | {"overrides": overrides})
    assert found["topics"][0]["settings"]["retention.ms"] == {
        "before": "500000",
        "after": "900000",
        "origin": "override",
    }


def test_fewer_partitions_at_the_destination(beside):
    assert beside.partitions(beside.by_tool) == 2
    assert beside.partitions(beside.by_promotion) == 2
    create_topic(beside.promotion.destination, f"another.{beside.topic}", 1)
    asked = beside.asked | {"topic_map": [{"pattern": "(.*)", "to": r"another.\1"}], "on_fewer_partitions": "fail"}
    assert "has 1 partition" in beside.promotion.run(refuses, **asked)
    assert beside.partitions(f"another.{beside.topic}") == 1


def test_a_topic_that_has_the_prefix_of_the_policy_already(beside):
    old = f"src.{beside.topic}-old"
    assert f"src.{old}" in list_topics(connection_from(beside.promotion.destination.connection))
    policy = {"name": "default", "source_alias": "src"}
    asked = beside.asked | {"topics": [old], "topic_map": [], "replication_policy": policy}
    assert old in beside.promotion.run(refuses, **asked)


def test_timestamp_limits(beside):
    assert beside.settings(beside.by_tool)[LIMIT] == "3600000"
    assert LIMIT not in beside.settings(beside.by_promotion)


@pytest.mark.parametrize(
    ("who", "denied", "meanwhile"), [("no-writer", "WRITE", set()), ("nobody", "ALL", {"DENY READ"})]
)
def test_an_acl_that_denies_to_write(beside, who, denied, meanwhile):
    assert beside.acls(beside.by_tool, who) == {f"DENY {denied}"}
    assert beside.acls(beside.topic, who) == {f"DENY {denied}"}, "the identity policy: it hits the live name"
    assert beside.acls(beside.by_promotion, who) == meanwhile
    its = f"DENY {denied} on TOPIC {beside.by_promotion} for {principal(who, beside.topic)}"
    assert its in beside.at_cut_over()


def test_an_acl_that_allows_everything(beside):
    assert beside.acls(beside.by_tool, "owner") == {"ALLOW READ"}
    assert beside.acls(beside.by_promotion, "owner") == {"ALLOW READ", "ALLOW DESCRIBE", "ALLOW DESCRIBE_CONFIGS"}


def test_an_acl_on_a_prefix_and_on_a_group(beside):
    tool = list_acls(connection_from(beside.promotion.destination.connection))
    assert not [acl for acl in tool if acl.name.startswith("src.") and acl.pattern == "PREFIXED"]
    assert beside.acls(beside.by_promotion[:-1], "by-prefix") == {"ALLOW READ"}
    assert beside.acls(beside.group, "of-group") == {"ALLOW READ"}


def test_an_acl_on_everything(beside):
    assert beside.acls("src.*", "of-any") == {"ALLOW READ"}
    assert [
        acl.pattern
        for acl in list_acls(connection_from(beside.promotion.destination.connection))
        if acl.name == "src.*"
    ] == ["LITERAL"]
    assert beside.acls("*", "of-any") == {"ALLOW READ"}


def test_what_fails(beside):
    assert f"Could not create topic src.{beside.long}" in beside.log.read_text()  # and it has gone on with all others
    asked = beside.asked | {
        "topics": [beside.topic, beside.long],
        "overrides": [{"topics": [beside.topic], "settings": {"retention.ms": "900000"}}],
    }
    said = beside.promotion.run(refuses, **asked)
    assert f"promoted.{beside.long}" in said and "249" in said
    assert beside.settings(beside.by_promotion)["retention.ms"] == "500000"  # nothing is changed, of the others either


def test_the_way_back(beside):
    beside.promotion.carefully(state="rolled_back")
    assert beside.settings(beside.by_promotion) == {"retention.ms": "700000", "segment.bytes": "2097152"}
    assert beside.acls(beside.by_promotion, "owner") == set()
