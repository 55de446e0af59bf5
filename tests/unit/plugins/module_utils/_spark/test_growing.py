"""Whole logs are scanned as far as they are new, and nothing is counted twice."""

import contextlib
import types

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import LogFacts
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._spark import growing

ORDERS, BILLS = TopicPartition("orders", 0), TopicPartition("bills", 0)


@pytest.fixture
def scanned(monkeypatch):
    """``scanned(*ends)``: the ranges in the frame of each look at two logs, the first of which ends there."""

    def scan(_spark, _connection, ranges, parts, committed=True):
        return [(each.partition, each.start, each.end) for each in ranges if each.start < each.end]

    monkeypatch.setattr(growing, "scan_frame", scan)
    monkeypatch.setattr(growing, "kept", contextlib.nullcontext)
    frames = types.SimpleNamespace(union=lambda one, other: one + other)
    monkeypatch.setattr(growing, "spark_library", types.SimpleNamespace(DataFrame=frames))

    def looks(*ends, start=5):
        with growing.Growing(None, None, [ORDERS, BILLS], ("key",)) as logs:
            starts = (5, *(start for _end in ends[1:]))
            facts = [LogFacts(at, end, end) for at, end in zip(starts, ends, strict=True)]
            return [logs.up_to({ORDERS: each, BILLS: LogFacts(0, 7, 7)}) for each in facts]

    return looks


def test_only_what_is_new_is_scanned(scanned):
    assert scanned(100, 100, 120)[1:] == [
        [(ORDERS, 5, 100), (BILLS, 0, 7)],
        [(ORDERS, 5, 100), (BILLS, 0, 7), (ORDERS, 100, 120)],
    ]


def test_what_has_expired_before_it_was_scanned_is_not_asked_for(scanned):
    """Retention has passed the end of the first scan."""
    assert scanned(100, 120, start=110)[1] == [(ORDERS, 5, 100), (BILLS, 0, 7), (ORDERS, 110, 120)]


def test_a_log_that_has_become_shorter_is_scanned_anew(scanned):
    assert scanned(100, 90, 100)[1:] == [
        [(ORDERS, 5, 90), (BILLS, 0, 7)],
        [(ORDERS, 5, 90), (BILLS, 0, 7), (ORDERS, 90, 100)],
    ]
