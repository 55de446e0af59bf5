"""A header whose name is not UTF-8, which some clients can write and confluent-kafka cannot read."""

import types

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._records import refusals

SOURCE = Connection("source cluster", ("broker1:9092",))
MESSAGE = types.SimpleNamespace(offset=lambda: 3, topic=lambda: "orders", partition=lambda: 0)


def test_its_record_is_named_with_what_leaves_it_out():
    failed = SystemError("a header")
    failed.__cause__ = UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
    told = (
        "orders, partition 0: the record at offset 3 has a header whose name is not UTF-8.*match_on, or .*exclude_topic"
    )
    with pytest.raises(Refused, match=told):
        refusals.raise_for_header(failed, SOURCE, MESSAGE)


def test_another_failure_of_the_library_stays_as_it_is():
    failed = SystemError("a fault of its own")
    with pytest.raises(SystemError) as raised:
        refusals.raise_for_header(failed, SOURCE, MESSAGE)
    assert raised.value is failed
