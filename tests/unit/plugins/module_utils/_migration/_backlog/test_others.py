"""Groups that read a topic already receive what a copy appends to it, and are named before that."""

import types

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog import others
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import Backlog, BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from tests.support.memory_brokers import DESTINATION

ORDERS, PAYMENTS = TopicPartition("orders", 0), TopicPartition("payments", 0)


@pytest.fixture
def notes(monkeypatch):
    """The notes of a copy of 100 records that begins at this offset of the destination, beside groups that stand here."""

    def notes(begin, start=100, denied=(), ours=(), **standing):
        def listed(_connection, surely=True):
            assert surely  # one that a single list leaves out, because its coordinator moves, reads the topic, too
            return [types.SimpleNamespace(group=group) for group in sorted({*standing, *denied})]

        def read(_connection, names, stable, skip_denied=False):
            assert skip_denied or not denied
            return {
                name: GroupReading(name, True, "Empty", "classic", "", {standing[name]: CommittedOffset(7, "")})
                for name in names
                if name not in denied
            }

        monkeypatch.setattr(others.groups, "list_groups", listed)
        monkeypatch.setattr(others.groups, "read_groups", read)
        copied = BacklogRange(ORDERS, start, 200, ORDERS, begin)
        return others.readers_of_appended(Backlog("copy", "a", "b", "c", (), (copied,)), DESTINATION, ours)

    return notes


def test_groups_on_the_topic_are_named(notes):
    (note,) = notes(50, billing=ORDERS, audit=ORDERS, shipping=PAYMENTS)
    assert "audit (orders-0, offset 7), billing (orders-0, offset 7)." in note.text


@pytest.mark.parametrize("begin, start, partition", [(0, 100, ORDERS), (50, 200, ORDERS), (50, 100, PAYMENTS)])
def test_nobody_else_is(notes, begin, start, partition):
    assert notes(begin, start, billing=partition) == []


def test_a_group_that_is_set_to_the_copied_records_itself_is_not(notes):
    """Its committed offset is replaced; on a partition where it has none at the source, it is left alone."""
    assert notes(50, ours={("billing", ORDERS)}, billing=ORDERS) == []
    assert len(notes(50, ours={("billing", PAYMENTS)}, billing=ORDERS)) == 1


def test_groups_that_the_user_may_not_describe_are_named_and_refuse_nothing(notes):
    readers, unknown = notes(50, billing=ORDERS, denied=["audit"])
    assert "billing (orders-0, offset 7)." in readers.text
    assert unknown.kind == "members_unknown" and unknown.text.endswith("may not describe them: audit.")


def test_the_progress_of_copies_reads_nothing(notes):
    assert notes(50, **{"streamshift-copy-0123456789abcdef-progress-0": ORDERS}) == []
