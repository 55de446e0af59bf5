"""A run of a copy writes nothing before it knows that it can go on."""

import contextlib
import dataclasses
from unittest import mock

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog import copy_backlog, copy_steps
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog.copy_backlog import Earlier
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog.planning import CopyOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import Draft
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import Backlog, BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Refused, SparkFailed
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import Mapping
from tests.support.module_inputs import DESTINATION, ORDERS, SNAPSHOT, SOURCE, plan_of

PLANNED = Backlog(
    "streamshift-copy-0123456789abcdef",
    "S",
    "D",
    SNAPSHOT.digest(),
    (),
    (BacklogRange(ORDERS, 7, 9, ORDERS, 0, (7,)),),
    claimed=False,
)
OF_ANOTHER = dataclasses.replace(plan_of(), snapshot="of another migration")


@pytest.fixture
def copying(monkeypatch):
    """Has a run of a copy, the first one unless it is given what one has left.

    copying.written is what it has written, or done at the destination, until it ended.
    """
    written = mock.Mock()
    written.run.side_effect = EOFError("topics are made")
    bounds = {ORDERS: Bounds(0, 9, 9)}
    planning = copy_backlog.planning
    monkeypatch.setattr(planning, "entries_of", lambda *_: [Draft("a", ORDERS, "a", ORDERS, CommittedOffset(7))])
    monkeypatch.setattr(planning, "plan", lambda *_: (PLANNED, bounds, {}))
    monkeypatch.setattr(planning, "check_known", lambda _known, _snapshot, wanted, *_: (wanted, bounds, []))
    monkeypatch.setattr(copy_backlog.preconditions, "sizes", lambda *_: {})
    monkeypatch.setattr(copy_backlog.takeover, "check_takeover", lambda *_: {})
    monkeypatch.setattr(copy_backlog.others, "readers_of_appended", lambda *_: [])
    monkeypatch.setattr(copy_steps.destination_topics, "prepare", written.run)

    def copy(plan=None, speculation="false", spark=contextlib.nullcontext, before=None, writes=True):
        server = mock.Mock(**{"conf.get.return_value": speculation})
        monkeypatch.setattr(copy_steps, "open_session", lambda _options: spark(server))
        clusters = connection_from(SOURCE), connection_from(DESTINATION)
        earlier = Earlier(before, plan, None)
        save = written.save if writes else None
        copy_backlog.copy_backlog(SNAPSHOT, *clusters, Mapping(), CopyOptions(), earlier, save, lambda _line: None)

    copy.written = written
    return copy


def test_a_copy_that_can_begin_saves_its_ends_first(copying):
    with pytest.raises(EOFError):
        copying(plan=plan_of())
    assert [call[0] for call in copying.written.method_calls] == ["save", "run"]


def no_spark(_server):
    raise SparkFailed("Spark's Java process did not start")


@pytest.mark.parametrize(
    ("spark", "why"),
    [
        ({"spark": no_spark}, "did not start"),
        ({"speculation": "true"}, r"spark\.speculation is on"),  # a server that would attempt tasks twice
    ],
)
def test_nothing_is_written_where_spark_cannot_copy(copying, spark, why):
    with pytest.raises(SparkFailed, match=why):
        copying(**spark)
    assert not copying.written.method_calls


def test_the_plan_of_another_migration_is_not_overwritten(copying):
    with pytest.raises(Refused, match=r"the plan is not the one of this copy: .* move the plan file elsewhere"):
        copying(plan=OF_ANOTHER)
    assert not copying.written.method_calls


@pytest.mark.parametrize("writes", [True, False], ids=["a run", "check mode"])
class TestALaterRun:
    """Once it has claimed the copy, another run of it has ended, and settings of its topics are changed."""

    def test_writes_nothing_where_another_copy_is_under_way(self, copying, monkeypatch, writes):
        def refuse(*_asked):
            raise Refused("another copy is under way to this partition")

        monkeypatch.setattr(copy_backlog.takeover, "check_takeover", refuse)
        self.refused(copying, "another copy is under way", writes)

    def test_writes_nothing_where_progress_is_lost(self, copying, monkeypatch, writes):
        monkeypatch.setattr(copy_backlog.takeover, "check_takeover", lambda *_: {ORDERS: 5})
        monkeypatch.setattr(copy_backlog.takeover.positions, "partition_bounds", lambda *_: {ORDERS: Bounds(0, 9, 9)})
        self.refused(copying, "the progress of the copy is gone, and the log has grown from 0 to 5", writes)

    def refused(self, copying, why, writes):
        with pytest.raises(Refused, match=why):
            copying(spark=no_spark, before=dataclasses.replace(PLANNED, claimed=True), writes=writes)
        assert not copying.written.method_calls
