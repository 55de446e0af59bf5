"""A topic in an old message format is no matter of the others, and what cannot be done with it is told in advance."""

from testbed.clients import Message, commit, create_topic, produce
from tests.support.logs import topics_in_two_formats
from tests.support.modules import Migration, refuses


def test_the_checks_before_a_migration_go_on(old, destination, topic, tmp_path):
    for name in topics_in_two_formats(old, topic):
        create_topic(destination, name)
    assert Migration(tmp_path / "migration", old, destination).problems(topic) == []


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
