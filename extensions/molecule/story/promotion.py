"""What happens around promotions in molecule's scenario, looked at with a client that is not the collection's.

promotion.py SANDBOX NAME fill              topics with ACLs on development; the others have another NAME.clicks
promotion.py SANDBOX NAME untouched         fail unless staging and production are as before
promotion.py SANDBOX NAME proof_of_mirror   fail unless both have the topics with their own settings, and only ACLs for reading
promotion.py SANDBOX NAME proof_of_cutover  fail unless both have every ACL of development, too
promotion.py SANDBOX NAME drift             somebody changes a setting and an ACL of NAME.orders on staging
promotion.py SANDBOX NAME restored          fail unless staging and production are as before the promotions
"""

from __future__ import annotations

import typing as t

from stage import play

from kafka_sandbox import Cluster
from testbed.clients import (
    NoSuchTopic,
    allowed_on_topics,
    change_topic,
    create_topic,
    grant,
    partitions_of,
    revoke,
    topic_settings,
)

BILLING = "User:billing"
ENVIRONMENTS = ("development", "staging", "production")
HOUR, DAY = 3_600_000, 86_400_000


class Clusters(t.NamedTuple):
    """The environments, in the order in which topics are promoted."""

    development: Cluster
    staging: Cluster
    production: Cluster


def fill(clusters: Clusters, name: str) -> None:
    create_topic(clusters.development, f"{name}.orders", 3, retention_ms=HOUR)
    create_topic(clusters.development, f"{name}.clicks", 2, retention_ms=2 * HOUR)
    grant(clusters.development, [f"TOPIC ALL on {name}.orders", f"TOPIC WRITE on {name}.clicks"], BILLING)
    create_topic(clusters.staging, f"{name}.clicks", 2, retention_ms=1000, segment_ms=60_000)
    create_topic(clusters.production, f"{name}.clicks", 2, retention_ms=2000, flush_ms=5000)


def untouched(clusters: Clusters, name: str) -> None:
    for cluster in (clusters.staging, clusters.production):
        assert not _exists(cluster, f"{name}.orders")
        assert acls(cluster, name) == set()
    assert _settings(clusters.staging, f"{name}.clicks") == {"retention.ms": 1000, "segment.ms": 60_000}
    assert _settings(clusters.production, f"{name}.clicks") == {"retention.ms": 2000, "flush.ms": 5000}


def proof_of_mirror(clusters: Clusters, name: str) -> None:
    for cluster in (clusters.staging, clusters.production):
        assert len(partitions_of(cluster, f"{name}.orders")) == 3
        assert acls(cluster, name) == {("orders", each) for each in ("READ", "DESCRIBE", "DESCRIBE_CONFIGS")}
    assert _settings(clusters.staging, f"{name}.orders") == {"retention.ms": DAY}
    assert _settings(clusters.staging, f"{name}.clicks") == {"retention.ms": 2 * HOUR, "segment.ms": 60_000}
    everywhere = {"max.message.bytes": 2_097_152}
    assert _settings(clusters.production, f"{name}.orders") == everywhere | {"retention.ms": 7 * DAY}
    clicks = {"retention.ms": 2 * DAY, "segment.ms": 60_000, "flush.ms": 5000}
    assert _settings(clusters.production, f"{name}.clicks") == everywhere | clicks


def proof_of_cutover(clusters: Clusters, name: str) -> None:
    wanted = {("orders", "ALL"), ("clicks", "WRITE")}
    assert acls(clusters.development, name) == wanted
    assert acls(clusters.staging, name) > wanted
    assert acls(clusters.production, name) > wanted


def drift(clusters: Clusters, name: str) -> None:
    change_topic(clusters.staging, f"{name}.orders", retention_ms=1)
    revoke(clusters.staging, [f"TOPIC ALL on {name}.orders"], BILLING)


def restored(clusters: Clusters, name: str) -> None:
    untouched(clusters, name)


def acls(cluster: Cluster, name: str) -> set[tuple[str, str]]:
    """The topics without the story's name, and the operations that billing is allowed on them."""
    found = allowed_on_topics(cluster, BILLING)
    return {(topic.removeprefix(f"{name}."), operation) for topic, operation in found if topic.startswith(f"{name}.")}


def _settings(cluster: Cluster, topic: str) -> dict[str, int]:
    return {name: int(value) for name, value in topic_settings(cluster, topic).items()}


def _exists(cluster: Cluster, topic: str) -> bool:
    try:
        return bool(partitions_of(cluster, topic))
    except NoSuchTopic:
        return False


if __name__ == "__main__":
    play(
        (fill, untouched, proof_of_mirror, proof_of_cutover, drift, restored),
        ENVIRONMENTS,
        lambda *given: (Clusters(*given[:3]), given[3]),
    )
