"""A topic in an old message format is no matter of the others, and what cannot be done with it is told in advance."""

import pytest

from testbed.clients import Message, commit, create_topic, produce
from tests.integration.test_resets import Reset
from tests.support.modules import Migration, refuses, succeeds


@pytest.fixture
def formats(old, topic):
    """Topics in the message format 0.9, and in the newest one, with ten records each; a group stands at 4 on both."""
    names = f"{topic}-0.9", f"{topic}-new"
    create_topic(old, names[0], retention_ms=-1, message_format_version="0.9.0")
    create_topic(old, names[1], retention_ms=-1)
    for name in names:
        produce(old, name, [Message(b"%d" % number) for number in range(10)])
    commit(old, topic, dict.fromkeys([(name, 0) for name in names], 4))
    return names


def test_the_checks_before_a_migration_go_on(old, destination, formats, topic):
    for name in formats:
        create_topic(destination, name)
    clusters = {"source": old.connection, "destination": destination.connection}
    its = succeeds("kafka_migration_info", **clusters, groups=[topic])
    assert its["problems"] == []


def test_a_reset_to_a_time_blocks_it_alone_and_a_reset_to_an_offset_does_not(old, formats, topic, tmp_path):
    reset = Reset(tmp_path / "reset", old, old)
    planned = reset.plan_resets({"to": "duration", "value": "PT1H"}, groups=[topic])["entries"]
    assert [(row["topic"], row["reason"]) for row in planned] == [
        (formats[0], "no_timestamps"),
        (formats[1], "out_of_range"),
    ]
    assert "set it to earliest, latest, an offset, or by shift" in planned[0]["detail"]
    planned = reset.plan_resets({"to": "shift", "value": "-1"}, groups=[topic])["entries"]
    assert [row["offset"] for row in planned] == [3, 3]


def test_a_copy_to_it_is_refused_before_anything_is_changed(source, old, topic, tmp_path):
    create_topic(source, topic)
    produce(source, topic, [Message(b"1")])
    commit(source, topic, {(topic, 0): 0})
    create_topic(old, topic, message_format_version="0.10.0")
    migration = Migration(tmp_path / "migration", source, old)
    migration.snapshot(topic)
    for check in (True, False):
        message = migration.backlog(via=refuses, check=check)
        assert f"topic {topic}: the topic is in the message format 0.10.0" in message
    assert not migration.copy_file.exists()
