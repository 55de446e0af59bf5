"""What is known of a log grows by spans, and nothing is read twice."""

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Log, LogFacts
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record


def record(offset: int) -> Record:
    return Record(offset, offset, b"d", b"b")


def known() -> Log:
    log = Log(LogFacts(0, 100, 100))
    log.add((40, 50), [record(41), record(47)])
    log.add((10, 20), [record(19)])
    return log


def test_unread_parts_of_a_span() -> None:
    log = known()
    assert log.unread(0, 100) == [(0, 10), (20, 40), (50, 100)]
    assert log.unread(12, 18) == []
    assert log.unread(15, 45) == [(20, 40)]


def test_nothing_is_missing_beyond_the_edges() -> None:
    log = Log(LogFacts(5, 8, 8))
    assert log.unread(0, 20) == [(5, 8)]
    log.add((5, 8), [])
    assert log.unread(0, 20) == []


def test_records_are_kept_by_offset_whatever_the_order_of_reading() -> None:
    log = known()
    log.add((18, 42), [record(41), record(30), record(19)])
    assert [r.offset for r in log.records] == [19, 30, 41, 47]
    assert [r.offset for r in log.between(19, 41)] == [19, 30]
    assert log.read == [(10, 50)]


def test_what_only_read_uncommitted_shows_is_aborted() -> None:
    log = known()
    log.add_uncommitted((40, 50), [record(40), record(41), record(45), record(47)])
    assert [r.offset for r in log.aborted_between(0, 100)] == [40, 45]
    assert log.unread(35, 55, uncommitted=True) == [(35, 40), (50, 55)]


def test_a_look_up_that_misses_a_record_that_was_read_is_not_relied_on() -> None:
    log = known()
    log.lookups |= {30: None, 48: None, 60: 60}
    assert (log.first_at(48), log.first_at(60)) == (None, 60)
    assert log.first_at(30) == 0  # 41 and 47 have later times
    assert log.first_at(60) == 0
