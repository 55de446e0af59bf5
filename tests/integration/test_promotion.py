"""Topics, partitions, settings and ACLs follow the source, on real brokers of every version."""

import json
import re

import pytest

from testbed.clients import Message, commit, create_topic, produce
from tests.support.modules import refuses
from tests.support.promotion import Promotion


def test_topics_and_settings_follow_the_source_and_go_back(cluster, destination, topic, tmp_path):
    promotion = Promotion(tmp_path, cluster, destination)
    old, new = f"{topic}-old", f"{topic}-new"
    create_topic(promotion.source, new, 3, retention_ms=5000, min_insync_replicas=1)
    create_topic(promotion.source, old, 2, retention_ms=6000, cleanup_policy="compact,delete")
    create_topic(promotion.destination, old, 2, segment_ms=7000, retention_ms=1)
    overrides = [
        {"topics": [".*-new"], "settings": {"retention.ms": 8000}},
        {"topics": [f"{topic}.*"], "settings": {"retention.ms": 9000, "preallocate": True}},
    ]
    options = {"topic_patterns": [f"{topic}-.*"], "overrides": overrides}
    done = promotion.carefully(**options)
    assert promotion.partitions(new, old) == {new: 3, old: 2}
    assert promotion.own(new) == {"retention.ms": "8000", "preallocate": "true"}
    merged = {"retention.ms": "9000", "preallocate": "true", "cleanup.policy": "compact,delete", "segment.ms": "7000"}
    assert promotion.own(old) == merged
    assert [each["topic"] for each in done["topics"]] == [new, old]
    assert done["topics"][1]["settings"]["retention.ms"] == {"before": "1", "after": "9000", "origin": "override"}
    assert [each["before_header"] for each in done["diff"]] == [f"{new} (before)", f"{old} (before)"]
    assert "retention.ms: 9000  # override\n" in done["diff"][1]["after"]

    promotion.carefully(**options, settings="exact", keep_settings=["preallocate"])
    assert promotion.own(old) == {name: value for name, value in merged.items() if name != "segment.ms"}

    back = promotion.carefully(state="rolled_back", remove_created=True)
    assert promotion.own(old) == {"segment.ms": "7000", "retention.ms": "1"}
    assert promotion.partitions(new, old) == {old: 2}
    assert f"{new}: deleted" in back["summary"]


def test_a_topic_that_was_used_stays_when_what_was_made_is_removed(promotion, topic):
    names = [f"{topic}-{each}" for each in ("filled", "read", "unused")]
    for name in names:
        create_topic(promotion.source, name)
    promotion.run(topics=names)
    produce(promotion.destination, names[0], [Message(b"one")])
    commit(promotion.destination, topic, {(names[1], 0): 0})
    kept = promotion.carefully(state="rolled_back")
    assert kept["changed"] is False and "because remove_created is false" in kept["notes"][0]
    back = promotion.carefully(state="rolled_back", remove_created=True)
    assert back["notes"] == [
        f"{names[0]} stays, because it holds records.",
        f"{names[1]} stays, because groups have committed offsets on it: {topic}.",
    ]
    assert promotion.partitions(*names) == dict.fromkeys(names[:2], 1)


def test_partitions_are_added_only_as_asked_for(promotion, topic):
    empty, filled, larger = (f"{topic}-{each}" for each in ("empty", "filled", "larger"))
    for name in (empty, filled):
        create_topic(promotion.source, name, 3)
        create_topic(promotion.destination, name, 2)
    create_topic(promotion.source, larger, 1)
    create_topic(promotion.destination, larger, 4)
    produce(promotion.destination, filled, [Message(b"one")])
    commit(promotion.destination, topic, {(filled, 0): 1})
    options = {"topics": [empty, filled, larger]}
    assert f"topic {empty}: the topic has 2 partitions, and {empty} has 3" in promotion.run(refuses, **options)
    said = promotion.run(refuses, on_fewer_partitions="grow_empty", **options)
    assert f"topic {filled}: the topic has 2 partitions and holds records, and {filled} has 3 at the source" in said
    assert promotion.files() == {}
    left = promotion.carefully(on_fewer_partitions="leave", **options)
    assert "on_fewer_partitions leaves it so" in left["notes"][0]
    promotion.carefully(on_fewer_partitions="grow_empty", topics=[empty])
    done = promotion.carefully(on_fewer_partitions="grow", **options)
    assert f"{filled} grows from 2 to 3 partitions" in done["notes"][0]
    assert f"Groups that read it: {topic}." in done["notes"][0]
    assert f"{larger} has 4 partitions, and {larger} has 1 at the source. It stays so" in done["notes"][1]
    assert promotion.partitions(empty, filled, larger) == {empty: 3, filled: 3, larger: 4}
    back = promotion.run(state="rolled_back")
    assert f"{filled} keeps the 1 partition that a promotion has added" in " ".join(back["notes"])


