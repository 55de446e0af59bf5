# SPDX-License-Identifier: GPL-3.0-or-later

"""How long metadata may be: what tests/unit/.../_committing/test_limits.py takes for granted of brokers."""

from __future__ import annotations

from ansible_collections.streamshift.kafka.plugins.module_utils._control import commits
from ansible_collections.streamshift.kafka.plugins.module_utils._control.configs import broker_number
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from testbed.clients import committed, create_topic


def test_brokers_count_as_expected(destination, topic):
    """Not bytes, as the name of the setting says, but units of UTF-16."""
    create_topic(destination, topic)
    connection, where = connection_from(destination.connection), TopicPartition(topic, 0)
    longest = "é" * 4094 + "\N{GRINNING FACE}"
    assert commits.commit_offsets(connection, {topic: {where: CommittedOffset(0, longest)}}) == {}
    assert committed(destination, topic)[topic, 0] == (0, longest)
    wanted = {f"{topic}-more": {where: CommittedOffset(0, longest + "x")}}
    (errors,) = commits.commit_offsets(connection, wanted).values()
    assert "OFFSET_METADATA_TOO_LARGE" in str(errors)


def test_the_limit_is_read_where_the_user_may(destination, secured):
    assert broker_number(connection_from(destination.connection), "offset.metadata.max.bytes") == 4096
    user = connection_from(secured.connection_as("migrator"))
    assert broker_number(user, "offset.metadata.max.bytes") is None
