"""Spans are read together and answered apart."""

import contextlib
import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records import range_reader
from ansible_collections.streamshift.kafka.plugins.module_utils._records.consumer_client import Opened
from ansible_collections.streamshift.kafka.plugins.module_utils._records.range_reader import NEAR, _merged
from ansible_collections.streamshift.kafka.plugins.module_utils._records.scanning import Piece
from tests.support.expiring_log import LogConsumer, records

PARTITIONS = [TopicPartition("orders", number) for number in range(100)]


def test_near_spans_are_read_along_and_far_ones_are_not():
    assert _merged([(100, 110), (0, 10), (110 + NEAR, 400), (30, 30)], 80) == [(0, 10), (100, 110), (110 + NEAR, 400)]
    assert _merged([(0, 10), (9 + NEAR, 80 + NEAR), (5, 12)], NEAR) == [(0, 80 + NEAR)]


FAR = 2 * NEAR
# Offsets near multiples of FAR, so that the next record is often in the next span.
near_them = st.tuples(st.integers(0, 3), st.integers(0, 20)).map(lambda at: FAR * at[0] + at[1])
spans = st.lists(st.tuples(near_them, near_them), max_size=8)


@given(spans, st.sets(near_them))
def test_every_span_gets_its_own_records_in_the_order_asked(asked, offsets):
    connection = connection_from({"bootstrap_servers": "127.0.0.1:1"})
    consumer = LogConsumer(records({offset: str(offset) for offset in sorted(offsets)}), 0, 4 * FAR)
    opened = contextlib.nullcontext(Opened(connection, consumer, {"orders": 1}, []))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(range_reader, "open_consumer", lambda *_given: opened)
        answers = range_reader.read_ranges(connection, {PARTITIONS[0]: asked})[PARTITIONS[0]]
    assert [(each.start, each.end) for each in answers] == asked
    for start, end, found in answers:
        assert [each.offset for each in found] == [n for n in sorted(offsets) if start <= n < end]


@pytest.mark.parametrize(
    ("lengths", "first"), [((10, 20), 0), ((range_reader.LONG, range_reader.LONG), 1), ((range_reader.LONG, 10), 0)]
)
def test_long_spans_are_not_fetched_by_little(lengths, first):
    tasks = [range_reader._RangeTask(Piece(0, PARTITIONS[0], 5, 5 + each), 5) for each in lengths]
    assert range_reader._fetch_sizes(tasks) == range_reader.FETCH_SIZES[first:]


END = None  # everything has been read


class TestPatience:
    """When larger fetches are tried, when a broker is waited for, and when it is given up."""

    @pytest.fixture
    def drain(self, monkeypatch):
        """``drain(*steps)``, each (seconds, how many partitions answer) or END; -> how many partitions are left.

        working: these seconds are not waited for a broker.
        """
        now = [0.0]
        monkeypatch.setattr(range_reader, "time", types.SimpleNamespace(monotonic=lambda: now[0]))

        def play(*steps, patient=False, deadline=300.0, working=False):
            script = iter(steps)

            class Scripted(range_reader._RangeReader):
                def step(self):
                    seconds, answering = next(script) or (0, 0)
                    now[0] += seconds
                    self.waited += 0 if working else seconds
                    if not seconds:
                        self.tasks.clear()
                    return set(PARTITIONS[:answering])

            connection = connection_from({"bootstrap_servers": "127.0.0.1:1"}, "source cluster")
            consumer = types.SimpleNamespace(incremental_assign=lambda positions: None)
            opened = types.SimpleNamespace(connection=connection, consumer=consumer, complaints=[])
            left = {each: range_reader._RangeTask(Piece(0, each, 7, 8), 7) for each in PARTITIONS}
            reader = Scripted(opened, left, (), 512)
            range_reader._drain(reader, patient, deadline)
            return len(reader.tasks)

        return play

    def test_larger_fetches_are_tried_when_few_partitions_answer(self, drain):
        assert drain((0.1, 3), (1.0, 3), (1.0, 3), END) == 100

    def test_the_last_size_is_kept(self, drain):
        assert drain((0.1, 3), (1.0, 3), (1.0, 3), END, patient=True) == 0

    def test_many_that_answer_slowly_are_waited_for(self, drain):
        assert drain((0.1, 3), (1.0, 30), (1.0, 60), END) == 0

    def test_a_distant_cluster_has_the_time_for_some_answers(self, drain):
        assert drain((1.0, 3), (1.0, 3), (1.0, 3), END) == 0
        assert drain((1.0, 3), *[(1.0, 3)] * 4, END) == 100

    def test_the_time_for_what_has_come_is_not_taken_for_silence(self, drain):
        assert drain((0.1, 3), (1.0, 3), (1.0, 3), END, working=True) == 0

    def test_a_busy_broker_is_waited_for(self, drain):
        assert drain((0.1, 60), *[(1.0, 0)] * 20, END) == 0

    def test_a_silent_broker_is_given_up(self, drain):
        with pytest.raises(BrokerError, match="no record and no end of the log at offset 7 within 31 s .99 more"):
            drain((0.1, 60), *[(1.0, 0)] * 40)

    def test_the_deadline_is_told_as_such(self, drain):
        with pytest.raises(BrokerError, match="the time for reading is up at offset 7 .99 more partitions wait"):
            drain(*[(1.0, 60)] * 20, deadline=10.0)
