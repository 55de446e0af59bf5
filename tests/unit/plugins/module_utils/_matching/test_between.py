"""Where a group stands between the last consumed copy and the first unconsumed one."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.between import (
    Back,
    Between,
    Located,
    count_back,
    offset_between,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import (
    Log,
    LogFacts,
    Policy,
    Question,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.log_reader import Reader
from ansible_collections.streamshift.kafka.plugins.module_utils._model.match_on import Matching
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.build import log, run

COMMITTED, BUDGET = 60, 20
NOTHING, OLDER, YOUNGER = Between(False, False), Between(True, False), Between(True, True)
LAST, FIRST = Record(100, 10, b"last", b"last"), Record(105, 20, b"first", b"first")


def placed(
    between: Between, last: int | None, first: int | None, *, compacted: bool, source_offsets: tuple[int, ...] = ()
):
    """(offset, proved). last, first: the source offsets of both copies; source_offsets: offsets that the source still has."""
    source = Log(LogFacts(0, 200, 200, compacted=compacted))
    source.add((0, 200), [Record(offset, 0, b"%d" % offset, b"%d" % offset) for offset in source_offsets])
    source.add_uncommitted((0, 200), [])
    reader = Reader(Question(COMMITTED, source, Log(LogFacts(90, 110, 110)), Policy(search_limit=BUDGET)))
    reader.destination._log.add((90, 110), [])
    return offset_between(
        reader,
        Matching(timestamp=True, headers=True),
        None if last is None else Located(LAST, last),
        None if first is None else Located(FIRST, first),
        between,
    )


@pytest.mark.parametrize(
    ("between", "last", "first", "compacted", "source_offsets", "expected"),
    [
        pytest.param(NOTHING, 59, 60, True, (), (101, True), id="nothing lies between"),
        pytest.param(YOUNGER, 50, 61, False, (), (101, True), id="the source has lost nothing"),
        pytest.param(YOUNGER, 50, 60, True, tuple(range(51, 60)), (101, True), id="all consumed ones are still there"),
        pytest.param(YOUNGER, 50, 60, True, (), (101, False), id="consumed ones are lost, and it is younger"),
        pytest.param(OLDER, 50, 60, True, (), (105, True), id="consumed ones are lost, and it is one of them"),
        pytest.param(OLDER, 50, 63, True, (), (101, False), id="unconsumed ones are lost as well"),
        pytest.param(OLDER, 59 - BUDGET, 60, True, (), (105, True), id="as many as may be read"),
        pytest.param(YOUNGER, 58 - BUDGET, 60, True, tuple(range(60)), (101, False), id="more than may be read"),
        pytest.param(YOUNGER, 59 - BUDGET, 60, True, tuple(range(60)), (101, True), id="no more than may be read"),
        pytest.param(OLDER, None, 60, True, (), (105, True), id="no consumed copy, and nothing unconsumed is lost"),
        pytest.param(OLDER, None, 63, True, (), (90, False), id="no consumed copy, and unconsumed ones are lost"),
        pytest.param(NOTHING, 50, None, True, (), (101, True), id="nothing unconsumed"),
        pytest.param(OLDER, 50, None, False, (), (101, True), id="only destination-only ones follow"),
        pytest.param(OLDER, 50, None, True, (), (101, False), id="what follows may be consumed ones that are lost"),
    ],
)
def test_the_place_between_two_copies(between, last, first, compacted, source_offsets, expected):
    assert tuple(placed(between, last, first, compacted=compacted, source_offsets=source_offsets)) == expected


def test_earlier_copies_are_looked_for_everywhere_where_the_broker_has_stamped_them() -> None:
    """Their times do not lead to each other: the copies right before those of the source's first record are second ones."""
    copied = log(f"{run(0, 250)} {run(230, 242)} {run(250, 260)}", stamped=True)
    destination = Log(copied.facts)
    destination.add((0, copied.facts.end), copied.records)
    reader = Reader(Question(245, Log(LogFacts(250, 260, 260)), destination, Policy(search_limit=200)))
    back = count_back(reader, Matching(False, False), 262, copied.records[262], 5, 200, whole=False)
    assert back == Back(245, 5, 17, is_sure=False)
