"""Counting on Spark gives the answers of its definition, for many groups and pairs at once."""

import collections
import random
import typing as t

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.axis import Axis, Sides
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.counting import Logs, LogSet
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.group_count import GroupCount, Lag
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.singles import singles_of
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.content_frame import buckets_for
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.count_job import count_wide
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.session import kept
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.worker_contents import singles_of_columns
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._spark.by_hand import (
    World,
    copies,
    count_directly,
    frame,
    layout,
    sources,
    standings,
)
from tests.support.one_log import OneLog


def record(offset: int, content: str, time: int | None) -> Record:
    """A content in upper case has headers that are not in its name's lower case."""
    digest, bare = (its.encode() * (16 // len(its)) for its in (content, content.lower()))
    return Record(offset, 7 if time is None else time, digest, bare, time is None)


def log(draws: t.Iterable[tuple[str, int | None]]) -> tuple[Record, ...]:
    return tuple(record(2 * number, *its) for number, its in enumerate(draws))


times = st.sampled_from([0, 0, 0, 1, 2])
contents = st.sampled_from("abcdefghijklmnop")
source_logs = st.lists(st.tuples(contents, times), max_size=14).map(log)
copy_logs = st.lists(st.tuples(contents, st.sampled_from([0, 0, 1, 2, 9, None])), max_size=18).map(log)
commits = st.lists(st.integers(0, 30).map(lambda at: (at,)), min_size=1, max_size=5).map(tuple)
single = st.builds(lambda a, b, c: World((a,), (b,), (40,), c), source_logs, copy_logs, commits)


@settings(max_examples=100, deadline=None)
@given(st.lists(single, min_size=1, max_size=3), st.booleans(), st.sampled_from([1, 4, 16]))
def test_the_workers_answer_what_the_definition_says(worlds: list[World], timestamps: bool, buckets: int) -> None:
    found = iter(count_directly(worlds, timestamps, buckets, without_headers=False))
    for world in worlds:
        check(world, [next(found) for _commit in world.committed], timestamps)


def times_are_kept(world: World, name: t.Callable[[Record], bytes]) -> bool:
    known = {(name(its), its.timestamp) for its in world.sources[0]}
    contents = {content for content, _time in known}
    return all(
        (name(its), its.timestamp) in known and not its.log_append_time
        for its in world.copies[0]
        if name(its) in contents
    )


def check(world: World, found: t.Sequence[GroupCount], timestamps: bool) -> None:
    """Against the definition; and that what is told as evidence are equal records on the right sides."""
    its = found[0]

    def name(one: Record) -> bytes:
        return one.fingerprint if its.matching.headers else one.bare

    both = OneLog(world.sources[0], world.copies[0], name, timestamps=timestamps, end=world.ends[0])
    originals, arrived = ({one.offset: name(one).hex() for one in log[0]} for log in (world.sources, world.copies))
    for (committed,), told in zip(world.committed, found, strict=True):
        answer = both.answer(committed)
        (its_answer,) = told.answers
        assert its_answer == answer
        assert told.matching.timestamp == (timestamps and times_are_kept(world, name))
        for place, copy, side in (
            (answer.last_consumed, told.last_consumed[0], -1),
            (answer.first_wanted, told.first_wanted[0], 1),
        ):
            assert (place is None) == (copy is None)
            if copy is not None:
                assert copy.destination_offset == place
                assert originals[copy.source_offset] == arrived[copy.destination_offset]
                assert (copy.source_offset >= committed) == (side > 0)


def test_headers_are_left_out_where_that_finds_more() -> None:
    """What the replication tool has added to all copies of one pair is not looked at there; elsewhere headers still count."""
    plain = log([("a", 0), ("b", 0), ("c", 0)])
    added = log([("a", 0), ("B", 0), ("C", 0)])
    worlds = [World((plain,), (copied,), (40,), ((2,),)) for copied in (added, plain)]
    worlds.append(World((log([("a", 0), ("A", 0)]),), (log([("A", 0), ("a", 0)]),), (40,), ((2,),)))
    found = count_directly(worlds, True, 4, without_headers=True)
    assert [its.matching.headers for its in found] == [False, True, True]
    assert [its.answers[0].offset for its in found] == [1, 1, 0]
    for world, its in zip(worlds, found, strict=True):
        check(world, [its], True)
    assert [its.matching.headers for its in count_directly(worlds, True, 4, without_headers=False)] == [True] * 3


several = st.lists(source_logs, min_size=2, max_size=3).flatmap(
    lambda logs: st.builds(
        lambda copied, committed: World(tuple(logs), (copied,), (40,), tuple(committed)),
        copy_logs,
        st.lists(st.tuples(*[st.integers(0, 30)] * len(logs)), min_size=1, max_size=3),
    )
)


@settings(max_examples=100, deadline=None)
@given(st.lists(several, min_size=1, max_size=2), st.booleans())
def test_several_source_partitions_count_as_one_log(worlds: list[World], timestamps: bool) -> None:
    """Its consumed records are first, wherever they come from; but every partition's last consumed record has to arrive."""
    found = iter(count_directly(worlds, timestamps, 4, without_headers=False))
    for world in worlds:
        for committed in world.committed:
            told = next(found)
            everything = [
                (its.offset < at, its) for log, at in zip(world.sources, committed, strict=True) for its in log
            ]
            consumed = [its for is_consumed, its in everything if is_consumed]
            one_log = consumed + [its for is_consumed, its in everything if not is_consumed]
            both = OneLog(
                [its._replace(offset=number) for number, its in enumerate(one_log)],
                world.copies[0],
                timestamps=timestamps,
                end=world.ends[0],
            )
            expected = both.answer(len(consumed))
            same = {"arrived": True, "to_come": 0, "last_at_source": None, "next_at_source": None, "absent": None}
            assert told.answers[0]._replace(**same) == expected._replace(**same)
            assert told.answers[0].arrived == (not told.not_arrived)
            missing = {its.fingerprint for its in consumed} - {its.fingerprint for its in world.copies[0]}
            has_unconsumed = any(
                its.offset >= at for log, at in zip(world.sources, committed, strict=True) for its in log
            )
            lags = {lag.source: lag for lag in told.not_arrived}
            for position, (source, at) in enumerate(zip(world.sources, committed, strict=True)):
                last = max((its for its in source if its.offset < at), default=None)
                if last is None:
                    assert position not in lags
                elif last.fingerprint in missing and not has_unconsumed:
                    without = [its for its in source if its.offset < at and its.fingerprint in missing]
                    assert lags[position].source_offset == last.offset
                    assert lags[position].records >= len(without)


repartitioned = st.builds(
    lambda sources, copied, committed: World(tuple(sources), tuple(copied), (40, 40), tuple(committed)),
    st.lists(source_logs, min_size=2, max_size=2),
    st.lists(copy_logs, min_size=2, max_size=2),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=3),
)


@settings(max_examples=100, deadline=None)
@given(repartitioned)
def test_several_destination_partitions_are_read_by_one_group(world: World) -> None:
    """Without times: from the answers on, all partitions together hold each content as often as it is unconsumed.

    As far as it is there; and what is more of it is what they say is repeated. A partition that went on one record less
    would miss one.
    """
    for committed, told in zip(world.committed, count_directly([world], False, 4, without_headers=False), strict=True):
        unconsumed, consumed = collections.Counter[bytes](), collections.Counter[bytes]()
        for one, at in zip(world.sources, committed, strict=True):
            for its in one:
                (unconsumed if its.offset >= at else consumed)[its.fingerprint] += 1
        at_destination = collections.Counter(its.fingerprint for one in world.copies for its in one)
        following = collections.Counter(
            its.fingerprint
            for one, answer in zip(world.copies, told.answers, strict=True)
            for its in one
            if its.offset >= answer.offset
        )
        for content, number in unconsumed.items():
            assert following[content] >= min(number, at_destination[content])
        repeats = sum(max(0, number - unconsumed[its]) for its, number in following.items() if consumed[its])
        missing = any(
            number + consumed[its] > at_destination[its] and consumed[its] for its, number in unconsumed.items()
        )
        assert sum(answer.repeats for answer in told.answers) == repeats or (
            missing and sum(answer.repeats for answer in told.answers) > repeats
        )
        for number, (one, answer) in enumerate(zip(world.copies, told.answers, strict=True)):
            if answer.first_wanted is not None:
                content = next(its.fingerprint for its in one if its.offset == answer.first_wanted)
                later = sum(its.fingerprint == content for its in one if its.offset > answer.first_wanted)
                elsewhere = sum(
                    its.fingerprint == content
                    for other, log in enumerate(world.copies)
                    if other != number
                    for its in log
                )
                assert later + elsewhere < at_destination[content]


@settings(max_examples=100, deadline=None)
@given(st.one_of(repartitioned, single), st.booleans(), st.booleans(), st.sampled_from([None, 0, 1]))
def test_the_process_counts_the_same(world: World, timestamps: bool, expired: bool, lost_until: int | None) -> None:
    """Headers are told apart record by record in both, and copies of lost records left out."""
    world = world._replace(lost_until=lost_until)
    ends = tuple(max((its.offset + 1 for its in one), default=0) for one in world.sources)
    logs = Logs(
        LogSet(world.sources, (0, 0)[: len(ends)], ends),
        LogSet(world.copies, (0, 0)[: len(world.ends)], world.ends),
        timestamps=timestamps,
        stable=(6, 8)[: len(ends)],
        only_doubled=False,
        lossy=expired,
    )
    stable = [6, 8][: len(ends)]
    found = count_directly([world], timestamps, 4, without_headers=True, stable=stable, lossy=[0] if expired else [])
    assert logs.count(world.committed, lost_until) == found


places = st.lists(st.integers(0, 30), unique=True, max_size=20)


@given(places, places, st.lists(st.booleans(), min_size=20, max_size=20))
def test_columns_of_numpy_are_those_of_python(sources: list[int], copies: list[int], by_time: list[bool]) -> None:
    """Of two partitions on each side, which begin at 0 and at 16."""
    axis = Axis((0, 0))
    pairs = [
        (*(axis.place(place // 16, place % 16) for place in pair[:2]), pair[2])
        for pair in zip(sources, copies, by_time, strict=False)
    ]
    sides = Sides(axis, range(2), axis, range(2))
    plain = singles_of(sides, list(pairs), [], recurs=False)
    columns = [np.array(column) for column in zip(*pairs, strict=True)]
    if pairs:
        told = singles_of_columns(*columns, np.array([]), sides, recurs=False)
        assert {at: tuple(map(list, its)) for at, its in told.cells.items()} == plain.cells
        assert [tuple(map(list, its)) for its in told.copies] == plain.copies
        assert (list(told.timed), list(told.untimed)) == (plain.timed, plain.untimed)


def test_lag_and_what_the_source_does_not_have_are_told() -> None:
    """How many consumed records are to come, and where the first copies stand that the source does not have.

    Of equal records as many are to come as copies are missing. The source may also have lost them: the first of two
    where it has one, and one with a time of its own.
    """
    source = log([("a", 0), ("b", 0), ("b", 1), ("c", 0), ("e", 5), ("d", 0)])  # offsets 0, 2, 4, 6, 8, 10
    destination = log([("x", 0), ("a", 0), ("e", 5), ("e", 5), ("a", 7), ("a", 0)])
    other = log([("a", 3), ("x", 0)])
    [told] = count_directly([World((source,), (destination, other), (40, 40), ((8,),))], True, 1, without_headers=False)
    assert told.not_arrived == ()  # as one of the unconsumed e has come
    assert (told.destination_only, told.surplus) == ((0, 2), (2, 0))
    [told] = count_directly(
        [World((source,), (log([("a", 0), ("b", 0)]), ()), (40, 0), ((8,),))], True, 1, without_headers=False
    )
    assert told.not_arrived == (Lag(0, 6, 2),)  # c and one b
    assert (told.destination_only, told.surplus) == ((None, None), (None, None))


def test_a_copy_of_a_lost_record_is_one_that_the_source_does_not_have() -> None:
    """A record of its content is left, which is younger: whoever starts before all lost ones must know of it."""
    source, destination = log([("b", 11), ("a", 12)]), log([("a", 10), ("x", 20), ("b", 11)])
    world = World((source, ()), (destination,), (40,), ((0, 0),))
    [told] = count_directly([world], True, 1, without_headers=False, lossy=[0])
    logs = Logs(
        LogSet((source, ()), (0, 0), (40, 40)),
        LogSet((destination,), (0,), (40,)),
        timestamps=True,
        only_doubled=False,
        lossy=True,
    )
    assert logs.count(world.committed) == [told]
    assert (told.destination_only, told.answers[0].first_wanted) == ((0,), 4)


def test_what_is_to_come_does_not_depend_on_which_task_counts_which_record() -> None:
    """The broker has stamped the last copies, and those of the consumed records have overtaken that of the unconsumed one."""
    names = [bytes([number]) * 16 for number in range(8)]
    source = tuple(Record(at + 1, at + 1, name, name) for at, name in enumerate(names))
    copied = [*((at, False) for at in range(4)), (7, True), *((at, True) for at in range(4, 7))]
    copies = tuple(Record(at, 1 + of, names[of], names[of], stamped) for at, (of, stamped) in enumerate(copied))
    world = World((source,), (copies,), (8,), ((8,),))
    told = [
        count_directly([world], True, buckets, without_headers=True, lossy=[0])[0].answers[0] for buckets in (1, 4, 16)
    ]
    assert [(its.offset, its.repeats, its.to_come) for its in told] == [(4, 3, 0)] * 3


def test_what_may_still_be_aborted_is_needed_and_does_not_hide_a_repeat() -> None:
    """The last a may be the consumed one: if the hidden a is aborted, the group has no other to read."""
    world = World((log([("a", 0), ("d", 0), ("a", 0)]),), (log([("a", 0), ("d", 0), ("a", 0)]),), (40,), ((2,),))
    answers = [
        count_directly([world], False, 1, without_headers=False, stable=stable)[0].answers[0]
        for stable in (None, [4], [6])
    ]
    assert [(its.offset, its.repeats, its.equal) for its in answers] == [(1, 0, 0), (1, 1, 1), (1, 0, 0)]


def test_real_spark_counts_the_same(spark) -> None:
    """Random logs of several pairs, one of several partitions, on two cores."""
    draws = random.Random(5)
    worlds = [random_world(draws, sources, destinations) for sources, destinations in ((1, 1), (1, 1), (3, 1), (2, 2))]
    its = layout(worlds, True)
    ends = [end for world in worlds for end in world.ends]
    with kept(frame(spark, its, sources(worlds), copies(worlds), 8)) as contents:
        found = count_wide(contents, its, standings(worlds), ends)
    assert found == count_directly(worlds, True, 16, without_headers=True)
    check(worlds[0], found[: len(worlds[0].committed)], True)


def random_world(draws: random.Random, sources: int, destinations: int) -> World:
    """Logs of 300 records of which a third recur, copied with gaps, out of order, some twice, some with other times."""
    logs = [
        tuple(
            record(at, draws.choice([f"{number}.{at}", f"r{draws.randrange(50)}"]).rjust(8, "-"), draws.randrange(9))
            for at in range(300)
        )
        for number in range(sources)
    ]
    everything = [its for one in logs for its in one if draws.random() < 0.95]
    everything += [its for its in everything if draws.random() < 0.3]
    found: list[list[Record]] = [[] for _destination in range(destinations)]
    for its in sorted(everything, key=lambda its: its.offset + draws.randrange(20)):
        one = found[draws.randrange(destinations)]
        time = draws.choice([its.timestamp, its.timestamp, its.timestamp, 9, 0])
        one.append(its._replace(offset=len(one), timestamp=time, log_append_time=time == 0 and draws.random() < 0.5))
    committed = tuple(tuple(draws.randrange(310) for _source in logs) for _group in range(5))
    return World(tuple(logs), tuple(map(tuple, found)), tuple(map(len, found)), committed)


def test_nothing_at_all() -> None:
    found = count_directly([World(((),), ((),), (12,), ((3,),))], True, 1, without_headers=True)
    assert found[0].answers == (OneLog([], [], end=12).answer(3),)


@pytest.mark.parametrize("size", [0, 1, 800_001])
def test_a_task_gets_some_hundred_thousand_records(size: int) -> None:
    assert buckets_for(size, 2) == 4 * (3 if size == 800_001 else 2)
