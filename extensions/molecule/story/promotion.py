# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What happens around a promotion in molecule's scenario, looked at with a client that is not the collection's.

promotion.py SANDBOX NAME fill              NAME.orders and NAME.clicks with ACLs on staging; production has another NAME.clicks
promotion.py SANDBOX NAME untouched         fail unless production is as before
promotion.py SANDBOX NAME proof_of_mirror   fail unless production has the topics and settings, and only ACLs for reading
promotion.py SANDBOX NAME proof_of_cutover  fail unless production has every ACL of staging, too
promotion.py SANDBOX NAME drift             somebody changes a setting and an ACL of NAME.orders on production
promotion.py SANDBOX NAME restored          fail unless production is as before the promotion
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "roles/kafka_sandbox/files")]

import kafka.errors
from kafka.admin import (
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    KafkaAdminClient,
    ResourcePatternFilter,
    ResourceType,
)

from kafka_sandbox import Cluster, describe
from testbed.clients import change_topic, create_topic, partitions_of, topic_settings
from tests.support.rights import grant, revoke

BILLING = "User:billing"


def fill(staging: Cluster, production: Cluster, name: str) -> None:
    create_topic(staging, f"{name}.orders", 3, retention_ms=3_600_000)
    create_topic(staging, f"{name}.clicks", 2, retention_ms=7_200_000)
    create_topic(production, f"{name}.clicks", 2, retention_ms=1000, segment_ms=60_000)
    grant(staging, [f"TOPIC ALL on {name}.orders", f"TOPIC WRITE on {name}.clicks"], BILLING)


def untouched(staging: Cluster, production: Cluster, name: str) -> None:
    assert not _exists(production, f"{name}.orders")
    assert _settings(production, f"{name}.clicks") == ("1000", "60000")
    assert acls(production, name) == set()


def proof_of_mirror(staging: Cluster, production: Cluster, name: str) -> None:
    assert len(partitions_of(production, f"{name}.orders")) == 3
    assert topic_settings(production, f"{name}.orders")["retention.ms"] == "86400000"
    assert _settings(production, f"{name}.clicks") == ("7200000", "60000")
    reading = {("orders", operation) for operation in ("READ", "DESCRIBE", "DESCRIBE_CONFIGS")}
    assert acls(production, name) == reading


def proof_of_cutover(staging: Cluster, production: Cluster, name: str) -> None:
    assert acls(production, name) >= acls(staging, name) == {("orders", "ALL"), ("clicks", "WRITE")}


def drift(staging: Cluster, production: Cluster, name: str) -> None:
    change_topic(production, f"{name}.orders", retention_ms=1)
    revoke(production, [f"TOPIC ALL on {name}.orders"], BILLING)


def acls(cluster: Cluster, name: str) -> set[tuple[str, str]]:
    """The topics without the story's name, and the operations that billing is allowed on them."""
    everything = ACLFilter(
        principal=BILLING,
        host=None,
        operation=ACLOperation.ANY,
        permission_type=ACLPermissionType.ALLOW,
        resource_pattern=ResourcePatternFilter(ResourceType.TOPIC, None, ACLResourcePatternType.ANY),
    )
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=list(cluster.bootstrap_servers))) as client:
        found, _error = client.describe_acls(everything)
    names = [(each.resource_pattern.resource_name, each.operation.name) for each in found]
    return {(topic.removeprefix(f"{name}."), operation) for topic, operation in names if topic.startswith(f"{name}.")}


def _settings(cluster: Cluster, topic: str) -> tuple[str, str]:
    found = topic_settings(cluster, topic)
    return found["retention.ms"], found["segment.ms"]


def _exists(cluster: Cluster, topic: str) -> bool:
    try:
        return bool(partitions_of(cluster, topic))
    except kafka.errors.UnknownTopicOrPartitionError:
        return False


def main() -> None:
    sandbox, name, what = sys.argv[1:]
    steps = {
        "fill": fill,
        "untouched": untouched,
        "proof_of_mirror": proof_of_mirror,
        "proof_of_cutover": proof_of_cutover,
        "drift": drift,
        "restored": untouched,
    }
    staging, production = describe("staging", sandbox), describe("production", sandbox)
    if staging is None or production is None:
        sys.exit(f"staging and production do not run in {sandbox}")
    steps[what](staging, production, name)


if __name__ == "__main__":
    main()
