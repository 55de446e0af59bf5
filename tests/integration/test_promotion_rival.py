# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A real MirrorMaker 2's sync of topics, settings and ACLs, and a promotion of the same: the table of promoting-topics.md."""

from __future__ import annotations

import time

from ansible_collections.streamshift.kafka.plugins.module_utils._control.acl_requests import (
    create_acls,
    delete_acls,
    list_acls,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topics import list_topics
from ansible_collections.streamshift.kafka.plugins.module_utils._model.acls import Acl
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from demo.clients import change_topic, create_topic
from demo.mirror_maker import MirrorMaker
from tests.support.modules import refuses
from tests.support.promotion import Promotion

SECONDS = 90.0
WHO = "User:rival"


def acl(name, operation, permission="ALLOW", resource="TOPIC", pattern="LITERAL"):
    return Acl(resource, name, pattern, WHO, "*", operation, permission)


def test_what_mirror_maker_does_and_what_a_promotion_does(tmp_path, secured, topic):
    """One cluster is both: MirrorMaker 2 copies to src.NAME, the promotion to ours.NAME."""
    connection = connection_from(secured.connection)
    fewer, has_prefix = f"{topic}-fewer", f"src.{topic}-prefixed"
    create_topic(secured, topic, 2, retention_ms=5000, message_timestamp_after_max_ms=60_000)
    create_topic(secured, fewer, 2)
    create_topic(secured, has_prefix)
    for prefix in ("src", "ours"):
        create_topic(secured, f"{prefix}.{topic}", 2, segment_ms=7000, retention_ms=1)
        create_topic(secured, f"{prefix}.{fewer}", 1)
    everyone = acl("*", "DESCRIBE")
    source_acls = [
        acl(topic, "ALL"),
        acl(topic, "WRITE", "DENY"),
        acl(f"{topic}-", "READ", pattern="PREFIXED"),
        acl(topic, "READ", resource="GROUP"),
        everyone,
    ]
    create_acls(connection, source_acls)
    more = {
        "sync.topic.acls.enabled": "true",
        "sync.topic.acls.interval.seconds": 1,
        "emit.heartbeats.enabled": "false",
        "emit.checkpoints.enabled": "false",
    }
    chosen = f"{topic},{fewer},{has_prefix}".replace(".", r"\\.")
    promotion = Promotion(tmp_path, secured, secured)
    try:
        with MirrorMaker(
            tmp_path / "mm2", secured, secured, topics=chosen, identity=False, sync_groups=False, more=more
        ):
            theirs = synced(connection, promotion, topic, fewer)
        policy = {"name": "default", "source_alias": "ours"}
        options = {"replication_policy": policy, "acls": "mirror", "acl_groups": [topic], "topics": [topic, fewer]}
        said = promotion.run(refuses, **options)
        promotion.carefully(**options, on_fewer_partitions="grow_empty", acl_wildcards=True)
        ours = acls_of(connection)

        # settings that only the destination has
        assert "segment.ms" not in promotion.own(f"src.{topic}")
        assert promotion.own(f"ours.{topic}")["segment.ms"] == "7000"
        # values that the source sets
        assert promotion.own(f"src.{topic}")["retention.ms"] == promotion.own(f"ours.{topic}")["retention.ms"] == "5000"
        # fewer partitions at the destination
        assert f"topic ours.{fewer}: the topic has 1 partition, and {fewer} has 2 at the source" in said
        assert promotion.partitions(f"src.{fewer}", f"ours.{fewer}") == {f"src.{fewer}": 2, f"ours.{fewer}": 2}
        # a topic that has the prefix of the policy already
        assert f"src.{has_prefix}" in list_topics(connection)
        refused = promotion.run(refuses, topics=[has_prefix], replication_policy=policy | {"source_alias": "src"})
        assert f"topic {has_prefix}: the topic has the prefix src. already" in refused
        # timestamp limits of the topic
        assert promotion.own(f"src.{topic}")["message.timestamp.after.max.ms"] == "60000"
        assert "message.timestamp.after.max.ms" not in promotion.own(f"ours.{topic}")
        # an ACL that denies WRITE
        assert acl(f"src.{topic}", "WRITE", "DENY") in theirs
        assert acl(f"ours.{topic}", "WRITE", "DENY") not in ours
        # an ACL that allows ALL
        assert {each.operation for each in theirs if each[:2] == ("TOPIC", f"src.{topic}")} == {"READ", "WRITE"}
        allowed = {each.operation for each in ours if each[:2] == ("TOPIC", f"ours.{topic}")}
        assert allowed == {"READ", "DESCRIBE", "DESCRIBE_CONFIGS"}
        # an ACL on a prefix
        assert not [each for each in theirs if each.name == f"src.{topic}-"]
        assert acl(f"ours.{topic}-", "READ", pattern="PREFIXED") in ours
        # an ACL on *
        assert acl("src.*", "DESCRIBE") in theirs
        assert everyone in ours
        assert acl("ours.*", "DESCRIBE") not in ours
        # a value that is changed at the destination, and a way back
        change_topic(secured, f"ours.{topic}", retention_ms=3)
        shown = promotion.run(**options, on_fewer_partitions="grow_empty", acl_wildcards=True, check=True)
        assert shown["summary"] == [f"ours.{topic}: retention.ms 3 -> 5000 (source)"]
        promotion.run(state="rolled_back")
        assert promotion.own(f"ours.{topic}") == {"segment.ms": "7000", "retention.ms": "3"}
    finally:
        delete_acls(connection, acls_of(connection))


def acls_of(connection):
    return {each for each in list_acls(connection) if each.principal == WHO}


def synced(connection, promotion, topic, fewer):
    """MirrorMaker 2's ACLs, once it has synced topics, settings and ACLs."""
    end = time.monotonic() + SECONDS
    while True:
        found = acls_of(connection)
        names = {each.name for each in found}
        if (
            {f"src.{topic}", "src.*"} <= names
            and promotion.own(f"src.{topic}").get("retention.ms") == "5000"
            and promotion.partitions(f"src.{fewer}")[f"src.{fewer}"] == 2
        ):
            return found
        assert time.monotonic() < end, (found, promotion.own(f"src.{topic}"), promotion.partitions(f"src.{fewer}"))
        time.sleep(0.5)
