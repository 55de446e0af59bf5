# SPDX-License-Identifier: GPL-3.0-or-later

"""The question about promotion: what does it cost to make topics like those of the source, and to compare them?"""

from __future__ import annotations

import contextlib
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._control.acl_requests import create_acls, list_acls
from ansible_collections.streamshift.kafka.plugins.module_utils._control.configs import topic_configs
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topic_changes import create_topics
from ansible_collections.streamshift.kafka.plugins.module_utils._model.acls import Acl
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.new_topics import NewTopic
from testbed.sandbox import start, stop
from tests.benchmark.bed import HEAP, Bed
from tests.benchmark.measure import Run, run_module
from tests.benchmark.tables import connection, row, title

TOPICS, PARTITIONS = 2_000, 3
MADE = 500  # topics by one run
REPEATS = 3
SETTINGS = {
    "cleanup.policy": "delete",
    "compression.type": "lz4",
    "delete.retention.ms": "3600000",
    "file.delete.delay.ms": "30000",
    "flush.messages": "100000",
    "index.interval.bytes": "8192",
    "max.message.bytes": "2097152",
    "retention.bytes": "1073741824",
    "retention.ms": "604800000",
    "segment.bytes": "268435456",
}
ALLOWED = (("shop", "WRITE"), ("shop", "DESCRIBE"), ("billing", "READ"), ("audit", "READ"), ("operator", "ALL"))
# As for the other questions nobody has a name, so that whoever asks may do everything.
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


def promotion(bed: Bed) -> None:
    """How long does it take to create 500 topics with settings and ACLs, and to compare 2,000 with those of the source?"""
    title(
        f"promotion: topics of {PARTITIONS} partitions with {len(SETTINGS)} settings and {len(ALLOWED)} ACLs each, on "
        "clusters with an authorizer"
    )
    with contextlib.ExitStack() as undo:
        source, destination = (_cluster(bed, name, undo) for name in ("development", "staging"))
        names = [f"promotion-{number:04}" for number in range(TOPICS)]
        create_topics(_connection(source), {name: NewTopic(PARTITIONS, 1, SETTINGS) for name in names})
        create_acls(
            _connection(source),
            [
                Acl("TOPIC", name, "LITERAL", f"User:{who}", "*", what, "ALLOW")
                for name in names
                for who, what in ALLOWED
            ],
        )
        parts = [names[first : first + MADE] for first in range(0, TOPICS, MADE)]
        made = [_promote(bed, source, destination, part) for part in parts]
        compared = [_promote(bed, source, destination, names, _ansible_check_mode=True) for _again in range(REPEATS)]
        _check(source, destination, names, made, compared)
    row(f"create {MADE:,} topics (kafka_topic_promotion)", made, "target: 60 s")
    row(f"compare {TOPICS:,} topics, check mode, no news", compared, "target: 10 s")


def _cluster(bed: Bed, name: str, undo: contextlib.ExitStack) -> str:
    """The address of a cluster of one broker with an authorizer."""
    undo.callback(stop, name, bed.folder)
    settings = {**AUTHORIZER, "log.segment.delete.delay.ms": "100"}
    return start(name, bed.folder, settings=settings, memory=HEAP).bootstrap_servers[0]


def _promote(bed: Bed, source: str, destination: str, names: t.Sequence[str], **options: t.Any) -> Run:
    return run_module(
        "kafka_topic_promotion",
        source=connection(source),
        destination=connection(destination),
        topics=list(names),
        exclude_settings=[],
        acls="cutover",
        plan=str(bed.folder / "topics.json"),
        receipt=str(bed.folder / "topics-receipt.json"),
        **options,
    )


def _check(
    source: str, destination: str, names: t.Sequence[str], made: t.Sequence[Run], compared: t.Sequence[Run]
) -> None:
    """Raise RuntimeError if the destination lacks what the source has, or a run says anything else."""
    if [run.result["changed"] for run in (*made, *compared)] != [True] * len(made) + [False] * len(compared):
        raise RuntimeError("not every run that makes topics has changed something, or one that compares has")
    both = [_connection(address) for address in (source, destination)]
    wanted, found = (topic_configs(each, names) for each in both)
    if any(each.own != SETTINGS for each in (*wanted.values(), *found.values())):
        raise RuntimeError("the settings are not those of the source")
    expected, given = map(list_acls, both)
    if len(expected) != len(names) * len(ALLOWED) or given != expected:
        raise RuntimeError(f"{len(expected ^ given)} ACLs are not those of the source")


def _connection(address: str) -> Connection:
    return Connection("cluster", (address,))
