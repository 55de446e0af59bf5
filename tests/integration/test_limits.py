# SPDX-License-Identifier: GPL-3.0-or-later

"""What a cluster does not take in a commit is refused before the first one is written, by its entry, and soon."""

from __future__ import annotations

import json

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import commits
from ansible_collections.streamshift.kafka.plugins.module_utils._control.configs import broker_number
from ansible_collections.streamshift.kafka.plugins.module_utils._model import plan as plan_file
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import (
    Evidence,
    Plan,
    PlanEntry,
    SourcePosition,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import CertificateName, Verdict
from testbed.clients import committed, create_topic
from tests.support.modules import refuses, succeeds


@pytest.fixture
def plan(destination, topic, tmp_path):
    """``plan(metadata, topic name)``: the file of a plan with two entries, of which the second has that metadata."""
    create_topic(destination, topic, partitions=2)

    def write(metadata, name=topic):
        partitions = (TopicPartition(topic, 0), TopicPartition(name, 1))
        evidence = Evidence(certificate=CertificateName.NOTHING_CONSUMED)
        entries = (
            PlanEntry(
                topic, where, 0, Verdict.EXACT, (SourcePosition(topic, where, 0),), text, repeats=0, evidence=evidence
            )
            for where, text in zip(partitions, ("short", metadata), strict=True)
        )
        made = Plan("source-id", destination.cluster_id, "0" * 32, tuple(entries))
        (tmp_path / "plan.json").write_text(plan_file.to_json(made))
        return {
            "cluster": destination.connection, "plan": str(tmp_path / "plan.json"), "idle_wait": 0,
            "receipt": str(tmp_path / "receipt.json"),
        }  # fmt: skip

    return write


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ("x" * 4097, "partition 1: the metadata of 4097 characters is too long to be committed: the brokers' offset."),
        ("x" * 40_000, "entry 2: the metadata is longer than 32767 bytes"),
    ],
)
@pytest.mark.parametrize("check", [True, False])
def test_metadata_that_is_too_long_is_refused_before_the_first_write(
    destination, plan, topic, tmp_path, metadata, said, check
):
    assert said in refuses("kafka_offset_commit", check=check, **plan(metadata))
    assert not committed(destination, topic) and not (tmp_path / "receipt.json").exists()


def test_a_rollback_to_metadata_that_is_too_long_is_refused_before_the_first_write(destination, plan, topic, tmp_path):
    options = plan("short, too")
    succeeds("kafka_offset_commit", **options)
    after, receipt = committed(destination, topic), tmp_path / "receipt.json"
    before = json.dumps({"offset": 0, "metadata": "x" * 5000, "leader_epoch": None})
    edited = receipt.read_text().replace('"before": null', f'"before": {before}')
    assert edited.count("x" * 5000) == 2
    receipt.write_text(edited)
    del options["plan"]
    said = refuses("kafka_offset_commit", state="rolled_back", everything=True, **options)
    assert "partition 0: the metadata of 5000 characters is too long to be committed" in said
    assert committed(destination, topic) == after and receipt.read_text() == edited


def test_a_name_that_is_too_long_is_refused_before_the_first_write(destination, plan, topic, tmp_path):
    said = refuses("kafka_offset_commit", **plan("", "o" * 40_000))
    assert "entry 2: a name is longer than 32767 bytes" in said or "entry 1: a name is longer" in said
    assert not committed(destination, topic) and not (tmp_path / "receipt.json").exists()


def test_brokers_count_as_expected(destination, plan, topic):
    """Not bytes, as the name of the setting says, but units of UTF-16."""
    longest = "é" * 4094 + "\N{GRINNING FACE}"
    succeeds("kafka_offset_commit", **plan(longest))
    assert committed(destination, topic)[topic, 1] == (0, longest)
    connection = connection_from(destination.connection)
    wanted = {f"{topic}-more": {TopicPartition(topic, 0): CommittedOffset(0, longest + "x")}}
    (errors,) = commits.commit_offsets(connection, wanted).values()
    assert "OFFSET_METADATA_TOO_LARGE" in str(errors)


def test_the_limit_is_read_where_the_user_may(destination, secured):
    assert broker_number(connection_from(destination.connection), "offset.metadata.max.bytes") == 4096
    user = connection_from(secured.connection_as("migrator"))
    assert broker_number(user, "offset.metadata.max.bytes") is None