@pytest.mark.parametrize("version", ["destination", "old"])
def test_settings_that_brokers_show_otherwise_settle_and_go_back(tmp_path, source, topic, version, request):
    promotion = Promotion(tmp_path, source, request.getfixturevalue(version))
    create_topic(source, topic, 1, min_cleanable_dirty_ratio="0.25", cleanup_policy="compact")
    create_topic(promotion.destination, topic, 1, min_cleanable_dirty_ratio="0.75", retention_ms=5)
    given = {"min.cleanable.dirty.ratio": "0.0001", "cleanup.policy": "compact , delete", "preallocate": "FALSE"}
    given |= {"retention.ms": "+0005000"}
    options = {"topics": [topic], "overrides": [{"topics": [".*"], "settings": given}]}
    promotion.carefully(**options)
    for other in ("0.50", "1"):
        options["overrides"][0]["settings"]["min.cleanable.dirty.ratio"] = other
        promotion.carefully(**options)
    assert promotion.run(**options)["changed"] is False
    back = promotion.carefully(state="rolled_back")
    assert back["notes"] == []
    assert promotion.own(topic) == {"min.cleanable.dirty.ratio": "0.75", "retention.ms": "5"}


@pytest.mark.parametrize("version", ["kafka39", "old"])
def test_an_older_destination_follows_too(tmp_path, source, topic, version, request):
    promotion = Promotion(tmp_path, source, request.getfixturevalue(version))
    create_topic(source, topic, 2, retention_ms=5000)
    create_topic(source, f"{topic}-small", 2)
    create_topic(promotion.destination, f"{topic}-small", 1, retention_ms=1)
    promotion.carefully(topic_patterns=[f"{topic}.*"], on_fewer_partitions="grow_empty")
    assert promotion.partitions(topic, f"{topic}-small") == {topic: 2, f"{topic}-small": 2}
    assert promotion.own(topic) == {"retention.ms": "5000"}
    if version == "old":
        options = {"topics": [topic], "overrides": [{"topics": [".*"], "settings": {"remote.storage.enable": False}}]}
        said = promotion.run(refuses, **options)
        assert f"the brokers do not know the setting remote.storage.enable of {topic}" in said
        left = promotion.carefully(**options, on_unknown_setting="leave")
        assert left["notes"] == [f"{topic}: the brokers do not know remote.storage.enable, which is left out."]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"overrides": [{"topics": [".*"], "settings": {"retention.ms": "soon", "segment.ms": "5000"}}]}, r"soon"),
        ({"acls": "mirror"}, r"the cluster has no authorizer, so it has no ACLs\. Set acls to none"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(promotion, topic, options, why):
    create_topic(promotion.source, topic)
    create_topic(promotion.source, f"{topic}-new")
    create_topic(promotion.destination, topic, retention_ms=1)
    said = promotion.run(refuses, **{"topics": [topic, f"{topic}-new"], **options})
    assert re.search(why, said), said
    assert promotion.files() == {}
    assert promotion.partitions(topic, f"{topic}-new") == {topic: 1}
    assert promotion.own(topic) == {"retention.ms": "1"}


def test_a_cluster_is_not_promoted_to_itself(tmp_path, source, topic):
    promotion = Promotion(tmp_path, source, source)
    create_topic(source, topic)
    assert "source and destination are one cluster" in promotion.run(refuses, topics=[topic])
    promotion.carefully(topics=[topic], topic_map=[{"name": topic, "to": f"{topic}-clone"}])
    assert promotion.partitions(f"{topic}-clone") == {f"{topic}-clone": 1}
    assert json.loads(promotion.receipt_file.read_text())["entries"][0]["created"] is True
